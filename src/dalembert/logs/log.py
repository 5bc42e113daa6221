"""Logs of a moving arm: read, named, brought to the joint side and to SI, with every repair counted and said.

A log is t (s), q, perhaps qd, and torque or motor current: from a file (``formats``), or a dict of arrays.
Nothing is filtered here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arm.handed_on import handed_on
from dalembert.errors import DalembertError, ShapeError
from dalembert.logs.formats import read
from dalembert.logs.formats.raw import SPELLINGS, Array, Raw, Request, counted, listed
from dalembert.logs.garbage import MOST, garbage_in, impossible
from dalembert.logs.meaning import (
    FEWEST,
    checked_rate,
    find,
    group_of,
    missing,
    names_of,
    rows_of,
    same_count,
    temperature_of,
    time_of,
)
from dalembert.logs.units import sliding_joints
from dalembert.robot.tables import shown

Columns = Mapping[str, str | int | Sequence[str | int]]
Episodes = str | int | Sequence[int | str]

HANDS_ON = {"_repr_html_": "report.notebook:log_html"}  # what draws a log: imported when it is first called
QUANTITIES = ("t", "q", "qd", "tau", "current", "temperature")
POSSIBLE = (-100.0, 1000.0)  # °C: what is beyond is no temperature of a drive
SHUFFLED = 10  # rows between two steps back in time, on average: fewer are no runs
BEYOND = 1e30  # rad, rad/s, N m: no arm reaches that, and its square is still a number
EPISODE = ", episode "  # between the name of a dataset and the number of an episode
LAST_EPISODE = 10**9  # behind the last that a dataset can have
LEAP = 20.0  # a step so many times the usual one is no motion


@dataclass(frozen=True, eq=False)
class Log:
    """A run of an arm, at the joint side and in SI units: t (N,), q and tau (N, n), qd (N, n) where logged.

    temperature  of the joints (°C), (N, n), where logged
    notes     what was found and done, one sentence each
    source    the file it came from
    instants  the stamps of all rows that the file has, those included that were dropped (s); kept: which were not
    parts     the logs that were joined, if several were; qd is NaN in those that do not have it
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

    def __len__(self) -> int:
        return len(self.t)

    def _repr_html_(self) -> str:
        return handed_on(HANDS_ON, "_repr_html_")(self)

    def __repr__(self) -> str:
        speeds = "" if self.qd is None else ", velocities"
        speeds += "" if self.temperature is None else ", temperatures"
        return f"<Log {Path(self.source).name!r:.80}: {len(self)} samples, {self.n} joints{speeds}>"

    @property
    def n(self) -> int:
        """How many joints it has."""
        return self.q.shape[1]

    @property
    def mean_temperature(self) -> Array | None:
        """The mean temperature of each joint (°C), (n,); of several logs that were joined, over those that have it."""
        return None if self.temperature is None else np.nanmean(self.temperature, axis=0)

    @property
    def separate(self) -> tuple[Log, ...]:
        """The logs that were joined; itself alone if none were."""
        return self.parts or (self,)

    def part(self, start: float, end: float) -> Log:
        """The log between two fractions of its duration, such as ``part(0.0, 0.5)``: its first half.

        Of several that were joined, the same part of each.
        """
        if self.parts:
            return joined([log.part(start, end) for log in self.parts])
        span = self.t[-1] - self.t[0]
        return self.rows((self.t >= self.t[0] + start * span) & (self.t <= self.t[0] + end * span))

    def rows(self, which: slice | NDArray[np.bool_]) -> Log:
        """Some of its rows."""
        qd, warm = (None if x is None else x[which] for x in (self.qd, self.temperature))
        return replace(
            self,
            t=self.t[which],
            q=self.q[which],
            tau=self.tau[which],
            qd=qd,
            temperature=warm,
            instants=None,
            kept=None,
        )


Source = str | os.PathLike[str] | Mapping[str, ArrayLike] | Log  # what a log is read from


