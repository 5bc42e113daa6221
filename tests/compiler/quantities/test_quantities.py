"""B, C, g, direct dynamics, derivatives, energies and terms: identities over the registry, and Pinocchio."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from arms import (
    DISTINCT,
    FILES,
    MODELS,
    arm,
    friction,
    on_floats,
    pulled,
    random_inertia,
    random_placement,
    random_robot,
    relative,
    robots,
    states,
    tree_velocities,
)
from dalembert.compiler.graph.count import count
from dalembert.compiler.quantities.joints import JOINTS, known
from dalembert.compiler.quantities.machine import CHEAPEST, trace
from dalembert.mechanics.equations import articulated, composite, energy, forward_dynamics, lagrange, newton_euler
from dalembert.mechanics.equations import torque_terms as terms
from dalembert.mechanics.equations.factorisation import inert_joints, unresisted
from dalembert.robot import Inertia, Joint, Link, Placement, Robot, Rotor
from dalembert.robot.model.mechanism import Mechanism, mechanism
from dalembert.work.analysis import properties
from dalembert.work.analysis.price import chain
from test_dynamics import pin_oracle

TOLERANCE = 1e-10


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("...ij,...j->...i", A, x)


def slope(f, step: float = 1e-2):  # type: ignore[no-untyped-def]
    """Sixth-order central difference of f at 0."""
    h = step
    return (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h)


def resisting(name: str) -> da.Arm:
    """The arm; tx40.urdf gives its last link no inertia about its axis, so a rotor is added there."""
    a = arm(name)
    if name != "tx40.urdf":
        return a
    joints = tuple(
        Joint(**{**vars(j), "rotor": Rotor(1e-6, 45.0, reflected=True)}) if j.name == "joint_6" else j
        for j in a.robot.joints
    )
    return a.replace(joints=joints)


# kernels with hundreds of outputs take seconds to compile: a few arms of every kind stand for the rest,
# and random robots are run as floats below
FEW = ["planar-2r", "scara", "stanford", "puma560", "random-chain"]


@pytest.mark.parametrize("name", DISTINCT)
class TestIdentities:
    def test_the_model_in_matrix_form(self, name: str) -> None:
        """B q̈ + C q̇ + friction + g = τ, S (7.42)."""
        a = arm(name)
        q, qd, qdd = states(a, 25, 1)
        tau = times(a.inertia_matrix(q), qdd) + times(a.coriolis_matrix(q, qd), qd) + friction(a, q, qd)
        assert relative(tau + a.gravity_torque(q), a.inverse_dynamics(q, qd, qdd)) < TOLERANCE

    def test_forward_is_the_inverse_of_inverse(self, name: str) -> None:
        a = resisting(name)
        q, qd, qdd = states(a, 25, 2)
        h = np.random.default_rng(0).uniform(-5, 5, (25, 6))
        tau = a.inverse_dynamics(q, qd, qdd, tip_wrench=h)
        ways = ("composite", "articulated") if a.mechanism.identity else ("composite",)
        for way in (*ways, *((None,) if name in FEW else ())):  # None is one of the two
            if way == "articulated" and name not in FEW:
                accelerations = on_floats(a, "forward_dynamics", way, q=q, qd=qd, tau=tau, tip_wrench=h)
            else:
                accelerations = a.forward_dynamics(q, qd, tau, tip_wrench=h, formulation=way)
            again = a.inverse_dynamics(q, qd, accelerations, tip_wrench=h)  # well-posed even where B is nearly singular
            assert relative(again, tau) < 1e-9, way

    def test_inertia_matrix_all_ways(self, name: str) -> None:
        a = arm(name)
        q = states(a, 12, 3)[0]
        B = a.inertia_matrix(q)
        for way in ("column-by-column", "lagrange"):
            again = a.inertia_matrix(q, formulation=way) if name in FEW else on_floats(a, "inertia_matrix", way, q=q)
            assert relative(again, B) < TOLERANCE
        assert np.abs(properties.asymmetry(a, q)).max() <= 1e-12 * np.abs(B).max()
        # tx40.urdf rounds the inertia of its last link to zero: about its own axis it has none
        assert properties.smallest_inertia(a, q).min() > (-1e-12 if name == "tx40.urdf" else 0.0)

    def test_inertia_derivative_by_differences(self, name: str) -> None:
        a = arm(name)
        q, qd, _ = states(a, 8, 5)
        expected = slope(lambda s: a.inertia_matrix(q + s * qd))
        assert np.allclose(a.inertia_derivative(q, qd), expected, atol=1e-8 * (1 + np.abs(expected).max()))

    def test_torque_derivatives_by_differences(self, name: str) -> None:
        a = arm(name)
        q, qd, qdd = states(a, 4, 6)
        dq, dqd = a.torque_derivatives(q, qd, qdd)
        for k, e in enumerate(np.eye(a.n)):
            expected = slope(lambda s, e=e: a.inverse_dynamics(q + s * e, qd, qdd))
            assert np.allclose(dq[..., k], expected, atol=1e-7 * (1 + np.abs(expected).max()))
            smooth = slope(lambda s, e=e: a.inverse_dynamics(q, qd + s * e, qdd) - friction(a, q, qd + s * e))
            if name == "terms":  # all friction but the jump of Coulomb's is smooth
                expected = slope(lambda s, e=e: a.inverse_dynamics(q, qd + s * e, qdd), 2e-3)
                assert np.allclose(dqd[..., k], expected, atol=1e-7 * (1 + np.abs(expected).max()))
                continue
            levels = np.array([body.viscous for body in a.mechanism.tree.bodies])
            viscous = pulled(a, q, levels * tree_velocities(a, q, np.broadcast_to(e, q.shape)))
            assert np.allclose(dqd[..., k], smooth + viscous, atol=1e-8 * (1 + np.abs(smooth).max()))

    def test_energies(self, name: str) -> None:
        a = resisting(name)
        q, qd, qdd = states(a, 10, 8)
        T = 0.5 * np.einsum("ki,kij,kj->k", qd, a.inertia_matrix(q), qd)
        assert relative(a.kinetic_energy(q, qd), T) < TOLERANCE
        fall = np.stack([slope(lambda s, e=e: a.potential_energy(q + s * e)) for e in np.eye(a.n)], -1)
        assert np.allclose(a.gravity_torque(q), fall, atol=1e-8 * (1 + np.abs(fall).max()))
        h = np.random.default_rng(1).uniform(-5, 5, (10, 6))
        tau = a.inverse_dynamics(q, qd, qdd, tip_wrench=h)
        power = np.abs(np.einsum("ki,ki->k", qd, tau)).max()
        assert np.abs(properties.energy_defect(a, q, qd, tau, h)).max() < 1e-8 * (1 + power)


@pytest.mark.parametrize("name", FEW)
class TestLargeKernels:
    def test_terms_sum_to_the_torque(self, name: str) -> None:
        a = arm(name)
        q, qd, qdd = states(a, 10, 9)
        h = np.random.default_rng(2).uniform(-5, 5, (10, 6))
        t = a.torque_terms(q, qd, qdd, tip_wrench=h)
        assert relative(t.total, a.inverse_dynamics(q, qd, qdd, tip_wrench=h)) < TOLERANCE
        assert relative(t.inertia + t.rotor, a.inertia_matrix(q) * qdd[:, None, :]) < TOLERANCE
        c = a.christoffel(q)
        assert np.allclose(t.centrifugal, np.einsum("kijj,kj->kij", c, qd**2), atol=1e-9)
        for j in range(a.n):
            for k in range(a.n):
                pair = 2 * c[:, :, j, k] * (qd[:, j] * qd[:, k])[:, None] if j < k else 0.0
                assert np.allclose(t.coriolis[:, :, j, k], pair, atol=1e-9)
        assert np.allclose(t.friction, a.friction_torque(qd))
        assert np.allclose(t.contact, np.einsum("kij,ki->kj", a.jacobian(q), h), atol=1e-9)
        assert a.torque_terms(q, qd, qdd).contact.max() == 0.0

    def test_forward_derivatives_by_differences(self, name: str) -> None:
        a = resisting(name)
        q, qd, qdd = states(a, 3, 7, scale=1.0)
        tau = a.inverse_dynamics(q, qd, qdd)
        dq, dqd, dtau = a.forward_derivatives(q, qd, tau)
        assert relative(dtau @ a.inertia_matrix(q), np.broadcast_to(np.eye(a.n), dtau.shape)) < 1e-8
        for k, e in enumerate(np.eye(a.n)):
            by_q = slope(lambda s, e=e: a.forward_dynamics(q + s * e, qd, tau), 2e-3)
            by_qd = slope(lambda s, e=e: a.forward_dynamics(q, qd + s * e, tau + a.friction_torque(qd + s * e)), 2e-3)
            by_qd[..., :] -= np.einsum("kij,j->ki", dtau, np.eye(a.n)[k] * a.mechanism.bodies[k].viscous)
            assert np.allclose(dq[..., k], by_q, atol=3e-6 * (1 + np.abs(by_q).max()))
            assert np.allclose(dqd[..., k], by_qd, atol=3e-6 * (1 + np.abs(by_qd).max()))

    def test_christoffel_choice(self, name: str) -> None:
        """(7.48) for the Christoffel C; its failure and (7.49) for another; h_iii = 0, h_ikm = h_imk."""
        a = arm(name)
        q, qd, _ = states(a, 12, 4)
        size = 1e-12 + np.abs(a.inertia_derivative(q, qd)).max()
        other = properties.another_coriolis_matrix(a, q, qd)
        assert relative(times(other, qd), times(a.coriolis_matrix(q, qd), qd)) < 1e-9 or size < 1e-9
        assert np.abs(properties.skew_defect(a, q, qd)).max() < TOLERANCE * size
        assert np.abs(properties.quadratic_defect(a, q, qd)).max() < 1e-9 * size
        assert np.abs(properties.quadratic_defect(a, q, qd, other)).max() < 1e-9 * size
        if size > 1e-6:
            assert np.abs(properties.skew_defect(a, q, qd, other)).max() > 1e-3 * size
        c = a.christoffel(q)
        h = a.velocity_coefficients(q)  # (7.41): its symmetric part is (7.45)
        assert np.abs(h + np.swapaxes(h, -1, -2) - 2 * c).max() <= 1e-11 * (1 + np.abs(c).max())
        assert np.abs(properties.own_centrifugal(a, q)).max() <= 1e-11 * (1 + np.abs(c).max())
        assert np.abs(properties.order_defect(a, q)).max() <= 1e-11 * (1 + np.abs(c).max())
        assert relative(np.einsum("kijl,kl->kij", c, qd), a.coriolis_matrix(q, qd)) < TOLERANCE or size < 1e-9


@settings(max_examples=30)
@given(robots(10), st.integers(0, 10**6))
def test_random_robots_as_floats(robot: Robot, seed: int) -> None:
    """Composite, articulated, Lagrange and Newton–Euler agree on any tree, with every kind of rotor."""
    m = mechanism(robot)
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-2, 2, (3, m.n)).tolist()
    h = rng.uniform(-3, 3, 6).tolist()
    tau = newton_euler.inverse_dynamics(m, q, qd, qdd, h)
    assert relative(forward_dynamics.forward_dynamics(m, q, qd, tau, h), qdd) < 1e-7
    assert relative(articulated.forward_dynamics(m, q, qd, tau, h), qdd) < 1e-7
    assert relative(forward_dynamics.as_in_the_book(m, q, qd, tau, h), qdd) < 1e-7
    B = np.array(composite.inertia_matrix(m, q))
    assert relative(B, lagrange.inertia_matrix(m, q)) < TOLERANCE
    C = np.array(composite.coriolis_matrix(m, q, qd))
    assert np.abs(C - np.array(lagrange.coriolis_matrix(m, q, qd))).max() < 1e-10 * (1 + np.abs(C).max())
    assert abs(energy.kinetic_energy(m, q, qd) - 0.5 * np.array(qd) @ B @ qd) < 1e-10 * (1 + np.abs(B).max())
    parts = [np.array(t, float) for t in terms.torque_terms(m, q, qd, qdd, h)]
    total = sum(p.reshape(m.n, -1).sum(1) for p in parts)
    assert relative(total, tau) < TOLERANCE


@pytest.mark.parametrize("name", FILES)
def test_against_pinocchio(name: str) -> None:
    """Every quantity that Pinocchio has, on the URDF arms."""
    a, oracle = pin_oracle(name)
    model, data, back, order = oracle.model, oracle.data, oracle.back, oracle.order
    grid = np.ix_(back, back)
    friction_free = a.replace(joints=tuple(Joint(**{**vars(j), "friction": da.Friction()}) for j in a.robot.joints))
    singular = name == "tx40.urdf"
    for q, qd, qdd in zip(*states(a, 6, 10), strict=True):
        Q, V, A = oracle.q(q), qd[order], qdd[order]
        M = pin.crba(model, data, Q)
        M = np.triu(M) + np.triu(M, 1).T
        assert relative(a.inertia_matrix(q), M[grid]) < TOLERANCE
        C = pin.computeCoriolisMatrix(model, data, Q, V)
        # Pinocchio's C is another factorisation: the products agree, and so do the symmetric parts
        assert relative(a.coriolis_matrix(q, qd) @ qd, (C @ V)[back]) < 1e-9
        mine = a.coriolis_matrix(q, qd)
        assert relative(mine + mine.T, (C + C.T)[grid]) < 1e-9
        pin.computeRNEADerivatives(model, data, Q, V, A)
        dq, dqd = friction_free.torque_derivatives(q, qd, qdd)
        assert relative(dq, data.dtau_dq[grid]) < TOLERANCE
        assert relative(dqd, data.dtau_dv[grid]) < TOLERANCE
        assert a.kinetic_energy(q, qd) == pytest.approx(pin.computeKineticEnergy(model, data, Q, V), rel=1e-10)
        if not singular:
            assert relative(friction_free.forward_dynamics(q, qd, qdd), pin.aba(model, data, Q, V, A)[back]) < 1e-8
            pin.computeABADerivatives(model, data, Q, V, A)
            fq, fqd, ft = friction_free.forward_derivatives(q, qd, qdd)
            assert relative(fq, data.ddq_dq[grid]) < 1e-7
            assert relative(fqd, data.ddq_dv[grid]) < 1e-7
            full = np.triu(data.Minv) + np.triu(data.Minv, 1).T
            assert relative(ft, full[grid]) < 1e-7
    # potential energies differ by a constant
    qs = states(a, 5, 11)[0]
    theirs = np.array([pin.computePotentialEnergy(model, data, oracle.q(q)) for q in qs])
    ours = a.potential_energy(qs)
    assert np.allclose(ours - ours[0], theirs - theirs[0], atol=1e-9 * (1 + np.abs(theirs).max()))


def test_the_cheaper_way_is_taken() -> None:
    entry = JOINTS["forward_dynamics"]
    for a, expected in ((da.load("stanford"), "composite"), (arm("random-chain"), None)):
        totals = {w: count(trace(a.mechanism, entry, w)).total for w in ("composite", "articulated")}
        assert entry.choice(None, a.mechanism) == CHEAPEST
        taken = count(trace(a.mechanism, entry)).total
        assert taken == min(totals.values())
        if expected:
            assert taken == totals[expected]


def comb(teeth: int, joints: int) -> Mechanism:
    """A spine of ``teeth`` joints with a chain of ``joints`` at each: many joints, none of them deep."""
    rng = np.random.default_rng(3)
    links, axes = [Link("base")], []

    def grow(parent: str, count: int, name: str) -> str:
        for k in range(count):
            links.append(Link(f"{name}{k}", random_inertia(rng)))
            axes.append(Joint(f"joint {name}{k}", "revolute", parent, f"{name}{k}", random_placement(rng)))
            parent = f"{name}{k}"
        return parent

    spine = "base"
    for k in range(teeth):
        spine = grow(spine, 1, f"spine{k}.")
        grow(spine, joints, f"tooth{k}.")
    return da.Arm(Robot("comb", tuple(links), tuple(axes))).mechanism


DEEP_AND_FLAT = {
    "chain of 12": lambda: chain(12).mechanism,
    "chain of 20": lambda: chain(20).mechanism,
    "planar chain of 20": lambda: da.from_dh([{"a": 0.3, "mass": 1.0, "com": (0.1, 0.02, 0.0)}] * 20).mechanism,
    "chain of 22, rotors and slides": lambda: da.Arm(random_robot(np.random.default_rng(2), 22, tree=False)).mechanism,
    "tree of 30": lambda: da.Arm(random_robot(np.random.default_rng(1), 30)).mechanism,
    "comb of 6 × 4": lambda: comb(6, 4),
}


@pytest.mark.parametrize("name", DEEP_AND_FLAT)
def test_what_depth_decides_is_the_cheaper_formulation(name: str) -> None:
    """Articulated bodies for deep trees, without tracing the others; where it is not clear, both are traced."""
    m, entry = DEEP_AND_FLAT[name](), JOINTS["forward_dynamics"]
    deep = name not in ("chain of 12", "tree of 30", "comb of 6 × 4")
    assert entry.rivals(m) == (("articulated",) if deep else ("composite", "articulated"))
    assert entry.choice(None, m) == ("articulated" if deep else CHEAPEST)
    totals = {way: count(trace(m, entry, way)).total for way in ("composite", "articulated")}
    assert count(trace(m, entry)).total == min(totals.values())


def test_shipped_arms_are_shallow() -> None:
    """Their formulations are counted, as they always were."""
    arms = [da.load(name) for name in da.arms()]
    rivals = {JOINTS["forward_dynamics"].rivals(a.mechanism) for a in arms if a.mechanism.identity}
    assert rivals == {("composite", "articulated")}


def test_a_chain_of_30_joints_falls_as_its_inertia_matrix_says() -> None:
    """Compiled articulated bodies, the choice for deep trees, against B and τ of floats, and against compiled torques."""
    a = chain(30)
    assert a.kernel("forward_dynamics") is a.kernel("forward_dynamics", formulation="articulated")
    q, qd, tau = states(a, 4, scale=0.5)
    qdd = a.forward_dynamics(q, qd, tau)
    rows = zip(q.tolist(), qd.tolist(), tau.tolist(), strict=True)
    page = np.array([forward_dynamics.forward_dynamics(a.mechanism, *row) for row in rows])
    assert relative(qdd, page) < 1e-7
    assert relative(a.inverse_dynamics(q, qd, qdd), tau) < 1e-7


def test_every_quantity_has_a_method_and_words() -> None:
    for name, entry in known(da.load("panda").mechanism).items():
        assert hasattr(da.Arm, name), name
        assert entry.summary


def massless(rotor: Rotor | None = None) -> da.Arm:
    links = (Link("base"), Link("arm", Inertia(1.0, (0.1, 0, 0))), Link("flange"))
    joints = (
        Joint("shoulder", "revolute", "base", "arm"),
        Joint("wrist", "revolute", "arm", "flange", rotor=rotor),
    )
    return da.Arm(Robot("hollow", links, joints))


def test_a_part_without_inertia_is_named_when_it_matters() -> None:
    a = massless()
    assert a.inverse_dynamics([0.1, 0.2], [1, 1], [1, 1]).shape == (2,)
    for ask in (a.forward_dynamics, a.forward_derivatives):
        with pytest.raises(da.SingularInertiaError, match="arm 'hollow' has no B⁻¹: no inertia resists joint wrist"):
            ask([0.1, 0.2], [1, 1], [1, 1])
    with pytest.raises(da.SingularInertiaError, match="no inertia resists joint y_2"):
        a.in_coordinates(np.eye(2)).forward_dynamics([0.1, 0.2], [1, 1], [1, 1])
    if MODELS.exists():  # a point mass on the axis resists as little
        with pytest.raises(da.SingularInertiaError, match="no inertia resists joint joint_6"):
            arm("tx40.urdf").forward_dynamics(*np.zeros((3, 6)))
    assert np.isfinite(massless(Rotor(0.01, 10.0)).forward_dynamics([0.1, 0.2], [1, 1], [1, 1])).all()


def slide_with_rotor(mass: float, rotor: float, length: float = 1.0, weight: float = 1.0) -> da.Arm:
    """A slide that carries a body on a vertical pivot, with lengths and masses in other units."""
    moment = weight * rotor * length**2
    tensor = ((moment, 0.0, 0.0), (0.0, moment, 0.0), (0.0, 0.0, moment))
    links = (Link("base"), Link("slide", Inertia(weight * mass)), Link("rotor", Inertia(weight * 1.0, tensor=tensor)))
    joints = (Joint("x", "prismatic", "base", "slide", axis=(1, 0, 0)), Joint("turn", "revolute", "slide", "rotor"))
    return da.Arm(Robot("carriage", links, joints))


def test_a_heavy_slide_may_carry_a_tiny_rotor() -> None:
    """1000 kg beside 1e-12 kg m²: neither says anything about the other."""
    a = slide_with_rotor(1000.0, 1e-12)
    assert np.allclose(a.forward_dynamics([0.3, 0.2], [0, 0], [1001.0, 2e-12]), [1.0, 2.0], rtol=1e-12)
    assert np.allclose(a.forward_derivatives([0.3, 0.2], [0, 0], [0, 0])[2], [[1 / 1001, 0], [0, 1e12]], rtol=1e-12)
    assert a.operational_space(task="x").inertia([0.3, 0.2]).item() == pytest.approx(1001.0)
    with pytest.raises(da.SingularInertiaError, match="no inertia resists joint turn;"):
        slide_with_rotor(1000.0, 0.0).forward_dynamics([0, 0], [0, 0], [0, 0])


def scaled(robot: Robot, length: float, mass: float) -> Robot:
    """The same robot with its lengths and masses given in other units."""

    def place(p: Placement) -> Placement:
        return Placement(p.rotation, tuple(length * x for x in p.translation))  # type: ignore[arg-type]

    def body(b: Inertia) -> Inertia:
        moments = mass * length**2 * np.array(b.tensor)
        return Inertia(mass * b.mass, tuple(length * x for x in b.com), moments.tolist())  # type: ignore[arg-type]

    links = tuple(replace(link, inertia=body(link.inertia)) for link in robot.links)
    joints = tuple(
        replace(j, placement=place(j.placement), link_frame=place(j.link_frame), rotor=None) for j in robot.joints
    )
    return robot.replace(links=links, joints=joints)


@pytest.mark.parametrize("seed", [3, 5, 10, 11])
def test_no_unit_of_length_or_mass_changes_which_joints_nothing_resists(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 6, tree=seed % 2 == 1, extras=False)
    hollow = robot.links[-1].name  # a leaf without mass: nothing resists its joint
    weak = robot.replace(links=tuple(replace(x, inertia=Inertia()) if x.name == hollow else x for x in robot.links))
    (last,) = (
        k
        for k, body in enumerate(mechanism(robot).bodies)
        for j in robot.joints
        if (j.name, j.child) == (body.name, hollow)
    )
    assert {"revolute", "prismatic"} <= {j.type for j in robot.joints}
    for length in (1e-9, 1e-3, 1.0, 1e3, 1e9):
        for mass in (1e-9, 1.0, 1e9):
            assert inert_joints(mechanism(scaled(robot, length, mass))) == []
            assert last in inert_joints(mechanism(scaled(weak, length, mass)))


@pytest.mark.parametrize("seed", range(20))
def test_no_unit_of_a_single_joint_changes_which_joints_nothing_resists(seed: int) -> None:
    """D B D has the verdict of B for every diagonal D."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 8))
    A[rng.integers(0, 6, 2)] = 0.0  # one or two joints that move nothing
    A[5] = A[4] if seed % 2 else A[5]  # two that move the same
    B = A @ A.T
    bounds = np.diag(B) + (np.diag(B) == 0)
    weak = unresisted(B.tolist(), bounds.tolist())
    assert len(weak) == 6 - np.linalg.matrix_rank(A)
    for _ in range(10):
        D = 10.0 ** rng.uniform(-9, 9, 6)
        assert unresisted((D[:, None] * B * D).tolist(), (D**2 * bounds).tolist()) == weak


