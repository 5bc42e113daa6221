"""A robot's TOML file as a template for a page that changes its numbers: text, and slots for the numbers.

Pieces are plain data: a text; ``{"slot": name}``, which is replaced by a number; or ``{"when": [part, …], "same": text,
"changed": pieces}``, which stands for the text unless one of these parts of the robot has changed. With i the index of
the joint in the tree, counted from 0, the parts are ``link_i``, ``place_i`` (the joint on the previous link),
``frame_i`` (the link frame), ``rotor_i``, ``friction_i``, ``tip`` and ``gravity``. Unchanged, the text is that of
:func:`write_toml`.

A changed joint has the friction of its motor on the joint side, because the gear ratio may have changed, and an
explicit rotor position; catalogue motors and gears are dropped if the rotor no longer matches them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dalembert.robot.model.mechanism import Body, places
from dalembert.robot.model.robot import Joint, Link, Robot
from dalembert.robot.readers import toml_writer as writer

Piece = str | dict[str, Any]
TENSOR = ("xx", "xy", "xz", "yy", "yz", "zz")


class _Slot(float):
    """A number that is written as the name of a slot."""

    name: str

    def __new__(cls, name: str) -> _Slot:
        slot = super().__new__(cls, 1.0)
        slot.name = name
        return slot

    def __repr__(self) -> str:
        return f"\0{self.name}\0"


def toml_pieces(robot: Robot, bodies: tuple[Body, ...]) -> list[Piece]:
    """The pieces of a robot's file; ``bodies`` are those of its tree."""
    parts = ["tip", "gravity"]
    for i in range(len(bodies)):
        parts += [f"{part}_{i}" for part in ("link", "place", "frame", "rotor", "friction")]
    changed = list(_whole(robot, bodies))
    return [{"when": parts, "same": writer.write_toml(robot), "changed": changed}]


def _vector(letter: str, i: int | None = None) -> tuple[float, ...]:
    return tuple(_Slot(f"{letter}{x}" if i is None else f"{letter}{x}_{i}") for x in "xyz")


def _cut(lines: list[str]) -> list[Piece]:
    """Lines as texts and slots, each line with its line break."""
    pieces = "".join(f"{line}\n" for line in lines).split("\0")
    return [{"slot": piece} if k % 2 else piece for k, piece in enumerate(pieces) if piece]


def _either(when: list[str], same: Iterator[str], changed: Iterator[str]) -> Piece:
    return {"when": when, "same": "".join(f"{line}\n" for line in same), "changed": _cut(list(changed))}


def _whole(robot: Robot, bodies: tuple[Body, ...]) -> Iterator[Piece]:
    """A file with frames, in the order used by the writer."""
    number = {joint.name: i for i, joint in enumerate(robot.tree_joints)}
    moved = {joint.child: number[joint.name] for joint in robot.tree_joints}
    at = places(robot)
    yield _either(["gravity"], writer.head_lines(robot, "frames"), writer.head_lines(robot, "frames", _vector("g")))
    yield from _cut(list(writer.section("[base]", writer.placement_fields(robot.base))))
    assert robot.tip is not None
    name = {"name": robot.tip.name, "link": robot.tip.link}
    place = writer.placement_fields(robot.tip.placement)
    shifted = {"xyz": _vector("t"), **{key: value for key, value in place.items() if key != "xyz"}}
    yield _either(["tip"], writer.section("[tip]", name | place), writer.section("[tip]", name | shifted))
    if robot.payload is not None:
        held = {"mass": robot.payload.mass} | writer.inertia_fields(robot.payload)
        yield from _cut(list(writer.section("[payload]", held)))
    for link in robot.links:
        same = writer.section("[[link]]", writer.link_fields(link))
        if link.name not in moved:
            yield from _cut(list(same))
        else:
            i = moved[link.name]
            yield _either([f"link_{i}"], same, writer.section("[[link]]", _link(link, i)))
    for joint in robot.joints:
        if joint.moves:
            parent = bodies[number[joint.name]]
            back = at[joint.parent][1].inverse
            yield from _joint(joint, number[joint.name], parent, tuple(back.point(parent.rotor_position)))
        else:
            yield from _cut([*writer.section("[[joint]]", writer.joint_fields(joint))])
            yield from _cut([*writer.section("[joint.link_frame]", writer.placement_fields(joint.link_frame))])
            yield from _cut([*writer.joint_parts(joint)])
    for loop in robot.loops:
        yield from _cut(list(writer.section("[[loop]]", writer.loop_fields(loop))))
    for coupling in robot.couplings:
        yield from _cut(list(writer.section("[[coupling]]", writer.coupling_fields(coupling))))


def _link(link: Link, i: int) -> writer.Fields:
    """A link with slots for its mass, its centre of mass and its tensor about the centre of mass."""
    inertia = {"mass": _Slot(f"m_{i}"), "com": _vector("c", i), "inertia": {x: _Slot(f"I{x}_{i}") for x in TENSOR}}
    rest = {key: value for key, value in writer.link_fields(link).items() if key not in (*inertia, "massless", "name")}
    return {"name": link.name, **inertia, **rest}


def _joint(joint: Joint, i: int, body: Body, rotor_position: tuple[float, ...]) -> Iterator[Piece]:
    same = writer.joint_fields(joint)
    rest = {key: value for key, value in same.items() if key not in ("name", "type", "parent", "child", "xyz")}
    ends = {key: same[key] for key in ("name", "type", "parent", "child")}
    moved = {**ends, "xyz": _vector("p", i), **rest}
    yield _either([f"place_{i}"], writer.section("[[joint]]", same), writer.section("[[joint]]", moved))
    frame = writer.placement_fields(joint.link_frame)
    turned = {"xyz": _vector("l", i), **{key: value for key, value in frame.items() if key != "xyz"}}
    header = "[joint.link_frame]"
    yield _either([f"frame_{i}"], writer.section(header, frame), writer.section(header, turned))
    yield from _cut(list(writer.section("[joint.limits]", vars(joint.limits))))
    drive = [f"place_{i}", f"rotor_{i}"]
    friction = joint.friction.written()
    levels = {"viscous": _Slot(f"Fv_{i}"), "coulomb": (_Slot(f"Ff_{i}"), _Slot(f"Fb_{i}"))}
    header = "[joint.friction]"
    yield _either(
        [f"friction_{i}", *drive], writer.section(header, friction), writer.section(header, friction | levels)
    )
    if joint.rotor is not None and (joint.rotor.viscous or any(joint.rotor.coulomb)):
        drive.append(f"friction_{i}")
    yield _either(drive, writer.drive_lines(joint), _rotor(joint, i, body, rotor_position))


def _rotor(joint: Joint, i: int, body: Body, position: tuple[float, ...]) -> Iterator[str]:
    """The rotor with joint-side friction and explicit position, without the motor and gear that it was derived from."""
    if joint.rotor is None:
        return
    fields = writer.rotor_fields(joint.rotor)
    slots = {"inertia": _Slot(f"Im_{i}"), "gear": _Slot(f"k_{i}"), "reflected": joint.rotor.reflected}
    seat = {"position": position} if body.rotor_mass != 0 else {}
    yield from writer.section("[joint.rotor]", {**fields, **slots, **seat, "viscous": None, "coulomb": None})
