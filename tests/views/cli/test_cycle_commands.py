"""Motion files of whole cycles on the command line: what they carry, and what is made of samples with rests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import dalembert as da
from arms import relative
from dalembert.views.cli.main import app


def invoke(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_torques_count_what_the_file_carries(tmp_path: Path) -> None:
    arm = da.load("planar-2r")
    there = da.polynomial([0.0, 0.2], [0.5, -0.3], 0.5, degree=5)
    cycle = there.hold(0.1) + there.reversed().with_payload(20.0).with_tip_wrench([0, 30, 0, 0, 0, 0], start=0.1)
    cycle.save(tmp_path / "cycle.csv")
    invoke("torques", "planar-2r", tmp_path / "cycle.csv", "-o", tmp_path / "out.csv")
    written = np.loadtxt(tmp_path / "out.csv", delimiter=",", skiprows=1)
    after = np.diff(written[:, 0], append=np.inf) > 0  # where the load jumps, the row before it is there too
    assert np.array_equal(written[after, 0], cycle.t) and len(written) == len(cycle.t) + 2
    assert relative(written[after, 1:3], cycle.torques(arm)) < 1e-11


def test_torques_of_a_cycle_move_an_arm_that_carries_what_the_cycle_does(tmp_path: Path) -> None:
    there = da.polynomial([0.0, 0.2], [0.5, -0.3], 0.5, degree=5)
    cycle = there.hold(0.1) + there.reversed().with_payload(20.0).with_tip_wrench([0, 30, 0, 0, 0, 0], start=0.1)
    motion, torques, out = (tmp_path / name for name in ("cycle.csv", "torques.csv", "run.csv"))
    cycle.save(motion)
    invoke("torques", "planar-2r", motion, "-o", torques)
    said = invoke("simulate", "planar-2r", "--torque", torques, "--q", motion, "-o", out)
    assert "has no columns q1" not in said
    run = da.read_trajectory(out)
    assert np.abs(run.q[-1] - [0.0, 0.2]).max() < 1e-3  # 0.6 rad away, were the load left out
    assert [str(event) for event in run.events] == [str(event) for event in cycle.events]
    assert "has no columns q1" in invoke("simulate", "planar-2r", "--torque", torques, "--duration", 0.1, "-o", "-")


def test_a_spline_that_swings_out_of_a_hold_is_said_with_the_remedy(tmp_path: Path) -> None:
    move = np.linspace(0.0, 0.5, 12)
    t, q = np.concatenate([move, 3.0 + move]), np.concatenate([move**2, move[::-1] ** 2])
    path = tmp_path / "sparse.csv"
    np.savetxt(path, np.column_stack([t, q, q]), delimiter=",", header="t,q1,q2", comments="")
    peaks = {}
    for interpolation in ("auto", "spline", "monotone"):
        out = tmp_path / f"{interpolation}.csv"
        words = invoke("torques", "planar-2r", path, "-o", out, "--interpolation", interpolation)
        assert ("the spline through them reaches" in words) == (interpolation != "monotone")
        assert ("by a monotone curve" in words) == (interpolation != "spline")
        peaks[interpolation] = np.abs(np.loadtxt(out, delimiter=",", skiprows=1)[:, 1:]).max()
    assert peaks["auto"] == peaks["monotone"] < peaks["spline"]
    for command in (["scale"], ["approximate"], ["simulate", "--follow"]):
        where = ["planar-2r", path] if len(command) == 1 else ["planar-2r", command[1], path]
        output = [] if command[0] == "approximate" else ["-o", tmp_path / f"{command[0]}.csv"]
        assert "the spline through" not in invoke(command[0], *where, "--interpolation", "monotone", *output)
