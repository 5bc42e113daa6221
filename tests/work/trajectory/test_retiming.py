"""Motions under a time law of the user's own, S (7.119)–(7.126), and the table of even scalings."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from arms import DISTINCT, arm, relative
from dalembert.work.trajectory.planning.jets import OF_ONE, Jet
from dalembert.work.trajectory.planning.trajectory import Trajectory

T = 1.7  # s, of the motion as it was
REFUSED = ["terms"]  # friction of the speed that no scaling knows
RETIMED = [name for name in DISTINCT if name not in REFUSED]


def motion_of(a: da.Arm) -> Trajectory:
    """A motion around the home pose, within the reach of closed chains, whose acceleration jumps at 0.5 s."""
    offsets = np.random.default_rng(5).uniform(-0.2, 0.2, (2, a.n))
    there, back = (
        da.polynomial(a.home + offsets[k], a.home + offsets[1 - k], duration=d) for k, d in ((0, 0.5), (1, T - 0.5))
    )

    def evaluate(t: np.ndarray) -> tuple[np.ndarray, ...]:
        first, then = there(np.minimum(t, 0.5)), back(np.clip(t - 0.5, 0.0, back.duration))
        return tuple(np.where((t < 0.5)[:, None], x, y) for x, y in zip(first, then, strict=True))

    return Trajectory(T, a.n, evaluate, (0.5,))


def soft(t: np.ndarray) -> np.ndarray:
    """From 0 to T in 2 s, with ṙ = 0 at both ends."""
    return T * (0.5 * t - np.sin(np.pi * t) / (2.0 * np.pi))


def with_rates(t: np.ndarray) -> tuple[np.ndarray, ...]:
    x = np.pi * t
    return soft(t), T / 2 * (1.0 - np.cos(x)), T / 2 * np.pi * np.sin(x)


@pytest.mark.parametrize("name", RETIMED)
def test_torques_of_a_retimed_motion_are_those_of_inverse_dynamics(name: str) -> None:
    """S (7.126) with gravity and friction, on open, coupled and closed arms; and for r = ct, τ_s = c² τ̄_s(ct)."""
    a = arm(name)
    motion = motion_of(a)
    for law, duration in ((soft, 2.0), (lambda t: 2.5 * t, T / 2.5)):
        new = motion.retimed(law, duration)
        t = np.linspace(0.0, duration, 41)
        assert relative(new.scaling.torques(a, t), a.inverse_dynamics(*new(t))) < 1e-10

    def tau_s(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        B, Gamma = a.inertia_matrix(q), a.velocity_product_matrix(q)
        return np.einsum("kij,kj->ki", B, qdd) + np.einsum("kij,kj->ki", Gamma, a.velocity_products(qd))

    if name in ("planar-2r", "five-bar"):
        assert relative(tau_s(*new(t)), 2.5**2 * tau_s(*motion(2.5 * t))) < 1e-10


def test_every_way_to_give_a_law_gives_the_same_motion() -> None:
    motion = motion_of(arm("planar-2r"))
    t = np.linspace(0.0, 2.0, 77)
    exact = motion.retimed(with_rates, 2.0)(t)
    r, rd, rdd = with_rates(t)
    q, qd, qdd = motion(r)
    for new, expected in zip(exact, (q, rd[:, None] * qd, rd[:, None] ** 2 * qdd + rdd[:, None] * qd), strict=True):
        assert relative(new, expected) < 1e-13
    given_r = motion.retimed(soft, 2.0)(t)
    as_motion = motion.retimed(Trajectory(2.0, 1, lambda t: tuple(x[:, None] for x in with_rates(t))))(t)
    for new, by_r, by_motion in zip(exact, given_r, as_motion, strict=True):
        assert relative(by_r, new) < 1e-12 and relative(by_motion, new) < 1e-12
    samples = motion.retimed(soft(np.linspace(0.0, 2.0, 401)), 2.0)
    assert relative(samples(t)[0], exact[0]) < 1e-7 and relative(samples(t)[1], exact[1]) < 1e-4


def test_knots_are_where_the_law_reaches_them_and_where_it_has_its_own() -> None:
    motion = motion_of(arm("planar-2r"))
    law = da.triangular([0.0], [T], duration=3.0)  # its acceleration jumps at 1.5 s
    new = motion.retimed(law)
    (knot,) = [k for k in new.knots if 0 < k < 1.4]
    assert new.duration == 3.0 and law(knot)[0][0] == pytest.approx(0.5, rel=1e-14) and 1.5 in new.knots
    # there the piece that begins counts
    before, after = new(np.array([knot - 1e-9, knot]))[2]
    assert not np.allclose(before, after) and np.allclose(after, new(knot + 1e-9)[2], atol=1e-4)
    assert new.scaling(3.0)[0] == T and "retimed from 1.7 to 3 s" in str(new.scaling)


@pytest.mark.parametrize(
    ("law", "duration", "sentence"),
    [
        (lambda t: t, None, "the time law has no duration: give duration=…, the time .* r.t. reaches 1.7 s"),
        (lambda t: t + 0.1, 1.6, r"from r\(0\) = 0 to r\(1.6\) = 1.7 s, .*; r\(0\) is 0.1 s"),
        (lambda t: t, 1.0, r"r\(1\) is 1 s"),
        (lambda t: t + np.sin(2 * np.pi * t / T), T, "must increase strictly, but its rate ṙ is -.* at t = 0.4"),
        (lambda t: np.where(t < 1, t, np.where(t < 2, 1.0 + 0 * t, t - 1)), T + 1, "r goes from 1 s at t = 1.0.* s to 1 s"),
        (lambda t: np.sqrt(T * t), T, "not finite: its rate ṙ is inf at t = 0 s"),
        (lambda t: (t, 2 + 0 * t, 0 * t), T, "r and ṙ of the time law disagree: up to t = 1.7 s, r grows by 1.7, .* 3.4"),
        (lambda t: (t, 1 + 0 * t, 1 + 0 * t), T, "ṙ and r̈ of the time law disagree"),
        (lambda t: (t, t), T, r"r\(t\) returns 2 values; it must return r, or r, ṙ and r̈"),
        (lambda t: np.interp(t, [0, T], [0, T]), T, r"r\(t\) cannot be differentiated .* let r\(t\) return"),
        (lambda t: float(t), T, r"r\(t\) cannot be evaluated for an array of times"),
        (lambda t: np.stack([t, t]), T, r"r\(t\) cannot be|r\(t\) returns"),
        ([0.0, 1.0, T], 1.0, r"the time law has shape \(3,\)"),
        (np.array([0.0, 1.0, 0.5, T]), 1.0, "must increase strictly"),
        (lambda t: t, -1.0, "duration is -1 s; it must be finite and more than 0"),
        (lambda t: t, [T], r"duration is \[.*\]; it must be a number in s"),
        (da.polynomial([0.0], [T], 1.0), "1", "duration is '1'; it must be a number"),
        (lambda t: "t", T, r"r\(t\) is not an array of numbers: 't'"),
        (lambda t: None, T, r"r\(t\) is not an array of numbers"),
    ],
)  # fmt: skip
def test_what_is_no_time_law_is_told(law: object, duration: float | None, sentence: str) -> None:
    with pytest.raises(da.DalembertError, match=sentence):
        motion_of(arm("planar-2r")).retimed(law, duration)


def test_a_law_of_two_coordinates_or_another_duration_is_told() -> None:
    motion = motion_of(arm("planar-2r"))
    with pytest.raises(da.DalembertError, match="it must be a Trajectory with one coordinate"):
        motion.retimed(motion)
    with pytest.raises(da.DalembertError, match="the duration is 2 s, but the time law lasts 3 s"):
        motion.retimed(da.triangular([0.0], [T], duration=3.0), 2.0)
    with pytest.raises(da.LimitError, match="in a way that retimed does not support"):
        a = arm("terms")
        motion_of(a).retimed(soft, 2.0).scaling.torques(a, [0.5])


def test_jets_have_the_derivatives_of_every_function() -> None:
    t, e = np.linspace(0.2, 0.9, 7), 1e-4
    binary = {
        "x/y": lambda t: np.sin(t) / (1.0 + t), "power": lambda t: (1.0 + t) ** 2.5, "exponential": lambda t: 2.0**t,
        "both": lambda t: t**t, "whole": lambda t: 3.0 - t**3 + t**2 - t**1 + t**0, "least": lambda t: np.minimum(t * t, 0.3 + 0 * t),
        "most": lambda t: np.maximum(0.3, t * t), "piece": lambda t: np.where(t < 0.5, t, 2 * t * t),
    }  # fmt: skip
    for name, f in {**{u.__name__: u for u in OF_ONE}, **binary}.items():
        value, first, second = f(Jet(t, 1.0)).parts
        assert relative(value, f(t)) < 1e-14, name
        assert np.allclose(first, (f(t + e) - f(t - e)) / (2 * e), atol=1e-6), name
        assert np.allclose(second, (f(t + e) - 2 * f(t) + f(t - e)) / e**2, atol=1e-5), name


# -- the table ---------------------------------------------------------------------------------------


def test_a_row_of_the_scaling_table_is_the_motion_with_its_time_stretched() -> None:
    a = arm("panda")
    motion = da.spline([0.0, 1.0, 2.0], [[0.0] * 7, [0.4] * 7, [0.0] * 7])
    table = motion.scaling_table(a, [0.5, 2.0])
    assert table.fits == pytest.approx(motion.scaled(a, allow_faster=True).scaling.c)
    assert table.factor.tolist() == sorted([0.5, table.fits, 2.0])
    for c, duration, torque in zip(table.factor, table.duration, table.torque, strict=True):
        slow = motion.retimed(lambda t, c=c: t / c, c * motion.duration)
        t = np.linspace(0.0, slow.duration, 2001)
        assert duration == slow.duration
        assert relative(torque, np.abs(a.inverse_dynamics(*slow(t))).max(axis=0)) < 1e-4
    row = table.factor.tolist().index(table.fits)
    assert table.exceeded[row] == pytest.approx(1.0, abs=1e-6)
    assert table.share == pytest.approx(table.torque / [j.limits.effort for j in a.robot.moving_joints])
    assert "just satisfies every limit" in str(table) and "panda_joint7 (N m)" in str(table)


@pytest.mark.parametrize("factors", [[], 1.5, [0.0], [-1.0], [1e-300], [1e300], [np.nan], "1 2", None])
def test_what_are_no_factors_is_told(factors: object) -> None:
    with pytest.raises(da.DalembertError, match="factors"):
        motion_of(arm("planar-2r")).scaling_table(arm("planar-2r"), factors)
    with pytest.raises(da.DalembertError, match="limits must be 2 Limits"):
        motion_of(arm("planar-2r")).scaling_table(arm("planar-2r"), limits=3)


def test_the_fastest_timing_of_a_path_is_that_of_the_path_retimed() -> None:
    a = arm("panda")
    motion = da.polynomial(np.zeros(7), np.full(7, 0.3), 1.0)
    eased = motion.retimed(da.polynomial([0.0], [1.0], 1.5))
    assert eased.time_optimal(a).duration == pytest.approx(motion.time_optimal(a).duration, rel=2e-3)


@pytest.mark.parametrize("t", [-0.1, 2.1, [0.0, 3.0], np.nan])
def test_a_time_law_is_known_during_the_motion_only(t: object) -> None:
    a = arm("planar-2r")
    law = motion_of(a).retimed(soft, 2.0).scaling
    for asked in (lambda: law(t), lambda: law.torques(a, t)):
        with pytest.raises(da.DalembertError, match=r"defined from 0 to 2 s, not at t = |t has the value nan"):
            asked()


def test_a_table_without_a_factor_that_fits_says_why() -> None:
    a = arm("panda").with_payload(60.0)
    motion = da.spline([0.0, 1.0, 2.0], [[0.0] * 7, [0.4] * 7, [0.0] * 7])
    table = motion.scaling_table(a)
    assert table.fits is None and "gravity alone requires" in str(table) and len(table.factor) == 6
    for factors in ([], [0.0], [[1.0]], [-1.0]):
        with pytest.raises(da.DalembertError, match="it must be a list of numbers from 1e-06 to"):
            motion.scaling_table(a, factors)
