"""M (4.3) and (4.4) term by term: they sum to h^tran and h^rot, link by link and by pairs of velocities."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from arms import DISTINCT, arm, states
from dalembert.arm.terms import DalembertTerms
from dalembert.mechanics.coordinates import pulled
from dalembert.mechanics.equations import dalembert, lagrange
from dalembert.robot import Inertia
from dalembert.robot.model.mechanism import Mechanism

COMPILED = ["planar-2r", "pr-arm", "parallelogram", "five-bar"]


def terms(m: Mechanism, q: np.ndarray, qd: np.ndarray) -> DalembertTerms:
    """On floats."""
    return DalembertTerms(*(np.array(x, float) for x in pulled.dalembert_terms(m, q.tolist(), qd.tolist())))


def state(m: Mechanism, seed: int) -> tuple[np.ndarray, np.ndarray]:
    q, qd = np.random.default_rng(seed).uniform(-2, 2, (2, m.n))
    return q, qd


@pytest.mark.parametrize("name", DISTINCT)
def test_terms_sum_to_h_tran_and_h_rot(name: str) -> None:
    m = arm(name).mechanism.tree
    q, qd = state(m, 1)
    t, h = terms(m, q, qd), dalembert.coefficients(m, q.tolist(), qd.tolist())
    scale = 1e-12 * (1.0 + max(np.abs(getattr(t, f.name)).max() for f in fields(t)))
    assert np.abs(t.h_tran - h.h_tran).max() < scale and np.abs(t.h_rot - h.h_rot).max() < scale
    for key, (same, different) in t.split.items():
        assert np.abs(same + different - getattr(t, key)).max() < scale


@pytest.mark.parametrize("name", DISTINCT)
def test_p_equal_to_q_is_what_each_joint_does_alone(name: str) -> None:
    """Every term is a form in the velocities: its part with p = q is the sum over the joints, each moving by itself."""
    m = arm(name).mechanism.tree
    q, qd = state(m, 2)
    t = terms(m, q, qd)
    alone = [terms(m, q, v).split for v in np.diag(qd)]
    for key, (same, _) in t.split.items():
        by_joint = sum(sum(part[key]) for part in alone)
        assert np.abs(same - by_joint).max() < 1e-12 * (1.0 + np.abs(getattr(t, key)).max()), key


@pytest.mark.parametrize("name", DISTINCT)
def test_centrifugal_and_coriolis_are_those_of_s_7_40(name: str) -> None:
    """Over all terms, p = q gives Σ_j h_ijj q̇_j² and p ≠ q gives Σ_j Σ_{k≠j} h_ijk q̇_j q̇_k."""
    m = arm(name).mechanism.tree
    q, qd = state(m, 3)
    t, c = terms(m, q, qd), np.array(lagrange.christoffel(m, q.tolist()))
    centrifugal, whole = np.einsum("ijj,j->i", c, qd**2), np.einsum("ijk,j,k->i", c, qd, qd)
    size = 1.0 + np.abs(c).max() * float(qd @ qd)
    assert np.abs(t.centrifugal - centrifugal).max() < 1e-11 * size
    assert np.abs(t.coriolis - (whole - centrifugal)).max() < 1e-11 * size


@pytest.mark.parametrize("name", DISTINCT)
def test_a_link_s_share_is_what_it_does_alone(name: str) -> None:
    """Column s of every term is that of the arm in which nothing but link s has a mass."""
    m = arm(name).mechanism.tree
    q, qd = state(m, 4)
    t = terms(m, q, qd)
    for s in range(m.n):
        bodies = (
            replace(b, inertia=b.inertia if k == s else Inertia(), rotor_inertia=b.rotor_inertia if k == s else 0.0)
            for k, b in enumerate(m.bodies)
        )
        only = terms(replace(m, bodies=tuple(bodies)), q, qd)
        for key in t.split:
            x, y = getattr(t, key), getattr(only, key)
            assert np.abs(x[:, s] - y[:, s]).max() == 0.0 and np.abs(np.delete(y, s, axis=1)).max(initial=0.0) == 0.0


@pytest.mark.parametrize("name", COMPILED)
def test_the_method_agrees_with_dalembert_and_the_torque_terms(name: str) -> None:
    """Closed chains too: their joints that follow not linearly add a term of their own."""
    a = arm(name)
    q, qd, qdd = (x.reshape(2, 3, -1) for x in states(a, 6, 5))
    t, h = a.dalembert_terms(q, qd), a.dalembert(q, qd)
    assert t.tran_1.shape == (2, 3, a.n, a.mechanism.tree.n)
    size = 1.0 + np.abs(h.h_tran).max() + np.abs(h.h_rot).max()
    assert np.abs(t.h_tran - h.h_tran).max() < 1e-11 * size and np.abs(t.h_rot - h.h_rot).max() < 1e-11 * size
    assert bool(np.any(t.closure_tran)) == (not a.mechanism.linear)
    if a.mechanism.identity:
        parts = a.torque_terms(q, qd, qdd)
        assert np.allclose(t.centrifugal, parts.centrifugal.sum(-1), atol=1e-10 * size)
        assert np.allclose(t.coriolis, parts.coriolis.sum((-1, -2)), atol=1e-10 * size)


def test_the_planar_arm_term_by_term() -> None:
    """Parallel axes: nothing gyrates; all of h = −m_ℓ2 a_1 ℓ_2 s_2 is in M's first and third sum for link 2."""
    s2, v1, v2 = np.sin(0.5), 1.0, 2.0
    at = arm("planar-2r").dalembert_terms([0.3, 0.5], [v1, v2])
    h = -50.0 * 1.0 * 0.5 * s2
    assert np.allclose([at.tran_2, at.tran_4, at.rot_1, at.rot_2, at.rot_rotor, at.tran_sliding], 0.0)
    assert np.allclose(at.tran_1, [[0.0, -h * v1**2], [0.0, -h * v1**2]])
    assert np.allclose(at.tran_3, [[0.0, h * (v1 + v2) ** 2], [0.0, 0.0]])
    assert np.allclose(at.centrifugal_3, [[0.0, h * (v1**2 + v2**2)], [0.0, 0.0]])
