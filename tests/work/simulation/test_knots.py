"""Motions with knots, simulated: steps are cut there and see their own side, so that no order is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from arms import states
from dalembert.errors import DalembertError
from dalembert.work.simulation.fixed import compiled, stepped
from dalembert.work.simulation.task import SimulationRequest, make_task
from dalembert.work.simulation.time_steps import make_steps, time_grid
from dalembert.work.trajectory.planning.example_7_2 import MOTIONS, example_7_2
from dalembert.work.trajectory.planning.time_breaks import breaks_of

STEPS = (1e-3, 7e-4)


def reference(motion: Any, t: np.ndarray) -> np.ndarray:
    """q of the motion, whose last pose is held."""
    return motion(np.minimum(t, motion.duration))[0]


def followed(arm: da.Arm, motion: da.Trajectory, longer: float = 0.05, **options: Any) -> tuple[Any, float]:
    """The run of inverse dynamics without feedback, and how far it is from the motion."""
    q, qd, _ = motion(0.0)
    run = da.simulate(arm, q, qd, da.ComputedTorque(0.0, 0.0, motion), motion.duration + longer, **options)
    assert np.abs(run.q[-1] - run.q[0]).max() > 0.3
    return run, float(np.abs(run.q - reference(motion, run.t)).max())


# -- inverse dynamics, then direct dynamics ------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "dop853"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", MOTIONS)
def test_torques_of_example_7_2_give_its_motion_back(name: Any, step: float, method: str) -> None:
    example = example_7_2(name)
    for longer in (0.0, 0.05) if method == "rk4" else (0.05,):
        run, error = followed(example.arm, example.trajectory, longer, step=step, method=method)
        assert error < (1e-10 if name == "straight-line" else 1e-12)  # on the line the acceleration is no polynomial
        assert np.array_equal(run.t, time_grid(example.trajectory.duration + longer, step)[1])


def test_a_function_without_knots_is_sampled_as_it_stands() -> None:
    """What the knots are worth: the same motion with its knots hidden is followed to first order only."""
    arm, motion = example_7_2("equal-duration").arm, example_7_2("equal-duration").trajectory
    control = da.ComputedTorque(0.0, 0.0, lambda t: motion(t))
    run = da.simulate(arm, motion.q[0], None, control, motion.duration)
    assert np.abs(run.q - reference(motion, run.t)).max() > 1e-4


@pytest.mark.parametrize("name", ["puma560", "panda", "scara", "stanford", "five-bar"])
def test_knots_at_any_phase_of_the_steps(name: str) -> None:
    """Each joint has knots of its own, at no multiple of the step; with the friction of the arm, dry friction too."""
    arm = da.load(name)
    q0 = np.array([2.2, 0.9]) if name == "five-bar" else states(arm, 1, scale=0.5)[0][0]
    way = np.linspace(0.31, -0.37, arm.n)
    motion = da.trapezoidal(q0, q0 + way, acceleration_time=0.0317 + 0.01 * np.sqrt(np.arange(arm.n)), max_velocity=1.3)
    phases = np.array(motion.knots) / STEPS[0] % 1.0
    assert len(motion.knots) > arm.n and np.ptp(phases) > 0.3
    runs = {}
    for step in STEPS:
        runs[step], error = followed(arm, motion, 0.0317, step=step)
        assert error < 1e-12, step
    few, error = followed(arm, motion, 0.0317, step=1e-3, every=7)
    assert error < 1e-12 and np.array_equal(few.t, runs[1e-3].t[[*range(0, len(runs[1e-3].t) - 1, 7), -1]])


def test_adaptive_steps_break_at_knots_with_dry_friction() -> None:
    arm = da.load("puma560")
    motion = da.trapezoidal(np.zeros(6), np.full(6, 0.4), acceleration_time=0.0717, max_velocity=1.3)
    assert followed(arm, motion, method="dop853", step=0.01)[1] < 1e-12


def test_splines_scaled_and_sampled_motions(tmp_path: Path) -> None:
    """Jumps in higher derivatives count too: an acceleration with corners, one from a file, one stretched in time."""
    arm = da.load("planar-3r")
    points = np.array([[0.0, 0.5, -0.2], [0.4, 0.2, 0.3], [0.9, -0.3, 0.1], [0.5, 0.1, 0.4]])
    spline = da.spline([0.0, 0.2117, 0.5513, 0.8001], points)
    assert len(spline.breaks) == 4 and not spline.knots
    assert followed(arm, spline)[1] < 1e-13
    trapezoids = da.trapezoidal(points[0], points[2], acceleration_time=0.0717, max_velocity=2.3)
    scaled = trapezoids.scaled(arm, {"velocity": 1.7})
    assert scaled.duration > 1.1 * trapezoids.duration and len(scaled.breaks) == len(trapezoids.breaks)
    assert followed(arm, scaled)[1] < 1e-13
    trapezoids.save(tmp_path / "motion.csv", rate=131.0)
    sampled = da.read_trajectory(tmp_path / "motion.csv")
    coarse, fine = (followed(arm, sampled, step=step)[1] for step in (1e-3, 5e-4))
    assert coarse < 1e-7 and coarse > 12 * fine  # quintic pieces: Runge–Kutta's own error, and its order


def test_tip_follows_a_motion_with_knots() -> None:
    """The controller of the tip: compiled, from Python, and with adaptive steps."""
    arm = da.load("planar-2r")
    op, q0 = arm.operational_space(task="xy"), np.array([0.3, 0.9])
    x0 = op.pose(q0)
    motion = da.trapezoidal(x0, x0 + np.array([-0.3, 0.2]), acceleration_time=0.0717, max_velocity=[1.1, 0.9])
    free = da.OperationalController(op, motion, 0.0, 0.0)
    from_python = da.OperationalController(op, motion, 0.0, 0.0, contact=lambda q, qd: np.zeros((*q.shape[:-1], 6)))
    laws = set()
    for control, method, step in (
        (free, "rk4", 1e-3), (free, "rk4", 7e-4), (free, "dop853", 1e-3), (from_python, "rk4", 7e-4),
    ):  # fmt: skip
        run = da.simulate(arm, q0, None, control, motion.duration + 0.03, method=method, step=step)  # type: ignore[arg-type]
        laws.add(run.task.plan.law)
        assert np.abs(op.pose(run.q) - reference(motion, run.t)).max() < 1e-10, (method, step)
        assert len(run.t) == len(time_grid(motion.duration + 0.03, step)[1])
    assert laws == {"tip", "host"}


def test_feedback_keeps_its_order_across_knots() -> None:
    """PD along a triangular velocity: the error of Runge–Kutta is that of order 4, of the variational method of order 2."""
    arm = da.load("planar-2r")
    motion = da.triangular([0.1, 0.2], [0.9, -0.5], duration=[0.4321, 0.7123])
    control = da.PD(2000.0, 400.0, motion)

    def run(**options: Any) -> np.ndarray:
        return da.simulate(arm, [0.1, 0.2], None, control, 0.8, every=10**6, **options).q[-1]

    exact = run(method="dop853", step=0.1, rtol=1e-13, atol=1e-13)
    rk4 = [np.abs(run(step=h) - exact).max() for h in (0.004, 0.002)]
    variational = [np.abs(run(step=h, method="variational") - exact).max() for h in (0.004, 0.002)]
    assert rk4[0] / rk4[1] == pytest.approx(16, rel=0.3) and rk4[1] < 1e-8
    assert variational[0] / variational[1] == pytest.approx(4, rel=0.2)


# -- torques and wrenches with knots -------------------------------------------------------------


class Switched:
    """+f until the knot, −f after it."""

    def __init__(self, f: list[float], knot: float) -> None:
        self.f, self.knots = np.array(f), (knot,)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.f if t < self.knots[0] else -self.f


@pytest.mark.parametrize("method", ["rk4", "dop853", "variational"])
def test_functions_with_knots_of_their_own(method: Any) -> None:
    """A mass of 2 kg is pushed to and fro: two parabolas."""
    arm = da.from_dh([{"type": "prismatic", "mass": 2.0, "inertia": np.eye(3)}], gravity=(0, 0, 0))
    T = 0.51237
    for given in ({"torque": Switched([4.0], T)}, {"torque": None, "tip_wrench": Switched([0, 0, -4.0, 0, 0, 0], T)}):
        run = da.simulate(arm, [0.0], None, duration=1.0, method=method, **given)  # type: ignore[arg-type]
        later = np.maximum(run.t - T, 0.0)
        assert np.abs(run.q[:, 0] - (run.t**2 - 2.0 * later**2)).max() < 1e-13
        assert np.array_equal(run.t, time_grid(1.0, 1e-3)[1])
        assert np.abs(run.qdd[:, 0] - np.where(run.t < T, 2.0, -2.0)).max() < 1e-12
    hidden = Switched([4.0], T)
    run = da.simulate(arm, [0.0], None, lambda t, q, qd: hidden(t, q, qd), 1.0)
    assert np.abs(run.q[-1, 0] - (1.0 - 2.0 * (1.0 - T) ** 2)) > 1e-5


def test_arrays_are_held_over_the_steps_asked_for_where_a_knot_cuts_them() -> None:
    arm = da.load("planar-2r")
    torque = np.random.default_rng(1).normal(size=(3, 50, 2)) * 30
    push = Switched([30.0, 10.0, 0, 0, 0, 0], 0.02345)
    run = da.simulate(arm, [0.1, 0.2], None, torque, 0.05, tip_wrench=push)
    assert run.task.steps == 51 and run.q.shape == (3, 51, 2)
    assert np.array_equal(run.tau, torque[:, [*range(50), 49]])
    fine = da.simulate(arm, [0.1, 0.2], None, np.repeat(torque, 10, axis=1), 0.05, step=1e-4, tip_wrench=push, every=10)
    assert np.abs(fine.q - run.q).max() < 1e-9
    exact = da.simulate(arm, [0.1, 0.2], None, torque[1], 0.05, tip_wrench=push, method="dop853")
    assert np.abs(exact.q - run.q[1]).max() < 1e-9


def test_at_a_knot_the_torque_is_that_of_the_piece_that_begins() -> None:
    arm = da.load("planar-2r")
    motion = da.triangular([0.1, 0.2], [0.9, -0.5], duration=0.5)
    accelerations = motion(np.array([0.0, 0.4]))[2]
    for method in ("rk4", "dop853"):
        run, _ = followed(arm, motion, method=method)
        at = {t: run.qdd[np.argmin(np.abs(run.t - t))] for t in (0.0, 0.249, 0.25, 0.499, 0.5)}
        assert np.allclose([at[0.0], at[0.249]], accelerations[0], rtol=1e-9)
        assert np.allclose([at[0.25], at[0.499]], accelerations[1], rtol=1e-9)
        assert np.allclose(at[0.5], 0.0, atol=1e-9)  # the pose is held
        assert np.allclose(run.tau, arm.inverse_dynamics(run.q, run.qd, run.qdd), atol=1e-6)
        whole, _ = followed(arm, motion, 0.0, method=method)  # at the last instant nothing begins
        assert np.allclose(whole.qdd[-1], accelerations[1], rtol=1e-9)
        assert np.allclose(whole.tau, arm.inverse_dynamics(*motion(whole.t)), atol=1e-6)


def test_friction_that_is_left_out_is_not_compensated_by_any_method() -> None:
    arm = da.load("puma560")
    motion = da.polynomial(np.zeros(6), np.full(6, 0.4), 0.3)
    runs = [followed(arm, motion, friction=False, method=method) for method in ("rk4", "dop853")]
    free = da.Arm(arm.robot.replace(joints=tuple(_frictionless(j) for j in arm.robot.joints)))
    for run, error in runs:
        assert error < 1e-12
        assert np.allclose(run.tau, free.inverse_dynamics(run.q, run.qd, run.qdd), atol=1e-8)


def _frictionless(joint: Any) -> Any:
    rotor = joint.rotor if joint.rotor is None else replace(joint.rotor, coulomb=(0.0, 0.0), viscous=0.0)
    return replace(joint, friction=da.Friction(0.0, 0.0), rotor=rotor)


# -- the steps themselves ------------------------------------------------------------------------


class Knots:
    def __init__(self, *knots: float) -> None:
        self.knots = knots


def test_steps_are_cut_at_knots_and_records_stay() -> None:
    h, t = time_grid(0.0105, 1e-3)
    plain = make_steps(0.0105, 1e-3, 3, np.empty(0))
    assert np.array_equal(plain.h, h) and np.array_equal(plain.t, t) and list(plain.edges) == [0, 11]
    steps = make_steps(0.0105, 1e-3, 3, np.array([0.0023, 0.005, 0.0051, 0.02, 0.0023, -1.0]))
    assert np.array_equal(np.delete(steps.t, steps.cuts), t) and np.allclose(steps.t[steps.cuts], [0.0023, 0.0051])
    assert np.array_equal(steps.t[steps.records], t[plain.records])
    assert steps.h.sum() == pytest.approx(0.0105, rel=1e-15) and np.allclose(np.diff(steps.t), steps.h, atol=1e-17)
    assert np.array_equal(steps.row(np.arange(13)), [0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10])
    assert np.allclose(steps.t[steps.edges], [0.0, 0.0023, 0.005, 0.0051, 0.0105])
    for j in (2, 3, 7):
        one, ends = steps.between(j, j + 1), steps.t[j : j + 2]
        assert np.array_equal(one.t, ends) and np.array_equal(one.seen(0, ends), steps.seen(j, ends))
    k = np.arange(13)
    left, right = steps.seen(k, steps.t[1:]), steps.seen(k, steps.t[:-1])
    for knot in (0.0023, 0.005, 0.0051):
        (end,), (begin,) = (np.flatnonzero(np.abs(x - knot) < 1e-12) for x in (left, right))
        assert begin == end + 1 and left[end] < knot < right[begin]
    # what differs from a multiple of the step by rounding cuts nothing off
    rounded = make_steps(1.0, 1e-3, 1, np.arange(1, 1000) / 1000.0 * (1 + 2e-16))
    assert len(rounded.cuts) == 0 and len(rounded.edges) == 1001
    with pytest.raises(DalembertError, match=r"are not times in s: \('soon',\)"):
        breaks_of(Knots("soon"))  # type: ignore[arg-type]


def test_compiled_loop_equals_steps_from_python_across_knots() -> None:
    arm = da.load("puma560")
    motion = da.trapezoidal(np.zeros(6), np.full(6, 0.1), acceleration_time=0.01234, max_velocity=4.3)
    control = da.ComputedTorque([[100.0] * 6, [400.0] * 6], 20.0, motion)
    task = make_task(arm, SimulationRequest(q0=np.zeros(6), torque=control, duration=0.05, every=4))
    assert task.steps > 52 and len(task.records) == 14
    a, b = compiled(task, [task.q0, task.qd0]), stepped(task, [task.q0, task.qd0])
    assert np.abs(a[0] - b[0]).max() < 1e-12 and np.abs(a[1] - b[1]).max() < 1e-11
