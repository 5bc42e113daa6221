"""Time-optimal timing of the motions that people have: whatever the timing they came with, on every shipped arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from arms import arm
from dalembert.work.trajectory.planning.limits import joint_limits
from dalembert.work.trajectory.planning.trajectory import Trajectory
from dalembert.work.trajectory.timing.moves import moves_of

ARMS = tuple(da.arms())
FRICTION = ((0.0, 0.0), (3.0, 0.0), (0.0, 1.5), (8.0, 1.0))  # F_v, F_s of every joint, besides the arm's own
EXCESS = 1e-6


def with_friction(a: da.Arm, viscous: float, coulomb: float) -> da.Arm:
    if not viscous and not coulomb:
        return a
    friction = da.Friction(viscous, (coulomb, 0.5 * coulomb))
    return da.Arm(a.robot.replace(joints=tuple(replace(j, friction=friction) for j in a.robot.joints)))


def ends(a: da.Arm, rng: np.random.Generator, count: int = 2) -> np.ndarray:
    limits = [j.limits for j in a.robot.moving_joints]
    low = [-2.0 if x.lower is None else max(x.lower, -2.0) for x in limits]
    high = [2.0 if x.upper is None else min(x.upper, 2.0) for x in limits]
    return rng.uniform(low, high, (count, a.n))


def limits_of(a: da.Arm, motion: Trajectory) -> dict[str, Any] | None:
    """None where the arm has limits of its own; otherwise somewhat more than what rest takes."""
    if all(j.limits.effort is not None for j in a.robot.moving_joints):
        return None
    load = resting_load(a, motion).max(axis=0)
    return {"effort": 2.0 * load + 0.2 * load.max() + 1.0}


def resting_load(a: da.Arm, motion: Trajectory) -> np.ndarray:
    """|g + F_s sgn q'| along the motion."""
    q, qd, _ = motion(np.linspace(0, motion.duration, 2001))
    return np.asarray(np.abs(a.inverse_dynamics(q, 1e-9 * qd, 0 * q)))


# -- motions, each with the same path timed differently where there is one ---------------------------

Made = tuple[Trajectory, Trajectory | None]


def polynomials(a: da.Arm, rng: np.random.Generator) -> Made:
    q0, q1 = ends(a, rng)
    one, other = rng.choice([3, 5, 7], 2)
    return (
        da.polynomial(q0, q1, rng.uniform(0.5, 4), degree=int(one)),
        da.polynomial(q0, q1, rng.uniform(0.5, 4), degree=int(other)),
    )


def moving_ends(a: da.Arm, rng: np.random.Generator) -> Made:
    q0, q1 = ends(a, rng)
    v0, v1 = rng.uniform(-1, 1, (2, a.n))
    return da.polynomial(q0, q1, rng.uniform(0.5, 4), degree=5, start_velocity=v0, end_velocity=v1), None


def trapezoids(a: da.Arm, rng: np.random.Generator) -> Made:
    q0, q1 = ends(a, rng)
    return (
        da.trapezoidal(q0, q1, duration=2.0, acceleration_time=rng.uniform(0.1, 0.9)),
        da.triangular(q0, q1, duration=1.0),
    )


def splines(a: da.Arm, rng: np.random.Generator) -> Made:
    count = int(rng.integers(4, 8))
    t = np.cumsum(rng.uniform(0.3, 1.5, count))
    return da.spline(t - t[0], ends(a, rng, count), str(rng.choice(["clamped", "natural", "not-a-knot"]))), None


PROFILES = (
    {"profile": "quintic", "duration": 2.0}, {"profile": "septic", "duration": 2.0}, {"profile": "cubic", "duration": 1.0},
    {"acceleration_time": 0.3, "duration": 2.0},
)  # fmt: skip


