// What the columns of a table can mean: the spellings and units that Python writes into the page, base/tables/signal_columns.py.

import { FileError } from "./csv_table.js";

/** @typedef {Record<string, number>} UnitFactors factors to SI */
/** @typedef {{signals: Record<string, {spellings: string[], revolute: UnitFactors, prismatic: UnitFactors}>, payloads: Record<string, UnitFactors>,
 *   wrenches: Record<string, UnitFactors>, respelt: [string, string][], characters: Record<string, string>, no_units: string[]}} WordData */

export class ColumnWords {
  /** @param {WordData} data */
  constructor(data) {
    this.data = data;
    /** The quantity of each spelling. @type {Map<string, string>} */
    this.spelled = new Map(
      Object.entries(data.signals).flatMap(([group, { spellings }]) =>
        spellings.map((word) => /** @type {const} */ ([word, group])),
      ),
    );
    /** Words that may precede or follow a joint's name, separated only by _: shoulder_velocity. */
    this.beside = [...this.spelled.keys()].filter(
      (word) => word.length > 2 && !word.includes("_") && this.spelled.get(word) !== "t",
    );
    /** Columns of loads at the tip, and their units. */
    this.loads = { ...data.payloads, ...data.wrenches };
  }

  /** The units of a quantity: of all joints, or only of prismatic or of revolute ones. @param {string} group @param {boolean | null} [sliding] */
  unitsOf(group, sliding = null) {
    const { revolute, prismatic } = this.data.signals[group];
    return sliding === null ? { ...revolute, ...prismatic } : sliding ? prismatic : revolute;
  }

  /** A unit in normalised spelling: N·m, Nm, N*m, deg/sec, rad/s^2. @param {string} unit */
  plain(unit) {
    const { respelt, characters } = this.data;
    const word = respelt.reduce((text, [old, plain]) => text.replaceAll(old, plain), unit.trim());
    return Array.from(word, (letter) => characters[letter] ?? letter)
      .join("")
      .toLowerCase()
      .replaceAll("/s/s", "/s2");
  }

  /** The unit in the spelling used here, or null. @param {string} group @param {string} unit */
  meant(group, unit) {
    return Object.keys(this.unitsOf(group)).find((word) => this.plain(word) === this.plain(unit)) ?? null;
  }

  /**
   * The factors of columns with units in their header; a column without a unit has that of the first column with one.
   * @param {string} path @param {string} group @param {(string | null)[]} units @param {boolean[] | null} sliding
   */
  factors(path, group, units, sliding) {
    const usual = units.find((unit) => unit !== null) ?? null;
    if (usual === null) return units.map(() => 1);
    return units.map((own, k) => {
      const unit = own ?? usual;
      const whole = this.meant(group, unit);
      const words = whole ? [whole] : unit.split(/\s+/).map((word) => this.meant(group, word));
      if (words.includes(null)) {
        const names = Object.keys(this.unitsOf(group)).join(", ");
        throw new FileError(`${path}: ${group} is in '${unit}'; known units are ${names}`);
      }
      const known = this.unitsOf(group, sliding && sliding[k]);
      if (own !== null && whole && !(whole in known)) {
        const kind = sliding?.[k] ? "prismatic" : "revolute";
        const names = Object.keys(known).join(", ");
        throw new FileError(
          `${path}: ${group} of joint ${k + 1} is in '${own}', but the joint is ${kind}; known units are ${names}`,
        );
      }
      return words.reduce((factor, name) => factor * (known[String(name)] ?? 1), 1);
    });
  }
}
