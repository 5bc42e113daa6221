"""Drives under a motion: makers' worked examples, energy through gears, and selections that nothing smaller beats."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.robot.readers.toml_reader import parse_toml
from dalembert.views.cli.main import app
from dalembert.work.sizing.drive_formulas import RPM, gear_life, mean_speed, mean_torque, rms_torque
from dalembert.work.sizing.drive_selection import _SelectionProblem
from dalembert.work.sizing.drive_sizing import DriveRules
from dalembert.work.sizing.motion_samples import samples
from dalembert.work.sizing.sizing import size
from dalembert.work.trajectory.planning.motion_file import MotionTable
from dalembert.work.trajectory.planning.motion_tables import write_table

EXAMPLES = Path(__file__).parents[3] / "examples" / "drives"
Array = NDArray[np.float64]

MOTOR = da.Motor(
    "M", stall_torque=5.0, rated_torque=4.0, peak_torque=15.0, rated_speed=300.0, max_speed=600.0, rotor_inertia=4e-4, mass=4.0,
    torque_constant=0.6, resistance=0.8, max_current=30.0, brake_torque=6.0, thermal_time_constant=900.0,
)  # fmt: skip
GEAR = da.Gear(
    "G", ratio=80.0, efficiency=0.8, rated_torque=300.0, acceleration_torque=900.0, emergency_torque=2000.0,
    rated_speed=2000 * RPM, mean_input_speed=3500 * RPM, max_input_speed=6000 * RPM, backlash=3e-4, stiffness=1e5,
    tilting_moment=2000.0, axial_force=1e4, radial_force=1e4, life=7000.0, inertia=1e-4, mass=2.0,
)  # fmt: skip


def fitted(arm: da.Arm, motor: da.Motor | None, gear: da.Gear | None) -> da.Arm:
    """The arm with the same drive at every joint."""
    joints = [replace(j, rotor=None, motor=motor, gear=gear) if j.moves else j for j in arm.robot.joints]
    return da.Arm(arm.robot.replace(joints=tuple(joints)))


@pytest.fixture(scope="module")
def arm() -> da.Arm:
    return fitted(da.load("planar-2r"), MOTOR, GEAR)


@pytest.fixture(scope="module")
def spatial() -> da.Arm:
    """Three crossed axes, one gear that turns backwards, one rotor that sits aside, and friction of the motors."""
    link = {"mass": 3.0, "com": (-0.2, 0.05, 0.1), "inertia": np.diag([0.05, 0.08, 0.06])}
    rotors: list[dict[str, object]] = [
        {"inertia": 3e-4, "gear": 80.0, "mass": 3.0, "viscous": 1e-3},
        {"inertia": 2e-4, "gear": -60.0, "mass": 2.0, "position": (-0.3, 0.1, 0.0), "coulomb": 0.05},
        {"inertia": 1e-4, "gear": 50.0, "mass": 1.0, "axis": (0.6, 0.0, 0.8)},
    ]
    angles = (math.pi / 2, 0.4, -math.pi / 3)
    return da.from_dh(
        [{"a": 0.4, "alpha": x, "d": 0.1, "rotor": r, **link} for x, r in zip(angles, rotors, strict=True)]
    )


@pytest.fixture(scope="module")
def motion() -> da.Trajectory:
    return da.trapezoidal([0.0, 0.3], [0.9, -0.4], duration=1.2, acceleration_time=0.3)


@pytest.fixture(scope="module")
def sizing(arm: da.Arm, motion: da.Trajectory) -> da.analysis.sizing.Sizing:  # type: ignore[name-defined]
    return size(arm, motion, life=1000.0)


# -- worked examples of makers -----------------------------------------------------------------------


def test_harmonic_drive_example() -> None:
    """The selection example of the CSF & CSG catalogue (Harmonic Drive LLC): CSF-40-120.

    400 N m for 0.3 s at 7 rpm, 320 for 3 s at 14, 200 for 0.4 s at 7, 0.2 s of rest; an impulse of 500 N m for 0.15 s
    at 14 rpm. Printed: average torque 319 N m, output speed 12 rpm, input speed 1440 rpm, 1190 impulses,
    L10 = 7610 h. It rounds on the way, so that 1 % is left.
    """
    t, T, n = np.array([0.3, 3.0, 0.4, 0.2]), np.array([400.0, 320.0, 200.0, 0.0]), np.array([7.0, 14.0, 7.0, 0.0])
    csf = da.Gear("CSF-40-120", ratio=120.0, rated_torque=294.0, rated_speed=2000 * RPM, life=7000.0)
    T_av, n_av = mean_torque(t, T, n), mean_speed(t, n)
    assert T_av == pytest.approx(319, rel=0.01) and n_av == pytest.approx(12, rel=0.01)
    assert 120 * n_av == pytest.approx(1440, rel=0.01)
    assert gear_life(csf, T_av, 120 * n_av * RPM) == pytest.approx(7610, rel=0.01)
    assert csf.life_ratio * gear_life(csf, 294.0, 2000 * RPM) == 35_000  # L50 at the rating: the catalogue's


def test_fanuc_example() -> None:
    """RMS torque of the α30/4000iS, "Specifications for the αiS/αi series" (FANUC B-65262EN/03), p. 59: 15.0 N m."""
    T_a, T_m, t_1, t_2, t_3 = 83.2, 3.0, 0.08, 2.0, 3.0
    assert rms_torque([t_1, t_2, t_1, t_3], [T_a + T_m, T_m, T_a - T_m, T_m]) == pytest.approx(15.0, rel=0.01)


def test_yaskawa_ball_screw_example() -> None:
    """YASKAWA, Σ-V-MD series user's manual, 2.2.2 Selection Calculations, p. 2-5, as a prismatic arm of one joint.

    250 kg at 15 m/min on a screw of 1.0 m × Ø 0.02 m with a lead of 0.01 m behind a gear 1/2, μ = 0.2, η = 0.9; 0.1 s of
    acceleration. Printed: 3000 rpm, load torque 0.43 N m, load inertia 2.29e-4 kg m², moving power 135 W. Yaskawa counts
    the efficiency in the friction and not in the inertia, so it is in the friction here.
    """
    screw = math.pi / 32 * 7.87e3 * 1.0 * 0.02**4 / 2**2
    gear = da.Gear(ratio=2 * math.pi * 2 / 0.01, inertia=screw + 0.40e-4)
    motor = da.Motor(rotor_inertia=1e-4)
    with_friction = {"coulomb": 0.2 * 9.8 * 250 / 0.9}
    table = da.from_dh(
        [{"type": "prismatic", "mass": 250.0, "friction": with_friction, "motor": motor, "gear": gear}],
        gravity=(0, 0, 0),
    )
    drives = size(table, da.trapezoidal([0.0], [0.275], acceleration_time=0.1, max_velocity=0.25)).drives
    assert drives is not None
    drive, middle = drives[0], len(drives[0].t) // 2
    assert drive.motor_speed.max() / RPM == pytest.approx(3000, rel=0.01)
    assert drive.motor_torque[middle] == pytest.approx(0.43, rel=0.01)
    assert drive.inertia_ratio[1] * 1e-4 == pytest.approx(2.29e-4, rel=0.01)
    assert drive.motor_torque[middle] * drive.motor_speed[middle] == pytest.approx(135, rel=0.01)


def test_yaskawa_acceleration_example() -> None:
    """YASKAWA product manual, 2.4.1 Example of Capacity Selection for Servomotors, p. 2-13: SGMSL-A3C.

    0.474e-4 kg m² and 0.035 N m are taken to 3000 rpm in 0.1 s.

    Printed: required acceleration torque 0.186 N m, load moving power 11.0 W.
    """
    motor = da.Motor(
        "SGMSL-A3C", rated_torque=0.0955, peak_torque=0.286, rated_speed=3000 * RPM, rotor_inertia=0.00629e-4
    )
    row = {"inertia": np.diag([1e-4, 1e-4, 0.474e-4]), "mass": 1e-9, "friction": {"coulomb": 0.035}, "motor": motor}
    axis = da.from_dh([row], gravity=(0, 0, 0))
    drives = size(
        axis, da.trapezoidal([0.0], [3000 * RPM * 0.3], acceleration_time=0.1, max_velocity=3000 * RPM)
    ).drives
    assert drives is not None
    drive, middle = drives[0], len(drives[0].t) // 2
    assert np.abs(drive.motor_torque).max() == pytest.approx(0.186, rel=0.01)
    assert drive.motor_torque[middle] * drive.motor_speed[middle] == pytest.approx(11.0, rel=0.01)
    assert drive.check("motor peak torque").limit == 0.286 and drive.check("motor speed").used == pytest.approx(1.0)


# -- identities --------------------------------------------------------------------------------------


def test_without_losses_the_motor_gives_the_joint_torque_through_its_gear(spatial: da.Arm) -> None:
    """T_m = τ / k, S (7.22): the rotor's inertia and friction are part of both, and a gear may turn backwards."""
    parts = [da.Gear(ratio=abs(j.rotor.gear), inertia=j.rotor.inertia, mass=j.rotor.mass) for j in spatial.robot.joints]
    joints = [replace(j, gear=gear) for j, gear in zip(spatial.robot.joints, parts, strict=True)]
    lossless = da.Arm(spatial.robot.replace(joints=tuple(joints)))
    assert lossless.mechanism == spatial.mechanism
    moves = da.polynomial(np.zeros(3), np.full(3, 0.4), 1.0)
    at, drives = samples(moves), size(lossless, moves).drives
    tau = lossless.inverse_dynamics(at.q, at.qd, at.qdd)
    assert drives is not None and len(drives) == 3
    for i, drive in enumerate(drives):
        np.testing.assert_allclose(drive.motor_torque, tau[:, i] / lossless.mechanism.bodies[i].gear, atol=1e-12)
        assert drive.motor_torque @ drive.motor_speed == pytest.approx(tau[:, i] @ at.qd[:, i])


