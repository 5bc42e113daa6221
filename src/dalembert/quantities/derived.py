"""Derivatives of any quantity, again as quantities: weighted gradients, directional derivatives, Jacobians.

:func:`gradient` multiplies the Jacobian of y(x) from the left: of weights w_y for each output it gives d_x = ∂(Σ w∘y)/∂x
for each input, in one sweep back over the tape, at a few times the price of y itself. :func:`tangent` multiplies from the
right: t_y = Σ ∂y/∂x t_x, along the tape. Neither makes the Jacobian itself, which is :func:`jacobian`. All give a
:class:`Quantity`, so that they are traced, counted, compiled, cached and pickled like the entries of a table, and can be
differentiated again.

Where a function is not smooth, its derivatives are those of its pieces: sgn, comparisons and choices are constant
between their jumps, so that Coulomb friction adds nothing. Where loops are closed by Newton's method a kernel takes q of
all joints of the tree; derivatives are by the q that are held, through Γ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from dalembert.coordinates.chain import AnyMechanism, Chain
from dalembert.errors import DalembertError
from dalembert.quantities.lighter import SCALARS, Arrays, flat
from dalembert.quantities.machine import Quantity, Shape, signature

if TYPE_CHECKING:
    from dalembert.graph.tape import Graph

Lists = dict[str, list[Any]]


def gradient(entry: Quantity, options: tuple[str, ...] = (), by: tuple[str, ...] | None = None) -> Derived:
    """∂(Σ w∘y)/∂x of a quantity y with these options, for all of its inputs or for those asked for.

    Its inputs are those of y, its options, and a weight w_y per output; its outputs d_x.
    """
    return derivative_of("gradient", entry, options, by)


def tangent(entry: Quantity, options: tuple[str, ...] = (), by: tuple[str, ...] | None = None) -> Derived:
    """Σ ∂y/∂x t_x of a quantity y with these options, along directions of all of its inputs or of those asked for.

    Its inputs are those of y, its options, and a direction t_x per input; its outputs t_y.
    """
    return derivative_of("tangent", entry, options, by)


def jacobian(entry: Quantity, options: tuple[str, ...] = (), by: tuple[str, ...] | None = None) -> Derived:
    """∂y/∂x of every output y of a quantity by all of its inputs x or by those asked for: y's axes, then those of x.

    Its inputs are those of y and its options; its outputs d_y_d_x, those of one y together.
    """
    return derivative_of("jacobian", entry, options, by)


@dataclass(frozen=True)
class Derived(Quantity):
    """A derivative of another quantity.

    source    what is differentiated, with ``taken`` options; options that it is given besides stay as they are
    by        by which of its inputs and options
    weights   what each weight (of a gradient) or direction (of a tangent) belongs to, by its name; a Jacobian has none
    mode      which of ``MODES``
    """

    source: Quantity = None  # type: ignore[assignment]  # fields after those with defaults need one
    taken: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    weights: Mapping[str, str] = None  # type: ignore[assignment]
    mode: str = ""

    def of(self, *bound: Any) -> Quantity:
        """The same of the source for this task space, or these columns."""
        return derivative_of(self.mode, self.source.of(*bound), self.taken, self.by)

    def __reduce__(self) -> tuple[Any, ...]:
        return derivative_of, (self.mode, self.source, self.taken, self.by)

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it apart: what is differentiated, and how."""
        return self.mode, ",".join(self.taken), ",".join(self.by), *self.source.key

    def formulations(self, mechanism: AnyMechanism) -> tuple[str, ...]:
        """Those of the source."""
        return self.source.formulations(mechanism)

    def contenders(self, mechanism: AnyMechanism) -> tuple[str, ...]:
        """Those of the source; the one whose derivative has the fewest operations is taken."""
        return self.source.contenders(mechanism)

    def values(self, mechanism: AnyMechanism, formulation: str, arrays: Arrays) -> Any:
        """The derivative: on the tape of its inputs; of other scalars, such as floats, by way of a tape of its own."""
        from dalembert.graph.passes import pruned
        from dalembert.graph.tape import Expr, Graph, evaluate

        scalars = [scalar for row in arrays.values() for scalar in row]
        if all(isinstance(scalar, Expr) and scalar.graph.op(scalar.line) == "input" for scalar in scalars):
            return list(self._on_tape(mechanism, formulation, scalars[0].graph, arrays))
        graph = Graph()
        x = {name: [graph.input(f"{name}.{k}") for k in range(len(row))] for name, row in arrays.items()}
        graph.output(self._on_tape(mechanism, formulation, graph, x))
        return evaluate(pruned(graph), scalars, SCALARS)

    def _on_tape(self, mechanism: AnyMechanism, formulation: str, graph: Graph, x: Lists) -> Iterable[Any]:
        """The derivative by inputs of a tape."""
        from dalembert.graph.tape import Expr

        inner = {name: row for name, row in x.items() if name not in self.weights}
        y = list(flat(self.source.values(mechanism, formulation, inner)))
        if not all(isinstance(value, (Expr, int, float)) for value in y):
            raise DalembertError(
                f"{self.name} has no formulas as written where numbers of the mechanism are inputs: it exists on the tape only"
            )
        return MODES[self.mode](self, mechanism, graph, x, y)


