"""Parts of URDF files: shapes, drives, and elements without dynamics.

Shapes are those of <visual> and <collision>. Mesh files are referred to, never opened.

Drake describes a rotor by ``drake:rotor_inertia`` and ``drake:gear_ratio`` in the <actuator> of a <transmission> and
models only k_r² I_m on the joint's diagonal term: ``Rotor(reflected=True)``. The same two elements are read within a
joint. A gear ratio without an inertia, from ``drake:gear_ratio`` or ``mechanicalReduction``, gives a rotor without
inertia, which determines motor torque and speed. ``drake:gear_ratio`` takes precedence over ``mechanicalReduction``,
which Drake ignores.

XML elements without dynamics are kept as text, so that they survive reading and writing a file. The text is canonical:
no comments, no white space between elements. Elements that refer to a joint or link are written only if the robot still
has it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, tostring

from dalembert.base.algebra.vectors import ZERO
from dalembert.base.files.safe_xml import parse_xml
from dalembert.base.tables.located import REQUIRED, XmlElement, XmlParent
from dalembert.errors import RobotError
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Link, Robot, Rotor
from dalembert.robot.model.shapes import Shape, ShapeKind

Colour = tuple[float, float, float, float]
# {element of <geometry>: the attributes that hold the numbers of a shape's size, in order}
ATTRIBUTES: dict[ShapeKind, tuple[str, ...]] = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "mesh": ("scale",),
}
PREFIXES = ("", "drake:")  # Drake's capsule has a prefix
KNOWN_IN_SHAPE = {"origin", "geometry", "material"}
INERTIA, RATIO, REDUCTION = "drake:rotor_inertia", "drake:gear_ratio", "mechanicalReduction"
SIMPLE = ("", "SimpleTransmission")
Note = Callable[[str, str, bool], None]  # (kind, which, whether torques depend on it)
Drive = dict[str, float]  # {INERTIA, RATIO, REDUCTION: number}, as far as they are given
REFERRING = ("reference", "link", "joint")  # attributes that refer to a link or a joint
NAMED = ("link", "joint")  # elements that refer to one by their attribute "name"


# -- shapes ------------------------------------------------------------------------------------------


def colours(root: Element) -> dict[str, Colour]:
    """{material: colour} for the materials defined in a file; a shape may use a material that another has defined."""
    defined: dict[str, Colour] = {}
    for material in root.iter("material"):
        colour = _colour(XmlElement(material, ""))
        if colour is not None:
            defined.setdefault(material.get("name", ""), colour)
    return defined


def _colour(material: XmlElement) -> Colour | None:
    """The colour of a material; None if it has none or its numbers are invalid."""
    with contextlib.suppress(RobotError):
        return material.child("color").numbers("rgba", 4, None)
    return None


def read_shape(element: Element, defined: Mapping[str, Colour]) -> Shape | None:
    """The shape of a <visual> or <collision>; None if its kind is unknown or its numbers are invalid."""
    whole = XmlElement(element, "")
    material, solids = whole.child("material"), list(whole.child("geometry").element)
    kinds = {prefix + kind: kind for kind in ATTRIBUTES for prefix in PREFIXES}
    if len(solids) != 1 or solids[0].tag not in kinds:
        return None
    solid, kind, name = whole.like(solids[0]), kinds[solids[0].tag], material.text("name", "")
    with contextlib.suppress(RobotError):
        file = solid.name("filename") if kind == "mesh" else ""
        size = size_of(solid, kind, 1.0 if kind == "mesh" else REQUIRED)
        colour = _colour(material) or defined.get(name) if material.given else None
        return Shape(kind, size, origin_of(whole), file, element.get("name", ""), name, colour)
    return None


def size_of(solid: XmlElement, kind: ShapeKind, default: Any) -> tuple[float, ...]:
    """The numbers of a shape's size; each that is missing has the default."""
    keys = ATTRIBUTES[kind]
    if kind in ("box", "mesh"):
        return tuple(solid.numbers(keys[0], 3, default if default is REQUIRED else (default,) * 3))
    return tuple(solid.number(key, default) for key in keys)


