"""The map of the two documents: every row holds, fails when its formula is changed, and nothing is left out."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

import dalembert as da
from broken import felt
from dalembert.views.documents.places import look_up
from dalembert.views.documents.rows import (
    MapRow,
    MapSection,
    as_numbers,
    computed,
    holds,
    rows,
    script,
    sections,
    setting,
    written,
)
from imports import ROOT
from spoilt_formulas import spoilt
from test_cli import mistake, run

sys.path.insert(0, str(ROOT.parents[1] / "docs" / "hooks"))

from documents_page import definitions, page, used_names

ROWS = list(rows())
PLACES = [row.place for row in ROWS]
REPOSITORY = ROOT.parents[1]
SEEDS = REPOSITORY.parent / "shared" / "seeds"


@pytest.mark.parametrize("row", ROWS, ids=PLACES)
def test_the_call_gives_what_the_page_says(row: MapRow) -> None:
    """And every symbol and sign of the formula counts: 1 % more, or the other sign, gives another result. So does the
    library: with a changed quantity, the row fails."""
    names = setting(row)
    value = computed(row, names)
    numbers = as_numbers(value)
    assert holds(row, numbers, written(row, names))
    counts: dict[str, bool] = {}
    for change, other in spoilt(row, names):
        counts[change] = counts.get(change, False) or not holds(row, numbers, other)
    assert counts
    assert [change for change, is_felt in counts.items() if not is_felt] == []
    assert hasattr(value, "free_symbols") or felt(row, names), "both sides take the same from the library"


def test_rows_about_identification_fail_if_nothing_is_identified(monkeypatch: pytest.MonkeyPatch) -> None:
    """If identify returned the parameters of the arm's file, and identify_payload none."""

    def not_identified(arm: da.Arm, log: object, **options: object) -> SimpleNamespace:
        unexplained = SimpleNamespace(residual=0.0)
        return SimpleNamespace(parameters=arm.base_parameters(friction=()).values, condition=1.0, run=unexplained)

    monkeypatch.setattr(da, "identify", not_identified)
    monkeypatch.setattr(da, "identify_payload", lambda *args, **options: SimpleNamespace(mass=0.0))
    about = [row for row in ROWS if "da.identify" in row.call]
    assert len(about) > 8
    for row in about:
        names = setting(row)
        assert not holds(row, computed(row, names), written(row, names)), row.place


def numbers(text: str, chapter: int) -> set[int]:
    return {int(k) for k in re.findall(rf"\({chapter}\.(\d+)\)", text)}


def places(document: str) -> str:
    return "\n".join(row.at for row in ROWS if row.document == document)


def test_every_equation_of_s_has_a_row() -> None:
    assert numbers(places("S"), 7) == set(range(1, 150))


def test_every_equation_of_m_has_a_row() -> None:
    assert numbers(places("M"), 2) == set(range(1, 16))
    assert numbers(places("M"), 4) == set(range(1, 6))


def test_every_figure_example_table_and_problem_has_a_row() -> None:
    s = [f"Fig. 7.{k}" for k in range(1, 17)] + [f"Problem 7.{k}" for k in range(1, 12)]
    m = ["Figure 1", "Figure 2", "Table 1", "Table 2", "Table 3"]
    for document, wanted in (("S", [*s, "Example 7.1", "Example 7.2"]), ("M", m)):
        text = places(document)
        assert [place for place in wanted if not re.search(rf"{re.escape(place)}\b", text)] == []


@pytest.mark.skipif(not SEEDS.exists(), reason="../shared/seeds is not here")
def test_every_number_in_the_text_of_the_documents_has_a_row() -> None:
    s, m = (path.read_text() for path in sorted(SEEDS.glob("*.txt")))
    assert numbers(s, 7) | {int(k) for k in re.findall(r"\\tag\{7\.(\d+)\}", s)} <= numbers(places("S"), 7)
    assert numbers(m, 2) <= numbers(places("M"), 2) and numbers(m, 4) <= numbers(places("M"), 4)


