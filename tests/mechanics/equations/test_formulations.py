"""Five formulations, one motion: they agree everywhere, and their pieces are the documents' own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from arms import REGISTRY, arm, random_inertia, random_placement, random_robot, relative, robots, states
from dalembert.mechanics.equations import (
    composite,
    dalembert,
    lagrange,
    lagrange_euler,
    lean_newton_euler,
    newton_euler,
    newton_euler_base,
)
from dalembert.mechanics.equations.kinematics import frames
from dalembert.mechanics.equations.newton_euler import BaseMotion
from dalembert.robot import Frame, Joint, Link, Placement, Robot, Rotor
from dalembert.robot.model.mechanism import Mechanism, mechanism

TOLERANCE = 1e-10
FORMULATIONS: dict[str, Any] = {
    "lagrange": lagrange,
    "lagrange-euler": lagrange_euler,
    "newton-euler-base": newton_euler_base,
    "newton-euler": newton_euler,
    "dalembert": dalembert,
}
OTHERS = [name for name in FORMULATIONS if name != "newton-euler"]
COMPILED = ["planar-2r", "pr-arm", "scara", "stanford"]
Motion = tuple[list[float], list[float], list[float]]


def motion(m: Mechanism, seed: int) -> tuple[Motion, list[float]]:
    """q, qd, qdd and a tip wrench, as plain floats."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-2, 2, (3, m.n)).tolist()
    return (q, qd, qdd), rng.uniform(-9, 9, 6).tolist()


def assert_all_agree(m: Mechanism, seed: int) -> None:
    x, h = motion(m, seed)
    for wrench in (None, h):
        page = newton_euler.inverse_dynamics(m, *x, wrench)
        for name in OTHERS:
            assert relative(FORMULATIONS[name].inverse_dynamics(m, *x, wrench), page) < TOLERANCE, name


def slope(f: Callable[[float], Any], e: float = 1e-3) -> np.ndarray:
    """df/dt at 0 by 4th-order differences."""
    a, b, c, d = (np.array(f(k * e)) for k in (-2, -1, 1, 2))
    return (a - 8 * b + 8 * c - d) / (12 * e)


# -- they agree -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REGISTRY)
def test_all_agree_on_the_registry(name: str) -> None:
    for seed in range(3):
        assert_all_agree(arm(name).mechanism.tree, seed)


@settings(max_examples=80, deadline=None)
@given(robots(8), st.integers(0, 10**6))
def test_all_agree_on_random_robots(robot: Robot, seed: int) -> None:
    """Chains and trees, turning and sliding joints, rotors anywhere, friction, payload, tip wrench."""
    assert_all_agree(mechanism(robot), seed)


@pytest.mark.parametrize("rotor", [
    Rotor(mass=2.0), Rotor(mass=2.0, position=(0.1, 0.2, -0.3)), Rotor(transverse=0.3), Rotor(inertia=0.2, gear=-7.0),
    Rotor(inertia=0.2, gear=9.0, mass=2.0, reflected=True, position=(0.1, 0.2, -0.3)),
    Rotor(inertia=0.2, gear=9.0, mass=2.0, transverse=0.1, axis=(1, 2, 3), position=(0.1, 0.2, -0.3)),
])  # fmt: skip
@pytest.mark.parametrize("tree", [True, False])
def test_all_agree_on_every_kind_of_rotor(rotor: Rotor, tree: bool) -> None:
    robot = random_robot(np.random.default_rng(21), 6, tree)
    joints = tuple(replace(joint, rotor=rotor) if joint.moves else joint for joint in robot.joints)
    assert_all_agree(mechanism(robot.replace(joints=joints)), 5)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_all_agree_on_joints_of_one_kind(kind: Any) -> None:
    robot = random_robot(np.random.default_rng(22), 7)
    joints = tuple(replace(joint, type=kind) if joint.moves else joint for joint in robot.joints)
    assert_all_agree(mechanism(robot.replace(joints=joints)), 6)


