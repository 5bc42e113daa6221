// Reading motions from files, dropped on the page or chosen with a button, and saving them.

import { fileText, readMotion } from "./csv.js";
import { FileError } from "./csv_table.js";
import { button, el } from "./dom.js";

/** @import { App } from "./app.js" */
/** @import { MotionData } from "./motion.js" */

/**
 * A button that reads a file, and the page as a drop target.
 * @param {App} app @param {(data: MotionData) => void} onRead @param {(sentence: string) => void} onProblem
 */
export function motionFileButton(app, onRead, onProblem) {
  const read = async (/** @type {File | undefined} */ file) => {
    if (!file) return;
    try {
      onRead(readMotion(file.name, fileText(file.name, await file.arrayBuffer()), app.robot.data));
    } catch (problem) {
      if (problem instanceof FileError) onProblem(problem.message);
      else if (problem instanceof DOMException)
        onProblem(`${file.name}: the file cannot be read (${problem.message})`);
      else throw problem;
    }
  };
  const input = el("input", {
    type: "file",
    accept: ".csv,.txt,.tsv,text/csv,text/plain",
    hidden: true,
    "aria-label": "Motion file",
    onchange: () => {
      read(input.files?.[0]);
      input.value = "";
    },
  });
  listenForDrops((file) => read(file));
  return el(
    "span",
    {},
    input,
    button("Open a CSV file …", () => input.click()),
  );
}

/** @param {(file: File | undefined) => void} onDrop */
function listenForDrops(onDrop) {
  const brings = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files") ?? false;
  let inside = 0;
  const mark = () => document.body.classList.toggle("dropping", inside > 0);
  document.addEventListener("dragenter", (event) => {
    if (brings(event)) inside++;
    mark();
  });
  document.addEventListener("dragleave", (event) => {
    if (brings(event)) inside = Math.max(0, inside - 1);
    mark();
  });
  document.addEventListener("dragover", (event) => {
    if (brings(event)) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    inside = 0;
    mark();
    if (!brings(event)) return;
    event.preventDefault();
    onDrop(event.dataTransfer?.files[0]);
  });
}
