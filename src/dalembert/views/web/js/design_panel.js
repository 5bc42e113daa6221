// The design tab: change the parameters of the robot, see the effect, and save it as a robot file.
import { decouplingField } from "./decoupling.js";
import { linkFields, otherFields, sliderRange } from "./design_fields.js";
import { Design } from "./design_numbers.js";
import { tomlText } from "./design_toml.js";
import {
  brief,
  button,
  choice,
  download,
  el,
  folded,
  inRow,
  labelled,
  numberBox,
  slider,
  softText,
  unitText,
} from "./dom.js";
import { inertiaTable } from "./inertia_table.js";

/** @import { App } from "./app.js" */
/** @import { DesignField } from "./design_fields.js" */

/** @param {App} app */
export function designPanel(app) {
  const { robot } = app;
  const design = new Design(robot);
  const panel = el("div", { class: "design" });
  const table = inertiaTable(robot);
  const changes = el("p", { class: "soft changes", role: "status" });
  const apply = () => {
    app.changeNumbers(design.numbers());
    show();
  };
  const change = (/** @type {string} */ name, /** @type {number} */ value) => {
    design.set(name, value);
    apply();
  };
  /** @type {{show: () => void}[]} */
  const rows = [];
  /** @type {Map<string, number>} the least value of every field */
  const least = new Map();
  const rowsOf = (/** @type {DesignField[]} */ fields) =>
    fields.map((field) => {
      least.set(field.name, field.min ?? -Infinity);
      const row = designRow(design, field, change, () => (design.reset(field.name), apply()));
      rows.push(row);
      return row.element;
    });
  const groups = robot.bodies.map((body, i) => {
    const fields = linkFields(design, i);
    const rare = fields.filter((field) => field.rare);
    return el(
      "div",
      { class: "rows", hidden: i > 0 },
      ...rowsOf(fields.filter((field) => !field.rare)),
      rare.length ? folded("More parameters", ...rowsOf(rare)) : null,
    );
  });
  const which = choice(
    "Link",
    robot.bodies.map((body, i) => [String(i), `${body.name} (${body.joint})`]),
    "0",
    (value) => groups.forEach((group, i) => (group.hidden = String(i) !== value)),
  );
  const decoupling = robot.data.design.decoupling ? decouplingField(app, design, change) : null;
  const { toml, why_not } = robot.data.design;
  const save = button(
    "Save the robot as TOML",
    () => download(`${designFileName(robot.data.name)}.toml`, text(), "application/toml"),
    {
      disabled: toml === null,
      title: toml === null ? `No robot file: ${why_not}` : "Save a robot file that dalembert can read",
    },
  );
  const text = () => tomlText(toml, design.changedParts(), design.fileNumbers());

  const show = () => {
    for (const row of rows) row.show();
    const count = design.edits.size;
    changes.textContent = count
      ? `${count} ${count === 1 ? "parameter" : "parameters"} changed.`
      : "All parameters are those of the robot file.";
    table.show(app.state.q);
    decoupling?.show(app.state.q);
  };
  panel.append(
    inRow(
      labelled("Link ", which),
      button("Reset all", () => (design.reset(), apply())),
      save,
    ),
    changes,
    ...groups,
    folded("Gravity and tip", ...rowsOf(otherFields(design))),
    ...(decoupling ? [decoupling.element] : []),
    table.element,
  );
  if (robot.data.loops.length)
    panel.append(
      softText(
        "Lengths of a closed chain cannot be changed here, because its loops are solved for the original lengths.",
      ),
    );
  const edits = () => {
    // gravity can also be changed elsewhere on the page
    Array.from(robot.numbers.gravity, (g, k) => design.set(`g${"xyz"[k]}`, g));
    return design.edits;
  };
  app.onChange(() => (edits(), show()), panel);
  const fits = (/** @type {string} */ name, /** @type {number} */ value) =>
    value >= (least.get(name) ?? Infinity);
  app.design = { design, change, toml: text, edits, fits };
  return panel;
}

/** A field with a slider, a number box and a reset button; it is marked while its value differs from the robot file.
 * @param {Design} design @param {DesignField} field @param {(name: string, value: number) => void} change @param {() => void} reset */
function designRow(design, field, change, reset) {
  const { name, label, unit, min } = field;
  const [least, most] = sliderRange(design.value(name), field);
  const put = (/** @type {number} */ value) => change(name, value);
  const range = slider(label, design.value(name), put, { min: least, max: most, step: "any" });
  const box = numberBox(`${label}, exact`, design.value(name), put, { min });
  const back = button("↺", reset, {
    "aria-label": `Reset ${label}`,
    title: "Reset to the value in the robot file",
    class: "back",
  });
  const element = el(
    "div",
    { class: "field design-field" },
    el("span", { class: "name", title: label }, label),
    range,
    box,
    unitText(unit),
    back,
  );
  return {
    element,
    show() {
      const value = design.value(name);
      const changed = design.edits.has(name);
      range.value = String(value);
      if (document.activeElement !== box) {
        box.value = String(Number(value.toPrecision(6)));
        box.setAttribute("aria-invalid", "false");
      }
      element.classList.toggle("changed", changed);
      element.title = changed ? `${label}: ${brief(design.original(name), 6)} ${unit} in the robot file` : "";
      back.disabled = !changed;
    },
  };
}

/** @param {string} name */
function designFileName(name) {
  return `${name.replace(/[^\w.-]+/g, "_") || "robot"}-changed`;
}
