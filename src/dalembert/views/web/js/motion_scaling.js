// Controls for time scaling: a slider for c, the scaling law, and the smallest c that satisfies every limit.

import { brief, button, el, inRow, numberBox, show, slider, softText } from "./dom.js";
import { oddFriction } from "./time_scaling.js";

/** @import { MotionStudy } from "./motion_study.js" */

const SCALING_RANGE = { least: 0.25, most: 4 }; // of the slider
const SCALING_BOX = { least: 0.01, most: 100 };

/** @param {(c: number) => void} onStretch */
export function scalingControls(onStretch) {
  let smallest = 1;
  const logarithm = slider("Time scaling", 0, (value) => onStretch(2 ** value), {
    min: Math.log2(SCALING_RANGE.least),
    max: Math.log2(SCALING_RANGE.most),
    step: 0.01,
  });
  const box = numberBox("Duration factor c", 1, onStretch, { min: SCALING_BOX.least, max: SCALING_BOX.most });
  const duration = el("output", { class: "told" });
  const check = softText();
  const least = el("span", {});
  const use = button("Apply", () => onStretch(smallest));
  const element = el(
    "fieldset",
    { class: "scaling" },
    el("legend", {}, "Time scaling"),
    el("div", { class: "stretch" }, el("span", {}, "c ="), box, logarithm, duration),
    inRow(least, use),
    check,
  );

  /** @param {MotionStudy} study */
  const update = (study) => {
    const { motion, robot } = study;
    const { c, difference } = study.view;
    show(box, c, 6);
    logarithm.value = String(Math.log2(c));
    logarithm.setAttribute("aria-valuetext", `c = ${brief(c)}, ${brief(study.duration)} s`);
    duration.textContent = `${brief(study.duration)} s instead of ${brief(motion.duration)} s`;
    check.textContent =
      study.parts.odd < 0
        ? `Torques from S (7.126), τ(c) = τₛ/c² + τᵥ/c + τ₀: viscous friction in τᵥ; gravity, contact and Coulomb friction in τ₀. They ` +
          `differ by at most ${brief(difference, 2)} N m from the inverse dynamics of the stretched motion.`
        : `${oddFriction(robot.joints[study.parts.odd])} The figures show the inverse dynamics of the stretched motion, from which ` +
          `S (7.126) differs by up to ${brief(difference, 3)} N m.`;
    const { smallest: found } = study;
    use.hidden = found.c === null;
    smallest = found.c ?? 1;
    least.textContent =
      found.c === null
        ? found.sentence
        : `The smallest c that satisfies the effort and velocity limits is ${brief(found.c, 5)}: ${found.sentence}.`;
  };
  return { element, update };
}
