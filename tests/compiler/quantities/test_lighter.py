"""Two forms of coupled arms, the tree with Γ and trigonometric polynomials: the same numbers, and the lighter one is taken."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import dalembert as da
from arms import relative, states, uncompiled
from dalembert.compiler.graph.count import count
from dalembert.compiler.graph.passes import pruned
from dalembert.compiler.graph.tape import Graph, evaluate
from dalembert.compiler.quantities import harmonics, machine
from dalembert.compiler.quantities.harmonics import ClosedFormTooLarge, Expansion
from dalembert.compiler.quantities.joints import JOINTS, known
from dalembert.compiler.quantities.machine import (
    CHEAPEST,
    CLOSED_FORM,
    INPUTS,
    has_closed_form,
    kernel,
    signature,
    sizes_of,
    trace,
)
from dalembert.errors import DalembertError
from dalembert.mechanics.coordinates.closure import CoupledMechanism, Linear
from dalembert.mechanics.symbols.mapped import affine
from dalembert.robot import Inertia, Joint, Link, Robot
from dalembert.robot.model.mechanism import mechanism

ARMS = {name: da.load(name) for name in da.arms()}
LINEAR = [name for name, a in ARMS.items() if has_closed_form(a.mechanism)]
choose = machine.traced  # the formulation that is taken, and its graph
QUANTITIES = [
    name for name, entry in known(ARMS["parallelogram"].mechanism).items() if entry.pulled or entry.independent
]


def agree(x, y) -> bool:
    """To 1e-12 of the largest value, or of 1 where that is less."""
    return bool(np.abs(x - y).max(initial=0.0) < 1e-12 * max(1.0, np.abs(y).max(initial=0.0)))


@cache
def traced(name: str, quantity: str, form: str, options: tuple[str, ...]) -> Graph:
    """The graph that the kernel of a shipped arm is compiled from."""
    return choose(ARMS[name].mechanism, JOINTS[quantity], form, options)[1]


def arguments(m: CoupledMechanism, name: str, options=(), seed: int = 3) -> list[np.ndarray]:
    sizes = {**sizes_of(m), "Q": m.n}
    shapes = [INPUTS[x][0] for x in (*known(m)[name].inputs, *options)]
    rng = np.random.default_rng(seed)
    return [rng.uniform(-2, 2, (20, sizes[size] if size in sizes else int(size))) for size in shapes]


def coupled() -> CoupledMechanism:
    """Three joints in space, a revolute and a prismatic one that follow with factors that are not whole."""
    links, joints = [Link("base")], []
    kinds = ["revolute", "revolute", "prismatic", "revolute", "prismatic"]
    axes = [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.6, 0.8, 0.0), (0.0, 0.6, 0.8)]
    for i, (kind, axis) in enumerate(zip(kinds, axes, strict=True), 1):
        body = Inertia(1.0 + i, (0.05 * i, 0.02, 0.1), np.diag([0.02, 0.03, 0.025]).tolist())
        links.append(Link(f"l{i}", body))
        place = da.robot.Placement.rpy(0.3, -0.2, 0.5, xyz=(0.1, 0.05 * i, 0.3))
        joints.append(Joint(f"j{i}", kind, f"l{i - 1}" if i > 1 else "base", f"l{i}", axis=axis, placement=place))
    tree = mechanism(Robot("coupled", tuple(links), tuple(joints)))
    closures = (Linear((), (3,), (1,), ((0.5,),), (-0.1,)), Linear((), (4,), (2, 1), ((-1.5, 0.25),), (0.02,)))
    return CoupledMechanism(tree, (0, 1, 2), (), (), (0.0,) * 5, closures)


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("name", LINEAR)
def test_closed_form_equals_tree_form(name: str, quantity: str) -> None:
    m = ARMS[name].mechanism
    tree = known(m)[quantity].formulations(m)[0]
    x = arguments(m, quantity)
    shapes = signature(m, JOINTS[quantity])
    forms = (uncompiled(traced(name, quantity, form, ()), shapes, *x) for form in (tree, CLOSED_FORM))
    for a, b in zip(*forms, strict=True):
        assert agree(b, a)


@pytest.mark.parametrize("options", [("tip_wrench",), ("base_motion",), ("tip_wrench", "base_motion")])
@pytest.mark.parametrize("name", LINEAR)
def test_closed_form_equals_tree_form_with_options(name: str, options: tuple[str, ...]) -> None:
    m = ARMS[name].mechanism
    x = arguments(m, "inverse_dynamics", options)
    shapes = signature(m, JOINTS["inverse_dynamics"], options)
    forms = (traced(name, "inverse_dynamics", form, options) for form in ("lean", CLOSED_FORM))
    (a,), (b,) = (uncompiled(graph, shapes, *x) for graph in forms)
    assert agree(b, a)


@pytest.mark.parametrize(
    "quantity", ["inverse_dynamics", "inertia_matrix", "coriolis_matrix", "gravity_torque", "pose"]
)
def test_joints_that_follow_with_any_factor_have_a_closed_form(quantity: str) -> None:
    m = coupled()
    x = arguments(m, quantity)
    tree = known(m)[quantity].formulations(m)[0]
    shapes = signature(m, JOINTS[quantity])
    (a,), (b,) = (uncompiled(trace(m, JOINTS[quantity], form), shapes, *x) for form in (tree, CLOSED_FORM))
    assert agree(b, a)


def test_parallelogram_is_lighter_than_the_two_link_arm() -> None:
    """S 7.3.3: remarkably lighter. By hand from S's form, 19 operations; 6 where the links are balanced."""
    link = {"a": 1.0, "mass": 5.0, "com": (-0.5, 0, 0), "inertia": {"xx": 0.1, "yy": 1, "zz": 1}}
    two_link = da.from_dh([link, link], gravity=(0, -9.81, 0))
    names = ("parallelogram", "parallelogram-decoupled")
    arms = [two_link, *map(da.load, names)]
    assert [a.operations("inverse_dynamics").compiled.total for a in arms] == [23, 19, 6]
    assert da.load("parallelogram").operations("inverse_dynamics", formulation="lean").compiled.total == 47


