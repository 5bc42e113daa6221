"""The registry of arms that every dynamics test runs over, and random robots for hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

import dalembert as da
from dalembert.compiler.emit.llvm import Signature
from dalembert.compiler.graph.tape import Graph, evaluate
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.robot import Coupling, Frame, Friction, Inertia, Joint, Limits, Link, Placement, Robot, Rotor

SHARED = Path(__file__).resolve().parents[2] / "shared"
MODELS = SHARED / "data" / "models"
REFERENCE = SHARED / "data" / "reference"

SHIPPED = [
    "cartesian-2", "cartesian-2-45", "iiwa14", "kr300", "panda", "pendulum", "planar-2r", "planar-3r",
    "pr-arm", "puma560", "scara", "stanford", "ur10", "ur5e",
]  # fmt: skip
CLOSED = ["five-bar", "palletizer", "parallelogram"]
FILES = ["gen3_7dof.urdf", "iiwa14.urdf", "panda_arm.urdf", "tx40.urdf", "ur10.urdf", "ur10e.urdf", "ur5.urdf"]
COUPLED = ["gripper", "wrist"]  # some joints follow others
REGISTRY = [*SHIPPED, *FILES, "random-tree", "random-chain", "terms", *COUPLED, *CLOSED]
# files of arms that are shipped (ur5.urdf has the structure of ur10) and of the ur5e with other numbers and no rotors:
# their graphs are those of the others but for numbers, and Pinocchio judges each of them
TWINS = ["iiwa14.urdf", "panda_arm.urdf", "ur10.urdf", "ur10e.urdf", "ur5.urdf"]
DISTINCT = [name for name in REGISTRY if name not in TWINS]


@cache
def arm(name: str) -> da.Arm:
    """An arm of the registry; skips where ../shared is absent."""
    if name in da.arms():
        return da.load(name)
    if name == "random-tree":
        return da.Arm(random_robot(np.random.default_rng(7), 8, tree=True))
    if name == "random-chain":
        return da.Arm(random_robot(np.random.default_rng(8), 5, tree=False))
    if name == "terms":
        return da.Arm(with_terms(random_robot(np.random.default_rng(9), 4, tree=False), FRICTIONS))
    if name in COUPLED:
        return da.Arm(gripper() if name == "gripper" else wrist())
    if not MODELS.exists():
        pytest.skip("../shared/data is not here")
    return da.load(MODELS / name, physical="warn")


# every term that needs no load, on some joint
FRICTIONS = (
    Friction(0.3, (0.4, 0.2), stribeck={"level": 0.7, "speed": 0.5}, offset=-0.3),
    Friction(tanh={"level": 0.6, "width": 0.3, "centre": 0.1}, spring={"stiffness": 3.0, "rest": 0.4}),
    Friction(0.2, sigmoid={"level": 0.5, "width": 0.4, "shift": 0.2}, gas_spring={"force": 30.0, "a": 0.1, "b": 0.3, "angle": 0.5, "rate": 20.0, "length": 0.35}),
    Friction(coulomb=0.1, drag=0.2, harmonic=[{"order": 1, "sine": 0.4}, {"order": 4, "sine": 0.2, "cosine": -0.3}]),
)  # fmt: skip
LOADED = (
    Friction(0.3, 0.4, load={"share": 0.1}),
    Friction(0.1, gear={"driving": 0.15, "driven": 0.25}, spring={"stiffness": 2.0}),
)


def with_terms(robot: Robot, frictions: Sequence[Friction]) -> Robot:
    """The robot whose moving joints have these frictions, in turn, and whose motors have none."""
    of = {joint.name: frictions[k % len(frictions)] for k, joint in enumerate(robot.tree_joints)}
    joints = []
    for joint in robot.joints:
        rotor = None if joint.rotor is None else replace(joint.rotor, viscous=0.0, coulomb=0.0)
        terms = (x for x in of.get(joint.name, joint.friction) if joint.type != "prismatic" or not x.turns)
        joints.append(replace(joint, friction=Friction.of(terms), rotor=rotor))
    return robot.replace(joints=tuple(joints))


def states(a: da.Arm, count: int, seed: int = 0, scale: float = 2.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q, qd, qdd of shape (count, n); of closed chains q within their reach, well away from where it ends."""
    q, qd, qdd = np.random.default_rng(seed).uniform(-scale, scale, (3, count, a.n))
    if not a.mechanism.linear and a.loops:
        q = a.closing(np.random.default_rng(seed), a.home - 0.3, a.home + 0.3, count)
    return q, qd, qdd


