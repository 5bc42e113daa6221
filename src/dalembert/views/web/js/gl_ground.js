// The ground of the WebGL2 view: a grid, and the soft shadow that the arm casts on it.

import { across3, along3, cross3, dot3, minus3, times3, unit3 } from "./space.js";
import { SHADERS, glProgram } from "./gl_shaders.js";

/** @import { Camera } from "./camera.js" */
/** @import { Program } from "./gl_shaders.js" */
/** @import { Ground } from "./items.js" */

const SIDE = 128; // pixels of the shadow texture
const SPREAD = 1.5; // extent to each side, in multiples of the reach

export class GlGround {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    this.program = glProgram(gl, SHADERS.ground);
    this.shadeProgram = glProgram(gl, SHADERS.shade);
    this.blurProgram = glProgram(gl, SHADERS.blur);
    this.sharp = this.picture();
    this.soft = this.picture();
    this.corners = gl.createVertexArray();
    gl.bindVertexArray(this.corners);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(
      gl.ARRAY_BUFFER,
      new Float32Array([-1, -1, 0, 0, 1, -1, 0, 0, -1, 1, 0, 0, 1, 1, 0, 0]),
      gl.STATIC_DRAW,
    );
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 4, gl.FLOAT, false, 0, 0);
    gl.bindVertexArray(null);
  }

  /** A texture that can be drawn into. */
  picture() {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, SIDE, SIDE, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    const target = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, target);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return { texture, target };
  }

  /** Renders the shadow texture. @param {NonNullable<Ground>} ground @param {(program: Program) => void} drawSolids */
  drawShadow(ground, drawSolids) {
    const { gl, shadeProgram: program } = this;
    const { middle, east, north } = groundFrame(ground);
    const half = SPREAD * ground.radius;
    const rows = [times3(1 / half, east), times3(1 / half, north), times3(-1 / (8 * half), ground.up)];
    const matrix = rows.flatMap((row) => [...row, -dot3(row, middle)]);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.sharp.target);
    gl.viewport(0, 0, SIDE, SIDE);
    gl.clearColor(0, 0, 0, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.CULL_FACE);
    gl.enable(gl.BLEND);
    gl.blendEquation(gl.MAX);
    program.use();
    gl.uniformMatrix4fv(program.at("u_view"), true, [...matrix, 0, 0, 0, 1]);
    gl.uniformMatrix4fv(program.at("u_projection"), false, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
    gl.uniform3fv(program.at("u_up"), ground.up);
    gl.uniform1f(program.at("u_height"), ground.height);
    gl.uniform1f(program.at("u_reach"), ground.radius);
    drawSolids(program);
    gl.blendEquation(gl.FUNC_ADD);
    gl.disable(gl.BLEND);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.soft.target);
    gl.disable(gl.CULL_FACE);
    this.blurProgram.use();
    this.bindShadow(this.blurProgram, this.sharp.texture);
    gl.bindVertexArray(this.corners);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.bindVertexArray(null);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** @param {Program} program @param {WebGLTexture | null} texture */
  bindShadow(program, texture) {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.uniform1i(program.at("u_shadow"), 0);
  }

  /** @param {NonNullable<Ground>} ground @param {Camera} camera */
  draw(ground, camera) {
    const { gl, program } = this;
    const { middle, east, north } = groundFrame(ground);
    const cell = gridCell(ground.radius);
    program.use();
    gl.uniformMatrix4fv(program.at("u_view"), true, camera.view());
    gl.uniformMatrix4fv(program.at("u_projection"), true, camera.projection());
    gl.uniform3fv(program.at("u_middle"), middle);
    gl.uniform3fv(program.at("u_east"), east);
    gl.uniform3fv(program.at("u_north"), north);
    gl.uniform1f(program.at("u_extent"), 2.6 * ground.radius);
    gl.uniform1f(program.at("u_cell"), cell);
    gl.uniform1f(program.at("u_reach"), ground.radius);
    gl.uniform1f(program.at("u_shade"), ground.shade);
    gl.uniform2f(program.at("u_offset"), dot3(middle, east), dot3(middle, north));
    gl.uniform4fv(program.at("u_colour"), ground.rgba);
    gl.uniform4fv(program.at("u_line"), ground.line);
    this.bindShadow(program, this.soft.texture);
    gl.bindVertexArray(this.corners);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.bindVertexArray(null);
  }
}

/** The centre of the ground and two directions in its plane. @param {NonNullable<Ground>} ground */
function groundFrame({ up, centre, height }) {
  const middle = along3(centre, height - dot3(centre, up), up);
  const level = minus3([1, 0, 0], times3(up[0], up));
  const east = Math.abs(up[0]) < 0.9 ? unit3(level) : across3(up);
  return { middle, east, north: cross3(up, east) };
}

/** The spacing of the grid lines (m) for an arm of this reach: 1, 2 or 5 times a power of ten. @param {number} reach */
function gridCell(reach) {
  const wanted = reach / 6;
  const power = 10 ** Math.floor(Math.log10(wanted));
  return power * (wanted / power >= 5 ? 5 : wanted / power >= 2 ? 2 : 1);
}
