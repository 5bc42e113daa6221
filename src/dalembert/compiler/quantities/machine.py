"""The machine that traces, counts and compiles the entries of all tables: :func:`trace`, :func:`price`, :func:`kernel`.

A table (:mod:`joints`, :mod:`tip`, :mod:`gradients`, :mod:`rollouts`) lists the input and output arrays of each
quantity, and its equations. To add a quantity, write its equations and a row in a table. Its derivatives
(:mod:`derived`) need no rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any
from weakref import ref

from dalembert.base.algebra.scalars import flat
from dalembert.base.environment.cached_property import cached_property
from dalembert.errors import DalembertError, SingularInertiaError
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.mechanics.coordinates.loop_closure import rows_of
from dalembert.mechanics.coordinates.variable_parameters import VARIANTS, gears, lengths, varied
from dalembert.mechanics.equations.newton_euler import BaseMotion
from dalembert.mechanics.equations.regressor import parameters, width
from dalembert.robot.terms import Term

if TYPE_CHECKING:
    import numpy as np

    from dalembert.compiler.emit.signature import Signature
    from dalembert.compiler.graph.count import Operations
    from dalembert.compiler.graph.tape import Graph

Shape = tuple[str, ...]
Arrays = dict[str, Any]
Equations = Callable[..., Any]

CHEAPEST = "cheapest"
CLOSED_FORM = "closed-form"
MOST_COORDINATES = 4  # number of coordinates above which closed forms are tried only on request
# the book's closed forms have tens of thousands of lines: there the search for sums takes longer than it saves
CONDENSED_LENGTH = 6000

_ARRAY = re.compile(r"(\w+)(?:\((.*?)\))?")  # "J(6,n)", or "q" for an input whose shape is in INPUTS


def _shapes(text: str) -> dict[str, Shape]:
    """ "q, J(6,n)" → {"q": ("Q",), "J": ("6", "n")}"""
    arrays = ((match[1], match[2]) for match in _ARRAY.finditer(text))
    return {name: INPUTS[name] if shape is None else tuple(filter(None, shape.split(","))) for name, shape in arrays}


# the core shape of every input that is the same in all tables, in the letters of sizes_of and of a table
INPUTS = _shapes(
    "q(Q) qd(n) qdd(n) qd_r(n) qdd_r(n) tau(n) load(n) tree_q(N) tip_wrench(W) base_motion(9)"  # joint space
    "parameters(K) lengths(D) payload(10) gravity(3) gears(N)"  # numbers of the mechanism, if they are inputs
    "xdd(m) tau0(n) qdd0(n) size(n) soft(2)"  # tip; soft is (λ², μ²), the damping of both kinds of singularity
    "row_gains(4m) joint_gains(3n) surface(8)"
    "reference(3n) kp(n) kd(n) effort(n) speed(n) p(n)"  # controllers, and momenta
)


def sizes_of(mechanism: AnyMechanism) -> dict[str, int]:
    """The sizes that the letters in the shapes of a mechanism's arrays stand for.

    n  joint variables                               N  joints of the tree, more than n in closed chains
    Q  entries of q: N if Newton's method closes the loops, else n
    V  products of two velocities, q̇_i q̇_j with i ≤ j
    K  dynamic parameters of the N joints             D  lengths: 6 per joint of the tree, 3 of the tip
    P  points of the arm: both ends of each of the N joints, and the tip
    W  entries of the wrenches: 6 for the tip, or per contact
    L  loops                                         e  equations that close them
    """
    n, N = mechanism.n, mechanism.tree.n
    return {
        "n": n,
        "N": N,
        "Q": N if mechanism.by_newton else n,
        "V": n * (n + 1) // 2,
        "K": width(mechanism.tree),
        "D": 6 * N + 3,
        "P": 2 * N + 1,
        "W": 6 * max(1, len(mechanism.contacts)),
        "L": len(mechanism.loops),
        "e": sum(rows_of(loop) for loop in mechanism.loops),
    }


# the mechanism's own values of the entries of ``VARIANTS``; the payload is a further body, of which there is none
OWN_NUMBERS: dict[str, Callable[[AnyMechanism], Sequence[Any]]] = {
    "parameters": lambda mechanism: parameters(mechanism.tree),
    "lengths": lengths,
    "payload": lambda mechanism: [0.0] * 10,
    "gravity": lambda mechanism: mechanism.gravity,
    "gears": gears,
}


def has_closed_form(mechanism: AnyMechanism) -> bool:
    """Whether :mod:`harmonics` is an alternative to the equations of the tree: its joints follow linearly, q = T y + b."""
    return mechanism.linear and not mechanism.identity


@dataclass(frozen=True)
class Quantity:
    """A quantity to compute.

    arrays    inputs and outputs, as in "q, qd -> C(n,n)": names in ``INPUTS``, others with their core shape: letters of
              :func:`sizes_of` and of ``sizes``, numbers, and multiples such as 3n
    summary   the result, in words
    equations formulation → a function of the tree (or, without ``pulled`` and ``independent``, of any mechanism), of the
              arguments that :meth:`of` binds, and of the arrays in their order, ``base_motion`` as a
              BaseMotion; None for an option that is not requested
    options   further inputs that a caller may request, each of which makes a kernel of its own; in addition, the
              numbers of the mechanism itself (:mod:`dalembert.mechanics.coordinates.variable_parameters`) are options of every quantity
    pulled    a rule by which the quantity follows from that of the tree if the coordinates are not the tree's: a
              function of the mechanism, the arrays by name, and the tree's equations
    independent  in addition or instead, equations in the independent coordinates, by formulation
    rivals    formulations among which the one with the fewest operations is used by default, a function of the mechanism;
              several must be traced to find it
    whole     terms of ``SUMMANDS`` that an approximate model must not omit for the quantity to have a meaning
    where     what a mechanism must have: "coordinates" that are not those of its tree, or "loops"
    sizes     the values of further letters, a function of the mechanism and of the arguments that :meth:`of` binds
    phases    the same computation in several consecutive phases, for machines with few registers, a function of the
              mechanism: arrays as above, and equations; arrays that are not inputs are passed from phase to phase by name.
              They are used without options and with the first formulation
    condensed number of lines up to which the tape is searched for repeated sums
    varies    whether numbers of the mechanism can be inputs; False if the shape of the result depends on them
    """

    arrays: str
    summary: str
    equations: Mapping[str, Equations]
    options: tuple[str, ...] = ()
    pulled: Callable[[Any, Arrays, Equations], Any] | None = None
    independent: Mapping[str, Equations] = field(default_factory=dict)
    rivals: Callable[[Any], tuple[str, ...]] = lambda mechanism: ()
    whole: tuple[str, ...] = ()
    where: str = ""
    sizes: Callable[..., Mapping[str, int]] = lambda mechanism, *bound: {}
    phases: Callable[[Any], tuple[tuple[str, Equations], ...]] = lambda mechanism: ()
    condensed: float = CONDENSED_LENGTH
    varies: bool = True
    table: str = ""
    name: str = ""
    bound: tuple[Any, ...] = ()

    def of(self, *bound: Any) -> Quantity:
        """The same quantity for this task space, or these columns."""
        return replace(self, bound=bound)

    def __reduce__(self) -> tuple[Any, ...]:
        return _looked_up, (self.table, self.name, self.bound)

    @cached_property
    def inputs(self) -> dict[str, Shape]:
        """The core shapes of the inputs, without options."""
        return _shapes(self.arrays.split("->")[0])

    @cached_property
    def outputs(self) -> dict[str, Shape]:
        """The core shapes of the outputs."""
        return _shapes(self.arrays.split("->")[1])

    @property
    def key(self) -> tuple[str, ...]:
        """The identity of the quantity, the same in every process."""
        return self.table, self.name, repr(self.bound)

    def shapes_of(self, options: Iterable[str]) -> dict[str, Shape]:
        """The core shapes of these options."""
        return {option: INPUTS[option] for option in options}

    def formulations(self, mechanism: AnyMechanism) -> tuple[str, ...]:
        """The names of its formulations on this mechanism."""
        if self._as_written(mechanism):
            return tuple(self.equations)
        known = (*(self.equations if self.pulled else ()), *self.independent)
        return (*known, CLOSED_FORM) if has_closed_form(mechanism) else known

    def _as_written(self, mechanism: AnyMechanism) -> bool:
        """Whether its equations hold on this mechanism unchanged."""
        whole = mechanism.identity and not mechanism.omitted
        return whole or (self.pulled is None and not self.independent)

    def choice(self, formulation: str | None, mechanism: AnyMechanism, options: Iterable[str] = ()) -> str:
        """The formulation to use, by default the fastest; otherwise an error that lists the existing ones.

        If numbers of the mechanism are inputs, the rivals are not traced and compared: their order decides.
        """
        if missing := [name for name in mechanism.omitted if name in self.whole]:
            raise DalembertError(
                f"{self.name} is not defined for an approximate model without {', '.join(missing)} terms; use the complete "
                "arm, arm.replace(omitted=())"
            )
        known, contenders = self.formulations(mechanism), self.contenders(mechanism)
        compared = len(contenders) > 1 and VARIANTS.keys().isdisjoint(options)
        default = CHEAPEST if compared else contenders[0]
        if formulation is not None and formulation not in (*known, default):
            raise DalembertError(
                f"{self.name} has no formulation '{formulation}'; its formulations are {', '.join(known)}"
            )
        return formulation or default

    def contenders(self, mechanism: AnyMechanism) -> tuple[str, ...]:
        """The formulations among which the one with the fewest operations is used by default."""
        known = self.formulations(mechanism)
        rivals = tuple(name for name in self.rivals(mechanism) if name in known) or known[:1]
        return (*rivals, CLOSED_FORM) if mechanism.n <= MOST_COORDINATES and CLOSED_FORM in known else rivals

    @property
    def takes(self) -> tuple[str, ...]:
        """All options that a caller may request: its own, and the numbers of the mechanism."""
        return (*self.options, *(name for name in VARIANTS if self.varies and name not in self.inputs))

    def check_options(self, options: Iterable[str]) -> None:
        """Refuse an option that the quantity does not take."""
        for option in options:
            if option not in self.takes:
                allowed = ", ".join(self.takes) or "none"
                raise DalembertError(f"{self.name} does not take '{option}'; its options are: {allowed}")

    def values(self, mechanism: AnyMechanism, formulation: str, arrays: Arrays) -> Any:
        """The result of the equations, on floats or on expressions."""
        if formulation == CLOSED_FORM:
            from dalembert.compiler.quantities.harmonics import closed_form

            tree = self.formulations(mechanism)[0]
            return closed_form(arrays, lambda x: self.values(mechanism, tree, x))
        numbers = {name: arrays[name] for name in VARIANTS if name in arrays and name not in self.inputs}
        mechanism = varied(mechanism, numbers)
        arrays = {name: values for name, values in arrays.items() if name not in numbers}
        arrays = {**dict.fromkeys((*self.inputs, *self.options)), **arrays}
        if arrays.get("base_motion") is not None:
            arrays["base_motion"] = BaseMotion.of(arrays["base_motion"])
        as_written = self._as_written(mechanism)
        if self.pulled is not None and not as_written and formulation not in self.independent:
            return self.pulled(mechanism, arrays, self.equations[formulation])
        equations = self.equations if as_written else self.independent
        return equations[formulation](mechanism, *self.bound, *arrays.values())


# -- tables --------------------------------------------------------------------------------------

TABLES: dict[str, dict[str, Quantity]] = {}


def table(name: str, rows: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """The table of this name, which is that of its module in this package: its entries know their place."""
    TABLES[name] = {key: replace(row, table=name, name=key) for key, row in rows.items()}
    return TABLES[name]


def _looked_up(table: str, name: str, bound: tuple[Any, ...]) -> Quantity:
    """An entry, looked up in another process."""
    import_module(f"dalembert.compiler.quantities.{table}")
    return TABLES[table][name].of(*bound)


# -- from equations to kernels -------------------------------------------------------------------


def signature(mechanism: AnyMechanism, entry: Quantity, options: tuple[str, ...] = ()) -> Signature:
    """Names and core shapes of the kernel's arrays."""
    from dalembert.compiler.emit.signature import Signature

    letters = {**sizes_of(mechanism), **entry.sizes(mechanism, *entry.bound)}

    def sized(shapes: Mapping[str, Shape]) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return tuple((name, tuple(size_of(text, letters) for text in shape)) for name, shape in shapes.items())

    return Signature(sized({**entry.inputs, **entry.shapes_of(options)}), sized(entry.outputs))


