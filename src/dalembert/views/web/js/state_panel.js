// Sliders and number boxes for the state of the arm, the wrench at its tip and a payload.
import {
  brief,
  button,
  choice,
  el,
  folded,
  inRow,
  jointLabel,
  labelled,
  numberBox,
  show,
  slider,
  sliderField,
  softText,
  unitText,
} from "./dom.js";
import { steinerMoments } from "./moments.js";
import { MOTION_GROUPS } from "./motion.js";
import { tipReadout } from "./tip_readout.js";

/** @import { App } from "./app.js" */

const RATES = /** @type {const} */ ({
  q: ["Position", "Positions", "", 1],
  qd: ["Velocity", "Velocities", "/s", 2],
  qdd: ["Acceleration", "Accelerations", "/s²", 10],
});
const WRENCH = ["fx", "fy", "fz", "mx", "my", "mz"];
const LOAD = ["Mass (kg)", "x (m)", "y (m)", "z (m)"];

/** @param {App} app */
export function statePanel(app) {
  const panel = el("div", { class: "state" });
  const units = choice(
    "Unit of angles",
    [
      ["deg", "degrees"],
      ["rad", "radians"],
    ],
    app.state.degrees ? "deg" : "rad",
    (value) => app.change({ degrees: value === "deg" }),
  );
  panel.append(
    inRow(
      labelled("Angles in ", units),
      button("Zero", () => app.change({ q: app.robot.clamped(new Float64Array(app.robot.n)) }), {
        title: "Set all positions to zero, or to the nearest limit",
      }),
      button("At rest", () => rest(app), { title: "Set velocities and accelerations to zero" }),
      button("Random", () => random(app), { title: "Set a random state within the limits" }),
    ),
  );
  for (const name of MOTION_GROUPS) {
    panel.append(rowsOf(app, name, panel));
    if (name === "q") panel.append(tipReadout(app, panel));
  }
  panel.append(wrenchRows(app), payloadRows(app));
  return panel;
}

/** @param {App} app */
function rest(app) {
  const { n } = app.robot;
  app.take(null);
  app.change({ qd: new Float64Array(n), qdd: new Float64Array(n) });
}

/** @param {App} app */
function random(app) {
  const drawn = MOTION_GROUPS.map((name) => [
    name,
    Float64Array.from(app.robot.joints, (_, k) => {
      const [lower, upper] = range(app, name, k);
      return lower + (upper - lower) * Math.random();
    }),
  ]);
  app.take(null);
  app.change(Object.fromEntries(drawn));
}

/** The range of a slider, in SI units. @param {App} app @param {"q"|"qd"|"qdd"} name @param {number} k @returns {[number, number]} */
function range(app, name, k) {
  const joint = app.robot.joints[k];
  if (name === "q") {
    const far = joint.revolute ? Math.PI : 1;
    return [
      joint.lower ?? (joint.upper === null ? -far : Math.min(-far, joint.upper)),
      joint.upper ?? (joint.lower === null ? far : Math.max(far, joint.lower)),
    ];
  }
  const most =
    (name === "qd" ? joint.velocity : joint.acceleration) ?? RATES[name][3] * (joint.revolute ? 1 : 0.5);
  return [-most, most];
}

/** @param {App} app @param {"q"|"qd"|"qdd"} name @param {Element} panel */
function rowsOf(app, name, panel) {
  const [what, title, per] = RATES[name];
  const body = el("div", { class: "rows" });
  const rows = app.robot.joints.map((joint, k) => {
    const label = `${what} of ${joint.name}`;
    const put = (/** @type {number} */ shown) => {
      const values = Float64Array.from(app.state[name]);
      values[k] = shown / app.unitFactor(k);
      app.take(null);
      app.change({ [name]: values });
    };
    const range = slider(label, 0, put);
    const box = numberBox(`${label}, exact`, 0, put);
    const unit = unitText();
    body.append(el("div", { class: "field" }, jointLabel(app.robot.labels[k], joint.name), range, box, unit));
    return { range, box, unit };
  });
  const details = el("details", { open: name === "q" }, el("summary", {}, title), body);
  const update = () => {
    rows.forEach(({ range: bar, box, unit }, k) => {
      const factor = app.unitFactor(k);
      const [lower, upper] = range(app, name, k);
      bar.min = String(lower * factor);
      bar.max = String(upper * factor);
      const value = app.state[name][k] * factor;
      bar.value = String(value);
      show(box, value, 6);
      unit.textContent = app.unit(k) + per;
      const { lower: least, upper: most, velocity, acceleration } = app.robot.joints[k];
      const highest = { q: most, qd: velocity, qdd: acceleration }[name] ?? Infinity;
      const lowest = name === "q" ? (least ?? -Infinity) : -highest;
      const now = app.state[name][k];
      const beyond = now < lowest - 1e-12 || now > highest + 1e-12;
      unit.parentElement?.classList.toggle("beyond", beyond);
    });
  };
  app.onChange(update, panel);
  return details;
}

/** @param {App} app */
function wrenchRows(app) {
  const rows = WRENCH.map((name, k) => {
    const most = k < 3 ? 100 : 20;
    const onInput = (/** @type {number} */ value) => {
      const wrench = Float64Array.from(app.robot.numbers.tip_wrench);
      wrench[k] = value;
      app.changeNumbers({ tip_wrench: wrench });
    };
    const title = el("span", { class: "name" }, name);
    const unit = k < 3 ? "N" : "N m";
    return sliderField({ label: `Tip wrench ${name}`, title, unit, value: 0, min: -most, max: most, onInput })
      .element;
  });
  const about = softText("Exerted by the tip on its environment, in base axes.");
  return folded("Wrench at the tip", about, el("div", { class: "rows" }, ...rows));
}

/** The payload at the tip: the arm's own, as the page was written with it, and what the sliders change. @param {App} app */
function payloadRows(app) {
  /** @type {number[]} */
  const own = app.robot.data.payload;
  const [mass] = own;
  const values = [mass, ...own.slice(1, 4).map((x) => (mass ? x / mass : 0))];
  const point = steinerMoments(mass, values.slice(1));
  const spread = own.map((x, k) => x - point[k]); // its inertia about its centre of mass
  const summary = el("summary", {});
  const summarize = () => (summary.textContent = values[0] ? `Payload: ${brief(values[0])} kg` : "Payload");
  const rows = LOAD.map((name, k) => {
    const [min, max] = k === 0 ? [0, Math.max(10, 2 * mass)] : [-0.3, 0.3];
    const onInput = (/** @type {number} */ value) => {
      values[k] = value;
      const share = mass ? values[0] / mass : 0;
      const now = steinerMoments(values[0], values.slice(1));
      app.changeNumbers({ payload: now.map((x, i) => x + share * spread[i] - own[i]) });
      summarize();
    };
    const title = el("span", { class: "name" }, name);
    const least = k === 0 ? 0 : null;
    return sliderField({ label: `Payload ${name}`, title, value: values[k], min, max, least, onInput })
      .element;
  });
  summarize();
  const about = mass
    ? `The whole payload at the tip, including the ${brief(mass)} kg with which the page was written; its centre of mass is given in the tip frame.`
    : "A point mass at the tip; its position is given in the tip frame.";
  return el("details", { open: mass > 0 }, summary, softText(about), el("div", { class: "rows" }, ...rows));
}
