"""Volume, centre of mass and inertia tensor of bodies enclosed by meshes, read by trimesh in the helper process."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dalembert.base.environment.extras import extra
from dalembert.base.files import open_bounded
from dalembert.base.files.file_bounds import MESH_BYTES
from dalembert.base.files.reader_process import ask
from dalembert.base.tables.units import LONGEST
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia

MESHES = (".stl", ".obj", ".ply", ".off", ".glb")


def mesh_body(file: str, scale: Sequence[float], folder: str | os.PathLike[str] = "") -> Inertia:
    """The body enclosed by a mesh, in the mesh frame, with a density of 1 kg/m³.

    file    as written in a robot file: a path relative to ``folder``, or an address package://NAME/PATH
    scale   factors from mesh coordinates to m: (0.001, 0.001, 0.001) for a mesh in mm

    A mesh whose triangles all face inwards encloses the same body as one whose triangles face outwards.
    """
    path = mesh_path(file, Path(folder))
    about, arrays = ask_trimesh("dalembert.robot.model.meshes:enclosed", path, scale=list(map(float, scale)))
    if about["largest"] > LONGEST:
        raise RobotError(
            f"{path}: the mesh is {about['largest']:g} m long, which looks like millimetres; load it with the scale "
            f"{scale[0] / 1000:g} {scale[1] / 1000:g} {scale[2] / 1000:g}"
        )
    faults = {
        "it has no triangles": not about["triangles"],
        f"it is not closed ({about['open']} edges are not shared by two triangles)": about["open"],
        "some of its triangles face inwards and others outwards": about["uneven"],
        "it encloses none": not about["volume"] > 0,
    }
    if fault := next((words for words, holds in faults.items() if holds), None):
        raise RobotError(
            f"{path}: the volume of the mesh is undefined, because {fault}; repair the mesh, or give the link a mass, or a box, "
            "cylinder, sphere or capsule instead"
        )
    return Inertia(about["volume"], tuple(arrays["centre"].tolist()), arrays["tensor"].tolist())


def ask_trimesh(function: str, path: Path, **question: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a function of the helper process finds out about a mesh file."""
    with open_bounded(path, MESH_BYTES, "mesh", RobotError):  # a regular file of admissible size
        return ask(function, {"path": str(path), **question}, where=str(path), reader="trimesh", error=RobotError)


def enclosed(path: str, scale: list[float]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Moments of the body that a mesh encloses, and whether the mesh is closed; runs in the helper process."""
    with extra("meshes", f"{path}: a mesh"):
        import trimesh
    import numpy as np

    mesh = trimesh.load_mesh(path)
    mesh.apply_transform(np.diag([*scale, 1.0]))
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    edges = np.sort(mesh.edges, axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True) if len(edges) else (edges, np.zeros(0, int))
    if mesh.volume < 0:
        mesh.invert()
    body = mesh.mass_properties
    about = {
        "triangles": len(mesh.faces),
        "largest": float(np.ptp(mesh.vertices, axis=0).max()) if len(mesh.vertices) else 0.0,
        "open": int((counts != 2).sum()),
        "uneven": not bool(mesh.is_winding_consistent),
        "volume": float(body.volume),
    }
    return about, {"centre": np.asarray(body.center_mass, float), "tensor": np.asarray(body.inertia, float)}


def mesh_path(file: str, folder: Path) -> Path:
    """The path of a mesh named in a robot file in ``folder``; a RobotError if its format is not supported."""
    path = _found(file, folder)
    if path.suffix.lower() not in MESHES:
        known = ", ".join(MESHES)
        raise RobotError(f"{path}: '{path.suffix}' is not a supported mesh format ({known}); convert it to .stl")
    return path


def _found(file: str, folder: Path) -> Path:
    """The file of a mesh; an address is resolved in the folders above the robot file."""
    scheme, address, rest = file.rpartition("://")
    if not address:
        return folder / file
    if scheme == "file":
        return Path(rest)
    rest = rest.lstrip("/")
    places = list(_places(rest, folder.absolute()))
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise RobotError(
            f"the mesh '{file}' was not found: neither {folder.absolute()} nor a folder above it "
            f"contains {rest}; put the package next to the robot file, or write the path of the mesh"
        )
    return path


def _places(rest: str, folder: Path) -> Iterator[Path]:
    """Candidates for package://NAME/PATH: in a folder NAME, or in the package's own folder, above the robot file."""
    inside = Path(*Path(rest).parts[1:])
    for above in (folder, *folder.parents):
        yield above / rest
        if above.name == Path(rest).parts[0]:
            yield above / inside
