// Requests to the server behind the page: actions, uploads, and tasks whose progress is polled.

/** @typedef {{api: string, page: string, robot_bytes: number, log_bytes: number}} StudioData page: the key of this page, by which the server
 * knows which robot it shows */
/** @typedef {{kind: string, number: number, state: "running" | "done" | "failed" | "cancelled", words: string, fraction: number,
 *   sentence: string, result: any}} StudioJob */

const STUDIO_POLL = 250; // ms between two progress requests for a running task

/** A refused request, with the error message of the server. */
export class StudioProblem extends Error {
  /** @param {string} sentence @param {boolean} [exists] whether a file would be overwritten */
  constructor(sentence, exists = false) {
    super(sentence);
    this.exists = exists;
  }
}

export class StudioLink {
  /** @param {StudioData} data */
  constructor(data) {
    this.data = data;
  }

  /** The response to an action. @param {string} action @param {object} [body] @returns {Promise<any>} */
  async ask(action, body = {}) {
    const request = { ...body, page: this.data.page };
    return studioAnswer(this.data.api + action, "application/json", JSON.stringify(request));
  }

  /** Uploads a file. @param {"robot" | "log"} kind @param {File} file @returns {Promise<{from: string, name: string}>} */
  async send(kind, file) {
    const most = kind === "robot" ? this.data.robot_bytes : this.data.log_bytes;
    if (file.size > most) {
      throw new StudioProblem(
        `${file.name} has ${file.size} bytes; at most ${most} (${most / 2 ** 20} MiB) are accepted`,
      );
    }
    const query = new URLSearchParams({ kind, name: file.name });
    return studioAnswer(`${this.data.api}upload?${query}`, "application/octet-stream", file);
  }

  /** Waits until the task of a kind ends. @param {StudioJob} job @param {(job: StudioJob) => void} onProgress @returns {Promise<StudioJob>} */
  async end(job, onProgress) {
    let now = job;
    while (now.state === "running") {
      onProgress(now);
      await new Promise((resolve) => setTimeout(resolve, STUDIO_POLL));
      const { job: next } = await this.ask("job", { kind: job.kind });
      if (next === null || next.number !== job.number)
        throw new StudioProblem("This task was replaced by a newer one.");
      now = next;
    }
    return now;
  }
}

/** @param {string} address @param {string} type @param {BodyInit} body */
async function studioAnswer(address, type, body) {
  let response;
  try {
    response = await fetch(address, { method: "POST", headers: { "Content-Type": type }, body });
  } catch {
    throw new StudioProblem(
      "The studio does not answer; it may have been stopped. Start it again and open its new address.",
    );
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw new StudioProblem(
      answer.error || `The studio refused the request (${response.status}).`,
      answer.exists,
    );
  }
  return answer;
}
