"""The default tip: the step of loading that chooses the link of the end effector where a file names none."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from dalembert.base.wording import some
from dalembert.robot.model.loop_joints import path_to
from dalembert.robot.model.robot_notes import Note

if TYPE_CHECKING:
    from dalembert.robot.model.robot import Joint, Robot

# common names of the frame at which a tool is held, most likely first
TOOL_FRAMES = ("tcp", "tool0", "ee", "eef", "tool", "flange", "grasp", "effector", "gripper", "hand")
FINGER = re.compile("finger|thumb|jaw|knuckle")
SENSOR = re.compile("camera|sensor|imu|lidar|laser|optical|depth")
ARM = 3  # joints: a chain with fewer that carries a finger is an arm only if it has the name of a tool


def leaves_of(robot: Robot) -> list[str]:
    """The links without children, in file order."""
    parents = {joint.parent for joint in robot.joints}
    return [link.name for link in robot.links if link.name not in parents]


def default_tip(robot: Robot) -> str:
    """The default link of the tip.

    It is the leaf behind the most moving joints. If there are several, the path to them is followed up to where it
    branches into fingers, that is, branches with fewer joints than the path to them. The tip is then the link that
    carries the fingers, or a frame fixed to it with the name of a tool frame. A link that is moved by a coupling or
    called a finger is not chosen if there is another; nor is a sensor, in whose place the link that carries it is
    chosen.
    """
    root = robot.root
    led = {name: coupling.of for coupling in robot.couplings for name in coupling.joints}
    above = {joint.child: joint for joint in robot.joints}
    count, follows, free = {root: 0}, {root: False}, {root: 0}
    bodies = {link.name for link in robot.links if not link.massless}
    moving_bodies = {joint.name for joint in robot.joints if joint.child in bodies}
    for joint in robot.joints:
        count[joint.child] = count[joint.parent] + joint.moves
        # a joint that follows one of another branch belongs to a finger; one that follows its predecessor does not
        leaders = moving_bodies.intersection(led.get(joint.name, ()))
        aside = bool(leaders) and not leaders <= {before.name for before in path_to(robot, joint.child)}
        follows[joint.child] = follows[joint.parent] or aside
        free[joint.child] = free[joint.parent] + (joint.moves and joint.name not in led and joint.child in bodies)
    leaves = leaves_of(robot)
    most = max(count[name] for name in leaves)
    last = [name for name in leaves if count[name] == most]
    unique = len(last) == 1 and not follows[last[0]]
    end_link = last[0] if unique else _hand_of(robot, leaves, above, free, follows)
    carrier = end_link
    while SENSOR.search(carrier.lower()) and carrier in above and not above[carrier].moves:
        carrier = above[carrier].parent
    if carrier != end_link:
        end_link = _tool_frame(robot, carrier, above)
    hand = end_link
    while hand in above and (FINGER.search(hand.lower()) or (above[hand].moves and _grips(above[hand].name))):
        hand = above[hand].parent
    tool = _tool_frame(robot, hand, above)
    an_arm = free[hand] >= ARM or (free[hand] > 0 and _tool_rank(tool) < len(TOOL_FRAMES))
    return tool if count[hand] < count[end_link] and an_arm else end_link


def _grips(joint: str) -> bool:
    """Whether a joint is called just a gripper, such as "jointGripper"; "gripper_yaw" rotates a whole gripper."""
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", joint)}
    return "gripper" in words and words <= {"gripper", "joint", "left", "right", "motor", "servo"}


def _hand_of(
    robot: Robot, leaves: list[str], above: dict[str, Joint], free: dict[str, int], follows: dict[str, bool]
) -> str:
    """The link behind which only fingers move; if no branch is a finger, the leaf behind the most joints."""
    most = max(free.values())
    ends = (
        [name for name in leaves if free[name] == most and not follows[name]]
        or [name for name in free if free[name] == most and not follows[name]][-1:]
        or [name for name in leaves if free[name] == most]  # behind a screw, all links are moved by a coupling
        or leaves
    )
    end = min(ends, key=lambda name: _tool_rank(name) == len(TOOL_FRAMES))  # the first with the name of a tool
    deepest, branches, moves = dict(free), defaultdict[str, list[str]](list), set[str]()
    for joint in reversed(robot.joints):  # children before their parents
        deepest[joint.parent] = max(deepest[joint.parent], deepest[joint.child])
        if joint.moves or joint.child in moves:
            branches[joint.parent].append(joint.child)
            moves.add(joint.parent)
    for link in (robot.root, *(joint.child for joint in path_to(robot, end))):
        if len(branches[link]) > 1 and all(deepest[child] - free[link] < free[link] for child in branches[link]):
            return _tool_frame(robot, link, above)
    return end


def _tool_frame(robot: Robot, link: str, above: dict[str, Joint]) -> str:
    """A leaf that is fixed to the link and has the name of a tool frame, or else the link itself."""
    base = link
    while base in above and not above[base].moves:
        base = above[base].parent
    fixed = {base}
    for joint in robot.joints:
        if joint.parent in fixed and not joint.moves:
            fixed.add(joint.child)
    frames = [leaf for leaf in leaves_of(robot) if leaf in fixed]
    frame = min(frames, key=_tool_rank, default=link)
    return frame if _tool_rank(frame) < len(TOOL_FRAMES) else link


def _tool_rank(link: str) -> int:
    """The index of a link's name in :data:`TOOL_FRAMES`; fingers and sensors have none."""
    if FINGER.search(link.lower()) or SENSOR.search(link.lower()):
        return len(TOOL_FRAMES)
    words = set(re.findall(r"[a-z0-9]+", link.lower()))
    return next((k for k, word in enumerate(TOOL_FRAMES) if word in words), len(TOOL_FRAMES))


def tip_note(robot: Robot) -> Note | None:
    """The note that names the default tip; None if no other link is possible."""
    assert robot.tip is not None
    leaves = leaves_of(robot)
    if leaves == [robot.tip.link] and not FINGER.search(robot.tip.link.lower()):
        return None
    among = f", one of {some(leaves)}" if len(leaves) > 1 else ", which seems to be part of a gripper"
    words = f"the file names no tip; the default is link '{robot.tip.link}'{among}; choose another with tip= (--tip)"
    return Note(words, "tip")
