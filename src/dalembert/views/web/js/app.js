// The state of the page, and the listeners that are notified of its changes.
import { MOTION_GROUPS } from "./motion.js";

/** @import { Robot } from "./robot.js" */
/** @typedef {{q: Float64Array, qd: Float64Array, qdd: Float64Array, degrees: boolean}} State */

export class App {
  /** @param {Robot} robot */
  constructor(robot) {
    this.robot = robot;
    /** @type {import("./stage.js").Stage | null} */
    this.stage = null;
    const zeros = () => new Float64Array(robot.n);
    /** @type {State} */
    this.state = { q: Float64Array.from(robot.data.start.q), qd: zeros(), qdd: zeros(), degrees: true };
    /** @type {string | null} what moves the arm: "motion", "simulation", or null for the user only */
    this.busy = null;
    /** @type {{listener: () => void, element: Element | null}[]} */
    this.listeners = [];
    this.waiting = false;
    /** @type {Record<string, object>} data that panels share with others, such as the displayed motion */
    this.panels = {};
    /** @type {() => void} */
    this.release = () => {};
    /** @type {import("./simulation_panel.js").SimulationControl | null} */
    this.simulation = null;
    /** @type {{design: import("./design_numbers.js").Design, change: (name: string, value: number) => void, toml: () => string,
     *   edits: () => Map<string, number>, fits: (name: string, value: number) => boolean} | null} */
    this.design = null;
  }

  /** @param {Partial<State>} patch arrays are copied */
  change(patch) {
    for (const name of MOTION_GROUPS) {
      const values = patch[name];
      if (values) this.state[name] = Float64Array.from(values);
    }
    if (patch.degrees !== undefined) this.state.degrees = patch.degrees;
    this.changed();
  }

  /** Counts changes of the robot's parameters, so that dependent results can be recomputed. */
  get revision() {
    return this.robot.held.revision;
  }

  /** @param {Record<string, ArrayLike<number>>} patch of robot.numbers */
  changeNumbers(patch) {
    this.robot.held.change(patch);
    this.changed();
  }

  /** @param {() => void} listener called after changes, at most once per frame @param {Element | null} [element] while this
   * one is hidden, the listener is not called; it is called when the element is shown again */
  onChange(listener, element = null) {
    this.listeners.push({ listener, element });
  }

  changed() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.tell());
  }

  /** Notifies all listeners now. */
  tell() {
    this.waiting = false;
    for (const { listener, element } of this.listeners) if (!element?.closest("[hidden]")) listener();
  }

  /** Assigns the arm to an owner and releases the previous one. @param {string | null} owner @param {() => void} [release] */
  take(owner, release = () => {}) {
    if (this.busy !== owner) {
      const former = this.release;
      this.busy = owner;
      this.release = release;
      former();
    }
    this.changed();
  }

  /** Display factor of a joint's position. @param {number} joint */
  unitFactor(joint) {
    return this.state.degrees && this.robot.joints[joint].revolute ? 180 / Math.PI : 1;
  }

  /** The unit of a joint's position. @param {number} joint */
  unit(joint) {
    if (!this.robot.joints[joint].revolute) return "m";
    return this.state.degrees ? "°" : "rad";
  }
}
