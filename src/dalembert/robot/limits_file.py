"""Limits that override those of a robot, from a TOML or CSV file or from a line of text.

All three give some of lower, upper, velocity, acceleration and effort (SI units); the robot keeps its own limits
for everything else.

text    "effort: 87 87 12; velocity: 2" (a single number applies to every joint, ``-`` changes nothing)
TOML    the same as keys, ``effort = [87, 87, 12]``, ``velocity = 2.0``; and ``[joints.NAME]`` tables
CSV     a header such as ``joint,effort,velocity``, then one line per joint
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dalembert.errors import RobotError
from dalembert.robot.bounds import LIMITS_BYTES, SMALLEST_LIMIT
from dalembert.robot.model import LIMIT_KEYS, Joint, Robot
from dalembert.robot.safe_toml import parse_tables, read_text
from dalembert.robot.tables import errors_at, nearest, shown, some

Given = Iterator[tuple[str, str, str, float]]  # (where in the source, joint, kind, value)


def with_limits(robot: Robot, source: str) -> Robot:
    """The robot with the limits given by ``source``: a path ending in .toml or .csv, or text."""
    path = Path(source)
    read = {".toml": _from_toml, ".csv": _from_csv}.get(path.suffix.lower())
    given = list(_from_text(robot, source) if read is None else read(robot, path))
    changed: dict[str, dict[str, float]] = {}
    places: dict[str, str] = {}
    for where, joint, kind, value in given:
        if kind not in ("lower", "upper") and not value >= SMALLEST_LIMIT:
            allowed = f"at least {SMALLEST_LIMIT:g} in SI units" if value > 0 else "more than 0"
            raise RobotError(f"{where}: the {kind} limit of joint '{joint}' is {value:g}; it must be {allowed}")
        changed.setdefault(joint, {})[kind] = value
        places.setdefault(joint, where)

    def with_own(joint: Joint) -> Joint:
        if joint.name not in changed:
            return joint
        with errors_at(f"{places[joint.name]}: joint '{joint.name}'"):
            return replace(joint, limits=replace(joint.limits, **changed[joint.name]))

    return robot.replace(joints=tuple(map(with_own, robot.joints)))


def _names(robot: Robot) -> list[str]:
    return [joint.name for joint in robot.moving_joints]


def _known(where: str, kind: str) -> str:
    if kind not in LIMIT_KEYS:
        raise RobotError(
            f"{where}: unknown limit {shown(kind)}; known limits are {', '.join(LIMIT_KEYS)}{nearest(kind, LIMIT_KEYS)}"
        )
    return kind


def _number(where: str, value: Any) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise RobotError(f"{where}: {shown(value)} is too large for a number; the largest is 1.8e308") from None
    except (TypeError, ValueError):
        raise RobotError(f"{where}: {shown(value)} is not a number") from None
    if isinstance(value, bool) or math.isnan(number):
        raise RobotError(f"{where}: {shown(value)} is not a number")
    return number


def _each(robot: Robot, where: str, kind: str, values: list[Any]) -> Given:
    """One number for all joints, or one number per joint."""
    names = _names(robot)
    if len(values) == 1:
        values = values * len(names)
    if len(values) != len(names):
        raise RobotError(
            f"{where}: {kind} has {len(values)} values, but robot '{robot.name}' has {len(names)} joints: "
            f"give one number, or {len(names)}"
        )
    for name, value in zip(names, values, strict=True):
        if value != "-":
            yield where, name, kind, _number(f"{where}, {kind} of joint '{name}'", value)


def _from_text(robot: Robot, text: str) -> Given:
    where = "--limits"
    for part in filter(None, (part.strip() for part in text.split(";"))):
        kind, colon, numbers = part.partition(":")
        if not colon or not numbers.split():
            raise RobotError(
                f"{where}: {shown(part)} is neither a file that ends in .toml or .csv nor text like "
                '"effort: 87 87 12; velocity: 2"'
            )
        yield from _each(robot, where, _known(where, kind.strip()), numbers.replace(",", " ").split())


def _joint(where: str, robot: Robot, name: str, known: Mapping[str, None]) -> str:
    """The name, after checking that it belongs to a moving joint."""
    if name not in known:
        names = list(known)
        raise RobotError(
            f"{where}: robot '{robot.name}' has no joint {shown(name)}; its joints are {some(names)}{nearest(name, names)}"
        )
    return name


def _from_toml(robot: Robot, path: Path) -> Given:
    data = parse_tables(read_text(path, LIMITS_BYTES, "limits file"), str(path))
    known = dict.fromkeys(_names(robot))
    for key, value in data.items():
        if key != "joints":
            yield from _each(robot, str(path), _known(str(path), key), value if isinstance(value, list) else [value])
    tables = data.get("joints", {})
    if not isinstance(tables, dict) or not all(isinstance(entries, dict) for entries in tables.values()):
        raise RobotError(f"{path}: 'joints' must be tables like [joints.NAME]")
    for name, entries in tables.items():
        where = f"{path}, [joints.{name}]"
        _joint(where, robot, name, known)
        for kind, value in entries.items():
            yield where, name, _known(where, kind), _number(f"{where}, {kind}", value)


def _from_csv(robot: Robot, path: Path) -> Given:
    rows = csv.reader(read_text(path, LIMITS_BYTES, "limits file").splitlines(), skipinitialspace=True)
    try:
        lines = [
            (number, [cell.strip() for cell in row])
            for number, row in enumerate(rows, 1)
            if any(cell.strip() for cell in row)
        ]
    except csv.Error as error:  # a field of 131072 characters, a zero byte
        raise RobotError(f"{path}, line {rows.line_num}: this is not valid CSV ({error})") from None
    if not lines:
        raise RobotError(f"{path}: the file is empty; it needs a header such as joint, effort, … and one row per joint")
    header, columns = lines[0]
    if columns[0] != "joint":
        raise RobotError(f"{path}, line {header}: the first column must be 'joint', but it is {shown(columns[0])}")
    for kind in columns[1:]:
        _known(f"{path}, line {header}", kind)
    known = dict.fromkeys(_names(robot))
    twice = [name for name, times in Counter(columns).items() if times > 1]
    if twice:
        raise RobotError(f"{path}, line {header}: the column {min(twice)} appears more than once")
    for number, row in lines[1:]:
        where = f"{path}, line {number}"
        if len(row) != len(columns):
            raise RobotError(f"{where}: the row has {len(row)} values, but the header has {len(columns)} columns")
        name = _joint(where, robot, row[0], known)
        for kind, cell in zip(columns[1:], row[1:], strict=True):
            if cell not in ("", "-"):
                yield where, name, kind, _number(f"{where}, column '{kind}'", cell)
