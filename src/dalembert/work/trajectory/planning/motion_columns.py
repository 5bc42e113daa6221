"""Which columns of a table hold a motion: t, q1 …, qd1 …, qdd1 …, tau1 …, the load at the tip, and their units."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import brief
from dalembert.base.tables.columns import Column, name_and_unit
from dalembert.base.tables.signal_columns import HOLD, PAYLOADS, WRENCHES, Grouped, factors, gathered
from dalembert.base.tables.units import unit_among
from dalembert.base.wording import counted, nearest, shown, some
from dalembert.errors import DalembertError, ShapeError
from dalembert.work.logs.log_units import sliding_joints
from dalembert.work.logs.signals import joint_order
from dalembert.work.trajectory.planning.motion_doubts import last_digits
from dalembert.work.trajectory.planning.motion_tables import ArrayTable, Table

GROUPS = ("q", "qd", "qdd")
QUANTITIES = ("t", *GROUPS, "tau")
DERIVED = "report_"  # prefix of the columns that a report adds to a motion; they are skipped on reading
LARGEST = 1e30  # in SI units: no motion has larger numbers, and their squares are still finite
_COLUMN = re.compile(r"t|(q|qd|qdd|tau)([1-9][0-9]{0,3})")


@dataclass(frozen=True)
class Contents:
    """The columns of a kind of table: the quantity that it must have, those that are read, others, and whether t."""

    needed: str
    groups: tuple[str, ...]
    others: tuple[Column, ...]
    time: bool = True

    def columns(self, n: int) -> str:
        """The columns that are required or usual for n joints, in words."""
        usual = GROUPS if self.needed == "q" and self.time else (self.needed,)
        return ", ".join(["t"] * self.time + [f"{group}1 … {group}{n}" if n > 1 else f"{group}1" for group in usual])


MOTION = Contents("q", GROUPS, (*PAYLOADS, *WRENCHES))
MOTION_AND_TORQUES = replace(MOTION, groups=(*GROUPS, "tau"))
TORQUES = replace(MOTION_AND_TORQUES, needed="tau")
POINTS = Contents("q", ("q",), (HOLD, *PAYLOADS), time=False)


@dataclass(frozen=True)
class Stated:
    """Columns and units of quantities that the caller states; usual: units of columns for which nothing states one."""

    columns: Mapping[str, Any]
    units: Mapping[str, str]
    usual: Mapping[str, str]

    @staticmethod
    def of(columns: Mapping[str, Any] | None, units: Mapping[str, str] | None) -> Stated:
        """What is given, validated."""
        stated = Stated(dict(columns or {}), dict(units or {}), {})
        for option, given in (("columns", stated.columns), ("units", stated.units)):
            for group in given:
                if group not in QUANTITIES:
                    raise DalembertError(
                        f"{option} names '{group}', which is not a quantity of a motion; known quantities are "
                        f"{', '.join(QUANTITIES)}"
                    )
        return stated


@brief
@dataclass(frozen=True)
class MotionLayout:
    """Layout of the motion in a table: t, the n columns of each group, and others, and their conversion factors.

    wanted   the columns of the table in this order;  clocked  whether the file or the caller states the unit of t
    """

    n: int
    groups: list[str]
    wanted: list[int]
    factors: Array
    notes: list[str]
    others: list[str]
    clocked: bool
    time: bool

    def split(self, numbers: Array) -> dict[str, Array]:
        """The columns of each group, (N, n), and the other columns, (N,)."""
        n, start = self.n, int(self.time)
        parts = {group: numbers[:, start + k * n : start + (k + 1) * n] for k, group in enumerate(self.groups)}
        return parts | dict(zip(self.others, numbers[:, start + len(self.groups) * n :].T, strict=True))

    def digits(self, numbers: Array) -> dict[str, Array]:
        """The last digit with which each group is written, in SI units: (n,); 0 where it has all digits of a float."""
        last = last_digits(numbers / self.factors) * self.factors
        return {group: digits[0] for group, digits in self.split(last[None]).items() if group in self.groups}

    def jumps(self, rows: Array, last: Array) -> NDArray[np.bool_]:
        """Which of the rows (N, columns) repeat a time with the same state, for the other side of a jump: (N,).

        last  (1, columns) the preceding row
        """
        if self.groups not in (["q", "qd", "qdd"], ["q", "qd", "qdd", "tau"], ["tau"]):
            return np.zeros(len(rows), bool)
        state = slice(0, 1 if self.groups == ["tau"] else 1 + 2 * self.n)
        same: NDArray[np.bool_] = np.all(rows[:, state] == np.concatenate([last, rows[:-1]])[:, state], axis=1)
        return same & ~np.append(False, same[:-1])  # twice, but not three times

    def rows(self, table: Table, strict: bool) -> Iterator[Array]:
        """The columns in SI units, one block of lines at a time; ``strict`` forbids repeated times.

        A row that repeats the one before in every column is dropped, and a note of the table counts them.
        """
        before, last, repeated = -np.inf, np.full((1, len(self.wanted)), np.nan), 0
        whole = np.full((1, len(table.names)), np.nan)
        for lines, block in table.blocks():
            if self.time:
                same = np.all(block == np.concatenate([whole, block[:-1]]), axis=1)
                whole, repeated = block[-1:].copy(), repeated + int(same.sum())
                if same.any():
                    block, lines = block[~same], [line for line, drop in zip(lines, same, strict=True) if not drop]
            if not len(block):
                continue
            with np.errstate(over="ignore"):  # overflow gives infinity, which is reported below
                part = block[:, self.wanted] * self.factors
            self._check_finite(table, lines, part)
            if self.time:
                t = part[:, 0]
                steps = np.diff(t, prepend=before)
                falls = np.flatnonzero((steps <= 0) & ~self.jumps(part, last) if strict else steps < 0)
                if len(falls):
                    row = falls[0]
                    where = f"{table.path}, {table.place} {lines[row][0]}, column '{table.names[self.wanted[0]]}'"
                    earlier = t[row - 1] if row else before
                    if earlier == t[row]:
                        raise DalembertError(f"{where}: the time {t[row]:g} s occurs twice")
                    raise DalembertError(f"{where}: time goes backwards, from {earlier:g} to {t[row]:g} s")
                before, last = t[-1], part[-1:].copy()
            yield part
        if repeated:
            table.notes.append(
                f"{table.path}: {counted(repeated, 'row repeats', 'rows repeat')} the one before; dropped"
            )

    def _check_finite(self, table: Table, lines: Sequence[tuple[int, str]], part: Array) -> None:
        bad = np.argwhere(~(np.abs(part) <= LARGEST))
        if not len(bad):
            return
        row, column = bad[0]
        value = part[row, column]
        words = "NaN" if np.isnan(value) else "infinite" if np.isinf(value) else f"{value:g}"
        within = f" within ±{LARGEST:g}" if np.isfinite(value) else ""
        raise DalembertError(
            f"{table.path}, {table.place} {lines[row][0]}, column '{table.names[self.wanted[column]]}': the value is {words}; "
            f"it must be a finite number{within}"
        )


def column_names(groups: Iterable[str], n: int) -> tuple[str, ...]:
    """t, then q1 … qn and so on, for each group of columns."""
    return ("t", *(f"{group}{k}" for group in groups for k in range(1, n + 1)))


def layout_of(table: Table, arm: Arm | None, contents: Contents, stated: Stated) -> MotionLayout:
    """The layout of a table, or an error that names the columns at fault."""
    path, joints = str(table.path), tuple(arm.joint_names) if arm is not None else ()
    if not table.headed and not stated.columns:
        first = "t, q1" if contents.time else "q1, q2"
        raise DalembertError(
            f"{path}, {table.place} {table.line}: the file has no header; its first line must name the columns {first}, …, or "
            "their numbers must be given, as in columns={'t': 0, 'q': '1:7'} (--column t=0 --column q=1:7)"
        )
    stated_columns: dict[str, list[int]] = {}
    if stated.columns:
        named = gathered(path, table.names, joints, {})
        stated_columns = {group: named.assigned(group, x, len(table.names)) for group, x in stated.columns.items()}
    others, other_factors, notes = _others(table, contents, {k for columns in stated_columns.values() for k in columns})
    loads = set(others.values())
    places = [k for k, x in enumerate(table.names) if k not in loads and (stated_columns or not x.startswith(DERIVED))]
    names, units, findings = _standard_names(
        path, [table.names[k] for k in places], arm, tuple(stated_columns), contents
    )
    if stated_columns or isinstance(table, ArrayTable):  # such files contain more than a motion
        meanings = [_COLUMN.fullmatch(name or "") for name in names]
        names = [x[0] if x is not None and (x[1] or "t") not in stated_columns else None for x in meanings]
    for group, columns in stated_columns.items():
        for k, column in enumerate(columns):
            names[places.index(column)] = group if group == "t" else f"{group}{k + 1}"
    n, groups = _groups(path, names, arm, contents)
    at = {name: column for column, name in enumerate(names)}
    columns_of = {"t": [at["t"]]} if contents.time else {}
    columns_of |= {group: [at[f"{group}{k + 1}"] for k in range(n)] for group in groups}
    scales = []
    for group, columns in columns_of.items():
        sliding = [None] * len(columns) if group == "t" or arm is None else sliding_joints(arm)
        usual = [None if slides else stated.usual.get(group) for slides in sliding]
        own = [units[column] or unit for column, unit in zip(columns, usual, strict=True)]
        scale, converted = factors(path, group, own, sliding, stated.units.get(group))
        scales.append(scale)
        findings += [f"{path}: {group} {note}" for note in converted]
    present = {match[1] or "t" for name in names if (match := _COLUMN.fullmatch(name or ""))}
    if absent := [group for group in stated.units if group not in present]:
        raise DalembertError(
            f"{path}: the unit of {absent[0]} is given as '{stated.units[absent[0]]}', but the file has no {absent[0]}"
        )
    wanted = [places[column] for columns in columns_of.values() for column in columns] + list(others.values())
    clocked = contents.time and ("t" in stated.units or units[at["t"]] is not None)
    return MotionLayout(
        n, groups, wanted, np.concatenate([*scales, other_factors]), findings + notes, list(others), clocked, contents.time
    )  # fmt: skip


def _others(table: Table, contents: Contents, used: set[int]) -> tuple[dict[str, int], list[float], list[str]]:
    """{load or hold: its column}, their factors to SI, and notes on those that were converted."""
    known = {column.key: column for column in contents.others}
    pairs = [name_and_unit(name) for name in table.names]
    twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1 and name in known]
    if twice:
        raise DalembertError(f"{table.path}: the column {some(twice)} occurs more than once in the header")
    at = {name: k for k, (name, _) in enumerate(pairs) if name in known and k not in used}
    scales, notes = [], []
    for name, k in at.items():
        units, written = known[name].units(), pairs[k][1]
        unit = next(iter(units)) if written is None else unit_among(units, written)
        if unit is None:
            raise DalembertError(
                f"{table.path}: the unit of column '{name}' is '{written}'; it must be one of {', '.join(units)}"
            )
        scales.append(units[unit])
        if scales[-1] != 1.0:
            notes.append(f"{table.path}: {name} was converted from {written}")
    return at, scales, notes


def _standard_names(
    path: str, written: list[str], arm: Arm | None, known: Sequence[str], contents: Contents
) -> tuple[list[str | None], list[str | None], list[str]]:
    """Standard names of the columns (t, q1, …), their units, and notes.

    Names like t and q1 are taken literally. Others are interpreted as in a log: time, joint1_pos, elbow.velocity
    [deg/s]. A column of a joint that the arm does not have gets None; one without a recognised meaning keeps its name.
    The quantities ``known`` are not searched for.
    """
    pairs = [name_and_unit(column) for column in written]
    names: list[str | None] = [name for name, _ in pairs]
    units = [unit for _, unit in pairs]
    notes: list[str] = []
    if not contents.time and arm is not None:  # the name of a joint alone is its position
        numbers = {joint: f"q{k}" for k, joint in enumerate(arm.joint_names, 1)}
        names = [numbers.get(name or "", name) for name in names]
    if all(_COLUMN.fullmatch(name or "") for name in names):
        return names, units, notes
    named = gathered(path, written, tuple(arm.joint_names) if arm is not None else (), {})
    joints: tuple[str, ...] = ()
    for group in (group for group in (QUANTITIES if contents.time else contents.groups) if group not in known):
        meanings = named.meaning(group)
        if len(meanings) != 1:  # if several are possible, only those named t, q1, … are used
            columns = [column for name, _ in meanings for column in named.groups[name]]
            if columns and not any(_COLUMN.fullmatch(names[column] or "") for column in columns):
                may = some([written[column] for column in columns])
                raise DalembertError(f"{path}: {may} could all be {group}; keep only the correct ones in the file")
            continue
        name, unit = meanings[0]
        if name in named.faults:
            raise DalembertError(named.faults[name])
        columns = named.groups[name]
        if group != "t" and name in named.joints:
            order, remarks = _joint_order(named, named.joints[name], arm, joints or named.joints[name])
            notes += [] if joints else remarks
            joints = joints or named.joints[name]
            names = [None if column in columns else name for column, name in enumerate(names)]
            columns = [columns[k] for k in order]
        for k, column in enumerate(columns):
            units[column] = units[column] or unit
            names[column] = f"{group}{k + 1}" if group != "t" else group
    return names, units, notes


def _joint_order(
    named: Grouped, theirs: tuple[str, ...], arm: Arm | None, first: tuple[str, ...]
) -> tuple[list[int], list[str]]:
    """Indices of the columns in the arm's joint order; without an arm, in the order in which ``first`` names them."""
    if arm is not None:
        remedy = "; name the columns after the arm's joints, or q1, q2, …"
        return joint_order(named.source, "motion", theirs, arm, remedy)
    if sorted(theirs) != sorted(first):
        raise named.wrong(
            f"some columns are for the joints {some(first)}, others for {some(theirs)}; all must be for the same"
        )
    note = f"{named.source}: the joints are {some(first)}, in the file's order"
    return [theirs.index(joint) for joint in first], [note]


