// The meaning of column names: q1, q[0], position.elbow, elbow_velocity [deg/s], joint1_pos, time.

import { FileError } from "./csv_table.js";
import { listedNames } from "./wording.js";

/** @import { ColumnWords } from "./csv_words.js" */

const NAME_JOINT = /^(\w*_)?(joint|jnt|axis|gelenk|achse|articulation|axe|j|a)_?\d{1,3}$/i;
const NAME_NUMBERED = /^(.*?)[_[ .(]?(\d{1,3})[\])]?$/;
const NAME_INSIDE = /^([A-Za-z_]*?[A-Za-z])_?(\d{1,3})_?([A-Za-z][A-Za-z_]*)$/;

/** A column's name and the unit in brackets after it, if any. @param {string} name @returns {[string, string | null]} */
export function nameAndUnit(name) {
  const word = name.trim();
  if (word.endsWith("]") || word.endsWith(")")) {
    const opened = Math.max(word.lastIndexOf("["), word.lastIndexOf("("));
    const unit = word.slice(opened + 1, -1);
    if (opened >= 0 && !/[\])]/.test(unit) && /[A-Za-z°µ%]/.test(unit))
      return [word.slice(0, opened).trim(), unit.trim()];
  }
  return [word, null];
}

/**
 * Columns grouped by the name they share; their joints, if the names tell; and the errors found.
 * @typedef {{groups: Map<string, number[]>, joints: Map<string, string[]>, faults: Map<string, string>}} NamedColumns
 * @param {string} path @param {string[]} names @param {readonly string[]} joints @param {ColumnWords} words @returns {NamedColumns}
 */
export function gatheredColumns(path, names, joints, words) {
  const plain = names.map((name) => nameAndUnit(name)[0]);
  /** @type {NamedColumns} */
  const columns = { groups: new Map(), joints: new Map(), faults: new Map() };
  /** @type {Map<string, Map<number, number>>} */
  const numbered = new Map();
  /** @type {Map<string, Map<string, number>>} */
  const owned = new Map();
  /** @type {Map<number, string>} */
  const doubled = new Map();
  plain.forEach((name, column) => {
    const first = plain.indexOf(name);
    if (name && first !== column) {
      doubled.set(
        first,
        `${path}: the header contains '${name}' twice, in columns ${first} and ${column}, counted from 0`,
      );
    }
    if (!name || first !== column) return;
    const owner = ownerOf(name, joints, words);
    const number = NAME_NUMBERED.exec(name);
    const inside = NAME_INSIDE.exec(name);
    if (words.spelled.has(name.toLowerCase())) columns.groups.set(name, [column]);
    else if (owner) innerMap(owned, owner[0]).set(owner[1], column);
    else if (number) innerMap(numbered, number[1]).set(Number(number[2]), column);
    else if (inside) innerMap(numbered, `${inside[1]}_${inside[3]}`).set(Number(inside[2]), column);
    else columns.groups.set(name, [column]);
  });
  for (const [stem, byNumber] of numbered) {
    let key = stem;
    while (columns.groups.has(key) || !key) key += "#";
    const order = [...byNumber.keys()].sort((a, b) => a - b);
    columns.groups.set(
      key,
      order.map((k) => /** @type {number} */ (byNumber.get(k))),
    );
    let gap = order[0] === 0 ? 0 : 1;
    while (byNumber.has(gap)) gap++;
    if (gap < order[order.length - 1])
      columns.faults.set(key, `${path}: number ${gap} of the columns ${stem}1, ${stem}2, … is missing`);
  }
  for (const [quantity, byJoint] of owned) {
    if (columns.groups.has(quantity))
      for (const column of byJoint.values()) columns.groups.set(plain[column], [column]);
    else {
      columns.groups.set(quantity, [...byJoint.values()]);
      columns.joints.set(quantity, [...byJoint.keys()]);
    }
  }
  for (const [name, places] of columns.groups) {
    const bad = places.find((column) => doubled.has(column));
    if (bad !== undefined && !columns.faults.has(name))
      columns.faults.set(name, /** @type {string} */ (doubled.get(bad)));
  }
  return columns;
}

/** @template K, V @param {Map<string, Map<K, V>>} maps @param {string} key @returns {Map<K, V>} */
function innerMap(maps, key) {
  const map = maps.get(key) ?? new Map();
  maps.set(key, map);
  return map;
}

