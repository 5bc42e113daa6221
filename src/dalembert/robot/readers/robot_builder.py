"""The robot that a reader builds from a parsed file, part by part in file order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dalembert.base.wording import errors_at, some
from dalembert.robot.model.joint_couplings import Coupling, finite
from dalembert.robot.model.multi_dof_joints import virtual_joints
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Frame, Joint, Link, Robot


class RobotBuilder:
    """The links, joints, couplings and findings of a file; ``shown`` is the number of places that a finding names."""

    def __init__(self, source: str, shown: int = 10) -> None:
        self.source, self.shown = source, shown
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        self.couplings: list[Coupling] = []
        self.sentences: list[str] = []  # notes that concern a single part
        self.ignored: dict[str, dict[str, None]] = {}  # {finding: places}, in file order
        self.left_out: dict[str, dict[str, None]] = {}

    def note(self, finding: str, place: str, torques: bool = False) -> None:
        """Add a place to a finding: something ignored, or left out of the model although ``torques`` depend on it."""
        (self.left_out if torques else self.ignored).setdefault(finding, {})[place] = None

    def add_virtual(self, whole: Joint, kind: str) -> tuple[Joint, ...]:
        """Add the joints of one variable that replace a joint of several."""
        links, joints = virtual_joints(whole, kind)
        self.links += links
        self.joints += joints
        singular = "; it is singular at pitch = ±90°, where the axes of yaw and roll coincide"
        names = [joint.name for joint in joints]
        more = singular if {f"{whole.name}/{turn}" for turn in ("yaw", "pitch", "roll")} <= set(names) else ""
        self.sentences.append(f"the {kind} joint '{whole.name}' is replaced by {', '.join(names)}{more}")
        return joints

    def add_screw(self, joint: Joint, pitch: float) -> None:
        """Add a helical joint: a revolute joint and a prismatic one that follows it, advancing by ``pitch`` (m) per turn."""
        advance = finite(pitch, "pitch", f"helical joint '{joint.name}'") / (2.0 * math.pi)
        between = Link(f"{joint.name}:turned", massless=True)
        ends = (between.name, joint.child)
        slide = Joint(f"{joint.name}:slide", "prismatic", *ends, axis=joint.axis, link_frame=joint.link_frame)
        self.joints += [replace(joint, child=between.name, link_frame=Placement()), slide]
        self.links.append(between)
        self.couplings.append(Coupling(slide.name, joint.name, advance))

    def robot(self, name: str, **fields: Any) -> Robot:
        """The robot, with the default tip unless the fields name one."""
        notes, left_out = (
            tuple(f"{finding}: {some(list(places), self.shown)}" for finding, places in findings.items())
            for findings in (self.ignored, self.left_out)
        )
        fields = {"source": self.source, "notes": (*self.sentences, *notes), "left_out": left_out} | fields
        with errors_at(self.source):
            return Robot(name, tuple(self.links), tuple(self.joints), couplings=tuple(self.couplings), **fields)

    def with_tip(self, robot: Robot, tip: str | None, sites: Sequence[Frame] | None = None) -> Robot:
        """The robot with the link or site ``tip`` as its tip, or else with a note on the default tip."""
        with errors_at(self.source):
            return robot.with_tip_note() if tip is None else robot.with_tip(tip, sites)
