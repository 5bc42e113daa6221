"""Terms of friction: the law of each, and that it works in every room from its one file and one line."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from arms import FRICTIONS, LOADED, arm, random_robot, relative, states, with_terms
from dalembert.compiler.graph.passes import live_lines
from dalembert.compiler.graph.tape import Graph
from dalembert.mechanics.equations.friction import further, load_of, slopes
from dalembert.robot import Friction
from dalembert.robot.terms import TERMS, Term
from dalembert.work.analysis.properties import energy_defect

EXAMPLES = [term for friction in (*FRICTIONS, *LOADED) for term in friction]
NAMES = [f"{term.name}-{k}" for k, term in enumerate(EXAMPLES)]
each_term = pytest.mark.parametrize("term", EXAMPLES, ids=NAMES)


def test_every_term_has_an_example() -> None:
    assert {term.name for term in EXAMPLES} == set(TERMS)


def test_the_documents_list_every_term_with_its_numbers() -> None:
    text = (Path(__file__).parents[3] / "docs" / "robot-files.md").read_text(encoding="utf-8")
    section = text.partition("## Friction, springs and losses")[2].partition("\n## ")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in section.splitlines() if line.startswith("| ")][1:]
    assert [row[0].strip() for row in rows] == list(TERMS)
    for name, _, numbers, example in rows:
        term, (written,) = TERMS[name.strip()], re.findall("`(.*?)`", example)
        assert re.findall("`(.*?)`", numbers) == [x.name for x in term.numbers()]
        (parsed,) = {type(x) for x in Friction(**tomllib.loads(written))}
        assert parsed is term


# -- one term ----------------------------------------------------------------------------------------


@each_term
def test_torque_is_linear_in_the_coefficients(term: Term) -> None:
    for q, qd, load in np.random.default_rng(0).uniform(-2, 2, (20, 3)).tolist():
        columns = term.columns(q, qd, load)
        assert term.torque(q, qd, load) == pytest.approx(np.dot(term.coefficients, columns), abs=1e-14)


@each_term
def test_it_depends_on_what_it_says(term: Term) -> None:
    """The tape of its law reads just the inputs that ``of`` names."""
    graph = Graph()
    names = ("q", "qd", "load")
    inputs = [graph.input(name) for name in names]
    graph.output([term.torque(*inputs)])
    live = live_lines(graph)
    assert {name for name, x in zip(names, inputs, strict=True) if live[x.line]} == set(term.of)


@each_term
def test_static_level_is_the_jump_at_rest(term: Term) -> None:
    for q, load in ((0.3, 2.0), (-0.8, -1.5)):
        forward, backward = term.static(q, load)
        rest = term.torque(q, 0.0, load)
        assert forward == pytest.approx(term.torque(q, 1e-9, load) - rest, abs=1e-7)
        assert backward == pytest.approx(rest - term.torque(q, -1e-9, load), abs=1e-7)


def test_gradual_terms_do_not_jump() -> None:
    """Not even by what a least speed changes: an arm with such friction never sticks."""
    gradual = [TERMS["viscous"](2.0), TERMS["tanh"](1.0, 0.3), TERMS["sigmoid"](1.0, 0.3), TERMS["spring"](3.0)]  # type: ignore[call-arg]
    assert all(term.static(0.4, 1.0) == (0.0, 0.0) for term in gradual)


@each_term
def test_it_is_read_as_it_is_written(term: Term) -> None:
    assert type(term).read(term.written()) == term
    doubtful = replace(term, physical=False)
    assert type(term).read(doubtful.written()) == doubtful or term.name == "offset"


@each_term
def test_several_of_a_name_are_read_as_they_are_written(term: Term) -> None:
    if term.name in ("viscous", "coulomb"):
        return
    friction = Friction.of([term, term])
    assert Friction(**friction.written()) == friction
    assert friction.replace(viscous=1.0).further == (term, term)


@each_term
def test_derivatives_are_those_of_the_law(term: Term) -> None:
    body = replace(arm("pendulum").mechanism.bodies[0], terms=(*arm("pendulum").mechanism.bodies[0].bare.terms, term))
    at, h = np.array([0.4, -0.7, 1.3]), 1e-6
    for law in (further, load_of):
        ours = slopes(law, body, *at.tolist())
        for k in range(3):
            step = h * np.eye(3)[k]
            expected = (law(body, *(at + step)) - law(body, *(at - step))) / (2 * h)
            assert ours[k] == pytest.approx(expected, abs=2e-8)


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "stribeck"])
def test_derivatives_of_narrow_steps_are_numbers_at_any_speed(name: str) -> None:
    term = TERMS[name](1.0, 1e-4)  # type: ignore[call-arg]
    body = replace(arm("pendulum").mechanism.bodies[0], terms=(*arm("pendulum").mechanism.bodies[0].bare.terms, term))
    assert all(slopes(further, body, 0.0, qd, 0.0)[1] == 0.0 for qd in (-3.0, 3.0))


def test_units_of_a_prismatic_joint() -> None:
    friction = Friction(0.5, stribeck=(1.2, 0.05), harmonic=(8.0, 0.3), spring=30.0)
    assert [term.text_at("prismatic").partition(": ")[2] for term in friction] == [
        "damping 0.5 N s/m", "level 1.2 N, speed 0.05 m/s", "order 8 rad/m, sine 0.3 N, cosine 0 N", "stiffness 30 N/m, rest 0 m",
    ]  # fmt: skip


def test_a_prismatic_joint_has_no_gas_spring() -> None:
    row = {"type": "prismatic", "mass": 1.0, "friction": {"gas_spring": {"force": 1.0, "a": 0.1, "b": 0.3}}}
    with pytest.raises(
        da.RobotError, match=r"is prismatic and has the gas spring \('gas_spring'\), which requires a revolute joint"
    ):
        da.from_dh([row])


def test_wrong_numbers_get_one_sentence() -> None:
    for wrong, sentence in [
        ({"stribek": {}}, "there is no friction term 'stribek'; known terms are viscous, coulomb, offset"),
        ({"stribeck": {"level": 1.0}}, "stribeck has no speed; give level, speed"),
        ({"stribeck": {"level": 1.0, "speed": 0.0}}, "the speed of Stribeck friction is 0; it must be above 0"),
        ({"stribeck": {"level": -1.0, "speed": 1.0}}, "the level of Stribeck friction is -1; it must be at least 0"),
        ({"spring": {"stiffness": 1.0, "length": 2.0}}, "spring has no 'length'; it has stiffness, rest, physical"),
        ({"spring": {"stiffness": "soft"}}, "the stiffness of the spring is 'soft'; it must be a number"),
        ({"viscous": math.nan}, "viscous friction is nan; it must be a finite number"),
        ({"spring": {"stiffness": 1.0, "rest": math.inf}}, "the rest of the spring is inf; it must be a finite number"),
        ({"gas_spring": {"force": 1.0, "a": 0.2, "b": 0.2}}, "both 0.2 m from the axis"),
        ({"gear": [1.1, 1.0]}, "the driven of gear losses is 1; it must be below 1"),
        ({"gear": [0.1]}, "gear has no driven; give driving, driven"),
        (
            {"load": 0.6, "gear": [0.1, 0.5]},
            "load and gear together lose 1.1 of a load that drives the joint",
        ),
    ]:
        with pytest.raises(da.RobotError) as error:
            Friction(**wrong)
        assert sentence in str(error.value)


def test_mistakes_in_python_get_one_sentence() -> None:
    a, motion = arm("planar-2r"), da.spline([0.0, 1.0], [[0.0, 0.0], [0.3, 0.3]])
    t = np.linspace(0.0, 2.0, 400)
    log = {"t": t, "q": np.sin(np.outer(t, [3.0, 4.0])), "tau": np.cos(np.outer(t, [3.0, 4.0]))}
    for ask, sentence in (
        (lambda: Friction.of([1]), "friction is made of terms, not of 1"),  # type: ignore[list-item]
        (
            lambda: Friction(1.0).without("viscos"),
            "there is no friction term 'viscos'; known terms are .*did you mean 'viscous'",
        ),
        (lambda: motion.scaled("panda"), "the arm is given as 'panda'; it must be an Arm"),  # type: ignore[arg-type]
        (lambda: motion.time_optimal("panda"), "the arm is given as 'panda'; it must be an Arm"),  # type: ignore[arg-type]
        (lambda: da.identify(a, log, cutoff="a"), "cutoff is 'a'; it must be a number"),  # type: ignore[arg-type]
        (lambda: da.identify(a, log, terms=["stribeck"]), "Stribeck friction needs speed; give "),
    ):
        with pytest.raises(da.DalembertError, match=sentence):
            ask()


# -- arms ----------------------------------------------------------------------------------------------


def bare(a: da.Arm) -> da.Arm:
    """The arm without any friction."""
    return da.Arm(with_terms(a.robot, [Friction()]))


def laws(a: da.Arm, q: np.ndarray, qd: np.ndarray, load: np.ndarray) -> np.ndarray:
    """The terms' torques at the joints of an open arm, one number after the other."""
    out = np.zeros_like(q)
    for i, joint in enumerate(a.robot.tree_joints):
        for term in joint.friction:
            for k in range(len(q)):
                out[k, i] += term.torque(float(q[k, i]), float(qd[k, i]), float(load[k, i]))
    return out


