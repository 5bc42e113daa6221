// Inverse kinematics of the tip's position by damped least squares (Levenberg–Marquardt) within the joint limits.
import { columnOf, length3, minus3 } from "./space.js";

/** @import { Joint, Robot, Values } from "./robot.js" */

const FIRST_DAMPING = 1e-3;
const LARGEST_TURN = 0.5; // largest rotation of a revolute joint per iteration, rad
const STILL = 1e-12; // rad or m: a shorter step ends the search
const CLOSE = 1e-11; // of the arm's size: a goal this close is reached

/**
 * The posture whose tip is at a position (m, base frame), or as close to it as the search from here can get, and its distance.
 * Joints that would exceed a limit are held at it.
 * @param {Robot} robot @param {Values} position @param {Values} from start of the search @param {number} [rounds]
 */
export function inverseKinematics(robot, position, from, rounds = 200) {
  const goal = Array.from(position);
  const errorAt = (/** @type {Values} */ q) => minus3(goal, columnOf(robot.pose(q), 3));
  const enough = CLOSE * tipReach(robot, from);
  let q = Float64Array.from(from);
  let error = errorAt(q);
  let damping = FIRST_DAMPING;
  let round = 0;
  for (; round < rounds && length3(error) > enough && damping <= 1e10; round++) {
    const next = dampedStep(robot, q, error, damping);
    if (!next) break;
    const left = errorAt(next);
    const gain = length3(error) - length3(left);
    const still = next.every((x, i) => Math.abs(x - q[i]) < STILL);
    if (gain > -1e-15 * length3(error)) {
      [q, error] = [next, left];
      damping = Math.max(damping * (gain > 0.5 * length3(error) ? 0.05 : 0.3), 1e-14);
    } else damping = Math.max(4 * damping, 1e-8);
    if (still) break;
  }
  return { q, distance: length3(error), rounds: round };
}

/** Approximate size of the arm (m): the largest tip velocity for unit velocity of a revolute joint. @param {Robot} robot @param {Values} q */
function tipReach(robot, q) {
  const { n, joints } = robot;
  const J = robot.jacobian(q);
  const speeds = joints.map(({ revolute }, j) => (revolute ? Math.hypot(J[j], J[n + j], J[2 * n + j]) : 0));
  return Math.max(...speeds) || 1;
}

/** The posture after a step that reduces the error, or null if no joint can move. @param {Robot} robot @param {Float64Array} q @param {number[]} error @param {number} damping */
function dampedStep(robot, q, error, damping) {
  const { n, joints, kernels } = robot;
  if (!kernels.damped_step) return null;
  const free = new Float64Array(n).fill(1);
  while (free.some(Boolean)) {
    const { step } = kernels.damped_step.run({ q, error, free, damping: [damping] });
    if (!step.every(Number.isFinite)) return null;
    const further = step.findIndex((x, i) => isOutward(joints[i], q[i], x));
    if (further < 0) {
      const turns = step.map((x, i) => (joints[i].revolute ? Math.abs(x) : 0));
      const scale = Math.min(1, LARGEST_TURN / Math.max(...turns, 1e-300));
      return robot.clamped(q.map((x, i) => x + scale * step[i]));
    }
    free[further] = 0;
  }
  return null;
}

/** Whether a joint is at a limit and would exceed it. @param {Joint} joint @param {number} q @param {number} way */
function isOutward({ lower, upper }, q, way) {
  return (way < 0 && lower !== null && q <= lower) || (way > 0 && upper !== null && q >= upper);
}
