"""Derivatives of any quantity, again as quantities: weighted gradients, directional derivatives, Jacobians.

:func:`gradient` multiplies the Jacobian of y(x) from the left: with one weight w_y per output it gives d_x = ∂(Σ
w∘y)/∂x for each input, in one reverse sweep over the tape, at a few times the cost of y itself. :func:`tangent`
multiplies from the right: t_y = Σ ∂y/∂x t_x, in one forward sweep. Neither forms the Jacobian itself, which is
:func:`jacobian`. All of them return a :class:`Quantity`, so they are traced, counted, compiled, cached and pickled like
the entries of a table, and can be differentiated again.

Where a function is not smooth, its derivatives are those of its smooth pieces: sgn, comparisons and choices are
constant between their jumps, so Coulomb friction contributes nothing. If loops are closed by Newton's method, a kernel
takes q of all joints of the tree; derivatives are with respect to the actuated q, through Γ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from dalembert.base.algebra.scalars import flat
from dalembert.compiler.quantities.machine import Arrays, Quantity, Shape, signature
from dalembert.errors import DalembertError
from dalembert.mechanics.coordinates.chain import AnyMechanism, Chain

if TYPE_CHECKING:
    from dalembert.compiler.graph.tape import Graph

Lists = dict[str, list[Any]]


@dataclass(frozen=True)
class Derived(Quantity):
    """A derivative of another quantity.

    source    the quantity that is differentiated, with these ``inner`` options; further options are not differentiated
    by        the inputs and options with respect to which it is differentiated
    weights   the array to which each weight (of a gradient) or direction (of a tangent) belongs, by name; none for a
              Jacobian
    mode      one of ``MODES``
    """

    source: Quantity = None  # type: ignore[assignment]  # fields after those with defaults need one
    inner: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    weights: Mapping[str, str] = None  # type: ignore[assignment]
    mode: str = ""

    def of(self, *bound: Any) -> Quantity:
        """The same derivative of the source for this task space, or these columns."""
        return derivative_of(self.mode, self.source.of(*bound), self.inner, self.by)

    def __reduce__(self) -> tuple[Any, ...]:
        return derivative_of, (self.mode, self.source, self.inner, self.by)

    @property
    def key(self) -> tuple[str, ...]:
        """The identity of the quantity: what is differentiated, and how."""
        return self.mode, ",".join(self.inner), ",".join(self.by), *self.source.key

    def formulations(self, mechanism: AnyMechanism) -> tuple[str, ...]:
        """The formulations of the source."""
        return self.source.formulations(mechanism)

    def contenders(self, mechanism: AnyMechanism) -> tuple[str, ...]:
        """The candidates of the source; the one whose derivative has the fewest operations is used."""
        return self.source.contenders(mechanism)

    def values(self, mechanism: AnyMechanism, formulation: str, arrays: Arrays) -> Any:
        """The derivative, on the tape of its inputs; for other scalars, such as floats, on a tape of its own."""
        from dalembert.compiler.graph.passes import pruned
        from dalembert.compiler.graph.tape import ON_SCALARS, Expr, Graph, evaluate

        scalars = [scalar for row in arrays.values() for scalar in row]
        if all(isinstance(scalar, Expr) and scalar.graph.op(scalar.line) == "input" for scalar in scalars):
            return list(self._on_tape(mechanism, formulation, scalars[0].graph, arrays))
        graph = Graph()
        x = {name: [graph.input(f"{name}.{k}") for k in range(len(row))] for name, row in arrays.items()}
        graph.output(self._on_tape(mechanism, formulation, graph, x))
        return evaluate(pruned(graph), scalars, ON_SCALARS)

    def _on_tape(self, mechanism: AnyMechanism, formulation: str, graph: Graph, x: Lists) -> Iterable[Any]:
        """The derivative with respect to inputs on a tape."""
        from dalembert.compiler.graph.tape import Expr

        inner = {name: row for name, row in x.items() if name not in self.weights}
        y = list(flat(self.source.values(mechanism, formulation, inner)))
        if not all(isinstance(value, (Expr, int, float)) for value in y):
            raise DalembertError(
                f"{self.name} has no written formulas if numbers of the mechanism are inputs: it exists only on the tape"
            )
        return MODES[self.mode](self, mechanism, graph, x, y)


def _gradient(entry: Derived, mechanism: AnyMechanism, graph: Graph, x: Lists, y: list[Any]) -> Iterable[Any]:
    """∂(Σ w∘y)/∂x, by a reverse sweep over the tape."""
    from dalembert.compiler.graph import derivative

    weights = [w for name in entry.weights for w in x[name]]
    total = sum((w * value for w, value in zip(weights, y, strict=True)), 0.0)
    slopes = iter(derivative.gradient(graph, total, [scalar for name in entry.by for scalar in x[name]]))
    for name in entry.by:
        row = [next(slopes) for _ in x[name]]
        yield from Chain(mechanism, x["q"]).pull(row) if _follows(mechanism, name) else row


def _tangent(entry: Derived, mechanism: AnyMechanism, graph: Graph, x: Lists, y: list[Any]) -> Iterable[Any]:
    """Σ ∂y/∂x t_x, by a forward sweep over the tape."""
    from dalembert.compiler.graph import derivative

    seeds: dict[int, Any] = {}
    for direction, name in entry.weights.items():
        seeds |= _seeds(mechanism, x, name, x[direction])
    return derivative.forward(graph, y, seeds)


def _seeds(mechanism: AnyMechanism, x: Lists, name: str, direction: list[Any]) -> dict[int, Any]:
    """The slopes of an input's lines along a direction."""
    row = Chain(mechanism, x["q"]).push(direction) if _follows(mechanism, name) else direction
    return {scalar.line: slope for scalar, slope in zip(x[name], row, strict=True)}


