"""Motions joined, held, reversed and repeated, and the payloads and tip wrenches that they carry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from arms import arm, relative
from dalembert.work.trajectory.planning.motion_file import read_motion
from dalembert.work.trajectory.planning.trajectory import Trajectory

CLOSED = "parallelogram"


def there(degree: int = 5, duration: float = 1.0) -> Trajectory:
    return da.polynomial([0.0, 0.2], [0.5, -0.3], duration, degree=degree)


def uneven() -> Trajectory:
    """Joints that arrive at different times: knots of their own."""
    return da.trapezoidal([0.0, 0.2], [0.5, -0.3], acceleration_time=0.2, max_velocity=1.5)


KINDS = {"cubic": lambda: there(3, 0.7), "quintic": there, "trapezoidal": uneven}


@st.composite
def compositions(draw: st.DrawFn) -> list[tuple[str, bool, float, float]]:
    """Pieces there and back in turn: which motion, with a payload or without, its wrench, and how long it is held."""
    kinds = st.sampled_from(sorted(KINDS))
    masses, forces, holds = (st.sampled_from(x) for x in ((0.0, 3.0, 12.5), (0.0, 40.0), (0.0, 0.25)))
    return draw(st.lists(st.tuples(kinds, masses, forces, holds), min_size=1, max_size=6))


def composed(
    pieces: list[tuple[str, float, float, float]],
) -> tuple[Trajectory, list[tuple[Trajectory, float, float, float]]]:
    """The motion, and what it is made of: each motion with its mass, its force and when it begins."""
    parts, listed, now = [], [], 0.0
    for k, (kind, mass, force, hold) in enumerate(pieces):
        plain = KINDS[kind]()
        plain = plain.reversed() if k % 2 else plain
        part = plain.with_payload(mass, com=(0.02, 0.0, 0.1)) if mass else plain
        part = part.with_tip_wrench([force, -force, 0, 0, 0, 0]) if force else part
        listed.append((plain, mass, force, now))
        parts.append(part.hold(hold) if hold else part)
        now += plain.duration + hold
    return da.join(parts), listed


@settings(max_examples=15, deadline=None)
@given(compositions())
def test_a_joined_motion_is_its_pieces_and_its_torques_are_those_of_the_arm_with_that_payload(pieces: list) -> None:
    a = arm("planar-2r")
    motion, listed = composed(pieces)
    for plain, mass, force, start in listed:
        inner = plain.duration * np.array([0.0, 0.1234, 0.5, 0.777])
        for got, wanted in zip(motion(start + inner), plain(inner), strict=True):
            assert np.allclose(got, wanted, rtol=0, atol=1e-11)
        loaded = a.with_payload(mass, (0.02, 0.0, 0.1)) if mass else a
        wanted = loaded.inverse_dynamics(*plain(inner), [force, -force, 0, 0, 0, 0])
        assert relative(motion.torques(a, start + inner), wanted) < 1e-11


@settings(max_examples=10, deadline=None)
@given(compositions())
def test_reversing_twice_gives_the_motion_and_its_events_again(pieces: list) -> None:
    motion, _ = composed(pieces)
    again = motion.reversed().reversed()
    t = np.linspace(0.0, motion.duration, 97)
    assert np.allclose(np.array(again(t)[:2]), np.array(motion(t)[:2]), rtol=0, atol=1e-9)
    mirrored = motion.reversed()
    assert np.allclose(mirrored(t)[1], -motion(motion.duration - t)[1], rtol=0, atol=1e-9)
    for one, other in zip(again.events, motion.events, strict=True):
        assert np.allclose((one.start, one.end), (other.start, other.end), rtol=0, atol=1e-12)
        assert np.array_equal(one.values, other.values)


@pytest.mark.parametrize("kind", KINDS)
def test_knots_and_sample_instants_are_those_of_the_pieces(kind: str) -> None:
    """At a knot the value is that of the piece which begins, forwards and backwards; nothing is resampled."""
    motion = KINDS[kind]()
    T = motion.duration
    cycle = motion.hold(0.3) + motion.reversed()
    inner = [k for k in motion.knots if 0 < k < T]
    expected = [*inner, T, T + 0.3, *(T + 0.3 + (T - np.array(inner[::-1])))]
    assert np.allclose(cycle.knots, expected, rtol=0, atol=1e-12)
    knots = np.array(cycle.knots)
    after, before = cycle(knots + 1e-9)[2], cycle(knots - 1e-9)[2]
    assert np.allclose(cycle(knots)[2], after, rtol=0, atol=1e-6)
    if kind != "quintic":
        assert np.abs(after - before).max() > 0.1
    own = cycle.t[cycle.t <= T]
    assert np.allclose(own, motion.t, rtol=0, atol=1e-12) and len(cycle.t) == 2 * len(motion.t) + 49
    assert np.array_equal(cycle.t, np.unique(cycle.t))


def test_thousands_of_pieces_are_joined_and_evaluated_at_once() -> None:
    cycle = uneven().hold(0.2) + uneven().reversed()
    many = cycle.repeated(3000)
    assert many.duration == pytest.approx(3000 * cycle.duration, abs=1e-7)
    t = np.linspace(0.0, cycle.duration, 50)[:-1]
    assert np.allclose(many(2999 * cycle.duration + t)[0], cycle(t)[0], rtol=0, atol=1e-9)
    assert sum([cycle] * 20).duration == pytest.approx(20 * cycle.duration)
    assert len(many.evaluate.pieces) == 9000


def test_motions_that_do_not_meet_are_refused_in_a_sentence() -> None:
    a = there()
    for make, sentence in (
        (lambda: a + a, "joint 1 is at 0.5 at the end of motion 1 and at 0 at the start of motion 2"),
        (
            lambda: a + da.polynomial([0.5, -0.3], [0, 0], 1.0, start_velocity=0.4),
            "velocity of joint 1 would jump from 0 ",
        ),
        (lambda: a + da.polynomial([0.5], [0], 1.0), "motions of 2 and of 1 joints cannot be joined"),
        (
            lambda: a.repeated(2),
            "joint 1 begins at 0 and ends at 0.5; a motion that is repeated must end where it begins",
        ),
        (lambda: a.repeated(0), "must be an integer of at least 1"),
        (lambda: da.polynomial([0], [1], 1.0, end_velocity=0.5).hold(1.0), "joint 1 still moves at 0.5"),
        (lambda: a.hold(-1.0), "the hold time is -1 s"),
        (lambda: da.join([]), "no motions to join"),
        (lambda: a.with_payload(-1.0), "its mass is negative"),
        (
            lambda: a.with_payload(1e300, com=(1e300, 0, 0)),
            "has the value 1e.300; at most 1e.12 in SI units is allowed",
        ),
        (lambda: a.with_payload(1.0, start=2.0), "0 ≤ start < end ≤ 1 s must hold"),
        (lambda: a.with_tip_wrench([1, 2, 3]), "tip wrench has shape (3,)"),
    ):
        with pytest.raises(da.DalembertError, match=sentence.replace("(", r"\(").replace(")", r"\)")):
            make()
    with pytest.raises(TypeError):
        a + 1.0  # type: ignore[operator]


# -- timings ---------------------------------------------------------------------------------------


def carrying() -> Trajectory:
    """Mid-motion events, and a dwell of 0.2 s in whose middle the payload is taken up."""
    cycle = there().hold(0.2) + there().reversed()
    return cycle.with_payload(20.0, start=1.1).with_tip_wrench([0, -150, 0, 0, 0, 0], start=0.4, end=1.7)


@pytest.mark.parametrize("timing", ["scaled", "time_optimal", "retimed"])
def test_events_stay_at_their_place_on_the_path_under_another_timing(timing: str) -> None:
    a, motion = arm("planar-2r"), carrying()
    new = {
        "scaled": lambda: motion.scaled(a, allow_faster=True),
        "time_optimal": lambda: motion.time_optimal(a, grid=300),
        "retimed": lambda: motion.retimed(lambda t: t**2 / motion.duration, motion.duration),
    }[timing]()
    for event, was in zip(new.events, motion.events, strict=True):
        assert np.allclose(new(event.start)[0], motion(was.start)[0], atol=1e-9)
        assert np.allclose(new(event.end)[0], motion(was.end)[0], atol=1e-9)
        assert {event.start, event.end} <= {0.0, new.duration, *new.knots}
    if timing == "retimed":
        t = np.linspace(0.0, new.duration, 41)
        assert relative(new.scaling.torques(a, t), new.torques(a, t)) < 1e-10
        return
    limits = np.array([joint.limits.effort for joint in a.robot.moving_joints])
    assert 0.999 < (np.abs(new.torques(a)) / limits).max() < 1.0 + 1e-6
    if timing == "time_optimal":
        assert [round(stop.dwell, 9) for stop in new.scaling.stops] == [0.2]
        assert new.events[0].start - new.events[1].start > 0.1  # the middle of the dwell, not its beginning


def test_a_dwell_survives_however_many_cycles_there_are() -> None:
    a = arm("planar-2r")
    cycle = there().hold(0.05) + there().reversed().hold(0.1)
    fastest = cycle.repeated(12).time_optimal(a, {"velocity": 2.0, "acceleration": 20.0}, grid=100)
    assert sum(stop.dwell for stop in fastest.scaling.stops) == pytest.approx(12 * 0.15, abs=1e-9)


# -- all that takes a motion takes its events ------------------------------------------------------


@pytest.mark.parametrize("name", ["planar-2r", CLOSED])
def test_sizing_and_studies_count_what_is_carried_on_both_sides_of_an_event(name: str) -> None:
    a = arm(name)
    base = da.polynomial(a.home, a.home + 0.3, 1.0, degree=5)
    motion = base.with_payload(5.0, end=0.6).with_tip_wrench([10, 0, 0, 0, 0, 0], start=0.2, end=0.6)
    sizing = da.size(a, motion)
    heavy = a.with_payload(5.0)
    t = np.linspace(0.2, 0.6, 301)
    wanted = np.abs(heavy.inverse_dynamics(*base(t), [10, 0, 0, 0, 0, 0])).max(axis=0)
    assert (sizing.torque.peak >= wanted * (1 - 1e-5)).all()
    study = da.study(a, motion)
    assert relative(study.terms.total, study.shown_torque) < 1e-10
    at = study.at
    assert np.count_nonzero(at.t == 0.6) == 2  # before the release, and after it
    before, after = study.torque[at.t == 0.6]
    assert relative(before, heavy.inverse_dynamics(*base(0.6), [10, 0, 0, 0, 0, 0])) < 1e-6
    assert relative(after, a.inverse_dynamics(*base(0.6))) < 1e-12


def test_a_motion_file_has_what_is_carried(tmp_path: Path) -> None:
    a, path = arm("planar-2r"), tmp_path / "cycle.csv"
    box = da.Inertia(2.0, (0.0, 0.01, 0.05), ((0.02, 0.0, 0.001), (0.0, 0.03, 0.0), (0.001, 0.0, 0.025)))
    motion = carrying().with_payload(box, start=0.3, end=0.5)
    motion.save(path, arm=a)
    header = path.read_text().split("\n", 1)[0]
    assert "payload,payload_x,payload_y,payload_z,payload_ixx" in header and header.endswith("fx,fy,fz,mx,my,mz")
    read = da.read_trajectory(path, a)
    assert relative(read.q, motion.q) < 1e-12 and len(read.events) == 3
    t = motion.duration * np.array([0.01, 0.31, 0.44, 0.5, 0.77, 1.0])
    assert relative(read.torques(a, t), motion.torques(a, t)) < 1e-6
    wanted = da.size(a, motion).torque
    for got in (da.size(a, read).torque, da.size(a, read_motion(path, a)).torque):
        assert relative(got.peak, wanted.peak) < 1e-6 and relative(got.rms, wanted.rms) < 1e-6
    there().save(path)
    assert "payload" not in path.read_text() and da.read_trajectory(path).events == ()


@pytest.mark.parametrize(
    "make", [uneven, lambda: there(3).hold(0.2) + there(3).reversed()], ids=["trapezoidal", "cycle"]
)
def test_a_motion_that_is_saved_and_read_has_its_torques_between_its_rows_too(make: Callable, tmp_path: Path) -> None:
    a, motion = arm("planar-2r"), make().with_payload(5.0, start=0.3)
    for known in (motion, motion.time_optimal(a)):  # accelerations and loads jump in both
        known.save(tmp_path / "motion.csv", arm=a)
        read = da.read_trajectory(tmp_path / "motion.csv", a)
        t = np.linspace(0.0, min(known.duration, read.duration), 3333)
        away = np.abs(np.subtract.outer(t, known.knots)).min(axis=1) > 1e-9 * known.duration
        wanted = known.torques(a, t[away])
        assert relative(read.torques(a, t[away]), wanted) < 1e-3
        assert relative(da.size(a, read).torque.peak, da.size(a, known).torque.peak) < 1e-6
        assert relative(da.study(a, read).sizing.torque.peak, da.size(a, known).torque.peak) < 1e-6


@pytest.mark.parametrize(
    ("columns", "rows", "sentence"),
    [
        ("t,q1,payload_x", "0,0,0\n1,1,0", "the column payload_x needs a column 'payload'"),
        ("t,q1,payload [stone]", "0,0,0\n1,1,0", "the unit of column 'payload' is 'stone'; it must be one of kg, g"),
        (
            "t,q1,payload",
            "0,0,1\n1,1,-2\n2,0,0",
            "the payload at t = 1 s: the payload is not physically possible: its mass is negative",
        ),
        ("t,q1,fx,fx", "0,0,0,0\n1,1,0,0", "the column fx occurs more than once in the header"),
    ],
)
def test_columns_of_what_is_carried_that_make_no_sense_are_refused(
    tmp_path: Path, columns: str, rows: str, sentence: str
) -> None:
    path = tmp_path / "motion.csv"
    names = columns.replace("q1", "q1,qd1,qdd1")
    body = "\n".join(",".join([*row.split(",")[:2], "0", "0", *row.split(",")[2:]]) for row in rows.split("\n"))
    path.write_text(f"{names}\n{body}\n")
    with pytest.raises(da.DalembertError) as problem:
        da.read_trajectory(path)
    assert sentence in str(problem.value)


# -- simulation ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run() -> tuple:
    motion = da.polynomial([0.0, 0.2], [0.5, -0.3], 0.4, degree=5)
    motion = motion.with_payload(20.0, com=(0.1, 0, 0), start=0.12345).with_tip_wrench([0, 50, 0, 0, 0, 0], end=0.3)
    return motion, da.simulate(arm("planar-2r"), motion.q[0], None, da.Feedforward(motion), 0.5)


def test_a_simulation_changes_the_arm_exactly_at_the_events_of_its_motion(run: tuple) -> None:
    """Feedforward that knows what is carried keeps to the motion, which it would not if an event came a step late."""
    motion, simulated = run
    a = arm("planar-2r")
    assert simulated.largest_tracking_error.max() < 1e-9
    assert [round(float(stage.t[-1]), 9) for stage in simulated.stages] == [0.12345, 0.17655, 0.2]
    for instant in (0.12345, 0.3, 0.5):
        assert np.abs(simulated.t - instant).min() < 1e-12
    during = simulated.t < 0.4
    assert relative(simulated.tau[during], motion.torques(a, simulated.t[during])) < 1e-8
    assert simulated.q.shape == simulated.tau.shape == simulated.qdd.shape and len(simulated.energy) == len(simulated.t)


def test_the_energy_jumps_by_that_of_the_payload_and_is_balanced_between(run: tuple) -> None:
    """At the event the state goes on and the energy of the body is added; between events it is the work of the drives."""
    _, simulated = run
    a = arm("planar-2r")
    first, second = simulated.stages[:2]
    q, qd = first.q[-1], first.qd[-1]
    heavy = a.with_payload(20.0, (0.1, 0, 0))
    jump = (heavy.kinetic_energy(q, qd) + heavy.potential_energy(q)) - (a.kinetic_energy(q, qd) + a.potential_energy(q))
    assert second.energy[0] - first.energy[-1] == pytest.approx(jump, rel=1e-9)
    for stage in simulated.stages[:2]:
        at_tip = np.einsum("tij,tj->ti", stage.arm.jacobian(stage.q), stage.qd) @ [0, 50, 0, 0, 0, 0]
        power = (
            (stage.tau * stage.qd).sum(axis=1) - (stage.arm.friction_torque(stage.qd) * stage.qd).sum(axis=1) - at_tip
        )
        work = float(np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(stage.t)))
        assert stage.energy[-1] - stage.energy[0] == pytest.approx(work, rel=1e-3)


def test_a_controller_with_a_model_of_its_own_does_not_know_what_is_carried() -> None:
    a = arm("planar-2r")
    motion = there(duration=0.4).with_payload(20.0, start=0.2)
    knows, not_told = (da.ComputedTorque(100.0, 20.0, motion, model=model) for model in (None, a))
    errors = [da.simulate(a, motion.q[0], None, c, 0.4).largest_tracking_error.max() for c in (knows, not_told)]
    assert errors[0] < 1e-9 < 1e-3 < errors[1]
    with pytest.raises(da.DalembertError, match="parameters would replace the payload of the motion"):
        da.simulate(a, motion.q[0], None, knows, 0.4, parameters=a.parameters)
    with pytest.raises(da.DalembertError, match="steps are cut at the events"):
        da.simulate(a, motion.q[0], None, knows, 0.4, tip_wrench=np.zeros((400, 6)))


# -- curves through samples --------------------------------------------------------------------------


def sparse() -> tuple[np.ndarray, np.ndarray]:
    """A move of joint 1 in 15 samples, a rest of 3 s without any, and the way back."""
    move = da.trapezoidal([0.0, 0.0], [1.0, 0.5], acceleration_time=0.2, max_velocity=2.0)
    t = np.linspace(0.0, move.duration, 15)
    q = move(t)[0]
    return np.concatenate([t, move.duration + 3.0 + t]), np.concatenate([q, q[::-1]])


def test_a_spline_that_swings_out_of_a_hold_is_said_and_a_monotone_curve_taken(tmp_path: Path) -> None:
    t, q = sparse()
    path = tmp_path / "sparse.csv"
    np.savetxt(path, np.column_stack([t, q]), delimiter=",", header="t,q1,q2", comments="")
    with pytest.warns(
        da.InterpolationWarning, match="the samples of q1 stay at 1, but the spline through them reaches -1"
    ):
        motion = da.read_trajectory(path)
    assert "a monotone curve was used instead" in motion.notes[-1]
    rest = np.linspace(t[14], t[15], 50)
    assert np.array_equal(motion(rest)[0], np.broadcast_to(q[14], (50, 2))) and not motion(rest)[2].any()
    with pytest.warns(da.InterpolationWarning, match="interpolation 'monotone' stays between them"):
        swung = da.read_trajectory(path, interpolation="spline")
    assert swung(rest)[0].min() < -1.0
    with pytest.raises(da.DalembertError, match="interpolation is 'linear'; it must be 'auto', 'spline' or 'monotone'"):
        da.read_trajectory(path, interpolation="linear")  # type: ignore[arg-type]
    with pytest.warns(da.InterpolationWarning, match="give interpolation="):
        da.spline(t, q)
    assert np.abs(da.spline(t, q, interpolation="monotone").qdd).max() < 15.0  # 10 is the truth


def test_smooth_samples_keep_the_spline_without_a_word(recwarn: pytest.WarningsRecorder, tmp_path: Path) -> None:
    path = tmp_path / "smooth.csv"
    for motion in (there(), uneven().hold(0.3) + uneven().reversed(), da.polynomial([0, 0], [1, -1], 1.0, degree=7)):
        t = np.linspace(0.0, motion.duration, 200)
        np.savetxt(path, np.column_stack([t, motion(t)[0]]), delimiter=",", header="t,q1,q2", comments="")
        assert da.read_trajectory(path).notes == ()
    assert not [w for w in recwarn if issubclass(w.category, da.InterpolationWarning)]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0.01, 2.0), st.sampled_from([-1.0, -0.5, 0.0, 0.0, 0.25, 1.0])), min_size=3, max_size=20
    )
)
def test_a_monotone_curve_stays_between_its_samples_but_for_smooth_turning_points(samples: list) -> None:
    steps, values = np.array(samples).T
    t, q = np.cumsum(steps), values[:, None]
    motion = da.spline(t, q, interpolation="monotone", boundary="not-a-knot")
    at = motion.breaks[:-1, None] + np.diff(motion.breaks)[:, None] * np.linspace(0.0, 1.0, 21)
    inside = motion(at)[0][..., 0]
    low, high = np.minimum(q[:-1], q[1:]), np.maximum(q[:-1], q[1:])
    beyond = np.maximum(inside - high, low - inside).max(axis=1)
    d = np.diff(values) / steps[1:]
    bends = np.abs(2.0 * np.diff(d) / (steps[1:-1] + steps[2:]))
    bends = np.concatenate([bends[:1], bends, bends[-1:]])
    allowed = 0.26 * steps[1:] ** 2 * np.maximum(bends[:-1], bends[1:])
    assert (beyond <= allowed + 1e-9).all()
    _, before, after = (
        motion(motion.breaks[1:-1] - 1e-12),
        motion(motion.breaks[1:-1] - 1e-9),
        motion(motion.breaks[1:-1]),
    )
    assert np.allclose(before[1], after[1], atol=1e-4)  # q̇ is continuous
