"""The parts of a robot that every table spells the same way: inertia, placement, rotor, friction, limits."""

from __future__ import annotations

from dalembert.algebra.vectors import IDENTITY, NULL, ZERO, Mat, MatLike, VecLike
from dalembert.errors import RobotError
from dalembert.robot.inertia import Inertia
from dalembert.robot.model import Friction, Joint, Limits, Robot, Rotor
from dalembert.robot.placement import Placement
from dalembert.robot.tables import Table, told_at

INERTIA_KEYS = ("mass", "com", "inertia")
PLACEMENT_KEYS = ("xyz", "rpy", "rotation")
TENSOR_KEYS = ("xx", "yy", "zz", "xy", "xz", "yz")
ROTOR_KEYS = ("inertia", "gear", "mass", "position", "axis", "transverse", "reflected", "viscous", "coulomb")
FRICTION_KEYS = ("viscous", "coulomb")
LIMIT_KEYS = ("lower", "upper", "velocity", "acceleration", "effort")

# How far R Rᵀ may be from 1 before the numbers are a typing error and not rounding.
ROTATION_TOLERANCE = 1e-8


def symmetric(xx: float, yy: float, zz: float, xy: float, yz: float, xz: float) -> MatLike:
    """The inertia tensor from its six entries."""
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def read_tensor(table: Table) -> MatLike:
    """``inertia``: {xx, yy, zz, xy, xz, yz}, or [Ixx, Iyy, Izz, Ixy, Iyz, Ixz], or three rows."""
    value = table.get("inertia", None)
    if value is None:
        return NULL
    if isinstance(value, dict):
        entries = Table(value, f"{table.where}, inertia", TENSOR_KEYS)
        xx, yy, zz = (entries.number(key) for key in ("xx", "yy", "zz"))
        return symmetric(xx, yy, zz, *(entries.number(key, 0.0) for key in ("xy", "yz", "xz")))
    must = "{xx, yy, zz, xy, xz, yz}, 6 numbers [Ixx, Iyy, Izz, Ixy, Iyz, Ixz], or 3 rows of 3 numbers"
    values = table.list("inertia", value, (3, 6), must)
    if len(values) == 6:
        return symmetric(*(table.scalar("inertia", v) for v in values))
    return table.rows("inertia", values, must)


def read_inertia(table: Table) -> Inertia:
    """mass, com and inertia (about the centre of mass, in the link's axes) of a table."""
    if isinstance(table.get("inertia", None), Inertia):
        for key in ("mass", "com"):
            if key in table:
                raise RobotError(f"{table.where}: '{key}' is given twice, by itself and in 'inertia'")
        return table.get("inertia")
    return Inertia(table.number("mass", 0.0), table.vector("com", ZERO), read_tensor(table))


def _is_rotation(R: Mat) -> bool:
    off = max(abs(x) for row in R @ R.T - IDENTITY for x in row)
    return off <= ROTATION_TOLERANCE and R[0].cross(R[1]).dot(R[2]) > 0


def read_placement(table: Table) -> Placement:
    """xyz (m) and either rpy (rad, R = Rz(yaw) Ry(pitch) Rx(roll)) or rotation (three rows)."""
    xyz = table.vector("xyz", ZERO)
    if "rotation" not in table:
        roll, pitch, yaw = table.vector("rpy", ZERO, angle=True)
        return Placement.rpy(roll, pitch, yaw, xyz=xyz)
    if "rpy" in table:
        raise RobotError(f"{table.where}: both 'rpy' and 'rotation' are given; give one of them")
    R = table.rows("rotation", table.get("rotation"), "3 rows of 3 numbers")
    if not _is_rotation(R):
        raise RobotError(
            f"{table.where}: 'rotation' is not a rotation matrix (its rows must be right-handed unit axes)"
        )
    return Placement(R, xyz)


def _coulomb(table: Table) -> tuple[float, float]:
    """One level for both directions, or two."""
    value = table.get("coulomb", 0.0)
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        pair = table.list("coulomb", value, (2,), "one number, or two (positive speed, negative speed)")
        return table.scalar("coulomb", pair[0]), table.scalar("coulomb", pair[1])
    level = table.scalar("coulomb", value)
    return level, level


def read_friction(parent: Table) -> Friction:
    """The ``friction`` of a joint."""
    if isinstance(parent.get("friction", None), Friction):
        return parent.get("friction")
    table = parent.table("friction", FRICTION_KEYS)
    if table is None:
        return Friction()
    viscous, coulomb = table.number("viscous", 0.0), _coulomb(table)
    with told_at(table.where):
        return Friction(viscous, coulomb)


def read_limits(parent: Table, *, turns: bool) -> Limits:
    """The ``limits`` of a joint; one that ``turns`` takes angles in words."""
    if isinstance(parent.get("limits", None), Limits):
        return parent.get("limits")
    table = parent.table("limits", LIMIT_KEYS)
    if table is None:
        return Limits()
    values = {key: table.number(key, None, angle=turns and key != "effort", infinite=True) for key in LIMIT_KEYS}
    with told_at(table.where):
        return Limits(**values)


def read_rotor(parent: Table) -> Rotor | None:
    """The ``rotor`` that drives a joint."""
    if isinstance(parent.get("rotor", None), Rotor):
        return parent.get("rotor")
    table = parent.table("rotor", ROTOR_KEYS)
    if table is None:
        return None
    position: VecLike | None = table.vector("position", None)
    axis: VecLike | None = table.vector("axis", None)
    numbers = {key: table.number(key, 0.0) for key in ("inertia", "mass", "transverse", "viscous")}
    gear, reflected, coulomb = table.number("gear", 1.0), table.flag("reflected", False), _coulomb(table)
    with told_at(table.where):
        return Rotor(gear=gear, position=position, axis=axis, reflected=reflected, coulomb=coulomb, **numbers)


def _unused(joint: Joint) -> list[str]:
    """What was said about a joint that has no effect on anything."""
    if not joint.moves:
        given = {
            "offset": joint.offset != 0,
            "friction": joint.friction != Friction(),
            "limits": joint.limits != Limits(),
            "rotor": joint.rotor is not None,
        }
        return [
            f"joint '{joint.name}' is fixed, so its {key} is not used" for key, is_given in given.items() if is_given
        ]
    rotor = joint.rotor
    if rotor is None or not rotor.reflected:
        return []
    given = {"axis": rotor.axis is not None, "transverse": rotor.transverse != 0}
    why = "is reflected (only k_r² I_m counts)"
    return [
        f"the rotor of joint '{joint.name}' {why}, so its {key} is not used"
        for key, is_given in given.items()
        if is_given
    ]


def with_unused_said(robot: Robot) -> Robot:
    """The robot, its notes naming every value that was accepted and is not used."""
    said = set(robot.notes)
    notes = tuple(note for joint in robot.joints for note in _unused(joint) if note not in said)
    return robot.replace(notes=robot.notes + notes) if notes else robot
