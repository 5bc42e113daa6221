"""URDF writer: readable by other tools, and without loss by our own reader.

URDF places a link's frame at its joint, with the axis through the origin and without an offset; robots in DH
frames are converted first. Shapes and other contents of an original URDF file are written again. What URDF cannot
express (rotors, gravity, weight compensation, two-sided friction) is written in ``<dalembert>`` elements, which
:mod:`dalembert.robot.readers.urdf` reads and other readers ignore.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, count
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from dalembert.base.files.safe_xml import parse_xml
from dalembert.errors import RobotError
from dalembert.robot.model.friction_data import Friction
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import ROTOR_NUMBERS, ROTOR_VECTORS, STANDARD_GRAVITY, Frame, Joint, Link, Robot, Rotor
from dalembert.robot.model.shapes import Shape
from dalembert.robot.readers.toml_writer import changed_fields
from dalembert.robot.readers.urdf_parts import ATTRIBUTES, kept_elements, prefixes, update_drives
from dalembert.robot.terms import Term

# Other readers require a number even if the limit is unknown; ours is told to ignore it (``unlimited``).
UNLIMITED = 1e9
# {kept element of a joint: attributes that other readers require}
NEEDED = {"limit": {"effort", "velocity"}, "dynamics": set[str]()}
NAMESPACES = {"drake": "http://drake.mit.edu", "xacro": "http://www.ros.org/wiki/xacro"}
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_urdf(robot: Robot) -> str:
    """URDF text that describes the robot."""
    if robot.loops:
        raise RobotError(
            f"robot '{robot.name}' has closed chains ({', '.join(loop.name for loop in robot.loops)}), which URDF cannot "
            "express; save it as .toml, or write the tree: arm.tree.save(…)"
        )
    if robot.omitted:
        raise RobotError(
            f"robot '{robot.name}' is an approximate model without {', '.join(robot.omitted)}, which URDF cannot express; save "
            "it as .toml, or write the full model: arm.replace(omitted=()).save(…)"
        )
    mimics = _mimics(robot)
    robot = in_urdf_frames(robot)
    root = Element("robot", name=_text(robot.name or "robot", "the robot's name"))
    _write_robot(root, robot)
    for link in robot.links:
        _write_link(root, link)
    for joint in robot.joints:
        _write_joint(root, joint, mimics.get(joint.name))
    _write_kept(root, robot)
    for prefix in sorted(prefixes(root)):
        root.set(f"xmlns:{prefix}", NAMESPACES.get(prefix, prefix))
    indent(root)
    return f'<?xml version="1.0"?>\n{tostring(root, encoding="unicode")}\n'


def _mimics(robot: Robot) -> dict[str, tuple[str, float, float]]:
    """{coupled joint: (joint that it follows, multiplier, offset)}."""
    out: dict[str, tuple[str, float, float]] = {}
    held = [joint.name for joint in robot.moving_joints]
    for coupling in robot.couplings:
        for name, row, offset in zip(coupling.joints, coupling.matrix, coupling.offset, strict=True):
            parts = [(leader, factor) for leader, factor in zip(coupling.of, row, strict=True) if factor]
            if not coupling.linear or len(parts) > 1:
                raise RobotError(
                    f"robot '{robot.name}' has the coupling {coupling.text}, which URDF cannot express: its <mimic> follows one joint "
                    "linearly; save it as .toml, or write the tree: arm.tree.save(…)"
                )
            # a fixed joint follows any joint with the factor 0
            leader, factor = parts[0] if parts else ((*coupling.of, *held)[0], 0.0)
            out[name] = (leader, factor, offset)
    return out


def in_urdf_frames(robot: Robot) -> Robot:
    """The same robot with every link frame at its joint, and with base, tip and payload as links."""
    # the placement of each link's old frame in its new one
    stands = {robot.root: Placement()} | {joint.child: joint.link_frame for joint in robot.joints if joint.moves}
    joints = []
    for joint in robot.joints:
        on_parent = stands[joint.parent]
        if joint.moves:
            placement = on_parent @ joint.placement @ joint.moved(0.0)
        else:
            stands[joint.child], placement = Placement(), on_parent @ joint.placement @ joint.link_frame
        rotor = _rotor_on(joint, on_parent)
        joints.append(replace(joint, placement=placement, offset=0.0, link_frame=Placement(), rotor=rotor))
    links = [_link_on(link, stands[link.name]) for link in robot.links]
    assert robot.tip is not None
    tip = replace(robot.tip, placement=stands[robot.tip.link] @ robot.tip.placement)
    link_names, joint_names = {link.name for link in links}, {joint.name for joint in joints}

    def fix(name: str, parent: str, placement: Placement, inertia: Inertia | None = None) -> str:
        """A new link, fixed to ``parent``."""
        name = _unused(name, link_names)
        links.append(Link(name, inertia or Inertia()))
        joints.append(Joint(_unused(f"{name}_joint", joint_names), "fixed", parent, name, placement))
        return name

    if robot.base != Placement():
        world = _unused("world", link_names)
        links.insert(0, Link(world))
        joints.insert(0, Joint(_unused("world_joint", joint_names), "fixed", world, robot.root, robot.base))
    if tip.placement != Placement():
        tip = Frame(tip.name, fix(tip.name or "tip", tip.link, tip.placement))
    if robot.payload is not None:
        fix("payload", tip.link, Placement(), robot.payload)
    return robot.replace(links=links, joints=joints, base=Placement(), tip=tip, payload=None)


def _link_on(link: Link, stands: Placement) -> Link:
    """The link in its new frame; ``stands`` is the placement of the old frame in it."""

    def moved(shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        return tuple(replace(shape, placement=stands @ shape.placement) for shape in shapes)

    inertia = link.inertia.seen_from(stands)
    return replace(link, inertia=inertia, visuals=moved(link.visuals), collisions=moved(link.collisions))


def _rotor_on(joint: Joint, on_parent: Placement) -> Rotor | None:
    """The joint's rotor in the new frame of the parent."""
    rotor = joint.rotor
    if rotor is None or not joint.moves:
        return None
    position = rotor.position
    if position is None and joint.type == "prismatic" and joint.offset != 0:
        position = joint.placement.translation  # the offset moves the joint's origin, but not the rotor
    return replace(
        rotor,
        position=None if position is None else on_parent.point(position),
        axis=None if rotor.axis is None else on_parent.direction(rotor.axis),
    )


