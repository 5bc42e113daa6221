"""The cost of each friction term: panda with the term at every joint, nanoseconds per state (make bench)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import dalembert as da
from sidebyside import STATES, interleaved, one_core, random_states, table

FRICTIONS = {
    "none": da.Friction(),
    "viscous and Coulomb": da.Friction(0.5, (1.0, 0.8)),
    "offset": da.Friction(offset=0.2),
    "stribeck": da.Friction(stribeck=(0.5, 0.1)),
    "tanh": da.Friction(tanh=(0.5, 0.1)),
    "sigmoid": da.Friction(sigmoid=(0.5, 0.1, 0.2)),
    "load": da.Friction(load=0.1),
    "gear": da.Friction(gear=(0.1, 0.2)),
    "harmonic": da.Friction(harmonic=(8.0, 0.3, 0.2)),
    "spring": da.Friction(spring=(30.0, 0.2)),
    "gas_spring": da.Friction(gas_spring=(900.0, 0.1, 0.4, 0.5)),
}
QUANTITIES = ("inverse_dynamics", "forward_dynamics", "torque_derivatives")


def with_friction(arm: da.Arm, friction: da.Friction) -> da.Arm:
    """The arm with this friction at every joint."""
    return da.Arm(arm.robot.replace(joints=tuple(replace(joint, friction=friction) for joint in arm.robot.joints)))


def main() -> None:
    """One row per term, with its time relative to that without friction."""
    one_core()
    panda, states = da.load("panda"), random_states(7)
    arms = {name: with_friction(panda, friction) for name, friction in FRICTIONS.items()}
    ns: dict[str, dict[str, float]] = {}
    for quantity in QUANTITIES:
        kernels = {name: arm.kernel(quantity) for name, arm in arms.items()}
        calls = {name: partial(kernel, *states, out=kernel(*states)) for name, kernel in kernels.items()}
        least = interleaved(calls, 10)
        ns[quantity] = {name: seconds / STATES * 1e9 for name, seconds in least.items()}
    rows = []
    for name in FRICTIONS:
        times = [(ns[quantity][name], ns[quantity]["none"]) for quantity in QUANTITIES]
        rows.append((name, *(f"{own:.1f} ({own / bare:.2f})" for own, bare in times)))
    table("panda, one term at every joint, ns per state (relative to no friction)", rows, ("term", *QUANTITIES))


if __name__ == "__main__":
    main()