def test_a_gear_takes_power_in_both_directions(sizing: da.analysis.sizing.Sizing) -> None:  # type: ignore[name-defined]
    """What the motor gives and the load does not get is never negative: (1 − η) of the input, whichever side that is."""
    for drive in sizing.drives:
        passed = drive.motor_torque - drive.inertia * (80 * drive.load_acceleration + drive.carrier)
        lost = passed * drive.motor_speed - drive.load_torque * drive.load_speed
        given = np.maximum(passed * drive.motor_speed, -drive.load_torque * drive.load_speed)
        assert (lost >= -1e-9).all()
        np.testing.assert_allclose(lost, 0.2 * given, atol=1e-9)


def test_every_field_of_motor_and_gear_is_judged(sizing: da.analysis.sizing.Sizing) -> None:  # type: ignore[name-defined]
    names = {check.name for check in sizing.drives[0].checks}
    assert names == {
        *(
            "motor peak torque",
            "motor RMS torque",
            "motor speed",
            "peak current",
            "winding temperature rise",
            "holding brake",
        ),
        *(
            "gear acceleration torque",
            "gear input speed",
            "gear axial force",
            "gear radial force",
            "gear tilting moment",
        ),
        *("gear mean torque", "gear mean input speed", "gear emergency torque", "gear life L10"),
    }
    drive = sizing.drives["joint1"]
    assert drive.light in ("green", "amber", "red") and drive.deciding.margin == min(c.margin for c in drive.checks)
    weights = 1.5 * 0.8 * drive.current_rms**2
    assert drive.copper_loss == pytest.approx(weights) and drive.current_rms == pytest.approx(drive.torque_rms / 0.6)
    assert drive.lost_motion == 1.5e-4 and drive.twist == np.abs(drive.load_torque).max() / 1e5
    assert drive.life_50 == 5 * drive.life_10
    worst = np.abs(da.load("planar-2r").gravity_torque([0.0, 0.3])[0]) / 80
    assert drive.holding_torque > worst * 0.99  # the motors' own weight is carried, too
    assert drive.check("holding brake").value == 1.5 * drive.holding_torque


