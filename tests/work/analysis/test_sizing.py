"""Sizing: peaks, means, energies and bearing loads against mechanics that is known otherwise."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.work.sizing.motion_samples import samples
from dalembert.work.sizing.sizing import energies, rms, size
from dalembert.work.trajectory.planning.motion_file import MotionTable

Q0, Q1 = np.array([-1.4, 2.9]), np.array([0.3, 1.2])


@pytest.fixture(scope="module")
def arm() -> da.Arm:
    return da.load("planar-2r")


@pytest.fixture(scope="module")
def motion() -> da.Trajectory:
    return da.triangular(Q0, Q1, duration=0.6)


def test_both_sides_of_a_jump_are_seen(arm: da.Arm, motion: da.Trajectory) -> None:
    at = samples(motion)
    (knot,) = np.flatnonzero(np.diff(at.t) == 0)
    assert at.t[knot] == pytest.approx(0.3)
    np.testing.assert_allclose(at.qdd[knot], -at.qdd[knot + 1])
    # the largest torque of joint 1 stands just before the jump, where the plain samples do not look
    before = arm.inverse_dynamics(at.q[knot], at.qd[knot], at.qdd[knot])
    sizing = size(arm, motion)
    fine = np.linspace(0, 0.6, 100_001)
    dense = np.abs(arm.inverse_dynamics(*motion(fine))).max(axis=0)
    np.testing.assert_allclose(np.maximum(sizing.torque.peak, dense), sizing.torque.peak, rtol=1e-4)
    assert (sizing.torque.peak >= np.abs(before) * (1 - 1e-12)).all()


def test_instants_of_the_peaks(arm: da.Arm, motion: da.Trajectory) -> None:
    at, sizing = samples(motion), size(arm, motion)
    tau = arm.inverse_dynamics(at.q, at.qd, at.qdd)
    for i in range(2):
        rows = at.t == sizing.torque.at[i]
        assert np.abs(tau[rows, i]).max() == sizing.torque.peak[i] == np.abs(tau[:, i]).max()
    np.testing.assert_allclose(sizing.speed.at, 0.3)


def test_motor_side(arm: da.Arm, motion: da.Trajectory) -> None:
    sizing = size(arm, motion)
    np.testing.assert_allclose(sizing.motor_torque.peak, sizing.torque.peak / 100)
    np.testing.assert_allclose(sizing.motor_torque.rms, sizing.torque.rms / 100)
    np.testing.assert_allclose(sizing.motor_torque.margin, sizing.torque.margin)
    np.testing.assert_allclose(sizing.motor_speed.peak, sizing.speed.peak * 100)
    np.testing.assert_allclose(sizing.motor_power.peak, sizing.power.peak)
    none = size(da.load("panda"), da.triangular(np.zeros(7), np.full(7, 0.1), duration=1.0))
    assert np.isnan(none.motor_torque.peak).all() and np.isnan(none.motor_torque.at).all()


def test_a_backward_gear_turns_the_signs() -> None:
    arm = da.load("puma560")
    sizing = size(arm, da.triangular(np.zeros(6), np.full(6, 0.4), duration=1.0))
    assert np.sign(sizing.motor_torque.value[0]) == -np.sign(sizing.torque.value[0])
    assert (sizing.motor_torque.limit > 0).all()


@pytest.mark.parametrize("name", ["planar-2r", "scara", "pr-arm", "ur5e"])
def test_energy_given_is_what_the_arm_has_gained(name: str) -> None:
    """Σ ∫ τ q̇ dt = ΔT + ΔU + friction, S (7.48)."""
    arm = da.load(name)
    q1 = np.full(arm.n, 0.2)
    motion = da.polynomial(np.zeros(arm.n), q1, duration=0.8)
    sizing = size(arm, motion)
    at = samples(motion)
    stored = arm.potential_energy(q1) - arm.potential_energy(np.zeros(arm.n))
    lost = arm.friction_torque(at.qd) * at.qd
    rubbed = (np.diff(at.t)[:, None] * (lost[1:] + lost[:-1]) / 2).sum()
    assert (sizing.energy - sizing.returned).sum() == pytest.approx(stored + rubbed, rel=2e-3, abs=1e-4)
    assert (sizing.energy >= 0).all() and (sizing.returned >= 0).all()


def test_energies_and_means_of_straight_lines() -> None:
    t = np.array([0.0, 1.0, 3.0])
    given, returned = energies(t, np.array([[2.0], [-2.0], [-2.0]]))
    assert given == pytest.approx([0.5]) and returned == pytest.approx([4.5])
    assert rms(t, np.array([[3.0], [3.0], [3.0]])) == pytest.approx([3.0])
    assert rms(np.array([1.0]), np.array([[-2.0]])) == pytest.approx([2.0])  # no time passes


def test_bearings_of_an_arm_that_hangs_still() -> None:
    """At rest a bearing of the planar arm carries the weight behind it, and nothing along its axis."""
    arm = da.load("planar-2r")
    still = np.zeros((2, 2))
    down = np.tile([-np.pi / 2, 0.0], (2, 1))
    sizing = size(arm, MotionTable(np.array([0.0, 1.0]), down, still, still))
    np.testing.assert_allclose(sizing.force.peak, [105 * 9.81, 50 * 9.81])
    np.testing.assert_allclose(sizing.radial.peak, sizing.force.peak)
    np.testing.assert_allclose(sizing.axial.peak, 0, atol=1e-9)
    np.testing.assert_allclose(sizing.tilting.peak, 0, atol=1e-9)


def test_bearings_tilt_when_gravity_lies_along_the_axis() -> None:
    arm = da.load("planar-2r").replace(gravity=(0, 0, -9.81))
    still = np.zeros((2, 2))
    sizing = size(arm, MotionTable(np.array([0.0, 1.0]), still, still, still))
    np.testing.assert_allclose(sizing.axial.value, [105 * 9.81, 50 * 9.81])
    np.testing.assert_allclose(sizing.radial.peak, 0, atol=1e-9)
    np.testing.assert_allclose(sizing.tilting.peak, [(50 * 0.5 + 5 + 50 * 1.5) * 9.81, 50 * 0.5 * 9.81])


def test_payload_and_tip_wrench_count(arm: da.Arm, motion: da.Trajectory) -> None:
    plain = size(arm, motion)
    assert (size(arm, motion, payload=20.0).torque.peak > plain.torque.peak).all()
    pushed = size(arm, motion, tip_wrench=[500, 500, 0, 0, 0, 0])
    at = samples(motion)
    tau = arm.inverse_dynamics(at.q, at.qd, at.qdd, [500, 500, 0, 0, 0, 0])
    np.testing.assert_array_equal(pushed.torque.peak, np.abs(tau).max(axis=0))


def test_limits_and_margins(arm: da.Arm) -> None:
    sizing = size(arm, da.triangular(Q0, Q1, duration=0.2))
    np.testing.assert_allclose(sizing.torque.margin, 1 - sizing.torque.peak / [10000, 5000])
    assert any("joint 'joint1': torque" in line for line in sizing.exceeded)
    quantity, joint = sizing.tightest
    assert quantity.used[joint] == max(sizing.torque.used.max(), sizing.speed.used.max())
    free = size(da.load("kr300"), da.triangular(np.zeros(6), np.full(6, 0.1), duration=1.0))
    assert np.isnan(free.torque.margin).all() and free.exceeded == [] and free.tightest is None


def test_table_and_csv_hold_the_same(arm: da.Arm, motion: da.Trajectory, tmp_path: Path) -> None:
    sizing = size(arm, motion)
    rows = sizing.table()
    assert [row["joint"] for row in rows] == ["joint1", "joint2"]
    assert rows[0]["torque_peak"] == sizing.torque.peak[0] and rows[0]["torque_unit"] == "N m"
    sizing.to_csv(tmp_path / "sizing.csv")
    read = list(csv.DictReader(io.StringIO((tmp_path / "sizing.csv").read_text())))
    for row, back in zip(rows, read, strict=True):
        for key, value in row.items():
            assert back[key] == "" if value != value else type(value)(back[key]) == value, key
    with pytest.raises(da.DalembertError, match="was not changed"):
        sizing.to_csv(tmp_path / "sizing.csv")


def test_wrong_motions_get_a_sentence(arm: da.Arm) -> None:
    t, x = np.array([0.0, 1.0]), np.zeros((2, 3))
    with pytest.raises(da.DalembertError, match="arm 'planar-2r' has 2 joints"):
        size(arm, MotionTable(t, x, x, x))
    y = np.zeros((2, 2))
    bad = y.copy()
    bad[1, 0] = np.nan
    with pytest.raises(da.DalembertError, match="qd1 at t = 1 s is not a finite number"):
        size(arm, MotionTable(t, y, bad, y))
