"""Closed forms on the page: the library's LaTeX set as MathML, and values that are the kernels' own."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.views.web import page_equations as equations
from dalembert.views.web.page_equations import equations_data
from in_node import in_node

SMALL = ["pendulum", "planar-2r", "planar-3r", "cartesian-2-45", "pr-arm", "scara", "parallelogram", "palletizer"]

TREES = """
import { formulaTrees } from "./formula.js";
const text = ({ text, children = [] }) => (text ?? "") + children.map(text_).join("");
const text_ = (tree) => text(tree);
result = given.map((latex) => {
  const pieces = formulaTrees(latex);
  return { text: pieces.map((row) => row.map(text_).join("")).join(""), pieces: pieces.length };
});
"""


def texts(data: dict[str, Any]) -> list[str]:
    """Every formula of an arm's data."""
    matrices = [right for key in ("B", "C") for row in data[key] for _, right in row]
    return [*matrices, *(right for _, right in data["g"]), *(part for _, parts in data["tau"] for part in parts)]


@pytest.mark.parametrize("name", SMALL)
def test_every_formula_of_small_arms_is_set_without_commands(tmp_path: Path, name: str) -> None:
    formulas = texts(equations_data(da.load(name)))
    for latex, shown in zip(formulas, in_node(tmp_path, TREES, formulas), strict=True):
        assert not re.search(r"[\\{}_^]", shown["text"]), latex
        digits = [re.sub(r"\D", "", x) for x in (latex, shown["text"])]
        assert digits[0] == digits[1]  # none is lost


def test_formula_is_broken_between_terms_and_keeps_fractions_and_accents(tmp_path: Path) -> None:
    given = [r"\frac{\sqrt{2}}{2} m_{\ell_2} - \ddot{\vartheta}_1 (a_1 + a_2)^{2}", "0", r"-\bar{\ell}_{3'} g c_{1''}"]
    code = 'import { formulaTrees } from "./formula.js"; result = given.map((latex) => formulaTrees(latex));'
    first, zero, last = in_node(tmp_path, code, given)
    assert [piece[0]["tag"] for piece in first] == ["mfrac", "mo"]
    assert first[1][0]["infix"] and first[1][0]["text"] == "−"
    accented = next(atom for atom in first[1] if atom["tag"] == "msub")
    assert accented["children"][0]["tag"] == "mover" and accented["children"][0]["children"][1]["text"] == "¨"
    assert first[1][-1] == {"tag": "msup", "children": [{"tag": "mo", "text": ")"}, {"tag": "mn", "text": "2"}]}
    assert zero == [[{"tag": "mn", "text": "0"}]]
    assert "infix" not in last[0][0]


@pytest.mark.parametrize("name", ["panda", "five-bar"])
def test_arms_without_closed_form_say_why(name: str) -> None:
    reason = equations_data(da.load(name))["reason"]
    assert re.fullmatch(r"[A-Z].*\.", reason)


def test_sympy_missing_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        da.Arm, "equations", lambda self: (_ for _ in ()).throw(da.DalembertError("SymPy is missing; install it"))
    )
    assert equations_data(da.load("planar-2r")) == {"reason": "SymPy is missing."}


def test_long_forms_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equations, "MOST_TERMS", 20)
    assert "24 terms" in equations_data(da.load("planar-2r"))["reason"]


def value(text: str) -> float:
    """A number as the page shows it."""
    return float(re.sub(r"[^-\d.e+]", "", text.replace("−", "-").partition("= ")[2].partition(" ")[0]))


@pytest.mark.parametrize("name", ["planar-2r", "scara", "parallelogram"])
def test_entries_show_their_values_on_focus_and_stay_when_clicked(page_of: Callable[..., Any], name: str) -> None:
    arm, page = da.load(name), page_of(name)
    q = arm.home + np.linspace(0.2, 0.7, arm.n)
    qd, qdd = np.linspace(-0.5, 0.8, arm.n), np.linspace(1.0, -1.0, arm.n)
    page.evaluate("([q, qd, qdd]) => dalembert.app.change({q, qd, qdd})", [q.tolist(), qd.tolist(), qdd.tolist()])
    page.click("#tab-equations")
    page.wait_for_timeout(100)
    wanted = {"B": arm.inertia_matrix(q), "C": arm.coriolis_matrix(q, qd), "g": arm.gravity_torque(q)}
    wanted["tau"] = arm.inverse_dynamics(q, qd, qdd)
    for entry in page.query_selector_all("button.formula"):
        key, *at = entry.get_attribute("data-entry").split()
        output = entry.query_selector("output")
        assert not output.is_visible()
        entry.focus()
        assert output.is_visible()
        field = wanted[key]
        exact = field[tuple(int(k) - 1 for k in at)]
        assert value(output.inner_text()) == pytest.approx(exact, rel=1e-5, abs=1e-12 * np.abs(field).max())
        cell = page.query_selector(f"td.marked[data-entry='{' '.join([key, *at])}']")
        assert cell is not None
        assert entry.query_selector("math") is not None
    first = page.query_selector("button.formula")
    first.click()
    page.focus("#tab-equations")
    assert first.query_selector("output").is_visible()
    assert first.get_attribute("aria-pressed") == "true"
    page.evaluate("() => dalembert.app.change({q: dalembert.app.state.q.map((x) => x + 0.1)})")
    page.wait_for_timeout(100)
    assert value(first.query_selector("output").inner_text()) == pytest.approx(
        arm.inertia_matrix(q + 0.1)[0, 0], rel=1e-5
    )


def test_large_arms_show_values_of_every_entry(page_of: Callable[..., Any]) -> None:
    arm, page = da.load("panda"), page_of("panda")
    page.click("#tab-equations")
    page.wait_for_timeout(100)
    q = np.array(page.evaluate("() => Array.from(dalembert.app.state.q)"))
    B = arm.inertia_matrix(q)
    assert "7 joints are too long to read" in page.inner_text("#panel-equations")
    for i in range(7):
        for j in range(7):
            shown = page.inner_text(f"td[data-entry='B {i + 1} {j + 1}']").replace("−", "-")
            assert float(shown) == pytest.approx(B[i, j], rel=6e-3, abs=1e-12)
