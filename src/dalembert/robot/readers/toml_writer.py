"""Robots to TOML files, in the format described in docs/robot-files.md; reading them back gives the same robot.

A page that changes a robot's numbers gets the file as a template: text, and slots for the numbers. Its pieces are plain
data: a text; ``{"slot": name}``, which is replaced by a number; or ``{"when": [part, …], "same": text, "changed":
pieces}``, which stands for the text unless one of these parts of the robot has changed. With i the index of the joint in
the tree, counted from 0, the parts are ``link_i``, ``place_i`` (the joint on the previous link), ``frame_i`` (the link
frame), ``rotor_i``, ``friction_i``, ``tip`` and ``gravity``. Unchanged, the text is that of :func:`write_toml`.

A changed joint has the friction of its motor on the joint side, because the gear ratio may have changed, and an
explicit rotor position; catalogue motors and gears are dropped if the rotor no longer matches them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

from dalembert.base.algebra.vectors import IDENTITY, NULL, ZERO, Z
from dalembert.base.tables.units import LONGEST, WIDEST, parse_angle
from dalembert.base.wording import shown
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.joint_couplings import Coupling
from dalembert.robot.model.loop_joints import Loop
from dalembert.robot.model.mechanism import Body, places
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import STANDARD_GRAVITY, Joint, Link, Robot
from dalembert.robot.model.shapes import Shape
from dalembert.robot.readers.dh import Row, rows_of

Fields = dict[str, Any]  # key: value, in file order; None values are not written
Lines = Iterator[str]
Piece = str | dict[str, Any]
TENSOR = ("xx", "xy", "xz", "yy", "yz", "zz")


def write_toml(robot: Robot) -> str:
    """The robot as TOML text: DH rows if they are exact, frames otherwise."""
    convention, rows = (rows_of(robot) if _is_numeric(robot) else None) or ("frames", None)
    tables = (section(header, values) for header, values, _ in sections(robot, rows))
    return "\n".join([*head_lines(robot, convention), *chain.from_iterable(tables), ""])


def _is_numeric(robot: Robot) -> bool:
    return all(
        isinstance(x, float)
        for joint in robot.joints
        for frame in (joint.placement, joint.link_frame)
        for x in (joint.offset, *frame.translation, *(v for row in frame.rotation for v in row))
    )


# -- contents ----------------------------------------------------------------------------------------


def head_lines(robot: Robot, convention: str, gravity: tuple[float, ...] | None = None) -> Lines:
    """The lines before the first table; ``gravity``, if given, replaces the robot's."""
    yield from _lines({"name": robot.name, "source": robot.source or None})
    for key, sentences in (("notes", robot.notes), ("left_out", robot.left_out), ("kept", robot.kept)):
        if sentences:
            yield from (f"{key} = [", *(f"  {_written(sentence)}," for sentence in sentences), "]")
    own = robot.gravity if robot.gravity != STANDARD_GRAVITY else None
    yield from _lines({"gravity": gravity or own, "omitted": robot.omitted or None, "convention": convention})


def sections(robot: Robot, rows: tuple[Row, ...] | None) -> Iterator[tuple[str, Fields, Any]]:
    """The tables of a file in order: (header, values, the link, joint or row that they describe, if any)."""
    assert robot.tip is not None
    root = {"link": robot.root} if rows and robot.root != "base" else {}
    yield "[base]", root | placement_fields(robot.base), None
    tip = {"name": robot.tip.name, "link": robot.tip.link}
    yield "[tip]", tip | placement_fields(robot.tip.placement), None
    if robot.payload is not None:
        yield "[payload]", {"mass": robot.payload.mass} | inertia_fields(robot.payload), None
    for link in robot.links if rows is None else ():
        yield "[[link]]", link_fields(link), link
    for joint in rows or robot.joints:
        if isinstance(joint, Joint):
            yield "[[joint]]", joint_fields(joint), joint
            yield "[joint.link_frame]", placement_fields(joint.link_frame), joint
        else:
            yield "[[joint]]", _row(joint), joint
        yield "[joint.limits]", vars(joint.limits), joint
        yield "[joint.friction]", joint.friction.written(), joint
        for header, values in _drive(joint):
            yield header, values, joint
    for loop in robot.loops:
        yield "[[loop]]", loop_fields(loop), loop
    for coupling in robot.couplings:
        if coupling.formulas:
            raise RobotError(
                f"robot '{robot.name}' has coordinates defined by formulas ({coupling.text}), which a file cannot contain; save "
                "the arm in its original coordinates"
            )
        yield "[[coupling]]", coupling_fields(coupling), coupling


