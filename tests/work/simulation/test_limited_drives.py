"""Drives as they are: effort limits, stops, and controllers that sample, wait and count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError, ShapeError, SimulationError
from dalembert.robot.readers.limits_file import with_limits

KP, KD, RATE = 50.0, 5.0, 100.0
PD = da.PD(KP, KD, [0.0])


@pytest.fixture(scope="module")
def rotor() -> da.Arm:
    """One link without gravity: a double integrator, for which samples follow each other linearly."""
    return da.from_dh([{"a": 1.0, "mass": 2.0, "com": (-0.5, 0, 0)}], gravity=(0, 0, 0))


@pytest.fixture(scope="module")
def pendulum() -> da.Arm:
    return da.load("pendulum")


def discrete(inertia: float, period: float, delay: float, gains: tuple[float, float] = (KP, KD)) -> np.ndarray:
    """The exact map (q, q̇, u of the sample before) from sample to sample for a delay of at most one period."""

    def moved(h: float) -> tuple[np.ndarray, np.ndarray]:
        return np.array([[1, h], [0, 1]]), np.array([h * h / 2, h]) / inertia

    A1, b1 = moved(delay)
    A2, b2 = moved(period - delay)
    u = -np.array([*gains, 0.0])
    rows = np.zeros((3, 3))
    rows[:2, :2], rows[:2, 2] = A2 @ A1, A2 @ b1
    rows[:2] += np.outer(b2, u)
    rows[2] = u
    return rows


@pytest.mark.parametrize("method", ["rk4", "dop853", "variational"])
@pytest.mark.parametrize("delay", [0.0, 0.004, 0.01])
def test_a_sampled_loop_is_its_discrete_map(rotor: da.Arm, method: str, delay: float) -> None:
    run = da.simulate(rotor, [0.3], [0.1], PD, 0.3, method=method, step=2e-3, rate=RATE, delay=delay)
    M = discrete(float(rotor.inertia_matrix([0.0])[0, 0]), 1 / RATE, delay)
    x = np.array([0.3, 0.1, -KP * 0.3 - KD * 0.1])
    for k in range(31):
        assert abs(run.q[5 * k, 0] - x[0]) < 1e-12 and abs(run.qd[5 * k, 0] - x[1]) < 1e-11
        x = M @ x


def test_delay_makes_the_loop_unstable_where_its_eigenvalues_say_so(rotor: da.Arm) -> None:
    inertia = float(rotor.inertia_matrix([0.0])[0, 0])
    for stiff in (1.0, 60.0, 150.0, 400.0):
        kd = 2 * np.sqrt(stiff * inertia)
        M = discrete(inertia, 0.05, 0.05, (stiff, kd))
        radius = np.abs(np.linalg.eigvals(M)).max()
        run = da.simulate(rotor, [1e-3], [0.0], da.PD(stiff, kd, [0.0]), 5.0, step=0.05, rate=20.0, delay=0.05)
        late, early = np.abs(run.q[-20:]).max(), np.abs(run.q[20:40]).max()
        assert (late > early) == (radius > 1.0), (stiff, radius)


def test_faster_samples_tend_to_the_continuous_controller_with_order_one(pendulum: da.Arm) -> None:
    motion = da.polynomial([0.2], [0.9], 0.4, 5)
    law = da.ComputedTorque(100.0, 20.0, motion)
    continuous = da.simulate(pendulum, [0.3], [0.0], law, 0.4)
    off = [
        np.abs(da.simulate(pendulum, [0.3], [0.0], law, 0.4, rate=rate).q - continuous.q).max()
        for rate in (250, 500, 1000)
    ]
    assert np.allclose(np.array(off[:-1]) / off[1:], 2.0, atol=0.15)


def test_encoders_give_small_limit_cycles(pendulum: da.Arm) -> None:
    """Rest is between two counts: the arm goes back and forth by a few counts, and no further."""
    counts, target = 2000, [0.7]
    settings = {"rate": 1000.0, "encoder": counts, "friction": False}
    law = da.PD(400.0, 40.0, target)
    run = da.simulate(pendulum, [0.7], [0.0], law, 1.5, **settings)
    assert 0 < np.abs(run.tracking_error[-500:]).max() < 3 * 2 * np.pi / counts
    noisy, smooth = (
        np.abs(np.diff(da.simulate(pendulum, [0.5], [0.0], law, 0.3, velocity_filter=hz, **settings).tau, axis=0)).max()
        for hz in (None, 40.0)
    )
    assert smooth < noisy


@pytest.mark.parametrize("settings", [{}, {"method": "dop853"}, {"rate": 500.0}, {"stops": "contact"}])
def test_saturated_torques_never_exceed_their_limit(settings: dict) -> None:
    arm = da.Arm(with_limits(da.load("planar-2r").robot, "lower: -0.6; upper: 2"))
    law, limits = da.ComputedTorque(1000.0, 60.0, [1.5, -1.0]), [2000.0, 300.0]
    run = da.simulate(arm, [0.0, 0.0], None, law, 0.2, effort_limits=limits, **settings)
    assert np.all(np.abs(run.tau) <= limits) and run.saturated.any()
    first = run.saturations[0]
    assert first.joint == "joint1" and 0 < first.duration <= 0.2 and "at its effort limit from t = " in str(first)
    if "stops" not in settings:  # what acts is what is recorded
        torque = arm.inverse_dynamics(run.q, run.qd, run.qdd)
        assert np.abs(torque - run.tau)[5:].max() < 1e-6 * np.abs(run.tau).max()


def test_a_compiled_loop_limits_what_a_function_limits() -> None:
    arm = da.load("planar-2r")
    law = da.PD([9000.0, 5000.0], [900.0, 500.0], [0.5, -0.5])

    def same(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return law.torque(arm, t, q, qd)

    one, other = (
        da.simulate(arm, [0.0, 0.0], None, x, 0.1, step=5e-3, effort_limits=[3000.0, 400.0]) for x in (law, same)
    )
    assert one.saturated.any() and np.abs(one.q - other.q).max() < 1e-12
    free = da.simulate(arm, [0.0, 0.0], None, law, 0.1, step=5e-3)
    assert np.abs(free.tau).max() > 3000.0 and not free.saturations


def test_work_of_saturated_drives_is_the_change_of_energy(rotor: da.Arm) -> None:
    run = da.simulate(rotor, [0.0], [0.0], da.PD(100.0, 10.0, [1.0]), 0.4, effort_limits=3.0, method="dop853")
    work = np.trapezoid((run.tau * run.qd)[:, 0], run.t)
    assert abs(run.energy[-1] - run.energy[0] - work) < 1e-4 * abs(work)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_energies_balance_at_stops(rotor: da.Arm, method: str) -> None:
    """An elastic stop takes nothing, a plastic one all of the speed; the drives' work is the rest."""
    arm = da.Arm(with_limits(rotor.robot, "lower: -1; upper: 0.2"))
    for restitution, left in ((1.0, 1.0), (0.0, 0.0), (0.5, 0.25)):
        run = da.simulate(
            arm, [0.0], [1.0], [0.0], 0.4, stops="contact", restitution=restitution, effort_limits=3.0, method=method
        )
        assert np.abs(run.energy[-1] - left * run.energy[0]) < 1e-9 and run.q.max() <= 0.2 + 1e-12


