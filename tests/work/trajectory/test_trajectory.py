"""Motions: profiles, polynomials, splines, series, tip paths, files; and one sentence for every mistake."""

from __future__ import annotations

import dataclasses
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import make_interp_spline

import dalembert as da
from arms import arm
from dalembert.base.algebra.orientations import rotation_vector
from dalembert.errors import PathError
from dalembert.work.trajectory.kinematics.inverse_kinematics import configuration_at
from dalembert.work.trajectory.planning.hermite import Hermite
from dalembert.work.trajectory.planning.motion_file import read_motion
from dalembert.work.trajectory.planning.splines import low_pass, quintic

RNG = np.random.default_rng(3)
Q0, Q1 = [0.1, -1.0, 2.0], [1.3, -2.5, 2.0]
SPEED = {"acceleration_time": 0.15, "max_velocity": 1.0}


def limited(a: da.Arm, **limits: float) -> da.Arm:
    """The arm with these limits at every joint."""
    return a.replace(joints=tuple(dataclasses.replace(j, limits=da.Limits(**limits)) for j in a.robot.joints))


MOTIONS = {
    "triangular": lambda: da.triangular(Q0, Q1, duration=0.7),
    "triangular, own times": lambda: da.triangular(Q0, Q1, max_velocity=2.0),
    "trapezoidal": lambda: da.trapezoidal(Q0, Q1, acceleration_time=0.2, max_velocity=3.0),
    "trapezoidal, degenerate": lambda: da.trapezoidal(Q0, Q1, acceleration_time=0.45, max_velocity=3.0),
    "trapezoidal, synchronised": lambda: da.trapezoidal(
        Q0, Q1, acceleration=[9.0, 5.0, 1.0], max_velocity=2.0, synchronised=True
    ),
    "cubic": lambda: da.polynomial(Q0, Q1, 1.2, 3, start_velocity=[1.0, 0.0, -1.0], end_velocity=0.3),
    "quintic": lambda: da.polynomial(Q0, Q1, 1.2, 5, start_velocity=0.1, end_acceleration=[2.0, 0.0, 1.0]),
    "septic": lambda: da.polynomial(Q0, Q1, 1.2, 7, end_jerk=3.0),
    "cubic spline": lambda: da.spline([0.0, 0.5, 0.7, 1.5], RNG.normal(size=(4, 3))),
    "quintic spline": lambda: da.spline([0.0, 0.5, 0.7, 1.5], RNG.normal(size=(4, 3)), degree=5),
    "fourier": lambda: da.fourier(RNG.normal(size=(2, 3, 5)), 0.3, [0.1, 0.2, 0.3]),
    "line": lambda: da.line(arm("planar-3r"), q0=[-1.2, 1.0, 0.8], displacement=(0.3, 0.2), **SPEED),
    "circle": lambda: da.circle(
        arm("planar-2r"), (1.0, 0.2), (1.3, 0.2), branch="upper-elbow", profile="quintic", duration=2.0
    ),
    "panda, all of the pose": lambda: da.line(
        arm("panda"), q0=[0, -0.5, 0, -2, 0, 1.5, 0.7], displacement=(0.1, 0.2, -0.1), orientation="constant",
        profile="septic", duration=1.5,
    ),
    "ur5e, position": lambda: da.circle(
        arm("ur5e"), arm("ur5e").pose([0, -1.2, 1.5, -1, -1.5, 0])[:3, 3] + [0, 0, 0.1], q0=[0, -1.2, 1.5, -1, -1.5, 0],
        normal=(1, 0, 0), angle=-2.0, profile="triangular", max_velocity=0.5,
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=MOTIONS)
def motion(request: pytest.FixtureRequest) -> da.Trajectory:
    return MOTIONS[request.param]()


# -- what holds for every motion -------------------------------------------------------------------


def test_velocity_and_acceleration_are_derivatives(motion: da.Trajectory) -> None:
    T = motion.duration
    t = np.linspace(0.001, 0.999, 997) * T
    for knot in motion.knots:
        t = t[np.abs(t - knot) > 3e-5 * T]
    h = 1e-5 * T
    _, qd, qdd = motion(t)
    (before, qd_before, _), (after, qd_after, _) = motion(t - h), motion(t + h)
    assert np.abs((after - before) / (2 * h) - qd).max() < 2e-7 * max(1, np.abs(qd).max())
    assert np.abs((qd_after - qd_before) / (2 * h) - qdd).max() < 2e-7 * max(1, np.abs(qdd).max())


def test_positions_and_velocities_never_jump(motion: da.Trajectory) -> None:
    for knot in motion.knots:
        at, just_before = motion(knot), motion(knot * (1 - 1e-12))
        assert np.allclose(at[0], just_before[0], atol=1e-9) and np.allclose(at[1], just_before[1], atol=1e-8)


def test_samples_are_evaluations_and_knots_are_among_them(motion: da.Trajectory) -> None:
    assert motion.t[0] == 0 and motion.t[-1] == motion.duration and np.all(np.diff(motion.t) > 1e-13)
    for stored, value in zip((motion.q, motion.qd, motion.qdd), motion(motion.t), strict=True):
        assert stored.shape == (len(motion.t), motion.n) and np.array_equal(stored, value)
    assert set(motion.knots) <= set(motion.t)
    q, qd, qdd = motion(np.full((2, 3), 0.3 * motion.duration))
    assert q.shape == qd.shape == qdd.shape == (2, 3, motion.n)
    assert np.allclose(q, motion(0.3 * motion.duration)[0], atol=1e-12)


def test_motions_can_be_pickled(motion: da.Trajectory) -> None:
    copy = pickle.loads(pickle.dumps(motion))
    assert np.array_equal(copy(0.4 * motion.duration)[0], motion(0.4 * motion.duration)[0])


def test_motions_are_known_only_while_they_last(motion: da.Trajectory) -> None:
    for t in (-0.01, motion.duration * 1.01):
        with pytest.raises(da.DalembertError, match=r"defined from 0 to .* s, not at t = "):
            motion([0.0, t])


def test_files_give_back_what_was_saved(motion: da.Trajectory, tmp_path: Path) -> None:
    path = tmp_path / "motion.csv"
    motion.save(path)
    back = da.read_trajectory(path)
    for name in ("t", "q", "qd", "qdd"):
        assert np.array_equal(getattr(back, name), getattr(motion, name)), name
    t = (0.25 * motion.t[10:20] + 0.75 * motion.t[11:21])[[0, 3, 6, 9]]
    assert np.allclose(back(t)[0], motion(t)[0], atol=1e-7)


# -- triangular and trapezoidal --------------------------------------------------------------------


def test_triangles_by_duration_velocity_and_acceleration() -> None:
    for options, T in (
        ({"duration": 0.8}, 0.8),
        ({"max_velocity": 4.0}, 2 * 1.5 / 4.0),
        ({"acceleration": 10.0}, 2 * np.sqrt(1.5 / 10)),
    ):
        motion = da.triangular([0.0], [-1.5], **options)
        assert motion.duration == pytest.approx(T, rel=1e-15)
        assert motion.q[0] == 0 and motion.q[-1] == -1.5 and motion.qd[-1] == 0  # exactly
        assert motion(T / 2)[0] == pytest.approx(-0.75) and motion(T / 2)[1] == pytest.approx(-2 * 1.5 / T)
        assert motion(T / 4)[2] == pytest.approx(-4 * 1.5 / T**2) and motion.qdd[-1] > 0


def test_trapezoids_by_every_pair() -> None:
    want = da.trapezoidal([0.0, 0.0], [2.0, -1.0], acceleration_time=0.2, max_velocity=[4.0, 2.0])
    T, ta, v, a = 0.7, 0.2, [4.0, 2.0], [20.0, 10.0]
    for options in (
        {"acceleration_time": ta, "duration": T},
        {"max_velocity": v, "duration": T},
        {"acceleration": a, "max_velocity": v},
        {"acceleration": a, "duration": T},
        {"acceleration_time": ta, "max_velocity": v, "duration": T},
    ):
        motion = da.trapezoidal([0.0, 0.0], [2.0, -1.0], **options)
        assert motion.duration == pytest.approx(T, rel=1e-12)
        t = np.linspace(0, 0.699999, 77)
        for x, y in zip(motion(t), want(t), strict=True):
            assert np.allclose(x, y, atol=1e-9)


def test_ends_are_exact_whatever_the_numbers() -> None:
    for q0, q1 in RNG.normal(size=(50, 2, 3)):
        motion = da.trapezoidal(q0, q1, acceleration_time=0.1, max_velocity=RNG.uniform(1, 9, 3))
        q, qd, _ = motion([0.0, motion.duration])
        assert np.array_equal(q, [q0, q1]) and np.all(qd == 0)


def test_too_short_a_way_keeps_the_acceleration_time_and_lowers_the_peak() -> None:
    motion = da.trapezoidal([0.0], [0.3], acceleration_time=0.15, max_velocity=5.0)
    assert motion.duration == pytest.approx(0.3) and motion.qd.max() == pytest.approx(0.3 / 0.15)
    motion = da.trapezoidal([0.0], [0.3], acceleration=20.0, max_velocity=5.0)  # or the acceleration
    assert motion.qdd[0] == pytest.approx(20.0) and motion.qd.max() == pytest.approx(np.sqrt(0.3 * 20))


def test_a_joint_that_arrives_earlier_stands_still() -> None:
    motion = da.trapezoidal([0.0, 0.0, 5.0], [1.0, 3.0, 5.0], acceleration_time=0.2, max_velocity=2.0)
    assert motion.duration == pytest.approx(1.7) and 0.7 in np.round(motion.knots, 12)
    q, qd, qdd = motion(np.linspace(0.71, 1.7, 50))
    assert np.all(q[:, 0] == 1.0) and np.all(qd[:, 0] == 0) and np.all(qdd[:, 0] == 0)
    assert np.all(motion.q[:, 2] == 5.0) and np.all(motion.qd[:, 2] == 0)


def test_synchronised_joints_arrive_together_within_their_bounds() -> None:
    for kind in (da.trapezoidal, da.triangular):
        options = {"max_velocity": [2.0, 1.0, 3.0]} | ({"acceleration_time": 0.2} if kind is da.trapezoidal else {})
        own, together = kind(Q0, [1.3, -2.5, 2.4], **options), kind(Q0, [1.3, -2.5, 2.4], synchronised=True, **options)
        assert together.duration == own.duration
        assert np.all(np.abs(together.qd).max(axis=0) <= np.abs(own.qd).max(axis=0) + 1e-12)
        share = (together.q - Q0) / (np.array([1.3, -2.5, 2.4]) - Q0)
        assert np.allclose(share, share[:, :1], atol=1e-12)  # a straight line in joint space


@given(st.floats(1e-3, 10), st.floats(0.01, 2), st.floats(0.01, 20), st.booleans())
def test_trapezoids_keep_their_word(way: float, ta: float, v: float, sync: bool) -> None:
    motion = da.trapezoidal([0.0, 1.0], [way, 1.0 - way / 3], acceleration_time=ta, max_velocity=v, synchronised=sync)
    assert np.abs(motion.qd).max() <= v * (1 + 1e-12)
    assert motion.duration == pytest.approx(max(way / v + ta, 2 * ta))
    area = np.sum((motion.qd[1:] + motion.qd[:-1]) / 2 * np.diff(motion.t)[:, None], axis=0)
    assert np.allclose(area, [way, -way / 3], rtol=1e-9)  # ∫q̇: exact, since the knots are among the samples


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "needs two of acceleration_time, max_velocity and duration, .*; it was given none of them"),
        ({"acceleration_time": 0.1}, "it was given acceleration_time$"),
        ({"acceleration_time": 0.1, "acceleration": 1.0}, "it was given acceleration_time and acceleration$"),
        ({"acceleration_time": 0.6, "duration": 1.0}, "joint 1: an acceleration time of 0.6 s at both ends does not fit"),
        ({"max_velocity": 1.5, "duration": 1.0}, "joint 2: a distance of 2 in 1 s needs more than the maximum velocity of 1.5"),
        ({"max_velocity": 3.0, "duration": 1.0}, "joint 1: .* never reaches 3: its peak velocity is at most 2$"),
        ({"acceleration": 7.0, "duration": 1.0}, "joint 2: .* needs an acceleration of at least 8, not 7"),
        ({"acceleration_time": 0.1, "max_velocity": 2.0, "duration": 9}, "joint 1: a duration of 9 s contradicts the 0.6 s"),
        ({"acceleration_time": -0.1, "duration": 1.0}, "the acceleration_time of joint 1 is -0.1; it must be above zero"),
        ({"acceleration_time": 0.1, "max_velocity": [1.0, 0.0]}, "the max_velocity of joint 2 is 0; it must be above"),
        ({"acceleration_time": 0.1, "max_velocity": [1.0] * 3}, r"max_velocity has shape \(3,\); it must have shape \(2,\)"),
        ({"acceleration_time": 0.1, "max_velocity": np.nan}, "max_velocity has the value nan"),
        ({"acceleration_time": 0.1, "max_velocity": "fast"}, "max_velocity is not an array of numbers: 'fast'"),
    ],
)  # fmt: skip
def test_trapezoids_that_cannot_be(options: dict, sentence: str) -> None:
    with pytest.raises(da.DalembertError, match=sentence):
        da.trapezoidal([0.0, 0.0], [1.0, 2.0], **options)


