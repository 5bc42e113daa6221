// Orbit, pan and zoom by mouse, wheel, one or two fingers, and keys.

/** @import { Camera } from "./camera.js" */

const KEY_STEP = 14; // pointer displacement in pixels equivalent to one key press
const KEY_ZOOM = 1.15;

/** @param {HTMLElement | SVGElement} element @param {Camera} camera @param {() => void} moved called after the camera has moved */
export function steerByPointer(element, camera, moved) {
  /** @type {Map<number, {x: number, y: number}>} */
  const fingers = new Map();
  const pair = () => {
    const [a, b] = [...fingers.values()];
    return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.max(Math.hypot(a.x - b.x, a.y - b.y), 1) };
  };
  const down = (/** @type {PointerEvent} */ event) => {
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    element.setPointerCapture(event.pointerId);
  };
  const move = (/** @type {PointerEvent} */ event) => {
    const finger = fingers.get(event.pointerId);
    if (!finger || fingers.size > 2) return;
    const before = fingers.size === 2 ? pair() : null;
    const [dx, dy] = [event.clientX - finger.x, event.clientY - finger.y];
    [finger.x, finger.y] = [event.clientX, event.clientY];
    if (before) {
      const now = pair();
      camera.pan(now.x - before.x, now.y - before.y);
      camera.zoom(now.apart / before.apart);
    } else if (event.shiftKey || event.buttons & 6) {
      camera.pan(dx, dy);
    } else {
      camera.orbit(dx, dy);
    }
    moved();
  };
  const up = (/** @type {PointerEvent} */ event) => fingers.delete(event.pointerId);
  const wheel = (/** @type {WheelEvent} */ event) => {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1);
    camera.zoom(Math.exp(-0.0012 * Math.max(-400, Math.min(400, pixels))));
    moved();
  };
  /** @type {[string, (event: any) => void][]} */
  const listeners = [["pointerdown", down], ["pointermove", move], ["pointerup", up], ["pointercancel", up]]; // prettier-ignore
  for (const [name, listener] of listeners) element.addEventListener(name, listener);
  element.addEventListener("wheel", /** @type {any} */ (wheel), { passive: false });
  element.addEventListener("contextmenu", (event) => event.preventDefault());
}

/** The screen displacement of an arrow key, right and down, or null. @param {string} key @returns {[number, number] | null} */
export function arrowStep(key) {
  /** @type {Record<string, [number, number]>} */
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  return steps[key] ?? null;
}

/** @param {HTMLElement | SVGElement} element @param {Camera} camera @param {() => void} moved */
export function steerByKeys(element, camera, moved) {
  element.addEventListener("keydown", (/** @type {any} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = arrowStep(event.key);
    if (step) camera[event.shiftKey ? "pan" : "orbit"](KEY_STEP * step[0], KEY_STEP * step[1]);
    else if (event.key === "+" || event.key === "=") camera.zoom(KEY_ZOOM);
    else if (event.key === "-" || event.key === "_") camera.zoom(1 / KEY_ZOOM);
    else if (event.key === "Home") camera.home();
    else return;
    event.preventDefault();
    moved();
  });
}
