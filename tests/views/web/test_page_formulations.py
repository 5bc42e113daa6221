"""Formulations on the page: counts of the library, kernels that give its torques, differences of rounding, times."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.compiler.kernel import cache
from dalembert.compiler.kernel.wasm import LOADER
from dalembert.views.web import kernels
from dalembert.views.web.kernels import formulations_of
from imports import MODULES, floor_of, imports, reached, room_of
from in_node import in_node

RUN = """
import { load } from "./loader.mjs";
const kernels = await load(readFileSync("formulations.wasm"));
result = Object.fromEntries(given.names.map((name) => [name, kernels[name](given.q, given.qd, given.qdd)]));
"""


@pytest.mark.parametrize("name", ["planar-2r", "scara", "parallelogram", "panda"])
def test_counts_and_torques_are_the_library_s(tmp_path: Path, name: str) -> None:
    arm = da.load(name)
    rows, module = formulations_of(arm)
    assert module is not None and sum(row["default"] for row in rows) == 1
    default = arm.operations("inverse_dynamics")
    for row in rows:
        if row["compiled"] is not None:
            price = arm.operations("inverse_dynamics", formulation=row["name"])
            assert row["compiled"] == asdict(price.compiled)
            assert row["written"] in (None, asdict(price.written))
            assert not row["default"] or price.compiled == default.compiled
    names = [row["kernel"] for row in rows if row["kernel"]]
    (tmp_path / "formulations.wasm").write_bytes(module)
    (tmp_path / "loader.mjs").write_text(LOADER.read_text())
    random = np.random.default_rng(3)
    q, qd, qdd = arm.home + random.uniform(-0.3, 0.3, (20, arm.n)), *random.uniform(-2, 2, (2, 20, arm.n))
    given = {"names": names, "q": q.ravel().tolist(), "qd": qd.ravel().tolist(), "qdd": qdd.ravel().tolist()}
    torques = arm.inverse_dynamics(q, qd, qdd)
    for tau in in_node(tmp_path, RUN, given).values():
        np.testing.assert_allclose(np.reshape(tau, q.shape), torques, rtol=1e-9, atol=1e-9 * np.abs(torques).max())


def test_long_tapes_are_counted_and_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "LONGEST_TAPE", 100)
    rows, module = formulations_of(da.load("planar-2r"))
    long = [row for row in rows if row["name"] == "lagrange-euler"]
    assert long[0]["kernel"] is None and "206 operations" in long[0]["reason"]
    assert all(row["kernel"] for row in rows if row["name"] != "lagrange-euler") and module
    monkeypatch.setattr(kernels, "LONGEST_TAPE", 1)
    assert formulations_of(da.load("planar-2r"))[1] is None


def test_arms_of_many_joints_have_no_forms_of_degree_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "MANY_JOINTS", 1)
    rows, _ = formulations_of(da.load("pr-arm"))
    by_name = {row["name"]: row for row in rows}
    assert by_name["lagrange"]["compiled"] is None and "fourth power" in by_name["lagrange"]["reason"]
    assert by_name["lagrange"]["written"]["multiplications"] > 0 and by_name["lean"]["kernel"]


def test_the_module_is_kept_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = da.load("cartesian-2")
    first = formulations_of(arm)
    monkeypatch.setattr(kernels, "_made", lambda arm: pytest.fail("made twice"))
    assert formulations_of(arm) == first
    assert cache.entries()


def test_measuring_shows_times_and_differences_of_rounding(page_of: Callable[..., Any]) -> None:
    page = page_of("planar-2r")
    page.evaluate("() => dalembert.app.change({q: [0.4, 0.9], qd: [1, -2], qdd: [3, 1]})")
    page.click("#tab-formulations")
    ready = "() => document.querySelector('#panel-formulations [role=status]').textContent.startsWith('Batches')"
    page.wait_for_function(ready, timeout=60_000)  # by itself, once
    rows, _ = formulations_of(da.load("planar-2r"))
    for row in rows:
        cells = [cell.inner_text() for cell in page.query_selector_all(f"tr[data-formulation='{row['name']}'] td")]
        counted = row["compiled"]
        assert cells[1].replace(",", "") == f"{counted['multiplications']} ×\n{counted['additions']} +"
        assert 1 < float(cells[2].replace("e+", "e")) < 1e6
        for shown in cells[3:5]:
            assert float(shown.replace("−", "-")) < 1e-13
    button = page.get_by_role("button", name="Measure")
    button.click()
    page.wait_for_function(ready, timeout=60_000)
    assert re.search("default", page.inner_text("tr[data-formulation='lean'] th"))


def test_what_is_not_run_says_why(page_of: Callable[..., Any]) -> None:
    page = page_of("panda")
    page.click("#tab-formulations")
    assert "counted but not run here" in page.inner_text("tr[data-formulation='lagrange']")


def test_what_a_page_keeps_is_made_again_when_its_source_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every module that makes it is in the key: those of kernels, and the rooms of ``OWN_SOURCE``."""
    graph = {module: imports(module) if room_of(module) != "arm" else set() for module in MODULES}
    makers = reached(["views.web.kernels"], graph)
    rooms = {room_of(module) for module in makers if floor_of(module) in cache.USERS}
    assert rooms <= {"arm", *kernels.OWN_SOURCE}
    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    made: list[str] = []
    for room in ("", *kernels.OWN_SOURCE):
        folder = tmp_path / room.replace(".", "/")
        folder.mkdir(exist_ok=True, parents=True)
        (folder / "new.py").touch()
        for _ in range(2):
            kernels.cached_bytes(("part",), lambda room=room: bytes(made.append(room) or b"module"))
    assert made == ["", *kernels.OWN_SOURCE]
