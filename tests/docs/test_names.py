"""The names of dalembert that the pages of docs/ mention exist."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

import dalembert as da

DOCS = Path(__file__).parents[2] / "docs"
MODULES = {"report", "analysis", "trajectory", "simulation", "identification", "web"}

CALL = re.compile(r"`[^`]*?\b(da|arm)\.(\w+)\(([^`]*?)\)[^`]*?`")


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_names_of_the_package_and_of_the_arm_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = {f"da.{name}" for name in re.findall(r"\bda\.([A-Za-z]\w*)\b(?!`\()", text)} - {
        f"da.{name}" for name in (*dir(da), *da.__all__, *MODULES)
    }
    missing |= {
        f"arm.{name}" for name in re.findall(r"(?<![\w/.])arm\.([a-z]\w*)\(", text) if not hasattr(da.Arm, name)
    }
    assert not missing


def test_arguments_that_are_named_exist() -> None:
    """In the calls of the tables of coming-from.md."""
    checked = 0
    for owner, name, arguments in CALL.findall((DOCS / "coming-from.md").read_text(encoding="utf-8")):
        known = {*inspect.signature(getattr(da if owner == "da" else da.Arm, name)).parameters}
        known |= {field.name for field in fields(da.Robot)} if name == "replace" else set()
        for keyword in re.findall(r"(?:^|[ (])(\w+)=", arguments):
            assert keyword in known, f"{owner}.{name}({keyword}=)"
            checked += 1
    assert checked >= 8


def test_coming_from_has_calls_for_each_library() -> None:
    """Otherwise the test above would look at nothing."""
    text = (DOCS / "coming-from.md").read_text(encoding="utf-8")
    for title in ("## Pinocchio", "## Robotics Toolbox", "## MATLAB"):
        part = text.partition(title)[2].partition("\n## ")[0]
        assert len(re.findall(r"\barm\.[a-z]\w*\(", part)) > 8, title