@pytest.fixture(scope="module", params=["terms", "loaded"])
def termed(request: pytest.FixtureRequest) -> da.Arm:
    if request.param == "terms":
        return arm("terms")
    return da.Arm(with_terms(random_robot(np.random.default_rng(9), 3, tree=False), LOADED))


def test_torque_is_that_without_terms_and_their_laws(termed: da.Arm) -> None:
    q, qd, qdd = states(termed, 20)
    load = bare(termed).inverse_dynamics(q, qd, qdd)
    expected = load + laws(termed, q, qd, load)
    for formulation in ("lean", "newton-euler", "newton-euler-base", "lagrange", "lagrange-euler", "dalembert"):
        assert relative(termed.inverse_dynamics(q, qd, qdd, formulation=formulation), expected) < 1e-12
    assert relative(termed.torque_terms(q, qd, qdd).total, expected) < 1e-12
    assert relative(termed.gravity_torque(q), bare(termed).gravity_torque(q)) < 1e-14
    assert relative(load + termed.friction_torque(qd, q=q, load=load), expected) < 1e-12
    wrench = np.random.default_rng(1).uniform(-5, 5, (20, 6))
    load = bare(termed).inverse_dynamics(q, qd, qdd, tip_wrench=wrench)
    for formulation in ("lean", "newton-euler", "lagrange", "dalembert"):
        tau = termed.inverse_dynamics(q, qd, qdd, tip_wrench=wrench, formulation=formulation)
        assert relative(tau, load + laws(termed, q, qd, load)) < 1e-12


