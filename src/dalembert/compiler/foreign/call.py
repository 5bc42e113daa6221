"""A quantity as an operator of another library: its inputs and outputs, its kernels, and its derivatives, by a key.

Operators of PyTorch and calls of XLA carry only arrays, numbers and text. The text is a key, which ``CALLS`` maps to a
call. A key is a digest of everything on which the kernel depends: the same arm and quantity have the same key in every
process, and a process knows the call once a method of the arm, or its derivative, has been used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from dalembert.base.arrays import SINGLE
from dalembert.base.environment.cached_property import cached_property
from dalembert.compiler.emit.signature import Signature
from dalembert.compiler.quantities import derived, machine
from dalembert.compiler.quantities.derived import Derived
from dalembert.compiler.quantities.kernel_calls import run_kernel
from dalembert.compiler.quantities.machine import Quantity
from dalembert.errors import DalembertError
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.mechanics.coordinates.placing import Placing

Core = tuple[int, ...]
Named = tuple[tuple[str, Core], ...]

CALLS: dict[str, Operation] = {}


class Operation:
    """What a key stands for: a function of arrays, with derivatives.

    inputs, outputs  names and core shapes
    """

    key: str

    @property
    def inputs(self) -> Named:
        """The inputs, in order."""
        raise TypeError(f"{type(self).__name__} has no inputs")

    @property
    def outputs(self) -> Named:
        """The outputs, in order."""
        raise TypeError(f"{type(self).__name__} has no outputs")

    @cached_property
    def shapes(self) -> Signature:
        """Names and core shapes of inputs and outputs."""
        return Signature(self.inputs, self.outputs)

    def with_axis(self, arrays: Sequence[Any], axes: Sequence[int | None], moved: Callable[..., Any]) -> list[Any]:
        """The inputs with an additional axis, which ``moved`` makes the first of the broadcasting leading axes."""
        cores = [len(core) for _, core in self.inputs]
        most = max(x.ndim - core - (axis is not None) for x, core, axis in zip(arrays, cores, axes, strict=True))
        inputs = []
        for x, core, axis in zip(arrays, cores, axes, strict=True):
            if axis is not None:
                x = moved(x, axis, 0)
                x = x.reshape(x.shape[0], *(1,) * (most - (x.ndim - 1 - core)), *x.shape[1:])
            inputs.append(x)
        return inputs

    def run(self, arrays: Sequence[Any], out: tuple[Any, ...] | None = None) -> tuple[Any, ...]:
        """The outputs, written to ``out``, for NumPy arrays of one type, float32 or float64."""
        raise TypeError(f"{type(self).__name__} has no kernel for the CPU")

    def derivative(self, mode: str, by: tuple[str, ...]) -> Operation:
        """The "gradient" ∂(Σ w∘y)/∂x, which takes the inputs and one weight per output, or the "tangent" Σ ∂y/∂x t_x, which
        takes the inputs and one direction for each of these."""
        raise TypeError(f"{type(self).__name__} has no derivatives")


@dataclass(frozen=True, eq=False)
class ForeignCall(Operation):
    """A quantity of a mechanism with some options.

    placing      the mechanism, its name, and the placement of the joints of its tree
    formulation  the equations; None for the fastest
    key          the key of the call
    kernels      its gufuncs, and ``device_kernels`` its kernels for GPUs, by scalar type
    """

    placing: Placing
    entry: Quantity
    formulation: str | None
    options: tuple[str, ...]
    key: str
    kernels: dict[str, np.ufunc] = field(default_factory=dict)
    device_kernels: dict[str, Any] = field(default_factory=dict)

    @property
    def mechanism(self) -> AnyMechanism:
        """The mechanism of the quantity."""
        return self.placing.mechanism

    @cached_property
    def quantity(self) -> str:
        """The name in the table; for a derivative, the name of the differentiated quantity."""
        entry = self.entry
        while isinstance(entry, Derived):
            entry = entry.source
        return entry.name

    @cached_property
    def signature(self) -> Signature:
        """Names and core shapes of the kernel's arrays."""
        return machine.signature(self.mechanism, self.entry, self.options)

    @cached_property
    def inputs(self) -> Named:
        """Names and core shapes of the inputs; q are the n independent joints, whatever the kernel takes."""
        return tuple((name, (self.mechanism.n,) if name == "q" else core) for name, core in self.signature.inputs)

    @property
    def outputs(self) -> Named:
        """Names and core shapes of the outputs."""
        return self.signature.outputs

    def kernel(self, dtype: np.dtype[Any]) -> np.ufunc:
        """The gufunc in float32 or float64; if loops are closed by Newton's method, it takes q of the tree."""
        scalar = "float" if dtype == SINGLE else "double"
        if scalar not in self.kernels:
            self.kernels[scalar] = machine.kernel(
                self.mechanism, self.entry, self.formulation, self.options, self.placing.name, scalar
            )
        return self.kernels[scalar]

    def run(self, arrays: Sequence[Any], out: tuple[Any, ...] | None = None) -> tuple[Any, ...]:
        """The outputs, written to ``out``, for NumPy arrays of one type, float32 or float64; loops are closed first."""
        named = dict(zip((name for name, _ in self.inputs), arrays, strict=True))
        results = run_kernel(self.kernel(arrays[0].dtype), self.quantity, named, self.placing, out)
        return results if isinstance(results, tuple) else (results,)

    def derivative(self, mode: str, by: tuple[str, ...]) -> Operation:
        """The derivative as another quantity."""
        key = key_of(f"{self.quantity}.{mode}", self.key, mode, *by)
        if key not in CALLS:
            entry = derived.derivative_of(mode, self.entry, self.options, by)
            CALLS[key] = ForeignCall(self.placing, entry, self.formulation, (), key)
        return CALLS[key]


def call_of(placing: Placing, entry: Quantity, formulation: str | None, options: tuple[str, ...]) -> ForeignCall:
    """The call of a quantity, new or known; raises an error if the formulation or an option does not exist."""
    choice = entry.choice(formulation, placing.mechanism, options)
    entry.check_options(options)
    key = key_of(entry.name, *entry.key, machine.identity(placing.mechanism), choice, *options)
    call = CALLS.setdefault(key, ForeignCall(placing, entry, formulation, options, key))
    assert isinstance(call, ForeignCall)
    return call


def registered(key: str) -> Operation:
    """The call of a key."""
    if key not in CALLS:
        raise DalembertError(
            f"the operator '{key}' is not known in this process; load its arm and call the method or its derivative "
            "once before using graphs saved elsewhere"
        )
    return CALLS[key]


def key_of(name: str, *parts: str) -> str:
    return f"{name}-{sha256(repr(parts).encode()).hexdigest()[:24]}"
