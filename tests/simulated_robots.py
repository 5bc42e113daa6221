"""Simulated robots whose parameters and structure are known, with logs as a drive's logger writes them.

``simulated(seed)`` takes a geometry of the catalogue, gives it other inertias, friction and perhaps one or two special
terms, moves it twice along random motions, and logs what encoders, velocity filters and torque sensors would. Torques
are Y(q, q̇, q̈) π, so that all robots of a geometry share one compiled regressor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline
from scipy.signal import lfilter

import dalembert as da
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.terms import Harmonic, LoadFriction, Offset, Spring, Stribeck, Tanh
from dalembert.work.identification.fitting.base_parameters import BaseParameters, base_parameters
from dalembert.work.identification.fitting.calibrated_robot import calibrated_arm
from dalembert.work.identification.fitting.parameter_set import Drive, JointTerm, ParameterSet

Array = NDArray[np.float64]

GEOMETRIES = {
    "pendulum": 1, "planar-2r": 4, "pr-arm": 2, "planar-3r": 3, "scara": 3, "puma560": 2, "ur5e": 2, "panda": 1,
}  # fmt: skip
SPECIALS = ("stribeck", "tanh", "load", "offset", "spring", "harmonic", "coupling")
SOURCES = ("white", "coloured", "torque quantisation", "torque lag", "encoder", "velocity filter")  # of errors
HOW_MANY = (0.35, 0.4, 0.25)  # the probabilities of no, one and two special terms
OWN = 0.35  # the least share of a special term's torque that no plain column can stand for
OWN_FRICTION = 0.1  # the same where Coulomb and viscous friction stand for most of it
MOST_LOAD = 0.5  # the most that friction in proportion to the load takes
MATERIAL = (0.03, 0.09)  # that part, beside the joint's root mean square torque
ABOVE_NOISE = 1.5  # and at least so many times the noise of the torque
BLOCK = 4096  # samples whose torques are made at once
WARM_UP = 0.5  # s of motion before the log begins, so that filters have settled


@dataclass(frozen=True, eq=False)
class SimulatedRobot:
    """A robot that moved, and what its user knows.

    arm         as its user holds it: the geometry, inertias of the catalogue, no friction
    parameters  the set that is exactly the true structure, on ``arm``
    values      (p,) the true parameters of that set
    structure   {"friction": {joint: law}, "offset": [joint], "spring": [joint], "harmonic": {joint: order},
                "coupling": [(joint, joint)]}, joints by name and laws such as "viscous+coulomb+stribeck"
    log, other  two motions: dicts of t, q, tau, and qd where the drives tell it
    errors      the sizes of what disturbs the log: rate, noise, quanta, lags
    """

    seed: int
    arm: da.Arm
    parameters: ParameterSet
    values: Array
    structure: dict[str, Any]
    log: dict[str, Array]
    other: dict[str, Array]
    errors: dict[str, Any]

    @cached_property
    def truth(self) -> da.Arm:
        """The arm that moved."""
        return calibrated_arm(self.parameters, self.values, "simulated")[0]

    @cached_property
    def base(self) -> BaseParameters:
        """The base parameters of the true structure."""
        return base_parameters(self.parameters)

    @property
    def options(self) -> dict[str, Any]:
        """Options of ``identify`` that pin the true structure."""
        shapes: dict[str, dict[str, Any]] = {}
        for j, term in self.parameters.further:
            if not isinstance(term, Offset):
                numbers = {x.name: getattr(term, x.name) for x in term.numbers() if x.name not in term.linear()}
                shapes.setdefault(self.arm.joint_names[j], {})[term.name] = numbers
        names = self.arm.joint_names
        pairs = [(names.index(i) + 1, names.index(j) + 1) for i, j in self.structure["coupling"]]
        laws = self.structure["friction"]
        friction = {name: ("viscous",) if "tanh" in laws[name] else ("viscous", "coulomb") for name in names}
        return {
            "friction": friction, "terms": shapes, "offset": self.structure["offset"], "coupling": pairs, "rotor": False,
            "method": "weighted",
        }  # fmt: skip

    @property
    def laws(self) -> dict[str, frozenset[str]]:
        """{joint: names of its laws}, as a selection's ``structure`` has them."""
        laws = {name: set(law.split("+")) for name, law in self.structure["friction"].items()}
        for special in ("offset", "spring", "harmonic"):
            for name in self.structure[special]:
                laws[name].add(special)
        return {name: frozenset(own) for name, own in laws.items()}

    def differences(
        self, structure: Mapping[str, Sequence[str]], drives: Sequence[tuple[int, int, float]]
    ) -> list[str]:
        """Where a chosen structure is not the true one, one word each: "joint2 +stribeck", "joint1 -spring".

        A spring of unknown rest position is a spring and an offset, so that no offset counts beside a spring. Viscous and
        Coulomb friction and offsets that are zero may be fitted.
        """
        wrong = []
        for name, true in self.laws.items():
            chosen = frozenset(structure[name])
            true, chosen = (x - {"offset"} if "spring" in x else x for x in (true, chosen))
            basic = {"viscous", "offset"} | ({"coulomb"} - ({"coulomb"} if "tanh" in true else set()))
            wrong += [f"{name} +{law}" for law in sorted(chosen - true - basic)]
            wrong += [f"{name} -{law}" for law in sorted(true - chosen)]
        names = self.arm.joint_names
        pairs = {frozenset((names[i - 1], names[j - 1])) for i, j, _ in drives}
        true_pairs = set(map(frozenset, self.structure["coupling"]))
        wrong += [f"{'–'.join(sorted(pair))} +drive" for pair in pairs - true_pairs]
        return wrong + [f"{'–'.join(sorted(pair))} -drive" for pair in true_pairs - pairs]

    def true_values(self, base: BaseParameters) -> Array:
        """The true base parameters of a set with at least the true structure; what it has more is zero."""
        known = dict(zip(self.parameters.names, self.values.tolist(), strict=True))
        return np.asarray(base.K @ np.array([known.get(name, 0.0) for name in base.parameters.names]))


