"""Base parameters: the smallest set of numbers that determines the torques, and their composition.

Some of S's 13n parameters have no effect (zero columns of Y) and some act only in combination (dependent columns). The
columns are processed in a fixed order, link by link from the base, with the tensor first, then the first moments, then
the mass of each link; a column that is a combination of the preceding ones is dependent. What an outer link shares with
an inner one is thereby attributed to the inner one, as in Gautier and Khalil, and Y_dependent = Y_independent X, so
that π_base = π_independent + X π_dependent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import brief
from dalembert.mechanics.equations.regressor import INERTIAL
from dalembert.mechanics.symbols.names import parameter_letter
from dalembert.mechanics.symbols.write import Text, assembled
from dalembert.work.identification.fitting.joint_columns import JointColumns
from dalembert.work.identification.fitting.parameter_set import ParameterSet

# For a column of length one, the largest independent part that still counts as dependent. Rounding leaves 1e-15;
# robot files that print right angles as 1.5708 leave 5e-6, and effects caused by such an error alone are ignored.
TOLERANCE = 2e-5
ROUNDING = 1e-12  # of the usual length: a shorter column consists of rounding errors
SAMPLES = 4  # equations per parameter
SLOWEST = 3  # powers of ten below one: the speeds at which Stribeck friction acts
WARMER = 10.0  # K: deviation of random temperatures from the mean
PROBES = 16  # random states that show which columns act on a joint
WITHIN_LINK = (*INERTIAL[4:], *INERTIAL[1:4], "m", "Im", "Fv", "Fs", "Fs+", "Fs-", "offset")


@brief
@dataclass(frozen=True)
class Combinations:
    """Which parameters of a set a motion can distinguish.

    parameters   the parameter set
    independent  columns whose parameters come first in the combinations; Y_base = Y[:, independent]
    dependent    columns that act in combination with those
    zero         columns that have no effect in any motion
    """

    parameters: ParameterSet
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    zero: tuple[int, ...]

    @property
    def rank(self) -> int:
        """The number of base parameters."""
        return len(self.independent)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of the independent parameter in each combination."""
        return tuple(self.parameters.names[k] for k in self.independent)


@brief
@dataclass(frozen=True)
class BaseParameters(Combinations):
    """π_base = K π: the combinations of the parameters of a set that a motion can determine.

    K            (b, p), with τ = Y_base K π
    condition    condition number of Y_base with columns of length one, at the random states
    margin       the smallest independent part of an independent column of length one, and the largest of a dependent
    one
    tolerance    the threshold between the two
    """

    K: Array
    condition: float
    margin: tuple[float, float]
    tolerance: float

    @cached_property
    def values(self) -> Array:
        """π_base with the values of the arm."""
        return np.asarray(self.K @ self.parameters.values, dtype=np.float64)

    @cached_property
    def formulas(self) -> tuple[str, ...]:
        """Every base parameter as a sum of standard parameters, with numbers.

        >>> import dalembert as da
        >>> s = ParameterSet(da.load("planar-2r"), only="nonzero")
        >>> print(*base_parameters(s).formulas, sep=chr(10))
        Î_1zz − (m_1 + m_2) + 10000 I_m1
        m_1ℓ_C1x + m_1 + m_2
        Î_2zz − m_2
        m_2ℓ_C2x + m_2
        I_m2
        """
        order, style = canonical_order(self.parameters), Text()
        text = [parameter_letter(name).text for name in self.parameters.names]
        out = []
        for row, own in zip(self.K, self.independent, strict=True):
            groups: dict[float, list[str]] = {}  # by the factor as written, to six digits
            for k in order:
                if row[k] != 0.0 and k != own:
                    groups.setdefault(float(f"{row[k]:.6g}"), []).append(text[k])
            sized = [(x < 0, "" if abs(x) == 1 else f"{abs(x):.6g}", names) for x, names in groups.items()]
            out.append(assembled(text[own], sized, style))
        return tuple(out)

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, temperature: ArrayLike | None = None) -> Array:
        """Y_base: (N, n, b), with τ = Y_base π_base."""
        return self.parameters.regressor(q, qd, qdd, temperature)[..., list(self.independent)]

    @cached_property
    def joint_columns(self) -> JointColumns:
        """The columns of Y_base that act on each joint."""
        return self.columns_for(sparse=False)

    def columns_for(self, sparse: bool) -> JointColumns:
        """The same; for the samples of a ``sparse`` log, they represent the mean over their interval."""
        probes = random_states(self.parameters.arm, PROBES)
        return JointColumns(self.parameters, self.independent, probes, averaged=sparse)


