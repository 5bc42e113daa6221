// The shaders of the WebGL2 view.

/** Solids: a corner is stretched by u_scale, moved along z by its w times u_length, and placed by u_model. */
const SOLID_CORNER = `#version 300 es
uniform mat4 u_model, u_view, u_projection;
uniform mat3 u_normal;
uniform vec3 u_scale;
uniform float u_length;
layout(location = 0) in vec4 corner;
layout(location = 1) in vec3 normal;
out vec3 v_normal, v_eye, v_world;
void main() {
  vec4 world = u_model * vec4(corner.xyz * u_scale + vec3(0.0, 0.0, corner.w * u_length), 1.0);
  vec4 eye = u_view * world;
  v_world = world.xyz;
  v_eye = eye.xyz;
  v_normal = u_normal * (normal / u_scale);
  gl_Position = u_projection * eye;
}`;

/** Light from the sky, from the ground and from one lamp above the viewer's left shoulder, in linear colours. */
const SOLID_COLOUR = `#version 300 es
precision highp float;
uniform vec4 u_colour;
uniform vec3 u_up, u_lamp, u_eye;
in vec3 v_normal, v_eye, v_world;
out vec4 pixel;
void main() {
  vec3 n = normalize(gl_FrontFacing ? v_normal : -v_normal);
  vec3 to_eye = normalize(u_eye - v_world);
  vec3 base = pow(u_colour.rgb, vec3(2.2));
  float sky = 0.5 + 0.5 * dot(n, u_up);
  vec3 soft = mix(vec3(0.30, 0.29, 0.28), vec3(0.66, 0.69, 0.74), sky);
  float lamp = max(0.0, (dot(n, u_lamp) + 0.25) / 1.25);
  vec3 middle = normalize(u_lamp + to_eye);
  float glint = pow(max(0.0, dot(n, middle)), 42.0) * 0.16;
  float rim = pow(1.0 - max(0.0, dot(n, to_eye)), 3.0) * 0.12 * sky;
  vec3 light = base * (soft + vec3(0.62, 0.60, 0.56) * lamp) + glint + rim * (0.35 + base);
  vec3 bright = max(light - 0.55, 0.0); // a shoulder, so that white is not blown out
  light = min(light, 0.55) + 0.45 * (1.0 - exp(-bright / 0.6));
  pixel = vec4(pow(light, vec3(1.0 / 2.2)), 1.0) * u_colour.a;
}`;

/** Lines: a rectangle of constant width on the screen around every segment, with soft edges. */
const LINE_CORNER = `#version 300 es
uniform mat4 u_view, u_projection;
uniform vec2 u_size;
uniform float u_ratio;
layout(location = 0) in vec3 start;
layout(location = 1) in vec3 end;
layout(location = 2) in vec3 corner;
layout(location = 3) in vec4 colour;
out vec4 v_colour;
out float v_across, v_half;
vec4 before(vec4 a, vec4 b) {
  float near = -0.001;
  return a.z > near ? mix(a, b, (near - a.z) / (b.z - a.z)) : a;
}
void main() {
  vec4 a = u_view * vec4(start, 1.0), b = u_view * vec4(end, 1.0);
  vec4 p = u_projection * before(a, b), q = u_projection * before(b, a);
  vec2 along = (q.xy / q.w - p.xy / p.w) * u_size;
  along = length(along) > 1e-6 ? normalize(along) : vec2(1.0, 0.0);
  v_half = 0.5 * corner.z * u_ratio;
  float reach = v_half + 1.0;
  vec4 at = corner.x < 0.0 ? p : q;
  at.xy += (vec2(-along.y, along.x) * corner.y + along * corner.x * 0.5) * reach * 2.0 / u_size * at.w;
  v_across = corner.y * reach;
  v_colour = colour;
  gl_Position = at;
}`;

const LINE_COLOUR = `#version 300 es
precision highp float;
uniform float u_opacity;
in vec4 v_colour;
in float v_across, v_half;
out vec4 pixel;
void main() {
  float cover = clamp(v_half + 0.5 - abs(v_across), 0.0, 1.0);
  pixel = vec4(v_colour.rgb, 1.0) * v_colour.a * u_opacity * cover;
}`;

/** The shadow texture: the solids seen from above, darker the closer they are to the ground. */
const SHADE_COLOUR = `#version 300 es
precision highp float;
uniform vec3 u_up;
uniform float u_height, u_reach;
in vec3 v_normal, v_eye, v_world;
out vec4 pixel;
void main() {
  float above = dot(v_world, u_up) - u_height;
  float strength = above < -0.02 * u_reach ? 0.0 : 1.0 / (1.0 + 2.2 * max(above, 0.0) / u_reach);
  pixel = vec4(vec3(strength), 1.0);
}`;

