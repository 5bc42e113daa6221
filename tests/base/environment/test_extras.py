"""Optional packages: imported in one way, installed by the extra that the sentence names, and not needed by the core."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator

import pytest

import dalembert as da
from dalembert.base.environment.extras import EXTRAS, extra
from dalembert.compiler.foreign.libraries import CLASSES
from imports import MODULES, ROOT

PACKAGES = {package for packages in EXTRAS.values() for package in packages}
CORE = {"numpy", "llvmlite", "typer", "rich"}


def optional_imports(nodes: list[ast.AST], within: str | None = None) -> Iterator[tuple[str, int, str | None]]:
    """(package, line, extra) of every import of an optional package that is not only for type checkers.

    An import that may fail, in a ``try`` with ``except ImportError``, speeds something up and is none of them.
    """
    for node in nodes:
        inside = within
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            for package in PACKAGES.intersection(name.partition(".")[0] for name in names):
                yield package, node.lineno, within
        elif _is_for_checkers(node) or _may_fail(node):
            continue
        elif isinstance(node, ast.With) and (call := re.match(r"extra\('(\w+)'", ast.unparse(node.items[0]))):
            inside = call[1]
        yield from optional_imports(list(ast.iter_child_nodes(node)), inside)


def _is_for_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _may_fail(node: ast.AST) -> bool:
    return isinstance(node, ast.Try) and any("ImportError" in ast.unparse(h.type or h) for h in node.handlers)


def test_optional_packages_are_imported_for_an_extra_that_installs_them() -> None:
    used, wrong = set(), []
    for module, path in MODULES.items():
        for package, line, name in optional_imports([ast.parse(path.read_text())]):
            used.add((name, package))
            if name is None or package not in EXTRAS[name]:
                wrong.append(f"{module}, line {line}: {package} for extra {name}")
    assert not wrong
    assert used == {(name, package) for name, packages in EXTRAS.items() for package in packages}


def test_nothing_else_is_imported() -> None:
    """The core's packages and the standard library, beside the optional ones; a library whose arrays are given is there."""
    strange = set()
    for module, path in MODULES.items():
        libraries = CLASSES if module.startswith("compiler.foreign.") else ()
        known = {"dalembert", *libraries, *CORE, *PACKAGES, *sys.stdlib_module_names}
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            strange |= {name.partition(".")[0] for name in names} - known
    assert strange == set()


def test_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text())["project"]
    required = {name: {_package(line) for line in lines} for name, lines in project["optional-dependencies"].items()}
    assert {_package(line) for line in project["dependencies"]} == CORE
    for name, packages in EXTRAS.items():
        assert required[name] == {spelled.lower() for spelled in packages.values()}
    (whole,) = (line for line in project["optional-dependencies"]["full"] if line.startswith("dalembert["))
    assert set(whole.removeprefix("dalembert[").removesuffix("]").split(",")) == EXTRAS.keys()


def _package(requirement: str) -> str:
    return re.split(r"[<>=~\[ ]", requirement)[0].lower()


def test_the_page_lists_every_extra() -> None:
    page = (ROOT.parents[1] / "docs" / "install.md").read_text()
    assert set(re.findall(r"^\| `\[(\w+)\]`", page, re.MULTILINE)) == {*EXTRAS, "full"}


def test_a_package_that_is_broken_says_why() -> None:
    with pytest.raises(da.MissingExtraError) as caught, extra("symbols", "a formula"):
        raise ImportError("libgmp.so.10 is not there", name="sympy.core")
    assert str(caught.value) == (
        "a formula needs SymPy, which cannot be imported (libgmp.so.10 is not there); type: pip install 'dalembert[symbols]'"
    )
    assert isinstance(caught.value, ImportError) and isinstance(caught.value, da.DalembertError)


def test_the_innermost_block_says_what_is_missing() -> None:
    with pytest.raises(da.MissingExtraError) as error, extra("plot", "a page"), extra("symbols", "a formula"):
        raise ModuleNotFoundError("No module named 'sympy'", name="sympy")
    assert str(error.value) == "a formula needs SymPy; type: pip install 'dalembert[symbols]'"
