"""The fastest timing of a path: analytic cases, limits between the grid points, toppra and its published suite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline, PPoly
from scipy.optimize import brentq

import dalembert as da
from arms import REFERENCE, arm
from dalembert.work.trajectory.planning.limits import joint_limits
from dalembert.work.trajectory.planning.profiles import SmoothCurve
from dalembert.work.trajectory.planning.trajectory import Trajectory
from dalembert.work.trajectory.timing import path_functions as along
from dalembert.work.trajectory.timing import reachable_sets as passes
from dalembert.work.trajectory.timing import refinement as rounds
from dalembert.work.trajectory.timing import time_optimal
from dalembert.work.trajectory.timing.moves import moves_of, states
from dalembert.work.trajectory.timing.path_limits import LimitedPath, even_grid, problem

EXCESS = 1e-6


def sliding(mass: float = 2.0, viscous: float = 0.0, coulomb: float = 0.0, gravity: float = 0.0) -> da.Arm:
    """One mass on a rail; gravity pulls it back along the rail."""
    row = {"type": "prismatic", "mass": mass, "friction": {"viscous": viscous, "coulomb": coulomb}}
    return da.from_dh([row], gravity=(0, 0, -gravity) if gravity else (0, -9.81, 0))


def pendulum(viscous: float = 0.0) -> da.Arm:
    row = {
        "a": 1.0,
        "mass": 1.0,
        "com": (0, 0, 0),
        "inertia": {"xx": 0.01, "yy": 0.01, "zz": 0.01},
        "friction": {"viscous": viscous},
    }
    return da.from_dh([row], gravity=(0, -9.81, 0))


def with_friction(a: da.Arm, viscous: float, coulomb: float) -> da.Arm:
    friction = da.Friction(viscous, (coulomb, 0.5 * coulomb))
    return da.Arm(a.robot.replace(joints=tuple(replace(j, friction=friction) for j in a.robot.joints)))


def of_curve(curve: Any, knots: Any = ()) -> Trajectory:
    return Trajectory(float(curve.x[-1]), curve.c.shape[2], SmoothCurve.of(curve), tuple(knots))


def excess(a: da.Arm, motion: Trajectory, limits: object = None, factor: int = 20) -> float:
    """By how much of itself a limit is exceeded, on a grid 20 times as dense as the motion's own."""
    keep = joint_limits(a, limits)  # type: ignore[arg-type]
    assert motion.scaling is not None
    t = motion.scaling.t  # type: ignore[union-attr]
    fine = t[:-1, None] + np.diff(t)[:, None] * (np.arange(factor) + 0.37) / factor
    q, qd, qdd = motion(np.concatenate([t, fine.ravel(), t[1:] * (1 - 1e-13)]))
    pairs = ((a.inverse_dynamics(q, qd, qdd), keep.effort), (qd, keep.velocity), (qdd, keep.acceleration))
    return max(float((np.abs(x) / limit).max()) for x, limit in pairs) - 1.0


def is_the_same_path_from_rest_to_rest(before: Trajectory, after: Trajectory) -> None:
    report = after.scaling
    assert report is not None
    assert np.abs(before(report.s)[0] - after(report.t)[0]).max() < 1e-9  # type: ignore[union-attr]
    assert np.abs(after([0.0, after.duration])[1]).max() < 1e-6 * np.abs(after.qd).max()
    # velocities and accelerations are derivatives
    t = np.linspace(0.05, 0.95, 301) * after.duration
    d = 1e-6 * after.duration
    q1, q2 = after(t - d)[0], after(t + d)[0]
    assert np.abs((q2 - q1) / (2 * d) - after(t)[1]).max() < 1e-3 * np.abs(after.qd).max()


