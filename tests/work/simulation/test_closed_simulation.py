"""Simulation of closed chains: friction that sticks in passive joints, parameters, Newton's closures, singular poses."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import dalembert as da
from dalembert.compiler.graph.program import perform
from dalembert.compiler.quantities.rollouts import rollout_kernel
from dalembert.compiler.quantities.step_program import Plan, rollout
from dalembert.errors import ClosureError, DalembertError, ShapeError
from dalembert.work.simulation.adaptive import ContactDynamics
from dalembert.work.simulation.task import SimulationRequest, make_task
from test_closed_chains import arm, states

BOTH = pytest.mark.parametrize("method", ["rk4", "dop853"])


def with_friction(a: da.Arm, **levels: float) -> da.Arm:
    """The arm with Coulomb friction in some joints of its tree."""
    joints = tuple(
        replace(joint, friction=da.Friction(joint.friction.viscous, levels[joint.name]))
        if joint.name in levels
        else joint
        for joint in a.robot.joints
    )
    return a.replace(joints=joints)


FOUR = {"crank": 0.05, "pin": 0.2, "rocker": 0.3}
FIVE = {"motor1": 0.05, "motor2": 0.05, "elbow1": 0.4, "elbow2": 0.3}
PINS = {"joint2'": 30.0, "joint3'": 20.0}


def by_newton(a: da.Arm) -> da.Arm:
    """The same arm, whose closure is found by Newton though it has a formula."""
    b = da.Arm(a.robot)
    b.__dict__["mechanism"] = replace(a.mechanism, closures=())
    return b


# -- friction of passive joints ------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("closed", ["formula", "newton"])
def test_friction_of_all_joints_together_holds_one_degree_of_freedom(closed, method):
    """It breaks loose at Σ |Γ_i| F_i, and then feels that much."""
    a = with_friction(arm("four-bar"), **FOUR)
    a = a if closed == "formula" else by_newton(a)
    q0 = states(a, 1)[0][0]
    Gamma = dict(zip(a.tree.joint_names, a.closure_jacobian(q0)[:, 0], strict=True))
    most = sum(FOUR[joint] * abs(Gamma[joint]) for joint in FOUR)
    for load in (0.99, -0.99):
        run = da.simulate(a, q0, None, a.gravity_torque(q0) + load * most, 0.05, method=method, step=5e-3)
        assert np.abs(run.q - q0).max() < 1e-15 and np.abs(run.qd).max() < 1e-15 and np.abs(run.qdd).max() < 1e-12
    for load in (1.02, -1.02):
        run = da.simulate(a, q0, None, a.gravity_torque(q0) + load * most, 0.05, method=method, step=5e-3)
        slipping = (load - np.sign(load)) * most / a.inertia_matrix(q0)[0]
        assert np.allclose(run.qdd[0], slipping) and np.sign(run.q[-1] - q0) == np.sign(load)


def least(B: np.ndarray, G: np.ndarray, F: np.ndarray, r: np.ndarray) -> np.ndarray:
    """q̈ from rest, by the convex problem it solves: λ within F that leave the least motion, one after the other."""
    over = np.linalg.inv(B)
    D, b, force = G @ over @ G.T, G @ over @ r, np.zeros(len(F))
    for _ in range(20_000):
        before = force.copy()
        for k in range(len(F)):
            force[k] = np.clip(force[k] - (b[k] + D[k] @ force) / D[k, k], -F[k], F[k])
        if np.abs(force - before).max() < 1e-14 * F.max():
            break
    return over @ (r + G.T @ force)


@pytest.mark.parametrize("name", ["five-bar", "palletizer"])
def test_who_sticks_and_who_slips_solves_the_convex_problem(name):
    """Friction of more joints than there are degrees of freedom: which of them slips is the one consistent answer."""
    rng = np.random.default_rng(0)
    a = arm(name)
    levels = {joint: float(rng.uniform(1.0, 3.0)) for joint in a.tree.joint_names}
    a = with_friction(a, **(FIVE if name == "five-bar" else levels))
    q = states(a, 1)[0][0]
    dynamics = ContactDynamics(make_task(a, SimulationRequest(q0=q, torque=np.zeros(a.n), duration=1.0)))
    F = np.array([body.coulomb[0] for body in dynamics.setting.contacts])
    G = a.closure_jacobian(q)[[*a.mechanism.actuated, *dynamics.setting.dry_passive]]
    assert len(F) == a.tree.n > a.n
    moving = set()
    for _ in range(60):
        load = G.T @ (F * rng.uniform(-2.5, 2.5, len(F)))
        _, qdd, rise = dynamics.modes(q, q, np.zeros(a.n), (a.gravity_torque(q) + load,), {})
        assert np.abs(qdd - least(a.inertia_matrix(q), G, F, load)).max() < 1e-9 * np.abs(load).max()
        moving.add(tuple(np.abs(rise) > 1e-9))
    assert len(moving) > 4


@BOTH
def test_a_passive_joint_that_sticks_takes_a_degree_of_freedom(method):
    """The parallelogram with stiff pins turns as one piece, at the speed that it has."""
    a = with_friction(arm("parallelogram"), **PINS)

    def torque(t, q, qd):
        return a.gravity_torque(q) + np.array([5.0, -5.0])

    run = da.simulate(a, [0.2, 1.4], [1.0, 1.0], torque, 0.2, method=method, every=50)
    assert np.ptp(run.q[:, 1] - run.q[:, 0]) < 1e-12
    assert np.allclose(run.q[-1], [0.4, 1.6], atol=1e-9) and np.abs(run.qdd).max() < 1e-12


def test_fixed_and_adaptive_steps_agree_through_sticking():
    a = with_friction(arm("five-bar"), **FIVE)
    q0 = states(a, 1)[0][0]

    def torque(t, q, qd):
        return a.gravity_torque(q) + [0.6, -0.4] * np.sin(np.array([7.0, 5.0]) * t)

    fixed = da.simulate(a, q0, None, torque, 1.0, every=10)
    fine = da.simulate(a, q0, None, torque, 1.0, method="dop853", step=1e-2)
    assert np.abs(fixed.q - fine.q).max() < 1e-4
    rest = np.abs(a.tree_motion(fine.q, fine.qd, np.zeros_like(fine.q))[1]) < 1e-9
    assert 0.2 < rest.mean() < 0.9 and np.any(rest.sum(-1) == 1)  # an elbow stands while all else moves


@pytest.mark.parametrize("name", ["parallelogram", "four-bar"])
def test_friction_of_passive_joints_never_adds_energy_and_takes_its_part(name):
    levels = (
        {"joint2'": 2.0, "joint3'": 1.0, "joint1'": 0.5} if name == "parallelogram" else {"pin": 0.2, "rocker": 0.1}
    )
    a = with_friction(arm(name), **levels)
    q0 = states(a, 1)[0][0]
    run = da.simulate(a, q0, np.full(a.n, 0.5), None, 2.0)
    assert np.diff(run.energy).max() < 1e-9 * np.ptp(run.energy)
    # what is lost is what friction takes: ∫ τ_f q̇ dt
    power = np.einsum("ki,ki->k", a.friction_torque(run.qd, q=run.q), run.qd)
    lost = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * 1e-3)])
    assert np.abs(run.energy[0] - run.energy - lost).max() < 2e-3 * np.ptp(run.energy)


def test_the_compiled_loop_is_the_text_of_the_equations():
    """Steps with passive joints that stick and slip, run on Python's floats."""
    a = with_friction(arm("five-bar"), **FIVE)
    plan = Plan(law="given")
    made = rollout(a.mechanism, plan)
    q, qd, tau, steps, h = [2.2, 0.9], [0.9, -0.6], [0.8, -0.1], 60, 5e-3
    start = {x: [0.0] * size for x, size in made.program.sizes.items()}
    memory: dict = start | {"q": q, "qd": qd, "tau": tau, "h": [h]}
    for _ in range(steps):
        perform(made.program, made.pieces, memory, lambda k: [0.0] * k, lambda x: any(v != 0 for v in x))
    out = np.empty((1, 2)), np.empty((1, 2))
    rollout_kernel(a.mechanism, plan)(q, qd, np.full((steps, 1), h), np.broadcast_to(tau, (steps, 2)), out=out)
    assert out[0][0] == pytest.approx(memory["q"], abs=1e-11)
    assert out[1][0] == pytest.approx(memory["qd"], abs=1e-10)


