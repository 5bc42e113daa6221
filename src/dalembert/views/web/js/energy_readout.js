// The energies of the simulated arm, and the change of their sum since the start.
import { brief, el } from "./dom.js";

/** @import { Robot } from "./robot.js" */

const ENERGY_ROWS = /** @type {const} */ ([
  ["kinetic", "Kinetic"],
  ["potential", "Potential"],
  ["total", "Total"],
  ["change", "Change in total"],
]);

/**
 * A table of energies; `change` is the integration error if only gravity acts, and otherwise the work done by torques, friction
 * and forces.
 * @param {Robot} robot
 */
export function energyReadout(robot) {
  /** @type {Record<string, HTMLElement>} */
  const cells = {};
  const note = el("td", { class: "soft" });
  const table = el("table", { class: "energies" }, el("caption", { class: "soft" }, "Energy"));
  for (const [name, title] of ENERGY_ROWS) {
    cells[name] = el("td", { "data-energy": name });
    table.append(
      el("tr", {}, el("th", { scope: "row" }, title), cells[name], name === "change" ? note : el("td")),
    );
  }
  let first = 0;
  const total = (/** @type {ArrayLike<number>} */ q, /** @type {ArrayLike<number>} */ qd) => {
    const { kinetic, potential } = robot.energies(q, qd);
    return { kinetic, potential, total: kinetic + potential };
  };
  return {
    element: table,
    /** Resets the reference for changes to this state. @param {ArrayLike<number>} q @param {ArrayLike<number>} qd */
    begin(q, qd) {
      first = total(q, qd).total;
    },
    /** @param {ArrayLike<number>} q @param {ArrayLike<number>} qd @param {boolean} alone whether only gravity acts */
    show(q, qd, alone) {
      const now = total(q, qd);
      const change = now.total - first;
      const size = Math.max(Math.abs(now.kinetic), Math.abs(change), 1e-9);
      for (const name of /** @type {const} */ (["kinetic", "potential", "total"]))
        cells[name].textContent = `${brief(now[name], 5)} J`;
      cells.change.textContent = `${brief(change, 3)} J`;
      note.textContent = alone
        ? `integration drift, ${brief(change / size, 2)} of T`
        : "work done by torques, friction and forces";
    },
  };
}
