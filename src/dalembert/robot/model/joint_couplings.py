"""Coupled joints: mimic joints, coupled wrists, tendons, gears and screws.

The joints of a robot form a tree. A :class:`Coupling` states that some of them have no motor of their own: their
positions follow those of other joints, q_joints = matrix · q_of + offset, or, for one joint that follows one other, a
polynomial. Coupled joints are not part of the arm's ``q``.

A *motor* that moves several joints is itself a joint of the tree: its link has no mass, and the rotor of the joint that
it belongs to spins with it. The equations of motion of the tree therefore contain all gyroscopic terms of the rotor,
and a coordinate that is not a joint of the mechanism needs no special treatment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from dalembert.base.algebra.records import settle
from dalembert.base.files.file_bounds import COUPLED_JOINTS, COUPLINGS, at_most
from dalembert.base.tables.located import finite_float
from dalembert.base.wording import nearest, shown, some
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.loop_joints import joints_around
from dalembert.robot.model.placement import Placement

if TYPE_CHECKING:
    from dalembert.robot.model.robot import Joint, Limits, Link, Robot

Row = tuple[float, ...]
DEGREE = 16  # largest degree of a polynomial; MJCF has 4
LARGEST = 1e15  # largest factor or offset: its square times an inertia is still finite
POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
ROUNDING = 1e-12  # tolerance for limits that meet in one point


@dataclass(frozen=True, init=False, repr=False)
class Coupling:
    """Joints that follow other joints: q_joints = matrix · q_of + offset.

    joints   the coupled joints, which follow
    of       the joints that they follow, which may themselves be coupled; empty if the coupled joints are fixed
    matrix   one row per coupled joint, one column per joint of ``of``; a single number couples one joint to one
             other. By default each joint follows its own counterpart, one to one
    offset   one number per coupled joint (rad or m), 0 by default
    higher   the coefficients of q_of², q_of³, … if one joint follows one other
    motors   instead of ``of``: names of coordinates that are not joints of the mechanism; each becomes a joint with a
             massless link; motor k replaces joint k in q, is of the same type, and takes over its rotor
    limits   the limits of the motors, one per motor

    >>> Coupling("finger_right", "finger_left", -1.0)
    Coupling(joints=('finger_right',), of=('finger_left',), matrix=((-1.0,),), offset=(0.0,))
    """

    joints: tuple[str, ...]
    of: tuple[str, ...]
    matrix: tuple[Row, ...]
    offset: Row
    higher: Row
    motors: tuple[str, ...]
    limits: tuple[Limits, ...]
    formulas: tuple[Any, ...]

    def __init__(
        self,
        joints: str | Sequence[str],
        of: str | Sequence[str] = (),
        matrix: Any = (),
        offset: float | Sequence[float] = (),
        higher: Sequence[float] = (),
        motors: str | Sequence[str] = (),
        limits: Sequence[Limits] = (),
        formulas: Sequence[Any] = (),
    ) -> None:
        joints, of, motors = _names(joints, "joints"), _names(of, "of"), _names(motors, "motors")
        if not joints:
            raise RobotError("a coupling has no joints; name the coupled joints, as in joints = ['finger_right']")
        where = coupled(joints)
        if of and motors:
            raise RobotError(f"{where} has both 'of' ({some(of)}) and 'motors' ({some(motors)}); give only one of them")
        for name in joints:
            if name in of or name in motors:
                raise RobotError(f"{where}: joint '{name}' follows itself; name other joints in 'of'")
        columns = len(of or motors)
        settle(
            self,
            joints=joints,
            of=of,
            motors=motors,
            matrix=((0.0,) * columns,) * len(joints) if formulas else _matrix(matrix, len(joints), columns, where),
            offset=_row(offset, len(joints), "offset", where) or (0.0,) * len(joints),
            higher=_row(higher, None, "higher", where),
            limits=_limits(limits, where),
            formulas=tuple(formulas),
        )
        if self.higher and not (len(joints) == columns == 1):
            raise RobotError(
                f"{where} has coefficients of higher powers, {shown(self.higher)}, but couples {len(joints)} to "
                f"{columns} joints; powers are allowed only where one joint follows one other"
            )
        if len(self.higher) > DEGREE - 1:
            raise RobotError(f"{where} has a polynomial of degree {len(self.higher) + 1}; the maximum is {DEGREE}")
        while self.higher and self.higher[-1] == 0.0:
            settle(self, higher=self.higher[:-1])
        self._check_motors(where)

    def _check_motors(self, where: str) -> None:
        if self.limits and len(self.limits) != len(self.motors):
            raise RobotError(
                f"{where} has limits for {len(self.limits)} motors, but the number of motors is {len(self.motors)}; give one table per motor"
            )
        if len(self.motors) > len(self.joints):
            raise RobotError(
                f"{where} has more motors ({len(self.motors)}) than joints ({len(self.joints)}), so the joints do not determine "
                "the motors; give at most as many motors as joints"
            )
        idle = [motor for k, motor in enumerate(self.motors) if not any(row[k] for row in self.matrix)]
        if idle and len(self.motors) < len(self.joints):
            raise RobotError(f"{where} has a column of zeros for motor '{idle[0]}', which moves no joint; remove it")
        if self.motors and len(self.motors) == len(self.joints) and singular(self.matrix):
            rows = [list(row) for row in self.matrix]
            raise RobotError(
                f"{where} has the singular matrix {shown(rows)}, so some combination of motors moves no joint; "
                "give linearly independent rows"
            )

    def __repr__(self) -> str:
        # empty fields are omitted, except those of q = matrix · q_of + offset
        filled = [key for key in ("higher", "motors", "limits") if getattr(self, key)]
        fields = [f"{key}={getattr(self, key)!r}" for key in ("joints", "of", "matrix", "offset", *filled)]
        return f"Coupling({', '.join(fields)})"

    @property
    def linear(self) -> bool:
        """Whether the coupling has neither higher powers nor formulas."""
        return not self.higher and not self.formulas

    @property
    def text(self) -> str:
        """The coupling as one line of text.

        >>> Coupling("g2", "g1", -1.5, 0.02, higher=(0.5,)).text
        'g2 = 0.02 − 1.5 g1 + 0.5 g1²'
        """
        lines = [f"{name} = {formula}" for name, formula in zip(self.joints, self.formulas, strict=False)]
        for name, row, shift in zip(self.joints, self.matrix, self.offset, strict=True) if not lines else ():
            terms = [(shift, "")] if shift else []
            terms += [(factor, joint) for factor, joint in zip(row, self.of or self.motors, strict=True) if factor]
            terms += [(c, f"{self.of[0]}{str(k).translate(POWERS)}") for k, c in enumerate(self.higher, 2) if c]
            lines.append(f"{name} = {_sum(terms)}")
        return "; ".join(lines)


def _sum(terms: Sequence[tuple[float, str]]) -> str:
    out = ""
    for factor, name in terms:
        size = "" if name and abs(factor) == 1 else f"{abs(factor):g}"
        sign = ("− " if factor < 0 else "+ ") if out else ("−" if factor < 0 else "")
        out += f"{' ' if out else ''}{sign}{' '.join(filter(None, (size, name)))}"
    return out or "0"


def coupled(joints: Sequence[str]) -> str:
    """The words with which a message refers to a coupling: its coupled joints."""
    return f"the coupling of joint{'s' * (len(joints) != 1)} {some([repr(name) for name in joints])}"


def _names(value: Any, key: str) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise RobotError(f"a coupling has {key} = {shown(value)}; it must be a list of names")
    at_most(COUPLED_JOINTS, len(names), "joints in one coupling", "a coupling")
    if twice := [name for name in names if names.count(name) > 1]:
        raise RobotError(f"{coupled(names)}: '{twice[0]}' appears more than once in '{key}'; name it once")
    return tuple(names)


def _limits(value: Any, where: str) -> tuple[Limits, ...]:
    limits = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if strange := [x for x in limits if not hasattr(x, "velocity")]:
        raise RobotError(f"{where} has {shown(strange[0])} in 'limits'; it must be a list of Limits, one per motor")
    return limits


def finite(value: Any, key: str, where: str) -> float:
    """The value as a finite float; otherwise an error that names the key."""
    number = finite_float(value)
    if number is None:
        raise RobotError(f"{where} has the value {shown(value)} in '{key}'; it must be a finite number")
    if abs(number) > LARGEST:
        raise RobotError(f"{where} has the value {number:g} in '{key}'; the maximum is {LARGEST:g}, in rad or m")
    return number


def _row(value: Any, size: int | None, key: str, where: str) -> Row:
    value = value.tolist() if hasattr(value, "tolist") else value
    values = value if isinstance(value, (list, tuple)) else (value,)
    if size is not None and values and len(values) != size:
        raise RobotError(f"{where} has {len(values)} values in '{key}' ({shown(value)}); give {size}, one per joint")
    return tuple(finite(x, key, where) for x in values)


def _matrix(value: Any, rows: int, columns: int, where: str) -> tuple[Row, ...]:
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = [[value]]
    if not columns and (isinstance(value, tuple) and not any(value)):
        return ((),) * rows
    if isinstance(value, (list, tuple)) and not value and rows == columns:
        return tuple(tuple(1.0 if i == j else 0.0 for j in range(columns)) for i in range(rows))
    shape = [len(row) for row in value if isinstance(row, (list, tuple))] if isinstance(value, (list, tuple)) else []
    if shape != [columns] * rows or len(value) != rows:
        raise RobotError(
            f"{where} has matrix = {shown(value)}; it needs {rows} row{'s' * (rows != 1)}, one per coupled joint, "
            f"of {columns} number{'s' * (columns != 1)}, one per joint that they follow"
        )
    return tuple(tuple(finite(x, "matrix", where) for x in row) for row in value)


def singular(matrix: Any) -> bool:
    """Whether a square matrix is singular, irrespective of the units of its rows and columns."""
    import numpy as np

    A = np.array(matrix, float)
    for axis in (1, 0):
        lengths = np.linalg.norm(A, axis=axis, keepdims=True)
        A = A / np.where(lengths > 0, lengths, 1.0)
    return bool(np.linalg.matrix_rank(A) < len(A))


# -- on a robot ----------------------------------------------------------------------------------


def with_motors(
    links: Sequence[Link], joints: Sequence[Joint], couplings: Sequence[Coupling]
) -> tuple[tuple[Link, ...], tuple[Joint, ...], tuple[Coupling, ...]]:
    """Links, joints and couplings, extended by a joint and a massless link for every motor named in the couplings.

    Motor k is mounted on the link that carries joint k, precedes this joint, and takes over its rotor.
    """
    every_link, every_joint, on_motors = list(links), list(joints), []
    if isinstance(couplings, Coupling) or not all(isinstance(x, Coupling) for x in couplings):
        raise RobotError(f"a robot has couplings = {shown(couplings)}; it must be a list of Coupling")
    for coupling in couplings:
        for k, motor in enumerate(coupling.motors):
            name = coupling.joints[k]
            place = next((i for i, joint in enumerate(every_joint) if joint.name == name), None)
            if place is None:
                raise RobotError(f"{coupled(coupling.joints)}: {unknown_joint(name, [joint.name for joint in joints])}")
            joint, link = every_joint[place], every_link[0]
            body = f"{motor}:rotor"
            every_link.append(replace(link, name=body, inertia=Inertia(), physical=True, massless=True, weight=1.0))
            limits = coupling.limits[k] if coupling.limits else type(joint.limits)()
            turns = replace(joint, name=motor, child=body, offset=0.0, link_frame=Placement(), limits=limits)
            undriven = replace(joint, rotor=None, motor=None, gear=None)
            every_joint[place : place + 1] = [replace(turns, friction=type(joint.friction)()), undriven]
        on_motors.append(replace(coupling, of=coupling.motors, motors=(), limits=()) if coupling.motors else coupling)
    return tuple(every_link), tuple(every_joint), tuple(on_motors)


def unknown_joint(name: str, known: Sequence[str]) -> str:
    """What a message says of a joint that does not exist."""
    return f"there is no joint '{name}'; the joints are {some(known)}{nearest(name, known)}"


def check_couplings(robot: Robot) -> None:
    """Refuse unknown names, joints that are coupled twice or in a cycle, and limits that leave no range of motion."""
    where = f"robot '{robot.name}'"
    at_most(COUPLINGS, len(robot.couplings), "couplings", where)
    joints = {joint.name: joint for joint in robot.joints}
    follows: dict[str, Coupling] = {}
    for coupling in robot.couplings:
        place = f"{where}: {coupled(coupling.joints)}"
        for name in (*coupling.joints, *coupling.of):
            if name not in joints:
                raise RobotError(f"{place}: {unknown_joint(name, list(joints))}")
            if not joints[name].moves:
                raise RobotError(
                    f"{place}: joint '{name}' is fixed and has no position; couple joints that are revolute, continuous or "
                    "prismatic"
                )
        for name in coupling.joints:
            if name in follows:
                leaders = " and ".join(f"joint '{leader}'" for leader in follows[name].of) or "no joint (it is fixed)"
                raise RobotError(f"{place}: joint '{name}' already follows {leaders}; remove one of the couplings")
            follows[name] = coupling
    try:
        TopologicalSorter({name: coupling.of for name, coupling in follows.items()}).prepare()
    except CycleError as problem:
        cycle = " follows ".join(map(repr, reversed(problem.args[1])))
        raise RobotError(f"{where}: joints follow one another in a cycle: {cycle}; remove one coupling") from None
    if follows and all(joint.name in follows for joint in robot.joints if joint.moves):
        raise RobotError(
            f"{where}: every joint is coupled to another or fixed, so no joint is left for a motor to move; "
            "remove one joint from the couplings"
        )


def in_order(couplings: Sequence[Coupling]) -> list[Coupling]:
    """The couplings sorted so that each comes after those whose joints it follows.

    >>> [c.text for c in in_order([Coupling("c", "b"), Coupling("b", "a")])]
    ['b = a', 'c = b']
    """
    place = {name: k for k, coupling in enumerate(couplings) for name in coupling.joints}
    sorter = TopologicalSorter(dict.fromkeys(range(len(couplings)), ()))  # their order, where couplings leave it open
    for k, coupling in enumerate(couplings):
        sorter.add(k, *(place[name] for name in coupling.of if name in place))
    return [couplings[k] for k in sorter.static_order()]


def followers(robot: Robot) -> dict[str, Coupling]:
    """{coupled joint: its coupling}."""
    return {name: coupling for coupling in robot.couplings for name in coupling.joints}


def joints_follow(robot: Robot) -> bool:
    """Whether joints follow others, around loops or through couplings."""
    return bool(robot.loops or robot.couplings)


def check_with_loops(robot: Robot) -> None:
    """A loop may contain coupled joints, but these must not follow a joint that a loop determines."""
    passive = {name: loop.name for loop in robot.loops for name in loop.passive}
    behind: dict[str, str] = {}  # {joint that follows a passive one: this passive joint}
    for coupling in in_order(robot.couplings):
        for leader in coupling.of:
            if leader in passive or leader in behind:
                behind |= dict.fromkeys(coupling.joints, behind.get(leader, leader))
    for loop in robot.loops:
        for joint in joints_around(robot, loop):
            if joint.name in behind:
                leader = behind[joint.name]
                raise RobotError(
                    f"robot '{robot.name}': loop '{loop.name}' contains joint '{joint.name}', which follows joint '{leader}', "
                    f"a passive joint of loop '{passive[leader]}'; let '{joint.name}' follow actuated joints only"
                )


# -- limits ----------------------------------------------------------------------------------------


def led(robot: Robot) -> dict[str, tuple[str, float, float]]:
    """{joint that follows a single joint linearly: (uncoupled joint that it finally follows, factor, offset)}."""
    out: dict[str, tuple[str, float, float]] = {}
    curved: set[str] = set()
    passive = {name for loop in robot.loops for name in loop.passive}
    for coupling in in_order(robot.couplings):
        for name, row, shift in zip(coupling.joints, coupling.matrix, coupling.offset, strict=True):
            parts = [(factor, leader) for factor, leader in zip(row, coupling.of, strict=True) if factor]
            if not coupling.linear or len(parts) != 1 or parts[0][1] in curved | passive:
                curved.add(name)
                continue
            factor, leader = parts[0]
            root, slope, start = out.get(leader, (leader, 1.0, 0.0))
            out[name] = (root, factor * slope, shift + factor * start)
            if not factor * slope or max(abs(factor * slope), abs(shift + factor * start)) > LARGEST:
                raise RobotError(
                    f"robot '{robot.name}': joint '{name}' follows joint '{root}' with the overall factor "
                    f"{factor * slope:g} and offset {shift + factor * start:g}; correct the factors"
                )
    return out


def with_led_limits(robot: Robot, held: Sequence[Joint]) -> tuple[Joint, ...]:
    """The joints, with limits tightened so that joints that follow them linearly stay within their own limits."""
    limits = {joint.name: joint.limits for joint in held}
    joints = {joint.name: joint for joint in robot.joints}
    for name, (leader, factor, shift) in led(robot).items():
        if leader in limits:
            limits[leader] = _both(robot, joints[leader], limits[leader], joints[name], factor, shift)
    return tuple(replace(joint, limits=limits[joint.name]) for joint in held)


def _both(robot: Robot, leader: Joint, own: Limits, follower: Joint, factor: float, shift: float) -> Limits:
    """The leader's limits, tightened by those of its follower q_f = factor q + shift."""
    given = follower.limits
    ends = [None if x is None else (x - shift) / factor for x in (given.lower, given.upper)]
    lower, upper = ends if factor > 0 else ends[::-1]
    low, high = _tightest(max, own.lower, lower), _tightest(min, own.upper, upper)
    if low is not None and high is not None and low > high:
        if low - high > ROUNDING * max(1.0, abs(low), abs(high)):
            of_follower, of_leader = (
                " to ".join("unknown" if x is None else f"{x:g}" for x in (limits.lower, limits.upper))
                for limits in (given, own)
            )
            raise RobotError(
                f"robot '{robot.name}': joint '{follower.name}' follows joint '{leader.name}' by {factor:g} · q + {shift:g}, and "
                f"its limits from {of_follower} exclude the whole range from {of_leader} of '{leader.name}'; correct the "
                "limits, the factor or the offset"
            )
        low = high
    rates = {key: getattr(given, key) for key in ("velocity", "acceleration")}
    rates = {key: None if rate is None else rate / abs(factor) for key, rate in rates.items()}
    tight = {key: _tightest(min, getattr(own, key), rate) for key, rate in rates.items()}
    return replace(own, lower=low, upper=high, **tight)


def _tightest(choose: Any, own: float | None, led: float | None) -> float | None:
    """The tighter of two limits; one that a small factor makes overflow is none."""
    known = [x for x in (own, led if led is not None and math.isfinite(led) else None) if x is not None]
    return choose(known) if known else None
