"""Simulation: order, energy, sticking, stops, controllers, one compiled loop against steps from Python."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import dalembert as da
from arms import random_robot, states
from dalembert.compiler.graph.program import perform
from dalembert.compiler.kernel import cache
from dalembert.compiler.quantities.rollouts import rollout_kernel
from dalembert.compiler.quantities.step_program import Plan, rollout
from dalembert.errors import DalembertError, ShapeError, SimulationError
from dalembert.work.simulation.fixed import compiled, stepped
from dalembert.work.simulation.task import SimulationRequest, make_task
from dalembert.work.simulation.time_steps import time_grid


def slider(
    F: float | tuple[float, float], viscous: float = 0.0, pull: float = 0.0, limits: dict | None = None
) -> da.Arm:
    """A mass of 2 kg that slides along z against friction, pulled along −z by ``pull`` N."""
    row = {
        "type": "prismatic", "mass": 2.0, "inertia": np.eye(3), "friction": {"coulomb": F, "viscous": viscous},
        "limits": limits or {},
    }  # fmt: skip
    return da.from_dh([row], gravity=(0, 0, -pull / 2.0))


def task_of(
    arm: da.Arm, q0: object, qd0: object, torque: object, duration: float, step: float, **more: object
) -> object:
    return make_task(arm, SimulationRequest(q0=q0, qd0=qd0, torque=torque, duration=duration, step=step, **more))  # type: ignore[arg-type]


def both_ways(task: object) -> tuple[np.ndarray, np.ndarray]:
    """The largest differences of q and qd between the compiled loop and the same steps from Python."""
    state = [task.q0, task.qd0]  # type: ignore[attr-defined]
    a, b = compiled(task, state), stepped(task, state)  # type: ignore[arg-type]
    return np.abs(a[0] - b[0]).max(), np.abs(a[1] - b[1]).max()


# -- smooth motion -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "dop853", "variational"])
def test_pendulum_follows_the_elliptic_function(method: str) -> None:
    """sin(θ/2) = k sn(K − ω t, k): the swing of a rigid pendulum from rest."""
    length, a = 0.7, 1.2  # a point mass, swinging from angle a
    arm = da.from_dh([{"a": length, "mass": 3.0}], gravity=(9.81, 0, 0))
    step = 1e-4 if method == "variational" else 1e-3
    run = da.simulate(arm, [a], [0.0], None, 3.0, method=method, step=step, every=round(0.01 / step))  # type: ignore[arg-type]
    w, k2 = np.sqrt(9.81 / length), np.sin(a / 2) ** 2
    sn = ellipj(ellipk(k2) - w * run.t, k2)[0]
    expected = 2 * np.arcsin(np.sqrt(k2) * sn)
    assert np.abs(run.q[:, 0] - expected).max() < {"rk4": 1e-10, "dop853": 1e-10, "variational": 2e-7}[method]


def test_order_four_and_order_two() -> None:
    arm = da.load("planar-2r")
    q0, qd0 = [0.3, -0.4], [1.0, 0.5]
    exact = da.simulate(arm, q0, qd0, [20.0, -5.0], 1.0, method="dop853", rtol=1e-13, atol=1e-13).q[-1]

    def errors(method: str) -> list[float]:
        return [
            float(np.abs(da.simulate(arm, q0, qd0, [20.0, -5.0], 1.0, method=method, step=h).q[-1] - exact).max())  # type: ignore[arg-type]
            for h in (0.02, 0.01, 0.005)
        ]

    rk4, variational = errors("rk4"), errors("variational")
    assert np.log2(rk4[0] / rk4[1]) == pytest.approx(4, abs=0.3) and np.log2(rk4[1] / rk4[2]) == pytest.approx(
        4, abs=0.3
    )
    assert np.log2(variational[1] / variational[2]) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("name", ["iiwa14", "panda"])
def test_adaptive_scheme_keeps_the_energy_of_a_7R_swing(name: str) -> None:
    """The issue's figure: less than 1e-9 relative over 10 s without friction."""
    arm = da.load(name)
    run = da.simulate(arm, np.linspace(-1, 1, 7), np.zeros(7), None, 10.0, method="dop853", friction=False, every=20)
    drift = np.abs(run.energy - run.energy[0]).max()
    assert np.abs(run.q[-1] - run.q[0]).max() > 1.0  # it does swing
    assert drift < 1e-9 * np.abs(run.energy[0])
    assert drift < 1e-9 * run.kinetic.max()


def test_variational_energy_error_is_bounded_where_rk4_drifts() -> None:
    arm = da.load("planar-2r")
    q0, h, long = [0.4, 0.6], 0.05, 400.0
    start = {"step": h, "every": 10, "friction": False}
    a = da.simulate(arm, q0, [0.0, 0.0], None, long, method="variational", **start)  # type: ignore[arg-type]
    b = da.simulate(arm, q0, [0.0, 0.0], None, long, method="rk4", **start)  # type: ignore[arg-type]
    scale = a.kinetic.max()
    ea, eb = (np.abs(x.energy - x.energy[0]) / scale for x in (a, b))
    fifth = len(ea) // 5
    assert ea[-fifth:].max() < 1.5 * ea[:fifth].max()  # no growth
    assert eb[-fifth:].max() > 3.0 * eb[:fifth].max()  # steady growth
    assert abs(ea[-fifth:].mean() - ea[:fifth].mean()) < 0.3 * ea[:fifth].max()


def test_variational_conserves_angular_momentum_exactly() -> None:
    """Without gravity the first joint of a planar arm has a conserved momentum: symmetry kept by the scheme."""
    arm = da.load("planar-2r").replace(gravity=(0.0, 0.0, 0.0))
    run = da.simulate(arm, [0.2, 1.0], [1.0, -2.0], None, 5.0, method="variational", step=0.01)
    p = np.einsum("kij,kj->ki", arm.inertia_matrix(run.q), run.qd)[:, 0]
    assert np.abs(p - p[0]).max() < 1e-10 * np.abs(p[0])


