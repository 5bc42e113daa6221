"""Simulations of PyTorch tensors and JAX arrays: q and q̇ of the run belong to the library and are differentiable.

The task is made from the values of the arrays. Its compiled loop then becomes an operator of the library
(:mod:`dalembert.compiler.foreign.rollout_call`) that takes the arrays themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.arm.compiled import run_elsewhere
from dalembert.compiler.foreign.libraries import common_library, library_of, rows_of, spread, tracked, values
from dalembert.compiler.foreign.rollout_call import rollout_call
from dalembert.errors import DalembertError
from dalembert.work.simulation.controllers import Controller
from dalembert.work.simulation.sensitivity import refusal
from dalembert.work.simulation.task import SimulationRequest, Task
from dalembert.work.trajectory.planning.limits import position_limits

ARGUMENTS = {"q": "q0", "qd": "qd0", "tau": "torque", "tip_wrench": "tip_wrench", "parameters": "parameters"}


def foreign_inputs(request: SimulationRequest) -> dict[str, Any]:
    """The inputs that are arrays of another library, by their slots, if it tracks any of them for differentiation."""
    given = {slot: getattr(request, argument) for slot, argument in ARGUMENTS.items()}
    if isinstance(request.torque, Controller):
        given |= {name: getattr(request.torque, name) for name in request.torque.constants}
    return {slot: x for slot, x in given.items() if library_of(x)} if any(map(tracked, given.values())) else {}


def by_values(arm: Arm, request: SimulationRequest, inputs: Mapping[str, Any]) -> SimulationRequest:
    """The request with NumPy arrays; values that are unknown while a function is traced are zero, or a possible pose."""
    pose = np.clip(arm.home, *position_limits(arm))
    own = {
        slot: values(x, pose if slot == "q" and x.shape[-1:] == pose.shape else np.zeros(()))
        for slot, x in inputs.items()
    }
    torque = copy(request.torque)
    for slot in own.keys() - ARGUMENTS.keys():
        setattr(torque, slot, own[slot])
    return replace(request, **{"torque": torque} | {ARGUMENTS[slot]: x for slot, x in own.items() if slot in ARGUMENTS})


def foreign_motion(task: Task, inputs: Mapping[str, Any], beside: Mapping[str, Any]) -> tuple[Any, Any]:
    """q and q̇ (…, N, n) at the records of a task whose inputs are arrays of a library.

    beside  arguments that apply to NumPy arrays only
    """
    library = common_library(inputs.values())
    assert library is not None
    unfit = [name for name, value in beside.items() if value is not None]
    reasons = {
        f"{' and '.join(unfit)} are for NumPy arrays; leave them out": bool(unfit),
        "stops='error' needs values; use stops='contact' or None": task.limits is not None and not task.plan.stops,
        "effort_limits cut given torques at their values; limit the torques before": task.effort is not None
        and "tau" in inputs,
        refusal(task, ()): True,
    }
    if reason := next(reason for reason, holds in reasons.items() if holds):
        name = next(slot for slot, x in inputs.items() if tracked(x))
        raise DalembertError(
            f"{ARGUMENTS.get(name, name)} is tracked for differentiation by its library, but this simulation has no derivatives: "
            f"{reason}"
        )
    program, row = task.rollout.program, task.grid.row(np.arange(task.steps))
    arrays: dict[str, Any] = dict(zip(program.state, task.initial_state, strict=True))
    arrays |= task.given(0, task.steps) | {name: task.constants[name] for name in program.constant}
    held = []
    for slot, value in inputs.items():
        arrays[slot] = spread(value, (program.sizes[slot],)) if value.ndim == 0 else value
        if slot in program.stepwise and (value.ndim == 1 or value.shape[-2] == 1):
            held.append(slot)
            arrays[slot] = value if value.ndim == 1 else value[..., 0, :]
        elif slot in program.stepwise and value.shape[-2] < task.steps:
            arrays[slot] = rows_of(value, row)
    rows = tuple(x for x in program.stepwise if x not in held)
    call = rollout_call(task.arm.mechanism, task.plan, None, task.steps, task.steps, rows)
    motion = run_elsewhere(library, call.key, call.inputs, arrays)
    return rows_of(motion[0], task.records, arrays["q"]), rows_of(motion[1], task.records, arrays["qd"])
