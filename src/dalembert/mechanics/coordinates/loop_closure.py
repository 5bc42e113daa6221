"""Constraint equations of a loop: Φ(q) = 0, its Jacobian, and the derivative of the Jacobian.

Everything is expressed in the last link common to both paths around the loop, so that the motion of that link
does not matter. A loop whose joints are all revolute about parallel axes or prismatic perpendicular to them, and
that is closed by a joint about such an axis or by a ball joint, is *planar*: two equations in the plane perpendicular
to the axes describe it completely. The other equations of such a loop hold identically, and the bearing forces normal
to the plane are not determined by the motion.

The ends a and b of the loop have the relative velocity v and angular velocity w. Each
equation is a row (l, m) with l·v + m·w = 0; λ times (l, m) is the force and the moment at the cut.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.base.algebra.scalars import Scalar, Values, cos, sin
from dalembert.base.algebra.vectors import IDENTITY, ZERO, Mat, Vec, X, Y, Z, vec_sum
from dalembert.mechanics.equations.kinematics import joint_motion
from dalembert.robot.model.loop_joints import Loop
from dalembert.robot.model.mechanism import Mechanism
from dalembert.robot.model.placement import Placement

PARALLEL = 1e-9  # sine of the angle between axes below which they count as parallel: rounding of a file's angles
NOWHERE, UNTURNED = Vec((0.0, 0.0)), Vec((1.0, 0.0))  # the origin of the plane, and the identity rotation (cos, sin)


@dataclass(frozen=True)
class Ends:
    """The two ends of a loop: body and frame on it; the bodies on the paths from ``ancestor`` to them."""

    name: str
    kind: str
    axis: Vec
    ancestor: int
    body_a: int
    place_a: Placement
    body_b: int
    place_b: Placement
    way_a: tuple[int, ...]
    way_b: tuple[int, ...]

    @property
    def joints(self) -> tuple[int, ...]:
        """The joints around the loop."""
        return (*self.way_a, *self.way_b)


@dataclass(frozen=True)
class Plane:
    """A planar loop: joint k rotates by ``sign`` about z; at zero, ``step`` is the vector to the next pivot.

    x, y, z      the axes of the plane, in those of the ancestor
    slide        for a prismatic joint k, the direction in which it extends its step; None for a revolute joint
    start_a, b   the first pivots; all positions and directions are vectors of two
    """

    ends: Ends
    x: Vec
    y: Vec
    z: Vec
    sign: tuple[float, ...]
    slide: tuple[Vec | None, ...]
    step: tuple[Vec, ...]
    start_a: Vec
    start_b: Vec


@dataclass(frozen=True)
class SpatialLoop:
    """Any loop that is not planar."""

    ends: Ends


AnyLoop = Plane | SpatialLoop


@dataclass
class Rates:
    """Φ, its Jacobian by columns (one per joint around the loop), the rows (l, m), and derivatives of the columns."""

    residual: list[Scalar]
    columns: list[list[Scalar]]
    rows: list[tuple[Vec, Vec]]
    columns_dot: list[list[Scalar]] | None = None


# -- type of the loop ----------------------------------------------------------------------------


def describe(tree: Mechanism, places: dict[str, tuple[int, Placement]], loop: Loop) -> AnyLoop:
    """The loop in terms of the bodies of the tree, as a planar loop if possible."""
    (body_a, on_a), (body_b, on_b) = places[loop.link_a], places[loop.link_b]
    path_a, path_b = tree.path(body_a), tree.path(body_b)
    common = [i for i, j in zip(path_a, path_b, strict=False) if i == j]
    ends = Ends(
        loop.name, loop.kind, loop.axis, common[-1] if common else -1,
        body_a, on_a @ loop.placement_a, body_b, on_b @ loop.placement_b,
        path_a[len(common) :], path_b[len(common) :],
    )  # fmt: skip
    return _plane(tree, ends) or SpatialLoop(ends)


def _plane(tree: Mechanism, ends: Ends) -> Plane | None:
    if ends.kind == "weld" or not any(tree.bodies[i].revolute for i in ends.joints):
        return None
    rest = [-body.offset for body in tree.bodies]
    paths = [_walk(tree, way, rest) for way in (ends.way_a, ends.way_b)]
    z = next(step.z for way in paths for step in way if step.revolute)
    axes = [step.z for way in paths for step in way if step.revolute]
    points = [_end(paths[0], ends.place_a), _end(paths[1], ends.place_b)]
    if ends.kind == "revolute":
        axes += [R @ ends.axis for R, _ in points]
    slides = [step.z for way in paths for step in way if not step.revolute]
    if any(z.cross(axis).norm > PARALLEL for axis in axes) or any(abs(z.dot(axis)) > PARALLEL for axis in slides):
        return None
    (_, end_a), (_, end_b) = points
    size = max([(step.pivot - end_a).norm for way in paths for step in way] + [1e-300])
    if abs(z.dot(end_a - end_b)) > PARALLEL * size:
        return None
    z = _tidy(z)
    helper = _most_across(z)
    x = helper - helper.dot(z) * z
    x = _tidy(1.0 / x.norm * x)
    y = z.cross(x)

    def flat(v: Vec, size: float = size) -> Vec:
        return Vec((_snap(v.dot(x), size), _snap(v.dot(y), size)))

    steps: list[Vec] = []
    signs: list[float] = []
    along: list[Vec | None] = []
    starts: list[Vec] = []
    for way, (_, end) in zip(paths, points, strict=True):
        pivots = [step.pivot for step in way] + [end]
        starts.append(flat(pivots[0]))
        steps += [flat(pivots[k + 1] - pivots[k]) for k in range(len(way))]
        signs += [1.0 if step.z.dot(z) > 0 else -1.0 for step in way]
        along += [None if step.revolute else flat(step.z, 1.0) for step in way]
    return Plane(ends, x, y, z, tuple(signs), tuple(along), tuple(steps), starts[0], starts[1])


def _snap(x: float, size: float) -> float:
    return 0.0 if abs(x) <= 1e-15 * size else x


def _tidy(v: Vec) -> Vec:
    return Vec([float(round(x)) if abs(x - round(x)) < 1e-12 else x for x in v])


def _most_across(v: Vec) -> Vec:
    """The coordinate axis at the largest angle to v."""
    return min((X, Y, Z), key=lambda e: abs(e.dot(v)))


def rows_of(loop: AnyLoop) -> int:
    """Number of equations of the loop."""
    return 2 if isinstance(loop, Plane) else {"connect": 3, "revolute": 5, "weld": 6}[loop.ends.kind]


# -- kinematics around the loop ------------------------------------------------------------------


@dataclass
class _Step:
    """A joint and its body on the path from the ancestor, in the ancestor's axes; with velocities if needed."""

    revolute: bool
    z: Vec
    pivot: Vec
    R: Mat
    p: Vec
    zd: Vec = ZERO
    pivot_d: Vec = ZERO
    w: Vec = ZERO
    v: Vec = ZERO


