// The 3D view in WebGL2: solids with soft light, lines, and translucent bodies.

import { along3, cross3, frameAlong, frameOf, minus3, length3, plus3, times3, unit3 } from "./space.js";
import { isVeil, outwards, veilCentre } from "./items.js";
import { flatFaces, meshGeometry, unitSolids } from "./gl_geometry.js";
import { SHADERS, glProgram } from "./gl_shaders.js";
import { GlGround } from "./gl_ground.js";
import { GlLines } from "./gl_lines.js";
import { el } from "./dom.js";

/** @import { Camera } from "./camera.js" */
/** @import { Geometry } from "./gl_geometry.js" */
/** @import { Program } from "./gl_shaders.js" */
/** @import { Drawn, Ground, Mesh, Veil } from "./items.js" */
/** @import { Numbers } from "./space.js" */
/** @typedef {{array: WebGLVertexArrayObject | null, buffers: (WebGLBuffer | null)[], count: number}} Loaded */

const IDENTITY4 = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
const ONES3 = [1, 1, 1];
const HIDDEN_LINES = 0.28; // opacity of hidden lines

/** The view, or null in a browser without WebGL2. @returns {GlView | null} */
export function makeGlView() {
  const element = el("canvas");
  const gl = element.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: true });
  return gl && new GlView(element, gl);
}

export class GlView {
  /** @param {HTMLCanvasElement} element @param {WebGL2RenderingContext} gl its context */
  constructor(element, gl) {
    this.element = element;
    this.gl = gl;
    /** called when a lost context has been restored */
    this.onRestored = () => {};
    this.ratio = 1;
    /** @type {Mesh[]} */
    this.meshes = [];
    this.element.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.element.addEventListener("webglcontextrestored", () => {
      this.prepare();
      this.onRestored();
    });
    this.prepare();
  }

  /** Creates the objects that belong to the context. */
  prepare() {
    const { gl } = this;
    this.program = glProgram(gl, SHADERS.solid);
    this.ground = new GlGround(gl);
    this.lines = new GlLines(gl);
    /** @type {Record<string, Loaded>} */
    this.solids = {};
    for (const [name, geometry] of Object.entries(unitSolids())) this.solids[name] = this.load(geometry);
    /** @type {Loaded[]} */
    this.loadedMeshes = this.meshes.map((mesh) => this.load(meshGeometry(mesh)));
    /** @type {string} the current content of the shadow */
    this.shadowOf = "";
    /** @type {Loaded[]} geometry of this frame only */
    this.passing = [];
  }

  /** @param {Mesh[]} meshes */
  setMeshes(meshes) {
    this.meshes = meshes;
    this.loadedMeshes = meshes.map((mesh) => this.load(meshGeometry(mesh)));
  }

  /** @param {number} width @param {number} height CSS pixels @param {number} ratio device pixels per CSS pixel */
  resize(width, height, ratio) {
    this.ratio = ratio;
    this.element.width = Math.max(1, Math.round(width * ratio));
    this.element.height = Math.max(1, Math.round(height * ratio));
  }