def size_of(text: str, letters: Mapping[str, int]) -> int:
    """ "6" → 6, "n" → n, "3n" → 3 n"""
    return int(text) if text.isdigit() else int(text[:-1] or 1) * letters[text[-1]]


def taped(
    shapes: Iterable[tuple[str, tuple[int, ...]]], equations: Equations, condensed: float = 0.0, name: str = ""
) -> Graph:
    """The graph of a function of arrays, simplified; an error of the inertia names the quantity."""
    from dalembert.compiler.graph import passes, sums
    from dalembert.compiler.graph.tape import Graph

    graph = Graph()
    arrays = [[graph.input(f"{name}{k + 1}") for k in range(prod(shape))] for name, shape in shapes]
    try:
        graph.output(flat(equations(*arrays)))
    except ZeroDivisionError:  # during constant folding
        raise SingularInertiaError(
            f"{name or 'a step'} does not exist for this mechanism, which has no B⁻¹: every joint must move some inertia"
        ) from None
    graph = passes.factored(passes.pruned(graph))
    return sums.condensed(graph) if len(graph.nodes) <= condensed else graph


def trace(
    mechanism: AnyMechanism, entry: Quantity, formulation: str | None = None, options: tuple[str, ...] = ()
) -> Graph:
    """The quantity's graph, simplified."""
    return traced(mechanism, entry, formulation, options)[1]


