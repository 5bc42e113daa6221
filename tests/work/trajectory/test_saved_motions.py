"""Everything that writes a motion is read again, with the same positions, torques, loads and limits."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from arms import arm, relative
from dalembert.views.cli.main import app
from dalembert.work.trajectory.planning.motion_file import read_motion
from dalembert.work.trajectory.planning.trajectory import Trajectory

ARM = "ur5e"
TAKEN = 1e-4  # of a limit: a motion between the rows of its file may use this much more


def cycle(rng: np.random.Generator, n: int) -> Trajectory:
    """Pick and place: three moves with dwells, a payload between them, another one and a wrench from anywhere."""
    q = rng.uniform(-0.8, 0.8, (4, n))
    degrees = rng.choice([3, 5, 7], 3).tolist()
    moves = [da.polynomial(q[k], q[k + 1], float(rng.uniform(0.6, 1.2)), degrees[k]) for k in range(3)]
    held = moves[0].hold(0.2) + moves[1].with_payload(float(rng.uniform(0.5, 2.0)), (0.0, 0.01, 0.05)) + moves[2]
    held = held.hold(0.1) if rng.random() < 0.5 else held
    start = float(rng.uniform(0.0, 0.4)) * held.duration
    return held.with_payload(0.3, start=start).with_tip_wrench([3, 0, 5, 0, 0.1, 0], start=start, end=start + 0.4)


def trapezoid(rng: np.random.Generator, n: int) -> Trajectory:
    """Joints that arrive at different times, there and back."""
    there = da.trapezoidal(*rng.uniform(-0.8, 0.8, (2, n)), acceleration_time=0.2, max_velocity=1.5)
    return (there + there.reversed()).repeated(2)


def waypoints(rng: np.random.Generator, n: int) -> Trajectory:
    return da.spline(np.linspace(0.0, 2.0, 5), rng.uniform(-0.8, 0.8, (5, n))).with_payload(1.0, start=0.7)


def law(motion: Trajectory) -> Trajectory:
    return motion.retimed(da.polynomial([0.0], [motion.duration], 2.0 * motion.duration))


MOTIONS = {"cycle": cycle, "trapezoids": trapezoid, "spline": waypoints}
TIMINGS: dict[str, Callable[[Trajectory, da.Arm], Trajectory]] = {
    "as it is": lambda motion, a: motion,
    "scaled": lambda motion, a: motion.scaled(a, allow_faster=True),
    "retimed": lambda motion, a: law(motion),
    "time-optimal": lambda motion, a: motion.time_optimal(a),
    "time-optimal of what was read": lambda motion, a: motion.time_optimal(a, grid=200),
}


def instants(motion: Trajectory) -> np.ndarray:
    """Dense times away from the knots, where a load or an acceleration has one value."""
    knots = np.array([0.0, *motion.knots, motion.duration])
    t = np.concatenate([np.linspace(0.0, motion.duration, 2001), 0.5 * (knots[1:] + knots[:-1])])
    after = np.clip(np.searchsorted(knots, t), 1, len(knots) - 1)
    return t[np.minimum(t - knots[after - 1], knots[after] - t) > 1e-9 * motion.duration]


def share(motion: Trajectory, a: da.Arm) -> float:
    """The largest share of an effort limit."""
    effort = np.array([joint.limits.effort for joint in a.robot.moving_joints])
    return float((np.abs(motion.torques(a, instants(motion))) / effort).max())


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".npz", ".parquet"])
def test_a_table_has_the_format_of_its_suffix_and_is_read_again(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    a, path = arm("planar-2r"), tmp_path / f"motion{suffix}"
    motion = cycle(np.random.default_rng(5), 2)
    run = da.simulate(a, motion(0.0)[0], None, da.ComputedTorque(100.0, 20.0, motion), 0.1)
    for save in (motion.save, run.save, partial(motion.save, rate=100.0, arm=a)):
        save(path, overwrite=True)
        start = {".csv": b"t,q1,q2", ".tsv": b"t\tq1\tq2", ".npz": b"PK", ".parquet": b"PAR1"}[suffix]
        assert path.read_bytes().startswith(start)
        read = da.read_trajectory(path, a)
        if save == run.save:
            assert np.array_equal(read.t, run.t) and np.array_equal(read.q, run.q)
        else:
            assert read.duration == motion.duration and np.array_equal(read.q[[0, -1]], motion.q[[0, -1]])
            assert sorted(event.mass for event in read.events if isinstance(event, da.PayloadEvent))
    assert np.array_equal(da.read_torques(path, a).tau[0], motion.torques(a, 0.0))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"t": 1.0}, "'t' has shape (), but other arrays have 60 rows"),
        ({"q": np.zeros((3, 60, 2))}, "'q' has shape (3, 60, 2), so the file holds a batch of motions"),
        ({"q": np.full((60, 2), np.nan)}, "row 1, column 'q1': the value is NaN; it must be a finite number"),
        ({"t": None}, "the column t is missing"),
        ({"energy": np.ones(60), "gains": np.ones(3), "name": "x"}, ""),
        ({"q": np.c_[np.linspace(0, 2, 60), np.linspace(0, 1, 60)], "joint_names": ["joint2", "joint1"]}, ""),
    ],
)
def test_arrays_are_a_motion_or_refused_in_a_sentence(change: dict, sentence: str, tmp_path: Path) -> None:
    t = np.linspace(0.0, 1.0, 60)
    arrays = {"t": t, "q": np.c_[t, 2 * t], **change}
    np.savez(tmp_path / "m.npz", **{name: values for name, values in arrays.items() if values is not None})
    if sentence:
        with pytest.raises(da.DalembertError, match=re.escape(sentence)):
            da.read_trajectory(tmp_path / "m.npz", arm("planar-2r"))
    else:
        assert np.array_equal(da.read_trajectory(tmp_path / "m.npz", arm("planar-2r")).q[-1], [1.0, 2.0])


def test_a_name_that_promises_another_format_is_refused(tmp_path: Path) -> None:
    motion, a = da.polynomial([0.0, 0.1], [0.4, 0.3], 1.0), arm("planar-2r")
    study, sizing = da.study(a, motion), da.size(a, motion)
    run = da.simulate(a, [0.0, 0.1], None, None, 0.01)
    for save, right in (
        (motion.save, ".csv"), (run.save, ".csv"), (sizing.to_csv, ".csv"),
        (lambda path: da.write_report(path, study), ".html"), (lambda path: da.write_page(path, a), ".html"),
    ):  # fmt: skip
        with pytest.raises(da.DalembertError, match=f"cannot be written as '.pdf', only as .*: name it 'x{right}'"):
            save(tmp_path / "x.pdf")
    motion.save(tmp_path / "m.csv")
    commands = [
        "plan planar-2r --from '0 0' --to '1 1'", "torques planar-2r m.csv", "scale planar-2r m.csv", "excite planar-2r",
        "simulate planar-2r", "report planar-2r m.csv", "page planar-2r", "equations planar-2r", "size planar-2r m.csv --motors m.csv",
        "approximate planar-2r m.csv",
    ]  # fmt: skip
    for command in commands:
        words = [str(tmp_path / x) if x == "m.csv" else x for x in shlex.split(command)]
        done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "x.docx")])
        assert done.exit_code == 2 and "cannot be written as '.docx'" in done.stderr, (command, done.output)
    assert [path.name for path in tmp_path.iterdir()] == ["m.csv"]


@pytest.mark.parametrize(
    ("make", "timing", "seed"),
    [(make, timing, k) for make in MOTIONS for timing in TIMINGS for k in range(3 if timing == "time-optimal" else 1)],
)
def test_a_saved_motion_is_read_again_with_its_torques_and_its_limits(
    make: str, timing: str, seed: int, tmp_path: Path
) -> None:
    a, path = arm(ARM), tmp_path / "motion.csv"
    motion = MOTIONS[make](np.random.default_rng(seed), a.n)
    if timing.endswith("read"):
        motion.save(path)
        motion = da.read_trajectory(path)
    motion = TIMINGS[timing](motion, a)
    motion.save(path, arm=a)
    read = da.read_trajectory(path, a)
    assert abs(read.duration - motion.duration) <= 1e-15 * motion.duration
    t = instants(motion)
    assert relative(read(t)[0], motion(t)[0]) < 1e-7 and relative(read(t)[1], motion(t)[1]) < 1e-5
    for mine, own in zip(read.loads.at(t), motion.loads.at(t), strict=True):
        assert (mine is None) == (own is None) and (own is None or relative(mine, own) < 1e-12)
    assert share(read, a) <= share(motion, a) + TAKEN
    wanted = motion.torques(a, t)
    off = np.abs(da.read_torques(path, a).at(t) - wanted)  # linear between the rows
    assert off.mean() < 1e-3 * np.abs(wanted).max()
    again = tmp_path / "again.csv"
    read.save(again, arm=a)
    assert np.array_equal(np.unique(read_motion(again).t), np.unique(read_motion(path).t))


def test_a_saved_run_is_read_again_with_its_loads(tmp_path: Path) -> None:
    a, path = arm(ARM), tmp_path / "run.csv"
    motion = cycle(np.random.default_rng(3), a.n).time_optimal(a)
    run = da.simulate(a, motion(0.0)[0], None, da.ComputedTorque(100.0, 20.0, motion), motion.duration)
    run.save(path)
    read = da.read_trajectory(path, a)
    assert np.array_equal(read(run.t)[0], run.q) and read.loads.at(run.t)[0] is not None
    assert relative(read.torques(a, run.t), run.tau) < 1e-6


def test_a_motion_that_starts_beyond_a_stop_is_followed_without_stops(tmp_path: Path) -> None:
    da.polynomial([7.0, 0.0], [6.9, 0.1], 0.2).save(tmp_path / "far.csv")
    words = ["simulate", "planar-2r", "--follow", str(tmp_path / "far.csv"), "-o", str(tmp_path / "run.csv")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0 and "starts beyond an end stop and the run has none" in " ".join(done.stderr.split())
    assert CliRunner().invoke(app, [*words, "--force", "--stops", "contact"]).exit_code == 2


@pytest.mark.parametrize("words", ["", "--time-optimal", "--faster"])
def test_what_a_command_writes_the_next_one_reads(words: str, tmp_path: Path) -> None:
    """The cycle of docs/command-line.md."""
    points, plan, out, tau = (tmp_path / f"{x}.csv" for x in ("points", "plan", "out", "tau"))
    points.write_text(
        "q1 [deg],q2 [deg],q3 [deg],q4 [deg],q5 [deg],q6 [deg],hold,payload\n0,-60,60,0,60,0,0,0\n"
        "40,-40,70,0,30,20,0.3,4\n-30,-70,50,0,60,0,0.2,0\n0,-60,60,0,60,0,0,0\n"
    )
    commands = [("plan", ARM, "--points", points, "-o", plan), ("scale", ARM, plan, *words.split(), "-o", out)]
    follow = (
        "simulate",
        ARM,
        "--follow",
        out,
        "--control",
        "computed-torque",
        "--every",
        "50",
        "-o",
        tmp_path / "run.csv",
    )
    for command in (*commands, ("torques", ARM, out, "-o", tau), ("scale", ARM, out, "-o", plan, "--force"), follow):
        done = CliRunner().invoke(app, [str(x) for x in command])
        assert done.exit_code == 0, done.output
    assert da.read_trajectory(plan).duration == pytest.approx(da.read_trajectory(out).duration, rel=1e-5)
