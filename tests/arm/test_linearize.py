"""The dynamics linearised: derivatives against differences, the discrete system against simulation, and LQR."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_are

import dalembert as da


@pytest.mark.parametrize("name", ["planar-2r", "parallelogram"])
def test_derivatives_match_differences(name):
    arm, rng, h = da.load(name), np.random.default_rng(2), 1e-6
    q, qd, tau = arm.home + rng.uniform(-0.3, 0.3, arm.n), rng.uniform(-1, 1, arm.n), rng.uniform(-5, 5, arm.n)
    A, B = arm.linearize(q, qd, tau)
    n = arm.n

    def rate(x, tau):
        return np.concatenate([x[n:], arm.forward_dynamics(x[:n], x[n:], tau)])

    x = np.concatenate([q, qd])
    slopes = [(rate(x + h * e, tau) - rate(x - h * e, tau)) / (2 * h) for e in np.eye(2 * n)]
    np.testing.assert_allclose(A, np.transpose(slopes), rtol=1e-5, atol=1e-6)
    slopes = [(rate(x, tau + h * e) - rate(x, tau - h * e)) / (2 * h) for e in np.eye(n)]
    np.testing.assert_allclose(B, np.transpose(slopes), rtol=1e-5, atol=1e-6)


def test_discrete_steps_are_those_of_a_simulation():
    arm, dt, small = da.load("planar-2r"), 0.01, 1e-5
    q = np.array([[0.3, 0.8], [0.1, -0.4]])
    hold = arm.gravity_torque(q)
    A, B = arm.linearize(q, np.zeros(2), hold, dt=dt)
    assert A.shape == (2, 4, 4) and B.shape == (2, 4, 2)
    dx, du = small * np.array([1.0, -0.5, 2.0, 0.3]), small * np.array([400.0, -300.0])
    run = da.simulate(
        arm, q + dx[:2], np.broadcast_to(dx[2:], (2, 2)), (hold + du)[:, None], dt, step=dt / 10, friction=False
    )
    moved = np.concatenate([run.q[:, -1] - q, run.qd[:, -1]], axis=-1)
    np.testing.assert_allclose(moved, A @ dx + B @ du, atol=5e-4 * small)


@pytest.mark.parametrize("dt", [1e-6, 1e-3, 0.3])
def test_discrete_matrices_are_the_matrix_exponential(dt):
    arm = da.load("puma560")
    A, B = arm.linearize(*np.random.default_rng(0).normal(size=(3, 2, 6)))
    block = np.zeros((2, 18, 18))
    block[:, :12, :12], block[:, :12, 12:] = A, B
    exact = expm(block * dt)
    held, moved = arm.linearize(*np.random.default_rng(0).normal(size=(3, 2, 6)), dt)
    np.testing.assert_allclose(held, exact[:, :12, :12], atol=1e-14 * np.abs(exact).max())
    np.testing.assert_allclose(moved, exact[:, :12, 12:], rtol=1e-10, atol=1e-14 * np.abs(exact[:, :12, 12:]).max())


def test_lqr_holds_an_arm_upright():
    arm = da.load("planar-2r")
    q = np.array([np.pi / 2, 0.0])
    hold = arm.gravity_torque(q)
    A, B = arm.linearize(q, np.zeros(2), hold)
    P = solve_continuous_are(A, B, np.diag([100.0, 100.0, 1.0, 1.0]), 1e-4 * np.eye(2))
    K = 1e4 * B.T @ P
    assert np.linalg.eigvals(A - B @ K).real.max() < 0 < np.linalg.eigvals(A).real.max()
    run = da.simulate(
        arm,
        q + np.array([0.1, -0.1]),
        [0.0, 0.0],
        lambda t, x, v: hold - K @ np.concatenate([x - q, v]),
        5.0,
        step=0.01,
    )
    assert abs(run.q[-1] - q).max() < 1e-3


def test_a_step_that_is_no_time_is_refused():
    with pytest.raises(da.DalembertError, match="it must be a positive time in seconds"):
        da.load("pendulum").linearize([0.1], [0.0], [0.0], dt=0.0)
