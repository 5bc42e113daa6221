// A motion: nodes with positions, velocities and accelerations, and quintic pieces between them.

/**
 * The load at the tip during an interval of a motion, in addition to the arm's own payload and wrench.
 * @typedef {{payload: ArrayLike<number>, wrench: ArrayLike<number>}} Load
 * @typedef {{name: string, note: string, t: ArrayLike<number>, q: ArrayLike<number>, qd: ArrayLike<number>,
 *   qdd: ArrayLike<number>, load: ArrayLike<number>, loads: Load[], events: string[]}} MotionData
 * @typedef {{count: number, n: number, t: Float64Array, q: Float64Array, qd: Float64Array, qdd: Float64Array,
 *   load: Int32Array, loads: Load[]}} MotionRows
 */

/** Positions, velocities and accelerations, by their names in rows and in columns of files. */
export const MOTION_GROUPS = /** @type {const} */ (["q", "qd", "qdd"]);
const MOTION_ROUNDING = 1e-12; // rounding error of positions, relative to the largest position of a joint

export class Motion {
  /** @param {MotionData} data t (K,) is non-decreasing; an instant appears twice where an acceleration or a load jumps @param {number} n joints */
  constructor(data, n) {
    this.name = data.name;
    this.note = data.note;
    this.events = data.events;
    this.loads = data.loads;
    this.n = n;
    this.t = Float64Array.from(data.t);
    this.q = Float64Array.from(data.q);
    this.qd = Float64Array.from(data.qd);
    this.qdd = Float64Array.from(data.qdd);
    this.load = Int32Array.from(data.load);
    this.duration = this.t[this.t.length - 1];
    this.rounding = new Float64Array(n);
    this.q.forEach((q, k) => {
      this.rounding[k % n] = Math.max(this.rounding[k % n], MOTION_ROUNDING * Math.abs(q));
    });
  }

  /** The piece that contains an instant: at a node the piece that begins there, at the last node the piece that ends there. @param {number} t */
  piece(t) {
    let low = 0;
    let high = this.t.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.t[middle] <= t) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Positions, velocities and accelerations at an instant. @param {number} t */
  at(t) {
    const rows = motionRows(1, this.n, this.loads);
    const instant = Math.min(Math.max(t, 0), this.duration);
    this.fill(rows, 0, this.piece(instant), instant);
    return { q: rows.q, qd: rows.qd, qdd: rows.qdd };
  }

  /** Writes the state at t, in piece k, into a row. @param {MotionRows} rows @param {number} row @param {number} k @param {number} t */
  fill(rows, row, k, t) {
    const { n } = this;
    rows.t[row] = t;
    rows.load[row] = this.loads.length ? this.load[k] : -1;
    const h = this.t[k + 1] - this.t[k];
    const u = (t - this.t[k]) / h;
    for (let j = 0; j < n; j++) {
      const [a, b] = [k * n + j, (k + 1) * n + j];
      const at = row * n + j;
      if (u <= 0 || u >= 1) {
        for (const group of MOTION_GROUPS) rows[group][at] = this[group][u <= 0 ? a : b]; // no rounding at the nodes themselves
        continue;
      }
      const [v0, v1, a0, a1] = [h * this.qd[a], h * this.qd[b], h * h * this.qdd[a], h * h * this.qdd[b]];
      let rise = this.q[b] - this.q[a];
      const smooth = (v0 + v1) / 2 + (a0 - a1) / 12; // mean velocity from the derivatives alone
      if (Math.abs(rise - smooth) <= this.rounding[j]) rise = smooth;
      const [c3, c4, c5] = quintic(rise, v0, v1, a0, a1);
      rows.q[at] = this.q[a] + u * (v0 + u * (a0 / 2 + u * (c3 + u * (c4 + u * c5))));
      rows.qd[at] = (v0 + u * (a0 + u * (3 * c3 + u * (4 * c4 + u * 5 * c5)))) / h;
      rows.qdd[at] = (a0 + u * (6 * c3 + u * (12 * c4 + u * 20 * c5))) / (h * h);
    }
  }

  /** All nodes, and enough instants between them for a spacing of at most duration/count. @param {number} count */
  rows(count) {
    const last = this.t.length - 1;
    const parts = new Int32Array(last);
    let total = this.t.length;
    for (let k = 0; k < last; k++) {
      const h = this.t[k + 1] - this.t[k];
      parts[k] = Math.max(1, Math.ceil((h / this.duration) * count * (1 - 1e-9)));
      total += parts[k] - 1;
    }
    const rows = motionRows(total, this.n, this.loads);
    let row = 0;
    for (let k = 0; k < last; k++) {
      const h = this.t[k + 1] - this.t[k];
      if (h === 0) this.copyNode(rows, row++, k);
      else for (let i = 0; i < parts[k]; i++) this.fill(rows, row++, k, this.t[k] + (h * i) / parts[k]);
    }
    this.copyNode(rows, row, last);
    return rows;
  }

  /** The nodes with these indices. @param {ArrayLike<number>} nodes */
  nodes(nodes) {
    const rows = motionRows(nodes.length, this.n, this.loads);
    for (let row = 0; row < nodes.length; row++) this.copyNode(rows, row, nodes[row]);
    return rows;
  }

  /** @param {MotionRows} rows @param {number} row @param {number} k */
  copyNode(rows, row, k) {
    const { n } = this;
    rows.t[row] = this.t[k];
    rows.load[row] = this.loads.length ? this.load[k] : -1;
    for (const group of MOTION_GROUPS) rows[group].set(this[group].subarray(k * n, (k + 1) * n), row * n);
  }
}

/** The coefficients of u³, u⁴ and u⁵ in a quintic piece, u from 0 to 1, from its rise and its scaled derivatives at both ends. @param {number} rise @param {number} v0 @param {number} v1 @param {number} a0 @param {number} a1 */
export function quintic(rise, v0, v1, a0, a1) {
  return [
    10 * rise - 6 * v0 - 4 * v1 - 1.5 * a0 + 0.5 * a1,
    -15 * rise + 8 * v0 + 7 * v1 + 1.5 * a0 - a1,
    6 * rise - 3 * v0 - 3 * v1 - 0.5 * a0 + 0.5 * a1,
  ];
}

/** Empty rows of a motion. @param {number} count @param {number} n @param {Load[]} loads @returns {MotionRows} */
export function motionRows(count, n, loads) {
  const numbers = () => new Float64Array(count * n);
  const [t, load] = [new Float64Array(count), new Int32Array(count).fill(-1)];
  return { count, n, t, q: numbers(), qd: numbers(), qdd: numbers(), load, loads };
}

/** The same motion with time stretched by a factor c: S (7.119), r = t/c. @param {MotionRows} rows @param {number} c @returns {MotionRows} */
export function stretchedRows(rows, c) {
  return {
    ...rows,
    t: rows.t.map((t) => c * t),
    qd: rows.qd.map((qd) => qd / c),
    qdd: rows.qdd.map((qdd) => qdd / (c * c)),
  };
}
