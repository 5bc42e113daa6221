"""The motion panel: its torques, time scaling, limits, playback and files are those of the library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.work.trajectory.planning.example_7_2 import example_7_2

STUDY = """() => { const { view, smallest } = window.dalembert.app.panels.motion.study; return {
  t: Array.from(view.rows.t), q: Array.from(view.rows.q), qd: Array.from(view.rows.qd), qdd: Array.from(view.rows.qdd),
  tau: Array.from(view.torques), difference: view.difference, c: view.c, smallest: smallest.c, sentence: smallest.sentence,
  limits: view.limits.excesses.map((excess) => excess.sentence),
  causes: Object.fromEntries(Object.entries(view.causes).map(([name, x]) => [name, Array.from(x)])),
  kinetic: Array.from(view.energies.kinetic), work: Array.from(view.work), power: Array.from(view.power.total),
}; }"""
STATE = "() => ['q', 'qd', 'qdd'].map((name) => Array.from(window.dalembert.app.state[name]))"
PANDA_FROM = np.array([0.0, -0.3, 0.0, -2.0, 0.0, 1.8, 0.5])
PANDA_TO = np.array([1.2, 0.6, -0.4, -1.0, 0.3, 2.4, -0.6])


def study_of(page: Any, n: int) -> dict[str, Any]:
    """What the panel shows, as arrays."""
    found = page.evaluate(STUDY)
    for name in ("q", "qd", "qdd", "tau"):
        found[name] = np.reshape(found[name], (-1, n))
    for name in ("t", "kinetic", "work", "power"):
        found[name] = np.array(found[name])
    return dict(found)


def opened(page: Any, motion: str | None = None) -> Any:
    page.click("#tab-motion")
    if motion is not None:
        page.locator("#panel-motion").get_by_label("Motion", exact=True).locator("option", has_text=motion).wait_for(
            state="attached"
        )
        page.locator("#panel-motion select[aria-label=Motion]").select_option(label=motion)
    page.wait_for_timeout(60)
    return page


def near(found: Any, expected: Any, of: float = 1e-9) -> bool:
    return float(np.abs(np.asarray(found) - expected).max()) < of * max(float(np.abs(expected).max()), 1e-9)


@pytest.mark.parametrize("title", ["Equal duration", "Different duration", "Straight line"])
def test_torques_along_example_7_2_are_those_of_the_arm(title: str, page_of: Callable[..., Any]) -> None:
    arm = da.load("planar-2r")
    at = study_of(opened(page_of("planar-2r"), title), 2)
    assert len(at["t"]) >= 400 and (np.diff(at["t"]) >= 0).all()
    assert near(at["tau"], arm.inverse_dynamics(at["q"], at["qd"], at["qdd"]))
    terms = arm.torque_terms(at["q"], at["qd"], at["qdd"])
    for cause, values in {**terms.by_joint, "friction": terms.friction}.items():
        if cause in at["causes"]:
            assert np.abs(np.reshape(at["causes"][cause], (-1, 2)) - values).max() < 1e-9 * np.abs(at["tau"]).max()
    assert near(at["power"], (at["tau"] * at["qd"]).sum(axis=1))
    assert near(at["kinetic"], arm.kinetic_energy(at["q"], at["qd"]))


def test_motion_between_nodes_is_the_motion(page_of: Callable[..., Any]) -> None:
    """At instants on both sides of every knot, and between them, the page has the states of the Trajectory."""
    motion = da.trapezoidal(PANDA_FROM, PANDA_TO, acceleration_time=0.3, max_velocity=1.5)
    at = study_of(opened(page_of("panda", motion)), 7)
    once = np.append(np.diff(at["t"]) > 0, True)  # of an instant that stands twice, the side that begins
    q, qd, qdd = motion(at["t"])
    assert np.abs(at["q"] - q).max() < 1e-12 and np.abs(at["qd"] - qd).max() < 1e-11
    assert np.abs(at["qdd"] - qdd)[once].max() < 1e-9


@pytest.mark.parametrize("c", [0.5, 1.7])
def test_time_scaling_gives_the_torques_of_the_stretched_motion(c: float, page_of: Callable[..., Any]) -> None:
    arm = da.load("panda")
    motion = da.polynomial(PANDA_FROM, PANDA_TO, 1.2, degree=5)
    page = opened(page_of("panda", motion))
    page.get_by_label("Duration factor c").fill(str(c))
    page.wait_for_timeout(60)
    at = study_of(page, 7)
    assert at["t"][-1] == pytest.approx(c * 1.2)
    slower = motion.retimed(lambda t: t / c, duration=c * 1.2)
    assert near(at["tau"], arm.inverse_dynamics(*slower(at["t"])))
    assert at["difference"] < 1e-9


def test_smallest_factor_is_that_of_scaled(page_of: Callable[..., Any]) -> None:
    arm = da.load("planar-2r")
    page = opened(page_of("planar-2r"), "Straight line")
    at = study_of(page, 2)
    motion = example_7_2("straight-line").trajectory
    report = motion.scaled(arm, allow_faster=True).scaling
    assert at["smallest"] == pytest.approx(report.c, rel=2e-5)
    assert f"the {report.limit} limit of joint '{report.joint}'" in at["sentence"]
    assert at["limits"] and "joint 'joint2': torque" in at["limits"][0]
    page.get_by_role("button", name="Apply").click()
    page.wait_for_timeout(60)
    after = study_of(page, 2)
    assert after["c"] == pytest.approx(at["smallest"])
    assert all("torque" not in sentence for sentence in after["limits"])


def test_limits_are_named_and_marked(page_of: Callable[..., Any]) -> None:
    arm = da.load("planar-2r")
    motion = da.triangular([0.0, 0.0], [3.0, 7.0], duration=0.3)
    page = opened(page_of("planar-2r", motion))
    expected = [str(excess) for excess in motion.limits_report(arm, torque=True)]
    named = page.locator(".limit-list li").all_inner_texts()  # at instants that are drawn, not between them
    assert [sentence.split(" s is ")[-1] for sentence in named] == [
        sentence.split(" s is ")[-1] for sentence in expected
    ]
    assert [sentence.split(" at t =")[0][:-3] for sentence in named] == [x.split(" at t =")[0][:-3] for x in expected]
    assert any("position" in x for x in expected) and any("velocity" in x for x in expected)
    assert any("torque" in x for x in expected)
    marked = page.evaluate(
        "() => [...document.querySelectorAll('.plot .beyond')].map((path) => path.getAttribute('d').length)"
    )
    assert all(length > 20 for length in marked[:4])  # positions, velocities, torques, and the torque by cause


def test_events_of_a_motion_count(page_of: Callable[..., Any]) -> None:
    arm = da.load("panda")
    motion = da.polynomial(PANDA_FROM, PANDA_TO, 1.2, degree=5)
    motion = motion.with_payload(2.0, (0, 0, 0.05), start=0.3, end=0.9).with_tip_wrench([0, 5, 0, 0.2, 0, 0], start=0.6)
    page = opened(page_of("panda", {"Carry": motion}))
    assert "payload of 2 kg from 0.3 to 0.9 s" in page.locator("#panel-motion").inner_text()
    at = study_of(page, 7)
    before = np.append(np.diff(at["t"]) == 0, False)
    assert before.sum() == 3
    beside = at["t"] - 1e-9 * before
    assert near(at["tau"], motion.torques(arm, beside), 1e-6)
    assert near(at["tau"][~before], motion.torques(arm, at["t"][~before]))
    # what the page carries otherwise is added, and is as it was afterwards
    page.evaluate("() => window.dalembert.app.changeNumbers({ payload: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0] })")
    page.wait_for_timeout(100)
    at = study_of(page, 7)
    assert near(at["tau"][~before], motion.torques(arm.with_payload(1.0), at["t"][~before]))
    torques = page.evaluate("(q) => Array.from(window.dalembert.inverse_dynamics(q, q, q))", PANDA_FROM.tolist())
    assert near(torques, arm.with_payload(1.0).inverse_dynamics(PANDA_FROM, PANDA_FROM, PANDA_FROM))


def test_playback_reaches_the_end_and_the_arm_with_it(page_of: Callable[..., Any]) -> None:
    motion = da.polynomial([0.1, 0.2], [1.0, -0.7], 6.0, degree=5)
    page = opened(page_of("planar-2r", motion))
    page.get_by_role("button", name="Play").click()
    assert page.evaluate("() => window.dalembert.app.busy") == "motion"
    page.wait_for_timeout(300)
    t, q = page.evaluate(
        "() => [window.dalembert.app.panels.motion.player.t, Array.from(window.dalembert.app.state.q)]"
    )
    assert 0.0 < t < 6.0 and np.abs(motion(t)[0] - q).max() < 1e-12
    page.locator("#panel-motion").get_by_label("Speed", exact=True).select_option("4")
    page.get_by_role("button", name="Play").wait_for(timeout=20_000)
    assert page.evaluate("() => window.dalembert.app.panels.motion.player.t") == pytest.approx(6.0)
    assert near(page.evaluate(STATE)[0], [1.0, -0.7]) and page.evaluate("() => window.dalembert.app.busy") is None
    page.locator("#panel-motion").get_by_label("Loop", exact=True).check()
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => window.dalembert.app.panels.motion.player.t > 3", timeout=10_000)
    page.wait_for_function("() => window.dalembert.app.panels.motion.player.t < 3", timeout=10_000)
    page.evaluate("() => window.dalembert.app.take('simulation')")  # somebody else takes the arm
    assert not page.evaluate("() => window.dalembert.app.panels.motion.player.playing")


def test_scrubbing_by_slider_figure_and_keys_moves_the_arm(page_of: Callable[..., Any]) -> None:
    motion = da.polynomial([0.1, 0.2], [1.0, -0.7], 1.0, degree=5)
    page = opened(page_of("planar-2r", motion))
    page.locator("#panel-motion").get_by_label("Time", exact=True).fill("0.25")
    page.wait_for_timeout(60)
    assert near(page.evaluate(STATE)[0], motion(0.25)[0])
    figure = page.locator(".plot svg").nth(2)
    figure.scroll_into_view_if_needed()
    box = figure.bounding_box()
    page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 60)
    page.wait_for_timeout(60)
    t = page.evaluate("() => window.dalembert.app.panels.motion.player.t")
    assert 0.45 < t < 0.65 and near(page.evaluate(STATE)[0], motion(t)[0])
    figure.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    page.wait_for_timeout(60)
    for state, expected in zip(page.evaluate(STATE), motion(1.0), strict=True):
        assert np.abs(np.array(state) - expected).max() < 1e-12
    assert figure.get_attribute("aria-valuetext").startswith("1 s: joint1")


def test_saved_file_is_read_by_read_trajectory(page_of: Callable[..., Any], tmp_path: Path) -> None:
    arm = da.load("planar-2r")
    page = opened(page_of("planar-2r"), "Different duration")
    page.get_by_label("Duration factor c").fill("1.25")
    page.wait_for_timeout(60)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == "Different-duration.csv"
    motion = example_7_2("different-duration").trajectory
    slower = motion.retimed(lambda t: t / 1.25, duration=1.25 * motion.duration)
    again = da.read_trajectory(path, arm)
    t = np.linspace(0.0, again.duration, 333)
    for got, expected in zip(again(t), slower(t), strict=True):
        assert np.abs(got - expected).max() < 1e-9 * max(1.0, float(np.abs(expected).max()))
    columns = np.genfromtxt(path, delimiter=",", names=True)
    tau = np.stack([columns["tau1"], columns["tau2"]], axis=1)
    states = [np.stack([columns[f"{x}1"], columns[f"{x}2"]], axis=1) for x in ("q", "qd", "qdd")]
    assert near(tau, arm.inverse_dynamics(*states))


def drop(page: Any, name: str, content: str) -> None:
    """Drops a file on the page."""
    page.evaluate(
        """([name, content]) => {
          const data = new DataTransfer();
          data.items.add(new File([content], name));
          for (const kind of ["dragenter", "dragover", "drop"])
            document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        [name, content],
    )
    page.wait_for_timeout(150)