def coupling_fields(coupling: Coupling) -> Fields:
    leaders = {"of": coupling.of, "matrix": coupling.matrix} if coupling.of else {}
    return {"joints": coupling.joints, **leaders, "offset": coupling.offset, "higher": coupling.higher or None}


def loop_fields(loop: Loop) -> Fields:
    places = {"a": placement_fields(loop.placement_a) or None, "b": placement_fields(loop.placement_b) or None}
    ends = {"name": loop.name, "kind": loop.kind, "link_a": loop.link_a, "link_b": loop.link_b}
    branch = {_written(name): position for name, position in loop.branch} or None
    return {**ends, **places, "axis": loop.axis, "passive": loop.passive, "branch": branch}


def _row(row: Row) -> Fields:
    names = {"name": row.name, "link": row.link, "type": row.type}
    numbers = {"a": _length(row.a), "alpha": _angle(row.alpha), "d": _length(row.d), "theta": _angle(row.theta)}
    return {**names, **numbers, **inertia_fields(row.inertia), **_of_link(row)}


def link_fields(link: Link) -> Fields:
    body = {"name": link.name, **inertia_fields(link.inertia), **_of_link(link), "massless": link.massless or None}
    shapes = {"visuals": [*map(_shape, link.visuals)] or None, "collisions": [*map(_shape, link.collisions)] or None}
    return {**body, **shapes, "kept": link.kept or None}


def _shape(shape: Shape) -> Fields:
    scale = {} if shape.size == (1.0, 1.0, 1.0) else {"scale": shape.size}
    size: Fields = {"mesh": shape.file, **scale} if shape.kind == "mesh" else {shape.kind: shape.size}
    names = {"name": shape.name or None, "material": shape.material or None, "colour": shape.colour}
    return {**size, **placement_fields(shape.placement), **names}


def _of_link(link: Link | Row) -> Fields:
    """The rarely used fields of a link."""
    return {"physical": None if link.physical else False, "weight": None if link.weight == 1.0 else link.weight}


def joint_fields(joint: Joint) -> Fields:
    ends = {"name": joint.name, "type": joint.type, "parent": joint.parent, "child": joint.child}
    axis = joint.axis if joint.moves or joint.axis != Z else None
    offset = _angle(joint.offset) if joint.type in ("revolute", "continuous") else joint.offset
    place = {**placement_fields(joint.placement), "axis": axis, "offset": None if joint.offset == 0 else offset}
    return {**ends, **place, "kept": joint.kept or None}


def _drive(joint: Joint | Row) -> Iterator[tuple[str, Fields]]:
    """The rotor of a joint, and the motor and gear from which it was derived."""
    if joint.rotor is not None:
        # an all-default rotor is still a rotor: part of its table is written even then
        always = {key: getattr(joint.rotor, key) for key in ("inertia", "gear", "reflected")}
        changed, (forward, backward) = changed_fields(joint.rotor), joint.rotor.coulomb
        if changed["coulomb"] is not None and forward == backward:
            changed["coulomb"] = forward  # one level, the same in both directions
        yield "[joint.rotor]", changed | always
    for header, part, neutral in (("[joint.motor]", joint.motor, "derating"), ("[joint.gear]", joint.gear, "ratio")):
        if part is not None:
            changed = {key: float(x) if key == "phases" and x else x for key, x in changed_fields(part).items()}
            yield header, changed if any(x is not None for x in changed.values()) else {neutral: 1.0}


def changed_fields(part: Any) -> Fields:
    """The fields of a record; None for those at their default."""
    default = type(part)()
    return {key: None if value == getattr(default, key) else value for key, value in vars(part).items()}


def placement_fields(placement: Placement) -> Fields:
    xyz = placement.translation if placement.translation != ZERO else None
    if placement.rotation == IDENTITY:
        return {} if xyz is None else {"xyz": xyz}
    _written(placement.rotation)  # refuses symbols
    rpy = placement.to_rpy()
    same = Placement.rpy(*rpy, xyz=placement.translation) == placement
    turned = {"rpy": tuple(map(_angle, rpy))} if same else {"rotation": placement.rotation}
    return {"xyz": xyz, **turned}


