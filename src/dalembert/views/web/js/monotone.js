// Curves through samples that stay between the samples, and detection of splines that do not.
//
// Like dalembert.work.trajectory.planning.monotone: quintic pieces with continuous accelerations, monotone wherever the samples are. With the
// slope d ≥ 0 of a piece of h seconds and v_0 + v_1 ≤ 5/2 d, a piece is monotone for
//   −4 v_0/h ≤ a_0 ≤ 10 (d − 2/5 (v_0 + v_1))/h   and   −10 (d − 2/5 (v_0 + v_1))/h ≤ a_1 ≤ 4 v_1/h.

import { quintic } from "./motion.js";
import { general } from "./wording.js";

/** Samples of one coordinate with first and second derivatives, (N,) each. @typedef {{q: Float64Array, v: Float64Array, a: Float64Array}} SampledCurve */
/** Properties of the samples alone. @typedef {{v: Float64Array, a: Float64Array, spread: Float64Array, smooth: boolean[], reach: Float64Array}} SampleSlopes */

const MONOTONE_STEEPEST = 2.5; // largest sum of the velocities at both ends, relative to the slope of a piece
const MONOTONE_ALIKE = 4; // ratio of second differences up to which the samples count as smooth
const MONOTONE_PARABOLA = 0.25; // largest overshoot of a smooth turning point, relative to the second difference times h²
const MONOTONE_SUBSTANTIAL = 0.05; // share of a joint's range by which a curve may leave the range of its neighbouring samples
const MONOTONE_LEAST = 1e-6; // rad, m: smaller excursions are not reported
const MONOTONE_LOOKS = [0.15, 0.3, 0.5, 0.7, 0.85]; // positions within a piece at which it is checked

/** Steps and slopes of the pieces. @param {Float64Array} t @param {Float64Array} q */
function pieceSlopes(t, q) {
  const h = Float64Array.from({ length: t.length - 1 }, (_, k) => t[k + 1] - t[k]);
  return { h, d: h.map((step, k) => (q[k + 1] - q[k]) / step) };
}

/** Velocities and accelerations of the parabolas through three samples each. @param {Float64Array} h @param {Float64Array} d @returns {SampleSlopes} */
function sampleSlopes(h, d) {
  const last = d.length;
  const v = new Float64Array(last + 1);
  const a = new Float64Array(last + 1);
  [v[0], v[last]] = [d[0], d[last - 1]];
  for (let k = 1; k < last; k++) {
    v[k] = (h[k] * d[k - 1] + h[k - 1] * d[k]) / (h[k - 1] + h[k]);
    a[k] = (2 * (d[k] - d[k - 1])) / (h[k - 1] + h[k]);
  }
  if (last > 1) {
    [a[0], a[last]] = [a[1], a[last - 1]];
    v[0] -= 0.5 * h[0] * a[0];
    v[last] += 0.5 * h[last - 1] * a[last];
  }
  const three = (/** @type {number} */ k) => [a[Math.max(k - 1, 0)], a[k], a[Math.min(k + 1, last)]];
  const spread = v.map((_, k) => Math.max(...three(k)) - Math.min(...three(k)));
  const smooth = Array.from(v, (_, k) => {
    const sizes = three(k).map(Math.abs);
    const sign = three(k).reduce((sum, x) => sum + Math.sign(x), 0);
    return Math.abs(sign) === 3 && Math.max(...sizes) <= MONOTONE_ALIKE * Math.min(...sizes);
  });
  const reach = v.map((_, k) => 0.5 * (h[Math.max(k - 1, 0)] + h[Math.min(k, last - 1)]));
  return { v, a, spread, smooth, reach };
}

/** The allowed overshoot of a smooth turning point beyond the samples in piece k. @param {SampleSlopes} at @param {Float64Array} h @param {boolean[]} smooth @param {number} k */
function turningRoom(at, h, smooth, k) {
  if (!smooth[k] || !smooth[k + 1]) return 0;
  return MONOTONE_PARABOLA * h[k] * h[k] * Math.max(Math.abs(at.a[k]), Math.abs(at.a[k + 1]));
}

/** The value of piece k of a curve at its relative position u. @param {SampledCurve} curve @param {number} h @param {number} k @param {number} u */
function pieceValue({ q, v, a }, h, k, u) {
  const [v0, v1, a0, a1] = [h * v[k], h * v[k + 1], h * h * a[k], h * h * a[k + 1]];
  const [c3, c4, c5] = quintic(q[k + 1] - q[k], v0, v1, a0, a1);
  return q[k] + u * (v0 + u * (a0 / 2 + u * (c3 + u * (c4 + u * c5))));
}

/** The position and the size of the largest excursion of piece k beyond its two samples. @param {SampledCurve} curve @param {number} h @param {number} k */
function pieceBeyond(curve, h, k) {
  const [low, high] = [Math.min(curve.q[k], curve.q[k + 1]), Math.max(curve.q[k], curve.q[k + 1])];
  let worst = { beyond: -Infinity, look: 0, value: 0 };
  for (const look of MONOTONE_LOOKS) {
    const value = pieceValue(curve, h, k, look);
    const beyond = Math.max(value - high, low - value);
    if (beyond > worst.beyond) worst = { beyond, look, value };
  }
  return worst;
}

