// Torques along a motion with the loads of its events, and their dependence on time scaling.

/** @import { Robot } from "./robot.js" */
/** @import { MotionRows } from "./motion.js" */

const MOST_ROWS_AT_ONCE = 512; // kernel inputs are stored per row, including the robot's parameters

/**
 * Calls compute for each range of rows with the same load, with that load added to the robot's own.
 * @param {Robot} robot @param {MotionRows} rows @param {(first: number, last: number) => void} compute
 */
function inStretches(robot, rows, compute) {
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
 * Kernel outputs along the rows: those of each range of rows with the same load, joined.
 * @param {Robot} robot @param {MotionRows} rows
 * @param {(part: {q: Float64Array, qd: Float64Array, qdd: Float64Array}) => Record<string, Float64Array>} outputs
 */
function outputsAlong(robot, rows, outputs) {
  const { n, count } = rows;
  /** @type {Record<string, Float64Array>} */
  const joined = {};
  inStretches(robot, rows, (first, last) => {
    const part = (/** @type {Float64Array} */ x) => x.subarray(first * n, last * n);
    const some = outputs({ q: part(rows.q), qd: part(rows.qd), qdd: part(rows.qdd) });
    for (const [name, values] of Object.entries(some)) {
      const size = values.length / (last - first);
      joined[name] ??= new Float64Array(count * size);
      joined[name].set(values, first * size);
    }
  });
  return joined;
}

/**
 * Torques along the rows: count · n numbers; velocities and accelerations may be replaced.
 * @param {Robot} robot @param {MotionRows} rows @param {Float64Array} [qd] @param {Float64Array} [qdd]
 */
export function torquesAlong(robot, rows, qd = rows.qd, qdd = rows.qdd) {
  return outputsAlong(robot, { ...rows, qd, qdd }, (part) => ({
    tau: robot.inverseDynamics(part.q, part.qd, part.qdd),
  })).tau;
}

/**
 * The parts of a torque that scale differently when time is stretched by a factor c,
 * τ(c) = τ_s/c² + τ_v/c + τ_0: S (7.123), (7.126) with r = t/c, and friction.
 * @typedef {{scaling: Float64Array, viscous: Float64Array, constant: Float64Array, odd: number}} TorqueParts
 * odd: a joint whose friction depends on the velocity in another way, so that the law does not hold; −1 for none
 */

/** @param {Robot} robot @param {MotionRows} rows @returns {TorqueParts} */
export function torqueParts(robot, rows) {
  const rest = new Float64Array(rows.q.length);
  const torque = torquesAlong(robot, rows);
  const atRest = torquesAlong(robot, rows, rest, rest); // gravity, springs and the tip wrench
  const { torque_terms: terms } = robot.kernels;
  const { viscous, coulomb, other, still } = outputsAlong(robot, { ...rows, qdd: rest }, ({ q, qd, qdd }) => {
    const { viscous, coulomb, other } = terms.run({ q, qd, qdd });
    // springs and similar terms do not depend on the velocity
    return {
      viscous,
      coulomb,
      other,
      still: other.some(Boolean) ? terms.run({ q, qd: qdd, qdd }).other : other,
    };
  });
  const at = other.findIndex((x, k) => Math.abs(x - still[k]) > 1e-9 * (1 + Math.abs(x)));
  const constant = atRest.map((g, k) => g + coulomb[k]);
  const scaling = torque.map((tau, k) => tau - viscous[k] - constant[k]);
  return { viscous, constant, scaling, odd: at < 0 ? at : at % rows.n };
}

/** The torques along the rows by cause, count · n numbers each. @param {Robot} robot @param {MotionRows} rows */
export function causesAlong(robot, rows) {
  return outputsAlong(robot, rows, ({ q, qd, qdd }) => robot.torqueTerms(q, qd, qdd));
}

/** Kinetic and potential energy along the rows (count,) in J, including the payload. @param {Robot} robot @param {MotionRows} rows */
export function energiesAlong(robot, rows) {
  const { kinetic_energy: kinetic, potential_energy: potential } = robot.kernels;
  const { T, U } = outputsAlong(robot, rows, ({ q, qd }) => ({
    ...kinetic.run({ q, qd }),
    ...potential.run({ q }),
  }));
  return { kinetic: T, potential: U };
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
