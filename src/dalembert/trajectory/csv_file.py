"""Motions and torques in text tables: a header with column names, then one row per sample.

The columns are t (s), q1 … (rad; m for prismatic joints), qd1 … (rad/s), qdd1 … (rad/s²) and tau1 … (N m; N). They are
read in the same way as logs (:mod:`dalembert.logs`): other separators, and units and joint names in the header, are
accepted.

Further columns describe the load: ``payload`` (kg), ``payload_x`` … (m) and, unless it is a point mass,
``payload_ixx`` … (kg m², about its centre of mass), in the tip frame; ``fx fy fz mx my mz`` (N, N m), the wrench of the
tip on its environment, in base axes. Each value applies from its own row until the next one.
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arrays import Array
from dalembert.environment.brief import brief
from dalembert.errors import DalembertError, MissingExtraError, ShapeError
from dalembert.logs import units as si
from dalembert.logs.formats.raw import counted, gathered, listed, name_and_unit
from dalembert.logs.formats.text import TextTable
from dalembert.logs.log import Columns
from dalembert.logs.meaning import asked_columns, joint_order, meant
from dalembert.robot.tables import nearest, shown
from dalembert.trajectory.doubts import MotionWarning, doubtful, last_digits
from dalembert.trajectory.events import BODY, Event, body_of, events_of, instants_of, payload_event
from dalembert.trajectory.hermite import Hermite
from dalembert.trajectory.monotone import InterpolationWarning
from dalembert.trajectory.splines import low_pass, reconstruction
from dalembert.trajectory.tables import ArrayTable, opened, write
from dalembert.trajectory.trajectory import Trajectory

Progress = Callable[[float], None]
Joints = tuple[str, ...]
Table = TextTable | ArrayTable

BESIDE = 2e-12  # of the duration: distance from a knot at which its two sides are evaluated
ROUNDING = 1e-12  # of the largest position of a joint: rounding of positions in a file
LARGEST = 1e30  # in SI units: no motion has larger numbers, and their squares are still finite
MOST_ROWS = 100_000_000  # in a file that is written
MOST_NUMBERS = 1 << 28  # in the columns that are read: 2 GiB as float64
GROUPS = ("q", "qd", "qdd")
QUANTITIES = ("t", *GROUPS, "tau")
# load columns, and the factors that convert the units allowed in their headers to SI units
KILOGRAMS, METRES = {"kg": 1.0, "g": 1e-3}, {"m": 1.0, "mm": 1e-3, "cm": 1e-2}
TENSOR = ("xx", "xy", "xz", "yy", "yz", "zz")
PAYLOADS = (
    {"payload": KILOGRAMS}
    | {f"payload_{axis}": METRES for axis in "xyz"}
    | {f"payload_i{axes}": dict.fromkeys(("kg m²", "kg m^2", "kg m2", "kg*m^2", "kgm2"), 1.0) for axes in TENSOR}
)
WRENCHES = {f"f{axis}": {"N": 1.0, "kN": 1e3} for axis in "xyz"} | {
    f"m{axis}": {"N m": 1.0, "Nm": 1.0, "N*m": 1.0} for axis in "xyz"
}
CARRIED = PAYLOADS | WRENCHES
DERIVED = "report_"  # prefix of the columns that a report adds to a motion; they are skipped on reading
_COLUMN = re.compile(r"t|(q|qd|qdd|tau)([1-9][0-9]{0,3})")


@dataclass(frozen=True)
class Asked:
    """Columns and units of quantities that the caller states."""

    columns: Mapping[str, Any]
    units: Mapping[str, str]

    @staticmethod
    def of(columns: Columns | None, units: Mapping[str, str] | None) -> Asked:
        """What is given, validated."""
        asked = Asked(dict(columns or {}), dict(units or {}))
        for option, given in (("columns", asked.columns), ("units", asked.units)):
            for group in given:
                if group not in QUANTITIES:
                    raise DalembertError(
                        f"{option} names '{group}', which is not a quantity of a motion; known quantities are "
                        f"{', '.join(QUANTITIES)}"
                    )
        return asked

    def among(self, path: str, names: Sequence[str], joints: Sequence[str]) -> dict[str, list[int]]:
        """The columns of each quantity among those of a table."""
        if not self.columns:
            return {}
        raw = gathered(path, names, joints, {})
        return {group: asked_columns(raw, group, columns, len(names)) for group, columns in self.columns.items()}


@brief
@dataclass(frozen=True)
class TorqueTable:
    """The torques in a file: t (N,) in s, tau (N, n) in N m (N), and the initial state (n,) if it has columns q.

    notes   conversions and findings, one sentence each
    events  the loads carried, if it has columns payload or fx …
    """

    t: Array
    tau: Array
    q0: Array | None = None
    qd0: Array | None = None
    notes: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()


@brief
@dataclass(frozen=True)
class MotionTable:
    """The motion in a file: t (N,) in s, and q, qd, qdd (N, n).

    reconstructed  the groups (qd, qdd) that are missing in the file and were derived from the others
    ignored        the columns that were not read
    tau            (N, n), if requested and present
    notes          conversions and findings, one sentence each
    payload        (N, 10) load at the tip from each row on, as ``Arm.variants(payload=…)`` expects it; None if absent
    wrench         (N, 6) of the tip on its environment; None if absent
    spline         whether the derived groups come from a quintic spline; otherwise from a monotone curve
    doubts         where the curve through the samples leaves their range, and what was done or what helps
    findings       what looks wrong, such as times in ms
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    ignored: tuple[str, ...] = ()
    reconstructed: tuple[str, ...] = ()
    tau: Array | None = None
    notes: tuple[str, ...] = ()
    payload: Array | None = None
    wrench: Array | None = None
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
    """Read the columns t, q1 … qn, qd1 … qdn, qdd1 … qddn, in any order, of a file for ``arm``.

    The group qd or qdd may be absent as a whole; it is then derived from the others without phase shift
    (see :func:`dalembert.trajectory.splines.reconstruction` for ``interpolation``). With ``cutoff`` (Hz), every group in
    the file is first smoothed by the same low-pass. Any other problem is reported in one sentence with the file, the
    line and the column; what looks wrong without being impossible is a doubt (:mod:`dalembert.trajectory.doubts`).

    arm       the arm whose joints they are; without one, the file's columns q1 … determine the number of joints
    progress  is called with the fraction read
    torques   also read tau1 … taun where present; otherwise they are recognised and ignored
    strict    times must increase strictly; a time may repeat only where accelerations, or torques alone, jump
    columns   names or numbers of the columns of t, q, qd, qdd and tau, and ``units`` those that are not in SI, as for
              :func:`dalembert.read_log`
    """
    table, layout, numbers = _numbers(path, arm, progress, torques, strict, Asked.of(columns, units))
    missing = tuple(group for group in GROUPS if group not in layout.groups)
    t, groups = numbers[:, 0], layout.split(numbers)
    findings = doubtful(str(path), arm, layout.clocked, t, groups, layout.digits(numbers), smooth=cutoff is not None)
    if cutoff is not None:
        groups |= {group: _smoothed(path, t, groups[group], cutoff) for group in GROUPS if group in groups}
    doubts, spline = _complete(path, t, groups, interpolation) if missing else ((), True)
    used = set(layout.wanted)
    ignored = tuple(name for k, name in enumerate(table.names) if k not in used)
    notes = (*table.notes, *layout.notes)
    carried = _carried(layout, numbers)
    return MotionTable(
        t, groups["q"], groups["qd"], groups["qdd"], ignored, missing, groups.get("tau"), notes,
        _payload(path, t, carried), _wrench(carried), doubts, spline, findings,
    )  # fmt: skip


