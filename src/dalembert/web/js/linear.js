// Small dense matrices, row-major.

/**
 * Eigenvalues and eigenvectors of a symmetric n × n matrix by Jacobi's method, with the largest eigenvalue first.
 * `vectors` holds the eigenvectors in its columns; in three dimensions they are right-handed.
 * @param {ArrayLike<number>} matrix
 * @param {number} n
 * @returns {{values: number[], vectors: number[]}}
 */
export function symmetricEigen(matrix, n) {
  const a = Array.from(matrix);
  const v = a.map((_, k) => (k % (n + 1) === 0 ? 1 : 0));
  const total = Math.hypot(...a);
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0;
    for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) off = Math.max(off, Math.abs(a[i * n + j]));
    if (!(off > 1e-16 * total)) break;
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) jacobiRotation(a, v, n, p, q);
  }
  const order = Array.from({ length: n }, (_, k) => k).sort((i, j) => a[j * n + j] - a[i * n + i]);
  const vectors = new Array(n * n);
  for (let k = 0; k < n; k++) for (let i = 0; i < n; i++) vectors[i * n + k] = v[i * n + order[k]];
  if (n === 3) {
    const [a1, a2, a3, b1, b2, b3, c1, c2, c3] = vectors;
    const volume = a1 * (b2 * c3 - b3 * c2) - a2 * (b1 * c3 - b3 * c1) + a3 * (b1 * c2 - b2 * c1);
    if (volume < 0) for (let i = 0; i < 3; i++) vectors[3 * i + 2] *= -1;
  }
  return { values: order.map((k) => a[k * n + k]), vectors };
}

/**
 * Rotates the axes p and q so that entry (p, q) of a vanishes.
 * @param {number[]} a
 * @param {number[]} v
 * @param {number} n
 * @param {number} p
 * @param {number} q
 */
function jacobiRotation(a, v, n, p, q) {
  const apq = a[p * n + q];
  if (apq === 0) return;
  const theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const s = t * c;
  for (let k = 0; k < n; k++) {
    const x = a[k * n + p];
    const y = a[k * n + q];
    a[k * n + p] = c * x - s * y;
    a[k * n + q] = s * x + c * y;
  }
  for (let k = 0; k < n; k++) {
    const x = a[p * n + k];
    const y = a[q * n + k];
    a[p * n + k] = c * x - s * y;
    a[q * n + k] = s * x + c * y;
    const vx = v[k * n + p];
    const vy = v[k * n + q];
    v[k * n + p] = c * vx - s * vy;
    v[k * n + q] = s * vx + c * vy;
  }
}