def has_phases(mechanism: AnyMechanism, entry: Quantity) -> bool:
    """Whether a quantity can be computed in several phases on this mechanism."""
    return entry._as_written(mechanism) and bool(entry.phases(mechanism))


def phases_of(mechanism: AnyMechanism, entry: Quantity) -> list[tuple[Graph, Signature]]:
    """The tapes of a quantity's phases, and their arrays."""
    tapes = []
    for arrays, equations in entry.phases(mechanism):
        shapes = signature(mechanism, replace(entry, arrays=arrays, options=()))
        tapes.append((taped(shapes.inputs, partial(equations, mechanism), entry.condensed), shapes))
    return tapes


def traced(
    mechanism: AnyMechanism, entry: Quantity, formulation: str | None = None, options: tuple[str, ...] = ()
) -> tuple[str, Graph]:
    """The formulation that is used, by default the cheapest, and its graph."""
    choice = entry.choice(formulation, mechanism, options)
    if choice == CHEAPEST:
        from dalembert.compiler.graph.count import count
        from dalembert.compiler.quantities.harmonics import ClosedFormTooLarge

        graphs = []
        for rival in entry.contenders(mechanism):
            with suppress(ClosedFormTooLarge):  # it does not compete
                graphs.append(traced(mechanism, entry, rival, options))
        return min(graphs, key=lambda rival: count(rival[1]).total)
    arrays = signature(mechanism, entry, options).inputs
    names = [name for name, _ in arrays]

    def equations(*values: Any) -> Any:
        return entry.values(mechanism, choice, dict(zip(names, values, strict=True)))

    return choice, taped(arrays, equations, entry.condensed, entry.name)