def test_other_profiles_that_cannot_be() -> None:
    for call, sentence in (
        (lambda: da.triangular([0.0], [1.0]), "exactly one of duration, max_velocity and acceleration, not none"),
        (lambda: da.triangular([0.0], [1.0], duration=1, max_velocity=1), "not duration and max_velocity"),
        (lambda: da.triangular([0.0], [0.0], duration=1), "q0 and q1 are equal, so there is no motion to plan"),
        (lambda: da.triangular([0.0, 1.0], [1.0, 1.0, 2.0], duration=1), r"q0 has shape \(2,\)"),
        (lambda: da.triangular([0.0, np.inf], [1.0, 1.0], duration=1), "q0 has the value inf"),
        (lambda: da.polynomial([0.0], [1.0], 1.0, 4), "degree 3, 5 or 7, not 4"),
        (lambda: da.polynomial([0.0], [1.0], 0.0), "the duration is 0; it must be above zero"),
        (lambda: da.polynomial([0.0], [1.0], 1.0, 3, end_acceleration=1.0), "end_acceleration .* use degree 5"),
        (lambda: da.polynomial([0.0], [1.0], 1.0, 5, start_jerk=1.0), "start_jerk .* use degree 7"),
    ):
        with pytest.raises(da.DalembertError, match=sentence):
            call()


