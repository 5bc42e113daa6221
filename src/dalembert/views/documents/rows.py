"""The rows of the map: what an entry of S or M states, the call that computes it, and the printed formula.

``s7.1.toml`` … ``m5.toml`` contain the rows, section by section, and ``given.toml`` the settings in which they run. A
row's ``call`` uses the public names of dalembert. Its ``formula`` is transcribed from the page, on plain numbers or on
SymPy symbols; both are Python, and the row holds if they give the same result.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from dalembert.base.environment.extras import extra

SECTIONS = (*(f"s7.{k}" for k in range(1, 10)), *(f"m{k}" for k in range(2, 6)))
TOLERANCE = 1e-9  # relative to the largest number on either side
GOLDEN = 0.6180339887

Names = dict[str, Any]


@dataclass(frozen=True)
class MapRow:
    """One entry of a document.

    at         "(7.32)", "Fig. 7.6", "Problem 7.5", …; several that are shown together are "(7.16), (7.17)"
    says       what the document states there, in our words
    call       how it is computed
    formula    the same as printed
    test       the test that verifies it, for every arm if the statement is about every arm
    misprint   the error in print, and the correct statement
    given      lines that are run first
    tolerance  of the comparison; larger if the formula uses finite differences
    notebooks  the notebooks that compute it
    page       the page of the documentation about it
    """

    document: str
    section: str
    subsection: str
    notebooks: tuple[str, ...]
    page: str
    at: str
    says: str
    call: str
    formula: str
    test: str
    misprint: str = ""
    given: str = ""
    tolerance: float = TOLERANCE

    @property
    def place(self) -> str:
        """ "S (7.32)" """
        return f"{self.document} {self.at}"


@dataclass(frozen=True)
class MapSection:
    """One section of a document: its title, its rows, and those of its subsections by their titles."""

    document: str
    title: str
    notebooks: tuple[str, ...]
    given: tuple[str, ...]
    rows: tuple[MapRow, ...] = field(repr=False)
    subsections: tuple[tuple[str, tuple[MapRow, ...]], ...] = field(repr=False)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))


@cache
def sections() -> tuple[MapSection, ...]:
    """All sections, in the order of the pages."""
    return tuple(_section_of(_read(name)) for name in SECTIONS)


def _section_of(table: dict[str, Any]) -> MapSection:
    """A subsection begins at a row, has a page, or that of its section, and the notebooks that are named after it."""
    document, title, notebooks = table["document"], table["title"], tuple(table["notebooks"])
    starts = {part["begins"]: part for part in table.get("subsection", ())}
    part: dict[str, Any] = {"title": "", "page": table["page"]}
    lines = []
    for row in table["row"]:
        part = {"page": table["page"]} | starts.get(row["at"], part)
        own = tuple(x for x in notebooks if part["title"] and f"/{document}{part['title'].split()[0]}" in x)
        about = {"notebooks": own or notebooks, "page": part["page"]} | row
        lines.append(MapRow(document, title, part["title"], tuple(about.pop("notebooks")), **about))
    members = [(x["title"], tuple(row for row in lines if row.subsection == x["title"])) for x in starts.values()]
    return MapSection(document, title, notebooks, tuple(table.get("given", ())), tuple(lines), tuple(members))


def rows() -> Iterator[MapRow]:
    """All rows, in the order of the pages."""
    for section in sections():
        yield from section.rows


# -- running a row -----------------------------------------------------------------------------------


@cache
def _setting(given: tuple[str, ...]) -> Mapping[str, Any]:
    """The names defined by these settings, run one after the other, once."""
    from types import SimpleNamespace

    import dalembert as da

    names: Names = {"da": da, "np": np, "SimpleNamespace": SimpleNamespace}
    blocks = _read("given")
    for block in given:
        with extra("symbols", "this section of the map"):
            exec(blocks[block], names)
    return names


def _section(row: MapRow) -> MapSection:
    return next(section for section in sections() if row in section.rows)


def blocks_of(row: MapRow) -> list[str]:
    """The settings that are run before a row's own lines."""
    blocks = _read("given")
    return [blocks[block] for block in _section(row).given]


def setting(row: MapRow, *, again: bool = False) -> Names:
    """The names that a row's call and formula may use; ``again`` runs the settings anew."""
    names = dict((_setting.__wrapped__ if again else _setting)(_section(row).given))
    exec(row.given, names)
    return names


def meanings(row: MapRow) -> dict[str, str]:
    """What the names of a row's settings stand for, by name or by several names."""
    tables = _read("given")["names"]
    return {names: words for block in _section(row).given for names, words in tables.get(block, {}).items()}


def computed(row: MapRow, names: Names | None = None) -> Any:
    """The result of the call."""
    return eval(row.call, setting(row) if names is None else names)


def script(row: MapRow) -> str:
    r"""The row as a self-contained Python program that prints both sides.

    >>> row = next(row for row in rows() if row.at == "(7.44)")
    >>> print(script(row).split("\n\n")[-1])
    computed = arm.coriolis_matrix(q, qd)
    on_the_page = np.einsum('ijk,k->ij', c, qd)
    print(computed)
    print(on_the_page)
    """
    parts = ["from types import SimpleNamespace\n\nimport numpy as np\n\nimport dalembert as da"]
    parts += [block.strip() for block in blocks_of(row)]
    parts += [row.given.strip()] * bool(row.given)
    parts.append(f"computed = {row.call}\non_the_page = {row.formula}\nprint(computed)\nprint(on_the_page)")
    return "\n\n".join(parts)


def written(row: MapRow, names: Names | None = None) -> Any:
    """The result of the printed formula."""
    return eval(row.formula, setting(row) if names is None else names)


def difference(left: Any, right: Any) -> float:
    """The largest difference of two sides, relative to the largest number on either; infinite if their shapes differ."""
    left_side, right_side = as_numbers(left), as_numbers(right)
    if left_side.shape != right_side.shape or not (np.isfinite(left_side).all() and np.isfinite(right_side).all()):
        return float("inf")
    size = max(np.abs(left_side).max(initial=0.0), np.abs(right_side).max(initial=0.0))
    return float(np.abs(left_side - right_side).max(initial=0.0) / (size or 1.0))


def holds(row: MapRow, left: Any, right: Any) -> bool:
    """Whether a call and a formula agree."""
    return difference(left, right) <= row.tolerance


def symbol_value(letter: Any) -> float:
    """The number that represents a SymPy symbol in comparisons, derived from its name."""
    return 0.5 + (sum(map(ord, str(letter))) * GOLDEN) % 1.0


def as_numbers(x: Any) -> np.ndarray:
    """All numbers of a side in one array; SymPy symbols are replaced by numbers derived from their names."""
    if isinstance(x, list | tuple):
        return np.concatenate([as_numbers(y) for y in x])
    if hasattr(x, "free_symbols"):
        values = {letter: symbol_value(letter) for letter in x.free_symbols}
        x = np.array(x.subs(values).tolist() if hasattr(x, "tolist") else x.subs(values), float)
    return np.asarray(x, float).ravel()
