"""Inverse dynamics against independent oracles, published numbers, and the page itself."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from arms import (
    DISTINCT,
    FILES,
    MODELS,
    REFERENCE,
    REGISTRY,
    arm,
    on_floats,
    random_robot,
    relative,
    robots,
    states,
    tree_positions,
    tree_velocities,
)
from dalembert.mechanics.equations import lean_newton_euler, newton_euler
from dalembert.mechanics.equations.newton_euler import BaseMotion
from dalembert.robot import Friction, Inertia, Joint, Link, Placement, Robot, Rotor
from dalembert.robot.model.mechanism import mechanism
from dalembert.robot.readers.urdf_writer import write_urdf

TOLERANCE = 1e-10


def pin_configuration(model: pin.Model, q: np.ndarray) -> np.ndarray:
    out = pin.neutral(model)
    for j in range(1, model.njoints):
        joint = model.joints[j]
        if joint.nq == 2:
            out[joint.idx_q : joint.idx_q + 2] = np.cos(q[joint.idx_v]), np.sin(q[joint.idx_v])
        else:
            out[joint.idx_q] = q[joint.idx_v]
    return out


class Oracle:
    """Pinocchio's model of a URDF, spoken to in the arm's joint order; Drake's rotors, which it does not read, are given."""

    def __init__(self, model: pin.Model, a: da.Arm) -> None:
        names = [model.names[j] for j in range(1, model.njoints)]
        self.order = [a.joint_names.index(name) for name in names]
        rotors = [joint.rotor for joint in a.robot.moving_joints]
        reflected = [r.gear**2 * r.inertia if r is not None and r.reflected else 0.0 for r in rotors]
        model.armature[:] = np.array(reflected)[self.order]
        self.model, self.data = model, model.createData()
        self.back = np.argsort(self.order)

    def q(self, q: np.ndarray) -> np.ndarray:
        return pin_configuration(self.model, q[self.order])

    def rnea(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return pin.rnea(self.model, self.data, self.q(q), qd[self.order], qdd[self.order])[self.back]


def pin_oracle(name: str) -> tuple[da.Arm, Oracle]:
    a = arm(name)
    return a, Oracle(pin.buildModelFromUrdf(str(MODELS / name)), a)


@pytest.mark.parametrize("name", FILES)
def test_torques_equal_pinocchio(name: str) -> None:
    a, oracle = pin_oracle(name)
    x = states(a, 40)
    expected = np.array([oracle.rnea(*row) for row in zip(*x, strict=True)])
    assert relative(a.inverse_dynamics(*x) - a.friction_torque(x[1]), expected) < TOLERANCE
    assert relative(a.gravity_torque(x[0]), [oracle.rnea(q, 0 * q, 0 * q) for q in x[0]]) < TOLERANCE


@pytest.mark.parametrize("name", FILES)
def test_kinematics_equal_pinocchio(name: str) -> None:
    a, oracle = pin_oracle(name)
    model, data = oracle.model, oracle.data
    frame = model.getFrameId(a.robot.tip.link)  # type: ignore[union-attr]
    for q, qd, _ in zip(*states(a, 8), strict=True):
        Q, V = oracle.q(q), qd[oracle.order]
        pin.computeJointJacobiansTimeVariation(model, data, Q, V)
        pin.updateFramePlacements(model, data)
        assert relative(a.pose(q), data.oMf[frame].homogeneous) < TOLERANCE
        J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)[:, oracle.back]
        dJ = pin.getFrameJacobianTimeVariation(model, data, frame, pin.LOCAL_WORLD_ALIGNED)[:, oracle.back]
        assert relative(a.jacobian(q), J) < TOLERANCE
        assert relative(a.jacobian_derivative(q, qd), dJ) < TOLERANCE


@settings(max_examples=30, deadline=None)
@given(robots(12, extras=False), st.integers(0, 10**6))
def test_random_trees_equal_pinocchio_and_mujoco(robot: Robot, seed: int) -> None:
    """Trees and chains up to 12 joints, as floats, against both oracles through their own URDF readers."""
    a = da.Arm(robot)
    text = write_urdf(robot)
    oracle = Oracle(pin.buildModelFromXML(text), a)
    q, qd, qdd = (x[0] for x in states(a, 1, seed))
    tau = np.array(newton_euler.inverse_dynamics(a.mechanism, q.tolist(), qd.tolist(), qdd.tolist()))
    assert relative(tau, oracle.rnea(q, qd, qdd)) < TOLERANCE
    assert relative(tau, mujoco_torques(mujoco_model(text), a, q, qd, qdd)) < 1e-9  # its tensors are diagonalised