def _walk(tree: Mechanism, way: Sequence[int], q: Values, qd: Values | None = None) -> list[_Step]:
    R, p, w, v = IDENTITY, ZERO, ZERO, ZERO
    out = []
    for i in way:
        body = tree.bodies[i]
        R_joint = R @ body.placement.rotation
        arm = R @ body.placement.translation
        pivot, z = p + arm, R_joint @ body.axis
        motion = joint_motion(body, q[i])
        R_i = R_joint @ motion.R
        reach = R_i @ motion.r
        step = _Step(body.revolute, z, pivot, R_i, pivot + reach)
        if qd is not None:
            step.zd, step.pivot_d = w.cross(z), v + w.cross(arm)
            step.w = w + qd[i] * z if body.revolute else w
            step.v = step.pivot_d + step.w.cross(reach)
            if not body.revolute:
                step.v = step.v + qd[i] * z
        R, p, w, v = step.R, step.p, step.w, step.v
        out.append(step)
    return out


def _end(way: Sequence[_Step], place: Placement) -> tuple[Mat, Vec]:
    """Orientation and position of the loop's end on the last body of a path."""
    R, p = (way[-1].R, way[-1].p) if way else (IDENTITY, ZERO)
    return R @ place.rotation, p + R @ place.translation


def rates(tree: Mechanism, loop: AnyLoop, q: Values, qd: Values | None = None) -> Rates:
    """Φ and its Jacobian at q, whose entries may be numbers or angles given by cosine and sine."""
    return _plane_rates(tree, loop, q, qd) if isinstance(loop, Plane) else _space_rates(tree, loop, q, qd)


