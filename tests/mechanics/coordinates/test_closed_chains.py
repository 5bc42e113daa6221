"""Closed chains, S 7.3.3: the parallelogram of the book, four-bars and five-bars against MuJoCo and Pinocchio."""

from __future__ import annotations

import gc
import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from arms import CLOSED, COUPLED, on_floats, one_level, relative
from arms import arm as registered
from dalembert.errors import ClosureError, DalembertError, RobotError
from dalembert.mechanics.coordinates import pulled
from dalembert.robot.readers.load import save_robot
from dalembert.robot.readers.mjcf import read_mjcf
from dalembert.robot.readers.toml_reader import parse_toml
from dalembert.robot.readers.toml_writer import write_toml
from dalembert.robot.readers.urdf_writer import write_urdf

FOUR_BAR = """<mujoco model="four-bar"><compiler angle="radian"/>
<option gravity="0 -9.81 0"><flag contact="disable"/></option><worldbody>
<body name="crank"><joint name="crank" axis="0 0 1" damping="0.05" armature="0.01"/>
  <inertial pos=".1 0 0" mass="1" diaginertia=".01 .02 .02"/>
  <body name="coupler" pos="0 .3 0"><joint name="pin" axis="0 0 1" damping="0.02"/>
    <inertial pos=".3 .05 0" mass="2" diaginertia=".01 .06 .06"/></body></body>
<body name="rocker" pos=".6 0 0"><joint name="rocker" axis="0 0 1"/>
  <inertial pos="0 .25 0" mass="1.5" diaginertia=".03 .01 .03"/></body>
</worldbody><equality>LOOP<joint joint1="crank" joint2="rocker" active="false"/></equality>
<actuator><motor joint="crank"/></actuator></mujoco>"""
CONNECT = '<connect name="close" body1="coupler" body2="rocker" anchor=".7 .2 0"/>'
# the same four-bar with a hinge more, welded: cut through a link instead of at a joint
WELDED = FOUR_BAR.replace(
    '<inertial pos=".3 .05 0" mass="2" diaginertia=".01 .06 .06"/></body></body>',
    '<inertial pos=".3 .05 0" mass="2" diaginertia=".01 .06 .06"/><body name="end" pos=".7 .2 0">'
    '<joint name="end" axis="0 0 1"/><inertial pos="0 0 0" mass="1e-9" diaginertia="1e-12 1e-12 1e-12"/></body></body></body>',
).replace("LOOP", '<weld name="close" body1="end" body2="rocker"/>')
# a crank and a rocker about axes that are not parallel, a rod between them on a universal and a ball joint
SPATIAL = """<mujoco model="spatial"><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>
<body name="crank"><joint name="crank" axis="0 0 1"/><inertial pos=".1 0 0" mass="1" diaginertia=".01 .02 .02"/>
  <body name="rod" pos=".2 0 0"><joint name="u1" axis="0 0 1"/><joint name="u2" axis="0 1 0"/>
    <inertial pos=".3 .05 .1" mass="2" diaginertia=".01 .06 .06"/></body></body>
<body name="rocker" pos=".7 0 -.1"><joint name="rocker" axis="1 0 .2"/>
  <inertial pos="0 .2 .1" mass="1.5" diaginertia=".03 .01 .03"/></body>
</worldbody><equality><connect name="ball" body1="rod" body2="rocker" anchor=".5 .3 .2"/></equality>
<actuator><motor joint="crank"/></actuator></mujoco>"""


@cache
def arm(name: str) -> da.Arm:
    text = {"four-bar": FOUR_BAR.replace("LOOP", CONNECT), "welded": WELDED, "spatial": SPATIAL}
    if name in COUPLED:
        return registered(name)
    return da.Arm(read_mjcf(text[name])) if name in text else da.load(name)


EVERY = [*CLOSED, "four-bar", "welded", "spatial"]
ANY = [*EVERY, *COUPLED]  # joints follow others, by loops or by couplings


