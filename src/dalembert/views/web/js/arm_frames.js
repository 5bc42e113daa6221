// Positions of the links and joints of an arm, its reach, and a suitable viewpoint.

import {
  along3,
  columnOf,
  cross3,
  directionBy,
  dot3,
  length3,
  minus3,
  pointBy,
  product4,
  rigidInverse,
  times3,
  unit3,
} from "./space.js";

/** @import { Robot } from "./robot.js" */
/** @import { Numbers } from "./space.js" */
/**
 * The frames of an arm in one posture, in base coordinates.
 * @typedef {{links: Numbers[], seats: Numbers[], moved: Numbers[], axes: Numbers[], tip: Numbers}} Frames
 *   links: link frames; seats: joint frames on the parent links; moved: origins of the joint frames after the joint motion;
 *   axes: unit vectors along the joints' axes
 */

/** The radius of the first joint's cylinder, as a share of the reach. */
const JOINT_SIZE = 0.054;
const JOINT_TO_LINK = 0.4; // largest radius of a joint, relative to the mean length of the links

/** A placement with the translation given by the robot's current lengths. @param {Robot} robot @param {Numbers} placement @param {number} at index in the lengths */
function placedNow(robot, placement, at) {
  const lengths = robot.numbers.lengths;
  const now = Array.from(placement);
  if (lengths && lengths.length >= at + 3)
    [now[3], now[7], now[11]] = [lengths[at], lengths[at + 1], lengths[at + 2]];
  return now;
}

/** @param {Robot} robot @param {ArrayLike<number>} q @returns {Frames} */
export function armFrames(robot, q) {
  const poses = robot.linkPoses(q);
  const { bodies, base, tip } = robot.data;
  const links = Array.from({ length: robot.N }, (_, i) => Array.from(poses.slice(16 * i, 16 * i + 16)));
  /** @type {Frames} */
  const frames = { links, seats: [], moved: [], axes: [], tip: base };
  for (let i = 0; i < robot.N; i++) {
    const body = bodies[i];
    const parent = body.parent >= 0 ? links[body.parent] : base;
    const seat = product4(parent, placedNow(robot, body.placement, 6 * i));
    frames.seats.push(seat);
    frames.axes.push(unit3(directionBy(seat, body.axis)));
    const back = rigidInverse(placedNow(robot, body.link_frame, 6 * i + 3));
    frames.moved.push(columnOf(product4(links[i], back), 3));
  }
  const at = placedNow(robot, tip.placement, 6 * robot.N);
  frames.tip = product4(tip.body >= 0 ? links[tip.body] : base, at);
  return frames;
}

/** The upward direction of the arm: opposite to gravity, or z without gravity. @param {Robot} robot */
export function upOf(robot) {
  const gravity = robot.numbers.gravity ?? [0, 0, 0];
  return length3(gravity) > 0 ? times3(-1 / length3(gravity), gravity) : [0, 0, 1];
}

/**
 * Viewing parameters of an arm.
 * @param {Robot} robot
 * @returns {{up: number[], facing: number[] | null, centre: number[], radius: number, reach: number, size: number, floor: number, hangs: boolean}}
 *   facing: the normal of a vertical plane in which the arm moves; reach: the largest distance of its points from the base (m);
 *   size: the radius of a joint at the base, as it is drawn (m);
 *   floor: the height of the ground along up (m); hangs: whether the arm swings below its base
 */
export function fitOf(robot) {
  const up = upOf(robot);
  const start = armFrames(robot, robot.data.start.q);
  const base = columnOf(robot.data.base, 3);
  const facing = planeOf(robot, start, up);
  const points = pointsOf(start).concat([base]);
  let reach = 0;
  let lowest = Math.min(...points.map((p) => dot3(p, up)));
  for (const q of somePostures(robot, 60)) {
    for (const p of pointsOf(armFrames(robot, q))) {
      if (!p.every(Number.isFinite)) continue;
      reach = Math.max(reach, length3(minus3(p, base)));
      lowest = Math.min(lowest, dot3(p, up));
    }
  }
  reach = Math.max(reach, ...points.map((p) => length3(minus3(p, base))), 1e-3);
  const size = jointSize(robot, start, reach);
  const height = dot3(base, up);
  const hangs = facing !== null && lowest < height - 0.05 * reach;
  const floor = hangs
    ? Math.min(height - 1.12 * (height - lowest), lowest)
    : Math.min(0, height, lowestShape(robot, up)) -
      (robot.data.shapes?.length ? 0 : footing(start, up, height, size));
  const { centre, radius } = ballOf(hangs ? [...points, along3(base, -0.45 * (height - floor), up)] : points);
  return {
    up,
    facing,
    centre,
    radius: Math.max((hangs ? 1.25 : 1.12) * radius, 0.45 * reach),
    reach,
    size,
    floor,
    hangs,
  };
}

