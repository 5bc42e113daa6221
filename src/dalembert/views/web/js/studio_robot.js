// Selection of another robot: a shipped arm, a file of the folder, or an upload.
import { button, el, inRow, softText } from "./dom.js";
import { fileGroups, fileList, sendButton } from "./studio_files.js";

/** @import { StudioFile } from "./studio_files.js" */
/** @import { Studio } from "./studio_panel.js" */

const ROBOT_FILES = ".urdf,.toml,.xml,.mjcf,.sdf";

/** @param {Studio} studio */
export function studioRobot(studio) {
  const { pages } = studio;
  const list = fileList("Robot");
  const open = () => list.chosen && opened(list.chosen);
  const opened = async (/** @type {StudioFile} */ file) => studio.show(await pages.run("open", file));
  const send = sendButton(pages, "robot", "Upload a robot file …", ROBOT_FILES, opened);
  studio.onFiles((files) => {
    list.fill([...fileGroups(files.robots, files.sent_robots), ["Shipped arms", "shipped", files.arms]]);
  });
  return el(
    "details",
    { open: true },
    el("summary", {}, "Robot"),
    inRow(list.list, button("Open", open), send),
    softText(
      `Files below the folder “${studio.status.folder}”, and shipped arms. The page is rebuilt for the new robot.`,
    ),
  );
}
