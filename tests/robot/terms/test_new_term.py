"""A term that the library does not know: a class and a line of the table, and every room takes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import pi
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from typer.testing import CliRunner

import dalembert as da
from arms import random_robot, relative, states, with_terms
from dalembert.base.algebra.scalars import Scalar, cos, sgn
from dalembert.robot import Friction
from dalembert.robot.terms import TERMS, Term
from dalembert.robot.terms.term import coefficient, shape
from dalembert.views.cli.main import app
from dalembert.views.report import report_html

identify = partial(da.identify, selection=False)  # what is not given takes its plain value

FORMULATIONS = ("lean", "newton-euler", "newton-euler-base", "lagrange", "lagrange-euler", "dalembert")


@dataclass(frozen=True)
class Drag(Term):
    """C_d q̇ |q̇| (1 + ε cos(q − q_d))"""

    name = "drag"
    title = "the drag"
    of = ("q", "qd")
    resistance: float = coefficient("Cd", "N m s²/rad²")
    uneven: float = shape("eps", "", 0.0)
    angle: float = shape("qd", "rad", 0.0)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (qd * qd * sgn(qd) * (1.0 + self.uneven * cos(q - self.angle)),)


def drag(c: float, uneven: float, angle: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """The law again."""
    return c * qd * np.abs(qd) * (1 + uneven * np.cos(q - angle))


OWN = ((0.7, 0.4, 0.2), (0.2, -0.3, 1.1), (0.4, 0.0, 0.0))


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line."""
    monkeypatch.setitem(TERMS, "drag", Drag)


@pytest.fixture
def frictions() -> list[Friction]:
    return [Friction(0.2, 0.1 * (k == 2), drag=own) for k, own in enumerate(OWN)]


@pytest.fixture
def pair(frictions: list[Friction]) -> tuple[da.Arm, da.Arm]:
    """An arm with drag, and the same without."""
    robot = random_robot(np.random.default_rng(9), 3, tree=False)
    without = [friction.without("drag") for friction in frictions]
    return da.Arm(with_terms(robot, frictions)), da.Arm(with_terms(robot, without))


@pytest.fixture
def planar(frictions: list[Friction]) -> Iterator[da.Arm]:
    yield da.Arm(with_terms(da.load("planar-2r").robot, frictions))


def of_arm(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return np.stack([drag(*own, q[..., i], qd[..., i]) for i, own in enumerate(OWN)], axis=-1)


def test_dynamics_have_it(pair: tuple[da.Arm, da.Arm]) -> None:
    arm, without = pair
    q, qd, qdd = states(arm, 20)
    expected = without.inverse_dynamics(q, qd, qdd) + of_arm(q, qd)
    for formulation in FORMULATIONS:
        assert relative(arm.inverse_dynamics(q, qd, qdd, formulation=formulation), expected) < 1e-12
    for formulation in ("composite", "articulated"):
        assert relative(arm.forward_dynamics(q, qd, expected, formulation=formulation), qdd) < 1e-10
    assert relative(arm.torque_terms(q, qd, qdd).other, of_arm(q, qd)) < 1e-12
    assert relative(arm.friction_torque(qd, q=q) - without.friction_torque(qd), of_arm(q, qd)) < 1e-12


def test_derivatives_match_differences(pair: tuple[da.Arm, da.Arm]) -> None:
    arm, _ = pair
    (q, qd, qdd), h = (x[0] for x in states(arm, 1, seed=3)), 1e-6
    steps = h * np.eye(arm.n)
    by_q, by_qd = arm.torque_derivatives(q, qd, qdd)
    expected = (arm.inverse_dynamics(q + steps, qd, qdd) - arm.inverse_dynamics(q - steps, qd, qdd)).T / (2 * h)
    assert relative(by_q, expected) < 1e-6
    expected = (arm.inverse_dynamics(q, qd + steps, qdd) - arm.inverse_dynamics(q, qd - steps, qdd)).T / (2 * h)
    assert relative(by_qd, expected) < 1e-6


def test_regressor_has_its_column(pair: tuple[da.Arm, da.Arm]) -> None:
    arm, _ = pair
    q, qd, qdd = states(arm, 20)
    assert relative(arm.regressor(q, qd, qdd) @ arm.parameters, arm.inverse_dynamics(q, qd, qdd)) < 1e-12
    assert set(np.array(OWN)[:, 0]) <= set(arm.parameters)


def test_identification_finds_its_coefficient(planar: da.Arm) -> None:
    """As an arm's own, and asked for by its name and shape; and the calibrated arm has it."""
    t = np.arange(0.0, 10.0, 0.005)
    w = 2 * pi * 0.2 * np.arange(1, 4)
    a, b = np.random.default_rng(1).normal(size=(2, 3, 2))
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q, qd, qdd = s @ (a / w[:, None]) - c @ (b / w[:, None]), c @ a + s @ b, -(s * w) @ a + (c * w) @ b
    log = {"t": t, "q": q, "qd": qd, "tau": planar.inverse_dynamics(q, qd, qdd)}
    without = planar.replace(joints=tuple(replace(x, friction=x.friction.without("drag")) for x in planar.robot.joints))
    shapes = {i: {"drag": {"uneven": uneven, "angle": at}} for i, (_, uneven, at) in enumerate(OWN[:2], 1)}
    for arm, asked in ((planar, ()), (without, shapes)):
        fit = identify(arm, log, cutoff=20.0, terms=asked)
        for i, joint in enumerate(fit.arm.robot.moving_joints, 1):
            assert fit.parameters[fit.names.index(f"Cd_{i}")] == pytest.approx(OWN[i - 1][0], rel=0.02)
            assert [term.values[1:] for term in joint.friction.further if term.name == "drag"] == [OWN[i - 1][1:]]
        assert relative(fit.arm.inverse_dynamics(q, qd, qdd), fit.torque(q, qd, qdd)) < 1e-12


def test_simulation_agrees_with_scipy(planar: da.Arm) -> None:
    start, seconds = np.array([0.3, -0.4, 2.0, -3.0]), 0.5

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[2:], planar.forward_dynamics(y[:2], y[2:], np.zeros(2))])

    exact = solve_ivp(rates, (0.0, seconds), start, rtol=1e-11, atol=1e-12, max_step=0.01).y[:, -1]
    errors = []
    for dt in (0.05, 0.025):
        run = da.simulate(planar, start[:2], start[2:], None, seconds, step=dt)
        errors.append(np.abs(np.concatenate([run.q[-1], run.qd[-1]]) - exact).max())
    assert errors[1] < 1e-6 and errors[1] < errors[0] / 8


