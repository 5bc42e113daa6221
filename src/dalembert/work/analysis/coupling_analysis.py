"""Zero coefficients of the equations of motion, classified by M's three reasons.

Σ_j b_ij q̈_j + Σ_jk h_ijk q̇_j q̇_k + g_i = τ_i, S (7.40). S's h_ijk of (7.41) is not the only choice: only
h_ijk + h_ikj acts on joint i. Here h_ijk is the symmetric choice, c_ijk of S (7.45) and h_ikm of M (2.14);
``arm.velocity_coefficients(q)`` gives those of (7.41).

"always"     zero for every arm with this tree of joints: M's reason 2, for example the centrifugal torque h_iii
"structure"  zero for these joint types, axis directions, zero lengths and direction of gravity, whatever the
             masses, centres of mass, inertias, rotors and other lengths: M's reason 1
"numbers"    zero for these numbers only: a design condition holds, as in S 7.3.3
"nonzero"    nonzero, except possibly at particular configurations: M's reason 3, :meth:`Couplings.at`

Each class is found by evaluating Lagrange's equations at random configurations with numbers that carry their rounding
error: with the arm's own numbers, with others of the same structure, and with any of the same tree
(:mod:`variations`). A coefficient that is not identically zero vanishes at a random draw with probability 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import DOUBLE, Array, at_once
from dalembert.base.wording import shown
from dalembert.errors import DalembertError, ShapeError
from dalembert.mechanics.equations import lagrange
from dalembert.robot.model.mechanism import Mechanism
from dalembert.work.analysis.variations import UNIT, Rounded, other_numbers, other_placements, stacked
from dalembert.work.trajectory.planning.motion_checks import check_choice

if TYPE_CHECKING:
    from dalembert.mechanics.symbols.conditions import Condition

DRAWS = 4  # random mechanisms: a coefficient that vanishes in all of them vanishes by structure
MOST = 24  # joints of a tree: rounding bounds grow with every joint and eventually hide nonzero coefficients
SAFETY = 8.0  # factor on the rounding bound, which counts first-order errors
SOLVED = 1e-10  # accuracy of the joint positions of a closed chain that are solved for
MARKS = {"always": "a", "structure": "s", "numbers": "n", "nonzero": "×"}
REASONS = {
    "always": "always zero, for every arm with this tree of joints",
    "structure": "zero by the kinematic structure, whatever the masses and lengths",
    "numbers": "zero for these numbers only",
    "nonzero": "not zero",
}
Zeros = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]  # of b_ij, h_ijk, g_i
Words = NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Couplings:
    """The reason why each coefficient is zero: arrays of "always", "structure", "numbers" or "nonzero".

    inertia   (n, n) of b_ij
    velocity  (n, n, n) of h_ijk, the symmetric one of S (7.45) and M (2.14)
    gravity   (n,) of g_i

    >>> import dalembert as da
    >>> couplings = da.load("parallelogram-decoupled").couplings()
    >>> couplings.inertia.tolist()
    [['nonzero', 'numbers'], ['numbers', 'nonzero']]
    """

    inertia: Words
    velocity: Words
    gravity: Words
    arm: Arm
    _closed_forms: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(self.named(why))} {why}" for why in MARKS)
        return f"<Couplings of {self.arm.name!r}: {counts}>"

    def _equations(self, parameters: str) -> Any:
        if parameters not in self._closed_forms:
            self._closed_forms[parameters] = self.arm.equations(parameters)
        return self._closed_forms[parameters]

    @property
    def _all(self) -> list[tuple[str, tuple[int, ...], str]]:
        """(b, h or g, indices from 1, reason) of every coefficient; coefficients equal by symmetry are listed once."""
        n = range(self.arm.n)
        pairs = [(i, j) for i in n for j in n if i <= j]
        rows: list[tuple[str, tuple[int, ...], str]] = [("b", pair, self.inertia[pair]) for pair in pairs]
        rows += [("h", (i, *pair), self.velocity[(i, *pair)]) for i in n for pair in pairs]
        rows += [("g", (i,), self.gravity[i]) for i in n]
        return [(letter, tuple(k + 1 for k in at), str(reason)) for letter, at, reason in rows]

    def named(self, reason: str) -> tuple[str, ...]:
        """Names of the coefficients with this reason, such as "b_12" or "h_112"; of h_ijk = h_ikj only one is listed.

        >>> import dalembert as da
        >>> da.load("planar-2r").couplings().named("always")
        ('h_111', 'h_212', 'h_222')
        """
        check_choice("the reason", reason, MARKS)
        return tuple(name(letter, at) for letter, at, why in self._all if why == reason)

    def at(self, q: ArrayLike) -> tuple[str, ...]:
        """Names of the coefficients that are zero at this configuration but not at others: M's reason 3.

        q  (n,), one configuration

        >>> import dalembert as da
        >>> da.load("planar-2r").couplings().at([0.4, 0.0])
        ('h_112', 'h_122', 'h_211')
        """
        held = self.arm.checked("q", at_once("q", q))
        if not np.isfinite(held).all():
            raise ShapeError(f"q is {shown(q)}; every number must be finite")
        if held.ndim != 1:
            raise ShapeError(
                f"q has shape {held.shape}; couplings are evaluated at one configuration of shape ({self.arm.n},)"
            )
        zero = dict(zip("bhg", _zeros(_Coefficients.of(self.arm, np.asarray(held, DOUBLE)[None])), strict=True))
        return tuple(
            name(letter, at)
            for letter, at, why in self._all
            if why == "nonzero" and zero[letter][tuple(k - 1 for k in at)]
        )

    def condition(self, letter: str, *indices: int) -> Condition:
        """The exact design conditions under which a coefficient is zero at every q, in S's notation.

        letter   "b", "h" or "g", then the joints from 1: ``condition("b", 1, 2)``

        >>> import dalembert as da
        >>> da.load("parallelogram").couplings().condition("b", 1, 2).equations
        (a_1'*l_2'*m_l2' + a_1''*m_l3'*(a_1' - l_3'),)
        """
        from dalembert.mechanics.symbols.conditions import condition

        words = {"b": self.inertia, "h": self.velocity, "g": self.gravity}
        at = tuple(indices)
        if letter not in words or len(at) != words[letter].ndim or not all(k in range(1, self.arm.n + 1) for k in at):
            n = self.arm.n
            raise DalembertError(
                f"there is no coefficient {letter!r} {', '.join(map(str, at))}; arm '{self.arm.name}' has b_ij, h_ijk and g_i with "
                f"i, j, k from 1 to {n}, as in condition('b', 1, {n})"
            )
        reason = str(words[letter][tuple(k - 1 for k in at)])
        return condition(self._equations, letter, at, name(letter, at), reason)

    def text(self) -> str:
        """All reasons as a table."""
        n, arm = range(self.arm.n), self.arm
        marks = np.vectorize(MARKS.__getitem__)
        b, h, g = marks(self.inertia), marks(self.velocity), marks(self.gravity)
        lines = [f"{arm.name}: which coefficients of the equations of motion are zero, and why", ""]
        lines += [f"  {mark}  {REASONS[why]}" for why, mark in MARKS.items()]
        lines += ["", "inertia b_ij" + " " * max(2, 2 * arm.n - 8) + "gravity g_i"]
        lines += [f"  {' '.join(b[i]):<{max(12, 2 * arm.n + 2)}}{g[i]}" for i in n]
        lines += ["", "velocity h_ijk = h_ikj, the Christoffel symbols c_ijk, acting on joint i: row j, column k ≥ j"]
        for i in n:
            lines.append(f"  i = {i + 1}: {arm.joint_names[i]}")
            lines += [f"    {'  ' * j}{' '.join(h[i, j, j:])}" for j in n]
        lines.append("")
        counts = Counter((letter, why) for letter, _, why in self._all)
        for why in MARKS:
            lines.append(f"{why:<10}" + ", ".join(f"{counts[letter, why]} {letter}" for letter in "bhg"))
        return "\n".join(lines) + "\n"

    __str__ = text


def name(letter: str, indices: tuple[int, ...]) -> str:
    """b_12, h_112, g_1; with commas from joint 10 on."""
    return f"{letter}_{('' if max(indices, default=0) < 10 else ',').join(map(str, indices))}"


def couplings(arm: Arm) -> Couplings:
    """See :meth:`Arm.couplings`."""
    if not arm.n:
        raise DalembertError(f"arm '{arm.name}' has no moving joint, so it has no equations of motion")
    if arm.mechanism.tree.n > MOST:
        raise DalembertError(
            f"arm '{arm.name}' has {arm.mechanism.tree.n} joints; couplings can be determined for up to {MOST}, since "
            "rounding hides small coefficients of longer chains; analyse a part of it"
        )
    if arm.mechanism.omitted:
        raise DalembertError(
            f"arm '{arm.name}' is an approximate model without {', '.join(arm.mechanism.omitted)}, but couplings need "
            "the complete model: arm.replace(omitted=()).couplings()"
        )
    rng = np.random.default_rng(0)
    tree, robot, linear = arm.mechanism.tree, arm.robot, arm.mechanism.linear
    if linear:
        q = rng.uniform(-3.0, 3.0, (DRAWS, arm.n))
    else:  # positions at which all loops can be closed
        q = np.asarray(arm.closing(rng, arm.home - 0.4, arm.home + 0.4, DRAWS), DOUBLE)
    own = _Coefficients.of(arm, q)
    draws = {
        "always": replace(own, tree=other_placements(tree, robot, rng, DRAWS), closure=_any_closure(own, rng, linear)),
        "structure": replace(own, tree=other_numbers(tree, robot, rng, DRAWS, linear=linear)),
        "numbers": own,
    }
    b, h, g = words = [np.full((arm.n,) * rank, "nonzero", "<U9") for rank in (2, 3, 1)]
    for reason, drawn in reversed(draws.items()):
        for word, zero in zip(words, _zeros(drawn), strict=True):
            word[zero] = reason
    return Couplings(b, h, g, arm)


Closure = tuple[Array, Array]  # Γ (draws, N, n) and ∂Γ/∂q (draws, N, n, n)


def _any_closure(own: _Coefficients, rng: np.random.Generator, linear: bool) -> Closure | None:
    """Another closure in which the same joints depend on the same coordinates."""
    if own.closure is None:
        return None
    follows = (own.closure[0] != 0.0).any(axis=0)
    Gamma = follows * rng.normal(size=own.closure[0].shape)
    bends = follows[:, :, None] & follows[:, None, :]
    D = bends * (0.0 if linear else 1.0) * rng.normal(size=own.closure[1].shape)
    return Gamma, D + np.swapaxes(D, -1, -2)


@dataclass(frozen=True)
class _Coefficients:
    """A tree at some configurations, (draws, N), and the dependence of its joints on the independent coordinates."""

    tree: Mechanism
    q: Array
    closure: Closure | None
    known: float  # relative accuracy of the closure

    @staticmethod
    def of(arm: Arm, q: Array) -> _Coefficients:
        """The coefficients of the arm itself."""
        tree, known = arm.mechanism.tree, UNIT if arm.mechanism.linear else SOLVED
        if arm.mechanism.identity:
            return _Coefficients(tree, q, None, known)
        Gamma = np.asarray(arm.closure_jacobian(q), DOUBLE)
        along = [arm.closure_derivative(q, np.broadcast_to(e, q.shape)) for e in np.eye(arm.n)]
        return _Coefficients(tree, np.asarray(arm.tree_positions(q), DOUBLE), (Gamma, np.stack(along, -1)), known)


def _zeros(x: _Coefficients) -> Zeros:
    """Which of b_ij, h_ijk and g_i are zero at all of the configurations."""
    count, q = len(x.q), [Rounded(values) for values in x.q.T]
    tree: Any = [f(x.tree, q) for f in (lagrange.inertia_matrix, lagrange.christoffel, lagrange.gravity)]
    values, errors = zip(*(stacked(nested, count) for nested in tree), strict=True)
    if x.closure is not None:
        off = [e + x.known * np.abs(v) for v, e in zip(values, errors, strict=True)]
        Gamma, D = x.closure
        values, errors = _pulled(values, Gamma, D), _pulled(off, np.abs(Gamma), np.abs(D))
    b, h, g = ((np.abs(v) <= SAFETY * e).all(axis=0) for v, e in zip(values, errors, strict=True))
    return b, h, g


def _pulled(of_tree: Sequence[Array], Gamma: Array, D: Array) -> tuple[Array, Array, Array]:
    """B, c and g in the independent coordinates: Γᵀ B Γ, Γᵀ (c Γ Γ + B ∂Γ/∂q) and Γᵀ g."""
    B, c, g = of_tree
    swing = np.einsum("dai,dbj,dck,dabc->dijk", Gamma, Gamma, Gamma, c, optimize=True)
    bend = np.einsum("dai,dab,dbjk->dijk", Gamma, B, D, optimize=True)
    return np.einsum("dai,dab,dbj->dij", Gamma, B, Gamma), swing + bend, np.einsum("dai,da->di", Gamma, g)