/** The monotone curve through samples; it uses the derivatives of their spline where these agree with the samples. @param {Float64Array} t @param {SampledCurve} spline @param {number} rounding */
export function monotoneCurve(t, spline, rounding) {
  const { q } = spline;
  const { h, d } = pieceSlopes(t, q);
  const at = sampleSlopes(h, d);
  const agrees = q.map((_, k) =>
    Math.abs(spline.v[k] - at.v[k]) <= at.spread[k] * at.reach[k] &&
    Math.abs(spline.a[k] - at.a[k]) <= 2 * at.spread[k]
      ? 1
      : 0,
  );
  const wanted = {
    v: at.v.map((v, k) => (agrees[k] ? spline.v[k] : v)),
    a: at.a.map((a, k) => (agrees[k] ? spline.a[k] : a)),
  };
  const smooth = [...at.smooth];
  for (;;) {
    const curve = { q, ...limitedDerivatives(h, d, wanted.v, wanted.a, smooth) };
    const bad = Array.from(h, (step, k) => {
      if (!smooth[k] && !smooth[k + 1]) return false;
      return pieceBeyond(curve, step, k).beyond > turningRoom(at, h, smooth, k) + rounding;
    });
    if (!bad.includes(true)) return curve;
    bad.forEach((wrong, k) => {
      if (wrong) smooth[k] = smooth[k + 1] = false;
    });
  }
}

/** Derivatives for which the pieces are monotone; those of smooth samples are unchanged. @param {Float64Array} h @param {Float64Array} d @param {Float64Array} v @param {Float64Array} a @param {boolean[]} smooth */
function limitedDerivatives(h, d, v, a, smooth) {
  const last = d.length;
  const left = (/** @type {number} */ k) => Math.max(k - 1, 0);
  const right = (/** @type {number} */ k) => Math.min(k, last - 1);
  const bounded = v.map((velocity, k) => {
    if (smooth[k]) return velocity;
    const [before, after] = [d[left(k)], d[right(k)]];
    const least = before * after > 0 ? Math.min(Math.abs(before), Math.abs(after)) : 0;
    const sign = Math.sign(before);
    return sign * Math.min(Math.max(sign * velocity, 0), MONOTONE_STEEPEST * least);
  });
  const share = d.map((slope, k) => {
    const steep = Math.abs(bounded[k]) + Math.abs(bounded[k + 1]);
    return Math.min(1, (MONOTONE_STEEPEST * Math.abs(slope)) / (steep > 0 ? steep : 1));
  });
  const speed = bounded.map((velocity, k) =>
    smooth[k] ? velocity : Math.min(share[left(k)], share[right(k)]) * velocity,
  );
  const low = new Float64Array(last + 1).fill(-Infinity);
  const high = new Float64Array(last + 1).fill(Infinity);
  const bound = (/** @type {number} */ k, /** @type {number} */ below, /** @type {number} */ above) => {
    low[k] = Math.max(low[k], below);
    high[k] = Math.min(high[k], above);
  };
  for (let k = 0; k < last; k++) {
    const room = (10 * Math.max(Math.abs(d[k]) - 0.4 * Math.abs(speed[k] + speed[k + 1]), 0)) / h[k];
    const [start, end] = [(4 * Math.abs(speed[k])) / h[k], (4 * Math.abs(speed[k + 1])) / h[k]];
    if (d[k] >= 0) {
      bound(k, -start, room);
      bound(k + 1, -room, end);
    } else {
      bound(k, -room, start);
      bound(k + 1, -end, room);
    }
  }
  return { v: speed, a: a.map((x, k) => (smooth[k] ? x : Math.min(Math.max(x, low[k]), high[k]))) };
}

/** @typedef {{joint: number, share: number, held: boolean, sentence: string}} Excursion */

/** The worst place at which splines leave the range of their neighbouring samples substantially, or null. @param {Float64Array} t @param {SampledCurve[]} splines @param {string} group */
export function worstExcursion(t, splines, group) {
  /** @type {Excursion | null} */
  let worst = null;
  splines.forEach((spline, joint) => {
    const { q } = spline;
    const total =
      q.reduce((most, x) => Math.max(most, x), -Infinity) -
      q.reduce((least, x) => Math.min(least, x), Infinity);
    if (!(total > MONOTONE_LEAST)) return;
    const { h, d } = pieceSlopes(t, q);
    const at = sampleSlopes(h, d);
    for (let k = 0; k < h.length; k++) {
      const { beyond, look, value } = pieceBeyond(spline, h[k], k);
      const turning = turningRoom(at, h, at.smooth, k);
      const share = (beyond - turning) / total / MONOTONE_SUBSTANTIAL;
      const held = Math.abs(q[k + 1] - q[k]) <= 1e-9 * total && turning === 0;
      if (!(share > 1) || (worst && (worst.held === held ? worst.share >= share : worst.held))) continue; // joints at rest are reported first
      const samples = held ? `stay at ${general(q[k])}` : `go from ${general(q[k])} to ${general(q[k + 1])}`;
      const sentence =
        `the samples of ${group}${joint + 1} ${samples}, but the spline through them reaches ${general(value)} at ` +
        `t = ${general(t[k] + h[k] * look)} s`;
      worst = { joint, share, held, sentence };
    }
  });
  return /** @type {Excursion | null} */ (worst);
}
