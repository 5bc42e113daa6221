"""Human-readable targets: ``python`` (imports only math), ``numpy`` (broadcasts over leading axes) and ``dot``
(Graphviz)."""

from __future__ import annotations

import keyword
import math
from collections.abc import Callable
from itertools import product

from dalembert.compiler.emit.source import Settings, Source, Unit, commented, description
from dalembert.compiler.emit.statements import Notation, Statements, array_names
from dalembert.compiler.graph.passes import live_lines

RESERVED = {*keyword.kwlist, "math", "np", "shape"}
# operations that raise errors in Python where the result is infinite or NaN in C
AS_IN_C = {
    "div": (
        "divide(x, y)", "x / y, infinite or NaN if y is 0",
        "if y == 0.0:\n    return math.nan if x == 0.0 or x != x else math.copysign(math.inf, x) * "
        "math.copysign(1.0, y)\nreturn x / y",
    ),
    "sqrt": ("sqrt(x)", "the square root, NaN for negative x", "return math.sqrt(x) if x >= 0.0 else math.nan"),
    "sin": ("sin(x)", "the sine, NaN if x is infinite", "return math.sin(x) if abs(x) < math.inf else math.nan"),
    "cos": ("cos(x)", "the cosine, NaN if x is infinite", "return math.cos(x) if abs(x) < math.inf else math.nan"),
    "exp": ("exp(x)", "e to the x, infinite if it overflows", "return math.exp(x) if x <= 709.782712893384 else x if x != x else math.inf"),
    "log": ("log(x)", "ln x, -inf at 0, NaN for negative x", "return math.log(x) if x > 0.0 else -math.inf if x == 0.0 else math.nan"),
    "asin": ("asin(x)", "arcsin x, NaN if |x| > 1", "return math.asin(x) if abs(x) <= 1.0 else math.nan"),
    "acos": ("acos(x)", "arccos x, NaN if |x| > 1", "return math.acos(x) if abs(x) <= 1.0 else math.nan"),
    "sign": ("sign(x)", "the sign of x: 1.0, -1.0, or x itself if it is 0 or NaN", "return 1.0 if x > 0.0 else -1.0 if x < 0.0 else x"),
}  # fmt: skip


def python(unit: Unit, settings: Settings) -> Source:
    """NAME.py: a function of sequences."""
    names = array_names(unit, {*RESERVED, *(head.partition("(")[0] for head, _, _ in AS_IN_C.values())})
    calls = {"tanh": "math.tanh({0})", "atan2": "math.atan2({0}, {1})"}
    for op, (head, _, _) in AS_IN_C.items():
        calls[op] = head.replace("x, y", "{0}, {1}").replace("(x)", "({0})")
    notation = Notation(
        _constants("math"), _elements(unit, names, _in_lists), calls,
        "1.0 if {0} < {1} else 0.0", "{1} if {0} else {2}",
    )  # fmt: skip
    graph = unit.graph
    used = {op for (op, _), live in zip(graph.nodes, live_lines(graph), strict=True) if live}
    body = [f"{names[name]} = {_zeros(shape)}" for name, shape in unit.signature.outputs if shape]
    body += _body(unit, notation, names, _in_lists)
    helpers = [
        f'def {head}:\n    """{words}"""\n' + "".join(f"    {line}\n" for line in lines.splitlines())
        for op, (head, words, lines) in AS_IN_C.items()
        if op in used
    ]
    use = "SI units, radians. Inputs are sequences, matrices are sequences of rows; outputs are (nested) lists."
    return _module(unit, names, "import math", helpers, body, use)


def numpy(unit: Unit, settings: Settings) -> Source:
    """NAME.py: a function of arrays that broadcasts over their leading axes."""
    names = array_names(unit, RESERVED)
    functions = {"atan2": "arctan2", "asin": "arcsin", "acos": "arccos"}
    operations = ("sqrt", "sin", "cos", "exp", "log", "tanh", "asin", "acos", "sign")
    calls = {op: f"np.{functions.get(op, op)}({{0}})" for op in operations} | {"atan2": "np.arctan2({0}, {1})"}
    notation = Notation(
        _constants("np"), _elements(unit, names, _on_last_axes), calls,
        "np.where({0} < {1}, 1.0, 0.0)", "np.where({0}, {1}, {2})",
    )  # fmt: skip
    inputs = [(names[name], len(shape)) for name, shape in unit.signature.inputs]
    body = [f"{name} = np.asarray({name}, dtype=float)" for name, _ in inputs]
    leading = [f"{name}.shape[:-{axes}]" if axes else f"{name}.shape" for name, axes in inputs]
    body.append(f"shape = np.broadcast_shapes({', '.join(leading)})")
    for name, shape in unit.signature.outputs:
        body.append(f"{names[name]} = np.empty({' + '.join(['shape', *([str(shape)] if shape else [])])})")
    lines = _body(unit, notation, names, _on_last_axes)
    body += ["with np.errstate(all='ignore'):", *(f"    {line}" for line in lines[:-1]), lines[-1]]
    use = "SI units, radians. Leading axes of the inputs broadcast and become those of the outputs."
    return _module(unit, names, "import numpy as np", [], body, use)


