"""Shapes of URDF links: reader and writer of <visual> and <collision>. Mesh files are referred to, never opened."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from dalembert.algebra.vectors import ZERO
from dalembert.robot.model import Link, Robot
from dalembert.robot.placement import Placement
from dalembert.robot.shapes import Shape, ShapeKind

Colour = tuple[float, float, float, float]
# {element of <geometry>: the attributes that hold the numbers of a shape's size, in order}
ATTRIBUTES: dict[ShapeKind, tuple[str, ...]] = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "mesh": ("scale",),
}
PREFIXES = ("", "drake:")  # Drake's capsule has a prefix
KNOWN_IN_SHAPE = {"origin", "geometry", "material"}


def colours(root: Element) -> dict[str, Colour]:
    """{material: colour} for the materials defined in a file; a shape may use a material that another has defined."""
    defined: dict[str, Colour] = {}
    for material in root.iter("material"):
        colour = _colour(material)
        if colour is not None:
            defined.setdefault(material.get("name", ""), colour)
    return defined


def _colour(material: Element) -> Colour | None:
    rgba = material.find("color")
    return None if rgba is None else _numbers(rgba, "rgba", 4)


def read_shape(element: Element, defined: Mapping[str, Colour]) -> Shape | None:
    """The shape of a <visual> or <collision>; None if its kind is unknown or its numbers are invalid."""
    geometry, material, origin = (element.find(tag) for tag in ("geometry", "material", "origin"))
    name = "" if material is None else material.get("name", "")
    colour = None if material is None else _colour(material) or defined.get(name)
    solid = None if geometry is None or len(geometry) != 1 else geometry[0]
    kind: Any = None if solid is None else next((k for k in ATTRIBUTES for p in PREFIXES if solid.tag == p + k), None)
    if solid is None or kind is None or (kind == "mesh" and not solid.get("filename")):
        return None
    size = _size(solid, kind)
    place = Placement() if origin is None else _place(origin)
    if size is None or place is None:
        return None
    return Shape(kind, size, place, solid.get("filename", ""), element.get("name", ""), name, colour)


def _size(solid: Element, kind: ShapeKind) -> tuple[float, ...] | None:
    if kind == "mesh":
        return _numbers(solid, "scale", 3) if solid.get("scale") else (1.0, 1.0, 1.0)
    if kind == "box":
        return _numbers(solid, "size", 3)
    parts = [_numbers(solid, key, 1) for key in ATTRIBUTES[kind]]
    return None if None in parts else tuple(part[0] for part in parts)


def _place(origin: Element) -> Placement | None:
    xyz = _numbers(origin, "xyz", 3) if origin.get("xyz") else ZERO
    rpy = _numbers(origin, "rpy", 3) if origin.get("rpy") else ZERO
    if xyz is None or rpy is None:
        return None
    roll, pitch, yaw = rpy
    return Placement.rpy(roll, pitch, yaw, xyz)


def _numbers(element: Element, key: str, count: int) -> Any:
    """The numbers in an attribute, or None if they are invalid or of another count."""
    try:
        values = tuple(float(part) for part in element.get(key, "").split())
    except ValueError:
        return None
    return values if len(values) == count and all(map(math.isfinite, values)) else None


# -- writing -----------------------------------------------------------------------------------------


def write_shape(parent: Element, tag: str, shape: Shape) -> None:
    """Append the shape to a link as the element ``tag``: <visual> or <collision>."""
    element = SubElement(parent, tag, {"name": shape.name} if shape.name else {})
    if shape.placement != Placement():
        xyz, rpy = shape.placement.translation, shape.placement.to_rpy()
        SubElement(element, "origin", xyz=_text(xyz), rpy=_text(rpy))
    solid = SubElement(SubElement(element, "geometry"), shape.kind)
    if shape.kind == "mesh":
        solid.set("filename", shape.file)
    if shape.kind in ("box", "mesh"):
        if shape.kind == "box" or shape.size != (1.0, 1.0, 1.0):
            solid.set(ATTRIBUTES[shape.kind][0], _text(shape.size))
    else:
        for key, value in zip(ATTRIBUTES[shape.kind], shape.size, strict=True):
            solid.set(key, _text((value,)))
    if shape.material or shape.colour is not None:
        material = SubElement(element, "material", name=shape.material)
        if shape.colour is not None:
            SubElement(material, "color", rgba=_text(shape.colour))


def _text(values: tuple[float, ...]) -> str:
    return " ".join(repr(float(value)) for value in values)


def with_meshes_seen_from(robot: Robot, folder: Path) -> Robot:
    """The robot with relative mesh paths rewritten for another folder, if the meshes exist.

    Paths in a robot file are relative to it. Absolute paths and addresses (package://, model://) are not changed.
    """
    old = Path(robot.source).parent
    if not any(link.visuals or link.collisions for link in robot.links) or not os.path.isfile(robot.source):
        return robot
    if old.resolve() == folder.resolve():
        return robot

    def moved(shape: Shape) -> Shape:
        relative = shape.file and "://" not in shape.file and not os.path.isabs(shape.file)
        if not relative or not os.path.isfile(old / shape.file):
            return shape
        return replace(shape, file=Path(os.path.relpath((old / shape.file).resolve(), folder.resolve())).as_posix())

    def of(link: Link) -> Link:
        return replace(link, visuals=tuple(map(moved, link.visuals)), collisions=tuple(map(moved, link.collisions)))

    return robot.replace(links=tuple(map(of, robot.links)))
