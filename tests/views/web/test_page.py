"""The page computes what the library computes, whatever is turned on it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.views.web import bundle

ARMS = ["planar-2r", "panda", "stanford", "parallelogram", "five-bar"]
STATE = "() => ['q', 'qd', 'qdd'].map((name) => Array.from(window.dalembert.app.state[name]))"
TORQUES = "([q, v, a]) => Array.from(window.dalembert.inverse_dynamics(q, v, a))"


def near(found: Any, expected: Any) -> bool:
    size = max(float(np.abs(expected).max()), 1e-9)
    return float(np.abs(np.asarray(found) - expected).max()) < 1e-9 * size


@pytest.mark.parametrize("name", ARMS)
def test_torques_of_the_page_are_those_of_the_library(name: str, page_of: Callable[..., Any]) -> None:
    arm, page, rng = da.load(name), page_of(name), np.random.default_rng(1)
    home = np.asarray(arm.home) if arm.loops else np.zeros(arm.n)
    for _ in range(20):
        q, qd, qdd = home + rng.uniform(-0.3, 0.3, arm.n), *rng.uniform(-1, 1, (2, arm.n))
        assert near(page.evaluate(TORQUES, [q.tolist(), qd.tolist(), qdd.tolist()]), arm.inverse_dynamics(q, qd, qdd))


def test_the_payload_of_the_arm_is_shown_and_the_sliders_state_the_total(page_of: Callable[..., Any]) -> None:
    """Also one with rotational inertia, which is kept about its centre of mass."""
    bare, q = da.load("planar-2r"), [0.3, 0.4]
    com, tensor = [0.02, 0.1, -0.05], np.diag([0.02, 0.03, 0.04])
    page = page_of(bare.with_payload(3.0, com, tensor))
    assert page.get_by_text("Payload: 3 kg").is_visible()
    boxes = [page.get_by_label(f"Payload {name}, exact") for name in ("Mass (kg)", "x (m)", "y (m)", "z (m)")]
    assert [float(box.input_value()) for box in boxes] == [3.0, *com]
    for k, value in ((1, 0.2), (0, 6.0), (0, 3.0), (0, 0.0)):
        boxes[k].fill(str(value))
        mass, x = (float(box.input_value()) for box in boxes[:2])
        expected = bare.with_payload(mass, [x, *com[1:]], tensor * mass / 3.0).inverse_dynamics(
            q, [1.0, 2.0], [3.0, 4.0]
        )
        assert near(page.evaluate(TORQUES, [q, [1, 2], [3, 4]]), expected)
    assert page.get_by_text("Payload", exact=True).is_visible()


@pytest.mark.parametrize("name", ["panda", "stanford"])
def test_sliders_and_boxes_move_the_state_and_the_bars(name: str, page_of: Callable[..., Any]) -> None:
    arm, page, rng = da.load(name), page_of(name), np.random.default_rng(2)
    page.evaluate("() => document.querySelectorAll('details').forEach((each) => (each.open = true))")
    for k, joint in enumerate(arm.joint_names):
        page.get_by_label(f"Position of {joint}", exact=True).fill(str(float(rng.uniform(-0.2, 0.2))))
        page.get_by_label(f"Velocity of {joint}, exact").fill(str(round(rng.uniform(-1, 1), 3)))
        page.get_by_label(f"Acceleration of {joint}, exact").fill(str(k))
    page.get_by_label("Tip wrench fy, exact").fill("12.5")
    page.get_by_label("Payload Mass (kg), exact").fill("1.5")
    page.wait_for_timeout(60)
    q, qd, qdd = (np.array(x) for x in page.evaluate(STATE))
    assert np.ptp(q) > 0.001 and np.ptp(qd) > 0.001
    expected = arm.with_payload(1.5).inverse_dynamics(q, qd, qdd, tip_wrench=[0, 12.5, 0, 0, 0, 0])
    assert near(page.evaluate(TORQUES, [q.tolist(), qd.tolist(), qdd.tolist()]), expected)
    shown = [float(text.replace("−", "-").split()[0]) for text in page.locator(".bar .value").all_inner_texts()]
    assert np.abs(shown - expected).max() < 2e-3 * np.abs(expected).max()
    terms = page.evaluate(
        "() => Object.fromEntries(Object.entries(window.dalembert.robot.torqueTerms(...['q', 'qd', 'qdd'].map("
        "(name) => window.dalembert.app.state[name]))).map(([name, values]) => [name, Array.from(values)]))"
    )
    mine = arm.with_payload(1.5).torque_terms(q, qd, qdd, tip_wrench=[0, 12.5, 0, 0, 0, 0])
    causes = {**mine.by_joint, "friction": mine.friction, "total": mine.total}
    assert all(near(np.array(terms[cause]) - causes[cause] + expected, expected) for cause in terms)


def test_degrees_and_radians_show_the_same_state(page_of: Callable[..., Any]) -> None:
    page = page_of("planar-2r")
    box = page.get_by_label("Position of joint1, exact")
    box.fill("90")
    page.get_by_label("Position of joint2, exact").focus()
    page.get_by_label("Unit of angles").select_option("rad")
    page.wait_for_timeout(60)
    assert float(box.input_value()) == pytest.approx(np.pi / 2, abs=1e-6)
    assert page.evaluate(STATE)[0][0] == pytest.approx(np.pi / 2)


def test_limits_light_up(page_of: Callable[..., Any]) -> None:
    arm, page = da.load("panda"), page_of("panda")
    page.get_by_text("Accelerations", exact=True).click()
    page.get_by_label(f"Acceleration of {arm.joint_names[0]}, exact").fill("50000")
    page.wait_for_timeout(60)
    assert "its limit is 87 N m" in page.locator(".sentence").first.inner_text()
    assert page.locator(".bar.beyond").count() >= 1


def test_names_of_robots_are_text(page_of: Callable[..., Any]) -> None:
    arm = da.load("planar-2r")
    hostile = '</script><img src=x onerror="alert(1)"><b>&'
    robot = arm.robot.replace(name=hostile)
    page = page_of(da.Arm(robot))
    assert page.locator("h1").inner_text() == hostile and page.title() == hostile
    assert page.locator("img").count() == 0


def test_the_policy_lets_nothing_else_run(written: Callable[..., Path], browser: Any, tmp_path: Path) -> None:
    text = written("planar-2r").read_text()
    changed = text.replace("</body>", "<script>window.alien = 1</script><img src=x onerror='window.alien = 2'></body>")
    file = tmp_path / "alien.html"
    file.write_text(changed)
    page = browser.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("#page[aria-busy=false]")
    assert page.evaluate("() => window.alien === undefined && typeof window.dalembert.inverse_dynamics === 'function'")
    page.close()


def test_code_that_was_changed_does_not_run(written: Callable[..., Path], browser: Any, tmp_path: Path) -> None:
    text, code = written("planar-2r").read_text(), f"\n{bundle.script('main.js')}"
    assert text.count(bundle.compressed(code)) == 1 and text.count(bundle.digest(code)) == 1
    file = tmp_path / "changed.html"
    file.write_text(text.replace(bundle.compressed(code), bundle.compressed(f"window.alien = 1;{code}")))
    page, said = browser.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.goto(file.as_uri())
    page.wait_for_timeout(500)
    assert page.evaluate("() => [window.alien, window.dalembert]") == [None, None]
    assert any("Content Security Policy" in line for line in said)
    page.close()


def test_modules_can_be_bundled_and_declare_every_name_once() -> None:
    text = bundle.script("main.js")
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)
    assert "eval(" not in text and "innerHTML" not in text and "http" not in text.replace("http://www.w3.org/", "")


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(da.DalembertError, match="a page needs an arm"):
        da.write_page(tmp_path / "x.html", "panda")  # type: ignore[arg-type]
    (tmp_path / "there.html").write_text("mine")
    with pytest.raises(da.DalembertError, match="there"):
        da.write_page(tmp_path / "there.html", da.load("pendulum"))
    assert (tmp_path / "there.html").read_text() == "mine"