def test_lights_follow_margins(arm: da.Arm, motion: da.Trajectory) -> None:
    need = size(arm, motion).drives[1].torque_rms  # type: ignore[index]
    for factor, light in ((2.0, "green"), (1.1, "amber"), (0.9, "red")):
        motor = da.Motor(stall_torque=factor * need, rotor_inertia=4e-4, mass=4.0)
        drive = size(fitted(da.load("planar-2r"), motor, GEAR), motion).drives["joint2"]  # type: ignore[index]
        assert drive.check("motor RMS torque").light == light
        assert drive.check("motor RMS torque").used == pytest.approx(1 / factor)


def test_quantiles_scale_margins(sizing: da.analysis.sizing.Sizing) -> None:  # type: ignore[name-defined]
    drives = sizing.drives
    plain = drives.margins()
    wider = drives.margins({"peak": 1.2 * drives.peak_torque, "rms": 1.1 * drives.rms_torque})
    for joint, own in plain.items():
        assert 1 - wider[joint]["motor peak torque"] == pytest.approx(1.2 * (1 - own["motor peak torque"]))
        assert 1 - wider[joint]["motor RMS torque"] == pytest.approx(1.1 * (1 - own["motor RMS torque"]))
        assert wider[joint]["motor speed"] == own["motor speed"]
        assert 1 - wider[joint]["winding temperature rise"] == pytest.approx(
            1.21 * (1 - own["winding temperature rise"])
        )
        assert 1 - wider[joint]["gear life L10"] == pytest.approx(1.1**3 * (1 - own["gear life L10"]))
    with pytest.raises(DalembertError, match=r"quantiles\['peak'\] has shape \(3,\)"):
        drives.margins({"peak": np.ones(3)})


