"""B q̈_r + C(q, q̇) q̇_r + g + f(q̇_r) by a recursion of its own, and its regressor: S 7.2's skew-symmetry put to work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from arms import DISTINCT, arm, friction, on_floats, pulled, random_robot, relative, robots, states, tree_velocities
from dalembert.compiler.graph.count import count
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.compiler.quantities.machine import trace
from dalembert.mechanics.equations import composite, passive_newton_euler, regressor
from dalembert.robot import Robot
from dalembert.robot.model.mechanism import mechanism
from dalembert.work.analysis import properties
from test_regressor import one_sided

SAME = 1e-12
FEW = ["planar-2r", "puma560", "terms", "gripper", "five-bar"]  # compiled; of the others the same text runs on floats


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("...ij,...j->...i", A, x)


def two_velocities(a: da.Arm, count: int, seed: int) -> tuple[np.ndarray, ...]:
    q, qd, qdd_r = states(a, count, seed)
    return q, qd, np.random.default_rng(seed + 1).uniform(-2, 2, qd.shape), qdd_r


def size_of(a: da.Arm, q: np.ndarray, *others: np.ndarray) -> float:
    """What torques are measured by: the largest sum of the sizes of their parts."""
    return max(1.0, *(float(np.abs(x).max()) for x in others), float(np.abs(a.gravity_torque(q)).max()))


@pytest.mark.parametrize("name", DISTINCT)
def test_reference_torque_has_the_coriolis_matrix_of_christoffel_symbols(name: str) -> None:
    """Not just any C with C q̇ = c(q, q̇): that of S (7.44), (7.45), on coupled and closed arms too."""
    a = arm(name)
    q, qd, qd_r, qdd_r = two_velocities(a, 15, 1)
    inertia, coriolis = times(a.inertia_matrix(q), qdd_r), times(a.coriolis_matrix(q, qd), qd_r)
    expected = inertia + coriolis + a.gravity_torque(q) + friction(a, q, qd_r)
    difference = np.abs(a.reference_torque(q, qd, qd_r, qdd_r) - expected).max()
    assert difference < SAME * size_of(a, q, inertia, coriolis, expected)


@pytest.mark.parametrize("name", DISTINCT)
def test_reference_torque_of_the_motion_itself_is_inverse_dynamics(name: str) -> None:
    a = arm(name)
    q, qd, qdd = states(a, 15, 2)
    assert relative(a.reference_torque(q, qd, qd, qdd), a.inverse_dynamics(q, qd, qdd)) < SAME


@pytest.mark.parametrize("name", DISTINCT)
def test_reference_torque_is_linear_in_the_parameters(name: str) -> None:
    a = arm(name)
    q, qd, qd_r, qdd_r = two_velocities(a, 4, 3)

    def columns(qd_r: np.ndarray) -> np.ndarray:
        if name in FEW:
            return a.reference_regressor(q, qd, qd_r, qdd_r)
        flat = on_floats(a, "reference_regressor", "virtual-work", q=q, qd=qd, qd_r=qd_r, qdd_r=qdd_r)
        return flat.astype(float)

    Y = columns(qd_r)
    assert Y.shape == (4, a.n, len(a.parameters))
    gap = pulled(a, q, one_sided(a.mechanism.tree, tree_velocities(a, q, qd_r)))
    assert relative(Y @ a.parameters + gap, a.reference_torque(q, qd, qd_r, qdd_r)) < 1e-10
    assert relative(columns(qd), a.regressor(q, qd, qdd_r)) < SAME


@settings(max_examples=30)
@given(robots(8), st.integers(0, 10**6))
def test_both_identities_for_any_robot_as_floats(robot: Robot, seed: int) -> None:
    """Trees of revolute and prismatic joints, rotors and gears about any axis, without the graph and the compiler."""
    m = mechanism(robot)
    q, qd, qd_r, qdd_r = np.random.default_rng(seed).uniform(-2, 2, (4, m.n)).tolist()
    still = replace(m, bodies=tuple(body.bare for body in m.bodies))
    C, B = composite.coriolis_matrix(m, q, qd), composite.inertia_matrix(m, q)
    rest = [0.0] * m.n
    g = passive_newton_euler.reference_torque(still, q, rest, rest, rest)
    parts = np.array(B) @ qdd_r, np.array(C) @ qd_r, np.array(g)
    tau = passive_newton_euler.reference_torque(still, q, qd, qd_r, qdd_r)
    size = max(float(np.abs(part).max(initial=0.0)) for part in parts) + 1e-12
    assert np.abs(np.array(tau) - sum(parts)).max(initial=0.0) < 1e-11 * size
    Y = np.array(regressor.reference_regressor(m, q, qd, qd_r, qdd_r), float)
    torque = Y @ np.array(regressor.parameters(m), float) + one_sided(m, np.array(qd_r))
    whole = passive_newton_euler.reference_torque(m, q, qd, qd_r, qdd_r)
    assert relative(torque, np.array(whole)) < 1e-10


def test_another_coriolis_matrix_would_not_do() -> None:
    """That of Problem 7.2 has the same C q̇ and another C q̇_r: the tests above can fail."""
    a = arm("puma560")
    q, qd, qd_r, qdd_r = two_velocities(a, 5, 4)
    other = properties.another_coriolis_matrix(a, q, qd)
    rest = times(a.inertia_matrix(q), qdd_r) + a.gravity_torque(q)
    for v, same in ((qd, True), (qd_r, False)):
        torque = rest + times(other, v) + friction(a, q, v)
        assert np.allclose(a.reference_torque(q, qd, v, qdd_r), torque, atol=1e-11) is same


@pytest.mark.parametrize("name", ["puma560", "panda", "stanford", "ur10", "random-chain"])
def test_the_recursion_needs_fewer_operations_than_the_matrix(name: str) -> None:
    a = arm(name)

    def operations(quantity: str) -> int:
        return count(trace(a.mechanism, JOINTS[quantity])).total

    n = a.n
    by_matrix = operations("coriolis_matrix") + n * n + n * (n - 1)  # C q̇_r alone, before B q̈_r + g
    assert operations("reference_torque") < by_matrix
    assert operations("reference_torque") < 1.6 * operations("inverse_dynamics")


def test_many_joints() -> None:
    """Linear in the number of joints, where C has n²."""
    m = mechanism(random_robot(np.random.default_rng(3), 30, tree=False))
    x = np.random.default_rng(4).uniform(-1, 1, (4, 30)).tolist()
    C = np.array(composite.coriolis_matrix(m, *x[:2]))
    by_difference = np.array(passive_newton_euler.reference_torque(m, *x)) - np.array(
        passive_newton_euler.reference_torque(m, x[0], [0.0] * 30, *x[2:])
    )
    assert relative(by_difference, C @ x[2]) < 1e-9


def test_a_wrong_shape_is_said_in_a_sentence() -> None:
    a = arm("planar-2r")
    with pytest.raises(da.ShapeError, match=r"qd_r has shape \(3,\), but arm 'planar-2r' has 2 joints"):
        a.reference_torque([0, 0], [0, 0], [0, 0, 0], [0, 0])
