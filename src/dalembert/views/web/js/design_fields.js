// The fields of a link in the design panel: its parameters and their ranges.
import { DESIGN_AXES } from "./design_numbers.js";

/** @import { App } from "./app.js" */
/** @import { Design } from "./design_numbers.js" */
/** @typedef {{name: string, label: string, unit: string, min: number | null, rare: boolean}} DesignField min: the smallest allowed value; rare: shown only on request */

/** @param {string} name @param {string} label @param {string} unit @param {{min?: number, rare?: boolean}} [options] @returns {DesignField} */
function designField(name, label, unit, { min, rare = false } = {}) {
  return { name, label, unit, min: min ?? null, rare };
}

/** Fields for the components of a vector. @param {string} kind @param {string} label @param {string} unit @param {string} [tail] of the names @param {(name: string) => boolean} [rare] */
function axisFields(kind, label, unit, tail = "", rare = () => false) {
  return DESIGN_AXES.map((x) => {
    const name = `${kind}${x}${tail}`;
    return designField(name, `${label} ${x}`, unit, { rare: rare(name) });
  });
}

/** @param {Design} design @param {number} i of the tree @returns {DesignField[]} */
export function linkFields(design, i) {
  const { robot } = design;
  const { revolute: turns, joint: name } = robot.bodies[i];
  const { rotor, levels } = design.bodies[i];
  const fields = [
    designField(`m_${i}`, "Mass", "kg", { min: 0 }),
    ...axisFields("c", "Centre of mass", "m", `_${i}`),
  ];
  const zero = (/** @type {string} */ length) => design.value(length) === 0;
  if (robot.data.numbers.lengths)
    fields.push(
      ...axisFields("p", "Joint position", "m", `_${i}`, zero),
      ...axisFields("l", "Link length", "m", `_${i}`, zero),
    );
  if (rotor)
    fields.push(
      designField(`Im_${i}`, "Rotor inertia", "kg m²", { min: 0 }),
      designField(`k_${i}`, "Gear ratio", turns ? "" : "rad/m"),
    );
  const moved = robot.joints.some((joint) => joint.name === name);
  fields.push(
    designField(`Fv_${i}`, "Viscous friction", turns ? "N m s" : "N s/m", { min: 0, rare: !moved }),
  );
  const min = 0.5 * Math.abs(levels[0] - levels[1]);
  if (moved) fields.push(designField(`Fs_${i}`, "Coulomb friction", turns ? "N m" : "N", { min }));
  return fields;
}

/** The fields that do not belong to a link. @param {Design} design @returns {DesignField[]} */
export function otherFields(design) {
  const tip = design.robot.data.numbers.lengths ? axisFields("t", "Tip on its link", "m") : [];
  return [...axisFields("g", "Gravity", "m/s²"), ...tip];
}

/** The range of a slider around the robot's own value. @param {number} own @param {DesignField} field @returns {[number, number]} */
export function sliderRange(own, { name, min }) {
  const size = Math.abs(own) || (name.startsWith("F") ? 10 : name.startsWith("g") ? 10 : 0.5);
  const [least, most] =
    min !== null
      ? [0, 2.5 * size]
      : name.startsWith("k_")
        ? [Math.min(0, 2.5 * own), Math.max(0, 2.5 * own)]
        : [own - 1.5 * size, own + 1.5 * size];
  return [Math.max(least, min ?? -Infinity), most];
}