def test_brakes_hold_what_all_robots_carry(arm: da.Arm, motion: da.Trajectory) -> None:
    """Where every robot has the same payload, a brake's margin is that of the arm which holds it."""
    drawn = da.monte_carlo(arm, motion, {"payload": (40.0, 40.0)}, samples=2)
    margins = size(arm, motion).drives.margins(drawn.quantiles(0.95))  # type: ignore[union-attr]
    for drive in size(arm, motion, payload=40.0).drives:  # type: ignore[union-attr]
        assert margins[drive.joint]["holding brake"] == pytest.approx(drive.check("holding brake").margin)


def test_a_sweep_passes_through_the_fitted_ratio(sizing: da.analysis.sizing.Sizing) -> None:  # type: ignore[name-defined]
    drive = sizing.drives["joint1"]
    sweep = sizing.sweep("joint1", [40.0, 80.0, 160.0])
    assert sweep.rms[1] == pytest.approx(drive.torque_rms) and sweep.peak[1] == pytest.approx(
        np.abs(drive.motor_torque).max()
    )
    np.testing.assert_allclose(sweep.speed, np.array([0.5, 1, 2]) * np.abs(drive.motor_speed).max())


def test_a_sweep_knows_gears_that_turn_backwards(spatial: da.Arm) -> None:
    """At the fitted ratio the sweep has the drive's own torques, with the spin of the carrying link and friction."""
    motor = replace(MOTOR, rotor_inertia=2e-4, mass=2.0)
    joints = [replace(j, motor=None if k != 1 else motor, gear=None if k != 1 else da.Gear(ratio=60.0, efficiency=0.8))
              for k, j in enumerate(spatial.robot.joints)]  # fmt: skip
    drive = size(
        da.Arm(spatial.robot.replace(joints=tuple(joints))), da.polynomial(np.zeros(3), np.ones(3), 1.0)
    ).drives[0]  # type: ignore[index]
    assert drive.gear.ratio == -60.0
    sweep = drive.sweep([60.0])
    assert sweep.rms[0] == pytest.approx(drive.torque_rms)
    checks = ("motor peak torque", "motor RMS torque", "motor speed")
    assert sweep.used[0] == pytest.approx(max(drive.check(name).used for name in checks))


