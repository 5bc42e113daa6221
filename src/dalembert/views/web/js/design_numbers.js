// The robot with parameters changed by the user: masses, centres of mass, lengths, rotors, gear ratios, friction, gravity.
//
// The name of a parameter ends with the index of its joint in the tree, from 0: m_2, cx_2, px_2, lx_2, Im_2, k_2, Fv_2, Fs_2; tx; gx.
import { addMoments, movedMoments, steinerMoments } from "./moments.js";

/** @import { Robot } from "./robot.js" */
/** @typedef {{inertia: number, gear: number, viscous: number, coulomb: number[], axis: number[], reflected: boolean}} DesignRotor */
/** @typedef {{link: number[], own: number[], rotor: DesignRotor | null, levels: number[], xyz: number[], turned: number[]}} DesignBody */

export const DESIGN_AXES = ["x", "y", "z"];
const PER_BODY = 13; // dynamic parameters

export class Design {
  /** @param {Robot} robot */
  constructor(robot) {
    this.robot = robot;
    /** @type {DesignBody[]} */
    this.bodies = robot.data.design.bodies;
    /** @type {Record<string, number[]>} the robot's own parameters */
    this.own = robot.data.numbers;
    /** @type {Map<string, number>} the changes */
    this.edits = new Map();
  }

  /** The value of the robot file, or the value that follows from other changes. @param {string} name @returns {number} */
  original(name) {
    const [kind, i] = designPartsOf(name);
    const axis = DESIGN_AXES.indexOf(kind[1]);
    if (kind[0] === "g") return this.own.gravity[axis];
    if (kind[0] === "t") return this.own.lengths[6 * this.robot.N + axis];
    if (kind[0] === "p") return this.own.lengths[6 * i + axis];
    if (kind[0] === "l") return this.own.lengths[6 * i + 3 + axis];
    const { link, rotor } = this.bodies[i];
    if (kind === "m") return link[0];
    if (kind[0] === "c") return link[0] ? link[1 + axis] / link[0] : 0;
    if (kind === "Im") return rotor?.inertia ?? 0;
    if (kind === "k") return rotor?.gear ?? 1;
    const own = this.own.parameters[PER_BODY * i + (kind === "Fv" ? 11 : 12)];
    if (!rotor) return own;
    // motor friction acts through the gear: k_r² F_v and |k_r| F_s
    const gear = this.value(`k_${i}`);
    if (kind === "Fv") return own + (gear * gear - rotor.gear * rotor.gear) * rotor.viscous;
    return own + (Math.abs(gear) - Math.abs(rotor.gear)) * 0.5 * (rotor.coulomb[0] + rotor.coulomb[1]);
  }

  /** @param {string} name @returns {number} */
  value(name) {
    return this.edits.get(name) ?? this.original(name);
  }

  /** @param {string} name @param {number} value */
  set(name, value) {
    if (value === this.original(name)) this.edits.delete(name);
    else this.edits.set(name, value);
  }

  /** @param {string} [name] all of them unless given */
  reset(name) {
    if (name === undefined) this.edits.clear();
    else this.edits.delete(name);
  }

  /** @param {string} kind @param {number} [i] @returns {number[]} */
  vector(kind, i) {
    return DESIGN_AXES.map((x) => this.value(i === undefined ? kind + x : `${kind}${x}_${i}`));
  }

  /** The current moments of link i: its tensor about the centre of mass scales with its mass. @param {number} i */
  link(i) {
    const { link } = this.bodies[i];
    const mass = this.value(`m_${i}`);
    if (mass === link[0] && !DESIGN_AXES.some((x) => this.edits.has(`c${x}_${i}`))) return link;
    return movedMoments(link, mass, this.vector("c", i));
  }

