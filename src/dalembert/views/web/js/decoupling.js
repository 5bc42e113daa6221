// S 7.3.3: the centre of mass of the link that carries the tip for which b_12 of a closed chain vanishes.
import { brief, el, slider, softText } from "./dom.js";
import { subscripted } from "./subscripts.js";

/** @import { App } from "./app.js" */
/** @import { Design } from "./design_numbers.js" */

const DECOUPLING_POSTURES = [0, 0.3, 0.7]; // rad from the first posture, in which b_12 may vanish by coincidence

/**
 * The coordinate at which b_12 vanishes in every posture. b_12 is linear in it; the posture with the largest slope is used.
 * @param {App} app
 * @param {Design} design
 * @param {string} name
 */
export function decoupledPlace(app, design, name) {
  const here = design.value(name);
  const lines = DECOUPLING_POSTURES.map((by) => {
    const coupling = couplingAt(app, design, name, [
      app.robot.data.start.q[0],
      app.robot.data.start.q[1] + by,
    ]);
    const first = coupling(here);
    return { first, slope: coupling(here + 1) - first };
  });
  const steepest = lines.reduce((a, b) => (Math.abs(b.slope) > Math.abs(a.slope) ? b : a));
  return here - steepest.first / steepest.slope;
}

/** b_12 of the arm, computed by the kernel, with the centre of mass of a link moved along its x axis. @param {App} app @param {Design} design @param {string} name @param {ArrayLike<number>} q */
function couplingAt(app, design, name, q) {
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
  const exact = () => decoupledPlace(app, design, name);
  const place = exact();
  const reach = 1.6 * Math.max(Math.abs(place), Math.abs(own), 0.1);
  const range = slider(`Centre of mass of ${link} along x`, own, (value) => change(name, value), {
    min: -reach,
    max: reach,
    step: reach / 500,
  });
  const mark = el(
    "button",
    {
      type: "button",
      class: "mark",
      onclick: () => change(name, exact()),
      title: "Move the centre of mass to where b_12 is zero",
    },
    "▲",
  );
  const said = el("output", { class: "coupling" });
  const element = el(
    "section",
    { class: "decoupling" },
    el("h3", {}, `Centre of mass of ${link}`),
    softText(...subscripted(`The inertial coupling b_12 vanishes in every posture if ${condition}.`)),
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
      said.replaceChildren(
        ...subscripted(
          `b_12 = ${brief(b, 3)} kg m² in this posture, with the centre of mass at ${brief(value, 4)} m; it is zero at ${brief(zero, 6)} m.`,
        ),
      );
    },
  };
}
