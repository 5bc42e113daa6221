// The 3D view in plain SVG, for browsers without WebGL2: shapes are painted from back to front.

import { along3, columnOf, cross3, dot3, length3, minus3, plus3, pointBy, times3, unit3 } from "./space.js";
import { middleOf, outwards } from "./items.js";
import { symmetricEigen } from "./linear.js";
import { gridLines } from "./grid_lines.js";
import { convexHull } from "./hull.js";
import { svgEl } from "./dom.js";

/** @typedef {import("./space.js").Numbers} Numbers */
/** @typedef {import("./items.js").Drawn} Drawn */
/** @typedef {import("./items.js").Ground} Ground */
/** @typedef {import("./items.js").Mesh} Mesh */
/** @typedef {import("./camera.js").Camera} Camera */
/** @typedef {{depth: number, nodes: SVGElement[]}} Painted */

const SIDES = 24; // corners of a circle

/** @param {number[]} rgba @param {number} light 1: unchanged */
function cssColour(rgba, light) {
  const parts = rgba.slice(0, 3).map((part) => Math.round(255 * Math.min(1, part * light)));
  return `rgb(${parts.join(" ")})`;
}

/** @param {{x: number, y: number}[]} points */
const listed = (points) => points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");

export class SvgView {
  constructor() {
    this.element = svgEl("svg");
    /** @type {Mesh[]} */
    this.meshes = [];
    /** @type {Camera | null} */
    this.camera = null;
    this.lamp = [0, 0, 1];
  }

  /** @param {Mesh[]} meshes */
  setMeshes(meshes) {
    this.meshes = meshes;
  }

  /** @param {number} width @param {number} height CSS pixels */
  resize(width, height) {
    this.element.setAttribute("viewBox", `0 0 ${width} ${height}`);
  }

  /** @param {Drawn[]} items @param {Camera} camera @param {Ground} ground */
  draw(items, camera, ground) {
    this.camera = camera;
    const { right, back } = camera.axes();
    this.lamp = unit3(plus3(plus3(times3(0.75, camera.up), times3(0.55, back)), times3(-0.42, right)));
    const painted = items
      .flatMap((item) => this.paint(item, camera))
      .filter(({ depth }) => depth > 0.02 * camera.distance);
    painted.sort((a, b) => b.depth - a.depth);
    const floor = ground
      ? gridLines(ground).flatMap((line) => this.polyline(line.points, line.rgba, 1, camera))
      : [];
    this.element.replaceChildren(...floor, ...painted.flatMap(({ nodes }) => nodes));
  }

  /** The brightness of a face with this normal. @param {Numbers} normal */
  light(normal) {
    const sky = 0.5 + 0.5 * dot3(normal, this.camera?.up ?? [0, 0, 1]);
    return 0.62 + 0.2 * sky + 0.34 * Math.max(0, dot3(normal, this.lamp));
  }

  /** @param {Drawn} item @param {Camera} camera @returns {Painted[]} */
  paint(item, camera) {
    const { rgba } = item;
    const depth = camera.project(middleOf(item)).depth;
    switch (item.kind) {
      case "capsule":
        return this.capsule(item.from, item.to, item.radius, rgba, camera);
      case "sphere":
        return [{ depth: depth - item.radius, nodes: this.ball(item.centre, item.radius, rgba, camera) }];
      case "cylinder":
        return [
          {
            depth: depth - item.radius,
            nodes: this.cylinder(item.matrix, item.radius, item.length, rgba, camera),
          },
        ];
      case "box":
        return [
          {
            depth: depth - 0.5 * Math.min(...item.size),
            nodes: this.box(item.matrix, item.size, rgba, camera),
          },
        ];
      case "ellipsoid":
        return [{ depth, nodes: [this.ellipse(item.centre, item.axes, rgba, camera)] }];
      case "faces":
        return this.faces(item.vertices, item.triangles, rgba, camera);
      case "mesh":
        return this.mesh(item.mesh, item.matrix, item.scale, rgba, camera);
      case "line":
        return [{ depth, nodes: this.polyline(item.points, rgba, item.width, camera) }];
    }
  }

