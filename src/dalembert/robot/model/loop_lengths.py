"""The lengths of a closed chain as named numbers, and the robot with other ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dalembert.base.wording import nearest, some
from dalembert.errors import DalembertError
from dalembert.robot.model.loop_joints import Loop
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Frame, Joint, Robot

Part = Joint | Loop | Frame


def loop_lengths(robot: Robot) -> dict[str, float]:
    """The non-zero translations (m) of a closed chain's joints, loops and tip, by name; empty for an open chain, whose
    lengths the page changes itself.

    >>> import dalembert as da
    >>> loop_lengths(da.load("five-bar").robot)["x of joint elbow1 on the link before"]
    0.22
    """
    assert robot.tip is not None
    parts: list[Part] = [*robot.tree_joints, *robot.loops, robot.tip] if robot.loops else []
    places = [(words, getattr(part, key).translation) for part in parts for key, words in _words(part).items()]
    return {f"{x} of {words}": float(v) for words, at in places for x, v in zip("xyz", at, strict=True) if v}


def _words(part: Part) -> dict[str, str]:
    """{placement whose lengths can be changed: its name}."""
    if isinstance(part, Loop):
        return {f"placement_{k}": f"loop {part.name} on link {getattr(part, f'link_{k}')}" for k in "ab"}
    if isinstance(part, Frame):
        return {"placement": "the tip on its link"}
    return {"placement": f"joint {part.name} on the link before", "link_frame": f"link frame of joint {part.name}"}


def with_loop_lengths(robot: Robot, lengths: Mapping[str, float]) -> Robot:
    """The robot with other lengths. Masses keep their positions in the link frames."""
    known = loop_lengths(robot)
    for name in lengths:
        if name not in known:
            raise DalembertError(
                f"arm '{robot.name}' has no length called '{name}'{nearest(name, list(known))} (there are {some(list(known))})"
            )

    def moved(part: Any) -> Any:
        places = {}
        for key, words in _words(part).items():
            old = getattr(part, key)
            at = [lengths.get(f"{x} of {words}", v) for x, v in zip("xyz", old.translation, strict=True)]
            places[key] = Placement(old.rotation, at)
        return replace(part, **places)

    joints, loops = tuple(map(moved, robot.joints)), tuple(map(moved, robot.loops))
    return robot.replace(joints=joints, loops=loops, tip=moved(robot.tip))
