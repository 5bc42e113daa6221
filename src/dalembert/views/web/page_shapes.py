"""The shapes of a robot file as data for a page: their placement on the bodies, and decimated meshes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, MissingExtraError, RobotError
from dalembert.robot.model.mechanism import places
from dalembert.robot.model.meshes import ask_trimesh, mesh_path
from dalembert.robot.model.robot import Robot
from dalembert.robot.model.shapes import Shape
from dalembert.views.web.bundle import encoded
from dalembert.views.web.decimation import Points, Triangles, decimated
from dalembert.views.web.page_model import floats, matrix

MESH_TRIANGLES = 1_500  # of one mesh
ROBOT_TRIANGLES = 15_000  # of all meshes together
MESH_FILES = 200
LARGEST_SIZE = 1e4  # m: larger shapes are not part of a robot
Data = dict[str, Any]
Mesh = tuple[Points, Triangles]


def shapes_of(robot: Robot) -> tuple[Data, list[str]]:
    """``shapes`` and ``meshes`` for the page's data, and notes on what is not drawn.

    A link is drawn from its visual shapes or, if none of these can be read, from its collision shapes. ``bare`` are the
    bodies of which no shape can be read, drawn as in an arm without shapes; ``missing`` are the names of the mesh files.

    >>> from dalembert.robot.model.robot import Link
    >>> from dalembert.robot.model.shapes import Shape
    >>> robot = Robot("post", (Link("base", visuals=(Shape("box", (0.1, 0.1, 0.5)),)),), ())
    >>> shapes_of(robot)[0]["shapes"][0]["body"]
    -1
    """
    folder = Path(robot.source).parent if robot.source and os.path.isfile(robot.source) else None
    meshes: dict[str, Mesh | str] = {}  # by file: what was read, or why nothing can be drawn

    def drawable(shape: Shape) -> bool:
        if shape.kind != "mesh" or not _has_size(shape):
            return _has_size(shape)
        if shape.file not in meshes:
            try:
                meshes[shape.file] = _mesh(shape.file, folder, len(meshes))
            except (MissingExtraError, DalembertError) as problem:
                meshes[shape.file] = str(problem)
        return not isinstance(meshes[shape.file], str)

    at, shapes, bare, drawn = places(robot), list[Data](), set[int](), dict[str, int]()
    for link in robot.links:
        body, stands = at[link.name]
        chosen = list(filter(drawable, link.visuals)) or list(filter(drawable, link.collisions))
        if not chosen and any(isinstance(meshes.get(x.file), str) for x in (*link.visuals, *link.collisions)):
            bare.add(body)
        for shape in chosen:
            look: Data = {"body": body, "kind": shape.kind, "size": floats(shape.size)}
            look["matrix"] = matrix(stands @ shape.placement)
            look["mesh"] = drawn.setdefault(shape.file, len(drawn)) if shape.kind == "mesh" else None
            look["colour"] = None if shape.colour is None else floats(shape.colour)
            shapes.append(look)
    read = [mesh for file in drawn if not isinstance(mesh := meshes[file], str)]
    most = _fair([len(faces) for _, faces in read], ROBOT_TRIANGLES)
    problems = {file: why for file, why in meshes.items() if isinstance(why, str)}
    which = "a mesh file is not drawn" if len(problems) == 1 else f"{len(problems)} mesh files are not drawn, the first"
    return {
        "shapes": shapes,
        "meshes": [_packed(*decimated(*mesh, most)) for mesh in read],
        "bare": sorted(bare - {shape["body"] for shape in shapes}),
        "missing": sorted({PureWindowsPath(file).name for file in problems}),
    }, [f"{which} because: {why}" for why in list(problems.values())[:1]]


def _has_size(shape: Shape) -> bool:
    sizes = np.abs(np.asarray(shape.size, float))
    least = sizes[1:] if shape.kind == "capsule" else sizes[:0]  # a capsule's length may be 0
    firm = sizes[:1] if shape.kind == "capsule" else sizes
    visible = shape.colour is None or shape.colour[3] > 0
    return bool(visible and (firm > 0).all() and (least >= 0).all() and (sizes < LARGEST_SIZE).all())


def _mesh(file: str, folder: Path | None, count: int) -> Mesh:
    """The mesh in a file that a robot file in a folder names, after ``count`` others."""
    if folder is None:
        raise RobotError(
            f"the mesh '{file}' is not read, because the robot was not loaded from a file to which its path "
            "could be relative"
        )
    if count >= MESH_FILES:
        raise RobotError(f"the mesh '{file}' is not read: the robot has more than {MESH_FILES} mesh files")
    path = mesh_path(file, folder)
    _, arrays = ask_trimesh("dalembert.views.web.decimation:triangles", path, most=MESH_TRIANGLES)
    vertices, faces = arrays["vertices"], arrays["triangles"]
    if not len(faces) or not np.isfinite(vertices).all() or np.abs(vertices).max() > LARGEST_SIZE * 1000:
        raise RobotError(f"{path}: the mesh has no drawable triangles")
    return vertices, faces


def _fair(counts: Sequence[int], most: int) -> int:
    """The upper bound per count that limits their sum to ``most``.

    >>> _fair([10, 10, 1000], 120)
    100
    """
    left, waiting = most, sorted(counts)
    for k, count in enumerate(waiting):
        share = left // (len(waiting) - k)
        if count > share:
            return max(share, 4)
        left -= count
    return max(counts, default=4)


def _packed(vertices: Points, faces: Triangles) -> Data:
    """A mesh as text: its corners on a 16-bit grid over its bounding box, then the corner indices of each triangle."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    grid = np.rint((vertices - low) / np.where(high > low, high - low, 1.0) * 65535).astype("<u2")
    return {
        "low": low.tolist(),
        "high": high.tolist(),
        "corners": encoded(grid.tobytes()),
        "triangles": encoded(faces.astype("<u2").tobytes()),
    }