def test_viscous_friction_against_the_exponential() -> None:
    run = da.simulate(slider(0.0, viscous=3.0), [0.0], [2.0], None, 2.0)
    assert run.qd[:, 0] == pytest.approx(2.0 * np.exp(-1.5 * run.t), abs=1e-10)
    slow = da.simulate(slider(0.0, viscous=3.0), [0.0], [2.0], None, 2.0, method="variational")
    assert slow.qd[:, 0] == pytest.approx(2.0 * np.exp(-1.5 * slow.t), abs=1e-6)
    assert da.simulate(slider(0.0, viscous=3.0), [0.0], [2.0], None, 2.0, friction=False).qd[-1, 0] == 2.0


def test_all_methods_agree_with_wrench_and_torque() -> None:
    arm = da.load("iiwa14")
    rng = np.random.default_rng(1)
    q0, tau, wrench = rng.uniform(-1, 1, 7), arm.gravity_torque(np.zeros(7)), rng.normal(size=6)
    runs = [
        da.simulate(arm, q0, np.zeros(7), tau, 0.3, method=m, tip_wrench=wrench, step=s)  # type: ignore[arg-type]
        for m, s in (("rk4", 1e-3), ("dop853", 1e-3), ("variational", 1e-4))
    ]
    assert np.abs(runs[0].q[-1] - runs[1].q[-1]).max() < 1e-9
    assert np.abs(runs[2].q[-1] - runs[1].q[-1]).max() < 1e-6
    assert np.abs(runs[0].qdd[0] - arm.forward_dynamics(q0, np.zeros(7), tau, wrench)).max() < 1e-9


# -- one compiled loop ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["panda", "puma560", "scara", "pendulum", "stanford"])
def test_compiled_loop_equals_steps_from_python(name: str) -> None:
    arm = da.load(name)
    q, qd, _ = states(arm, 11, scale=1.0)
    rng = np.random.default_rng(2)
    tau = rng.normal(size=(11, 60, arm.n))
    difference = both_ways(task_of(arm, q, qd, tau, 0.06, 1e-3))
    assert max(difference) < 1e-12


def test_compiled_loop_equals_the_equations_on_floats() -> None:
    """The very text of mechanics/motion/stepping.py, run on Python's floats, one state, with sticking and stops."""
    arm = da.load("scara")
    plan = Plan(law="given", stops=((-0.1, 0.2), (-np.inf, 0.3), (-np.inf, np.inf), (-1.0, np.inf)))
    made = rollout(arm.mechanism, plan)
    program = made.program
    q, qd, tau = [0.0, 0.1, 0.05, 0.0], [2.0, 3.0, 0.0, -1.0], [1.0, 0.0, 2.0, -0.3]
    steps, h = 150, 2e-3
    memory: dict = {x: [0.0] * size for x, size in program.sizes.items()} | {"q": q, "qd": qd, "tau": tau, "h": [h]}
    for _ in range(steps):
        perform(program, made.pieces, memory, lambda k: [0.0] * k, lambda x: any(v != 0 for v in x))
    out = np.empty((1, 4)), np.empty((1, 4))
    rollout_kernel(arm.mechanism, plan)(q, qd, np.full((steps, 1), h), np.broadcast_to(tau, (steps, 4)), out=out)
    assert out[0][0] == pytest.approx(memory["q"], abs=1e-12)
    assert out[1][0] == pytest.approx(memory["qd"], abs=1e-11)


def test_python_function_gives_what_an_array_gives() -> None:
    arm = da.load("ur5e")
    tau = np.linspace(1, 2, 6)
    q, qd, _ = states(arm, 3, scale=0.5)
    one = da.simulate(arm, q, qd, tau, 0.1)
    for function in (lambda t, q, qd: tau, lambda t, q, qd: tau + 0 * q):
        other = da.simulate(arm, q, qd, function, 0.1)
        assert np.abs(one.q - other.q).max() < 1e-12 and np.abs(one.tau - other.tau).max() == 0
    seen = []
    da.simulate(arm, q[0], None, lambda t, q, qd: (seen.append((t, q.shape)), tau)[1], 0.002)
    assert [round(t, 6) for t, _ in seen] == [0, 5e-4, 5e-4, 1e-3, 1e-3, 1.5e-3, 1.5e-3, 2e-3]
    assert seen[0][1] == (6,)


@pytest.mark.parametrize("method", ["rk4", "dop853", "variational"])
def test_batch_equals_single(method: str) -> None:
    arm = da.load("planar-3r")
    q, qd, _ = states(arm, 6, scale=1.0)
    q, qd = q.reshape(2, 3, 3), qd.reshape(2, 3, 3)
    tau = np.arange(3.0)
    run = da.simulate(arm, q, qd, tau, 0.2, method=method, step=5e-3)  # type: ignore[arg-type]
    assert run.q.shape == run.qd.shape == run.tau.shape == run.qdd.shape == (2, 3, 41, 3)
    assert run.energy.shape == (2, 3, 41)
    for i, j in ((0, 0), (1, 2)):
        single = da.simulate(arm, q[i, j], qd[i, j], tau, 0.2, method=method, step=5e-3)  # type: ignore[arg-type]
        assert np.abs(single.q - run.q[i, j]).max() < 1e-13


def test_a_state_does_not_feel_its_neighbours() -> None:
    """States that stick, slip or bump at different instants share a block; each takes its own passes."""
    arm = da.load("puma560")
    limits = np.array([(j.limits.lower, j.limits.upper) for j in arm.robot.moving_joints])
    _, qd, _ = states(arm, 16, scale=3.0)
    q = np.random.default_rng(4).uniform(limits[:, 0], limits[:, 1], (16, 6))
    run = da.simulate(arm, q, qd, None, 0.3, stops="contact")
    for k in (0, 7, 13):
        alone = da.simulate(arm, q[k], qd[k], None, 0.3, stops="contact")
        assert np.array_equal(alone.q, run.q[k]) and np.array_equal(alone.qd, run.qd[k])


