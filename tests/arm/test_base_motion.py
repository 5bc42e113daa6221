"""A base that moves: the arm on six more joints, whose motion is prescribed, is the same arm."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from arms import DISTINCT, LOADED, arm, on_floats, random_robot, relative, states, with_terms
from dalembert.arm.terms import TorqueTerms
from dalembert.quantities.joints import JOINTS
from dalembert.robot import Joint, Link, Placement, Robot

TOLERANCE = 1e-10
COUNT = 3


def on_six_joints(robot: Robot) -> da.Arm:
    """The robot whose base frame slides along x, y, z and turns about z, y, x: six joints before its own."""
    axes = np.eye(3).tolist()
    kinds = [*(("prismatic", tuple(z)) for z in axes), *(("revolute", tuple(z)) for z in reversed(axes))]
    names = ["ground", *(f"carrier{k}" for k in range(5)), "vehicle"]
    joints = [
        Joint(f"base{k}", kind, names[k], names[k + 1], axis=axis) for k, (kind, axis) in enumerate(kinds)
    ]  # fmt: skip
    mount = Joint("mount", "fixed", "vehicle", robot.root, robot.base)
    links = (*(Link(name) for name in names), *robot.links)
    return da.Arm(robot.replace(links=links, joints=(*joints, mount, *robot.joints), base=Placement()))


def base_motions(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """[ω, ω̇, p̈] at the pose in which base axes are those of the ground, and the rates of the six joints: (count, 3, 6)."""
    position, rate, change = np.random.default_rng(seed).uniform(-1.5, 1.5, (3, count, 6))
    position[:, 3:] = 0.0
    x, y, z = np.eye(3)
    (rz, ry, rx), (az, ay, ax) = rate[:, 3:].T[..., None], change[:, 3:].T[..., None]
    omega = rz * z + ry * y + rx * x
    omega_dot = az * z + ay * y + ax * x + np.cross(rz * z, ry * y) + np.cross(rz * z + ry * y, rx * x)
    return np.concatenate([omega, omega_dot, change[:, :3]], axis=1), np.stack([position, rate, change], axis=1)


LOSSES = da.Arm(with_terms(random_robot(np.random.default_rng(3), 4, tree=False), LOADED))


def tried(name: str) -> da.Arm:
    return LOSSES if name == "losses" else arm(name)


@pytest.mark.parametrize("name", [*DISTINCT, "losses"])
def test_moving_base_is_six_joints_more(name: str) -> None:
    """Torques on a moving base are those of the larger arm, p̈ being the acceleration of the base frame's origin."""
    a = tried(name)
    x = states(a, COUNT, 1)
    b, rates = base_motions(COUNT)
    larger = on_six_joints(a.robot)
    both = {name: np.concatenate([rates[:, k], x[k]], axis=1) for k, name in enumerate(("q", "qd", "qdd"))}
    expected = on_floats(larger, "inverse_dynamics", "lean", **both)[:, 6:]
    given = {**dict(zip(("q", "qd", "qdd"), x, strict=True)), "base_motion": b}
    assert relative(on_floats(a, "inverse_dynamics", "lean", **given), expected) < TOLERANCE
    # which differs from the torque of a base at rest
    del given["base_motion"]
    assert relative(on_floats(a, "inverse_dynamics", "lean", **given), expected) > 1e-3


@pytest.mark.parametrize("name", [*DISTINCT, "losses"])
def test_forward_of_inverse_dynamics_is_the_identity_on_a_moving_base(name: str) -> None:
    a = tried(name)
    if a.placing.unresisted():
        pytest.skip("nothing resists its last joint")
    q, qd, qdd = states(a, COUNT, 2)
    b, h = base_motions(COUNT, 1)[0], np.random.default_rng(4).uniform(-5, 5, (COUNT, 6))
    tau = on_floats(a, "inverse_dynamics", "lean", q=q, qd=qd, qdd=qdd, tip_wrench=h, base_motion=b)
    for formulation in ("composite", "articulated") if a.mechanism.identity else ("composite",):
        back = on_floats(a, "forward_dynamics", formulation, q=q, qd=qd, tau=tau, tip_wrench=h, base_motion=b)
        assert relative(back, qdd) < 1e-7, formulation


@pytest.mark.parametrize("name", [*DISTINCT, "losses"])
def test_terms_on_a_moving_base_sum_to_the_torque(name: str) -> None:
    a = tried(name)
    (q, qd, qdd), b = ([x[0].tolist() for x in states(a, 1, 3)], base_motions(1, 2)[0].tolist()[0])
    given = {"q": q, "qd": qd, "qdd": qdd, "base_motion": b}
    row = JOINTS["torque_terms"]
    terms = TorqueTerms(*map(np.array, row.values(a.mechanism, "composite", given)))
    tau = on_floats(a, "inverse_dynamics", "lean", **{name: np.array([x]) for name, x in given.items()})[0]
    assert relative(terms.total, tau) < TOLERANCE


@pytest.mark.parametrize("name", ["planar-2r", "five-bar"])
def test_compiled_terms_gravity_and_accelerations_on_a_moving_base(name: str) -> None:
    a = tried(name)
    q, qd, qdd = states(a, COUNT, 3)
    b = base_motions(COUNT, 2)[0]
    terms, still = a.torque_terms(q, qd, qdd, base_motion=b), a.torque_terms(q, qd, qdd)
    tau = a.inverse_dynamics(q, qd, qdd, base_motion=b)
    assert relative(terms.total, tau) < TOLERANCE
    assert relative(terms.gravity, still.gravity) < TOLERANCE and not still.base.any()
    assert relative(a.forward_dynamics(q, qd, tau, base_motion=b), qdd) < 1e-8
    # at rest the base's part and gravity's are what holds the arm still
    rest = np.zeros_like(q)
    held = a.torque_terms(q, rest, rest, base_motion=b)
    assert relative(a.gravity_torque(q, b), held.gravity + held.base) < TOLERANCE


def test_a_base_motion_of_another_size_is_told() -> None:
    a = arm("planar-2r")
    with pytest.raises(da.ShapeError, match=r"base_motion has shape \(6,\), but base_motion has 9 components"):
        a.gravity_torque([0.0, 0.0], np.zeros(6))