def _smoothed(path: Any, t: Array, values: Array, cutoff: float) -> Array:
    try:
        return low_pass(t, values, cutoff)
    except MissingExtraError:
        raise
    except DalembertError as error:
        raise DalembertError(f"{path}: the motion cannot be smoothed: {error}") from None


def read_torque_table(
    path: str | os.PathLike[str],
    arm: Arm,
    columns: Columns | None = None,
    units: Mapping[str, str] | None = None,
) -> TorqueTable:
    """Read the columns t and tau1 … taun, in any order, and the initial positions and velocities where present."""
    table, layout, numbers = _numbers(path, arm, None, True, True, Asked.of(columns, units), needed="tau")
    _ends(path, numbers[:, 0])
    groups = layout.split(numbers)
    if len(numbers) < 2:
        raise DalembertError(f"{path}: torques over time need at least two rows, but the file has only one")
    first = {group: values[0] for group, values in groups.items()}
    t = numbers[:, 0] - numbers[0, 0]
    carried = _carried(layout, numbers)
    events = events_of(t, _payload(path, t, carried), _wrench(carried))
    return TorqueTable(t, groups["tau"], first.get("q"), first.get("qd"), (*table.notes, *layout.notes), events)


def _carried(columns: _Columns, numbers: Array) -> dict[str, Array]:
    """The load columns, by name."""
    return dict(zip(columns.carried, numbers[:, 1 + len(columns.groups) * columns.n :].T, strict=True))