def test_records_and_last_short_step() -> None:
    arm = da.load("planar-2r")
    all_of_it = da.simulate(arm, [0.1, 0.2], None, None, 0.0255, step=1e-3)
    assert len(all_of_it.t) == 27 and all_of_it.t[-1] == 0.0255 and all_of_it.t[-2] == pytest.approx(0.025)
    few = da.simulate(arm, [0.1, 0.2], None, None, 0.0255, step=1e-3, every=7)
    assert few.t == pytest.approx([0, 0.007, 0.014, 0.021, 0.0255])
    assert np.array_equal(few.q, all_of_it.q[[0, 7, 14, 21, 26]])
    watched = da.simulate(arm, [0.1, 0.2], None, None, 0.0255, step=1e-3, every=7, stops=None, progress=lambda f: None)
    assert np.array_equal(few.q, watched.q)
    h, t = time_grid(0.3, 0.1)
    assert len(h) == 3 and t[-1] == 0.3
    with pytest.raises(DalembertError, match=r"1e\+08 steps"):
        da.simulate(arm, [0.1, 0.2], None, None, 1e9, step=1e-3)


def test_torque_of_each_state_and_each_step() -> None:
    arm = da.load("planar-2r")
    tau = np.random.default_rng(0).normal(size=(4, 50, 2)) * 50
    run = da.simulate(arm, [0.1, 0.2], None, tau, 0.05)
    assert run.q.shape == (4, 51, 2)
    assert np.array_equal(run.tau[:, :50], tau)
    one = da.simulate(arm, [0.1, 0.2], None, tau[2], 0.05)
    assert np.array_equal(one.q, run.q[2])
    held = da.simulate(arm, [0.1, 0.2], None, tau[:, :1], 0.05)
    assert np.array_equal(held.q[3], da.simulate(arm, [0.1, 0.2], None, tau[3, 0], 0.05).q)
    slow = da.simulate(arm, [0.1, 0.2], None, tau[2], 0.05, method="dop853")
    assert np.abs(slow.q - one.q).max() < 1e-9


METHODS = pytest.mark.parametrize("method", ["rk4", "dop853", "variational"])


