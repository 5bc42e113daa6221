"""Numbers of the mechanism as inputs: the arm's own give the arm, others another arm, and derivatives by them are exact."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dalembert as da
from arms import arm as known_arm
from arms import random_inertia, random_placement, random_robot, relative
from dalembert.compiler.foreign.call import registered
from dalembert.compiler.graph.tape import Graph
from dalembert.compiler.quantities import derived
from dalembert.compiler.quantities.joints import JOINTS, known
from dalembert.compiler.quantities.tip import TIP
from dalembert.errors import DalembertError, RobotError, ShapeError
from dalembert.mechanics.coordinates.variable_parameters import VARIANTS
from dalembert.robot import Friction, Link, Rotor
from dalembert.work.tip.operational import OperationalSpace
from test_derived import arm, run, state

Numbers = dict[str, np.ndarray]


def own(a: da.Arm) -> Numbers:
    """The arm's own numbers; of closed chains no lengths."""
    numbers = {"parameters": a.parameters, "payload": np.zeros(10), "gravity": np.array(a.mechanism.gravity)}
    numbers["gears"] = a.gears
    return numbers if a.loops else numbers | {"lengths": a.lengths}


def matrices(y: list[np.ndarray], a: da.Arm) -> np.ndarray:
    """B from the Jacobians of all bodies, S (7.32): rotors without inertia do not count, wherever they are."""
    N, n = a.mechanism.tree.n, a.n
    B = np.zeros((n, n))
    for m, _, J_P, J_O, I in (y[:5], y[5:]):
        J_P, J_O, I = J_P.reshape(N, 3, n), J_O.reshape(N, 3, n), I.reshape(N, 3, 3)
        B += np.einsum("s,ski,skj->ij", m, J_P, J_P) + np.einsum("ski,skl,slj->ij", J_O, I, J_O)
    return B


@pytest.mark.parametrize("name", ["terms", "coupled", "five-bar", "newton"])
def test_its_own_numbers_give_the_arm_for_every_quantity(name: str) -> None:
    a = arm(name)
    numbers = own(a)
    for quantity, entry in known(a.mechanism).items():
        if not entry.varies or (quantity == "torque_second_derivatives" and name != "terms"):
            continue  # the latter is made of others, and large
        options = ("q",) if quantity == "friction_torque" else entry.options
        x = state(a, entry, options, np.random.default_rng(2))
        expected, found = run(a, entry, options, x), run(a, entry, (*options, *numbers), x | numbers)
        if quantity == "body_jacobians":
            expected, found = ([matrices(y, a)] for y in (expected, found))
        for y, z in zip(expected, found, strict=True):
            assert np.allclose(y, z, rtol=0, atol=1e-12 * (1 + np.abs(y).max(initial=0.0))), quantity


# -- other numbers, other arms ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def chain() -> da.Arm:
    """Two joints with rotors on their links, friction that differs between the directions, and a base that leans."""
    return da.Arm(replace(random_robot(np.random.default_rng(26), 2, tree=False), payload=None))


def turned_the_other_way(rotor: Rotor) -> Rotor:
    """A rotor with another inertia and another gear, and the difference of its Coulomb levels at the joint's side."""
    backward, forward = rotor.coulomb
    return replace(rotor, inertia=0.2, gear=-1.7 * rotor.gear, coulomb=(forward / 1.7, backward / 1.7))


@pytest.fixture(scope="module")
def other(chain: da.Arm) -> da.Arm:
    """The same with other masses, inertias, rotors, friction, lengths, gravity and gear ratios."""
    rng = np.random.default_rng(6)
    links = tuple(Link(link.name, random_inertia(rng)) for link in chain.robot.links)
    joints = tuple(
        replace(
            joint,
            placement=replace(joint.placement, translation=random_placement(rng).translation),
            link_frame=replace(joint.link_frame, translation=random_placement(rng).translation),
            friction=Friction(0.7, (0.3, 0.4)),
            rotor=joint.rotor and turned_the_other_way(joint.rotor),
        )
        for joint in chain.robot.joints
    )
    tip = replace(chain.robot.tip, placement=replace(chain.robot.tip.placement, translation=(0.1, 0.2, 0.3)))
    return chain.replace(links=links, joints=joints, tip=tip, gravity=(1.0, -2.0, 9.0))


