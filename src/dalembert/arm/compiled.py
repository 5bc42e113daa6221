"""A robot and its compiled kernels: what all methods of an arm rest on."""

from __future__ import annotations

import math
import re
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm.lazy import by_blocks, run_later
from dalembert.arrays import DOUBLE, is_lazy, real, shown
from dalembert.coordinates.chain import AnyMechanism
from dalembert.coordinates.closure import mechanism_of
from dalembert.coordinates.placing import Placing
from dalembert.errors import DalembertError, ShapeError
from dalembert.quantities import joints, machine
from dalembert.robot.model import Robot

Array = NDArray[np.floating[Any]]

_CORES = re.compile(r"\((.*?)\)")  # the core shapes in a gufunc's signature
REACTIONS = ("loop_wrenches", "joint_wrenches", "recursion")  # undetermined where a loop is singular, even a linear one
STATE = ("q", "qd", "qdd", "tau")
_LARGE = 100_000  # numbers in all results together


def _one_block(ufunc: np.ufunc, arrays: list[Any]) -> tuple[Array, ...] | None:
    """Room for several large results in one piece; None where NumPy may see to it itself.

    Freed in several pieces, large results go back to the system, and the next call pays for every page
    again: several times the cost of the calculation. One piece stays with the process.
    """
    if ufunc.nout < 2 or not all(type(a) is np.ndarray for a in arrays):
        return None
    leading = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
    core = [
        tuple(map(int, text.split(","))) if text else () for text in _CORES.findall(str(ufunc.signature).split("->")[1])
    ]
    sizes = [math.prod(leading) * math.prod(shape) for shape in core]
    if sum(sizes) < _LARGE:
        return None
    block = np.empty(sum(sizes), np.result_type(np.float32, *arrays))
    ends = np.cumsum(sizes)
    return tuple(
        block[end - size : end].reshape(*leading, *shape) for size, end, shape in zip(sizes, ends, core, strict=True)
    )


def _check_out(out: Any) -> None:
    """Refuse what no result can be written to; its shape is NumPy's to judge."""
    if not isinstance(out, np.ndarray):
        raise ShapeError(
            f"out is a {type(out).__name__}; it must be a NumPy array of float64 or float32 for the result"
        )
    if out.dtype.kind != "f":
        raise ShapeError(
            f"out holds {out.dtype}, and the result would not fit into it; it must hold float64 or float32"
        )
    if not out.flags.writeable:
        raise ShapeError("out is read-only; give an array that can be written to, such as np.empty_like(out)")