# -- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("closed", "method"), [("formula", "rk4"), ("newton", "dop853")])
def test_parameters_are_those_of_the_tree(closed, method):
    """Twice the masses, inertias and friction under twice the torque move alike; under the same torque they do not."""
    a = with_friction(arm("four-bar"), **FOUR)
    q0, own = states(a, 1)[0][0], a.parameters
    assert own.shape == (13 * a.tree.n,)
    known = {"method": method, "step": 2e-3}
    alone = da.simulate(a, q0, None, [3.0], 0.05, **known)
    one = a if closed == "formula" else by_newton(a)
    run = da.simulate(
        one, q0, None, np.array([[[3.0]], [[6.0]], [[3.0]]]), 0.05, parameters=np.outer([1, 2, 2], own), **known
    )
    assert np.abs(run.q[:2] - alone.q).max() < 1e-10 and np.allclose(run.qdd[:2], alone.qdd, atol=1e-7)
    assert np.allclose(run.energy[:2] - run.energy[:2, :1], np.outer([1, 2], alone.energy - alone.energy[0]), atol=1e-9)
    assert np.abs(run.q[2, -1] - alone.q[-1]).max() > 1e-4


def test_parameters_of_the_wrong_length():
    with pytest.raises(ShapeError, match=r"arm 'five-bar' has 4 joints in its tree of 13 parameters each"):
        da.simulate(arm("five-bar"), [2.2, 0.9], None, None, 0.1, parameters=np.zeros(26))


