// Panels that only some pages have: their modules, bundled before main.js, register themselves here.

/** Identifier, title, and the function that builds the panel. @type {[string, string, (app: import("./app.js").App) => HTMLElement][]} */
export const MORE_PANELS = [];
