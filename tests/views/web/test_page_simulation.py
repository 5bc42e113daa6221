"""The page's simulation is that of the library: energy, dry friction that sticks, stops, controllers, a pull at the tip."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from in_node import with_robot

RUN = """
import { Simulation } from "./simulation.js";
import { lawGains } from "./control_laws.js";
const simulation = new Simulation(robot, given.q, given.qd ?? given.q.map(() => 0));
Object.assign(simulation, given.set ?? {});
if (given.law) {
  const { name, posture, frequency, ratio, limited } = given.law;
  simulation.law = { name, posture, limited: Boolean(limited), ...lawGains(robot, name, posture, frequency, ratio) };
}
const energy = () => { const { kinetic, potential } = robot.energies(simulation.q, simulation.qd); return kinetic + potential; };
const first = energy();
const row = () => ({ t: simulation.time, q: simulation.q, qd: simulation.qd, qdd: simulation.qdd });
const rows = [row()];
for (let k = 0; k < given.records; k++) {
  simulation.advance(((k + 1) * given.duration) / given.records, given.step ?? 1e-3);
  rows.push(row());
}
result = { rows, first, last: energy(), kinetic: robot.energies(simulation.q, simulation.qd).kinetic, failure: simulation.failure };
"""
POSTURES = {
    "planar-2r": [0.3, 0.4],
    "panda": [0.3, 0.4, 0.5, -1.0, 0.7, 0.8, 0.9],
    "puma560": [0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
    "parallelogram": [0.3, 1.5],
    "stanford": [0.3, 0.4, 0.3, 0.6, 0.7, 0.8],
    "scara": [0.3, 0.4, 0.1, 0.6],
}


def run(folder: Path, arm: da.Arm, q: Any, duration: float = 2.0, records: int = 1, **given: Any) -> dict[str, Any]:
    found: dict[str, Any] = with_robot(
        folder, arm, RUN, {"q": list(q), "duration": duration, "records": records, **given}
    )
    return found


@pytest.mark.parametrize("name", ["planar-2r", "panda", "stanford", "parallelogram"])
def test_energy_is_conserved_without_friction(name: str, tmp_path: Path) -> None:
    found = run(tmp_path, da.load(name), POSTURES[name], set={"friction": False, "stops": False})
    assert abs(found["last"] - found["first"]) < 1e-6 * max(found["kinetic"], 1.0) and found["failure"] is None


@pytest.mark.parametrize("name", POSTURES)
def test_an_arm_that_is_let_go_moves_as_in_the_library(name: str, tmp_path: Path) -> None:
    """With friction and stops: joints stick, run into their stops and come off them again."""
    arm = da.load(name)
    found = run(tmp_path, arm, POSTURES[name], records=4)
    stops = "contact" if any(joint.limits.lower is not None for joint in arm.robot.moving_joints) else None
    expected = da.simulate(arm, POSTURES[name], None, None, 2.0, stops=stops, every=500)
    for row, q, qd in zip(found["rows"], expected.q, expected.qd, strict=True):
        assert np.abs(np.array(row["q"]) - q).max() < 1e-7 and np.abs(np.array(row["qd"]) - qd).max() < 1e-6


def test_a_thrown_arm_slides_and_comes_to_rest_as_in_the_library(tmp_path: Path) -> None:
    """Every joint of the SCARA slides, turns round or stops, each at its own time."""
    arm, qd = da.load("scara"), [3.0, -4.0, 0.1, 8.0]
    found = run(tmp_path, arm, [0.0, 0.3, 0.05, 0.0], qd=qd, duration=1.0, records=10)
    expected = da.simulate(arm, [0.0, 0.3, 0.05, 0.0], qd, None, 1.0, stops="contact", every=100)
    for row, q, v in zip(found["rows"], expected.q, expected.qd, strict=True):
        assert np.abs(np.array(row["q"]) - q).max() < 1e-8 and np.abs(np.array(row["qd"]) - v).max() < 1e-7


INTERRUPTED = """
import { Simulation } from "./simulation.js";
const runs = [1, 2].map(() => new Simulation(robot, given.q, given.qd));
runs[0].advance(given.duration, 1e-3);
let frames = 1;
for (let asked = 0; !runs[1].advance(given.duration, 1e-3, () => asked++ === 0); frames++) asked = 0;
result = { states: runs.map(({ q, qd, time }) => [q, qd, time]), frames };
"""


def test_the_computing_time_of_a_frame_ends_a_run_which_the_next_one_continues(tmp_path: Path) -> None:
    given = {"q": [0.0, 0.3, 0.05, 0.0], "qd": [3.0, -4.0, 0.1, 8.0], "duration": 0.5}
    found = with_robot(tmp_path, da.load("scara"), INTERRUPTED, given)
    assert found["states"][0] == found["states"][1] and found["frames"] == 500


def test_dry_friction_of_passive_joints_acts_as_in_the_library(tmp_path: Path) -> None:
    arm = da.load("five-bar")
    joints = tuple(replace(j, friction=j.friction.replace(coulomb=0.5)) if j.moves else j for j in arm.robot.joints)
    arm, q = arm.replace(joints=joints, name="rubbing"), list(arm.home)
    found = run(tmp_path, arm, q, duration=0.5, records=2, set={"stops": False})
    expected = da.simulate(arm, q, None, None, 0.5, every=250)
    for row, x, v in zip(found["rows"], expected.q, expected.qd, strict=True):
        assert np.abs(np.array(row["q"]) - x).max() < 1e-8 and np.abs(np.array(row["qd"]) - v).max() < 1e-7


def test_friction_that_can_bear_the_load_holds_still(tmp_path: Path) -> None:
    """Not a bit of movement in two seconds, since friction at rest is whatever is needed."""
    panda = da.load("panda")
    joints = tuple(
        replace(joint, friction=joint.friction.replace(coulomb=100.0)) if joint.moves else joint
        for joint in panda.robot.joints
    )
    found = run(tmp_path, panda.replace(joints=joints, name="stiff"), POSTURES["panda"])
    assert found["rows"][-1]["q"] == POSTURES["panda"]
    assert found["rows"][-1]["qd"] == found["rows"][-1]["qdd"] == [0.0] * 7


def test_friction_that_cannot_bear_the_load_lets_go(tmp_path: Path) -> None:
    """A pendulum holds where |m g l sin| < F_s, and falls from beyond."""
    arm = da.load("pendulum")
    (joint,) = arm.robot.joints
    level = float(np.abs(arm.gravity_torque([0.6])[0]))
    with_friction = arm.replace(
        joints=(replace(joint, friction=joint.friction.replace(coulomb=level)),), name="with_friction"
    )
    for q in np.linspace(-1.5, 1.5, 7):
        holds = abs(float(arm.gravity_torque([q])[0])) < level
        found = run(tmp_path, with_friction, [q], duration=0.2, set={"stops": False})
        assert (found["rows"][-1]["q"] == [q]) == holds, q


def test_pd_with_gravity_compensation_comes_to_its_posture(tmp_path: Path) -> None:
    arm, q = da.load("panda"), np.array(POSTURES["panda"])
    law = {"name": "pd", "posture": q.tolist(), "frequency": 12.0, "ratio": 1.0}
    found = run(tmp_path, arm, q + 0.2, duration=4.0, law=law)
    assert np.abs(np.array(found["rows"][-1]["q"]) - q).max() < 1e-4


def test_computed_torque_makes_errors_decay_as_their_linear_equation(tmp_path: Path) -> None:
    """ë + 2ζω ė + ω² e = 0 for every joint by itself: e = e_0 (1 + ω t) exp(−ω t) at ζ = 1."""
    arm, q = da.load("stanford"), np.array(POSTURES["stanford"])
    e_0 = np.array([0.2, -0.3, 0.05, 0.4, -0.2, 0.1])
    law = {"name": "computed", "posture": q.tolist(), "frequency": 8.0, "ratio": 1.0}
    found = run(tmp_path, arm, q + e_0, duration=1.0, records=5, law=law, set={"stops": False})
    for row in found["rows"]:
        wt = 8.0 * row["t"]
        assert np.abs(np.array(row["q"]) - q - e_0 * (1 + wt) * np.exp(-wt)).max() < 1e-8


def test_torque_limits_are_respected(tmp_path: Path) -> None:
    arm = da.load("panda")
    most = np.array([joint.limits.effort for joint in arm.robot.moving_joints])
    law = {"name": "pd", "posture": POSTURES["panda"], "frequency": 60.0, "ratio": 0.7, "limited": True}
    found = run(
        tmp_path, arm, np.array(POSTURES["panda"]) + 0.5, duration=0.05, records=25, law=law, set={"stops": False}
    )
    q, qd, qdd = (np.array([row[name] for row in found["rows"][1:]]) for name in ("q", "qd", "qdd"))
    tau = np.abs(arm.inverse_dynamics(q, qd, qdd))
    assert (tau <= (1.0 + 1e-9) * most).all() and np.isclose(tau, most, rtol=1e-9).any()


def test_divergence_names_the_joint_and_the_time(tmp_path: Path) -> None:
    law = {"name": "computed", "posture": [0.0] * 7, "frequency": 1e5, "ratio": 1.0}
    found = run(tmp_path, da.load("panda"), POSTURES["panda"], law=law, set={"stops": False})
    assert "diverged at t = 0.0" in found["failure"] and "joint panda_joint" in found["failure"]


def test_stiff_damping_moves_as_in_the_library(tmp_path: Path) -> None:
    """A light joint under its weight, with a pole of 20,000 /s and Coulomb friction; one of 2e6 /s is refused."""

    def wrist(viscous: float) -> da.Arm:
        row = {"mass": 0.1, "com": [0.02, 0, 0], "inertia": 6e-5 * np.eye(3), "alpha": np.pi / 2}
        return da.from_dh([{**row, "friction": {"viscous": viscous, "coulomb": 0.005}}], gravity=(0, -9.81, 0))

    expected = da.simulate(wrist(2.0), [0.0], [-1.0], None, 0.5, every=125)
    found = run(tmp_path, wrist(2.0), [0.0], qd=[-1.0], duration=0.5, records=4)
    assert "substeps" in expected.notes[0] and found["failure"] is None
    for row, q, qd in zip(found["rows"], expected.q, expected.qd, strict=True):
        assert np.abs(np.array(row["q"]) - q).max() < 1e-6 and np.abs(np.array(row["qd"]) - qd).max() < 1e-6
    refused = run(tmp_path, wrist(200.0), [0.0], qd=[-1.0], duration=0.5)["failure"]
    assert "with a pole of 2.00e+6 /s, too fast for steps of 0.001 s" in refused


def test_a_pull_at_the_tip_is_a_wrench_of_the_opposite_sign(tmp_path: Path) -> None:
    """A spring without damping holds the energy that the arm gives away."""
    pull = {"target": [0.9, -0.4, 0.0], "stiffness": 300.0, "damping": 0.0, "wrench": [0.0] * 6}
    arm = da.load("planar-2r")
    found = run(tmp_path, arm, [0.3, 0.4], duration=0.5, set={"friction": False, "stops": False, "pull": pull})

    def stored(q: Any) -> float:
        return float(150.0 * np.sum((arm.pose(np.array(q))[:3, 3] - pull["target"]) ** 2))

    ends = [found["rows"][k]["q"] for k in (0, -1)]
    assert found["last"] + stored(ends[1]) == pytest.approx(found["first"] + stored(ends[0]), rel=1e-8)


@pytest.mark.parametrize("name", ["pd", "computed"])
def test_a_controller_yields_to_a_pull_that_it_does_not_know(name: str, tmp_path: Path) -> None:
    """At rest K_p e = Jᵀ f for PD, and B K_p e = Jᵀ f for computed torque."""
    arm, q = da.load("planar-2r"), [0.3, 0.9]
    pull = {"target": [2.0, 1.0, 0.0], "stiffness": 400.0, "damping": 0.0, "wrench": [0.0] * 6}
    law = {"name": name, "posture": q, "frequency": 6.0, "ratio": 1.0}
    found = run(tmp_path, arm, q, duration=6.0, law=law, set={"stops": False, "pull": pull})
    at = np.array(found["rows"][-1]["q"])
    force = 400.0 * (np.array(pull["target"]) - arm.pose(at)[:3, 3])
    inertia = np.diag(np.diag(arm.inertia_matrix(q))) if name == "pd" else arm.inertia_matrix(at)
    held = 36.0 * inertia @ (at - q)
    assert np.abs(at - q).max() > 0.01
    assert np.allclose(held, arm.jacobian(at)[:3].T @ force, rtol=1e-6, atol=1e-6)


# -- in the page -----------------------------------------------------------------------------------

TIME = "() => dalembert.app.simulation.player.simulation.time"
STATE = "() => Array.from(dalembert.app.state.q)"


def let_go(page: Any) -> None:
    page.get_by_role("tab", name="Simulate").click()
    page.get_by_role("button", name="Start").click()


def test_buttons_let_go_pause_step_and_reset(page_of: Callable[..., Any]) -> None:
    page = page_of("planar-2r")
    before = page.evaluate(STATE)
    let_go(page)
    page.wait_for_function("() => dalembert.app.simulation.player.simulation.time > 0.05", timeout=20_000)
    assert page.evaluate("() => dalembert.app.busy") == "simulation"
    page.get_by_role("button", name="Pause").click()
    paused = page.evaluate(TIME)
    assert page.evaluate(STATE) != before
    page.get_by_role("button", name="Step", exact=True).click()
    assert page.evaluate(TIME) == pytest.approx(paused + 1e-3)
    page.get_by_role("button", name="Reset", exact=True).click()
    page.wait_for_timeout(60)
    assert page.evaluate(STATE) == before and page.evaluate(TIME) == 0
    assert page.get_by_label("Simulated time").inner_text() == "t = 0.000 s"


def test_the_readout_says_how_far_the_energy_drifts(page_of: Callable[..., Any]) -> None:
    page = page_of("planar-2r")
    page.get_by_role("tab", name="Simulate").click()
    page.get_by_label("Joint stops").uncheck()
    page.get_by_role("button", name="Start").click()
    page.wait_for_function("() => dalembert.app.simulation.player.simulation.time > 0.1", timeout=20_000)
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(60)
    assert "integration drift" in page.locator(".energies").inner_text()
    cells = {
        name: float(page.locator(f"[data-energy={name}]").inner_text().replace("−", "-").split()[0])
        for name in ("kinetic", "potential", "total", "change")
    }
    assert cells["kinetic"] > 0 and abs(cells["change"]) < 1e-6
    assert cells["kinetic"] + cells["potential"] == pytest.approx(cells["total"], rel=1e-3)


def test_a_slider_takes_the_arm_from_the_simulation(page_of: Callable[..., Any]) -> None:
    page = page_of("planar-2r")
    let_go(page)
    page.wait_for_function("() => dalembert.app.simulation.player.simulation.time > 0.01", timeout=20_000)
    page.get_by_role("tab", name="State").click()
    page.get_by_label("Position of joint1, exact").fill("10")
    page.wait_for_timeout(100)
    assert page.evaluate("() => [dalembert.app.busy, dalembert.app.simulation.player.playing]") == [None, False]
    assert page.evaluate(STATE)[0] == pytest.approx(np.radians(10))


def test_gravity_can_be_switched_off_and_turned(page_of: Callable[..., Any]) -> None:
    page, arm = page_of("planar-2r"), da.load("planar-2r")
    page.get_by_role("tab", name="Simulate").click()
    q = page.evaluate(STATE)
    torque = "() => Array.from(dalembert.robot.gravityTorque(dalembert.app.state.q))"
    page.get_by_role("tabpanel").get_by_label("Gravity", exact=True).uncheck()
    assert page.evaluate(torque) == [0.0, 0.0]
    page.get_by_label("Gravity along x (m/s²)").fill("3")
    assert np.allclose(page.evaluate(torque), arm.variants(gravity=[3.0, 0.0, 0.0]).gravity_torque(q), atol=1e-9)


def test_the_handle_pulls_a_moving_arm_and_the_torques_feel_it(page_of: Callable[..., Any]) -> None:
    page = page_of("planar-2r")
    page.get_by_role("tab", name="Simulate").click()
    page.get_by_role("tabpanel").get_by_label("Gravity", exact=True).uncheck()
    page.get_by_role("button", name="Start").click()
    box = page.locator(".stage-handle").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=4)
    page.wait_for_function("() => dalembert.robot.numbers.tip_wrench.some((f) => Math.abs(f) > 1)", timeout=20_000)
    wrench, target, q = page.evaluate(
        "() => [Array.from(dalembert.robot.numbers.tip_wrench), dalembert.app.simulation.player.simulation.pull.target,"
        " Array.from(dalembert.app.state.q)]"
    )
    assert np.linalg.norm(wrench[:3]) > 1 and np.dot(target - da.load("planar-2r").pose(q)[:3, 3], wrench[:3]) < 0
    page.mouse.up()
    page.wait_for_timeout(60)
    assert page.evaluate("() => Array.from(dalembert.robot.numbers.tip_wrench)") == [0.0] * 6
    assert page.evaluate("() => dalembert.app.simulation.player.simulation.pull") is None


def test_the_set_point_of_a_controller_can_be_dragged(page_of: Callable[..., Any]) -> None:
    page = page_of("planar-2r")
    let_go(page)
    page.get_by_label("Controller").select_option("computed")
    page.get_by_label("Dragging the tip").select_option("set-point")
    before = page.evaluate("() => Array.from(dalembert.app.simulation.player.simulation.law.posture)")
    box = page.locator(".stage-handle").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 40, y + 30, steps=4)
    page.mouse.up()
    after = page.evaluate("() => Array.from(dalembert.app.simulation.player.simulation.law.posture)")
    assert np.abs(np.array(after) - before).max() > 0.01
    reached = "(q) => dalembert.app.state.q.every((x, i) => Math.abs(x - q[i]) < 2e-3)"
    page.wait_for_function(reached, arg=after, timeout=30_000)
