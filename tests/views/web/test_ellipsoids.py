"""Ellipsoids and polytopes of the page equal those of the library; singular postures have finite, flat ones."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.work.analysis.ellipsoid import task_space
from in_node import in_node, with_robot

ARMS = ["planar-2r", "planar-3r", "pendulum", "scara", "stanford", "puma560", "panda", "parallelogram"]
ROWS = ("x", "y", "z")

# the ellipsoids at some postures, with the page's own kernels
ALL = """
import { dynamicEllipsoid, forceEllipsoid, radiiProduct, reachAt, velocityEllipsoid } from "./ellipsoids.js";
import { zonotope, zonotopeVolume } from "./zonotope.js";
import { generatorsOf } from "./ellipsoids.js";
result = given.postures.map((q) => {
  const at = reachAt(robot, q);
  const polytope = generatorsOf(at, given.limits);
  return {
    dynamic: dynamicEllipsoid(at, given.limits),
    dynamic_dynamic: dynamicEllipsoid(at, given.limits, { redundancy: "dynamic" }),
    dynamic_exact: dynamicEllipsoid(at, given.limits, { redundancy: "exact", gravity: false }),
    velocity: velocityEllipsoid(at, given.limits),
    force: forceEllipsoid(at, given.limits),
    measure: radiiProduct(velocityEllipsoid(at, q.map(() => 1))),
    polytope: zonotope(polytope.centre, polytope.generators),
    volume: zonotopeVolume(polytope.generators, at.m),
  };
});
"""


def shapes(folder: Path, arm: da.Arm, q: Any, limits: Any) -> list[dict[str, Any]]:
    """What the page computes for these postures."""
    return with_robot(folder, arm, ALL, {"postures": [list(x) for x in q], "limits": list(limits)})


def assert_same(mine: dict[str, Any], theirs: Any) -> None:
    m = len(theirs.radii)
    axes = np.reshape(mine["axes"], (m, m))
    np.testing.assert_allclose(mine["centre"], theirs.center, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mine["radii"], theirs.radii, rtol=1e-9, atol=1e-9 * theirs.radii.max())
    np.testing.assert_allclose(axes.T @ axes, np.eye(m), atol=1e-12)
    square = (axes * np.square(mine["radii"])) @ axes.T
    wanted = (theirs.axes * theirs.radii**2) @ theirs.axes.T
    np.testing.assert_allclose(square, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("limited", [False, True], ids=["unit torques", "limits"])
def test_ellipsoids_equal_the_library(tmp_path: Path, name: str, limited: bool) -> None:
    arm, random = da.load(name), np.random.default_rng(5)
    limits = random.uniform(1.0, 90.0, arm.n) if limited else np.ones(arm.n)
    q = arm.home + random.uniform(0.2, 0.9, (5, arm.n))
    for x, page in zip(q, shapes(tmp_path, arm, q, limits), strict=True):
        assert_same(page["dynamic"], arm.dynamic_manipulability(x, limits))
        assert_same(page["dynamic_dynamic"], arm.dynamic_manipulability(x, limits, redundancy="dynamic"))
        assert_same(page["dynamic_exact"], arm.dynamic_manipulability(x, limits, redundancy="exact", gravity=False))
        assert_same(page["velocity"], arm.velocity_manipulability(x, limits))
        assert_same(page["force"], arm.force_manipulability(x, limits))
        assert page["measure"] == pytest.approx(arm.manipulability(x), rel=1e-9)


@pytest.mark.parametrize("name", ["planar-2r", "planar-3r", "pendulum", "scara", "puma560", "panda"])
def test_polytope_equals_the_library(tmp_path: Path, name: str) -> None:
    arm, random = da.load(name), np.random.default_rng(6)
    limits = random.uniform(1.0, 90.0, arm.n)
    q = random.uniform(0.2, 0.9, (3, arm.n))
    for x, page in zip(q, shapes(tmp_path, arm, q, limits), strict=True):
        polytope = arm.acceleration_polytope(x, limits)
        rows = [ROWS.index(row) for row in polytope.rows]
        mine = np.array(page["polytope"]["vertices"])[:, rows]
        theirs = polytope.vertices.reshape(-1, len(rows))
        assert len(mine) == len(theirs)
        apart = np.linalg.norm(mine[:, None] - theirs[None], axis=-1)
        assert apart.min(axis=1).max() < 1e-9 * np.abs(theirs).max()
        assert page["volume"] == pytest.approx(polytope.volume, rel=1e-9)
        if len(rows) == 3:
            assert closed_volume(page["polytope"]) == pytest.approx(polytope.volume, rel=1e-9)


def closed_volume(shape: dict[str, Any]) -> float:
    """The volume that faces enclose, all of them anticlockwise seen from outside."""
    points, total = np.array(shape["vertices"]), 0.0
    for first, *others in shape["faces"]:
        for a, b in pairwise(others):
            total += np.linalg.det(points[[first, a, b]]) / 6
    return total


@pytest.mark.parametrize("name, q", [("planar-2r", [0.3, 0.0]), ("panda", [0.0] * 7), ("puma560", [0.0] * 6)])
def test_singular_postures_are_flat_and_finite(tmp_path: Path, name: str, q: list[float]) -> None:
    arm = da.load(name)
    (page,) = shapes(tmp_path, arm, [q], np.ones(arm.n))
    exact = arm.dynamic_manipulability(q, redundancy="exact")
    if np.isfinite(page["dynamic"]["radii"]).all() and page["dynamic"]["note"]:
        assert_same(page["dynamic"], exact)
    for kind in ("dynamic", "velocity"):
        assert np.isfinite(page[kind]["radii"] + page[kind]["axes"] + page[kind]["centre"]).all()
    assert np.isfinite(page["polytope"]["vertices"]).all()
    if name == "planar-2r":
        assert page["dynamic"]["radii"][1] < 1e-9 and page["dynamic"]["note"].startswith("Singular posture")
        assert page["force"]["radii"][0] is None or page["force"]["radii"][0] == np.inf
        assert page["force"]["note"].startswith("Singular posture")


def test_polytopes_of_one_line_and_of_nothing(tmp_path: Path) -> None:
    code = """
    import { fanned, zonotope } from "./zonotope.js";
    const line = zonotope([1, 0, 0], [[1, 0, 0], [-2, 0, 0], [0, 0, 0]]);
    const cube = zonotope([0, 0, 0], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]);
    result = { line, none: zonotope([1, 2, 3], [[0, 0, 0]]), cube, triangles: fanned(cube.faces).length };
    """
    shown = in_node(tmp_path, code)
    assert shown["line"] == {"vertices": [[-2, 0, 0], [4, 0, 0]], "faces": [[0, 1]]}
    assert shown["none"] == {"vertices": [[1, 2, 3]], "faces": []}
    assert len(shown["cube"]["vertices"]) == 8 and len(shown["cube"]["faces"]) == 6 and shown["triangles"] == 12


# -- on the page -----------------------------------------------------------------------------------


def shown(page: Any, shape: str) -> list[float]:
    """The radii in the page's table, with all their digits."""
    cells = page.query_selector_all(f"tr[data-shape={shape}] td.number")
    return [float(cell.get_attribute("data-value")) for cell in cells]