def mujoco_model(urdf: str) -> mujoco.MjModel:
    root = ET.fromstring(urdf)
    extra = ET.SubElement(ET.SubElement(root, "mujoco"), "compiler")
    extra.set("fusestatic", "false")
    extra.set("balanceinertia", "false")
    extra.set("strippath", "false")
    for d in root.iter("dalembert"):
        d.clear()
    return mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))


def mujoco_torques(model: mujoco.MjModel, a: da.Arm, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    data = mujoco.MjData(model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.dof_damping[:] = 0
    model.dof_frictionloss[:] = 0
    at = [model.jnt_dofadr[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, n)] for n in a.joint_names]
    data.qpos[at], data.qvel[at], data.qacc[at] = q, qd, qdd
    mujoco.mj_inverse(model, data)
    return data.qfrc_inverse[at]


def test_mjcf_with_armature_equals_mujoco() -> None:
    if not MODELS.exists():
        pytest.skip("../shared/data is not here")
    from dalembert.robot.readers.mjcf import read_mjcf

    a = da.Arm(read_mjcf(MODELS / "ur5e_mjcf.xml"))
    spec = mujoco.MjSpec.from_file(str(MODELS / "ur5e_mjcf.xml"))
    for geom in list(spec.geoms):
        spec.delete(geom)
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    for row in zip(*states(a, 20), strict=True):
        assert (
            relative(a.inverse_dynamics(*row) - a.friction_torque(row[1]), mujoco_torques(model, a, *row)) < TOLERANCE
        )
    shipped = da.load("ur5e")
    x = states(a, 20)
    assert relative(shipped.inverse_dynamics(*x), a.inverse_dynamics(*x)) < TOLERANCE


# -- rotors: an independent model, each rotor a body of its own on a geared joint ------------------


def with_rotors_as_bodies(robot: Robot) -> tuple[Robot, list[int | None]]:
    """The robot with every full rotor a body that turns about its own axis on the carrying link.

    Its joint variable is k_r q_i; the constraint is reduced away below. No friction, nothing shared
    with the rotor model under test but the geometry.
    """
    links, joints = list(robot.links), []
    spin: list[int | None] = []
    for joint in robot.joints:
        rotor = joint.rotor
        plain = Joint(
            joint.name,
            joint.type,
            joint.parent,
            joint.child,
            joint.placement,
            joint.axis,
            joint.offset,
            joint.link_frame,
        )
        joints.append(plain)
        if not joint.moves:
            continue
        if rotor is None or rotor.reflected:
            spin.append(None)
            continue
        axis = rotor.axis or joint.placement.direction(joint.axis)
        position = rotor.position or joint.placement.translation
        z = np.array(axis)
        x = np.cross(z, [0.3, -0.5, 0.8])
        x /= np.linalg.norm(x)
        R = np.column_stack([x, np.cross(z, x), z])
        body = Inertia(rotor.mass, (0, 0, 0), np.diag([rotor.transverse, rotor.transverse, rotor.inertia]).tolist())
        links.append(Link(f"rotor of {joint.name}", body, physical=False))
        spin.append(len([j for j in joints if j.moves]))
        joints.append(
            Joint(
                f"spin of {joint.name}",
                "revolute",
                joint.parent,
                f"rotor of {joint.name}",
                Placement(R.tolist(), position),
            )
        )
    return Robot("bodies", tuple(links), tuple(joints), robot.gravity, robot.base, robot.tip, robot.payload), spin


@settings(max_examples=30, deadline=None)
@given(robots(8), st.integers(0, 10**6))
def test_full_rotor_model_equals_rotors_as_bodies(robot: Robot, seed: int) -> None:
    """τ_i of the rotor model is τ_i + k_r τ_spin of the larger tree that has rotors as bodies."""
    bodies, _ = with_rotors_as_bodies(robot)
    big = mechanism(bodies)
    names = [b.name for b in big.bodies]
    q, qd, qdd = (x[0] for x in states(da.Arm(robot), 1, seed))
    gears = {f"spin of {j.name}": (k, j.rotor.gear) for k, j in enumerate(robot.moving_joints) if j.rotor}
    place = {j.name: k for k, j in enumerate(robot.moving_joints)}

    def lifted(x: np.ndarray) -> list[float]:
        return [float(x[place[n]]) if n in place else float(gears[n][1] * x[gears[n][0]]) for n in names]

    large = newton_euler.newton_euler(big, lifted(q), lifted(qd), lifted(qdd), with_friction=False).tau
    expected = np.zeros(len(place))
    for name, tau in zip(names, large, strict=True):
        if name in place:
            expected[place[name]] += tau
        else:
            expected[gears[name][0]] += gears[name][1] * tau
    for k, joint in enumerate(robot.moving_joints):
        if joint.rotor and joint.rotor.reflected:
            expected[k] += joint.rotor.gear**2 * joint.rotor.inertia * qdd[k]
            # its mass is a point on the carrying link
    if any(j.rotor and j.rotor.reflected and j.rotor.mass for j in robot.moving_joints):
        return
    m = mechanism(robot)
    got = newton_euler.newton_euler(m, q.tolist(), qd.tolist(), qdd.tolist(), with_friction=False).tau
    assert relative(got, expected) < TOLERANCE


def test_reflected_drops_only_the_coupling() -> None:
    """S 7.3.2: with ``reflected`` the off-diagonal k_r2 I_m2 and the I_m2 on b_11 are gone."""
    full = da.load("planar-2r")
    joints = tuple(
        j if j.rotor is None else Joint(**{**vars(j), "rotor": Rotor(**{**vars(j.rotor), "reflected": True})})
        for j in full.robot.joints
    )
    reduced = full.replace(joints=joints)
    q, z = [0.3, 0.7], [0.0, 0.0]
    g = full.gravity_torque(q)
    full_column = full.inverse_dynamics(q, z, [0.0, 1.0]) - g
    reduced_column = reduced.inverse_dynamics(q, z, [0.0, 1.0]) - reduced.gravity_torque(q)
    assert full_column - reduced_column == pytest.approx([100 * 0.01, 0.0])
    first = (
        full.inverse_dynamics(q, z, [1.0, 0.0])
        - g
        - (reduced.inverse_dynamics(q, z, [1.0, 0.0]) - reduced.gravity_torque(q))
    )
    assert first == pytest.approx([0.01, 100 * 0.01])


# -- the lean recursion equals the page's form ----------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(robots(12), st.integers(0, 10**6))
def test_lean_equals_the_page(robot: Robot, seed: int) -> None:
    m = mechanism(robot)
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-2, 2, (3, m.n)).tolist()
    h = rng.uniform(-5, 5, 6).tolist()
    base = BaseMotion(*(tuple(v) for v in rng.uniform(-1, 1, (3, 3)).tolist()))
    page = newton_euler.inverse_dynamics(m, q, qd, qdd, h, base)
    assert relative(lean_newton_euler.inverse_dynamics(m, q, qd, qdd, h, base), page) < TOLERANCE


