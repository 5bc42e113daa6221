"""Terminal output: tables and sentences. Rich is imported only by the functions that print."""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

PIPE_WIDTH = 160  # columns when there is no terminal to report its width: one line per row
EMPTY = ("", "–")  # cells without content


def console(*, stderr: bool = False) -> Console:
    """A console for plain text: nothing in a robot file is interpreted as markup."""
    from rich.console import Console

    screen = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = PIPE_WIDTH
    return screen


def say(kind: str, *sentences: str) -> None:
    """Print ``kind: sentence`` to stderr for each sentence, on one line, whatever it quotes."""
    styles = {"error": "bold red", "warning": "yellow", "note": "cyan"}
    for sentence in sentences:
        console(stderr=True).print(f"{kind}:", plain(sentence), style=styles.get(kind), soft_wrap=True)


@contextmanager
def saying_warnings() -> Iterator[None]:
    """Collect warnings during the work and print each once on stderr at its end; an error discards them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    say("warning", *dict.fromkeys(str(warning.message) for warning in caught))


def plain(text: str) -> str:
    """The text without characters that could move the cursor or ring the bell."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in text)


def tell(words: str, style: str | None = None, *, stderr: bool = False) -> None:
    """Print the text without wrapping, however long its lines are."""
    console(stderr=stderr).print(words, style=style, soft_wrap=True)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str] | Sequence[Text]], title: str = "", *, stderr: bool = False
) -> None:
    """Print a table, optionally with a title. A heading that begins with ``>`` is right-aligned; empty columns are left out."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    filled = [k for k in range(len(columns)) if any(str(row[k]) not in EMPTY for row in rows)]
    for heading in (columns[k] for k in filled):
        right = heading.startswith(">")
        side: Any = "right" if right else "left"
        table.add_column(heading.removeprefix(">"), justify=side, no_wrap=right, overflow="fold")
    for row in rows:
        table.add_row(*(row[k] for k in filled))
    screen = console(stderr=stderr)
    if title:
        screen.print(title, style="bold")
    screen.print(table)


def print_lines(text: str) -> None:
    """Print text without wrapping, colours or characters that could move the cursor."""
    sys.stdout.write("".join(f"{plain(line)}\n" for line in text.splitlines()))
    sys.stdout.flush()


def print_json(data: Any, *, ascii_only: bool = True) -> None:
    """Print data for programs."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=ascii_only) + "\n")


def number(value: float | None, unit: str = "", digits: int = 4) -> str:
    """A number as shown in a table; an unknown value is a dash.

    >>> number(10000.0, "N m"), number(-0.0), number(1.23456), number(None)
    ('10000 N m', '0', '1.235', '–')
    """
    if value is None:
        return "–"
    whole = 10**digits <= abs(value) < 1e9
    text = f"{value:.0f}" if whole else f"{value + 0.0:.{digits}g}".replace("inf", "∞")
    return f"{text} {unit}".rstrip()


def numbers(values: Iterable[float], digits: int = 4) -> str:
    """Several numbers, separated by spaces; values of 1e-12 or less of the largest are shown as 0."""
    listed = list(values)
    small = 1e-12 * max(map(abs, listed), default=0.0)
    return " ".join(number(0.0 if abs(x) <= small else x, digits=digits) for x in listed)


def finite(value: Any) -> Any:
    """The value for JSON: arrays as lists, and null for numbers that JSON does not have, such as an infinite limit."""
    if hasattr(value, "tolist"):
        return finite(value.tolist())
    if isinstance(value, dict):
        return {key: finite(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [finite(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
