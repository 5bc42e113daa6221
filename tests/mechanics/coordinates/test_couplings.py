"""Joints that follow others: mimic joints, coupled wrists, screws, polynomials; against Pinocchio, MuJoCo and by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import dalembert as da
from arms import COUPLED, arm, friction, random_inertia, random_robot, relative, states
from dalembert.errors import RobotError
from dalembert.mechanics.coordinates.chain import Chain
from dalembert.mechanics.coordinates.closure import mechanism_of
from dalembert.robot import Coupling, Friction, Inertia, Joint, Limits, Link, Placement, Robot, Rotor
from dalembert.robot.readers.mjcf import read_mjcf
from dalembert.robot.readers.toml_reader import parse_toml
from dalembert.robot.readers.toml_writer import write_toml
from dalembert.robot.readers.urdf import parse_urdf
from dalembert.robot.readers.urdf_writer import write_urdf
from dalembert.views.cli.main import app

G = 9.81


def chain(*kinds: str, **fields: object) -> Robot:
    """A chain of joints j1, j2, … between links l0, l1, …"""
    rng = np.random.default_rng(0)
    links = [Link("l0"), *(Link(f"l{k}", random_inertia(rng)) for k in range(1, len(kinds) + 1))]
    joints = [
        Joint(f"j{k}", kind, f"l{k - 1}", f"l{k}", Placement.rpy(0.3, 0.4 * k, -0.2, xyz=(0.1, 0.2, 0.3)))  # type: ignore[arg-type]
        for k, kind in enumerate(kinds, 1)
    ]
    return Robot("chain", tuple(links), tuple(joints), **fields)  # type: ignore[arg-type]


# -- what follows what ---------------------------------------------------------------------------------


def test_joints_that_follow_are_not_held() -> None:
    robot = chain("revolute", "prismatic", "revolute", couplings=[Coupling("j2", "j1", 0.3, 0.02)])
    assert [joint.name for joint in robot.moving_joints] == ["j1", "j3"]
    assert [joint.name for joint in robot.tree_joints] == ["j1", "j2", "j3"]
    a = da.Arm(robot)
    assert a.n == 2 and a.joint_names == ("j1", "j3") and a.passive_names == ("j2",)
    assert np.array_equal(a.tree_positions([0.5, 4.0]), [0.5, 0.3 * 0.5 + 0.02, 4.0])


def test_positions_are_not_wound_to_half_a_turn() -> None:
    a = da.Arm(chain("revolute", "revolute", couplings=[Coupling("j2", "j1", -3.0)]))
    assert np.array_equal(a.tree_positions([2.5]), [2.5, -7.5])


def test_chains_of_couplings_work_in_any_order() -> None:
    first, second = Coupling("j2", "j1", -1.5, 0.1), Coupling("j3", "j2", 0.5, higher=(0.25,))
    for couplings in ((first, second), (second, first)):
        a = da.Arm(chain("revolute", "revolute", "revolute", couplings=couplings))
        follows = -1.5 * 0.4 + 0.1
        assert a.tree_positions([0.4]).tolist() == pytest.approx([0.4, follows, 0.5 * follows + 0.25 * follows**2])
        assert a.robot.couplings == couplings


def test_a_joint_that_stands_still() -> None:
    robot = chain("revolute", "revolute")
    still, locked = (
        da.Arm(robot.replace(couplings=[coupling]))
        for coupling in (Coupling("j2", offset=0.3), Coupling("j2", "j1", 0.0, 0.3))
    )
    fixed = da.Arm(
        robot.replace(
            joints=[robot.joints[0], replace(robot.joints[1], type="fixed", link_frame=Placement.rpy(0.0, 0.0, 0.3))]
        )
    )
    x = states(still, 5)
    assert relative(still.inverse_dynamics(*x), fixed.inverse_dynamics(*x)) < 1e-12
    assert relative(locked.inverse_dynamics(*x), fixed.inverse_dynamics(*x)) < 1e-12


@pytest.mark.parametrize("name", COUPLED)
def test_everything_is_that_of_the_tree_pulled_back(name: str) -> None:
    a = arm(name)
    q, qd, qdd = states(a, 8)
    Gamma, Gamma_dot = a.closure_jacobian(q), a.closure_derivative(q, qd)
    e = 1e-4
    slope = (8 * (a.tree_positions(q + e * qd) - a.tree_positions(q - e * qd))
             - (a.tree_positions(q + 2 * e * qd) - a.tree_positions(q - 2 * e * qd))) / (12 * e)  # fmt: skip
    assert relative(np.einsum("kij,kj->ki", Gamma, qd), slope) < 1e-9
    bend = (a.closure_jacobian(q + e * qd) - a.closure_jacobian(q - e * qd)) / (2 * e)
    assert np.abs(Gamma_dot - bend).max() < 1e-6 * (1 + np.abs(bend).max())
    Q, V, A = a.tree_motion(q, qd, qdd)
    tree = a.tree
    assert relative(V, slope) < 1e-9
    assert (
        relative(a.inverse_dynamics(q, qd, qdd), np.einsum("kij,ki->kj", Gamma, tree.inverse_dynamics(Q, V, A))) < 1e-12
    )
    B = np.einsum("kia,kij,kjb->kab", Gamma, tree.inertia_matrix(Q), Gamma)
    assert relative(a.inertia_matrix(q), B) < 1e-12
    assert relative(a.pose(q), tree.pose(Q)) < 1e-12
    assert relative(a.kinetic_energy(q, qd), tree.kinetic_energy(Q, V)) < 1e-12
    assert relative(friction(a, q, qd), np.einsum("kij,ki->kj", Gamma, tree.friction_torque(V))) < 1e-12
    t = a.torque_terms(q, qd, qdd)
    assert relative(t.total, a.inverse_dynamics(q, qd, qdd)) < 1e-10


def test_what_an_open_arm_says_of_its_tree_is_not_the_input_itself() -> None:
    a, q = da.load("planar-2r"), np.zeros((3, 2))
    for x in (a.tree_positions(q), *a.tree_motion(q, q[0], q), a.closure_jacobian(q), a.closure_derivative(q, q)):
        x += 1.0
    assert not q.any()


def test_constant_couplings_need_no_q_for_friction() -> None:
    robot = chain("revolute", "revolute", couplings=[Coupling("j2", "j1", 2.0)])
    robot = robot.replace(joints=tuple(replace(joint, friction=Friction(0.5, (0.1, 0.2))) for joint in robot.joints))
    a = da.Arm(robot)
    assert a.friction_torque([0.3]) == pytest.approx(0.5 * 0.3 + 0.1 + 2.0 * (0.5 * 0.6 + 0.1))
    assert a.friction_torque([-0.3]) == pytest.approx(-0.5 * 0.3 - 0.2 - 2.0 * (0.5 * 0.6 + 0.2))


def test_a_linear_coupling_adds_only_its_own_operations() -> None:
    """An arm one of whose joints stands still has no more operations than the arm without it."""
    robot = chain("revolute", "revolute", "revolute")
    still = da.Arm(robot.replace(couplings=[Coupling("j3", offset=0.0)]))
    assert (
        still.operations("inverse_dynamics").compiled.total
        < da.Arm(robot).operations("inverse_dynamics").compiled.total
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9))
def test_random_couplings_on_plain_numbers(seed: int, n: int) -> None:
    """Files give them back; Γ and Γ̇ are the derivatives of γ; Γᵀ is the transpose of Γ."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, n)
    names = [joint.name for joint in robot.tree_joints]
    rng.shuffle(names)
    couplings = []
    for k in range(1, len(names)):
        leaders = [str(name) for name in rng.choice(names[:k], int(rng.integers(0, min(k, 3) + 1)), replace=False)]
        higher = rng.normal(size=2) if len(leaders) == 1 and rng.random() < 0.5 else ()
        if rng.random() < 0.6:
            couplings.append(Coupling(names[k], leaders, rng.normal(size=(1, len(leaders))), rng.normal(), higher))
    free = tuple(replace(joint, limits=Limits()) for joint in robot.joints)
    robot = robot.replace(joints=free, couplings=couplings[::-1])
    assert parse_toml(write_toml(robot)).replace(notes=()) == robot
    m = mechanism_of(robot)
    q, qd, qdd = rng.uniform(-1, 1, (3, m.n))
    chain, e = Chain(m, q.tolist(), qd.tolist()), 1e-4
    at = [np.array(Chain(m, (q + s * qd + 0.5 * s * s * qdd).tolist()).q) for s in (-2 * e, -e, 0.0, e, 2 * e)]
    size = 1 + max(np.abs(x).max() for x in at)
    assert np.abs(np.array(chain.push(qd)) - (at[0] - 8 * at[1] + 8 * at[3] - at[4]) / (12 * e)).max() < 1e-8 * size
    second = (-at[0] + 16 * at[1] - 30 * at[2] + 16 * at[3] - at[4]) / (12 * e * e)
    assert np.abs(np.array(chain.accelerations(qdd)) - second).max() < 1e-5 * size
    if not m.identity:
        tau = rng.normal(size=m.tree.n)
        assert np.dot(chain.pull(tau.tolist()), qd) == pytest.approx(np.dot(tau, chain.push(qd)), abs=1e-10 * size)