@pytest.mark.parametrize("name", DISTINCT)
def test_lean_equals_the_page_on_the_registry(name: str) -> None:
    a = arm(name)
    q, qd, qdd = states(a, 30, 4)
    rng = np.random.default_rng(1)
    h, b = rng.uniform(-9, 9, (30, 6)), rng.uniform(-1, 1, (30, 9))
    given = {"q": q, "qd": qd, "qdd": qdd, "tip_wrench": h, "base_motion": b}
    page = on_floats(a, "inverse_dynamics", "newton-euler", **given)
    assert relative(a.inverse_dynamics(**given), page) < TOLERANCE


@pytest.mark.parametrize("name", DISTINCT)
def test_tip_wrench_is_the_jacobian_transposed(name: str) -> None:
    """S (7.42): the torques gain Jᵀ h_e."""
    a = arm(name)
    q, qd, qdd = states(a, 10, 5)
    h = np.random.default_rng(2).uniform(-9, 9, (10, 6))
    gained = a.inverse_dynamics(q, qd, qdd, tip_wrench=h) - a.inverse_dynamics(q, qd, qdd)
    assert np.allclose(gained, np.einsum("kij,ki->kj", a.jacobian(q), h), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("name", REGISTRY)
def test_jacobian_is_the_derivative_of_the_pose(name: str) -> None:
    a = arm(name)
    q, qd, _ = states(a, 6, 6)
    e = 1e-3

    def slope(f):  # type: ignore[no-untyped-def]
        return (8 * (f(q + e * qd) - f(q - e * qd)) - (f(q + 2 * e * qd) - f(q - 2 * e * qd))) / (12 * e)

    v = np.einsum("kij,kj->ki", a.jacobian(q), qd)
    Td, T = slope(a.pose), a.pose(q)
    W = Td[:, :3, :3] @ np.swapaxes(T[:, :3, :3], 1, 2)
    assert np.allclose(v[:, :3], Td[:, :3, 3], atol=1e-7)
    assert np.allclose(v[:, 3:], np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], 1), atol=1e-7)
    assert np.allclose(a.jacobian_derivative(q, qd), slope(a.jacobian), atol=1e-7)
    last = a.link_poses(q)[:, a.mechanism.tip_body]
    tip = np.eye(4)
    tip[:3, :3], tip[:3, 3] = a.mechanism.tip.rotation, a.mechanism.tip.translation
    assert np.allclose(last @ tip, T, atol=1e-12)


