"""Every equation is written once: symbolic forms are the equations of mechanics/equations evaluated on polynomials."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dalembert.mechanics.symbols
from dalembert.robot.model.mechanism import Body, Mechanism, mechanism

FILES = sorted(Path(dalembert.mechanics.symbols.__file__).parent.glob("*.py"))
EQUATIONS = "dalembert.mechanics.equations."
# what each symbolic form is computed with
FORMULATIONS = {
    "closed_form": {"composite.composites", "composite.inertia_of", "composite.potential_energy_of", "lagrange.christoffel_of"},
    "body_symbols": {
        "lagrange.moving_bodies", "lagrange.inertia_of", "lagrange.potential_energy_of",
    },
    "symbolic_recursion": {"recursion.recursion"},
    "symbolic_mechanism": {"friction.viscous", "friction.coulomb"},
}  # fmt: skip
# the operations without which no velocity, force, moment or change of inertia can be written
MECHANICS = {"cross", "outer", "dot", "skew", "trace"}


def operations(tree: ast.AST) -> set[str]:
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return MECHANICS & (
        attributes | {"skew" for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "skew"}
    )


# converting a tensor into second moments and turning z to an axis; the spans of velocities that reveal parameters
GEOMETRY = {"symbolic_mechanism": {"trace", "cross"}, "hidden_parameters": {"cross", "dot"}}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_symbols_have_no_equation_of_their_own(path: Path) -> None:
    assert operations(ast.parse(path.read_text())) == GEOMETRY.get(path.stem, set())


@pytest.mark.parametrize("module", FORMULATIONS)
def test_symbolic_forms_call_the_equations(module: str) -> None:
    tree = ast.parse((FILES[0].parent / f"{module}.py").read_text())
    imported = {
        f"{node.module.removeprefix(EQUATIONS)}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(EQUATIONS)
        for alias in node.names
    }
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert FORMULATIONS[module] <= imported
    assert {name.partition(".")[2] for name in FORMULATIONS[module]} <= called


def test_the_symbolic_mechanism_is_that_of_the_robot() -> None:
    """No file makes bodies or mechanisms of its own."""
    makers = {
        (path.stem, node.func.id)
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert ("symbolic_mechanism", mechanism.__name__) in makers
    assert not {maker for maker in makers if maker[1] in (Body.__name__, Mechanism.__name__)}


def test_there_is_one_algebra_of_trigonometric_polynomials() -> None:
    """Sums of cosines and sines of w·y are multiplied by TrigonometricSum only, whether for the compiler or for symbols.

    The ring of polynomials knows c² + s² = 1 and nothing else of angles; the other products are those of vectors and of
    numbers with a derivative.
    """
    root = FILES[0].parents[2]
    rooms = (root / "base" / "algebra", root / "mechanics", root / "compiler" / "quantities")
    multiplied = {
        node.name
        for room in rooms
        for path in room.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(x, ast.FunctionDef) and x.name == "__mul__" for x in node.body)
    }
    assert multiplied == {"TrigonometricSum", "Polynomial", "Additive", "Dual"}
    users = {path.stem for room in rooms for path in room.rglob("*.py") if "TrigonometricSum(" in path.read_text()} - {
        "trigonometric_sum"
    }
    assert users == {"conditions", "harmonics"}
