"""Every URDF and xacro of PyPI's ``example-robot-data`` and ``rtb-data``: it loads and equals Pinocchio, or one sentence says why not."""

import os
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import dalembert as da
from dalembert.robot.model.joint_couplings import in_order
from dalembert.robot.readers.urdf import expand_xacro

FOLDER = Path(os.environ["DALEMBERT_ROBOT_DATA"])
FILES = {
    str(path.relative_to(FOLDER)).removeprefix("cmeel.prefix/share/example-robot-data/robots/"): path
    for path in sorted(FOLDER.rglob("*"))
    if path.name.endswith((".urdf", ".xacro"))
}
STATES = 3
MOST_FOR_MATRIX = 33  # joints: compiling the inertia matrix of more takes long

# what cannot be loaded, and what the sentence says of it
REFUSED = {
    "alex_description/urdf/alex_psyonic_hands.urdf": "there is no joint 'index_q1'",
    "ur_description/urdf/ur3.urdf": "has no links",
    "rtbdata/data/test.urdf": "not well-formed XML",
    "hector_description/robots/quadrotor_base.xacro": "there is no file",
    "rtbdata/xacro/kuka_description/kuka_kr210/urdf/kr210l150.xacro": "name 'deg' is not defined",
    "rtbdata/xacro/clearpath_ridgeback_description/urdf/accessories/sick_lms1xx_mount.urdf.xacro": "ROS_PACKAGE_PATH",
    "rtbdata/xacro/clearpath_ridgeback_description/urdf/accessories/sick_s300_mount.urdf.xacro": "ROS_PACKAGE_PATH",
}
MACROS = "is not a robot; load the .xacro file that includes it"  # what is said of files that only define macros


def load(path, **options):
    """The arm; what its file says and the model leaves out is no matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return da.load(path, physical="warn", **options)


def text_of(path):
    """URDF text, with macros expanded."""
    return path.read_text() if path.suffix == ".urdf" else expand_xacro(path)[0]


def tree_positions(robot, q):
    """The positions of all joints, for those of joints that follow none."""
    at = dict(q)
    for coupling in in_order(robot.couplings):
        for name, row, shift in zip(coupling.joints, coupling.matrix, coupling.offset, strict=True):
            at[name] = shift + sum(x * at[leader] for x, leader in zip(row, coupling.of, strict=True))
    return at


def coupling_map(robot):
    """Names of the tree's joints, A and b of q_tree = A q + b."""
    held, names = [x.name for x in robot.moving_joints], [x.name for x in robot.tree_joints]
    zero = dict.fromkeys(held, 0.0)

    def column(q):
        at = tree_positions(robot, q)
        return np.array([at[name] for name in names])

    b = column(zero)
    return names, np.array([column(zero | {name: 1.0}) - b for name in held]).T, b


def put(model, names, q):
    """Pinocchio's configuration: it keeps a continuous joint as cosine and sine."""
    at = pin.neutral(model)
    for name, x in zip(names, q, strict=True):
        joint = model.joints[model.getJointId(name)]
        at[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
    return at


def assert_same_as_pinocchio(arm, model):
    """τ and B at random states, without friction and rotors, which URDF readers treat each in its way."""
    robot = arm.robot
    joints = tuple(replace(x, friction=da.Friction(), rotor=None) for x in robot.joints)
    arm = da.Arm(robot.replace(joints=joints))
    names, A, b = coupling_map(robot)
    assert sorted(names) == sorted(list(model.names)[1:])
    if not arm.n:
        return
    order = [model.joints[model.getJointId(name)].idx_v for name in names]
    data, rng = model.createData(), np.random.default_rng(1)

    def theirs(x):
        row = np.empty(model.nv)
        row[order] = x
        return row

    states = rng.uniform(-1, 1, (STATES, 3, arm.n))
    tau = arm.inverse_dynamics(*states.transpose(1, 0, 2))
    for (q, v, a), ours in zip(states, tau, strict=True):
        at = put(model, names, A @ q + b)
        wanted = A.T @ pin.rnea(model, data, at, theirs(A @ v), theirs(A @ a))[order]
        np.testing.assert_allclose(ours, wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())
    if arm.n <= MOST_FOR_MATRIX:
        M = pin.crba(model, data, at)
        M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
        np.testing.assert_allclose(arm.inertia_matrix(q), A.T @ M @ A, rtol=0, atol=1e-10 * np.abs(M).max())


def test_all_robots_are_there():
    assert len(FILES) >= 140


@pytest.mark.parametrize("name", FILES)
def test_robot_equals_pinocchio_or_is_refused_in_one_sentence(name):
    path = FILES[name]
    try:
        arm = load(path)
    except da.DalembertError as error:
        sentence = str(error)
        assert name in REFUSED or path.suffix == ".xacro", sentence
        assert REFUSED.get(name, MACROS) in sentence
        assert path.name in sentence and "\n" not in sentence
        return
    assert name not in REFUSED
    assert_same_as_pinocchio(arm, pin.buildModelFromXML(text_of(path)))


# arms of larger robots: root and tip
CHAINS = {
    "baxter_description/urdf/baxter.urdf": ("torso", "left_gripper"),
    "tiago_description/robots/tiago_dual.urdf": ("base_footprint", "hand_left_tool_link"),
    "pr2_description/urdf/pr2.urdf": ("torso_lift_link", "r_gripper_tool_frame"),
    "b1_description/urdf/b1-z1.urdf": ("base", "gripperStator"),
    "talos_data/robots/talos_full_v2.urdf": ("torso_2_link", "gripper_left_base_link"),
    "panda_description/urdf/panda.urdf": ("panda_link0", "panda_hand_tcp"),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chain_of_a_robot_equals_pinocchio_s_reduced_model(name):
    path, (root, tip) = FILES[name], CHAINS[name]
    whole, part = load(path).robot, load(path, root=root, tip=tip)
    at = tree_positions(whole, {x.name: middle(x.limits) for x in whole.moving_joints})
    model = pin.buildModelFromXML(text_of(path))
    kept = {x.name for x in part.robot.tree_joints}
    still = [x for x in list(model.names)[1:] if x not in kept]
    assert 6 <= part.n <= 8 and still
    outside = {x.name for x in whole.tree_joints if x.name not in kept and not _on(whole, root, x)}
    at |= dict.fromkeys(outside, 0.0)
    reference = put(model, still, [at[x] for x in still])
    assert_same_as_pinocchio(part, pin.buildReducedModel(model, [model.getJointId(x) for x in still], reference))


def middle(limits):
    """Where a joint beside a chain is held: at 0, or in the middle of its range."""
    lower, upper = limits.lower or 0.0, limits.upper or 0.0
    return 0.0 if lower <= 0.0 <= upper else 0.5 * (lower + upper)


def _on(robot, root, joint):
    """Whether a joint hangs on the root."""
    above = {x.child: x.parent for x in robot.joints}
    link = joint.parent
    while link != root and link in above:
        link = above[link]
    return link == root
