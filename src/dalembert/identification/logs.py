"""Logs of a moving arm: read, named, brought to the joint side, with every repair counted and said.

A log is t (s), q, perhaps qd, and torque or motor current: from CSV, npz, Parquet, a ROS bag or MCAP
file with JointState messages, or a dict of arrays. Nothing is filtered here.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.errors import DalembertError, ShapeError
from dalembert.robot.tables import nearest

Array = NDArray[np.float64]

# what each quantity may be called in a file, in lower case; the first that is found is taken
SPELLINGS: dict[str, tuple[str, ...]] = {
    "t": ("t", "time", "stamp", "timestamp", "time_s", "t_s", "t_ms", "t_us", "t_ns", "time_ms", "time_us", "time_ns"),
    "q": ("q", "position", "positions", "pos", "joint_position", "joint_positions", "actual_q"),
    "qd": ("qd", "dq", "qdot", "velocity", "velocities", "vel", "joint_velocity", "joint_velocities", "actual_qd"),
    "tau": ("tau", "torque", "torques", "effort", "efforts", "joint_torque", "joint_torques"),
    "current": ("current", "currents", "i", "motor_current", "motor_currents", "actual_current"),
}
NUMBERED = ("q", "qd", "tau", "current")
TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
EMPTY = ("", "nan", "na", "n/a", "null", "none")
LONGEST_STEP = 0.5  # s: samples further apart than this are no log of a motion


@dataclass(frozen=True, eq=False)
class Log:
    """A run of an arm, at the joint side and in SI units: t (N,), q and tau (N, n), qd (N, n) where logged.

    notes   what was found and done, one sentence each
    source  the file it came from
    """

    t: Array
    q: Array
    tau: Array
    qd: Array | None = None
    notes: tuple[str, ...] = field(default=())
    source: str = "the log"

    def __len__(self) -> int:
        return len(self.t)

    @property
    def n(self) -> int:
        """How many joints it has."""
        return self.q.shape[1]

    def part(self, start: float, end: float) -> Log:
        """The log between two fractions of its duration, such as ``part(0.0, 0.5)``: its first half."""
        span = self.t[-1] - self.t[0]
        keep = (self.t >= self.t[0] + start * span) & (self.t <= self.t[0] + end * span)
        qd = None if self.qd is None else self.qd[keep]
        return replace(self, t=self.t[keep], q=self.q[keep], tau=self.tau[keep], qd=qd)


@dataclass
class _Raw:
    """What a file holds, before anything is decided about it."""

    arrays: dict[str, Array]
    joints: tuple[str, ...] | None
    source: str
    notes: list[str]


def read_log(
    source: str | os.PathLike[str] | Mapping[str, ArrayLike] | Log,
    arm: Arm,
    *,
    columns: Mapping[str, str] | None = None,
    gains: ArrayLike | None = None,
    gears: ArrayLike | None = None,
    motor_side: Iterable[str] = (),
    time_unit: str | None = None,
    joint_names: Sequence[str] | None = None,
    torque_needed: bool = True,
) -> Log:
    """A log for ``arm``: a path, or a dict of arrays ``t, q, qd, tau`` (or ``current`` with ``gains``).

    columns       what a quantity is called in the file: ``{"q": "q_mot", "tau": "tau_motor"}``
    gains         drive gains, N m at the joint (at the motor, if "tau" is in motor_side) per ampere
    gears         motor turns per joint turn: n numbers, or the n×n matrix A of q_motor = A q_joint
                  for coupled drives; the arm's own gears unless given
    motor_side    which of "q", "qd", "tau" are at the motor side: q_joint = A⁻¹ q_motor, τ_joint = Aᵀ τ_motor
    time_unit     of t: "s", "ms", "us" or "ns"; by the column's name, or s
    joint_names   the names of the log's columns in their order, where the file does not say
    torque_needed False lets a log pass that has no torque (its tau is NaN)
    """
    if isinstance(source, Log):
        _same_count(arm, source.q.shape[1], source.source)
        return source
    if isinstance(source, Mapping):
        raw = _Raw({str(k): np.asarray(v) for k, v in source.items()}, None, "the log", [])
    else:
        raw = _read(Path(source))
    if joint_names is not None:
        raw.joints = tuple(joint_names)
    wanted = dict(columns or {})
    for group in wanted:
        if group not in SPELLINGS:
            raise DalembertError(
                f"columns names '{group}', which is no quantity of a log; known are t, q, qd, tau, current"
            )
    found = {group: _pick(raw, group, wanted.get(group)) for group in SPELLINGS}
    t = _time(raw, found["t"], time_unit)
    arrays = {group: _group(raw, group, found[group], arm, len(t)) for group in NUMBERED if found[group] is not None}
    if "q" not in arrays:
        raise DalembertError(f"{raw.source}: it has no joint positions (q); it has {_listed(raw.arrays)}")
    _torque_from_current(raw, arrays, gains, arm.n, wanted)
    if "tau" not in arrays:
        if torque_needed:
            raise DalembertError(
                f"{raw.source}: it has no joint torques (tau), nor a current with drive gains; it has {_listed(raw.arrays)}"
            )
        arrays["tau"] = np.full_like(arrays["q"], np.nan)
    _to_joint_side(raw, arrays, gears, tuple(motor_side), arm)
    return _cleaned(raw, t, arrays, torque_needed)


# -- files ---------------------------------------------------------------------------------------


def _read(path: Path) -> _Raw:
    suffix = path.suffix.lower()
    if not path.exists():
        raise DalembertError(f"{path}: there is no such file")
    if path.is_dir() or suffix in (".bag", ".db3"):
        return _read_bag(path)
    readers: dict[str, Callable[[Path], _Raw]] = {
        ".csv": _read_csv, ".txt": _read_csv, ".npz": _read_npz, ".parquet": _read_parquet, ".mcap": _read_mcap,
    }  # fmt: skip
    if suffix not in readers:
        raise DalembertError(
            f"{path}: a log is a .csv, .npz, .parquet, .bag, .db3 or .mcap file or a ROS bag folder, not '{suffix}'"
        )
    try:
        return readers[suffix](path)
    except OSError as error:
        raise DalembertError(f"{path}: the file cannot be read ({error.strerror or error})") from None


def _read_npz(path: Path) -> _Raw:
    from zipfile import BadZipFile

    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (BadZipFile, ValueError, EOFError) as error:
        raise DalembertError(f"{path}: this is no npz file of plain arrays ({error})") from None
    joints = arrays.pop("joint_names", None)
    return _Raw(arrays, None if joints is None else tuple(map(str, joints)), str(path), [])


def _read_csv(path: Path) -> _Raw:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            head = file.readline(1 << 20)
            delimiter = max(",;\t", key=head.count)
            if not head.count(delimiter):
                raise DalembertError(
                    f"{path}: the first line is no header of a table: it has no comma, semicolon or tab"
                )
            names = [name.strip() for name in next(csv.reader([head], delimiter=delimiter))]
            rows = file.read().splitlines()
    except UnicodeDecodeError:
        raise DalembertError(f"{path}: this is not a text file in UTF-8, so no CSV can be read from it") from None
    rows = [row for row in rows if row.strip()]
    if not rows:
        raise DalembertError(f"{path}: the file has a header but no rows")
    try:
        table = np.loadtxt(rows, delimiter=delimiter, comments=None, ndmin=2)
    except ValueError:
        table = _slow_rows(path, rows, delimiter, len(names))
    if table.shape[1] != len(names):
        raise DalembertError(f"{path}: the rows have {table.shape[1]} values, but the header has {len(names)} columns")
    return _tabled(names, table, str(path))


def _slow_rows(path: Path, rows: list[str], delimiter: str, width: int) -> Array:
    """Rows with empty cells, which become NaN; what is neither a number nor empty is an error."""
    table = np.empty((len(rows), width))
    for k, cells in enumerate(csv.reader(rows, delimiter=delimiter)):
        if len(cells) != width:
            raise DalembertError(
                f"{path}, line {k + 2}: the row has {len(cells)} values, but the header has {width} columns"
            )
        for j, cell in enumerate(cells):
            word = cell.strip()
            try:
                table[k, j] = np.nan if word.lower() in EMPTY else float(word)
            except ValueError:
                raise DalembertError(f"{path}, line {k + 2}, column {j + 1}: '{word:.40}' is not a number") from None
    return table


def _read_parquet(path: Path) -> _Raw:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError:
        raise DalembertError(f"{path}: Parquet files need pyarrow: pip install 'dalembert[identify]'") from None
    try:
        table = parquet.read_table(path)
    except ArrowInvalid as error:
        raise DalembertError(f"{path}: this is no Parquet file ({str(error).splitlines()[0]})") from None
    columns: dict[str, Array] = {}
    for name in table.column_names:
        values = table.column(name).to_numpy()
        columns[name] = np.stack(values.tolist()) if values.dtype == object else values
    flat = {name: column for name, column in columns.items() if column.ndim == 1}
    whole = {name: column for name, column in columns.items() if column.ndim > 1}
    raw = _tabled(list(flat), np.column_stack([c.astype(float) for c in flat.values()]), str(path)) if flat else None
    return _Raw({**(raw.arrays if raw else {}), **whole}, raw.joints if raw else None, str(path), [])


_NUMBERED = re.compile(r"(.*?)[_\[ .]?(\d{1,3})\]?")


def _tabled(names: list[str], table: Array, source: str) -> _Raw:
    """Columns q1 q2 …, q_0 q_1 …, position.joint_a …, joint_a/position … gathered into arrays by quantity."""
    spelled = {word: group for group, words in SPELLINGS.items() for word in words}
    arrays: dict[str, Array] = {}
    joints: dict[str, dict[str, int]] = {}
    numbered: dict[str, dict[int, int]] = {}
    for column, name in enumerate(names):
        lower = name.lower()
        if lower in spelled and spelled[lower] == "t":
            arrays[name] = table[:, column]
            continue
        pieces = re.split(r"[./:]", name)
        quantity = next((p for p in pieces if spelled.get(p.lower(), "t") != "t"), None)
        if len(pieces) > 1 and quantity is not None:
            who = ".".join(p for p in pieces if p != quantity)
            joints.setdefault(quantity, {})[who] = column
        elif found := _NUMBERED.fullmatch(name):
            numbered.setdefault(found[1], {})[int(found[2])] = column
        else:
            arrays[name] = table[:, column]
    for stem, at in numbered.items():
        first = min(at)
        if sorted(at) == list(range(first, first + len(at))) and first in (0, 1):
            arrays[stem] = table[:, [at[k] for k in sorted(at)]]
        else:
            wrong = sorted(set(range(min(first, 1), max(at) + 1)) - set(at))
            raise DalembertError(f"{source}: of the columns {stem}1, {stem}2, … number {wrong[0]} is missing")
    order: tuple[str, ...] | None = None
    for quantity, by_name in joints.items():
        order = order or tuple(by_name)
        if set(by_name) != set(order):
            odd = sorted(set(by_name) ^ set(order))[0]
            raise DalembertError(f"{source}: joint '{odd}' does not have all of the quantities that other joints have")
        arrays[quantity] = table[:, [by_name[name] for name in order]]
    return _Raw(arrays, order, source, [])


def _joint_states(messages: Iterable[tuple[float, Any]], source: str) -> _Raw:
    """JointState messages, each with its stamp, as arrays; the names of the first message give the order."""
    times, rows = [], {"position": list[Any](), "velocity": list[Any](), "effort": list[Any]()}
    joints: tuple[str, ...] = ()
    other = 0
    for stamp, message in messages:
        names = tuple(message.name)
        joints = joints or names
        if set(names) != set(joints):
            other += 1
            continue
        order = [names.index(name) for name in joints]
        times.append(stamp)
        for group, listed in rows.items():
            values = list(getattr(message, group))
            listed.append([values[k] for k in order] if len(values) == len(names) else None)
    if not times:
        raise DalembertError(f"{source}: it has no sensor_msgs/JointState messages")
    arrays = {"t": np.asarray(times) - times[0]}
    for group, listed in rows.items():
        if all(row is not None for row in listed):
            arrays[group] = np.asarray(listed, float)
    notes = (
        [f"{source}: {other} JointState messages of other joints than {_listed(joints)} were left out"] if other else []
    )
    return _Raw(arrays, joints, source, notes)


def _stamp(message: Any, logged: int) -> float:
    """The header's stamp, or where that was left empty the time of logging (s)."""
    stamp = message.header.stamp
    seconds = getattr(stamp, "sec", 0)
    nanos = getattr(stamp, "nanosec", getattr(stamp, "nanosecs", getattr(stamp, "nsec", 0)))
    return seconds + 1e-9 * nanos if seconds or nanos else 1e-9 * logged


