// The robot file of a modified robot, assembled from the pieces written by Python.

/** @typedef {string | {slot: string} | {when: string[], same: string, changed: TomlPiece[]}} TomlPiece see robot/readers/toml_writer.py */

/** The text of a robot file; throws an error if a value is not finite. @param {TomlPiece[]} pieces @param {Set<string>} changed @param {Record<string, number>} numbers @returns {string} */
export function tomlText(pieces, changed, numbers) {
  return pieces
    .map((piece) => {
      if (typeof piece === "string") return piece;
      if ("slot" in piece) return tomlNumber(piece.slot, numbers[piece.slot]);
      return piece.when.some((part) => changed.has(part))
        ? tomlText(piece.changed, changed, numbers)
        : piece.same;
    })
    .join("");
}

/** A number with all its digits, as a TOML float. @param {string} name @param {number} value */
function tomlNumber(name, value) {
  if (!Number.isFinite(value))
    throw new RangeError(`${name} is ${value}; a robot file needs a finite number`);
  const text = String(value === 0 ? 0 : value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}
