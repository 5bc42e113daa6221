// Joint torques by cause: one bar per joint, with its limit.
import { brief, el, fixed, jointLabel, svgEl } from "./dom.js";
import { CAUSES } from "./robot.js";
import { axisTicks } from "./ticks.js";
import { listedNames } from "./wording.js";

/** @import { App } from "./app.js" */

/** @type {Record<string, string>} */
export const CAUSE_TITLES = {
  inertia: "Inertia",
  rotor: "Rotors",
  centrifugal: "Centrifugal",
  coriolis: "Coriolis",
  gravity: "Gravity",
  friction: "Friction",
  contact: "Contact",
};
const BAR = { width: 640, height: 22 };

/** @param {App} app */
export function torquePanel(app) {
  const panel = el("section", { class: "torques", "aria-label": "Joint torques" });
  const key = el("ul", { class: "key areas" });
  for (const cause of CAUSES)
    key.append(el("li", {}, el("i", { class: `cause-${cause}` }), CAUSE_TITLES[cause]));
  const rows = app.robot.joints.map((joint, k) => barRow(joint.name, app.robot.labels[k]));
  const body = el("div", { class: "bars", role: "list" }, ...rows.map((row) => row.element));
  const said = el("p", { class: "sentence", "aria-live": "polite" });
  // the parts of the bar that is pointed at or tapped, in numbers
  const detail = el("p", { class: "soft bar-detail" });
  let pointed = -1;
  const point = (/** @type {Event} */ event) => {
    const row = event.target instanceof Element ? event.target.closest(".bar") : null;
    pointed = rows.findIndex(({ element }) => element === row);
    detail.textContent = pointed < 0 ? "" : rows[pointed].element.ariaLabel;
  };
  for (const kind of ["pointerover", "click"]) body.addEventListener(kind, point);
  const scales = el("p", { class: "soft bar-scale" });
  panel.append(el("h2", {}, "Joint torques"), key, body, detail, scales, said);
  app.onChange(() => {
    const { q, qd, qdd } = app.state;
    const terms = app.robot.torqueTerms(q, qd, qdd);
    /** @type {string[]} */
    const beyond = [];
    const digits = decimals(terms.total);
    /** @type {Record<string, number>} half the width of a bar without a limit, by unit */
    const ends = {};
    const units = app.robot.joints.map(({ revolute }) => (revolute ? "N m" : "N"));
    const columns = app.robot.joints.map((_, k) => CAUSES.map((cause) => terms[cause][k]));
    app.robot.joints.forEach(({ effort }, k) => {
      if (effort === null) ends[units[k]] = Math.max(ends[units[k]] ?? 0, barExtent(columns[k]));
    });
    // rounded up, so that the scale stays the same while values change a little
    for (const unit of Object.keys(ends)) ends[unit] = axisTicks(0, Math.max(ends[unit], 1e-3), 1).step;
    const listed = Object.entries(ends).map(([unit, end]) => `±${brief(end)} ${unit}`);
    scales.textContent = listed.length ? `Bars without a limit end at ${listed.join(" or ")}.` : "";
    app.robot.joints.forEach((joint, k) => {
      const unit = units[k];
      const end = joint.effort === null ? ends[unit] : Math.max(barExtent(columns[k]), 1.08 * joint.effort);
      rows[k].draw(columns[k], terms.total[k], joint.effort, end, unit, digits);
      if (joint.effort !== null && Math.abs(terms.total[k]) > joint.effort * (1 + 1e-12))
        beyond.push(
          `${joint.name} needs ${brief(terms.total[k])} ${unit}, but its limit is ${brief(joint.effort)} ${unit}`,
        );
    });
    if (pointed >= 0) detail.textContent = rows[pointed].element.ariaLabel;
    const resting = app.busy === "simulation" ? (app.simulation?.player.simulation.resting ?? []) : [];
    if (resting.length)
      beyond.push(
        `the torque of ${listedNames(resting)} includes the reaction of ${resting.length > 1 ? "their stops" : "its stop"}`,
      );
    said.textContent = beyond.length ? `${beyond.join("; ")}.` : "";
  }, panel);
  return panel;
}

/** How far the stacked parts of a bar reach from zero. @param {number[]} values */
function barExtent(values) {
  const above = values.reduce((most, x) => most + Math.max(x, 0), 0);
  const below = values.reduce((most, x) => most + Math.max(-x, 0), 0);
  return Math.max(above, below);
}

/** Number of decimals that shows four significant digits of the largest value. @param {ArrayLike<number>} values */
export function decimals(values) {
  const most = Math.max(...Array.from(values, Math.abs), 1e-3);
  return Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(most))));
}

/** @param {string} name @param {string} label */
function barRow(name, label) {
  const { width, height } = BAR;
  const parts = CAUSES.map((cause) => svgEl("rect", { class: `cause-${cause}`, y: 4, height: height - 8 }));
  const zero = svgEl("line", { class: "zero", y1: 0, y2: height });
  const total = svgEl("line", { class: "total", y1: 1, y2: height - 1 });
  const limits = [1, -1].map(() => svgEl("line", { class: "limit", y1: 0, y2: height }));
  const picture = svgEl(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    ...parts,
    zero,
    ...limits,
    total,
  );
  const value = el("output", { class: "value" });
  const element = el("div", { class: "bar", role: "listitem" }, jointLabel(label, name), picture, value);

  /** @param {number[]} values @param {number} sum @param {number|null} limit @param {number} end @param {string} unit @param {number} digits */
  const draw = (values, sum, limit, end, unit, digits) => {
    const scale = width / 2 / Math.max(end, 1e-9);
    let [right, left] = [width / 2, width / 2];
    values.forEach((x, k) => {
      const wide = Math.abs(x) * scale;
      parts[k].setAttribute("x", String(x >= 0 ? right : left - wide));
      parts[k].setAttribute("width", String(wide));
      if (x >= 0) right += wide;
      else left -= wide;
    });
    const at = (/** @type {SVGElement} */ line, /** @type {number} */ x) => {
      line.setAttribute("x1", String(x));
      line.setAttribute("x2", String(x));
    };
    at(zero, width / 2);
    at(total, width / 2 + sum * scale);
    limits.forEach((line, k) => {
      line.toggleAttribute("hidden", limit === null);
      if (limit !== null) at(line, width / 2 + (k ? 1 : -1) * limit * scale);
    });
    value.textContent = `${fixed(sum, digits)} ${unit}`;
    element.classList.toggle("beyond", limit !== null && Math.abs(sum) > limit * (1 + 1e-12));
    const causes = CAUSES.map((cause, k) => `${CAUSE_TITLES[cause].toLowerCase()} ${brief(values[k])}`).join(
      ", ",
    );
    element.setAttribute(
      "aria-label",
      `${name}: ${brief(sum)} ${unit}; ${causes}${limit === null ? "" : `; limit ${brief(limit)} ${unit}`}`,
    );
  };
  return { element, draw };
}
