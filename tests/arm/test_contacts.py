"""Wrenches at any link, and poses and Jacobians of any link's frame: identities in every formulation."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dalembert as da

ARMS = ("planar-3r", "scara", "parallelogram")


@pytest.fixture(scope="module", params=ARMS)
def case(request):
    arm, rng = da.load(request.param), np.random.default_rng(5)
    links = [joint.child for joint in arm.robot.tree_joints]
    q = arm.home + rng.uniform(-0.3, 0.3, (4, arm.n))
    qd, qdd = rng.uniform(-1, 1, (2, 4, arm.n))
    pushes = {links[0]: rng.uniform(-9, 9, 6), links[-1]: rng.uniform(-9, 9, (4, 6))}
    return arm, (q, qd, qdd), pushes, rng.uniform(-9, 9, 6)


def exerted(arm, q, pushes):
    """Σ Jᵀ w, each with the Jacobian of its own frame."""
    return sum(
        np.einsum("tij,ti->tj", arm.jacobian(q, frame=name), np.broadcast_to(w, (4, 6))) for name, w in pushes.items()
    )


def test_every_formulation_feels_wrenches_at_links(case):
    arm, x, pushes, tip = case
    expected = arm.inverse_dynamics(*x) + exerted(arm, x[0], {**pushes, "tip": tip})
    for formulation in ("lean", "newton-euler", "newton-euler-base", "lagrange", "lagrange-euler", "dalembert"):
        tau = arm.inverse_dynamics(*x, tip_wrench=tip, wrenches=pushes, formulation=formulation)
        np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-11, err_msg=formulation)
    assert np.allclose(arm.torque_terms(*x, wrenches={**pushes, "tip": tip}).total, expected, rtol=1e-12, atol=1e-11)
    qdd = arm.forward_dynamics(*x[:2], expected, tip_wrench=tip, wrenches=pushes)
    np.testing.assert_allclose(qdd, x[2], rtol=1e-9, atol=1e-9)


def test_bearings_and_recursion_carry_them(case):
    arm, x, pushes, _ = case
    steps = arm.recursion(*x, wrenches=pushes)
    carried = arm.joint_wrenches(*x, wrenches=pushes)
    np.testing.assert_allclose(carried, np.concatenate([steps.f, steps.mu], axis=-1), rtol=1e-12, atol=1e-12)
    if arm.mechanism.identity:
        np.testing.assert_allclose(steps.tau, arm.inverse_dynamics(*x, wrenches=pushes), rtol=1e-12, atol=1e-11)


def test_frames_move_as_their_jacobians_say(case):
    arm, (q, qd, _), pushes, _ = case
    h = 1e-6
    for name in pushes:
        J, Jd = arm.jacobian(q, frame=name), arm.jacobian_derivative(q, qd, frame=name)
        ahead, behind = arm.pose(q + h * qd, frame=name), arm.pose(q - h * qd, frame=name)
        velocity = (ahead - behind)[..., :3, 3] / (2 * h)
        np.testing.assert_allclose(velocity, np.einsum("tij,tj->ti", J[:, :3], qd), atol=1e-7)
        slope = (arm.jacobian(q + h * qd, frame=name) - arm.jacobian(q - h * qd, frame=name)) / (2 * h)
        np.testing.assert_allclose(Jd, slope, atol=1e-7)
    assert np.array_equal(arm.jacobian(q, frame="tip"), arm.jacobian(q))


def test_simulation_is_pushed_by_them(case):
    arm, (q, _, _), pushes, _ = case
    q, rest = q[0], np.zeros(arm.n)
    constant = {name: np.atleast_2d(w)[0] for name, w in pushes.items()}
    hold = arm.inverse_dynamics(q, rest, rest, wrenches=constant)
    run = da.simulate(arm, q, rest, hold, 0.02, wrenches=constant, friction=False)
    np.testing.assert_allclose(run.q[-1], q, atol=1e-9)
    first, *others = constant
    by_function = {first: lambda t, q, qd: constant[first], **{name: constant[name] for name in others}}
    again = da.simulate(arm, q, rest, None, 0.02, wrenches=by_function, friction=False)
    np.testing.assert_allclose(
        again.q, da.simulate(arm, q, rest, None, 0.02, wrenches=constant, friction=False).q, rtol=1e-9, atol=1e-12
    )


def test_variants_and_other_processes_feel_them():
    arm = da.load("planar-3r")
    q = np.array([0.3, -0.4, 0.5])
    push = {"link2": [1.0, 2.0, 0.0, 0.0, 0.0, 3.0]}
    heavier = arm.variants(parameters=arm.parameters * np.array([[1.0], [1.1]]))
    np.testing.assert_allclose(
        heavier.inverse_dynamics(q, q, q, wrenches=push)[0], arm.inverse_dynamics(q, q, q, wrenches=push), rtol=1e-12
    )
    longer = arm.variants(lengths=arm.lengths)
    np.testing.assert_allclose(longer.pose(q, frame="link2"), arm.pose(q, frame="link2"), atol=1e-14)
    touching = arm.touching(("link2",))
    assert pickle.loads(pickle.dumps(touching)) == touching != arm


def test_the_base_exerts_what_no_joint_feels():
    arm, q = da.load("planar-2r"), np.array([0.3, 0.4])
    assert np.array_equal(
        arm.inverse_dynamics(q, q, q, wrenches={arm.robot.root: np.ones(6)}), arm.inverse_dynamics(q, q, q)
    )
    assert np.array_equal(arm.inverse_dynamics(q, q, q, wrenches={}), arm.inverse_dynamics(q, q, q))


@pytest.mark.parametrize(
    ("wrenches", "says"),
    [
        ({"elbow": np.zeros(6)}, "has no link 'elbow'"),
        ({"link1": np.zeros(3)}, r"the wrench at 'link1' has shape \(3,\); it must be \(…, 6\)"),
        (np.zeros(6), "it must be a dict of link names"),
        ({"link1": ["a"] * 6}, "the wrench at 'link1'"),
        (
            {"link1": np.zeros((3, 6)), "link2": np.zeros((2, 6))},
            r"do not broadcast: 'link1' \(3, 6\), 'link2' \(2, 6\)",
        ),
    ],
)
def test_mistakes_are_named(wrenches, says):
    q = np.zeros(2)
    with pytest.raises(da.DalembertError, match=says):
        da.load("planar-2r").inverse_dynamics(q, q, q, wrenches=wrenches)


def test_a_wrench_at_the_tip_is_given_once():
    q = np.zeros(2)
    with pytest.raises(da.DalembertError, match="given twice"):
        da.load("planar-2r").inverse_dynamics(q, q, q, tip_wrench=np.ones(6), wrenches={"tip": np.ones(6)})