# -- f_i and μ_i ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DISTINCT)
def test_joint_wrenches_balance_every_link(name: str) -> None:
    """Newton and Euler on each link, with the motion taken from differences of the poses, not from the recursion."""
    a = arm(name)
    m = a.mechanism.tree
    q, qd, qdd = (x[0] for x in states(a, 1, 9, scale=1.0))
    h = np.random.default_rng(3).uniform(-5, 5, 6)
    wrench = a.joint_wrenches(q, qd, qdd, tip_wrench=h)
    e = 1e-3
    times = np.array([-3, -2, -1, 0, 1, 2, 3]) * e
    path = q + np.outer(times, qd) + 0.5 * np.outer(times**2, qdd)
    poses, tip = a.link_poses(path), a.pose(q)
    first = np.array([-1, 9, -45, 0, 45, -9, 1]) / (60 * e)
    second = np.array([2, -27, 270, -490, 270, -27, 2]) / (180 * e * e)
    g = np.array(m.gravity)
    scale = 1 + np.abs(wrench).max()
    momentum = np.zeros((m.n, 7, 3))  # spin of the rotors that each link carries, in base axes
    for body in m.bodies:
        if body.parent >= 0 and body.has_rotor and not body.reflected:
            i = [b.name for b in m.bodies].index(body.name)
            rate = tree_velocities(a, path, qd + np.outer(times, qdd))[:, i]
            z = poses[:, body.parent, :3, :3] @ np.array(body.rotor_axis)
            momentum[body.parent] += body.gear * body.rotor_inertia * rate[:, None] * z
    for i, body in enumerate(m.bodies):
        R, p = poses[:, i, :3, :3], poses[:, i, :3, 3]
        com = p + R @ np.array(body.inertia.com)
        acceleration = np.einsum("k,kj->j", second, com)
        Rd = np.einsum("k,kij->ij", first, R)
        W = Rd @ R[3].T
        omega_mid = np.array([W[2, 1], W[0, 2], W[1, 0]])
        # angular momentum along the path, from R(t) alone
        L = []
        for k in range(7):
            at = a.link_poses(path[k] + np.outer(np.array([-2, -1, 1, 2]) * e, qd + times[k] * qdd))[:, i, :3, :3]
            Rk = poses[k, i, :3, :3]
            Wk = ((at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * e)) @ Rk.T
            wk = np.array([Wk[2, 1], Wk[0, 2], Wk[1, 0]])
            L.append(Rk @ np.array(body.inertia.tensor) @ Rk.T @ wk)
        dL = np.einsum("k,kj->j", first, np.array(L) + momentum[i])
        force, moment = R[3] @ wrench[i, :3], R[3] @ wrench[i, 3:]
        joint_origin = np.array(_joint_origin(a, i, q))
        total_f = force + body.inertia.mass * g
        total_m = moment + np.cross(joint_origin - com[3], force)
        for j in m.children(i):
            f, mu = poses[3, j, :3, :3] @ wrench[j, :3], poses[3, j, :3, :3] @ wrench[j, 3:]
            total_f = total_f - f
            total_m = total_m - mu - np.cross(np.array(_joint_origin(a, j, q)) - com[3], f)
        if i == m.tip_body:
            total_f = total_f - h[:3]
            total_m = total_m - h[3:] - np.cross(tip[:3, 3] - com[3], h[:3])
        for loop, (*f, x, y, z) in zip(a.mechanism.loops, a.loop_wrenches(q, qd, qdd, tip_wrench=h), strict=True):
            for side, end, place in (
                (1.0, loop.ends.body_a, loop.ends.place_a),
                (-1.0, loop.ends.body_b, loop.ends.place_b),
            ):
                if end == i:  # what link b exerts on link a, and a on b the opposite
                    point = p[3] + R[3] @ np.array(place.translation)
                    total_f = total_f + side * np.array(f)
                    total_m = total_m + side * (np.array([x, y, z]) + np.cross(point - com[3], f))
        assert np.allclose(total_f, body.inertia.mass * acceleration, atol=2e-5 * scale), body.name
        assert np.allclose(total_m, dL, atol=2e-5 * scale), (body.name, omega_mid)


