// Ellipsoids at the tip: the results for a posture, their table, and their layers in the 3D view.
import { button, checkbox, choice, el, inRow, labelled, scrolled, slider } from "./dom.js";
import { ellipsoidItems, polytopeItems } from "./ellipsoid_items.js";
import { axesTableHead, fillAxesTable, shapeNotes } from "./ellipsoid_table.js";
import { columnOf, length3 } from "./space.js";
import { SHAPES, tipShapes } from "./tip_shapes.js";

/** @import { App } from "./app.js" */
/** @import { Redundancy } from "./ellipsoids.js" */
/** @import { Options, ShapeKey, TipShapes } from "./tip_shapes.js" */
/** @type {[Redundancy, string][]} */
const REDUNDANCIES = [
  ["pseudo-inverse", "minimum-norm joint accelerations"],
  ["dynamic", "dynamically consistent"],
  ["exact", "all reachable accelerations"],
];
/** @type {[string, string][]} */
const LIMIT_CHOICES = [
  ["unit", "unit norm"],
  ["arm", "within the robot's limits"],
];
const MASSLESS_NOTE = "The inertia matrix is singular in this posture: some joint moves no inertia.";
const UNMOVED_NOTE = "No joint moves the tip of this arm.";
const DRAWN_SHARE = 0.3; // initial length of the longest semi-axis, as a share of the arm's length

/** @param {App} app @returns {HTMLElement} */
export function ellipsoidPanel(app) {
  const limited = app.robot.joints.every(({ effort }) => effort !== null && effort > 0);
  /** @type {Options} */
  const options = { limits: limited ? "arm" : "unit", redundancy: "pseudo-inverse", gravity: false };
  /** @type {Set<ShapeKey>} */
  const drawn = new Set();
  /** @type {Record<string, number>} metres per unit */
  const scales = {};
  let zoom = 1;
  let opened = false; // one shape is drawn as soon as the panel is first shown
  /** @type {TipShapes | null} */
  let shapes = null;
  const note = el("p", { class: "note", role: "status" });
  const body = el("tbody");

  const compute = () => {
    shapes = tipShapes(app, options);
    for (const { scale } of SHAPES) scales[scale] ??= fittingScale(app, shapes, scale, drawn);
  };
  const update = () => {
    const seen = panel.offsetParent !== null;
    if (seen && !opened) {
      opened = true;
      boxes[0].querySelector("input")?.click();
      return;
    }
    if (!seen && !drawn.size) return;
    compute();
    if (seen) {
      note.textContent = shapes ? shapeNotes(shapes) : app.robot.kernels.reach ? MASSLESS_NOTE : UNMOVED_NOTE;
      fillAxesTable(body, shapes, options, scales, zoom);
    }
  };
  const fit = () => {
    for (const scale of Object.keys(scales)) delete scales[scale];
    app.changed();
    app.stage?.redraw();
  };
  const changed = () => {
    fit();
    update();
  };
  for (const { key, scale, fill, edge } of SHAPES)
    app.stage?.layer(`ellipsoid-${key}`, () => {
      if (!drawn.has(key)) return [];
      compute();
      if (!shapes) return [];
      const drawing = {
        centre: columnOf(app.robot.pose(app.state.q), 3),
        scale: zoom * scales[scale],
        longest: 4 * armLength(app),
        fill,
        edge,
      };
      return key === "polytope"
        ? polytopeItems(shapes.polytope, drawing)
        : ellipsoidItems(shapes[key], drawing);
    });

  const optionChoice = (
    /** @type {string} */ label,
    /** @type {"limits" | "redundancy"} */ key,
    /** @type {[string, string][]} */ choices,
  ) => {
    const onChange = (/** @type {string} */ value) => (Object.assign(options, { [key]: value }), changed());
    return choice(label, choices, options[key], onChange);
  };
  const boxes = SHAPES.map(({ key, title }) =>
    checkbox(title, false, (on) => {
      if (on) drawn.add(key);
      else drawn.delete(key);
      changed();
    }),
  );
  const panel = el(
    "div",
    { class: "ellipsoids" },
    el("fieldset", { class: "row" }, el("legend", {}, "Draw at the tip"), ...boxes),
    inRow(
      labelled(
        "Torques and velocities ",
        optionChoice("Torques and velocities", "limits", limited ? LIMIT_CHOICES : LIMIT_CHOICES.slice(0, 1)),
      ),
      app.robot.data.tip_space?.rows.length < app.robot.n
        ? labelled("Redundancy ", optionChoice("Redundancy", "redundancy", REDUNDANCIES))
        : null,
      checkbox(
        "Include gravity (shifts the centre)",
        options.gravity,
        (on) => ((options.gravity = on), changed()),
      ),
    ),
    inRow(
      labelled(
        "Scale ",
        slider("Drawing scale", 0, (x) => ((zoom = 10 ** x), update(), app.stage?.redraw()), {
          min: -2,
          max: 2,
          step: 0.01,
        }),
      ),
      button("Fit to the arm", changed),
    ),
    note,
    scrolled("Semi-axes", el("table", { class: "axes-table" }, axesTableHead(), body)),
  );
  app.onChange(update);
  new IntersectionObserver(update).observe(panel);
  return panel;
}

/** The sum of all link lengths. @param {App} app */
function armLength({ robot }) {
  const places = [
    ...robot.bodies.flatMap((body) => [body.placement, body.link_frame]),
    robot.data.tip.placement,
  ];
  return places.reduce((sum, T) => sum + Math.hypot(T[3], T[7], T[11]), 0) || 1;
}

/**
 * The scale (m per unit) at which the shapes that share a unit fit the arm.
 * @param {App} app
 * @param {TipShapes | null} shapes
 * @param {string} scale
 * @param {Set<ShapeKey>} drawn
 */
function fittingScale(app, shapes, scale, drawn) {
  if (!shapes) return 1;
  const alike = SHAPES.filter((shape) => shape.scale === scale);
  const shown = alike.filter(({ key }) => drawn.has(key));
  const sizes = (shown.length ? shown : alike.slice(0, 1)).map(({ key }) => {
    if (key === "polytope") return Math.max(0, ...shapes.polytope.vertices.map(length3));
    const finite = shapes[key].radii.filter(Number.isFinite);
    return Math.hypot(...shapes[key].centre) + Math.max(0, ...finite);
  });
  return (DRAWN_SHARE * armLength(app)) / (Math.max(...sizes) || 1);
}
