// Payload and wrench at the tip along a motion in a table: each value applies from its row to the next.

import { FileError } from "./csv_table.js";
import { symmetricEigen } from "./linear.js";
import { addMoments, steinerMoments } from "./moments.js";
import { general, listedNames } from "./wording.js";

/** @import { WordData } from "./csv_words.js" */
/** @import { Load, MotionData } from "./motion.js" */

/** @typedef {{name: string, note: string, t: Float64Array, q: Float64Array, qd: Float64Array, qdd: Float64Array}} BareMotion */

/**
 * The motion with the loads of its columns; where they change, the row is duplicated for both sides of the jump.
 * @param {string} path @param {BareMotion} motion @param {Record<string, Float64Array>} carried @param {number} n
 * @param {WordData} words @returns {MotionData}
 */
export function carriedLoads(path, motion, carried, n, words) {
  const { t } = motion;
  const payloads = Object.keys(carried).filter((name) => name in words.payloads);
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
    const body = Object.keys(words.payloads).map((name) => value(name, row));
    const wrench = Object.keys(words.wrenches).map((name) => value(name, row));
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
  const loaded = loads.some((each) =>
    [each.payload, each.wrench].some((values) => Array.from(values).some(Boolean)),
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
    if (Array.from(wrench).some(Boolean)) {
      sentences.push(`tip wrench (${Array.from(wrench, (x) => general(x)).join(", ")}) ${when}`);
    }
    first = last;
  }
  return sentences;
}

/** m, m c, and the moments about the tip's origin, from the mass, the centre, and the moments about it. @param {number[]} body */
function bodyNumbers([m, x, y, z, ...moments]) {
  if (m === 0) return new Array(10).fill(0);
  return addMoments(steinerMoments(m, [x, y, z]), [0, 0, 0, 0, ...moments], 1);
}

/** The mass, the centre, and the moments about it, as the columns of a file have them. @param {ArrayLike<number>} numbers */
export function payloadColumns(numbers) {
  const [m, mx, my, mz, ...moments] = Array.from(numbers);
  if (m === 0) return new Array(10).fill(0);
  const centre = [mx / m, my / m, mz / m];
  const point = steinerMoments(m, centre).slice(4);
  return [m, ...centre, ...moments.map((moment, k) => moment - point[k])];
}

/** The reason why no body can have this mass and these moments about its centre, or null. @param {number[]} body */
function impossibleBody([mass, , , , xx, xy, xz, yy, yz, zz]) {
  if (mass < 0) return `its mass is negative (${general(mass)} kg)`;
  const tensor = [xx, xy, xz, xy, yy, yz, xz, yz, zz];
  const size = Math.max(...tensor.map(Math.abs));
  if (size <= 1e-15 * mass) return null; // a point mass, up to rounding in its moments
  const [c, b, a] = symmetricEigen(tensor, 3).values;
  if (a < -1e-9 * size) return `its inertia tensor has a negative principal moment (${general(a, 4)} kg m²)`;
  if (a + b >= c * (1 - 1e-6)) return null;
  const [least, middle, most] = [a, b, c].map((x) => general(x, 4));
  return (
    `its principal moments ${least}, ${middle}, ${most} kg m² violate the triangle inequality ` +
    `(${least} + ${middle} < ${most})`
  );
}
