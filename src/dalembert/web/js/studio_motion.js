// The motion panel as the studio sees it: the motion that is shown, as a table, and a place for one more.
import { writeMotion } from "./csv.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./motion.js").MotionData} MotionData */
/** @typedef {import("./motion_panel.js").MotionPanel} MotionPanel */

/** @param {App} app @returns {MotionPanel | undefined} */
function motionPanelOf(app) {
  return /** @type {MotionPanel | undefined} */ (app.panels.motion);
}

/** Its name and its rows as CSV, with time stretched as it is shown; null where there is none. @param {App} app */
export function shownMotion(app) {
  const study = motionPanelOf(app)?.study;
  if (!study) return null;
  const { rows, torques } = study.table();
  return { name: study.motion.name, csv: writeMotion(rows, torques) };
}

/** @param {App} app @param {MotionData} data @param {boolean} [shown] whether its panel comes to the front */
export function addMotion(app, data, shown = true) {
  motionPanelOf(app)?.add(data, shown);
}