def test_dropped_file_is_shown_and_played(page_of: Callable[..., Any], tmp_path: Path) -> None:
    arm = da.load("planar-2r")
    motion = da.trapezoidal([0.1, 0.2], [1.0, -0.5], acceleration_time=0.2, max_velocity=2.0)
    path = tmp_path / "mine.csv"
    motion.save(path, arm=arm)
    page = page_of("planar-2r")
    drop(page, "mine.csv", path.read_text())
    assert page.locator("#tab-motion").get_attribute("aria-selected") == "true"
    at = study_of(page, 2)
    assert near(at["tau"], arm.inverse_dynamics(at["q"], at["qd"], at["qdd"]))
    expected = da.read_trajectory(path, arm)
    assert at["t"][-1] == expected.duration
    assert np.abs(at["q"] - expected(at["t"])[0]).max() < 1e-12
    assert near(page.evaluate(STATE)[0], [0.1, 0.2])


@pytest.mark.parametrize(
    "content",
    [
        "",
        "0,1,2\n1,2,3\n",
        "t,q1,q2\n0,1,two\n",
        "t,q1,q2\n0,1,nan\n",
        "t,q1,q2,q3\n0,1,2,3\n",
        "t,q1,q2\n1,1,2\n0,1,2\n",
    ],
)
def test_bad_file_is_refused_and_the_page_stays_as_it_is(
    content: str, page_of: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_text(content)
    with pytest.raises(da.DalembertError) as error:
        da.read_trajectory("bad.csv", da.load("planar-2r"))
    page = opened(page_of("planar-2r"))
    before = page.evaluate(STATE), page.evaluate(STUDY)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a CSV file").click()
    chooser.value.set_files("bad.csv")
    page.get_by_role("alert").wait_for()
    assert str(error.value).startswith(page.get_by_role("alert").inner_text())  # Python also names options
    assert (page.evaluate(STATE), page.evaluate(STUDY)) == before
    assert page.locator("#panel-motion select[aria-label=Motion] option").count() == 3


def test_motions_are_made_between_postures_and_within_limits(page_of: Callable[..., Any]) -> None:
    arm = da.load("panda")
    page = opened(page_of("panda"))
    page.get_by_text("Create a motion", exact=True).click()
    page.evaluate("(q) => window.dalembert.app.change({ q })", PANDA_FROM.tolist())
    page.get_by_role("button", name="Create the motion").click()
    assert "Set the postures From" in page.get_by_role("alert").inner_text()
    page.get_by_role("button", name="Set From to this posture").click()
    page.evaluate("(q) => window.dalembert.app.change({ q })", PANDA_TO.tolist())
    page.get_by_role("button", name="Set To to this posture").click()
    page.get_by_label("Duration of the motion (s)").fill("1.5")
    for shape, expected in {
        "quintic": da.polynomial(PANDA_FROM, PANDA_TO, 1.5, degree=5),
        "trapezoidal": da.trapezoidal(PANDA_FROM, PANDA_TO, duration=1.5, acceleration_time=1.5 / 4),
        "triangular": da.triangular(PANDA_FROM, PANDA_TO, duration=1.5),
    }.items():
        page.get_by_label("Shape of the motion").select_option(shape)
        page.get_by_role("button", name="Create the motion").click()
        page.wait_for_timeout(60)
        at = study_of(page, 7)
        q, qd, _ = expected(at["t"])
        assert np.abs(at["q"] - q).max() < 1e-12 and np.abs(at["qd"] - qd).max() < 1e-12
        assert near(at["tau"], arm.inverse_dynamics(at["q"], at["qd"], at["qdd"]))
    page.get_by_label("Duration of the motion (s)").fill("5")
    page.get_by_role("button", name="Create a Fourier series").click()
    page.wait_for_timeout(60)
    at = study_of(page, 7)
    assert not at["limits"] and np.abs(at["q"][0] - at["q"][-1]).max() < 1e-12 and np.ptp(at["q"], axis=0).min() > 0.05


def test_motion_of_another_number_of_joints_is_refused() -> None:
    motion = da.polynomial([0.0], [1.0], 1.0)
    with pytest.raises(da.ShapeError, match=r"^the motion 'Motion' has 1 joints, but arm 'planar-2r' has 2$"):
        da.write_page("never.html", da.load("planar-2r"), motion)


def test_figures_are_redrawn_within_a_frame(page_of: Callable[..., Any]) -> None:
    """Seven joints, 400 instants, six figures: what a turn of the time-scaling slider costs. Measured, and generously bounded."""
    page = opened(page_of("panda", da.polynomial(PANDA_FROM, PANDA_TO, 1.2, degree=5)))
    cost = page.evaluate(
        """() => { const { motion } = window.dalembert.app.panels; const times = [];
          for (let k = 0; k < 15; k++) {
            const start = performance.now(); motion.stretch(1 + k / 20); times.push(performance.now() - start);
          }
          return times.sort((a, b) => a - b)[7]; }"""
    )
    print(f"time scaling of panda, all figures: {cost:.1f} ms")
    assert cost < 200.0