# -- closures by Newton --------------------------------------------------------------------------


def wave(t):
    x = 4.0 * t[:, None]
    return 0.1 * np.sin(x), 0.4 * np.cos(x), -1.6 * np.sin(x)


CASES = {
    "steps": (np.linspace(0.0, 3.0, 40)[:, None], {}),
    "PD": (da.PD(30.0, 2.0, [0.3]), {}),
    "computed torque": (da.ComputedTorque(400.0, 40.0, wave), {}),
    "feedforward": (da.Feedforward(wave, 30.0, 2.0), {}),
    "adaptive": (da.Adaptive(2.0, 10.0, 0.05, wave), {}),
    "function": (lambda t, q, qd: -0.2 * qd + np.sin(9 * t), {"tip_wrench": [0.5, 0.2, 0, 0, 0, 0]}),
    "wrench of steps": ([1.0], {"tip_wrench": np.linspace(0.0, 3.0, 40)[:, None] * [1, -1, 0, 0, 0, 0.1]}),
    "wrench function": (
        da.PD(30.0, 2.0, [0.3]),
        {"tip_wrench": lambda t, q, qd: [np.cos(9 * t), q[0], 0, 0, 0, 0.1 * qd[0]]},
    ),
    "stops": ([8.0], {"stops": "contact"}),
}


@pytest.mark.parametrize(
    ("case", "method"),
    [
        *((case, "rk4") for case in CASES),
        *((case, "dop853") for case in ("PD", "steps", "stops", "wrench function")),
    ],
)
def test_newton_does_all_that_the_formula_does(case, method):
    """The four-bar with friction in the crank and in a passive joint, closed by its formula and by Newton."""
    torque, options = CASES[case]
    a = with_friction(arm("four-bar"), **FOUR)
    joints = [replace(j, limits=replace(j.limits, lower=-0.2, upper=0.12)) for j in a.robot.joints]
    a = a.replace(joints=tuple(joints)) if case == "stops" else a
    b = by_newton(a)
    more = {"every": 10, "method": method, "step": 5e-3, **options}
    one, two = (da.simulate(x, [0.05], [0.2], torque, 0.2, **more) for x in (a, b))
    assert np.abs(one.q - two.q).max() < 1e-9 and np.abs(one.qd - two.qd).max() < 1e-8
    assert np.allclose(one.tau, two.tau, atol=1e-7) and np.abs(one.q[-1] - one.q[0]).max() > 1e-3
    assert np.allclose(one.qdd, two.qdd, atol=1e-5)
    if case == "stops":
        assert one.q[-1, 0] == 0.12 and two.q[-1, 0] == 0.12 and one.qd[-1, 0] == 0.0


def test_dry_friction_is_compensated_in_passive_joints_too():
    """Computed torque knows Γᵀ F_s sgn(Γ q̇_d): the errors of a five-bar follow their own equation."""
    a = with_friction(arm("five-bar"), **FIVE)
    w, home = np.array([3.0, 4.0]), np.array([2.2, 0.9])

    def motion(t):
        x = t[:, None] * w
        return home + 0.1 * np.sin(x), 0.1 * w * np.cos(x), -0.1 * w * w * np.sin(x)

    start = motion(np.zeros(1))
    run = da.simulate(a, start[0][0], start[1][0], da.ComputedTorque(400.0, 40.0, motion), 0.3)
    assert np.abs(run.q - motion(run.t)[0]).max() < 1e-5


def test_the_tip_is_controlled_where_newton_closes_the_loops():
    a, runs = with_friction(arm("four-bar"), **FOUR), []
    for x in (a, by_newton(a)):
        op = x.operational_space(task=("x",))
        control = da.OperationalController(op, op.pose([0.05]) + 0.02, 400.0, 40.0)
        runs.append(da.simulate(x, [0.05], None, control, 0.4, step=1e-2))
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-9
    assert np.abs(runs[1].q[-1] - 0.05) > 1e-3


