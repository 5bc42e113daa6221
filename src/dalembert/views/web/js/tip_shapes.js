// The shapes at the tip in the current posture: their names, colours and values.
import { dynamicEllipsoid, forceEllipsoid, generatorsOf, reachAt, velocityEllipsoid } from "./ellipsoids.js";
import { zonotope, zonotopeVolume } from "./zonotope.js";

/** @import { App } from "./app.js" */
/** @import { Redundancy, TipEllipsoid } from "./ellipsoids.js" */
/** @typedef {{limits: "unit" | "arm", redundancy: Redundancy, gravity: boolean}} Options */
/** @typedef {import("./zonotope.js").Zonotope & {volume: number}} TipPolytope */
/** @typedef {{dynamic: TipEllipsoid, velocity: TipEllipsoid, force: TipEllipsoid, polytope: TipPolytope}} TipShapes */
/** @typedef {keyof TipShapes} ShapeKey */

/** Units of what a shape shows, in linear and in angular directions. @type {Record<string, [string, string]>} */
const SHAPE_UNITS = { acceleration: ["m/s²", "rad/s²"], velocity: ["m/s", "rad/s"], force: ["N", "N m"] };
/** The shapes: key, title, what they show, which is also what shares a scale, and the colours of faces and edges. */
const SHAPE_ROWS = /** @type {[ShapeKey, string, string, number[], number[]][]} */ ([
  ["dynamic", "Dynamic manipulability", "acceleration", [0.18, 0.42, 0.78, 0.34], [0.12, 0.3, 0.62, 0.9]],
  ["polytope", "Acceleration polytope", "acceleration", [0.45, 0.35, 0.7, 0.16], [0.42, 0.3, 0.62, 0.9]],
  ["velocity", "Velocity manipulability", "velocity", [0.22, 0.6, 0.36, 0.3], [0.14, 0.45, 0.25, 0.9]],
  ["force", "Force ellipsoid", "force", [0.86, 0.45, 0.16, 0.3], [0.7, 0.33, 0.08, 0.9]],
]);
export const SHAPES = SHAPE_ROWS.map(([key, title, scale, fill, edge]) => ({
  ...{ key, title, scale, fill, edge },
  units: SHAPE_UNITS[scale],
}));

/**
 * All shapes in the current posture; null if the inertia matrix is singular or no joint moves the tip.
 * @param {App} app
 * @param {Options} options
 * @returns {TipShapes | null}
 */
export function tipShapes({ robot, state }, { limits, redundancy, gravity }) {
  const at = robot.kernels.reach ? reachAt(robot, state.q) : null;
  if (!at) return null;
  const unit = new Float64Array(robot.n).fill(1);
  const arm = limits === "arm";
  const torques = arm ? Float64Array.from(robot.joints, ({ effort }) => effort ?? 1) : unit;
  const fast = robot.joints.every(({ velocity }) => velocity !== null && velocity > 0);
  const speeds = arm && fast ? Float64Array.from(robot.joints, ({ velocity }) => velocity ?? 1) : unit;
  const { centre, generators } = generatorsOf(at, torques, gravity);
  return {
    dynamic: dynamicEllipsoid(at, torques, { redundancy, gravity }),
    velocity: velocityEllipsoid(at, speeds),
    force: forceEllipsoid(at, torques),
    polytope: { ...zonotope(centre, generators), volume: zonotopeVolume(generators, at.m) },
  };
}
