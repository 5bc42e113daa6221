// A fit as stored in its report by report/fit_data.py: the terms of the model, the equations of the fit, and its runs.

import { bytesOf, unpacked } from "./data.js";

/** @typedef {{name: string, kind: number, owner: number, fixed: boolean}} FitColumn */
/** @typedef {{joints: string[], units: string[], owners: string[], kinds: string[], columns: FitColumn[], felt: number[][],
 *  runs: {name: string, instants: number}[]}} FitHeader */
/** A joint of a run. `columns` are the base parameters in the order of `upper`, an upper triangle stored row by row;
 * `left` is the residual torque in the same directions, `norm` the norm of the measured torques; `directions`
 * are Q at the displayed instants.
 * @typedef {{columns: number[], upper: Float64Array, left: Float64Array, norm: number, measured: Float64Array,
 *  residual: Float64Array, directions: Float64Array[]}} FitJoint */
/** @typedef {{name: string, t: Float64Array, joints: FitJoint[]}} FitRun */
/** @typedef {{header: FitHeader, parameters: Float64Array, upper: Float64Array, left: Float64Array, runs: FitRun[]}} FitData */

/** The number of entries of an upper triangle. @param {number} size */
export function fitTriangle(size) {
  return (size * (size + 1)) / 2;
}

/** Reads consecutive arrays from bytes. */
class FitReader {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  /** Doubles truncated to `kept` bytes: the first bytes of all values, then the second bytes, and so on.
   * @param {number} count @param {number} kept @returns {Float64Array} */
  doubles(count, kept) {
    const out = new Float64Array(count);
    const places = new Uint8Array(out.buffer);
    for (let byte = 0; byte < kept; byte++)
      for (let k = 0; k < count; k++) places[8 * k + 7 - byte] = this.bytes[this.at++];
    return out;
  }

  /** Integers: all high bytes, then all low bytes, with 0, −1, 1, −2, … encoded as 0, 1, 2, 3, ….
   * @param {number} count @returns {Int32Array} */
  wholeNumbers(count) {
    const out = new Int32Array(count);
    for (let k = 0; k < count; k++) {
      const folded = 256 * this.bytes[this.at + k] + this.bytes[this.at + count + k];
      out[k] = folded % 2 ? -(folded + 1) / 2 : folded / 2;
    }
    this.at += 2 * count;
    return out;
  }

  /** @param {number} count */
  stepped(count) {
    const step = this.doubles(1, 8)[0];
    return Float64Array.from(this.wholeNumbers(count), (value) => step * value);
  }
}

/** @param {string} header packed JSON @param {string} arrays base64 of compressed bytes @returns {Promise<FitData>} */
export async function readFit(header, arrays) {
  /** @type {FitHeader} */
  const told = await unpacked(header);
  const stream = new Blob([bytesOf(arrays)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const reader = new FitReader(new Uint8Array(await new Response(stream).arrayBuffer()));
  const b = told.columns.length;
  const parameters = reader.doubles(b, 8);
  const upper = reader.doubles(fitTriangle(b), 6);
  const left = reader.doubles(b, 8);
  const runs = told.runs.map(({ name, instants }) => {
    const t = reader.doubles(instants, 8);
    const joints = told.felt.map((felt) => readFitJoint(reader, felt, instants));
    return { name, t, joints };
  });
  return { header: told, parameters, upper, left, runs };
}

/** @param {FitReader} reader @param {number[]} felt @param {number} instants @returns {FitJoint} */
function readFitJoint(reader, felt, instants) {
  const p = felt.length;
  const columns = Array.from(reader.wholeNumbers(p), (place) => felt[place]);
  const upper = reader.doubles(fitTriangle(p), 6);
  const leftAndNorm = reader.doubles(p + 2, 8);
  const measured = reader.stepped(instants);
  const residual = reader.stepped(instants);
  const directions = columns.map(() => reader.stepped(instants));
  const left = leftAndNorm.slice(0, p + 1);
  return { columns, upper, left, norm: leftAndNorm[p + 1], measured, residual, directions };
}
