// Comparison of the formulations of inverse dynamics: operations, time per state in this browser, difference from the default.
import { brief, button, el, headRow, inRow, scrolled } from "./dom.js";
import { Formulations } from "./formulations.js";

/** @import { App } from "./app.js" */
/** @import { FormulationRow } from "./formulations.js" */

const HEADS = [
  "Formulation",
  "Written × / +",
  "Compiled × / +",
  "ns per state",
  "Difference at this state",
  "1,000 states",
];

/** @param {App} app @returns {HTMLElement} */
export function formulationPanel(app) {
  /** @type {FormulationRow[]} */
  const rows = app.robot.data.formulations ?? [];
  const status = el("p", { class: "note", role: "status" });
  const measure = button("Measure", () => run());
  const body = el("tbody");
  const lines = rows.map((row) => formulationLine(row, body));
  const panel = el(
    "div",
    { class: "formulations" },
    el(
      "p",
      {},
      "The same torques from different equations. Counts are multiplications and additions per state, as written and after simplification; times are measured in this browser.",
    ),
    scrolled(
      "Formulations",
      el("table", { class: "formulation-table" }, el("thead", {}, headRow(HEADS)), body),
    ),
    inRow(measure, status),
  );
  if (!app.robot.data.modules?.formulations) measure.disabled = true;

  /** @type {Formulations | null} */
  let kernels = null;
  /** @type {Promise<void> | null} */
  let loading = null;
  const load = () => {
    loading ??= Formulations.of(app.robot).then((loaded) => {
      kernels = loaded;
      showDifferences();
    });
    return loading;
  };
  const showDifferences = () => {
    if (!kernels || panel.offsetParent === null) return;
    const { q, qd, qdd } = app.state;
    for (const { row, here } of lines)
      if (row.kernel) here.textContent = differenceText(kernels.difference(row.kernel, q, qd, qdd));
  };
  const run = async () => {
    measure.disabled = true;
    status.textContent = "Measuring …";
    try {
      await load();
      if (!kernels) return;
      const runs = lines.filter(({ row }) => row.kernel);
      for (const { row, many } of runs)
        many.textContent = differenceText(kernels.randomDifference(row.kernel ?? ""));
      await kernels.measure(
        runs.map(({ row }) => row.kernel ?? ""),
        (name, time) => {
          for (const line of runs) if (line.row.kernel === name) line.time.textContent = brief(time, 3);
        },
      );
      status.textContent =
        "Batches of 1,024 states, the lower quartile of 20 rounds. Differences are relative to the largest torque.";
    } catch (problem) {
      status.textContent = `The formulations cannot be run here: ${problem instanceof Error ? problem.message : problem}`;
    } finally {
      measure.disabled = false;
    }
  };
  app.onChange(showDifferences);
  measureWhenSeen(panel, run, measure);
  return panel;
}

/**
 * Measures once, when the panel is first shown and the browser is idle.
 * @param {HTMLElement} panel
 * @param {() => void} run
 * @param {HTMLButtonElement} measure
 */
function measureWhenSeen(panel, run, measure) {
  const seen = new IntersectionObserver((entries) => {
    if (measure.disabled || !entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    if ("requestIdleCallback" in window) requestIdleCallback(run, { timeout: 2000 });
    else setTimeout(run, 300);
  });
  seen.observe(panel);
}

/** @param {number} difference */
function differenceText(difference) {
  return difference === 0 ? "0" : difference.toExponential(1).replace("-", "−");
}

/** @param {FormulationRow} row @param {HTMLElement} body */
function formulationLine(row, body) {
  const cell = (/** @type {string} */ text, attributes = {}) =>
    el("td", { class: "number", ...attributes }, text);
  const [time, here, many] = ["–", "–", "–"].map((text) => cell(text));
  const about = [row.kinematics, row.equations].filter(Boolean).join("; ");
  const title = el(
    "th",
    { scope: "row", title: about },
    row.title,
    row.default ? el("span", { class: "tag" }, "default") : null,
  );
  const line = el(
    "tr",
    { "data-formulation": row.name },
    title,
    countCell(row.written),
    countCell(row.compiled),
  );
  if (row.kernel) line.append(time, here, many);
  else line.append(el("td", { colspan: 3, class: "note" }, row.reason ?? ""));
  body.append(line);
  return { row, time, here, many };
}

/** @param {{multiplications: number, additions: number} | null} operations */
function countCell(operations) {
  if (!operations) return el("td", { class: "number" }, "–");
  const { multiplications, additions } = operations;
  const count = (/** @type {number} */ number) => number.toLocaleString("en");
  return el("td", { class: "number" }, `${count(multiplications)} ×`, el("br"), `${count(additions)} +`);
}