def joined(logs: Sequence[Log]) -> Log:
    """Several logs as one, each a second after the last; nothing is filtered or filled in between them.

    Those that were joined from others already are taken apart first.
    """
    logs = [part for log in logs for part in log.separate]
    if len(logs) == 1:
        return logs[0]
    stamps, at = [], 0.0
    for log in logs:
        stamps.append(log.t - log.t.min() + at)
        at = float(stamps[-1].max()) + 1.0
    qd, warm = (_stacked([getattr(log, name) for log in logs], logs) for name in ("qd", "temperature"))
    whole = Log(
        np.concatenate(stamps), np.concatenate([log.q for log in logs]), np.concatenate([log.tau for log in logs]), qd,
        tuple(note for log in logs for note in log.notes), _named_together([Path(log.source).name for log in logs]),
        temperature=warm,
    )  # fmt: skip
    parts, end = [], 0
    for log in logs:
        part, end = whole.rows(slice(end, end + len(log))), end + len(log)
        instants = None if log.instants is None else log.instants + (part.t[0] - log.t[0])
        about: dict[str, Any] = {"notes": log.notes, "source": log.source, "instants": instants, "kept": log.kept}
        about |= {
            name: getattr(part, name) if getattr(log, name) is not None else None for name in ("qd", "temperature")
        }
        parts.append(replace(part, **about))
    return replace(whole, parts=tuple(parts))


def _stacked(arrays: Sequence[Array | None], logs: Sequence[Log]) -> Array | None:
    """A quantity of several logs (N, n), NaN for those that do not have it; None if none does."""
    if all(values is None for values in arrays):
        return None
    return np.concatenate(
        [np.full(log.q.shape, np.nan) if x is None else x for x, log in zip(arrays, logs, strict=True)]
    )


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
    progress: Callable[[float], None] | None = None,
) -> Log:
    """A log for ``arm``: a path, or a dict of arrays ``t, q, qd, tau`` (or ``current`` with ``gains``).

    ``temperature`` (°C) may stand beside them: (N, n), or (N,) for all joints.

    columns       what a quantity is called in the file: ``{"q": "q_mot", "tau": "tau_motor"}``; or its columns by
                  number from 0, ``{"t": 0, "q": "1:7"}``, or by name, ``{"q": ["shoulder", "elbow"]}``
    gains         drive gains, N m at the joint (at the motor, if "tau" is in motor_side) per ampere
    gears         motor turns per joint turn: n numbers, or the n×n matrix A of q_motor = A q_joint
                  for coupled drives; the arm's own gears unless given
    motor_side    which of "q", "qd", "tau" are at the motor side: q_joint = A⁻¹ q_motor, τ_joint = Aᵀ τ_motor
    time_unit     of t: "s", "ms", "us" or "ns"; the same as units={"t": …}
    rate          samples per second (Hz) of a log without time stamps: t = k/rate. Stamps that are there must agree with
                  it, or count the rows
    units         in which quantities are written, where that is not SI: ``{"q": "deg", "current": "mA"}``
    joint_names   the joints of the log's columns in their order, where the file does not say
    topic         which JointState messages of a ROS log to read
    episodes      of a LeRobot dataset, those to read: "0:5" (0 to 4), "1,4:6", a number or a list of numbers; all
                  unless given. Each is a run of its own, and several are joined
    torque_needed False lets a log pass that has no torque (its tau is NaN)
    progress      called with the fraction that is read
    """
    if isinstance(source, Log):
        same_count(arm, source.q.shape[1], source.source)
        return source
    wanted, unit = dict(columns or {}), ({} if time_unit is None else {"t": time_unit}) | dict(units or {})
    for option, given in (("columns", wanted), ("units", unit)):
        for group in given:
            if group not in QUANTITIES:
                raise DalembertError(
                    f"{option} names '{group}', which is no quantity of a log; known are {', '.join(QUANTITIES)}"
                )
    raw = raw_of(source, arm, topic, progress, episodes)
    rate = checked_rate(rate)
    quantities = {group: find(raw, group, wanted.get(group), rate) for group in QUANTITIES}
    t = time_of(raw, quantities["t"], unit.get("t"), rate, rows_of(raw, quantities["q"], arm.n))
    if gains is None and quantities["tau"] is not None:
        del quantities["current"]
    arrays = {
        group: group_of(raw, group, quantity, arm, len(t), joint_names, unit.get(group))
        for group, quantity in quantities.items()
        if group not in ("t", "temperature") and quantity is not None
    }
    if (warm := quantities["temperature"]) is not None:
        try:
            arrays["temperature"] = temperature_of(raw, warm, arm, len(t), joint_names, unit.get("temperature"))
        except DalembertError as problem:
            if "temperature" in wanted or "temperature" in unit:
                raise
            raw.notes.append(f"{str(problem).rstrip('.')}; the temperature is left out")
    if "q" not in arrays:
        raise missing(raw, "q", "joint positions (q)")
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is infinite, and told as such
        _torque_from_current(raw, arrays, gains, arm.n, wanted)
    if "tau" not in arrays:
        if torque_needed:
            raise missing(raw, "tau", "joint torques (tau), nor a current with drive gains")
        arrays["tau"] = np.full_like(arrays["q"], np.nan)
    sides = tuple(motor_side.replace(",", " ").split()) if isinstance(motor_side, str) else tuple(motor_side)
    with np.errstate(all="ignore"):  # LAPACK divides by zero on the way to a determinant of 0
        _to_joint_side(raw, arrays, gears, sides, arm)
    if raw.runs is None:
        return _cleaned(raw, t, arrays, torque_needed, arm)
    return joined(
        [
            _cleaned(run, t[rows], {group: values[rows] for group, values in arrays.items()}, torque_needed, arm)
            for run, rows in _runs(raw)
        ]
    )


