"""The frames of SDF files: nested models, included files, and the poses of everything in them.

A name is looked up in the model in which it is written: its links, joints, frames and models, ``child::name`` within
those, and ``__model__`` for the model itself. A pose is relative to the frame that it names, or by default to the model
(links, models), to the child link (joints) or to the frame to which it is attached (frames).
"""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree.ElementTree import Element

from dalembert.errors import RobotError
from dalembert.robot.bounds import XML_ELEMENTS, at_most
from dalembert.robot.placement import Placement
from dalembert.robot.safe_xml import check_format, parse_xml, read_bytes
from dalembert.robot.sdf_element import SdfElement
from dalembert.robot.tables import nearest, shown, some

MODEL, WORLD = "__model__", "world"
NESTED = 32  # depth of models within models, and of files within files
CHAIN = 200  # length of a chain of frames, each given in the next


class SdfFiles:
    """The files of one robot: the main file and those that it includes, all in the folder of the main file."""

    def __init__(self, source: str, is_text: bool) -> None:
        self.source = source
        self.folder = None if is_text else Path(os.path.abspath(source)).parent
        self.elements = 0

    def count(self, root: Element, where: str) -> None:
        """Limit the number of elements of all files together."""
        self.elements += sum(1 for _ in root.iter())
        at_most(XML_ELEMENTS, self.elements, "XML elements, including those of included files", where)

    def included(self, uri: str, beside: str, where: str) -> tuple[Element, str]:
        """The root element and the path of the file named by a <uri>."""
        if self.folder is None:
            raise RobotError(f"{where}: <include> names {shown(uri)}, but SDF text has no folder; load a file instead")
        scheme, separator, rest = uri.partition("://")
        if separator and scheme not in ("model", "package"):
            raise RobotError(f"{where}: <uri> is {shown(uri)}; it must be model://NAME or a path relative to the file")
        starts = [self.folder] if separator else [Path(os.path.abspath(beside)).parent]
        name = rest if separator else uri
        path = next((file for start in starts for file in self._files(start / name, where)), None)
        if path is None:
            raise RobotError(
                f"{where}: <uri> is {shown(uri)}, but there is no such model in {self.folder}; only files in the folder of "
                "the main file can be included"
            )
        root = parse_xml(read_bytes(path), str(path))
        check_format(root, "sdf", str(path))
        self.count(root, str(path))
        return root, str(path)

    def _files(self, path: Path, where: str) -> list[Path]:
        """The .sdf file denoted by a path: the path itself, or the file in a model folder."""
        assert self.folder is not None
        inside = Path(os.path.realpath(self.folder))
        if "\0" in str(path) or not Path(os.path.realpath(path)).is_relative_to(inside):
            raise RobotError(f"{where}: <uri> leads out of the folder {self.folder}; only files in it can be included")
        if path.is_dir():
            named = self._configured(path, where) if (path / "model.config").is_file() else []
            return [x for x in (*named, path / "model.sdf") if x.is_file()]
        return [path] if path.is_file() else []

    def _configured(self, folder: Path, where: str) -> list[Path]:
        """The last <sdf> of a model.config."""
        config = parse_xml(read_bytes(folder / "model.config"), str(folder / "model.config"))
        names = [(x.text or "").strip() for x in config.findall("sdf")]
        return [x for name in names[-1:] if name for x in self._files(folder / name, where)]


