// Equations of motion: closed forms of small arms, and the current values of B, C, g and τ.
import { brief, button, el, folded, scrolled } from "./dom.js";
import { formula, formulaPieces } from "./formula.js";

/** @import { App } from "./app.js" */
/** @typedef {[name: string, right: string | string[]]} Entry */
/** @typedef {{values: Float64Array, unit: (i: number, j: number) => string}} Field */

const NOISE = 1e-14; // relative to the largest value
const MOST_ZEROS = 3; // number of joints up to which zero entries are written as well
/** @type {{key: keyof ValuesNow, title: string, square: boolean}[]} */
const FIELDS = [
  { key: "B", title: "Inertia matrix B(q)", square: true },
  { key: "C", title: "Coriolis and centrifugal matrix C(q, q̇)", square: true },
  { key: "g", title: "Gravity g(q)", square: false },
  { key: "tau", title: "Torques τ", square: false },
];

/** The entries of a field: their indices, their place in the values, and their name. @param {typeof FIELDS[0]} field @param {number} n */
function entriesOf({ key, square }, n) {
  return Array.from({ length: square ? n * n : n }, (_, at) => {
    const [i, j] = square ? [Math.floor(at / n), at % n] : [at, 0];
    return { i, j, at, name: `${key} ${i + 1}${square ? ` ${j + 1}` : ""}` };
  });
}

/** @param {App} app @returns {HTMLElement} */
export function equationsPanel(app) {
  const { equations } = app.robot.data;
  const panel = el("div", { class: "equations" });
  const cells = valueTables(app, panel);
  const written = equations && !equations.reason;
  /** @type {EntryRow[]} */
  const rows = written
    ? FIELDS.flatMap((field) => closedForm(app, panel, equations[field.key], field, cells))
    : [];
  if (written) panel.append(lettersTable(equations));
  else
    panel.prepend(
      el("p", { class: "note" }, equations?.reason ?? "This page was written without closed forms."),
    );
  const update = () => {
    if (panel.offsetParent === null) return;
    const now = valuesNow(app);
    for (const cell of cells.values()) cell.show(now);
    for (const row of rows) row.show(now);
  };
  app.onChange(update);
  panel.addEventListener("dalembert:shown", update);
  new IntersectionObserver(update).observe(panel);
  return panel;
}

/** @typedef {{B: Float64Array, C: Float64Array, g: Float64Array, tau: Float64Array}} ValuesNow */

/** @param {App} app @returns {ValuesNow} */
function valuesNow({ robot, state }) {
  const { q, qd, qdd } = state;
  return {
    B: robot.inertiaMatrix(q),
    C: robot.coriolisMatrix(q, qd),
    g: robot.gravityTorque(q),
    tau: robot.inverseDynamics(q, qd, qdd),
  };
}

/** The unit of an entry, from the types of its joints. @param {App} app @param {string} key @param {number} i @param {number} j */
export function entryUnit(app, key, i, j) {
  const turns = [i, j].map((k) => Number(app.robot.joints[k].revolute));
  if (key === "B") return ["kg", "kg m", "kg m²"][turns[0] + turns[1]];
  if (key === "C") return ["kg/s", "kg m/s", "kg m²/s"][turns[0] + turns[1]];
  return turns[0] ? "N m" : "N";
}

/** @typedef {{show: (now: ValuesNow) => void, mark: (on: boolean) => void}} ValueCell */

/** Tables of all entries, by name: "B 1 2". @param {App} app @param {HTMLElement} panel */
function valueTables(app, panel) {
  const { n, joints } = app.robot;
  /** @type {Map<string, ValueCell>} */
  const cells = new Map();
  const tables = el("div", { class: "value-tables" });
  const digits = n > 5 ? 3 : 4;
  for (const field of FIELDS) {
    const { key } = field;
    const letter = key === "tau" ? "τ" : key;
    const lines = joints.map(({ name }, i) =>
      el("tr", {}, el("th", { scope: "row", title: name }, String(i + 1))),
    );
    for (const { i, j, at, name } of entriesOf(field, n)) {
      const cell = el("td", { "data-entry": name, title: entryUnit(app, key, i, j) });
      cells.set(name, {
        show: (now) => (cell.textContent = withoutNoise(now[key], at, digits)),
        mark: (on) => cell.classList.toggle("marked", on),
      });
      lines[i].append(cell);
    }
    const table = el("table", { class: "matrix" }, el("caption", {}, `${letter} now`), ...lines);
    tables.append(scrolled(`${letter} now`, table));
  }
  panel.append(tables);
  return cells;
}

