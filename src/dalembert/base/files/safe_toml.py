"""Reader of untrusted TOML: returns tables, or refuses the text in one sentence that names the file.

The run time of Python's parser grows with the square of the length of a dotted key, and it uses a stack frame per
bracket, so size and depth are checked first, in one pass over the text.
"""

from __future__ import annotations

import os
import re
import tomllib
from typing import Any

from dalembert.base.files import read_bounded
from dalembert.base.files.file_bounds import TOML_BYTES, TOML_DEPTH, at_most
from dalembert.errors import RobotError

# Strings, comments, brackets and dots; a string or a dot also consumes what follows, up to the end of its key or value.
# Every repetition is possessive, so each character is visited once.
_PART = re.compile(
    r"""
    (?: \"{3} (?: [^"\\]++ | \\. | "(?!"") )*+ "{3,5}+
      | '{3} (?: [^']++ | '(?!'') )*+ '{3,5}+
      | "(?!"") (?: [^"\\\n]++ | \\. )*+ "
      | '(?!'') [^'\n]*+ '
    ) [ \t]*+ (?P<after_string>[=,\n]?+)
    | \. [^.="',#\[\]{}\n]*+ (?P<after_dot>[=,\n]?+)
    | \# [^\n]*+
    | (?P<opens>[\[{]) | (?P<closes>[\]}])
    | (?P<endless>["'])
    """,
    re.DOTALL | re.VERBOSE,
)


def read_text(path: str | os.PathLike[str], largest: int, what: str) -> str:
    """The content of a text file in UTF-8."""
    data = read_bounded(path, largest, what, RobotError)
    return decoded(data, os.fspath(path), f"save the {what} in UTF-8", "utf-8-sig")


def decoded(data: bytes, source: str, remedy: str, encoding: str = "utf-8") -> str:
    """The bytes as text; otherwise an error that names the line."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RobotError(f"{source}: line {line} is not UTF-8 text; {remedy}") from None


def parse_tables(text: str, where: str) -> dict[str, Any]:
    """The tables of a TOML document.

    >>> parse_tables("a." * 20 + "a = 1", "arm.toml")
    Traceback (most recent call last):
    ...
    dalembert.errors.RobotError: arm.toml, line 1: keys or brackets are nested more than 16 deep
    """
    at_most(TOML_BYTES, len(text), "letters", where)
    _check_depth(text, where)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RobotError(f"{where}: this is not valid TOML: {error}") from None
    except ValueError:  # from int(); a date that does not exist is a TOMLDecodeError
        raise RobotError(f"{where}: an integer has more than 4300 digits; the largest number is 1.8e308") from None


def _check_depth(text: str, where: str) -> None:
    """Count open brackets and the dots of a key, outside of strings and comments."""
    brackets = dots = 0
    for part in _PART.finditer(text):
        kind = part.lastgroup
        if kind == "endless":
            return  # an unterminated string, which the parser reports
        if kind == "after_string":
            dots = 0 if part["after_string"] else dots
        elif kind == "after_dot":
            dots = 0 if part["after_dot"] else dots + 1
        else:
            brackets, dots = brackets + (kind == "opens") - (kind == "closes" and brackets > 0), 0
        if max(brackets, dots) > TOML_DEPTH:
            line = text.count("\n", 0, part.end()) + 1
            raise RobotError(f"{where}, line {line}: keys or brackets are nested more than {TOML_DEPTH} deep")
