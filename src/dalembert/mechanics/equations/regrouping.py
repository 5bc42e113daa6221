"""Frames and inertias chosen so that the joint torques cost the fewest operations.

It uses two freedoms, neither of which changes a joint torque:

* A link's frame may be placed anywhere on the axis of its joint. Here its x-axis lies along the common
  normal to the next axis, so that the step to the next joint is Rot_x(α) Trans_x(a) Rot_z(q + θ)
  Trans_z(d): the frames of modified Denavit–Hartenberg.
* The part of a link's inertia that has no effect on its joint may be assigned to the parent link. For a
  revolute joint that is every mass distribution on its axis (m, m c_z, Σ_zz); for a prismatic one
  the whole tensor Σ. (Gautier and Khalil regroup I_yy instead of Σ_zz; with the moments written
  through Σ, as :mod:`lean_newton_euler` does, Σ_zz is the one to remove.)

Only joint torques may be computed from the result: forces between links do change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from dalembert.base.algebra.scalars import Scalar
from dalembert.base.algebra.vectors import NULL, ZERO, Mat, Vec, X, Y, Z, rotation_about
from dalembert.robot.model.mechanism import Mechanism
from dalembert.robot.model.placement import Placement

CANCELLED = 50.0  # times the rounding error of a change of frames
NEARLY_PARALLEL = 0.05  # sine of the angle of two axes: below, the foot of their common normal may lie so far away that digits are lost


@dataclass
class LeanLink:
    """A joint about (or along) its own z-axis and the link it moves.

    The constant R, t leads from the parent's frame to the joint; the joint rotates by q + offset about z
    (or moves by q + offset along z); the link's frame lies d further along z. m, h, Sigma are mass,
    first moments and second moments ∫ r rᵀ dm in that frame.
    """

    parent: int
    revolute: bool
    R: Mat
    t: Vec
    offset: Scalar
    d: Scalar
    m: Scalar
    h: Vec
    Sigma: Mat
    gear: Scalar
    rotor_inertia: Scalar
    rotor_axis: Vec  # in the parent's lean frame
    reflected: bool
    frame: Placement  # the lean frame with respect to the body's own link frame

    @property
    def spins(self) -> bool:
        """Whether the angular momentum of the joint's rotor is included, and not only its k_r² I_m."""
        return not self.reflected and not (isinstance(self.rotor_inertia, float) and self.rotor_inertia == 0.0)

    @property
    def spin(self) -> Vec:
        """s = k_r I_m z_m, the rotor's angular momentum at unit joint speed, in the parent's frame."""
        return self.gear * self.rotor_inertia * self.rotor_axis

    @property
    def own_rotor(self) -> Scalar:
        """k_r² I_m, the rotor's contribution to the diagonal."""
        return self.gear * self.gear * self.rotor_inertia


def _snapped(x: float, size: float) -> float:
    """Zero for rounding noise of the change of frames, and the nearest integer for a value that is almost one."""
    nearest = round(x / size) * size if size > 0 else 0.0
    return float(nearest) if abs(x - nearest) <= 4e-15 * size else x


def _clean(R: Mat) -> Mat:
    return Mat.of([_snapped(x, 1.0) for x in row] for row in R)


def _clean_vector(v: Vec, size: float) -> Vec:
    return Vec(0.0 if _is_number(x) and abs(x) <= 1e-15 * size else x for x in v)


def _size(values: Iterable[Scalar]) -> float:
    """The largest of the values that are numbers; traced parameters have no size."""
    return max((abs(x) for x in values if _is_number(x)), default=0.0)


def _is_number(x: Scalar) -> bool:
    return isinstance(x, (int, float))


def _axes(z: Vec, x: Vec) -> Mat:
    """The rotation whose columns are x, z × x, z."""
    return Mat((x, z.cross(x), z)).T


def _across(z: Vec, wish: Vec = X) -> Vec:
    """A unit vector perpendicular to z, as close to ``wish`` as possible."""
    for v in (wish, X, Y):
        v = v - v.dot(z) * z
        if v.norm > 1e-6:
            return 1.0 / v.norm * v
    raise AssertionError("two axes cannot both be parallel to z")


def _lean_frame(z: Vec, point: Vec, revolute: bool, child: tuple[Vec, Vec, Vec] | None) -> Placement:
    """A frame on the axis (``point``, ``z``), with x along the normal to the child's axis.

    ``child`` is (direction, x-axis, origin) of the child's lean frame, all in this link's frame.
    """
    if child is None:
        return Placement(_axes(z, _across(z)), point)
    u, x_child, o = child
    if not revolute:
        point = o  # a prismatic axis may go through any point
    normal = z.cross(u)
    if normal.norm < NEARLY_PARALLEL:  # level with the child's origin: the common normal may be far away
        foot = point + (o - point).dot(z) * z
        away = o - foot
        apart = all(map(_is_number, away)) and away.norm > 1e-12  # traced lengths have no known direction
        return Placement(_axes(z, _across(z, away if apart else x_child)), foot)
    x = 1.0 / normal.norm * normal
    # the foot of the common normal on this axis
    s = (o - point).cross(u).dot(normal) / normal.dot(normal)
    return Placement(_axes(z, x), point + s * z)


def lean_links(mechanism: Mechanism) -> list[LeanLink]:
    """The mechanism in lean frames, its inertias regrouped towards the base."""
    frames = _choose_frames(mechanism)
    links = [_express(mechanism, frames, i) for i in range(mechanism.n)]
    for i in reversed(range(len(links))):
        _regroup(links, i)
    return links


