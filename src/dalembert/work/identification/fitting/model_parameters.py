"""From options to their meaning: the terms and shared drives of a model, and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.wording import nearest
from dalembert.errors import DalembertError
from dalembert.robot.terms import TERMS, Coulomb, Harmonic, Term, Viscous
from dalembert.work.identification.fitting.fit_options import ModelOptions
from dalembert.work.identification.fitting.parameter_set import FRICTION, Drive, JointTerm, ParameterSet, kind_of

HEAT = "temperature"  # requests temperature-dependent friction among terms


def joint_index(arm: Arm, joint: str | int) -> int:
    """The index of a joint, given by its name or its number from 1."""
    if isinstance(joint, str) and joint in arm.joint_names:
        return arm.joint_names.index(joint)
    if isinstance(joint, str) and joint.isdigit():
        joint = int(joint)
    if isinstance(joint, int) and 1 <= joint <= arm.n:
        return joint - 1
    known = arm.joint_names
    raise DalembertError(
        f"arm '{arm.name}' has no joint '{joint}'; its joints are {', '.join(known)} (1 … {arm.n}){nearest(str(joint), known)}"
    )


def joints_of(arm: Arm, option: str, given: Any) -> bool | tuple[int, ...]:
    """Joints of the tree, given by names or numbers from 1 of joints of q; True for all of them."""
    if isinstance(given, bool):
        return given
    return tuple(arm.mechanism.actuated[joint_index(arm, joint)] for joint in _listed(option, given, "[2]"))


def friction_of(arm: Arm, given: Any) -> tuple[str, ...] | dict[int, tuple[str, ...]]:
    """The friction of every joint, or by joints of the tree; both kinds by default."""
    if given is None:
        return FRICTION
    if isinstance(given, Mapping):
        return {arm.mechanism.actuated[joint_index(arm, joint)]: _kinds(law) for joint, law in given.items()}
    return _kinds(given)


def _kinds(law: Any) -> tuple[str, ...]:
    if not isinstance(law, (list, tuple)):
        raise DalembertError(f"friction is {law!r}; it must be a tuple of {' and '.join(FRICTION)}, or () for none")
    return tuple(law)


def at_every_joint(arm: Arm, kind: Callable[..., Term], *shapes: Array) -> tuple[JointTerm, ...]:
    """A term with zero coefficient at every joint of q, with the numbers of its shape, (n,) each."""
    terms = (kind(0.0, *numbers) for numbers in zip(*(shape.tolist() for shape in shapes), strict=True))
    return tuple(zip(arm.mechanism.actuated, terms, strict=True))


def _check_turns(arm: Arm, j: int, what: str) -> None:
    if arm.robot.moving_joints[j].type == "prismatic":
        raise DalembertError(f"joint '{arm.joint_names[j]}' is prismatic; {what} acts on a revolute joint only")


def drives_of(arm: Arm, pairs: Sequence[Any]) -> tuple[Drive, ...]:
    """Drives that are coupled to two joints: (i, j), or (i, j, r) for one with the speed r q̇_i + q̇_j."""
    drives: list[Drive] = []
    for pair in _listed("coupling", pairs, "[(5, 6)]"):
        if not isinstance(pair, (list, tuple)) or len(pair) not in (2, 3):
            raise DalembertError(
                f"coupling contains {pair!r}; an entry must be two joints, such as (5, 6), optionally followed by a ratio"
            )
        i, j, ratio = joint_index(arm, pair[0]), joint_index(arm, pair[1]), pair[2] if len(pair) == 3 else 1.0
        if i == j or not isinstance(ratio, (int, float)) or not np.isfinite(ratio) or ratio == 0:
            raise DalembertError(
                f"coupling contains {pair!r}; an entry must be two different joints, with a ratio that is not 0"
            )
        drives.append(Drive(i, j, float(ratio)))
    return tuple(drives)


def _listed(option: str, value: Any, example: str) -> Sequence[Any]:
    """The option, checked to be a list."""
    if not isinstance(value, (list, tuple)):
        raise DalembertError(f"{option} is {value!r}; it must be a list, such as {example}")
    return value


def terms_of(arm: Arm, pattern: Any) -> tuple[tuple[JointTerm, ...], tuple[int, ...]]:
    """The terms of a pattern, and the joints of q, from 0, whose friction is to depend on the temperature.

    A pattern is names, or {name: shape or list of shapes}, for every joint of q, or {joint: pattern} for some.

    >>> import dalembert as da
    >>> arm = da.load("planar-2r")
    >>> terms_of(arm, {"joint2": {"spring": {"rest": 0.2}}})
    (((1, Spring(physical=True, stiffness=0.0, rest=0.2)),), ())
    >>> terms_of(arm, ["load", "temperature"])[1], terms_of(arm, {"joint2": "temperature"})
    ((0, 1), ((), (1,)))
    """
    by_name = not isinstance(pattern, Mapping) or all(
        key in (*TERMS, HEAT) and key not in arm.joint_names for key in pattern
    )
    entries = [(j, pattern) for j in range(arm.n)]
    if not by_name:
        entries = [(joint_index(arm, joint), entry) for joint, entry in pattern.items()]
    terms, heated = list[JointTerm](), list[int]()
    for j, entry in entries:
        for name, shape in _shapes(entry):
            if name == HEAT:
                if shape != {}:
                    raise DalembertError(f"'{HEAT}' is given with {shape!r}; it has no shape: give {{'{HEAT}': {{}}}}")
                heated.append(j)
                continue
            term = _shaped(name, shape)
            if term.turns:
                _check_turns(arm, j, term.title)
            terms.append((arm.mechanism.actuated[j], term))
    return tuple(terms), tuple(dict.fromkeys(heated))


def _shapes(entry: Any) -> list[tuple[str, Any]]:
    """(name, shape) of the terms of one joint."""
    names = [entry] if isinstance(entry, str) else entry
    if not isinstance(names, (list, tuple, Mapping)) or not all(isinstance(name, str) for name in names):
        raise DalembertError(f"the terms of a joint are {entry!r}; give names, or {{name: shape}}")
    shapes = names if isinstance(names, Mapping) else {name: {} for name in names}
    several = ((name, shape or [{}] if isinstance(shape, (list, tuple)) else [shape]) for name, shape in shapes.items())
    return [(name, shape) for name, own in several for shape in own]


def _shaped(name: str, shape: Any) -> Term:
    """A term with its shape and zero coefficients."""
    if name not in TERMS:
        known = [*TERMS, HEAT]
        raise DalembertError(f"there is no term '{name}'; known are {', '.join(known)}{nearest(name, known)}")
    kind = TERMS[name]
    if kind in (Viscous, Coulomb):
        raise DalembertError(f"{name} friction is not one of the terms; use friction=('viscous', 'coulomb')")
    known = [entry.name for entry in kind.numbers() if entry.name not in kind.linear()]
    if not isinstance(shape, Mapping) or any(key not in known for key in shape):
        raise DalembertError(
            f"{kind.title} is given with {shape!r}; give its shape, {{{', '.join(known) or 'nothing'}}}: "
            f"{', '.join(kind.linear())} {'are' if len(kind.linear()) > 1 else 'is'} identified from the log"
        )
    if missing := [number for number in kind.needed() if number in known and number not in shape]:
        raise DalembertError(f"{kind.title} needs {' and '.join(missing)}; give {{'{name}': {{'{missing[0]}': …}}}}")
    return kind.read({**dict.fromkeys(kind.linear(), 0.0), **shape})


def pattern_of(names: Sequence[str], terms: Iterable[tuple[str, Term]], heated: Iterable[str]) -> dict[str, Any]:
    """The pattern {joint: {name: shapes}} that requests these terms, and friction that depends on the temperature."""
    pattern: dict[str, dict[str, list[dict[str, float]]]] = {name: {} for name in names}
    for joint, term in terms:
        shape = {x.name: getattr(term, x.name) for x in term.numbers() if x.name not in term.linear()}
        pattern[joint].setdefault(term.name, []).append(shape)
    for joint in heated:
        pattern[joint][HEAT] = [{}]
    return pattern


# -- parameters of a model --------------------------------------------------------------------------


def parameter_set(
    arm: Arm, model: ModelOptions, rotor: bool, temperature: Array | None = None
) -> tuple[ParameterSet, list[str]]:
    """The parameters of a model, except for shapes of friction that are determined from the log, and notes.

    temperature  (n,) the mean temperature of each joint in the log (°C), if it has them
    """
    friction = friction_of(arm, model.friction)
    if model.sigmoid not in (None, False):
        if isinstance(friction, Mapping) or model.two_sided or "coulomb" not in friction:
            raise DalembertError(
                "sigmoid describes Coulomb friction: friction must include 'coulomb' at every joint, without two_sided"
            )
        friction = tuple(kind for kind in friction if kind != "coulomb")
    offset = True if model.offset is None else joints_of(arm, "offset", model.offset)
    two_sided = joints_of(arm, "two_sided", model.two_sided or False)
    drives = drives_of(arm, () if model.coupling is None else model.coupling)
    terms, heated = terms_of(arm, () if model.terms is None else model.terms)
    if heated and temperature is None:
        raise DalembertError(
            f"the friction of joint '{arm.joint_names[heated[0]]}' is to depend on the temperature, but the log has none; log "
            "temperature1, temperature2, … or one temperature for all joints (°C), or remove 'temperature' from terms"
        )
    parameters = ParameterSet(
        arm, friction, two_sided, offset, rotor, drives=drives, heated=heated,
        mean_temperature=temperature if heated else None,
    )  # fmt: skip
    balanced = list[JointTerm]()
    for joint in _listed("balance", () if model.balance is None else model.balance, "[2]"):
        j = joint_index(arm, joint)
        _check_turns(arm, j, "a counterbalance")
        # a spring, gas or hydraulics: sin q, cos q, sin 2q, cos 2q of the joint's own angle
        balanced += [(arm.mechanism.actuated[j], Harmonic(order)) for order in (1.0, 2.0)]
    wanted = (*balanced, *terms)
    notes = _replaced(parameters, wanted)
    parameters = parameters.with_terms(wanted)
    _check_losses(parameters)
    return parameters, notes


def _replaced(parameters: ParameterSet, requests: Sequence[JointTerm]) -> list[str]:
    """Notes on terms of the arm that are replaced by requested ones, such as load-dependent friction by gear losses."""
    names = [joint.name for joint in parameters.arm.robot.tree_joints]
    return [
        f"'{own.name}' of joint '{names[j]}' is replaced by the requested '{term.name}': a joint has one of the two"
        for j, own in parameters.further
        for k, term in requests
        if j == k and kind_of(own) == kind_of(term) and own.name != term.name
    ]


def _check_losses(parameters: ParameterSet) -> None:
    """Raise an error for two load-dependent losses at one joint: 'load' equals 'gear' with two equal coefficients."""
    losses = [(j, term.name) for j, term in parameters.further if "load" in term.of]
    for j, joint in enumerate(parameters.arm.robot.tree_joints):
        names = [name for k, name in losses if k == j]
        if len(names) > 1:
            raise DalembertError(
                f"joint '{joint.name}' has {' and '.join(map(repr, names))}, which a log cannot distinguish; use one of them, as in "
                f"terms={{'{joint.name}': ['{names[-1]}']}}"
            )
