"""Programs: the same few functions called repeatedly on a memory of named slots.

A rollout is a program: one pass calls functions in order, and every call reads some slots and writes
others; a step may take several passes, and a rollout takes many steps. This module does not know what
the functions compute. A :class:`Recorder` notes the calls that a step makes; :func:`perform` runs one step in plain
Python, on floats or on arrays; :mod:`dalembert.compiler.emit.rollout` compiles the whole program to one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Call:
    """One call of a function.

    inputs   slots it reads
    outputs  other slots it writes
    when     a slot of one number: the call is made only if it is non-zero for some state
    again    a slot of one number that it writes: the call is repeated while it is non-zero for some state
    carry    (from, to): copied before every repetition
    """

    function: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    when: str | None = None
    again: str | None = None
    carry: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Program:
    """A program: the calls of a step and the slots they work on.

    sizes     number of values in each slot
    calls     one pass
    carry     (from, to): copied at the end of a pass
    state     slots that persist from step to step; their initial values are inputs, and they are recorded
    inner     slots that are 0 at the beginning of a step
    stepwise  slots with a new value for every step
    constant  slots given once
    again     a slot of one number: while it is non-zero, the step takes another pass
    discrete  slots of decisions and counts, which have no derivative
    """

    sizes: Mapping[str, int]
    calls: tuple[Call, ...]
    carry: tuple[tuple[str, str], ...]
    state: tuple[str, ...]
    inner: tuple[str, ...] = ()
    stepwise: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    again: str | None = None
    discrete: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for call in self.calls:
            both = set(call.inputs) & set(call.outputs)
            if both:
                raise ValueError(f"{call.function} would overwrite slots that it reads: {', '.join(sorted(both))}")

    @property
    def inputs(self) -> tuple[str, ...]:
        """The input slots, in order: state and constants, which are read once, then the slots with a value per step."""
        return (*self.state, *self.constant, *self.stepwise)

    def cores(self) -> list[tuple[str, ...]]:
        """The core axes of all arrays: (k) for state and constants, (s,k) for s steps, (m,k) for m recorded states."""
        leading = [*[()] * (len(self.state) + len(self.constant)), *[("s",)] * len(self.stepwise)]
        given = [(*axes, str(self.sizes[x])) for axes, x in zip(leading, self.inputs, strict=True)]
        return [*given, *(("m", str(self.sizes[x])) for x in self.state)]

    def signature(self) -> str:
        """The core axes in NumPy's signature notation."""
        cores = [f"({','.join(core)})" for core in self.cores()]
        return ",".join(cores[: len(self.inputs)]) + "->" + ",".join(cores[len(self.inputs) :])


Function = Callable[..., Sequence[Any]]


def perform(
    program: Program,
    functions: Mapping[str, Function],
    memory: MutableMapping[str, Any],
    zero: Callable[[int], Any],
    holds: Callable[[Any], bool],
) -> None:
    """One step. ``zero(k)`` returns a slot of k zeros; ``holds(slot)`` tells whether it is non-zero for some state."""
    for slot in program.inner:
        memory[slot] = zero(program.sizes[slot])
    while True:
        for call in program.calls:
            if call.when is None or holds(memory[call.when]):
                repeat(call, functions[call.function], memory, holds)
        memory.update({to: memory[origin] for origin, to in program.carry})
        if program.again is None or not holds(memory[program.again]):
            return


def repeat(call: Call, function: Function, memory: MutableMapping[str, Any], holds: Callable[[Any], bool]) -> None:
    """The call, repeated as often as it requests."""
    while True:
        memory.update(zip(call.outputs, function(*(memory[x] for x in call.inputs)), strict=True))
        if call.again is None or not holds(memory[call.again]):
            return
        memory.update({to: memory[origin] for origin, to in call.carry})


# -- recording -----------------------------------------------------------------------------------


class Slot(NamedTuple):
    """A place in the memory of a program: for a list of numbers, or for one number."""

    name: str
    size: int | None = None


