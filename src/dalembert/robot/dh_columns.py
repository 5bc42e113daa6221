"""The columns of a DH table: their names, their units, and the meaning of their cells."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dalembert.errors import RobotError
from dalembert.robot import units as si
from dalembert.robot.tables import parse_angle, shown
from dalembert.robot.units import LONGEST, WIDEST

# {column: spellings in lower case, without blanks, underscores and signs; Greek letters are spelled out}
SPELLINGS = {
    "name": "joint name jointname i j k no nr number index row id axis jointno jointi",
    "link": "link linkname body linki",
    "type": "type jointtype kind rp sigma",
    "variable": "q variable jointvariable var",
    "a": "a ai linklength linklengtha alinklength",
    "alpha": "alpha alphai twist linktwist twistangle linktwistangle linktwistalpha alphalinktwist",
    "d": "d di linkoffset linkoffsetd dlinkoffset jointdistance",
    "theta": "theta thetai th jointangle jointangletheta thetajointangle",
    "offset": "offset qoffset thetaoffset jointoffset q0 theta0 zerooffset",
    "mass": "m mass linkmass mi",
    "com": "com centerofmass centreofmass cog cg centerofgravity centreofgravity",
    "com x": "cx comx xc xcom rcx lcx cogx cgx xcog",
    "com y": "cy comy yc ycom rcy lcy cogy cgy ycog",
    "com z": "cz comz zc zcom rcz lcz cogz cgz zcog",
    **{f"inertia {k}": f"i{k} j{k} ic{k} inertia{k}" for k in ("xx", "yy", "zz", "xy", "xz", "yz")},
    "shapes": "shapes shape linkshapes linkshape",
    "rotor inertia": "im jm rotorinertia motorinertia inertiarotor inertiamotor jmotor imotor jr",
    "rotor mass": "rotormass motormass",
    "gear": "gear gearratio ratio kr n reduction gr",
    "lower": "min lower qmin lowerlimit minposition minangle thetamin positionmin",
    "upper": "max upper qmax upperlimit maxposition maxangle thetamax positionmax",
    "range": "range jointrange limits jointlimits workingrange motionrange",
    "velocity": "maxspeed maxvelocity velocity speed vmax qdmax qdotmax velocitylimit speedlimit",
    "acceleration": "maxacceleration acceleration accelerationlimit qddmax",
    "effort": "maxtorque torque effort maxeffort taumax torquelimit effortlimit maxforce forcelimit peaktorque",
    "viscous": "viscous fv viscousfriction damping",
    "coulomb": "coulomb fs fc coulombfriction",
    "convention": "convention dhconvention",
    "note": "note",
}
MEANING = {word: key for key, words in SPELLINGS.items() for word in words.split()}
GEOMETRY = ("a", "alpha", "d", "theta")
RATIO = {"rad/rad": 1.0, "1": 1.0, "-": 1.0}
# the units of a column, for revolute and for prismatic joints
UNITS = {
    **dict.fromkeys(("a", "d", "com", "com x", "com y", "com z"), (si.LENGTH, si.LENGTH)),
    **dict.fromkeys(("alpha", "theta"), (si.ANGLE, si.ANGLE)),
    **dict.fromkeys(("offset", "lower", "upper", "range"), (si.ANGLE, si.LENGTH)),
    **dict.fromkeys(("mass", "rotor mass"), (si.MASS, si.MASS)),
    **dict.fromkeys([key for key in SPELLINGS if "inertia" in key], (si.INERTIA, si.INERTIA)),
    "gear": (RATIO, {"rad/m": 1.0, "1/m": 1.0}),
    "velocity": (si.TURNING_SPEED, si.SPEED),
    "acceleration": (si.TURNING_ACCELERATION, si.ACCELERATION),
    **dict.fromkeys(("effort", "coulomb"), (si.TORQUE, si.FORCE)),
    "viscous": (si.TURNING_DAMPING, si.DAMPING),
}
# {units of a column: (largest plausible number in SI, the unit that larger numbers are usually in, that unit in words)}
DOUBTS = {
    "m": (LONGEST, "mm", "millimetres"),
    "rad": (WIDEST, "deg", "degrees"),
    "rad/s": (50.0, "deg/s", "degrees per second"),
}

LONGEST_CELL = 200  # characters of a header or a number: pattern matching takes quadratic time
EMPTY = ("", "-", "–", "—", "n/a", "na", "none", "null")
_PREVIOUS = re.compile(r"[_\s]*+[{(\[]?\s*+[inj]\s*+[-−–]\s*+1\s*+[})\]]?|ᵢ₋₁", re.IGNORECASE)
_BRACKETS = re.compile(r"(?P<name>[^\[(]*+)[\[(](?P<unit>.*)[\])]\s*+")
_ENDING = re.compile(r"(?P<name>.*?[^\s,/_])(?:\s*[,/_]\s*|\s+in\s+|\s+)(?P<unit>[^\s,_].*)")
_NUMBER = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_WITH_UNIT = re.compile(rf"({_NUMBER})\s*+(\D.*+)")
_RATIO = re.compile(rf"({_NUMBER})\s*+:\s*+({_NUMBER})")
_RANGE = re.compile(
    rf"\[?\s*+(?P<lower>{_NUMBER}[^+\-0-9.]*?)\s*(?:to|\.\.+|…|,|;|/|bis|(?=\+))\s*(?P<upper>{_NUMBER}[^\]]*?)\s*\]?"
)
_LETTER = r"(?:q|θ|ϑ|theta|th|d)(?:_?\{?(?:[0-9]{1,3}|i)\}?)?(?:\(t\))?\*?"
_VARIABLE = re.compile(rf"(?:\*|var\.?|variable|free|{_LETTER})\s*+(?P<after>[+-].+)?", re.IGNORECASE)
_BEFORE = re.compile(rf"(?P<before>.+?)(?:\s*\+\s*{_LETTER}|\*)", re.IGNORECASE)


@dataclass(frozen=True)
class DHColumn:
    """A column of the table: its ``key`` in SPELLINGS, its unit as written in the header, and its position.

    previous  whether the header refers to the previous link: a_{i−1}, as in modified tables
    """

    key: str
    header: str
    at: int
    unit: str | None = None
    previous: bool = False

    def units(self, slides: bool) -> dict[str, float]:
        """The allowed units, for a revolute or a prismatic joint."""
        return UNITS[self.key][slides]


def compact(text: str) -> str:
    """A header in the normalised spelling of SPELLINGS.

    >>> compact(" Link Twist $\\\\alpha_i$"), compact("com_x")
    ('linktwistalphai', 'comx')
    """
    for greek, word in (("α", "alpha"), ("θ", "theta"), ("ϑ", "theta"), ("σ", "sigma"), ("τ", "tau"), ("ᵢ", "i")):
        text = text.replace(greek, word)
    return "".join(c for c in text.lower() if c.isalnum() or c == "°")


def columns_of(cells: Sequence[str], where: str) -> tuple[list[DHColumn], dict[int, str]]:
    """The columns that a row of headers names, and the headers that were not recognised, by position."""
    columns, others = [], {}
    for at, cell in enumerate(cells):
        column = _column(cell, at, where) if 0 < len(cell) <= LONGEST_CELL else None
        if column is not None:
            columns.append(column)
        elif cell.strip("# %/"):
            others[at] = cell
    return columns, others


def _column(cell: str, at: int, where: str) -> DHColumn | None:
    text = cell.lstrip("#%/ ").replace("\u00a0", " ")
    name, count = _PREVIOUS.subn("", text)
    for pattern in (_BRACKETS, None, _ENDING):
        if pattern is None:
            if key := MEANING.get(compact(name)):
                return DHColumn(key, cell, at, previous=count > 0)
            continue
        match = pattern.fullmatch(name)
        key = MEANING.get(compact(match["name"])) if match else None
        if match is None or key is None:
            continue
        unit = match["unit"].strip()
        if known_unit(key, unit):
            return DHColumn(key, cell, at, unit, count > 0)
        if pattern is _BRACKETS and key in UNITS:
            words = (unit, unit + match["name"], match["name"] + unit)  # "a (link length)", "speed (max)"
            meant = next((MEANING[compact(word)] for word in words if compact(word) in MEANING), None)
            if not unit or meant is not None:
                return DHColumn(key if meant in (None, "variable") else meant, cell, at, previous=count > 0)
            raise RobotError(
                f"{where}, column '{cell}': the unit '{unit}' is unknown; known units are {', '.join(all_units(key))}"
            )
        if pattern is _BRACKETS:
            return DHColumn(key, cell, at)
    return None


def all_units(key: str) -> list[str]:
    """The units of a column, for either type of joint."""
    return list(dict.fromkeys(unit for known in UNITS[key] for unit in known))


def unit_parts(key: str, unit: str) -> list[str]:
    """The units in a header; "deg, mm" names one for revolute and one for prismatic joints; empty if any is unknown."""
    for separator in (r"$", r"[,;|]|\bor\b", r"/"):
        parts = [part for part in re.split(separator, unit) if part.strip()]
        if parts and all(any(si.unit_among(known, part) for known in UNITS[key]) for part in parts):
            return parts
    return []


def known_unit(key: str, unit: str) -> bool:
    """Whether a column can have this unit."""
    return key in UNITS and bool(unit_parts(key, unit))


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, possibly with a unit or as a ratio.

    >>> [is_number(x) for x in ("0,5 mm", "1:100", "-3e-2", "6205-2RS", "R")]
    [True, True, True, False, False]
    """
    text = cell[:LONGEST_CELL].strip().replace(",", ".").replace("−", "-")
    return any(pattern.fullmatch(text) for pattern in (re.compile(_NUMBER), _RATIO)) or (
        (match := _WITH_UNIT.fullmatch(text)) is not None and not any(c.isdigit() for c in match[2].rstrip("2²"))
    )


