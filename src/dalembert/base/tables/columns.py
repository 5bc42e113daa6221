"""Columns as data: a format is a list of columns with their spellings and units, resolved against a header."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dalembert.base.tables.units import DOUBTS, NUMBER, UNITS, parse_angle, unit_among
from dalembert.base.wording import shown
from dalembert.errors import RobotError

LONGEST_CELL = 200  # characters of a header or a number: pattern matching takes quadratic time
EMPTY = ("", "-", "–", "—", "n/a", "na", "none", "null")
GREEK = dict(zip("αθϑστᵢ", ("alpha", "theta", "theta", "sigma", "tau", "i"), strict=True))
_PREVIOUS = re.compile(r"[_\s]*+[{(\[]?\s*+[inj]\s*+[-−–]\s*+1\s*+[})\]]?|ᵢ₋₁", re.IGNORECASE)
_BRACKETS = re.compile(r"(?P<name>[^\[(]*+)[\[(](?P<unit>.*)[\])]\s*+")
_ENDING = re.compile(r"(?P<name>.*?[^\s,/_])(?:\s*[,/_]\s*|\s+in\s+|\s+)(?P<unit>[^\s,_].*)")
_WITH_UNIT = re.compile(rf"({NUMBER})\s*+(\D.*+)")
_RATIO = re.compile(rf"({NUMBER})\s*+:\s*+({NUMBER})")
DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)|(?<![\w.]),(?=\d)")


@dataclass(frozen=True)
class Column:
    """A column of a format.

    key      its name;  words  the names that it may have in a file, separated by blanks, or by commas if there are any
    unit     its unit in the model; None for text;  sliding  the unit for prismatic joints, if it differs
    """

    key: str
    words: str = ""
    unit: str | None = None
    sliding: str | None = None

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """The names that it may have in a file."""
        return tuple(filter(None, re.split(r"\s*,\s*" if "," in self.words else r"\s+", self.words)))

    def units(self, slides: bool | None = None) -> dict[str, float]:
        """{unit: factor}, for a prismatic or a revolute joint, or for both."""
        if self.unit is None:
            return {}
        revolute, prismatic = UNITS[self.unit], UNITS[self.sliding or self.unit]
        return revolute | prismatic if slides is None else prismatic if slides else revolute

    def unit_words(self, unit: str) -> list[str]:
        """The units in a header; "deg, mm" names one for revolute and one for prismatic joints; empty if any is unknown.

        >>> Column("q", "q", "rad", "m").unit_words("degrees or mm"), Column("q", "q", "rad").unit_words("mm")
        (['deg', 'mm'], [])
        """
        known = self.units()
        for separator in (r"$", r"[,;|]|\bor\b", r"/", r"\s"):
            words = [unit_among(known, part) for part in re.split(separator, unit) if part.strip()]
            if words and None not in words:
                return [str(word) for word in words]
        return []


@dataclass(frozen=True)
class Heading:
    """A column of a table: which one of the format it is, its header, its position, and its unit if the header has one.

    previous  whether the header refers to the previous link: a_{i−1}, as in modified DH tables
    """

    column: Column
    header: str
    at: int
    unit: str | None = None
    previous: bool = False

    @property
    def key(self) -> str:
        """The key of the column."""
        return self.column.key


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


def compact(text: str) -> str:
    """A header in lower case, without blanks, underscores and signs, and with Greek letters spelled out.

    >>> compact(" Link Twist $\\\\alpha_i$"), compact("com_x")
    ('linktwistalphai', 'comx')
    """
    return "".join(GREEK.get(c, c) for c in text.lower() if c.isalnum() or c == "°")


def spelled(columns: Iterable[Column]) -> dict[str, Column]:
    """{name in compact spelling: column}."""
    return {compact(word): column for column in columns for word in (column.key, *column.spellings)}


def headings(cells: Sequence[str], meaning: Mapping[str, Column], where: str) -> tuple[list[Heading], dict[int, str]]:
    """The columns that a row of headers names, and the headers that were not recognised, by position.

    meaning  {compact name: column}, as :func:`spelled` returns it
    """
    columns, others = [], {}
    for at, cell in enumerate(cells):
        heading = _heading(cell, at, meaning, where) if 0 < len(cell) <= LONGEST_CELL else None
        if heading is not None:
            columns.append(heading)
        elif cell.strip("# %/"):
            others[at] = cell
    return columns, others


def with_units(columns: Sequence[Heading], cells: Sequence[str]) -> list[Heading]:
    """The columns with the units in a row of units, such as [mm], deg; none if the row is another one."""
    below = {x: cells[x.at] for x in columns if x.at < len(cells) and cells[x.at]}
    units = {x: "" if cell.lower() in EMPTY else cell.strip("[]() ").lower() for x, cell in below.items()}
    for x, unit in units.items():
        if x.column.unit is None or len(unit) > LONGEST_CELL or (unit and not x.column.unit_words(unit)):
            return []
    return [replace(x, unit=x.unit or units.get(x) or None) for x in columns] if any(units.values()) else []


def check_once(columns: Sequence[Heading], where: str) -> None:
    """Refuse two columns of the same meaning."""
    first: dict[str, str] = {}
    for column in columns:
        if column.key in first:
            raise RobotError(
                f"{where}: the columns '{first[column.key]}' and '{column.header}' both mean {column.key}; remove one of them"
            )
        first[column.key] = column.header


def _heading(cell: str, at: int, meaning: Mapping[str, Column], where: str) -> Heading | None:
    text = cell.lstrip("#%/ ").replace("\u00a0", " ")
    whole, count = _PREVIOUS.subn("", text)
    for written in (text, whole):  # in the first, the n−1 of the unit min-1 is still there
        bracketed = _BRACKETS.fullmatch(written)
        column = meaning.get(compact(bracketed["name"])) if bracketed else None
        if bracketed and column and column.unit_words(bracketed["unit"]):
            return Heading(column, cell, at, bracketed["unit"].strip(), written is not text and count > 0)
    if bracketed and column:
        name, unit = bracketed["name"], bracketed["unit"].strip()
        words = (unit, unit + name, name + unit)  # "a (link length)", "speed (max)"
        other = next((meaning[compact(word)] for word in words if compact(word) in meaning), None)
        if column.unit is None:
            return Heading(column, cell, at)
        if unit and other is None:
            known = ", ".join(column.units())
            raise RobotError(f"{where}, column '{cell}': the unit '{unit}' is unknown; known units are {known}")
        meant = column if other is None or other.key == "variable" else other
        return Heading(meant, cell, at, previous=count > 0)
    if column := meaning.get(compact(whole)):
        return Heading(column, cell, at, previous=count > 0)
    ending = _ENDING.fullmatch(whole)
    column = meaning.get(compact(ending["name"])) if ending else None
    if ending and column and column.unit_words(unit := ending["unit"].strip()):
        return Heading(column, cell, at, unit, count > 0)
    return None


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, possibly with a unit or as a ratio.

    >>> [is_number(x) for x in ("0,5 mm", "1:100", "-3e-2", "6205-2RS", "R")]
    [True, True, True, False, False]
    """
    text = cell[:LONGEST_CELL].strip().replace(",", ".").replace("−", "-")
    return any(pattern.fullmatch(text) for pattern in (re.compile(NUMBER), _RATIO)) or (
        (match := _WITH_UNIT.fullmatch(text)) is not None and not any(c.isdigit() for c in match[2].rstrip("2²"))
    )


