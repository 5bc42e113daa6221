// B(q) as a small table, with darker cells for larger entries, and its condition number.
import { brief, el, scrolled } from "./dom.js";
import { symmetricEigen } from "./linear.js";

/** @import { Robot } from "./robot.js" */

/** @param {Robot} robot */
export function inertiaTable(robot) {
  const { n } = robot;
  const cells = Array.from({ length: n * n }, (_, k) =>
    el("td", { "aria-label": `b ${Math.floor(k / n) + 1} ${(k % n) + 1}` }),
  );
  const rows = robot.joints.map((joint, i) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", title: joint.name }, String(i + 1)),
      ...cells.slice(i * n, (i + 1) * n),
    ),
  );
  const head = el(
    "tr",
    {},
    el("td"),
    ...robot.joints.map((joint, i) => el("th", { scope: "col", title: joint.name }, String(i + 1))),
  );
  const said = el("p", { class: "soft condition" });
  const table = el(
    "table",
    { class: "heat" },
    el("caption", { class: "soft" }, "Inertia matrix B(q)"),
    head,
    ...rows,
  );
  return {
    element: el("div", {}, scrolled("Inertia matrix", table), said),
    /** @param {ArrayLike<number>} q */
    show(q) {
      const B = robot.inertiaMatrix(q);
      B.forEach((b, k) => {
        const [i, j] = [Math.floor(k / n), k % n];
        // normalised like a correlation, so that joints of different size and type can be compared
        const share = i === j ? 1 : Math.abs(b) / Math.sqrt(Math.abs(B[i * n + i] * B[j * n + j]) || 1);
        cells[k].textContent = brief(b, 3);
        cells[k].style.setProperty("--share", String(Math.min(share, 1)));
      });
      const { values } = symmetricEigen(B, n);
      const [largest, least] = [Math.max(...values), Math.min(...values)];
      said.textContent =
        least > 0
          ? `Condition number ${brief(largest / least, 3)}; eigenvalues from ${brief(least, 3)} to ${brief(largest, 3)}.`
          : `B(q) is not positive definite: its smallest eigenvalue is ${brief(least, 3)}.`;
    },
  };
}
