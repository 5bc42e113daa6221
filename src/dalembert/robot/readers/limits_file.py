"""Limits that override those of a robot, from a TOML file, a table or a line of text.

All three give some of lower, upper, velocity, acceleration and effort (SI units); the robot keeps its own limits
for everything else.

text    "effort: 87 87 12; velocity: 2" (a single number applies to every joint, ``-`` changes nothing)
TOML    the same as keys, ``effort = [87, 87, 12]``, ``velocity = 2.0``; and ``[joints.NAME]`` tables
CSV     a header such as ``joint,effort,velocity [deg/s]``, then one line per joint; also .xlsx and .parquet
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from dalembert.base.files.file_bounds import LIMITS_BYTES, SMALLEST_LIMIT
from dalembert.base.files.safe_toml import parse_tables, read_text
from dalembert.base.tables.cells import TEXT_TABLES, WORKBOOKS, headed, tables_in
from dalembert.base.tables.columns import Cell, check_once, spelled
from dalembert.base.wording import errors_at, nearest, shown, some
from dalembert.errors import RobotError
from dalembert.robot.model.robot import LIMIT_KEYS, Joint, Robot
from dalembert.robot.readers.dh_columns import JOINT, LIMITS

MEANING = spelled((JOINT, *LIMITS))
Given = Iterator[tuple[str, str, str, float]]  # (where in the source, joint, kind, value)


def with_limits(robot: Robot, source: str) -> Robot:
    """The robot with the limits given by ``source``: a path of a .toml file or of a table, or text."""
    path = Path(source)
    readers = {".toml": _from_toml} | dict.fromkeys((*TEXT_TABLES, *WORKBOOKS, ".parquet"), _from_table)
    read = readers.get(path.suffix.lower())
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


def _known(where: str, kind: str) -> str:
    if kind not in LIMIT_KEYS:
        raise RobotError(
            f"{where}: unknown limit {shown(kind)}; known limits are {', '.join(LIMIT_KEYS)}{nearest(kind, LIMIT_KEYS)}"
        )
    return kind


def _joint(where: str, robot: Robot, name: str, known: Collection[str]) -> str:
    """The name, after checking that it belongs to a moving joint."""
    if name not in known:
        names = list(known)
        raise RobotError(
            f"{where}: robot '{robot.name}' has no joint {shown(name)}; its joints are {some(names)}{nearest(name, names)}"
        )
    return name


def _limit_value(where: str, value: Any) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise RobotError(f"{where}: {shown(value)} is too large for a number; the largest is 1.8e308") from None
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or math.isnan(number):
        raise RobotError(f"{where}: {shown(value)} is not a number")
    return number


def _each(robot: Robot, where: str, kind: str, values: list[Any]) -> Given:
    """One number for all joints, or one number per joint."""
    _known(where, kind)
    names = [joint.name for joint in robot.moving_joints]
    if len(values) == 1:
        values = values * len(names)
    if len(values) != len(names):
        raise RobotError(
            f"{where}: {kind} has {len(values)} values, but robot '{robot.name}' has {len(names)} joints: "
            f"give one number, or {len(names)}"
        )
    for name, value in zip(names, values, strict=True):
        if value != "-":
            yield where, name, kind, _limit_value(f"{where}, {kind} of joint '{name}'", value)


def _from_text(robot: Robot, text: str) -> Given:
    where = "--limits"
    for part in filter(None, (part.strip() for part in text.split(";"))):
        kind, colon, numbers = part.partition(":")
        if not colon or not numbers.split():
            raise RobotError(
                f"{where}: {shown(part)} is neither a file that ends in .toml or .csv nor text like "
                '"effort: 87 87 12; velocity: 2"'
            )
        yield from _each(robot, where, kind.strip(), numbers.replace(",", " ").split())


def _from_toml(robot: Robot, path: Path) -> Given:
    data = parse_tables(read_text(path, LIMITS_BYTES, "limits file"), str(path))
    tables = data.pop("joints", {})
    for key, value in data.items():
        yield from _each(robot, str(path), key, value if isinstance(value, list) else [value])
    if not isinstance(tables, dict) or not all(isinstance(entries, dict) for entries in tables.values()):
        raise RobotError(f"{path}: 'joints' must be tables like [joints.NAME]")
    known = {joint.name: joint for joint in robot.moving_joints}
    for name, entries in tables.items():
        where = f"{path}, [joints.{name}]"
        for kind, value in entries.items():
            yield where, _joint(where, robot, name, known), _known(where, kind), _limit_value(f"{where}, {kind}", value)


def _from_table(robot: Robot, path: Path) -> Given:
    table = headed(tables_in(path, LIMITS_BYTES, "limits file"), MEANING, lambda keys: "name" in keys)
    if table is None:
        raise RobotError(
            f"{path}: the file is empty or its header has no column 'joint'; it needs a header such as joint, effort, … and one row per joint"
        )
    for header in table.others.values():
        _known(table.where, header)
    check_once(table.columns, table.where)
    slides = {joint.name: joint.type == "prismatic" for joint in robot.moving_joints}
    for row in table.filled():
        where, cells = table.entries(row)
        name = _joint(where, robot, cells.pop("name").text, slides)
        for kind, cell in cells.items():
            if not cell.blank:
                yield where, name, kind, _limit(cell, slides[name])


def _limit(cell: Cell, slides: bool) -> float:
    """A limit in SI units, or in the unit of its cell or column; inf is none."""
    text = cell.plain(cell.text)
    if cell.heading.unit is None or "inf" in text.lower():
        with suppress(ValueError):
            if not math.isnan(limit := float(text)):
                return limit
    return cell.number_of(text, slides)