def states(a: da.Arm, count: int = 20, seed: int = 0, reach: float = 0.4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pose = np.array([a.mechanism.pose[i] for i in a.mechanism.actuated])
    q, qd, qdd = rng.uniform(-reach, reach, (3, count, a.n))
    return pose + q, 3 * qd, 5 * qdd


def slope(f, x: np.ndarray, v: np.ndarray, h: float = 1e-4) -> np.ndarray:
    """Central differences of fourth order."""
    return (8 * (f(x + h * v) - f(x - h * v)) - (f(x + 2 * h * v) - f(x - 2 * h * v))) / (12 * h)


def along(a: da.Arm, f, x: np.ndarray) -> np.ndarray:
    return np.stack([slope(f, x, e) for e in np.eye(a.n)], -1)


# -- S 7.3.3 -------------------------------------------------------------------------------------


def test_the_closure_is_the_book_s():
    a = arm("parallelogram")
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (20, 2))
    tree = a.tree_positions(q)
    assert a.n == 2 and a.joint_names == ("joint1'", "joint1''") and a.closure_kinds == {"joint4": "linear"}
    turned = q[:, 1] - q[:, 0]
    for got, wanted in ((tree[:, 1], turned), (tree[:, 2], np.pi - turned), (tree[:, 3], q[:, 1])):
        assert np.abs(np.exp(1j * got) - np.exp(1j * wanted)).max() < 1e-14
    assert np.array_equal(a.closure_jacobian(q[0]), [[1, 0], [-1, 1], [1, -1], [0, 1]])
    assert not a.closure_derivative(q, q).any()


def book() -> tuple:
    """B_a and g_a of S 7.3.3 with the misprints of ERRATA repaired, in the letters of ``equations``."""
    import sympy

    e = arm("parallelogram").equations()
    s = {str(x): x for x in e.parameters}
    letters = "I_l1' I_l2' I_l3' I_l1'' m_l1' m_l2' m_l3' m_l1'' a_1' l_1' l_2' l_3' a_1'' l_1'' g"
    I1, I2, I3, I4, m1, m2, m3, m4, a1, l1, l2, l3, a4, l4, g = (s[x] for x in letters.split())
    th1, th4 = e.q
    b12 = (a1 * m2 * l2 + a4 * m3 * (a1 - l3)) * sympy.cos(th4 - th1)
    B = sympy.Matrix([
        [I1 + m1 * l1**2 + m2 * a1**2 + I3 + m3 * l3**2 + m3 * a1**2 - 2 * a1 * m3 * l3, b12],
        [b12, I4 + m4 * l4**2 + I2 + m2 * l2**2 + m3 * a4**2],
    ])  # fmt: skip
    G = sympy.Matrix([
        (m1 * l1 + m2 * a1 - m3 * (l3 - a1)) * g * sympy.cos(th1), (m4 * l4 + m2 * l2 + m3 * a4) * g * sympy.cos(th4),
    ])  # fmt: skip
    return e, B, G, (a1, a4, l2, l3, m2, m3)


def test_b_and_g_of_the_book_symbolically():
    import sympy

    e, B, G, _ = book()
    assert sympy.expand(sympy.Matrix(e.with_angles(e.B)) - B) == sympy.zeros(2, 2)
    assert sympy.expand(sympy.Matrix(e.with_angles(e.g)) - G) == sympy.zeros(2, 1)
    assert r"a_{1'}" in e.latex() and r"\vartheta_{1''}" in e.latex()


def test_the_decoupling_condition_symbolically():
    import sympy

    e, _, _, (a1, a4, l2, l3, m2, m3) = book()
    balanced = {m3: m2 * l2 * a1 / (a4 * (l3 - a1))}  # m_ℓ3' (ℓ_3' − a_1') / (m_ℓ2' ℓ_2') = a_1' / a_1''
    B = sympy.simplify(sympy.Matrix(e.with_angles(e.B)).subs(balanced))
    assert B[0, 1] == 0 and B[1, 0] == 0 and not B.atoms(sympy.cos, sympy.sin)
    assert sympy.simplify(sympy.Matrix(e.with_angles(e.C)).subs(balanced)) == sympy.zeros(2, 2)


def test_the_decoupling_condition_in_numbers():
    robot = arm("parallelogram").robot
    links = tuple(
        replace(link, inertia=replace(link.inertia, mass=5.0 * 0.45 * 0.3 / (0.9 * 0.2)))
        if link.name == "link3'"
        else link
        for link in robot.links
    )
    a = da.Arm(robot.replace(links=links))
    q, qd, _ = states(a)
    B = a.inertia_matrix(q)
    assert np.abs(B[:, 0, 1]).max() < 1e-14 and np.ptp(B, axis=0).max() < 1e-13
    assert np.abs(a.coriolis_matrix(q, qd)).max() < 1e-13
    assert np.abs(arm("parallelogram").coriolis_matrix(q, qd)).max() > 1


def test_the_parallelogram_moves_through_its_flat_pose():
    a = arm("parallelogram")  # there the two ways to close it meet; the linear closure is not concerned
    assert np.isfinite(a.inverse_dynamics([0.3, 0.3], [1.0, 2.0], [1.0, 2.0])).all()
    with pytest.raises(ClosureError, match="'joint4' of arm 'parallelogram' is singular") as caught:
        a.loop_wrenches([0.3, 0.3], [1.0, 2.0], [1.0, 2.0])
    assert caught.value.kind == "singular"


