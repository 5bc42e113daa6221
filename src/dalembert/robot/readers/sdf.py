"""SDF reader: the models of a file or a world as one robot, interpreted as by Drake and sdformat.

Poses and frames are resolved by :mod:`dalembert.robot.readers.sdf_frames`. A robot without a joint to the world is fixed to it
by its root link, at the given pose; Gazebo and Drake would let it float. The ``spring_stiffness`` of a joint becomes a
spring, ``drake:rotor_inertia`` and ``drake:gear_ratio`` a reflected rotor, ``<mimic>`` a coupling. A universal joint
becomes two revolute joints with a massless link between them, a screw a revolute joint and a prismatic joint that
follows it, a ball joint three revolute joints. A link without <inertial> has 1 kg and 1 kg m², as specified by the
format. Everything else that affects torques is listed in ``Robot.left_out``.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

from dalembert.base.algebra.vectors import ZERO, VecLike, Z
from dalembert.base.files.file_bounds import LINKS, UNLIMITED, at_most
from dalembert.base.files.safe_xml import file_or_text
from dalembert.base.wording import errors_at
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.joint_couplings import Coupling
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import STANDARD_GRAVITY, Frame, Friction, Joint, Limits, Link, Robot
from dalembert.robot.model.shapes import Shape
from dalembert.robot.readers.robot_builder import RobotBuilder
from dalembert.robot.readers.sdf_frames import MODEL, WORLD, SdfElement, SdfFile, SdfFrames, SdfModel, SdfPart
from dalembert.robot.readers.table_parts import moments
from dalembert.robot.readers.urdf_parts import ATTRIBUTES, INERTIA, RATIO, rotor_of, size_of

TEXT = "SDF text"
ONE_AXIS = {"revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "screw": "revolute"}
TWO_AXES = ("universal", "revolute2")
JOINT_KINDS = (*ONE_AXIS, *TWO_AXES, "ball", "fixed")
# {element: children that exert forces or couple joints and are not supported}
FORCES = {
    "model": (
        *("drake:linear_bushing_rpy", "drake:ball_constraint", "drake:distance_constraint", "drake:tendon_constraint"),
        "gripper",
    ),
    "joint": ("gearbox_ratio", "gearbox_reference_body"),
    "inertial": ("fluid_added_mass",),
}


def read_sdf(path_or_text: str | os.PathLike[str], tip: str | None = None) -> Robot:
    """The robot described by an SDF file or SDF text (any string that begins with ``<``); ``tip`` is a link or a frame.

    >>> text = '''<sdf version="1.7"><model name="pendulum">
    ... <link name="rod"><inertial><pose>0.5 0 0 0 0 0</pose><mass>2</mass></inertial></link>
    ... <joint name="hinge" type="revolute"><parent>world</parent><child>rod</child><axis><xyz>0 1 0</xyz></axis></joint>
    ... </model></sdf>'''
    >>> robot = read_sdf(text)
    >>> robot.name, [joint.name for joint in robot.moving_joints], robot.link("rod").inertia.com
    ('pendulum', ['hinge'], (0.5, 0.0, 0.0))
    """
    content, source = file_or_text(path_or_text, TEXT)
    file = SdfFile(content, source, is_text=source == TEXT)
    worlds = file.root.findall("world")
    if len(worlds) > 1:
        raise RobotError(f"{source}: the file has {len(worlds)} worlds; a robot file must have exactly one")
    return _SdfReader(SdfFrames(SdfElement(worlds[0] if worlds else file.root, source), file)).robot(tip)


class _SdfReader(RobotBuilder):
    """Turns the models of a world into a robot."""

    def __init__(self, frames: SdfFrames) -> None:
        super().__init__(frames.world.file.path, shown=50)
        self.frames = frames
        self.stands: dict[str, Placement] = {WORLD: Placement()}  # poses of links in the world
        models = [frames.models[name] for name in frames.world.members["model"]]
        self.top = [model.name for model in models if not model.is_static] or frames.world.members["model"]
        if not models:
            raise RobotError(f"{self.source}: there is no <model>; a robot needs one")
        for model in models:
            if model.name not in self.top:
                self.note("static models are not part of the robot", model.name)

    def robot(self, tip: str | None) -> Robot:  # type: ignore[override]
        """The robot with the link or frame ``tip`` as its tip."""
        world = self.frames.world
        links, joints, frames = (self._parts(kind) for kind in ("link", "joint", "frame"))
        at_most(LINKS, len(links), "links", self.source)
        at_most(LINKS, len(joints), "joints", self.source)
        for name, link in links.items():
            self._add_link(name, link)
        between = {name: self.frames.parts[name] for name in world.members["joint"]}  # joints of the world itself
        for name, joint in (joints | between).items():
            self._add_joint(name, joint)
        sites = [site for name, frame in frames.items() if (site := self._frame(name, frame))]
        for model in self.frames.models.values():
            if self._in_robot(model):
                self._look_for_forces(model.element)
        base = self._hold()
        gravity = world.element.numbers("gravity", 3, STANDARD_GRAVITY)
        whole = world.element.attribute("name") if len(self.top) > 1 else ""
        robot = super().robot(whole or self.top[0], gravity=gravity, base=base)
        return self.with_tip(robot, tip, sites)

    def _parts(self, kind: str) -> dict[str, SdfPart]:
        """The parts of one kind in the models of the robot, by their full names."""
        parts = self.frames.parts.items()
        return {name: part for name, part in parts if part.kind == kind and self._in_robot(part.owner)}

    def _in_robot(self, model: SdfModel) -> bool:
        return any(x.name in self.top for x in (*model.around, model))

    def _called(self, full: str) -> str:
        """The name of a part in the robot, without that of its only model."""
        return full.removeprefix(f"{self.top[0]}::") if len(self.top) == 1 else full

    # -- links -------------------------------------------------------------------------------------

    def _add_link(self, full: str, part: SdfPart) -> None:
        link, called = part.element, self._called(full)
        self.stands[called] = self.frames.pose(full)
        decay = link.child("velocity_decay")
        if any(decay.number(key, 0.0) for key in ("linear", "angular")):
            self.note("velocity_decay", f"link '{called}'", torques=True)
        if link.flag("kinematic", False):
            self.note("kinematic", f"link '{called}'", torques=True)
        visuals, collisions = (self._shapes(full, part, tag) for tag in ("visual", "collision"))
        weight = 1.0 if link.flag("gravity", True) else 0.0
        with errors_at(link.where):
            inertia = self._inertia(link, called)
            self.links.append(Link(called, inertia, weight=weight, visuals=visuals, collisions=collisions))

    def _inertia(self, link: SdfElement, called: str) -> Inertia:
        """The inertia in the link's axes."""
        inertial = link.child("inertial")
        if not inertial.given:
            self.note("without <inertial>, so the SDF default of 1 kg and 1 kg m² applies", f"link '{called}'")
        if inertial.attribute("auto").lower() in ("true", "1"):
            raise RobotError(
                f"{link.where}: <inertial auto='true'> computes the inertia from shapes, which is not supported; write <mass> and "
                "<inertia>"
            )
        for tag in FORCES["inertial"]:
            if inertial.child(tag).given:
                self.note(tag, f"link '{called}'", torques=True)
        place, relative_to = inertial.pose()
        if relative_to not in ("", link.name()):
            allowed = "it must be relative to its link"
            raise RobotError(f"{link.where}: <pose> of <inertial> is relative to '{relative_to}'; {allowed}")
        return Inertia(inertial.number("mass", 1.0), ZERO, moments(inertial.child("inertia"), 1.0)).seen_from(place)

    def _shapes(self, full: str, link: SdfPart, tag: str) -> tuple[Shape, ...]:
        shapes = []
        for drawn in link.element.each(tag):
            place, relative_to = drawn.pose()
            if relative_to:
                place = self._seen_from(full, relative_to, link, drawn.where) @ place
            shape = _shape(drawn, place)
            if shape is None:
                self.note(f"a {tag} of an unknown kind was ignored", f"link '{self._called(full)}'")
            else:
                shapes.append(shape)
        return tuple(shapes)

    def _seen_from(self, full: str, name: str, part: SdfPart, where: str) -> Placement:
        """The pose of another frame of its model in the frame of a part."""
        frames, within = self.frames, part.owner.name
        return frames.pose(full, within).inverse @ frames.pose(frames.found(name, part.owner, where), within)

    def _frame(self, full: str, frame: SdfPart) -> Frame | None:
        """A frame that can be the tip; None if the world holds it."""
        holder = self.frames.link_of(full.removeprefix(frame.owner.prefix), frame.owner, frame.element.where)
        if holder is None:
            return None
        link = self._called(holder)
        return Frame(self._called(full), link, self.stands[link].inverse @ self.frames.pose(full))

    def _look_for_forces(self, model: SdfElement) -> None:
        for element in model.element:
            if element.tag == "drake:joint":
                raise RobotError(
                    f"{model.where}: joint '{element.get('name', '')}' is a <drake:joint> of type '{element.get('type', '')}', "
                    f"which is not supported; supported joint types are {', '.join(JOINT_KINDS)}"
                )
            if element.tag in FORCES["model"]:
                self.note("unknown to this reader", f"{element.tag} '{element.get('name', '')}'", torques=True)

    # -- joints ------------------------------------------------------------------------------------

    def _add_joint(self, full: str, part: SdfPart) -> None:
        joint = part.element
        name, kind, where = self._called(full), joint.attribute("type"), joint.where
        if kind == "gearbox":
            self.note("gearbox joints", f"joint '{name}'", torques=True)
            return
        if kind not in JOINT_KINDS:
            known = ", ".join(JOINT_KINDS)
            raise RobotError(f"{where} has type '{kind}', which is not supported; supported types are {known}")
        parent, child = (self._end(part, tag) for tag in ("parent", "child"))
        if child == WORLD:
            raise RobotError(f"{where} has the child 'world', which does not move; make 'world' the parent")
        if part.owner.name and part.owner.is_static and kind != "fixed":
            raise RobotError(f"{where} has type '{kind}' in a static model; set <static> to false, or make it fixed")
        at = self.frames.pose(full)
        placement, link_frame = self.stands[parent].inverse @ at, at.inverse @ self.stands[child]
        if parent == WORLD:
            self._add_world()
        with errors_at(where):
            if kind == "fixed":
                self.joints.append(Joint(name, "fixed", parent, child, placement @ link_frame))
                return
            if kind == "ball":
                if _friction(joint.child("axis").child("dynamics")) != Friction():
                    self.note("friction of ball joints", f"joint '{name}'", torques=True)
                self.add_virtual(Joint(name, "fixed", parent, child, placement, link_frame=link_frame), "ball")
                return
            first = self._moving(full, part, "axis", name)
            whole = replace(first, parent=parent, child=child, placement=placement, link_frame=link_frame)
            if kind in TWO_AXES:
                self._add_two(full, part, whole)
            elif kind == "screw":
                self.add_screw(whole, _pitch(joint))
            else:
                self.joints.append(whole)

    def _add_world(self) -> None:
        if not any(link.name == WORLD for link in self.links):
            self.links.append(Link(WORLD))

    def _add_two(self, full: str, part: SdfPart, whole: Joint) -> None:
        """A universal joint: its first axis is on the parent, its second on the link rotated by the first."""
        between = f"{whole.name}:between"
        self.links.append(Link(between, massless=True))
        second = self._moving(full, part, "axis2", f"{whole.name}:2")
        first = replace(whole, name=f"{whole.name}:1", child=between, link_frame=Placement())
        self.joints += [first, replace(second, parent=between, child=whole.child, link_frame=whole.link_frame)]

    def _end(self, part: SdfPart, tag: str) -> str:
        """The parent or child link of a joint."""
        joint, name = part.element, part.element.text(tag)
        holder = self.frames.link_of(name, part.owner, joint.where)
        called = WORLD if holder is None else self._called(holder)
        if called not in self.stands:
            raise RobotError(
                f"{joint.where}: its {tag} '{name}' is in a static model, which is not part of the robot; name 'world' instead"
            )
        return called

    def _moving(self, full: str, part: SdfPart, tag: str, name: str) -> Joint:
        """The joint about one axis, without its placement."""
        joint, axis = part.element, part.element.child(tag)
        if not axis.given:
            raise RobotError(f"{joint.where} has no <{tag}>; write <{tag}><xyz>0 0 1</xyz></{tag}>")
        limits, kind = _limits(axis.child("limit")), ONE_AXIS.get(joint.attribute("type"), "revolute")
        if kind == "revolute" and limits.lower is None and limits.upper is None:
            kind = "continuous"
        if kind == "continuous":
            limits = replace(limits, lower=None, upper=None)
        self._mimic(part, axis, name)
        for element in joint.element:
            if element.tag in FORCES["joint"]:
                self.note("unknown to this reader", f"{element.tag} of joint '{name}'", torques=True)
        parts: dict[str, Any] = {"limits": limits, "friction": _friction(axis.child("dynamics"))}
        drive = {INERTIA: joint.number(INERTIA, 0.0), RATIO: joint.number(RATIO, 1.0)} if tag == "axis" else {}
        return Joint(name, kind, "", "", axis=self._direction(full, part, axis), rotor=rotor_of(drive), **parts)  # type: ignore[arg-type]

    def _direction(self, full: str, joint: SdfPart, axis: SdfElement) -> VecLike:
        """The axis in the joint frame."""
        xyz, version = axis.vector("xyz", Z), joint.owner.file.version
        frame = axis.child("xyz").attribute("expressed_in")
        in_model = axis.flag("use_parent_model_frame", version < (1, 5))
        if not frame and version < (1, 7) and in_model:
            frame = MODEL
        if not frame or frame == joint.element.name():
            return xyz
        return self._seen_from(full, frame, joint, joint.element.where).direction(xyz)

    def _mimic(self, part: SdfPart, axis: SdfElement, name: str) -> None:
        """<mimic>: q = multiplier (q_leader − reference) + offset; Drake's own has attributes and no reference."""
        joint = part.element
        own, drake = axis.child("mimic"), joint.child("drake:mimic")
        mimic = own if own.given else drake
        if not mimic.given:
            return
        leader = mimic.attribute("joint")
        led_by = self.frames.parts.get(part.owner.prefix + leader)
        if led_by is None or led_by.kind != "joint":
            raise RobotError(f"{joint.where}: <{mimic.tag}> follows joint '{leader}', which does not exist")
        leader = self._called(part.owner.prefix + leader)
        if led_by.element.attribute("type") in TWO_AXES:
            leader += ":2" if mimic.attribute("axis") == "axis2" else ":1"
        values = own if own.given else drake.attributes
        factor, offset = values.number("multiplier", 1.0), values.number("offset", 0.0)
        offset -= factor * own.number("reference", 0.0)
        follower = f"{name}:1" if joint.attribute("type") in TWO_AXES and not name.endswith(":2") else name
        self.couplings.append(Coupling(follower, leader, factor, offset))

    # -- the base ----------------------------------------------------------------------------------

    def _hold(self) -> Placement:
        """Fix all links without a parent joint; returns the pose of the root link in the base frame, the world."""
        children = {joint.child for joint in self.joints}
        roots = [link.name for link in self.links if link.name not in children and link.name != WORLD]
        for root in roots if not all(self.frames.models[name].is_static for name in self.top) else ():
            self.note(
                "no joint connects the model to the world, so this link is fixed at its pose (other tools let it float)",
                f"link '{root}'",
            )
        if len(roots) == 1 and not any(link.name == WORLD for link in self.links):
            return self.stands[roots[0]]
        if roots:
            self._add_world()
        self.joints += [Joint(f"{root}:fixed", "fixed", WORLD, root, self.stands[root]) for root in roots]
        return Placement()


