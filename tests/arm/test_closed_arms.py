"""What an open arm has, on the actuated joints of closed chains: the tip, ellipsoids, maps, motions, identification."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from arms import CLOSED, COUPLED, relative
from arms import arm as registered
from dalembert.errors import ClosureError, SingularityError
from dalembert.robot import Friction
from dalembert.robot.readers.mjcf import read_mjcf
from dalembert.views.cli.main import app
from dalembert.work.analysis.workspace import QUANTITIES, workspace_map
from dalembert.work.identification.fitting.base_parameters import base_parameters
from dalembert.work.identification.fitting.fit import IdentificationWarning
from dalembert.work.identification.fitting.parameter_set import ParameterSet
from dalembert.work.sizing.sizing import size
from dalembert.work.tip.operational import OperationalSpace

# a four-bar cut through its coupler, so that Newton's method closes it
WELDED = """<mujoco model="welded"><compiler angle="radian"/><option gravity="0 -9.81 0"/><worldbody>
<body name="crank"><joint name="crank" axis="0 0 1" damping="0.05"/>
  <inertial pos=".1 0 0" mass="1" diaginertia=".01 .02 .02"/>
  <body name="coupler" pos="0 .3 0"><joint name="pin" axis="0 0 1" damping="0.02"/>
    <inertial pos=".3 .05 0" mass="2" diaginertia=".01 .06 .06"/><body name="end" pos=".7 .2 0">
    <joint name="end" axis="0 0 1"/><inertial pos="0 0 0" mass="1e-3" diaginertia="1e-6 1e-6 1e-6"/></body></body></body>
<body name="rocker" pos=".6 0 0"><joint name="rocker" axis="0 0 1"/>
  <inertial pos="0 .25 0" mass="1.5" diaginertia=".03 .01 .03"/></body>
</worldbody><equality><weld name="close" body1="end" body2="rocker"/></equality>
<actuator><motor joint="crank"/></actuator></mujoco>"""
EVERY = [*CLOSED, "welded"]


@cache
def arm(name: str) -> da.Arm:
    if name in COUPLED:
        return registered(name)
    return da.Arm(read_mjcf(WELDED)) if name == "welded" else da.load(name)


def states(a: da.Arm, count: int = 8, reach: float = 0.3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States near the pose of the branch."""
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, count, a.n))
    return a.home + reach * q, qd, 2 * qdd


def T(A: np.ndarray) -> np.ndarray:
    return np.swapaxes(A, -1, -2)


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (A @ x[..., None])[..., 0]


def rate(f, q: np.ndarray, qd: np.ndarray, h: float = 1e-5) -> np.ndarray:
    return (f(q + h * qd) - f(q - h * qd)) / (2 * h)


# -- operational space ---------------------------------------------------------------------------


TASKS = [("five-bar", None), ("palletizer", "xz"), ("parallelogram", None), ("welded", None)]


def test_rows() -> None:
    assert [arm(name).operational_space().rows for name in EVERY] == [
        ("x", "y"), ("x", "y", "z", "angle"), ("x", "y"), ("x",),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "task"), TASKS)
def test_the_model_of_the_tip_is_that_of_S(name: str, task: str | None) -> None:
    a = arm(name)
    op = a.operational_space(task=task)
    q, qd, qdd = states(a)
    J, Jd, B = op.jacobian(q), op.jacobian_derivative(q, qd), a.inertia_matrix(q)
    assert relative(Jd, rate(op.jacobian, q, qd)) < 1e-8
    assert relative(op.velocity(q, qd), rate(op.pose, q, qd)) < 1e-8
    assert relative(op.acceleration(q, qd, qdd), times(J, qdd) + times(Jd, qd)) < 1e-12
    over = T(np.linalg.solve(B, T(J)))  # J B⁻¹
    B_A = np.linalg.inv(over @ T(J))
    assert relative(op.inertia(q), B_A) < 1e-10  # (7.130)
    assert relative(op.gravity(q), times(B_A @ over, a.gravity_torque(q))) < 1e-10 or name == "five-bar"  # (7.132)
    assert relative(op.inverse_jacobian(q), T(B_A @ over)) < 1e-10  # (7.138)
    force = times(B_A @ over, times(a.coriolis_matrix(q, qd), qd)) - times(B_A @ Jd, qd)
    assert relative(op.coriolis_force(q, qd), force) < 1e-9  # (7.131)
    still = times(op.inverse_jacobian(q), op.velocity(q, qd))  # q̇ without internal motion, if there is any
    moving = times(op.coriolis(q, still), op.velocity(q, still))
    assert relative(moving, op.coriolis_force(q, still)) < 1e-9
    N = rate(op.inertia, q, qd) - 2 * op.coriolis(q, qd)
    assert np.abs(N + T(N)).max() < 1e-7 * np.abs(B_A).max()  # Problem 7.9