def _choose_frames(mechanism: Mechanism) -> list[Placement]:
    """A lean frame per body, given in the body's own link frame; from the leaves to the base."""
    bodies = mechanism.bodies
    depth = [1] * mechanism.n
    for i in reversed(range(mechanism.n)):
        if bodies[i].parent >= 0:
            depth[bodies[i].parent] = max(depth[bodies[i].parent], depth[i] + 1)
    frames: list[Placement] = [Placement()] * mechanism.n
    for i in reversed(range(mechanism.n)):
        body = bodies[i]
        back = body.link_frame.inverse
        z, point = back.direction(body.axis), back.translation
        children = mechanism.children(i)
        child = None
        if children:
            c = max(children, key=lambda k: depth[k])
            at_zero = bodies[c].placement @ bodies[c].link_frame @ frames[c]
            child = (bodies[c].placement.direction(bodies[c].axis), at_zero.rotation.T[0], at_zero.translation)
        frame = _lean_frame(z, point, body.revolute, child)
        frames[i] = Placement(_clean(frame.rotation), _clean_vector(frame.translation, 1.0))
    return frames


def _express(mechanism: Mechanism, frames: list[Placement], i: int) -> LeanLink:
    body = mechanism.bodies[i]
    frame = frames[i]
    parent = frames[body.parent] if body.parent >= 0 else Placement()
    # a frame at the joint, before it moves, whose z is the axis
    upright = Placement(_axes(body.axis, _across(body.axis)))
    before = parent.inverse @ body.placement @ upright
    after = upright.inverse @ body.link_frame @ frame
    R, t, d, theta, offset = before.rotation, before.translation, 0.0, 0.0, body.offset
    if body.revolute:
        # after = Rot_z(θ) Trans_z(d), both of which commute with the joint's own rotation
        theta = math.atan2(after.rotation[1][0], after.rotation[0][0])
        d = after.translation[2]
    else:
        R = R @ after.rotation
        t = t + before.rotation @ after.translation
    # a remaining Trans_z of the step is better placed after the joint; so is a rotation about z that
    # makes the step Rot_x(α)
    R = _clean(R)
    if body.parent >= 0 and body.revolute:
        psi = _turn_about_z(R)
        R = _clean(R @ rotation_about(Z, -psi))
        theta += psi
        z = R.T[2]
        along = t.dot(z) if abs(z[0]) < 1e-12 else 0.0
        t = t - along * z
        d += along
    quarter = round(theta / (math.pi / 2)) * (math.pi / 2)
    if abs(theta - quarter) < 1e-13:
        R = _clean(R @ rotation_about(Z, quarter))
        theta = 0.0
    inertia = body.inertia.seen_from(frame.inverse)
    size = _size(x for row in inertia.second_moments for x in row)
    first = _clean_vector(inertia.first_moments, max(1e-300, _size(inertia.first_moments)))
    Sigma = Mat(_clean_vector(row, size * 10) for row in inertia.second_moments)
    return LeanLink(
        body.parent, body.revolute, R, _clean_vector(t, 1.0), offset + theta if theta else offset,
        0.0 if _is_number(d) and abs(d) < 1e-15 else d, inertia.mass, first, Sigma,
        body.gear, body.rotor_inertia, _clean_vector(parent.rotation.T @ body.rotor_axis, 1.0),
        body.reflected, frame,
    )  # fmt: skip


def _turn_about_z(R: Mat) -> float:
    """ψ such that R Rot_z(−ψ) has its x-axis along (1, 0, 0), if possible; otherwise 0."""
    # R = Rot_x(α) Rot_z(ψ) has first row (cos ψ, −sin ψ, 0)
    return math.atan2(-R[0][1], R[0][0]) if abs(R[0][2]) < 1e-12 else 0.0


def _regroup(links: list[LeanLink], i: int) -> None:
    """Assign to the parent the part of link i that has no effect on joint i."""
    link = links[i]
    _snap(link)
    if link.revolute:
        m, d, (hx, hy, hz), (S_x, S_y, (zx, zy, zz)) = link.m, link.d, link.h, link.Sigma
        # seen from the joint, d below: the same mass distribution along the axis
        h, szz = Vec((0.0, 0.0, hz + m * d)), zz + 2.0 * d * hz + d * d * m
        link.m, link.h, link.Sigma = 0.0, Vec((hx, hy, 0.0)), Mat((S_x, S_y, Vec((zx, zy, 0.0))))
        _join(links, link, m, h, Mat((ZERO, ZERO, Vec((0.0, 0.0, szz)))))
    else:
        _join(links, link, 0.0, ZERO, link.Sigma)
        link.Sigma = NULL


def _snap(link: LeanLink) -> None:
    """Set moments to zero that cancel between links up to rounding: |h|² ≤ m tr Σ for any body."""
    m, size = link.m, _size(x for row in link.Sigma for x in row)
    reach = math.sqrt(abs(m) * size) if _is_number(m) else 0.0
    link.h = _clean_vector(link.h, CANCELLED * reach)
    link.Sigma = Mat(_clean_vector(row, CANCELLED * size) for row in link.Sigma)


def _join(links: list[LeanLink], link: LeanLink, m: Scalar, h: Vec, Sigma: Mat) -> None:
    """Add a mass distribution, given in the joint's frame, to the parent link."""
    if link.parent < 0:
        return
    parent, R, t = links[link.parent], link.R, link.t
    h_R = R @ h
    parent.m = parent.m + m
    first = m * t
    parent.h = parent.h + h_R + first
    turned = R @ (Sigma @ R.T)
    parent.Sigma = parent.Sigma + (turned + (t.outer(h_R) + h_R.outer(t) + m * t.outer(t)))
