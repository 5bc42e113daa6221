// Numbers, words and lists in the format of dalembert's messages.

/** A number with significant digits, as Python's %g writes it. @param {number} value @param {number} [digits] */
export function general(value, digits = 6) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value === 0) return "0";
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  const trimmed = (/** @type {string} */ text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (exponent >= -4 && exponent < digits) return trimmed(value.toFixed(digits - 1 - exponent));
  return `${trimmed(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** A text in quotes, short and on one line. @param {string} text */
export function quotedText(text) {
  const escaped = text
    .replace(/\\/g, "\\\\")
    .replace(/\n/g, "\\n")
    .replace(/\r/g, "\\r")
    .replace(/\t/g, "\\t");
  const marked =
    text.includes("'") && !text.includes('"') ? `"${escaped}"` : `'${escaped.replace(/'/g, "\\'")}'`;
  return marked.length <= 60 ? marked : `${marked.slice(0, 57)}...`;
}

/** The first ten names, and the number of further ones. @param {readonly string[]} names */
export function listedNames(names) {
  const more = names.length - 10;
  return names.slice(0, 10).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** "1 row", "2 rows". @param {number} count @param {string} word */
export function countedThings(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** "; did you mean 'x'?" if a known word is similar, otherwise nothing. @param {string} word @param {readonly string[]} known */
export function nearestNames(word, known) {
  if (word.length > 100) return "";
  const lower = new Map(known.map((name) => [name.toLowerCase(), name]));
  const wanted = word.toLowerCase();
  const close = lower.has(wanted)
    ? [wanted]
    : [...lower.keys()]
        .map((name) => /** @type {[number, string]} */ ([likeness(wanted, name), name]))
        .filter(([ratio]) => ratio >= 0.6)
        .sort((a, b) => b[0] - a[0] || (a[1] < b[1] ? 1 : -1))
        .slice(0, 3)
        .map(([, name]) => name);
  return close.length
    ? `; did you mean ${close.map((name) => quotedText(lower.get(name) ?? name)).join(" or ")}?`
    : "";
}

/** Similarity of two words by Ratcliff and Obershelp: twice the number of matching letters over the total number of letters. @param {string} a @param {string} b */
function likeness(a, b) {
  /** @type {(a: string, b: string) => number} */
  const shared = (a, b) => {
    let [best, atA, atB] = [0, 0, 0];
    for (let i = 0; i < a.length; i++) {
      for (let j = 0; j < b.length; j++) {
        let length = 0;
        while (i + length < a.length && j + length < b.length && a[i + length] === b[j + length]) length++;
        if (length > best) [best, atA, atB] = [length, i, j];
      }
    }
    if (!best) return 0;
    return best + shared(a.slice(0, atA), b.slice(0, atB)) + shared(a.slice(atA + best), b.slice(atB + best));
  };
  return a.length + b.length ? (2 * shared(a, b)) / (a.length + b.length) : 1;
}
