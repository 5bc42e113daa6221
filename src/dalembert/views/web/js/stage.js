// The stage: the 3D view of the arm, its layers, and the handle at the tip.

import { Camera } from "./camera.js";
import { ColourBook } from "./stage_colours.js";
import { TipHandle } from "./stage_handle.js";
import { fitOf } from "./arm_frames.js";
import { steerByKeys, steerByPointer } from "./stage_pointer.js";
import { button, checkbox, download, el } from "./dom.js";

/** @import { GlView } from "./gl_view.js" */
/** @import { Colour, Drawn, Item } from "./items.js" */
/** @import { Robot } from "./robot.js" */
/** @import { Numbers } from "./space.js" */
/** @typedef {{start: (point: number[]) => void, move: (target: number[]) => void, end: () => void}} Drag */
/** @typedef {{make: () => Item[], shown: boolean, inside: boolean, control: HTMLInputElement | null}} Layer */

const SHARPEST = 2; // largest number of device pixels per CSS pixel that is rendered

export class Stage {
  /** @param {HTMLElement} host @param {Robot} robot @param {GlView} view */
  constructor(host, robot, view) {
    this.host = host;
    this.robot = robot;
    this.fit = fitOf(robot);
    this.camera = new Camera(this.fit);
    this.view = view;
    view.onRestored = () => this.redraw();
    this.colours = new ColourBook(host, () => this.redraw());
    /** @type {Map<string, Layer>} */
    this.layers = new Map();
    /** @type {(() => Numbers) | null} the homogeneous matrix of the tip */
    this.tipFrame = null;
    /** @type {Drag | null} */
    this.drag = null;
    this.waiting = false;
    this.ratio = 0;
    /** @type {() => void} called after each drawing */
    this.onDrawn = () => {};

    host.classList.add("stage");
    const { element } = this.view;
    element.classList.add("stage-view");
    element.setAttribute("tabindex", "0");
    element.setAttribute("role", "application");
    element.setAttribute(
      "aria-label",
      `3D view of ${robot.data.name}. Arrow keys orbit, Shift with arrow keys pans, plus and minus zoom, Home resets the view.`,
    );
    this.labels = el("div", { class: "stage-labels", "aria-hidden": "true" });
    this.handle = new TipHandle(this);
    this.boxes = el("div", { class: "stage-boxes" });
    const moved = () => this.redraw();
    const zoomed = (/** @type {number} */ factor) => () => (this.camera.zoom(factor), moved());
    host.replaceChildren(
      element,
      this.labels,
      this.handle.element,
      el(
        "div",
        { class: "stage-tools" },
        el("details", { class: "stage-menu" }, el("summary", {}, "Show"), this.boxes),
        button("⌂", () => (this.camera.home(), moved()), {
          "aria-label": "Reset the view",
          title: "Reset the view",
        }),
        button("+", zoomed(1.25), { "aria-label": "Zoom in", title: "Zoom in" }),
        button("−", zoomed(0.8), { "aria-label": "Zoom out", title: "Zoom out" }),
        button("PNG", () => this.savePicture(), {
          "aria-label": "Save the view as PNG",
          title: "Save the view as PNG",
        }),
      ),
    );
    steerByPointer(element, this.camera, moved);
    steerByKeys(element, this.camera, moved);
    new ResizeObserver(() => this.resize()).observe(host);
    this.layer("ground", () => [], { label: "Ground" });
    this.resize();
  }

  /**
   * Adds a layer or replaces the layer of that name.
   * @param {string} name
   * @param {() => Item[]} make called at each redraw
   * @param {{shown?: boolean, label?: string, inside?: boolean}} [options] label: adds a checkbox to the stage's menu;
   *   inside: its contents lie inside the arm, which is then drawn translucent
   */
  layer(name, make, { shown = true, label, inside = false } = {}) {
    const former = this.layers.get(name);
    let control = former?.control ?? null;
    if (label && !control) {
      const box = checkbox(label, shown, (checked) => this.setShown(name, checked));
      this.boxes.append(box);
      control = box.querySelector("input");
    }
    this.layers.set(name, { make, shown, inside, control });
    this.redraw();
  }

  /** @param {string} name @param {boolean} shown */
  setShown(name, shown) {
    const layer = this.layers.get(name);
    if (!layer) return;
    layer.shown = shown;
    if (layer.control) layer.control.checked = shown;
    this.redraw();
  }

  /** A colour, with this opacity if the interior of the arm is shown. @param {Colour} colour @param {number} opacity @returns {Colour} */
  faded(colour, opacity) {
    if (![...this.layers.values()].some(({ shown, inside }) => shown && inside)) return colour;
    const [red, green, blue, alpha] = this.colours.rgba(colour);
    return [red, green, blue, alpha * opacity];
  }

  /** Draws in the next animation frame. */
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.drawNow());
  }

  /** Draws immediately. */
  drawNow() {
    this.waiting = false;
    if (this.ratio !== Math.min(devicePixelRatio, SHARPEST)) this.resize();
    /** @type {Drawn[]} */
    const items = [];
    /** @type {{at: Numbers, text: string}[]} */
    const labels = [];
    for (const { make, shown } of this.layers.values()) {
      if (!shown) continue;
      for (const item of make()) {
        if (item.kind === "label") labels.push(item);
        else items.push({ ...item, rgba: this.colours.rgba(item.colour) });
      }
    }
    this.view.draw(items, this.camera, this.ground());
    this.placeLabels(labels);
    this.handle.place();
    this.onDrawn();
  }

  /** Saves the view on the colour of the page, as a PNG file. */
  savePicture() {
    this.drawNow();
    const { element } = this.view;
    const picture = el("canvas");
    Object.assign(picture, { width: element.width, height: element.height });
    const drawing = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d"));
    drawing.fillStyle = getComputedStyle(document.body).backgroundColor;
    drawing.fillRect(0, 0, picture.width, picture.height);
    drawing.drawImage(element, 0, 0);
    picture.toBlob((blob) => blob && download(`${this.robot.data.name}.png`, blob, "image/png"));
  }

  ground() {
    if (!this.layers.get("ground")?.shown) return null;
    const { up, floor, reach, centre } = this.fit;
    const shade = this.colours.number("--shadow", 0.3);
    const [rgba, line] = [this.colours.rgba("--ground"), this.colours.rgba("--grid")];
    return { height: floor, centre, radius: reach, up, rgba, line, shade };
  }

  /** @param {{at: Numbers, text: string}[]} labels */
  placeLabels(labels) {
    while (this.labels.children.length < labels.length) this.labels.append(el("span"));
    while (this.labels.children.length > labels.length) this.labels.lastElementChild?.remove();
    labels.forEach(({ at, text }, k) => {
      const label = /** @type {HTMLElement} */ (this.labels.children[k]);
      const { x, y, depth } = this.camera.project(at);
      label.textContent = text;
      label.hidden = depth <= 0;
      label.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) translate(-50%, -50%)`;
    });
  }

  resize() {
    const { clientWidth, clientHeight } = this.host;
    this.ratio = Math.min(devicePixelRatio, SHARPEST);
    this.camera.resize(clientWidth, clientHeight);
    this.view.resize(clientWidth, clientHeight, this.ratio);
    this.redraw();
  }
}
