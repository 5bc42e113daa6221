"""Plausibility checks of a robot: finite numbers, proper rotation matrices, physically possible inertias."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from dalembert.base.files.file_bounds import LARGEST_NUMBER, SMALLEST_LIMIT, check_size
from dalembert.base.wording import some
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.placement import Placement, no_rotation
from dalembert.robot.model.robot import Robot
from dalembert.robot.terms import Term

PHYSICAL = ("error", "warn")
WARN = 'load it with physical="warn" (--physical warn)'


class PhysicalWarning(UserWarning):
    """A link has a physically impossible inertia, but the robot was loaded anyway."""


class ModelWarning(UserWarning):
    """A robot file contains something that affects torques but is not modelled, or that is probably a mistake."""


def check(robot: Robot, physical: Literal["error", "warn"] = "error", remedy: str = WARN) -> Robot:
    """The robot itself, after all checks have passed.

    Non-finite numbers, matrices that are not rotations and negative masses are errors.
    Physically impossible inertia tensors are errors too, or a :class:`PhysicalWarning` with
    ``physical="warn"``; links marked ``physical=False`` pass with any mass and tensor.
    ``remedy`` is what the error message recommends to users who cannot correct the tensors.
    """
    check_numbers(robot)
    check_physical(robot, physical, remedy)
    return robot


def check_numbers(robot: Robot) -> None:
    """Refuse non-finite and excessive numbers, matrices that are not rotations, negative masses and tiny limits."""
    where = robot.source or f"robot '{robot.name}'"
    for what, numbers in _numbers(robot):
        for x in numbers:
            if isinstance(x, float) and not abs(x) <= LARGEST_NUMBER:
                check_size(f"{where}: {what}", x)
    for joint in robot.joints:
        for key in ("velocity", "acceleration", "effort"):
            limit = getattr(joint.limits, key)
            if limit is not None and 0.0 < limit < SMALLEST_LIMIT:
                raise RobotError(
                    f"{where}: the {key} limit of joint '{joint.name}' is {limit:g}; it must be at least {SMALLEST_LIMIT:g} in SI "
                    "units, or 0 if it is unknown"
                )
    for what, placement in _placements(robot):
        wrong = no_rotation(placement.rotation)
        if wrong:
            raise RobotError(f"{where}: {what} has a matrix that is not a rotation: {wrong}")
    for what, inertia, claimed in _inertias(robot):
        if claimed and isinstance(inertia.mass, float) and inertia.mass < 0:
            raise RobotError(f"{where}: {what} has a negative mass ({inertia.mass:g} kg)")


def check_physical(robot: Robot, physical: str = "error", remedy: str = WARN, level: int = 3) -> None:
    """Refuse impossible inertias, or warn about them, in one message; ``level`` is the stack level of the warning."""
    if physical not in PHYSICAL:
        raise RobotError(f"physical is {physical!r}; it must be {' or '.join(map(repr, PHYSICAL))}")
    where = robot.source or f"robot '{robot.name}'"
    impossible = [
        f"{what}: {reason}"
        for what, inertia, claimed in _inertias(robot)
        if claimed
        and not inertia.is_zero
        and all(isinstance(x, float) for x in _values(inertia))  # symbols stay symbols
        and (reason := inertia.impossible())
    ]
    if not impossible:
        return
    message = f"{where} has physically impossible inertias: {some(impossible, separator='; ')}"
    if physical == "error":
        raise RobotError(f"{message}; correct them, or {remedy}")
    warnings.warn(message, PhysicalWarning, stacklevel=level)


def _values(inertia: Inertia) -> tuple[Any, ...]:
    return (inertia.mass, *inertia.com, *(x for row in inertia.tensor for x in row))


def _inertias(robot: Robot) -> Iterator[tuple[str, Inertia, bool]]:
    """Every body, and whether it is claimed to be physical."""
    for link in robot.links:
        yield f"link '{link.name}'", link.inertia, link.physical
    if robot.payload is not None:
        yield "the payload", robot.payload, True


def _placements(robot: Robot) -> Iterator[tuple[str, Placement]]:
    yield "the base", robot.base
    if robot.tip is not None:
        yield f"the tip '{robot.tip.name}'", robot.tip.placement
    for joint in robot.joints:
        yield f"the placement of joint '{joint.name}'", joint.placement
        yield f"the link frame of joint '{joint.name}'", joint.link_frame


def _numbers(robot: Robot) -> Iterator[tuple[str, Iterable[Any]]]:
    yield "gravity", robot.gravity
    for what, inertia, _ in _inertias(robot):
        yield f"the mass of {what}", (inertia.mass,)
        yield f"the centre of mass of {what}", inertia.com
        yield f"the inertia tensor of {what}", _values(inertia)[4:]
    for what, placement in _placements(robot):
        yield what, (*placement.translation, *(x for row in placement.rotation for x in row))
    for link in robot.links:
        yield f"the weight of link '{link.name}'", (link.weight,)
    for joint in robot.joints:
        yield f"the offset of joint '{joint.name}'", (joint.offset,)
        yield f"the axis of joint '{joint.name}'", joint.axis
        rotor = joint.rotor
        if rotor is not None:
            scalars = (rotor.inertia, rotor.gear, rotor.mass, rotor.transverse, rotor.viscous, *rotor.coulomb)
            yield f"the rotor of joint '{joint.name}'", (*scalars, *(rotor.position or ()), *(rotor.axis or ()))
        for part in (*joint.friction, *(x for x in (joint.motor, joint.gear) if x is not None)):
            word = part.title if isinstance(part, Term) else f"the {type(part).__name__.lower()}"
            for entry in part.numbers():
                yield f"the {entry.name} of {word} of joint '{joint.name}'", (getattr(part, entry.name),)