def _unused(name: str, used: set[str]) -> str:
    """The name, with a number appended if it is taken; it is marked as taken."""
    free = next(x for x in chain((name,), (f"{name}_{k}" for k in count(2))) if x not in used)
    used.add(free)
    return free


def _text(name: str, what: str) -> str:
    if not name or NOT_XML.search(name):
        raise RobotError(f"{what} is {name!r}, which XML cannot represent; use plain letters")
    return name


def _numbers(what: str, *values: Any) -> str:
    """The numbers with all digits."""
    for value in values:
        if not isinstance(value, float) or not math.isfinite(value):
            raise RobotError(f"{what} is {value}; URDF allows only finite numbers")
    return " ".join(repr(value) for value in values)


def _attributes(what: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Values as attributes of ``what``; None is not written."""
    return {key: _attribute(what, value) for key, value in values.items() if value is not None}


def _attribute(what: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value, what)
    points = value if isinstance(value, tuple) else (float(value) if isinstance(value, int) else value,)
    return _numbers(what, *(x for point in points for x in (point if isinstance(point, tuple) else (point,))))


def _write_robot(root: Element, robot: Robot) -> None:
    """Write gravity and tip if they differ from the defaults of a reader."""
    ours = _attributes("gravity", {"gravity": None if robot.gravity == STANDARD_GRAVITY else robot.gravity})
    tip = robot.tip
    if tip is not None and tip != robot.replace(tip=None).tip:
        ours |= {"tip": tip.link, "tip_name": _text(tip.name or "tip", "the tip's name")}
    if ours:
        SubElement(root, "dalembert", ours)


def _write_kept(root: Element, robot: Robot) -> None:
    """Write the other elements of the original file whose links and joints still exist."""
    rotors = {joint.name: joint.rotor for joint in robot.joints}
    elements = kept_elements(robot.kept, {*rotors, *(link.name for link in robot.links)})
    update_drives([element for element in elements if element.tag == "transmission"], rotors)
    root.extend(elements)


def _write_link(root: Element, link: Link) -> None:
    what = f"link '{link.name}'"
    element, inertia = SubElement(root, "link", name=_text(link.name, "a link's name")), link.inertia
    if not inertia.is_zero:
        inertial = SubElement(element, "inertial")
        SubElement(inertial, "origin", xyz=_numbers(f"the centre of mass of {what}", *inertia.com), rpy="0 0 0")
        SubElement(inertial, "mass", value=_numbers(f"the mass of {what}", inertia.mass))
        names = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
        entries = {key: inertia.tensor[i][j] for key, i, j in names}
        SubElement(inertial, "inertia", _attributes(f"the inertia tensor of {what}", entries))
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for shape in shapes:
            _write_shape(
                SubElement(element, tag, {"name": shape.name} if shape.name else {}), shape, f"a {tag} of {what}"
            )
    element.extend(parse_xml(text, f"a kept element of {what}") for text in link.kept)
    ours: dict[str, Any] = {"physical": link.physical and None, "massless": link.massless or None}
    ours |= {"weight": None if link.weight == 1.0 else link.weight}
    if attributes := _attributes(f"the weight of {what}", ours):
        SubElement(element, "dalembert", attributes)


def _write_origin(element: Element, placement: Placement, what: str) -> None:
    if placement != Placement():
        _numbers(what, *(x for row in placement.rotation for x in row))
        origin = {"xyz": tuple(placement.translation), "rpy": placement.to_rpy()}
        SubElement(element, "origin", _attributes(what, origin))


def _write_shape(element: Element, shape: Shape, what: str) -> None:
    """The contents of a <visual> or <collision>."""
    _write_origin(element, shape.placement, what)
    solid = SubElement(SubElement(element, "geometry"), shape.kind)
    if shape.kind == "mesh":
        solid.set("filename", shape.file)
    sizes = [shape.size] if shape.kind in ("box", "mesh") else [(x,) for x in shape.size]
    for key, values in zip(ATTRIBUTES[shape.kind], sizes, strict=True):
        if shape.kind != "mesh" or values != (1.0, 1.0, 1.0):
            solid.set(key, _numbers(what, *values))
    if shape.material or shape.colour is not None:
        material = SubElement(element, "material", name=shape.material)
        if shape.colour is not None:
            SubElement(material, "color", rgba=_numbers(what, *map(float, shape.colour)))


def _write_joint(root: Element, joint: Joint, mimic: tuple[str, float, float] | None = None) -> None:
    what, limits, friction = f"joint '{joint.name}'", joint.limits, joint.friction
    # URDF calls a revolute joint without position limits continuous
    known = {key: value for key, value in vars(limits).items() if value is not None and not math.isinf(value)}
    boundless = joint.type == "revolute" and not known.keys() & {"lower", "upper"}
    kind = "continuous" if boundless else joint.type
    element = SubElement(root, "joint", name=_text(joint.name, "a joint's name"), type=kind)
    _write_origin(element, joint.placement, f"the placement of {what}")
    SubElement(element, "parent", link=joint.parent)
    SubElement(element, "child", link=joint.child)
    kept = [parse_xml(text, f"a kept element of {what}") for text in joint.kept]
    element.extend(part for part in kept if part.tag not in NEEDED)
    if not joint.moves:
        element.extend(part for part in kept if part.tag in NEEDED and set(part.keys()) >= NEEDED[part.tag])
        return
    SubElement(element, "axis", xyz=_numbers(f"the axis of {what}", *joint.axis))
    if mimic is not None:
        values = dict(zip(("joint", "multiplier", "offset"), mimic, strict=True))
        SubElement(element, "mimic", _attributes(f"the coupling of {what}", values))
    ours: dict[str, str] = {"type": joint.type} if kind != joint.type else {}
    ours |= _write_limits(element, f"the limits of {what}", known, kind)
    if "acceleration" in known:
        ours["acceleration"] = _numbers(f"the acceleration limit of {what}", limits.acceleration)
    plain = Friction.of(term for term in friction if term.name in ("viscous", "coulomb") and term.physical)
    coulomb = plain.coulomb
    if plain.terms:
        # the mean level, for readers that support only one
        level = coulomb[0] if coulomb[0] == coulomb[1] else 0.5 * (coulomb[0] + coulomb[1])
        values = {"damping": plain.viscous, "friction": level}
        SubElement(element, "dynamics", _attributes(f"the friction of {what}", values))
    if coulomb[0] != coulomb[1]:
        ours["coulomb"] = _numbers(f"the Coulomb friction of {what}", *coulomb)
    parts = [(f"{term.title} of {what}", "friction", _term(term)) for term in friction if term not in plain.terms]
    if joint.rotor is not None:
        parts.append((f"the rotor of {what}", "rotor", _rotor(joint.rotor)))
    for drive in (joint.motor, joint.gear):
        if drive is not None:
            parts.append((drive.kind, type(drive).__name__.lower(), changed_fields(drive)))
    if ours or parts:
        extension = SubElement(element, "dalembert", ours)
        for of_what, tag, fields in parts:
            SubElement(extension, tag, _attributes(of_what, fields))
    for part in kept:
        own = element.find(part.tag) if part.tag in NEEDED else None
        if own is not None:
            own.attrib.update({key: value for key, value in part.items() if key not in own.attrib})


def _write_limits(element: Element, what: str, known: Mapping[str, float], kind: str) -> dict[str, str]:
    """Write the ``<limit>`` required by other readers; returns the attribute that names its unknown numbers."""
    keys = [*(("lower", "upper") if kind != "continuous" else ()), "velocity", "effort"]
    missing = [key for key in keys if key not in known]
    if kind == "continuous" and missing == keys:
        return {}
    values = {key: known.get(key, -UNLIMITED if key == "lower" else UNLIMITED) for key in keys}
    SubElement(element, "limit", _attributes(what, values))
    return {"unlimited": " ".join(missing)} if missing else {}


def _term(term: Term) -> dict[str, Any]:
    """The attributes of a friction term in our extension."""
    numbers = {entry.name: x for entry, x in zip(term.numbers(), term.values, strict=True)}
    return {**numbers, "physical": term.physical and None, "term": term.name}


def _rotor(rotor: Rotor) -> dict[str, Any]:
    """The attributes of a rotor in our extension: all numbers, because an all-default rotor is still a rotor."""
    keys = (*ROTOR_NUMBERS, "coulomb", *ROTOR_VECTORS)
    flags = {"physical": rotor.physical and None, "reflected": rotor.reflected}
    return {key: getattr(rotor, key) for key in keys} | flags
