"""Terms of friction in motion: levels that depend on load and position, stick and slip, energy, controllers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import dalembert as da
from arms import FRICTIONS, LOADED, arm, random_robot, tree_velocities, with_terms
from dalembert.base.algebra.scalars import Scalar, sgn, sin
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.friction import loaded
from dalembert.robot.model.friction_data import Friction
from dalembert.robot.terms import TERMS
from dalembert.robot.terms.term import Term, coefficient
from dalembert.work.simulation.fixed import compiled, stepped
from dalembert.work.simulation.task import SimulationRequest, make_task
from test_closed_simulation import by_newton

BOTH = pytest.mark.parametrize("method", ["rk4", "dop853"])
G = 9.81
STRONG = (Friction(0.3, 2.0, load={"share": 0.3}), Friction(0.1, 0.2, gear={"driving": 0.3, "driven": 0.4}))


@dataclass(frozen=True)
class Rail(Term):
    """F (1 + ½ sin 3q) sgn(q̇): a rail that is rougher here and there"""

    name = "rail"
    title = "the friction of the rail"
    of = ("q", "qd")
    level: float = coefficient("Fr", "N m")

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return ((1.0 + 0.5 * sin(3.0 * q)) * sgn(qd),)


def lift(mass: float = 2.0, **friction: Any) -> da.Arm:
    """A mass that is moved up and down."""
    row = {"type": "prismatic", "mass": mass, "inertia": np.eye(3), "friction": Friction(**friction)}
    return da.from_dh([row], gravity=(0, 0, -G))


def two_joints(*frictions: Friction) -> da.Arm:
    return da.Arm(with_terms(random_robot(np.random.default_rng(11), 2, tree=False), frictions))


def closed(a: da.Arm) -> da.Arm:
    """The arm with friction that depends on the load where motors are, and on the position where none are."""
    rough = Friction(0.005, rail={"level": 0.1})
    held = a.mechanism.actuated
    return da.Arm(with_terms(a.robot, [LOADED[i % 2] if i in held else rough for i in range(a.mechanism.tree.n)]))


# -- levels that depend on the load ----------------------------------------------------------------


@BOTH
def test_load_friction_holds_a_weight_between_its_levels(method: str) -> None:
    """τ = ℓ (1 ± μ): held for m g (1 − μ) ≤ τ ≤ m g (1 + μ), and q̈ = τ/(m (1 ± μ)) − g outside."""
    a, weight, mu = lift(load={"share": 0.2}), 2.0 * G, 0.2
    tau = weight * np.array([0.79, 0.81, 1.0, 1.19, 1.21])[:, None, None]
    run = da.simulate(a, np.zeros((5, 1)), None, tau, 0.4, method=method, step=4e-3)  # type: ignore[arg-type]
    assert np.all(run.q[1:4] == 0.0) and np.all(run.qd[1:4] == 0.0)
    for k, way in ((0, -1.0), (4, 1.0)):
        rise = tau[k, 0, 0] / (2.0 * (1.0 + way * mu)) - G
        assert np.sign(rise) == way
        assert run.q[k, :, 0] == pytest.approx(0.5 * rise * run.t**2, abs=1e-12)
        assert run.qdd[k, :, 0] == pytest.approx(rise, abs=1e-12)


@BOTH
def test_gear_losses_differ_between_driving_and_driven(method: str) -> None:
    """A weight thrown up is braked by its load, driven down it is braked by less than the gear takes when it drives."""
    a = lift(gear={"driving": 0.3, "driven": 0.1})
    tau, v = 15.0, 1.0
    up, down = tau / (2.0 * 1.3) - G, tau / (2.0 * 0.9) - G
    run = da.simulate(a, [0.0], [v], [tau], 0.6, method=method, step=5e-3)  # type: ignore[arg-type]
    top = -v / up
    t = run.t
    expected = np.where(t < top, v * t + 0.5 * up * t**2, -0.5 * v * v / up + 0.5 * down * (t - top) ** 2)
    assert run.q[:, 0] == pytest.approx(expected, abs=1e-9)


@BOTH
def test_a_growing_torque_breaks_it_loose_at_the_level_of_its_load(method: str) -> None:
    """τ = c t reaches (F_s + m g)(1 + μ)… with Coulomb friction besides: τ = ℓ + F_s + μ ℓ."""
    a, rate = lift(coulomb=3.0, load={"share": 0.2}), 50.0
    loose = (2.0 * G * 1.2 + 3.0) / rate
    run = da.simulate(
        a, [0.0], None, lambda t, q, qd: np.array([2.0 * G + rate * t]), 0.5, method=method, step=5e-3  # type: ignore[arg-type]
    )  # fmt: skip
    at = loose - 2.0 * G / rate
    assert np.all(run.q[run.t <= at] == 0.0)
    late = run.t > at
    assert run.q[late, 0] == pytest.approx(rate / (2.0 * 1.2) * (run.t[late] - at) ** 3 / 6.0, abs=1e-9)


@pytest.fixture(params=["load", "position", "tied"])
def varying(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> da.Arm:
    """Arms whose static levels depend on the state."""
    if request.param == "load":
        return two_joints(*STRONG)
    monkeypatch.setitem(TERMS, "rail", Rail)
    if request.param == "position":
        return two_joints(Friction(0.1, rail={"level": 2.0}), Friction(0.2, 0.5, stribeck={"level": 0.4, "speed": 0.3}))
    return closed(arm("five-bar"))


def push(a: da.Arm, t: np.ndarray | float) -> np.ndarray:
    """Torques that move the arm to and fro, with rests."""
    size = 8.0 * np.abs(a.gravity_torque(a.home + 0.3)) + 1.0
    return size * np.sin(np.multiply.outer(t, 5.0 + np.arange(a.n)))


def tossed(a: da.Arm, method: str, step: float, **options: Any) -> Any:
    """From rest to half a second later, with rests on the way."""
    return da.simulate(a, a.home + 0.2, None, lambda t, q, qd: push(a, t), 0.5, method=method, step=step, **options)  # type: ignore[arg-type]


def test_fixed_steps_follow_adaptive_ones_where_levels_depend_on_the_state(varying: da.Arm) -> None:
    """Of order four with the position; |load| bends where the load changes its sign, which costs two orders."""
    exact = tossed(varying, "dop853", 0.05)
    coarse, fine = (tossed(varying, "rk4", h) for h in (4e-3, 1e-3))
    assert np.any(fine.qd[1:] == 0.0) and np.abs(fine.qd).max() > 0.1
    errors = [np.abs(run.q[-1] - exact.q[-1]).max() for run in (coarse, fine)]
    assert errors[1] < 1e-6
    if not loaded(varying.mechanism):
        assert errors[1] < 1e-10 and np.log2(errors[0] / errors[1]) / 2.0 > 3.7


def test_accelerations_are_those_of_forward_dynamics_while_joints_slip(varying: da.Arm) -> None:
    run = tossed(varying, "rk4", 2e-3)
    slips = np.all(np.abs(tree_velocities(varying, run.q, run.qd)) > 1e-3, axis=-1)
    assert slips.sum() > 50
    expected = varying.forward_dynamics(run.q[slips], run.qd[slips], run.tau[slips])
    assert np.abs(run.qdd[slips] - expected).max() < 1e-9 * np.abs(expected).max()


def test_one_loop_equals_steps_from_python_with_parameters_and_batches(varying: da.Arm) -> None:
    a, count = varying, 5
    q0 = a.home + np.random.default_rng(3).uniform(-0.2, 0.2, (count, a.n))
    torques = push(a, np.arange(0.0, 0.2, 2e-3))
    task = make_task(a, SimulationRequest(q0=q0, torque=torques, duration=0.2, step=2e-3))
    loop, python = (run(task, [task.q0, task.qd0]) for run in (compiled, stepped))
    assert np.abs(loop[0] - python[0]).max() < 1e-12 and np.abs(loop[1] - python[1]).max() < 1e-10
    assert np.all(da.simulate(a, q0[3], None, torques, 0.2, step=2e-3).q == loop[0][3])
    own = da.simulate(a, q0, None, torques, 0.2, step=2e-3, parameters=a.parameters)
    assert np.abs(own.q - loop[0]).max() < 1e-12
    free = da.simulate(a, q0, None, torques, 0.2, step=2e-3, friction=False)
    assert np.abs(free.q - own.q).max() > 1e-6


@BOTH
def test_a_contact_is_no_load_of_the_motor_but_of_the_joint(method: str) -> None:
    """The gear passes on what the motor gives less its losses, whether a weight or a wrench takes it."""
    a, pull = two_joints(*LOADED), np.array([3.0, -2.0, 4.0, 0.2, 0.1, -0.3])
    torque = np.array([6.0, 2.0])
    options: dict[str, Any] = {"method": method, "step": 2e-3}
    held = da.simulate(a, [0.3, 0.2], None, torque, 0.2, tip_wrench=pull, **options)
    called = da.simulate(a, [0.3, 0.2], None, torque, 0.2, tip_wrench=lambda t, q, qd: pull, **options)
    assert np.abs(held.q - called.q).max() < 1e-10
    moving = np.all(held.qd != 0.0, axis=-1)
    q, qd = held.q[moving], held.qd[moving]
    expected = a.forward_dynamics(q, qd, np.broadcast_to(torque, q.shape), np.broadcast_to(pull, (len(q), 6)))
    assert moving.sum() > 20 and np.abs(held.qdd[moving] - expected).max() < 1e-9 * np.abs(expected).max()


def test_friction_that_depends_on_the_load_never_adds_energy() -> None:
    a = two_joints(*STRONG)
    q, qd = np.random.default_rng(5).uniform(-1.0, 1.0, (2, 20, 2))
    run = da.simulate(a, q, qd, [1.0, 0.0], 1.0, step=2e-3)
    work = np.cumsum(np.diff(run.q[..., 0], axis=-1), axis=-1)
    assert np.diff(run.energy[:, 1:] - work).max() < 1e-7 and np.any(run.qd[:, 1:] == 0.0)


def test_a_load_on_a_stop_and_off_it_again() -> None:
    """A weight that falls through its gear bounces, rests on its stop, and is lifted off at m g (1 + η_1)."""
    row = {
        "type": "prismatic", "mass": 2.0, "inertia": np.eye(3), "limits": {"lower": 0.0, "upper": 1.0},
        "friction": STRONG[1],
    }  # fmt: skip
    a, rate = da.from_dh([row], gravity=(0, 0, -G)), 30.0

    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return rate * np.full_like(q, t)

    runs = [
        da.simulate(a, [0.02], None, torque, 1.0, stops="contact", restitution=0.3, step=2e-3, method=method)  # type: ignore[arg-type]
        for method in ("rk4", "dop853")
    ]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-7 and runs[0].q.min() == 0.0
    lifted = (2.0 * G * 1.3 + 0.2) / rate
    rests = runs[0].q[:, 0] == 0.0
    assert runs[0].t[rests].max() == pytest.approx(lifted, abs=2e-3) and rests.sum() > 50


def test_loops_closed_by_newton_do_what_the_formula_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TERMS, "rail", Rail)
    a = closed(arm("five-bar"))
    pull = np.array([1.0, 2.0, 0.0, 0.0, 0.0, 0.0])
    one, other = (
        da.simulate(x, a.home + 0.2, None, [0.5, -0.3], 0.05, step=5e-3, tip_wrench=pull) for x in (a, by_newton(a))
    )
    assert np.abs(one.q - other.q).max() < 1e-12 and np.abs(one.qd).max() > 0.05
    assert np.abs(one.qdd - other.qdd).max() < 1e-9


# -- stick and slip --------------------------------------------------------------------------------


def dragged(friction: Any, stiffness: float, speed: float, duration: float) -> np.ndarray:
    """q of 1 kg dragged over a rail by a spring whose other end moves evenly, at 201 instants: events by SciPy.

    friction  its level F(q̇) while it slips forward; F(0) is the static level
    """
    t, y, sticks = 0.0, np.zeros(2), True
    out, instants = np.zeros(201), np.linspace(0.0, duration, 201)
    while t < duration:
        if sticks:
            end = min(duration, (friction(0.0) / stiffness + y[0]) / speed)
            out[(instants >= t) & (instants <= end)] = y[0]
            t, sticks = end, False
            continue

        begin = t

        def rate(t: float, y: np.ndarray) -> list[float]:
            return [y[1], stiffness * (speed * t - y[0]) - friction(y[1])]

        def rests(t: float, y: np.ndarray, begin: float = begin) -> float:
            return y[1] if t > begin + 1e-6 else 1.0

        rests.terminal, rests.direction = True, -1.0  # type: ignore[attr-defined]
        run = solve_ivp(rate, (t, duration), y, "DOP853", events=rests, rtol=1e-12, atol=1e-13, dense_output=True)
        inside = (instants >= t) & (instants <= run.t[-1])
        out[inside] = run.sol(instants[inside])[0]
        t, y, sticks = float(run.t[-1]), np.array([run.y[0, -1], 0.0]), True
    return out


@BOTH
def test_stick_slip_of_a_mass_dragged_by_a_spring(method: str) -> None:
    """Stribeck friction: it sticks up to F_s + F_st, and slips on less."""
    row = {
        "type": "prismatic", "mass": 1.0, "inertia": np.eye(3),
        "friction": Friction(0.1, 1.0, stribeck={"level": 0.8, "speed": 0.2}),
    }  # fmt: skip
    a = da.from_dh([row], gravity=(0, -G, 0))
    stiffness, speed, duration = 20.0, 0.05, 6.0
    expected = dragged(lambda v: 1.0 + 0.1 * v + 0.8 * np.exp(-((v / 0.2) ** 2)), stiffness, speed, duration)

    def drive(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return stiffness * (speed * t - q)

    run = da.simulate(a, [0.0], None, drive, duration, method=method, step=5e-3, every=6)  # type: ignore[arg-type]
    assert np.abs(run.q[:, 0] - expected).max() < (1e-7 if method == "rk4" else 1e-9)
    rests = run.qd[:, 0] == 0.0
    assert (np.diff(rests.astype(int)) == 1).sum() >= 2  # it slips and rests again, and again
    assert np.all(run.q[run.t < 1.8 / stiffness / speed] == 0.0)


# -- smooth terms ----------------------------------------------------------------------------------


def test_smooth_terms_keep_the_orders_of_the_methods() -> None:
    a = two_joints(FRICTIONS[1].replace(offset=0.4, viscous=0.2), FRICTIONS[2])
    given = ([0.4, -0.3], [1.0, 0.5], [2.0, -1.0], 0.5)
    exact = da.simulate(a, *given, method="dop853", step=0.1, rtol=1e-13, atol=1e-14).q[-1]  # type: ignore[arg-type]
    for method, order in (("rk4", 4), ("variational", 2)):
        coarse, fine = (
            np.abs(da.simulate(a, *given, method=method, step=h).q[-1] - exact).max()
            for h in (0.01, 0.005)  # type: ignore[arg-type]
        )
        assert np.log2(coarse / fine) == pytest.approx(order, abs=0.4)
        assert fine < 1e-4


def test_a_spring_pendulum_comes_to_rest_at_its_equilibrium() -> None:
    a = two_joints(*(Friction(8.0, spring={"stiffness": 30.0, "rest": 0.4}, offset=0.5) for _ in range(2)))
    run = da.simulate(a, [0.0, 0.0], None, None, 100.0, step=1e-2, every=1000)
    assert np.abs(run.qd[-1]).max() < 1e-9
    springs = 30.0 * (run.q[-1] - 0.4) + 0.5
    assert np.abs(a.gravity_torque(run.q[-1]) + springs).max() < 1e-8


def test_work_of_the_terms_is_the_change_of_energy() -> None:
    """T + U changes by the work of the torques less that of all terms; a spring gives its own back."""
    a = arm("terms")
    q0, qd0, tau = np.full(4, 0.3), np.array([1.0, -2.0, 1.5, -1.0]), np.array([0.5, -0.2, 0.3, 0.1])
    run = da.simulate(a, q0, qd0, tau, 0.4, step=5e-4)
    power = np.einsum("ki,ki->k", run.qd, tau - a.friction_torque(run.qd, q=run.q))
    work = np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(run.t))
    assert work == pytest.approx(run.energy[-1] - run.energy[0], abs=2e-4)

    sprung = Friction(spring={"stiffness": 200.0, "rest": 0.1}, gas_spring={"force": 5.0, "a": 0.1, "b": 0.3})
    spring = da.Arm(with_terms(arm("pendulum").robot, [sprung]))
    swing = da.simulate(spring, [0.3], [0.5], None, 1.0, method="dop853", friction=False)

    def stored(x: float) -> float:
        force = spring.robot.moving_joints[0].friction.further
        return quad(lambda z: sum(term.torque(z, 0.0, 0.0) for term in force), 0.3, x, epsabs=1e-12)[0]

    total = swing.energy[::50] + [stored(float(x)) for x in swing.q[::50, 0]]
    assert np.abs(total - total[0]).max() < 1e-9 and np.ptp(swing.kinetic) > 0.1


def test_dry_terms_and_the_variational_method() -> None:
    for friction in (Friction(coulomb=1.0), Friction(stribeck={"level": 1.0, "speed": 0.1}), LOADED[1]):
        with pytest.raises(DalembertError, match=r"arm 'random' has dry friction, .*; use method 'rk4' or 'dop853'"):
            da.simulate(two_joints(friction), [0.0, 0.0], None, None, 0.1, method="variational")
    da.simulate(two_joints(Friction(1.0, tanh={"level": 1.0, "width": 0.1})), [0.0, 0.0], None, None, 0.1)


# -- controllers -----------------------------------------------------------------------------------


def wave(n: int) -> Any:
    def motion(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rate, x = 1.0 + np.arange(n), t[:, None]
        return x + 0.05 * np.sin(rate * x), 1.0 + 0.05 * rate * np.cos(rate * x), -0.05 * rate**2 * np.sin(rate * x)

    return motion


def test_computed_torque_cancels_every_term(varying: da.Arm) -> None:
    """A reference that never turns round is followed to the accuracy of the steps, without feedback."""
    cases = [arm("terms"), two_joints(*LOADED)] if varying.n == varying.mechanism.tree.n else [varying]
    for a in cases:
        motion, start = wave(a.n), a.home * np.ones((1, a.n))

        def reference(t: np.ndarray, motion: Any = motion, start: np.ndarray = start) -> Any:
            q, qd, qdd = motion(t)
            return start + 0.2 * q, 0.2 * qd, 0.2 * qdd

        q0, qd0, _ = reference(np.zeros(1))
        run = da.simulate(a, q0[0], qd0[0], da.ComputedTorque(0.0, 0.0, reference), 0.5, step=2e-3)
        assert np.abs(run.q - reference(run.t)[0]).max() < 1e-8


def test_pd_holds_what_springs_and_offsets_take() -> None:
    a = two_joints(*(f.replace(viscous=3.0, coulomb=0.0).without("stribeck") for f in FRICTIONS[:2]))
    run = da.simulate(a, [0.0, 0.0], None, da.PD(50.0, 20.0, [0.3, -0.2]), 20.0, step=4e-3, every=100)
    assert np.abs(run.q[-1] - [0.3, -0.2]).max() < 1e-6