def test_other_numbers_give_another_arm_for_every_quantity(chain: da.Arm, other: da.Arm) -> None:
    """But for how a link's inertia is split from its rotors', which stay where they were."""
    assert any(body.has_rotor and not body.reflected and body.parent >= 0 for body in chain.mechanism.bodies)
    numbers = own(other)
    for quantity, entry in known(chain.mechanism).items():
        if not entry.varies or quantity in ("body_jacobians", "body_energies"):
            continue
        for formulation in entry.formulations(chain.mechanism):
            options = () if quantity == "inverse_dynamics" else entry.options  # energies know no motion of the base
            x = state(chain, entry, options, np.random.default_rng(2))
            expected = run(other, entry, options, x, formulation)
            found = run(chain, entry, (*options, *numbers), x | numbers, formulation)
            for y, z in zip(expected, found, strict=True):
                assert np.allclose(y, z, rtol=0, atol=1e-10 * (1 + np.abs(y).max())), (quantity, formulation)


def test_a_payload_is_that_of_the_arm_that_holds_it(chain: da.Arm) -> None:
    body = random_inertia(np.random.default_rng(1))
    loaded = chain.with_payload(body.mass, body.com, body.tensor)
    I = np.array(body.tensor_at_origin)
    payload = np.array([body.mass, *body.first_moments, *I[np.triu_indices(3)]])
    for quantity in ("inverse_dynamics", "inertia_matrix", "body_energies"):
        x = state(chain, JOINTS[quantity], (), np.random.default_rng(2))
        expected = run(loaded, JOINTS[quantity], (), x)
        found = run(chain, JOINTS[quantity], ("payload",), x | {"payload": payload})
        assert all(relative(z, y) < 1e-11 for y, z in zip(expected, found, strict=True))


def test_weights_that_are_carried_follow_the_parameters() -> None:
    """A share of each link's weight; not of a payload, with which the torques are not linear in π."""
    base = random_robot(np.random.default_rng(5), 2, tree=False, extras=False)
    light = tuple(replace(link, weight=0.25) for link in base.links)
    a, entry = da.Arm(replace(base, links=light)), JOINTS["inverse_dynamics"]
    heavier = da.Arm(replace(base, links=tuple(replace(link, inertia=doubled(link)) for link in light)))
    x = state(a, entry, (), np.random.default_rng(2))
    numbers = {"parameters": heavier.parameters}
    for quantity in ("inverse_dynamics", "potential_energy", "regressor"):
        x = state(a, JOINTS[quantity], (), np.random.default_rng(2))
        found = run(a, JOINTS[quantity], ("parameters",), x | numbers)
        assert relative(found[0], run(heavier, JOINTS[quantity], (), x)[0]) < 1e-12
    with pytest.raises(RobotError, match="moves a payload whose weight is not carried"):
        run(a, JOINTS["regressor"], ("payload",), x | {"payload": np.ones(10)})


def doubled(link: Link) -> Any:
    return replace(link.inertia, mass=2.0 * link.inertia.mass)


def test_the_tip_has_variants_too(chain: da.Arm, other: da.Arm) -> None:
    entry = TIP["jacobian"].of(OperationalSpace(chain, task=("x", "y")).space)
    x = state(chain, entry, (), np.random.default_rng(2))
    assert (
        relative(run(chain, entry, ("lengths",), x | {"lengths": other.lengths})[0], run(other, entry, (), x)[0])
        < 1e-12
    )


# -- by words --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planar() -> da.Arm:
    return da.load("planar-2r")


def test_a_batch_of_robots_equals_a_loop_over_them(planar: da.Arm) -> None:
    rng = np.random.default_rng(3)
    pi = planar.parameters * rng.uniform(0.8, 1.2, (3, 1, 26))
    gravity = rng.normal(size=(3, 1, 3))
    q, qd, qdd = rng.normal(size=(3, 5, 2))
    many = planar.variants(parameters=pi, gravity=gravity)
    tau = many.inverse_dynamics(q, qd, qdd)
    assert tau.shape == (3, 5, 2) and many.parameters is pi
    for k in range(3):
        one = planar.variants(parameters=pi[k, 0], gravity=gravity[k, 0]).inverse_dynamics(q, qd, qdd)
        assert relative(tau[k], one) < 1e-13
    assert relative(tau, np.einsum("...ij,...j->...i", many.regressor(q, qd, qdd), pi)) < 1e-12
    assert relative(many.forward_dynamics(q, qd, tau), np.broadcast_to(qdd, tau.shape)) < 1e-9
    assert repr(many).startswith("<Variants of <Arm 'planar-2r'")
    assert (pickle.loads(pickle.dumps(many)).inverse_dynamics(q, qd, qdd) == tau).all()


