"""The calibrated arm is the fit: all that identification finds is held, saved and loaded again."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from arms import FRICTIONS, LOADED, arm, random_robot, relative, states, with_terms
from dalembert.robot.terms import TERMS, Stribeck
from dalembert.views.cli.main import app
from dalembert.work.identification.fitting.calibrated_robot import calibrated_arm
from dalembert.work.identification.fitting.model_parameters import terms_of
from dalembert.work.identification.fitting.parameter_set import Drive, ParameterSet
from dalembert.work.identification.fitting.term_columns import States

identify = partial(da.identify, selection=False)  # what is not given takes its plain value

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.work.identification.fitting.fit.IdentificationWarning")


def log_of(truth: da.Arm, seconds: float = 8.0, noise: float = 0.0, seed: int = 0, size: float = 0.25) -> dict:
    """A log of a motion near the arm's home, with noise on its torques."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 0.01)
    w = 2 * np.pi * 0.25 * np.arange(1, 5)
    a, b = rng.normal(size=(2, truth.n, 4)) * size / np.sqrt(w)
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q = truth.home + s @ a.T + c @ b.T
    qd, qdd = (c * w) @ a.T - (s * w) @ b.T, -(s * w**2) @ a.T - (c * w**2) @ b.T
    tau = np.asarray(truth.inverse_dynamics(q, qd, qdd))
    return {"t": t, "q": q, "qd": qd, "tau": tau + noise * np.abs(tau).max() * rng.normal(size=tau.shape)}


