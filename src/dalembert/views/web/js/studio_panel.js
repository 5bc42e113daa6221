// The studio tab: functions that need the server behind the page.
import { el, softText } from "./dom.js";
import { studioFit } from "./studio_fit.js";
import { StudioLink } from "./studio_link.js";
import { addMotion } from "./studio_motion.js";
import { studioRobot } from "./studio_robot.js";
import { studioSave } from "./studio_save.js";
import { studioStructure } from "./studio_structure.js";
import { studioTiming } from "./studio_timing.js";
import { StudioWork } from "./studio_work.js";

/** @import { App } from "./app.js" */
/** @import { FitData } from "./studio_fit.js" */
/** @import { StudioJob } from "./studio_link.js" */
/** @typedef {{tip: string | null, root: string | null, lock: Record<string, number>, payload: number | null, com: number[],
 *   rotors: boolean, lengths: Record<string, number>}} Structure */
/** @typedef {{name: string, joints: {name: string, revolute: boolean, lower: number | null, upper: number | null}[], links: string[],
 *   tip: string, root: string, payload: number, com: number[], rotors: boolean, lengths: Record<string, number>}} StudioRobot */
/** @typedef {{folder: string, robot: StudioRobot, structure: Structure, notes: string[], motions: any[], fit: FitData | null,
 *   jobs: Record<string, StudioJob>}} StudioStatus */
/** @typedef {{robots: string[], logs: string[], sent_robots: string[], sent_logs: string[], arms: string[]}} StudioFiles */

const STUDIO_TAB = "dalembert-studio-tab"; // kept while the page is rebuilt

/** State shared by the sections of the panel. */
export class Studio {
  /** @param {App} app @param {StudioLink} link @param {StudioStatus} status */
  constructor(app, link, status) {
    this.app = app;
    this.link = link;
    this.status = status;
    this.pages = new StudioWork(link, "page", "the new page");
    /** @type {((files: StudioFiles) => void)[]} */
    this.listeners = [];
  }

  /** @param {(files: StudioFiles) => void} listener called when the list of available files is known, and whenever it changes */
  onFiles(listener) {
    this.listeners.push(listener);
  }

  async listFiles() {
    const files = await this.pages.tried(() => this.link.ask("files"));
    if (files) for (const listener of this.listeners) listener(files);
  }

  /** Shows the rebuilt page. @param {any} made */
  show(made) {
    if (!made) return;
    sessionStorage.setItem(STUDIO_TAB, "1");
    location.reload();
  }
}

/** The panel, or null if the page has no server. @param {App} app */
export function studioPanel(app) {
  const panel = el("div", { class: "studio" }, softText("Connecting to the studio …"));
  const link = new StudioLink(app.robot.data.studio);
  fillStudio(app, link, panel).catch((problem) => {
    panel.replaceChildren(el("p", { class: "notice bad", role: "alert" }, problem.message));
  });
  return panel;
}

/** @param {App} app @param {StudioLink} link @param {HTMLElement} panel */
async function fillStudio(app, link, panel) {
  /** @type {StudioStatus} */
  const status = await link.ask("status");
  const studio = new Studio(app, link, status);
  const notes = status.notes.map((note) => el("p", { class: "notice" }, note));
  panel.replaceChildren(
    ...notes,
    studio.pages.element,
    studioRobot(studio),
    studioStructure(studio),
    studioTiming(studio),
    studioFit(studio),
    studioSave(studio),
  );
  for (const motion of status.motions) addMotion(app, motion, false);
  const refreshed = () => {
    if (!panel.closest("[hidden]")) void studio.listFiles();
  };
  document.getElementById("tab-studio")?.addEventListener("click", refreshed);
  if (sessionStorage.getItem(STUDIO_TAB)) {
    sessionStorage.removeItem(STUDIO_TAB);
    document.getElementById("tab-studio")?.click();
  } else refreshed();
  studio.show(await studio.pages.resume(status.jobs.page));
}
