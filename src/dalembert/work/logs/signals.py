"""The meaning of a file's arrays: which is t, q, qd, tau or current, in which unit, and to which joints they belong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array, number
from dalembert.base.tables.signal_columns import TIME, celsius, factors, listed_words, matched
from dalembert.base.wording import nearest, some
from dalembert.errors import DalembertError, ShapeError
from dalembert.work.logs.formats.raw import Raw, seconds
from dalembert.work.logs.log_units import sliding_joints

LONGEST_STEP = 0.15  # s: samples further apart than this are not a log of a motion
SHORTEST_STEP = 1e-5  # s: neither are samples closer than this
SINCE_1970 = (1e9, 4.2e9)  # s: between 2001 and 2103
AGREES = 0.02  # relative tolerance between the usual step and 1/rate
FEWEST = 10  # rows
HOTTEST = 200.0  # °C: no drive is warmer


@dataclass
class SignalColumns:
    """A quantity as stored in a file; unit: the ending of its name, units: those of its columns."""

    name: str
    values: Any
    joints: tuple[str, ...] | None = None
    unit: str | None = None
    units: tuple[str | None, ...] = ()


def missing(raw: Raw, group: str, what: str) -> DalembertError:
    """The error for a quantity that a file does not contain."""
    without = (
        "; without torques, measured='position' (--measured position) identifies from positions"
        if group == "tau"
        else ""
    )
    if raw.roles and group == "tau":
        return raw.wrong(
            f"this LeRobot dataset has no {what}; its features are {raw.contents}; record torques or motor currents, such "
            f"as observation.effort, or name the feature that holds them with columns (--column tau=NAME){without}"
        )
    return raw.wrong(
        f"it has no {what}; it has {raw.contents}; name the right one with columns (--column {group}=NAME){without}"
    )


def find(raw: Raw, group: str, wanted: Any, rate: float | None = None) -> SignalColumns | None:
    """A quantity under the name given by the user, or under a known name; with a ``rate``, t may be missing."""
    if wanted is not None:
        return _assigned(raw, group, wanted)
    if not raw.headed:
        if group == "q" or (group == "t" and rate is None):
            raise raw.wrong(
                f"the file has no header; assign its {raw.contents}, counted from 0, to quantities, such as "
                'columns={"t": 0, "q": "1:7", "tau": "7:13"} (--column t=0 --column q=1:7 …); without a time column, '
                "give the sampling rate in Hz, such as rate=500 (--rate 500), instead of t"
            )
        return None
    if raw.roles:
        return _named(raw, raw.roles[group]) if group in raw.roles else None
    names = raw.meaning(group)
    if not names:
        return None
    name, unit = names[0]
    if len(names) > 1 and group != "t":
        raw.note(f"{some([candidate for candidate, _ in names])} could all be {group}; {name} was read")
    return _named(raw, name, unit)


def _named(raw: Raw, name: str, unit: str | None = None) -> SignalColumns:
    units = tuple(raw.units.get(column) for column in raw.groups.get(name, ()))
    return SignalColumns(name, raw.values(name), raw.joints.get(name), unit, units)


def _assigned(raw: Raw, group: str, wanted: Any) -> SignalColumns:
    """The quantity named by ``columns``: an array, columns of an array, or columns of the table by name or number."""
    if isinstance(wanted, str) and wanted in raw.names:
        return _named(raw, wanted)
    words = listed_words(wanted)
    label = ",".join(map(str, words))
    if isinstance(wanted, str) and (part := re.fullmatch(r"(.+)\[([-\d: ]+)\]", wanted)) and part[1] in raw.names:
        matrix = np.asarray(raw.values(part[1]))
        if matrix.ndim != 2:
            raise raw.wrong(f"{part[1]} has shape {matrix.shape}; {wanted} needs a matrix", ShapeError)
        return SignalColumns(wanted, matrix[:, raw.numbered(group, part[2], matrix.shape[1])])
    if raw.table is None:
        unknown = [word for word in words if word not in raw.arrays]
        if unknown:
            hint = nearest(str(unknown[0]), raw.names)
            raise raw.wrong(f"it has no '{unknown[0]}' for {group}; it has {raw.contents}{hint}")
        try:
            return SignalColumns(label, np.column_stack([raw.values(word) for word in words]))
        except DalembertError:
            raise
        except (TypeError, ValueError) as error:
            raise raw.wrong(f"{label:.60} cannot be combined into {group} ({error})", ShapeError) from None
    at = raw.assigned(group, wanted, raw.table.shape[1])
    return SignalColumns(label, raw.columns(at), units=tuple(raw.units.get(column) for column in at))


# -- values ----------------------------------------------------------------------------------------


def numeric(raw: Raw, quantity: SignalColumns) -> Array:
    """The values of a quantity as numbers; dates become seconds since 1970."""
    try:
        values = np.asarray(quantity.values)
        if values.dtype.kind == "M":
            return seconds(values)
        if values.dtype.kind in "cUSV":
            raise ValueError
        with np.errstate(invalid="ignore"):  # signalling NaNs become quiet NaNs
            numbers = np.asarray(values, float)
            return np.where(np.isnan(numbers), np.nan, numbers) if np.isnan(numbers).any() else numbers
    except (TypeError, ValueError, OverflowError):
        raise raw.wrong(f"{quantity.name} is not an array of numbers", ShapeError) from None


def checked_rate(rate: Any) -> float | None:
    """The sampling rate of a log (Hz), if given."""
    if rate is None:
        return None
    value = number("rate", rate)
    if not 0.0 < value <= 1.0 / SHORTEST_STEP:
        raise DalembertError(
            f"rate is {value:g}; it is the sampling rate in Hz, and must be above 0 and at most {1.0 / SHORTEST_STEP:g}"
        )
    return value


def time_of(raw: Raw, time: SignalColumns | None, unit: str | None, rate: float | None = None, count: int = 0) -> Array:
    """t in s, from the unit given by the user, the unit in its name, or the only plausible unit.

    rate   sampling rate (Hz): t = k/rate for the ``count`` rows of a log without time
    """
    if time is None and rate is not None:
        if unit is not None:
            raise raw.wrong(f"the time unit is given as '{unit}', but there is no time (t); rate, in Hz, is sufficient")
        _check_count(raw, count)
        raw.note(f"there are no time stamps; a sampling rate of {rate:g} Hz is used")
        return np.arange(count) / rate
    if time is None:
        raise raw.wrong(
            f"it has no time (t); it has {raw.contents}; name it with columns (--column t=NAME), or, for a log without "
            "time stamps, give its sampling rate in Hz, such as rate=500 (--rate 500)"
        )
    t = numeric(raw, time)
    t = t.reshape(-1) if t.size == max(t.shape, default=0) else t
    if t.ndim != 1:
        raise raw.wrong(f"t has shape {t.shape}; it must be (N,), with one entry per instant", ShapeError)
    _check_count(raw, len(t))
    finite = t[np.isfinite(t)]
    if len(finite) < FEWEST:
        raise raw.wrong(f"only {len(finite)} of {len(t)} rows have a valid time ({time.name})")
    steps = np.diff(finite)
    steps = np.diff(np.sort(finite)) if 10 * (steps < 0).sum() > len(steps) else np.abs(steps)
    if not steps.any():
        if rate is not None:
            raw.note(f"{time.name} is {finite[0]:.10g} in all rows, so it is not a time; a rate of {rate:g} Hz is used")
            return np.arange(len(t)) / rate
        rounded = "; is it written with too few digits?" if abs(finite[0]) > 1e6 else ""
        raise raw.wrong(f"all {len(finite)} rows have the same time, {time.name} = {finite[0]:.10g}{rounded}")
    step, middle = float(np.median(steps[steps > 0])), abs(float(np.median(finite)))
    unit = unit or next(iter(time.units), None) or time.unit
    if rate is not None:
        return _rated(raw, time.name, t, step, unit, rate)
    if unit is None:
        unit = next((u for u in ("ms", "us", "ns") if SINCE_1970[0] < middle * TIME[u] < SINCE_1970[1]), None)
        if unit is not None:
            raw.note(f"{time.name} is read as {unit} since 1970")
    if unit is None and step > LONGEST_STEP:
        like = min(("ms", "us", "ns"), key=lambda u: abs(np.log(step * TIME[u] / 4e-3)))
        counts = ", or give the sampling rate in Hz (--rate) if it counts the rows" if _counts(finite, step) else ""
        raise raw.wrong(
            f"the samples are {step:g} s apart, which looks like {like}; give time_unit='{like}' if that is right, or 's' if "
            f"not{counts}"
        )
    scale = _seconds_per(raw, unit or "s")
    if step * scale < SHORTEST_STEP:
        raise raw.wrong(
            f"the samples are {step * scale:g} s apart with {time.name} in {unit or 's'}, which is implausible for a log of "
            "an arm; give another time_unit: s, ms, us or ns"
        )
    return t * scale


def _seconds_per(raw: Raw, unit: str) -> float:
    return float(factors(raw.source, "t", [unit], [None])[0][0])


def _check_count(raw: Raw, count: int) -> None:
    if count < FEWEST:
        raise raw.wrong(f"it has {count} rows; at least {FEWEST} are needed")


def _counts(t: Array, step: float) -> bool:
    """Whether these are row numbers instead of times."""
    return step == 1.0 and bool((t == np.round(t)).all())


def _rated(raw: Raw, name: str, t: Array, step: float, unit: str | None, rate: float) -> Array:
    """Time stamps of a log with a given rate: they must agree with it, in the given unit or in any, or count rows."""
    scales = TIME if unit is None else {unit: _seconds_per(raw, unit)}
    agreeing = next((u for u, scale in scales.items() if abs(step * scale * rate - 1.0) <= AGREES), None)
    if agreeing is not None:
        if unit is None and agreeing != "s":
            raw.note(f"{name} is read in {agreeing}, which agrees with the rate of {rate:g} Hz")
        return t * scales[agreeing]
    if unit is None and _counts(t[np.isfinite(t)], step):
        raw.note(f"{name} counts the rows and was divided by the rate of {rate:g} Hz")
        return t / rate
    own = 1.0 / (step * (1.0 if unit is None else scales[unit]))
    raise raw.wrong(
        f"rate is {rate:g} Hz, but {name} gives {own:.6g} Hz; omit rate (rate=None), or {name} if it is not a time"
    )


def rows_of(raw: Raw, quantity: SignalColumns | None, n: int) -> int:
    """Number of instants of a quantity of n joints, which may be transposed."""
    shape = () if quantity is None else numeric(raw, quantity).shape
    return 0 if not shape else shape[1] if len(shape) == 2 and shape[0] == n != shape[1] else shape[0]


def group_of(
    raw: Raw, group: str, quantity: SignalColumns, arm: Arm, count: int, names: Sequence[str] | None, unit: str | None
) -> Array:
    """One quantity as (N, n) in SI, with columns in the order of the arm's joints."""
    values, name = numeric(raw, quantity), quantity.name
    if values.ndim == 1 and (arm.n == 1 or count == 1):
        values = values[:, None]
    if values.ndim == 2 and values.shape[1] == count != values.shape[0]:
        values = values.T
        raw.note(f"{name} has one column per instant and was transposed")
    if values.ndim != 2 or len(values) != count:
        raise raw.wrong(
            f"{name} has shape {values.shape}; it must be ({count}, {arm.n}), with one row per t", ShapeError
        )
    joints, order = tuple(names) if names is not None else quantity.joints, list(range(arm.n))
    if joints is None:
        same_count(arm, values.shape[1], raw.source, name)
    else:
        if len(joints) != values.shape[1]:
            raise raw.wrong(
                f"{name} has {values.shape[1]} columns, but {len(joints)} joint names are given", ShapeError
            )
        remedy = "; give the names in the order of the log as joint_names (--joints)"
        order, notes = joint_order(raw.source, "log", joints, arm, remedy)
        values = values[:, order]
        raw.notes += notes if group == "q" else []
    own = [quantity.units[k] for k in order] if any(quantity.units) else [quantity.unit] * arm.n
    stated = unit or (None if any(quantity.units) else quantity.unit)
    if stated is None and not any(own):
        if name in raw.doubts:
            raise DalembertError(raw.doubts[name])
        return values
    factor, notes = factors(raw.source, group, own, sliding_joints(arm), stated)
    raw.notes += [f"{raw.source}: {name} {note}" for note in notes]
    with np.errstate(over="ignore"):  # overflow gives infinities, which are reported
        return values * factor


