// The formulations of inverse dynamics as kernels: a module of their own, loaded when it is first asked for.
import { bytesOf } from "./data.js";
import { load } from "./loader.js";

/** @typedef {import("./robot.js").Robot} Robot */
/** @typedef {import("./loader.js").Kernels} Kernels */
/** @typedef {{multiplications: number, additions: number}} Counted */
/** @typedef {{name: string, title: string, kinematics: string, equations: string, written: Counted|null, compiled: Counted|null,
 *   kernel: string|null, reason: string|null, default: boolean}} FormulationRow */

const BATCH = 1024; // states that are timed together
const STATES = 1000; // random ones that formulations are compared at
const ROUNDS = 9;
const ROUND_MS = 4; // of one round, so that a clock of 0.1 ms tells it to a few per cent

export class Formulations {
  /** @param {Robot} robot @param {Kernels} kernels @param {string} standard the default's function */
  constructor(robot, kernels, standard) {
    this.robot = robot;
    this.kernels = kernels;
    this.standard = standard;
    this.random = randomStates(robot, BATCH);
    /** @type {Record<string, any>} rows of a batch, by function */
    this.rooms = {};
  }

  /** @param {Robot} robot */
  static async of(robot) {
    const { formulations, modules } = robot.data;
    const kernels = await load(bytesOf(modules.formulations));
    const runs = formulations.filter((/** @type {FormulationRow} */ row) => row.kernel);
    const standard = runs.find((/** @type {FormulationRow} */ row) => row.default) ?? runs[0];
    return new Formulations(robot, kernels, standard.kernel);
  }

  /** Nanoseconds per state: the median over several rounds of batches. @param {string} name */
  nanoseconds(name) {
    const room = this.room(name);
    const timed = (/** @type {number} */ times) => {
      const start = performance.now();
      for (let k = 0; k < times; k++) room.run();
      return performance.now() - start;
    };
    let times = 1;
    while (timed(times) < ROUND_MS && times < 1 << 20) times *= 2; // the compiler of the browser warms up meanwhile
    const rounds = Array.from({ length: ROUNDS }, () => timed(times)).sort((a, b) => a - b);
    return (rounds[ROUNDS >> 1] / times / BATCH) * 1e6;
  }

  /** The largest difference from the default at a state, relative to its largest torque. @param {string} name
   * @param {ArrayLike<number>} q @param {ArrayLike<number>} qd @param {ArrayLike<number>} qdd */
  difference(name, q, qd, qdd) {
    const given = [Float64Array.from(q), Float64Array.from(qd), Float64Array.from(qdd)];
    return largestShare(this.kernels[name](...given), this.kernels[this.standard](...given));
  }

  /** The same over 1,000 random states. @param {string} name */
  randomDifference(name) {
    const n = STATES * this.robot.n;
    const results = [name, this.standard].map((each) => {
      const room = this.room(each);
      room.run(STATES);
      return room.tau.slice(0, n);
    });
    return largestShare(results[0], results[1]);
  }

  /** The rows of a function, filled with random states. @param {string} name */
  room(name) {
    const room = (this.rooms[name] ??= this.kernels[name].rows(BATCH));
    for (const array of ["q", "qd", "qdd"]) room[array].set(this.random[array]);
    return room;
  }
}

/**
 * The largest |a − b| beside the largest |b|.
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
function largestShare(a, b) {
  let [apart, size] = [0, 0];
  for (let i = 0; i < a.length; i++) {
    apart = Math.max(apart, Math.abs(a[i] - b[i]));
    size = Math.max(size, Math.abs(b[i]));
  }
  return apart === 0 ? 0 : apart / size;
}

/**
 * States within the limits, the same every time; near the first posture where not every posture can be reached.
 * @param {Robot} robot
 * @param {number} count
 * @returns {Record<string, Float64Array>}
 */
function randomStates(robot, count) {
  const { joints, data } = robot;
  let seed = 1788;
  const random = () => (2 * (seed = (seed * 16807) % 2147483647)) / 2147483647 - 1;
  const rows = (/** @type {(i: number) => number} */ of) =>
    Float64Array.from({ length: count * robot.n }, (_, k) => of(k % robot.n));
  const q = rows((i) => {
    if (data.loops.length) return data.start.q[i] + 0.2 * random();
    const reach = joints[i].revolute ? Math.PI : 1;
    const [low, high] = [joints[i].lower ?? -reach, joints[i].upper ?? reach];
    return (low + high) / 2 + ((high - low) / 2) * random();
  });
  return { q, qd: rows(() => 2 * random()), qdd: rows(() => 5 * random()) };
}
