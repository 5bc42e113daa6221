"""Programs: the same few functions called repeatedly on a memory of named slots.

A rollout is a program: one pass calls functions in order, and every call reads some slots and writes
others; a step may take several passes, and a rollout takes many steps. This module does not know what
the functions compute. :func:`perform` runs one step in plain Python, on floats or on arrays;
:mod:`dalembert.compiler.emit.rollout` compiles the whole program to one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any


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
    """

    sizes: Mapping[str, int]
    calls: tuple[Call, ...]
    carry: tuple[tuple[str, str], ...]
    state: tuple[str, ...]
    inner: tuple[str, ...] = ()
    stepwise: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    again: str | None = None

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
