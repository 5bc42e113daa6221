"""Controllers on another model than the arm's, feedforward, and control by S 7.2's skew-symmetry, with adaptation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import dalembert as da
from arms import arm, states
from dalembert.errors import DalembertError, ShapeError
from dalembert.work.simulation.fixed import compiled, stepped
from test_simulation import task_of

ARMS = ["planar-2r", "puma560", "wrist", "five-bar"]
KP, KD = 60.0, 14.0


@cache
def motion_of(name: str, size: float = 0.15):  # type: ignore[no-untyped-def]
    """A smooth motion around the arm's home."""
    a = arm(name)
    w, phase = 3.0 + 0.7 * np.arange(a.n), 0.4 * np.arange(a.n)

    def motion(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = np.asarray(t)[:, None] * w + phase
        return a.home + size * np.sin(x), size * w * np.cos(x), -size * w * w * np.sin(x)

    return motion


def start(name: str) -> tuple[np.ndarray, np.ndarray]:
    q, qd, _ = motion_of(name)(np.zeros(1))
    return q[0], qd[0]


def damping(a: da.Arm, rate: float) -> np.ndarray:
    """K_D that lets s decay at about this rate (1/s)."""
    return rate * np.diagonal(a.inertia_matrix(a.home))


@cache
def with_friction() -> da.Arm:
    """The planar arm with dry friction and stops that it comes to."""
    a = arm("planar-2r")
    friction, limits = da.Friction(20.0, (15.0, 10.0)), da.Limits(lower=-0.1, upper=0.12)
    return a.replace(joints=tuple(replace(j, friction=friction, limits=limits) for j in a.robot.joints))


def both_ways(task) -> list[float]:  # type: ignore[no-untyped-def]
    """The largest differences of all parts of the state between the compiled loop and the same steps from Python."""
    ways = (way(task, task.initial_state) for way in (compiled, stepped))
    return [float(np.abs(x - y).max()) for x, y in zip(*ways, strict=True)]


# -- another model -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARMS)
def test_every_law_is_that_of_its_model(name: str) -> None:
    """The torque depends on the arm that is driven only through its state."""
    a = arm(name)
    model, motion = a.with_payload(0.7, (0.1, 0.0, 0.05)), motion_of(name)
    q, qd, _ = states(a, 4, 1)
    t = np.array([0.0, 0.3, 0.5, 0.9])
    q_d, qd_d, qdd_d = motion(t)
    e, ed = q_d - q, qd_d - qd
    smooth, zero = da.Arm(model.robot), np.zeros_like(q)
    y = qdd_d + KD * ed + KP * e
    dry = smooth.inverse_dynamics(q, qd, y)  # friction of both directions is compared below, where there is none
    laws = {
        "pd": (da.PD(KP, KD, motion, model=model), model.inverse_dynamics(q, zero, zero) + KP * e + KD * ed),
        "feedforward": (
            da.Feedforward(motion, KP, KD, model=model),
            model.inverse_dynamics(q_d, qd_d, qdd_d) + KP * e + KD * ed,
        ),
        "passivity": (
            da.Adaptive(KD, 5.0, 0.0, motion, model=model),
            model.reference_torque(q, qd, qd_d + 5.0 * e, qdd_d + 5.0 * ed) + KD * (ed + 5.0 * e),
        ),
    }
    if not any(any(body.coulomb) or body.further for body in a.mechanism.tree.bodies):
        laws["computed"] = (da.ComputedTorque(KP, KD, motion, model=model), dry)
    for law, (control, expected) in laws.items():
        tau = control.torque(a, t, q, qd)
        assert np.allclose(tau, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max()), law
        assert np.allclose(tau, control.torque(a.replace(gravity=(1.0, 2.0, 3.0)), t, q, qd)), law


@pytest.mark.parametrize("name", ["planar-2r", "five-bar"])
def test_approximate_models_drive_the_whole_arm(name: str) -> None:
    """Computed torque whose model leaves terms out: B (y − q̈) is what the model's torque lacks at (q, q̇, y)."""
    a, motion = arm(name), motion_of(name)
    model = a.approximate(drop=("coriolis", "off-diagonal"))
    run = da.simulate(a, *start(name), da.ComputedTorque(KP, KD, motion, model=model), 0.1, friction=False)
    _, qd_d, qdd_d = motion(run.t)
    y = qdd_d + KD * (qd_d - run.qd) + KP * run.tracking_error
    lack = a.inverse_dynamics(run.q, run.qd, y) - model.inverse_dynamics(run.q, run.qd, y)
    inertia = np.einsum("tij,tj->ti", a.inertia_matrix(run.q), y - run.qdd)
    assert run.largest_tracking_error.max() > 1e-6
    assert np.allclose(inertia, lack, atol=1e-9 * np.abs(run.tau).max())
    with pytest.raises(DalembertError, match="omits coriolis, off-diagonal terms, but the law relies on"):
        da.simulate(a, *start(name), da.Adaptive(1.0, 1.0, 0.0, motion, model=model), 0.1)
    with pytest.raises(DalembertError, match="reference_torque is not defined for an approximate model"):
        model.reference_torque(a.home, *[np.zeros(a.n)] * 3)


@pytest.mark.parametrize("method", ["rk4", "dop853", "variational"])
def test_the_arm_itself_as_model_changes_nothing(method: str) -> None:
    a, motion = arm("planar-2r"), motion_of("planar-2r")
    for law in (da.PD, da.ComputedTorque):
        runs = [
            da.simulate(a, *start("planar-2r"), law(KP, KD, motion, model=model), 0.2, method=method, step=5e-3)  # type: ignore[arg-type]
            for model in (None, da.Arm(a.robot))
        ]
        assert np.abs(runs[0].q - runs[1].q).max() < 1e-13 and np.abs(runs[0].tau - runs[1].tau).max() < 1e-9


@pytest.mark.parametrize("method", ["rk4", "dop853", "variational"])
def test_what_a_wrong_payload_leaves_is_what_the_model_lacks(method: str) -> None:
    """At rest B̂ K_p e = g − ĝ (computed torque) and K_p e = g − ĝ (PD, feedforward): the error that results."""
    model = da.load("planar-2r").replace(gravity=(0.0, -9.81, 0.0))
    a, pose, kp = model.with_payload(8.0), np.array([0.4, 0.3]), 400.0
    less = {"method": method, "step": 4e-3, "every": 5}
    run = da.simulate(a, pose, None, da.ComputedTorque(kp, 40.0, pose, model=model), 1.6, **less)  # type: ignore[arg-type]
    q = run.q[-1]
    lack = a.gravity_torque(q) - model.gravity_torque(pose * 0 + q)
    assert np.allclose(model.inertia_matrix(q) @ (kp * run.tracking_error[-1]), lack, rtol=1e-4)
    assert np.abs(run.tracking_error[-1]).max() > 1e-3
    gains = np.array([30000.0, 8000.0]), np.array([3000.0, 800.0])
    for control in (da.PD(*gains, pose, model=model), da.Feedforward(pose, *gains, model=model)):
        run = da.simulate(a, pose, None, control, 3.0, **less)  # type: ignore[arg-type]
        at = pose if isinstance(control, da.Feedforward) else run.q[-1]
        lack = a.gravity_torque(run.q[-1]) - model.gravity_torque(at)
        assert np.allclose(gains[0] * run.tracking_error[-1], lack, rtol=1e-3)


def test_feedforward_alone_gives_the_motion_back() -> None:
    """Inverse dynamics, then direct dynamics, S 7.6; on another model it does not."""
    for name in ("planar-2r", "five-bar"):
        a, motion = arm(name), motion_of(name)
        run = da.simulate(a, *start(name), da.Feedforward(motion), 0.3, step=2e-3, friction=False)
        assert np.abs(run.tracking_error).max() < 1e-8, name
        wrong = da.Feedforward(motion, model=a.with_payload(2.0))
        assert da.simulate(a, *start(name), wrong, 0.3, friction=False).largest_tracking_error.max() > 1e-3, name


def test_models_with_sticking_and_stops() -> None:
    """One compiled loop and the same steps from Python, with dry friction, and with other parameters than the arm's."""
    a, motion = with_friction(), motion_of("planar-2r")
    model, kp, kd = a.with_payload(4.0), damping(a, 900.0), damping(a, 60.0)
    computed, ahead = da.ComputedTorque(KP, KD, motion, model=model), da.Feedforward(motion, kp, kd, model=model)
    for control, options in ((computed, {"stops": "contact"}), (ahead, {"parameters": 1.1 * a.parameters})):
        task = task_of(a, [0.0, 0.1], None, control, 0.2, 2e-3, **options)
        assert max(both_ways(task)) < 1e-10
        assert ("stops" in options) == bool(compiled(task, task.initial_state)[0].max() == 0.12)
    run = da.simulate(a, *start("planar-2r"), da.Feedforward(motion, kp, kd), 0.3)
    assert np.abs(run.tracking_error).max() < 1e-3


def test_tracking_error_and_its_summary() -> None:
    a = da.load("planar-2r")
    targets = np.array([[0.1, 0.2], [0.3, -0.2], [0.0, 0.5]])
    run = da.simulate(a, [0.0, 0.0], None, da.PD(20000.0, 4000.0, targets), 0.2, every=3)
    e = targets[:, None, :] - run.q
    assert np.array_equal(run.tracking_error, e) and e.shape == (3, 68, 2)
    assert np.allclose(run.rms_tracking_error, np.sqrt((e**2).mean(axis=1)))
    assert np.array_equal(run.largest_tracking_error, np.abs(e).max(axis=1))
    with pytest.raises(DalembertError, match="no tracking error: no joint-space controller followed a motion"):
        _ = da.simulate(a, [0.0, 0.0], None, None, 0.1).tracking_error


def test_models_that_do_not_fit() -> None:
    a = da.load("planar-2r")

    def refused(arm: da.Arm, model: object, sentence: str) -> None:
        with pytest.raises(DalembertError, match=sentence):
            da.simulate(arm, arm.home, None, da.PD(1.0, 1.0, arm.home, model=model), 0.1)  # type: ignore[arg-type]

    refused(
        a, da.load("puma560"), "the model 'puma560' has 6 joints, but arm 'planar-2r' has 2; give a model with the same"
    )
    refused(a, da.load("cartesian-2"), "is prismatic, but joint 'joint1' of arm 'planar-2r' is revolute")
    refused(a, da.load("five-bar"), "'five-bar' has closed chains and 'planar-2r' has none")
    refused(da.load("five-bar"), a, "'five-bar' has closed chains and 'planar-2r' has none")
    refused(a, "panda", "the model is a str; it must be an Arm")


# -- passivity and adaptation --------------------------------------------------------------------


def surface(run, control):  # type: ignore[no-untyped-def]
    """(s, ½ sᵀ B s, q̇_r) along a run."""
    q_d, qd_d, _ = control.followed(run.t, run.arm.n)
    qd_r = qd_d + control.kp * (q_d - run.q)
    s = qd_r - run.qd
    return s, 0.5 * np.einsum("ti,tij,tj->t", s, run.arm.inertia_matrix(run.q), s), qd_r


def integral(values: np.ndarray, h: float) -> np.ndarray:
    """∫ from the first instant to every second one, by Simpson's rule."""
    pairs = values[:-2:2] + 4 * values[1:-1:2] + values[2::2]
    return np.concatenate([[0.0], np.cumsum(pairs) * h / 3])


def wrong_by(run, control, a: da.Arm, **columns: object) -> np.ndarray:  # type: ignore[no-untyped-def]
    """π̃ᵀ Γ⁻¹ π̃ along a run, the true base parameters being those of a."""
    base = control.model.base_parameters(**columns)
    assert run.parameter_names == base.names and np.allclose(run.parameters[0], base.values)
    true = base.K @ da.ParameterSet(a, **columns).values  # type: ignore[arg-type]
    return ((run.parameters - true) ** 2 / control.gamma).sum(axis=-1)


@pytest.mark.parametrize(
    ("name", "gamma"), {"planar-2r": 400.0, "puma560": 0.5, "gripper": 0.2, "five-bar": 0.3}.items()
)
def test_the_lyapunov_function_falls_as_its_derivative_says(name: str, gamma: float) -> None:
    """V = ½ sᵀ B s + ½ π̃ᵀ Γ⁻¹ π̃ has V̇ = −sᵀ K_D s: B's rate and C cancel, S (7.48), and the adaptation the rest."""
    model, h = arm(name), 5e-4
    a = model.with_payload(0.3 * model.parameters[0] + 0.5, (0.05, 0.02, 0.0))
    control = da.Adaptive(damping(model, 12.0), 6.0, gamma, motion_of(name), model=model)
    run = da.simulate(a, start(name)[0] + 0.05, None, control, 0.3, step=h, friction=False)
    s, kinetic, _ = surface(run, control)
    V = kinetic + 0.5 * wrong_by(run, control, a, friction=(), rotor=False)
    lost = integral((control.kd * s**2).sum(axis=-1), h)
    assert lost[-1] > 1e-3 * V[0]
    assert np.abs(V[::2] - V[0] + lost).max() < 1e-6 * lost[-1]
    assert np.diff(V).max() <= 1e-12 * V[0]


@pytest.mark.parametrize(("name", "gamma", "payload"), [("planar-2r", 300.0, 20.0), ("puma560", 20.0, 3.0)])
def test_the_tracking_error_goes_to_zero_with_a_wrong_payload(name: str, gamma: float, payload: float) -> None:
    """Without adaptation the error stays. With friction, which is compensated at q̇_r, V does not grow either."""
    model = arm(name)
    a = model.with_payload(payload)
    control = da.Adaptive(damping(model, 20.0), 6.0, gamma, motion_of(name), model=model)
    passive = da.Adaptive(control.kd, control.kp, 0.0, motion_of(name), model=model)
    fixed, learning = (da.simulate(a, *start(name), law, 20.0, step=5e-4, every=40) for law in (passive, control))
    late = fixed.t > 18.0
    before, after = (np.abs(run.tracking_error[late]).max() for run in (fixed, learning))
    assert after < 0.05 * before and before > 1e-3
    V = surface(learning, control)[1] + 0.5 * wrong_by(learning, control, a, rotor=False)
    assert np.diff(V).max() < 1e-7 * V[0] and V[-1] < V[0]


@pytest.mark.parametrize("name", ["puma560", "five-bar"])
def test_without_adaptation_it_is_passivity_based_control(name: str) -> None:
    """The recursion of the law without adaptation, and the regressor of the one with, give the same motion."""
    a, motion = arm(name), motion_of(name)
    none, hardly = (
        da.simulate(
            a, start(name)[0] + 0.02, None, da.Adaptive(damping(a, 20.0), 8.0, gamma, motion), 0.1, friction=False
        )
        for gamma in (0.0, 1e-15)
    )
    assert np.abs(none.q - hardly.q).max() < 1e-9 and np.abs(none.tau - hardly.tau).max() < 1e-6
    with pytest.raises(DalembertError, match="no parameters over time: no adaptive controller"):
        _ = none.parameters


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_passivity_based_control_spends_half_s_b_s(method: str) -> None:
    """d/dt ½ sᵀ B s = −sᵀ (K_D + F_v) s: viscous friction is compensated at q̇_r and so damps s."""
    a, motion = arm("ur10"), motion_of("ur10")
    a = a.replace(joints=tuple(replace(j, friction=da.Friction(viscous=0.4)) for j in a.robot.joints))
    kd = damping(a, 10.0)
    control = da.Adaptive(kd, 6.0, 0.0, motion)
    run = da.simulate(a, start("ur10")[0] + 0.1, None, control, 0.05, method=method, step=1e-4)  # type: ignore[arg-type]
    s, kinetic, _ = surface(run, control)
    F_v = np.array([body.viscous for body in a.mechanism.bodies])
    assert (F_v >= 0.4).all()
    lost = integral(((kd + F_v) * s**2).sum(axis=-1), 1e-4)
    assert np.abs(kinetic[::2] - kinetic[0] + lost).max() < 1e-7 * kinetic[0]


def test_adaptation_runs_the_same_compiled_and_from_python() -> None:
    """With sticking joints and stops, where steps are cut and taken again; and in batches of gains."""
    a, motion = with_friction(), motion_of("planar-2r")
    kd = damping(a, 20.0)
    for b, options in ((a, {"stops": "contact"}), (arm("planar-2r"), {"friction": False})):
        control = da.Adaptive([kd, 2 * kd], 10.0, 50.0, motion, model=b)
        task = task_of(b.with_payload(9.0), [0.0, 0.1], None, control, 0.2, 2e-3, **options)
        assert max(both_ways(task)) < 1e-9
        run = da.simulate(b.with_payload(9.0), [0.0, 0.1], None, control, 0.2, step=2e-3, **options)  # type: ignore[arg-type]
        assert run.parameters.shape == (2, 101, len(run.parameter_names)) and run.tau.shape == run.qdd.shape == (
            2,
            101,
            2,
        )
        assert ("stops" in options) == bool(run.q.max() == 0.12)
        finer = da.simulate(b.with_payload(9.0), [0.0, 0.1], None, control, 0.2, step=2.5e-4, every=8, **options)  # type: ignore[arg-type]
        change = np.abs(run.learned).max(axis=(0, 1))  # type: ignore[union-attr]
        assert (np.abs(run.learned - finer.learned).max(axis=(0, 1)) < 2e-2 * change).all()  # type: ignore[operator]


def test_a_chosen_parameter_is_learnt() -> None:
    """A point mass at the tip, the origin of the planar arm's last frame, changes m_2 alone: the arm weighs its load."""
    model, motion = arm("planar-2r"), motion_of("planar-2r", 0.4)
    a = model.with_payload(12.0)
    chosen = da.ParameterSet(model, only=["mx_2", "Izz_2", "m_2"])
    control = da.Adaptive(damping(model, 20.0), 8.0, [600.0, 600.0, 600.0], motion, parameters=chosen)
    run = da.simulate(a, *start("planar-2r"), control, 30.0, step=4e-3, every=50)
    true = da.ParameterSet(a, only=["mx_2", "Izz_2", "m_2"]).values
    assert run.parameter_names == chosen.names and np.array_equal(run.parameters[0], chosen.values)
    assert np.abs(run.parameters[-1] - true).max() < 1e-3 * np.abs(true - chosen.values).max()


def test_rotors_are_learnt_where_they_are_asked_for() -> None:
    """On all base parameters, in their combinations; a rotor's column has k_r² in it and is adapted as much more slowly."""
    model = arm("planar-2r")
    a = model.replace(joints=tuple(replace(j, rotor=replace(j.rotor, inertia=0.012)) for j in model.robot.joints))
    base = model.base_parameters()
    gamma = [4e-6 if name.startswith("Im") else 400.0 for name in base.names]
    control = da.Adaptive(damping(model, 12.0), 6.0, gamma, motion_of("planar-2r"), parameters=base)
    run = da.simulate(a, *start("planar-2r"), control, 0.3, step=5e-4)
    s, kinetic, _ = surface(run, control)
    V = kinetic + 0.5 * wrong_by(run, control, a)
    lost = integral((control.kd * s**2).sum(axis=-1), 5e-4)
    assert "Im_2" in run.parameter_names and np.abs(V[::2] - V[0] + lost).max() < 1e-6 * lost[-1]


def test_adaptive_mistakes() -> None:
    a = da.load("puma560")
    pose = np.zeros(6)

    def refused(sentence: str, control: da.Adaptive, kind: type[Exception] = DalembertError, **options: object) -> None:
        with pytest.raises(kind, match=sentence):
            da.simulate(a, pose, None, control, 0.1, **options)  # type: ignore[arg-type]

    refused("adaptive control has its own state.*use method 'rk4'$", da.Adaptive(1.0, 1.0, 1.0, pose), method="dop853")
    refused("which only fixed steps integrate", da.Adaptive(1.0, 1.0, 1.0, pose), method="variational", friction=False)
    refused("gamma has shape \\(3,\\); the last axis must be", da.Adaptive(1.0, 1.0, [1.0] * 3, pose), ShapeError)
    two = da.ParameterSet(a, two_sided=True)
    refused("parameter 'Fs\\+_1' has no column in arm.regressor", da.Adaptive(1.0, 1.0, 1.0, pose, parameters=two))
    none = da.ParameterSet(a, only=[])
    refused("the set of parameters is empty", da.Adaptive(1.0, 1.0, 1.0, pose, parameters=none))
    fv = da.ParameterSet(a, only=["Fv_1"])
    refused("there is no 'Fv_1' to adapt", da.Adaptive(1.0, 1.0, 1.0, pose, parameters=fv), friction=False)
    refused("cannot call a Python function", da.Adaptive(1.0, 1.0, 1.0, pose), tip_wrench=lambda t, q, qd: np.zeros(6))
    refused("returns \\(\\) for 1 times", da.Adaptive(1.0, 1.0, 1.0, lambda t: t[0]), ShapeError)
    refused("the motion is not an array of numbers", da.Adaptive(1.0, 1.0, 1.0, lambda t: None), ShapeError)
    broken = da.Adaptive(1.0, 1.0, 1.0, lambda t: (np.where(t[:, None] < 0.05, pose, np.nan),) * 3)
    refused("has values that are not finite numbers at t = 0.05 s", broken)
    with pytest.raises(DalembertError, match="which is not the model"):
        da.Adaptive(1.0, 1.0, 1.0, pose, model=a.with_payload(1.0), parameters=fv)
    with pytest.raises(DalembertError, match="parameters is a list; it must be"):
        da.Adaptive(1.0, 1.0, 1.0, pose, parameters=["m_2"])  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="lambda_ must be finite and not negative"):
        da.Adaptive(1.0, -1.0, 1.0, pose)