@pytest.mark.parametrize(("name", "task"), TASKS[:3])
def test_torques_move_the_tip_as_asked_and_tau0_does_not(name: str, task: str | None) -> None:
    a = arm(name)
    op = a.operational_space(task=task)
    q, qd, _ = states(a)
    rng = np.random.default_rng(1)
    xdd, wrench, tau0 = rng.normal(size=(8, op.m)), rng.normal(size=(8, 6)), rng.normal(size=(8, a.n))

    def moved(tau: np.ndarray) -> np.ndarray:
        return op.acceleration(q, qd, a.forward_dynamics(q, qd, tau, wrench))

    tau = op.torque(q, qd, xdd, wrench, tau0)
    assert np.abs(moved(tau) - xdd).max() < 1e-10
    assert np.abs(moved(op.kinematic_torque(q, qd, xdd, wrench)) - xdd).max() < 1e-10
    free = times(op.null_projector(q), tau0)
    if op.redundant:
        assert np.abs(tau - op.torque(q, qd, xdd, wrench)).max() > 1e-3
        assert relative(free, tau - op.torque(q, qd, xdd, wrench)) < 1e-10
    else:
        assert np.abs(free).max() < 1e-10


def test_both_resolutions_follow_a_motion_of_the_tip() -> None:
    a = arm("palletizer")
    op = a.operational_space(task="xz")
    t = np.linspace(0, 1, 21)
    d, w = np.array([-0.1, -0.08]), np.pi
    q0 = a.home + 0.1
    x = op.pose(q0) + (1 - np.cos(w * t))[:, None] * d
    xd, xdd = (w * np.sin(w * t))[:, None] * d, (w * w * np.cos(w * t))[:, None] * d
    runs = [op.follow(t, x, xd, xdd, q0, resolution=way) for way in ("kinematic", "dynamic")]
    for run in runs:
        assert np.abs(op.pose(run.q) - x).max() < 1e-9 and np.abs(op.velocity(run.q, run.qd) - xd).max() < 1e-9
        assert np.abs(op.acceleration(run.q, run.qd, run.qdd) - xdd).max() < 1e-8
        assert relative(a.inverse_dynamics(run.q, run.qd, run.qdd), run.tau) < 1e-9
    assert np.abs(runs[0].q - runs[1].q).max() > 1e-3


@pytest.mark.parametrize("name", ["parallelogram", "five-bar"])
def test_the_controller_of_the_tip(name: str) -> None:
    a = arm(name)
    op = a.operational_space()
    goal = op.pose(a.home + 0.05) - [0.03, 0.02]
    run = da.simulate(a, a.home + 0.05, None, da.OperationalController(op, goal, kp=400.0, kd=40.0), 0.5, step=5e-3)
    assert np.abs(op.pose(run.q[-1]) - goal).max() < 1e-4
    assert np.abs(a.loop_residual(run.q)).max() < 1e-12


def test_a_force_against_a_wall() -> None:
    a = arm("parallelogram")
    op = a.operational_space()
    x0 = op.pose(a.home)
    wall = da.Wall((0.0, float(x0[1]), 0.0), (0.0, -1.0, 0.0), stiffness=1e4)
    control = da.OperationalController(op, x0, 400.0, 40.0, force={"y": 10.0}, kf=0.04, contact=wall)
    run = da.simulate(a, a.home, None, control, 0.6, step=5e-3)
    assert wall.wrench(op, run.q[-1], run.qd[-1])[1] == pytest.approx(10.0, abs=0.05)


