"""Which parameters an identification looks for, and the regressor with a column for each.

A :class:`ParameterSet` is the parameter vector of S (7.81) as one identification uses it: with rotor
inertias or without, with the friction and the further terms that are asked for, with drives that two joints share,
with columns that a caller brings. τ = Yπ holds exactly for its ``regressor`` and ``values`` whenever the arm's torque
has no part that the set leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arm.lazy import lazy
from dalembert.arrays import double
from dalembert.environment.brief import brief
from dalembert.equations.regressor import INERTIAL, PARAMETERS, WIDTH, distinct
from dalembert.errors import DalembertError
from dalembert.identification.states import States
from dalembert.terms import Coulomb, Harmonic, Offset, Term, Viscous

Array = NDArray[np.float64]
Torque = Callable[[Array, Array, Array], Array]  # (q, qd, qdd), (N, n) each → (N, n)
JointTerm = tuple[int, Term]  # a joint of the tree, from 0, and a term there, whose shape counts

PIECE = 128  # samples whose regressor is made at once: two thirds of a megabyte, which stays near the core
FRICTION = ("viscous", "coulomb")
UNITS: dict[str, Term] = {
    "Fv": Viscous(1.0),
    "Fs": Coulomb(1.0, 1.0),
    "Fs+": Coulomb(1.0, 0.0),
    "Fs-": Coulomb(0.0, 1.0),
}


SLOPES: dict[str, Term] = {"FvT": Viscous(1.0), "FsT": Coulomb(1.0, 1.0)}  # by kind: what a kelvin adds a unit of

SLOPE_UNITS = {"FvT": "N m s/rad per K", "FsT": "N m per K"}  # at joints that turn


def has_rotors(arm: Arm) -> bool:
    """Whether any joint is driven by a rotor with inertia."""
    return any(body.has_rotor for body in arm.mechanism.tree.bodies)


@dataclass(frozen=True)
class ExtraColumn:
    """A column of a caller's own: ``torque(q, qd, qdd)`` is (N, n), what a unit of the parameter brings to every joint.

    It may be whatever is linear in its parameter. A robot cannot hold it: what one can is a term or a drive.
    """

    name: str
    torque: Torque
    value: float = 0.0


class Drive(NamedTuple):
    """A motor that turns with two held joints, numbered from 0, at the speed r q̇_i + q̇_j; both feel it."""

    i: int
    j: int
    ratio: float = 1.0

    def row(self, n: int) -> Array:
        """(n,) how fast it is for unit speeds of the held joints."""
        row = np.zeros(n)
        row[self.i], row[self.j] = self.ratio, 1.0
        return row


class Parameter(NamedTuple):
    """A parameter of a set.

    joint   of the tree, from 0; −1 for those of shared drives and of extra columns
    kind    ``m`` … ``Fs``, or what its term calls the coefficient; "" for extra ones
    source  its column in Arm.regressor; −1 where that has none
    unit    the term that a unit of the parameter is, where it is one
    drive   the shared drive that it belongs to
    torque  of an extra column
    slope   the friction that a unit of the parameter adds per kelvin above the mean temperature, where it is one
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
        """Whether it is none of S (7.81)'s."""
        return self.kind not in (*PARAMETERS, "Fs+", "Fs-") or self.joint < 0

    @property
    def loaded(self) -> bool:
        """Whether its column depends on what the joint passes on."""
        return self.unit is not None and "load" in self.unit.of

    @property
    def signed(self) -> bool:
        """Whether it cannot be negative: rotors have inertia, friction takes energy out, springs pull back."""
        if self.unit is None:
            return self.kind == "Im"
        least = {entry.name: entry.metadata["least"] for entry in self.unit.numbers()}
        return all(least[name] == 0.0 for name in self.unit.linear())

    def brings(self, states: States, load: Array | None = None) -> Array:
        """(N, n) the torques of a unit of it."""
        if self.torque is not None:
            return self.torque(states.q, states.qd, states.qdd)
        if self.slope is not None:
            return states.warmth(self.joint) * states.torque(self.slope, self.joint)
        if self.drive is not None:
            row = self.drive.row(states.arm.n)
            rest = np.zeros(len(states.q))
            return row * (
                (states.qdd @ row)[:, None] if self.unit is None else states.law(self.unit, rest, states.qd @ row, rest)
            )
        assert self.unit is not None
        return states.torque(self.unit, self.joint, load)

    def felt(self, states: States) -> NDArray[np.bool_]:
        """(n,) which joints can feel it: a further one may be zero almost everywhere."""
        if self.torque is not None:
            return np.ones(states.arm.n, bool)
        row = states.row(self.joint) if self.drive is None else self.drive.row(states.arm.n)[None]
        return np.asarray(np.abs(row).max(axis=0) > 0)


