"""Shapes of URDF links: reader and writer of <visual> and <collision>. Mesh files are referred to, never opened."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from dalembert.base.algebra.vectors import ZERO
from dalembert.base.tables.located import REQUIRED, XmlElement
from dalembert.errors import RobotError
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Link, Robot
from dalembert.robot.model.shapes import Shape, ShapeKind

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
        colour = _colour(XmlElement(material, ""))
        if colour is not None:
            defined.setdefault(material.get("name", ""), colour)
    return defined


def _colour(material: XmlElement) -> Colour | None:
    """The colour of a material; None if it has none or its numbers are invalid."""
    with contextlib.suppress(RobotError):
        return material.child("color").numbers("rgba", 4, None)
    return None


def read_shape(element: Element, defined: Mapping[str, Colour]) -> Shape | None:
    """The shape of a <visual> or <collision>; None if its kind is unknown or its numbers are invalid."""
    whole = XmlElement(element, "")
    material, solids = whole.child("material"), list(whole.child("geometry").element)
    kinds = {prefix + kind: kind for kind in ATTRIBUTES for prefix in PREFIXES}
    if len(solids) != 1 or solids[0].tag not in kinds:
        return None
    solid, kind, name = whole.like(solids[0]), kinds[solids[0].tag], material.text("name", "")
    with contextlib.suppress(RobotError):
        file = solid.name("filename") if kind == "mesh" else ""
        size = size_of(solid, kind, 1.0 if kind == "mesh" else REQUIRED)
        colour = _colour(material) or defined.get(name) if material.given else None
        return Shape(kind, size, origin_of(whole), file, element.get("name", ""), name, colour)
    return None


def size_of(solid: XmlElement, kind: ShapeKind, default: Any) -> tuple[float, ...]:
    """The numbers of a shape's size; each that is missing has the default."""
    keys = ATTRIBUTES[kind]
    if kind in ("box", "mesh"):
        return tuple(solid.numbers(keys[0], 3, default if default is REQUIRED else (default,) * 3))
    return tuple(solid.number(key, default) for key in keys)


def origin_of(element: XmlElement) -> Placement:
    """The placement given by <origin>."""
    origin = element.child("origin")
    roll, pitch, yaw = origin.numbers("rpy", 3, ZERO)
    return Placement.rpy(roll, pitch, yaw, origin.numbers("xyz", 3, ZERO))


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
    sizes = [shape.size] if shape.kind in ("box", "mesh") else [(x,) for x in shape.size]
    for key, values in zip(ATTRIBUTES[shape.kind], sizes, strict=True):
        if shape.kind != "mesh" or values != (1.0, 1.0, 1.0):
            solid.set(key, _text(values))
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
    has_shapes = any(link.visuals or link.collisions for link in robot.links)
    if not has_shapes or not os.path.isfile(robot.source) or old.resolve() == folder.resolve():
        return robot

    def moved(shape: Shape) -> Shape:
        relative = shape.file and "://" not in shape.file and not os.path.isabs(shape.file)
        if not relative or not os.path.isfile(old / shape.file):
            return shape
        return replace(shape, file=Path(os.path.relpath((old / shape.file).resolve(), folder.resolve())).as_posix())

    def of(link: Link) -> Link:
        return replace(link, visuals=tuple(map(moved, link.visuals)), collisions=tuple(map(moved, link.collisions)))

    return robot.replace(links=tuple(map(of, robot.links)))
