"""The studio in a real browser: what the page asks of its server is done, and shown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.views.studio.folder import RobotFolder
from dalembert.views.studio.page_tasks import Shown, shown_page
from dalembert.views.studio.server import StudioServer
from dalembert.views.studio.session import STUDIO, Session
from dalembert.views.studio.structure import Structure
from dalembert.views.studio.upload_bounds import ROBOT_BYTES

SLOWLY = 120_000  # ms, on a machine that does other things, too
STATE = "() => Array.from(window.dalembert.inverse_dynamics([0.3, 0.4], [0.5, 0.6], [0.7, 0.8]))"


@cache
def shown(name: str) -> Shown:
    return shown_page(lambda words, fraction: None, da.load(name).robot, Structure(), (), STUDIO)


@pytest.fixture
def studio(browser: Any, tmp_path: Path) -> Iterator[Callable[[str], Any]]:
    """``studio(arm)``: the page of a shipped arm with its server, whose folder is ``tmp_path``. Errors in it fail the test."""
    running: list[tuple[StudioServer, Session, Any]] = []
    trouble: list[str] = []

    def open_page(arm: str) -> Any:
        session = Session(RobotFolder(tmp_path), shown(arm))
        server = StudioServer(session)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        context = browser.new_context()
        running.append((server, session, context))
        page = context.new_page()
        page.set_default_timeout(SLOWLY)
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda r: trouble.append(r.url) if not r.url.startswith(server.gate.address) else None)
        page.goto(server.gate.address)
        ready(page)
        page.locator("#tab-studio").click()
        return page

    yield open_page
    for server, session, context in running:
        context.close()
        server.shutdown()
        server.server_close()
        session.close(1.0)
    assert not trouble


def ready(page: Any) -> None:
    page.wait_for_selector("#page[aria-busy=false]")
    page.locator("#panel-studio summary").first.wait_for(state="attached")


def section(page: Any, title: str) -> Any:
    details = page.locator("#panel-studio > .studio > details", has=page.locator(f"summary:text-is('{title}')"))
    if details.get_attribute("open") is None:
        details.locator("summary").first.click()
    return details


def reloaded(page: Any, act: Callable[[], None]) -> None:
    """Do something after which the page is another one; its panel is shown again."""
    page.evaluate("() => (window.before = true)")
    act()
    page.wait_for_function(
        "() => !window.before && document.querySelector('#page')?.getAttribute('aria-busy') === 'false'"
    )
    ready(page)
    page.wait_for_function("() => !document.querySelector('#panel-studio').hidden")


def name_of(page: Any) -> str:
    return str(page.evaluate("() => window.dalembert.robot.data.name"))


def torque(page: Any) -> np.ndarray:
    return np.array(page.evaluate(STATE))


def test_another_arm_is_opened_sent_and_refused(studio: Callable[[str], Any], tmp_path: Path) -> None:
    da.load("pendulum").with_payload(0.3).replace(name="mine").save(tmp_path / "mine.toml")
    (tmp_path / "wrong.toml").write_text("name = 3")
    page = studio("pendulum")
    robots = section(page, "Robot")
    listed = robots.get_by_label("Robot", exact=True).locator("option")
    listed.first.wait_for(state="attached")  # when the server has answered
    options = listed.all_inner_texts()
    assert options == ["mine.toml", "wrong.toml", *da.arms()]
    robots.get_by_label("Robot", exact=True).select_option(label="wrong.toml")
    robots.get_by_role("button", name="Open").click()
    page.locator("#panel-studio [role=alert]:visible").first.wait_for()
    assert "wrong.toml" in page.locator("#panel-studio [role=alert]:visible").first.inner_text()
    assert name_of(page) == "pendulum"
    robots.get_by_label("Robot", exact=True).select_option(label="mine.toml")
    reloaded(page, lambda: robots.get_by_role("button", name="Open").click())
    assert name_of(page) == "mine"
    found = page.evaluate("() => window.dalembert.inverse_dynamics([0.4], [0], [1])[0]")
    assert found == pytest.approx(float(da.load(tmp_path / "mine.toml").inverse_dynamics([0.4], [0], [1])[0]), rel=1e-9)
    text = da.load("pendulum").replace(name="</script><b>sent")
    text.save(tmp_path / "sent.toml")
    content = (tmp_path / "sent.toml").read_bytes()
    sent = {"name": "sent.toml", "mimeType": "application/toml", "buffer": content}
    reloaded(page, lambda: section(page, "Robot").get_by_label("Robot file").set_input_files(sent))
    assert name_of(page) == "</script><b>sent" and page.locator("h1").inner_text() == "</script><b>sent"
    large = tmp_path / "large.urdf"
    with large.open("wb") as file:
        file.truncate(ROBOT_BYTES + 1)
    section(page, "Robot").get_by_label("Robot file").set_input_files(large)
    page.locator("#panel-studio [role=alert]:visible").first.wait_for()
    assert "(16 MiB) are accepted" in page.locator("#panel-studio [role=alert]:visible").first.inner_text()


def test_identification_runs_to_its_end_and_its_arm_is_used(studio: Callable[[str], Any], tmp_path: Path) -> None:
    heavier = da.load("pendulum").with_payload(0.7)
    t = np.arange(0, 20, 0.01)
    q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
    np.savez(tmp_path / "run.npz", t=t, q=q, qd=qd, tau=heavier.inverse_dynamics(q, qd, qdd))
    page = studio("pendulum")
    fit = section(page, "Identification")
    fit.get_by_role("button", name="Identify").click()
    assert "needs a log" in fit.get_by_role("alert").inner_text()
    fit.get_by_label("Log", exact=True).select_option(label="run.npz")
    fit.get_by_label("Select the model by cross-validation").uncheck()
    fit.get_by_role("button", name="Identify").click()
    fit.get_by_role("button", name="Use the calibrated arm").wait_for()
    cells = fit.locator("tbody td").all_inner_texts()
    assert cells[0] == "run.npz" and float(cells[-1]) < 0.5
    assert "base parameters" in fit.inner_text()
    with page.context.expect_page() as opened:
        fit.get_by_role("link", name="Identification report").click()
    opened.value.wait_for_load_state()
    assert "pendulum: identified parameters" in opened.value.title()
    opened.value.close()
    reloaded(page, lambda: section(page, "Identification").get_by_role("button", name="Use the calibrated arm").click())
    found = page.evaluate("() => window.dalembert.inverse_dynamics([0.4], [0], [0])[0]")
    assert found == pytest.approx(float(heavier.inverse_dynamics([0.4], [0], [0])[0]), rel=1e-3)


def test_a_log_is_sent_and_its_identification_cancelled(
    studio: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    t = np.arange(0, 60, 0.001)
    q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=60.0)(t)
    log = tmp_path_factory.mktemp("elsewhere") / "run.npz"
    np.savez(log, t=t, q=q, qd=qd, tau=da.load("pendulum").inverse_dynamics(q, qd, qdd))
    page = studio("pendulum")
    fit = section(page, "Identification")
    fit.get_by_label("Log file").set_input_files(log)
    page.wait_for_function("() => document.querySelector('select[aria-label=Log]').value.includes('run.npz')")
    fit.get_by_role("button", name="Identify").click()
    fit.get_by_role("button", name="Cancel the identification").click()
    fit.get_by_role("progressbar").wait_for(state="hidden")
    assert fit.get_by_role("button", name="Use the calibrated arm").count() == 0


def test_time_optimal_adds_a_motion_without_a_new_page(studio: Callable[[str], Any]) -> None:
    page = studio("planar-2r")
    page.evaluate("() => (window.before = true)")
    timing = section(page, "Timing of the displayed motion")
    timing.get_by_role("button", name="Time-optimal").click()
    page.wait_for_function(
        "() => window.dalembert.app.panels.motion.study.motion.name === 'Equal duration, time-optimal'"
    )
    assert page.evaluate("() => window.before") is True
    first, last = page.evaluate(
        "() => { const { motions } = window.dalembert.app.panels.motion; return [motions[0].duration, motions.at(-1).duration]; }"
    )
    assert 0 < last < first
    assert page.evaluate("() => window.dalembert.app.panels.motion.study.view.limits.excesses.length") == 0
    page.reload()  # the motion is known to the server
    ready(page)
    page.wait_for_function("() => window.dalembert.app.panels.motion.motions.length === 4")


def test_a_tab_that_shows_another_arm_is_refused_until_it_is_reloaded(studio: Callable[[str], Any]) -> None:
    """Time-optimal in one tab must not use the dynamics of the arm that another tab has opened."""
    page = studio("planar-2r")
    other = page.context.new_page()
    other.goto(page.url)
    ready(other)
    other.locator("#tab-studio").click()
    robots = section(other, "Robot")
    robots.get_by_label("Robot", exact=True).select_option(label="pendulum")
    reloaded(other, lambda: robots.get_by_role("button", name="Open").click())
    timing = section(page, "Timing of the displayed motion")
    timing.get_by_role("button", name="Time-optimal").click()
    timing.get_by_role("alert").wait_for()
    assert "shows another page, of arm 'pendulum'" in timing.get_by_role("alert").inner_text()
    page.reload()
    ready(page)
    assert name_of(page) == "pendulum"


def test_a_joint_is_locked_and_freed(studio: Callable[[str], Any]) -> None:
    page = studio("planar-2r")
    structure = section(page, "Structure")
    structure.get_by_label("Locked position of joint2").fill("45")
    structure.get_by_label("Lock joint2 at").check()
    structure.get_by_label("Payload mass, permanent").fill("2")
    reloaded(page, lambda: structure.get_by_role("button", name="Compile new kernels").click())
    arm = da.load("planar-2r", lock={"joint2": np.pi / 4}).with_payload(2.0)
    assert page.evaluate("() => window.dalembert.robot.n") == 1
    found = page.evaluate("() => window.dalembert.inverse_dynamics([0.3], [0.5], [0.7])[0]")
    assert found == pytest.approx(float(arm.inverse_dynamics([0.3], [0.5], [0.7])[0]), rel=1e-9)
    structure = section(page, "Structure")
    assert structure.get_by_label("Lock joint2 at").is_checked()
    assert float(structure.get_by_label("Locked position of joint2").input_value()) == pytest.approx(45)
    reloaded(page, lambda: structure.get_by_role("button", name="As loaded").click())
    expected = da.load("planar-2r").inverse_dynamics([0.3, 0.4], [0.5, 0.6], [0.7, 0.8])
    assert np.abs(torque(page) - expected).max() < 1e-9 * np.abs(expected).max()


def test_robot_motion_and_page_are_saved_and_loaded_again(
    studio: Callable[[str], Any], tmp_path: Path, browser: Any
) -> None:
    page = studio("planar-2r")
    page.evaluate("() => window.dalembert.app.design.change('m_0', 60)")
    saving = section(page, "Save")
    saving.get_by_label("Name for: Robot (.toml or .urdf)").fill("heavy.toml")
    save = saving.get_by_role("button", name="Save: Robot (.toml or .urdf)")
    save.click()
    saving.get_by_text("Saved as heavy.toml.").wait_for()
    assert da.load(tmp_path / "heavy.toml").robot.link("link1").inertia.mass == pytest.approx(60)
    save.click()
    saving.get_by_role("button", name="Overwrite").wait_for()
    saving.get_by_role("button", name="Keep the existing file").click()
    before = (tmp_path / "heavy.toml").stat().st_mtime_ns
    save.click()
    saving.get_by_role("button", name="Overwrite").click()
    saving.get_by_text("Saved as heavy.toml.").wait_for()
    assert (tmp_path / "heavy.toml").stat().st_mtime_ns > before
    saving.get_by_role("button", name="Save: Displayed motion (.csv)").click()
    saving.get_by_text("Saved as motion.csv.").wait_for()
    assert da.read_trajectory(tmp_path / "motion.csv", da.load("planar-2r")).duration == pytest.approx(0.5)
    saving.get_by_role("button", name="Save: This page, without a server (.html)").click()
    saving.get_by_text("Saved as planar-2r.html.").wait_for()
    alone = browser.new_page()
    alone.goto((tmp_path / "planar-2r.html").as_uri())
    alone.wait_for_selector("#page[aria-busy=false]")
    assert alone.locator("#tab-studio").count() == 0 and alone.evaluate(STATE)
    alone.close()
    robots = section(page, "Robot")
    page.locator("#tab-studio").click()
    robots.get_by_label("Robot", exact=True).select_option(label="heavy.toml")
    reloaded(page, lambda: robots.get_by_role("button", name="Open").click())
    expected = da.load(tmp_path / "heavy.toml").inverse_dynamics([0.3, 0.4], [0.5, 0.6], [0.7, 0.8])
    assert np.abs(torque(page) - expected).max() < 1e-9 * np.abs(expected).max()


def test_a_server_that_is_gone_is_said(studio: Callable[[str], Any]) -> None:
    page = studio("pendulum")
    page.route("**/api/**", lambda route: route.abort())
    section(page, "Robot").get_by_role("button", name="Open").click()
    page.locator("#panel-studio [role=alert]:visible").first.wait_for()
    assert "does not answer" in page.locator("#panel-studio [role=alert]:visible").first.inner_text()
