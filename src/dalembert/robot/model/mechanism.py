"""The mechanism of a robot as used by the equations of motion: moving bodies only, ordered, with augmented inertias.

Fixed joints are merged exactly, the payload is added to its link, and every rotor is counted with
the link that carries it: the *augmented link* of S 7.2.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dalembert.base.algebra.records import settle
from dalembert.base.algebra.scalars import Scalar, Values, total
from dalembert.base.algebra.vectors import IDENTITY, ZERO, Vec, VecLike
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.omitted_terms import SUMMANDS
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Link, Robot, Rotor
from dalembert.robot.terms import Coulomb, Term, Viscous

NO_ROTOR = Rotor(reflected=True)


@dataclass(frozen=True)
class Body:
    """Moving joint i and the augmented link i that it moves.

    parent      index of the parent body; −1 for the base
    placement   the joint frame, frame i−1 in S, on the parent body
    axis        z_{i−1} in the joint frame
    link_frame  frame i in the joint frame after the joint motion
    inertia     augmented link i (its rotors included), in frame i
    link        link i without the rotors that it carries, in frame i
    lifted      the compensated masses of link i (:attr:`Link.weight`), at their centres of mass, in frame i
    gear, rotor_inertia, rotor_axis    k_ri, I_mi and z_mi (in the parent's frame) of the joint's motor
    rotor_position, rotor_mass, rotor_transverse    position of that rotor on the parent, mass and transverse inertia
    reflected   whether only k_ri² I_mi is modelled, the reduced model of S 7.3.2
    terms       friction, springs and losses at the joint, including motor friction: viscous and Coulomb
                friction first, possibly 0
    """

    name: str
    parent: int
    revolute: bool
    placement: Placement
    axis: VecLike
    offset: Scalar
    link_frame: Placement
    inertia: Inertia
    link: Inertia
    gear: Scalar
    rotor_inertia: Scalar
    rotor_axis: VecLike
    rotor_position: VecLike
    rotor_mass: Scalar
    rotor_transverse: Scalar
    reflected: bool
    terms: tuple[Term, ...]
    lifted: Inertia = Inertia()

    @property
    def has_rotor(self) -> bool:
        """Whether a spinning rotor contributes to the dynamics."""
        return not (isinstance(self.rotor_inertia, float) and self.rotor_inertia == 0.0)

    @property
    def viscous(self) -> Scalar:
        """F_v"""
        return total(term.damping for term in self.terms if isinstance(term, Viscous))

    @property
    def coulomb(self) -> tuple[Scalar, Scalar]:
        """F_s at positive and at negative velocity."""
        levels = [term for term in self.terms if isinstance(term, Coulomb)]
        return total(term.forward for term in levels), total(term.backward for term in levels)

    @property
    def further(self) -> tuple[Term, ...]:
        """The terms other than viscous and Coulomb friction."""
        return tuple(term for term in self.terms if not isinstance(term, (Viscous, Coulomb)))

    def depends(self, on: str) -> bool:
        """Whether a term other than viscous and Coulomb friction depends on "q", "qd" or "load"."""
        return any(on in term.of for term in self.further)

    @property
    def bare(self) -> Body:
        """A copy without any terms."""
        return replace(self, terms=_friction_terms(0.0, 0.0, 0.0))

    @property
    def frictionless(self) -> Body:
        """A copy with only springs and other terms that depend on position alone."""
        return replace(self.bare, terms=(*self.bare.terms, *(x for x in self.further if set(x.of) <= {"q"})))

    def with_friction(self, viscous: Scalar, forward: Scalar, backward: Scalar) -> Body:
        """A copy with this viscous and Coulomb friction."""
        return replace(self, terms=(*_friction_terms(viscous, forward, backward), *self.further))


def _friction_terms(viscous: Scalar, forward: Scalar, backward: Scalar) -> tuple[Term, Term]:
    """Viscous and Coulomb friction whose signs have already been checked at their joint."""
    return Viscous(viscous, physical=False), Coulomb(forward, backward, physical=False)


@dataclass(frozen=True)
class Mechanism:
    """A robot in the form used by the equations of motion; body i is moved by joint variable q_i.

    omitted   the summands of S (7.40) omitted by an approximate model, from :data:`SUMMANDS`; all other omissions are
              already made in the bodies
    contacts  the frames, (body, placement on it), at which wrenches act on the environment; by default only the tip
    """

    bodies: tuple[Body, ...]
    gravity: VecLike
    base: Placement
    tip_body: int
    tip: Placement
    omitted: tuple[str, ...] = ()
    contacts: tuple[tuple[int, Placement], ...] = ()

    def __post_init__(self) -> None:
        settle(self, gravity=Vec(self.gravity))

    def exerted(self, h_e: Values | None) -> Iterator[tuple[int, Placement, Vec, Vec]]:
        """(body, placement on it, f, μ) of the wrenches h_e exerted on the environment, in base axes.

        h_e has six numbers per contact.
        """
        if h_e is not None:
            for k, (body, place) in enumerate(self.contacts or ((self.tip_body, self.tip),)):
                if body >= 0:
                    yield body, place, Vec(h_e[6 * k : 6 * k + 3]), Vec(h_e[6 * k + 3 : 6 * k + 6])

    @property
    def n(self) -> int:
        """Number of joint variables."""
        return len(self.bodies)

    @property
    def lifts(self) -> bool:
        """Whether part of the weight is compensated."""
        return any(not body.lifted.is_zero for body in self.bodies)

    @property
    def lifted(self) -> Mechanism:
        """The same tree with only the masses whose weight is compensated."""
        none: Any = {"rotor_inertia": 0.0, "rotor_mass": 0.0, "lifted": Inertia()}
        bodies = (replace(body.bare, inertia=body.lifted, link=body.lifted, **none) for body in self.bodies)
        return replace(self, bodies=tuple(bodies))

    # -- coordinates: those of the tree itself, q = γ(q); a closed chain has the same interface with other coordinates

    identity = True
    linear = True
    by_newton = False
    loops: ClassVar[tuple[Any, ...]] = ()
    closures: ClassVar[tuple[Any, ...]] = ()
    passive: ClassVar[tuple[tuple[int, ...], ...]] = ()
    pose: ClassVar[tuple[float, ...]] = ()
    wound: ClassVar[frozenset[int]] = frozenset()

    @property
    def tree(self) -> Mechanism:
        """The tree whose coordinates are given by γ: the mechanism itself."""
        return self

    @property
    def actuated(self) -> range:
        """The bodies of the tree that q moves, in the order of q: all of them."""
        return range(self.n)

    @property
    def home(self) -> list[float]:
        """Admissible coordinates of the mechanism."""
        return [0.0] * self.n

    def follow(self, q: Any) -> None:
        """Move coupled joints to the positions that follow from q: there are none."""

    def with_tree(self, tree: Mechanism) -> Mechanism:
        """The same coordinates for another tree."""
        return tree

    def children(self, i: int) -> tuple[int, ...]:
        """The bodies whose parent is body i (−1: the base)."""
        return tuple(j for j, body in enumerate(self.bodies) if body.parent == i)

    def path(self, i: int) -> tuple[int, ...]:
        """The bodies from the base to body i, i included."""
        chain: list[int] = []
        while i >= 0:
            chain.append(i)
            i = self.bodies[i].parent
        return tuple(reversed(chain))


def rotor_body(mass: Scalar, position: VecLike, axis: VecLike, axial: Scalar, transverse: Scalar) -> Inertia:
    """A rotor at rest on the link that carries it: S (7.63), (7.66)."""
    along = axis.outer(axis)
    return Inertia(mass, position, axial * along + transverse * (IDENTITY - along))


def rotor_at_rest(rotor: Rotor, position: VecLike, axis: VecLike) -> Inertia:
    """What a rotor adds to the link that carries it; a reflected one only its mass."""
    return rotor_body(
        rotor.mass, position, axis, *((0.0, 0.0) if rotor.reflected else (rotor.inertia, rotor.transverse))
    )


def places(robot: Robot) -> dict[str, tuple[int, Placement]]:
    """{link: (body that it is part of, −1 for the base; placement of its frame on that body)}."""
    at: dict[str, tuple[int, Placement]] = {robot.root: (-1, Placement())}
    for index, joint in enumerate(robot.tree_joints):
        at[joint.child] = (index, Placement())
    for joint in robot.joints:
        if not joint.moves:
            body, stands = at[joint.parent]
            at[joint.child] = (body, stands @ joint.placement @ joint.link_frame)
    return at


def _lift(lifted: list[Inertia], i: int, link: Link, stands: Placement) -> None:
    """Add the compensated part of a link's mass to body i, as a point mass."""
    carried = Inertia((1.0 - link.weight) * link.inertia.mass, stands.point(link.inertia.com))
    if i < 0 or carried.is_zero:
        return
    lifted[i] = lifted[i] + carried
    if lifted[i].is_zero:
        raise RobotError(
            f"link '{link.name}' has weight = {link.weight:g}, which together with the links fixed to it adds as much weight as "
            "it compensates; this is not supported, so change one of their weights slightly"
        )


def mechanism(robot: Robot) -> Mechanism:
    """The mechanism of a robot: fixed joints merged, payload and rotors added to their links, moving bodies numbered.

    For a robot with loops this is the tree obtained by cutting every loop.
    """
    at = places(robot)
    n = len(robot.tree_joints)
    links = [Inertia() for _ in range(n)]
    lifted = [Inertia() for _ in range(n)]

    def attach(body: int, inertia: Inertia, placement: Placement) -> None:
        if body >= 0 and not inertia.is_zero:
            links[body] = links[body] + inertia.seen_from(placement)

    for link in robot.links:
        i, stands = at[link.name]
        attach(i, link.inertia, stands)
        if link.weight != 1.0:
            _lift(lifted, i, link, stands)
    assert robot.tip is not None
    tip_body, tip = at[robot.tip.link][0], at[robot.tip.link][1] @ robot.tip.placement
    if robot.payload is not None:
        attach(tip_body, robot.payload, tip)
    augmented = list(links)

    bodies: list[Body] = []
    for joint in robot.tree_joints:
        parent, stands = at[joint.parent]
        placement = stands @ joint.placement
        rotor = joint.rotor or NO_ROTOR
        if "rotor-coupling" in robot.omitted:
            rotor = replace(rotor, reflected=True)
        axis = placement.direction(joint.axis) if rotor.axis is None else stands.direction(rotor.axis)
        position = placement.translation if rotor.position is None else stands.point(rotor.position)
        viscous, coulomb = joint.friction.viscous, joint.friction.coulomb
        if joint.rotor is not None:
            gear = rotor.gear
            if parent >= 0:
                augmented[parent] = augmented[parent] + rotor_at_rest(rotor, position, axis)
            viscous = viscous + gear * gear * rotor.viscous
            forward, backward = rotor.coulomb if gear > 0 else rotor.coulomb[::-1]
            coulomb = (coulomb[0] + abs(gear) * forward, coulomb[1] + abs(gear) * backward)
        body = Body(
            name=joint.name,
            parent=parent,
            revolute=joint.type != "prismatic",
            placement=placement,
            axis=joint.axis,
            offset=joint.offset,
            link_frame=joint.link_frame,
            inertia=Inertia(),  # the rotors of later joints are added below
            link=links[len(bodies)],
            gear=rotor.gear,
            rotor_inertia=rotor.inertia,
            rotor_axis=axis,
            rotor_position=position,
            rotor_mass=rotor.mass,
            rotor_transverse=rotor.transverse,
            reflected=rotor.reflected,
            terms=(*_friction_terms(viscous, *coulomb), *joint.friction.further),
            lifted=lifted[len(bodies)],
        )
        bodies.append(body)
    whole = tuple(replace(body, inertia=inertia) for body, inertia in zip(bodies, augmented, strict=True))
    if "rotational" in robot.omitted:
        whole = tuple(map(_without_rotation, whole))
    if "translational" in robot.omitted:
        whole = tuple(_without_translation(whole, i) for i in range(n))
    omitted = tuple(name for name in robot.omitted if name in SUMMANDS)
    return Mechanism(whole, robot.gravity, robot.base, tip_body, tip, omitted)


# -- omissions of an approximate model that affect its bodies -----------------------------------------


def _without_rotation(body: Body) -> Body:
    """The body as a point mass, and its motor without inertia: M's D_rot and h_rot are 0."""
    point = Inertia(body.inertia.mass, body.inertia.com)
    return replace(body, inertia=point, link=point, rotor_inertia=0.0, rotor_mass=0.0, rotor_transverse=0.0)


def _without_translation(bodies: tuple[Body, ...], i: int) -> Body:
    """Body i with only its weight and its tensor, the same about any point: M's D_tran and h_tran are 0."""
    body = bodies[i]
    mass, com = body.inertia.mass, body.inertia.com
    lifted = body.lifted + Inertia(-mass, com)
    if mass != 0.0 and lifted.mass == 0.0 and (body.lifted.com - com).norm > 1e-9:
        raise RobotError(
            f"the compensated weight at joint '{body.name}' equals the moved weight but acts at another point, which is not "
            "supported without translational terms; change the weight of a link slightly"
        )
    still = Inertia()
    for other in bodies:
        if other.parent == i and not other.reflected:
            still = still + rotor_body(0.0, ZERO, other.rotor_axis, other.rotor_inertia, other.rotor_transverse)
    inertia = Inertia(tensor=body.inertia.tensor)
    link = Inertia(tensor=inertia.tensor - still.tensor)
    return replace(body, inertia=inertia, link=link, rotor_mass=0.0, lifted=lifted)


def bodies_in_loops(robot: Robot, tree: Mechanism) -> set[int]:
    """The joints in a closed chain: those on the path to exactly one of the two links that a loop connects."""
    at = places(robot)
    ends = [(tree.path(at[loop.link_a][0]), tree.path(at[loop.link_b][0])) for loop in robot.loops]
    return {i for a, b in ends for i in {*a} ^ {*b}}
