// A figure: curves over time with a draggable cursor, limits as dashed lines, values in the legend.

import { brief, el, fixed, svgEl, unitText } from "./dom.js";
import { axisTicks } from "./ticks.js";

/**
 * A curve: its name, its colour (a CSS property), its width, and the dashed lines of its limits.
 * @typedef {{name: string, colour: string, wide?: boolean, limits?: (number | null)[]}} Curve
 * The data: instants (N,), values (N,) of each curve, and where each curve exceeds a limit.
 * @typedef {{t: Float64Array, values: Float64Array[], unit: string, beyond?: (Uint8Array | null)[]}} FigureData
 */

const FIGURE_ROOM = { left: 54, right: 10, top: 8, bottom: 22, height: 168 };
const FIGURE_NEAR_LIMIT = 1.35; // relative to the largest value; more distant limits are not drawn
let figureCount = 0;

export class Figure {
  /** @param {string} title @param {(t: number) => void} onScrub */
  constructor(title, onScrub) {
    this.title = title;
    this.onScrub = onScrub;
    this.cursor = 0;
    this.width = 0;
    /** @type {Curve[]} */
    this.curves = [];
    /** @type {FigureData | null} */
    this.data = null;
    this.scale = { x: 1, y: 1, low: 0, high: 1 };
    const id = `figure-${++figureCount}`;
    this.unit = unitText();
    this.grid = svgEl("g", { class: "grid" });
    this.lines = svgEl("g", { class: "curves" });
    this.limits = svgEl("g", { class: "limits" });
    this.beyond = svgEl("path", { class: "beyond" });
    const { top, height, bottom } = FIGURE_ROOM;
    this.line = svgEl("line", { class: "cursor", y1: top, y2: height - bottom });
    this.picture = svgEl(
      "svg",
      { role: "slider", tabindex: 0, "aria-labelledby": id, "aria-valuemin": 0, height: FIGURE_ROOM.height },
      this.grid,
      this.limits,
      this.lines,
      this.beyond,
      this.line,
    );
    this.tip = el("div", { class: "plot-tip", hidden: true });
    this.legend = el("ul", { class: "key" });
    const caption = el("figcaption", { id }, el("span", {}, title), this.unit);
    this.element = el("figure", { class: "plot" }, caption, this.picture, this.tip, this.legend);
    this.listen();
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  /** Pointer and keys. */
  listen() {
    const { picture } = this;
    let dragging = false;
    picture.addEventListener("pointerdown", (event) => {
      dragging = true;
      picture.setPointerCapture(event.pointerId);
      this.onScrub(this.timeAt(event));
    });
    picture.addEventListener("pointermove", (event) => {
      if (dragging) this.onScrub(this.timeAt(event));
      else if (event.pointerType === "mouse") this.showTip(event);
    });
    for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, () => (dragging = false));
    picture.addEventListener("pointerleave", () => (this.tip.hidden = true));
    picture.addEventListener("keydown", (event) => {
      const end = this.end();
      const step = event.shiftKey ? end / 10 : end / 100;
      const next = {
        ArrowRight: this.cursor + step,
        ArrowUp: this.cursor + step,
        ArrowLeft: this.cursor - step,
        ArrowDown: this.cursor - step,
        PageUp: this.cursor + end / 10,
        PageDown: this.cursor - end / 10,
        Home: 0,
        End: end,
      }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      this.onScrub(Math.min(Math.max(next, 0), end));
    });
  }

  /** The last instant. */
  end() {
    return this.data ? this.data.t[this.data.t.length - 1] : 0;
  }

  /** The instant under a pointer. @param {MouseEvent} event */
  timeAt(event) {
    const x = event.clientX - this.picture.getBoundingClientRect().left;
    return Math.min(Math.max((x - FIGURE_ROOM.left) / this.scale.x, 0), this.end());
  }

  /** Replaces the curves: new paths and a new legend. @param {Curve[]} curves */
  setCurves(curves) {
    this.curves = curves;
    this.paths = curves.map((curve) => {
      const path = svgEl("path", { class: curve.wide ? "wide" : null });
      path.style.stroke = `var(${curve.colour})`;
      return path;
    });
    this.lines.replaceChildren(...this.paths);
    this.values = curves.map(() => el("output", {}));
    this.legend.replaceChildren(
      ...curves.map((curve, k) => {
        const mark = el("i", {});
        mark.style.background = `var(${curve.colour})`;
        return el(
          "li",
          { title: curve.name },
          mark,
          el("span", {}, curve.name),
          /** @type {HTMLElement[]} */ (this.values)[k],
        );
      }),
    );
  }

  /** @param {FigureData} data */
  draw(data) {
    this.data = data;
    this.unit.textContent = data.unit;
    this.picture.setAttribute("aria-valuemax", String(this.end()));
    this.redraw();
  }

  resized() {
    const width = Math.floor(this.element.clientWidth);
    if (!width || width === this.width) return;
    this.width = width;
    this.picture.setAttribute("width", String(width));
    this.redraw();
  }

