"""An arm does not change, lists what is for users, and knows the names that other libraries use."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.arm.names import INTERNAL, OTHER_NAMES
from dalembert.errors import RobotError

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text(encoding="utf-8")
CHANGED = {"gravity": "arm.replace(gravity=…)", "payload": "arm.with_payload(mass, com)", "n": "arm.replace(…)",
           "parameters": "arm.variants(parameters=…)", "robot": "arm.replace(…)", "tool": "arm.replace(…)"}  # fmt: skip


class Tooled(da.Arm):
    tool: str | None = None

    def __init__(self, name: str, tool: str) -> None:
        super().__init__(da.load(name).robot)
        self.tool = tool


@pytest.mark.parametrize("name", CHANGED)
def test_an_arm_refuses_assignment_and_names_the_call(name: str) -> None:
    arm = da.load("planar-2r")
    before = arm.gravity_torque([0.3, 0.8])
    for owner in (arm, arm.variants(gravity=[0.0, 0.0, -1.0])):
        with pytest.raises(AttributeError, match=re.escape(CHANGED[name])):
            setattr(owner, name, 3)
        with pytest.raises(AttributeError, match="cannot be set"):
            delattr(owner, name)
    with pytest.raises(ValueError, match="read-only"):
        arm.home[0] = 1.0
    assert np.array_equal(arm.gravity_torque([0.3, 0.8]), before)


def test_a_subclass_has_attributes_of_its_own_and_is_pickled_as_itself() -> None:
    arm = Tooled("planar-2r", "gripper")
    assert arm.n == 2  # a cached property is not an attribute of the subclass
    for other in (pickle.loads(pickle.dumps(arm)), copy.deepcopy(arm)):
        assert type(other) is Tooled and other.tool == "gripper" and other == arm
    with pytest.raises(AttributeError, match=r"arm\.replace\(gravity=…\)"):
        arm.gravity = (0, 0, 0)  # type: ignore[misc]


def test_dir_lists_what_is_for_users() -> None:
    arm = da.load("planar-2r")
    for listed in ({*dir(arm)}, {*dir(da.Arm)} | {"robot"}, {*dir(arm.variants())}):
        assert not listed & (INTERNAL | OTHER_NAMES.keys()) and {"inverse_dynamics", "robot", "joint_names"} <= listed
    with pytest.raises(AttributeError, match=r"'rnea'; use arm\.inverse_dynamics\(q, qd, qdd\)"):
        da.rnea  # noqa: B018
    assert {name for name in dir(da) if not name.startswith("__")} == {*da.__all__}


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_a_name_of_another_library_answers_with_ours(name: str) -> None:
    arm, call = da.load("planar-2r"), OTHER_NAMES[name]
    for owner in (arm, da.Arm):
        with pytest.raises(AttributeError, match=f"'{name}'; use {re.escape(call)}"):
            getattr(owner, name)
    for owner_name, ours in re.findall(r"\b(arm|da)\.(\w+)", call):
        assert hasattr(arm if owner_name == "arm" else da, ours)


def test_the_names_are_those_of_the_page() -> None:
    """Wherever coming-from.md translates one call into one method, the error names the same method."""
    rows = re.findall(r"^\| `(?:pin|robot)\.(\w+)\([^`]*\)` \| `(?:arm|da)\.(\w+)[^`]*`[^|]*\|", PAGE, re.MULTILINE)
    kept = {theirs: ours for theirs, ours in rows if ours != "load" and not hasattr(da.Arm, theirs)}
    assert len(kept) > 15
    for theirs, ours in kept.items():
        assert re.search(rf"\.{ours}\b", OTHER_NAMES.get(theirs, "")), theirs


@pytest.mark.parametrize("robot", [None, "planar-2r", 3])
def test_an_arm_of_something_else_is_one_sentence(robot: object) -> None:
    with pytest.raises(RobotError, match=r"da\.load\(…\) takes the name of a shipped arm"):
        da.Arm(robot)  # type: ignore[arg-type]
    with pytest.raises(RobotError, match=r"arguments is .*; it must map names to values"):
        da.load("panda", arguments=robot or [1])  # type: ignore[arg-type]


def test_a_second_positional_argument_of_friction_torque_is_deprecated() -> None:
    """It is q, where every other method takes q first: ``friction_torque(q, qd)`` computed friction at the velocity q."""
    arm = da.load("puma560")
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 6))
    expected = arm.friction_torque(qd, q=q)
    for given in (q, q.tolist()):
        with pytest.warns(DeprecationWarning, match=r"q by keyword, friction_torque\(qd, q=q\)") as caught:
            assert np.array_equal(arm.friction_torque(qd, given), expected)
        assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"friction_torque\(qd, q=q, load=load\)"):
        arm.friction_torque(qd, q, 0 * q)
