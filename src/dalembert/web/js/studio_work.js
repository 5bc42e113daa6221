// Work that the server does for the page: a bar, a button to cancel it, and the sentence of what went wrong.
import { button, el } from "./dom.js";
import { StudioProblem } from "./studio_link.js";

/** @typedef {import("./studio_link.js").StudioLink} StudioLink */
/** @typedef {import("./studio_link.js").StudioJob} StudioJob */

const WORK_WORDS = /** @type {Record<string, string>} */ ({
  "": "Starting",
  model: "Building the model",
  kernels: "Making kernels",
  timing: "Finding the timing",
  reading: "Reading the log",
  filtering: "Filtering",
  "cut-offs": "Choosing the cut-off frequency",
  selection: "Choosing the model",
  estimators: "Choosing the estimator",
  regressor: "Solving",
  residuals: "Judging the residuals",
  report: "Writing the report",
});

/** A place where work of one kind shows how far it is. */
export class StudioWork {
  /** @param {StudioLink} link @param {string} kind @param {string} label */
  constructor(link, kind, label) {
    this.link = link;
    this.bar = el("progress", { max: 1, "aria-label": `Progress of ${label}` });
    this.words = el("span", { class: "soft", "aria-live": "polite" });
    this.cancel = button("Cancel", () => void link.ask("cancel", { kind }), {
      "aria-label": `Cancel ${label}`,
    });
    this.running = el("p", { class: "row", hidden: true }, this.bar, this.words, this.cancel);
    this.problem = el("p", { class: "notice bad", role: "alert", hidden: true });
    this.element = el("div", { class: "work" }, this.running, this.problem);
  }

  /** @param {string} sentence */
  say(sentence) {
    this.problem.textContent = sentence;
    this.problem.hidden = !sentence;
  }

  /** Tries something of the server; what it refuses is said here. @template T @param {() => Promise<T>} work @returns {Promise<T | null>} */
  async tried(work) {
    this.say("");
    try {
      return await work();
    } catch (problem) {
      if (!(problem instanceof StudioProblem)) throw problem;
      this.say(problem.message);
      return null;
    }
  }

  /** Runs an action to its end; null where it was refused or cancelled. @param {string} action @param {object} body @returns {Promise<any>} */
  async run(action, body) {
    return this.tried(async () => this.finish((await this.link.ask(action, body)).job));
  }

  /** Waits for a job that runs. @param {StudioJob} job @returns {Promise<any>} */
  async finish(job) {
    this.running.hidden = false;
    try {
      const done = await this.link.end(job, ({ words, fraction }) => {
        this.words.textContent = `${WORK_WORDS[words] ?? words} …`;
        this.bar.value = fraction;
      });
      if (done.state === "failed") throw new StudioProblem(done.sentence);
      return done.state === "done" ? done.result : null;
    } finally {
      this.running.hidden = true;
    }
  }
}
