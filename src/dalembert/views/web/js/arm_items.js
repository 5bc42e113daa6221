// The layers of the arm in the 3D view, for its current posture.

import { along3, columnOf, product4 } from "./space.js";
import { armFrames } from "./arm_frames.js";
import { kinematicShapes } from "./arm_shapes.js";
import { inertiaItems, massItems, rotorItems, triad } from "./arm_masses.js";
import { meshesOf } from "./mesh_data.js";

/** @import { Frames } from "./arm_frames.js" */
/** @import { Colour, Item } from "./items.js" */
/** @import { Robot } from "./robot.js" */
/** @import { Stage } from "./stage.js" */
/** @typedef {{body: number, kind: string, size: number[], matrix: number[], mesh?: number, colour: number[] | null}} Shape of shapes.py */

const SEE_THROUGH = 0.34; // opacity of the arm while its interior is shown

/** Adds the arm's layers to the stage. @param {Stage} stage @param {Robot} robot @param {() => ArrayLike<number>} posture q */
export function addArmLayers(stage, robot, posture) {
  const { reach } = stage.fit;
  const { shapes = [], meshes = [], bare = [] } = robot.data;
  stage.view.setMeshes(meshesOf(meshes));
  /** @type {{q: string, frames: Frames} | null} */
  let last = null;
  const frames = () => {
    const q = posture();
    const key = `${Array.from(q)} ${robot.numbers.lengths ?? ""}`;
    if (last?.q !== key) last = { q: key, frames: armFrames(robot, q) };
    return last.frames;
  };
  /** @param {string} name */
  const paint = (name) => stage.faded(name, SEE_THROUGH);
  const drawsClean = () => kinematicShapes(robot, frames(), stage.fit, paint);
  if (shapes.length) {
    stage.layer(
      "arm",
      () => [
        ...shapes.map((/** @type {Shape} */ shape) => shapeItem(robot, frames(), shape, paint, stage)),
        ...kinematicShapes(robot, frames(), stage.fit, paint, bare),
      ],
      { label: "Shapes" },
    );
    stage.layer("skeleton", drawsClean, { label: "Kinematic shapes", shown: false });
  } else {
    stage.layer("arm", drawsClean, { label: "Arm" });
  }
  stage.layer("tip", () => triad(frames().tip, 0.16 * reach, 3), { label: "Tip frame" });
  const inner = /** @type {[string, string, () => Item[]][]} */ ([
    ["axes", "Joint axes", () => axisItems(frames(), reach)],
    ["frames", "Link frames", () => frames().links.flatMap((link) => triad(link, 0.11 * reach, 2.5))],
    ["masses", "Centres of mass", () => massItems(robot, frames(), reach)],
    ["inertia", "Inertia ellipsoids", () => inertiaItems(robot, frames())],
  ]);
  if (robot.bodies.some((body) => body.rotor))
    inner.push(["rotors", "Rotors", () => rotorItems(robot, frames(), reach)]);
  for (const [name, label, make] of inner) stage.layer(name, make, { label, shown: false, inside: true });
  stage.tipFrame = () => frames().tip;
}

/** Lines along the joint axes, with the joints' numbers. @param {Frames} frames @param {number} reach @returns {Item[]} */
function axisItems({ seats, axes }, reach) {
  return seats.flatMap((seat, i) => {
    const at = columnOf(seat, 3);
    const end = along3(at, 0.17 * reach, axes[i]);
    return [
      { kind: "line", points: [along3(at, -0.17 * reach, axes[i]), end], colour: "--axis", width: 2 },
      { kind: "label", at: along3(at, 0.2 * reach, axes[i]), text: String(i + 1) },
    ];
  });
}

/**
 * A shape of the robot file at its current position.
 * @param {Robot} robot
 * @param {Frames} frames
 * @param {Shape} shape
 * @param {(name: string) => Colour} paint
 * @param {Stage} stage
 * @returns {Item}
 */
function shapeItem(robot, frames, shape, paint, stage) {
  const matrix = product4(shape.body >= 0 ? frames.links[shape.body] : robot.data.base, shape.matrix);
  const colour = shape.colour ? stage.faded(shape.colour, SEE_THROUGH) : paint("--link");
  const { size } = shape;
  switch (shape.kind) {
    case "box":
      return { kind: "box", matrix, size, colour };
    case "sphere":
      return { kind: "sphere", centre: columnOf(matrix, 3), radius: size[0], colour };
    case "cylinder":
      return { kind: "cylinder", matrix, radius: size[0], length: size[1], colour };
    case "capsule": {
      const [at, z] = [columnOf(matrix, 3), columnOf(matrix, 2)];
      return {
        kind: "capsule",
        from: along3(at, -size[1] / 2, z),
        to: along3(at, size[1] / 2, z),
        radius: size[0],
        colour,
      };
    }
    default:
      return { kind: "mesh", mesh: shape.mesh ?? 0, matrix, scale: size, colour };
  }
}
