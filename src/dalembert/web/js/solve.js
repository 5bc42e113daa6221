// Linear systems with symmetric positive definite matrices, row by row: Cholesky factor and solution.

/** @typedef {ArrayLike<number>} Row */

/**
 * L with A = L Lᵀ, stored row by row in its lower triangle; null if A is not positive definite.
 * @param {Row} matrix n × n
 * @param {number} n
 * @returns {Float64Array | null}
 */
export function cholesky(matrix, n) {
  const L = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = matrix[i * n + j];
      for (let k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
      if (i > j) L[i * n + j] = sum / L[j * n + j];
      else if (sum > 0) L[i * n + i] = Math.sqrt(sum);
      else return null;
    }
  }
  return L;
}

/**
 * x with L Lᵀ x = b.
 * @param {Float64Array} L from `cholesky`
 * @param {Row} b
 */
export function solveFactored(L, b) {
  const n = b.length;
  const x = Float64Array.from(b);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) x[i] -= L[i * n + k] * x[k];
    x[i] /= L[i * n + i];
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i] -= L[k * n + i] * x[k];
    x[i] /= L[i * n + i];
  }
  return x;
}

/**
 * x with A x = b in the rows of the free unknowns and x = 0 for the held ones; null if that part of A is not positive definite.
 * @param {Row} matrix n × n
 * @param {Row} b
 * @param {boolean[]} held
 */
export function solveFree(matrix, b, held) {
  const n = b.length;
  const x = Float64Array.from(b);
  const masked = Float64Array.from(matrix);
  for (let i = 0; i < n; i++) {
    if (!held[i]) continue;
    x[i] = 0;
    for (let j = 0; j < n; j++) masked[i * n + j] = masked[j * n + i] = i === j ? 1 : 0;
  }
  const L = cholesky(masked, n);
  return L && solveFactored(L, x);
}

/** A x, row by row. @param {Row} matrix @param {Row} x @returns {Float64Array} */
export function timesVector(matrix, x) {
  const n = x.length;
  const y = new Float64Array(matrix.length / n);
  for (let i = 0; i < y.length; i++) for (let j = 0; j < n; j++) y[i] += matrix[i * n + j] * x[j];
  return y;
}
