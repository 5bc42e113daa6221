// The switches of a fit's terms: one row per kind, one column per joint, and the error without each term.

import { el, scrolled } from "./dom.js";

/** @import { FitModel, FitSwitch } from "./fit_model.js" */

/** A relative error in percent. @param {number} share */
export function fitPercent(share) {
  const percent = 100 * share;
  return `${percent >= 1000 ? percent.toExponential(1) : percent.toFixed(percent >= 99.95 ? 0 : 2)} %`;
}

/** @param {FitModel} model @returns {HTMLElement} */
export function fitSwitches(model) {
  const { kinds, owners } = model.fit.header;
  const columns = [...new Set(model.switches.map((each) => each.owner))].filter((owner) => owner >= 0);
  columns.sort((a, b) => a - b);
  /** @type {Map<FitSwitch, HTMLElement>} */
  const effects = new Map();
  /** @type {(() => void)[]} */
  const refresh = [];
  const rows = kinds.map((title, kind) => {
    const mine = model.switches.filter((each) => each.kind === kind);
    const all = fitBox(model, mine, `${title}, all joints`, refresh);
    const cells = columns.map((owner) => {
      const own = mine.find((each) => each.owner === owner);
      if (!own) return el("td", { class: "none" }, "–");
      const effect = el("small", {});
      effects.set(own, effect);
      return el(
        "td",
        {},
        el("label", {}, fitBox(model, [own], `${title} of ${owners[owner]}`, refresh), effect),
      );
    });
    return el("tr", {}, el("th", { scope: "row" }, el("label", {}, all, title)), ...cells);
  });
  const head = columns.map((owner) => el("th", { scope: "col" }, owners[owner]));
  const table = el(
    "table",
    { class: "fit-switches" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "term"), ...head)),
    el("tbody", {}, ...rows),
  );
  let shown = /** @type {boolean | null} */ (null);
  const update = () => {
    for (const each of refresh) each();
    if (shown === model.again) return;
    shown = model.again;
    for (const [own, effect] of effects) effect.textContent = fitPercent(fitEffect(model, own));
  };
  model.listeners.push(update);
  update();
  return scrolled("Terms of the model", table);
}

/** A checkbox that toggles several switches together. @param {FitModel} model @param {FitSwitch[]} switches @param {string} name
 * @param {(() => void)[]} refresh */
function fitBox(model, switches, name, refresh) {
  const box = el("input", {
    type: "checkbox",
    "aria-label": name,
    onchange: () => model.turn(switches, box.checked),
  });
  refresh.push(() => {
    const off = switches.filter((each) => model.off.has(each)).length;
    box.checked = off === 0;
    box.indeterminate = off > 0 && off < switches.length;
  });
  return box;
}

/** The error of the identification run when only this term is omitted: of its joint, or of all joints if that joint is not driven.
 * @param {FitModel} model @param {FitSwitch} own */
function fitEffect(model, own) {
  const errors = model.errors(0, model.changeWithout([own]));
  const joint = model.jointOf(own);
  return joint < 0 ? errors.all : errors.joints[joint];
}
