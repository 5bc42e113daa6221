"""Emitted code: a :class:`Unit` is one function of arrays, a :class:`Source` the files generated from it."""

from __future__ import annotations

import os
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from dalembert.base.bibliography import cited, introduction
from dalembert.base.environment.short_repr import brief
from dalembert.base.environment.version import __version__
from dalembert.base.files import check_writable, whole_binary_file
from dalembert.base.wording import shown
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    import numpy as np

    from dalembert.compiler.emit.rollout import ProgramTapes
    from dalembert.compiler.emit.signature import Signature
    from dalembert.compiler.graph.count import Operations
    from dalembert.compiler.graph.tape import Graph

SHOWN = 20_000  # characters of a file that str() shows


@brief
@dataclass(frozen=True)
class Source:
    """Files generated for an arm: ``files`` by name, as text or bytes, and ``notes``, sentences about them.

    >>> source = Source({"two.txt": "1 + 1"}, ("One addition.",))
    >>> print(source)
    ---- two.txt
    1 + 1
    """

    files: Mapping[str, str | bytes]
    notes: tuple[str, ...] = ()
    make_kernel: Callable[[], np.ufunc] | None = field(default=None, repr=False, compare=False)

    @property
    def kernel(self) -> np.ufunc:
        """The NumPy gufunc of code for processors of this family, compiled with only their instructions.

        The targets "host" and "x86-64-v2" to "x86-64-v4" provide it if this processor has the instructions.
        """
        if self.make_kernel is None:
            raise DalembertError(
                "this target has no kernel for NumPy; the targets host, x86-64-v2, x86-64-v3 and x86-64-v4 have one"
            )
        return self.make_kernel()

    def write(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> list[Path]:
        """Write either all files or none into a folder, which is created if necessary. Returns their paths.

        Existing files are overwritten only with ``overwrite``.
        """
        where = Path(folder)
        try:
            where.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or str(problem)
            raise DalembertError(f"{os.fspath(folder)}: the folder cannot be created ({why})") from None
        paths = [where / name for name in self.files]
        for path in paths:
            if path.is_file() and not overwrite:
                raise DalembertError(
                    f"{path}: the file already exists and was not changed; --force (overwrite=True) overwrites it"
                )
            check_writable(path, overwrite=overwrite)
        with ExitStack() as stack:  # each is renamed when the stack unwinds, after all have been written
            for path, content in zip(paths, self.files.values(), strict=True):
                file = stack.enter_context(whole_binary_file(path, overwrite=overwrite))
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
        return paths

    def __str__(self) -> str:
        """The contents of all files; for a binary file, its length."""
        shown = []
        for name, content in self.files.items():
            text = f"({len(content):,} bytes)" if isinstance(content, bytes) else content
            if len(text) > SHOWN:
                text = f"{text[:SHOWN]}\n… ({len(text):,} characters in total)"
            shown.append(f"---- {name}\n{text.rstrip()}")
        return "\n\n".join(shown)


@brief
@dataclass(frozen=True)
class Unit:
    """One function to emit: a graph, its arrays, and their description.

    prefix       the robot's name as an identifier: planar_2r
    name         the quantity as an identifier: inverse_dynamics
    signature    names and core shapes of the arrays; the graph's inputs and outputs are their elements in order
    code         the operations, as a graph or as a program of several graphs
    operations   operation count of the graph
    summary      description of the outputs
    formulation  the equations used
    robot        the robot's name
    digest       16 hexadecimal digits that identify this robot's parameters and laws
    meanings     description of each array with its unit, by name
    model        sentences about the robot: joints with their units, gravity, payload, the terms that are modelled
    remarks      sentences that callers must know
    samples      inputs for a self-test, one row per state
    """

    prefix: str
    name: str
    signature: Signature
    code: Graph | ProgramTapes
    operations: Operations
    summary: str
    formulation: str
    robot: str
    digest: str
    meanings: Mapping[str, str] = field(default_factory=dict)
    model: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    samples: tuple[tuple[float, ...], ...] = ()

    @property
    def graph(self) -> Graph:
        """The operations, if they are one graph."""
        if not hasattr(self.code, "nodes"):
            raise DalembertError(
                f"this target has no loops, which '{self.name}' needs; its targets are c, wasm, and those of object files"
            )
        return cast("Graph", self.code)

    @property
    def symbol(self) -> str:
        """The function's name: planar_2r_inverse_dynamics"""
        return f"{self.prefix}_{self.name}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Its number of operations, in words, and what callers must know."""
        return f"{operation_words(self.operations).capitalize()}.", *self.remarks

    def input_elements(self) -> dict[int, tuple[str, int]]:
        """input line of the graph → (array, element)"""
        lines = iter(self.graph.inputs)
        return {next(lines): (name, k) for name, shape in self.signature.inputs for k in range(prod(shape))}

    def output_elements(self) -> list[tuple[str, int]]:
        """(array, element) of every output of the graph"""
        return [(name, k) for name, shape in self.signature.outputs for k in range(prod(shape))]


@dataclass(frozen=True)
class Settings:
    """Options of emission: ``scalar`` is the C type, "double" or "float"; ``libm`` whether the C library's functions may
    be called."""

    scalar: str = "double"
    libm: bool = True

    @property
    def arithmetic(self) -> str:
        """The precision in words."""
        return f"{'single' if self.scalar == 'float' else 'double'} precision"


SCALARS = {"double": "double", "single": "float"}  # C type of the computation, by precision


def checked_precision(precision: Any) -> Literal["double", "single"]:
    """The precision, "double" or "single"; "float", the word of version 1.0 in ``emit``, is deprecated."""
    if isinstance(precision, str) and precision == "float":
        warnings.warn(
            "precision 'float' is now called 'single', as everywhere; the old word is accepted until version 2",
            DeprecationWarning,
            stacklevel=3,
        )
        return "single"
    if not isinstance(precision, str) or precision not in SCALARS:
        raise DalembertError(f"precision is {shown(precision)}; it must be 'double' or 'single'")
    return "single" if precision == "single" else "double"


# statement in every generated file
LICENCE = "Generated code belongs to you: use, change and sell it without conditions."


def description(
    unit: Unit, names: Mapping[str, str], use: str, how: str, size: Callable[[tuple[int, ...]], object] | None = None
) -> list[str]:
    """The description of a unit in lines: arrays, equations, operation count, robot and licence.

    names  names of the arrays in the file
    use    sentences on how to call it; ``how`` describes the arithmetic
    size   text in brackets after an array's name; by default its shape
    """
    lines = [f"{unit.name} of {plain(unit.robot)}."]
    if letters := cited(unit.summary):
        lines.append(introduction(letters))
    lines += ["", f"Computes {unit.summary}.", ""]
    for way, arrays in (("in ", unit.signature.inputs), ("out", unit.signature.outputs)):
        for name, shape in arrays:
            rows = f"{' x '.join(map(str, shape))}, row by row" if len(shape) > 1 and size is not None else ""
            words = "; ".join(filter(None, (rows, unit.meanings.get(name, ""))))
            inside = size(shape) if size is not None else ", ".join(map(str, shape))
            lines.append(f"{way} {names[name]}[{inside}]" + (f": {words}" if words else ""))
    lines += ["", *unit.model, use, *unit.remarks, "", f"Formulation: {unit.formulation}."]
    lines.append(f"Operations: {operation_words(unit.operations)}; {how}.")
    lines.append(f"Robot: {plain(unit.robot)}, {unit.digest}.")
    lines.append(f"Generated by dalembert {__version__}. {LICENCE}")
    return [piece for line in lines for piece in (textwrap.wrap(line, 108, subsequent_indent="  ") or [""])]


def commented(mark: str, lines: Iterable[str]) -> str:
    """Lines of a description as a comment."""
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in lines)


def plain(name: str) -> str:
    """A robot's name, made safe for a comment: nothing in it ends the comment or the line."""
    return "".join(c if c.isalnum() or c in " -_.+()," else "_" for c in name)


def operation_words(operations: Operations) -> str:
    """ "285 multiplications, 260 additions, 6 sines, 6 cosines" """
    counts = [(getattr(operations, name), name.replace("_", " ")) for name in operations.__dataclass_fields__]
    words = [f"{count} {name if count != 1 else name[:-1]}" for count, name in counts if count]
    return ", ".join(words) or "no operations"
