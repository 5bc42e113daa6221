"""Files of vendors and CAD exporters: limits of 0 and 1e308, right angles of five digits, links without mass."""

import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.errors import RobotError
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.plausibility import ModelWarning
from dalembert.robot.readers.load import save_robot
from dalembert.robot.readers.vendor_files import snapped_rotation
from dalembert.views.cli.main import app

BODY = """<inertial><origin xyz="0.3 0 0"/><mass value="4"/>
<inertia ixx="0.02" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>"""
BOX = '<visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual>'

LIMIT = 'effort="9" velocity="3" lower="-2" upper="2"'


def robot(folder: Path, *, limit: str = LIMIT, bodies: tuple[str, ...] = (BODY, BODY), rpy: str = "0 0 0") -> Path:
    """A URDF file with a joint per body."""
    links = "".join(f'<link name="l{k + 1}">{body}</link>' for k, body in enumerate(bodies))
    joints = "".join(
        f'<joint name="j{k + 1}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/><axis xyz="0 1 0"/>'
        f'<origin xyz="0.6 0 0" rpy="{rpy}"/><limit {limit}/></joint>'
        for k in range(len(bodies))
    )
    path = folder / "vendor.urdf"
    path.write_text(f'<robot name="vendor"><link name="l0"/>{links}{joints}</robot>')
    return path


@pytest.mark.parametrize(
    ("limit", "known"),
    [
        ('lower="-2" upper="2" effort="0" velocity="2.6"', (-2.0, 2.0, 2.6, None)),
        ('lower="0" upper="0" effort="0" velocity="0"', (None, None, None, None)),
        ('lower="0" upper="0" effort="5" velocity="2"', (0.0, 0.0, 2.0, 5.0)),
        ('lower="-1e308" upper="1e308" effort="1e16" velocity="2"', (-math.inf, math.inf, 2.0, math.inf)),
    ],
)
def test_limits_that_mean_unknown_or_none(limit: str, known: tuple[float | None, ...], tmp_path: Path) -> None:
    arm = da.load(robot(tmp_path, limit=limit))
    for joint in arm.robot.joints:
        assert tuple(getattr(joint.limits, key) for key in ("lower", "upper", "velocity", "effort")) == known
    said = [note for note in arm.robot.notes if note.startswith("limits of 0 in the file are read as unknown: ")]
    assert len(said) == (None in known)


def test_unknown_limits_are_no_limits_for_any_command(tmp_path: Path) -> None:
    path, motion = robot(tmp_path, limit='effort="0" velocity="0" lower="-2" upper="2"'), tmp_path / "m.csv"
    t = np.linspace(0, 1, 21)
    np.savetxt(motion, np.c_[t, np.sin(t), np.sin(t)], delimiter=",", header="t,q1,q2", comments="")
    for words in (("torques",), ("report", "-o", str(tmp_path / "r.html"))):
        result = CliRunner().invoke(app, [words[0], str(path), str(motion), *words[1:]])
        assert result.exit_code == 0, result.output
        assert "note: limits of 0 in the file are read as unknown" in result.output and "exceeded" not in result.output


def test_right_angles_of_five_digits_are_noted_and_snapped(tmp_path: Path) -> None:
    rough, exact = robot(tmp_path, rpy="1.5708 0 -3.1416"), f"{math.pi / 2:.17g} 0 {-math.pi:.17g}"
    loaded, snapped = da.load(rough), da.load(rough, snap=1e-5)
    assert [note for note in loaded.robot.notes if "right angles are written with few digits" in note]
    assert not snapped.robot.notes
    assert snapped.robot.joints == da.load(robot(tmp_path, rpy=exact)).robot.joints
    assert snapped.operations("inertia_matrix").compiled.total < loaded.operations("inertia_matrix").compiled.total
    q = [0.3, -0.4]
    np.testing.assert_allclose(snapped.inertia_matrix(q), loaded.inertia_matrix(q), rtol=0, atol=1e-5)
    with pytest.raises(RobotError, match=r"snap is 1.0; it must be an angle from 0 to 0.01 rad"):
        da.load(rough, snap=1.0)


def test_snapped_rotations_are_rotations() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        angles = rng.integers(-2, 3, 3) * np.pi / 2 + rng.uniform(-4e-6, 4e-6, 3)
        angles[rng.integers(3)] += rng.choice([0.0, 0.7])
        rough = Placement.rpy(*angles).rotation
        R = np.array(snapped_rotation(rough, 1e-5))
        np.testing.assert_allclose(R @ R.T, np.eye(3), rtol=0, atol=1e-15)
        np.testing.assert_allclose(R, np.array(rough), rtol=0, atol=2e-5)
        assert np.linalg.det(R) > 0


@pytest.mark.parametrize(
    ("bodies", "named"),
    [((BODY, ""), "l2"), (("", BODY), None), ((BOX, BODY), "l1"), (("", ""), None), ((BODY, BODY), None)],
)
def test_a_moving_link_without_mass_beside_others_is_named(
    bodies: tuple[str, ...], named: str | None, tmp_path: Path
) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        da.load(robot(tmp_path, bodies=bodies))
    expected = [f"no mass, although others have one: '{named}'", "--density"] if named else []
    assert [w.category for w in seen] == [ModelWarning] * (named is not None)
    assert all(part in str(seen[0].message) for part in expected)


def test_limits_of_passive_joints_are_noted(tmp_path: Path) -> None:
    robot = da.load("five-bar").robot
    name = robot.loops[0].passive[0]
    limited = [replace(x, limits=da.Limits(-0.2, 0.3)) if x.name == name else x for x in robot.joints]
    save_robot(robot.replace(joints=tuple(limited)), tmp_path / "five.toml")
    arm = da.load(tmp_path / "five.toml")
    (note,) = (x for x in arm.robot.notes if "passive" in x)
    assert f"not enforced by plan, scale and simulate: '{name}'" in note
    motion = da.polynomial(arm.home, arm.home + 0.4, 1.0)
    q = motion(np.linspace(0, 1, 1001))[0]
    at = arm.tree_positions(q)[:, [x.name for x in arm.robot.tree_joints].index(name)]
    excess = {(x.joint, x.limit): x.value for x in motion.limits_report(arm, torque=False)}
    expected = {-0.2: at.min()} if at.min() < -0.2 else {}
    expected |= {0.3: at.max()} if at.max() > 0.3 else {}
    assert expected and {limit for joint, limit in excess if joint == name} == set(expected)
    for limit, value in expected.items():
        np.testing.assert_allclose(excess[name, limit], value, rtol=1e-6)
    start = " ".join(f"{x:.6f}" for x in arm.home)
    run = CliRunner().invoke(
        app,
        ["simulate", str(tmp_path / "five.toml"), "--q", start, "--duration", "0.5", "-o", str(tmp_path / "run.csv")],
    )
    assert run.exit_code == 0 and f"warning: joint '{name}': position" in run.output
