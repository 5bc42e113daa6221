// The columns of a table that hold a motion: t, q1 … qn, qd1 …, qdd1 …, and the payload and wrench at the tip.

import { gatheredColumns, matchedJoints, nameAndUnit, namesMeaning, severalMean } from "./csv_names.js";
import { FileError } from "./csv_table.js";
import { ColumnWords } from "./csv_words.js";
import { MOTION_GROUPS } from "./motion.js";
import { countedThings, listedNames, nearestNames, quotedText } from "./wording.js";

/** @import { TextTable } from "./csv_table.js" */
/** @import { WordData } from "./csv_words.js" */

/** The arm whose motion is read: its name, its joints in order, and the words of columns. @typedef {{name: string, joints: {name: string, revolute: boolean}[], column_words: WordData}} ArmNames */

/** @typedef {{groups: string[], wanted: number[], factors: number[], notes: string[], carried: string[]}} MotionColumns */

const COLUMN_NAME = /^(?:t|(q|qd|qdd|tau)([1-9][0-9]{0,3}))$/;
const COLUMN_DERIVED = "report_"; // prefix of columns that a report adds to a motion; they are ignored

/** The columns of the motion in a table, or a FileError. @param {TextTable} table @param {ArmNames} arm @returns {MotionColumns} */
export function motionColumns(table, arm) {
  const { path } = table;
  if (!table.headed) {
    throw new FileError(
      `${path}, line ${table.line}: the file has no header; its first line must name the columns t, q1, …`,
    );
  }
  const words = new ColumnWords(arm.column_words);
  const known = words.loads;
  const plain = table.names.map((name) => nameAndUnit(name)[0]);
  const carried = [...new Set(plain.filter((name) => name in known))];
  checkOnce(
    path,
    plain.filter((name) => name in known),
  );
  const kept = table.names.flatMap((name, k) =>
    plain[k] in known || name.startsWith(COLUMN_DERIVED) ? [] : [k],
  );
  const { names, units, notes } = understoodNames(
    path,
    kept.map((k) => table.names[k]),
    arm,
    words,
  );
  const groups = groupsOf(path, names, arm);
  const sliding = arm.joints.map((joint) => !joint.revolute);
  /** @type {number[]} */
  const wanted = [];
  /** @type {number[]} */
  const factors = [];
  for (const group of ["t", ...groups]) {
    const places =
      group === "t" ? [names.indexOf("t")] : arm.joints.map((_, k) => names.indexOf(`${group}${k + 1}`));
    const own = places.map((column) => units[column]);
    const scale = words.factors(path, group, own, group === "t" ? null : sliding);
    if (scale.some((factor) => factor !== 1)) {
      const from = [...new Set(own.filter((unit) => unit !== null))].join(", ");
      notes.push(`${path}: ${group} was converted from ${from} to SI`);
    }
    wanted.push(...places.map((column) => kept[column]));
    factors.push(...scale);
  }
  for (const name of carried) {
    const column = plain.indexOf(name);
    const unit = nameAndUnit(table.names[column])[1];
    const own = Object.keys(known[name]).find(
      (word) => unit !== null && words.plain(word) === words.plain(unit),
    );
    const factor = unit === null ? 1 : known[name][own ?? ""];
    if (factor === undefined) {
      throw new FileError(
        `${path}: the unit of column '${name}' is '${unit}'; it must be one of ${Object.keys(known[name]).join(", ")}`,
      );
    }
    if (factor !== 1) notes.push(`${path}: ${name} was converted from ${unit}`);
    wanted.push(column);
    factors.push(factor);
  }
  return { groups, wanted, factors, notes, carried };
}

/** The standard names of the columns (t, q1, …; null for joints that the arm does not have), and their units. @param {string} path @param {string[]} written @param {ArmNames} arm @param {ColumnWords} words */
function understoodNames(path, written, arm, words) {
  /** @type {(string | null)[]} */
  const names = written.map((name) => nameAndUnit(name)[0]);
  const units = written.map((name) => nameAndUnit(name)[1]);
  /** @type {string[]} */
  const notes = [];
  if (names.every((name) => COLUMN_NAME.test(name ?? ""))) return { names, units, notes };
  const joints = arm.joints.map((joint) => joint.name);
  const columns = gatheredColumns(path, written, joints, words);
  let told = false;
  for (const group of ["t", ...MOTION_GROUPS, "tau"]) {
    const candidates = namesMeaning(columns, group, words);
    if (candidates.length !== 1) {
      // if there are several, only those named t, q1, … count
      const meaning = candidates.flatMap(({ name }) => columns.groups.get(name) ?? []);
      if (meaning.length && !meaning.some((column) => COLUMN_NAME.test(names[column] ?? ""))) {
        severalMean(
          path,
          meaning.map((column) => written[column]),
          group,
        );
      }
      continue;
    }
    const [{ name, unit }] = candidates;
    const fault = columns.faults.get(name);
    if (fault !== undefined) throw new FileError(fault);
    let places = columns.groups.get(name) ?? [];
    const theirs = columns.joints.get(name);
    if (group !== "t" && theirs) {
      const order = jointOrder(path, theirs, arm, told ? [] : notes);
      told = true;
      for (const column of places) names[column] = null;
      places = order.map((k) => places[k]);
    }
    places.forEach((column, k) => {
      units[column] ??= unit;
      names[column] = group === "t" ? group : `${group}${k + 1}`;
    });
  }
  return { names, units, notes };
}

