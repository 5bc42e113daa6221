"""Quantities as units to emit: one function for one or several of them, traced on one tape.

Common subexpressions of several quantities are computed once. Their inputs are merged by name; an output whose name
is already taken is prefixed with its quantity: ``inverse_dynamics_tau`` next to the input ``tau``.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import c_float
from dataclasses import astuple
from functools import partial
from math import prod
from typing import Any

from dalembert.base.algebra.scalars import flat
from dalembert.base.wording import nearest, shown
from dalembert.compiler.emit.signature import Signature
from dalembert.compiler.emit.source import Unit, plain
from dalembert.compiler.graph.count import Operations, count
from dalembert.compiler.graph.tape import Graph, evaluate
from dalembert.compiler.quantities.derived import Derived
from dalembert.compiler.quantities.machine import OWN_NUMBERS, Quantity, identity, signature, taped, traced
from dalembert.compiler.quantities.rollouts import step_tapes
from dalembert.compiler.quantities.step_program import Plan
from dalembert.errors import DalembertError
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.mechanics.coordinates.variable_parameters import VARIANTS
from dalembert.robot.model.robot import Joint, Robot
from dalembert.robot.terms import TERMS

LONGEST = 80  # characters in a name
STATES, FEW = 8, 3  # states of a self-test, and of one with many outputs
MANY = 400  # outputs
TRIED = 200  # states that are tried to find that many with finite outputs
GRID = 1024  # samples are integer multiples of 1/GRID: short to write, and exact in single precision

# the contents of arrays, by the names that they have in all tables
MEANINGS = {
    "q": "joint positions (rad or m)",
    "qd": "joint velocities (rad/s or m/s)",
    "qdd": "joint accelerations (rad/s^2 or m/s^2)",
    "qd_r": "reference velocities (rad/s or m/s)",
    "h": "length of the step (s)",
    "lower": "lower stops of the joints (rad or m)",
    "upper": "upper stops of the joints (rad or m)",
    "qdd_r": "reference accelerations (rad/s^2 or m/s^2)",
    "tau": "joint torques (N m or N)",
    "load": "torques that the joints transmit (N m or N)",
    "tree_q": "positions of all joints of the tree (rad or m)",
    "tip_wrench": "fx fy fz mx my mz (N, N m) exerted by the tip on its environment, in base axes",
    "base_motion": "angular velocity (rad/s), angular acceleration (rad/s^2) and linear acceleration (m/s^2) of the base, in base axes",
    "parameters": "dynamic parameters per joint: m (kg), m c (kg m), Ixx Ixy Ixz Iyy Iyz Izz (kg m^2), Im, Fv, Fs; then further ones",
    "lengths": "translations (m) of each joint on the previous link and of its link's frame from it; then of the tip",
    "payload": "m (kg), m c (kg m), Ixx Ixy Ixz Iyy Iyz Izz (kg m^2) about the tip, of an additional body there",
    "gravity": "gravity in base axes (m/s^2)",
    "gears": "gear ratios k_r of each joint, with their signs; motor friction is included in Fv and Fs, referred to the joint",
}
EITHER_UNIT = ("rad or m", "rad/s or m/s", "rad/s^2 or m/s^2", "N m or N")  # of a revolute or a prismatic joint
BY_NEWTON = (
    "q holds all {N} joints of the tree, passive ones included ({names}): close the loops first, for example by Newton's "
    "method with the function loop_equations."
)


def identifier(name: str) -> str:
    """A robot's name as an identifier of C and Python: "planar-2r" → "planar_2r".

    >>> identifier("models/UR5 (copy).urdf"), identifier("3-axis"), identifier("机器人")
    ('UR5_copy', 'arm_3_axis', 'arm')
    """
    last = re.split(r"[/\\]", name)[-1]
    last = re.sub(r"\.(urdf|xml|toml|sdf)$", "", last)
    letters = unicodedata.normalize("NFKD", last).encode("ascii", "ignore").decode()
    word = re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")[:LONGEST].strip("_")
    return word if word[:1].isalpha() else f"arm_{word}".rstrip("_")


def unit_of(
    mechanism: AnyMechanism,
    robot: str,
    entries: Sequence[Quantity],
    formulation: str | None = None,
    options: tuple[str, ...] = (),
    function: str | None = None,
    model: Robot | None = None,
) -> Unit:
    """The unit of one or several quantities; ``model`` is the robot that the file describes."""
    name = _function_name(entries, function)
    each = _options(entries, options)
    each_traced = [traced(mechanism, entry, formulation, each[entry.name]) for entry in entries]
    arrays, outputs = _arrays(mechanism, entries, each)
    names = [choice for choice, _ in each_traced]
    graph = each_traced[0][1] if len(entries) == 1 else _together(mechanism, entries, names, each, arrays)
    held = () if model is None else model.tree_joints if mechanism.by_newton else model.moving_joints
    loops_open = BY_NEWTON.format(N=mechanism.tree.n, names=", ".join(joint.name for joint in held))
    meanings = {**{x: MEANINGS[x] for x, _ in arrays.inputs if x in MEANINGS}, **outputs}
    return Unit(
        identifier(robot),
        name,
        arrays,
        graph,
        count(graph),
        _with_units("; ".join(entry.summary for entry in entries), held),
        names[0] if len(set(names)) == 1 else ", ".join(f"{e.name} {f}" for e, f in zip(entries, names, strict=True)),
        robot,
        hashlib.sha256(identity(mechanism).encode()).hexdigest()[:16],
        {name: _with_units(meaning, held) for name, meaning in meanings.items()},
        () if model is None else tuple(_model(model, held, arrays)),
        (loops_open,) if mechanism.by_newton else (),
        tuple(_samples(mechanism, arrays, partial(evaluate, graph))),
    )


def step_unit(mechanism: AnyMechanism, robot: str, plan: Plan, name: str, model: Robot | None = None) -> Unit:
    """The unit of one step of a simulation."""
    tapes, arrays = step_tapes(mechanism, plan)
    counts = [astuple(count(graph)) for graph, _ in tapes.graphs.values()]
    held = () if model is None else model.moving_joints
    meanings = {
        x: MEANINGS[x.removesuffix("_next")]
        for x, _ in (*arrays.inputs, *arrays.outputs)
        if x.removesuffix("_next") in MEANINGS
    }
    return Unit(
        identifier(robot), name, arrays, tapes, Operations(*map(sum, zip(*counts, strict=True))),
        "the state after one step of a simulation with dry friction, impacts and stops", plan.method, robot,
        hashlib.sha256(identity(mechanism).encode()).hexdigest()[:16],
        {x: _with_units(meaning, held) for x, meaning in meanings.items()},
        () if model is None else tuple(_model(model, held, arrays)),
        ("The operations are those of every function once; a step calls most of them several times.",),
        samples=() if model is None else tuple(_samples(mechanism, arrays, tapes.evaluate)),
    )  # fmt: skip


def emitted_step(mechanism: AnyMechanism, robot: Robot, options: Sequence[str], name: str) -> Unit:
    """The unit of one step of a simulation with the torque as an input, and with these ``options``: a wrench at the tip,
    the stops of the joints, and numbers of the arm as inputs."""
    if mechanism.by_newton:
        raise DalembertError(
            f"the loops of arm '{robot.name}' are closed by Newton's method, which the emitted step does not contain"
        )
    known = ("tip_wrench", "stops", *VARIANTS)
    if unknown := [option for option in options if option not in known]:
        raise DalembertError(
            f"'step' has no option {unknown[0]!r}; its options are {', '.join(known)}{nearest(unknown[0], known)}"
        )
    limits = [(joint.limits.lower, joint.limits.upper) for joint in robot.moving_joints]
    plan = Plan(
        tip_wrench="tip_wrench" in options,
        numbers=tuple(number for number in VARIANTS if number in options),
        stops=tuple((-math.inf if a is None else a, math.inf if b is None else b) for a, b in limits)
        if "stops" in options
        else (),
    )
    return step_unit(mechanism, robot.name, plan, name, robot)


def units_apart(
    mechanism: AnyMechanism, robot: str, entries: Sequence[Quantity], function: str | None = None, **settings: Any
) -> tuple[list[Unit], str]:
    """One unit per quantity with the settings of :func:`unit_of`, and the name of the files that hold all of them."""
    name = f"{identifier(robot)}_{_function_name(entries, function)}"
    each = _options(entries, settings.pop("options", ()))
    return [unit_of(mechanism, robot, [x], options=each[x.name], **settings) for x in entries], name


def _with_units(text: str, joints: Sequence[Joint]) -> str:
    """A description with the unit that all joints share, "rad" for "rad or m" of an arm whose joints are all revolute."""
    sliding = [joint.type == "prismatic" for joint in joints]
    if joints and any(sliding) == all(sliding):
        for either in EITHER_UNIT:
            text = text.replace(f"({either})", f"({either.split(' or ')[sliding[0]]})")
    return text


def _model(robot: Robot, joints: Sequence[Joint], arrays: Signature) -> Iterator[str]:
    """Sentences about the robot that the code was generated for: joints, gravity, payload and the terms of its joints."""
    units = ", ".join(f"{plain(joint.name)} ({'m' if joint.type == 'prismatic' else 'rad'})" for joint in joints)
    yield f"Joints, in this order: {units}."
    given = {name for name, _ in arrays.inputs}
    if "gravity" not in given:
        yield f"Gravity: {_numbers(robot.gravity)} m/s^2 in base axes."
    load = robot.payload
    yield f"Payload: {f'{load.mass:g} kg at {_numbers(load.com)} m in the frame of the tip' if load else 'none'}."
    at: dict[str, list[str]] = {}
    for joint in robot.tree_joints:
        kinds = [name for name, kind in TERMS.items() if any(type(term) is kind for term in joint.friction.terms)]
        if (rotor := joint.rotor) is not None:
            kinds += ["rotor", *["motor friction"] * bool(rotor.viscous or any(rotor.coulomb))]
        for kind in kinds:
            at.setdefault(kind, []).append(plain(joint.name))
    everywhere = len(robot.tree_joints)
    words = [f"{kind} ({'all joints' if len(names) == everywhere else ', '.join(names)})" for kind, names in at.items()]
    yield f"Friction, springs and rotors in the model: {', '.join(words) or 'none'}."
    if robot.omitted:
        yield f"Terms that this approximate model omits: {', '.join(robot.omitted)}."


def _numbers(values: Sequence[float]) -> str:
    return f"({', '.join(f'{x + 0.0:.10g}' for x in values)})"


def _function_name(entries: Sequence[Quantity], function: str | None) -> str:
    """The part of the function's name that follows the robot's name."""
    names = [entry.name for entry in entries]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise DalembertError(f"the quantity '{twice[0]}' is requested twice; name each once")
    name = "_".join(names) if function is None else function
    if not (isinstance(name, str) and len(name) <= LONGEST and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)):
        raise DalembertError(
            f"the function cannot be called {shown(name)}; a name consists of at most {LONGEST} letters, digits and _ and "
            "begins with a letter: choose one, --function NAME (function=...)"
        )
    return name


def _options(entries: Sequence[Quantity], options: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The options that each quantity takes; an error for an option that none of them takes."""
    for option in options:
        if not any(option in entry.takes for entry in entries):
            entries[0].check_options((option,))
    return {entry.name: tuple(x for x in options if x in entry.takes) for entry in entries}


