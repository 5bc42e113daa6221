// A perspective camera that orbits a point; up on the screen is up for the arm.

import {
  across3,
  along3,
  cross3,
  dot3,
  frameOf,
  length3,
  minus3,
  plus3,
  rigidInverse,
  times3,
  unit3,
} from "./space.js";

/** @import { Numbers } from "./space.js" */

const HALF_ANGLE = Math.tan((16 * Math.PI) / 180); // tangent of the viewing angle from the centre to the nearer edge
const STEEPEST = (88 * Math.PI) / 180;
const CORNER = { azimuth: (-52 * Math.PI) / 180, elevation: (20 * Math.PI) / 180 };

export class Camera {
  /**
   * @param {{up: Numbers, facing: Numbers | null, centre: Numbers, radius: number}} fit
   *   up: a unit vector; facing: the normal of the plane in which the arm moves, used as the viewing direction;
   *   centre and radius: a sphere that must be completely visible
   */
  constructor({ up, facing, centre, radius }) {
    this.up = Array.from(up);
    const x = [1, 0, 0];
    const level = minus3(x, times3(dot3(x, this.up), this.up));
    this.ahead = length3(level) > 0.1 ? unit3(level) : across3(this.up);
    this.aside = cross3(this.up, this.ahead);
    this.homeAzimuth = CORNER.azimuth;
    this.homeElevation = CORNER.elevation;
    if (facing) {
      this.homeAzimuth = Math.atan2(dot3(facing, this.aside), dot3(facing, this.ahead)) + 0.42;
      this.homeElevation = 0.2;
    }
    /** @type {Numbers} */ this.homeCentre = centre;
    this.radius = radius;
    this.width = this.height = 1; // CSS pixels
    this.azimuth = this.elevation = 0;
    this.distance = 1;
    this.target = Array.from(centre);
    this.home();
  }

  /** Resets the view so that the whole arm is visible. */
  home() {
    this.azimuth = this.homeAzimuth;
    this.elevation = this.homeElevation;
    this.target = Array.from(this.homeCentre);
    this.distance = (1.04 * this.radius) / Math.sin(Math.atan(HALF_ANGLE));
  }

  /** @param {number} width @param {number} height of the picture in CSS pixels */
  resize(width, height) {
    this.width = Math.max(width, 1);
    this.height = Math.max(height, 1);
  }

  /** Orbits by a pointer displacement in pixels. @param {number} dx @param {number} dy */
  orbit(dx, dy) {
    this.azimuth -= 0.008 * dx;
    this.elevation = Math.min(STEEPEST, Math.max(-STEEPEST, this.elevation + 0.008 * dy));
  }

  /** Pans by a pointer displacement in pixels. @param {number} dx @param {number} dy */
  pan(dx, dy) {
    const metres = this.metresPerPixel(this.target);
    const { right, above } = this.axes();
    this.target = along3(along3(this.target, -dx * metres, right), dy * metres, above);
  }

  /** Zooms in (factor > 1) or out. @param {number} factor */
  zoom(factor) {
    const far = this.radius / HALF_ANGLE;
    this.distance = Math.min(12 * far, Math.max(0.04 * far, this.distance / factor));
  }

  /** The camera axes: right, up, and backwards towards the eye. */
  axes() {
    const level = plus3(
      times3(Math.cos(this.azimuth), this.ahead),
      times3(Math.sin(this.azimuth), this.aside),
    );
    const back = plus3(times3(Math.cos(this.elevation), level), times3(Math.sin(this.elevation), this.up));
    const right = unit3(cross3(this.up, back));
    return { right, above: cross3(back, right), back };
  }

  eye() {
    return along3(this.target, this.distance, this.axes().back);
  }

  /** Transformation from base to camera coordinates. */
  view() {
    const { right, above, back } = this.axes();
    return rigidInverse(frameOf(right, above, back, this.eye()));
  }

  /** Pixels per unit of x/z: the nearer edge of the picture is HALF_ANGLE from the centre. */
  focal() {
    return Math.min(this.width, this.height) / 2 / HALF_ANGLE;
  }

  /** Transformation from camera to clip coordinates. */
  projection() {
    const f = 2 * this.focal();
    const near = 0.02 * this.distance;
    const far = this.distance + 40 * this.radius;
    const depth = near - far;
    return [
      f / this.width, 0, 0, 0, 0, f / this.height, 0, 0, 0, 0, (far + near) / depth, (2 * far * near) / depth, 0, 0, -1, 0,
    ]; // prettier-ignore
  }

  /** Screen position of a point in CSS pixels, and its distance in front of the eye. @param {Numbers} point */
  project(point) {
    const { right, above, back } = this.axes();
    const from = minus3(point, this.eye());
    const depth = -dot3(from, back);
    const scale = this.focal() / Math.max(depth, 1e-9);
    return {
      x: this.width / 2 + scale * dot3(from, right),
      y: this.height / 2 - scale * dot3(from, above),
      depth,
      scale,
    };
  }

  /** @param {Numbers} point */
  metresPerPixel(point) {
    return 1 / this.project(point).scale;
  }

  /** The point seen at a pixel in the plane through `point` that faces the camera. @param {number} x @param {number} y @param {Numbers} point */
  inPlane(x, y, point) {
    const { right, above } = this.axes();
    const seen = this.project(point);
    return along3(along3(point, (x - seen.x) / seen.scale, right), (seen.y - y) / seen.scale, above);
  }
}