# -- all of them ---------------------------------------------------------------------------------


def test_each_is_closed_as_it_should_be():
    kinds = {name: set(arm(name).closure_kinds.values()) for name in EVERY}
    assert kinds == {
        "parallelogram": {"linear"}, "palletizer": {"linear"}, "five-bar": {"triangle"}, "four-bar": {"triangle"},
        "welded": {"newton"}, "spatial": {"newton"},
    }  # fmt: skip


@pytest.mark.parametrize("name", ANY)
def test_the_loops_are_closed_and_their_derivatives_exact(name):
    a = arm(name)
    q, qd, qdd = states(a)
    assert np.abs(a.loop_residual(q)).max(initial=0.0) < 1e-13
    _, V, A = a.tree_motion(q, qd, qdd)
    assert relative(V, slope(a.tree_positions, q, qd)) < 1e-9
    Gamma = a.closure_jacobian(q)
    assert relative(Gamma, along(a, a.tree_positions, q)) < 1e-9
    assert np.abs(a.closure_derivative(q, qd) - slope(a.closure_jacobian, q, qd)).max() < 1e-8 * np.abs(Gamma).max()
    assert relative(A, (Gamma @ qdd[..., None] + a.closure_derivative(q, qd) @ qd[..., None])[..., 0]) < 1e-12


@pytest.mark.parametrize("name", ANY)
def test_dynamics_by_virtual_work(name):
    a = arm(name)
    q, qd, qdd = states(a)
    Q, V, A = a.tree_motion(q, qd, qdd)
    h = np.random.default_rng(1).normal(size=6)
    tau = a.inverse_dynamics(q, qd, qdd, h)
    Gamma, t = a.closure_jacobian(q), a.tree
    assert relative(tau, np.einsum("kij,ki->kj", Gamma, t.inverse_dynamics(Q, V, A, h))) < 1e-12
    B, C = a.inertia_matrix(q), a.coriolis_matrix(q, qd)
    parts = (B @ qdd[..., None] + C @ qd[..., None])[..., 0] + a.gravity_torque(q) + a.friction_torque(qd, q=q)
    parts = parts + np.einsum("kij,i->kj", a.jacobian(q), h)
    assert relative(parts, tau) < 1e-11
    assert relative(a.forward_dynamics(q, qd, tau, h), qdd) < 1e-9
    assert relative(a.kinetic_energy(q, qd), 0.5 * np.einsum("ki,kij,kj->k", qd, B, qd)) < 1e-12
    assert relative(a.kinetic_energy(q, qd), t.kinetic_energy(Q, V)) < 1e-12
    assert np.allclose(a.potential_energy(q), t.potential_energy(Q), atol=1e-12)
    assert np.allclose(along(a, a.potential_energy, q), a.gravity_torque(q), atol=1e-8 * (1 + np.abs(tau).max()))
    assert relative(a.torque_terms(q, qd, qdd, h).total, tau) < 1e-11
    assert a.regressor(q, qd, qdd).shape == (20, a.n, 13 * t.n)
    # S has one F_s for both directions, and so have all of these but those whose joints follow by couplings
    level = one_level(a)
    levelled = a.inverse_dynamics(q, qd, qdd) - a.friction_torque(qd, q=q) + level.friction_torque(qd, q=q)
    assert relative(a.regressor(q, qd, qdd) @ level.parameters, levelled) < 1e-11
    assert len(a.parameter_names) == len(a.parameters) == 13 * t.n


@pytest.mark.parametrize("name", ANY)
def test_c_is_that_of_christoffel(name):
    a = arm(name)
    q, qd, _ = states(a, 8)
    C, c = a.coriolis_matrix(q, qd), a.christoffel(q)
    N = slope(a.inertia_matrix, q, qd) - 2 * C
    scale = np.abs(a.inertia_matrix(q)).max()
    assert np.abs(N + np.swapaxes(N, -1, -2)).max() < 1e-8 * scale
    assert np.allclose(a.inertia_derivative(q, qd), C + np.swapaxes(C, -1, -2))
    assert np.allclose(np.einsum("kijl,kl->kij", c, qd), C, atol=1e-11 * scale)
    D = along(a, a.inertia_matrix, q)
    wanted = 0.5 * (D + np.swapaxes(D, -1, -2) - np.moveaxis(D, -1, -3))
    assert np.abs(wanted - c).max() < 1e-8 * scale