def _arrays(
    mechanism: AnyMechanism, entries: Sequence[Quantity], options: Mapping[str, tuple[str, ...]]
) -> tuple[Signature, dict[str, str]]:
    """All inputs by name, all outputs, and the meanings of outputs, weights and directions."""
    signatures = [signature(mechanism, entry, options[entry.name]) for entry in entries]
    inputs = dict(array for each in signatures for array in each.inputs)
    times = Counter(name for each in signatures for name, _ in each.outputs)
    outputs: list[tuple[str, tuple[int, ...]]] = []
    meanings = {}
    for entry, each in zip(entries, signatures, strict=True):
        for name, shape in each.outputs:
            own = name if times[name] == 1 and name not in inputs else f"{entry.name}_{name}"
            outputs.append((own, shape))
            meanings[own] = entry.summary if len(each.outputs) == 1 else ""
        if isinstance(entry, Derived):
            role = "weight" if entry.mode == "gradient" else "direction"
            meanings |= {name: f"{role} of {of}" for name, of in entry.weights.items()}
    return Signature(tuple(inputs.items()), tuple(outputs)), meanings


def _together(
    mechanism: AnyMechanism,
    entries: Sequence[Quantity],
    formulations: Sequence[str],
    options: Mapping[str, tuple[str, ...]],
    arrays: Signature,
) -> Graph:
    """Several quantities on one tape."""
    names = [name for name, _ in arrays.inputs]

    def equations(*values: Any) -> Any:
        given = dict(zip(names, values, strict=True))
        results = []
        for entry, formulation in zip(entries, formulations, strict=True):
            own = {x: given[x] for x in (*entry.inputs, *options[entry.name])}
            results.append(list(flat(entry.values(mechanism, formulation, own))))
        return results

    condensed = min(entry.condensed for entry in entries)
    return taped(arrays.inputs, equations, condensed, " with ".join(entry.name for entry in entries))


