"""Robots to TOML files, in the format that docs/robot-files.md describes; reading gives the same robot back."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator
from fractions import Fraction

from dalembert.algebra.vectors import IDENTITY, NULL, ZERO
from dalembert.errors import RobotError
from dalembert.files import whole_file
from dalembert.robot.couplings import Coupling
from dalembert.robot.dh import Row, rows_of
from dalembert.robot.inertia import Inertia
from dalembert.robot.loops import Loop
from dalembert.robot.model import STANDARD_GRAVITY, Friction, Joint, Limits, Link, Robot, Rotor
from dalembert.robot.parts import LIMIT_KEYS, ROTOR_KEYS
from dalembert.robot.placement import Placement
from dalembert.robot.tables import parse_angle, shown

Lines = Iterator[str]


def write_toml(robot: Robot) -> str:
    """The robot as a TOML text: DH rows when they say it exactly, frames otherwise."""
    found = rows_of(robot) if _is_numeric(robot) else None
    return "\n".join([*_head(robot, found[0] if found else "frames"), *_body(robot, found), ""])


def save_toml(robot: Robot, path: str | os.PathLike[str]) -> None:
    """Write the robot to ``path``; a reader never meets a half-written file."""
    text = write_toml(robot)
    with whole_file(path, overwrite=True, error=RobotError) as file:
        file.write(text)


def _is_numeric(robot: Robot) -> bool:
    return all(
        isinstance(x, float)
        for joint in robot.joints
        for frame in (joint.placement, joint.link_frame)
        for x in (joint.offset, *frame.translation, *(v for row in frame.rotation for v in row))
    )


def _head(robot: Robot, convention: str) -> Lines:
    yield f"name = {_text(robot.name)}"
    if robot.source:
        yield f"source = {_text(robot.source)}"
    if robot.notes:
        yield "notes = ["
        yield from (f"  {_text(note)}," for note in robot.notes)
        yield "]"
    if robot.gravity != STANDARD_GRAVITY:
        yield f"gravity = {_list(robot.gravity)}"
    yield f'convention = "{convention}"'


def _body(robot: Robot, found: tuple[str, tuple[Row, ...]] | None) -> Lines:
    assert robot.tip is not None
    base = list(_placement(robot.base))
    if found and robot.root != "base":
        base.insert(0, f"link = {_text(robot.root)}")
    yield from _section("[base]", base)
    tip = [f"name = {_text(robot.tip.name)}", f"link = {_text(robot.tip.link)}", *_placement(robot.tip.placement)]
    yield from _section("[tip]", tip)
    if robot.payload is not None:
        yield from _section("[payload]", _inertia(robot.payload, mass_always=True))
    if found:
        for row in found[1]:
            yield from _section("[[joint]]", _row(row))
            yield from _joint_parts(row)
    else:
        for link in robot.links:
            yield from _section("[[link]]", _link(link))
        for joint in robot.joints:
            yield from _section("[[joint]]", _joint(joint))
            yield from _joint_parts(joint)
    for loop in robot.loops:
        yield from _section("[[loop]]", _loop(loop))
    for coupling in robot.couplings:
        if coupling.formulas:
            raise RobotError(
                f"robot '{robot.name}' has coordinates by formulas ({coupling.text}), which a file cannot hold; save the arm "
                "that they were made for"
            )
        yield from _section("[[coupling]]", _coupling(coupling))


def _coupling(coupling: Coupling) -> Lines:
    yield f"joints = [{', '.join(map(_text, coupling.joints))}]"
    if coupling.of:
        yield f"of = [{', '.join(map(_text, coupling.of))}]"
        yield f"matrix = [{', '.join(map(_list, coupling.matrix))}]"
    yield f"offset = {_list(coupling.offset)}"
    if coupling.higher:
        yield f"higher = {_list(coupling.higher)}"


def _loop(loop: Loop) -> Lines:
    yield f"name = {_text(loop.name)}"
    yield f'kind = "{loop.kind}"'
    yield f"link_a = {_text(loop.link_a)}"
    yield f"link_b = {_text(loop.link_b)}"
    for key, place in (("a", loop.placement_a), ("b", loop.placement_b)):
        if place != Placement():
            yield f"{key} = {{ {', '.join(_placement(place))} }}"
    yield f"axis = {_list(loop.axis)}"
    yield f"passive = [{', '.join(map(_text, loop.passive))}]"
    if loop.branch:
        yield f"branch = {{ {', '.join(f'{_text(name)} = {_number(x)}' for name, x in loop.branch)} }}"


def _section(header: str, lines: Iterable[str]) -> Lines:
    body = list(lines)
    if body:
        yield from ("", header, *body)


def _row(row: Row) -> Lines:
    yield f"name = {_text(str(row.name))}"
    yield f"link = {_text(str(row.link))}"
    yield f'type = "{row.type}"'
    yield f"a = {_number(row.a)}"
    yield f"alpha = {_angle(row.alpha)}"
    yield f"d = {_number(row.d)}"
    yield f"theta = {_angle(row.theta)}"
    yield from _inertia(row.inertia)
    if not row.physical:
        yield "physical = false"


def _link(link: Link) -> Lines:
    yield f"name = {_text(link.name)}"
    yield from _inertia(link.inertia)
    if not link.physical:
        yield "physical = false"
    if link.massless:
        yield "massless = true"


def _joint(joint: Joint) -> Lines:
    yield f"name = {_text(joint.name)}"
    yield f'type = "{joint.type}"'
    yield f"parent = {_text(joint.parent)}"
    yield f"child = {_text(joint.child)}"
    yield from _placement(joint.placement)
    if joint.moves or joint.axis != (0.0, 0.0, 1.0):
        yield f"axis = {_list(joint.axis)}"
    if joint.offset != 0:
        yield f"offset = {_angle(joint.offset) if joint.type in ('revolute', 'continuous') else _number(joint.offset)}"
    yield from _section("[joint.link_frame]", _placement(joint.link_frame))


def _joint_parts(joint: Joint | Row) -> Lines:
    yield from _section("[joint.limits]", _limits(joint.limits))
    yield from _section("[joint.friction]", _friction(joint.friction))
    if joint.rotor is not None:
        # a rotor with nothing said is still a rotor: its table is written even when all is default
        yield from ("", "[joint.rotor]", *_rotor(joint.rotor))


def _limits(limits: Limits) -> Lines:
    for key in LIMIT_KEYS:
        value = getattr(limits, key)
        if value is not None:
            yield f"{key} = {_number(value)}"


def _friction(friction: Friction) -> Lines:
    if friction.viscous != 0:
        yield f"viscous = {_number(friction.viscous)}"
    if friction.coulomb != (0.0, 0.0):
        yield f"coulomb = {_pair(friction.coulomb)}"


def _rotor(rotor: Rotor) -> Lines:
    default = Rotor()
    for key in ROTOR_KEYS:
        value = getattr(rotor, key)
        if key == "reflected":
            yield f"reflected = {'true' if value else 'false'}"
        elif key in ("inertia", "gear") or value != getattr(default, key):
            yield f"{key} = {_pair(value) if key == 'coulomb' else _value(value)}"


def _placement(placement: Placement) -> Lines:
    if placement.translation != ZERO:
        yield f"xyz = {_list(placement.translation)}"
    if placement.rotation == IDENTITY:
        return
    rows = f"rotation = [{', '.join(map(_list, placement.rotation))}]"  # refuses symbols, so it comes first
    rpy = placement.to_rpy()
    same = Placement.rpy(*rpy, xyz=placement.translation) == placement
    yield f"rpy = [{', '.join(map(_angle, rpy))}]" if same else rows


def _inertia(body: Inertia, *, mass_always: bool = False) -> Lines:
    if body.mass != 0 or mass_always:
        yield f"mass = {_number(body.mass)}"
    if body.com != ZERO:
        yield f"com = {_list(body.com)}"
    I = body.tensor
    if I == NULL:
        return
    if I.T != I:
        yield f"inertia = [{', '.join(map(_list, I))}]"
        return
    entries = {"xx": I[0][0], "yy": I[1][1], "zz": I[2][2], "xy": I[0][1], "xz": I[0][2], "yz": I[1][2]}
    kept = (f"{key} = {_number(v)}" for key, v in entries.items() if v != 0 or key in ("xx", "yy", "zz"))
    yield f"inertia = {{ {', '.join(kept)} }}"


def _number(value: object) -> str:
    if not isinstance(value, float):
        raise RobotError(f"a robot with symbols cannot be written to a file: {value!r} is not a number")
    if math.isnan(value):
        raise RobotError("a robot with a value that is not a number (NaN) cannot be written to a file")
    return repr(value)


def _list(values: Iterable[object]) -> str:
    return f"[{', '.join(map(_number, values))}]"


def _value(value: object) -> str:
    return _list(value) if isinstance(value, tuple) else _number(value)


def _pair(pair: tuple[float, float]) -> str:
    return _number(pair[0]) if pair[0] == pair[1] else _list(pair)


def _angle(value: object) -> str:
    """An angle; as a fraction of π in words where those words are exactly the same number."""
    plain = _number(value)
    assert isinstance(value, float)
    turn = Fraction(value / math.pi).limit_denominator(12) if math.isfinite(value) else Fraction(0)
    if turn == 0:
        return plain
    top = {1: "pi", -1: "-pi"}.get(turn.numerator, f"{turn.numerator} pi")
    words = top if turn.denominator == 1 else f"{top}/{turn.denominator}"
    return f'"{words}"' if parse_angle(words) == value else plain


def _text(value: str) -> str:
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise RobotError(
            f"the text {shown(value)} has half of a surrogate pair, which no UTF-8 file can hold; change it"
        )
    # JSON's escapes are TOML's, but TOML also wants DEL escaped
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
