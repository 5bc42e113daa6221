"""τ = Yπ, S (7.80)–(7.84)."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from arms import DISTINCT, FILES, REGISTRY, arm, on_floats, pulled, relative, robots, states, tree_velocities
from dalembert.mechanics.coordinates.pulled import regressor
from dalembert.mechanics.equations import newton_euler
from dalembert.mechanics.equations.regressor import PARAMETERS, energy_regressors, parameters
from dalembert.robot import Robot
from dalembert.robot.model.mechanism import Mechanism, mechanism
from test_dynamics import pin_oracle


def one_sided(m: Mechanism, qd: np.ndarray) -> np.ndarray:
    """What two-sided Coulomb friction has beyond its mean, which S's one F_s cannot say."""
    gap = np.array([0.5 * (b.coulomb[0] - b.coulomb[1]) for b in m.bodies])
    return gap * np.sign(qd) ** 2


@pytest.mark.parametrize("name", REGISTRY)
def test_torque_is_linear_in_the_parameters(name: str) -> None:
    a = arm(name)
    x = states(a, 12, 1)
    Y = a.regressor(*x)
    tree = a.mechanism.tree
    further = sum(len(term.linear()) for body in tree.bodies for term in body.further)
    assert Y.shape == (12, a.n, len(PARAMETERS) * tree.n + further)
    assert len(set(a.parameter_names)) == len(a.parameters) == Y.shape[-1]
    gap = pulled(a, x[0], one_sided(a.mechanism.tree, tree_velocities(a, *x[:2])))
    assert relative(Y @ a.parameters + gap, a.inverse_dynamics(*x)) < 1e-10


@settings(max_examples=30)
@given(robots(8), st.integers(0, 10**6))
def test_torque_is_linear_in_the_parameters_of_any_robot_as_floats(robot: Robot, seed: int) -> None:
    m = mechanism(robot)
    q, qd, qdd = np.random.default_rng(seed).uniform(-2, 2, (3, m.n)).tolist()
    Y = np.array(regressor(m, q, qd, qdd), float)
    assert Y.shape == (m.n, m.n * len(PARAMETERS))
    torque = Y @ np.array(parameters(m), float) + one_sided(m, np.array(qd))
    assert relative(torque, newton_euler.inverse_dynamics(m, q, qd, qdd)) < 1e-10


@pytest.mark.parametrize("name", [name for name in REGISTRY if name != "terms"])
def test_two_sided_friction_and_offset(name: str) -> None:
    a = arm(name)
    chosen = da.ParameterSet(a, two_sided=True, offset=True)
    x = states(a, 12, 1)
    Y = chosen.regressor(*x)
    assert Y.shape == (12, a.n, chosen.size)
    assert chosen.size == (len(PARAMETERS) + 1) * a.mechanism.tree.n + a.n - 10 * (
        a.mechanism.tree.n - len(chosen.bodies)
    )
    assert relative(Y @ chosen.values, a.inverse_dynamics(*x)) < 1e-10
    offsets = [k for k, word in enumerate(chosen.names) if word.startswith("offset")]
    assert (Y[:, :, offsets] == np.eye(a.n)).all()
    assert (chosen.regressor(*(v.reshape(3, 4, a.n) for v in x)) == Y.reshape(3, 4, a.n, -1)).all()
    assert (chosen.regressor(*(v[0] for v in x)) == Y[0]).all()


@pytest.mark.parametrize("name", ["puma560", "panda", "stanford"])
def test_block_triangular_for_a_chain(name: str) -> None:
    """S (7.80): joint i does not feel the links before it."""
    a = arm(name)
    Y = a.regressor(*states(a, 4, 2)).reshape(4, a.n, a.n, 13)
    for i in range(a.n):
        assert np.all(Y[:, i, :i] == 0.0)


@pytest.mark.parametrize("name", FILES)
def test_inertial_columns_equal_pinocchio(name: str) -> None:
    """Their link frames are ours in URDF; their order is m, mc, Ixx Ixy Iyy Ixz Iyz Izz."""
    a, oracle = pin_oracle(name)
    model, data, order, back = oracle.model, oracle.data, oracle.order, oracle.back
    for q, qd, qdd in zip(*states(a, 3, 3), strict=True):
        pin.computeJointTorqueRegressor(model, data, oracle.q(q), qd[order], qdd[order])
        theirs = data.jointTorqueRegressor.reshape(model.nv, model.nv, 10)[np.ix_(back, back)]
        ours = a.regressor(q, qd, qdd).reshape(a.n, a.n, 13)[:, :, [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]]
        assert relative(ours, theirs) < 1e-10