@pytest.mark.parametrize("name", ANY)
def test_derivatives(name):
    a = arm(name)
    q, qd, qdd = states(a, 5)
    dq, dqd = a.torque_derivatives(q, qd, qdd)
    assert relative(dq, along(a, lambda x: a.inverse_dynamics(x, qd, qdd), q)) < 1e-7
    assert relative(dqd, along(a, lambda x: a.inverse_dynamics(q, x, qdd), qd)) < 1e-7
    aq, aqd, atau = a.forward_derivatives(q, qd, qdd)
    assert relative(aq, along(a, lambda x: a.forward_dynamics(x, qd, qdd), q)) < 1e-6
    assert relative(aqd, along(a, lambda x: a.forward_dynamics(q, x, qdd), qd)) < 1e-6
    assert relative(atau, np.linalg.inv(a.inertia_matrix(q))) < 1e-9
    assert np.allclose(a.jacobian_derivative(q, qd), slope(a.jacobian, q, qd), atol=1e-8)
    v = np.einsum("kij,kj->ki", a.jacobian(q), qd)
    assert np.allclose(v[:, :3], slope(lambda x: a.pose(x)[:, :3, 3], q, qd), atol=1e-9)


@pytest.mark.parametrize("name", ["parallelogram", "five-bar", *COUPLED])
def test_all_formulations_agree(name):
    a = arm(name)
    q, qd, qdd = states(a, 8)
    tau, B = a.inverse_dynamics(q, qd, qdd), a.inertia_matrix(q)

    def by(formulation: str, quantity: str, **batch: np.ndarray) -> np.ndarray:
        """Compiled where a loop follows; on floats where couplings do, which have the same tree and the same rule."""
        if name in COUPLED:
            return on_floats(a, quantity, formulation, **batch)
        return getattr(a, quantity)(**batch, formulation=formulation)

    for formulation in ("newton-euler", "newton-euler-base", "lagrange", "lagrange-euler", "dalembert"):
        assert relative(by(formulation, "inverse_dynamics", q=q, qd=qd, qdd=qdd), tau) < 1e-11
    for formulation in ("column-by-column", "lagrange"):
        assert relative(by(formulation, "inertia_matrix", q=q), B) < 1e-11
    h = (a.coriolis_matrix(q, qd) @ qd[..., None])[..., 0]
    M, d = a.lagrange_euler(q), a.dalembert(q, qd)
    assert relative(M.D, B) < 1e-11 and relative(d.D_rot + d.D_tran, B) < 1e-11
    assert np.allclose(np.einsum("kijl,kj,kl->ki", M.h, qd, qd), h, atol=1e-10) and np.allclose(
        d.h_tran + d.h_rot, h, atol=1e-10
    )
    assert np.allclose(M.c, a.gravity_torque(q)) and np.allclose(d.c, a.gravity_torque(q))


@pytest.mark.parametrize("name", [*CLOSED, *COUPLED])
def test_the_equations_run_on_plain_numbers(name):
    a = arm(name)
    q, qd, qdd = (x[0].tolist() for x in states(a, 1))
    m = a.mechanism
    assert np.allclose(pulled.inverse_dynamics(m, q, qd, qdd), a.inverse_dynamics(q, qd, qdd), rtol=1e-11)
    assert np.allclose(pulled.inertia_matrix(m, q), a.inertia_matrix(q), rtol=1e-11)


@pytest.mark.parametrize("name", EVERY)
def test_passive_joints_feel_no_motor(name):
    """With the loops' reactions in them, the bearings of passive joints carry about their axes what friction takes."""
    a = arm(name)
    q, qd, qdd = states(a)
    _, V, A = a.tree_motion(q, qd, qdd)
    mu = a.joint_wrenches(q, qd, qdd)[..., 3:]
    tau = a.inverse_dynamics(q, qd, qdd)
    assert mu.shape == (20, a.tree.n, 3)
    scale = np.abs(mu).max()
    actuated = iter(range(a.n))
    for i, body in enumerate(a.mechanism.tree.bodies):
        z = np.array(body.link_frame.rotation).T @ body.axis
        friction = body.viscous * V[:, i] + body.coulomb[0] * np.sign(V[:, i])
        rotor = body.gear**2 * body.rotor_inertia * A[:, i]  # those here sit on links that do not turn with them
        given = tau[:, next(actuated)] if i in a.mechanism.actuated else 0.0
        assert np.abs(mu[:, i] @ z + friction + rotor - given).max() < 1e-10 * scale, body.name