def _joint_origin(a: da.Arm, i: int, q: np.ndarray) -> list[float]:
    from dalembert.mechanics.equations.kinematics import frames

    return list(frames(a.mechanism.tree, tree_positions(a, q).tolist()).p_joint[i])


# -- the page: S 7.5.3 step by step ---------------------------------------------------------------


def test_example_of_section_7_5_3() -> None:
    """Every step of S 7.5.3 for the two-link planar arm, from the formulas as printed."""
    a = da.load("planar-2r")
    a1, a2, g = 1.0, 1.0, 9.81
    l1 = l2 = 0.5
    m1, m2, I1, I2, Im, kr = 50.0 + 5.0, 50.0, 10.0, 10.0, 0.01, 100.0
    # augmented link 1 carries rotor 2 at its end: m_1 ℓ_C1 = m_ℓ1 (ℓ_1 − a_1), Ī_1 by Steiner, (7.83)
    lC1 = 50.0 * (l1 - a1) / m1
    Ibar1 = I1 + 50.0 * (l1 - a1) ** 2 + Im - m1 * lC1**2
    lC2, Ibar2 = l2 - a2, I2
    (t1, t2), (v1, v2), (w1, w2) = (0.4, -0.9), (1.3, 0.7), (-2.1, 3.4)
    s1, c1, s2, c2 = math.sin(t1), math.cos(t1), math.sin(t2), math.cos(t2)
    s12, c12 = math.sin(t1 + t2), math.cos(t1 + t2)
    run = newton_euler.newton_euler(a.mechanism, [t1, t2], [v1, v2], [w1, w2], with_friction=False)
    near = lambda x: pytest.approx(x, rel=1e-12, abs=1e-10)  # noqa: E731
    # forward recursion: link 1
    assert run.omega[0] == near((0, 0, v1))
    assert run.omega_dot[0] == near((0, 0, w1))
    assert run.p_ddot[0] == near((-a1 * v1**2 + g * s1, a1 * w1 + g * c1, 0))
    assert run.p_ddot_C[0] == near((-(lC1 + a1) * v1**2 + g * s1, (lC1 + a1) * w1 + g * c1, 0))
    assert run.omega_dot_m[0] == near((0, 0, kr * w1))
    # forward recursion: link 2
    assert run.omega[1] == near((0, 0, v1 + v2))
    assert run.omega_dot[1] == near((0, 0, w1 + w2))
    x = a1 * s2 * w1 - a1 * c2 * v1**2
    y = a1 * c2 * w1 + a1 * s2 * v1**2
    assert run.p_ddot[1] == near((x - a2 * (v1 + v2) ** 2 + g * s12, y + a2 * (w1 + w2) + g * c12, 0))
    pC = (x - (lC2 + a2) * (v1 + v2) ** 2 + g * s12, y + (lC2 + a2) * (w1 + w2) + g * c12, 0)
    assert run.p_ddot_C[1] == near(pC)
    assert run.omega_dot_m[1] == near((0, 0, w1 + kr * w2))
    # backward recursion: link 2
    assert run.f[1] == near(tuple(m2 * v for v in pC))
    r = lC2 + a2
    mu2 = (
        Ibar2 * (w1 + w2) + m2 * r**2 * (w1 + w2) + m2 * a1 * r * c2 * w1 + m2 * a1 * r * s2 * v1**2 + m2 * r * g * c12
    )
    assert run.mu[1][2] == near(mu2)
    tau2 = (
        (Ibar2 + m2 * (r**2 + a1 * r * c2) + kr * Im) * w1
        + (Ibar2 + m2 * r**2 + kr**2 * Im) * w2
        + m2 * a1 * r * s2 * v1**2
        + m2 * r * g * c12
    )
    assert run.tau[1] == near(tau2)
    # backward recursion: link 1
    k = lC1 + a1
    f1 = (
        -m2 * r * s2 * (w1 + w2) - m1 * k * v1**2 - m2 * a1 * v1**2 - m2 * r * c2 * (v1 + v2) ** 2 + (m1 + m2) * g * s1,
        m1 * k * w1 + m2 * a1 * w1 + m2 * r * c2 * (w1 + w2) - m2 * r * s2 * (v1 + v2) ** 2 + (m1 + m2) * g * c1,
        0,
    )
    assert run.f[0] == near(f1)
    mu1 = (
        Ibar1 * w1 + m2 * a1**2 * w1 + m1 * k**2 * w1 + m2 * a1 * r * c2 * w1 + Ibar2 * (w1 + w2)
        + m2 * a1 * r * c2 * (w1 + w2) + m2 * r**2 * (w1 + w2) + kr * Im * w2 + m2 * a1 * r * s2 * v1**2
        - m2 * a1 * r * s2 * (v1 + v2) ** 2 + m1 * k * g * c1 + m2 * a1 * g * c1 + m2 * r * g * c12
    )  # fmt: skip
    assert run.mu[0][2] == near(mu1)
    tau1 = (
        (Ibar1 + m1 * k**2 + kr**2 * Im + Ibar2 + m2 * (a1**2 + r**2 + 2 * a1 * r * c2)) * w1
        + (Ibar2 + m2 * (r**2 + a1 * r * c2) + kr * Im) * w2
        - 2 * m2 * a1 * r * s2 * v1 * v2 - m2 * a1 * r * s2 * v2**2 + (m1 * k + m2 * a1) * g * c1 + m2 * r * g * c12
    )  # fmt: skip
    assert run.tau[0] == near(tau1)