def test_forward_dynamics_undoes_inverse_dynamics(termed: da.Arm) -> None:
    q, qd, qdd = states(termed, 20)
    wrench = np.random.default_rng(1).uniform(-5, 5, (20, 6))
    for formulation in ("composite", "articulated"):
        tau = termed.inverse_dynamics(q, qd, qdd, tip_wrench=wrench)
        assert relative(termed.forward_dynamics(q, qd, tau, wrench, formulation=formulation), qdd) < 1e-10


def test_power_of_all_forces_is_the_rate_of_the_kinetic_energy(termed: da.Arm) -> None:
    q, qd, tau = states(termed, 20)
    assert relative(energy_defect(termed, q, qd, tau) + 1.0, np.ones(20)) < 1e-10


def derivatives_match_differences(a: da.Arm, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> None:
    tau, h = a.inverse_dynamics(q, qd, qdd), 1e-6

    def differences(function, x: np.ndarray) -> np.ndarray:  # type: ignore[no-untyped-def]
        return np.stack([(function(x + d) - function(x - d)) / (2 * h) for d in h * np.eye(a.n)], axis=-1)

    dq, dqd = a.torque_derivatives(q, qd, qdd)
    assert relative(dq, differences(lambda x: a.inverse_dynamics(x, qd, qdd), q)) < 1e-6
    assert relative(dqd, differences(lambda x: a.inverse_dynamics(q, x, qdd), qd)) < 1e-6
    dq, dqd, dtau = a.forward_derivatives(q, qd, tau)
    assert relative(dq, differences(lambda x: a.forward_dynamics(x, qd, tau), q)) < 1e-6
    assert relative(dqd, differences(lambda x: a.forward_dynamics(q, x, tau), qd)) < 1e-6
    assert relative(dtau, differences(lambda x: a.forward_dynamics(q, qd, x), tau)) < 1e-6


def test_derivatives_match_differences(termed: da.Arm) -> None:
    derivatives_match_differences(termed, *(x[0] for x in states(termed, 1, seed=3)))


def test_regressor_has_their_columns() -> None:
    """τ = Yπ exactly, where Coulomb friction is the same both ways."""
    for frictions in (FRICTIONS[1:], LOADED):
        a = da.Arm(with_terms(random_robot(np.random.default_rng(9), 3, tree=False), frictions))
        q, qd, qdd = states(a, 20)
        Y = a.regressor(q, qd, qdd)
        assert Y.shape[-1] == len(a.parameters) > 13 * 3
        assert relative(Y @ a.parameters, a.inverse_dynamics(q, qd, qdd)) < 1e-12


@pytest.mark.parametrize("name", ["five-bar", "parallelogram", "gripper", "palletizer"])
@pytest.mark.parametrize("frictions", [FRICTIONS[1:], LOADED], ids=["terms", "loaded"])
def test_on_joints_that_are_tied(name: str, frictions: tuple[Friction, ...]) -> None:
    """Terms of passive joints come through Γ; those that depend on the load stand on joints that are held."""
    a = arm(name)
    held = {joint.name for joint in a.robot.moving_joints}
    joints = []
    for k, joint in enumerate(a.robot.joints):
        friction = frictions[k % len(frictions)]
        loaded = any("load" in term.of for term in friction)
        joints.append(Friction() if loaded and joint.name not in held else friction)
    of = dict(zip((joint.name for joint in a.robot.joints), joints, strict=True))
    a = da.Arm(with_terms(a.robot, [of[joint.name] for joint in a.robot.tree_joints]))
    q, qd, qdd = states(a, 10, scale=0.5)
    tree = da.Arm(a.robot.tree)
    q_tree, Gamma = a.tree_positions(q), a.closure_jacobian(q)
    if a.loops:
        turns = [joint.type != "prismatic" for joint in a.robot.tree_joints]
        q_tree = np.where(turns, np.arctan2(np.sin(q_tree), np.cos(q_tree)), q_tree)
    speeds = np.einsum("...ij,...j->...i", Gamma, qd)
    actuated = list(a.mechanism.actuated)
    passive = [i for i in range(tree.n) if i not in actuated]
    without = laws(tree, q_tree, speeds, np.zeros_like(q_tree))
    own = without[:, actuated].copy()
    without[:, actuated] = 0.0
    load = bare(a).inverse_dynamics(q, qd, qdd) + np.einsum("...ij,...i->...j", Gamma, without)
    on_tree = np.zeros_like(q_tree)
    on_tree[:, actuated] = load
    own = laws(tree, q_tree, speeds, on_tree)[:, actuated]
    assert passive and relative(a.inverse_dynamics(q, qd, qdd), load + own) < 1e-11
    assert relative(a.forward_dynamics(q, qd, load + own), qdd) < 1e-9
    assert relative(a.torque_terms(q, qd, qdd).total, load + own) < 1e-11
    one_sided = all(friction.coulomb[0] == friction.coulomb[1] for friction in frictions)
    assert not one_sided or relative(a.regressor(q, qd, qdd) @ a.parameters, load + own) < 1e-11
    derivatives_match_differences(a, q[0], qd[0], qdd[0])


def test_a_passive_joint_cannot_feel_its_load() -> None:
    with pytest.raises(
        da.RobotError, match="follows other joints, but its friction 'load' depends on the transmitted torque"
    ):
        da.Arm(with_terms(arm("five-bar").robot, LOADED[:1]))


@pytest.mark.parametrize("share", [1.5, -1.5])
def test_losses_of_a_fit_that_leave_no_load_have_no_forward_dynamics(share: float) -> None:
    a = da.Arm(with_terms(arm("planar-2r").robot, [Friction(load={"share": share, "physical": False})]))
    z = np.zeros(2)
    assert np.isfinite(a.inverse_dynamics(z, z, z)).all()
    for ask in (lambda: a.forward_dynamics(z, z, z), lambda: da.simulate(a, z, z, z, 0.1)):
        with pytest.raises(
            da.DalembertError, match="consumes the whole load of joint joint1, joint2, so torques do not"
        ):
            ask()


# -- files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["toml", "urdf"])
def test_files_hold_them(termed: da.Arm, tmp_path, ending: str) -> None:  # type: ignore[no-untyped-def]
    termed.save(tmp_path / f"arm.{ending}")
    again = da.load(tmp_path / f"arm.{ending}")
    assert [j.friction for j in again.robot.tree_joints] == [j.friction for j in termed.robot.tree_joints]
    q, qd, qdd = states(termed, 5)
    assert relative(again.inverse_dynamics(q, qd, qdd), termed.inverse_dynamics(q, qd, qdd)) < 1e-13


def test_a_joint_may_have_a_hundred_terms() -> None:
    ripple = [{"order": k, "sine": 1.0} for k in range(1, 102)]
    assert len(Friction(harmonic=ripple[:100]).terms) == 100
    with pytest.raises(da.RobotError, match="a joint has 101 friction terms; at most 100 are allowed"):
        Friction(harmonic=ripple)


def test_angles_in_words_are_for_joints_that_turn() -> None:
    spring = {"spring": {"stiffness": 1.0, "rest": "90 deg"}}
    assert da.from_dh([{"friction": spring}]).robot.joints[0].friction.further[0].rest == pytest.approx(math.pi / 2)
    with pytest.raises(da.RobotError, match="the rest of the spring is '90 deg'; it must be a number"):
        da.from_dh([{"type": "prismatic", "friction": spring}])
