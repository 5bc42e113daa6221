"""Workspace maps: the capability of an arm wherever its tip can be.

Configurations are sampled uniformly from the joint ranges; each gives a point of the workspace and a
value, and every cell of the map keeps the best (or worst, or mean) of those that fall into it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.cluster import computed, shares
from dalembert.base.environment.progress import reporting
from dalembert.base.environment.short_repr import record
from dalembert.compiler.kernel.batches import over_threads
from dalembert.compiler.quantities import machine
from dalembert.compiler.quantities.tip import TIP
from dalembert.errors import DalembertError
from dalembert.work.analysis.ellipsoid import sizes, task_space
from dalembert.work.tip.task_rows import Task, row_names
from dalembert.work.trajectory.planning.limits import holding_torque, joint_ranges, random_poses
from dalembert.work.trajectory.planning.motion_checks import check_choice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELEGATES = {"plot": "views.report.tip_figures:map_figure"}  # functions that draw a map; imported on first use
Take = Literal["best", "mean", "worst"]

# quantity → (description, unit of a length row, kind of limits)
QUANTITIES = {
    "dynamic-manipulability": ("mean radius of the dynamic manipulability ellipsoid", "m/s²", "effort"),
    "velocity-manipulability": ("mean radius of the velocity ellipsoid", "m/s", "velocity"),
    "force-manipulability": ("mean radius of the force ellipsoid", "N", "effort"),
    "gravity-load": ("largest share of a torque limit needed to hold still", "", "effort"),
}
HOLDING = "largest joint torque needed to hold still"  # the gravity load of arms without known torque limits
KERNELS = {  # of dynamic manipulability, by the resolution of redundancy
    "pseudo-inverse": "dynamic_manipulability",
    "dynamic": "consistent_manipulability",
    "exact": "exact_manipulability",
}
CHUNK = 1 << 16  # configurations evaluated at once
MOST_POSES = 1_000_000_000  # about half an hour on one core
PIECES = 256  # maximum number of parts of a map: sums are accumulated per part, wherever they are computed
Evaluator = Callable[[Array], tuple[Array, Array]]


@record
class WorkspaceMap:
    """A value for every cell of the workspace that the tip reached.

    values   (rows, columns), NaN for cells that no configuration reached; q (rows, columns, n) the configuration
             whose value is shown (for "mean": the best)
    across, up   edges of the cells (m);  ``axes`` names them
    count    (rows, columns) number of configurations
    """

    arm: Arm
    quantity: str
    take: str
    limited: bool
    values: Array
    q: Array
    count: NDArray[np.intp]
    across: Array
    up: Array
    axes: tuple[str, str]
    rows: tuple[str, ...]
    poses: int

    @property
    def words(self) -> str:
        """Description of the value, with its unit."""
        what, unit, _ = QUANTITIES[self.quantity]
        if self.quantity == "gravity-load":
            if not self.limited:
                letters = set(self.arm.robot.joint_letters)
                unit = {"R": "N m", "P": "N"}[letters.pop()] if len(letters) == 1 else "N m; N at prismatic joints"
                what = HOLDING
        elif any(row not in "xyz" for row in self.rows):
            unit = "mixed units"
        return f"{what} ({unit})" if unit else what

    @property
    def best(self) -> tuple[float, Array, Array]:
        """(value, q, centre of the cell) of the largest value."""
        row, column = np.unravel_index(np.nanargmax(self.values), self.values.shape)
        middle = np.array([self.across[column : column + 2].mean(), self.up[row : row + 2].mean()])
        return float(self.values[row, column]), self.q[row, column], middle

    def plot(self) -> Figure:
        """A matplotlib Figure: the map, with the arm in the configuration of the largest value.

        >>> import dalembert as da
        >>> len(da.workspace_map(da.load("planar-2r"), poses=1000, cells=20).plot().axes)  # the map, and its scale
        2
        """
        return delegate(DELEGATES, "plot")(self)


def evaluator(
    arm: Arm, quantity: str, limits: ArrayLike | str | None, task: Task, redundancy: str
) -> tuple[Evaluator, tuple[str, ...]]:
    """A function q (N, n) → tip (N, 3), value (N,), and the rows that it uses."""
    if quantity not in QUANTITIES:
        raise DalembertError(f"there is no map of '{quantity}'; choose from {', '.join(QUANTITIES)}")
    arm._needs_inertia()
    space = task_space(arm, task)
    size = sizes(arm, limits, QUANTITIES[quantity][2])
    power = 1.0 / space.m

    if quantity == "gravity-load":

        def load(q: Array) -> tuple[Array, Array]:
            return arm.pose(q)[..., :3, 3], np.abs(holding_torque(arm, q) / size).max(axis=-1)

        return load, row_names(space)
    name = "manipulability"
    if quantity == "dynamic-manipulability":
        check_choice("redundancy", redundancy, KERNELS)
        name = KERNELS["exact" if space.m == arm.n else redundancy]
    kernel = over_threads(machine.kernel(arm.mechanism, TIP[name].of(space)))
    if quantity == "force-manipulability":
        size, power = 1.0 / size, -power

    def run(q: Array) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            p, w = kernel(arm.placed(q), size)
            w = np.where(w > 0, w, 0.0) ** power
        return p, w

    return run, row_names(space)


def workspace_map(
    arm: Arm,
    quantity: str = "dynamic-manipulability",
    *,
    poses: int = 1_000_000,
    cells: int = 120,
    limits: ArrayLike | str | None = None,
    task: Task = None,
    take: Take = "best",
    redundancy: str = "pseudo-inverse",
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
    cluster: Any = None,
) -> WorkspaceMap:
    """A quantity over the workspace, from ``poses`` random configurations within the joint limits.

    quantity  "dynamic-manipulability", "velocity-manipulability", "force-manipulability", "gravity-load"
    limits    torque (velocity) limits (n,), "arm" for the robot's own, None for 1
    take      value of a cell among the configurations that fall into it
    progress  called with the completed fraction
    cluster   address of a Dask scheduler, or a ``distributed.Client``, whose workers evaluate the configurations; they
              generate them from the seed themselves, and the map is the same, bit by bit
    A planar arm is shown in its plane, others over the distance from the vertical axis and the height.

    >>> import dalembert as da
    >>> workspace_map(da.load("planar-2r"), poses=2000, cells=20).axes
    ('x (m)', 'y (m)')
    """
    check_choice("take", take, get_args(Take))
    if poses > MOST_POSES:
        raise DalembertError(f"the map has {poses:,} poses; it may have at most {MOST_POSES:,}")
    if poses < 1 or cells < 2:
        raise DalembertError(f"a map needs at least one pose and one cell, not {poses} poses and {cells} cells")
    value_of, rows = evaluator(arm, quantity, limits, task, redundancy)
    plane = map_plane(arm)
    generator = np.random.default_rng(seed)
    across, up = _edges(plane, value_of(random_poses(arm, generator, min(CHUNK, max(poses, 4096))))[0], cells)
    what = (arm, quantity, limits, task, redundancy)
    grid = _Grid(what, plane, across, up, take, poses, generator.bit_generator.state)
    pieces = shares(-(-poses // CHUNK), PIECES)
    seen = _Cells.none(grid)
    with closing(computed(cluster, _seen, grid, pieces)) as results:
        for count, cells_of_piece in enumerate(results, 1):
            seen.take(cells_of_piece)
            reporting(progress)("configurations", count / len(pieces))
    shape = (len(up) - 1, len(across) - 1)
    values = seen.total / np.maximum(seen.count, 1) if take == "mean" else grid.better * seen.extreme
    return WorkspaceMap(
        arm, quantity, take, limits is not None, np.where(seen.count > 0, values, np.nan).reshape(shape),
        seen.q.reshape(*shape, arm.n), seen.count.reshape(shape), across, up, plane.names, rows, poses,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Grid:
    """Common input of all parts of a map: the quantity, the grid, and the generator of the configurations."""

    what: tuple[Any, ...]  # arguments of evaluator
    plane: MapPlane
    across: Array
    up: Array
    take: Take
    poses: int
    state: Any  # of the generator before the first configuration

    @cached_property
    def value_of(self) -> Evaluator:
        """The function q → tip, value; created once on each machine."""
        return evaluator(*self.what)[0]

    @property
    def better(self) -> float:
        """The sign for which the larger value is kept."""
        return -1.0 if self.take == "worst" else 1.0


@dataclass(eq=False)
class _Cells:
    """Contents of every cell: the count, the sum of the values, and the best one with its configuration."""

    count: NDArray[np.intp]
    total: Array
    extreme: Array
    q: Array

    @classmethod
    def none(cls, grid: _Grid) -> _Cells:
        """Empty cells."""
        size = (len(grid.across) - 1) * (len(grid.up) - 1)
        return cls(np.zeros(size, np.intp), np.zeros(size), np.full(size, -np.inf), np.zeros((size, grid.what[0].n)))

    def take(self, other: _Cells) -> None:
        """Merge the cells of a later part."""
        self.count += other.count
        self.total += other.total
        improved = other.extreme > self.extreme
        self.extreme[improved], self.q[improved] = other.extreme[improved], other.q[improved]


def _seen(grid: _Grid, piece: tuple[int, int]) -> _Cells:
    """The cells for the chunks of configurations from the first up to but excluding the last.

    The configurations follow from the seed: the generator is advanced to the start of the part, one number per joint.
    """
    arm: Arm = grid.what[0]
    first, last = piece
    low, high = joint_ranges(arm)
    bits = np.random.PCG64()
    bits.state = grid.state
    generator = np.random.Generator(bits.advance(first * CHUNK * arm.n))
    seen, better = _Cells.none(grid), grid.better
    wide, tall, across, up = len(grid.across) - 1, len(grid.up) - 1, grid.across, grid.up
    for begin in range(first * CHUNK, min(last * CHUNK, grid.poses), CHUNK):
        q = generator.random((min(CHUNK, grid.poses - begin), arm.n))
        q *= high - low
        q += low
        if not (closed := arm.closes(q)).all():
            q = q[closed]
        p, w = grid.value_of(q)
        u, v = grid.plane.place(p)
        column = np.floor((u - across[0]) * (wide / (across[-1] - across[0]))).astype(np.intp)
        row = np.floor((v - up[0]) * (tall / (up[-1] - up[0]))).astype(np.intp)
        cell = row * wide + column
        good = np.isfinite(w) & (column >= 0) & (column < wide) & (row >= 0) & (row < tall)
        if not good.all():
            cell, w, q = cell[good], w[good], q[good]
        seen.count += np.bincount(cell, minlength=tall * wide)
        if grid.take == "mean":
            seen.total += np.bincount(cell, w, minlength=tall * wide)
        improves = better * w > seen.extreme[cell]
        cell, w, q = cell[improves], better * w[improves], q[improves]
        order = np.argsort(w)  # the last one written into a cell is its best
        seen.extreme[cell[order]], seen.q[cell[order]] = w[order], q[order]
    return seen


@dataclass(frozen=True)
class MapPlane:
    """The two axes of the map: base axes, or the distance from the vertical through the base and the height."""

    horizontal: tuple[int, ...]
    vertical: int
    center: tuple[float, float, float]

    @property
    def names(self) -> tuple[str, str]:
        """Names of the axes."""
        across = "xyz"[self.horizontal[0]] if len(self.horizontal) == 1 else "distance from the vertical axis"
        return f"{across} (m)", f"{'xyz'[self.vertical]} (m)"

    def place(self, p: Array) -> tuple[Array, Array]:
        """Coordinates of points (N, 3) on the map."""
        if len(self.horizontal) == 1:
            return p[:, self.horizontal[0]], p[:, self.vertical]
        a, b = self.horizontal
        return np.hypot(p[:, a] - self.center[a], p[:, b] - self.center[b]), p[:, self.vertical]


def map_plane(arm: Arm) -> MapPlane:
    p = arm.pose(random_poses(arm, np.random.default_rng(1), 64))[:, :3, 3]
    moved = np.ptp(p, axis=0) > 1e-9
    gravity = np.abs(np.array(arm.robot.gravity, float))
    vertical = int(np.argmax(gravity)) if gravity.any() else 2
    x, y, z = (float(v) for v in arm.robot.base.translation)
    if moved.sum() == 3:
        return MapPlane(tuple(k for k in range(3) if k != vertical), vertical, (x, y, z))
    plane = sorted(range(3), key=lambda k: not moved[k])[:2]  # axes along which the tip moves come first
    up = vertical if vertical in plane else max(plane)
    return MapPlane(tuple(k for k in plane if k != up), up, (x, y, z))


def _edges(plane: MapPlane, p: Array, cells: int) -> tuple[Array, Array]:
    """Square cells that cover all points with a small border."""
    u, v = plane.place(p)
    margin = 0.04 * max(float(np.ptp(u)), float(np.ptp(v)), 1e-3)
    left = 0.0 if len(plane.horizontal) == 2 else float(u.min()) - margin
    right, low, high = float(u.max()) + margin, float(v.min()) - margin, float(v.max()) + margin
    side = max(right - left, high - low) / cells
    wide, tall = max(1, round((right - left) / side)), max(1, round((high - low) / side))
    return np.linspace(left, right, wide + 1), np.linspace(low, high, tall + 1)