  /** A capsule in pieces, so that shapes that cross it are sorted correctly. @param {Numbers} from @param {Numbers} to @param {number} radius @param {number[]} rgba @param {Camera} camera @returns {Painted[]} */
  capsule(from, to, radius, rgba, camera) {
    const way = minus3(to, from);
    const pieces = Math.min(8, Math.max(1, Math.round(length3(way) / (2 * radius))));
    /** @type {Painted[]} */
    const painted = [];
    for (let k = 0; k < pieces; k++) {
      const [p, q, middle] = [k, k + 1, k + 0.5].map((share) =>
        camera.project(along3(from, share / pieces, way)),
      );
      const depth = middle.depth - radius;
      const width = 2 * radius * middle.scale;
      const long = Math.hypot(q.x - p.x, q.y - p.y);
      const [x, y] = long > 0 ? [(q.x - p.x) / long, (q.y - p.y) / long] : [0, 0];
      const nodes = [0, 1].map((shine) => {
        const aside = 0.2 * shine * width * (0.65 * y - 0.75 * x); // towards the light at the upper left
        return svgEl("line", {
          x1: (p.x - 0.4 * x - aside * y).toFixed(1), // slightly longer, to hide the seams
          y1: (p.y - 0.4 * y + aside * x).toFixed(1),
          x2: (q.x + 0.4 * x - aside * y).toFixed(1),
          y2: (q.y + 0.4 * y + aside * x).toFixed(1),
          stroke: cssColour(rgba, shine ? 1.12 : 0.86),
          "stroke-width": (shine ? 0.45 * width : width).toFixed(1),
          "stroke-opacity": rgba[3],
        });
      });
      painted.push({ depth, nodes });
      const ends = [k === 0 ? p : null, k === pieces - 1 ? q : null].filter((end) => end !== null);
      for (const end of ends) {
        const look = {
          cx: end.x,
          cy: end.y,
          r: width / 2,
          fill: cssColour(rgba, 0.86),
          "fill-opacity": rgba[3],
        };
        painted.push({ depth: depth + 1e-6, nodes: [svgEl("circle", look)] });
      }
    }
    return painted;
  }

  /** @param {Numbers} centre @param {number} radius @param {number[]} rgba @param {Camera} camera */
  ball(centre, radius, rgba, camera) {
    const { x, y, scale } = camera.project(centre);
    const r = radius * scale;
    return [
      svgEl("circle", { cx: x, cy: y, r, fill: cssColour(rgba, 0.86), "fill-opacity": rgba[3] }),
      svgEl("circle", {
        cx: x - 0.26 * r,
        cy: y - 0.3 * r,
        r: 0.5 * r,
        fill: cssColour(rgba, 1.15),
        "fill-opacity": 0.8 * rgba[3],
      }),
    ];
  }

  /** @param {Numbers} matrix @param {number} radius @param {number} length @param {number[]} rgba @param {Camera} camera */
  cylinder(matrix, radius, length, rgba, camera) {
    const [x, y, z, at] = [0, 1, 2, 3].map((k) => columnOf(matrix, k));
    const ends = [-0.5, 0.5].map((end) =>
      Array.from({ length: SIDES }, (_, k) => {
        const angle = (2 * Math.PI * k) / SIDES;
        const centre = along3(at, end * length, z);
        return camera.project(
          along3(along3(centre, radius * Math.cos(angle), x), radius * Math.sin(angle), y),
        );
      }),
    );
    const near = dot3(z, minus3(camera.eye(), at)) > 0 ? 1 : 0;
    const side = unit3(minus3(this.lamp, times3(dot3(this.lamp, z), z)));
    const look = { "fill-opacity": rgba[3], "stroke-linejoin": "round" };
    return [
      svgEl("polygon", {
        points: listed(convexHull([...ends[0], ...ends[1]])),
        fill: cssColour(rgba, 0.9 * this.light(side)),
        ...look,
      }),
      svgEl("polygon", {
        points: listed(ends[near]),
        fill: cssColour(rgba, this.light(times3(near ? 1 : -1, z))),
        ...look,
      }),
    ];
  }

