// Units used in tables, and their conversion factors to SI.

import { FileError } from "./csv_table.js";

const UNIT_DEGREE = Math.PI / 180;
/** @type {Record<string, Record<string, number>>} */
const UNITS_TURNING = {
  q: { rad: 1, deg: UNIT_DEGREE, "°": UNIT_DEGREE, mrad: 1e-3 },
  qd: { "rad/s": 1, "deg/s": UNIT_DEGREE, "°/s": UNIT_DEGREE, "mrad/s": 1e-3, rpm: Math.PI / 30 },
  qdd: { "rad/s²": 1, "deg/s²": UNIT_DEGREE, "°/s²": UNIT_DEGREE, "mrad/s²": 1e-3 },
  tau: { "N m": 1, "N mm": 1e-3, "mN m": 1e-3, "N cm": 1e-2, "kN m": 1e3 },
};
/** @type {Record<string, Record<string, number>>} */
const UNITS_SLIDING = {
  q: { m: 1, mm: 1e-3, cm: 1e-2 },
  qd: { "m/s": 1, "mm/s": 1e-3 },
  qdd: { "m/s²": 1, "mm/s²": 1e-3 },
  tau: { N: 1, mN: 1e-3, kN: 1e3 },
};
const UNITS_TIME = { s: 1, sec: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 };

/** The units of a quantity: of all joints, or only of prismatic or of revolute ones. @param {string} group @param {boolean | null} sliding @returns {Record<string, number>} */
function unitsOf(group, sliding = null) {
  if (group === "t") return UNITS_TIME;
  if (sliding === null) return { ...UNITS_TURNING[group], ...UNITS_SLIDING[group] };
  return (sliding ? UNITS_SLIDING : UNITS_TURNING)[group];
}

/** A unit in normalised spelling: N·m, Nm, N*m, deg/sec, rad/s^2. @param {string} unit */
function plainUnit(unit) {
  let word = unit.trim().replaceAll("μ", "µ");
  for (const [old, plain] of [
    ["degrees", "deg"],
    ["degree", "deg"],
    ["radians", "rad"],
    ["/sec", "/s"],
    ["seconds", "s"],
  ]) {
    word = word.replaceAll(old, plain);
  }
  return word
    .replace(/[ ·*.⋅^]/g, "")
    .toLowerCase()
    .replaceAll("²", "2")
    .replaceAll("/s/s", "/s2");
}

/** The unit in the spelling used here, or null. @param {string} group @param {string} unit */
export function unitMeant(group, unit) {
  return Object.keys(unitsOf(group)).find((word) => plainUnit(word) === plainUnit(unit)) ?? null;
}

/**
 * The factors of columns with units in their header; a column without a unit has that of the first column with one.
 * @param {string} path @param {string} group @param {(string | null)[]} units @param {boolean[] | null} sliding
 */
export function unitFactors(path, group, units, sliding) {
  const usual = units.find((unit) => unit !== null) ?? null;
  if (usual === null) return units.map(() => 1);
  return units.map((own, k) => {
    const unit = own ?? usual;
    const slides = sliding === null ? null : sliding[k];
    const words = unitMeant(group, unit)
      ? [unitMeant(group, unit)]
      : unit.split(/\s+/).map((word) => unitMeant(group, word));
    if (!words.length || words.includes(null)) {
      throw new FileError(
        `${path}: ${group} is in '${unit}'; known units are ${Object.keys(unitsOf(group)).join(", ")}`,
      );
    }
    const known = unitsOf(group, slides);
    const word = own === null ? null : unitMeant(group, own);
    if (word !== null && !(word in known)) {
      const kind = slides ? "prismatic" : "revolute";
      const names = Object.keys(known).join(", ");
      throw new FileError(
        `${path}: ${group} of joint ${k + 1} is in '${own}', but the joint is ${kind}; known units are ${names}`,
      );
    }
    return words.reduce((factor, name) => factor * (known[String(name)] ?? 1), 1);
  });
}
