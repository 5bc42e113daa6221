"""Methods on arrays of PyTorch, JAX and CuPy: the arm names the call, and the library's own module makes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dalembert.arm.terms import RESULTS
from dalembert.compiler.foreign.libraries import TITLES
from dalembert.errors import ShapeError

if TYPE_CHECKING:
    from dalembert.arm.compiled import Compiled


def run_foreign(
    arm: Compiled, library: str, quantity: str, arrays: Mapping[str, Any], options: tuple[str, ...],
    formulation: str | None, out: Any, threads: int | None,
) -> Any:  # fmt: skip
    """A compiled quantity for arrays of one library, possibly mixed with lists and NumPy arrays, as arrays of that library."""
    for name, value in (("out", out), ("threads", threads)):
        if value is not None:
            raise ShapeError(f"{name} cannot be given with {TITLES[library]}: leave it out, and use the returned array")
    key, sizes = arm.foreign_call(quantity, formulation, options)
    if library == "torch":
        from dalembert.compiler.foreign import on_torch

        return on_torch.run(key, sizes, arrays)
    if library == "jax":
        from dalembert.compiler.foreign import on_jax

        on_jax.register_results(RESULTS)
        return on_jax.run(key, sizes, arrays)
    from dalembert.compiler.foreign import on_cupy

    return on_cupy.run(key, sizes, arrays)
