"""The files that an MJCF model names, which MuJoCo's compiler opens itself: parts, sub-models, meshes and textures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from dalembert.base.files.file_bounds import MJCF_FOLDERS, at_most
from dalembert.base.files.safe_xml import parse_xml, read_bytes
from dalembert.base.wording import shown
from dalembert.errors import RobotError

FOLDERS = ("meshdir", "texturedir", "assetdir")
FILES = ("file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
PARTS = ("include", "model")  # elements whose files are models, too


def documents(path: Path, readable: Callable[[Path], bool]) -> Iterator[tuple[Path, Element]]:
    """The model and every file that it includes or attaches, at any depth; only readable places are opened."""
    waiting, seen = [Path(os.path.realpath(path))], set()
    main = waiting[0].parent
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        root = parse_xml(read_bytes(file), str(file))
        yield file, root
        names = [x.get("file", "") for x in root.iter() if x.tag in PARTS]
        places = [place(base, name) for name in names if name for base in (main, file.parent)]
        waiting += [x for x in places if x is not None and readable(x) and os.path.exists(x)]


def submodels(path: Path) -> dict[str, list[tuple[Path, Element]]]:
    """The models that <attach> can name: by their names in <asset>, or else by their own."""
    files = dict(documents(path, lambda place: True))
    named: dict[str, list[tuple[Path, Element]]] = {}
    for file, root in files.items():
        for model in root.iter("model"):
            at = [place(base, model.get("file", "")) for base in (Path(os.path.realpath(path)).parent, file.parent)]
            part = next(((x, files[x]) for x in at if x in files), None)
            if part is not None:
                named.setdefault(model.get("name") or part[1].get("model") or "", []).append(part)
    return named


def places(path: Path, readable: Callable[[Path], bool] = lambda place: True) -> Iterator[tuple[str, Path | None]]:
    """Every name of a file and each place at which MuJoCo may look for it; None for a name that no file can have."""
    main = Path(os.path.realpath(path)).parent
    bases, names = {main}, dict[str, None]()
    for file, root in documents(path, readable):
        for element in root.iter():
            bases |= {base / element.get(key, "") for key in FOLDERS for base in (main, file.parent)}
            names |= {element.get(key, ""): None for key in FILES}
        at_most(MJCF_FOLDERS, len(bases), "folders of meshes and textures", str(path))
    for name in names:
        for base in bases:
            yield name, place(base, name)


def place(base: Path, name: str) -> Path | None:
    """The file of this name, with links resolved."""
    return None if "\0" in name else Path(os.path.realpath(base / name))


def check_regular(path: Path) -> None:
    """Refuse devices and pipes, which MuJoCo would wait for."""
    for name, at in places(path):
        if name and at is not None and at.exists() and not at.is_file() and not at.is_dir():
            raise RobotError(f"{path}: the model refers to {shown(name)}, which is a pipe or a device and not a file")
