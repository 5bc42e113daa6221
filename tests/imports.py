"""The package's imports, read from its source: who imports whom, who is reached, and who goes in circles."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import dalembert

ROOT = Path(dalembert.__file__).parent


def name_of(path: Path) -> str:
    """The module in a file of the package: ``robot.model``, ``robot`` for its ``__init__.py``; the package is empty."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def floor_of(module: str) -> str:
    """The folder of the package, or the file beside them, that a module belongs to."""
    return module.partition(".")[0]


def room_of(module: str) -> str:
    """The folder of a floor that a module belongs to: ``robot.readers``; the floor itself for files beside its folders."""
    room = ".".join(module.split(".")[:2])
    return room if (ROOT / room.replace(".", "/")).is_dir() else floor_of(module)


@cache
def imports(module: str, *, calls: bool = True, typing: bool = False) -> frozenset[str]:
    """The package's modules that a module imports when it is loaded.

    calls   also those that its functions import when they are called
    typing  also those that only type checkers see

    A public name stands for its module; the package itself, as in ``import dalembert``, is the module "".
    """
    body = ast.parse(MODULES[module].read_text()).body
    return frozenset(_imports(body, calls, typing)) - {module}


def _imports(nodes: Iterable[ast.AST], calls: bool, typing: bool) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "dalembert":
            base = (node.module or "").removeprefix("dalembert").removeprefix(".")
            for alias in node.names:
                inside = f"{base}.{alias.name}".removeprefix(".")
                yield inside if inside in MODULES else base or dalembert._LATER.get(alias.name, "")
        elif isinstance(node, ast.Import):
            names = (alias.name.partition(".") for alias in node.names)
            yield from (inside for package, _, inside in names if package == "dalembert")
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from _imports(node.body if typing else node.orelse, calls, typing)
        elif calls or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _imports(ast.iter_child_nodes(node), calls, typing)


def reached(start: Iterable[str], graph: Mapping[str, Iterable[str]]) -> set[str]:
    """What can be reached from ``start``, itself included."""
    seen: set[str] = set()
    waiting = list(start)
    while waiting:
        if (name := waiting.pop()) not in seen:
            seen.add(name)
            waiting += graph[name]
    return seen


def circles(graph: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """The groups of two and more in which everybody reaches everybody."""
    after = {name: reached(others, graph) for name, others in graph.items()}
    groups = {
        frozenset(other for other in after[name] if name in after[other]) for name in graph if name in after[name]
    }
    return sorted(map(set, groups), key=sorted)
