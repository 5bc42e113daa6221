"""A robot and its compiled kernels: the basis of all methods of an arm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm.contacts import all_wrenches, frame_of, side_by_side, with_contacts
from dalembert.arm.lazy import by_blocks, run_kernel_later, run_later
from dalembert.arm.names import INTERNAL, STATE, ArmType, refuse_change
from dalembert.arm.terms import RESULTS
from dalembert.base.algebra.records import settle
from dalembert.base.arrays import SINGLE, Array, by_joint, is_lazy, real
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.wording import shown
from dalembert.compiler.emit.source import SCALARS, checked_precision
from dalembert.compiler.foreign.call import Named, call_of
from dalembert.compiler.foreign.libraries import TITLES, common_library, constant
from dalembert.compiler.kernel.batches import layout_of, over_threads
from dalembert.compiler.kernel.threads import checked_threads
from dalembert.compiler.quantities import joints, machine
from dalembert.compiler.quantities.kernel_calls import needs_placing, run_kernel
from dalembert.errors import DalembertError, RobotError, ShapeError
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.mechanics.coordinates.closure import mechanism_of
from dalembert.mechanics.coordinates.placing import Placing
from dalembert.robot.model.robot import Frame, Robot

if TYPE_CHECKING:
    from dalembert.compiler.emit.source import Source

Wrenches = Mapping[str, ArrayLike]  # (…, 6), by link name

PLAIN = frozenset((np.ndarray, list, tuple, float, int))  # no arrays of other libraries


def precision_of(arrays: Iterable[Any]) -> Literal["double", "single"]:
    """The precision of the computation for these arrays: "single" if all of them hold float32, else "double"."""
    return "single" if all(a.dtype is SINGLE for a in arrays) else "double"


def _names(what: str, given: Any) -> tuple[str, ...]:
    """One name, or a sequence of them, as a tuple."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    for name in names:
        if not isinstance(name, str):
            raise DalembertError(f"{what} is {shown(given)}; it must be a name, or a sequence of names")
    return names


def _check_out(out: Any) -> None:
    """Refuse an ``out`` that cannot hold the result; its shape is checked by NumPy."""
    if not isinstance(out, np.ndarray):
        raise ShapeError(
            f"out is a {type(out).__name__}; it must be a NumPy array of float64 or float32 for the result"
        )
    if out.dtype.kind != "f":
        raise ShapeError(f"out holds {out.dtype}, which cannot store the result; it must hold float64 or float32")
    if not out.flags.writeable:
        raise ShapeError("out is read-only; give a writeable array, such as np.empty_like(out)")


