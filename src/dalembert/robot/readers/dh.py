"""Denavit–Hartenberg tables, standard (as in S and M) and modified (Craig, Khalil).

Standard, S (2.52):  A_i = Rz(θ_i) Tz(d_i) Tx(a_i) Rx(α_i)            frame i at the end of link i
Modified:            A_i = Rx(α_{i−1}) Tx(a_{i−1}) Rz(θ_i) Tz(d_i)    frame i at joint i

In both conventions the axis of joint i is a z axis: z_{i−1} in the standard table, z_i in the modified one.
"""

from __future__ import annotations

import itertools
import math
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from dalembert.base.algebra.scalars import Scalar, cos, sin
from dalembert.base.algebra.vectors import Mat, RotZ
from dalembert.base.tables.located import Table
from dalembert.base.tables.units import LENGTH, doubt
from dalembert.base.wording import errors_at
from dalembert.errors import RobotError
from dalembert.robot.drives.drive_data import Gear, Motor
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.plausibility import ModelWarning
from dalembert.robot.model.robot import STANDARD_GRAVITY, Frame, Friction, Joint, JointType, Limits, Link, Robot, Rotor
from dalembert.robot.model.shapes import Shape
from dalembert.robot.readers.robot_builder import RobotBuilder
from dalembert.robot.readers.table_parts import INERTIA_KEYS, read_body, read_joint_parts, with_unused_notes

CONVENTIONS = ("standard", "modified")
HELICAL = "helical"  # a revolute joint and a prismatic joint that follows it: two joints of the robot
ROW_TYPES = ("revolute", "continuous", "prismatic", HELICAL)
HERE = Placement()  # a shared default, which is immutable
ROW_KEYS = (
    *("type", "name", "link", "a", "alpha", "d", "theta", "offset"),
    *INERTIA_KEYS,
    *("shapes", "physical", "weight", "note", "friction", "limits", "rotor", "motor", "gear", "pitch"),
)


@dataclass(frozen=True)
class Row:
    """One row of a DH table, with the other data of its joint and link (m, rad, kg, kg m²).

    For a revolute joint θ = q + ``theta``; for a prismatic joint d = q + ``d``. Row i of a modified table
    holds a_{i−1} and α_{i−1}. ``inertia`` is about the centre of mass, in the axes of the link frame. A "helical" joint
    rotates by θ = q + ``theta`` and advances by ``pitch`` (m) per turn: d + pitch q / 2π.
    """

    a: Scalar = 0.0
    alpha: Scalar = 0.0
    d: Scalar = 0.0
    theta: Scalar = 0.0
    type: JointType | Literal["helical"] = "revolute"
    name: str | None = None
    link: str | None = None
    inertia: Inertia = Inertia()
    physical: bool = True
    weight: float = 1.0
    note: str = ""
    friction: Friction = Friction()
    limits: Limits = Limits()
    rotor: Rotor | None = None
    motor: Motor | None = None
    gear: Gear | None = None
    pitch: float | None = None
    visuals: tuple[Shape, ...] = ()

    def __post_init__(self) -> None:
        if self.type not in ROW_TYPES:
            raise RobotError(f"a DH row has type '{self.type}'; it must be one of {', '.join(ROW_TYPES)}")
        if (self.pitch is not None) != (self.type == HELICAL):
            raise RobotError(
                f"a DH row has type '{self.type}' and pitch = {self.pitch}; a helical joint needs a pitch (m per turn), "
                "and no other type has one"
            )

    @property
    def slides(self) -> bool:
        """Whether the joint variable is d instead of θ."""
        return self.type == "prismatic"


def read_row(value: object, where: str, folder: str | os.PathLike[str] = "") -> Row:
    """A row from a Row, a table with the keys ROW_KEYS, or four values (a, alpha, d, theta).

    In a row of four values the word "q" marks the joint variable: (a, alpha, "q", theta) is prismatic;
    (a, alpha, d, "q") and four numbers are revolute, with the fourth number as the offset of θ.
    ``folder`` is the folder that relative mesh paths refer to.
    """
    if isinstance(value, Row):
        return value
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        value = _four(value, where)
    table = Table(value, where, ROW_KEYS)
    kind: Any = table.choice("type", ROW_TYPES, "revolute")
    slides = kind == "prismatic"
    numbers = {key: _geometry(table, key, key in ("alpha", "theta")) for key in ("a", "alpha", "d", "theta")}
    if "offset" in table:
        own = "d" if slides else "theta"
        if own in table:
            raise RobotError(
                f"{where}: both 'offset' and '{own}' are given, which are the same quantity for a {kind} joint; give one of them"
            )
        numbers[own] = _geometry(table, "offset", not slides)
    pitch = table.number("pitch", None, units=LENGTH)
    inertia, visuals = read_body(table, folder)
    parts: dict[str, Any] = {
        "type": kind,
        "name": table.name("name", None),
        "link": table.name("link", None),
        "inertia": inertia,
        "visuals": visuals,
        "physical": table.flag("physical", True),
        "weight": table.number("weight", 1.0),
        "note": table.text("note", ""),
        **read_joint_parts(table, turns=not slides),
    }
    with errors_at(where):
        return Row(**numbers, **parts, pitch=pitch)


