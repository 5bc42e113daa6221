"""Robots: what a file or a table says, read, checked and frozen."""

from dalembert.robot.model import (
    Coupling,
    Frame,
    Friction,
    Gear,
    Inertia,
    Joint,
    Limits,
    Link,
    Loop,
    Motor,
    Placement,
    Robot,
    Rotor,
    Shape,
)

__all__ = [
    "Coupling",
    "Frame",
    "Friction",
    "Gear",
    "Inertia",
    "Joint",
    "Limits",
    "Link",
    "Loop",
    "Motor",
    "Placement",
    "Robot",
    "Rotor",
    "Shape",
]