def test_a_screw_is_judged_by_the_torque_at_its_gear() -> None:
    """F = m g on a screw of 16 mm: T2 = F lead / 2π, and the motor feels T2 / (i η) on its way up, T2 η / i down."""
    gear = da.Gear("belt", ratio=2.0, lead=0.016, efficiency=0.8, rated_torque=1.0, acceleration_torque=2.0)
    lift = da.from_dh([{"type": "prismatic", "mass": 10.0, "motor": MOTOR, "gear": gear}], gravity=(0, 0, -9.81))
    at = samples(da.trapezoidal([0.0], [0.3], duration=2.0, acceleration_time=0.2))
    drive = size(lift, at).drives[0]  # type: ignore[index]
    middle, T2 = len(drive.t) // 2, 10 * 9.81 * 0.016 / (2 * math.pi)
    assert drive.output_torque[middle] == pytest.approx(T2)
    assert drive.motor_torque[middle] == pytest.approx(T2 / (2 * 0.8))
    assert drive.motor_speed[middle] == pytest.approx(2 * 2 * math.pi / 0.016 * at.qd[middle, 0])
    assert drive.check("gear mean torque").used == pytest.approx(drive.mean_torque) == pytest.approx(T2, rel=0.01)
    assert drive.holding_torque == pytest.approx(T2 / 2)
    chosen = da.select_drives(lift, at, [MOTOR], [replace(gear, lead=None), replace(gear, name="b", lead=0.02)])
    assert chosen.choices[0].gear.lead in (0.016, 0.02)  # type: ignore[union-attr]
    bare = da.from_dh([{"type": "prismatic", "mass": 10.0}], gravity=(0, 0, -9.81))
    with pytest.raises(DalembertError, match=r"joint 'joint1': a prismatic joint needs the lead of its screw"):
        da.select_drives(bare, at, [MOTOR], [GEAR])
    unknown = replace(lift.robot.joints[0], rotor=None, gear=replace(gear, ratio=800.0, lead=None))
    drive = size(da.Arm(lift.robot.replace(joints=(unknown,))), at).drives[0]  # type: ignore[index]
    assert "gear mean torque" not in {check.name for check in drive.checks} and math.isnan(drive.mean_torque)


def test_the_best_ratio_of_an_inertia_matches_it() -> None:
    """k = √(J_load / J_motor) needs least torque: the textbook's rule."""
    row = {
        "inertia": np.diag([1.0, 1.0, 0.9]),
        "mass": 1e-9,
        "motor": da.Motor(rotor_inertia=1e-4),
        "gear": da.Gear(ratio=20.0),
    }
    axis = da.from_dh([row], gravity=(0, 0, 0))
    sweep = size(axis, da.polynomial([0.0], [1.0], 1.0)).sweep(0)
    assert sweep.optimum == pytest.approx(math.sqrt(0.9 / 1e-4), rel=0.03)
    with pytest.raises(DalembertError, match="'planar-2r' has no motors"):
        size(da.load("planar-2r"), da.polynomial([0.0, 0.0], [1.0, 0.0], 1.0)).sweep(0)


# -- selection ---------------------------------------------------------------------------------------