@dataclass(frozen=True)
class Price:
    """The cost of a quantity: ``written`` for the printed formulas, ``compiled`` after simplification."""

    written: Operations
    compiled: Operations


def price(
    mechanism: AnyMechanism, entry: Quantity, formulation: str | None = None, options: tuple[str, ...] = ()
) -> Price:
    """The operations of a quantity, written and compiled."""
    from dalembert.compiler.graph.count import count

    entry.choice(formulation, mechanism, options)
    entry.check_options(options)
    choice, graph = traced(mechanism, entry, formulation, options)
    return Price(written(mechanism, entry, choice, options), count(graph))


def written(mechanism: AnyMechanism, entry: Quantity, formulation: str, options: tuple[str, ...] = ()) -> Operations:
    """The operations of the printed formulas, without sharing and simplification."""
    from dalembert.compiler.graph.count import Counted, Operations

    counts: Counter[str] = Counter()
    run_on(mechanism, entry, formulation, lambda: Counted(lambda field: counts.update((field,))), options)
    return Operations(**counts)


def run_on(
    mechanism: AnyMechanism,
    entry: Quantity,
    formulation: str,
    scalar: Callable[[], Any],
    options: tuple[str, ...] = (),
) -> None:
    """Run a quantity's printed formulas on scalars of any kind."""
    shapes = signature(mechanism, entry, options).inputs
    arrays = {name: [scalar() for _ in range(prod(shape))] for name, shape in shapes}
    entry.values(mechanism, formulation, arrays)