def times(a: Vec, b: Vec) -> Vec:
    """The product a b as complex numbers: b rotated by a."""
    return Vec((a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]))


def turn_of(tree: Mechanism, loop: Plane, k: int, q: Values) -> Vec:
    """(cos, sin) of the rotation of the k-th joint around the loop about z: the identity if it is prismatic."""
    i = loop.ends.joints[k]
    if loop.slide[k] is not None:
        return UNTURNED
    x = q[i] + tree.bodies[i].offset
    return Vec((cos(x), loop.sign[k] * sin(x)))


def step_of(tree: Mechanism, loop: Plane, k: int, q: Values) -> Vec:
    """The vector from the k-th pivot around the loop to the next, in the axes of its link."""
    step, slide = loop.step[k], loop.slide[k]
    if slide is None:
        return step
    i = loop.ends.joints[k]
    return step + (q[i] + tree.bodies[i].offset) * slide


def _plane_rates(tree: Mechanism, loop: Plane, q: Values, qd: Values | None) -> Rates:
    split = len(loop.ends.way_a)
    columns: list[list[Scalar]] = []
    dots: list[list[Scalar]] = []
    ends: list[Vec] = []
    for side, span, p in ((1.0, range(split), loop.start_a), (-1.0, range(split, len(loop.step)), loop.start_b)):
        w: Scalar = 0.0
        turned, v = UNTURNED, NOWHERE
        pivots, moving = [], []  # for a prismatic joint: its direction, and the derivative of that
        for k in span:
            slide = loop.slide[k]
            turned = times(turned, turn_of(tree, loop, k, q))
            u = NOWHERE if slide is None else times(turned, slide)
            pivots.append(p if slide is None else u)
            moving.append(v if slide is None else Vec((-w * u[1], w * u[0])))
            reach = times(turned, step_of(tree, loop, k, q))
            p = p + reach
            if qd is not None:
                rate = qd[loop.ends.joints[k]]
                if slide is None:
                    w = w + loop.sign[k] * rate
                v = Vec((v[0] - w * reach[1], v[1] + w * reach[0]))
                if slide is not None:
                    v = v + rate * u
        ends.append(p)
        for k, pivot, drift in zip(span, pivots, moving, strict=True):
            if loop.slide[k] is not None:
                columns.append([*(side * pivot)])
                dots.append([*(side * drift)])
                continue
            s = side * loop.sign[k]
            columns.append([s * (pivot[1] - p[1]), s * (p[0] - pivot[0])])
            dots.append([s * (drift[1] - v[1]), s * (v[0] - drift[0])])
    return Rates([*(ends[0] - ends[1])], columns, [(loop.x, ZERO), (loop.y, ZERO)], dots if qd is not None else None)


def _space_rates(tree: Mechanism, loop: SpatialLoop, q: Values, qd: Values | None) -> Rates:
    ends = loop.ends
    a, b = _walk(tree, ends.way_a, q, qd), _walk(tree, ends.way_b, q, qd)
    (R_a, p_a), (R_b, p_b) = _end(a, ends.place_a), _end(b, ends.place_b)
    rows = [(e, ZERO) for e in IDENTITY]
    rows_dot = [ZERO] * 3
    residual = list(p_a - p_b)
    w_a = a[-1].w if a else ZERO
    if ends.kind == "weld":
        residual += 0.5 * vec_sum([b_k.cross(a_k) for a_k, b_k in zip(R_a.T, R_b.T, strict=True)])
        rows += [(ZERO, e) for e in IDENTITY]
        rows_dot += [ZERO] * 3
    elif ends.kind == "revolute":
        n = R_b @ ends.axis
        first = ends.axis.cross(_most_across(ends.axis))
        first = 1.0 / first.norm * first
        for t in (first, ends.axis.cross(first)):
            on_a = R_a @ t
            residual.append(on_a.dot(n))
            m = on_a.cross(n)
            rows.append((ZERO, m))
            rows_dot.append(w_a.cross(m))
    columns, dots = [], []
    for side, way, place, p in ((1.0, a, ends.place_a, p_a), (-1.0, b, ends.place_b, p_b)):
        v_end = ZERO
        if way and qd is not None:
            v_end = way[-1].v + way[-1].w.cross(way[-1].R @ place.translation)
        for step in way:
            v, w, vd, wd = _moves(step, p, v_end)
            columns.append([side * (l.dot(v) + m.dot(w)) for l, m in rows])
            of_rows = zip(rows, rows_dot, strict=True)
            dots.append([side * (l.dot(vd) + m.dot(wd) + md.dot(w)) for (l, m), md in of_rows])
    return Rates(residual, columns, rows, dots if qd is not None else None)