def _groups(path: str, names: list[str | None], arm: Arm | None, contents: Contents) -> tuple[int, list[str]]:
    """Number of joints and groups of columns in the file; raises an error that names the columns at fault."""
    matches = [match for name in names if (match := _COLUMN.fullmatch(name or ""))]
    counts = {group: sorted(int(match[2]) for match in matches if match[1] == group) for group in (*GROUPS, "tau")}
    n = arm.n if arm is not None else max(len(counts["q"]), 1)
    owner, what = ("q", "column") if arm is None else (f"arm '{arm.name}'", "joint")
    whose, columns = f"{owner} has {counted(n, what)}", contents.columns(n)
    unknown = [
        name
        for name in names
        if name is not None and (not (match := _COLUMN.fullmatch(name)) or not (contents.time or match[1] == "q"))
    ]
    if unknown == [""]:
        raise DalembertError(f"{path}: column {names.index('') + 1} has no name; known columns are {columns}")
    if unknown:
        plural, which = "s" if len(unknown) > 1 else "", some([shown(x) for x in unknown])
        if not contents.time:
            raise DalembertError(
                f"{path}: the column {which} is unknown; in addition to the joints, a point may have "
                f"{some([column.key for column in contents.others])}"
            )
        joints = [name for name in unknown if arm is not None and name in arm.joint_names]
        hint = f"; a joint's position is named '{joints[0]}.position'" if joints else ""
        raise DalembertError(
            f"{path}: unknown column{plural} {which}; the known columns are {columns}"
            f"{nearest(unknown[0], column_names(GROUPS, n))}{hint}; columns={{'q': …}} (--column q=…) assigns others"
        )
    double = [name for name, times in Counter(filter(None, names)).items() if times > 1]
    if double:
        raise DalembertError(f"{path}: the column {some(double)} occurs more than once in the header")
    for group in contents.groups:
        numbers = counts[group]
        if numbers and numbers == list(range(1, len(numbers) + 1)) and len(numbers) != n:
            raise ShapeError(
                f"{path}: its columns give {group} the shape (…, {len(numbers)}), but {whose}: "
                f"{group} must have the shape (…, {n})"
            )
    groups = [group for group in contents.groups if counts[group] or group == contents.needed]
    named = set(names)
    missing = [name for name in column_names(groups, n)[not contents.time :] if name not in named]
    if missing:
        verb, plural = ("is", "") if len(missing) == 1 else ("are", "s")
        omitted = " (qd or qdd may be omitted as a whole)" if contents.needed == "q" and contents.time else ""
        raise DalembertError(
            f"{path}: the column{plural} {some(missing)} {verb} missing; required are {columns}{omitted}"
        )
    beyond = [f"{group}{k}" for group in contents.groups for k in counts[group] if k > n]
    if beyond:
        raise DalembertError(f"{path}: {whose}, so there can be no column {some(beyond)}")
    return n, groups