# -- analytic cases ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["cubic", "quintic", "septic", "line", "trapezoid"])
def test_double_integrator_is_bang_bang(shape: str) -> None:
    """T = 2 √(d / a), whatever the timing that the path came with."""
    a, d, limit = sliding(), 1.5, 3.0
    if shape == "line":
        motion = of_curve(PPoly(np.array([[[d]], [[0.0]]]), np.array([0.0, 1.0])))
    elif shape == "trapezoid":
        motion = da.trapezoidal([0.0], [d], duration=2.0, max_velocity=1.0)
    else:
        motion = da.polynomial([0.0], [d], duration=2.0, degree={"cubic": 3, "quintic": 5, "septic": 7}[shape])
    for limits in ({"acceleration": limit}, {"effort": 2.0 * limit}):
        fast = motion.time_optimal(a, limits)
        assert fast.duration == pytest.approx(2 * np.sqrt(d / limit), rel=2e-3 if shape == "septic" else 3e-4)
        assert fast.duration >= 2 * np.sqrt(d / limit) * (1 - EXCESS)
        assert excess(a, fast, limits) < EXCESS
        is_the_same_path_from_rest_to_rest(motion, fast)


def test_double_integrator_with_a_velocity_limit() -> None:
    a, d, accel, speed = sliding(), 2.0, 4.0, 1.5
    motion = da.polynomial([0.0], [d], duration=5.0)
    limits = {"acceleration": accel, "velocity": speed}
    fast = motion.time_optimal(a, limits)
    assert fast.duration == pytest.approx(d / speed + speed / accel, rel=3e-4)
    assert excess(a, fast, limits) < EXCESS
    report = fast.scaling
    assert [x.limit for x in report.active if x.end - x.start > 0.01] == ["acceleration", "velocity", "acceleration"]  # type: ignore[union-attr]


def test_viscous_and_coulomb_friction_on_a_rail() -> None:
    """m ẍ + F ẋ + F_s sgn ẋ = ±τ, solved exactly: exponential approach, then braking helped by friction."""
    mass, F, F_s, tau, d = 2.0, 5.0, 3.0, 12.0, 1.0
    a = sliding(mass, F, F_s)
    push, brake, r = (tau - F_s) / F, (tau + F_s) / F, F / mass

    def both(t1: float) -> tuple[float, float]:  # speed and way after t1 of full thrust
        v = push * (1 - np.exp(-r * t1))
        return v, push * t1 - v / r

    def total(t1: float) -> tuple[float, float]:  # way and time, with braking to rest
        v, way = both(t1)
        t2 = np.log(1 + v / brake) / r
        return way + v / r - brake * t2, t1 + t2

    low, high = 0.0, 10.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if total(middle)[0] < d else (low, middle)
    best = total(low)[1]
    motion = da.polynomial([0.0], [d], duration=3.0)
    fast = motion.time_optimal(a, {"effort": tau})
    assert fast.duration == pytest.approx(best, rel=6e-4) and fast.duration > best * (1 - 2 * EXCESS)
    assert excess(a, fast, {"effort": tau}) < EXCESS
    free = motion.time_optimal(sliding(mass), {"effort": tau})
    assert free.duration < fast.duration


def test_terminal_speed_of_a_pulled_mass() -> None:
    """With strong viscous friction the speed settles where F ẋ is the whole torque."""
    a = sliding(1.0, viscous=50.0)
    fast = da.polynomial([0.0], [4.0], duration=3.0).time_optimal(a, {"effort": 25.0})
    assert np.abs(fast.qd).max() == pytest.approx(0.5, rel=1e-5)
    assert excess(a, fast, {"effort": 25.0}) < EXCESS


def test_weak_pendulum_passes_the_horizontal_by_its_swing() -> None:
    """Gravity alone is too much at the horizontal, but it is passed with momentum, if there is enough."""
    a = pendulum()
    motion = da.polynomial([-np.pi / 2], [np.pi / 2], duration=2.0)
    top = float(np.abs(a.gravity_torque(np.linspace(-1.5, 1.5, 101)[:, None])).max())
    strong, weak = (motion.time_optimal(a, {"effort": f * top}) for f in (1.3, 0.9))
    assert excess(a, strong, {"effort": 1.3 * top}) < EXCESS and excess(a, weak, {"effort": 0.9 * top}) < EXCESS
    assert weak.duration > strong.duration
    with pytest.raises(da.LimitError, match=r"from joint '.*' at t = .* no timing leads past t = ") as error:
        motion.time_optimal(a, {"effort": 0.3 * top})
    assert error.value.joint == a.joint_names[0] and error.value.time is not None
    # energy: τ (θ + π/2) ≥ m g l (1 + sin θ) all the way; it is least where m g l cos θ = τ for the second time
    angle = brentq(lambda x: np.cos(x) * (x + np.pi / 2) - 1 - np.sin(x), 0.1, 1.5)
    least = top * np.cos(angle)
    assert motion.time_optimal(a, {"effort": 1.005 * least}).duration > weak.duration
    with pytest.raises(da.LimitError):
        motion.time_optimal(a, {"effort": 0.995 * least})