def _ends(path: Any, t: Array) -> None:
    """Raise an error for a jump at the first or the last time, which have nothing before or after them."""
    for side in (t[:2], t[-2:]):
        if len(side) == 2 and side[0] == side[1]:
            raise DalembertError(
                f"{path}: the time {side[0]:g} s occurs twice, which is not allowed for the first or the last time of "
                "the file"
            )


def _numbers(
    path: Any,
    arm: Arm | None,
    progress: Progress | None,
    torques: bool,
    strict: bool,
    asked: Asked,
    needed: str = "q",
) -> tuple[Table, _Columns, Array]:
    """The table, its column layout, and all requested numbers: (N, columns)."""
    try:
        with opened(path, "motion", arm.joint_names if arm is not None else ()) as table:
            columns = _columns(table, arm, torques, needed, asked)
            parts, count = [], 0
            for part in _rows(table, columns, strict or any(group not in columns.groups for group in GROUPS)):
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
    return table, columns, np.concatenate(parts)


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
    _ends(path, table.t)
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
    at = t
    if both_sides:
        t, at = sides_of(motion, t)
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
    """(t, at): the times, with every jump of the acceleration listed twice, and the times just beside them to
    evaluate."""
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
        names = list(PAYLOADS) if values[:, 4:].any() else list(PAYLOADS)[:4]
        columns |= dict(zip(names, values[where.ravel()].T, strict=False))
    if wrench is not None:
        columns |= dict(zip(WRENCHES, wrench.T, strict=True))
    return columns


def _payload(path: Any, t: Array, carried: dict[str, Array]) -> Array | None:
    """The ten parameters of the payload in each row, validated."""
    own = {name: column for name, column in carried.items() if name in PAYLOADS}
    if not own:
        return None
    if "payload" not in own:
        raise DalembertError(f"{path}: the column {listed(list(own))} needs a column 'payload' with the mass in kg")
    table = np.stack([own.get(name, np.zeros(len(t))) for name in PAYLOADS], axis=1)
    kinds, where = np.unique(table, axis=0, return_inverse=True)
    values = np.zeros((len(kinds), BODY))
    for k, (mass, x, y, z, *tensor) in enumerate(kinds.tolist()):
        if mass == 0.0:
            continue
        xx, xy, xz, yy, yz, zz = tensor
        try:
            event = payload_event(mass, (x, y, z), ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)), 0.0, 1.0)
        except DalembertError as error:
            first = float(t[np.argmax(where.ravel() == k)])
            raise DalembertError(f"{path}: the payload at t = {first:g} s: {error}") from None
        values[k] = event.values
    return values[where.ravel()] if values.any() else None


def _wrench(carried: dict[str, Array]) -> Array | None:
    """The wrench of the tip in each row; components without a column are 0."""
    if not any(carried[name].any() for name in WRENCHES if name in carried):
        return None
    nothing = np.zeros(len(next(iter(carried.values()))))
    return np.stack([carried.get(name, nothing) for name in WRENCHES], axis=1)


def column_names(groups: Iterable[str], n: int) -> tuple[str, ...]:
    """t, then q1 … qn and so on, for each group of columns."""
    return ("t", *(f"{group}{k}" for group in groups for k in range(1, n + 1)))


