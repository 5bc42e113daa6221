// A page with a server has one more panel.
import { MORE_PANELS } from "./more_panels.js";
import { studioPanel } from "./studio_panel.js";

MORE_PANELS.push(["studio", "Studio", studioPanel]);
