// Real-time playback of the simulation: as many steps per frame as the clock requires and the frame time allows.
import { Simulation } from "./simulation.js";

/** @import { App } from "./app.js" */

const MOST_COMPUTING = 8; // ms in a frame
const COMPUTING_SHARE = 0.4; // share of a slow frame, so that frames do not become slower and slower
const LONGEST_FRAME = 0.25; // s: longest frame for which the simulation catches up

export class SimulationPlayer {
  /** @param {App} app @param {() => void} told called after each frame and when the simulation starts or stops */
  constructor(app, told) {
    this.app = app;
    this.told = told;
    this.playing = false;
    /** simulated seconds per second of real time */
    this.speed = 1;
    /** s */
    this.step = 1e-3;
    /** achieved share of the requested speed */
    this.pace = 1;
    this.simulation = new Simulation(app.robot, app.state.q, app.state.qd);
    this.first = { q: this.simulation.q, qd: this.simulation.qd };
    this.clock = 0;
    /** the time that the simulation should have reached (s) */
    this.due = 0;
  }

  /** Starts from the current posture, or resumes. */
  play() {
    if (this.playing) return;
    this.adopt();
    this.app.take("simulation", () => this.pause());
    this.playing = true;
    this.clock = performance.now();
    requestAnimationFrame((now) => this.frame(now));
    this.told();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    if (this.app.busy === "simulation") this.app.take(null);
    this.told();
  }

  /** Adopts the state of the page if it was changed elsewhere. */
  adopt() {
    const { q, qd } = this.app.state;
    const { simulation } = this;
    const same = q.every((x, i) => x === simulation.q[i]) && qd.every((x, i) => x === simulation.qd[i]);
    if (same && !simulation.failure) return;
    this.begin(q, qd);
  }

  /** Restarts with the same forces. @param {ArrayLike<number>} q @param {ArrayLike<number>} qd */
  begin(q, qd) {
    const { friction, stops, law, pull } = this.simulation;
    this.simulation = Object.assign(new Simulation(this.app.robot, q, qd), { friction, stops, law, pull });
    this.first = { q: this.simulation.q, qd: this.simulation.qd };
    this.due = 0;
    this.started?.();
  }

  /** @type {(() => void) | undefined} called at each restart */
  started;

  /** Returns to the initial state. */
  reset() {
    this.begin(this.first.q, this.first.qd);
    this.publish();
  }

  /** A single step while paused. */
  single() {
    this.adopt();
    this.simulation.step(this.step);
    this.publish();
  }

  /** @param {number} now */
  frame(now) {
    if (!this.playing) return;
    const { simulation } = this;
    const frame = Math.min(Math.max((now - this.clock) / 1000, 0), LONGEST_FRAME);
    const passed = frame * this.speed;
    const most = Math.max(MOST_COMPUTING, COMPUTING_SHARE * 1000 * frame);
    this.clock = now;
    const [from, began] = [simulation.time, performance.now()];
    this.due = Math.max(this.due, from - this.step) + passed;
    if (!simulation.advance(this.due, this.step, () => performance.now() - began < most))
      this.due = simulation.time;
    if (passed > 0) this.pace += 0.1 * (Math.min((simulation.time - from) / passed, 1) - this.pace);
    if (simulation.failure) this.pause();
    else requestAnimationFrame((next) => this.frame(next));
    this.publish();
  }

  publish() {
    const { q, qd, qdd, pull, wrench } = this.simulation;
    this.app.change({ q, qd, qdd });
    if (pull) this.app.changeNumbers({ tip_wrench: wrench });
    this.told();
  }
}
