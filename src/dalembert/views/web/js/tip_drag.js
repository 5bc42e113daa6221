// Dragging the tip: inverse kinematics while the arm is at rest, a spring that pulls the tip during simulation, or
// motion of the set-point while a controller holds a posture.
import { inverseKinematics } from "./inverse_kinematics.js";
import { columnOf } from "./space.js";

/** @import { App } from "./app.js" */

const TIP_ROUNDS = 12; // iterations of inverse kinematics per frame

/** Connects the handle of the stage to the mode that applies. @param {App} app */
export function connectTipDrag(app) {
  const { stage, robot } = app;
  if (!stage) return;
  /** @type {number[] | null} */
  let target = null;
  let waiting = false;
  /** @type {"arm" | "pull" | "set-point"} */
  let leads = "arm";

  const follow = () => {
    if (!target || leads === "pull") return;
    const law = leads === "set-point" ? app.simulation?.player.simulation.law : null;
    const from = law ? law.posture : app.state.q;
    const solution = inverseKinematics(robot, target, from, TIP_ROUNDS);
    const moved = solution.q.some((x, i) => Math.abs(x - from[i]) > 1e-11);
    if (law) law.posture = solution.q;
    else if (moved) app.change({ q: solution.q });
    if (moved) soon(); // as long as it gets closer
    stage.redraw();
  };
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      follow();
    });
  };

  stage.drag = {
    start: (point) => {
      target = [...point];
      const player = app.simulation?.player;
      leads = !player?.playing
        ? "arm"
        : player.simulation.law && app.simulation?.leadsSetPoint()
          ? "set-point"
          : "pull";
      if (leads === "arm") app.take("drag");
      if (leads === "pull" && app.simulation) {
        const wrench = Float64Array.from(robot.numbers.tip_wrench);
        app.simulation.player.simulation.pull = { target, ...app.simulation.pull, wrench };
      }
    },
    move: (point) => {
      target = [...point];
      const pull = app.simulation?.player.simulation.pull;
      if (leads === "pull" && pull) pull.target = target;
      follow();
    },
    end: () => {
      target = null;
      const pulled = app.simulation?.player.simulation;
      if (pulled?.pull) {
        app.changeNumbers({ tip_wrench: pulled.pull.wrench });
        pulled.pull = null;
      }
      if (leads === "arm") app.take(null);
      stage.redraw();
    },
  };
  stage.layer("pull", () => {
    const pulled = app.simulation?.player.simulation;
    const tip = columnOf(robot.pose(app.state.q), 3);
    /** @type {import("./items.js").Item[]} */
    const items = [];
    if (pulled?.pull) {
      const force = Math.hypot(...pulled.force);
      const [centre, colour] = [pulled.pull.target, "--cause-contact"];
      items.push({ kind: "line", points: [tip, centre], colour, width: 3 });
      items.push({ kind: "sphere", centre, radius: 0.012 * stage.fit.reach, colour });
      const middle = centre.map((x, k) => 0.5 * (x + tip[k]));
      items.push({ kind: "label", at: middle, text: `${force.toPrecision(3)} N` });
    }
    if (pulled?.law && app.busy === "simulation") {
      const centre = columnOf(robot.pose(pulled.law.posture), 3);
      items.push({ kind: "sphere", centre, radius: 0.015 * stage.fit.reach, colour: "--green" });
    }
    return items;
  });
}