# -- Pinocchio ------------------------------------------------------------------------------------------


def assert_like_pinocchio(a: da.Arm, text: str, seed: int) -> None:
    model = pin.buildModelFromXML(text, True)
    data = model.createData()
    assert a.n == model.nv
    model.gravity.linear = np.array(a.robot.gravity)
    names = [model.names[j] for j in range(1, model.njoints) if model.joints[j].nv]
    at = [a.joint_names.index(name) for name in names]
    rng = np.random.default_rng(seed)
    for _ in range(3):
        q, qd, qdd = rng.uniform(-1, 1, (3, a.n))
        rest = pin.rnea(model, data, q[at], 0 * qd, 0 * qd).copy()
        # not from its crba, which in 4.1.0 leaves terms out where a mimic joint carries several branches
        B = np.array([pin.rnea(model, data, q[at], 0 * qd, e) - rest for e in np.eye(a.n)])
        assert relative(a.inverse_dynamics(q, qd, qdd)[at], pin.rnea(model, data, q[at], qd[at], qdd[at])) < 1e-10
        assert relative(a.inertia_matrix(q)[np.ix_(at, at)], B) < 1e-10


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.data())
def test_random_trees_with_mimic_joints_are_those_of_pinocchio(seed: int, n: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, n, extras=False)
    joints = {joint.name: joint for joint in robot.joints}
    above = {joint.child: joint.name for joint in robot.joints}
    names = [joint.name for joint in robot.tree_joints]
    follows = data.draw(st.lists(st.sampled_from(names[1:]), unique=True, max_size=3))
    couplings = []
    for name in follows:
        leaders, link = [], joints[name].parent  # Pinocchio must have met the leader: on the way to the base it has
        while link in above:
            leaders.append(above[link])
            link = joints[above[link]].parent
        leaders = [leader for leader in leaders if leader in names and leader not in follows]
        factor = float(rng.choice([-1.0, 1.0, 2.0, rng.normal()]))
        if leaders:
            couplings.append(Coupling(name, leaders[int(rng.integers(len(leaders)))], factor, float(rng.normal())))
    free = tuple(replace(joint, limits=Limits(-50.0, 50.0)) for joint in robot.joints)
    a = da.Arm(robot.replace(joints=free, couplings=couplings))
    text = write_urdf(a.robot)
    again = parse_urdf(text)
    assert len(again.couplings) == len(couplings)
    assert_like_pinocchio(a, text, seed)


# -- MuJoCo ---------------------------------------------------------------------------------------------

POLYNOMIALS = """<mujoco model="curved"><compiler angle="radian"/><worldbody>
<body name="a"><joint name="j1" axis="0 0 1" damping=".05" ref=".3"/><inertial pos=".1 0 .2" mass="1" diaginertia=".01 .02 .02"/>
<body name="b" pos="0 .3 0"><joint name="j2" axis="0 1 0" ref="-.2" damping=".1"/>
  <inertial pos=".3 .05 0" mass="2" diaginertia=".02 .03 .03"/>
<body name="c" pos=".7 .2 0" euler=".2 .1 .4"><joint name="j3" type="slide" axis="0 0 1" ref=".1"/>
  <inertial pos=".1 0 .2" mass="1.5" diaginertia=".01 .02 .02"/>
<body name="d" pos=".2 .2 0"><joint name="j4" axis="1 0 1"/><inertial pos="0 .1 0" mass="1" diaginertia=".01 .02 .02"/></body>
<body name="e" pos="0 .2 0"><joint name="j5" axis="0 1 1" ref=".4"/><inertial pos="0 .1 0" mass="1" diaginertia=".01 .02 .02"/>
</body></body></body></body></worldbody>{equality}</mujoco>"""
EQUALITY = """<equality><joint joint1="j2" joint2="j1" polycoef="0.1 1 0.3 -0.2 .05"/>
<joint joint1="j3" joint2="j2" polycoef=".1 .3 .2 0 0"/><joint joint1="j5" polycoef=".2 0 0 0 0"/>
<joint name="off" joint1="j4" joint2="j3" active="false"/></equality>"""


