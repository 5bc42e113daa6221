"""Simulated pairs of runs in amperes with a known load: how often the mass lies inside its own 2 σ, by source of the gains.

    python tests/soak_identification/payload_pairs.py [ARM] [PAIRS] [SEED]

Per pair: masses of the links off by 12 %, gains by 5 % in common and 5 % each, those of the data sheet by 10 %, a weight
at the flange that the controller does not know, a controller's model off by 2 %, friction with Stribeck and load
effects that differs by ±15 % between the runs and drifts within them, and coloured noise.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dalembert as da

Array = NDArray[np.float64]

SOURCES: dict[str, tuple[tuple[str, ...], bool]] = {  # what is left out of the log, and whether gains are given
    "controller's torques": ((), False),
    "gains and controller's torques": ((), True),
    "gains and weight": (("tau_des",), True),
    "weight": (("tau_des",), False),
}
DURATION, RATE = 40.0, 100.0


def other_masses(arm: da.Arm, deviation: float, rng: np.random.Generator) -> da.Arm:
    """The arm with masses and centres of mass off by this, half of the variance in common."""
    half, links = deviation / np.sqrt(2), []
    common = 1 + half * rng.normal()
    for link in arm.robot.links:
        body = link.inertia
        if body is not None and float(body.mass) > 0:
            scale = max(0.2, common * (1 + half * rng.normal()))
            com = np.array(body.com, float)
            com = com + half * rng.normal(size=3) * max(0.05, float(np.linalg.norm(com))) / 2
            tensor = (scale * np.array(body.tensor, float)).tolist()
            link = replace(link, inertia=da.Inertia(scale * float(body.mass), tuple(com), tensor))
        links.append(link)
    return arm.replace(links=tuple(links))


def pair(arm: da.Arm, rng: np.random.Generator) -> tuple[list[dict[str, Any]], float, Array]:
    """(the runs without and with the load, its mass, the gains of the data sheet)."""
    n = arm.n
    true = other_masses(arm, 0.12, rng)
    mass, com = float(rng.uniform(1.0, 8.0)), rng.uniform(-0.1, 0.1, 3)
    carried = true.with_payload(mass, com, (mass * np.diag(rng.uniform(0.008, 0.012, 3))).tolist())
    flange = true.with_payload(abs(0.2 * rng.normal()) + 1e-3)
    gain = 10.0 * np.exp(0.05 * rng.normal() + 0.05 * rng.normal(size=n))
    model_error, _ = np.exp(0.014 * rng.normal(size=(2, 1)) + 0.014 * rng.normal(size=(2, n)))
    size = np.linspace(1.0, 0.2, n)
    viscous, coulomb = 15 * size * rng.uniform(0.6, 1.4, n), 13 * size * rng.uniform(0.6, 1.4, n)
    rotor, load, stribeck = 2 * size * rng.uniform(0.5, 1.5, n), rng.uniform(0, 0.08, n), rng.uniform(0, 0.3)
    t, runs = np.arange(0, DURATION, 1 / RATE), []
    for loaded in (False, True):
        middle = np.resize([0.0, -1.2, 1.0, -1.2, -1.0, 0.0], n) + rng.uniform(-0.4, 0.4, n)
        swing = np.resize([0.25, 0.14, 0.18, 0.25, 0.3, 0.3], n)[:, None] / np.sqrt(np.arange(1, 6))
        q, qd, qdd = da.fourier(swing * rng.normal(size=(2, n, 5)), 0.08, middle, duration=DURATION)(t)
        bare = np.asarray(true.inverse_dynamics(q, qd, qdd)) + rotor * qdd
        tau = np.asarray(flange.inverse_dynamics(q, qd, qdd)) + rotor * qdd
        if loaded:
            tau = tau + np.asarray(carried.inverse_dynamics(q, qd, qdd)) + rotor * qdd - bare
        sign, drift = np.tanh(qd / 0.01), rng.uniform(0.85, 1.15, (2, n))
        dry = coulomb * drift[0] * sign * (1 + stribeck * np.exp(-((qd / 0.1) ** 2)))
        friction = dry + viscous * drift[1] * qd + load * np.abs(tau) * sign
        friction *= 1 + 0.05 * np.sin(np.pi * t / DURATION)[:, None]
        noise = rng.normal(size=tau.shape)
        for k in range(1, len(noise)):
            noise[k] = 0.9 * noise[k - 1] + 0.43 * noise[k]
        current = (tau + friction) / gain + 0.06 * size * noise + 0.02 * rng.normal(size=tau.shape)
        states = {"t": t, "q": q + 1e-5 * rng.normal(size=q.shape), "qd": qd + 2e-3 * rng.normal(size=q.shape)}
        runs.append({**states, "current": current, "tau_des": bare * model_error})
    return runs, mass, gain * np.exp(0.1 * (rng.normal() + rng.normal(size=n)) / np.sqrt(2))


def coverage(arm: da.Arm, pairs: int, seed: int = 0) -> dict[str, Array]:
    """(pairs, 2) by source: the error of the mass, and its standard deviation, relative to the mass."""
    errors: dict[str, list[tuple[float, float]]] = {source: [] for source in SOURCES}
    for k in range(seed, seed + pairs):
        (empty, loaded), mass, sheet = pair(arm, np.random.default_rng(k))
        for source, (left_out, given) in SOURCES.items():
            log = {name: values for name, values in empty.items() if name not in left_out}
            load = da.identify_payload(arm, log, loaded, gains=sheet if given else None)
            errors[source].append((load.mass / mass - 1, load.mass_std / mass))
    return {source: np.array(rows) for source, rows in errors.items()}


if __name__ == "__main__":
    words = sys.argv[1:]
    chosen = da.load(words[0] if words else "puma560", physical="warn")
    for source, rows in coverage(chosen, *map(int, words[1:3] or ["20"])).items():
        error, std = rows.T
        inside = int((np.abs(error) < 2 * std).sum())
        print(
            f"{source:34s} inside 2 σ: {inside} of {len(rows)}, error {100 * np.sqrt(np.mean(error**2)):.1f} % rms, "
            f"standard deviation {100 * std.mean():.1f} %"
        )