def test_what_drives_are_given_is_checked(rotor: da.Arm, pendulum: da.Arm) -> None:
    for settings, error, message in (
        ({"delay": 1e-3}, DalembertError, "give its rate in Hz too"),
        ({"encoder": 4096}, DalembertError, "give its rate in Hz too"),
        ({"rate": -1.0}, DalembertError, "rate is -1 Hz; it must be finite and more than 0"),
        ({"rate": 100, "encoder": -3}, DalembertError, "counts per turn"),
        ({"rate": 100, "velocity_filter": 3}, DalembertError, "give encoder too"),
        ({"effort_limits": True}, DalembertError, "has no effort limits"),
        ({"effort_limits": [1.0, 2.0]}, ShapeError, "give one number, or 1"),
        ({"effort_limits": 0.0}, DalembertError, "more than 0"),
    ):
        with pytest.raises(error, match=message):
            da.simulate(rotor, [0.0], [0.0], PD, 0.1, **settings)
    with pytest.raises(DalembertError, match="apply to a controller, but the torque is given"):
        da.simulate(rotor, [0.0], [0.0], [1.0], 0.1, rate=100)


def test_batches_of_sampled_loops_are_their_runs(pendulum: da.Arm) -> None:
    law, q0 = da.PD(40.0, 8.0, [0.5]), [[0.1], [0.4]]
    settings = {"rate": 200.0, "delay": 2e-3, "encoder": 5000}
    both = da.simulate(pendulum, q0, None, law, 0.1, **settings)
    for k, q in enumerate(q0):
        run = da.simulate(pendulum, q, None, law, 0.1, **settings)
        assert np.array_equal(run.q, both.q[k]) and np.array_equal(run.tau, both.tau[k])


