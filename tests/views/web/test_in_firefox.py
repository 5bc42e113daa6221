"""The page in Debian's Firefox: what it computes, draws and refuses there."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import dalembert as da
from firefox import Firefox, Tab

ARMS = ["planar-2r", "panda"]
TORQUES = "(states) => states.map(([q, v, a]) => Array.from(window.dalembert.inverse_dynamics(q, v, a)))"
SHOWN = "() => Array.from(document.querySelectorAll('.bar .value'), (each) => each.textContent)"
STATE = "() => ['q', 'qd', 'qdd'].map((name) => Array.from(window.dalembert.app.state[name]))"
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
RIGHT = "\ue014"

PageOf = Callable[..., Tab]


def torques_shown(tab: Tab) -> np.ndarray:
    return np.array([float(text.replace("−", "-").split()[0]) for text in tab.evaluate(SHOWN)])


def picture_of_stage(tab: Tab) -> np.ndarray:
    """Its pixels as colours, and where the arm is drawn they are many."""
    tab.evaluate(FRAMES)
    x, y, width, height = tab.evaluate(
        "() => { const box = document.querySelector('.stage').getBoundingClientRect();"
        " return [box.x, box.y, box.width, box.height].map(Math.round); }"
    )
    picture = Image.open(BytesIO(tab.screenshot())).convert("RGB")
    return np.asarray(picture.crop((x, y, x + width, y + height)), dtype=int)


@pytest.mark.parametrize("name", ARMS)
def test_torques_in_firefox_are_those_of_the_library(name: str, firefox_page_of: PageOf) -> None:
    arm, rng = da.load(name), np.random.default_rng(3)
    states = rng.uniform(-1, 1, (50, 3, arm.n))
    mine = arm.inverse_dynamics(*states.transpose(1, 0, 2))
    found = np.array(firefox_page_of(name).evaluate(TORQUES, states.tolist()))
    assert np.abs(found - mine).max() < 1e-9 * np.abs(mine).max()


@pytest.mark.parametrize("name", ARMS)
def test_sliders_move_the_state_and_the_bars_in_firefox(name: str, firefox_page_of: PageOf) -> None:
    arm, tab, rng = da.load(name), firefox_page_of(name), np.random.default_rng(4)
    before = torques_shown(tab)
    turn = """(label, value) => {
      const slider = document.querySelector(`input[type=range][aria-label="${label}"]`);
      slider.value = value;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }"""
    for joint in arm.joint_names:
        for what in ("Position", "Velocity", "Acceleration"):
            tab.evaluate(turn, f"{what} of {joint}", round(float(rng.uniform(-40, 40)), 2))
    tab.evaluate(FRAMES)
    q, qd, qdd = (np.array(x) for x in tab.evaluate(STATE))
    assert min(np.ptp(q), np.ptp(qd), np.ptp(qdd)) > 0.01
    mine = arm.inverse_dynamics(q, qd, qdd)
    assert np.abs(torques_shown(tab) - mine).max() < 2e-3 * np.abs(mine).max()
    assert np.abs(torques_shown(tab) - before).max() > 0.01


def test_a_slider_moves_by_key_in_firefox(firefox_page_of: PageOf) -> None:
    tab = firefox_page_of("planar-2r")
    (before, *_), _, _ = tab.evaluate(STATE)
    tab.evaluate("() => document.querySelector('input[aria-label=\"Position of joint1\"]').focus()")
    tab.press(RIGHT, RIGHT, RIGHT)
    tab.evaluate(FRAMES)
    (after, *_), _, _ = tab.evaluate(STATE)
    assert after > before


def test_the_stage_is_drawn_and_turns_in_firefox(firefox_page_of: PageOf) -> None:
    tab = firefox_page_of("panda")
    assert tab.evaluate("() => document.querySelector('.stage canvas.stage-view') !== null")
    first = picture_of_stage(tab)
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 50
    tab.evaluate("() => window.dalembert.app.change({ q: [1, 1, 0, -1, 0, 1, 0] })")
    moved = picture_of_stage(tab)
    assert (np.abs(moved - first).max(axis=2) > 30).sum() > 1000  # pixels: the arm is somewhere else
    height, width = first.shape[:2]
    left, top = tab.evaluate(
        "() => { const box = document.querySelector('.stage').getBoundingClientRect(); return [box.x, box.y]; }"
    )
    corner = (int(left + 0.1 * width), int(top + 0.85 * height))
    tab.drag(corner, (corner[0] + 120, corner[1] - 20))
    assert (np.abs(picture_of_stage(tab) - moved).max(axis=2) > 30).sum() > 1000


def test_a_motion_plays_in_firefox(firefox_page_of: PageOf) -> None:
    motion = da.triangular([0.0, 0.5], [1.0, -0.5], duration=1.0)
    tab = firefox_page_of("planar-2r", motion)
    tab.evaluate("() => document.getElementById('tab-motion').click()")
    tab.evaluate("() => [...document.querySelectorAll('.motion button')].find((x) => x.textContent === 'Play').click()")
    tab.wait_for("(end) => Math.abs(window.dalembert.app.state.q[0] - end) < 1e-9", float(motion.q[-1, 0]))
    q, _, _ = tab.evaluate(STATE)
    assert np.abs(np.array(q) - motion.q[-1]).max() < 1e-9
    time = "() => { const slider = document.querySelector('.motion input[aria-label=\"Time\"]'); return [slider.valueAsNumber, +slider.max]; }"
    assert tab.evaluate(time) == pytest.approx([motion.duration] * 2, abs=1e-3)


def test_equations_are_typeset_in_firefox(firefox_page_of: PageOf) -> None:
    tab = firefox_page_of("planar-2r")
    tab.evaluate("() => document.getElementById('tab-equations').click()")
    tab.evaluate(FRAMES)
    boxes = tab.evaluate(
        """() => [...document.querySelectorAll("#panel-equations math")].filter((each) => each.checkVisibility())
          .map((each) => [each.namespaceURI, each.getBoundingClientRect().width])"""
    )
    assert len(boxes) > 5 and all(space.endswith("MathML") and width > 1 for space, width in boxes)
    subscript = """() => {
      const [letter, below] = document.querySelector("#panel-equations msub").children;
      return below.getBoundingClientRect().bottom - letter.getBoundingClientRect().bottom;
    }"""
    assert tab.evaluate(subscript) > 1  # px: set below the line, not behind the letter


def test_the_arm_swings_in_firefox_and_keeps_its_energy(firefox_page_of: PageOf) -> None:
    tab = firefox_page_of("planar-2r")
    energy = """() => {
      const { app, robot } = window.dalembert;
      const { kinetic, potential } = robot.energies(app.state.q, app.state.qd);
      return kinetic + potential;
    }"""
    before = tab.evaluate(energy)
    tab.evaluate("() => document.getElementById('tab-simulation').click()")
    tab.evaluate(
        "() => [...document.querySelectorAll('#panel-simulation button')].find((x) => x.textContent === "
        "'Start').click()"
    )
    tab.wait_for("() => Math.abs(window.dalembert.app.state.qd[0]) > 1")
    assert abs(tab.evaluate(energy) - before) < 1e-3 * abs(before)


def test_the_policy_holds_in_firefox(written: Callable[..., Path], firefox: Firefox, tmp_path: Path) -> None:
    alien = "<script>window.alien = 1</script><img src=x onerror='window.alien = 2'><b style='color:red'>!</b></body>"
    file = tmp_path / "alien.html"
    file.write_text(written("planar-2r").read_text().replace("</body>", alien))
    tab = firefox.open(file.as_uri())
    tab.wait_for("() => window.dalembert !== undefined")
    assert tab.evaluate("() => window.alien === undefined")
    assert tab.evaluate("() => fetch('http://127.0.0.1:9/').then(() => 'loaded', (error) => error.name)") == "TypeError"
    assert any("Content-Security-Policy" in entry["text"] for entry in firefox.log)
    tab.close()
