"""Capability of the end effector: ellipsoids of acceleration, velocity and force, and the exact polytope.

S 7.9: torques with τᵀτ = 1 (here τᵀ W⁻² τ ≤ 1, where W are the torque limits if given) accelerate the tip of
an arm at rest to the points of the ellipsoid (7.148), centred at −J B⁻¹ g. Rows are those of the
geometric Jacobian: v̇_e, in m/s² and rad/s².
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.arm.lazy import by_blocks
from dalembert.base.arrays import DOUBLE, Array, at_once, double, is_lazy
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.extras import extra
from dalembert.base.environment.short_repr import record
from dalembert.base.per_joint import per_joint
from dalembert.compiler.kernel.batches import over_threads
from dalembert.compiler.quantities import machine
from dalembert.compiler.quantities.tip import TIP
from dalembert.errors import DalembertError, ShapeError, SingularityError
from dalembert.mechanics.motion.operational_space import Space
from dalembert.work.tip.operational import SINGULAR
from dalembert.work.tip.task_rows import Task, row_names, space_of, with_frame
from dalembert.work.trajectory.planning.limits import holding_torque
from dalembert.work.trajectory.planning.motion_checks import check_choice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# functions that methods of an ellipsoid delegate to, from the modules that draw it; imported on first use
DELEGATES = {"plot": "views.report.tip_figures:ellipsoid_figure", "_repr_html_": "views.report.notebook:ellipsoid_html"}
Redundancy = Literal["pseudo-inverse", "dynamic", "exact"]
FLAT = 1e-9  # relative thickness below which a polytope is flat
LimitsLike = ArrayLike | str  # numbers, or "arm" for the robot's own


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """All a = center + Σ_k u_k radii_k axes[:, k] with |u| ≤ 1.

    center  (…, m)
    axes    (…, m, m) unit vectors in its columns, in the order of the radii
    radii   (…, m) in descending order; 0 along a direction without any capability
    rows    the names of the m components, ``what`` they are, ``unit`` of each
    arm, q  the arm and its configurations (…, n); ``frame`` is the link of the ellipsoid, or "tip"
    """

    center: Array
    axes: Array
    radii: Array
    rows: tuple[str, ...]
    what: str = "acceleration"
    arm: Arm | None = field(default=None, repr=False)
    q: Array | None = field(default=None, repr=False)
    frame: str = field(default="tip", repr=False)

    @property
    def volume(self) -> Array:
        """The volume (m = 3), area (m = 2), length (m = 1), …: (…)."""
        m = self.radii.shape[-1]
        with np.errstate(over="ignore"):  # infinite for limits of 1e308
            return math.pi ** (m / 2) / math.gamma(m / 2 + 1) * self.measure

    @property
    def measure(self) -> Array:
        """Product of the radii: (…). For the velocity ellipsoid without limits, w = √det(J Jᵀ), S (3.56)."""
        with np.errstate(over="ignore"):
            return np.prod(self.radii, axis=-1)

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of every row."""
        return tuple(UNITS[self.what][row not in "xyz"] for row in self.rows)

    @property
    def matrix(self) -> Array:
        """G with a = center + G u, |u| ≤ 1: (…, m, m)."""
        return self.axes * self.radii[..., None, :]

    def contains(self, a: ArrayLike, slack: float = 1e-9) -> NDArray[np.bool_]:
        """Whether a (…, m) lies inside; ``slack`` is relative to the radii."""
        away, thin, safe = self._seen(_vectors("a", a, self.rows) - self.center), *self._thin
        flat = ~thin | (np.abs(away) <= slack * np.maximum(self.radii[..., :1], 1e-300))
        return flat.all(axis=-1) & ((np.where(thin, 0.0, away / safe) ** 2).sum(axis=-1) <= (1.0 + slack) ** 2)

    def max_acceleration(self, direction: ArrayLike) -> Array:
        """Distance of the surface from 0, not from the centre, along a direction (…, m): (…), S 7.9.

        The largest s ≥ 0 with s · direction / |direction| inside; NaN if there is no such s.
        """
        thin, safe = self._thin
        along, back = self._seen(_unit(direction, self.rows)), self._seen(self.center)
        u, c = np.where(thin, 0.0, along / safe), np.where(thin, 0.0, back / safe)
        uu, uc, cc = (u * u).sum(-1), (u * c).sum(-1), (c * c).sum(-1)
        root = uc**2 - uu * (cc - 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            s = np.where(uu > 0, (uc + np.sqrt(np.maximum(root, 0.0))) / uu, np.where(cc <= 1.0, 0.0, np.nan))
        stuck = (thin & (np.abs(along) > 1e-12)).any(-1)  # a direction without any capability: only s = 0
        s = np.where(stuck, np.where(cc <= 1.0, 0.0, np.nan), s)
        return np.where((root < 0) | (s < 0), np.nan, s)

    @property
    def _thin(self) -> tuple[NDArray[np.bool_], Array]:
        """Axes without any capability, and the radii with 1 in their place."""
        thin = self.radii <= 1e-12 * np.maximum(self.radii[..., :1], 1e-300)
        return thin, np.where(thin, 1.0, self.radii)

    def _seen(self, a: Array) -> Array:
        """Components of a along the axes."""
        return (np.swapaxes(self.axes, -1, -2) @ a[..., None])[..., 0]

    def shadow(self, P: Array, count: int = 181) -> tuple[Array, Array]:
        """Projection a → P a, P (2, m), onto a plane: its centre (…, 2), and the outline about it (…, 2, count)."""
        U, s, _ = np.linalg.svd(P @ at_once("the ellipsoid", self.matrix), full_matrices=False)
        angle = np.linspace(0, 2 * np.pi, count)
        return self.center @ P.T, (U * s[..., None, :]) @ np.stack([np.cos(angle), np.sin(angle)])

    def plot(self, exact: Polytope | None = None) -> Figure:
        """A matplotlib Figure: the ellipsoid at the arm's tip, and separately in the planes of two components.

        exact  the polytope for the same limits, from ``arm.acceleration_polytope``, drawn around it

        >>> import dalembert as da
        >>> figure = da.load("planar-2r").dynamic_manipulability([0.3, 1.0]).plot()
        >>> [axes.get_title("left") for axes in figure.axes]
        ['planar-2r: acceleration at the tip, about its centre', 'acceleration in x and y, about its centre']
        """
        return delegate(DELEGATES, "plot")(self, exact)

    def _repr_html_(self) -> str:
        return delegate(DELEGATES, "_repr_html_")(self)

    def __repr__(self) -> str:
        of = "" if self.arm is None else f" of {self.arm.name!r:.60}"
        shape = self.radii.shape[:-1]
        batch = shape or is_lazy(self.radii)
        radii = f"batch {shape}" if batch else f"radii {', '.join(f'{r:.4g}' for r in self.radii)}"
        unit = self.units[0] if len(set(self.units)) == 1 else "mixed units"
        return f"<Ellipsoid{of}: {self.what} {' '.join(self.rows)}, {radii} ({unit})>"


UNITS = {"acceleration": ("m/s²", "rad/s²"), "velocity": ("m/s", "rad/s"), "force": ("N", "N m")}


def components(rows: tuple[str, ...], axes: str) -> Array:
    """The matrix (len(axes), m) that maps a vector of these rows to its components along ``axes``, such as "xz"."""
    return np.array([[float(row == axis) for row in rows] for axis in axes])


def _vectors(name: str, values: ArrayLike, rows: tuple[str, ...]) -> Array:
    vectors = double(name, values)
    if vectors.ndim == 0 or vectors.shape[-1] != len(rows):
        raise ShapeError(f"{name} has shape {vectors.shape}; its last axis must be the rows {', '.join(rows)}")
    return vectors


def _unit(direction: ArrayLike, rows: tuple[str, ...]) -> Array:
    d = _vectors("the direction", direction, rows)
    length = np.linalg.norm(d, axis=-1, keepdims=True)
    if not (length > 0).all():
        raise DalembertError("the direction is the zero vector; it must have a nonzero length")
    return d / length


def _svd(A: Array, whole: bool = False) -> tuple[Array, Array, Array]:
    """U, s, Vᵀ of every matrix (…, m, k); NaN for matrices that contain NaN, where LAPACK would fail for all."""
    fine = np.asarray(np.isfinite(A).all(axis=(-2, -1), keepdims=True))
    U, s, Vt = np.linalg.svd(np.where(fine, A, 1.0), full_matrices=whole)
    if fine.all():
        return U, s, Vt
    return np.where(fine, U, np.nan), np.where(fine[..., 0], s, np.nan), np.where(fine, Vt, np.nan)


def _inverse_factor(A: Array) -> Array:
    """G of the ellipsoid |A x| ≤ 1: x = G u with |u| ≤ 1."""
    _, inverse_radii, Vt = _svd(A)
    return np.swapaxes(Vt, -1, -2) / inverse_radii[..., None, :]


def _image(center: Array, G: Array, rows: tuple[str, ...], what: str) -> Ellipsoid:
    """The image of the unit ball under u → center + G u."""
    m = G.shape[-2]
    axes, radii, _ = _svd(G, whole=True)
    if radii.shape[-1] < m:
        radii = np.concatenate([radii, np.zeros((*radii.shape[:-1], m - radii.shape[-1]))], axis=-1)
    biggest = np.take_along_axis(axes, np.abs(axes).argmax(axis=-2)[..., None, :], axis=-2)
    return Ellipsoid(center, axes * np.where(biggest < 0, -1.0, 1.0), radii[..., :m], rows, what)


# -- common quantities ---------------------------------------------------------------------------


@record
class Reach:
    """J, J B⁻¹ (…, m, n) and −J B⁻¹ g (…, m) at some configurations."""

    arm: Arm
    space: Space
    J: Array
    over_B_J: Array
    center: Array

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows: x, y, z, and wx, wy, wz."""
        return row_names(self.space)


def task_space(arm: Arm, task: Task, frame: str = "tip") -> Space:
    """The rows of the task; by default, those of the tip position that the arm can move."""
    chain = with_frame(arm, frame)
    space = space_of(arm, chain, "geometric", task)
    if task is None:
        moved = tuple(k for k in space.rows if k < 3) or space.rows
        space = Space("geometric", moved, space.normal)
    return space


def reach(arm: Arm, q: ArrayLike, task: Task = None, frame: str = "tip") -> Reach:
    """Quantities for the ellipsoids, in float64 for any q, since rank decisions need more than float32 resolves."""
    q = at_once("q", q)
    arm._needs_inertia()
    space = task_space(arm, task, frame)
    return Reach(arm, space, *_evaluated("reach", arm, frame, space, q))


def _evaluated(name: str, arm: Arm, frame: str, space: Space, q: ArrayLike, *further: Array) -> Any:
    """A quantity of the tip at some configurations, in float64."""
    kernel = over_threads(machine.kernel(with_frame(arm, frame), TIP[name].of(space)))
    with np.errstate(all="ignore"):
        return kernel(np.asarray(arm.placed(q), DOUBLE), *further)


def sizes(arm: Arm, limits: LimitsLike | None, kind: str = "effort") -> Array:
    """diag W: 1 without limits; the robot's own for "arm"; otherwise one number per joint."""
    word = {"effort": "torque", "velocity": "velocity"}[kind]
    if limits is None:
        return np.ones(arm.n)
    if isinstance(limits, str):
        if limits != "arm":
            raise DalembertError(f"{word}_limits is '{limits}'; give numbers, or 'arm' for the robot's own limits")
        known = {joint.name: getattr(joint.limits, kind) for joint in arm.robot.moving_joints}
        if missing := [name for name, limit in known.items() if limit is None or not 0 < limit < np.inf]:
            joints = ", ".join(missing)
            raise DalembertError(f"arm '{arm.name}' has no {kind} limit at joint {joints}; give {word}_limits=[…]")
        return np.array(list(known.values()), float)
    return per_joint(f"{word}_limits", limits, arm.n, arm=arm.name, positive=True)


# -- ellipsoids ----------------------------------------------------------------------------------


def _of(what: str) -> Callable[[Callable[..., Ellipsoid]], Callable[..., Ellipsoid]]:
    """The function of (arm, q, limits, task, …), lazy for a Dask array q; singularities are reported per block."""

    def decorate(function: Callable[..., Ellipsoid]) -> Callable[..., Ellipsoid]:
        @wraps(function)
        def run(
            arm: Arm, q: ArrayLike, limits: Any = None, task: Task = None, *, frame: str = "tip", **more: Any
        ) -> Ellipsoid:
            if not is_lazy(q):
                shape = function(arm, q, limits, task, frame=frame, **more)
                return replace(shape, arm=arm, q=np.asarray(q, DOUBLE), frame=frame)
            m = len(rows := row_names(task_space(arm, task, frame)))
            sizes(arm, limits, "velocity" if what == "velocity" else "effort")
            block = partial(_block, run, arm, limits, task, frame=frame, **more)
            center, axes, radii = by_blocks(block, {"q": arm.checked("q", q)}, [(m,), (m, m), (m,)], DOUBLE)
            return Ellipsoid(center, axes, radii, rows, what, arm, q, frame)  # type: ignore[arg-type]

        return run

    return decorate


def _block(run: Any, arm: Arm, limits: Any, task: Task, *, q: Array, **more: Any) -> tuple[Array, Array, Array]:
    at = run(arm, q, limits, task, **more)
    return at.center, at.axes, at.radii


@_of("acceleration")
def dynamic_manipulability(
    arm: Arm,
    q: ArrayLike,
    torque_limits: LimitsLike | None = None,
    task: Task = None,
    *,
    redundancy: Redundancy = "pseudo-inverse",
    gravity: bool = True,
    frame: str = "tip",
) -> Ellipsoid:
    """See :meth:`Arm.dynamic_manipulability`."""
    check_choice("redundancy", redundancy, get_args(Redundancy))
    at, w = reach(arm, q, task, frame), sizes(arm, torque_limits)
    center = at.center if gravity else np.zeros_like(at.center)
    if redundancy == "exact" or at.J.shape[-2] == arm.n:
        return _image(center, at.over_B_J * w, at.rows, "acceleration")  # (7.149)
    _check_rank(at, "; redundancy='exact' gives the flat ellipsoid")
    Jt = np.swapaxes(at.J, -1, -2)
    if redundancy == "pseudo-inverse":  # B J⁺
        B = arm.inertia_matrix(double("q", q))
        torque_of = B @ np.swapaxes(np.linalg.solve(at.J @ Jt, at.J), -1, -2)
    else:  # B J̄ = Jᵀ (J B⁻¹ Jᵀ)⁻¹
        torque_of = np.swapaxes(np.linalg.solve(at.over_B_J @ Jt, at.J), -1, -2)
    return _image(center, _inverse_factor(torque_of / w[:, None]), at.rows, "acceleration")


@_of("velocity")
def velocity_manipulability(
    arm: Arm, q: ArrayLike, velocity_limits: LimitsLike | None = None, task: Task = None, *, frame: str = "tip"
) -> Ellipsoid:
    """Tip velocities for joint velocities with |W⁻¹ q̇| ≤ 1: vᵀ (J W² Jᵀ)⁻¹ v ≤ 1. Masses have no influence."""
    space = task_space(arm, task, frame)
    J, _ = _evaluated("jacobian", arm, frame, space, q, np.zeros(2))
    return _image(np.zeros(J.shape[:-1]), J * sizes(arm, velocity_limits, "velocity"), row_names(space), "velocity")


def manipulability(arm: Arm, q: ArrayLike, task: Task = None, *, dynamic: bool = False, frame: str = "tip") -> Array:
    """See :meth:`Arm.manipulability`."""
    if dynamic:  # the radii are the singular values of J B⁻¹
        return dynamic_manipulability(arm, q, None, task, redundancy="exact", gravity=False, frame=frame).measure
    return velocity_manipulability(arm, q, None, task, frame=frame).measure


@_of("force")
def force_manipulability(
    arm: Arm, q: ArrayLike, torque_limits: LimitsLike | None = None, task: Task = None, *, frame: str = "tip"
) -> Ellipsoid:
    """Tip forces that torques with |W⁻¹ τ| ≤ 1 can hold, τ = Jᵀ h, without gravity: hᵀ J W⁻² Jᵀ h ≤ 1.

    Its long axes are the short ones of the velocity ellipsoid: the duality of kinetics and statics.
    """
    at = reach(arm, q, task, frame)
    _check_rank(at)
    return _force(at, sizes(arm, torque_limits), np.zeros_like(at.center), np.ones(at.center.shape[:-1]))


@_of("force")
def static_manipulability(
    arm: Arm, q: ArrayLike, torque_limits: LimitsLike | None = None, task: Task = None, *, frame: str = "tip"
) -> Ellipsoid:
    """Forces h_e of an arm at rest under its own weight: |W⁻¹ (g + Jᵀ h)| ≤ 1.

    g includes springs, counterbalances and offsets. The weight shifts the centre and, if the arm has more joints than
    rows, uses up part of the torque: the ellipsoid shrinks. An arm too weak to support itself has none: NaN radii.
    """
    at, w = reach(arm, q, task, frame), sizes(arm, torque_limits)
    _check_rank(at)
    g = holding_torque(arm, double("q", q)) / w
    H = np.swapaxes(at.J / w, -1, -2)  # W⁻¹ Jᵀ
    U, s, Vt = _svd(H)
    center = -(np.swapaxes(Vt, -1, -2) @ ((np.swapaxes(U, -1, -2) @ g[..., None]) / s[..., None]))[..., 0]  # −H⁺ g
    rest = g + (H @ center[..., None])[..., 0]
    left = 1.0 - (rest**2).sum(axis=-1)
    return _force(at, w, center, np.sqrt(np.where(left >= 0, left, np.nan)))


def _force(at: Reach, w: Array, center: Array, size: Array) -> Ellipsoid:
    whole = _image(center, _inverse_factor(np.swapaxes(at.J / w, -1, -2)), at.rows, "force")
    return replace(whole, radii=whole.radii * size[..., None])


def _check_rank(at: Reach, instead: str = "") -> None:
    """Raise an error where J has no right inverse, by its smallest over its typical largest singular value."""
    J = at.J
    if J.shape[-2] > J.shape[-1]:
        raise SingularityError(
            f"the task has {J.shape[-2]} rows ({', '.join(at.rows)}), but arm '{at.arm.name}' has {J.shape[-1]} "
            "joints; use fewer rows",
            "kinematic", (), 0.0,
        )  # fmt: skip
    _, singular, _ = _svd(J)
    share = singular[..., -1] / max(float(np.nanmax(singular[..., 0], initial=0.0)), 1e-300)
    if (share < SINGULAR).any():
        index = tuple(int(k) for k in np.unravel_index(np.nanargmin(share), share.shape))
        where = f" at index {index[0] if len(index) == 1 else index} of the batch" if index else ""
        raise SingularityError(
            f"kinematic singularity of arm '{at.arm.name}'{where}: it cannot move {', '.join(at.rows)} in every direction there "
            f"(smallest singular value of J {float(share[index]):.3g} of the largest){instead}",
            "kinematic", index, float(share[index]),
        )  # fmt: skip


# -- the exact set -------------------------------------------------------------------------------


@record
class Polytope:
    """All a = center + Σ_i u_i generators[:, i] with |u_i| ≤ 1: the capability of motors with torque limits.

    center      (m,) = −J B⁻¹ g;  generators (m, n) = J B⁻¹ diag(torque limits)
    """

    center: Array
    generators: Array
    rows: tuple[str, ...]

    @property
    def volume(self) -> float:
        """2^m Σ |det| over every choice of m generators."""
        m, n = self.generators.shape
        minors = (self.generators[:, list(some)] for some in itertools.combinations(range(n), m))
        with np.errstate(over="ignore", invalid="ignore"):
            return float(2.0**m * sum(abs(np.linalg.det(G)) for G in minors))

    @property
    def vertices(self) -> Array:
        """Vertices: (k, m); for two rows, in the order along the boundary."""
        with extra("motion", "the list of corners of a polytope"):
            from scipy.spatial import ConvexHull

        G, axes = self.generators, np.eye(len(self.center))
        U, radii, _ = np.linalg.svd(G, full_matrices=False)
        rank = int(np.sum(radii > FLAT * radii.max(initial=0.0)))
        if rank < len(axes):  # a set in a plane or on a line
            G, axes = U[:, :rank].T @ G, U[:, :rank]
        if rank < 2:
            return self.center + np.abs(G).sum() * np.outer([-1.0, 1.0] if rank else [0.0], axes.sum(axis=1))
        if rank == 2:
            return self.center + _polygon(G) @ axes.T
        points = np.array(list(itertools.product((-1.0, 1.0), repeat=G.shape[1]))) @ G.T
        return self.center + points[ConvexHull(points).vertices] @ axes.T

    def shadow(self, P: Array) -> Array:
        """Vertices (k, 2), counterclockwise, of the projection a → P a, P (2, m), onto a plane."""
        return P @ self.center + _polygon(P @ self.generators)

    def support(self, direction: ArrayLike) -> Array:
        """The largest aᵀd over the set, for unit directions d (…, m): (…)."""
        d = _unit(direction, self.rows)
        return d @ self.center + np.abs(d @ self.generators).sum(axis=-1)

    def contains(self, a: ArrayLike, slack: float = 1e-9) -> NDArray[np.bool_]:
        """Whether a (…, m) lies inside, that is, whether torques within the limits produce it."""
        points = _vectors("a", a, self.rows)
        inside = [self._shortest(p - self.center) <= 1.0 + slack for p in points.reshape(-1, len(self.center))]
        return np.array(inside).reshape(points.shape[:-1])

    def max_acceleration(self, direction: ArrayLike) -> Array:
        """The largest s ≥ 0 with s · direction / |direction| in the set, (…); NaN if there is none."""
        d = _unit(direction, self.rows)
        values = [self._farthest(way) for way in d.reshape(-1, len(self.center))]
        return np.array(values).reshape(d.shape[:-1])

    @cached_property
    def _facets(self) -> tuple[Array, Array]:
        """N (k, m) and h (k,): the set consists of the accelerations a with |N (a − center)| ≤ h.

        A facet of an m-dimensional set is spanned by m − 1 generators; a set of lower dimension has h = 0 across it.
        """
        n = self.generators.shape[1]
        U, sizes, _ = np.linalg.svd(self.generators)
        rank = int((sizes > FLAT * sizes.max(initial=0.0)).sum())
        G, across = U[:, :rank].T @ self.generators, U[:, rank:].T
        if rank < 2:
            return np.concatenate([U.T[:rank], across]), np.r_[np.abs(G).sum(axis=1), np.zeros(len(across))]
        spanning = G[:, list(itertools.combinations(range(n), rank - 1))].transpose(1, 0, 2)
        frames, sizes, _ = np.linalg.svd(spanning)
        frames = frames[sizes[:, -1] > FLAT * sizes[:, 0].max()]  # the others do not span a facet
        normals = frames[:, :, -1]
        heights = np.abs(normals @ G).sum(axis=1)
        return np.concatenate([normals @ U[:, :rank].T, across]), np.r_[heights, np.zeros(len(across))]

    def _shortest(self, a: Array) -> float:
        """The smallest max |u_i| with G u = a."""
        N, h = self._facets
        size, slack = np.abs(N @ a), self._slack
        if (size[h <= slack] > slack).any():
            return np.inf
        return float((size[h > slack] / h[h > slack]).max(initial=0.0))

    def _farthest(self, d: Array) -> float:
        """The largest s ≥ 0 with |N (s d − center)| ≤ h."""
        N, h = self._facets
        slope, start, slack = N @ d, N @ self.center, self._slack
        level = np.abs(slope) <= FLAT
        if (np.abs(start[level]) > h[level] + slack).any():
            return np.nan
        middle, width = start[~level] / slope[~level], h[~level] / np.abs(slope[~level])
        first, last = (middle - width).max(initial=0.0), (middle + width).min(initial=np.inf)
        return float(last) if first <= last + slack and last >= -slack else np.nan

    @property
    def _slack(self) -> float:
        """Rounding tolerance for zero."""
        return FLAT * float(np.abs(self.generators).sum() + np.abs(self.center).sum())


def _polygon(G: Array) -> Array:
    """Vertices of the zonogon Σ u_i G[:, i], counterclockwise: twice as many as there are generators."""
    turned = G * np.where((G[1] < 0) | ((G[1] == 0) & (G[0] < 0)), -1.0, 1.0)
    turned = turned[:, np.linalg.norm(G, axis=0) > 0]
    order = np.argsort(np.arctan2(turned[1], turned[0]))
    steps = 2.0 * turned[:, order].T
    up = -turned.sum(axis=1) + np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    return np.concatenate([up[:-1], -up[:-1]])


def acceleration_polytope(
    arm: Arm,
    q: ArrayLike,
    torque_limits: LimitsLike = "arm",
    task: Task = None,
    *,
    gravity: bool = True,
    frame: str = "tip",
) -> Polytope:
    """See :meth:`Arm.acceleration_polytope`."""
    at = reach(arm, q, task, frame)
    if at.J.ndim != 2:
        raise ShapeError(f"a polytope belongs to one configuration, but q has shape {np.shape(q)}")
    center = at.center if gravity else np.zeros_like(at.center)
    return Polytope(center, at.over_B_J * sizes(arm, torque_limits), at.rows)
