"""Terms of friction in motion: levels that depend on load and position, stick and slip, energy, controllers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import dalembert as da
from arms import FRICTIONS, LOADED, arm, random_robot, with_terms
from dalembert.algebra.scalars import Scalar, sgn, sin
from dalembert.errors import DalembertError
from dalembert.robot.friction import Friction
from dalembert.simulation.fixed import compiled, stepped
from dalembert.simulation.simulate import parameters_of
from dalembert.simulation.task import make_task
from dalembert.terms import TERMS
from dalembert.terms.term import Term, coefficient

BOTH = pytest.mark.parametrize("method", ["rk4", "dop853"])
G = 9.81


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
        return two_joints(*LOADED)
    monkeypatch.setitem(TERMS, "rail", Rail)
    if request.param == "position":
        return two_joints(Friction(0.1, rail={"level": 2.0}), Friction(0.2, 0.5, stribeck={"level": 0.4, "speed": 0.3}))
    return closed(arm("five-bar"))


def push(a: da.Arm, t: np.ndarray | float) -> np.ndarray:
    """Torques that move the arm to and fro, with rests."""
    size = 8.0 * np.abs(a.gravity_torque(a.home + 0.3)) + 1.0
    return size * np.sin(np.multiply.outer(t, 5.0 + np.arange(a.n)))


def test_fixed_steps_are_of_order_four_where_levels_depend_on_the_state(varying: da.Arm) -> None:
    a = varying
    start = a.home + 0.2

    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return push(a, t)

    exact = da.simulate(a, start, None, torque, 0.5, method="dop853", step=0.05)
    assert np.any(exact.qd == 0.0) and np.abs(exact.qd).max() > 0.1
    coarse, fine = (
        np.abs(da.simulate(a, start, None, torque, 0.5, step=h).q[-1] - exact.q[-1]).max() for h in (4e-3, 2e-3)
    )
    assert fine < 1e-6 and np.log2(coarse / fine) > 3.0
