"""Approximate models: what is left out is exactly the summands that are named, in the coordinates held."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import arms
import dalembert as da
from dalembert.compiler.quantities import joints, machine
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.robot.model.omitted_terms import OMISSIONS
from dalembert.work.trajectory.planning.example_7_2 import example_7_2

BOTH = ("coriolis", "centrifugal")
DROPS = [*((name,) for name in OMISSIONS), BOTH, (*BOTH, "off-diagonal"), ("rotational", "translational")]
FEW = ["planar-2r", "random-chain", "gripper", "five-bar", "terms"]


def values(a: da.Arm, quantity: str, **batch: np.ndarray) -> list[np.ndarray]:
    """The quantity from its equations on plain floats, its arrays one after the other."""
    entry = JOINTS[quantity]
    rows = zip(*(x.tolist() for x in batch.values()), strict=True)
    name = entry.formulations(a.mechanism)[0]
    several = len(entry.outputs) > 1
    out = [entry.values(a.mechanism, name, dict(zip(batch, row, strict=True))) for row in rows]
    return [np.array(x, float) for x in zip(*out, strict=True)] if several else [np.array(out, float)]


def placed(a: da.Arm, q: np.ndarray) -> np.ndarray:
    return np.asarray(a.placed(q))


def summands(a: da.Arm, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> dict[str, np.ndarray]:
    """Every part of the whole arm's torque that can be left out, from torque_terms and dalembert, but for rotor coupling."""
    terms = da.arm.terms.TorqueTerms(*values(a, "torque_terms", q=q, qd=qd, qdd=qdd))
    D_rot, D_tran, h_tran, h_rot, _ = values(a, "dalembert", q=q, qd=qd)
    off = (terms.inertia + terms.rotor) * ~np.eye(a.n, dtype=bool)
    return {
        "coriolis": terms.coriolis.sum((-2, -1)),
        "centrifugal": terms.centrifugal.sum(-1),
        "off-diagonal": off.sum(-1),
        "rotational": np.einsum("kij,kj->ki", D_rot, qdd) + h_rot,
        "translational": np.einsum("kij,kj->ki", D_tran, qdd) + h_tran,
    }


@pytest.mark.parametrize("name", arms.DISTINCT)
def test_whole_less_approximate_torque_is_what_was_dropped(name: str) -> None:
    a = arms.arm(name)
    q, qd, qdd = arms.states(a, 1, seed=3)
    q = placed(a, q)
    (whole,) = values(a, "inverse_dynamics", q=q, qd=qd, qdd=qdd)
    parts = summands(a, q, qd, qdd)
    for drop in DROPS:
        if drop != ("rotor-coupling",):
            (less,) = values(a.approximate(drop), "inverse_dynamics", q=q, qd=qd, qdd=qdd)
            dropped = sum(parts[x] for x in drop)
            assert np.abs(whole - less - dropped).max() < 1e-11 * np.abs(whole).max(), drop


@pytest.mark.parametrize("name", ["random-chain", "wrist", "planar-2r"])
def test_without_rotor_coupling_every_rotor_is_reflected(name: str) -> None:
    a = arms.arm(name)
    rotors = (replace(j, rotor=j.rotor and replace(j.rotor, reflected=True)) for j in a.robot.joints)
    assert a.approximate("rotor-coupling").mechanism == a.replace(joints=tuple(rotors)).mechanism
    assert a.approximate("rotor-coupling").mechanism != a.mechanism


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("drop", ["coriolis", ("centrifugal", "off-diagonal"), "translational"])
def test_formulations_and_terms_of_an_approximate_model_agree(name: str, drop: str) -> None:
    a = arms.arm(name).approximate(drop)
    q, qd, qdd = arms.states(a, 1, seed=4)
    x = {"q": placed(a, q), "qd": qd, "qdd": qdd}
    (tau,) = values(a, "inverse_dynamics", **x)
    for formulation in ("newton-euler", "lagrange", "dalembert"):
        assert arms.relative(arms.on_floats(a, "inverse_dynamics", formulation, **x), tau) < 1e-10
    terms = da.arm.terms.TorqueTerms(*values(a, "torque_terms", **x))
    assert arms.relative(terms.total, tau) < 1e-10
    B, C = (
        values(a, y, **{k: x[k] for k in keys})[0]
        for y, keys in (("inertia_matrix", "q"), ("coriolis_matrix", ["q", "qd"]))
    )
    assert arms.relative(B, (terms.inertia + terms.rotor) / qdd[:, None, :]) < 1e-10
    velocity = terms.by_joint["centrifugal"] + terms.by_joint["coriolis"]
    assert np.abs(np.einsum("kij,kj->ki", C, qd) - velocity).max() < 1e-10 * np.abs(tau).max()
    if "coriolis" in a.omitted:
        assert not terms.coriolis.any()
    if "off-diagonal" in a.omitted:
        assert not B[:, ~np.eye(a.n, dtype=bool)].any()


