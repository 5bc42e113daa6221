// Selection of another robot: a shipped arm, a file of the folder, or an upload.
import { button, el, inRow, softText } from "./dom.js";
import { fileGroups, fileList, sendButton } from "./studio_files.js";

/** @import { Studio } from "./studio_panel.js" */

const ROBOT_FILES = ".urdf,.toml,.xml,.mjcf,.sdf";

/** @param {Studio} studio */
export function studioRobot(studio) {
  const { link, pages } = studio;
  const list = fileList("Robot");
  const open = async () => {
    const file = list.chosen;
    if (file) studio.show(await pages.run("open", file));
  };
  const send = sendButton({
    link,
    work: pages,
    kind: "robot",
    text: "Upload a robot file …",
    label: "Robot file",
    accept: ROBOT_FILES,
    onSent: async (file) => studio.show(await pages.run("open", file)),
  });
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