def test_frames_singularities_and_poses_that_cannot_be() -> None:
    a = arm("five-bar")
    assert a.operational_space(frame="crank1").rows == ("angle",)
    op, damped = a.operational_space(), a.operational_space(damping=0.02)
    with pytest.raises(ClosureError, match=r"cannot be closed.*state 1 of the batch"):
        op.inertia([a.home, [np.pi, 0.0]])
    with pytest.raises(ClosureError):
        a.dynamic_manipulability([np.pi, 0.0])
    p = arm("parallelogram").operational_space()
    with pytest.raises(SingularityError, match="kinematic") as caught:
        p.inertia([[0.2, 1.2], [0.3, 0.3]])
    assert caught.value.index == (1,)
    assert np.isfinite(arm("parallelogram").operational_space(damping=0.02).inertia([0.3, 0.3])).all()
    assert (damped.inertia(a.home) == op.inertia(a.home)).all()
    assert isinstance(op, OperationalSpace) and op.singularity(a.home)[0] > 0.1


# -- ellipsoids and maps -------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CLOSED, *COUPLED])
def test_ellipsoids(name: str) -> None:
    """Each against J_a, B_a and g_a."""
    a = arm(name)
    q = states(a, 1)[0][0]
    w = np.linspace(1.0, 2.0, a.n) * 50
    e = a.dynamic_manipulability(q, w)
    rows = ["xyz".index(row) for row in e.rows]
    J, B, g = a.jacobian(q)[rows], a.inertia_matrix(q), a.gravity_torque(q)
    assert np.abs(e.center + J @ np.linalg.solve(B, g)).max() < 1e-10
    u = np.random.default_rng(0).normal(size=(20, len(rows)))
    u = (u / np.linalg.norm(u, axis=-1, keepdims=True)) @ e.matrix.T
    core = np.linalg.pinv(J).T @ B @ np.diag(w**-2.0) @ B @ np.linalg.pinv(J)
    assert np.abs(np.einsum("ki,ij,kj->k", u, core, u) - 1).max() < 1e-8
    exact = a.dynamic_manipulability(q, w, redundancy="exact")
    polytope = a.acceleration_polytope(q, w)
    inside = exact.center + 0.999 * np.random.default_rng(1).choice([-1, 1], (5, 1)) * exact.axes[:, 0] * exact.radii[0]
    assert polytope.contains(inside).all() and polytope.volume >= exact.volume * (1 - 1e-9)
    push = np.linalg.solve(B, w * np.sign(np.linalg.solve(B, J[0])))  # a corner, by forward dynamics at rest
    assert polytope.support(np.eye(len(rows))[0]) == pytest.approx(float(J[0] @ push + e.center[0]))
    assert np.allclose(a.velocity_manipulability(q).radii, np.linalg.svd(J, compute_uv=False))
    assert np.allclose(np.sort(a.force_manipulability(q).radii), np.sort(1 / np.linalg.svd(J, compute_uv=False)))
    static = a.static_manipulability(q, 1e4)  # the torques of forces on its surface: |g + Jᵀ h| = 10 kN m or less
    h = static.center + static.axes[:, 0] * static.radii[0]
    assert np.linalg.norm(g + J.T @ h) == pytest.approx(1e4, rel=1e-6)


@pytest.mark.parametrize("name", CLOSED)
def test_maps(name: str) -> None:
    a = arm(name)
    for quantity in QUANTITIES:
        made = workspace_map(a, quantity, poses=2000, cells=12)
        value, q, _ = made.best
        assert a.closes(q) and made.count.sum() > 100
        if quantity == "gravity-load":
            assert np.abs(a.gravity_torque(q)).max() == pytest.approx(value)
        if quantity == "velocity-manipulability":
            assert a.velocity_manipulability(q).radii.prod() ** (1 / len(made.rows)) == pytest.approx(value)


# -- identification ------------------------------------------------------------------------------


def with_friction(name: str) -> da.Arm:
    """The arm with friction in every joint of its tree, other levels forwards than backwards."""
    robot = arm(name).robot
    return da.Arm(robot.replace(joints=tuple(replace(j, friction=Friction(0.4, (0.5, 0.3))) for j in robot.joints)))


