"""sensor_msgs/JointState messages from any kind of file: grouped by topic and joints, and one group chosen."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.tables.signal_columns import matched
from dalembert.base.wording import nearest, some
from dalembert.errors import DalembertError
from dalembert.work.logs.formats.raw import Raw, Request, check_names, check_size

FIELDS = ("position", "velocity", "effort")


@dataclass
class _Series:
    """The messages of one topic about one set of joints, in the order of the first message."""

    topic: str
    names: tuple[str, ...]
    stamps: array[float] = field(default_factory=lambda: array("d"))
    logged: array[float] = field(default_factory=lambda: array("d"))
    packed: dict[str, array[float]] = field(default_factory=lambda: {name: array("d") for name in FIELDS})
    missing: Counter[str] = field(default_factory=Counter)

    def add(self, source: str, names: tuple[str, ...], stamp: float, logged: int, values: Sequence[Any]) -> None:
        """Add a message; a field that is missing or belongs to other joints is NaN and is counted."""
        at = {} if names == self.names else {name: k for k, name in enumerate(names)}
        order = [at[name] for name in self.names] if at else slice(None)
        self.stamps.append(stamp)
        self.logged.append(1e-9 * logged)
        for name, given in zip(FIELDS, values, strict=True):
            try:
                row = np.asarray(given, float)
            except (TypeError, ValueError):
                raise DalembertError(
                    f"{source}: a message on {self.topic} has a {name} that is not a list of numbers"
                ) from None
            if row.shape != (len(names),):
                row = np.full(len(names), np.nan)
                self.missing[name] += 1
            self.packed[name].frombytes(row[order].tobytes())

    def rows(self, name: str) -> Array:
        """A field of all messages: (N, n)."""
        return np.array(self.packed[name]).reshape(-1, len(self.names))


def fields_of(message: Any) -> tuple[Sequence[str], float, tuple[Any, ...]]:
    """The joints of a decoded message, its header's stamp (s), and (position, velocity, effort)."""
    stamp = message.header.stamp
    return message.name, stamp.sec + 1e-9 * stamp.nanosec, (message.position, message.velocity, message.effort)


class JointStates:
    """Collects messages; ``raw`` chooses those of the arm."""

    def __init__(self, source: str, request: Request) -> None:
        self.source, self.request = source, request
        self.series: dict[tuple[str, frozenset[str]], _Series] = {}
        self.numbers = 0

    def add(self, topic: str, logged: int, names: Sequence[str], stamp: float, values: Sequence[Any]) -> None:
        """Add a message: time of logging (ns), joints, time stamp of the header (s), position, velocity, effort."""
        joints = tuple(map(str, names))
        if not joints or len(set(joints)) != len(joints):
            return
        self.numbers += len(FIELDS) * len(joints)
        check_size(f"{self.source}: the set of JointState messages", self.numbers)
        key = topic, frozenset(joints)
        if key not in self.series:
            check_names(self.source, joints, "joint")
            self.series[key] = _Series(topic, joints)
        self.series[key].add(self.source, joints, stamp, logged, values)

    def raw(self, others: Sequence[str], sort: bool = False) -> Raw:
        """The messages of the arm: with all its joints, preferably with torques, and otherwise the largest group.

        others  other contents of the file, for error messages
        sort    whether to sort by time of logging; otherwise they already are in that order
        """
        wanted_topic = self.request.topic
        topics = list(dict.fromkeys(topic for topic, _ in self.series))
        if not topics:
            has = f"; it has {some(others)}" if others else ""
            raise DalembertError(f"{self.source}: there are no sensor_msgs/JointState messages{has}")
        if wanted_topic is not None and wanted_topic not in topics:
            raise DalembertError(
                f"{self.source}: there are no JointState messages on the topic '{wanted_topic}', only on {some(topics)}"
                f"{nearest(wanted_topic, topics)}"
            )
        offered = [series for series in self.series.values() if wanted_topic is None or series.topic == wanted_topic]

        def worth(series: _Series) -> tuple[bool, bool, int]:
            return (
                matched(self.request.joints, series.names) is not None,
                bool(np.isfinite(series.rows("effort")).any()),
                len(series.stamps),
            )

        best = max(offered, key=worth)
        raw = Raw(self.source)
        if len(topics) > 1 and wanted_topic is None:
            raw.note(f"out of the topics {some(topics)}, {best.topic} was read ({len(best.stamps)} messages)")
        left = sum(len(series.stamps) for series in offered if series.topic == best.topic and series is not best)
        if left:
            raw.note(f"{left} JointState messages of joints other than {some(best.names)} were ignored")
        logged = np.array(best.logged)
        order = np.argsort(logged, kind="stable") if sort else slice(None)
        stamps = np.array(best.stamps)[order]
        if len(stamps) > 1 and (not stamps.all() or np.ptp(stamps) == 0):
            raw.note("the time stamps of the messages are empty or all equal; the time of logging is used")
            stamps = logged[order]
        raw.arrays["t"] = stamps - stamps[0]
        for name in FIELDS:
            missing = best.missing[name]
            if missing == len(stamps):
                continue
            if missing:
                raw.note(f"{missing} of {len(stamps)} messages have no {name}")
            raw.arrays[name] = best.rows(name)[order]
            raw.joints[name] = best.names
        return raw
