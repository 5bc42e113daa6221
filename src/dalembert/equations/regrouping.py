"""Frames and inertias chosen so that the joint torques cost the fewest operations.

Two freedoms are used, and neither changes a joint torque:

* A link's frame may stand anywhere on the axis of its joint. Here its x-axis lies along the common
  normal to the next axis, so that the step to the next joint is Rot_x(α) Trans_x(a) Rot_z(q + θ)
  Trans_z(d): the frames of modified Denavit–Hartenberg.
* The part of a link's inertia that its joint cannot feel may be counted with the parent link. For a
  revolute joint that is every mass distribution on its axis (m, m c_z, Σ_zz); for a prismatic one
  the whole tensor Σ. (Gautier and Khalil regroup I_yy instead of Σ_zz; with the moments written
  through Σ, as :mod:`lean_newton_euler` does, Σ_zz is the one to remove.)

Only joint torques may be computed from the result: forces between links do change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from dalembert.algebra.linalg import (
    ZERO,
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    madd,
    matmul,
    matvec,
    mscale,
    norm,
    outer,
    rotation_about,
    scale,
    sub,
    tmatvec,
    transpose,
)
from dalembert.robot.mechanism import Mechanism
from dalembert.robot.placement import Placement

Z: Vector = (0.0, 0.0, 1.0)


@dataclass
class LeanLink:
    """A joint about (or along) its own z-axis and the link it moves.

    The parent's frame leads to the joint by R, t (constant); the joint turns by q + offset about z
    (or slides by q + offset along z); the link's frame lies d further along z. m, h, Sigma are mass,
    first moments and second moments ∫ r rᵀ dm in that frame.
    """

    parent: int
    revolute: bool
    R: Matrix
    t: Vector
    offset: Scalar
    d: Scalar
    m: Scalar
    h: Vector
    Sigma: Matrix
    gear: Scalar
    rotor_inertia: Scalar
    rotor_axis: Vector  # in the parent's lean frame
    reflected: bool
    frame: Placement  # the lean frame as it stands in the body's own link frame


def _snapped(x: float, size: float) -> float:
    """Rounding noise of the change of frames is zero, and what is almost a whole number is that."""
    nearest = round(x / size) * size if size > 0 else 0.0
    return float(nearest) if abs(x - nearest) <= 4e-15 * size else x


def _clean(R: Matrix) -> Matrix:
    return tuple(tuple(_snapped(x, 1.0) for x in row) for row in R)  # type: ignore[return-value]


def _clean_vector(v: Vector, size: float) -> Vector:
    return tuple(0.0 if isinstance(x, (int, float)) and abs(x) <= 1e-15 * size else x for x in v)  # type: ignore[return-value]


def _size(values: Iterable[Scalar]) -> float:
    """The largest of those that are numbers; traced parameters have no size."""
    return max((abs(x) for x in values if isinstance(x, (int, float))), default=0.0)


def _axes(z: Vector, x: Vector) -> Matrix:
    """The rotation whose columns are x, z × x, z."""
    return transpose((x, cross(z, x), z))


def _across(z: Vector, wish: Vector) -> Vector:
    """A unit vector across z, as near to ``wish`` as can be."""
    for v in (wish, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
        v = sub(v, scale(dot(v, z), z))
        if norm(v) > 1e-6:
            return scale(1.0 / norm(v), v)
    raise AssertionError("two axes cannot both be parallel to z")


def _lean_frame(z: Vector, point: Vector, revolute: bool, child: tuple[Vector, Vector, Vector] | None) -> Placement:
    """A frame on the axis (``point``, ``z``), its x along the normal to the child's axis.

    ``child`` is (direction, x-axis, origin) of the child's lean frame, all in this link's frame.
    """
    if child is None:
        return Placement(_axes(z, _across(z, (1.0, 0.0, 0.0))), point)
    u, x_child, o = child
    if not revolute:
        point = o  # a prismatic axis may go through any point
    normal = cross(z, u)
    if norm(normal) < 1e-9:  # parallel: level with the child's origin
        foot = add(point, scale(dot(sub(o, point), z), z))
        away = sub(o, foot)
        far = norm(away) > 1e-12
        return Placement(_axes(z, _across(z, away if far else x_child)), foot)
    x = scale(1.0 / norm(normal), normal)
    # the foot of the common normal on this axis
    s = dot(cross(sub(o, point), u), normal) / dot(normal, normal)
    return Placement(_axes(z, x), add(point, scale(s, z)))


def lean_links(mechanism: Mechanism) -> list[LeanLink]:
    """The mechanism in lean frames, its inertias regrouped towards the base."""
    frames = _choose_frames(mechanism)
    links = [_express(mechanism, frames, i) for i in range(mechanism.n)]
    for i in reversed(range(len(links))):
        _regroup(links, i)
    return links


def _choose_frames(mechanism: Mechanism) -> list[Placement]:
    """For every body a lean frame, given in the body's own link frame; from the leaves to the base."""
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
            R = transpose(at_zero.rotation)
            child = (bodies[c].placement.direction(bodies[c].axis), R[0], at_zero.translation)
        frame = _lean_frame(z, point, body.revolute, child)
        frames[i] = Placement(_clean(frame.rotation), _clean_vector(frame.translation, 1.0))
    return frames