def _complete(path: Any, t: Array, groups: dict[str, Array], interpolation: str) -> tuple[tuple[str, ...], bool]:
    """Derive the missing groups: qd from q, and qdd from qd, or from q if qd is missing too.

    Returns the doubts about the result, and whether a spline was used.
    """
    source = "qd" if "qd" in groups else "q"
    try:
        derived = reconstruction(t, groups[source], interpolation)
    except MissingExtraError:
        raise
    except DalembertError as error:
        missing = " and ".join(f"{group}1 …" for group in GROUPS if group not in groups)
        raise DalembertError(f"{path}: the columns {missing} are missing and cannot be derived: {error}") from None
    if source == "q":
        groups["qd"] = derived.first
        groups.setdefault("qdd", derived.second)
    else:
        groups["qdd"] = derived.first
    if derived.excursion is None or (not derived.kept and interpolation == "monotone"):
        return (), derived.kept
    remedy = "interpolation 'monotone' stays between them" if derived.kept else "a monotone curve was used instead"
    return (f"{path}: {derived.excursion.said_of(source)}: {remedy}",), derived.kept


@dataclass(frozen=True)
class _Columns:
    """Layout of the motion in a table: t, then the n columns of each group, and their conversion factors."""

    n: int
    groups: list[str]
    wanted: list[int]
    factors: Array
    notes: list[str]
    carried: list[str]
    clocked: bool  # whether the file or the caller states the unit of t

    def split(self, numbers: Array) -> dict[str, Array]:
        """The columns of each group, (N, n)."""
        n = self.n
        return {group: numbers[:, 1 + k * n : 1 + (k + 1) * n] for k, group in enumerate(self.groups)}

    def digits(self, numbers: Array) -> dict[str, Array]:
        """The last digit with which each group is written, in SI units: (n,); 0 where it has all digits of a float."""
        scale = self.factors[: 1 + len(self.groups) * self.n]
        last = last_digits(numbers[:, : len(scale)] / scale) * scale
        return {group: digits[0] for group, digits in self.split(last[None]).items()}

    def jumps(self, rows: Array, last: Array) -> NDArray[np.bool_]:
        """Which of the rows (N, columns) repeat a time with the same state, for the other side of a jump: (N,).

        last  (1, columns) the preceding row
        """
        if self.groups not in (["q", "qd", "qdd"], ["q", "qd", "qdd", "tau"], ["tau"]):
            return np.zeros(len(rows), bool)
        kept = slice(0, 1 if self.groups == ["tau"] else 1 + 2 * self.n)
        same: NDArray[np.bool_] = np.all(rows[:, kept] == np.concatenate([last, rows[:-1]])[:, kept], axis=1)
        return same & ~np.append(False, same[:-1])  # twice, but not three times


def _columns(table: Table, arm: Arm | None, torques: bool, needed: str, asked: Asked) -> _Columns:
    path = table.path
    if not table.headed and not asked.columns:
        raise DalembertError(
            f"{path}, line {table.line}: the file has no header; its first line must name the columns t, q1, …, or their "
            "numbers must be given, as in columns={'t': 0, 'q': '1:7'} (--column t=0 --column q=1:7)"
        )
    chosen = asked.among(str(path), table.names, arm.joint_names if arm is not None else ())
    taken = {column for columns in chosen.values() for column in columns}
    carried = {name_and_unit(column)[0]: k for k, column in enumerate(table.names) if k not in taken}
    carried = {name: k for name, k in carried.items() if name in CARRIED}
    kept = [k for k, x in enumerate(table.names) if k not in carried.values() and not x.startswith(DERIVED)]
    doubled = [name for name, count in Counter(name_and_unit(x)[0] for x in table.names).items() if count > 1]
    if twice := [name for name in doubled if name in CARRIED]:
        raise DalembertError(f"{path}: the column {listed(twice)} occurs more than once in the header")
    names, units, notes = _understood(path, [table.names[k] for k in kept], arm, tuple(chosen))
    if chosen or isinstance(table, ArrayTable):  # such files contain more than a motion
        meanings = [_COLUMN.fullmatch(name or "") for name in names]
        names = [x[0] if x is not None and (x[1] or "t") not in chosen else None for x in meanings]
    for group, columns in chosen.items():
        for k, column in enumerate(columns):
            names[kept.index(column)] = group if group == "t" else f"{group}{k + 1}"
    n, groups = _groups(path, names, arm, torques, needed)
    at = {name: column for column, name in enumerate(names)}
    places = {"t": [at["t"]]} | {group: [at[f"{group}{k + 1}"] for k in range(n)] for group in groups}
    factors = []
    for group, columns in places.items():
        sliding = [None] * len(columns) if group == "t" or arm is None else si.sliding_joints(arm)
        own = [units[column] for column in columns]
        if group in asked.units:
            own = [asked.units[group]] * len(columns)
            factors.append(si.factors(str(path), group, [asked.units[group]] * len(columns), sliding))
        else:
            factors.append(si.of_columns(str(path), group, own, sliding))
        if np.any(factors[-1] != 1.0):
            notes.append(si.converted(str(path), group, own))
    wanted = [kept[column] for columns in places.values() for column in columns]
    for name, column in carried.items():
        unit = name_and_unit(table.names[column])[1]
        known = CARRIED[name]
        if unit is not None and unit not in known:
            raise DalembertError(
                f"{path}: the unit of column '{name}' is '{unit}'; it must be one of {', '.join(known)}"
            )
        factors.append(np.array([1.0 if unit is None else known[unit]]))
        if factors[-1] != 1.0:
            notes.append(f"{path}: {name} was converted from {unit}")
    wanted += carried.values()
    present = {match[1] or "t" for name in names if (match := _COLUMN.fullmatch(name or ""))}
    if absent := [group for group in asked.units if group not in present]:
        raise DalembertError(
            f"{path}: the unit of {absent[0]} is given as '{asked.units[absent[0]]}', but the file has no {absent[0]}"
        )
    clocked = "t" in asked.units or units[at["t"]] is not None
    return _Columns(n, groups, wanted, np.concatenate(factors), notes, list(carried), clocked)


