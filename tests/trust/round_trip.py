"""Forward dynamics of inverse dynamics, compiled, against the condition number of the inertia matrix.

One kernel of each serves many robots: their parameters and lengths are inputs. Links are made lighter by up to 14 powers
of ten and, on planar chains, their joints are moved together by up to 6, so that condition numbers from 1 to 1e16 come up.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import dalembert as da
from arms import random_robot
from dalembert.robot import Placement
from trust.check import Outcome, Task
from trust.formulations_agree import bodies

EPSILON = 2.0**-52
FACTOR = 20.0  # the error may be so many times ε cond(B), cond(B) at the end of its decade
WORST = 13  # the highest power of ten of the condition number at which digits are left


def work(task: Task, outcome: Outcome) -> None:
    """So many robots of one structure, by decade of the condition number of B."""
    count, rng = round(task.amount), task.rng
    robot = random_robot(rng, 2 + task.index % 5, tree=False, extras=False)
    if planar := task.index % 2 == 1:  # parallel axes: B loses its rank where they come together
        parallel = (replace(j, type="revolute", placement=Placement(), axis=(0, 0, 1)) for j in robot.joints if j.moves)
        links = [robot.links[0], *(link for link in robot.links if link.name.startswith("link"))]
        joints = [replace(j, parent=link.name) for j, link in zip(parallel, links, strict=False)]
        robot = robot.replace(links=tuple(links), joints=tuple(joints))
    a = da.Arm(robot)
    n = a.n
    q, qd, qdd = rng.uniform(-2, 2, (3, count, n))
    parameters = np.zeros((count, n, 13))
    lighter = 10.0 ** (-rng.uniform(0, 14, (count, 1)) * rng.uniform(0, 1, (count, n)))
    parameters[..., :10] = bodies(rng, (count, n)) * lighter[..., None]
    numbers = parameters.reshape(count, -1)
    lengths = rng.normal(size=(count, 6 * n + 3)) * 10.0 ** (-rng.uniform(0, 6, (count, 1)) if planar else 0.0)
    options = ("parameters", "lengths")
    B = a.kernel("inertia_matrix", options=options)(q, numbers, lengths)
    tau = a.kernel("inverse_dynamics", options=options)(q, qd, qdd, numbers, lengths)
    again = a.kernel("forward_dynamics", options=options)(q, qd, tau, numbers, lengths)
    condition = np.linalg.cond(B)
    # the torques are rounded to their own size, which velocity and weight may make larger than B q̈
    driven = np.abs(np.einsum("kij,kj->ki", B, qdd)).max(1)
    carried = np.maximum(1.0, np.abs(tau).max(1) / driven)
    error = np.abs(again - qdd).max(1) / np.abs(qdd).max(1) / carried
    decade = np.floor(np.log10(condition)).astype(int)
    for power in range(WORST + 1):
        at = decade == power
        if at.any():
            label, bound = f"1e{power:02d} ≤ cond(B) < 1e{power + 1:02d}", FACTOR * EPSILON * 10.0 ** (power + 1)
            worst = int(np.flatnonzero(at)[np.argmax(error[at])])
            outcome.measure(
                label, float(error[worst]), f"row {worst} of piece {task.index}, seed {task.seed}", int(at.sum()), bound
            )
    outcome.count += count