const BLUR_CORNER = `#version 300 es
layout(location = 0) in vec4 corner;
out vec2 v_at;
void main() {
  v_at = 0.5 + 0.5 * corner.xy;
  gl_Position = vec4(corner.xy, 0.0, 1.0);
}`;

/** Blurs the shadow texture: the mean over a disc. */
const BLUR_COLOUR = `#version 300 es
precision highp float;
uniform sampler2D u_shadow;
in vec2 v_at;
out vec4 pixel;
void main() {
  float sum = 0.0;
  for (int i = 0; i < 32; i++) {
    float turn = 2.39996 * float(i), out_to = sqrt((float(i) + 0.5) / 32.0) * 0.04;
    sum += texture(u_shadow, v_at + out_to * vec2(cos(turn), sin(turn))).r;
  }
  pixel = vec4(vec3(sum / 32.0), 1.0);
}`;

const GROUND_CORNER = `#version 300 es
uniform mat4 u_view, u_projection;
uniform vec3 u_middle, u_east, u_north;
uniform float u_extent;
layout(location = 0) in vec4 corner;
out vec2 v_place, v_shade;
void main() {
  v_place = corner.xy * u_extent;
  v_shade = v_place;
  gl_Position = u_projection * u_view * vec4(u_middle + u_east * v_place.x + u_north * v_place.y, 1.0);
}`;

/** A grid with lines one pixel wide, a soft shadow, and a fading edge. */
const GROUND_COLOUR = `#version 300 es
precision highp float;
uniform vec4 u_colour, u_line;
uniform float u_extent, u_cell, u_reach, u_shade;
uniform vec2 u_offset;
uniform sampler2D u_shadow;
in vec2 v_place, v_shade;
out vec4 pixel;
float grid(float cell) {
  vec2 at = (v_place + u_offset) / cell, wide = max(fwidth(at), vec2(1e-6));
  vec2 near = abs(fract(at - 0.5) - 0.5) / wide;
  float thin = clamp(1.0 - 4.0 * max(wide.x, wide.y), 0.0, 1.0);
  return thin * (1.0 - min(min(near.x, near.y), 1.0));
}
void main() {
  float far = length(v_place) / u_extent;
  float fade = 1.0 - smoothstep(0.25, 1.0, far);
  float lines = max(0.5 * grid(u_cell), grid(5.0 * u_cell));
  vec2 at = 0.5 + 0.5 * v_shade / (1.5 * u_reach);
  float shadow = texture(u_shadow, at).r;
  if (any(lessThan(at, vec2(0.0))) || any(greaterThan(at, vec2(1.0)))) shadow = 0.0;
  float dark = u_shade * shadow;
  float opacity = fade * (0.32 + 0.68 * lines);
  vec3 colour = mix(u_colour.rgb, u_line.rgb, lines);
  vec4 floor_pixel = vec4(colour, 1.0) * opacity;
  pixel = vec4(floor_pixel.rgb * (1.0 - dark), floor_pixel.a + (1.0 - floor_pixel.a) * dark);
}`;

export const SHADERS = {
  solid: [SOLID_CORNER, SOLID_COLOUR],
  shade: [SOLID_CORNER, SHADE_COLOUR],
  blur: [BLUR_CORNER, BLUR_COLOUR],
  line: [LINE_CORNER, LINE_COLOUR],
  ground: [GROUND_CORNER, GROUND_COLOUR],
};

/** @typedef {{use: () => void, at: (name: string) => WebGLUniformLocation | null}} Program */

/** @param {WebGL2RenderingContext} gl @param {string[]} sources @returns {Program} */
export function glProgram(gl, sources) {
  const program = /** @type {WebGLProgram} */ (gl.createProgram());
  sources.forEach((source, k) => {
    const shader = /** @type {WebGLShader} */ (
      gl.createShader(k === 0 ? gl.VERTEX_SHADER : gl.FRAGMENT_SHADER)
    );
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
      throw new Error(`a shader cannot be compiled: ${gl.getShaderInfoLog(shader)}`);
    }
  });
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`the shaders cannot be linked: ${gl.getProgramInfoLog(program)}`);
  }
  /** @type {Map<string, WebGLUniformLocation | null>} */
  const places = new Map();
  return {
    use: () => gl.useProgram(program),
    at: (name) => {
      if (!places.has(name)) places.set(name, gl.getUniformLocation(program, name));
      return places.get(name) ?? null;
    },
  };
}