def temperature_parameters(arm: Arm, joint: int) -> tuple[Parameter, ...]:
    """FvT and FsT of a held joint, from 0: what a kelvin adds to its viscous and its Coulomb friction, 0 in the arm.

    Their columns are q̇ (T − T̄) and sgn q̇ (T − T̄), T̄ being the mean temperature of the joint in the log.

    >>> import numpy as np, dalembert as da
    >>> arm = da.load("planar-2r")
    >>> q = qd = qdd = np.array([[0.0, -2.0]])
    >>> at = States(arm, q, qd, qdd, temperature=np.array([[0.0, 10.0]]))
    >>> [(x.name, x.brings(at).tolist()) for x in temperature_parameters(arm, 1)]
    [('FvT_2', [[-0.0, -20.0]]), ('FsT_2', [[-0.0, -10.0]])]
    """
    j = arm.mechanism.actuated[joint]
    return tuple(Parameter(f"{kind}_{j + 1}", 0.0, j, kind, slope=unit) for kind, unit in SLOPES.items())


def own_terms(arm: Arm) -> tuple[JointTerm, ...]:
    """The terms beyond viscous and Coulomb friction that the arm has, joint after joint of its tree."""
    return tuple((j, term) for j, body in enumerate(arm.mechanism.tree.bodies) for term in body.further)


def shape_of(term: Term) -> tuple[object, ...]:
    """What two terms share whose coefficients add up: the name, and the numbers that are no coefficients."""
    return term.name, *(getattr(term, entry.name) for entry in term.numbers() if entry.name not in term.linear())


def kind_of(term: Term) -> tuple[object, ...]:
    """What a joint has one of: a term of a name, one that depends on the load, but harmonics of several orders."""
    return shape_of(term) if isinstance(term, Harmonic) else ("load" if "load" in term.of else term.name,)


