// Gravity on or off, and its direction.
import { checkbox, el, numberBox, show, unitText } from "./dom.js";

/** @import { App } from "./app.js" */

/** @param {App} app */
export function gravityFields(app) {
  const { robot } = app;
  let kept = Array.from(robot.data.numbers.gravity, Number);
  if (!kept.some(Boolean)) kept = [0, 0, -9.81];
  const now = () => Array.from(robot.numbers.gravity);
  const switched = checkbox("Gravity", now().some(Boolean), (on) =>
    app.changeNumbers({ gravity: on ? kept : [0, 0, 0] }),
  );
  const boxes = ["x", "y", "z"].map((axis, k) =>
    numberBox(`Gravity along ${axis} (m/s²)`, now()[k], (value) => {
      const gravity = now();
      gravity[k] = value;
      app.changeNumbers({ gravity });
    }),
  );
  app.onChange(() => {
    const gravity = now();
    if (gravity.some(Boolean)) kept = gravity;
    /** @type {HTMLInputElement} */ (switched.querySelector("input")).checked = gravity.some(Boolean);
    boxes.forEach((box, k) => show(box, gravity[k], 4));
  });
  return el(
    "p",
    { class: "row gravity" },
    switched,
    ...boxes.map((box) => el("span", { class: "narrow" }, box)),
    unitText("m/s², base axes"),
  );
}
