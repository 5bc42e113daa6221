// Dry friction and joint stops at one instant: which joints stick, which slip, and the velocities after an impact.
//
// A joint at rest is held by a torque f_i within an interval: friction between its static levels, and at a stop also the
// reaction of the stop. So B q̈ = r + f with f_i inside its interval where q̈_i = 0, at its lower end where q̈_i > 0, and at
// its upper end where q̈_i < 0: a box-constrained complementarity problem with a unique solution, found by principal pivoting.
import { solveFree, timesVector } from "./linear.js";

/** @typedef {ArrayLike<number>} Values */
/** @typedef {{B: Float64Array, r: Float64Array, forward: Values, backward: Values}} Released B(q), τ − τ′ without dry friction, static friction levels */
/** @typedef {{held: boolean[], way: number[]}} Contact which joints are held, and the slip direction of the others: 1, −1, or 0 without friction */
/** @typedef {{lower: number, upper: number}} Stops */

const PIVOTS = 60;
const PIVOTS_AT_ONCE = 6; // later pivots change only the first infeasible joint (Murty), which guarantees termination
const SOFT_IMPACT = 1e-4; // rad/s or m/s: a slower impact leaves joints at rest where they are, so that rocking ends

/** @param {Values} q @param {Stops[]} stops @param {number} i @returns {[boolean, boolean]} whether joint i is at its lower and at its upper stop */
export function atStops(q, stops, i) {
  return [q[i] <= stops[i].lower, q[i] >= stops[i].upper];
}

/** Bounds of the torque that can hold joint i at rest. @param {Released} at @param {[boolean, boolean]} stop @param {number} i @returns {[number, number]} */
export function holdingRange(at, [lower, upper], i) {
  return [upper ? -Infinity : -at.forward[i], lower ? Infinity : at.backward[i]];
}

/** q̈ with these contacts; null if B is not positive definite. @param {Released} at @param {Contact} contact */
export function acceleration(at, { held, way }) {
  const rest = Float64Array.from(at.r);
  for (let i = 0; i < rest.length; i++) {
    if (way[i] > 0) rest[i] -= at.forward[i];
    else if (way[i] < 0) rest[i] += at.backward[i];
  }
  return solveFree(at.B, rest, held);
}

/** The torques required to hold the held joints: B q̈ − r in their rows. @param {Released} at @param {Contact} contact @param {Values} qdd */
export function borneTorque(at, contact, qdd) {
  const torque = timesVector(at.B, qdd);
  for (let i = 0; i < torque.length; i++) torque[i] = contact.held[i] ? torque[i] - at.r[i] : 0;
  return torque;
}

/**
 * Which joints are held, and the slip direction of the others.
 * @param {Released} at
 * @param {Values} q
 * @param {Values} qd
 * @param {Stops[]} stops
 * @returns {Contact}
 */
export function contactOf(at, q, qd, stops) {
  const n = q.length;
  const ranges = Array.from(q, (_, i) => holdingRange(at, atStops(q, stops, i), i));
  const rests = Array.from(qd, (v, i) => v === 0 && ranges[i][0] < ranges[i][1]);
  const contact = { held: [...rests], way: Array.from(qd, Math.sign) };
  if (!rests.some(Boolean)) return contact;
  for (let turn = 0; turn < PIVOTS; turn++) {
    const qdd = acceleration(at, contact);
    if (!qdd) return contact;
    const f = borneTorque(at, contact, qdd);
    const size = Math.max(...at.r.map(Math.abs), 1) * 1e-13;
    let fault = false;
    for (let i = 0; i < n && !(fault && turn >= PIVOTS_AT_ONCE); i++) {
      if (!rests[i]) continue;
      const [least, most] = ranges[i];
      if (contact.held[i] && (f[i] < least - size || f[i] > most + size)) {
        contact.held[i] = false;
        contact.way[i] = f[i] < least ? 1 : -1;
        fault = true;
      } else if (!contact.held[i] && contact.way[i] * qdd[i] <= 0) {
        contact.held[i] = true;
        contact.way[i] = 0;
        fault = true;
      }
    }
    if (!fault) return contact;
  }
  return contact;
}

/**
 * The velocities after a plastic impact of joints with their stops: the projection of q̇ onto the velocities that the stops allow, in the
 * metric of B. Friction does not act during the impact, but joints at rest stay at rest in a soft impact.
 * @param {Released} at
 * @param {Values} q
 * @param {Float64Array} qd
 * @param {Stops[]} stops
 * @returns {Float64Array} qd itself if no joint hits its stop
 */
export function afterImpact(at, q, qd, stops) {
  const n = qd.length;
  const sides = Array.from(q, (_, i) => atStops(q, stops, i));
  const into = sides.map(([lower, upper], i) => (lower && qd[i] < 0) || (upper && qd[i] > 0));
  if (!into.some(Boolean)) return qd;
  const soft = qd.every((v, i) => !into[i] || Math.abs(v) < SOFT_IMPACT);
  const pressed = sides.map(([lower, upper], i) => into[i] || (qd[i] === 0 && (lower || upper)));
  const kept = soft
    ? Array.from(qd, (v, i) => v === 0 && at.forward[i] + at.backward[i] > 0)
    : pressed.map(() => false);
  const momentum = timesVector(at.B, qd);
  let after = qd;
  for (let turn = 0; turn < PIVOTS; turn++) {
    const fixed = pressed.map((x, i) => x || kept[i]);
    const solution = solveFree(at.B, momentum, fixed);
    if (!solution) break;
    after = solution;
    const impulse = timesVector(at.B, after).map((x, i) => x - momentum[i]);
    let fault = -1;
    for (let i = 0; i < n && fault < 0; i++) {
      const [lower, upper] = sides[i];
      if (lower === upper) continue;
      const off = lower ? 1 : -1;
      const pulls = pressed[i] && off * impulse[i] < -1e-13 * Math.abs(momentum[i]);
      if (pulls || (!fixed[i] && off * after[i] < 0)) fault = i;
    }
    if (fault < 0) break;
    pressed[fault] = !pressed[fault];
  }
  return after.map((v, i) => {
    const [lower, upper] = sides[i];
    return (lower && v < 0) || (upper && v > 0) ? 0 : v;
  });
}