class Motion(NamedTuple):
    """Instants (N,), and q, q̇, q̈ (N, n) then and as the torques that are logged then have them."""

    t: Array
    states: tuple[Array, Array, Array]
    delayed: tuple[Array, Array, Array]


@cache
def geometry(name: str) -> da.Arm:
    """An arm of the catalogue without friction and without rotors."""
    arm = da.load(name)
    return arm.replace(
        joints=tuple(replace(x, rotor=None, friction=da.Friction()) if x.moves else x for x in arm.robot.joints)
    )


def simulated(seed: int, name: str | None = None, without: Sequence[str] = (), specials: bool = True) -> SimulatedRobot:
    """The robot of a seed; ``name`` asks for a geometry, ``without`` leaves out ``SOURCES`` of errors; without ``specials``, friction
    is viscous and Coulomb friction."""
    rng = np.random.default_rng([seed, 16])
    chosen = str(rng.choice(list(GEOMETRIES), p=np.array([*GEOMETRIES.values()]) / sum(GEOMETRIES.values())))
    arm = geometry(name or chosen)
    errors = _errors(rng, arm)
    lag = 0.0 if "torque lag" in without else errors["torque lag"]
    motions = [_motion(rng, arm, errors["rate"], lag) for _ in range(2)]
    plain = ParameterSet(arm, offset=False, rotor=False)
    probe = tuple(x[::20] for x in motions[0].states)
    Y = plain.regressor(*probe)
    values = _plain_values(rng, plain, Y, probe[1])
    size = _rms(Y @ values)
    structure: dict[str, Any] = {
        "friction": dict.fromkeys(arm.joint_names, "viscous+coulomb"),
        "offset": [], "spring": [], "harmonic": {}, "coupling": [],
    }  # fmt: skip
    noise = np.hypot(errors["white"], errors["coloured"]) * size
    parameters, values = _with_specials(rng, plain, values, structure, probe, Y, noise, specials)
    logs = [_logged(rng, parameters, values, motion, errors, without) for motion in motions]
    return SimulatedRobot(seed, arm, parameters, values, structure, *logs, errors)