def _moves(step: _Step, p: Vec, v_end: Vec) -> tuple[Vec, Vec, Vec, Vec]:
    """Velocity and angular velocity of the loop's end due to a joint, and their derivatives."""
    if not step.revolute:
        return step.z, ZERO, step.zd, ZERO
    arm = p - step.pivot
    vd = step.zd.cross(arm) + step.z.cross(v_end - step.pivot_d)
    return step.z.cross(arm), step.z, vd, step.zd


# -- numerical assembly --------------------------------------------------------------------------


def least_squares(columns: Sequence[Sequence[float]], y: Sequence[float], tiny: float = 1e-11) -> list[float] | None:
    """x with Σ x_k column_k ≈ y in the least-squares sense; None if the columns are linearly dependent."""
    m, n = len(y), len(columns)
    Q: list[list[float]] = []
    R = [[0.0] * n for _ in range(n)]
    for k, column in enumerate(columns):
        v = list(column)
        size = math.sqrt(sum(x * x for x in v))
        for _ in range(2):
            for j, e in enumerate(Q):
                along = sum(v[r] * e[r] for r in range(m))
                R[j][k] += along
                v = [v[r] - along * e[r] for r in range(m)]
        R[k][k] = math.sqrt(sum(x * x for x in v))
        if not R[k][k] > tiny * max(size, 1e-300):
            return None
        Q.append([x / R[k][k] for x in v])
    x = [0.0] * n
    for k in reversed(range(n)):
        x[k] = (sum(Q[k][r] * y[r] for r in range(m)) - sum(R[k][j] * x[j] for j in range(k + 1, n))) / R[k][k]
    return x


def stacked(
    tree: Mechanism, loops: Sequence[AnyLoop], q: Sequence[float]
) -> tuple[list[float], dict[int, list[float]]]:
    """Φ of several loops stacked, and a column for each joint around them."""
    at = [rates(tree, loop, q) for loop in loops]
    return [x for equations in at for x in equations.residual], joined(loops, at, "columns")


def joined(loops: Sequence[AnyLoop], at: Sequence[Rates], which: str) -> dict[int, list[Scalar]]:
    """Φ_q of several loops stacked, or its derivative: a column for every joint around them."""
    rows, row = sum(len(equations.residual) for equations in at), 0
    columns: dict[int, list[Scalar]] = {}
    for loop, equations in zip(loops, at, strict=True):
        for i, column in zip(loop.ends.joints, getattr(equations, which), strict=True):
            columns.setdefault(i, [0.0] * rows)[row : row + len(column)] = column
        row += len(equations.residual)
    return columns


def size_of(tree: Mechanism, loops: Sequence[AnyLoop], q: Sequence[float]) -> float:
    """A length for scaling residuals: the distance of the joints from the cuts."""
    _, columns = stacked(tree, loops, q)
    return max([abs(x) for column in columns.values() for x in column] + [1e-9])


def assembled(
    tree: Mechanism, loops: Sequence[AnyLoop], passive: Sequence[int], q: Sequence[float], rounds: int = 60
) -> list[float] | None:
    """q with the passive joints moved until the loops are closed, by Newton's method; None if that fails."""
    q = list(q)
    size = size_of(tree, loops, q)
    last = math.inf
    for _ in range(rounds):
        residual, columns = stacked(tree, loops, q)
        error = max(map(abs, residual)) / size
        if error < 1e-13 or (error < 1e-11 and error >= last):
            return q
        last = error
        move = least_squares([columns[i] for i in passive], [-x for x in residual])
        if move is None:
            return None
        longest = max(map(abs, move))
        damp = min(1.0, 0.5 / longest) if longest > 0 else 1.0
        for i, dx in zip(passive, move, strict=True):
            q[i] += damp * dx
    return q if last < 1e-10 else None
