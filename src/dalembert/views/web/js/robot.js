// The robot: its data, its current parameters, and its quantities, computed by the kernels.
import { Kernel, Numbers } from "./kernel.js";

/** @typedef {{name: string, revolute: boolean, lower: number|null, upper: number|null, velocity: number|null,
 *   acceleration: number|null, effort: number|null}} Joint */
/** @typedef {{name: string, joint: string, parent: number, revolute: boolean, axis: number[], placement: number[],
 *   link_frame: number[], rotor: {mass: number, position: number[], axis: number[], inertia: number, gear: number}|null}} Body */
/** @typedef {Record<string, Float64Array>} Arrays */
/** @typedef {ArrayLike<number>} Values */

export const CAUSES = ["inertia", "rotor", "centrifugal", "coriolis", "gravity", "friction", "contact"];

export class Robot {
  /** @param {any} data of model.py @param {import("./loader.js").Kernels} kernels */
  constructor(data, kernels) {
    this.data = data;
    /** @type {number} joints that can be moved */
    this.n = data.n;
    /** @type {number} joints of the tree, including dependent ones */
    this.N = data.N;
    /** @type {Joint[]} */
    this.joints = data.joints;
    /** short joint labels, without the common parts of the names */
    this.labels = shortened(this.joints.map(({ name }) => name));
    /** @type {Body[]} */
    this.bodies = data.bodies;
    /** the current parameters of the robot; `app.changeNumbers` changes them */
    this.held = new Numbers({ ...data.numbers, tip_wrench: new Float64Array(6) });
    this.numbers = this.held.arrays;
    /** @type {Record<string, Kernel>} */
    this.kernels = {};
    for (const name of Object.keys(kernels.about.functions))
      this.kernels[name] = new Kernel(kernels, name, this.held);
  }

  /** The joint torques (N m or N) of a state, or of several, row by row. @param {Values} q @param {Values} qd @param {Values} qdd */
  inverseDynamics(q, qd, qdd) {
    return this.kernels.inverse_dynamics.run({ q, qd, qdd }).tau;
  }

  /** The joint accelerations for torques tau. @param {Values} q @param {Values} qd @param {Values} tau */
  forwardDynamics(q, qd, tau) {
    return this.kernels.forward_dynamics.run({ q, qd, tau }).qdd;
  }

  /** The torque by cause, S (7.40). @param {Values} q @param {Values} qd @param {Values} qdd @returns {Arrays} */
  torqueTerms(q, qd, qdd) {
    const { n } = this;
    const terms = this.kernels.torque_terms.run({ q, qd, qdd });
    const count = q.length / n;
    const sums = Object.fromEntries(
      [...CAUSES, "total"].map((cause) => [cause, new Float64Array(count * n)]),
    );
    const pairs = (n * (n + 1)) / 2;
    const { inertia, rotor, products, viscous, coulomb, other, contact } = terms;
    const gravity = terms.torque_terms_gravity; // renamed because an input has the name "gravity"
    for (let row = 0; row < count * n; row++) {
      let [links, rotors, squares, crossed] = [0, 0, 0, 0];
      for (let j = row * n; j < (row + 1) * n; j++) {
        links += inertia[j];
        rotors += rotor[j];
      }
      let place = row * pairs; // products of velocities, in the order q̇1², q̇1 q̇2, …, q̇n²
      for (let j = 0; j < n; j++) {
        squares += products[place++];
        for (let k = j + 1; k < n; k++) crossed += products[place++];
      }
      const friction = viscous[row] + coulomb[row] + other[row];
      sums.inertia[row] = links;
      sums.rotor[row] = rotors;
      sums.centrifugal[row] = squares;
      sums.coriolis[row] = crossed;
      sums.gravity[row] = gravity[row];
      sums.friction[row] = friction;
      sums.contact[row] = contact[row];
      sums.total[row] = links + rotors + squares + crossed + gravity[row] + friction + contact[row];
    }
    return sums;
  }

  /** B(q), row by row. @param {Values} q */
  inertiaMatrix(q) {
    return this.kernels.inertia_matrix.run({ q }).B;
  }

  /** C(q, q̇) with Christoffel symbols, row by row. @param {Values} q @param {Values} qd */
  coriolisMatrix(q, qd) {
    return this.kernels.coriolis_matrix.run({ q, qd }).C;
  }

  /** @param {Values} q */
  gravityTorque(q) {
    return this.kernels.gravity_torque.run({ q }).g;
  }

  /** The homogeneous matrix of the tip. @param {Values} q */
  pose(q) {
    return this.kernels.pose.run({ q }).T;
  }

  /** The homogeneous matrices of all link frames. @param {Values} q */
  linkPoses(q) {
    return this.kernels.link_poses.run({ q }).T;
  }

  /** The geometric Jacobian of the tip, 6 rows: linear first. @param {Values} q */
  jacobian(q) {
    return this.kernels.jacobian.run({ q }).J;
  }

  /** Energies (J). @param {Values} q @param {Values} qd */
  energies(q, qd) {
    return {
      kinetic: this.kernels.kinetic_energy.run({ q, qd }).T[0],
      potential: this.kernels.potential_energy.run({ q }).U[0],
    };
  }

  /** Positions within the limits. @param {Values} q */
  clamped(q) {
    return Float64Array.from(q, (value, k) => {
      const { lower, upper } = this.joints[k];
      return Math.min(Math.max(value, lower ?? -Infinity), upper ?? Infinity);
    });
  }
}

/** Names without the leading and trailing words, separated by "_", "/" or ".", that they all share. @param {string[]} names */
export function shortened(names) {
  if (names.length < 2) return names;
  const words = names.map((name) => name.split(/(?<=[_/.])/));
  const inner = Math.min(...words.map((each) => each.length)) - 1; // at least one word remains
  const shared = (/** @type {number} */ k) =>
    words.every((each) => bare(each.at(k)) === bare(words[0].at(k)));
  let [first, last] = [0, 0];
  while (first < inner && shared(first)) first++;
  while (first + last < inner && shared(-1 - last)) last++;
  const short = words.map((each) => bare(each.slice(first, each.length - last).join("")));
  return new Set(short).size === names.length ? short : names;
}

/** The word without its separator. @param {string} [word] */
function bare(word = "") {
  return word.replace(/(?<=.)[_/.]$/, "");
}
