"""A base that moves: the arm on six more joints, whose motion is prescribed, is the same arm."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from arms import DISTINCT, LOADED, arm, on_floats, random_robot, relative, states, with_terms
from dalembert.arm.terms import TorqueTerms
from dalembert.compiler.quantities.joints import JOINTS
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


# the last link of tx40.urdf has no inertia about its joint, so its acceleration is not determined
@pytest.mark.parametrize("name", [*(name for name in DISTINCT if name != "tx40.urdf"), "losses"])
def test_forward_of_inverse_dynamics_is_the_identity_on_a_moving_base(name: str) -> None:
    a = tried(name)
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


# -- simulation ------------------------------------------------------------------------------------


def swaying(t: float) -> np.ndarray:
    """A base that turns about z by 0.4 sin 3t, and whose origin sways along x."""
    angle = 3.0 * t
    return np.array([0, 0, 1.2 * np.cos(angle), 0, 0, -3.6 * np.sin(angle), 2.0 * np.cos(2.0 * t), 0, 0])


def test_a_simulation_on_a_turning_base_is_one_of_the_larger_arm() -> None:
    """The larger arm, turned and moved as prescribed, needs the same torques; its gravity does not turn with the base."""
    a = arm("planar-2r")
    g = np.array(a.robot.gravity)

    def tilting(t: float) -> np.ndarray:
        c, s = np.cos(0.4 * np.sin(3 * t)), np.sin(0.4 * np.sin(3 * t))
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return swaying(t) + np.r_[np.zeros(6), g - R.T @ g]

    given = {"base_motion": tilting, "method": "dop853", "friction": False}
    run = da.simulate(a, [0.3, -0.5], [0.4, 0.2], [3.0, -1.0], 0.5, **given)
    larger = on_six_joints(a.robot)
    q, qd, qdd = np.zeros((3, len(run.t), 6))
    q[:, 3], qd[:, 3], qdd[:, 3] = 0.4 * np.sin(3 * run.t), *(np.array([swaying(t) for t in run.t])[:, [2, 5]].T)
    x = 2.0 * np.cos(2.0 * run.t)  # along the base's own x-axis, which has turned
    qdd[:, 0], qdd[:, 1] = x * np.cos(q[:, 3]), x * np.sin(q[:, 3])
    state = (np.concatenate(pair, axis=1) for pair in ((q, run.q), (qd, run.qd), (qdd, run.qdd)))
    tau = larger.inverse_dynamics(*state)[:, 6:]
    friction = larger.friction_torque(np.concatenate([qd, run.qd], axis=1))[:, 6:]
    assert relative(tau - friction, np.broadcast_to([3.0, -1.0], tau.shape)) < 1e-8


@pytest.mark.parametrize("name", ["planar-2r", "five-bar"])
def test_methods_agree_on_a_moving_base(name: str) -> None:
    """Compiled steps, adaptive ones, variational ones, and steps from Python."""
    a = arm(name)
    q0, tau = a.home + 0.1, a.gravity_torque(a.home)
    reference = da.simulate(a, q0, None, tau, 0.2, base_motion=swaying, method="dop853", friction=False)

    def error(**options: object) -> float:
        run = da.simulate(a, q0, None, options.pop("torque", tau), 0.2, base_motion=swaying, friction=False, **options)
        return float(np.abs(run.q[-1] - reference.q[-1]).max() / np.abs(reference.q[-1] - q0).max())

    assert error() < 1e-9
    assert error(torque=lambda t, q, qd: tau) < 1e-9
    assert error(method="variational", step=1e-3) < 1e-4
    # the acceleration that is recorded is that of forward dynamics
    b = np.array([swaying(t) for t in reference.t])
    smooth = a.torque_terms(reference.q, reference.qd, 0 * reference.q).friction
    qdd = a.forward_dynamics(reference.q, reference.qd, tau + smooth, base_motion=b)
    assert relative(reference.qdd, qdd) < 1e-8


def test_energy_changes_by_the_power_of_the_base() -> None:
    """dE/dt = −q̇ᵀ τ_base, for an arm that nothing else drives."""
    a = arm("planar-2r")
    run = da.simulate(a, [0.3, 0.5], None, None, 0.5, base_motion=swaying, friction=False)
    b = np.array([swaying(t) for t in run.t])
    power = -np.sum(run.qd * a.torque_terms(run.q, run.qd, run.qdd, base_motion=b).base, axis=1)
    h = run.t[1]
    work = h / 3 * (power[:-2:2] + 4 * power[1:-1:2] + power[2::2]).sum()
    assert run.energy[-1] - run.energy[0] == pytest.approx(work, rel=1e-8) and abs(work) > 1.0


def test_base_motion_follows_the_rule_for_torques() -> None:
    """Constant, over the steps, for a batch, or a function of time; with dry friction and stops too."""
    a, b = arm("planar-2r"), np.array([0.1, -0.2, 0.7, 0.0, 0.0, 0.5, 1.0, -2.0, 0.3])
    short = {"duration": 0.02, "stops": "contact", "restitution": 0.5}

    def end(base: object, **more: object) -> np.ndarray:
        return da.simulate(a, [0.3, -0.5], [0.4, 0.2], None, base_motion=base, **(short | more)).q[..., -1, :]

    constant = end(b)
    assert relative(end(np.tile(b, (20, 1))), constant) == 0.0
    assert relative(end(lambda t: b), constant) < 1e-15
    assert relative(end(np.stack([b, 0 * b])[:, None])[0], constant) == 0.0
    assert relative(end(lambda t: np.stack([b, 0 * b]))[1], end(None)) < 1e-14
    assert relative(end(b, method="dop853"), constant) < 1e-9
    assert relative(end(lambda t: b, method="dop853"), constant) < 1e-9
    assert relative(end(None), constant) > 1e-4
    felt = a.replace(gravity=tuple(np.array(a.robot.gravity) - b[6:]))
    pushed = da.simulate(felt, [0.3, -0.5], [0.4, 0.2], None, **short).q[-1]
    assert relative(end(np.r_[np.zeros(6), b[6:]]), pushed) < 1e-13


@pytest.mark.parametrize(
    ("base", "sentence"),
    [
        (np.zeros(6), r"base_motion has shape \(6,\), but a base_motion has 9 components"),
        (np.zeros((7, 9)), r"base_motion has shape \(7, 9\): time is its second-last axis"),
        (np.full(9, np.nan), "base_motion holds a value that is not a finite number"),
        (lambda t: np.zeros(3), r"the base_motion at t = 0 s has shape \(3,\), but a base_motion has 9"),
        (lambda t, q, qd: np.zeros(9), r"the base_motion function must give numbers of shape \(…, 9\)"),
        (lambda t: np.zeros((2, 9) if t > 5e-3 else 9), r"has shape \(9,\) at t = 0 s but \(2, 9\) at t = 0.00"),
    ],
)
@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_what_is_no_base_motion_is_told(base: object, sentence: str, method: str) -> None:
    with pytest.raises(da.ShapeError, match=sentence):
        da.simulate(arm("planar-2r"), [0.0, 0.0], None, None, 0.01, base_motion=base, method=method)