def test_decoupled_parallelogram_has_constant_diagonal_inertia() -> None:
    a = da.load("parallelogram-decoupled")
    q, qd, qdd = states(a, 20)
    B = a.inertia_matrix(q)
    assert np.ptp(B, axis=0).max() == 0 and not B[:, 0, 1].any() and not a.coriolis_matrix(q, qd).any()
    assert relative(a.inverse_dynamics(q, qd, qdd), B[0].diagonal() * qdd + a.gravity_torque(q)) < 1e-14
    tree = kernel(a.mechanism, JOINTS["inertia_matrix"], "composite")(q)
    assert relative(B, tree) < 1e-14  # the oracle has what rounding leaves of b_12
    assert a.operations("inertia_matrix").compiled.total == 0 and a.operations("gravity_torque").compiled.total == 2


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("name", LINEAR)
def test_the_lighter_form_is_taken(name: str, quantity: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m = ARMS[name].mechanism

    def remembered(m, entry, form: str, options: tuple[str, ...]) -> tuple[str, Graph]:
        """The choice is made as always, among graphs that are traced once for all of these tests."""
        return choose(m, entry, form, options) if form == CHEAPEST else (form, traced(name, entry.name, form, options))

    assert JOINTS[quantity].choice(None, m) == CHEAPEST
    tree = known(m)[quantity].formulations(m)[0]
    by_tree, closed = (count(traced(name, quantity, form, ())) for form in (tree, CLOSED_FORM))
    monkeypatch.setattr(machine, "traced", remembered)
    taken = count(trace(m, JOINTS[quantity], CHEAPEST))
    assert taken.total == min(by_tree.total, closed.total)
    assert taken.cosines <= by_tree.cosines  # of no more angles than before


def test_open_arms_and_loops_that_are_not_linear_have_no_closed_form_to_choose() -> None:
    for name in ("planar-2r", "five-bar"):
        m = ARMS[name].mechanism
        assert all(CLOSED_FORM not in entry.formulations(m) for entry in known(m).values())
        with pytest.raises(DalembertError, match=r"formulation is \['lean'\]; it must be a name"):
            ARMS[name].inertia_matrix([0.0, 0.0], formulation=["lean"])
        with pytest.raises(
            DalembertError, match="inverse_dynamics has no formulation 'closed-form'; its formulations are lean"
        ):
            ARMS[name].operations("inverse_dynamics", formulation=CLOSED_FORM)


def test_a_closed_form_that_is_too_large_is_refused_by_name_and_passed_over_otherwise(monkeypatch) -> None:
    m = ARMS["palletizer"].mechanism
    tree = count(trace(m, JOINTS["gravity_torque"], "lean"))
    monkeypatch.setattr(harmonics, "WORK", 10)
    with pytest.raises(ClosedFormTooLarge, match="takes more than 10 products of terms; choose another formulation"):
        trace(m, JOINTS["gravity_torque"], CLOSED_FORM)
    assert count(trace(m, JOINTS["gravity_torque"], CHEAPEST)) == tree
    monkeypatch.setattr(machine, "MOST_COORDINATES", 3)
    assert JOINTS["gravity_torque"].choice(None, m) == "lean"  # more are held than are tried


def test_what_cancels_on_paper_cancels() -> None:
    graph = Graph()
    a, b, v = (graph.input(name) for name in "abv")
    half = 0.5 * a + 0.1
    graph.output([
        a.cos() * (a + b).cos() + a.sin() * (a + b).sin(),
        2.0 * half.sin() * half.cos(),
        (v * a.sin()) * (v * a.sin()) + (v * a.cos()) * (v * a.cos()),
        v.sign() * (a.sin() * b.cos()) / (2.0 + a.cos() * a.cos()),
    ])  # fmt: skip
    new = Expansion(pruned(graph)).written(by_angle=False)
    x = [0.3, -1.2, 0.7]
    assert evaluate(new, x) == pytest.approx(evaluate(graph, x), rel=1e-14)
    first, second, third = (new.nodes[line][0] for line in new.outputs[:3])
    assert (first, third) == ("cos", "mul") and second in ("sin", "add", "sub")


def test_closed_forms_in_letters_take_any_linear_map() -> None:
    """q = T y + b with fewer coordinates than joints, one of which follows with a factor that is not whole."""
    T, b = [[1.0, 0.0], [0.5, 0.0], [-1.0, 2.0]], [0.0, 0.3, -0.2]
    names, robot = ("y_1", "y_2"), da.load("planar-3r").robot
    coupling = da.Coupling([joint.name for joint in robot.moving_joints], names, T, b)
    e = da.Arm(robot.with_coordinates(names, (True, True), coupling)).equations()
    y, yd, ydd = np.random.default_rng(1).uniform(-2, 2, (3, 10, 2))
    values = e.evaluate(y, yd, ydd)
    a = da.load("planar-3r")
    q, qd, qdd = y @ np.transpose(T) + b, yd @ np.transpose(T), ydd @ np.transpose(T)
    assert relative(values.tau, a.inverse_dynamics(q, qd, qdd) @ T) < 1e-12
    assert relative(values.B, np.transpose(T) @ a.inertia_matrix(q) @ T) < 1e-12
    assert "0.5ϑ_1" in e.text("g1") or "1.5ϑ_1" in e.text("g1")


def test_affine_map_of_couplings_that_stand_on_each_other() -> None:
    m = coupled()
    first, second = m.closures
    T, b = affine(replace(m, closures=(first, replace(second, known=(2, 3)))))
    assert np.allclose(T, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0.5, 0], [0, 0.125, -1.5]])
    assert np.allclose(b, [0, 0, 0, -0.1, 0.02 - 0.025])


