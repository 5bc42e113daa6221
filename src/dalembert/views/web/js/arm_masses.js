// The mass distribution of an arm: centres of mass, and ellipsoids of uniform density with the same inertia.

import { columnOf, frameAlong, pointBy, directionBy, rowsOf3 } from "./space.js";
import { symmetricEigen } from "./linear.js";

/** @import { Frames } from "./arm_frames.js" */
/** @import { Item } from "./items.js" */
/** @import { Robot } from "./robot.js" */
/** @import { Numbers } from "./space.js" */

/** Mass (kg), centre of mass (m) and inertia tensor about it (kg m², row-major) of body i, in its link's frame; null without mass. @param {Robot} robot @param {number} i */
export function bodyMass(robot, i) {
  const [m, mx, my, mz, xx, xy, xz, yy, yz, zz] = robot.numbers.parameters.slice(13 * i, 13 * i + 10);
  if (!(m > 0)) return null;
  const [x, y, z] = [mx / m, my / m, mz / m];
  const tensor = [
    xx - m * (y * y + z * z), xy + m * x * y, xz + m * x * z,
    xy + m * x * y, yy - m * (x * x + z * z), yz + m * y * z,
    xz + m * x * z, yz + m * y * z, zz - m * (x * x + y * y),
  ]; // prettier-ignore
  return { mass: m, centre: [x, y, z], tensor };
}

/**
 * The semi-axes (columns, m) of the ellipsoid of uniform density with this mass and tensor about its centre, or null if no
 * body can have that tensor: with principal moments I₁, I₂, I₃ the semi-axis along the first is √(5 (I₂ + I₃ − I₁) / 2m).
 * @param {number} mass
 * @param {Numbers} tensor
 * @returns {Numbers | null}
 */
export function inertiaAxes(mass, tensor) {
  const { values, vectors } = symmetricEigen(tensor, 3);
  const sum = values[0] + values[1] + values[2];
  const squares = values.map((value) => (2.5 * (sum - 2 * value)) / mass);
  const slack = 1e-9 * Math.abs(values[0]) + 1e-300;
  if (!(sum > 0) || squares.some((square) => square * mass < -slack)) return null;
  const semi = squares.map((square) => Math.sqrt(Math.max(square, 0)));
  const least = 0.02 * Math.max(...semi); // a thin rod or plate stays visible
  return vectors.map((value, k) => value * Math.max(semi[k % 3], least));
}

/** Spheres at the centres of mass, with area proportional to mass. @param {Robot} robot @param {Frames} frames @param {number} reach @returns {Item[]} */
export function massItems(robot, frames, reach) {
  const bodies = frames.links.map((_, i) => bodyMass(robot, i));
  const total = bodies.reduce((sum, body) => sum + (body ? body.mass : 0), 0);
  return bodies.flatMap((body, i) => {
    if (!body) return [];
    const radius = 0.11 * reach * Math.sqrt(body.mass / total);
    return [{ kind: "sphere", centre: pointBy(frames.links[i], body.centre), radius, colour: "--mass" }];
  });
}

/** @param {Robot} robot @param {Frames} frames @returns {Item[]} */
export function inertiaItems(robot, frames) {
  return frames.links.flatMap((link, i) => {
    const body = bodyMass(robot, i);
    const axes = body && inertiaAxes(body.mass, body.tensor);
    if (!body || !axes) return [];
    const turned = [0, 1, 2].map((k) => directionBy(link, [axes[k], axes[3 + k], axes[6 + k]]));
    return [
      { kind: "ellipsoid", centre: pointBy(link, body.centre), axes: rowsOf3(turned), colour: "--inertia" },
    ];
  });
}

/** Small cylinders at the positions of the rotors on their links. @param {Robot} robot @param {Frames} frames @param {number} reach @returns {Item[]} */
export function rotorItems(robot, frames, reach) {
  return robot.data.bodies.flatMap((/** @type {import("./robot.js").Body} */ { rotor, parent }) => {
    if (!rotor) return [];
    const frame = parent >= 0 ? frames.links[parent] : robot.data.base;
    const matrix = frameAlong(pointBy(frame, rotor.position), directionBy(frame, rotor.axis));
    return [{ kind: "cylinder", matrix, radius: 0.03 * reach, length: 0.075 * reach, colour: "--rotor" }];
  });
}

/** The axes of a frame as red, green and blue lines. @param {Numbers} frame @param {number} size @param {number} width @returns {Item[]} */
export function triad(frame, size, width) {
  const at = columnOf(frame, 3);
  return [0, 1, 2].map((k) => ({
    kind: "line",
    points: [at, at.map((x, row) => x + size * columnOf(frame, k)[row])],
    colour: `--axis-${"xyz"[k]}`,
    width,
  }));
}
