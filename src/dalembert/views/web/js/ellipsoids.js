// Capability of the tip in a posture, S 7.9: ellipsoids of acceleration, velocity and force. Matrices are row-major.

import { semiAxes } from "./linear.js";

/** @import { Robot, Values } from "./robot.js" */

/** The tip's components: 0 … 5 are x, y, z, ωx, ωy, ωz; 6 is the rotation about `normal`, of an arm that has no other. @typedef {{rows: number[], normal: number[]}} TipSpace */

/** All centre + Σ u_k radii_k axes[:, k] with |u| ≤ 1, in the components of `space`. @typedef {{space: TipSpace, centre: Float64Array, axes: Float64Array, radii: Float64Array, note: string}} TipEllipsoid */

/** J and J B⁻¹ (m × n), −J B⁻¹ g, the acceleration without joint torques, and (B J⁺)ᵀ and (B J̄)ᵀ (m × n), the torques of tip accelerations, in one posture. @typedef {{space: TipSpace, m: number, n: number, J: Float64Array, JB: Float64Array, fall: Float64Array, byPlus: Float64Array, byBar: Float64Array}} Reach */

/** @typedef {"pseudo-inverse" | "dynamic" | "exact"} Redundancy */

const SINGULAR_SHARE = 1e-4; // ratio of the smallest to the largest singular value of J below which a posture counts as singular
const FLAT_NOTE =
  "Singular posture: the shape shows all accelerations that these torques can produce; this set is flat.";
const UNBOUNDED_NOTE =
  "Singular posture: along an axis of unbounded radius, the structure carries the force and the joints need no torque.";

/** The matrices from which all ellipsoids of a posture are computed; null if B is singular. @param {Robot} robot @param {Values} q @returns {Reach | null} */
export function reachAt(robot, q) {
  const { J, over_B_J: JB, center: fall } = robot.kernels.reach.run({ q });
  if (![...JB, ...fall].every(Number.isFinite)) return null;
  const space = robot.data.tip_space;
  const { by_plus: byPlus, by_bar: byBar } = robot.kernels.torque_maps.run({ q, soft: [0, 0] });
  return { space, m: space.rows.length, n: robot.n, J, JB, fall, byPlus, byBar };
}

/** The columns of A (m × n) multiplied by sizes. @param {Float64Array} A @param {Values} sizes */
function columnsTimes(A, sizes) {
  return A.map((x, k) => x * sizes[k % sizes.length]);
}

/** The columns of A (m × n) divided by sizes. @param {Float64Array} A @param {Values} sizes */
function columnsOver(A, sizes) {
  return A.map((x, k) => x / sizes[k % sizes.length]);
}

/**
 * The dynamic manipulability ellipsoid, S (7.148): tip accelerations from rest for torques with Σ (τ_i / limit_i)² ≤ 1.
 * @param {Reach} at @param {Values} limits @param {{gravity?: boolean, redundancy?: Redundancy}} [options] @returns {TipEllipsoid}
 */
export function dynamicEllipsoid(at, limits, { gravity = true, redundancy = "pseudo-inverse" } = {}) {
  const { space, m, n } = at;
  const centre = gravity ? at.fall : new Float64Array(m);
  const singular = singularJacobian(at);
  if (redundancy === "exact" || m === n || singular)
    return { space, centre, ...semiAxes(columnsTimes(at.JB, limits), m, n), note: singular ? FLAT_NOTE : "" };
  const torques = columnsOver(redundancy === "dynamic" ? at.byBar : at.byPlus, limits);
  return { space, centre, ...dualAxes(torques, m, n), note: "" };
}

/** The velocity ellipsoid: tip velocities J q̇ for joint velocities with Σ (q̇_i / limit_i)² ≤ 1. @param {Reach} at @param {Values} limits @returns {TipEllipsoid} */
export function velocityEllipsoid({ space, J, m, n }, limits) {
  return { space, centre: new Float64Array(m), ...semiAxes(columnsTimes(J, limits), m, n), note: "" };
}

/**
 * The force ellipsoid: tip forces balanced by torques τ = Jᵀ h with Σ (τ_i / limit_i)² ≤ 1; some radii are infinite if J is singular.
 * @param {Reach} at @param {Values} limits @returns {TipEllipsoid}
 */
export function forceEllipsoid(at, limits) {
  const { space, J, m, n } = at;
  const shape = dualAxes(columnsOver(J, limits), m, n, SINGULAR_SHARE);
  return { space, centre: new Float64Array(m), ...shape, note: singularJacobian(at) ? UNBOUNDED_NOTE : "" };
}

/** The product of the radii; for the velocity ellipsoid, w = √det(J Jᵀ), S (3.56). @param {TipEllipsoid} ellipsoid */
export function radiiProduct(ellipsoid) {
  return ellipsoid.radii.reduce((product, radius) => product * radius, 1);
}

/** @param {Reach} at */
function singularJacobian({ J, m, n }) {
  const { radii } = semiAxes(J, m, n);
  return m > n || !(radii[m - 1] >= SINGULAR_SHARE * radii[0]) || radii[0] === 0;
}

/** All h with |Hᵀ h| ≤ 1: axes, and the inverse radii of H with the longest first; radii of H below a share of its largest count as 0. @param {Float64Array} H @param {number} m @param {number} n @param {number} [share] */
function dualAxes(H, m, n, share = 0) {
  const { axes, radii } = semiAxes(H, m, n);
  return {
    axes: axes.map((_, k) => axes[k - (k % m) + (m - 1 - (k % m))]),
    radii: radii.map((radius) => (radius < share * radii[0] ? Infinity : 1 / radius)).reverse(),
  };
}

/** A vector of components in x, y, z; a rotation is represented by its axis. @param {TipSpace} space @param {Values} components */
export function inSpace({ rows, normal }, components) {
  const out = [0, 0, 0];
  rows.forEach((row, k) => {
    if (row < 6) out[row % 3] = components[k];
    else normal.forEach((x, axis) => (out[axis] += x * components[k]));
  });
  return out;
}

/** The polytope of all accelerations from rest for torques |τ_i| ≤ limit_i: its centre and the columns of J B⁻¹ W in space. @param {Reach} at @param {Values} limits @param {boolean} [gravity] */
export function generatorsOf({ space, JB, fall, n }, limits, gravity = true) {
  const generators = Array.from(limits, (limit, i) =>
    inSpace(
      space,
      space.rows.map((_, r) => limit * JB[r * n + i]),
    ),
  );
  return { centre: gravity ? inSpace(space, fall) : [0, 0, 0], generators };
}
