"""Numbers that no arm has, and names that are longer than their column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from in_node import in_node

# svg that was drawn from what is no number
BROKEN = """() => [...document.querySelectorAll("svg *")].filter((each) =>
  [...each.attributes].some(({ value }) => /NaN|Infinity/.test(value))).length"""


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


def test_numbers_of_the_design_are_not_cut_by_their_boxes(page_of: Callable[..., Any]) -> None:
    page = page_of("puma560", viewport={"width": 360, "height": 740})
    page.get_by_role("tab", name="Design").click()
    boxes = page.locator(".design-field input[type=number]").locator("visible=true")
    wide = "(each) => each.scrollWidth > each.clientWidth ? `${each.ariaLabel}: ${each.value}` : ''"
    assert boxes.count() > 5
    assert [cut for box in boxes.all() if (cut := box.evaluate(wide))] == []


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
