"""The columns of a DH table: their names, their units, and cells that hold a vector, a range or the joint variable."""

from __future__ import annotations

import re

from dalembert.base.tables.columns import Cell, Column, spelled
from dalembert.base.tables.units import NUMBER
from dalembert.base.wording import shown

LIMITS = (
    Column("lower", "min qmin lowerlimit minposition minangle thetamin positionmin", "rad", "m"),
    Column("upper", "max qmax upperlimit maxposition maxangle thetamax positionmax", "rad", "m"),
    Column("velocity", "maxspeed maxvelocity speed vmax qdmax qdotmax velocitylimit speedlimit geschwindigkeit "
           "maxgeschwindigkeit vitesse vitessemax", "rad/s", "m/s"),
    Column("acceleration", "maxacceleration accelerationlimit qddmax beschleunigung maxbeschleunigung accélération",
           "rad/s²", "m/s²"),
    Column("effort", "maxtorque torque maxeffort taumax torquelimit effortlimit maxforce forcelimit peaktorque drehmoment "
           "maxdrehmoment couple couplemax", "N m", "N"),
)  # fmt: skip
JOINT = Column(
    "name", "joint jointname i j k no nr number index row id axis jointno jointi gelenk achse articulation axe"
)
COLUMNS = (
    JOINT,
    Column("link", "linkname body linki glied segment corps"),
    Column("type", "jointtype kind rp sigma typ gelenktyp"),
    Column("variable", "q jointvariable var"),
    Column("a", "ai linklength linklengtha alinklength", "m"),
    Column("alpha", "alphai twist linktwist twistangle linktwistangle linktwistalpha alphalinktwist", "rad"),
    Column("d", "di linkoffset linkoffsetd dlinkoffset jointdistance", "m"),
    Column("theta", "thetai th jointangle jointangletheta thetajointangle", "rad"),
    Column("offset", "qoffset thetaoffset jointoffset q0 theta0 zerooffset", "rad", "m"),
    Column("mass", "m linkmass mi masse", "kg"),
    Column("com", "centerofmass centreofmass cog cg centerofgravity centreofgravity schwerpunkt", "m"),
    *(
        Column(f"com {x}", f"c{x} com{x} {x}c {x}com rc{x} lc{x} cog{x} cg{x} {x}cog schwerpunkt{x}", "m")
        for x in "xyz"
    ),
    *(Column(f"inertia {k}", f"i{k} j{k} ic{k}", "kg m²") for k in ("xx", "yy", "zz", "xy", "xz", "yz")),
    Column("rotor inertia", "im jm motorinertia inertiarotor inertiamotor jmotor imotor jr", "kg m²"),
    Column("rotor mass", "motormass", "kg"),
    Column("gear", "gearratio ratio kr n reduction gr übersetzung rapport", "rad/rad", "rad/m"),
    *LIMITS[:2],
    Column("range", "jointrange limits jointlimits workingrange motionrange", "rad", "m"),
    *LIMITS[2:],
    Column("viscous", "fv viscousfriction damping", "N m s/rad", "N s/m"),
    Column("coulomb", "fs fc coulombfriction", "N m", "N"),
    Column("convention", "dhconvention"),
    Column("note"),
)
MEANING = spelled(COLUMNS)
GEOMETRY = ("a", "alpha", "d", "theta")

_RANGE = re.compile(
    rf"\[?\s*+(?P<lower>{NUMBER}[^+\-0-9.]*?)\s*(?:to|\.\.+|…|,|;|/|bis|(?=\+))\s*(?P<upper>{NUMBER}[^\]]*?)\s*\]?"
)
_LETTER = r"(?:q|θ|ϑ|theta|th|d)(?:_?\{?(?:[0-9]{1,3}|i)\}?)?(?:\(t\))?\*?"
_VARIABLE = re.compile(rf"(?:\*|var\.?|variable|free|{_LETTER})\s*+(?P<after>[+-].+)?", re.IGNORECASE)
_BEFORE = re.compile(rf"(?P<before>.+?)(?:\s*\+\s*{_LETTER}|\*)", re.IGNORECASE)


def vector(cell: Cell) -> tuple[float, ...]:
    """Three numbers in one cell, such as "[0, -0.026, 0.002]"; zeros if blank."""
    if cell.blank:
        return 0.0, 0.0, 0.0
    words = cell.text.strip("[]() ").replace(";", " ").replace(",", " ").split()
    if len(words) != 3:
        raise cell.wrong(f"{shown(cell.text)} is not a vector; write three numbers, as in '[0, -0.026, 0.002]'")
    return tuple(map(cell.number_of, words))


def ends(cell: Cell, slides: bool) -> tuple[float, float] | None:
    """A range in one cell, such as "±170" or "-20 to 200"; None if blank."""
    if cell.blank:
        return None
    text = cell.text.replace("−", "-").replace("+/-", "±").replace("+-", "±").strip()
    if text.startswith("±"):
        size = cell.number_of(text[1:], slides)
        return -size, size
    match = _RANGE.fullmatch(text)
    if match is None:
        raise cell.wrong(f"{shown(cell.text)} is not a range; write it as '±170' or '-20 to 200'")
    lower, upper = match["lower"].strip(), match["upper"].strip().removeprefix("+")
    return cell.number_of(lower, slides), cell.number_of(upper, slides)


def variable(cell: Cell) -> tuple[bool, float]:
    """Whether the cell marks the joint variable, and the number added to that variable.

    Examples are "q1", "θ2*" and "variable"; the sums "q1 + 90" and "pi/2 + q3"; and "90*".
    """
    text = cell.plain(cell.text)
    if cell.blank:
        return False, 0.0
    if match := _VARIABLE.fullmatch(text):
        rest = (match["after"] or "").strip()
        return True, cell.number_of(rest[0] + rest[1:].strip()) if rest else 0.0
    if match := _BEFORE.fullmatch(text):
        return True, cell.number_of(match["before"])
    return False, cell.number_of(text)
