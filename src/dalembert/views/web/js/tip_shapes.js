// The shapes at the tip in the current posture: their names, colours and values.
import { dynamicEllipsoid, forceEllipsoid, generatorsOf, reachAt, velocityEllipsoid } from "./ellipsoids.js";
import { zonotope, zonotopeVolume } from "./zonotope.js";

/** @import { App } from "./app.js" */
/** @import { Redundancy, TipEllipsoid } from "./ellipsoids.js" */
/** @typedef {{limits: "unit" | "arm", redundancy: Redundancy, gravity: boolean}} Options */
/** @typedef {import("./zonotope.js").Zonotope & {volume: number}} TipPolytope */
/** @typedef {{dynamic: TipEllipsoid, velocity: TipEllipsoid, force: TipEllipsoid, polytope: TipPolytope}} TipShapes */
/** @typedef {keyof TipShapes} ShapeKey */

/** @type {{key: ShapeKey, title: string, units: [string, string], scale: string, fill: number[], edge: number[]}[]} */
export const SHAPES = [
  {
    key: "dynamic",
    title: "Dynamic manipulability",
    units: ["m/s²", "rad/s²"],
    scale: "acceleration",
    fill: [0.18, 0.42, 0.78, 0.34],
    edge: [0.12, 0.3, 0.62, 0.9],
  },
  {
    key: "polytope",
    title: "Acceleration polytope",
    units: ["m/s²", "rad/s²"],
    scale: "acceleration",
    fill: [0.45, 0.35, 0.7, 0.16],
    edge: [0.42, 0.3, 0.62, 0.9],
  },
  {
    key: "velocity",
    title: "Velocity manipulability",
    units: ["m/s", "rad/s"],
    scale: "velocity",
    fill: [0.22, 0.6, 0.36, 0.3],
    edge: [0.14, 0.45, 0.25, 0.9],
  },
  {
    key: "force",
    title: "Force ellipsoid",
    units: ["N", "N m"],
    scale: "force",
    fill: [0.86, 0.45, 0.16, 0.3],
    edge: [0.7, 0.33, 0.08, 0.9],
  },
];
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
