// Saving to the robot's folder: the robot, the displayed motion, the page. Existing files are overwritten only after confirmation.
import { button, el, folded, softText } from "./dom.js";
import { StudioProblem } from "./studio_link.js";
import { shownMotion } from "./studio_motion.js";
import { changedDesign } from "./studio_structure.js";

/** @import { Studio } from "./studio_panel.js" */

/** @param {Studio} studio */
export function studioSave(studio) {
  const { app, status } = studio;
  const stem = status.robot.name.replace(/[^\p{L}\p{N}_-]+/gu, "-").replace(/^-+|-+$/g, "") || "arm";
  return folded(
    "Save",
    softText(
      `Files are saved in the folder “${status.folder}”. The robot is saved with the parameters of the Design tab.`,
    ),
    saveRow(studio, "robot", "Robot (.toml or .urdf)", `${stem}-studio.toml`, () => ({
      toml: changedDesign(app),
    })),
    saveRow(studio, "motion", "Displayed motion (.csv)", "motion.csv", () => {
      const motion = shownMotion(app);
      if (!motion) throw new StudioProblem("There is no motion; open or create one in the Motion tab.");
      return { csv: motion.csv };
    }),
    saveRow(studio, "page", "This page, without a server (.html)", `${stem}.html`, () => ({})),
  );
}

/** @param {Studio} studio @param {string} what @param {string} title @param {string} name @param {() => object} content */
function saveRow(studio, what, title, name, content) {
  const { link, pages } = studio;
  const box = el("input", {
    type: "text",
    "aria-label": `Name for: ${title}`,
    value: name,
    spellcheck: "false",
  });
  const said = el("span", { "aria-live": "polite" });
  const save = async (/** @type {boolean} */ overwrite) => {
    said.className = "";
    said.replaceChildren();
    try {
      const answer = await link.ask("save", { what, name: box.value, overwrite, ...content() });
      const done = answer.job ? await pages.finish(answer.job) : answer;
      said.replaceChildren(done ? `Saved as ${done.saved}.` : "Cancelled.");
    } catch (problem) {
      if (!(problem instanceof StudioProblem)) throw problem;
      said.className = "bad";
      said.replaceChildren(`${problem.message} `);
      if (problem.exists) {
        said.append(
          button("Overwrite", () => save(true)),
          " ",
          button("Keep the existing file", () => said.replaceChildren()),
        );
      }
    }
  };
  return el(
    "div",
    { class: "save-row" },
    el("span", {}, title),
    el(
      "span",
      { class: "row" },
      box,
      button("Save", () => save(false), { "aria-label": `Save: ${title}` }),
      said,
    ),
  );
}