# -- polynomials, splines, series ------------------------------------------------------------------


@pytest.mark.parametrize("degree", [3, 5, 7])
def test_polynomials_have_the_values_they_were_given(degree: int) -> None:
    ends = RNG.normal(size=(4, 2, 3))  # position, velocity, acceleration, jerk; start, end; joints
    names = ["velocity", "acceleration", "jerk"][: (degree - 1) // 2]
    options = {
        f"{side}_{name}": ends[k + 1, e] for k, name in enumerate(names) for e, side in enumerate(("start", "end"))
    }
    motion = da.polynomial(ends[0, 0], ends[0, 1], 1.7, degree, **options)
    q, qd, qdd = motion([0.0, 1.7])
    assert np.array_equal(q, ends[0]) and np.allclose(qd, ends[1], atol=1e-12)
    if degree >= 5:
        assert np.allclose(qdd, ends[2], atol=1e-11)
    if degree == 7:
        h = 1e-6
        assert np.allclose((motion(h)[2] - qdd[0]) / h, ends[3, 0], atol=1e-3)
    t = np.linspace(0, 1.7, 40)
    assert np.abs(np.polynomial.polynomial.polyfit(t / 1.7, motion(t)[0], degree + 2)[degree + 1 :]).max() < 1e-8


@pytest.mark.parametrize("degree", [3, 5])
@pytest.mark.parametrize("boundary", ["clamped", "natural", "periodic", "not-a-knot"])
def test_splines_go_through_their_waypoints(degree: int, boundary: str) -> None:
    times, q = np.array([2.0, 2.4, 3.0, 3.1, 4.0, 4.5, 5.0]), RNG.normal(size=(7, 2))
    q[-1] = q[0] if boundary == "periodic" else q[-1]
    motion = da.spline(times, q, boundary, degree)
    assert motion.duration == 3.0 and np.allclose(motion(times - 2.0)[0], q, atol=1e-12)
    (q_ends, qd, qdd), h = motion([0.0, 3.0]), 1e-4
    if boundary == "clamped":
        assert np.allclose(qd, 0, atol=1e-11) and (degree == 3 or np.allclose(qdd, 0, atol=1e-10))
    if boundary == "natural" and degree == 3:
        assert np.allclose(qdd, 0, atol=1e-10)
    if boundary == "natural" and degree == 5:
        assert np.allclose((motion(h)[2] - qdd[0]) / h, 0, atol=1e-2 * np.abs(motion.qdd).max())
    if boundary == "periodic":
        assert np.allclose(q_ends[0], q_ends[1]) and np.allclose(qd[0], qd[1]) and np.allclose(qdd[0], qdd[1])


def test_splines_with_values_at_their_ends() -> None:
    motion = da.spline([0, 1, 2], [[0.0], [1.0], [0.0]], {"start_velocity": 0.5, "end_acceleration": [2.0]})
    assert motion(0.0)[1] == pytest.approx(0.5) and motion(2.0)[2] == pytest.approx(2.0)
    ends = {"start_velocity": 0.5, "start_acceleration": 1.0, "end_velocity": 0.0, "end_acceleration": -1.0}
    motion = da.spline([0, 1, 2], [0.0, 1.0, 0.0], ends, degree=5)
    assert motion(0.0)[1:] == (pytest.approx(0.5), pytest.approx(1.0)) and motion(2.0)[2] == pytest.approx(-1.0)


def test_splines_that_cannot_be() -> None:
    for args, sentence in (
        (([0, 1, 1], [0, 1, 2]), r"times\[2\] is 1 s, which is not later than the 1 s before it"),
        (([0], [0]), "at least two times"),
        (([0, 1, 2], [[0], [1]]), r"waypoints has shape \(2, 1\), but there are 3 times"),
        (([0, 1], [0, np.nan]), "waypoints has the value nan"),
        (([0, 1], [0, 1], "clamped", 4), "degree 3 or 5, not 4"),
        (([0, 1], [0, 1], "loose"), "boundary is 'loose'; it must be 'clamped', 'natural', "),
        (([0, 1], [0, 1], "not-a-knot"), "needs at least 4 waypoints"),
        (
            ([0, 1], [0, 1], "natural", 5),
            "2 waypoints with these boundary values do not determine a spline of degree 5",
        ),
        (([0, 1, 2, 3], [0, 1, 2, 1], "periodic"), "joint 1 goes from 0 to 1"),
        (([0, 1], [0, 1], {"start_speed": 1}), "unknown boundary value 'start_speed'"),
        (([0, 1], [0, 1], {"start_velocity": 1}), "takes 1 boundary value at its end, not 0"),
        (([0, 1], [0, 1], {"start_velocity": 1, "end_velocity": 1}, 5), "takes 2 boundary values at its start, not 1"),
    ):
        with pytest.raises(da.DalembertError, match=sentence):
            da.spline(*args)


@pytest.mark.parametrize("degree", [3, 5])
@pytest.mark.parametrize("boundary", ["clamped", "natural", "not-a-knot", "periodic"])
def test_splines_are_those_of_scipy(boundary: str, degree: int) -> None:
    rng, half = np.random.default_rng(degree), (degree + 1) // 2
    orders = {"clamped": range(1, half), "natural": range(half, degree)}.get(boundary, ())
    zeros = [(order, np.zeros(2)) for order in orders]
    conditions = (zeros, zeros) if zeros else {"not-a-knot": None}.get(boundary, boundary)
    for count in (6, 7, 12, 40):
        t = np.cumsum([0.0, *rng.uniform(0.5, 2.0, count - 1)])
        q = rng.normal(size=(count, 2))
        q[-1] = q[0]
        theirs, at = make_interp_spline(t, q, k=degree, bc_type=conditions), np.linspace(0, t[-1], 101)
        for order, ours in enumerate(da.spline(t, q, boundary, degree)(at)):
            wanted = theirs.derivative(order)(at)
            assert np.abs(ours - wanted).max() < 1e-11 * np.abs(wanted).max()


def test_fourier_series_are_periodic_and_their_sums() -> None:
    a, b = RNG.normal(size=(2, 3, 4))
    motion = da.fourier((a, b), 0.5, offset=[1.0, 2.0, 3.0], duration=6.0)
    t, w = np.linspace(0, 2, 11), 2 * np.pi * 0.5 * np.arange(1, 5)
    q, qd, qdd = motion(t)
    for k in range(11):
        s, c = np.sin(w * t[k]), np.cos(w * t[k])
        assert np.allclose(q[k], [1, 2, 3] + a @ s + b @ c)
        assert np.allclose(qd[k], a @ (w * c) - b @ (w * s))
        assert np.allclose(qdd[k], -a @ (w**2 * s) - b @ (w**2 * c))
    for x, y in zip(motion(t), motion(t + 4.0), strict=True):
        assert np.allclose(x, y, atol=1e-9)
    with pytest.raises(da.ShapeError, match=r"coefficients has shape \(3, 4\); it must be \(2, n, L\)"):
        da.fourier(a, 0.5)
    with pytest.raises(da.DalembertError, match="base_frequency is 0"):
        da.fourier((a, b), 0.0)


def test_hermite_pieces_keep_the_values_at_their_nodes() -> None:
    x = np.sort(RNG.uniform(0, 5, 30))
    y = RNG.normal(size=(3, 30, 2))
    for value, node in zip(Hermite(x, y)(x), y, strict=True):
        assert np.array_equal(value, node)


# -- inverse kinematics ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "q0", "orientation"),
    [
        ("planar-2r", [-1.0, 1.4], "free"), ("planar-3r", [-1.2, 1.0, 0.8], "free"), ("planar-3r", [-1.2, 1.0, 0.8], "constant"),
        ("scara", [0.3, 0.8, 0.1, 0.2], "constant"), ("scara", [0.3, 0.8, 0.1, 0.2], "free"), ("pr-arm", [0.3, 0.2], "free"),
        ("puma560", [0.3, 0.8, -0.8, 0.3, 0.6, 0.2], "constant"), ("stanford", [0.2, 1.2, 0.5, 0.3, 0.7, 0.1], "constant"),
        ("panda", [0, -0.5, 0, -2, 0, 1.5, 0.7], "free"), ("iiwa14", [0.1, 0.5, 0.1, -1.2, 0.1, 0.9, 0], "constant"),
        ("ur10", [0, -1.2, 1.5, -1, -1.5, 0], "constant"), ("kr300", [0.1, -1.2, 1.3, 0.2, 0.8, 0.1], "constant"),
    ],
)  # fmt: skip
def test_the_tip_is_on_its_path_and_moves_as_it_should(name: str, q0: list[float], orientation: str) -> None:
    a = arm(name)
    way = a.jacobian(q0)[:3] @ np.linspace(1, 2, a.n)  # a direction the tip can go
    way *= 0.06 / np.linalg.norm(way)
    motion = da.line(a, q0=q0, displacement=way, orientation=orientation, **SPEED)  # type: ignore[arg-type]
    start = a.pose(q0)
    s, sd, sdd = da.trapezoidal([0.0], [0.06], **SPEED)(motion.t)
    pose = a.pose(motion.q)
    assert np.abs(pose[:, :3, 3] - (start[:3, 3] + s / 0.06 * way)).max() < 1e-12
    J, Jd = a.jacobian(motion.q), a.jacobian_derivative(motion.q, motion.qd)
    velocity = np.einsum("kij,kj->ki", J, motion.qd)
    acceleration = np.einsum("kij,kj->ki", J, motion.qdd) + np.einsum("kij,kj->ki", Jd, motion.qd)
    assert np.allclose(velocity[:, :3], sd / 0.06 * way, atol=1e-10)
    assert np.allclose(acceleration[:, :3], sdd / 0.06 * way, atol=1e-8)
    if orientation == "constant":
        assert np.abs(pose[:, :3, :3] - start[:3, :3]).max() < 1e-12
        assert np.allclose(velocity[:, 3:], 0, atol=1e-9)


