// Identification of the arm from logs of its motion, and the calibrated arm.
import { button, checkbox, el, fixed, headRow, inRow, labelled, optionalNumberBox } from "./dom.js";
import { fileGroups, fileList, sendButton } from "./studio_files.js";
import { StudioWork } from "./studio_work.js";

/** @import { Studio } from "./studio_panel.js" */
/** @typedef {{joints: string[], errors: {run: string, instants: string, joints: (number | null)[], all: number | null}[],
 *   selection: string[], verdict: string, notes: string[], report: string | null}} FitData */

const LOG_FILES = ".csv,.tsv,.txt,.dat,.log,.npz,.npy,.mat,.parquet,.mcap,.bag,.db3";

/** @param {Studio} studio */
export function studioFit(studio) {
  const { link, status } = studio;
  const work = new StudioWork(link, "identification", "the identification");
  const log = fileList("Log", "choose a log …");
  const other = fileList("Validation log", "none");
  const settings = {
    selection: true,
    physical: /** @type {true | null} */ (null),
    cutoff: /** @type {number | null} */ (null),
  };
  const result = el("div", { class: "fit-result" });
  const cutoff = optionalNumberBox("Cut-off frequency", "chosen", (value) => (settings.cutoff = value));
  const showFit = (/** @type {{fit: FitData | null} | null} */ done) => {
    if (done?.fit) result.replaceChildren(...fitRows(studio, done.fit));
  };
  const identify = async () => {
    const [run, validate] = [log.chosen, other.chosen];
    const body = { logs: run ? [run] : [], validate: validate ? [validate] : [], ...settings };
    showFit(await work.run("identify", body));
  };
  const send = sendButton(work, "log", "Upload a log …", LOG_FILES, async (file) => {
    await studio.listFiles();
    log.list.value = JSON.stringify(file);
  });
  studio.onFiles((files) => {
    const groups = fileGroups(files.logs, files.sent_logs);
    log.fill(groups);
    other.fill(groups);
  });
  showFit(status);
  const running = status.jobs.identification;
  work.resume(running).then(showFit);
  return el(
    "details",
    { open: status.fit !== null || running?.state === "running" },
    el("summary", {}, "Identification"),
    inRow(labelled("Log ", log.list), send),
    inRow(labelled("Validate on ", other.list)),
    inRow(
      checkbox("Select the model by cross-validation", true, (checked) => (settings.selection = checked)),
      checkbox(
        "Physically consistent parameters only",
        false,
        (checked) => (settings.physical = checked ? true : null),
      ),
      el("label", { class: "studio-duration" }, "Cut-off ", cutoff, " Hz"),
    ),
    inRow(button("Identify", identify)),
    work.element,
    result,
  );
}

/** The result of an identification. @param {Studio} studio @param {FitData} fit */
function fitRows(studio, fit) {
  const percent = (/** @type {number | null} */ share) => (share === null ? "–" : fixed(100 * share, 2));
  const rows = fit.errors.map((row) =>
    el(
      "tr",
      {},
      el("td", {}, row.instants === "all" ? row.run : row.instants),
      ...row.joints.map((share) => el("td", {}, percent(share))),
      el("td", {}, percent(row.all)),
    ),
  );
  const use = async () => studio.show(await studio.pages.run("calibrated", {}));
  return [
    el("h3", {}, "Relative torque error (%)"),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        {},
        el("thead", {}, headRow(["run", ...fit.joints, "all joints"])),
        el("tbody", {}, ...rows),
      ),
    ),
    el("p", {}, `${fit.verdict}.`),
    ...(fit.selection.length ? [el("h3", {}, "Model selection"), sentenceList(fit.selection)] : []),
    ...(fit.notes.length ? [el("h3", {}, "Notes"), sentenceList(fit.notes)] : []),
    inRow(
      button("Use the calibrated arm", use),
      fit.report === null
        ? null
        : el("a", { href: fit.report, target: "_blank", rel: "noopener" }, "Identification report"),
    ),
  ];
}

/** @param {string[]} sentences */
function sentenceList(sentences) {
  return el("ul", {}, ...sentences.map((sentence) => el("li", {}, sentence)));
}