def test_mjcf_joint_equalities_on_mujocos_tree() -> None:
    """M, bias and damping of MuJoCo's unconstrained tree, projected with Γ and Γ̇ of the polynomials by hand."""
    a = da.Arm(read_mjcf(POLYNOMIALS.format(equality=EQUALITY)))
    assert a.joint_names == ("j1", "j4")
    assert a.robot.notes[0] == "inactive equality constraints are ignored: off"
    model = mujoco.MjModel.from_xml_string(POLYNOMIALS.format(equality=""))
    data = mujoco.MjData(model)
    y = np.polynomial.Polynomial([0.1, 1.0, 0.3, -0.2, 0.05])
    z = np.polynomial.Polynomial([0.1, 0.3, 0.2])
    rng = np.random.default_rng(0)
    for q, qd, qdd in rng.uniform(-1, 1, (6, 3, 2)):
        x = q[0] - 0.3
        follows = y(x)
        data.qpos[:] = [q[0], follows - 0.2, z(follows) + 0.1, q[1], 0.4 + 0.2]
        s = y.deriv()(x)
        Gamma = np.array([[1, 0], [s, 0], [z.deriv()(follows) * s, 0], [0, 1], [0, 0]])
        b = y.deriv(2)(x) * qd[0]
        drift = np.array([0, b, z.deriv(2)(follows) * s * qd[0] * s + z.deriv()(follows) * b, 0, 0]) * qd[0]
        data.qvel[:] = Gamma @ qd
        mujoco.mj_forward(model, data)
        M = np.zeros((5, 5))
        mujoco.mj_fullM(model, data, M)
        tau = M @ (Gamma @ qdd + drift) + data.qfrc_bias - data.qfrc_passive
        assert relative(a.tree_positions(q), data.qpos) < 1e-13
        assert relative(a.inverse_dynamics(q, qd, qdd), Gamma.T @ tau) < 1e-10
        assert relative(a.inertia_matrix(q), Gamma.T @ M @ Gamma) < 1e-10


def test_of_two_joints_in_a_linear_equality_the_one_without_a_motor_follows() -> None:
    equality = '<equality><joint joint1="j2" joint2="j1" polycoef=".2 -2 0 0 0"/></equality><actuator><motor joint="j2"/></actuator>'
    robot = read_mjcf(POLYNOMIALS.format(equality=equality))
    (coupling,) = robot.couplings
    assert coupling.joints == ("j1",) and coupling.of == ("j2",)
    # q2 + 0.2 = 0.2 − 2 (q1 − 0.3)
    assert da.Arm(robot).tree_positions([0.4, 0.0, 0.0, 0.0])[0] == pytest.approx(0.3 - 0.4 / 2)


def test_an_actuator_at_a_joint_that_follows_is_told_of() -> None:
    equality = '<equality><joint joint1="j2" joint2="j1" polycoef=".2 1 1 0 0"/></equality><actuator><motor joint="j2"/></actuator>'
    robot = read_mjcf(POLYNOMIALS.format(equality=equality))
    assert "actuators of coupled joints are ignored: j2" in robot.notes


def test_an_equality_of_a_joint_that_follows_already_is_turned_round() -> None:
    equality = (
        '<equality><joint joint1="j2" joint2="j1"/><joint joint1="j2" joint2="j3" polycoef="0 4 0 0 0"/></equality>'
    )
    robot = read_mjcf(POLYNOMIALS.format(equality=equality))
    assert [(c.joints, c.of) for c in robot.couplings] == [(("j2",), ("j1",)), (("j3",), ("j2",))]


# -- motors ---------------------------------------------------------------------------------------------


def wrist_by_hand() -> Callable[..., list[np.ndarray]]:
    """τ of a turntable with two motors on it that move a pitch and a roll joint together, from its Lagrangian."""
    y, v, a = (sympy.Matrix(sympy.symbols(f"{name}0:3")) for name in ("y", "v", "a"))
    pitch, roll = (sympy.Matrix([[0, 1, 0]]) * y)[0], (sympy.Matrix([[0, -0.8, 1.2]]) * y)[0]
    Rz, Ry, Rx = sympy.rot_ccw_axis3, sympy.rot_ccw_axis2, sympy.rot_ccw_axis1
    R0 = Rz(y[0])
    R1 = R0 * Ry(pitch)
    R2 = R1 * Rx(roll)
    x_axis, y_axis, z_axis = (sympy.Matrix([int(i == n) for i in range(3)]) for n in range(3))
    w0 = z_axis * v[0]
    w1 = w0 + R0 * y_axis * v[1]
    w2 = w1 + R1 * x_axis * (-0.8 * v[1] + 1.2 * v[2])
    p1 = R0 * sympy.Matrix([0.3, 0.0, 0.2])
    c1, c2 = p1 + R1 * sympy.Matrix([0.1, 0.02, 0.0]), p1 + R2 * sympy.Matrix([0.2, 0.0, 0.03])
    # mass, centre, axes, angular velocity, inertia; the rotors are bodies on the turntable that spin with k_r ẏ
    bodies = [
        (2.0, c1, R1, w1, sympy.diag(0.01, 0.02, 0.03)),
        (1.0, c2, R2, w2, sympy.diag(0.004, 0.006, 0.005)),
        (0.5, R0 * sympy.Matrix([0.1, 0.05, 0.1]), R0, w0 + R0 * y_axis * 50.0 * v[1], sympy.diag(1e-4, 2e-4, 1e-4)),
        (0.4, R0 * sympy.Matrix([0.1, -0.05, 0.1]), R0, w0 - R0 * x_axis * 30.0 * v[2], sympy.diag(1e-4, 3e-4, 3e-4)),
    ]
    L = sympy.Integer(0)
    for m, c, R, w, I in bodies:
        speed, own = c.jacobian(y) * v, R.T * w
        L += m * speed.dot(speed) / 2 + (own.T * I * own)[0] / 2 - m * G * c[2]
    momentum = sympy.Matrix([L.diff(rate) for rate in v])
    tau = momentum.jacobian(v) * a + momentum.jacobian(y) * v - sympy.Matrix([L.diff(place) for place in y])
    tau[1] += 50.0**2 * 1e-4 * v[1]  # friction at the motor's side
    return sympy.lambdify([y, v, a], list(tau), "numpy", cse=True)


WRIST = """
name = "wrist"
convention = "frames"

[[link]]
name = "floor"
[[link]]
name = "table"
[[link]]
name = "fork"
mass = 2.0
com = [0.1, 0.02, 0.0]
inertia = { xx = 0.01, yy = 0.02, zz = 0.03 }
[[link]]
name = "hand"
mass = 1.0
com = [0.2, 0.0, 0.03]
inertia = { xx = 0.004, yy = 0.006, zz = 0.005 }

[[joint]]
name = "turn"
type = "revolute"
parent = "floor"
child = "table"
[[joint]]
name = "pitch"
type = "revolute"
parent = "table"
child = "fork"
xyz = [0.3, 0.0, 0.2]
axis = [0.0, 1.0, 0.0]
limits = { lower = -1.0, upper = 1.0 }
rotor = { inertia = 2e-4, gear = 50.0, mass = 0.5, position = [0.1, 0.05, 0.1], transverse = 1e-4, viscous = 1e-4 }
[[joint]]
name = "roll"
type = "revolute"
parent = "fork"
child = "hand"
axis = [1.0, 0.0, 0.0]

[[coupling]]
joints = ["pitch", "roll"]
motors = ["m1", "m2"]
matrix = [[1.0, 0.0], [-0.8, 1.2]]
limits = [{ velocity = 5.0, effort = 12.0 }, { velocity = "180 deg" }]
"""