def _rms(x: Array) -> Array:
    return np.sqrt(np.mean(x**2, axis=0))


def _errors(rng: np.random.Generator, arm: da.Arm) -> dict[str, Any]:
    turns = np.array([x.type != "prismatic" for x in arm.robot.moving_joints])
    return {
        "rate": float(rng.choice([100.0, 125.0, 200.0, 250.0, 500.0])),
        "white": rng.uniform(0.003, 0.02, arm.n),  # of the joint's torque
        "coloured": rng.uniform(0.002, 0.01, arm.n),
        "memory": float(rng.uniform(0.005, 0.1)),  # s, of the coloured noise
        "torque quantum": 2.0 ** -float(rng.integers(11, 15)),  # of the largest torque
        "torque lag": float(rng.uniform(0.0, 0.004)),  # s, filters and the bus
        "encoder": np.where(turns, 2 * np.pi, 0.1) / 2.0 ** float(rng.integers(17, 21)),
        "velocity": bool(rng.random() < 0.7),  # whether the drives tell it
        "velocity lag": float(rng.uniform(0.001, 0.004)),  # s
    }


# -- motion --------------------------------------------------------------------------------------


def _motion(rng: np.random.Generator, arm: da.Arm, rate: float, lag: float) -> Motion:
    """t, and q, q̇, q̈ then and ``lag`` before, of a random sum of sines or of a spline through random points."""
    seconds = float(rng.uniform(20.0, 60.0))
    t = np.arange(0.0, seconds + WARM_UP, 1.0 / rate)
    if rng.random() < 0.6:
        w = 2 * np.pi / rng.uniform(8.0, 14.0) * np.arange(1, 6)
        a, b = rng.normal(size=(2, arm.n, 5)) / w

        def states(t: Array) -> tuple[Array, Array, Array]:
            s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
            return s @ a.T + c @ b.T, (c * w) @ a.T - (s * w) @ b.T, -(s * w**2) @ a.T - (c * w**2) @ b.T
    else:
        knots = np.arange(-2.0, seconds + WARM_UP + 4.0, rng.uniform(0.7, 1.5))
        curve = make_interp_spline(knots, rng.uniform(-1, 1, (len(knots), arm.n)), k=5)

        def states(t: Array) -> tuple[Array, Array, Array]:
            return curve(t), curve(t, 1), curve(t, 2)

    q, qd, _ = states(t)
    middle, scale = np.zeros(arm.n), np.zeros(arm.n)
    for j, joint in enumerate(arm.robot.moving_joints):
        slides = joint.type == "prismatic"
        low, high = joint.limits.lower, joint.limits.upper
        low, high = (-0.5, 0.5) if low is None or high is None else (low, high)
        if not slides:
            low, high = max(low, -2.5), min(high, 2.5)
        speed = rng.uniform(0.2, 0.5) if slides else rng.uniform(0.7, 1.6)
        reach = 0.5 * (q[:, j].max() - q[:, j].min())
        scale[j] = min(speed / np.abs(qd[:, j]).max(), 0.45 * (high - low) / reach)
        middle[j] = 0.5 * (low + high) - scale[j] * 0.5 * (q[:, j].max() + q[:, j].min())
    return Motion(t, *((middle + scale * q, scale * qd, scale * qdd) for q, qd, qdd in (states(t), states(t - lag))))


# -- parameters ----------------------------------------------------------------------------------


def _plain_values(rng: np.random.Generator, plain: ParameterSet, Y: Array, qd: Array) -> Array:
    """Inertias 10 to 30 % off those of the catalogue, and viscous and Coulomb friction of every joint."""

    def other(link: da.Link) -> da.Link:
        if link.inertia.mass == 0:
            return link
        off, J = rng.uniform(0.1, 0.3), np.array(link.inertia.pseudo, float)
        A = np.eye(4)
        A[:3, :3] += 0.5 * off * rng.normal(size=(3, 3))
        A[:3, 3] = 0.1 * off * rng.normal(size=3)
        return replace(link, inertia=Inertia.from_pseudo(tuple(map(tuple, (np.exp(off * rng.normal()) * A @ J @ A.T)))))

    arm = plain.arm.replace(links=tuple(other(link) for link in plain.arm.robot.links))
    values = ParameterSet(arm, offset=False, rotor=False).values.copy()
    size = np.maximum(_rms(Y @ values), 0.02 * np.median(_rms(Y @ values)))
    for j in range(plain.arm.n):
        values[plain.names.index(f"Fs_{j + 1}")] = rng.uniform(0.05, 0.2) * size[j]
        values[plain.names.index(f"Fv_{j + 1}")] = rng.uniform(0.05, 0.2) * size[j] / _rms(qd[:, j])
    return values


