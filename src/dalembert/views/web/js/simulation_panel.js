// The simulation tab: the arm under gravity, friction, a pull at its tip and a controller, simulated in the page.
import { lawGains } from "./control_laws.js";
import {
  brief,
  button,
  checkbox,
  choice,
  el,
  fixed,
  inRow,
  labelled,
  sliderField,
  softText,
  withUnit,
} from "./dom.js";
import { energyReadout } from "./energy_readout.js";
import { gravityFields } from "./gravity_fields.js";
import { SimulationPlayer } from "./simulation_player.js";
import { subscripted } from "./subscripts.js";

/** @import { App } from "./app.js" */
/** @typedef {{player: SimulationPlayer, pull: {stiffness: number, damping: number}, leadsSetPoint: () => boolean}} SimulationControl */

const LAW_CHOICES = /** @type {[string, string][]} */ ([
  ["none", "No controller"],
  ["pd", "PD with gravity compensation"],
  ["computed", "Computed torque"],
]);
const DRAG_CHOICES = /** @type {[string, string][]} */ ([
  ["pull", "pulls the arm"],
  ["set-point", "moves the set-point"],
]);
const SIM_STEPS = withUnit(["1", "0.5", "0.2", "0.1"], "ms");
const SIM_SPEEDS = withUnit(["0.1", "0.25", "0.5", "1", "2"], "×");

/** @param {App} app */
export function simulationPanel(app) {
  const panel = el("div", { class: "simulation" });
  const { robot } = app;
  const control = { name: "none", frequency: 10, ratio: 1, limited: false };
  let dragged = "pull";
  const energies = energyReadout(robot);
  const clock = el("output", { class: "clock", "aria-label": "Simulated time" });
  const said = el("p", { class: "sentence", role: "status" });
  const play = button("Start", () => (player.playing ? player.pause() : player.play()));
  const player = new SimulationPlayer(app, () => update());
  player.started = () => energies.begin(player.simulation.q, player.simulation.qd);
  player.started();

  const alone = () => {
    const { law, pull, friction, stops } = player.simulation;
    const dry =
      friction &&
      robot.data.friction_parameters.some((/** @type {number} */ k) => robot.numbers.parameters[k] !== 0);
    const stopped = stops && robot.joints.some(({ lower, upper }) => lower !== null || upper !== null);
    return !law && !pull && !dry && !stopped && !robot.numbers.tip_wrench.some(Boolean);
  };
  const update = () => {
    const { simulation } = player;
    play.textContent = player.playing ? "Pause" : simulation.time > 0 ? "Resume" : "Start";
    clock.textContent = `t = ${fixed(simulation.time, 3)} s`;
    energies.show(app.state.q, app.state.qd, alone());
    const slow = player.playing && player.pace < 0.9;
    said.textContent =
      simulation.failure ??
      (slow
        ? `Running at ${fixed(player.pace, 2)} of the requested speed, because the integration steps take longer than a frame allows.`
        : "");
  };

  const setLaw = () => {
    const { simulation } = player;
    if (control.name === "none") simulation.law = null;
    else {
      const posture = simulation.law?.posture ?? Float64Array.from(app.state.q);
      const gains = lawGains(robot, control.name, posture, control.frequency, control.ratio);
      simulation.law = { name: control.name, posture, limited: control.limited, ...gains };
    }
    showGains();
    update();
  };
  const gains = el("p", { class: "soft gains" });
  const showGains = () => {
    const { law } = player.simulation;
    const list = (/** @type {Float64Array} */ values) => Array.from(values, (x) => brief(x, 3)).join(", ");
    gains.replaceChildren(...subscripted(law ? `K_p: ${list(law.kp)}; K_d: ${list(law.kd)}` : ""));
    lawFields.hidden = !law;
  };
  const hold = button(
    "Hold here",
    () => {
      const { law } = player.simulation;
      if (law) law.posture = Float64Array.from(app.state.q);
      setLaw();
    },
    { title: "Use the current posture as the set-point" },
  );
  /** @template {string} K @param {string} label @param {string} unit @param {Record<K, number>} of @param {K} key @param {number} max @param {number} [min] */
  const gain = (label, unit, of, key, max, min = 0) => {
    const onInput = (/** @type {number} */ value) => ((of[key] = value), setLaw());
    return sliderField({ label, unit, value: of[key], min, max, least: 0, onInput }).element;
  };
  const lawFields = el(
    "div",
    { class: "rows", hidden: true },
    gain("Frequency", "rad/s", control, "frequency", 60, 0.5),
    gain("Damping ratio", "", control, "ratio", 2),
    inRow(
      checkbox("Respect torque limits", false, (on) => ((control.limited = on), setLaw())),
      hold,
    ),
    inRow(
      labelled(
        "Dragging the tip ",
        choice("Dragging the tip", DRAG_CHOICES, dragged, (value) => (dragged = value)),
      ),
    ),
    gains,
  );
  const pull = { stiffness: 200, damping: 20 };
  panel.append(
    inRow(
      play,
      button("Step", () => player.single(), { title: "One integration step" }),
      button("Reset", () => player.reset(), { title: "Return to the initial state" }),
      clock,
    ),
    inRow(
      labelled(
        "Speed ",
        choice("Speed", SIM_SPEEDS, "1", (value) => (player.speed = Number(value))),
      ),
      labelled(
        "Step ",
        choice("Step length", SIM_STEPS, "1", (value) => (player.step = Number(value) / 1000)),
      ),
      button("At rest", () => app.change({ qd: new Float64Array(robot.n), qdd: new Float64Array(robot.n) }), {
        title: "Set all velocities to zero",
      }),
    ),
    said,
    energies.element,
    el("h3", {}, "Forces"),
    inRow(
      checkbox("Friction", true, (on) => ((player.simulation.friction = on), update())),
      checkbox("Joint stops", true, (on) => ((player.simulation.stops = on), update())),
    ),
    gravityFields(app),
    el("h3", {}, "Control"),
    inRow(
      choice(
        "Controller",
        LAW_CHOICES,
        "none",
        (value) => ((control.name = value), (player.simulation.law = null), setLaw()),
      ),
    ),
    lawFields,
    el("h3", {}, "Pull at the tip"),
    softText(
      "While the arm moves, drag the handle at its tip: a spring and a damper pull the tip towards the pointer.",
    ),
    gain("Stiffness", "N/m", pull, "stiffness", 5000),
    gain("Damping", "N s/m", pull, "damping", 500),
  );
  app.onChange(update, panel);
  app.simulation = { player, pull, leadsSetPoint: () => dragged === "set-point" };
  return panel;
}
