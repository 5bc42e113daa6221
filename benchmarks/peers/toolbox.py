"""The Robotics Toolbox for Python: its Newton-Euler recursion in C on Denavit-Hartenberg rows, or in Python on URDF."""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from roboticstoolbox import DHRobot, RevoluteDH, RevoluteMDH, Robot
from spatialmath.base import rpy2r

from peers.protocol import Array, Way

VERSION = f"Robotics Toolbox {version('roboticstoolbox-python')}"
NEARLY = 1e-9


def load(folder: Path) -> dict[str, Any]:
    """The model from Denavit-Hartenberg rows if the arm has them, otherwise from URDF, which is a thousand times slower."""
    links = standard(folder / "arm.toml") or modified(folder / "arm.urdf")
    return {"DH rows": DHRobot(links)} if links else {"URDF": Robot.URDF(str(folder / "arm.urdf"))}


def standard(path: Path) -> list[RevoluteDH]:
    """The rows of a file in the standard convention."""
    robot = tomllib.loads(path.read_text())
    if robot.get("convention") != "standard":
        return []
    return [
        RevoluteDH(a=x["a"], alpha=x["alpha"], d=x["d"], offset=x["theta"], m=x["mass"], r=x["com"],
                   I=[x["inertia"].get(key, 0.0) for key in ("xx", "yy", "zz", "xy", "yz", "xz")], Jm=0.0, G=1.0)
        for x in robot["joint"]
    ]  # fmt: skip


def numbers(element: Any, name: str, default: str) -> Array:
    """The numbers in a URDF attribute."""
    return np.array((default if element is None else element.get(name, default)).split(), float)


def modified(path: Path) -> list[RevoluteMDH]:
    """Rows in the modified convention, if every joint of a URDF can be expressed in it; otherwise None.

    Links that are fixed to the last one are omitted: they have no mass in the cases that are compared.
    """
    robot, rows = ElementTree.parse(path).getroot(), []
    links = {link.get("name"): link.find("inertial") for link in robot.iter("link")}
    for joint in robot.iter("joint"):
        if joint.get("type") == "fixed":
            continue
        origin, inertial = joint.find("origin"), links[joint.find("child").get("link")]
        x, R = numbers(origin, "xyz", "0 0 0"), rpy2r(*numbers(origin, "rpy", "0 0 0"), order="zyx")
        alpha, theta = np.arctan2(-R[1, 2], R[2, 2]), np.arctan2(-R[0, 1], R[0, 0])
        d = x[2] * np.cos(alpha) - x[1] * np.sin(alpha)
        axis = numbers(joint.find("axis"), "xyz", "1 0 0")
        away = x - (x[0], -d * np.sin(alpha), d * np.cos(alpha))
        if max(abs(R[0, 2]), np.abs(away).max(), np.abs(axis - (0, 0, 1)).max()) > NEARLY:
            return []
        place, tensor = inertial.find("origin"), inertial.find("inertia")
        turn = rpy2r(*numbers(place, "rpy", "0 0 0"), order="zyx")
        moments = [[float(tensor.get("i" + min(i + j, j + i))) for j in "xyz"] for i in "xyz"]
        rows.append(RevoluteMDH(
            a=x[0], alpha=alpha, d=d, offset=theta, m=float(inertial.find("mass").get("value")),
            r=numbers(place, "xyz", "0 0 0"), I=turn @ moments @ turn.T, Jm=0.0, G=1.0,
        ))  # fmt: skip
    return rows


def ways(models: dict[str, Any], quantity: str) -> dict[str, Way]:
    """rne, accel, inertia and gravload."""
    methods = {
        "inverse_dynamics": "rne", "forward_dynamics": "accel", "inertia_matrix": "inertia", "gravity_torque": "gravload",
    }  # fmt: skip
    if quantity not in methods:
        return {}
    name = methods[quantity]

    def of(model: Any, kind: str) -> Way:
        method = getattr(model, name)
        in_c = (kind, name) == ("DHRobot", "rne")  # which passes whole trajectories to C
        return Way(f"{kind}.{name}", method, (lambda *x: lambda: method(*x)) if in_c else None)

    return {which: of(model, type(model).__name__) for which, model in models.items()}
