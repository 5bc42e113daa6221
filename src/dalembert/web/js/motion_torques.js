// Torques along a motion, with what its events put at the tip, and how they change with the pace of the motion.

/** @import { Robot } from "./robot.js" */
/** @import { MotionRows } from "./motion.js" */

/**
 * Calls compute for each stretch of rows with one load, while the robot carries and exerts that in addition.
 * @param {Robot} robot @param {MotionRows} rows @param {(first: number, last: number) => void} compute
 */
export function inStretches(robot, rows, compute) {
  const { payload, tip_wrench } = robot.numbers;
  const [own, push] = [payload.slice(), tip_wrench.slice()];
  try {
    for (let first = 0; first < rows.count;) {
      let last = first + 1;
      while (last < rows.count && rows.load[last] === rows.load[first]) last++;
      const load = rows.loads[rows.load[first]];
      if (load !== undefined) {
        for (let k = 0; k < payload.length; k++) payload[k] = own[k] + load.payload[k];
        for (let k = 0; k < tip_wrench.length; k++) tip_wrench[k] = push[k] + load.wrench[k];
      }
      compute(first, last);
      first = last;
    }
  } finally {
    payload.set(own);
    tip_wrench.set(push);
  }
}

/**
 * Torques along the rows: count · n numbers; at other velocities and accelerations where they are given.
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
 * @typedef {{scaling: Float64Array, viscous: Float64Array, constant: Float64Array}} TorqueParts
 */

/** @param {Robot} robot @param {MotionRows} rows @returns {TorqueParts} */
export function torqueParts(robot, rows) {
  const { n, count } = rows;
  const rest = new Float64Array(count * n);
  const torque = torquesAlong(robot, rows);
  const atRest = torquesAlong(robot, rows, rest, rest); // gravity, springs, and the wrench at the tip
  const friction = new Float64Array(count * n);
  const twice = new Float64Array(count * n);
  const still = new Float64Array(count * n);
  for (let row = 0; row < count; row++) {
    const at = row * n;
    const q = rows.q.subarray(at, at + n);
    const qd = rows.qd.subarray(at, at + n);
    friction.set(robot.frictionTorque(q, qd), at);
    twice.set(
      robot.frictionTorque(
        q,
        qd.map((v) => 2 * v),
      ),
      at,
    );
    still.set(robot.frictionTorque(q, rest.subarray(0, n)), at);
  }
  const viscous = twice.map((f, k) => f - friction[k]); // F_v q̇ doubles with the speed, F_s sgn(q̇) does not
  const constant = atRest.map((g, k) => g + friction[k] - viscous[k] - still[k]);
  return { viscous, constant, scaling: torque.map((tau, k) => tau - viscous[k] - constant[k]) };
}

/** The torques with time stretched by a factor c. @param {TorqueParts} parts @param {number} c */
export function stretchedTorques(parts, c) {
  const torques = new Float64Array(parts.scaling.length);
  for (let k = 0; k < torques.length; k++) {
    torques[k] = parts.scaling[k] / (c * c) + parts.viscous[k] / c + parts.constant[k]; // (7.126)
  }
  return torques;
}

/** Power delivered by all drives (count,) in W. @param {MotionRows} rows @param {Float64Array} torques */
export function powerAlong(rows, torques) {
  const power = new Float64Array(rows.count);
  for (let k = 0; k < torques.length; k++) power[Math.floor(k / rows.n)] += torques[k] * rows.qd[k];
  return power;
}

/** The integral of a rate over time from the first row on, by trapezia. @param {Float64Array} t @param {Float64Array} rate */
export function integralAlong(t, rate) {
  const integral = new Float64Array(t.length);
  for (let k = 1; k < t.length; k++)
    integral[k] = integral[k - 1] + ((t[k] - t[k - 1]) * (rate[k] + rate[k - 1])) / 2;
  return integral;
}
