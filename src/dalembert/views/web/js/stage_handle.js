// The handle at the arm's tip: dragged by a pointer or moved by arrow keys, in the plane that faces the camera.

import { arrowStep } from "./stage_pointer.js";
import { columnOf } from "./space.js";
import { el } from "./dom.js";

/** @import { Stage } from "./stage.js" */

const KEY_SHARE = 0.01; // share of the arm's reach per key press

export class TipHandle {
  /** @param {Stage} stage */
  constructor(stage) {
    this.stage = stage;
    /** @type {{point: number[], x: number, y: number} | null} start of the drag: the tip, and the pointer relative to it */
    this.from = null;
    this.element = el("button", {
      type: "button",
      class: "stage-handle",
      title: "Drag the tip",
      "aria-label": "Tip of the arm. Drag it, or move it with the arrow keys, in the plane of the screen.",
      onpointerdown: (/** @type {PointerEvent} */ event) => this.start(event),
      onpointermove: (/** @type {PointerEvent} */ event) => this.move(event),
      onpointerup: () => this.end(),
      onpointercancel: () => this.end(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
    });
  }

  /** The tip in base coordinates. */
  tip() {
    return columnOf(/** @type {() => import("./space.js").Numbers} */ (this.stage.tipFrame)(), 3);
  }

  /** Places the handle at the screen position of the tip. */
  place() {
    const { stage, element } = this;
    element.hidden = !stage.drag || !stage.tipFrame;
    if (element.hidden) return;
    const { x, y } = stage.camera.project(this.tip());
    element.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) translate(-50%, -50%)`;
  }

  /** @param {PointerEvent} event */
  start(event) {
    if (event.button !== 0 || this.from) return;
    const point = this.tip();
    const seen = this.stage.camera.project(point);
    this.element.setPointerCapture(event.pointerId);
    this.from = { point, x: event.clientX - seen.x, y: event.clientY - seen.y };
    this.stage.drag?.start(point);
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (!this.from) return;
    const { point, x, y } = this.from;
    this.stage.drag?.move(this.stage.camera.inPlane(event.clientX - x, event.clientY - y, point));
  }

  end() {
    if (!this.from) return;
    this.from = null;
    this.stage.drag?.end();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = arrowStep(event.key);
    const { camera, drag, fit } = this.stage;
    if (!step || !drag || this.from) return;
    event.preventDefault();
    const point = this.tip();
    const seen = camera.project(point);
    const pixels = KEY_SHARE * fit.reach * seen.scale;
    drag.start(point);
    drag.move(camera.inPlane(seen.x + pixels * step[0], seen.y + pixels * step[1], point));
    drag.end();
  }
}
