"""The tree of an arm: all links and joints, those included that the cut of a closed chain leaves passive."""

from __future__ import annotations

from dalembert.arm.arm import Arm
from dalembert.robot.mechanism import Mechanism


def tree_of(arm: Arm) -> Mechanism:
    """The mechanism of all links that have parameters: of a closed chain, the tree that its cuts leave."""
    return arm.mechanism.tree


def actuated_of(arm: Arm) -> tuple[int, ...]:
    """The joints of that mechanism which q moves."""
    return tuple(arm.mechanism.actuated)
