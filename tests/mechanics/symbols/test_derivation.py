"""The symbolic derivation: S 7.3's printed matrices, Lagrange's equations themselves, the regressor, ℓ̄ of 7.3.3."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Matrix, Rational, cos, expand, sin, symbols, zeros
from typer.testing import CliRunner

import dalembert as da
from arms import FRICTIONS, LOADED, arm, random_robot, relative, states, with_terms
from dalembert.base.bibliography import introduction
from dalembert.mechanics.symbols.differences import differences
from dalembert.mechanics.symbols.names import parameter_letter
from dalembert.mechanics.symbols.present import Equations
from dalembert.views.cli.main import app

SMALL = ["cartesian-2", "cartesian-2-45", "pendulum", "planar-2r", "pr-arm", "planar-3r", "scara", "parallelogram"]
OTHER = ["absolute", "payload", "closed with payload", "reflected", "based elsewhere", "chain", "branched"]  # made here


@cache
def small(name: str) -> da.Arm:
    made = {
        "absolute": lambda: da.load("planar-2r").in_coordinates("absolute"),
        "payload": lambda: da.load("pr-arm").with_payload(3.0, (0.1, 0.0, 0.0)),
        "closed with payload": lambda: da.load("parallelogram").with_payload(4.0, (0.1, 0.0, 0.0)),
        "reflected": lambda: da.Arm(_reflected(da.load("planar-2r").robot)),
        "based elsewhere": lambda: da.load("planar-2r").replace(base=da.Placement.rpy(0.0, 0.0, np.pi / 2, (1, 2, 3))),
        "loaded": lambda: da.Arm(with_terms(da.load("planar-2r").robot, [LOADED[0], FRICTIONS[0]])),
        "chain": lambda: da.Arm(random_robot(np.random.default_rng(0), 2)),
        "branched": lambda: da.Arm(random_robot(np.random.default_rng(3), 3, tree=True)),
    }
    return made[name]() if name in made else arm(name)


def _reflected(robot: Any) -> Any:
    """S 7.3.2's reduced model: rotors without mass that count with k_r² I_m only."""
    rotors = [replace(joint.rotor, reflected=True, mass=0.0) for joint in robot.joints]
    return robot.replace(joints=tuple(replace(j, rotor=r) for j, r in zip(robot.joints, rotors, strict=True)))


@cache
def equations(name: str, parameters: str = "nonzero") -> Equations:
    return small(name).equations(parameters)


def letters(words: str) -> list[Any]:
    return [sympy.Symbol(word) for word in words.split()]


def zero(x: Any) -> bool:
    """Whether an expression or matrix vanishes identically."""
    return all(sympy.simplify(expand(y, trig=True)) == 0 for y in (x if isinstance(x, sympy.MatrixBase) else [x]))


def numbers(x: Any, parameters: dict, e: Any, state: tuple) -> np.ndarray:
    """A matrix of SymPy in numbers."""
    values = {**parameters, **dict(zip([*e.q, *e.qd, *e.qdd], np.concatenate(state), strict=True))}
    return np.array(sympy.lambdify(list(values), Matrix(x), "numpy")(*values.values()), dtype=float)


# -- S 7.3: what is printed ----------------------------------------------------------------------------


def test_jacobians_of_7_3_1() -> None:
    k_r1, k_r2 = letters("k_r1 k_r2")
    bodies = equations("cartesian-2").bodies
    assert Matrix([[0, 0], [0, 0], [1, 0]]) == bodies["l1"].J_P and Matrix([[0, 1], [0, 0], [1, 0]]) == bodies["l2"].J_P
    assert bodies["l1"].J_O == bodies["l2"].J_O == zeros(3, 2)
    assert zeros(3, 2) == bodies["m1"].J_P and Matrix([[0, 0], [0, 0], [1, 0]]) == bodies["m2"].J_P
    assert Matrix([[0, 0], [0, 0], [k_r1, 0]]) == bodies["m1"].J_O
    assert Matrix([[0, k_r2], [0, 0], [0, 0]]) == bodies["m2"].J_O