def _geometry(table: Table, key: str, angle: bool) -> Scalar:
    """A number of the DH table; a value that is hardly in rad or m is refused unless its unit is written."""
    value, given = table.number(key, 0.0, angle=angle, units=None if angle else LENGTH), table.get(key, 0.0)
    if isinstance(given, str) or not isinstance(value, float):
        return value
    if strange := doubt(value, "rad" if angle else "m"):
        sentence = f"{table.where}: '{key}' is {strange}"
        if not angle or key == "alpha":
            raise RobotError(sentence)
        warnings.warn(sentence, ModelWarning, stacklevel=2)  # a zero position may be several turns away
    return value


def _four(value: Any, where: str) -> dict[str, Any]:
    values = list(value)
    if len(values) != 4:
        raise RobotError(f"{where}: a row needs 4 values (a, alpha, d, theta), not {len(values)}")
    row = dict(zip(("a", "alpha", "d", "theta"), values, strict=True))
    variables = [key for key, v in row.items() if isinstance(v, str) and v == "q"]
    if variables not in ([], ["d"], ["theta"]):
        raise RobotError(f"{where}: 'q' marks {' and '.join(variables)}; only d or theta can be the joint variable")
    for key in variables:
        row[key] = 0.0
    return row | {"type": "prismatic" if variables == ["d"] else "revolute"}


def _about_x(alpha: Scalar) -> Mat:
    s, c = sin(alpha), cos(alpha)
    return Mat.of(((1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c)))


def _about_z(theta: Scalar) -> Mat:
    return RotZ(cos(theta), sin(theta)).matrix


def _placements(row: Row, convention: str) -> tuple[Placement, Placement]:
    """Joint placement and link frame of a row."""
    X = _about_x(row.alpha)
    if convention == "standard":  # A = Rz(θ) Tz(d) Tx(a) Rx(α)
        joint = Placement(_about_z(row.theta)) if row.slides else Placement()
        return joint, Placement(X, (row.a, 0.0, 0.0 if row.slides else row.d))
    if row.slides:  # A = Rx(α) Tx(a) Rz(θ) Tz(d)
        return Placement(X @ _about_z(row.theta), (row.a, 0.0, 0.0)), Placement()
    # Tz(d) commutes with the joint's rotation, so the two can be exchanged
    return Placement(X, (row.a, X[1][2] * row.d, X[2][2] * row.d)), Placement()


def frame_of(row: Row, convention: str) -> Placement:
    """A for a row with a fixed joint: the placement of the next frame in the previous one."""
    about_z = Placement(_about_z(row.theta), (0.0, 0.0, row.d))
    about_x = Placement(_about_x(row.alpha), (row.a, 0.0, 0.0))
    return about_z @ about_x if convention == "standard" else about_x @ about_z


def joint_of(row: Row, convention: str, name: str, parent: str, child: str) -> Joint:
    """The joint that a row describes."""
    placement, link_frame = _placements(row, convention)
    return Joint(
        name=name,
        type="revolute" if row.type == "helical" else row.type,
        parent=parent,
        child=child,
        placement=placement,
        offset=row.d if row.slides else row.theta,
        link_frame=link_frame,
        **{key: getattr(row, key) for key in ("friction", "limits", "rotor", "motor", "gear")},
    )


def from_dh(
    rows: Iterable[object],
    convention: str = "standard",
    *,
    name: str = "arm",
    gravity: Sequence[Scalar] = STANDARD_GRAVITY,
    base: Placement = HERE,
    base_link: str = "base",
    tip: Placement | Frame | None = None,
    payload: Inertia | None = None,
    source: str = "",
    notes: Iterable[str] = (),
) -> Robot:
    """The serial arm of a DH table. A row is a Row, a dict with its keys, or (a, alpha, d, theta).

    ``base`` places frame 0 in the base frame; ``tip`` is the end effector in the last link's frame.

    >>> elbow = from_dh([(1.0, 0, 0, 0), (0.5, "pi/2", 0, 0)])
    >>> [joint.name for joint in elbow.joints], elbow.tip.link
    (['joint1', 'joint2'], 'link2')
    """
    if convention not in CONVENTIONS:
        raise RobotError(f"the DH convention is '{convention}'; it must be one of {', '.join(CONVENTIONS)}")
    table = [read_row(row, f"{name}: DH row {i}") for i, row in enumerate(rows, 1)]
    robot = assemble(
        table, convention, name, base_link=base_link, tip=tip, notes=tuple(notes),
        gravity=gravity, base=base, payload=payload, source=source,
    )  # fmt: skip
    return with_unused_notes(robot)


