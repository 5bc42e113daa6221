"""From points to a plan, its torques, a faster plan, a simulated run and a report, through files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.views.cli.main import app


def run(*args: object, code: int = 0):
    result = CliRunner(env={"COLUMNS": "160"}).invoke(app, [str(x) for x in args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    return result


def mistake(*args: object) -> str:
    result = run(*args, code=2)
    (line,) = result.stderr.splitlines()
    return line.removeprefix("error: ")


def table(path: Path) -> dict[str, np.ndarray]:
    read = np.genfromtxt(path, delimiter=",", names=True)
    return {name: read[name] for name in read.dtype.names}


START, END = "0.1 0.2", "0.9 -0.5"


def test_each_step_takes_what_the_one_before_wrote(tmp_path: Path) -> None:
    plan, torques, fast, swing, page = (tmp_path / x for x in ("plan.csv", "tau.csv", "fast.csv", "run.csv", "r.html"))
    told = run("plan", "pendulum", "--from", "0.1", "--to", "0.9", "--duration", 2, "-o", plan).stderr
    assert "the duration of 2 s was given" in told
    run("torques", "pendulum", plan, "-o", torques)
    told = run("scale", "pendulum", plan, "--faster", "--torques", "-o", fast).stderr
    assert "sped up by c = " in told and "just satisfies every limit" in told
    motion = da.read_trajectory(fast)
    assert motion.duration < 2.0 and np.allclose(motion.q[-1], 0.9)
    assert all(
        excess.value <= 1.001 * excess.limit for excess in motion.limits_report(da.load("pendulum"), torque=True)
    )
    for source, more, planned in ((torques, ("--q", plan), plan), (fast, (), fast)):
        run("simulate", "pendulum", "--torque", source, *more, "-o", swing, "--force")
        done, motion = table(swing), da.read_trajectory(planned)
        assert np.abs(done["q1"] - motion(np.minimum(done["t"], motion.duration))[0][:, 0]).max() < 1e-4
    run("report", "pendulum", swing, "-o", page)
    assert page.stat().st_size > 10_000
    run("scale", "pendulum", plan, "--time-optimal", "-o", tmp_path / "least.csv")
    assert da.read_trajectory(tmp_path / "least.csv").duration < 1.001 * motion.duration


def test_plans_of_every_kind(tmp_path: Path) -> None:
    out = tmp_path / "motion.csv"
    of = ("plan", "planar-2r", "-o", out, "--force")
    told = run(*of, "--from", START, "--to", END).stderr
    assert "the duration follows from the velocity and effort limits of arm 'planar-2r'" in told
    timed = run("plan", "scara", "-o", out, "--force", "--from", "0 0 0.1 0", "--to", "1 -0.5 0.15 0.4").stderr
    assert "as fast as the velocity and acceleration limits of arm 'scara' allow" in timed and "warning" not in timed
    assert 'warning: --to "90 -30" is in rad and looks like degrees; give --deg' in run(
        *of, "--from", "0 0", "--to", "90 -30", "--duration", 3
    ).stderr  # fmt: skip
    for profile in ("triangular", "cubic", "quintic", "septic", "spline"):
        run(*of, "--from", "0 0", "--via", "0.5 0.1", "--to", "90 -30", "--deg", "--duration", 3, "--profile", profile)
        motion = da.read_trajectory(out)
        assert motion.duration == pytest.approx(3.0) and np.allclose(motion.q[-1], np.radians([90, -30]))
        via = np.abs(motion.q - np.radians([0.5, 0.1])).max(axis=1).argmin()
        assert (np.abs(motion.qd[via]).max() < 1e-6) == (profile != "spline")
    (tmp_path / "points.csv").write_text("q1 [deg],q2 [deg]\n0,0\n30,10\n60,-20\n")
    run(*of, "--points", tmp_path / "points.csv", "--duration", 2, "--hold", 0.25, "--back", "--repeat", 2)
    motion = da.read_trajectory(out)
    assert motion.duration == pytest.approx(2 * (2 * (2 + 2 * 0.25) + 0.25)) and np.allclose(motion.q[-1], 0)
    arm = da.load("planar-2r")
    run(*of, "--from-position", "1 0.5 0", "--line", "1.5 0.2 0", "--duration", 1)
    tips = arm.pose(da.read_trajectory(out).q)[:, :2, 3]
    assert np.allclose(tips[[0, -1]], [[1, 0.5], [1.5, 0.2]], atol=1e-9)
    way = (tips - tips[0]) @ [0.3, 0.5]
    assert np.abs(way).max() < 1e-9  # straight
    run(
        *of, "--from-position", "1 0.5 0", "--circle", "1 0.2 0", "--angle", 90, "--profile", "quintic", "--duration", 1
    )
    tips = arm.pose(da.read_trajectory(out).q)[:, :2, 3]
    assert np.allclose(np.linalg.norm(tips - [1, 0.2], axis=1), 0.3, atol=1e-9)
    run(*of, "--from", START, "--to-position", "0.8 1.1 0", "--duration", 1)
    assert np.allclose(arm.pose(da.read_trajectory(out).q[-1])[:2, 3], [0.8, 1.1], atol=1e-9)


def test_points_with_rests_and_payloads_are_a_cycle(tmp_path: Path) -> None:
    points, out = tmp_path / "points.csv", tmp_path / "motion.csv"
    of = ("plan", "planar-2r", "--points", points, "-o", out, "--force", "--profile", "quintic")
    points.write_text("q1 [deg],q2 [deg],hold [ms],payload,payload_x [mm]\n0,0,100,0,0\n30,10,300,5,50\n60,-20,0,5,50\n"
                      "60,-20,200,0,0\n0,0,0,0,0\n")  # fmt: skip
    told = run(*of, "--duration", 4).stderr
    ways = np.radians([30, 30, 60]) * 4 / np.radians(120)
    ends = np.cumsum([0.1, ways[0], 0.3, ways[1], 0.2, ways[2]])
    motion = da.read_trajectory(out)
    (event,) = motion.events
    assert motion.duration == pytest.approx(ends[-1]) and (event.mass, event.body.com[0]) == (5.0, pytest.approx(0.05))
    assert (event.start, event.end) == (pytest.approx(ends[1]), pytest.approx(ends[3]))
    assert "payload of 5 kg from 1.1 to 2.4 s" in told
    assert (
        "carries a payload of 5 kg from 1.1 to 2.4 s"
        in run("torques", "planar-2r", out, "-o", tmp_path / "t.csv").stderr
    )
    run(*of)  # limits decide, with the payload
    excesses = da.read_trajectory(out).limits_report(da.load("planar-2r"), torque=True)
    assert all(excess.value <= 1.001 * excess.limit for excess in excesses)
    assert "has a column 'hold', but --hold is given as well" in mistake(*of, "--hold", 1)
    assert "passes its points without stopping" in mistake(*of[:-1], "spline", "--duration", 1)
    for header, message in (
        ("hlod", "the column 'hlod' is unknown; in addition to the joints, a point may have hold, payload, "),
        ("hold [weeks]", "the unit of column 'hold' is 'weeks'; it must be one of s"),
        ("payload_x", "the column payload_x needs a column 'payload'"),
    ):
        points.write_text(f"q1,q2,{header}\n0,0,0\n1,1,0\n")
        assert message in mistake(*of)


def test_torques_of_an_arm_without_masses_are_a_warning(tmp_path: Path) -> None:
    (tmp_path / "arm.csv").write_text("a,alpha,d,theta\n0.5,0,0,q1\n")
    (tmp_path / "motion.csv").write_text("t,q1,qd1,qdd1\n0,0,0,0\n1,1,0,0\n")
    told = run("torques", tmp_path / "arm.csv", tmp_path / "motion.csv", "-o", tmp_path / "t.csv").stderr
    assert "warning: arm 'arm' has no masses" in told


def test_accelerations_that_jump_survive_files(tmp_path: Path) -> None:
    """A trapezoidal plan is read as it was planned: no overshoot where its acceleration jumps."""
    out = tmp_path / "motion.csv"
    run("plan", "planar-2r", "-o", out, "--from", "0 0", "--to", "1 1", "--duration", 3)
    read, planned = da.read_trajectory(out), da.trapezoidal([0, 0], [1, 1], duration=3.0, acceleration_time=1.0)
    t = np.linspace(0.0, 3.0, 997)
    for mine, theirs in zip(read(t), planned(t), strict=True):
        assert np.abs(mine - theirs).max() < 1e-9


def test_a_rate_gives_evenly_spaced_rows(tmp_path: Path) -> None:
    plan, even = tmp_path / "plan.csv", tmp_path / "even.csv"
    points = ("plan", "scara", "--from", "0 0 0.1 0", "--to", "1 -0.5 0.15 0.4", "--hold", 0.2, "--back")
    run(*points, "-o", plan)
    for command in (points, ("scale", "scara", plan, "--time-optimal")):
        run(*command, "--rate", 1000, "-o", even, "--force")
        t = table(even)["t"]
        assert np.allclose(t[:-1], np.arange(len(t) - 1) / 1000, rtol=0, atol=1e-12) and 0 < t[-1] - t[-2] <= 0.001


def test_a_plan_at_the_limits_is_within_them(tmp_path: Path) -> None:
    out = tmp_path / "motion.csv"
    run("plan", "planar-2r", "-o", out, "--from", "0 0", "--to", "1 1")  # as fast as effort limits allow
    run("torques", "planar-2r", out, "-o", tmp_path / "torques.csv", "--check-limits")


def test_what_plans_and_scales_need_is_said(tmp_path: Path) -> None:
    plan = ("plan", "planar-2r", "-o", tmp_path / "x.csv")
    assert "a motion needs one goal" in mistake(*plan, "--from", START)
    assert "a motion needs a start" in mistake(*plan, "--to", END)
    assert "--duration is -1.0; it must be finite and above 0" in mistake(
        *plan, "--from", START, "--to", END, "--duration", -1
    )
    assert "--acceleration-time needs" in mistake(*plan, "--from", START, "--to", END, "--acceleration-time", 1)
    assert "has neither acceleration nor effort limits" in mistake(
        "plan", "kr300", "--from", "0 0 0 0 0 0", "--to", "1 0 0 0 0 0"
    )
    assert "the same" in mistake(*plan, "--from", START, "--to", START, "--duration", 1)
    assert "the closest it gets is" in mistake(*plan, "--from", START, "--to-position", "5 0 0", "--duration", 1)
    da.polynomial([0.1, 0.2], [0.4, 0.1], 1.0).save(tmp_path / "m.csv")
    assert "--duration needs --time-optimal" in mistake("scale", "planar-2r", tmp_path / "m.csv", "--duration", 1)
    assert "required are t, tau1 … tau2" in mistake("simulate", "planar-2r", "--torque", tmp_path / "m.csv")
    assert "--lock gives joint1 twice" in mistake("show", "planar-2r", "--lock", "joint1=0", "--lock", "joint1=1")
    assert "--held applies to torques over time" in mistake("simulate", "planar-2r", "--held")
    assert "twice, which is not allowed for the first or the last" in _first_twice(tmp_path)
    assert not (tmp_path / "x.csv").exists()


def _first_twice(folder: Path) -> str:
    (folder / "twice.csv").write_text("t,tau1,tau2\n0,1,1\n0,2,2\n1,0,0\n")
    return mistake("simulate", "planar-2r", "--torque", folder / "twice.csv")


def test_the_simulated_drive_has_limits_and_stops_unless_ideal(tmp_path: Path) -> None:
    out, fast = tmp_path / "run.csv", tmp_path / "fast.csv"
    arm = da.load("pendulum")
    (joint,) = arm.robot.moving_joints
    most, upper = joint.limits.effort, joint.limits.upper
    da.polynomial([0.0], [1.0], 0.05, 5).save(fast)
    of = ("simulate", "pendulum", "--follow", fast, "--duration", 0.2, "-o", out, "--force")
    told = run(*of).stderr
    assert f"joint '{joint.name}' is at its effort limit from t = " in told and " in total" in told
    assert np.abs(table(out)["tau1"]).max() <= most
    for ideal in ("--ideal", "--no-effort-limits"):
        assert "effort limit" not in run(*of, ideal).stderr and np.abs(table(out)["tau1"]).max() > most
    fall = ("simulate", "pendulum", "--q", upper - 0.01, "--qd", "3", "--duration", 0.05, "-o", out, "--force")
    run(*fall)
    assert table(out)["q1"].max() <= upper + 1e-9
    run(*fall, "--stops", "none")
    assert table(out)["q1"].max() > upper + 0.01
    assert "above its upper limit" in mistake(*fall, "--stops", "error")
    assert "choose one" in mistake(*fall, "--stops", "error", "--ideal")
    sampled = ("--rate", 500, "--delay", 0.001, "--encoder", 8192, "--velocity-filter", 80)
    assert "RMS error" in run(*of, *sampled).stderr
    assert np.mean(np.diff(table(out)["tau1"]) == 0) > 0.4  # held over two steps
    assert "give its rate in Hz too" in mistake(*of, "--delay", 0.001)
    assert "has no contact" in run(*fall[:-3], "--method", "variational", "--no-friction", "-o", out, "--force").stderr


def test_inverse_kinematics_from_a_shell() -> None:
    arm = da.load("puma560")
    x, y, z = arm.pose([0.3, -0.5, 0.8, 0.4, 0.9, -0.2])[:3, 3]
    of = ("inverse-kinematics", "puma560", "--position", f"{x} {y} {z}", "--no-limits")
    shown = run(*of, "--rpy", "0.1 0.2 0.3").stdout
    assert "8 solutions, task 'pose'" in shown and "joint1 (rad)" in shown.replace("j1", "joint1")
    assert "1 solution, task 'position+axis'" in run(*of, "--axis", "0 0 -1", "--solutions", 1).stdout
    assert (
        "2 solutions, task 'position'"
        in run("inverse-kinematics", "planar-2r", "--position", "1 0.5 0", "--deg").stdout
    )
    assert "choose one" in mistake(*of, "--axis", "0 0 1", "--rpy", "0 0 0")
    assert "out of reach" in mistake("inverse-kinematics", "puma560", "--position", "9 0 0")
