"""Wherever S and M are cited, the reader has been told what they are."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.base.bibliography import CITATION, SOURCES, cited, introduction
from dalembert.views.cli.main import COMMANDS, app
from dalembert.views.report.html import page

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def introduced_late(text: str) -> list[str]:
    """The letters that are cited before, or without, the sentence that introduces them."""
    plain = " ".join(text.replace("*", "").split())
    first: dict[str, int] = {}
    for match in re.finditer(CITATION, plain):
        first.setdefault(match[1] or match[2], match.start())
    return [letter for letter, at in first.items() if introduction(letter) not in plain[:at]]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_pages_introduce_before_they_cite(path: Path) -> None:
    assert introduced_late(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("command", ["", *(command.__name__.rstrip("_").replace("_", "-") for command in COMMANDS)])
def test_help_introduces_before_it_cites(command: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0 and introduced_late(result.stdout) == []
    assert command or all(introduction(letter) in " ".join(result.stdout.split()) for letter in SOURCES)


def test_reports_introduce_before_they_cite() -> None:
    """Every report is made by ``page``, which knows what its parts cite."""
    part = '<svg><path d="M 7.3 2"/></svg><p>τ of S (7.42); what a rotor adds is in M&#x27;s table.</p>'
    shown = page("A report", "Dynamics report: planar-2r · S Example 7.2", [], [part])
    words = html.unescape(re.sub(r"<[^>]*>", " ", shown.partition("</style>")[2]))
    assert cited(words) == "SM" and introduced_late(words) == []
    assert "Sources:" not in page("A report", "nothing is cited", [], ['<path d="M 7.3 2"/>'])
    for path in (ROOT / "src" / "dalembert" / "report").glob("*.py"):
        own = ("html.py", "animation.py")  # a film cites nothing
        assert "<!DOCTYPE" not in path.read_text(encoding="utf-8") or path.name in own


def test_derivations_introduce_before_they_cite(tmp_path: Path) -> None:
    out = tmp_path / "steps.tex"
    shown = CliRunner().invoke(app, ["equations", "planar-2r", "--derivation"])
    assert CliRunner().invoke(app, ["equations", "planar-2r", "--derivation", "-o", str(out)]).exit_code == 0
    for text in (shown.stdout, out.read_text(encoding="utf-8").replace("~", " ")):
        assert cited(text) == "S" and introduced_late(text) == []
    assert CliRunner().invoke(app, ["equations", "planar-2r", "-o", str(out), "--force"]).exit_code == 0
    assert introduction("S") not in out.read_text(encoding="utf-8")


def test_the_package_says_what_it_implements() -> None:
    assert da.__doc__ is not None and introduced_late(da.__doc__) == [] and introduction() in da.__doc__


def test_missing_introductions_are_found() -> None:
    assert introduced_late("as in S (7.42) and M Table 3") == ["S", "M"]
    assert introduced_late(f"{introduction('S', '*')} S 7.4, S Fig. 7.5, M (2.11)") == ["M"]
    assert introduced_late(f"M's table. {introduction()}") == ["M"]
    for other in ("GPS (7.42)", "IS 7.4", "R M (x)", "M × M", "S M", "path M 7.3 2"):
        assert cited(other) == "", other
