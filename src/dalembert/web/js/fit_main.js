// The live section of the identification report: switches the terms of the model off and on.

import { button, choice, el } from "./dom.js";
import { readFit } from "./fit_data.js";
import { fitErrorTable, fitRunTitle } from "./fit_errors.js";
import { FitModel } from "./fit_model.js";
import { fitPlots } from "./fit_plots.js";
import { fitPercent, fitSwitches } from "./fit_switches.js";

/** @param {FitModel} model */
function fitModes(model) {
  const modes = /** @type {[boolean, string][]} */ ([
    [false, "Keep the other parameters"],
    [true, "Refit the other parameters"],
  ]);
  const boxes = modes.map(([again, title]) => {
    const box = el("input", {
      type: "radio",
      name: "fit-mode",
      checked: !again,
      onchange: () => model.setAgain(again),
    });
    return el("label", { class: "fit-choice" }, box, title);
  });
  return el("fieldset", { class: "fit-modes" }, el("legend", {}, "When a term is off"), ...boxes);
}

/** @param {FitModel} model */
function fitSummary(model) {
  const words = el("p", { class: "fit-summary", "aria-live": "polite" });
  const full = model.errors(0, model.none).all;
  const update = () => {
    const count = model.off.size;
    const off = count === 0 ? "All terms are on" : count === 1 ? "1 term is off" : `${count} terms are off`;
    const how = model.again ? "the others are refitted" : "the others are kept";
    const error = fitPercent(model.errors(0).all);
    const detail = count || model.again ? `, ${how}` : "";
    words.textContent = `${off}${detail}: relative error ${error} on the identification run (${fitPercent(full)} as identified).`;
  };
  model.listeners.push(update);
  update();
  return words;
}

/** Selection of the joint and the run that are drawn. @param {FitModel} model */
function fitChoices(model) {
  const { joints } = model.fit.header;
  const listed = (/** @type {string[]} */ names) =>
    names.map((name, k) => /** @type {[string, string]} */ ([String(k), name]));
  const joint = choice({
    label: "Joint shown",
    choices: listed(joints),
    value: "0",
    onChange: (value) => model.show({ joint: Number(value) }),
  });
  const run = choice({
    label: "Run shown",
    choices: listed(model.fit.runs.map((_, r) => fitRunTitle(model, r))),
    value: "0",
    onChange: (value) => model.show({ run: Number(value) }),
  });
  model.listeners.push(() => (joint.value = String(model.shown.joint)));
  return el(
    "p",
    { class: "fit-choices" },
    el("label", {}, "Joint ", joint),
    el("label", {}, "Run ", run),
    button("All terms on", () => model.turn(model.switches, true)),
  );
}

/** @param {HTMLElement} host @param {FitModel} model */
function fitSection(host, model) {
  const { owners, joints } = model.fit.header;
  const passive = owners.length > joints.length ? "; for a passive joint, that of all joints" : "";
  const note =
    "The number next to a switch is the relative error of that joint on the identification run when only this term is omitted";
  host.replaceChildren(
    fitModes(model),
    fitSwitches(model),
    el("p", { class: "soft" }, `${note}${passive}.`),
    fitSummary(model),
    fitChoices(model),
    fitPlots(model),
    el("h3", {}, "Relative torque error with the active terms and, below it, as identified"),
    fitErrorTable(model),
  );
}

/** @param {string} id */
function fitText(id) {
  return document.getElementById(id)?.textContent ?? "";
}

const fitHost = document.getElementById("fit-live");
if (fitHost)
  readFit(fitText("fit-header"), fitText("fit-arrays")).then(
    (fit) => fitSection(fitHost, new FitModel(fit)),
    () =>
      fitHost.replaceChildren("This browser cannot unpack the data of this section; use a current browser."),
  );
