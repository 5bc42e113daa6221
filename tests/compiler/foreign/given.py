"""What the tests of all libraries share: methods of arms that are compiled quantities, and states for them."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

import dalembert as da
from arms import wrist
from dalembert.compiler.quantities.joints import JOINTS, known
from test_closed_simulation import by_newton

ARMS = ("planar-2r", "five-bar by Newton")  # one whose kernels take q, one whose kernels take q of the tree
SIZES = {"tip_wrench": 6, "base_motion": 9}


@cache
def arm(name: str) -> da.Arm:
    plain = da.load(name.removesuffix(" by Newton"))
    return by_newton(plain) if name.endswith("Newton") else plain


def quantities(name: str) -> list[str]:
    """Every quantity that is a method; the motion of a tree begins with positions that no kernel gives."""
    return [x for x in known(arm(name).mechanism) if hasattr(arm(name), x) and x != "tree_motion"]


def state(name: str, quantity: str, seed: int = 0, options: bool = False) -> dict[str, np.ndarray]:
    """Three states near a pose of the arm, with all of the quantity's options or the inputs it must have."""
    rng, parameters = np.random.default_rng(seed), inspect.signature(getattr(arm(name), quantity)).parameters
    names = [*JOINTS[quantity].inputs, *(JOINTS[quantity].options if options else ())]
    sizes = {x: SIZES.get(x, arm(name).n) for x in names if x in parameters}
    if quantity == "friction_torque":  # whose further inputs some arms need
        sizes |= dict.fromkeys(("q", "load"), arm(name).n)
    return {
        x: rng.uniform(-0.1, 0.1, (3, size)) + (arm(name).home + 0.3 if x == "q" else 0) for x, size in sizes.items()
    }


# arms whose rollouts have different derivatives: smooth, with dry friction, closed by a formula, a screw and a coupled wrist
ROLLED = ("planar-2r", "scara", "five-bar", "wrist")
STEPS: dict[str, Any] = {"step": 1e-3, "steps": 6}


@cache
def rolled(name: str) -> da.Arm:
    return da.Arm(wrist()) if name == "wrist" else da.load(name)


def motion(name: str, seed: int = 0, batch: int = 2) -> dict[str, np.ndarray]:
    """An initial state and a torque per step, away from rest."""
    a, rng = rolled(name), np.random.default_rng(seed)
    q = rng.uniform(-0.1, 0.1, (batch, a.n)) + a.home + (0.05 if name == "five-bar" else 0.2)
    return {"q": q, "qd": rng.choice([-0.5, 0.5], (batch, a.n)), "tau": rng.normal(size=(batch, STEPS["steps"], a.n))}


def simulated(law: str, **gains: Any) -> Any:
    """Gains → (q, q̇) of a closed loop of scara with friction and stops."""
    a = da.load("scara")
    follow = da.polynomial([0.1, 0.2, 0.05, 0.0], [0.2, 0.1, 0.08, 0.1], duration=0.1)
    laws = {
        "pd": lambda kp, kd: da.PD(kp, kd, follow),
        "computed": lambda kp, kd: da.ComputedTorque(kp, kd, follow),
        "servo": lambda kp, kd: da.Servo(kp, kd, follow, effort=50.0),
        "adaptive": lambda kp, kd: da.Adaptive(kd, kp, 0.1, follow),
    }
    run = da.simulate(
        a, [0.15, 0.15, 0.06, 0.02], [0.1, -0.1, 0.02, 0.1], laws[law](**gains), 0.02, every=5, stops="contact"
    )
    return run.q, run.qd


def parts(value: Any) -> list[Any]:
    """The arrays of a result, whatever it comes in."""
    if is_dataclass(value):
        value = [getattr(value, f.name) for f in fields(value)]
    return list(value) if isinstance(value, (tuple, list)) else [value]


def flowing(name: str) -> list[str]:
    """A few quantities whose derivatives are taken, small ones with one output and with several."""
    return ["inverse_dynamics", "forward_dynamics", "kinetic_energy", "pose"][: 4 if name == "planar-2r" else 2]