def test_symbols_have_it(planar: da.Arm) -> None:
    q, qd, qdd = states(planar, 5)
    for parameters in ("nonzero", "numbers"):
        assert (
            relative(planar.equations(parameters).evaluate(q, qd, qdd).tau, planar.inverse_dynamics(q, qd, qdd)) < 1e-12
        )
    e = planar.equations()
    assert {"C_d1", "eps_1", "q_d1"} <= {str(x) for x in e.parameters}
    assert r"C_{d1}" in e.latex("F1") and r"\varepsilon_1" in e.latex("F1")


def test_people_are_told(planar: da.Arm, tmp_path: Path) -> None:
    planar.save(tmp_path / "arm.toml")
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "arm.toml")], env={"COLUMNS": "140"}).stdout
    assert "drag: resistance 0.7 N m s²/rad², uneven 0.4, angle 0.2 rad" in shown
    pendulum = da.Arm(with_terms(da.load("pendulum").robot, [Friction(drag=OWN[0])]))
    page = report_html(da.study(pendulum, da.polynomial([0.0], [1.0], 1.0)))
    assert "drag: resistance 0.7" in page and "springs and further friction" in page


@pytest.mark.parametrize("ending", ["toml", "urdf"])
def test_files_hold_it(pair: tuple[da.Arm, da.Arm], tmp_path: Path, ending: str) -> None:
    arm, _ = pair
    arm.save(tmp_path / f"arm.{ending}")
    again = da.load(tmp_path / f"arm.{ending}")
    assert [j.friction for j in again.robot.tree_joints] == [j.friction for j in arm.robot.tree_joints]


def test_a_changed_law_has_another_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name and the numbers of a term are not all: kernels in memory and on disk are kept by its law."""

    def changed(power: int) -> type[Term]:
        @dataclass(frozen=True)
        class Changed(Term):
            name = "drag"
            title = "the drag"
            resistance: float = coefficient("Cd", "")

            def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
                return (qd if power == 1 else qd * qd * qd,)

        return Changed

    torques, speeds = [], []
    for power in (1, 3):
        monkeypatch.setitem(TERMS, "drag", changed(power))
        arm = da.Arm(with_terms(da.load("pendulum").robot, [Friction(drag=1.0)]))
        torques.append(arm.friction_torque([2.0])[0])
        speeds.append(da.simulate(arm, [0.0], [2.0], None, 0.1).qd[-1, 0])
    assert torques == [2.0, 8.0] and speeds[0] > speeds[1] + 1e-3
