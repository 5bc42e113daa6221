"""Closed chains compared with open chains of the same number of links: inverse dynamics on one core (make bench).

S 7.3.3 computes a closed chain as the tree that results from cutting its loops, with the motion of the passive joints inserted and
their torques eliminated. With an analytic closure, a closed chain may cost up to twice as much as a serial arm of the same
links. The table also shows the tree itself with a motor at every joint, which may be cheaper than a serial arm: that of a
five-bar consists of two short arms.
"""

from __future__ import annotations

import math

import numpy as np

import dalembert as da
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Robot
from sidebyside import STATES, interleaved, one_core, table

MOST = 2.0  # allowed ratio of an analytic closure to an open chain of the same number of links


def serial(robot: Robot) -> da.Arm:
    """A serial arm made of the links of a robot, each on its own joint."""
    joints = []
    parent = robot.tree_joints[0].parent
    for k, joint in enumerate(robot.tree_joints):
        placement = Placement.rpy(0.0, 0.0, 0.0, xyz=(0.3, 0.0, 0.0)) if k else joint.placement
        joints.append(da.Joint(joint.name, joint.type, parent, joint.child, placement, joint.axis, joint.offset,
                               friction=joint.friction, rotor=joint.rotor))  # fmt: skip
        parent = joint.child
    tip = da.Frame("tip", parent)
    return da.Arm(robot.replace(joints=tuple(joints), loops=(), tip=tip, name=f"{robot.name}, serial"))


def slider_crank() -> da.Arm:
    """A crank of 0.1 m, a rod of 0.3 m and a slider that runs 0.02 m beside the crank's pivot, upright."""
    bar = ((1e-4, 0.0, 0.0), (0.0, 2e-3, 0.0), (0.0, 0.0, 2e-3))
    links = [
        da.Link("base"),
        da.Link("crank", da.Inertia(0.8, (0.04, 0.0, 0.0), bar)),
        da.Link("rod", da.Inertia(0.6, (0.14, 0.0, 0.0), bar)),
        da.Link("slider", da.Inertia(1.2, (0.0, 0.0, 0.0), bar)),
    ]
    rub = da.Friction(0.02)
    joints = [
        da.Joint("crank", "revolute", "base", "crank", friction=rub),
        da.Joint("pin", "revolute", "crank", "rod", Placement(translation=(0.1, 0.0, 0.0)), friction=rub),
        da.Joint(
            "slide",
            "prismatic",
            "base",
            "slider",
            Placement(translation=(0.0, 0.02, 0.0)),
            (1.0, 0.0, 0.0),
            friction=rub,
        ),
    ]
    loop = da.Loop("wrist", "rod", Placement(translation=(0.3, 0.0, 0.0)), "slider", Placement(),
                   branch={"crank": 0.5, "pin": -0.6, "slide": 0.38})  # fmt: skip
    return da.Arm(da.Robot("slider-crank", links, joints, gravity=(0.0, -9.81, 0.0), loops=(loop,)))


def main() -> None:
    """One row per shipped closed chain, and a slider-crank."""
    one_core()
    rows, worst = [], 0.0
    for closed in (
        *map(da.load, ("parallelogram", "parallelogram-decoupled", "five-bar", "palletizer")),
        slider_crank(),
    ):
        arms = {"closed": closed, "tree": closed.tree, "row": serial(closed.robot)}
        rng = np.random.default_rng(0)
        home = np.array([closed.mechanism.pose[i] for i in closed.mechanism.actuated])
        calls = {}
        for kind, arm in arms.items():
            q, qd, qdd = rng.uniform(-0.4, 0.4, (3, STATES, arm.n))
            q = q + home if kind == "closed" else q
            kernel = arm.kernel("inverse_dynamics")
            out = kernel(q, qd, qdd)
            assert np.isfinite(out).all()
            calls[kind] = lambda k=kernel, x=(q, qd, qdd), o=out: k(*x, out=o)
        least = interleaved(calls, 60)
        ns = {kind: t / STATES * 1e9 for kind, t in least.items()}
        operations = {kind: arm.operations("inverse_dynamics").compiled.total for kind, arm in arms.items()}
        ratio = ns["closed"] / ns["row"]
        worst = max(worst, ratio)
        rows.append((
            closed.name, "/".join(sorted(set(closed.closure_kinds.values()))), f"{closed.n} of {closed.tree.n}",
            *(f"{operations[kind]}" for kind in arms), *(f"{ns[kind]:.1f}" for kind in arms),
            f"{ns['closed'] / ns['tree']:.2f}", f"{ratio:.2f}",
        ))  # fmt: skip
    head = ("", "closure", "joints", "operations", "tree", "row", "ns per state", "tree", "row", "× tree", "× row")
    table(f"{STATES} states per call, one core; closed chain, its tree, its links as a serial arm", rows, head)
    print("within" if worst <= MOST else "ABOVE", f"{MOST:g} × an open chain of the same number of links:", end=" ")
    print(f"at most {math.ceil(100 * worst) / 100:.2f} ×")


if __name__ == "__main__":
    main()
