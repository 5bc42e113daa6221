"""Limits that a motion must satisfy, either the arm's own or given explicitly, the joint ranges, and violations of limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array, number
from dalembert.base.environment.short_repr import record
from dalembert.base.files.file_bounds import SMALLEST_LIMIT, UNLIMITED
from dalembert.base.tables.signal_columns import SIGNALS
from dalembert.base.wording import nearest
from dalembert.errors import DalembertError, LimitError
from dalembert.mechanics.equations.friction import loaded
from dalembert.robot.model.robot import Joint, Limits
from dalembert.work.logs.log_units import sliding_joints

if TYPE_CHECKING:
    from dalembert.work.trajectory.planning.trajectory import Trajectory

LimitsLike = Sequence[Limits] | Mapping[str, Any] | None
KINDS = ("effort", "velocity", "acceleration")
ROUNDING = 1e-6  # of the limit: a motion that just reaches it does not violate it
QUANTITIES = {"position": "q", "velocity": "qd", "acceleration": "qdd", "torque": "tau"}
# limits that a joint may have: the quantity, the side (0: the magnitude is compared) and the name of the limit
LIMITS = (
    ("position", -1, "lower"),
    ("position", 1, "upper"),
    ("velocity", 0, "velocity"),
    ("acceleration", 0, "acceleration"),
    ("torque", 0, "effort"),
)


@record
class JointLimits:
    """Limits per joint as magnitudes, (n,) each; infinite where there is no limit."""

    effort: Array
    velocity: Array
    acceleration: Array


def limits_of(arm: Arm, name: str) -> Array:
    """A limit of every joint: (n,), NaN where there is none."""
    values = np.array([getattr(joint.limits, name) for joint in arm.robot.moving_joints], float)
    return np.where(np.isinf(values), np.nan, values)


def position_limits(arm: Arm) -> tuple[Array, Array]:
    """Lower and upper position limits, (n,) each; infinite for joints without one."""
    return np.nan_to_num(limits_of(arm, "lower"), nan=-np.inf), np.nan_to_num(limits_of(arm, "upper"), nan=np.inf)


def joint_ranges(arm: Arm) -> tuple[Array, Array]:
    """Lower and upper end of each joint range: its limits, or else ±π (±1 m); at most one full turn."""
    low, high = position_limits(arm)
    turning = ~np.array(sliding_joints(arm), bool)
    half = np.where(turning, np.pi, 1.0)
    free = np.isinf(low) & np.isinf(high)
    low, high = np.where(free, -half, low), np.where(free, half, high)
    low, high = np.where(np.isinf(low), high - 2 * half, low), np.where(np.isinf(high), low + 2 * half, high)
    repeats = turning & (high - low > 2 * np.pi)
    low = np.where(repeats, np.maximum(low, -np.pi), low)
    return low, np.where(repeats, low + 2 * np.pi, high)


def random_poses(arm: Arm, generator: np.random.Generator, count: int) -> NDArray[np.floating[Any]]:
    """Configurations drawn uniformly from the joint ranges, with all loops closed: (count, n)."""
    return arm.closing(generator, *joint_ranges(arm), count)


def joint_limits(arm: Arm, limits: LimitsLike) -> JointLimits:
    """The limits to satisfy, validated.

    limits  None for the arm's own; one :class:`Limits` per joint; or a dict with any of the keys
            "effort", "velocity" and "acceleration", each a number or one number per joint. A dict limits
            only the quantities that it names. Otherwise every joint needs an effort limit, and a velocity or
            acceleration limit if any other joint has one.
    """
    given = _from_dict(arm, limits) if isinstance(limits, Mapping) else _from_joints(arm, limits)
    magnitudes = {kind: np.full(arm.n, np.inf) for kind in KINDS}
    for kind, values in given.items():
        for j, (name, value) in enumerate(zip(arm.joint_names, values, strict=True)):
            limit = np.nan if value is None else number(f"limits['{kind}'] of joint '{name}'", value)
            if limit >= SMALLEST_LIMIT:
                magnitudes[kind][j] = limit if limit < UNLIMITED else np.inf
                continue
            allowed = f"at least {SMALLEST_LIMIT:g} in SI units" if limit > 0 else "more than 0"
            problem = f"the {kind} limit {limit:g}; it must be {allowed}"
            if np.isnan(limit):
                problem = f'no {kind} limit; give one, as in limits={{"{kind}": […]}}, or in the robot file'
            raise LimitError(f"joint '{name}' of arm '{arm.name}' has {problem}", joint=name, kind=kind)
    return JointLimits(**magnitudes)


def _from_joints(arm: Arm, limits: Sequence[Limits] | None) -> dict[str, list[float | None]]:
    given = [joint.limits for joint in arm.robot.moving_joints] if limits is None else limits
    given = list(given) if isinstance(given, Iterable) else [given]
    if len(given) != arm.n or not all(isinstance(joint, Limits) for joint in given):
        raise DalembertError(
            f"limits must be {arm.n} Limits, one per joint of arm '{arm.name}', or a dict with "
            f'"effort", "velocity" or "acceleration"; there are {len(given)}'
        )
    limits_of = {kind: [getattr(joint, kind) for joint in given] for kind in KINDS}
    return {kind: values for kind, values in limits_of.items() if kind == "effort" or set(values) != {None}}


def _from_dict(arm: Arm, limits: Mapping[str, Any]) -> dict[str, list[Any]]:
    if not limits:
        raise DalembertError('limits is an empty dict; name at least one of "effort", "velocity" and "acceleration"')
    given = {}
    for kind, value in limits.items():
        if kind not in KINDS:
            raise DalembertError(f"unknown limit '{kind}'; choose from {', '.join(KINDS)}{nearest(str(kind), KINDS)}")
        given[kind] = list(value) if isinstance(value, Sequence) or np.ndim(value) else [value] * arm.n
        if len(given[kind]) != arm.n:
            raise DalembertError(
                f"limits['{kind}'] has {len(given[kind])} values, but arm '{arm.name}' has {arm.n} joints: "
                f"give a single number, or {arm.n}"
            )
    return given


def holding_torque(arm: Arm, q: NDArray[np.floating]) -> NDArray[np.floating]:
    """Torques that hold the arm at rest: gravity, springs, counterbalances and offsets."""
    g = arm.gravity_torque(q)
    if not any(body.further for body in arm.mechanism.tree.bodies):
        return g
    rest = np.zeros_like(g)
    return g + arm.friction_torque(rest, q=q, load=rest)


def check_terms(arm: Arm, what: str) -> None:
    """Raise an error that names the first term whose torque at one speed does not follow from that at another."""
    for body in arm.mechanism.tree.bodies:
        for term in body.further:
            if not set(term.of) <= {"q"}:
                why = "load" if "load" in term.of else "speed"
                raise LimitError(
                    f"joint '{body.name}' has {term.title} ('{term.name}'), which depends on the {why} in a way that "
                    f"{what} does not support; supported are viscous and Coulomb friction and terms that depend on "
                    f"position alone, so remove it with friction.without('{term.name}')",
                    joint=body.name,
                )


def refuse_loads(arm: Arm, what: str) -> None:
    """Raise an error for the first joint with load-dependent friction, which τ − Jᵀ h_e does not determine."""
    for i in loaded(arm.mechanism):
        term = next(term for term in arm.mechanism.bodies[i].further if "load" in term.of)
        raise DalembertError(
            f"joint '{arm.joint_names[i]}' has {term.title} ('{term.name}'), which depends on the load, but {what} "
            f"knows the contact only as Jᵀ h_e at the joints; omit the contact, or remove the term with "
            f"friction.without('{term.name}')"
        )


def too_heavy(
    arm: Arm, keep: JointLimits, joint: int, load: float, time: float, has_coulomb: bool, no_help: str
) -> LimitError:
    """The error for a joint that cannot bear gravity, springs and, if it ``has_coulomb``, Coulomb friction."""
    name = arm.joint_names[joint]
    loads = ["gravity", *dict.fromkeys(term.title for term in arm.mechanism.bodies[joint].further)]
    loads += ["Coulomb friction"] if has_coulomb else []
    several = len(loads) > 1
    subject = f"{', '.join(loads[:-1])} and {loads[-1]} alone require" if several else f"{loads[0]} alone requires"
    return LimitError(
        f"{subject} {load:.6g} from joint '{name}' at t = {time:.4g} s of the motion, but its effort limit is "
        f"{keep.effort[joint]:.6g}: {no_help}, so change the path, the payload or the limit",
        joint=name,
        kind="effort",
        time=time,
    )


# -- violations -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class LimitExcess:
    """A limit that a motion exceeds; ``str(excess)`` describes it in one sentence."""

    joint: str
    quantity: str  # position, velocity, acceleration or torque
    value: float  # the most extreme value, with its sign
    limit: float
    time: float  # s
    unit: str

    def __str__(self) -> str:
        side = "below" if self.value < self.limit and self.quantity == "position" else "above"
        value = self.value if self.quantity == "position" else abs(self.value)
        return (
            f"joint '{self.joint}': {self.quantity} {value:.6g} {self.unit} at t = {self.time:.6g} s "
            f"is {side} its limit of {self.limit:.6g} {self.unit}"
        )


def limits_report(motion: Trajectory, arm: Arm, torque: bool, tip_wrench: ArrayLike | None) -> list[LimitExcess]:
    """:meth:`Trajectory.limits_report`."""
    motion.fits(arm)
    torque = torque and any(limit.quantity == "torque" for limit in _limits(arm))

    def values(t: Array) -> dict[str, Array]:
        quantities = dict(zip(QUANTITIES, _with_passive(arm, *motion(t)), strict=False))
        return quantities | ({"torque": motion.torques(arm, t, tip_wrench=tip_wrench)} if torque else {})

    before = [k * (1 - 1e-12) for k in motion.knots if 0 < k <= motion.duration]  # last value of each segment
    t = np.unique(np.concatenate([motion.t - motion.t[0], before]))
    sampled = values(t)
    report = []
    for limit in _limits(arm):
        fine, there = t, sampled
        if (worst := limit.worst(there)) is None:
            continue
        for _ in range(3):  # resample the gaps beside the worst sample ever more finely
            gaps = np.linspace(fine[max(worst - 1, 0)], fine[min(worst + 1, len(fine) - 1)], 21)
            fine = np.unique(np.append(gaps, fine[worst]))
            there = values(fine)
            worst = limit.worst(there) or 0
        report += limit.excess(values(fine[[worst]]), 0, float(fine[worst]))
    return report


def excesses(arm: Arm, t: Array, quantities: Mapping[str, Array]) -> list[LimitExcess]:
    """The limits that samples of some quantities (N, n) at the times t (N,) exceed."""
    report = []
    quantities = dict(quantities)
    if "acceleration" in quantities:
        state = _with_passive(arm, *(quantities[name] for name in ("position", "velocity", "acceleration")))
        quantities |= zip(QUANTITIES, state, strict=False)
    for limit in _limits(arm):
        if (worst := limit.worst(quantities)) is not None:
            report += limit.excess(quantities, worst, float(t[worst]))
    return report


def _passive(arm: Arm) -> dict[int, Joint]:
    """The passive joints of a closed chain that have limits, by their place in the tree."""
    joints = enumerate(arm.robot.tree_joints)
    return {k: joint for k, joint in joints if joint.name in arm.passive_names and joint.limits != Limits()}


def _with_passive(arm: Arm, *state: Array) -> list[Array]:
    """q, q̇ and q̈ (N, n), followed by those of the passive joints that have limits."""
    if not (places := list(_passive(arm))):
        return list(state)
    tree = arm.tree_motion(*state)
    return [np.concatenate([x, y[:, places]], axis=1) for x, y in zip(state, tree, strict=True)]


@dataclass(frozen=True)
class _JointLimit:
    """A limit on one quantity of a joint, which is a column of the samples."""

    column: int
    joint: Joint
    quantity: str
    side: int
    limit: float

    def worst(self, quantities: Mapping[str, Array]) -> int | None:
        """The sample that is farthest towards the limit; None if the samples do not have the quantity."""
        values = quantities.get(self.quantity)
        if values is None or self.column >= values.shape[1]:
            return None
        return int(np.argmax(self._towards(values[:, self.column])))

    def excess(self, quantities: Mapping[str, Array], sample: int, when: float) -> list[LimitExcess]:
        """The violation by a sample; a value that is not a number violates every limit."""
        value = float(quantities[self.quantity][sample, self.column])
        if self._towards(value) - (self.side or 1) * self.limit <= ROUNDING * max(1.0, abs(self.limit)):
            return []
        signal = SIGNALS[QUANTITIES[self.quantity]]
        unit = signal.sliding if self.joint.type == "prismatic" else signal.unit
        return [LimitExcess(self.joint.name, self.quantity, value, self.limit, when, str(unit))]

    def _towards(self, value: Any) -> Any:
        """The number to compare with the limit: the value, its negative, or its magnitude."""
        return self.side * value if self.side else np.abs(value)


def _limits(arm: Arm) -> Iterator[_JointLimit]:
    """Every limit of the joints of q, and of the passive joints."""
    for column, joint in enumerate([*arm.robot.moving_joints, *_passive(arm).values()]):
        for quantity, side, name in LIMITS:
            limit = getattr(joint.limits, name)
            if limit is not None and np.isfinite(limit):
                yield _JointLimit(column, joint, quantity, side, float(limit))