def _samples(
    mechanism: AnyMechanism, arrays: Signature, outputs: Callable[[list[float]], list[float]]
) -> Iterator[tuple[float, ...]]:
    """States for a self-test: random but reproducible, around a pose that the mechanism can take."""
    numbers = random.Random(7)
    reach = 2.0 if mechanism.linear else 0.3
    home = {"q": mechanism.pose if mechanism.by_newton else mechanism.home, "tree_q": mechanism.pose}
    own = {name: numbers(mechanism) for name, numbers in OWN_NUMBERS.items()}
    own["payload"] = [0.5, 0.01, -0.02, 0.03, 0.004, 0.0, 0.0, 0.004, 0.0, 0.003]
    wanted = STATES if sum(prod(shape) for _, shape in arrays.outputs) <= MANY else FEW
    for _ in range(TRIED):
        row: list[float] = []
        for name, shape in arrays.inputs:
            if name in own:
                row += [_single(name, float(x) * numbers.uniform(0.95, 1.05)) for x in own[name]]
                continue
            if name == "h":
                row.append(1.0 / GRID)
                continue
            centre = home.get(name) or [0.0] * prod(shape)
            around = reach if name in home else 2.0
            row += [round(GRID * (x + numbers.uniform(-around, around))) / GRID for x in centre]
        if all(map(math.isfinite, outputs(row))):
            yield tuple(row)
            wanted -= 1
        if not wanted:
            return


def _single(name: str, value: float) -> float:
    """The nearest single-precision number."""
    rounded = c_float(value).value
    if math.isinf(rounded):
        raise DalembertError(
            f"the {name} of the robot contain {value:.2g}; code that takes them as inputs needs numbers that fit single "
            "precision, at most 3.4e38"
        )
    return rounded
