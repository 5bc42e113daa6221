"""A robot and its compiled kernels: what all methods of an arm rest on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm.contacts import all_wrenches, frame_of, side_by_side, with_contacts
from dalembert.arm.foreign import run_foreign
from dalembert.arm.lazy import by_blocks, run_kernel_later, run_later
from dalembert.arrays import SINGLE, is_lazy, real, shown
from dalembert.coordinates.chain import AnyMechanism
from dalembert.coordinates.closure import mechanism_of
from dalembert.coordinates.placing import Placing
from dalembert.errors import DalembertError, ShapeError
from dalembert.foreign.call import Named, call_of
from dalembert.foreign.libraries import common_library, constant
from dalembert.kernel.batches import layout_of, over_threads
from dalembert.kernel.threads import checked_threads
from dalembert.quantities import joints, machine
from dalembert.quantities.running import needs_placing, run_named, run_placed
from dalembert.robot.model import Frame, Robot

if TYPE_CHECKING:
    from dalembert.emit.source import Source

Array = NDArray[np.floating[Any]]
Wrenches = Mapping[str, ArrayLike]  # (…, 6) by the names of links

PLAIN = frozenset((np.ndarray, list, tuple, float, int))  # no arrays of other libraries
SCALARS = {"double": "double", "single": "float"}  # what is calculated with, by precision


def precision_of(arrays: Iterable[Any]) -> Literal["double", "single"]:
    """What is calculated in for these arrays: "single" where all hold float32."""
    return "single" if all(a.dtype is SINGLE for a in arrays) else "double"


def _names(what: str, given: Any) -> tuple[str, ...]:
    """One name, or a sequence of them, as a tuple."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    for name in names:
        if not isinstance(name, str):
            raise DalembertError(f"{what} is {shown(given)}; it must be a name, or a sequence of names")
    return names


