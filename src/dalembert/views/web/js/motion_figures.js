// The figures of a motion: positions, velocities, torques, torques by cause, power and energy.

import { choice, el } from "./dom.js";
import { Figure } from "./figures.js";
import { CAUSES } from "./robot.js";
import { CAUSE_TITLES } from "./torque_panel.js";

/** @import { App } from "./app.js" */
/** @import { MotionStudy } from "./motion_study.js" */

const JOINT_COLOURS = 9;

/** The colour of a joint's curves. @param {number} j */
export function jointColour(j) {
  return `--joint-${(j % JOINT_COLOURS) + 1}`;
}

export class MotionFigures {
  /** @param {App} app @param {(t: number) => void} onScrub */
  constructor(app, onScrub) {
    this.app = app;
    this.joint = 0;
    this.causes = CAUSES;
    /** @type {MotionStudy | null} */
    this.study = null;
    const figure = (/** @type {string} */ title) => new Figure(title, onScrub);
    this.position = figure("Positions");
    this.velocity = figure("Velocities");
    this.torque = figure("Torques");
    this.cause = figure("Torque by cause");
    this.power = figure("Power");
    this.energy = figure("Energy");
    this.all = [this.position, this.velocity, this.torque, this.cause, this.power, this.energy];
    const joints = app.robot.joints.map(
      (joint, j) => /** @type {[string, string]} */ ([String(j), joint.name]),
    );
    const chosen = choice("Joint whose torque is split by cause", joints, "0", (value) =>
      this.chooseJoint(Number(value)),
    );
    this.cause.element.querySelector("figcaption")?.append("of", chosen);
    this.element = el("div", { class: "plots" }, ...this.all.map((one) => one.element));
    this.curves();
  }

  /** The curves of each figure; limits of positions and velocities are in the displayed units. */
  curves() {
    const { joints, labels } = this.app.robot;
    const each = (/** @type {(j: number) => (number | null)[]} */ limits) =>
      labels.map((name, j) => ({ name, colour: jointColour(j), limits: limits(j) }));
    const times = (/** @type {number | null} */ limit, /** @type {number} */ j) =>
      limit === null ? null : limit * this.app.unitFactor(j);
    this.position.setCurves(each((j) => [times(joints[j].lower, j), times(joints[j].upper, j)]));
    this.velocity.setCurves(each((j) => both(times(joints[j].velocity, j))));
    this.torque.setCurves(each((j) => both(joints[j].effort)));
    this.power.setCurves([...each(() => []), { name: "all drives", colour: "--ink", wide: true }]);
    this.energy.setCurves([
      { name: "kinetic", colour: "--cause-inertia" },
      { name: "potential", colour: "--cause-gravity" },
      { name: "drives' work", colour: "--ink", wide: true },
    ]);
    this.causeCurves(this.causes);
  }

  /** The torque of the selected joint and its causes. @param {string[]} causes */
  causeCurves(causes) {
    const { effort } = this.app.robot.joints[this.joint];
    this.causes = causes;
    this.cause.setCurves([
      ...causes.map((cause) => ({ name: CAUSE_TITLES[cause].toLowerCase(), colour: `--cause-${cause}` })),
      { name: "torque", colour: "--ink", wide: true, limits: both(effort) },
    ]);
  }

  /** @param {number} joint */
  chooseJoint(joint) {
    this.joint = joint;
    this.curves();
    if (this.study) this.draw(this.study);
  }

  /** Draws all figures. @param {MotionStudy} study */
  draw(study) {
    this.study = study;
    const { joints, n } = this.app.robot;
    const { rows, torques, limits, power, energies, work } = study.view;
    const { t } = rows;
    const split = (/** @type {Float64Array} */ values, shown = false) =>
      joints.map((_, j) => everyNth(values, n, j, shown ? this.app.unitFactor(j) : 1));
    const own = (/** @type {string} */ turning, /** @type {string} */ sliding) =>
      unitsShown(joints, turning, sliding);
    const turn = this.app.state.degrees ? "°" : "rad";
    const { beyond } = limits;
    this.position.draw({ t, values: split(rows.q, true), unit: own(turn, "m"), beyond: beyond.position });
    const perSecond = own(`${turn}/s`, "m/s");
    this.velocity.draw({ t, values: split(rows.qd, true), unit: perSecond, beyond: beyond.velocity });
    this.torque.draw({ t, values: split(torques), unit: own("N m", "N"), beyond: beyond.torque });
    this.power.draw({ t, values: [...split(power.each), power.total], unit: "W" });
    const { kinetic, potential } = energies;
    this.energy.draw({ t, values: [kinetic, potential.map((u) => u - potential[0]), work], unit: "J" });
    this.drawCauses(study);
  }

  /** The torque of the selected joint by its non-zero causes. @param {MotionStudy} study */
  drawCauses(study) {
    const { n, joints } = this.app.robot;
    const { rows, torques, causes, limits } = study.view;
    const torque = everyNth(torques, n, this.joint, 1);
    const noise = 1e-9 * torque.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
    const columns = CAUSES.map((cause) => everyNth(causes[cause], n, this.joint, 1));
    const there = CAUSES.filter((_, k) => columns[k].some((x) => Math.abs(x) > noise));
    if (there.join() !== this.causes.join()) this.causeCurves(there);
    this.cause.draw({
      t: rows.t,
      values: [...columns.filter((_, k) => there.includes(CAUSES[k])), torque],
      unit: joints[this.joint].revolute ? "N m" : "N",
      beyond: [...there.map(() => null), limits.beyond.torque[this.joint]],
    });
  }

  /** @param {number} t */
  setCursor(t) {
    for (const figure of this.all) figure.setCursor(t);
  }
}

/** Limits of both signs. @param {number | null} limit */
function both(limit) {
  return [limit, limit === null ? null : -limit];
}

/** Every nth value from j on, multiplied by a factor. @param {Float64Array} values @param {number} n @param {number} j @param {number} factor */
function everyNth(values, n, j, factor) {
  const column = new Float64Array(values.length / n);
  for (let row = 0; row < column.length; row++) column[row] = values[row * n + j] * factor;
  return column;
}

/** The units for the joint types that occur. @param {{revolute: boolean}[]} joints @param {string} turning @param {string} sliding */
function unitsShown(joints, turning, sliding) {
  const kinds = [
    joints.some((joint) => joint.revolute) ? turning : "",
    joints.some((joint) => !joint.revolute) ? sliding : "",
  ];
  return kinds.filter(Boolean).join(", ");
}