/** The height of the lowest corner of the boxes around the base's own shapes (m). @param {Robot} robot @param {Numbers} up */
function lowestShape(robot, up) {
  let lowest = Infinity;
  for (const { body, kind, size, matrix, mesh } of robot.data.shapes ?? []) {
    if (body >= 0) continue;
    const [radius, length = 2 * radius] = size;
    const half =
      kind === "box"
        ? times3(0.5, size)
        : [radius, radius, kind === "capsule" ? length / 2 + radius : length / 2];
    const ends = kind === "mesh" ? robot.data.meshes[mesh] : { low: times3(-1, half), high: half };
    for (let corner = 0; corner < 8; corner++) {
      const point = [0, 1, 2].map(
        (k) => ((corner >> k) & 1 ? ends.high : ends.low)[k] * (kind === "mesh" ? size[k] : 1),
      );
      lowest = Math.min(lowest, dot3(pointBy(product4(robot.data.base, matrix), point), up));
    }
  }
  return lowest;
}

/** The radius of a joint at the base (m): a share of the reach, but less for many short links. @param {Robot} robot @param {Frames} frames @param {number} reach */
function jointSize(robot, { seats }, reach) {
  const at = seats.map((seat) => columnOf(seat, 3));
  const long = robot.data.bodies
    .map((/** @type {any} */ { parent }, /** @type {number} */ i) =>
      parent < 0 ? 0 : length3(minus3(at[i], at[parent])),
    )
    .filter((/** @type {number} */ length) => length > 1e-6 * reach);
  const mean = long.reduce((/** @type {number} */ sum, /** @type {number} */ x) => sum + x, 0) / long.length;
  return Math.min(JOINT_SIZE * reach, long.length ? JOINT_TO_LINK * mean : Infinity);
}

/** Distance of the ground below a base whose joints are level with it, so that the joints stand on the ground (m). @param {Frames} frames @param {Numbers} up @param {number} height @param {number} size of a joint */
function footing({ seats, axes }, up, height, size) {
  const depths = seats.map((seat, i) => {
    const upright = Math.abs(dot3(axes[i], up));
    const half = size * (1.15 * upright + Math.sqrt(Math.max(0, 1 - upright * upright)));
    return height - dot3(columnOf(seat, 3), up) + half;
  });
  return Math.max(...depths.filter((depth) => depth < 2.5 * size), 0);
}

/** @param {Frames} frames */
function pointsOf({ seats, links, moved, tip }) {
  return [...[...seats, ...links, tip].map((frame) => columnOf(frame, 3)), ...moved];
}

/** The centre of the bounding box of the points, and their largest distance from it. @param {Numbers[]} points */
function ballOf(points) {
  const centre = [0, 1, 2].map((k) => {
    const values = points.map((p) => p[k]);
    return (Math.min(...values) + Math.max(...values)) / 2;
  });
  return { centre, radius: Math.max(...points.map((p) => length3(minus3(p, centre)))) };
}

/** The common axis of an arm whose joints all move it in one vertical plane, or null. @param {Robot} robot @param {Frames} frames @param {Numbers} up */
function planeOf(robot, frames, up) {
  const turning = frames.axes.filter((_, i) => robot.data.bodies[i].revolute);
  const sliding = frames.axes.filter((_, i) => !robot.data.bodies[i].revolute);
  const [first, second] = sliding;
  const normal = turning[0] ?? (second ? rightwards(unit3(cross3(first, second)), up) : null);
  if (!normal || length3(normal) < 0.5) return null;
  const planar =
    turning.every((axis) => Math.abs(dot3(axis, normal)) > 0.999) &&
    sliding.every((axis) => Math.abs(dot3(axis, normal)) < 0.05);
  return planar && Math.abs(dot3(normal, up)) < 0.05 ? Array.from(normal) : null;
}

/** The normal from whose side the x axis points to the right. @param {Numbers} normal @param {Numbers} up */
function rightwards(normal, up) {
  return cross3(up, normal)[0] < 0 ? times3(-1, normal) : normal;
}

/** Pseudo-random postures within the limits; always the same ones. @param {Robot} robot @param {number} count */
function* somePostures(robot, count) {
  let seed = 20260101;
  for (let k = 0; k < count; k++) {
    yield Float64Array.from(robot.data.joints, (/** @type {import("./robot.js").Joint} */ joint) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const widest = joint.revolute ? Math.PI : 0.5;
      const lower = Math.max(joint.lower ?? -widest, -2 * Math.PI);
      const upper = Math.min(joint.upper ?? widest, 2 * Math.PI);
      return lower + ((upper - lower) * seed) / 2 ** 32;
    });
  }
}

/** Points at which loop joints connect links, by body. @param {Robot} robot @param {Frames} frames @returns {Map<number, Numbers[]>} */
export function loopPoints(robot, frames) {
  /** @type {Map<number, Numbers[]>} */
  const points = new Map();
  for (const loop of robot.data.loops) {
    for (const [body, place] of [[loop.body_a, loop.place_a], [loop.body_b, loop.place_b]]) {
      const frame = body >= 0 ? frames.links[body] : robot.data.base;
      points.set(body, [...(points.get(body) ?? []), pointBy(frame, columnOf(place, 3))]);
    }
  } // prettier-ignore
  return points;
}