def origin_of(element: XmlElement) -> Placement:
    """The placement given by <origin>."""
    origin = element.child("origin")
    roll, pitch, yaw = origin.numbers("rpy", 3, ZERO)
    return Placement.rpy(roll, pitch, yaw, origin.numbers("xyz", 3, ZERO))


def with_meshes_seen_from(robot: Robot, folder: Path) -> Robot:
    """The robot with relative mesh paths rewritten for another folder, if the meshes exist.

    Paths in a robot file are relative to it. Absolute paths and addresses (package://, model://) are not changed.
    """
    old = Path(robot.source).parent
    has_shapes = any(link.visuals or link.collisions for link in robot.links)
    if not has_shapes or not os.path.isfile(robot.source) or old.resolve() == folder.resolve():
        return robot

    def moved(shape: Shape) -> Shape:
        relative = shape.file and "://" not in shape.file and not os.path.isabs(shape.file)
        if not relative or not os.path.isfile(old / shape.file):
            return shape
        return replace(shape, file=Path(os.path.relpath((old / shape.file).resolve(), folder.resolve())).as_posix())

    def of(link: Link) -> Link:
        return replace(link, visuals=tuple(map(moved, link.visuals)), collisions=tuple(map(moved, link.collisions)))

    return robot.replace(links=tuple(map(of, robot.links)))


# -- drives ------------------------------------------------------------------------------------------


def gear_of(drive: Drive) -> float:
    """k_r"""
    return drive.get(RATIO, drive.get(REDUCTION, 1.0))


def rotor_of(drive: Drive) -> Rotor | None:
    """The rotor; None if nothing is given, or only a gear ratio of 1."""
    inertia, gear = drive.get(INERTIA, 0.0), gear_of(drive)
    return Rotor(inertia, gear, reflected=True) if inertia or gear != 1.0 else None


def drive_of(element: Element, where: str) -> Drive:
    """The data in Drake's two elements within an actuator or a joint."""
    values = {tag: _value(element, tag, where) for tag in (INERTIA, RATIO)}
    return {tag: value for tag, value in values.items() if value is not None}


def read_drives(root: Element, source: str, note: Note) -> dict[str, Drive]:
    """{joint: motor data from the transmissions of a file}.

    Two motors on one joint are combined into one with the gear ratio of the first and the reflected inertia of both.
    """
    drives: dict[str, Drive] = {}
    names = {joint.get("name", "") for joint in root.findall("joint")}
    for transmission in root.findall("transmission"):
        drive = _transmission(transmission, source, note)
        joints = [joint.get("name", "") for joint in transmission.findall("joint")]
        which = f"transmission '{transmission.get('name', '')}'"
        if not drive:
            continue
        kind = (transmission.findtext("type") or transmission.get("type") or "").strip().rpartition("/")[2]
        if len(joints) != 1 or kind not in SIMPLE:
            what = "drives several joints or has an unsupported type, so no rotor is derived from it"
            note(
                what, f"{which} ({kind or 'no type'}, joints: {', '.join(joints) or 'none'})", bool(drive.get(INERTIA))
            )
        elif joints[0] not in names:
            note("the joint of a transmission does not exist", f"{which} (joint '{joints[0]}')", False)
        else:
            drives[joints[0]] = _both(drives[joints[0]], drive) if joints[0] in drives else drive
    return drives


def _both(first: Drive, second: Drive) -> Drive:
    inertia = first.get(INERTIA, 0.0) + second.get(INERTIA, 0.0) * (gear_of(second) / gear_of(first)) ** 2
    return {**first, INERTIA: inertia}