/** [quantity, joint] of a name like elbow.position, position/elbow, elbow_position. @param {string} name @param {readonly string[]} joints @param {ColumnWords} words */
function ownerOf(name, joints, words) {
  const pieces = name.split(/[./:]/);
  const quantity = pieces.find((piece) => (words.spelled.get(piece.toLowerCase()) ?? "t") !== "t");
  if (pieces.length > 1 && quantity !== undefined)
    return [quantity, pieces.filter((piece) => piece !== quantity).join(".")];
  name = name.replaceAll(" ", "_");
  const lower = name.toLowerCase();
  for (const word of words.beside) {
    for (const [fits, who] of /** @type {[boolean, string][]} */ ([
      [lower.startsWith(`${word}_`), name.slice(word.length + 1)],
      [lower.endsWith(`_${word}`), name.slice(0, -word.length - 1)],
    ])) {
      if (fits && (joints.includes(who) || NAME_JOINT.test(who))) return [word, who];
    }
  }
  return null;
}

/** The names that denote a quantity, best match first, with the unit suffix of each. @param {NamedColumns} columns @param {string} group @param {ColumnWords} words */
export function namesMeaning(columns, group, words) {
  const places = [...columns.groups.keys()].flatMap((name) => {
    const place = meaningOf(name, group, words);
    return place === null ? [] : [{ name, place: place[0], unit: place[1] }];
  });
  return places.sort((a, b) => a.place - b.place);
}

/** How well a name matches a quantity, and its unit suffix; null if it denotes something else. @param {string} name @param {string} group @param {ColumnWords} words @returns {[number, string | null] | null} */
function meaningOf(name, group, words) {
  const { spellings } = words.data.signals[group];
  const whole = name.toLowerCase().replace(/^[_%/# ]+|[_%/# ]+$/g, "");
  const last = /** @type {string} */ (whole.split(/[./:]/).pop());
  for (const [further, word] of [whole, last].entries()) {
    if (spellings.includes(word)) return [spellings.indexOf(word) + 100 * further, null];
    const cut = word.lastIndexOf("_");
    const [stem, ending] = [word.slice(0, Math.max(cut, 0)), word.slice(cut + 1)];
    const short = ending.length < 2 && group !== "t"; // q_m does not mean metres
    const unit = short || words.data.no_units.includes(ending) ? null : words.meant(group, ending);
    if (spellings.includes(stem) && unit) return [spellings.indexOf(stem) + 100 * further, unit];
  }
  return null;
}

/**
 * The indices of the arm's joints among those of a file: matched by name, by name after a common prefix, or by number after one.
 * @param {readonly string[]} mine @param {readonly string[]} theirs @returns {number[] | null}
 */
export function matchedJoints(mine, theirs) {
  if (mine.every((name) => theirs.includes(name))) return mine.map((name) => theirs.indexOf(name));
  /** @type {Map<string, number[]>} */
  const ways = new Map();
  let shared = 0;
  while (mine.length > 1 && mine.every((name) => shared < name.length && name[shared] === mine[0][shared]))
    shared++;
  for (const stems of [mine, mine.map((name) => name.slice(shared))]) {
    if (!stems.every(Boolean)) continue;
    for (const name of theirs.filter((name) => name.endsWith(stems[0]))) {
      const prefix = name.slice(0, name.length - stems[0].length);
      const order = stems.map((stem) => theirs.indexOf(prefix + stem));
      if (!order.includes(-1)) ways.set(String(order), order);
    }
  }
  if (!ways.size) {
    /** @type {Map<string, Map<number, number>>} */
    const numbered = new Map();
    theirs.forEach((name, k) => {
      const number = /^(.*?)(0|[1-9]\d{0,8})$/.exec(name);
      if (number && !/\d$/.test(number[1])) innerMap(numbered, number[1]).set(Number(number[2]), k);
    });
    for (const byNumber of numbered.values()) {
      const order = [...byNumber.keys()].sort((a, b) => a - b);
      const runs = order.length === mine.length && order.every((k, at) => k === order[0] + at);
      if (runs && (order[0] === 0 || order[0] === 1)) {
        const places = order.map((k) => /** @type {number} */ (byNumber.get(k)));
        ways.set(String(places), places);
      }
    }
  }
  return ways.size === 1 ? [...ways.values()][0] : null;
}

/** Throws an error about several names that may denote the same quantity. @param {string} path @param {string[]} names @param {string} group @returns {never} */
export function severalMean(path, names, group) {
  throw new FileError(
    `${path}: ${listedNames(names)} could all be ${group}; keep only the correct ones in the file`,
  );
}