class SdfScope:
    """A model, or the world: its named parts and their poses."""

    def __init__(
        self,
        element: SdfElement,
        version: tuple[int, ...],
        files: SdfFiles,
        path: str,
        parent: SdfScope | None = None,
        place: SdfElement | None = None,
        name: str = "",
        open_files: tuple[str, ...] = (),
    ) -> None:
        self.element, self.version, self.files, self.path, self.parent = element, version, files, path, parent
        self.name, self.placed_by = name, place or element
        self.is_world, self.is_merged = parent is None, False
        self.open_files = open_files
        self.depth: int = 0 if parent is None else parent.depth + 1
        if self.depth > NESTED:
            raise RobotError(f"{element.where}: models are nested more than {NESTED} deep")
        self.links = {x.name: x for x in element.each("link")}
        self.joints = {x.name: x for x in element.each("joint")}
        self.frames = {x.name: x for x in element.each("frame")}
        self.models: dict[str, SdfScope] = {}
        self._places: dict[str, Placement] = {}
        for model in element.each("model"):
            self.add(SdfScope(model, version, files, path, self, name=model.name, open_files=open_files))
        for include in element.element.findall("include"):
            self._include(SdfElement(include, element.where))
        self._check_names()

    def add(self, model: SdfScope) -> None:
        """Add a nested model."""
        if model.name in self.models:
            raise RobotError(
                f"{self.element.where}: two models are called '{model.name}'; give one of them another <name>"
            )
        self.models[model.name] = model

    def _include(self, include: SdfElement) -> None:
        uri, merged = include.required("uri"), include.get("merge", "false").lower() in ("true", "1")
        root, path = self.files.included(uri, self.path, include.where)
        if path in self.open_files:
            raise RobotError(f"{include.where}: {shown(uri)} includes itself through {some(self.open_files)}")
        models = [SdfElement(x, path) for x in root.findall("model")]
        if len(models) != 1:
            raise RobotError(f"{path}: the file has {len(models)} models; an included file must have exactly one")
        (model,) = models
        name = include.text("name") or model.name
        placed_by = include if include.child("pose").given else model
        model.where = f"{path}: model '{name}'"
        files = (*self.open_files, path)
        name = f"_merged__{name}__" if merged else name
        scope = SdfScope(model, sdf_version(root, path), self.files, path, self, placed_by, name, files)
        scope.is_merged = merged
        self.add(scope)

    def _check_names(self) -> None:
        taken: dict[str, str] = {}
        for kind in ("link", "joint", "frame", "model"):
            listed = list(self.models) if kind == "model" else [x.name for x in self.element.each(kind)]
            for name in listed:
                if name in taken:
                    raise RobotError(
                        f"{self.element.where}: a {taken[name]} and a {kind} are both called '{name}'; names must be unique"
                    )
                taken[name] = kind

    @property
    def is_static(self) -> bool:
        """Whether the model is static, so that nothing in it moves."""
        return self.placed_by.flag("static", self.element.flag("static", False)) and not self.is_world

    # -- poses -------------------------------------------------------------------------------------

    def in_world(self) -> Placement:
        """The pose of the model in the world."""
        return Placement() if self.parent is None else self.parent.in_world() @ self.pose_in_parent()

    def pose_in_parent(self) -> Placement:
        """The pose of the model in the frame of its parent."""
        if self.parent is None:
            return Placement()
        return self.parent.pose_of(self.name, self.element.where)

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
        self._places[name] = self._pose(name, where, (*waiting, name))
        return self._places[name]

    def _pose(self, name: str, where: str, waiting: tuple[str, ...]) -> Placement:
        if name in self.models:
            return self.models[name].place_of(waiting)
        element, default = self._element(name, where)
        pose, relative_to = element.pose()
        return self.pose_of(relative_to or default, element.where, waiting) @ pose

    def place_of(self, waiting: tuple[str, ...]) -> Placement:
        """The pose of the model in its parent, while the poses of ``waiting`` are being resolved."""
        assert self.parent is not None
        pose, relative_to = self.placed_by.pose()
        stands = self.parent.pose_of(relative_to, self.placed_by.where, waiting) @ pose
        frame = self.placed_by.text("placement_frame") or self.element.get("placement_frame", "")
        return stands @ self.pose_of(frame, self.element.where).inverse if frame else stands

    def _element(self, name: str, where: str) -> tuple[SdfElement, str]:
        """A link, joint or frame, and the default frame of its pose."""
        if name in self.links:
            return self.links[name], MODEL
        if name in self.joints:
            return self.joints[name], self.joints[name].required("child")
        if name in self.frames:
            return self.frames[name], self.frames[name].get("attached_to", "") or MODEL
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
        if name in self.joints:
            return self.link_of(self.joints[name].required("child"), where, waiting)
        if name in self.frames:
            return self.link_of(self.frames[name].get("attached_to", "") or MODEL, where, waiting)
        if name in self.models:
            return self.models[name].link_of(MODEL, where)
        if name == WORLD or (self.is_world and name == MODEL):
            return None
        if name == MODEL:
            return self._canonical(where)
        raise self.unknown(name, where)

    def _canonical(self, where: str) -> tuple[SdfScope, str] | None:
        named = self.element.get("canonical_link", "")
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


def sdf_version(root: Element, where: str) -> tuple[int, ...]:
    """The SDF version of a file, such as (1, 7)."""
    text = root.get("version", "1.7")
    parts = text.split(".")
    if len(parts) < 2 or not all(part.isdigit() and len(part) < 4 for part in parts):
        raise RobotError(f"{where}: the version of <sdf> is {shown(text)}; it must be two numbers, such as 1.7")
    return tuple(map(int, parts))
