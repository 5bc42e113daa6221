// Control laws that hold a posture: their gains.

/** @import { Robot } from "./robot.js" */
/** @typedef {ArrayLike<number>} Values */
/** @typedef {{name: string, posture: Float64Array, kp: Float64Array, kd: Float64Array, limited: boolean}} Law posture: q_d, the set-point; limited: whether torques are limited to the joint efforts */

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