def _with_specials(
    rng: np.random.Generator, plain: ParameterSet, values: Array, structure: dict[str, Any],
    probe: tuple[Array, Array, Array], Y: Array, noise: Array, specials: bool,
) -> tuple[ParameterSet, Array]:  # fmt: skip
    """The set with special terms at random joints, of a size that matters beside the plain terms and the noise."""
    arm, size = plain.arm, _rms(Y @ values)
    known = dict(zip(plain.names, values.tolist(), strict=True))
    terms: list[JointTerm] = []
    drives: list[Drive] = []
    taken: set[int] = set()
    wanted = int(rng.choice(len(HOW_MANY), p=HOW_MANY)) * specials
    for special in rng.permutation(SPECIALS):
        free = _free(arm, special, taken)
        if not wanted or not free:
            continue
        j = int(rng.choice(free))
        added, drive, numbers = _special(rng, special, j, probe)
        joints = [j, j + 1] if drive else [j]
        extra = ParameterSet(arm, offset=False, rotor=False, terms=added, drives=drive)
        extra = replace(extra, only=[x.name for x in extra.members if x.further])
        torque = _columns(extra, plain, values, special, probe) @ numbers
        own = np.concatenate([_own(Y[:, k], torque[:, k]) for k in joints])
        whole = np.concatenate([torque[:, k] for k in joints])
        level = max(rng.uniform(*MATERIAL) * np.max(size[joints]), ABOVE_NOISE * np.max(noise[joints]))
        factor = level / max(_rms(own), 1e-30)
        small = OWN_FRICTION if special in ("stribeck", "tanh") else OWN
        if _rms(own) < small * _rms(whole) or factor * _rms(whole) > np.max(size[joints]):
            continue
        if special == "load" and factor * numbers[0] > MOST_LOAD:
            continue
        known |= dict(zip(extra.names, (factor * numbers).tolist(), strict=True))
        terms, drives, taken, wanted = [*terms, *added], [*drives, *drive], taken | set(joints), wanted - 1
        _note(structure, special, [arm.joint_names[k] for k in joints], added)
    whole_set = ParameterSet(arm, offset=False, rotor=False, terms=tuple(terms), drives=tuple(drives))
    sharp = {f"Fs_{j + 1}" for j, term in terms if isinstance(term, Tanh)}  # tanh stands instead of it
    parameters = replace(whole_set, only=[name for name in whole_set.names if name not in sharp])
    true = np.array([known[name] for name in parameters.names])
    return replace(parameters, load_from=true), true


def _free(arm: da.Arm, special: str, taken: set[int]) -> list[int]:
    """The joints that can have a special term: one each, and ripple and shared drives are of revolute joints."""
    free = [j for j in range(arm.n) if j not in taken]
    turning = [j for j in free if arm.robot.moving_joints[j].type != "prismatic"]
    if special == "coupling":
        return [j for j in turning if j + 1 in turning]
    return turning if special == "harmonic" else free


def _special(
    rng: np.random.Generator, special: str, j: int, probe: tuple[Array, Array, Array]
) -> tuple[tuple[JointTerm, ...], tuple[Drive, ...], Array]:
    """A special term of joint j, or a shared drive, with a random shape, and its coefficients but for their size."""
    fastest = float(np.abs(probe[1][:, j]).max())
    if special == "coupling":
        return (), (Drive(j, j + 1),), rng.uniform(0.3, 1.0, 3) / [3.0, 1.0, 1.0]
    term = {
        "stribeck": Stribeck(0.0, rng.uniform(0.05, 0.12) * fastest),
        "tanh": Tanh(0.0, rng.uniform(0.06, 0.15) * fastest),
        "load": LoadFriction(0.0),
        "offset": Offset(0.0),
        "spring": Spring(0.0, float(np.median(probe[0][:, j]) + 0.3 * rng.normal())),
        "harmonic": Harmonic(float(rng.integers(2, 6))),
    }[special]
    return ((j, term),), (), rng.normal(size=2) if special == "harmonic" else np.ones(1)