def test_a_wrist_with_two_motors_is_that_of_its_lagrangian() -> None:
    robot = parse_toml(WRIST)
    # the second motor's rotor sits on the turntable too, not on the fork
    m2 = next(joint for joint in robot.joints if joint.name == "m2")
    rotor = Rotor(inertia=1e-4, gear=-30.0, mass=0.4, position=(0.1, -0.05, 0.1), axis=(1.0, 0.0, 0.0), transverse=3e-4)
    on_table = replace(m2, parent="table", rotor=rotor)
    a = da.Arm(robot.replace(joints=tuple(on_table if joint is m2 else joint for joint in robot.joints)))
    assert a.joint_names == ("turn", "m1", "m2")
    q, qd, qdd = states(a, 6)
    by_hand = wrist_by_hand()
    expected = np.array([by_hand(*row) for row in zip(q, qd, qdd, strict=True)])
    assert relative(a.inverse_dynamics(q, qd, qdd), expected) < 1e-10


def test_motors_have_limits_of_their_own_and_take_over_the_rotors() -> None:
    robot = parse_toml(WRIST)
    held = {joint.name: joint for joint in robot.moving_joints}
    assert list(held) == ["turn", "m1", "m2"]
    # pitch follows m1 alone, so that its limits are limits of m1
    assert held["m1"].limits == Limits(-1.0, 1.0, velocity=5.0, effort=12.0)
    assert held["m2"].limits == Limits(velocity=math.pi)
    assert held["m1"].rotor is not None and held["m1"].rotor.gear == 50.0
    joints = {joint.name: joint for joint in robot.joints}
    assert joints["pitch"].rotor is None and joints["pitch"].limits.lower == -1.0
    assert [link.name for link in robot.links if link.massless] == ["m1:rotor", "m2:rotor"]


def test_a_reflected_rotor_counts_with_its_motor_alone() -> None:
    rotor = Rotor(inertia=1e-3, gear=10.0, reflected=True)
    robot = chain("revolute", "revolute", "revolute")
    joints = tuple(replace(joint, rotor=rotor if joint.name == "j3" else None) for joint in robot.joints)
    coupled, bare = (
        da.Arm(
            robot.replace(
                joints=moved,
                couplings=[Coupling(("j2", "j3"), motors=("a", "b"), matrix=[[1.0, 0.5], [0.0, 1.0]])],
            )
        )
        for moved in (joints, robot.joints)
    )
    q = states(coupled, 3)[0]
    assert relative(coupled.inertia_matrix(q) - bare.inertia_matrix(q), np.diag([0.0, 0.0, 0.1])) < 1e-10


# -- screws ---------------------------------------------------------------------------------------------