def _runs(raw: Raw) -> Iterator[tuple[Raw, slice]]:
    """The runs that a file holds, one after the other, and their rows; what is to be said of all stands with the first."""
    assert raw.runs is not None
    ends = [*(np.flatnonzero(np.diff(raw.runs)) + 1).tolist(), len(raw.runs)]
    for start, end in zip([0, *ends], ends, strict=False):
        source = f"{raw.source}{EPISODE}{raw.runs[start]}"
        yield replace(raw, source=source, notes=list(raw.notes) if not start else []), slice(start, end)


def raw_of(
    source: str | os.PathLike[str] | Mapping[str, ArrayLike],
    arm: Arm,
    topic: str | None = None,
    progress: Callable[[float], None] | None = None,
    episodes: Episodes | None = None,
) -> Raw:
    """What a file or a dict holds, before it is known what its names mean."""
    chosen = None if episodes is None else episodes_of(episodes)
    if isinstance(source, Mapping):
        if chosen is not None:
            raise DalembertError(
                "the log: episodes are asked for, but only LeRobot datasets have them, and this is a dict"
            )
        return Raw("the log", {str(name): values for name, values in source.items() if values is not None})
    if isinstance(source, str | os.PathLike):
        told = progress or (lambda fraction: None)
        return read(Path(source), Request(tuple(arm.joint_names), topic, told, chosen))
    raise DalembertError(
        f"a log is a path, or a dict of arrays t, q, qd, tau, not {type(source).__name__}; several make a list"
    )