def test_jacobians_n_and_energies_of_7_3_2() -> None:
    e = equations("planar-2r")
    a_1, l_1, l_2, s_1, c_1, s_12, c_12, s_2 = letters("a_1 l_1 l_2 s_1 c_1 s_12 c_12 s_2")
    k_r1, k_r2, m_l2, I_m2, g, v1, v2 = letters("k_r1 k_r2 m_l2 I_m2 g thetadot_1 thetadot_2")
    assert Matrix([[-l_1 * s_1, 0], [l_1 * c_1, 0], [0, 0]]) == e.bodies["l1"].J_P
    assert (
        Matrix([[-a_1 * s_1 - l_2 * s_12, -l_2 * s_12], [a_1 * c_1 + l_2 * c_12, l_2 * c_12], [0, 0]])
        == e.bodies["l2"].J_P
    )
    assert (
        Matrix([[0, 0], [0, 0], [1, 0]]) == e.bodies["l1"].J_O
        and Matrix([[0, 0], [0, 0], [1, 1]]) == e.bodies["l2"].J_O
    )
    assert zeros(3, 2) == e.bodies["m1"].J_P and Matrix([[-a_1 * s_1, 0], [a_1 * c_1, 0], [0, 0]]) == e.bodies["m2"].J_P
    assert Matrix([[0, 0], [0, 0], [k_r1, 0]]) == e.bodies["m1"].J_O
    assert Matrix([[0, 0], [0, 0], [1, k_r2]]) == e.bodies["m2"].J_O
    h = -m_l2 * a_1 * l_2 * s_2
    assert expand(e.N - Matrix([[0, -2 * h * v1 - h * v2], [2 * h * v1 + h * v2, 0]])) == zeros(2, 2)
    assert (
        expand(e.bodies["m2"].T - Rational(1, 2) * I_m2 * (v1 + k_r2 * v2) ** 2 - symbols("m_m2") * a_1**2 * v1**2 / 2)
        == 0
    )
    assert expand(e.bodies["l2"].U - m_l2 * g * (a_1 * s_1 + l_2 * s_12)) == 0


def test_the_tree_and_the_closed_chain_of_7_3_3() -> None:
    """B' and g' of the virtual arms (b_3'3' as in ERRATA), γ, Γ, and with them B_a and g_a."""
    e = equations("parallelogram")
    t = e.tree
    I1, I2, I3, I4, m1, m2, m3, m4 = letters("I_l1' I_l2' I_l3' I_l1'' m_l1' m_l2' m_l3' m_l1''")
    a1, a2, l1, l2, l3, l4, g = letters("a_1' a_2' l_1' l_2' l_3' l_1'' g")
    c1, c12, c123, s1, s12, s123, c2, c3, c23, c4 = letters(
        "c_1' c_1'2' c_1'2'3' s_1' s_1'2' s_1'2'3' c_2' c_3' c_2'3' c_1''"
    )
    J = t.bodies["l3'"].J_P
    assert J[0, :] == Matrix([[-a1 * s1 - a2 * s12 - l3 * s123, -a2 * s12 - l3 * s123, -l3 * s123, 0]])
    assert J[1, :] == Matrix([[a1 * c1 + a2 * c12 + l3 * c123, a2 * c12 + l3 * c123, l3 * c123, 0]])
    assert t.bodies["l3'"].J_O[2, :] == Matrix([[1, 1, 1, 0]]) and t.bodies["l1''"].J_O[2, :] == Matrix([[0, 0, 0, 1]])
    b11 = I1 + m1 * l1**2 + I2 + m2 * (a1**2 + l2**2 + 2 * a1 * l2 * c2) + I3
    b11 += m3 * (a1**2 + a2**2 + l3**2 + 2 * a1 * a2 * c2 + 2 * a1 * l3 * c23 + 2 * a2 * l3 * c3)
    b12 = I2 + m2 * (l2**2 + a1 * l2 * c2) + I3
    b12 += m3 * (a2**2 + l3**2 + a1 * a2 * c2 + a1 * l3 * c23 + 2 * a2 * l3 * c3)
    b13 = I3 + m3 * (l3**2 + a1 * l3 * c23 + a2 * l3 * c3)
    b22 = I2 + m2 * l2**2 + I3 + m3 * (a2**2 + l3**2 + 2 * a2 * l3 * c3)
    b23, b33 = I3 + m3 * (l3**2 + a2 * l3 * c3), I3 + m3 * l3**2
    B = Matrix([[b11, b12, b13, 0], [b12, b22, b23, 0], [b13, b23, b33, 0], [0, 0, 0, I4 + m4 * l4**2]])
    assert expand(t.B - B) == zeros(4, 4)
    g3 = m3 * l3 * g * c123
    g2 = (m2 * l2 + m3 * a2) * g * c12 + g3
    g1 = (m1 * l1 + m2 * a1 + m3 * a1) * g * c1 + g2
    assert expand(t.g - Matrix([g1, g2, g3, m4 * l4 * g * c4])) == zeros(4, 1)
    assert t.text("B13").startswith("b_1'3' = ") and t.text("c112").startswith("c_1'1'2' = ")
    # closed: a_3' = a_1', a_2' = a_1''
    q1, q4 = e.q
    assert e.gamma == Matrix([q1, q4 - q1, sympy.pi - q4 + q1, q4]) and e.Gamma == Matrix(
        [[1, 0], [-1, 1], [1, -1], [0, 1]]
    )
    put = {**dict(zip(t.q, e.gamma, strict=True)), a2: symbols("a_1''")}
    for ours, pulled in ((e.B, e.Gamma.T * t.with_angles(t.B) * e.Gamma), (e.g, e.Gamma.T * t.with_angles(t.g))):
        assert zero(e.with_angles(ours) - pulled.subs(put, simultaneous=True))