def tree_positions(a: da.Arm, q: np.ndarray) -> np.ndarray:
    """Where all joints of the arm's tree are: (…, N)."""
    return np.asarray(q) if a.mechanism.identity else a.tree_positions(q)


def tree_velocities(a: da.Arm, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """How fast they move: (…, N)."""
    return np.asarray(qd) if a.mechanism.identity else np.einsum("...ij,...j->...i", a.closure_jacobian(q), qd)


def pulled(a: da.Arm, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """What torques at all joints of the tree are at those that are held: Γᵀ τ."""
    return tau if a.mechanism.identity else np.einsum("...ij,...i->...j", a.closure_jacobian(q), tau)


def friction(a: da.Arm, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """The friction's torque, which depends on q where joints follow others and not linearly."""
    return a.friction_torque(qd, q=q) if a.placing.why_q_matters or not a.mechanism.linear else a.friction_torque(qd)


def one_level(a: da.Arm) -> da.Arm:
    """The arm with one Coulomb level for both directions, as S has it."""

    def level(part):  # type: ignore[no-untyped-def]
        return None if part is None else replace(part, coulomb=(part.coulomb[0],) * 2)

    joints = (
        replace(j, friction=j.friction.replace(coulomb=j.friction.coulomb[0]), rotor=level(j.rotor))
        for j in a.robot.joints
    )
    return a.replace(joints=tuple(joints))


def relative(x: np.ndarray, y: np.ndarray) -> float:
    """Largest difference over the largest value."""
    x, y = np.asarray(x), np.asarray(y)
    return float(np.abs(x - y).max(initial=0.0) / max(1e-12, np.abs(y).max(initial=0.0)))


def on_floats(a: da.Arm, quantity: str, formulation: str, **batch: np.ndarray) -> np.ndarray:
    """The quantity by this formulation, from the same text run on plain floats, state by state."""
    entry, rows = JOINTS[quantity], zip(*(values.tolist() for values in batch.values()), strict=True)
    return np.array([entry.values(a.mechanism, formulation, dict(zip(batch, row, strict=True))) for row in rows])


NUMPY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "sign": np.sign, "less": np.less, "select": np.where,
    "exp": np.exp, "log": np.log, "tanh": np.tanh, "atan2": np.arctan2, "asin": np.arcsin, "acos": np.arccos,
}  # fmt: skip


def uncompiled(graph: Graph, shapes: Signature, *batch: np.ndarray) -> list[np.ndarray]:
    """What a kernel gives for a batch (k, …), from the graph that it is compiled from: for large ones on many arms."""
    columns = [column for array in batch for column in array.reshape(len(array), -1).T]
    values = evaluate(graph, columns, NUMPY)
    rows = np.stack([np.broadcast_to(np.asarray(value, float), len(batch[0])) for value in values], axis=-1)
    sizes = [prod(shape) for _, shape in shapes.outputs]
    parts = np.split(rows, np.cumsum(sizes)[:-1], axis=-1)
    return [part.reshape(-1, *shape) for part, (_, shape) in zip(parts, shapes.outputs, strict=True)]


def random_rotation(rng: np.random.Generator) -> list[list[float]]:
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return (Q * np.sign(np.linalg.det(Q))).tolist()


def random_placement(rng: np.random.Generator) -> Placement:
    """Often a right-angled one, as in real files; otherwise anything."""
    if rng.random() < 0.4:
        r, p, y = (float(k) * np.pi / 2 for k in rng.integers(-1, 3, 3))
        xyz = tuple(float(x) for x in rng.choice([0.0, 0.3, -0.2], 3))
        return Placement.rpy(r, p, y, xyz=xyz)  # type: ignore[arg-type]
    return Placement(random_rotation(rng), tuple(rng.normal(size=3)))  # type: ignore[arg-type]


def random_inertia(rng: np.random.Generator) -> Inertia:
    points, weights = rng.normal(size=(6, 3)) * 0.3, rng.uniform(0.1, 1.0, 6)
    com = weights @ points / weights.sum()
    r = points - com
    tensor = np.einsum("k,kij->ij", weights, (r**2).sum(1)[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None, :])
    return Inertia(float(weights.sum()), tuple(com), tensor.tolist())


def random_rotor(rng: np.random.Generator) -> Rotor | None:
    kind = rng.random()
    if kind < 0.3:
        return None
    return Rotor(
        inertia=float(rng.uniform(1e-3, 0.1)), gear=float(rng.choice([-30.0, 1.0, 12.5])), mass=float(rng.uniform(0, 1)),
        position=tuple(rng.normal(size=3)) if kind < 0.8 else None,
        axis=tuple(rng.normal(size=3)) if kind < 0.7 else None,
        transverse=float(rng.choice([0.0, 0.01])), reflected=bool(kind > 0.9), viscous=0.01, coulomb=(0.02, 0.03),
    )  # fmt: skip


def random_robot(rng: np.random.Generator, n: int, tree: bool = True, extras: bool = True) -> Robot:
    """A robot of n moving joints and some fixed ones; with ``extras`` rotors, friction, payload, base."""
    links, joints = [Link("base")], []
    for i in range(n):
        parent = links[int(rng.integers(0, len(links)))].name if tree else links[-1].name
        if rng.random() < 0.2:
            links.append(Link(f"plate{i}", random_inertia(rng)))
            joints.append(Joint(f"weld{i}", "fixed", parent, f"plate{i}", random_placement(rng)))
            parent = f"plate{i}"
        links.append(Link(f"link{i}", random_inertia(rng)))
        axis = (0.0, 0.0, 1.0) if rng.random() < 0.5 else tuple(rng.normal(size=3))
        joints.append(
            Joint(
                f"joint{i}",
                "prismatic" if rng.random() < 0.25 else "revolute",
                parent,
                f"link{i}",
                random_placement(rng),
                axis,
                float(rng.choice([0.0, 0.4])) if extras else 0.0,
                random_placement(rng) if extras and rng.random() < 0.5 else Placement(),
                Friction(0.3, (0.1, 0.2)) if extras else Friction(),
                Limits(-2.0, 2.0, 3.0, 10.0, 100.0),
                random_rotor(rng) if extras else None,
            )
        )
    return Robot(
        "random", tuple(links), tuple(joints),
        gravity=tuple(rng.normal(size=3)) if extras else (0.0, 0.0, -9.81),  # type: ignore[arg-type]
        base=random_placement(rng) if extras else Placement(),
        tip=Frame("hand", links[-1].name, random_placement(rng)),
        payload=random_inertia(rng) if extras and rng.random() < 0.5 else None,
    )  # fmt: skip


def gripper() -> Robot:
    """Two joints and a finger; other fingers follow: linearly, by a polynomial, and one another."""
    rng = np.random.default_rng(9)
    tree = random_robot(rng, 6, tree=True)
    couplings = (
        Coupling("joint5", "joint4", 0.5, -0.1),
        Coupling("joint3", "joint2", -1.5, 0.02),
        Coupling("joint4", "joint1", 0.7, 0.1, higher=(0.3, -0.05)),
    )
    return tree.replace(name="gripper", couplings=couplings)


def wrist() -> Robot:
    """Three joints of which two motors on the arm move the last two together, and a screw."""
    rng = np.random.default_rng(10)
    rotor = Rotor(
        inertia=2e-4,
        gear=45.0,
        mass=0.4,
        position=(0.05, 0.0, 0.1),
        transverse=1e-4,
        viscous=1e-4,
        coulomb=(2e-3, 3e-3),
    )
    row = {"friction": Friction(0.2, (0.1, 0.15)), "limits": Limits(-2.0, 2.0, 3.0, 10.0, 100.0)}
    rows = [
        row | {"a": 0.3, "alpha": "pi/2", "d": 0.2, "inertia": random_inertia(rng), "rotor": rotor},
        row | {"alpha": "-pi/2", "inertia": random_inertia(rng), "rotor": rotor},
        row | {"d": 0.1, "inertia": random_inertia(rng), "rotor": Rotor(inertia=1e-4, gear=-30.0, reflected=True)},
        row | {"type": "helical", "pitch": 0.05, "a": 0.1, "inertia": random_inertia(rng)},
    ]
    limits = (Limits(velocity=5.0, effort=20.0),) * 2
    motors = Coupling(
        ("joint2", "joint3"), motors=("motor2", "motor3"), matrix=((1.0, 0.0), (-0.8, 1.2)), limits=limits
    )
    arm = da.from_dh(rows, name="wrist").robot
    return arm.replace(couplings=(*arm.couplings, motors))


def robots(max_joints: int = 12, extras: bool = True) -> st.SearchStrategy[Robot]:
    """Random trees and chains up to 12 joints."""
    return st.builds(
        lambda seed, n, tree: random_robot(np.random.default_rng(seed), n, tree, extras),
        st.integers(0, 2**32 - 1), st.integers(1, max_joints), st.booleans(),
    )  # fmt: skip
