"""Damping that is stiff for the step: divided steps against stiff integrators, and sentences where they do not suffice."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.arm.damping import MOST
from dalembert.mechanics.motion.methods import METHODS
from dalembert.work.simulation.time_steps import make_steps


def wrist(**friction: object) -> da.Arm:
    """One light joint, of 1e-4 kg m²."""
    inertia = {"xx": 1e-4, "yy": 1e-4, "zz": 1e-4}
    return da.from_dh([
        {"mass": 0.1, "inertia": inertia, "friction": friction, "limits": {"lower": -1.0, "upper": 0.3}}
    ])  # fmt: skip


def small_arm(coulomb: float) -> da.Arm:
    """Two joints with a vendor's damping: the pole of the second is near 15,000 /s."""
    friction = {"viscous": 2.0, "coulomb": coulomb}
    light = {"xx": 1e-4, "yy": 1e-4, "zz": 1.4e-4}
    return da.from_dh([
        {"a": 0.3, "alpha": np.pi / 2, "mass": 2.0, "com": [-0.1, 0, 0], "inertia": 0.02 * np.eye(3), "friction": friction},
        {"mass": 0.2, "com": [0.005, 0, 0], "inertia": light, "friction": friction},
    ], gravity=(0, 0, -9.81))  # fmt: skip


def test_a_stiff_joint_reaches_its_speed_at_the_default_step() -> None:
    """q̇ = (τ − F_s)/F_v once the transient is over, however the step program is reached."""
    arm, tau = wrist(viscous=2.0, coulomb=1.0), np.array([[3.0], [-3.0], [0.9], [5.0]])
    speed = np.array([1.0, -1.0, 0.0, 2.0])
    run = da.simulate(arm, np.zeros((4, 1)), None, tau[:, None, :], 0.1)
    assert (
        np.abs(run.qd[:, -1, 0] - speed).max() < 1e-12
        and "14 substeps, because damping makes the speed of joint 'joint1'" in run.notes[0]
    )
    rows = np.repeat(tau[:, None, :], 100, axis=1)
    q, qd = arm.rollout(np.zeros((4, 1)), np.zeros(1), rows, step=1e-3, steps=100, every=50)
    assert np.array_equal(q[:, -1], run.q[:, -1]) and np.array_equal(qd[:, 0], run.qd[:, 50])
    assert np.array_equal(arm.rollout([0.0], [0.0], [3.0], step=1e-3, steps=100)[1], [[run.qd[0, -1, 0]]])
    by_function = da.simulate(arm, [0.0], None, lambda t, q, qd: [3.0], 0.05)
    assert np.array_equal(by_function.qd, run.qd[0, :51])
    stopped = da.simulate(arm, [0.0], None, [3.0], 0.5, stops="contact")
    assert stopped.q[-1] == 0.3 and stopped.qd[-1] == 0.0 and abs(stopped.qd[200, 0] - 1.0) < 1e-12
    same = da.simulate(wrist(), [0.0], None, [3.0], 0.1, parameters=arm.parameters)
    assert np.array_equal(same.qd, run.qd[0])


@pytest.mark.parametrize("rate", [None, 500.0])
def test_a_stiff_closed_loop_agrees_with_adaptive_steps(rate: float | None) -> None:
    """With friction's pole or the controller's, sampled or not."""
    for arm, kd in ((wrist(viscous=2.0, coulomb=1.0), 0.0), (wrist(coulomb=1.0), 2.0)):
        if rate and kd:  # the sampled loop itself is unstable
            continue
        law = da.PD(40.0, kd, [0.2])
        run, fine = (da.simulate(arm, [0.0], None, law, 0.1, rate=rate, method=m) for m in ("rk4", "dop853"))  # type: ignore[arg-type]
        assert np.abs(run.q - fine.q).max() < 1e-4 and np.abs(run.q[-1] - fine.q[-1]).max() < 1e-6 and run.notes
    adapted = da.simulate(wrist(coulomb=1.0), [0.0], None, da.ComputedTorque(1e4, 2e4, [0.2]), 0.1)
    assert "2e+04 /s" in adapted.notes[0]


