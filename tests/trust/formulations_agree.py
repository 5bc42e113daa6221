"""Every formulation of every quantity that has several, on random robots, without the compiler.

Two ways to run the same equations take turns. Most pieces trace one random structure, with inertias, lengths, payload,
gravity and gear ratios as inputs, and evaluate the tapes with NumPy on as many random sets of these as the piece has
robots. Every 25th piece runs the equations as plain Python on floats, on robots each of which has a structure of its own.
Tapes are simplified as those of kernels are; the last pass, which condenses sums and takes most of the time, is run in
every fifth piece.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from arms import random_robot, uncompiled
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.compiler.quantities.machine import signature, trace
from dalembert.robot.model.mechanism import Mechanism, mechanism
from trust.check import Outcome, Task

PLAIN = 25  # one piece in so many runs on floats
CONDENSED = 5  # one piece in so many has its sums condensed
NUMBERS = ("parameters", "lengths", "payload", "gravity", "gears")
COMPARED = ("inertia_matrix", "coriolis_matrix", "christoffel", "inverse_dynamics", "forward_dynamics")
GEARS = (-100.0, -30.0, 1.0, 12.5, 50.0)

Values = Callable[..., np.ndarray]


def work(task: Task, outcome: Outcome) -> None:
    """As many robots as the piece's amount; sizes and shapes of the structures follow from its number."""
    count = round(task.amount)
    if task.index % PLAIN == PLAIN // 2:
        for k in range(count):
            rng = np.random.default_rng([*_key(task), k])
            robot = random_robot(rng, int(rng.integers(1, 9)), tree=bool(rng.random() < 0.5))
            compare(task, outcome, mechanism(robot), rng, 1, on_floats, f"robot {k} of ")
    else:
        rng = task.rng
        robot = random_robot(rng, 1 + task.index % 8, tree=task.index // 8 % 2 == 1)
        compare(task, outcome, mechanism(robot), rng, count, Tapes(task.index % CONDENSED == 1), "")
    outcome.count += count


def _key(task: Task) -> tuple[int, int]:
    return task.seed, task.index


# -- two ways to run equations ---------------------------------------------------------------------


def on_floats(m: Mechanism, quantity: str, formulation: str, x: dict[str, np.ndarray]) -> np.ndarray:
    """One state on Python's numbers, of the mechanism as it is."""
    entry = JOINTS[quantity]
    names = (*entry.inputs, *_contact(quantity))
    values = entry.values(m, formulation, {name: x[name][0].tolist() for name in names})
    return np.array([values], float)


class Tapes:
    """A row for each set of numbers, from the tape that a kernel would be compiled from."""

    def __init__(self, condensed: bool) -> None:
        self.condensed = condensed
        self.traced: dict[tuple[str, str], tuple[Any, Any]] = {}

    def __call__(self, m: Mechanism, quantity: str, formulation: str, x: dict[str, np.ndarray]) -> np.ndarray:
        if (quantity, formulation) not in self.traced:
            entry = JOINTS[quantity] if self.condensed else replace(JOINTS[quantity], condensed=0.0)
            options = (*_contact(quantity), *NUMBERS)
            tape = trace(m, entry, formulation, options), signature(m, entry, options)
            self.traced[quantity, formulation] = tape
        graph, shapes = self.traced[quantity, formulation]
        (values,) = uncompiled(graph, shapes, *(x[name] for name, _ in shapes.inputs))
        return values


def _contact(quantity: str) -> tuple[str, ...]:
    return ("tip_wrench",) if "tip_wrench" in JOINTS[quantity].options else ()


# -- what is compared ------------------------------------------------------------------------------


def compare(
    task: Task, outcome: Outcome, m: Mechanism, rng: np.random.Generator, count: int, values: Values, which: str
) -> None:
    """All formulations of all quantities at random states of so many robots."""
    x = states(m, rng, count)
    example = f"{which}piece {task.index}, seed {task.seed}, {m.n} joints"
    results = {
        quantity: {way: values(m, quantity, way, x) for way in JOINTS[quantity].formulations(m)}
        for quantity in COMPARED
        if quantity != "forward_dynamics"
    }
    B, tau = results["inertia_matrix"]["composite"], results["inverse_dynamics"]["newton-euler"]
    size = np.abs(B).reshape(count, -1).max(axis=1)
    # what Coriolis and centrifugal terms are made of, even where they cancel
    scales = {
        "coriolis_matrix": size * np.abs(x["qd"]).max(axis=1),
        "christoffel": size,
    }
    for quantity, ways in results.items():
        first = ways[next(iter(ways))] if quantity != "inverse_dynamics" else tau
        least = scales.get(quantity, np.zeros(count))
        for way, value in ways.items():
            if value is not first:
                outcome.measure(f"{quantity}, {way}", difference(value, first, least), example, count)
    for way in JOINTS["forward_dynamics"].formulations(m):
        qdd = values(m, "forward_dynamics", way, x)
        again = values(m, "inverse_dynamics", "newton-euler", x | {"qdd": qdd})
        reached = np.abs(B * qdd[:, None, :]).reshape(count, -1).max(axis=1)
        outcome.measure(f"forward_dynamics, {way}", difference(again, x["tau"], reached), example, count)


def difference(value: np.ndarray, expected: np.ndarray, least: np.ndarray) -> float:
    """The largest over all robots of the largest difference over the largest value, which is not below ``least``."""
    value, expected = (array.reshape(len(least), -1) for array in (value, expected))
    scale = np.maximum(np.maximum(np.abs(expected).max(axis=1), least), 1e-12)
    return float((np.abs(value - expected).max(axis=1) / scale).max())


def states(m: Mechanism, rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Random q, q̇, q̈, τ and tip wrenches, and the numbers of so many robots of one structure."""
    x = {name: rng.uniform(-2, 2, (count, m.n)) for name in ("q", "qd", "qdd")}
    x["tau"] = rng.uniform(-30, 30, (count, m.n))
    x["tip_wrench"] = rng.uniform(-9, 9, (count, 6))
    rotor, friction = 10 ** rng.uniform(-4, -2, (count, m.n)), rng.uniform(0, 1, (count, m.n, 2))
    inertial = bodies(rng, (count, m.n))
    for i, body in enumerate(m.bodies):  # an augmented link has at least the inertia of the rotors that it carries
        if body.parent >= 0:
            inertial[:, body.parent, [4, 7, 9]] += rotor[:, i, None]
    x["parameters"] = np.concatenate([inertial, rotor[..., None], friction], axis=-1).reshape(count, -1)
    x["lengths"] = rng.normal(size=(count, 6 * m.n + 3)) * 0.5
    x["payload"] = bodies(rng, (count,)) * rng.choice([0.0, 1.0], (count, 1))
    x["gravity"] = rng.normal(size=(count, 3)) * 6.0
    x["gears"] = rng.choice(GEARS, (count, m.n))
    return x


def bodies(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Mass, first moments and inertia about the origin of rigid bodies: (…, 10). Each is six points with masses."""
    points, masses = rng.normal(size=(*shape, 6, 3)) * 0.3, rng.uniform(0.1, 1.0, (*shape, 6))
    second = np.einsum("...k,...ki,...kj->...ij", masses, points, points)
    tensor = np.trace(second, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - second
    entries = [tensor[..., i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
    first = np.einsum("...k,...ki->...i", masses, points)
    return np.concatenate([masses.sum(-1, keepdims=True), first, np.stack(entries, -1)], axis=-1)
