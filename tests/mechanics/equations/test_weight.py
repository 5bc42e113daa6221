"""Weight that is carried (Link.weight) in every quantity, against the same arm's own identities.

MuJoCo's torques for it are in tests/robot/test_mjcf_torques.py; here all else must agree with those torques.
"""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as da
from arms import LOADED, gripper, one_level, random_robot, relative, states, with_terms
from dalembert.mechanics.equations.regressor import parameters
from dalembert.robot import Inertia, Robot
from dalembert.robot.model.mechanism import places
from dalembert.robot.readers.toml_reader import parse_toml
from dalembert.robot.readers.toml_writer import write_toml
from dalembert.work.analysis.base_formulas import symbolic_base_parameters
from dalembert.work.identification.fitting.base_parameters import base_parameters
from dalembert.work.identification.fitting.parameter_set import ParameterSet

FORMULATIONS = ("newton-euler", "newton-euler-base", "lagrange", "lagrange-euler", "dalembert")


def lightened(robot: Robot, *, by_body: bool = False) -> Robot:
    """Every link with a weight of its own, or every body."""
    rng, at = np.random.default_rng(4), places(robot)
    of_body = rng.uniform(-0.5, 1.5, len(robot.joints) + 1)
    weights = [of_body[at[link.name][0]] if by_body else rng.uniform(-0.5, 1.5) for link in robot.links]
    return robot.replace(
        links=tuple(replace(x, weight=float(w)) for x, w in zip(robot.links, weights, strict=True) if not x.massless)
    )


def without_rotors(robot: Robot) -> Robot:
    """A rotor has its own weight, which the link that carries it may not have."""
    return robot.replace(joints=tuple(replace(joint, rotor=None) for joint in robot.joints))


@pytest.fixture(scope="module")
def arm() -> da.Arm:
    robot = lightened(random_robot(np.random.default_rng(8), 4, tree=True))
    return da.Arm(with_terms(robot, LOADED))


def differences(function, q, h=1e-5):
    """Central differences by each joint, last axis."""
    return np.stack([(function(q + h * e) - function(q - h * e)) / (2 * h) for e in np.eye(q.shape[-1])], axis=-1)


def test_every_formulation_has_the_same_torques_and_forward_dynamics_inverts_them(arm):
    q, qd, qdd = states(arm, 8)
    tau = arm.inverse_dynamics(q, qd, qdd)
    for formulation in FORMULATIONS:
        assert relative(arm.inverse_dynamics(q, qd, qdd, formulation=formulation), tau) < 1e-12
    for formulation in ("composite", "articulated"):
        assert relative(arm.forward_dynamics(q, qd, tau, formulation=formulation), qdd) < 1e-9


