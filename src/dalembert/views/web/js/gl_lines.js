// Lines of constant screen width, all drawn in one call.

import { SHADERS, glProgram } from "./gl_shaders.js";

/** @import { Camera } from "./camera.js" */
/** @import { Drawn } from "./items.js" */

const CORNERS = [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]]; // prettier-ignore
const LAYOUT = [3, 3, 3, 4]; // start, end, corner and width, colour
const STRIDE = 13;

export class GlLines {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    this.program = glProgram(gl, SHADERS.line);
    this.buffer = gl.createBuffer();
    this.array = gl.createVertexArray();
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    let offset = 0;
    LAYOUT.forEach((size, place) => {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, gl.FLOAT, false, 4 * STRIDE, 4 * offset);
      offset += size;
    });
    gl.bindVertexArray(null);
    this.count = 0;
  }

  /** @param {Drawn[]} items */
  load(items) {
    /** @type {number[]} */
    const numbers = [];
    for (const item of items) {
      if (item.kind !== "line") continue;
      for (let k = 0; k + 1 < item.points.length; k++) {
        const [a, b] = [item.points[k], item.points[k + 1]];
        for (const [end, side] of CORNERS) {
          numbers.push(a[0], a[1], a[2], b[0], b[1], b[2], end, side, item.width, ...item.rgba);
        }
      }
    }
    this.count = numbers.length / STRIDE;
    if (!this.count) return;
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.STREAM_DRAW);
  }

  /** @param {Camera} camera @param {number} opacity @param {number} ratio device pixels per CSS pixel */
  draw(camera, opacity, ratio) {
    if (!this.count) return;
    const { gl, program } = this;
    program.use();
    gl.uniformMatrix4fv(program.at("u_view"), true, camera.view());
    gl.uniformMatrix4fv(program.at("u_projection"), true, camera.projection());
    gl.uniform2f(program.at("u_size"), gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.uniform1f(program.at("u_ratio"), ratio);
    gl.uniform1f(program.at("u_opacity"), opacity);
    gl.bindVertexArray(this.array);
    gl.drawArrays(gl.TRIANGLES, 0, this.count);
    gl.bindVertexArray(null);
  }
}
