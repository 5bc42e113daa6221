// Capability of the tip in a posture, S 7.9: ellipsoids of acceleration, velocity and force. Matrices are row-major.

import { dotOf, pseudoInverse, semiAxes } from "./semi_axes.js";
import { cholesky, solveFactored } from "./solve.js";

/** @typedef {import("./robot.js").Robot} Robot */

/**
 * All centre + Σ u_k radii_k axes[:, k] with |u| ≤ 1, in the components named by `rows` (0 … 5: x, y, z, wx, wy, wz).
 * @typedef {{rows: number[], centre: Float64Array, axes: Float64Array, radii: Float64Array, note: string}} TipEllipsoid
 */

/**
 * J, J B⁻¹ (m × n), B (n × n) and the torques that hold the arm at rest, in one posture.
 * @typedef {{rows: number[], m: number, n: number, J: Float64Array, JB: Float64Array, B: Float64Array, rest: Float64Array}} Reach
 */

/** @typedef {"pseudo-inverse" | "dynamic" | "exact"} Redundancy */

export const SINGULAR_SHARE = 1e-4; // ratio of the smallest to the largest singular value of J below which a posture counts as singular
const FLAT_NOTE =
  "Singular posture: the shape shows all accelerations that these torques can produce; this set is flat.";
const UNBOUNDED_NOTE =
  "Singular posture: along an axis of unbounded radius, the structure carries the force and the joints need no torque.";

/**
 * The matrices from which all ellipsoids of a posture are computed; null if B is singular.
 * @param {Robot} robot
 * @param {Float64Array} q
 * @param {number[]} rows
 * @returns {Reach | null}
 */
export function reachAt(robot, q, rows) {
  const n = robot.n;
  const m = rows.length;
  const whole = robot.jacobian(q);
  const J = Float64Array.from({ length: m * n }, (_, k) => whole[rows[Math.floor(k / n)] * n + (k % n)]);
  const B = Float64Array.from(robot.inertiaMatrix(q));
  const factor = cholesky(B, n);
  if (!factor) return null;
  const JB = new Float64Array(m * n);
  for (let i = 0; i < m; i++) JB.set(solveFactored(factor, J.subarray(i * n, i * n + n)), i * n);
  const still = new Float64Array(n);
  const rest = Float64Array.from(robot.inverseDynamics(q, still, still));
  const wrench = robot.numbers.tip_wrench;
  for (let i = 0; i < n; i++) for (let r = 0; r < 6; r++) rest[i] -= whole[r * n + i] * wrench[r];
  return { rows, m, n, J, JB, B, rest };
}

/**
 * −J B⁻¹ g: the tip's acceleration without joint torques.
 * @param {Reach} at
 */
export function fallOf(at) {
  return Float64Array.from(at.rows, (_, i) => -dotOf(at.JB.subarray(i * at.n, i * at.n + at.n), at.rest));
}

/**
 * A (m × n) with column i multiplied or divided by sizes[i].
 * @param {Float64Array} A
 * @param {ArrayLike<number>} sizes
 * @param {boolean} [divide]
 */
export function columnsTimes(A, sizes, divide = false) {
  const n = sizes.length;
  return A.map((x, k) => (divide ? x / sizes[k % n] : x * sizes[k % n]));
}

/**
 * The dynamic manipulability ellipsoid, S (7.148): tip accelerations from rest for torques with Σ (τ_i / limit_i)² ≤ 1.
 * @param {Reach} at
 * @param {ArrayLike<number>} limits
 * @param {{gravity?: boolean, redundancy?: Redundancy}} [options]
 * @returns {TipEllipsoid}
 */
export function dynamicEllipsoid(at, limits, { gravity = true, redundancy = "pseudo-inverse" } = {}) {
  const { rows, m, n } = at;
  const centre = gravity ? fallOf(at) : new Float64Array(m);
  const singular = singularJacobian(at);
  const exact = redundancy === "exact" || m === n || singular;
  const torques = exact
    ? null
    : redundancy === "dynamic"
      ? consistentInverse(at)
      : timesInertia(at, pseudoInverse(at.J, m, n));
  if (!torques)
    return { rows, centre, ...semiAxes(columnsTimes(at.JB, limits), m, n), note: singular ? FLAT_NOTE : "" };
  const { axes, radii } = semiAxes(columnsTimes(torques, limits, true), m, n);
  return { rows, centre, ...inverted(axes, radii, m), note: "" };
}

