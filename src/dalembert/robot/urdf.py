"""URDF in: links, joints, inertias, friction and limits, as the file says them.

Fixed joints stay fixed joints here; ``mechanism`` merges them exactly. Shapes and meshes carry no
dynamics and are not opened. What is not used is said in ``Robot.notes``; what would change the
dynamics if it were left out (floating joints) is refused by name. ``<mimic>`` is a coupling.

Two extensions are understood: Drake's ``drake:acceleration`` limit, and the ``<dalembert>`` elements of :mod:`dalembert.robot.urdf_writer`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from dalembert.algebra.vectors import ZERO
from dalembert.errors import RobotError
from dalembert.robot.bounds import LINKS, NAME, at_most
from dalembert.robot.couplings import Coupling
from dalembert.robot.inertia import Inertia
from dalembert.robot.model import (
    JOINT_TYPES,
    ROTOR_NUMBERS,
    ROTOR_VECTORS,
    STANDARD_GRAVITY,
    Frame,
    Friction,
    Joint,
    Limits,
    Link,
    Robot,
    Rotor,
)
from dalembert.robot.placement import Placement
from dalembert.robot.safe_xml import parse_xml, read_bytes
from dalembert.robot.tables import nearest, shown, some, told_at

# what each element may hold; anything else is named in a note
KNOWN_ROBOT = {"link", "joint", "transmission", "dalembert", "material", "gazebo"}
KNOWN_LINK = {"inertial", "dalembert", "visual", "collision", "material", "gazebo"}
KNOWN_JOINT = {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "dalembert", "gazebo"} | {
    "drake:mimic",
    *("drake:rotor_inertia", "drake:gear_ratio"),  # named in a note of their own
    "safety_controller",
    "calibration",
}
KNOWN_LIMIT = {"lower", "upper", "velocity", "effort", "drake:acceleration"}
KNOWN_MIMIC = {"joint", "multiplier", "offset"}
KNOWN_DYNAMICS = {"damping", "friction"}


def read_urdf(path_or_text: str | os.PathLike[str], tip: str | None = None) -> Robot:
    """The robot of a URDF file, or of URDF text (anything that begins with ``<``)."""
    if isinstance(path_or_text, str) and path_or_text.lstrip("\ufeff \t\r\n").startswith("<"):
        return parse_urdf(path_or_text, "URDF text", tip)
    return parse_urdf(read_bytes(path_or_text), os.fspath(path_or_text), tip)


def parse_urdf(text: str | bytes, source: str = "URDF text", tip: str | None = None) -> Robot:
    """The robot that URDF text describes; ``source`` names it in errors, ``tip`` is a link."""
    root = parse_xml(text.lstrip("\ufeff \t\r\n") if isinstance(text, str) else text, source)
    _refuse_other_formats(root, source)
    notes = _Notes()
    for tag in ("link", "joint"):
        at_most(LINKS, len(root.findall(tag)), f"{tag}s", source)
    links = tuple(_link(element, source, notes) for element in root.findall("link"))
    joints = tuple(_joint(element, source, notes) for element in root.findall("joint"))
    couplings = tuple(_mimics(root, source, notes))
    _top_level(root, source, notes)
    ours = root.find("dalembert")
    gravity = STANDARD_GRAVITY if ours is None else _numbers(ours, "gravity", 3, STANDARD_GRAVITY, source)
    with told_at(source):
        robot = Robot(
            root.get("name") or "robot", links, joints, gravity=gravity, source=source, notes=tuple(notes.sentences()),
            couplings=couplings,
        )  # fmt: skip
        return robot.replace(tip=_tip(robot, ours, tip))


def _refuse_other_formats(root: Element, source: str) -> None:
    if root.tag == "mujoco":
        raise RobotError(f"{source}: this is MJCF, not URDF; call the file .xml or .mjcf")
    if root.tag == "sdf":
        raise RobotError(f"{source}: this is SDF, not URDF; convert it to URDF first")
    if root.tag != "robot":
        raise RobotError(f"{source}: the root element is <{root.tag}>; a URDF file begins with <robot>")
    for element in root.iter():
        macro = element.tag.startswith("xacro:")
        if macro or any("${" in value or "$(" in value for value in element.attrib.values()):
            raise RobotError(
                f"{source}: <{element.tag}> is an unexpanded xacro macro; run 'xacro {source} > robot.urdf' and load that"
            )


class _Notes:
    """What is ignored, gathered so that each kind is one sentence."""

    def __init__(self) -> None:
        self.ignored: dict[str, dict[str, None]] = {}  # by kind, in the order of the file

    def add(self, kind: str, which: str) -> None:
        self.ignored.setdefault(kind, {})[which] = None

    def unknown(self, names: Any, known: set[str], where: str) -> None:
        """Elements or attributes that this reader has no use for."""
        for name in names:
            if name not in known:
                self.add("ignored, not known to this reader", f"{name} {where}".strip())

    def sentences(self) -> Iterator[str]:
        for kind, which in self.ignored.items():
            yield f"{kind}: {some(list(which), 50)}"


def _float(text: str, what: str, where: str, finite: bool = True) -> float:
    try:
        value = float(text.replace("_", "?"))  # Python reads 1_0 as 10; nobody else does
    except ValueError:
        raise RobotError(f"{where}: {what} is {shown(text)}, which is not a number") from None
    if finite and not math.isfinite(value):
        raise RobotError(f"{where}: {what} is {shown(text)}; it must be a finite number")
    return value


def _number(element: Element | None, name: str, default: float | None, where: str, finite: bool = True) -> Any:
    """One number of an element's attribute; ``default`` where the attribute is absent."""
    if element is None or name not in element.attrib:
        return default
    return _float(element.attrib[name], f"'{name}' of <{element.tag}>", where, finite)


