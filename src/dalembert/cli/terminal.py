"""Showing things to a person: tables and sentences. Rich is imported by what prints."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

PIPE_WIDTH = 160  # columns where no terminal says how many there are: one line for each row
EMPTY = ("", "–")  # cells that say nothing


def console(*, stderr: bool = False) -> Console:
    """A console for plain words: nothing a robot file says is taken for markup."""
    from rich.console import Console

    screen = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = PIPE_WIDTH
    return screen


def say(kind: str, *sentences: str) -> None:
    """``kind: sentence`` to stderr for each sentence, on one line, whatever it quotes."""
    styles = {"error": "bold red", "warning": "yellow", "note": "cyan"}
    for sentence in sentences:
        console(stderr=True).print(f"{kind}:", plain(sentence), style=styles.get(kind), soft_wrap=True)


@contextmanager
def saying_warnings() -> Iterator[None]:
    """Warnings of the work, each once, as sentences on stderr when it is done; an error leaves them unsaid."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    say("warning", *dict.fromkeys(str(warning.message) for warning in caught))


def plain(text: str) -> str:
    """The text without what could move the cursor or ring a bell."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in text)


def tell(words: str, style: str | None = None, *, stderr: bool = False) -> None:
    """The words, on as many lines as they have, however long."""
    console(stderr=stderr).print(words, style=style, soft_wrap=True)


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str] | Sequence[Text]],
    title: str = "",
    *,
    stderr: bool = False,
) -> None:
    """A table, with or without a title. A heading that begins with ``>`` is set to the right; empty columns are left out."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    filled = [k for k in range(len(columns)) if any(str(row[k]) not in EMPTY for row in rows)]
    for heading in (columns[k] for k in filled):
        right = heading.startswith(">")
        table.add_column(
            heading.removeprefix(">"), justify="right" if right else "left", no_wrap=right, overflow="fold"
        )
    for row in rows:
        table.add_row(*(row[k] for k in filled))
    screen = console(stderr=stderr)
    if title:
        screen.print(title, style="bold")
    screen.print(table)


def number(value: float | None, unit: str = "", digits: int = 4) -> str:
    """A number as a table shows it; what is not known is a dash.

    >>> number(10000.0, "N m"), number(-0.0), number(1.23456), number(None)
    ('10000 N m', '0', '1.235', '–')
    """
    if value is None:
        return "–"
    whole = 10**digits <= abs(value) < 1e9
    text = f"{value:.0f}" if whole else f"{value + 0.0:.{digits}g}".replace("inf", "∞")
    return f"{text} {unit}".rstrip()


def numbers(values: Iterable[float], digits: int = 4) -> str:
    """Several numbers, with spaces between; what is 1e-12 or less beside the largest is shown as 0."""
    listed = list(values)
    small = 1e-12 * max(map(abs, listed), default=0.0)
    return " ".join(number(0.0 if abs(x) <= small else x, digits=digits) for x in listed)


def finite(value: Any) -> Any:
    """The same for JSON: arrays as lists, and null for what JSON has no number for, such as an infinite limit."""
    if hasattr(value, "tolist"):
        return finite(value.tolist())
    if isinstance(value, dict):
        return {key: finite(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [finite(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
