// Corners and normals of the unit solids and of meshes. The fourth component of a corner is the end of the cylinder or capsule
// to which it belongs, −½ or ½.

/** @typedef {{corners: Float32Array, normals: Float32Array, count: number}} Geometry triangles, three corners each */
/** @import { Mesh } from "./items.js" */

const AROUND = 32;
const CREASE = Math.cos((35 * Math.PI) / 180);

/** @param {number[]} corners four numbers each @param {number[]} normals @returns {Geometry} */
function geometryOf(corners, normals) {
  return {
    corners: new Float32Array(corners),
    normals: new Float32Array(normals),
    count: corners.length / 4,
  };
}

/**
 * A body of revolution about z: the profile's points are [radius, z, end, normal outwards, normal along z].
 * @param {number[][]} profile from the bottom to the top
 */
function turned(profile) {
  /** @type {number[]} */ const corners = [];
  /** @type {number[]} */ const normals = [];
  /** @param {number[]} point @param {number} k */
  const put = ([radius, z, end, outwards, upwards], k) => {
    const angle = (2 * Math.PI * k) / AROUND;
    corners.push(radius * Math.cos(angle), radius * Math.sin(angle), z, end);
    normals.push(outwards * Math.cos(angle), outwards * Math.sin(angle), upwards);
  };
  for (let i = 0; i + 1 < profile.length; i++) {
    const [low, high] = [profile[i], profile[i + 1]];
    for (let k = 0; k < AROUND; k++) {
      if (low[0] > 0) ([k, k + 1].forEach((j) => put(low, j)), put(high, k + 1));
      if (high[0] > 0) (put(low, k), put(high, k + 1), put(high, k));
    }
  }
  return geometryOf(corners, normals);
}

/** Points of a half circle from the bottom to the top, with its lower half at one end and its upper at the other. @param {number} end */
function halfCircle(end) {
  const steps = 16;
  return Array.from({ length: steps + 2 }, (_, k) => {
    const upper = k > steps / 2;
    const angle = Math.PI * ((upper ? k - 1 : k) / steps - 0.5);
    const radius = k === 0 || k === steps + 1 ? 0 : Math.cos(angle);
    return [radius, Math.sin(angle), upper ? end : -end, Math.cos(angle), Math.sin(angle)];
  });
}

/** The unit solids: radius 1 and length 1, a box of side 1. @returns {Record<string, Geometry>} */
export function unitSolids() {
  const bevel = 0.06; // share of the radius: bevelled edges catch light
  const rim = Math.SQRT1_2;
  const cylinder = [
    [0, 0, -0.5, 0, -1],
    [1 - bevel, 0, -0.5, 0, -1],
    [1 - bevel, 0, -0.5, rim, -rim],
    [1, bevel, -0.5, rim, -rim],
    [1, bevel, -0.5, 1, 0],
    [1, -bevel, 0.5, 1, 0],
    [1, -bevel, 0.5, rim, rim],
    [1 - bevel, 0, 0.5, rim, rim],
    [1 - bevel, 0, 0.5, 0, 1],
    [0, 0, 0.5, 0, 1],
  ];
  return {
    sphere: turned(halfCircle(0)),
    capsule: turned(halfCircle(0.5)),
    cylinder: turned(cylinder),
    box: unitBox(),
  };
}

function unitBox() {
  /** @type {number[]} */ const corners = [];
  /** @type {number[]} */ const normals = [];
  for (let axis = 0; axis < 3; axis++) {
    for (const side of [-1, 1]) {
      const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
      const square = [[-1, -1], [side, -side], [1, 1], [-1, -1], [1, 1], [-side, side]]; // prettier-ignore
      for (const [a, b] of square) {
        const corner = [0, 0, 0];
        corner[axis] = side / 2;
        corner[u] = a / 2;
        corner[v] = b / 2;
        corners.push(...corner, 0);
        normals.push(...[0, 1, 2].map((k) => (k === axis ? side : 0)));
      }
    }
  }
  return geometryOf(corners, normals);
}

/** Triangles with flat faces. @param {ArrayLike<ArrayLike<number>>} vertices @param {ArrayLike<ArrayLike<number>>} triangles */
export function flatFaces(vertices, triangles) {
  const points = new Float32Array(3 * vertices.length);
  for (let i = 0; i < vertices.length; i++) points.set(vertices[i], 3 * i);
  const corners = new Uint32Array(3 * triangles.length);
  for (let i = 0; i < triangles.length; i++) corners.set(triangles[i], 3 * i);
  return meshGeometry({ vertices: points, triangles: corners }, 2);
}

/**
 * A mesh with smooth shading across edges of small angle.
 * @param {Mesh} mesh
 * @param {number} [crease] cosine of the angle above which an edge is sharp
 * @returns {Geometry}
 */
export function meshGeometry({ vertices, triangles }, crease = CREASE) {
  const count = triangles.length;
  const faces = new Float64Array(count); // unit normal of each triangle
  const areas = new Float64Array(count / 3);
  /** @type {number[][]} */
  const around = Array.from({ length: vertices.length / 3 }, () => []);
  for (let t = 0; t < count; t += 3) {
    const [a, b, c] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
    const u = [0, 1, 2].map((k) => vertices[b + k] - vertices[a + k]);
    const v = [0, 1, 2].map((k) => vertices[c + k] - vertices[a + k]);
    const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    const size = Math.hypot(n[0], n[1], n[2]);
    areas[t / 3] = size;
    for (let k = 0; k < 3; k++) {
      faces[t + k] = size > 0 ? n[k] / size : k === 2 ? 1 : 0;
      around[triangles[t + k]].push(t);
    }
  }
  const corners = new Float32Array(4 * count);
  const normals = new Float32Array(3 * count);
  for (let i = 0; i < count; i++) {
    const t = i - (i % 3);
    const sum = [0, 0, 0];
    for (const other of around[triangles[i]]) {
      const cosine =
        faces[t] * faces[other] + faces[t + 1] * faces[other + 1] + faces[t + 2] * faces[other + 2];
      if (other !== t && cosine < crease) continue;
      for (let k = 0; k < 3; k++) sum[k] += areas[other / 3] * faces[other + k];
    }
    const size = Math.hypot(sum[0], sum[1], sum[2]);
    for (let k = 0; k < 3; k++) {
      corners[4 * i + k] = vertices[3 * triangles[i] + k];
      normals[3 * i + k] = size > 0 ? sum[k] / size : faces[t + k];
    }
  }
  return { corners, normals, count };
}
