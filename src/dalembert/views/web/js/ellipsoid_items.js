// Drawing of ellipsoids and polytopes at the tip.
import { inSpace } from "./ellipsoids.js";
import { along3, length3, plus3, rowsOf3, times3 } from "./space.js";
import { fanned } from "./zonotope.js";

/** @import { TipEllipsoid } from "./ellipsoids.js" */
/** @import { Item } from "./items.js" */
/** @import { Numbers } from "./space.js" */
/** @import { Zonotope } from "./zonotope.js" */
/** @typedef {{centre: Numbers, scale: number, longest: number, fill: number[], edge: number[]}} Drawing the centre and the scale (m per unit), the longest drawn semi-axis (m), colours */

const THIN = 2e-3; // share of the longest semi-axis below which a shape is drawn flat
const CIRCLE = 64;

/** An ellipsoid, a disc or a line, with its principal axes. @param {TipEllipsoid} ellipsoid @param {Drawing} drawing @returns {Item[]} */
export function ellipsoidItems(ellipsoid, { centre: tip, scale, longest, fill, edge }) {
  const { space } = ellipsoid;
  const m = space.rows.length;
  const centre = along3(tip, scale, inSpace(space, ellipsoid.centre));
  const semi = Array.from(ellipsoid.radii, (radius, k) => {
    const axis = inSpace(
      space,
      Array.from({ length: m }, (_, r) => ellipsoid.axes[r * m + k]),
    );
    return times3(Math.min(radius * scale, longest), axis);
  });
  const widest = Math.max(0, ...semi.map(length3));
  const solid = semi.filter((axis) => length3(axis) > THIN * widest);
  if (!solid.length) return [];
  /** @type {Item[]} */
  const items = solid.map((axis) => lineItem([along3(centre, -1, axis), plus3(centre, axis)], edge));
  if (length3(along3(centre, -1, tip)) > THIN * widest) items.push(lineItem([tip, centre], edge));
  if (solid.length === 3) items.push({ kind: "ellipsoid", centre, axes: rowsOf3(solid), colour: fill });
  if (solid.length === 2) items.push(...discItems(centre, solid, fill, edge));
  return items;
}

/** @param {Zonotope} shape @param {Drawing} drawing @returns {Item[]} */
export function polytopeItems(shape, { centre: tip, scale, fill, edge }) {
  const vertices = shape.vertices.map((vertex) => along3(tip, scale, vertex));
  const outlines = shape.faces.map((face) =>
    lineItem(
      [...face, face[0]].map((k) => vertices[k]),
      edge,
    ),
  );
  const triangles = fanned(shape.faces);
  return triangles.length ? [{ kind: "faces", vertices, triangles, colour: fill }, ...outlines] : outlines;
}

/** @param {Numbers} centre @param {number[][]} semi two semi-axes @param {number[]} fill @param {number[]} edge @returns {Item[]} */
function discItems(centre, [a, b], fill, edge) {
  const rim = Array.from({ length: CIRCLE }, (_, k) => {
    const angle = (2 * Math.PI * k) / CIRCLE;
    return along3(along3(centre, Math.cos(angle), a), Math.sin(angle), b);
  });
  const triangles = rim.map((_, k) => [0, k + 1, ((k + 1) % CIRCLE) + 1]);
  return [
    { kind: "faces", vertices: [centre, ...rim], triangles, colour: fill },
    lineItem([...rim, rim[0]], edge),
  ];
}

/** @param {Numbers[]} points @param {number[]} colour @returns {Item} */
function lineItem(points, colour) {
  return { kind: "line", points, colour, width: 1.5 };
}
