"""The names of an arm: those of other libraries lead to ours, and those that only our rooms use are not listed.

Names of other libraries are descriptors that raise, not a ``__getattr__``: that would cost 60 ns in every call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

# members without an underscore that are for other rooms
INTERNAL = frozenset((
    "checked", "contacts", "ending_at", "fitting", "foreign_call", "lazy_input", "nominal", "numbers", "placed", "placing",
    "prepare_single", "quick_kernels", "singles", "sizes", "touching",
))  # fmt: skip

# by the call that replaces them, names of Pinocchio, Drake, MuJoCo, the Robotics Toolbox, MATLAB, RBDL and PyBullet
CALLS = {
    "arm.inverse_dynamics(q, qd, qdd)": "rnea rneaInParallel rne inverseDynamics InverseDynamics CalcInverseDynamics "
    "calculateInverseDynamics mj_inverse mj_rne id inverse_dyn",
    "arm.inverse_dynamics(q, qd, 0 * qd)": "nle nonLinearEffects NonlinearEffects CalcBiasTerm qfrc_bias bias_force",
    "arm.forward_dynamics(q, qd, tau)": "aba abaInParallel forwardDynamics ForwardDynamics accel mj_forward fd",
    "arm.inertia_matrix(q)": "crba mass_matrix massMatrix CalcMassMatrix calculateMassMatrix M inertia mj_fullM mj_crb qM "
    "CompositeRigidBodyAlgorithm get_mass_matrix",
    "arm.forward_derivatives(q, qd, tau)[2]": "computeMinverse minverse inverse_inertia_matrix mass_matrix_inverse",
    "arm.coriolis_matrix(q, qd)": "C coriolis computeCoriolisMatrix get_coriolis_matrix",
    "arm.coriolis_matrix(q, qd) @ qd": "velocityProduct velocity_product",
    "arm.gravity_torque(q)": "g gravload gravity_vector gravityTorque computeGeneralizedGravity "
    "CalcGravityGeneralizedForces qfrc_gravcomp",
    "arm.friction_torque(qd)": "friction qfrc_passive",
    "arm.torque_terms(q, qd, qdd)": "itorque",
    "arm.torque_derivatives(q, qd, qdd)": "computeRNEADerivatives rnea_derivatives",
    "arm.forward_derivatives(q, qd, tau)": "computeABADerivatives aba_derivatives",
    "arm.torque_second_derivatives(q, qd, qdd)": "ComputeRNEASecondOrderDerivatives",
    "arm.regressor(q, qd, qdd)": "computeJointTorqueRegressor",
    "arm.jacobian(q, frame=link)": "J jacob0 computeJointJacobian computeFrameJacobian geometricJacobian mj_jac mj_jacSite "
    "mj_jacBody calculateJacobian CalcJacobianSpatialVelocity",
    "arm.jacobian_derivative(q, qd, frame=link)": "jacob0_dot getFrameJacobianTimeVariation",
    "arm.pose(q, frame=link)": "fkine fk forward_kinematics forwardKinematics getTransform framesForwardKinematics "
    "CalcRelativeTransform",
    "arm.link_poses(q)": "fkine_all mj_kinematics",
    "arm.kinetic_energy(q, qd)": "computeKineticEnergy CalcKineticEnergy",
    "arm.potential_energy(q)": "computePotentialEnergy CalcPotentialEnergy",
    "arm.operational_space().inertia(q)": "inertia_x",
    "da.inverse_kinematics(arm, pose)": "ik ikine ikine_LM inverse_kinematics inverseKinematics",
    "da.simulate(arm, q0, qd0, torque, duration)": "simulate fdyn mj_step step",
    "arm.rollout(q, qd, tau, step=1e-3, steps=100)": "integrate mj_rollout",
    "da.identify(arm, log)": "identify",
    "arm.n": "nv nq nu dof ndof num_joints njoints num_positions num_velocities",
    "arm.joint_names": "names joints joint_name",
    "arm.robot.links": "links bodies",
    "[joint.limits for joint in arm.robot.moving_joints]": "limits qlim joint_limits lowerPositionLimit upperPositionLimit "
    "effortLimit velocityLimit",
    "arm.robot.gravity, or arm.replace(gravity=…) for another arm": "gravity Gravity",
    "arm.robot.payload, or arm.with_payload(mass, com) for another arm": "payload",
    "arm.robot.tip": "tip",
    "arm.robot.base": "base",
}
OTHER_NAMES = {name: call for call, names in CALLS.items() for name in names.split()}

# the call that makes an arm with another value, by the name that a user may try to assign
CHANGES = {
    "payload": "arm.with_payload(mass, com)",
    "mass": "arm.with_payload(mass, com)",
    "tip": "da.load(path, tip=link)",
    "contacts": "wrenches={link: w} in the call",
    **{name: f"arm.variants({name}=…)" for name in ("parameters", "lengths", "gears")},
    **dict.fromkeys(("name", "gravity", "base", "joints", "links", "couplings"), "arm.replace({}=…)"),
    "Gravity": "arm.replace(gravity=…)",
    "loops": "arm.with_loop(…)",
    "omitted": "arm.approximate(drop=…)",
}
STATE = INTERNAL | CHANGES.keys() | {"robot"}  # names that are set once, or never


class Elsewhere:
    """A name of another library: reading it raises the AttributeError that names our call."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, arm: Any, owner: type) -> NoReturn:
        raise AttributeError(f"'{owner.__name__}' object has no attribute '{self.name}'; use {OTHER_NAMES[self.name]}")


class ArmType(type):
    """The class of arms: it has the names of other libraries, and lists the names that are for users."""

    def __new__(mcs, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> ArmType:
        if not any(isinstance(base, ArmType) for base in bases):
            members = {other: Elsewhere() for other in OTHER_NAMES} | members
        return super().__new__(mcs, name, bases, members)

    def __dir__(cls) -> Iterable[str]:
        return [name for name in super().__dir__() if name not in INTERNAL and name not in OTHER_NAMES]


def refuse_change(name: str) -> NoReturn:
    """Raise the error for an assignment to an arm."""
    call = CHANGES.get(name, "arm.replace(…)").format(name)
    raise AttributeError(f"'{name}' of an arm cannot be set, because arms do not change: {call} returns another arm")
