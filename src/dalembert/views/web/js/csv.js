// Motions in text tables as dalembert reads and writes them: t, q1 …, qd1 …, qdd1 …, tau1 …, and loads at the tip.

import { motionColumns } from "./csv_columns.js";
import { carriedLoads, payloadColumns } from "./csv_loads.js";
import { FileError, readTable } from "./csv_table.js";
import { monotoneCurve, worstExcursion } from "./monotone.js";
import { MOTION_GROUPS } from "./motion.js";
import { splineDerivatives } from "./spline.js";
import { general } from "./wording.js";

/** @import { ArmNames, MotionColumns } from "./csv_columns.js" */
/** @import { TextTable } from "./csv_table.js" */
/** @import { WordData } from "./csv_words.js" */
/** @import { MotionData, MotionRows } from "./motion.js" */

export const LARGEST_MOTION_FILE = 20e6; // bytes

/** The text of a file in UTF-8, UTF-16 or Windows-1252, or a FileError: too large, or not text. @param {string} path @param {ArrayBuffer} content */
export function fileText(path, content) {
  if (content.byteLength > LARGEST_MOTION_FILE) {
    throw new FileError(
      `${path}: the motion has ${content.byteLength} bytes; the maximum is ${LARGEST_MOTION_FILE}`,
    );
  }
  const bytes = new Uint8Array(content);
  const mark = [bytes[0], bytes[1]].join();
  if (mark === "255,254") return new TextDecoder("utf-16le").decode(content);
  if (mark === "254,255") return new TextDecoder("utf-16be").decode(content);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    if (bytes.includes(0))
      throw new FileError(`${path}: this is not a text file; save the table as CSV in UTF-8`);
    return new TextDecoder("windows-1252").decode(content);
  }
}

/** The motion in a text, or a FileError with one sentence. @param {string} path @param {string} text @param {ArmNames} arm @returns {MotionData} */
export function readMotion(path, text, arm) {
  const n = arm.joints.length;
  const table = withoutRepeats(readTable(path, text));
  const columns = motionColumns(table, arm);
  const numbers = checkedNumbers(table, columns, n);
  const count = table.lines.length;
  const width = columns.wanted.length;
  if (count < 2) throw new FileError(`${path}: a motion needs at least two rows, but the file has only one`);
  const instants = Float64Array.from({ length: count }, (_, row) => numbers[row * width]);
  for (const [a, b] of [
    [instants[0], instants[1]],
    [instants[count - 2], instants[count - 1]],
  ]) {
    if (a === b) {
      throw new FileError(
        `${path}: the time ${general(a)} s occurs twice, which is not allowed for the first or the last time of the file`,
      );
    }
  }
  const t = instants.map((x) => x - instants[0]);
  /** @type {Record<string, Float64Array>} */
  const groups = {};
  columns.groups.forEach((group, k) => {
    groups[group] = new Float64Array(count * n);
    for (let row = 0; row < count; row++) {
      for (let j = 0; j < n; j++) groups[group][row * n + j] = numbers[row * width + 1 + k * n + j];
    }
  });
  const notes = [...table.notes, ...columns.notes, ...completed(path, instants, groups, n)];
  const first = 1 + columns.groups.length * n;
  const carried = Object.fromEntries(
    columns.carried.map((name, k) => [
      name,
      Float64Array.from(t, (_, row) => numbers[row * width + first + k]),
    ]),
  );
  const motion = { name: path, note: notes.join("; "), t, q: groups.q, qd: groups.qd, qdd: groups.qdd };
  return carriedLoads(path, motion, carried, n, arm.column_words);
}

/** The table without rows that repeat the one before in every column, and with a note on them. @param {TextTable} table @returns {TextTable} */
function withoutRepeats(table) {
  const { path, names, lines, numbers } = table;
  const width = names.length;
  const kept = Array.from(lines.keys()).filter(
    (row) => row === 0 || names.some((_, k) => numbers[row * width + k] !== numbers[(row - 1) * width + k]),
  );
  const count = lines.length - kept.length;
  if (!count) return table;
  return {
    ...table,
    notes: [
      ...table.notes,
      `${path}: ${count === 1 ? "1 row repeats" : `${count} rows repeat`} the one before; dropped`,
    ],
    lines: Int32Array.from(kept, (row) => lines[row]),
    numbers: Float64Array.from(
      kept.flatMap((row) => Array.from(numbers.subarray(row * width, (row + 1) * width))),
    ),
  };
}

