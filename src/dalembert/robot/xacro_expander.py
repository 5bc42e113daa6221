"""The ``xacro`` package, in the helper process: a macro file becomes URDF text.

xacro evaluates expressions of the file and opens the files that it includes. It keeps its state in its module, prints
to stderr and may never end on a macro that calls itself: all of that stays in the helper, within its bounds. Packages,
``$(find NAME)``, are looked for beside the file and its parent folders, and where ROS_PACKAGE_PATH and AMENT_PREFIX_PATH
say; ROS itself need not be there. A parent folder whose name begins as the package's does is taken too, with a note:
vendors rename them.
"""

from __future__ import annotations

import os
import re
import xml.dom.minidom
from io import StringIO
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from dalembert.environment.extras import extra
from dalembert.errors import RobotError
from dalembert.files import read_bounded
from dalembert.robot.bounds import XML_BYTES
from dalembert.robot.safe_xml import parse_xml
from dalembert.robot.tables import nearest, shown, some
from dalembert.robot.xacro_expressions import UNSAFE, evaluate, evaluate_among

PACKAGE = re.compile(r"[A-Za-z0-9][\w.\-]*")
ARGUMENT = re.compile(r"\$\(arg\s+(\w+)\s*\)")
DEFAULT = re.compile(r"<xacro:arg\s[^>]*?name\s*=\s*[\"'](\w+)[\"']")


