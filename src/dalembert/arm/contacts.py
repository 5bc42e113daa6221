"""Frames on any link: those at which wrenches act on the environment, and those whose poses are requested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.base.arrays import real
from dalembert.base.wording import shown
from dalembert.compiler.foreign.libraries import common_library, joined_last
from dalembert.errors import DalembertError, ShapeError
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.robot.model.mechanism import places
from dalembert.robot.model.robot import Frame, Robot

TIP = "tip"  # the name of the end effector's frame, whatever the robot calls it


def frame_of(robot: Robot, name: Any) -> Frame:
    """The frame of the tip, or of a link, by name."""
    assert robot.tip is not None
    if not isinstance(name, str):
        raise DalembertError(f"a frame is given as {shown(name)}; it must be the name of a link, or 'tip'")
    if name in (TIP, robot.tip.name) and name not in {link.name for link in robot.links}:
        return robot.tip
    return Frame(name, robot.link(name).name)  # an unknown name is an error that lists the links


def with_contacts(mechanism: AnyMechanism, robot: Robot, names: Sequence[str]) -> AnyMechanism:
    """The mechanism whose wrenches act at these frames, in this order."""
    at, contacts = places(robot), []
    for name in names:
        frame = frame_of(robot, name)
        body, stands = at[frame.link]
        contacts.append((body, stands @ frame.placement))
    tree: Any = replace(mechanism.tree, contacts=tuple(contacts))
    return mechanism.with_tree(tree)


def all_wrenches(tip_wrench: Any, wrenches: Any) -> dict[str, Any]:
    """The wrench at the tip, if there is one, and the wrenches at links, by the names of their frames."""
    if not isinstance(wrenches, Mapping):
        raise DalembertError(
            f"wrenches is {shown(wrenches)}; it must be a dict of link names and the wrenches that the links exert, "
            "like {'forearm': [fx, fy, fz, mx, my, mz]}"
        )
    tip = {} if tip_wrench is None else {TIP: tip_wrench}
    if tip and TIP in wrenches:
        raise DalembertError("the wrench at the tip is given twice, as tip_wrench and in wrenches; remove one of them")
    return {**tip, **wrenches}


def side_by_side(wrenches: Mapping[str, Any]) -> Any:
    """Wrenches (…, 6) of any library as one array (…, 6k); their leading axes broadcast."""
    library = common_library(wrenches.values())
    arrays = {
        name: value
        if library is not None and not isinstance(value, (list, tuple))
        else real(f"the wrench at '{name}'", value)
        for name, value in wrenches.items()
    }
    for name, array in arrays.items():
        if array.ndim == 0 or array.shape[-1] != 6:
            raise ShapeError(
                f"the wrench at '{name}' has shape {tuple(array.shape)}; it must be (…, 6): force and moment, "
                "[fx fy fz mx my mz]"
            )
    try:
        np.broadcast_shapes(*(tuple(array.shape[:-1]) for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"'{name}' {tuple(array.shape)}" for name, array in arrays.items())
        raise ShapeError(f"the leading axes of the wrenches do not broadcast: {shapes}") from None
    return joined_last(list(arrays.values()))
