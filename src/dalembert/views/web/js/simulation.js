// Simulation of the arm: fourth-order Runge–Kutta steps with stiction and rigid joint stops.
//
// A step consists of passes. Within a pass, the held joints and the slip directions of the others do not change, so the motion is
// smooth. A pass ends when a joint comes to rest, reaches a stop, or is loaded beyond what friction can hold.
import {
  acceleration,
  afterImpact,
  atStops,
  borneTorque,
  contactOf,
  holdingRange,
} from "./contact_problem.js";
import { lawTorque, pullForce } from "./control_laws.js";
import { solveFree } from "./linear.js";

/** @import { Contact, Released } from "./contact_problem.js" */
/** @import { Robot } from "./robot.js" */
/** @typedef {ArrayLike<number>} Values */
/** @typedef {{q: Float64Array, qd: Float64Array, qdd: Float64Array, at: Released}} Instant */
/** @typedef {{joint: number, kind: "rest" | "stop" | "load", value: (end: Instant) => number}} Watched an event occurs where the value falls below zero */

const SIM_PASSES = 60;
const STOP_REACHED = 1e-12; // rad or m: tolerance within which a joint counts as being at its stop
const STABLE = 2.5; // step times rate of a decay at which Runge–Kutta is stable, with a margin
const DIVIDED = 1.5; // the product after longer passes are divided, at which fast deviations decay almost fastest
const STABLE_FOR = 0.02; // s of simulated time between two computations of the longest stable pass
const SLOPE_SPEED = 1e-6; // rad/s or m/s over which the slope of friction is taken
const EVENT_LATE = 1e-9; // tolerance for locating an event, relative to the pass

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
    this.endless = robot.joints.map(() => ({ lower: -Infinity, upper: Infinity }));
    this.limits = robot.joints.map(({ lower, upper }) => ({
      lower: lower ?? -Infinity,
      upper: upper ?? Infinity,
    }));
    /** @type {import("./control_laws.js").Law | null} */
    this.law = null;
    /** @type {import("./control_laws.js").Pull | null} */
    this.pull = null;
    /** @type {Contact} */
    this.contact = { held: Array(robot.n).fill(false), way: Array(robot.n).fill(0) };
    /** @type {Float64Array} the control torque at the end of the last step */
    this.tau = new Float64Array(robot.n);
    /** @type {number[]} the force (N) of the pull on the tip at that time */
    this.force = [0, 0, 0];
    /** @type {Float64Array | null} the parameters used during a step */
    this.acting = null;
    /** @type {{h: number, done: number, passes: number} | null} the step in progress: its length, the part done, and its passes so far */
    this.begun = null;
    /** the longest stable pass (s), and the time until which it is taken for granted */
    this.stable = { most: Infinity, until: -Infinity };
    /** @type {string | null} why the simulation ended */
    this.failure = null;
  }

  /** The joint stops. @returns {import("./contact_problem.js").Stops[]} */
  get bounds() {
    return this.stops ? this.limits : this.endless;
  }

  /** Dynamic parameters without friction. */
  smooth() {
    const smooth = Float64Array.from(this.robot.numbers.parameters);
    for (const k of this.robot.data.friction_parameters) smooth[k] = 0;
    return smooth;
  }

  /** The quantities that act in a state: B, τ − τ′ and the static friction levels, including control law and pull. @param {Float64Array} q @param {Float64Array} qd @returns {Released} */
  released(q, qd) {
    const { robot, law } = this;
    const idle = new Float64Array(robot.n);
    /** @type {Record<string, Float64Array>} */
    const given = { q, qd };
    if (!this.friction) given.parameters = this.acting ?? this.smooth();
    this.force = this.pull ? pullForce(robot, this.pull, q, qd) : [0, 0, 0];
    if (this.pull) given.tip_wrench = this.pull.wrench.map((w, k) => (k < 3 ? w - this.force[k] : w));
    const kernel = robot.kernels.released;
    let at = /** @type {any} */ (kernel.run({ ...given, tau: idle }));
    this.tau = idle;
    if (law) {
      // the controller does not know the wrench at the tip
      const touched = (given.tip_wrench ?? robot.numbers.tip_wrench).some(Boolean);
      const known = touched ? kernel.run({ ...given, tau: idle, tip_wrench: new Float64Array(6) }) : at;
      this.tau = lawTorque(robot, law, q, qd, known);
      if (robot.data.load_friction) at = kernel.run({ ...given, tau: this.tau });
      else at.r.forEach((/** @type {number} */ x, /** @type {number} */ i) => (at.r[i] = x + this.tau[i]));
    }
    if (!this.friction) at.forward = at.backward = idle;
    return at;
  }

  /** Takes steps of h (s) until the given time, a failure, or the end of the computing time. @param {number} until @param {number} h
   * @param {() => boolean} [goes] @returns {boolean} whether the time is reached */
  advance(until, h, goes = () => true) {
    while (this.time < until - 1e-9 * h && !this.failure) {
      if (!goes()) return false;
      this.step(h, goes);
    }
    return !this.failure;
  }

  /** One step, or the rest of one that the end of the computing time interrupted between two of its passes. @param {number} h s
   * @param {() => boolean} [goes] */
  step(h, goes = () => true) {
    this.acting = this.friction ? null : this.smooth();
    const begun = (this.begun ??= { h, done: 0, passes: 0 });
    do {
      begun.done += this.pass(begun.h - begun.done, begun.passes++ < SIM_PASSES);
    } while (begun.done < begun.h && !this.failure && goes());
    this.acting = null;
    if (begun.done < begun.h && !this.failure) return;
    this.time += begun.h;
    this.begun = null;
  }

  /** The longest pass (s) in which Runge–Kutta is stable: STABLE over the fastest pole of friction, the largest eigenvalue of B⁻¹ D, where D
   * is the slope of friction over the speed at rest. Kept for a while of simulated time. */
  stablePass() {
    if (!this.friction) return Infinity;
    if (this.time < this.stable.until) return this.stable.most;
    const { robot, q } = this;
    const tau = new Float64Array(robot.n);
    const [rest, slow] = [0, SLOPE_SPEED].map((v) => {
      const { B, r } = /** @type {any} */ (robot.kernels.released.run({ q, qd: tau.map(() => v), tau }));
      return { B: Float64Array.from(B), r: Float64Array.from(r) };
    });
    const slope = rest.r.map((x, i) => Math.max(0, (x - slow.r[i]) / SLOPE_SPEED));
    let [rate, mode] = [0, slope];
    for (let k = 0; k < 20 && mode.some(Boolean); k++) {
      const damped = mode.map((x, i) => x * slope[i]);
      const next = solveFree(
        rest.B,
        damped,
        this.endless.map(() => false),
      );
      if (!next) break;
      rate = Math.max(...next.map(Math.abs)) / Math.max(...mode.map(Math.abs));
      mode = next.map((x) => x / Math.max(...next.map(Math.abs)));
    }
    this.stable = { most: rate > 0 ? STABLE / rate : Infinity, until: this.time + STABLE_FOR };
    return this.stable.most;
  }

  /** One pass of at most h; returns its length. @param {number} h @param {boolean} watchful whether to search for events; otherwise the step ends here */
  pass(h, watchful) {
    const { bounds } = this;
    const at = this.released(this.q, this.qd);
    const after = afterImpact(at, this.q, this.qd, bounds);
    const first = after === this.qd ? at : this.released(this.q, after);
    this.qd = after;
    this.contact = contactOf(first, this.q, this.qd, bounds);
    const most = this.stablePass();
    if (h > (SIM_PASSES / 2) * most) {
      this.failure = `The simulation stopped at t = ${this.time.toFixed(3)} s: friction settles a joint with a pole of ${(STABLE / most).toPrecision(3)} /s, too fast for steps of ${h} s; use a smaller step or less damping.`;
      return h;
    }
    if (h > most) h = Math.min(h, (DIVIDED / STABLE) * most);
    let long = h;
    let end = this.trial(first, h);
    if (!end) return h;
    /** @type {Watched | null} */
    let met = null;
    for (let cut = 0; cut < 2 * this.robot.n && watchful; cut++) {
      const event = this.earliest(first, end, bounds, met);
      if (!event) break;
      long = this.instantOf(event, first, long);
      end = this.trial(first, long);
      met = event;
      if (!end) return h;
    }
    this.settle(end, met, bounds);
    return long;
  }

  /** Stores the end of a pass; joints that came to rest or reached a stop are set exactly to that state. @param {Instant} end @param {Watched | null} met @param {{lower: number, upper: number}[]} bounds */
  settle(end, met, bounds) {
    this.q = end.q;
    this.qd = end.qd;
    this.qdd = end.qdd;
    this.q.forEach((x, i) => {
      const { lower, upper } = bounds[i];
      const reached = met && met.kind === "stop" && met.joint === i;
      if (x < lower || (reached && x - lower < upper - x)) this.q[i] = lower;
      else if (x > upper || reached) this.q[i] = upper;
      const dry = end.at.forward[i] + end.at.backward[i] > 0;
      const turned = dry && this.contact.way[i] * this.qd[i] < 0;
      if (turned || (met && met.kind === "rest" && met.joint === i)) this.qd[i] = 0;
    });
  }

  /** The state after h with the current contacts; null, with an error message, if it cannot be computed. @param {Released} first @param {number} h @returns {Instant | null} */
  trial(first, h) {
    const { q, qd, contact } = this;
    const a1 = acceleration(first, contact);
    if (!a1) return this.fail();
    const v2 = advanced(qd, h / 2, a1);
    const a2 = acceleration(this.released(advanced(q, h / 2, qd), v2), contact);
    if (!a2) return this.fail();
    const v3 = advanced(qd, h / 2, a2);
    const a3 = acceleration(this.released(advanced(q, h / 2, v2), v3), contact);
    if (!a3) return this.fail();
    const v4 = advanced(qd, h, a3);
    const a4 = acceleration(this.released(advanced(q, h, v3), v4), contact);
    if (!a4) return this.fail();
    const end = { q: combined(q, h, qd, v2, v3, v4), qd: combined(qd, h, a1, a2, a3, a4) };
    const wrong = end.qd.findIndex(
      (x, i) => !Number.isFinite(x) || !Number.isFinite(end.q[i]) || Math.abs(x) > 1e6,
    );
    if (wrong >= 0) return this.fail(wrong);
    const at = this.released(end.q, end.qd);
    return { ...end, at, qdd: acceleration(at, contact) ?? a4 };
  }

  /** @param {number} [joint] @returns {null} */
  fail(joint) {
    const name = joint === undefined ? "an unknown joint" : `joint ${this.robot.joints[joint].name}`;
    this.failure =
      joint === undefined
        ? `The simulation stopped at t = ${this.time.toFixed(3)} s: B(q) is not positive definite, so the accelerations are undefined; restore the masses.`
        : `The simulation diverged at t = ${this.time.toFixed(3)} s: the velocity of ${name} is no longer finite; use a smaller step or smaller gains.`;
    return null;
  }

  /** The first event of a pass, if any. The event at which the pass already ends lies a rounding error beyond its zero, and is not
   * found again. @param {Released} first @param {Instant} end @param {{lower: number, upper: number}[]} bounds
   * @param {Watched | null} met @returns {Watched | null} */
  earliest(first, end, bounds, met) {
    /** @type {Watched | null} */
    let earliest = null;
    let least = Infinity;
    for (const event of this.watched(bounds)) {
      if (met && met.joint === event.joint && met.kind === event.kind) continue;
      const after = event.value(end);
      if (after >= 0) continue;
      const before = event.value({ q: this.q, qd: this.qd, qdd: this.qdd, at: first });
      const part = before > 0 ? before / (before - after) : 0;
      if (part < least) [earliest, least] = [event, part];
    }
    return earliest;
  }

  /** The events to watch for in a pass. @param {{lower: number, upper: number}[]} bounds @returns {Watched[]} */
  watched(bounds) {
    const { contact, q } = this;
    /** @type {Watched[]} */
    const events = [];
    bounds.forEach(({ lower, upper }, i) => {
      if (contact.held[i]) {
        const stop = atStops(q, bounds, i);
        events.push({ joint: i, kind: "load", value: (end) => holdingRoom(end, contact, stop, i) });
        return;
      }
      const way = contact.way[i];
      if (way)
        events.push({
          joint: i,
          kind: "rest",
          value: (end) => (end.at.forward[i] + end.at.backward[i] > 0 ? way * end.qd[i] : 1),
        });
      if (lower > -Infinity)
        events.push({ joint: i, kind: "stop", value: (end) => end.q[i] - lower + STOP_REACHED });
      if (upper < Infinity)
        events.push({ joint: i, kind: "stop", value: (end) => upper - end.q[i] + STOP_REACHED });
    });
    return events;
  }

  /** The time of an event from the beginning of the pass, by regula falsi (Illinois). @param {Watched} event @param {Released} first @param {number} h */
  instantOf(event, first, h) {
    const at = (/** @type {number} */ t) => {
      const end = this.trial(first, t);
      return end ? event.value(end) : -1;
    };
    let [early, late, after] = [0, h, at(h)];
    let before = event.value({ q: this.q, qd: this.qd, qdd: this.qdd, at: first });
    if (!(before > 0)) {
      // the pass begins at the event itself, so the state must first move away from it
      early = 1e-3 * h;
      before = at(early);
      if (!(before > 0)) return early;
    }
    let side = 0;
    for (let k = 0; k < 60 && late - early > EVENT_LATE * h; k++) {
      const t = (early * -after + late * before) / (before - after);
      const value = at(t);
      if (value > 0) {
        [early, before] = [t, value];
        if (side > 0) after /= 2;
        side = 1;
      } else {
        [late, after] = [t, value];
        if (side < 0) before /= 2;
        side = -1;
      }
      if (value === 0) break;
    }
    return late;
  }
}

/** x + h k @param {Values} x @param {number} h @param {Values} k */
function advanced(x, h, k) {
  const y = new Float64Array(x.length);
  for (let i = 0; i < y.length; i++) y[i] = x[i] + h * k[i];
  return y;
}

/** x + h/6 (a + 2 b + 2 c + d) @param {Values} x @param {number} h @param {Values} a @param {Values} b @param {Values} c @param {Values} d */
function combined(x, h, a, b, c, d) {
  const y = new Float64Array(x.length);
  for (let i = 0; i < y.length; i++) y[i] = x[i] + (h / 6) * (a[i] + 2 * b[i] + 2 * c[i] + d[i]);
  return y;
}

/** The remaining holding capacity of a held joint (N m or N), with a margin for rounding. @param {Instant} end @param {Contact} contact @param {[boolean, boolean]} stop @param {number} i */
function holdingRoom(end, contact, stop, i) {
  const [least, most] = holdingRange(end.at, stop, i);
  const f = borneTorque(end.at, contact, end.qdd)[i];
  return Math.min(f - least, most - f) + 1e-9 * (1 + end.at.forward[i] + end.at.backward[i]);
}