/** The columns of the arm's joints in its order; remarks are added to notes. @param {string} path @param {string[]} theirs @param {ArmNames} arm @param {string[]} notes */
function jointOrder(path, theirs, arm, notes) {
  const mine = arm.joints.map((joint) => joint.name);
  const order = matchedJoints(mine, theirs);
  if (order === null) {
    const missing = mine.find((joint) => !theirs.includes(joint)) ?? mine[0];
    throw new FileError(
      `${path}: joint '${missing}' of arm '${arm.name}' is not in the motion, whose joints are ` +
        `${listedNames(theirs)}${nearestNames(missing, theirs)}; name the columns after the arm's joints, or q1, q2, …`,
    );
  }
  const taken = order.map((k) => theirs[k]);
  const beyond = theirs.filter((joint) => !taken.includes(joint));
  if (taken.some((joint, k) => joint !== mine[k]))
    notes.push(`${path}: ${listedNames(taken)} are used for ${listedNames(mine)}`);
  if (beyond.length)
    notes.push(`${path}: the joints ${listedNames(beyond)} do not belong to the arm and were left out`);
  return order;
}

/** Throws an error if a column occurs twice. @param {string} path @param {string[]} names */
function checkOnce(path, names) {
  const twice = [...new Set(names.filter((name, k) => names.indexOf(name) !== k))];
  if (twice.length)
    throw new FileError(`${path}: the column ${listedNames(twice)} occurs more than once in the header`);
}

/** The groups of columns present, or an error message about invalid columns. @param {string} path @param {(string | null)[]} names @param {ArmNames} arm */
function groupsOf(path, names, arm) {
  const n = arm.joints.length;
  const whose = `arm '${arm.name}' has ${countedThings(n, "joint")}`;
  const every = (/** @type {string} */ group) => arm.joints.map((_, k) => `${group}${k + 1}`);
  const columns = [
    "t",
    ...MOTION_GROUPS.map((group) => (n > 1 ? `${group}1 … ${group}${n}` : `${group}1`)),
  ].join(", ");
  const unknown = names.filter((name) => name !== null && !COLUMN_NAME.test(name));
  if (unknown.length === 1 && unknown[0] === "") {
    throw new FileError(`${path}: column ${names.indexOf("") + 1} has no name; known columns are ${columns}`);
  }
  if (unknown.length) {
    const words = unknown.map((name) => quotedText(name ?? ""));
    const hint = nearestNames(unknown[0] ?? "", ["t", ...MOTION_GROUPS.flatMap(every)]);
    throw new FileError(
      `${path}: unknown column${words.length > 1 ? "s" : ""} ${listedNames(words)}; the known columns are ${columns}${hint}`,
    );
  }
  const told = /** @type {string[]} */ (names.filter((name) => name !== null));
  checkOnce(path, told);
  const counts = MOTION_GROUPS.map((group) =>
    told
      .flatMap((name) => (COLUMN_NAME.exec(name)?.[1] === group ? [Number(name.slice(group.length))] : []))
      .sort((a, b) => a - b),
  );
  MOTION_GROUPS.forEach((group, at) => {
    const numbers = counts[at];
    if (numbers.length && numbers.length !== n && numbers.every((number, k) => number === k + 1)) {
      throw new FileError(
        `${path}: its columns give ${group} the shape (…, ${numbers.length}), but ${whose}: ${group} must have the shape (…, ${n})`,
      );
    }
  });
  const groups = MOTION_GROUPS.filter((group, at) => counts[at].length || group === "q");
  const missing = ["t", ...groups.flatMap(every)].filter((name) => !told.includes(name));
  if (missing.length) {
    const [verb, plural] = missing.length === 1 ? ["is", ""] : ["are", "s"];
    throw new FileError(
      `${path}: the column${plural} ${listedNames(missing)} ${verb} missing; required are ${columns} (qd or qdd may be omitted as a whole)`,
    );
  }
  const beyond = MOTION_GROUPS.flatMap((group, at) =>
    counts[at].filter((k) => k > n).map((k) => `${group}${k}`),
  );
  if (beyond.length)
    throw new FileError(`${path}: ${whose}, so there can be no column ${listedNames(beyond)}`);
  return groups;
}
