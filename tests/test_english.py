"""The phrases that docs/style.md replaces do not return to the package, its pages or the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STYLE = ROOT / "docs" / "style.md"
FOLDERS = (
    "src/dalembert/**/*.py",
    "src/dalembert/**/*.js",
    "src/dalembert/**/*.toml",
    "docs/**/*.md",
    "*.md",
    "examples/**/*.py",
)


def phrases() -> list[str]:
    """The left column of the table "Instead of … write …"."""
    table = STYLE.read_text().partition("| instead of | write |")[2].partition("\n\n")[0]
    return [row.split("|")[1].strip() for row in table.strip().splitlines()[1:]]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """The text of every file, its words separated by single spaces."""
    files = {path for pattern in FOLDERS for path in ROOT.glob(pattern)} - {STYLE}
    return {str(path.relative_to(ROOT)): " ".join(path.read_text().lower().split()) for path in sorted(files)}


@pytest.mark.parametrize("phrase", phrases())
def test_phrases_of_the_style_page_are_not_used(phrase: str, texts: dict[str, str]) -> None:
    used = [name for name, text in texts.items() if re.search(rf"\b{re.escape(phrase)}\b", text)]
    assert not used, f"docs/style.md has another wording for {phrase!r}; it is used in {', '.join(used)}"