MIMIC = """convention = "standard"
gravity = [0.0, -9.81, 0.0]
joint = [{ name = "arm", a = 0.5, mass = 4.0, com = [-0.2, 0.0, 0.0] }, { name = "finger", a = 0.1, mass = 1.0 }, { name = "follower", a = 0.1, mass = 1.0 }]
coupling = [{ joints = ["follower"], of = ["finger"], matrix = [[-0.8]] }]
"""


@pytest.mark.parametrize("kind", ["tree", "closed", "mimic"])
def test_columns_give_the_torques_of_the_fitted_arm(kind: str, spatial: da.Arm) -> None:
    """With drives that differ from joint to joint, all torques are what the arm that has them computes."""
    bare = {"tree": lambda: spatial, "closed": lambda: da.load("parallelogram")}.get(
        kind, lambda: da.Arm(parse_toml(MIMIC))
    )()
    start = np.array([0.2, 1.2]) if kind == "closed" else np.zeros(bare.n)
    at = samples(da.polynomial(start, start + np.linspace(0.3, -0.8, bare.n), 0.7))
    rng = np.random.default_rng(1)
    motors = [
        replace(MOTOR, name=str(i), rotor_inertia=x, mass=5e3 * x)
        for i, x in enumerate(rng.uniform(1e-4, 9e-4, bare.n))
    ]
    gears = [replace(GEAR, name=str(i), ratio=x) for i, x in enumerate(rng.uniform(30, 150, bare.n))]
    problem = _SelectionProblem(bare, at, bare.joint_names, motors, gears, DriveRules(), None)
    chosen = {i: (motors[i], gears[i]) for i in range(bare.n)}
    exact = size(da.Arm(problem.robot_with(chosen)), at)
    problem.update(chosen)
    for i, drive in enumerate(exact.drives):  # type: ignore[arg-type]
        load, gravity = problem.load(i, chosen)
        scale = float(np.abs(drive.load_torque).max())
        np.testing.assert_allclose(load, drive.load_torque, atol=1e-9 * scale)
        foreseen = problem.judge(i, *chosen[i], load, gravity)
        np.testing.assert_allclose(foreseen.motor_torque, drive.motor_torque, atol=1e-9 * scale)
        for own, other in zip(foreseen.checks, drive.checks, strict=True):
            assert (own.name, own.value) == (other.name, pytest.approx(other.value, rel=1e-6))


def test_nothing_smaller_than_the_choice_will_do(motion: da.Trajectory) -> None:
    """Every cheaper combination at the last joint is red on the arm that has it, and its reasons say so."""
    bare = da.load("planar-2r")
    motors = [
        da.Motor(f"M{s}", rated_torque=s, peak_torque=3 * s, max_speed=600.0, rotor_inertia=1e-4 * s, mass=2 * s)
        for s in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    ]
    strong = {"rated_torque": 3e3, "acceleration_torque": 9e3, "emergency_torque": 2e4, "tilting_moment": 1e4}
    gears = [replace(GEAR, name="G80", **strong), replace(GEAR, name="G120", ratio=120.0, mass=9.0, **strong)]
    selection = da.select_drives(bare, motion, motors, gears)
    assert selection.criterion == "mass" and set(selection.sizing.drives.lights.values()) <= {"green", "amber"}  # type: ignore[union-attr]
    choice = selection.choices[1]
    first = selection.choices[0]
    smaller = [(m, g) for m in motors for g in gears if m.mass + g.mass < choice.cost]
    assert smaller
    for motor, gear in smaller:
        joints = [replace(bare.robot.joints[0], rotor=None, motor=first.motor, gear=first.gear)]
        joints.append(replace(bare.robot.joints[1], rotor=None, motor=motor, gear=gear))
        assert size(da.Arm(bare.robot.replace(joints=tuple(joints))), motion).drives["joint2"].light == "red"  # type: ignore[index]
    assert all("fails" in reason for reason in selection.reasons["joint2"])
    wide = da.select_drives(bare, motion, motors, gears, margin=0.2)
    assert set(wide.sizing.drives.lights.values()) == {"green"} and wide.choices[0].cost >= first.cost  # type: ignore[union-attr]