def expanded(source: str, arguments: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """URDF text and notes, and no arrays."""
    with extra("xacro", f"{source}: a .xacro file"):
        import xacro
        import xacro.substitution_args
    state = _XacroRun(xacro, source)
    try:
        document = xacro.process_file(source, mappings=dict(arguments), verbosity=0)
    except RobotError:
        raise
    except RecursionError:
        raise RobotError(f"{source}: a macro calls itself without end; give it a condition that ends") from None
    except ExpatError as problem:
        raise RobotError(f"{state.file}: this is not well-formed XML ({problem})") from None
    except (xacro.XacroException, xacro.substitution_args.SubstitutionException) as problem:
        raise state.sentence(problem) from None
    except RuntimeError as problem:  # of elements that lack an attribute
        raise RobotError(f"{state.file}: xacro cannot expand it: {' '.join(str(problem).split())}") from None
    state.check_used(arguments)
    root = document.documentElement
    if root.tagName == "robot" and not any(x.parentNode is root for x in root.getElementsByTagName("link")):
        names = sorted(set(re.findall(r"<xacro:macro\s[^>]*?name\s*=\s*[\"']([^\"']+)[\"']", state.text(source))))
        macros = f"it defines only macros ({some(names)})" if names else "it has no links"
        raise RobotError(f"{source}: {macros} and is no robot; load the .xacro file that includes it")
    return {"text": document.toxml(), "notes": list(state.notes)}, {}


class _XacroRun:
    """What of xacro is set for one file: how packages are found and files are opened; and what its errors mean."""

    def __init__(self, xacro: Any, source: str) -> None:
        self.xacro, self.source = xacro, source
        self.opened: dict[str, str] = {}
        self.notes: dict[str, None] = {}
        substitution = xacro.substitution_args
        substitution._eval_find = self.find
        substitution._eval_dict["find"] = self.find
        substitution._eval = self.evaluate_substitution
        xacro.safe_eval = self.evaluate
        xacro._global_symbols = xacro.create_global_symbols()  # a file before this one could have changed them
        for name in UNSAFE:
            dict.pop(xacro._global_symbols["python"], name)
        xacro.parse = self.parse
        xacro.all_includes = []
        xacro.open = self.open  # load_yaml's: files are read within our bounds

    def evaluate(self, expression: str, names: dict[str, Any], _: Any = None) -> Any:
        """The value of ``${…}``."""
        try:
            return evaluate(expression, names)
        except RobotError as problem:
            raise RobotError(f"{self.file}: {problem}") from None

    def evaluate_substitution(self, expression: str, context: dict[str, Any]) -> str:
        """The value of ``$(eval …)``: arguments, ``find`` and ``env``, and what computes."""
        substitution = self.xacro.substitution_args
        arguments = context.setdefault("arg", {})
        functions = {name: value for name, value in substitution._eval_dict.items() if not name.startswith("_")}
        functions["arg"] = lambda name: substitution.convert_value(substitution._eval_arg(name, args=arguments), "auto")
        functions["dirname"] = lambda: substitution._eval_dirname(context["filename"])
        try:
            return str(evaluate_among(expression, substitution._DictWrapper(arguments, functions)))
        except RobotError as problem:
            raise RobotError(f"{self.file}: {problem}") from None

    @property
    def file(self) -> str:
        """The file that is being expanded."""
        stack = self.xacro.filestack or [self.source]
        return str(stack[-1] or self.source)

    def text(self, path: str) -> str:
        """The text of a file, which is read once."""
        if path not in self.opened:
            data = read_bounded(path, XML_BYTES, "robot file", RobotError)
            self.opened[path] = data.decode("utf-8", "replace")
        return self.opened[path]

    def open(self, path: str) -> StringIO:
        """A YAML file."""
        return StringIO(self.text(str(path)))

    def parse(self, given: Any, filename: str | None = None) -> Any:
        """A document; no document types and no entities in it, nor more elements than a robot file may have."""
        if given is not None or filename is None:
            return xml.dom.minidom.parseString(given) if isinstance(given, (str, bytes)) else given
        path = os.path.join(self.xacro.root_dir, filename)
        if not os.path.exists(path):
            missing = FileNotFoundError(f"there is no file '{filename}'")
            self.xacro.filestack.pop()
            raise self.xacro.XacroException(str(missing), exc=missing)
        text = self.text(path)
        parse_xml(text, str(path))
        return xml.dom.minidom.parseString(text.lstrip("\ufeff \t\r\n"))

    def find(self, package: str) -> str:
        """The folder of a package."""
        if not PACKAGE.fullmatch(package):
            raise RobotError(
                f"{self.file}: $(find {package}) names no package; a name has letters, digits, '_' and '-'"
            )
        starts = [Path(os.path.abspath(file)).parent for file in dict.fromkeys((self.file, self.source))]
        for start in starts:
            for folder in (start, *start.parents):
                if folder.name == package:
                    return str(folder)
                if (folder / package).is_dir():
                    return str(folder / package)
                if f"<name>{package}</name>" in _manifest(folder):
                    return str(folder)
        for place in _places(package):
            if place.is_dir():
                return str(place)
        for folder in (folder for start in starts for folder in (start, *start.parents)):
            if folder.name and (folder.name.startswith(f"{package}_") or package.startswith(f"{folder.name}_")):
                self.notes[f"the package '{package}' was taken from the folder '{folder.name}'"] = None
                return str(folder)
        raise RobotError(
            f"{self.file}: the package of $(find {package}) is not in {starts[0]} or a folder above it; put the folder "
            f"'{package}' there, or its place into ROS_PACKAGE_PATH"
        )

    def check_used(self, arguments: dict[str, str]) -> None:
        """An argument that no file asks for is a mistake in its name."""
        text = "\n".join(self.opened.values())
        asked = dict.fromkeys((*DEFAULT.findall(text), *ARGUMENT.findall(text)))
        for name in arguments:
            if name not in asked and not re.search(rf"[\"']{re.escape(name)}[\"']", text):
                raise RobotError(
                    f"{self.source}: it asks for no argument '{name}'"
                    f"{f'; it asks for {some(list(asked))}' if asked else ''}{nearest(name, list(asked))}"
                )

    def sentence(self, problem: BaseException) -> RobotError:
        """One sentence, which names the file and the cause."""
        chain = [problem]
        while isinstance(following := getattr(chain[-1], "exc", None) or chain[-1].__cause__, BaseException):
            chain.append(following)
        ours = next((x for x in chain if isinstance(x, RobotError)), None)
        if ours is not None:
            return ours
        missing = next((x for x in chain if type(x).__name__ == "ArgException"), None)
        if missing is not None:
            return self._missing(str(missing))
        reasons = dict.fromkeys(" ".join(str(x).split()) for x in chain)
        text = max(reasons, key=len) if reasons else type(problem).__name__
        return RobotError(f"{self.file}: xacro cannot expand it: {text}")

    def _missing(self, name: str) -> RobotError:
        """Arguments without a default, those of this file that are not given included."""
        used = {name, *ARGUMENT.findall(self.text(self.source))}
        given = {x for text in self.opened.values() for x in DEFAULT.findall(text)}
        given |= self.xacro.substitution_args_context.get("arg", {}).keys()
        needed = sorted(used - given | {name})
        example = ", ".join(f'"{x}": "…"' for x in needed)
        return RobotError(
            f"{self.source}: the xacro argument{'s' * (len(needed) > 1)} {some([shown(x) for x in needed])} "
            f"{'have' if len(needed) > 1 else 'has'} no value; give it as load(…, arguments={{{example}}}) (--argument {needed[0]}=…)"
        )


def _manifest(folder: Path) -> str:
    """The package.xml of a folder; empty where there is none."""
    path = folder / "package.xml"
    if not path.is_file():
        return ""
    return read_bounded(str(path), XML_BYTES, "package.xml", RobotError).decode("utf-8", "replace")


def _places(package: str) -> list[Path]:
    """Where ROS would look."""
    folders = [Path(x) for x in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if x]
    shares = [Path(x) / "share" for x in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if x]
    return [folder / package for folder in (*folders, *shares)]
