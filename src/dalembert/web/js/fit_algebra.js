// Errors, residuals and refits of a fit whose parameters change by Δπ, from triangular factors: the log is not needed.

/** @import { FitData, FitJoint, FitRun } from "./fit_data.js" */

const FIT_RANK = 1e-11; // a column whose independent part is this small relative to the largest keeps its value

/** R Δ of an upper triangle stored row by row; Δ in the order of the triangle.
 * @param {Float64Array} upper @param {ArrayLike<number>} change @returns {Float64Array} */
export function fitProduct(upper, change) {
  const p = change.length;
  const out = new Float64Array(p);
  for (let i = 0, at = 0; i < p; i++) {
    let sum = 0;
    for (let k = i; k < p; k++) sum += upper[at++] * change[k];
    out[i] = sum;
  }
  return out;
}

/** The effect of a change of the parameters on a joint, in the directions of its triangle.
 * @param {FitJoint} joint @param {Float64Array} change */
function fitBrought(joint, change) {
  return fitProduct(
    joint.upper,
    joint.columns.map((k) => change[k]),
  );
}

/** ‖τ − Ŷ(π + Δπ)‖² of a joint over the whole run. @param {FitJoint} joint @param {Float64Array} change */
function fitSquares(joint, change) {
  const brought = fitBrought(joint, change);
  let squares = joint.left[brought.length] ** 2;
  for (let i = 0; i < brought.length; i++) squares += (joint.left[i] - brought[i]) ** 2;
  return squares;
}

/** The relative errors of a run: of all joints together and of each joint.
 * @param {FitRun} run @param {Float64Array} change @returns {{all: number, joints: number[]}} */
export function fitErrors(run, change) {
  const squares = run.joints.map((joint) => fitSquares(joint, change));
  const norms = run.joints.map((joint) => joint.norm ** 2);
  const total = (/** @type {number[]} */ parts) => parts.reduce((sum, x) => sum + x, 0);
  const least = 1e-300;
  return {
    all: Math.sqrt(total(squares)) / Math.max(Math.sqrt(total(norms)), least),
    joints: squares.map((x, j) => Math.sqrt(x) / Math.max(run.joints[j].norm, least)),
  };
}

/** Measured minus predicted torque of a joint at the displayed instants. @param {FitJoint} joint @param {Float64Array} change */
export function fitResidual(joint, change) {
  const brought = fitBrought(joint, change);
  const out = Float64Array.from(joint.residual);
  brought.forEach((size, i) => {
    if (size === 0) return;
    const direction = joint.directions[i];
    for (let k = 0; k < out.length; k++) out[k] -= size * direction[k];
  });
  return out;
}

/** Δπ when the disabled terms are removed and all others stay unchanged.
 * @param {FitData} fit @param {(column: number) => boolean} isOff @returns {Float64Array} */
export function fitWithout(fit, isOff) {
  return fit.parameters.map((value, k) => (isOff(k) ? -value : 0));
}

/** Δπ when the disabled terms are removed and the others are refitted by least squares, with the weights of the fit.
 * Parameters that the log does not determine keep their value.
 * @param {FitData} fit @param {(column: number) => boolean} isOff @returns {Float64Array} */
export function fitAgain(fit, isOff) {
  const change = fitWithout(fit, isOff);
  const b = change.length;
  const known = fitProduct(fit.upper, change);
  const right = fit.left.map((value, i) => value - known[i]);
  const free = [...change.keys()].filter((k) => !isOff(k) && !fit.header.columns[k].fixed);
  const columns = free.map((k) => {
    const column = new Float64Array(b);
    for (let i = 0, at = 0; i <= k; at += b - i, i++) column[i] = fit.upper[at + k - i];
    return column;
  });
  fitLeastSquares(columns, right).forEach((value, place) => (change[free[place]] = value));
  return change;
}

/** x of min ‖A x − y‖ by Householder reflections with pivoting, with columns scaled to unit length first; 0 for columns without
 * an independent part. Overwrites both arguments. @param {Float64Array[]} columns @param {Float64Array} y @returns {Float64Array} */
export function fitLeastSquares(columns, y) {
  const p = columns.length;
  const sizes = columns.map((column) => Math.hypot(...column) || 1);
  columns.forEach((column, k) => column.forEach((value, i) => (column[i] = value / sizes[k])));
  const order = [...columns.keys()];
  /** @type {number[]} */
  const diagonal = [];
  for (let i = 0; i < Math.min(p, y.length); i++) {
    const rest = order.slice(i).map((k) => fitTailLength(columns[k], i));
    const best = i + rest.indexOf(Math.max(...rest));
    [order[i], order[best]] = [order[best], order[i]];
    const own = columns[order[i]];
    const length = rest[best - i];
    if (!(length > FIT_RANK)) break;
    diagonal.push(own[i] > 0 ? -length : length);
    own[i] -= diagonal[i]; // the remaining entries define the reflection
    for (const other of [...order.slice(i + 1).map((k) => columns[k]), y]) fitReflect(own, other, i);
  }
  const x = new Float64Array(p);
  for (let i = diagonal.length - 1; i >= 0; i--) {
    let sum = y[i];
    for (let k = i + 1; k < diagonal.length; k++) sum -= columns[order[k]][i] * x[order[k]];
    x[order[i]] = sum / diagonal[i];
  }
  return x.map((value, k) => value / sizes[k]);
}

/** The norm of a column from row i on. @param {Float64Array} column @param {number} i */
function fitTailLength(column, i) {
  let squares = 0;
  for (let r = i; r < column.length; r++) squares += column[r] ** 2;
  return Math.sqrt(squares);
}

/** Reflects a column in the plane normal to `own`, from row i on. @param {Float64Array} own @param {Float64Array} other @param {number} i */
function fitReflect(own, other, i) {
  let dot = 0;
  let squares = 0;
  for (let r = i; r < own.length; r++) {
    dot += own[r] * other[r];
    squares += own[r] ** 2;
  }
  for (let r = i; r < own.length; r++) other[r] -= ((2 * dot) / squares) * own[r];
}
