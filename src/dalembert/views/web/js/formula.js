// Formulas: the subset of LaTeX that dalembert writes, converted to MathML elements.

/**
 * An element of MathML: its name, and text or children.
 * @typedef {{tag: string, text?: string, children?: MathTree[], infix?: boolean}} MathTree
 */

const MATH_SYMBOLS = namedSigns(
  "ell:ℓ vartheta:ϑ theta:θ alpha:α beta:β gamma:γ delta:δ varepsilon:ε epsilon:ϵ zeta:ζ eta:η kappa:κ lambda:λ mu:μ nu:ν " +
    "rho:ρ sigma:σ tau:τ phi:φ psi:ψ omega:ω pi:π",
);
const MATH_OPERATORS = namedSigns(
  "cdot:· leq:≤ le:≤ geq:≥ ge:≥ neq:≠ ne:≠ wedge:∧ vee:∨ neg:¬ infty:∞ left: right: quad:",
);
/** @type {Record<string, string>} */
const MATH_ACCENTS = { dot: "˙", ddot: "¨", bar: "¯", hat: "^" };
const MATH_TOKEN = /\\([a-zA-Z]+)|\\([,;! |])|(\d+(?:\.\d+)?)|([a-zA-Z])|(\S)/g;
const LONG_PIECE = 26; // length of a term in tokens above which it may be broken inside its brackets
const MATH_SPACE = "http://www.w3.org/1998/Math/MathML";

/** Signs by the names of their commands. @param {string} words @returns {Record<string, string>} */
function namedSigns(words) {
  return Object.fromEntries(words.split(" ").map((word) => word.split(":")));
}

/**
 * A formula as pieces of MathML; lines may be broken between them, before + and −.
 * @param {string} latex
 * @param {boolean} [continued] whether its first sign is a binary operator
 * @returns {Element[]}
 */
export function formulaPieces(latex, continued = false) {
  return formulaTrees(latex, continued).map((children) => mathElement({ tag: "math", children }));
}

/** A formula in one piece. @param {string} latex */
export function formula(latex) {
  return mathElement({ tag: "math", children: spacedFactors(formulaRow(mathTokens(latex))) });
}

/** The contents of the pieces of a formula. @param {string} latex @param {boolean} [continued] @returns {MathTree[][]} */
export function formulaTrees(latex, continued = false) {
  return brokenTokens(mathTokens(latex)).map((piece, k) => {
    const [first, ...others] = spacedFactors(formulaRow(piece));
    const sign = first?.tag === "mo" && "+−".includes(first.text ?? "");
    return sign && (k || continued) ? [{ ...first, infix: true }, ...others] : [first, ...others];
  });
}

/** @param {MathTree} tree @returns {Element} */
function mathElement({ tag, text, children, infix }) {
  const element = document.createElementNS(MATH_SPACE, tag);
  if (text !== undefined) element.textContent = text;
  else element.append(...(children ?? []).map(mathElement));
  if (tag === "mspace") element.setAttribute("width", "0.14em");
  if (tag === "mover") element.setAttribute("accent", "true");
  if (tag === "mo") {
    element.setAttribute("stretchy", "false");
    if (infix) element.setAttribute("form", "infix");
  }
  return element;
}

/** @param {string} latex @returns {string[]} */
function mathTokens(latex) {
  return Array.from(latex.matchAll(MATH_TOKEN), ([token, , space]) => (space ? "" : token)).filter(Boolean);
}

/**
 * Tokens split before each + and − between terms, and also inside one level of brackets if a piece is long.
 * @param {string[]} tokens
 * @param {number} [deepest]
 * @returns {string[][]}
 */
function brokenTokens(tokens, deepest = 0) {
  /** @type {string[][]} */
  const pieces = [[]];
  let depth = 0;
  tokens.forEach((token, k) => {
    if ("({".includes(token)) depth++;
    if (")}".includes(token)) depth--;
    const between = k > 0 && !"([{=".includes(tokens[k - 1]);
    if ("+-".includes(token) && depth <= deepest && between) pieces.push([]);
    pieces[pieces.length - 1].push(token);
  });
  if (deepest) return pieces;
  return pieces.flatMap((piece) => (piece.length > LONG_PIECE ? brokenTokens(piece, 1) : [piece]));
}