def test_scaled_parameters_scale_joint_by_joint() -> None:
    a = arm("terms")
    pi = a.scaled_parameters(mass=np.array([[2.0, 3.0], [1.0, 1.0]]), viscous=5.0, coulomb=[0.0, 1.0])
    names = a.parameter_names
    scale = dict(zip(names, pi[0] / np.where(a.parameters == 0.0, 1.0, a.parameters), strict=True))
    assert pi.shape == (2, len(names)) and scale["m_1"] == scale["Izz_1"] == 2.0 and scale["mx_2"] == pytest.approx(3.0)
    assert scale["Fv_1"] == 5.0 and pi[0][names.index("Fs_1")] == 0.0
    assert np.allclose(pi[1][26:], a.parameters[26:])
    with pytest.raises(ShapeError, match=r"mass has shape \(3,\), but arm 'random' has parameters of 2 joints"):
        a.scaled_parameters(mass=np.ones(3))


def test_derivatives_by_numbers_of_the_arm(planar: da.Arm) -> None:
    """∂τ/∂π is the regressor; the others are those of differences, of several outputs each by its name."""
    rng, h = np.random.default_rng(4), 1e-6
    q, qd, qdd = rng.normal(size=(3, 4, 2))
    by = tuple(VARIANTS)
    slopes = planar.derivatives("inverse_dynamics", by=by, q=q, qd=qd, qdd=qdd)
    assert relative(slopes["parameters"], planar.regressor(q, qd, qdd)) < 1e-12
    for name in by[1:]:
        at = own(planar)[name]
        assert slopes[name].shape == (4, 2, at.size)
        for k, step in enumerate(h * np.eye(at.size)):
            up, down = (planar.variants(**{name: at + s * step}).inverse_dynamics(q, qd, qdd) for s in (1.0, -1.0))
            expected = (up - down) / (2 * h)
            assert np.allclose(slopes[name][..., k], expected, atol=1e-6 * (1 + np.abs(expected).max())), (name, k)
    energies = planar.derivatives("body_energies", by=("gravity",), q=q, qd=qd)["gravity"]
    assert list(energies) == ["link_kinetic", "rotor_kinetic", "link_potential", "rotor_potential"]
    assert not energies["link_kinetic"].any() and energies["link_potential"].any()
    moon = planar.derivatives("potential_energy", by=("q",), q=q, gravity=[0.0, -1.62, 0.0])
    assert relative(moon["q"], planar.variants(gravity=[0.0, -1.62, 0.0]).gravity_torque(q)) < 1e-12


def test_a_gradient_step_calibrates(planar: da.Arm) -> None:
    """The gradient of ½ Σ (τ − τ_m)² by π, through a bound number, is Yᵀ (τ − τ_m)."""
    q, qd, qdd = np.random.default_rng(5).normal(size=(3, 6, 2))
    model = planar.variants(parameters=1.1 * planar.parameters)
    error = model.inverse_dynamics(q, qd, qdd) - planar.inverse_dynamics(q, qd, qdd)
    slope = model.gradient("inverse_dynamics", {"q": q, "qd": qd, "qdd": qdd}, error, by=("parameters",))
    assert relative(slope["parameters"], np.einsum("kij,ki->kj", planar.regressor(q, qd, qdd), error)) < 1e-12


def test_float32_stays_float32(planar: da.Arm) -> None:
    q, qd, qdd = np.random.default_rng(5).normal(size=(3, 6, 2)).astype(np.float32)
    single = planar.variants(parameters=planar.parameters.astype(np.float32))
    assert single.inverse_dynamics(q, qd, qdd).dtype == np.float32
    assert planar.gradient("potential_energy", {"q": q})["q"].dtype == np.float32
    slopes = planar.derivatives("potential_energy", by=("gravity",), q=q)["gravity"]
    assert slopes.dtype == np.float32
    assert np.allclose(
        slopes, planar.derivatives("potential_energy", by=("gravity",), q=q.astype(float))["gravity"], rtol=1e-5
    )


def test_lazy_arrays_stay_lazy(planar: da.Arm) -> None:
    dask = pytest.importorskip("dask.array")
    pi = planar.parameters * np.linspace(0.8, 1.2, 4)[:, None, None]
    q = np.random.default_rng(5).normal(size=(6, 2))
    later = planar.variants(parameters=dask.from_array(pi, chunks=(2, 1, 26))).gravity_torque(q)
    assert hasattr(later, "compute")
    assert relative(later.compute(), planar.variants(parameters=pi).gravity_torque(q)) < 1e-13
    for a in (planar, arm("newton")):
        q = a.home + 0.1 * q
        inputs, w = {"q": dask.from_array(q, chunks=(2, 1))}, np.ones((6, 2, 2))
        slope = a.gradient("inertia_matrix", inputs, w)["q"]
        assert hasattr(slope, "compute")
        assert relative(slope.compute(), a.gradient("inertia_matrix", {"q": q}, w)["q"]) < 1e-13


