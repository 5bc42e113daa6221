"""Stops as contacts: rest, impacts of several joints at once, restitution, friction and stops together, convergence."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.mechanics.motion import contact, stepping
from dalembert.work.simulation.adaptive import ContactDynamics
from dalembert.work.simulation.fixed import compiled, stepped
from dalembert.work.simulation.task import SimulationRequest, make_task
from test_closed_simulation import FIVE, with_friction

BOTH = pytest.mark.parametrize("method", ["rk4", "dop853"])


def limited(arm: da.Arm, lower: float, upper: float) -> da.Arm:
    """The arm with these stops in all joints."""
    return arm.replace(joints=tuple(replace(j, limits=da.Limits(lower, upper)) for j in arm.robot.joints))


def slider(pull: float = 0.0, lower: float = 0.0, upper: float = 10.0) -> da.Arm:
    """A mass of 2 kg that slides along z between its stops, pulled along −z by ``pull`` N."""
    row = {"type": "prismatic", "mass": 2.0, "inertia": np.eye(3), "limits": {"lower": lower, "upper": upper}}
    return da.from_dh([row], gravity=(0, 0, -pull / 2.0))


def starts(arm: da.Arm, count: int, seed: int = 0, speed: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(*bounds(arm), (count, arm.n)), rng.uniform(-speed, speed, (count, arm.n))


def bounds(arm: da.Arm) -> np.ndarray:
    return np.array([(j.limits.lower, j.limits.upper) for j in arm.robot.moving_joints]).T


def planar() -> da.Arm:
    return limited(da.load("planar-3r"), -0.5, 0.6)


def within(run: object, arm: da.Arm) -> bool:
    lower, upper = bounds(arm)
    return bool(np.all(run.q >= lower) and np.all(run.q <= upper))  # type: ignore[attr-defined]


# -- rest and energy -----------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "count"), [("rk4", 100), ("dop853", 4)])
def test_an_arm_on_three_stops_comes_to_rest(method: str, count: int) -> None:
    arm = planar()
    q, qd = starts(arm, count)
    run = da.simulate(arm, q, qd, None, 1.5, stops="contact", method=method)  # type: ignore[arg-type]
    assert np.all(run.qd[:, -1] == 0.0) and np.all(run.qdd[:, -1] == 0.0)
    assert within(run, arm)
    assert np.diff(run.energy).max() < 1e-6
    assert np.isin(run.q[:, -1], [-0.5, 0.6]).all()


CASES = {
    "puma560": lambda: limited(da.load("puma560"), -0.5, 0.6),
    "stanford": lambda: limited(da.load("stanford"), -0.2, 0.3),
    "planar-3r": planar,
}


@pytest.mark.parametrize("restitution", [0.0, 0.6])
@pytest.mark.parametrize("name", CASES)
def test_contact_never_adds_energy_and_no_joint_passes_its_stop(name: str, restitution: float) -> None:
    """All that Runge–Kutta itself errs by is what the same arm gains in free flight: far below 1e-6 J."""
    arm = CASES[name]()
    q, qd = starts(arm, 40)
    run = da.simulate(arm, q, qd, None, 1.0, stops="contact", restitution=restitution)
    assert within(run, arm)
    assert np.any(run.q == bounds(arm)[0]) or restitution
    assert np.diff(run.energy).max() < 1e-6
    fine = da.simulate(arm, q[0], qd[0], None, 1.0, stops="contact", restitution=restitution, method="dop853")
    assert within(fine, arm) and np.diff(fine.energy).max() < 1e-8
    assert np.abs(fine.q - run.q[0]).max() < 1e-7


def test_friction_and_stops_bring_every_arm_to_rest() -> None:
    arm = CASES["puma560"]()
    q, qd = starts(arm, 40)
    run = da.simulate(arm, q, qd, None, 6.0, stops="contact", every=50)
    assert np.all(run.qd[:, -1] == 0.0)
    at_stop = np.isin(run.q[:, -1], [-0.5, 0.6])
    assert 0.1 < at_stop.mean() < 0.9  # some joints rest on their stops, others stick


def test_a_closed_chain_whose_passive_joints_rub_meets_its_stops() -> None:
    arm = with_friction(limited(da.load("five-bar"), 0.7, 2.4), **FIVE)

    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.array([1.5, -1.0]) * np.sin(np.array([7.0, 9.0]) * t)

    run, fine = (
        da.simulate(arm, [2.2, 0.9], [0.5, 0.2], torque, 0.6, stops="contact", step=2e-3, method=method)  # type: ignore[arg-type]
        for method in ("rk4", "dop853")
    )
    assert within(run, arm) and within(fine, arm)
    assert np.any(fine.q == 2.4) or np.any(fine.q == 0.7)
    assert np.abs(run.q - fine.q).max() < 1e-7


def test_a_step_with_too_many_events_adds_no_energy() -> None:
    """Half a second a step, in which the mass would bounce a hundred times; without friction each step is exact."""
    arm = slider(pull=20.0)
    run = da.simulate(arm, [[0.1], [0.3]], None, None, 20.0, stops="contact", restitution=0.97, step=0.5)
    assert np.diff(run.energy).max() < 1e-11
    assert within(run, arm) and np.all(run.q[:, -1] == 0.0) and np.all(run.qd[:, -1] == 0.0)


# -- impacts -------------------------------------------------------------------------------------


def least_change(B: np.ndarray, v: np.ndarray, off: np.ndarray) -> np.ndarray:
    """The admissible velocity nearest to v in the metric of B, by trying every set of joints that stay at their stops."""
    at = np.flatnonzero(off)
    best, least = v, np.inf
    for pressed in product((False, True), repeat=len(at)):
        G = np.eye(len(v))[at[list(pressed)]]
        x = v.copy()
        if len(G):
            over = np.linalg.solve(B, G.T)
            x = v - over @ np.linalg.solve(G @ over, G @ v)
        cost = (x - v) @ B @ (x - v)
        if np.all(off * x >= -1e-12) and cost < least:
            best, least = x, cost
    return best


@BOTH
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_simultaneous_impacts_solve_the_convex_problem(method: str, restitution: float) -> None:
    arm = planar()
    rng = np.random.default_rng(3)
    left = 0
    for _ in range(12):
        off = rng.choice([-1.0, 0.0, 1.0], 3, p=[0.45, 0.1, 0.45])
        q = np.where(off > 0, -0.5, np.where(off < 0, 0.6, 0.1))
        v = -np.abs(rng.uniform(0.2, 2.0, 3)) * np.where(off == 0, 1.0, off)
        v = np.where(rng.random(3) < 0.3, 0.0, v)  # some rest on their stops
        B = arm.inertia_matrix(q)
        p = least_change(B, v, off)
        expected = (1 + restitution) * p - restitution * v if np.any(off * v < 0) else v
        run = da.simulate(
            arm, q, v, None, 1e-9, step=1e-9, stops="contact", restitution=restitution, method=method, rtol=1e-6
        )  # type: ignore[arg-type]
        assert run.qd[-1] == pytest.approx(expected, abs=1e-6)
        assert expected @ B @ expected <= v @ B @ v + 1e-12
        left += np.any((off * expected > 1e-3) & (v == 0))
    assert left > 1  # joints at rest are knocked off their stops by others


@BOTH
def test_a_mass_bounces_as_the_parabolas_say(method: str) -> None:
    """Free fall on a stop: v⁺ = −e v⁻ every time, and rest after t₀ (1 + e)/(1 − e)."""
    e, a, height = 0.5, 10.0, 0.2
    arm = slider(pull=2.0 * a)
    run = da.simulate(arm, [height], None, None, 1.0, stops="contact", restitution=e, method=method, step=2e-3)  # type: ignore[arg-type]
    first = np.sqrt(2 * height / a)
    expected, t0, v = height - 0.5 * a * run.t**2, first, a * first
    while v > 1e-2:
        v *= e
        flight = run.t - t0
        expected = np.where(flight > 0, v * flight - 0.5 * a * flight**2, expected)
        t0 += 2 * v / a
    bounces = run.t < t0
    assert run.q[bounces, 0] == pytest.approx(expected[bounces], abs=1e-10)
    rest = run.t > first * (1 + e) / (1 - e)
    assert rest.sum() > 100 and np.all(run.q[rest] == 0.0) and np.all(run.qd[rest] == 0.0)


@BOTH
def test_an_elastic_stop_keeps_the_energy(method: str) -> None:
    arm = limited(da.load("planar-2r"), -0.5, 0.6)
    run = da.simulate(
        arm, [0.2, 0.1], [3.5, -2.3], None, 1.0, stops="contact", restitution=1.0, friction=False, method=method
    )  # type: ignore[arg-type]
    assert np.ptp(run.energy) < 1e-7 * np.ptp(run.kinetic) and within(run, arm)
    turns = np.count_nonzero(np.diff(np.sign(run.qd), axis=0))
    assert turns > 4


def test_restitution_mistakes_are_one_sentence() -> None:
    arm = planar()
    for restitution, sentence in (
        (1.5, "restitution is 1.5; it must"),
        (-0.1, "from 0"),
        (np.nan, "is nan"),
        ("a", "'a'"),
    ):
        with pytest.raises(DalembertError, match=sentence):
            da.simulate(arm, np.zeros(3), None, None, 0.1, stops="contact", restitution=restitution)  # type: ignore[arg-type]
    with pytest.raises(DalembertError, match="no stops to rebound from; use stops='contact'"):
        da.simulate(arm, np.zeros(3), None, None, 0.1, restitution=0.5)


# -- resting contacts ----------------------------------------------------------------------------


@BOTH
def test_a_growing_torque_lifts_a_mass_off_its_stop_at_the_right_instant(method: str) -> None:
    """At rest until c t is its weight, then the cubic."""
    weight, c = 20.0, 33.0
    arm = slider(pull=weight)
    run = da.simulate(arm, [0.0], None, lambda t, q, qd: [c * t], 1.0, stops="contact", method=method)  # type: ignore[arg-type]
    free = np.maximum(run.t - weight / c, 0.0)
    assert np.all(run.q[free == 0.0] == 0.0)
    assert run.q[:, 0] == pytest.approx(c * free**3 / 12.0, abs=1e-11)


@pytest.mark.parametrize("name", ["planar-3r", "puma560"])
def test_friction_and_stops_at_rest_solve_one_convex_problem(name: str) -> None:
    """f_i within [−F⁺, F⁻], without an end on the side of a stop: min ½ q̈ᵀB q̈ − rᵀq̈ + the friction's power."""
    arm = CASES[name]()
    n, rng, seen = arm.n, np.random.default_rng(1), set()
    F = np.array([body.coulomb for body in arm.mechanism.bodies])
    for _ in range(60):
        side = rng.choice([-1, 0, 1], n)
        q = np.where(side < 0, -0.5, np.where(side > 0, 0.6, rng.uniform(-0.4, 0.5, n)))
        load = rng.uniform(-3.0, 3.0, n) * (1.0 + F.sum(axis=1))
        task = make_task(arm, SimulationRequest(q0=q, torque=np.zeros(n), duration=1.0, stops="contact"))
        held, qdd, _ = ContactDynamics(task).modes(q, q, np.zeros(n), (arm.gravity_torque(q) + load,), {})
        f = arm.inertia_matrix(q) @ qdd - load
        low, high = np.where(side > 0, -np.inf, -F[:, 0]), np.where(side < 0, np.inf, F[:, 1])
        slack = 1e-9 * (1.0 + np.abs(load).max())
        assert np.all(f >= low - slack) and np.all(f <= high + slack)
        for x, force, a, b in zip(qdd, f, low, high, strict=True):
            assert abs(x) < slack or (abs(force - a) < slack if x > 0 else abs(force - b) < slack)
        seen.add(tuple(held))
    assert len(seen) > 6