@pytest.mark.parametrize("kind", [None, "acceleration", "velocity"])
def test_the_joint_that_cannot_bear_its_own_friction_is_to_blame(kind: str | None) -> None:
    """Joint 6 of the Puma, with a limit below its Coulomb friction backwards, whatever else is limited."""
    a = da.load("puma560")
    motion = da.spline(range(5), [
        [0.52, -0.18, 0.43, 0.10, -0.39, 0.36], [-0.03, -0.41, -0.02, 0.39, -0.03, -0.08],
        [-0.09, -0.87, 0.56, 0.47, -0.15, -0.12], [0.51, -1.36, 0.68, 0.67, 0.08, -0.13],
        [0.21, -1.55, 0.57, 0.36, 0.13, -0.13],
    ])  # fmt: skip
    limits = {"effort": [97.6, 186.4, 89.4, 24.2, 20.1, 0.69]}
    limits |= {} if kind is None else {kind: [4.4, 1.0, 6.6, 4.4, 5.3, 3.6]}
    with pytest.raises(da.LimitError, match=r"gravity and Coulomb friction alone .*-0\.805203") as error:
        motion.time_optimal(a, limits=limits)
    assert error.value.joint == "joint6" and "effort limit" in str(error.value)
    q, qd, _ = motion(error.value.time)
    assert a.inverse_dynamics(q, 1e-9 * qd, 0 * q)[5] == pytest.approx(-0.805203)


# -- every arm, every friction ---------------------------------------------------------------------


def a_path(a: da.Arm, seed: int, boundary: str = "clamped", points: int = 5) -> Trajectory:
    way = np.random.default_rng(seed).uniform(-1, 1, (points, a.n))
    return da.spline(np.arange(float(points)), way, boundary)


def room_for(a: da.Arm, motion: Trajectory, share: float = 1.3) -> dict[str, Any]:
    """Limits with a little more than what rest takes, so that the torques decide."""
    q, qd, _ = motion(np.linspace(0, motion.duration, 400))
    load = np.abs(a.inverse_dynamics(q, 1e-9 * qd, 0 * q)).max(axis=0)
    return {"effort": share * load + 0.05 * load.max()}


# every friction is compiled into kernels of its own: all of them on two arms, and one or two on every other
WITH_FRICTION = [
    *((name, f) for name in ("planar-2r", "puma560") for f in ((0.0, 0.0), (5.0, 0.0), (0.0, 2.0), (20.0, 1.0))),
    *((name, f) for name in ("scara", "pr-arm") for f in ((0.0, 2.0), (20.0, 1.0))),
    ("panda", (5.0, 0.0)), ("random-tree", (5.0, 0.0)), ("iiwa14", (20.0, 1.0)), ("ur10", (20.0, 1.0)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "friction"), WITH_FRICTION)
@pytest.mark.parametrize("boundary", ["clamped", "natural"])
def test_no_limit_is_exceeded_anywhere(name: str, friction: tuple[float, float], boundary: str) -> None:
    a = with_friction(arm(name), *friction)
    motion = a_path(a, 5, boundary)
    limits = room_for(a, motion)
    fast = motion.time_optimal(a, limits, grid=400)
    assert excess(a, fast, limits) < EXCESS
    assert fast.scaling is not None and fast.scaling.largest_share < 1 + EXCESS  # type: ignore[union-attr]
    is_the_same_path_from_rest_to_rest(motion, fast)
    # torque is used up nearly everywhere: what bang-bang means
    q, qd, qdd = fast(np.linspace(0.02, 0.98, 500) * fast.duration)
    used = (np.abs(a.inverse_dynamics(q, qd, qdd)) / limits["effort"]).max(axis=1)
    assert np.median(used) > 0.98 or friction[0] > 10
    both = limits | {"velocity": 0.7 * np.abs(fast.qd).max(axis=0), "acceleration": 0.7 * np.abs(fast.qdd).max(axis=0)}
    slower = motion.time_optimal(a, both, grid=400)
    assert excess(a, slower, both) < EXCESS and slower.duration > fast.duration


