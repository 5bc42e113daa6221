"""The robot model: links, joints, inertias and drives, read from files or tables, checked and immutable."""

from dalembert.robot.model.robot import (
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