def test_the_parallelogram_is_printed_as_in_7_3_3() -> None:
    e = equations("parallelogram")
    assert e.text("B11") == "b_11 = I_ℓ1' + m_ℓ1' ℓ_1'² + m_ℓ2' a_1'² + I_ℓ3' + m_ℓ3' ℓ̄_3'²"
    assert e.text("B12") == "b_12 = (m_ℓ2' a_1' ℓ_2' − m_ℓ3' ℓ̄_3' a_1'') cos(ϑ_1''−ϑ_1')"
    assert e.text("B22") == "b_22 = I_ℓ2' + m_ℓ2' ℓ_2'² + m_ℓ3' a_1''² + I_ℓ1'' + m_ℓ1'' ℓ_1''²"
    assert e.text("g1") == "g_1 = (m_ℓ1' ℓ_1' + m_ℓ2' a_1' − m_ℓ3' ℓ̄_3') g c_1'"
    assert "ℓ_3' − a_1', distance of the centre of mass of link 'link3'' from the axis of 'joint4'" in e.legend()
    assert r"\bar{\ell}_{3'} &= \ell_{3'} - a_{1'}" in e.latex()
    a, l = letters("a_1' l_3'")
    assert e.B[0, 0].has((l - a) ** 2) and e.parameters[l] == 0.5 and "lbar" not in str(e.parameters)
    # the numbers follow when a length is another
    other = e.evaluate([0.1, 0.2], parameters={a: 0.4}).B - e.evaluate([0.1, 0.2]).B
    assert np.isclose(other[0, 0], 5 * (0.4**2 - 0.3**2) + 12 * (0.1**2 - 0.2**2))


def test_the_decoupled_b_a_of_7_3_3() -> None:
    """b_a11 and b_a22 (as in ERRATA) under the condition that makes b_a12 vanish."""
    e = equations("parallelogram")
    I1, I2, I3, I4, m1, m2, m3, m4 = letters("I_l1' I_l2' I_l3' I_l1'' m_l1' m_l2' m_l3' m_l1''")
    a1, a4, l1, l2, l3, l4 = letters("a_1' a_1'' l_1' l_2' l_3' l_1''")
    bar = l3 - a1
    B = e.B.subs(m3, m2 * l2 * a1 / (a4 * bar))
    assert sympy.simplify(B[0, 1]) == 0
    assert sympy.simplify(B[0, 0] - (I1 + m1 * l1**2 + m2 * a1**2 * (1 + l2 * bar / (a1 * a4)) + I3)) == 0
    assert sympy.simplify(B[1, 1] - (I4 + m4 * l4**2 + I2 + m2 * l2**2 * (1 + a1 * a4 / (l2 * bar)))) == 0


def test_the_decoupled_parallelogram_has_a_constant_diagonal_b() -> None:
    B = da.load("parallelogram-decoupled").equations("numbers").B
    assert not B.free_symbols and B[0, 1] == B[1, 0] == 0


@pytest.mark.parametrize("name", [name for name in da.arms() if name not in ("five-bar", "panda", "iiwa14", "kr300")])
def test_no_formula_gets_longer_by_a_letter_for_a_difference(name: str) -> None:
    form = arm(name).equations().form
    ring, change = differences(form.ring, form.polynomials(), form.far_ends)
    shorter = form.map(change, ring)
    assert all(len(x) >= len(y) for x, y in zip(form.polynomials(), shorter.polynomials(), strict=True))
    named = [x for x in shorter.ring.letters if x.name.startswith("lbar")]
    assert bool(named) == (name in ("parallelogram", "parallelogram-decoupled", "palletizer", "ur5e"))


