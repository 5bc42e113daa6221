"""Arrays in the memory of a GPU, and kernels on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.errors import DalembertError
from dalembert.foreign.call import ForeignCall


@dataclass(frozen=True)
class DeviceArray:
    """An array in the memory of a GPU, whoever owns it.

    pointer  address of its first number      shape, strides  strides in bytes, 0 where it is broadcast
    dtype    "float32" or "float64"           device          which GPU, as CUDA numbers them
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: int


def run_on_device(
    call: ForeignCall, inputs: Sequence[DeviceArray], outputs: Sequence[DeviceArray], stream: int
) -> None:
    """Queue a call on a stream of the GPU: leading axes of the inputs broadcast to those of the outputs.

    stream  a CUstream as a number, 0 for the default
    """
    if call.mechanism.by_newton:
        raise DalembertError(
            f"the loops of arm '{call.placing.name}' are closed by Newton's method, which does not run on the GPU: give "
            "arrays on the CPU"
        )
    raise DalembertError(
        f"{call.quantity} cannot run on the GPU: this version has no kernels for it; give arrays on the CPU"
    )
