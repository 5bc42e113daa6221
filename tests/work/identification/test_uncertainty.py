"""Standard deviations on simulated robots whose truth is known, and signals that lag behind each other."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import dalembert as da
from dalembert.work.identification.fitting.covariance import TorqueLags
from dalembert.work.logs.alignment import aligned, later, velocity_lag
from dalembert.work.logs.conditioning import usual_step
from dalembert.work.logs.log import Log, read_log
from simulated_robots import SOURCES, SimulatedRobot, simulated

SMALL = ("pendulum", "planar-2r", "pr-arm")
ROBOTS = [(seed, SMALL[seed % len(SMALL)]) for seed in range(12)]


@cache
def pinned(seed: int, name: str) -> tuple[SimulatedRobot, da.Identification]:
    """A robot, and its identification with the true structure."""
    robot = simulated(seed, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return robot, da.identify(robot.arm, robot.log, selection=False, **robot.options)


def test_two_standard_deviations_cover_the_truth() -> None:
    """The thousand robots of make soak-identification say 95 %; of twelve small ones nearly all must be covered."""
    fits = [pinned(*robot) for robot in ROBOTS]
    z = np.concatenate([(fit.parameters - robot.true_values(fit.base)) / fit.std for robot, fit in fits])
    assert len(z) > 50
    assert 0.85 <= np.mean(np.abs(z) < 2) <= 1.0
    assert 0.6 < np.sqrt(np.mean(z**2)) < 1.5


def test_formula_and_bootstrap_agree_within_a_factor_of_two() -> None:
    for robot in ROBOTS:
        _, fit = pinned(*robot)
        ratio = np.sqrt(np.diag(fit.bootstrap(100))) / fit.std
        assert ratio.min() > 0.5 and ratio.max() < 2.0, robot
    assert (fit.bootstrap(20, seed=1) == fit.bootstrap(20, seed=1)).all()


def test_lag_of_the_torques_is_estimated_within_its_error() -> None:
    estimates = [
        (fit.lag, robot.errors["torque lag"], fit.blocks.lags().error) for robot, fit in (pinned(*x) for x in ROBOTS)
    ]
    off = np.array([(lag - true) / error for lag, true, error in estimates])
    assert np.mean(np.abs(off) < 2.5) >= 0.8
    assert sum(lag != 0 for lag, _, _ in estimates) >= 6


def test_lag_that_is_given_is_kept() -> None:
    robot = simulated(1, "planar-2r")
    fit = da.identify(robot.arm, robot.log, selection=False, lag=0.002, **robot.options)
    assert fit.lag == 0.002 and not fit.blocks.lagging
    moved = {**robot.log, "tau": later(robot.log["tau"], 0.002 / (robot.log["t"][1] - robot.log["t"][0]))}
    same = da.identify(robot.arm, moved, selection=False, lag=0.0, **robot.options)
    assert np.allclose(same.parameters, fit.parameters, rtol=0, atol=0.1 * fit.std.max())


def test_lag_is_believed_only_where_joints_agree() -> None:
    errors = np.full(3, 0.0004)
    assert TorqueLags(0.003, 0.0002, np.array([0.0028, 0.0031, 0.0032]), errors).certain
    assert not TorqueLags(0.003, 0.0002, np.array([-0.004, 0.003, 0.010]), errors).certain
    assert not TorqueLags(0.0003, 0.0002, np.array([0.0003, 0.0002, 0.0004]), errors).certain
    assert not TorqueLags(0.05, 0.0002, np.full(3, 0.05), errors).certain


def test_validation_moves_torques_by_the_lag_of_the_fit() -> None:
    robot, fit = pinned(1, "planar-2r")
    read = read_log(robot.other, robot.arm)
    late = replace(read, tau=later(read.tau, -0.02 / usual_step(read)))
    assert fit.judged(read).relative_error < fit.judged(late).relative_error


@pytest.mark.parametrize("lag", [-0.003, 0.0, 0.0004, 0.013])
def test_velocities_are_moved_to_their_positions(lag: float) -> None:
    t = np.arange(0.0, 30.0, 0.005)
    wave = np.column_stack([np.sin(1.3 * t) + 0.3 * np.cos(3.1 * t), np.cos(0.9 * t)])
    speed = np.column_stack(
        [1.3 * np.cos(1.3 * (t - lag)) - 0.93 * np.sin(3.1 * (t - lag)), -0.9 * np.sin(0.9 * (t - lag))]
    )
    noise = 1e-3 * np.random.default_rng(0).normal(size=speed.shape)
    log = Log(t, wave, np.zeros_like(wave), speed + noise)
    assert abs(velocity_lag(log) - lag) < 2e-4
    inside = slice(100, -100)
    off = aligned(log).qd[inside] - np.gradient(wave, 0.005, axis=0)[inside]
    assert np.sqrt(np.mean(off**2)) < 2.5e-3


def test_velocities_of_something_else_are_left_alone() -> None:
    t = np.arange(0.0, 30.0, 0.01)
    log = Log(t, np.sin(t)[:, None], np.zeros((3000, 1)), np.sin(7.0 * t)[:, None])
    assert aligned(log) is log


def test_simulated_robots_are_those_of_their_seed() -> None:
    first, again = simulated(4), simulated(4)
    assert all((first.log[key] == again.log[key]).all() for key in first.log)
    quiet = simulated(4, without=SOURCES)
    q, qd = quiet.log["q"], quiet.log["qd"]
    qdd = np.gradient(qd, quiet.log["t"], axis=0)
    off = quiet.truth.inverse_dynamics(q, qd, qdd) - quiet.log["tau"]
    moving = np.abs(qd).min(axis=1) > 0.02
    assert np.sqrt(np.mean(off[moving] ** 2)) < 2e-3 * np.sqrt(np.mean(quiet.log["tau"] ** 2))


def test_bootstrap_asks_for_least_squares() -> None:
    robot = simulated(1, "planar-2r")
    fit = da.identify(robot.arm, robot.log, selection=False, **{**robot.options, "method": "damped"})
    with pytest.raises(da.DalembertError, match="'damped'"):
        fit.bootstrap()
    with pytest.raises(da.DalembertError, match="count is 1"):
        pinned(1, "planar-2r")[1].bootstrap(1)
