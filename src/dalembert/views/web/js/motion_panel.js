// The motion panel: select, play, scrub and stretch a motion; the figures, the limits and the arm follow.

import { writeMotion } from "./csv.js";
import {
  brief,
  button,
  checkbox,
  choice,
  download,
  el,
  folded,
  inRow,
  slider,
  softText,
  withUnit,
} from "./dom.js";
import { Motion } from "./motion.js";
import { MotionFigures } from "./motion_figures.js";
import { motionFileButton } from "./motion_files.js";
import { motionMaker } from "./motion_maker.js";
import { MotionPlayer } from "./motion_player.js";
import { scalingControls } from "./motion_scaling.js";
import { MotionStudy } from "./motion_study.js";

/** @import { App } from "./app.js" */
/** @import { MotionData } from "./motion.js" */

const MOTION_SPEEDS = withUnit(["0.1", "0.25", "0.5", "1", "2", "4"], "×");

/** @param {App} app */
export function motionPanel(app) {
  const panel = new MotionPanel(app);
  app.panels.motion = panel;
  return panel.element;
}

export class MotionPanel {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Motion[]} */
    this.motions = [];
    /** @type {MotionStudy | null} */
    this.study = null;
    this.seen = { revision: app.revision, degrees: app.state.degrees };
    this.player = new MotionPlayer(app, () => this.showTime());
    this.figures = new MotionFigures(app, (t) => this.player.seek(t));
    this.scaling = scalingControls((c) => this.stretch(c));
    this.note = softText();
    this.problem = el("p", { class: "notice bad", role: "alert", hidden: true });
    this.limits = el("div", {
      class: "limit-list",
      "aria-live": "polite",
      "aria-label": "Limits",
      role: "region",
      tabindex: 0,
    });
    this.list = choice("Motion", [], "", (value) => this.choose(Number(value)));
    this.time = slider("Time", 0, (t) => this.player.seek(t), { min: 0, max: 1 });
    this.clock = el("output", { class: "clock" });
    this.playButton = button("Play", () => (this.player.playing ? this.player.pause() : this.player.play()));
    this.save = button("Save as CSV", () => this.download());
    const say = (/** @type {string} */ sentence) => this.say(sentence);
    const add = (/** @type {MotionData} */ data) => this.add(data);
    this.maker = folded("Create a motion", motionMaker(app, add, say));
    this.shown = el(
      "div",
      {},
      this.note,
      this.transport(),
      this.limits,
      this.scaling.element,
      this.figures.element,
    );
    const files = motionFileButton(app, add, say);
    this.element = el(
      "section",
      { class: "motion", "aria-label": "Motion" },
      inRow(this.list, files, this.save),
      this.problem,
      this.shown,
      this.maker,
      softText("A CSV file with columns t, q1, … can also be dropped anywhere on the page."),
    );
    for (const data of app.robot.data.motions ?? []) this.motions.push(new Motion(data, app.robot.n));
    app.onChange(() => this.follow(), this.element);
    this.listMotions();
    if (this.motions.length) this.choose(0, false);
    else this.showNothing();
  }

  transport() {
    const speed = choice("Speed", MOTION_SPEEDS, "1", (value) => (this.player.speed = Number(value)));
    const loop = checkbox("Loop", false, (checked) => (this.player.loop = checked));
    return el("div", { class: "transport" }, this.playButton, this.time, this.clock, speed, loop);
  }

  listMotions() {
    this.list.replaceChildren(...this.motions.map((motion, k) => el("option", { value: k }, motion.name)));
  }

  showNothing() {
    this.shown.hidden = this.save.hidden = this.list.hidden = true;
    this.maker.open = true;
  }

  /** @param {number} k @param {boolean} [move] whether the arm moves to the start of the motion */
  choose(k, move = true) {
    this.say("");
    this.shown.hidden = this.save.hidden = this.list.hidden = false;
    this.list.value = String(k);
    const motion = this.motions[k];
    this.study = new MotionStudy(this.app.robot, motion);
    this.player.set(this.study);
    const notes = [motion.note];
    if (motion.events.length)
      notes.push(`Loads: ${motion.events.join("; ")}. The torques and energies shown include them.`);
    if (this.study.thinned) {
      notes.push(
        `${this.study.rows.count} of ${motion.t.length} samples are drawn, including the extremes of every torque.`,
      );
    }
    this.note.textContent = notes.filter(Boolean).join(" ");
    this.redraw();
    if (move) this.player.seek(0);
  }

  /** Adds a motion, read from a file or created here. @param {MotionData} data @param {boolean} [shown] whether it is selected and the panel is shown */
  add(data, shown = true) {
    const motion = new Motion(data, this.app.robot.n);
    const same = this.motions.findIndex((other) => other.name === motion.name);
    if (same < 0) this.motions.push(motion);
    else this.motions[same] = motion;
    const chosen = this.list.value;
    this.listMotions();
    if (shown || !chosen) this.choose(same < 0 ? this.motions.length - 1 : same, shown);
    else this.list.value = chosen;
    if (shown) document.getElementById("tab-motion")?.click();
  }

  /** Shows an error message; nothing else changes. @param {string} sentence */
  say(sentence) {
    this.problem.textContent = sentence;
    this.problem.hidden = !sentence;
    if (sentence) document.getElementById("tab-motion")?.click();
  }

  /** Update after changes elsewhere: the robot's parameters or the unit of angles. */
  follow() {
    const { revision, state } = this.app;
    const { seen } = this;
    if (seen.revision === revision && seen.degrees === state.degrees) return;
    if (seen.revision !== revision) this.study?.compute();
    if (seen.degrees !== state.degrees) this.figures.curves();
    this.seen = { revision, degrees: state.degrees };
    this.redraw();
  }

  /** @param {number} c */
  stretch(c) {
    if (!this.study) return;
    const share = this.player.t / this.study.duration;
    this.study.stretch(c);
    this.redraw();
    this.player.t = share * this.study.duration;
    if (this.player.playing || this.player.t > 0) this.player.move(this.player.t);
    else this.showTime();
  }

  redraw() {
    if (!this.study) return;
    this.figures.draw(this.study);
    this.scaling.update(this.study);
    this.time.max = String(this.study.duration);
    this.time.step = String(this.study.duration / 1000);
    this.showLimits();
  }

  showLimits() {
    if (!this.study) return;
    const { excesses, most } = this.study.view.limits;
    const { joints } = this.app.robot;
    const kept =
      most.joint < 0
        ? ""
        : `; the largest share of an effort limit used is ${brief(100 * most.share, 3)} %, by ${joints[most.joint].name}`;
    this.limits.classList.toggle("bad", excesses.length > 0);
    if (excesses.length) {
      this.limits.replaceChildren(el("ul", {}, ...excesses.map(({ sentence }) => el("li", {}, sentence))));
    } else this.limits.replaceChildren(el("p", {}, `All limits are satisfied${kept}.`));
  }

  showTime() {
    if (!this.study) return;
    const { t, playing } = this.player;
    this.figures.setCursor(t);
    this.time.value = String(t);
    const text = `${t.toFixed(3)} s`;
    this.time.setAttribute("aria-valuetext", text);
    this.clock.textContent = `${text} of ${brief(this.study.duration)} s`;
    this.playButton.textContent = playing ? "Pause" : "Play";
  }

  download() {
    if (!this.study) return;
    const { rows, torques } = this.study.table();
    const name = this.study.motion.name.replace(/\.\w{1,4}$/, "").replace(/[^\p{L}\p{N}]+/gu, "-");
    download(
      `${name || "motion"}.csv`,
      writeMotion(rows, torques, this.app.robot.data.column_words),
      "text/csv",
    );
  }
}