def _understood(
    path: Any, written: list[str], arm: Arm | None, known: Sequence[str] = ()
) -> tuple[list[str | None], list[str | None], list[str]]:
    """Standard names of the columns (t, q1, …), their units, and notes.

    Names like t and q1 are taken literally. Others are interpreted as in a log: time, joint1_pos, elbow.velocity
    [deg/s]. A column of a joint that the arm does not have gets None; one without a recognised meaning keeps its name.
    The quantities ``known`` are not searched for.
    """
    names: list[str | None] = [name_and_unit(column)[0] for column in written]
    units = [name_and_unit(column)[1] for column in written]
    notes: list[str] = []
    if all(_COLUMN.fullmatch(name or "") for name in names):
        return names, units, notes
    raw = gathered(str(path), written, arm.joint_names if arm is not None else (), {})
    joints: Joints = ()
    for group in (group for group in QUANTITIES if group not in known):
        candidates = meant(raw, group)
        if len(candidates) != 1:  # if several are possible, only those named t, q1, … are used
            meaning = [column for name, _ in candidates for column in raw.groups[name]]
            if meaning and not any(_COLUMN.fullmatch(names[column] or "") for column in meaning):
                may = listed([written[column] for column in meaning])
                raise DalembertError(f"{path}: {may} could all be {group}; keep only the correct ones in the file")
            continue
        name, unit = candidates[0]
        if name in raw.faults:
            raise DalembertError(raw.faults[name])
        columns = raw.groups[name]
        if group != "t" and name in raw.joints:
            theirs = raw.joints[name]
            order, told = _joint_order(path, theirs, arm, joints or theirs)
            notes += [] if joints else told
            joints = joints or theirs
            names = [None if column in columns else name for column, name in enumerate(names)]
            columns = [columns[k] for k in order]
        for k, column in enumerate(columns):
            units[column] = units[column] or unit
            names[column] = f"{group}{k + 1}" if group != "t" else group
    return names, units, notes


def _joint_order(path: Any, theirs: Joints, arm: Arm | None, first: Joints) -> tuple[list[int], list[str]]:
    """Indices of the columns in the arm's joint order; without an arm, in the order in which ``first`` names the
    joints."""
    if arm is not None:
        remedy = "; name the columns after the arm's joints, or q1, q2, …"
        return joint_order(str(path), "motion", theirs, arm, remedy)
    if sorted(theirs) != sorted(first):
        raise DalembertError(
            f"{path}: some columns are for the joints {listed(first)}, others for {listed(theirs)}; all must be for "
            "the same"
        )
    return [theirs.index(joint) for joint in first], [f"{path}: the joints are {listed(first)}, in the file's order"]


