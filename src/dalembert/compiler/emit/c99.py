"""The target ``c``: readable C99, a header, and a self-test against values computed in Python.

Only ``math.h`` is included, and without ``libm`` not even that: the functions of :mod:`c99_functions` are then written
into the file. No allocation, no globals, no recursion, no state. ``-ffast-math`` is not assumed.
"""

from __future__ import annotations

import math
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from ctypes import c_float
from dataclasses import replace
from functools import partial
from itertools import accumulate
from math import prod
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from dalembert.base.environment.version import __version__
from dalembert.compiler.emit.c99_functions import own_functions
from dalembert.compiler.emit.rollout import ProgramTapes
from dalembert.compiler.emit.signature import Signature
from dalembert.compiler.emit.source import Settings, Source, Unit, commented, description, operation_words
from dalembert.compiler.emit.statements import Notation, Statement, Statements, array_names
from dalembert.compiler.graph.passes import live_lines, workspace_slots
from dalembert.compiler.graph.program import Program
from dalembert.compiler.graph.tape import Graph, evaluate
from dalembert.errors import DalembertError

PART_LENGTH = 600  # statements per function: compile time grows faster than linearly
ROUNDINGS = 64.0  # tolerance of a self-test, in rounding errors
EPSILON = {"double": 2.0**-52, "float": 2.0**-23}
SUFFIX = {"double": "", "float": "f"}  # of numbers and functions
FUNCTIONS = ("sin", "cos", "sqrt", "exp", "log", "tanh", "atan2", "asin", "acos")  # of math.h
# names not available for arrays: keywords of C and C++, functions, and names used in the files
_RESERVED = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    and bool catch class delete export false friend new not or operator private public this throw true try xor
    w fabs sgn main