def _gradient(entry: Derived, mechanism: AnyMechanism, graph: Graph, x: Lists, y: list[Any]) -> Iterable[Any]:
    """∂(Σ w∘y)/∂x, back over the tape."""
    from dalembert.graph import derivative

    weights = [w for name in entry.weights for w in x[name]]
    total = sum((w * value for w, value in zip(weights, y, strict=True)), 0.0)
    slopes = iter(derivative.gradient(graph, total, [scalar for name in entry.by for scalar in x[name]]))
    for name in entry.by:
        row = [next(slopes) for _ in x[name]]
        yield from Chain(mechanism, x["q"]).pull(row) if _follows(mechanism, name) else row


def _tangent(entry: Derived, mechanism: AnyMechanism, graph: Graph, x: Lists, y: list[Any]) -> Iterable[Any]:
    """Σ ∂y/∂x t_x, along the tape."""
    from dalembert.graph import derivative

    seeds: dict[int, Any] = {}
    for direction, name in entry.weights.items():
        row = Chain(mechanism, x["q"]).push(x[direction]) if _follows(mechanism, name) else x[direction]
        seeds |= {scalar.line: slope for scalar, slope in zip(x[name], row, strict=True)}
    return derivative.forward(graph, y, seeds)


def _jacobian(entry: Derived, mechanism: AnyMechanism, graph: Graph, x: Lists, y: list[Any]) -> Iterable[Any]:
    """∂y/∂x, along the tape or back over it: in the fewest sweeps."""
    from dalembert.graph import derivative

    sizes = {name: mechanism.n if _follows(mechanism, name) else len(x[name]) for name in entry.by}
    rows: list[dict[str, list[Any]]] = [{} for _ in y]
    if sum(sizes.values()) <= len(y):
        for name, size in sizes.items():
            columns = []
            for k in range(size):
                unit = [1.0 if k == j else 0.0 for j in range(size)]
                along = Chain(mechanism, x["q"]).push(unit) if _follows(mechanism, name) else unit
                seeds = {scalar.line: slope for scalar, slope in zip(x[name], along, strict=True)}
                columns.append(derivative.forward(graph, y, seeds))
            for i, row in enumerate(rows):
                row[name] = [column[i] for column in columns]
    else:
        inputs = [scalar for name in entry.by for scalar in x[name]]
        for row, slopes in zip(rows, map(iter, derivative.jacobian(graph, y, inputs)), strict=True):
            for name in entry.by:
                part = [next(slopes) for _ in x[name]]
                row[name] = Chain(mechanism, x["q"]).pull(part) if _follows(mechanism, name) else part
    at = iter(rows)
    for _, shape in signature(mechanism, entry.source, entry.taken).outputs:
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
    """A derivative of a quantity with these options, by the name of its mode."""
    source.check_options(options)
    inputs = {**source.inputs, **source.shapes_of(options)}
    by = tuple(inputs) if by is None else by
    if wrong := [name for name in by if name not in inputs]:
        raise DalembertError(
            f"{source.name} has no input '{wrong[0]}' to differentiate by; with the options that are given it has "
            f"{', '.join(inputs)}"
        )
    if not by or len(set(by)) < len(by):
        raise DalembertError(
            f"{source.name} is to be differentiated by ({', '.join(by)}); name each input once, and at least one of "
            f"{', '.join(inputs)}"
        )
    held = {name: ("n",) if shape == ("Q",) else shape for name, shape in inputs.items()}
    if mode == "gradient":
        weights = _distinct("w_", source.outputs, inputs)
        further = {name: source.outputs[y] for name, y in weights.items()}
        outputs = {f"d_{name}": held[name] for name in by}
        summary = f"∂(Σ w∘y)/∂({', '.join(by)}), y = {source.summary}"
    elif mode == "jacobian":
        weights, further = {}, {}
        outputs = {f"d_{y}_d_{x}": (*shape, *held[x]) for y, shape in source.outputs.items() for x in by}
        summary = f"∂y/∂({', '.join(by)}), y = {source.summary}"
    else:
        weights = _distinct("t_", by, inputs)
        further = {name: held[x] for name, x in weights.items()}
        outputs = {f"t_{name}": shape for name, shape in source.outputs.items()}
        summary = f"Σ ∂y/∂x t_x by ({', '.join(by)}), y = {source.summary}"
    return Derived(
        f"{_text({**inputs, **further})} -> {_text(outputs)}", summary, {},
        options=tuple(option for option in source.options if option not in options), whole=source.whole, where=source.where, sizes=source.sizes, measured=source.measured, varies=source.varies, condensed=source.condensed, table=source.table,
        name=f"{source.name}_{mode}", bound=source.bound, source=source, taken=options, by=by, weights=weights, mode=mode,
    )  # fmt: skip


def derivative_by(entry: Quantity, by: tuple[str, ...]) -> Derived:
    """The same derivative by these inputs; options of what is differentiated, named among them, become inputs."""
    if not isinstance(entry, Derived):
        modes = ", ".join(f"{entry.name}_{mode}" for mode in MODES)
        raise DalembertError(
            f"{entry.name} is not a derivative, and cannot be one by {', '.join(by)}; name one of {modes}"
        )
    further = tuple(x for x in by if x in entry.source.takes and x not in entry.taken)
    return derivative_of(entry.mode, entry.source, (*entry.taken, *further), by)


def _text(shapes: Mapping[str, Shape]) -> str:
    return ", ".join(f"{name}({','.join(shape)})" for name, shape in shapes.items())


def _distinct(prefix: str, names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """A name with the prefix for each, with the prefix once more where that is taken: derivatives of derivatives."""
    used, out = set(taken), {}
    for name in names:
        new = prefix + name
        while new in used:
            new = prefix + new
        used.add(new)
        out[new] = name
    return out