def _groups(path: Any, names: list[str | None], arm: Arm | None, torques: bool, needed: str) -> tuple[int, list[str]]:
    """Number of joints and groups of columns in the file; raises an error that names the columns at fault."""
    matches = [match for name in names if (match := _COLUMN.fullmatch(name or ""))]
    counts = {group: sorted(int(match[2]) for match in matches if match[1] == group) for group in (*GROUPS, "tau")}
    n = arm.n if arm is not None else max(len(counts["q"]), 1)
    owner, what = ("q", "column") if arm is None else (f"arm '{arm.name}'", "joint")
    whose = f"{owner} has {counted(n, what)}"
    each = GROUPS if needed == "q" else (needed,)
    columns = ", ".join(["t", *(f"{group}1 … {group}{n}" if n > 1 else f"{group}1" for group in each)])
    unknown = [name for name in names if name is not None and not _COLUMN.fullmatch(name)]
    if unknown:
        if len(unknown) == 1 and not unknown[0]:
            raise DalembertError(f"{path}: column {names.index('') + 1} has no name; known columns are {columns}")
        plural = "s" if len(unknown) > 1 else ""
        raise DalembertError(
            f"{path}: unknown column{plural} {listed([shown(x) for x in unknown])}; the known columns are {columns}"
            f"{nearest(unknown[0], column_names(GROUPS, n))}{_by_name(unknown, arm)}; columns={{'q': …}} (--column q=…) "
            "assigns others"
        )
    double = [name for name, times in Counter(filter(None, names)).items() if times > 1]
    if double:
        raise DalembertError(f"{path}: the column {listed(double)} occurs more than once in the header")
    wanted = (*GROUPS, "tau") if torques else GROUPS
    for group in wanted:
        numbers = counts[group]
        if numbers and numbers == list(range(1, len(numbers) + 1)) and len(numbers) != n:
            raise ShapeError(
                f"{path}: its columns give {group} the shape (…, {len(numbers)}), but {whose}: "
                f"{group} must have the shape (…, {n})"
            )
    groups = [group for group in wanted if counts[group] or group == needed]
    named = set(names)
    missing = [name for name in column_names(groups, n) if name not in named]
    if missing:
        verb, plural = ("is", "") if len(missing) == 1 else ("are", "s")
        raise DalembertError(
            f"{path}: the column{plural} {listed(missing)} {verb} missing; required are {columns}"
            + (" (qd or qdd may be omitted as a whole)" if needed == "q" else "")
        )
    beyond = [f"{group}{k}" for group in wanted for k in counts[group] if k > n]
    if beyond:
        raise DalembertError(f"{path}: {whose}, so there can be no column {listed(beyond)}")
    return n, groups


def _by_name(unknown: list[str], arm: Arm | None) -> str:
    """How a column of a joint is named if the unknown columns have the names of joints."""
    joint = next((name for name in unknown if arm is not None and name in arm.joint_names), None)
    return f"; a joint's position is named '{joint}.position'" if joint is not None else ""


def _rows(table: Table, columns: _Columns, strict: bool) -> Iterator[Array]:
    """The requested columns, one block of lines at a time; ``strict`` forbids repeated times."""
    path, before, last = table.path, -np.inf, np.full((1, len(columns.wanted)), np.nan)
    converted = np.any(columns.factors != 1.0)
    for lines, block in table.blocks():
        part = block[:, columns.wanted]
        if converted:
            with np.errstate(over="ignore"):  # overflow gives infinity, which is reported below
                part *= columns.factors
        bad = np.argwhere(~(np.abs(part) <= LARGEST))
        if len(bad):
            row, column = bad[0]
            value = part[row, column]
            words = "NaN" if np.isnan(value) else "infinite" if np.isinf(value) else f"{value:g}"
            raise DalembertError(
                f"{path}, {table.place} {lines[row][0]}, column '{table.names[columns.wanted[column]]}': "
                f"the value is {words}; it must be a finite number{'' if np.isinf(value) or np.isnan(value) else f' within ±{LARGEST:g}'}"
            )
        t = part[:, 0]
        steps = np.diff(t, prepend=before)
        falls = np.flatnonzero((steps <= 0) & ~columns.jumps(part, last) if strict else steps < 0)
        if len(falls):
            row = falls[0]
            where = f"{path}, {table.place} {lines[row][0]}, column '{table.names[columns.wanted[0]]}'"
            earlier = t[row - 1] if row else before
            if earlier == t[row]:
                raise DalembertError(f"{where}: the time {t[row]:g} s occurs twice")
            raise DalembertError(f"{where}: time goes backwards, from {earlier:g} to {t[row]:g} s")
        before, last = t[-1], part[-1:].copy()
        yield part
