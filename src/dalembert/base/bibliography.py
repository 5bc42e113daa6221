"""The two documents that dalembert implements, named once: README, docs, ``--help`` and reports introduce them from here.

>>> print(introduction("M"))
M is Milićević, Golubović, Slavković, Transformation matrix approach to dynamics of manipulative robots.
>>> cited("B(q) of S (7.32)")
'S'
"""

from __future__ import annotations

# by the letter under which they are cited; titles are enclosed in asterisks
SOURCES = {
    "S": "chapter 7 of Siciliano, Sciavicco, Villani, Oriolo, *Robotics: Modelling, Planning and Control* (Springer, 2009)",
    "M": "Milićević, Golubović, Slavković, *Transformation matrix approach to dynamics of manipulative robots*",
}
# patterns of a citation: S (7.42), S 7.4, S Fig. 7.15, M Table 3, M's
CITATION = (
    r"\b(?:(S)(?='s\b| \(?7\.| Figs?\b| Example\b| Problem)|(M)(?='s\b| \([2-4]\.| Tables?\b| section\b| ends\b))"
)


def introduction(letters: str = "SM", emphasis: str = "") -> str:
    """The sentences that introduce the letters, with titles enclosed in ``emphasis``."""
    return " ".join(f"{letter} is {SOURCES[letter].replace('*', emphasis)}." for letter in letters)


def cited(text: str) -> str:
    """The letters that the text cites, in the order of ``SOURCES``: "", "S", "M" or "SM"."""
    import re

    letters = {match[1] or match[2] for match in re.finditer(CITATION, text)}
    return "".join(letter for letter in SOURCES if letter in letters)