@pytest.mark.parametrize(("viscous", "coulomb"), [(-30.0, 0.0), (0.0, -20.0)])
def test_friction_below_0_of_a_fit_exceeds_no_limit(viscous: float, coulomb: float) -> None:
    told: dict[str, Any] = {
        "viscous": {"damping": viscous, "physical": False},
        "coulomb": {"forward": coulomb, "backward": coulomb, "physical": False},
    }
    robot = arm("planar-2r").robot
    a = da.Arm(robot.replace(joints=[replace(joint, friction=da.Friction(**told)) for joint in robot.joints]))
    motion = da.spline([0.0, 1.0], [[0.0, 0.0], [1.0, 1.0]])
    limits = {"effort": [10000.0, 5000.0]}
    assert excess(a, motion.time_optimal(a, limits), limits) < EXCESS


def test_what_friction_takes_is_told_in_newton_metres_at_the_ends_too() -> None:
    motion = da.spline([0.0, 1.0], [[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(
        da.LimitError, match=r"gravity and Coulomb friction alone require (19|20)\d{3}.*from joint 'joint2'"
    ):
        motion.time_optimal(with_friction(arm("planar-2r"), 0.0, 20000.0), {"effort": [10000.0, 5000.0]})


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_no_limit_is_exceeded_random(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = with_friction(arm("puma560"), rng.choice([0.0, 23.0]), rng.choice([0.0, 1.7]))  # each is compiled
    motion = a_path(a, seed, str(rng.choice(["clamped", "natural", "not-a-knot"])), int(rng.integers(4, 9)))
    limits = room_for(a, motion, rng.uniform(1.1, 3))
    if rng.random() < 0.5:
        limits |= {"velocity": rng.uniform(0.3, 5), "acceleration": rng.uniform(1, 30)}
    grid = int(rng.integers(150, 600))
    fast = motion.time_optimal(a, limits, grid=grid)
    assert excess(a, fast, limits) < EXCESS
    tighter = {kind: 0.9 * np.asarray(value) for kind, value in limits.items() if kind != "effort"}
    if tighter:
        assert motion.time_optimal(a, limits | tighter, grid=grid).duration > fast.duration * (1 - 1e-2)


def test_tighter_limits_are_never_faster() -> None:
    a = arm("panda")
    motion = a_path(a, 1)
    times = []
    for share in (1.0, 0.9, 0.8, 0.6, 0.4):
        keep = joint_limits(a, None)
        limits = {"effort": keep.effort, "velocity": share * keep.velocity, "acceleration": share * keep.acceleration}
        times.append(motion.time_optimal(a, limits).duration)
    assert np.all(np.diff(times) > 0)


def test_finer_grids_agree() -> None:
    a = arm("iiwa14")
    motion = a_path(a, 2)
    coarse, fine = (motion.time_optimal(a, grid=grid).duration for grid in (1000, 8000))
    assert coarse == pytest.approx(fine, rel=2e-4) and coarse > fine * (1 - EXCESS)


def test_the_timing_it_came_with_does_not_matter() -> None:
    a = arm("planar-2r")
    q0, q1 = [0.0, 0.5], [1.5, -1.0]
    motions = [
        da.polynomial(q0, q1, duration=1.0),
        da.polynomial(q0, q1, duration=7.0, degree=3),
        da.triangular(q0, q1, duration=3.0),
        da.spline([0.0, 2.0], [q0, q1]),
    ]
    times = [motion.time_optimal(a).duration for motion in motions]
    assert np.ptp(times) < 2e-4 * times[0]
    again = motions[0].time_optimal(a)
    assert again.time_optimal(a).duration == pytest.approx(times[0], rel=2e-4)


def test_stops_corners_and_joints_that_never_move() -> None:
    a = arm("planar-2r")
    # a corner: q' jumps at the knot, so the motion must stop there
    corner = PPoly(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]]]), np.array([0.0, 1.0, 2.0]))
    motion = of_curve(corner, (1.0,))
    limits = {"acceleration": 4.0}
    fast = motion.time_optimal(a, limits)
    assert fast.duration == pytest.approx(2 * 2 * np.sqrt(1 / 4.0), rel=1e-3)
    assert np.abs(fast(fast.duration / 2)[1]).max() < 0.01
    # a motion that pauses for a while: the pause is nothing to the path
    pause = da.spline([0.0, 1.0, 2.0, 3.0], [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [2.0, 0.0]], degree=3)
    assert excess(a, pause.time_optimal(a), None) < EXCESS
    still = da.polynomial([0.2, 0.3], [1.0, 0.3], duration=2.0)
    rough = with_friction(a, 3.0, 2.0)
    assert excess(rough, still.time_optimal(rough), None) < EXCESS


