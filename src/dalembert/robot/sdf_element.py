"""Elements of SDF files, with typed access to their contents; error messages name the location."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from dalembert.algebra.vectors import ZERO
from dalembert.errors import RobotError
from dalembert.robot.bounds import NAME
from dalembert.robot.placement import Placement
from dalembert.robot.tables import shown

FLAGS = {"true": True, "1": True, "false": False, "0": False}
QUATERNION = 1e-6  # tolerance of the norm of a quaternion


class SdfElement:
    """An element, which may be absent; ``where`` begins every error message."""

    def __init__(self, element: Element | None, where: str) -> None:
        self.given, self.where = element is not None, where
        self.element = Element("") if element is None else element
        self.tag, self.get = self.element.tag, self.element.get

    def child(self, tag: str) -> SdfElement:
        """The first child with this tag."""
        return SdfElement(self.element.find(tag), self.where)

    def each(self, tag: str) -> Iterator[SdfElement]:
        """The children with this tag, each of which must have a name."""
        for element in self.element.findall(tag):
            name = SdfElement(element, self.where).name
            yield SdfElement(element, f"{self.where}: {tag} '{name}'")

    @property
    def name(self) -> str:
        """The attribute ``name``, which is required."""
        name = self.get("name", "")
        if not 1 <= len(name) <= NAME:
            raise RobotError(
                f"{self.where}: the name of <{self.tag}> is {shown(name)}; it must have 1 to {NAME} characters"
            )
        return name

    def text(self, tag: str, default: str = "") -> str:
        """The text of a child."""
        text = self.element.findtext(tag)
        return default if text is None else text.strip()

    def required(self, tag: str) -> str:
        """The text of a required child."""
        text = self.text(tag)
        if not text:
            raise RobotError(f"{self.where} has no <{tag}>")
        return text

    def flag(self, tag: str, default: bool) -> bool:
        """A child that is true or false."""
        text = self.text(tag, str(default)).lower()
        if text not in FLAGS:
            raise RobotError(f"{self.where}: <{tag}> is {shown(text)}; it must be true or false")
        return FLAGS[text]

    def number(self, tag: str, default: Any = None, *, finite: bool = True) -> Any:
        """The number in a child."""
        text = self.text(tag)
        return default if not text else self._float(text, tag, finite)

    def numbers(self, tag: str, count: int, default: Any = None) -> Any:
        """The numbers in a child."""
        text = self.text(tag)
        return default if not text else self._floats(text, tag, count)

    def attribute(self, key: str, default: float) -> float:
        """The number in an attribute."""
        text = self.get(key)
        return default if text is None else self._float(text, key)

    def _floats(self, text: str, what: str, count: int) -> tuple[float, ...]:
        parts = text.split()
        if len(parts) != count:
            raise RobotError(f"{self.where}: <{what}> is {shown(text)}; it needs {count} numbers, not {len(parts)}")
        return tuple(self._float(part, what) for part in parts)

    def _float(self, text: str, what: str, finite: bool = True) -> float:
        try:
            value = float(text.replace("_", "?"))
        except ValueError:
            raise RobotError(f"{self.where}: <{what}> is {shown(text)}, which is not a number") from None
        if math.isnan(value) or (finite and not math.isfinite(value)):
            raise RobotError(f"{self.where}: <{what}> is {shown(text)}; it must be a finite number")
        return value

    def pose(self) -> tuple[Placement, str]:
        """The placement given by <pose>, and the frame to which it is relative ("" if not stated)."""
        pose = self.child("pose")
        relative_to, text = pose.get("relative_to", ""), (pose.element.text or "").strip()
        form = pose.get("rotation_format", "euler_rpy")
        if form not in ("euler_rpy", "quat_xyzw"):
            raise RobotError(
                f"{self.where}: rotation_format of <pose> is {shown(form)}; it must be euler_rpy or quat_xyzw"
            )
        if not text:
            return Placement(), relative_to
        if form == "quat_xyzw":
            x, y, z, *quaternion = pose._floats(text, "pose", 7)
            if abs(math.hypot(*quaternion) - 1.0) > QUATERNION:
                raise RobotError(f"{self.where}: the quaternion of <pose> is {shown(text)}; its norm must be 1")
            qx, qy, qz, qw = quaternion
            return Placement.quaternion(qw, qx, qy, qz, xyz=(x, y, z)), relative_to
        x, y, z, *angles = pose._floats(text, "pose", 6)
        if pose.get("degrees", "false").lower() in ("true", "1"):
            angles = [math.radians(angle) for angle in angles]
        roll, pitch, yaw = angles
        return Placement.rpy(roll, pitch, yaw, (x, y, z) if (x, y, z) != ZERO else ZERO), relative_to
