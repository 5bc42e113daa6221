"""Control in operational space, compiled with the dynamics: what the same law does from Python."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError, ShapeError, SingularityError


def from_python(control: da.OperationalController):
    """The same controller as a plain function, which is not compiled."""
    return lambda t, q, qd: control(t, q, qd)


def reference(start: np.ndarray):
    amplitude = np.full(len(start), 0.05)

    def at(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (
            start + amplitude * np.sin(3 * t),
            3 * amplitude * np.cos(3 * t),
            -9 * amplitude * np.sin(3 * t),
        )

    return at


def both(arm: da.Arm, q0: np.ndarray, control: da.OperationalController, **options) -> da.simulation.simulate.Run:
    one = da.simulate(arm, q0, None, control, 0.1, step=2e-3, **options)
    two = da.simulate(arm, q0, None, from_python(control), 0.1, step=2e-3, **options)
    assert one.task.plan.law == "tip" and two.task.plan.law == "host"
    assert np.abs(one.q - two.q).max() < 1e-10 and np.abs(one.qd - two.qd).max() < 1e-9
    assert np.allclose(one.tau, two.tau, atol=1e-7)
    return one


def test_a_redundant_arm_with_a_posture_and_a_load_that_the_law_does_not_know():
    arm = da.load("planar-3r")
    op, q0 = arm.operational_space(task="xy"), np.array([[0.9, -1.0, -0.7], [0.8, -0.9, -0.6]])
    control = da.OperationalController(op, reference(op.pose(q0[0])), 400.0, [40.0, 30.0], posture=[1.0, -1.2, -0.5])
    both(arm, q0, control)
    loaded = both(arm.with_payload(0.5), q0, control)
    assert np.abs(op.pose(loaded.q[0, -1]) - op.pose(q0[0])).max() > 1e-3


def test_a_force_against_a_wall():
    arm = da.load("planar-3r")
    op, q0 = arm.operational_space(task="xy"), np.array([0.9, -1.0, -0.7])
    x0 = op.pose(q0)
    wall = da.Wall((0.0, float(x0[1]) + 1e-3, 0.0), (0.0, 2.0, 0.0), stiffness=2e4, damping=10.0)
    control = da.OperationalController(op, x0, 200.0, 30.0, force={"y": -25.0}, kf=0.02, contact=wall)
    both(arm, q0, control)


def test_a_force_of_another_frame_against_a_wall():
    arm = da.load("planar-3r")
    op, q0 = arm.operational_space(frame="link2"), np.array([0.9, -1.0, -0.7])
    x0 = op.pose(q0)
    wall = da.Wall((0.0, float(x0[1]) + 1e-3, 0.0), (0.0, 1.0, 0.0), stiffness=2e4, damping=10.0)
    control = da.OperationalController(op, x0, 200.0, 30.0, force={"y": -25.0}, kf=0.02, contact=wall)
    both(arm, q0, control)


def test_a_reference_for_each_state():
    arm = da.load("planar-3r")
    op, q0 = arm.operational_space(task="xy"), np.array([[0.9, -1.0, -0.7], [0.8, -0.9, -0.6]])
    x0 = op.pose(q0)
    run = both(arm, q0, da.OperationalController(op, lambda t: (x0 + 0.1 * t, 0 * x0 + 0.1, 0 * x0), 400.0, 40.0))
    assert np.abs(op.pose(run.q[:, -1]) - x0 - 0.01).max() < 5e-3


def test_rows_that_keep_a_force_need_no_reference():
    arm = da.load("planar-3r")
    op, q0 = arm.operational_space(task="xy"), np.array([0.9, -1.0, -0.7])
    x0 = op.pose(q0)
    wall = da.Wall((0.0, float(x0[1]) + 1e-3, 0.0), (0.0, 1.0, 0.0))
    x_d, nothing = np.array([x0[0], np.nan]), np.array([0.0, np.nan])
    control = da.OperationalController(op, lambda t: (x_d, nothing, nothing), force={"y": -5.0}, contact=wall)
    assert np.isfinite(both(arm, q0, control).q).all()


def test_positions_and_a_quaternion():
    arm = da.load("planar-3r")
    op, q0 = arm.operational_space(orientation="quaternion", task=("x", "y", "ez")), np.array([0.9, -1.0, -0.7])
    control = da.OperationalController(op, reference(op.pose(q0)), 400.0, 40.0)
    run = both(arm, q0, control, friction=False)
    assert np.abs(op.pose(run.q[-1]) - op.pose(q0)).max() > 5e-3


def test_a_singular_task_is_named():
    arm = da.load("planar-2r")
    op = arm.operational_space(task="xy")
    control = da.OperationalController(op, op.pose([0.0, 0.3]))
    for torque in (control, from_python(control)):
        with pytest.raises(SingularityError, match="kinematic singularity of arm 'planar-2r'"):
            da.simulate(arm, [[0.0, 0.3], [0.0, 1e-6]], None, torque, 0.1)


def test_what_is_not_compiled_runs_from_python():
    arm = da.load("planar-3r")
    q0 = np.array([0.9, -1.0, -0.7])
    with_angle, damped = arm.operational_space(), arm.operational_space(task="xy", damping=0.01)
    for op in (with_angle, damped):
        run = da.simulate(arm, q0, None, da.OperationalController(op, op.pose(q0)), 0.01)
        assert run.task.plan.law == "host" and np.abs(run.q - q0).max() < 1e-9


@pytest.mark.parametrize("duration", [1.55, 2.0])
def test_a_singularity_that_a_step_flies_over_is_named(duration: float):
    """Beyond its reach the arm comes to be stretched between two steps: nothing is returned from beyond."""
    arm = da.load("planar-3r")
    q0 = np.array([0.9, -1.0, -0.7])
    op = arm.operational_space(task="xy")
    x0, v = op.pose(q0), (np.array([1.6, 0.0]) - op.pose(q0)) / 2
    control = da.OperationalController(op, lambda t: (x0 + v * t, v, 0 * v))
    with pytest.raises(SingularityError, match=r"'planar-3r' just after t = 1\.5") as told:
        da.simulate(arm, q0, None, control, duration)
    assert told.value.kind == "kinematic" and told.value.value < 0.1
    damped = da.OperationalController(arm.operational_space(task="xy", damping=0.03), control.reference)
    assert np.abs(da.simulate(arm, q0, None, damped, 1.6).qd).max() < 30


def test_wrong_references_and_forces_are_named():
    arm = da.load("planar-3r")
    op, q0 = arm.operational_space(task="xy"), [0.9, -1.0, -0.7]
    for wrong in (lambda t: 5, lambda t: ([1.0, 0.0], [0.0, 0.0]), lambda t: ([1.0, 0.0, 0.0],) * 3):
        with pytest.raises(ShapeError, match="the reference must return x, xd, xdd at t = 0 s"):
            da.simulate(arm, q0, None, da.OperationalController(op, wrong), 0.01)
    with pytest.raises(DalembertError, match="force is 5"):
        da.OperationalController(op, [1.0, 0.0], force=5)  # type: ignore[arg-type]