"""
# symbols of the descriptions in ASCII
ASCII = str.maketrans(
    {
        "\u0307": "d", "\u0308": "dd", "∂": "d", "τ": "tau", "π": "pi", "β": "beta", "γ": "gamma", "Γ": "Gamma", "μ": "mu",
        "Φ": "Phi", "ω": "omega", "Σ": "sum", "∘": "o", "½": "1/2", "¹": "^1", "²": "^2", "³": "^3", "⁻": "^-", "ᵀ": "^T",
        "–": "-", "−": "-", "…": "...", "’": "'", "·": "*", "×": "x",
    }
)  # fmt: skip
RESERVED = {*_RESERVED.split(), *FUNCTIONS, "count"}
COPY = """static void copy(const double *from, double *to, int count)
{
    int k;
    for (k = 0; k < count; ++k)
        to[k] = from[k];
}"""
PERTURBATIONS = 4  # of inputs, which show the effect of rounding on a program
SHARE = 0.25  # share of a rounding error, in units of epsilon, that counts as the size of an output
# every operation on arrays of any precision, as in the emitted code
ON_ARRAYS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "tanh": np.tanh, "atan2": np.arctan2,
    "asin": np.arcsin, "acos": np.arccos, "sign": np.sign,
    "less": lambda x, y: np.where(np.less(x, y), np.float32(1.0), np.float32(0.0)),
    "select": lambda c, x, y: np.where(np.not_equal(c, 0), x, y),
}  # fmt: skip


def c_number(scalar: str, value: float) -> str:
    """A constant, written exactly; infinity and NaN as divisions."""
    suffix = SUFFIX[scalar]
    if math.isnan(value) or math.isinf(value):
        return f"({0 if math.isnan(value) else 1}.0{suffix} / 0.0{suffix})"
    text = repr(value)
    if scalar == "float":  # the fewest digits that reproduce the float
        rounded = c_float(value).value
        if math.isinf(rounded):
            raise DalembertError(
                f"the value {value!r} of this robot is too large for precision 'single'; use precision 'double'"
            )
        shorter = (f"{rounded:.{digits}g}" for digits in range(1, 10))
        text = next(x for x in shorter if c_float(float(x)).value == rounded)
    return (text if re.search(r"[.e]", text) else f"{text}.0") + suffix


def c99(units: Sequence[Unit], settings: Settings, name: str) -> Source:
    """The files NAME.h and NAME.c with one function per unit, and a self-test of each."""
    writers = [_CText(unit, settings) for unit in units]
    files: dict[str, str | bytes] = {f"{name}.h": _header(writers, name), f"{name}.c": _source(writers, name)}
    files |= {f"{writer.unit.symbol}_test.c": writer.test(name) for writer in writers if writer.unit.samples}
    counts = [operation_words(unit.operations) for unit in units]
    notes = [f"{unit.name}: {words}." for unit, words in zip(units, counts, strict=True)]
    notes = notes if len(units) > 1 else [f"{counts[0].capitalize()}."]
    notes += dict.fromkeys(remark for unit in units for remark in unit.remarks)
    if without := [unit.name for unit in units if not unit.samples]:
        of = f" of {', '.join(without)}" if len(units) > 1 else ""
        notes.append(
            f"There is no self-test{of}, because the outputs are not finite at any of the states that were tried."
        )
    return Source(files, tuple(notes))


def _header(writers: Sequence[_CText], name: str, rows: bool = False) -> str:
    """NAME.h"""
    many = "/* the same for count states, with contiguous rows in every array */\n"
    guard = f"{name}_h".upper()
    functions = [
        f"{writer.comment()}{writer.prototype()};\n\n" + (f"{many}{writer.prototype(rows=True)};\n\n" if rows else "")
        for writer in writers
    ]
    return (
        f"#ifndef {guard}\n#define {guard}\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
        f"{''.join(functions)}#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    )  # fmt: skip


def _source(writers: Sequence[_CText], name: str) -> str:
    """NAME.c"""
    first, used = writers[0], set().union(*(writer.used for writer in writers))
    called = [function for function in FUNCTIONS if function in used]
    pieces = ["".join(writer.comment() for writer in writers) + f'#include "{name}.h"']
    if called and first.settings.libm:
        pieces.append("#include <math.h>")
    elif called:
        pieces.append(own_functions(called, first.type, f"{first.unit.prefix}_own_"))
    if "sign" in used:
        unity, zero = first.number(1.0), first.number(0.0)
        pieces.append(
            f"/* the sign of x: +-1, or x itself if it is 0 or NaN */\nstatic {first.type} sgn({first.type} x)\n{{\n"
            f"    return x > {zero} ? {unity} : x < {zero} ? -{unity} : x;\n}}"
        )
    if any(writer.tapes for writer in writers):
        pieces.append(COPY.replace("double", first.type))
    for writer in writers:
        pieces += writer.whole()
    return "\n\n".join(pieces) + "\n"


def header_and_test(unit: Unit, settings: Settings, rows: bool) -> dict[str, str | bytes]:
    """The files NAME.h and NAME_test.c for a function compiled elsewhere, optionally with its variant for ``rows``."""
    writer = _CText(unit, replace(settings, libm=False))
    files: dict[str, str | bytes] = {f"{unit.symbol}.h": _header([writer], unit.symbol, rows)}
    if unit.samples:
        files[f"{unit.symbol}_test.c"] = writer.test(unit.symbol)
    return files


class _CText:
    """The texts of one unit."""

    def __init__(self, unit: Unit, settings: Settings, static: bool = False) -> None:
        self.unit, self.settings, self.static = unit, settings, static
        self.number = partial(c_number, settings.scalar)
        self.type = settings.scalar
        self.names = array_names(unit, RESERVED)
        self.used: set[str] = set()
        for graph in [graph for graph, _ in self.tapes.graphs.values()] if self.tapes else [unit.graph]:
            self.used |= {op for (op, _), live in zip(graph.nodes, live_lines(graph), strict=True) if live}

    @property
    def tapes(self) -> ProgramTapes | None:
        """The program that the unit runs, if it is no graph."""
        return self.unit.code if isinstance(self.unit.code, ProgramTapes) else None

    # -- the pieces ----------------------------------------------------------------------------------

    def parameters(self, rows: bool = False) -> list[str]:
        """const double q[7], …, double tau[7]; for many ``rows`` const double *q, …"""

        def declared(name: str, shape: tuple[int, ...]) -> str:
            return f"*{self.names[name]}" if rows or not prod(shape) else f"{self.names[name]}[{prod(shape)}]"

        inputs = [f"const {self.type} {declared(*array)}" for array in self.unit.signature.inputs]
        return [*inputs, *(f"{self.type} {declared(*array)}" for array in self.unit.signature.outputs)]

    def prototype(self, rows: bool = False) -> str:
        """The prototype of the function, or of that for many states."""
        further = ["int count"] if rows else []
        head = f"{'static ' * self.static}void {self.unit.symbol}{'_rows' * rows}("
        return wrapped(head, [*self.parameters(rows), *further], ")")

    def comment(self) -> str:
        """The header comment of both files."""
        functions = "the functions of math.h" if self.settings.libm else "no library functions"
        use = (
            "SI units, radians; matrices row by row. Outputs must not overlap inputs. The function allocates no "
            "memory, keeps no state between calls, and is thread-safe."
        )
        body = description(self.unit, self.names, use, f"{self.settings.arithmetic}, {functions}", size=prod)
        return "/*\n" + commented(" *", map(in_ascii, body)) + " */\n"

    def notation(self) -> Notation:
        number, suffix = self.number, SUFFIX[self.type]
        own = f"{self.unit.prefix}_own_" if not self.settings.libm else ""
        calls = {name: f"{own}{name}{'' if own else suffix}({{0}})" for name in FUNCTIONS}
        calls["atan2"] = calls["atan2"].replace("{0}", "{0}, {1}")
        return Notation(
            number,
            lambda array, k: f"{self.names[array]}[{k}]",
            {**calls, "sign": "sgn({0})"},
            f"{{0}} < {{1}} ? {number(1.0)} : {number(0.0)}",
            "{0} ? {1} : {2}",
        )

    def whole(self) -> list[str]:
        """The function, after those that it calls."""
        if self.tapes is None:
            return self.functions(Statements(self.unit, self.notation()))
        texts = []
        for name, (graph, signature) in self.tapes.graphs.items():
            piece = replace(self.unit, name=f"{self.unit.name}_{name}", code=graph, signature=signature)
            texts += _CText(piece, self.settings, static=True).whole()
        return [*texts, self.function(self.prototype(), list(self.loop(self.tapes.program)))]

    def loop(self, program: Program) -> Iterator[str]:
        """The body of the function of a program: its memory, its calls, and the state that they leave."""
        given = {name: self.names[name] for name in (*program.constant, *program.stepwise)}
        slots = given | {name: f"s_{name}" for name in program.sizes if name not in given}
        zero = self.number(0.0)

        def copy(origin: str, to: str) -> str:
            return f"copy({origin}, {to}, {program.sizes[name]});"

        used = {name for call in program.calls for name in (*call.inputs, *call.outputs)} | set(program.state)
        for name, size in program.sizes.items():
            if name in used and name not in given:
                yield f"{self.type} {slots[name]}[{size}] = {{{zero}}};"
        yield ""
        for name in program.state:
            yield copy(self.names[name], slots[name])
        yield "do {"
        for call in program.calls:
            arguments = [slots[name] for name in (*call.inputs, *call.outputs)]
            lines = wrapped(f"{self.unit.symbol}_{call.function}(", arguments, ");").split("\n")
            if call.again is not None:
                carried = [f"    copy({slots[a]}, {slots[b]}, {program.sizes[b]});" for a, b in call.carry]
                more = f"{slots[call.again]}[0] != {zero}"
                lines = [
                    "for (;;) {",
                    *(f"    {x}" for x in lines),
                    f"    if (!({more}))",
                    "        break;",
                    *carried,
                    "}",
                ]
            if call.when is not None:
                lines = [f"if ({slots[call.when]}[0] != {zero}) {{", *(f"    {x}" for x in lines), "}"]
            yield from (f"    {line}" for line in lines)
        for origin, name in program.carry:
            yield f"    {copy(slots[origin], slots[name])}"
        yield f"}} while ({f'{slots[program.again]}[0] != {zero}' if program.again else 0});"
        for name in program.state:
            yield copy(slots[name], self.names[f"{name}_next"])

    # -- the function, as one or in parts ----------------------------------------------------------------

    def functions(self, statements: Statements) -> list[str]:
        """The function; if it would be very long, several functions that it calls in order."""
        count = len(statements.angles) + len(statements.rest)
        if count <= PART_LENGTH * 1.5:
            body = []
            if statements.angles:
                body += ["/* cosines and sines of the joints */", *map(self.assignment, statements.angles), ""]
            body += [self.assignment(statement) for statement in statements.rest]
            return [self.function(self.prototype(), body)]
        order = [*statements.angles, *statements.rest]
        parts = [order[k : k + PART_LENGTH] for k in range(0, count, PART_LENGTH)]
        slots, size = workspace_slots([[(s.line if s.name else -1, s.reads) for s in part] for part in parts])
        size = max(1, size)
        named = {statement.line: statement.name for statement in order if statement.name}
        texts, calls = [], []
        arrays = [self.names[name] for name, _ in (*self.unit.signature.inputs, *self.unit.signature.outputs)]
        for number, part in enumerate(parts, 1):
            own = {statement.line for statement in part if statement.name}
            needed = sorted(set().union(*(statement.reads for statement in part)) - own)
            body = [f"const {self.type} {named[line]} = w[{slots[line]}];" for line in needed]
            body += [""] if body else []
            for statement in part:
                body.append(self.assignment(statement))
                if statement.line in slots and statement.name:
                    body.append(f"w[{slots[statement.line]}] = {statement.name};")
            name = f"{self.unit.symbol}_part{number}"
            head = wrapped(f"static void {name}(", [*self.parameters(), f"{self.type} w[{size}]"], ")")
            texts.append(self.function(head, body, "w"))
            calls.append(wrapped(f"{name}(", [*arrays, "w"], ");"))
        return [*texts, self.function(self.prototype(), [f"{self.type} w[{size}];", "", *calls])]

    def function(self, head: str, body: Sequence[str], *more: str) -> str:
        """A function's text; unused parameters are cast to void, to avoid compiler warnings."""
        words = set(re.findall(r"\w+", "\n".join(body)))
        unused = [name for name in (*self.names.values(), *more) if name not in words]
        lines = [*(f"(void){name};" for name in unused), *body]
        return head + "\n{\n" + "".join(f"    {line}".rstrip() + "\n" for line in lines) + "}"

    def assignment(self, statement: Statement) -> str:
        """const double t3 = …;"""
        if statement.name:
            return f"const {self.type} {statement.name} = {statement.text};"
        outputs = self.unit.output_elements()
        places = [outputs[position] for position in statement.targets]
        return "".join(f"{self.names[array]}[{k}] = " for array, k in places) + f"{statement.text};"

    # -- the self-test ---------------------------------------------------------------------------------

    def test(self, header: str) -> str:
        """NAME_test.c, of a function declared in HEADER.h"""
        unit, symbol, number = self.unit, self.unit.symbol, self.number
        results, scales = (
            _expected(unit.graph, unit.samples, unit.signature)
            if self.tapes is None
            else _of_program(self.tapes, unit.samples, unit.signature)
        )
        starts: dict[str, int] = {}
        for arrays in (unit.signature.inputs, unit.signature.outputs):
            places = accumulate((prod(shape) for _, shape in arrays), initial=0)
            starts |= {name: place for (name, _), place in zip(arrays, places, strict=False)}
        sizes = [sum(prod(s) for _, s in arrays) for arrays in (unit.signature.inputs, unit.signature.outputs)]

        def signed(value: float) -> str:
            return f"-{number(-value)}" if math.copysign(1.0, value) < 0 else number(value)

        def rows(values: Iterable[Sequence[float]]) -> str:
            return ",\n".join("    {" + ", ".join(map(signed, row)) + "}" for row in values)

        arguments = [f"inputs[state] + {starts[name]}" if prod(s) else "0" for name, s in unit.signature.inputs]
        arguments += [f"got + {starts[name]}" for name, _ in unit.signature.outputs]
        bounds = ", ".join(str(starts[name] + prod(shape)) for name, shape in unit.signature.outputs)
        return Template(Path(__file__).with_name("self_test.c").read_text("utf-8")).substitute(
            symbol=symbol, header=header, version=__version__, type=self.type, zero=number(0.0),
            tolerance=number(ROUNDINGS * EPSILON[self.type]), states=len(unit.samples),
            input_size=max(1, sizes[0]), output_size=sizes[1], count=len(unit.signature.outputs),
            inputs=rows(unit.samples if sizes[0] else [(0.0,)]), outputs=rows(results),
            bounds=bounds, scales=", ".join(map(number, scales)), call=wrapped(f"{symbol}(", arguments, ");", "            "),
        )  # fmt: skip


