// The table of the shapes at the tip: principal axes, radii with units, and the scale of the drawing.
import { brief, el, fixed, headRow } from "./dom.js";
import { radiiProduct } from "./ellipsoids.js";
import { SHAPES } from "./tip_shapes.js";

/** @import { TipEllipsoid } from "./ellipsoids.js" */
/** @import { Options, TipShapes } from "./tip_shapes.js" */

const ROW_NAMES = ["x", "y", "z", "ωx", "ωy", "ωz", "angle"];

export function axesTableHead() {
  return el("thead", {}, headRow(["Shape", "Radius", "Direction"]));
}

/** @param {HTMLElement} body @param {TipShapes | null} shapes @param {Options} options @param {Record<string, number>} scales @param {number} zoom */
export function fillAxesTable(body, shapes, options, scales, zoom) {
  body.replaceChildren();
  if (!shapes) return;
  const { rows } = shapes.velocity.space;
  for (const { key, title, units, scale } of SHAPES) {
    const unit = units[rows[0] < 3 ? 0 : 1];
    const size = key === "polytope" ? shapes.polytope.volume : radiiProduct(shapes[key]);
    const measure = sizeText(key === "polytope", size, unit, rows.length);
    const drawing = `1 m corresponds to ${brief(1 / (zoom * scales[scale]), 3)} ${unit}`;
    const about = el("small", { "data-value": size }, measure, el("br"), drawing);
    const head = { unit, title: el("th", { scope: "row" }, title, el("br"), about) };
    if (key === "polytope") body.append(polytopeLine(shapes.polytope, head));
    else body.append(...ellipsoidLines(key, shapes[key], head));
    if (key === "dynamic" && options.gravity) body.append(centreLine(shapes.dynamic, unit));
  }
}

/** What is particular about the shapes of this posture. @param {TipShapes} shapes */
export function shapeNotes({ dynamic, velocity, force }) {
  return [...new Set([dynamic, velocity, force].map(({ note }) => note))].filter(Boolean).join(" ");
}

/** @typedef {{unit: string, title: HTMLElement}} LineHead */

/** @param {import("./tip_shapes.js").TipPolytope} polytope @param {LineHead} head */
function polytopeLine({ vertices }, { title }) {
  return el(
    "tr",
    { "data-shape": "polytope" },
    title,
    el("td", { colspan: 2 }, `${vertices.length} corners`),
  );
}

/** @param {string} key @param {TipEllipsoid} shape @param {LineHead} head */
function ellipsoidLines(key, shape, { unit, title }) {
  const { rows } = shape.space;
  const m = rows.length;
  title.setAttribute("rowspan", String(m));
  return Array.from(shape.radii, (radius, k) => {
    const direction = rows.map((row, r) => `${ROW_NAMES[row]} ${fixed(shape.axes[r * m + k], 3)}`);
    const text = Number.isFinite(radius) ? `${brief(radius, 5)} ${unit}` : "unbounded";
    return el(
      "tr",
      { "data-shape": key, "data-axis": k },
      k === 0 ? title : null,
      el("td", { class: "number", "data-value": radius }, text),
      el("td", { class: "direction" }, direction.join("\u2002")),
    );
  });
}

/** @param {TipEllipsoid} shape @param {string} unit */
function centreLine(shape, unit) {
  const centre = shape.space.rows
    .map((row, r) => `${ROW_NAMES[row]} ${brief(shape.centre[r])}`)
    .join("\u2002");
  return el(
    "tr",
    { "data-shape": "centre", "data-value": Array.from(shape.centre).join(" ") },
    el("td", {}, "centre, under gravity"),
    el("td", { colspan: 2, class: "direction" }, `${centre} ${unit}`),
  );
}

/** @param {boolean} exact @param {number} size @param {string} unit @param {number} m */
function sizeText(exact, size, unit, m) {
  const word = exact ? ["", "length", "area", "volume"][m] : "product";
  const power = m > 1 ? `(${unit})${["", "", "²", "³"][m]}` : unit;
  return Number.isFinite(size) ? `${word} ${brief(size)} ${power}` : `${word} unbounded`;
}