  /** @param {Numbers} matrix @param {Numbers} size @param {number[]} rgba @param {Camera} camera */
  box(matrix, size, rgba, camera) {
    const eye = camera.eye();
    /** @type {SVGElement[]} */
    const nodes = [];
    for (let axis = 0; axis < 3; axis++) {
      for (const side of [-1, 1]) {
        const normal = times3(side, columnOf(matrix, axis));
        const square = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([u, v]) => {
          const corner = [0, 0, 0];
          corner[axis] = side * 0.5 * size[axis];
          corner[(axis + 1) % 3] = u * 0.5 * size[(axis + 1) % 3];
          corner[(axis + 2) % 3] = v * 0.5 * size[(axis + 2) % 3];
          return pointBy(matrix, corner);
        }); // prettier-ignore
        if (dot3(normal, minus3(eye, square[0])) <= 0) continue;
        nodes.push(this.polygon(square, cssColour(rgba, this.light(normal)), rgba[3], camera));
      }
    }
    return nodes;
  }

  /** @param {Numbers[]} points @param {string} fill @param {number} opacity @param {Camera} camera */
  polygon(points, fill, opacity, camera) {
    const look = { fill, stroke: opacity < 1 ? null : fill, "stroke-width": 0.6, "fill-opacity": opacity };
    return svgEl("polygon", { points: listed(points.map((point) => camera.project(point))), ...look });
  }

  /** The outline of an ellipsoid that is small compared with its distance from the eye. @param {Numbers} centre @param {Numbers} axes @param {number[]} rgba @param {Camera} camera */
  ellipse(centre, axes, rgba, camera) {
    const { x, y, scale } = camera.project(centre);
    const { right, above } = camera.axes();
    const seen = [right, times3(-1, above)].map((direction) =>
      [0, 1, 2].map(
        (k) => scale * (direction[0] * axes[k] + direction[1] * axes[3 + k] + direction[2] * axes[6 + k]),
      ),
    );
    const square = [
      dot3(seen[0], seen[0]),
      dot3(seen[0], seen[1]),
      dot3(seen[0], seen[1]),
      dot3(seen[1], seen[1]),
    ];
    const { values, vectors } = symmetricEigen(square, 2);
    const angle = (Math.atan2(vectors[2], vectors[0]) * 180) / Math.PI;
    const [rx, ry] = values.map((value) => Math.sqrt(Math.max(value, 0)));
    return svgEl("ellipse", {
      rx, ry, fill: cssColour(rgba, 1), "fill-opacity": rgba[3], stroke: cssColour(rgba, 0.8), "stroke-opacity": 0.7,
      transform: `translate(${x} ${y}) rotate(${angle})`,
    }); // prettier-ignore
  }

  /** @param {Numbers[]} vertices @param {Numbers[]} triangles @param {number[]} rgba @param {Camera} camera @returns {Painted[]} */
  faces(vertices, triangles, rgba, camera) {
    const eye = camera.eye();
    return outwards(vertices, triangles).flatMap((triangle) => {
      const corners = Array.from(triangle, (k) => vertices[k]);
      const normal = unit3(cross3(minus3(corners[1], corners[0]), minus3(corners[2], corners[0])));
      const towards = dot3(normal, minus3(eye, corners[0])) > 0;
      if (!towards && rgba[3] >= 1) return [];
      const fill = cssColour(rgba, this.light(times3(towards ? 1 : -1, normal)));
      const depth = corners.reduce((sum, corner) => sum + camera.project(corner).depth / 3, 0);
      return [{ depth, nodes: [this.polygon(corners, fill, rgba[3], camera)] }];
    });
  }

  /** The outline of the convex hull of a mesh. @param {number} index @param {Numbers} matrix @param {Numbers} scale @param {number[]} rgba @param {Camera} camera @returns {Painted[]} */
  mesh(index, matrix, scale, rgba, camera) {
    const mesh = this.meshes[index];
    if (!mesh) return [];
    /** @type {{x: number, y: number, depth: number}[]} */
    const points = [];
    for (let k = 0; k < mesh.vertices.length; k += 3) {
      const [x, y, z] = mesh.vertices.subarray(k, k + 3);
      points.push(camera.project(pointBy(matrix, [x * scale[0], y * scale[1], z * scale[2]])));
    }
    const depth = points.reduce((sum, point) => sum + point.depth / points.length, 0);
    const look = {
      fill: cssColour(rgba, 1),
      "fill-opacity": rgba[3],
      stroke: cssColour(rgba, 0.75),
      "stroke-width": 1,
    };
    return [{ depth, nodes: [svgEl("polygon", { points: listed(convexHull(points)), ...look })] }];
  }

  /** @param {Numbers[]} points @param {number[]} rgba @param {number} width @param {Camera} camera @returns {SVGElement[]} */
  polyline(points, rgba, width, camera) {
    const seen = points.map((point) => camera.project(point));
    if (seen.some(({ depth }) => depth < 0.02 * camera.distance)) return [];
    const look = {
      fill: "none",
      "stroke-width": width,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
    };
    return [
      svgEl("polyline", {
        points: listed(seen),
        stroke: cssColour(rgba, 1),
        "stroke-opacity": rgba[3],
        ...look,
      }),
    ];
  }
}
