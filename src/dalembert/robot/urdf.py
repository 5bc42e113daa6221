"""URDF reader: links, joints, inertias, friction and limits, as stated in the file.

Fixed joints stay fixed joints here; ``mechanism`` merges them exactly. Shapes do not affect the dynamics, and meshes
are not opened. Unused elements are listed in ``Robot.notes``, or in ``Robot.left_out`` if torques depend on them
(Gazebo's springs). ``<mimic>`` becomes a coupling, and planar and floating joints become virtual joints
(:mod:`dalembert.robot.virtual`). Elements without dynamics are kept as text for the writer.

Three extensions are supported: Drake's ``drake:acceleration`` limit, the rotors of :mod:`dalembert.robot.urdf_drives`,
and the ``<dalembert>`` elements of :mod:`dalembert.robot.urdf_writer`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any
from xml.etree.ElementTree import Element

from dalembert.algebra.vectors import ZERO, X, Z
from dalembert.errors import RobotError
from dalembert.robot.bounds import LINKS, NAME, at_most
from dalembert.robot.couplings import Coupling
from dalembert.robot.drives import DrivePart, Gear, Motor
from dalembert.robot.inertia import Inertia
from dalembert.robot.kept import kept_text
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
from dalembert.robot.parts import symmetric
from dalembert.robot.placement import Placement, unit
from dalembert.robot.safe_xml import check_format, parse_xml, read_bytes
from dalembert.robot.shapes import Shape
from dalembert.robot.tables import errors_at, nearest, shown, some
from dalembert.robot.urdf_drives import UrdfDrive, drive_of, read_drives
from dalembert.robot.urdf_shapes import KNOWN_IN_SHAPE, Colour, colours, read_shape
from dalembert.robot.virtual import virtual_joints, virtual_note
from dalembert.terms import TERMS, Term

# the known children or attributes of each element; all others are named in a note
KNOWN = {
    "robot": {"link", "joint", "transmission", "dalembert", "material", "gazebo"},
    "link": {"inertial", "dalembert", "visual", "collision", "material", "gazebo"},
    "inertial": {"origin", "mass", "inertia"},
    "joint": {
        *("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "dalembert", "gazebo", "drake:mimic"),
        *("safety_controller", "calibration", "drake:rotor_inertia", "drake:gear_ratio"),  # have their own notes
    },
    "limit": {"lower", "upper", "velocity", "effort", "drake:acceleration"},
    "mimic": {"joint", "multiplier", "offset"},
    "drake:mimic": {"joint", "multiplier", "offset"},
    "dynamics": {"damping", "friction"},
    "visual": KNOWN_IN_SHAPE,
    "collision": KNOWN_IN_SHAPE,
}
# the children represented by fields of the robot; others are kept as text
READ = {
    "robot": {"link", "joint", "dalembert"},
    "link": {"inertial", "dalembert", "visual", "collision"},
    "joint": {
        *("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "dalembert", "drake:mimic"),
        *("drake:rotor_inertia", "drake:gear_ratio"),
    },
}

VIRTUAL_TYPES = ("planar", "floating")  # each is read as virtual joints
TYPES = (*JOINT_TYPES, *VIRTUAL_TYPES)

# the allowed children and attributes of a <dalembert> element, by parent element; anything else is an error
OURS = {
    "robot": {"gravity", "tip", "tip_name"},
    "link": {"physical", "massless", "weight"},
    "joint": {"type", "coulomb", "unlimited", "acceleration", "friction", "rotor", "motor", "gear"},
    "rotor": {*ROTOR_NUMBERS, *ROTOR_VECTORS, "coulomb", "reflected", "physical"},
    "motor": {entry.name for entry in fields(Motor)},
    "gear": {entry.name for entry in fields(Gear)},
}

# elements that exert forces or close chains and are not supported by this reader
FORCES = {"drake:linear_spring_damper", "drake:linear_bushing_rpy", "drake:ball_constraint", "loop_joint"}
# Gazebo elements that affect torques, and the values for which they do not
GAZEBO = {
    "springStiffness": ("0", "0.0"),
    "turnGravityOff": ("false", "0"),
    "gravity": ("true", "1"),
}


def read_urdf(path_or_text: str | os.PathLike[str], tip: str | None = None) -> Robot:
    """The robot described by a URDF file, or by URDF text (any string that begins with ``<``)."""
    if isinstance(path_or_text, str) and path_or_text.lstrip("\ufeff \t\r\n").startswith("<"):
        return parse_urdf(path_or_text, "URDF text", tip)
    return parse_urdf(read_bytes(path_or_text), os.fspath(path_or_text), tip)


def parse_urdf(text: str | bytes, source: str = "URDF text", tip: str | None = None) -> Robot:
    """The robot described by URDF text; ``source`` names it in errors, ``tip`` is a link."""
    root = parse_xml(text.lstrip("\ufeff \t\r\n") if isinstance(text, str) else text, source)
    check_format(root, "robot", source)
    _refuse_macros(root, source)
    for tag in ("link", "joint"):
        at_most(LINKS, len(root.findall(tag)), f"{tag}s", source)
    whole = _UrdfElement(root, source, _Notes())
    defined, drives = colours(root), read_drives(root, source, whole.notes.add)
    links = [_link(link, defined) for link in whole.each("link")]
    joints: list[Joint] = []
    for joint in whole.each("joint"):
        if joint.get("type") in VIRTUAL_TYPES:
            between, parts = _virtual(joint)
            links += between
            joints += parts
        else:
            joints.append(_joint(joint, drives.get(joint.get("name", ""), UrdfDrive())))
    couplings = tuple(_mimics(whole))
    _top_level(root, whole)
    ours = whole.ours()
    gravity = ours.numbers("gravity", 3, STANDARD_GRAVITY)
    notes, left_out = whole.notes.sentences(whole.notes.ignored), whole.notes.sentences(whole.notes.left_out)
    notes = (*whole.notes.virtual, *notes)
    with errors_at(source):
        robot = Robot(
            root.get("name") or "robot", tuple(links), tuple(joints), gravity, source=source, notes=notes, left_out=left_out,
            couplings=couplings, kept=(*whole.kept(), *_textures(root)),
        )  # fmt: skip
        if tip is not None:
            return robot.with_tip(tip)
        if not ours.get("tip"):
            return robot.with_tip_note()
        return robot.replace(tip=Frame(ours.get("tip_name", "tip"), ours.get("tip", "")))


def _refuse_macros(root: Element, source: str) -> None:
    for element in root.iter():
        macro = element.tag.startswith("xacro:")
        if macro or any("${" in value or "$(" in value for value in element.attrib.values()):
            raise RobotError(
                f"{source}: <{element.tag}> is an unexpanded xacro macro; rename the file to .xacro, or run 'xacro {source} > robot.urdf' and load that"
            )


class _Notes:
    """Ignored elements, one sentence per kind, and unsupported elements that affect torques."""

    def __init__(self) -> None:
        self.ignored: dict[str, dict[str, None]] = {}  # by kind, in file order
        self.left_out: dict[str, dict[str, None]] = {}
        self.virtual: list[str] = []  # notes on planar and floating joints

    def add(self, kind: str, which: str, torques: bool = False) -> None:
        (self.left_out if torques else self.ignored).setdefault(kind, {})[which] = None

    @staticmethod
    def sentences(kinds: dict[str, dict[str, None]]) -> tuple[str, ...]:
        return tuple(f"{kind}: {some(list(which))}" for kind, which in kinds.items())


class _UrdfElement:
    """An element of the file, which may be absent, with typed attributes; ``where`` begins every error message."""

    def __init__(self, element: Element | None, where: str, notes: _Notes) -> None:
        self.given, self.where, self.notes = element is not None, where, notes
        self.element = Element("") if element is None else element
        self.tag, self.get = self.element.tag, self.element.get

    @property
    def name(self) -> str:
        """The link or joint to which it belongs, as named in notes."""
        return self.where.rpartition(": ")[2]

    def each(self, tag: str) -> Iterator[_UrdfElement]:
        """The links or joints."""
        for child in self.element.findall(tag):
            name = _UrdfElement(child, self.where, self.notes).required("name")
            yield _UrdfElement(child, f"{self.where}: {tag} '{name}'", self.notes)

    def only(self, tag: str) -> _UrdfElement:
        """The child element; if there are several, the first, as in every URDF reader, with a note."""
        children = self.element.findall(tag)
        if len(children) > 1:
            self.notes.add("only the first of several is used", f"<{tag}> in {self.name}")
        return _UrdfElement(children[0] if children else None, self.where, self.notes)

    def kept(self) -> tuple[str, ...]:
        """The children that no field represents, as text."""
        return tuple(kept_text(child) for child in self.element if child.tag not in READ[self.tag])

    def ours(self) -> _UrdfElement:
        """The <dalembert> child element."""
        return self.only("dalembert").with_known(OURS[self.tag])

    def with_known(self, known: set[str]) -> _UrdfElement:
        """The element itself, after checking that it has no unknown contents: only we define this extension."""
        for name in (*self.element.attrib, *(child.tag for child in self.element)):
            if name not in known:
                raise RobotError(
                    f"{self.where}: <{self.tag}> has '{name}'; allowed are {', '.join(sorted(known))}"
                    f"{nearest(name, sorted(known))}"
                )
        return self

    def flag(self, name: str, default: bool) -> bool:
        """An attribute that is "true" or "false"."""
        text = self.get(name, "true" if default else "false")
        if text not in ("true", "false"):
            raise RobotError(f"{self.where}: '{name}' of <{self.tag}> is {shown(text)}; it must be true or false")
        return text == "true"

    def note_unknown(self, names: Iterable[str], place: str) -> None:
        """Note elements or attributes that this reader does not use."""
        for name in names:
            if name not in KNOWN.get(self.tag, ()):
                torques = self.tag == "dynamics" or name in FORCES
                kind = "unknown to this reader" if torques else "ignored because unknown to this reader"
                self.notes.add(kind, f"{name} {place}".strip(), torques)

    def required(self, name: str) -> str:
        """A required attribute."""
        value = self.get(name)
        if not value:
            raise RobotError(f"{self.where}: <{self.tag}> has no '{name}'")
        if len(value) > NAME:
            raise RobotError(
                f"{self.where}: '{name}' of <{self.tag}> is {shown(value)}; it must have at most {NAME} characters"
            )
        return value

    def number(self, name: str, default: float | None = None, finite: bool = True) -> Any:
        """The number in an attribute; ``default`` if the attribute is absent."""
        text = self.get(name)
        return default if text is None else self._float(name, text, finite)

    def numbers(self, name: str, count: int, default: Any = None) -> Any:
        """Several numbers in one attribute."""
        text = self.get(name)
        if text is None:
            return default
        parts = text.split()
        if len(parts) != count:
            raise RobotError(
                f"{self.where}: '{name}' of <{self.tag}> is {shown(text)}; it needs {count} numbers, not {len(parts)}"
            )
        return tuple(self._float(name, part) for part in parts)

    def _float(self, name: str, text: str, finite: bool = True) -> float:
        what = f"{self.where}: '{name}' of <{self.tag}> is {shown(text)}"
        try:
            value = float(text.replace("_", "?"))  # Python reads 1_0 as 10, other URDF readers do not
        except ValueError:
            raise RobotError(f"{what}, which is not a number") from None
        if finite and not math.isfinite(value):
            raise RobotError(f"{what}; it must be a finite number")
        return value

    def origin(self) -> Placement:
        """The placement given by <origin>."""
        origin = self.only("origin")
        xyz = origin.numbers("xyz", 3, ZERO)
        roll, pitch, yaw = origin.numbers("rpy", 3, ZERO)
        return Placement.rpy(roll, pitch, yaw, xyz)


def _link(link: _UrdfElement, defined: Mapping[str, Colour]) -> Link:
    link.note_unknown((child.tag for child in link.element), "in a link")
    ours = link.ours()
    inertia, weight = _inertia(link.only("inertial")), ours.number("weight", 1.0)
    flags = (ours.flag("physical", True), ours.flag("massless", False))
    shapes: dict[str, list[Shape]] = {"visual": [], "collision": []}
    kept = list(link.kept())
    for element in (child for child in link.element if child.tag in shapes):
        _UrdfElement(element, link.where, link.notes).note_unknown((x.tag for x in element), f"in a {element.tag}")
        shape = read_shape(element, defined)
        if shape is None:
            kept.append(kept_text(element))
            link.notes.add("shapes of an unknown kind are only kept as text", link.name)
        else:
            shapes[element.tag].append(shape)
    drawn: dict[str, Any] = {"visuals": tuple(shapes["visual"]), "collisions": tuple(shapes["collision"])}
    with errors_at(link.where):
        return Link(link.required("name"), inertia, *flags, weight, **drawn, kept=tuple(kept))


def _textures(root: Element) -> list[str]:
    """Textured materials defined within shapes: their names are global, so they can be written separately."""
    at_top = {material.get("name") for material in root.findall("material")}
    inside = {x.get("name"): x for x in root.iter("material") if x.find("texture") is not None and x.get("name")}
    return [kept_text(material) for name, material in inside.items() if name not in at_top]


def _inertia(inertial: _UrdfElement) -> Inertia:
    """The inertia in the axes of the link; the orientation of the inertial frame is taken into account."""
    if not inertial.given:
        return Inertia()
    inertial.note_unknown((child.tag for child in inertial.element), "in an inertial")
    mass, tensor = inertial.only("mass"), inertial.only("inertia")
    for part, tag in ((mass, "mass"), (tensor, "inertia")):
        if not part.given:
            raise RobotError(f"{inertial.where}: <inertial> has no <{tag}>; remove <inertial> for a frame without mass")
    m = mass.number("value")
    xx, yy, zz = (tensor.number(key) for key in ("ixx", "iyy", "izz"))
    for value, what in ((m, "'value' in <mass>"), (xx, "'ixx'"), (yy, "'iyy'"), (zz, "'izz'")):
        if value is None:
            raise RobotError(f"{inertial.where}: <inertial> has no {what}")
    xy, xz, yz = (tensor.number(key, 0.0) for key in ("ixy", "ixz", "iyz"))
    return Inertia(m, ZERO, symmetric(xx, yy, zz, xy, yz, xz)).seen_from(inertial.origin())


def _joint(joint: _UrdfElement, drive: UrdfDrive) -> Joint:
    name, kind, where = joint.required("name"), joint.required("type"), joint.where
    if kind not in JOINT_TYPES:
        raise RobotError(f"{where} has type '{kind}', which is not supported; supported types are {', '.join(TYPES)}")
    joint.note_unknown((child.tag for child in joint.element), "in a joint")
    for tag in ("safety_controller", "calibration"):
        if joint.element.find(tag) is not None:
            joint.notes.add(f"<{tag}> is ignored because it does not affect the dynamics", f"joint '{name}'")
    parent, child = _end(joint, "parent"), _end(joint, "child")
    placement = joint.origin()
    ours, dynamics = joint.ours(), joint.only("dynamics")
    kept, drive = (*joint.kept(), *_unread(joint)), drive.or_else(drive_of(joint.element, where))
    if kind == "fixed":  # some exporters give fixed joints the axis 0 0 0, which is not used
        with errors_at(where):
            given = {
                "friction": _friction(dynamics, ours) != Friction(),
                "rotor": ours.only("rotor").given or drive.rotor is not None,
            }
        for what in [what for what, is_given in given.items() if is_given]:
            joint.notes.add(f"the {what} of fixed joints is not used", f"joint '{name}'")
        return Joint(name, "fixed", parent, child, placement, kept=kept)
    axis = joint.only("axis").numbers("xyz", 3, X)
    with errors_at(where):
        parts: dict[str, Any] = {
            "friction": _friction(dynamics, ours),
            "limits": _limits(joint.only("limit"), ours, kind),
            "rotor": _rotor(ours.only("rotor").with_known(OURS["rotor"]), drive),
            "motor": _drive_part(ours.only("motor").with_known(OURS["motor"]), Motor),
            "gear": _drive_part(ours.only("gear").with_known(OURS["gear"]), Gear),
            "kept": kept,
        }
        return Joint(name, ours.get("type", kind), parent, child, placement, axis, **parts)  # type: ignore[arg-type]


def _unread(joint: _UrdfElement) -> Iterator[str]:
    """The attributes of <limit> and <dynamics> that no field represents, as elements with only these attributes."""
    for tag in ("limit", "dynamics"):
        element = joint.only(tag)
        known = set() if joint.get("type") == "fixed" else KNOWN[tag]
        if joint.get("type") == "continuous":
            known = known - {"lower", "upper"}
        attributes = {key: value for key, value in element.element.attrib.items() if key not in known}
        if attributes:
            yield kept_text(Element(tag, attributes))


def _virtual(joint: _UrdfElement) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
    """The joints that replace a planar or floating joint; without <axis>, a planar joint moves in x and y (MoveIt)."""
    name, kind = joint.required("name"), joint.required("type")
    joint.note_unknown((child.tag for child in joint.element), "in a joint")
    joint.notes.virtual.append(virtual_note(name, kind))
    if joint.only("limit").given:
        joint.notes.add("limits of planar and floating joints are ignored", f"joint '{name}'")
    with errors_at(joint.where):
        if _friction(joint.only("dynamics"), joint.ours()) != Friction():
            joint.notes.add("friction of planar and floating joints", f"joint '{name}'", torques=True)
        axis = unit(joint.only("axis").numbers("xyz", 3, Z), "its axis")
        return virtual_joints(name, kind, _end(joint, "parent"), _end(joint, "child"), joint.origin(), axis=axis)


def _mimics(whole: _UrdfElement) -> Iterator[Coupling]:
    """The couplings of mimic joints."""
    for joint in whole.each("joint"):
        name, plain = joint.required("name"), joint.only("mimic")
        mimic = plain if plain.given else joint.only("drake:mimic")
        if not mimic.given:
            continue
        mimic.note_unknown(mimic.element.attrib, f"of <{mimic.tag}>")
        leader = mimic.required("joint")
        factor, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        if joint.get("type") == "fixed":
            joint.notes.add(f"<{mimic.tag}> of fixed joints is ignored", f"joint '{name}'")
            continue
        with errors_at(joint.where):
            yield Coupling(name, leader, factor, offset)


def _end(joint: _UrdfElement, tag: str) -> str:
    """The parent or child link of a joint."""
    end = joint.only(tag)
    if not end.given:
        raise RobotError(f"{joint.where} has no <{tag}>")
    return end.required("link")


def _friction(dynamics: _UrdfElement, ours: _UrdfElement) -> Friction:
    dynamics.note_unknown(dynamics.element.attrib, "of <dynamics>")
    level = dynamics.number("friction", 0.0)
    friction = Friction(dynamics.number("damping", 0.0), ours.numbers("coulomb", 2, (level, level)))
    return Friction.of(
        [*friction, *(_term(_UrdfElement(x, ours.where, ours.notes)) for x in ours.element.findall("friction"))]
    )


def _term(element: _UrdfElement) -> Term:
    """A friction term in the form of our own extension."""
    name = element.required("term")
    if name not in TERMS:
        raise RobotError(f"{element.where}: <friction> has term '{name}'; it must be one of {', '.join(TERMS)}")
    known = [entry.name for entry in TERMS[name].numbers()]
    numbers = {key: element.number(key) if key in known else value for key, value in element.element.attrib.items()}
    numbers.pop("term")
    return TERMS[name].read({**numbers, "physical": element.flag("physical", True)})


def _limits(limit: _UrdfElement, ours: _UrdfElement, kind: str) -> Limits:
    limit.note_unknown(limit.element.attrib, "of <limit>")
    values = {key: limit.number(key, finite=False) for key in ("lower", "upper", "velocity", "effort")}
    if kind == "continuous" and (values["lower"] is not None or values["upper"] is not None):
        values["lower"] = values["upper"] = None
        limit.notes.add("position limits of continuous joints are ignored", limit.name)
    # the writer had to put a number in place of an unknown limit
    for key in ours.get("unlimited", "").split() if limit.given else ():
        if key not in values:
            raise RobotError(
                f"{ours.where}: 'unlimited' of <dalembert> is '{key}'; it must be one of {', '.join(values)}"
            )
        values[key] = None
    acceleration = limit.number("drake:acceleration", finite=False)
    return Limits(**values, acceleration=ours.number("acceleration", acceleration))


def _rotor(rotor: _UrdfElement, drive: UrdfDrive) -> Rotor | None:
    """The rotor in the form of our own extension; otherwise as given by transmissions and Drake's elements."""
    if not rotor.given:
        return drive.rotor
    scalars = {key: rotor.number(key, getattr(Rotor, key)) for key in ROTOR_NUMBERS}
    vectors = {key: rotor.numbers(key, 3) for key in ROTOR_VECTORS}
    coulomb = rotor.numbers("coulomb", 2, (0.0, 0.0))
    flags = {"reflected": rotor.flag("reflected", False), "physical": rotor.flag("physical", True)}
    return Rotor(**scalars, **vectors, coulomb=coulomb, **flags)


