// The studio's view of the motion panel: the displayed motion as a table, and a way to add another.
import { writeMotion } from "./csv.js";

/** @import { App } from "./app.js" */
/** @import { MotionData } from "./motion.js" */
/** @import { MotionPanel } from "./motion_panel.js" */

/** @param {App} app @returns {MotionPanel | undefined} */
function motionPanelOf(app) {
  return /** @type {MotionPanel | undefined} */ (app.panels.motion);
}

/** The name and the rows of the displayed motion as CSV, including time scaling; null if there is no motion. @param {App} app */
export function shownMotion(app) {
  const study = motionPanelOf(app)?.study;
  if (!study) return null;
  const { rows, torques } = study.table();
  return { name: study.motion.name, csv: writeMotion(rows, torques, app.robot.data.column_words) };
}

/** @param {App} app @param {MotionData} data @param {boolean} [shown] whether its panel is brought to the front */
export function addMotion(app, data, shown = true) {
  motionPanelOf(app)?.add(data, shown);
}
