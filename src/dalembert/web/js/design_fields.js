// The fields of a link in the design panel: its parameters and their ranges.
import { DESIGN_AXES } from "./design_numbers.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./design_numbers.js").Design} Design */
/** @typedef {{name: string, label: string, unit: string, min: number | null, max: number | null, rare: boolean}} DesignField min, max: range of allowed values; rare: shown only on request */

/** @param {Design} design @param {number} i of the tree @returns {DesignField[]} */
export function linkFields(design, i) {
  const { robot } = design;
  const body = robot.bodies[i];
  const { rotor, levels } = design.bodies[i];
  /** @type {DesignField[]} */
  const fields = [{ name: `m_${i}`, label: "Mass", unit: "kg", min: 0, max: null, rare: false }];
  for (const x of DESIGN_AXES)
    fields.push({
      name: `c${x}_${i}`,
      label: `Centre of mass ${x}`,
      unit: "m",
      min: null,
      max: null,
      rare: false,
    });
  if (robot.data.numbers.lengths) {
    const place = (/** @type {string} */ kind, /** @type {string} */ what) =>
      DESIGN_AXES.forEach((x) => {
        const name = `${kind}${x}_${i}`;
        fields.push({
          name,
          label: `${what} ${x}`,
          unit: "m",
          min: null,
          max: null,
          rare: design.value(name) === 0,
        });
      });
    place("p", "Joint position");
    place("l", "Link length");
  }
  const turns = body.revolute;
  if (rotor) {
    fields.push({ name: `Im_${i}`, label: "Rotor inertia", unit: "kg m²", min: 0, max: null, rare: false });
    fields.push({
      name: `k_${i}`,
      label: "Gear ratio",
      unit: turns ? "" : "rad/m",
      min: null,
      max: null,
      rare: false,
    });
  }
  const least = 0.5 * Math.abs(levels[0] - levels[1]);
  const joint = robot.joints.some(({ name }) => name === body.joint);
  fields.push({
    name: `Fv_${i}`,
    label: "Viscous friction",
    unit: turns ? "N m s" : "N s/m",
    min: 0,
    max: null,
    rare: !joint,
  });
  if (joint)
    fields.push({
      name: `Fs_${i}`,
      label: "Coulomb friction",
      unit: turns ? "N m" : "N",
      min: least,
      max: null,
      rare: false,
    });
  return fields;
}

/** The fields that do not belong to a link. @param {Design} design @returns {DesignField[]} */
export function otherFields(design) {
  /** @type {DesignField[]} */
  const fields = DESIGN_AXES.map((x) => ({
    name: `g${x}`,
    label: `Gravity ${x}`,
    unit: "m/s²",
    min: null,
    max: null,
    rare: false,
  }));
  if (design.robot.data.numbers.lengths)
    for (const x of DESIGN_AXES)
      fields.push({
        name: `t${x}`,
        label: `Tip on its link ${x}`,
        unit: "m",
        min: null,
        max: null,
        rare: false,
      });
  return fields;
}

/** The range of a slider around the robot's own value. @param {number} own @param {DesignField} field @returns {[number, number]} */
export function sliderRange(own, { name, min, max }) {
  const size = Math.abs(own) || (name.startsWith("F") ? 10 : name.startsWith("g") ? 10 : 0.5);
  const [least, most] =
    min !== null
      ? [0, 2.5 * size]
      : name.startsWith("k_")
        ? [Math.min(0, 2.5 * own), Math.max(0, 2.5 * own)]
        : [own - 1.5 * size, own + 1.5 * size];
  return [Math.max(least, min ?? -Infinity), Math.min(most, max ?? Infinity)];
}