def test_errors_are_one_sentence() -> None:
    a = arm("planar-2r")
    motion = da.polynomial([0.0, 0.0], [0.5, 0.5], duration=2.0)
    with pytest.raises(da.LimitError, match=r"joint 'joint\d' at t = ") as error:
        motion.time_optimal(a, {"effort": [300.0, 5000.0]})
    assert error.value.joint == "joint1" and "\n" not in str(error.value)
    still = da.polynomial([0.0, 0.0], [0.0, 0.5], duration=2.0)
    slack = a.replace(gravity=(0, -9.81, 0))
    with pytest.raises(da.LimitError, match="joint1"):
        still.time_optimal(slack, {"effort": [100.0, 5000.0]})
    with pytest.raises(da.LimitError, match=r"joint '.*' of arm 'kr300' has no effort limit"):
        da.polynomial([0.1] * 6, [0.5] * 6, duration=2.0).time_optimal(arm("kr300"))
    with pytest.raises(da.DalembertError, match="never moves"):
        da.polynomial([0.0, 0.0], [0.0, 0.0], duration=1.0).time_optimal(a)
    with pytest.raises(da.DalembertError, match="grid is 1"):
        motion.time_optimal(a, grid=1)
    with pytest.raises(da.DalembertError, match="no less than"):
        motion.time_optimal(a, duration=1e-3)


# -- toppra ------------------------------------------------------------------------------------------


def toppras(motion: Any, a: da.Arm, grid: int, torque: bool = True) -> tuple[float, Any]:
    """toppra's duration for the same spline, with the limits kept at both ends of every interval."""
    toppra = pytest.importorskip("toppra")
    constraint, algorithm = pytest.importorskip("toppra.constraint"), pytest.importorskip("toppra.algorithm")
    toppra.setup_logging("ERROR")
    keep, scheme = joint_limits(a, None), constraint.DiscretizationType.Interpolation
    both = [np.stack([-x, x], axis=1) for x in (keep.velocity, keep.acceleration, keep.effort)]
    limits = [
        constraint.JointVelocityConstraint(both[0]),
        constraint.JointAccelerationConstraint(both[1], discretization_scheme=scheme),
    ]
    if torque:
        limits.append(
            constraint.JointTorqueConstraint(a.inverse_dynamics, both[2], np.zeros(a.n), discretization_scheme=scheme)
        )
    path = toppra.SplineInterpolator(motion[0], motion[1], bc_type=motion[2])
    points = np.linspace(0, motion[0][-1], grid + 1)
    run = algorithm.TOPPRA(
        limits, path, gridpoints=points, solver_wrapper="seidel", parametrizer="ParametrizeConstAccel"
    )
    found = run.compute_trajectory(0, 0)
    return found.duration, found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("boundary", ["clamped", "not-a-knot", "natural"])
def test_never_longer_than_toppra(seed: int, boundary: str) -> None:
    a = arm("panda")
    keep = joint_limits(a, None)
    limits = [da.Limits(effort=e, velocity=v, acceleration=c) for e, v, c in zip(
        0.8 * keep.effort, keep.velocity, 1.5 * keep.acceleration, strict=True)]  # fmt: skip
    weak = da.Arm(a.robot.replace(joints=tuple(
        replace(j, limits=limits[a.joint_names.index(j.name)]) if j.moves else j for j in a.robot.joints)))  # fmt: skip
    way = np.random.default_rng(seed).uniform(-1, 1, (5, 7))
    t = np.arange(5.0)
    theirs, _ = toppras((t, way, boundary), weak, 1000)
    ours = da.spline(t, way, boundary).time_optimal(weak, grid=1000)
    assert ours.duration <= theirs * (1 + EXCESS)
    assert excess(weak, ours) < EXCESS


