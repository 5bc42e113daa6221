// Items that the 3D view can draw.

import { cross3, dot3, minus3 } from "./space.js";

/** @import { Numbers } from "./space.js" */
/** @typedef {number[] | string} Colour red, green, blue and opacity from 0 to 1, or the name of a CSS property such as "--link" */
/**
 * @typedef {{kind: "capsule", from: Numbers, to: Numbers, radius: number, colour: Colour}
 *  | {kind: "cylinder", matrix: Numbers, radius: number, length: number, colour: Colour}
 *  | {kind: "box", matrix: Numbers, size: Numbers, colour: Colour}
 *  | {kind: "sphere", centre: Numbers, radius: number, colour: Colour}
 *  | {kind: "ellipsoid", centre: Numbers, axes: Numbers, colour: Colour}
 *  | {kind: "mesh", mesh: number, matrix: Numbers, scale: Numbers, colour: Colour}
 *  | {kind: "faces", vertices: Numbers[], triangles: Numbers[], colour: Colour}
 *  | {kind: "line", points: Numbers[], colour: Colour, width: number}
 *  | {kind: "label", at: Numbers, text: string}} Item
 *   The frame of a cylinder or box is at its centre, a cylinder's z along it. The semi-axes of an ellipsoid are the columns of
 *   `axes` (9 numbers, row-major, m). The width of a line is in CSS pixels.
 */
/** @typedef {Exclude<Item, {kind: "label"}> & {rgba: number[]}} Drawn an item whose colour is known */
/** @typedef {{height: number, centre: Numbers, radius: number, up: Numbers, rgba: number[], line: number[], shade: number} | null} Ground
 *   height: of the plane along up; centre: its centre; line: the colour of its grid; shade: the darkness of the shadow */
/** @typedef {{vertices: Float32Array, triangles: Uint32Array}} Mesh in m */

/** @typedef {Extract<Drawn, {kind: "ellipsoid" | "faces"}>} Veil a translucent item that is sorted individually */

/** @param {Drawn} item @returns {item is Veil} */
export function isVeil(item) {
  return item.rgba[3] < 1 && (item.kind === "ellipsoid" || item.kind === "faces");
}

/** @param {Veil} item @returns {Numbers} */
export function veilCentre(item) {
  return item.kind === "ellipsoid" ? item.centre : meanOf(item.vertices);
}

/** @param {Numbers[]} points */
function meanOf(points) {
  const sum = [0, 0, 0];
  for (const point of points) for (let k = 0; k < 3; k++) sum[k] += point[k] / points.length;
  return sum;
}

/**
 * The triangles of a convex body with their corners anticlockwise when seen from outside.
 * @param {Numbers[]} vertices
 * @param {Numbers[]} triangles
 * @returns {Numbers[]}
 */
export function outwards(vertices, triangles) {
  const middle = meanOf(vertices);
  return triangles.map(([i, j, k]) => {
    const [a, b, c] = [vertices[i], vertices[j], vertices[k]];
    const [u, v, w] = [b, c, middle].map((p) => minus3(p, a));
    return dot3(cross3(u, v), w) > 0 ? [i, k, j] : [i, j, k];
  });
}
