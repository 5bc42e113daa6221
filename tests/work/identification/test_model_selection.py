"""What identify chooses by itself: the true structure and nothing more, for any arm; what is pinned holds and reproduces it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dalembert as da
from arms import arm as registered
from dalembert.robot.model.inertia import Inertia
from planar_runs import planar
from planar_runs import simulated as planar_log
from simulated_robots import simulated

ROBOTS = (2, 8)  # seeds
TRUE_FRICTION = da.Friction(200.0, 300.0)
SPECIAL = {
    "load": da.Friction(200.0, 100.0, load={"share": 0.25}),
    "gas_spring": da.Friction(200.0, 300.0, gas_spring={"force": 2000.0, "a": 0.4, "b": 0.6, "angle": -0.3}),
}  # at the second joint of a planar arm with torques of about 1000 N m
MOVING = ("pr-arm", "parallelogram", "gripper")


def with_frictions(arm: da.Arm, *frictions: da.Friction) -> da.Arm:
    """The arm with this friction, joint by joint, and none in its motors."""
    each = iter(frictions)
    joints = (
        replace(x, friction=next(each), rotor=x.rotor and replace(x.rotor, viscous=0.0, coulomb=(0.0, 0.0)))
        if x.moves
        else x
        for x in arm.robot.joints
    )
    return arm.replace(joints=tuple(joints))


def run_of(
    arm: da.Arm, noise: float = 0.0, seed: int = 0, seconds: float = 20.0, rate: float = 100.0
) -> dict[str, Any]:
    """A log of a random periodic motion; ``noise`` is relative to each joint's torque."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, seconds, 1.0 / rate)
    q, qd, qdd = da.fourier(0.35 * rng.standard_normal((2, arm.n, 4)), 0.15, duration=seconds)(t)
    tau = np.asarray(arm.inverse_dynamics(q, qd, qdd))
    tau = tau + noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.standard_normal(tau.shape)
    return {"t": t, "q": q, "qd": qd, "tau": tau}


def chosen(arm: da.Arm, log: Any, **options: Any) -> da.Identification:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.IdentificationWarning)
        fit = da.identify(arm, log, **options)
    assert fit.selection is not None
    return fit


def again(fit: da.Identification, arm: da.Arm, log: Any) -> da.Identification:
    """The fit with everything pinned that was chosen."""
    s = fit.selection
    assert s is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.IdentificationWarning)
        return da.identify(arm, log, model=s.model, filtering=s.filtering, estimator=s.estimator, selection=False)


@pytest.mark.parametrize("name", MOVING)
def test_a_log_without_noise_has_no_law_that_the_arm_has_not(name: str) -> None:
    """Rounding and sampling choose nothing: open, prismatic, closed and coupled arms; torques to 1e-4 on another run."""
    arm = registered(name)
    fit = chosen(arm, run_of(arm, seconds=8.0, rate=50.0))
    assert fit.evaluate(run_of(arm, seed=5)).relative_error < 1e-4
    laws = {law for own in fit.selection.structure.values() for law in own}
    if name != "gripper":  # whose followers have other friction forwards than backwards
        assert laws <= {"viscous", "coulomb"} and not fit.selection.drives


@pytest.mark.parametrize("seed", ROBOTS)
def test_the_true_structure_of_simulated_robots_and_an_honest_error(seed: int) -> None:
    """The error that the selection tells is that of a run that it never saw, to a factor."""
    robot = simulated(seed)
    fit = chosen(robot.arm, robot.log)
    assert not robot.differences(fit.selection.structure, fit.selection.drives)
    assert 0.7 < fit.selection.error / fit.evaluate(robot.other).relative_error < 1.4
    assert len(fit.selection.sentences) <= 4


@pytest.mark.parametrize("law", SPECIAL)
def test_every_law_is_chosen_predicts_and_reaches_the_calibrated_arm(law: str, tmp_path: Any) -> None:
    """Chosen at its joint alone; all ways to torques agree, with everything pinned and after saving the arm too."""
    user = with_frictions(da.load("planar-2r"), da.Friction(), da.Friction())
    truth = with_frictions(user, TRUE_FRICTION, SPECIAL[law])
    log, other = (run_of(truth, 0.01, seed, 25.0) for seed in (0, 5))
    fit = chosen(user, log)
    structure = fit.selection.structure
    assert set(structure["joint1"]) <= {"viscous", "coulomb", "offset"} and law in structure["joint2"], structure
    assert fit.evaluate(other).relative_error < 0.007
    pinned = again(fit, user, log)
    assert pinned.names == fit.names and np.allclose(pinned.parameters, fit.parameters, rtol=1e-9, atol=0.0)
    fit.arm.save(tmp_path / "arm.toml")
    states = (other["q"][::50], other["qd"][::50], np.gradient(other["qd"], other["t"], axis=0)[::50])
    torques = fit.torque(*states)
    for arm in (fit.arm, da.load(tmp_path / "arm.toml")):
        assert np.allclose(arm.inverse_dynamics(*states), torques, rtol=1e-6, atol=1e-6 * np.abs(torques).max())


