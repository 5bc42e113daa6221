"""Identification from positions and commands: the truth within its errors, what cannot be known named, and files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.io
from numpy.typing import NDArray
from typer.testing import CliRunner

import dalembert as da
from arms import SHARED
from dalembert.views.cli.main import app

Array = NDArray[np.float64]
Motion = Callable[[Array], tuple[Array, Array, Array]]

KP, KD = np.array([60000.0, 15000.0]), np.array([4000.0, 800.0])
EMPS = SHARED / "data" / "logs" / "emps.mat"
quiet = pytest.mark.filterwarnings("ignore::dalembert.IdentificationWarning")


def rubbed(arm: da.Arm, viscous: list[float], coulomb: list[float]) -> da.Arm:
    """The arm with this friction."""
    laws = [da.Friction(viscous=v, coulomb=c) for v, c in zip(viscous, coulomb, strict=True)]
    return arm.replace(joints=tuple(replace(x, friction=law) for x, law in zip(arm.robot.joints, laws, strict=True)))


def waves(n: int, seed: int, size: float = 0.6) -> Motion:
    """A sum of sines of random amplitudes."""
    rng = np.random.default_rng(seed)
    w, a = 2 * np.pi / 6.0 * np.arange(1, 5), rng.normal(size=(2, n, 4)) / np.arange(1, 5)

    def motion(t: Array) -> tuple[Array, Array, Array]:
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        q = s @ a[0].T + c @ a[1].T, (c * w) @ a[0].T - (s * w) @ a[1].T, -(s * w**2) @ a[0].T - (c * w**2) @ a[1].T
        return size * q[0], size * q[1], size * q[2]

    return motion


@cache
def arms() -> tuple[da.Arm, da.Arm]:
    """(the planar arm that moved, what its user knows: other masses, no friction)."""
    known = da.load("planar-2r")
    links = tuple(replace(x, inertia=replace(x.inertia, mass=1.2 * x.inertia.mass)) for x in known.robot.links)
    return rubbed(known.replace(links=links), [300.0, 100.0], [60.0, 30.0]), known


@cache
def recorded(seed: int = 0, rate: float = 250.0, **servo: Any) -> dict[str, Array]:
    """A log of positions and commands of a servo that is sampled at 1 kHz, with encoders."""
    motion, encoder = waves(2, seed), 2 * np.pi / 2**23
    start = motion(np.zeros(1))
    law = da.Servo(KP, KD, motion, **servo)
    run = da.simulate(
        arms()[0], start[0][0], start[1][0], law, 6.0, rate=1000.0, encoder=2**23, every=round(1000 / rate)
    )
    return {"t": run.t, "q": encoder * np.round(run.q / encoder), "command": motion(run.t)[0]}


def truth(fit: da.Identification, arm: da.Arm) -> Array:
    """The base parameters of an arm, in the columns of a fit; further terms are zero."""
    whole = da.ParameterSet(arm, rotor=True)
    known = dict(zip(whole.names, whole.values.tolist(), strict=True))
    return np.asarray(fit.base.K @ np.array([known.get(name, 0.0) for name in fit.base.parameters.names]))


def scores(fit: da.Identification, arm: da.Arm, scale: float = 1.0) -> Array:
    """Errors in standard deviations, of the parameters that are determined."""
    known = np.isfinite(fit.std)
    return np.asarray(((fit.parameters - scale * truth(fit, arm)) / fit.std)[known])


@quiet
def test_with_known_gains_the_truth_is_within_the_errors() -> None:
    """Without a word on the delay of the commands, its uncertainty of half a sample dominates the errors."""
    true, known = arms()
    controller = da.Servo(KP, KD)
    fit = da.identify(known, recorded(), measured="position", controller=controller)
    punctual = da.identify(known, recorded(), measured="position", controller=controller, command_delay=0.0)
    for own, most in ((fit, 3.0), (punctual, 4.0)):
        loop = own.closed_loop
        assert loop is not None and loop.relative_error < 1e-3 and loop.scale == ""
        assert np.abs(scores(own, true)).max() < most
    for name in ("mx_1", "mx_2", "Fv_1", "Fv_2", "Fs_1", "Fs_2"):
        k = fit.names.index(name)
        assert fit.std[k] < 0.5 * abs(fit.parameters[k])
        k = punctual.names.index(name)
        assert punctual.std[k] < 1e-3 * abs(punctual.parameters[k])
    loop = fit.closed_loop
    again = da.simulate(
        fit.arm, loop.run.measured[0], [0.0, 0.0], da.Servo(loop.gains["kp"], loop.gains["kd"], waves(2, 0)), 1.0
    )
    assert np.isfinite(again.q).all()


@quiet
def test_without_gains_only_ratios_are_known_and_the_result_says_so() -> None:
    true, known = arms()
    fit = da.identify(known, recorded(), measured="position", controller=da.Servo())
    loop = fit.closed_loop
    assert loop is not None and loop.scale in known.joint_names
    assert any("only the ratios" in note for note in fit.notes) and any("kd is not known" in note for note in fit.notes)
    j = known.joint_names.index(loop.scale)
    scale = float(loop.gains["kp"][j] / KP[j])
    assert 0.5 < scale < 1.5  # from masses that are wrong by a fifth
    ratio, error = (
        loop.gains["kp"][1 - j] / (scale * KP[1 - j]) - 1,
        loop.gains_std["kp"][1 - j] / loop.gains["kp"][1 - j],
    )
    assert abs(ratio) < 3 * error < 0.2
    some = np.array([not name.startswith("Fv") and np.isfinite(e) for name, e in zip(fit.names, fit.std, strict=True)])
    z = (fit.parameters - scale * truth(fit, true))[some] / fit.std[some]
    assert np.abs(z).max() < 4.0


@quiet
def test_a_drive_at_its_known_limit_fixes_the_scale_and_an_unknown_limit_is_identified() -> None:
    _, known = arms()
    log = recorded(1, effort=(2600.0, 500.0))
    assert (
        da.identify(
            known, log, measured="position", controller=da.Servo(None, KD, effort=[2600.0, 500.0])
        ).closed_loop.scale
        == ""
    )
    fit = da.identify(known, log, measured="position", controller=da.Servo(KP, KD, effort="fit"))
    np.testing.assert_allclose(fit.closed_loop.gains["effort"], [2600.0, 500.0], rtol=0.05)


@quiet
def test_a_delay_of_the_commands_is_identified() -> None:
    true, known = arms()
    log = recorded(2, 1000.0)
    late = {**log, "command": np.concatenate([log["command"][4:], np.repeat(log["command"][-1:], 4, axis=0)])}
    late = {name: x[:-8] for name, x in late.items()}
    fit = da.identify(known, late, measured="position", controller=da.Servo(KP, KD), command_delay="fit")
    assert abs(fit.closed_loop.delay - 4e-3) < 1e-4
    given = da.identify(known, late, measured="position", controller=da.Servo(KP, KD), command_delay=4e-3)
    assert given.closed_loop.delay_std == 0.0 and np.abs(scores(given, true)).max() < 4.0


@quiet
@pytest.mark.parametrize("law", ["pd", "feedforward", "computed"])
def test_the_loops_of_other_controllers_are_fitted(law: str) -> None:
    true, known = arms()
    motion = waves(2, 3)
    start = motion(np.zeros(1))
    controller = {
        "pd": da.PD(KP, KD, motion, known),
        "feedforward": da.Feedforward(motion, KP, KD, known),
        "computed": da.ComputedTorque(400.0, 40.0, motion, known),
    }[law]
    run = da.simulate(true, start[0][0], start[1][0], controller, 6.0, every=4)
    noise = np.random.default_rng(0).normal(0.0, 1e-5, run.q.shape)
    fit = da.identify(
        known, {"t": run.t, "q": run.q + noise}, measured="position", controller=controller, control_rate=1e6
    )
    assert np.all(fit.closed_loop.run.rms < 5e-4)
    assert np.abs(scores(fit, true)).max() < 4.0


@quiet
def test_held_commands_of_a_slow_log_are_recognised() -> None:
    """As LeRobot records them: 30 Hz, 12-bit encoders."""
    true, known = arms()
    motion, encoder, step = waves(2, 4), 2 * np.pi / 4096, 1.0 / 30.0

    def held(t: Array) -> tuple[Array, Array, Array]:
        q = motion(np.floor(t / step + 1e-6) * step)[0]
        return q, 0 * q, 0 * q

    held.knots = np.arange(0.0, 30.0, step)  # type: ignore[attr-defined]
    run = da.simulate(true, motion(np.zeros(1))[0][0], None, da.Servo(KP, KD, held), 30.0, step=step / 40, every=40)
    log = {"t": run.t, "q": encoder * np.round(run.q / encoder), "command": held(run.t)[0]}
    fit = da.identify(known, log, measured="position", controller=da.Servo(KP, KD), selection=False)
    for name in ("mx_1", "mx_2", "Fs_1", "Fs_2"):
        k = fit.names.index(name)
        assert abs(fit.parameters[k] / truth(fit, true)[k] - 1) < 0.1
    assert fit.closed_loop.delay_std > 0.01  # what is not known of the commands is in the errors of the friction


@quiet
def test_another_run_is_predicted_and_a_file_keeps_everything(tmp_path: Any) -> None:
    _, known = arms()
    how: dict[str, Any] = {"measured": "position", "controller": da.Servo(KP, KD)}
    fit = da.identify(known, recorded(), recorded(5), selection=False, **how)
    assert len(fit.closed_loop.validation) == len(fit.validation) == 1
    assert fit.closed_loop.validation[0].relative_error < 2e-3
    fit.save(tmp_path / "fit.json")
    record = da.read_fit(tmp_path / "fit.json")
    assert record.closed_loop["gains"]["kp"] == KP.tolist() and record.closed_loop["scale"] == ""
    again = da.identify(known, recorded(), **record.options(known), **how)
    np.testing.assert_allclose(again.parameters, fit.parameters, rtol=1e-9)


def test_the_public_benchmark_emps() -> None:
    """M 95.11 kg, F_v 203.5, F_c 20.39, offset −3.16 are published, from forces."""
    if not EMPS.exists():
        pytest.skip("../shared/data is not here")
    given = scipy.io.loadmat(EMPS)
    t, q, command, voltage = (given[name].ravel() for name in ("t", "qm", "qg", "vir"))
    kp, kv, force = (float(given[name].item()) for name in ("kp", "kv", "gtau"))
    rows = [{"type": "prismatic", "mass": 50.0, "inertia": np.eye(3)}]
    axis, published = da.from_dh(rows, gravity=(0, 0, 0)), np.array([95.1089, 203.5034, 20.3935, -3.1648])
    forces = da.identify(axis, {"t": t, "q": q[:, None], "tau": (force * voltage)[:, None]})
    assert np.abs(forces.parameters / published - 1).max() < 0.01
    log = {"t": t, "q": q[:, None], "command": command[:, None]}
    servo = da.Servo(force * kv * kp, force * kv, effort=10.0 * force)
    fit = da.identify(axis, log, measured="position", controller=servo)
    assert fit.names == forces.names and fit.closed_loop.relative_error < 5e-3
    assert np.abs((fit.parameters - published) / fit.std).max() < 1.0
    assert (fit.std / np.abs(published)).max() < 0.1
    ratios = da.identify(axis, log, measured="position", controller=da.Servo())
    assert ratios.closed_loop.scale == "joint1"
    k, m = ratios.parameters[ratios.names.index("Fs_1")], ratios.parameters[0]
    assert abs(k / m / (published[2] / published[0]) - 1) < 0.25


@quiet
def test_the_command_reads_positions_and_commands(tmp_path: Any) -> None:
    log, table = recorded(), tmp_path / "log.csv"
    names = ["t", "q1", "q2", "command1", "command2"]
    np.savetxt(
        table, np.column_stack([log["t"], log["q"], log["command"]]), delimiter=",", header=",".join(names), comments=""
    )
    arguments = ["identify", "planar-2r", str(table), "--measured", "position", "--control", "servo", "--no-selection"]
    gains = [
        "--kp",
        "60000 15000",
        "--kd",
        "4000 800",
        "--json",
        str(tmp_path / "fit.json"),
        "--output",
        str(tmp_path / "arm.toml"),
    ]
    run = CliRunner().invoke(app, [*arguments, *gains])
    assert run.exit_code == 0, run.output
    saved = json.loads((tmp_path / "fit.json").read_text())
    assert saved["closed_loop"]["gains"]["kd"] == [4000.0, 800.0]
    assert da.load(tmp_path / "arm.toml").n == 2
    like = CliRunner().invoke(app, [*arguments[:-1], *gains[:4], "--like", str(tmp_path / "fit.json")])
    assert like.exit_code == 0, like.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measured": "position"}, "needs the controller that moved the arm"),
        ({"measured": "force"}, "measured is 'force'; it must be 'torque' or 'position'"),
        ({"controller": da.Servo(1.0, 1.0)}, "controller applies to measured='position'"),
        ({"measured": "position", "controller": da.Adaptive(1.0, 1.0, 1.0, [0.0, 0.0])}, "must be the controller"),
        ({"measured": "position", "controller": da.Servo(1.0, 1.0), "command_delay": -1.0}, "command_delay is -1"),
        ({"measured": "position", "controller": da.Servo(1.0, 1.0), "control_rate": 0.0}, "control_rate is 0"),
        ({"measured": "position", "controller": da.Servo(KP, KD), "method": "robust"}, "leave out the other options"),
        ({"measured": "position", "controller": da.Servo(KP, KD), "two_sided": True}, "leave out two_sided"),
        ({"measured": "position", "controller": da.Servo(np.ones((3, 1, 2)), KD)}, "are a batch"),
    ],
)
def test_mistakes_are_one_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(da.DalembertError, match=words):
        da.identify(arms()[1], recorded(), **{"selection": False, **options})


def test_gains_in_another_unit_are_suspected() -> None:
    with pytest.warns(da.IdentificationWarning, match=r"are its gains in N m/rad"):
        da.identify(
            arms()[1], recorded(), measured="position", controller=da.Servo(KP / 1e3, KD / 1e3), selection=False
        )


def test_a_log_without_commands_says_what_is_missing() -> None:
    log = recorded()
    with pytest.raises(da.DalembertError, match="commanded positions"):
        da.identify(arms()[1], {"t": log["t"], "q": log["q"]}, measured="position", controller=da.Servo(KP, KD))
    with pytest.raises(da.DalembertError, match=r"kp is not given, which only da\.identify accepts"):
        da.simulate(arms()[1], [0.0, 0.0], None, da.Servo(None, KD, [0.0, 0.0]), 0.1)
