"""Inertias computed from shapes: the ``shapes`` of a link in a table, and links of a robot that have only shapes."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from dalembert.base.tables.located import Table
from dalembert.base.tables.units import LENGTH, MASS, doubt
from dalembert.base.wording import counted, errors_at, some
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.materials import density_of
from dalembert.robot.model.robot import Link, Robot
from dalembert.robot.model.shapes import SIZES, Shape
from dalembert.robot.readers.table_parts import INERTIA_KEYS, PLACEMENT_KEYS, read_inertia, read_placement

SHAPE_KEYS = (*SIZES, "scale", *PLACEMENT_KEYS, "name", "material", "colour")
BODY_KEYS = ("density", "mass", "wall")


def read_shape(table: Table) -> Shape:
    """A shape from a table keyed by its kind, such as { cylinder = ["40 mm", "0.3 m"], xyz = [0, 0, 0.15] }."""
    kinds: list[Any] = [kind for kind in SIZES if kind in table]
    if len(kinds) != 1:
        raise RobotError(
            f"{table.where}: exactly one of the keys {', '.join(SIZES)} is required, but {len(kinds)} of them are given"
        )
    (kind,) = kinds
    if kind != "mesh" and "scale" in table:
        raise RobotError(f"{table.where}: 'scale' applies only to a mesh, and this is a {kind}; leave it out")
    key = "scale" if kind == "mesh" else kind
    value = table.get(key, 1.0) if kind == "mesh" else table.get(key)
    count = len(SIZES[kind])
    if isinstance(value, (int, float, str)) and kind in ("mesh", "sphere"):
        value = [value] * count
    numbers = table.items(key, value, (count,), f"a list of {count} numbers: {', '.join(SIZES[kind])}")
    size = tuple(table.scalar(key, x, units=LENGTH if kind != "mesh" else None) for x in numbers)
    colour = table.numbers("colour", 4, None)
    names = table.text("name", ""), table.text("material", "")
    return Shape(kind, size, read_placement(table), table.text("mesh", ""), *names, colour)


def read_body(parent: Table, folder: str | os.PathLike[str] = "") -> tuple[Inertia, tuple[Shape, ...]]:
    """The inertia of a link, from its mass, com and inertia or from its ``shapes``, together with these shapes.

    folder  folder that relative mesh paths refer to
    """
    if "shapes" not in parent:
        return read_inertia(parent), ()
    twice = [key for key in INERTIA_KEYS if key in parent]
    if twice:
        raise RobotError(
            f"{parent.where}: both '{twice[0]}' and 'shapes' are given, but the shapes already determine it; leave one of them "
            "out (a shape may have a mass instead of a density)"
        )
    given = parent.get("shapes")
    shapes, body = [], Inertia()
    for k, data in enumerate(given if isinstance(given, (list, tuple)) else [given], 1):
        table = Table(data, f"{parent.where}, shape {k}", (*SHAPE_KEYS, *BODY_KEYS))
        shape = read_shape(table)
        size = table.get(shape.kind)
        has_units = any(isinstance(x, str) for x in (size if isinstance(size, (list, tuple)) else [size]))
        if shape.kind != "mesh" and not has_units and (strange := doubt(max(shape.size), "m")):
            raise RobotError(f"{table.where}: '{shape.kind}' has a size of {strange}")
        mass, wall = table.number("mass", None, units=MASS), table.number("wall", None, units=LENGTH)
        density = table.get("density", None)
        if mass is None and density is None:
            raise RobotError(
                f"{table.where}: a {shape.kind} needs either a density, such as 2700 (kg/m³) or 'aluminium', or a mass (kg)"
            )
        with errors_at(table.where):
            body = body + shape.inertia(density, mass=mass, wall=wall, folder=folder)
        shapes.append(shape)
    return body, tuple(shapes)


def with_density(robot: Robot, density: float | str, folder: str | os.PathLike[str] = "") -> Robot:
    """The robot, with the inertia of links without a mass computed from their collision shapes, or else their visuals.

    density  kg/m³, or the name of a material;  folder  folder that relative mesh paths refer to
    """
    value, filled, links = density_of(density), list[str](), list[Link]()
    for link in robot.links:
        shapes = link.collisions or link.visuals
        if shapes and link.inertia.is_zero and not link.massless:
            with errors_at(f"link '{link.name}'"):
                body = sum((shape.inertia(value, folder=folder) for shape in shapes), Inertia())
            link = replace(link, inertia=body)
            kind = "collision shape" if link.collisions else "visual shape"
            filled.append(f"'{link.name}' {body.mass:.4g} kg ({counted(len(shapes), kind)})")
        links.append(link)
    note = (
        f"links without a mass in the file take the inertia of their shapes at {value:g} kg/m³: {some(filled, 50)}"
        if filled
        else f"the density {value:g} kg/m³ was not used: every link that has shapes also has a mass"
    )
    return robot.replace(links=tuple(links), notes=(*robot.notes, note))
