// Torques on the arm during simulation: control laws that hold a posture, and the pull of a spring at the tip.

/** @import { Released } from "./contact_problem.js" */
/** @import { Robot } from "./robot.js" */
/** @typedef {ArrayLike<number>} Values */
/** @typedef {{name: string, posture: Float64Array, kp: Float64Array, kd: Float64Array, limited: boolean}} Law posture: q_d, the set-point; limited: whether torques are limited to the joint efforts */
/** @typedef {{target: number[], stiffness: number, damping: number, wrench: Float64Array}} Pull a spring from the tip to a point: N/m and N s/m, and an additional tip wrench */

/** The laws by name: the torque from the state and from the model quantities at that state. @type {Record<string, (robot: Robot, law: Law, q: Values, qd: Values, at: Released) => Float64Array>} */
const CONTROL_LAWS = {
  // τ = g(q) + K_p (q_d − q) − K_d q̇
  pd: (robot, { posture, kp, kd }, q, qd) =>
    robot.gravityTorque(q).map((g, i) => g + kp[i] * (posture[i] - q[i]) - kd[i] * qd[i]),
  // τ = B(q) y + C q̇ + F_v q̇ + g with y = K_p (q_d − q) − K_d q̇; dry friction has no direction at rest
  computed: (robot, { posture, kp, kd }, q, qd, { B, r }) =>
    r.map((rest, i) => {
      let torque = -rest;
      for (let j = 0; j < r.length; j++)
        torque += B[i * r.length + j] * (kp[j] * (posture[j] - q[j]) - kd[j] * qd[j]);
      return torque;
    }),
};

/** The torque of a law. @param {Robot} robot @param {Law} law @param {Values} q @param {Values} qd @param {Released} at for the arm without torques */
export function lawTorque(robot, law, q, qd, at) {
  const tau = CONTROL_LAWS[law.name](robot, law, q, qd, at);
  if (!law.limited) return tau;
  return tau.map((t, i) => {
    const most = robot.joints[i].effort ?? Infinity;
    return Math.min(Math.max(t, -most), most);
  });
}

/**
 * The gains for a natural frequency and a damping ratio: those of K_p e + K_d ė + ë = 0 for computed torque, multiplied by the diagonal
 * of B at the posture for PD, as if the joints were decoupled.
 * @param {Robot} robot
 * @param {string} name
 * @param {Values} posture
 * @param {number} frequency rad/s
 * @param {number} ratio
 */
export function lawGains(robot, name, posture, frequency, ratio) {
  const { n } = robot;
  const B = name === "pd" ? robot.inertiaMatrix(posture) : null;
  const inertia = Float64Array.from({ length: n }, (_, i) => (B ? B[i * n + i] : 1));
  return {
    kp: inertia.map((b) => b * frequency * frequency),
    kd: inertia.map((b) => 2 * ratio * frequency * b),
  };
}

/** The force (N) of the spring on the tip, in base axes. @param {Robot} robot @param {Pull} pull @param {Values} q @param {Values} qd */
export function pullForce(robot, pull, q, qd) {
  const { n } = robot;
  const pose = robot.pose(q);
  const J = robot.jacobian(q);
  return pull.target.map((x, k) => {
    let speed = 0;
    for (let j = 0; j < n; j++) speed += J[k * n + j] * qd[j];
    return pull.stiffness * (x - pose[4 * k + 3]) - pull.damping * speed;
  });
}
