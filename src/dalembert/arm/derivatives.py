"""Derivatives of every compiled quantity: as kernels for optimisers and automatic differentiation, and as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm.compiled import Array, Compiled, precision_of
from dalembert.base.arrays import real
from dalembert.compiler.emit.source import SCALARS, checked_precision
from dalembert.compiler.kernel.threads import checked_threads
from dalembert.compiler.quantities import derived, joints, machine
from dalembert.compiler.quantities.machine import OWN_NUMBERS, Quantity
from dalembert.errors import DalembertError, ShapeError
from dalembert.mechanics.coordinates.variable_parameters import gears, length_names, lengths

Weights = ArrayLike | Mapping[str, ArrayLike]


class ArmDerivatives(Compiled):
    """Gradients and directional derivatives of the quantities of an arm.

    Where a quantity is not smooth, the derivatives are those of its smooth pieces: Coulomb friction is constant between
    its jumps and contributes nothing.
    """

    def gradient_kernel(
        self,
        quantity: str,
        *,
        by: tuple[str, ...] | None = None,
        formulation: str | None = None,
        options: tuple[str, ...] = (),
        order: int = 1,
        precision: Literal["double", "single"] = "double",
    ) -> np.ufunc:
        """The compiled gufunc of ∂(Σ w∘y)/∂x: the vector–Jacobian product of a quantity y(x) with weights w.

        It takes the inputs of :meth:`kernel` with the same options, then one weight per output, of that output's core
        shape, and returns one gradient per input and option, or per entry of ``by``, in their order. Gradients with
        respect to q refer to the n joints of the arm, even if loops are closed by Newton's method and the kernel takes
        all joints of the tree.

        order      2 for the gradient of that gradient, whose inputs are all inputs of the first and one weight per
                   output of the first, and so on
        precision  as for :meth:`kernel`

        >>> import dalembert as da
        >>> da.load("planar-2r").gradient_kernel("inertia_matrix").signature
        '(2),(2,2)->(2)'
        """
        entry = joints.quantity(quantity, self.mechanism)
        for _ in range(order):
            entry, options = derived.gradient(entry, options, by), ()
        return self._derived_kernel(entry, formulation, precision)

    def tangent_kernel(
        self,
        quantity: str,
        *,
        by: tuple[str, ...] | None = None,
        formulation: str | None = None,
        options: tuple[str, ...] = (),
        precision: Literal["double", "single"] = "double",
    ) -> np.ufunc:
        """The compiled gufunc of Σ ∂y/∂x t_x: the Jacobian–vector product of a quantity y(x) with directions t_x.

        It takes the inputs of :meth:`kernel` with the same options, then one direction per input and option, or per
        entry of ``by``, and returns one derivative per output.

        >>> import dalembert as da
        >>> da.load("planar-2r").tangent_kernel("inertia_matrix").signature
        '(2),(2)->(2,2)'
        """
        return self._derived_kernel(
            derived.tangent(joints.quantity(quantity, self.mechanism), options, by), formulation, precision
        )

    def gradient(
        self,
        quantity: str,
        inputs: Mapping[str, ArrayLike],
        weights: Weights = 1.0,
        *,
        by: tuple[str, ...] | None = None,
        formulation: str | None = None,
        threads: int | None = None,
    ) -> dict[str, Array]:
        """∂(Σ w∘y)/∂x of a quantity y(x) for each input x, by its name: each with the shape (…, n) of the input.

        quantity  its name, as for :meth:`kernel`
        inputs    its arrays by name, including options such as ``tip_wrench``: (…, n)
        weights   w, which broadcasts to the shape of y; for a quantity with several outputs, by their names
        by        the inputs with respect to which the gradient is taken; default: all
        threads   number of threads over which a large batch is split; default: chosen by its size

        >>> import numpy as np, dalembert as da
        >>> arm, q = da.load("planar-2r"), np.array([0.3, 0.8])
        >>> slope = arm.gradient("potential_energy", {"q": q})["q"]
        >>> np.allclose(slope, arm.gravity_torque(q))
        True
        """
        source = joints.quantity(quantity, self.mechanism)
        inputs = {**inputs, **self.numbers}
        options = self._options(source, inputs)
        entry = derived.gradient(source, options, by)
        sizes = dict(machine.signature(self.mechanism, source, options).outputs)
        given: Mapping[str, ArrayLike] = weights if isinstance(weights, Mapping) else dict.fromkeys(sizes, weights)
        if set(given) != set(sizes):
            raise DalembertError(
                f"weights are given for {', '.join(given)}; {quantity} needs them for its outputs {', '.join(sizes)}"
            )
        arrays = {name: self.checked(name, inputs[name]) for name in (*source.inputs, *options)}
        kind = np.result_type(*arrays.values())
        for name, output in entry.weights.items():
            weight = kind.type(given[output]) if isinstance(given[output], (int, float)) else given[output]
            arrays[name] = _spread(f"the weight of {output}", weight, sizes[output])
        results = self._run_derived(entry, quantity, formulation, arrays, threads)
        return dict(zip(entry.by, results, strict=True))

    def derivatives(
        self, quantity: str, *, by: Sequence[str], threads: int | None = None, **inputs: ArrayLike
    ) -> dict[str, Any]:
        """∂y/∂x of a quantity y for each x in ``by``, by its name: (…, *y, size of x).

        by      names of inputs, or of numbers of the arm: "parameters" (:attr:`parameters`), "lengths" (:attr:`lengths`),
                "payload" (m, m c, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz about the tip), "gravity", "gears"
                (:attr:`gears`); unless these are among the inputs, they have the arm's own values, and the payload is
                zero
        threads number of threads over which a large batch is split; default: chosen by its size
        inputs  the arrays of the quantity by name, including options
        Returns for a quantity with several outputs, a dictionary of them for each x

        >>> import numpy as np, dalembert as da
        >>> arm, x = da.load("planar-2r"), np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
        >>> slopes = arm.derivatives("inverse_dynamics", by=("parameters", "gravity"), q=x[0], qd=x[1], qdd=x[2])
        >>> np.allclose(slopes["parameters"], arm.regressor(*x)), slopes["gravity"].shape
        (True, (2, 3))
        """
        source = joints.quantity(quantity, self.mechanism)
        given = {name: self.checked(name, value) for name, value in {**self.numbers, **inputs}.items()}
        kind = np.result_type(np.float32, *given.values())
        given |= {x: np.array(OWN_NUMBERS[x](self.mechanism), kind) for x in by if x in OWN_NUMBERS and x not in given}
        options = self._options(source, given)
        entry = derived.jacobian(source, options, tuple(by))
        arrays = {name: given[name] for name in (*source.inputs, *options)}
        slopes = iter(self._run_derived(entry, quantity, None, arrays, threads))
        blocks = {y: {x: next(slopes) for x in by} for y in source.outputs}
        if len(blocks) == 1:
            (only,) = blocks.values()
            return only
        return {x: {y: block[x] for y, block in blocks.items()} for x in by}

    @property
    def gears(self) -> Array:
        """Gear ratios k_r of all joints of the tree, with their signs: (N,); 1 for a joint without a rotor.

        >>> import dalembert as da
        >>> da.load("planar-2r").gears
        array([100., 100.])
        """
        return np.array(gears(self.mechanism), float)

    @property
    def lengths(self) -> Array:
        """The translations of the arm (m): (6N + 3,), named in :attr:`length_names`.

        For each joint of the tree: the position of its frame on the previous link, and the position of its link's frame
        relative to it, which contain a and d of Denavit and Hartenberg; last, the position of the tip on its link.

        >>> import dalembert as da
        >>> arm = da.load("planar-2r")
        >>> {name: float(x) for name, x in zip(arm.length_names, arm.lengths) if x}
        {'lx_1': 1.0, 'lx_2': 1.0}
        """
        return np.array(lengths(self.mechanism), float)

    @property
    def length_names(self) -> tuple[str, ...]:
        """The names of :attr:`lengths`: ``px_1``, …, ``lz_n`` with the joint's number, then ``tx``, ``ty``, ``tz``."""
        return tuple(length_names(self.mechanism))

    def _options(self, entry: Quantity, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """The options among the inputs, in the order of the table."""
        known = (*entry.inputs, *entry.takes)
        wrong = [name for name in inputs if name not in known] + [name for name in entry.inputs if name not in inputs]
        if wrong:
            raise DalembertError(
                f"the inputs of {entry.name} are {', '.join(entry.inputs)} and, optionally, "
                f"{', '.join(entry.takes)}; '{wrong[0]}' is {'not one of them' if wrong[0] in inputs else 'missing'}"
            )
        return tuple(option for option in entry.takes if option in inputs)

    def _run_derived(
        self, entry: Quantity, quantity: str, formulation: str | None, arrays: dict[str, Any], threads: int | None
    ) -> tuple[Array, ...]:
        """The outputs of a derivative of a quantity, in their order."""
        ufunc = self._derived_kernel(entry, formulation, precision_of(arrays.values()))
        results = self._run_kernel(ufunc, quantity, arrays, None, checked_threads(threads))
        return results if isinstance(results, tuple) else (results,)

    def _derived_kernel(self, entry: Quantity, formulation: str | None, precision: str) -> np.ufunc:
        scalar = SCALARS[checked_precision(precision)]
        key = (entry.key, formulation, scalar)
        if key not in self._kernels:
            self._kernels[key] = machine.kernel(self.mechanism, entry, formulation, (), self.name, scalar)
        return self._kernels[key]


def _spread(name: str, value: Any, core: tuple[int, ...]) -> Any:
    """A weight broadcast to the core shape of an output: 1.0 means a weight of 1 for every entry."""
    array = real(name, value)
    last = array.shape[max(array.ndim - len(core), 0) :]
    try:
        return np.broadcast_to(array, (*array.shape[: max(array.ndim - len(core), 0)], *core))
    except ValueError:
        raise ShapeError(
            f"{name} has shape {array.shape}, which ends in {last}: the last axes must be {core} or broadcast to them"
        ) from None