def test_a_closed_chain_is_judged_by_each_joint_in_its_own_unit() -> None:
    """The parallelogram on a heavy slide, its links made lighter and lighter; and one of them made massless."""
    base = da.load("parallelogram").robot
    for weight in (1.0, 1e-15):
        links = [scaled(base, 1.0, weight).links[0], Link("slide", Inertia(1e3)), *scaled(base, 1.0, weight).links[1:]]
        first = [replace(j, parent="slide") if j.parent == base.root else j for j in scaled(base, 1.0, weight).joints]
        slide = Joint("slide", "prismatic", base.root, "slide", axis=(0, 0, 1))
        loops = tuple(replace(x, link_a="slide") if x.link_a == base.root else x for x in base.loops)
        a = da.Arm(base.replace(links=tuple(links), joints=(slide, *first), loops=loops))
        assert a.n == 3 and a._inert == []
    hollow = base.replace(links=tuple(replace(x, inertia=Inertia()) for x in base.links))
    weak = da.Arm(hollow.replace(joints=tuple(replace(j, rotor=None) for j in hollow.joints)))
    with pytest.raises(da.SingularInertiaError, match="no inertia resists joint joint1', joint1''"):
        weak.forward_dynamics([0.2, 1.2], [0, 0], [0, 0])


# -- S 7.3.2, in numbers --------------------------------------------------------------------------


