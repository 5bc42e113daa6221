// Simulation of the arm with dry friction that sticks and rigid joint stops: the library's own step, compiled for the page
// (quantities/step_program.py), which takes the controller, the stops and the pull at the tip as numbers.
import { symmetricEigen } from "./linear.js";

/** @import { Robot } from "./robot.js" */
/** @import { Law } from "./control_laws.js" */
/** @typedef {ArrayLike<number>} Values */
/** @typedef {{target: number[], stiffness: number, damping: number, wrench: Float64Array}} Pull a spring from the tip to a point: N/m and N s/m, and an additional tip wrench */

const STABLE = 2.5; // step times rate of a decay at which Runge–Kutta is stable, with a margin
const DIVIDED = 1.5; // the product after steps are divided, at which fast deviations decay almost fastest
const MOST_PARTS = 50; // of a step
const STABLE_FOR = 0.02; // s of simulated time between two computations of the fastest decay
const FASTEST = 1e6; // rad/s or m/s: a joint that is faster has diverged
const NO_STOP = 1e9; // rad or m: position of a stop that does not exist
const NO_LIMIT = 1e30; // N m or N
const LAWS = ["none", "pd", "computed"]; // by the numbers that the step takes

export class Simulation {
  /** @param {Robot} robot @param {Values} q @param {Values} qd */
  constructor(robot, q, qd) {
    this.robot = robot;
    /** @type {Float64Array} */
    this.q = Float64Array.from(q);
    /** @type {Float64Array} */
    this.qd = Float64Array.from(qd);
    /** @type {Float64Array} */
    this.qdd = new Float64Array(robot.n);
    this.time = 0;
    /** whether friction acts */
    this.friction = true;
    /** whether joints stop at their position limits */
    this.stops = true;
    /** @type {Law | null} */
    this.law = null;
    /** @type {Pull | null} */
    this.pull = null;
    /** the fastest decay by friction (1/s), the time until which it is taken for granted, and the parameters for which it was computed */
    this.decay = { rate: 0, until: -Infinity, revision: -1 };
    /** @type {string | null} why the simulation ended */
    this.failure = null;
  }

  /** The inputs of a step that do not change during it. @returns {Record<string, Values>} */
  get inputs() {
    const { robot, law } = this;
    const each = (/** @type {(joint: import("./robot.js").Joint) => number} */ value) =>
      robot.joints.map(value);
    const zero = new Float64Array(robot.n);
    /** @type {Record<string, Values>} */
    const given = {
      posture: law?.posture ?? zero,
      kp: law?.kp ?? zero,
      kd: law?.kd ?? zero,
      choice: each(() => (law ? LAWS.indexOf(law.name) : 0)),
      effort: each(({ effort }) => (law?.limited ? (effort ?? NO_LIMIT) : NO_LIMIT)),
      pull: this.spring,
      lower: each(({ lower }) => (this.stops ? (lower ?? -NO_STOP) : -NO_STOP)),
      upper: each(({ upper }) => (this.stops ? (upper ?? NO_STOP) : NO_STOP)),
    };
    if (this.pull) given.tip_wrench = this.pull.wrench;
    if (!this.friction) {
      const smooth = Float64Array.from(robot.numbers.parameters);
      for (const k of robot.data.friction_parameters) smooth[k] = 0;
      given.parameters = smooth;
    }
    return given;
  }

  /** [x, k, d] of the pull */
  get spring() {
    return this.pull ? [...this.pull.target, this.pull.stiffness, this.pull.damping] : [0, 0, 0, 0, 0];
  }

  /** The wrench of the tip on its environment, including the pull. @returns {Float64Array} */
  get wrench() {
    const { q, qd, robot, pull, spring } = this;
    return robot.kernels.pulled_wrench.run({
      q,
      qd,
      pull: spring,
      wrench: pull?.wrench ?? new Float64Array(6),
    }).h_e;
  }

  /** The force (N) of the pull on the tip, in base axes. @returns {number[]} */
  get force() {
    const { pull, wrench } = this;
    return [0, 1, 2].map((k) => (pull ? pull.wrench[k] - wrench[k] : 0));
  }

  /** The names of joints that rest on a stop. @returns {string[]} */
  get resting() {
    const { q, qd, robot } = this;
    const held = robot.joints.filter(
      ({ lower, upper }, k) => this.stops && qd[k] === 0 && (q[k] === lower || q[k] === upper),
    );
    return held.map(({ name }) => name);
  }

  /** Takes steps of h (s) until the given time, a failure, or the end of the computing time. @param {number} until @param {number} h
   * @param {() => boolean} [goes] @returns {boolean} whether the time is reached */
  advance(until, h, goes = () => true) {
    while (this.time < until - 1e-9 * h && !this.failure) {
      if (!goes()) return false;
      this.step(h);
    }
    return !this.failure;
  }

  /** One step, in parts if friction settles a joint faster than a whole one resolves. @param {number} h s */
  step(h) {
    const rate = this.fastestDecay();
    const parts = h * rate > STABLE ? Math.ceil((h * rate) / DIVIDED) : 1;
    if (this.failure) return;
    if (parts > MOST_PARTS) {
      this.failure = `The simulation stopped at t = ${this.time.toFixed(3)} s: friction settles a joint with a pole of ${rate.toExponential(2)} /s, too fast for steps of ${h} s; use a smaller step or less damping.`;
      return;
    }
    const { inputs } = this;
    for (let part = 0; part < parts; part++) {
      const { q, qd, qdd } = this;
      const end = this.robot.kernels.step.run({ ...inputs, q, qd, qdd, h: [h / parts] });
      const wrong = end.qd_next.findIndex(
        (x, i) => !Number.isFinite(x) || !Number.isFinite(end.q_next[i]) || Math.abs(x) > FASTEST,
      );
      if (wrong >= 0) {
        this.failure = this.definite()
          ? `The simulation diverged at t = ${this.time.toFixed(3)} s: the velocity of joint ${this.robot.joints[wrong].name} is no longer finite; use a smaller step or smaller gains.`
          : this.indefinite;
        return;
      }
      this.q = end.q_next;
      this.qd = end.qd_next;
      this.qdd = end.qdd_next;
    }
    this.time += h;
  }

  /** The fastest pole of friction (1/s), kept for a while of simulated time; the parameters are checked when they have changed. */
  fastestDecay() {
    const { robot, decay, time } = this;
    if (decay.revision !== robot.held.revision && !this.definite()) this.failure = this.indefinite;
    else if (decay.revision !== robot.held.revision || time >= decay.until) {
      const [rate] = robot.kernels.decay.run({ q: this.q }).rate;
      this.decay = { rate, until: time + STABLE_FOR, revision: robot.held.revision };
    }
    return this.friction ? this.decay.rate : 0;
  }

  /** Whether B(q) is positive definite, as it is for masses that can exist. */
  definite() {
    const { robot, q } = this;
    return symmetricEigen(robot.inertiaMatrix(q), robot.n).values.every((value) => value > 0);
  }

  get indefinite() {
    return `The simulation stopped at t = ${this.time.toFixed(3)} s: B(q) is not positive definite, so the accelerations are undefined; restore the masses.`;
  }
}
