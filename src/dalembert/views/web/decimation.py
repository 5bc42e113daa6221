"""Mesh decimation: the vertices in a cell of a grid are merged into one, placed where the surrounding planes meet.

The position minimises the sum of squared distances to the planes of the triangles, weighted by their areas squared (P.
Lindstrom, Out-of-core simplification of large polygonal models, SIGGRAPH 2000), within the cell, so edges and corners
stay sharp.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.base.environment.extras import extra

Points = NDArray[np.floating[Any]]
Triangles = NDArray[np.integer[Any]]
FINEST = 2048  # cells along the longest side
STEPS = 12  # steps of the bisection
FLAT = 1e-3  # relative singular value below which the planes do not determine the vertex in a direction


def decimated(vertices: Points, triangles: Triangles, most: int) -> tuple[Points, Triangles]:
    """The mesh with at most ``most`` triangles (k, 3) and the vertices (m, 3) that they use; a smaller mesh is
    unchanged.

    >>> import numpy as np
    >>> decimated(np.eye(3), np.array([[0, 1, 2], [0, 0, 1]]), 10)[1].tolist()
    [[0, 1, 2]]
    """
    vertices, triangles = used(np.asarray(vertices, float), _proper(np.asarray(triangles, np.int64)))
    if len(triangles) <= most:
        return vertices, triangles
    low = vertices.min(axis=0)
    side = float(np.ptp(vertices, axis=0).max())
    coarse, fine = 1.0, float(FINEST)  # cells along the longest side: too few triangles are better than too many
    for _ in range(STEPS):
        count = np.sqrt(coarse * fine)
        cells = len(_proper(_clusters(vertices, low, side / count)[triangles]))
        coarse, fine = (count, fine) if cells <= most else (coarse, count)
        if 0.97 * most <= cells <= most:
            break
    return _clustered(vertices, triangles, low, side / coarse)


def used(vertices: Points, triangles: Triangles) -> tuple[Points, Triangles]:
    """The vertices that the triangles use, and the triangles renumbered accordingly."""
    vertex_numbers, numbers = np.unique(triangles, return_inverse=True)
    return vertices[vertex_numbers], numbers.reshape(-1, 3)


def _proper(triangles: Triangles) -> Triangles:
    """The triangles with three different corners, without duplicates, regardless of orientation."""
    a, b, c = np.sort(triangles, axis=1).T
    triangles, (a, b, c) = triangles[(a != b) & (b != c)], (x[(a != b) & (b != c)] for x in (a, b, c))
    count = int(c.max()) + 1 if len(c) else 0
    if not 0 < count < 2**21:  # above this, three indices do not fit into 63 bits; duplicate triangles do no harm
        return triangles
    _, first = np.unique((a * count + b) * count + c, return_index=True)
    return triangles[np.sort(first)]


def _clusters(vertices: Points, low: Points, cell: float) -> Triangles:
    """The index of each vertex's cell, from 0."""
    x, y, z = np.floor((vertices - low) / cell).astype(np.int64).T
    return np.unique((x * 2 * FINEST + y) * 2 * FINEST + z, return_inverse=True)[1].reshape(-1)


def _clustered(vertices: Points, triangles: Triangles, low: Points, cell: float) -> tuple[Points, Triangles]:
    """The mesh with the vertices of each cell merged."""
    cluster = _clusters(vertices, low, cell)
    corners = cluster[triangles]
    places = _where_planes_meet(vertices, triangles, corners, _sums(cluster, vertices) / np.bincount(cluster)[:, None])
    floor = np.zeros_like(places)
    floor[cluster] = low + np.floor((vertices - low) / cell) * cell
    places = np.clip(places, floor, np.minimum(floor + cell, vertices.max(axis=0)))
    return used(places, _proper(corners))


def _sums(groups: Triangles, values: Points) -> Points:
    """The sums of the rows of ``values`` (k, m) by group."""
    return np.stack([np.bincount(groups, column) for column in values.T], axis=1)


def _where_planes_meet(vertices: Points, triangles: Triangles, corners: Triangles, mean: Points) -> Points:
    """For each cluster, the point closest to the planes of its triangles; where undetermined, the cluster's mean."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)  # their length is twice the area, so that large triangles weigh more
    groups, normals, points = corners.T.reshape(-1), np.tile(normals, (3, 1)), np.tile(a, (3, 1))
    squares = (normals[:, :, None] * normals[:, None, :]).reshape(-1, 9)
    offsets = np.einsum("ij,ij->i", normals, points - mean[groups])
    A = _sums(groups, squares).reshape(-1, 3, 3)
    values, axes = np.linalg.eigh(A)
    firm = values > FLAT * np.maximum(values[:, -1:], 1e-300)
    along = np.einsum("nij,ni->nj", axes, _sums(groups, normals * offsets[:, None]))
    step = np.where(firm, along / np.where(firm, values, 1.0), 0.0)
    return mean + np.einsum("nij,nj->ni", axes, step)


def triangles(path: str, most: int) -> tuple[None, dict[str, Any]]:
    """The triangles of a mesh file, read by trimesh, at most ``most``; run in the helper process."""
    with extra("meshes", f"{path}: a mesh"):
        import trimesh

    mesh = trimesh.load_mesh(path)
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    if not len(mesh.faces):
        return None, {"vertices": np.zeros((0, 3)), "triangles": np.zeros((0, 3), int)}
    vertices, faces = decimated(np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64), most)
    return None, {"vertices": vertices, "triangles": faces}