# -- against others ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["four-bar", "spatial"])
def test_against_mujoco(name):
    """Accelerations and the force at the cut from MuJoCo's inertia, bias and constraint Jacobian, solved exactly."""
    mujoco = pytest.importorskip("mujoco")
    a, text = arm(name), {"four-bar": FOUR_BAR.replace("LOOP", CONNECT), "spatial": SPATIAL}[name]
    model = mujoco.MjModel.from_xml_string(text)
    q, qd, tau = states(a, 6)
    qdd = a.forward_dynamics(q, qd, tau)
    Q, V, A = a.tree_motion(q, qd, qdd)
    N, forces = a.tree.n, a.loop_wrenches(q, qd, qdd)[:, 0]

    def at(position, velocity):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = position, velocity
        mujoco.mj_forward(model, data)
        return data, data.efc_J.reshape(-1, N)[:3].copy()

    for k in range(len(q)):
        data, J = at(Q[k], V[k])
        assert np.abs(data.efc_pos[:3]).max() < 1e-14
        M = np.empty((N, N))
        for i in range(N):
            column = np.empty(N)
            mujoco.mj_mulM(model, data, column, np.eye(N)[i])
            M[:, i] = column
        applied = np.zeros(N)
        applied[list(a.mechanism.actuated)] = tau[k]
        drift = slope(lambda x: at(x, V[k])[1], Q[k], V[k]) @ V[k]  # noqa: B023
        system = np.block([[M, -J.T], [J, np.zeros((3, 3))]])
        right = np.concatenate([applied - data.qfrc_bias + data.qfrc_passive, -drift])
        found = np.linalg.lstsq(system, right, rcond=1e-11)[0]
        assert relative(A[k], found[:N]) < 1e-8
        assert relative(forces[k, :3], found[N:]) < 1e-8


def test_the_five_bar_against_pinocchio():
    pin = pytest.importorskip("pinocchio")
    a = arm("five-bar")
    tree = a.tree
    model = pin.buildModelFromXML(write_urdf(tree.robot))
    bodies = a.mechanism.tree.bodies
    order = [model.joints[model.getJointId(body.name)].idx_v for body in bodies]
    for i, body in zip(order, bodies, strict=True):
        model.armature[i] = body.gear**2 * body.rotor_inertia  # both rotors sit on the base
    end = pin.SE3(np.eye(3), np.array([0.3, 0.0, 0.0]))
    ids = [model.getJointId(name) for name in ("elbow1", "elbow2")]
    loop = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, ids[0], end, ids[1], end, pin.LOCAL)
    q, qd, tau = states(a, 6)
    qdd = a.forward_dynamics(q, qd, tau)
    Q, V, A = a.tree_motion(q, qd, qdd)
    for k in range(len(q)):
        data, cut = model.createData(), loop.createData()
        torque = -tree.friction_torque(V[k])
        torque[list(a.mechanism.actuated)] += tau[k]
        x, v, t = (np.empty(4) for _ in range(3))
        x[order], v[order], t[order] = Q[k], V[k], torque
        if model.nq != model.nv:  # joints without limits are unit circles there
            x = np.concatenate(
                [
                    [np.cos(y), np.sin(y)] if joint.nq == 2 else [y]
                    for joint, y in zip(list(model.joints)[1:], x, strict=True)
                ]
            )
        loops, cuts = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        loops.append(loop)
        cuts.append(cut)
        pin.initConstraintDynamics(model, data, loops, cuts)
        found = pin.constraintDynamics(model, data, x, v, t, loops, cuts, pin.ProximalSettings(1e-13, 1e-11, 200))
        assert relative(A[k], found[order]) < 1e-7


def test_two_ways_to_cut_one_linkage():
    """A four-bar cut at a joint, closed by a formula; and through a link, by Newton."""
    a, b = arm("four-bar"), arm("welded")
    assert b.passive_names == ("pin", "end", "rocker")
    q, qd, qdd = states(a)
    assert np.abs(a.tree_positions(q)[:, 1] - b.tree_positions(q)[:, 1]).max() < 1e-12
    assert relative(b.inverse_dynamics(q, qd, qdd), a.inverse_dynamics(q, qd, qdd)) < 1e-7
    assert relative(b.loop_wrenches(q, qd, qdd)[..., :2], a.loop_wrenches(q, qd, qdd)[..., :2]) < 1e-6


def test_newton_finds_what_the_formula_says():
    a = arm("five-bar")
    b = da.load("five-bar")
    b.__dict__["mechanism"] = replace(a.mechanism, closures=())
    assert b.closure_kinds == {"meeting": "newton"}
    q, qd, qdd = states(a, 50, reach=0.7)
    for quantity in ("inverse_dynamics", "loop_wrenches", "joint_wrenches", "regressor", "forward_dynamics"):
        assert relative(getattr(b, quantity)(q, qd, qdd), getattr(a, quantity)(q, qd, qdd)) < 1e-10
    assert np.abs(a.tree_positions(q) - b.tree_positions(q)).max() < 1e-12