def test_numbers_that_are_not_finite_are_kept() -> None:
    """1/x that is not a number where x is too small: the guard of singular poses."""
    graph = Graph()
    a, v = graph.input("a"), graph.input("v")
    c = a.cos() * a.cos()
    graph.output([1.0 / c.less(1e-6).select(float("nan"), c), v.less(0.0).select(2.0 * a.sin(), 3.0) * v * a.sin() + c])
    new = Expansion(pruned(graph)).written(by_angle=True)
    for x in ([0.3, 1.0], [0.3, -1.0], [np.pi / 2, -1.0]):
        assert evaluate(new, x) == pytest.approx(evaluate(graph, x), rel=1e-12, nan_ok=True)
    assert np.isnan(evaluate(new, [np.pi / 2, 1.0])[0])


def test_closed_form_has_the_friction_of_all_joints() -> None:
    robot = da.load("parallelogram").robot
    with_friction = da.Friction(0.7, (1.5, 0.9))
    a = da.Arm(robot.replace(joints=tuple(replace(joint, friction=with_friction) for joint in robot.joints)))
    x = arguments(a.mechanism, "inverse_dynamics")
    tree, closed = (kernel(a.mechanism, JOINTS["inverse_dynamics"], form)(*x) for form in ("lean", CLOSED_FORM))
    assert agree(closed, tree)
    totals = [count(trace(a.mechanism, JOINTS["inverse_dynamics"], form)).total for form in (CHEAPEST, "lean")]
    assert totals[0] < totals[1] - 15