@pytest.mark.parametrize("angle", [0.3, 0.03, 1e-3, 1e-5, 1e-8])
def test_lean_and_composite_agree_on_nearly_parallel_axes(angle: float) -> None:
    """As in calibrated arms and in files with rounded angles: common normals of such axes lie very far away."""
    rng = np.random.default_rng(1)
    links = [Link("base"), *(Link(f"link{i}", random_inertia(rng)) for i in range(3))]
    joints = [
        Joint(f"joint{i}", "revolute", links[i].name, f"link{i}", Placement.rpy(angle, 0, 0, xyz=(0.3, 0.4, 0.1)))
        for i in range(3)
    ]
    m = mechanism(Robot("nearly parallel", tuple(links), tuple(joints)))
    x, _ = motion(m, 3)
    page = newton_euler.inverse_dynamics(m, *x)
    assert relative(lean_newton_euler.inverse_dynamics(m, *x), page) < 1e-13
    assert relative(composite.inertia_matrix(m, x[0]), lagrange.inertia_matrix(m, x[0])) < 1e-13


def test_a_tip_on_the_base_feels_nothing_and_no_joints_need_nothing() -> None:
    robot = random_robot(np.random.default_rng(23), 4)
    m = mechanism(robot.replace(tip=Frame("hand", "base"), payload=None))
    (q, qd, qdd), h = motion(m, 0)
    for name, f in FORMULATIONS.items():
        assert f.inverse_dynamics(m, q, qd, qdd, h) == f.inverse_dynamics(m, q, qd, qdd), name
    nothing = mechanism(Robot("plate", (Link("base"),), ()))
    for name, f in FORMULATIONS.items():
        assert f.inverse_dynamics(nothing, [], [], [], h) == [], name


@pytest.mark.parametrize("name", COMPILED)
def test_kernels_agree(name: str) -> None:
    a = arm(name)
    x = states(a, 50, 3)
    h = np.random.default_rng(4).uniform(-9, 9, (50, 6))
    page = a.inverse_dynamics(*x, tip_wrench=h, formulation="newton-euler")
    for other in OTHERS:
        assert relative(a.inverse_dynamics(*x, tip_wrench=h, formulation=other), page) < TOLERANCE, other
        plain = FORMULATIONS[other].inverse_dynamics(a.mechanism, *(v[0].tolist() for v in x), h[0].tolist())
        assert relative(plain, page[0]) < TOLERANCE, other


# -- a moving base --------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(robots(8), st.integers(0, 10**6))
def test_both_recursions_take_a_moving_base(robot: Robot, seed: int) -> None:
    m = mechanism(robot)
    x, h = motion(m, seed)
    base = BaseMotion(*(tuple(v) for v in np.random.default_rng(seed).uniform(-1, 1, (3, 3)).tolist()))
    page = newton_euler.inverse_dynamics(m, *x, h, base)
    assert relative(newton_euler_base.inverse_dynamics(m, *x, h, base), page) < TOLERANCE


def test_who_takes_a_moving_base_and_who_says_no() -> None:
    a = arm("planar-2r")
    x = states(a, 5)
    b = np.random.default_rng(0).uniform(-1, 1, 9)
    page = a.inverse_dynamics(*x, base_motion=b, formulation="newton-euler")
    assert relative(a.inverse_dynamics(*x, base_motion=b, formulation="newton-euler-base"), page) < TOLERANCE
    for name in ("lagrange", "lagrange-euler", "dalembert"):
        with pytest.raises(da.DalembertError, match=f"'{name}' does not support base_motion"):
            a.inverse_dynamics(*x, base_motion=b, formulation=name)


# -- the pieces -----------------------------------------------------------------------------------