@pytest.mark.skipif(not SEEDS.exists(), reason="../shared/seeds is not here")
def test_every_misprint_known_stands_beside_its_row() -> None:
    """As many corrections as ``ERRATA.md`` has rows, but for the three that say the print is right."""
    lines = (SEEDS / "ERRATA.md").read_text().splitlines()
    known = [line for line in lines if re.match(r"\| [SM] ", line)]
    right = [line for line in known if re.search(r"\| fine \||\| correct;", line)]
    assert len([row for row in ROWS if row.misprint]) >= len(known) - len(right)


def test_places_are_named_once() -> None:
    assert sorted(PLACES) == sorted(set(PLACES))


@pytest.mark.parametrize("test", sorted({row.test for row in ROWS}))
def test_the_tests_that_rows_name_exist(test: str) -> None:
    file, _, function = test.partition("::")
    assert f"def {function}(" in (REPOSITORY / file).read_text() if function else (REPOSITORY / file).exists()


def test_the_page_is_that_of_the_rows() -> None:
    written_page = (REPOSITORY / "docs" / "documents.md").read_text(encoding="utf-8")
    assert written_page == page(), "python docs/hooks/documents_page.py"


@pytest.mark.parametrize("section", sections(), ids=lambda section: section.title)
def test_the_page_defines_the_names_of_every_call(section: MapSection) -> None:
    """In the section's list, or in front of the call."""
    text = page().partition(f"\n## {section.document} {section.title}\n")[2].partition("\n## ")[0]
    listed = {
        name for line in re.findall(r"^\* (`.*?`): ", text, re.MULTILINE) for name in re.findall(r"`(\w+)`", line)
    }
    for row in section.rows:
        here = set(listed)
        for line in definitions(row):
            if function := re.match(r"(\w+)\([^)]*\): [A-Z1]", line):
                here.add(function[1])
                continue
            assert used_names(line) <= here, (row.place, line)
            nodes = list(ast.walk(ast.parse(line)))
            here |= {x.id for x in nodes if isinstance(x, ast.Name)} | {
                x.name for x in nodes if isinstance(x, ast.alias)
            }
        assert used_names(row.call) <= here, row.place


def test_every_section_has_notebooks_and_every_notebook_a_section() -> None:
    named = [notebook for section in sections() for notebook in section.notebooks]
    assert all(section.notebooks for section in sections())
    assert sorted(named) == sorted(
        f"examples/book/{path.name}" for path in (REPOSITORY / "examples/book").glob("*.ipynb")
    )


def test_a_place_is_found_by_its_number_or_name() -> None:
    for place in ("7.31", "(7.31)", "S (7.31)", "s 7.31"):
        assert [row.at for row in look_up(place).rows] == ["(7.31)"]
    assert [row.at for row in look_up("7.32").rows] == ["(7.32)", "(7.32), properties"]
    assert [row.place for row in look_up("m 2.11").rows] == ["M (2.11)"]
    assert [row.at for row in look_up("problem 7.5").rows] == ["Fig. 7.16, Problem 7.5", "Problem 7.5, linear form"]
    assert len(look_up("Fig. 7.6").rows) == 5
    for place, same in (
        ("fig 7.6", "Fig. 7.6"), ("Figure 7.6", "Fig. 7.6"), ("eq. (7.32)", "7.32"), ("Equation 7.32", "7.32"),
        ("M fig. 1", "M Figure 1"), ("Problems 7.5", "Problem 7.5"), (" S  7.32 ", "7.32"), ("Sect. 7.3.3", "7.3.3"), ("§ 7.3.3", "7.3.3"),
        ("S7.45", "7.45"), ("M2.4", "M (2.4)"), ("Tab. 1", "M Table 1"), ("Prob. 7.1", "Problem 7.1"), ("Ex. 7.2", "Example 7.2"),
        ("§7.7", "Section 7.7"), ("sec. S 7.8", "section 7.8"), ("M4", "M section 4"),
    ):  # fmt: skip
        assert look_up(place).rows == look_up(same).rows, place
    assert [row.at for row in look_up("Fig. 7.8, gravity").rows] == ["Fig. 7.8, gravity"]