def test_a_law_that_no_joint_shows_by_itself_is_found_at_all_of_them() -> None:
    """Load-dependent friction of a few percent: with one joint the selection does not add it, with three it does."""
    bare = with_frictions(da.load("planar-3r"), *[da.Friction()] * 3)
    loss = da.Friction(3.0, 4.0, load={"share": 0.05})
    truth = with_frictions(bare, loss, loss, loss)
    fit = chosen(bare, run_of(truth, 0.01, seconds=30.0))
    assert sum("load" in laws or "gear" in laws for laws in fit.selection.structure.values()) >= 2


def test_two_runs_are_two_parts_and_slow_motions_have_fewer() -> None:
    arm = with_frictions(da.load("planar-2r"), TRUE_FRICTION, TRUE_FRICTION)
    logs = [run_of(arm, 0.01, seed, 15.0) for seed in (0, 5)]
    assert chosen(arm, logs).selection.blocks == 2
    assert chosen(arm, logs[0]).selection.blocks == 5
    t = np.arange(0.0, 15.0, 0.01)
    q, qd, qdd = da.fourier(np.ones((2, 2, 1)), 0.15, duration=15.0)(t)
    slow = {"t": t, "q": q, "qd": qd, "tau": np.asarray(arm.inverse_dynamics(q, qd, qdd))}
    assert chosen(arm, slow).selection.blocks < 5


def test_errors_in_the_band_of_the_motion_do_not_depend_on_the_cut_off() -> None:
    arm = with_frictions(da.load("planar-2r"), TRUE_FRICTION, TRUE_FRICTION)
    log = run_of(arm, 0.05, rate=200.0)
    fits = [da.identify(arm, log, selection=False, cutoff=cutoff) for cutoff in (None, 3.0, 40.0)]
    assert len({fit.band for fit in fits}) == 1 and fits[0].band == fits[0].run.conditioned.cutoff
    assert fits[0].band_error == fits[0].relative_error
    errors = [fit.relative_error for fit in fits]
    assert errors[1] < 0.8 * errors[0] and errors[2] > 1.2 * errors[0]  # smoother torques are easier to predict
    assert [fit.band_error for fit in fits] == pytest.approx([errors[0]] * 3, rel=0.1)
    assert [fit.unfiltered_error for fit in fits] == pytest.approx([fits[0].unfiltered_error] * 3, rel=0.02)


def test_friction_that_changes_with_the_temperature_is_chosen_where_it_does() -> None:
    arm = with_frictions(da.load("planar-2r"), TRUE_FRICTION, TRUE_FRICTION)
    log = run_of(arm, 0.01, seconds=25.0, rate=50.0)
    warm = 25.0 + 20.0 * (1.0 - np.exp(-log["t"] / 20.0))[:, None] * [1.0, 0.9]
    changing = log["tau"] + (warm - 35.0) * (-3.0 * log["qd"] - 5.0 * np.sign(log["qd"]))
    structure = chosen(arm, {**log, "tau": changing, "temperature": warm}).selection.structure
    assert all("temperature" in laws for laws in structure.values())
    constant = chosen(arm, {**log, "temperature": np.full(warm.shape, 30.0)}).selection.structure
    assert not any("temperature" in laws for laws in constant.values())


def test_arms_without_inertias_are_identified_from_their_geometry() -> None:
    true = with_frictions(da.load("planar-3r"), *[da.Friction(0.3, 0.5)] * 3)
    bare = true.replace(
        links=tuple(replace(x, inertia=Inertia(0.0)) for x in true.robot.links),
        joints=tuple(replace(x, rotor=None, friction=da.Friction()) if x.moves else x for x in true.robot.joints),
    )
    fit = chosen(bare, run_of(true, 0.01))
    assert fit.selection.estimator.prior is None
    assert fit.evaluate(run_of(true, 0.01, 4)).relative_error < 0.006


PINS: list[tuple[dict[str, Any], str]] = [
    ({"cutoff": 3.0}, "cutoff"), ({"sigmoid": 0.1}, "friction"), ({"coupling": [(1, 2)]}, "coupling"),
    ({"method": "ordinary"}, "estimator"),
]  # fmt: skip


