// One function of the WebAssembly module, called with named arrays.

/** @import { Kernels, Rows } from "./loader.js" */

/** The parameters of a robot that are kernel inputs; `revision` counts their changes. */
export class Numbers {
  /** @param {Record<string, ArrayLike<number>>} values */
  constructor(values) {
    this.revision = 0;
    /** @type {Record<string, Float64Array>} */
    this.arrays = {};
    for (const [name, array] of Object.entries(values)) this.arrays[name] = Float64Array.from(array);
  }

  /** @param {Record<string, ArrayLike<number>>} patch @param {number} [revision] */
  change(patch, revision = this.revision + 1) {
    for (const [name, values] of Object.entries(patch)) this.arrays[name].set(values);
    this.revision = revision;
  }

  /** Calls compute with some parameters temporarily replaced; other users are not affected.
   * @param {Record<string, ArrayLike<number>>} patch @param {() => void} compute */
  during(patch, compute) {
    const { revision } = this;
    const kept = Object.fromEntries(Object.keys(patch).map((name) => [name, this.arrays[name].slice()]));
    this.change(patch, NaN); // forces every kernel to reload its memory
    try {
      compute();
    } finally {
      this.change(kept, revision);
    }
  }
}

export class Kernel {
  /** @param {Kernels} kernels @param {string} name @param {Numbers} numbers for inputs that a call omits */
  constructor(kernels, name, numbers) {
    const { inputs, outputs } = kernels.about.functions[name];
    this.given = inputs.filter(([array]) => !(array in numbers.arrays));
    this.own = inputs.filter(([array]) => array in numbers.arrays);
    this.outputs = outputs;
    this.numbers = numbers;
    /** @type {(count: number) => Rows} */
    this.rows = kernels[name].rows;
    this.memory = kernels.memory;
    /** @type {Rows | null} */
    this.room = null;
    /** @type {ArrayBuffer | null} */
    this.buffer = null;
    /** @type {Record<string, Float64Array>} */
    this.views = {};
    this.revision = -1; // of the parameters in the memory
    this.filled = 0; // rows that contain them
  }

  /** Outputs by name, row by row, for as many states as the first input has; robot parameters may also be passed. @param {Record<string, ArrayLike<number>>} values
   * @returns {Record<string, Float64Array>} */
  run(values) {
    const [lead, width] = this.given[0];
    const count = values[lead].length / width;
    if (!Number.isInteger(count) || count < 1)
      throw new RangeError(
        `${lead} has ${values[lead].length} numbers; it must have ${width} or a multiple of that`,
      );
    const room = this.prepared(count);
    const others = this.own.filter(([name]) => name in values);
    if (others.length) this.filled = 0; // the next call restores the robot's own
    for (const [name, size] of [...this.given, ...others]) {
      if (values[name].length !== count * size)
        throw new RangeError(`${name} has ${values[name].length} numbers; it must have ${count * size}`);
      this.views[name].set(values[name]);
    }
    room.run(count);
    /** @type {Record<string, Float64Array>} */
    const results = {};
    for (const [name, size] of this.outputs) results[name] = this.views[name].slice(0, count * size);
    return results;
  }

  /** Buffers for `count` states, filled with the parameters; views are recreated after the memory has grown.
   * @param {number} count @returns {Rows} */
  prepared(count) {
    if (!this.room || this.room.count < count) {
      this.room = this.rows(Math.max(count, this.room ? 2 * this.room.count : 1));
      this.buffer = null;
      this.filled = 0;
    }
    if (this.buffer !== this.memory.buffer) {
      this.buffer = /** @type {ArrayBuffer} */ (this.memory.buffer);
      for (const [name] of [...this.given, ...this.own, ...this.outputs]) this.views[name] = this.room[name];
    }
    if (this.revision !== this.numbers.revision) this.filled = 0;
    if (this.filled < count) {
      for (const [name, size] of this.own)
        for (let k = this.filled; k < count; k++) this.views[name].set(this.numbers.arrays[name], k * size);
      this.revision = this.numbers.revision;
      this.filled = count;
    }
    return this.room;
  }
}
