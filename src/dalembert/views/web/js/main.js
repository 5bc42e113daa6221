// The page: reads its data, loads its kernels, and arranges the panels.
import { App } from "./app.js";
import { addArmLayers } from "./arm_items.js";
import { bytesOf, unpacked } from "./data.js";
import { designPanel } from "./design_panel.js";
import { el, softText } from "./dom.js";
import { ellipsoidPanel } from "./ellipsoid_panel.js";
import { equationsPanel } from "./equations_panel.js";
import { formulationPanel } from "./formulation_panel.js";
import { makeGlView } from "./gl_view.js";
import { load } from "./loader.js";
import { MORE_PANELS } from "./more_panels.js";
import { motionPanel } from "./motion_panel.js";
import { closeMenus, playBySpace } from "./page_keys.js";
import { linkState } from "./page_link.js";
import { Robot } from "./robot.js";
import { simulationPanel } from "./simulation_panel.js";
import { Stage } from "./stage.js";
import { statePanel } from "./state_panel.js";
import { tabs } from "./tabs.js";
import { connectTipDrag } from "./tip_drag.js";
import { torquePanel } from "./torque_panel.js";
import { listedNames } from "./wording.js";

/** @import { MotionPanel } from "./motion_panel.js" */
/** @typedef {ArrayLike<number>} Values */

/** The tabs: identifier, title, and the function that builds the panel. @type {[string, string, (app: App) => HTMLElement][]} */
const PANELS = [
  ["state", "State", statePanel],
  ["motion", "Motion", motionPanel],
  ["ellipsoids", "Ellipsoids", ellipsoidPanel],
  ["simulation", "Simulate", simulationPanel],
  ["design", "Design", designPanel],
  ["equations", "Equations", equationsPanel],
  ["formulations", "Formulations", formulationPanel],
];

const NO_WEBGL =
  "The arm cannot be drawn in 3D, because this browser offers no WebGL2; switch on hardware acceleration or use another browser. All else on this page works.";

async function start() {
  const page = /** @type {HTMLElement} */ (document.getElementById("page"));
  const data = await unpacked(document.getElementById("data")?.textContent ?? "");
  const kernels = await load(bytesOf(data.modules.kernels));
  const robot = new Robot(data, kernels);
  const app = new App(robot);
  const head = el("header", {}, el("h1", {}, data.title), softText(about(robot)));
  const stage = el("div");
  const left = el("div", { class: "left" }, stage, missingMeshes(data.missing), torquePanel(app));
  const view = makeGlView();
  if (view) {
    app.stage = new Stage(stage, robot, view);
    addArmLayers(app.stage, robot, () => app.state.q);
  } else stage.append(el("p", { class: "notice" }, NO_WEBGL));
  app.onChange(() => app.stage?.redraw());
  const right = el(
    "div",
    { class: "right" },
    tabs(
      [...PANELS, ...MORE_PANELS].map(([id, title, make]) => [id, title, make(app)]),
      (id) => {
        const motion = /** @type {MotionPanel | undefined} */ (app.panels.motion);
        // the arm at the cursor, unless its postures are about to make a motion
        if (id === "motion" && app.busy === null && !motion?.maker.open) motion?.player.seek(motion.player.t);
        app.changed();
      },
    ),
  );
  connectTipDrag(app);
  page.replaceChildren(head, el("div", { class: "columns" }, left, right));
  page.setAttribute("aria-busy", "false");
  app.tell();
  linkState(app);
  playBySpace(app);
  closeMenus();
  /** The torques at a state, by default at the displayed one. @type {(q?: Values | null, qd?: Values | null, qdd?: Values | null) => Float64Array} */
  const inverseDynamics = (q, qd, qdd) =>
    robot.inverseDynamics(q ?? app.state.q, qd ?? app.state.qd, qdd ?? app.state.qdd);
  Object.assign(window, { dalembert: { inverse_dynamics: inverseDynamics, robot, app } });
}

/** Which mesh files are missing, or null. @param {string[]} files */
function missingMeshes(files) {
  if (!files.length) return null;
  const many = files.length > 1;
  const words = `${many ? `${files.length} mesh files` : "A mesh file"} could not be read: ${listedNames(files)}. ${many ? "Their links are" : "Its link is"} drawn from collision shapes or as plain cylinders.`;
  return el("p", { class: "soft missing" }, words);
}

/** @param {Robot} robot */
function about(robot) {
  const joints = `${robot.n} ${robot.n === 1 ? "joint" : "joints"}`;
  return `${joints}; all results on this page are computed in the browser by its own kernels. dalembert ${robot.data.version}`;
}

start().catch((problem) => {
  const page = /** @type {HTMLElement} */ (document.getElementById("page"));
  page.replaceChildren(
    el(
      "p",
      { class: "notice bad" },
      `The page cannot start: ${problem.message}. It needs a browser with WebAssembly SIMD and DecompressionStream.`,
    ),
  );
  page.setAttribute("aria-busy", "false");
  throw problem;
});