def _numbers(element: Element | None, name: str, count: int, default: Any, where: str) -> Any:
    """Several numbers of one attribute."""
    if element is None or name not in element.attrib:
        return default
    parts = element.attrib[name].split()
    what = f"'{name}' of <{element.tag}>"
    if len(parts) != count:
        raise RobotError(
            f"{where}: {what} is {shown(element.attrib[name])}; it needs {count} numbers, not {len(parts)}"
        )
    return tuple(_float(part, what, where) for part in parts)


def _required(element: Element, name: str, where: str) -> str:
    value = element.get(name)
    if not value:
        raise RobotError(f"{where}: <{element.tag}> has no '{name}'")
    if len(value) > NAME:
        raise RobotError(f"{where}: '{name}' of <{element.tag}> is {shown(value)}; it must have at most {NAME} letters")
    return value


def _only(parent: Element, tag: str, where: str, notes: _Notes) -> Element | None:
    """The child element; of several the first, as every URDF reader does, and a note."""
    children = parent.findall(tag)
    if len(children) > 1:
        notes.add("only the first of several is used", f"<{tag}> in {where.rpartition(': ')[2]}")
    return children[0] if children else None


def _origin(element: Element | None, where: str) -> Placement:
    xyz = _numbers(element, "xyz", 3, ZERO, where)
    roll, pitch, yaw = _numbers(element, "rpy", 3, ZERO, where)
    return Placement.rpy(roll, pitch, yaw, xyz)


def _link(element: Element, source: str, notes: _Notes) -> Link:
    name = _required(element, "name", source)
    where = f"{source}: link '{name}'"
    notes.unknown((child.tag for child in element), KNOWN_LINK, "in a link")
    ours = element.find("dalembert")
    physical = ours is None or ours.get("physical") != "false"
    massless = ours is not None and ours.get("massless") == "true"
    inertia = _inertia(_only(element, "inertial", where, notes), where, notes)
    with told_at(where):
        return Link(name, inertia, physical, massless)


