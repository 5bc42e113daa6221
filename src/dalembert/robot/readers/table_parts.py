"""Readers for the parts of a robot that all tables have in common: inertia, placement, rotor, friction, limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from dalembert.base.algebra.vectors import NULL, ZERO, MatLike
from dalembert.base.tables import units as si
from dalembert.base.tables.located import REQUIRED, Located, Table
from dalembert.base.tables.units import parse_angle, parse_quantity
from dalembert.base.wording import errors_at
from dalembert.errors import RobotError
from dalembert.robot.drives.drive_data import DrivePart, Gear, Motor
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.placement import Placement, no_rotation
from dalembert.robot.model.robot import ROTOR_NUMBERS, ROTOR_VECTORS, Friction, Joint, Limits, Robot, Rotor
from dalembert.robot.readers.dh_columns import LIMITS
from dalembert.robot.terms import TERMS, Term

INERTIA_KEYS = ("mass", "com", "inertia")
PLACEMENT_KEYS = ("xyz", "rpy", "rotation")
LIMIT_COLUMNS = {column.key: column for column in LIMITS}
# {unit of a term at a revolute joint: unit at a prismatic joint}, for those that may be strings
SLIDING = {"rad": "m", "rad/s": "m/s", "N m": "N", "N m s/rad": "N s/m"}
ROTOR_UNITS = {"mass": si.MASS, "inertia": si.INERTIA, "transverse": si.INERTIA, "position": si.LENGTH}
CURVES = ("continuous_curve", "peak_curve")
TENSOR_KEYS = ("xx", "yy", "zz", "xy", "xz", "yz")


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


def _coulomb(part: Located) -> tuple[float, ...]:
    """One level for both directions, or one level per direction."""
    value = part.get("coulomb", 0.0)
    must = "one number, or two (positive velocity, negative velocity)"
    pair = part.items("coulomb", value, (2,), must) if hasattr(value, "__len__") else (value, value)
    return tuple(part.scalar("coulomb", level) for level in pair)


def _part(parent: Any, kind: type[Any], default: Any, read: Callable[[Any], dict[str, Any]]) -> Any:
    """The part under the name of its class: an object of that class, or named values that are its fields."""
    key = kind.__name__.lower()
    if isinstance(parent.get(key, None), kind):
        return parent.get(key)
    part = parent.part(key, tuple(entry.name for entry in fields(kind)))
    if part is None:
        return default
    values = read(part)
    with errors_at(part.where):
        return kind(**values)


def read_joint_parts(table: Table, *, turns: bool) -> dict[str, Any]:
    """Friction, limits and drive of a joint; angles may be strings with units if it ``turns``."""
    drive = {"rotor": read_rotor(table), "motor": read_motor(table), "gear": read_gear(table)}
    return {"friction": _read_friction(table, turns), "limits": read_limits(table, turns=turns), **drive}


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
    number = parse_quantity(value, si.UNITS[unit if turns else SLIDING[unit]]) if unit in SLIDING else None
    number = parse_angle(value) if number is None and unit == "rad" and turns else number
    return value if number is None else number


def read_limits(parent: Table, *, turns: bool) -> Limits:
    """The ``limits`` of a joint; angles may be strings with units if it ``turns``."""

    def read(table: Table) -> dict[str, Any]:
        return {
            key: table.number(key, None, infinite=True, angle=turns and key != "effort", units=column.units(not turns))
            for key, column in LIMIT_COLUMNS.items()
        }

    return _part(parent, Limits, Limits(), read)


def read_rotor(parent: Located) -> Rotor | None:
    """The ``rotor`` that drives a joint."""

    def read(part: Located) -> dict[str, Any]:
        vectors = {key: part.vector(key, None, units=ROTOR_UNITS.get(key)) for key in ROTOR_VECTORS}
        numbers = {key: part.number(key, getattr(Rotor, key), units=ROTOR_UNITS.get(key)) for key in ROTOR_NUMBERS}
        flags = {"reflected": part.flag("reflected", False), "physical": part.flag("physical", True)}
        return {**vectors, **numbers, **flags, "coulomb": _coulomb(part)}

    return _part(parent, Rotor, None, read)


def read_motor(parent: Located) -> Motor | None:
    """The ``motor`` that drives a joint."""

    def read(part: Located) -> dict[str, Any]:
        others = {key: part.get(key) for key in ("thermal_class",) if key in part}
        others |= {key: part.number(key) for key in ("phases",) if key in part}
        return {**_quantities(part, Motor), **others, **{key: _curve(part, key) for key in CURVES if key in part}}

    return _part(parent, Motor, None, read)


def read_gear(parent: Located) -> Gear | None:
    """The ``gear`` between a motor and its joint."""
    return _part(parent, Gear, None, lambda part: _quantities(part, Gear))


def _quantities(part: Located, kind: type[DrivePart]) -> dict[str, Any]:
    """Name and numbers of a motor or gear, each in its own unit or as a string with another unit."""
    units = {entry.name: si.UNITS[entry.metadata["unit"]] for entry in kind.numbers() if entry.name in part}
    return {"name": part.name("name", "")} | {key: part.number(key, units=known) for key, known in units.items()}


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