def _transmission(transmission: Element, source: str, note: Note) -> Drive:
    where = f"{source}: transmission '{transmission.get('name', '')}'"
    drive: Drive = {}
    for actuator in transmission.findall("actuator"):
        drive = drive_of(actuator, where) | drive
    holders = (*transmission.findall("actuator"), *transmission.findall("joint"), transmission)
    reduction = next((x for x in (XmlParent(holder, where) for holder in holders) if REDUCTION in x), None)
    if reduction is None:
        return drive
    gear = reduction.number(REDUCTION)
    if gear == 0.0:
        note(f"{REDUCTION} is 0 and was ignored", f"transmission '{transmission.get('name', '')}'", False)
    return {**drive, REDUCTION: gear} if gear else drive


def _value(parent: Element, tag: str, where: str) -> float | None:
    element = XmlElement(parent.find(tag), where)
    if not element.given:
        return None
    if "value" not in element:
        raise RobotError(f"{where}: <{tag}> has no 'value'; write <{tag} value=\"…\"/>")
    value = element.number("value")
    if (value < 0.0 and tag == INERTIA) or (value == 0.0 and tag == RATIO):
        raise element.wrong("value", element.text("value"), "at least 0" if tag == INERTIA else "other than 0")
    return value


def update_drives(transmissions: list[Element], rotors: Mapping[str, Rotor | None]) -> None:
    """Update the motor data in kept <transmission> elements to the joints' current rotors."""
    root = Element("robot")
    root.extend(Element("joint", name=name) for name in rotors)
    root.extend(transmissions)
    drives = read_drives(root, "transmissions", lambda *_: None)
    for name, drive in drives.items():
        rotor, read = rotors[name] or Rotor(), rotor_of(drive) or Rotor()
        if (rotor.inertia, rotor.gear) == (read.inertia, read.gear):
            continue
        driving = [x for x in transmissions if [y.get("name") for y in x.findall("joint")] == [name]]
        for k, transmission in enumerate(driving):  # with several motors, the first has all of the inertia
            _update(transmission, rotor.inertia if k == 0 else 0.0, rotor.gear)


def _update(transmission: Element, inertia: float, gear: float) -> None:
    beaten = any(element.tag == RATIO for element in transmission.iter())
    for element in transmission.iter():
        if element.tag in (INERTIA, RATIO):
            element.set("value", repr(inertia if element.tag == INERTIA else gear))
        elif element.tag == REDUCTION and not beaten:
            element.text = repr(gear)


# -- elements without dynamics -------------------------------------------------------------------------


def kept_text(element: Element) -> str:
    """The element as canonical text.

    >>> kept_text(parse_xml("<a b='1'>  <c>  </c> </a>", "text"))
    '<a b="1"><c /></a>'
    """
    copy = _bare(element)
    copy.tail = None
    return tostring(copy, encoding="unicode")


def _bare(element: Element) -> Element:
    """A copy without white space between elements."""
    copy = Element(element.tag, dict(element.attrib))
    for child in element:
        copy.append(_bare(child))
    copy.text, copy.tail = (x if x and x.strip() else None for x in (element.text, element.tail))
    return copy


def kept_elements(texts: Iterable[str], names: Collection[str]) -> list[Element]:
    """The kept elements, except those that refer to links and joints not among ``names``.

    >>> [x.tag for x in kept_elements(['<gazebo reference="a"/>', '<gazebo/>', '<transmission><joint name="b"/></transmission>'], {"b"})]
    ['gazebo', 'transmission']
    """
    elements = (parse_xml(text, "a kept element") for text in texts)
    return [element for element in elements if _referred(element) <= set(names)]


def _referred(element: Element) -> set[str]:
    """The names of the links and joints that an element refers to."""
    parts = [(part, (*REFERRING, "name") if part.tag in NAMED else REFERRING) for part in element.iter()]
    return {part.attrib[key] for part, keys in parts for key in keys if part.get(key)}


def prefixes(root: Element) -> set[str]:
    """The prefixes used in a document ("drake" in drake:gear_ratio), which strict parsers require to be declared.

    >>> prefixes(parse_xml("<a><b:c d:e='1'/></a>", "text")) == {"b", "d"}
    True
    """
    names = (name for part in root.iter() for name in (part.tag, *part.attrib))
    return {name.partition(":")[0] for name in names if ":" in name and not name.startswith(("xmlns:", "xml:"))}
