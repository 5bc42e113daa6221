"""Derivatives of every compiled quantity: as kernels for optimisers and for automatic differentiation, and as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm.compiled import Array, Compiled
from dalembert.arrays import real
from dalembert.errors import DalembertError, ShapeError
from dalembert.quantities import derived, joints, machine
from dalembert.quantities.machine import Quantity

Weights = ArrayLike | Mapping[str, ArrayLike]


class ArmDerivatives(Compiled):
    """Gradients and directional derivatives of the quantities of an arm.

    Where a quantity is not smooth, derivatives are those of its pieces: Coulomb friction is constant between its jumps
    and adds nothing.
    """

    def gradient_kernel(
        self,
        quantity: str,
        *,
        by: tuple[str, ...] | None = None,
        formulation: str | None = None,
        options: tuple[str, ...] = (),
        order: int = 1,
    ) -> np.ufunc:
        """The compiled gufunc of ∂(Σ w∘y)/∂x, the Jacobian of a quantity y(x) times weights from the left.

        It takes what :meth:`kernel` takes with the same options, then a weight of each output's core shape, and gives
        one gradient for each input and option, or for those in ``by``, in their order. Gradients by q are by the n
        joints of the arm, also where loops are closed by Newton's method and the kernel takes all joints of the tree.

        order  2 for the gradient of that gradient, whose inputs are all of the first's and a weight for each of its
               outputs, and so on

        >>> import dalembert as da
        >>> da.load("planar-2r").gradient_kernel("inertia_matrix").signature
        '(2),(2,2)->(2)'
        """
        entry = self._entry(quantity)
        for _ in range(order):
            entry, options = derived.gradient(entry, options, by), ()
        return self._derived_kernel(entry, formulation)

    def tangent_kernel(
        self,
        quantity: str,
        *,
        by: tuple[str, ...] | None = None,
        formulation: str | None = None,
        options: tuple[str, ...] = (),
    ) -> np.ufunc:
        """The compiled gufunc of Σ ∂y/∂x t_x, the Jacobian of a quantity y(x) times a direction from the right.

        It takes what :meth:`kernel` takes with the same options, then a direction for each input and option, or for
        those in ``by``, and gives one derivative for each output.

        >>> import dalembert as da
        >>> da.load("planar-2r").tangent_kernel("inertia_matrix").signature
        '(2),(2)->(2,2)'
        """
        return self._derived_kernel(derived.tangent(self._entry(quantity), options, by), formulation)

    def gradient(
        self,
        quantity: str,
        inputs: Mapping[str, ArrayLike],
        weights: Weights = 1.0,
        *,
        by: tuple[str, ...] | None = None,
        formulation: str | None = None,
    ) -> dict[str, Array]:
        """∂(Σ w∘y)/∂x of a quantity y(x) for each input x, by its name: each with the shape (…, n) of the input.

        quantity  its name, as for :meth:`kernel`
        inputs    its arrays by name, options such as ``tip_wrench`` among them: (…, n)
        weights   w, which broadcasts to the shape of y; of a quantity with several outputs, by their names
        by        the inputs that matter, all unless given

        >>> import numpy as np, dalembert as da
        >>> arm, q = da.load("planar-2r"), np.array([0.3, 0.8])
        >>> slope = arm.gradient("potential_energy", {"q": q})["q"]
        >>> np.allclose(slope, arm.gravity_torque(q))
        True
        """
        source = self._entry(quantity)
        options = self._options(source, inputs)
        entry = derived.gradient(source, options, by)
        sizes = dict(machine.signature(self.mechanism, source, options).outputs)
        given: Mapping[str, ArrayLike] = weights if isinstance(weights, Mapping) else dict.fromkeys(sizes, weights)
        if set(given) != set(sizes):
            raise DalembertError(
                f"weights are given for {', '.join(given)}; {quantity} needs them for its outputs {', '.join(sizes)}"
            )
        arrays = {name: self.checked(name, inputs[name]) for name in (*source.inputs, *options)}
        for name, output in entry.weights.items():
            arrays[name] = _spread(f"the weight of {output}", given[output], sizes[output])
        results = self._run_kernel(self._derived_kernel(entry, formulation), quantity, arrays)
        return dict(zip(entry.by, results if isinstance(results, tuple) else (results,), strict=True))

    def _entry(self, quantity: str) -> Quantity:
        return joints.quantity(quantity, self.mechanism)

    def _options(self, entry: Quantity, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """The options among the inputs, in the order of the table."""
        known = (*entry.inputs, *entry.options)
        wrong = [name for name in inputs if name not in known] + [name for name in entry.inputs if name not in inputs]
        if wrong:
            raise DalembertError(
                f"the inputs of {entry.name} are {', '.join(entry.inputs)} and, if wanted, "
                f"{', '.join(entry.options) or 'no options'}; '{wrong[0]}' is {'not one of them' if wrong[0] in inputs else 'missing'}"
            )
        return tuple(option for option in entry.options if option in inputs)

    def _derived_kernel(self, entry: Quantity, formulation: str | None) -> np.ufunc:
        key = (entry.key, formulation)
        if key not in self._kernels:
            self._kernels[key] = machine.kernel(self.mechanism, entry, formulation, (), self.name)
        return self._kernels[key]


def _spread(name: str, value: Any, core: tuple[int, ...]) -> Any:
    """A weight whose last axes are those of an output: 1.0 is a weight of each entry."""
    array = real(name, value)
    last = array.shape[max(array.ndim - len(core), 0) :]
    try:
        return np.broadcast_to(array, (*array.shape[: max(array.ndim - len(core), 0)], *core))
    except ValueError:
        raise ShapeError(
            f"{name} has shape {array.shape}, which ends in {last}: the last axes must be {core} or broadcast to them"
        ) from None