/** The requested columns in SI units, row by row, checked: finite values, and time that does not decrease. @param {TextTable} table @param {MotionColumns} columns @param {number} n */
function checkedNumbers(table, columns, n) {
  const { path, names, lines } = table;
  const width = columns.wanted.length;
  const numbers = new Float64Array(lines.length * width);
  const jumping = MOTION_GROUPS.every((group) => columns.groups.includes(group));
  const state = 1 + 2 * n;
  let repeated = false;
  for (let row = 0; row < lines.length; row++) {
    for (let k = 0; k < width; k++) {
      const value = table.numbers[row * names.length + columns.wanted[k]] * columns.factors[k];
      if (!Number.isFinite(value)) {
        throw new FileError(
          `${path}, line ${lines[row]}, column '${names[columns.wanted[k]]}': ` +
            `the value is ${Number.isNaN(value) ? "NaN" : "infinite"}; it must be a finite number`,
        );
      }
      numbers[row * width + k] = value;
    }
    if (!row) continue;
    const [before, now] = [numbers[(row - 1) * width], numbers[row * width]];
    const where = `${path}, line ${lines[row]}, column '${names[columns.wanted[0]]}'`;
    if (now < before)
      throw new FileError(`${where}: time goes backwards, from ${general(before)} to ${general(now)} s`);
    // an instant may appear twice, but not three times, for both sides of a jump in acceleration
    let same = true;
    for (let k = 0; k < state && same; k++)
      same = numbers[row * width + k] === numbers[(row - 1) * width + k];
    if (now === before && !(jumping && same && !repeated)) {
      throw new FileError(`${where}: the time ${general(now)} s occurs twice`);
    }
    repeated = same;
  }
  return numbers;
}

/** Derives the missing groups: qd from q; qdd from qd, or from q if qd is missing as well. @param {string} path @param {Float64Array} t @param {Record<string, Float64Array>} groups @param {number} n */
function completed(path, t, groups, n) {
  const missing = MOTION_GROUPS.filter((group) => !(group in groups));
  if (!missing.length) return [];
  const source = groups.qd ? "qd" : "q";
  const derived = splineDerivatives(t, groups[source], n);
  const names = missing.map((group) => `${group}1 …`).join(" and ");
  if (typeof derived === "string") {
    throw new FileError(`${path}: the columns ${names} are missing and cannot be derived: ${derived}`);
  }
  const column = (/** @type {Float64Array} */ x, /** @type {number} */ j) => x.filter((_, k) => k % n === j);
  const splines = Array.from({ length: n }, (_, j) => ({
    q: column(groups[source], j),
    v: column(derived.first, j),
    a: column(derived.second, j),
  }));
  const worst = worstExcursion(t, splines, source);
  if (worst?.held) {
    const rounding = 1e-12 * groups[source].reduce((most, x) => Math.max(most, Math.abs(x)), 0);
    splines.forEach((spline, j) => {
      const { v, a } = monotoneCurve(t, spline, rounding);
      for (let k = 0; k < t.length; k++) [derived.first[k * n + j], derived.second[k * n + j]] = [v[k], a[k]];
    });
  }
  if (source === "qd") groups.qdd = derived.first;
  else {
    groups.qd = derived.first;
    groups.qdd ??= derived.second;
  }
  if (!worst) return [`${path}: the columns ${names} were made by a quintic spline through ${source}1 …`];
  const remedy = worst.held
    ? "a monotone curve was used instead"
    : "interpolation 'monotone' stays between them";
  return [`${path}: ${worst.sentence}: ${remedy}`];
}

/** A motion and its torques as dalembert writes them, with every number exact to the last bit. @param {MotionRows} rows @param {Float64Array} torques @param {WordData} words */
export function writeMotion(rows, torques, words) {
  const { n, count } = rows;
  const groups = { q: rows.q, qd: rows.qd, qdd: rows.qdd, tau: torques };
  const joints = Array.from({ length: n }, (_, k) => k + 1);
  const names = ["t", ...Object.keys(groups).flatMap((group) => joints.map((k) => `${group}${k}`))];
  const loads = rows.loads.map((load) => [...payloadColumns(load.payload), ...Array.from(load.wrench)]);
  if (loads.length) names.push(...Object.keys(words.payloads), ...Object.keys(words.wrenches));
  const lines = [names.join(",")];
  for (let row = 0; row < count; row++) {
    const states = Object.values(groups).flatMap((values) =>
      Array.from(values.subarray(row * n, (row + 1) * n)),
    );
    lines.push([rows.t[row], ...states, ...(loads.length ? loads[rows.load[row]] : [])].join(","));
  }
  return `${lines.join("\n")}\n`;
}