def published() -> Any:
    file = REFERENCE / "time_optimal.json"
    if not file.exists():
        pytest.skip("../shared/data is not here")
    return json.loads(file.read_text())["published"]


def test_published_profile_of_toppra() -> None:
    """Controllable sets, greatest speeds and profile of toppra's own test, on its grid and with its collocation."""
    case = published()["toppra_poly_path"]
    coefficients = np.array(case["coeff"]).transpose(1, 0, 2)
    curve = PPoly(coefficients, np.array([0.0, 1.0, 2.0, 3.0]))
    N, keep = case["N"], {"velocity": case["vmax"], "acceleration": case["amax"]}
    a = arm("planar-2r")
    s = np.linspace(0, 3, N + 1)
    # toppra looks at the left end of each interval only, and takes the piece that begins there
    qp, qpp = curve.derivative(1)(s), curve.derivative(2)(s)
    D, speed = np.zeros((N, 3, 4, 2)), np.zeros((3 * N, 2))
    for side, points in ((0, slice(0, N)), (1, slice(0, N)), (2, slice(1, N + 1))):
        D[:, side, 0], D[:, side, 1] = qp[points] / case["amax"], qpp[points] / case["amax"]
    x_most = 1 / np.square(np.abs(qp) / case["vmax"]).max(axis=1)
    floor, smooth = np.full(2, 1e-12), np.zeros(N, bool)

    def solved(D: np.ndarray, h: np.ndarray, x_most: np.ndarray) -> passes.Passing:
        where = np.arange(3 * len(h)).reshape(-1, 3)
        limits = passes.PathLimits(
            np.append(0.0, np.cumsum(h)), D.reshape(-1, 4, 2), where, floor, speed, h, smooth[: len(h)], x_most, 0.0
        )
        at = time_optimal._passing(limits)
        at.kind[:], at.x_most[:], at.room[:], at.new[:] = passes.LEFT_ONLY, x_most, 0.0, True
        at.x[:], at.K[:] = -1.0, -1.0
        assert passes.solve(limits, at) == 0
        return at

    # the greatest speeds are those at the start of an interval so short, and whose end is so free, as not to matter
    for i in range(N):
        alone = np.concatenate([D[i : i + 1, :2], np.zeros((1, 1, 4, 2))], axis=1)
        at = solved(alone, np.array([1e-9]), np.array([x_most[i], 1e9]))
        assert abs(at.K[0, 1] - case["feasible_max"][i]) < case["tol"]
    ends = x_most.copy()
    ends[-1] = 0.0
    at = solved(D, np.diff(s), ends)
    assert np.abs(at.K[:, 1] - case["controllable_max"]).max() < 2 * case["tol"]
    ends[0] = 0.0
    at = solved(D, np.diff(s), ends)
    assert np.abs(at.x - case["parametrization_x=sd^2"]).max() < 2 * case["tol"]
    # and the profile that keeps the limits between the points as well, where toppra's does not
    motion = of_curve(curve, (1.0, 2.0))
    ours = motion.time_optimal(a, keep)
    assert excess(a, ours, keep) < EXCESS


def suite() -> list[Any]:
    file = REFERENCE / "time_optimal.json"
    if not file.exists():
        return []
    case = json.loads(file.read_text())["published"]["toppra_robustness_suite"]
    return [
        pytest.param(
            problem_, result, id=f"{result['name']}-{result['nb_gridpoints']}-{result['desired_duration']}-{k}"
        )
        for k, result in enumerate(case["results"])
        for problem_ in [case["problems"][result["name"]]]
    ]


@pytest.mark.parametrize("case, result", suite())
def test_published_robustness_suite(case: Any, result: Any) -> None:
    way = np.array([[float(x) for x in row] for row in case["waypoints"]])
    curve = CubicSpline(np.linspace(*case["ss_waypoints"], len(way)), way, bc_type="clamped")
    a = arm("planar-3r")
    limits = {"velocity": case["vlim"], "acceleration": case["alim"]}
    wanted = float(result["desired_duration"])
    grid = int(result["nb_gridpoints"]) - 1
    ours = of_curve(curve).time_optimal(a, limits, grid=grid, duration=wanted or None)
    assert excess(a, ours, limits) < EXCESS
    if wanted:
        assert ours.duration == pytest.approx(wanted, rel=1e-6)
    else:
        assert ours.duration <= float(result["duration"]) * (1 + EXCESS)
    if "optimal_duration" in case and not wanted:
        best = case["optimal_duration"]
        assert best * (1 - EXCESS) <= ours.duration <= best * (1 + 5e-3)


