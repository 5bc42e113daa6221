"""What identify chooses by itself: the true structure and nothing more, for any arm; what is pinned holds and reproduces it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import dalembert as da
from arms import arm as registered
from dalembert.identification.crossvalidation import NOISELESS
from dalembert.robot.inertia import Inertia
from planar_runs import planar
from planar_runs import simulated as planar_log
from simulated import simulated

ROBOTS = (1, 2, 5, 8)  # seeds: a shared drive, springs, ripple, smooth friction and none of them
TRUE_FRICTION = da.Friction(200.0, 300.0)
SPECIAL = {
    "tanh": da.Friction(200.0, 0.0, tanh={"level": 400.0, "width": 0.15}),
    "stribeck": da.Friction(200.0, 300.0, stribeck={"level": 250.0, "speed": 0.1}),
    "load": da.Friction(200.0, 100.0, load={"share": 0.25}),
    "gear": da.Friction(200.0, 100.0, gear={"driving": 0.3, "driven": 0.1}),
    "drag": da.Friction(200.0, 300.0, drag={"level": 150.0}),
    "spring": da.Friction(200.0, 300.0, spring={"stiffness": 300.0, "rest": 0.3}),
    "harmonic": da.Friction(200.0, 300.0, harmonic={"order": 4.0, "sine": 120.0, "cosine": 50.0}),
    "offset": da.Friction(200.0, 300.0, offset=150.0),
    "gas_spring": da.Friction(200.0, 300.0, gas_spring={"force": 3000.0, "a": 0.3, "b": 0.9, "angle": 0.7}),
}  # at the second joint of a planar arm with torques of about 1000 N m
MOVING = ("pendulum", "pr-arm", "cartesian-2", "parallelogram", "gripper", "wrist")


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


def run_of(arm: da.Arm, noise: float = 0.0, seed: int = 0, seconds: float = 20.0, rate: float = 100.0) -> dict[str, Any]:
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


@cache
def noisy(**options: Any) -> da.Identification:
    return chosen(planar(), planar_log(planar()), **options)


def again(fit: da.Identification, arm: da.Arm, log: Any) -> da.Identification:
    """The fit with everything pinned that was chosen."""
    s = fit.selection
    assert s is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.IdentificationWarning)
        return da.identify(
            arm, log, model=s.model, filtering=s.filtering, estimator=s.estimator, selection=False
        )


@pytest.mark.parametrize("name", MOVING)
def test_a_log_without_noise_has_no_law_that_the_arm_has_not(name: str) -> None:
    """Rounding and sampling choose nothing: open, prismatic, closed and coupled arms; torques to 1e-4 on another run."""
    arm = registered(name)
    fit = chosen(arm, run_of(arm))
    assert fit.evaluate(run_of(arm, seed=5)).relative_error < 1e-4
    if not arm.passive_names and name != "wrist":  # whose followers' friction acts through the couplings
        laws = {law for own in fit.selection.structure.values() for law in own}
        assert laws <= {"viscous", "coulomb", "offset"} and not fit.selection.drives
