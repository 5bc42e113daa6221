// One motion of one arm, and all results shown in the figures, computed by the kernels.

import { stretchedRows } from "./motion.js";
import { limitsAlong } from "./motion_limits.js";
import {
  causesAlong,
  energiesAlong,
  integralAlong,
  powersAlong,
  stretchedTorques,
  torqueParts,
  torquesAlong,
} from "./motion_torques.js";
import { smallestStretch } from "./time_scaling.js";

/** @import { Robot } from "./robot.js" */
/** @import { Motion, MotionRows } from "./motion.js" */

const STUDY_ROWS = 400; // rows drawn in addition to the nodes
const STUDY_MOST = 1001; // rows of a long table that are drawn; the rest is thinned out, except for the extremes
const STUDY_DENSE = 2000; // rows checked for the limits that determine the smallest c

export class MotionStudy {
  /** @param {Robot} robot @param {Motion} motion */
  constructor(robot, motion) {
    this.robot = robot;
    this.motion = motion;
    this.thinned = motion.t.length > STUDY_MOST + 64;
    /** The original motion. */
    this.rows = this.thinned ? motion.nodes(this.drawnNodes()) : motion.rows(STUDY_ROWS);
    this.parts = torqueParts(robot, this.rows);
    this.smallest = this.smallestNow();
    this.view = this.stretched(1);
  }

  /** Evenly spaced nodes of a long table, and the extremes of every torque. */
  drawnNodes() {
    const { motion } = this;
    const { n } = motion;
    const last = motion.t.length - 1;
    const rows = motion.nodes(Int32Array.from(motion.t, (_, k) => k));
    const torques = torquesAlong(this.robot, rows);
    const nodes = new Set(
      Array.from({ length: STUDY_MOST }, (_, k) => Math.round((k * last) / (STUDY_MOST - 1))),
    );
    for (let j = 0; j < n; j++) {
      let [low, high] = [0, 0];
      for (let k = 1; k <= last; k++) {
        if (torques[k * n + j] < torques[low * n + j]) low = k;
        if (torques[k * n + j] > torques[high * n + j]) high = k;
      }
      nodes.add(low).add(high);
    }
    return Int32Array.from(nodes).sort();
  }

  /** Recomputes everything after the robot's parameters have changed. */
  compute() {
    this.parts = torqueParts(this.robot, this.rows);
    this.smallest = this.smallestNow();
    this.stretch(this.view.c);
  }

  smallestNow() {
    return smallestStretch(this.robot, this.motion, this.thinned ? this.rows : this.motion.rows(STUDY_DENSE));
  }

  /** Stretches time by a factor c. @param {number} c */
  stretch(c) {
    this.view = this.stretched(c);
  }

  /** The results with time stretched by a factor c; the torques follow from S (7.126). @param {number} c */
  stretched(c) {
    const { robot, parts } = this;
    const rows = stretchedRows(this.rows, c);
    const direct = torquesAlong(robot, rows);
    const byLaw = stretchedTorques(parts, c);
    const torques = parts.odd < 0 ? byLaw : direct;
    const power = powersAlong(rows, torques);
    return {
      c,
      rows,
      torques,
      power,
      /** The largest difference between the law and the inverse dynamics of the stretched motion. */
      difference: direct.reduce((most, tau, k) => Math.max(most, Math.abs(tau - byLaw[k])), 0),
      causes: causesAlong(robot, rows),
      limits: limitsAlong(robot.joints, rows, torques),
      energies: energiesAlong(robot, rows),
      work: integralAlong(rows.t, power.total),
    };
  }

  /** The duration of the displayed motion. */
  get duration() {
    return this.view.c * this.motion.duration;
  }

  /** The state at an instant of the displayed motion. @param {number} t */
  at(t) {
    const { c } = this.view;
    const { q, qd, qdd } = this.motion.at(t / c);
    return { q, qd: qd.map((v) => v / c), qdd: qdd.map((a) => a / (c * c)) };
  }

  /** All rows of the displayed motion with their torques, for a file: the nodes of a long table, otherwise the drawn rows. */
  table() {
    const { motion, robot } = this;
    const all =
      motion.t.length > STUDY_ROWS ? motion.nodes(Int32Array.from(motion.t, (_, k) => k)) : this.rows;
    const rows = stretchedRows(all, this.view.c);
    return { rows, torques: torquesAlong(robot, rows) };
  }
}
