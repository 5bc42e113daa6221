"""The page of thresholds: every number of the package that judges data or chooses a method, with its reason and its file."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[2] / "src" / "dalembert"
NOTICED = Path(__file__).parents[1] / "thresholds.json"  # written by `make soak-thresholds`
# rooms whose numbers decide what a user is told or which method runs; in others they are layout, formats and machine facts
JUDGING = (
    "arm",
    "robot/model",
    "mechanics/coordinates",
    "mechanics/motion",
    "work/logs",
    "work/trajectory",
    "work/simulation",
    "work/tip",
    "work/identification",
    "work/closed_loop",
    "work/fits",
    "work/excitation",
    "work/payload",
    "work/analysis",
    "work/sizing",
)
INTRODUCTION = """# Thresholds

These numbers judge data or choose methods: when a log is at rest, when a parameter counts as undetermined, when a solver has
converged. Each stands at the top of its module with its reason. This page is generated from the source when the site is built.
The last column names a test that fails when the number is ten times larger or smaller (`make soak-thresholds`); where it
is empty, none of the tests that were tried noticed the change.
"""


class Threshold(NamedTuple):
    """A module constant: its file below the package, its name and value as written, and its comment."""

    file: str
    name: str
    value: str
    reason: str

    @property
    def key(self) -> str:
        """File and name, the key of NOTICED."""
        return f"{self.file} {self.name}"

    @property
    def module(self) -> str:
        """The module that contains it."""
        return "dalembert." + self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def is_number(node: ast.expr) -> bool:
    """Whether an expression consists of numbers."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    return isinstance(node, ast.UnaryOp) and is_number(node.operand)


def thresholds() -> Iterator[Threshold]:
    """The numeric constants of the rooms that judge, in the order of the files."""
    for room in JUDGING:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            rows = text.split("\n")
            for node in ast.parse(text).body:
                if isinstance(node, ast.Assign) and is_number(node.value) and isinstance(node.targets[0], ast.Name):
                    _, _, beside = rows[node.end_lineno - 1].partition("#")
                    above = rows[node.lineno - 2].lstrip() if node.lineno > 1 else ""
                    reason = beside or (above[1:] if above.startswith("#") else "")
                    value = ast.get_source_segment(text, node.value) or ""
                    yield Threshold(str(path.relative_to(PACKAGE)), node.targets[0].id, value, reason.strip())


def page() -> str:
    """The page: one table per file."""
    parts, file = [INTRODUCTION], ""
    noticed = json.loads(NOTICED.read_text(encoding="utf-8"))
    for row in thresholds():
        if row.file != file:
            file = row.file
            parts.append(f"\n## `{file}`\n\n| constant | value | reason | test |\n|---|---|---|---|\n")
        reason = row.reason.replace("|", "\\|").replace("<", "&lt;")
        test = noticed.get(row.key)
        shown = f"`{test.rpartition('/')[2].partition('[')[0]}`" if test else ""
        parts.append(f"| `{row.name}` | `{row.value}` | {reason} | {shown} |\n")
    return "".join(parts)