def test_derivatives_are_quantities_by_name(planar: da.Arm) -> None:
    """Kernels, prices and emitted code of them are asked for as those of others."""
    kernel = planar.kernel("potential_energy_gradient", options=("gravity",))
    q, g = np.array([0.3, 0.8]), np.array([0.0, -1.62, 0.0])
    assert relative(kernel(q, 1.0, g), planar.variants(gravity=g).gravity_torque(q)) < 1e-12
    assert planar.operations("inertia_matrix_jacobian").compiled.total > 0
    (header, *_) = planar.emit("gravity_torque", options=("parameters",)).files.values()
    assert "const double parameters[26]" in header and "dynamic parameters" in header
    with pytest.raises(
        DalembertError,
        match=r"there is no quantity 'mass'; the quantities are inverse_dynamics, .* or _jacobian appended",
    ):
        planar.kernel("mass_gradient")


def test_what_is_no_number_of_the_arm_is_named(planar: da.Arm) -> None:
    with pytest.raises(ShapeError, match=r"parameters has shape \(13,\), .* the last axis must be 26"):
        planar.variants(parameters=np.ones(13))
    with pytest.raises(
        DalembertError, match="lengths cannot be inputs of arm 'five-bar', because its loops are closed"
    ):
        arm("five-bar").variants(lengths=arm("five-bar").lengths)
    with pytest.raises(DalembertError, match="passive joints may have friction"):
        arm("newton").variants(parameters=arm("newton").parameters).friction_torque([0.0, 0.0])
    with pytest.raises(DalembertError, match="does not take 'mass'; its options are: parameters, lengths"):
        planar.kernel("inertia_matrix", options=("mass",))
    with pytest.raises(DalembertError, match="compact_regressor does not take 'gravity'; its options are: none"):
        planar.kernel("compact_regressor", options=("gravity",))
    with pytest.raises(TypeError, match="it cannot control a branch"):
        bool(Graph().input("x"))
    assert list(VARIANTS) == ["parameters", "lengths", "payload", "gravity", "gears"]


# -- second derivatives ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["terms", "newton"])
def test_second_derivatives_of_the_torque_by_differences(name: str) -> None:
    a, h = arm(name), 1e-5
    entry, first = JOINTS["torque_second_derivatives"], JOINTS["torque_derivatives"]
    x = state(a, entry, (), np.random.default_rng(7))
    n = a.n
    q_q, q_qd, qd_qd, q_qdd = (y.reshape(n, n, n) for y in run(a, entry, (), x))
    for y in (q_q, qd_qd):
        assert (y == y.transpose(0, 2, 1)).all()

    def slope(quantity: Any, by: str, k: int) -> list[np.ndarray]:
        ends = [run(a, quantity, (), x | {by: x[by] + s * h * np.eye(n)[k]}) for s in (1.0, -1.0)]
        return [(up - down).reshape(n, n) / (2 * h) for up, down in zip(*ends, strict=True)]

    for k in range(n):
        by_q, by_qd, (B,) = slope(first, "q", k), slope(first, "qd", k), slope(JOINTS["inertia_matrix"], "q", k)
        for found, expected in (
            (q_q[:, :, k], by_q[0]), (q_qd[:, k, :], by_q[1]), (qd_qd[:, :, k], by_qd[1]), (q_qdd[:, k, :], B),
        ):  # fmt: skip
            assert np.allclose(found, expected, atol=1e-6 * (1 + np.abs(found).max()))


def test_second_derivatives_are_christoffel_symbols(planar: da.Arm) -> None:
    """∂²τ/∂q̇_j∂q̇_k = c_ijk + c_ikj, and ∂²τ_i/∂q_j∂q̈_k = ∂b_ik/∂q_j."""
    q, qd, qdd = np.random.default_rng(8).normal(size=(3, 5, 2))
    second, c = planar.torque_second_derivatives(q, qd, qdd), planar.christoffel(q)
    assert relative(second.dqd_dqd, c + np.swapaxes(c, -1, -2)) < 1e-12
    rate = np.einsum("...ijk,...j->...ik", second.dq_dqdd, qd)
    assert relative(rate, planar.inertia_derivative(q, qd)) < 1e-12