def _drive_part(part: _UrdfElement, kind: type[DrivePart]) -> Any:
    """A motor or gear in the form of our own extension."""
    if not part.given:
        return None
    values: dict[str, Any] = {entry.name: part.number(entry.name) for entry in kind.numbers()}
    values |= {key: part.get(key) for key in ("name", "thermal_class")} | {"phases": part.number("phases")}
    for key in ("continuous_curve", "peak_curve"):
        if (text := part.get(key)) is not None:
            numbers = part.numbers(key, 2 * (-(-len(text.split()) // 2)))  # speed, torque, speed, torque …
            values[key] = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    return kind(**{key: value for key, value in values.items() if value is not None})


def _top_level(root: Element, whole: _UrdfElement) -> None:
    """Process the elements other than links and joints."""
    whole.note_unknown((child.tag for child in root), "")
    for element in root.findall("drake:joint"):  # a joint, too
        raise RobotError(
            f"{whole.where}: joint '{element.get('name')}' has type '{element.get('type')}', which is not supported; "
            f"supported types are {', '.join(TYPES)}"
        )
    for gazebo in root.findall("gazebo"):
        for tag, does_nothing in GAZEBO.items():
            text = (gazebo.findtext(tag) or "").strip().lower()
            if text not in ("", *does_nothing):
                whole.notes.add("a Gazebo extension outside URDF", f"{tag} of '{gazebo.get('reference')}'", True)
