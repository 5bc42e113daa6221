// Structural changes that require new kernels: locked joints, tip and root, payload, rotors, lengths.
import {
  button,
  checkbox,
  choice,
  el,
  folded,
  inRow,
  labelled,
  numberBox,
  softText,
  unitText,
} from "./dom.js";

/** @import { App } from "./app.js" */
/** @import { Structure, Studio } from "./studio_panel.js" */

const PAYLOAD_BOXES = /** @type {[string, string][]} */ ([
  ["Payload mass", "kg"],
  ["Payload x", "m"],
  ["Payload y", "m"],
  ["Payload z", "m"],
]);

/** The robot with the parameters of the Design tab, as TOML; null if none has been changed. @param {App} app */
export function changedDesign(app) {
  return app.design?.design.edits.size ? app.design.toml() : null;
}

/** @param {Studio} studio */
export function studioStructure(studio) {
  const { app, link, pages, status } = studio;
  /** @type {Structure} */
  const wanted = structuredClone(status.structure);
  const apply = async (/** @type {object} */ structure) =>
    studio.show(await pages.run("structure", structure));
  const takeDesign = async () => {
    const toml = changedDesign(app);
    if (toml === null) {
      pages.say("No parameter has been changed in the Design tab.");
      return;
    }
    const file = await pages.tried(() => link.send("robot", new File([toml], "design.toml")));
    if (file) studio.show(await pages.run("open", file));
  };
  const tip = wanted.tip ?? status.robot.tip;
  const root = wanted.root ?? status.robot.root;
  const links = status.robot.links.map((name) => /** @type {[string, string]} */ ([name, name]));
  const chain = inRow(
    labelled(
      "Tip ",
      choice("Tip link", links, tip, (name) => (wanted.tip = name)),
    ),
    labelled(
      "Root ",
      choice("Root link", links, root, (name) => (wanted.root = name)),
    ),
    status.robot.rotors ? checkbox("Rotors", wanted.rotors, (checked) => (wanted.rotors = checked)) : null,
  );
  return folded(
    "Structure",
    softText(
      "Each change compiles new kernels and rebuilds the page, starting from the robot as loaded. Motions are kept if the number of joints stays the same.",
    ),
    lockRows(studio, wanted),
    chain,
    payloadBoxes(studio, wanted),
    lengthRows(studio, wanted),
    inRow(
      button("Compile new kernels", () => apply(wanted)),
      button("As loaded", () => apply({})),
      button("Use the parameters of the Design tab", takeDesign),
    ),
  );
}

/** @param {Studio} studio @param {Structure} wanted */
function lockRows({ app, status }, wanted) {
  const rows = status.robot.joints.map(({ name, revolute }) => {
    const degrees = revolute && app.state.degrees;
    const factor = degrees ? 180 / Math.PI : 1;
    const shown = app.robot.joints.findIndex((joint) => joint.name === name);
    const start = wanted.lock[name] ?? (shown < 0 ? 0 : app.state.q[shown]);
    let position = start;
    const box = numberBox(`Locked position of ${name}`, Number((start * factor).toFixed(4)), (value) => {
      position = value / factor;
      if (name in wanted.lock) wanted.lock[name] = position;
    });
    const hold = checkbox(`Lock ${name} at`, name in wanted.lock, (checked) => {
      if (checked) wanted.lock[name] = position;
      else delete wanted.lock[name];
    });
    const unit = degrees ? "°" : revolute ? "rad" : "m";
    return el("div", { class: "studio-field" }, hold, box, unitText(unit));
  });
  return el("div", { class: "rows" }, ...rows);
}

/** The payload that replaces that of the robot as loaded. @param {Studio} studio @param {Structure} wanted */
function payloadBoxes({ status: { robot } }, wanted) {
  const shown = wanted.payload === null ? [robot.payload, ...robot.com] : [wanted.payload, ...wanted.com];
  const rows = PAYLOAD_BOXES.map(([label, unit], k) => {
    const put = (/** @type {number} */ value) => {
      shown[k] = value;
      [wanted.payload, ...wanted.com] = shown;
    };
    const box = numberBox(`${label}, permanent`, shown[k], put, { min: k === 0 ? 0 : null });
    return el("div", { class: "studio-field" }, el("span", {}, label), box, unitText(unit));
  });
  return el("div", { class: "rows" }, ...rows);
}

/** @param {Studio} studio @param {Structure} wanted */
function lengthRows({ status }, wanted) {
  const lengths = Object.entries(status.robot.lengths);
  if (!lengths.length) return null;
  const rows = lengths.map(([name, own]) => {
    const put = (/** @type {number} */ value) => (wanted.lengths[name] = value);
    const box = numberBox(`Length ${name}`, wanted.lengths[name] ?? own, put);
    return el("div", { class: "studio-field" }, el("span", {}, name), box, unitText("m"));
  });
  return folded(
    "Lengths of the closed chain",
    softText("Masses keep their positions in the frames of their links."),
    el("div", { class: "rows" }, ...rows),
  );
}
