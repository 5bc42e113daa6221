// New timings for the displayed motion: time-optimal along its path, or uniformly scaled.
import { button, el, folded, inRow, optionalNumberBox, softText } from "./dom.js";
import { addMotion, shownMotion } from "./studio_motion.js";
import { StudioWork } from "./studio_work.js";

/** @import { Studio } from "./studio_panel.js" */

/** @param {Studio} studio */
export function studioTiming(studio) {
  const { app, link } = studio;
  const work = new StudioWork(link, "timing", "the timing");
  /** @type {number | null} */
  let duration = null;
  const notes = el("p", { class: "soft", "aria-live": "polite" });
  const time = async (/** @type {string} */ how) => {
    notes.textContent = "";
    const motion = shownMotion(app);
    if (!motion) {
      work.say("There is no motion; open or create one in the Motion tab.");
      return;
    }
    const done = await work.run("time", {
      how,
      ...motion,
      duration: how === "time-optimal" ? duration : null,
    });
    if (!done) return;
    addMotion(app, done.motion);
    notes.textContent = done.notes.join(" ");
  };
  const box = optionalNumberBox(
    "Duration of the time-optimal motion",
    "least",
    (value) => (duration = value),
  );
  return folded(
    "Timing of the displayed motion",
    inRow(
      button("Time-optimal", () => time("time-optimal")),
      el("label", { class: "studio-duration" }, "in ", box, " s"),
      button("Scale to the limits", () => time("scaled")),
    ),
    work.element,
    notes,
    softText(
      "The time-optimal motion keeps the path and takes the least time that the effort, velocity and acceleration limits allow; scaling stretches the whole motion by one factor, S 7.7. The result is added to the list of motions.",
    ),
  );
}
