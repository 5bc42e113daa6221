"""The frames of SDF files: nested models, included files, and the poses of everything in them.

A name is looked up in the model in which it is written: its links, joints, frames and models, ``child::name`` within
those, and ``__model__`` for the model itself. A pose is relative to the frame that it names, or by default to the model
(links, models), to the child link (joints) or to the frame to which it is attached (frames).
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from dalembert.base.files.file_bounds import XML_ELEMENTS, at_most
from dalembert.base.files.safe_xml import check_format, parse_xml, read_bytes
from dalembert.base.tables.located import REQUIRED, XmlElement, XmlParent
from dalembert.base.wording import nearest, shown, some
from dalembert.errors import RobotError
from dalembert.robot.model.placement import Placement

MODEL, WORLD = "__model__", "world"
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


class SdfScope:
    """A model, or the world: its named parts and their poses."""

    def __init__(
        self,
        element: SdfElement,
        file: SdfFile,
        name: str = "",
        parent: SdfScope | None = None,
        place: SdfElement | None = None,
    ) -> None:
        self.element, self.file, self.name, self.parent = element, file, name, parent
        self.placed_by, self.is_world, self.is_merged = place or element, parent is None, False
        self.depth: int = 0 if parent is None else parent.depth + 1
        if self.depth > NESTED:
            raise RobotError(f"{element.where}: models are nested more than {NESTED} deep")
        parts = ({x.name(): x for x in element.each(tag)} for tag in ("link", "joint", "frame"))
        self.links, self.joints, self.frames = parts
        self.models: dict[str, SdfScope] = {}
        self._places: dict[str, Placement] = {}
        for model in element.each("model"):
            self.add(SdfScope(model, file, model.name(), self))
        for include in element.element.findall("include"):
            self._include(element.like(include))
        self._check_names()

    def add(self, model: SdfScope) -> None:
        """Add a nested model."""
        if model.name in self.models:
            raise RobotError(f"{self.element.where}: two models are called '{model.name}'; give one another <name>")
        self.models[model.name] = model

    def _include(self, include: SdfElement) -> None:
        uri, merged = include.text("uri"), include.attribute("merge").lower() in ("true", "1")
        file = self.file.included(uri, include.where)
        models = [SdfElement(x, file.path) for x in file.root.findall("model")]
        if len(models) != 1:
            raise RobotError(f"{file.path}: the file has {len(models)} models; an included file must have exactly one")
        (model,) = models
        name = include.text("name", "") or model.name()
        model.where = f"{file.path}: model '{name}'"
        name = f"_merged__{name}__" if merged else name
        scope = SdfScope(model, file, name, self, include if include.child("pose").given else model)
        scope.is_merged = merged
        self.add(scope)

    def _check_names(self) -> None:
        kinds: dict[str, str] = {}
        for kind in ("link", "joint", "frame", "model"):
            listed = list(self.models) if kind == "model" else [x.name() for x in self.element.each(kind)]
            for name in listed:
                if name in kinds:
                    raise RobotError(
                        f"{self.element.where}: a {kinds[name]} and a {kind} are both called '{name}'; names must be unique"
                    )
                kinds[name] = kind

    @property
    def is_static(self) -> bool:
        """Whether the model is static, so that nothing in it moves."""
        return self.placed_by.flag("static", self.element.flag("static", False)) and not self.is_world

    # -- poses -------------------------------------------------------------------------------------

    def in_world(self) -> Placement:
        """The pose of the model in the world."""
        if self.parent is None:
            return Placement()
        return self.parent.in_world() @ self.parent.pose_of(self.name, self.element.where)

    def pose_of(self, name: str, where: str, waiting: tuple[str, ...] = ()) -> Placement:
        """The pose of a frame of this model in the model frame."""
        if name in ("", MODEL) or (name == WORLD and self.is_world):
            return Placement()
        head, _, rest = name.partition("::")
        if rest:
            return self.pose_of(head, where, waiting) @ self._model(head, where).pose_of(rest, where)
        if name in self._places:
            return self._places[name]
        if holder := self._merged_with(name):
            return self.pose_of(holder.name, where, waiting) @ holder.pose_of(name, where)
        if name in waiting:
            raise RobotError(f"{where}: the poses of {some([*waiting, name])} are relative to one another in a cycle")
        at_most(CHAIN, len(waiting), "frames in one chain, each relative to the next", where)
        waiting = (*waiting, name)
        if name in self.models:
            self._places[name] = self.models[name].place_of(waiting)
        else:
            element, default = self._element(name, where)
            pose, relative_to = element.pose()
            self._places[name] = self.pose_of(relative_to or default, element.where, waiting) @ pose
        return self._places[name]

    def place_of(self, waiting: tuple[str, ...]) -> Placement:
        """The pose of the model in its parent, while the poses of ``waiting`` are being resolved."""
        assert self.parent is not None
        pose, relative_to = self.placed_by.pose()
        stands = self.parent.pose_of(relative_to, self.placed_by.where, waiting) @ pose
        frame = self.placed_by.text("placement_frame", "") or self.element.attribute("placement_frame")
        return stands @ self.pose_of(frame, self.element.where).inverse if frame else stands

    def _element(self, name: str, where: str) -> tuple[SdfElement, str]:
        """A link, joint or frame, and the default frame of its pose."""
        if name in self.links:
            return self.links[name], MODEL
        if name in self.joints:
            return self.joints[name], self.joints[name].text("child")
        if name in self.frames:
            return self.frames[name], self.frames[name].attribute("attached_to") or MODEL
        raise self.unknown(name, where)

    def _merged_with(self, name: str) -> SdfScope | None:
        """The merged model that contains the name; its parts are treated as parts of this model."""
        merged = (model for model in self.models.values() if model.is_merged)
        return next((model for model in merged if model.has(name)), None)

    def holding(self, name: str) -> SdfScope:
        """This model, or the model merged into it that contains the name."""
        inner = self._merged_with(name)
        return self if inner is None else inner.holding(name)

    def has(self, name: str) -> bool:
        """Whether a part of this model has the name."""
        here = any(name in names for names in (self.links, self.joints, self.frames, self.models))
        return here or self._merged_with(name) is not None

    def _model(self, name: str, where: str) -> SdfScope:
        if holder := self._merged_with(name):
            return holder._model(name, where)
        if name not in self.models:
            raise self.unknown(name, where)
        return self.models[name]

    def unknown(self, name: str, where: str) -> RobotError:
        """The error for an unknown name."""
        known = [*self.links, *self.joints, *self.frames, *self.models]
        return RobotError(
            f"{where}: there is no link, joint, frame or model '{name}' in {'the world' if self.is_world else 'its model'}; "
            f"known names are {some(known) or 'none'}{nearest(name, known)}"
        )

    # -- attachment of frames ----------------------------------------------------------------------

    def link_of(self, name: str, where: str, waiting: tuple[str, ...] = ()) -> tuple[SdfScope, str] | None:
        """The link to which a frame is attached, with its model; None for the world."""
        if name in waiting:
            raise RobotError(f"{where}: {some([*waiting, name])} are attached to one another in a cycle")
        at_most(CHAIN, len(waiting), "frames in one chain, each attached to the next", where)
        waiting = (*waiting, name)
        head, _, rest = name.partition("::")
        if rest:
            return self._model(head, where).link_of(rest, where)
        if holder := self._merged_with(name):
            return holder.link_of(name, where)
        if name in self.links:
            return self, name
        if name in self.models:
            return self.models[name].link_of(MODEL, where)
        is_part = name in self.joints or name in self.frames
        if not is_part and (name == WORLD or (self.is_world and name == MODEL)):
            return None
        if not is_part and name == MODEL:
            return self._canonical(where)
        return self.link_of(self._element(name, where)[1], where, waiting)

    def _canonical(self, where: str) -> tuple[SdfScope, str] | None:
        named = self.element.attribute("canonical_link")
        if named:
            return self.link_of(named, where)
        if self.links:
            return self, next(iter(self.links))
        if self.models:
            return next(iter(self.models.values())).link_of(MODEL, where)
        raise RobotError(f"{self.element.where} has no links; a model needs at least one")

    def all(self) -> list[SdfScope]:
        """This model and all models within it, in file order."""
        return [self, *(inner for model in self.models.values() for inner in model.all())]