def assert_pieces(m: Mechanism, seed: int) -> None:
    (q, qd, _), _ = motion(m, seed)
    v = np.array(qd)
    B = np.array(lagrange.inertia_matrix(m, q))
    C = np.array(lagrange.coriolis_matrix(m, q, qd))
    dB = np.array(lagrange.inertia_derivatives(m, q))
    c = np.array(lagrange.christoffel(m, q))
    g = np.array(lagrange.gravity(m, q))
    LE = lagrange_euler.coefficients(m, q)
    h = np.array(LE.h)
    A = dalembert.coefficients(m, q, qd)
    size, turn = np.abs(B).max(), max(1e-9, np.abs(c).max())

    # B = D = D^rot + D^tran, symmetric and positive definite, S (7.32), M (2.11), (4.2)
    assert relative(LE.D, B) < TOLERANCE
    assert relative(np.array(A.D_rot) + np.array(A.D_tran), B) < TOLERANCE
    assert np.abs(B - B.T).max() <= 1e-12 * size
    assert np.linalg.eigvalsh(B).min() > -1e-12 * size
    # M's h_ikm are S's c_ijk: M (2.14), S (7.45)
    assert np.abs(h - c).max() < TOLERANCE * max(size, turn)
    assert np.array_equal(h, np.swapaxes(h, 1, 2))  # h_ikm = h_imk
    assert np.abs(c - np.swapaxes(c, 1, 2)).max() < 1e-12 * turn  # (7.46)
    assert np.abs([h[i, i, i] for i in range(m.n)]).max() < 1e-12 * max(size, turn)  # h_iii = 0
    # C q̇ by (7.44), (7.43) with the h_ijk of (7.41), M (2.13), and h^tran + h^rot
    Cq, scale = C @ v, max(size, turn)
    h_S = np.einsum("kij->ijk", dB) - 0.5 * np.einsum("ijk->ijk", dB)
    for other in (
        np.einsum("ijk,j,k->i", h_S, v, v),
        np.einsum("ikm,k,m->i", h, v, v),
        np.array(A.h_tran) + np.array(A.h_rot),
    ):
        assert np.abs(Cq - other).max() < TOLERANCE * scale
    # N = Ḃ − 2C is skew-symmetric, (7.47), (7.48)
    N = np.einsum("kij,k->ij", dB, v) - 2 * C
    assert np.abs(N + N.T).max() < TOLERANCE * scale
    # g = c, (7.39), M (2.15), (4.5)
    weight = max(1e-9, np.abs(g).max())
    assert np.abs(np.array(LE.c) - g).max() < TOLERANCE * weight
    assert np.abs(np.array(A.c) - g).max() < TOLERANCE * weight
    # ∂B/∂q_k against differences
    for k in range(m.n):
        moved = slope(lambda t, k=k: lagrange.inertia_matrix(m, [x + t * (j == k) for j, x in enumerate(q)]))
        assert np.abs(dB[k] - moved).max() < 1e-8 * scale


@pytest.mark.parametrize("name", REGISTRY)
def test_pieces_on_the_registry(name: str) -> None:
    assert_pieces(arm(name).mechanism.tree, 1)


@settings(max_examples=30, deadline=None)
@given(robots(7), st.integers(0, 10**6))
def test_pieces_on_random_robots(robot: Robot, seed: int) -> None:
    assert_pieces(mechanism(robot), seed)


@pytest.mark.parametrize("name", REGISTRY)
def test_tran_and_rot_of_dalembert_are_apart(name: str) -> None:
    """D^tran, h^tran are the masses' alone: J and J̇q̇ of every centre of mass, by differences of its place."""
    m = arm(name).mechanism.tree
    (q, qd, _), _ = motion(m, 7)

    def centres(x: list[float]) -> np.ndarray:
        F = frames(m, x)
        return np.array([np.array(F.p[s]) + np.array(F.R[s]) @ b.inertia.com for s, b in enumerate(m.bodies)])

    mass = np.array([b.inertia.mass for b in m.bodies])
    J = np.array([slope(lambda t, i=i: centres([x + t * (j == i) for j, x in enumerate(q)])) for i in range(m.n)])
    e = 2e-3
    at = [centres([x + k * e * v for x, v in zip(q, qd, strict=True)]) for k in (-3, -2, -1, 0, 1, 2, 3)]
    a = np.tensordot(np.array([2, -27, 270, -490, 270, -27, 2]) / (180 * e * e), np.array(at), 1)
    A = dalembert.coefficients(m, q, qd)
    D, h = np.einsum("s,isx,jsx->ij", mass, J, J), np.einsum("s,isx,sx->i", mass, J, a)
    assert np.abs(np.array(A.D_tran) - D).max() < 1e-8 * (1 + np.abs(D).max())
    assert np.abs(np.array(A.h_tran) - h).max() < 1e-7 * (1 + np.abs(D).max() + np.abs(h).max())


# -- the page -------------------------------------------------------------------------------------


