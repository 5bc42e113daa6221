// A page that has a server beside it has one more panel.
import { MORE_PANELS } from "./more_panels.js";
import { studioPanel } from "./studio_panel.js";

MORE_PANELS.push(["studio", "Studio", studioPanel]);
