// Inline formulas: b_12 with its index as a subscript.
import { el } from "./dom.js";

/** Text with indices after an underscore as subscripts, and with proper minus signs. @param {string} text @returns {(string | HTMLElement)[]} */
export function subscripted(text) {
  const pieces = text.replace(/ - /g, " − ").split(/_(\w+)/);
  return pieces.map((piece, k) => (k % 2 ? el("sub", {}, piece) : piece));
}
