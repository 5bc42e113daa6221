// Points, directions and homogeneous matrices in space; matrices are row-major, as the kernels write them.

/** @typedef {number[] | Float64Array | Float32Array} Numbers */

/** @param {Numbers} a @param {Numbers} b */
export function plus3(a, b) {
  return [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
}

/** @param {Numbers} a @param {Numbers} b */
export function minus3(a, b) {
  return [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
}

/** @param {number} s @param {Numbers} a */
export function times3(s, a) {
  return [s * a[0], s * a[1], s * a[2]];
}

/** a + s b @param {Numbers} a @param {number} s @param {Numbers} b */
export function along3(a, s, b) {
  return [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
}

/** @param {Numbers} a @param {Numbers} b */
export function dot3(a, b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/** @param {Numbers} a @param {Numbers} b */
export function cross3(a, b) {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

/** @param {Numbers} a */
export function length3(a) {
  return Math.hypot(a[0], a[1], a[2]);
}

/** The unit vector along a; zero stays zero. @param {Numbers} a */
export function unit3(a) {
  const size = length3(a);
  return size > 0 ? times3(1 / size, a) : [0, 0, 0];
}

/** A unit vector perpendicular to the unit vector a. @param {Numbers} a */
export function across3(a) {
  const least = [0, 1, 2].reduce((k, i) => (Math.abs(a[i]) < Math.abs(a[k]) - 1e-9 ? i : k), 0);
  const axis = [0, 0, 0];
  axis[least] = 1;
  return unit3(cross3(axis, a));
}

/** The homogeneous matrix with these columns. @param {Numbers} x @param {Numbers} y @param {Numbers} z @param {Numbers} at */
export function frameOf(x, y, z, at) {
  return [x[0], y[0], z[0], at[0], x[1], y[1], z[1], at[1], x[2], y[2], z[2], at[2], 0, 0, 0, 1];
}

/** A frame at a point with its z axis along a direction. @param {Numbers} at @param {Numbers} direction */
export function frameAlong(at, direction) {
  const z = unit3(direction);
  const x = across3(z);
  return frameOf(x, cross3(z, x), z, at);
}

/** The product of homogeneous matrices. @param {Numbers} a @param {Numbers} b */
export function product4(a, b) {
  const out = new Array(16);
  for (let i = 0; i < 4; i++) {
    for (let j = 0; j < 4; j++) {
      out[4 * i + j] =
        a[4 * i] * b[j] + a[4 * i + 1] * b[4 + j] + a[4 * i + 2] * b[8 + j] + a[4 * i + 3] * b[12 + j];
    }
  }
  return /** @type {number[]} */ (out);
}

/** The inverse of a rigid displacement. @param {Numbers} m */
export function rigidInverse(m) {
  const t = [m[3], m[7], m[11]];
  const columns = [0, 1, 2].map((k) => [m[k], m[4 + k], m[8 + k]]);
  const rows = columns.map((column) => [...column, -dot3(column, t)]);
  return [...rows[0], ...rows[1], ...rows[2], 0, 0, 0, 1];
}

/** @param {Numbers} m @param {Numbers} p */
export function pointBy(m, p) {
  return plus3(directionBy(m, p), [m[3], m[7], m[11]]);
}

/** @param {Numbers} m @param {Numbers} v */
export function directionBy(m, v) {
  return [0, 4, 8].map((k) => m[k] * v[0] + m[k + 1] * v[1] + m[k + 2] * v[2]);
}

/** Column k of a homogeneous matrix: an axis, or with k = 3 the origin. @param {Numbers} m @param {number} k */
export function columnOf(m, k) {
  return [m[k], m[4 + k], m[8 + k]];
}

/** The 3 × 3 matrix with these columns, row by row. @param {Numbers[]} columns */
export function rowsOf3(columns) {
  return [0, 1, 2].flatMap((row) => columns.map((column) => column[row]));
}
