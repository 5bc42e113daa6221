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
    changed = [piece for piece in _whole(robot, bodies) if piece]
    return [{"when": parts, "same": writer.write_toml(robot), "changed": changed}]


def _vector(letter: str, i: int | None = None) -> tuple[float, ...]:
    return tuple(_Slot(f"{letter}{x}" if i is None else f"{letter}{x}_{i}") for x in "xyz")


def _either(when: list[str], same: Iterator[str], changed: Iterator[str]) -> Piece:
    """Lines for an unchanged and for a changed part, the latter as texts and slots."""
    text, pieces = ("".join(f"{line}\n" for line in lines) for lines in (same, changed))
    cut = [{"slot": piece} if k % 2 else piece for k, piece in enumerate(pieces.split("\0")) if piece]
    return {"when": when, "same": text, "changed": cut} if when else text


def _whole(robot: Robot, bodies: tuple[Body, ...]) -> Iterator[Piece]:
    """A file with frames, in the order used by the writer."""
    number = {joint.name: i for i, joint in enumerate(robot.tree_joints)}
    number |= {joint.child: number[joint.name] for joint in robot.tree_joints}
    at = places(robot)
    yield _either(["gravity"], writer.head_lines(robot, "frames"), writer.head_lines(robot, "frames", _vector("g")))
    for header, values, part in writer.sections(robot, None):
        when, changed = list[str](), values
        if header == "[tip]":
            when, changed = ["tip"], _placed(values, _vector("t"))
        elif isinstance(part, Link) and part.name in number:
            when, changed = [f"link_{number[part.name]}"], _link(values, number[part.name])
        elif isinstance(part, Joint) and part.moves:
            i = number[part.name]
            position = at[part.parent][1].inverse.point(bodies[i].rotor_position)
            seat = {"position": tuple(position)} if bodies[i].rotor_mass != 0 else {}
            when, changed = _joint(header, values, part, i, seat)
        yield _either(when, writer.section(header, values), writer.section(header, changed))


def _placed(values: writer.Fields, xyz: tuple[float, ...]) -> writer.Fields:
    """The values with this translation, which follows the names."""
    names = {key: x for key, x in values.items() if key in ("name", "type", "parent", "child", "link")}
    return {**names, "xyz": xyz, **{key: x for key, x in values.items() if key not in ("xyz", *names)}}


def _link(values: writer.Fields, i: int) -> writer.Fields:
    """A link with slots for its mass, its centre of mass and its tensor about the centre of mass."""
    inertia = {"mass": _Slot(f"m_{i}"), "com": _vector("c", i), "inertia": {x: _Slot(f"I{x}_{i}") for x in TENSOR}}
    rest = {key: x for key, x in values.items() if key not in (*inertia, "massless", "name")}
    return {"name": values["name"], **inertia, **rest}


def _joint(
    header: str, values: writer.Fields, joint: Joint, i: int, seat: writer.Fields
) -> tuple[list[str], writer.Fields]:
    """The parts of a robot that change a table of a joint, and the changed values.

    The changed rotor has joint-side friction and an explicit position, without the motor and gear that it was derived from.
    """
    drive = [f"place_{i}", f"rotor_{i}"]
    if header == "[[joint]]":
        return [f"place_{i}"], _placed(values, _vector("p", i))
    if header == "[joint.link_frame]":
        return [f"frame_{i}"], _placed(values, _vector("l", i))
    if header == "[joint.limits]":
        return [], values
    if header == "[joint.friction]":
        levels = {"viscous": _Slot(f"Fv_{i}"), "coulomb": (_Slot(f"Ff_{i}"), _Slot(f"Fb_{i}"))}
        return [f"friction_{i}", *drive], values | levels
    assert joint.rotor is not None
    if joint.rotor.viscous or any(joint.rotor.coulomb):
        drive.append(f"friction_{i}")
    slots = {"inertia": _Slot(f"Im_{i}"), "gear": _Slot(f"k_{i}"), "reflected": joint.rotor.reflected}
    is_rotor = header == "[joint.rotor]"
    return drive, {**values, **slots, **seat, "viscous": None, "coulomb": None} if is_rotor else {}