@dataclass(frozen=True)
class DHCell:
    """A cell, and its location as written in messages."""

    text: str
    column: DHColumn
    where: str
    comma: bool  # whether a comma is the decimal separator

    @property
    def blank(self) -> bool:
        """Whether the cell is empty."""
        return self.text.lower() in EMPTY

    def wrong(self, sentence: str) -> RobotError:
        """An error about this cell."""
        return RobotError(f"{self.where}, column '{self.column.header}': {sentence}")

    def number(self, slides: bool = False) -> float | None:
        """The value in SI units, for a revolute or a prismatic joint; None if blank."""
        return None if self.blank else self.number_of(self.text, slides)

    def check_length(self) -> None:
        """Refuse a cell that is far too long for the content of its column."""
        if self.column.key in UNITS and len(self.text) > LONGEST_CELL:
            raise self.wrong(f"{shown(self.text)} is not a number: it has {len(self.text)} characters")

    def vector(self) -> tuple[float, ...]:
        """Three numbers in one cell, such as "[0, -0.026, 0.002]"; zeros if blank."""
        if self.blank:
            return 0.0, 0.0, 0.0
        words = self.text.strip("[]() ").replace(";", " ").replace(",", " ").split()
        if len(words) != 3:
            raise self.wrong(f"{shown(self.text)} is not a vector; write three numbers, as in '[0, -0.026, 0.002]'")
        return tuple(map(self.number_of, words))

    def ends(self, slides: bool) -> tuple[float, float] | None:
        """A range in one cell, such as "±170" or "-20 to 200"; None if blank."""
        if self.blank:
            return None
        text = self.text.replace("−", "-").replace("+/-", "±").replace("+-", "±").strip()
        if text.startswith("±"):
            size = self.number_of(text[1:], slides)
            return -size, size
        match = _RANGE.fullmatch(text)
        if match is None:
            raise self.wrong(f"{shown(self.text)} is not a range; write it as '±170' or '-20 to 200'")
        lower, upper = match["lower"].strip(), match["upper"].strip().removeprefix("+")
        return self.number_of(lower, slides), self.number_of(upper, slides)

    def variable(self) -> tuple[bool, float]:
        """Whether the cell marks the joint variable, and the number added to that variable.

        Examples are "q1", "θ2*" and "variable"; the sums "q1 + 90" and "pi/2 + q3"; and "90*".
        """
        text = self._plain(self.text)
        if self.blank:
            return False, 0.0
        if match := _VARIABLE.fullmatch(text):
            rest = (match["after"] or "").strip()
            return True, self.number_of(rest[0] + rest[1:].strip()) if rest else 0.0
        if match := _BEFORE.fullmatch(text):
            return True, self.number_of(match["before"])
        return False, self.number_of(text)

    def _plain(self, text: str) -> str:
        text = text.strip("$ \t").replace("−", "-").replace("\u00a0", " ").replace("\\", "")
        return re.sub(r"(?<=\d),(?=\d)|(?<!\w),(?=\d)", ".", text) if self.comma and "." not in text else text

    def number_of(self, text: str, slides: bool = False) -> float:
        """A number in the unit written with it, or else in the unit of the column."""
        text, units = self._plain(text), self.column.units(slides)
        si_unit = next(iter(units))
        if units is si.ANGLE and any(word in text for word in ("pi", "π", "deg", "rad", "°")):
            angle = parse_angle(text)
            if angle is not None:
                return angle
        if (ratio := _RATIO.fullmatch(text)) and self.column.key == "gear":
            slow, fast = sorted((float(ratio[1]), float(ratio[2])), key=abs)
            if slow:
                return fast / slow
        match = _WITH_UNIT.fullmatch(text)
        if match and (unit := si.unit_among(units, match[2])):
            return float(match[1]) * units[unit]
        if re.fullmatch(_NUMBER, text) is None or not math.isfinite(float(text)):
            raise self.wrong(f"{shown(self.text)} is not a number{self._hint(si_unit)}")
        value = float(text)
        unit = self._unit(units, value, slides)
        value *= units[unit]
        self._question(value, text, si_unit)
        return value

    def _hint(self, unit: str) -> str:
        if re.fullmatch(r"[+-]?[0-9.]*,[0-9]+", self.text):
            return "; use a decimal point, or separate the columns by semicolons"
        return "" if unit in RATIO else f"; write it as 0.5, or with its unit, as '0.5 {unit}'"

    def _unit(self, units: dict[str, float], value: float, slides: bool) -> str:
        """The unit of the column for this type of joint."""
        said = self.column.unit
        if said is None:
            return next(iter(units))
        own = [unit for part in unit_parts(self.column.key, said) if (unit := si.unit_among(units, part))]
        if not own and value != 0:
            kind, usual = ("prismatic", "mm") if slides else ("revolute", "deg")
            raise self.wrong(
                f"the joint is {kind}, but the column is in {said}; write the unit in the cell, as '{value:g} {usual}'"
                if units is si.ANGLE or units is si.LENGTH
                else f"the joint is {kind}, but the column is in {said}; known units are {', '.join(units)}"
            )
        return own[0] if own else next(iter(units))

    def _question(self, value: float, text: str, unit: str) -> None:
        """Refuse a number that is implausible in the unit in which it would be interpreted."""
        if unit not in DOUBTS or (self.column.unit is not None and unit != "m" and self.column.key != "alpha"):
            return
        largest, meant, words = DOUBTS[unit]
        if abs(value) <= largest or si.unit_among({meant: 1.0}, self.column.unit or ""):
            return
        said = f"gives the unit {self.column.unit}" if self.column.unit else "gives no unit"
        name = _name(self.column)
        raise self.wrong(
            f"{text} looks like {words}, but the header {said}, so it is read as {value:g} {unit}; write '{name} [{meant}]' in "
            f"the header if that is meant, or '{text} {self.column.unit or unit}' in the cell if not"
        )


def _name(column: DHColumn) -> str:
    """The header without its unit."""
    if column.unit is None:
        return column.header
    return column.header.partition(column.unit)[0].rstrip(" [(,/_")


def places(columns: Sequence[DHColumn], cells: Sequence[str], where: str, comma: bool) -> Iterator[tuple[str, DHCell]]:
    """The cells of a row, keyed by their columns."""
    for column in columns:
        cell = DHCell(cells[column.at] if column.at < len(cells) else "", column, where, comma)
        cell.check_length()
        yield column.key, cell