def _shape(drawn: SdfElement, place: Placement) -> Shape | None:
    """A shape, or None if its kind is unknown."""
    geometry = drawn.child("geometry")
    about: dict[str, Any] = {"name": drawn.name(), "colour": drawn.child("material").numbers("diffuse", 4, None)}
    for kind in ATTRIBUTES:
        solid = geometry.child(kind)
        if solid.given:
            uri = solid.text("uri", "") if kind == "mesh" else ""
            return Shape(kind, size_of(solid, kind, 1.0), place, uri, **about)
    return None


def _limits(limit: SdfElement) -> Limits:
    """Limits; values as large as the format's infinity, and a negative effort or velocity, mean unlimited."""
    values = {key: limit.number(key, None, infinite=True) for key in ("lower", "upper", "velocity", "effort")}
    values["acceleration"] = limit.number("drake:acceleration", None, infinite=True)
    for key, value in values.items():
        if value is not None and (abs(value) >= UNLIMITED or (key not in ("lower", "upper") and value < 0)):
            values[key] = None
    return Limits(**values)


def _friction(dynamics: SdfElement) -> Friction:
    spring = dynamics.number("spring_stiffness", 0.0), dynamics.number("spring_reference", 0.0)
    return Friction(dynamics.number("damping", 0.0), dynamics.number("friction", 0.0), spring=spring)


def _pitch(joint: SdfElement) -> float:
    """Advance of a screw per turn (m); the older element gives turns per metre, with opposite sign."""
    older = joint.number("thread_pitch", None)
    if older == 0.0 and "screw_thread_pitch" not in joint:
        raise RobotError("<thread_pitch> is 0; give <screw_thread_pitch>, the advance per turn in m")
    return joint.number("screw_thread_pitch", -2.0 * math.pi / older if older else 1.0)
