"""The symbolic Newton–Euler recursion: S 7.5.3 line by line, Problem 7.8, and (7.79)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cancel, expand, expand_trig, symbols

import dalembert as da
from arms import arm, relative, states
from dalembert.mechanics.coordinates.chain import Angle
from dalembert.mechanics.equations.regressor import energy_regressors
from dalembert.mechanics.symbols.closed_form import Circles, derivatives
from dalembert.mechanics.symbols.grouped_sums import by_angle
from dalembert.mechanics.symbols.names import Letter
from dalembert.mechanics.symbols.symbolic_mechanism import model
from dalembert.mechanics.symbols.symbolic_recursion import TITLES
from dalembert.mechanics.symbols.sympy_form import letters_of, to_sympy

v1, v2, w1, w2 = symbols("thetadot_1 thetadot_2 thetaddot_1 thetaddot_2")
a1, a2, g, s1, c1, s2, c2, s12, c12 = symbols("a_1 a_2 g s_1 c_1 s_2 c_2 s_12 c_12")
m1, m2, lC1, lC2, I1, I2 = symbols("m_1 m_2 l_C1x l_C2x Ibar_1zz Ibar_2zz")
kr1, kr2, Im1, Im2 = symbols("k_r1 k_r2 I_m1 I_m2")
LETTERS = ["pendulum", "cartesian-2", "cartesian-2-45", "planar-2r", "planar-3r", "pr-arm", "scara"]


def test_section_7_5_3_line_by_line() -> None:
    """Every expression that the page prints; what it marks by * is left out."""
    steps = arm("planar-2r").equations().recursion
    L1, L2 = lC1 + a1, lC2 + a2
    f2 = (
        m2 * (a1 * s2 * w1 - a1 * c2 * v1**2 - L2 * (v1 + v2) ** 2 + g * s12),
        m2 * (a1 * c2 * w1 + L2 * (w1 + w2) + a1 * s2 * v1**2 + g * c12),
        0,
    )
    f1 = (
        -m2 * L2 * s2 * (w1 + w2)
        - m1 * L1 * v1**2
        - m2 * a1 * v1**2
        - m2 * L2 * c2 * (v1 + v2) ** 2
        + (m1 + m2) * g * s1,
        m1 * L1 * w1 + m2 * a1 * w1 + m2 * L2 * c2 * (w1 + w2) - m2 * L2 * s2 * (v1 + v2) ** 2 + (m1 + m2) * g * c1,
        0,
    )
    mu2 = (
        I2 * (w1 + w2) + m2 * L2**2 * (w1 + w2) + m2 * a1 * L2 * c2 * w1 + m2 * a1 * L2 * s2 * v1**2 + m2 * L2 * g * c12
    )
    mu1 = (
        I1 * w1 + m2 * a1**2 * w1 + m1 * L1**2 * w1 + m2 * a1 * L2 * c2 * w1 + I2 * (w1 + w2)
        + m2 * a1 * L2 * c2 * (w1 + w2) + m2 * L2**2 * (w1 + w2) + kr2 * Im2 * w2
        + m2 * a1 * L2 * s2 * v1**2 - m2 * a1 * L2 * s2 * (v1 + v2) ** 2
        + m1 * L1 * g * c1 + m2 * a1 * g * c1 + m2 * L2 * g * c12
    )  # fmt: skip
    tau2 = (
        (I2 + m2 * (L2**2 + a1 * L2 * c2) + kr2 * Im2) * w1 + (I2 + m2 * L2**2 + kr2**2 * Im2) * w2
        + m2 * a1 * L2 * s2 * v1**2 + m2 * L2 * g * c12
    )  # fmt: skip
    tau1 = (
        (I1 + m1 * L1**2 + kr1**2 * Im1 + I2 + m2 * (a1**2 + L2**2 + 2 * a1 * L2 * c2)) * w1
        + (I2 + m2 * (L2**2 + a1 * L2 * c2) + kr2 * Im2) * w2
        - 2 * m2 * a1 * L2 * s2 * v1 * v2 - m2 * a1 * L2 * s2 * v2**2 + (m1 * L1 + m2 * a1) * g * c1 + m2 * L2 * g * c12
    )  # fmt: skip
    page: dict[str, list[Any]] = {
        "omega": [(0, 0, v1), (0, 0, v1 + v2)],
        "omega_dot": [(0, 0, w1), (0, 0, w1 + w2)],
        "p_ddot": [
            (-a1 * v1**2 + g * s1, a1 * w1 + g * c1, 0),
            (
                a1 * s2 * w1 - a1 * c2 * v1**2 - a2 * (v1 + v2) ** 2 + g * s12,
                a1 * c2 * w1 + a2 * (w1 + w2) + a1 * s2 * v1**2 + g * c12,
                0,
            ),
        ],
        "p_ddot_C": [(-L1 * v1**2 + g * s1, L1 * w1 + g * c1, 0), tuple(x / m2 for x in f2)],
        "omega_dot_m": [(0, 0, kr1 * w1), (0, 0, w1 + kr2 * w2)],
        "f": [f1, f2],
    }
    for name, vectors in page.items():
        for ours, printed in zip(getattr(steps, name), vectors, strict=True):
            assert expand(ours - sympy.Matrix(printed)).is_zero_matrix, name
    assert [expand(ours[2] - printed) for ours, printed in zip(steps.mu, (mu1, mu2), strict=True)] == [0, 0]
    assert expand(steps.tau - sympy.Matrix([tau1, tau2])).is_zero_matrix
    # the relations of (7.83), with which the model coincides with (7.82)
    m_l1, m_l2, m_m2, l1, l2, I_l1, I_l2 = symbols("m_l1 m_l2 m_m2 l_1 l_2 I_l1 I_l2")
    relations = {
        m1: m_l1 + m_m2, m1 * lC1: m_l1 * (l1 - a1), I1 + m1 * lC1**2: I_l1 + m_l1 * (l1 - a1) ** 2 + Im2,
        m2: m_l2, m2 * lC2: m_l2 * (l2 - a2), I2 + m2 * lC2**2: I_l2 + m_l2 * (l2 - a2) ** 2,
    }  # fmt: skip
    for left, right in relations.items():
        assert cancel(left.subs(steps.augmented) - right) == 0


@pytest.mark.parametrize("name", ["pendulum", "cartesian-2-45", "planar-2r", "pr-arm"])
@pytest.mark.parametrize("parameters", ["nonzero", "all"])
def test_symbolic_newton_euler_is_lagrange(name: str, parameters: str) -> None:
    """τ of the recursion with the letters of links and rotors is τ of S (7.42); of pr-arm that is Problem 7.8."""
    e = arm(name).equations(parameters)
    ours = e.recursion.tau.subs(e.recursion.augmented).subs(e.recursion.angles)
    for x, y in zip(ours, e.with_angles(e.tau), strict=True):
        assert expand(expand_trig(cancel(x - y))).equals(0)


def test_problem_7_8() -> None:
    """The arm with a prismatic and a revolute joint by Newton–Euler, against the Lagrange model of Problem 7.5."""
    e = arm("pr-arm").equations()
    steps = e.recursion
    d1, t2, x1 = symbols("ddot_1 thetadot_2 dddot_1")
    assert list(steps.omega[1]) == [0, 0, t2] and list(steps.p_dot[0]) == [0, -d1, 0]  # y_1 points back along z_0
    assert steps.p_ddot[0][1].coeff(x1) == -1
    difference = (steps.tau.subs(steps.augmented) - e.tau).subs(e.angles)
    assert sympy.simplify(difference).is_zero_matrix


@pytest.mark.parametrize("name", [*LETTERS, "parallelogram"])
def test_letters_have_the_numbers_of_the_compiled_recursion(name: str) -> None:
    a = arm(name).tree
    steps, (q, qd, qdd) = a.equations().recursion, (x[0] for x in states(a, 1, 3))
    numbers, moving = a.recursion(q, qd, qdd), {"slide": q, "velocity": qd, "acceleration": qdd}

    def number(letter: Letter) -> Any:
        if letter.value is not None:
            return letter.value
        if letter.kind in moving:
            return moving[letter.kind][letter.index - 1]
        x = sum(k * (qd if letter.kind == "sign" else q)[joint - 1] for joint, k in letter.angle) + letter.phase
        return {"cosine": np.cos, "sine": np.sin, "sign": np.sign}[letter.kind](x)

    values = list(map(number, steps._model.ring.letters))
    for key in TITLES:
        ours = np.array([[x.value(values) for x in v] for v in steps._steps[key]])
        assert np.abs(ours - getattr(numbers, key)).max() < 1e-12 * (1 + np.abs(ours).max()), key
    assert relative([x.value(values) for x in steps._tau], numbers.tau) < 1e-12


def test_the_steps_as_text() -> None:
    lines = arm("planar-2r").equations().recursion.text().splitlines()
    assert lines[0] == "Forward recursion: link 1" and "  p̈_1,x = g s_1 − a_1 ϑ̇_1²" in lines
    assert "  ω̇_m2,z = ϑ̈_1 + k_r2 ϑ̈_2" in lines and lines.index("Backward recursion: link 2") < len(lines) - 20


def test_what_has_no_symbolic_recursion_says_so() -> None:
    with pytest.raises(da.DalembertError, match="7 joints, and the limit is 4"):
        _ = arm("panda").equations("numbers").recursion
    with pytest.raises(da.DalembertError, match=r"follow others.*use arm\.tree\.equations\(\)\.recursion"):
        _ = arm("parallelogram").equations().recursion
    links = tuple(da.Link(x.name, x.inertia, weight=0.5 if x.inertia.mass else 1.0) for x in arm("pr-arm").robot.links)
    with pytest.raises(da.DalembertError, match="weight is carried"):
        _ = arm("pr-arm").replace(links=links).equations().recursion


def test_symbolic_regressor_from_the_energy_regressors() -> None:
    """S (7.79) for the planar arm: y_ij is the coefficient of π_j in τ_i of (7.82)."""
    a = arm("planar-2r")
    m, e = model(a.robot, "all"), a.equations("all")
    circles = Circles(m.ring, m.q, m.phases)
    beta = energy_regressors(m.tree, [Angle(*circles({i: 1})) for i in (1, 2)], m.qd)
    by_q, zero = derivatives(m, circles), m.ring.number(0)
    by_qd = [{x.number: {0: 1}} for x in m.qd]

    def rate(x: Any) -> Any:
        """d/dt"""
        return sum((x.derivative(by_q[k]) * m.qd[k] + x.derivative(by_qd[k]) * m.qdd[k] for k in (0, 1)), zero)

    letters = letters_of(m.ring, m.qd)
    tau = [expand(expand_trig(x)) for x in e.with_angles(e.tau)]
    angles = {f"{x}_{i}": f(y) for x, f in (("c", sympy.cos), ("s", sympy.sin)) for i, y in enumerate(e.q, 1)}
    for j in (0, 1):
        tensor = [f"Ih_{j + 1}{x}" for x in ("xx", "xy", "xz", "yy", "yz", "zz")]
        names = [f"m_{j + 1}", *(f"ml_{j + 1}{x}" for x in "xyz"), *tensor, f"I_m{j + 1}"]
        for name, T, U in zip(names, beta.beta_T[j], beta.beta_U[j], strict=True):
            T, U = T + zero, U + zero
            for i in (0, 1):
                y = rate(T.derivative(by_qd[i])) - T.derivative(by_q[i]) + U.derivative(by_q[i])
                ours = to_sympy(by_angle(y), letters).subs(angles)
                assert expand(expand_trig(ours) - tau[i].coeff(symbols(name))).equals(0), (name, i)