def slots_of(given: Any) -> Iterator[Slot]:
    """The slots in a slot, a tuple or a record (a dataclass), in order; None and () hold none."""
    if isinstance(given, Slot):
        yield given
    elif is_dataclass(given):
        for field in fields(given):
            yield from slots_of(getattr(given, field.name))
    else:
        for part in given or ():
            yield from slots_of(part)


def _filled(given: Any, values: Iterator[Sequence[Any]]) -> Any:
    """The same structure with the contents of its slots."""
    if isinstance(given, Slot):
        value = next(values)
        return value[0] if given.size is None else value
    if is_dataclass(given) and not isinstance(given, type):
        return replace(given, **{field.name: _filled(getattr(given, field.name), values) for field in fields(given)})
    return given and tuple(_filled(part, values) for part in given)


def _contents(to: Any, result: Any) -> Iterator[Sequence[Any]]:
    """The contents of slots, from a result of the same structure; a result without a slot is left out."""
    if isinstance(to, Slot):
        yield [result] if to.size is None else result
    elif is_dataclass(to):
        for field in fields(to):
            yield from _contents(getattr(to, field.name), getattr(result, field.name))
    elif to:
        for part, value in zip(to, result, strict=True):
            yield from _contents(part, value)


@dataclass(frozen=True)
class DerivativeRule:
    """How a piece is differentiated other than line by line.

    tangent  the directions of all outputs, from the inputs and their directions; those of discrete ones are ignored
    adjoint  (held, y): a scalar y of the inputs, the outputs and their weights, whose gradient with respect to the inputs
             is that of the weighted outputs if the scalars ``held`` are held constant
    """

    tangent: Function | None = None
    adjoint: Callable[..., tuple[Sequence[Any], Any]] | None = None


class Recorder:
    """Notes the calls of a step while it is written down with slots in place of numbers.

    ``record(f, x, y, to=z)`` reads z = f(x, y): x, y and z are slots, or tuples or records of slots.
    """

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.calls: list[Call] = []
        self.pieces: dict[str, Function] = {}
        self.rules: dict[str, DerivativeRule] = {}
        self.discrete: set[str] = set()

    def slot(self, name: str, size: int | None = None) -> Slot:
        """A new slot for a list of numbers, or for one number."""
        self.sizes[name] = 1 if size is None else size
        return Slot(name, size)

    def flag(self, name: str, size: int | None = None) -> Slot:
        """A new slot for decisions or counts, which have no derivative."""
        self.discrete.add(name)
        return self.slot(name, size)

    def record(
        self,
        function: Callable[..., Any] | None,
        *given: Any,
        to: Any,
        name: str,
        when: Slot | None = None,
        again: Slot | None = None,
        carry: Sequence[tuple[Slot, Slot]] = (),
        tangent: Callable[..., Any] | None = None,
        adjoint: Callable[..., Any] | None = None,
    ) -> None:
        """Note a call; those of the same name take slots of the same structure. None stands for a function provided later.

        when, again, carry  as in :class:`Call`
        tangent, adjoint    as in :class:`DerivativeRule`, with the structures of ``given`` and ``to`` in place of slots
        """
        if function is not None and name not in self.pieces:
            self.pieces[name] = lambda *values: list(_contents(to, function(*_filled(given, iter(values)))))
        if tangent is not None:
            directions = lambda *values: list(_contents(to, tangent(*_filled((*given, *given), iter(values)))))  # noqa: E731
            self.rules[name] = DerivativeRule(tangent=directions)
        if adjoint is not None:
            backwards = lambda *values: adjoint(*_filled((*given, to, to), iter(values)))  # noqa: E731
            self.rules[name] = replace(self.rules.get(name, DerivativeRule()), adjoint=backwards)
        inputs, outputs = (tuple(slot.name for slot in slots_of(part)) for part in (given, to))
        carried = tuple((new.name, old.name) for new, old in carry)
        self.calls.append(Call(name, inputs, outputs, when and when.name, again and again.name, carried))
