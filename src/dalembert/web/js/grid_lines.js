// The ground in both views: its position and its grid lines.

import { across3, along3, cross3, dot3, minus3, times3, unit3 } from "./space.js";

/** @typedef {import("./space.js").Numbers} Numbers */
/** @typedef {import("./items.js").Ground} Ground */

/** The centre of the ground and two directions in its plane. @param {NonNullable<Ground>} ground */
export function groundFrame({ up, centre, height }) {
  const middle = along3(centre, height - dot3(centre, up), up);
  const level = minus3([1, 0, 0], times3(up[0], up));
  const east = Math.abs(up[0]) < 0.9 ? unit3(level) : across3(up);
  return { middle, east, north: cross3(up, east) };
}

/** The spacing of the grid lines (m) for an arm of this reach: 1, 2 or 5 times a power of ten. @param {number} reach */
export function gridCell(reach) {
  const wanted = reach / 6;
  const power = 10 ** Math.floor(Math.log10(wanted));
  return power * (wanted / power >= 5 ? 5 : wanted / power >= 2 ? 2 : 1);
}

/** The grid as lines, fainter towards its edge. @param {NonNullable<Ground>} ground @returns {{points: Numbers[], rgba: number[]}[]} */
export function gridLines(ground) {
  const { middle, east, north } = groundFrame(ground);
  const cell = gridCell(ground.radius);
  const count = Math.ceil((1.5 * ground.radius) / cell);
  const [e, n] = [east, north].map(
    (direction) => cell * Math.round(dot3(middle, direction) / cell) - dot3(middle, direction),
  );
  const lines = [];
  for (let k = -count; k <= count; k++) {
    const half = cell * Math.sqrt(Math.max(count * count - k * k, 0));
    const rgba = [...ground.line.slice(0, 3), 0.9 * (1 - 0.7 * (k / count) ** 2)];
    const [across, up] = [along3(middle, e + k * cell, east), along3(middle, n + k * cell, north)];
    lines.push({ points: [along3(across, n - half, north), along3(across, n + half, north)], rgba });
    lines.push({ points: [along3(up, e - half, east), along3(up, e + half, east)], rgba });
  }
  return lines;
}
