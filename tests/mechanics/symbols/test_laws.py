"""Symbolic friction beyond viscous and Coulomb: the laws on SymPy's expressions, and the equations of arms that have them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import sympy

import dalembert as da
from arms import FRICTIONS, LOADED, arm, random_robot, relative, states, with_terms
from dalembert.base.algebra import scalars
from dalembert.mechanics.symbols.laws import Symbolic, expression_of, written
from dalembert.mechanics.symbols.names import Letter
from dalembert.robot import Friction

x, y = sympy.symbols("x y")
LAWS: dict[str, Callable[..., scalars.Scalar]] = {
    "arithmetic": lambda a, b: (1.0 - a) * (b - 2.0) / (3.0 / a + b / 2.0) - -b,
    "functions": lambda a, b: scalars.exp(scalars.sin(a)) + scalars.tanh(b) * scalars.sqrt(a * a + 1.0),
    "inverse": lambda a, b: scalars.asin(a / 4.0) + scalars.acos(b / 4.0) + scalars.log(a * a + b * b),
    "angle": lambda a, b: scalars.atan2(a, b) + scalars.atan2(1.0, b) + scalars.atan(a) + scalars.cos(b),
    "sign": lambda a, b: a * a * scalars.sgn(a) + scalars.sgn(b) * a,
    "choice": lambda a, b: scalars.select(scalars.less(0.3, a), b, a * b) + scalars.less(a, b),
    "counted choice": lambda a, b: scalars.select(2.0 * scalars.less(a, b), 1.0, 2.0) + scalars.select(a * b, b, a),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_on_symbols_give_the_numbers(name: str) -> None:
    expression = expression_of(LAWS[name](Symbolic(x), Symbolic(y)))
    for a, b in ((0.7, -1.2), (-0.4, 0.9), (1.5, 1.5)):
        assert float(expression.subs({x: a, y: b})) == pytest.approx(LAWS[name](a, b), abs=1e-13)


@pytest.mark.parametrize(
    ("law", "latex", "text"),
    [
        (lambda a, b: a * scalars.sgn(a), r"|\dot{q}|", "|q̇|"),
        (lambda a, b: a * a * scalars.sgn(a), r"\dot{q} |\dot{q}|", "q̇ |q̇|"),
        (lambda a, b: scalars.select(scalars.less(b, a), a, 0.0), r"[\dot{q} > v] \dot{q}", "[q̇ > v] q̇"),
        (lambda a, b: scalars.less(b, a) + 1.0, r"[\dot{q} > v]+1", "[q̇ > v]+1"),
        (lambda a, b: scalars.exp(-(a / b) * (a / b)), r"\exp\left(- \frac{\dot{q}^{2}}{v^{2}}\right)", "exp(−q̇²/v²)"),
        (lambda a, b: scalars.sqrt(a - b), r"\sqrt{\dot{q}-v}", "√(q̇−v)"),
    ],
)  # fmt: skip
def test_they_are_written_in_our_letters(law, latex: str, text: str) -> None:  # type: ignore[no-untyped-def]
    letters = [Letter("x", r"\dot{q}", "q̇", "velocity"), Letter("y", "v", "v", "friction")]
    assert written(expression_of(law(Symbolic(x), Symbolic(y))), letters) == (latex, text)


@pytest.mark.parametrize("frictions", [FRICTIONS, LOADED], ids=["terms", "loaded"])
@pytest.mark.parametrize("parameters", ["nonzero", "all", "numbers"])
def test_equations_equal_the_kernels(frictions: tuple[Friction, ...], parameters: str) -> None:
    a = arm("terms") if frictions is FRICTIONS else loaded()
    q, qd, qdd = states(a, 5)
    assert relative(a.equations(parameters).evaluate(q, qd, qdd).tau, a.inverse_dynamics(q, qd, qdd)) < 1e-12


def loaded() -> da.Arm:
    return da.Arm(with_terms(random_robot(np.random.default_rng(9), 3, tree=False), LOADED))


@pytest.mark.parametrize("frictions", [FRICTIONS[1:3], LOADED], ids=["terms", "loaded"])
def test_sympy_has_them_in_its_matrices(frictions: tuple[Friction, ...]) -> None:
    a = da.Arm(with_terms(da.load("planar-2r").robot, frictions))
    e = a.equations()
    q, qd, qdd = states(a, 3)
    tau = sympy.lambdify([*e.q, *e.qd, *e.qdd], list(e.with_angles(e.tau).subs(e.parameters)))
    values = [tau(*at) for at in np.hstack([q, qd, qdd])]
    assert relative(np.array(values), a.inverse_dynamics(q, qd, qdd)) < 1e-12
    assert bool(e.loads) == (frictions is LOADED)


def test_letters_are_those_of_the_terms() -> None:
    e = da.Arm(with_terms(da.load("planar-2r").robot, FRICTIONS)).equations()
    assert e.text("F1") == "F_1 = τ_0,1 + F_v1 ϑ̇_1 + F_s1d sgn(ϑ̇_1)² + F_s1 sgn(ϑ̇_1) + F_st1 exp(−ϑ̇_1²/v_s1²) sgn(ϑ̇_1)"
    assert e.latex("F2").endswith(r"+ k_2 (\vartheta_2-q_{0,2})")
    assert e.term("tau2").coeff(sympy.Symbol("F_t2")) == sympy.sympify("tanh((thetadot_2 - v_02)/w_2)")
    assert "v_s1  = 0.5   Stribeck friction of joint 1: speed" in e.legend()


def test_letters_of_several_terms_differ() -> None:
    """S's own letters, and those of a term that is there twice, get the term's initial."""
    robot = with_terms(
        da.load("planar-2r").robot, [FRICTIONS[3], Friction(spring=2.0, gas_spring=(30.0, 0.1, 0.3, 0.5))]
    )
    e = da.Arm(robot).equations()
    names = {str(name) for name in e.parameters}
    assert {"a_1", "a_h1", "k_h1", "k_h21", "a_h21", "b_h21", "k_2", "F_g2", "a_g2", "b_g2", "q_0g2"} <= names
    assert e.evaluate([0.3, 0.0], parameters={"k_h21": 5.0}).tau[0] != e.evaluate([0.3, 0.0]).tau[0]


def test_load_is_named_in_the_legend() -> None:
    e = loaded().equations()
    assert r"\mu_1 |\bar{\tau}_1| \operatorname{sgn}" in e.latex("F1")
    assert "τ̄_1" in e.text("F1") and "= τ_1 − F_1" in e.legend()


@pytest.mark.parametrize("name", ["parallelogram", "palletizer", "wrist"])
@pytest.mark.parametrize("frictions", [FRICTIONS, LOADED], ids=["terms", "loaded"])
def test_joints_that_follow_have_them_too(name: str, frictions: tuple[Friction, ...]) -> None:
    robot = arm(name).robot
    held = {joint.name for joint in robot.moving_joints}
    chosen = []
    for k, joint in enumerate(robot.tree_joints):
        friction = frictions[k % len(frictions)]
        chosen.append(friction if joint.name in held else friction.without("load", "gear"))
    a = da.Arm(with_terms(robot, chosen))
    q, qd, qdd = states(a, 5, scale=math.pi / 8)
    assert relative(a.equations().evaluate(q, qd, qdd).tau, a.inverse_dynamics(q, qd, qdd)) < 1e-11


def test_formulas_as_coordinates_have_them_too() -> None:
    a = da.Arm(with_terms(da.load("planar-2r").robot, FRICTIONS[:2]))
    held = a.in_coordinates(lambda y: [y[0] + sympy.sin(y[1]) / 3, y[1] / 2])
    e = held.equations()
    tau = sympy.lambdify([*e.q, *e.qd, *e.qdd], list(e.tau.subs(e.parameters)))
    q, qd, qdd = states(a, 3, scale=1.0)
    values = [tau(*at) for at in np.hstack([q, qd, qdd])]
    assert relative(np.array(values), held.inverse_dynamics(q, qd, qdd)) < 1e-11


def test_absolute_coordinates_have_them_too() -> None:
    a = da.Arm(with_terms(da.load("planar-2r").robot, FRICTIONS[:2])).in_coordinates("absolute")
    q, qd, qdd = states(a, 5)
    e = a.equations()
    assert relative(e.evaluate(q, qd, qdd).tau, a.inverse_dynamics(q, qd, qdd)) < 1e-12
    assert "tanh((ϑ̇_2−ϑ̇_1−v_0,2)/w_2)" in e.text("F2")
