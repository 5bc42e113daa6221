// Inverse kinematics by damped least squares (Levenberg–Marquardt) within the joint limits.
import { cholesky, solveFactored } from "./solve.js";

/** @typedef {import("./robot.js").Robot} Robot */
/** @typedef {ArrayLike<number>} Values */
/** @typedef {{position: Values, rotation?: Values | null}} TipGoal position in m in the base frame; rotation: 9 numbers, row by row, if any */
/** @typedef {{q: Float64Array, distance: number, reached: boolean, rounds: number}} TipSolution distance in m, with rotations multiplied by the arm's size */

const FIRST_DAMPING = 1e-3;
const LARGEST_TURN = 0.5; // largest rotation of a revolute joint per iteration, rad
const STILL = 1e-12; // rad or m: a shorter step ends the search
const TIP_KICKS = [1e-2, -3e-2, 1e-1]; // rad, or share of the arm's size: perturbation of a posture with zero gradient

/**
 * The posture whose tip is at the goal, or as close to it as the search from here can get.
 *
 * Minimises ½‖e‖², where e is the distance and, if a rotation is requested, the rotation vector multiplied by the arm's size.
 * Damping is scaled by the columns of J, so that units do not matter, and joints that would exceed a limit are held at it.
 * @param {Robot} robot
 * @param {TipGoal} goal
 * @param {Values} from start of the search
 * @param {{rounds?: number, tolerance?: number, kicks?: boolean}} [options] kicks: whether to perturb a posture, such as a stretched
 * arm, in which no joint moves the tip towards the goal
 * @returns {TipSolution}
 */
export function inverseKinematics(robot, goal, from, { rounds = 200, tolerance = 1e-11, kicks = true } = {}) {
  const search = new TipSearch(robot, goal, from);
  let best = search.descend(rounds, tolerance);
  for (let k = 0; kicks && k < TIP_KICKS.length && !best.reached; k++) {
    const again = new TipSearch(robot, goal, kickedPosture(robot, best.q, TIP_KICKS[k] * (k + 1)));
    const other = again.descend(rounds, tolerance);
    other.rounds += best.rounds;
    if (other.distance < best.distance) best = other;
  }
  return best;
}

/** @param {Robot} robot @param {Values} q @param {number} by */
function kickedPosture(robot, q, by) {
  return Float64Array.from(q, (x, i) => {
    const { lower, upper, revolute } = robot.joints[i];
    const y = x + by * (revolute ? 1 : tipReach(robot, q)) * Math.cos(1 + 2.4 * i);
    return Math.min(Math.max(y, lower ?? -Infinity), upper ?? Infinity);
  });
}

/** Approximate size of the arm (m): the largest tip velocity for unit velocity of a revolute joint. @param {Robot} robot @param {Values} q */
function tipReach(robot, q) {
  const { n } = robot;
  const J = robot.jacobian(q);
  let reach = 0;
  robot.joints.forEach(({ revolute }, j) => {
    if (revolute) reach = Math.max(reach, Math.hypot(J[j], J[n + j], J[2 * n + j]));
  });
  return reach || 1;
}

class TipSearch {
  /** @param {Robot} robot @param {TipGoal} goal @param {Values} from */
  constructor(robot, goal, from) {
    this.robot = robot;
    this.goal = goal;
    this.q = Float64Array.from(from);
    this.size = tipReach(robot, from);
    this.rows = goal.rotation ? 6 : 3;
  }

  /** The error from the tip to the goal. @param {Values} q @returns {number[]} */
  errorAt(q) {
    const pose = this.robot.pose(q);
    const { position, rotation } = this.goal;
    const e = [position[0] - pose[3], position[1] - pose[7], position[2] - pose[11]];
    if (!rotation) return e;
    return [...e, ...rotationVector(pose, rotation).map((x) => x * this.size)];
  }

  /** @param {number} rounds @param {number} tolerance of the size of the arm @returns {TipSolution} */
  descend(rounds, tolerance) {
    let error = this.errorAt(this.q);
    let damping = FIRST_DAMPING;
    let round = 0;
    const enough = tolerance * this.size;
    while (round < rounds && tipNorm(error) > enough) {
      round++;
      const { A, b } = this.equations(error);
      const move = this.move(A, b, damping);
      if (!move) break;
      const q = this.q.map((x, i) => x + move[i]);
      const next = this.errorAt(q);
      const gain = tipNorm(error) - tipNorm(next);
      const still = move.every((x) => Math.abs(x) < STILL);
      if (gain > -1e-15 * tipNorm(error)) {
        this.q = q;
        error = next;
        damping = Math.max(damping * (gain > 0.5 * tipNorm(error) ? 0.05 : 0.3), 1e-14);
      } else {
        damping = Math.max(4 * damping, 1e-8);
      }
      if (still || damping > 1e10) break;
    }
    return {
      q: this.q,
      distance: tipNorm(error),
      reached: tipNorm(error) <= Math.max(enough, 1e-10 * this.size),
      rounds: round,
    };
  }

