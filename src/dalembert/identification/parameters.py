"""Which parameters an identification looks for, and the regressor with a column for each.

A :class:`ParameterSet` is the parameter vector of S (7.81) as one identification uses it: with rotor
inertias or without, with the friction that is asked for, with further columns that a caller brings.
τ = Yπ holds exactly for its ``regressor`` and ``values`` whenever the arm's torque has no part that the
set leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arrays import double
from dalembert.equations.regressor import INERTIAL, PARAMETERS, WIDTH
from dalembert.errors import DalembertError

Array = NDArray[np.float64]
Torque = Callable[[Array, Array, Array], Array]  # (q, qd, qdd), (N, n) each → (N, n)

FRICTION = ("viscous", "coulomb")


def has_rotors(arm: Arm) -> bool:
    """Whether any joint is driven by a rotor with inertia."""
    return any(body.has_rotor for body in arm.mechanism.tree.bodies)


@dataclass(frozen=True)
class ExtraColumn:
    """A column beyond S's: ``torque(q, qd, qdd)`` is (N, n), what a unit of the parameter brings to every joint.

    Stribeck friction, a coupling between two joints, a spring: whatever is linear in its parameter.
    """

    name: str
    torque: Torque
    value: float = 0.0


class Parameter(NamedTuple):
    """A parameter of a set: its joint from 0 and its kind (``m`` … ``offset``), or −1, "" and the torque of an extra one."""

    name: str
    value: float
    joint: int = -1
    kind: str = ""
    torque: Torque | None = None

    @property
    def source(self) -> int:
        """Its column in Arm.regressor; −1 where that has none."""
        return WIDTH * self.joint + PARAMETERS.index(self.kind) if self.kind in PARAMETERS else -1


@dataclass(frozen=True, eq=False)
class ParameterSet:
    """The parameters to identify of an arm, joint after joint, and what they are worth now.

    friction   of "viscous" (Fv) and "coulomb" (Fs), those that count
    two_sided  Fs+ and Fs− instead of one Fs: the sizes of the Coulomb torque at positive and negative speed
    offset     a constant torque for every (actuated) joint
    rotor      the rotor inertias Im; without them a rotor's k_r² I_m is not part of the torque
    extra      further columns, after those of the joints
    only       keep these names alone, or "nonzero": those that are not zero in the arm as it is

    >>> import dalembert as da
    >>> ParameterSet(da.load("pendulum"), friction=(), rotor=False).names[-3:]
    ('Iyy_1', 'Iyz_1', 'Izz_1')
    """

    arm: Arm
    friction: Sequence[str] = FRICTION
    two_sided: bool = False
    offset: bool = False
    rotor: bool = True
    extra: tuple[ExtraColumn, ...] = ()
    only: Sequence[str] | str | None = None
    members: tuple[Parameter, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        unknown = [x for x in self.friction if x not in FRICTION]
        if unknown:
            raise DalembertError(f"there is no friction '{unknown[0]}'; choose of {', '.join(FRICTION)}")
        if self.two_sided and "coulomb" not in self.friction:
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
        """Every parameter, joint after joint, and the extra ones."""
        kinds = [*["Im"] * self.rotor, *["Fv"] * ("viscous" in self.friction)]
        kinds += ["Fs+", "Fs-"] if self.two_sided else ["Fs"] * ("coulomb" in self.friction)
        members: list[Parameter] = []
        own = self.arm.parameters.reshape(-1, WIDTH)
        for j, (body, pi) in enumerate(zip(self.arm.mechanism.tree.bodies, own, strict=True)):
            value = dict(zip((*PARAMETERS, "Fs+", "Fs-", "offset"), (*pi, *body.coulomb, 0.0), strict=True))
            here = [*INERTIAL, *kinds] if j in self.bodies else list(kinds)
            here += ["offset"] * (self.offset and j in self.actuated)
            members += [Parameter(f"{kind}_{j + 1}", float(value[kind]), j, kind) for kind in here]
        return members + [Parameter(column.name, column.value, torque=column.torque) for column in self.extra]

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
        """The joint that each column belongs to, from 0; −1 for the extra ones."""
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

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Y: (…, n, p) for states (…, n).

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
        columns, Gamma = out.reshape(len(q), self.arm.n, self.size), self._followed(q)
        for k in np.flatnonzero(~wide):
            self._fill(columns[:, :, k], self.members[k], q, qd, qdd, Gamma)
        return out

    def _followed(self, q: Array) -> Array | None:
        """Γ (N, links, n) of a closed chain whose columns ask for it: how passive joints follow."""
        if not (self.arm.passive_names and self.two_sided):
            return None
        return np.asarray(self.arm.closure_jacobian(q), np.float64)

    def _fill(self, out: Array, parameter: Parameter, q: Array, qd: Array, qdd: Array, Gamma: Array | None) -> None:
        """One of the columns that Arm.regressor has not."""
        j = parameter.joint
        if parameter.torque is not None:
            out[:] = parameter.torque(q, qd, qdd)
        elif parameter.kind == "offset":
            out[:, self.actuated.index(j)] = 1.0
        else:
            speed = qd[:, j] if Gamma is None else np.einsum("kn,kn->k", Gamma[:, j], qd)
            level = 1.0 * (speed > 0) if parameter.kind == "Fs+" else -1.0 * (speed < 0)  # F_s⁻ pushes forward
            if Gamma is None:
                out[:, j] = level
            else:  # Γᵀ of what joint j of the tree brings
                out[:] = Gamma[:, j] * level[:, None]
