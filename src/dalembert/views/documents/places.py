"""Rows of the map by the names that people give them: "7.32", "Fig. 7.5–7.8", "S7.45", "section 7.8", "Christoffel".

>>> [row.place for row in find("eq. 7.31")]
['S (7.31)']
>>> look_up("section 7.8").title
'S 7.8 Operational space dynamic model'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
NUMBER = r"\d{1,3}(?:\.\d{1,3}){0,2}"
ENTRY = re.compile(rf"(?:([sm]) )?(?:({'|'.join(KINDS)}) )?(?:([sm]) )?({NUMBER})(?: ?- ?({NUMBER}))?")


@dataclass(frozen=True)
class Lookup:
    """The rows that a name stands for.

    title  of the list, if the name is that of a section or a word
    also   the section that has the same number as these equations
    """

    rows: tuple[MapRow, ...]
    title: str = ""
    also: str = ""


def find(place: str) -> list[MapRow]:
    """The rows for a name, see :func:`look_up`."""
    return list(look_up(place).rows)


def look_up(place: str) -> Lookup:
    """The rows for an entry ("7.32", "S (7.32)", "fig. 7.6", "M Table 1", "Prob. 7.5"), for several ("7.45, 7.46",
    "Fig. 7.5–7.8"), for a section ("section 7.8", "§7.7", "7.3.3", "M 4"), or with these words ("Christoffel")."""
    wanted = _plain(place)
    entries = [ENTRY.fullmatch(part.strip()) for part in re.split(r",|;|&|\band\b", wanted)]
    if all(entries):
        return _of_entries([entry.groups() for entry in entries if entry], place)
    if named := tuple(row for row in rows() if wanted in (_plain(row.at), _plain(row.place))):
        return Lookup(named)
    if re.search(r"[^\W\d]{3}", wanted) and not re.search(r"\d", wanted):
        words = wanted.split()
        if matching := tuple(row for row in rows() if all(word in _text(row) for word in words)):
            return Lookup(matching, f"rows with '{' '.join(place.split())}'")
    raise _unknown(place)


def _unknown(place: str) -> DalembertError:
    return DalembertError(
        f"'{place}' is not an entry of the two documents; try an equation such as 7.32 or M 2.11, 'Fig. 7.6', "
        "'Example 7.2', 'Table 3', 'Problem 7.5', 'section 7.8', or a word such as Christoffel"
    )


def _of_entries(entries: Sequence[tuple[str | None, ...]], place: str) -> Lookup:
    """The rows of entries that are named together; the second and later ones may lack the document and the kind."""
    document = kind = None
    all_rows: dict[MapRow, None] = {}
    titles, also = list[str](), list[str]()
    for before, own_kind, after, first, last in entries:
        document, kind = before or after or document, own_kind or kind
        numbers = _range(str(first), last) if last else [str(first)]
        here = [row for row in rows() if {name for k in numbers for name in _names(document, kind, k)} & _places(row)]
        same = _sections(document, numbers) if kind in (None, "section") else []
        (also if here else titles).extend(title for title, _ in same)
        here = here or [row for _, members in same for row in members]
        if not here:
            raise _unknown(place)
        all_rows |= dict.fromkeys(here)
    return Lookup(tuple(all_rows), "; ".join(titles), "; ".join(also))


def _range(first: str, last: str) -> list[str]:
    """The numbers of "7.124-7.126" or "2.11-13", in one chapter."""
    chapter, _, start = first.rpartition(".")
    end = last.rpartition(".")[2] if last.startswith(f"{chapter}.") or "." not in last else "0"
    return [f"{chapter}.{k}".removeprefix(".") for k in range(int(start), int(end) + 1)]


def _names(document: str | None, kind: str | None, number: str) -> set[str]:
    """The names under which :func:`_places` would list this entry; none for a section."""
    name = number if kind in (None, "equation") else f"{kind} {number}"
    return set() if kind == "section" else {f"{document} {name}" if document else name}


def _places(row: MapRow) -> set[str]:
    parts = [_plain(part) for part in row.at.split(",")]
    return {name for part in parts for name in (part, f"{row.document.casefold()} {part}")}


def _sections(document: str | None, numbers: Sequence[str]) -> list[tuple[str, tuple[MapRow, ...]]]:
    """Title and rows of the sections and subsections with these numbers."""
    return [
        (f"{section.document} {title}", members)
        for section in sections()
        if document in (None, section.document.casefold())
        for title, members in ((section.title, section.rows), *section.subsections)
        if title.split()[0] in numbers
    ]


def _text(row: MapRow) -> str:
    """Where words are searched."""
    return " ".join([row.at, row.says, row.misprint, row.section, row.subsection, row.call]).casefold()


def _plain(place: str) -> str:
    """A name without the characters that people write in different ways."""
    words = re.sub(r"[()\[\]]", "", place.casefold()).translate(str.maketrans("–—−’", "---'"))
    words = re.sub(r"\b([sm]) ?(?=\d|§)", r"\1 ", words)
    for kind, spelling in KINDS.items():
        words = re.sub(rf"(?<![^\W\d_])(?:{spelling})\.? ?(?=[sm]? ?\d)", f"{kind} ", words)
    return " ".join(words.split())
