"""The WebAssembly modules of a page: its displayed quantities, with the arm's parameters as inputs, and every formulation of
inverse dynamics with its operation count, compiled unless its tape is too long."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from dalembert.arm import Arm
from dalembert.base.files.digest import digest_of_source
from dalembert.compiler.emit.source import Settings, Unit
from dalembert.compiler.kernel import cache
from dalembert.compiler.kernel.targets import emitted
from dalembert.compiler.kernel.wasm import wasm
from dalembert.compiler.quantities import machine
from dalembert.compiler.quantities.emission import identifier, step_unit, unit_of, units_apart
from dalembert.compiler.quantities.joints import quantity
from dalembert.compiler.quantities.machine import CLOSED_FORM
from dalembert.compiler.quantities.rollouts import ROLLOUTS
from dalembert.compiler.quantities.step_program import Plan
from dalembert.compiler.quantities.tip import TIP
from dalembert.errors import DalembertError
from dalembert.mechanics.coordinates.variable_parameters import VARIANTS
from dalembert.mechanics.motion.operational_space import Space
from dalembert.work.analysis.price import CHARACTER, DEGREE, MANY_JOINTS

# the quantities that the page computes; ``js/robot.js`` has a method for each
QUANTITIES = (
    "inverse_dynamics",
    "forward_dynamics",
    "torque_terms",
    "inertia_matrix",
    "coriolis_matrix",
    "gravity_torque",
    "kinetic_energy",
    "potential_energy",
    "pose",
    "link_poses",
    "jacobian",
)
# those of ``js/ellipsoids.js``, in the rows of the tip's space; ``js/inverse_kinematics.js`` moves its position
TIP_QUANTITIES = ("reach", "torque_maps")
POSITION = Space("geometric", (0, 1, 2))
# the steps of ``js/simulation.js``, and what it needs beside them
OF_SIMULATION = ("decay", "pulled_wrench")
STEP = Plan(law="posture", tip_wrench=True, by_hand=True)

OWN_SOURCE = (
    "work.analysis",
    "views.web",
)  # rooms that a page's data are made from, beside those that every key covers

LONGEST_TAPE = 10_000  # largest number of operations that a page runs: about 100 kB of WebAssembly, 1 s to compile
TITLES = {
    "lean": "Newton–Euler, lean",
    "newton-euler": "Newton–Euler, link frames",
    "newton-euler-base": "Newton–Euler, base frame",
    "lagrange": "Lagrange",
    "lagrange-euler": "Lagrange–Euler",
    "dalembert": "Generalized d'Alembert",
    CLOSED_FORM: "Closed form",
}
CLOSED = ("", "closed form in the coordinates held")
Row = dict[str, Any]


def varied_numbers(arm: Arm) -> tuple[str, ...]:
    """The parameters of the arm, among ``VARIANTS``, that are inputs of its kernels."""
    return tuple(name for name in VARIANTS if not (name == "lengths" and arm.mechanism.loops))


def page_kernels(arm: Arm, space: Space | None) -> bytes:
    """The module: one function for each of :data:`QUANTITIES` and, in the rows of ``space``, of :data:`TIP_QUANTITIES`, one
    for steps of inverse kinematics and one for those of the simulation; compiled once and cached."""
    mechanism, options = arm.mechanism, (*varied_numbers(arm), "tip_wrench")

    def made() -> bytes:
        entries = [*(quantity(name, mechanism) for name in QUANTITIES), *map(ROLLOUTS.__getitem__, OF_SIMULATION)]
        if space is not None:
            entries += [TIP[name].of(space) for name in TIP_QUANTITIES]
            if space.rows[0] in POSITION.rows:
                entries.append(TIP["damped_step"].of(POSITION))
        units, files = units_apart(mechanism, arm.name, entries, options=options, function="page")
        units.append(step_unit(mechanism, arm.name, replace(STEP, numbers=varied_numbers(arm)), "step"))
        source = emitted(units, files, "wasm", None)
        (module,) = (content for content in source.files.values() if isinstance(content, bytes))
        return module

    return cached_bytes(
        ("page", arm.name, machine.identity(mechanism), *QUANTITIES, *TIP_QUANTITIES, str(space), *options),
        made,
    )


def cached_bytes(parts: Sequence[str], make: Callable[[], bytes]) -> bytes:
    """The result of ``make`` for these parts and the present source, taken from the kernel cache if available."""
    source = (digest_of_source(cache.PACKAGE.joinpath(*room.split("."))).hex() for room in OWN_SOURCE)
    return cache.cached(cache.key_of("wasm", *source, *parts), make)


# -- formulations ------------------------------------------------------------------------------------


def formulations_of(arm: Arm) -> tuple[list[Row], bytes | None]:
    """The rows of ``js/formulation_panel.js``, and the module with one function per formulation that the page runs.

    The module is None if there is none to run. Its functions take q, q̇, q̈ and contain the arm's parameters as
    constants. Counts and module are cached on disk like kernels.

    >>> import dalembert as da
    >>> rows, module = formulations_of(da.load("planar-2r"))
    >>> rows[0]["name"], rows[0]["compiled"]["multiplications"], rows[0]["kernel"], rows[0]["default"]
    ('lean', 14, 'lean', True)
    """

    def made() -> bytes:
        counts, module = _made(arm)
        return json.dumps(counts).encode() + b"\n" + module

    parts = ("formulations of a page", machine.identity(arm.mechanism), arm.name, str(LONGEST_TAPE))
    head, _, module = cached_bytes(parts, made).partition(b"\n")
    rows = [_row(**count) for count in json.loads(head)]
    rivals = quantity("inverse_dynamics", arm.mechanism).contenders(arm.mechanism)
    default = min((row for row in rows if row["name"] in rivals and row["compiled"]), key=_total)
    for row in rows:
        row["default"] = row is default
    return rows, module or None


def _total(row: Row) -> int:
    """Multiplications plus additions of the compiled code."""
    return int(row["compiled"]["multiplications"] + row["compiled"]["additions"])


def _made(arm: Arm) -> tuple[list[Row], bytes]:
    """The operation counts of all formulations, and the module of those that are short enough."""
    mechanism = arm.mechanism
    entry = quantity("inverse_dynamics", mechanism)
    counts: list[Row] = []
    units: list[Unit] = []
    for name in entry.formulations(mechanism):
        count: Row = {"name": name, "written": None, "compiled": None, "kernel": None, "problem": None}
        counts.append(count)
        if name != CLOSED_FORM:
            count["written"] = asdict(machine.written(mechanism, entry, name))
        if DEGREE.get(name, 0) >= 4 and mechanism.tree.n > MANY_JOINTS:
            continue
        try:
            unit = unit_of(mechanism, arm.name, [entry], name, function=identifier(name))
        except DalembertError as problem:  # the closed form is too large
            count["problem"] = str(problem)
            continue
        count["compiled"] = asdict(unit.operations)
        if unit.operations.total <= LONGEST_TAPE:
            count["kernel"] = unit.name
            units.append(unit)
    if not units:
        return counts, b""
    module = wasm(units, Settings(), "formulations").files["formulations.wasm"]
    assert isinstance(module, bytes)
    return counts, module


def _row(name: str, written: Row | None, compiled: Row | None, kernel: str | None, problem: str | None) -> Row:
    kinematics, equations = CHARACTER.get(name, CLOSED)
    reason = None
    if problem is not None:
        reason = f"{problem[:1].upper()}{problem[1:]}."
    elif compiled is None:
        reason = f"Its cost grows with the fourth power of the number of joints: compiled for at most {MANY_JOINTS}."
    elif kernel is None:
        operations = f"Its {_total({'compiled': compiled}):,} operations"
        reason = f"{operations} would make this page large and slow to load: it is counted but not run here."
    character = {"name": name, "title": TITLES.get(name, name), "kinematics": kinematics, "equations": equations}
    return character | {"written": written, "compiled": compiled, "kernel": kernel, "reason": reason}
