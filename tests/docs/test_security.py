"""The guarantees of docs/security.md: every one names its tests, and these are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


@cache
def defined_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_test_that_a_guarantee_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 40
    assert [f"{file}::{name}" for file, name in named if name not in defined_in(file)] == []


def test_every_guarantee_names_a_test() -> None:
    promised = PAGE.partition("## Guarantees")[2].partition("## What is not guaranteed")[0]
    rows = [line for line in promised.splitlines() if line.startswith("| ") and not line.startswith("| guarantee")]
    assert len(rows) > 20
    assert [row for row in rows if "`tests/" not in row] == []


def test_the_way_to_report_is_written_down() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "private security advisory" in " ".join(text.split()).replace("**", "") and "docs/security.md" in text
