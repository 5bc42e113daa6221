"""Paths through the tree of joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dalembert.robot.model.robot import Joint, Robot


def path_to(robot: Robot, link: str) -> list[Joint]:
    """The joints from the root to a link."""
    above = {joint.child: joint for joint in robot.joints}
    path: list[Joint] = []
    while link in above:
        path.append(above[link])
        link = above[link].parent
    return path[::-1]


def links_behind(robot: Robot, link: str) -> set[str]:
    """A link and all links in its sub-tree."""
    links = {link}
    for joint in robot.joints:  # parents precede children
        if joint.parent in links:
            links.add(joint.child)
    return links
