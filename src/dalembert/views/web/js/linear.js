// Small dense matrices, row-major: singular values and eigenvalues.

import { cross3, dot3 } from "./space.js";

const SWEEPS = 60;

/**
 * The image of the unit ball under the m × k matrix G: its axes in the columns of an m × m matrix, longest radius first.
 * One-sided Jacobi rotations make the rows of G orthogonal, so that small radii stay accurate.
 * @param {ArrayLike<number>} G
 * @param {number} m
 * @param {number} k
 * @returns {{axes: Float64Array, radii: Float64Array}}
 */
export function semiAxes(G, m, k) {
  const rows = Array.from({ length: m }, (_, i) => Float64Array.from({ length: k }, (_, j) => G[i * k + j]));
  const basis = Array.from({ length: m }, (_, i) =>
    Float64Array.from({ length: m }, (_, j) => (i === j ? 1 : 0)),
  );
  for (let sweep = 0, turned = true; turned && sweep < SWEEPS; sweep++) {
    turned = false;
    for (let i = 0; i < m; i++)
      for (let j = i + 1; j < m; j++) {
        const a = dotOf(rows[i], rows[i]);
        const b = dotOf(rows[j], rows[j]);
        const c = dotOf(rows[i], rows[j]);
        if (Math.abs(c) <= 1e-16 * Math.sqrt(a * b) || c === 0) continue;
        turned = true;
        const zeta = (b - a) / (2 * c);
        const t = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.hypot(1, zeta));
        const cosine = 1 / Math.hypot(1, t);
        for (const pair of [rows, basis]) turnPair(pair[i], pair[j], cosine, cosine * t);
      }
  }
  const lengths = rows.map((row) => Math.hypot(...row));
  const order = lengths.map((_, i) => i).sort((i, j) => lengths[j] - lengths[i]);
  const axes = new Float64Array(m * m);
  order.forEach((from, column) => {
    const axis = basis[from];
    let biggest = 0;
    for (let i = 1; i < m; i++) if (Math.abs(axis[i]) > Math.abs(axis[biggest]) * (1 + 1e-12)) biggest = i;
    const sign = axis[biggest] < 0 ? -1 : 1;
    for (let i = 0; i < m; i++) axes[i * m + column] = sign * axis[i];
  });
  return { axes, radii: Float64Array.from(order, (i) => lengths[i]) };
}

/** @param {Float64Array} x @param {Float64Array} y */
export function dotOf(x, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
  return sum;
}

/** (x, y) ← (c x − s y, s x + c y) @param {Float64Array} x @param {Float64Array} y @param {number} c @param {number} s */
function turnPair(x, y, c, s) {
  for (let i = 0; i < x.length; i++) [x[i], y[i]] = [c * x[i] - s * y[i], s * x[i] + c * y[i]];
}

/**
 * Eigenvalues and eigenvectors of a symmetric n × n matrix, with the largest eigenvalue first; the eigenvectors are the columns
 * of `vectors`, in three dimensions right-handed.
 * @param {ArrayLike<number>} matrix
 * @param {number} n
 */
export function symmetricEigen(matrix, n) {
  const { axes } = semiAxes(matrix, n, n);
  const pairs = Array.from({ length: n }, (_, k) => {
    const vector = Float64Array.from({ length: n }, (_, i) => axes[i * n + k]);
    return { vector, value: dotOf(vector, timesVector(matrix, vector)) }; // with the sign that a singular value lacks
  }).sort((a, b) => b.value - a.value);
  const [x, y, z] = pairs.map(({ vector }) => vector);
  if (n === 3 && dot3(cross3(x, y), z) < 0) pairs[2].vector = z.map((part) => -part);
  return {
    values: pairs.map(({ value }) => value),
    vectors: Array.from({ length: n * n }, (_, k) => pairs[k % n].vector[Math.floor(k / n)]),
  };
}

/** @typedef {ArrayLike<number>} Row */

/** A x, row by row. @param {Row} matrix @param {Row} x @returns {Float64Array} */
export function timesVector(matrix, x) {
  const n = x.length;
  const y = new Float64Array(matrix.length / n);
  for (let i = 0; i < y.length; i++) for (let j = 0; j < n; j++) y[i] += matrix[i * n + j] * x[j];
  return y;
}