def _read_bag(path: Path) -> _Raw:
    """A ROS 1 bag, or the folder (or one .db3 file) of a ROS 2 bag, through ``rosbags``."""
    try:
        from rosbags.highlevel import AnyReader, AnyReaderError
        from rosbags.rosbag1 import ReaderError as Reader1Error
        from rosbags.rosbag2 import ReaderError as Reader2Error
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise DalembertError(f"{path}: ROS bags need the reader rosbags: pip install 'dalembert[identify]'") from None
    folder = path.parent if path.suffix.lower() == ".db3" else path
    try:
        with AnyReader([folder], default_typestore=get_typestore(Stores.LATEST)) as reader:
            chosen = [c for c in reader.connections if c.msgtype.endswith("/JointState")]
            if not chosen:
                raise DalembertError(
                    f"{path}: the bag has no JointState messages; it has {_listed(sorted(reader.topics))}"
                )
            topic = max({c.topic for c in chosen}, key=lambda name: reader.topics[name].msgcount)
            states = (
                (_stamp(message, logged), message)
                for connection, logged, data in reader.messages([c for c in chosen if c.topic == topic])
                for message in (reader.deserialize(data, connection.msgtype),)
            )
            raw = _joint_states(states, str(path))
    except (AnyReaderError, Reader1Error, Reader2Error) as error:
        raise DalembertError(f"{path}: this ROS bag cannot be read ({error})") from None
    topics = sorted({c.topic for c in chosen})
    if len(topics) > 1:
        raw.notes.append(f"{path}: of the topics {_listed(topics)} the fullest, {topic}, was read")
    return raw


