"""The lengths of a closed chain as named numbers, and the robot with other ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dalembert.base.tables.wording import nearest, some
from dalembert.errors import DalembertError
from dalembert.robot.model.loop_joints import Loop
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Joint, Robot

AXES = "xyz"
# the placements whose lengths can be changed, and their names
OF_JOINT = {"placement": "joint {} on the link before", "link_frame": "link frame of joint {}"}
OF_LOOP = {"placement_a": "loop {} on link {}", "placement_b": "loop {} on link {}"}
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
    for joint in robot.tree_joints:
        for name, words in OF_JOINT.items():
            lengths |= _nonzero(words.format(joint.name), getattr(joint, name))
    for loop in robot.loops:
        for name, words in OF_LOOP.items():
            link = loop.link_a if name == "placement_a" else loop.link_b
            lengths |= _nonzero(words.format(loop.name, link), getattr(loop, name))
    assert robot.tip is not None
    return lengths | _nonzero(OF_TIP, robot.tip.placement)


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

    def joint(old: Joint) -> Joint:
        before, after = (words.format(old.name) for words in OF_JOINT.values())
        return replace(
            old, placement=_moved(old.placement, before, lengths), link_frame=_moved(old.link_frame, after, lengths)
        )

    def loop(old: Loop) -> Loop:
        a, b = (
            words.format(old.name, link) for words, link in zip(OF_LOOP.values(), (old.link_a, old.link_b), strict=True)
        )
        return replace(
            old, placement_a=_moved(old.placement_a, a, lengths), placement_b=_moved(old.placement_b, b, lengths)
        )

    assert robot.tip is not None
    tip = replace(robot.tip, placement=_moved(robot.tip.placement, OF_TIP, lengths))
    return robot.replace(joints=tuple(map(joint, robot.joints)), loops=tuple(map(loop, robot.loops)), tip=tip)


def _moved(placement: Placement, words: str, lengths: Mapping[str, float]) -> Placement:
    names = [f"{x} of {words}" for x in AXES]
    if not set(names) & set(lengths):
        return placement
    translation = [lengths.get(name, float(v)) for name, v in zip(names, placement.translation, strict=True)]
    return Placement(placement.rotation, tuple(translation))