def test_a_nut_on_a_vertical_screw() -> None:
    """τ = (I + m h²) q̈ + m g h with h = pitch / 2π."""
    row = {"type": "helical", "pitch": 0.02, "mass": 3.0, "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.05}}
    a = da.from_dh([row])
    h = 0.02 / (2 * math.pi)
    assert a.joint_names == ("joint1",) and a.robot.tree_joints[1].type == "prismatic"
    assert a.inertia_matrix([0.4])[0, 0] == pytest.approx(0.05 + 3.0 * h * h)
    assert a.inverse_dynamics([0.4], [2.0], [5.0])[0] == pytest.approx((0.05 + 3.0 * h * h) * 5.0 + 3.0 * G * h)
    assert a.pose([2 * math.pi])[2, 3] == pytest.approx(0.02)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_a_screw_moves_as_its_dh_row(convention: str) -> None:
    row = {"a": 0.3, "alpha": 0.4, "d": 0.1, "theta": 0.2}
    a = da.from_dh([row | {"type": "helical", "pitch": -0.05}], convention)
    for q in (0.0, 0.7, -3.0):
        stood = da.from_dh([row | {"d": 0.1 - 0.05 * q / (2 * math.pi)}], convention)
        assert relative(a.pose([q]), stood.pose([q])) < 1e-13


def test_a_screw_in_a_file_of_frames() -> None:
    text = WRIST.replace('name = "roll"\ntype = "revolute"', 'name = "roll"\ntype = "helical"\npitch = 0.04')
    robot = parse_toml(text[: text.index("[[coupling]]")])
    assert [joint.name for joint in robot.tree_joints] == ["turn", "pitch", "roll", "roll:slide"]
    (coupling,) = robot.couplings
    assert coupling == Coupling("roll:slide", "roll", 0.04 / (2 * math.pi))


# -- loops and couplings together -------------------------------------------------------------------------


def geared_five_bar() -> da.Arm:
    """The shipped five-bar, its second crank geared to the first, and a flag on the first elbow that turns back."""
    robot = da.load("five-bar").robot
    cranks = [joint.name for joint in robot.moving_joints]
    elbow = robot.loops[0].passive[0]
    (behind,) = (joint.child for joint in robot.joints if joint.name == elbow)
    flag = Joint("flag", "revolute", behind, "flag", Placement(translation=(0.1, 0.0, 0.0)))
    return da.Arm(
        robot.replace(
            links=(*robot.links, Link("flag", Inertia(0.2, (0.05, 0.0, 0.0)))),
            joints=(*robot.joints, flag),
            couplings=(Coupling("flag", elbow, -1.0, 0.3), Coupling(cranks[1], cranks[0], -0.9, math.pi * 0.9)),
        )
    )


def test_a_loop_may_stand_on_joints_that_follow_and_joints_follow_passive_ones() -> None:
    a = geared_five_bar()
    assert a.n == 1
    q, qd, qdd = (
        a.mechanism.pose[a.mechanism.actuated[0]] + np.linspace(-0.1, 0.1, 5)[:, None],
        np.full((5, 1), 0.7),
        np.ones((5, 1)),
    )
    Q = a.tree_positions(q)
    names = [joint.name for joint in a.robot.tree_joints]
    elbow = names.index(a.robot.loops[0].passive[0])
    assert np.allclose(np.exp(1j * Q[:, names.index("flag")]), np.exp(1j * (0.3 - Q[:, elbow])))
    assert np.abs(a.loop_residual(q)).max() < 1e-12
    Gamma = a.closure_jacobian(q)
    assert np.allclose(Gamma[:, names.index("flag")], -Gamma[:, elbow])
    e = 1e-5
    slope = (a.tree_positions(q + e) - a.tree_positions(q - e)) / (2 * e)
    held = [k for k, name in enumerate(names) if name != "flag"]
    assert np.abs(Gamma[:, held, 0] - slope[:, held]).max() < 1e-8
    bend = (a.closure_jacobian(q + e * qd) - a.closure_jacobian(q - e * qd)) / (2 * e)
    assert np.abs(a.closure_derivative(q, qd) - bend).max() < 1e-6
    # the power of the motor is the rate of the energy
    tau = a.inverse_dynamics(q, qd, qdd)
    energy = [
        a.kinetic_energy(q + s * qd + 0.5 * s * s * qdd, qd + s * qdd)
        + a.potential_energy(q + s * qd + 0.5 * s * s * qdd)
        for s in (-e, e)
    ]
    rubbed = np.einsum("ki,ki->k", a.friction_torque(qd, q=q), qd)
    assert np.allclose(np.einsum("ki,ki->k", tau, qd) - rubbed, (energy[1] - energy[0]) / (2 * e), rtol=1e-6)


WELDED = """<mujoco model="welded"><compiler angle="radian"/><option gravity="0 -9.81 0"/><worldbody>
<body name="crank"><joint name="crank" axis="0 0 1"/><inertial pos=".1 0 0" mass="1" diaginertia=".01 .02 .02"/>
  <body name="coupler" pos="0 .3 0"><joint name="pin" axis="0 0 1"/>
    <inertial pos=".3 .05 0" mass="2" diaginertia=".01 .06 .06"/><body name="end" pos=".7 .2 0">
    <joint name="end" axis="0 0 1"/><inertial pos="0 0 0" mass="1e-3" diaginertia="1e-6 1e-6 1e-6"/></body></body></body>
<body name="rocker" pos=".6 0 0"><joint name="slide" type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass=".1" diaginertia=".01 .01 .01"/>
  <body name="arm"><joint name="rocker" axis="0 0 1"/><inertial pos="0 .25 0" mass="1.5" diaginertia=".03 .01 .03"/>
  <body name="flag"><joint name="flag" axis="0 0 1"/><inertial pos=".1 .1 0" mass=".5" diaginertia=".03 .01 .03"/></body></body></body>
</worldbody><equality><weld name="close" body1="end" body2="arm"/>
<joint joint1="slide" joint2="crank" polycoef="0 .1 .05 0 0"/><joint joint1="flag" joint2="rocker" polycoef="0 .5 .1 0 0"/></equality>
<actuator><motor joint="crank"/></actuator></mujoco>"""


def test_newton_closes_loops_that_stand_on_joints_that_follow() -> None:
    a = da.Arm(read_mjcf(WELDED))
    assert a.mechanism.by_newton and a.joint_names == ("crank",)
    q, qd, qdd = np.linspace(-0.2, 0.2, 5)[:, None], np.full((5, 1), 0.7), np.ones((5, 1))
    Q = a.tree_positions(q)
    names = [joint.name for joint in a.robot.tree_joints]
    slide, flag, rocker = (Q[:, names.index(name)] for name in ("slide", "flag", "rocker"))
    assert np.allclose(slide, 0.1 * q[:, 0] + 0.05 * q[:, 0] ** 2, atol=1e-13)
    assert np.allclose(flag, 0.5 * rocker + 0.1 * rocker**2, atol=1e-13)
    assert np.abs(a.loop_residual(q)).max() < 1e-12
    e = 1e-5
    slope = (a.tree_positions(q + e) - a.tree_positions(q - e)) / (2 * e)
    assert np.abs(a.closure_jacobian(q)[..., 0] - slope).max() < 1e-8
    bend = (a.closure_jacobian(q + e * qd) - a.closure_jacobian(q - e * qd)) / (2 * e)
    assert np.abs(a.closure_derivative(q, qd) - bend).max() < 1e-6
    Q, V, A = a.tree_motion(q, qd, qdd)
    tau = np.einsum("kij,ki->kj", a.closure_jacobian(q), a.tree.inverse_dynamics(Q, V, A))
    assert relative(a.inverse_dynamics(q, qd, qdd), tau) < 1e-11


# -- simulation -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COUPLED)
@pytest.mark.parametrize("method", ["rk4", "dop853", "variational"])
def test_simulations_keep_the_energy(name: str, method: str) -> None:
    a = arm(name)
    options = {} if method == "dop853" else {"step": 2e-3 if method == "rk4" else 1e-3}
    q0, qd0 = np.full(a.n, 0.1), np.full(a.n, 0.4)
    run = da.simulate(a, q0, qd0, None, 0.3, method=method, friction=False, **options)  # type: ignore[arg-type]
    energy = a.kinetic_energy(run.q, run.qd) + a.potential_energy(run.q)
    scale = np.abs(a.kinetic_energy(run.q, run.qd)).max()
    assert np.abs(energy - energy[0]).max() < (3e-4 if method == "variational" else 1e-6) * scale


def test_a_simulation_with_friction_loses_what_rubs() -> None:
    a = arm("wrist")
    run = da.simulate(a, np.zeros(a.n), np.full(a.n, 0.5), None, 0.2, step=1e-4)
    energy = a.kinetic_energy(run.q, run.qd) + a.potential_energy(run.q)
    power = np.einsum("ki,ki->k", a.friction_torque(run.qd), run.qd)
    lost = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(run.t))])
    assert np.abs(energy + lost - energy[0]).max() < 1e-4 * np.abs(lost).max()


# -- limits -----------------------------------------------------------------------------------------------


def limited(own: Limits, follower: Limits, *numbers: float) -> Limits:
    robot = chain("revolute", "revolute", couplings=[Coupling("j2", "j1", *numbers)])
    joints = [replace(joint, limits=limits) for joint, limits in zip(robot.joints, (own, follower), strict=True)]
    return robot.replace(joints=joints).moving_joints[0].limits


def test_limits_of_joints_that_follow_bind_their_leader() -> None:
    assert limited(Limits(-2, 2, 3, 8, 90), Limits(-1, 1, 1, 2, 5), -0.5) == Limits(-2, 2, 2, 4, 90)
    assert limited(Limits(-2, 2), Limits(-1, 2), 2.0, 0.5) == Limits(-0.75, 0.75)
    assert limited(Limits(), Limits(-1, None, 2), -4.0) == Limits(None, 0.25, 0.5)
    assert limited(Limits(0, 1), Limits(-1, 0), 1.0) == Limits(0, 0)


def test_limits_beyond_all_numbers_are_none() -> None:
    assert limited(Limits(), Limits(-1.0, 1.0, 20.0), 1e-308) == Limits(-1.0 / 1e-308, 1.0 / 1e-308)


def test_limits_that_leave_no_room_are_refused() -> None:
    with pytest.raises(
        RobotError, match="joint 'j2' follows joint 'j1' by 2 · q \\+ 0, and its limits from 3 to 4 exclude"
    ):
        limited(Limits(-1, 1), Limits(3, 4), 2.0)


