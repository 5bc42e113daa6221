"""Every step of the Newton–Euler recursion: the equations of S 7.5 as identities, in both axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dalembert as da
from arms import DISTINCT, LOADED, arm, pulled, relative, states, with_terms
from dalembert.mechanics.coordinates import pulled as held
from dalembert.mechanics.equations.friction import friction
from dalembert.mechanics.equations.kinematics import frames
from dalembert.mechanics.equations.newton_euler import BaseMotion
from dalembert.mechanics.equations.recursion import NewtonEulerSteps, recursion
from dalembert.robot import Friction
from dalembert.robot.model.mechanism import Mechanism

NAMES = ("omega", "omega_dot", "p_dot", "p_ddot", "p_ddot_C", "omega_dot_m", "F", "M", "f", "mu")
STEP = 2e-3


def motion(m: Mechanism, seed: int) -> tuple[Callable[[float], tuple[list[float], ...]], np.ndarray]:
    """q(t), q̇(t), q̈(t) of a motion with constant accelerations, and a wrench at the tip."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-1.5, 1.5, (3, m.n))
    return lambda t: ((q + qd * t + qdd * t * t / 2).tolist(), (qd + qdd * t).tolist(), qdd.tolist()), rng.normal(
        size=6
    )


def slope(f: Callable[[float], Any]) -> np.ndarray:
    """df/dt at 0, sixth order."""
    a, b, c = (np.array(f(k * STEP)) - np.array(f(-k * STEP)) for k in (1, 2, 3))
    return (45 * a - 9 * b + c) / (60 * STEP)


def arrays(steps: NewtonEulerSteps) -> dict[str, np.ndarray]:
    return {name: np.array(getattr(steps, name), float).reshape(-1, 3) for name in NAMES}


def assert_near(x: Any, y: Any, tolerance: float, what: str) -> None:
    x, y = np.array(x, float), np.array(y, float)
    assert np.abs(x - y).max(initial=0.0) < tolerance * (1.0 + np.abs(y).max(initial=0.0)), what


@pytest.mark.parametrize("name", DISTINCT)
def test_velocities_and_accelerations_are_the_derivatives_of_the_frames(name: str) -> None:
    """S (7.93)–(7.103): ω, ṗ, ω̇, p̈, p̈_C and ω̇_m, by differences along a motion."""
    m = arm(name).mechanism.tree
    at, _ = motion(m, 1)
    x = arrays(recursion(m, *at(0.0), axes="base"))
    F = frames(m, at(0.0)[0])

    def places(t: float) -> np.ndarray:
        return np.array(frames(m, at(t)[0]).p)

    def rates(t: float) -> dict[str, np.ndarray]:
        return arrays(recursion(m, *at(t), axes="base"))

    assert_near(x["p_dot"], slope(places), 1e-8, "(7.94)")
    assert_near(x["p_ddot"] + m.gravity, slope(lambda t: rates(t)["p_dot"]), 1e-8, "(7.101)")
    assert_near(x["omega_dot"], slope(lambda t: rates(t)["omega"]), 1e-8, "(7.100)")
    for i, body in enumerate(m.bodies):
        spin = slope(lambda t, i=i: frames(m, at(t)[0]).R[i]) @ np.array(F.R[i]).T  # S(ω_i)
        assert_near(x["omega"][i], [spin[2, 1], spin[0, 2], spin[1, 0]], 1e-8, "(7.93)")

        def centre(t: float, i: int = i, com: Any = body.inertia.com) -> np.ndarray:
            G = frames(m, at(t)[0])
            w, v = (rates(t)[key][i] for key in ("omega", "p_dot"))
            return v + np.cross(w, G.R[i] @ com)

        assert_near(x["p_ddot_C"][i] + m.gravity, slope(centre), 1e-8, "(7.102)")

        def rotor(t: float, i: int = i, body: Any = body) -> np.ndarray:
            """ω_mi of S (7.23)"""
            G, e = frames(m, at(t)[0]), body.parent
            R = G.R[e] if e >= 0 else m.base.rotation
            return (rates(t)["omega"][e] if e >= 0 else np.zeros(3)) + body.gear * at(t)[1][i] * np.array(
                R @ body.rotor_axis
            )

        assert_near(x["omega_dot_m"][i], slope(rotor), 1e-8, "(7.103)")