def test_an_arm_is_lifted_off_several_stops_and_put_back() -> None:
    arm = planar()

    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.array([40.0, 18.0, 5.0]) * np.sin(6.0 * t)

    start = da.simulate(arm, [0.1, 0.2, 0.3], None, None, 1.5, stops="contact", every=1500).q[-1]
    assert np.isin(start, [-0.5, 0.6]).all()
    run, fine = (
        da.simulate(arm, start, None, torque, 0.5, stops="contact", method=method)  # type: ignore[arg-type]
        for method in ("rk4", "dop853")
    )
    assert np.any(fine.q[250] != start) and within(run, arm)
    assert np.array_equal(run.q == start, fine.q == start)  # who rests, at every record
    assert np.abs(run.q - fine.q).max() < 1e-8


# -- convergence ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "restitution"), [("planar-3r", 0.0), ("planar-3r", 0.5), ("puma560", 0.0)])
def test_fixed_steps_are_of_order_four_through_impacts_rest_and_sticking(name: str, restitution: float) -> None:
    """Against the event-driven solution; that one against parabolas and cubics above."""
    arm = CASES[name]()
    size = np.array([30.0, 12.0, 4.0] if name == "planar-3r" else [20.0, 60.0, 30.0, 4.0, 4.0, 4.0])

    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return size * np.sin(9 * t + np.arange(arm.n))

    slopes, rests = [], 0
    for q, qd in zip(*starts(arm, 3, seed=3), strict=True):
        known = {"stops": "contact", "restitution": restitution}
        exact = da.simulate(arm, q, qd, torque, 0.24, method="dop853", step=8e-3, rtol=1e-13, atol=1e-13, **known)  # type: ignore[arg-type]
        rests += np.isin(exact.q, [-0.5, 0.6]).any()
        errors = [
            np.abs(da.simulate(arm, q, qd, torque, 0.24, step=8e-3 / k, every=k, **known).q - exact.q).max()  # type: ignore[arg-type]
            for k in (1, 2, 4)
        ]
        assert errors[-1] < 1e-8
        slopes.append(np.log2(errors[0] / errors[-1]) / 2)
    assert np.median(slopes) > 3.5 and min(slopes) > 2.5
    assert rests or restitution


