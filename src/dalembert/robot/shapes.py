"""The shapes of links: boxes, cylinders, spheres, capsules and meshes, as robot files draw them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dalembert.algebra.records import settle
from dalembert.environment.brief import brief
from dalembert.errors import RobotError
from dalembert.robot.placement import Placement

ShapeKind = Literal["box", "cylinder", "sphere", "capsule", "mesh"]
SIZES = {  # what the numbers of ``size`` are (m; a mesh has scale factors)
    "box": ("x", "y", "z"),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "mesh": ("scale x", "scale y", "scale z"),
}


@brief
@dataclass(frozen=True)
class Shape:
    """A shape that stands at ``placement`` on a link; its own frame is at its centre, cylinders and capsules along z.

    size    a box's sides (x, y, z), a cylinder's or capsule's (radius, length), a sphere's (radius,), all in m; for a
            mesh the factors by which its coordinates are multiplied; the length of a capsule is that of its cylinder
    file    the mesh's file, as the robot file writes it
    colour  red, green, blue and opacity from 0 to 1, where the file says one
    """

    kind: ShapeKind
    size: tuple[float, ...]
    placement: Placement = Placement()
    file: str = ""
    name: str = ""
    material: str = ""
    colour: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in SIZES:
            raise RobotError(f"a shape is of kind '{self.kind}'; known kinds are {', '.join(SIZES)}")
        if len(self.size) != len(SIZES[self.kind]):
            raise RobotError(
                f"the size of a {self.kind} has {len(self.size)} numbers; it needs {len(SIZES[self.kind])}: "
                f"{', '.join(SIZES[self.kind])}"
            )
        settle(self, size=tuple(map(float, self.size)))
