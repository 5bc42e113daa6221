"""The ``xacro`` package in the helper process: expands a macro file to URDF text.

xacro evaluates expressions in the file and opens included files. It keeps state in its module, prints to stderr, and
may not terminate for a macro that calls itself: all of this is confined to the helper and its limits. Packages,
``$(find NAME)``, are searched for next to the file and in its parent folders, and along ROS_PACKAGE_PATH and
AMENT_PREFIX_PATH; ROS itself is not required. A parent folder whose name begins like that of the package is accepted
too, with a note, because vendors rename packages.
"""

from __future__ import annotations

import os
import re
import xml.dom.minidom
from collections import ChainMap
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.parsers.expat import ExpatError

from dalembert.base.environment.extras import extra
from dalembert.base.files import read_bounded
from dalembert.base.files.file_bounds import XACRO_ELEMENTS, XML_BYTES, at_most
from dalembert.base.files.safe_xml import parse_xml
from dalembert.base.wording import nearest, shown, some
from dalembert.errors import RobotError
from dalembert.robot.readers.xacro_expressions import LARGEST, Expressions, size

PACKAGE = re.compile(r"[A-Za-z0-9][\w.\-]*")
ARGUMENT = re.compile(r"\$\(arg\s+(\w+)\s*\)")
DEFAULT = re.compile(r"<xacro:arg\s[^>]*?name\s*=\s*[\"'](\w+)[\"']")


