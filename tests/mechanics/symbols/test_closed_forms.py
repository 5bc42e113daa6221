"""Closed forms: S's own formulas term for term, other derivations, and the compiled kernels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Rational, cos, diff, expand, simplify, sin, sqrt, symbols, trigsimp
from typer.testing import CliRunner

import dalembert as da
from arms import arm, random_robot, relative, states
from dalembert.mechanics.symbols.present import Equations
from dalembert.mechanics.symbols.ring import Ring
from dalembert.views.cli.main import app

m_l1, m_l2, m_l3, m_l4, m_m2, m_m3, m_m4, m_L = symbols("m_l1 m_l2 m_l3 m_l4 m_m2 m_m3 m_m4 m_L")
I_l1, I_l2, I_l3, I_l4, I_m1, I_m2, I_m3, I_m4 = symbols("I_l1 I_l2 I_l3 I_l4 I_m1 I_m2 I_m3 I_m4")
k_r1, k_r2, k_r3, k_r4, a_1, a_2, l_1, l_2, g = symbols("k_r1 k_r2 k_r3 k_r4 a_1 a_2 l_1 l_2 g")
c_1, c_2, s_2, c_12 = symbols("c_1 c_2 s_2 c_12")
t1, t2, t4, d1, d2, d3 = symbols("theta_1 theta_2 theta_4 d_1 d_2 d_3")
v1, v2, v4 = symbols("thetadot_1 thetadot_2 thetadot_4")
w1, w2 = symbols("thetaddot_1 thetaddot_2")
u1, u2, u3 = symbols("ddot_1 ddot_2 ddot_3")
x1, x2 = symbols("dddot_1 dddot_2")


@cache
def equations(name: str, parameters: str = "nonzero") -> Equations:
    return da.load(name).equations(parameters)


def monomials(expression: sympy.Expr) -> dict[sympy.Expr, sympy.Expr]:
    return dict(expand(expression).as_coefficients_dict())


def same(ours: sympy.Matrix, theirs: list) -> None:
    """Equal, and made of the same monomials."""
    theirs = sympy.Matrix(theirs)
    assert ours.shape == theirs.shape
    for x, y in zip(ours, theirs, strict=True):
        assert simplify(x - y) == 0
        assert monomials(x) == monomials(y), (x, y)


def lagrange(T: sympy.Expr, U: sympy.Expr, q: list, qd: list) -> tuple[sympy.Matrix, sympy.Matrix, sympy.Matrix]:
    """B, C and g from the energies: S (7.31), (7.45), (7.39)."""
    n = len(q)
    B = sympy.Matrix(n, n, lambda i, j: trigsimp(expand(diff(T, qd[i], qd[j]))))
    C = sympy.Matrix(
        n,
        n,
        lambda i, j: sum(
            (diff(B[i, j], q[k]) + diff(B[i, k], q[j]) - diff(B[j, k], q[i])) / 2 * qd[k] for k in range(n)
        ),
    )
    return B, C, sympy.Matrix([diff(U, x) for x in q])


def square_speed(x: sympy.Expr, y: sympy.Expr, q: list, qd: list) -> sympy.Expr:
    rate = [sum(diff(p, a) * b for a, b in zip(q, qd, strict=True)) for p in (x, y)]
    return rate[0] ** 2 + rate[1] ** 2


# -- S's own formulas ----------------------------------------------------------------------------


def test_cartesian_arm_of_7_3_1() -> None:
    e = equations("cartesian-2")
    same(e.B, [[m_l1 + m_m2 + k_r1**2 * I_m1 + m_l2, 0], [0, m_l2 + k_r2**2 * I_m2]])
    assert e.C.is_zero_matrix
    same(e.g, [(m_l1 + m_m2 + m_l2) * g, 0])
    same(e.tau, [e.B[0, 0] * x1 + (m_l1 + m_m2 + m_l2) * g, (m_l2 + k_r2**2 * I_m2) * x2])


def test_the_axis_at_45_degrees_of_problem_7_1() -> None:
    e, h = equations("cartesian-2-45"), sqrt(2) / 2
    same(e.B, [[m_l1 + m_m2 + k_r1**2 * I_m1 + m_l2, h * m_l2], [h * m_l2, m_l2 + k_r2**2 * I_m2]])
    assert e.C.is_zero_matrix
    same(e.g, [(m_l1 + m_m2 + m_l2) * g, h * m_l2 * g])


def test_planar_arm_of_7_3_2_and_7_82() -> None:
    e = equations("planar-2r")
    b11 = (
        I_l1 + m_l1 * l_1**2 + k_r1**2 * I_m1 + I_l2 + m_l2 * (a_1**2 + l_2**2 + 2 * a_1 * l_2 * c_2)
        + I_m2 + m_m2 * a_1**2
    )  # fmt: skip
    b12 = I_l2 + m_l2 * (l_2**2 + a_1 * l_2 * c_2) + k_r2 * I_m2
    b22 = I_l2 + m_l2 * l_2**2 + k_r2**2 * I_m2
    same(e.B, [[b11, b12], [b12, b22]])
    h = -m_l2 * a_1 * l_2 * s_2
    same(e.C, [[h * v2, h * (v1 + v2)], [-h * v1, 0]])
    g1 = (m_l1 * l_1 + m_m2 * a_1 + m_l2 * a_1) * g * c_1 + m_l2 * l_2 * g * c_12
    g2 = m_l2 * l_2 * g * c_12
    same(e.g, [g1, g2])
    tau1 = b11 * w1 + b12 * w2 - 2 * m_l2 * a_1 * l_2 * s_2 * v1 * v2 - m_l2 * a_1 * l_2 * s_2 * v2**2 + g1
    same(e.tau, [tau1, b12 * w1 + b22 * w2 + m_l2 * a_1 * l_2 * s_2 * v1**2 + g2])
    # the Christoffel symbols of S 7.3.2, and the brackets as S sets them
    for name, value in {
        "c111": 0,
        "c112": h,
        "c121": h,
        "c122": h,
        "c211": -h,
        "c212": 0,
        "c222": 0,
        "h112": 2 * h,
        "h121": 0,
        "h122": h,
        "h211": -h,
        "h212": h / 2,
        "h221": -h / 2,
    }.items():
        assert expand(e.term(name) - value) == 0
    assert e.latex("B12") == r"I_{\ell_2} + m_{\ell_2} (\ell_2^{2} + a_1 \ell_2 c_2) + k_{r2} I_{m_2}"
    assert e.text("g1") == "g_1 = (m_ℓ1 ℓ_1 + m_ℓ2 a_1 + m_m2 a_1) g c_1 + m_ℓ2 ℓ_2 g c_12"
    s_1, s_12 = symbols("s_1 s_12")  # of U
    angles = {c_1: cos(t1), c_12: cos(t1 + t2), c_2: cos(t2), s_1: sin(t1), s_12: sin(t1 + t2), s_2: sin(t2)}
    assert e.angles == angles
    assert e.parameters[l_1] == 0.5 and e.parameters[g] == 9.81 and a_2 not in e.parameters


def test_the_pendulum_of_example_7_1() -> None:
    e = equations("pendulum")
    F_v1, F_m1, s_1 = symbols("F_v1 F_m1 s_1")
    inertia = I_l1 + m_l1 * l_1**2 + I_m1 * k_r1**2
    same(e.tau, [inertia * w1 + F_v1 * v1 + F_m1 * k_r1**2 * v1 + m_l1 * g * l_1 * s_1])


def scara_energies(q: list, qd: list) -> tuple[sympy.Expr, sympy.Expr]:
    """Problem 7.3: the last two joints point down, so link 4 turns at θ̇1 + θ̇2 − θ̇4."""
    half = Rational(1, 2)
    end = (a_1 * cos(t1) + a_2 * cos(t1 + t2), a_1 * sin(t1) + a_2 * sin(t1 + t2))
    elbow = (a_1 * cos(t1), a_1 * sin(t1))
    link1 = (l_1 * cos(t1), l_1 * sin(t1))
    link2 = (elbow[0] + l_2 * cos(t1 + t2), elbow[1] + l_2 * sin(t1 + t2))
    T = half * m_l1 * square_speed(*link1, q, qd) + half * m_l2 * square_speed(*link2, q, qd)
    T += half * m_m2 * square_speed(*elbow, q, qd) + half * (m_l3 + m_m3 + m_l4 + m_m4) * square_speed(*end, q, qd)
    T += half * (m_l3 + m_l4 + m_m4) * u3**2
    T += half * (I_l1 * v1**2 + (I_l2 + I_l3) * (v1 + v2) ** 2 + I_l4 * (v1 + v2 - v4) ** 2)
    spins = [k_r1 * v1, v1 + k_r2 * v2, -(v1 + v2) + k_r3 * u3, -(v1 + v2) + k_r4 * v4]
    T += sum(half * I * spin**2 for I, spin in zip((I_m1, I_m2, I_m3, I_m4), spins, strict=True))
    return T, -(m_l3 + m_l4 + m_m4) * g * d3


def test_scara_of_problem_7_3() -> None:
    e = equations("scara")
    q, qd = [t1, t2, d3, t4], [v1, v2, u3, v4]
    assert list(e.q) == q and list(e.qd) == qd
    B, C, gravity = lagrange(*scara_energies(q, qd), q, qd)
    letters = {value: key for key, value in e.angles.items()}
    same(e.B, B.subs(letters))
    same(e.C, C.subs(letters))
    same(e.g, gravity)


@pytest.mark.parametrize("payload", [0, 3])
def test_pr_arm_of_problems_7_5_and_7_8(payload: int) -> None:
    """A slide along x and a turning link: energies by hand, the payload m_L at the tip."""
    e = (da.load("pr-arm").with_payload(payload) if payload else da.load("pr-arm")).equations()
    load = m_L if payload else 0
    q, qd, half = [d1, t2], [u1, v2], Rational(1, 2)
    T = half * (m_l1 + m_m2) * u1**2 + half * I_l2 * v2**2 + half * (k_r1**2 * I_m1 * u1**2 + k_r2**2 * I_m2 * v2**2)
    T += half * m_l2 * square_speed(d1 + l_2 * cos(t2), l_2 * sin(t2), q, qd)
    T += half * load * square_speed(d1 + a_2 * cos(t2), a_2 * sin(t2), q, qd)
    B, C, gravity = lagrange(T, g * (m_l2 * l_2 + load * a_2) * sin(t2), q, qd)
    letters = {cos(t2): c_2, sin(t2): s_2}
    same(e.B, B.subs(letters))
    same(e.C, C.subs(letters))
    same(e.g, gravity.subs(letters))
    written = -(m_l2 * l_2 + load * a_2) * s_2
    same(e.B, [[m_l1 + m_m2 + m_l2 + load + k_r1**2 * I_m1, written], [written, I_l2 + m_l2 * l_2**2 + load * a_2**2 + k_r2**2 * I_m2]])  # fmt: skip


def test_absolute_angles_of_problem_7_6() -> None:
    """The Lagrangian written in the absolute angles themselves, with the motors' own rates."""
    other = da.load("planar-2r").in_coordinates("absolute")
    e = other.equations()
    q, qd, half = [t1, t2], [v1, v2], Rational(1, 2)
    T = half * (m_l1 * l_1**2 + I_l1 + m_m2 * a_1**2 + k_r1**2 * I_m1) * v1**2 + half * I_l2 * v2**2
    T += half * m_l2 * square_speed(a_1 * cos(t1) + l_2 * cos(t2), a_1 * sin(t1) + l_2 * sin(t2), q, qd)
    T += half * I_m2 * (v1 + k_r2 * (v2 - v1)) ** 2
    U = g * ((m_l1 * l_1 + m_m2 * a_1 + m_l2 * a_1) * sin(t1) + m_l2 * l_2 * sin(t2))
    B, C, gravity = lagrange(T, U, q, qd)
    assert (e.with_angles(e.B) - B).applyfunc(simplify) == sympy.zeros(2, 2)
    assert (e.with_angles(e.C) - C).applyfunc(simplify) == sympy.zeros(2, 2)
    assert (e.with_angles(e.g) - gravity).applyfunc(simplify) == sympy.zeros(2, 1)
    c_2m1 = symbols("c_2m1")
    assert e.angles[c_2m1] == cos(t2 - t1)
    assert monomials(e.B[0, 1]) == monomials(m_l2 * a_1 * l_2 * c_2m1 + I_m2 * (k_r2 - k_r2**2))
    assert r"\cos(\vartheta_2-\vartheta_1)" in e.latex("B12")
    # compared with (7.82): no Coriolis torques, only centrifugal ones
    assert e.term("c112") == e.term("c212") == 0


