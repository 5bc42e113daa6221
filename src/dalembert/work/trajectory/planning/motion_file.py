"""Motions, torques and points in tables: a header with column names, then one row per sample or point.

The columns are t (s), q1 … (rad; m for prismatic joints), qd1 … (rad/s), qdd1 … (rad/s²) and tau1 … (N m; N). They are
read in the same way as logs (:mod:`dalembert.work.logs`): other separators, and units and joint names in the header, are
accepted.

Further columns describe the load: ``payload`` (kg), ``payload_x`` … (m) and, unless it is a point mass,
``payload_ixx`` … (kg m², about its centre of mass), in the tip frame; ``fx fy fz mx my mz`` (N, N m), the wrench of the
tip on its environment, in base axes. Each value applies from its own row until the next one.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import brief
from dalembert.base.tables.sampled_motion import SampledMotion
from dalembert.base.tables.signal_columns import PAYLOADS, TENSOR, WRENCHES
from dalembert.base.wording import some
from dalembert.errors import DalembertError, MissingExtraError
from dalembert.robot import Inertia
from dalembert.work.logs.log import Columns
from dalembert.work.trajectory.planning.events import (
    BODY,
    Event,
    PayloadEvent,
    body_of,
    events_of,
    instants_of,
    payload_event,
)
from dalembert.work.trajectory.planning.hermite import Hermite
from dalembert.work.trajectory.planning.monotone import InterpolationWarning
from dalembert.work.trajectory.planning.motion_columns import (
    GROUPS,
    MOTION,
    MOTION_AND_TORQUES,
    POINTS,
    TORQUES,
    Contents,
    MotionLayout,
    Stated,
    column_names,
    layout_of,
)
from dalembert.work.trajectory.planning.motion_doubts import MotionWarning, doubtful
from dalembert.work.trajectory.planning.motion_tables import Table, opened, write
from dalembert.work.trajectory.planning.splines import low_pass, reconstruction
from dalembert.work.trajectory.planning.trajectory import Trajectory

Progress = Callable[[float], None]

BESIDE = 2e-12  # of the duration: distance from a knot at which its two sides are evaluated
ROUNDING = 1e-12  # of the largest position of a joint: rounding of positions in a file
MOST_ROWS = 100_000_000  # in a file that is written
MOST_NUMBERS = 1 << 28  # in the columns that are read: 2 GiB as float64


@brief
@dataclass(frozen=True, eq=False)
class MotionTable(SampledMotion):
    """The motion in a file, with its torques and the load from each row on, as far as requested and present.

    reconstructed  the groups (qd, qdd) that are missing in the file and were derived from the others
    ignored        the columns that were not read
    notes          conversions and findings, one sentence each
    spline         whether the derived groups come from a quintic spline; otherwise from a monotone curve
    doubts         where the curve through the samples leaves their range, and what was done or what helps
    findings       what looks wrong, such as times in ms
    """

    ignored: tuple[str, ...] = ()
    reconstructed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    spline: bool = True
    findings: tuple[str, ...] = ()


def read_motion(
    path: str | os.PathLike[str],
    arm: Arm | None = None,
    progress: Progress | None = None,
    *,
    torques: bool = False,
    strict: bool = False,
    cutoff: float | None = None,
    interpolation: str = "auto",
    columns: Columns | None = None,
    units: Mapping[str, str] | None = None,
) -> MotionTable:
    """The motion in a table, read as :func:`read_trajectory` does, for ``arm`` or for as many joints as there are columns q1 ….

    Every problem is reported in one sentence with the file, the line and the column; what looks wrong without being
    impossible is a doubt (:mod:`dalembert.work.trajectory.planning.motion_doubts`).

    progress  is called with the fraction read
    torques   also read tau1 … taun where present; otherwise they are recognised and ignored
    strict    times must increase strictly; a time may repeat only where accelerations, or torques alone, jump
    """
    contents = MOTION_AND_TORQUES if torques else MOTION
    table, layout, numbers = read_columns(path, arm, contents, Stated.of(columns, units), strict, progress)
    missing = tuple(group for group in GROUPS if group not in layout.groups)
    t, groups = numbers[:, 0], layout.split(numbers)
    findings = doubtful(str(path), arm, layout.clocked, t, groups, layout.digits(numbers), smooth=cutoff is not None)
    if cutoff is not None:
        with _errors_about(f"{path}: the motion cannot be smoothed"):
            groups |= {group: low_pass(t, groups[group], cutoff) for group in GROUPS if group in groups}
    doubts, spline = _complete(path, t, groups, interpolation) if missing else ((), True)
    used = set(layout.wanted)
    ignored = tuple(name for k, name in enumerate(table.names) if k not in used)
    notes = (*table.notes, *layout.notes)
    return MotionTable(
        t, groups["q"], groups["qd"], groups["qdd"], groups.get("tau"), *_loads(path, t, groups),
        ignored, missing, notes, doubts, spline, findings,
    )  # fmt: skip


@contextmanager
def _errors_about(what: str) -> Iterator[None]:
    """Begin the errors with what cannot be computed."""
    try:
        yield
    except MissingExtraError:
        raise
    except DalembertError as error:
        raise DalembertError(f"{what}: {error}") from None


def torques_in(path: Any, arm: Arm, stated: Stated) -> tuple[Array, dict[str, Array], tuple[Event, ...]]:
    """Times (N,) from 0, the quantities of a file with torques, (N, n) each, and the loads that it carries."""
    _, layout, numbers = read_columns(path, arm, TORQUES, stated, strict=True)
    check_ends(path, numbers[:, 0])
    groups = layout.split(numbers)
    if len(numbers) < 2:
        raise DalembertError(f"{path}: torques over time need at least two rows, but the file has only one")
    t = numbers[:, 0] - numbers[0, 0]
    return t, groups, events_of(t, *_loads(path, t, groups))


def check_ends(path: Any, t: Array) -> None:
    """Raise an error for a jump at the first or the last time, which have nothing before or after them."""
    for side in (t[:2], t[-2:]):
        if len(side) == 2 and side[0] == side[1]:
            raise DalembertError(
                f"{path}: the time {side[0]:g} s occurs twice, which is not allowed for the first or the last time of "
                "the file"
            )


def read_columns(
    path: Any, arm: Arm | None, contents: Contents, stated: Stated, strict: bool, progress: Progress | None = None
) -> tuple[Table, MotionLayout, Array]:
    """The table in a file, its layout, and the numbers in its columns: (N, columns)."""
    try:
        with opened(path, "motion", arm.joint_names if arm is not None else ()) as table:
            layout = layout_of(table, arm, contents, stated)
            parts, count = [], 0
            for part in layout.rows(table, strict or any(group not in layout.groups for group in GROUPS)):
                parts.append(part)
                count += part.size
                if count > MOST_NUMBERS:
                    raise DalembertError(
                        f"{path}: the motion has more than {MOST_NUMBERS} numbers, the most that can be read"
                    )
                if progress is not None:
                    progress(table.done())
    except OSError as error:
        raise DalembertError(f"{path}: the file cannot be read ({error.strerror})") from None
    return table, layout, np.concatenate(parts)


def read_trajectory(
    path: str | os.PathLike[str],
    arm: Arm | None = None,
    *,
    cutoff: float | None = None,
    interpolation: Literal["auto", "spline", "monotone"] = "auto",
    columns: Columns | None = None,
    units: Mapping[str, str] | None = None,
) -> Trajectory:
    """The motion in a table with the columns t, q1, …, qd1, …, qdd1, …: text, .npz or .parquet (docs/trajectories.md).

    Missing velocities or accelerations are derived from the other columns without phase shift; ``cutoff``
    (Hz) smooths measured data first. At the times in the file the motion has the file's values, with
    quintic polynomials between them; it begins at 0, which corresponds to the first time in the file. A time may occur
    twice with the same positions and velocities where accelerations jump. With ``arm``, the
    number of joints is checked, and the header may use joint names. Columns tau1, … are not part of a motion and
    are ignored. ``motion.notes`` lists the conversions, for instance from degrees. The load columns ``payload`` and
    ``fx fy fz mx my mz`` become the motion's ``events``; each value applies from its own row on.

    interpolation  for missing velocities or accelerations: "spline", a quintic spline; "monotone", a curve that stays between
                   the samples; "auto", the spline unless it moves a joint that the samples hold still. An
                   InterpolationWarning reports where the spline leaves the range of the samples
    columns        columns of the quantities t, q, qd, qdd by name or number from 0, as for :func:`dalembert.read_log`:
                   ``{"t": "clock", "q": "1:7"}``
    units          units that the header does not state: ``{"q": "deg", "t": "ms"}``
    A MotionWarning reports what looks wrong: rounded positions, velocities that are not the derivative of the
    positions, times in ms, positions in degrees

    >>> import tempfile, dalembert as da
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     da.polynomial([0.0], [1.0], duration=2.0).save(f"{folder}/motion.csv")
    ...     read_trajectory(f"{folder}/motion.csv").duration
    2.0
    """
    table = read_motion(
        path, arm, strict=True, cutoff=cutoff, interpolation=interpolation, columns=columns, units=units
    )
    for sentences, category in ((table.findings, MotionWarning), (table.doubts, InterpolationWarning)):
        for sentence in sentences:
            warnings.warn(sentence, category, stacklevel=2)
    return trajectory_of(path, table)


def trajectory_of(path: Any, table: MotionTable) -> Trajectory:
    """The motion of a table that was read with ``strict``."""
    if len(table.t) < 2:
        raise DalembertError(f"{path}: a motion needs at least two rows, but the file has only one")
    check_ends(path, table.t)
    t = table.t - table.t[0]
    pieces = Hermite(t, np.array([table.q, table.qd, table.qdd]), ROUNDING * np.abs(table.q).max(axis=0))
    events = events_of(t, table.payload, table.wrench)
    jumps = t[1:][np.diff(t) == 0.0]
    knots = tuple(np.unique([*jumps, *(x for x in instants_of(events).tolist() if 0.0 < x < t[-1])]).tolist())
    return Trajectory(
        float(t[-1]),
        table.q.shape[1],
        pieces,
        knots,
        sampled_at=np.unique(t),
        notes=(*table.notes, *table.findings, *table.doubts),
        events=events,
    )


def save(
    motion: Trajectory,
    path: str | os.PathLike[str],
    arm: Arm | None,
    tip_wrench: ArrayLike | None,
    rate: float | None,
    overwrite: bool,
) -> None:
    """:meth:`Trajectory.save`."""
    names, columns = motion_columns(motion, arm, tip_wrench, rate, both_sides=rate is None)
    write(path, names, columns, overwrite=overwrite)


def motion_columns(
    motion: Trajectory,
    arm: Arm | None = None,
    tip_wrench: ArrayLike | None = None,
    rate: float | None = None,
    *,
    both_sides: bool = False,
) -> tuple[tuple[str, ...], list[Array]]:
    """The table written by :meth:`Trajectory.save`: column names, t (N,) and the groups of columns (N, n).

    both_sides  write knots at which accelerations jump twice, before and after, as :func:`read_trajectory` expects
    """
    t, duration = motion.t, motion.duration
    if rate is not None:
        if not 0 < rate * duration <= MOST_ROWS:
            raise DalembertError(
                f"the rate is {rate:g} samples per second; it must be above zero, and at most "
                f"{MOST_ROWS / duration:g} for a motion of {duration:g} s, whose file has up to {MOST_ROWS:,} rows"
            )
        even = np.arange(np.floor(duration * rate * (1 + 1e-12)) + 1) / rate
        t = np.append(even[even < duration * (1 - 1e-12)], duration)
    t, at = sides_of(motion, t) if both_sides else (t, t)
    with np.errstate(all="ignore"):
        (q, qd, _), (_, _, qdd) = motion(t), motion(at)
    groups = {"q": q, "qd": qd, "qdd": qdd}
    for group, values in groups.items():
        if len(bad := np.argwhere(~np.isfinite(values))):
            raise DalembertError(
                f"{group} of joint {bad[0, 1] + 1} is not a finite number at t = {t[bad[0, 0]]:g} s, so the motion is not "
                f"written; its duration of {duration:g} s, or its positions, are beyond float64"
            )
    if arm is not None:
        motion.fits(arm)
        groups["tau"] = motion.torques(arm, at, tip_wrench=tip_wrench)
    carried = carried_columns(*motion.loads.at(at))
    return (*column_names(groups, motion.n), *carried), [t, *groups.values(), *carried.values()]


def sides_of(motion: Trajectory, t: Array) -> tuple[Array, Array]:
    """(t, at): the times, with every jump of the acceleration twice, and the times beside them to evaluate."""
    knots = np.array([k for k in motion.knots if 0.0 < k < motion.duration], float)
    before, after = motion(_just_before(knots, knots, motion.duration))[2], motion(knots)[2]
    largest = max(float(np.abs(motion.qdd).max()), 1e-300)
    jumps = (np.abs(after - before) > 1e-9 * largest).any(axis=1)
    loaded = np.isin(knots, instants_of(motion.events))  # torques jump at these knots
    jumps = np.unique(knots[jumps | loaded])
    once = np.union1d(t, jumps)
    instants = np.sort(np.concatenate([once, jumps]))
    seen = instants.copy()
    first = np.flatnonzero(np.diff(instants) == 0.0)  # at a knot, a motion has the values that follow it
    seen[first] = _just_before(instants[first], once, motion.duration)
    return instants, seen


def _just_before(t: Array, instants: Array, duration: float) -> Array:
    """Times just before t, and after those of the sorted ``instants`` that precede t."""
    previous = np.append(0.0, instants)[np.searchsorted(instants, t)]
    return t - np.minimum(BESIDE * duration, 0.5 * (t - previous))


def carried_columns(payload: Array | None, wrench: Array | None) -> dict[str, Array]:
    """Columns of a motion file for a payload (N, 10) and a wrench (N, 6) at the tip: name → (N,)."""
    columns: dict[str, Array] = {}
    if payload is not None:
        kinds, where = np.unique(payload, axis=0, return_inverse=True)
        values = np.zeros((len(kinds), len(PAYLOADS)))
        for row, body in zip(values, map(body_of, kinds), strict=True):
            if body is not None:
                tensor = [body.tensor["xyz".index(axes[0])]["xyz".index(axes[1])] for axes in TENSOR]
                row[:] = body.mass, *body.com, *tensor
        names = [column.key for column in (PAYLOADS if values[:, 4:].any() else PAYLOADS[:4])]
        columns |= dict(zip(names, values[where.ravel()].T, strict=False))
    if wrench is not None:
        columns |= dict(zip((column.key for column in WRENCHES), wrench.T, strict=True))
    return columns


def _payloads(
    path: Any, columns: Mapping[str, Array], row_name: Callable[[int], str]
) -> tuple[list[PayloadEvent | None], NDArray[np.intp]]:
    """The different payloads in the columns of a file, None without a mass, and which of them each row has: (N,).

    row_name  words for a row, in the message about a body that is impossible
    """
    own = {column.key: columns[column.key] for column in PAYLOADS if column.key in columns}
    if "payload" not in own:
        raise DalembertError(f"{path}: the column {some(list(own))} needs a column 'payload' with the mass in kg")
    nothing = np.zeros(len(own["payload"]))
    table = np.stack([own.get(column.key, nothing) for column in PAYLOADS], axis=1)
    kinds, which = np.unique(table, axis=0, return_inverse=True)
    bodies: list[PayloadEvent | None] = []
    for k, (mass, x, y, z, xx, xy, xz, yy, yz, zz) in enumerate(kinds.tolist()):
        tensor = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
        try:
            bodies.append(payload_event(mass, (x, y, z), tensor, 0.0, 1.0) if mass else None)
        except DalembertError as error:
            first = int(np.argmax(which.ravel() == k))
            raise DalembertError(f"{path}: the payload {row_name(first)}: {error}") from None
    return bodies, which.ravel()


def _loads(path: Any, t: Array, columns: Mapping[str, Array]) -> tuple[Array | None, Array | None]:
    """The ten parameters of the payload, and the wrench of the tip, in each row; None for a load that never occurs."""
    payload = np.zeros((len(t), BODY))
    if any(column.key in columns for column in PAYLOADS):
        bodies, which = _payloads(path, columns, lambda row: f"at t = {t[row]:g} s")
        payload = np.array([np.zeros(BODY) if body is None else body.values for body in bodies])[which]
    wrench = np.stack([columns.get(column.key, np.zeros(len(t))) for column in WRENCHES], axis=1)
    return payload if payload.any() else None, wrench if wrench.any() else None


@brief
@dataclass(frozen=True)
class Points:
    """Points in joint space, with the hold time and the payload at each of them.

    q         (k, n) rad; m
    hold      (k,) rest time at the point (s)
    payloads  body held from arrival at this point until arrival at the next one, in the tip frame; None for none
    """

    q: Array
    hold: Array
    payloads: tuple[Inertia | None, ...]

    @property
    def plain(self) -> bool:
        """Whether there are neither holds nor payloads."""
        return not self.hold.any() and not any(self.payloads)


def read_points(path: str | os.PathLike[str], arm: Arm, *, degrees: bool = False) -> Points:
    """The columns q1 … qn (rad; m), or those named after the joints; ``hold`` (s) and ``payload`` (kg) per point.

    Units in the header are respected. ``payload_x`` … (m) and ``payload_ixx`` … (kg m²) describe a payload, as in
    motion files.

    degrees  read revolute joints without a unit in the header in degrees
    """
    stated = replace(Stated.of(None, None), usual={"q": "deg"} if degrees else {})
    _, layout, numbers = read_columns(path, arm, POINTS, stated, strict=True)
    columns = layout.split(numbers)
    nothing, q = np.zeros(len(numbers)), columns.pop("q")
    hold = columns.pop("hold", nothing)
    if (hold < 0).any():
        raise DalembertError(f"{path}: hold of point {hold.argmin() + 1} is {hold.min():g} s; it must be 0 or more")
    if not columns:
        return Points(q, hold, (None,) * len(q))
    bodies, which = _payloads(path, columns, lambda row: f"of point {row + 1}")
    return Points(q, hold, tuple(None if (event := bodies[k]) is None else event.body for k in which))


def _complete(path: Any, t: Array, groups: dict[str, Array], interpolation: str) -> tuple[tuple[str, ...], bool]:
    """Derive the missing groups: qd from q, and qdd from qd, or from q if qd is missing too.

    Returns the doubts about the result, and whether a spline was used.
    """
    source = "qd" if "qd" in groups else "q"
    missing = " and ".join(f"{group}1 …" for group in GROUPS if group not in groups)
    with _errors_about(f"{path}: the columns {missing} are missing and cannot be derived"):
        curve, excursion, spline = reconstruction(t, groups[source], interpolation)
    for group, values in zip(("qd", "qdd") if source == "q" else ("qdd",), curve.y[1:], strict=False):
        groups.setdefault(group, values)
    if excursion is None or (not spline and interpolation == "monotone"):
        return (), spline
    remedy = "interpolation 'monotone' stays between them" if spline else "a monotone curve was used instead"
    return (f"{path}: {excursion.sentence(source)}: {remedy}",), spline
