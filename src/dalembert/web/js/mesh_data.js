// Meshes as shapes.py packs them: corners on a grid of 16 bits over the mesh's box.

import { bytesOf } from "./data.js";

/** @typedef {{low: number[], high: number[], corners: string, triangles: string, wide: boolean}} PackedMesh */
/** @typedef {import("./items.js").Mesh} Mesh */

/** @param {string} text base64 */
const viewOf = (text) => {
  const bytes = bytesOf(text);
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
};

/** @param {PackedMesh[]} packed @returns {Mesh[]} */
export function meshesOf(packed) {
  return packed.map(({ low, high, corners, triangles, wide }) => {
    const grid = viewOf(corners);
    const vertices = new Float32Array(grid.byteLength / 2);
    for (let k = 0; k < vertices.length; k++) {
      vertices[k] = low[k % 3] + ((high[k % 3] - low[k % 3]) * grid.getUint16(2 * k, true)) / 65535;
    }
    const numbers = viewOf(triangles);
    const size = wide ? 4 : 2;
    const indices = Uint32Array.from({ length: numbers.byteLength / size }, (_, k) =>
      wide ? numbers.getUint32(4 * k, true) : numbers.getUint16(2 * k, true),
    );
    return { vertices, triangles: indices };
  });
}
