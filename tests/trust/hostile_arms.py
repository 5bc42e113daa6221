"""Arms built to hurt: what is badly scaled, massless, nearly singular or very long.

Torques, the inertia matrix and accelerations, compiled, are compared with all formulations as plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import dalembert as da
from arms import random_robot
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.robot import Inertia, Joint, Link, Placement, Robot, Rotor
from trust.check import Outcome, Task

STATES = 4
LONG = 60  # joints
WAYS_OF_LONG = ("newton-euler", "newton-euler-base", "dalembert")  # Lagrange's take minutes in plain Python


def work(task: Task, outcome: Outcome) -> None:
    """One arm after the other, of all kinds in turn; of each kind of 60 joints one in ten."""
    names = list(KINDS)
    for number in task.numbers:
        rng = np.random.default_rng([task.seed, number])
        kind = names[number % len(names)]
        if kind in RARE and number // len(names) % 10 != 0:
            kind = names[number // len(names) % (len(names) - len(RARE))]
        compare(outcome, kind, da.Arm(KINDS[kind](rng)), rng, f"{kind}, arm {number}, seed {task.seed}")
        outcome.count += 1


def compare(outcome: Outcome, kind: str, a: da.Arm, rng: np.random.Generator, example: str) -> None:
    """Compiled torques with those of every formulation, and accelerations with the torques that they need."""
    q, qd, qdd = rng.uniform(-2, 2, (3, STATES, a.n))
    h = rng.uniform(-9, 9, (STATES, 6))
    B, tau = a.inertia_matrix(q), a.inverse_dynamics(q, qd, qdd, tip_wrench=h)
    inverse = JOINTS["inverse_dynamics"]
    ways = WAYS_OF_LONG if a.n > 8 else inverse.formulations(a.mechanism)
    # each row by its own largest torque: heavy joints must not hide light ones' errors beyond their own size
    for way in ways:
        rows = zip(q.tolist(), qd.tolist(), qdd.tolist(), h.tolist(), strict=True)
        names = ("q", "qd", "qdd", "tip_wrench")
        page = np.array([inverse.values(a.mechanism, way, dict(zip(names, row, strict=True))) for row in rows])
        outcome.measure(kind, error(tau, page, np.abs(page)), f"inverse_dynamics, {way}, {example}")
    again = np.array(
        [
            JOINTS["inertia_matrix"].values(a.mechanism, "lagrange" if a.n <= 8 else "composite", {"q": x})
            for x in q.tolist()
        ]
    )
    outcome.measure(kind, error(B, again, np.abs(again)), f"inertia_matrix, {example}")
    try:
        forward = a.forward_dynamics(q, qd, tau, tip_wrench=h)
    except da.SingularInertiaError as sentence:
        singular = np.linalg.cond(B).min() > 1e12
        outcome.passed(
            f"{kind}: accelerations refused in one sentence",
            None if singular and "\n" not in str(sentence) else str(sentence),
            example,
        )
        return
    reached = np.abs(B * forward[:, None, :])
    outcome.measure(
        kind, error(a.inverse_dynamics(q, qd, forward, tip_wrench=h), tau, reached), f"forward_dynamics, {example}"
    )


def error(value: np.ndarray, expected: np.ndarray, reached: np.ndarray) -> float:
    """The largest difference over the largest number that is reached, state by state."""
    count = len(expected)
    scale = np.maximum(np.abs(expected).reshape(count, -1).max(1), reached.reshape(count, -1).max(1))
    return float((np.abs(value - expected).reshape(count, -1).max(1) / np.maximum(scale, 1e-300)).max())


# -- kinds -----------------------------------------------------------------------------------------


def _base(rng: np.random.Generator, n: tuple[int, int] = (2, 6)) -> Robot:
    return random_robot(rng, int(rng.integers(n[0], n[1] + 1)), tree=bool(rng.random() < 0.3))


def _links(robot: Robot, change: Callable[[Link], Link]) -> Robot:
    return robot.replace(links=tuple(map(change, robot.links)))


def _joints(robot: Robot, change: Callable[[Joint], Joint]) -> Robot:
    return robot.replace(joints=tuple(change(joint) if joint.moves else joint for joint in robot.joints))


def massless(rng: np.random.Generator) -> Robot:
    """About half of the links have neither mass nor inertia; some joints have no rotor, either."""
    return _links(_base(rng), lambda link: replace(link, inertia=Inertia()) if rng.random() < 0.5 else link)


def high_gears(rng: np.random.Generator) -> Robot:
    """Gear ratios from 1e2 to 1e4, of both signs, and rotors that count as much as links do."""

    def geared(joint: Joint) -> Joint:
        ratio = float(rng.choice([-1.0, 1.0]) * 10 ** rng.uniform(2, 4))
        rotor = Rotor(
            inertia=float(10 ** rng.uniform(-9, -3)), gear=ratio, mass=float(rng.uniform(0, 2)),
            position=tuple(rng.normal(size=3)), axis=tuple(rng.normal(size=3)), transverse=1e-4,
            reflected=bool(rng.random() < 0.2),
        )  # fmt: skip
        return replace(joint, rotor=rotor)

    return _joints(_base(rng), geared)


def lengths(rng: np.random.Generator) -> Robot:
    """Every link has its own length, from a millimetre to a kilometre, and the inertia that goes with it."""
    robot = _base(rng)
    size = {link.name: 10 ** rng.uniform(-3, 3) for link in robot.links}

    def scaled(link: Link) -> Link:
        s, body = size[link.name], link.inertia
        tensor = (s * s * np.array(body.tensor)).tolist()
        return replace(link, inertia=Inertia(body.mass, tuple(s * x for x in body.com), tensor))

    def moved(place: Placement, s: float) -> Placement:
        return Placement(place.rotation, tuple(s * x for x in place.translation))

    joints = tuple(
        replace(
            joint,
            placement=moved(joint.placement, size[joint.parent]),
            link_frame=moved(joint.link_frame, size[joint.child]),
        )
        for joint in robot.joints
    )
    return _links(robot, scaled).replace(joints=joints)


def nearly_singular(rng: np.random.Generator) -> Robot:
    """Thin rods and points: moments of inertia down to 1e-12 of the others, and no rotors."""

    def thin(link: Link) -> Link:
        body = link.inertia
        if body.mass == 0:
            return link
        axis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        moments = np.diag([10 ** rng.uniform(-12, -3), 1.0, 1.0]) * body.mass * 0.01
        return replace(link, inertia=Inertia(body.mass, body.com, (axis @ moments @ axis.T).tolist()))

    return _joints(_links(_base(rng), thin), lambda joint: replace(joint, rotor=None))


def masses(rng: np.random.Generator) -> Robot:
    """Every link has its own mass, from a milligram to a thousand tonnes."""

    def scaled(link: Link) -> Link:
        s, body = 10 ** rng.uniform(-6, 6), link.inertia
        return replace(link, inertia=Inertia(s * body.mass, body.com, (s * np.array(body.tensor)).tolist()))

    return _links(_base(rng), scaled)


def prismatic(rng: np.random.Generator) -> Robot:
    """Prismatic joints only."""
    return _joints(_base(rng), lambda joint: replace(joint, type="prismatic"))


def fast(rng: np.random.Generator) -> Robot:
    """Joints whose zero lies a thousand turns away."""
    return _joints(_base(rng), lambda joint: replace(joint, offset=float(rng.uniform(-1e4, 1e4))))


def nearly_parallel(rng: np.random.Generator) -> Robot:
    """Axes that differ by 1e-9 rad to 0.1 rad from those before them, as in calibrated arms and rounded files."""

    def tilted(joint: Joint) -> Joint:
        angles = rng.normal(size=2) * 10 ** rng.uniform(-9, -1)
        place = Placement.rpy(
            float(angles[0]), float(angles[1]), float(rng.uniform(-3, 3)), xyz=tuple(rng.normal(size=3))
        )
        return replace(joint, type="revolute", placement=place, axis=(0.0, 0.0, 1.0), link_frame=Placement())

    return _joints(_base(rng), tilted)


def long_chain(rng: np.random.Generator) -> Robot:
    """A chain of 60 joints."""
    return random_robot(rng, LONG, tree=False)


def long_tree(rng: np.random.Generator) -> Robot:
    """A tree of 60 joints."""
    return random_robot(rng, LONG, tree=True)


KINDS: dict[str, Callable[[np.random.Generator], Robot]] = {
    "massless links": massless,
    "gear ratios up to 1e4": high_gears,
    "lengths from 1e-3 m to 1e3 m": lengths,
    "masses from 1e-6 kg to 1e6 kg": masses,
    "nearly singular inertias": nearly_singular,
    "prismatic joints only": prismatic,
    "offsets of a thousand turns": fast,
    "nearly parallel axes": nearly_parallel,
    "a chain of 60 joints": long_chain,
    "a tree of 60 joints": long_tree,
}
RARE = ("a chain of 60 joints", "a tree of 60 joints")  # they take half a minute each to compile