def expanded(
    source: str, arguments: dict[str, str], environment: dict[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The URDF text and notes, and no arrays."""
    with extra("xacro", f"{source}: a .xacro file"):
        import xacro
        import xacro.substitution_args
    state = _XacroRun(xacro, source, arguments, environment)
    try:
        document = xacro.process_file(source, mappings=dict(arguments), verbosity=0)
    except RobotError:
        raise
    except RecursionError:
        raise RobotError(f"{source}: a macro calls itself endlessly; give it a terminating condition") from None
    except ExpatError as problem:
        raise RobotError(f"{state.file}: this is not well-formed XML ({problem})") from None
    except (xacro.XacroException, xacro.substitution_args.SubstitutionException, RuntimeError) as problem:
        raise state.sentence(problem) from None  # a RuntimeError: missing attributes
    state.check_used(arguments)
    root = document.documentElement
    if root.tagName == "robot" and not any(x.parentNode is root for x in root.getElementsByTagName("link")):
        names = sorted(set(re.findall(r"<xacro:macro\s[^>]*?name\s*=\s*[\"']([^\"']+)[\"']", state.text(source))))
        macros = f"the file defines only macros ({some(names)})" if names else "the file has no links"
        raise RobotError(f"{source}: {macros} and is not a robot; load the .xacro file that includes it")
    return {"text": document.toxml(), "notes": state.notes}, {}


class _XacroRun:
    """Configuration of xacro for one file: how packages are found, files opened and errors explained."""

    def __init__(self, xacro: Any, source: str, arguments: dict[str, str], environment: dict[str, str]) -> None:
        self.xacro, self.source, self.environment = xacro, source, environment
        self.arguments = tuple(arguments.values())
        self.opened: dict[str, str] = {}
        self.notes: dict[str, str] = {}  # {sentence: topic}
        substitution = xacro.substitution_args
        substitution._eval_find = self.find
        substitution._eval_env = self.variable
        substitution._eval_optenv = lambda name, default="": self.variable(name, default)
        substitution._eval = self.evaluate_substitution
        xacro.safe_eval = self.evaluate
        xacro._global_symbols = {}  # ours take their place
        substitution._eval_arg = self.argument
        xacro.parse = self.parse
        before = getattr(xacro.eval_all, "__self__", None)  # the run of another file
        self.expand, self.elements = before.expand if before is not None else xacro.eval_all, 0
        xacro.eval_all = self.counted
        xacro.all_includes = []
        quiet = dict.fromkeys(("message", "warning", "error", "print_location"), lambda *_, **__: "")
        functions = {
            "load_yaml": self.load_yaml, "abs_filename": xacro.abs_filename_spec, "dotify": dict, "tokenize": tokenized
        }  # fmt: skip
        more = {"arg": lambda name: xacro.substitution_args_context["arg"][name], "fatal": self.fatal, **quiet}
        spaces = {"xacro": MappingProxyType({**functions, **more})}
        self.expressions = Expressions({**functions, **spaces}, xacro.NameSpace)

    def evaluate(self, expression: str, names: Any, _: Any = None) -> Any:
        """The value of ``${…}``."""
        try:
            return self.expressions.evaluate(expression, names)
        except RobotError as problem:
            place = "" if str(problem).startswith(self.file) else f"{self.file}: "
            raise RobotError(f"{place}{problem}") from None

    def evaluate_substitution(self, expression: str, context: dict[str, Any]) -> str:
        """The value of ``$(eval …)``: arguments, ``find`` and ``env``, and what computes."""
        substitution = self.xacro.substitution_args
        arguments = {name: substitution.convert_value(x, "auto") for name, x in context.setdefault("arg", {}).items()}
        functions = {
            "arg": lambda name: arguments[name], "dirname": lambda: substitution._eval_dirname(self.file),
            "find": self.find, "env": self.variable, "optenv": substitution._eval_optenv, "true": True, "false": False,
        }  # fmt: skip
        return str(self.evaluate(expression, ChainMap(functions, arguments)))

    def argument(self, name: str, args: dict[str, str]) -> str:
        """The value of ``$(arg …)``; defaults made of other arguments can double with every one."""
        if name not in args:
            raise self.xacro.substitution_args.ArgException(name)
        if len(args[name]) > LARGEST:
            raise RobotError(f"{self.file}: the argument {shown(name)} has more than {LARGEST} characters")
        return args[name]

    def counted(self, node: Any, macros: Any, symbols: Any) -> None:
        """Expand an element; macros that call each other can double the number of elements with every one."""
        self.elements += 1
        at_most(XACRO_ELEMENTS, self.elements, "elements after the expansion of its macros", self.source)
        self.expand(node, macros, symbols)

    def fatal(self, *words: Any) -> None:
        """The end that a file asks for."""
        raise self.xacro.XacroException(" ".join(map(str, words)))

    @property
    def file(self) -> str:
        """The file that is being expanded."""
        stack = self.xacro.filestack or [self.source]
        return str(stack[-1] or self.source)

    def text(self, path: str) -> str:
        """The text of a file, which is read only once."""
        if path not in self.opened:
            data = read_bounded(path, XML_BYTES, "robot file", RobotError)
            self.opened[path] = data.decode("utf-8", "replace")
        return self.opened[path]

    def load_yaml(self, name: str) -> Any:
        """The table or list in a YAML file of the robot's own folders, with dates as texts and units converted."""
        with extra("xacro", f"{self.file}: a YAML file"):
            import yaml
        path = self.xacro.abs_filename_spec(str(name))
        self.check_own(path)
        xacro, state = self.xacro, self

        class Loader(yaml.SafeLoader):
            def flatten_mapping(self, node: Any) -> None:
                """Merge what << names, which can double with every level."""
                super().flatten_mapping(node)
                if len(node.value) > LARGEST:
                    raise RobotError(f"{path}: a table has more than {LARGEST} entries")

        for unit in xacro.ConstructUnits:
            factor = unit.value.conversion_constant
            Loader.add_constructor(
                unit.value.tag,
                lambda loader, node, factor=factor: float(state.evaluate(loader.construct_scalar(node), {})) * factor,
            )
        Loader.add_constructor("tag:yaml.org,2002:timestamp", Loader.construct_yaml_str)
        xacro.filestack.append(path)
        try:
            table = yaml.load(self.text(path), Loader)
            if not isinstance(table, (dict, list)):
                raise RobotError(f"{path}: the file holds neither a table nor a list for xacro.load_yaml")
            size(table)
            return table
        except yaml.YAMLError as problem:
            raise RobotError(f"{path}: this is not valid YAML ({' '.join(str(problem).split())})") from None
        finally:
            xacro.filestack.pop()

    def check_own(self, path: str) -> None:
        """Check that a file is the user's argument, or lies in the robot's folder or in a package, and not hidden there."""
        real = Path(os.path.realpath(path))
        home = Path(os.path.realpath(self.source)).parent
        searched = [Path(os.path.realpath(place)) for place in self.places("")]
        packages = [folder for folder in real.parents if (folder / "package.xml").is_file()]
        inside = [real.relative_to(x).parts for x in (home, *searched, *packages) if real.is_relative_to(x)]
        if path not in self.arguments and not any(all(part[0] != "." for part in parts) for parts in inside):
            raise RobotError(
                f"{self.file}: xacro.load_yaml would read {shown(path)}, which is neither in the robot's folder, {home}, nor in a "
                "package (a folder with a package.xml, or on ROS_PACKAGE_PATH); put it there, or name it in an argument"
            )

    def variable(self, name: str, default: str | None = None) -> str:
        """The value of an environment variable, with a note: robots are published, and variables can be secret."""
        value = self.environment.get(name, default)
        if value is None:
            raise RobotError(f"{self.file}: the environment variable {shown(name)} is not set")
        if name in self.environment:
            # robots are published
            self.notes[f"the robot contains the value of the environment variable {shown(name)}"] = "environment"
        return value

    def places(self, package: str) -> list[Path]:
        """The folders searched by ROS."""
        folders, prefixes = (
            [Path(x) for x in self.environment.get(name, "").split(os.pathsep) if x]
            for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")
        )
        return [folder / package for folder in (*folders, *(x / "share" for x in prefixes))]

    def parse(self, given: Any, filename: str | None = None) -> Any:
        """A document; document types, entities and excessive numbers of elements are refused."""
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
            raise RobotError(f"{self.file}: $(find {package}) is not a package name; use letters, digits, '_' and '-'")
        starts = [Path(os.path.abspath(file)).parent for file in dict.fromkeys((self.file, self.source))]
        above = [folder for start in starts for folder in (start, *start.parents)]
        for folder in above:
            if folder.name == package:
                return str(folder)
            if (folder / package).is_dir():
                return str(folder / package)
            if f"<name>{package}</name>" in _manifest(folder):
                return str(folder)
        for place in self.places(package):
            if place.is_dir():
                return str(place)
        for folder in above:
            if folder.name and (folder.name.startswith(f"{package}_") or package.startswith(f"{folder.name}_")):
                self.notes[f"the package '{package}' was read from the folder '{folder.name}'"] = "package"
                return str(folder)
        raise RobotError(
            f"{self.file}: the package of $(find {package}) is neither in {starts[0]} nor in a folder above it; put the folder "
            f"'{package}' there, or add its location to ROS_PACKAGE_PATH"
        )

    def check_used(self, arguments: dict[str, str]) -> None:
        """Refuse arguments that no file uses: their names are probably misspelled."""
        text = "\n".join(self.opened.values())
        declared = dict.fromkeys((*DEFAULT.findall(text), *ARGUMENT.findall(text)))
        for name in arguments:
            if name not in declared and not re.search(rf"[\"']{re.escape(name)}[\"']", text):
                raise RobotError(
                    f"{self.source}: the file has no argument '{name}'"
                    f"{f'; its arguments are {some(list(declared))}' if declared else ''}{nearest(name, list(declared))}"
                )

    def sentence(self, problem: BaseException) -> RobotError:
        """The error as one sentence that names the file and the cause."""
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
        """The error for arguments that have neither a default nor a value, including others of this file."""
        used = {name, *ARGUMENT.findall(self.text(self.source))}
        given = {x for text in self.opened.values() for x in DEFAULT.findall(text)}
        given |= self.xacro.substitution_args_context.get("arg", {}).keys()
        needed = sorted(used - given | {name})
        example = ", ".join(f'"{x}": "…"' for x in needed)
        return RobotError(
            f"{self.source}: the xacro argument{'s' * (len(needed) > 1)} {some([shown(x) for x in needed])} "
            f"{'have' if len(needed) > 1 else 'has'} no value; give it as load(…, arguments={{{example}}}) (--argument {needed[0]}=…)"
        )


def tokenized(text: str, sep: str = ",; ", skip_empty: bool = True) -> list[str]:
    """The parts of a text between separators, each of one character.

    >>> tokenized("a, b;c")
    ['a', 'b', 'c']
    """
    parts = re.split(f"[{re.escape(sep)}]", text)
    return [part for part in parts if part] if skip_empty else parts


def _manifest(folder: Path) -> str:
    """The package.xml of a folder; empty if there is none."""
    path = folder / "package.xml"
    if not path.is_file():
        return ""
    return read_bounded(str(path), XML_BYTES, "package.xml", RobotError).decode("utf-8", "replace")