# -- simulation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CLOSED, "four-bar"])
def test_a_simulation_stays_on_the_constraint(name):
    a = arm(name)
    q0 = states(a, 1)[0][0]
    tau = (
        None if name in ("parallelogram", "four-bar") else (lambda t, q, qd: a.gravity_torque(q) + 3.0 * (q0 - 0.1 - q))
    )
    run = da.simulate(a, q0, None, tau, 10.0, friction=False, step=2e-3, every=10)
    assert np.abs(a.loop_residual(run.q)).max() < 1e-10
    Q = a.tree_positions(run.q)
    ends = [
        a.tree.link_poses(Q)[..., i, :, :] for i in (a.mechanism.loops[0].ends.body_a, a.mechanism.loops[0].ends.body_b)
    ]
    loop = a.mechanism.loops[0].ends
    apart = [(T @ [*p.translation, 1.0])[..., :3] for T, p in zip(ends, (loop.place_a, loop.place_b), strict=True)]
    assert np.abs(apart[0] - apart[1]).max() < 1e-10
    if tau is None:
        assert np.ptp(run.energy) < 1e-5 * (np.ptp(run.kinetic) + 1e-9)


def test_simulation_by_newton_stays_on_the_constraint():
    a = arm("spatial")
    run = da.simulate(a, [0.3], [0.5], None, 10.0, friction=False, step=1e-2, every=10)
    assert np.abs(a.loop_residual(run.q)).max() < 1e-10
    assert np.ptp(run.energy) < 5e-3 * np.ptp(run.kinetic)  # of long steps
    fine = da.simulate(a, [0.3], [0.5], None, 0.5, friction=False, method="dop853", step=0.1)
    assert np.abs(fine.q[-1] - run.q[5]).max() < 1e-5
    assert np.allclose(run.qdd[:3], a.forward_dynamics(run.q[:3], run.qd[:3], np.zeros((3, 1))))


@pytest.mark.parametrize("method", ["rk4", "dop853", "variational"])
def test_methods_and_controllers(method):
    a = arm("parallelogram")
    q0 = np.array([0.2, 1.4])
    run = da.simulate(a, q0, None, None, 0.5, method=method, friction=False)
    assert np.ptp(run.energy) < 1e-3
    goal = q0 + 0.2
    held = da.simulate(a, q0, None, da.ComputedTorque(100.0, 20.0, goal), 2.0, method=method)
    assert np.abs(held.q[-1] - goal).max() < 1e-6


def test_dry_friction_of_motors_holds():
    a = arm("five-bar")
    q0 = states(a, 1)[0][0]
    run = da.simulate(a, q0, None, [0.03, -0.03], 0.2)  # less than the motors' 0.05 N m
    assert np.array_equal(run.q[-1], q0)


# -- errors --------------------------------------------------------------------------------------


def test_unreachable_and_singular_poses_are_named():
    a = arm("five-bar")
    with pytest.raises(
        ClosureError, match=r"loop 'meeting' of arm 'five-bar' cannot be closed at q = .*too far apart"
    ) as e:
        a.inverse_dynamics([np.pi, 0.0], [0.0, 0.0], [0.0, 0.0])
    assert e.value.kind == "unreachable" and e.value.loop == "meeting" and e.value.index == ()
    q = np.tile([2.0, 1.1], (3, 4, 1))
    q[1, 2] = [np.pi, 0.0]
    with pytest.raises(ClosureError, match=r"state 1, 2 of the batch") as e:
        a.inertia_matrix(q)
    assert e.value.index == (1, 2) and pickle.loads(pickle.dumps(e.value)).kind == "unreachable"
    assert a.closes(q).sum() == 11
    # stretched out: the cranks open until the rods are in line
    low, high = 0.0, np.pi / 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if a.closes([np.pi / 2 + middle, np.pi / 2 - middle]) else (low, middle)
    with pytest.raises(ClosureError, match="is singular") as e:
        a.forward_dynamics([np.pi / 2 + high, np.pi / 2 - high], [0.0, 0.0], [0.0, 0.0])
    assert e.value.kind in ("singular", "unreachable")
    with pytest.raises(ClosureError, match="Newton") as e:
        arm("spatial").inverse_dynamics([3.0], [0.0], [0.0])
    assert e.value.kind == "unreachable"


def test_branches_are_kept_and_bad_ones_named():
    robot = arm("five-bar").robot
    inside = replace(robot.loops[0], branch={"motor1": 2.1, "elbow1": -2.6, "motor2": 1.05, "elbow2": 2.6})
    a, b = arm("five-bar"), da.Arm(robot.replace(loops=(inside,)))
    q = states(a)[0]
    tips = [x.pose(q)[:, 1, 3] for x in (a, b)]
    assert np.all(tips[0] > tips[1] + 0.05) and np.abs(b.loop_residual(q)).max() < 1e-13
    far = replace(robot.loops[0], placement_a=da.Placement(translation=(9.0, 0.0, 0.0)))
    with pytest.raises(ClosureError, match="cannot be closed near the configuration of its branch") as e:
        _ = da.Arm(robot.replace(loops=(far,))).mechanism
    assert e.value.kind == "branch"