def test_a_wanted_duration_is_kept() -> None:
    a = with_friction(arm("puma560"), 4.0, 1.0)
    motion = a_path(a, 3)
    limits = room_for(a, motion)
    best = motion.time_optimal(a, limits, grid=300).duration
    for share in (1.0, 1.3, 4.0):
        slow = motion.time_optimal(a, limits, grid=300, duration=share * best)
        assert slow.duration == pytest.approx(share * best, rel=1e-6)
        assert excess(a, slow, limits) < EXCESS


@pytest.mark.parametrize("viscous", [0.0, 20.0])
def test_compiled_passes_do_what_their_text_does(viscous: float, monkeypatch: pytest.MonkeyPatch) -> None:
    a = with_friction(arm("planar-2r"), viscous, 1.0)
    motion = a_path(a, 3, points=4)
    limits = room_for(a, motion) | {"velocity": 2.0, "acceleration": 20.0}
    compiled = motion.time_optimal(a, limits, grid=40)
    for module, names in (
        (rounds, ("solve", "check")),
        (time_optimal, ("repeat", "check")),
        (along, ("assemble", "law")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name).__wrapped__)
    text = motion.time_optimal(a, limits, grid=40)
    assert text.duration == pytest.approx(compiled.duration, rel=1e-9)
    t = np.linspace(0, 0.99, 20) * text.duration
    assert all(np.abs(x - y).max() < 1e-5 * np.abs(x).max() for x, y in zip(text(t), compiled(t), strict=True))


def test_compiled_polynomials_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    q0, q1 = rng.normal(size=(2, 7))
    motions = [da.polynomial(q0, q1, 2.0, degree=degree) for degree in (3, 5, 7)]
    motions += [da.spline(np.arange(5.0), rng.normal(size=(5, 7)), "natural", degree) for degree in (3, 5)]
    for motion in motions:
        near = motion.duration * np.logspace(-12, -2, 20)
        t = np.sort(np.concatenate([rng.uniform(0, motion.duration, 99), motion.breaks, near, motion.duration - near]))
        for x, y in zip(states(motion, t), motion.evaluate(t), strict=True):
            assert np.abs(x - y).max() < 1e-14 * np.abs(y).max()


def test_the_first_call_of_a_new_user_does_not_wait(tmp_path: Path) -> None:
    """Everything is compiled: the arm and the passes. Processor time, for other processes may be at work."""
    code = (
        "import time, dalembert as da; arm = da.load('panda');"
        "motion = da.spline([0, 1, 2], [[0.0] * 7, [0.4] * 7, [0.0] * 7]); start = time.process_time();"
        "motion.time_optimal(arm); print(time.process_time() - start)"
    )
    environment = {**os.environ, "DALEMBERT_CACHE": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert float(run.stdout) < 2.0


def test_coefficients_are_the_torques() -> None:
    """m u + c x + v √x + k of the rows is inverse dynamics."""
    a = with_friction(arm("puma560"), 3.0, 1.0)
    motion = a_path(a, 4)
    path = LimitedPath(moves_of(motion)[0][0], a, joint_limits(a, {"effort": 10.0, "acceleration": 5.0}))
    on = problem(path, even_grid(path, 50))
    q, qp, qpp = motion(0.5 * (on.s[:-1] + on.s[1:]))
    x, u = 1.7, -0.6
    m, c, v, k = on.D[on.where[:, 1], :, : path.rows].transpose(1, 0, 2)
    rows = m * u + c * x + v * np.sqrt(x) + k
    qdd = qp * u + qpp * x
    torque = a.inverse_dynamics(q, qp * np.sqrt(x), qdd)
    # beside rest the rows also stand for the torque without Coulomb friction
    assert np.abs(rows - np.concatenate([torque / 10, qdd / 5], axis=1))[1:-1].max() < 1e-10
