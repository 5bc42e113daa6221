"""The frames of SDF files: nested models, included files, and the poses of everything in them.

A name is looked up in the model in which it is written: its links, joints, frames and models, ``child::name`` within
those, and ``__model__`` for the model itself. A pose is relative to the frame that it names, or by default to the model
(links, models), to the child link (joints) or to the frame to which it is attached (frames).
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, NamedTuple

from dalembert.base.files.file_bounds import XML_ELEMENTS, at_most
from dalembert.base.files.safe_xml import check_format, parse_xml, read_bytes
from dalembert.base.tables.located import REQUIRED, XmlElement, XmlParent
from dalembert.base.wording import nearest, shown, some
from dalembert.errors import RobotError
from dalembert.robot.model.placement import Placement

MODEL, WORLD = "__model__", "world"
KINDS = ("link", "joint", "frame", "model")
NESTED = 32  # depth of models within models, and of files within files
CHAIN = 200  # length of a chain of frames, each given in the next
QUATERNION = 1e-6  # tolerance of the norm of a quaternion


class SdfElement(XmlParent):
    """An element of an SDF file, whose values are children; a few are ``attributes``."""

    @property
    def attributes(self) -> XmlElement:
        """The attributes as values."""
        return XmlElement(self.element, self.where)

    def attribute(self, key: str) -> str:
        """The text of an attribute; empty if it is missing."""
        return self.element.get(key, "")

    def name(self, key: str = "name", default: Any = REQUIRED) -> str:
        """The name in an attribute, which is required."""
        return self.attributes.name(key, default)

    def pose(self) -> tuple[Placement, str]:
        """The placement given by <pose>, and the frame to which it is relative ("" if not stated)."""
        pose = self.child("pose").attributes
        form, relative_to = pose.text("rotation_format", "euler_rpy"), pose.text("relative_to", "")
        if form not in ("euler_rpy", "quat_xyzw"):
            raise pose.wrong("rotation_format", form, "euler_rpy or quat_xyzw")
        if "pose" not in self:
            return Placement(), relative_to
        x, y, z, *turn = self.numbers("pose", 7 if form == "quat_xyzw" else 6)
        if form == "quat_xyzw":
            if abs(math.hypot(*turn) - 1.0) > QUATERNION:
                raise self.wrong("pose", self.text("pose"), "a quaternion of norm 1 after the position")
            qx, qy, qz, qw = turn
            return Placement.quaternion(qw, qx, qy, qz, (x, y, z)), relative_to
        if pose.text("degrees", "false").lower() in ("true", "1"):
            turn = [math.radians(angle) for angle in turn]
        roll, pitch, yaw = turn
        return Placement.rpy(roll, pitch, yaw, (x, y, z)), relative_to


class SdfFile:
    """An SDF file of a robot: the main file, or one that it includes, which must lie in the folder of the main file.

    folder  of the main file; None for a text
    opened  the paths of the files that include this one, and its own
    counted the number of elements of all files together, in a list of one number
    """

    def __init__(self, content: str | bytes, path: str, above: SdfFile | None = None, is_text: bool = False) -> None:
        self.path, self.root = path, parse_xml(content, path)
        check_format(self.root, "sdf", path)
        self.folder: Path | None = above.folder if above else None if is_text else Path(os.path.abspath(path)).parent
        own = path if above or is_text else os.path.join(str(self.folder), os.path.basename(path))
        self.opened: tuple[str, ...] = (*(above.opened if above else ()), own)
        self.counted: list[int] = above.counted if above else [0]
        self.counted[0] += sum(1 for _ in self.root.iter())
        at_most(XML_ELEMENTS, self.counted[0], "XML elements, including those of included files", path)
        parts = self.root.get("version", "1.7").split(".")
        if len(parts) < 2 or not all(part.isdigit() and len(part) < 4 for part in parts):
            text = shown(self.root.get("version"))
            raise RobotError(f"{path}: the version of <sdf> is {text}; it must be two numbers, such as 1.7")
        self.version = tuple(map(int, parts))

    def included(self, uri: str, where: str) -> SdfFile:
        """The file named by a <uri>."""
        if self.folder is None:
            raise RobotError(f"{where}: <include> names {shown(uri)}, but SDF text has no folder; load a file instead")
        scheme, separator, rest = uri.partition("://")
        if separator and scheme not in ("model", "package"):
            raise RobotError(f"{where}: <uri> is {shown(uri)}; it must be model://NAME or a path relative to the file")
        start = self.folder if separator else Path(os.path.abspath(self.path)).parent
        path = next(iter(self._files(start / (rest if separator else uri), where)), None)
        if path is None:
            raise RobotError(
                f"{where}: <uri> is {shown(uri)}, but there is no such model in {self.folder}; only files in the folder of "
                "the main file can be included"
            )
        if str(path) in self.opened:
            raise RobotError(f"{where}: {shown(uri)} includes itself through {some(self.opened)}")
        return SdfFile(read_bytes(path), str(path), self)

    def _files(self, path: Path, where: str) -> list[Path]:
        """The .sdf file denoted by a path: the path itself, or the file in a model folder, which model.config may name."""
        if "\0" in str(path) or not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.folder or "")):
            raise RobotError(f"{where}: <uri> leads out of the folder {self.folder}; only files in it can be included")
        if not path.is_dir():
            return [path] if path.is_file() else []
        config, named = path / "model.config", list[Path]()
        if config.is_file():
            names = [(x.text or "").strip() for x in parse_xml(read_bytes(config), str(config)).findall("sdf")]
            named = [x for name in names[-1:] if name for x in self._files(path / name, where)]
        return [x for x in (*named, path / "model.sdf") if x.is_file()]


class SdfModel(NamedTuple):
    """A model, or the world, whose name is empty.

    name     its full name, such as "arm::gripper";  prefix  what precedes the full names of its parts
    pose_by  the element with its <pose>: its own, or the <include> that places it
    around   the models that contain it, from the world inwards;  members  {kind: names of its parts}
    """

    name: str
    prefix: str
    element: SdfElement
    pose_by: SdfElement
    file: SdfFile
    around: tuple[SdfModel, ...]
    members: dict[str, list[str]]

    @property
    def is_static(self) -> bool:
        """Whether the model is static, so that nothing in it moves."""
        return self.pose_by.flag("static", self.element.flag("static", False))


class SdfPart(NamedTuple):
    """A link, joint, frame or model, and the model that contains it."""

    kind: str
    element: SdfElement
    owner: SdfModel


class SdfFrames:
    """All links, joints, frames and models of a file and of those that it includes, by their full names."""

    def __init__(self, world: SdfElement, file: SdfFile) -> None:
        self.parts: dict[str, SdfPart] = {}
        self.models: dict[str, SdfModel] = {}
        self._poses: dict[str, Placement] = {}  # in the model that contains each part
        self.world = SdfModel("", "", world, world, file, (), {kind: [] for kind in KINDS})
        self._fill(self.world)

    def _fill(self, model: SdfModel) -> None:
        """Add all that a model contains."""
        element = model.element
        if len(model.around) > NESTED:
            raise RobotError(f"{element.where}: models are nested more than {NESTED} deep")
        for kind in KINDS[:-1]:
            for part in element.each(kind):
                self._add(kind, part.name(), part, model)
        for inner in element.each("model"):
            self._add_model(inner.name(), inner, inner, model.file, model)
        for include in map(element.like, element.element.findall("include")):
            file = model.file.included(include.text("uri"), include.where)
            models = [SdfElement(x, file.path) for x in file.root.findall("model")]
            if len(models) != 1:
                raise RobotError(
                    f"{file.path}: the file has {len(models)} models; an included file must have exactly one"
                )
            (inner,) = models
            name = include.text("name", "") or inner.name()
            inner.where = f"{file.path}: model '{name}'"
            merged = include.attribute("merge").lower() in ("true", "1")
            self._add_model(name, inner, include if include.child("pose").given else inner, file, model, merged)

    def _add(self, kind: str, name: str, element: SdfElement, owner: SdfModel) -> str:
        full = owner.prefix + name
        if full in self.parts:
            raise RobotError(
                f"{owner.element.where}: a {self.parts[full].kind} and a {kind} are both called '{name}'; names must be unique"
            )
        self.parts[full] = SdfPart(kind, element, owner)
        owner.members[kind].append(name)
        return full

    def _add_model(
        self, name: str, element: SdfElement, pose_by: SdfElement, file: SdfFile, owner: SdfModel, merged: bool = False
    ) -> None:
        """Add a model; the parts of a merged one are named as those of its owner."""
        full = self._add("model", f"_merged__{name}__" if merged else name, element, owner)
        prefix, members = owner.prefix if merged else f"{full}::", {kind: list[str]() for kind in KINDS}
        self.models[full] = SdfModel(full, prefix, element, pose_by, file, (*owner.around, owner), members)
        self._fill(self.models[full])

    def found(self, name: str, model: SdfModel, where: str) -> str:
        """The full name of the part that is called ``name`` in a model; that of the model for "" and ``__model__``."""
        full = model.prefix + name
        if name in ("", MODEL) or (full == WORLD and WORLD not in self.parts):
            return model.name if name != WORLD else ""
        if full not in self.parts:
            known = [x for names in model.members.values() for x in names]
            place = "its model" if model.name else "the world"
            raise RobotError(
                f"{where}: there is no link, joint, frame or model '{name}' in {place}; known names are "
                f"{some(known) or 'none'}{nearest(name, known)}"
            )
        return full

    def pose(self, full: str, within: str = "", waiting: tuple[str, ...] = ()) -> Placement:
        """The pose of a part in a model that contains it, by default in the world."""
        if full == within:
            return Placement()
        kind, element, owner = self.parts[full]
        if owner.name != within:
            return self.pose(owner.name, within, waiting) @ self.pose(full, owner.name, waiting)
        if full in self._poses:
            return self._poses[full]
        where = element.where
        if full in waiting:
            raise RobotError(f"{where}: the poses of {some([*waiting, full])} are relative to one another in a cycle")
        at_most(CHAIN, len(waiting), "frames in one chain, each relative to the next", where)
        model = self.models[full] if kind == "model" else None
        pose, relative_to = (model.pose_by if model else element).pose()
        holder = self.found(relative_to or self._attached_to(full), owner, where)
        pose = self.pose(holder, within, (*waiting, full)) @ pose
        frame = model and (model.pose_by.text("placement_frame", "") or element.attribute("placement_frame"))
        if model and frame:
            pose = pose @ self.pose(self.found(frame, model, where), full).inverse
        self._poses[full] = pose
        return pose

    def _attached_to(self, full: str) -> str:
        """The name of what a part is attached to: a joint to its child, a frame to what it states; else the model."""
        kind, element, _ = self.parts[full]
        return element.text("child") if kind == "joint" else element.attribute("attached_to") if kind == "frame" else ""

    def link_of(self, name: str, model: SdfModel, where: str, waiting: tuple[str, ...] = ()) -> str | None:
        """The full name of the link to which a part of a model is attached; None for the world."""
        if name == WORLD and model.prefix + name not in self.parts:
            return None
        full = self.found(name, model, where)
        if not full:
            return None
        if full in waiting:
            raise RobotError(f"{where}: {some([*waiting, full])} are attached to one another in a cycle")
        at_most(CHAIN, len(waiting), "frames in one chain, each attached to the next", where)
        kind, element, owner = self.parts[full]
        if kind == "link":
            return full
        if kind != "model":
            return self.link_of(self._attached_to(full), owner, where, (*waiting, full))
        inner = self.models[full]
        canonical = [element.attribute("canonical_link"), *inner.members["link"][:1], *inner.members["model"][:1]]
        held_by = next(filter(None, canonical), None)
        if held_by is None:
            raise RobotError(f"{element.where} has no links; a model needs at least one")
        return self.link_of(held_by, inner, where, (*waiting, full))
