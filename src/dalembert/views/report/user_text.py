"""User text in pictures and pages: names of joints, arms and files are shown literally, whatever they contain."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from dalembert.base.environment.extras import extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST = 56  # largest number of characters in a title or a legend
# control and format characters, unpaired surrogates, private and unassigned characters, line separators
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def escaped(character: str) -> str:
    r"""The character as a Python escape sequence: ``\x07``, ``\u5173``."""
    return character.encode("unicode_escape").decode()


def visible(words: str) -> str:
    r"""The text with invisible characters escaped.

    >>> print(visible("bell\a, 关节, tab\t"))
    bell\x07, 关节, tab\t
    """
    return "".join(escaped(c) if unicodedata.category(c) in _HIDDEN else c for c in words)


def shortened(words: str) -> str:
    """The text, with its middle omitted if it is too long for a picture."""
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 20]}…{words[-19:]}"


def literal(words: str) -> str:
    r"""The text for matplotlib, which interprets text between two dollar signs as mathematics.

    >>> print(literal("$x$"))
    \$x\$
    """
    return shortened(visible(words)).replace("$", r"\$")


def with_glyphs(figure: Figure) -> Figure:
    r"""The figure with every character drawn: in a font of this machine that has it, or escaped as ``\u5173``.

    For pictures that are rendered here. In a page, the reader's browser selects the fonts.
    """
    with extra("plot", "a figure"):
        from matplotlib.text import Text

    for piece in figure.findobj(Text):
        words, families = piece.get_text(), list(piece.get_fontfamily())
        missing = {c for c in words if ord(c) > 127}.difference(*map(_drawn_by, families))
        if not missing:
            continue
        for family in _families():
            if missing & _drawn_by(family):
                families.append(family)
                missing -= _drawn_by(family)
        piece.set_fontfamily(families)
        piece.set_text("".join(escaped(c) if c in missing else c for c in words))
    return figure


@cache
def _families() -> tuple[str, ...]:
    """The font families on this machine, except those that draw a box for every character."""
    with extra("plot", "a figure"):
        from matplotlib.font_manager import fontManager

    return tuple(sorted({entry.name for entry in fontManager.ttflist if "last resort" not in entry.name.lower()}))


@cache
def _drawn_by(family: str) -> frozenset[str]:
    """The characters of this family in upright style."""
    with extra("plot", "a figure"):
        from matplotlib.font_manager import fontManager, get_font

    for entry in fontManager.ttflist:
        if (entry.name, entry.style, entry.stretch) == (family, "normal", "normal"):
            try:
                return frozenset(map(chr, get_font(entry.fname).get_charmap()))
            except (OSError, RuntimeError):  # a font that FreeType cannot draw, such as a colour font
                continue
    return frozenset()