def test_what_cannot_be_selected_is_said(motion: da.Trajectory) -> None:
    bare = da.load("planar-2r")
    weak = da.Motor("W", rated_torque=0.1, peak_torque=0.3, max_speed=600.0, rotor_inertia=1e-5, mass=0.2)
    with pytest.raises(
        DalembertError,
        match=r"can drive joint 'joint2': the nearest of 1 combinations is W with G, which fails because of",
    ):
        da.select_drives(bare, motion, [weak], [GEAR])
    with pytest.raises(DalembertError, match=r"there is no joint 'elbow'; the joints are joint1, joint2"):
        da.select_drives(bare, motion, [weak], [GEAR], joints=["elbow"])
    with pytest.raises(DalembertError, match=r"margin is 1\.5; it must be the share"):
        da.select_drives(bare, motion, [weak], [GEAR], margin=1.5)
    with pytest.raises(DalembertError, match=r"life is 0; it must be a number above 0"):
        da.select_drives(bare, motion, [weak], [GEAR], life=0)
    with pytest.raises(DalembertError, match=r"motors must be a list of one or more da\.Motor"):
        da.select_drives(bare, motion, [])


def test_the_command_chooses_and_judges(tmp_path: Path, motion: da.Trajectory) -> None:
    at = samples(motion)
    path, out = tmp_path / "motion.csv", tmp_path / "fitted.toml"
    light = da.from_dh(
        [{"a": 0.3, "mass": 2.0, "com": (-0.15, 0, 0)}, {"a": 0.2, "mass": 1.0, "com": (-0.1, 0, 0)}],
        gravity=(0, -9.81, 0),
    )
    light.save(tmp_path / "arm.toml")
    keep = np.append(np.diff(at.t) > 0, True)
    names = ["t", *(f"{x}{k}" for x in ("q", "qd", "qdd") for k in (1, 2))]
    with path.open("w") as file:
        write_table(file, names, [x[keep] for x in (at.t, at.q, at.qd, at.qdd)])
    run = CliRunner().invoke
    catalogues = ["--motors", str(EXAMPLES / "motors.csv"), "--gears", str(EXAMPLES / "gears.csv")]
    done = run(app, ["size", str(tmp_path / "arm.toml"), str(path), *catalogues, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "cheapest motor and gear" in done.output and "Why nothing smaller is sufficient" in done.output
    cheap = (EXAMPLES / "gears.csv").read_text().replace("0.09,420", "0.09,", 1)
    (tmp_path / "gears.csv").write_text(cheap)
    one = run(app, ["size", str(tmp_path / "arm.toml"), str(path), *catalogues[:3], str(tmp_path / "gears.csv")])
    assert "'EXG-14-50' has no price, so the lightest drives are chosen" in one.output
    again = run(app, ["size", str(out), str(path), "--json"])
    assert again.exit_code == 0 and '"light"' in again.output
    assert run(app, ["size", str(tmp_path / "arm.toml"), str(path)]).exit_code == 2  # it has no drives
    wrong = run(app, ["size", str(out), str(path), "--sweep", "jiont1", "--plot", str(tmp_path / "sweep.png")])
    assert wrong.exit_code == 2 and "did you mean 'joint1'" in wrong.output


def test_a_red_light_under_tolerances_has_a_status_and_a_name(tmp_path: Path) -> None:
    """A joint that holds 98 % of its continuous torque: enough as drawn, not with ten percent more mass."""
    weight = 9.81 * 4.0 * 0.25
    motor = da.Motor("M", stall_torque=weight / 0.98, rotor_inertia=1e-4)
    bare = da.from_dh([{"a": 0.5, "mass": 4.0, "com": (-0.25, 0, 0)}], gravity=(0, -9.81, 0))
    da.polynomial([0.0], [1e-9], 1.0).with_payload(1e-6).save(tmp_path / "motion.csv")
    robot, path = tmp_path / "arm.toml", str(tmp_path / "motion.csv")
    fitted(bare, motor, None).save(robot)
    assert CliRunner().invoke(app, ["size", str(robot), path]).exit_code == 0
    words = ["size", str(robot), path, "--tolerance", "mass=10%", "--tolerance", "payload=0..0.1", "--samples", "64"]
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*words])
    failed = "error: joint 'joint1' fails its check 'motor RMS torque' under tolerances: 10"
    assert done.exit_code == 3 and failed in done.stderr, done.output
    assert "red (motor RMS torque, -" in done.stdout and "held in addition to that of the arm" in done.stderr
    data = CliRunner().invoke(app, [*words, "--json"])
    found = json.loads(data.stdout)
    assert data.exit_code == 3 and found["lights_under_tolerances"] == {"joint1": "red"}
    assert found["margins_under_tolerances"]["joint1"]["motor RMS torque"] < 0
    bare.save(robot, overwrite=True)
    none = CliRunner().invoke(app, [*words[:5], "--samples", "100000000"])
    assert none.exit_code == 2 and "has no motors and gears" in none.stderr