def inertia_fields(body: Inertia) -> Fields:
    I = body.tensor
    tensor: Any = None
    if I.T != I:
        tensor = I
    elif I != NULL:
        products = {"xy": I[0][1], "xz": I[0][2], "yz": I[1][2]}
        tensor = {"xx": I[0][0], "yy": I[1][1], "zz": I[2][2]} | {key: x for key, x in products.items() if x != 0}
    mass = {"mass": body.mass} if body.mass != 0 else {}
    return {**mass, "com": body.com if body.com != ZERO else None, "inertia": tensor}


# -- syntax ------------------------------------------------------------------------------------------


def section(header: str, values: Fields) -> Lines:
    lines = list(_lines(values))
    if lines:
        yield from ("", header, *lines)


def _lines(values: Fields) -> Lines:
    yield from (f"{key} = {_written(value)}" for key, value in values.items() if value is not None)


def _written(value: object) -> str:
    """A value in TOML syntax; tuples become lists and dicts inline tables."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(_lines(value))} }}"
    if not isinstance(value, float):
        raise RobotError(f"a robot with symbolic values cannot be written to a file: {value!r} is not a number")
    if math.isnan(value):
        raise RobotError("a robot with a NaN value cannot be written to a file")
    return repr(value)


def _angle(value: Any) -> Any:
    """An angle; written as a fraction of π if that is exactly the same number."""
    turn = Fraction(value / math.pi).limit_denominator(12) if isinstance(value, float) and math.isfinite(value) else 0
    if turn == 0 or abs(value) > WIDEST:
        return value if turn == 0 else f"{value!r} rad"  # a reader refuses so large a number without a unit
    top = {1: "pi", -1: "-pi"}.get(turn.numerator, f"{turn.numerator} pi")
    words = top if turn.denominator == 1 else f"{top}/{turn.denominator}"
    return words if parse_angle(words) == value else value


def _length(value: Any) -> Any:
    """A length; with its unit if a reader would refuse the bare number."""
    return f"{value!r} m" if isinstance(value, float) and math.isfinite(value) and abs(value) > LONGEST else value


def _text(value: str) -> str:
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise RobotError(f"the text {shown(value)} has an unpaired surrogate, which UTF-8 cannot encode; change it")
    # the escapes of JSON are those of TOML, but TOML also requires DEL to be escaped
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# -- a template for a page ---------------------------------------------------------------------------


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
    return [{"when": parts, "same": write_toml(robot), "changed": changed}]


def _vector(letter: str, i: int | None = None) -> tuple[float, ...]:
    return tuple(_Slot(f"{letter}{x}" if i is None else f"{letter}{x}_{i}") for x in "xyz")


def _either(when: list[str], same: Iterator[str], changed: Iterator[str]) -> Piece:
    """Lines for an unchanged and for a changed part, the latter as texts and slots."""
    text, pieces = ("".join(f"{line}\n" for line in lines) for lines in (same, changed))
    cut = [{"slot": piece} if k % 2 else piece for k, piece in enumerate(pieces.split("\0")) if piece]
    return {"when": when, "same": text, "changed": cut} if when else text


def _whole(robot: Robot, bodies: tuple[Body, ...]) -> Iterator[Piece]:
    """A file with frames, in the order of :func:`sections`."""
    number = {joint.name: i for i, joint in enumerate(robot.tree_joints)}
    number |= {joint.child: number[joint.name] for joint in robot.tree_joints}
    at = places(robot)
    yield _either(["gravity"], head_lines(robot, "frames"), head_lines(robot, "frames", _vector("g")))
    for header, values, part in sections(robot, None):
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
        yield _either(when, section(header, values), section(header, changed))


def _placed(values: Fields, xyz: tuple[float, ...]) -> Fields:
    """The values with this translation, which follows the names."""
    names = {key: x for key, x in values.items() if key in ("name", "type", "parent", "child", "link")}
    return {**names, "xyz": xyz, **{key: x for key, x in values.items() if key not in ("xyz", *names)}}


def _link(values: Fields, i: int) -> Fields:
    """A link with slots for its mass, its centre of mass and its tensor about the centre of mass."""
    inertia = {"mass": _Slot(f"m_{i}"), "com": _vector("c", i), "inertia": {x: _Slot(f"I{x}_{i}") for x in TENSOR}}
    rest = {key: x for key, x in values.items() if key not in (*inertia, "massless", "name")}
    return {"name": values["name"], **inertia, **rest}


def _joint(header: str, values: Fields, joint: Joint, i: int, seat: Fields) -> tuple[list[str], Fields]:
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
