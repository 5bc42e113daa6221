// Keys of the whole page: the space bar plays or pauses the simulation or the motion of the open tab, and Esc closes menus.

/** @import { App } from "./app.js" */
/** @import { MotionPanel } from "./motion_panel.js" */

const OWN_SPACE = "button, input, select, textarea, summary, a, [role=slider], [role=tab]"; // elements that use the key

/** A menu closes with Esc, and with a click or a focus elsewhere. */
export function closeMenus() {
  const menus = () =>
    /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("details.stage-menu[open]"));
  for (const kind of ["pointerdown", "focusin"])
    addEventListener(kind, ({ target }) => {
      for (const menu of menus()) if (!menu.contains(/** @type {Node} */ (target))) menu.open = false;
    });
  addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    for (const menu of menus()) {
      menu.open = false;
      menu.querySelector("summary")?.focus();
    }
  });
}

/** @param {App} app */
export function playBySpace(app) {
  addEventListener("keydown", (event) => {
    if (event.key !== " " || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target instanceof Element && event.target.closest(OWN_SPACE)) return;
    const tab = document.querySelector('[role="tab"][aria-selected="true"]')?.id;
    const motion = /** @type {MotionPanel | undefined} */ (app.panels.motion);
    const player = tab === "tab-simulation" ? app.simulation?.player : motion?.study && motion.player;
    if (!player || (tab !== "tab-simulation" && tab !== "tab-motion" && !player.playing)) return;
    event.preventDefault();
    if (player.playing) player.pause();
    else player.play();
  });
}
