"""The house itself: imports point one way, and importing is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import dalembert

ROOT = Path(dalembert.__file__).parent
# a room may import from rooms before it in this list, and from errors.py, which has no imports
ORDER = [
    {"arrays", "errors", "files", "terms"},
    {"robot"},
    {"equations", "graph"},
    {"emit"},
    {"kernel"},
    {"quantities", "closed_quantities", "task_quantities", "rollouts", "gradients", "symbols"},
    {"arm", "closed_arm", "coordinates"},
    {"logs"},
    {"trajectory", "identification", "simulation", "analysis"},
    {"report"},
    {"studio", "cli"},
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}


def imports(path: Path) -> set[str]:
    found = set()
    tree = ast.parse(path.read_text())
    # the Arm's methods hand on to later rooms when they are called; importing it must not
    for node in tree.body if path == ROOT / "arm" / "arm.py" else ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "dalembert":
            names = node.module.split(".")[1:] or [alias.name for alias in node.names]
            found.add(names[0])
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("dalembert.")}
    return found


def test_imports_point_one_way() -> None:
    wrong = []
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).parts[0].removesuffix(".py")
        assert room in LEVEL or room.startswith("__"), f"{room} has no place in ORDER"
        for other in imports(path):
            if room in LEVEL and other in LEVEL and (LEVEL[other] > LEVEL[room]):
                wrong.append(f"{path.relative_to(ROOT)} imports {other}")
            if room in ("graph", "emit") and other in ("robot", "equations"):
                wrong.append(f"{path.relative_to(ROOT)} knows robots")
    assert not wrong


def test_equations_need_nothing_but_the_robot() -> None:
    allowed = {"dalembert", "__future__", "collections", "dataclasses", "math", "typing"}
    for path in (ROOT / "equations").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {n.split(".")[0] for n in names} <= allowed, (path.name, names)
        assert imports(path) <= {"robot", "equations", "errors"}, path.name


def test_import_loads_nothing_heavy() -> None:
    code = (
        "import sys, dalembert, dalembert.cli.main; dalembert.load('panda');"
        "print([m for m in ('sympy', 'symengine', 'matplotlib', 'llvmlite', 'scipy', 'mujoco') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_every_public_name_is_documented() -> None:
    for name in dalembert.__all__:
        assert getattr(dalembert, name).__doc__, name
    for name in dir(dalembert.Arm):
        if not name.startswith("_"):
            assert getattr(dalembert.Arm, name).__doc__, name


def test_every_error_is_a_public_name() -> None:
    for error in vars(dalembert.errors).values():
        if isinstance(error, type):
            assert issubclass(error, dalembert.DalembertError) and getattr(dalembert, error.__name__) is error
            assert error.__name__ in dalembert.__all__


def test_every_public_name_has_an_example_that_is_run() -> None:
    """Errors aside; ``--doctest-modules`` runs them."""
    public = {name: getattr(dalembert, name) for name in dalembert.__all__}
    errors = {name for name, x in public.items() if isinstance(x, type) and issubclass(x, Exception)}
    assert [name for name, x in public.items() if name not in errors and ">>>" not in (x.__doc__ or "")] == []
