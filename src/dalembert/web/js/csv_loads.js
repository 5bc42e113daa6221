// Payload and wrench at the tip along a motion in a table: each value applies from its row to the next.

import { PAYLOAD_COLUMNS, WRENCH_COLUMNS } from "./csv_columns.js";
import { FileError } from "./csv_table.js";
import { general, listedNames } from "./wording.js";

/** @import { Load, MotionData } from "./motion.js" */

/** @typedef {{name: string, note: string, t: Float64Array, q: Float64Array, qd: Float64Array, qdd: Float64Array}} BareMotion */

/**
 * The motion with the loads of its columns; where they change, the row is duplicated for both sides of the jump.
 * @param {string} path @param {BareMotion} motion @param {Record<string, Float64Array>} carried @param {number} n @returns {MotionData}
 */
export function carriedLoads(path, motion, carried, n) {
  const { t } = motion;
  const payloads = Object.keys(carried).filter((name) => name in PAYLOAD_COLUMNS);
  if (payloads.length && !("payload" in carried)) {
    throw new FileError(
      `${path}: the column ${listedNames(payloads)} needs a column 'payload' with the mass in kg`,
    );
  }
  const value = (/** @type {string} */ name, /** @type {number} */ row) => carried[name]?.[row] ?? 0;
  /** @type {Load[]} */
  const loads = [];
  /** @type {Map<string, number>} */
  const places = new Map();
  const load = Int32Array.from(t, (instant, row) => {
    const body = Object.keys(PAYLOAD_COLUMNS).map((name) => value(name, row));
    const wrench = Object.keys(WRENCH_COLUMNS).map((name) => value(name, row));
    const key = String([body, wrench]);
    const known = places.get(key);
    if (known !== undefined) return known;
    places.set(key, loads.length);
    const problem = body[0] === 0 ? null : impossibleBody(body);
    if (problem) {
      throw new FileError(
        `${path}: the payload at t = ${general(instant)} s: the payload is not physically possible: ${problem}`,
      );
    }
    return loads.push({ payload: bodyNumbers(body), wrench }) - 1;
  });
  const loaded = loads.some(({ payload, wrench }) =>
    [...Array.from(payload), ...Array.from(wrench)].some((x) => x !== 0),
  );
  if (!loaded) return { ...motion, load: [], loads: [], events: [] };
  const rows = Array.from(t, (_, row) => row).flatMap((row) => {
    const changes = row > 0 && row < t.length - 1 && load[row] !== load[row - 1] && t[row] > t[row - 1];
    return changes ? [row, row] : [row];
  });
  const taken = (/** @type {Float64Array} */ x) =>
    rows.flatMap((row) => Array.from(x.subarray(row * n, (row + 1) * n)));
  return {
    ...motion,
    t: rows.map((row) => t[row]),
    q: taken(motion.q),
    qd: taken(motion.qd),
    qdd: taken(motion.qdd),
    load: rows.map((row, at) => (rows[at + 1] === row ? load[row - 1] : load[row])),
    loads,
    events: loadSentences(t, load, loads),
  };
}

/** Descriptions of the payloads and wrenches with their times. @param {Float64Array} t @param {Int32Array} load @param {Load[]} loads */
function loadSentences(t, load, loads) {
  const sentences = [];
  for (let first = 0; first < t.length - 1;) {
    let last = first + 1;
    while (last < t.length - 1 && load[last] === load[first]) last++;
    const { payload, wrench } = loads[load[first]];
    const when = `from ${general(t[first])} to ${general(t[last])} s`;
    if (payload[0]) sentences.push(`payload of ${general(payload[0])} kg ${when}`);
    if (Array.from(wrench).some((x) => x !== 0)) {
      sentences.push(`tip wrench (${Array.from(wrench, (x) => general(x)).join(", ")}) ${when}`);
    }
    first = last;
  }
  return sentences;
}

/** m, m c, and the moments about the tip's origin, from the mass, the centre, and the moments about it. @param {number[]} body */
function bodyNumbers([m, x, y, z, ...moments]) {
  if (m === 0) return new Array(10).fill(0);
  return [m, m * x, m * y, m * z, ...moments.map((moment, k) => moment + m * steinerTerm(k, x, y, z))];
}

/** The mass, the centre, and the moments about it, as the columns of a file have them. @param {ArrayLike<number>} numbers */
export function payloadColumns(numbers) {
  const [m, mx, my, mz, ...moments] = Array.from(numbers);
  if (m === 0) return new Array(10).fill(0);
  const [x, y, z] = [mx / m, my / m, mz / m];
  return [m, x, y, z, ...moments.map((moment, k) => moment - m * steinerTerm(k, x, y, z))];
}

/** Entry k of xx, xy, xz, yy, yz, zz of |c|² 1 − c cᵀ. @param {number} k @param {number} x @param {number} y @param {number} z */
function steinerTerm(k, x, y, z) {
  return [y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y][k];
}

/** The reason why no body can have this mass and these moments about its centre, or null. @param {number[]} body */
function impossibleBody([mass, , , , xx, xy, xz, yy, yz, zz]) {
  if (mass < 0) return `its mass is negative (${general(mass)} kg)`;
  const size = Math.max(...[xx, xy, xz, yy, yz, zz].map(Math.abs));
  if (size <= 1e-15 * mass) return null; // a point mass, up to rounding in its moments
  const [a, b, c] = principalMoments(xx, xy, xz, yy, yz, zz);
  if (a < -1e-9 * size) return `its inertia tensor has a negative principal moment (${general(a, 4)} kg m²)`;
  if (a + b < c * (1 - 1e-6)) {
    const [least, middle, most] = [a, b, c].map((x) => general(x, 4));
    return (
      `its principal moments ${least}, ${middle}, ${most} kg m² violate the triangle inequality ` +
      `(${least} + ${middle} < ${most})`
    );
  }
  return null;
}

/** Eigenvalues of a symmetric 3 × 3 matrix, smallest first. @param {number} xx @param {number} xy @param {number} xz @param {number} yy @param {number} yz @param {number} zz */
function principalMoments(xx, xy, xz, yy, yz, zz) {
  if (xy === 0 && xz === 0 && yz === 0) return [xx, yy, zz].sort((p, q) => p - q);
  const mean = (xx + yy + zz) / 3;
  const [a, b, c] = [xx - mean, yy - mean, zz - mean];
  const spread = Math.sqrt((a * a + b * b + c * c + 2 * (xy * xy + xz * xz + yz * yz)) / 6);
  if (spread === 0) return [mean, mean, mean];
  const determinant = a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz);
  const angle = Math.acos(Math.min(1, Math.max(-1, determinant / (2 * spread ** 3)))) / 3;
  return [0, 1, 2]
    .map((k) => mean + 2 * spread * Math.cos(angle + (2 * Math.PI * k) / 3))
    .sort((p, q) => p - q);
}
