// The polytope of S 7.9: all centre + Σ u_i g_i with |u_i| ≤ 1, a zonotope whose generators are the columns of J B⁻¹ W.

import { along3, cross3, dot3, length3, minus3, plus3, times3, unit3 } from "./space.js";

/** @import { Numbers } from "./space.js" */

/**
 * Corners, and polygons over them (faces, or the single polygon of a flat set); a set without area has an edge of two corners.
 * @typedef {{vertices: number[][], faces: number[][]}} Zonotope
 */

const FLAT = 1e-9; // relative thickness below which a set counts as flat

/**
 * The faces of a zonotope in space; each is spanned by the generators in its plane.
 * @param {Numbers} centre
 * @param {Numbers[]} generators
 * @returns {Zonotope}
 */
export function zonotope(centre, generators) {
  const size = generators.reduce((sum, g) => sum + length3(g), 0);
  const used = generators.filter((g) => length3(g) > FLAT * size);
  /** @type {Zonotope} */
  const out = { vertices: [], faces: [] };
  if (!used.length) return { vertices: [Array.from(centre)], faces: [] };
  /** @type {Set<string>} */
  const seen = new Set();
  for (let i = 0; i < used.length; i++)
    for (let j = i + 1; j < used.length; j++) {
      const normal = commonNormal(used[i], used[j]);
      if (!normal) continue;
      const heights = used.map((g) => dot3(normal, g));
      const inside = heights.map((h, k) => Math.abs(h) <= FLAT * size || k === i || k === j);
      const key = inside.map(Number).join("");
      if (seen.has(key)) continue;
      seen.add(key);
      const spanning = used.filter((_, k) => inside[k]);
      const thick = inside.some((flat) => !flat);
      for (const side of thick ? [1, -1] : [1]) {
        const middle = used.reduce(
          (p, g, k) => (inside[k] ? p : along3(p, side * Math.sign(heights[k]), g)),
          Array.from(centre),
        );
        const outward = times3(side, normal);
        addFace(out, zonogon(middle, spanning, outward), FLAT * size);
      }
    }
  if (!out.faces.length) addFace(out, segment(centre, used), FLAT * size);
  return out;
}

/** The volume 8 Σ |det|; for two rows the area 4 Σ |det|, for one row the length 2 Σ |g|. @param {Numbers[]} generators @param {number} m */
export function zonotopeVolume(generators, m) {
  const n = generators.length;
  let sum = 0;
  for (let i = 0; i < n; i++) {
    if (m === 1) sum += 2 * length3(generators[i]);
    for (let j = i + 1; m > 1 && j < n; j++) {
      const normal = cross3(generators[i], generators[j]);
      if (m === 2) sum += 4 * length3(normal);
      for (let k = j + 1; m === 3 && k < n; k++) sum += 8 * Math.abs(dot3(normal, generators[k]));
    }
  }
  return sum;
}

/** Polygons as triangles. @param {number[][]} faces */
export function fanned(faces) {
  return faces.flatMap((face) => face.slice(2).map((_, k) => [face[0], face[k + 1], face[k + 2]]));
}

/** The corners of a flat zonotope, anticlockwise about the normal. @param {Numbers} middle @param {Numbers[]} generators @param {Numbers} normal */
function zonogon(middle, generators, normal) {
  const e1 = unit3(generators[0]);
  const e2 = cross3(normal, e1);
  const upper = generators
    .map((g) => {
      const [x, y] = [dot3(e1, g), dot3(e2, g)];
      const flip = y < 0 || (y === 0 && x < 0) ? -1 : 1;
      return { step: times3(flip, g), angle: Math.atan2(flip * y, flip * x) };
    })
    .sort((a, b) => a.angle - b.angle);
  let at = upper.reduce((p, { step }) => along3(p, -1, step), Array.from(middle));
  const corners = [];
  for (const sign of [1, -1])
    for (const { step } of upper) {
      corners.push(at);
      at = along3(at, 2 * sign, step);
    }
  return corners;
}

/** The two ends of generators along one line. @param {Numbers} centre @param {Numbers[]} generators */
function segment(centre, generators) {
  const reach = generators.reduce((sum, g) => along3(sum, dot3(g, generators[0]) < 0 ? -1 : 1, g), [0, 0, 0]);
  return [minus3(centre, reach), plus3(centre, reach)];
}

/**
 * Adds a polygon: existing corners are reused, and corners in the middle of an edge are omitted.
 * @param {Zonotope} shape
 * @param {number[][]} corners
 * @param {number} slack
 */
function addFace(shape, corners, slack) {
  const kept = corners.filter((p, k) => {
    const [a, b] = [corners.at(k - 1) ?? p, corners[(k + 1) % corners.length]];
    return corners.length < 4 || length3(cross3(minus3(p, a), minus3(b, p))) > slack * slack;
  });
  shape.faces.push(
    kept.map((p) => {
      const known = shape.vertices.findIndex((v) => length3(minus3(p, v)) <= 10 * slack);
      return known >= 0 ? known : shape.vertices.push(p) - 1;
    }),
  );
}

/** @param {Numbers} a @param {Numbers} b */
function commonNormal(a, b) {
  const normal = cross3(a, b);
  return length3(normal) > FLAT * length3(a) * length3(b) ? unit3(normal) : null;
}