  /** JᵀJ and Jᵀe. @param {number[]} error */
  equations(error) {
    const { n } = this.robot;
    const J = this.robot.jacobian(this.q);
    for (let k = 3 * n; k < 6 * n; k++) J[k] *= this.size;
    const A = new Float64Array(n * n);
    const b = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < this.rows; k++) {
        b[i] += J[k * n + i] * error[k];
        for (let j = 0; j < n; j++) A[i * n + j] += J[k * n + i] * J[k * n + j];
      }
    }
    return { A, b };
  }

  /** The damped step, with joints that would exceed their limits held; null if no joint can move. @param {Float64Array} A @param {Float64Array} b @param {number} damping */
  move(A, b, damping) {
    const { n, joints } = this.robot;
    const largest = Math.max(...b.map((_, i) => A[i * n + i]));
    if (!(largest > 0)) return null;
    const held = b.map((slope, i) => Number(this.outwards(i, slope)));
    for (let turn = 0; turn <= n; turn++) {
      if (held.every(Boolean)) return null;
      const damped = Float64Array.from(A, (x, k) => {
        const [i, j] = [Math.floor(k / n), k % n];
        if (held[i] || held[j]) return i === j ? 1 : 0;
        return i === j ? x + damping * Math.max(x, 1e-8 * largest) + 1e-30 * largest : x;
      });
      const L = cholesky(damped, n);
      if (!L) return null;
      const step = solveFactored(
        L,
        b.map((x, i) => (held[i] ? 0 : x)),
      );
      const turns = step.map((x, i) => (joints[i].revolute ? Math.abs(x) : 0));
      const scale = Math.min(1, LARGEST_TURN / Math.max(...turns, 1e-300));
      const further = step.findIndex((x, i) => !held[i] && this.outwards(i, x));
      if (further < 0) return this.within(step.map((x) => scale * x));
      held[further] = 1;
    }
    return null;
  }

  /** Whether a joint is at a limit and would exceed it. @param {number} i @param {number} way */
  outwards(i, way) {
    const { lower, upper } = this.robot.joints[i];
    return (
      (way < 0 && lower !== null && this.q[i] <= lower) || (way > 0 && upper !== null && this.q[i] >= upper)
    );
  }

  /** The step, clipped to the limits of every joint. @param {Float64Array} step */
  within(step) {
    return step.map((x, i) => {
      const { lower, upper } = this.robot.joints[i];
      return Math.min(Math.max(this.q[i] + x, lower ?? -Infinity), upper ?? Infinity) - this.q[i];
    });
  }
}

/** @param {ArrayLike<number>} x */
function tipNorm(x) {
  let sum = 0;
  for (let k = 0; k < x.length; k++) sum += x[k] * x[k];
  return Math.sqrt(sum);
}

/** The rotation vector, in base axes, from the orientation of a pose to a rotation. @param {Values} pose @param {Values} rotation */
function rotationVector(pose, rotation) {
  const at = (/** @type {number} */ i, /** @type {number} */ j) =>
    rotation[3 * i] * pose[4 * j] +
    rotation[3 * i + 1] * pose[4 * j + 1] +
    rotation[3 * i + 2] * pose[4 * j + 2];
  const w = [at(2, 1) - at(1, 2), at(0, 2) - at(2, 0), at(1, 0) - at(0, 1)].map((x) => x / 2);
  const sine = tipNorm(w);
  const cosine = (at(0, 0) + at(1, 1) + at(2, 2) - 1) / 2;
  if (sine > 1e-6 || cosine > 0) return sine > 0 ? w.map((x) => (x * Math.atan2(sine, cosine)) / sine) : w;
  // half a turn: the axis is the longest column of R + 1
  const columns = [0, 1, 2].map((j) => [0, 1, 2].map((i) => at(i, j) + (i === j ? 1 : 0)));
  const longest = columns.reduce((a, b) => (tipNorm(b) > tipNorm(a) ? b : a));
  return longest.map((x) => (Math.PI * x) / tipNorm(longest));
}
