// Elements of the page, created by function calls: text from a robot file is never parsed as markup.

/** @typedef {Record<string, any>} Attributes */
/** @typedef {Node | string | null} Child */

/** @param {Element} element @param {Attributes} attributes @param {Child[]} children */
function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") /** @type {any} */ (element)[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
}

/** @template {keyof HTMLElementTagNameMap} K @param {K} tag @param {Attributes} [attributes] @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]} */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  furnish(element, attributes, children);
  return element;
}

/** @template {keyof SVGElementTagNameMap} K @param {K} tag @param {Attributes} [attributes] @param {...Child} children
 * @returns {SVGElementTagNameMap[K]} */
export function svgEl(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  furnish(element, attributes, children);
  return element;
}

/** A number with a given number of decimals, without negative zero. @param {number} value @param {number} [digits] */
export function fixed(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  const text = value.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

/** A number with a given number of significant digits. @param {number} value @param {number} [digits] */
export function brief(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const text =
    size !== 0 && (size >= 1e6 || size < 1e-4)
      ? value.toExponential(digits - 1)
      : String(Number(value.toPrecision(digits)));
  return text.replace("-", "−").replace("e-", "e−");
}

/** Controls side by side. @param {...Child} children */
export function inRow(...children) {
  return el("p", { class: "row" }, ...children);
}

/** Content behind a title that opens it. @param {string} title @param {...Child} children */
export function folded(title, ...children) {
  return el("details", {}, el("summary", {}, title), ...children);
}

/** An explanation in a subdued colour. @param {...Child} children */
export function softText(...children) {
  return el("p", { class: "soft" }, ...children);
}

/** Text and the control that it names. @param {...Child} children */
export function labelled(...children) {
  return el("label", {}, ...children);
}

/** @param {string} [text] */
export function unitText(text = "") {
  return el("span", { class: "unit" }, text);
}

/** A row of column headings. @param {string[]} names */
export function headRow(names) {
  return el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name)));
}

/** @param {string} text @param {() => void} onClick @param {Attributes} [attributes] */
export function button(text, onClick, attributes = {}) {
  return el("button", { type: "button", onclick: onClick, ...attributes }, text);
}

/** @param {string} label @param {boolean} checked @param {(checked: boolean) => void} onChange */
export function checkbox(label, checked, onChange) {
  const box = el("input", { type: "checkbox", checked, onchange: () => onChange(box.checked) });
  return el("label", { class: "check" }, box, label);
}

/** @param {string} label @param {[string, string][]} choices @param {string} value @param {(value: string) => void} onChange */
export function choice(label, choices, value, onChange) {
  const list = el("select", { "aria-label": label, onchange: () => onChange(list.value) });
  for (const [name, title] of choices) list.append(el("option", { value: name }, title));
  list.value = value;
  return list;
}

/** Choices of numbers with a unit. @param {string[]} values @param {string} unit @returns {[string, string][]} */
export function withUnit(values, unit) {
  return values.map((value) => [value, `${value} ${unit}`]);
}

/** The label of a joint, which may break after the separators of its words; its full name is the title. @param {string} label @param {string} name */
export function jointLabel(label, name) {
  const words = label.split(/(?<=[_/.])/).flatMap((word, k) => (k ? [el("wbr"), word] : [word]));
  return el("span", { class: label.length > 12 ? "name long" : "name", title: name }, ...words);
}

const LARGEST = 1e9; // products of larger values overflow, so torques would not be finite

const NUMBER_TEXT = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i;

/** A number as typed, with a decimal point or comma; NaN for any other text. A number input of a browser would instead drop the letters
 * that it does not expect, and read 12,5 as 125. @param {string} text */
export function typedNumber(text) {
  const plain = text.trim().replace("−", "-");
  return NUMBER_TEXT.test(plain) ? Number(plain.replace(",", ".")) : NaN;
}

/** A number box; an invalid or out-of-range value is marked and not passed on. @param {string} label @param {number} value
 * @param {(value: number) => void} onInput @param {{min?: number | null, max?: number | null}} [range] */