@pytest.mark.parametrize("name", [*FEW, "loaded"])
def test_inverse_of_forward_dynamics_is_identity(name: str) -> None:
    whole = arms.arm(name) if name != "loaded" else da.Arm(arms.with_terms(da.load("planar-3r").robot, arms.LOADED))
    for drop in ("coriolis", "centrifugal", "rotational", "translational", (*BOTH, "off-diagonal")):
        a = whole.approximate(drop)
        q, qd, qdd = arms.states(a, 1, seed=5)
        q = placed(a, q)
        (tau,) = values(a, "inverse_dynamics", q=q, qd=qd, qdd=qdd)
        assert arms.relative(values(a, "forward_dynamics", q=q, qd=qd, tau=tau)[0], qdd) < 1e-8, drop


def test_without_rotation_a_wrist_has_no_forward_dynamics() -> None:
    with pytest.raises(da.DalembertError, match="no inertia resists joint joint6"):
        da.load("puma560").approximate("rotational").forward_dynamics(*np.zeros((3, 6)))


def test_friction_sees_the_load_of_the_approximate_model() -> None:
    whole = da.Arm(arms.with_terms(da.load("planar-2r").robot, arms.LOADED))
    q, qd, qdd = arms.states(whole, 3)
    less = whole.approximate(BOTH)
    load = da.load("planar-2r").approximate(BOTH).inverse_dynamics(q, qd, qdd)
    expected = load + whole.friction_torque(qd, q=q, load=load)
    assert arms.relative(less.inverse_dynamics(q, qd, qdd), expected) < 1e-12


@pytest.mark.parametrize(("name", "drop"), [
    ("planar-2r", "coriolis"), ("planar-3r", (*BOTH, "off-diagonal")), ("five-bar", BOTH), ("parallelogram", "centrifugal"),
    ("pr-arm", "translational"),
])  # fmt: skip
def test_derivatives_match_differences(name: str, drop: str) -> None:
    a = arms.arm(name).approximate(drop)
    q, qd, qdd = arms.states(a, 2, seed=6)
    tau, h = a.inverse_dynamics(q, qd, qdd), 1e-6

    def slope(function, x: np.ndarray) -> np.ndarray:  # type: ignore[no-untyped-def]
        columns = [(function(x + h * e) - function(x - h * e)) / (2 * h) for e in np.eye(a.n)]
        return np.stack(columns, axis=-1)

    for exact, difference in zip(
        (*traced(a, "torque_derivatives", q, qd, qdd), *traced(a, "forward_derivatives", q, qd, tau)),
        (
            slope(lambda x: a.inverse_dynamics(x, qd, qdd), q), slope(lambda x: a.inverse_dynamics(q, x, qdd), qd),
            slope(lambda x: a.forward_dynamics(x, qd, tau), q), slope(lambda x: a.forward_dynamics(q, x, tau), qd),
            slope(lambda x: a.forward_dynamics(q, qd, x), tau),
        ),
        strict=True,
    ):  # fmt: skip
        assert arms.relative(exact, difference) < 1e-6 or np.abs(exact - difference).max() < 1e-6


