"""The operational space model of S 7.8: every formula against plain NumPy, singularities told apart."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import arms
import dalembert as da
from dalembert.errors import DalembertError, ShapeError, SingularityError
from dalembert.robot import Friction
from dalembert.work.tip.operational import OperationalSpace

CASES = [
    ("puma560", "zyz"), ("ur5e", "rpy"), ("stanford", "quaternion"), ("panda", "geometric"), ("planar-3r", "zyz"),
    ("planar-2r", "zyz"), ("scara", "rpy"), ("pr-arm", "zyz"), ("random-chain", "zyz"),
]  # fmt: skip

UPRIGHT = np.array([[1, 0, 0, 0.5], [0, 1, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]])  # theta = 0


def made(name: str, orientation: str) -> tuple[da.Arm, OperationalSpace, np.ndarray, np.ndarray, np.ndarray]:
    """An arm, its operational space, and states of it that are not near a singularity."""
    arm = arms.arm(name)
    op = arm.operational_space(orientation=orientation)
    q, qd, qdd = np.random.default_rng(4).uniform(0.2, 1.3, (3, 60, arm.n))
    good = np.minimum(*op.singularity(q)) > 0.03
    assert good.sum() >= 5
    return arm, op, q[good], qd[good], qdd[good]


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (A @ x[..., None])[..., 0]


def T(A: np.ndarray) -> np.ndarray:
    return np.swapaxes(A, -1, -2)


@pytest.mark.parametrize(("name", "orientation"), CASES)
def test_the_model_is_that_of_S(name: str, orientation: str) -> None:
    arm, op, q, qd, qdd = made(name, orientation)
    J, B = op.jacobian(q), arm.inertia_matrix(q)
    over = T(np.linalg.solve(B, T(J)))  # J B⁻¹
    B_A = np.linalg.inv(over @ T(J))
    Jd = op.jacobian_derivative(q, qd)
    assert arms.relative(op.inertia(q), B_A) < 1e-8  # (7.130)
    assert arms.relative(op.gravity(q), times(B_A @ over, arm.gravity_torque(q))) < 1e-8  # (7.132)
    C_qd = times(arm.coriolis_matrix(q, qd), qd)
    force = times(B_A @ over, C_qd) - times(B_A @ Jd, qd)  # (7.131)
    assert arms.relative(op.coriolis_force(q, qd), force) < 1e-7
    J_bar = T(B_A @ over)  # (7.138)
    assert arms.relative(op.inverse_jacobian(q), J_bar) < 1e-8
    assert np.abs(op.null_projector(q) - (np.eye(arm.n) - T(J) @ T(J_bar))).max() < 1e-7
    assert arms.relative(op.velocity(q, qd), times(J, qd)) < 1e-12
    assert arms.relative(op.acceleration(q, qd, qdd), times(J, qdd) + times(Jd, qd)) < 1e-12
    if not op.redundant:  # (7.134)–(7.136)
        inverse = np.linalg.inv(J)
        assert arms.relative(op.inertia(q), T(inverse) @ B @ inverse) < 1e-7
        assert arms.relative(op.gravity(q), times(T(inverse), arm.gravity_torque(q))) < 1e-7
        assert arms.relative(op.coriolis_force(q, qd), times(T(inverse), C_qd) - times(B_A @ Jd, qd)) < 1e-7


@pytest.mark.parametrize(("name", "orientation"), CASES)
def test_jacobians_are_derivatives(name: str, orientation: str) -> None:
    _, op, q, qd, _ = made(name, orientation)
    h = 1e-6
    if orientation != "geometric":
        rate = op.difference(op.pose(q + h * qd), op.pose(q - h * qd)) / (2 * h)
        assert arms.relative(op.velocity(q, qd), rate) < 1e-7
    rate = (op.jacobian(q + h * qd) - op.jacobian(q - h * qd)) / (2 * h)
    assert np.abs(op.jacobian_derivative(q, qd) - rate).max() < 1e-6 * max(1.0, np.abs(rate).max())


@pytest.mark.parametrize(("name", "orientation"), CASES)
def test_problem_7_9(name: str, orientation: str) -> None:
    """Ḃ_A − 2C_A is skew for every arm; C_A ẋ is (7.131) without internal motion, and with it need not be."""
    _, op, q, qd, _ = made(name, orientation)
    h = 1e-6
    C = op.coriolis(q, qd)
    N = (op.inertia(q + h * qd) - op.inertia(q - h * qd)) / (2 * h) - 2 * C
    assert np.abs(N + T(N)).max() < 2e-6 * max(1.0, np.abs(N).max())
    still = times(op.inverse_jacobian(q), op.velocity(q, qd))  # no internal motion
    moving = times(op.coriolis(q, still), op.velocity(q, still))
    assert arms.relative(moving, op.coriolis_force(q, still)) < 1e-8
    x = times(C, op.velocity(q, qd))
    if op.redundant:
        assert arms.relative(x, op.coriolis_force(q, qd)) > 1e-3
        # power that internal motion brings to the tip: no C_A can be skew and do (7.131) here
        rest = op.coriolis_force(q, qd) - x
        assert np.abs((rest * op.velocity(q, qd)).sum(-1)).max() > 1e-3
    else:
        assert arms.relative(x, op.coriolis_force(q, qd)) < 1e-8


@pytest.mark.parametrize("name", ["panda", "puma560", "planar-3r"])
def test_torques_move_the_tip_as_asked_and_tau0_does_not(name: str) -> None:
    arm, op, q, qd, _ = made(name, "geometric")
    rng = np.random.default_rng(0)
    xdd, wrench = rng.normal(size=(len(q), op.m)), rng.normal(size=(len(q), 6))

    def moved(tau: np.ndarray) -> np.ndarray:
        return op.acceleration(q, qd, arm.forward_dynamics(q, qd, tau, wrench))

    assert np.abs(moved(op.torque(q, qd, xdd, wrench)) - xdd).max() < 1e-9
    assert np.abs(moved(op.kinematic_torque(q, qd, xdd, wrench)) - xdd).max() < 1e-9
    tau0 = rng.normal(size=(len(q), arm.n))
    tau = op.torque(q, qd, xdd, wrench, tau0)
    assert np.abs(moved(tau) - xdd).max() < 1e-9
    if op.redundant:
        assert np.abs(tau - op.torque(q, qd, xdd, wrench)).max() > 1e-3
    free = times(op.null_projector(q), tau0)
    assert (
        np.abs(times(arm.jacobian(q), np.linalg.solve(arm.inertia_matrix(q), free[..., None])[..., 0])[:, :2]).max()
        < 1e-9
    )


def test_some_rows_of_a_redundant_arm() -> None:
    """A task of fewer rows still feels the whole wrench, and friction."""
    arm = arms.arm("iiwa14")
    op = arm.operational_space(task="xy")
    q, qd, _ = np.random.default_rng(1).uniform(0.3, 1.2, (3, 5, 7))
    xdd, wrench = np.ones((5, 2)), np.arange(30.0).reshape(5, 6)
    a = arm.forward_dynamics(q, qd, op.torque(q, qd, xdd, wrench), wrench)
    assert np.abs(op.acceleration(q, qd, a) - xdd).max() < 1e-9


def test_rows() -> None:
    planar, puma = arms.arm("planar-3r"), arms.arm("puma560")
    assert planar.operational_space().rows == ("x", "y", "angle")
    assert arms.arm("planar-2r").operational_space().rows == ("x", "y")
    assert arms.arm("scara").operational_space().rows == ("x", "y", "z", "angle")
    assert puma.operational_space(task="position").rows == ("x", "y", "z")
    assert puma.operational_space(orientation="rpy", task="orientation").rows == ("roll", "pitch", "yaw")
    assert puma.operational_space(orientation="rpy", task="x yaw").rows == ("x", "yaw")
    assert puma.operational_space(task=["z", "theta"]).rows == ("z", "theta")
    assert planar.operational_space().pose([0.1, 0.2, 0.3])[2] == pytest.approx(0.6)
    scara = arms.arm("scara").operational_space()
    turned = scara.pose([0.1, 0.2, 0.0, 0.0]) - scara.pose(np.zeros(4))
    assert abs(turned[3]) == pytest.approx(0.3)
    for wrong in ("roll", "xx", "", "x q"):
        with pytest.raises(DalembertError):
            puma.operational_space(task=wrong)
    with pytest.raises(DalembertError, match="rotates its tip about several"):
        puma.operational_space(task="angle")
    with pytest.raises(DalembertError, match="orientation is "):
        puma.operational_space(orientation="euler")
    with pytest.raises(ShapeError, match="last axis must be 3"):
        planar.operational_space().torque(np.zeros(3), np.zeros(3), np.zeros(2))


def test_poses_are_orientations() -> None:
    arm = arms.arm("ur5e")
    q = np.random.default_rng(2).uniform(-3, 3, (50, 6))
    R = arm.pose(q)[:, :3, :3]

    def about(axis: int, angle: np.ndarray) -> np.ndarray:
        out = np.zeros((len(angle), 3, 3))
        a, b = (axis + 1) % 3, (axis + 2) % 3
        out[:, axis, axis] = 1
        out[:, a, a] = out[:, b, b] = np.cos(angle)
        out[:, b, a] = np.sin(angle)
        out[:, a, b] = -np.sin(angle)
        return out

    phi, theta, psi = arm.operational_space(orientation="zyz").pose(q)[:, 3:].T
    assert arms.relative(about(2, phi) @ about(1, theta) @ about(2, psi), R) < 1e-12
    roll, pitch, yaw = arm.operational_space(orientation="rpy").pose(q)[:, 3:].T
    assert arms.relative(about(2, yaw) @ about(1, pitch) @ about(0, roll), R) < 1e-12
    eps = arm.operational_space(orientation="quaternion").pose(q)[:, 3:]
    eta = np.sqrt(np.maximum(1 - (eps**2).sum(-1), 0))
    S = np.cross(eps[:, None, :], np.eye(3)).swapaxes(-1, -2)  # S(ε)
    assert np.abs(np.eye(3) + 2 * eta[:, None, None] * S + 2 * S @ S - R).max() < 1e-7


def test_transformation_ties_the_two_jacobians() -> None:
    for name, orientation in (("puma560", "zyz"), ("ur5e", "rpy"), ("stanford", "quaternion")):
        arm, op, q, _, _ = made(name, orientation)
        assert arms.relative(op.transformation(q) @ op.jacobian(q), arm.jacobian(q)) < 1e-9


def test_singularities_are_told_apart() -> None:
    arm = arms.arm("puma560")
    wrist = np.array([[0.3, -0.5, 0.4, 0.7, 0.9, 0.1], [0.3, -0.5, 0.4, 0.7, 0.0, 0.1]])
    op = arm.operational_space(orientation="geometric")
    with pytest.raises(SingularityError, match=r"kinematic singularity.*index 1 of the batch") as caught:
        op.inertia(wrist)
    assert (caught.value.kind, caught.value.index) == ("kinematic", (1,)) and caught.value.value < 1e-4
    assert pickle.loads(pickle.dumps(caught.value)).kind == "kinematic"
    upright = da.inverse_kinematics(arm, UPRIGHT, respect_limits=False).q  # theta = 0
    assert op.inertia(upright).shape == (6, 6)  # the arm itself is not singular
    euler = arm.operational_space(orientation="zyz")
    for call in (euler.inertia, euler.jacobian):
        with pytest.raises(SingularityError, match="representation singularity of the orientation 'zyz'") as caught:
            call(upright)
        assert caught.value.kind == "representation" and "the arm itself can move" in str(caught.value)
    with pytest.raises(SingularityError, match="kinematic"):
        arm.operational_space(orientation="rpy").inertia(wrist[1])
    with pytest.raises(SingularityError, match="in any configuration"):
        arms.arm("planar-3r").operational_space(orientation="geometric", task="pose").inertia([0.1, 0.2, 0.3])
    with pytest.raises(SingularityError, match="kinematic"):
        arms.arm("planar-2r").operational_space().gravity([0.4, 0.0])


def test_messages_about_singularities_give_true_advice() -> None:
    with pytest.raises(SingularityError, match="also at a kinematic singularity there, so only damping") as told:
        arms.arm("puma560").operational_space(orientation="zyz").inertia(np.zeros(6))
    assert "Use another orientation" not in str(told.value)
    with pytest.raises(SingularityError, match=r"besides, arm 'planar-3r' cannot move .* omit the task"):
        arms.arm("planar-3r").operational_space(task="pose").inertia([0.3, 0.5, -0.7])


def test_what_is_no_number_is_no_singularity() -> None:
    op = arms.arm("planar-3r").operational_space(task="xy")
    q = np.array([[0.3, 0.5, -0.7], [np.nan, 0.5, -0.7]])
    B = op.inertia(q)
    assert np.isfinite(B[0]).all() and np.isnan(B[1]).all()
    q[0] = 0.0
    with pytest.raises(SingularityError) as told:
        op.torque(q, np.zeros(3), [0.0, 0.0])
    assert told.value.index == (0,)


def test_wrong_input_is_named() -> None:
    arm = arms.arm("planar-3r")
    op, q = arm.operational_space(task="xy"), [0.3, 0.5, -0.7]
    with pytest.raises(ShapeError, match=r"^tau0 has shape \(2,\)"):
        op.torque(q, q, [0.0, 0.0], None, [1.0, 2.0])
    with pytest.raises(ShapeError, match="xdd is not an array of numbers"):
        op.torque(q, q, "up")
    for wrong in ({"task": 5}, {"task": [1, 2]}, {"damping": "little"}, {"damping": np.nan}):
        with pytest.raises(DalembertError, match=r"task is|damping is"):
            arm.operational_space(**wrong)


def test_damping_bounds_what_would_be_infinite_and_changes_nothing_elsewhere() -> None:
    arm = arms.arm("planar-2r")
    exact, damped = arm.operational_space(), arm.operational_space(damping=0.01)
    q = np.array([[0.4, 0.0], [0.4, 1e-9], [0.4, 0.001], [0.4, 2.0]])
    B_A = damped.inertia(q)
    assert np.isfinite(B_A).all() and np.abs(B_A[:3]).max() <= 1 / 0.01**2 * 1.01
    assert (B_A[3] == exact.inertia(q[3])).all()
    J, B = arm.jacobian(q[0])[:2], arm.inertia_matrix(q[0])
    assert arms.relative(B_A[0], np.linalg.inv(J @ np.linalg.solve(B, J.T) + 1e-4 * np.eye(2))) < 1e-6
    bend = np.linspace(0, 0.5, 2001)
    largest = np.linalg.eigvalsh(damped.inertia(np.stack([0 * bend, bend], -1)))[:, -1]
    assert largest.max() < 2 / 0.01**2 and np.abs(np.diff(largest)).max() < 0.01 * largest.max()  # no jump
    puma = arms.arm("puma560")
    upright = da.inverse_kinematics(puma, UPRIGHT, respect_limits=False).q
    assert np.isfinite(puma.operational_space(orientation="zyz", damping=0.05).inertia(upright)).all()
    with pytest.raises(DalembertError, match="damping"):
        arm.operational_space(damping=-1.0)


def test_other_frames_and_pickles() -> None:
    arm = arms.arm("planar-3r")
    op = arm.operational_space(frame="link2")
    assert op.rows == ("x", "y") and op.pose([0.0, 0.0, 0.7]) == pytest.approx([1.0, 0.0])
    again = pickle.loads(pickle.dumps(op))
    assert (again.jacobian([0.1, 0.2, 0.3]) == op.jacobian([0.1, 0.2, 0.3])).all() and again.rows == op.rows
    with pytest.raises(DalembertError, match="no link 'hand'"):
        arm.operational_space(frame="hand")


def test_a_wrench_on_another_frame_moves_it_as_asked() -> None:
    arm = arms.arm("planar-3r")
    op, whole = (arm.operational_space("link2", "geometric", task) for task in ("xy", "pose"))
    q, qd, h_e = np.array([0.4, 0.9, -0.5]), np.array([0.3, -0.2, 0.5]), np.array([4.0, -3.0, 0.0, 0.0, 0.0, 2.0])
    load = whole.jacobian(q).T @ h_e
    assert np.abs(op.contact_torque(q, h_e) - load).max() < 1e-12
    for tau in (op.torque(q, qd, [1.0, -2.0], h_e), op.kinematic_torque(q, qd, [1.0, -2.0], h_e)):
        moved = op.acceleration(q, qd, arm.forward_dynamics(q, qd, tau - load))
        assert np.abs(moved - [1.0, -2.0]).max() < 1e-9
    t, x, xd, xdd = swing(op, q)
    for resolution in ("kinematic", "dynamic"):
        for wrench in (None, h_e):
            run = op.follow(t, x, xd, xdd, q, wrench=wrench, resolution=resolution)
            assert np.abs(op.pose(run.q) - x).max() < 1e-9
            needed = arm.inverse_dynamics(run.q, run.qd, run.qdd)
            needed = needed if wrench is None else needed + whole.jacobian(run.q).swapaxes(-1, -2) @ h_e
            assert np.abs(run.tau - needed).max() < 1e-7


def swing(op: OperationalSpace, q0: np.ndarray, count: int = 81) -> tuple[np.ndarray, ...]:
    """A smooth motion of the tip from where q0 has it."""
    t = np.linspace(0, 1, count)
    s, w = 1 - np.cos(np.pi * t), np.pi
    d = np.zeros(op.m)
    d[:2] = -0.1, -0.08
    x = op.pose(q0) + s[:, None] * d
    return t, x, (w * np.sin(w * t))[:, None] * d, (w * w * np.cos(w * t))[:, None] * d


def test_a_motion_of_the_tip_both_ways() -> None:
    arm = arms.arm("planar-3r")
    q0 = np.array([0.9, -1.0, -0.7])
    full = arm.operational_space()
    t, x, xd, xdd = swing(full, q0)
    one, two = (full.follow(t, x, xd, xdd, q0, resolution=r) for r in ("kinematic", "dynamic"))
    assert arms.relative(one.q, two.q) < 1e-9 and arms.relative(one.tau, two.tau) < 1e-7  # not redundant: the same
    op = arm.operational_space(task="xy")
    t, x, xd, xdd = swing(op, q0)
    runs = [op.follow(t, x, xd, xdd, q0, resolution=r) for r in ("kinematic", "dynamic")]
    for run in runs:
        assert np.abs(op.pose(run.q) - x).max() < 1e-9
        assert np.abs(op.velocity(run.q, run.qd) - xd).max() < 1e-9
        assert np.abs(op.acceleration(run.q, run.qd, run.qdd) - xdd).max() < 1e-8
        assert np.abs(arm.inverse_dynamics(run.q, run.qd, run.qdd) - run.tau).max() < 1e-7
        rate = np.gradient(run.q, t, axis=0, edge_order=2)  # q̇ is the derivative of q
        assert np.abs(rate - run.qd).max() < 0.05 * np.abs(run.qd).max()
    assert np.abs(runs[0].q - runs[1].q).max() > 1e-2  # redundancy resolved differently
    damp = op.follow(t, x, xd, xdd, q0, resolution="dynamic", tau0=lambda t, q, qd: arm.gravity_torque(q) - 5 * qd)
    assert np.abs(op.pose(damp.q) - x).max() < 1e-9 and np.abs(damp.q - runs[1].q).max() > 1e-3
    with pytest.raises(ShapeError):
        op.follow(t, x[:3], xd, xdd, q0)
    stretched = np.concatenate([x[:1], x[:1] + 5.0])
    with pytest.raises(DalembertError):
        op.follow([0.0, 1.0], stretched, 0 * stretched, 0 * stretched, q0)


def test_controller_follows_a_motion() -> None:
    arm = arms.arm("planar-3r")
    op = arm.operational_space(task="xy")
    q0 = np.array([0.9, -1.0, -0.7])
    start = op.pose(q0)

    def reference(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        a = 0.1 * np.array([1 - np.cos(2 * t), np.sin(2 * t)])
        return (
            start + a,
            0.2 * np.array([np.sin(2 * t), np.cos(2 * t)]),
            0.4 * np.array([np.cos(2 * t), -np.sin(2 * t)]),
        )

    control = da.OperationalController(op, reference, kp=400.0, kd=40.0)
    run = da.simulate(arm, q0, None, control, 1.5, step=2e-3)
    wanted = np.array([reference(t)[0] for t in run.t])
    error = np.linalg.norm(op.pose(run.q) - wanted, axis=-1)
    assert error[-1] < 1e-6 and error.max() < 0.03  # it starts with another velocity
    with pytest.raises(DalembertError, match="press against"):
        da.OperationalController(op, start, force={"y": 1.0})
    with pytest.raises(ShapeError):
        da.OperationalController(op, [1.0, 2.0, 3.0])


def test_controller_presses_with_the_force_asked_for() -> None:
    """Motion along a wall, 25 N into it."""
    arm = arms.arm("planar-3r")
    op = arm.operational_space()
    q0 = np.array([0.9, -1.0, -0.7])
    x0 = op.pose(q0)
    wall = da.Wall((0.0, float(x0[1]), 0.0), (0.0, 1.0, 0.0), stiffness=2e4)

    def reference(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        v = np.array([-0.1, 0.0, 0.0])
        return x0 + t * v, v, np.zeros(3)

    control = da.OperationalController(op, reference, kp=200.0, kd=30.0, force={"y": -25.0}, kf=0.02, contact=wall)
    run = da.simulate(arm, q0, None, control, 1.5, step=1e-3, every=50)
    force = np.array([wall.wrench(op, q, qd)[1] for q, qd in zip(run.q, run.qd, strict=True)])
    assert abs(force[-1] + 25.0) < 0.05
    assert abs(op.pose(run.q[-1])[0] - (x0[0] - 0.15)) < 1e-3


@pytest.mark.parametrize("orientation", ["zyz", "rpy", "quaternion", "geometric"])
def test_difference_of_two_poses(orientation: str) -> None:
    """Positions subtract; geometric turns are the rotation from one to the other, angles go the short way round."""
    arm = da.load("puma560")
    op = arm.operational_space(orientation=orientation)
    rng = np.random.default_rng(4)
    a, b = np.array([0, 0.5, 0.5, 0.5, 0.9, 0]) + rng.uniform(-1, 1, (2, 20, 6))
    found = op.difference(op.pose(a), op.pose(b))
    P, Q = arm.pose(a), arm.pose(b)
    assert np.allclose(found[:, :3], P[:, :3, 3] - Q[:, :3, 3], atol=1e-12)
    if orientation == "geometric":
        turn = Rotation.from_matrix(P[:, :3, :3] @ np.swapaxes(Q[:, :3, :3], 1, 2)).as_rotvec()
        assert np.allclose(found[:, 3:], turn, atol=1e-9)
    elif orientation != "quaternion":
        plain = op.pose(a)[:, 3:] - op.pose(b)[:, 3:]
        assert np.abs(found[:, 3:]).max() <= np.pi + 1e-12
        assert np.allclose(np.sin(found[:, 3:] - plain), 0, atol=1e-9)


@pytest.mark.parametrize("name", ["planar-3r", "palletizer"])
def test_torques_of_the_tip_know_friction_that_depends_on_the_load(name: str) -> None:
    a = arms.arm(name)
    held = list(a.mechanism.actuated)
    frictions = [arms.LOADED[i % 2] if i in held else Friction(0.1) for i in range(a.mechanism.tree.n)]
    a = da.Arm(arms.with_terms(a.robot, frictions))
    op = a.operational_space("tip", "geometric", "xy" if name == "planar-3r" else "xyz")
    q, qd = a.home + 0.3, 0.4 * np.cos(1.0 + np.arange(a.n))
    xdd, h_e = np.array([1.0, -2.0, 0.5])[: op.m], np.array([4.0, -3.0, 0.0, 0.0, 0.0, 0.0])
    for wrench in (None, h_e):
        tau = op.torque(q, qd, xdd, wrench)
        assert np.abs(op.acceleration(q, qd, a.forward_dynamics(q, qd, tau, wrench)) - xdd).max() < 1e-8
    with pytest.raises(DalembertError, match=r"has load-dependent friction \('load'\), which depends on the load"):
        op.kinematic_torque(q, qd, xdd, h_e)
    with pytest.raises(DalembertError, match=r"but the controller knows the contact only"):
        da.OperationalController(op, op.pose(q), contact=lambda q, qd: h_e)


def test_gravity_of_the_tip_is_gravity_alone() -> None:
    plain = arms.arm("planar-2r")
    sprung = da.Arm(arms.with_terms(plain.robot, [Friction(spring={"stiffness": 30.0, "rest": 0.4}, offset=2.0)]))
    q = np.array([0.4, 0.9])
    expected, op = plain.operational_space(task="xy").gravity(q), sprung.operational_space(task="xy")
    assert np.abs(op.gravity(q) - expected).max() < 1e-9
    # but the centre of the accelerations is what the arm does without its motors
    center = sprung.dynamic_manipulability(q, [1.0, 1.0], task="xy").center
    assert np.abs(center - op.acceleration(q, 0.0 * q, sprung.forward_dynamics(q, 0.0 * q, 0.0 * q))).max() < 1e-9
