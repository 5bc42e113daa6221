"""Options as data: a dataclass whose fields carry their help, unit, allowed values and spelling.

The keyword of a Python function, the option of a command, the field of a form, the check of a value and the table of the
documentation are made from the same field. ``{name}`` in a help text is another option, which the command line spells
with its dashes.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeVar

from dalembert.errors import DalembertError

Group = TypeVar("Group", bound=Any)
REQUIRED: Any = dataclasses.MISSING  # the default of an option that must be given
WIDTH = 116  # columns of a table in a docstring


@dataclass(frozen=True)
class Allowed:
    """The values that an option allows, and the words for them in "it must be …"."""

    holds: Callable[[Any], bool]
    words: str


@dataclass(frozen=True)
class Option:
    """What is known about an option besides its name, type and default.

    help      a sentence; the same in every view
    python    a sentence about what Python accepts besides
    unit      of its value
    check     the values that it allows
    spelled   its spellings on the command line, "--output -o"; from its name by default; None: Python only
    kind      its type on the command line, where that differs from the field's
    metavar   the placeholder of its value in the help of a command; the unit by default
    needs     the option that it needs, and the end of the sentence that is shown without that one
    argument  whether it is an argument of the command, not an option
    writes    the suffixes of the file that the command writes there, () for any; None: it names no such file
    further   further keywords of Typer's ``Option``
    """

    help: str
    python: str = ""
    unit: str = ""
    check: Allowed | None = None
    spelled: str | None = ""
    kind: Any = None
    metavar: str | None = None
    needs: tuple[str, str] | None = None
    argument: bool = False
    writes: tuple[str, ...] | None = None
    further: dict[str, Any] = dataclasses.field(default_factory=dict)


KEYWORDS = {field.name for field in dataclasses.fields(Option)} - {"help", "further"}


def option(help: str, default: Any = None, **about: Any) -> Any:
    """A field of a group of options, or a parameter of a command; the keywords are those of :class:`Option` and of Typer's."""
    own = {key: about.pop(key) for key in KEYWORDS & about.keys()}
    own["metavar"] = own.get("metavar") or own.get("unit", "").upper() or None
    return dataclasses.field(default=default, metadata={"option": Option(help, **own, further=about)})


def declared(field: Any) -> Option:
    """What :func:`option` says about a field."""
    about: Option = field.metadata["option"]
    return about


def documented(group: Group) -> Group:
    """The dataclass with a table of its options after the first paragraph of its docstring.

    >>> @documented
    ... @dataclass
    ... class Filter:
    ...     '''A filter.'''
    ...     cutoff: float | None = option("Cut-off frequency.", unit="Hz")
    >>> print(Filter.__doc__)
    A filter.
    <BLANKLINE>
    cutoff  Cut-off frequency (Hz).
    """
    return documented_by(group)(group)


def documented_by(group: Any) -> Callable[[Group], Group]:
    """A decorator for functions whose keywords are the options of a group: it adds their table to the docstring."""
    entries = [(x.name, declared(x)) for x in dataclasses.fields(group)]
    width = max(len(name) for name, _ in entries) + 2
    lines = []
    for name, about in entries:
        text = re.sub(r"\{(\w+)\}", r"\1", f"{about.help} {about.python}")
        if about.unit:
            text = re.sub(r"(?=[.;])", f" ({about.unit})", text, count=1)
        lines += textwrap.wrap(text, WIDTH, initial_indent=f"{name:<{width}}", subsequent_indent=" " * width)

    def with_table(thing: Group) -> Group:
        opening, *others = inspect.cleandoc(thing.__doc__ or "").split("\n\n")
        thing.__doc__ = "\n\n".join([opening, "\n".join(lines), *others])
        return thing

    return with_table


def check(group: Any) -> None:
    """Raise an error for a value that its option does not allow."""
    for field in dataclasses.fields(group):
        check_value(field.name, getattr(group, field.name), declared(field))


def check_value(name: str, value: Any, about: Option) -> None:
    """Raise an error for a value that an option, which the message calls ``name``, does not allow."""
    if value is not None and about.check is not None and not about.check.holds(value):
        from dalembert.base.wording import shown

        raise DalembertError(f"{name} is {shown(value)}; it must be {about.check.words}")


def checked(group: Group) -> Group:
    """A group of options whose values are allowed, with arrays as lists."""
    values = {field.name: getattr(group, field.name) for field in dataclasses.fields(group)}
    arrays = {name: x.tolist() for name, x in values.items() if type(x).__module__ == "numpy" and hasattr(x, "tolist")}
    group = dataclasses.replace(group, **arrays) if arrays else group
    check(group)
    return group


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))
    except OverflowError:
        return False


def is_whole(value: Any) -> bool:
    """Whether a value is an integer."""
    return isinstance(value, int) and not isinstance(value, bool)


def one_of(*allowed: str) -> Allowed:
    """The check of an option that takes one of a few words."""
    words = [f"'{word}'" for word in allowed]
    return Allowed(lambda value: value in allowed, " or ".join([", ".join(words[:-1]), words[-1]]))


FLAG = Allowed(lambda value: isinstance(value, bool), "True or False")
