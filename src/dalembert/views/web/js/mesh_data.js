// Meshes as packed by shapes.py: corners on a 16-bit grid over the bounding box of the mesh.

import { bytesOf } from "./data.js";

/** @typedef {{low: number[], high: number[], corners: string, triangles: string}} PackedMesh */
/** @import { Mesh } from "./items.js" */

/** @param {string} text base64 */
const viewOf = (text) => {
  const bytes = bytesOf(text);
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
};

/** @param {PackedMesh[]} packed @returns {Mesh[]} */
export function meshesOf(packed) {
  return packed.map(({ low, high, corners, triangles }) => {
    const grid = viewOf(corners);
    const vertices = new Float32Array(grid.byteLength / 2);
    for (let k = 0; k < vertices.length; k++) {
      vertices[k] = low[k % 3] + ((high[k % 3] - low[k % 3]) * grid.getUint16(2 * k, true)) / 65535;
    }
    const numbers = viewOf(triangles);
    const indices = Uint32Array.from({ length: numbers.byteLength / 2 }, (_, k) =>
      numbers.getUint16(2 * k, true),
    );
    return { vertices, triangles: indices };
  });
}