# -- identities ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SMALL, *OTHER, "stanford", "puma560", "ur5e", "palletizer"])
def test_lagrange_on_letters_gives_the_composite_bodies_polynomials(name: str) -> None:
    """Two ways to B and U: link Jacobians by mechanics/equations/lagrange.py, whose bodies add up, and composite bodies."""
    t = equations(name).tree
    steps, form = t.steps, t.form
    n, none = range(form.n), form.ring.number(0)
    B, U = [[sum((x.B[i][j] for x in steps), none) for j in n] for i in n], sum((x.U for x in steps), none)
    assert alike(B, form.B) and alike(U, form.U)
    if name not in OTHER:  # no rotations by any angle: nothing is rounded
        assert [list(row) for row in form.B] == B and form.U == U


def alike(x: Any, y: Any) -> bool:
    """Polynomials, or tables of them, with the same coefficients but for rounding."""
    if isinstance(x, list):
        return all(alike(a, b) for a, b in zip(x, y, strict=True))
    return all(abs(c) < 1e-13 for c in (x - y).terms.values())


@pytest.mark.parametrize("name", [*SMALL, *OTHER[:5], "branched"])
def test_symbolic_energies_equal_those_of_the_arm(name: str) -> None:
    e, a = equations(name), small(name)
    q, qd, qdd = (x[0] for x in states(a, 1, seed=2))
    T, U, L = (float(numbers([[e.with_angles(x)]], e.parameters, e, (q, qd, qdd))[0, 0]) for x in (e.T, e.U, e.L))
    assert np.isclose(T, a.kinetic_energy(q, qd), rtol=1e-12) and np.isclose(
        U, a.potential_energy(q), rtol=1e-12, atol=1e-12
    )
    assert np.isclose(L, T - U, rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["cartesian-2-45", "pendulum", "planar-2r", "pr-arm", "parallelogram", "absolute", "payload"]
)
def test_lagranges_equations_of_l_are_the_torques(name: str) -> None:
    """d/dt ∂L/∂q̇ − ∂L/∂q = τ − friction: S (7.2)."""
    e = equations(name)
    L, tau = e.with_angles(e.L), e.with_angles(e.tau - e.friction)
    for i, (x, v) in enumerate(zip(e.q, e.qd, strict=True)):
        p = L.diff(v)
        rate = sum(p.diff(y) * w + p.diff(w) * b for y, w, b in zip(e.q, e.qd, e.qdd, strict=True))
        assert zero(rate - L.diff(x) - tau[i])


@pytest.mark.parametrize("name", SMALL)
def test_n_is_skew_symmetric_and_is_b_dot_less_two_c(name: str) -> None:
    e = equations(name)
    assert expand(e.N + e.N.T) == zeros(e.n, e.n)
    B, N = e.with_angles(e.B), e.with_angles(e.N + 2 * e.C)
    rate = sum((B.diff(x) * v for x, v in zip(e.q, e.qd, strict=True)), zeros(e.n, e.n))
    assert expand(rate - N) == zeros(e.n, e.n)


# -- the regressor -------------------------------------------------------------------------------------


def test_pi_of_7_83_and_y_of_7_84() -> None:
    r = equations("planar-2r").regressor
    m_l1, m_l2, m_m2, I_l1, I_l2, I_m1, I_m2 = letters("m_l1 m_l2 m_m2 I_l1 I_l2 I_m1 I_m2")
    a1, a2, l_1, l_2, k1, k2, g = letters("a_1 a_2 l_1 l_2 k_r1 k_r2 g")
    c1, c2, s2, c12, v1, v2, w1, w2 = letters("c_1 c_2 s_2 c_12 thetadot_1 thetadot_2 thetaddot_1 thetaddot_2")
    pi = [
        m_l1 + m_m2, m_l1 * (l_1 - a1), I_l1 + m_l1 * (l_1 - a1) ** 2 + I_m2, I_m1,
        m_l2, m_l2 * (l_2 - a2), I_l2 + m_l2 * (l_2 - a2) ** 2, I_m2,
    ]  # fmt: skip
    assert r.names == ("m_1", "ml_1x", "Ih_1zz", "I_m1", "m_2", "ml_2x", "Ih_2zz", "I_m2")
    assert list(r.pi) == pi
    y15 = (a1**2 + 2 * a1 * a2 * c2 + a2**2) * w1 + (a1 * a2 * c2 + a2**2) * w2 - 2 * a1 * a2 * s2 * v1 * v2
    y15 += -a1 * a2 * s2 * v2**2 + a1 * g * c1 + a2 * g * c12
    y16 = (2 * a1 * c2 + 2 * a2) * w1 + (a1 * c2 + 2 * a2) * w2 - 2 * a1 * s2 * v1 * v2 - a1 * s2 * v2**2 + g * c12
    y25 = (a1 * a2 * c2 + a2**2) * w1 + a2**2 * w2 + a1 * a2 * s2 * v1**2 + a2 * g * c12
    y26 = (a1 * c2 + 2 * a2) * w1 + 2 * a2 * w2 + a1 * s2 * v1**2 + g * c12
    first = [a1**2 * w1 + a1 * g * c1, 2 * a1 * w1 + g * c1, w1, k1**2 * w1, y15, y16, w1 + w2, k2 * w2]
    second = [0, 0, 0, 0, y25, y26, w1 + w2, k2 * w1 + k2**2 * w2]
    assert expand(r.Y - Matrix([first, second])) == zeros(2, 8)
    assert r.parameters[a2] == 1.0 and "π_3 = Î_1zz = I_ℓ1 + m_ℓ1 (ℓ_1 − a_1)² + I_m2" in r.text()


