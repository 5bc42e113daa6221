"""A robot's file in pieces: unchanged it is the file, and with its own numbers in every slot it is the same robot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.robot.readers.toml_reader import parse_toml
from dalembert.robot.readers.toml_writer import Piece, toml_pieces, write_toml

ARMS = ["planar-2r", "puma560", "panda", "stanford", "scara", "kr300", "parallelogram", "palletizer"]


def filled(pieces: list[Piece], changed: Any, numbers: dict[str, float]) -> str:
    out = ""
    for piece in pieces:
        if isinstance(piece, str):
            out += piece
        elif "slot" in piece:
            out += repr(numbers[piece["slot"]])
        else:
            hit = changed is True or set(piece["when"]) & set(changed)
            out += filled(piece["changed"], changed, numbers) if hit else piece["same"]
    return out


def numbers_of(arm: da.Arm) -> dict[str, float]:
    """The numbers of a file, by their slots."""
    robot, numbers = arm.robot, {}
    links = {link.name: link.inertia for link in robot.links}

    def put(kind: str, tail: str, values: Any) -> None:
        numbers.update({f"{kind}{x}{tail}": float(v) for x, v in zip("xyz", values, strict=True)})

    for i, (joint, body) in enumerate(zip(robot.tree_joints, arm.mechanism.tree.bodies, strict=True)):
        own = links[joint.child]
        numbers[f"m_{i}"] = float(own.mass)
        put("c", f"_{i}", own.com)
        put("p", f"_{i}", joint.placement.translation)
        put("l", f"_{i}", joint.link_frame.translation)
        for j, a in enumerate("xyz"):
            for k, b in enumerate("xyz"):
                numbers[f"I{a}{b}_{i}"] = float(own.tensor[j][k])
        numbers |= {f"Im_{i}": float(body.rotor_inertia), f"k_{i}": float(body.gear), f"Fv_{i}": float(body.viscous)}
        numbers |= {f"Ff_{i}": float(body.coulomb[0]), f"Fb_{i}": float(body.coulomb[1])}
    put("t", "", robot.tip.placement.translation)
    put("g", "", robot.gravity)
    return numbers


@pytest.mark.parametrize("name", ARMS)
def test_pieces_that_are_not_changed_are_the_file(name: str) -> None:
    arm = da.load(name)
    assert filled(toml_pieces(arm.robot, arm.mechanism.tree.bodies), (), {}) == write_toml(arm.robot)


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("part", ["all", "link", "place", "rotor", "friction"])
def test_pieces_with_the_robots_own_numbers_are_the_robot(name: str, part: str) -> None:
    """All pieces as if changed, or those of one part of every joint."""
    arm = da.load(name)
    pieces = toml_pieces(arm.robot, arm.mechanism.tree.bodies)
    changed: Any = True if part == "all" else [f"{part}_{i}" for i in range(arm.mechanism.tree.n)]
    again = da.Arm(parse_toml(filled(pieces, changed, numbers_of(arm))))
    assert again.joint_names == arm.joint_names
    q, qd, qdd = np.asarray(arm.home) + np.random.default_rng(1).uniform(-0.3, 0.3, (3, 4, arm.n))
    expected = arm.inverse_dynamics(q, qd, qdd)
    assert np.abs(again.inverse_dynamics(q, qd, qdd) - expected).max() < 1e-12 * np.abs(expected).max()