def test_a_limit_that_is_passed_and_left_again_within_an_adaptive_step_is_an_error() -> None:
    """Thrown up to 1.2e-5 m above its limit of 1 m and back: long steps would not see it at their ends."""
    arm = slider(pull=20.0, lower=-100.0, upper=1.0)
    v = np.sqrt(2 * 10.0 * (1.0 + 1.2e-5))
    with pytest.raises(DalembertError, match="above its upper limit 1"):
        da.simulate(arm, [0.0], [v], None, 1.0, stops="error", method="dop853", step=0.5)
    contact = da.simulate(arm, [0.0], [v], None, 1.0, stops="contact", method="dop853", step=0.5)
    missed = da.simulate(arm, [0.0], [v], None, 1.0, method="dop853", step=0.5)
    assert np.abs(contact.qd[-1] - missed.qd[-1]) > 1e-3  # it was stopped at the top


# -- one compiled loop ---------------------------------------------------------------------------


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_batch_equals_single_bit_for_bit(restitution: float) -> None:
    arm = planar()
    q, qd = starts(arm, 13)
    known = {"stops": "contact", "restitution": restitution, "every": 10}
    run = da.simulate(arm, q, qd, None, 0.6, **known)  # type: ignore[arg-type]
    for k in (0, 5, 12):
        alone = da.simulate(arm, q[k], qd[k], None, 0.6, **known)  # type: ignore[arg-type]
        assert np.array_equal(alone.q, run.q[k]) and np.array_equal(alone.qd, run.qd[k])


