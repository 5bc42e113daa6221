// Tasks that the server runs for the page: a progress bar, a cancel button, and the error message.
import { button, el } from "./dom.js";
import { StudioProblem } from "./studio_link.js";

/** @import { StudioJob, StudioLink } from "./studio_link.js" */

const WORK_WORDS = /** @type {Record<string, string>} */ ({
  "": "Starting",
  model: "Building the model",
  kernels: "Compiling kernels",
  timing: "Computing the timing",
  reading: "Reading the log",
  filtering: "Filtering",
  "cut-offs": "Selecting the cut-off frequency",
  selection: "Selecting the model",
  estimators: "Selecting the estimator",
  regressor: "Solving",
  residuals: "Analysing the residuals",
  report: "Writing the report",
});

/** Display of the progress of tasks of one kind. */
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

  /** Tries a request to the server and displays its error message here if it is refused. @template T @param {() => Promise<T>} work @returns {Promise<T | null>} */
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

  /** The result of an action once it has finished; null if it was refused or cancelled. @param {string} action @param {object} body @returns {Promise<any>} */
  async run(action, body) {
    return this.tried(async () => this.finish((await this.link.ask(action, body)).job));
  }

  /** The result of a job if it is still running, such as one begun before the page was rebuilt; null otherwise. @param {StudioJob | undefined} job @returns {Promise<any>} */
  async resume(job) {
    return job?.state === "running" ? this.tried(() => this.finish(job)) : null;
  }

  /** Waits for a running job. @param {StudioJob} job @returns {Promise<any>} */
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