@pytest.mark.parametrize("payload", [(0.0, 0.0, 0.0), (0.1, 0.0, 0.0)])
def test_problem_7_5_with_its_payload(payload: tuple) -> None:
    """A concentrated tip payload m_L: the model is linear in augmented parameters, of which m_2 has m_L in it."""
    e = da.load("pr-arm").with_payload(3.0, payload).equations()
    m_L, m_l2, l_2, a_2, x = letters("m_L m_l2 l_2 a_2 l_Lx")
    x = x if payload[0] else 0
    pi = dict(zip(e.regressor.names, e.regressor.pi, strict=True))
    assert pi["m_2"] == m_l2 + m_L and expand(pi["ml_2x"] - m_l2 * (l_2 - a_2) - m_L * x) == 0
    assert m_L in e.tau.free_symbols and expand(e.regressor.Y * e.regressor.pi - e.tau) == zeros(2, 1)


@pytest.mark.parametrize("parameters", ["nonzero", "all", "numbers"])
@pytest.mark.parametrize("name", [*SMALL, "absolute", "payload", "closed with payload", "branched", "loaded"])
def test_y_times_pi_is_tau_and_y_is_the_arms_regressor(name: str, parameters: str) -> None:
    e, a = equations(name, parameters), small(name)
    r, state = e.regressor, tuple(x[0] for x in states(a, 1, seed=5))
    Y = numbers(r.with_angles(r.Y), r.parameters, e, state)
    pi = numbers(r.pi, r.parameters, e, state)[:, 0]
    assert relative(Y @ pi, a.inverse_dynamics(*state)) < 1e-12
    if name in SMALL[:5] and parameters == "nonzero":
        assert zero(e.with_angles(r.Y * r.pi - e.tau))
    if name == "absolute":  # its tree has joints for the coordinates, too
        return
    labels = e.tree.labels
    known = {parameter_letter(x).name: k for k, x in enumerate(a.parameter_names)}
    numbered = [re.sub(r"(\d)'+", lambda m: str(labels.index(m[0]) + 1), x) for x in r.names]
    ours = [
        k for k, x in enumerate(numbered) if not re.match("F_s?m|F_s[0-9]+d", x)
    ]  # the motor's is counted with F_v, F_s
    assert relative(Y[:, ours], a.regressor(*state)[:, [known[numbered[k]] for k in ours]]) < 1e-12


# -- pages ---------------------------------------------------------------------------------------------


def balanced(latex: str) -> bool:
    """Braces, brackets and environments close in the order in which they were opened."""
    open_ones: list[str] = []
    for word in re.findall(r"\\begin\{\w+\*?\}|\\end\{\w+\*?\}|\\[{}]|[{}()]", latex):
        if word in ("\\{", "\\}"):
            continue
        if word in "{(" or word.startswith(r"\begin"):
            open_ones.append(word)
        else:
            pair = {"}": "{", ")": "("}.get(word, word.replace("end", "begin"))
            if not open_ones or open_ones.pop() != pair:
                return False
    return not open_ones


