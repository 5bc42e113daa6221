// S 7.3.3: where the centre of mass of the link that carries the tip must be for b_12 of a closed chain to vanish.
import { brief, el, slider } from "./dom.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./design_numbers.js").Design} Design */

/**
 * The place at which b_12 vanishes, b_12 being linear in it; null where it does not change, as in postures whose cosine is zero.
 * @param {(place: number) => number} coupling
 * @param {number} here
 */
export function decoupledPlace(coupling, here) {
  const [first, second] = [coupling(here), coupling(here + 1)];
  const slope = second - first;
  return Math.abs(slope) > 1e-9 * (Math.abs(first) + Math.abs(second)) ? here - first / slope : null;
}

/** b_12 of the arm with the centre of mass of a link at another place along its x axis, by the kernel. @param {App} app @param {Design} design @param {string} name @param {ArrayLike<number>} q */
export function couplingAt(app, design, name, q) {
  return (/** @type {number} */ place) => {
    const kept = design.edits.get(name);
    design.edits.set(name, place);
    const { parameters, gears } = design.numbers();
    if (kept === undefined) design.edits.delete(name);
    else design.edits.set(name, kept);
    return app.robot.kernels.inertia_matrix.run({ q, parameters, gears }).B[1];
  };
}

/** @param {App} app @param {Design} design @param {(name: string, value: number) => void} change */
export function decouplingField(app, design, change) {
  const { body, condition } = app.robot.data.design.decoupling;
  const name = `cx_${body}`;
  const link = app.robot.bodies[body].name;
  const own = design.original(name);
  const place = decoupledPlace(couplingAt(app, design, name, app.robot.data.start.q), own) ?? own;
  const reach = 1.6 * Math.max(Math.abs(place), Math.abs(own), 0.1);
  const range = slider({
    label: `Centre of mass of ${link} along x`,
    value: own,
    min: -reach,
    max: reach,
    step: reach / 500,
    onInput: (value) => change(name, value),
  });
  const mark = el(
    "button",
    {
      type: "button",
      class: "mark",
      onclick: () => change(name, exact()),
      title: "Go to the place where b_12 is zero",
    },
    "▲",
  );
  const said = el("output", { class: "coupling" });
  const exact = () =>
    decoupledPlace(couplingAt(app, design, name, app.robot.data.start.q), design.value(name)) ?? place;
  const element = el(
    "section",
    { class: "decoupling" },
    el("h3", {}, `Centre of mass of ${link}`),
    el("p", { class: "soft" }, `The inertial coupling b_12 vanishes at every posture when ${condition}.`),
    el("div", { class: "marked" }, range, el("div", { class: "track" }, mark)),
    said,
  );
  return {
    element,
    /** @param {ArrayLike<number>} q */
    show(q) {
      const [value, zero] = [design.value(name), exact()];
      range.value = String(value);
      mark.style.left = `${(50 * (zero + reach)) / reach}%`;
      mark.hidden = Math.abs(zero) > reach;
      const b = app.robot.inertiaMatrix(q)[1];
      said.textContent = `At ${brief(value, 4)} m b_12 = ${brief(b, 3)} kg m² in this posture; it is zero at ${brief(zero, 6)} m.`;
    },
  };
}
