"""Numbers that no arm has, and names that are longer than their column."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.robot.model.placement import Placement
from dalembert.views.web.page_model import arm_data
from in_node import in_node

# svg that was drawn from what is no number
BROKEN = """() => [...document.querySelectorAll("svg *")].filter((each) =>
  [...each.attributes].some(({ value }) => /NaN|Infinity/.test(value))).length"""


def extreme(what: str, size: float) -> tuple[da.Arm, Any]:
    """planar-2r, or a motion of it, with one number of this size."""
    arm = da.load("planar-2r")
    if what == "motion":
        return arm, da.triangular([0.0, 0.0], [0.0, size], duration=1.0)
    joint = arm.robot.joints[0]
    joints = {
        "friction": replace(joint, friction=joint.friction.replace(viscous=size)),
        "length": replace(joint, placement=Placement(translation=(size, 0.0, 0.0))),
        "rotor": replace(joint, rotor=replace(joint.rotor, gear=size)),
        "limit": replace(joint, limits=replace(joint.limits, effort=size, velocity=size)),
    }
    if what in joints:
        return arm.replace(joints=(joints[what], *arm.robot.joints[1:])), None
    return arm.with_payload(size), None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e39, 1e160, 1e300])
@pytest.mark.parametrize("what", ["payload", "friction", "length", "rotor", "motion", "limit"])
def test_a_number_that_does_not_fit_single_precision_is_one_sentence(what: str, size: float) -> None:
    """A limit of that size is none; payloads and motions of that size are refused before there is a page."""
    if what == "limit":
        joint = arm_data(extreme(what, size)[0])["joints"][0]
        assert joint["effort"] is None and joint["velocity"] is None
        return
    allowed = r"fit single precision, at most 3e[+]38$|must be a finite number|at most 1e[+]12 in SI|within ±1e[+]30"
    with pytest.raises(DalembertError, match=allowed):
        arm, motion = extreme(what, size)
        da.write_page(os.devnull, arm, motion, overwrite=True)


@pytest.mark.parametrize("wrong", ["1e300", "-1e300", ""])
def test_a_number_that_overflows_is_marked_and_changes_nothing(wrong: str, page_of: Callable[..., Any]) -> None:
    page = page_of("planar-2r")
    page.evaluate("() => document.querySelectorAll('details').forEach((each) => (each.open = true))")
    page.get_by_label("Payload Mass (kg), exact").fill("2")
    page.wait_for_timeout(60)
    before = page.locator(".bar .value").all_inner_texts()
    for label in ("Payload x (m), exact", "Velocity of joint2, exact", "Tip wrench fx, exact"):
        box = page.get_by_label(label)
        box.fill(wrong)
        page.wait_for_timeout(60)
        assert box.get_attribute("aria-invalid") == "true"
    assert page.locator(".bar .value").all_inner_texts() == before
    assert page.evaluate(BROKEN) == 0


def test_what_is_typed_is_read_whole_or_refused(page_of: Callable[..., Any]) -> None:
    """Key by key, because a number input would drop the keys that it does not expect, and read 12,5 as 125."""
    page = page_of("planar-2r")
    box = page.get_by_label("Position of joint1, exact")
    for typed, read in (("12,5", 12.5), ("−3,5", -3.5), ("1.25e1", 12.5), (" 7 ", 7.0)):
        box.fill("")
        box.press_sequentially(typed)
        assert page.evaluate("() => dalembert.app.state.q[0]") == pytest.approx(math.radians(read))
        box.press("ArrowUp")
        box.press("Enter")
        assert float(box.input_value()) == read + 1
    for typed in ("pi/2", "1.234,5", "1,2,3", "12 5", "0x10", "1e", "−", "NaN", "Infinity"):
        box.fill("")
        box.press_sequentially(typed)
        assert box.get_attribute("aria-invalid") == "true", typed


def test_numbers_of_the_design_are_not_cut_by_their_boxes(page_of: Callable[..., Any]) -> None:
    page = page_of("puma560", viewport={"width": 360, "height": 740})
    page.get_by_role("tab", name="Design").click()
    boxes = page.locator(".design-field input.number").locator("visible=true")
    wide = "(each) => each.scrollWidth > each.clientWidth ? `${each.ariaLabel}: ${each.value}` : ''"
    assert boxes.count() > 5
    assert [cut for box in boxes.all() if (cut := box.evaluate(wide))] == []


@pytest.fixture(scope="module")
def unlimited() -> da.Arm:
    """An arm without effort limits, whose joints have long names that differ at their ends."""
    arm = da.load("planar-3r")
    joints = [
        replace(joint, name=f"shoulder_flexion_actuated_by_belt_{k}", limits=replace(joint.limits, effort=None))
        for k, joint in enumerate(arm.robot.joints)
    ]
    joints[1] = replace(joints[1], name="the_elbow_of_the_arm")
    return arm.replace(joints=tuple(joints), name="unlimited")


def test_bars_without_limits_have_one_scale(page_of: Callable[..., Any], unlimited: da.Arm) -> None:
    """The length of a bar is its torque over the end of the scale, in every joint and every state."""
    page = page_of(unlimited)
    for q, qdd in ([[0.3, 0.4, 0.5], [0.0, 0.0, 0.0]], [[1.4, 0.2, 0.1], [1.0, -2.0, 3.0]]):
        page.evaluate("([q, qdd]) => dalembert.app.change({ q, qdd })", [q, qdd])
        page.wait_for_timeout(60)
        (end,) = re.findall(r"±([\d.e+]+) N m", page.locator(".bar-scale").inner_text())
        marks = page.locator(".bar .total").evaluate_all("(lines) => lines.map((line) => +line.getAttribute('x1'))")
        expected = unlimited.inverse_dynamics(q, [0.0, 0.0, 0.0], qdd)
        assert np.abs(np.array(marks) - 320 - 320 * expected / float(end)).max() < 1e-6
        assert 0.4 < np.abs(expected).max() / float(end) <= 1.0


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_names_numbers_and_controls_are_not_cut(width: int, page_of: Callable[..., Any], unlimited: da.Arm) -> None:
    motion = da.triangular([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], duration=2.0)
    page = page_of(unlimited, motion, viewport={"width": width, "height": 844})
    page.evaluate("() => dalembert.app.changeNumbers({ gravity: [0, 0, 0] })")  # 0.000000 N m
    cut = """() => [...document.querySelectorAll(".name, .value, .clock, .check, .row > *, .transport > *, select")].filter((each) =>
      each.checkVisibility() && (each.scrollWidth > each.clientWidth + 1 && each.clientWidth && each.tagName !== "SELECT"
        || each.getBoundingClientRect().right > innerWidth + 1 || (each.matches(".check") && each.clientHeight > 40)))
      .map((each) => `${each.className} ${each.textContent}`)"""
    for tab in ("State", "Motion", "Simulate", "Design"):
        page.get_by_role("tab", name=tab).click()
        page.wait_for_timeout(60)
        assert page.evaluate(cut) == [], tab


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint"], ["shoulder_pan", "shoulder_lift", "elbow"]),
        (["panda_joint1", "panda_joint2"], ["joint1", "joint2"]),
        (["arm/a.q", "arm/b.q"], ["a", "b"]),
        (["a_joint", "a_b_joint"], ["joint", "b_joint"]),
        (["j_x", "j_x_"], ["j_x", "j_x_"]),
        (["one_joint"], ["one_joint"]),
    ],
)
def test_labels_leave_out_what_all_names_share(names: list[str], labels: list[str], tmp_path: Path) -> None:
    code = 'import { shortened } from "./robot.js";\nresult = shortened(given);'
    assert in_node(tmp_path, code, names) == labels
