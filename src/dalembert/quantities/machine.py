"""The machine that traces, counts and compiles, one for the entries of all tables: :func:`trace`, :func:`price`,
:func:`kernel`.

A table (:mod:`joints`, :mod:`tip`, :mod:`gradients`, :mod:`rollouts`) says of each quantity which arrays go in and come
out, and its equations. To add a quantity, write its equations and a row in a table. Its derivatives (:mod:`derived`) need
no rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any

from dalembert.coordinates.chain import AnyMechanism
from dalembert.coordinates.loops import rows_of
from dalembert.coordinates.variants import VARIANTS, varied
from dalembert.equations.regressor import width
from dalembert.errors import DalembertError, SingularInertiaError
from dalembert.quantities.lighter import CLOSED_FORM, HELD, Arrays, closed_form, flat, has_closed_form
from dalembert.terms import Term

if TYPE_CHECKING:
    import numpy as np

    from dalembert.emit.signature import Signature
    from dalembert.graph.count import Operations
    from dalembert.graph.tape import Graph

Shape = tuple[str, ...]
Equations = Callable[..., Any]

CHEAPEST = "cheapest"
# the book's closed forms run to tens of thousands of lines: there the search for sums takes longer than it saves
CONDENSED_LENGTH = 6000

_ARRAY = re.compile(r"(\w+)(?:\((.*?)\))?")  # "J(6,n)", or "q" for an input whose shape is in INPUTS


def _shapes(text: str) -> dict[str, Shape]:
    """ "q, J(6,n)" → {"q": ("Q",), "J": ("6", "n")}"""
    arrays = ((match[1], match[2]) for match in _ARRAY.finditer(text))
    return {name: INPUTS[name] if shape is None else tuple(filter(None, shape.split(","))) for name, shape in arrays}


# the core shape of every input that is the same in all tables, in the letters of sizes_of and of a table
INPUTS = _shapes(
    "q(Q) qd(n) qdd(n) qd_r(n) qdd_r(n) tau(n) load(n) tree_q(N) tip_wrench(W) base_motion(9)"  # of the joints
    "parameters(K) lengths(D) payload(10) gravity(3) gears(N)"  # of the mechanism, where they are inputs
    "xdd(m) tau0(n) qdd0(n) size(n) soft(2)"  # of the tip; soft is (λ², μ²), the damping of both kinds of singularity
    "row_gains(4m) joint_gains(3n) surface(8)"
    "reference(3n) kp(n) kd(n) p(n)"  # of controllers, and momenta
)


def sizes_of(mechanism: AnyMechanism) -> dict[str, int]:
    """What the letters in the shapes of a mechanism's arrays stand for.

    n  joint variables                               N  joints of the tree, more than n in closed chains
    Q  numbers in q: N where Newton's method closes the loops, else n
    V  products of two velocities, q̇_i q̇_j with i ≤ j
    K  dynamic parameters of the N joints             D  lengths: 6 of each of the N joints, 3 of the tip
    P  points of the arm: both ends of each of the N joints, and the tip
    W  numbers in the wrenches: 6 at the tip, or of each contact
    L  loops                                         e  equations that close them
    """
    n, N = mechanism.n, mechanism.tree.n
    equations = sum(rows_of(loop) for loop in mechanism.loops)
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
        "e": equations,
    }


@dataclass(frozen=True)
class Quantity:
    """One thing to compute.

    arrays    what goes in and what comes out, as in "q, qd -> C(n,n)": names in ``INPUTS``, others with their core
              shape: letters of :func:`sizes_of` and of ``sizes``, numbers, and multiples such as 3n
    summary   what comes out, in words
    equations formulation → a function of the tree (or, without ``pulled`` and ``held``, of any mechanism), of what
              :meth:`of` binds, and of the arrays in their order; of an option that is not asked for, None
    options   further inputs that a caller may ask for, each making a kernel of its own; besides these, the numbers of
              the mechanism itself (:mod:`dalembert.coordinates.variants`) are options of every quantity
    pulled    a rule by which the quantity follows from that of the tree where coordinates are not the tree's: a
              function of the mechanism, the arrays by name, and the tree's equations
    held      besides or instead, equations of their own on the coordinates that are held, by formulation
    rivals    formulations of which the one with the fewest operations is taken unless one is named
    settled   the rival that is the lightest, a function of the mechanism; None where they must be traced to know
    whole     what no approximate model may leave out for it to have a meaning, of ``SUMMANDS``
    where     what a mechanism must have for it: "coordinates" that are not those of its tree, or "loops"
    sizes     what further letters stand for, a function of what :meth:`of` binds
    measured  what letters stand for that only the equations tell, a function of the mechanism
    acts      the same in several acts that follow each other, for machines with few registers: arrays as above, and
              equations; arrays that are no inputs go from act to act by their names. They are used where ``in_acts`` says
              so of a mechanism, without options and by the first formulation
    condensed up to how many lines the tape is searched for sums that repeat
    varies    whether numbers of the mechanism can be inputs; not where the shape of what comes out depends on them
    """

    arrays: str
    summary: str
    equations: Mapping[str, Equations]
    options: tuple[str, ...] = ()
    pulled: Callable[[Any, Arrays, Equations], Any] | None = None
    held: Mapping[str, Equations] = field(default_factory=dict)
    rivals: tuple[str, ...] = ()
    settled: Callable[[Any], str | None] = lambda mechanism: None
    whole: tuple[str, ...] = ()
    where: str = ""
    sizes: Callable[..., Mapping[str, int]] = dict
    measured: Callable[[AnyMechanism], Mapping[str, int]] = lambda mechanism: {}
    acts: tuple[tuple[str, Equations], ...] = ()
    in_acts: Callable[[Any], bool] = lambda mechanism: True
    condensed: float = CONDENSED_LENGTH
    varies: bool = True
    table: str = ""
    name: str = ""
    bound: tuple[Any, ...] = ()

    def of(self, *bound: Any) -> Quantity:
        """The same for this task space, or these columns."""
        return replace(self, bound=bound)

    def __reduce__(self) -> tuple[Any, ...]:
        return _looked_up, (self.table, self.name, self.bound)

    @cached_property
    def inputs(self) -> dict[str, Shape]:
        """The core shapes of what goes in, options aside."""
        return _shapes(self.arrays.split("->")[0])

    @cached_property
    def outputs(self) -> dict[str, Shape]:
        """The core shapes of what comes out."""
        return _shapes(self.arrays.split("->")[1])

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it apart from all others, in every process."""
        return self.table, self.name, repr(self.bound)

    def shapes_of(self, options: Iterable[str]) -> dict[str, Shape]:
        """The core shapes of these options."""
        return {option: INPUTS[option] for option in options}

    def formulations(self, mechanism: AnyMechanism) -> tuple[str, ...]:
        """The names of its formulations on this mechanism."""
        if self._as_written(mechanism):
            return tuple(self.equations)
        known = (*(self.equations if self.pulled else ()), *self.held)
        return (*known, CLOSED_FORM) if has_closed_form(mechanism) else known

    def _as_written(self, mechanism: AnyMechanism) -> bool:
        """Whether its equations hold on this mechanism as they are."""
        whole = mechanism.identity and not mechanism.omitted
        return whole or (self.pulled is None and not self.held)

    def chosen(self, formulation: str | None, mechanism: AnyMechanism, options: Iterable[str] = ()) -> str:
        """The formulation to use, the fastest unless one is named; or an error that lists those that exist.

        Where numbers of the mechanism are inputs, rivals are not traced to be compared: their order decides.
        """
        if missing := [name for name in mechanism.omitted if name in self.whole]:
            raise DalembertError(
                f"{self.name} has no meaning for an approximate model without {', '.join(missing)} terms; ask the whole "
                "arm, arm.replace(omitted=())"
            )
        known, contenders = self.formulations(mechanism), self.contenders(mechanism)
        compared = len(contenders) > 1 and VARIANTS.keys().isdisjoint(options)
        default = CHEAPEST if compared else contenders[0]
        if formulation is not None and formulation not in (*known, default):
            raise DalembertError(f"{self.name} has no formulation '{formulation}'; it has {', '.join(known)}")
        return formulation or default

    def contenders(self, mechanism: AnyMechanism) -> tuple[str, ...]:
        """The formulations of which the one with the fewest operations is taken unless one is named."""
        known = self.formulations(mechanism)
        rivals = known[:1]
        if self.rivals and set(self.rivals) <= set(known):
            lightest = self.settled(mechanism)
            rivals = self.rivals if lightest is None else (lightest,)
        return (*rivals, CLOSED_FORM) if mechanism.n <= HELD and CLOSED_FORM in known else rivals

    @property
    def takes(self) -> tuple[str, ...]:
        """All options that a caller may ask for: its own, and the numbers of the mechanism."""
        return (*self.options, *(name for name in VARIANTS if self.varies and name not in self.inputs))

    def check_options(self, options: Iterable[str]) -> None:
        """Refuse an option that the quantity does not take."""
        for option in options:
            if option not in self.takes:
                allowed = ", ".join(self.takes) or "none"
                raise DalembertError(f"{self.name} does not take '{option}'; the options it takes are: {allowed}")

    def values(self, mechanism: AnyMechanism, formulation: str, arrays: Arrays) -> Any:
        """What the equations give, on floats or on expressions."""
        if formulation == CLOSED_FORM:
            tree = self.formulations(mechanism)[0]
            return closed_form(arrays, lambda x: self.values(mechanism, tree, x))
        numbers = {name: arrays[name] for name in VARIANTS if name in arrays and name not in self.inputs}
        mechanism = varied(mechanism, numbers)
        arrays = {name: values for name, values in arrays.items() if name not in numbers}
        arrays = {**dict.fromkeys((*self.inputs, *self.options)), **arrays}
        as_written = self._as_written(mechanism)
        if self.pulled is not None and not as_written and formulation not in self.held:
            return self.pulled(mechanism, arrays, self.equations[formulation])
        equations = self.equations if as_written else self.held
        return equations[formulation](mechanism, *self.bound, *arrays.values())


