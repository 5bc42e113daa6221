// Measured and predicted torque of a joint over time, and the residual.

import { el, svgEl } from "./dom.js";
import { fitResidual } from "./fit_algebra.js";
import { fitPercent } from "./fit_switches.js";

/** @import { FitModel } from "./fit_model.js" */
/** @typedef {{name: string, title: string}} FitCurve */

const FIT_MARGIN = { left: 62, right: 10, top: 8, bottom: 34 };
const FIT_HEIGHT = 220;

/** About `count` round numbers from low to high. @param {number} low @param {number} high @param {number} count */
export function fitTicks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((x) => x * power >= rough) ?? 10) * power;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return Array.from({ length: last - first + 1 }, (_, k) => {
    const value = (first + k) * step;
    return { value, text: value.toFixed(Math.min(places, 6)).replace("-", "−") };
  });
}

/** Axes with curves over the same instants, redrawn to fit the available width. */
class FitPlot {
  /** @param {string} title @param {FitCurve[]} curves */
  constructor(title, curves) {
    this.svg = svgEl("svg", { role: "img", "aria-label": title, height: FIT_HEIGHT });
    const key = curves.map(({ name, title: words }) =>
      el("li", {}, el("i", { class: `fit-${name}` }), words),
    );
    this.caption = el("figcaption", {});
    this.element = el("figure", {}, this.caption, el("ul", { class: "key" }, ...key), this.svg);
    this.curves = curves;
    /** @type {{t: Float64Array, values: Float64Array[], unit: string}} */
    this.data = { t: new Float64Array(), values: [], unit: "" };
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** @param {string} caption @param {string} unit @param {Float64Array} t @param {Float64Array[]} values */
  show(caption, unit, t, values) {
    this.caption.textContent = caption;
    this.data = { t, values, unit };
    this.draw();
  }

  draw() {
    const { t, values, unit } = this.data;
    const width = Math.floor(this.element.clientWidth);
    if (width < 120 || t.length < 2) return;
    const { left, right, top, bottom } = FIT_MARGIN;
    const across = fitRange([t], 0);
    const up = fitRange(values, 0.06);
    const x = (/** @type {number} */ value) =>
      left + ((value - across.low) / (across.high - across.low)) * (width - left - right);
    const y = (/** @type {number} */ value) =>
      FIT_HEIGHT - bottom - ((value - up.low) / (up.high - up.low)) * (FIT_HEIGHT - bottom - top);
    const parts = [
      ...fitTicks(up.low, up.high, 6).flatMap(({ value, text }) => [
        svgEl("line", { class: "fit-grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
        svgEl("text", { x: left - 7, y: y(value) + 4, "text-anchor": "end" }, text),
      ]),
      ...fitTicks(across.low, across.high, Math.max(4, width / 110)).map(({ value, text }) =>
        svgEl("text", { x: x(value), y: FIT_HEIGHT - bottom + 15, "text-anchor": "middle" }, text),
      ),
      svgEl("text", { x: width - right, y: FIT_HEIGHT - 3, "text-anchor": "end" }, "time (s)"),
      svgEl(
        "text",
        { class: "fit-unit", transform: `translate(11 ${FIT_HEIGHT / 2 - 10}) rotate(-90)` },
        unit,
      ),
      ...this.curves.map(({ name }, k) =>
        svgEl("path", { class: `fit-${name}`, d: fitPath(t, values[k], x, y) }),
      ),
    ];
    this.svg.setAttribute("viewBox", `0 0 ${width} ${FIT_HEIGHT}`);
    this.svg.replaceChildren(...parts);
  }
}

/** @param {Float64Array[]} values @param {number} margin of the range, on both sides */
function fitRange(values, margin) {
  let low = Infinity;
  let high = -Infinity;
  for (const some of values)
    for (const value of some) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  const more = margin * (high - low) || (high > low ? 0 : Math.max(Math.abs(high), 1e-9));
  return { low: low - more, high: high + more };
}

/** A line that is interrupted where a segment of the log ends. @param {Float64Array} t @param {Float64Array} values
 * @param {(value: number) => number} x @param {(value: number) => number} y */
function fitPath(t, values, x, y) {
  const steps = t.slice(1).map((value, k) => value - t[k]);
  const usual = Float64Array.from(steps).sort()[Math.floor(steps.length / 2)];
  let path = "";
  for (let k = 0; k < t.length; k++) {
    const begins = k === 0 || steps[k - 1] < 0 || steps[k - 1] > 20 * usual;
    path += `${begins ? "M" : "L"}${x(t[k]).toFixed(1)} ${y(values[k]).toFixed(1)}`;
  }
  return path;
}

/** Both plots of the displayed joint and run. @param {FitModel} model */
export function fitPlots(model) {
  const { joints, units } = model.fit.header;
  const torque = new FitPlot("Measured and predicted torque over time", [
    { name: "measured", title: "measured" },
    { name: "predicted", title: "predicted with the active terms" },
  ]);
  const residual = new FitPlot("Residual over time", [
    { name: "full", title: "as identified" },
    { name: "residual", title: "with the active terms" },
  ]);
  const update = () => {
    const { joint: j, run: r } = model.shown;
    const run = model.fit.runs[r];
    const joint = run.joints[j];
    const left = fitResidual(joint, model.change);
    const predicted = joint.measured.map((value, k) => value - left[k]);
    const [now, full] = [model.change, model.none].map((change) =>
      fitPercent(model.errors(r, change).joints[j]),
    );
    torque.show(`Torque of ${joints[j]}`, units[j], run.t, [joint.measured, predicted]);
    residual.show(`Residual: error ${now}, ${full} as identified`, units[j], run.t, [joint.residual, left]);
  };
  model.listeners.push(update);
  update();
  return el("div", { class: "grid two" }, torque.element, residual.element);
}
