"""Signals of a moving arm in the columns of a table: time, per joint position, velocity, torque and others, and its load.

The names of columns tell the quantity, the joint and the unit: q1, q[0], elbow.velocity [deg/s], joint1_pos, Zeit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Any

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.tables.columns import Column, name_and_unit
from dalembert.base.tables.units import CHARACTERS, OFFSETS, RESPELT, UNITS, unit_among
from dalembert.base.wording import nearest, some
from dalembert.errors import DalembertError

# the spellings are in lower case; the first one found is used
SIGNALS: dict[str, Column] = {
    column.key: column
    for column in (
        Column("t", "t time timestamp stamp times timestamps stamps seconds elapsed zeit zeitstempel sekunden temps secondes",
               "s"),
        Column("q", "q position positions pos joint_position joint_positions joint_pos actual_q q_meas q_measured measured_q "
               "q_actual q_msr actual_position actual_positions theta positionen winkel gelenkwinkel gelenkposition gelenk "
               "gelenke angle angles articulation articulations", "rad", "m"),
        Column("qd", "qd dq qdot q_dot velocity velocities vel joint_velocity joint_velocities joint_vel actual_qd qd_meas "
               "dq_meas qd_measured qd_actual actual_velocity actual_velocities geschwindigkeit geschwindigkeiten "
               "winkelgeschwindigkeit gelenkgeschwindigkeit vitesse vitesses", "rad/s", "m/s"),
        Column("qdd", "qdd ddq qddot q_ddot acceleration accelerations acc joint_acceleration joint_accelerations joint_acc "
               "beschleunigung beschleunigungen winkelbeschleunigung accélération accélérations", "rad/s²", "m/s²"),
        Column("tau", "tau torque torques effort efforts joint_torque joint_torques tau_j tau_meas tau_measured "
               "measured_torque measured_torques tau_msr tau_actual actual_torque actual_torques drehmoment drehmomente "
               "moment momente gelenkmoment couple couples", "N m", "N"),
        Column("current", "current currents i motor_current motor_currents actual_current actual_currents i_meas strom "
               "ströme motorstrom motorströme courant courants", "A"),
        Column("command", "command commands commanded q_command q_commanded q_cmd q_des q_desired q_ref q_reference q_target "
               "target_q q_goal q_setpoint commanded_position commanded_positions command_position position_command "
               "desired_position goal_position target_position joint_command joint_commands target targets desired goal goals "
               "reference setpoint setpoints action actions sollwert sollwerte sollposition sollpositionen sollwinkel consigne "
               "consignes", "rad", "m"),
        Column("temperature", "temperature temperatures temp temps motor_temperature motor_temperatures motor_temp "
               "joint_temperature joint_temperatures joint_temp drive_temperature drive_temperatures gear_temperature "
               "gear_temperatures temperatur temperaturen motortemperatur température températures", "°C"),
    )
}  # fmt: skip
TENSOR = ("xx", "xy", "xz", "yy", "yz", "zz")
# the payload in the order of a body's parameters: mass, centre of mass, moments about it, in the tip frame
PAYLOADS = (
    Column("payload", "", "kg"),
    *(Column(f"payload_{axis}", "", "m") for axis in "xyz"),
    *(Column(f"payload_i{axes}", "", "kg m²") for axes in TENSOR),
)
# the wrench of the tip on its environment, in base axes
WRENCHES = (*(Column(f"f{axis}", "", "N") for axis in "xyz"), *(Column(f"m{axis}", "", "N m") for axis in "xyz"))
HOLD = Column("hold", "", "s")
SPELLED = {word: group for group, column in SIGNALS.items() for word in column.spellings}
# words that can precede or follow a joint name with only a _ in between: shoulder_velocity
BESIDE = tuple(w for w in SPELLED if len(w) > 2 and "_" not in w and SPELLED[w] != "t")
NO_UNITS = ("in",)  # q_in is an input, not in inches

# each of these takes time proportional to the length of a name
_JOINT = re.compile(r"(\w*_)?(joint|jnt|axis|gelenk|achse|articulation|axe|j|a)_?\d{1,3}", re.IGNORECASE)
_NUMBERED = re.compile(r"(.*?)[_\[ .(]?(\d{1,3})[\])]?")
_INSIDE = re.compile(r"([A-Za-z_]*?[A-Za-z])_?(\d{1,3})_?([A-Za-z][A-Za-z_]*)")


@dataclass
class Grouped:
    """The columns of a table by name.

    header   column of each name;  groups  columns that belong together, by their common name
    joints   by name: the joints of these columns, if the file names them
    units    of columns: as written after their names, such as [deg]
    faults   by name: why it cannot be used; raised on use
    """

    source: str
    header: dict[str, int] = field(default_factory=dict)
    groups: dict[str, list[int]] = field(default_factory=dict)
    joints: dict[str, tuple[str, ...]] = field(default_factory=dict)
    units: dict[int, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """All names that can be requested."""
        return list(self.groups)

    @property
    def contents(self) -> str:
        """The names, for a message."""
        return some(self.names) or "nothing"

    def wrong(self, sentence: str, error: type[DalembertError] = DalembertError) -> DalembertError:
        """An error about the file, prefixed by its name."""
        return error(f"{self.source}: {sentence}")

    def meaning(self, group: str) -> list[tuple[str, str | None]]:
        """The names that denote a quantity, best first, each with the unit that it ends with."""
        places = [(name, *place) for name in self.names if (place := _meaning(name, group))]
        return [(name, unit) for name, _, unit in sorted(places, key=lambda place: place[1])]

    def assigned(self, group: str, wanted: Any, width: int) -> list[int]:
        """The columns, out of ``width``, that the user assigns to a quantity: by name, by group or by number."""
        at: list[int] = []
        for word in listed_words(wanted):
            if word in self.header:
                at.append(self.header[word])
            elif word in self.groups:
                at += self.groups[word]
            else:
                at += self.numbered(group, word, width)
        used = set(at)
        for name, columns in self.groups.items():
            if name in self.faults and not used.isdisjoint(columns):
                raise DalembertError(self.faults[name])
        return at

    def numbered(self, group: str, word: Any, width: int) -> list[int]:
        """Columns by number: 3, or 1:7 for 1 to 6."""
        numbers = span(word)
        if numbers is None:
            hint = nearest(str(word), [*self.header, *self.groups])
            raise self.wrong(f"it has no '{word}' for {group}; it has {self.contents}{hint}")
        first, last = numbers[0], width if numbers[1] is None else numbers[1]
        if not first < last <= width:
            columns = f"{width} columns, from 0 to {width - 1}"
            raise self.wrong(f"{group} is assigned to column {word}, but there are {columns}")
        return list(range(first, last))


def span(word: Any) -> tuple[int, int | None] | None:
    """(first, last + 1) of a number or a range, whose end may be open; None for any other word.

    >>> span(3), span("1:7"), span("2:"), span("q")
    ((3, 4), (1, 7), (2, None), None)
    """
    start, colon, end = (part.strip() for part in str(word).partition(":"))
    countable = all(x.isascii() and x.isdecimal() and len(x) < 10 for x in (start, end) if x) and (start or colon)
    if not countable or isinstance(word, bool):
        return None
    return int(start or 0), int(end) if end else None if colon else int(start) + 1


def listed_words(wanted: Any) -> list[Any]:
    """The names or numbers of columns in a value of ``columns``."""
    words = wanted if isinstance(wanted, list | tuple) else wanted.split(",") if isinstance(wanted, str) else [wanted]
    return [word.strip() if isinstance(word, str) else word for word in words]


def gathered(
    source: str, names: Sequence[str], joints: Sequence[str], faulty: dict[int, str],
    words: dict[int, str] | None = None,
) -> Grouped:  # fmt: skip
    """The columns of a table grouped by name: q1 q2 …, q[0] q[1] …, position.elbow …, elbow/position, elbow_position.

    joints  of the arm, needed to interpret names such as elbow_position
    faulty  {column that cannot be used: reason}
    words   first row of the text columns: name0, name1, … may name the joints of position0, …
    """
    grouped, faults = Grouped(source), dict(faulty)
    pairs = [name_and_unit(name) for name in names]
    plain = [name for name, _ in pairs]
    grouped.units = {column: unit for column, (_, unit) in enumerate(pairs) if unit is not None}
    for column, name in enumerate(plain):
        first = grouped.header.setdefault(name, column)
        if name and first != column:
            places = f"columns {first} and {column}, counted from 0"
            faults[first] = f"{source}: the header contains '{name}' twice, in {places}"
    numbered: dict[str, dict[int, int]] = {}
    owned: dict[str, dict[str, int]] = {}
    for column, name in enumerate(plain):
        if not name or grouped.header[name] != column:
            continue
        if name.lower() in SPELLED:
            grouped.groups[name] = [column]
        elif owner := owner_of(name, joints):
            owned.setdefault(owner[0], {})[owner[1]] = column
        elif parts := _NUMBERED.fullmatch(name):
            numbered.setdefault(parts[1], {})[int(parts[2])] = column
        elif parts := _INSIDE.fullmatch(name):
            numbered.setdefault(f"{parts[1]}_{parts[3]}", {})[int(parts[2])] = column
        else:
            grouped.groups[name] = [column]
    for stem, by_number in sorted(numbered.items(), key=lambda item: not item[0].endswith("name")):
        key = stem
        while key in grouped.groups or not key:
            key += "#"
        grouped.groups[key] = [by_number[k] for k in sorted(by_number)]
        gap = next(k for k in count(0 if 0 in by_number else 1) if k not in by_number)
        if gap < max(by_number):
            grouped.faults[key] = f"{source}: number {gap} of the columns {stem}1, {stem}2, … is missing"
        last = re.split(r"[./:]", stem)[-1]
        naming = grouped.groups.get(f"{stem.removesuffix(last)}name", ()) if last in SPELLED else ()
        if words and len(naming) == len(by_number) and all(k in words for k in naming):
            grouped.joints[key] = tuple(words[k] for k in naming)
    for quantity, by_joint in owned.items():
        if quantity in grouped.groups:
            grouped.groups |= {plain[column]: [column] for column in by_joint.values()}
            continue
        grouped.groups[quantity] = list(by_joint.values())
        grouped.joints[quantity] = tuple(by_joint)
    for name, columns in grouped.groups.items():
        bad = [column for column in columns if column in faults]
        if bad:
            grouped.faults.setdefault(name, faults[bad[0]])
    return grouped


def owner_of(name: str, joints: Sequence[str]) -> tuple[str, str] | None:
    """(quantity, joint) from a name such as elbow.position, position/elbow, elbow_position."""
    pieces = re.split(r"[./:]", name)
    quantity = next((p for p in pieces if SPELLED.get(p.lower(), "t") != "t"), None)
    if len(pieces) > 1 and quantity is not None:
        return quantity, ".".join(p for p in pieces if p != quantity)
    name = name.replace(" ", "_")
    lower = name.lower()
    for word in BESIDE:
        before, behind = lower.startswith(f"{word}_"), lower.endswith(f"_{word}")
        for fits, who in ((before, name[len(word) + 1 :]), (behind, name[: -len(word) - 1])):
            if fits and (who in joints or _JOINT.fullmatch(who)):
                return word, who
    return None


def _meaning(name: str, group: str) -> tuple[int, str | None] | None:
    """(rank of the name for the quantity, the unit it ends with), or None if it denotes something else."""
    words = SIGNALS[group].spellings
    whole = name.lower().strip("_%/# ")
    for further, word in enumerate((whole, re.split(r"[./:]", whole)[-1])):
        if word in words:
            return words.index(word) + 100 * further, None
        stem, _, ending = word.rpartition("_")
        short = len(ending) < 2 and group != "t"  # the m in q_m is not metre
        unit = None if short or ending in NO_UNITS else understood(group, ending)
        if stem in words and unit:
            return words.index(stem) + 100 * further, unit
    return None


def matched(mine: Sequence[str], theirs: Sequence[str]) -> list[int] | None:
    """Indices of the arm's joints among those of a log: by name, by name after a common prefix, or by number after one.

    >>> matched(["joint1", "joint2"], ["finger", "left_joint2", "left_joint1"])
    [2, 1]
    """
    at = {name: k for k, name in enumerate(theirs)}
    if all(name in at for name in mine):
        return [at[name] for name in mine]
    orders: set[tuple[int, ...]] = set()
    begins = takewhile(lambda letters: len(set(letters)) == 1, zip(*mine, strict=False))
    shared = len(list(begins)) if len(mine) > 1 else 0  # length of the common prefix of the arm's joint names
    for stems in {tuple(mine), tuple(name[shared:] for name in mine)}:
        if not all(stems):
            continue
        for prefix in {name[: -len(stems[0])] for name in theirs if name.endswith(stems[0])}:
            if all(prefix + stem in at for stem in stems):
                orders.add(tuple(at[prefix + stem] for stem in stems))
    if not orders:
        numbered: dict[str, dict[int, int]] = {}
        for k, name in enumerate(theirs):
            prefix = name.rstrip("0123456789")
            if len(number := name[len(prefix) :]) in range(1, 10) and str(int(number)) == number:
                numbered.setdefault(prefix, {})[int(number)] = k
        for by_number in numbered.values():
            if sorted(by_number) in (list(range(len(mine))), list(range(1, len(mine) + 1))):
                orders.add(tuple(by_number[k] for k in sorted(by_number)))
    return list(orders.pop()) if len(orders) == 1 else None


# -- units -----------------------------------------------------------------------------------------


def understood(group: str, unit: str) -> str | None:
    """The unit of a quantity in the spelling used here, or None."""
    return unit_among(SIGNALS[group].units(), unit)


def factors(
    source: str, group: str, units: Sequence[str | None], sliding: Sequence[bool | None], stated: str | None = None
) -> tuple[Array, list[str]]:
    """The factors (k,) to SI of the columns of a quantity, and notes if any is not 1.

    units    of the columns; one without a unit takes the first that is given
    sliding  whether the joint of each column is prismatic; None if that is unknown
    stated   the unit that the user states, which replaces them
    "deg mm" are two units, one for revolute and one for prismatic joints: each applies only to the joints for which it
    is possible.
    """
    column = SIGNALS[group]
    own = [stated] * len(units) if stated else list(units)
    usual = next((unit for unit in own if unit is not None), None)
    scale = np.ones(len(own))
    if usual is None:
        return scale, []
    for k, (unit, slides) in enumerate(zip(own, sliding, strict=True)):
        words = column.unit_words(unit or usual)
        known = column.units(slides)
        if not words:
            names = list(column.units())
            raise DalembertError(
                f"{source}: {group} is in '{unit or usual}'; known units are {', '.join(names)}"
                f"{nearest(unit or usual, names)}"
            )
        if unit is not None and not stated and len(words) == 1 and words[0] not in known:
            kind = "prismatic" if slides else "revolute"
            raise DalembertError(
                f"{source}: {group} of joint {k + 1} is in '{unit}', but the joint is {kind}; known units are "
                f"{', '.join(known)}"
            )
        for word in words:
            scale[k] *= known.get(word, 1.0)
    used = ", ".join(dict.fromkeys(filter(None, own)))
    return scale, [f"was converted from {used} to SI"] if np.any(scale != 1.0) else []


def celsius(source: str, units: Sequence[str | None]) -> Array:
    """Offsets from temperatures in these units (k,) to °C; a column without a unit takes the first that is given."""
    usual = next((unit for unit in units if unit is not None), "degC")
    factors(source, "temperature", [unit or usual for unit in units], [None] * len(units))  # refuses unknown units
    return np.array([OFFSETS.get(str(understood("temperature", unit or usual)), 0.0) for unit in units])


TIME = UNITS["s"]


def declarations() -> dict[str, Any]:
    """Spellings and units of every column, as JSON can hold them: the page's reader is made from them.

    signals    {quantity: {"spellings": […], "revolute": {unit: factor}, "prismatic": {unit: factor}}}
    payloads, wrenches   {column: {unit: factor}}, in the order of a body's parameters and of a wrench
    respelt    [old, new] replacements that normalise a unit, in order; characters {character: replacement}, after them
    no_units   endings of names, as in q_in, that are not units

    >>> declarations()["signals"]["q"]["prismatic"]["mm"], declarations()["payloads"]["payload"]["g"]
    (0.001, 0.001)
    """
    return {
        "signals": {
            key: {"spellings": list(column.spellings), "revolute": column.units(False), "prismatic": column.units(True)}
            for key, column in SIGNALS.items()
        },
        "payloads": {column.key: column.units() for column in PAYLOADS},
        "wrenches": {column.key: column.units() for column in WRENCHES},
        "respelt": [list(pair) for pair in RESPELT],
        "characters": CHARACTERS,
        "no_units": list(NO_UNITS),
    }