def test_a_run_of_ten_seconds_stays_closed():
    """Newton's closure, friction in all joints, a controller: a batch of two; and the reactions at the cut."""
    a = by_newton(with_friction(arm("four-bar"), **FOUR))
    q0 = states(a, 1)[0][0]

    def motion(t):
        x = t[:, None]
        return q0 + 0.3 * np.sin(x), 0.3 * np.cos(x), -0.3 * np.sin(x)

    run = da.simulate(
        a, [q0, q0 + 0.1], [[0.3], [0.0]], da.ComputedTorque(100.0, 20.0, motion), 10.0, step=4e-2, every=5
    )
    assert np.abs(a.loop_residual(run.q)).max() < 1e-14
    assert np.abs(run.q - motion(run.t)[0])[:, -1].max() < 1e-2
    wrench = a.loop_wrenches(run.q, run.qd, run.qdd)
    assert wrench.shape == (2, 51, 1, 6) and np.isfinite(wrench).all() and np.abs(wrench[..., 2:]).max() == 0.0


def test_the_variational_method_is_refused_with_its_reason():
    with pytest.raises(
        DalembertError, match=r"Newton's method, which the variational method does not support: .*'rk4'"
    ):
        da.simulate(arm("spatial"), [0.3], None, None, 1.0, method="variational")
    a = with_friction(arm("four-bar"), **FOUR)
    with pytest.raises(DalembertError, match=r"'four-bar' has dry friction, which the variational method"):
        da.simulate(a, states(a, 1)[0][0], None, None, 0.1, method="variational")


def test_the_variational_method_feels_viscous_friction_of_passive_joints():
    a = arm("four-bar")
    q0 = states(a, 1)[0][0]
    fine = da.simulate(a, q0, None, None, 0.5, method="dop853", step=0.1)
    run = da.simulate(a, q0, None, None, 0.5, method="variational", step=1e-4, every=1000)
    assert np.abs(run.q - fine.q).max() < 1e-6


# -- singular poses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "closed"),
    [("rk4", "formula"), ("dop853", "formula"), ("variational", "formula"), ("rk4", "newton"), ("dop853", "newton")],
)
def test_a_singular_pose_on_the_way_ends_the_simulation(method, closed):
    """The five-bar is opened until its rods are in line: time, loop and pose are named."""
    a = arm("five-bar") if closed == "formula" else by_newton(arm("five-bar"))
    q0 = np.array([2.2, 0.9])
    with pytest.raises(ClosureError, match=r"loop 'meeting' of arm 'five-bar' comes to a singular pose") as caught:
        da.simulate(a, q0, None, [1.0, -1.0], 2.0, method=method, friction=False, rtol=1e-7, atol=1e-8)
    assert caught.value.kind == "singular" and caught.value.loop == "meeting"
    t, *q = (float(x) for x in re.search(r"t = ([\d.]+) s, q = \(([\d.]+), ([\d.]+)\)", str(caught.value)).groups())
    assert abs(t - _until_singular()) < 5e-3
    reach = _ends(q[0], 0) - _ends(q[1], 1)  # from elbow to elbow: two rods of 0.3 m
    assert abs(np.hypot(*reach) - 0.6) < 1e-3


def _ends(angle: float, side: int) -> np.ndarray:
    tree = arm("five-bar").tree
    q = np.zeros(4)
    q[[0, 2][side]] = angle
    return tree.link_poses(q)[[1, 3][side], :2, 3]


@cache
def _until_singular() -> float:
    try:
        da.simulate(arm("five-bar"), [2.2, 0.9], None, [1.0, -1.0], 2.0, friction=False, step=1e-4)
    except ClosureError as problem:
        return float(re.search(r"t = ([\d.]+) s", str(problem)).group(1))
    raise AssertionError("it does not come to a singular pose")


def test_which_state_of_a_batch_comes_to_a_singular_pose():
    q0 = np.tile([2.2, 0.9], (2, 3, 1))
    torque = np.zeros((2, 3, 1, 2))
    torque[1, 2] = [1.0, -1.0]
    with pytest.raises(ClosureError, match=r"\(state 1, 2 of the batch\)") as caught:
        da.simulate(arm("five-bar").replace(gravity=(0, 0, 0)), q0, None, torque, 2.0, every=500)
    assert caught.value.index == (1, 2)