def test_two_link_planar_arm_of_7_83_and_7_84() -> None:
    """The eight columns of S that do not vanish, as printed."""
    a = da.load("planar-2r")
    (t1, t2), (v1, v2), (w1, w2) = (0.4, -0.9), (1.3, 0.7), (-2.1, 3.4)
    a1 = a2 = 1.0
    g, k = 9.81, 100.0
    c1, s2, c2, c12 = np.cos(t1), np.sin(t2), np.cos(t2), np.cos(t1 + t2)
    Y = a.regressor([t1, t2], [v1, v2], [w1, w2]).reshape(2, 2, 13)
    quad = -2 * s2 * v1 * v2 - s2 * v2**2
    printed = [
        [a1**2 * w1 + a1 * g * c1, 2 * a1 * w1 + g * c1, w1, k**2 * w1,
         (a1**2 + 2 * a1 * a2 * c2 + a2**2) * w1 + (a1 * a2 * c2 + a2**2) * w2 + a1 * a2 * quad + a1 * g * c1 + a2 * g * c12,
         (2 * a1 * c2 + 2 * a2) * w1 + (a1 * c2 + 2 * a2) * w2 + a1 * quad + g * c12, w1 + w2, k * w2],
        [0, 0, 0, 0,
         (a1 * a2 * c2 + a2**2) * w1 + a2**2 * w2 + a1 * a2 * s2 * v1**2 + a2 * g * c12,
         (a1 * c2 + 2 * a2) * w1 + 2 * a2 * w2 + a1 * s2 * v1**2 + g * c12, w1 + w2, k * w1 + k**2 * w2],
    ]  # fmt: skip
    ours = Y[:, :, [0, 1, 9, 10]].reshape(2, 8)  # m, mx, Izz, Im of each joint
    assert np.allclose(ours, printed, atol=1e-12)
    pi = a.parameters.reshape(2, 13)[:, [0, 1, 9, 10]].ravel()
    assert pi == pytest.approx([55, -25, 10 + 50 * 0.25 + 0.01, 0.01, 50, -25, 10 + 50 * 0.25, 0.01])  # (7.83)


# -- energies -------------------------------------------------------------------------------------


def betas(a: da.Arm, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """β_T and β_U on floats: (k, N, 11) each."""
    beta_T, beta_U = np.moveaxis(on_floats(a, "energy_regressors", "links", q=a.placed(q), qd=qd), 1, 0)
    return beta_T, beta_U


@pytest.mark.parametrize("name", DISTINCT)
def test_energies_are_linear_in_the_parameters(name: str) -> None:
    """T = Σ β_Tᵀ π and U = Σ β_Uᵀ π, S (7.76); β_i depends on the joints up to link i alone."""
    a = arm(name)
    N = a.mechanism.tree.n
    q, qd, _ = states(a, 5, 11)
    pi = a.parameters[: 13 * N].reshape(N, 13)[:, :11]
    beta_T, beta_U = betas(a, q, qd)
    assert relative((beta_T * pi).sum((-1, -2)), a.kinetic_energy(q, qd)) < 1e-11
    assert relative((beta_U * pi).sum((-1, -2)), a.potential_energy(q)) < 1e-11
    tree, x, v = a.mechanism.tree, *np.random.default_rng(11).uniform(-1, 1, (2, N))
    before = energy_regressors(tree, x.tolist(), v.tolist())
    for j in range(N):
        moved = energy_regressors(tree, (x + 0.3 * np.eye(N)[j]).tolist(), (v + 0.7 * np.eye(N)[j]).tolist())
        for i in range(N):
            if j not in tree.path(i):
                assert before.beta_T[i] == moved.beta_T[i] and before.beta_U[i] == moved.beta_U[i]


@pytest.mark.parametrize("name", DISTINCT)
def test_regressor_is_lagrange_s_equations_of_the_energy_regressors(name: str) -> None:
    """S (7.79): y_ij = d/dt ∂β_Tj/∂q̇_i − ∂β_Tj/∂q_i + ∂β_Uj/∂q_i."""
    a = arm(name)
    N, e = a.mechanism.tree.n, 2e-3
    q, qd, qdd = (x[0] for x in states(a, 1, 12, 1.0))
    unit = np.eye(a.n)
    weights = ((1, 45), (2, -9), (3, 1))

    def slope(f):  # type: ignore[no-untyped-def]
        return sum(w * (f(k * e) - f(-k * e)) for k, w in weights) / (60 * e)

    def beta(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array(betas(a, x[None], v[None]))[:, 0]

    def momentum(t: float, i: int) -> np.ndarray:
        """∂β_T/∂q̇_i at time t: β_T is quadratic in q̇."""
        x, v = q + qd * t + qdd * t * t / 2, qd + qdd * t
        return (beta(x, v + unit[i])[0] - beta(x, v - unit[i])[0]) / 2

    Y = a.regressor(q, qd, qdd)[:, : 13 * N].reshape(a.n, N, 13)[..., :11]
    for i in range(a.n):
        dT, dU = slope(lambda t, i=i: beta(q + t * unit[i], qd))
        assert np.abs(slope(lambda t, i=i: momentum(t, i)) - dT + dU - Y[i]).max() < 1e-7 * (1 + np.abs(Y).max())
