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
from dalembert.robot.model.robot import Link, Robot
from dalembert.robot.model.shapes import Shape
from dalembert.views.web.bundle import encoded
from dalembert.views.web.decimation import Points, Triangles, decimated
from dalembert.views.web.page_model import floats, matrix

MESH_TRIANGLES = 1_500  # of one mesh
ROBOT_TRIANGLES = 15_000  # of all meshes together
MESH_FILES = 200
LARGEST_SIZE = 1e4  # m: larger shapes are not part of a robot
Data = dict[str, Any]


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
    reader = _MeshReader(robot)
    at = places(robot)
    shapes = []
    bare = set()
    for link in robot.links:
        body, stands = at[link.name]
        drawable = _drawable(link, reader)
        if not drawable and any(shape.file in reader.problems for shape in (*link.visuals, *link.collisions)):
            bare.add(body)
        for shape in drawable:
            drawn: Data = {"body": body, "kind": shape.kind, "size": floats(shape.size)}
            drawn["matrix"] = matrix(stands @ shape.placement)
            drawn["mesh"] = reader.number(shape.file) if shape.kind == "mesh" else None
            drawn["colour"] = None if shape.colour is None else floats(shape.colour)
            shapes.append(drawn)
    return {
        "shapes": shapes,
        "meshes": reader.packed(),
        "bare": sorted(bare - {shape["body"] for shape in shapes}),
        "missing": sorted({PureWindowsPath(file).name for file in reader.problems}),
    }, reader.notes()


def _drawable(link: Link, reader: _MeshReader) -> list[Shape]:
    """The drawable shapes of a link: its visual shapes, or otherwise its collision shapes."""
    for shapes in (link.visuals, link.collisions):
        good = [shape for shape in shapes if _has_size(shape) and (shape.kind != "mesh" or reader.reads(shape.file))]
        if good:
            return good
    return []


def _has_size(shape: Shape) -> bool:
    sizes = np.abs(np.asarray(shape.size, float))
    least = sizes[1:] if shape.kind == "capsule" else sizes[:0]  # a capsule's length may be 0
    firm = sizes[:1] if shape.kind == "capsule" else sizes
    visible = shape.colour is None or shape.colour[3] > 0
    return bool(visible and (firm > 0).all() and (least >= 0).all() and (sizes < LARGEST_SIZE).all())


class _MeshReader:
    """The meshes of a robot's files, each read once."""

    def __init__(self, robot: Robot) -> None:
        self.folder = Path(robot.source).parent if robot.source and os.path.isfile(robot.source) else None
        self.meshes: dict[str, tuple[Points, Triangles] | None] = {}
        self.problems: dict[str, str] = {}  # by file
        self.drawn: list[str] = []

    def reads(self, file: str) -> bool:
        """Whether the mesh can be drawn."""
        if file not in self.meshes:
            try:
                self.meshes[file] = self._read(file)
            except (MissingExtraError, DalembertError) as problem:
                self.meshes[file], self.problems[file] = None, str(problem)
        return self.meshes[file] is not None

    def _read(self, file: str) -> tuple[Points, Triangles]:
        if self.folder is None:
            raise RobotError(
                f"the mesh '{file}' is not read, because the robot was not loaded from a file to which its path "
                "could be relative"
            )
        if len(self.meshes) >= MESH_FILES:
            raise RobotError(f"the mesh '{file}' is not read: the robot has more than {MESH_FILES} mesh files")
        path = mesh_path(file, self.folder)
        _, arrays = ask_trimesh("dalembert.views.web.decimation:triangles", path, most=MESH_TRIANGLES)
        vertices, faces = arrays["vertices"], arrays["triangles"]
        if not len(faces) or not np.isfinite(vertices).all() or np.abs(vertices).max() > LARGEST_SIZE * 1000:
            raise RobotError(f"{path}: the mesh has no drawable triangles")
        return vertices, faces

    def number(self, file: str) -> int:
        """The index of a mesh in the page's list."""
        if file not in self.drawn:
            self.drawn.append(file)
        return self.drawn.index(file)

    def packed(self) -> list[Data]:
        """The drawn meshes, within the triangle budget of the robot."""
        meshes = [mesh for file in self.drawn if (mesh := self.meshes[file]) is not None]
        most = _fair([len(faces) for _, faces in meshes], ROBOT_TRIANGLES)
        return [_packed(*decimated(*mesh, most)) for mesh in meshes]

    def notes(self) -> list[str]:
        """Notes on the meshes that are not drawn."""
        if not self.problems:
            return []
        count, reason = len(self.problems), next(iter(self.problems.values()))
        which = "a mesh file is not drawn" if count == 1 else f"{count} mesh files are not drawn, the first"
        return [f"{which} because: {reason}"]


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