# -- angles ----------------------------------------------------------------------------------------


def test_angle_sums_merge_for_parallel_axes() -> None:
    used = {str(x) for x in equations("planar-3r").angles}
    of_energy = {"s_1", "s_12", "s_123"}
    assert used - of_energy == {"c_1", "c_12", "c_123", "c_2", "c_23", "c_3", "s_2", "s_23", "s_3"}
    B = equations("planar-3r").B
    assert {str(x) for x in B.free_symbols if str(x)[0] in "cs"} == {"c_2", "c_3", "c_23"}
    puma = equations("puma560")
    assert {"c_2", "c_23", "s_23", "c_3", "s_3"} <= {str(x) for x in puma.angles}
    assert "c_12" not in {str(x) for x in puma.angles}
    ur = {str(x) for x in equations("ur10").B[1, 1].free_symbols}
    assert {"c_3", "c_34", "c_4"} & ur and not {"c_2", "c_23", "c_234"} & ur


def test_angle_sums_merge_across_a_slide_and_against_the_axis() -> None:
    link = {"mass": 2.0, "com": (-0.3, 0.1, 0.0), "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.2}}
    turned = [
        {"a": 0.5, "alpha": "pi/2", **link},
        {"type": "prismatic", "alpha": "-pi/2", "d": 0.3, **link},
        {"a": 0.4, "alpha": "pi", **link},
        {"a": 0.2, "theta": 0.3, **link},
    ]
    a = da.from_dh(turned, gravity=(0, -9.81, 0))
    e = a.equations()
    assert [str(x) for x in e.g.free_symbols if str(x).startswith("c_")]
    assert {"c_1", "c_13"} <= {str(x) for x in e.angles}
    assert e.angles[symbols("c_13m4")] == cos(t1 + symbols("theta_3") - t4 - sympy.Float(0.3))
    assert "d°_2" in e.legend()
    assert "cos(ϑ_1+ϑ_3−ϑ_4−0.3)" in e.text("g1") and "cos(ϑ_4+0.3)" in e.text("B33")
    assert r"\cos(\vartheta_1+\vartheta_3-\vartheta_4-0.3)" in e.latex("g1")
    agree(a, "nonzero")


# -- against the kernels ---------------------------------------------------------------------------


def agree(a: da.Arm, parameters: str, tolerance: float = 1e-12) -> None:
    q, qd, qdd = states(a, 3, seed=4)
    got = a.equations(parameters).evaluate(q, qd, qdd)
    assert relative(got.B, a.inertia_matrix(q)) < tolerance
    nothing = np.abs(got.C).max() < 1e-14 * np.abs(got.B).max()  # letters that cancel as numbers leave rounding
    assert relative(got.C, a.coriolis_matrix(q, qd)) < tolerance or nothing
    assert relative(got.g, a.gravity_torque(q)) < tolerance or not np.abs(got.g).max()
    assert relative(got.tau, a.inverse_dynamics(q, qd, qdd)) < tolerance


@pytest.mark.parametrize("parameters", ["nonzero", "all", "numbers"])
@pytest.mark.parametrize("name", [name for name in da.arms() if name != "five-bar"])  # not linear: no closed form
def test_shipped_arms_equal_their_kernels(name: str, parameters: str) -> None:
    agree(arm(name), parameters)


@pytest.mark.parametrize("name", ["random-chain", "random-tree", "tx40.urdf", "ur5.urdf"])
def test_other_arms_equal_their_kernels(name: str) -> None:
    agree(arm(name), "numbers", 1e-11)
    agree(arm(name), "all", 1e-11)


@pytest.mark.parametrize("seed", range(8))
def test_small_random_robots_equal_their_kernels(seed: int) -> None:
    agree(da.Arm(random_robot(np.random.default_rng(seed), 3, tree=bool(seed % 2))), "nonzero", 1e-11)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_general_dh_tables_equal_their_kernels(convention) -> None:
    link = {"mass": 2.0, "com": (0.1, -0.2, 0.3), "inertia": {"xx": 0.4, "yy": 0.5, "zz": 0.6, "xy": 0.01}}
    rows = [
        {"a": 0.3, "alpha": 0.4, "d": 0.1, "theta": 0.2},
        {"a": 0.2, "alpha": -1.1, "theta": 0.3, "d": 0.1, "type": "prismatic"},
        {"a": 0.5, "alpha": "pi/3", "d": 0.2, "theta": "pi/4"},
    ]
    a = da.from_dh([row | link for row in rows], convention, gravity=(0.1, 2.0, -9.0))
    for parameters in ("nonzero", "all", "numbers"):
        agree(a, parameters)
    e = a.equations()
    assert {"c_alpha1", "s_alpha1", "g_x", "g_y", "g_z"} <= {str(x) for x in e.parameters}


def test_puma_with_every_inertial_parameter_symbolic() -> None:
    e = equations("puma560", "all")
    inertial = {str(x) for x in e.parameters if re.match(r"(m|ml|Ih)_\d", str(x))}
    assert len(inertial) > 30 and "ml_6x" in inertial and "Ih_3xz" in inertial
    q, qd, _ = states(arm("puma560"), 1, seed=9)
    values = dict(e.parameters)
    values |= dict(zip(e.qd, qd[0], strict=True))
    here = dict(zip(e.q, q[0], strict=True))
    values |= {letter: float(x.subs(here)) for letter, x in e.angles.items()}
    # the SymPy matrices themselves, not only evaluate()
    for made, kernel in (
        (e.B, arm("puma560").inertia_matrix(q[0])),
        (e.C, arm("puma560").coriolis_matrix(q[0], qd[0])),
        (e.g, arm("puma560").gravity_torque(q[0])[:, None]),
    ):
        assert relative(np.array(made.xreplace(values), dtype=float), kernel) < 1e-12


def test_parameters_of_the_letters_can_be_replaced() -> None:
    a = da.load("planar-2r")
    heavier = a.robot.links[2].inertia
    robot = a.robot.replace(links=(*a.robot.links[:2], da.Link("link2", da.Inertia(80.0, heavier.com, heavier.tensor))))
    q, qd, qdd = states(a, 2)
    got = equations("planar-2r").evaluate(q, qd, qdd, parameters={m_l2: 80.0})
    assert relative(got.tau, da.Arm(robot).inverse_dynamics(q, qd, qdd)) < 1e-13
    with pytest.raises(da.DalembertError, match="no parameter 'm_9'"):
        equations("planar-2r").evaluate(q, parameters={"m_9": 1.0})
    with pytest.raises(da.ShapeError, match="last axis must be 2"):
        equations("planar-2r").evaluate([0.0, 0.0, 0.0])


# -- other coordinates -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["planar-2r", "planar-3r", "pr-arm", "scara", "stanford"])
def test_linear_coordinates_equal_the_numbers(name: str) -> None:
    a, rng = arm(name), np.random.default_rng(3)
    T = rng.integers(-2, 3, (a.n, a.n)) + 5.0 * np.eye(a.n)
    y = a.in_coordinates(T, rng.choice([0.0, np.pi / 2, np.pi, -np.pi / 2, 0.3], a.n))
    check_coordinates(a, y)
    x, v, acc = states(a, 3)
    got = y.equations().evaluate(x, v, acc)
    assert relative(got.B, y.inertia_matrix(x)) < 1e-12
    assert relative(got.C, y.coriolis_matrix(x, v)) < 1e-12
    assert relative(got.tau, y.inverse_dynamics(x, v, acc)) < 1e-12


def check_coordinates(a: da.Arm, y: da.Arm) -> None:
    """τ is what B, C, g and friction make of it; C is one with Ḃ − 2C skew; power is the same."""
    x, v, acc = states(a, 3, seed=8, scale=1.0)
    q, qd, qdd = (z[..., : a.n] for z in y.tree_motion(x, v, acc))
    friction = np.einsum("...ij,...i->...j", y.closure_jacobian(x)[..., : a.n, :], a.friction_torque(qd))
    assert relative(y.friction_torque(v, q=x), friction) < 1e-12
    B, C = y.inertia_matrix(x), y.coriolis_matrix(x, v)
    tau = np.einsum("...ij,...j->...i", B, acc) + np.einsum("...ij,...j->...i", C, v) + y.gravity_torque(x) + friction
    assert relative(tau, y.inverse_dynamics(x, v, acc)) < 1e-12
    assert relative(y.forward_dynamics(x, v, tau), acc) < 1e-9
    step = 1e-6
    rate = (y.inertia_matrix(x + step * v) - y.inertia_matrix(x - step * v)) / (2 * step)
    skew = rate - 2 * C
    assert np.abs(skew + np.swapaxes(skew, -1, -2)).max() < 1e-6 * max(1.0, np.abs(C).max())
    power = (y.inverse_dynamics(x, v, acc) * v).sum(-1)
    assert relative(power, (a.inverse_dynamics(q, qd, qdd) * qd).sum(-1)) < 1e-12


def test_absolute_angles_of_a_chain_that_turns_both_ways() -> None:
    link = {"mass": 2.0, "com": (-0.2, 0.0, 0.0), "inertia": {"xx": 0.0, "yy": 0.2, "zz": 0.2}}
    a = da.from_dh([{"a": 0.5, "alpha": "pi", **link}, {"a": 0.4, **link}], gravity=(0, -9.81, 0))
    e = a.in_coordinates("absolute").equations()
    assert {str(x) for x in e.g.free_symbols if str(x)[0] == "c"} == {"c_1", "c_2"}
    check_coordinates(a, a.in_coordinates("absolute"))


def test_coordinates_by_a_function() -> None:
    a = da.load("planar-2r")
    y = a.in_coordinates(lambda y: [y[0] + sympy.sin(y[1]) / 3, y[1] + y[1] ** 3 / 5])
    check_coordinates(a, y)
    x, v, acc = states(a, 1, scale=1.0)
    e = y.equations()
    values = {**e.parameters, **dict(zip([*e.q, *e.qd, *e.qdd], [*x[0], *v[0], *acc[0]], strict=True))}
    assert relative(np.array(e.tau.subs(values), dtype=float)[:, 0], y.inverse_dynamics(x, v, acc)[0]) < 1e-12
    assert relative(np.array(e.C.subs(values), dtype=float), y.coriolis_matrix(x, v)[0]) < 1e-12
    assert balanced(e.latex())


@pytest.mark.parametrize(
    "f",
    [
        lambda y: [y[0] + sympy.exp(-(y[1] ** 2)) / 3, y[1] + sympy.tanh(y[0] * y[1]) / 4],
        lambda y: [y[0] + sympy.atan2(sympy.sin(y[1]), 3 + sympy.cos(y[1])), y[1] + sympy.atan(y[1]) / 2],
        lambda y: [y[0] - sympy.asin(sympy.sin(y[1]) / 2), y[1] + sympy.acos(sympy.cos(y[0]) / 3) + 2 ** y[1]],
        lambda y: [y[0] + sympy.log(2 + y[1] ** 2), y[1] + (1 + y[0] ** 2) ** sympy.Rational(1, 3)],
    ],
    ids=["exp-tanh", "atan2-atan", "asin-acos-2^y", "log-root"],
)
def test_coordinates_by_elementary_functions(f: Callable[[Sequence[Any]], list[Any]]) -> None:
    """Values, slopes and their rates are those of SymPy, and so are the torques."""
    a = da.load("planar-2r")
    y = a.in_coordinates(f)
    check_coordinates(a, y)
    x, v, acc = states(a, 1, scale=1.0)
    symbols = sympy.symbols("y_1 y_2", real=True)
    at = dict(zip(symbols, x[0].tolist(), strict=True))
    assert relative(y.tree_positions(x)[0, : a.n], np.array([float(q.subs(at)) for q in f(symbols)])) < 1e-13
    e = y.equations()
    values = {**e.parameters, **dict(zip([*e.q, *e.qd, *e.qdd], [*x[0], *v[0], *acc[0]], strict=True))}
    assert relative(np.array(e.tau.subs(values), dtype=float)[:, 0], y.inverse_dynamics(x, v, acc)[0]) < 1e-12
    assert balanced(e.latex())


def test_other_coordinates_are_an_arm_like_any_other(tmp_path: Path) -> None:
    """It is simulated and identified, saved and loaded; coordinates of coordinates are coordinates."""
    a = da.load("planar-2r")
    y = a.in_coordinates("absolute")
    q0 = np.array([0.3, -0.4])
    run, other = da.simulate(a, q0, None, None, 0.2), da.simulate(y, np.cumsum(q0), None, None, 0.2)
    assert np.allclose(np.cumsum(run.q, axis=-1), other.q, atol=1e-9)
    y.save(tmp_path / "absolute.toml")
    assert da.load(tmp_path / "absolute.toml") == y
    back = y.in_coordinates([[1.0, 0.0], [1.0, 1.0]])
    x, v, acc = states(a, 3)
    assert relative(back.inverse_dynamics(x, v, acc), a.inverse_dynamics(x, v, acc)) < 1e-12
    mapped = a.in_coordinates(lambda y: [sympy.tan(y[0]), y[1] / 2])
    with pytest.raises(da.DalembertError, match="which a file cannot contain"):
        mapped.save(tmp_path / "mapped.toml")
    with pytest.raises(da.DalembertError, match="cannot be compiled"):
        a.in_coordinates(lambda y: [sympy.gamma(y[0]), y[1]]).inertia_matrix([0.1, 0.2])


def test_formulas_of_formulas_and_kinks() -> None:
    """y of y by functions twice; |y| on either side of its kink is y or −y."""
    a = da.load("planar-2r")

    def f(y: Sequence[Any]) -> list[Any]:
        return [y[0] + sympy.sin(y[1]) / 3, y[1] + y[1] ** 3 / 5]

    x = states(a, 3)
    twice, at_once = a.in_coordinates(f).in_coordinates(f), a.in_coordinates(lambda y: f(f(y)))
    assert twice.joint_names == ("y_1'", "y_2'")
    assert relative(twice.inverse_dynamics(*x), at_once.inverse_dynamics(*x)) < 1e-12
    kinked = a.in_coordinates(lambda y: [abs(y[0]) + y[1], sympy.sqrt(y[0] ** 2) * y[1]])
    for side in (1, -1):
        smooth = a.in_coordinates(lambda y, side=side: [side * y[0] + y[1], side * y[0] * y[1]])  # type: ignore[misc]
        x[0][:, 0] = side * np.abs(x[0][:, 0])
        assert relative(kinked.inverse_dynamics(*x), smooth.inverse_dynamics(*x)) < 1e-12
    rows = a.in_coordinates(lambda y: sympy.Matrix([y[0], y[0] + y[1]]))
    assert relative(rows.inverse_dynamics(*x), a.in_coordinates([[1, 0], [1, 1]]).inverse_dynamics(*x)) < 1e-12


def test_absolute_angles_are_those_of_links_whatever_the_coordinates() -> None:
    """Asked of an arm in other coordinates, they are the same; so they are for axes that are not the base's z."""
    a = da.load("planar-3r")
    turned = replace(a.robot.joints[0], placement=da.Placement.rpy(1.1, 0.0, 0.4) @ a.robot.joints[0].placement)
    for before in (a, da.Arm(a.robot.replace(joints=(turned, *a.robot.joints[1:])))):
        want, x = before.in_coordinates("absolute"), states(a, 3)
        for T in ([[1, 0, 0], [0.5, 1, 0], [0, 0, 2]], "absolute"):
            got = before.in_coordinates(T).in_coordinates("absolute")
            assert relative(got.inverse_dynamics(*x), want.inverse_dynamics(*x)) < 1e-12
    bent = a.in_coordinates(lambda y: [y[0], y[1] ** 3, y[2]])
    with pytest.raises(da.DalembertError, match="are not linear in q"):
        bent.in_coordinates("absolute")


def test_coordinates_mistakes_are_said() -> None:
    a = da.load("planar-2r")
    for T, offset, sentence in (
        ("polar", None, "use 'absolute', or give a matrix T"),
        (np.eye(3), None, r"it must be \(2, 2\)"),
        (np.ones((2, 2)), None, "T has no inverse"),
        ("ab", None, "not known"),
        ([["a", 1], [0, 1]], None, "not an array of numbers"),
        (np.eye(2), [1.0], r"it must be \(2,\)"),
        (lambda y: [y[0]], None, "returns 1 joint positions"),
        (lambda y: y, [0.0, 0.0], "takes no offset"),
        (lambda y: None, None, "returns None; it must return a list of 2 formulas"),
        (lambda y: y[0], None, "returns y_1; it must return a list of 2 formulas"),
        (lambda y: ["sin(y_1", "y_2"], None, "formulas must be SymPy expressions"),
        (lambda y: [y[0] + sympy.Symbol("z"), y[1]], None, r"returns 'y_1 \+ z', but z is not one of y = \(y_1, y_2\)"),
        (lambda y: [y[0] / sympy.Integer(0), y[1]], None, "not a finite real number"),
        (lambda y: [sympy.I * y[0], y[1]], None, "not a finite real number"),
    ):
        with pytest.raises(da.DalembertError, match=sentence):
            a.in_coordinates(T, offset)
    with pytest.raises(da.DalembertError, match="joint 'joint1' of 'pr-arm' is prismatic"):
        da.load("pr-arm").in_coordinates("absolute")
    with pytest.raises(da.DalembertError, match="is not parallel"):
        da.load("puma560").in_coordinates("absolute")


def test_units_of_coordinates_are_not_mistaken_for_dependence() -> None:
    """One joint in nanometres and one in gigametres: T has an inverse, and B_y is B in these units."""
    a = da.load("pr-arm")
    T = np.diag([1e9, 1e-9])
    assert np.allclose(a.in_coordinates(T).inertia_matrix([0.0, 0.0]), T @ a.inertia_matrix([0.0, 0.0]) @ T)
    for flat in (np.array([[1e9, 1e-9], [2e9, 2e-9]]), np.array([[1.0, 0.0], [1.0, 0.0]])):
        with pytest.raises(da.DalembertError, match="T has no inverse"):
            a.in_coordinates(flat)


# -- writing ---------------------------------------------------------------------------------------


def balanced(latex: str) -> bool:
    depth = 0
    for character in re.sub(r"\\[{}\\]", "", latex):
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0 and latex.count("(") == latex.count(")")


@pytest.mark.parametrize("name", ["planar-2r", "pendulum", "cartesian-2-45", "scara", "stanford", "puma560", "ur5e"])
def test_latex_is_balanced_and_text_is_narrow(name: str) -> None:
    e = equations(name)
    latex = e.latex()
    assert balanced(latex) and latex.startswith(r"\begin{align*}") and latex.endswith(r"\end{align*}")
    assert latex.isascii()
    assert all(line.count("&") == 1 for line in latex.splitlines()[1:-1])
    assert max(map(len, e.text(whole=True).splitlines())) <= 120
    for term in ("B11", "C11", "g1", "tau1", "F1"):
        assert balanced(e.latex(term)) and "{align" not in e.latex(term)


@pytest.mark.parametrize("name", ["planar-2r", "planar-3r", "scara", "cartesian-2-45", "pendulum"])
def test_latex_says_the_same_as_sympy(name: str) -> None:
    """Read the LaTeX back as Python and compare."""
    e = equations(name)
    names = {one.latex: one.name for one in e.form.ring.letters if one.kind != "sign"}
    for k in range(1, e.n + 1):
        for term in (f"B1{k}", f"C1{k}", f"g{k}"):
            source = re.sub(r"\\frac\{\\sqrt\{2\}\}\{2\}", "sqrt(2)/2", e.latex(term))
            for latex in sorted(names, key=len, reverse=True):
                source = re.sub(re.escape(latex) + r"(?![\w{])", f" {names[latex]} ", source)
            source = re.sub(r"\^\{(\d)\}", r"**\1", source)
            source = re.sub(r"\s+\*\*", "**", source)
            source = re.sub(r"(?<=[\w)])\s+(?=[\w(])", "*", source)
            assert expand(sympy.sympify(source, locals={"g": g}) - e.term(term)) == 0, source


def test_a_large_arm_is_summed_up_unless_asked() -> None:
    e = equations("puma560")
    summary = e.text()
    assert len(summary.splitlines()) < 30 and "too many to read" in summary
    assert len(e.text(whole=True)) > 20_000
    assert len(e.latex()) > 1000
    assert e.text("B66") == "b_66 = I_ℓ6zz + k_r6² I_m6"
    assert repr(e).startswith("<Equations of 'puma560': 6 joints")
    assert e._repr_latex_() is None and equations("planar-2r")._repr_latex_() is not None


def test_terms_that_do_not_exist_are_said() -> None:
    e = equations("planar-2r")
    for name in ("B13", "B1", "g12", "x", "", "C123", "tau3", "B11x", "c110"):
        with pytest.raises(da.DalembertError, match="there is no term"):
            e.term(name)
    with pytest.raises(da.DalembertError, match="a term is 3; it must be a name"):
        e.term(3)  # type: ignore[arg-type]
    assert e.term("b_12") == e.term("B21") == e.term("B1,2") == e.B[0, 1]
    assert e.term("τ2") == e.term("tau_2") == e.tau[1]
    with pytest.raises(da.DalembertError, match="nonzero, all, numbers"):
        da.load("planar-2r").equations("some")


def test_a_closed_form_that_would_never_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from dalembert.mechanics.symbols import closed_form

    monkeypatch.setattr(closed_form, "TOO_MANY", 500)
    with pytest.raises(da.DalembertError, match="too large to be useful"):
        da.load("panda").equations()


def test_progress_goes_from_nothing_to_all() -> None:
    said: list[float] = []
    da.load("stanford").equations(progress=said.append)
    assert said == sorted(said) and said[0] >= 0 and said[-1] == 1.0 and len(said) > 10


def test_with_angles_can_be_differentiated() -> None:
    e = equations("planar-2r")
    B = e.with_angles(e.B)
    h = (B[0, 0].diff(t2) / 2).subs(sin(t2), s_2)
    assert expand(h + m_l2 * a_1 * l_2 * s_2) == 0


def test_two_sided_friction_and_motors_that_turn_backwards() -> None:
    a = arm("puma560")
    qd = np.array([[0.3, -0.2, 0.0, 1.0, -1.0, 0.5], [-0.3, 0.2, 0.1, -1.0, 1.0, 0.0]])
    e = equations("puma560")
    rest = e.evaluate(np.zeros((2, 6)), qd)
    friction = rest.tau - np.einsum("...ij,...j->...i", rest.C, qd) - rest.g
    assert relative(friction, a.friction_torque(qd)) < 1e-12
    assert e.text("F1").startswith("F_1 = ") and "sgn(ϑ̇_1)" in e.text("F1")


def test_the_ring_keeps_what_is_equal_equal() -> None:
    ring = Ring()
    c, s = ring.circle("c", "s")
    root, a = ring.root("√2", 2), ring.letter("a")
    assert (c + s) * (c - s) == 2 * c * c - 1
    assert (root * a - 1) * (root * a + 1) == 2 * a * a - 1
    assert (s * s * s * s) == 1 - 2 * c * c + c * c * c * c
    assert not (a - a) and repr(ring.number(0)) == "0" and "a**2" in repr(a * a)
    assert (3 - a) == -(a - 3) and a * 0 == 0 and (a != 1)


# -- the command -----------------------------------------------------------------------------------


def run(*args: str, code: int = 0):
    result = CliRunner().invoke(app, ["equations", *args])
    assert "Traceback" not in result.output
    assert result.exit_code == code, result.output
    return result


def test_the_command_shows_all_or_one_term() -> None:
    shown = run("planar-2r").stdout
    assert "b_12 = b_21 = I_ℓ2 + m_ℓ2 (ℓ_2² + a_1 ℓ_2 c_2) + k_r2 I_m2" in shown
    assert "m_m2 = 5     mass of rotor 2" in shown
    assert run("planar-2r", "--text").stdout == shown
    assert run("planar-2r", "--term", "g2").stdout == "g_2 = m_ℓ2 ℓ_2 g c_12\n"
    assert run("planar-2r", "--latex", "--term", "g2").stdout == "m_{\\ell_2} \\ell_2 g c_{12}\n"
    assert run("planar-2r", "--latex").stdout.startswith("\\begin{align*}\n")
    assert "cos(ϑ_2−ϑ_1)" in run("planar-2r", "--absolute", "--term", "B12").stdout
    assert run("planar-2r", "--parameters", "numbers", "--term", "C12").stdout == "C_12 = −25 s_2 (ϑ̇_1 + ϑ̇_2)\n"
    assert "m_1ℓ_C1x" in run("planar-2r", "--parameters", "all", "--term", "B11").stdout
    assert "m_L a_2²" in run("pr-arm", "--payload", "2", "--term", "B22").stdout
    assert "too many to read" in run("puma560", "--parameters", "all").stdout
    assert len(run("puma560", "--latex").stdout) > 1000
    assert len(run("stanford", "--text").stdout.splitlines()) > 200


def test_the_commands_mistakes_are_one_sentence() -> None:
    for args, sentence in (
        (("planar-2r", "--term", "B33"), "there is no term 'B33'"),
        (("planar-2r", "--latex", "--text"), "choose one"),
        (("puma560", "--absolute"), "absolute angles need revolute joints with parallel axes"),
        (("planar-9r",), "planar-9r"),
    ):
        result = run(*args, code=2)
        assert result.stdout == "" and sentence in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