export function numberBox(label, value, onInput, { min = null, max = null } = {}) {
  const [least, most] = [min ?? -LARGEST, max ?? LARGEST];
  const box = el("input", {
    type: "text",
    class: "number",
    "aria-label": label,
    value: String(value),
    inputmode: "decimal",
    autocomplete: "off",
    spellcheck: "false",
  });
  const take = () => {
    const number = typedNumber(box.value);
    const wrong = !(number >= least && number <= most);
    box.setAttribute("aria-invalid", String(wrong));
    box.title = wrong && box.value ? `A number such as 12.5${allowedRange(min, max)}` : "";
    if (!wrong) onInput(number);
  };
  box.addEventListener("input", take);
  box.addEventListener("change", () => {
    if (box.ariaInvalid === "false") box.value = String(typedNumber(box.value));
  });
  box.addEventListener("keydown", (event) => {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!step || Number.isNaN(typedNumber(box.value))) return;
    event.preventDefault();
    box.value = String(Math.min(Math.max(Number((typedNumber(box.value) + step).toFixed(9)), least), most));
    take();
  });
  return box;
}

/** @param {number | null} min @param {number | null} max */
function allowedRange(min, max) {
  if (min === null) return max === null ? "" : `, at most ${brief(max)}`;
  return max === null ? `, at least ${brief(min)}` : `, from ${brief(min)} to ${brief(max)}`;
}

/** @param {string} label @param {number} value @param {(value: number) => void} onInput
 * @param {{min?: number, max?: number, step?: number | string}} [range] */
export function slider(label, value, onInput, { min = -1, max = 1, step = "any" } = {}) {
  const range = el("input", {
    type: "range",
    "aria-label": label,
    min,
    max,
    step,
    oninput: () => onInput(range.valueAsNumber),
  });
  range.value = String(value);
  return range;
}

/** Sets the value of a control, unless the user is typing in it. @param {HTMLInputElement} control @param {number} value @param {number} [digits] */
export function show(control, value, digits = 6) {
  if (document.activeElement === control && control.type === "text") return;
  control.value = String(Number(value.toFixed(digits)));
  control.setAttribute("aria-invalid", "false");
}

/** A row with a name, a slider and a number box for the same value; `set` shows another value. @param {{label: string, value: number, min?: number,
 * max?: number, unit?: string, title?: Element, least?: number | null, onInput: (value: number) => void}} field title: instead of the label; least: the
 * smallest number allowed in the box */
export function sliderField({ label, value, min, max, least = null, unit, title, onInput }) {
  const put = (/** @type {number} */ next) => {
    set(next);
    onInput(next);
  };
  const range = slider(label, value, put, { min, max });
  const box = numberBox(`${label}, exact`, Number(value.toFixed(6)), put, { min: least });
  const set = (/** @type {number} */ next) => {
    range.value = String(next);
    show(box, next);
  };
  const name = title ?? el("span", { class: "name", title: label }, label);
  return {
    element: el("div", { class: "field" }, name, range, box, unit === undefined ? null : unitText(unit)),
    set,
  };
}

/** A number box that may stay empty, which then means null. @param {string} label @param {string} placeholder @param {(value: number | null) => void} onInput */
export function optionalNumberBox(label, placeholder, onInput) {
  const box = numberBox(label, NaN, onInput, { min: 0 });
  box.value = "";
  box.placeholder = placeholder;
  box.addEventListener("input", () => {
    if (box.value === "") onInput(null);
  });
  return box;
}

/** A labelled container for content that may be wider than its column: it scrolls, also by keyboard. @param {string} label @param {Element} content */
export function scrolled(label, content) {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, content);
}

/** Offers a file as a download. In a frame, browsers block downloads silently, so the page says what to do. @param {string} name
 * @param {BlobPart} content @param {string} type */
export function download(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  if (window.parent === window) return;
  const words = `${name}: if it was not saved, this frame does not allow downloads; open the page in its own tab.`;
  const notice = el("p", { class: "notice toast", role: "status" }, words);
  document.body.append(notice);
  setTimeout(() => notice.remove(), 8000);
}
