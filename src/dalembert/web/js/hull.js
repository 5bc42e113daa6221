// Convex hulls in the plane.

/**
 * The corners of the convex hull, anticlockwise (Andrew's monotone chain).
 * @template {{x: number, y: number}} P
 * @param {P[]} points
 * @returns {P[]}
 */
export function convexHull(points) {
  const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  /** @param {P[]} way */
  const half = (way) => {
    /** @type {P[]} */
    const chain = [];
    for (const p of way) {
      while (chain.length > 1) {
        const [a, b] = [chain[chain.length - 2], chain[chain.length - 1]];
        if ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x) > 0) break;
        chain.pop();
      }
      chain.push(p);
    }
    return chain.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.reverse())];
}
