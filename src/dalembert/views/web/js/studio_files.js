// Selection of a file: from the robot's folder, an earlier upload, or a new upload.
import { button, el } from "./dom.js";

/** @import { StudioWork } from "./studio_work.js" */
/** @typedef {{from: string, name: string}} StudioFile */
/** @typedef {[string, string, string[]][]} FileGroups heading, where from, names */

const FOLDER_HEADING = "In the folder";
const SENT_HEADING = "Uploaded from this page";

/** @param {string} label @param {string} [none] the entry for no file */
export function fileList(label, none = "") {
  const list = el("select", { "aria-label": label });
  return {
    list,
    /** @param {FileGroups} groups @param {StudioFile | null} [chosen] */
    fill(groups, chosen = null) {
      const before = chosen === null ? list.value : fileKey(chosen);
      list.replaceChildren(...(none ? [el("option", { value: "" }, none)] : []));
      for (const [heading, from, names] of groups) {
        if (!names.length) continue;
        const options = names.map((name) => el("option", { value: fileKey({ from, name }) }, name));
        list.append(el("optgroup", { label: heading }, ...options));
      }
      if ([...list.options].some((option) => option.value === before)) list.value = before;
      list.disabled = !list.options.length;
    },
    /** @returns {StudioFile | null} */
    get chosen() {
      return list.value ? JSON.parse(list.value) : null;
    },
  };
}

/** @param {StudioFile} file */
function fileKey({ from, name }) {
  return JSON.stringify({ from, name });
}

/** Groups of files for a list. @param {string[]} folder @param {string[]} sent @returns {FileGroups} */
export function fileGroups(folder, sent) {
  return [
    [FOLDER_HEADING, "folder", folder],
    [SENT_HEADING, "sent", sent],
  ];
}

/** A button that uploads a file to the server. @param {StudioWork} work @param {"robot" | "log"} kind @param {string} text @param {string} accept
 * @param {(file: StudioFile) => void} onSent */
export function sendButton(work, kind, text, accept, onSent) {
  const input = el("input", {
    type: "file",
    accept,
    hidden: true,
    "aria-label": kind === "robot" ? "Robot file" : "Log file",
    onchange: async () => {
      const file = input.files?.[0];
      input.value = "";
      const sent = file && (await work.tried(() => work.link.send(kind, file)));
      if (sent) onSent(sent);
    },
  });
  return el(
    "span",
    {},
    input,
    button(text, () => input.click()),
  );
}
