// The address of the page as its state: what follows # holds the tab, the state of the arm, the view, the motion and the changed
// parameters, so that a copied address shows the same.

/** @import { App } from "./app.js" */
/** @import { MotionPanel } from "./motion_panel.js" */

const SETTLED = 400; // ms after the last change, when the address is written
const DIGITS = 7;

/** @param {ArrayLike<number>} values */
const written = (values) => Array.from(values, (x) => Number(x.toPrecision(DIGITS))).join(",");

/** The numbers of an entry, or null if they are not `count` finite ones. @param {string | null} text @param {number} count */
function numbersIn(text, count) {
  const values = text?.split(",").map(Number) ?? [];
  return values.length === count && values.every(Number.isFinite) ? values : null;
}

/** The state of the page in the notation of addresses. @param {App} app */
export function stateInWords(app) {
  const { q, qd, qdd } = app.state;
  const words = new URLSearchParams();
  const tab = document.querySelector('[role="tab"][aria-selected="true"]')?.id;
  if (tab) words.set("tab", tab.replace("tab-", ""));
  const motion = /** @type {MotionPanel | undefined} */ (app.panels.motion);
  const follows = tab === "tab-motion" && motion?.study;
  if (follows) {
    words.set("motion", motion.study?.motion.name ?? "");
    words.set("t", written([motion.player.t]));
  } else {
    words.set("q", written(q));
    for (const [name, values] of /** @type {[string, Float64Array][]} */ ([
      ["qd", qd],
      ["qdd", qdd],
    ]))
      if (values.some(Boolean)) words.set(name, written(values));
  }
  const { tip_wrench } = app.robot.numbers;
  if (tip_wrench.some(Boolean)) words.set("wrench", written(tip_wrench));
  const edits = app.design?.edits() ?? new Map();
  if (edits.size)
    words.set("design", [...edits].map(([name, value]) => `${name}:${written([value])}`).join(","));
  const camera = app.stage?.camera;
  if (camera) {
    const { azimuth, elevation, distance, target } = camera;
    words.set("view", written([azimuth, elevation, distance, ...target]));
  }
  return words.toString();
}

/** Shows the state that an address holds; entries that do not fit this arm are left out. @param {App} app @param {string} text */
export function showState(app, text) {
  const words = new URLSearchParams(text);
  const { n } = app.robot;
  app.take(null);
  for (const edit of words.get("design")?.split(",") ?? []) {
    const [name, value] = edit.split(":");
    if (value && app.design?.fits(name, Number(value))) app.design.change(name, Number(value));
  }
  const wrench = numbersIn(words.get("wrench"), 6);
  if (wrench) app.changeNumbers({ tip_wrench: wrench });
  const state = Object.fromEntries(
    ["q", "qd", "qdd"].map((name) => [name, numbersIn(words.get(name), n) ?? undefined]),
  );
  app.change(/** @type {any} */ (state));
  const motion = /** @type {MotionPanel | undefined} */ (app.panels.motion);
  const chosen = motion?.motions.findIndex(({ name }) => name === words.get("motion")) ?? -1;
  if (motion && chosen >= 0) {
    motion.choose(chosen);
    motion.player.seek(numbersIn(words.get("t"), 1)?.[0] ?? 0);
  }
  const tab = words.get("tab");
  if (tab && /^\w+$/.test(tab)) document.getElementById(`tab-${tab}`)?.click();
  const view = numbersIn(words.get("view"), 6);
  if (view && app.stage) {
    const [azimuth, elevation, distance, ...target] = view;
    Object.assign(app.stage.camera, { azimuth, elevation, distance: Math.max(distance, 1e-6), target });
    app.stage.redraw();
  }
}

/** Shows the state of the address, and writes the later states into it, except in a frame without an address. @param {App} app */
export function linkState(app) {
  if (location.protocol === "about:") return;
  if (location.hash.length > 1) showState(app, location.hash.slice(1));
  let waiting = 0;
  const write = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (app.busy) return write();
      const words = stateInWords(app);
      if (words !== location.hash.slice(1)) history.replaceState(null, "", `#${words}`);
    }, SETTLED);
  };
  app.onChange(write);
  if (app.stage) app.stage.onDrawn = write;
  addEventListener("hashchange", () => showState(app, location.hash.slice(1)));
}
