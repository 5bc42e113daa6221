"""Torques of many robots of one design, with masses, friction and payload drawn within their tolerances.

Every sample is a set of parameters π of S (7.81), and the torques of all samples come from one kernel that takes π as an
input: nothing is compiled per sample. Samples are drawn in blocks of fixed size, each with its own seed, so that the
results do not depend on how many processes or machines compute them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.base.arrays import Array, double
from dalembert.base.deprecation import warn_of_resume
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.cluster import computed
from dalembert.base.environment.progress import reporting
from dalembert.base.text_tables import aligned
from dalembert.base.wording import shown
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import WIDTH
from dalembert.robot.model.inertia import point_masses
from dalembert.work.sizing.motion_samples import Motion, MotionSamples, samples_of
from dalembert.work.sizing.sizing import joint_units, rms
from dalembert.work.trajectory.planning.limits import limits_of
from dalembert.work.trajectory.planning.motion_checks import check_choice, check_finite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELEGATES = {"plot": "views.report.plots:monte_carlo_figure", "_repr_html_": "views.report.notebook:monte_carlo_html"}
Distribution = Literal["uniform", "normal"]

PIECE = 256  # samples drawn with one seed
STATES = 1 << 17  # maximum number of states per kernel call
COLUMNS: tuple[Literal["peak", "rms", "holding"], ...] = ("peak", "rms", "holding")  # the torques of a piece
QUANTILES = (0.05, 0.5, 0.95, 0.99)

# the quantities that can vary, and the form of their tolerances
TITLES = {
    "mass": "mass",
    "inertia": "inertia",
    "rotor": "rotor inertia",
    "viscous": "viscous friction",
    "coulomb": "Coulomb friction",
}
SHARES = tuple(TITLES)  # ± a share of the value, for all joints or per joint
LENGTHS = ("com",)  # ± m along each axis of the link frame
PAYLOAD = ("payload", "payload_com")  # (least, most) in kg; ± m along each axis of the tip frame


@dataclass(frozen=True)
class Tolerances:
    """Deviations of the robots of one design from its file; quantities without a tolerance do not vary.

    mass      ± share of each link's mass, with its inertia in proportion: 0.05 for ± 5 %
    com       ± m of each coordinate of each link's centre of mass
    inertia   ± share of each link's inertia about its centre of mass, in addition to the effect of its mass
    rotor     ± share of each rotor's inertia
    viscous   ± share of each viscous coefficient; ``coulomb`` of each Coulomb level
    payload   (least, most) kg held at the tip in addition to the payloads of the arm and the motion
    payload_com  ± m of each coordinate of that payload's centre of mass, about ``payload_at`` in the tip frame (m)
    distribution "uniform" within the tolerances, or "normal" with the tolerance as two standard deviations, truncated
              at three

    All but those of the payload are one number, or one per joint.

    >>> Tolerances(mass=0.05, coulomb=[0.3, 0.4]).coulomb
    (0.3, 0.4)
    """

    mass: Any = 0.0
    com: Any = 0.0
    inertia: Any = 0.0
    rotor: Any = 0.0
    viscous: Any = 0.0
    coulomb: Any = 0.0
    payload: tuple[float, float] = (0.0, 0.0)
    payload_com: Any = 0.0
    payload_at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    distribution: Distribution = "uniform"

    def __post_init__(self) -> None:
        for name in (*SHARES, *LENGTHS, "payload_com"):
            values, given = double(f"the tolerance of {name}", getattr(self, name)), shown(getattr(self, name))
            if not (np.isfinite(values).all() and (values >= 0).all()):
                raise DalembertError(f"the tolerance of {name} is {given}; it must be finite and ≥ 0")
            if name in ("mass", "inertia", "rotor") and (values >= 1).any():
                raise DalembertError(
                    f"the tolerance of {name} is {given}; it is a share of the value and must be below 1: 0.05 is 5 %"
                )
            object.__setattr__(self, name, float(values) if values.ndim == 0 else tuple(values.tolist()))
        payload, at = double("the payload", self.payload), double("payload_at", self.payload_at)
        if payload.shape != (2,) or not 0 <= payload[0] <= payload[1] < np.inf:
            raise DalembertError(
                f"the payload is {shown(self.payload)}; it must be (least, most) in kg, 0 ≤ least ≤ most"
            )
        if at.shape != (3,):
            raise DalembertError(f"payload_at is {shown(self.payload_at)}; it must be a point (x, y, z) in m")
        object.__setattr__(self, "payload", tuple(payload.tolist()))
        object.__setattr__(self, "payload_at", tuple(at.tolist()))
        check_choice("distribution", self.distribution, get_args(Distribution))

    @property
    def text(self) -> str:
        """A description of the varied quantities."""
        words = []
        for name in (*SHARES, *LENGTHS, "payload_com"):
            value = getattr(self, name)
            if np.any(value):
                numbers = value if isinstance(value, tuple) else (value,)
                unit, scale = (" %", 100) if name in SHARES else (" mm", 1000)
                title = {"com": "centre of mass", "payload_com": "centre of mass of the payload"}.get(name, name)
                words.append(f"{title} ± {', '.join(f'{scale * x:.3g}' for x in numbers)}{unit}")
        if self.payload[1] > 0:
            words.append(f"additional payload {self.payload[0]:g} to {self.payload[1]:g} kg")
        return f"{', '.join(words) or 'nothing varies'} ({self.distribution})"

    @staticmethod
    def of(given: Tolerances | Mapping[str, Any]) -> Tolerances:
        """Tolerances, or a dict of them by name."""
        if isinstance(given, Tolerances):
            return given
        if not isinstance(given, Mapping):
            example = "a dict such as {'mass': 0.05}, or Tolerances"
            raise DalembertError(f"tolerances is {shown(given)}; it must be {example}")
        known = tuple(Tolerances.__dataclass_fields__)
        if unknown := [name for name in given if name not in known]:
            raise DalembertError(f"tolerances has '{unknown[0]}'; it may have {', '.join(known)}")
        return Tolerances(**given)


@dataclass(frozen=True, eq=False)
class MonteCarlo:
    """Peak and RMS torques of many robots of one design along one motion, created by :func:`monte_carlo`.

    peak, rms   (samples, n) peak magnitude and root mean square of each joint torque over the motion, N m or N
    limit       (n,) effort limits, NaN where there is none
    nominal_peak, nominal_rms   (n,) of the robot as specified in its file
    holding     (samples, n) largest gravity torque along the motion, if motors have holding brakes; otherwise None
    drawn       (samples, k) the factors and offsets that were drawn, named in ``names``: 1.03 is a mass 3 % above
                nominal

    >>> import dalembert as da
    >>> motion = da.triangular([0.0, 0.0], [1.0, -2.0], duration=2.0)
    >>> da.monte_carlo(da.load("planar-2r"), motion, {"mass": 0.05}, samples=100)
    <MonteCarlo of 'planar-2r': 100 robots; the smallest margin that 99 % keep is 87.7%, of joint1>
    """

    arm: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    peak: Array
    rms: Array
    limit: Array
    nominal_peak: Array
    nominal_rms: Array
    drawn: Array
    names: tuple[str, ...]
    tolerances: Tolerances
    holding: Array | None = None

    def __repr__(self) -> str:
        worst = "no effort limits are known"
        if np.isfinite(self.limit).any():
            i = int(np.nanargmax(self.exceeded))
            worst = f"{self.joints[i]} exceeds its limit in {self.exceeded[i]:.1%} of them"
            if not np.nanmax(self.exceeded):
                i = int(np.nanargmin(self.margin(0.99)))
                worst = f"the smallest margin that 99 % keep is {self.margin(0.99)[i]:.1%}, of {self.joints[i]}"
        return f"<MonteCarlo of '{self.arm}': {len(self.peak):,} robots; {worst}>"

    def quantile(self, share: ArrayLike, of: Literal["peak", "rms", "holding"] = "peak") -> Array:
        """The torque that this share of the robots does not exceed: (…, n)."""
        shares = double("share", share)
        if not np.all((shares >= 0.0) & (shares <= 1.0)):
            raise DalembertError(f"share is {shown(share)}; it must be from 0 to 1: 0.95 is 95 % of the robots")
        check_choice("of", of, COLUMNS)
        values = getattr(self, of)
        if values is None:
            raise DalembertError(f"arm '{self.arm}' has no holding brakes, so its holding torques were not computed")
        return np.quantile(values, shares, axis=0)

    def quantiles(self, share: float = 0.95) -> dict[str, Array]:
        """Input of ``Drives.margins``: {"peak": (n,), "rms": (n,)} and, for arms with holding brakes, "holding"."""
        return {of: self.quantile(share, of) for of in COLUMNS if getattr(self, of) is not None}

    def margin(self, share: ArrayLike = 0.95) -> Array:
        """Margin, as a share of the effort limit, that this share of the robots has at least: (…, n); NaN: no limit."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1.0 - self.quantile(share) / self.limit

    @cached_property
    def exceeded(self) -> Array:
        """Share of the robots whose peak torque exceeds the limit: (n,), NaN where there is no limit."""
        return np.where(np.isnan(self.limit), np.nan, (self.peak > self.limit).mean(axis=0))

    def causes(self, joint: int, of: Literal["peak", "rms"] = "peak") -> list[tuple[str, float]]:
        """The drawn quantities with their correlation to the torque of a joint (from 0), the strongest first."""
        torque = getattr(self, of)[:, joint]
        spread_of = self.drawn.std(axis=0) * torque.std()
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = (self.drawn - self.drawn.mean(axis=0)) * (torque - torque.mean())[:, None]
            correlation = np.where(spread_of > 0, moved.mean(axis=0) / spread_of, 0.0)
        order = np.argsort(-np.abs(correlation), kind="stable")
        return [(self.names[k], float(correlation[k])) for k in order]

    def table(self, shares: Sequence[float] = QUANTILES) -> list[dict[str, Any]]:
        """One row per joint, {column: value}: nominal, quantiles, limit, margin and share above the limit."""
        quantiles = self.quantile(shares)
        rows = []
        for i, name in enumerate(self.joints):
            row: dict[str, Any] = {"joint": name, "unit": self.units[i], "nominal_peak": float(self.nominal_peak[i])}
            row |= {f"peak_{share:g}": float(quantiles[k, i]) for k, share in enumerate(shares)}
            row |= {"limit": float(self.limit[i]), "margin_0.95": float(self.margin(0.95)[i])}
            row |= {"exceeded": float(self.exceeded[i]), "rms_0.95": float(self.quantile(0.95, "rms")[i])}
            rows.append(row)
        return rows

    def plot(self) -> Figure:
        """A matplotlib Figure of the peak torques per joint: 1 % to 99 % quantile, nominal, and limit."""
        return delegate(DELEGATES, "plot")(self)

    def _repr_html_(self) -> str:
        return delegate(DELEGATES, "_repr_html_")(self)

    def __str__(self) -> str:
        heads = ["joint", "nominal", *(f"{share:.0%}" for share in QUANTILES), "limit", "margin at 95 %", "above it"]
        lines = [heads]
        for i, row in enumerate(self.table()):
            numbers = [row["nominal_peak"], *(row[f"peak_{share:g}"] for share in QUANTILES)]
            shares = [f"{row['limit']:.4g}", f"{row['margin_0.95']:.1%}", f"{row['exceeded']:.2%}"]
            shares = ["none", "", ""] if math.isnan(row["limit"]) else shares
            lines.append([f"{self.joints[i]} ({self.units[i]})", *(f"{x:.4g}" for x in numbers), *shares])
        return f"peak torques of {len(self.peak):,} robots\n{aligned(lines)}"