# -- tables --------------------------------------------------------------------------------------

TABLES: dict[str, dict[str, Quantity]] = {}


def table(name: str, rows: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """The table of this name, which is that of its module in this room: its entries know where they stand."""
    TABLES[name] = {key: replace(row, table=name, name=key) for key, row in rows.items()}
    return TABLES[name]


def _looked_up(table: str, name: str, bound: tuple[Any, ...]) -> Quantity:
    """An entry in another process."""
    import_module(f"dalembert.quantities.{table}")
    return TABLES[table][name].of(*bound)


# -- from equations to kernels -------------------------------------------------------------------


def signature(mechanism: AnyMechanism, entry: Quantity, options: tuple[str, ...] = ()) -> Signature:
    """Names and core shapes of the kernel's arrays."""
    from dalembert.emit.signature import Signature

    letters = {**sizes_of(mechanism), **entry.sizes(*entry.bound), **entry.measured(mechanism)}

    def sized(shapes: Mapping[str, Shape]) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return tuple((name, tuple(_size(text, letters) for text in shape)) for name, shape in shapes.items())

    return Signature(sized({**entry.inputs, **entry.shapes_of(options)}), sized(entry.outputs))


def _size(text: str, letters: Mapping[str, int]) -> int:
    """ "6" → 6, "n" → n, "3n" → 3 n"""
    return int(text) if text.isdigit() else int(text[:-1] or 1) * letters[text[-1]]


def taped(shapes: Iterable[tuple[str, tuple[int, ...]]], equations: Equations, condensed: float = 0.0) -> Graph:
    """The graph of a function of arrays, simplified."""
    from dalembert.graph import passes, sums
    from dalembert.graph.tape import Graph

    graph = Graph()
    arrays = [[graph.input(f"{name}{k + 1}") for k in range(prod(shape))] for name, shape in shapes]
    graph.output(flat(equations(*arrays)))
    graph = passes.factored(passes.pruned(graph))
    return sums.condensed(graph) if len(graph.nodes) <= condensed else graph


def trace(
    mechanism: AnyMechanism, entry: Quantity, formulation: str | None = None, options: tuple[str, ...] = ()
) -> Graph:
    """The quantity's graph, simplified."""
    return taken(mechanism, entry, formulation, options)[1]


def taken(
    mechanism: AnyMechanism, entry: Quantity, formulation: str | None = None, options: tuple[str, ...] = ()
) -> tuple[str, Graph]:
    """The formulation that is taken, the lightest unless one is named, and its graph."""
    return _traced(mechanism, entry, entry.chosen(formulation, mechanism, options), options)


def has_acts(mechanism: AnyMechanism, entry: Quantity) -> bool:
    """Whether a quantity can be computed in several acts on this mechanism."""
    return bool(entry.acts) and entry._as_written(mechanism) and entry.in_acts(mechanism)


def acts_of(mechanism: AnyMechanism, entry: Quantity) -> list[tuple[Graph, Signature]]:
    """The tapes of a quantity's acts, and their arrays."""
    tapes = []
    for arrays, equations in entry.acts:
        act = replace(entry, arrays=arrays, acts=(), options=())
        shapes = signature(mechanism, act)
        tapes.append((taped(shapes.inputs, partial(equations, mechanism), entry.condensed), shapes))
    return tapes


def _traced(mechanism: AnyMechanism, entry: Quantity, formulation: str, options: tuple[str, ...]) -> tuple[str, Graph]:
    """The formulation that is taken, and its graph."""
    if formulation == CHEAPEST:
        from dalembert.graph.count import count
        from dalembert.symbols.harmonics import ClosedFormTooLarge

        graphs = []
        for rival in entry.contenders(mechanism):
            try:
                graphs.append(_traced(mechanism, entry, rival, options))
            except ClosedFormTooLarge:  # it does not compete
                continue
        return min(graphs, key=lambda rival: count(rival[1]).total)
    arrays = signature(mechanism, entry, options).inputs
    names = [name for name, _ in arrays]

    def equations(*values: Any) -> Any:
        return entry.values(mechanism, formulation, dict(zip(names, values, strict=True)))

    try:
        return formulation, taped(arrays, equations, entry.condensed)
    except ZeroDivisionError:  # while constants are folded
        raise SingularInertiaError(
            f"{entry.name} does not exist for this mechanism, which has no B⁻¹: every joint must move something that resists it"
        ) from None


@dataclass(frozen=True)
class Price:
    """What a quantity costs: ``written`` as the formulas stand, ``compiled`` after simplification."""

    written: Operations
    compiled: Operations


def price(
    mechanism: AnyMechanism, entry: Quantity, formulation: str | None = None, options: tuple[str, ...] = ()
) -> Price:
    """Count a quantity's operations both ways."""
    from dalembert.graph.count import count

    chosen = entry.chosen(formulation, mechanism, options)
    entry.check_options(options)
    taken, graph = _traced(mechanism, entry, chosen, options)
    return Price(written(mechanism, entry, taken, options), count(graph))


def written(mechanism: AnyMechanism, entry: Quantity, formulation: str, options: tuple[str, ...] = ()) -> Operations:
    """The operations of the formulas as they stand, nothing shared and nothing simplified."""
    from dalembert.graph.count import Tally

    tally = Tally()
    run_on(mechanism, entry, formulation, tally.scalar, options)
    return tally.operations()


def run_on(
    mechanism: AnyMechanism,
    entry: Quantity,
    formulation: str,
    scalar: Callable[[], Any],
    options: tuple[str, ...] = (),
) -> None:
    """Run a quantity's formulas as they stand on scalars of any kind."""
    shapes = signature(mechanism, entry, options).inputs
    arrays = {name: [scalar() for _ in range(prod(shape))] for name, shape in shapes}
    entry.values(mechanism, formulation, arrays)


def identity(mechanism: AnyMechanism) -> str:
    """What the kernels of a mechanism are kept by: its numbers, and the laws of its terms, which may be a user's own."""
    laws = [_law(term) for body in mechanism.tree.bodies for term in body.further]
    return "".join([repr(mechanism), *laws])


def _law(term: Term) -> str:
    """All that a term computes, as a tape."""
    from dalembert.graph.tape import Graph

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
    """The compiled gufunc: from memory, from the cache on disk, or made now; a bar names the arm that it is ``of``.

    It calculates in the ``scalar`` "double" or "float".
    """
    from dalembert.kernel.make import graph_kernel

    chosen = entry.chosen(formulation, mechanism, options)
    entry.check_options(options)
    return graph_kernel(
        (*entry.key, identity(mechanism), chosen, ",".join(options)),
        signature(mechanism, entry, options),
        lambda: trace(mechanism, entry, chosen, options),
        entry.name,
        entry.summary,
        (kernel, (mechanism, entry, chosen, options, of, scalar)),
        of or f"{mechanism.n} joints",
        scalar,
    )
