"""Lagrange's steps body by body, S (7.4)–(7.36): Jacobians and energies of links and rotors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dalembert as da
from arms import DISTINCT, arm, on_floats, relative, states
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.mechanics.coordinates import pulled
from dalembert.robot import Friction, Inertia, Joint, Link, Placement, Robot, Rotor

FIELDS = list(JOINTS["body_jacobians"].outputs)
FEW = ["planar-2r", "scara", "parallelogram", "gripper"]  # compiled


def jacobians(a: da.Arm, q: np.ndarray) -> dict[str, np.ndarray]:
    """Of one state, on floats."""
    values = pulled.body_jacobians(a.mechanism, a.placed(q).tolist())
    return {name: np.array(x, float) for name, x in zip(FIELDS, values, strict=True)}


def inertia_matrix(at: Any) -> np.ndarray:
    """S (7.32)"""
    B = 0.0
    for kind in ("link", "rotor"):
        m, J_P, J_O, I = (np.asarray(at[f"{kind}_{x}"]) for x in ("mass", "linear", "angular", "tensor"))
        B = (
            B
            + np.einsum("...b,...bxi,...bxj->...ij", m, J_P, J_P)
            + np.einsum("...bxi,...bxy,...byj->...ij", J_O, I, J_O)
        )
    return np.asarray(B)


def slope(f: Callable[[float], np.ndarray], e: float = 2e-3) -> np.ndarray:
    a, b, c = (f(k * e) - f(-k * e) for k in (1, 2, 3))
    return (45 * a - 9 * b + c) / (60 * e)


@pytest.mark.parametrize("name", DISTINCT)
def test_inertia_matrix_of_7_32_from_the_jacobians(name: str) -> None:
    a = arm(name)
    for q in states(a, 2, 1)[0]:
        assert relative(inertia_matrix(jacobians(a, q)), a.inertia_matrix(q)) < 1e-10


@pytest.mark.parametrize("name", DISTINCT)
def test_jacobians_are_the_derivatives_of_the_centres_of_mass(name: str) -> None:
    """J_P = ∂p/∂q for links and rotors, S (7.16), (7.18), (7.25), (7.26)."""
    a = arm(name)
    q = states(a, 1, 2)[0][0]
    at = jacobians(a, q)
    for kind in ("link", "rotor"):
        J = np.stack([slope(lambda t, e=e: jacobians(a, q + t * e)[f"{kind}_position"]) for e in np.eye(a.n)], -1)  # noqa: B023
        assert np.abs(at[f"{kind}_linear"] - J).max() < 1e-8 * (1 + np.abs(J).max())


@pytest.mark.parametrize("name", DISTINCT)
def test_energies_of_the_bodies_sum_to_those_of_the_arm(name: str) -> None:
    a = arm(name)
    q, qd, _ = states(a, 6, 3)
    placed = a.placed(q)
    T_l, T_m, U_l, U_m = np.moveaxis(on_floats(a, "body_energies", "lagrange", q=placed, qd=qd), 1, 0)
    assert relative((T_l + T_m).sum(-1), a.kinetic_energy(q, qd)) < 1e-11
    assert relative((U_l + U_m).sum(-1), a.potential_energy(q)) < 1e-11
    assert T_l.min() >= 0.0 and T_m.min() >= -1e-12
    J = jacobians(a, q[0])
    for kind, T in (("link", T_l[0]), ("rotor", T_m[0])):
        v, w = (J[f"{kind}_{x}"] @ qd[0] for x in ("linear", "angular"))
        own = 0.5 * J[f"{kind}_mass"] * (v * v).sum(-1) + 0.5 * np.einsum("bx,bxy,by->b", w, J[f"{kind}_tensor"], w)
        assert np.allclose(T, own, rtol=1e-11, atol=1e-12)  # (7.13), (7.21)


def test_every_kind_of_rotor_and_carried_weight() -> None:
    """A link keeps its own mass, its rotor its own; a reflected rotor spins by itself; carried weight has no U."""
    rotors = (
        Rotor(0.02, 50.0, 1.5, (0.1, 0.0, 0.2), (1.0, 0.0, 0.0), transverse=0.01),
        Rotor(0.02, 50.0, 1.5, (0.1, 0.0, 0.2), reflected=True),
        Rotor(0.02, -30.0, reflected=True),
        Rotor(mass=2.0),
    )
    body = Inertia(3.0, (0.1, 0.2, 0.3), ((0.1, 0, 0), (0, 0.2, 0), (0, 0, 0.15)))
    links = (Link("base"), *(Link(f"l{i}", body, weight=0.4 if i == 2 else 1.0) for i in range(4)))
    joints = tuple(
        Joint(f"j{i}", "prismatic" if i == 1 else "revolute", links[i].name, f"l{i}",
              Placement.rpy(0.3, 0.5 * i, 0.1, xyz=(0.2, 0.1, 0.3)), friction=Friction(), rotor=rotors[i])
        for i in range(4)
    )  # fmt: skip
    a = da.Arm(Robot("rotors", links, joints))
    q, qd, _ = states(a, 5, 4)
    at, J = a.body_energies(q, qd), a.body_jacobians(q)
    assert relative(inertia_matrix(vars(J)), a.inertia_matrix(q)) < 1e-12
    assert relative((at.link_kinetic + at.rotor_kinetic).sum(-1), a.kinetic_energy(q, qd)) < 1e-12
    assert relative((at.link_potential + at.rotor_potential).sum(-1), a.potential_energy(q)) < 1e-12
    assert np.allclose(J.link_mass, 3.0) and np.allclose(J.rotor_mass, [1.5, 1.5, 0.0, 2.0])
    assert np.allclose(at.rotor_kinetic[:, 2], 0.5 * 900 * 0.02 * qd[:, 2] ** 2)
    heavy = a.replace(links=tuple(replace(link, weight=1.0) for link in links))
    assert np.allclose(at.link_potential[:, 2], 0.4 * heavy.body_energies(q, qd).link_potential[:, 2])


@pytest.mark.parametrize("name", FEW)
def test_the_methods_give_batches(name: str) -> None:
    a = arm(name)
    q = states(a, 6, 5)[0].reshape(2, 3, -1)
    at = a.body_jacobians(q)
    assert at.link_linear.shape == at.rotor_angular.shape == (2, 3, a.mechanism.tree.n, 3, a.n)
    for key, x in jacobians(a, q[1, 2]).items():
        assert np.allclose(getattr(at, key)[1, 2], x, rtol=1e-11, atol=1e-11), key


def test_the_printed_jacobians_of_7_3_1_and_7_3_2() -> None:
    """As on the page: the Cartesian arm and the two-link planar arm."""
    at = arm("cartesian-2").body_jacobians([0.2, 0.3])
    k = [joint.rotor.gear for joint in arm("cartesian-2").robot.joints]  # type: ignore[union-attr]
    assert np.allclose(at.link_linear, [[[0, 0], [0, 0], [1, 0]], [[0, 1], [0, 0], [1, 0]]])
    assert np.allclose(at.rotor_linear, [np.zeros((3, 2)), [[0, 0], [0, 0], [1, 0]]])
    assert np.allclose(at.rotor_angular, [[[0, 0], [0, 0], [k[0], 0]], [[0, k[1]], [0, 0], [0, 0]]])
    assert not at.link_angular.any()

    q1, q2, l1, a1, l2, k1, k2 = 0.4, -0.9, 0.5, 1.0, 0.5, 100.0, 100.0
    (s1, s12), (c1, c12) = (f([q1, q1 + q2]) for f in (np.sin, np.cos))
    at = arm("planar-2r").body_jacobians([q1, q2])
    assert np.allclose(at.link_linear[0], [[-l1 * s1, 0], [l1 * c1, 0], [0, 0]])
    assert np.allclose(at.link_linear[1], [[-a1 * s1 - l2 * s12, -l2 * s12], [a1 * c1 + l2 * c12, l2 * c12], [0, 0]])
    assert np.allclose(at.link_angular, [[[0, 0], [0, 0], [1, 0]], [[0, 0], [0, 0], [1, 1]]])
    assert np.allclose(at.rotor_linear, [np.zeros((3, 2)), [[-a1 * s1, 0], [a1 * c1, 0], [0, 0]]])
    assert np.allclose(at.rotor_angular, [[[0, 0], [0, 0], [k1, 0]], [[0, 0], [0, 0], [1, k2]]])