def monte_carlo(
    arm: Arm,
    motion: Motion,
    tolerances: Tolerances | Mapping[str, Any],
    samples: int = 10_000,
    seed: int = 0,
    *,
    tip_wrench: ArrayLike | None = None,
    cluster: Any = None,
    progress: Callable[[float], None] | None = None,
    resume: bool = False,
) -> MonteCarlo:
    """Torques along a motion for many robots whose parameters are drawn within tolerances.

    motion      a Trajectory, with the payloads and wrenches of its events, or any object with .t (N,), .q, .qd, .qdd
                (N, n)
    tolerances  :class:`Tolerances`, or a dict such as {"mass": 0.05, "coulomb": 0.3, "payload": (0, 2)}
    samples     number of robots; ``seed`` selects them: the same seed gives the same robots, however they are computed
    tip_wrench  (6,) or (N, 6) exerted by the tip on its environment
    cluster     address of a Dask scheduler, or a ``distributed.Client``, whose workers share the samples
    progress    called with the completed fraction
    resume      deprecated since version 1.1, without effect

    >>> import dalembert as da
    >>> motion = da.triangular([0.0, 0.0], [1.0, -1.0], duration=1.0)
    >>> drawn = da.monte_carlo(da.load("planar-2r"), motion, {"mass": 0.05, "payload": (0.0, 5.0)}, samples=1000)
    >>> drawn.peak.shape, bool((drawn.quantile(0.95) > drawn.nominal_peak).all())
    ((1000, 2), True)
    """
    warn_of_resume(resume)
    tolerances = Tolerances.of(tolerances)
    for name, value, least, of in (("samples", samples, 1, " of robots"), ("seed", seed, 0, "")):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
            raise DalembertError(f"{name} is {shown(value)}; it must be a whole number{of}, {least} or more")
    at = samples_of(arm, motion)
    work = _Work(arm, tolerances, at, at.push(tip_wrench), int(seed))
    work.check()
    pieces = [(first, min(first + PIECE, samples)) for first in range(0, samples, PIECE)]

    results: list[tuple[Array, ...]] = []
    with closing(computed(cluster, _Work.piece, work, pieces)) as torques:
        for count, (piece, loads) in enumerate(zip(pieces, torques, strict=True), 1):
            results.append((*loads, work.drawn(piece)))
            reporting(progress)("robots", count / len(pieces))
    peak, mean, holding, drawn = (np.concatenate(part) for part in zip(*results, strict=True))
    tau = at.model(arm).inverse_dynamics(at.q, at.qd, at.qdd, work.push)
    check_finite(arm, at.t, tau)
    return MonteCarlo(
        arm.name, arm.joint_names, joint_units(arm)["torque"], peak, mean, limits_of(arm, "effort"),
        np.abs(tau).max(axis=0), rms(at.t, tau), drawn, tuple(chain(*work.layout.values())), tolerances, holding if work.brakes else None,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Work:
    """Common input of all blocks, which is sent to the workers of a cluster."""

    arm: Arm
    tolerances: Tolerances
    at: MotionSamples
    push: Array | None
    seed: int

    def check(self) -> None:
        """Check that tolerances per joint match the number of joints with parameters."""
        for name in (*SHARES, *LENGTHS):
            value = getattr(self.tolerances, name)
            if isinstance(value, tuple) and len(value) != self.count:
                raise DalembertError(
                    f"the tolerance of {name} has {len(value)} numbers, but arm '{self.arm.name}' has {self.count} "
                    f"joints with parameters: give one number, or {self.count}"
                )
        own = self.arm.parameters[: self.count * WIDTH].reshape(self.count, WIDTH)
        for k, name in enumerate(("rotor", "viscous", "coulomb"), 10):
            if name in self.layout and not own[:, k].any():
                what = "rotors" if name == "rotor" else f"{name} friction"
                raise DalembertError(
                    f"the tolerance of {name} is a share of the robot's value, but arm '{self.arm.name}' has no "
                    f"{what}; omit the tolerance, or give the robot a value"
                )

    @property
    def count(self) -> int:
        """Number of joints with parameters: those of the tree."""
        return self.arm.sizes["N"]

    @cached_property
    def layout(self) -> dict[str, list[str]]:
        """The drawn quantities in the order of their columns, each with the names of its columns."""
        t, joints = self.tolerances, [joint.name for joint in self.arm.robot.tree_joints]
        axes = [f"{axis} of the centre of mass" for axis in "xyz"]
        layout = {name: [f"{title}, {joint}" for joint in joints] for name, title in TITLES.items()}
        layout["com"] = [f"{axis}, {joint}" for joint in joints for axis in axes]
        layout = {name: columns for name, columns in layout.items() if np.any(getattr(t, name))}
        layout |= {"payload": ["payload (kg)"]} if t.payload[1] > 0 else {}
        return layout | ({"payload_com": [f"{axis} of the payload" for axis in axes]} if t.payload_com else {})

    @property
    def brakes(self) -> bool:
        """Whether motors have holding brakes, so that gravity alone also matters."""
        return any(j.motor is not None and j.motor.brake_torque is not None for j in self.arm.robot.moving_joints)

    def drawn(self, ends: tuple[int, int]) -> Array:
        """(samples, k) factors and additions of the samples from the first up to but excluding the last.

        A whole block of samples is drawn, so that a smaller number of samples is a prefix of a larger one.
        """
        first, last = ends
        random = np.random.default_rng([self.seed, first // PIECE])
        t, N = self.tolerances, self.count

        def within(tolerance: Any, *shape: int) -> Array:
            if t.distribution == "normal":
                return np.clip(random.standard_normal((PIECE, *shape)) / 2, -1.5, 1.5) * tolerance
            return random.uniform(-1.0, 1.0, (PIECE, *shape)) * tolerance

        columns = [1.0 + within(np.array(getattr(t, name)), N) for name in self.layout if name in SHARES]
        if "com" in self.layout:
            columns.append(within(np.broadcast_to(np.array(t.com), N)[:, None], N, 3).reshape(PIECE, 3 * N))
        if "payload" in self.layout:
            middle, half = (t.payload[0] + t.payload[1]) / 2, (t.payload[1] - t.payload[0]) / 2
            columns.append(np.maximum(middle + within(half, 1), 0.0))
        if "payload_com" in self.layout:
            columns.append(within(t.payload_com, 3))
        return np.concatenate([np.empty((PIECE, 0)), *columns], axis=1)[: last - first]

    def _numbers(self, drawn: Array) -> dict[str, Array]:
        """π of S (7.81) and the payload of every sample: (samples, K), (samples, 10)."""
        ends = np.cumsum([len(columns) for columns in self.layout.values()])
        parts = dict(zip(self.layout, np.split(drawn, ends, axis=1), strict=False))
        N, S = self.count, len(drawn)
        own = np.broadcast_to(self.arm.parameters, (S, self.arm.parameters.size)).copy()
        of_joints = own[:, : N * WIDTH].reshape(S, N, WIDTH)
        m, h = of_joints[..., 0], of_joints[..., 1:4]
        with np.errstate(divide="ignore", invalid="ignore"):
            c = np.where(m[..., None] != 0, h / m[..., None], 0.0)
        about_com = of_joints[..., 4:10] - point_masses(m, c)[..., 4:]
        scale = parts.get("mass", 1.0)
        new_m, new_c = m * scale, c + parts.get("com", np.zeros((S, 3 * N))).reshape(S, N, 3)
        tensor = about_com * np.broadcast_to(scale * parts.get("inertia", 1.0), (S, N))[..., None]
        # a first moment without a mass comes from a fit: there is nothing to shift
        of_joints[..., 1:4] = np.where(m[..., None] != 0, new_m[..., None] * new_c, h)
        of_joints[..., 4:10] = tensor + point_masses(new_m, np.where(m[..., None] != 0, new_c, 0.0))[..., 4:]
        of_joints[..., 0] = new_m
        for k, name in enumerate(("rotor", "viscous", "coulomb"), 10):
            if name in parts:
                of_joints[..., k] *= parts[name]
        numbers = {"parameters": own}
        if "payload" in parts:
            mass = parts["payload"][:, 0]
            at = np.array(self.tolerances.payload_at) + parts.get("payload_com", np.zeros((S, 3)))
            numbers["payload"] = point_masses(mass, at)
        return numbers

    def piece(self, ends: tuple[int, int]) -> tuple[Array, ...]:
        """(peak, rms, holding) of the samples from the first up to but excluding the last."""
        at, drawn = self.at, self.drawn(ends)
        numbers, step = self._numbers(drawn), max(1, STATES // len(at.t))
        peak, mean, holding = np.zeros((3, len(drawn), self.arm.n))
        for first in range(0, len(drawn), step):
            part = slice(first, first + step)
            sets = {name: value[part, None] for name, value in numbers.items()}
            if at.payload is not None:
                sets["payload"] = sets.get("payload", 0.0) + at.payload
            varied = self.arm.variants(**sets)
            tau = varied.inverse_dynamics(at.q, at.qd, at.qdd, self.push)
            peak[part] = np.abs(tau).max(axis=1)
            mean[part] = [rms(at.t, robot) for robot in tau]
            if self.brakes:
                holding[part] = np.abs(varied.gravity_torque(at.q)).max(axis=1)
        return peak, mean, holding
