"""The public interface as text: names, signatures, commands and options. ``python tests/public_api.py`` writes it.

``tests/public_api.txt`` is what version 1 promises (docs/stability.md); ``tests/test_public_api.py`` compares.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import dalembert as da
from dalembert.arm import names
from dalembert.base.environment.extras import EXTRAS
from dalembert.views.cli.main import app

FILE = Path(__file__).with_suffix(".txt")
PROMISED = {"nominal", "placed", "sizes", "touching"}  # by version 1.0; dir(arm) does not list them
# members that other rooms of the package use: they have no underscore and are promised to nobody
INTERNAL = {
    *("check_model", "known", "memoryless", "tracks"),  # of controllers
    *(
        "columns_at",
        "friction_of",
        "lazy_input",
        "heated",
        "load_from",
        "members",
        "usual_temperature",
    ),  # of ParameterSet
    *("ties", "tree_joints", "with_coordinates", "with_tip_note", "without_coordinates"),  # of Robot
    "sampled_at",  # of Trajectory
}
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def signature(function: Any) -> str:
    """``(x: T = default) -> R``, as in the source."""
    try:
        text = str(inspect.signature(function))
    except (TypeError, ValueError):  # written in C
        return "(…)"
    return ADDRESS.sub("", text)


def members(cls: type) -> Iterator[str]:
    """A line per public method, property and field, whichever class of dalembert defines it."""
    for name in sorted({*dir(cls), *(name for name in PROMISED if hasattr(cls, name))}):
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if name.startswith("_") or name in INTERNAL or owner is None or not owner.__module__.startswith("dalembert"):
            continue
        value = vars(owner)[name]
        if isinstance(value, classmethod | staticmethod):
            yield f"{name}{signature(getattr(cls, name))}  [{type(value).__name__}]"
        elif inspect.isfunction(value):
            yield f"{name}{signature(value)}"
        else:
            yield name
    for base in cls.__mro__:  # fields without a default are annotations only
        if base.__module__.startswith("dalembert"):
            hidden = {*dir(cls), *(names.INTERNAL if issubclass(cls, da.Arm) else ())}
            yield from (name for name in inspect.get_annotations(base) if name[0] != "_" and name not in hidden)


def lines() -> Iterator[str]:
    """A line per public name of the package, and per member of its classes."""
    for name in sorted(da.__all__):
        value = getattr(da, name)
        if inspect.isclass(value):
            bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
            yield f"class {name}({bases}){'' if issubclass(value, BaseException) else ' ' + signature(value)}"
            yield from (f"    {name}.{line}" for line in sorted(set(members(value))))
        elif callable(value):
            yield f"def {name}{signature(value)}"
        else:
            yield name


def commands() -> Iterator[str]:
    """A line per command, argument and option of the command line."""
    group = typer.main.get_command(app)
    for name, command in sorted(group.commands.items()):  # type: ignore[attr-defined]
        yield f"dalembert {name}"
        for parameter in command.params:
            spelled = " ".join([*parameter.opts, *parameter.secondary_opts])
            kind = "option" if parameter.param_type_name == "option" else "argument"
            yield f"    {kind} {spelled}{' (required)' if parameter.required else ''}"


def public_api() -> str:
    """All of it."""
    parts = {"Python": lines(), "Command line": commands(), "Extras": sorted(EXTRAS)}
    return "\n".join(f"# {title}\n" + "\n".join(lines) + "\n" for title, lines in parts.items())


if __name__ == "__main__":
    FILE.write_text(public_api(), encoding="utf-8")
