// The table of relative errors: for every run, for all joints and each joint, now and with all terms.

import { el, scrolled } from "./dom.js";
import { fitPercent } from "./fit_switches.js";

/** @import { FitModel } from "./fit_model.js" */

/** @param {FitModel} model @returns {HTMLElement} */
export function fitErrorTable(model) {
  const { joints } = model.fit.header;
  const full = model.fit.runs.map((_, run) => fitListed(model.errors(run, model.none)));
  /** @type {HTMLDataElement[][]} */
  const cells = full.map((values) => values.map(() => el("data", {})));
  const rows = model.fit.runs.map((run, r) =>
    el(
      "tr",
      { "data-run": r },
      el("th", { scope: "row" }, fitRunTitle(model, r)),
      ...cells[r].map((cell, k) => el("td", {}, cell, el("small", {}, fitPercent(full[r][k])))),
    ),
  );
  const head = ["run", "all joints", ...joints].map((name) => el("th", { scope: "col" }, name));
  const update = () =>
    model.fit.runs.forEach((_, r) =>
      fitListed(model.errors(r)).forEach((value, k) => {
        const cell = cells[r][k];
        cell.value = String(value);
        cell.textContent = fitPercent(value);
        const change = value - full[r][k];
        cell.className = Math.abs(change) < 5e-5 ? "" : change > 0 ? "worse" : "better";
      }),
    );
  model.listeners.push(update);
  update();
  return scrolled(
    "Errors of the model",
    el("table", { class: "fit-errors" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)),
  );
}

/** @param {{all: number, joints: number[]}} errors */
function fitListed(errors) {
  return [errors.all, ...errors.joints];
}

/** @param {FitModel} model @param {number} run */
export function fitRunTitle(model, run) {
  if (run === 0) return "identification run";
  return model.fit.runs.length > 2 ? `validation run ${run}` : "validation run";
}
