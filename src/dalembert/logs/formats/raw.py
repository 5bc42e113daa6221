"""The contents of a file before interpretation: named arrays, or a table with groups of columns."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, takewhile
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.environment.brief import brief
from dalembert.errors import DalembertError
from dalembert.robot.tables import some

Array = NDArray[np.float64]

# {quantity: names that it may have in a file, in lower case}; the first one found is used
SPELLINGS: dict[str, tuple[str, ...]] = {
    "t": ("t", "time", "timestamp", "stamp", "times", "timestamps", "stamps", "seconds", "elapsed"),
    "q": (
        "q", "position", "positions", "pos", "joint_position", "joint_positions", "joint_pos", "actual_q", "q_meas",
        "q_measured", "measured_q", "q_actual", "q_msr", "actual_position", "actual_positions", "theta",
    ),
    "qd": (
        "qd", "dq", "qdot", "q_dot", "velocity", "velocities", "vel", "joint_velocity", "joint_velocities", "joint_vel",
        "actual_qd", "qd_meas", "dq_meas", "qd_measured", "qd_actual", "actual_velocity", "actual_velocities",
    ),
    "qdd": (
        "qdd", "ddq", "qddot", "q_ddot", "acceleration", "accelerations", "acc", "joint_acceleration",
        "joint_accelerations", "joint_acc",
    ),
    "tau": (
        "tau", "torque", "torques", "effort", "efforts", "joint_torque", "joint_torques", "tau_j", "tau_meas",
        "tau_measured", "measured_torque", "measured_torques", "tau_msr", "tau_actual", "actual_torque", "actual_torques",
    ),
    "current": (
        "current", "currents", "i", "motor_current", "motor_currents", "actual_current", "actual_currents", "i_meas",
    ),
    "temperature": (
        "temperature", "temperatures", "temp", "temps", "motor_temperature", "motor_temperatures", "motor_temp",
        "joint_temperature", "joint_temperatures", "joint_temp", "drive_temperature", "drive_temperatures",
        "gear_temperature", "gear_temperatures",
    ),
}  # fmt: skip
SPELLED = {word: group for group, words in SPELLINGS.items() for word in words}
# words that can precede or follow a joint name with only a _ in between: shoulder_velocity
BESIDE = tuple(w for w in SPELLED if len(w) > 2 and "_" not in w and SPELLED[w] != "t")


# limits for a log in any format
LARGEST_FILE = 16 << 30  # bytes
MOST_NUMBERS = 1 << 27  # in one array or table: 1 GiB as float64
MOST_COLUMNS = 10_000
LONGEST_NAME = 1000  # characters of a column's name, or a joint's

# exceptions of third-party readers for damaged files; collected by damaging files at random
DAMAGE: tuple[type[Exception], ...] = (
    AssertionError, EOFError, KeyError, IndexError, OverflowError, RuntimeError, TypeError, ValueError, struct.error,
    zlib.error, TokenError,
)  # fmt: skip

listed = some  # a list of names in a message


def reason(error: Exception) -> str:
    """The message of an error as part of a sentence: one line of printable characters."""
    words = "".join(c if c.isprintable() else " " for c in (str(error).splitlines() or [""])[0])
    return " ".join(words.split())[:120].rstrip(" .:") or type(error).__name__


@contextmanager
def damage_told(sentence: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn exceptions of third-party readers into one sentence; ``errors`` are specific to the reader.

    The helper process reports a lack of memory; a reader that runs elsewhere includes MemoryError in its errors.
    """
    try:
        yield
    except DalembertError:
        raise
    except (*DAMAGE, *errors) as error:
        if isinstance(error, MemoryError) and MemoryError not in errors:
            raise
        raise DalembertError(f"{sentence} ({reason(error)})") from None


@dataclass(frozen=True)
class Request:
    """Information for the reader of a file: the arm's joints, the requested topic, and a progress callback.

    episodes  requested episodes of a dataset: (first, last + 1) of each range of numbers; None for all
    """

    joints: tuple[str, ...] = ()
    topic: str | None = None
    progress: Callable[[float], None] = lambda fraction: None
    episodes: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True)
class Later:
    """An array that stays in its file until it is needed."""

    read: Callable[[], Any]


