"""Linear time scaling, S 7.7: c without another run of inverse dynamics, checked by another run of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from arms import arm, relative, with_terms
from dalembert.work.trajectory.planning.limits import holding_torque, joint_limits
from dalembert.work.trajectory.planning.trajectory import Trajectory


def shares(a: da.Arm, motion: Trajectory, limits: object = None, count: int = 20001) -> np.ndarray:
    """The largest share of each limit that the motion takes: effort, velocity, acceleration."""
    keep = joint_limits(a, limits)  # type: ignore[arg-type]
    knots = np.array([k for k in motion.knots if 0 < k < motion.duration])
    t = np.concatenate([np.linspace(0, motion.duration, count), knots, knots * (1 - 1e-9)])
    q, qd, qdd = motion(t)
    parts = ((a.inverse_dynamics(q, qd, qdd), keep.effort), (qd, keep.velocity), (qdd, keep.acceleration))
    return np.array([(np.abs(x) / limit).max() for x, limit in parts])


def with_friction(name: str, viscous: float, coulomb: float) -> da.Arm:
    """An arm of the registry with friction in every joint."""
    from dataclasses import replace

    robot = arm(name).robot
    friction = da.Friction(viscous, (coulomb, 0.5 * coulomb))
    return da.Arm(robot.replace(joints=tuple(replace(j, friction=friction, rotor=None) for j in robot.joints)))


def test_the_page_without_gravity() -> None:
    """S: τ_s(t) = c² τ̄_s(ct), so that twice the torque needs √2 times the time."""
    a = arm("planar-2r").replace(gravity=(0, 0, 0))
    motion = da.triangular([0.0, 0.0], [1.0, -0.5], duration=0.8)
    q, qd, qdd = motion(np.concatenate([motion.t, [0.4 * (1 - 1e-12)]]))
    peak = np.abs(a.inverse_dynamics(q, qd, qdd)).max(axis=0)
    slow = motion.scaled(a, {"effort": peak / 2})
    assert slow.scaling is not None
    assert slow.scaling.c == pytest.approx(np.sqrt(2), rel=1e-4)
    assert slow.duration == pytest.approx(0.8 * slow.scaling.c)
    assert slow.scaling.limit == "effort" and slow.scaling.exceeded == pytest.approx(2, rel=1e-4)
    # the motion is the same path at another time
    t = np.linspace(0, 0.8, 50)
    assert relative(slow(t * slow.scaling.c)[0], motion(t)[0]) < 1e-12


@pytest.mark.parametrize("name", ["planar-2r", "panda", "puma560", "scara", "iiwa14"])
@pytest.mark.parametrize("viscous", [0.0, 8.0])
def test_scaled_motion_just_keeps_its_limits(name: str, viscous: float) -> None:
    a = with_friction(name, viscous, 0.5 if viscous else 0.0)
    rng = np.random.default_rng(3)
    q = np.cumsum(rng.uniform(-0.5, 0.5, (4, a.n)), axis=0)
    motion = da.spline([0.0, 0.3, 0.5, 0.9], q)
    t = np.linspace(0, 0.9, 2001)
    still = np.zeros_like(motion(t)[0])
    load = np.abs(a.inverse_dynamics(motion(t)[0], 1e-9 * motion(t)[1], still)).max(axis=0)
    limits = {"effort": 1.5 * load + 1.0}
    slow = motion.scaled(a, limits)
    assert slow.scaling is not None and slow.scaling.c > 1
    # (where Coulomb friction jumps, samples meet the largest torque only nearly)
    assert 1 - 1e-3 < shares(a, slow, limits)[0] <= 1 + 1e-6
    # the parts of the deciding torque add up
    report = slow.scaling
    assert report.scaling_torque + report.viscous_torque + report.constant_torque == pytest.approx(report.torque_before)
    limit = limits["effort"][a.joint_names.index(report.joint)]
    assert abs(report.torque) == pytest.approx(limit, rel=1e-9)
    at = motion(report.time)
    assert a.inverse_dynamics(*at)[a.joint_names.index(report.joint)] == pytest.approx(report.torque_before, rel=1e-6)


def test_inverse_dynamics_runs_on_the_motion_as_it_was_only() -> None:
    """(7.126): the torques of the scaled motion are never computed by inverse dynamics."""
    a = arm("planar-2r")
    motion = da.triangular([0.0, 0.0], [2.0, 1.0], duration=0.3)
    seen = []

    class Watched(da.Arm):
        def inverse_dynamics(self, q, qd, qdd, *args, **kwargs):  # type: ignore[no-untyped-def]
            seen.append((q, qd, qdd))
            return super().inverse_dynamics(q, qd, qdd, *args, **kwargs)

    motion.scaled(Watched(a.robot))
    speeds = np.abs(motion(np.linspace(0, 0.3, 5001))[1]).max()
    assert seen and all(np.abs(qd).max() > 0.9 * speeds for _, qd, _ in seen[:1])
    for q, qd, qdd in seen:  # every row is an instant of the motion itself
        assert relative(qd[:, 0] * 0.5, qd[:, 1]) < 1e-9 and relative(qdd[:, 0] * 0.5, qdd[:, 1]) < 1e-9
        assert relative(np.abs(qdd[:, 0]), np.full(len(q), 2.0 * 4 / 0.3**2)) < 1e-9


def test_viscous_friction_is_not_scaled_by_the_square() -> None:
    """One sliding mass: m a / c² + F v / c = limit is a quadratic in 1/c."""
    mass, F = 2.0, 7.0
    a = da.from_dh([{"type": "prismatic", "mass": mass, "friction": {"viscous": F}}], gravity=(0, -9.81, 0))
    motion = da.triangular([0.0], [1.0], duration=1.0)  # a = 4 m/s², v = 2 m/s at its peak
    limit = 9.0
    z = (-F * 2 + np.sqrt((F * 2) ** 2 + 4 * mass * 4 * limit)) / (2 * mass * 4)
    slow = motion.scaled(a, {"effort": limit})
    assert slow.scaling is not None and 1 / slow.scaling.c == pytest.approx(z, rel=1e-8)
    assert slow.scaling.c != pytest.approx(np.sqrt((mass * 4 + F * 2) / limit), rel=1e-2)  # S's own rule
    assert shares(a, slow, {"effort": limit})[0] == pytest.approx(1.0, abs=1e-6)


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_no_limit_is_exceeded_whatever_the_friction(seed: int) -> None:
    """Also where braking and friction balance, so that a slower motion may take more torque than a faster one."""
    rng = np.random.default_rng(seed)
    mass, F = rng.uniform(0.5, 3.0), rng.uniform(0.0, 30.0)
    a = da.from_dh([{"type": "prismatic", "mass": mass, "friction": {"viscous": F}}], gravity=(0, -9.81, 0))
    motion = da.polynomial([0.0], [rng.uniform(0.2, 2)], duration=rng.uniform(0.1, 2))
    limits = {"effort": rng.uniform(0.2, 20), "velocity": rng.uniform(0.3, 3), "acceleration": rng.uniform(1, 10)}
    new = motion.scaled(a, limits, allow_faster=bool(rng.integers(2)))
    assert new.scaling is not None
    assert shares(a, new, limits, 4001).max() <= 1 + 1e-6
    assert new.scaling.c == 1 or shares(a, new, limits, 4001).max() > 1 - 1e-4


def test_nothing_exceeded_nothing_changed() -> None:
    a = arm("panda")
    motion = da.polynomial([0.0] * 7, [0.1] * 7, duration=5.0)
    same = motion.scaled(a)
    assert same.scaling is not None and same.scaling.c == 1.0 and same.duration == motion.duration
    assert "unchanged" in str(same.scaling)
    faster = motion.scaled(a, allow_faster=True)
    assert faster.scaling is not None and faster.scaling.c < 1 and "sped up" in str(faster.scaling)
    assert shares(a, faster).max() == pytest.approx(1.0, abs=1e-6)


def test_velocity_and_acceleration_limits_count() -> None:
    a = arm("panda")
    motion = da.polynomial([0.0] * 7, [1.0] * 7, duration=0.5)
    for kind, power in (("velocity", 1.0), ("acceleration", 0.5)):
        slow = motion.scaled(a, {kind: 1.0})
        peak = np.abs(motion(np.linspace(0, 0.5, 100001))[1 if kind == "velocity" else 2]).max()
        assert slow.scaling is not None and slow.scaling.limit == kind
        assert slow.scaling.c == pytest.approx(peak**power, rel=1e-6)


def test_gravity_alone_names_joint_and_time() -> None:
    a = arm("planar-2r")
    motion = da.polynomial([-np.pi / 2, 0.0], [0.0, 0.0], duration=2.0)  # hanging, then stretched out
    with pytest.raises(
        da.LimitError, match=r"gravity alone requires .* from joint 'joint1' at t = 2 s.* is 500"
    ) as error:
        motion.scaled(a, {"effort": [500.0, 500.0]})
    assert error.value.joint == "joint1" and error.value.time == pytest.approx(2.0)


def test_missing_limits_are_one_sentence() -> None:
    motion = da.polynomial([0.0] * 6, [1.0] * 6, duration=1.0)
    with pytest.raises(da.LimitError, match=r"joint '.*' of arm 'kr300' has no effort limit; give one") as error:
        motion.scaled(arm("kr300"))
    assert "\n" not in str(error.value) and error.value.joint == arm("kr300").joint_names[0]
    some = [da.Limits(effort=10.0, velocity=1.0)] * 5 + [da.Limits(effort=10.0)]
    with pytest.raises(da.LimitError, match=r"joint '.*' of arm 'puma560' has no velocity limit"):
        motion.scaled(arm("puma560"), some)
    with pytest.raises(da.LimitError, match=r"joint '.*' of arm '.*' has no effort limit; give one, as in limits="):
        motion.scaled(arm("puma560"), {"effort": [1, 2, 3, 4, 5, None]})
    for limits, words in (
        ({"torque": 1.0}, "unknown limit 'torque'"),
        ({"effort": [1.0, 2.0]}, "has 2 values"),
        ({}, "empty dict"),
        ([da.Limits()], "must be 6 Limits"),
        ({"velocity": 0.0}, "must be more than 0"),
    ):
        with pytest.raises(da.DalembertError, match=words):
            motion.scaled(arm("puma560"), limits)
    with pytest.raises(da.ShapeError, match="6 joints"):
        motion.scaled(arm("panda"))


# -- terms of friction -----------------------------------------------------------------------------

STANDING = (
    da.Friction(2.0, (0.5, 0.3), spring={"stiffness": 30.0, "rest": 0.4}, offset=2.0),
    da.Friction(1.0, harmonic={"order": 6, "sine": 1.5}, gas_spring={"force": 60.0, "a": 0.1, "b": 0.3, "angle": 0.5}),
)


def test_terms_of_the_position_act_like_gravity() -> None:
    """Springs, ripple, counterbalances and offsets are part of what no timing changes, in both ways to time a motion."""
    a = da.Arm(with_terms(arm("planar-2r").robot, STANDING))
    motion = da.spline([0.0, 0.3, 0.5, 0.9], np.cumsum(np.random.default_rng(3).uniform(-0.5, 0.5, (4, 2)), axis=0))
    still = holding_torque(a, motion.q)
    assert relative(still, a.inverse_dynamics(motion.q, 0.0 * motion.q, 0.0 * motion.q)) < 1e-12
    limits = {"effort": 1.5 * np.abs(still).max(axis=0) + 1.0}
    slow = motion.scaled(a, limits)
    report = slow.scaling
    assert report is not None and report.c > 1 and 1 - 1e-3 < shares(a, slow, limits)[0] <= 1 + 1e-6
    joint = a.joint_names.index(report.joint)  # type: ignore[union-attr]
    q, qd, qdd = slow(report.c * report.time)  # type: ignore[union-attr]
    assert a.inverse_dynamics(q, qd, qdd)[joint] == pytest.approx(report.torque, rel=1e-9)  # type: ignore[union-attr]
    fast = motion.time_optimal(a, limits, grid=300)
    assert 1 - 1e-3 < shares(a, fast, limits)[0] <= 1 + 1e-6 and fast.duration < slow.duration
    with pytest.raises(
        da.LimitError, match="gravity, the torque offset, the spring and Coulomb friction alone require"
    ):
        motion.scaled(a, {"effort": 0.5 * np.abs(still).max(axis=0)})


@pytest.mark.parametrize(
    ("friction", "words"),
    [
        (da.Friction(stribeck={"level": 1.0, "speed": 0.1}), r"Stribeck friction \('stribeck'\), which depends on the speed"),
        (da.Friction(tanh={"level": 1.0, "width": 0.1}), r"gradual Coulomb friction \('tanh'\), which depends on the speed"),
        (da.Friction(sigmoid={"level": 1.0, "width": 0.1}), r"sigmoid friction \('sigmoid'\), which depends on the speed"),
        (da.Friction(load={"share": 0.1}), r"load-dependent friction \('load'\), which depends on the load"),
        (da.Friction(gear={"driving": 0.1, "driven": 0.2}), r"gear losses \('gear'\), which depends on the load"),
    ],
)  # fmt: skip
def test_terms_that_no_timing_knows_are_refused_by_name(friction: da.Friction, words: str) -> None:
    a = da.Arm(with_terms(arm("planar-2r").robot, [da.Friction(), friction]))
    motion = da.polynomial([0.0, 0.0], [0.5, 0.5], duration=1.0)
    for time in (motion.scaled, motion.time_optimal):
        with pytest.raises(
            da.LimitError, match=f"joint 'joint2' has {words} .* remove it with friction.without"
        ) as error:
            time(a)  # type: ignore[operator]
        assert error.value.joint == "joint2" and "\n" not in str(error.value)
    bounded = motion.time_optimal(a, {"velocity": 1.0, "acceleration": 2.0}, grid=100)  # no torque is asked for
    assert shares(a, bounded, {"velocity": 1.0, "acceleration": 2.0}).max() <= 1 + 1e-6
