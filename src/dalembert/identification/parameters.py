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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arm.tree import actuated_of, tree_of
from dalembert.arrays import double
from dalembert.equations.regressor import INERTIAL
from dalembert.errors import DalembertError, ShapeError
from dalembert.motion.stepping import PARAMETERS

Array = NDArray[np.float64]

FRICTION = ("viscous", "coulomb")
WIDTH = PARAMETERS  # columns a joint in Arm.regressor: ten inertial ones, Im, Fv, Fs
ROTOR, VISCOUS, COULOMB = 10, 11, 12


@dataclass(frozen=True)
class Column:
    """A column beyond S's: ``torque(q, qd, qdd)`` is (N, n), what a unit of the parameter brings to every joint.

    Stribeck friction, a coupling between two joints, a spring: whatever is linear in its parameter.
    """

    name: str
    torque: Callable[[Array, Array, Array], Array]
    value: float = 0.0


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
    extra: tuple[Column, ...] = ()
    only: Sequence[str] | str | None = None
    _plan: list[tuple[str, int, float]] = field(init=False, repr=False)  # (name, column in the wide Y, value)

    def __post_init__(self) -> None:
        unknown = [x for x in self.friction if x not in FRICTION]
        if unknown:
            raise DalembertError(f"there is no friction '{unknown[0]}'; choose of {', '.join(FRICTION)}")
        if self.two_sided and "coulomb" not in self.friction:
            raise DalembertError("two_sided asks for Coulomb friction in both directions; add 'coulomb' to friction")
        plan = self._whole_plan()
        if isinstance(self.only, str):
            if self.only != "nonzero":
                raise DalembertError(f"only is '{self.only}'; it must be 'nonzero' or a list of names")
            plan = [one for one in plan if one[2] != 0.0]
        elif self.only is not None:
            known = {name for name, _, _ in plan}
            if missing := [name for name in self.only if name not in known]:
                raise DalembertError(f"there is no parameter '{missing[0]}' here; known are {', '.join(known)}")
            plan = [one for one in plan if one[0] in set(self.only)]
        object.__setattr__(self, "_plan", plan)

    def _whole_plan(self) -> list[tuple[str, int, float]]:
        """Every parameter with its column: 0…13n−1 of Arm.regressor, then Fs+, Fs−, offset, extra."""
        n, pi = self.links, self.arm.parameters
        plan: list[tuple[str, int, float]] = []
        for j, body in enumerate(tree_of(self.arm).bodies):
            at, tail = WIDTH * j, WIDTH * n + 3 * j
            plan += [(f"{name}_{j + 1}", at + k, float(pi[at + k])) for k, name in enumerate(INERTIAL)]
            if self.rotor:
                plan.append((f"Im_{j + 1}", at + ROTOR, float(pi[at + ROTOR])))
            if "viscous" in self.friction:
                plan.append((f"Fv_{j + 1}", at + VISCOUS, float(pi[at + VISCOUS])))
            if self.two_sided:
                plan += [(f"Fs{sign}_{j + 1}", tail + k, float(body.coulomb[k])) for k, sign in enumerate("+-")]
            elif "coulomb" in self.friction:
                plan.append((f"Fs_{j + 1}", at + COULOMB, float(pi[at + COULOMB])))
            if self.offset and j in self.actuated:
                plan.append((f"offset_{j + 1}", tail + 2, 0.0))
        return plan + [(column.name, (WIDTH + 3) * n + k, column.value) for k, column in enumerate(self.extra)]

    @property
    def links(self) -> int:
        """How many links have parameters: one a joint; of closed chains one a joint of the tree."""
        return len(self.arm.robot.tree_joints)

    @cached_property
    def actuated(self) -> tuple[int, ...]:
        """Which of those joints q moves: all, but for closed chains."""
        return actuated_of(self.arm)

    # -- what it holds ---------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """``m_1``, ``mx_1``, …, with the joint's number, in the order of the columns."""
        return tuple(name for name, _, _ in self._plan)

    @cached_property
    def values(self) -> Array:
        """π as the arm has it: (p,)."""
        return np.array([value for _, _, value in self._plan])

    @property
    def size(self) -> int:
        """p, how many parameters there are."""
        return len(self._plan)

    @cached_property
    def joints(self) -> tuple[int, ...]:
        """The joint that each column belongs to, from 0; −1 for the extra ones."""
        n = self.links
        return tuple(
            c // WIDTH if c < WIDTH * n else (c - WIDTH * n) // 3 if c < (WIDTH + 3) * n else -1
            for _, c, _ in self._plan
        )

    def index(self, name: str) -> int:
        """The column of a parameter."""
        if name not in self.names:
            raise DalembertError(f"there is no parameter '{name}' here; known are {', '.join(self.names)}")
        return self.names.index(name)

    # -- the regressor ---------------------------------------------------------------------------

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Y: (N, n, p) for states (N, n); (n, p) for one state (n,).

        >>> import numpy as np, dalembert as da
        >>> arm = da.load("puma560")
        >>> some = ParameterSet(arm, two_sided=True, offset=True)
        >>> x = np.random.default_rng(0).uniform(-1, 1, (3, 5, 6))
        >>> np.allclose(some.regressor(*x) @ some.values, arm.inverse_dynamics(*x))
        True
        """
        q, qd, qdd = double("q", q), double("qd", qd), double("qdd", qdd)
        if q.ndim == 1:
            return self.regressor(q[None], qd[None], qdd[None])[0]
        q, qd, qdd = self.checked(q=q, qd=qd, qdd=qdd)
        Y: Array = np.asarray(self.arm.regressor(q, qd, qdd), dtype=np.float64)
        n, columns = self.arm.n, np.array([c for _, c, _ in self._plan], dtype=np.intp)
        if not len(columns) or columns.max() < WIDTH * self.links:
            return Y[:, :, columns]
        out = np.zeros((len(q), n, len(columns)))
        wide = columns < WIDTH * self.links
        out[:, :, wide] = Y[:, :, columns[wide]]
        Gamma = self._followed(q)
        for k in np.flatnonzero(~wide):
            self._fill(out[:, :, k], int(columns[k]), q, qd, qdd, Gamma)
        return out

    def _followed(self, q: Array) -> Array | None:
        """Γ (N, links, n) of a closed chain whose columns ask for it: how passive joints follow."""
        return self.arm.closure_jacobian(q) if self.arm.robot.loops and self.two_sided else None  # type: ignore[attr-defined]

    def _fill(self, out: Array, column: int, q: Array, qd: Array, qdd: Array, Gamma: Array | None) -> None:
        """One of the columns that Arm.regressor has not."""
        n = self.links
        j, kind = divmod(column - WIDTH * n, 3)
        if column >= (WIDTH + 3) * n:
            out[:] = self.extra[column - (WIDTH + 3) * n].torque(q, qd, qdd)
        elif kind == 2:
            out[:, self.actuated.index(j)] = 1.0
        elif Gamma is None:  # F_s⁻ pushes forward
            out[:, j] = qd[:, j] > 0 if kind == 0 else -1.0 * (qd[:, j] < 0)
        else:  # Γᵀ of what joint j of the tree brings
            speed = np.einsum("kn,kn->k", Gamma[:, j], qd)
            out[:] = Gamma[:, j] * (speed > 0 if kind == 0 else -1.0 * (speed < 0))[:, None]

    def checked(self, convert: bool = True, **arrays: Any) -> tuple[Array, ...]:
        """Arrays of states (N, n), all of one length, or an error that says which is not.

        Without ``convert`` they keep their type, and arrays on disk stay there.
        """
        out = []
        for name, x in arrays.items():
            x = double(name, x) if convert else np.asanyarray(x)
            if x.ndim != 2 or x.shape[1] != self.arm.n:
                raise ShapeError(f"{name} has shape {x.shape}; arm '{self.arm.name}' needs (samples, {self.arm.n})")
            out.append(x)
        if len({len(x) for x in out}) > 1:
            lengths = ", ".join(f"{name} {len(x)}" for name, x in zip(arrays, out, strict=True))
            raise ShapeError(f"the arrays differ in their numbers of samples: {lengths}")
        return tuple(out)


__all__ = ["FRICTION", "Column", "ParameterSet"]