# -- files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COUPLED)
def test_toml_gives_the_same_robot_back(name: str, tmp_path: Path) -> None:
    a = arm(name)
    assert parse_toml(write_toml(a.robot)) == a.robot
    a.save(tmp_path / "arm.toml")
    assert da.load(tmp_path / "arm.toml", physical="warn") == a


def test_dh_tables_with_mimic_joints_stay_dh_tables() -> None:
    robot = da.from_dh([(1.0, 0, 0, 0), (0.5, "pi/2", 0, 0), (0.1, 0, 0.3, 0)]).robot
    robot = robot.replace(couplings=[Coupling("joint3", "joint1", -0.5, 0.1)])
    text = write_toml(robot)
    assert 'convention = "standard"' in text and parse_toml(text) == robot


def test_urdf_gives_the_same_couplings_back(tmp_path: Path) -> None:
    couplings = (Coupling("j2", "j1", -1.5, 0.02), Coupling("j3", "j1", 0.0, 0.4), Coupling("j4", offset=0.1))
    a = da.Arm(chain("revolute", "prismatic", "revolute", "revolute", couplings=couplings))
    a.save(tmp_path / "arm.urdf")
    again = da.load(tmp_path / "arm.urdf")
    assert again.robot.couplings[:2] == couplings[:2] and again.robot.couplings[2] == Coupling("j4", "j1", 0.0, 0.1)
    x = states(a, 5)
    assert relative(again.inverse_dynamics(*x), a.inverse_dynamics(*x)) < 1e-12


def test_urdf_of_screws_and_massless_links(tmp_path: Path) -> None:
    a = da.from_dh([{"type": "helical", "pitch": 0.02, "mass": 3.0, "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.05}}])
    a.save(tmp_path / "screw.urdf")
    again = da.load(tmp_path / "screw.urdf")
    assert [link.massless for link in again.robot.links] == [link.massless for link in a.robot.links]
    assert again.robot.couplings == a.robot.couplings


@pytest.mark.parametrize("name", COUPLED)
def test_urdf_cannot_hold_polynomials_and_motors(name: str) -> None:
    with pytest.raises(
        RobotError, match=r"has the coupling joint. = .*, which URDF cannot express: .* save it as \.toml"
    ):
        write_urdf(arm(name).robot)


MIMIC = """<robot name="g"><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
<joint name="lead" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="9" velocity="3"/></joint>
<joint name="drag" type="{kind}"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="9" velocity="3"/>
{mimic}</joint><joint name="still" type="fixed"><parent link="c"/><child link="d"/></joint></robot>"""


def mimic(text: str, kind: str = "revolute") -> Robot:
    return parse_urdf(MIMIC.format(mimic=text, kind=kind), "arm.urdf")


@pytest.mark.parametrize("tag", ["mimic", "drake:mimic"])
def test_urdf_mimic(tag: str) -> None:
    text = f'<{tag} xmlns:drake="http://drake.mit.edu" joint="lead" multiplier="-2" offset="0.1"/>'
    robot = parse_urdf(MIMIC.format(mimic=text, kind="revolute")) if tag == "mimic" else None
    if robot is None:
        robot = parse_urdf(
            MIMIC.replace("<robot ", '<robot xmlns:drake="http://drake.mit.edu" ').format(mimic=text, kind="revolute")
        )
    assert robot.couplings == (Coupling("drag", "lead", -2.0, 0.1),)
    assert mimic('<mimic joint="lead"/>').couplings == (Coupling("drag", "lead"),)


def test_a_fixed_joint_that_mimics_is_told_of() -> None:
    robot = mimic('<mimic joint="lead"/>', "fixed")
    assert robot.couplings == () and robot.notes == ("<mimic> of fixed joints is ignored: joint 'drag'",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            '<mimic joint="led"/>',
            "arm.urdf: .*the coupling of joint 'drag': there is no joint 'led'; the joints are .*; did you mean 'lead'",
        ),
        ('<mimic joint="still"/>', "joint 'still' is fixed and has no position; couple joints that are revolute"),
        ('<mimic joint="drag"/>', "arm.urdf: joint 'drag': .*joint 'drag' follows itself; name other joints"),
        ("<mimic/>", "arm.urdf: joint 'drag': <mimic> has no 'joint'"),
        ('<mimic joint="lead" multiplier="two"/>', "'multiplier' of <mimic> is 'two'; it must be a number"),
        ('<mimic joint="lead" offset="inf"/>', "'offset' of <mimic> is 'inf'; it must be a finite number"),
    ],
)
def test_urdf_errors(text: str, why: str) -> None:
    with pytest.raises(RobotError, match=why):
        mimic(text)


@pytest.mark.parametrize("name", COUPLED)
def test_show_names_couplings(name: str, tmp_path: Path) -> None:
    arm(name).save(tmp_path / "arm.toml")
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "arm.toml"), "--physical", "warn"])
    assert shown.exit_code == 0 and "following" in shown.output and "coupling" in shown.output
    assert arm(name).robot.couplings[0].text.split(" = ")[0] in shown.output


def test_show_and_parameters_have_the_joints_that_follow(tmp_path: Path) -> None:
    """Their friction counts, so it is shown; parameters are numbered by all joints, so these are named."""
    robot = chain("revolute", "revolute", "prismatic", couplings=[Coupling("j1", "j3", 0.5)])
    joints = (replace(robot.joints[0], friction=Friction(0.125, 0.375)), *robot.joints[1:])
    da.Arm(robot.replace(joints=joints)).save(tmp_path / "arm.toml")
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "arm.toml")]).output
    rows = [line.split() for line in shown.splitlines()]
    assert ["j1", "0.125", "0.375"] in rows and ["2", "j3", "prismatic"] in [row[:3] for row in rows]
    shown = CliRunner().invoke(app, ["parameters", str(tmp_path / "arm.toml")]).output
    assert "Parameters are numbered by all moving joints: 1 j1, 2 j2, 3 j3." in shown