def test_two_link_planar_arm_of_section_7_3_2() -> None:
    """B, Christoffel symbols, C, N and g as printed, and (7.82) by every formulation."""
    m = arm("planar-2r").mechanism
    a1, l1, l2, ml1, ml2, mm2, I1, I2, Im, kr, g = 1.0, 0.5, 0.5, 50.0, 50.0, 5.0, 10.0, 10.0, 0.01, 100.0, 9.81
    (t1, t2), (v1, v2), (w1, w2) = (0.4, -0.9), (1.3, 0.7), (-2.1, 3.4)
    c1, s2, c2, c12 = math.cos(t1), math.sin(t2), math.cos(t2), math.cos(t1 + t2)
    b11 = I1 + ml1 * l1**2 + kr**2 * Im + I2 + ml2 * (a1**2 + l2**2 + 2 * a1 * l2 * c2) + Im + mm2 * a1**2
    b12 = I2 + ml2 * (l2**2 + a1 * l2 * c2) + kr * Im
    b22 = I2 + ml2 * l2**2 + kr**2 * Im
    h = -ml2 * a1 * l2 * s2
    g1 = (ml1 * l1 + mm2 * a1 + ml2 * a1) * g * c1 + ml2 * l2 * g * c12
    g2 = ml2 * l2 * g * c12
    q, qd, qdd = [t1, t2], [v1, v2], [w1, w2]
    near = lambda x: pytest.approx(np.array(x), rel=1e-12, abs=1e-10)  # noqa: E731
    assert np.array(lagrange.inertia_matrix(m, q)) == near([[b11, b12], [b12, b22]])
    c = np.array(lagrange.christoffel(m, q))
    assert c[0] == near([[0, h], [h, h]])  # c_111, c_112 = c_121 = h, c_122 = h
    assert c[1] == near([[-h, 0], [0, 0]])  # c_211 = −h, c_212 = c_221 = 0, c_222 = 0
    C = np.array(lagrange.coriolis_matrix(m, q, qd))
    assert near([[h * v2, h * (v1 + v2)], [-h * v1, 0]]) == C
    N = np.einsum("kij,k->ij", lagrange.inertia_derivatives(m, q), qd) - 2 * C
    assert near([[0, -2 * h * v1 - h * v2], [2 * h * v1 + h * v2, 0]]) == N
    assert np.array(lagrange.gravity(m, q)) == near([g1, g2])
    tau1 = b11 * w1 + b12 * w2 - 2 * ml2 * a1 * l2 * s2 * v1 * v2 - ml2 * a1 * l2 * s2 * v2**2 + g1
    tau2 = b12 * w1 + b22 * w2 + ml2 * a1 * l2 * s2 * v1**2 + g2
    for name, f in FORMULATIONS.items():
        assert np.array(f.inverse_dynamics(m, q, qd, qdd)) == near([tau1, tau2]), name


class Counted:
    """A scalar that only counts what is done to it."""

    done = 0

    def _one(self, other: object) -> Counted:
        if isinstance(other, tuple):  # a vector scales itself, entry by entry
            return NotImplemented
        Counted.done += 1
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _one

    def _same(self) -> Counted:
        return self

    __neg__ = sin = cos = sign = _same


@pytest.mark.parametrize(
    ("name", "degree"),
    [("newton-euler", 1), ("newton-euler-base", 1), ("dalembert", 3), ("lagrange", 4), ("lagrange-euler", 4)],
)
def test_work_grows_as_table_3_of_M_says(name: str, degree: int) -> None:
    """Operations as written, for turning chains of n equal links: a polynomial in n of just this degree."""
    rng = np.random.default_rng(3)
    place, inertia = random_placement(rng), random_inertia(rng)
    counts = []
    for n in range(2, degree + 5):
        links = (Link("base"), *(Link(f"link{i}", inertia) for i in range(n)))
        joints = (Joint(f"joint{i}", "revolute", links[i].name, f"link{i}", place) for i in range(n))
        Counted.done = 0
        FORMULATIONS[name].inverse_dynamics(mechanism(Robot("chain", links, tuple(joints))), *([[Counted()] * n] * 3))
        counts.append(Counted.done)
    assert np.all(np.diff(counts, degree) > 0)
    assert np.all(np.diff(counts, degree + 1) == 0)
