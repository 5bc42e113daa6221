"""The shapes of links, boxes, cylinders, spheres, capsules and meshes, and their inertias.

A body of density ρ has the mass ∫ρ dV, the centre of mass of S (7.7) and the inertia tensor of S (7.11), here with
constant ρ. Closed forms exist for boxes, cylinders, spheres and capsules; meshes are integrated by
:mod:`dalembert.robot.model.meshes`.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from typing import Literal

from dalembert.base.algebra.records import settle
from dalembert.base.environment.short_repr import brief
from dalembert.base.tables.units import LENGTH, NUMBER, parse_quantity
from dalembert.base.wording import nearest, shown
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.placement import Placement

ShapeKind = Literal["box", "cylinder", "sphere", "capsule", "mesh"]
SIZES = {  # meaning of the numbers of ``size`` (m; scale factors for a mesh)
    "box": ("x", "y", "z"),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "mesh": ("scale x", "scale y", "scale z"),
}
MATERIALS = {  # kg/m³, typical alloys and grades
    "steel": 7850.0, "stainless steel": 7900.0, "cast iron": 7200.0, "aluminium": 2700.0, "aluminum": 2700.0,
    "magnesium": 1800.0, "titanium": 4430.0, "brass": 8500.0, "bronze": 8800.0, "copper": 8960.0,
    "carbon fibre": 1600.0, "carbon fiber": 1600.0, "glass fibre": 1900.0, "glass fiber": 1900.0,
    "pla": 1240.0, "abs": 1040.0, "petg": 1270.0, "nylon": 1140.0, "pom": 1410.0, "peek": 1300.0, "wood": 700.0,
}  # fmt: skip
DENSITY = {"kg/m³": 1.0, "kg/m3": 1.0, "g/cm³": 1e3, "g/cm3": 1e3, "kg/dm³": 1e3, "kg/dm3": 1e3}
LIGHTEST = 25.0  # kg/m³: a smaller number without a unit is refused, because it is usually in g/cm³


@brief
@dataclass(frozen=True)
class Shape:
    """A shape at ``placement`` on a link; its own frame is at its centre, with cylinders and capsules along z.

    size    sides (x, y, z) of a box, (radius, length) of a cylinder or capsule, (radius,) of a sphere, in m or strings
            with units; scale factors of the coordinates for a mesh; the length of a capsule excludes its end caps
    file    the mesh file, as written in the robot file
    colour  red, green, blue and opacity from 0 to 1, if the file gives one

    >>> tube = Shape("cylinder", (0.04, 0.5))
    >>> round(tube.inertia(density=2700, wall=0.003).mass, 3)
    0.98
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
            raise RobotError(f"a shape has kind '{self.kind}'; it must be one of {', '.join(SIZES)}")
        given = (self.size,) if isinstance(self.size, (int, float, str)) else tuple(self.size)
        settle(self, size=tuple(self._metres(x) for x in given))
        if len(self.size) != len(SIZES[self.kind]):
            raise RobotError(
                f"the size of a {self.kind} has {len(self.size)} numbers; it needs {len(SIZES[self.kind])}: "
                f"{', '.join(SIZES[self.kind])}"
            )

    def _metres(self, x: float | str) -> float:
        """A number of the size, in m; strings such as "40 mm" are converted."""
        try:
            length = parse_quantity(x, LENGTH) if isinstance(x, str) and self.kind != "mesh" else float(x)
        except (TypeError, ValueError):
            length = None
        if length is None:
            raise RobotError(f"the size of a {self.kind} has {shown(x)}; give numbers in m, or strings such as '40 mm'")
        return length

    def inertia(
        self,
        density: float | str | None = None,
        *,
        mass: float | None = None,
        wall: float | None = None,
        folder: str | os.PathLike[str] = "",
    ) -> Inertia:
        """Mass (kg), centre of mass (m) and tensor (kg m²) of the body that fills the shape, in the link's frame.

        density  kg/m³, or a material such as "aluminium" or "steel"; alternatively give the ``mass`` (kg)
        wall     thickness (m) of a hollow body: an open tube for a cylinder, a closed shell for other shapes
        folder   folder that the relative path of a mesh refers to

        >>> Shape("box", (0.1, 0.2, 0.3)).inertia(mass=12.0).com
        (0.0, 0.0, 0.0)
        """
        if (density is None) == (mass is None):
            given = "neither is" if mass is None else "both are"
            raise RobotError(f"the inertia of a {self.kind} needs either a density or a mass, but {given} given")
        solid = self._solid(wall, folder)
        if mass is not None and not (math.isfinite(mass) and mass >= 0):
            raise RobotError(f"the mass of a {self.kind} is {mass:g}; it must be a finite number of at least 0")
        share = density_of(density) if density is not None else float(mass or 0.0) / solid.mass
        return Inertia(share * solid.mass, solid.com, share * solid.tensor).seen_from(self.placement)

    def _solid(self, wall: float | None, folder: str | os.PathLike[str]) -> Inertia:
        """The body in its own frame, with a density of 1 kg/m³."""
        if self.kind == "mesh":
            if wall is not None:
                raise RobotError(f"'wall' is {wall:g}, but a mesh defines its own wall; leave 'wall' out")
            from dalembert.robot.model.meshes import mesh_body  # needs a helper process

            return mesh_body(self.file, self.size, folder)
        for name, value in zip(SIZES[self.kind], self.size, strict=True):
            least = "at least 0" if self.kind == "capsule" and name == "length" else "more than 0"
            if not (math.isfinite(value) and (value > 0 or (value == 0 and least == "at least 0"))):
                raise RobotError(f"the {name} of a {self.kind} is {value:g}; it must be {least} (m)")
        outer = _filled(self.kind, self.size)
        if wall is None:
            return outer
        thinnest = min(self.size) / 2 if self.kind == "box" else self.size[0]
        if not 0 < wall <= thinnest:
            raise RobotError(f"the wall of a {self.kind} is {wall:g} m; it must be above 0 and at most {thinnest:g} m")
        radius, *length = self.size
        cavity = [x - 2 * wall for x in self.size] if self.kind == "box" else [radius - wall, *length]
        inner = _filled(self.kind, tuple(cavity))
        return Inertia(outer.mass - inner.mass, outer.com, outer.tensor - inner.tensor)