def _read_mcap(path: Path) -> _Raw:
    """One MCAP file with ROS 2 (CDR) or ROS 1 JointState messages, or JSON messages of the same fields."""
    try:
        from mcap.exceptions import McapError
        from mcap.reader import make_reader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise DalembertError(f"{path}: MCAP files need the reader mcap: pip install 'dalembert[identify]'") from None
    import json
    from types import SimpleNamespace

    store = get_typestore(Stores.LATEST)
    ros1 = get_typestore(Stores.ROS1_NOETIC)

    def messages(stream: Any) -> Iterable[tuple[float, Any]]:
        for schema, channel, message in make_reader(stream).iter_messages():
            if schema is None or not schema.name.endswith("JointState"):
                continue
            if channel.message_encoding == "cdr":
                state: Any = store.deserialize_cdr(message.data, "sensor_msgs/msg/JointState")
            elif channel.message_encoding == "ros1":
                state = ros1.deserialize_ros1(message.data, "sensor_msgs/msg/JointState")
            elif channel.message_encoding == "json":
                fields = json.loads(message.data, object_hook=lambda d: SimpleNamespace(**d))
                state = SimpleNamespace(
                    name=fields.name,
                    header=getattr(fields, "header", SimpleNamespace(stamp=SimpleNamespace(sec=0))),
                    **{key: getattr(fields, key, []) for key in ("position", "velocity", "effort")},
                )
            else:
                raise DalembertError(
                    f"{path}: its JointState messages are encoded as '{channel.message_encoding}'; known are cdr, ros1 and json"
                )
            yield _stamp(state, message.log_time), state

    try:
        with path.open("rb") as stream:
            return _joint_states(messages(stream), str(path))
    except McapError as error:
        raise DalembertError(f"{path}: this MCAP file cannot be read ({error})") from None