@brief
@dataclass(frozen=True, eq=False)
class ParameterSet:
    """The parameters to identify of an arm, joint after joint, and what they are worth now.

    friction   of "viscous" (Fv) and "coulomb" (Fs), those that count; or {joint of the tree from 0: such}
    two_sided  Fs+ and Fs− instead of one Fs: the sizes of the Coulomb torque at positive and negative speed; True, or the
               joints of the tree that have them
    offset     a constant torque for every (actuated) joint, or for some joints of the tree
    rotor      the rotor inertias Im; without them a rotor's k_r² I_m is not part of the torque
    extra      columns of a caller's own, after all others
    only       keep these names alone, or "nonzero": those that are not zero in the arm as it is
    terms      (joint of the tree from 0, term): further terms, whose shape counts and whose coefficients are the
               parameters; unless given, all that the arm has
    drives     drives that two joints share: Im, Fv and Fs of each
    heated     held joints, from 0, whose viscous and Coulomb friction changes with their temperature (FvT, FsT)
    mean_temperature
               (n,) the temperatures (°C) at which friction is what Fv and Fs say; needed for ``heated`` joints
    load_from  (p,) the parameters that make the load of terms that depend on it; the arm's own unless given

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
                f"arm '{self.arm.name}' is an approximate model without {', '.join(self.arm.omitted)}, and parameters are those "
                "of the whole: take arm.replace(omitted=())"
            )
        laws = [self.friction_of(j) for j in range(self.arm.mechanism.tree.n)]
        unknown = [x for law in laws for x in law if x not in FRICTION]
        if unknown:
            raise DalembertError(f"there is no friction '{unknown[0]}'; choose of {', '.join(FRICTION)}")
        if any(has(self.two_sided, j) and "coulomb" not in law for j, law in enumerate(laws)):
            raise DalembertError("two_sided asks for Coulomb friction in both directions; add 'coulomb' to friction")
        members = self._all()
        if isinstance(self.only, str):
            if self.only != "nonzero":
                raise DalembertError(f"only is '{self.only}'; it must be 'nonzero' or a list of names")
            members = [parameter for parameter in members if parameter.value != 0.0]
        elif self.only is not None:
            known = {parameter.name for parameter in members}
            if missing := [name for name in self.only if name not in known]:
                raise DalembertError(f"there is no parameter '{missing[0]}' here; known are {', '.join(known)}")
            members = [parameter for parameter in members if parameter.name in set(self.only)]
        object.__setattr__(self, "members", tuple(members))

    def _all(self) -> list[Parameter]:
        """Every parameter, joint after joint, then further terms, shared drives and the extra ones."""
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
            for kind in ("Im", "Fv", "Fs"):
                members.append(Parameter(f"{kind}_{numbers}", 0.0, kind=kind, unit=UNITS.get(kind), drive=drive))
        for j in dict.fromkeys(self.heated):
            members += temperature_parameters(self.arm, j)
        members += [Parameter(column.name, column.value, torque=column.torque) for column in self.extra]
        names = distinct(parameter.name for parameter in members)
        return [parameter._replace(name=name) for parameter, name in zip(members, names, strict=True)]

    def friction_of(self, j: int) -> Sequence[str]:
        """What counts at a joint of the tree, of "viscous" and "coulomb"; both where a mapping does not name it."""
        return self.friction.get(j, FRICTION) if isinstance(self.friction, Mapping) else self.friction

    def _of_term(self, j: int, term: Term) -> list[Parameter]:
        """The coefficients of a term at joint j, and what they are in the arm: those of its term of this shape or kind."""
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
        return [
            Parameter(f"{symbol}_{j + 1}", float(x), j, symbol, source + k if source >= 0 else -1, unit)
            for k, (symbol, x, unit) in enumerate(zip(term.symbols, value, _units(term), strict=True))
        ]

    @cached_property
    def further(self) -> tuple[JointTerm, ...]:
        """The terms beyond viscous and Coulomb friction."""
        return own_terms(self.arm) if self.terms is None else tuple(self.terms)

    def with_terms(self, asked: Iterable[JointTerm]) -> ParameterSet:
        """The same with these terms instead of those of their kind."""
        asked = tuple(asked)
        instead = {(j, kind_of(term)) for j, term in asked}
        kept = tuple((j, term) for j, term in self.further if (j, kind_of(term)) not in instead)
        return replace(self, terms=(*kept, *asked))

    @cached_property
    def bodies(self) -> tuple[int, ...]:
        """Which of those links have masses to look for: all, but for those that stand for no body."""
        robot = self.arm.robot
        empty = {link.name for link in robot.links if link.massless}
        bodies = zip(self.arm.mechanism.tree.bodies, robot.tree_joints, strict=True)
        return tuple(j for j, (body, joint) in enumerate(bodies) if joint.child not in empty or not body.link.is_zero)

    @cached_property
    def actuated(self) -> tuple[int, ...]:
        """Which joints of the tree q moves: all, but for closed chains."""
        return tuple(self.arm.mechanism.actuated)

    # -- what it holds ---------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """``m_1``, ``mx_1``, …, with the joint's number, in the order of the columns."""
        return tuple(parameter.name for parameter in self.members)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The names without the joint's number; "" for the extra ones."""
        return tuple(parameter.kind for parameter in self.members)

    @cached_property
    def joints(self) -> tuple[int, ...]:
        """The joint that each column belongs to, from 0; −1 for those of shared drives and the extra ones."""
        return tuple(parameter.joint for parameter in self.members)

    @cached_property
    def values(self) -> Array:
        """π as the arm has it: (p,)."""
        return np.array([parameter.value for parameter in self.members])

    @property
    def size(self) -> int:
        """p, how many parameters there are."""
        return len(self.members)

    @cached_property
    def sources(self) -> NDArray[np.intp]:
        """The column of Arm.regressor for each parameter; −1 where that has none."""
        return np.array([parameter.source for parameter in self.members], np.intp)

    # -- the regressor ---------------------------------------------------------------------------

    def lazy_input(self, name: str, value: Any) -> Any:
        """An argument of a method that may be a Dask array, checked."""
        return self.arm.checked(name, value)

    @lazy("q qd qdd", lambda parameters: [(parameters.arm.n, parameters.size)], np.float64)
    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, temperature: ArrayLike | None = None) -> Array:
        """Y: (…, n, p) for states (…, n), and temperatures (°C) where joints are heated; the mean ones unless given.

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
        """Some of the columns that Arm.regressor has not: (N, n) each; at the mean temperatures unless others are given."""
        states, loads, asked = self._at(chosen, q, qd, qdd, temperature)
        return {k: parameter.brings(states, loads.get(parameter.joint)) for k, parameter in asked.items()}

    def brought(
        self, wanted: Iterable[tuple[int, int]], q: Array, qd: Array, qdd: Array, temperature: Array | None = None
    ) -> Iterator[Array]:
        """Of (column, joint that is held) what such a column brings there: (N,) each."""
        wanted = list(wanted)
        states, loads, asked = self._at({k for k, _ in wanted}, q, qd, qdd, temperature)
        whole: dict[int, Array] = {}
        for k, joint in wanted:
            parameter = asked[k]
            load = loads.get(parameter.joint)
            if parameter.joint == joint and parameter.unit is not None and states.Gamma is None:
                yield states.own_torque(parameter.unit, joint, load)
                continue
            if k not in whole:
                whole[k] = parameter.brings(states, load)
            yield whole[k][:, joint]

    def _at(
        self, chosen: Iterable[int], q: Array, qd: Array, qdd: Array, temperature: Array | None
    ) -> tuple[States, dict[int, Array], dict[int, Parameter]]:
        """The states, the loads that some columns need, and their parameters."""
        warmth = None if temperature is None or not self.heated else temperature - self.usual_temperature
        asked = {k: self.members[k] for k in chosen}
        loads = self.loads(q, qd, qdd) if any(parameter.loaded for parameter in asked.values()) else {}
        return States(self.arm, q, qd, qdd, warmth), loads, asked

    @property
    def usual_temperature(self) -> Array:
        """T̄ (n,) in °C, of a set with heated joints."""
        if self.mean_temperature is None:
            raise DalembertError(
                "parameters that depend on the temperature need mean_temperature, n numbers in °C, as a log with temperatures has it"
            )
        return self.mean_temperature

    @cached_property
    def _unloaded(self) -> ParameterSet:
        """The set without the terms that depend on the load."""
        return replace(self, only=[x.name for x in self.members if not x.loaded], load_from=None)

    def loads(self, q: Array, qd: Array, qdd: Array) -> dict[int, Array]:
        """What the joints with such terms pass on, (N,) each: all torques of ``load_from`` but their own terms'."""
        arm, (joints, of_kernel, more) = self.arm, self._passed_on
        out = np.empty((len(joints), len(q)))
        kernel, wide = arm.kernel("regressor"), np.empty((PIECE, arm.n, of_kernel.shape[1]))
        held = [self.actuated.index(j) for j in joints]
        for start in range(0, len(q), PIECE):
            piece = slice(start, min(start + PIECE, len(q)))
            Y = wide[: piece.stop - start]
            kernel(arm.placed(q[piece]), qd[piece], qdd[piece], out=Y)
            for k, i in enumerate(held):
                out[k, piece] = Y[:, i] @ of_kernel[k]
        brought = self._unloaded.brought([(column, held[k]) for column, k, _ in more], q, qd, qdd)
        for (_, k, value), torques in zip(more, brought, strict=True):
            out[k] += value * torques
        return dict(zip(joints, out, strict=True))

    @cached_property
    def _passed_on(self) -> tuple[list[int], Array, list[tuple[int, int, float]]]:
        """What makes the loads: the joints of the tree that have such terms (L), what the columns of Arm.regressor count for
        each of them (L, P), and (column of the rest, number of the joint, what it counts) of all others."""
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


def has(which: bool | Collection[int], j: int) -> bool:
    """Whether a joint of the tree is among some, or all are meant."""
    return which if isinstance(which, bool) else j in which


def _units(term: Term) -> list[Term]:
    """The term with a unit of each of its coefficients, the others 0, which no mechanism needs to have."""
    names = term.linear()
    return [replace(term, physical=False, **{name: float(name == unit) for name in names}) for unit in names]