def _constants(module: str) -> Callable[[float], str]:
    def written(value: float) -> str:
        return repr(value) if math.isfinite(value) else f"{module}.nan" if math.isnan(value) else f"{module}.inf"

    return written


def _in_lists(index: tuple[int, ...]) -> str:
    """An index of nested lists: [1][2]"""
    return "".join(f"[{i}]" for i in index)


def _on_last_axes(index: tuple[int, ...]) -> str:
    """An index of the last axes of an array: [..., 1, 2]"""
    return "[" + ", ".join(["...", *map(str, index)]) + "]"


def _elements(unit: Unit, names: dict[str, str], place: Callable[[tuple[int, ...]], str]) -> Callable[[str, int], str]:
    """The notation of input elements, given their index row by row; matrices and scalars are also inputs."""
    indices = {name: tuple(product(*map(range, shape))) for name, shape in unit.signature.inputs}
    return lambda array, k: f"{names[array]}{place(indices[array][k])}"


def _zeros(shape: tuple[int, ...]) -> str:
    """Nested lists of zeros."""
    text = f"[0.0] * {shape[-1]}"
    for size in reversed(shape[:-1]):
        text = f"[{text} for _ in range({size})]"
    return text


def _body(unit: Unit, notation: Notation, names: dict[str, str], place: Callable[[tuple[int, ...]], str]) -> list[str]:
    """The assignments and the return statement."""
    shapes = dict(unit.signature.outputs)
    outputs = [
        f"{names[name]}{place(index)}" for name, shape in shapes.items() for index in product(*map(range, shape))
    ]
    statements = Statements(unit, notation)
    lines = []
    for statement in (*statements.angles, *statements.rest):
        left = statement.name or " = ".join(outputs[k] for k in statement.targets)
        lines.append(f"{left} = {statement.text}")
    return [*lines, f"return {', '.join(names[name] for name in shapes)}"]


def _module(unit: Unit, names: dict[str, str], imported: str, helpers: list[str], body: list[str], use: str) -> Source:
    about = description(unit, names, use, "double precision")
    arguments = ", ".join(names[name] for name, _ in unit.signature.inputs)
    function = "\n".join([
        f"def {unit.symbol}({arguments}):", f'    """{about[0].rstrip(".")}"""'.replace("\n", " "),
        *(f"    {line}" for line in body), "",
    ])  # fmt: skip
    text = "\n\n".join(
        ['"""' + "\n".join(about) + '\n"""', imported, "\n\n".join(["", *helpers, function]).lstrip("\n")]
    )
    return Source({f"{unit.symbol}.py": text}, unit.notes)


# -- a picture of the tape ---------------------------------------------------------------------------

SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "neg": "−", "sqrt": "√", "less": "<", "sign": "sgn"}


def dot(unit: Unit, settings: Settings) -> Source:
    """NAME.dot: one node per operation, one edge per operand; the first operand of − and ÷ comes from the left."""
    graph, inputs = unit.graph, unit.input_elements()
    names = {name: name for name, _ in (*unit.signature.inputs, *unit.signature.outputs)}
    use = "Boxes are elements of arrays, matrices row by row; circles are operations, operands from left to right."
    lines = [f'digraph "{unit.symbol}" {{', "    ordering=in; rankdir=TB; node [shape=circle, fontname=Helvetica];"]
    for line, ((op, args), live) in enumerate(zip(graph.nodes, live_lines(graph), strict=True)):
        if not live:
            continue
        if op == "input":
            array, element = inputs[line]
            lines.append(f'    n{line} [label="{array}[{element}]", shape=box];')
        elif op == "const":
            lines.append(f'    n{line} [label="{args[0]!r}", shape=plaintext];')
        else:
            lines.append(f'    n{line} [label="{SIGNS.get(op, op)}"];')
            lines += [f"    n{operand} -> n{line};" for operand in args]
    for k, ((array, element), line) in enumerate(zip(unit.output_elements(), graph.outputs, strict=True)):
        lines += [f'    out{k} [label="{array}[{element}]", shape=box, style=bold];', f"    n{line} -> out{k};"]
    about = commented("//", description(unit, names, use, "each once"))
    return Source({f"{unit.symbol}.dot": about + "\n".join([*lines, "}", ""])}, unit.notes)
