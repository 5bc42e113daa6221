// Formulas in a line of text: b_12 with its index set low.
import { el } from "./dom.js";

/** Text whose indices after an underscore are subscripts, and whose minus signs are such. @param {string} text @returns {(string | HTMLElement)[]} */
export function subscripted(text) {
  const pieces = text.replace(/ - /g, " − ").split(/_(\w+)/);
  return pieces.map((piece, k) => (k % 2 ? el("sub", {}, piece) : piece));
}