@brief
@dataclass
class Raw:
    """The contents of a file.

    arrays   by name: (N,), (N, k), or anything else in the file, or a :class:`Later`
    table    (N, k); header: its columns by name, groups: columns that belong together
    joints   by name: the joints of these columns, if the file names them
    units    of table columns: as written after their names, such as [deg]
    faults   by name: why it cannot be used; raised on use
    doubts   by name: why it cannot be used unless the user states its unit
    roles    by quantity: the name that holds it, if the file format defines it; then no other name is searched for
    runs     (N,) run number of each row, if the file holds several runs
    """

    source: str
    arrays: dict[str, Any] = field(default_factory=dict)
    table: Array | None = None
    headed: bool = True
    header: dict[str, int] = field(default_factory=dict)
    groups: dict[str, list[int]] = field(default_factory=dict)
    joints: dict[str, tuple[str, ...]] = field(default_factory=dict)
    units: dict[int, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    runs: NDArray[np.intp] | None = None
    notes: list[str] = field(default_factory=list)

    def note(self, sentence: str) -> None:
        """Record a note about the file, prefixed by its name."""
        self.notes.append(f"{self.source}: {sentence}")

    def wrong(self, sentence: str, error: type[DalembertError] = DalembertError) -> DalembertError:
        """An error about the file, prefixed by its name."""
        return error(f"{self.source}: {sentence}")

    @property
    def names(self) -> list[str]:
        """All names that can be requested."""
        return [*self.groups, *self.arrays]

    def values(self, name: str) -> Any:
        """The values under a name."""
        if name in self.faults:
            raise DalembertError(self.faults[name])
        if name in self.groups:
            return self.columns(self.groups[name])
        value = self.arrays[name]
        if isinstance(value, Later):
            value = self.arrays[name] = value.read()
        return value

    def columns(self, at: Sequence[int]) -> Array:
        """Columns of the table, as a view if they are adjacent."""
        assert self.table is not None
        if list(at) == list(range(at[0], at[0] + len(at))):
            return self.table[:, at[0] : at[0] + len(at)]
        return self.table[:, list(at)]


def check_size(what: str, numbers: int) -> None:
    """Refuse an array or a table with more numbers than a log can have, before memory is allocated."""
    if numbers > MOST_NUMBERS:
        raise DalembertError(f"{what} has {numbers} numbers; the maximum is {MOST_NUMBERS}, so split the log")


def check_names(source: str, names: Sequence[str], kind: str = "column") -> None:
    """Refuse too many names, or names that are too long."""
    if len(names) > MOST_COLUMNS:
        raise DalembertError(f"{source}: there are {len(names)} {kind}s; the maximum is {MOST_COLUMNS}")
    for number, name in enumerate(names, 1):
        if len(name) > LONGEST_NAME:
            raise DalembertError(
                f"{source}: the name of {kind} {number} has {len(name)} characters; the maximum is {LONGEST_NAME}"
            )


def counted(count: int, word: str, more: str | None = None) -> str:
    """``1 row``, ``2 rows``.

    >>> counted(1, "row"), counted(2, "row"), counted(2, "time goes", "times go")
    ('1 row', '2 rows', '2 times go')
    """
    return f"{count} {word if count == 1 else more or word + 's'}"


def seconds(stamps: NDArray[Any]) -> Array:
    """datetime64 as seconds since 1970; invalid times are NaN."""
    return np.where(np.isnat(stamps), np.nan, stamps.astype("datetime64[ns]").astype(np.int64) * 1e-9)


# -- columns that belong together ------------------------------------------------------------------

# each of these takes time proportional to the length of a name
_JOINT = re.compile(r"(\w*_)?(joint|jnt|axis|j|a)_?\d{1,3}", re.IGNORECASE)
_NUMBERED = re.compile(r"(.*?)[_\[ .(]?(\d{1,3})[\])]?")
_INSIDE = re.compile(r"([A-Za-z_]*?[A-Za-z])_?(\d{1,3})_?([A-Za-z][A-Za-z_]*)")


def gathered(
    source: str, names: Sequence[str], joints: Sequence[str], faulty: dict[int, str],
    words: dict[int, str] | None = None,
) -> Raw:  # fmt: skip
    """The columns of a table grouped by name: q1 q2 …, q[0] q[1] …, position.elbow …, elbow/position, elbow_position.

    joints  of the arm, needed to interpret names such as elbow_position
    faulty  {column that cannot be used: reason}
    words   first row of the text columns: name0, name1, … may name the joints of position0, …
    """
    raw, faults = Raw(source), dict(faulty)
    pairs = [name_and_unit(name) for name in names]
    plain = [name for name, _ in pairs]
    raw.units = {column: unit for column, (_, unit) in enumerate(pairs) if unit is not None}
    for column, name in enumerate(plain):
        first = raw.header.setdefault(name, column)
        if name and first != column:
            faults[first] = (
                f"{source}: the header contains '{name}' twice, in columns {first} and {column}, counted from 0"
            )
    numbered: dict[str, dict[int, int]] = {}
    owned: dict[str, dict[str, int]] = {}
    for column, name in enumerate(plain):
        if not name or raw.header[name] != column:
            continue
        if name.lower() in SPELLED:
            raw.groups[name] = [column]
        elif owner := owner_of(name, joints):
            owned.setdefault(owner[0], {})[owner[1]] = column
        elif parts := _NUMBERED.fullmatch(name):
            numbered.setdefault(parts[1], {})[int(parts[2])] = column
        elif parts := _INSIDE.fullmatch(name):
            numbered.setdefault(f"{parts[1]}_{parts[3]}", {})[int(parts[2])] = column
        else:
            raw.groups[name] = [column]
    for stem, by_number in sorted(numbered.items(), key=lambda item: not item[0].endswith("name")):
        key = stem
        while key in raw.groups or not key:
            key += "#"
        raw.groups[key] = [by_number[k] for k in sorted(by_number)]
        gap = next(k for k in count(0 if 0 in by_number else 1) if k not in by_number)
        if gap < max(by_number):
            raw.faults[key] = f"{source}: number {gap} of the columns {stem}1, {stem}2, … is missing"
        last = re.split(r"[./:]", stem)[-1]
        told = raw.groups.get(f"{stem.removesuffix(last)}name", ()) if last in SPELLED else ()
        if words and len(told) == len(by_number) and all(k in words for k in told):
            raw.joints[key] = tuple(words[k] for k in told)
    for quantity, by_joint in owned.items():
        if quantity in raw.groups:
            raw.groups |= {plain[column]: [column] for column in by_joint.values()}
            continue
        raw.groups[quantity] = list(by_joint.values())
        raw.joints[quantity] = tuple(by_joint)
    for name, columns in raw.groups.items():
        bad = [column for column in columns if column in faults]
        if bad:
            raw.faults.setdefault(name, faults[bad[0]])
    return raw


def name_and_unit(name: str) -> tuple[str, str | None]:
    """A column's name and the unit in brackets after it, if any.

    >>> name_and_unit("q1 [deg]"), name_and_unit("tau (N m)"), name_and_unit("q[0]")
    (('q1', 'deg'), ('tau', 'N m'), ('q[0]', None))
    """
    word = name.strip()
    if word.endswith(("]", ")")):
        opened = max(word.rfind("["), word.rfind("("))
        unit = word[opened + 1 : -1]
        if opened >= 0 and not set("])") & set(unit) and re.search("[A-Za-z°µ%]", unit):
            return word[:opened].strip(), unit.strip()
    return word, None


def owner_of(name: str, joints: Sequence[str]) -> tuple[str, str] | None:
    """(quantity, joint) from a name such as elbow.position, position/elbow, elbow_position."""
    pieces = re.split(r"[./:]", name)
    quantity = next((p for p in pieces if SPELLED.get(p.lower(), "t") != "t"), None)
    if len(pieces) > 1 and quantity is not None:
        return quantity, ".".join(p for p in pieces if p != quantity)
    lower = name.lower()
    for word in BESIDE:
        before, behind = lower.startswith(f"{word}_"), lower.endswith(f"_{word}")
        for fits, who in ((before, name[len(word) + 1 :]), (behind, name[: -len(word) - 1])):
            if fits and (who in joints or _JOINT.fullmatch(who)):
                return word, who
    return None


def matched(mine: Sequence[str], theirs: Sequence[str]) -> list[int] | None:
    """Indices of the arm's joints among those of a log: by name, by name after a common prefix, or by number after one.

    >>> matched(["joint1", "joint2"], ["finger", "left_joint2", "left_joint1"])
    [2, 1]
    """
    at = {name: k for k, name in enumerate(theirs)}
    if all(name in at for name in mine):
        return [at[name] for name in mine]
    ways: set[tuple[int, ...]] = set()
    begins = takewhile(lambda letters: len(set(letters)) == 1, zip(*mine, strict=False))
    shared = len(list(begins)) if len(mine) > 1 else 0  # length of the common prefix of the arm's joint names
    for stems in {tuple(mine), tuple(name[shared:] for name in mine)}:
        if not all(stems):
            continue
        for prefix in {name[: -len(stems[0])] for name in theirs if name.endswith(stems[0])}:
            if all(prefix + stem in at for stem in stems):
                ways.add(tuple(at[prefix + stem] for stem in stems))
    if not ways:
        numbered: dict[str, dict[int, int]] = {}
        for k, name in enumerate(theirs):
            prefix = name.rstrip("0123456789")
            if len(number := name[len(prefix) :]) in range(1, 10) and str(int(number)) == number:
                numbered.setdefault(prefix, {})[int(number)] = k
        for by_number in numbered.values():
            if sorted(by_number) in (list(range(len(mine))), list(range(1, len(mine) + 1))):
                ways.add(tuple(by_number[k] for k in sorted(by_number)))
    return list(ways.pop()) if len(ways) == 1 else None
