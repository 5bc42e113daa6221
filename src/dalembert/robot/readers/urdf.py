"""URDF reader: links, joints, inertias, friction and limits, as stated in the file.

Fixed joints stay fixed joints here; ``mechanism`` merges them exactly. Shapes do not affect the dynamics, and meshes
are not opened. Unused elements are listed in ``Robot.notes``, or in ``Robot.left_out`` if torques depend on them
(Gazebo's springs). ``<mimic>`` becomes a coupling, and planar and floating joints become virtual joints
(:mod:`dalembert.robot.model.multi_dof_joints`). Elements without dynamics are kept as text for the writer.

Three extensions are supported: Drake's ``drake:acceleration`` limit, the rotors of :mod:`dalembert.robot.readers.urdf_parts`,
and the ``<dalembert>`` elements of :mod:`dalembert.robot.readers.urdf_writer`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from dalembert.base.algebra.vectors import ZERO, X, Z
from dalembert.base.files.file_bounds import LINKS, at_most
from dalembert.base.files.reader_process import ask
from dalembert.base.files.safe_xml import BLANKS, check_format, file_or_text, parse_xml, read_bytes
from dalembert.base.tables.located import XmlElement
from dalembert.base.wording import errors_at, nearest
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.joint_couplings import Coupling
from dalembert.robot.model.placement import unit
from dalembert.robot.model.robot import JOINT_TYPES, STANDARD_GRAVITY, Frame, Friction, Joint, Limits, Link, Robot
from dalembert.robot.model.robot_notes import Note
from dalembert.robot.model.shapes import Shape
from dalembert.robot.readers import urdf_parts as parts
from dalembert.robot.readers.robot_builder import RobotBuilder
from dalembert.robot.readers.table_parts import moments, read_drive, read_share
from dalembert.robot.terms import TERMS, Term

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
    "visual": parts.KNOWN_IN_SHAPE,
    "collision": parts.KNOWN_IN_SHAPE,
}
# children that no field of the robot represents; they and unknown ones are kept as text
KEPT = {"transmission", "material", "gazebo", "safety_controller", "calibration"}
TEXT = "URDF text"
VIRTUAL_TYPES = ("planar", "floating")  # each is read as virtual joints
TYPES = (*JOINT_TYPES, *VIRTUAL_TYPES)

# the allowed children and attributes of a <dalembert> element, by parent element; anything else is an error
OURS = {
    "robot": {"gravity", "tip", "tip_name"},
    "link": {"physical", "massless", "weight"},
    "joint": {"type", "coulomb", "unlimited", "acceleration", "friction", "rotor", "motor", "gear"},
}

# elements that exert forces or close chains and are not supported by this reader
FORCES = {"drake:linear_spring_damper", "drake:linear_bushing_rpy", "drake:ball_constraint", "loop_joint"}
# Gazebo elements that affect torques, and the values for which they do not
GAZEBO = {"springStiffness": ("0", "0.0"), "turnGravityOff": ("false", "0"), "gravity": ("true", "1")}


def read_urdf(path_or_text: str | os.PathLike[str], tip: str | None = None) -> Robot:
    """The robot described by a URDF file, or by URDF text (any string that begins with ``<``)."""
    content, source = file_or_text(path_or_text, TEXT)
    return parse_urdf(content, source, tip)


def parse_urdf(text: str | bytes, source: str = TEXT, tip: str | None = None) -> Robot:
    """The robot described by URDF text; ``source`` names it in errors, ``tip`` is a link."""
    root = parse_xml(text.lstrip(BLANKS) if isinstance(text, str) else text, source)
    check_format(root, "robot", source)
    _refuse_macros(root, source)
    for tag in ("link", "joint"):
        at_most(LINKS, len(root.findall(tag)), f"{tag}s", source)
    builder = RobotBuilder(source)
    whole = _UrdfElement(root, source, builder)
    defined, drives = parts.colours(root), parts.read_drives(root, source, builder.note)
    builder.links += [_link(link, defined) for link in whole.each("link")]
    for joint in whole.each("joint"):
        if joint.text("type", "") in VIRTUAL_TYPES:
            _add_virtual(joint)
        else:
            builder.joints.append(_joint(joint, drives.get(joint.name(), {})))
    builder.couplings += _mimics(whole)
    _top_level(root, whole)
    ours = whole.ours()
    kept = (*whole.kept(), *_textures(root))
    gravity = ours.numbers("gravity", 3, STANDARD_GRAVITY)
    robot = builder.robot(root.get("name") or "robot", gravity=gravity, kept=kept)
    if tip is not None or not ours.text("tip", ""):
        return builder.with_tip(robot, tip)
    with errors_at(source):
        return robot.replace(tip=Frame(ours.text("tip_name", "tip"), ours.text("tip")))


def _refuse_macros(root: Element, source: str) -> None:
    for element in root.iter():
        macro = element.tag.startswith("xacro:")
        if macro or any("${" in value or "$(" in value for value in element.attrib.values()):
            raise RobotError(
                f"{source}: <{element.tag}> is an unexpanded xacro macro; rename the file to .xacro, or run 'xacro {source} > robot.urdf' and load that"
            )


class _UrdfElement(XmlElement):
    """An element of the file, whose findings go to the ``builder``."""

    def __init__(self, element: Element | None, where: str, builder: RobotBuilder) -> None:
        super().__init__(element, where)
        self.builder = builder

    def like(self, element: Element | None, where: str = "") -> _UrdfElement:
        """Another element of the same file."""
        return _UrdfElement(element, where or self.where, self.builder)

    @property
    def place(self) -> str:
        """The link or joint to which the element belongs, as named in notes."""
        return self.where.rpartition(": ")[2]

    def child(self, tag: str) -> _UrdfElement:
        """The child element; if there are several, the first, as in every URDF reader, with a note."""
        children = self.element.findall(tag)
        if len(children) > 1:
            self.builder.note("only the first of several is used", f"<{tag}> in {self.place}")
        return self.like(children[0] if children else None)

    def kept(self) -> tuple[str, ...]:
        """The children that no field represents, as text."""
        return tuple(parts.kept_text(child) for child in self.element if child.tag not in KNOWN[self.tag] - KEPT)

    def ours(self) -> _UrdfElement:
        """The <dalembert> child element."""
        ours = self.child("dalembert")
        ours.check_known(OURS[self.tag])
        return ours

    def part(self, key: str, allowed: Sequence[str]) -> _UrdfElement | None:
        """A child of our own extension, which may have only these attributes; None if it is absent."""
        child = self.child(key)
        child.check_known(allowed)
        return child if child.given else None

    def check_known(self, known: Iterable[str]) -> None:
        """Refuse unknown contents: only we define this extension."""
        for name in (*self.element.attrib, *(child.tag for child in self.element)):
            if name not in known:
                words = sorted(known)
                raise RobotError(
                    f"{self.where}: <{self.tag}> has '{name}'; allowed are {', '.join(words)}{nearest(name, words)}"
                )

    def note_unknown(self, place: str, attributes: bool = False) -> None:
        """Note children, or attributes, that this reader does not use."""
        for name in self.element.attrib if attributes else (child.tag for child in self.element):
            if name not in KNOWN.get(self.tag, ()):
                torques = self.tag == "dynamics" or name in FORCES
                finding = "unknown to this reader" if torques else "ignored because unknown to this reader"
                self.builder.note(finding, f"{name} {place}".strip(), torques)


def _link(link: _UrdfElement, defined: Mapping[str, parts.Colour]) -> Link:
    link.note_unknown("in a link")
    ours = link.ours()
    shapes: dict[str, list[Shape]] = {"visual": [], "collision": []}
    kept = list(link.kept())
    for element in (child for child in link.element if child.tag in shapes):
        link.like(element).note_unknown(f"in a {element.tag}")
        shape = parts.read_shape(element, defined)
        if shape is None:
            kept.append(parts.kept_text(element))
            link.builder.note("shapes of an unknown kind are only kept as text", link.place)
        else:
            shapes[element.tag].append(shape)
    drawn: dict[str, Any] = {"visuals": shapes["visual"], "collisions": shapes["collision"]}
    values = {"inertia": _inertia(link.child("inertial"))} | read_share(ours)
    with errors_at(link.where):
        return Link(link.name(), **drawn, kept=tuple(kept), **values)


def _textures(root: Element) -> list[str]:
    """Textured materials defined within shapes: their names are global, so they can be written separately."""
    at_top = {material.get("name") for material in root.findall("material")}
    inside = {x.get("name"): x for x in root.iter("material") if x.find("texture") is not None and x.get("name")}
    return [parts.kept_text(material) for name, material in inside.items() if name not in at_top]


def _inertia(inertial: _UrdfElement) -> Inertia:
    """The inertia in the axes of the link; the orientation of the inertial frame is taken into account."""
    if not inertial.given:
        return Inertia()
    inertial.note_unknown("in an inertial")
    mass, tensor = inertial.child("mass"), inertial.child("inertia")
    for part, tag in ((mass, "mass"), (tensor, "inertia")):
        if not part.given:
            raise RobotError(f"{inertial.where}: <inertial> has no <{tag}>; remove <inertial> for a frame without mass")
    return Inertia(mass.number("value"), ZERO, moments(tensor)).seen_from(parts.origin_of(inertial))


def _joint(joint: _UrdfElement, drive: parts.Drive) -> Joint:
    kind, where = joint.name("type"), joint.where
    if kind not in JOINT_TYPES:
        raise RobotError(f"{where} has type '{kind}', which is not supported; supported types are {', '.join(TYPES)}")
    joint.note_unknown("in a joint")
    for tag in ("safety_controller", "calibration"):
        if joint.element.find(tag) is not None:
            joint.builder.note(f"<{tag}> is ignored because it does not affect the dynamics", joint.place)
    parent, child, placement = _end(joint, "parent"), _end(joint, "child"), parts.origin_of(joint)
    ours, dynamics = joint.ours(), joint.child("dynamics")
    kept, drive = (*joint.kept(), *_unread(joint)), parts.drive_of(joint.element, where) | drive
    if kind == "fixed":  # some exporters give fixed joints the axis 0 0 0, which is not used
        with errors_at(where):
            unused = {"friction": _friction(dynamics, ours) != Friction()}
        unused["rotor"] = ours.child("rotor").given or parts.rotor_of(drive) is not None
        for what in [what for what, is_given in unused.items() if is_given]:
            joint.builder.note(f"the {what} of fixed joints is not used", joint.place)
        return Joint(joint.name(), "fixed", parent, child, placement, kept=kept)
    with errors_at(where):
        values = {"axis": joint.child("axis").numbers("xyz", 3, X), "friction": _friction(dynamics, ours)}
        values |= {"limits": _limits(joint.child("limit"), ours, kind), "kept": kept, **read_drive(ours)}
        values["rotor"] = values["rotor"] or parts.rotor_of(drive)
        exact: Any = ours.text("type", kind)
        return Joint(joint.name(), exact, parent, child, placement, **values)


def _unread(joint: _UrdfElement) -> Iterator[str]:
    """The attributes of <limit> and <dynamics> that no field represents, as elements with only these attributes."""
    unused = {"fixed": KNOWN["limit"] | KNOWN["dynamics"], "continuous": {"lower", "upper"}}
    for tag in ("limit", "dynamics"):
        known = KNOWN[tag] - unused.get(joint.name("type"), set())
        attributes = {key: text for key, text in joint.child(tag).element.attrib.items() if key not in known}
        if attributes:
            yield parts.kept_text(Element(tag, attributes))


def _add_virtual(joint: _UrdfElement) -> None:
    """Add a planar or floating joint; without <axis>, a planar joint moves in x and y (MoveIt)."""
    builder, name = joint.builder, joint.name()
    joint.note_unknown("in a joint")
    if joint.child("limit").given:
        builder.note("limits of planar and floating joints are ignored", joint.place)
    with errors_at(joint.where):
        if _friction(joint.child("dynamics"), joint.ours()) != Friction():
            builder.note("friction of planar and floating joints", joint.place, torques=True)
        axis = unit(joint.child("axis").numbers("xyz", 3, Z), "its axis")
        ends = _end(joint, "parent"), _end(joint, "child")
        builder.add_virtual(Joint(name, "fixed", *ends, parts.origin_of(joint), axis), joint.name("type"))


def _mimics(whole: _UrdfElement) -> Iterator[Coupling]:
    """The couplings of mimic joints."""
    for joint in whole.each("joint"):
        plain = joint.child("mimic")
        mimic = plain if plain.given else joint.child("drake:mimic")
        if not mimic.given:
            continue
        mimic.note_unknown(f"of <{mimic.tag}>", attributes=True)
        leader = mimic.name("joint")
        factor, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        if joint.text("type", "") == "fixed":
            joint.builder.note(f"<{mimic.tag}> of fixed joints is ignored", joint.place)
            continue
        with errors_at(joint.where):
            yield Coupling(joint.name(), leader, factor, offset)


def _end(joint: _UrdfElement, tag: str) -> str:
    """The parent or child link of a joint."""
    end = joint.child(tag)
    if not end.given:
        raise RobotError(f"{joint.where} has no <{tag}>")
    return end.name("link")


def _friction(dynamics: _UrdfElement, ours: _UrdfElement) -> Friction:
    dynamics.note_unknown("of <dynamics>", attributes=True)
    level = dynamics.number("friction", 0.0)
    friction = Friction(dynamics.number("damping", 0.0), ours.numbers("coulomb", 2, (level, level)))
    return Friction.of([*friction, *(_term(ours.like(x)) for x in ours.element.findall("friction"))])


def _term(element: _UrdfElement) -> Term:
    """A friction term in the form of our own extension."""
    name = element.name("term")
    if name not in TERMS:
        raise RobotError(f"{element.where}: <friction> has term '{name}'; it must be one of {', '.join(TERMS)}")
    known = [entry.name for entry in TERMS[name].numbers()]
    numbers = {key: element.number(key) if key in known else value for key, value in element.element.attrib.items()}
    numbers.pop("term")
    return TERMS[name].read({**numbers, "physical": element.flag("physical", True)})


def _limits(limit: _UrdfElement, ours: _UrdfElement, kind: str) -> Limits:
    limit.note_unknown("of <limit>", attributes=True)
    values = {key: limit.number(key, None, infinite=True) for key in ("lower", "upper", "velocity", "effort")}
    if kind == "continuous" and (values["lower"] is not None or values["upper"] is not None):
        values["lower"] = values["upper"] = None
        limit.builder.note("position limits of continuous joints are ignored", limit.place)
    # the writer had to put a number in place of an unknown limit
    for key in ours.text("unlimited", "").split() if limit.given else ():
        if key not in values:
            raise ours.wrong("unlimited", key, f"one of {', '.join(values)}")
        values[key] = None
    acceleration = limit.number("drake:acceleration", None, infinite=True)
    return Limits(**values, acceleration=ours.number("acceleration", acceleration))


def _top_level(root: Element, whole: _UrdfElement) -> None:
    """Process the elements other than links and joints."""
    whole.note_unknown("")
    for element in root.findall("drake:joint"):  # a joint, too
        raise RobotError(
            f"{whole.where}: joint '{element.get('name')}' has type '{element.get('type')}', which is not supported; "
            f"supported types are {', '.join(TYPES)}"
        )
    for gazebo in root.findall("gazebo"):
        for tag, without_effect in GAZEBO.items():
            text = (gazebo.findtext(tag) or "").strip().lower()
            if text not in ("", *without_effect):
                whole.builder.note("a Gazebo extension outside URDF", f"{tag} of '{gazebo.get('reference')}'", True)


def read_xacro(
    path: str | os.PathLike[str], tip: str | None = None, arguments: Mapping[str, Any] | None = None
) -> Robot:
    """The robot described by a .xacro file; ``arguments`` are those that the file uses as ``$(arg NAME)``.

    >>> read_xacro("ur.urdf.xacro", arguments={"name": "ur5e"})
    Traceback (most recent call last):
    dalembert.errors.RobotError: ur.urdf.xacro: there is no such file
    """
    text, notes = expand_xacro(path, arguments)
    robot = parse_urdf(text, os.fspath(path), tip)
    return robot.replace(notes=(*notes, *robot.notes))


def expand_xacro(path: str | os.PathLike[str], arguments: Mapping[str, Any] | None = None) -> tuple[str, list[Note]]:
    """The URDF text to which a .xacro file expands, and notes for the user on how it was found."""
    source = os.fspath(path)
    read_bytes(path)  # a missing file is reported as for any other format
    # true and false are written as in XML
    texts = {str(key): str(x).lower() if isinstance(x, bool) else str(x) for key, x in (arguments or {}).items()}
    question = {"source": source, "arguments": texts, "environment": dict(os.environ)}
    function = "dalembert.robot.readers.xacro_expander:expanded"
    answer, _ = ask(function, question, where=source, reader="xacro", error=RobotError)
    return str(answer["text"]), [Note(str(sentence), str(topic)) for sentence, topic in answer["notes"].items()]