# -- what the arrays are -------------------------------------------------------------------------


def _pick(raw: _Raw, group: str, named: str | None) -> str | None:
    """The name under which the file has a quantity."""
    if named is not None:
        if named not in raw.arrays:
            raise DalembertError(
                f"{raw.source}: it has no '{named}' for {group}; it has {_listed(raw.arrays)}{nearest(named, list(raw.arrays))}"
            )
        return named
    by_lower = {name.lower(): name for name in raw.arrays}
    return next((by_lower[word] for word in SPELLINGS[group] if word in by_lower), None)


def _time(raw: _Raw, name: str | None, unit: str | None) -> Array:
    if name is None:
        raise DalembertError(f"{raw.source}: it has no time (t); it has {_listed(raw.arrays)}")
    if unit is not None and unit not in TIME_UNITS:
        raise DalembertError(f"time_unit is '{unit}'; known are {', '.join(TIME_UNITS)}")
    ending = name.lower().rpartition("_")[2]
    if unit is None and name.lower() != ending and ending in TIME_UNITS:
        unit = ending
    t = np.asarray(raw.arrays[name], float).squeeze() * TIME_UNITS[unit or "s"]
    if t.ndim != 1 or len(t) < 2:
        raise ShapeError(f"{raw.source}: t has shape {t.shape}; it must be (N,), with two instants or more")
    step = float(np.nanmedian(np.abs(np.diff(t))))
    if unit is None and step > LONGEST_STEP:
        like = min(("ms", "us", "ns"), key=lambda u: abs(np.log(step * TIME_UNITS[u] / 4e-3)))
        raise DalembertError(
            f"{raw.source}: the samples are {step:g} s apart, which looks like {like}; say time_unit='{like}' if it is"
        )
    return t