def episodes_of(asked: Episodes) -> tuple[tuple[int, int], ...]:
    """The numbers asked for, as stretches (first, behind the last).

    >>> episodes_of("0:5, 7"), episodes_of([3, 1])
    (((0, 5), (7, 8)), ((3, 4), (1, 2)))
    """
    words = asked.split(",") if isinstance(asked, str) else asked if isinstance(asked, Sequence) else [asked]
    stretches = []
    for word in words:
        start, colon, end = (part.strip() for part in str(word).partition(":"))
        numbers = all(x.isascii() and x.isdecimal() and len(x) < 10 for x in (start, end) if x) and bool(start or colon)
        first = int(start or 0) if numbers else 0
        last = int(end or LAST_EPISODE) if colon and numbers else first + 1
        if not numbers or not first < last or isinstance(word, bool):
            raise DalembertError(
                f"episodes is {shown(asked)}; give numbers from 0, such as '0:5' (0 to 4), '1,4:6' or [0, 2]"
            )
        stretches.append((first, last))
    if not stretches:
        raise DalembertError("episodes is empty; leave it out for all, or give numbers from 0, such as '0:5'")
    return tuple(stretches)


def _torque_from_current(
    raw: Raw, arrays: dict[str, Array], gains: ArrayLike | None, n: int, wanted: Mapping[str, Any]
) -> None:
    current = arrays.pop("current", None)
    if current is not None and gains is not None and "tau" not in wanted:
        arrays["tau"] = current * per_joint("gains", gains, n)
        raw.note("torque is current times the drive gains")
    elif gains is not None:
        raise raw.wrong(f"drive gains are given, but there is no current in it; it has {names_of(raw)}")
    elif current is not None and "tau" not in arrays:
        raise raw.wrong(
            "it has motor currents and no torques: give the drive gains (N m/A), n numbers, as gains (--gains)"
        )


def per_joint(what: str, values: ArrayLike, n: int, *, matrix: bool = False) -> Array:
    """``values`` as n finite numbers; one number is for all, and with ``matrix`` n×n of them are well too."""
    try:
        given = np.asarray(values, float)
    except (TypeError, ValueError, OverflowError):
        given = np.empty(0)
    if given.ndim == 0:
        given = np.full(n, float(given))
    if given.shape not in ((n,), (n, n) if matrix else (n,)) or not np.isfinite(given).all():
        or_matrix = f", or a matrix of {n}×{n}" if matrix else ""
        raise ShapeError(f"{what} is {shown(values)}; it must be {n} finite numbers, one for each joint{or_matrix}")
    return given


def _to_joint_side(
    raw: Raw, arrays: dict[str, Array], gears: ArrayLike | None, motor_side: tuple[str, ...], arm: Arm
) -> None:
    for name in motor_side:
        if name not in ("q", "qd", "tau"):
            raise DalembertError(f"motor_side names '{name}'; it may name q, qd and tau")
    if not motor_side:
        if gears is not None:
            raise DalembertError(
                "gears are given, but motor_side does not say which of q, qd and tau are at the motor side"
            )
        return
    if gears is None:
        bare = [joint.name for joint in arm.robot.moving_joints if joint.rotor is None]
        if bare:
            raise raw.wrong(
                f"data at the motor side need gear ratios, and joint {bare[0]} of arm '{arm.name}' has none; give gears"
            )
        gears = [float(joint.rotor.gear) for joint in arm.robot.moving_joints if joint.rotor is not None]
    A = per_joint("gears", gears, arm.n, matrix=True)
    A = np.diag(A) if A.ndim == 1 else A
    if abs(np.linalg.det(A)) < 1e-12:
        raise DalembertError("the gear ratios cannot be inverted: every motor must turn when its joint turns")
    for name in motor_side:
        if name in arrays:
            arrays[name] = arrays[name] @ A if name == "tau" else arrays[name] @ np.linalg.inv(A).T
    raw.note(f"{', '.join(motor_side)} were brought from the motor side to the joint side")


# -- repairs -------------------------------------------------------------------------------------


