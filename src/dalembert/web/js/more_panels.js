// Panels that only some pages have: their modules, bundled before main.js, put themselves here.

/** Identifier, title, and what makes it. @type {[string, string, (app: import("./app.js").App) => HTMLElement][]} */
export const MORE_PANELS = [];