def _inertia(inertial: Element | None, where: str, notes: _Notes) -> Inertia:
    """The link's inertia in the link's axes: the inertial frame is turned, not dropped."""
    if inertial is None:
        return Inertia()
    notes.unknown((child.tag for child in inertial), {"origin", "mass", "inertia"}, "in an inertial")
    mass, inertia = _only(inertial, "mass", where, notes), _only(inertial, "inertia", where, notes)
    for part, tag in ((mass, "mass"), (inertia, "inertia")):
        if part is None:
            raise RobotError(f"{where}: <inertial> has no <{tag}>; leave <inertial> out for a frame without mass")
    m = _number(mass, "value", None, where)
    xx, yy, zz = (_number(inertia, key, None, where) for key in ("ixx", "iyy", "izz"))
    for value, what in ((m, "'value' in <mass>"), (xx, "'ixx'"), (yy, "'iyy'"), (zz, "'izz'")):
        if value is None:
            raise RobotError(f"{where}: <inertial> has no {what}")
    xy, xz, yz = (_number(inertia, key, 0.0, where) for key in ("ixy", "ixz", "iyz"))
    in_its_frame = Inertia(m, ZERO, ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
    return in_its_frame.seen_from(_origin(_only(inertial, "origin", where, notes), where))


def _joint(element: Element, source: str, notes: _Notes) -> Joint:
    name = _required(element, "name", source)
    where = f"{source}: joint '{name}'"
    kind = _required(element, "type", where)
    if kind not in JOINT_TYPES:
        raise RobotError(f"{where} has type '{kind}', which is not supported; supported are {', '.join(JOINT_TYPES)}")
    notes.unknown((child.tag for child in element), KNOWN_JOINT, "in a joint")
    for tag in ("safety_controller", "calibration"):
        if element.find(tag) is not None:
            notes.add(f"<{tag}> is ignored, it is no part of the dynamics", f"joint '{name}'")
    parent, child = (_end(element, tag, where, notes) for tag in ("parent", "child"))
    placement = _origin(_only(element, "origin", where, notes), where)
    if kind == "fixed":  # some exporters give fixed joints an axis of 0 0 0; nothing turns there
        return Joint(name, "fixed", parent, child, placement)
    ours = element.find("dalembert")
    axis = _numbers(_only(element, "axis", where, notes), "xyz", 3, (1.0, 0.0, 0.0), where)
    with told_at(where):
        return Joint(
            name,
            kind if ours is None else ours.get("type", kind),  # type: ignore[arg-type]
            parent,
            child,
            placement,
            axis,
            friction=_friction(_only(element, "dynamics", where, notes), ours, where, notes),
            limits=_limits(_only(element, "limit", where, notes), ours, kind, where, notes),
            rotor=_rotor(ours, where),
        )


def _mimics(root: Element, source: str, notes: _Notes) -> Iterator[Coupling]:
    """The joints that follow others."""
    for joint in root.findall("joint"):
        name = joint.get("name", "")
        where = f"{source}: joint '{name}'"
        mimic = _only(joint, "mimic", where, notes)
        mimic = _only(joint, "drake:mimic", where, notes) if mimic is None else mimic
        if mimic is None:
            continue
        notes.unknown(mimic.attrib, KNOWN_MIMIC, f"of <{mimic.tag}>")
        leader = _required(mimic, "joint", where)
        factor, offset = (
            _number(mimic, key, default, where) for key, default in (("multiplier", 1.0), ("offset", 0.0))
        )
        if joint.get("type") == "fixed":
            notes.add(f"<{mimic.tag}> of fixed joints is ignored", f"joint '{name}'")
            continue
        with told_at(where):
            yield Coupling(name, leader, factor, offset)


def _end(joint: Element, tag: str, where: str, notes: _Notes) -> str:
    """The link that a joint begins or ends at."""
    end = _only(joint, tag, where, notes)
    if end is None:
        raise RobotError(f"{where} has no <{tag}>")
    return _required(end, "link", where)


def _friction(dynamics: Element | None, ours: Element | None, where: str, notes: _Notes) -> Friction:
    if dynamics is not None:
        notes.unknown(dynamics.attrib, KNOWN_DYNAMICS, "of <dynamics>")
    level = _number(dynamics, "friction", 0.0, where)
    return Friction(_number(dynamics, "damping", 0.0, where), _numbers(ours, "coulomb", 2, (level, level), where))


def _limits(limit: Element | None, ours: Element | None, kind: str, where: str, notes: _Notes) -> Limits:
    if limit is None:
        return Limits(acceleration=_number(ours, "acceleration", None, where))
    notes.unknown(limit.attrib, KNOWN_LIMIT, "of <limit>")
    values = {key: _number(limit, key, None, where, finite=False) for key in ("lower", "upper", "velocity", "effort")}
    if kind == "continuous" and (values["lower"] is not None or values["upper"] is not None):
        values["lower"] = values["upper"] = None
        notes.add("position limits of continuous joints are ignored", where.rpartition(": ")[2])
    if ours is not None:  # the writer had to put a number where nothing is known
        for key in ours.get("unlimited", "").split():
            if key not in values:
                raise RobotError(f"{where}: 'unlimited' of <dalembert> is '{key}'; known are {', '.join(values)}")
            values[key] = None
    acceleration = _number(limit, "drake:acceleration", None, where, finite=False)
    return Limits(**values, acceleration=_number(ours, "acceleration", acceleration, where))


def _rotor(ours: Element | None, where: str) -> Rotor | None:
    """The rotor as our own writer's extension says it; URDF itself knows none."""
    rotor = None if ours is None else ours.find("rotor")
    if rotor is None:
        return None
    scalars = {key: _number(rotor, key, getattr(Rotor, key), where) for key in ROTOR_NUMBERS}
    vectors = {key: _numbers(rotor, key, 3, None, where) for key in ROTOR_VECTORS}
    coulomb = _numbers(rotor, "coulomb", 2, (0.0, 0.0), where)
    return Rotor(**scalars, **vectors, coulomb=coulomb, reflected=rotor.get("reflected") == "true")


def _top_level(root: Element, source: str, notes: _Notes) -> None:
    """What stands beside links and joints."""
    notes.unknown((child.tag for child in root), KNOWN_ROBOT, "")
    for element in root.findall("drake:joint"):  # a joint with another name is a joint all the same
        raise RobotError(
            f"{source}: joint '{element.get('name')}' has type '{element.get('type')}', which is not supported; "
            f"supported are {', '.join(JOINT_TYPES)}"
        )
    # Drake's rotors are no part of URDF: other readers do not see them, and a robot that means the same
    # to all of them is worth more than the inertia; whoever wants it can give the joints rotors
    if any(element.tag in ("drake:rotor_inertia", "drake:gear_ratio") for element in root.iter()):
        notes.add("ignored, Drake's extension and no part of URDF", "drake:rotor_inertia and drake:gear_ratio")
    for transmission in root.findall("transmission"):
        for reduction in transmission.iter("mechanicalReduction"):
            text = (reduction.text or "").strip()
            if text not in ("1", "1.0", "1."):
                kind = "mechanicalReduction is ignored, URDF gives no rotor inertia for it to multiply"
                notes.add(kind, f"{text} of transmission '{transmission.get('name')}'")


def _tip(robot: Robot, ours: Element | None, tip: str | None) -> Frame | None:
    names = [link.name for link in robot.links]
    if tip is not None:
        if tip not in names:
            raise RobotError(
                f"no link is called '{tip}', so it cannot be the tip; the links are {some(names)}{nearest(tip, names)}"
            )
        return Frame(tip, tip)
    if ours is not None and ours.get("tip"):
        return Frame(ours.get("tip_name", "tip"), ours.get("tip", ""))
    return robot.tip