@pytest.mark.parametrize("name", [*SMALL, *OTHER[:2]])
def test_the_derivation_is_made_of_the_equations(name: str) -> None:
    e = equations(name)
    latex, text = e.derivation(), e.derivation("text")
    assert balanced(latex) and latex.isascii() and not balanced(latex + "{") and not balanced(latex + r"\end{align*}")
    assert max(map(len, text.splitlines())) <= 130  # marks on letters take no column
    for number in (
        "(7.16)",
        "(7.20)",
        "(7.31)",
        "(7.32)",
        "(7.34)",
        "(7.37)",
        "(7.39)",
        "(7.42)",
        "(7.44)",
        "(7.45)",
        "(7.47)",
        "(7.81)",
    ):
        assert number in latex and number in text
    assert f"{e.text('g1')}\n" in text.replace("\n       ", " ").replace("  g_1", "g_1") or e.n > 2
    for label in e.bodies:
        assert f"J_P^({label.replace('l', 'ℓ')})" in text
    assert ("Γ" in text) == (e.tree is not e)


@pytest.mark.parametrize("name", ["planar-2r", "parallelogram", "absolute"])
def test_equations_survive_pickling(name: str) -> None:
    e = equations(name)
    again = pickle.loads(pickle.dumps(e))
    assert again.derivation("text") == e.derivation("text") and again.regressor.Y == e.regressor.Y


def test_what_has_no_derivation_is_said() -> None:
    for make, sentence in (
        (lambda: da.load("puma560").equations().derivation(), "2115 terms in B, C and g, and the limit is 400"),
        (
            lambda: equations("planar-2r", "all").derivation(),
            "use equations.. or equations.'numbers'. for a derivation",
        ),
        (lambda: equations("planar-2r").derivation("html"), "it must be one of latex, text"),
    ):
        with pytest.raises(da.DalembertError, match=sentence):
            make()


def run(*args: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, args)
    assert "Traceback" not in result.output and result.exit_code == code, result.output
    return result


def test_the_commands(tmp_path: Path) -> None:
    shown = run("equations", "planar-2r", "--derivation").stdout.rstrip()
    assert shown == f"{introduction('S')}\n\n{equations('planar-2r').derivation('text').rstrip()}"
    assert run("equations", "planar-2r", "--derivation", "--latex").stdout.startswith(
        "\\allowdisplaybreaks\n\\paragraph{"
    )
    assert "π_7 = Î_2zz = I_ℓ2 + m_ℓ2 (ℓ_2 − a_2)²" in run("equations", "planar-2r", "--regressor").stdout
    assert r"\pi_{7} = \hat{I}_{2zz} &= " in run("equations", "planar-2r", "--regressor", "--latex").stdout
    file = tmp_path / "arm.tex"
    run("equations", "pendulum", "--derivation", "-o", str(file))
    assert file.read_text().startswith("\\documentclass") and file.read_text().endswith("\\end{document}\n")
    assert "already" in run("equations", "pendulum", "--derivation", "-o", str(file), code=2).stderr
    assert "choose one" in run("equations", "pendulum", "--derivation", "--term", "B11", code=2).stderr
    shown = run("parameters", "pr-arm", "--payload", "3", "--payload-com", "0.1 0 0")
    assert "m_2 = m_ℓ2 + m_L, m_2ℓ_C2x = m_ℓ2 (ℓ_2 − a_2) + m_L ℓ_L,x" in shown.output
    assert "--payload MASS is missing" in run("parameters", "pr-arm", "--payload-com", "0 0 0", code=2).stderr


def test_coordinates_by_a_function_say_where_the_rest_is() -> None:
    e = da.load("planar-2r").in_coordinates(lambda y: (y[0], y[1] - y[0] ** 2)).equations()
    with pytest.raises(AttributeError, match=r"no 'recursion'; equations\(\)\.joints\.recursion has it"):
        _ = e.recursion  # type: ignore[union-attr]
    assert e.joints.recursion.tau.shape == (2, 1)  # type: ignore[union-attr]


def test_coordinates_by_a_function_have_energies() -> None:
    a = da.load("planar-2r").in_coordinates(lambda y: [y[0] + sympy.sin(y[1]) / 3, y[1]])
    e, (q, qd) = a.equations(), (np.array([0.3, 0.7]), np.array([1.0, -0.5]))
    values = {**e.joints.parameters, **dict(zip([*e.q, *e.qd], [*q, *qd], strict=True))}
    assert np.isclose(float(e.T.subs(values)), a.kinetic_energy(q, qd)) and cos(e.q[0]) != sin(e.q[0])
    assert np.isclose(float(e.L.subs(values)), a.kinetic_energy(q, qd) - a.potential_energy(q))


def test_the_size_counts_the_terms_of_the_equations() -> None:
    assert equations("scara").size == 82 and equations("pendulum").size == 4
