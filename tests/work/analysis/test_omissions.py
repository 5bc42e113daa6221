"""What can be neglected along a motion: shares, operations, small parameters, on the command line and in the report."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import arms
import dalembert as da
from dalembert.mechanics.equations.regrouping import lean_links
from dalembert.robot.model.omitted_terms import OMISSIONS
from dalembert.views.cli.main import app
from dalembert.views.report import figures
from dalembert.work.analysis.negligible_terms import DROPS, Omissions
from dalembert.work.analysis.small_parameters import _parts


def motion_of(arm: da.Arm) -> da.Trajectory:
    size = 0.3 if arm.loops else 1.0
    return da.polynomial(arm.home, arm.home + size * np.array([1.2, -0.9, 1.0, -1.1, 0.8, -0.7, 0.9])[: arm.n], 0.8)


@pytest.fixture(scope="module")
def study() -> Omissions:
    arm = da.load("planar-2r")
    return arm.omissions(motion_of(arm))


def test_shares_are_those_of_the_terms(study: Omissions) -> None:
    arm = da.load("planar-2r")
    motion = motion_of(arm)
    terms = arm.torque_terms(motion.q, motion.qd, motion.qdd).by_joint
    for name in ("coriolis", "centrifugal"):
        assert np.allclose(study[name].error.peak, np.abs(terms[name]).max(0), atol=1e-10)
        assert np.allclose(study[name].share, study[name].error.rms / study.torque.rms, atol=1e-12)
    both = np.abs(terms["coriolis"] + terms["centrifugal"]).max(0)
    assert np.allclose(study["coriolis", "centrifugal"].error.peak, both, atol=1e-10)
    assert study["coriolis"].share[1] == 0.0  # nothing but rounding
    assert study.negligible(0.02) == ("rotor-coupling",) and study.negligible(0.1) == (
        "coriolis",
        "centrifugal",
        "rotor-coupling",
    )


def test_the_table_has_every_omission_and_every_joint(study: Omissions) -> None:
    lines = str(study).splitlines()
    assert len(lines) == 2 * (2 + len(DROPS)) + 1 and all(name in str(study) for name in OMISSIONS)
    assert {(row["drop"], row["joint"]) for row in study.table()} >= {("coriolis + centrifugal", "joint2")}
    row = study["coriolis", "centrifugal"]
    assert study.saved(row) == 1 - row.operations.total / study.operations.total > 0
    arm = da.load("planar-2r")
    direct = [arm.approximate(drop).operations("forward_dynamics").compiled for drop in ((), row.drop)]
    assert [study.direct, row.direct] == direct and direct[1].total < direct[0].total
    assert study["rotational", "translational"].direct is None  # nothing resists the joints


@pytest.mark.parametrize(
    ("name", "share", "fewer"), [("puma560", 0.01, 0.85), ("five-bar", 0.05, 1.0), ("wrist", 0.02, 1.0)]
)
def test_small_parameters_fall_out_of_the_code_and_not_of_the_torque(name: str, share: float, fewer: float) -> None:
    arm = arms.arm(name)
    motion = motion_of(arm)
    less = arm.approximate(small=share, motion=motion)
    tau, approximate = (a.inverse_dynamics(motion.q, motion.qd, motion.qdd) for a in (arm, less))
    assert 0 < np.max(np.sqrt(((tau - approximate) ** 2).mean(0) / (tau**2).mean(0))) <= share
    operations = [a.operations("inverse_dynamics").compiled.total for a in (arm, less)]
    assert operations[1] < fewer * operations[0]
    assert "small parameters omitted" in less.robot.notes[-1]
    dropped = {(part.joint, part.name) for part in _parts(arm)} - {(part.joint, part.name) for part in _parts(less)}
    assert dropped and all(
        part.name in less.robot.notes[-1] for part in _parts(arm) if (part.joint, part.name) in dropped
    )
    everywhere = arms.states(arm, 3)  # what is left is the same arm, by every formulation
    assert (
        arms.relative(
            less.inverse_dynamics(*everywhere, formulation="newton-euler"), less.inverse_dynamics(*everywhere)
        )
        < 1e-11
    )


def test_rounding_is_no_error() -> None:
    pendulum = da.load("pendulum")
    (_, (_, costs)) = pendulum.omissions(da.polynomial([0.0], [1.0], 1.0)).tables()
    assert {line[1] for line in costs if line[0] in ("− coriolis", "− off-diagonal")} == {"0 N m at τ1"}


def test_small_parameters_are_found_where_a_joint_has_no_torque() -> None:
    inertia = {"xx": 0.02, "yy": 0.03, "zz": 0.04}
    slide = {"type": "prismatic", "mass": 1.0, "inertia": inertia}
    turn = {"a": 0.5, "mass": 2.0, "com": (-0.2, 0.0, 0.0), "inertia": inertia, "friction": {"viscous": 1e-4}}
    arm = da.from_dh([turn, slide], gravity=(0, 0, 0))
    motion = da.polynomial([0.1, 0.2], [1.1, 0.2], 1.0)
    assert (arm.inverse_dynamics(*motion(motion.t))[:, 1] == 0.0).all()
    assert "F_v of joint1" in arm.approximate(small=0.01, motion=motion).robot.notes[-1]


def test_what_cancels_but_for_rounding_is_zero() -> None:
    arm = da.load("puma560")
    less = arm.approximate(("coriolis", "centrifugal"), small=0.02, motion=motion_of(arm))
    moments = [x for link in lean_links(less.mechanism) for x in (*link.h, *(y for row in link.Sigma for y in row))]
    assert min(abs(x) for x in moments if x) > 1e-9
    assert less.omitted == ("coriolis", "centrifugal")


def test_one_name_stands_by_itself() -> None:
    arm = da.load("pendulum")
    assert arm.approximate(np.array("coriolis")).omitted == ("coriolis",)
    named = arm.omissions(motion_of(arm), further={"lighter gear": arm.approximate("rotational")})
    assert named["lighter gear"].name == "lighter gear"


def test_wrong_input_gets_a_sentence(study: Omissions) -> None:
    arm = da.load("planar-2r")
    motion = motion_of(arm)
    for wrong in (
        lambda: arm.approximate(small=0.01),
        lambda: arm.approximate(motion=motion),
        lambda: arm.approximate(small=2.0, motion=motion),
        lambda: arm.approximate(small="a little", motion=motion),
        lambda: arm.approximate(small=0.01, motion=3),
        lambda: arm.approximate(3),
        lambda: arm.approximate([["coriolis"]]),
        lambda: arm.omissions(motion, further=3),
        lambda: arm.omissions(motion, further={("a",): 3}),
        lambda: arm.omissions(None),
        lambda: arm.omissions(da.polynomial([0.0], [1.0], 1.0)),
        lambda: study["coriolis", "rotational"],
        lambda: study.negligible(None),
        lambda: study.negligible(-0.1),
        lambda: study.negligible(np.nan),
    ):
        with pytest.raises(da.DalembertError):
            wrong()


def test_the_picture_has_a_bar_for_every_omission_and_joint(study: Omissions) -> None:
    axes = figures.omission_figure(study).axes[0]
    assert (
        len(axes.patches) == 2 * len(DROPS)
        and "21 operations\n(−22 %)" in [x.get_text() for x in axes.get_xticklabels()][6]
    )


def test_the_command_shows_writes_and_draws(tmp_path: Path) -> None:
    run = CliRunner().invoke
    table, model, picture = (str(tmp_path / name) for name in ("table.csv", "model.toml", "picture.svg"))
    arguments = ["approximate", "planar-2r", "--example", "7.2", "--drop", "coriolis, off-diagonal"]
    result = run(app, [*arguments, "-o", table, "--save", model, "--plot", picture])
    assert result.exit_code == 0 and "− coriolis + off-diagonal" in result.output and Path(picture).stat().st_size
    rows = list(csv.DictReader(Path(table).read_text().splitlines()))
    assert len(rows) == 3 * (len(DROPS) + 1) * 2 and float(rows[0]["error_rms_share"]) == pytest.approx(0.13, abs=0.01)
    assert da.load(model) == da.load("planar-2r").approximate(("coriolis", "off-diagonal"))
    assert run(app, [*arguments, "-o", "-"]).stdout == Path(table).read_text()
    for wrong, sentence in (
        (["planar-2r"], "errors are computed along a motion"),
        (["planar-2r", "--example", "7.2", "--drop", "velocity"], "'velocity' cannot be omitted"),
        (["planar-2r", "--example", "7.2", "--save", f"{model}.toml"], "choose what it omits by --drop or --small"),
        (["planar-2r", "--example", "7.2", "--small", "0.01"], "--small needs one motion"),
        (["planar-2r", "--example", "7.2", "-o", table], "already"),
    ):
        result = run(app, ["approximate", *wrong])
        assert result.exit_code == 2 and sentence in result.output, result.output