class Compiled(metaclass=ArmType):
    """A robot, its names and its kernels."""

    robot: Robot
    contacts: tuple[str, ...]  # the frames at which its wrenches act; by default only the tip
    numbers: dict[str, Any]  # numbers of the mechanism that are given as arrays
    # by method: the kernels that need only their arrays, and the largest batch that one thread computes alone
    quick_kernels: dict[str, tuple[np.ufunc, int]]
    singles: dict[str, Any]  # by method: the function for one state, None if there is none
    _others: dict[Any, Any]  # the same arm with other contacts, or another tip
    _kernels: dict[Any, np.ufunc]
    _calls: dict[Any, tuple[str, Named]]  # kernels as operators of other libraries

    def __init__(self, robot: Robot, contacts: tuple[str, ...] = ()) -> None:
        if not isinstance(robot, Robot):
            raise RobotError(
                f"an arm is made from a Robot, not from {shown(robot)}; da.load(…) takes the name of a shipped arm, or a file"
            )
        settle(self, robot=robot, contacts=contacts, numbers={}, quick_kernels={}, singles={})
        settle(self, _others={}, _kernels={}, _calls={})

    def __setattr__(self, name: str, value: Any) -> None:
        ours = [base for base in type(self).__mro__ if base.__module__.startswith("dalembert.")]
        if type(self) in ours or name in STATE or any(name in vars(base) for base in ours):
            refuse_change(name)
        super().__setattr__(name, value)  # an attribute that a user's subclass adds

    def __delattr__(self, name: str) -> None:
        refuse_change(name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *vars(self)} - INTERNAL)

    @cached_property
    def mechanism(self) -> AnyMechanism:
        """The mechanism of the equations: fixed joints are merged, rotors are part of the links that carry them."""
        own = mechanism_of(self.robot)
        return with_contacts(own, self.robot, self.contacts) if self.contacts else own

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The sizes denoted by the letters in the shapes of the arm's arrays."""
        return machine.sizes_of(self.mechanism)

    @property
    def nominal(self) -> Any:
        """The same arm with the robot's own parameters."""
        return self

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.robot.name

    @cached_property
    def n(self) -> int:
        """The number of joint variables."""
        return len(self.robot.moving_joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the moving joints, in the order of ``q``."""
        return tuple(joint.name for joint in self.robot.moving_joints)

    def kernel(
        self,
        quantity: str,
        *,
        formulation: str | None = None,
        options: tuple[str, ...] = (),
        precision: Literal["double", "single"] = "double",
    ) -> np.ufunc:
        """The compiled NumPy gufunc of a quantity, for control loops.

        options    further inputs, such as ``("tip_wrench",)``
        precision  "double": computes in float64, and float32 arrays are converted inside; "single": computes in
                   float32, as the methods do if all of their arrays are float32
        The gufunc can be pickled, can be called from several threads at once, and accepts ``out=``. It checks nothing,
        and types are cast by NumPy's rules: float16 and small integers become float32.

        >>> import dalembert as da
        >>> da.load("planar-2r").kernel("inverse_dynamics").signature
        '(2),(2),(2)->(2)'
        """
        if not (formulation is None or isinstance(formulation, str)):
            raise DalembertError(f"formulation is {shown(formulation)}; it must be a name, or None for the fastest")
        precision = checked_precision(precision)
        if type(options) is not tuple:
            options = _names("options", options)
        key = (quantity, formulation, options, precision)
        if key not in self._kernels:
            entry = joints.quantity(quantity, self.mechanism)
            self._kernels[key] = machine.kernel(
                self.mechanism, entry, formulation, options, self.name, SCALARS[precision]
            )
        return self._kernels[key]

    def operations(self, quantity: str, formulation: str | None = None, options: tuple[str, ...] = ()) -> machine.Price:
        """The cost of a quantity: ``.written`` operations (in the formulas) and ``.compiled`` operations.

        >>> import dalembert as da
        >>> da.load("planar-2r").operations("inertia_matrix").compiled.total
        4
        """
        entry = joints.quantity(quantity, self.mechanism)
        return machine.price(self.mechanism, entry, formulation, _names("options", options))

    def emit(
        self,
        quantity: str | Sequence[str],
        target: str = "c",
        *,
        formulation: str | None = None,
        options: Sequence[str] = (),
        by: Sequence[str] | None = None,
        precision: Literal["double", "single"] | None = None,
        function: str | None = None,
        libm: bool = True,
        separate: bool = False,
    ) -> Source:
        """The code of a quantity for another machine or language: a set of files, saved by ``.write(folder)``.

        quantity     its name; several names make one function that computes their common subexpressions once. "step" is
                     one step of :func:`dalembert.simulate` from q, q̇, τ and h, for the targets c, wasm and object files
        target       "c" or another target of the table that ``dalembert emit --targets`` shows
        formulation  the equations to use; default: the fastest
        options      further inputs, such as ``("tip_wrench",)``; for "step" also ``"stops"``, the stops of the joints
        by           the variables of a derivative such as "inverse_dynamics_jacobian": inputs, options, or numbers of
                     the arm, such as ``("parameters",)``; default: all inputs
        precision    "double" or "single", if the target supports both
        function     the part of the function's name that follows the robot's; default: the names of the quantities
        libm         False: call no function of the C library, not even sin and cos
        separate     True: write each quantity as a separate function in the same file, if the target allows it
                     ("c", "wasm")
        For arms whose loops are closed by Newton's method (``arm.mechanism.by_newton``), q holds the positions of all
        joints of the tree, as in their kernels. The generated code belongs to you.

        >>> import dalembert as da
        >>> source = da.load("planar-2r").emit("gravity_torque", target="c")
        >>> list(source.files)
        ['planar_2r_gravity_torque.h', 'planar_2r_gravity_torque.c', 'planar_2r_gravity_torque_test.c']
        >>> source.notes
        ('4 multiplications, 2 additions, 2 sines, 2 cosines.',)
        """
        from dalembert.compiler.kernel.targets import check_settings, emitted, target_of
        from dalembert.compiler.quantities.derived import derivative_by
        from dalembert.compiler.quantities.emission import emitted_step, unit_of, units_apart

        names = _names("quantity", quantity)
        if not names:
            raise DalembertError("no quantity is named; name one or more, such as inverse_dynamics")
        precision = None if precision is None else checked_precision(precision)
        check_settings(target, precision, libm, separate)
        if "step" in names:
            if len(names) > 1 or formulation is not None or by is not None:
                raise DalembertError("'step', the step of a simulation, is emitted alone, without formulation= and by=")
            if (precision or target_of(target).precisions[0]) == "single":
                raise DalembertError("the step of a simulation needs double precision, to locate its events")
            step = emitted_step(self.mechanism, self.robot, _names("options", options), function or "step")
            return emitted([step], step.symbol, target, precision, libm)
        entries = [joints.quantity(name, self.mechanism) for name in names]
        given = _names("options", options)
        if by is not None:
            inputs = _names("by", by)
            entries = [derivative_by(entry, inputs) for entry in entries]
            given = tuple(option for option in given if option not in inputs)
        settings: dict[str, Any] = {"formulation": formulation, "options": given, "model": self.robot}
        if separate:
            units, files = units_apart(self.mechanism, self.name, entries, function, **settings)
            return emitted(units, files, target, precision, libm)
        unit = unit_of(self.mechanism, self.name, entries, function=function, **settings)
        return emitted([unit], unit.symbol, target, precision, libm)

    @cached_property
    def placing(self) -> Placing:
        """γ(q), computed numerically: the positions of the joints of the tree for a given q."""
        return Placing(self.mechanism, self.name, lambda quantity: over_threads(self.kernel(quantity)))

    def touching(self, frames: tuple[str, ...]) -> Any:
        """The same arm, whose ``tip_wrench`` (…, 6k) is the concatenation of the wrenches at these k frames."""
        if frames not in self._others:
            self._others[frames] = self._with_contacts(frames)
        return self._others[frames]

    def _with_contacts(self, frames: tuple[str, ...]) -> Any:
        return type(self)(self.robot, frames)

    def ending_at(self, frame: str | None) -> Any:
        """The same arm with the frame of a link as its tip, and no payload there; the arm itself for its own tip."""
        if frame is None or (tip := frame_of(self.robot, frame)) == self.robot.tip:
            return self
        if tip not in self._others:
            self._others[tip] = self._with_tip(tip)
        return self._others[tip]

    def _with_tip(self, tip: Frame) -> Any:
        return type(self)(self.robot.replace(tip=tip, payload=None))

    def _run(
        self,
        quantity: str,
        inputs: dict[str, Any],
        options: dict[str, Any] | None = None,
        formulation: str | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        given = {name: value for name, value in (options or {}).items() if value is not None} | self.numbers
        if "wrenches" in given:
            acting = all_wrenches(given.pop("tip_wrench", None), given.pop("wrenches"))
            if not acting:
                return self._run(quantity, inputs, given, formulation, out, threads)
            options = {"tip_wrench": side_by_side(acting), **given}
            return self.touching(tuple(acting))._run(quantity, inputs, options, formulation, out, threads)
        arrays = inputs | given
        if not PLAIN.issuperset(map(type, arrays.values())):
            if (library := common_library(arrays.values())) is not None:
                for name, value in (("out", out), ("threads", threads)):
                    if value is not None:
                        raise ShapeError(
                            f"{name} cannot be given with {TITLES[library]}: leave it out, and use the returned array"
                        )
                return self._run_foreign(library, quantity, arrays, tuple(given), formulation)
            if any(map(is_lazy, arrays.values())):
                return run_later(self, quantity, inputs, given, formulation, out, checked_threads(threads))
        threads = checked_threads(threads)
        if out is not None:
            _check_out(out)
        arrays = {name: self.checked(name, value) for name, value in arrays.items()}
        precision = precision_of(arrays.values())
        ufunc = self.kernel(quantity, formulation=formulation, options=tuple(given), precision=precision)
        result = self._run_kernel(ufunc, quantity, arrays, out, threads)
        plain = not given and formulation is None and precision == "double"
        if ufunc.nout == 1 and plain and not needs_placing(self.mechanism, quantity):
            self.quick_kernels[quantity] = ufunc, layout_of(str(ufunc.signature)).alone
        return result

    def _run_foreign(
        self, library: str, quantity: str, arrays: dict[str, Any], options: tuple[str, ...], formulation: str | None
    ) -> Any:
        """A quantity for arrays of one library, possibly mixed with lists and NumPy arrays, as arrays of that library."""
        return run_elsewhere(library, *self.foreign_call(quantity, formulation, options), arrays)

    def _run_kernel(
        self,
        ufunc: np.ufunc,
        quantity: str,
        arrays: dict[str, Any],
        out: Array | None = None,
        threads: int | None = None,
    ) -> Any:
        """The result of a kernel for arrays that have been checked; loops are closed first if necessary."""
        if any(map(is_lazy, arrays.values())):
            return run_kernel_later(self, ufunc, quantity, arrays)
        return run_kernel(ufunc, quantity, arrays, self.placing, out, threads)

    def prepare_single(self, quantity: str) -> None:
        """Compile the single-state function of a quick kernel."""
        from dalembert.compiler.kernel.single_call import single_of

        self.singles[quantity] = single_of(self.quick_kernels[quantity][0])

    def placed(self, q: ArrayLike) -> Any:
        """q as kernels expect it: for all joints of the tree if loops are closed by Newton's method."""
        held = self.checked("q", q)
        if not is_lazy(held):
            return self.placing.placed(held)
        if self.mechanism.linear:
            return held
        return by_blocks(self.placed, {"q": held}, [(machine.sizes_of(self.mechanism)["Q"],)])

    @constant
    def foreign_call(self, quantity: str, formulation: str | None, options: tuple[str, ...]) -> tuple[str, Named]:
        """The key of a quantity as an operator of another library, and the names and core shapes of its inputs."""
        request = quantity, formulation, options
        if request not in self._calls:
            entry = joints.quantity(quantity, self.mechanism)
            call = call_of(self.placing, entry, formulation, options)
            self._calls[request] = call.key, call.inputs
        return self._calls[request]

    @property
    def home(self) -> Array:
        """A configuration that the arm can take: zeros, or the pose given by the branches of its loops: (n,)."""
        return self.placing.home

    def lazy_input(self, name: str, value: Any) -> Any:
        """A checked argument of a method that accepts Dask arrays."""
        return self.checked(name, value) if name in machine.INPUTS else real(name, value)

    def checked(self, name: str, value: Any) -> Any:
        """``value`` as an array whose last axis fits the arm; lazy arrays are returned unchanged."""
        if hasattr(value, "to_numpy") and machine.INPUTS[name][0] in ("n", "Q"):
            value = by_joint(name, value, self.joint_names)
        return self.fitting(name, real(name, value))

    def fitting(self, name: str, array: Any) -> Any:
        """An array of any library, unchanged, after checking that its last axis fits the arm."""
        (letter,) = machine.INPUTS[name]
        size = self.n if letter in ("n", "Q") else int(letter) if letter.isdigit() else self.sizes[letter]
        if array.ndim == 0 or array.shape[-1] != size:
            why = f"arm '{self.name}' has {self.n} joints" if size == self.n else f"{name} has {size} components"
            raise ShapeError(
                f"{name} has shape {tuple(array.shape)}, but {why}: the last axis must be {size}, as in (…, {size})"
            )
        return array


def run_elsewhere(library: str, key: str, sizes: Named, arrays: Mapping[str, Any]) -> Any:
    """The results of a call for arrays of one library, as arrays of that library."""
    if library == "torch":  # torch.compile follows import statements, not importlib
        from dalembert.compiler.foreign import on_torch

        return on_torch.run(key, sizes, arrays)
    if library == "jax":
        from dalembert.compiler.foreign import on_jax

        on_jax.register_results(RESULTS)
        return on_jax.run(key, sizes, arrays)
    from dalembert.compiler.foreign import on_cupy

    return on_cupy.run(key, sizes, arrays)