def test_adaptation_is_sampled_too(pendulum: da.Arm) -> None:
    motion = da.fourier([[[0.3, 0.1]], [[0.1, 0.2]]], 0.5, duration=0.5)
    law = da.Adaptive(20.0, 10.0, 5.0, motion, model=pendulum)
    heavy = pendulum.with_payload(0.2)
    start = motion.q[0], motion.qd[0]
    continuous, often = (
        da.simulate(heavy, *start, law, 0.5, **x) for x in ({}, {"rate": 2000.0, "step": 5e-4, "every": 2})
    )
    assert often.parameters.shape == continuous.parameters.shape
    change = np.abs(continuous.parameters[-1] - continuous.parameters[0]).max()
    assert np.abs(often.parameters[-1] - continuous.parameters[-1]).max() < 0.05 * change


def test_an_unstable_sampled_loop_names_rate_and_gain(rotor: da.Arm) -> None:
    """K_d times the period over the inertia is above 2: no step helps, a higher rate or a smaller gain does."""
    inertia = float(rotor.inertia_matrix([0.0])[0, 0])
    law = da.PD(0.0, 1000.0 * inertia, [0.0])
    for step in (1e-2, 1e-3):
        with pytest.raises(
            SimulationError, match=r"rate=100 Hz\), for which kd is too large: .* a rate above 500 Hz"
        ) as told:
            da.simulate(rotor, [0.0], [1.0], law, 5.0, rate=100.0, step=step)
        assert "step" not in str(told.value)
    assert np.abs(da.simulate(rotor, [0.0], [1.0], law, 2.0, rate=600.0).qd[-1]).max() < 0.1
    with pytest.raises(
        SimulationError, match=r"rate=100 Hz\): use a higher rate, or smaller gains in the torque function"
    ):
        da.simulate(rotor, [0.0], [1.0], lambda t, q, qd: -law.kd * qd, 5.0, rate=100.0)
    stiff = da.PD(5e4 * inertia, 0.0, [0.0])
    with pytest.raises(SimulationError, match=r"use a higher rate, a shorter delay, or smaller gains kp and kd"):
        da.simulate(rotor, [0.0], [1.0], stiff, 20.0, rate=100.0)


@pytest.mark.parametrize("settings", [{}, {"method": "dop853"}])
def test_inputs_given_per_step_keep_their_time_under_a_sampled_controller(settings: dict[str, Any]) -> None:
    """A tip wrench as rows, and as a function of time that jumps at the steps, declared as its knots."""
    arm, rng = da.load("planar-2r"), np.random.default_rng(0)
    rows = rng.normal(0.0, 50.0, (40, 6))

    def wrench(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return rows[min(39, int(t * 1000))]

    wrench.knots = np.arange(40) * 1e-3  # type: ignore[attr-defined]
    law = da.PD(2000.0, 400.0, [0.3, 0.8])
    options = {**settings, "rate": 250.0}
    one, other = (da.simulate(arm, [0.3, 0.8], None, law, 0.04, tip_wrench=x, **options) for x in (rows, wrench))
    assert np.abs(one.q - other.q).max() < 1e-12
