"""Readers for the parts of a robot that all tables have in common: inertia, shapes, placement, drive, friction, limits."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import Field, fields
from typing import Any

from dalembert.base.algebra.vectors import NULL, ZERO, MatLike
from dalembert.base.tables import units as si
from dalembert.base.tables.located import REQUIRED, Located, Table
from dalembert.base.tables.units import doubt, parse_angle, parse_quantity
from dalembert.base.wording import errors_at
from dalembert.errors import RobotError
from dalembert.robot.drives.drive_data import Gear, Motor
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.placement import Placement, no_rotation
from dalembert.robot.model.robot import Friction, Joint, Limits, Robot, Rotor
from dalembert.robot.model.shapes import SIZES, Shape
from dalembert.robot.readers.dh_columns import LIMITS
from dalembert.robot.terms import TERMS, Term
from dalembert.robot.terms.term import unit_at

INERTIA_KEYS = ("mass", "com", "inertia")
PLACEMENT_KEYS = ("xyz", "rpy", "rotation")
LIMIT_COLUMNS = {column.key: column for column in LIMITS}
QUANTITIES = ("rad", "rad/s", "N m", "N m s/rad")  # units of numbers of a term that may be strings
ROTOR_UNITS = {"mass": si.MASS, "inertia": si.INERTIA, "transverse": si.INERTIA, "position": si.LENGTH}
TENSOR_KEYS = ("xx", "yy", "zz", "xy", "xz", "yz")
SHAPE_KEYS = (*SIZES, "scale", *PLACEMENT_KEYS, "name", "material", "colour")
BODY_KEYS = ("density", "mass", "wall")


def symmetric(xx: float, yy: float, zz: float, xy: float, yz: float, xz: float) -> MatLike:
    """The inertia tensor from its six entries."""
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def moments(element: Located, default: Any = REQUIRED) -> MatLike:
    """The inertia tensor from ixx, iyy, … of an XML element; the products are 0 by default."""
    xx, yy, zz = (element.number(key, default) for key in ("ixx", "iyy", "izz"))
    return symmetric(xx, yy, zz, *(element.number(key, 0.0) for key in ("ixy", "iyz", "ixz")))


def read_tensor(table: Table) -> MatLike:
    """``inertia``: {xx, yy, zz, xy, xz, yz}, or [Ixx, Iyy, Izz, Ixy, Iyz, Ixz], or three rows."""
    value = table.get("inertia", None)
    if value is None:
        return NULL
    if isinstance(value, dict):
        entries = Table(value, f"{table.where}, inertia", TENSOR_KEYS)
        xx, yy, zz = (entries.number(key, units=si.INERTIA) for key in ("xx", "yy", "zz"))
        return symmetric(xx, yy, zz, *(entries.number(key, 0.0, units=si.INERTIA) for key in ("xy", "yz", "xz")))
    must = "{xx, yy, zz, xy, xz, yz} (products default to 0), 6 numbers [Ixx, Iyy, Izz, Ixy, Iyz, Ixz], or 3 rows of 3 numbers"
    values = table.items("inertia", value, (3, 6), must)
    if len(values) == 6:
        return symmetric(*(table.scalar("inertia", v, units=si.INERTIA) for v in values))
    return table.rows("inertia", values, must)


def read_inertia(table: Table) -> Inertia:
    """Mass, com and inertia (about the centre of mass, in the link's axes) from a table."""
    if isinstance(table.get("inertia", None), Inertia):
        for key in ("mass", "com"):
            if key in table:
                raise RobotError(f"{table.where}: '{key}' is given twice, alone and in 'inertia'; remove one of them")
        return table.get("inertia")
    com = table.vector("com", ZERO, units=si.LENGTH)
    return Inertia(table.number("mass", 0.0, units=si.MASS), com, read_tensor(table))


def read_placement_at(parent: Table, key: str) -> Placement:
    """The placement in the table under ``key``; the identity if there is none."""
    table = parent.part(key, PLACEMENT_KEYS)
    return read_placement(table) if table else Placement()


def read_placement(table: Table) -> Placement:
    """xyz (m) and either rpy (rad, R = Rz(yaw) Ry(pitch) Rx(roll)) or rotation (three rows)."""
    xyz = table.vector("xyz", ZERO, units=si.LENGTH)
    if "rotation" not in table:
        roll, pitch, yaw = table.vector("rpy", ZERO, angle=True)
        return Placement.rpy(roll, pitch, yaw, xyz=xyz)
    if "rpy" in table:
        raise RobotError(f"{table.where}: both 'rpy' and 'rotation' are given; give only one of them")
    R = table.rows("rotation", table.get("rotation"), "3 rows of 3 numbers")
    if no_rotation(R):
        raise RobotError(f"{table.where}: 'rotation' is not a rotation matrix; its rows must be right-handed unit axes")
    return Placement(R, xyz)


def read_share(part: Located) -> dict[str, Any]:
    """Whether a link is claimed to be physical and whether it is massless, and its share of weight."""
    flags = {"physical": part.flag("physical", True), "massless": part.flag("massless", False)}
    return {**flags, "weight": part.number("weight", 1.0)}


def _coulomb(part: Located) -> tuple[float, ...]:
    """One level for both directions, or one level per direction."""
    value = part.get("coulomb", 0.0)
    must = "one number, or two (positive velocity, negative velocity)"
    pair = part.items("coulomb", value, (2,), must) if hasattr(value, "__len__") else (value, value)
    return tuple(part.scalar("coulomb", level) for level in pair)


def read_part(parent: Any, kind: type[Any], form: Callable[[str], dict[str, Any]] | None = None) -> Any:
    """The part under the name of its class: an object of that class, or its fields by name; None if it is missing.

    form  how the number of a field is read; by default in the unit of the field, or as a string with another unit
    """
    key = kind.__name__.lower()
    if isinstance(parent.get(key, None), kind):
        return parent.get(key)
    part = parent.part(key, tuple(entry.name for entry in fields(kind)))
    if part is None:
        return None
    values = {entry.name: _field(part, entry, form) for entry in fields(kind) if entry.name in part}
    with errors_at(part.where):
        return kind(**values)


def _field(part: Located, entry: Field[Any], form: Callable[[str], dict[str, Any]] | None) -> Any:
    """A field of a part, read according to its type."""
    key, kind = entry.name, str(entry.type)
    if kind == "bool":
        return part.flag(key)
    if kind == "str":
        return part.name(key, "") if key == "name" else part.get(key)
    if kind == "Points":
        return _curve(part, key)
    if key == "coulomb":
        return _coulomb(part)
    units = si.UNITS[entry.metadata["unit"]] if entry.metadata else ROTOR_UNITS.get(key)
    if kind.startswith("VecLike"):
        return part.vector(key, units=units)
    return part.number(key, **(form(key) if form else {"units": units}))


def read_joint_parts(table: Table, *, turns: bool) -> dict[str, Any]:
    """Friction, limits and drive of a joint; angles may be strings with units if it ``turns``."""
    return {"friction": _read_friction(table, turns), "limits": read_limits(table, turns=turns), **read_drive(table)}


def read_drive(parent: Any) -> dict[str, Any]:
    """Rotor, motor and gear of a joint; None for those that are missing."""
    return {kind.__name__.lower(): read_part(parent, kind) for kind in (Rotor, Motor, Gear)}


def _read_friction(parent: Table, turns: bool) -> Friction:
    if isinstance(parent.get("friction", None), Friction):
        return parent.get("friction")
    table = parent.part("friction", tuple(TERMS))
    if table is None:
        return Friction()
    with errors_at(table.where):
        return Friction(**{name: _in_si(TERMS[name], value, turns) for name, value in table.data.items()})


def _in_si(kind: type[Term], value: Any, turns: bool) -> Any:
    """The parameters of a term, with strings converted to numbers; those that are not quantities stay for its check."""
    units = {entry.name: entry.metadata["unit"] for entry in kind.numbers()}
    if isinstance(value, Mapping):
        return {key: _number_of(x, units.get(key, ""), turns) for key, x in value.items()}
    if isinstance(value, (list, tuple)):
        each = [*units.values(), *[""] * len(value)]
        return [
            _in_si(kind, x, turns) if isinstance(x, Mapping) else _number_of(x, unit, turns)
            for x, unit in zip(value, each, strict=False)
        ]
    return _number_of(value, next(iter(units.values()), ""), turns)


def _number_of(value: Any, unit: str, turns: bool) -> Any:
    if not isinstance(value, str):
        return value
    number = parse_quantity(value, si.UNITS[unit_at(unit, not turns)]) if unit in QUANTITIES else None
    number = parse_angle(value) if number is None and unit == "rad" and turns else number
    return value if number is None else number


def read_limits(parent: Table, *, turns: bool) -> Limits:
    """The ``limits`` of a joint; angles may be strings with units if it ``turns``."""

    def form(key: str) -> dict[str, Any]:
        units = LIMIT_COLUMNS[key].units(not turns)
        return {"infinite": True, "angle": turns and key != "effort", "units": units}

    return read_part(parent, Limits, form) or Limits()


def _curve(part: Located, key: str) -> tuple[tuple[float, float], ...]:
    """Points [speed, torque], in rad/s and N m or as strings with units; in XML the numbers of all points in a row."""
    must = 'a list of points [speed, torque], such as [["0 rpm", "1.4 N m"], ["3000 rpm", "1.27 N m"]]'
    value = part.get(key)
    if isinstance(part, Table) and not isinstance(value, list | tuple):
        raise part.wrong(key, value, must)
    if isinstance(part, Table):
        points = [part.items(key, point, (2,), must) for point in value]
    else:
        words = part.items(key, value, (2 * (-(-len(value.split()) // 2)),), must)
        points = list(zip(words[::2], words[1::2], strict=True))
    speed, torque = si.UNITS["rad/s"], si.UNITS["N m"]
    return tuple((part.scalar(key, n, units=speed), part.scalar(key, T, units=torque)) for n, T in points)


def _unused(joint: Joint) -> list[str]:
    """Notes on values of a joint that have no effect."""
    rotor = joint.rotor
    if not joint.moves:
        which = f"joint '{joint.name}' is fixed"
        given = {
            "offset": joint.offset != 0,
            "friction": joint.friction != Friction(),
            "limits": joint.limits != Limits(),
            "rotor": rotor is not None and joint.motor is None and joint.gear is None,
            "motor": joint.motor is not None,
            "gear": joint.gear is not None,
        }
    elif rotor is not None and rotor.reflected:
        which = f"the rotor of joint '{joint.name}' is reflected (only k_r² I_m is modelled)"
        given = {"axis": rotor.axis is not None, "transverse": rotor.transverse != 0}
    else:
        return []
    return [f"{which}, so its {key} is not used" for key, is_given in given.items() if is_given]


def with_unused_notes(robot: Robot) -> Robot:
    """The robot with notes on every accepted value that is not used."""
    known = set(robot.notes)
    notes = tuple(note for joint in robot.joints for note in _unused(joint) if note not in known)
    return robot.replace(notes=robot.notes + notes) if notes else robot


def read_shape(table: Table) -> Shape:
    """A shape from a table keyed by its kind, such as { cylinder = ["40 mm", "0.3 m"], xyz = [0, 0, 0.15] }."""
    kinds: list[Any] = [kind for kind in SIZES if kind in table]
    if len(kinds) != 1:
        raise RobotError(
            f"{table.where}: exactly one of the keys {', '.join(SIZES)} is required, but {len(kinds)} of them are given"
        )
    (kind,) = kinds
    if kind != "mesh" and "scale" in table:
        raise RobotError(f"{table.where}: 'scale' applies only to a mesh, and this is a {kind}; leave it out")
    key = "scale" if kind == "mesh" else kind
    value = table.get(key, 1.0) if kind == "mesh" else table.get(key)
    count = len(SIZES[kind])
    if isinstance(value, (int, float, str)) and kind in ("mesh", "sphere"):
        value = [value] * count
    numbers = table.items(key, value, (count,), f"a list of {count} numbers: {', '.join(SIZES[kind])}")
    size = tuple(table.scalar(key, x, units=si.LENGTH if kind != "mesh" else None) for x in numbers)
    colour = table.numbers("colour", 4, None)
    names = table.text("name", ""), table.text("material", "")
    return Shape(kind, size, read_placement(table), table.text("mesh", ""), *names, colour)


def read_body(parent: Table, folder: str | os.PathLike[str] = "") -> tuple[Inertia, tuple[Shape, ...]]:
    """The inertia of a link, from its mass, com and inertia or from its ``shapes``, together with these shapes.

    folder  folder that relative mesh paths refer to
    """
    if "shapes" not in parent:
        return read_inertia(parent), ()
    twice = [key for key in INERTIA_KEYS if key in parent]
    if twice:
        raise RobotError(
            f"{parent.where}: both '{twice[0]}' and 'shapes' are given, but the shapes already determine it; leave one of them "
            "out (a shape may have a mass instead of a density)"
        )
    given = parent.get("shapes")
    shapes, body = [], Inertia()
    for k, data in enumerate(given if isinstance(given, (list, tuple)) else [given], 1):
        table = Table(data, f"{parent.where}, shape {k}", (*SHAPE_KEYS, *BODY_KEYS))
        shape = read_shape(table)
        size = table.get(shape.kind)
        has_units = any(isinstance(x, str) for x in (size if isinstance(size, (list, tuple)) else [size]))
        if shape.kind != "mesh" and not has_units and (strange := doubt(max(shape.size), "m")):
            raise RobotError(f"{table.where}: '{shape.kind}' has a size of {strange}")
        mass, wall = table.number("mass", None, units=si.MASS), table.number("wall", None, units=si.LENGTH)
        density = table.get("density", None)
        if mass is None and density is None:
            raise RobotError(
                f"{table.where}: a {shape.kind} needs either a density, such as 2700 (kg/m³) or 'aluminium', or a mass (kg)"
            )
        with errors_at(table.where):
            body = body + shape.inertia(density, mass=mass, wall=wall, folder=folder)
        shapes.append(shape)
    return body, tuple(shapes)
