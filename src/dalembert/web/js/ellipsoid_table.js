// The table of the shapes at the tip: principal axes, radii with units, and how large they are drawn.
import { brief, el } from "./dom.js";
import { radiiProduct } from "./ellipsoids.js";
import { ROW_NAMES } from "./tip_rows.js";
import { SHAPES } from "./tip_shapes.js";

/** @typedef {import("./tip_shapes.js").TipShapes} TipShapes */
/** @typedef {import("./tip_shapes.js").Options} Options */

export function axesTableHead() {
  const names = ["Shape", "Radius", "Direction", "Measure", "Scale"];
  return el("thead", {}, el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name))));
}

/**
 * @param {HTMLElement} body
 * @param {HTMLElement} note
 * @param {TipShapes | null} shapes
 * @param {Options} options
 * @param {Record<string, number>} scales
 * @param {number} zoom
 */
export function fillAxesTable(body, note, shapes, options, scales, zoom) {
  body.replaceChildren();
  if (!shapes) {
    note.textContent =
      "The inertia matrix has no inverse in this posture: some joint moves nothing that resists it.";
    return;
  }
  const notes = new Set(
    SHAPES.map(({ key }) => (key === "polytope" ? "" : shapes[key].note)).filter(Boolean),
  );
  note.textContent = [...notes].join(" ");
  for (const { key, title, units, scale } of SHAPES) {
    const rows = shapes[key].rows;
    const unit = units[rows[0] < 3 ? 0 : 1];
    const drawing = `1 m is ${brief(1 / (zoom * scales[scale]), 3)} ${unit}`;
    if (key === "polytope") {
      const { volume, vertices } = shapes.polytope;
      const power = ["", "", "²", "³"][rows.length];
      const corners = el("td", { colspan: 2 }, `${vertices.length} corners`);
      const measure = el(
        "td",
        { class: "number", "data-value": volume },
        `${brief(volume)} (${unit})${power}`,
      );
      body.append(
        el(
          "tr",
          { "data-shape": key },
          el("th", { scope: "row" }, title),
          corners,
          measure,
          el("td", {}, drawing),
        ),
      );
      continue;
    }
    const shape = shapes[key];
    shape.radii.forEach((radius, k) => {
      const direction = rows.map(
        (row, r) => `${ROW_NAMES[row]} ${brief(shape.axes[r * rows.length + k], 3)}`,
      );
      const text = Number.isFinite(radius) ? `${brief(radius, 5)} ${unit}` : "unbounded";
      const line = el("tr", { "data-shape": key, "data-axis": k });
      if (k === 0) line.append(el("th", { scope: "rowgroup", rowspan: rows.length }, title));
      line.append(
        el("td", { class: "number", "data-value": radius }, text),
        el("td", {}, direction.join(", ")),
      );
      const product = radiiProduct(shape);
      if (k === 0)
        line.append(
          el(
            "td",
            { class: "number", rowspan: rows.length, "data-value": product },
            Number.isFinite(product) ? brief(product) : "–",
          ),
          el("td", { rowspan: rows.length }, drawing),
        );
      body.append(line);
    });
    if (key === "dynamic" && options.gravity) {
      const centre = rows.map((row, r) => `${ROW_NAMES[row]} ${brief(shape.centre[r])}`).join(", ");
      body.append(
        el(
          "tr",
          { "data-shape": "centre", "data-value": Array.from(shape.centre).join(" ") },
          el("td", {}),
          el("td", {}, "centre"),
          el("td", { colspan: 3 }, `${centre} ${unit}`),
        ),
      );
    }
  }
}