@pytest.mark.parametrize("name", ["planar-2r", "panda", "scara"])
def test_the_table_equals_the_library(page_of: Callable[..., Any], name: str) -> None:
    arm, page = da.load(name), page_of(name)
    q = np.linspace(0.3, 0.9, arm.n)
    page.evaluate("(q) => dalembert.app.change({q})", q.tolist())
    page.click("#tab-ellipsoids")
    choices = page.get_by_label("Torques and velocities").locator("option").count()
    for limits in (None, "arm")[:choices]:
        page.get_by_label("Torques and velocities").select_option(limits or "unit")
        page.wait_for_timeout(100)
        np.testing.assert_allclose(shown(page, "dynamic"), arm.dynamic_manipulability(q, limits).radii, rtol=1e-9)
        np.testing.assert_allclose(shown(page, "velocity"), arm.velocity_manipulability(q, limits).radii, rtol=1e-9)
        np.testing.assert_allclose(shown(page, "force"), arm.force_manipulability(q, limits).radii, rtol=1e-9)
        volume = float(page.get_attribute("tr[data-shape=polytope] small", "data-value"))
        assert volume == pytest.approx(arm.acceleration_polytope(q, limits or np.ones(arm.n)).volume, rel=1e-9)
    page.get_by_label("Include gravity").check()
    centre = [float(x) for x in page.get_attribute("tr[data-shape=centre]", "data-value").split()]
    np.testing.assert_allclose(centre, arm.dynamic_manipulability(q).center, rtol=1e-9, atol=1e-9)
    if page.get_by_label("Redundancy").count():
        for redundancy in ("dynamic", "exact"):
            page.get_by_label("Redundancy").select_option(redundancy)
            wanted = arm.dynamic_manipulability(q, "arm" if choices > 1 else None, redundancy=redundancy)
            np.testing.assert_allclose(shown(page, "dynamic"), wanted.radii, rtol=1e-9)