def run(a: da.Arm, seed: int, size: float = 0.12, noise: float = 0.01) -> dict[str, np.ndarray]:
    """A noisy log of the actuated joints near the pose of the branch."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, 20, 0.01)
    q, qd, qdd = da.fourier(rng.normal(0, size, (2, a.n, 4)), 0.1, offset=a.home, duration=20.0)(t)
    tau = a.inverse_dynamics(q, qd, qdd)
    return {"t": t, "q": q, "qd": qd, "tau": tau + noise * np.abs(tau).mean(axis=0) * rng.normal(size=tau.shape)}


@pytest.mark.parametrize("name", [*EVERY, *COUPLED])
def test_the_regressor_has_two_sided_friction_and_offsets(name: str) -> None:
    a = with_friction(name)
    some = ParameterSet(a, two_sided=True, offset=True)
    x = states(a, 30)
    assert relative(some.regressor(*x) @ some.values, a.inverse_dynamics(*x)) < 1e-12
    offsets = [k for k, word in enumerate(some.names) if word.startswith("offset")]
    assert (some.regressor(*x)[:, :, offsets] == np.eye(a.n)).all()  # of motors: passive joints have none
    base = base_parameters(some)
    tau = a.inverse_dynamics(*x)
    assert relative(base.joint_columns.torque(base.values, *x), tau) < 1e-9


@pytest.mark.parametrize(
    ("name", "options"), [("parallelogram", {"two_sided": True}), ("five-bar", {"physical": True})]
)
def test_identify_a_closed_arm(name: str, options: dict[str, bool], tmp_path: Path) -> None:
    a = with_friction(name) if "two_sided" in options else arm(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)
        fit = da.identify(a, run(a, 1), validate=run(a, 2), **options)
    off = np.abs(fit.parameters - fit.base.values) / fit.std
    assert (off < 4).all() and np.sqrt(np.mean(off**2)) < 1.5
    assert fit.relative_error < 0.01 and fit.validation_error < 0.01
    x = run(a, 3, noise=0.0)
    held_out = fit.predict({k: x[k] for k in ("t", "q", "qd")})
    moving = (np.abs(x["qd"]) > 0.02).all(axis=1)
    assert relative(held_out[moving], x["tau"][moving]) < 0.02
    fit.arm.save(tmp_path / "fit.toml")
    again = da.load(tmp_path / "fit.toml", physical="warn")
    assert again == fit.arm and again.robot.loops == a.robot.loops and again.joint_names == a.joint_names
    assert fit.torque(*states(a)).shape == (8, a.n)


@pytest.mark.parametrize("name", ["parallelogram", "five-bar"])
def test_excite(name: str) -> None:
    a = arm(name)
    found = da.excite(a, duration=10.0, harmonics=3, clearance=None, starts=1)
    q, _, _ = found.trajectory(np.linspace(0, 10, 200))
    assert a.closes(q).all() and found.trajectory.limits_report(a, torque=True) == []
    assert found.condition < (100 if name == "parallelogram" else 1000)
    assert ("is restricted to" in " ".join(found.notes)) == (name == "five-bar")


def test_identify_payload() -> None:
    a = arm("palletizer")
    held = a.with_payload(12.0, (0.0, 0.0, -0.2))
    found = da.identify_payload(a, run(a, 1), run(held, 2), parameters="mass-com")
    assert found.mass == pytest.approx(12.0, abs=4 * found.mass_std) and found.mass_std < 1.0


# -- motions, and everything else by name ----------------------------------------------------------


def tight(a: da.Arm, motion: da.Trajectory) -> dict[str, np.ndarray]:
    """Torque limits that decide: what holding still takes, and half of what the motion takes more."""
    q, qd, qdd = motion(np.linspace(0, motion.duration, 200))
    hold = np.abs(a.gravity_torque(q)).max(0) + np.abs(a.torque_terms(q, qd, 0 * qd).coulomb).max(0)
    most = np.maximum(1.3 * hold, hold + 0.5 * np.abs(a.inverse_dynamics(q, qd, qdd)).max(0))
    return {"effort": most, "velocity": np.full(a.n, 50.0), "acceleration": np.full(a.n, 1e4)}


@pytest.mark.parametrize("name", ["five-bar", "parallelogram"])
def test_the_fastest_timing_counts_friction_of_passive_joints(name: str) -> None:
    a = with_friction(name)
    motion = da.spline([0, 1, 2], [a.home, a.home + 0.25, a.home + 0.1 * np.linspace(-1, 1, a.n)])
    limits = tight(a, motion)
    for made in (motion.scaled(a, limits, allow_faster=True), motion.time_optimal(a, limits)):
        t = np.linspace(0, made.duration, 2000)
        share = (np.abs(a.inverse_dynamics(*made(t))) / limits["effort"]).max(axis=1)
        assert 0.99 < share.max() < 1 + 1e-6
    assert np.mean(share > 0.99) > 0.98  # the fastest is at a limit all the time


def test_a_straight_line_of_the_tip() -> None:
    a = arm("five-bar")
    motion = da.line(a, displacement=(-0.05, 0.02), q0=a.home, duration=1.0, acceleration_time=0.3)
    p = a.pose(motion(np.linspace(0, 1, 30))[0])[:, :3, 3]
    assert np.allclose(p[-1] - p[0], [-0.05, 0.02, 0]) and np.abs(np.cross(p - p[0], [-0.05, 0.02, 0])).max() < 1e-9


def test_absolute_angles() -> None:
    a = arm("parallelogram")
    q, qd, qdd = states(a)
    y = a.in_coordinates("absolute")  # both motors stand on the base, so that nothing changes
    assert relative(y.inverse_dynamics(q, qd, qdd), a.inverse_dynamics(q, qd, qdd)) < 1e-12
    with pytest.raises(da.DalembertError, match="need revolute joints with parallel axes"):
        arm("palletizer").in_coordinates("absolute")


REFUSED = {
    ("equations", "five-bar"): "its joints do not follow q linearly",
    ("equations", "welded"): "its joints do not follow q linearly",
    ("formulas", "five-bar"): "has joints that follow others",
    ("formulas", "palletizer"): "has joints that follow others",
    ("formulas", "parallelogram"): "has joints that follow others",
    ("formulas", "welded"): "has joints that follow others",
    ("equations", "gripper"): "its joints do not follow q linearly",
    ("formulas", "gripper"): "has joints that follow others",
    ("formulas", "wrist"): "has joints that follow others",
    **{("urdf", name): r"which URDF cannot express.*; save it as \.toml" for name in [*EVERY, *COUPLED]},
}
ASKED = {
    "equations": lambda a, folder: a.equations().text("B11"),
    "formulas": lambda a, folder: a.base_parameters("symbols"),
    "urdf": lambda a, folder: a.save(folder / "arm.urdf"),
    "toml": lambda a, folder: a.save(folder / "arm.toml"),
    "operations": lambda a, folder: a.operations("inverse_dynamics").compiled.total,
    "base": lambda a, folder: a.base_parameters(two_sided=True, offset=True).rank,
    "sizing": lambda a, folder: size(a, da.polynomial(a.home, a.home + 0.2, 1.0)).torque.peak,
    "derivatives": lambda a, folder: a.torque_derivatives(*states(a)),
}


@pytest.mark.parametrize("name", [*EVERY, *COUPLED])
def test_all_the_rest_works_or_says_why_not(name: str, tmp_path: Path) -> None:
    for what, ask in ASKED.items():
        if (what, name) in REFUSED:
            with pytest.raises(da.DalembertError, match=REFUSED[what, name]):
                ask(arm(name), tmp_path)
        else:
            assert ask(arm(name), tmp_path) is not False, what
    assert da.load(tmp_path / "arm.toml", physical="warn") == arm(name) and not (tmp_path / "arm.urdf").exists()


@pytest.mark.parametrize("name", ["parallelogram", "five-bar"])
def test_commands(name: str, tmp_path: Path) -> None:
    a = arm(name)
    da.polynomial(a.home, a.home + 0.2, 1.0).save(tmp_path / "motion.csv", rate=20)
    q = " ".join(map(str, a.home))
    for words in (
        ["torques", name, "motion.csv", "-o", "torques.csv"],
        ["ellipsoid", name, "--q", q],
        ["map", name, "--poses", "2000", "--cells", "10", "-o", "map.png"],
        ["parameters", name],
    ):
        given = [str(tmp_path / word) if "." in word and word[0].isalpha() else word for word in words]
        done = CliRunner().invoke(app, given)
        assert done.exit_code == 0, (words, done.output)
    assert (tmp_path / "torques.csv").read_text().startswith("t,tau1,tau2") and (tmp_path / "map.png").exists()
