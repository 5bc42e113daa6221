"""Derivatives of a program, as programs that run in the same compiled loop.

:func:`tangent` follows every call by its derivative along a direction: slot x has the direction ``d_x``. :func:`adjoint`
goes through the calls of a step backwards, for the gradient of a scalar L: slot x has the gradient ``g_x`` = ∂L/∂x.
Decisions and counts have no derivative. Pieces are differentiated line by line, unless a :class:`DerivativeRule` gives a better way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import Any, NamedTuple

from dalembert.base.algebra.scalars import flat
from dalembert.compiler.graph import derivative
from dalembert.compiler.graph.program import Call, DerivativeRule, Function, Program
from dalembert.compiler.graph.tape import Expr


class Differentiated(NamedTuple):
    """A derivative of a program, and its pieces."""

    program: Program
    pieces: dict[str, Function]


def _rows(values: Sequence[Any], sizes: Sequence[int]) -> list[list[Any]]:
    """The values row by row."""
    at = iter(values)
    return [list(islice(at, size)) for size in sizes]


def _anywhere(program: Program, side: str, slots: set[str]) -> dict[str, list[bool]]:
    """For every function, which of its inputs or outputs belong to these slots in any of its calls."""
    flags: dict[str, list[bool]] = {}
    for call in program.calls:
        mine = [x in slots for x in getattr(call, side)]
        flags[call.function] = [a or b for a, b in zip(mine, flags.get(call.function, mine), strict=True)]
    return flags


# -- along a direction -------------------------------------------------------------------------------


def tangent(
    program: Program, pieces: Mapping[str, Function], rules: Mapping[str, DerivativeRule], by: Sequence[str]
) -> Differentiated:
    """The program whose state has, besides its values, their directions; those of the inputs ``by`` are inputs."""
    smooth = [x for x in program.state if x not in program.discrete]
    moving = {*smooth, *by}
    for _ in range(2):  # what a pass carries to the next may move only then
        for call in program.calls:
            if moving & set(call.inputs):
                moving |= set(call.outputs) - program.discrete
        moving |= {to for origin, to in program.carry if origin in moving and to not in program.discrete}
    needed = set(smooth)
    for _ in range(2):
        needed |= {origin for origin, to in program.carry if to in needed & moving}
        for call in reversed(program.calls):
            if needed & moving & set(call.outputs):
                needed |= set(call.inputs)
    moving &= needed
    active = _anywhere(program, "inputs", moving)
    results = _anywhere(program, "outputs", moving)
    sizes = {**program.sizes, **{f"d_{x}": program.sizes[x] for x in moving}}
    calls: list[Call] = []
    functions, zeros = dict(pieces), dict[int, str]()
    for call in program.calls:
        calls.append(call)
        outputs = [x for x in call.outputs if x in moving]
        if not moving & set(call.inputs) or not outputs:
            continue
        name, flags = f"d_{call.function}", active[call.function]
        kept = [k for k, wanted in enumerate(results[call.function]) if wanted]
        lengths = [program.sizes[x] for x in call.outputs]
        functions[name] = _along(pieces[call.function], rules.get(call.function), flags, kept, lengths)
        directions = []
        for x, moves in zip(call.inputs, flags, strict=True):
            if moves and x not in moving:
                zeros[program.sizes[x]] = f"d_zero{program.sizes[x]}"
            if moves:
                directions.append(f"d_{x}" if x in moving else zeros[program.sizes[x]])
        directed_outputs = tuple(f"d_{call.outputs[k]}" for k in kept)
        sizes |= {x: program.sizes[x.removeprefix("d_")] for x in directed_outputs}
        calls.append(Call(name, (*call.inputs, *directions), directed_outputs, call.when))
    sizes |= {name: size for size, name in zeros.items()}

    def directed(slots: Sequence[str]) -> tuple[str, ...]:
        return (*slots, *(f"d_{x}" for x in slots if x in moving))

    carry = [*program.carry, *((f"d_{a}", f"d_{b}") for a, b in program.carry if b in moving)]
    whole = replace(
        program, sizes=sizes, calls=tuple(calls), carry=tuple(carry), state=directed(program.state),
        inner=(*directed(program.inner), *zeros.values()), stepwise=directed(program.stepwise),
        constant=directed(program.constant), discrete=frozenset(),
    )  # fmt: skip
    return Differentiated(whole, functions)


def _along(
    piece: Function, rule: DerivativeRule | None, active: Sequence[bool], kept: Sequence[int], lengths: Sequence[int]
) -> Function:
    """The directions of the ``kept`` outputs of a piece, from its inputs and the directions of the ``active`` ones."""

    def directions(*values: Any) -> list[Any]:
        x, moving = values[: len(active)], iter(values[len(active) :])
        d = [next(moving) if moves else [0.0] * len(row) for row, moves in zip(x, active, strict=True)]
        if rule is not None and rule.tangent is not None:
            results = rule.tangent(*x, *d)
            return [results[k] for k in kept]
        y = piece(*x)
        seeds = {
            e.line: t
            for row, along, moves in zip(x, d, active, strict=True)
            if moves
            for e, t in zip(row, along, strict=True)
        }
        graph = x[0][0].graph
        slopes = derivative.forward(graph, [e for k in kept for e in y[k]], seeds)
        return _rows(slopes, [lengths[k] for k in kept])

    return directions


# -- backwards ---------------------------------------------------------------------------------------


def adjoint(
    program: Program,
    pieces: Mapping[str, Function],
    rules: Mapping[str, DerivativeRule],
    by: Sequence[str],
    guarded: bool = False,
) -> Differentiated:
    """The program that goes one step back: from g_x of the state after the step to g_x of the state before it.

    Its stepwise inputs are those of the program, the state before the step, and ``w_x`` = ∂L/∂x of the state after it,
    as far as L depends on it directly; the last step comes first. Its state is g_x of the state, and of the inputs ``by``:
    of a constant the sum over all steps, of a stepwise input that of this step alone. ``guarded`` is that of
    :func:`dalembert.compiler.graph.derivative.gradient`.
    """
    if program.again is not None:
        raise ValueError("a step of several passes has no adjoint program")
    functions = dict(pieces)
    program = _written_once(program, functions)
    ends = {to: origin for origin, to in program.carry}
    smooth = [x for x in program.state if x not in program.discrete]
    moving = {*smooth, *by}
    for call in program.calls:
        if moving & set(call.inputs):
            moving |= set(call.outputs) - program.discrete
    sizes = dict(program.sizes)
    calls: list[Call] = []
    latest: dict[str, str] = {}  # the slot that has the gradient with respect to a slot, as far as it is known
    zeros: dict[int, str] = {}
    number = count()

    def zero(x: str) -> str:
        size = program.sizes[x]
        return zeros.setdefault(size, f"g_zero{size}")

    def slot(x: str) -> str:
        """The gradient with respect to a slot, so far."""
        return latest.get(x) or zero(x)

    def fresh(x: str) -> str:
        name = f"g_{x}_{next(number)}"
        sizes[name] = program.sizes[x]
        return name

    def new(x: str) -> str:
        latest[x] = fresh(x)
        return latest[x]

    def add(a: str, b: str, to: str) -> None:
        calls.append(Call(f"add{sizes[to]}", (a, b), (to,)))
        functions[calls[-1].function] = lambda a, b: [[s + t for s, t in zip(a, b, strict=True)]]

    latest |= {x: f"g_{x}" for x in by if x in program.constant}
    for x in smooth:
        sizes |= {f"g_{x}": program.sizes[x], f"w_{x}": program.sizes[x]}
        add(f"g_{x}", f"w_{x}", new(ends[x]))
    active = _anywhere(program, "inputs", moving)
    for call in reversed(program.calls):
        results = [x for x in call.outputs if x in moving and x in latest]
        if not results or not moving & set(call.inputs):
            continue
        flags, name = active[call.function], f"g_{call.function}"
        kept = [k for k, x in enumerate(call.outputs) if x not in program.discrete]
        rule = rules.get(call.function)
        seen = call.outputs if rule is not None and rule.adjoint is not None else ()
        functions[name] = _backwards(functions[call.function], rule, flags, kept, len(seen), guarded)
        weights = [slot(call.outputs[k]) for k in kept]
        inputs = [x for x, moves in zip(call.inputs, flags, strict=True) if moves]
        twice = {x for x in inputs if inputs.count(x) > 1}
        before, after = [], []
        for x in inputs:
            # of a slot that is read twice, the shares are added afterwards
            before.append(zero(x) if x in twice else slot(x))
            after.append(fresh(x) if x in twice else new(x))
        calls.append(Call(name, (*call.inputs, *seen, *weights, *before), tuple(after)))
        for x, share in zip(inputs, after, strict=True):
            if x in twice:
                add(slot(x), share, new(x))
    needed = {x for call in calls for x in call.inputs}
    first: list[Call] = []  # of the program itself, what the way back needs
    for call in reversed(program.calls):
        if needed & {*call.outputs}:
            first.insert(0, call)
            needed |= {*call.inputs}
    wanted = [*smooth, *by]
    sizes |= {f"g_{x}": program.sizes[x] for x in wanted} | {name: size for size, name in zeros.items()}
    whole = replace(
        program, sizes=sizes, calls=(*first, *calls), carry=tuple((slot(x), f"g_{x}") for x in wanted),
        state=tuple(f"g_{x}" for x in wanted), inner=(*program.inner, *zeros.values()),
        stepwise=(*program.stepwise, *program.state, *(f"w_{x}" for x in smooth)), discrete=frozenset(),
    )  # fmt: skip
    return Differentiated(whole, functions)


def _written_once(program: Program, functions: dict[str, Function]) -> Program:
    """The program in which every call writes slots of its own, so that their values remain for the way back.

    All calls are made: those with a condition leave values as they are where it does not hold. What a repeated call carries
    from one repetition to the next is its own copy.
    """
    latest = {x: x for x in program.inputs}
    sizes, discrete = dict(program.sizes), set(program.discrete)
    calls: list[Call] = []

    def renamed(x: str, name: str) -> str:
        sizes[name] = sizes[x]
        discrete.update({name} if x in discrete else ())
        return name

    for number, call in enumerate(program.calls):
        own = {to: renamed(to, f"{to}_in_{number}") for _, to in call.carry}
        for x, copied in own.items():
            calls.append(Call(f"copy{sizes[x]}", (latest.get(x, x),), (copied,)))
            functions[calls[-1].function] = lambda x: [x]
        inputs = tuple(own.get(x) or latest.get(x, x) for x in call.inputs)
        outputs = tuple(renamed(x, f"{x}_of_{number}") if x in latest else x for x in call.outputs)
        latest |= dict(zip(call.outputs, outputs, strict=True))
        carry = tuple((latest.get(origin, origin), own[to]) for origin, to in call.carry)
        again = call.again and latest[call.again]
        calls.append(replace(call, inputs=inputs, outputs=outputs, when=None, again=again, carry=carry))
    ends = tuple((latest.get(origin, origin), to) for origin, to in program.carry)
    return replace(program, sizes=sizes, calls=tuple(calls), carry=ends, discrete=frozenset(discrete))


def pass_by_pass(program: Program) -> Program:
    """The program of which every step is one pass: what a pass leaves to the next is part of its state."""
    left = tuple(to for _, to in program.carry if to in program.inner)
    inner = tuple(x for x in program.inner if x not in left)
    return replace(program, state=(*program.state, *left), inner=inner, again=None)


def _backwards(
    piece: Function,
    rule: DerivativeRule | None,
    active: Sequence[bool],
    kept: Sequence[int],
    outputs: int,
    guarded: bool,
) -> Function:
    """g_x of the ``active`` inputs of a piece, added to values that they have, from inputs, outputs and g_y of those ``kept``."""

    def gradients(*values: Any) -> list[Any]:
        at = iter(values)
        x, y = list(islice(at, len(active))), list(islice(at, outputs))
        w, sums = list(islice(at, len(kept))), list(at)
        moving = [row for row, moves in zip(x, active, strict=True) if moves]
        inputs = list(flat(moving))
        held: Sequence[Any] = ()
        if rule is not None and rule.adjoint is not None:
            given = dict(zip(kept, w, strict=True))
            held, total = rule.adjoint(*x, *y, *(given.get(k) or [0.0] * len(row) for k, row in enumerate(y)))
            held = [e for e in held if isinstance(e, Expr)]
        else:
            results = piece(*x)
            total = sum(
                (g * e for k, row in zip(kept, w, strict=True) for g, e in zip(row, results[k], strict=True)), 0.0
            )
        slopes = derivative.gradient(x[0][0].graph, total, [*inputs, *held], guarded)[: len(inputs)]
        added = [a + b for a, b in zip(flat(sums), slopes, strict=True)]
        return _rows(added, [len(row) for row in moving])

    return gradients