# -- what cannot be -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"joints": ()}, "a coupling has no joints; name the coupled joints"),
        ({"joints": 3}, "a coupling has joints = 3; it must be a list of names"),
        ({"joints": "b", "of": ["a", 2]}, r"a coupling has of = \['a', 2\]; it must be a list of names"),
        ({"joints": "b", "of": "a", "motors": "m"}, r"has both 'of' \(a\) and 'motors' \(m\); give only one of them"),
        ({"joints": ["b", "b"], "of": "a"}, "'b' appears more than once in 'joints'; name it once"),
        ({"joints": "b", "of": ["a", "b"]}, "joint 'b' follows itself"),
        ({"joints": "b", "of": "a", "matrix": [[1.0, 2.0]]}, r"has matrix = \[\[1.0, 2.0\]\]; it needs 1 row, .* of 1 number,"),
        ({"joints": ["b", "c"], "of": "a"}, r"has matrix = \(\); it needs 2 rows"),
        ({"joints": "b", "of": "a", "matrix": [["x"]]}, "the coupling of joint 'b' has the value 'x' in 'matrix'; it must be a finite number"),
        ({"joints": "b", "of": "a", "matrix": math.nan}, "has the value nan in 'matrix'; it must be a finite number"),
        ({"joints": "b", "of": "a", "offset": math.inf}, "has the value inf in 'offset'; it must be a finite number"),
        ({"joints": "b", "of": "a", "offset": [1, 2]}, r"has 2 values in 'offset' \(\[1, 2\]\); give 1"),
        ({"joints": "b", "of": ["a", "c"], "matrix": [[1, 2]], "higher": [1]}, "couples 1 to 2 joints; powers are allowed only where one joint"),
        ({"joints": "b", "of": "a", "higher": [1.0] * 16}, "has a polynomial of degree 17; the maximum is 16"),
        ({"joints": "b", "motors": ["m", "n"], "matrix": [[1, 2]]}, r"has more motors \(2\) than joints \(1\).*at most as many motors as joints"),
        ({"joints": ["b", "c"], "motors": ["m", "n"], "matrix": [[1, 2], [2, 4]]}, "so some combination of motors moves no joint"),
        ({"joints": ["b", "c"], "motors": "m", "matrix": [[0], [0]]}, "has a column of zeros for motor 'm', which moves no joint; remove it"),
        ({"joints": "b", "motors": "m", "limits": [{"velocity": 1.0}]}, r"has {'velocity': 1.0} in 'limits'; it must be a list of Limits"),
        ({"joints": "b", "motors": "m", "limits": [Limits(), Limits()]}, "has limits for 2 motors, but the number of motors is 1; give one table per motor"),
    ],
)  # fmt: skip
def test_couplings_that_cannot_be(fields: dict[str, object], why: str) -> None:
    with pytest.raises(RobotError, match=why):
        Coupling(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("couplings", "why"),
    [
        ([Coupling("j2", "j9")], "robot 'chain': the coupling of joint 'j2': there is no joint 'j9'; the joints are j1, j2, j3"),
        ([Coupling("j9", "j1")], "there is no joint 'j9'"),
        ([Coupling("j9", motors="m")], "there is no joint 'j9'"),
        ([Coupling("j2", "j1"), Coupling("j2", "j3")], "joint 'j2' already follows joint 'j1'; remove one of the couplings"),
        ([Coupling("j2", "j3"), Coupling("j3", "j2")], "in a cycle: 'j2' follows 'j3' follows 'j2'; remove one coupling"),
        ([Coupling("j2", "j1"), Coupling("j1", "j3"), Coupling("j3", "j2")], "in a cycle: .*'j2' follows 'j1'"),
        ([Coupling(("j1", "j2", "j3"), offset=(0, 0, 0))], "every joint is coupled to another or fixed, so no joint is left for a motor"),
        ([Coupling("j2", motors="j3")], "two joints have the name 'j3'"),
        (Coupling("j2", "j1"), "a robot has couplings = Coupling.*; it must be a list of Coupling"),
        ([{"joints": "j2", "of": "j1"}], "a robot has couplings = .*; it must be a list of Coupling"),
        ([Coupling("j2", "j1", 1e-200), Coupling("j3", "j2", 1e-200)], "joint 'j3' follows joint 'j1' with the overall factor 0"),
        ([Coupling("j2", "j1", 1e10), Coupling("j3", "j2", 1e10)], r"with the overall factor 1e\+20 and offset 0; correct the factors"),
    ],
)  # fmt: skip
def test_robots_whose_couplings_cannot_be(couplings: list[Coupling], why: str) -> None:
    with pytest.raises(RobotError, match=why):
        chain("revolute", "revolute", "prismatic", couplings=couplings)


def test_fixed_joints_neither_lead_nor_follow() -> None:
    for coupling in (Coupling("j2", "j1"), Coupling("j1", "j2")):
        with pytest.raises(RobotError, match="joint 'j2' is fixed and has no position; couple joints that are"):
            chain("revolute", "fixed", "revolute", couplings=[coupling])


def test_joints_of_loops() -> None:
    robot = da.load("five-bar").robot
    crank, elbow = robot.moving_joints[0].name, robot.loops[0].passive[0]
    with pytest.raises(
        RobotError, match=f"its passive joint '{elbow}' already follows joint '{crank}' through a coupling"
    ):
        robot.replace(couplings=[Coupling(elbow, crank)])
    with pytest.raises(
        RobotError, match=f"contains joint '{crank}', which follows joint '{elbow}', a passive joint of loop 'meeting'"
    ):
        robot.replace(couplings=[Coupling(crank, elbow)])
    (behind,) = (joint.child for joint in robot.joints if joint.name == elbow)
    flag = Joint("flag", "revolute", behind, "flag")
    half = robot.replace(
        links=(*robot.links, Link("flag")), joints=(*robot.joints, flag), couplings=(Coupling("flag", elbow, 0.5),)
    )
    with pytest.raises(
        RobotError,
        match="for which a loop gives only the cosine and sine of its angle; a revolute joint can follow it with an integer",
    ):
        assert da.Arm(half).mechanism


def test_long_chains_of_couplings_are_ordered_at_once() -> None:
    names = [f"j{k}" for k in range(1, 602)]
    couplings = [Coupling(b, a, 1.0) for a, b in itertools.pairwise(names)]
    robot = chain(*["revolute"] * 601, couplings=couplings[::-1])
    assert [joint.name for joint in robot.moving_joints] == ["j1"]


def test_too_many_couplings_are_refused() -> None:
    with pytest.raises(RobotError, match="it has more than 100 joints in one coupling"):
        Coupling([f"j{k}" for k in range(101)], "a")  # type: ignore[arg-type]
    with pytest.raises(RobotError, match="it has more than 1000 couplings"):
        chain("revolute", "revolute", couplings=[Coupling("j2", "j1")] * 1001)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('motors = ["m1", "m2"]', 'motors = ["m1", 2]', "arm.toml: coupling 1: 'motors' is .*; it must be a list of strings"),
        ("matrix = [[1.0, 0.0], [-0.8, 1.2]]", "matrix = [[1.0, 0.0]]", "arm.toml: coupling 1: .* has matrix = .*; it needs 2 rows"),
        ("limits = [{ velocity = 5.0, effort = 12.0 }", "limits = [{ speed = 5.0 }", "arm.toml: coupling 1, motor 1, limits: .*'speed'"),
        ('joints = ["pitch", "roll"]', 'joints = ["pitch", "rol"]', "there is no joint 'rol'; .*; did you mean 'roll'"),
        ("[[coupling]]", "[coupling]", r"write each coupling as a \[\[coupling\]\] table"),
        ('name = "roll"\ntype = "revolute"', 'name = "roll"\ntype = "helical"', "^arm.toml: joint 'roll': the key 'pitch' is missing"),
        ("matrix = [[1.0, 0.0], [-0.8, 1.2]]", "matrix = [[1.0, 0.0], [-0.8, 1.2]]\noffset = [0, 'x']", "coupling 1: 'offset' is 'x'; it must be .*an angle"),
        ('name = "roll"\ntype = "revolute"', 'name = "roll"\ntype = "revolute"\npitch = 0.1', "joint 'roll': 'pitch' applies only to joints of type"),
        ('name = "fork"', 'name = "fork"\nmassless = true', "link 'fork' is massless but has an inertia"),
    ],
)  # fmt: skip
def test_toml_errors(old: str, new: str, why: str) -> None:
    assert WRIST.count(old) >= 1
    with pytest.raises(RobotError, match=why):
        parse_toml(WRIST.replace(old, new, 1), "arm.toml")