def _cleaned(raw: Raw, t: Array, arrays: dict[str, Array], torque_needed: bool, arm: Arm) -> Log:
    """Rows that are no numbers dropped, repeated ones too; each repair counted in a note."""
    q, tau, qd = arrays["q"], arrays["tau"], arrays.get("qd")
    if qd is not None and not np.isfinite(qd).any(axis=0).all():
        empty = [arm.joint_names[j] for j in np.flatnonzero(~np.isfinite(qd).any(axis=0))]
        who = "" if len(empty) == arm.n else f" for {listed(empty)}"
        raw.note(f"qd holds no number at all{who} and is made from q")
        qd = None
    if not torque_needed:  # garbage in it costs no row
        tau = np.where(impossible(tau), np.nan, tau)
    rows = np.flatnonzero(_whole(raw, t, {"q": q, "qd": qd, "tau": tau if torque_needed else None}, arm))
    rows = rows[_in_order(raw, t[rows])]
    same_time = np.diff(t[rows]) == 0
    repeated = np.all([(np.diff(x[rows], axis=0) == 0).all(axis=1) for x in (q, tau, qd) if x is not None], axis=0)
    moving: Any = False
    if qd is not None:  # a row that says exactly what the last said, while the arm moves, was not sampled anew
        moving = np.abs(qd[rows[1:]]).max(axis=1) > 1e-3 * max(float(np.abs(qd[rows]).max()), 1e-12)
    repeated &= same_time | moving
    crowded = same_time & ~repeated
    if repeated.any():
        raw.note(f"{counted(int(repeated.sum()), 'row repeats', 'rows repeat')} the one before; dropped")
    if crowded.any():
        raw.note(
            f"{int(crowded.sum())} of {len(t)} rows have the time of the one before and other values, and were dropped; "
            "is t rounded?"
        )
    rows = np.concatenate([rows[:1], rows[1:][~(repeated | crowded)]])
    if len(rows) < FEWEST:
        raise raw.wrong(f"only {len(rows)} of {len(t)} rows differ from each other")
    back = int((np.diff(t[rows]) < 0).sum())
    if back:
        raw.note(f"time goes backwards {counted(back, 'time')}; what follows is taken as another run")
    q = _unwrapped(raw, arm, t[rows], q[rows])
    warm = _filled(raw, t, arrays.get("temperature"), rows)
    qd = None if qd is None else qd[rows]
    return Log(t[rows], q, tau[rows], qd, tuple(raw.notes), raw.source, t, rows, temperature=warm)


def _named_together(names: Sequence[str]) -> str:
    """The name of several runs; the dataset of several episodes is named once.

    >>> _named_together(["a.csv", "b.csv"]), _named_together(["arm, episode 0", "arm, episode 3"])
    ('a.csv, b.csv', 'arm, episodes 0, 3')
    """
    datasets = {name.rpartition(EPISODE)[0] for name in names}
    if len(datasets) > 1 or "" in datasets:
        return listed(list(names), 4)
    return f"{datasets.pop()}{EPISODE.rstrip()}s {listed([name.rpartition(EPISODE)[2] for name in names], 4)}"


def _filled(raw: Raw, t: Array, temperature: Array | None, rows: NDArray[np.intp]) -> Array | None:
    """The temperatures at some rows: those that are missing, since drives send them seldom, lie between their neighbours."""
    if temperature is None:
        return None
    with np.errstate(invalid="ignore"):
        good = np.isfinite(temperature) & (temperature > POSSIBLE[0]) & (temperature < POSSIBLE[1])
    if not good.any(axis=0).all():
        raw.note("the temperature of a joint holds no number that can be one; the temperature is left out")
        return None
    filled = temperature[rows]
    missing = ~good[rows]
    for j in np.flatnonzero(missing.any(axis=0)):
        there = np.flatnonzero(good[:, j])
        filled[missing[:, j], j] = np.interp(rows[missing[:, j]], there, temperature[there, j])
    if missing.any():
        raw.note(
            f"the temperature is missing in {int(missing.any(axis=1).sum())} rows and filled in between its neighbours"
        )
    return filled