def _filled(kind: str, size: tuple[float, ...]) -> Inertia:
    """A solid body about its centre, with a density of 1 kg/m³: the integrals of S (7.11)."""
    if kind == "box":
        x, y, z = size
        volume = x * y * z
        moments = (y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12
    elif kind == "cylinder":
        radius, length = size
        volume = math.pi * radius**2 * length
        across = (3 * radius**2 + length**2) / 12
        moments = across, across, radius**2 / 2
    elif kind == "sphere":
        (radius,) = size
        volume = 4 / 3 * math.pi * radius**3
        moments = (0.4 * radius**2,) * 3
    else:  # a capsule: a cylinder between two hemispheres, whose centres of mass are 3/8 of the radius beyond its ends
        radius, length = size
        middle = _filled("cylinder", size)
        ends = 4 / 3 * math.pi * radius**3
        volume = middle.mass + ends
        across = middle.tensor[0][0] + ends * (0.4 * radius**2 + length**2 / 4 + 3 / 8 * length * radius)
        along = middle.tensor[2][2] + ends * 0.4 * radius**2
        return Inertia(volume, (0.0, 0.0, 0.0), ((across, 0.0, 0.0), (0.0, across, 0.0), (0.0, 0.0, along)))
    a, b, c = (volume * moment for moment in moments)
    return Inertia(volume, (0.0, 0.0, 0.0), ((a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c)))


def density_of(value: object) -> float:
    """A density in kg/m³ from a number, a number with its unit, or the name of a material.

    >>> density_of("aluminium"), density_of("7.85 g/cm³"), density_of(1200)
    (2700.0, 7850.0, 1200.0)
    """
    has_unit = False
    if isinstance(value, str):
        word = value.strip().lower()
        if word in MATERIALS:
            return MATERIALS[word]
        density = parse_quantity(word, DENSITY)
        has_unit = density is not None
        value = density if has_unit else float(word) if re.fullmatch(NUMBER, word) else value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise RobotError(
            f"the density is {shown(value)}; it must be a number in kg/m³, a number with its unit such as '2.7 g/cm³', or one "
            f"of {', '.join(MATERIALS)}{nearest(str(value), list(MATERIALS))}"
        )
    if 0 < value < LIGHTEST and not has_unit:
        raise RobotError(
            f"the density is {value:g} kg/m³, which looks like g/cm³; write {1000 * value:g} if it is, or '{value:g} kg/m³' "
            "if not"
        )
    if not (math.isfinite(value) and value > 0):
        raise RobotError(f"the density is {value:g} kg/m³; it must be a finite number above 0")
    return float(value)
