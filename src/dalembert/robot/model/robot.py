"""The robot as described by its file: an immutable tree of links and joints, in SI units.

A :class:`Robot` contains what the file states. Two steps of loading complete it: motors that a coupling names become
joints (:func:`dalembert.robot.model.joint_couplings.with_motors`), and where no tip is named one is chosen
(:mod:`dalembert.robot.model.default_tip`). The form used by the equations of motion (fixed joints merged, rotors counted
with the links that carry them) is derived from it by :func:`dalembert.robot.model.mechanism.mechanism`.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from dalembert.base.algebra.records import bounded, number, settle
from dalembert.base.algebra.vectors import VecLike, rotation_about
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import brief
from dalembert.base.wording import errors_at, nearest, some
from dalembert.errors import RobotError
from dalembert.robot.drives.drive_data import Gear as Gear
from dalembert.robot.drives.drive_data import Motor as Motor
from dalembert.robot.drives.drive_data import of_rotor
from dalembert.robot.model import joint_couplings
from dalembert.robot.model.default_tip import default_tip, tip_note
from dalembert.robot.model.friction_data import Friction as Friction
from dalembert.robot.model.inertia import Inertia as Inertia
from dalembert.robot.model.joint_couplings import Coupling as Coupling
from dalembert.robot.model.loop_joints import Loop as Loop
from dalembert.robot.model.loop_joints import check_loops, loop_of
from dalembert.robot.model.omitted_terms import omissions
from dalembert.robot.model.placement import Placement as Placement
from dalembert.robot.model.placement import unit, vector
from dalembert.robot.model.robot_notes import without
from dalembert.robot.model.shapes import Shape as Shape
from dalembert.robot.terms import Coulomb

JointType = Literal["revolute", "continuous", "prismatic", "fixed"]
JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed")
COORDINATE = ":coordinate"  # suffix of a link that represents a coordinate
STANDARD_GRAVITY: VecLike = (0.0, 0.0, -9.81)


@dataclass(frozen=True)
class Limits:
    """Limits of a joint: position (rad or m), velocity, acceleration and effort (N m or N).

    ``None`` means unknown; commands that need the value report this.

    >>> Limits(-1.5, 1.5, effort=80.0).velocity is None
    True
    """

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    acceleration: float | None = None
    effort: float | None = None

    def __post_init__(self) -> None:
        known = {key: float(number(value)) for key, value in vars(self).items() if value is not None}
        for name, value in known.items():
            if math.isnan(value):
                raise RobotError(f"the {name} limit is not a number")
            if name not in ("lower", "upper") and value < 0:
                raise RobotError(f"the {name} limit is {value:g}; it is a magnitude and cannot be negative")
        settle(self, **known)
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise RobotError(f"the lower limit {self.lower:g} is above the upper limit {self.upper:g}")


LIMIT_KEYS = tuple(entry.name for entry in fields(Limits))


ROTOR_NUMBERS = ("inertia", "gear", "mass", "transverse", "viscous")
ROTOR_VECTORS = ("position", "axis")


@dataclass(frozen=True)
class Rotor:
    """The rotor that drives a joint, mounted on the joint's parent link: the motor model of S 7.1.

    inertia     I_m about the rotor's own axis (kg m²)
    gear        k_r, motor turns per joint turn, signed (rad/m for a prismatic joint), S (7.22)
    mass        m_m (kg), at ``position``
    position    centre of mass in the parent link's frame (m); by default the joint's origin
    axis        z_m in the parent link's frame; by default the joint's axis
    transverse  inertia about the axes perpendicular to z_m (kg m²)
    reflected   True for the usual approximation: only k_r² I_m on the joint's own diagonal term,
                no coupling k_r I_m with the rotation of the parent link
    viscous     motor-side viscous friction F_m (N m s/rad); it acts on the joint as k_r² F_m, S Example 7.1
    coulomb     motor-side Coulomb level (N m), one number or (positive, negative motor velocity)
    physical    False for an identified inertia that is physically impossible, that is, negative

    >>> Rotor(inertia=1e-4, gear=100.0, mass=1.5).reflected  # a body of its own, fully coupled
    False
    """

    inertia: float = 0.0
    gear: float = 1.0
    mass: float = 0.0
    position: VecLike | None = None
    axis: VecLike | None = None
    transverse: float = 0.0
    reflected: bool = False
    viscous: float = 0.0
    coulomb: tuple[float, float] = (0.0, 0.0)
    physical: bool = True

    def __post_init__(self) -> None:
        signed = ("gear",) if self.physical else ("gear", "inertia")
        for name in ROTOR_NUMBERS:
            least = -math.inf if name in signed else 0.0
            settle(self, **{name: bounded(getattr(self, name), f"the rotor's {name}", least)})
        if isinstance(self.gear, float) and self.gear == 0:
            raise RobotError("the rotor's gear ratio is 0; a motor that drives its joint has k_r ≠ 0")
        if self.position is not None:
            settle(self, position=vector(self.position, "the rotor's position"))
        if self.axis is not None:
            settle(self, axis=unit(self.axis, "the rotor's axis"))
        with errors_at("the rotor"):
            friction = Coulomb.read(self.coulomb)  # one level for both directions, or one per direction
        settle(self, coulomb=(friction.forward, friction.backward))


@brief
@dataclass(frozen=True)
class Link:
    """A rigid body. ``physical=False`` marks a published inertia that is physically impossible.

    ``massless=True`` marks a link that represents no body: the link of a motor that moves several joints, or the one
    between the revolute and the prismatic joint of a screw. Identification assigns no mass to it.

    ``weight`` is the share of its weight that the joints support: 0.4 if 60 % of it is compensated at its
    centre of mass (MJCF's gravcomp is 1 − weight). The inertia is not affected.

    ``visuals`` and ``collisions`` are the shapes for display and for collision checking; no torque depends on them.
    ``kept`` holds further XML elements of a URDF link as text, which :func:`save_robot` writes again.

    >>> Link("fore", Inertia(2.0, (0.2, 0.0, 0.0))).inertia.mass
    2.0
    """

    name: str
    inertia: Inertia = Inertia()
    physical: bool = True
    massless: bool = False
    weight: float = 1.0
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    kept: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        settle(self, weight=number(self.weight), visuals=tuple(self.visuals), collisions=tuple(self.collisions))
        settle(self, kept=tuple(self.kept))
        if self.massless and not self.inertia.is_zero:
            mass = f"{self.inertia.mass:g} kg"
            raise RobotError(f"link '{self.name}' is massless but has an inertia ({mass}); remove one of the two")


@brief
@dataclass(frozen=True)
class Joint:
    """A joint between two links.

    placement   the joint frame on the parent link; the axis passes through its origin
    axis        unit vector in the joint frame; S has z_{i−1} = (0, 0, 1)
    offset      added to the joint variable (rad or m): the DH offset
    link_frame  the child's link frame in the joint frame after the joint motion; standard
                DH places it at the far end of the link, URDF at the joint (the default)
    motor, gear the drive, as described by its data sheets; the ``rotor`` follows from it. A rotor given in
                addition states its position and its friction
    kept        XML elements of a URDF joint that do not affect the dynamics (safety_controller, calibration), as text

    >>> elbow = Joint("elbow", "revolute", "upper", "fore", Placement(translation=(0.4, 0.0, 0.0)))
    >>> elbow.moves, elbow.axis
    (True, (0.0, 0.0, 1.0))
    """

    name: str
    type: JointType
    parent: str
    child: str
    placement: Placement = Placement()
    axis: VecLike = (0.0, 0.0, 1.0)
    offset: float = 0.0
    link_frame: Placement = Placement()
    friction: Friction = Friction()
    limits: Limits = Limits()
    rotor: Rotor | None = None
    kept: tuple[str, ...] = ()
    motor: Motor | None = None
    gear: Gear | None = None

    def __post_init__(self) -> None:
        settle(self, kept=tuple(self.kept))
        if self.motor is not None or self.gear is not None:
            settle(self, rotor=self._driven_rotor())
        if self.type not in JOINT_TYPES:
            raise RobotError(f"joint '{self.name}' has type '{self.type}'; it must be one of {', '.join(JOINT_TYPES)}")
        if self.gear is not None and self.gear.lead is not None and self.type != "prismatic":
            raise RobotError(
                f"joint '{self.name}' is {self.type}, but its gear has a lead of {self.gear.lead:g} m, which is for prismatic joints; "
                "remove 'lead'"
            )
        settle(self, axis=unit(self.axis, f"the axis of joint '{self.name}'"), offset=number(self.offset))
        term = next((term for term in self.friction if term.turns), None)
        if self.type == "prismatic" and term is not None:
            raise RobotError(
                f"joint '{self.name}' is prismatic and has {term.title} ('{term.name}'), which requires a revolute joint; "
                "for a spring along a prismatic joint use 'spring' and 'offset'"
            )

    def _driven_rotor(self) -> Rotor:
        """The rotor with inertia, gear ratio and mass of motor and gear; an explicit rotor must not contradict them."""
        explicit = self.rotor or Rotor()
        derived: dict[str, Any] = {**of_rotor(self.motor, self.gear)}
        for name, value in derived.items():
            own = getattr(explicit, name)
            if own in (getattr(Rotor, name), value):
                continue
            if name == "gear" and own == -value:  # the same gear with opposite sense of rotation
                derived["gear"] = own
            elif not isinstance(own, float) or abs(own - value) > 1e-9 * abs(value):
                raise RobotError(
                    f"joint '{self.name}' has a rotor with {name} = {own:g}, but its motor and gear give {value:g}; remove "
                    f"'{name}' from the rotor, or correct one of them"
                )
        return replace(explicit, **derived)

    def with_rotor(self, rotor: Rotor | None) -> Joint:
        """The joint with another rotor, such as an identified one; its motor takes over the inertia of this rotor.

        Motor and gear are dropped if they cannot form such a rotor.

        >>> elbow = Joint("elbow", "revolute", "upper", "fore", motor=Motor(rotor_inertia=3e-5))
        >>> elbow.with_rotor(Rotor(inertia=4e-5)).motor.rotor_inertia, elbow.with_rotor(None).motor
        (4e-05, None)
        """
        if rotor is None or (self.motor is None and self.gear is None):
            return replace(self, rotor=rotor, motor=None, gear=None)
        inertia = rotor.inertia - (self.gear.inertia if self.gear is not None else 0.0)
        motor = replace(self.motor or Motor(), rotor_inertia=inertia) if inertia >= 0 else None
        derived = of_rotor(motor, self.gear)
        same = motor is not None and abs(rotor.gear) == abs(derived["gear"]) and rotor.mass == derived["mass"]
        return replace(self, rotor=rotor, motor=motor if same else None, gear=self.gear if same else None)

    @property
    def moves(self) -> bool:
        """Whether the joint has a joint variable."""
        return self.type != "fixed"

    def moved(self, q: float) -> Placement:
        """The joint frame after a motion by q + offset, relative to the joint frame before it."""
        if not self.moves:
            return Placement()
        x = q + self.offset
        slides = self.type == "prismatic"
        return Placement(translation=x * self.axis) if slides else Placement(rotation_about(self.axis, x))


@dataclass(frozen=True)
class Frame:
    """A named frame on a link.

    >>> Frame("tool", "hand", Placement(translation=(0.0, 0.0, 0.1))).link
    'hand'
    """

    name: str
    link: str
    placement: Placement = Placement()


@dataclass(frozen=True)
class Robot:
    """An immutable description of a robot, a serial chain or tree of links, as given by its file.

    ``base`` places the root link in the base frame, in which ``gravity`` (m/s²), poses, Jacobians
    and the tip wrench are expressed. ``tip`` is the frame of the end effector. ``payload`` is a body
    held at the tip, expressed in the tip frame. ``notes`` lists what a reader ignored or assumed, and ``left_out``
    what affects torques but is not modelled; the latter raises a :class:`ModelWarning` on loading.
    ``loops`` holds the loop joints that close the tree: closed chains, S 7.3.3.
    ``couplings`` holds the joints that follow others: mimic joints, coupled wrists, screws.
    ``omitted`` names the torque terms that an approximate model leaves out: keys of :data:`OMISSIONS`.
    ``kept`` holds other XML elements of a URDF file (materials, transmissions, Gazebo) as text.

    >>> import dalembert as da
    >>> links = (Link("base"), Link("rod", Inertia(1.0, (0.5, 0.0, 0.0))))
    >>> robot = Robot("pendulum", links, (Joint("hinge", "revolute", "base", "rod"),), gravity=(0, -9.81, 0))
    >>> da.Arm(robot).gravity_torque([0.0]).round(3)
    array([4.905])
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: VecLike = STANDARD_GRAVITY
    base: Placement = Placement()
    tip: Frame | None = None
    payload: Inertia | None = None
    source: str = ""
    notes: tuple[str, ...] = field(default=())
    left_out: tuple[str, ...] = field(default=(), kw_only=True)
    loops: tuple[Loop, ...] = field(default=())
    couplings: tuple[Coupling, ...] = field(default=())
    omitted: tuple[str, ...] = field(default=(), kw_only=True)
    kept: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        links, joints, couplings = joint_couplings.with_motors(self.links, self.joints, self.couplings)
        settle(self, links=links, joints=joints, couplings=couplings, omitted=omissions(self.omitted))
        settle(self, **{key: tuple(getattr(self, key)) for key in ("loops", "notes", "left_out", "kept")})
        settle(self, gravity=vector(self.gravity, "gravity"), joints=_in_order(self))
        if self.tip is None:
            settle(self, tip=Frame("tip", default_tip(self)))
        elif self.tip.link not in {link.name for link in self.links}:
            raise RobotError(f"robot '{self.name}': the tip is on link '{self.tip.link}', which does not exist")
        joint_couplings.check_couplings(self)
        if self.loops:
            settle(self, loops=check_loops(self))
        if self.couplings:
            joint_couplings.check_with_loops(self)
            assert self.moving_joints  # raises if limits leave no range of motion
        if self.loops or self.couplings:
            self._check_friction()

    def _check_friction(self) -> None:
        """Refuse load-dependent friction in coupled joints: transmitted torque is known only where a motor acts."""
        independent = {joint.name for joint in self.moving_joints}
        for joint in self.tree_joints:
            term = next((term for term in joint.friction if "load" in term.of), None)
            if term is not None and joint.name not in independent:
                raise RobotError(
                    f"robot '{self.name}': joint '{joint.name}' follows other joints, but its friction '{term.name}' depends on "
                    "the transmitted torque, which is undetermined there; assign it to a joint with a motor"
                )

    def __repr__(self) -> str:
        counts = (("joint", "joints", self.tree_joints), ("link", "links", self.links), ("loop", "loops", self.loops))
        words = [f"{len(x)} {word if len(x) == 1 else words}" for word, words, x in counts if x]
        return f"<Robot {self.name!r:.60}: {', '.join(words)}, tip {self.tip.link if self.tip else 'none'!r:.60}>"

    @property
    def root(self) -> str:
        """The link that is not the child of any joint: the base."""
        children = {joint.child for joint in self.joints}
        return next(link.name for link in self.links if link.name not in children)

    @property
    def tree(self) -> Robot:
        """The robot without loops and couplings: all joints are independent."""
        return self.replace(loops=(), couplings=()) if self.loops or self.couplings else self

    @property
    def ties(self) -> list[tuple[str, str]]:
        """The loops and couplings as text: ("loop" or "coupling", one line) each."""
        return [("loop", x.text) for x in self.loops] + [("coupling", x.text) for x in self.couplings]

    @property
    def tree_joints(self) -> tuple[Joint, ...]:
        """All moving joints, in tree order; in closed chains some of them are passive."""
        return tuple(joint for joint in self.joints if joint.moves)

    @cached_property
    def moving_joints(self) -> tuple[Joint, ...]:
        """The independent joints, in the order of ``q``: those that do not follow from others.

        In closed chains these are the actuated joints. The limits of a joint are tightened so that joints that follow
        it linearly stay within theirs.
        """
        dependent = joint_couplings.followers(self).keys() | {name for loop in self.loops for name in loop.passive}
        independent = tuple(joint for joint in self.tree_joints if joint.name not in dependent)
        return joint_couplings.with_led_limits(self, independent) if self.couplings else independent

    @property
    def joint_letters(self) -> str:
        """R for every revolute and P for every prismatic joint in ``q``, as in RRPRRR."""
        return "".join("P" if joint.type == "prismatic" else "R" for joint in self.moving_joints)

    @property
    def mass(self) -> float:
        """Total mass of links, rotors and payload (kg)."""
        masses = [link.inertia.mass for link in self.links]
        masses += [joint.rotor.mass for joint in self.joints if joint.rotor is not None]
        return float(sum(masses) + (self.payload.mass if self.payload is not None else 0.0))

    def link(self, name: str) -> Link:
        """The link with this name."""
        links = {link.name: link for link in self.links}
        if name not in links:
            known = list(links)
            hint = f"{nearest(name, known)} (its links are {some(known)})"
            raise RobotError(f"robot '{self.name}' has no link '{name}'{hint}")
        return links[name]

    def with_coordinates(self, names: Sequence[str], angles: Sequence[bool], coupling: Coupling) -> Robot:
        """A robot with new coordinates: joints that move nothing, which the previously independent joints follow."""
        links = tuple(Link(name + COORDINATE, massless=True) for name in names)
        joints = tuple(
            Joint(name, "continuous" if angle else "prismatic", self.root, link.name)
            for name, angle, link in zip(names, angles, links, strict=True)
        )
        couplings = (*self.couplings, coupling)
        return self.replace(links=(*self.links, *links), joints=(*self.joints, *joints), couplings=couplings)

    def without_coordinates(self) -> Robot:
        """The robot from which :meth:`with_coordinates` was called."""
        *couplings, last = self.couplings
        joints = tuple(joint for joint in self.joints if joint.name not in last.of)
        moved = {joint.child for joint in joints} | {self.root}
        links = tuple(link for link in self.links if link.name in moved)
        return self.replace(links=links, joints=joints, couplings=tuple(couplings))

    @property
    def in_coordinates(self) -> bool:
        """Whether the coordinates were introduced by :meth:`with_coordinates`."""
        return all(joint.child.endswith(COORDINATE) for joint in self.moving_joints)

    def with_tip(self, name: str, sites: Sequence[Frame] | None = None) -> Robot:
        """A new robot whose tip is the link ``name``, or the site of this name in its file."""
        frames = {site.name: site for site in sites or ()}
        frames |= {link.name: Frame(link.name, link.name) for link in self.links}
        if name not in frames:
            what, known = "link" if sites is None else "body or site", list(frames)
            raise RobotError(
                f"there is no {what} '{name}', so it cannot be the tip; known names are {some(known)}{nearest(name, known)}"
            )
        notes = without(self.notes, "tip")
        old, new = self.tip, frames[name]
        moves = old is not None and (old.link, old.placement) != (new.link, new.placement)
        if self.payload is not None and old is not None and moves:
            notes.append(f"the payload is held at the new tip, '{name}', and no longer at '{old.name}'")
        return self.replace(tip=new, notes=tuple(notes))

    def with_tip_note(self) -> Robot:
        """The robot with a note that names the default tip, if the file names none and other links are possible."""
        note = tip_note(self)
        return self if note is None else self.replace(notes=(*self.notes, note))

    def with_loop(self, loop: Any) -> Robot:
        """A new robot with one more closed chain: a :class:`Loop`, or its fields by name."""
        return self.replace(loops=(*self.loops, loop_of(loop)))

    def replace(self, **changes: Any) -> Robot:
        """A new robot with some fields changed."""
        return replace(self, **changes)


def _in_order(robot: Robot) -> tuple[Joint, ...]:
    """The joints sorted so that each comes after the joint of its parent link; checks that they form a tree.

    The order of the file is kept among siblings, and wherever the tree leaves it open.
    """
    where = f"robot '{robot.name}'"
    if not robot.links:
        raise RobotError(f"{where} has no links; if its file was generated from a .xacro file, load that file")
    links = [link.name for link in robot.links]
    names = [joint.name for joint in robot.joints]
    for kind, listed in (("link", links), ("joint", names)):
        if twice := sorted(name for name, times in Counter(listed).items() if times > 1):
            raise RobotError(f"{where}: two {kind}s have the name '{twice[0]}'; names must be unique")
    known, moved_by = set(links), dict[str, str]()
    for joint in robot.joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known:
                raise RobotError(f"{where}: joint '{joint.name}' has {end} link '{link}', which does not exist")
        if joint.child in moved_by:
            raise RobotError(
                f"{where}: link '{joint.child}' is the child of two joints, '{moved_by[joint.child]}' and '{joint.name}'; remove "
                "one of them from the file, and if it closes a chain add it as a loop (Robot.with_loop)"
            )
        moved_by[joint.child] = joint.name
    roots = [name for name in links if name not in moved_by]
    if not roots:
        raise RobotError(f"{where} has no base: every link is the child of a joint, so the joints form a cycle")
    if len(roots) > 1:
        raise RobotError(f"{where} has {len(roots)} roots ({', '.join(roots[:5])}); connect them by joints to one base")
    # Equivalent to reading the file repeatedly from top to bottom, each time taking the joints whose parent link has
    # been taken: the pass in which each joint is taken is found in one walk from the root.
    hanging = defaultdict(list)
    for index, joint in enumerate(robot.joints):
        hanging[joint.parent].append((index, joint.child))
    reached, waiting = {roots[0]: (0, -1)}, [roots[0]]
    while waiting:
        link = waiting.pop()
        turn, after = reached[link]
        for index, child in hanging[link]:
            reached[child] = (turn + (index < after), index)
            waiting.append(child)
    unreached = [joint.name for joint in robot.joints if joint.child not in reached]
    if unreached:
        raise RobotError(f"{where}: the joints {', '.join(unreached[:5])} form a cycle")
    return tuple(sorted(robot.joints, key=lambda joint: reached[joint.child]))
