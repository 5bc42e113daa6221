// A table of numbers as text: cells separated by comma, semicolon, tab or blanks, under a header of names.

import { countedThings, quotedText } from "./wording.js";

/** An error in a file, described in one sentence. */
export class FileError extends Error {}

const TABLE_EMPTY = " nan -nan na n/a #n/a null none - -- ? -nan(ind) 1.#qnan -1.#ind".split(" "); // the first is a blank cell
const TABLE_ROW = /^\s*(?!#(?!n\/a)|%|\/\/)\S/i; // a line that is neither blank nor a comment
const TABLE_NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const TABLE_WORDS = /^[+-]?(inf|infinity|nan)$/i;
const TABLE_DECIMAL_COMMA = /\d,\d|(?<![\w.]),\d/;
const TABLE_LONGEST_LINE = 1 << 20; // characters

/**
 * @typedef {{path: string, names: string[], headed: boolean, line: number, notes: string[], lines: Int32Array,
 *   numbers: Float64Array}} TextTable numbers: a row for each of lines, a column for each of names
 */

/** Reads a whole table, or throws a FileError. @param {string} path @param {string} text @returns {TextTable} */
export function readTable(path, text) {
  const { rows, comment } = tableLines(path, text);
  if (!rows.length) throw new FileError(`${path}: the file ${comment ? "has" : "is empty: it has"} no rows`);
  const [line, head] = rows[0];
  const delimiter = [";", "\t", ","].find((mark) => head.includes(mark)) ?? null;
  let names = tableCells(head, delimiter);
  let headed = !isNumbers(names);
  let first = 1;
  if (!headed) {
    const described = tableCells(
      comment
        .trim()
        .replace(/^[#%/]+/, "")
        .trim(),
      delimiter,
    );
    if (comment && described.length === names.length && !isNumbers(described))
      [names, headed, first] = [described, true, 0];
  }
  const table = { path, names, headed, line, notes: /** @type {string[]} */ ([]) };
  if (!headed) return { ...table, lines: new Int32Array(), numbers: new Float64Array() };
  const body = rows.slice(first);
  if (!body.length) throw new FileError(`${path}: the file has a header but no rows`);
  const cells = tableCells(body[0][1], delimiter);
  if (names.length === cells.length && !names[names.length - 1] && !cells[cells.length - 1]) names.pop();
  const trailing = cells.length === names.length + 1 && !cells[cells.length - 1]; // every line ends with a comma
  const commas = delimiter !== "," && body.some(([, row]) => TABLE_DECIMAL_COMMA.test(row));
  if (commas) table.notes.push(`${path}: commas in numbers are read as decimal points`);
  const numbers = new Float64Array(body.length * names.length);
  body.forEach(([number, row], at) => {
    const cells = tableCells(commas ? row.replaceAll(",", ".") : row, delimiter);
    if (trailing && !cells[cells.length - 1]) cells.pop();
    if (cells.length !== names.length) {
      throw new FileError(
        `${path}, line ${number}: the row has ${countedThings(cells.length, "value")}, but the header has ${names.length} columns`,
      );
    }
    cells.forEach((cell, column) => {
      const value = numberOf(cell);
      if (value === null) {
        const what = cell
          ? `${quotedText(tableCells(row, delimiter)[column])} is not a number`
          : "the cell is empty";
        throw new FileError(`${path}, line ${number}, column '${names[column]}': ${what}`);
      }
      numbers[at * names.length + column] = value;
    });
  });
  return { ...table, lines: Int32Array.from(body, ([number]) => number), numbers };
}

/** The lines that are neither blank nor comments, with their numbers, and the last comment before them. @param {string} path @param {string} text */
function tableLines(path, text) {
  /** @type {[number, string][]} */
  const rows = [];
  let comment = "";
  text.split(/\r\n|\r|\n/).forEach((line, k) => {
    if (line.length > TABLE_LONGEST_LINE) {
      const sentence = `the line has more than ${TABLE_LONGEST_LINE} characters, so this is not a table`;
      throw new FileError(`${path}, line ${k + 1}: ${sentence}`);
    }
    if (TABLE_ROW.test(line)) rows.push([k + 1, line]);
    else if (!rows.length && line.trim()) comment = line;
  });
  return { rows, comment };
}

/** The cells of a line; cells in quotes may hold the delimiter. @param {string} line @param {string | null} delimiter */
function tableCells(line, delimiter) {
  if (delimiter === null) return line.trim().split(/\s+/);
  if (!line.includes('"')) return line.split(delimiter).map((cell) => cell.trim());
  const cells = [];
  let [cell, inside] = ["", false];
  for (let k = 0; k < line.length; k++) {
    if (line[k] === '"' && inside && line[k + 1] === '"') cell += line[k++];
    else if (line[k] === '"' && (inside || !cell.trim())) inside = !inside;
    else if (line[k] === delimiter && !inside) {
      cells.push(cell.trim());
      cell = "";
    } else cell += line[k];
  }
  return [...cells, cell.trim()];
}

/** Whether a line consists mostly of numbers; a header consists of words. @param {string[]} cells */
function isNumbers(cells) {
  const told = cells.filter((cell) => !TABLE_EMPTY.includes(cell.toLowerCase()));
  return 2 * told.filter((cell) => numberOf(cell.replace(",", ".")) !== null).length > told.length;
}

/** The number in a cell, which may be NaN or infinite; null if the cell is not a number. @param {string} cell */
function numberOf(cell) {
  if (TABLE_NUMBER.test(cell)) return Number(cell);
  if (!TABLE_WORDS.test(cell)) return null;
  if (/nan$/i.test(cell)) return NaN;
  return cell.startsWith("-") ? -Infinity : Infinity;
}