def test_divided_steps_agree_with_a_stiff_integrator_to_order_4() -> None:
    """Radau on ``forward_dynamics``; Coulomb friction is on in the motion that never reverses."""
    arm, end = small_arm(1.0), 0.04

    def torque(t: float) -> np.ndarray:
        return np.array([12.0, 6.0]) + np.array([1.0, 0.5]) * np.cos(40.0 * t)

    def slope(t: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[2:], arm.forward_dynamics(x[:2], x[2:], torque(t))])

    start = np.array([0.3, 0.0, 1.0, 2.0])
    exact = solve_ivp(slope, (0, end), start, method="Radau", rtol=1e-11, atol=1e-13).y[:, -1]

    def error(step: float) -> float:
        run = da.simulate(arm, start[:2], start[2:], lambda t, q, qd: torque(t), end, step=step, every=10**6)
        return float(np.abs(np.concatenate([run.q[-1], run.qd[-1]]) - exact).max())

    rate = arm._damping.rate
    assert rate > 12_000
    assert error(1e-3) < 1e-7 and error(4e-3) < 1e-7
    resolved = [error(end / np.ceil(end * rate / z)) for z in (1.0, 0.5)]
    assert 3.5 < np.log2(resolved[0] / resolved[1]) < 5.0


def test_variational_steps_are_divided_too() -> None:
    run = da.simulate(wrist(viscous=2.0), [0.0], [1.0], [2.0], 0.05, method="variational")
    assert abs(run.qd[-1, 0] - 1.0) < 1e-12 and "substeps" in run.notes[0]


def test_steps_are_not_divided_where_the_method_is_stable() -> None:
    """Below the limit the grid is the uniform one; above it, records stay where they were."""
    limit = METHODS["rk4"].stable / 2e4
    for step, parts in ((0.999 * limit, 1), (1.001 * limit, 2)):
        task = da.simulate(wrist(viscous=2.0), [0.0], None, [1.0], 20 * step, step=step).task
        plain = make_steps(20 * step, step, 1, np.empty(0))
        assert task.substeps == parts and len(task.grid.h) == parts * len(plain.h)
        assert parts > 1 or (np.array_equal(task.grid.h, plain.h) and np.array_equal(task.grid.t, plain.t))
        assert np.array_equal(task.t[task.records], plain.t)


def test_damping_beyond_all_substeps_names_joint_pole_and_step() -> None:
    stiff, step = wrist(viscous=2.0 * MOST), 1e-3
    with pytest.raises(da.SimulationError, match=r"joint 'joint1' .* pole of 2e\+07 /s, .* at most 7\.5e-05 s"):
        da.simulate(stiff, [0.0], None, None, 0.1, step=step)
    with pytest.raises(da.SimulationError, match=r"at most 7\.5e-05 s"):
        stiff.rollout([0.0], [0.0], step=step, steps=10)
    assert da.simulate(stiff, [0.0], None, None, 1e-4, step=5e-5).q[-1] == 0.0


def test_drag_that_becomes_stiff_names_joint_pole_time_and_step() -> None:
    """Its slope grows with the speed: known at the start, but not where the motion leads."""
    arm = wrist(drag=0.1, coulomb=0.1)
    run, fine = (da.simulate(arm, [0.0], [50.0], [3.0], 0.02, method=m) for m in ("rk4", "dop853"))  # type: ignore[arg-type]
    assert np.abs(run.qd - fine.qd).max() < 1e-2 and abs(run.qd[-1, 0] - fine.qd[-1, 0]) < 1e-6
    with pytest.raises(da.SimulationError, match=r"joint 'joint1' decay with a pole of .* at t = .* \(state [01]"):
        da.simulate(arm, np.zeros((2, 1)), None, [3.0], 0.2)


def test_a_torque_function_that_is_too_steep_for_the_steps_names_joint_pole_and_step() -> None:
    """The search for events would hide the divergence; functions that jump, and gentle ones, are run."""
    arm = wrist(coulomb=1.0)
    with pytest.raises(da.SimulationError, match=r"torque function .* joint 'joint1' .* pole of 2e\+04 /s .* at most"):
        da.simulate(arm, [0.0], None, lambda t, q, qd: 3.0 - 2.0 * qd, 0.5)
    for torque, speed in ((lambda t, q, qd: 3.0 - 2.0 * qd, 1.0), (lambda t, q, qd: 3.0 - 2.0 * np.sign(qd), 0.0)):
        run = da.simulate(arm, np.zeros((2, 1)), None, torque, 0.2, step=1e-4)
        assert np.isfinite(run.qd).all() and (not speed or np.abs(run.qd[:, -1] - speed).max() < 1e-9)