def test_redundant_arms_take_the_smallest_velocities() -> None:
    a = arm("panda")
    motion = da.line(a, q0=[0, -0.5, 0, -2, 0, 1.5, 0.7], displacement=(0.2, 0.2, -0.1), **SPEED)
    q, qd, _ = motion(np.linspace(0, motion.duration, 40))
    J = a.jacobian(q)[:, :3]
    least = (np.linalg.pinv(J) @ (J @ qd[..., None]))[..., 0]
    assert np.allclose(qd, least, atol=1e-11)


def test_circles_turn_the_right_way_and_close() -> None:
    a = arm("planar-2r")
    for angle, sign in ((np.pi / 2, 1), (-np.pi / 2, -1)):
        motion = da.circle(a, (1.0, 0.0), (1.3, 0.0), angle=angle, branch="lower-elbow", duration=1.0, profile="cubic")
        assert motion.duration == 1.0
        assert np.allclose(a.pose(motion.q[-1])[:2, 3], [1.0, sign * 0.3], atol=1e-12)
        assert np.allclose(np.linalg.norm(a.pose(motion.q)[:, :2, 3] - [1, 0], axis=1), 0.3, atol=1e-12)
    whole = da.circle(a, (1.0, 0.0), (1.3, 0.0), branch="lower-elbow", duration=1.0, profile="cubic")
    assert np.allclose(whole.q[0], whole.q[-1], atol=1e-12)


def test_branches() -> None:
    a = arm("planar-2r")
    lower, upper = (configuration_at(a, (0.7, 0.4), f"{side}-elbow") for side in ("lower", "upper"))  # type: ignore[arg-type]
    assert lower[1] > 0 > upper[1] and lower[1] == pytest.approx(-upper[1])
    for q in (lower, upper):
        assert np.allclose(a.pose(q)[:2, 3], (0.7, 0.4), atol=1e-12)
        motion = da.line(a, (0.7, 0.4), (0.2, 1.2), q0=q + 0.02, **SPEED)  # near is near enough
        assert np.allclose(motion.q[0], q, atol=1e-9) and np.all(np.sign(motion.q[:, 1]) == np.sign(q[1]))
    scara = configuration_at(arm("scara"), (0.4, 0.2, 0.3), "upper-elbow")
    assert np.allclose(arm("scara").pose(scara)[:3, 3], (0.4, 0.2, 0.3), atol=1e-12) and scara[1] < 0


@pytest.mark.parametrize("name", ["puma560", "ur5e", "panda", "iiwa14", "stanford", "kr300"])
def test_a_pose_is_found_again(name: str) -> None:
    a = arm(name)
    low, high = (
        np.array([fallback if limit is None else limit for limit in limits])
        for limits, fallback in (
            ([j.limits.lower for j in a.robot.moving_joints], -1.0),
            ([j.limits.upper for j in a.robot.moving_joints], 1.0),
        )
    )
    for q in RNG.uniform(0.8 * low + 0.2 * high, 0.2 * low + 0.8 * high, (5, a.n)).clip(-3, 3):
        pose = a.pose(q)
        found = da.inverse_kinematics(a, pose).q
        assert np.abs(a.pose(found) - pose).max() < 2e-9
        assert not da.triangular(found, found + 1e-6, duration=1.0).limits_report(a)


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=3), st.floats(0, np.pi))
def test_rotation_vectors(axis: list[float], angle: float) -> None:
    u = np.add(axis, (0, 0, 1e-3))
    u = u / np.linalg.norm(u)
    K = np.cross(np.eye(3), u)
    R = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    v = rotation_vector(R)
    same = min(np.abs(v - angle * u).max(), np.abs(v + angle * u).max() if angle > np.pi - 1e-6 else np.inf)
    assert same < 1e-6


def path_error(call) -> PathError:
    with pytest.raises(PathError) as caught:
        call()
    return caught.value


def test_the_first_unreachable_point_is_named() -> None:
    error = path_error(lambda: da.line(arm("planar-2r"), (0.2, 0), (2.5, 0), branch="lower-elbow",
                                       acceleration_time=0.15, max_velocity=5.0))  # fmt: skip
    assert error.kind == "unreachable" and error.point == pytest.approx((2, 0, 0), abs=1e-6)
    assert error.s == pytest.approx(1.8, abs=1e-6) and error.time == pytest.approx(1.8 / 5 + 0.075, abs=1e-6)
    assert str(error) == (
        "the path leaves the workspace of arm 'planar-2r' at (2, 0, 0) m, s = 1.8 m along the path, t = 0.435 s"
    )
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    error = path_error(lambda: da.line(arm("planar-2r"), (2.2, 0), (1, 0), **SPEED))
    assert error.kind == "unreachable" and error.s == 0
    assert str(error).endswith("(2.2, 0, 0) m, s = 0 m, t = 0 s: out of reach, the closest it gets is 0.2 m away")