def test_wrong_loops_are_named():
    robot = arm("five-bar").robot
    loop = robot.loops[0]
    cases = [
        ({"link_a": "nothing"}, "is attached to link 'nothing', which does not exist"),
        ({"link_b": "rod1"}, "closes no chain"),
        ({"passive": ("elbow",)}, "'elbow' does not exist"),
        ({"branch": {"shoulder": 1.0}}, "'shoulder' does not exist"),
        ({"kind": "prismatic"}, "it must be one of revolute, connect, weld"),
        ({"axis": (0, 0, 0)}, "needs a direction"),
        ({"passive": "elbow1"}, "it must be a list of joints"),
        ({"branch": {"motor1": "up"}}, "it must map joints to positions"),
        ({"branch": 3}, "it must map joints to positions"),
    ]
    for changes, sentence in cases:
        with pytest.raises(RobotError, match=sentence):
            robot.replace(loops=(replace(loop, **changes),))
    with pytest.raises(RobotError, match="two loops are called"):
        robot.replace(loops=(loop, loop))
    with pytest.raises(RobotError, match="already passive in loop 'meeting'"):
        robot.replace(loops=(loop, replace(loop, name="again")))
    with pytest.raises(RobotError, match="determines 2 joints, but has 1 passive joints"):
        _ = da.Arm(robot.replace(loops=(replace(loop, passive=("elbow1",)),))).mechanism
    with pytest.raises(RobotError, match="leaves no joint that a motor could move: all 4 are passive"):
        robot.replace(loops=(replace(loop, passive=("motor1", "elbow1", "motor2", "elbow2")),))


def slider_crank(**changes) -> da.Arm:
    steel = da.Inertia(1.0, (0.05, 0.0, 0.0), ((1e-3, 0, 0), (0, 2e-3, 0), (0, 0, 2e-3)))
    links = [da.Link("base"), *(da.Link(name, steel) for name in ("crank", "rod", "slider"))]
    joints = [
        da.Joint("c", "revolute", "base", "crank"),
        da.Joint("r", "revolute", "crank", "rod", da.Placement(translation=(0.1, 0, 0))),
        da.Joint("s", "prismatic", "base", "slider", axis=(1, 0, 0)),
    ]
    out = da.Placement(translation=(0.3, 0, 0))
    s = 0.1 * np.cos(0.5) + np.sqrt(0.09 - (0.1 * np.sin(0.5)) ** 2)
    branch = {"c": 0.5, "r": -0.5 - np.arcsin(np.sin(0.5) / 3), "s": s}
    loop = da.Loop(**{"name": "pin", "link_a": "rod", "placement_a": out, "link_b": "slider",
                      "placement_b": da.Placement(), "branch": branch, **changes})  # fmt: skip
    return da.Arm(da.Robot("slider-crank", links, joints, loops=(loop,)))


def test_passive_joints_that_are_too_few_are_named():
    """One passive joint cannot close this loop but at the branch's own pose; B there would be wrong."""
    for passive in (("r",), ("s",)):
        with pytest.raises(RobotError, match="has 2 independent constraints, but only 1 passive joints"):
            _ = slider_crank(passive=passive).mechanism
    with pytest.raises(ClosureError, match="it has 3 independent constraints there, and 2 passive joints"):
        _ = slider_crank(kind="weld", passive=("r", "s")).mechanism


def test_without_a_choice_the_crank_is_what_the_motor_turns():
    assert slider_crank().joint_names == ("c",)
    bar = arm("four-bar").robot
    assert da.Arm(bar.replace(loops=(replace(bar.loops[0], passive=()),))).joint_names == ("crank",)


def test_a_robot_that_cannot_move_is_told_so():
    """And what was compiled for it in vain does no harm to the next: machine code is never freed."""
    fixed = da.Arm(da.Robot("post", [da.Link("base"), da.Link("top")], [da.Joint("j", "fixed", "base", "top")]))
    with pytest.raises(DalembertError, match="no joint moves"):
        fixed.inertia_matrix([])
    gc.collect()
    assert np.isfinite(arm("five-bar").kernel("kinetic_energy")([2.0, 1.1], [1.0, 0.0]))