def _columns(
    extra: ParameterSet, plain: ParameterSet, values: Array, special: str, probe: tuple[Array, Array, Array]
) -> Array:
    """(N, n, k) the columns of special terms; those of friction that depends on the load with the plain load."""
    if special != "load":
        return extra.regressor(*probe)
    j = extra.members[0].joint
    still = np.array([x.unit is None for x in plain.members])
    load = plain.regressor(*probe)[:, j] @ np.where(still, values, 0.0)
    columns = np.zeros((*probe[0].shape, 1))
    columns[:, j, 0] = np.abs(load) * np.sign(probe[1][:, j])
    return columns


def _own(Y: Array, torque: Array) -> Array:
    """What of a torque no columns of a joint can stand for."""
    felt = Y[:, np.abs(Y).max(axis=0) > 0]
    felt = felt / _rms(felt)
    return np.asarray(torque - felt @ np.linalg.lstsq(felt, torque, rcond=1e-10)[0])


def _note(structure: dict[str, Any], special: str, joints: list[str], added: tuple[JointTerm, ...]) -> None:
    laws = {"stribeck": "viscous+coulomb+stribeck", "tanh": "viscous+tanh", "load": "viscous+coulomb+load"}
    if special in laws:
        structure["friction"][joints[0]] = laws[special]
    elif special == "harmonic":
        structure["harmonic"][joints[0]] = added[0][1].order
    elif special == "coupling":
        structure["coupling"].append(tuple(joints))
    else:
        structure[special].append(joints[0])


# -- what a logger writes ------------------------------------------------------------------------


def _logged(
    rng: np.random.Generator, parameters: ParameterSet, values: Array, motion: Motion,
    errors: dict[str, Any], without: Sequence[str],
) -> dict[str, Array]:  # fmt: skip
    """t, q, qd and tau of a motion, through encoders, filters and sensors."""
    t, (q, qd, _), delayed = motion
    rate = errors["rate"]
    blocks = (slice(k, k + BLOCK) for k in range(0, len(t), BLOCK))
    tau = np.concatenate([parameters.regressor(*(x[rows] for x in delayed)) @ values for rows in blocks])
    size, largest = _rms(tau), np.abs(tau).max(axis=0)
    white, coloured = rng.normal(size=(2, *tau.shape))
    if "coloured" not in without:
        memory = np.exp(-1.0 / (rate * errors["memory"]))
        tau = tau + errors["coloured"] * size * lfilter([np.sqrt(1 - memory**2)], [1, -memory], coloured, axis=0)
    if "white" not in without:
        tau = tau + errors["white"] * size * white
    if "torque quantisation" not in without:
        quantum = errors["torque quantum"] * largest
        tau = quantum * np.round(tau / quantum)
    if "encoder" not in without:
        q = errors["encoder"] * np.round(q / errors["encoder"])
    log = {"t": t, "q": q, "qd": qd, "tau": tau}
    if "velocity filter" not in without:
        log["qd"] = _lagged(np.diff(q, axis=0, prepend=2 * q[:1] - q[1:2]) * rate, errors["velocity lag"], rate)
    first = round(WARM_UP * rate)
    kept = {key: x[first:] for key, x in log.items() if key != "qd" or errors["velocity"]}
    return {**kept, "t": kept["t"] - kept["t"][0]}


def _lagged(x: Array, lag: float, rate: float) -> Array:
    """Through a first-order low-pass of that time constant (s), as drives have it."""
    memory = np.exp(-1.0 / (rate * lag))
    return np.asarray(lfilter([1 - memory], [1, -memory], x - x[0], axis=0)) + x[0]