def test_the_first_singular_point_is_named() -> None:
    a = arm("planar-2r")
    through_the_base = path_error(lambda: da.line(a, (0.2, 0), (-0.5, 0), branch="lower-elbow", **SPEED))
    assert through_the_base.kind == "singular" and through_the_base.point == pytest.approx((0, 0, 0), abs=1e-3)
    to_the_edge = path_error(lambda: da.line(a, (0.2, 0), (2.0, 0), branch="lower-elbow", **SPEED))
    assert to_the_edge.kind == "singular" and to_the_edge.point == pytest.approx((2, 0, 0), abs=1e-6)
    from_the_edge = path_error(lambda: da.line(a, (2.0, 0), (1, 0), **SPEED))
    assert from_the_edge.kind == "singular" and from_the_edge.s == from_the_edge.time == 0
    assert re.search(
        r"arm 'planar-2r' is singular on the path .* s = 1\.8 m along the path, t = 1\.9", str(to_the_edge)
    )


def test_joint_limits_on_the_path() -> None:
    a = limited(arm("planar-2r"), lower=-3.0, upper=2.9)
    error = path_error(lambda: da.line(a, (1.0, 0), (0.2, 0), branch="lower-elbow", **SPEED))
    x = 2 * np.cos(1.45)  # where q2 = 2.9
    assert (
        error.kind == "limit" and error.point == pytest.approx((x, 0, 0), abs=1e-9) and error.s == pytest.approx(1 - x)
    )
    assert "joint 'joint2' of arm 'planar-2r' reaches its upper limit of 2.9 rad" in str(error)
    assert re.search(
        r"would take it to 2\.9\d+ rad, at \(0\.241\d*, 0, 0\) m, s = 0\.7589\d* m .* t = 0\.839\d* s", str(error)
    )
    start = path_error(lambda: da.line(a, (0.2, 0), (1, 0), branch="lower-elbow", **SPEED))
    assert start.kind == "limit" and "joint 'joint2' would be at 2.94126 rad, beyond its upper limit of 2.9" in str(
        start
    )
    free = da.line(a, (1.0, 0), (0.2, 0), branch="lower-elbow", respect_limits=False, **SPEED)
    assert free.q[-1, 1] > 2.9


def test_paths_that_cannot_be() -> None:
    a, puma, elbow = arm("planar-2r"), arm("puma560"), {"branch": "lower-elbow"}
    for call, sentence in (
        (lambda: da.line(a, (1, 0), (1, 0.5, 0.5), **SPEED), "leaves the plane in which the tip of arm 'planar-2r' moves"),
        (lambda: da.line(a, (1, 0, 0.1), (1, 0.5), **SPEED), "0.1 m away from the plane in which the tip moves"),
        (lambda: da.line(a, (1, 0), (1, 1), orientation="constant", **SPEED), "3 directions needs 3 joints.*'planar-2r' has 2"),
        (lambda: da.line(a, (1, 0), (1, 1), orientation="level", **SPEED), "orientation is 'level'; it must be 'free' or "),
        (lambda: da.line(a, (1, 0), **SPEED), "either end or displacement: give exactly one"),
        (lambda: da.line(a, (1, 0), (1, 1), displacement=(0, 1), **SPEED), "either end or displacement: give exactly one"),
        (lambda: da.line(a, (1, 0), displacement=(1, 2, 3, 4), **SPEED), r"displacement has shape \(4,\)"),
        (lambda: da.line(a, (1, 0), (1, 0), **SPEED), r"no length: it begins and ends at \(1, 0, 0\) m"),
        (lambda: da.line(a, (1, 0), (1, 1)), "needs two of acceleration_time, max_velocity and duration"),
        (lambda: da.line(a, end=(1, 1), **SPEED), "a path needs a start point, or the joint positions q0"),
        (lambda: da.line(a, (1, 0), (1, 1), q0=[1.0], **SPEED), r"q0 has shape \(1,\), but arm 'planar-2r' has 2 joints"),
        (lambda: da.line(a, (1, 0), (1, 1), branch="left", **SPEED), "branch is 'left'; it must be 'lower-elbow' or"),
        (lambda: da.line(a, (1, 0), (1, 1), q0=[-1, 2], branch="upper-elbow", **SPEED), "only with the elbow opposite to branch 'upper-elbow'"),
        (lambda: da.line(puma, (0.4, 0.2, 0.3), (0.5, 0.2, 0.3), **elbow, **SPEED), "arm 'puma560' are not parallel; .* with q0"),
        (lambda: da.line(puma, (0.4, 0.2), (0.5, 0.2, 0.3), **SPEED), "start has shape .*; arm 'puma560' also moves in z"),
        (lambda: da.line(a, (1, 0), (1, 0.5), profile="sine", duration=1), "profile is 'sine'; it must be 'trapezoidal', "),
        (lambda: da.line(a, (1, 0), (1, 0.5), profile="cubic", max_velocity=1), "a cubic profile needs a duration and no other value"),
        (lambda: da.line(a, (1, 0), (1, 0.5), profile="triangular", acceleration_time=1), "no acceleration_time"),
        (lambda: da.line(a, (1, 0), (1, 0.5), profile=da.triangular(0, 1, duration=1)), "goes from 0 to 1 m.*length of the path, 0.5 m"),
        (lambda: da.line(a, (1, 0), (1, 0.5), profile=da.triangular(0, 1, duration=1), duration=1), "duration cannot be given"),
        (lambda: da.line(a, (1, 0), (1, 0.5), profile=da.triangular(Q0, Q1, duration=1)), "of one joint, but this one has 3"),
        (lambda: da.circle(a, (1, 0), (1, 0), duration=1, profile="cubic"), "no radius: its start is its centre"),
        (lambda: da.circle(a, (1, 0), (1.3, 0), angle=0, **SPEED), "the angle is 0 rad"),
        (lambda: da.circle(a, (1, 0), (1.3, 0), normal=(0, 0, 0), **SPEED), "normal is .*; it must be a nonzero direction"),
        (lambda: da.circle(a, (1, 0), (1.3, 0), normal=(1, 0, 1), **SPEED), "m away from the plane of the circle"),
        (lambda: configuration_at(a, (3, 0)), r"the tip of arm 'planar-2r' cannot be at \(3, 0, 0\) m: out of reach"),
    ):  # fmt: skip
        with pytest.raises(da.DalembertError, match=sentence):
            call()


def test_a_profile_of_ones_own() -> None:
    a = arm("planar-2r")
    own = da.spline([0, 0.4, 1.0], [0.0, 0.2, 0.5])
    motion = da.line(a, (1, 0), (1, 0.5), profile=own, branch="lower-elbow")
    assert np.allclose(a.pose(motion.q)[:, 1, 3], own(motion.t)[0][:, 0], atol=1e-12)


# -- limits ----------------------------------------------------------------------------------------