@dataclass(frozen=True)
class Cell:
    """A cell under a heading, and its location as written in messages."""

    text: str
    heading: Heading
    where: str
    comma: bool  # whether a comma is the decimal separator

    def __post_init__(self) -> None:
        if self.heading.column.unit is not None and len(self.text) > LONGEST_CELL:
            raise self.wrong(f"{shown(self.text)} is not a number: it has {len(self.text)} characters")

    @property
    def blank(self) -> bool:
        """Whether the cell is empty."""
        return self.text.lower() in EMPTY

    def wrong(self, sentence: str) -> RobotError:
        """An error about this cell."""
        return RobotError(f"{self.where}, column '{self.heading.header}': {sentence}")

    def number(self, slides: bool = False) -> float | None:
        """The value in units of the model, for a revolute or a prismatic joint; None if blank."""
        return None if self.blank else self.number_of(self.text, slides)

    def plain(self, text: str) -> str:
        """The text with decimal points and plain signs."""
        text = text.strip("$ \t").replace("−", "-").replace("\u00a0", " ").replace("\\", "")
        return DECIMAL_COMMA.sub(".", text) if self.comma and "." not in text else text

    def number_of(self, text: str, slides: bool = False) -> float:
        """A number in the unit written with it, or else in the unit of the column."""
        text, units = self.plain(text), self.heading.column.units(slides)
        usual = next(iter(units))
        if usual == "rad" and any(word in text for word in ("pi", "π", "deg", "rad", "°")):
            angle = parse_angle(text)
            if angle is not None:
                return angle
        if (ratio := _RATIO.fullmatch(text)) and usual in ("rad/rad", "rad/m", ""):
            slow, fast = sorted((float(ratio[1]), float(ratio[2])), key=abs)
            if slow:
                return fast / slow
        match = _WITH_UNIT.fullmatch(text)
        if match and (unit := unit_among(units, match[2])):
            return float(match[1]) * units[unit]
        if re.fullmatch(NUMBER, text) is None or not math.isfinite(float(text)):
            raise self.wrong(f"{shown(self.text)} is not a number{self._hint(usual)}")
        value = float(text)
        value *= units[self._unit(units, value, slides)]
        self._question(value, text, usual)
        return value

    def _hint(self, unit: str) -> str:
        if re.fullmatch(r"[+-]?[0-9.]*,[0-9]+", self.text):
            return "; use a decimal point, or separate the columns by semicolons"
        return "" if unit in ("rad/rad", "") else f"; write it as 0.5, or with its unit, as '0.5 {unit}'"

    def _unit(self, units: dict[str, float], value: float, slides: bool) -> str:
        """The unit of the column for this type of joint."""
        written = self.heading.unit
        if written is None:
            return next(iter(units))
        own = [unit for unit in self.heading.column.unit_words(written) if unit in units]
        if not own and value != 0:
            kind, example = "prismatic" if slides else "revolute", f"'{value:g} {list(units)[:2][-1]}'"
            raise self.wrong(
                f"the joint is {kind}, but the column is in {written}; write the unit in the cell, as {example}"
            )
        return own[0] if own else next(iter(units))

    def _question(self, value: float, text: str, unit: str) -> None:
        """Refuse a number that is implausible in the unit in which it would be interpreted."""
        heading = self.heading
        if unit not in DOUBTS or (heading.unit is not None and unit != "m" and heading.key != "alpha"):
            return
        largest, usual, words = DOUBTS[unit]
        if abs(value) <= largest or unit_among({usual: 1.0}, heading.unit or ""):
            return
        header = f"gives the unit {heading.unit}" if heading.unit else "gives no unit"
        name = heading.header.partition(heading.unit)[0].rstrip(" [(,/_") if heading.unit else heading.header
        raise self.wrong(
            f"{text} looks like {words}, but the header {header}, so it is read as {value:g} {unit}; write "
            f"'{name} [{usual}]' in the header if that is meant, or '{text} {heading.unit or unit}' in the cell if not"
        )
