"""The lengths of a closed chain as named numbers, and the robot with other ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dalembert.base.wording import nearest, some
from dalembert.errors import DalembertError
from dalembert.robot.model.loop_joints import Loop
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Joint, Robot

AXES = "xyz"
OF_TIP = "the tip on its link"


def loop_lengths(robot: Robot) -> dict[str, float]:
    """The non-zero translations (m) of a closed chain's joints, loops and tip, by name; empty for an open chain, whose
    lengths the page changes itself.

    >>> import dalembert as da
    >>> loop_lengths(da.load("five-bar").robot)["x of joint elbow1 on the link before"]
    0.22
    """
    if not robot.loops:
        return {}
    lengths: dict[str, float] = {}
    parts: list[Joint | Loop] = [*robot.tree_joints, *robot.loops]
    for part in parts:
        for name, words in _words(part).items():
            lengths |= _nonzero(words, getattr(part, name))
    assert robot.tip is not None
    return lengths | _nonzero(OF_TIP, robot.tip.placement)


def _words(part: Joint | Loop) -> dict[str, str]:
    """{placement whose lengths can be changed: its name}."""
    if isinstance(part, Loop):
        return {f"placement_{k}": f"loop {part.name} on link {getattr(part, f'link_{k}')}" for k in "ab"}
    return {"placement": f"joint {part.name} on the link before", "link_frame": f"link frame of joint {part.name}"}


def _nonzero(words: str, placement: Placement) -> dict[str, float]:
    return {f"{x} of {words}": float(v) for x, v in zip(AXES, placement.translation, strict=True) if v}


def with_loop_lengths(robot: Robot, lengths: Mapping[str, float]) -> Robot:
    """The robot with other lengths. Masses keep their positions in the link frames."""
    known = loop_lengths(robot)
    for name in lengths:
        if name not in known:
            raise DalembertError(
                f"arm '{robot.name}' has no length called '{name}'{nearest(name, list(known))} (there are {some(list(known))})"
            )

    def moved(part: Any) -> Any:
        places = {name: _moved(getattr(part, name), words, lengths) for name, words in _words(part).items()}
        return replace(part, **places)

    assert robot.tip is not None
    tip = replace(robot.tip, placement=_moved(robot.tip.placement, OF_TIP, lengths))
    return robot.replace(joints=tuple(map(moved, robot.joints)), loops=tuple(map(moved, robot.loops)), tip=tip)


def _moved(placement: Placement, words: str, lengths: Mapping[str, float]) -> Placement:
    names = [f"{x} of {words}" for x in AXES]
    if not set(names) & set(lengths):
        return placement
    translation = [lengths.get(name, float(v)) for name, v in zip(names, placement.translation, strict=True)]
    return Placement(placement.rotation, tuple(translation))
