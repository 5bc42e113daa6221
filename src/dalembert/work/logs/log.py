"""Logs of a moving arm: read, identified, converted to the joint side and to SI units, with a note on every repair.

A log contains t (s), q, optionally qd, and torque or motor current: from a file (``formats``), or from a dict of
arrays. Nothing is filtered here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.base.arrays import Array
from dalembert.base.per_joint import per_joint
from dalembert.base.tables.signal_columns import span
from dalembert.base.wording import counted, shown, some
from dalembert.errors import DalembertError
from dalembert.work.logs import signals
from dalembert.work.logs.checks.impossible_values import MOST, garbage_in, impossible
from dalembert.work.logs.formats import read
from dalembert.work.logs.formats.raw import Raw, Request
from dalembert.work.logs.log_units import sliding_joints

Columns = Mapping[str, str | int | Sequence[str | int]]
Episodes = str | int | Sequence[int | str]

DELEGATES = {"_repr_html_": "views.report.notebook:log_html"}  # drawing functions, imported on first use
QUANTITIES = ("t", "q", "qd", "tau", "current", "temperature", "command")
SIGNALS = ("t", "q", "tau", "qd", "temperature", "command")  # arrays of a log with one row per sample
POSSIBLE = (-100.0, 1000.0)  # °C: possible temperatures of a drive
SHUFFLED = 10  # average number of rows between backward steps in time: below it the rows are shuffled
BEYOND = 1e30  # rad, rad/s, N m: far above any arm, and the square is still finite
EPISODE = ", episode "  # between the name of a dataset and the number of an episode
LAST_EPISODE = 10**9  # above the largest possible episode number
LEAP = 20.0  # a step this many times the usual one is a jump, not a motion


@dataclass(frozen=True, eq=False)
class Log:
    """A run of an arm, on the joint side and in SI units: t (N,), q and tau (N, n), qd (N, n) if logged.

    temperature  of the joints (°C), (N, n), if logged
    command      commanded positions, (N, n), if requested
    notes     findings and repairs, one sentence each
    source    the file that it was read from
    instants  time stamps of all rows of the file, including dropped ones (s); kept: which rows were not dropped
    parts     the joined logs, if several were joined; qd is NaN in those without it
    """

    t: Array
    q: Array
    tau: Array
    qd: Array | None = None
    notes: tuple[str, ...] = field(default=())
    source: str = "the log"
    instants: Array | None = None
    kept: NDArray[np.intp] | None = None
    parts: tuple[Log, ...] = ()
    temperature: Array | None = None
    command: Array | None = None

    def __len__(self) -> int:
        return len(self.t)

    def _repr_html_(self) -> str:
        return delegate(DELEGATES, "_repr_html_")(self)

    def __repr__(self) -> str:
        speeds = "" if self.qd is None else ", velocities"
        speeds += "" if self.temperature is None else ", temperatures"
        return f"<Log {Path(self.source).name!r:.80}: {len(self)} samples, {self.n} joints{speeds}>"

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.q.shape[1]

    @property
    def mean_temperature(self) -> Array | None:
        """The mean temperature of each joint (°C), (n,); for joined logs, over those that have it."""
        return None if self.temperature is None else np.nanmean(self.temperature, axis=0)

    @property
    def separate(self) -> tuple[Log, ...]:
        """The joined logs; the log itself if it was not joined."""
        return self.parts or (self,)

    def part(self, start: float, end: float) -> Log:
        """The log between two fractions of its duration, such as ``part(0.0, 0.5)``: its first half.

        For joined logs, the same part of each.
        """
        if self.parts:
            return joined([log.part(start, end) for log in self.parts])
        span = self.t[-1] - self.t[0]
        return self.rows((self.t >= self.t[0] + start * span) & (self.t <= self.t[0] + end * span))

    def rows(self, which: slice | NDArray[Any]) -> Log:
        """Some of its rows, by a slice, a mask or their numbers."""
        return replace(self.mapped(lambda x: x[which], *SIGNALS), instants=None, kept=None)

    def mapped(self, function: Callable[[Array], Array], *names: str) -> Log:
        """The log with a function of the named signals in place of them, where it has them."""
        arrays = {name: getattr(self, name) for name in names}
        changed: dict[str, Any] = {name: function(x) for name, x in arrays.items() if x is not None}
        return replace(self, **changed)


Source = str | os.PathLike[str] | Mapping[str, ArrayLike] | Log  # sources of a log


def joined(logs: Sequence[Log]) -> Log:
    """Several logs as one, with a gap of one second between them, across which nothing is filtered or interpolated.

    Logs that are themselves joined are separated first. A quantity that some logs do not have is NaN there.
    """
    logs = [part for log in logs for part in log.separate]
    if len(logs) == 1:
        return logs[0]
    stamps, at = [], 0.0
    for log in logs:
        stamps.append(log.t - log.t.min() + at)
        at = float(stamps[-1].max()) + 1.0
    stacked: dict[str, Any] = {}
    for name in SIGNALS[1:]:
        arrays = [getattr(log, name) for log in logs]
        if any(x is not None for x in arrays):
            filled = (np.full(log.q.shape, np.nan) if x is None else x for x, log in zip(arrays, logs, strict=True))
            stacked[name] = np.concatenate(list(filled))
    notes = tuple(note for log in logs for note in log.notes)
    source = some([Path(log.source).name for log in logs], 4)
    whole = Log(np.concatenate(stamps), **stacked, notes=notes, source=source)
    parts, end = [], 0
    for log in logs:
        own, end = whole.rows(slice(end, end + len(log))), end + len(log)
        instants = None if log.instants is None else log.instants + (own.t[0] - log.t[0])
        views = {name: getattr(own, name) for name in SIGNALS if getattr(log, name) is not None}
        parts.append(replace(log, instants=instants, **views))
    return replace(whole, parts=tuple(parts))


def read_log(
    source: str | os.PathLike[str] | Mapping[str, ArrayLike] | Log,
    arm: Arm,
    *,
    columns: Columns | None = None,
    gains: ArrayLike | None = None,
    gears: ArrayLike | None = None,
    motor_side: Iterable[str] = (),
    time_unit: str | None = None,
    rate: float | None = None,
    units: Mapping[str, str] | None = None,
    joint_names: Sequence[str] | None = None,
    topic: str | None = None,
    episodes: Episodes | None = None,
    torque_needed: bool = True,
    commands: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Log:
    """A log for ``arm``: a path, or a dict of arrays ``t, q, qd, tau`` (or ``current`` with ``gains``).

    ``temperature`` (°C) is optional: (N, n), or (N,) for all joints.

    columns       the names of quantities in the file: ``{"q": "q_mot", "tau": "tau_motor"}``; or their columns by
                  number from 0, ``{"t": 0, "q": "1:7"}``, or by name, ``{"q": ["shoulder", "elbow"]}``
    gains         drive gains, in N m per ampere at the joint (at the motor, if "tau" is in motor_side)
    gears         motor turns per joint turn: n numbers, or the n×n matrix A of q_motor = A q_joint
                  for coupled drives; by default the arm's own gear ratios
    motor_side    which of "q", "qd", "tau" are on the motor side: q_joint = A⁻¹ q_motor, τ_joint = Aᵀ τ_motor
    time_unit     of t: "s", "ms", "us" or "ns"; the same as units={"t": …}
    rate          sampling rate (Hz) of a log without time stamps: t = k/rate. Existing time stamps must agree with
                  it, or count the rows
    units         the units of quantities that are not in SI: ``{"q": "deg", "current": "mA"}``
    joint_names   the joints of the log's columns, in order, if the file does not name them
    topic         which JointState messages of a ROS log to read
    episodes      episodes of a LeRobot dataset to read: "0:5" (0 to 4), "1,4:6", a number or a list of numbers; all
                  by default. Each is a separate run, and several are joined
    torque_needed False accepts a log without torques (its tau is NaN)
    commands      True reads the commanded positions too, which the log must then have
    progress      called with the fraction read
    """
    if isinstance(source, Log):
        signals.same_count(arm, source.q.shape[1], source.source)
        return source
    wanted, unit = dict(columns or {}), ({} if time_unit is None else {"t": time_unit}) | dict(units or {})
    for option, given in (("columns", wanted), ("units", unit)):
        for group in given:
            if group not in QUANTITIES:
                raise DalembertError(
                    f"{option} names '{group}', which is not a quantity of a log; known quantities are {', '.join(QUANTITIES)}"
                )
    raw = raw_of(source, arm, topic, progress, episodes)
    rate = signals.checked_rate(rate)
    quantities = {group: signals.find(raw, group, wanted.get(group), rate) for group in QUANTITIES}
    t = signals.time_of(raw, quantities["t"], unit.get("t"), rate, signals.rows_of(raw, quantities["q"], arm.n))
    if not commands:
        del quantities["command"]
    elif quantities["command"] is None:
        raise signals.missing(raw, "command", "commanded positions (command)")
    unit.setdefault("command", unit.get("q", ""))
    if gains is None and quantities["tau"] is not None:
        del quantities["current"]
    arrays = {
        group: signals.group_of(raw, group, quantity, arm, len(t), joint_names, unit.get(group) or None)
        for group, quantity in quantities.items()
        if group not in ("t", "temperature") and quantity is not None
    }
    warm = quantities["temperature"]
    if warm is not None and quantities["t"] is not None and warm.name == quantities["t"].name:
        warm = None  # temps are times in French and temperatures in English
    if warm is not None:
        try:
            arrays["temperature"] = signals.temperature_of(raw, warm, arm, len(t), joint_names, unit.get("temperature"))
        except DalembertError as problem:
            if "temperature" in wanted or "temperature" in unit:
                raise
            raw.notes.append(f"{str(problem).rstrip('.')}; the temperature is ignored")
    if "q" not in arrays:
        raise signals.missing(raw, "q", "joint positions (q)")
    with np.errstate(over="ignore", invalid="ignore"):  # overflow gives infinities, which are reported
        _torque_from_current(raw, arrays, gains, arm.n, wanted)
    if "tau" not in arrays:
        if torque_needed:
            raise signals.missing(raw, "tau", "joint torques (tau), nor a current with drive gains")
        arrays["tau"] = np.full_like(arrays["q"], np.nan)
    sides = tuple(motor_side.replace(",", " ").split()) if isinstance(motor_side, str) else tuple(motor_side)
    with np.errstate(all="ignore"):  # LAPACK divides by zero when it computes a determinant of 0
        _to_joint_side(raw, arrays, gears, sides, arm)
    if raw.runs is None:
        return _cleaned(raw, t, arrays, torque_needed, arm)
    logs, ends = [], [0, *(np.flatnonzero(np.diff(raw.runs)) + 1).tolist(), len(raw.runs)]
    for start, end in pairwise(ends):
        notes = [] if start else list(raw.notes)  # on all runs go with the first
        run = replace(raw, source=f"{raw.source}{EPISODE}{raw.runs[start]}", notes=notes)
        own = {group: values[start:end] for group, values in arrays.items()}
        logs.append(_cleaned(run, t[start:end], own, torque_needed, arm))
    return joined(logs)


def raw_of(
    source: str | os.PathLike[str] | Mapping[str, ArrayLike],
    arm: Arm,
    topic: str | None = None,
    progress: Callable[[float], None] | None = None,
    episodes: Episodes | None = None,
) -> Raw:
    """The contents of a file or a dict, before their meaning is determined."""
    spans = None if episodes is None else episodes_of(episodes)
    if isinstance(source, Mapping):
        if spans is not None:
            raise DalembertError(
                "the log: episodes are requested, but only LeRobot datasets have them, and this is a dict"
            )
        return Raw("the log", arrays={str(name): values for name, values in source.items() if values is not None})
    if isinstance(source, str | os.PathLike):
        report = progress or (lambda fraction: None)
        return read(Path(source), Request(tuple(arm.joint_names), topic, report, spans))
    raise DalembertError(
        f"a log must be a path or a dict of arrays t, q, qd, tau, not {type(source).__name__}; give several as a list"
    )


def episodes_of(episodes: Episodes) -> tuple[tuple[int, int], ...]:
    """The requested episode numbers, as ranges (first, last + 1).

    >>> episodes_of("0:5, 7"), episodes_of([3, 1])
    (((0, 5), (7, 8)), ((3, 4), (1, 2)))
    """
    words = (
        episodes.split(",") if isinstance(episodes, str) else episodes if isinstance(episodes, Sequence) else [episodes]
    )
    spans = [span(word) for word in words]
    stretches = tuple((first, LAST_EPISODE if end is None else end) for first, end in filter(None, spans))
    if None in spans or not all(first < end for first, end in stretches):
        raise DalembertError(
            f"episodes is {shown(episodes)}; give numbers from 0, such as '0:5' (0 to 4), '1,4:6' or [0, 2]"
        )
    if not stretches:
        raise DalembertError("episodes is empty; omit it to read all, or give numbers from 0, such as '0:5'")
    return stretches


def _torque_from_current(
    raw: Raw, arrays: dict[str, Array], gains: ArrayLike | None, n: int, wanted: Mapping[str, Any]
) -> None:
    current = arrays.pop("current", None)
    if current is not None and gains is not None and "tau" not in wanted:
        factors = per_joint("gains", gains, n)
        arrays["tau"] = current * factors
        if (factors != 1.0).any():
            raw.note("torque is current times the drive gains")
    elif gains is not None:
        raise raw.wrong(f"drive gains are given, but it has no current; it has {raw.contents}")
    elif current is not None and "tau" not in arrays:
        raise raw.wrong(
            "it has motor currents and no torques: give the drive gains (N m/A), n numbers, as gains (--gains)"
        )


def _to_joint_side(
    raw: Raw, arrays: dict[str, Array], gears: ArrayLike | None, motor_side: tuple[str, ...], arm: Arm
) -> None:
    for name in motor_side:
        if name not in ("q", "qd", "tau"):
            raise DalembertError(f"motor_side names '{name}'; it can only name q, qd and tau")
    if not motor_side:
        if gears is not None:
            raise DalembertError(
                "gears are given, but motor_side does not state which of q, qd and tau are on the motor side"
            )
        return
    if gears is None:
        bare = [joint.name for joint in arm.robot.moving_joints if joint.rotor is None]
        if bare:
            raise raw.wrong(
                f"data on the motor side need gear ratios, but joint {bare[0]} of arm '{arm.name}' has none; give gears"
            )
        gears = [float(joint.rotor.gear) for joint in arm.robot.moving_joints if joint.rotor is not None]
    A = per_joint("gears", gears, arm.n, matrix=True)
    A = np.diag(A) if A.ndim == 1 else A
    if abs(np.linalg.det(A)) < 1e-12:
        raise DalembertError("the matrix of gear ratios is singular: every motor must turn when its joint turns")
    for name in motor_side:
        if name in arrays:
            arrays[name] = arrays[name] @ A if name == "tau" else arrays[name] @ np.linalg.inv(A).T
        if name == "q" and "command" in arrays:
            arrays["command"] = arrays["command"] @ np.linalg.inv(A).T
    raw.note(f"{', '.join(motor_side)} were converted from the motor side to the joint side")


# -- repairs -------------------------------------------------------------------------------------


def _cleaned(raw: Raw, t: Array, arrays: dict[str, Array], torque_needed: bool, arm: Arm) -> Log:
    """The log without rows that are not numbers and without repeated rows; every repair is counted in a note."""
    q, tau, qd = arrays["q"], arrays["tau"], arrays.get("qd")
    if qd is not None and not np.isfinite(qd).any(axis=0).all():
        empty = [arm.joint_names[j] for j in np.flatnonzero(~np.isfinite(qd).any(axis=0))]
        who = "" if len(empty) == arm.n else f" for {some(empty)}"
        raw.note(f"qd contains no numbers at all{who} and is computed from q")
        qd = None
    if not torque_needed:  # garbage in the torques does not cost any row
        tau = np.where(impossible(tau), np.nan, tau)
    needed = {"q": q} | ({} if qd is None else {"qd": qd}) | ({"tau": tau} if torque_needed else {})
    needed |= {"command": arrays["command"]} if "command" in arrays else {}
    rows = np.flatnonzero(_whole(raw, t, needed, arm))
    rows = rows[_in_order(raw, t[rows])]
    same_time = np.diff(t[rows]) == 0
    repeated = np.all([(np.diff(x[rows], axis=0) == 0).all(axis=1) for x in (q, tau, qd) if x is not None], axis=0)
    moving: Any = False
    if qd is not None:  # a row identical to the previous one, while the arm moves, is not a new sample
        moving = np.abs(qd[rows[1:]]).max(axis=1) > 1e-3 * max(float(np.abs(qd[rows]).max()), 1e-12)
    repeated &= same_time | moving
    crowded = same_time & ~repeated
    if repeated.any():
        raw.note(f"{counted(int(repeated.sum()), 'row repeats', 'rows repeat')} the one before; dropped")
    if crowded.any():
        raw.note(
            f"{int(crowded.sum())} of {len(t)} rows have the same time as the row before but other values, and were dropped; "
            "is t rounded?"
        )
    rows = np.concatenate([rows[:1], rows[1:][~(repeated | crowded)]])
    if len(rows) < signals.FEWEST:
        raise raw.wrong(f"only {len(rows)} of {len(t)} rows differ from one another")
    back = int((np.diff(t[rows]) < 0).sum())
    if back:
        raw.note(f"time goes backwards {counted(back, 'time')}; the rows after that are treated as another run")
    q = _unwrapped(raw, arm, t[rows], q[rows])
    warm = _filled(raw, t, arrays.get("temperature"), rows)
    qd = None if qd is None else qd[rows]
    command = None if "command" not in arrays else arrays["command"][rows]
    return Log(t[rows], q, tau[rows], qd, tuple(raw.notes), raw.source, t, rows, temperature=warm, command=command)


def _filled(raw: Raw, t: Array, temperature: Array | None, rows: NDArray[np.intp]) -> Array | None:
    """The temperatures at some rows; missing values, since drives send them rarely, are interpolated."""
    if temperature is None:
        return None
    with np.errstate(invalid="ignore"):
        good = np.isfinite(temperature) & (temperature > POSSIBLE[0]) & (temperature < POSSIBLE[1])
    if not good.any(axis=0).all():
        raw.note("the temperature of a joint contains no plausible number; the temperature is ignored")
        return None
    filled = temperature[rows]
    gaps = ~good[rows]
    for j in np.flatnonzero(gaps.any(axis=0)):
        there = np.flatnonzero(good[:, j])
        filled[gaps[:, j], j] = np.interp(rows[gaps[:, j]], there, temperature[there, j])
    if gaps.any():
        raw.note(f"the temperature is missing in {int(gaps.any(axis=1).sum())} rows and was interpolated there")
    return filled


def _unwrapped(raw: Raw, arm: Arm, t: Array, q: Array) -> Array:
    """q without the jumps by full turns of drives that measure an angle only within one turn."""
    steps = np.diff(t)
    follows = (steps > 0) & (steps < 10 * np.median(np.abs(steps)))
    moved = np.abs(np.diff(q, axis=0))
    jumps = (
        (moved > np.pi) & (moved > LEAP * np.median(moved, axis=0)) & follows[:, None] & ~np.array(sliding_joints(arm))
    )
    who = np.flatnonzero(jumps.any(axis=0))
    if not len(who):
        return q
    turns = q.copy()
    turns[:, who] = np.unwrap(q[:, who], axis=0)
    for j in who:  # the turn that contains the joint's limits
        limits = arm.robot.moving_joints[j].limits
        if limits.lower is not None and limits.upper is not None:
            middle = 0.5 * (float(limits.lower) + float(limits.upper))
            turns[:, j] += 2 * np.pi * np.round((middle - np.median(turns[:, j])) / (2 * np.pi))
    what = counted(int(jumps.sum()), "jump by a full turn was", "jumps by full turns were")
    raw.note(f"{what} removed from q of {some([arm.joint_names[j] for j in who])}")
    return turns


def _whole(raw: Raw, t: Array, arrays: Mapping[str, Array], arm: Arm) -> NDArray[np.bool_]:
    """Which rows consist of numbers throughout; the others are counted."""
    bad: dict[str, Any] = {"t": ~np.isfinite(t)}
    for group, values in arrays.items():
        finite = np.isfinite(values)
        dead = np.flatnonzero(~finite.any(axis=0))
        if len(dead):
            raise raw.wrong(
                f"{group} of joint '{arm.joint_names[dead[0]]}' contains no number in any of its {len(t)} rows"
            )
        bad[group] = ~finite.all(axis=1)
    garbage = _garbage(raw, t, arrays, arm)
    for group, values in arrays.items():
        finite = np.isfinite(values) & ~garbage[:, None]
        largest = np.abs(np.where(finite, values, 0.0)).max(axis=0)
        j = int(np.argmax(largest))
        if largest[j] > BEYOND:
            raise raw.wrong(
                f"{group} of joint '{arm.joint_names[j]}' reaches {largest[j]:.3g}; the largest plausible value is "
                f"{BEYOND:g}"
            )
    numbers: NDArray[np.bool_] = ~np.any(list(bad.values()), axis=0)
    whole = numbers & ~garbage
    counts = ", ".join(f"{int(rows.sum())} in {group}" for group, rows in bad.items() if rows.any())
    if whole.sum() < signals.FEWEST:
        raise raw.wrong(
            f"only {int(whole.sum())} of {len(t)} rows consist of numbers throughout; rows with NaN, inf or empty "
            f"cells: {counts}"
        )
    if not numbers.all():
        raw.note(
            f"{int((~numbers).sum())} of {len(t)} rows contain NaN, inf or an empty cell ({counts}) and were dropped"
        )
    return whole


def _garbage(raw: Raw, t: Array, arrays: Mapping[str, Array], arm: Arm) -> NDArray[np.bool_]:
    """Which rows contain finite but impossible numbers; a few are counted, many are an error."""
    garbage = garbage_in(t, arrays)
    if garbage is None:
        return np.zeros(len(t), bool)
    what = "t" if garbage.group == "t" else f"{garbage.group} of joint '{arm.joint_names[garbage.column]}'"
    count, worst = int(garbage.rows.sum()), f"{what} reaches {garbage.value:.3g}"
    if garbage.many:
        raise raw.wrong(
            f"{count} of {len(t)} rows contain values that no arm can have: {worst}; at most {100 * MOST:g} % of the rows may "
            "contain such values and are dropped: is this column another quantity (columns)?"
        )
    raw.note(f"{count} of {len(t)} rows contain values that no arm can have ({worst}) and were dropped")
    return garbage.rows


def _in_order(raw: Raw, t: Array) -> NDArray[np.intp] | slice:
    """An order in which time increases, for a log with shuffled rows; consecutive runs stay as they are."""
    steps = np.diff(t)
    back = steps[steps < 0]
    if not len(back):
        return slice(None)
    usual = float(np.median(np.abs(steps[steps != 0])))
    if len(t) / (len(back) + 1) >= SHUFFLED and -back.min() > SHUFFLED * usual:
        return slice(None)
    raw.note(f"the rows are not in chronological order ({len(back)} steps back) and were sorted")
    return np.argsort(t, kind="stable")