def traced(a: da.Arm, quantity: str, *batch: np.ndarray) -> list[np.ndarray]:
    entry = joints.quantity(quantity, a.mechanism)
    return arms.uncompiled(machine.trace(a.mechanism, entry), machine.signature(a.mechanism, entry), *batch)


def operations(a: da.Arm, quantity: str = "inverse_dynamics") -> int:
    return a.operations(quantity).compiled.total


@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_operations_fall(name: str) -> None:
    a = da.load(name)
    for drop in ("rotational", "translational"):
        assert operations(a.approximate(drop)) < operations(a), drop
    fewer = [
        operations(a.approximate(drop))
        for drop in ((), BOTH, (*BOTH, "off-diagonal"), (*BOTH, *("rotational", "translational")))
    ]
    assert all(y < 0.85 * x for x, y in pairwise(fewer)), fewer


def test_operations_fall_without_rotor_coupling_and_factorisation() -> None:
    planar, chain = da.load("planar-2r"), arms.arm("random-chain")
    assert operations(planar.approximate("rotor-coupling")) < operations(planar)
    assert operations(chain.approximate("rotor-coupling")) < operations(chain)
    diagonal = chain.approximate("off-diagonal").operations("forward_dynamics").compiled
    assert diagonal.divisions <= chain.n and diagonal.total < operations(chain, "forward_dynamics")


def test_rotor_coupling_is_negligible_as_s_7_3_2_remarks() -> None:
    """With k_r = 100 the terms of k_r I_m beside k_r² I_m are 1 % of them, and less of the torques of Example 7.2."""
    arm = da.load("planar-2r")
    motion = example_7_2("equal-duration").trajectory
    q, qd, qdd = motion.q, motion.qd, motion.qdd
    error = arm.inverse_dynamics(q, qd, qdd) - arm.approximate("rotor-coupling").inverse_dynamics(q, qd, qdd)
    share = np.sqrt((error**2).mean(0) / (arm.inverse_dynamics(q, qd, qdd) ** 2).mean(0))
    assert (share > 0).all() and share.max() < 0.01


def test_a_moving_base_stays() -> None:
    a, rng = da.load("planar-3r"), np.random.default_rng(1)
    q, qd, qdd, base = *rng.normal(size=(3, 3)), rng.normal(size=9)
    still = a.replace(joints=tuple(replace(j, rotor=None, friction=da.Friction()) for j in a.robot.joints))
    expected = still.inverse_dynamics(q, 0 * qd, qdd, base_motion=base)
    assert np.allclose(still.approximate(BOTH).inverse_dynamics(q, qd, qdd, base_motion=base), expected)


@pytest.mark.parametrize("drop", ["coriolis", "centrifugal", "off-diagonal", BOTH])
@pytest.mark.parametrize("name", ["planar-3r", "parallelogram"])
def test_terms_of_an_approximate_model_on_a_moving_base_sum_to_its_torque(name: str, drop: str) -> None:
    less, base = arms.arm(name).approximate(drop), np.random.default_rng(1).normal(size=9)
    state = arms.states(less, 3)
    total = less.torque_terms(*state, base_motion=base).total
    assert arms.relative(total, less.inverse_dynamics(*state, base_motion=base)) < 1e-13


def test_omissions_add_up_and_are_shown_kept_and_saved(tmp_path: Path) -> None:
    a = da.load("five-bar").approximate("centrifugal").approximate(("translational", "coriolis", "centrifugal"))
    assert a.omitted == ("coriolis", "centrifugal", "translational")
    assert (
        repr(a) == "<Arm 'five-bar': 2 actuated joints, 1 closed chain, without coriolis, centrifugal, translational>"
    )
    assert pickle.loads(pickle.dumps(a)) == a != da.load("five-bar")
    assert a.with_payload(1.0).omitted == a.omitted and a.replace(omitted=()) == da.load("five-bar")
    for b in (a, da.load("puma560").approximate("off-diagonal")):
        b.save(tmp_path / "less.toml")
        assert da.load(tmp_path / "less.toml") == b
    with pytest.raises(da.RobotError, match="without off-diagonal, which URDF cannot express"):
        b.save(tmp_path / "less.urdf")