def test_offsets_may_be_words_of_angles() -> None:
    matrix = "matrix = [[1.0, 0.0], [-0.8, 1.2]]"
    robot = parse_toml(WRIST.replace(matrix, matrix + '\noffset = ["pi/2", "-90 deg"]', 1))
    assert robot.couplings[0].offset == (math.pi / 2, -math.pi / 2)


def test_dh_rows_with_a_pitch() -> None:
    for row in ({"type": "helical"}, {"pitch": 0.1}):
        with pytest.raises(
            RobotError, match=r"DH row 1: .*a helical joint needs a pitch \(m per turn\), and no other type has one"
        ):
            da.from_dh([row])


# -- the rooms that use an arm --------------------------------------------------------------------------------


def test_closed_forms_of_any_factor_equal_their_kernels() -> None:
    a = arm("wrist")
    q, qd, qdd = states(a, 3)
    for parameters in ("nonzero", "all", "numbers"):
        got = a.equations(parameters).evaluate(q, qd, qdd)
        assert relative(got.B, a.inertia_matrix(q)) < 1e-12
        assert relative(got.C, a.coriolis_matrix(q, qd)) < 1e-12
        assert relative(got.tau, a.inverse_dynamics(q, qd, qdd)) < 1e-12
    assert "cos(1.2ϑ_4−0.8ϑ_2)" in a.equations().text("g2")


def test_identification_finds_a_coupled_arm(tmp_path: Path) -> None:
    a = arm("wrist")
    rng, t = np.random.default_rng(0), np.linspace(0, 10, 1001)
    w = np.array([0.5, 0.8, 1.1, 1.7, 2.3])[:, None, None]
    A, phase = 0.3 * rng.normal(size=(5, 1, a.n)), rng.uniform(0, 6, (5, 1, a.n))
    x = w * t[:, None] + phase
    q, qd, qdd = (A * np.sin(x)).sum(0), (A * w * np.cos(x)).sum(0), (-A * w**2 * np.sin(x)).sum(0)
    tau = a.inverse_dynamics(q, qd, qdd)
    fit = da.identify(a, {"t": t, "q": q, "qd": qd, "qdd": qdd, "tau": tau}, two_sided=True, offset=False)
    assert relative(fit.arm.inverse_dynamics(q, qd, qdd), tau) < 1e-5
    assert fit.arm.robot.couplings == a.robot.couplings
    massless = [link.name for link in a.robot.links if link.massless]
    assert len(massless) == 3 and all(fit.arm.robot.link(name).inertia.is_zero for name in massless)
    assert not any(
        name.endswith(("_2", "_4", "_6")) and name[0] in "mI" and name[1] != "m" for name in da.ParameterSet(a).names
    )


def test_the_mass_on_a_fine_screw_is_felt() -> None:
    """A horizontal axis: m (pitch / 2π)² is 6e-7 m beside the rotor, and three quarters of the inertia."""
    a = da.Arm(
        parse_toml("""
            convention = "frames"
            gravity = [0, -9.81, 0]
            link = [{ name = "base" }, { name = "table", mass = 100.0, inertia = [0.1, 0.1, 1e-5, 0, 0, 0] }]
            [[joint]]
            name = "screw"
            type = "helical"
            pitch = 0.005
            limits = { lower = -100.0, upper = 100.0 }
            parent = "base"
            child = "table"
            friction = { viscous = 1e-4, coulomb = 0.01 }
            rotor = { inertia = 1e-5 }
            """)
    )
    base = a.base_parameters()
    assert base.formulas[0] == "I_m1 + Î_2zz + 6.33257e-07 (m_2 + I_m2)"
    assert base.values[0] == pytest.approx(a.inertia_matrix([0.3])[0, 0], rel=1e-12)
    t = np.linspace(0, 10, 1001)[:, None]
    q, qd, qdd = (
        30 * np.sin(t) + np.sin(7 * t),
        30 * np.cos(t) + 7 * np.cos(7 * t),
        -30 * np.sin(t) - 49 * np.sin(7 * t),
    )
    tau = a.inverse_dynamics(q, qd, qdd)
    fit = da.identify(a, {"t": t[:, 0], "q": q, "qd": qd, "qdd": qdd, "tau": tau}, offset=False)
    assert fit.arm.inertia_matrix([0.3])[0, 0] == pytest.approx(a.inertia_matrix([0.3])[0, 0], rel=1e-4)


def test_formulas_of_base_parameters_are_refused_in_a_sentence() -> None:
    with pytest.raises(da.DalembertError, match=r"base_parameters\(\) computes its base parameters numerically"):
        arm("wrist").base_parameters("symbols")


def test_the_tip_of_a_coupled_arm_follows_a_line() -> None:
    a = arm("wrist")
    op = a.operational_space()
    q, qd, _ = states(a, 4)
    e = 1e-5
    slope = (op.pose(q + e * qd) - op.pose(q - e * qd)) / (2 * e)
    assert relative(op.velocity(q, qd), slope) < 1e-7


@pytest.mark.usefixtures("undrawn")
@pytest.mark.usefixtures("undrawn")
def test_a_report_of_a_coupled_arm(tmp_path: Path) -> None:
    a = arm("wrist")
    motion = da.polynomial(np.zeros(a.n), np.full(a.n, 0.4), 1.0)
    da.write_report(tmp_path / "report.html", [da.study(a, motion)])
    text = (tmp_path / "report.html").read_text()
    assert "motor2" in text and "joint3 = −0.8 motor2 + 1.2 motor3" in text


def test_factors_whose_squares_are_no_numbers_are_refused() -> None:
    for value in (1e308, -1e16):
        with pytest.raises(da.RobotError, match="the maximum is 1e\\+15"):
            Coupling("b", "a", value)
    assert Coupling("b", "a", 1e15).matrix == ((1e15,),)


def test_functions_that_do_not_run_on_symbols_are_told() -> None:
    with pytest.raises(da.DalembertError, match=r"does not run on SymPy symbols .* write it with sympy\.sin"):
        da.load("planar-2r").in_coordinates(lambda y: [np.sin(y[0]), y[1]])
