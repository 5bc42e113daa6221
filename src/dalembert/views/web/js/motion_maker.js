// Controls that create a motion in the page: between two stored postures, or a periodic one.

import { button, choice, el, inRow, numberBox, unitText } from "./dom.js";
import { Motion } from "./motion.js";
import { limitsAlong } from "./motion_limits.js";
import { MOTION_SHAPES, fourierMotion, pointToPoint } from "./motion_make.js";
import { torquesAlong } from "./motion_torques.js";

/** @import { App } from "./app.js" */
/** @import { MotionData } from "./motion.js" */

const MAKER_DURATIONS = { least: 0.01, most: 1000 }; // s
const MAKER_TRIES = 40; // attempts to find amplitudes within the limits

/** @param {App} app @param {(data: MotionData) => void} onMade @param {(sentence: string) => void} onProblem */
export function motionMaker(app, onMade, onProblem) {
  /** @type {{from: Float64Array | null, to: Float64Array | null}} */
  const kept = { from: null, to: null };
  let shape = "quintic";
  let duration = 2;
  let made = 0;
  const said = {
    from: unitText("not set"),
    to: unitText("not set"),
  };

  const keep = (/** @type {"from" | "to"} */ end) => {
    kept[end] = app.state.q.slice();
    said[end].textContent = Array.from(
      app.state.q,
      (q, j) => `${roundedAngle(q * app.unitFactor(j))} ${app.unit(j)}`,
    ).join(", ");
  };
  const between = () => {
    const { from, to } = kept;
    if (!from || !to)
      return onProblem("Set the postures From and To first: move the arm, then press the button.");
    if (from.every((q, j) => q === to[j]))
      return onProblem("From and To are the same posture, so there is no motion.");
    onMade(pointToPoint(`${MOTION_SHAPES[shape].title} ${++made}`, shape, from, to, duration));
  };
  const periodic = () => {
    const data = withinLimits(app, duration, `Fourier series ${made + 1}`);
    if (!data)
      return onProblem(
        "No Fourier series around this posture satisfies the effort limits: gravity alone exceeds them.",
      );
    made++;
    onMade(data);
  };

  return el(
    "div",
    { class: "maker" },
    inRow(
      button("Set From to this posture", () => keep("from")),
      said.from,
    ),
    inRow(
      button("Set To to this posture", () => keep("to")),
      said.to,
    ),
    inRow(
      choice(
        "Shape of the motion",
        Object.entries(MOTION_SHAPES).map(([name, { title }]) => [name, title]),
        shape,
        (value) => (shape = value),
      ),
      el(
        "label",
        { class: "inline" },
        "Duration",
        numberBox("Duration of the motion (s)", duration, (value) => (duration = value), {
          min: MAKER_DURATIONS.least,
          max: MAKER_DURATIONS.most,
        }),
        "s",
      ),
      button("Create the motion", between),
      button("Create a Fourier series", periodic),
    ),
  );
}

/** A Fourier series that satisfies all limits, effort included, or null. @param {App} app @param {number} duration @param {string} name */
function withinLimits(app, duration, name) {
  const { robot } = app;
  for (let k = 0, share = 1; k < MAKER_TRIES; k++, share *= 0.85) {
    const data = fourierMotion(name, robot.joints, app.state.q, duration, share);
    const rows = new Motion(data, robot.n).rows(1);
    const torques = torquesAlong(robot, rows);
    if (torques.every(Number.isFinite) && !limitsAlong(robot.joints, rows, torques).excesses.length)
      return data;
  }
  return null;
}

/** @param {number} value */
function roundedAngle(value) {
  return String(Number(value.toFixed(3))).replace("-", "−");
}
