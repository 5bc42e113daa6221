// The quintic spline through samples, not-a-knot at both ends: derivatives of sampled values without phase shift.

const SPLINE_BAND = 7; // half-bandwidth of the equations, with two unknowns per sample
const SPLINE_FEWEST = 6;

/**
 * First and second derivatives of the quintic spline through values (N, n) at the instants t (N,), or an error message.
 * @param {Float64Array} t @param {Float64Array} values @param {number} n
 * @returns {{first: Float64Array, second: Float64Array} | string}
 */
export function splineDerivatives(t, values, n) {
  const count = t.length;
  if (count < SPLINE_FEWEST)
    return `a derivative needs values at ${SPLINE_FEWEST} times or more, not ${count}`;
  const step = (t[count - 1] - t[0]) / (count - 1);
  const size = 2 * count;
  const width = 3 * SPLINE_BAND + 1; // row length: from the diagonal − 7 on, including the fill-in of pivoting
  const matrix = new Float64Array(size * width);
  const right = new Float64Array(size * n);
  const spans = Float64Array.from({ length: count - 1 }, (_, k) => (t[k + 1] - t[k]) / step);

  /** Adds the derivative of an order at an end of piece k to an equation. @param {number} row @param {number} k @param {number} order @param {0 | 1} u @param {number} sign */
  const add = (row, k, order, u, sign) => {
    const h = spans[k];
    const [rise, v0, v1, a0, a1] = pieceDerivative(order, u);
    const scale = sign / h ** order;
    const column = (/** @type {number} */ at) => row * width + at - row + SPLINE_BAND;
    matrix[column(2 * k)] += scale * v0 * h;
    matrix[column(2 * k + 1)] += scale * a0 * h * h;
    matrix[column(2 * k + 2)] += scale * v1 * h;
    matrix[column(2 * k + 3)] += scale * a1 * h * h;
    for (let j = 0; j < n; j++)
      right[row * n + j] -= scale * rise * (values[(k + 1) * n + j] - values[k * n + j]);
  };
  /** Continuity of a derivative at an inner sample. @param {number} row @param {number} k @param {number} order */
  const smooth = (row, k, order) => {
    add(row, k - 1, order, 1, 1);
    add(row, k, order, 0, -1);
  };
  smooth(0, 1, 5);
  smooth(1, 2, 5);
  for (let k = 1; k < count - 1; k++) {
    smooth(2 * k, k, 3);
    smooth(2 * k + 1, k, 4);
  }
  smooth(size - 2, count - 3, 5);
  smooth(size - 1, count - 2, 5);
  solveBanded(matrix, right, size, n);
  const first = new Float64Array(count * n);
  const second = new Float64Array(count * n);
  for (let k = 0; k < count; k++) {
    for (let j = 0; j < n; j++) {
      first[k * n + j] = right[2 * k * n + j] / step;
      second[k * n + j] = right[(2 * k + 1) * n + j] / (step * step);
    }
  }
  if (!first.every(Number.isFinite) || !second.every(Number.isFinite)) {
    return "no smooth curve passes through the values; are times too close together, or values too large?";
  }
  return { first, second };
}

/** Factors of [rise, h v0, h v1, h² a0, h² a1] in the derivative of an order at u = 0 or 1 of a quintic piece. @param {number} order @param {0 | 1} u */
function pieceDerivative(order, u) {
  const c3 = [10, -6, -4, -1.5, 0.5];
  const c4 = [-15, 8, 7, 1.5, -1];
  const c5 = [6, -3, -3, -0.5, 0.5];
  if (order === 3) return c3.map((c, k) => 6 * c + u * (24 * c4[k] + 60 * c5[k]));
  if (order === 4) return c4.map((c, k) => 24 * c + u * 120 * c5[k]);
  return c5.map((c) => 120 * c);
}

/**
 * Solves a banded system in place, with row exchanges; rows are stored from the diagonal − 7 on.
 * @param {Float64Array} matrix @param {Float64Array} right @param {number} size @param {number} columns
 */
function solveBanded(matrix, right, size, columns) {
  const band = SPLINE_BAND;
  const width = 3 * band + 1;
  const at = (/** @type {number} */ row, /** @type {number} */ column) => row * width + column - row + band;
  for (let row = 0; row < size; row++) {
    // every row is scaled to its largest entry, so that rows of different derivatives are comparable
    let largest = 0;
    for (let k = 0; k < width; k++) largest = Math.max(largest, Math.abs(matrix[row * width + k]));
    for (let k = 0; k < width; k++) matrix[row * width + k] /= largest;
    for (let j = 0; j < columns; j++) right[row * columns + j] /= largest;
  }
  for (let k = 0; k < size; k++) {
    const last = Math.min(size - 1, k + band);
    const end = Math.min(size - 1, k + 2 * band);
    let pivot = k;
    for (let row = k + 1; row <= last; row++) {
      if (Math.abs(matrix[at(row, k)]) > Math.abs(matrix[at(pivot, k)])) pivot = row;
    }
    if (pivot !== k) {
      for (let column = k; column <= end; column++) {
        const kept = matrix[at(k, column)];
        matrix[at(k, column)] = matrix[at(pivot, column)];
        matrix[at(pivot, column)] = kept;
      }
      for (let j = 0; j < columns; j++) {
        const kept = right[k * columns + j];
        right[k * columns + j] = right[pivot * columns + j];
        right[pivot * columns + j] = kept;
      }
    }
    for (let row = k + 1; row <= last; row++) {
      const factor = matrix[at(row, k)] / matrix[at(k, k)];
      if (factor === 0) continue;
      for (let column = k; column <= end; column++) matrix[at(row, column)] -= factor * matrix[at(k, column)];
      for (let j = 0; j < columns; j++) right[row * columns + j] -= factor * right[k * columns + j];
    }
  }
  for (let k = size - 1; k >= 0; k--) {
    const end = Math.min(size - 1, k + 2 * band);
    for (let j = 0; j < columns; j++) {
      let value = right[k * columns + j];
      for (let column = k + 1; column <= end; column++)
        value -= matrix[at(k, column)] * right[column * columns + j];
      right[k * columns + j] = value / matrix[at(k, k)];
    }
  }
}