def test_a_wrong_key_of_a_loop_is_placed_once():
    text = write_toml(arm("five-bar").robot)
    with pytest.raises(RobotError) as e:
        parse_toml(text.replace('link_b = "rod2"\n', ""))
    assert str(e.value).count("loop 'meeting'") == 1


# -- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_files_keep_loops(name, tmp_path: Path):
    robot = arm(name).robot
    assert parse_toml(write_toml(robot)) == robot
    arm(name).save(tmp_path / "arm.toml")
    assert da.load(tmp_path / "arm.toml").robot.loops == robot.loops
    with pytest.raises(RobotError, match="URDF cannot express"):
        save_robot(robot, tmp_path / "arm.urdf")


def test_loops_for_a_urdf_arm(tmp_path: Path):
    """The five-bar's tree as URDF, closed again in Python; its passive joints are found by themselves."""
    a = arm("five-bar")
    a.tree.save(tmp_path / "tree.urdf")
    opened = da.load(tmp_path / "tree.urdf")
    assert opened.n == 4 and not opened.robot.loops
    b = opened.with_loop(
        name="meeting", link_a="rod1", placement_a=(0.3, 0, 0), link_b="rod2", placement_b=(0.3, 0, 0),
        branch={"motor1": 2.1, "elbow1": -1.3, "motor2": 1.05, "elbow2": 1.3},
    )  # fmt: skip
    assert b.joint_names == a.joint_names and b.passive_names == a.passive_names
    q, qd, qdd = states(a)
    assert relative(b.inverse_dynamics(q, qd, qdd), a.inverse_dynamics(q, qd, qdd)) < 1e-10


def test_mjcf_says_what_it_leaves_out():
    text = FOUR_BAR.replace("LOOP", CONNECT).replace('active="false"', 'name="geared" active="false"')
    assert any("geared" in note for note in read_mjcf(text).notes)
    with pytest.raises(RobotError, match="leaves no joint that a motor could move: all 3 are passive or coupled"):
        read_mjcf(text.replace('active="false"', ""))
    loop = arm("four-bar").robot.loops[0]
    assert loop.kind == "connect" and loop.passive == ("pin", "rocker") and arm("four-bar").joint_names == ("crank",)


# -- everything else that an arm has -------------------------------------------------------------


def test_shapes_types_and_pickles():
    a = arm("five-bar")
    q, qd, qdd = states(a, 6)
    tau = a.inverse_dynamics(q.reshape(3, 2, 2), qd.reshape(3, 2, 2), qdd[0])
    assert tau.shape == (3, 2, 2)
    assert a.inverse_dynamics(*(x.astype(np.float32) for x in (q, qd, qdd))).dtype == np.float32
    copy = pickle.loads(pickle.dumps(a))
    assert copy == a and type(copy) is type(a)
    assert np.array_equal(
        pickle.loads(pickle.dumps(a.kernel("inverse_dynamics")))(q, qd, qdd), a.inverse_dynamics(q, qd, qdd)
    )
    with pytest.raises(DalembertError, match=r"q has shape \(4,\), but arm 'five-bar' has 2 joints"):
        a.inertia_matrix(np.zeros(4))
    with pytest.raises(DalembertError, match="passive joints have friction"):
        a.friction_torque(qd)
    assert a.with_payload(1.0).loop_names == ("meeting",)
    assert "2 actuated joints, 1 closed chain" in repr(a)


def test_open_arms_are_as_they_were():
    robot = da.load("planar-2r").robot
    assert robot.loops == () and "loop" not in write_toml(robot) and robot.tree_joints == robot.moving_joints


def test_the_flange_of_the_palletizer_stays_level():
    a = arm("palletizer")
    R = a.pose(states(a, 30)[0])[:, :3, :3]
    assert np.abs(R[:, 2] - [0, 0, 1]).max() < 1e-14


@pytest.mark.parametrize(("name", "count"), [("parallelogram", 15), ("five-bar", 17), ("palletizer", 34)])
def test_base_parameters(name, count):
    a = arm(name)
    base = a.base_parameters()
    assert len(base.independent) == count
    q, qd, qdd = states(a)
    Y = a.regressor(q, qd, qdd)[..., list(base.independent)]
    assert relative(Y @ (base.K @ a.parameters), a.inverse_dynamics(q, qd, qdd)) < 1e-9


@pytest.mark.usefixtures("undrawn")
def test_the_report_has_the_reactions():
    from dalembert.views.report.report_page import report_html
    from dalembert.views.report.study import study

    a = arm("parallelogram")
    motion = da.spline([0.0, 0.5, 1.0], np.array([[0.2, 1.4], [0.3, 1.5], [0.5, 1.3]]))
    html = report_html([study(a, motion, title="A try")])
    assert "Reactions at the loop closures" in html and "joint4" in html
