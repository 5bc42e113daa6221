"""Rollouts of panda: one compiled loop compared with MuJoCo's rollout and Pinocchio loops, one core (make bench).

Gradients relative to forward runs follow, then sampled controllers and single calls, beside MuJoCo's Python loop.

All libraries take fourth-order Runge–Kutta steps of 1 ms with four evaluations each, from the same states,
without torque, friction or limits. The others run fewer states and steps, because their cost per step does
not depend on the number of steps; dalembert runs all 10,000 × 1,000.
"""

from __future__ import annotations

import os
import tempfile
import time

import mujoco
import numpy as np
import pinocchio as pin
from mujoco import rollout

import dalembert as da
from dalembert.compiler.quantities import rollout_derivatives
from sidebyside import STATES, interleaved, one_core, panda_urdf_text, random_states, table

STEPS, H = 1000, 1e-3
FEW, SHORT = 16, 100  # states and steps of the other libraries in a round


def rk4(f, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One step with any forward dynamics."""
    a1 = f(q, v)
    v2 = v + H / 2 * a1
    q2 = q + H / 2 * v
    a2 = f(q2, v2)
    v3 = v + H / 2 * a2
    q3 = q + H / 2 * v2
    a3 = f(q3, v3)
    v4 = v + H * a3
    q4 = q + H * v3
    a4 = f(q4, v4)
    return q + H / 6 * (v + 2 * v2 + 2 * v3 + v4), v + H / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def main() -> None:
    """One row per library."""
    one_core()
    arm = da.load("panda")
    text = panda_urdf_text()
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.timestep = H
    model.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    pmodel = pin.buildModelFromXML(text)
    pdata, pool = pmodel.createData(), pin.ModelPool(pmodel, 1)
    q, qd, _ = random_states(7)
    qd *= 0.1
    zero = np.zeros(7)
    start = np.zeros((FEW, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    start[:, 1:8], start[:, 8:15] = q[:FEW], qd[:FEW]
    half = np.asfortranarray(np.zeros((7, STATES)))
    result = np.asfortranarray(np.zeros((7, STATES)))

    def with_mujoco(integrator: int) -> np.ndarray:
        model.opt.integrator = integrator
        return rollout.rollout(model, data, start, nstep=SHORT)[0]

    def pinocchio_loop() -> np.ndarray:
        x, v = q[0], qd[0]
        for _ in range(SHORT):
            x, v = rk4(lambda a, b: pin.aba(pmodel, pdata, a, b, zero), x, v)
        return x

    def pinocchio_batch() -> np.ndarray:
        def f(x: np.ndarray, v: np.ndarray) -> np.ndarray:
            pin.abaInParallel(1, pool, x, v, half, result)
            return result.copy(order="F")

        return rk4(f, np.asfortranarray(q.T), np.asfortranarray(qd.T))[0]

    def ours(every: int, states: int = STATES, steps: int = STEPS) -> da.Arm:
        return da.simulate(arm, q[:states], qd[:states], None, steps * H, step=H, every=every, friction=False)

    with tempfile.TemporaryDirectory() as folder:
        os.environ["DALEMBERT_CACHE"] = folder
        begin = time.perf_counter()
        ours(1, 1, 1)
        compiling = time.perf_counter() - begin
    reference = ours(SHORT, FEW, SHORT).q[:, -1]
    peers = {
        "MuJoCo": with_mujoco(mujoco.mjtIntegrator.mjINT_RK4)[:, -1, 1:8],
        "Pinocchio": pinocchio_loop()[None],
    }
    for name, theirs in peers.items():
        print(
            f"largest difference from {name} after {SHORT} steps: {np.abs(reference[: len(theirs)] - theirs).max():.1e}"
        )
    calls = {
        "last": lambda: ours(STEPS),
        "tenth": lambda: ours(10),
        "small": lambda: ours(100, 500, 100),
        "mujoco rk4": lambda: with_mujoco(mujoco.mjtIntegrator.mjINT_RK4),
        "mujoco euler": lambda: with_mujoco(mujoco.mjtIntegrator.mjINT_EULER),
        "pin loop": pinocchio_loop,
        "pin batch": pinocchio_batch,
    }
    least = interleaved(calls, 5)
    steps = {
        "last": STATES * STEPS, "tenth": STATES * STEPS, "small": 500 * 100, "mujoco rk4": FEW * SHORT, "mujoco euler": FEW * SHORT,
        "pin loop": SHORT, "pin batch": STATES,
    }  # fmt: skip
    names = {
        "last": f"dalembert, {STATES:,} × {STEPS:,}, last state kept",
        "tenth": f"dalembert, {STATES:,} × {STEPS:,}, every 10th state kept",
        "small": "dalembert, 500 × 100, last state kept",
        "mujoco rk4": "MuJoCo rollout, RK4",
        "mujoco euler": "MuJoCo rollout, semi-implicit Euler (1 evaluation)",
        "pin loop": "Pinocchio aba, Python loop of RK4",
        "pin batch": "Pinocchio abaInParallel (1 thread), RK4 on arrays",
    }
    cost = {name: least[name] / steps[name] for name in calls}
    rows = [(names[x], f"{cost[x] * 1e9:.0f}", f"{cost[x] / cost['last']:.1f}") for x in calls]
    table("RK4 steps of panda, one core", rows, ("", "ns per step", "relative to ours"))
    print(f"first compilation: {compiling:.2f} s; the whole rollout: {least['last']:.2f} s")
    eventful()
    gradients()
    sampled(arm, model, data)
    single_calls(arm)


def sampled(arm: da.Arm, model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """A controller sampled at 1 kHz: ``da.simulate(rate=)`` beside MuJoCo's Python loop with the same kind of law."""
    q0 = np.array([0.0, 0.3, 0.0, -1.5, 0.0, 1.2, 0.3])
    inertia = np.diagonal(arm.inertia_matrix(q0))
    kp, kd, long = 100.0 * inertia, 4.0 * inertia, 5.0

    def ours(law: object, **settings: object) -> object:
        return da.simulate(arm, q0, None, law, long, rate=1000.0, **settings)  # type: ignore[arg-type]

    def law() -> None:
        data.qfrc_applied[:] = data.qfrc_bias + kp * (q0 + 0.1 - data.qpos) - kd * data.qvel

    def runge_kutta() -> np.ndarray:
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        data.qpos[:], data.qvel[:] = q0, 0.0
        for _ in range(round(long * 1000)):
            mujoco.mj_forward(model, data)
            law()
            mujoco.mj_step(model, data)
        return data.qpos

    def euler() -> np.ndarray:
        """MuJoCo's own division of a step, which needs one evaluation and does not exist for RK4."""
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        data.qpos[:], data.qvel[:] = q0, 0.0
        for _ in range(round(long * 1000)):
            mujoco.mj_step1(model, data)
            law()
            mujoco.mj_step2(model, data)
        return data.qpos

    pd, computed = da.PD(kp, kd, q0 + 0.1), da.ComputedTorque(100.0, 20.0, q0 + 0.1)
    drive = {"delay": 1e-3, "encoder": 2**18, "velocity_filter": 100.0, "effort_limits": 80.0}
    calls = {
        "dalembert, PD, RK4": lambda: ours(pd),
        "dalembert, computed torque, RK4": lambda: ours(computed),
        "dalembert, PD with encoder, delay and effort limits": lambda: ours(pd, **drive),
        "MuJoCo, Python loop of mj_step, PD, RK4": runge_kutta,
        "MuJoCo, Python loop of mj_step1 and mj_step2, PD, semi-implicit Euler": euler,
    }
    least = interleaved(calls, 3)
    first = least["dalembert, PD, RK4"]
    rows = [
        (name, f"{60 / long * x:.2f}", f"{1e6 * x / (1000 * long):.1f}", f"{x / first:.1f}")
        for name, x in least.items()
    ]
    table("A controller sampled at 1 kHz, panda", rows, ("", "s for 60 s", "µs per sample", "relative to ours"))


def single_calls(arm: da.Arm) -> None:
    """One call for one state, as in a loop of one's own."""
    q, few = np.array([0.0, 0.3, 0.0, -1.5, 0.0, 1.2, 0.3]), 200
    law = da.PD(100.0, 1.0, q)
    calls = {
        "arm.rollout(steps=1)": lambda: arm.rollout(q, q, q, step=H, steps=1),
        "PD.torque": lambda: law.torque(arm, 0.0, q, q),
        "arm.linearize": lambda: arm.linearize(q, q, q),
        "arm.linearize(dt=)": lambda: arm.linearize(q, q, q, dt=H),
    }
    least = interleaved({name: lambda f=f: [f() for _ in range(few)] for name, f in calls.items()}, 10)  # type: ignore[misc]
    table("Single calls, panda", [(name, f"{1e6 * x / few:.1f}") for name, x in least.items()], ("", "µs"))


def eventful() -> None:
    """The cost of stiction and joint stops."""
    rows = []
    for name, stops in (("puma560", None), ("puma560", "contact"), ("panda", "contact")):
        arm = da.load(name)
        limits = [(j.limits.lower or -3.0, j.limits.upper or 3.0) for j in arm.robot.moving_joints]
        rng = np.random.default_rng(0)
        q = np.stack([rng.uniform(0.9 * a, 0.9 * b, 2000) for a, b in limits], axis=1)
        q = np.clip(q, [a for a, _ in limits], [b for _, b in limits])
        qd = rng.uniform(-1, 1, q.shape)

        def run(arm: da.Arm = arm, q: np.ndarray = q, qd: np.ndarray = qd, stops: str | None = stops) -> object:
            return da.simulate(arm, q, qd, None, 0.5, every=500, stops=stops)  # type: ignore[arg-type]

        cost = interleaved({"x": run}, 3)["x"] / (2000 * 500)
        rows.append(
            (
                f"{name}, {'Coulomb friction' if name == 'puma560' else 'no friction'}, stops: {stops}",
                f"{cost * 1e9:.0f}",
            )
        )
    table("Steps with events, 2,000 states × 500 steps", rows, ("", "ns per step"))


def gradients() -> None:
    """Gradients with respect to the torques of all steps, and sensitivities, relative to the forward run beside them."""
    steps, rows, cores, rng = 100, [], os.sched_getaffinity(0), np.random.default_rng(0)
    cases = {
        "panda, 10,000 states": ("panda", 10_000, 1.0),
        "ur10, 10,000 states": ("ur10", 10_000, 1.0),
        "puma560, Coulomb friction, moving, 10,000 states": ("puma560", 10_000, 1.0),
        "puma560, Coulomb friction, sticking or slipping in most steps, 1,000 states": ("puma560", 1_000, 0.01),
    }

    def backward(run: da.Run, kept: int = rollout_derivatives.BYTES) -> object:
        rollout_derivatives.BYTES = kept
        return da.gradient(run, "torque", q=1.0, qd=1.0)

    for label, (name, states, speed) in cases.items():
        arm = da.load(name)
        q, qd = rng.uniform(-1, 1, (states, arm.n)), rng.choice([-speed, speed], (states, arm.n))
        noise = rng.normal(size=(states, steps, arm.n)) * min(speed * 1e2, 1.0)
        tau = arm.inverse_dynamics(q, qd, 0.0 * q)[:, None] + noise

        def forward(arm: da.Arm = arm, q: np.ndarray = q, qd: np.ndarray = qd, tau: np.ndarray = tau) -> da.Run:
            return da.simulate(arm, q, qd, tau, steps * H, every=steps)

        run = forward()
        calls = {
            "forward": forward,
            "gradient": lambda run=run: backward(run),
            "checkpoints": lambda run=run: backward(run, 1),
            "sensitivity": lambda run=run: run.sensitivity("q0"),
        }
        one_core()
        least = interleaved(calls, 5)
        os.sched_setaffinity(0, cores)
        both = interleaved({"gradient": calls["gradient"]}, 5)["gradient"]
        ratio = {x: f"{time / least['forward']:.1f}" for x, time in least.items()}
        each = f"{least['sensitivity'] / least['forward'] / arm.n:.1f}"
        rows.append((label, f"{least['forward']:.3f}", ratio["gradient"], ratio["checkpoints"], each, f"{both:.2f}"))
    head = ("", "forward (s)", "gradient", "checkpoints", "a direction", f"gradient, {len(cores)} cores (s)")
    table(f"Gradients by the torques of {steps} steps, one core; in forward runs unless stated", rows, head)


if __name__ == "__main__":
    main()