def test_limits_name_joint_time_value_and_limit() -> None:
    a = limited(arm("planar-2r"), lower=-1.0, upper=1.0, velocity=2.0, acceleration=5.0, effort=2000.0)
    motion = da.polynomial([0.0, 0.0], [1.2, -0.5], 1.0)  # peak velocities 1.8, 0.75; accelerations 7.2, 3
    report = motion.limits_report(a, torque=True)
    assert [(x.joint, x.quantity) for x in report] == [
        ("joint1", "position"), ("joint1", "acceleration"), ("joint1", "torque")
    ]  # fmt: skip
    position, acceleration, torque = report
    assert (position.value, position.limit, position.time) == (pytest.approx(1.2), 1.0, pytest.approx(1.0))
    assert abs(acceleration.value) == pytest.approx(7.2) and acceleration.time in (0.0, 1.0)
    tau = a.inverse_dynamics(*motion(np.linspace(0, 1, 20001)))
    assert abs(torque.value) == pytest.approx(np.abs(tau[:, 0]).max(), rel=1e-6)
    assert motion.limits_report(a) == report and motion.limits_report(a, torque=False) == report[:2]
    assert str(position) == "joint 'joint1': position 1.2 rad at t = 1 s is above its limit of 1 rad"
    with pytest.raises(da.DalembertError, match=r"joint 'joint1': position 1.2 rad .* \(and 2 more\)"):
        motion.check_limits(a)
    below = da.triangular([0.0, 0.0], [-1.5, 0.0], duration=5.0).limits_report(a)
    assert str(below[0]) == "joint 'joint1': position -1.5 rad at t = 5 s is below its limit of -1 rad"


def test_limits_see_peaks_between_samples_and_before_jumps() -> None:
    a = limited(arm("planar-2r"), velocity=2 * np.pi * (1 - 3e-6), acceleration=21.0)
    motion = da.fourier([[[1.0], [0.0]], [[0.0], [0.0]]], 1.0)
    motion = dataclasses.replace(motion, duration=1.0, sampled_at=np.linspace(0, 1, 8))
    assert [x.quantity for x in motion.limits_report(a)] == ["velocity", "acceleration"]
    assert motion.limits_report(a)[1].value == pytest.approx(-((2 * np.pi) ** 2), rel=1e-6)
    jump = da.trapezoidal([0.0, 0.0], [1.0, 0.5], acceleration_time=0.1, duration=[2.0, 0.4])
    limit = limited(arm("planar-2r"), acceleration=5.0)
    assert [x.joint for x in jump.limits_report(limit)] == ["joint1", "joint2"]


def test_a_motion_at_its_limits_is_within_them() -> None:
    a = limited(arm("planar-2r"), lower=-1.0, upper=1.0, velocity=5.0, acceleration=5 / 0.15)
    da.trapezoidal([-1.0, 1.0], [1.0, -1.0], acceleration_time=0.15, max_velocity=5.0).check_limits(a)
    free = limited(arm("planar-2r"))
    assert da.triangular([0, 0], [99, 99], duration=0.01).limits_report(free) == []


def test_an_arm_with_another_number_of_joints() -> None:
    with pytest.raises(da.ShapeError, match="the motion has 3 joints, but arm 'planar-2r' has 2"):
        da.triangular(Q0, Q1, duration=1.0).check_limits(arm("planar-2r"))


def test_a_motion_must_last() -> None:
    for duration in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(da.DalembertError, match="duration of a motion must be positive"):
            da.Trajectory(duration, 1, lambda t: (t, t, t))


# -- files -----------------------------------------------------------------------------------------


def test_saved_with_torques_and_at_a_rate(tmp_path: Path) -> None:
    a, path = arm("planar-2r"), tmp_path / "m.csv"
    motion = da.triangular([0.0, 0.0], [1.0, 1.0], duration=0.55)
    motion.save(path, arm=a, rate=100.0, tip_wrench=[1, 2, 0, 0, 0, 0])
    assert path.read_text().splitlines()[0] == "t,q1,q2,qd1,qd2,qdd1,qdd2,tau1,tau2"
    table = read_motion(path, torques=True)
    assert np.allclose(table.t, np.arange(56) / 100) and table.t[-1] == 0.55
    assert np.array_equal(table.tau, a.inverse_dynamics(table.q, table.qd, table.qdd, [1, 2, 0, 0, 0, 0]))
    assert da.read_trajectory(path, a).n == 2 and read_motion(path).ignored == ("tau1", "tau2")
    with pytest.raises(da.DalembertError, match="already exists"):
        motion.save(path, overwrite=False)
    with pytest.raises(da.DalembertError, match="the rate is 0 samples per second"):
        motion.save(path, rate=0.0)
    with pytest.raises(da.ShapeError, match="the motion has 2 joints, but arm 'panda' has 7"):
        motion.save(path, arm=arm("panda"))
    assert "tau2" in path.read_text()


def phase(t: np.ndarray, x: np.ndarray, w: float) -> complex:
    """Amplitude and phase of the part of x that turns with w, from the middle of the record."""
    basis = np.stack([np.cos(w * t), np.sin(w * t)], axis=1)
    c, s = np.linalg.lstsq(basis, x, rcond=None)[0]
    return complex(c, -s)


@pytest.mark.parametrize("cutoff", [None, 20.0])
def test_reconstruction_has_no_phase_lag(cutoff: float | None) -> None:
    t, w = np.arange(2000) / 500 + 7.0, 2 * np.pi * 1.5
    q = np.cos(w * t)[:, None]
    _, qd, qdd = quintic(t, q if cutoff is None else low_pass(t, q, cutoff)).y
    middle = slice(400, 1600)
    for made, factor in ((qd, 1j * w), (qdd, -(w**2))):
        found = phase(t[middle], made[middle, 0], w) / factor
        assert abs(np.angle(found)) < (1e-9 if cutoff is None else 1e-5)
        assert abs(abs(found) - 1) < (1e-7 if cutoff is None else 1e-4)


def test_reconstruction_on_uneven_instants_and_smoothing() -> None:
    t = np.cumsum(RNG.uniform(0.005, 0.015, 400))
    _, qd, qdd = quintic(t, np.sin(3 * t)[:, None]).y
    assert np.allclose(qd[5:-5, 0], 3 * np.cos(3 * t[5:-5]), atol=1e-6)
    assert np.allclose(qdd[5:-5, 0], -9 * np.sin(3 * t[5:-5]), atol=1e-4)
    even = np.arange(1000) / 1000
    noisy = (np.sin(3 * even) + 1e-5 * RNG.normal(size=1000))[:, None]
    rough, smooth = (
        np.abs(quintic(even, q).y[2][100:-100, 0] + 9 * np.sin(3 * even[100:-100])).max()
        for q in (noisy, low_pass(even, noisy, 5.0))
    )
    assert smooth < 0.02 * rough
    with pytest.raises(da.DalembertError, match="a cutoff needs even sampling, but the step from"):
        low_pass(t, t[:, None], 5.0)
    with pytest.raises(
        da.DalembertError, match="the cutoff is 600 Hz; it must lie between 0 and half the sampling rate, 500 Hz"
    ):
        low_pass(even, noisy, 600.0)


