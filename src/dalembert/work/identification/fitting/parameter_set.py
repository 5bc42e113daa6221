"""The parameters of an identification, and the regressor with one column for each.

A :class:`ParameterSet` is the parameter vector of S (7.81) as used in one identification: with or without rotor
inertias, with the requested friction and further terms, with drives that are shared by two joints, and with
user-defined columns. τ = Yπ holds exactly for its ``regressor`` and ``values`` if every part of the arm's torque is
covered by the set.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arm.lazy import lazy
from dalembert.base.arrays import Array, double
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.base.wording import nearest
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import INERTIAL, PARAMETERS, WIDTH, distinct
from dalembert.robot.terms import Coulomb, Harmonic, Offset, Term, Viscous
from dalembert.work.identification.fitting.term_columns import States

Torque = Callable[[Array, Array, Array], Array]  # (q, qd, qdd), (N, n) each → (N, n)
JointTerm = tuple[int, Term]  # a joint of the tree, from 0, and a term that defines the shape

PIECE = 128  # samples per block of the regressor: two thirds of a megabyte, which fits into the cache of a core
FRICTION = ("viscous", "coulomb")
UNITS: dict[str, Term] = {
    "Fv": Viscous(1.0), "Fs": Coulomb(1.0, 1.0), "Fs+": Coulomb(1.0, 0.0), "Fs-": Coulomb(0.0, 1.0),
}  # fmt: skip
SLOPES = {"FvT": UNITS["Fv"], "FsT": UNITS["Fs"]}  # by kind: the friction term that changes with the temperature
SLOPE_UNITS = {"FvT": "N m s/rad per K", "FsT": "N m per K"}  # at revolute joints


def has_rotors(arm: Arm) -> bool:
    """Whether any joint is driven by a rotor with inertia."""
    return any(body.has_rotor for body in arm.mechanism.tree.bodies)


@dataclass(frozen=True)
class ExtraColumn:
    """A user-defined column: ``torque(q, qd, qdd)`` is (N, n), the torque of every joint per unit of the parameter.

    It can describe any torque that is linear in its parameter. A robot file cannot hold it; terms and drives can be
    stored.
    """

    name: str
    torque: Torque
    value: float = 0.0


class Drive(NamedTuple):
    """A motor that is coupled to two joints of q, numbered from 0, and turns at the speed r q̇_i + q̇_j; it acts on both."""

    i: int
    j: int
    ratio: float = 1.0

    def row(self, n: int) -> Array:
        """(n,) its speed for unit speeds of the joints of q."""
        row = np.zeros(n)
        row[self.i], row[self.j] = self.ratio, 1.0
        return row

    def parameters(self, numbers: str = "") -> list[Parameter]:
        """Its rotor inertia and friction, zero in the arm, named by the ``numbers`` of its joints."""
        kinds = ("Im", "Fv", "Fs")
        return [Parameter(f"{kind}_{numbers}", 0.0, kind=kind, unit=UNITS.get(kind), drive=self) for kind in kinds]


class Parameter(NamedTuple):
    """A parameter of a set.

    joint   of the tree, from 0; −1 for those of shared drives and of extra columns
    kind    ``m`` … ``Fs``, or the name of the coefficient in its term; "" for extra ones
    source  its column in Arm.regressor; −1 if it has none there
    unit    the term with this coefficient equal to one, if the parameter belongs to a term
    drive   the shared drive that it belongs to
    torque  the function of an extra column
    slope   the friction that a unit of the parameter adds per kelvin above the mean temperature, if it is such a slope
    """

    name: str
    value: float
    joint: int = -1
    kind: str = ""
    source: int = -1
    unit: Term | None = None
    drive: Drive | None = None
    torque: Torque | None = None
    slope: Term | None = None

    @property
    def further(self) -> bool:
        """Whether it is not one of the parameters of S (7.81)."""
        return self.kind not in (*PARAMETERS, "Fs+", "Fs-") or self.joint < 0

    @property
    def loaded(self) -> bool:
        """Whether its column depends on the torque transmitted by the joint."""
        return self.unit is not None and "load" in self.unit.of

    @property
    def signed(self) -> bool:
        """Whether it must be nonnegative: rotors have inertia, friction dissipates energy, springs pull back."""
        if self.unit is None:
            return self.kind == "Im"
        least = {entry.name: entry.metadata["least"] for entry in self.unit.numbers()}
        return all(least[name] == 0.0 for name in self.unit.linear())

    def row(self, states: States) -> Array:
        """Γ of its joint or shared drive, (N, n) or (1, n): the dependence of its motion on q."""
        return states.row(self.joint) if self.drive is None else self.drive.row(states.arm.n)[None]

    def column(self, states: States) -> Array:
        """(N, n) the torques per unit of the parameter."""
        if self.torque is not None:
            return self.torque(states.q, states.qd, states.qdd)
        if self.slope is not None:
            return states.warmth(self.joint) * states.torque(self.slope, self.joint)
        if self.drive is not None:
            row = self.drive.row(states.arm.n)
            if self.unit is None:
                return row * (states.qdd @ row)[:, None]
            return row * states.sampled(self.unit, states.zero, states.qd @ row, states.zero)
        assert self.unit is not None
        return states.torque(self.unit, self.joint)

    def acts_on(self, states: States) -> NDArray[np.bool_]:
        """(n,) the joints on which it can act; user-defined columns may be zero almost everywhere."""
        if self.torque is not None:
            return np.ones(states.arm.n, bool)
        return np.asarray(np.abs(self.row(states)).max(axis=0) > 0)


def temperature_parameters(arm: Arm, joint: int) -> tuple[Parameter, ...]:
    """FvT and FsT of a joint of q, from 0: the change per K of its viscous and Coulomb friction, 0 in the arm.

    Their columns are q̇ (T − T̄) and sgn q̇ (T − T̄), T̄ being the mean temperature of the joint in the log.

    >>> import numpy as np, dalembert as da
    >>> arm = da.load("planar-2r")
    >>> q = qd = qdd = np.array([[0.0, -2.0]])
    >>> at = States(arm, q, qd, qdd, temperature=np.array([[0.0, 10.0]]))
    >>> [(x.name, x.column(at).tolist()) for x in temperature_parameters(arm, 1)]
    [('FvT_2', [[-0.0, -20.0]]), ('FsT_2', [[-0.0, -10.0]])]
    """
    j = arm.mechanism.actuated[joint]
    return tuple(Parameter(f"{kind}_{j + 1}", 0.0, j, kind, slope=unit) for kind, unit in SLOPES.items())


def own_terms(arm: Arm) -> tuple[JointTerm, ...]:
    """The terms of the arm beyond viscous and Coulomb friction, in the order of the joints of its tree."""
    return tuple((j, term) for j, body in enumerate(arm.mechanism.tree.bodies) for term in body.further)


def shape_of(term: Term) -> tuple[object, ...]:
    """The key that two terms share if their coefficients add up: the name, and the numbers that are not coefficients."""
    return term.name, *(getattr(term, entry.name) for entry in term.numbers() if entry.name not in term.linear())


def one_each(term: Term) -> list[Term]:
    """For each coefficient of a term the term in which it is 1 and the others are 0, which need not be physical."""
    names = term.linear()
    return [replace(term, physical=False, **{x: float(x == name) for x in names}) for name in names]


def kind_of(term: Term) -> tuple[object, ...]:
    """The key of which a joint has at most one term: the name, all load-dependent terms alike, harmonics by order."""
    return shape_of(term) if isinstance(term, Harmonic) else ("load" if "load" in term.of else term.name,)


@record
class ParameterSet:
    """The parameters to be identified, joint by joint, and their values in the arm.

    friction   any of "viscous" (Fv) and "coulomb" (Fs); or {joint of the tree from 0: names}
    two_sided  Fs+ and Fs− instead of one Fs: the magnitudes of the Coulomb torque at positive and negative speed; True, or
               the joints of the tree that have them
    offset     a constant torque for every (actuated) joint, or for some joints of the tree
    rotor      the rotor inertias Im; without them a rotor's k_r² I_m is not part of the torque
    extra      user-defined columns, after all others
    only       keep only these names, or "nonzero": the parameters that are not zero in the arm
    terms      (joint of the tree from 0, term): further terms, whose shape is used and whose coefficients are the
               parameters; by default all terms of the arm
    drives     drives that are shared by two joints: Im, Fv and Fs of each
    heated     joints of q, from 0, whose viscous and Coulomb friction changes with their temperature (FvT, FsT)
    mean_temperature
               (n,) the temperatures (°C) to which Fv and Fs refer; needed for ``heated`` joints
    load_from  (p,) the parameters that define the load of load-dependent terms; the arm's own by default

    >>> import dalembert as da
    >>> ParameterSet(da.load("pendulum"), friction=(), rotor=False).names[-3:]
    ('Iyy_1', 'Iyz_1', 'Izz_1')
    """

    arm: Arm
    friction: Sequence[str] | Mapping[int, Sequence[str]] = FRICTION
    two_sided: bool | Collection[int] = False
    offset: bool | Collection[int] = False
    rotor: bool = True
    extra: tuple[ExtraColumn, ...] = ()
    only: Sequence[str] | str | None = None
    terms: Sequence[JointTerm] | None = None
    drives: Sequence[Drive] = ()
    load_from: Array | None = None
    heated: Sequence[int] = ()
    mean_temperature: Array | None = None
    members: tuple[Parameter, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.arm.omitted:
            raise DalembertError(
                f"arm '{self.arm.name}' is an approximate model without {', '.join(self.arm.omitted)}, and parameters belong to "
                "the complete model: use arm.replace(omitted=())"
            )
        laws = [self.friction_of(j) for j in range(self.arm.mechanism.tree.n)]
        unknown = [x for law in laws for x in law if x not in FRICTION]
        if unknown:
            raise DalembertError(f"there is no friction '{unknown[0]}'; choose from {', '.join(FRICTION)}")
        if any(has(self.two_sided, j) and "coulomb" not in law for j, law in enumerate(laws)):
            raise DalembertError("two_sided needs Coulomb friction; add 'coulomb' to friction")
        members = self._all()
        if isinstance(self.only, str):
            if self.only != "nonzero":
                raise DalembertError(f"only is '{self.only}'; it must be 'nonzero' or a list of names")
            members = [parameter for parameter in members if parameter.value != 0.0]
        elif self.only is not None:
            known = [parameter.name for parameter in members]
            if missing := [name for name in self.only if name not in known]:
                raise DalembertError(
                    f"there is no parameter '{missing[0]}' here; known are {', '.join(known)}{nearest(missing[0], known)}"
                )
            members = [parameter for parameter in members if parameter.name in set(self.only)]
        object.__setattr__(self, "members", tuple(members))

    def _all(self) -> list[Parameter]:
        """All parameters, joint by joint, followed by further terms, shared drives and user-defined columns."""
        bodies = self.arm.mechanism.tree.bodies
        own = self.arm.parameters[: WIDTH * len(bodies)].reshape(-1, WIDTH)
        members: list[Parameter] = []
        for j, (body, pi) in enumerate(zip(bodies, own, strict=True)):
            value = dict(zip((*PARAMETERS, "Fs+", "Fs-"), (*pi, *body.coulomb), strict=True))
            law = self.friction_of(j)
            kinds = [*["Im"] * self.rotor, *["Fv"] * ("viscous" in law)]
            kinds += ["Fs+", "Fs-"] if has(self.two_sided, j) else ["Fs"] * ("coulomb" in law)
            for kind in [*INERTIAL, *kinds] if j in self.bodies else kinds:
                source = WIDTH * j + PARAMETERS.index(kind) if kind in PARAMETERS else -1
                members.append(Parameter(f"{kind}_{j + 1}", float(value[kind]), j, kind, source, UNITS.get(kind)))
            if has(self.offset, j) and j in self.actuated:
                members += self._of_term(j, Offset(0.0))
        for j, term in self.further:
            if not (has(self.offset, j) and j in self.actuated and isinstance(term, Offset)):
                members += self._of_term(j, term)
        for drive in self.drives:
            numbers = "_".join(str(self.actuated[k] + 1) for k in (drive.i, drive.j))
            members += drive.parameters(numbers)
        for j in dict.fromkeys(self.heated):
            members += temperature_parameters(self.arm, j)
        members += [Parameter(column.name, column.value, torque=column.torque) for column in self.extra]
        names = distinct(parameter.name for parameter in members)
        return [parameter._replace(name=name) for parameter, name in zip(members, names, strict=True)]

    def friction_of(self, j: int) -> Sequence[str]:
        """The friction of a joint of the tree, any of "viscous" and "coulomb"; both if a mapping does not name the joint."""
        return self.friction.get(j, FRICTION) if isinstance(self.friction, Mapping) else self.friction

    def _of_term(self, j: int, term: Term) -> list[Parameter]:
        """The coefficients of a term at joint j, and their values in the arm: those of its term of this shape or kind."""
        at, source, value = WIDTH * self.arm.mechanism.tree.n, -1, (0.0,) * len(term.linear())
        for i, own in own_terms(self.arm):
            if i == j and shape_of(own) == shape_of(term):
                source, value = at, own.coefficients
                break
            if i == j and own.name == term.name and kind_of(own) == kind_of(term):
                value = own.coefficients
            at += len(own.linear())
        if "load" in term.of and self.load_from is not None:
            source = -1
        members = []
        for k, (symbol, x, unit) in enumerate(zip(term.symbols, value, one_each(term), strict=True)):
            members.append(Parameter(f"{symbol}_{j + 1}", float(x), j, symbol, source + k if source >= 0 else -1, unit))
        return members

    @cached_property
    def further(self) -> tuple[JointTerm, ...]:
        """The terms beyond viscous and Coulomb friction."""
        return own_terms(self.arm) if self.terms is None else tuple(self.terms)

    def with_terms(self, asked: Iterable[JointTerm]) -> ParameterSet:
        """The same set with these terms instead of those of their kind."""
        terms = tuple(asked)
        instead = {(j, kind_of(term)) for j, term in terms}
        others = tuple((j, term) for j, term in self.further if (j, kind_of(term)) not in instead)
        return replace(self, terms=(*others, *terms))

    @cached_property
    def bodies(self) -> tuple[int, ...]:
        """Which links have masses to be identified: all, except those that do not represent a body."""
        robot = self.arm.robot
        empty = {link.name for link in robot.links if link.massless}
        bodies = zip(self.arm.mechanism.tree.bodies, robot.tree_joints, strict=True)
        return tuple(j for j, (body, joint) in enumerate(bodies) if joint.child not in empty or not body.link.is_zero)

    @cached_property
    def actuated(self) -> tuple[int, ...]:
        """Which joints of the tree are in q: all, except in closed chains."""
        return tuple(self.arm.mechanism.actuated)

    # -- contents ---------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """``m_1``, ``mx_1``, …, with the joint's number, in the order of the columns."""
        return tuple(parameter.name for parameter in self.members)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The names without the joint's number; "" for user-defined columns."""
        return tuple(parameter.kind for parameter in self.members)

    @cached_property
    def joints(self) -> tuple[int, ...]:
        """The joint that each column belongs to, from 0; −1 for those of shared drives and user-defined columns."""
        return tuple(parameter.joint for parameter in self.members)

    @cached_property
    def values(self) -> Array:
        """π with the values of the arm: (p,)."""
        return np.array([parameter.value for parameter in self.members])

    @property
    def size(self) -> int:
        """p, the number of parameters."""
        return len(self.members)

    @cached_property
    def sources(self) -> NDArray[np.intp]:
        """The column of Arm.regressor for each parameter; −1 if there is none."""
        return np.array([parameter.source for parameter in self.members], np.intp)

    # -- the regressor ---------------------------------------------------------------------------

    def lazy_input(self, name: str, value: Any) -> Any:
        """A checked argument of a method that accepts Dask arrays."""
        return self.arm.checked(name, value)

    @lazy("q qd qdd", lambda parameters: [(parameters.arm.n, parameters.size)], np.float64)
    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, temperature: ArrayLike | None = None) -> Array:
        """Y: (…, n, p) for states (…, n) and, if joints are heated, temperatures (°C); their mean by default.

        >>> import numpy as np, dalembert as da
        >>> arm = da.load("puma560")
        >>> some = ParameterSet(arm, two_sided=True, offset=True)
        >>> x = np.random.default_rng(0).uniform(-1, 1, (3, 5, 6))
        >>> np.allclose(some.regressor(*x) @ some.values, arm.inverse_dynamics(*x))
        True
        """
        q, qd, qdd = double("q", q), double("qd", qd), double("qdd", qdd)
        Y: Array = np.asarray(self.arm.regressor(q, qd, qdd), dtype=np.float64)
        wide = self.sources >= 0
        if wide.all():
            return Y[..., self.sources]
        out = np.zeros((*Y.shape[:-1], self.size))
        out[..., wide] = Y[..., self.sources[wide]]
        q, qd, qdd = (np.broadcast_to(x, Y.shape[:-1]).reshape(-1, self.arm.n) for x in (q, qd, qdd))
        columns = out.reshape(len(q), self.arm.n, self.size)
        if temperature is not None:
            temperature = np.broadcast_to(double("temperature", temperature), Y.shape[:-1]).reshape(-1, self.arm.n)
        for k, torques in self.columns(np.flatnonzero(~wide).tolist(), q, qd, qdd, temperature).items():
            columns[:, :, k] = torques
        return out

    def columns(
        self, chosen: Iterable[int], q: Array, qd: Array, qdd: Array, temperature: Array | None = None
    ) -> dict[int, Array]:
        """Some of the columns that Arm.regressor does not have: (N, n) each; at the mean temperatures by default."""
        chosen = list(chosen)
        states = self._at(chosen, q, qd, qdd, temperature)
        return {k: self.members[k].column(states) for k in chosen}

    def columns_at(
        self, wanted: Iterable[tuple[int, int]], q: Array, qd: Array, qdd: Array, temperature: Array | None = None,
        averaged: bool = False,
    ) -> Iterator[Array]:  # fmt: skip
        """For each (column, joint of q), the entries of the column at that joint: (N,) each; see :class:`States`."""
        wanted, whole = list(wanted), dict[int, Array]()
        states = self._at([k for k, _ in wanted], q, qd, qdd, temperature, averaged)
        for k, joint in wanted:
            parameter = self.members[k]
            if parameter.joint == joint and parameter.unit is not None and states.Gamma is None:
                yield states.own_torque(parameter.unit, joint)
                continue
            if k not in whole:
                whole[k] = parameter.column(states)
            yield whole[k][:, joint]

    def _at(
        self, chosen: Sequence[int], q: Array, qd: Array, qdd: Array, temperature: Array | None, averaged: bool = False
    ) -> States:
        """The states, with the loads that some columns require."""
        warmth = None if temperature is None or not self.heated else temperature - self.usual_temperature
        loads = self.loads(q, qd, qdd) if any(self.members[k].loaded for k in chosen) else {}
        return States(self.arm, q, qd, qdd, warmth, loads, averaged)

    @property
    def usual_temperature(self) -> Array:
        """T̄ (n,) in °C, for a set with heated joints."""
        if self.mean_temperature is None:
            raise DalembertError(
                "temperature-dependent parameters need mean_temperature, n numbers in °C, such as the means of a log with temperatures"
            )
        return self.mean_temperature

    @cached_property
    def _unloaded(self) -> ParameterSet:
        """The set without load-dependent terms."""
        return replace(self, only=[x.name for x in self.members if not x.loaded], load_from=None)

    def loads(self, q: Array, qd: Array, qdd: Array) -> dict[int, Array]:
        """The torques transmitted by the joints with such terms, (N,) each: all torques of ``load_from`` except their
        own terms."""
        arm, (joints, of_kernel, more) = self.arm, self._passed_on
        out = np.empty((len(joints), len(q)))
        held = [self.actuated.index(j) for j in joints]
        for piece, Y in regressor_pieces(arm, q, qd, qdd):
            for k, i in enumerate(held):
                out[k, piece] = Y[:, i] @ of_kernel[k]
        unit_torques = self._unloaded.columns_at([(column, held[k]) for column, k, _ in more], q, qd, qdd)
        for (_, k, value), torques in zip(more, unit_torques, strict=True):
            out[k] += value * torques
        return dict(zip(joints, out, strict=True))

    @cached_property
    def _passed_on(self) -> tuple[list[int], Array, list[tuple[int, int, float]]]:
        """The composition of the loads: the joints of the tree with such terms (L), the coefficients of the columns of
        Arm.regressor for each (L, P), and (column, number of the joint, coefficient) of all other columns."""
        rest, values = self._unloaded, self.values if self.load_from is None else self.load_from
        pi = values[[not parameter.loaded for parameter in self.members]]
        joints = sorted({parameter.joint for parameter in self.members if parameter.loaded})
        counted = np.array([[x.joint != j or x.unit is None for x in rest.members] for j in joints]) * pi
        wide = np.flatnonzero(rest.sources >= 0)
        of_kernel = np.zeros((len(joints), len(self.arm.parameters)))
        of_kernel[:, rest.sources[wide]] = counted[:, wide]
        others = np.flatnonzero(rest.sources < 0).tolist()
        more = [(c, k, float(counted[k, c])) for c in others for k in range(len(joints)) if counted[k, c] != 0.0]
        return joints, of_kernel, more


def regressor_pieces(arm: Arm, q: Array, qd: Array, qdd: Array) -> Iterator[tuple[slice, Array]]:
    """(samples, Y (m, n, p)) of the arm's own regressor, in pieces that fit into the cache; Y is overwritten by the next."""
    kernel, wide = arm.kernel("regressor"), np.empty((PIECE, arm.n, len(arm.parameters)))
    for start in range(0, len(q), PIECE):
        piece = slice(start, min(start + PIECE, len(q)))
        Y = wide[: piece.stop - start]
        kernel(arm.placed(q[piece]), qd[piece], qdd[piece], out=Y)
        yield piece, Y


def has(which: bool | Collection[int], j: int) -> bool:
    """Whether a joint of the tree is selected, by a list or by True for all."""
    return which if isinstance(which, bool) else j in which
