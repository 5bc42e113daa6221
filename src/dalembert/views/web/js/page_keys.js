// The space bar plays or pauses what the open tab shows: the simulation or the motion.

/** @import { App } from "./app.js" */
/** @import { MotionPanel } from "./motion_panel.js" */

const OWN_SPACE = "button, input, select, textarea, summary, a, [role=slider], [role=tab]"; // elements that use the key

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
