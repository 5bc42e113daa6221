"""Quantities on arrays in GPU memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dalembert.compiler.foreign.call import ForeignCall, Operation
from dalembert.compiler.foreign.rollout_call import RolloutCall
from dalembert.compiler.kernel.cuda import SCALARS, DeviceArray, DeviceKernel, launch, number_on
from dalembert.compiler.quantities import machine
from dalembert.compiler.quantities.rollouts import device_rollout
from dalembert.errors import DalembertError

__all__ = ["DeviceArray", "run_on_device"]


def run_on_device(call: Operation, inputs: Sequence[DeviceArray], outputs: Sequence[DeviceArray], stream: int) -> None:
    """Queue a call on a stream of the GPU; the leading axes of the inputs broadcast to those of the outputs.

    stream  a CUstream as a number, 0 for the default
    """
    scalar = SCALARS[inputs[0].dtype]
    if not isinstance(call, ForeignCall):
        return _roll(call, scalar, inputs, outputs, stream)
    kernel = call.device_kernels.get(scalar)
    if kernel is None:
        kernel = call.device_kernels[scalar] = _kernel(call, scalar)
    launch(kernel, inputs, outputs, stream)


def _roll(
    call: Operation, scalar: str, inputs: Sequence[DeviceArray], outputs: Sequence[DeviceArray], stream: int
) -> None:
    if not isinstance(call, RolloutCall) or call.mode:
        raise DalembertError("the derivatives of a rollout are computed on the CPU: pass arrays on the CPU")
    if call.step is None:
        raise DalembertError("da.simulate computes on the CPU: pass arrays on the CPU, or use arm.rollout")
    q, qd, tau, *numbers = inputs
    if not call.rows:
        tau = replace(tau, shape=(*tau.shape[:-1], 1, tau.shape[-1]), strides=(*tau.strides[:-1], 0, tau.strides[-1]))
    h = DeviceArray(number_on(q.device, call.step, q.dtype), (1, 1), (0, 0), q.dtype, q.device)
    kernel = device_rollout(call.mechanism, call.plan, scalar)
    kernel.launch([q, qd, *numbers, h, tau, *outputs], call.steps, call.records, stream)


def _kernel(call: ForeignCall, scalar: str) -> DeviceKernel:
    mechanism, entry = call.mechanism, call.entry
    if mechanism.by_newton:
        raise DalembertError(
            f"the loops of arm '{call.placing.name}' are closed by Newton's method, which does not run on the GPU: "
            "pass arrays on the CPU"
        )
    choice = entry.choice(call.formulation, mechanism, call.options)
    plain = not call.options and choice == entry.formulations(mechanism)[0]
    return DeviceKernel(
        (*entry.key, machine.identity(mechanism), choice, ",".join(call.options)),
        machine.signature(mechanism, entry, call.options),
        lambda: machine.trace(mechanism, entry, choice, call.options),
        scalar,
        (lambda: machine.phases_of(mechanism, entry)) if plain and machine.has_phases(mechanism, entry) else None,
    )