def test_missing_groups_are_made_from_what_is_there(tmp_path: Path) -> None:
    motion = da.fourier(RNG.normal(size=(2, 2, 2)) * 0.3, 0.5)
    t = np.linspace(0, 2, 401)
    values = dict(zip(("q", "qd", "qdd"), motion(t), strict=True))
    path = tmp_path / "m.csv"
    for groups, made in (
        (("q",), ("qd", "qdd")),
        (("q", "qd"), ("qdd",)),
        (("q", "qdd"), ("qd",)),
        (("q", "qd", "qdd"), ()),
    ):
        names = ["t", *(f"{g}{k}" for g in groups for k in (1, 2))]
        np.savetxt(
            path, np.column_stack([t, *(values[g] for g in groups)]), delimiter=",", header=",".join(names), comments=""
        )
        table = read_motion(path)
        assert table.reconstructed == made
        back = da.read_trajectory(path)
        for k, name in enumerate(("q", "qd", "qdd")):
            inner = slice(8, -8)
            assert np.allclose(getattr(back, name)[inner], values[name][inner], atol=1e-4 * (1 + 10 * k)), (
                groups,
                name,
            )


def test_motions_begin_at_zero_whenever_the_file_begins(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("t,q1,qd1,qdd1\n5,0,0,0\n6,1,0,0\n8,2,0,0\n")
    motion = da.read_trajectory(path)
    assert motion.duration == 3.0 and np.array_equal(motion.t, [0, 1, 3]) and np.array_equal(motion.q[:, 0], [0, 1, 2])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("t,q1,q2\n0,0,0\n0.1,1,nan\n", "line 3, column 'q2': the value is NaN; it must be a finite number"),
        ("t,q1,q2\n0,0,0\n0.1,1,1\n0.05,1,1\n", "line 4, column 't': time goes backwards, from 0.1 to 0.05 s"),
        ("t,q1,q2\n0,0,0\n0.1,1,1\n0.1,1,2\n", "line 4, column 't': the time 0.1 s occurs twice"),
        ("t,q1,q2\n0,0,0\n0.1,1\n", "line 3: the row has 2 values, but the header has 3 columns"),
        ("t,q1,q2\n0,0,x\n", "line 2, column 'q2': 'x' is not a number"),
        ("t,q1,q2,qd2\n0,0,0,0\n", "the column qd1 is missing; required are t, q1 … q2, qd1 … qd2, qdd1 … qdd2"),
        ("t,q1,q2,qd1\n0,0,0,0\n", "its columns give qd the shape (…, 1), but q has 2 columns"),
        ("t,q1,q2,speed\n0,0,0,0\n", "unknown column 'speed'"),
        ("t,qd1\n0,0\n", "the column q1 is missing"),
        ("t,q1,q3\n0,0,0\n", "the column q2 is missing"),
        ("t,q1,q2\n0,0,0\n1,1,1\n", "the columns qd1 … and qdd1 … are missing and cannot be derived: a derivative needs"),
        ("t,q1,qd1,qdd1\n0,0,0,0\n", "a motion needs at least two rows, but the file has only one"),
    ],
)  # fmt: skip
def test_files_with_mistakes_name_row_and_column(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(da.DalembertError) as caught:
        da.read_trajectory(path)
    assert str(caught.value).startswith(str(path)) and sentence in str(caught.value)


DEG = 180 / np.pi
PLAIN = ["t", "q1", "q2", "qd1", "qd2", "qdd1", "qdd2"]


def two_joints() -> np.ndarray:
    """A motion of two joints as rows t, q, qd, qdd; its first row is of whole numbers."""
    t = np.arange(30) / 100
    return np.column_stack([t, *(np.outer(x, [1.0, -0.5]) for x in (np.sin(3 * t), 3 * np.sin(t), -9 * np.sin(3 * t)))])


def as_text(rows: np.ndarray, header: str, between: str = ",", point: str = ".") -> str:
    lines = (between.join(f"{x:.17g}" for x in row).replace(".", point) for row in rows)
    return "\n".join([header, *lines]) + "\n"


# header, separator, decimal point, what the columns are multiplied with, what is said
TABLES: list[tuple[str, str, str, list[float], list[str]]] = [
    (",".join(PLAIN), ",", ".", [], []),
    (", ".join(f'"{name}"' for name in PLAIN), ", ", ".", [], []),
    ("# " + ",".join(PLAIN), ",", ".", [], []),
    ("# a planar arm, today\n% at 100 Hz\n\n" + ",".join(PLAIN) + "\n# s, rad, …", ",", ".", [], []),
    (";".join(PLAIN), ";", ".", [], []),
    (";".join(PLAIN), ";", ",", [], ["decimal points"]),
    ("\t".join(PLAIN), "\t", ".", [], []),
    ("\t".join(PLAIN), "\t", ",", [], ["decimal points"]),
    (" ".join(PLAIN), " ", ".", [], []),
    ("t,q0,q1,qd0,qd1,qdd0,qdd1", ",", ".", [], []),
    ("time,q[0],q[1],dq[0],dq[1],ddq[0],ddq[1]", ",", ".", [], []),
    ("t [s],q1 [rad],q2 [rad],qd1 (rad/s),qd2 (rad/s),qdd1 [rad/s^2],qdd2 [rad/s²]", ",", ".", [], []),
    ("t [ms]," + ",".join(PLAIN[1:]), ",", ".", [1e3] + 6 * [1], ["t was converted from ms to SI"]),
    ("time_us," + ",".join(PLAIN[1:]), ",", ".", [1e6] + 6 * [1], ["t was converted from us to SI"]),
    (
        "t,q1 [deg],q2 [deg],qd1 [deg/s],qd2 [deg/s],qdd1 [deg/s^2],qdd2 [deg/s²]", ",", ".", [1, *6 * [DEG]],
        [f"{group} was converted from {unit} to SI" for group, unit in (("q", "deg"), ("qd", "deg/s"), ("qdd", "deg/s^2, deg/s²"))],
    ),
    ("t;q1_deg;q2_deg;qd1;qd2;qdd1;qdd2", ";", ",", [1, DEG, DEG, *4 * [1]], ["decimal points", "q was converted from deg to SI"]),
    ("t,q1 [rad],q2 [mrad],qd1,qd2,qdd1,qdd2", ",", ".", [1, 1, 1e3, *4 * [1]], ["q was converted from rad, mrad to SI"]),
    ("t,q1,q2,qd1 [rpm],qd2 [°/s],qdd1,qdd2", ",", ".", [1, 1, 1, 30 / np.pi, DEG, 1, 1], ["qd was converted from rpm, °/s to SI"]),
    ("t,joint1.position,joint2.position,joint1.velocity,joint2.velocity,joint1.acceleration,joint2.acceleration", ",", ".", [], []),
    ("stamp,joint1_pos,joint2_pos,joint1_vel,joint2_vel,joint1_acc,joint2_acc", ",", ".", [], []),
    ("t,arm/joint1/position [deg],arm/joint2/position [deg],qd1,qd2,qdd1,qdd2", ",", ".", [1, DEG, DEG, *4 * [1]],
     ["arm.joint1, arm.joint2 are used for joint1, joint2", "q was converted from deg to SI"]),
]  # fmt: skip


@pytest.mark.parametrize(("header", "between", "point", "scale", "said"), TABLES)
@pytest.mark.parametrize("lines", [4, 20_000])
def test_every_way_to_write_a_table_gives_the_same_motion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str, between: str, point: str, scale: list[float],
    said: list[str], lines: int,
) -> None:  # fmt: skip
    monkeypatch.setattr("dalembert.base.tables.number_tables.LINES", lines)
    rows, path = two_joints(), tmp_path / "m.csv"
    path.write_text(as_text(rows * (scale or 1.0), header, between, point))
    table = read_motion(path, arm("planar-2r"))
    found = np.column_stack([table.t, table.q, table.qd, table.qdd])
    assert np.array_equal(found, rows) if not scale else np.allclose(found, rows, rtol=1e-14, atol=0)
    assert len(table.notes) == len(said) and all(word in note for word, note in zip(said, table.notes, strict=True))
    assert not table.ignored and not table.reconstructed
    motion = da.read_trajectory(path, arm("planar-2r"))
    assert motion.notes == table.notes and np.array_equal(motion.q, table.q)


