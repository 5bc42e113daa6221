"""The frames of SDF files: models in models, files that are included, and where everything stands.

A name is looked up in the model that it is written in: its links, joints, frames and models, ``child::name`` within
those, ``__model__`` the model itself. A pose is relative to the frame that it names, or by default to the model (links,
models), to the child link (joints) or to the frame that it is attached to (frames).
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
NESTED = 32  # models within models, and files within files
CHAIN = 200  # frames that are given in each other


class SdfFiles:
    """The files of one robot: the first, and those that it includes, all in the first one's folder."""

    def __init__(self, source: str, is_text: bool) -> None:
        self.source = source
        self.folder = None if is_text else Path(os.path.abspath(source)).parent
        self.elements = 0

    def count(self, root: Element, where: str) -> None:
        """Bound the elements of all files together."""
        self.elements += sum(1 for _ in root.iter())
        at_most(XML_ELEMENTS, self.elements, "XML elements, included files counted", where)

    def included(self, uri: str, beside: str, where: str) -> tuple[Element, str]:
        """The root of the file that a <uri> names, and its path."""
        if self.folder is None:
            raise RobotError(f"{where}: <include> names {shown(uri)}, and text has no folder; load a file")
        scheme, separator, rest = uri.partition("://")
        if separator and scheme not in ("model", "package"):
            raise RobotError(
                f"{where}: <uri> is {shown(uri)}; files are included by model://NAME or by a path relative to the file"
            )
        starts = [self.folder] if separator else [Path(os.path.abspath(beside)).parent]
        name = rest if separator else uri
        path = next((file for start in starts for file in self._files(start / name, where)), None)
        if path is None:
            raise RobotError(
                f"{where}: <uri> is {shown(uri)}, and there is no such model in {self.folder}; only files in the folder of "
                "the first file are included"
            )
        root = parse_xml(read_bytes(path), str(path))
        check_format(root, "sdf", str(path))
        self.count(root, str(path))
        return root, str(path)

    def _files(self, path: Path, where: str) -> list[Path]:
        """The .sdf file that a path stands for: itself, or that of a model's folder."""
        assert self.folder is not None
        inside = Path(os.path.realpath(self.folder))
        if "\0" in str(path) or not Path(os.path.realpath(path)).is_relative_to(inside):
            raise RobotError(f"{where}: <uri> leads out of the folder {self.folder}; only files in it are included")
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
    """A model, or the world: what stands in it by name, and where."""

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
        """One more model in it."""
        if model.name in self.models:
            raise RobotError(f"{self.element.where}: two models are called '{model.name}'; give one another <name>")
        self.models[model.name] = model

    def _include(self, include: SdfElement) -> None:
        uri, merged = include.required("uri"), include.get("merge", "false").lower() in ("true", "1")
        root, path = self.files.included(uri, self.path, include.where)
        if path in self.open_files:
            raise RobotError(f"{include.where}: {shown(uri)} includes itself, by way of {some(self.open_files)}")
        models = [SdfElement(x, path) for x in root.findall("model")]
        if len(models) != 1:
            raise RobotError(f"{path}: it has {len(models)} models; a file that is included has one")
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
        """Whether nothing in it moves."""
        return self.placed_by.flag("static", self.element.flag("static", False)) and not self.is_world

    # -- where things stand ------------------------------------------------------------------------

    def in_world(self) -> Placement:
        """Where the model stands in the world."""
        return Placement() if self.parent is None else self.parent.in_world() @ self.pose_in_parent()

    def pose_in_parent(self) -> Placement:
        """Where the model stands in the frame of its parent."""
        if self.parent is None:
            return Placement()
        return self.parent.pose_of(self.name, self.element.where)

    def pose_of(self, name: str, where: str, waiting: tuple[str, ...] = ()) -> Placement:
        """Where a frame of this model stands in the model's frame."""
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
            raise RobotError(f"{where}: the poses of {some([*waiting, name])} are relative to each other in a circle")
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
        """Where the model stands in its parent, while the poses of ``waiting`` are being looked for."""
        assert self.parent is not None
        pose, relative_to = self.placed_by.pose()
        stands = self.parent.pose_of(relative_to, self.placed_by.where, waiting) @ pose
        frame = self.placed_by.text("placement_frame") or self.element.get("placement_frame", "")
        return stands @ self.pose_of(frame, self.element.where).inverse if frame else stands

    def _element(self, name: str, where: str) -> tuple[SdfElement, str]:
        """A link, joint or frame, and what its pose is relative to unless it says so."""
        if name in self.links:
            return self.links[name], MODEL
        if name in self.joints:
            return self.joints[name], self.joints[name].required("child")
        if name in self.frames:
            return self.frames[name], self.frames[name].get("attached_to", "") or MODEL
        raise self.unknown(name, where)

    def _merged_with(self, name: str) -> SdfScope | None:
        """The model that was merged into this one and has the name; its parts are as if they stood here."""
        merged = (model for model in self.models.values() if model.is_merged)
        return next((model for model in merged if model.has(name)), None)

    def holding(self, name: str) -> SdfScope:
        """This model, or the one merged into it that has the name."""
        inner = self._merged_with(name)
        return self if inner is None else inner.holding(name)

    def has(self, name: str) -> bool:
        """Whether something in it has the name."""
        here = any(name in names for names in (self.links, self.joints, self.frames, self.models))
        return here or self._merged_with(name) is not None

    def _model(self, name: str, where: str) -> SdfScope:
        if holder := self._merged_with(name):
            return holder._model(name, where)
        if name not in self.models:
            raise self.unknown(name, where)
        return self.models[name]

    def unknown(self, name: str, where: str) -> RobotError:
        """The sentence about a name that nothing has."""
        known = [*self.links, *self.joints, *self.frames, *self.models]
        return RobotError(
            f"{where}: there is no link, joint, frame or model '{name}' in {'the world' if self.is_world else 'its model'}; "
            f"known are {some(known) or 'none'}{nearest(name, known)}"
        )

    # -- what frames are attached to ---------------------------------------------------------------

    def link_of(self, name: str, where: str, waiting: tuple[str, ...] = ()) -> tuple[SdfScope, str] | None:
        """The link that a frame moves with, and the model that it is in; None is the world."""
        if name in waiting:
            raise RobotError(f"{where}: {some([*waiting, name])} are attached to each other in a circle")
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
        raise RobotError(f"{self.element.where} has no links; a model needs one that it moves with")

    def all(self) -> list[SdfScope]:
        """This model and those within it, in the order of the file."""
        return [self, *(inner for model in self.models.values() for inner in model.all())]


def sdf_version(root: Element, where: str) -> tuple[int, ...]:
    """The version that a file is written in: (1, 7)."""
    text = root.get("version", "1.7")
    parts = text.split(".")
    if len(parts) < 2 or not all(part.isdigit() and len(part) < 4 for part in parts):
        raise RobotError(f"{where}: the version of <sdf> is {shown(text)}; it must be two numbers, like 1.7")
    return tuple(map(int, parts))