def test_a_jacobian_is_the_same_both_ways() -> None:
    """By forward mode where there are fewer inputs than outputs, by reverse mode where there are more."""
    a, entry = arm("newton"), JOINTS["inertia_matrix"]
    x = state(a, entry, (), np.random.default_rng(2))
    pi = {"parameters": a.parameters}
    forward = run(a, derived.jacobian(entry), (), x)[0]
    back = run(a, derived.jacobian(entry, ("parameters",)), (), x | pi)
    assert relative(back[0], forward) < 1e-11 and back[1].size == a.n**2 * a.parameters.size


@pytest.mark.parametrize("name", ["planar-2r", "scara", "wrist", "five-bar"])
def test_a_rollout_of_variants_is_that_of_each_arm_alone(name: str) -> None:
    """Environments with their own masses and friction, in two states each."""
    a, rng = known_arm(name), np.random.default_rng(4)
    numbers = a.parameters * rng.uniform(0.9, 1.1, (3, 1, a.parameters.size))
    q, qd, tau = a.home + 0.1 + 0.01 * rng.normal(size=a.n), rng.normal(size=(2, a.n)), rng.normal(size=(3, 2, 20, a.n))
    many = a.variants(parameters=numbers).rollout(q, qd, tau, step=1e-3, steps=20, every=5)
    assert many[0].shape == (3, 2, 4, a.n)
    alone = da.simulate(a, q, qd, tau, 0.02, every=5, parameters=numbers)
    for found, expected in zip(many, (alone.q, alone.qd), strict=True):
        np.testing.assert_array_equal(found, expected[..., 1:, :])
    nominal = a.variants(parameters=a.parameters).rollout(q, qd, tau, step=1e-3, steps=20)
    for found, expected in zip(nominal, a.rollout(q, qd, tau, step=1e-3, steps=20), strict=True):
        assert relative(found, expected) < 1e-9


@pytest.mark.parametrize("number", ["lengths", "payload", "gravity", "gears"])
def test_a_rollout_of_variants_takes_every_number(number: str) -> None:
    a = known_arm("wrist")
    changed = own(a)[number] + 0.1 * np.array([0.0, 1.0])[:, None]
    q, _ = a.variants(**{number: changed}).rollout(np.full(a.n, 0.2), np.zeros(a.n), step=1e-3, steps=50)
    expected, _ = a.rollout(np.full(a.n, 0.2), np.zeros(a.n), step=1e-3, steps=50)
    assert relative(q[0], expected) < 1e-9 and np.abs(q[1] - q[0]).max() > 1e-9


def test_gradients_of_a_rollout_reach_the_masses_of_each_environment() -> None:
    """Backwards as forwards, and as differences; here by the calls that PyTorch and JAX use."""
    a, rng = da.load("planar-2r"), np.random.default_rng(5)
    numbers = a.parameters * np.linspace(0.9, 1.1, 3)[:, None]
    q, qd, tau = rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=(3, 10, 2))
    robots = a.variants(parameters=numbers)
    key, _ = robots._rollout_call("rk4", 1e-3, 10, 5, True, True)
    given, (w_q, w_qd) = [q, qd, tau, numbers], rng.normal(size=(2, 3, 2, 2))
    (slope,) = registered(key).derivative("gradient", ("parameters",)).run([*given, w_q, w_qd])
    direction = rng.normal(size=numbers.shape) * numbers
    along = registered(key).derivative("tangent", ("parameters",)).run([*given, direction])
    expected = np.sum(slope * direction, axis=-1)
    assert relative(sum(np.sum(w * t, axis=(1, 2)) for w, t in zip((w_q, w_qd), along, strict=True)), expected) < 1e-10

    def value(pi: np.ndarray) -> np.ndarray:
        motion = a.variants(parameters=pi).rollout(q, qd, tau, step=1e-3, steps=10, every=5)
        return sum(np.sum(w * x, axis=(1, 2)) for w, x in zip((w_q, w_qd), motion, strict=True))

    h = 1e-5
    assert relative((value(numbers + h * direction) - value(numbers - h * direction)) / (2 * h), expected) < 1e-6


def test_a_rollout_of_variants_refuses_what_arms_refuse() -> None:
    a = da.load("planar-2r")
    robots = a.variants(parameters=a.parameters * np.ones((3, 1)))
    with pytest.raises(DalembertError, match="every is 3 and steps is 4"):
        robots.rollout(np.zeros(2), np.zeros(2), step=1e-3, steps=4, every=3)
    with pytest.raises(ShapeError, match="these shapes do not broadcast"):
        robots.rollout(np.zeros((2, 2)), np.zeros(2), step=1e-3, steps=4)
    with pytest.raises(DalembertError, match=r"step is 0\.0"):
        robots.rollout(np.zeros(2), np.zeros(2), step=0.0, steps=4)