def test_pendulum_of_example_7_1() -> None:
    """(I + I_m k_r²) ϑ̈ + (F + F_m k_r²) ϑ̇ + m g ℓ sin ϑ = τ, plus Coulomb friction."""
    a = da.load("pendulum")
    joint, link = a.robot.moving_joints[0], a.robot.links[-1].inertia
    rotor = joint.rotor
    assert rotor is not None
    back = joint.link_frame.inverse.translation  # the axis in the link's frame
    arm_length = np.linalg.norm(np.subtract(link.com, back))
    I = link.tensor[2][2] + link.mass * arm_length**2
    q, qd, qdd = 0.8, -1.1, 2.3
    F, Fm, k = joint.friction.viscous, rotor.viscous, rotor.gear
    tau = (I + rotor.inertia * k**2) * qdd + (F + Fm * k**2) * qd + link.mass * 9.81 * arm_length * math.sin(q)
    static = a.friction_torque([qd])[0] - (F + Fm * k**2) * qd
    assert a.inverse_dynamics([q], [qd], [qdd])[0] == pytest.approx(tau + static, rel=1e-12)


# -- published numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["test_puma_dh_num_geo_kin_dyn", "test_puma_mdh_num_geo_kin_dyn"])
def test_puma_of_sympybotics(case: str) -> None:
    file = REFERENCE / "puma560_sympybotics.json"
    if not file.exists():
        pytest.skip("../shared/data is not here")
    data = json.loads(file.read_text())
    table = data["cases"][case]
    for which, suffix in (("dynparm_test", "pcorke"), ("dynparm_test2", "assrt2")):
        rows = []
        for k, (alpha, a, d) in enumerate(row[:3] for row in table["dh"]["rows"]):
            p = table[which][10 * k : 10 * k + 10]
            # order: Ixx Ixy Ixz Iyy Iyz Izz about the frame's origin, first moments, mass
            xx, xy, xz, yy, yz, zz, hx, hy, hz, m = p
            inertia = Inertia.from_origin(m, (hx, hy, hz), ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
            rows.append({"a": a, "alpha": alpha, "d": d, "mass": m, "com": inertia.com, "inertia": inertia.tensor})
        from dalembert.robot.readers.dh import from_dh

        robot = from_dh(rows, "modified" if "mdh" in case else "standard", gravity=(0.0, 0.0, -9.81))
        puma = da.Arm(robot)
        q, qd, qdd = (np.array(table[k]) for k in ("q_test", "dq_test", "ddq_test"))
        assert relative(puma.inverse_dynamics(q, qd, qdd), np.ravel(table[f"tau_{suffix}"])) < 1e-9
        assert relative(puma.gravity_torque(q), np.ravel(table[f"g_{suffix}"])) < 1e-9
        still = puma.inverse_dynamics(q, 0 * q, np.eye(6)) - puma.gravity_torque(q)
        assert relative(still.T, table[f"M_{suffix}"]) < 1e-9
        c = puma.inverse_dynamics(q, qd, 0 * q) - puma.gravity_torque(q)
        assert relative(c, np.ravel(table[f"c_{suffix}"])) < 1e-9
        if suffix == "pcorke":
            assert relative(puma.pose(q), table["T_pcorke"]) < 1e-9
            assert relative(puma.jacobian(q), table["J_pcorke"]) < 1e-9


def test_three_joint_arm_of_modern_robotics() -> None:
    """Its first screw axis has length √2: joint 1 turns √2 times as far and feels τ / √2."""
    file = REFERENCE / "modern_robotics.json"
    if not file.exists():
        pytest.skip("../shared/data is not here")
    data = json.loads(file.read_text())
    screws, com = np.array(data["Slist_rows"], float), np.eye(4)
    links, joints, at = [Link("base")], [], np.zeros(3)
    for i, (M, G, S) in enumerate(zip(data["Mlist"], data["Glist_diag"], screws, strict=False)):
        com = com @ np.array(M)
        w, v = S[:3], S[3:]
        p = np.cross(w, v) / (w @ w)  # a point on the axis: v = −ω × p
        tensor = com[:3, :3] @ np.diag(G[:3]) @ com[:3, :3].T
        links.append(Link(f"link{i}", Inertia(G[3], tuple(com[:3, 3] - p), tensor.tolist())))
        joints.append(
            Joint(f"joint{i}", "revolute", links[-2].name, f"link{i}", Placement(translation=tuple(p - at)), tuple(w))
        )
        at = p
    end = com @ np.array(data["Mlist"][3])
    tip = da.Frame("tip", "link2", Placement(end[:3, :3].tolist(), tuple(end[:3, 3] - at)))
    a = da.Arm(Robot("modern robotics", tuple(links), tuple(joints), tuple(data["g"]), tip=tip))
    stretch = np.linalg.norm(screws[:, :3], axis=1)
    q, qd, qdd = (stretch * np.array(data[k]) for k in ("thetalist", "dthetalist", "ddthetalist"))
    R = a.pose(q)[:3, :3]
    h = np.r_[R @ data["Ftip"][3:], R @ data["Ftip"][:3]]
    expected, near = data["expected"], lambda x: pytest.approx(x, rel=1e-7, abs=1e-7)
    g = a.gravity_torque(q)
    assert stretch * a.inverse_dynamics(q, qd, qdd, tip_wrench=h) == near(expected["InverseDynamics"])
    assert stretch * g == near(expected["GravityForces"])
    assert stretch * (a.inverse_dynamics(q, qd, 0 * q) - g) == near(expected["VelQuadraticForces"])
    assert stretch * (a.jacobian(q).T @ h) == near(expected["EndEffectorForces"])
    M = (a.inverse_dynamics(q, 0 * q, np.eye(3)) - g).T * np.outer(stretch, stretch)
    assert np.allclose(M, expected["MassMatrix"], rtol=1e-7, atol=1e-7)
    rest = stretch * a.inverse_dynamics(q, qd, 0 * q, tip_wrench=h)
    forward = np.linalg.solve(M, np.array([0.5, 0.6, 0.7]) - rest)
    assert forward == near(expected["ForwardDynamics(tau=[.5,.6,.7])"])


# -- base motion, payload, friction ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["planar-3r", "stanford", "panda", "random-tree"])
def test_accelerating_base_is_gravity(name: str) -> None:
    """An upward acceleration of the base is felt like gravity."""
    a = arm(name)
    x = states(a, 5, 2)
    push = np.array([0.3, -1.2, 2.0])
    b = np.concatenate([np.zeros(6), push])
    felt = a.replace(gravity=tuple(np.array(a.robot.gravity) - push))
    assert relative(a.inverse_dynamics(*x, base_motion=b), felt.inverse_dynamics(*x)) < TOLERANCE


def test_turning_base_is_a_joint_more() -> None:
    """A base that turns about z is the same arm on one more vertical joint."""
    inner = random_robot(np.random.default_rng(11), 5, tree=False)
    links = (Link("ground"), *inner.links)
    table = Joint("table", "revolute", "ground", "base", inner.base)
    outer = Robot("on a table", links, (table, *inner.joints), inner.gravity, Placement(), inner.tip, inner.payload)
    # the table's axis is the z-axis of inner.base, in base axes
    z, at = np.array(inner.base.rotation)[:, 2], np.array(inner.base.translation)
    q, qd, qdd = (x[0] for x in states(da.Arm(inner), 1, 3))
    rate, acceleration = 0.7, -1.3
    tau = da.Arm(outer).inverse_dynamics(np.r_[0.0, q], np.r_[rate, qd], np.r_[acceleration, qdd])[1:]
    # it passes through the root link's origin, and the origin of the base frame moves around it
    w, wd = rate * z, acceleration * z
    b = np.concatenate([w, wd, np.cross(wd, -at) + np.cross(w, np.cross(w, -at))])
    # rotor 1 now sits on a link that turns, which base_motion must feel as well
    assert relative(da.Arm(inner).inverse_dynamics(q, qd, qdd, base_motion=b), tau) < TOLERANCE


@pytest.mark.parametrize("name", ["planar-2r", "puma560", "panda"])
def test_payload_is_a_body_at_the_tip(name: str) -> None:
    """Its weight pulls through Jᵀ; and it is the same as a link welded there."""
    a = arm(name)
    mass, com = 3.0, np.array([0.1, -0.05, 0.2])
    tensor = np.diag([0.02, 0.03, 0.04])
    loaded = a.with_payload(mass, com, tensor)
    q, qd, qdd = states(a, 6, 8)
    T = a.pose(q)
    weight = np.zeros((6, 6))
    weight[:, :3] = -mass * np.array(a.robot.gravity)
    weight[:, 3:] = np.cross(T[:, :3, :3] @ com, weight[:, :3])
    held = np.einsum("kij,ki->kj", a.jacobian(q), weight)
    assert np.allclose(loaded.gravity_torque(q) - a.gravity_torque(q), held, atol=1e-9)
    tip = a.robot.tip
    assert tip is not None
    body = Link("load", Inertia(mass, tuple(com), tensor.tolist()))
    weld = Joint("weld", "fixed", tip.link, "load", tip.placement)
    welded = a.replace(links=(*a.robot.links, body), joints=(*a.robot.joints, weld))
    assert relative(loaded.inverse_dynamics(q, qd, qdd), welded.inverse_dynamics(q, qd, qdd)) < TOLERANCE


def test_bad_payloads_are_refused() -> None:
    a = da.load("panda")
    with pytest.raises(da.ShapeError, match="mass is negative"):
        a.with_payload(-1.0)
    with pytest.raises(da.ShapeError, match=r"shape \(2,\); it must be \(3,\)"):
        a.with_payload(1.0, (0, 0))
    with pytest.raises(da.ShapeError, match="triangle"):
        a.with_payload(1.0, (0, 0, 0), np.diag([1, 1, 5.0]))


@given(st.floats(-5, 5), st.floats(0, 3), st.floats(0, 3), st.floats(0, 3))
def test_two_sided_friction(qd: float, viscous: float, forward: float, backward: float) -> None:
    robot = Robot(
        "one", (Link("b"), Link("l", Inertia(1.0))),
        (Joint("j", "revolute", "b", "l", friction=Friction(viscous, (forward, backward))),),
    )  # fmt: skip
    from dalembert.mechanics.equations.friction import friction_torque

    level = forward if qd > 0 else -backward if qd < 0 else 0.0
    assert friction_torque(mechanism(robot), [0.0], [qd], [0.0])[0] == pytest.approx(viscous * qd + level)


def test_motor_side_friction_keeps_its_direction() -> None:
    """A negative gear turns the motor the other way, and with it the two Coulomb levels."""
    robot = Robot(
        "one", (Link("b"), Link("l", Inertia(1.0))),
        (Joint("j", "revolute", "b", "l", rotor=Rotor(0.0, -10.0, viscous=0.5, coulomb=(0.1, 0.3))),),
    )  # fmt: skip
    from dalembert.mechanics.equations.friction import friction_torque

    m = mechanism(robot)
    assert friction_torque(m, [0.0], [2.0], [0.0])[0] == pytest.approx(100 * 0.5 * 2.0 + 10 * 0.3)
    assert friction_torque(m, [0.0], [-2.0], [0.0])[0] == pytest.approx(-100 * 0.5 * 2.0 - 10 * 0.1)