def _express(mechanism: Mechanism, frames: list[Placement], i: int) -> LeanLink:
    body = mechanism.bodies[i]
    frame = frames[i]
    parent = frames[body.parent] if body.parent >= 0 else Placement()
    # a frame at the joint, before it moves, whose z is the axis
    upright = Placement(_axes(body.axis, _across(body.axis, (1.0, 0.0, 0.0))))
    before = parent.inverse @ body.placement @ upright
    after = upright.inverse @ body.link_frame @ frame
    R, t, d, theta, offset = before.rotation, before.translation, 0.0, 0.0, body.offset
    if body.revolute:
        # after = Rot_z(θ) Trans_z(d), both of which commute with the joint's own turn
        theta = math.atan2(after.rotation[1][0], after.rotation[0][0])
        d = after.translation[2]
    else:
        R = matmul(R, after.rotation)
        t = add(t, matvec(before.rotation, after.translation))
    # what Trans_z the step still holds is better made after the joint; and so is a turn about z that
    # makes the step Rot_x(α)
    R = _clean(R)
    if body.parent >= 0 and body.revolute:
        psi = _turn_about_z(R)
        R = _clean(matmul(R, rotation_about(Z, -psi)))
        theta += psi
        z = (R[0][2], R[1][2], R[2][2])
        along = dot(t, z) if abs(z[0]) < 1e-12 else 0.0
        t = sub(t, scale(along, z))
        d += along
    quarter = round(theta / (math.pi / 2)) * (math.pi / 2)
    if abs(theta - quarter) < 1e-13:
        R = _clean(matmul(R, rotation_about(Z, quarter)))
        theta = 0.0
    inertia = body.inertia.seen_from(frame.inverse)
    size = _size(x for row in inertia.second_moments for x in row)
    first = _clean_vector(inertia.first_moments, max(1e-300, _size(inertia.first_moments)))
    Sigma = tuple(_clean_vector(row, size * 10) for row in inertia.second_moments)
    return LeanLink(
        body.parent, body.revolute, R, _clean_vector(t, 1.0), offset + theta if theta else offset,
        0.0 if abs(d) < 1e-15 else d, inertia.mass, first, Sigma,  # type: ignore[arg-type]
        body.gear, body.rotor_inertia, _clean_vector(tmatvec(parent.rotation, body.rotor_axis), 1.0),
        body.reflected, frame,
    )  # fmt: skip


def _turn_about_z(R: Matrix) -> float:
    """ψ such that R Rot_z(−ψ) has its x-axis along (1, 0, 0), where that can be; otherwise 0."""
    # R = Rot_x(α) Rot_z(ψ) has first row (cos ψ, −sin ψ, 0)
    return math.atan2(-R[0][1], R[0][0]) if abs(R[0][2]) < 1e-12 else 0.0


def _regroup(links: list[LeanLink], i: int) -> None:
    """Count with the parent what joint i cannot feel of link i."""
    link = links[i]
    if link.revolute:
        m, hz, szz = link.m, link.h[2], link.Sigma[2][2]
        # seen from the joint, d below: the same mass distribution along the axis
        moved = (m, (0.0, 0.0, hz + m * link.d), szz + 2.0 * link.d * hz + link.d * link.d * m)
        link.m, link.h = 0.0, (link.h[0], link.h[1], 0.0)
        S = link.Sigma
        link.Sigma = (S[0], S[1], (S[2][0], S[2][1], 0.0))
        Sigma: Matrix = (ZERO, ZERO, (0.0, 0.0, moved[2]))
        _join(links, link, moved[0], moved[1], Sigma)
    else:
        _join(links, link, 0.0, ZERO, link.Sigma)
        link.Sigma = (ZERO, ZERO, ZERO)


def _join(links: list[LeanLink], link: LeanLink, m: Scalar, h: Vector, Sigma: Matrix) -> None:
    """Add a mass distribution, given in the joint's frame, to the parent link."""
    if link.parent < 0:
        return
    parent, R, t = links[link.parent], link.R, link.t
    h_R = matvec(R, h)
    parent.m = parent.m + m
    parent.h = add(parent.h, h_R, scale(m, t))
    turned = matmul(R, matmul(Sigma, transpose(R)))
    parent.Sigma = madd(
        parent.Sigma,
        madd(turned, madd(madd(outer(t, h_R), outer(h_R, t)), mscale(m, outer(t, t)))),
    )
