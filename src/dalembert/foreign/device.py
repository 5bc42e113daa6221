"""Quantities on arrays in GPU memory."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.errors import DalembertError
from dalembert.foreign.call import ForeignCall
from dalembert.kernel.cuda import SCALARS, DeviceArray, DeviceKernel, launch
from dalembert.quantities import machine

__all__ = ["DeviceArray", "run_on_device"]


def run_on_device(
    call: ForeignCall, inputs: Sequence[DeviceArray], outputs: Sequence[DeviceArray], stream: int
) -> None:
    """Queue a call on a stream of the GPU; the leading axes of the inputs broadcast to those of the outputs.

    stream  a CUstream as a number, 0 for the default
    """
    scalar = SCALARS[inputs[0].dtype]
    kernel = call.device_kernels.get(scalar)
    if kernel is None:
        kernel = call.device_kernels[scalar] = _kernel(call, scalar)
    launch(kernel, inputs, outputs, stream)


def _kernel(call: ForeignCall, scalar: str) -> DeviceKernel:
    mechanism, entry = call.mechanism, call.entry
    if mechanism.by_newton:
        raise DalembertError(
            f"the loops of arm '{call.placing.name}' are closed by Newton's method, which does not run on the GPU: "
            "pass arrays on the CPU"
        )
    chosen = entry.chosen(call.formulation, mechanism, call.options)
    return DeviceKernel(
        (*entry.key, machine.identity(mechanism), chosen, ",".join(call.options)),
        machine.signature(mechanism, entry, call.options),
        lambda: machine.trace(mechanism, entry, chosen, call.options),
        scalar,
        (lambda: machine.acts_of(mechanism, entry)) if _in_acts(call, chosen) else None,
    )


def _in_acts(call: ForeignCall, chosen: str) -> bool:
    """Whether the quantity can be computed in several stages."""
    entry, mechanism = call.entry, call.mechanism
    return not call.options and chosen == entry.formulations(mechanism)[0] and machine.has_acts(mechanism, entry)