def test_rows_are_those_of_the_library(page_of: Callable[..., Any]) -> None:
    for name in ("planar-2r", "pendulum", "scara", "cartesian-2"):
        page, arm = page_of(name), da.load(name)
        page.click("#tab-ellipsoids")
        page.locator("[data-shape=velocity]").first.wait_for(state="attached")  # it is filled in the next frame
        assert len(shown(page, "velocity")) == task_space(arm, None).m


def test_boxes_draw_at_the_tip_and_the_scale_follows_the_slider(page_of: Callable[..., Any]) -> None:
    page = page_of("panda")
    sizes = """() => [...dalembert.app.stage.layers].filter(([name]) => name.startsWith("ellipsoid-"))
        .map(([name, {make}]) => [name, make()])"""
    assert all(items == [] for _, items in page.evaluate(sizes))
    page.click("#tab-ellipsoids")
    page.wait_for_timeout(100)
    assert [name for name, items in page.evaluate(sizes) if items] == [
        "ellipsoid-dynamic"
    ]  # one as soon as it is looked at
    for box in page.query_selector_all("#panel-ellipsoids fieldset input"):
        box.check()
    tip = page.evaluate("() => { const T = dalembert.robot.pose(dalembert.app.state.q); return [T[3], T[7], T[11]]; }")
    layers = dict(page.evaluate(sizes))
    kinds = {name: {item["kind"] for item in items} for name, items in layers.items()}
    assert kinds["ellipsoid-velocity"] == {"ellipsoid", "line"} and kinds["ellipsoid-polytope"] == {"faces", "line"}
    ellipsoid = next(item for item in layers["ellipsoid-velocity"] if item["kind"] == "ellipsoid")
    np.testing.assert_allclose(ellipsoid["centre"], tip)
    page.get_by_label("Drawing scale").fill("1")
    larger = next(i for i in dict(page.evaluate(sizes))["ellipsoid-velocity"] if i["kind"] == "ellipsoid")
    np.testing.assert_allclose(larger["axes"], 10 * np.array(ellipsoid["axes"]), rtol=1e-9)
    page.get_by_role("button", name="Fit to the arm").click()


def test_singular_postures_are_drawn_and_named(page_of: Callable[..., Any]) -> None:
    page = page_of("planar-2r")
    page.click("#tab-ellipsoids")
    for box in page.query_selector_all("#panel-ellipsoids fieldset input"):
        box.check()
    page.evaluate("() => dalembert.app.change({q: [0.5, 0]})")
    page.wait_for_timeout(100)
    panel = page.inner_text("#panel-ellipsoids")
    assert "Singular posture" in panel and "unbounded" in panel and "NaN" not in panel
