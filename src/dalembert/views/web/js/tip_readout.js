// The pose of the tip in base axes: its position, and its roll, pitch and yaw, R = Rz(yaw) Ry(pitch) Rx(roll).
import { el } from "./dom.js";

/** @import { App } from "./app.js" */

/** Roll, pitch and yaw (rad) of a homogeneous matrix, row by row; at pitch ±90° the roll is 0. @param {ArrayLike<number>} T */
export function rollPitchYaw(T) {
  const level = Math.hypot(T[0], T[4]);
  const pitch = Math.atan2(-T[8], level);
  if (level < 1e-9) return [0, pitch, Math.atan2(-T[1], T[5])];
  return [Math.atan2(T[9], T[10]), pitch, Math.atan2(T[4], T[0])];
}

/** @param {App} app @param {Element} panel */
export function tipReadout(app, panel) {
  const position = el("output", { "aria-label": "Position of the tip" });
  const angles = el("output", { "aria-label": "Roll, pitch and yaw of the tip" });
  app.onChange(() => {
    const T = app.robot.pose(app.state.q);
    const [factor, unit, digits] = app.state.degrees ? [180 / Math.PI, "°", 2] : [1, " rad", 4];
    position.textContent = `${[3, 7, 11].map((k) => T[k].toFixed(4)).join(", ")} m`;
    angles.textContent = `${rollPitchYaw(T)
      .map((angle) => (factor * angle).toFixed(digits))
      .join(", ")}${unit}`;
  }, panel);
  return el(
    "dl",
    { class: "tip-readout" },
    el("dt", {}, "Tip (x, y, z)"),
    el("dd", {}, position),
    el("dt", {}, "Roll, pitch, yaw"),
    el("dd", {}, angles),
  );
}
