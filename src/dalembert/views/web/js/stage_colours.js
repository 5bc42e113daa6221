// Colours by the names of CSS properties, which differ between light and dark mode.

import { el } from "./dom.js";

/** @import { Colour } from "./items.js" */

export class ColourBook {
  /** @param {HTMLElement} host whose properties are used @param {() => void} changed */
  constructor(host, changed) {
    this.host = host;
    /** @type {Map<string, number[]>} */
    this.known = new Map();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.known.clear();
      changed();
    });
  }

  /** Red, green, blue and opacity from 0 to 1. @param {Colour} colour */
  rgba(colour) {
    if (typeof colour !== "string") return colour.length > 3 ? colour : [...colour, 1];
    const known = this.known.get(colour);
    if (known) return known;
    const probe = el("span", { hidden: true });
    probe.style.color = `var(${colour})`;
    this.host.append(probe);
    const text = getComputedStyle(probe).color;
    probe.remove();
    const parts = (text.match(/[\d.]+(?:e-?\d+)?/g) ?? []).map(Number);
    const scale = text.startsWith("color(") ? 1 : 255;
    const rgba = [...parts.slice(0, 3).map((part) => part / scale), parts[3] ?? 1];
    this.known.set(colour, rgba);
    return rgba;
  }

  /** The value of a numeric property. @param {string} name @param {number} otherwise */
  number(name, otherwise) {
    const value = parseFloat(getComputedStyle(this.host).getPropertyValue(name));
    return Number.isFinite(value) ? value : otherwise;
  }
}
