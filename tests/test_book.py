"""The notebooks of examples/book: as their sources have them, executed, and small. `make book` executes them again."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import dalembert as da

BOOK = Path(__file__).parents[1] / "examples" / "book"
SOURCES = sorted((BOOK / "source").glob("*.py"))
SECTIONS = [*(f"S7.{k}" for k in range(1, 10)), *(f"M{k}" for k in range(2, 6))]
LARGEST = 200_000  # bytes


def read(source: Path) -> dict[str, Any]:
    return json.loads((BOOK / f"{source.stem}.ipynb").read_text(encoding="utf-8"))


def outputs(source: Path) -> list[dict[str, Any]]:
    return [output for cell in read(source)["cells"] for output in cell.get("outputs", ())]


def test_every_section_has_a_notebook_and_every_notebook_a_source() -> None:
    names = [path.stem for path in SOURCES]
    assert [section for section in SECTIONS if not any(name.startswith(section) for name in names)] == []
    assert sorted(path.stem for path in BOOK.glob("*.ipynb")) == sorted(names)
    listed = re.findall(r"\]\(([^)]+)\.ipynb\)", (BOOK / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(names)


def test_every_problem_is_solved_in_a_notebook() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    assert [k for k in range(1, 12) if not re.search(rf"^# ## Problem 7\.{k}\b", text, re.MULTILINE)] == []
    assert [k for k in range(5, 12) if f"Fig. 7.{k}:" not in text] == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_notebook_is_that_of_its_source(source: Path) -> None:
    cells = list(runpy.run_path(str(BOOK / "build.py"))["cells"](source.read_text(encoding="utf-8")))
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in read(source)["cells"]] == cells


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_notebook_is_executed_small_and_says_nothing_of_the_machine(source: Path) -> None:
    assert (BOOK / f"{source.stem}.ipynb").stat().st_size < LARGEST
    code = [cell for cell in read(source)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all(output["output_type"] != "error" and output.get("name") != "stderr" for output in outputs(source))
    texts = [
        part
        for output in outputs(source)
        for part in (output.get("text", ""), output.get("data", {}).get("text/plain", ""))
    ]
    assert not re.search(r"/(home|tmp|root|work|usr)/|0x[0-9a-f]{6}", "\n".join("".join(text) for text in texts))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_notebook_begins_with_what_is_learnt_and_ends_with_a_task(source: Path) -> None:
    texts = [("".join(cell["source"]), cell["cell_type"]) for cell in read(source)["cells"]]
    assert "**What you will learn**" in texts[0][0] and 3 <= texts[0][0].count("\n- ") <= 4
    assert texts[-2][0].startswith("## Task") and "*Hint.*" in texts[-2][0] and texts[-1][1] == "code"
    assert 8 <= len(texts) <= 26


def test_notebooks_use_the_public_api() -> None:
    for source in SOURCES:
        text = source.read_text(encoding="utf-8")
        assert "import dalembert as da" in text
        assert set(re.findall(r"\bda\.(\w+)", text)) <= set(da.__all__), source.stem
        assert not re.search(r"^(from|import) dalembert\.(?!work\.analysis\b|views\.report\b)", text, re.MULTILINE), (
            source.stem
        )