def test_joints_are_found_by_their_names(tmp_path: Path) -> None:
    rows, path = two_joints(), tmp_path / "m.csv"
    words = {"q": "position", "qd": "velocity", "qdd": "acceleration"}
    names = [f"{joint}.{word}" for word in words.values() for joint in ("joint2", "finger", "joint1")]
    mixed = np.column_stack([rows[:, 0], *(rows[:, [k + 1, k, k]] * [1, 7, 1] for k in (1, 3, 5))])
    path.write_text(as_text(mixed, ",".join(["t", *names])))
    table = read_motion(path, arm("planar-2r"))
    assert np.array_equal(np.column_stack([table.t, table.q, table.qd, table.qdd]), rows)
    assert table.notes == (f"{path}: the joints finger do not belong to the arm and were left out",)
    assert table.ignored == tuple(name for name in names if name.startswith("finger"))
    bare = read_motion(path)
    assert np.array_equal(bare.q, mixed[:, 1:4]) and "joint2, finger, joint1, in the file's order" in bare.notes[0]
    swapped = "t,b.position,a.position,a.velocity,b.velocity"
    path.write_text(as_text(rows[:, :5], swapped))
    assert np.array_equal(read_motion(path).qd, rows[:, [4, 3]])  # of b, then of a
    with pytest.raises(da.DalembertError, match=r"some columns are for the joints b, a, others for a, c; all must"):
        path.write_text(as_text(rows[:, :5], swapped.replace("b.vel", "c.vel")))
        read_motion(path)
    with pytest.raises(
        da.DalembertError, match=r"joint 'joint1' of arm 'planar-2r' is not in the motion, whose joints"
    ):
        read_motion(path, arm("planar-2r"))


def test_units_are_those_of_each_joint(tmp_path: Path) -> None:
    rows, path, sliding = two_joints(), tmp_path / "m.csv", da.load("pr-arm")
    assert [joint.type for joint in sliding.robot.moving_joints] == ["prismatic", "revolute"]
    path.write_text(
        as_text(rows * [1, 1e3, DEG, 1e3, DEG, 1, 1], "t,q1 [mm],q2 [deg],qd1 [mm/s],qd2 [deg/s],qdd1,qdd2")
    )
    table = read_motion(path, sliding)
    assert np.allclose(np.column_stack([table.q, table.qd]), rows[:, 1:5], rtol=1e-14, atol=0)
    assert table.notes[0].endswith("q was converted from mm, deg to SI")
    with pytest.raises(
        da.DalembertError, match=r"q of joint 1 is in 'mm', but the joint is revolute; known units are rad, deg"
    ):
        read_motion(path, arm("planar-2r"))
    for header in ("t,q1 [deg],q2 [deg]", "t,q1 [m],q2 [m]"):
        path.write_text(as_text(rows[:, :3], header))
        with pytest.raises(da.DalembertError, match=r"q of joint \d is in '(deg|m)', but the joint is"):
            read_motion(path, sliding)
    path.write_text("t,q1,q2,qd1,qd2,qdd1,qdd2,tau1 [kN],tau2 [kN m]\n" + 2 * "0,0,0,0,0,0,0,1,1e307\n")
    with pytest.raises(da.DalembertError, match=r"line 2, column 'tau2 \[kN m\]': the value is infinite"):
        read_motion(path, sliding, torques=True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("t;q1;q2\n0;0;0\n0,1;1;nan\n", "line 3, column 'q2': the value is NaN"),
        ("t;q1 [deg];q2\n0;0;0\n0,1;x;1\n", "line 3, column 'q1 [deg]': 'x' is not a number"),
        ("t;q1;q2\n0;0;0\n0,1;1,000.5;1\n", "line 3, column 'q1': '1,000.5' is not a number"),
        ("t;q1;q2;\n0;0;0;\n0,1;1,x;1;\n", "line 3, column 'q1': '1,x' is not a number"),
        ("t;q1;q2\n0;0;0\n0,1;;1\n", "line 3, column 'q1': the cell is empty"),
        ("t;q1;q2\n0;0;0\n0,1;1\n", "line 3: the row has 2 values, but the header has 3 columns"),
        ("t,q1,q2\n0;0;0\n", "line 2: the row has 1 value, but the header has 3 columns"),
        ("t,q1,q2\n0,0,0\n# said\n0.1,1\n", "line 4: the row has 2 values, but the header has 3 columns"),
        ("t,q1,q2\n0,0,0\n#N/A,1,1\n", "line 3, column 't': '#N/A' is not a number"),
        ("time_ms,q1,q2\n0,0,0\n100,1,1\n50,1,1\n", "line 4, column 'time_ms': time goes backwards, from 0.1 to 0.05 s"),
        ("t [weeks],q1,q2\n0,0,0\n", "t is in 'weeks'; known units are s, sec, ms, us, µs, ns"),
        ("t,q1 [N],q2\n0,0,0\n", "q is in 'N'; known units are rad, deg"),
        ("t,q1,q2,qdd1 [deg],qdd2\n0,0,0,0,0\n", "qdd is in 'deg'; known units are rad/s², deg/s²"),
        ("t,q1 [deg],q1 [rad]\n0,0,0\n", "the column q1 occurs more than once in the header"),
        ("t,time,q1,q2\n0,0,0,0\n", "unknown column 'time'"),
        ("t,q1,q2,pos1,pos2\n0,0,0,0,0\n", "unknown columns 'pos1', 'pos2'"),
        ("t,pos1,pos3\n0,0,0\n", "number 2 of the columns pos1, pos2, … is missing"),
        ("t,q1,q2,current1\n0,0,0,0\n", "unknown column 'current1'"),
        ("t,q,q2\n0,0,0\n", "unknown column 'q'"),
        ("time,stamp,q1,q2\n0,0,0,0\n", "time, stamp could all be t; keep only the correct ones in the file"),
        ("t,a.position,q_meas1\n0,0,0\n", "a.position, q_meas1 could all be q"),
        ("t1,t2,q1,q2\n0,0,0,0\n", "the column t occurs more than once in the header"),
        ("0;0;0\n1;1;1\n", "line 1: the file has no header"),
        ("# said\n# again\n", "the file has no rows"),
        ("2024-01-01T00:00:00,0,0\n", "line 1: the file has no header"),
        ("t,q1,q2\n2024-01-01T00:00:00,0,0\n", "line 2, column 't': '2024-01-01T00:00:00' is not a number"),
    ],
)  # fmt: skip
def test_other_tables_with_mistakes_are_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(da.DalembertError) as caught:
        da.read_trajectory(path)
    assert str(caught.value).startswith(str(path)) and sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_for_another_arm_name_both(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    da.triangular(Q0, Q1, duration=1.0).save(path)
    with pytest.raises(da.ShapeError, match=re.escape("give q the shape (…, 3), but arm 'planar-2r' has 2 joints")):
        da.read_trajectory(path, arm("planar-2r"))
