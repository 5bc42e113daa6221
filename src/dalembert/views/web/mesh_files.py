"""Triangles of mesh files, read by trimesh in the helper process."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.base.environment.extras import extra
from dalembert.views.web.decimation import decimated


def triangles(path: str, most: int) -> tuple[None, dict[str, Any]]:
    """The triangles of a mesh file, at most ``most``; run in the helper process."""
    with extra("meshes", f"{path}: a mesh"):
        import trimesh

    mesh = trimesh.load_mesh(path)
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    if not len(mesh.faces):
        return None, {"vertices": np.zeros((0, 3)), "triangles": np.zeros((0, 3), int)}
    vertices, faces = decimated(np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64), most)
    return None, {"vertices": vertices, "triangles": faces}