def _group(raw: _Raw, group: str, name: str | None, arm: Arm, count: int) -> Array:
    """One quantity as (N, n), its columns in the order of the arm's joints."""
    assert name is not None
    try:
        values = np.asarray(raw.arrays[name], float)
    except (TypeError, ValueError):
        raise ShapeError(f"{raw.source}: {name} is not an array of numbers") from None
    values = values[:, None] if values.ndim == 1 and arm.n == 1 else values
    if values.ndim != 2 or len(values) != count:
        raise ShapeError(
            f"{raw.source}: {name} has shape {values.shape}; it must be ({count}, {arm.n}), a row for each t"
        )
    if raw.joints is None:
        _same_count(arm, values.shape[1], raw.source, name)
        return values
    if len(raw.joints) != values.shape[1]:
        raise ShapeError(
            f"{raw.source}: {name} has {values.shape[1]} columns, but {len(raw.joints)} joint names are given"
        )
    missing = [joint for joint in arm.joint_names if joint not in raw.joints]
    if missing:
        raise DalembertError(
            f"{raw.source}: joint '{missing[0]}' of arm '{arm.name}' is not in the log, whose joints are "
            f"{_listed(raw.joints)}{nearest(missing[0], raw.joints)}"
        )
    beyond = [joint for joint in raw.joints if joint not in arm.joint_names]
    if beyond and group == "q":
        raw.notes.append(f"{raw.source}: the joints {_listed(beyond)} are not the arm's and were left out")
    return values[:, [raw.joints.index(joint) for joint in arm.joint_names]]


def _same_count(arm: Arm, count: int, source: str, name: str = "q") -> None:
    if count != arm.n:
        raise ShapeError(
            f"{source}: {name} has {count} joints, but arm '{arm.name}' has {arm.n}: {', '.join(arm.joint_names)}"
        )


def _torque_from_current(
    raw: _Raw, arrays: dict[str, Array], gains: ArrayLike | None, n: int, wanted: Mapping[str, str]
) -> None:
    current = arrays.pop("current", None)
    if current is not None and gains is not None and "tau" not in wanted:
        arrays["tau"] = current * per_joint("gains", gains, n)
        raw.notes.append(f"{raw.source}: torque is current times the drive gains")
    elif gains is not None:
        raise DalembertError(
            f"{raw.source}: drive gains are given, but there is no current in it; it has {_listed(raw.arrays)}"
        )
    elif current is not None and "tau" not in arrays:
        raise DalembertError(
            f"{raw.source}: it has motor currents and no torques: give the drive gains (N m/A), n numbers, as gains"
        )