def test_every_section_and_subsection_is_listed_by_its_number() -> None:
    for section in sections():
        number = section.title.split()[0]
        assert look_up(f"{section.document} section {number}").rows == section.rows
        assert look_up(f"section {number}").title.endswith(section.title)
        for title, rows_of_part in section.subsections:
            assert look_up(f"{section.document} {title.split()[0]}").rows == rows_of_part != ()
    assert [row.at for row in look_up("7.3.1").rows] == ["Fig. 7.3", "7.3.1 Jacobians", "7.3.1 model", "Problem 7.1"]
    equation = look_up("7.6")
    assert [row.at for row in equation.rows] == ["(7.6), (7.7)"] and equation.also.startswith("S 7.6 Direct")
    assert look_up("M 4").title.startswith("M 4 Generalized") and not look_up("7.32").also


def test_words_are_searched_and_numbers_are_not() -> None:
    assert {"(7.45)", "7.3.2 Christoffel symbols"} < {row.at for row in look_up("christoffel").rows}
    assert {row.subsection for row in look_up("parallelogram").rows} == {"7.3.3 Parallelogram arm"}
    assert look_up("symbols Christoffel").rows == look_up("Christoffel symbols").rows != ()
    for nothing in ("nonsense", "7.150", "Problem 7.12", "section 9.1", "equation 7.3.3", "7.122-7.120", ""):
        with pytest.raises(da.DalembertError, match="is not an entry of the two documents"):
            look_up(nothing)


def test_every_row_names_a_notebook_and_a_page_that_exist() -> None:
    """The anchor of a page is made from its heading as mkdocs does."""
    for row in ROWS:
        file, _, anchor = row.page.partition("#")
        headings = re.findall(r"^#+ (.*)$", (REPOSITORY / file).read_text(encoding="utf-8"), re.MULTILINE)
        slugs = {re.sub(r"[^a-z0-9 _-]", "", heading.casefold()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in slugs, row.place
        assert row.notebooks and all((REPOSITORY / notebook).exists() for notebook in row.notebooks)
    assert (
        "S7.3.3" in look_up("7.3.3 gravity").rows[0].notebooks[0]
        and "S7.3.1" in look_up("Problem 7.5").rows[0].notebooks[0]
    )


def test_a_script_runs_by_itself() -> None:
    """One with letters of the page, and one that names none of them."""
    for place in ("7.39", "Problem 7.11"):
        program = script(look_up(place).rows[0])
        lines = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        assert len(lines) >= 2


def test_the_command_shows_a_place_and_its_numbers() -> None:
    out = run("book", "7.45").stdout
    assert "Correction:" in out and "arm.christoffel(q)" in out and "largest difference" in out
    assert "S         7.1 Lagrange formulation" in run("book").stdout
    assert run("book", "7.45", "--script").stdout.startswith("from types import SimpleNamespace")
    assert "is not an entry" in mistake("book", "7.10-99999999999")
    assert "'7.999' is not an entry of the two documents" in mistake("book", "7.999")
    rows_of_d = [line for line in run("book", "M 2.11").stdout.splitlines() if line.startswith("    [[6.15")]
    assert len(rows_of_d) == 2, "both sides are shown as matrices"
    section, word = run("book", "section 7.8").stdout, run("book", "Christoffel").stdout
    assert "Operational" in section and "(7.127)" in section and "S7.8-operational-space.ipynb" in section
    assert "(7.45)" in word and "docs/dynamics.md" in word
    assert "docs/operational-space.md#problem-79-skew-symmetry" in run("book", "Prob. 7.9").stdout
    letters = run("book", "7.83").stdout
    assert letters.count("    [2] m_ℓ1 (ℓ_1 − a_1)\n") == 2, "both sides are shown in the letters of the page"
    assert "lists S 7.8 Operational" in run("book", "7.8").stderr
    assert "h_ijk = h_ikj, the Christoffel symbols c_ijk" in run("couplings", "planar-2r", width=120).stdout