def identity(mechanism: AnyMechanism) -> str:
    """The key under which the kernels of a mechanism are stored: its numbers, and the laws of its terms, including a user's."""
    known = _IDENTITIES.get(id(mechanism))
    if known is None or known[0]() is not mechanism:
        laws = [_law(term) for body in mechanism.tree.bodies for term in body.further]
        key, text = id(mechanism), "".join([repr(mechanism), *laws])
        _IDENTITIES[key] = known = ref(mechanism, lambda _: _IDENTITIES.pop(key, None)), text
    return known[1]


# by id, since a mechanism is compared by its numbers: as long as it lives, its text
_IDENTITIES: dict[int, tuple[ref[Any], str]] = {}


def _law(term: Term) -> str:
    """Everything that a term computes, as a tape."""
    from dalembert.compiler.graph.tape import Graph

    graph = Graph()
    q, qd, load = map(graph.input, ("q", "qd", "load"))
    columns = term.columns(q, qd, load) if term.linear() else ()
    graph.output([*columns, term.torque(q, qd, load), *term.static(q, load)])
    return repr((term.of, graph.nodes, graph.outputs))


def kernel(
    mechanism: AnyMechanism,
    entry: Quantity,
    formulation: str | None = None,
    options: tuple[str, ...] = (),
    of: str = "",
    scalar: str = "double",
) -> np.ufunc:
    """The compiled gufunc: from memory, from the cache on disk, or newly compiled; a progress bar names the arm ``of``.

    It computes in the ``scalar`` "double" or "float".
    """
    from dalembert.compiler.kernel.make import graph_kernel

    choice = entry.choice(formulation, mechanism, options)
    entry.check_options(options)
    return graph_kernel(
        (*entry.key, identity(mechanism), choice, ",".join(options)), signature(mechanism, entry, options),
        lambda: trace(mechanism, entry, choice, options), entry.name, entry.summary,
        (kernel, (mechanism, entry, choice, options, of, scalar)), of or f"{mechanism.n} joints", scalar,
    )  # fmt: skip