  /** The inputs of the kernels. @returns {Record<string, number[]>} */
  numbers() {
    const parameters = [...this.own.parameters];
    this.bodies.forEach(({ link, rotor }, i) => {
      const now = this.link(i);
      for (let k = 0; k < 10; k++) parameters[PER_BODY * i + k] += now[k] - link[k];
      parameters[PER_BODY * i + 11] = this.value(`Fv_${i}`);
      parameters[PER_BODY * i + 12] = this.value(`Fs_${i}`);
      if (!rotor) return;
      const more = this.value(`Im_${i}`) - rotor.inertia;
      parameters[PER_BODY * i + 10] += more;
      const carrier = this.robot.bodies[i].parent;
      if (carrier < 0 || rotor.reflected) return;
      // the rotor also turns with the link that carries it: S (7.63), (7.66)
      const [x, y, z] = rotor.axis;
      [x * x, x * y, x * z, y * y, y * z, z * z].forEach(
        (zz, k) => (parameters[PER_BODY * carrier + 4 + k] += more * zz),
      );
    });
    const gears = this.own.gears.map((_, i) =>
      this.bodies[i].rotor ? this.value(`k_${i}`) : this.own.gears[i],
    );
    /** @type {Record<string, number[]>} */
    const numbers = { parameters, gears, gravity: this.vector("g") };
    if (this.own.lengths)
      numbers.lengths = [
        ...this.bodies.flatMap((_, i) => [...this.vector("p", i), ...this.vector("l", i)]),
        ...this.vector("t"),
      ];
    return numbers;
  }

  /** Names of the changed parts of the robot file. @returns {Set<string>} */
  changedParts() {
    /** @type {Record<string, string>} */
    const parts = { m: "link", c: "link", p: "place", l: "frame", I: "rotor", k: "rotor", F: "friction" };
    const changed = new Set();
    for (const name of this.edits.keys()) {
      const [kind, i] = designPartsOf(name);
      if (kind[0] === "g") changed.add("gravity");
      else if (kind[0] === "t") changed.add("tip");
      else changed.add(`${parts[kind[0]]}_${i}`);
    }
    return changed;
  }

  /** A position on a link that is rotated relative to its body, from the change on the body. @param {string} kind @param {{xyz: number[], turned: number[]}} place @param {number} [i] */
  shifted(kind, { xyz, turned }, i) {
    const tail = i === undefined ? "" : `_${i}`;
    const change = this.vector(kind, i).map((x, k) => x - this.original(`${kind}${DESIGN_AXES[k]}${tail}`));
    return xyz.map(
      (x, k) => x + turned[k] * change[0] + turned[3 + k] * change[1] + turned[6 + k] * change[2],
    );
  }

  /** The values as in the robot file: those of the link itself, of the joint on its link, on the joint side of the gear. @returns {Record<string, number>} */
  fileNumbers() {
    /** @type {Record<string, number>} */
    const numbers = {};
    const put = (/** @type {string} */ kind, /** @type {string} */ tail, /** @type {number[]} */ values) =>
      DESIGN_AXES.forEach((x, k) => (numbers[kind + x + tail] = values[k]));
    this.bodies.forEach((body, i) => {
      const own = addMoments(addMoments(this.link(i), body.link, -1), body.own, 1);
      const com = own.slice(1, 4).map((x) => (own[0] ? x / own[0] : 0));
      const tensor = addMoments(own, steinerMoments(own[0], com), -1);
      numbers[`m_${i}`] = own[0];
      put("c", `_${i}`, com);
      ["xx", "xy", "xz", "yy", "yz", "zz"].forEach((x, k) => (numbers[`I${x}_${i}`] = tensor[4 + k]));
      if (this.own.lengths) {
        put("p", `_${i}`, this.shifted("p", body, i));
        put("l", `_${i}`, this.vector("l", i));
      }
      numbers[`Im_${i}`] = this.value(`Im_${i}`);
      numbers[`k_${i}`] = this.value(`k_${i}`);
      const [forward, backward] = body.levels;
      numbers[`Fv_${i}`] = this.value(`Fv_${i}`);
      numbers[`Ff_${i}`] = this.value(`Fs_${i}`) + 0.5 * (forward - backward);
      numbers[`Fb_${i}`] = this.value(`Fs_${i}`) - 0.5 * (forward - backward);
    });
    if (this.own.lengths) put("t", "", this.shifted("t", this.robot.data.design.tip));
    put("g", "", this.vector("g"));
    return numbers;
  }
}

/** Kind and joint: "cx_2" → ["cx", 2]. @param {string} name @returns {[string, number]} */
function designPartsOf(name) {
  const [kind, i] = name.split("_");
  return [kind, Number(i ?? -1)];
}
