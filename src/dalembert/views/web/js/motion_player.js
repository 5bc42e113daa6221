// The time cursor of a motion: it plays or is dragged, and the arm follows.

/** @import { App } from "./app.js" */
/** @import { MotionStudy } from "./motion_study.js" */

export class MotionPlayer {
  /** @param {App} app @param {() => void} onChange called when the instant changes, or playing begins or ends */
  constructor(app, onChange) {
    this.app = app;
    this.onChange = onChange;
    /** @type {MotionStudy | null} */
    this.study = null;
    this.t = 0;
    this.speed = 1;
    this.loop = false;
    this.playing = false;
    this.before = 0;
  }

  /** Sets another motion, at its beginning; the arm does not move. @param {MotionStudy | null} study */
  set(study) {
    this.pause();
    this.study = study;
    this.t = 0;
    this.onChange();
  }

  play() {
    if (!this.study || this.playing) return;
    if (this.t >= this.study.duration) this.t = 0;
    this.playing = true;
    this.app.take("motion", () => this.stopped());
    this.before = performance.now();
    const frame = (/** @type {number} */ now) => {
      if (!this.playing || !this.study) return;
      this.advance((Math.max(now - this.before, 0) / 1000) * this.speed);
      this.before = Math.max(now, this.before);
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    this.onChange();
  }

  /** @param {number} step in seconds of the motion */
  advance(step) {
    const { duration } = /** @type {MotionStudy} */ (this.study);
    const next = this.t + step;
    if (next < duration) this.move(next);
    else if (this.loop) this.move(next % duration);
    else {
      this.move(duration);
      this.pause();
    }
  }

  pause() {
    if (!this.playing) return;
    this.stopped();
    this.app.take(null);
  }

  /** Cleans up after the arm has been taken over by another owner. */
  stopped() {
    this.playing = false;
    this.onChange();
  }

  /** Moves the cursor and the arm to an instant. @param {number} t */
  seek(t) {
    if (!this.study) return;
    if (!this.playing && this.app.busy !== null) this.app.take(null);
    this.move(Math.min(Math.max(t, 0), this.study.duration));
  }

  /** @param {number} t */
  move(t) {
    this.t = t;
    this.app.change(/** @type {MotionStudy} */ (this.study).at(t));
    this.onChange();
  }
}