def tip_paths(a: da.Arm, rng: np.random.Generator) -> Made:
    """A line or a part of a circle of the tip, with two of the profiles."""
    which = rng.permutation(len(PROFILES))[:2]
    for _ in range(20 if a.n > 1 else 0):
        (q0,) = ends(a, rng, 1)
        x, J = a.pose(q0)[:3, 3], a.jacobian(q0)[:3]
        u, v = (J @ rng.normal(size=a.n) for _ in range(2))
        u = u / np.linalg.norm(u)
        normal, size, angle = np.cross(u, v), rng.uniform(0.05, 0.2), rng.uniform(1.0, 6.0)
        try:
            if np.linalg.norm(normal) < 1e-3 or rng.random() < 0.5:
                one, other = (
                    da.line(a, displacement=size * u, q0=q0, respect_limits=False, **PROFILES[k])  # type: ignore[arg-type]
                    for k in which
                )
            else:
                one, other = (
                    da.circle(a, x + size * u, q0=q0, normal=normal, angle=angle, respect_limits=False, **PROFILES[k])  # type: ignore[arg-type]
                    for k in which
                )
        except da.PathError:
            continue
        return one, other
    return polynomials(a, rng)


MOTIONS: dict[str, Callable[[da.Arm, np.random.Generator], Made]] = {
    "polynomials": polynomials, "moving ends": moving_ends, "trapezoids": trapezoids, "splines": splines,
    "tip paths": tip_paths,
}  # fmt: skip


