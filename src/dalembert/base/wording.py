"""Words of messages: short forms of values and lists, counts, the known name that a misspelt one resembles, the place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from dalembert.errors import RobotError

LONGEST_WORD = 60  # characters: the comparison takes quadratic time


def nearest(word: str, known: Sequence[str]) -> str:
    """ "; did you mean 'x'?" if something known resembles ``word``, else the empty string."""
    lower = {name.lower(): name for name in known}
    same = [word.lower()] if word.lower() in lower else []
    likely = [name for name in islice(lower, 1000) if len(name) <= LONGEST_WORD] if len(word) <= LONGEST_WORD else []
    import difflib

    close = same or difflib.get_close_matches(word.lower(), likely, n=3)
    return f"; did you mean {' or '.join(repr(lower[c]) for c in close)}?" if close else ""


def shown(value: object) -> str:
    """A value in the form used in messages: short, on one line.

    >>> shown("x" * 100), shown([2**100_000])
    ("'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...", 'a list with an integer of more than 4300 digits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python does not print integers of more than 4300 digits
        holder = "" if isinstance(value, int) else f"a {type(value).__name__} with "
        text = f"{holder}an integer of more than 4300 digits"
    except RecursionError:
        text = f"a {type(value).__name__} of infinite depth"
    return text if len(text) <= 60 else text[:57] + "..."


def some(names: Sequence[str], most: int = 10, separator: str = ", ") -> str:
    """The first names of a list, and the number of the others.

    >>> some(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return separator.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def counted(count: int, word: str, more: str | None = None) -> str:
    """``1 row``, ``2 rows``.

    >>> counted(1, "row"), counted(2, "row"), counted(2, "time goes", "times go")
    ('1 row', '2 rows', '2 times go')
    """
    return f"{count} {word if count == 1 else more or word + 's'}"


def reason(error: Exception) -> str:
    """The message of an error as part of a sentence: one line of printable characters."""
    words = "".join(c if c.isprintable() else " " for c in (str(error).splitlines() or [""])[0])
    return " ".join(words.split())[:120].rstrip(" .:") or type(error).__name__


@contextmanager
def errors_at(where: str) -> Iterator[None]:
    """Prefix an error of the model with the location of its value in the file or table, unless it is already there."""
    try:
        yield
    except RobotError as error:
        if str(error).startswith(where):
            raise
        raise RobotError(f"{where}: {error}") from None