@pytest.mark.parametrize("name", DISTINCT)
def test_newton_and_euler_hold_for_every_link(name: str) -> None:
    """S (7.87)–(7.92): forces and moments balance the change of momentum, which is found by differences."""
    m = arm(name).mechanism.tree
    assert not m.lifts, "a gas spring or counterweight exerts forces of its own"
    at, h = motion(m, 2)
    q, qd, qdd = at(0.0)
    steps = recursion(m, q, qd, qdd, h.tolist(), axes="base")
    x, F = arrays(steps), frames(m, q)

    def angular_momentum(t: float) -> np.ndarray:
        G, v, w = frames(m, at(t)[0]), at(t)[1], recursion(m, *at(t), axes="base").omega
        out = np.array([R @ (b.inertia.tensor @ (R.T @ w_i)) for R, b, w_i in zip(G.R, m.bodies, w, strict=True)])
        for r, b in enumerate(m.bodies):
            if b.has_rotor and not b.reflected and b.parent >= 0:
                out[b.parent] += b.gear * v[r] * b.rotor_inertia * np.array(G.R[b.parent] @ b.rotor_axis)
        return out

    change = slope(angular_momentum)  # (7.88), and with it (7.89), (7.90)
    for i, body in enumerate(m.bodies):
        p_C = np.array(F.p[i] + F.R[i] @ body.inertia.com)
        f, mu = x["f"][i], x["mu"][i] + np.cross(x["f"][i], p_C - F.p_joint[i])
        for c in m.children(i):
            f, mu = f - x["f"][c], mu - x["mu"][c] - np.cross(x["f"][c], p_C - F.p_joint[c])
        if i == m.tip_body:
            f, mu = f - h[:3], mu - h[3:] - np.cross(h[:3], p_C - F.p_tip)
        true = x["p_ddot_C"][i] + m.gravity
        assert_near(f + body.inertia.mass * np.array(m.gravity), body.inertia.mass * true, 1e-10, "(7.87)")
        assert_near(mu, change[i], 1e-7, "(7.91)")
        assert_near(x["F"][i], body.inertia.mass * x["p_ddot_C"][i], 1e-12, "F_i")
        I = np.array(F.R[i] @ body.inertia.tensor @ F.R[i].T)
        w, wd = x["omega"][i], x["omega_dot"][i]
        assert_near(x["M"][i], I @ wd + np.cross(w, I @ w), 1e-10, "M_i")
        load = (x["mu"] if body.revolute else x["f"])[i] @ F.z[i]
        R = F.R[body.parent] if body.parent >= 0 else m.base.rotation
        k, I_m, z_m = body.gear, body.rotor_inertia, np.array(R @ body.rotor_axis)
        load += k * k * I_m * qdd[i] if body.reflected else k * I_m * x["omega_dot_m"][i] @ z_m
        assert_near(steps.tau[i], load + friction(body, q[i], qd[i], load), 1e-10, "(7.92), (7.106)")


@pytest.mark.parametrize("name", DISTINCT)
def test_link_axes_and_base_axes_have_the_same_vectors(name: str) -> None:
    """M Table 2 against M Table 1 on a moving base, closed chains with the reactions of their loops."""
    a = arm(name)
    m, rng = a.mechanism, np.random.default_rng(3)
    q, qd, qdd = (x[0] for x in states(a, 1, 3, 1.0))
    base = BaseMotion(*rng.normal(size=(3, 3)).tolist())
    state = (a.placed(q).tolist(), qd.tolist(), qdd.tolist(), rng.normal(size=6).tolist(), base)
    in_link, in_base = (held.recursion(m, *state, axes=axes) for axes in ("link", "base"))
    R = np.array(frames(m.tree, a.tree_positions(q).tolist()).R)
    x, y = arrays(in_link), arrays(in_base)
    for key in NAMES:
        turn = R
        if key == "omega_dot_m":
            turn = np.array([R[b.parent] if b.parent >= 0 else m.base.rotation for b in m.tree.bodies])
        assert_near(np.einsum("nij,nj->ni", turn, x[key]), y[key], 1e-9, key)
    assert_near(in_link.tau, in_base.tau, 1e-9, "tau")
    contact = {"tip_wrench": state[3], "base_motion": np.ravel([base.omega, base.omega_dot, base.acceleration])}
    tau = a.inverse_dynamics(q, qd, qdd, **contact)
    assert_near(pulled(a, q, np.array(in_link.tau, float)), tau, 1e-9, "Γᵀ τ")


@pytest.mark.parametrize("name", ["five-bar", "parallelogram", "palletizer"])
def test_no_motor_is_needed_at_the_passive_joints_of_a_loop(name: str) -> None:
    a = arm(name)
    x = states(a, 5, 4)
    tau = a.recursion(*x).tau
    passive = [i for i in range(a.mechanism.tree.n) if i not in a.mechanism.actuated]
    assert np.abs(tau[:, passive]).max() < 1e-9 * np.abs(tau).max()
    assert relative(tau[:, list(a.mechanism.actuated)], a.inverse_dynamics(*x)) < 1e-10


@pytest.mark.parametrize("name", ["planar-2r", "pr-arm", "parallelogram"])
def test_the_method_gives_batches_of_every_step(name: str) -> None:
    a = arm(name)
    x = [array.reshape(2, 3, -1) for array in states(a, 6, 5)]
    h = np.random.default_rng(5).normal(size=6)
    for axes in ("link", "base"):
        steps = a.recursion(*x, tip_wrench=h, axes=axes)  # type: ignore[arg-type]
        assert {getattr(steps, key).shape for key in NAMES} == {(2, 3, a.mechanism.tree.n, 3)}
        one = held.recursion(a.mechanism, *(y[1, 2].tolist() for y in x), h.tolist(), axes=axes)
        for key in (*NAMES, "tau"):
            assert_near(getattr(steps, key)[1, 2], getattr(one, key), 1e-10, key)
        assert relative(pulled(a, x[0], steps.tau), a.inverse_dynamics(*x, tip_wrench=h)) < 1e-10
    assert relative(np.concatenate([a.recursion(*x).f, a.recursion(*x).mu], -1), a.joint_wrenches(*x)) < 1e-10


def test_other_axes_are_refused() -> None:
    with pytest.raises(da.DalembertError, match="axes is 'tip'; it must be 'link'"):
        arm("planar-2r").recursion([0, 0], [0, 0], [0, 0], axes="tip")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["parallelogram", "wrist"])
def test_friction_that_depends_on_the_load_is_that_of_the_drives(name: str) -> None:
    a = arm(name)
    terms = [LOADED[i % 2] if i in a.mechanism.actuated else Friction(0.1) for i in range(a.mechanism.tree.n)]
    a = da.Arm(with_terms(a.robot, terms))
    q, qd, qdd = (x[0] for x in states(a, 1, 6, 1.0))
    tau = held.recursion(a.mechanism, a.placed(q).tolist(), qd.tolist(), qdd.tolist()).tau
    assert relative(pulled(a, q, np.array(tau, float)), a.inverse_dynamics(q, qd, qdd)) < 1e-12