class Compiled:
    """A robot, its names and its kernels."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._kernels: dict[Any, np.ufunc] = {}
        self.quick_kernels: dict[str, np.ufunc] = {}  # by method, those that need no more than their arrays
        self.singles: dict[str, Any] = {}  # their functions for one state, None where there is none

    @cached_property
    def mechanism(self) -> AnyMechanism:
        """What the equations see: fixed joints merged, rotors counted with their links."""
        return mechanism_of(self.robot)

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.robot.name

    @cached_property
    def n(self) -> int:
        """How many joint variables the arm has."""
        return len(self.robot.moving_joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the moving joints, in the order of ``q``."""
        return tuple(joint.name for joint in self.robot.moving_joints)

    def kernel(self, quantity: str, *, formulation: str | None = None, options: tuple[str, ...] = ()) -> np.ufunc:
        """The compiled NumPy gufunc itself, for control loops.

        ``options`` adds inputs, such as ``("tip_wrench",)``. It can be pickled, used from several
        threads at once, and takes ``out=``. It checks nothing, and types are cast as NumPy casts them:
        float16 and small integers give float32.

        >>> import dalembert as da
        >>> da.load("planar-2r").kernel("inverse_dynamics").signature
        '(2),(2),(2)->(2)'
        """
        if not (formulation is None or isinstance(formulation, str)):
            raise DalembertError(f"formulation is {shown(formulation)}; it must be a name, or None for the fastest")
        key = (quantity, formulation, options)
        if key not in self._kernels:
            entry = joints.quantity(quantity, self.mechanism)
            self._kernels[key] = machine.kernel(self.mechanism, entry, formulation, tuple(options), self.name)
        return self._kernels[key]

    def operations(self, quantity: str, formulation: str | None = None, options: tuple[str, ...] = ()) -> machine.Price:
        """What a quantity costs: ``.written`` (as the formulas stand) and ``.compiled`` operations.

        >>> import dalembert as da
        >>> da.load("planar-2r").operations("inertia_matrix").compiled.total
        4
        """
        return machine.price(self.mechanism, joints.quantity(quantity, self.mechanism), formulation, tuple(options))

    @cached_property
    def placing(self) -> Placing:
        """γ in numbers: where the joints of the tree are for given q."""
        return Placing(self.mechanism, self.name, self.kernel)

    def _run(
        self,
        quantity: str,
        inputs: dict[str, Any],
        options: dict[str, Any] | None = None,
        formulation: str | None = None,
        out: Array | None = None,
    ) -> Array:
        given = {name: value for name, value in (options or {}).items() if value is not None}
        if any(map(is_lazy, (*inputs.values(), *given.values()))):
            return run_later(self, quantity, inputs, given, formulation, out)
        ufunc = self.kernel(quantity, formulation=formulation, options=tuple(given))
        arrays = [self.checked(name, value) for name, value in (*inputs.items(), *given.items())]
        if not self.mechanism.linear or (self.mechanism.loops and quantity in REACTIONS):
            return self._run_placed(ufunc, quantity, (*inputs, *given), arrays, out)
        result = self._call(ufunc, quantity, (*inputs, *given), arrays, out)
        if ufunc.nout == 1 and not given and formulation is None:
            self.quick_kernels[quantity] = ufunc
        return result

    def prepare_single(self, quantity: str) -> None:
        """Make the function for one state of a quick kernel."""
        from dalembert.kernel.single import single_of

        self.singles[quantity] = single_of(self.quick_kernels[quantity])

    def _run_placed(
        self, ufunc: np.ufunc, quantity: str, names: tuple[str, ...], arrays: list[Any], out: Array | None
    ) -> Array:
        """The same where loops must be closed first, or cannot be: an error that names the loop and the state."""
        if "q" not in names:
            return self._call(ufunc, quantity, names, arrays, out)
        at = names.index("q")
        q = np.asarray(arrays[at], DOUBLE)
        if self.mechanism.by_newton:  # one float64 among the inputs is no reason to round the tree's joints
            dtype = np.result_type(*(a for x, a in zip(names, arrays, strict=True) if x in STATE))
            arrays[at] = self.placing.by_newton(q, None).astype(dtype, copy=False)
        with np.errstate(invalid="ignore", divide="ignore"):  # explained below
            result = self._call(ufunc, quantity, names, arrays, out)
        self.placing.explain(q, *(result if isinstance(result, tuple) else (result,)))
        return result

    def _call(
        self, ufunc: np.ufunc, quantity: str, names: tuple[str, ...], arrays: list[Any], out: Array | None
    ) -> Array:
        if out is not None:
            _check_out(out)
        try:
            room = _one_block(ufunc, arrays) if out is None else out
            return ufunc(*arrays) if room is None else ufunc(*arrays, out=room)
        except (TypeError, ValueError) as problem:
            shapes = ", ".join(f"{name} {a.shape}" for name, a in zip(names, arrays, strict=True))
            what = f" and out {out.shape}" if out is not None else ""
            if isinstance(problem, TypeError):
                raise ShapeError(f"{quantity} cannot be computed from these arrays: {shapes} ({problem})") from None
            raise ShapeError(f"these shapes do not broadcast: {shapes}{what} ({problem})") from None

    def placed(self, q: ArrayLike) -> Any:
        """q as kernels take it: of all joints of the tree where loops are closed by Newton's method."""
        held = self.checked("q", q)
        if not is_lazy(held):
            return self.placing.placed(held)
        core = (machine.sizes_of(self.mechanism)["Q"],)
        return held if self.mechanism.linear else by_blocks(self.placed, {"q": held}, [core])

    @property
    def home(self) -> Array:
        """Positions that the arm can have: zeros, or those of the pose that the branches of its loops name: (n,)."""
        return self.placing.home

    def lazy_input(self, name: str, value: Any) -> Any:
        """An argument of a method that may be a Dask array, checked."""
        return self.checked(name, value) if name in machine.INPUTS else real(name, value)

    def checked(self, name: str, value: Any) -> Any:
        """``value`` as an array whose last axis fits the arm; lazy arrays pass as they are."""
        value = real(name, value)
        (letter,) = machine.INPUTS[name]
        size = self.n if letter in ("n", "Q") else int(letter)
        if value.ndim == 0 or value.shape[-1] != size:
            why = f"arm '{self.name}' has {self.n} joints" if size == self.n else f"{name} has {size} components"
            raise ShapeError(
                f"{name} has shape {value.shape}, but {why}: the last axis must be {size}, as in (…, {size})"
            )
        return value
