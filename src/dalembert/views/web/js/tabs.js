// Tabbed panels, operated by mouse, touch or arrow keys.
import { el } from "./dom.js";

/** @param {[string, string, HTMLElement][]} panels identifier, title, content @param {(id: string) => void} onShow with the identifier of the panel shown */
export function tabs(panels, onShow) {
  const list = el("div", { role: "tablist", class: "tablist", "aria-label": "Panels" });
  const element = el("div", { class: "tabs" }, list);
  let shown = -1;
  /** @param {number} chosen @param {boolean} [focus] */
  const select = (chosen, focus = false) => {
    panels.forEach((_, k) => {
      const tab = /** @type {HTMLElement} */ (list.children[k]);
      tab.setAttribute("aria-selected", String(k === chosen));
      tab.tabIndex = k === chosen ? 0 : -1;
      if (k === chosen && focus) tab.focus();
      /** @type {HTMLElement} */ (element.children[k + 1]).hidden = k !== chosen;
    });
    if (chosen !== shown) onShow(panels[chosen][0]);
    shown = chosen;
  };
  panels.forEach(([id, title, content], k) => {
    list.append(
      el(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${id}`,
          "aria-controls": `panel-${id}`,
          onclick: () => select(k),
        },
        title,
      ),
    );
    element.append(
      el(
        "div",
        { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`, class: "panel" },
        content,
      ),
    );
  });
  list.addEventListener("keydown", (event) => {
    const now = [...list.children].findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    const next = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: panels.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    select((next + panels.length) % panels.length, true);
  });
  select(0);
  return element;
}