  /** @param {Geometry} geometry @returns {Loaded} */
  load({ corners, normals, count }) {
    const { gl } = this;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const buffers = [corners, normals].map((numbers, place) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, numbers, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, place === 0 ? 4 : 3, gl.FLOAT, false, 0, 0);
      return buffer;
    });
    gl.bindVertexArray(null);
    return { array, buffers, count };
  }

  /** @param {Drawn[]} items @param {Camera} camera @param {Ground} ground */
  draw(items, camera, ground) {
    const { gl } = this;
    if (gl.isContextLost()) return;
    const solid = items.filter((item) => item.kind !== "line");
    const veils = solid.filter(isVeil);
    const opaque = solid.filter((item) => item.rgba[3] >= 1);
    const ghosts = solid.filter((item) => item.rgba[3] < 1 && !isVeil(item));
    if (ground && ground.shade > 0) {
      const casting = [...opaque, ...ghosts].filter(
        (item) => item.kind !== "ellipsoid" && item.kind !== "faces",
      );
      const shape = casting.map((item) => Object.values(item).join()).join(); // orbiting does not change the shadow
      if (shape !== this.shadowOf)
        this.ground?.drawShadow(ground, (program) =>
          casting.forEach((item) => this.drawSolid(program, item)),
        );
      this.shadowOf = shape;
    }
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.disable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.CULL_FACE);
    this.light(camera);
    for (const item of opaque) this.drawSolid(this.lit(), item);

    gl.enable(gl.BLEND);
    gl.depthMask(false);
    gl.disable(gl.CULL_FACE);
    if (ground) this.ground?.draw(ground, camera);
    this.lines?.load(items);
    this.lines?.draw(camera, 1, this.ratio);
    this.drawVeils(veils, camera);
    this.drawGhosts(ghosts);
    gl.depthMask(false);
    gl.disable(gl.CULL_FACE);
    gl.depthFunc(gl.GREATER);
    this.lines?.draw(camera, HIDDEN_LINES, this.ratio);
    gl.depthFunc(gl.LEQUAL);
    gl.depthMask(true);
    this.forgetPassing();
  }

  /** Draws translucent bodies from back to front, the inside of each before its outside. @param {Veil[]} veils @param {Camera} camera */
  drawVeils(veils, camera) {
    const { gl } = this;
    const far = veils.map((item) => ({ item, depth: camera.project(veilCentre(item)).depth }));
    far.sort((a, b) => b.depth - a.depth);
    gl.enable(gl.CULL_FACE);
    this.lit().use();
    for (const { item } of far) {
      for (const side of [gl.FRONT, gl.BACK]) {
        gl.cullFace(side);
        this.drawSolid(this.lit(), item);
      }
    }
    gl.cullFace(gl.BACK);
  }

  /** Draws solids that are translucent as a whole: only their nearest surface is blended. @param {Drawn[]} ghosts */
  drawGhosts(ghosts) {
    const { gl } = this;
    gl.enable(gl.CULL_FACE);
    gl.depthMask(true);
    gl.colorMask(false, false, false, false);
    this.lit().use();
    for (const item of ghosts) this.drawSolid(this.lit(), item);
    gl.colorMask(true, true, true, true);
    for (const item of ghosts) this.drawSolid(this.lit(), item);
  }

  lit() {
    return /** @type {Program} */ (this.program);
  }

  /** Sets the uniforms common to all solids. @param {Camera} camera */
  light(camera) {
    const { gl } = this;
    const program = this.lit();
    const { right, back } = camera.axes();
    const lamp = unit3(plus3(plus3(times3(0.75, camera.up), times3(0.55, back)), times3(-0.42, right)));
    program.use();
    gl.uniformMatrix4fv(program.at("u_view"), true, camera.view());
    gl.uniformMatrix4fv(program.at("u_projection"), true, camera.projection());
    gl.uniform3fv(program.at("u_up"), camera.up);
    gl.uniform3fv(program.at("u_lamp"), lamp);
    gl.uniform3fv(program.at("u_eye"), camera.eye());
  }

  /** @param {Program} program in use @param {Drawn} item */
  drawSolid(program, item) {
    const { gl } = this;
    const placed = this.placed(item);
    if (!placed) return;
    const { geometry, model, scale = ONES3, length = 0, sheet = false } = placed;
    const [x, y, z] = [0, 1, 2].map((k) => [model[k], model[4 + k], model[8 + k]]);
    const volume = cross3(x, y).reduce((sum, value, k) => sum + value * z[k], 0);
    const sign = volume < 0 ? -1 : 1;
    const normal = [cross3(y, z), cross3(z, x), cross3(x, y)].flatMap((column) => times3(sign, column));
    gl.uniformMatrix4fv(program.at("u_model"), true, model);
    gl.uniformMatrix3fv(program.at("u_normal"), false, normal);
    gl.uniform3fv(program.at("u_scale"), scale);
    gl.uniform1f(program.at("u_length"), length);
    gl.uniform4fv(program.at("u_colour"), item.rgba);
    const culled = gl.isEnabled(gl.CULL_FACE);
    if (sheet && culled) gl.disable(gl.CULL_FACE);
    const mirrored = sign * scale[0] * scale[1] * scale[2] < 0;
    if (mirrored) gl.frontFace(gl.CW);
    gl.bindVertexArray(geometry.array);
    gl.drawArrays(gl.TRIANGLES, 0, geometry.count);
    if (mirrored) gl.frontFace(gl.CCW);
    if (sheet && culled) gl.enable(gl.CULL_FACE);
  }

  /**
   * The geometry of an item and its placement; a sheet is visible from both sides.
   * @param {Drawn} item
   * @returns {{geometry: Loaded, model: Numbers, scale?: Numbers, length?: number, sheet?: boolean} | null}
   */
  placed(item) {
    const solids = /** @type {Record<string, Loaded>} */ (this.solids);
    switch (item.kind) {
      case "capsule": {
        const along = minus3(item.to, item.from);
        const length = length3(along);
        const model = frameAlong(along3(item.from, 0.5, along), length > 0 ? along : [0, 0, 1]);
        return { geometry: solids.capsule, model, scale: times3(item.radius, ONES3), length };
      }
      case "cylinder":
        return {
          geometry: solids.cylinder,
          model: item.matrix,
          scale: times3(item.radius, ONES3),
          length: item.length,
        };
      case "box":
        return { geometry: solids.box, model: item.matrix, scale: item.size };
      case "sphere":
        return {
          geometry: solids.sphere,
          model: frameOf([1, 0, 0], [0, 1, 0], [0, 0, 1], item.centre),
          scale: times3(item.radius, ONES3),
        };
      case "ellipsoid": {
        const [x, y, z] = [0, 1, 2].map((k) => [item.axes[k], item.axes[3 + k], item.axes[6 + k]]);
        return { geometry: solids.sphere, model: frameOf(x, y, z, item.centre) };
      }
      case "mesh": {
        const geometry = this.loadedMeshes?.[item.mesh];
        return geometry ? { geometry, model: item.matrix, scale: item.scale, sheet: true } : null;
      }
      case "faces": {
        if (!item.triangles.length) return null;
        const geometry = this.load(flatFaces(item.vertices, outwards(item.vertices, item.triangles)));
        this.passing?.push(geometry);
        return { geometry, model: IDENTITY4 };
      }
      default:
        return null;
    }
  }

  forgetPassing() {
    for (const { array, buffers } of this.passing ?? []) {
      this.gl.deleteVertexArray(array);
      for (const buffer of buffers) this.gl.deleteBuffer(buffer);
    }
    this.passing = [];
  }
}