def canonical_order(parameters: ParameterSet) -> list[int]:
    """The columns in the order in which they may replace one another; further terms, drives and user-defined columns last."""

    def place(k: int) -> tuple[float, int]:
        joint, kind = parameters.joints[k], parameters.kinds[k]
        return (joint, WITHIN_LINK.index(kind)) if joint >= 0 and kind in WITHIN_LINK else (math.inf, k)

    return sorted(range(parameters.size), key=place)


def joint_ranges(arm: Arm) -> tuple[Array, Array, Array]:
    """The position limits of the joints, (n,) each, with π rad or 1 m where a file gives none."""
    joints = arm.robot.moving_joints
    reach = np.array([1.0 if joint.type == "prismatic" else np.pi for joint in joints])
    low, high = (np.array([getattr(joint.limits, end) for joint in joints], float) for end in ("lower", "upper"))
    return np.where(np.isnan(low), -reach, low), np.where(np.isnan(high), reach, high), reach


def random_states(arm: Arm, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Random states that excite everything: positions within the limits, speeds and accelerations of order one."""
    rng = np.random.default_rng(seed)
    low, high, reach = joint_ranges(arm)
    low, high = np.maximum(low, -2 * np.pi), np.minimum(high, 2 * np.pi)
    low, high = np.where(high > low, (low, high), (-reach, reach))
    q = np.asarray(arm.closing(rng, low, high, count), np.float64)
    qd, qdd = rng.uniform(-3.0, 3.0, (2, count, arm.n))
    return q, qd, qdd


def showing_states(parameters: ParameterSet, count: int, seed: int = 0) -> tuple[Array, Array, Array, Array | None]:
    """Random states that excite every column of a set: some are slow if friction has further terms.

    With them, temperatures around the mean ones, or None if no column depends on them.
    """
    q, qd, qdd = random_states(parameters.arm, count, seed)
    if any(x.further and x.unit is not None and "qd" in x.unit.of for x in parameters.members):
        slow = qd * np.logspace(0, -SLOWEST, count)[:, None]
        q, qd, qdd = (np.concatenate(both) for both in ((q, q), (qd, slow), (qdd, qdd)))
    if not parameters.heated:
        return q, qd, qdd, None
    spread = np.random.default_rng([seed, 1]).uniform(-WARMER, WARMER, q.shape)
    return q, qd, qdd, np.asarray(parameters.usual_temperature + spread)


def smallest_inertia(base: BaseParameters, values: Array, count: int) -> float:
    """The smallest eigenvalue of B(q) with ``values`` of the base parameters over ``count`` random poses."""
    arm, torque = base.parameters.arm, base.joint_columns.torque
    q, _, _ = random_states(arm, count, seed=1)
    still = np.zeros_like(q)
    at_rest = torque(values, q, still, still)
    B = np.stack([torque(values, q, still, still + unit) - at_rest for unit in np.eye(arm.n)], axis=-1)
    return float(np.linalg.eigvalsh(0.5 * (B + B.transpose(0, 2, 1)))[:, 0].min())


def base_parameters(parameters: ParameterSet, tolerance: float = TOLERANCE) -> BaseParameters:
    """The base parameters of a set, from Y at random states within the limits of the joints.

    tolerance  a column is dependent if its part independent of the preceding columns is shorter than this, relative to
               its own length or to the usual (median) length of a column, whichever is larger; it is zero if the column
               itself is as short as that, unless a coupling makes it so short: the mass on a fine screw is combined with
               the inertia of the rotating part

    Y is analytic, so random states reveal its rank with certainty up to rounding; ``margin`` shows how clear the
    decision was.
    """
    p = parameters.size
    W, own, usual = _columns(parameters)
    short = [k for k in range(p) if own[k] <= tolerance * usual]
    length = np.maximum(own, usual)
    unit = W / (length if usual else 1.0)
    order = [k for k in canonical_order(parameters) if k not in short]
    independent, dependent, margin = independent_columns(unit, order, tolerance)
    candidates = [k for k in short if own[k] > ROUNDING * usual]
    light = _long_without_couplings(parameters, candidates, tolerance) if candidates else []
    along = np.linalg.lstsq(unit[:, independent], unit[:, light], rcond=None)[0]
    left = np.linalg.norm(unit[:, light] - unit[:, independent] @ along, axis=0)
    dependent += [k for k, rest in zip(light, left, strict=True) if rest * usual <= tolerance * own[k]]
    zero = tuple(k for k in short if k not in dependent)
    K = np.zeros((len(independent), p))
    K[range(len(independent)), independent] = 1.0
    basis = unit[:, independent]
    if dependent:
        X = np.linalg.lstsq(basis, unit[:, dependent], rcond=None)[0]
        X[np.abs(X) < 1e-12] = 0.0
        X = X * length[dependent] / length[independent][:, None]
        near = np.round(X, 9)  # removes rounding errors from numbers with few decimals
        K[:, dependent] = np.where(np.abs(X - near) <= 1e-14 * np.maximum(1.0, np.abs(X)), near, X)
    condition = float(np.linalg.cond(basis / np.linalg.norm(basis, axis=0))) if independent else 1.0
    return BaseParameters(parameters, tuple(independent), tuple(dependent), zero, K, condition, margin, tolerance)


def _columns(parameters: ParameterSet) -> tuple[Array, Array, float]:
    """Y at random states, one row per torque; the lengths of its columns, and the usual length of those that are not 0."""
    p, n = parameters.size, parameters.arm.n
    count = max(24, SAMPLES * p // max(n, 1) + 1)
    W = parameters.regressor(*showing_states(parameters, count)).reshape(-1, p)
    length = np.linalg.norm(W, axis=0)
    return W, length, float(np.median(length[length > 0])) if np.any(length > 0) else 0.0


def _long_without_couplings(parameters: ParameterSet, candidates: Sequence[int], tolerance: float) -> list[int]:
    """Candidates that are not negligible once every joint of the tree moves independently."""
    tree = parameters.arm.tree
    if tree is parameters.arm:
        return []
    free = replace(
        parameters, arm=tree, extra=(), only=None, drives=(), load_from=None, heated=(), mean_temperature=None
    )
    _, length, usual = _columns(free)
    long = {name for name, x in zip(free.names, length, strict=True) if x > tolerance * usual}
    return [k for k in candidates if parameters.names[k] in long]


def independent_columns(
    A: Array, order: Sequence[int], tolerance: float
) -> tuple[list[int], list[int], tuple[float, float]]:
    """Columns that the preceding ones cannot replace, and the others: Gram–Schmidt, repeated once for accuracy.

    Also the smallest independent part of an independent column, and the largest of a dependent one.
    """
    Q = np.zeros((len(A), min(A.shape)))
    independent: list[int] = []
    dependent: list[int] = []
    least, most = 1.0, 0.0
    for k in order:
        basis = Q[:, : len(independent)]
        rest = A[:, k] - basis @ (basis.T @ A[:, k])
        rest -= basis @ (basis.T @ rest)
        left = float(np.linalg.norm(rest))
        if left > tolerance and len(independent) < Q.shape[1]:
            Q[:, len(independent)] = rest / left
            independent.append(k)
            least = min(least, left)
        else:
            dependent.append(k)
            most = max(most, left)
    return independent, dependent, (least, most)


def observable_columns(A: Array, zero: float = 1e-10, tolerance: float = 1e-6) -> list[int]:
    """The columns that are not zero, relative to the longest, and that the preceding ones cannot replace."""
    length = np.linalg.norm(A, axis=0)
    nonzero = np.flatnonzero(length > zero * length.max(initial=0.0)).tolist()
    return independent_columns(A / np.where(length > 0, length, 1.0), nonzero, tolerance)[0]
