"""Numbers that are changed on the page give the torques of the robot that has them, and the file that it saves is that robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.robot import Link
from dalembert.robot.readers.toml_writer import write_toml

TORQUES = "([q, v, a]) => Array.from(dalembert.inverse_dynamics(q, v, a))"
CHANGE = (
    "(changes) => { for (const [name, value] of Object.entries(changes)) dalembert.app.design.change(name, value); }"
)
VALUE = "(name) => dalembert.app.design.design.value(name)"
ARMS = ["planar-2r", "puma560", "panda", "stanford", "scara", "parallelogram", "five-bar", "palletizer"]


def states(arm: da.Arm) -> list[list[list[float]]]:
    rng = np.random.default_rng(1)
    home = np.asarray(arm.home)
    return [
        [(home + rng.uniform(-0.3, 0.3, arm.n)).tolist(), *rng.uniform(-1, 1, (2, arm.n)).tolist()] for _ in range(5)
    ]


def agrees(page: Any, arm: da.Arm) -> bool:
    """Whether page and arm give the same torques."""
    differences = []
    for state in states(arm):
        expected = arm.inverse_dynamics(*map(np.array, state))
        differences.append(np.abs(page.evaluate(TORQUES, state) - expected).max() / max(np.abs(expected).max(), 1e-9))
    return max(differences) < 1e-9


def names_of(arm: da.Arm) -> list[str]:
    """All numbers that can be changed."""
    kinds = ["m", "cx", "cy", "cz", "Fv"] + ([] if arm.loops else ["px", "py", "pz", "lx", "ly", "lz"])
    names = [f"{kind}_{i}" for i in range(arm.mechanism.tree.n) for kind in kinds]
    for i, joint in enumerate(arm.robot.tree_joints):
        names += [f"Im_{i}", f"k_{i}"] if joint.rotor is not None else []
        names += [f"Fs_{i}"] if joint.name in arm.joint_names else []
    return [*names, "gx", "gy", "gz"] + ([] if arm.loops else ["tx", "ty", "tz"])


def saved(page: Any, folder: Path) -> da.Arm:
    page.get_by_role("tab", name="Design").click()
    with page.expect_download() as waited:
        page.get_by_role("button", name="Save the robot as TOML").click()
    waited.value.save_as(folder / waited.value.suggested_filename)
    return da.load(folder / waited.value.suggested_filename)


@pytest.mark.parametrize("name", ARMS)
def test_a_robot_with_every_number_changed_is_the_robot_that_it_saves(
    name: str, page_of: Callable[..., Any], tmp_path: Path
) -> None:
    arm, page, rng = da.load(name), page_of(name), np.random.default_rng(2)
    changes = {}
    for key in names_of(arm):
        own = page.evaluate(VALUE, key)
        low = 1.0 if key.startswith("F") else 0.8  # levels that differ by direction have a least mean
        changes[key] = own * rng.uniform(low, 1.3) if own else rng.uniform(0.0, 0.05)
    page.evaluate(CHANGE, changes)
    assert not agrees(page, arm)
    assert agrees(page, saved(page, tmp_path))


@pytest.mark.parametrize("kind", ["m", "cx", "px", "lz", "Im", "k", "Fv", "Fs", "gx", "tx"])
def test_a_robot_with_one_number_changed_is_the_robot_that_it_saves(
    kind: str, page_of: Callable[..., Any], tmp_path: Path
) -> None:
    """Each kind of change by itself, with all else of the file as it was."""
    page = page_of("puma560")
    name = kind if kind[0] in "gt" else f"{kind}_2"
    page.evaluate(CHANGE, {name: 1.5 * page.evaluate(VALUE, name) + 0.01})
    changed = saved(page, tmp_path)
    assert agrees(page, changed)
    assert not agrees(page, da.load("puma560")) or kind == "tx"


def test_a_robot_that_is_not_changed_is_saved_as_it_was(page_of: Callable[..., Any]) -> None:
    page, arm = page_of("planar-2r"), da.load("planar-2r")
    page.evaluate(CHANGE, {"m_0": 3.0, "k_1": -20.0})
    page.get_by_role("tab", name="Design").click()
    page.get_by_role("button", name="Reset all").click()
    assert page.evaluate("() => dalembert.app.design.toml()") == write_toml(arm.robot)
    assert agrees(page, arm)


def test_a_mass_scales_its_link(page_of: Callable[..., Any]) -> None:
    """Its centre of mass stays, and its inertia grows with it."""
    page, arm = page_of("planar-2r"), da.load("planar-2r")
    page.get_by_role("tab", name="Design").click()
    page.get_by_label("Link", exact=True).select_option("1")
    page.get_by_label("Mass, exact").locator("visible=true").fill("75")
    links = [
        link if link.name != "link2"
        else Link("link2", replace(link.inertia, mass=75.0, tensor=1.5 * link.inertia.tensor))
        for link in arm.robot.links
    ]  # fmt: skip
    assert agrees(page, arm.replace(links=tuple(links)))


def test_gears_and_rotors_are_those_of_the_joint(page_of: Callable[..., Any]) -> None:
    """A rotor that is not reflected also turns with the link that carries it; a motor's friction grows with its gear."""
    page, arm = page_of("planar-2r"), da.load("planar-2r")
    page.evaluate(CHANGE, {"k_0": 60.0, "k_1": -130.0, "Im_1": 0.03})
    first, second = arm.robot.joints
    joints = (
        replace(first, rotor=replace(first.rotor, gear=60.0)),
        replace(second, rotor=replace(second.rotor, gear=-130.0, inertia=0.03)),
    )
    assert agrees(page, arm.replace(joints=joints))
    assert agrees(page, arm.variants(gears=[60.0, -130.0], parameters=arm.replace(joints=joints).parameters))
    page, puma = page_of("puma560"), da.load("puma560")
    page.evaluate(CHANGE, {"k_3": 1.5 * page.evaluate(VALUE, "k_3")})
    moving = [joint for joint in puma.robot.joints if joint.moves]
    motor = replace(moving[3].rotor, gear=1.5 * moving[3].rotor.gear)
    other = puma.replace(
        joints=tuple(replace(joint, rotor=motor) if joint is moving[3] else joint for joint in puma.robot.joints)
    )
    forward, backward = other.mechanism.bodies[3].coulomb
    assert page.evaluate(VALUE, "Fv_3") == pytest.approx(other.mechanism.bodies[3].viscous, rel=1e-12)
    assert page.evaluate(VALUE, "Fs_3") == pytest.approx(0.5 * (forward + backward), rel=1e-12)


