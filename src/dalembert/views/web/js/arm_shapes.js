// Simple shapes for an arm from its kinematics: links as capsules, revolute joints as cylinders, prismatic joints as boxes.

import { along3, columnOf, dot3, frameAlong, length3, minus3, times3 } from "./space.js";
import { loopPoints } from "./arm_frames.js";

/** @import { Frames } from "./arm_frames.js" */
/** @import { Colour, Item } from "./items.js" */
/** @import { Robot } from "./robot.js" */
/** @import { Numbers } from "./space.js" */
/** @typedef {ReturnType<typeof import("./arm_frames.js").fitOf>} Fit */
/** @typedef {(name: string) => Colour} Paint */

/** A link from its joint to the next: first along the joint axis, then perpendicular to it, like d and a of the DH convention. @param {Numbers} start @param {Numbers} end @param {Numbers} axis @returns {Numbers[]} */
function elbow(start, end, axis) {
  const way = minus3(end, start);
  const along = times3(dot3(way, axis), axis);
  const shorter = Math.min(length3(along), length3(minus3(way, along)));
  return shorter < Math.max(0.02 * length3(way), 1e-9) ? [start, end] : [start, along3(start, 1, along), end];
}

/**
 * The arm's links and joints.
 * @param {Robot} robot
 * @param {Frames} frames
 * @param {Fit} fit
 * @param {Paint} paint
 * @param {number[]} [only] the bodies to draw, −1 for the base; all of them if it is not given
 * @returns {Item[]}
 */
export function kinematicShapes(robot, frames, fit, paint, only) {
  const { bodies, base, tip } = robot.data;
  /** @type {Item[]} */
  const items = [];
  const radii = taper(robot, fit);
  const pins = loopPoints(robot, frames);
  const tipAt = columnOf(frames.tip, 3);
  const seatAt = frames.seats.map((seat) => columnOf(seat, 3));
  const baseAt = columnOf(base, 3);

  const omits = (/** @type {number} */ body) => only !== undefined && !only.includes(body);
  if (!omits(-1)) {
    items.push(...pedestal(baseAt, fit, radii.base, paint));
    bodies.forEach((/** @type {any} */ body, /** @type {number} */ i) => {
      if (body.parent < 0) items.push(...tube([baseAt, seatAt[i]], radii.base, paint("--link")));
    });
    for (const point of pins.get(-1) ?? []) items.push(...tube([baseAt, point], radii.base, paint("--link")));
  }
  bodies.forEach((/** @type {any} */ body, /** @type {number} */ i) => {
    if (omits(i)) return;
    const radius = radii.body[i];
    const [from, axis] = [frames.moved[i], frames.axes[i]];
    /** @type {Numbers[]} */
    const ends = [...seatAt.filter((_, j) => bodies[j].parent === i), ...(pins.get(i) ?? [])];
    if (i === tip.body) ends.push(tipAt);
    if (!ends.length) ends.push(columnOf(frames.links[i], 3));
    for (const end of ends) items.push(...tube(elbow(from, end, axis), radius, paint("--link")));
    if (body.revolute) items.push(pin(seatAt[i], axis, radii.joint[i], paint("--joint")));
    else items.push(...slide(seatAt[i], from, axis, radii.joint[i], paint));
    for (const point of pins.get(i) ?? [])
      items.push(pin(point, axis, 0.8 * radii.joint[i], paint("--joint")));
  });
  if (!omits(tip.body))
    items.push({ kind: "sphere", centre: tipAt, radius: 1.25 * radii.tip, colour: paint("--tip") });
  return items;
}

/** Radii (m) that decrease from the base to the tip. @param {Robot} robot @param {Fit} fit */
function taper(robot, { size }) {
  const depths = /** @type {number[]} */ ([]);
  for (const body of robot.data.bodies) depths.push(body.parent >= 0 ? depths[body.parent] + 1 : 1);
  const deepest = Math.max(...depths, 1);
  const radius = (/** @type {number} */ depth) => (size * (1 - 0.44 * (depth / deepest))) / 1.5;
  return {
    base: radius(0),
    body: depths.map(radius),
    joint: depths.map((depth) => 1.5 * radius(depth - 0.5)),
    tip: radius(deepest),
  };
}

/** @param {Numbers[]} points @param {number} radius @param {Colour} colour @returns {Item[]} */
function tube(points, radius, colour) {
  /** @type {Item[]} */
  const items = [];
  for (let k = 0; k + 1 < points.length; k++) {
    const [from, to] = [points[k], points[k + 1]];
    if (length3(minus3(to, from)) > 1e-6) items.push({ kind: "capsule", from, to, radius, colour });
  }
  return items;
}

/** A cylinder about a point. @param {Numbers} at @param {Numbers} axis @param {number} radius @param {number} length @param {Colour} colour @returns {Item} */
function cylinder(at, axis, radius, length, colour) {
  return { kind: "cylinder", matrix: frameAlong(at, axis), radius, length, colour };
}

/** A revolute joint. @param {Numbers} at @param {Numbers} axis @param {number} radius @param {Colour} colour */
function pin(at, axis, radius, colour) {
  return cylinder(at, axis, radius, 2.3 * radius, colour);
}

/** A prismatic joint: its guide on the parent, and the bar that comes out of it. @param {Numbers} seat @param {Numbers} to @param {Numbers} axis @param {number} radius @param {Paint} paint @returns {Item[]} */
function slide(seat, to, axis, radius, paint) {
  const way = minus3(to, seat);
  const side = 1.9 * radius;
  const [matrix, rail] = [frameAlong(seat, axis), frameAlong(along3(seat, 0.5, way), axis)];
  const size = [0.55 * side, 0.55 * side, length3(way)];
  /** @type {Item[]} */
  const items = [{ kind: "box", matrix, size: [side, side, 1.5 * side], colour: paint("--joint") }];
  if (length3(way) > 1e-6) items.push({ kind: "box", matrix: rail, size, colour: paint("--rail") });
  return items;
}

/** The support of the arm: a foot, or a post behind an arm that swings below its base. @param {Numbers} base @param {Fit} fit @param {number} radius @param {Paint} paint @returns {Item[]} */
function pedestal(base, { up, floor, facing, hangs, size }, radius, paint) {
  const height = dot3(base, up) - floor;
  if (facing && hangs) {
    const back = along3(base, -3.2 * radius, facing);
    const foot = along3(back, -height, up);
    return [
      cylinder(along3(base, -1.6 * radius, facing), facing, 0.75 * radius, 3.2 * radius, paint("--joint")),
      { kind: "capsule", from: foot, to: back, radius: 0.9 * radius, colour: paint("--rail") },
      cylinder(along3(foot, 0.2 * radius, up), up, 3.4 * radius, 0.5 * radius, paint("--joint")),
    ];
  }
  if (height > 2.5 * size) return [];
  const foot = along3(base, -height, up);
  return [
    cylinder(along3(foot, 0.3 * radius, up), up, 2.4 * radius, 0.6 * radius, paint("--joint")),
    cylinder(along3(foot, 0.5 * height, up), up, radius, height, paint("--link")),
  ];
}