def again(fit: da.Identification, tmp_path: Path, suffix: str = "toml") -> da.Arm:
    """The calibrated arm, saved and loaded."""
    fit.arm.save(tmp_path / f"a.{suffix}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return da.load(tmp_path / f"a.{suffix}")


def off(fit: da.Identification, loaded: da.Arm) -> float:
    """How far the arm's torques are from the fit's, at the filtered states, beside the largest of each joint."""
    (piece, *_) = fit.run.conditioned.pieces
    ours, theirs = fit.torque(*piece.states), np.asarray(loaded.inverse_dynamics(*piece.states))
    return float((np.abs(ours - theirs).max(axis=0) / np.abs(ours).max(axis=0)).max())


SHAPES = {
    "stribeck": {"stribeck": 0.3},
    "two-sided": {"stribeck": True, "two_sided": True},
    "tanh": {"sigmoid": True},
}
CASES = [(name, shape) for name in ("scara", "parallelogram") for shape in SHAPES] + [("wrist", "stribeck")]


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_calibrated_arm_predicts_what_the_fit_predicts(name: str, shape: str, tmp_path: Path) -> None:
    """Friction of any shape, offsets, a shared drive and a counterbalance, on open, closed and coupled arms."""
    truth = arm(name)
    turning = next(k for k, joint in enumerate(truth.robot.moving_joints, 1) if joint.type != "prismatic")
    log = log_of(truth, noise=0.02)
    fit = identify(truth, log, coupling=[(1, 2, -0.7)], balance=[turning], **SHAPES[shape])
    assert {"Im_", "offset_", "sin1_", "cos2_"} <= {k[: k.index("_") + 1] for k in fit.base.parameters.names}
    loaded = again(fit, tmp_path)
    assert off(fit, loaded) < 1e-12
    (piece,) = fit.run.conditioned.pieces
    predicted = fit.predict({key: log[key] for key in ("t", "q", "qd")})
    assert relative(loaded.inverse_dynamics(*piece.states), predicted) < 1e-12


def test_calibrated_arm_is_the_fit_as_urdf_too(tmp_path: Path) -> None:
    """And once more identified from its own torques it stays what it is."""
    truth = arm("planar-2r")
    fit = identify(truth, log_of(truth, noise=0.02), balance=[1], stribeck=0.3)
    loaded = again(fit, tmp_path, "urdf")
    assert off(fit, loaded) < 1e-12
    second = identify(loaded, log_of(loaded), cutoff=40.0)
    assert set(fit.names) == set(second.names)
    assert second.relative_error < 2e-3


def test_values_that_no_mechanism_has_are_kept_and_named(tmp_path: Path) -> None:
    """Friction that drives and rotors without inertia, as a log may say; nothing is cut off."""
    truth = arm("planar-2r")
    log = log_of(truth)
    log["tau"] = log["tau"] - 60.0 * np.tanh(log["qd"] / 0.01) - 5.0 * log["qd"]
    drive = log["qd"].sum(axis=1, keepdims=True)
    fit = identify(truth, {**log, "tau": log["tau"] - 20.0 * np.sign(drive)}, coupling=[(1, 2)], stribeck=0.4)
    (note,) = (note for note in fit.arm_notes if note.startswith("marked physical = false"))
    assert "viscous friction of joint 'joint1'" in note and "Coulomb friction of joint 'drive_1_2'" in note
    assert off(fit, again(fit, tmp_path)) < 1e-12


def test_without_rotors_the_calibrated_arm_has_none(tmp_path: Path) -> None:
    truth = arm("puma560")
    fit = identify(truth, log_of(truth, noise=0.02), rotor=False)
    assert any("rotor=False" in note for note in fit.notes)
    assert off(fit, again(fit, tmp_path)) < 1e-12


def test_a_rotor_below_zero_is_said_to_be_none(tmp_path: Path) -> None:
    rotor = da.Rotor(-0.2, physical=False, reflected=True)
    robot = arm("planar-2r").robot
    changed = da.Arm(robot.replace(joints=tuple(replace(j, rotor=rotor) if j.moves else j for j in robot.joints)))
    for suffix in ("toml", "urdf"):
        changed.save(tmp_path / f"a.{suffix}")
        assert [j.rotor for j in da.load(tmp_path / f"a.{suffix}").robot.moving_joints] == [rotor] * 2
    with pytest.raises(da.DalembertError, match="it must be at least 0"):
        da.Rotor(-0.2)


# -- the set of parameters -------------------------------------------------------------------------------------------


def robot_with_terms(name: str, frictions: tuple) -> da.Arm:
    """An arm whose held joints have these terms, in turn."""
    robot = random_robot(np.random.default_rng(3), 4, tree=False) if name == "open" else arm(name).robot
    of = {joint.name: frictions[k % len(frictions)] for k, joint in enumerate(robot.moving_joints)}
    return da.Arm(robot.replace(joints=tuple(replace(j, friction=of.get(j.name, j.friction)) for j in robot.joints)))


@pytest.mark.parametrize("frictions", [FRICTIONS, LOADED], ids=["terms", "loaded"])
@pytest.mark.parametrize("name", ["open", "parallelogram", "gripper"])
def test_columns_of_terms_are_their_laws(name: str, frictions: tuple) -> None:
    """τ = Yπ, whether the arm's kernel makes the columns or the laws are run on arrays; of all the arm's own terms."""
    a = robot_with_terms(name, frictions)
    x = states(a, 40, 2)
    whole = ParameterSet(a, two_sided=True)
    tau = a.inverse_dynamics(*x)
    assert relative(whole.regressor(*x) @ whole.values, tau) < 1e-12
    further = [k for k, parameter in enumerate(whole.members) if parameter.further]
    assert len(further) == sum(len(term.linear()) for joint in a.robot.joints for term in joint.friction.further)
    by_law = replace(whole, load_from=whole.values).columns(further, *x)
    Y = whole.regressor(*x)
    for k in further:
        assert relative(by_law[k], Y[:, :, k]) < 1e-12


def test_terms_of_passive_joints_are_columns_too() -> None:
    a = da.Arm(with_terms(arm("parallelogram").robot, FRICTIONS))
    x = states(a, 40, 2)
    whole = ParameterSet(a, two_sided=True)
    assert relative(whole.regressor(*x) @ whole.values, a.inverse_dynamics(*x)) < 1e-12
    again = [whole.members[k] for k in range(whole.size) if whole.members[k].further and whole.members[k].source >= 0]
    Y = a.regressor(*x)
    for parameter in again:
        assert relative(parameter.column(States(a, *x)), Y[:, :, parameter.source]) < 1e-12


def test_names_are_unique_and_those_of_the_arm() -> None:
    springs = da.Friction(spring=[{"stiffness": 2.0}, {"stiffness": 3.0, "rest": 0.5}])
    a = da.Arm(with_terms(arm("planar-2r").robot, [springs]))
    assert a.parameter_names[-4:] == ("k_1", "k_1b", "k_2", "k_2b")
    assert ParameterSet(a).names == a.parameter_names
    assert len(a.parameters) == len(a.parameter_names)


def test_what_is_asked_for_stands_instead_of_the_arms_own() -> None:
    a = da.Arm(with_terms(arm("planar-2r").robot, [da.Friction(stribeck={"level": 3.0, "speed": 0.5}, offset=0.4)]))
    other = ParameterSet(a, offset=True).with_terms([(0, Stribeck(0.0, 0.2))])
    speeds = {x.name: (x.unit.speed, x.value) for x in other.members if x.kind == "Fst"}
    assert speeds == {"Fst_2": (0.5, 3.0), "Fst_1": (0.2, 3.0)}
    assert [x.value for x in other.members if x.kind == "offset"] == [0.4, 0.4]


# -- further terms from logs -------------------------------------------------------------------------------------------

TRUTHS = {
    "spring": ({"stiffness": 40.0, "rest": 0.3}, {"rest": 0.3}),
    "gas_spring": ({"force": 900.0, "a": 0.1, "b": 0.4, "angle": 2.0}, {"a": 0.1, "b": 0.4, "angle": 2.0}),
    "harmonic": ({"order": 5, "sine": 12.0, "cosine": -7.0}, {"order": 5}),
    "load": ({"share": 0.12}, {}),
    "gear": ({"driving": 0.1, "driven": 0.25}, {}),
    "sigmoid": ({"level": 30.0, "width": 0.2, "shift": 0.1}, {"width": 0.2, "shift": 0.1}),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_any_term_is_identified(name: str, tmp_path: Path) -> None:
    """From its name and shape alone, on one joint; the saved arm predicts what the fit predicts."""
    values, shape = TRUTHS[name]
    start = arm("planar-2r")
    robot = with_terms(start.robot, [da.Friction(2.0, 8.0)])
    joint = robot.moving_joints[1]
    rich = replace(joint, friction=joint.friction.replace(**{name: values}))
    truth = da.Arm(robot.replace(joints=tuple(rich if j.name == joint.name else j for j in robot.joints)))
    fit = identify(start, log_of(truth, seconds=16.0, seed=4), terms={"joint2": {name: shape}}, cutoff=45.0)
    identified = dict(zip(fit.base.parameters.names, fit.full, strict=True))
    term = TERMS[name].read(values)
    for symbol, value in zip(term.symbols, term.coefficients, strict=True):
        assert identified[f"{symbol}_2"] == pytest.approx(value, rel=0.02, abs=0.02 * max(map(abs, term.coefficients)))
    assert fit.relative_error < 5e-3
    assert off(fit, again(fit, tmp_path)) < 1e-12


def test_gear_losses_everywhere_are_not_told_from_masses(tmp_path: Path) -> None:
    """η_1 = −η_2 at every joint scales the torques of the masses; one joint whose losses are the same fixes it."""
    gears = da.Friction(2.0, 8.0, gear={"driving": 0.1, "driven": 0.2})
    truth = da.Arm(with_terms(arm("planar-2r").robot, [gears]))
    log = log_of(truth, seconds=16.0, seed=4)
    with pytest.raises(da.DalembertError, match=r"eta2_2 cannot be distinguished from the masses.*'load' instead"):
        identify(truth, log)
    fit = identify(truth, log, terms={"joint1": "load"})
    assert {"mu_1", "eta1_2", "eta2_2"} <= set(fit.base.parameters.names)
    assert off(fit, again(fit, tmp_path)) < 1e-12


def test_terms_are_asked_for_in_words() -> None:
    a = arm("planar-2r")
    log = log_of(a)
    for terms, sentence in (
        (["sprung"], "there is no term 'sprung'.*spring"),
        (["coulomb"], "friction="),
        ({"joint7": ["spring"]}, "no joint 'joint7'"),
        ({"spring": {"stiffness": 3.0}}, "give its shape"),
        (["harmonic"], "the torque ripple needs order"),
    ):
        with pytest.raises(da.DalembertError, match=sentence):
            identify(a, log, terms=terms)
    with pytest.raises(
        da.DalembertError, match="joint 'joint1' is prismatic; the gas spring acts on a revolute joint only"
    ):
        terms_of(arm("pr-arm"), {"gas_spring": {"a": 0.1, "b": 0.4}})


def test_possible_estimates_keep_the_signs_of_terms() -> None:
    pytest.importorskip("clarabel")
    a = arm("planar-2r")
    log = log_of(a)
    log["tau"] = log["tau"] - 40.0 * log["q"] + 9.0 * np.sin(3 * log["q"])
    fit = identify(a, log, physical=True, terms={"spring": {}, "harmonic": {"order": 3}}, coupling=[(1, 2)])
    values = dict(zip(fit.base.parameters.names, fit.full, strict=True))
    assert min(values[name] for name in ("k_1", "k_2", "Im_1_2", "Fv_1_2", "Fs_1_2")) > -1e-6
    assert values["sin3_1"] < -1.0  # what has any sign keeps it
    assert not any("physical = false" in note for note in fit.arm_notes) or min(values.values()) < 0


def test_drives_are_motors_that_follow() -> None:
    """The calibrated arm's motor has r q̇_i + q̇_j, inertia and friction, and nothing else."""
    a = arm("planar-2r")
    drive = Drive(0, 1, -0.5)
    whole = ParameterSet(a, drives=(drive,))
    x = states(a, 30)
    phi = whole.values.copy()
    phi[-3:] = 2.0, 3.0, 5.0
    shared, _ = calibrated_arm(whole, phi, "")
    assert shared.n == 2 and shared.passive_names == ("drive_1_2",)
    assert relative(shared.inverse_dynamics(*x), whole.regressor(*x) @ phi) < 1e-13
    row = drive.row(2)
    assert (
        relative(shared.inertia_matrix(x[0]) - a.inertia_matrix(x[0]), np.tile(2.0 * np.outer(row, row), (30, 1, 1)))
        < 1e-9
    )


def test_command_takes_terms_and_says_what_was_identified(tmp_path: Path) -> None:
    a = arm("planar-2r")
    log = log_of(a, size=1.0)
    log["tau"] = log["tau"] + 30.0 * log["q"]
    np.savez(tmp_path / "run.npz", **log)
    words = ["identify", "planar-2r", str(tmp_path / "run.npz"), "--term", "all:spring:rest=0.0", "--stribeck"]
    outputs = ["--json", str(tmp_path / "fit.json"), "--report", str(tmp_path / "fit.html")]
    shown = CliRunner().invoke(app, [*words, "--term", "2:harmonic:order=3", *outputs])
    assert shown.exit_code == 0, shown.output
    friction = json.loads((tmp_path / "fit.json").read_text())["friction"]
    assert friction["joint1"]["spring"]["stiffness"] == pytest.approx(30.0, rel=0.02)
    assert friction["joint2"]["harmonic"]["order"] == 3
    page = (tmp_path / "fit.html").read_text()
    assert "Friction and other terms" in page and "Stribeck friction: level" in page
    for word, sentence in (
        ("spring", "needs JOINT:NAME"),
        ("1:spring:rest", "must be KEY=VALUE"),
        ("9:spring", "no joint"),
    ):
        wrong = CliRunner().invoke(app, [*words[:3], "--term", word])
        assert wrong.exit_code == 2 and sentence in " ".join(wrong.output.split())