def test_compiled_loop_equals_steps_from_python_through_impacts() -> None:
    arm = planar()
    q, qd = starts(arm, 5)
    for restitution, parameters in ((0.5, None), (0.5, arm.parameters)):
        task = make_task(
            arm,
            SimulationRequest(
                q0=q, qd0=qd, duration=0.3, stops="contact", parameters=parameters, restitution=restitution
            ),
        )
        a, b = compiled(task, [task.q0, task.qd0]), stepped(task, [task.q0, task.qd0])
        assert np.abs(a[0] - b[0]).max() < 1e-11 and a[0].max() > 0.59


@pytest.mark.parametrize("name", ["puma560", "scara", "five-bar"])
def test_the_equations_of_contact_give_the_accelerations_of_joints_that_move(name: str) -> None:
    """B q̈ = r − F_s sgn(q̇), with the levels of each direction, is forward dynamics."""
    arm, rng = da.load(name), np.random.default_rng(3)
    setting = stepping.Setting(arm.mechanism, ((-np.inf, np.inf),) * arm.n)
    for _ in range(5):
        q, qd = np.asarray(arm.home) + rng.uniform(-0.3, 0.3, arm.n), rng.normal(size=arm.n)
        tau, wrench = 10.0 * rng.normal(size=arm.n), rng.normal(size=6)
        at = contact.loaded(setting, q.tolist(), qd.tolist(), tau.tolist(), wrench.tolist(), None)
        forward, backward = np.array([setting.static(i, at.levels) for i in range(arm.n)]).T
        dry = np.where(qd > 0, forward, -backward)
        expected = arm.forward_dynamics(q, qd, tau, tip_wrench=wrench)
        assert np.allclose(
            np.linalg.solve(np.reshape(at.B, (arm.n, arm.n)), np.array(at.r) - dry), expected, rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("name", ["panda", "puma560", "five-bar", "chain of light links"])
def test_the_fastest_decay_is_the_largest_eigenvalue(name: str) -> None:
    row = {"a": 0.1, "mass": 0.1, "inertia": 1e-4 * np.eye(3), "friction": {"viscous": 0.3}}
    arm = da.from_dh([row] * 9) if name.startswith("chain") else da.load(name)
    q = np.asarray(arm.home)
    smooth = stepping.smooth(arm.mechanism)
    slope = [
        np.array(stepping.pulled.friction_torque(smooth, (v * np.ones(arm.n)).tolist(), q.tolist(), None))
        for v in (1e-6, 0.0)
    ]
    expected = np.linalg.eigvals(np.linalg.solve(arm.inertia_matrix(q), np.diag(slope[0] - slope[1]) / 1e-6)).real.max()
    found = stepping.fastest_decay(arm.mechanism, q.tolist())
    assert 0.9 * expected <= found <= (1.0 + 1e-9) * expected