def _jacobian(entry: Derived, mechanism: AnyMechanism, graph: Graph, x: Lists, y: list[Any]) -> Iterable[Any]:
    """∂y/∂x, by forward or reverse sweeps, whichever are fewer."""
    from dalembert.compiler.graph import derivative

    sizes = {name: mechanism.n if _follows(mechanism, name) else len(x[name]) for name in entry.by}
    rows: list[dict[str, list[Any]]] = [{} for _ in y]
    if sum(sizes.values()) <= len(y):
        for name, size in sizes.items():
            units = ([1.0 if k == j else 0.0 for j in range(size)] for k in range(size))
            columns = [derivative.forward(graph, y, _seeds(mechanism, x, name, unit)) for unit in units]
            for i, row in enumerate(rows):
                row[name] = [column[i] for column in columns]
    else:
        inputs = [scalar for name in entry.by for scalar in x[name]]
        for row, slopes in zip(rows, map(iter, derivative.jacobian(graph, y, inputs)), strict=True):
            for name in entry.by:
                part = [next(slopes) for _ in x[name]]
                row[name] = Chain(mechanism, x["q"]).pull(part) if _follows(mechanism, name) else part
    at = iter(rows)
    for _, shape in signature(mechanism, entry.source, entry.inner).outputs:
        own = [next(at) for _ in range(prod(shape))]
        for name in entry.by:
            yield from (slope for row in own for slope in row[name])


MODES: dict[str, Callable[..., Iterable[Any]]] = {"gradient": _gradient, "tangent": _tangent, "jacobian": _jacobian}


def _follows(mechanism: AnyMechanism, name: str) -> bool:
    """Whether an input holds joints of the tree that move with q_a: dq = Γ dq_a."""
    return name == "q" and mechanism.by_newton


def derivative_of(
    mode: str, source: Quantity, options: tuple[str, ...] = (), by: tuple[str, ...] | None = None
) -> Derived:
    """A derivative of a quantity with these options, with respect to all of its inputs or to those in ``by``."""
    source.check_options(options)
    inputs = {**source.inputs, **source.shapes_of(options)}
    by = tuple(inputs) if by is None else by
    if not by or len(set(by) & inputs.keys()) < len(by):
        raise DalembertError(
            f"{source.name} cannot be differentiated with respect to ({', '.join(by)}); name at least one input, each once: "
            f"with the given options these are {', '.join(inputs)}"
        )
    sizes = {name: ("n",) if shape == ("Q",) else shape for name, shape in inputs.items()}
    weights: dict[str, str] = {}
    if mode == "gradient":
        weights = _distinct("w_", source.outputs, inputs)
        further = {name: source.outputs[y] for name, y in weights.items()}
        outputs = {f"d_{name}": sizes[name] for name in by}
        what = f"∂(Σ w∘y)/∂({', '.join(by)})"
    elif mode == "tangent":
        weights = _distinct("t_", by, inputs)
        further = {name: sizes[x] for name, x in weights.items()}
        outputs = {f"t_{name}": shape for name, shape in source.outputs.items()}
        what = f"Σ ∂y/∂x t_x for ({', '.join(by)})"
    else:
        further = {}
        outputs = {f"d_{y}_d_{x}": (*shape, *sizes[x]) for y, shape in source.outputs.items() for x in by}
        what = f"∂y/∂({', '.join(by)})"
    same = ("whole", "where", "sizes", "varies", "condensed", "table", "bound")
    return Derived(
        f"{_text({**inputs, **further})} -> {_text(outputs)}", f"{what}, y = {source.summary}", {},
        options=tuple(option for option in source.options if option not in options), name=f"{source.name}_{mode}",
        source=source, inner=options, by=by, weights=weights, mode=mode, **{name: getattr(source, name) for name in same},
    )  # fmt: skip


# ∂(Σ w∘y)/∂x: the inputs are those of y, its options, and a weight w_y per output; the outputs d_x
gradient = partial(derivative_of, "gradient")
# Σ ∂y/∂x t_x: the inputs are those of y, its options, and a direction t_x per x; the outputs t_y
tangent = partial(derivative_of, "tangent")
# ∂y/∂x, y's axes first: the inputs are those of y and its options; the outputs d_y_d_x, grouped by y
jacobian = partial(derivative_of, "jacobian")


def derivative_by(entry: Quantity, by: tuple[str, ...]) -> Derived:
    """The same derivative with respect to these inputs; options of the source that are among them become inputs."""
    if not isinstance(entry, Derived):
        modes = ", ".join(f"{entry.name}_{mode}" for mode in MODES)
        raise DalembertError(
            f"{entry.name} is not a derivative, so it takes no variables {', '.join(by)}; name one of {modes}"
        )
    further = tuple(x for x in by if x in entry.source.takes and x not in entry.inner)
    return derivative_of(entry.mode, entry.source, (*entry.inner, *further), by)


def _text(shapes: Mapping[str, Shape]) -> str:
    return ", ".join(f"{name}({','.join(shape)})" for name, shape in shapes.items())


def _distinct(prefix: str, names: Iterable[str], existing: Iterable[str]) -> dict[str, str]:
    """A name with the prefix for each; the prefix is repeated if that name is taken, for derivatives of derivatives."""
    used, out = set(existing), {}
    for name in names:
        new = prefix + name
        while new in used:
            new = prefix + new
        used.add(new)
        out[new] = name
    return out