def scalar_of(precision: Any) -> str:
    """What is calculated with, as C calls it."""
    if not isinstance(precision, str) or precision not in SCALARS:
        raise DalembertError(f"precision is {shown(precision)}; it must be 'double' or 'single'")
    return SCALARS[precision]


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

    def __init__(self, robot: Robot, contacts: tuple[str, ...] = ()) -> None:
        self.robot = robot
        self.contacts = contacts  # the frames at which its wrenches act; the tip's alone unless given
        self._others: dict[Any, Any] = {}  # the same arm with other contacts, or another tip
        self.numbers: dict[str, Any] = {}  # of the mechanism, that every quantity is computed with
        self._kernels: dict[Any, np.ufunc] = {}
        self._calls: dict[Any, tuple[str, Named]] = {}  # as operators of other libraries
        # by method, those that need no more than their arrays, and how many numbers in one of these are left to one thread
        self.quick_kernels: dict[str, tuple[np.ufunc, int]] = {}
        self.singles: dict[str, Any] = {}  # their functions for one state, None where there is none

    @cached_property
    def mechanism(self) -> AnyMechanism:
        """What the equations see: fixed joints merged, rotors counted with their links."""
        own = mechanism_of(self.robot)
        return with_contacts(own, self.robot, self.contacts) if self.contacts else own

    @cached_property
    def sizes(self) -> dict[str, int]:
        """What the letters in the shapes of its arrays stand for."""
        return machine.sizes_of(self.mechanism)

    @property
    def nominal(self) -> Any:
        """The same with the robot's own numbers."""
        return self

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

    def kernel(
        self,
        quantity: str,
        *,
        formulation: str | None = None,
        options: tuple[str, ...] = (),
        precision: Literal["double", "single"] = "double",
    ) -> np.ufunc:
        """The compiled NumPy gufunc itself, for control loops.

        options    further inputs, such as ``("tip_wrench",)``
        precision  "double": it calculates with float64, and arrays of float32 are widened inside; "single": it
                   calculates with float32, as methods do where all arrays that they are given hold float32
        It can be pickled, used from several threads at once, and takes ``out=``. It checks nothing, and types are cast
        as NumPy casts them: float16 and small integers give float32.

        >>> import dalembert as da
        >>> da.load("planar-2r").kernel("inverse_dynamics").signature
        '(2),(2),(2)->(2)'
        """
        if not (formulation is None or isinstance(formulation, str)):
            raise DalembertError(f"formulation is {shown(formulation)}; it must be a name, or None for the fastest")
        scalar = scalar_of(precision)
        if type(options) is not tuple:
            options = _names("options", options)
        key = (quantity, formulation, options, precision)
        if key not in self._kernels:
            entry = joints.quantity(quantity, self.mechanism)
            self._kernels[key] = machine.kernel(self.mechanism, entry, formulation, options, self.name, scalar)
        return self._kernels[key]

    def operations(self, quantity: str, formulation: str | None = None, options: tuple[str, ...] = ()) -> machine.Price:
        """What a quantity costs: ``.written`` (as the formulas stand) and ``.compiled`` operations.

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
        precision: Literal["double", "float"] | None = None,
        function: str | None = None,
        libm: bool = True,
        separate: bool = False,
    ) -> Source:
        """The code of a quantity for another machine or language: files to write, ``.write(folder)``.

        quantity     its name; several names make one function that computes what they share once
        target       "c" and others of the table ``dalembert emit --targets`` shows
        formulation  the equations to use, the fastest unless one is named
        options      further inputs, such as ``("tip_wrench",)``
        by           by what to differentiate a derivative such as "inverse_dynamics_jacobian": inputs, options, or numbers of
                     the arm, such as ``("parameters",)``; by all inputs unless given
        precision    "double" or "float", as far as the target has both
        function     the function's name after the robot's; that of the quantities unless given
        libm         False: no functions of the C library, not even sin and cos
        separate     True: each quantity is a function of its own in the same file, as far as the target has such ("wasm")
        Arms whose loops are closed by Newton's method (``arm.mechanism.by_newton``) take the positions of all joints of
        their tree as q, as their kernels do. Generated code belongs to you.

        >>> import dalembert as da
        >>> source = da.load("planar-2r").emit("gravity_torque", target="c")
        >>> list(source.files)
        ['planar_2r_gravity_torque.h', 'planar_2r_gravity_torque.c', 'planar_2r_gravity_torque_test.c']
        >>> source.notes
        ('4 multiplications, 2 additions, 2 sines, 2 cosines.',)
        """
        from dalembert.kernel.targets import check_settings, emitted, emitted_apart
        from dalembert.quantities.derived import derivative_by
        from dalembert.quantities.emission import unit_of, units_apart

        names = _names("quantity", quantity)
        if not names:
            raise DalembertError("no quantity is named; name one or several, such as inverse_dynamics")
        check_settings(target, precision, libm, separate)
        entries = [joints.quantity(name, self.mechanism) for name in names]
        given = _names("options", options)
        if by is not None:
            inputs = _names("by", by)
            entries = [derivative_by(entry, inputs) for entry in entries]
            given = tuple(option for option in given if option not in inputs)
        if not (function is None or isinstance(function, str)):
            raise DalembertError(
                f"function is {shown(function)}; it must be a name, or None for that of the quantities"
            )
        tree = [joint.name for joint in self.robot.tree_joints]
        if separate:
            units, files = units_apart(self.mechanism, self.name, entries, formulation, given, function, tree)
            return emitted_apart(units, files, target, precision)
        unit = unit_of(self.mechanism, self.name, entries, formulation, given, function, tree)
        return emitted(unit, target, precision, libm)

    @cached_property
    def placing(self) -> Placing:
        """γ in numbers: where the joints of the tree are for given q."""
        return Placing(self.mechanism, self.name, lambda quantity: over_threads(self.kernel(quantity)))

    def touching(self, frames: tuple[str, ...]) -> Any:
        """The same arm, whose ``tip_wrench`` (…, 6k) has the wrenches at these k frames, one after the other."""
        if frames not in self._others:
            self._others[frames] = self._with_contacts(frames)
        return self._others[frames]

    def _with_contacts(self, frames: tuple[str, ...]) -> Any:
        return type(self)(self.robot, frames)

    def ending_at(self, frame: str | None) -> Any:
        """The same arm, whose tip is the frame of a link, and which holds nothing there; itself for its own tip."""
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
        if not PLAIN.issuperset(map(type, (*inputs.values(), *given.values()))):
            if (library := common_library((*inputs.values(), *given.values()))) is not None:
                return run_foreign(self, library, quantity, inputs | given, tuple(given), formulation, out, threads)
            if any(map(is_lazy, (*inputs.values(), *given.values()))):
                return run_later(self, quantity, inputs, given, formulation, out, checked_threads(threads))
        threads = checked_threads(threads)
        if out is not None:
            _check_out(out)
        arrays = {name: self.checked(name, value) for name, value in (*inputs.items(), *given.items())}
        precision = precision_of(arrays.values())
        ufunc = self.kernel(quantity, formulation=formulation, options=tuple(given), precision=precision)
        result = self._run_kernel(ufunc, quantity, arrays, out, threads)
        plain = not given and formulation is None and precision == "double"
        if ufunc.nout == 1 and plain and not self._needs_placing(quantity):
            self.quick_kernels[quantity] = ufunc, layout_of(str(ufunc.signature)).alone
        return result

    def _run_kernel(
        self,
        ufunc: np.ufunc,
        quantity: str,
        arrays: dict[str, Any],
        out: Array | None = None,
        threads: int | None = None,
    ) -> Any:
        """What a kernel gives for arrays that are checked; loops are closed first where they must be."""
        if any(map(is_lazy, arrays.values())):
            return run_kernel_later(self, ufunc, quantity, arrays)
        if self._needs_placing(quantity):
            return run_placed(ufunc, quantity, arrays, self.placing, out, threads)
        return run_named(ufunc, quantity, arrays, out, threads)

    def _needs_placing(self, quantity: str) -> bool:
        """Whether loops must be closed first, or their closure can fail."""
        return needs_placing(self.mechanism, quantity)

    def prepare_single(self, quantity: str) -> None:
        """Make the function for one state of a quick kernel."""
        from dalembert.kernel.single import single_of

        self.singles[quantity] = single_of(self.quick_kernels[quantity][0])

    def placed(self, q: ArrayLike) -> Any:
        """q as kernels take it: of all joints of the tree where loops are closed by Newton's method."""
        held = self.checked("q", q)
        if not is_lazy(held):
            return self.placing.placed(held)
        if self.mechanism.linear:
            return held
        return by_blocks(self.placed, {"q": held}, [(machine.sizes_of(self.mechanism)["Q"],)])

    @constant
    def foreign_call(self, quantity: str, formulation: str | None, options: tuple[str, ...]) -> tuple[str, Named]:
        """The key of a quantity as an operator of another library, and the names and core shapes of its inputs."""
        asked = quantity, formulation, options
        if asked not in self._calls:
            entry = joints.quantity(quantity, self.mechanism)
            call = call_of(self.placing, entry, formulation, options)
            self._calls[asked] = call.key, call.inputs
        return self._calls[asked]

    @property
    def home(self) -> Array:
        """Positions that the arm can have: zeros, or those of the pose that the branches of its loops name: (n,)."""
        return self.placing.home

    def lazy_input(self, name: str, value: Any) -> Any:
        """An argument of a method that may be a Dask array, checked."""
        return self.checked(name, value) if name in machine.INPUTS else real(name, value)

    def checked(self, name: str, value: Any) -> Any:
        """``value`` as an array whose last axis fits the arm; lazy arrays pass as they are."""
        return self.fitting(name, real(name, value))

    def fitting(self, name: str, array: Any) -> Any:
        """An array of any library as it is, once its last axis is known to fit the arm."""
        (letter,) = machine.INPUTS[name]
        size = self.n if letter in ("n", "Q") else int(letter) if letter.isdigit() else self.sizes[letter]
        if array.ndim == 0 or array.shape[-1] != size:
            why = f"arm '{self.name}' has {self.n} joints" if size == self.n else f"{name} has {size} components"
            raise ShapeError(
                f"{name} has shape {tuple(array.shape)}, but {why}: the last axis must be {size}, as in (…, {size})"
            )
        return array
