// Torques along a motion with the loads of its events, and their dependence on time scaling.

/** @import { Robot } from "./robot.js" */
/** @import { MotionRows } from "./motion.js" */

const MOST_ROWS_AT_ONCE = 512; // kernel inputs are stored per row, including the robot's parameters

/**
 * Calls compute for each range of rows with the same load, with that load added to the robot's own.
 * @param {Robot} robot @param {MotionRows} rows @param {(first: number, last: number) => void} compute
 */
export function inStretches(robot, rows, compute) {
  const { payload, tip_wrench } = robot.numbers;
  for (let first = 0; first < rows.count;) {
    let last = first + 1;
    const most = Math.min(rows.count, first + MOST_ROWS_AT_ONCE);
    while (last < most && rows.load[last] === rows.load[first]) last++;
    const load = rows.loads[rows.load[first]];
    const [begin, end] = [first, last];
    if (load === undefined) compute(begin, end);
    else {
      const together = {
        payload: payload.map((x, k) => x + load.payload[k]),
        tip_wrench: tip_wrench.map((x, k) => x + load.wrench[k]),
      };
      robot.held.during(together, () => compute(begin, end));
    }
    first = last;
  }
}

/**
 * Torques along the rows: count · n numbers; velocities and accelerations may be replaced.
 * @param {Robot} robot @param {MotionRows} rows @param {Float64Array} [qd] @param {Float64Array} [qdd]
 */
export function torquesAlong(robot, rows, qd = rows.qd, qdd = rows.qdd) {
  const { n } = rows;
  const torques = new Float64Array(rows.count * n);
  inStretches(robot, rows, (first, last) => {
    const part = (/** @type {Float64Array} */ x) => x.subarray(first * n, last * n);
    torques.set(robot.inverseDynamics(part(rows.q), part(qd), part(qdd)), first * n);
  });
  return torques;
}

/**
 * The parts of a torque that scale differently when time is stretched by a factor c,
 * τ(c) = τ_s/c² + τ_v/c + τ_0: S (7.123), (7.126) with r = t/c, and friction.
 * @typedef {{scaling: Float64Array, viscous: Float64Array, constant: Float64Array, odd: number}} TorqueParts
 * odd: a joint whose friction depends on the velocity in another way, so that the law does not hold; −1 for none
 */

/** @param {Robot} robot @param {MotionRows} rows @returns {TorqueParts} */
export function torqueParts(robot, rows) {
  const { n } = rows;
  const size = rows.q.length;
  const rest = new Float64Array(size);
  const torque = torquesAlong(robot, rows);
  const atRest = torquesAlong(robot, rows, rest, rest); // gravity, springs and the tip wrench
  const viscous = new Float64Array(size);
  const coulomb = new Float64Array(size);
  let odd = -1;
  inStretches(robot, rows, (first, last) => {
    const q = rows.q.subarray(first * n, last * n);
    const qdd = rest.subarray(first * n, last * n);
    const moving = robot.kernels.torque_terms.run({ q, qd: rows.qd.subarray(first * n, last * n), qdd });
    viscous.set(moving.viscous, first * n);
    coulomb.set(moving.coulomb, first * n);
    if (odd >= 0 || !moving.other.some((x) => x !== 0)) return;
    const still = robot.kernels.torque_terms.run({ q, qd: qdd, qdd }).other; // springs and similar terms do not depend on the velocity
    const at = moving.other.findIndex((x, k) => Math.abs(x - still[k]) > 1e-9 * (1 + Math.abs(x)));
    if (at >= 0) odd = at % n;
  });
  const constant = atRest.map((g, k) => g + coulomb[k]);
  return { viscous, constant, scaling: torque.map((tau, k) => tau - viscous[k] - constant[k]), odd };
}

/** The torques along the rows by cause, count · n numbers each. @param {Robot} robot @param {MotionRows} rows */
export function causesAlong(robot, rows) {
  const { n } = rows;
  /** @type {Record<string, Float64Array>} */
  const causes = {};
  inStretches(robot, rows, (first, last) => {
    const part = (/** @type {Float64Array} */ x) => x.subarray(first * n, last * n);
    for (const [cause, values] of Object.entries(
      robot.torqueTerms(part(rows.q), part(rows.qd), part(rows.qdd)),
    )) {
      causes[cause] ??= new Float64Array(rows.count * n);
      causes[cause].set(values, first * n);
    }
  });
  return causes;
}

/** Kinetic and potential energy along the rows (count,) in J, including the payload. @param {Robot} robot @param {MotionRows} rows */
export function energiesAlong(robot, rows) {
  const { n, count } = rows;
  const kinetic = new Float64Array(count);
  const potential = new Float64Array(count);
  inStretches(robot, rows, (first, last) => {
    const part = (/** @type {Float64Array} */ x) => x.subarray(first * n, last * n);
    kinetic.set(robot.kernels.kinetic_energy.run({ q: part(rows.q), qd: part(rows.qd) }).T, first);
    potential.set(robot.kernels.potential_energy.run({ q: part(rows.q) }).U, first);
  });
  return { kinetic, potential };
}

/** The torques with time stretched by a factor c. @param {TorqueParts} parts @param {number} c */
export function stretchedTorques(parts, c) {
  const torques = new Float64Array(parts.scaling.length);
  for (let k = 0; k < torques.length; k++) {
    torques[k] = parts.scaling[k] / (c * c) + parts.viscous[k] / c + parts.constant[k]; // (7.126)
  }
  return torques;
}

/** Power delivered by each drive, count · n numbers in W, and the total power (count,). @param {MotionRows} rows @param {Float64Array} torques */
export function powersAlong(rows, torques) {
  const each = torques.map((tau, k) => tau * rows.qd[k]);
  const total = new Float64Array(rows.count);
  each.forEach((power, k) => (total[Math.floor(k / rows.n)] += power));
  return { each, total };
}

/** The time integral of a rate from the first row on, by the trapezoidal rule. @param {Float64Array} t @param {Float64Array} rate */
export function integralAlong(t, rate) {
  const integral = new Float64Array(t.length);
  for (let k = 1; k < t.length; k++)
    integral[k] = integral[k - 1] + ((t[k] - t[k - 1]) * (rate[k] + rate[k - 1])) / 2;
  return integral;
}
