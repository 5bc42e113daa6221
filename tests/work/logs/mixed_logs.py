"""Simulated logs of arms that are not quite as described, and what a log looks like whose joints are mixed up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

import dalembert as da

Data = dict[str, np.ndarray]
ARMS = ("puma560", "ur10", "panda")


@cache
def described(name: str) -> da.Arm:
    return da.load(name)


def built(arm: da.Arm, rng: np.random.Generator, off: float, payload: float) -> da.Arm:
    """The arm as it was built: masses off by a factor, centres of mass off by a share, a load that nobody wrote down."""
    links = []
    for link in arm.robot.links:
        mass, com = float(link.inertia.mass), np.array(link.inertia.com, float)
        factor = float(np.exp(rng.normal(0, off)))
        com = com + rng.normal(0, 0.5 * off, 3) * np.linalg.norm(com)
        tensor = factor * np.array(link.inertia.tensor, float)
        links.append(
            replace(link, inertia=da.Inertia(mass * factor, tuple(com.tolist()), tensor.tolist())) if mass else link
        )
    arm = arm.replace(links=tuple(links))
    return arm.with_payload(payload, tuple(rng.normal(0, 0.05, 3).tolist())) if payload else arm


def simulated(
    name: str, seed: int, off: float = 0.3, payload: float = 0.0, noise: float = 0.02, coulomb: float = 0.05
) -> Data:
    """20 s at 100 Hz within the limits, with friction, noise of the torques and of the encoders.

    coulomb   Coulomb friction of the first joint beside the largest torque; a tenth of it at the last
    noise     of a joint's torque, and at least 5e-4 of the largest
    """
    arm, rng = described(name), np.random.default_rng(seed)
    limits = [joint.limits for joint in arm.robot.moving_joints]
    low = np.array([-np.pi if x.lower is None else max(-np.pi, float(x.lower)) for x in limits])
    high = np.array([np.pi if x.upper is None else min(np.pi, float(x.upper)) for x in limits])
    t, w = np.arange(0, 20, 0.01), 0.2 * np.pi * np.arange(1, 6)
    a, b = rng.normal(size=(2, arm.n, 5)) / w
    sine, cosine = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q = sine @ a.T + cosine @ b.T
    middle = 0.5 * (low + high) + rng.uniform(-0.25, 0.25, arm.n) * (high - low)
    size = np.minimum(1.0, 0.95 * np.minimum(high - middle, middle - low) / np.abs(q).max(axis=0))
    size *= rng.uniform(0.3, 1, arm.n)
    q, qd = middle + size * q, size * ((cosine * w) @ a.T - (sine * w) @ b.T)
    qdd = -size * ((sine * w**2) @ a.T + (cosine * w**2) @ b.T)
    tau = np.asarray(built(arm, rng, off, payload).inverse_dynamics(q, qd, qdd))
    largest = np.sqrt(np.mean(tau**2, axis=0)).max()
    level = coulomb * largest * np.linspace(1, 0.1, arm.n) * rng.uniform(0.3, 1.5, arm.n)
    tau = tau + level * (np.sign(qd) + qd)
    spread = np.maximum(noise * np.sqrt(np.mean(tau**2, axis=0)), 5e-4 * largest)
    tau = tau + spread * rng.normal(size=tau.shape)
    return {
        "t": t,
        "q": q + 1e-5 * rng.normal(size=q.shape),
        "qd": qd + 1e-3 * rng.normal(size=q.shape),
        "tau": tau,
    }


def changed(data: Data, names: tuple[str, ...], i: int, j: int) -> Iterator[tuple[str, tuple[int, ...], Data]]:
    """(words that tell it, the joints, the log): joint i of every change, exchanged with j."""
    n = len(names)
    sign = np.where(np.arange(n) == i, -1.0, 1.0)
    order = list(range(n))
    order[i], order[j] = j, i
    pair = "'{}' and '{}'".format(*(names[k] for k in sorted((i, j))))
    swap = {k: data[k][:, order] for k in ("q", "qd", "tau")}
    turned = {k: data[k] * sign for k in ("q", "qd", "tau")}
    yield f"with joints {pair} exchanged", (i, j), data | swap
    yield f"with the torques of {pair} exchanged", (i, j), data | {"tau": swap["tau"]}
    yield f"with the direction of joint '{names[i]}' reversed", (i,), data | turned
    yield f"with the sign of q of '{names[i]}' reversed", (i,), data | {k: turned[k] for k in ("q", "qd")}
    yield f"with the sign of the torque of '{names[i]}' reversed", (i,), data | {"tau": turned["tau"]}