@METHODS
def test_tip_wrench_over_time_by_the_rule_of_torque(method: str) -> None:
    """Constant, one for each state, one for each step, both, and a function: shapes as for torque."""
    arm = da.load("planar-2r")
    h = np.random.default_rng(0).normal(size=(4, 50, 6)) * 50
    q0, knots = [0.1, 0.9], np.arange(1, 50) * 1e-3

    def run(wrench: object, q: object = q0) -> np.ndarray:
        return da.simulate(arm, q, None, None, 0.05, method=method, tip_wrench=wrench).q  # type: ignore[arg-type]

    def held(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return h[2, np.searchsorted(knots, t, side="right")]

    each = run(h)
    assert each.shape == (4, 51, 2) and np.abs(each[0] - each[1]).max() > 1e-4
    assert np.array_equal(run(h[2]), each[2]) and run(h[2]).shape == (51, 2)
    constant = run(h[:, :1])
    assert constant.shape == (4, 51, 2)
    for same in (h[3, 0], h[3, :1], np.broadcast_to(h[3, 0], (50, 6)), lambda t, q, qd: h[3, 0]):
        assert np.abs(run(same) - constant[3]).max() < 1e-12
    assert np.array_equal(run(0), run(None)) and run(h[2], np.tile(q0, (3, 1))).shape == (3, 51, 2)
    # a step that ends with the next step's wrench would be off by more
    finest = da.simulate(arm, q0, None, None, 0.05, method="dop853", tip_wrench=h[2]).q
    assert np.abs(each[2] - finest).max() < (1e-7 if method == "variational" else 1e-9)
    held.knots = knots  # type: ignore[attr-defined]
    assert np.abs(run(held) - each[2]).max() < 1e-11


@METHODS
def test_tip_wrench_is_a_torque_of_the_jacobian(method: str) -> None:
    """A force that turns with the arm, as a wrench and as its torque −Jᵀ h: with any law, and in run.qdd."""
    arm = da.load("iiwa14")
    q0, gravity = np.linspace(-0.5, 0.6, 7), arm.gravity_torque(np.linspace(-0.5, 0.6, 7))

    def wrench(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.stack(
            [20 * np.cos(q[..., 0]), 20 * np.sin(30 * t) + 0 * q[..., 0], *(3 * q[..., k] for k in range(4))], axis=-1
        )

    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return gravity - np.einsum("...ki,...k->...i", arm.jacobian(q), wrench(t, q, qd))

    options = {"method": method, "step": 2e-3, "friction": False}
    expected = da.simulate(arm, q0, None, torque, 0.04, **options)  # type: ignore[arg-type]
    push = {"tip_wrench": wrench, **options}
    for law in (gravity, gravity[None], np.tile(gravity, (20, 1)), lambda t, q, qd: gravity):
        run = da.simulate(arm, q0, None, law, 0.04, **push)  # type: ignore[arg-type]
        assert np.abs(run.q - expected.q).max() < 1e-12 and np.abs(run.qdd - expected.qdd).max() < 1e-8
        assert np.array_equal(run.tau, np.tile(gravity, (21, 1)))  # the wrench is not part of the torque
    control = da.PD([[5.0] * 7, [10.0] * 7], 0.1, q0 + 0.1)
    both = da.simulate(arm, q0, None, control, 0.04, **push)  # type: ignore[arg-type]

    def pushed(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return torque(t, q, qd) - gravity + da.PD(10.0, 0.1, q0 + 0.1).torque(arm, t, q, qd)

    alone = da.simulate(arm, q0, None, pushed, 0.04, **options)  # type: ignore[arg-type]
    assert np.abs(both.q[1] - alone.q).max() < 1e-12 < np.abs(both.q[1] - both.q[0]).max()
    assert np.abs(both.qdd[1] - alone.qdd).max() < 1e-8


def test_tip_wrench_over_time_with_friction_stops_parameters_and_laws() -> None:
    """The compiled loop takes a wrench for each step whatever else it does; the same steps from Python agree."""
    link = {"a": 0.5, "mass": 2.0, "com": (-0.2, 0, 0), "friction": {"coulomb": 0.3, "viscous": 0.1}}
    arm = da.from_dh([{**link, "limits": {"lower": -1.0, "upper": 1.0}}, link], gravity=(0, -9.81, 0))
    rng = np.random.default_rng(3)
    q, qd, wrench = rng.uniform(0.8, 0.9, (5, 2)), rng.normal(size=(5, 2)), rng.normal(size=(5, 60, 6)) * 10
    motion = da.trapezoidal(q[0], q[0] + 0.1, acceleration_time=0.0123, max_velocity=4.3)
    op = arm.operational_space(task="xy")
    of_tip = da.trapezoidal(op.pose(q[0]), op.pose(q[0]) - 0.05, acceleration_time=0.0217, max_velocity=1.0)
    for torque, more in (
        (np.ones((60, 2)), {"parameters": arm.parameters}),
        (da.PD(10.0, 1.0, q + 0.3), {"stops": "contact"}),
        (da.ComputedTorque(100.0, 20.0, motion), {}),
        (da.OperationalController(op, of_tip), {"friction": False}),
    ):
        task = task_of(arm, q, qd, torque, 0.06, 1e-3, tip_wrench=wrench, **more)
        assert task.plan.tip_wrench and task.plan.law != "host"  # type: ignore[attr-defined]
        assert max(both_ways(task)) < 1e-10
        one, two = (da.simulate(arm, q, qd, torque, 0.06, tip_wrench=k * wrench, **more) for k in (1.0, 2.0))  # type: ignore[arg-type]
        assert np.abs(one.q - two.q).max() > 1e-3
    run = da.simulate(arm, q[1], qd[1], [9.0, 2.0], 0.06, tip_wrench=wrench[1])
    slow = da.simulate(arm, q[1], qd[1], [9.0, 2.0], 0.06, tip_wrench=wrench[1], method="dop853")
    assert np.abs(run.q - slow.q).max() < 1e-6


def test_kernel_is_pickled_and_cached() -> None:
    arm = da.load("planar-2r")
    kernel = rollout_kernel(arm.mechanism, Plan(law="none"))
    again = pickle.loads(pickle.dumps(kernel))
    assert again is kernel
    assert kernel.signature == "(2),(2),(s,1)->(m,2),(m,2)"
    assert any(cache.folder().glob("*.o"))


def test_strided_and_empty_batches() -> None:
    arm = da.load("planar-2r")
    q, qd, _ = states(arm, 20, scale=1.0)
    whole = da.simulate(arm, q, qd, None, 0.01)
    strided = da.simulate(arm, np.asfortranarray(q)[::3], np.repeat(qd, 2, 0)[::6], None, 0.01)
    assert np.array_equal(strided.q, whole.q[::3])
    assert da.simulate(arm, np.zeros((0, 2)), None, None, 0.01).q.shape == (0, 11, 2)


def test_random_arms_with_everything() -> None:
    """Trees, sliding joints, rotors, payload, friction, any base: the compiled loop against DOP853."""
    for seed in (3, 5):
        arm = da.Arm(random_robot(np.random.default_rng(seed), 4))
        q, qd, _ = states(arm, 1, scale=0.7)
        a = da.simulate(arm, q[0], qd[0], None, 0.4, step=5e-4)
        b = da.simulate(arm, q[0], qd[0], None, 0.4, step=5e-4, method="dop853")
        assert np.abs(a.q - b.q).max() < 1e-6, seed


def test_long_chain() -> None:
    arm = da.from_dh([{"a": 0.1, "alpha": 0.3 * k, "mass": 1.0, "com": (-0.05, 0, 0.01)} for k in range(10)])
    a = da.simulate(arm, np.full(10, 0.1), None, None, 0.05)
    b = da.simulate(arm, np.full(10, 0.1), None, None, 0.05, method="dop853")
    assert np.abs(a.q - b.q).max() < 1e-7


# -- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["panda", "puma560", "planar-2r"])
def test_parameters_of_the_arm_give_the_arm(name: str) -> None:
    arm = da.load(name)
    symmetric = replace_coulomb(arm)
    q, qd, _ = states(arm, 1, scale=0.5)
    own = symmetric.parameters
    plain = da.simulate(symmetric, q[0], qd[0], None, 0.1)
    given = da.simulate(symmetric, q[0], qd[0], None, 0.1, parameters=own)
    assert np.abs(plain.q - given.q).max() < 1e-10
    assert given.energy == pytest.approx(plain.energy, rel=1e-9, abs=1e-9)


def replace_coulomb(arm: da.Arm) -> da.Arm:
    """The same Coulomb level in both directions, as one parameter F_s can say."""
    joints = []
    for joint in arm.robot.joints:
        level = 0.5 * sum(joint.friction.coulomb)
        joint = replace(joint, friction=joint.friction.replace(coulomb=level))
        if joint.rotor is not None:
            level = 0.5 * sum(joint.rotor.coulomb)
            joint = replace(joint, rotor=replace(joint.rotor, coulomb=(level, level)))
        joints.append(joint)
    return da.Arm(arm.robot.replace(joints=tuple(joints)))


def test_batch_over_parameters() -> None:
    """Masses from half to twice, all in one loop, against an arm made for each."""
    rows = [{"a": 1.0, "mass": 2.0, "com": (-0.5, 0, 0)}, {"a": 0.7, "mass": 1.0, "com": (-0.3, 0, 0)}]
    factors = np.array([0.5, 1.0, 2.0])
    arms = [da.from_dh([rows[0], {**rows[1], "mass": f}], gravity=(0, -9.81, 0)) for f in factors]
    run = da.simulate(arms[0], [0.3, 0.2], None, None, 0.5, parameters=np.stack([a.parameters for a in arms]))
    for k, arm in enumerate(arms):
        single = da.simulate(arm, [0.3, 0.2], None, None, 0.5)
        assert np.abs(single.q - run.q[k]).max() < 1e-10
        assert np.abs(single.energy - run.energy[k]).max() < 1e-9


# -- sticking ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_joint_under_the_coulomb_level_stays_exactly_at_rest(method: str) -> None:
    run = da.simulate(slider(8.0, pull=7.9), [0.3], [0.0], None, 3.0, method=method, every=10)  # type: ignore[arg-type]
    assert np.all(run.q == 0.3) and np.all(run.qd == 0.0) and np.all(run.qdd == 0.0)
    at_level = da.simulate(slider(8.0, pull=8.0), [0.3], [0.0], None, 0.5, method=method)  # type: ignore[arg-type]
    assert np.all(at_level.q == 0.3)
    above = da.simulate(slider(8.0, pull=8.2), [0.3], [0.0], None, 1.0, method=method)  # type: ignore[arg-type]
    assert above.q[-1, 0] == pytest.approx(0.3 - 0.5 * 0.1 * 1.0, abs=1e-9)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
@pytest.mark.parametrize("step", [0.05, 0.01, 1e-3])
def test_stopping_time_and_distance(method: str, step: float) -> None:
    """A mass that slides to rest: v²/2a and v/a, and then velocity exactly 0.0 for ever."""
    F, pull, v = 8.0, 3.0, 1.3
    a = (F + pull) / 2.0
    run = da.simulate(slider(F, pull=pull), [0.0], [v], None, 1.0, method=method, step=step)  # type: ignore[arg-type]
    assert run.q[-1, 0] == pytest.approx(v * v / (2 * a), abs=1e-12)
    stopped = run.t >= v / a
    assert np.all(run.qd[stopped, 0] == 0.0) and np.all(run.qd[~stopped, 0] > 0.0)
    assert np.all(np.diff(run.energy) <= 1e-12)


def test_reversal_and_levels_of_its_own() -> None:
    """Up a slope, stop, and down again, friction being other downwards: piecewise exact."""
    up, down, pull, v = 1.0, 2.5, 6.0, 2.0
    run = da.simulate(slider((up, down), pull=pull), [0.0], [v], None, 3.0, step=2e-3)
    rise, fall = (pull + up) / 2.0, (pull - down) / 2.0
    top, when = v * v / (2 * rise), v / rise
    later = run.t > when
    assert run.q[later, 0] == pytest.approx(top - 0.5 * fall * (run.t[later] - when) ** 2, abs=1e-11)


def test_torque_that_grows_breaks_a_joint_loose() -> None:
    """|τ| = c t: at rest until c t = F, then the cubic."""
    F, c = 2.0, 4.0
    for method in ("rk4", "dop853"):
        run = da.simulate(slider(F), [0.0], [0.0], lambda t, q, qd: [c * t], 1.0, method=method)  # type: ignore[arg-type]
        free = np.maximum(run.t - F / c, 0.0)
        assert np.all(run.qd[run.t < F / c, 0] == 0.0)
        assert run.q[:, 0] == pytest.approx(c * free**3 / 12.0, abs=1e-9)


def test_no_chatter_under_a_swinging_torque() -> None:
    """Stick, slip, stick, slip: every rest is exact, and the velocity changes sign only through rest."""
    run = da.simulate(slider(1.0), [0.0], [0.0], lambda t, q, qd: [1.5 * np.sin(5 * t)], 5.0)
    v = run.qd[:, 0]
    assert 0.05 < np.mean(v == 0.0) < 0.95
    assert not np.any(v[1:] * v[:-1] < 0)
    swaps = np.count_nonzero(np.diff((v != 0).astype(int)))
    assert swaps < 25  # two or so a half period; chatter would give hundreds
    smooth = da.simulate(slider(1.0), [0.0], [0.0], lambda t, q, qd: [1.5 * np.sin(5 * t)], 5.0, method="dop853")
    assert np.abs(run.q - smooth.q).max() < 2e-5


@pytest.mark.parametrize("name", ["puma560", "kr300", "scara"])
def test_friction_never_adds_energy(name: str) -> None:
    arm = da.load(name)
    q, qd, _ = states(arm, 40, scale=2.0)
    run = da.simulate(arm, q, qd, None, 1.0, step=1e-3)
    e = run.energy
    scale = np.abs(e - e[:, -1:]).max(axis=1, keepdims=True)
    assert np.max(np.diff(e, axis=-1) / scale) < 1e-9
    assert np.all(e[:, -1] < e[:, 0])
    coarse = da.simulate(arm, q, qd, None, 1.0, step=1e-2)
    e = coarse.energy
    assert np.max(np.diff(e, axis=-1) / scale) < 2e-5  # ten times the step: only Runge–Kutta's own error


def test_fixed_and_adaptive_steps_agree_through_sticking() -> None:
    arm = da.load("puma560")
    q, qd, _ = states(arm, 2, scale=1.0)
    a = da.simulate(arm, q, 3 * qd, None, 1.0, every=10)
    b = da.simulate(arm, q, 3 * qd, None, 1.0, every=10, method="dop853")
    assert np.any(b.qd[:, -1] == 0.0)
    assert np.abs(a.q - b.q).max() < 1e-10
    fine = da.simulate(arm, q, 3 * qd, None, 1.0, step=1e-4, every=100)
    assert np.abs(fine.q - b.q).max() < 1e-9
    assert np.array_equal(a.qd[:, -1] == 0.0, b.qd[:, -1] == 0.0)


# -- stops ---------------------------------------------------------------------------------------

WALLS = {"lower": -0.2, "upper": 0.5}


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_stop_is_inelastic_and_lets_go(method: str) -> None:
    """Into the wall, held there by the torque, and off again when the torque turns."""
    arm = slider(0.0, limits=WALLS)
    run = da.simulate(
        arm,
        [0.0],
        [1.0],
        lambda t, q, qd: [2.0 if t < 1.0 else -2.0],
        1.5,
        stops="contact",
        method=method,
        step=1e-3,  # type: ignore[arg-type]
    )
    hit = np.sqrt(1 + 2 * 0.5) - 1.0
    q = run.q[:, 0]
    free = run.t < hit
    assert q[free] == pytest.approx(run.t[free] + 0.5 * run.t[free] ** 2, abs=1e-9)
    held = (run.t > hit) & (run.t < 1.0)
    assert np.all(q[held] == 0.5) and np.all(run.qd[held, 0] == 0.0)
    after = run.t > 1.0 + 1e-9
    assert q[after] == pytest.approx(0.5 - 0.5 * (run.t[after] - 1.0) ** 2, abs=2e-3)
    assert q.max() == 0.5


def test_arm_falls_on_its_stops_without_gaining_energy() -> None:
    arm = da.load("panda")
    limits = np.array([(j.limits.lower, j.limits.upper) for j in arm.robot.moving_joints])
    rng = np.random.default_rng(5)
    q = rng.uniform(limits[:, 0] + 0.1, limits[:, 1] - 0.1, (30, 7))
    qd = rng.uniform(-2, 2, (30, 7))
    run = da.simulate(arm, q, qd, None, 2.0, stops="contact", step=1e-3)
    assert np.all(run.q >= limits[:, 0]) and np.all(run.q <= limits[:, 1])
    assert np.any(run.q == limits[:, 0]) or np.any(run.q == limits[:, 1])
    e = run.energy
    assert np.max(np.diff(e, axis=-1)) < 1e-5 * np.abs(e).max()
    both = da.simulate(arm, q[3], qd[3], None, 0.6, stops="contact", step=1e-3)
    other = da.simulate(arm, q[3], qd[3], None, 0.6, stops="contact", step=1e-3, method="dop853")
    assert np.abs(both.q - other.q).max() < 1e-4


@pytest.mark.parametrize("method", ["rk4", "dop853", "variational"])
def test_stops_as_errors_name_joint_time_value_and_limit(method: str) -> None:
    arm = slider(0.0, limits=WALLS)
    with pytest.raises(SimulationError, match=r"joint '.*' is at 0\.5\d* at t = 0\.5\d* s, above its upper limit 0\.5"):
        da.simulate(arm, [0.0], [1.0], None, 1.0, stops="error", every=400, method=method)  # type: ignore[arg-type]
    with pytest.raises(SimulationError, match=r"at -0\.3 at t = 0 s, below its lower limit -0\.2"):
        da.simulate(arm, [-0.3], [0.0], None, 1.0, stops="contact")
    with pytest.raises(SimulationError, match=r"state 1 of the batch"):
        da.simulate(arm, [[0.0], [0.0]], [[0.1], [1.0]], None, 1.0, stops="error")
    fine = da.simulate(arm, [0.0], [0.1], None, 1.0, stops="error", every=300)
    assert fine.t == pytest.approx([0, 0.3, 0.6, 0.9, 1.0])
    with pytest.raises(DalembertError, match="no position limits"):
        da.simulate(slider(0.0), [0.0], [1.0], None, 1.0, stops="error")
    with pytest.raises(
        SimulationError, match=r"joint 'joint2' is at .* s, above its upper limit"
    ):  # and no number later
        da.simulate(da.load("planar-2r"), [0.0, 0.0], None, [1e7, 1e7], 1.0, stops="error", method=method)  # type: ignore[arg-type]


# -- controllers ---------------------------------------------------------------------------------


def test_pd_with_gravity_compensation_reaches_its_target() -> None:
    arm = da.load("panda")
    target = np.array([0.3, -0.4, 0.2, -1.5, 0.1, 1.2, 0.5])
    control = da.PD([100, 100, 50, 50, 20, 20, 2], [5, 20, 3, 5, 1, 1, 0.05], target)
    run = da.simulate(arm, np.zeros((5, 7)), None, control, 4.0, every=50)
    assert np.abs(run.q[:, -1] - target).max() < 1e-3
    g = arm.gravity_torque(run.q[0, -1])
    assert np.abs(run.tau[0, -1] - g).max() < 0.5
    expected = (
        arm.gravity_torque(run.q[0, 3])
        + control.gains(arm)["kp"] * (target - run.q[0, 3])
        - control.gains(arm)["kd"] * run.qd[0, 3]
    )
    assert run.tau[0, 3] == pytest.approx(expected, rel=1e-12)


def wave(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A motion of six joints."""
    w = np.arange(1, 7) * 0.5
    phase = t[:, None] * w
    return 0.4 * np.sin(phase), 0.4 * w * np.cos(phase), -0.4 * w * w * np.sin(phase)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_computed_torque_errors_follow_their_own_equation(method: str) -> None:
    """ë + K_d ė + K_p e = 0, exactly, whatever the arm does."""
    arm = da.load("ur10")
    kp, kd = 100.0, 20.0
    e0 = np.full(6, 0.05)
    q_d, qd_d, _ = wave(np.zeros(1))
    run = da.simulate(arm, q_d[0] - e0, qd_d[0], da.ComputedTorque(kp, kd, wave), 1.0, method=method, every=20)  # type: ignore[arg-type]
    e = wave(run.t)[0] - run.q
    expected = e0 * ((1 + 10 * run.t) * np.exp(-10 * run.t))[:, None]  # a double root at −10
    assert np.abs(e - expected).max() < 1e-8


def test_computed_torque_with_dry_friction() -> None:
    arm = da.load("puma560")
    q_d, qd_d, _ = wave(np.zeros(1))
    run = da.simulate(arm, q_d[0], qd_d[0], da.ComputedTorque(400.0, 40.0, wave), 2.0, every=20)
    assert np.abs(run.q - wave(run.t)[0]).max() < 2e-3
    assert max(both_ways(task_of(arm, q_d[0], qd_d[0], da.ComputedTorque(400.0, 40.0, wave), 0.1, 1e-3))) < 1e-12


def test_batch_over_gains_and_targets() -> None:
    arm = da.load("planar-2r")
    kp = np.array([[100.0, 100.0], [400.0, 400.0], [900.0, 900.0]])
    targets = np.array([[0.1, 0.2], [0.3, -0.2], [0.0, 0.5]])
    run = da.simulate(arm, [0.0, 0.0], None, da.ComputedTorque(kp, 2 * np.sqrt(kp), targets), 2.0)
    assert np.abs(run.q[:, -1] - targets).max() < 1e-6
    single = da.simulate(arm, [0.0, 0.0], None, da.ComputedTorque(kp[1], 2 * np.sqrt(kp[1]), targets[1]), 2.0)
    assert np.array_equal(single.q, run.q[1])
    slow = da.simulate(arm, [0.0, 0.0], None, da.ComputedTorque(kp, 2 * np.sqrt(kp), targets), 0.3, method="dop853")
    assert np.abs(slow.q - run.q[:, :301]).max() < 1e-8


def test_trajectory_ends_and_is_held() -> None:
    arm = da.load("planar-2r")

    class Motion:
        duration = 0.5

        def __call__(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            assert t.max() <= self.duration
            s = (t / 0.5)[:, None]
            x = np.array([0.4, -0.3])
            return (
                x * s**3 * (10 - 15 * s + 6 * s * s),
                x * 30 * s**2 * (1 - s) ** 2 / 0.5,
                x * 60 * s * (1 - s) * (1 - 2 * s) / 0.25,
            )

    run = da.simulate(arm, [0.0, 0.0], None, da.ComputedTorque(100.0, 20.0, Motion()), 1.0)
    assert np.abs(run.q[-1] - [0.4, -0.3]).max() < 1e-6


def test_controller_mistakes() -> None:
    arm = da.load("planar-2r")
    with pytest.raises(ShapeError, match="kp has shape"):
        da.simulate(arm, [0, 0], None, da.PD([1, 2, 3], 1.0, [0, 0]), 1.0)
    with pytest.raises(ShapeError, match="not negative"):
        da.PD(-1.0, 1.0, [0, 0])
    with pytest.raises(ShapeError, match="target has shape"):
        da.simulate(arm, [0, 0], None, da.PD(1.0, 1.0, [0, 0, 0]), 1.0)
    with pytest.raises(ShapeError, match="the motion returns"):
        da.simulate(arm, [0, 0], None, da.ComputedTorque(1.0, 1.0, lambda t: (t, t, t)), 1.0)


# -- mistakes ------------------------------------------------------------------------------------


def test_mistakes_are_one_sentence() -> None:
    arm = da.load("planar-2r")
    cases = [
        ({"q0": [0.0]}, r"q0 has shape \(1,\), but arm 'planar-2r' has 2 joints"),
        ({"q0": ["a", "b"]}, "q0 is not an array"),
        ({"q0": [0.0, np.nan]}, "q0 holds a value that is not a finite number"),
        ({"qd0": [0.0] * 3}, "qd0 has shape"),
        (
            {"torque": np.zeros((5, 2))},
            r"^torque has shape \(5, 2\): time is its second-last axis, which must be 1000 \(1 s in steps of 0\.001 s\) "
            r"or 1; to give one torque per simulation, 5 in total, pass shape \(5, 1, 2\)$",
        ),
        (
            {"tip_wrench": np.zeros((200, 6))},
            r"must be 1000 .* per simulation, 200 in total, pass shape \(200, 1, 6\)$",
        ),
        (
            {"tip_wrench": np.zeros((4, 7, 6))},
            r"must be 1000 .* per simulation, 4 × 7 in total, pass shape \(4, 7, 1, 6\)$",
        ),
        (
            {"tip_wrench": lambda t, q, qd: np.zeros(3)},
            r"the tip_wrench function must give numbers of shape \(6,\) at t = 0 s, and gives \(3,\)$",
        ),
        ({"tip_wrench": [np.nan] * 6}, "tip_wrench holds a value that is not a finite number"),
        ({"tip_wrench": "much"}, "tip_wrench is not an array of numbers"),
        ({"q0": np.zeros((3, 2)), "tip_wrench": np.zeros((4, 1, 6))}, "do not broadcast"),
        ({"torque": [1.0, 2.0, 3.0]}, "torque has shape"),
        ({"duration": -1.0}, "duration is -1 s"),
        ({"step": 0.0}, "step is 0 s"),
        ({"every": 0}, "every is 0"),
        ({"method": "euler"}, "choose from rk4, dop853, variational"),
        ({"stops": "bounce"}, "stops is 'bounce'"),
        ({"tip_wrench": [1.0]}, "tip_wrench has shape"),
        ({"q0": np.zeros((3, 2)), "qd0": np.zeros((2, 2))}, "do not broadcast"),
        ({"parameters": [1.0]}, "parameters has shape"),
        ({"torque": lambda t, q, qd: [1.0, 2.0, 3.0]}, "the torque function must give"),
    ]
    for changes, sentence in cases:
        given = {"q0": [0.0, 0.0], "qd0": None, "torque": None, "duration": 1.0, **changes}
        with pytest.raises(DalembertError, match=sentence):
            da.simulate(arm, **given)
    with pytest.raises(DalembertError, match="dry friction, which the variational"):
        da.simulate(da.load("puma560"), np.zeros(6), None, None, 1.0, method="variational")
    with pytest.raises(DalembertError, match="no inertia resists"):
        da.simulate(da.from_dh([{"a": 1.0}]), [0.0], None, None, 1.0)


@pytest.mark.parametrize("every", [1, 1000])
@pytest.mark.parametrize("method", ["rk4", "variational"])
def test_leaving_the_numbers_names_time_and_joint(every: int, method: str) -> None:
    arm = da.load("planar-2r")
    sentence = r"diverged at t = [\d.]+ s: the motion of joint '.*' is no longer finite; use a smaller step"
    with pytest.raises(SimulationError, match=sentence):
        da.simulate(arm, [0.0, 0.5], [1e4, -1e5], None, 20.0, step=0.02, every=every, method=method)  # type: ignore[arg-type]
    with pytest.raises(SimulationError, match=r"state 2 of the batch"):
        da.simulate(arm, [0.0, 0.5], [[0.0, 0.0], [1.0, 0.0], [1e4, -1e5]], None, 20.0, step=0.02, every=every)


def test_the_joint_that_began_to_diverge_is_named() -> None:
    """It moves the others, and lighter links faster than its own: here by damping that is too large for the step."""
    step = 0.01
    for name in ("planar-3r", "pr-arm"):
        arm = da.Arm(da.load(name).robot.replace(gravity=(0.0, 0.0, 0.0)))
        q0, n = np.full(arm.n, 0.1), arm.n
        mobility = np.linalg.inv(arm.inertia_matrix(q0))
        for j, joint in enumerate(arm.joint_names):
            damping = np.zeros(n)
            damping[j] = 8.0 / step / mobility[j, j]
            with pytest.raises(SimulationError, match=f"the motion of joint '{joint}' is no longer finite"):
                da.simulate(arm, q0, [0.01] * n, lambda t, q, qd, c=damping: -c * qd, 2.0, step=step)  # type: ignore[misc]


def test_memory_is_bounded() -> None:
    """A long run that records little stays small."""
    code = (
        "import resource, numpy as np, dalembert as da; arm = da.load('planar-2r'); z = np.zeros((200, 2));"
        "da.simulate(arm, z, z, None, 0.01); a = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "da.simulate(arm, z, z, None, 10.0, every=10_000); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - a)"
    )
    grown = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert grown < 5_000  # kB; all states would be 64 MB


# -- files and the command line ------------------------------------------------------------------


def test_save_and_read_back(tmp_path: Path) -> None:
    arm = da.load("planar-2r")
    run = da.simulate(arm, [0.1, 0.2], None, [1.0, 2.0], 0.1, every=10)
    path = tmp_path / "run.csv"
    run.save(path)
    table = np.genfromtxt(path, delimiter=",", names=True)
    assert table.dtype.names == run.table()[0]
    assert np.array_equal(table["q2"], run.q[:, 1]) and np.array_equal(table["tau1"], run.tau[:, 0])
    with pytest.raises(DalembertError, match="already exists"):
        run.save(path)
    run.save(path, overwrite=True)
    batch = da.simulate(arm, np.zeros((3, 2)), None, None, 0.01)
    with pytest.raises(ShapeError, match=r"use \.npz"):
        batch.save(tmp_path / "b.csv")
    batch.save(tmp_path / "b.npz")
    with np.load(tmp_path / "b.npz") as data:
        assert np.array_equal(data["q"], batch.q) and data["energy"].shape == (3, 11)
    with pytest.raises(DalembertError, match=r"cannot be written as '\.pdf'"):
        run.save(tmp_path / "run.pdf")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b.npz", "run.csv"]


def test_inverse_dynamics_of_a_run_gives_its_torque() -> None:
    """Direct and inverse dynamics are each other's inverse, sample by sample."""
    arm = da.load("iiwa14")
    run = da.simulate(arm, np.linspace(-0.5, 0.5, 7), None, np.arange(7.0), 0.2, every=20)
    assert arm.inverse_dynamics(run.q, run.qd, run.qdd) == pytest.approx(run.tau, abs=1e-9)


def dalembert(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dalembert", *arguments], capture_output=True, text=True, cwd=cwd, timeout=60
    )


def test_command_line(tmp_path: Path) -> None:
    done = dalembert(
        "simulate",
        "planar-2r",
        "--q",
        "0.1 0.2",
        "--duration",
        "0.5",
        "-o",
        "run.csv",
        "--plot",
        "run.png",
        "--ideal",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    table = np.genfromtxt(tmp_path / "run.csv", delimiter=",", names=True)
    assert len(table) == 501 and table["t"][-1] == 0.5
    run = da.simulate(da.load("planar-2r"), [0.1, 0.2], None, None, 0.5)
    assert np.array_equal(table["qd1"], run.qd[:, 0])
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    again = dalembert("simulate", "planar-2r", "--q", "0 0", "-o", "run.csv", cwd=tmp_path)
    assert again.returncode == 2 and "--force" in again.stderr and len(again.stderr.splitlines()) == 1
    # what it writes is a motion file: the torques of that motion are the torques that made it
    back = dalembert("torques", "planar-2r", "run.csv", "-o", "-", cwd=tmp_path)
    tau = np.genfromtxt(back.stdout.splitlines(), delimiter=",", names=True)
    assert np.abs(tau["tau1"]).max() < 1e-9


def test_command_line_options_and_mistakes(tmp_path: Path) -> None:
    held = dalembert(
        "simulate", "panda", "--q", "0 0.3 0 -1 0 1 0", "--torque", "gravity", "--duration", "0.2", "--every", "100",
        "-o", "-", cwd=tmp_path,
    )  # fmt: skip
    assert held.returncode == 0, held.stderr
    rows = held.stdout.splitlines()
    assert len(rows) == 4 and abs(float(rows[-1].split(",")[2]) - 0.3) < 1e-9
    mistakes = [
        (["--q", "0 0 0"], "--q needs 2 numbers"),
        (["--q", "0 x"], "is not a number"),
        (["--q", "0 0", "--torque", "1 2 3"], "--torque needs 2 numbers"),
        (["--q", "0 0", "--duration", "0"], "duration is 0 s"),
        (["--q", "7 0", "--stops", "error"], "above its upper limit"),
        (["--q", "0 0", "--stops", "contact", "--restitution", "2"], "restitution is 2; it must be from 0"),
        (["--q", "0 0", "--plot", "a.txt"], ".png, .svg"),
    ]
    for arguments, sentence in mistakes:
        done = dalembert("simulate", "planar-2r", "-o", "x.csv", *arguments, cwd=tmp_path)
        assert done.returncode == 2 and sentence in done.stderr, (arguments, done.stderr)
        assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_docs_of_the_page_run(tmp_path: Path) -> None:
    """Every Python block of docs/simulation.md."""
    page = Path(__file__).resolve().parents[3] / "docs" / "simulation.md"
    blocks = page.read_text().split("```python\n")[1:]
    assert len(blocks) >= 4
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        space: dict = {}
        for block in blocks:
            exec(block.split("```")[0], space)
    finally:
        os.chdir(here)
    assert json.dumps(sorted(p.name for p in tmp_path.iterdir())) == '["run.csv"]'


def test_rollouts_equal_simulations() -> None:
    arm, start = da.load("planar-2r"), np.array([[0.3, 0.4], [1.0, -0.5]])
    q, qd = arm.rollout(start, np.zeros(2), step=1e-3, steps=np.int64(20), every=10)
    run = da.simulate(arm, start, None, None, 0.02, step=1e-3, method="rk4", every=10)
    assert np.allclose(q, run.q[:, 1:], rtol=1e-13) and np.allclose(qd, run.qd[:, 1:], rtol=1e-13)


def test_a_rollout_of_one_state_is_that_of_a_batch() -> None:
    """Also on the quick route of repeated calls, with a constant torque or none, and with friction's substeps."""
    for friction in ({"viscous": 0.1, "coulomb": 0.2}, {"viscous": 500.0}):
        arm = da.from_dh(
            [{"mass": 1.0, "com": [-0.5, 0, 0], "a": 1.0, "inertia": 0.1 * np.eye(3), "friction": friction}]
        )
        q, qd, tau = np.array([0.3]), np.array([-0.4]), np.array([2.0])
        for given in (tau, None):
            many = arm.rollout(q[None], qd[None], None if given is None else given[None], step=5e-3, steps=12, every=4)
            for _ in range(3):
                one = arm.rollout(q, qd, given, step=5e-3, steps=12, every=4)
                assert all(np.array_equal(a, b[0]) for a, b in zip(one, many, strict=True))
    with pytest.raises(ShapeError, match="the last axis must be 1"):
        arm.rollout(np.zeros(2), qd, step=5e-3, steps=12, every=4)
