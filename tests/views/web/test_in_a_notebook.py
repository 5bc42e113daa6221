"""The page inside the frame of a notebook, whose sandbox lets it run scripts and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da

TORQUES = "([q, v, a]) => Array.from(window.dalembert.inverse_dynamics(q, v, a))"
MOTION = da.triangular([0.0, 0.0], [1.0, -0.5], duration=2.0)


@pytest.fixture(params=["srcdoc", "src"])
def frame(request: pytest.FixtureRequest, browser: Any, written: Callable[..., Path], tmp_path: Path) -> Any:
    """``srcdoc``: as a cell shows ``arm.page()``; ``src``: as a notebook's file browser shows a written page."""
    if request.param == "srcdoc":
        shown = da.load("planar-2r").page(MOTION)._repr_html_()
        assert 'sandbox="allow-scripts allow-downloads"' in shown
    else:
        address = written("planar-2r", MOTION).as_uri()
        shown = f'<iframe sandbox="allow-scripts" width="900" height="800" src="{address}"></iframe>'
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><title>A notebook</title>{shown}")
    context = browser.new_context()
    outside, trouble = context.new_page(), []
    outside.on("pageerror", lambda error: trouble.append(str(error)))
    outside.goto(notebook.as_uri())
    outside.frame_locator("iframe").locator("#page[aria-busy=false]").wait_for()
    yield outside.frames[1]
    context.close()
    assert not trouble


def test_a_page_in_a_frame_computes_and_cannot_reach_the_notebook(frame: Any) -> None:
    arm, rng = da.load("planar-2r"), np.random.default_rng(5)
    for state in rng.uniform(-1, 1, (5, 3, arm.n)):
        mine = arm.inverse_dynamics(*state)
        assert np.abs(frame.evaluate(TORQUES, state.tolist()) - mine).max() < 1e-9 * np.abs(mine).max()
    assert frame.locator(".stage-view").count() == 1
    frame.get_by_label("Position of joint1, exact").fill("45")
    assert frame.evaluate("() => window.dalembert.app.state.q[0]") == pytest.approx(np.pi / 4)
    with pytest.raises(Exception, match="cross-origin"):
        frame.evaluate("() => window.parent.document.title")


def test_saving_from_a_frame_works_or_says_what_to_do(frame: Any, request: pytest.FixtureRequest) -> None:
    frame.get_by_role("tab", name="Motion").click()
    saved: list[str] = []
    frame.page.on("download", lambda download: saved.append(download.suggested_filename))
    frame.get_by_role("button", name="Save as CSV").click()
    notice = frame.get_by_role("status").filter(has_text="open the page in its own tab")
    notice.wait_for()
    frame.page.wait_for_timeout(300)
    assert [name.endswith(".csv") for name in saved] == [True] * ("srcdoc" in request.node.name)


def test_a_notebook_shows_the_page_of_an_arm_whatever_its_name() -> None:
    page = da.Arm(da.load("pendulum").robot.replace(name="\"><script>alert('1')</script>")).page()
    shown = page._repr_html_()
    assert shown.count("<") == 2 and shown.count('"') == 2 * shown.count('="')
    assert repr(page) == "Page(notes=())"