def retimed(motion: Trajectory, rng: np.random.Generator) -> Trajectory:
    """The same path with another timing: θ(t) with a rate between 0.2 and 1.8 of its mean."""
    c, d = rng.uniform(-1, 1, 2)
    share = rng.uniform(0, 0.8) / (2 * np.pi * (abs(c) + 2 * abs(d)))
    c, d, w = c * share, d * share, 2 * np.pi
    T, length = motion.duration * rng.uniform(0.3, 4), motion.duration

    def clock(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = t / T
        return (
            length * (x + c * np.sin(w * x) + d * np.sin(2 * w * x)),
            length / T * (1 + c * w * np.cos(w * x) + 2 * d * w * np.cos(2 * w * x)),
            length / T**2 * (-c * w * w * np.sin(w * x) - 4 * d * w * w * np.sin(2 * w * x)),
        )

    inner = motion.breaks[(motion.breaks > 0) & (motion.breaks < length)]
    low, high = np.zeros(len(inner)), np.full(len(inner), T)
    for _ in range(80):
        middle = 0.5 * (low + high)
        before = clock(middle)[0] < inner
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    knots, edges = high, np.concatenate([[0.0], inner, [length]])

    def evaluate(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        s, first, second = clock(t)
        piece = np.searchsorted(knots, t, side="right")  # on the right side of a knot, whatever the rounding
        last = np.where(piece < len(inner), edges[piece + 1] * (1 - 4e-16), length)
        q, qd, qdd = motion.evaluate(np.clip(s, edges[piece], last))
        return q, qd * first[:, None], qdd * np.square(first)[:, None] + qd * second[:, None]

    return Trajectory(T, motion.n, evaluate, tuple(knots))


def keeps(a: da.Arm, fast: Trajectory, limits: Any, factor: int = 12) -> float:
    """By how much of itself a limit is exceeded, at and between the grid points."""
    keep, t = joint_limits(a, limits), fast.scaling.t  # type: ignore[union-attr]
    fine = t[:-1, None] + np.diff(t)[:, None] * (np.arange(factor) + 0.37) / factor
    q, qd, qdd = fast(np.concatenate([t, fine.ravel()]))
    pairs = ((a.inverse_dynamics(q, qd, qdd), keep.effort), (qd, keep.velocity), (qdd, keep.acceleration))
    return max(float((np.abs(x) / limit).max()) for x, limit in pairs) - 1.0


def timed(a: da.Arm, motion: Trajectory, limits: Any) -> Trajectory | None:
    """The time-optimal motion, checked; None where a static check confirms that a limit forbids it."""
    try:
        fast = motion.time_optimal(a, limits)
    except da.LimitError:
        assert (resting_load(a, motion) / joint_limits(a, limits).effort).max() > 1 - 1e-3
        return None
    assert keeps(a, fast, limits) < EXCESS
    report = fast.scaling
    allowed = 1e-5 * np.ptp(motion.q, axis=0).max() if report.smoothing else 1e-9  # type: ignore[union-attr]
    assert np.abs(motion(report.s)[0] - fast(report.t)[0]).max() < allowed + report.smoothing  # type: ignore[union-attr]
    at_rest = np.abs(motion([0.0, motion.duration])[1]).max() < 1e-9
    if at_rest and not any(stop.dwell for stop in report.stops):  # type: ignore[union-attr]
        assert fast.duration <= 1.001 * motion.scaled(a, limits, allow_faster=True).duration
    return fast


def is_timed_well(name: str, friction: tuple[float, float], kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = with_friction(arm(name), *friction)
    motion, same = MOTIONS[kind](a, rng)
    limits = limits_of(a, motion)
    fast = timed(a, motion, limits)
    if fast is None:
        return
    for other in filter(None, (same, retimed(motion, rng))):
        assert other.time_optimal(a, limits).duration == pytest.approx(fast.duration, rel=3e-3)  # their grids differ


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("kind", MOTIONS)
def test_ordinary_motions_are_timed_on_every_arm(name: str, kind: str) -> None:
    # each friction is compiled: one with every arm and kind, so that all of them occur
    friction = FRICTION[(ARMS.index(name) + list(MOTIONS).index(kind)) % 2]
    is_timed_well(name, friction, kind, ARMS.index(name))


@settings(max_examples=25)
@given(
    st.sampled_from(["planar-2r", "scara", "puma560", "five-bar"]), st.sampled_from(FRICTION),
    st.sampled_from(sorted(MOTIONS)), st.integers(0, 10**6),
)  # fmt: skip
def test_random_motions_keep_limits_whatever_their_timing(
    name: str, friction: tuple[float, float], kind: str, seed: int
) -> None:
    is_timed_well(name, friction, kind, seed)


# -- motions from files -------------------------------------------------------------------------------


def written(motion: Trajectory, path: Path, rate: float, decimals: int | None, derivatives: bool) -> Trajectory:
    """The motion written to a CSV file and read again."""
    t = np.append(np.arange(0.0, motion.duration - 1e-6, 1.0 / rate), motion.duration)
    groups = ("q", "qd", "qdd") if derivatives else ("q",)
    names = ["t", *(f"{group}{k + 1}" for group in groups for k in range(motion.n))]
    values = np.column_stack([t, *motion(t)[: len(groups)]])
    form = "%.17g" if decimals is None else f"%.{decimals}f"
    np.savetxt(path, values, fmt=form, delimiter=",", header=",".join(names), comments="")
    return da.read_trajectory(path)


@pytest.mark.parametrize("name", ["planar-2r", "puma560", "pendulum", "pr-arm"])
@pytest.mark.parametrize("rate, decimals, derivatives", [
    (50, None, True), (1000, None, True), (250, 6, True), (100, 5, False), (500, 6, False),
])  # fmt: skip
def test_motions_from_files_are_timed(
    name: str, rate: float, decimals: int | None, derivatives: bool, tmp_path: Path
) -> None:
    a, rng = arm(name), np.random.default_rng(int(rate))
    for kind in ("polynomials", "trapezoids"):
        motion, _ = MOTIONS[kind](a, rng)
        read = written(motion, tmp_path / "m.csv", rate, decimals, derivatives)
        fast = timed(a, read, None)
        assert fast is not None
        # rounding bends the path: the more, the fewer decimals
        slack = 2e-3 if decimals is None else 5e-2
        assert fast.duration == pytest.approx(motion.time_optimal(a).duration, rel=slack)
        assert fast.scaling.smoothing < 5e-5 * np.ptp(motion.q, axis=0).max()  # type: ignore[union-attr]


def joined(*parts: tuple[Trajectory, float]) -> Trajectory:
    """Motions one after the other, each followed by a pause."""
    begins = np.concatenate([[0.0], np.cumsum([motion.duration + pause for motion, pause in parts])])

    def evaluate(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found = np.zeros((3, len(t), parts[0][0].n))
        which = np.clip(np.searchsorted(begins, t, side="right") - 1, 0, len(parts) - 1)
        for k, (motion, _) in enumerate(parts):
            mine = which == k
            local = t[mine] - begins[k]
            found[:, mine] = motion.evaluate(np.minimum(local, motion.duration))
            found[1:, np.flatnonzero(mine)[local > motion.duration]] = 0.0
        return found[0], found[1], found[2]

    knots = [
        x
        for k, (motion, _) in enumerate(parts)
        for x in (*(begins[k] + motion.breaks), begins[k], begins[k] + motion.duration)
    ]
    return Trajectory(float(begins[-1]), parts[0][0].n, evaluate, tuple(knots))


@pytest.mark.parametrize("degree", [3, 5, 7])
def test_a_dwell_stays_a_dwell(degree: int) -> None:
    a = arm("planar-2r")
    q = np.array([[0.0, 0.0], [1.0, -0.5], [0.3, 0.8]])
    first, second = (da.polynomial(q[k], q[k + 1], 1.0 + k, degree=degree) for k in range(2))
    fast = joined((first, 0.3), (second, 0.7)).time_optimal(a)
    alone = [motion.time_optimal(a).duration for motion in (first, second)]
    assert fast.duration == pytest.approx(sum(alone) + 1.0, rel=5e-4)
    held, qd, qdd = fast(alone[0] + np.array([0.01, 0.15, 0.29]))
    assert np.abs(held - q[1]).max() < 1e-9 and not qd.any() and not qdd.any()
    report = fast.scaling
    assert [stop.dwell for stop in report.stops] == pytest.approx([0.3, 0.7], abs=1e-5)  # type: ignore[union-attr]
    assert [x.limit for x in report.active].count("dwell") == 2  # type: ignore[union-attr]
    slow = joined((first, 0.3), (second, 0.7)).time_optimal(a, duration=4.0)
    assert slow.duration == pytest.approx(4.0, rel=1e-6)
    assert [stop.dwell for stop in slow.scaling.stops] == pytest.approx([0.3, 0.7], abs=1e-5)  # type: ignore[union-attr]


@pytest.mark.parametrize("degree", [3, 5, 7])
def test_coming_to_rest_on_a_straight_path_is_no_stop(degree: int) -> None:
    """Two moves along one line are as fast as one; along a bent line they stop, and say so."""
    a = arm("planar-2r")
    q = np.array([[0.0, 0.0], [0.4, -0.2], [1.0, -0.5]])
    first, second = (da.polynomial(q[k], q[k + 1], 1.0 + 2 * k, degree=degree) for k in range(2))
    whole = da.polynomial(q[0], q[2], 1.0).time_optimal(a)
    fast = joined((first, 0.0), (second, 0.0)).time_optimal(a)
    assert fast.duration == pytest.approx(whole.duration, rel=1e-3)
    assert not fast.scaling.stops  # type: ignore[union-attr]
    back = da.polynomial(q[1], [1.0, 0.4], 2.0, degree=degree)
    bent = joined((first, 0.0), (back, 0.0)).time_optimal(a)
    assert len(bent.scaling.stops) == 1 and "turn" in bent.scaling.stops[0].reason  # type: ignore[union-attr]
    assert "requires a stop" in str(bent.scaling)
    assert bent.duration == pytest.approx(sum(m.time_optimal(a).duration for m in (first, back)), rel=5e-4)


@pytest.mark.parametrize("name", ["planar-2r", "puma560"])
@pytest.mark.parametrize("factor", [1.0001, 1.001, 1.01, 1.5])
def test_a_motion_takes_the_duration_asked_for(name: str, factor: float) -> None:
    a = arm(name)
    q0, q1 = ends(a, np.random.default_rng(5))
    motion = da.polynomial(q0, q1, 1.0, degree=5)
    wanted = factor * motion.time_optimal(a).duration
    slower = motion.time_optimal(a, duration=wanted)
    assert slower.duration == pytest.approx(wanted, rel=1e-6)
    assert keeps(a, slower, None) < EXCESS


@pytest.mark.parametrize("duration, said", [
    ("soon", "duration is 'soon'; it must be a number"), (10**400, "duration holds a number beyond"),
    (np.nan, "duration is nan; it must be a finite number of seconds"), (0.0, "the motion cannot take 0 s"),
])  # fmt: skip
def test_an_impossible_duration_is_one_sentence(duration: Any, said: str) -> None:
    with pytest.raises(da.DalembertError, match=said):
        da.polynomial([0.0, 0.0], [1.0, 1.0], 1.0).time_optimal(arm("planar-2r"), duration=duration)


def polyline(points: np.ndarray) -> Trajectory:
    """From point to point at an even speed, without slowing down."""
    from scipy.interpolate import PPoly

    from dalembert.work.trajectory.planning.profiles import SmoothCurve

    curve = PPoly(np.stack([np.diff(points, axis=0), points[:-1]]), np.arange(float(len(points))))
    return Trajectory(
        float(len(points) - 1), points.shape[1], SmoothCurve.of(curve), tuple(np.arange(1.0, len(points) - 1))
    )


def test_small_kinks_and_changes_of_speed_force_no_stop() -> None:
    a = arm("planar-2r")
    straight = da.polynomial([0.0, 0.0], [1.0, 0.5], 1.0).time_optimal(a).duration
    even = np.linspace(0, 1, 11)[:, None] * [1.0, 0.5]
    kinked = even + 1e-6 * np.random.default_rng(0).uniform(-1, 1, even.shape)
    kinked[[0, -1]] = even[[0, -1]]
    uneven = np.array([0.0, 0.1, 0.5, 0.55, 1.0])[:, None] * [1.0, 0.5]
    for points in (even, kinked, uneven):
        fast = polyline(points).time_optimal(a)
        assert not fast.scaling.stops, fast.scaling  # type: ignore[union-attr]
        assert fast.duration == pytest.approx(straight, rel=2e-3)
    corner = polyline(np.array([[0.0, 0.0], [1.0, 0.5], [1.0, 1.0]])).time_optimal(a)
    assert [stop.time for stop in corner.scaling.stops] == [1.0]  # type: ignore[union-attr]
    assert "a corner of 63.4°" in str(corner.scaling)


def test_a_path_is_regular_in_its_parameter() -> None:
    """Derivatives by the parameter are derivatives, and q'' does not vanish at rest."""
    for degree in (3, 5, 7):
        motion = da.polynomial([0.0, 0.2], [1.0, -0.4], 1.7, degree=degree)
        (move,), stops = moves_of(motion)
        assert not stops and len(move.pieces) == 1
        r, d = np.linspace(0.03, 0.97, 40) * move.length, 1e-5
        _, first, second = move.at(r)
        assert np.abs((move.at(r + d)[0] - move.at(r - d)[0]) / (2 * d) - first).max() < 1e-7
        assert np.abs((move.at(r + d)[1] - move.at(r - d)[1]) / (2 * d) - second).max() < 1e-6
        assert np.abs(move.at(np.array([0.0, move.length]))[2]).max(axis=1).min() > 0.5
        assert np.abs(move.at(np.array([0.0, move.length]))[1]).max() < 1e-6
        t = np.linspace(0.01, 0.99, 30) * motion.duration
        assert np.abs(move.given_time(move.pieces[0].parameter(t)) - t).max() < 1e-12
