"""The recipes of CONTRIBUTING.md, followed literally on a copy of the package: files, marked lines, checks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```(\w+) (check|title="([^"]+)")\n(.*?)^```$', re.MULTILINE | re.DOTALL)
RECIPES = {
    title: BLOCK.findall(body) for title, body in re.findall(r"^### ([^\n]+)\n(.*?)(?=^### |\Z)", TEXT, re.M | re.S)
}


def with_lines_added(text: str, diff: str) -> str:
    """The text with the lines marked + added between their neighbours, each hunk in the only place that it fits."""
    for hunk in diff.split("@@\n"):
        before = "".join(line[1:] for line in hunk.splitlines(keepends=True) if line[0] == " ")
        after = "".join(line[1:] for line in hunk.splitlines(keepends=True))
        assert text.count(before) == 1, f"this is there {text.count(before)} times:\n{before}"
        text = text.replace(before, after)
    return text


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with all recipes followed."""
    folder = tmp_path_factory.mktemp("contribution")
    shutil.copytree(
        ROOT / "src" / "dalembert", folder / "src" / "dalembert", ignore=shutil.ignore_patterns("__pycache__")
    )
    for blocks in RECIPES.values():
        for language, _, title, content in blocks:
            if not title:
                continue
            path = folder / title
            if language == "diff":
                path.write_text(with_lines_added(path.read_text(encoding="utf-8"), content), encoding="utf-8")
            else:
                assert not path.exists(), f"{title} is there already"
                path.write_text(content, encoding="utf-8")
    return folder


def test_all_six_recipes_are_there() -> None:
    assert len(RECIPES) == 6


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_do_what_they_say(recipe: str, copy: Path) -> None:
    new_files = [title for language, _, title, _ in RECIPES[recipe] if title.startswith("src/") and language != "diff"]
    tables = [content for language, _, _, content in RECIPES[recipe] if language == "diff"]
    rows = [line for content in tables for line in content.splitlines() if line[0] == "+"]
    assert len(new_files) <= 1 and len(tables) <= 1 and len(rows) <= 2  # one file; a row and its import
    checks = [content for language, kind, _, content in RECIPES[recipe] if kind == "check"]
    assert len(checks) == 1
    done = subprocess.run(
        [sys.executable, "-c", checks[0]], cwd=copy, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(copy / "src"), "DALEMBERT_CACHE": str(copy / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
