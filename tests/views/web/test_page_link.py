"""What a page shows and offers beyond its numbers: a tour, the pose of the tip, its state as a link, the space bar, a picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.views.web.posture import first_posture, tour

PageOf = Callable[..., Any]
STATE = "() => [...dalembert.app.state.q, ...dalembert.app.state.qd]"
SETTLED = 900  # ms


@pytest.mark.parametrize("name", da.arms())
def test_an_arm_without_motions_has_a_tour_within_its_limits(name: str) -> None:
    arm = da.load(name)
    motion = tour(arm)
    assert motion is not None and not motion.limits_report(arm)
    q, qd, _ = motion(np.array([0.0, motion.duration]))
    assert np.allclose(q, first_posture(arm)) and np.abs(qd).max() < 1e-9
    moved = np.ptp(motion(np.linspace(0.0, motion.duration, 100))[0], axis=0)
    assert (moved > 0.05).all()


def test_a_tour_whose_loops_do_not_close_is_left_out() -> None:
    arm = da.load("five-bar")
    assert tour(arm) is not None
    arm.placing.closes = lambda q: np.zeros(q.shape[:-1], bool)
    assert tour(arm) is None


@pytest.mark.parametrize("name", ["panda", "scara"])
def test_the_pose_of_the_tip_is_that_of_the_library(name: str, page_of: PageOf) -> None:
    page, arm = page_of(name), da.load(name)
    for _ in range(3):
        page.get_by_role("button", name="Random").click()
        page.wait_for_timeout(60)
        pose = arm.pose(page.evaluate("() => Array.from(dalembert.app.state.q)"))
        shown = page.get_by_label("Position of the tip").inner_text().removesuffix(" m").split(", ")
        assert np.allclose([float(x) for x in shown], pose[:3, 3], atol=6e-5)
        words = page.get_by_label("Roll, pitch and yaw of the tip").inner_text().removesuffix("°").split(", ")
        roll, pitch, yaw = np.radians([float(x) for x in words])
        (cr, sr), (cp, sp), (cy, sy) = ((np.cos(x), np.sin(x)) for x in (roll, pitch, yaw))
        R = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]]) @ np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        R = R @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
        assert np.allclose(R, pose[:3, :3], atol=5e-4)


def test_an_address_shows_the_same_state_again(page_of: PageOf) -> None:
    page = page_of("puma560")
    page.get_by_role("tab", name="Design").click()
    page.get_by_label("Mass, exact").first.fill("21.5")
    page.get_by_role("tab", name="State").click()
    page.get_by_label("Position of joint2, exact").fill("-33")
    page.get_by_label("Zoom in").click()
    page.wait_for_timeout(SETTLED)
    address, before = page.url, page.evaluate(STATE)
    torque = "() => Array.from(dalembert.inverse_dynamics())"
    wanted, distance = page.evaluate(torque), page.evaluate("() => dalembert.app.stage.camera.distance")
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("#page[aria-busy=false]")
    assert np.allclose(page.evaluate(STATE), before, atol=1e-6)
    assert np.allclose(page.evaluate(torque), wanted, atol=1e-4)
    assert page.evaluate("() => dalembert.app.stage.camera.distance") == pytest.approx(distance, rel=1e-6)
    assert page.get_by_role("tab", selected=True).inner_text() == "State"
    assert page.evaluate("() => [...dalembert.app.design.design.edits.keys()]") == ["m_0"]


def test_an_address_with_a_motion_shows_its_instant(page_of: PageOf) -> None:
    page = page_of("panda")
    page.get_by_role("tab", name="Motion").click()
    page.evaluate("() => dalembert.app.panels.motion.player.seek(4.0)")
    page.wait_for_timeout(SETTLED)
    address, before = page.url, page.evaluate(STATE)
    assert "motion=Tour&t=4" in address
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("#page[aria-busy=false]")
    assert np.allclose(page.evaluate(STATE), before, atol=1e-9)


@pytest.mark.parametrize(
    "words",
    [
        "q=1,2",
        "q=a,b,c,d,e,f,g",
        "view=1",
        "tab=nothing&design=m_99:3,x:1,m_0:-5,m_1",
        "motion=None&t=x",
        "%%%",
        "q=1e999",
    ],
)
def test_an_address_that_does_not_fit_is_left_out(words: str, page_of: PageOf) -> None:
    page = page_of("panda")
    before = page.evaluate(STATE)
    page.evaluate(f"() => {{ location.hash = {words!r}; }}")
    page.wait_for_timeout(100)
    assert page.evaluate(STATE) == before
    assert page.evaluate("() => dalembert.app.design.design.edits.size") == 0


def test_the_space_bar_plays_and_pauses(page_of: PageOf) -> None:
    page = page_of("panda")
    busy = "() => dalembert.app.busy"
    page.locator(".stage-view").focus()
    page.keyboard.press(" ")
    assert page.evaluate(busy) is None  # nothing on the tab State plays
    for tab, owner in (("Motion", "motion"), ("Simulate", "simulation")):
        page.get_by_role("tab", name=tab).click()
        page.locator(".stage-view").focus()
        page.keyboard.press(" ")
        assert page.evaluate(busy) == owner
        page.keyboard.press(" ")
        assert page.evaluate(busy) is None


def test_opening_the_motion_shows_its_pose(page_of: PageOf) -> None:
    page = page_of("panda")
    page.get_by_label("Position of panda_joint1, exact").fill("10")
    page.get_by_role("tab", name="Motion").click()
    page.wait_for_timeout(60)
    assert np.allclose(page.evaluate(STATE)[:7], first_posture(da.load("panda")))


def test_the_view_is_saved_as_a_picture(page_of: PageOf) -> None:
    page = page_of("planar-2r")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the view as PNG").click()
    content = download.value.path().read_bytes()
    assert (
        download.value.suggested_filename == "planar-2r.png" and content.startswith(b"\x89PNG") and len(content) > 5000
    )


@pytest.mark.parametrize("width", [390, 768])
def test_the_arm_stays_in_view_on_small_screens(width: int, page_of: PageOf) -> None:
    page = page_of("panda", viewport={"width": width, "height": 844}, has_touch=True)
    for name in ("Positions", "Accelerations"):
        page.locator(f"details:has(> summary:text-is('{name}'))").evaluate("(each) => { each.open = true; }")
        box = page.get_by_label(f"{name[:-1]} of panda_joint7, exact")
        box.evaluate("(each) => each.scrollIntoView({block: 'end'})")
        page.wait_for_timeout(60)
        stage, at = page.locator(".stage").bounding_box(), box.bounding_box()
        assert stage["y"] >= -1 and stage["y"] + stage["height"] <= at["y"] and stage["height"] < 0.4 * 844
    sizes = "() => [...document.querySelectorAll('input, select')].map((each) => parseFloat(getComputedStyle(each).fontSize))"
    assert min(page.evaluate(sizes)) >= 16
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_menus_close_with_escape_and_with_a_click_elsewhere(page_of: PageOf) -> None:
    page = page_of("planar-2r")
    menu, opened = page.locator(".stage-menu > summary"), "() => document.querySelector('.stage-menu').open"
    menu.click()
    assert page.evaluate(opened)
    page.get_by_label("Ground").focus()
    page.keyboard.press("Escape")
    assert not page.evaluate(opened)
    menu.click()
    page.get_by_label("Ground").click()
    assert page.evaluate(opened)
    page.get_by_role("heading", name="Joint torques").click()
    assert not page.evaluate(opened)


def test_a_bar_that_is_pointed_at_or_tapped_tells_its_parts(page_of: PageOf) -> None:
    page, arm = page_of("panda"), da.load("panda")
    for act in ("hover", "click"):
        getattr(page.locator(".bar").nth(1), act)()
        words = page.locator(".bar-detail").inner_text()
        q = page.evaluate("() => Array.from(dalembert.app.state.q)")
        assert words.startswith("panda_joint2: ") and "limit 87 N m" in words
        gravity = float(words.replace("−", "-").split("gravity ")[1].split(",")[0])
        assert gravity == pytest.approx(arm.gravity_torque(q)[1], rel=1e-3)
        page.mouse.move(5, 5)


def test_a_reaction_of_a_stop_is_said(page_of: PageOf) -> None:
    page = page_of("panda")
    page.get_by_role("tab", name="Simulate").click()
    page.get_by_role("button", name="Start").click()
    page.wait_for_function("() => dalembert.app.simulation.player.simulation.resting.length", timeout=30_000)
    page.wait_for_timeout(60)
    assert "the reaction of" in page.locator(".torques .sentence").inner_text()


def test_paper_keeps_legends_and_leaves_out_controls(page_of: PageOf) -> None:
    page = page_of("planar-2r")
    page.emulate_media(media="print")
    assert page.locator(".key i").first.evaluate("(each) => getComputedStyle(each).printColorAdjust") == "exact"
    assert not page.get_by_role("button", name="Zoom in").is_visible()


def test_joints_of_a_chain_of_many_short_links_do_not_hide_each_other(page_of: PageOf) -> None:
    row = {"a": 0.1, "mass": 1.0, "com": [0.05, 0, 0], "inertia": 0.01 * np.eye(3)}
    page = page_of(da.from_dh([row] * 20, name="chain"))
    assert page.evaluate("() => dalembert.app.stage.fit.size") <= 0.4 * 0.1 * (1 + 1e-9)
    assert page_of("panda").evaluate("() => dalembert.app.stage.fit.size") == pytest.approx(0.054 * 0.96, rel=0.3)