/**
 * The velocity ellipsoid: tip velocities J q̇ for joint velocities with Σ (q̇_i / limit_i)² ≤ 1.
 * @param {Reach} at
 * @param {ArrayLike<number>} limits
 * @returns {TipEllipsoid}
 */
export function velocityEllipsoid(at, limits) {
  const { rows, m, n } = at;
  return { rows, centre: new Float64Array(m), ...semiAxes(columnsTimes(at.J, limits), m, n), note: "" };
}

/**
 * The force ellipsoid: tip forces balanced by torques τ = Jᵀ h with Σ (τ_i / limit_i)² ≤ 1; some radii are infinite if J is singular.
 * @param {Reach} at
 * @param {ArrayLike<number>} limits
 * @returns {TipEllipsoid}
 */
export function forceEllipsoid(at, limits) {
  const { rows, m, n } = at;
  const { axes, radii } = semiAxes(columnsTimes(at.J, limits, true), m, n);
  const longest = radii[0];
  const turned = inverted(
    axes,
    radii.map((r) => (r < SINGULAR_SHARE * longest || r === 0 ? 0 : r)),
    m,
  );
  return { rows, centre: new Float64Array(m), ...turned, note: singularJacobian(at) ? UNBOUNDED_NOTE : "" };
}

/**
 * The product of the radii; for the velocity ellipsoid, w = √det(J Jᵀ), S (3.56).
 * @param {TipEllipsoid} ellipsoid
 */
export function radiiProduct(ellipsoid) {
  return ellipsoid.radii.reduce((product, radius) => product * radius, 1);
}

/** @param {Reach} at */
export function singularJacobian({ J, m, n }) {
  const { radii } = semiAxes(J, m, n);
  return m > n || !(radii[m - 1] >= SINGULAR_SHARE * radii[0]) || radii[0] === 0;
}

/**
 * Axes and radii of the inverse: 1/radius, with the longest first.
 * @param {Float64Array} axes
 * @param {Float64Array} radii
 * @param {number} m
 */
function inverted(axes, radii, m) {
  const turned = Float64Array.from(axes, (_, k) => axes[k - (k % m) + (m - 1 - (k % m))]);
  return { axes: turned, radii: Float64Array.from(radii, (r) => 1 / r).reverse() };
}

/**
 * (B A)ᵀ from Aᵀ, m × n.
 * @param {Reach} at
 * @param {Float64Array} A
 */
function timesInertia({ B, m, n }, A) {
  const out = new Float64Array(m * n);
  for (let r = 0; r < m; r++)
    for (let i = 0; i < n; i++)
      out[r * n + i] = dotOf(B.subarray(i * n, i * n + n), A.subarray(r * n, r * n + n));
  return out;
}

/**
 * (B J̄)ᵀ = (J B⁻¹ Jᵀ)⁻¹ J, the dynamically consistent inverse of S (7.138).
 * @param {Reach} at
 */
function consistentInverse({ J, JB, m, n }) {
  const mobility = new Float64Array(m * m);
  for (let r = 0; r < m; r++)
    for (let s = 0; s < m; s++)
      mobility[r * m + s] = dotOf(JB.subarray(r * n, r * n + n), J.subarray(s * n, s * n + n));
  const factor = cholesky(mobility, m);
  if (!factor) return null;
  const out = new Float64Array(m * n);
  for (let i = 0; i < n; i++) {
    const column = solveFactored(
      factor,
      Float64Array.from({ length: m }, (_, r) => J[r * n + i]),
    );
    column.forEach((x, r) => (out[r * n + i] = x));
  }
  return out;
}

/**
 * A vector given by its rows as one of x, y, z; an orientation row is represented by its rotation axis.
 * @param {Reach | TipEllipsoid} of
 * @param {ArrayLike<number>} components
 */
export function inSpace({ rows }, components) {
  const out = [0, 0, 0];
  rows.forEach((row, k) => (out[row % 3] = components[k]));
  return out;
}

/**
 * The polytope of all accelerations from rest for torques |τ_i| ≤ limit_i: its centre and the columns of J B⁻¹ W in space.
 * @param {Reach} at
 * @param {ArrayLike<number>} limits
 * @param {boolean} [gravity]
 */
export function generatorsOf(at, limits, gravity = true) {
  const G = columnsTimes(at.JB, limits);
  const column = (/** @type {number} */ i) =>
    inSpace(
      at,
      at.rows.map((_, r) => G[r * at.n + i]),
    );
  const centre = gravity ? inSpace(at, fallOf(at)) : [0, 0, 0];
  return { centre, generators: Array.from({ length: at.n }, (_, i) => column(i)) };
}
