"""Motors that move several joints, as joints of their own: the step of loading that turns named motors into joints.

A motor named by a :class:`~dalembert.robot.model.joint_couplings.Coupling` becomes a joint of the tree with a massless
link, which the coupled joints follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dalembert.base.wording import shown
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.joint_couplings import Coupling, coupled, unknown_joint
from dalembert.robot.model.placement import Placement

if TYPE_CHECKING:
    from dalembert.robot.model.robot import Joint, Link


def with_motors(
    links: Sequence[Link], joints: Sequence[Joint], couplings: Sequence[Coupling]
) -> tuple[tuple[Link, ...], tuple[Joint, ...], tuple[Coupling, ...]]:
    """Links, joints and couplings, extended by a joint and a massless link for every motor named in the couplings.

    Motor k is mounted on the link that carries joint k, precedes this joint, and takes over its rotor.
    """
    every_link, every_joint, on_motors = list(links), list(joints), []
    if isinstance(couplings, Coupling) or not all(isinstance(x, Coupling) for x in couplings):
        raise RobotError(f"a robot has couplings = {shown(couplings)}; it must be a list of Coupling")
    for coupling in couplings:
        for k, motor in enumerate(coupling.motors):
            name = coupling.joints[k]
            place = next((i for i, joint in enumerate(every_joint) if joint.name == name), None)
            if place is None:
                raise RobotError(f"{coupled(coupling.joints)}: {unknown_joint(name, [joint.name for joint in joints])}")
            joint, link = every_joint[place], every_link[0]
            body = f"{motor}:rotor"
            every_link.append(replace(link, name=body, inertia=Inertia(), physical=True, massless=True, weight=1.0))
            limits = coupling.limits[k] if coupling.limits else type(joint.limits)()
            turns = replace(joint, name=motor, child=body, offset=0.0, link_frame=Placement(), limits=limits)
            undriven = replace(joint, rotor=None, motor=None, gear=None)
            every_joint[place : place + 1] = [replace(turns, friction=type(joint.friction)()), undriven]
        on_motors.append(replace(coupling, of=coupling.motors, motors=(), limits=()) if coupling.motors else coupling)
    return tuple(every_link), tuple(every_joint), tuple(on_motors)