@pytest.mark.parametrize(("pin", "choice"), PINS, ids=[next(iter(pin)) for pin, _ in PINS])
def test_what_is_pinned_holds(pin: dict[str, Any], choice: str) -> None:
    fit = chosen(planar(), planar_log(planar(), seconds=8.0), **pin)
    s = fit.selection
    assert (choice not in s.chosen and not s.tried(choice)) or choice == "cutoff"
    name, value = next(iter(pin.items()))
    group = next(x for x in (s.model, s.filtering, s.estimator) if hasattr(x, name))
    assert getattr(group, name) == value
    pinned = again(fit, planar(), planar_log(planar(), seconds=8.0))
    assert pinned.names == fit.names and np.array_equal(pinned.parameters, fit.parameters)


def test_a_selection_chooses_what_it_is_asked_for_alone() -> None:
    """What is not to be chosen takes its plain value, the cut-off too."""
    log = planar_log(planar(), seconds=8.0)
    plain = da.identify(planar(), log, selection=False)
    for choice in ("friction", "estimator"):
        fit = chosen(planar(), log, selection=da.SelectionOptions(choose=(choice,), blocks=2, standard_errors=0.0))
        assert fit.run.conditioned.cutoff == plain.run.conditioned.cutoff and fit.selection.chosen == (choice,)
        assert not any("chosen by cross-validation" in note for note in fit.notes)


def test_twice_the_same() -> None:
    log = planar_log(planar(), seconds=8.0)
    first, second = (chosen(planar(), log) for _ in range(2))
    assert np.array_equal(first.parameters, second.parameters)
    assert first.selection.trials == second.selection.trials


def test_short_logs_and_logs_at_rest_say_that_nothing_was_chosen() -> None:
    log = planar_log(planar(), seconds=40.0)
    begin, end = 1900, 2100
    at = np.clip(np.arange(len(log["t"])), begin, end)
    moving = (at > begin) & (at < end)
    still = {**log, "q": log["q"][at], "qd": log["qd"] * moving[:, None], "tau": log["tau"][at]}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit = da.identify(planar(), still)
    assert any("nothing was chosen" in str(x.message) for x in said)
    assert fit.selection is None


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"rotor": "x"}, "rotor is 'x'; it must be True or False"),
    ({"physical": 1.5}, "physical is 1.5; it must be True or False"),
    ({"decimate": 1.5}, "decimate is 1.5; it must be a whole number"),
    ({"edge": float("nan")}, "edge is nan; it must be a number of at least 0, in seconds"),
    ({"lag": [1]}, r"lag is \[1\]; it must be a number, in seconds"),
    ({"cutoff": True}, "cutoff is True; it must be a number, in Hz"),
    ({"method": 3}, "method is 3; it must be a name"),
    ({"prior": "x"}, "prior is 'x'; it must be an arm"),
    ({"prior_deviation": 0.2}, "prior_deviation needs a prior, and none is given"),
    ({"bounds": 3}, "bounds is 3; it must be a dict"),
    ({"method": "damped", "damping": "x"}, "damping is 'x'; it must be a number"),
    ({"progress": 3}, "progress is 3; it must be a function"),
    ({"blocks": 2}, r"give selection=SelectionOptions\(blocks=2\)"),
]


@pytest.mark.parametrize(("options", "sentence"), WRONG, ids=[next(iter(x)) for x, _ in WRONG])
def test_options_of_a_wrong_kind_are_said_in_a_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(da.DalembertError, match=sentence):
        da.identify(planar(), planar_log(planar(), seconds=2.0), **options)


@pytest.mark.parametrize(
    "options", [{"choose": 3}, {"choose": "cutoff"}, {"blocks": True}, {"blocks": 1}, {"standard_errors": "x"}]
)
def test_a_selection_of_a_wrong_kind_is_said_in_a_sentence(options: dict[str, Any]) -> None:
    with pytest.raises(da.DalembertError, match=next(iter(options))):
        da.SelectionOptions(**options)


def test_arrays_pin_as_lists_do() -> None:
    log = planar_log(planar(), seconds=8.0)
    fits = [da.identify(planar(), log, selection=False, stribeck=x) for x in (np.array([0.1, 0.2]), [0.1, 0.2])]
    assert np.array_equal(fits[0].parameters, fits[1].parameters)


def test_a_log_too_short_for_any_cut_off_is_fitted_without_a_selection() -> None:
    arm, t = da.load("planar-2r"), np.arange(0, 0.2, 0.005)
    q, qd, qdd = da.fourier([[[0.5, 0.3], [0.2, 0.1]], [[0.2, 0.4], [0.3, 0.2]]], 0.2, duration=10.0)(t)
    tau = arm.inverse_dynamics(q, qd, qdd)
    noise = 0.01 * np.abs(tau).max() * np.random.default_rng(0).normal(size=tau.shape)
    with pytest.warns(da.IdentificationWarning, match="too short for two parts that differ.*nothing was chosen"):
        assert da.identify(arm, {"t": t, "q": q, "qd": qd, "tau": tau + noise}).selection is None
