// The live section of the report on an identification: terms of the model, switched off and on.

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

/** @param {HTMLElement} host @param {FitModel} model */
function fitSection(host, model) {
  const { joints } = model.fit.header;
  const shown = { joint: 0, run: 0 };
  const plots = fitPlots(model, shown);
  const choices = el(
    "p",
    { class: "fit-choices" },
    el(
      "label",
      {},
      "Joint ",
      choice({
        label: "Joint shown",
        choices: joints.map((name, j) => /** @type {[string, string]} */ ([String(j), name])),
        value: "0",
        onChange: (value) => {
          shown.joint = Number(value);
          plots.update();
        },
      }),
    ),
    el(
      "label",
      {},
      "Run ",
      choice({
        label: "Run shown",
        choices: model.fit.runs.map(
          (_, r) => /** @type {[string, string]} */ ([String(r), fitRunTitle(model, r)]),
        ),
        value: "0",
        onChange: (value) => {
          shown.run = Number(value);
          plots.update();
        },
      }),
    ),
    button("All terms on", () => model.turn(model.switches, true)),
  );
  const note = el(
    "p",
    { class: "soft" },
    "The number beside a switch is the relative error of that joint on the identification run with this term alone left out.",
  );
  host.replaceChildren(
    fitModes(model),
    fitSwitches(model),
    note,
    fitSummary(model),
    el("h3", {}, "Relative torque error, and as identified"),
    fitErrorTable(model),
    choices,
    plots.element,
  );
  plots.update();
}

/** @param {string} id */
function fitText(id) {
  return document.getElementById(id)?.textContent ?? "";
}

const fitHost = document.getElementById("fit-live");
if (fitHost)
  readFit(fitText("fit-header"), fitText("fit-arrays")).then(
    (fit) => fitSection(fitHost, new FitModel(fit)),
    () => fitHost.replaceChildren("This browser cannot unpack the data of this section; a current one can."),
  );
