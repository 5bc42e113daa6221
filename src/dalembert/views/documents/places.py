"""Rows of the map by the names that people give them: "7.32", "Fig. 7.5", "S7.45", "section 7.8", "Christoffel".

>>> [row.place for row in look_up("eq. 7.31").rows]
['S (7.31)']
>>> look_up("section 7.8").title
'S 7.8 Operational space dynamic model'
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dalembert.errors import DalembertError
from dalembert.views.documents.rows import MapRow, rows, sections

# the word under which a kind of entry is compared, and how people write it
KINDS = {
    "fig": r"fig(?:ure)?s?",
    "problem": r"prob(?:lem)?s?",
    "example": r"ex(?:ample)?s?",
    "table": r"tab(?:le)?s?",
    "section": r"(?:sub)?sec(?:t(?:ion)?)?s?|§§?",
    "equation": r"eqn?s?|equations?",
}


@dataclass(frozen=True)
class Lookup:
    """The rows that a name stands for.

    title  of the list, if the name is that of a section or a word
    also   the section that has the same number as these equations
    """

    rows: tuple[MapRow, ...]
    title: str = ""
    also: str = ""


def look_up(place: str) -> Lookup:
    """The rows for an entry ("7.32", "S (7.32)", "fig. 7.6", "M Table 1", "Prob. 7.5"), for a section ("section 7.8",
    "§7.7", "7.3.3", "M 4"), or with these words ("Christoffel")."""
    kind, name = _plain(place)
    named = tuple(row for row in rows() if kind != "section" and name in _names(row))
    titled = [(title, members) for title, members in _sections(name) if kind != "equation"]
    titles = "; ".join(title for title, _ in titled)
    if named:
        return Lookup(named, also=titles)
    if titled:
        return Lookup(tuple(row for _, members in titled for row in members), titles)
    is_word = re.search(r"[^\W\d]{3}", name) and not re.search(r"\d", name)
    if matching := tuple(row for row in rows() if is_word and all(word in _text(row) for word in name.split())):
        return Lookup(matching, f"rows with '{' '.join(place.split())}'")
    raise DalembertError(
        f"'{place}' is not an entry of the two documents; try an equation such as 7.32 or M 2.11, 'Fig. 7.6', "
        "'Example 7.2', 'Table 3', 'Problem 7.5', 'section 7.8', or a word such as Christoffel"
    )


def _names(row: MapRow) -> set[str]:
    """The names of a row: all that is shown there together, and each part of it, with and without the document."""
    names = {_plain(part)[1] for part in (row.at, *row.at.split(","))}
    return names | {f"{row.document.casefold()} {name}" for name in names}


def _sections(name: str) -> list[tuple[str, tuple[MapRow, ...]]]:
    """Title and rows of the sections and subsections with this number."""
    return [
        (f"{section.document} {title}", members)
        for section in sections()
        for title, members in ((section.title, section.rows), *section.subsections)
        if name in (title.split()[0], f"{section.document.casefold()} {title.split()[0]}")
    ]


def _text(row: MapRow) -> str:
    """Where words are searched."""
    return " ".join([row.at, row.says, row.misprint, row.section, row.subsection, row.call]).casefold()


def _plain(place: str) -> tuple[str, str]:
    """Whether a name says that it is a section or an equation, and the name without what people write in different ways."""
    words = re.sub(r"[()\[\]]", "", place.casefold()).translate(str.maketrans("–—−’", "---'"))
    words = re.sub(r"\b([sm]) ?(?=\d|§)", r"\1 ", words)
    for kind, spelling in KINDS.items():
        words = re.sub(rf"(?<![^\W\d_])(?:{spelling})\.? ?(?=[sm]? ?\d)", f"{kind} ", words)
    kinds = re.findall(r"\b(section|equation) ", words)
    name = re.sub(r"\b(?:section|equation) ", "", words)
    return (kinds[0] if kinds else ""), " ".join(name.split())
