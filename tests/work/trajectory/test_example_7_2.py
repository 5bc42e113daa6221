"""S Example 7.2: the three motions, and every remark under Figs. 7.5–7.11 as a test; Problem 7.7."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.work.trajectory.planning.example_7_2 import MOTIONS, PROBLEM_7_7, Example, example_7_2

FIRST, SECOND, LINE = MOTIONS


@pytest.fixture(scope="module", params=MOTIONS)
def example(request: pytest.FixtureRequest) -> Example:
    return example_7_2(request.param)


def close(x: object, y: object, scale: float = 1.0) -> bool:
    return bool(np.allclose(x, y, rtol=0, atol=1e-9 * scale))  # type: ignore[arg-type]


def equations_7_82(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """S (7.82) with the data of the example, term by term; τ (N, 2)."""
    a1 = 1.0
    l1 = l2 = 0.5
    ml1 = ml2 = 50.0
    Il1 = Il2 = 10.0
    kr1 = kr2 = 100.0
    mm2 = 5.0
    Im1 = Im2 = 0.01
    g = 9.81
    (t1, t2), (w1, w2), (e1, e2) = q.T, qd.T, qdd.T
    c1, c2, s2, c12 = np.cos(t1), np.cos(t2), np.sin(t2), np.cos(t1 + t2)
    b11 = Il1 + ml1 * l1**2 + kr1**2 * Im1 + Il2 + ml2 * (a1**2 + l2**2 + 2 * a1 * l2 * c2) + Im2 + mm2 * a1**2
    b12 = Il2 + ml2 * (l2**2 + a1 * l2 * c2) + kr2 * Im2
    b22 = Il2 + ml2 * l2**2 + kr2**2 * Im2
    h = -ml2 * a1 * l2 * s2
    g1 = (ml1 * l1 + mm2 * a1 + ml2 * a1) * g * c1 + ml2 * l2 * g * c12
    g2 = ml2 * l2 * g * c12
    parts = {
        "11": b11 * e1, "12": b12 * e2, "21": b12 * e1, "22": b22 * e2, "coriolis": 2 * h * w1 * w2,
        "centrifugal12": h * w2**2, "centrifugal21": -h * w1**2, "g1": g1, "g2": g2,
    }  # fmt: skip
    tau1 = b11 * e1 + b12 * e2 + 2 * h * w1 * w2 + h * w2**2 + g1
    tau2 = b12 * e1 + b22 * e2 - h * w1**2 + g2
    return np.stack([tau1, tau2], axis=1), parts


def test_all_begin_at_02_with_a_lower_elbow(example: Example) -> None:
    q2 = np.arccos(-0.98)
    q1 = -np.arctan2(np.sin(q2), 1 + np.cos(q2))
    assert close(example.trajectory.q[0], [q1, q2]) and q1 < 0 < q2
    assert close(example.arm.pose(example.trajectory.q[0])[:2, 3], [0.2, 0.0])
    assert close(example.trajectory.qd[[0, -1]], 0, 10)


def test_torques_and_parts_are_those_of_7_82(example: Example) -> None:
    motion, terms = example.trajectory, example.terms
    tau, parts = equations_7_82(motion.q, motion.qd, motion.qdd)
    assert close(example.tau, tau, 1e4) and close(terms.total, tau, 1e4)
    inertia = terms.inertia + terms.rotor  # S's b_ij has both
    for i in (1, 2):
        for j in (1, 2):
            assert close(inertia[:, i - 1, j - 1], parts[f"{i}{j}"], 1e4)
    assert close(terms.coriolis[:, 0, 0, 1], parts["coriolis"], 1e4)
    assert close(terms.centrifugal[:, 0, 1], parts["centrifugal12"], 1e4)
    assert close(terms.centrifugal[:, 1, 0], parts["centrifugal21"], 1e4)
    assert close(terms.gravity, np.stack([parts["g1"], parts["g2"]], axis=1), 1e4)


def test_coriolis_only_at_joint_1(example: Example) -> None:
    assert np.all(example.terms.coriolis[:, 1] == 0)
    assert np.abs(example.terms.coriolis[:, 0, 0, 1]).max() > 100


def test_no_joint_disturbs_itself_centrifugally(example: Example) -> None:
    assert np.all(np.diagonal(example.terms.centrifugal, axis1=1, axis2=2) == 0)


# -- Figs. 7.5, 7.6: equal duration ----------------------------------------------------------------


def test_first_motion_is_triangular() -> None:
    motion = example_7_2(FIRST).trajectory
    assert motion.duration == 0.5 and close(motion.q[-1] - motion.q[0], np.pi / 2)
    peak = 2 * (np.pi / 2) / 0.5
    assert close(motion(0.25)[1], peak) and close(motion(0.125)[1], peak / 2)
    assert close(motion(0.1)[2], peak / 0.25) and close(motion(0.4)[2], -peak / 0.25)


def test_inertia_torque_11_follows_the_acceleration() -> None:
    example = example_7_2(FIRST)
    torque = (example.terms.inertia + example.terms.rotor)[:, 0, 0]
    qdd1 = example.trajectory.qdd[:, 0]
    assert np.all(np.sign(torque) == np.sign(qdd1))
    assert np.corrcoef(torque, qdd1)[0, 1] > 0.95


def test_inertia_torque_22_is_piecewise_constant() -> None:
    for name in (FIRST, SECOND):
        example = example_7_2(name)
        torque = (example.terms.inertia + example.terms.rotor)[:, 1, 1]
        values = np.unique(torque.round(6))
        assert len(values) == (2 if name == FIRST else 3)
        assert close(values[0], -values[-1], 1e4)


def test_equal_accelerations_show_the_symmetry_of_the_inertia_matrix() -> None:
    example = example_7_2(FIRST)
    inertia = example.terms.inertia + example.terms.rotor
    assert close(inertia[:, 0, 1], inertia[:, 1, 0], 1e4)


def test_centrifugal_and_coriolis_reflect_the_symmetry() -> None:
    terms = example_7_2(FIRST).terms
    assert close(terms.centrifugal[:, 0, 1], -terms.centrifugal[:, 1, 0], 1e4)
    assert close(terms.coriolis[:, 0, 0, 1], 2 * terms.centrifugal[:, 0, 1], 1e4)


# -- Figs. 7.7, 7.8: different duration ------------------------------------------------------------


def test_second_motion_is_trapezoidal_and_joint_1_arrives_first() -> None:
    example = example_7_2(SECOND)
    motion = example.trajectory
    way = np.abs(motion.q[-1] - motion.q[0])
    durations = way / 5.0 + 0.15
    assert close(motion.duration, durations[1]) and durations[0] < durations[1]
    assert close(np.abs(motion.qd).max(axis=0), 5.0) and close(np.abs(motion.qdd).max(axis=0), 5 / 0.15, 100)
    assert close(example.arm.pose(motion.q[-1])[:2, 3], [1.8, 0.0])
    after = motion.t >= durations[0]
    assert np.all(motion.qd[after, 0] == 0) and np.all(motion.qdd[after, 0] == 0)
    assert np.all(motion.q[after, 0] == motion.q[-1, 0])


def test_mutual_inertia_torques_are_opposite_where_the_accelerations_are() -> None:
    example = example_7_2(SECOND)
    qdd = example.trajectory.qdd
    inertia = example.terms.inertia + example.terms.rotor
    opposite = (np.abs(qdd[:, 0] + qdd[:, 1]) < 1e-9) & (np.abs(qdd[:, 0]) > 0)
    assert opposite.sum() > 100  # the first 0.15 s
    assert close(inertia[opposite, 0, 1], -inertia[opposite, 1, 0], 1e4)
    other = (qdd != 0).any(axis=1) & ~opposite
    assert not close(inertia[other, 0, 1], -inertia[other, 1, 0], 1e4)


def test_centrifugal_effect_of_joint_2_dies_out_later() -> None:
    example = example_7_2(SECOND)
    t, centrifugal = example.trajectory.t, example.terms.centrifugal
    by_2 = t[np.abs(centrifugal[:, 0, 1]) > 1e-6].max()
    by_1 = t[np.abs(centrifugal[:, 1, 0]) > 1e-6].max()
    assert by_1 < 0.36 < 0.54 < by_2


def test_gravity_at_joint_2_is_constant_at_first_and_grows_at_joint_1() -> None:
    example = example_7_2(SECOND)
    motion, gravity = example.trajectory, example.terms.gravity
    first = motion.t <= motion.knots[1]  # until joint 1 slows down
    assert np.ptp(gravity[first, 1]) < 1e-9 < 50 < np.ptp(gravity[:, 1])
    assert close(motion.q[first].sum(axis=1), motion.q[0].sum())  # link 2 keeps its posture
    assert np.all(np.diff(gravity[:, 0]) > 0)  # the centre of mass moves away from the origin


# -- Figs. 7.9–7.11: straight line -----------------------------------------------------------------


def test_third_motion_keeps_the_tip_on_the_line() -> None:
    example = example_7_2(LINE)
    arm, motion = example.arm, example.trajectory
    assert close(motion.duration, 1.6 / 5 + 0.15)
    tip = arm.pose(motion.q)[:, :3, 3]
    along = da.trapezoidal([0.2], [1.8], acceleration_time=0.15, max_velocity=5.0)
    x, xd, xdd = along(motion.t)
    assert close(tip, np.concatenate([x, 0 * x, 0 * x], axis=1))
    J, Jd = arm.jacobian(motion.q)[:, :2], arm.jacobian_derivative(motion.q, motion.qd)[:, :2]
    tip_velocity = np.einsum("kij,kj->ki", J, motion.qd)
    tip_acceleration = np.einsum("kij,kj->ki", J, motion.qdd) + np.einsum("kij,kj->ki", Jd, motion.qd)
    assert close(tip_velocity, np.concatenate([xd, 0 * x], axis=1), 10)
    assert close(tip_acceleration, np.concatenate([xdd, 0 * x], axis=1), 1000)
    assert np.all(motion.q[:, 0] < 0) and np.all(motion.q[:, 1] > 0)  # the elbow stays below


def test_third_motion_equals_its_closed_form() -> None:
    motion = example_7_2(LINE).trajectory
    x, xd, xdd = (v[:, 0] for v in da.trapezoidal([0.2], [1.8], acceleration_time=0.15, max_velocity=5.0)(motion.t))
    half = np.arccos(x / 2)  # q = (−half, 2 half), x = 2 cos(half)
    rate = -xd / (2 * np.sin(half))
    second = -(xdd + 2 * np.cos(half) * rate**2) / (2 * np.sin(half))
    assert close(motion.q, np.stack([-half, 2 * half], axis=1))
    assert close(motion.qd, np.stack([-rate, 2 * rate], axis=1), 10)
    assert close(motion.qdd, np.stack([-second, 2 * second], axis=1), 1000)


def test_joint_histories_differ_from_those_of_the_tip() -> None:
    motion = example_7_2(LINE).trajectory
    cruising = (motion.t >= 0.15) & (motion.t < motion.knots[1])
    assert np.ptp(np.abs(motion.qd[cruising]), axis=0).min() > 0.5  # steady tip, joints not
    assert np.abs(motion.qdd[cruising]).max() > 1


def test_similar_remarks_hold_on_the_line() -> None:
    example = example_7_2(LINE)
    terms, qdd = example.terms, example.trajectory.qdd
    assert close((terms.inertia + terms.rotor)[:, 1, 1], 122.5 * qdd[:, 1], 1e4)  # b_22 is constant
    # q = (−half, 2 half): joint 2 is twice as fast, so are its mutual torques, opposite in sign
    inertia = terms.inertia + terms.rotor
    assert close(inertia[:, 0, 1], -2 * inertia[:, 1, 0], 1e4)
    assert close(terms.centrifugal[:, 0, 1], -4 * terms.centrifugal[:, 1, 0], 1e4)


# -- Problem 7.7 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MOTIONS)
def test_problem_7_7_is_one_option_away(name: str) -> None:
    free, loaded = example_7_2(name), example_7_2(name, tip_force=PROBLEM_7_7)  # type: ignore[arg-type]
    q1, q2 = loaded.trajectory.q.T
    c1, s1, c12, s12 = np.cos(q1), np.sin(q1), np.cos(q1 + q2), np.sin(q1 + q2)
    contact = np.stack([500 * (-s1 - s12) + 500 * (c1 + c12), 500 * -s12 + 500 * c12], axis=1)  # Jᵀ f
    assert close(loaded.tau - free.tau, contact, 1e4)
    assert close(loaded.terms.contact, contact, 1e4) and close(loaded.terms.total, loaded.tau, 1e4)


def test_mistakes_are_sentences() -> None:
    with pytest.raises(da.DalembertError, match=r"motion of Example 7\.2 is 'fast'; it must be 'equal-duration', "):
        example_7_2("fast")  # type: ignore[arg-type]
    with pytest.raises(da.DalembertError, match="tip_force has shape"):
        example_7_2(FIRST, tip_force=(1, 2, 3))