def per_joint(what: str, values: ArrayLike, n: int) -> Array:
    """``values`` as n finite numbers; one number is for all."""
    given = np.asarray(values, float)
    if given.ndim == 0:
        given = np.full(n, float(given))
    if given.shape != (n,) or not np.isfinite(given).all():
        raise ShapeError(f"{what} has shape {given.shape}; it must be {n} finite numbers, one for each joint")
    return given


def _to_joint_side(
    raw: _Raw, arrays: dict[str, Array], gears: ArrayLike | None, motor_side: tuple[str, ...], arm: Arm
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
        rotors = [joint.rotor for joint in arm.robot.moving_joints]
        bare = [joint.name for joint in arm.robot.moving_joints if joint.rotor is None]
        if bare:
            raise DalembertError(
                f"{raw.source}: data at the motor side need gear ratios, and joint {bare[0]} of arm '{arm.name}' has none; "
                "give gears"
            )
        A = np.diag([float(rotor.gear) for rotor in rotors if rotor is not None])
    else:
        given = np.asarray(gears, float)
        A = given if given.shape == (arm.n, arm.n) else np.diag(per_joint("gears", given, arm.n))
    if not np.isfinite(A).all() or abs(np.linalg.det(A)) < 1e-12:
        raise DalembertError("the gear ratios cannot be inverted: every motor must turn when its joint turns")
    for name in motor_side:
        if name in arrays:
            arrays[name] = arrays[name] @ A if name == "tau" else arrays[name] @ np.linalg.inv(A).T
    raw.notes.append(f"{raw.source}: {', '.join(motor_side)} were brought from the motor side to the joint side")


# -- repairs -------------------------------------------------------------------------------------


def _cleaned(raw: _Raw, t: Array, arrays: dict[str, Array], torque_needed: bool) -> Log:
    """Rows that are no numbers dropped, repeated ones too; each repair counted in a note."""
    q, tau, qd = arrays["q"], arrays["tau"], arrays.get("qd")
    if qd is not None and not np.isfinite(qd).any():
        raw.notes.append(f"{raw.source}: qd holds no number at all and is made from q")
        qd = None
    whole = np.isfinite(t) & np.isfinite(q).all(axis=1)
    if qd is not None:
        whole &= np.isfinite(qd).all(axis=1)
    if torque_needed:
        whole &= np.isfinite(tau).all(axis=1)
    if not whole.all():
        dropped = int((~whole).sum())
        raw.notes.append(f"{raw.source}: {dropped} of {len(t)} rows hold a value that is no number and were dropped")
    if whole.sum() < 10:
        raise DalembertError(f"{raw.source}: only {int(whole.sum())} of {len(t)} rows hold numbers throughout")
    new = whole.copy()
    rows = np.flatnonzero(whole)
    same_time = np.diff(t[rows]) == 0
    same_row = (np.diff(q[rows], axis=0) == 0).all(axis=1) & (np.diff(tau[rows], axis=0) == 0).all(axis=1)
    if qd is not None:  # a row that says exactly what the last said, while the arm moves, was not sampled anew
        moving = np.abs(qd[rows[1:]]).max(axis=1) > 1e-3 * max(float(np.abs(qd[rows]).max()), 1e-12)
        same_row &= (np.diff(qd[rows], axis=0) == 0).all(axis=1) & moving
    else:
        same_row &= False
    repeated = same_time | same_row
    new[rows[1:][repeated]] = False
    if repeated.any():
        raw.notes.append(f"{raw.source}: {int(repeated.sum())} rows repeat the one before and were dropped")
    back = int((np.diff(t[new]) < 0).sum())
    if back:
        raw.notes.append(f"{raw.source}: time goes backwards {back} times; what follows is taken as another run")
    return Log(t[new], q[new], tau[new], None if qd is None else qd[new], tuple(raw.notes), raw.source)


def _listed(words: Iterable[Any], most: int = 10) -> str:
    listed = [str(word) for word in words]
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")