/** @param {string[]} tokens @returns {MathTree[]} */
function formulaRow(tokens) {
  const left = [...tokens];
  /** @type {MathTree[]} */
  const row = [];
  while (left.length) {
    const atom = mathAtom(left);
    if (!atom) continue;
    /** @type {{_?: MathTree, "^"?: MathTree}} */
    const scripts = {};
    while (left[0] === "_" || left[0] === "^")
      scripts[/** @type {"_" | "^"} */ (left.shift())] = mathAtom(left) ?? { tag: "mrow" };
    const { _: below, "^": above } = scripts;
    if (below && above) row.push({ tag: "msubsup", children: [atom, below, above] });
    else if (below || above)
      row.push({ tag: below ? "msub" : "msup", children: [atom, /** @type {MathTree} */ (below ?? above)] });
    else row.push(atom);
  }
  return row;
}

/** A row with a little space between the factors of a product, as in print. @param {MathTree[]} row */
function spacedFactors(row) {
  return row.flatMap((atom, k) => {
    const before = row[k - 1];
    const opens = atom.text === "(";
    const called = opens && before?.tag === "mi" && (before.text ?? "").length > 1; // cos(…)
    const product =
      before && !called && (opens || atom.tag !== "mo") && (before.tag !== "mo" || before.text === ")");
    return product ? [{ tag: "mspace" }, atom] : [atom];
  });
}

/** The next atom, removed from the tokens; null for a command without visible output. @param {string[]} left @returns {MathTree | null} */
function mathAtom(left) {
  const token = left.shift() ?? "";
  if (token === "{") return mathGroup(left);
  if (/^\d/.test(token)) return { tag: "mn", text: token };
  if (/^[a-zA-Z]$/.test(token)) return { tag: "mi", text: token };
  if (!token.startsWith("\\")) return { tag: "mo", text: { "-": "−", "'": "′" }[token] ?? token };
  const command = token.slice(1);
  if (command in MATH_SYMBOLS) return { tag: "mi", text: MATH_SYMBOLS[command] };
  if (command in MATH_OPERATORS)
    return MATH_OPERATORS[command] ? { tag: "mo", text: MATH_OPERATORS[command] } : null;
  if (command in MATH_ACCENTS)
    return { tag: "mover", children: [mathArgument(left), { tag: "mo", text: MATH_ACCENTS[command] }] };
  if (command === "frac") return { tag: "mfrac", children: [mathArgument(left), mathArgument(left)] };
  if (command === "sqrt") return { tag: "msqrt", children: [mathArgument(left)] };
  if (["operatorname", "mathcal", "mathrm"].includes(command)) return { tag: "mi", text: mathWord(left) };
  return { tag: "mi", text: command }; // cos, sin, exp, tanh …
}

/** @param {string[]} left */
function mathArgument(left) {
  return mathAtom(left) ?? { tag: "mrow", children: [] };
}

/** The tokens up to the brace that closes the group. @param {string[]} left */
function groupTokens(left) {
  /** @type {string[]} */
  const inside = [];
  for (let depth = 1; left.length;) {
    const token = /** @type {string} */ (left.shift());
    depth += token === "{" ? 1 : token === "}" ? -1 : 0;
    if (!depth) break;
    inside.push(token);
  }
  return inside;
}

/** @param {string[]} left @returns {MathTree} */
function mathGroup(left) {
  const row = formulaRow(groupTokens(left));
  return row.length === 1 ? row[0] : { tag: "mrow", children: row };
}

/** @param {string[]} left */
function mathWord(left) {
  return left[0] === "{" ? (left.shift(), groupTokens(left).join("")) : (left.shift() ?? "");
}
