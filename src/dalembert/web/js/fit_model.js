// The state of the section: which terms are on, whether the others are refitted, and the resulting parameters.

import { fitAgain, fitErrors, fitWithout } from "./fit_algebra.js";

/** @import { FitData } from "./fit_data.js" */
/** A switch: the base parameters of one kind at a joint, or of a kind that does not belong to a joint (owner −1).
 * @typedef {{kind: number, owner: number, columns: number[]}} FitSwitch */

export class FitModel {
  /** @param {FitData} fit */
  constructor(fit) {
    this.fit = fit;
    this.again = false;
    this.shown = { joint: 0, run: 0 };
    /** @type {Set<FitSwitch>} */
    this.off = new Set();
    /** @type {FitSwitch[]} */
    this.switches = [];
    fit.header.columns.forEach(({ kind, owner }, k) => {
      const same = this.switches.find((x) => x.kind === kind && x.owner === owner);
      if (same) same.columns.push(k);
      else this.switches.push({ kind, owner, columns: [k] });
    });
    this.none = new Float64Array(fit.parameters.length);
    /** @type {Float64Array} */
    this.change = this.none;
    /** @type {(() => void)[]} */
    this.listeners = [];
  }

  /** Turns terms on or off; for a single term, its joint is displayed. @param {FitSwitch[]} switches @param {boolean} on */
  turn(switches, on) {
    for (const each of switches) on ? this.off.delete(each) : this.off.add(each);
    const joint = switches.length === 1 ? this.jointOf(switches[0]) : -1;
    if (joint >= 0) this.shown.joint = joint;
    this.update();
  }

  /** The joint to whose torque a term belongs; −1 if it does not belong to a driven joint. @param {FitSwitch} term */
  jointOf(term) {
    const { joints, owners } = this.fit.header;
    return term.owner < 0 ? -1 : joints.indexOf(owners[term.owner]);
  }

  /** @param {{joint?: number, run?: number}} shown */
  show(shown) {
    Object.assign(this.shown, shown);
    this.update();
  }

  /** @param {boolean} again */
  setAgain(again) {
    this.again = again;
    this.update();
  }

  update() {
    this.change = this.changeWithout(this.off);
    for (const listener of this.listeners) listener();
  }

  /** Δπ with some terms off, for the selected mode. @param {Iterable<FitSwitch>} switches */
  changeWithout(switches) {
    const off = new Set([...switches].flatMap((each) => each.columns));
    const make = this.again ? fitAgain : fitWithout;
    return make(this.fit, (k) => off.has(k));
  }

  /** The errors of a run for the current or a given change. @param {number} run @param {Float64Array} [change] */
  errors(run, change = this.change) {
    return fitErrors(this.fit.runs[run], change);
  }
}
