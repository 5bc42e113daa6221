"""Methods of the Arm that later rooms carry out: which function does it, in one table."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# method of the Arm → "room.module:function"
HANDED_ON = {
    "save": "robot.load:save_robot",
    "equations": "symbols.of_robot:equations_of",
    "in_coordinates": "arm.in_coordinates:in_coordinates",
    "operational_space": "tip.operational:OperationalSpace",
    "dynamic_manipulability": "analysis.ellipsoid:dynamic_manipulability",
    "acceleration_polytope": "analysis.ellipsoid:acceleration_polytope",
    "velocity_manipulability": "analysis.ellipsoid:velocity_manipulability",
    "force_manipulability": "analysis.ellipsoid:force_manipulability",
    "static_manipulability": "analysis.ellipsoid:static_manipulability",
    "base_parameters": "identification.formulas:base_parameters_of",
}


def handed_on(method: str) -> Any:
    """The function that carries out a method of the Arm."""
    module, _, function = HANDED_ON[method].partition(":")
    return getattr(import_module(f"dalembert.{module}"), function)