def assemble(
    rows: Sequence[Row],
    convention: str,
    name: str,
    *,
    base_link: str = "base",
    tip: Placement | Frame | None = None,
    notes: tuple[str, ...] = (),
    **robot: Any,
) -> Robot:
    """The serial chain of joints and links, named joint1, link1, … unless the rows name them."""
    if not rows:
        raise RobotError(f"{name}: the DH table has no rows; an arm needs at least one joint")
    builder = RobotBuilder("")
    builder.links.append(Link(base_link))
    for i, row in enumerate(rows, 1):
        child = row.link or f"link{i}"
        with errors_at(f"{name}: DH row {i}"):
            joint = joint_of(row, convention, row.name or f"joint{i}", builder.links[-1].name, child)
            if row.pitch is not None:
                builder.add_screw(joint, row.pitch)
            else:
                builder.joints.append(joint)
        builder.links.append(Link(child, row.inertia, row.physical, weight=row.weight, visuals=row.visuals))
        if row.note:
            builder.sentences.append(f"link '{child}': {row.note}")
    frame = Frame("tip", builder.links[-1].name, tip) if isinstance(tip, Placement) else tip
    builder.couplings += robot.pop("couplings", ())
    return builder.robot(name, tip=frame, notes=(*notes, *builder.sentences), **robot)


def rows_of(robot: Robot) -> tuple[str, tuple[Row, ...]] | None:
    """The convention and the DH table that reproduce this robot's joints and links exactly, or None.

    The rows reproduce the robot to the last bit, and so does a file written from them.
    """
    chain = (robot.root, *(joint.child for joint in robot.joints))
    is_serial = all(joint.parent == before for joint, before in zip(robot.joints, chain, strict=False))
    others = ("links", "joints", "loops", "kept")
    same = {key.name: getattr(robot, key.name) for key in fields(Robot) if key.name not in others}
    for convention in CONVENTIONS if is_serial else ():
        rows = _rows(robot, convention)
        if rows is not None and assemble(rows, convention, base_link=robot.root, **same) == robot:
            return convention, rows
    return None


def tree_rows(robot: Robot) -> tuple[str, tuple[Row, ...]] | None:
    """One standard DH row per joint of a tree, relative to the parent's link frame; or None."""
    rows = _rows(robot, "standard")
    return None if rows is None else ("standard", rows)


def _rows(robot: Robot, convention: str) -> tuple[Row, ...] | None:
    """One row per joint, if every joint moves and has one."""
    links = {link.name: link for link in robot.links}
    rows = []
    for joint in robot.joints:
        row = _recover_row(joint, links[joint.child], convention) if joint.moves else None
        if row is None:
            return None
        rows.append(row)
    return tuple(rows) or None


def _recover_row(joint: Joint, link: Link, convention: str) -> Row | None:
    """The row that reproduces this joint, found by trying the angles that rounding leaves open."""
    moved, fixed = joint.placement, joint.link_frame
    slides = joint.type == "prismatic"
    X = fixed.rotation if convention == "standard" else moved.rotation
    Z = moved.rotation
    # the third column of Rx(α), and of Rx(α) Rz(θ), contains −sin α and cos α
    alphas = _angles(-X[1][2], X[2][2])
    thetas = _angles(-Z[0][1], Z[0][0]) if slides else [joint.offset]
    keep: dict[str, Any] = {key.name: getattr(joint, key.name) for key in fields(Row) if hasattr(joint, key.name)}
    for alpha, theta in itertools.product(alphas, thetas):
        if convention == "standard":
            a, d = fixed.translation[0], joint.offset if slides else fixed.translation[2]
        else:
            # d from the translation (a, −d sin α, d cos α), using the larger of the two components
            (a, y, z), s, c = moved.translation, sin(alpha), cos(alpha)
            d = joint.offset if slides else z / c if abs(c) >= abs(s) else -y / s
        of_link: dict[str, Any] = {"inertia": link.inertia, "physical": link.physical, "weight": link.weight}
        row = Row(a, alpha, d, theta, link=link.name, **of_link, **keep)
        if joint_of(row, convention, joint.name, joint.parent, joint.child) == joint:
            return row
    return None


def _angles(s: float, c: float) -> list[float]:
    angle = math.atan2(s + 0.0, c)  # + 0.0: a sine of −0.0 would turn π into −π
    return [angle, math.nextafter(angle, 9.0), math.nextafter(angle, -9.0)]