def test_changed_fields_are_marked_and_go_back_one_by_one(page_of: Callable[..., Any]) -> None:
    page, arm = page_of("panda"), da.load("panda")
    page.get_by_role("tab", name="Design").click()
    row = page.locator(".design-field", has=page.get_by_label("Mass", exact=True)).first
    page.get_by_label("Mass, exact").first.fill("9")
    assert "changed" in row.get_attribute("class") and not agrees(page, arm)
    assert page.locator(".changes").inner_text() == "1 parameter changed."
    row.get_by_label("Reset Mass").click()
    assert "changed" not in row.get_attribute("class") and agrees(page, arm)
    page.get_by_label("Mass, exact").first.fill("-3")
    assert page.get_by_label("Mass, exact").first.get_attribute("aria-invalid") == "true" and agrees(page, arm)


def test_the_inertia_matrix_is_shown_with_its_condition(page_of: Callable[..., Any]) -> None:
    page, arm = page_of("panda"), da.load("panda")
    page.get_by_role("tab", name="Design").click()
    page.wait_for_timeout(60)
    B = arm.inertia_matrix(page.evaluate("() => Array.from(dalembert.app.state.q)"))
    shown = [float(text.replace("−", "-")) for text in page.locator(".heat td[aria-label]").all_inner_texts()]
    assert np.allclose(shown, B.ravel(), rtol=6e-3, atol=1e-12)
    number = float(page.locator(".condition").inner_text().split()[2].rstrip(";"))
    assert number == pytest.approx(np.linalg.cond(B), rel=6e-3)


def test_the_coupling_vanishes_at_the_decoupling_condition(page_of: Callable[..., Any]) -> None:
    """S 7.3.3: ℓ_3' = a_1' + a_1' ℓ_2' m_2' / (a_1'' m_3'), 0.0625 m beyond Joint 4; then b_12 is zero in every posture."""
    page = page_of("parallelogram")
    page.get_by_role("tab", name="Design").click()
    coupling = "(q) => dalembert.robot.inertiaMatrix(q)[1]"
    postures = [[0.2, 1.0], [0.5, 2.0], [-0.3, 1.4]]
    before = [abs(page.evaluate(coupling, q)) for q in postures]
    page.locator(".mark").click()
    assert page.evaluate(VALUE, "cx_2") == pytest.approx(0.0625, abs=1e-12)
    assert all(abs(page.evaluate(coupling, q)) < 1e-12 * b for q, b in zip(postures, before, strict=True))
    assert "it is zero at 0.0625 m" in page.locator(".coupling").inner_text()
    page.evaluate(CHANGE, {"m_1": 8.0})  # the place moves with the other numbers of the condition
    page.wait_for_timeout(60)
    assert "it is zero at 0.1 m" in page.locator(".coupling").inner_text()


def test_a_robot_without_a_file_says_why(page_of: Callable[..., Any]) -> None:
    page = page_of(da.load("planar-2r").approximate(drop=("coriolis",)))
    page.get_by_role("tab", name="Design").click()
    save = page.get_by_role("button", name="Save the robot as TOML")
    assert save.is_disabled() and "approximate model" in save.get_attribute("title")
