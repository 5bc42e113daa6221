"""Robots within tolerances: each sample is the arm that its numbers say, and the same seed draws the same robots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dalembert as da

MOTION = da.triangular([0.1, -0.2], [1.0, 0.8], duration=1.0)
ALL = {
    "mass": 0.05, "com": [0.01, 0.02], "inertia": 0.1, "rotor": 0.1, "viscous": 0.3, "coulomb": 0.4,
    "payload": (1.0, 3.0), "payload_com": 0.05,
}  # fmt: skip


@pytest.fixture(scope="module")
def arm():
    friction = da.Friction(viscous=2.0, coulomb=3.0)
    plain = da.load("planar-2r")
    return plain.replace(joints=tuple(replace(joint, friction=friction) for joint in plain.robot.joints))


@pytest.fixture(scope="module")
def drawn(arm):
    return da.monte_carlo(arm, MOTION, ALL, samples=300, seed=3)


def test_a_sample_is_the_arm_that_its_numbers_say(arm):
    """Rebuilt link by link from what was drawn, without kernels that take parameters."""
    plain = arm.replace(joints=tuple(replace(joint, rotor=None) for joint in arm.robot.joints))
    some = da.monte_carlo(plain, MOTION, {**ALL, "rotor": 0.0}, samples=8)
    factor = dict(zip(some.names, some.drawn[7], strict=True))
    joints, links = [], {link.name: link for link in plain.robot.links}
    for joint in plain.robot.joints:
        of = {name.partition(",")[0]: value for name, value in factor.items() if name.endswith(f", {joint.name}")}
        link = links[joint.child].inertia
        c = [x + of[f"{axis} of the centre of mass"] for axis, x in zip("xyz", link.com, strict=True)]
        tensor = of["mass"] * of["inertia"] * np.array(link.tensor)
        links[joint.child] = da.Link(joint.child, da.Inertia(of["mass"] * link.mass, c, tensor), physical=False)
        friction = da.Friction(viscous=2.0 * of["viscous friction"], coulomb=3.0 * of["Coulomb friction"])
        joints.append(replace(joint, friction=friction))
    at = [factor[f"{axis} of the centre of mass of the payload"] for axis in "xyz"]
    one = plain.replace(links=tuple(links.values()), joints=tuple(joints)).with_payload(factor["payload (kg)"], at)
    alone = da.size(one, MOTION).torque
    np.testing.assert_allclose(some.peak[7], alone.peak, rtol=1e-12)
    np.testing.assert_allclose(some.rms[7], alone.rms, rtol=1e-12)


def test_rotors_vary_with_their_tolerance(arm):
    some = da.monte_carlo(arm, MOTION, {"rotor": 0.2}, samples=4)
    varied = arm.variants(parameters=arm.scaled_parameters(rotor=some.drawn)[:, None])
    tau = varied.inverse_dynamics(*MOTION(np.unique(np.concatenate([MOTION.t, [0.5 - 1e-9]]))))
    np.testing.assert_allclose(some.peak, np.abs(tau).max(axis=1), rtol=1e-9)


def test_the_same_seed_draws_the_same_robots(arm, drawn):
    again = da.monte_carlo(arm, MOTION, ALL, samples=260, seed=3)
    assert np.array_equal(again.peak, drawn.peak[:260]) and np.array_equal(again.drawn, drawn.drawn[:260])
    assert not np.array_equal(da.monte_carlo(arm, MOTION, ALL, samples=5, seed=4).peak, drawn.peak[:5])


def test_nothing_varies_without_tolerances(arm):
    same = da.monte_carlo(arm, MOTION, {}, samples=3)
    np.testing.assert_allclose(same.peak, np.broadcast_to(same.nominal_peak, (3, 2)), rtol=1e-12)
    np.testing.assert_allclose(same.rms, np.broadcast_to(da.size(arm, MOTION).torque.rms, (3, 2)), rtol=1e-9)


def test_draws_keep_their_tolerances(drawn, arm):
    mass = drawn.drawn[:, [k for k, name in enumerate(drawn.names) if name.startswith("mass")]]
    assert 0.95 <= mass.min() < 0.96 and 1.04 < mass.max() <= 1.05
    payload = drawn.drawn[:, drawn.names.index("payload (kg)")]
    assert 1.0 <= payload.min() < 1.1 and 2.9 < payload.max() <= 3.0
    normal = da.monte_carlo(arm, MOTION, {"mass": 0.1, "distribution": "normal"}, samples=2000).drawn
    assert abs(normal.std() - 0.05) < 0.002 and abs(normal - 1).max() < 0.1501


def test_margins_and_causes(drawn):
    assert (drawn.margin(0.99) <= drawn.margin(0.5)).all()
    assert drawn.causes(0)[0][0] == "mass, joint2" and drawn.causes(0)[0][1] > 0.5
    assert drawn.exceeded.max() == 0 and "margin" in repr(drawn)
    assert len(str(drawn).splitlines()) == 4 and drawn.table()[1]["joint"] == drawn.joints[1]


@pytest.mark.parametrize(
    ("tolerances", "says"),
    [
        ({"masss": 0.1}, "tolerances has 'masss'; it may have mass"),
        ({"mass": 5}, "0.05 is 5 %"),
        ({"mass": -0.1}, "finite and ≥ 0"),
        ({"payload": (2, 1)}, r"it must be \(least, most\) in kg"),
        ({"mass": [0.1, 0.1, 0.1]}, "has 3 numbers, but arm 'planar-2r' has 2 joints with parameters"),
        ({"distribution": "cauchy"}, "'uniform' or 'normal'"),
        (0.1, "it must be a dict"),
    ],
)
def test_mistakes_are_named(arm, tolerances, says):
    with pytest.raises(da.DalembertError, match=says):
        da.monte_carlo(arm, MOTION, tolerances, samples=10)


@pytest.mark.parametrize(("share", "of"), [(1.5, "peak"), (float("nan"), "peak"), (0.5, "mean")])
def test_quantiles_of_what_was_drawn_only(drawn, share, of):
    with pytest.raises(da.DalembertError, match=r"share is|of is"):
        drawn.quantile(share, of)


@pytest.mark.parametrize("seed", [-1, "x", 1.5, None])
def test_a_seed_is_a_whole_number(arm, seed):
    with pytest.raises(da.DalembertError, match=r"seed is .*; it must be a whole number, 0 or more"):
        da.monte_carlo(arm, MOTION, {"mass": 0.1}, samples=10, seed=seed)


def test_a_tolerance_of_what_is_not_there_is_said():
    with pytest.raises(da.DalembertError, match="arm 'pendulum' has no coulomb friction"):
        da.monte_carlo(da.load("pendulum"), da.polynomial([0.0], [1.0], 1.0), {"coulomb": 0.3})


def test_closed_chains_are_drawn_too():
    arm = da.load("parallelogram")
    motion = da.triangular(arm.home, arm.home + 0.2, duration=1.0)
    some = da.monte_carlo(arm, motion, {"mass": 0.1}, samples=20)
    assert some.drawn.shape == (20, 4) and some.peak.std(axis=0).min() > 0


def test_a_motion_carries_its_events(arm):
    cycle = MOTION.with_payload(4.0) + MOTION.reversed().with_tip_wrench([0, 50, 0, 0, 0, 0])
    still, demand = da.monte_carlo(arm, cycle, {}, samples=2), da.size(arm, cycle).torque
    for found in (still.peak[1], still.nominal_peak):
        np.testing.assert_allclose(found, demand.peak, rtol=1e-12)
    heavier = da.monte_carlo(arm, cycle, {"payload": (3.0, 3.0)}, samples=2)
    seven = MOTION.with_payload(7.0) + MOTION.reversed().with_payload(3.0).with_tip_wrench([0, 50, 0, 0, 0, 0])
    np.testing.assert_allclose(heavier.peak[0], da.size(arm, seven).torque.peak, rtol=1e-12)