def _expected(
    graph: Graph, samples: Sequence[Sequence[float]], signature: Signature
) -> tuple[list[list[float]], list[float]]:
    """The outputs for every row of inputs, and for every output array the scale to which its errors are relative.

    The scale is the largest output, or more where rounding has a larger effect, as when large terms cancel: then it
    follows from the errors of single precision, and of double precision relative to long double.
    """
    exact = [evaluate(graph, row) for row in samples]
    precise = np.array(exact)
    harm = [np.abs(_on_arrays(graph, samples, np.float32) - precise) / np.finfo(np.float32).eps]
    harm.append(np.abs(_on_arrays(graph, samples, np.longdouble) - precise) / np.finfo(np.float64).eps)
    # overflow in single precision does not count
    harm = [np.where(np.isfinite(errors), errors, 0.0) for errors in harm]
    sizes = [np.abs(precise), *(SHARE * errors for errors in harm)]
    ends = np.cumsum([prod(shape) for _, shape in signature.outputs])[:-1]
    blocks = zip(*(np.split(size, ends, axis=1) for size in sizes), strict=True)
    return exact, [max(float(block.max(initial=0.0)) for block in of_output) for of_output in blocks]


def _of_program(
    tapes: ProgramTapes, samples: Sequence[Sequence[float]], signature: Signature
) -> tuple[list[list[float]], list[float]]:
    """The same for a program, whose rounding errors are those of slightly different inputs."""
    rng, eps = np.random.default_rng(0), EPSILON["double"]
    exact = [tapes.evaluate(row) for row in samples]
    near = [
        [tapes.evaluate((np.array(row) * (1.0 + eps * rng.choice([-1.0, 1.0], len(row)))).tolist()) for row in samples]
        for _ in range(PERTURBATIONS)
    ]
    sizes = np.maximum(np.abs(exact), np.abs(np.array(near) - exact).max(axis=0) / eps)
    ends = np.cumsum([prod(shape) for _, shape in signature.outputs])[:-1]
    return exact, [float(block.max(initial=0.0)) for block in np.split(sizes, ends, axis=1)]