def temperature_of(
    raw: Raw, quantity: SignalColumns, arm: Arm, count: int, names: Sequence[str] | None, unit: str | None
) -> Array:
    """Temperatures (N, n) in °C; a single column applies to all joints."""
    values = numeric(raw, quantity)
    if values.size == count and values.ndim in (1, 2):
        offset = celsius(raw.source, [unit or next(iter(quantity.units), None) or quantity.unit])
        values = np.repeat(values.reshape(count, 1), arm.n, axis=1) + offset
    else:
        own = [unit or x or quantity.unit for x in quantity.units or [None] * values.shape[-1]]
        plain = SignalColumns(quantity.name, values + celsius(raw.source, own), quantity.joints)
        values = group_of(raw, "temperature", plain, arm, count, names, None)
    stated = unit or quantity.unit or any(quantity.units)
    middle = float(np.nanmedian(values)) if np.isfinite(values).any() else 0.0
    if not stated and middle > HOTTEST:
        raise raw.wrong(
            f"{quantity.name} has a median of {middle:.4g}, which looks like kelvin; give units={{'temperature': 'K'}} "
            "(--unit temperature=K) if it is, 'degC' if not"
        )
    return values


def joint_order(source: str, what: str, joints: Sequence[str], arm: Arm, remedy: str) -> tuple[list[int], list[str]]:
    """The columns of the arm's joints in the order of the arm, and notes on them."""
    order = matched(arm.joint_names, joints)
    if order is None:
        missing = next((joint for joint in arm.joint_names if joint not in joints), arm.joint_names[0])
        raise DalembertError(
            f"{source}: joint '{missing}' of arm '{arm.name}' is not in the {what}, whose joints are "
            f"{some(joints)}{nearest(missing, joints)}{remedy}"
        )
    used, notes = [joints[k] for k in order], []
    beyond = [joint for joint in joints if joint not in used]
    if used != list(arm.joint_names):
        notes.append(f"{source}: {some(used)} are used for {some(arm.joint_names)}")
    if beyond:
        notes.append(f"{source}: the joints {some(beyond)} do not belong to the arm and were left out")
    return order, notes


def same_count(arm: Arm, count: int, source: str, name: str = "q") -> None:
    """Refuse a log whose number of joints differs from that of the arm."""
    if count != arm.n:
        raise ShapeError(
            f"{source}: {name} has {count} joints, but arm '{arm.name}' has {arm.n}: {', '.join(arm.joint_names)}"
        )
