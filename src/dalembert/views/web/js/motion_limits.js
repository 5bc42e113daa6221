// Limit violations along a motion, with the time and the size of the largest violation.

import { general } from "./wording.js";

/** @import { Joint } from "./robot.js" */
/** @import { MotionRows } from "./motion.js" */

const LIMIT_ROUNDING = 1e-6; // relative tolerance: a motion that just reaches a limit satisfies it
/** Units of revolute and of prismatic joints. @type {Record<string, [string, string]>} */
export const QUANTITY_UNITS = {
  position: ["rad", "m"],
  velocity: ["rad/s", "m/s"],
  acceleration: ["rad/s²", "m/s²"],
  torque: ["N m", "N"],
};
// the limits that a joint may have: the quantity, the side (0: the magnitude counts) and the name of the limit
/** @type {[string, number, "lower" | "upper" | "velocity" | "acceleration" | "effort"][]} */
const LIMIT_KINDS = [
  ["position", -1, "lower"],
  ["position", 1, "upper"],
  ["velocity", 0, "velocity"],
  ["acceleration", 0, "acceleration"],
  ["torque", 0, "effort"],
];

/** @typedef {{joint: number, quantity: string, value: number, limit: number, time: number, sentence: string}} LimitExcess */

/**
 * Every violated limit at its worst instant; for each quantity, the rows of each joint that violate a limit; and the
 * largest share of an effort limit that is used.
 * @param {Joint[]} joints @param {MotionRows} rows @param {Float64Array} torques
 */
export function limitsAlong(joints, rows, torques) {
  const n = joints.length;
  /** @type {Record<string, Float64Array>} */
  const values = { position: rows.q, velocity: rows.qd, acceleration: rows.qdd, torque: torques };
  /** @type {LimitExcess[]} */
  const excesses = [];
  /** @type {Record<string, (Uint8Array | null)[]>} */
  const beyond = {};
  for (const quantity of Object.keys(values)) beyond[quantity] = joints.map(() => null);
  let most = { share: 0, joint: -1 };
  joints.forEach((joint, j) => {
    for (const [quantity, side, name] of LIMIT_KINDS) {
      const limit = joint[name];
      if (limit === null) continue;
      const towards = (/** @type {number} */ value) => (side ? side * value : Math.abs(value));
      const bound = (side || 1) * limit + LIMIT_ROUNDING * Math.max(1, Math.abs(limit));
      const marks = beyond[quantity][j] ?? new Uint8Array(rows.count);
      let worst = -1;
      for (let row = 0; row < rows.count; row++) {
        const value = values[quantity][row * n + j];
        if (name === "effort" && Math.abs(value) / limit > most.share)
          most = { share: Math.abs(value) / limit, joint: j };
        if (towards(value) <= bound) continue;
        marks[row] = 1;
        if (worst < 0 || towards(value) > towards(values[quantity][worst * n + j])) worst = row;
      }
      if (worst < 0) continue;
      beyond[quantity][j] = marks;
      const value = values[quantity][worst * n + j];
      const time = rows.t[worst];
      const sentence = limitSentence(joint, quantity, value, limit, time, side);
      excesses.push({ joint: j, quantity, value, limit, time, sentence });
    }
  });
  return { excesses, beyond, most };
}

/** @param {Joint} joint @param {string} quantity @param {number} value @param {number} limit @param {number} time @param {number} side */
function limitSentence(joint, quantity, value, limit, time, side) {
  const unit = QUANTITY_UNITS[quantity][joint.revolute ? 0 : 1];
  const size = quantity === "position" ? value : Math.abs(value);
  return (
    `joint '${joint.name}': ${quantity} ${general(size)} ${unit} at t = ${general(time)} s ` +
    `is ${side < 0 ? "below" : "above"} its limit of ${general(limit)} ${unit}`
  );
}