def test_two_link_planar_arm_of_section_7_3_2() -> None:
    a = da.load("planar-2r")
    q = np.random.default_rng(0).uniform(-3, 3, (20, 2))
    qd = np.random.default_rng(1).uniform(-3, 3, (20, 2))
    h = -50 * 1.0 * 0.5 * np.sin(q[:, 1])
    C = np.stack([np.stack([h * qd[:, 1], h * qd.sum(1)], -1), np.stack([-h * qd[:, 0], 0 * h], -1)], -2)
    assert np.allclose(a.coriolis_matrix(q, qd), C, atol=1e-12)
    N = np.stack(
        [
            np.stack([0 * h, -2 * h * qd[:, 0] - h * qd[:, 1]], -1),
            np.stack([2 * h * qd[:, 0] + h * qd[:, 1], 0 * h], -1),
        ],
        -2,
    )
    assert np.allclose(properties.skew_part(a, q, qd), N, atol=1e-11)
    t = a.torque_terms(q, qd, qd)
    assert np.all(t.coriolis[:, 1] == 0.0)  # the Coriolis effect is present only at joint 1
    assert np.ptp(t.inertia[:, 1, 1] / qd[:, 1]) < 1e-12  # b_22 is constant
    assert np.allclose(t.rotor / qd[:, None, :], [[100**2 * 0.01, 100 * 0.01], [100 * 0.01, 100**2 * 0.01]])


