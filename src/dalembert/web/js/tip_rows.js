// The components of the tip's motion that an arm can control independently: the rows of its ellipsoids.

import { semiAxes } from "./semi_axes.js";

/** @typedef {import("./robot.js").Robot} Robot */

export const ROW_NAMES = ["x", "y", "z", "ωx", "ωy", "ωz"];
const DEPENDENT_SHARE = 1e-6; // threshold below which a row depends on the others

/**
 * The rows of the tip's position that this arm can control, each independently of the previous ones; rows of the
 * orientation if the arm cannot move the position.
 * @param {Robot} robot
 * @returns {number[]}
 */
export function tipRows(robot) {
  const jacobians = spreadPostures(robot).map((q) => robot.jacobian(q));
  const position = independentRows(jacobians, [0, 1, 2], robot.n);
  return position.length ? position : independentRows(jacobians, [3, 4, 5], robot.n);
}

/**
 * @param {Float64Array[]} jacobians
 * @param {number[]} candidates
 * @param {number} n
 */
function independentRows(jacobians, candidates, n) {
  /** @type {number[]} */
  const taken = [];
  for (const row of candidates) {
    const tried = [...taken, row];
    const free = jacobians.some((J) => {
      const chosen = tried.flatMap((r) => unitRow(J.subarray(r * n, r * n + n)));
      return semiAxes(chosen, tried.length, n).radii[tried.length - 1] > DEPENDENT_SHARE;
    });
    if (free) taken.push(row);
  }
  return taken;
}

/** @param {Float64Array} row */
function unitRow(row) {
  const length = Math.hypot(...row);
  return Array.from(row, (x) => (length > 1e-9 ? x / length : 0));
}

/**
 * A few generic postures, always the same; near the first one if not every posture is reachable.
 * @param {Robot} robot
 */
function spreadPostures(robot) {
  const { joints, loops, start } = robot.data;
  let seed = 3;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  return Array.from({ length: 6 }, () =>
    Float64Array.from(joints, (joint, i) => {
      if (loops.length) return start.q[i] + 0.2 * (random() - 0.5);
      const reach = joint.revolute ? 2.5 : 1;
      const [low, high] = [joint.lower ?? -reach, joint.upper ?? reach];
      return low + (high - low) * random();
    }),
  );
}
