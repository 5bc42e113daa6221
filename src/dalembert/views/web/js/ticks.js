// Positions and labels of axis ticks.

/** Ends and ticks of an axis over a range: about `count` round numbers. @param {number} low @param {number} high @param {number} count */
export function axisTicks(low, high, count) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k++) ticks.push(k * step);
  return {
    step,
    ticks,
    text: (/** @type {number} */ value) => tickText(value, decimals, Math.max(-low, high)),
  };
}

/** @param {number} value @param {number} decimals @param {number} largest on the axis */
function tickText(value, decimals, largest) {
  if (decimals > 4 || largest >= 1e6)
    return value === 0 ? "0" : withMinus(value.toExponential(1).replace("e+", "e"));
  return withMinus(Math.abs(value) < 1e-12 ? (0).toFixed(decimals) : value.toFixed(decimals));
}

/** @param {string} text */
function withMinus(text) {
  return text.replaceAll("-", "−");
}