@pytest.mark.parametrize("name", ["planar-2r", "scara", "random-chain"])
def test_coefficients_of_the_paper_are_arrays(name: str) -> None:
    """M's D, h, c and D_rot, D_tran, h_tran, h_rot, c give the same torques and the same B, C, g."""
    a = arm(name)
    q, qd, qdd = states(a, 7, 12)
    m, d = a.lagrange_euler(q), a.dalembert(q, qd)
    assert m.h.shape == (7, a.n, a.n, a.n)
    smooth = a.inverse_dynamics(q, qd, qdd) - a.friction_torque(qd)
    assert relative(times(m.D, qdd) + np.einsum("kijl,kj,kl->ki", m.h, qd, qd) + m.c, smooth) < TOLERANCE
    assert relative(times(d.D_rot + d.D_tran, qdd) + d.h_tran + d.h_rot + d.c, smooth) < TOLERANCE
    assert relative(m.D, a.inertia_matrix(q)) < TOLERANCE
    assert np.allclose(m.h, a.christoffel(q), atol=1e-9)
    assert relative(m.c, a.gravity_torque(q)) < TOLERANCE


def test_several_large_results_share_one_block() -> None:
    """Freed in pieces they would cost a page fault a page at the next call; small ones are NumPy's own."""
    a = da.load("planar-2r")
    x = states(a, 30_000, 13)
    dq, dqd = a.torque_derivatives(*x)
    assert dq.base is not None and dq.base is dqd.base
    for mine, plain in zip((dq, dqd), a.kernel("torque_derivatives")(*x), strict=True):
        assert np.array_equal(mine, plain)
    assert a.torque_derivatives(*(v[:3] for v in x))[0].base is None
    assert a.torque_derivatives(*(v.astype(np.float32) for v in x))[1].dtype == np.float32


@pytest.mark.parametrize("name", DISTINCT)
def test_velocity_product_matrix_times_products_is_the_coriolis_torque(name: str) -> None:
    """S (7.117): C(q, q̇) q̇ = Γ(q) [q̇q̇], on closed and coupled arms too."""
    a = arm(name)
    q, qd, _ = states(a, 3, 12)
    Gamma = on_floats(a, "velocity_product_matrix", "composite", q=q)
    assert Gamma.shape == (3, a.n, a.n * (a.n + 1) // 2) and len(a.velocity_product_names) == Gamma.shape[-1]
    C = on_floats(a, "coriolis_matrix", "composite", q=q, qd=qd)
    torque = np.einsum("kij,kj->ki", C, qd)
    assert relative(np.einsum("kij,kj->ki", Gamma, a.velocity_products(qd)), torque) < 1e-12


def test_velocity_product_matrix_is_compiled() -> None:
    for name in ("planar-2r", "five-bar"):
        a = arm(name)
        q = states(a, 4, 13)[0]
        assert relative(a.velocity_product_matrix(q), on_floats(a, "velocity_product_matrix", "composite", q=q)) < 1e-12
    assert a.velocity_products(np.float32([1, 2])).dtype == np.float32
