// The formulations of inverse dynamics as kernels: a separate module, loaded on first use.
import { bytesOf } from "./data.js";
import { load } from "./loader.js";

/** @import { Kernels } from "./loader.js" */
/** @import { Robot } from "./robot.js" */
/** @typedef {{multiplications: number, additions: number}} Counted */
/** @typedef {{name: string, title: string, kinematics: string, equations: string, written: Counted|null, compiled: Counted|null,
 *   kernel: string|null, reason: string|null, default: boolean}} FormulationRow */

const BATCH = 1024; // states that are timed together
const STATES = 1000; // random states for comparing formulations
const MOST_ROUNDS = 200;
const STEADY = 40; // rounds without progress after which a measurement ends
const KEPT = 20; // rounds that count
const ROUND_MS = 4; // so that a clock resolution of 0.1 ms gives an error of a few percent
const PAUSE_MS = 15; // between rounds, to keep the page responsive

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

  /**
   * Nanoseconds per state of each function: the lower quartile of the last rounds. The functions alternate until none is getting
   * faster, so that neither ongoing compilation nor other programs affect the result.
   * @param {string[]} names
   * @param {(name: string, nanoseconds: number) => void} tell called after each round
   */
  async measure(names, tell) {
    const lines = names.map((name) => ({ name, rounds: /** @type {number[]} */ ([]), best: Infinity }));
    for (let round = 0, improved = 0; round < MOST_ROUNDS && round - improved < STEADY; round++) {
      for (const line of lines) {
        const time = this.timed(line.name);
        line.rounds.push(time);
        if (time < 0.9 * line.best) improved = round;
        line.best = Math.min(line.best, time);
        const last = line.rounds.slice(-KEPT).sort((a, b) => a - b);
        tell(line.name, last[last.length >> 2]);
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  /** Nanoseconds per state in one round. @param {string} name */
  timed(name) {
    const room = this.room(name);
    const start = performance.now();
    let [times, now] = [0, start];
    do {
      room.run();
      times++;
      now = performance.now();
    } while (now - start < ROUND_MS);
    return ((now - start) / times / BATCH) * 1e6;
  }

  /** The largest difference from the default formulation at a state, relative to its largest torque. @param {string} name
   * @param {ArrayLike<number>} q @param {ArrayLike<number>} qd @param {ArrayLike<number>} qdd */
  difference(name, q, qd, qdd) {
    const given = [Float64Array.from(q), Float64Array.from(qd), Float64Array.from(qdd)];
    return largestShare(this.kernels[name](...given), this.kernels[this.standard](...given));
  }

  /** The largest difference from the default over 1,000 random states. @param {string} name */
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

/** The largest |a − b| relative to the largest |b|. @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
function largestShare(a, b) {
  let [apart, size] = [0, 0];
  for (let i = 0; i < a.length; i++) {
    apart = Math.max(apart, Math.abs(a[i] - b[i]));
    size = Math.max(size, Math.abs(b[i]));
  }
  return apart === 0 ? 0 : apart / size;
}

/**
 * States within the limits, always the same; near the first posture if not every posture is reachable.
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