def test_gravity_torque_is_the_slope_of_the_potential_energy_and_part_of_the_terms(arm):
    q, qd, qdd = states(arm, 8)
    g, whole = arm.gravity_torque(q), arm.replace(links=tuple(replace(x, weight=1.0) for x in arm.robot.links))
    assert relative(differences(arm.potential_energy, q), g) < 1e-8
    assert relative(whole.gravity_torque(q), g) > 0.1
    assert relative(whole.inertia_matrix(q), arm.inertia_matrix(q)) == 0.0
    terms = arm.torque_terms(q, qd, qdd)
    np.testing.assert_allclose(terms.gravity, g, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(terms.total, arm.inverse_dynamics(q, qd, qdd), rtol=1e-9, atol=1e-9)


def test_derivatives_have_what_is_carried(arm):
    q, qd, qdd = states(arm, 4)
    tau = arm.inverse_dynamics(q, qd, qdd)
    dq, _ = arm.torque_derivatives(q, qd, qdd)
    assert relative(dq, differences(lambda x: arm.inverse_dynamics(x, qd, qdd), q)) < 1e-7
    dq, *_ = arm.forward_derivatives(q, qd, tau)
    assert relative(dq, differences(lambda x: arm.forward_dynamics(x, qd, tau), q)) < 1e-6


def test_a_joint_wrench_turns_the_joint_with_its_torque():
    """What the bearing of an outermost joint exerts about its axis is the torque without friction."""
    robot = without_rotors(lightened(random_robot(np.random.default_rng(8), 4, tree=False)))
    arm = da.Arm(with_terms(robot, [da.Friction()]))
    q, qd, qdd = states(arm, 5)
    wrench, tau = arm.joint_wrenches(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd)
    for i, joint in enumerate(arm.robot.moving_joints):
        slides = joint.type == "prismatic"
        axis = np.array(joint.link_frame.rotation, float).T @ np.array(joint.axis, float)
        part = wrench[:, i, :3] if slides else wrench[:, i, 3:]
        np.testing.assert_allclose(part @ axis, tau[:, i], rtol=1e-9, atol=1e-9)


def test_the_regressor_has_what_is_carried():
    robot = without_rotors(lightened(random_robot(np.random.default_rng(8), 4, tree=False), by_body=True))
    arm = one_level(da.Arm(robot))
    q, qd, qdd = states(arm, 5)
    assert relative(arm.regressor(q, qd, qdd) @ parameters(arm.mechanism), arm.inverse_dynamics(q, qd, qdd)) < 1e-12


def test_the_regressor_refuses_a_body_of_two_weights():
    arm = da.load("planar-2r")
    links = tuple(replace(x, weight=0.4 if x.name == arm.robot.tip.link else 1.0) for x in arm.robot.links)
    light = arm.replace(links=links, payload=Inertia(1.0, (0.1, 0.0, 0.0)))
    with pytest.raises(da.RobotError, match="parts with different weights"):
        light.regressor([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])


def test_base_parameters_are_those_of_the_weights():
    """A mass on an axis counts with the parent's only where both have the same weight."""
    arm = da.Arm(without_rotors(da.load("planar-3r").robot))
    ranks = []
    for weights in ((1.0, 0.4, 0.4, 0.4), (1.0, 0.4, 1.0, 0.7)):
        light = arm.replace(links=tuple(replace(x, weight=w) for x, w in zip(arm.robot.links, weights, strict=True)))
        base = base_parameters(ParameterSet(light))
        q, qd, qdd = states(light, 5)
        assert relative(base.regressor(q, qd, qdd) @ base.values, light.inverse_dynamics(q, qd, qdd)) < 1e-12
        ranks.append(base.rank)
    assert ranks[1] > ranks[0] == symbolic_base_parameters(ParameterSet(arm)).rank
    with pytest.raises(da.DalembertError, match="different weights"):
        symbolic_base_parameters(ParameterSet(light))


def test_joints_that_follow_others_pull_it_back():
    robot = without_rotors(gripper())
    arm = da.Arm(robot.replace(links=tuple(replace(x, weight=0.3) for x in robot.links)))
    q, qd, qdd = states(arm, 5)
    tau = arm.inverse_dynamics(q, qd, qdd)
    assert relative(arm.inverse_dynamics(q, qd, qdd, formulation="lagrange"), tau) < 1e-12
    assert relative(arm.forward_dynamics(q, qd, tau), qdd) < 1e-9
    assert relative(arm.gravity_torque(q), 0.3 * da.Arm(robot).gravity_torque(q)) < 1e-12
    assert relative(differences(arm.potential_energy, q), arm.gravity_torque(q)) < 1e-7


@pytest.mark.parametrize("of", ["the arm", "parameters"])
def test_energy_is_kept_without_friction(of):
    arm = da.Arm(without_rotors(da.load("planar-2r").robot))
    light = arm.replace(links=tuple(replace(x, weight=0.4) for x in arm.robot.links))
    heavy = None if of == "the arm" else 1.3 * light.parameters
    run = da.simulate(light, [0.3, 0.4], [0.0, 0.0], None, 0.5, friction=False, parameters=heavy)
    assert np.ptp(run.energy) < 1e-8 * np.ptp(run.kinetic)
    as_light = arm.replace(gravity=tuple(0.4 * g for g in arm.robot.gravity))  # all links alike: as on a light planet
    assert relative(run.q, da.simulate(as_light, [0.3, 0.4], [0.0, 0.0], None, 0.5, friction=False).q) < 1e-12


@pytest.mark.parametrize("letters", ["nonzero", "all", "numbers"])
def test_the_closed_form_has_what_is_carried(letters):
    arm = da.load("planar-2r").with_payload(2.0)
    light = arm.replace(links=tuple(replace(x, weight=0.4) for x in arm.robot.links))
    if letters == "all":
        light = without_rotors(light.replace(payload=None).robot)
        light = da.Arm(light)
    e, q = light.equations(letters), [0.3, -0.8]
    values = {**dict(zip(e.q, q, strict=True)), **e.parameters}
    g = np.array(e.with_angles(e.g).subs(values), float).ravel()
    np.testing.assert_allclose(g, light.gravity_torque(q), rtol=1e-12)


def test_weights_are_in_files():
    arm = da.load("planar-2r")
    light = arm.robot.replace(links=tuple(replace(x, weight=0.4) for x in arm.robot.links[1:]) + arm.robot.links[:1])
    assert "weight = 0.4" in write_toml(light)
    assert {x.name: x.weight for x in parse_toml(write_toml(light)).links} == {x.name: x.weight for x in light.links}


def test_weights_that_cancel_are_refused():
    robot = da.load("planar-2r").robot
    tip = robot.tip.link
    extra = da.Link("extra", robot.link(tip).inertia, weight=1.5)
    joint = da.Joint("weld", "fixed", tip, "extra")
    links = tuple(replace(x, weight=0.5) if x.name == tip else x for x in robot.links)
    with pytest.raises(da.RobotError, match="change one of their weights"):
        da.Arm(robot.replace(links=(*links, extra), joints=(*robot.joints, joint))).gravity_torque([0.0, 0.0])