/**
 * A value with a given number of digits; a rounding residue, negligible relative to the largest value, is shown as 0.
 * @param {Float64Array} values
 * @param {number} at
 * @param {number} digits
 */
function withoutNoise(values, at, digits) {
  const largest = values.reduce((size, value) => Math.max(size, Math.abs(value)), 0);
  return brief(Math.abs(values[at]) <= NOISE * largest ? 0 : values[at], digits);
}

/** @typedef {{show: (now: ValuesNow) => void}} EntryRow */

/**
 * The entries of one matrix or vector, each with its formula; the current value is shown while the pointer or the focus is on
 * the entry, and stays after a click.
 * @param {App} app @param {HTMLElement} panel @param {any} entries @param {typeof FIELDS[0]} field @param {Map<string, ValueCell>} cells
 * @returns {EntryRow[]}
 */
function closedForm(app, panel, entries, field, cells) {
  const { n } = app.robot;
  const { key, title, square } = field;
  const list = el("div", { class: "formulas", role: "group", "aria-label": title }, el("h3", {}, title));
  let zeros = false;
  /** @type {EntryRow[]} */
  const rows = [];
  for (const { i, j, at, name } of entriesOf(field, n)) {
    /** @type {Entry} */
    const entry = square ? entries[i][j] : entries[i];
    const alike = key === "B" && j !== i;
    if (alike && j < i) continue;
    if (n > MOST_ZEROS && entry[1] === "0") {
      zeros = true;
      continue;
    }
    const names = alike ? [entry[0], entries[j][i][0]] : [entry[0]];
    const value = el("output", { class: "value", "aria-live": "off" });
    const press = () => row.setAttribute("aria-pressed", String(row.getAttribute("aria-pressed") !== "true"));
    const row = button("", press, { class: "formula", "aria-pressed": "false", "data-entry": name });
    row.append(...names.flatMap((left) => [formula(left), "\u00a0= "]), ...rightSide(entry[1]), " ", value);
    const look = (/** @type {boolean} */ on) => cells.get(name)?.mark(on);
    row.addEventListener("pointerenter", () => look(true));
    row.addEventListener("focus", () => look(true));
    row.addEventListener("pointerleave", () => look(document.activeElement === row));
    row.addEventListener("blur", () => look(false));
    const unit = entryUnit(app, key, i, j);
    rows.push({ show: (now) => (value.textContent = `= ${withoutNoise(now[key], at, 6)} ${unit}`) });
    list.append(row);
  }
  if (zeros) list.append(el("p", { class: "note" }, "All other entries are 0."));
  panel.append(list);
  return rows;
}

/** The pieces of a formula, with possible line breaks between them. @param {string | string[]} right @returns {(Element | string)[]} */
function rightSide(right) {
  const parts = typeof right === "string" ? [right] : right;
  const signed = parts.map((part, k) => (k && !part.startsWith("-") ? `+ ${part}` : part));
  return signed.flatMap((part, k) => formulaPieces(part, k > 0).flatMap((piece) => [piece, " "]));
}

/** The meaning of the symbols. @param {{angles: [string, string][], letters: [string, number, string][]}} equations */
function lettersTable({ angles, letters }) {
  const table = el("table", { class: "letters" });
  const line = (/** @type {string} */ name, /** @type {Node[]} */ ...cells) =>
    table.append(el("tr", {}, el("th", { scope: "row" }, formula(name)), ...cells));
  for (const [name, meaning] of angles) line(name, el("td", { colspan: 2 }, formula(meaning)));
  for (const [name, value, meaning] of letters)
    line(name, el("td", { class: "number" }, brief(value, 6)), el("td", {}, meaning));
  return folded("Symbols and their values (SI units) in the robot file", scrolled("Symbols", table));
}