def _unwrapped(raw: Raw, arm: Arm, t: Array, q: Array) -> Array:
    """q without the jumps of whole turns that drives make when they count an angle within one turn only."""
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
    for j in who:  # the turn in which the joint's limits lie
        limits = arm.robot.moving_joints[j].limits
        if limits.lower is not None and limits.upper is not None:
            middle = 0.5 * (float(limits.lower) + float(limits.upper))
            turns[:, j] += 2 * np.pi * np.round((middle - np.median(turns[:, j])) / (2 * np.pi))
    what = counted(int(jumps.sum()), "jump by a whole turn was", "jumps by whole turns were")
    raw.note(f"{what} taken out of q of {listed([arm.joint_names[j] for j in who])}")
    return turns


def _whole(raw: Raw, t: Array, arrays: Mapping[str, Array | None], arm: Arm) -> NDArray[np.bool_]:
    """Which rows hold numbers throughout; the others counted."""
    bad: dict[str, Any] = {"t": ~np.isfinite(t)}
    for group, values in arrays.items():
        if values is None:
            continue
        finite = np.isfinite(values)
        dead = np.flatnonzero(~finite.any(axis=0))
        if len(dead):
            raise raw.wrong(
                f"{group} of joint '{arm.joint_names[dead[0]]}' holds no number in any of its {len(t)} rows"
            )
        bad[group] = ~finite.all(axis=1)
    garbage = _garbage(raw, t, arrays, arm)
    for group, values in arrays.items():
        if values is None:
            continue
        finite = np.isfinite(values) & ~garbage[:, None]
        largest = np.abs(np.where(finite, values, 0.0)).max(axis=0)
        j = int(np.argmax(largest))
        if largest[j] > BEYOND:
            raise raw.wrong(
                f"{group} of joint '{arm.joint_names[j]}' reaches {largest[j]:.3g}; at most {BEYOND:g} is a "
                "number that a log can mean"
            )
    numbers: NDArray[np.bool_] = ~np.any(list(bad.values()), axis=0)
    whole = numbers & ~garbage
    counts = ", ".join(f"{int(rows.sum())} in {group}" for group, rows in bad.items() if rows.any())
    if whole.sum() < FEWEST:
        raise raw.wrong(
            f"only {int(whole.sum())} of {len(t)} rows hold numbers throughout; rows with NaN, inf or empty "
            f"cells: {counts}"
        )
    if not numbers.all():
        raw.note(f"{int((~numbers).sum())} of {len(t)} rows hold NaN, inf or an empty cell ({counts}) and were dropped")
    return whole


def _garbage(raw: Raw, t: Array, arrays: Mapping[str, Array | None], arm: Arm) -> NDArray[np.bool_]:
    """Which rows hold finite numbers that no arm can have; a few are counted, many are an error."""
    garbage = garbage_in(t, arrays)
    if garbage is None:
        return np.zeros(len(t), bool)
    what = "t" if garbage.group == "t" else f"{garbage.group} of joint '{arm.joint_names[garbage.column]}'"
    count, told = int(garbage.rows.sum()), f"{what} reaches {garbage.value:.3g}"
    if garbage.many:
        raise raw.wrong(
            f"{count} of {len(t)} rows hold values that no arm can have: {told}; at most {100 * MOST:g} % of the rows may "
            "hold such garbage, and are dropped: is this column another quantity (columns)?"
        )
    raw.note(f"{count} of {len(t)} rows hold values that no arm can have ({told}) and were dropped")
    return garbage.rows


def _in_order(raw: Raw, t: Array) -> NDArray[np.intp] | slice:
    """An order in which time goes forwards, for a log whose rows are mixed up; runs one after another stay."""
    steps = np.diff(t)
    back = steps[steps < 0]
    if not len(back):
        return slice(None)
    usual = float(np.median(np.abs(steps[steps != 0])))
    if len(t) / (len(back) + 1) >= SHUFFLED and -back.min() > SHUFFLED * usual:
        return slice(None)
    raw.note(f"its rows are not in the order of time ({len(back)} steps back) and were sorted")
    return np.argsort(t, kind="stable")


__all__ = ["SPELLINGS", "Log", "episodes_of", "joined", "per_joint", "raw_of", "read_log"]