  redraw() {
    if (!this.data || !this.width) return;
    const { left, right, top, bottom, height } = FIGURE_ROOM;
    const { t, values, beyond } = this.data;
    const [wide, high] = [this.width - left - right, height - top - bottom];
    const range = this.range();
    const ticks = axisTicks(range.low, range.high, 5);
    this.scale = { x: wide / (this.end() || 1), y: high / (range.high - range.low), ...range };
    const { scale } = this;
    const xs = Array.from(t, (instant) => Math.round(10 * (left + instant * scale.x)) / 10);
    const y = (/** @type {number} */ value) => Math.round(10 * (top + (range.high - value) * scale.y)) / 10;
    let red = "";
    values.forEach((curve, k) => {
      const over = beyond?.[k] ?? null;
      let path = "";
      let was = false;
      for (let row = 0; row < curve.length; row++) {
        const point = `${xs[row]} ${y(curve[row])}`;
        path += row ? `L${point}` : `M${point}`;
        if (over && (over[row] || was)) {
          if (!was) red += row ? `M${xs[row - 1]} ${y(curve[row - 1])}L${point}` : `M${point}h0.1`;
          else red += `L${point}`;
        }
        was = over !== null && over[row] === 1;
      }
      this.paths?.[k]?.setAttribute("d", path);
    });
    this.beyond.setAttribute("d", red);
    this.drawLimits(y);
    this.drawGrid(ticks, y);
    this.setCursor(this.cursor);
  }

  /** The range of the values, including nearby limits. */
  range() {
    let [low, high] = [0, 0];
    for (const curve of this.data?.values ?? []) {
      for (const value of curve) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    const most = FIGURE_NEAR_LIMIT * Math.max(-low, high);
    for (const limit of this.curves.flatMap((curve) => curve.limits ?? [])) {
      if (limit === null || Math.abs(limit) > most) continue;
      low = Math.min(low, limit);
      high = Math.max(high, limit);
    }
    if (low === high) return { low: -1, high: 1 };
    const room = 0.04 * (high - low);
    return { low: low - room, high: high + room };
  }

  /** A horizontal line. @param {number} y @param {string | null} [kind] */
  level(y, kind = null) {
    const { left, right } = FIGURE_ROOM;
    return svgEl("line", { x1: left, x2: this.width - right, y1: y, y2: y, class: kind });
  }

  /** @param {(value: number) => number} y */
  drawLimits(y) {
    const { low, high } = this.scale;
    const lines = this.curves.flatMap((curve) =>
      (curve.limits ?? []).flatMap((limit) => {
        if (limit === null || limit < low || limit > high) return [];
        const line = this.level(y(limit));
        line.style.stroke = `var(${curve.colour})`;
        return [line];
      }),
    );
    this.limits.replaceChildren(...lines);
  }

  /** @param {ReturnType<typeof axisTicks>} ticks @param {(value: number) => number} y */
  drawGrid(ticks, y) {
    const { left, right, bottom, height } = FIGURE_ROOM;
    const end = this.width - right;
    const below = axisTicks(0, this.end(), Math.max(3, Math.floor(this.width / 70)));
    const marks = ticks.ticks.flatMap((value) => [
      this.level(y(value), Math.abs(value) < 1e-12 ? "zero" : null),
      svgEl("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, ticks.text(value)),
    ]);
    const times = below.ticks.map((value, k) => {
      const last = k === below.ticks.length - 1;
      const x = left + value * this.scale.x;
      const anchor = x > end - 16 ? "end" : "middle"; // within the picture
      return svgEl(
        "text",
        { x: anchor === "end" ? end + right : x, y: height - 5, "text-anchor": anchor },
        below.text(value) + (last ? " s" : ""),
      );
    });
    this.grid.replaceChildren(...marks, this.level(height - bottom, "axis"), ...times);
  }

  /** Moves the cursor and shows the values at its position. @param {number} t */
  setCursor(t) {
    this.cursor = t;
    if (!this.data || !this.width) return;
    const x = FIGURE_ROOM.left + t * this.scale.x;
    this.line.setAttribute("x1", String(x));
    this.line.setAttribute("x2", String(x));
    const now = this.valuesAt(t);
    this.values?.forEach((output, k) => (output.textContent = this.text(now[k])));
    this.picture.setAttribute("aria-valuenow", String(t));
    this.picture.setAttribute("aria-valuetext", `${brief(t, 4)} s: ${this.told(now)}`);
  }

  /** The values of all curves at an instant, by linear interpolation between the samples. @param {number} t */
  valuesAt(t) {
    const { t: instants, values } = /** @type {FigureData} */ (this.data);
    let [low, high] = [0, instants.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (instants[middle] <= t) low = middle;
      else high = middle;
    }
    const step = instants[high] - instants[low];
    const share = step > 0 ? Math.min(Math.max((t - instants[low]) / step, 0), 1) : 0;
    return values.map((curve) => curve[low] + share * (curve[high] - curve[low]));
  }

  /** A value with as many decimals as show four digits of the largest value. @param {number} value */
  text(value) {
    const most = Math.max(-this.scale.low, this.scale.high);
    if (most >= 1e6 || most < 1e-3) return Math.abs(value) < 1e-12 * most ? "0" : brief(value, 4);
    return fixed(value, Math.max(0, 3 - Math.floor(Math.log10(most))));
  }

  /** @param {number[]} values */
  told(values) {
    return `${this.curves.map((curve, k) => `${curve.name} ${this.text(values[k])}`).join(", ")} ${this.data?.unit ?? ""}`;
  }

  /** Shows the values under a hovering pointer. @param {PointerEvent} event */
  showTip(event) {
    if (!this.data) return;
    const t = this.timeAt(event);
    const now = this.valuesAt(t);
    this.tip.replaceChildren(
      el("b", {}, `${brief(t, 4)} s`),
      ...this.curves.map((curve, k) =>
        el("div", {}, el("span", {}, curve.name), el("span", {}, this.text(now[k]))),
      ),
    );
    const x = FIGURE_ROOM.left + t * this.scale.x;
    this.tip.hidden = false;
    this.tip.style.left = `${x > this.width / 2 ? x - this.tip.offsetWidth - 10 : x + 10}px`;
    this.tip.style.top = "26px";
  }
}