def test_what_has_no_meaning_is_refused_in_a_sentence() -> None:
    less, rest = da.load("planar-2r").approximate(BOTH), np.zeros(2)
    for refused in (
        lambda: less.joint_wrenches(rest, rest, rest),
        lambda: less.regressor(rest, rest, rest),
        lambda: less.dalembert(rest, rest),
        lambda: less.lagrange_euler(rest),
        less.equations,
        less.couplings,
        less.base_parameters,
        lambda: less.base_parameters("symbols"),
        lambda: less.in_coordinates("absolute"),
        lambda: less.approximate("off-diagonal").kinetic_energy(rest, rest),
        lambda: da.simulate(less, rest, rest, None, 0.1, method="variational"),
        lambda: da.simulate(less.approximate("rotational"), rest, rest, None, 0.1, parameters=less.parameters),
        lambda: less.approximate("translational").replace(omitted=("translational",)).regressor(rest, rest, rest),
    ):
        with pytest.raises(da.DalembertError, match=r"approximate model|omits|weight"):
            refused()
    with pytest.raises(
        da.RobotError, match=r"'velocity' cannot be omitted .* velocity terms are \('coriolis', 'centrifugal'\)"
    ):
        less.approximate("velocity")


# what an approximate model leaves as it is
UNTOUCHED = {
    "gravity_torque",
    "friction_torque",
    "potential_energy",
    "pose",
    "link_poses",
    "jacobian",
    "jacobian_derivative",
    "body_jacobians",
}
UNTOUCHED |= {"closure", "closure_jacobian", "closure_derivative", "tree_motion", "loop_residual", "loop_equations"}


@pytest.mark.parametrize("name", ["planar-3r", "five-bar"])
def test_every_quantity_leaves_terms_out_or_is_refused(name: str) -> None:
    """Whoever adds a quantity says so: ``whole=`` in its row, equations of coordinates.pulled, or the set above."""
    a, rng = arms.arm(name), np.random.default_rng(2)
    less = a.approximate((*BOTH, "off-diagonal"))
    q, qd, qdd = arms.states(a, 1, seed=8)
    known = {"q": placed(a, q), "qd": qd, "qdd": qdd, "tau": qdd, "tree_q": rng.normal(size=(1, a.mechanism.tree.n))}
    known |= {"qd_r": -qd, "qdd_r": qdd}
    for quantity, entry in joints.known(a.mechanism).items():
        if quantity in ("torque_derivatives", "forward_derivatives") or quantity in UNTOUCHED:
            continue  # these have no equations on floats, and are compared with differences
        batch = {x: known[x] for x in entry.inputs}
        whole = values(a, quantity, **batch)
        try:
            entry.choice(None, less.mechanism)
        except da.DalembertError:
            continue
        same = all(np.array_equal(x, y) for x, y in zip(whole, values(less, quantity, **batch), strict=True))
        assert not same, quantity


def test_simulation_runs_on_the_approximate_equations() -> None:
    less = da.load("planar-2r").approximate((*BOTH, "off-diagonal"))
    tau = np.array([800.0, 200.0])
    run = da.simulate(less, [0.1, 0.4], [0.0, 0.0], tau, 0.2, step=1e-3)
    k = len(run.t) // 2
    middle = (run.qd[k + 1] - run.qd[k - 1]) / (run.t[k + 1] - run.t[k - 1])
    assert arms.relative(middle, less.forward_dynamics(run.q[k], run.qd[k], tau)) < 1e-5
    motion = da.polynomial([0.0, 0.0], [0.5, -0.4], 0.5)
    followed = da.simulate(less, motion.q[0], motion.qd[0], da.ComputedTorque(400.0, 40.0, motion), 0.5, step=1e-3)
    assert np.abs(followed.q[-1] - motion.q[-1]).max() < 1e-4
