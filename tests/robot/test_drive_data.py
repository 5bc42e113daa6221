"""Motors and gears in robot files and catalogues: read with units, written back, and never at odds with the rotor."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.base.tables.units import UNITS, parse_quantity
from dalembert.errors import RobotError
from dalembert.robot.drives.catalogue import parse_catalogue
from dalembert.robot.drives.drive_data import DrivePart, of_rotor
from dalembert.robot.readers.toml_reader import parse_toml
from dalembert.robot.readers.toml_writer import write_toml
from dalembert.robot.readers.urdf import parse_urdf
from dalembert.robot.readers.urdf_writer import write_urdf
from dalembert.views.cli.main import app

RPM = 2 * math.pi / 60
DRIVE = """
[joint.motor]
name = "M1"
stall_torque = "1.4 N m"
rated_torque = 1.27
peak_torque = "3820 mN m"
rated_speed = "3000 rpm"
max_speed = "6000 1/min"
rotor_inertia = "0.32 kg cm²"
mass = "1500 g"
phases = 1
thermal_class = "H"
peak_curve = [["0 rpm", "3.82 N m"], ["4000 rpm", 3.82], [628.0, 1.0]]

[joint.gear]
name = "G1"
ratio = 100
efficiency = "75 %"
rated_torque = "0.05 kN m"
backlash = "1 arcmin"
stiffness = "10 Nm/arcmin"
inertia = "0.08 kg cm2"
mass = 0.5
"""
DH = f'convention = "standard"\n[[joint]]\na = 0.5\nmass = 3.0\n{DRIVE}\n[[joint]]\na = 0.4\nmass = 2.0\n{DRIVE}'
FRAMES = (
    'convention = "frames"\n[[link]]\nname = "base"\n[[link]]\nname = "rod"\nmass = 1.0\n[[joint]]\nname = "hinge"\n'
    f'type = "revolute"\nparent = "base"\nchild = "rod"\nrpy = [0.3, 0.2, 0.1]\n{DRIVE}'
)


@pytest.mark.parametrize("text", [DH, FRAMES], ids=["dh", "frames"])
def test_what_is_read_is_written_and_read_again(text: str) -> None:
    robot = parse_toml(text)
    motor, gear, rotor = robot.joints[0].motor, robot.joints[0].gear, robot.joints[0].rotor
    assert motor is not None and gear is not None and rotor is not None
    assert motor.peak_torque == pytest.approx(3.82) and motor.rated_speed == pytest.approx(3000 * RPM)
    assert motor.peak_points[1] == pytest.approx((4000 * RPM, 3.82)) and motor.winding_temperature_limit == 180
    assert (gear.efficiency, gear.rated_torque) == (0.75, 50.0)
    assert gear.stiffness == pytest.approx(10 / math.radians(1 / 60)) and gear.backlash == pytest.approx(
        math.radians(1 / 60)
    )
    assert (rotor.inertia, rotor.gear, rotor.mass) == pytest.approx((0.4e-4, 100.0, 2.0))
    written = write_toml(robot)
    assert parse_toml(written) == robot and f'convention = "{"standard" if text is DH else "frames"}"' in written


@pytest.mark.parametrize("kind", [da.Motor, da.Gear])
def test_every_field_goes_through_a_file(kind: type[DrivePart]) -> None:
    """Also a part of which nothing is said."""
    numbers = {entry.name: 0.5 + k / 7 for k, entry in enumerate(kind.numbers())}
    numbers |= (
        {"efficiency": 0.5}
        if kind is da.Gear
        else {"stall_torque": 0.2, "rated_torque": 0.1, "derating": 0.9, "winding_limit": 140.0}
    )
    base = parse_toml(FRAMES)
    for part in (kind("all", **numbers), kind()):
        joint = replace(base.joints[0], type="prismatic", rotor=None, motor=None, gear=None)
        robot = base.replace(joints=(replace(joint, **{kind.__name__.lower(): part}),))
        assert parse_toml(write_toml(robot)) == robot
        again = parse_urdf(write_urdf(robot)).joints[0]
        assert (again.motor, again.gear) == (robot.joints[0].motor, robot.joints[0].gear)


def test_a_fitted_rotor_changes_the_motor_and_not_the_gear() -> None:
    joint = parse_toml(FRAMES).joints[0]
    assert joint.rotor is not None and joint.motor is not None
    fitted = joint.with_rotor(replace(joint.rotor, inertia=0.9e-4, coulomb=(0.1, 0.1)))
    assert fitted.motor == replace(joint.motor, rotor_inertia=fitted.motor.rotor_inertia) and fitted.gear == joint.gear
    assert (fitted.rotor.inertia, fitted.rotor.coulomb) == (pytest.approx(0.9e-4), (0.1, 0.1))
    none = joint.with_rotor(replace(joint.rotor, inertia=0.0))  # no motor has less than its gear
    assert none.motor is None and none.gear is None and none.rotor.inertia == 0.0


def test_curves_go_through_urdf() -> None:
    robot = parse_toml(FRAMES)
    assert parse_urdf(write_urdf(robot)).joints[0].motor == robot.joints[0].motor


def test_a_motor_and_a_gear_are_a_rotor() -> None:
    """The torques are those of the rotor that they make, placed where a rotor beside them says."""
    drive = {"motor": da.Motor(rotor_inertia=3e-4, mass=4.0), "gear": da.Gear(ratio=-60.0, inertia=1e-4, mass=1.0)}
    place = {"position": (-0.2, 0.05, 0.1), "viscous": 1e-3}
    rows = [{"a": 0.5, "mass": 3.0}, {"a": 0.4, "mass": 2.0, "alpha": 1.0}]
    by_parts = da.from_dh([rows[0], {**rows[1], **drive, "rotor": place}])
    by_rotor = da.from_dh([rows[0], {**rows[1], "rotor": {**place, **of_rotor(**drive)}}])
    assert by_parts.mechanism == by_rotor.mechanism
    x = np.random.default_rng(0).normal(size=(3, 2))
    np.testing.assert_array_equal(by_parts.inverse_dynamics(*x), by_rotor.inverse_dynamics(*x))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"rotor": da.Rotor(inertia=1.0)},
            r"rotor with inertia = 1, but its motor and gear give 3e-05; remove 'inertia'",
        ),
        ({"rotor": da.Rotor(gear=51.0)}, r"rotor with gear = 51, but its motor and gear give 50"),
    ],
)
def test_a_rotor_that_contradicts_its_motor_is_said(change: dict[str, da.Rotor], sentence: str) -> None:
    joint = da.Joint("j", "revolute", "a", "b", motor=da.Motor(rotor_inertia=3e-5), gear=da.Gear(ratio=50.0))
    with pytest.raises(RobotError, match=sentence):
        replace(joint, **change)
    assert replace(joint, rotor=da.Rotor(gear=-50.0)).rotor.gear == -50.0  # the same gear the other way round


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"rated_torque": "1.2"}, "'rated_torque' is '1.2'; it must be a number, or a string with a unit \\(N m, N mm"),
        (
            {"rated_torque": "1.2 kg"},
            "'rated_torque' is '1.2 kg'; it must be a number, or a string with a unit \\(N m, N mm",
        ),
        ({"rated_torque": "strong"}, "must be a number, or a string with a unit"),
        ({"rated_torque": -1.0}, "'rated_torque' is -1 N m; it must be a finite number above 0"),
        ({"rated_torque": 2.0, "peak_torque": 1.0}, "'peak_torque' is 1 N m, which is below 'rated_torque'"),
        ({"stall_torque": 2.0, "peak_torque": 1.0}, "'peak_torque' is 1 N m, which is below 'stall_torque', 2 N m"),
        (
            {"rated_speed": 300.0, "max_speed": 200.0},
            "'max_speed' is 200 rad/s, which is below 'rated_speed', 300 rad/s",
        ),
        ({"thermal_class": "Q"}, "'thermal_class' is 'Q'; it must be one of A, E, B, F, H"),
        ({"peak_curve": [[10.0, 1.0], [5.0, 1.0]]}, "at increasing speeds"),
        ({"peak_curve": [3.0, 1.0]}, "a list of points"),
        ({"ambient": 160.0}, "'ambient' is 160 °C, but the winding limit is 155 °C"),
        ({"voltage": 48.0}, "unknown key 'voltage'"),
    ],
)
def test_impossible_motors_are_one_sentence(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(RobotError, match=sentence):
        da.from_dh([{"a": 1.0, "mass": 1.0, "motor": fields}])


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"efficiency": 75.0}, "'efficiency' is 75; it must be above 0 and at most 1"),
        ({"ratio": 0.0}, "'ratio' is 0; it must be a finite number other than 0"),
        ({"ratio": "100"}, "'ratio' is '100'; it must be a number$"),
    ],
)
def test_impossible_gears_are_one_sentence(fields: dict[str, float], sentence: str) -> None:
    with pytest.raises(RobotError, match=sentence):
        da.Gear(**fields)


def test_a_lead_belongs_to_a_prismatic_joint() -> None:
    """A screw of 10 mm behind a belt 2 : 1 turns the motor by 2 · 2π / 0.01 rad/m."""
    screw = da.Gear(ratio=-2.0, lead=0.01)
    joint = da.Joint("z", "prismatic", "a", "b", gear=screw)
    assert joint.rotor is not None and joint.rotor.gear == pytest.approx(-400 * math.pi)
    with pytest.raises(RobotError, match=r"joint 'z' is revolute, but its gear has a lead of 0\.01 m"):
        replace(joint, type="revolute", rotor=None)


def test_every_unit_of_the_model_is_one_of_its_spellings() -> None:
    for unit, spellings in UNITS.items():
        assert 1.0 in spellings.values()
        if unit not in ("1", "price"):
            assert parse_quantity(f"2.5 {unit}", UNITS[unit]) == 2.5
    used = {entry.metadata["unit"] for kind in (da.Motor, da.Gear) for entry in kind.numbers()}
    assert used <= set(UNITS)


# -- catalogues --------------------------------------------------------------------------------------

MOTORS = (
    "Type;Mn [Nm];Mmax (N m);n max [min⁻¹];J [kg cm²];m [kg];colour\nA;1,2;4;6000;0,3;1,5;red\nB;2,4;8;5000;0,9;2,5;\n"
)


def test_a_catalogue_is_read_as_people_write_it() -> None:
    motors = parse_catalogue(MOTORS, da.Motor)
    assert [motor.name for motor in motors] == ["A", "B"]
    assert (motors[0].rated_torque, motors[0].rotor_inertia) == pytest.approx((1.2, 3e-5))
    assert motors[1].max_speed == pytest.approx(5000 * RPM)
    japanese = parse_catalogue(MOTORS.replace("J [kg cm²]", "J [×10⁻⁴ kg·m²]"), da.Motor)
    assert japanese[0].rotor_inertia == pytest.approx(3e-5)
    assert motors.notes == ("catalogue.csv: the columns colour are unknown and were ignored",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (MOTORS.replace("J [kg cm²]", "inert"), "needs 'rotor_inertia'; its columns are Type"),
        (MOTORS.replace("n max [min⁻¹]", "n max"), "the column 'n max' has no unit; write 'n max \\[rad/s\\]'"),
        (MOTORS.replace("[kg cm²]", "[kg]"), "column 'J \\[kg\\]': the unit 'kg' is unknown; known units are kg m²"),
        (MOTORS.replace("B;2,4", "B;strong"), "line 3, column 'Mn \\[Nm\\]': 'strong' is not a number"),
        (MOTORS.replace("B;", "A;"), "two parts have the name 'A'"),
        (MOTORS.replace("colour", "mass [g]"), "the columns 'm \\[kg\\]' and 'mass \\[g\\]' both mean mass"),
        (MOTORS.replace(";red", ""), "line 2: the row has 6 values, but the header has 7 columns"),
        (
            "# two motors\n\n" + MOTORS.replace("2,4;8", "2,4;"),
            "line 5 has no value for 'peak_torque', which is needed to select a motor",
        ),
        (MOTORS.replace("0,3;1,5", "0,3;"), "line 2 has no value for 'mass'"),
        (MOTORS.replace(";red", f";{'x' * 131_073}"), "line 2: this is not a line of a table"),
        ("", "the catalogue has no rows"),
    ],
)
def test_a_wrong_catalogue_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(RobotError, match=sentence):
        parse_catalogue(text, da.Motor)


def test_show_lists_motors_and_gears(tmp_path: Path) -> None:
    (tmp_path / "arm.toml").write_text(
        'name = "arm"\nconvention = "standard"\n[[joint]]\na = 1.0\nmass = 2.0\n' + DRIVE
    )
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "arm.toml")])
    assert shown.exit_code == 0, shown.output
    (row,) = [line.split() for line in shown.stdout.splitlines() if "M1" in line]
    assert row == ["1", "joint1", "M1", "1.4", "1.27", "3.82", "6000", "G1", "100", "50"]
