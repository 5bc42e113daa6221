"""The house itself: imports point one way, and importing is cheap."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from itertools import pairwise

import pytest

import dalembert
from dalembert.arm.arm import DELEGATES
from imports import MODULES, ROOT, circles, floor_of, imports, name_of, reached, room_of
from repeated import LISTED

sys.path.insert(0, str(ROOT.parents[1] / "docs" / "hooks"))
import floors
import thresholds

# a floor may import from floors below it, a room from rooms before it in this list, and all from errors.py
ORDER = [
    {"errors", "base"},
    {"base.files", "base.environment", "base.tables", "base.algebra"},
    {"robot.terms"},
    {"robot.model", "robot.drives"},
    {"robot", "robot.readers"},
    {"mechanics", "mechanics.equations"},
    {"mechanics.coordinates"},
    {"mechanics.motion", "mechanics.symbols"},
    {"compiler", "compiler.graph"},
    {"compiler.emit"},
    {"compiler.kernel"},
    {"compiler.quantities"},
    {"compiler.foreign"},
    {"arm"},
    {"work", "work.logs"},
    {
        "work.trajectory",
        "work.tip",
        "work.identification",
        "work.fits",
        "work.excitation",
        "work.payload",
        "work.simulation",
        "work.closed_loop",
        "work.analysis",
        "work.sizing",
    },
    {"views", "views.documents", "views.web"},
    {"views.report"},
    {"views.studio"},
    {"views.cli"},
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}


# the Arm's methods hand on to these rooms when they are called, so type checkers must see what these return
RETURNED = {"arm.arm": {room_of(place) for place in DELEGATES.values()}}


def test_imports_point_one_way() -> None:
    """From later rooms to earlier ones, for every module; imports that only type checkers see count too."""
    wrong = []
    for module in filter(room_of, MODULES):
        room = room_of(module)
        assert room in LEVEL or room.startswith("__"), f"{room} has no place in ORDER"
        if "" in imports(module) and room not in ("views.report", "views.documents", "views.cli"):
            wrong.append(f"{module} imports the package, and with it every room")
        returned = imports(module, typing=True) - imports(module)
        for other in imports(module, typing=True) - {""}:
            if other in returned and room_of(other) in RETURNED.get(module, ()):
                continue
            if room in LEVEL and LEVEL[room_of(other)] > LEVEL[room]:
                wrong.append(f"{module} imports {other}")
            if room in ("compiler.graph", "compiler.emit") and floor_of(other) in ("robot", "mechanics"):
                wrong.append(f"{module} knows robots")
    assert not wrong


def test_no_modules_and_no_rooms_go_in_circles() -> None:
    """Within a level, too: when they are loaded as when they are called."""
    graph = {module: imports(module) - {""} for module in MODULES if module}
    assert circles(graph) == []
    rooms: dict[str, set[str]] = {room_of(module): set() for module in graph}
    for module, others in graph.items():
        rooms[room_of(module)] |= {room_of(other) for other in others} - {room_of(module)}
    assert circles(rooms) == []


def test_every_method_that_hands_on_names_a_function_of_a_later_module() -> None:
    """``DELEGATES = {method: "room.module:function"}`` stands for imports when methods are called."""
    tables = [module for module, path in MODULES.items() if re.search(r"^DELEGATES\b", path.read_text(), re.MULTILINE)]
    assert {"arm.arm", "work.trajectory.planning.trajectory", "work.simulation.simulate"} <= set(tables)
    graph = {module: imports(module) - {""} for module in MODULES if module}
    for module in tables:
        loaded = import_module(f"dalembert.{module}")
        methods = {name for x in vars(loaded).values() if isinstance(x, type) for name in dir(x)}
        called = re.findall(r'delegate\(DELEGATES, "(\w+)"\)', MODULES[module].read_text())
        assert sorted(called) == sorted(loaded.DELEGATES)
        for method, target in loaded.DELEGATES.items():
            later, _, function = target.partition(":")
            assert method in methods and callable(getattr(import_module(f"dalembert.{later}"), function)), target
            assert module in reached([later], graph), f"{target} needs no table: it does not import {module}"


def test_circles_are_found() -> None:
    graph = {"a": "b", "b": "cd", "c": "a", "d": "e", "e": "", "f": "ae", "g": "h", "h": "g"}
    assert circles(graph) == [{"a", "b", "c"}, {"g", "h"}]
    assert {"robot.readers", "base.files", "errors"} <= {
        room_of(m) for m in reached(["robot.readers.load"], {m: imports(m) for m in MODULES})
    }
    assert (
        "arm" in imports("")
        and "arm" not in imports("", calls=False)
        and "robot.model.plausibility" in imports("", typing=True)
    )


def test_equations_need_nothing_but_the_robot() -> None:
    allowed = {"dalembert", "__future__", "collections", "dataclasses", "math", "typing"}
    for path in (ROOT / "mechanics" / "equations").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {n.split(".")[0] for n in names} <= allowed, (path.name, names)
        assert {floor_of(x) for x in imports(name_of(path), typing=True)} <= {"base", "robot", "mechanics", "errors"}, (
            path.name
        )


def test_import_loads_nothing_heavy() -> None:
    code = (
        "import sys, dalembert, dalembert.views.cli.main; dalembert.load('panda');"
        "from dalembert.base.environment.extras import EXTRAS; heavy = {'llvmlite', *(m for ms in EXTRAS.values() for m in ms)};"
        "print(sorted(heavy & sys.modules.keys()))"
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


def test_completion_lists_every_public_name() -> None:
    """Also those that are not yet imported; nothing is imported for it."""
    code = "import sys, dalembert; print(set(dalembert.__all__) - set(dir(dalembert)), 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == (
        "set() False\n"
    )


def test_type_checkers_see_every_name_that_is_imported_later() -> None:
    tree = ast.parse((ROOT / "__init__.py").read_text())
    (checking,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module.removeprefix("dalembert.")
        for node in ast.walk(checking)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dalembert.")
        for alias in node.names
    }
    assert seen == dalembert._LATER
    assert set(seen) < set(dalembert.__all__)


def test_every_warning_is_a_public_name() -> None:
    pattern = re.compile(r"^class (\w+)\(\w*Warning\):", re.MULTILINE)
    warned = {name for path in ROOT.rglob("*.py") for name in pattern.findall(path.read_text())}
    assert warned and warned <= set(dalembert.__all__)


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


def test_the_pages_about_the_house_name_files_that_exist() -> None:
    docs = ROOT.parents[1] / "docs"
    for page in ("house.md", "workshop.md"):
        text = (docs / page).read_text()
        for name in re.findall(r"`([a-z_/]+\.py)`", text):
            assert (ROOT / name).exists() or (docs.parent / name).exists() or list(ROOT.rglob(name)), f"{page}: {name}"
    rooms = {part for module in MODULES for part in room_of(module).split(".")} - {"", "__main__", "errors"}
    assert {room for room in rooms if f"{room}/" not in (docs / "house.md").read_text()} == set()


def test_the_picture_of_the_house_is_true() -> None:
    """Its floors and rooms are those of the package, in the order of imports, and no size is more than a tenth off."""
    assert list(floors.FLOORS) == [
        floor for floor in dict.fromkeys(floor_of(room) for room in LEVEL) if floor != "errors"
    ]
    drawn = floors.drawn()
    assert drawn == {
        floor: {room: pytest.approx(n, rel=0.1, abs=100) for room, n in floors.rooms(floor).items()}
        for floor in floors.FLOORS
    }, "python docs/hooks/floors.py draws it anew"


def test_the_walks_through_the_house_exist() -> None:
    """Every step names a function of its file, and no walk comes back to a room that it has left."""
    text = (ROOT.parents[1] / "docs" / "house.md").read_text()
    walks = text.partition("## Four walks")[2].partition("\n## ")[0].split("\n### ")[1:]
    assert len(walks) == 4
    for walk in walks:
        rooms: list[str] = []
        for name, function in re.findall(r"^\d+\. `([\w/.]+)` · `(\w+)`", walk, re.MULTILINE):
            source = (ROOT / name).read_text()
            assert re.search(
                rf"^\s*(?:export )?(?:def |class |function |async )?{function}\(", source, re.MULTILINE
            ) or (f"class {function}" in source), f"{name} has no {function}"
            rooms += [str((ROOT / name).parent)]
        left = [room for room, after in pairwise(rooms) if room != after]
        assert len(rooms) >= 5 and len(left) == len(set(left)) and rooms[-1] not in left, walk.partition("\n")[0]


def test_every_threshold_has_a_reason() -> None:
    rows = list(thresholds.thresholds())
    assert len(rows) > 200 and [f"{row.file}: {row.name}" for row in rows if not row.reason] == []


def test_tests_lie_in_folders_of_their_rooms() -> None:
    tests = ROOT.parents[1] / "tests"
    folders = {".".join(path.relative_to(tests).parts[:-1]) for path in tests.rglob("test_*.py")} - {
        "",
        "gpu",  # what needs a GPU, of any room
        "drake",  # what needs Drake
        "docs",  # the documentation site
        "trust",  # the checks behind docs/trust.md
        "portable",  # other Pythons and processors
        "robot_files",  # what needs other people's robots
    }
    assert folders <= LEVEL.keys() and len(folders) > 15


def test_tests_listed_as_repeated_exist() -> None:
    tests = ROOT.parents[1] / "tests"
    for listed in LISTED:
        file, _, name = listed.partition("::")
        assert f"def {name.partition('[')[0]}(" in (tests / file).read_text(), listed


def test_names_say_what_they_hold() -> None:
    """No class is called as another one; no local or argument is called after what happened to it, such as found or told."""
    promised = ["work.identification.fitting.parameter_set: asked"]  # an argument of a public method
    participles = {"found", "made", "one", "felt", "brought", "told", "asked", "taken", "settled", "ways"}
    classes: list[str] = []
    vague = []
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text())
        classes += [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        inside = [x for function in functions for x in ast.walk(function)]
        stored = {x.id for x in inside if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        stored |= {x.arg for x in inside if isinstance(x, ast.arg)}
        vague += [f"{module}: {name}" for name in stored & participles if not module.startswith("mechanics.equations")]
    assert [name for name in set(classes) if classes.count(name) > 1] == []
    assert vague == promised
