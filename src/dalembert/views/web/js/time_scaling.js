// The smallest factor by which time must be stretched to satisfy every limit: S 7.7 with friction.

import { MOTION_GROUPS, motionRows } from "./motion.js";
import { torqueParts } from "./motion_torques.js";
import { general } from "./wording.js";

/** @import { Robot, Joint } from "./robot.js" */
/** @import { Motion, MotionRows } from "./motion.js" */
/** @import { TorqueParts } from "./motion_torques.js" */

const SCALING_FINER = 64; // finer rows on each side of the decisive one

/** @typedef {{speed: number, kind: string, row: number, joint: number, time: number}} Decision the largest speed, and the limit that determines it */

/**
 * The smallest c and the limit that determines it, or a message why there is none.
 * @param {Robot} robot @param {Motion} motion @param {MotionRows} rows
 * @returns {{c: number, sentence: string} | {c: null, sentence: string}}
 */
export function smallestStretch(robot, motion, rows) {
  const { joints } = robot;
  const without = joints.find((joint) => joint.effort === null);
  if (without)
    return {
      c: null,
      sentence: `Joint '${without.name}' has no effort limit, so there is no smallest factor.`,
    };
  const parts = torqueParts(robot, rows);
  if (parts.odd >= 0) return { c: null, sentence: oddFriction(joints[parts.odd]) };
  let decision = fastestSpeed(joints, rows, parts);
  for (let round = 0, at = rows; round < 2; round++) {
    if (typeof decision === "string" || !Number.isFinite(decision.speed)) break;
    at = besideRow(motion, at, decision.row);
    const again = fastestSpeed(joints, at, torqueParts(robot, at));
    if (typeof again !== "string" && again.speed >= decision.speed) break;
    decision = again;
  }
  if (typeof decision === "string") return { c: null, sentence: decision };
  if (!Number.isFinite(decision.speed))
    return {
      c: null,
      sentence: "The motion moves no joint that has limits, so there is no smallest factor.",
    };
  const { kind, joint, time } = decision;
  const where = `it is set by the ${kind} limit of joint '${joints[joint].name}' at t = ${general(time, 4)} s of the motion`;
  return { c: 1 / decision.speed, sentence: where };
}

/** Why torques at another speed cannot be derived. @param {Joint} joint */
export function oddFriction(joint) {
  return `The friction of joint '${joint.name}' depends on the velocity in a way that the scaling law does not cover.`;
}

/** The rows, refined on both sides of one of them. @param {Motion} motion @param {MotionRows} rows @param {number} row */
function besideRow(motion, rows, row) {
  const low = rows.t[Math.max(row - 1, 0)];
  const high = rows.t[Math.min(row + 1, rows.count - 1)];
  const finer = motionRows(2 * SCALING_FINER + 2, rows.n, rows.loads);
  for (let k = 0; k <= 2 * SCALING_FINER; k++) {
    const t = low + ((high - low) * k) / (2 * SCALING_FINER);
    motion.fill(finer, k, motion.piece(t), t);
  }
  // the row itself may lie just before a jump
  const { n } = rows;
  const last = 2 * SCALING_FINER + 1;
  finer.t[last] = rows.t[row];
  finer.load[last] = rows.load[row];
  for (const group of MOTION_GROUPS) finer[group].set(rows[group].subarray(row * n, (row + 1) * n), last * n);
  return finer;
}

/**
 * The largest speed 1/c that no limit forbids, from the intervals of speeds that each limit forbids at each instant.
 * @param {Joint[]} joints @param {MotionRows} rows @param {TorqueParts} parts @returns {Decision | string}
 */
function fastestSpeed(joints, rows, parts) {
  const n = joints.length;
  /** @type {{low: number, high: number, kind: string, row: number, joint: number}[]} */
  const forbidden = [];
  const forbid = (
    /** @type {string} */ kind,
    /** @type {number} */ at,
    /** @type {number} */ low,
    high = Infinity,
  ) => forbidden.push({ low, high, kind, row: Math.floor(at / n), joint: at % n });
  for (let at = 0; at < rows.q.length; at++) {
    const [row, j] = [Math.floor(at / n), at % n];
    const { name, effort, velocity, acceleration } = joints[j];
    const limit = /** @type {number} */ (effort);
    const held = parts.constant[at];
    if (Math.abs(held) >= limit) {
      return (
        `Gravity and Coulomb friction alone require ${general(held)} from joint '${name}' at t = ${general(rows.t[row], 4)} s of the ` +
        `motion, but its effort limit is ${general(limit)}: slowing down does not help, so change the path, the payload or the limit.`
      );
    }
    for (const side of [1, -1]) {
      const interval = forbiddenSpeeds(
        side * parts.scaling[at],
        side * parts.viscous[at],
        side * held - limit,
      );
      if (interval) forbid("effort", at, interval.low, interval.high);
    }
    const [qd, qdd] = [Math.abs(rows.qd[at]), Math.abs(rows.qdd[at])];
    if (velocity !== null && qd > 0) forbid("velocity", at, velocity / qd);
    if (acceleration !== null && qdd > 0) forbid("acceleration", at, Math.sqrt(acceleration / qdd));
  }
  /** @type {Decision} */
  let decision = { speed: Infinity, kind: "", row: 0, joint: 0, time: 0 };
  for (;;) {
    let next = decision;
    for (const { low, high, kind, row, joint } of forbidden) {
      const inside = low < decision.speed && (high > decision.speed || high === Infinity);
      if (inside && low < next.speed) next = { speed: low, kind, row, joint, time: rows.t[row] };
    }
    if (next === decision) return decision;
    decision = next;
  }
}

/** The open interval of speeds z > 0 with a z² + b z + k > 0, where k < 0; null if there is none. @param {number} a @param {number} b @param {number} k */
function forbiddenSpeeds(a, b, k) {
  const square = b * b - 4 * a * k;
  if (square < 0) return null;
  const root = Math.sqrt(square);
  if (!(b + root > 0)) return null;
  const low = (-2 * k) / (b + root); // in the form without cancellation
  return { low, high: a < 0 ? (-b - root) / (2 * a) : Infinity };
}
