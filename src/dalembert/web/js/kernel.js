// One function of the WebAssembly module, called by the names of its arrays.

/** @typedef {import("./loader.js").Kernels} Kernels */
/** @typedef {import("./loader.js").Rows} Rows */

export class Kernel {
  /** @param {Kernels} kernels @param {string} name @param {Record<string, Float64Array>} numbers of the robot, for inputs that a call does not give */
  constructor(kernels, name, numbers) {
    const { inputs, outputs } = kernels.about.functions[name];
    this.inputs = inputs;
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
  }

  /** Outputs by name, row by row, for as many states as the first input has. @param {Record<string, ArrayLike<number>>} given
   * @returns {Record<string, Float64Array>} */
  run(given) {
    const [lead, width] = this.inputs.find(([name]) => name in given) ?? this.inputs[0];
    const count = given[lead].length / width;
    if (!Number.isInteger(count) || count < 1)
      throw new RangeError(
        `${lead} has ${given[lead].length} numbers; it must have ${width}, or a multiple of it`,
      );
    const room = this.prepared(count);
    for (const [name, size] of this.inputs) {
      const values = given[name];
      if (values === undefined)
        for (let k = 0; k < count; k++) this.views[name].set(this.numbers[name], k * size);
      else if (values.length === count * size) this.views[name].set(values);
      else throw new RangeError(`${name} has ${values.length} numbers; it must have ${count * size}`);
    }
    room.run(count);
    /** @type {Record<string, Float64Array>} */
    const results = {};
    for (const [name, size] of this.outputs) results[name] = this.views[name].slice(0, count * size);
    return results;
  }

  /** Room for so many states; views are made again where the memory has grown. @param {number} count @returns {Rows} */
  prepared(count) {
    if (!this.room || this.room.count < count) {
      this.room = this.rows(Math.max(count, this.room ? 2 * this.room.count : 1));
      this.buffer = null;
    }
    if (this.buffer !== this.memory.buffer) {
      this.buffer = /** @type {ArrayBuffer} */ (this.memory.buffer);
      for (const [name] of [...this.inputs, ...this.outputs]) this.views[name] = this.room[name];
    }
    return this.room;
  }
}