@pytest.mark.parametrize("altitude", [0.0, 1500.0, 3000.0])
@pytest.mark.parametrize("ambient", [20.0, 40.0, 55.0])
def test_the_derated_continuous_torque_heats_the_winding_to_its_limit(altitude: float, ambient: float) -> None:
    bare = da.from_dh([{"a": 1.0, "mass": 10.0, "com": (0, 0, 0)}], gravity=(0, -9.81, 0))
    rated = da.Motor("A", stall_torque=1.0, altitude=altitude, ambient=ambient).torque_factor
    motor = da.Motor(
        "A",
        stall_torque=0.981 / rated,
        rotor_inertia=1e-4,
        thermal_time_constant=600.0,
        altitude=altitude,
        ambient=ambient,
    )
    (drive,) = da.size(fitted(bare, motor, da.Gear("G", ratio=100.0)), da.polynomial([0.0], [1e-9], 1.0)).drives.joints
    assert drive.check("motor RMS torque").used == pytest.approx(1.0)
    assert ambient < 40.0 or drive.check("winding temperature rise").used == pytest.approx(1.0)
    assert drive.temperature == pytest.approx(motor.winding_temperature_limit - max(0.0, 40.0 - ambient))


def test_drives_of_closed_chains_spin_as_their_carriers_do() -> None:
    """The motors of a parallelogram arm stand on its base, which does not turn, and τ / k is what they give."""
    bare = da.load("parallelogram")
    driven = {bare.joint_names[i] for i in range(bare.n)}
    gear = da.Gear(ratio=50.0)
    joints = [replace(j, rotor=None, motor=MOTOR, gear=gear) if j.name in driven else j for j in bare.robot.joints]
    closed = da.Arm(bare.robot.replace(joints=tuple(joints)))
    start = np.array([0.2, 1.2])
    at = samples(da.polynomial(start, start + 0.3, 1.0))
    drives, tau = size(closed, at).drives, closed.inverse_dynamics(at.q, at.qd, at.qdd)
    assert drives is not None
    for i, drive in enumerate(drives):
        np.testing.assert_allclose(drive.carrier, 0.0, atol=1e-9)
        np.testing.assert_allclose(drive.motor_torque, tau[:, i] / 50, atol=1e-9)


def test_a_motion_that_stands_still_is_judged_by_holding(arm: da.Arm) -> None:
    still = np.zeros((2, 2))
    drives = size(arm, MotionTable(np.array([0.0, 1.0]), still, still, still)).drives
    assert drives is not None
    drive = drives[0]
    assert drive.mean_torque == 0 and drive.life_10 == math.inf and drive.regenerated == 0
    np.testing.assert_allclose(drive.motor_torque, drive.load_torque / 80)