def _on_arrays(graph: Graph, samples: Sequence[Sequence[float]], kind: Any) -> Any:
    """The outputs for every row of inputs, computed in another precision."""
    columns = np.array(samples, kind).reshape(len(samples), -1).T
    with np.errstate(all="ignore"):
        outputs = evaluate(graph, list(columns), ON_ARRAYS)
    return np.array([np.broadcast_to(np.asarray(x, float), (len(samples),)) for x in outputs]).T


def in_ascii(text: str) -> str:
    """The text for compilers that read nothing else; letters with dots become q's names, and unknown characters "_".

    >>> in_ascii("∂τ/∂q̇ and ½ q̇ᵀ B q̈, S (7.107)–(7.114)"), in_ascii("机器人")
    ('dtau/dqd and 1/2 qd^T B qdd, S (7.107)-(7.114)', '___')
    """
    letters = unicodedata.normalize("NFD", text).translate(ASCII)
    return "".join(c if c.isascii() else "_" for c in letters if not unicodedata.combining(c))


def wrapped(head: str, words: Sequence[str], tail: str, indent: str = "    ") -> str:
    """``head`` and the words, separated by commas, in lines of bounded length."""
    if len(head) + sum(len(word) + 2 for word in words) <= 110:
        return head + ", ".join(words) + tail
    lines = textwrap.wrap(", ".join(word.replace(" ", "\0") for word in words), 104, break_on_hyphens=False)
    return f"{head}\n" + "\n".join(indent + line.replace("\0", " ") for line in lines) + tail
