"""Inverse dynamics: ours, Pinocchio and MuJoCo, side by side on one core (make bench)."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

import mujoco
import numpy as np
import pinocchio as pin

import dalembert as da
from sidebyside import STATES, interleaved, one_core, panda_urdf_text, random_states, table


def batch_and_single() -> None:
    """10,000 random states of panda, and one state a call."""
    text = panda_urdf_text()
    model = pin.buildModelFromXML(text)
    data, pool = model.createData(), pin.ModelPool(model, 1)
    mj = mujoco.MjModel.from_xml_string(text)
    mj_data = mujoco.MjData(mj)
    arm = da.load("panda")
    kernel = arm.kernel("inverse_dynamics")
    q, qd, qdd = random_states(7)
    columns = [np.asfortranarray(x.T) for x in (q, qd, qdd)]
    result = np.asfortranarray(np.zeros((7, STATES)))
    q0, qd0, qdd0 = (x[0].copy() for x in (q, qd, qdd))
    singles = [x.astype(np.float32) for x in (q, qd, qdd)]
    few = 1000

    def mujoco_loop() -> None:
        for k in range(few):
            mj_data.qpos[:], mj_data.qvel[:], mj_data.qacc[:] = q[k], qd[k], qdd[k]
            mujoco.mj_inverse(mj, mj_data)

    least = interleaved(
        {
            "batch": lambda: kernel(q, qd, qdd),
            "batch method": lambda: arm.inverse_dynamics(q, qd, qdd),
            "float32": lambda: kernel(*singles),
            "pin batch": lambda: pin.rneaInParallel(1, pool, *columns, result),
            "mujoco": mujoco_loop,
            "single": lambda: [kernel(q0, qd0, qdd0) for _ in range(few)],
            "single method": lambda: [arm.inverse_dynamics(q0, qd0, qdd0) for _ in range(few)],
            "pin single": lambda: [pin.rnea(model, data, q0, qd0, qdd0) for _ in range(few)],
        }
    )
    agreement = np.abs(result.T - kernel(q, qd, qdd)).max() / np.abs(result).max()
    ours, peer = least["batch"] / STATES, least["pin batch"] / STATES
    one, peer_one = least["single method"] / few, least["pin single"] / few
    rows = [
        ("dalembert's kernel, batch, float64", f"{ours * 1e9:.1f}", "1.0"),
        (
            "dalembert's method, batch, float64",
            f"{least['batch method'] / STATES * 1e9:.1f}",
            f"{least['batch method'] / STATES / ours:.1f}",
        ),
        (
            "dalembert's kernel, batch, float32",
            f"{least['float32'] / STATES * 1e9:.1f}",
            f"{least['float32'] / STATES / ours:.1f}",
        ),
        ("Pinocchio rneaInParallel, 1 thread", f"{peer * 1e9:.0f}", f"{peer / ours:.1f}"),
        ("MuJoCo mj_inverse, Python loop", f"{least['mujoco'] / few * 1e9:.0f}", f"{least['mujoco'] / few / ours:.1f}"),
        ("dalembert's method, one state a call", f"{one * 1e9:.0f}", "1.0"),
        (
            "dalembert's gufunc, one state a call",
            f"{least['single'] / few * 1e9:.0f}",
            f"{least['single'] / few / one:.1f}",
        ),
        ("Pinocchio rnea, one state a call", f"{peer_one * 1e9:.0f}", f"{peer_one / one:.2f}"),
    ]
    table(f"Inverse dynamics of panda, {STATES} states, one core", rows, ("", "ns a state", "over ours"))
    print(f"largest difference to Pinocchio, relative: {agreement:.1e}")


def memory() -> None:
    """How much the process grows while a large batch runs into a given output."""
    kernel = da.load("panda").kernel("inverse_dynamics")
    q, qd, qdd = random_states(7, 1_000_000)
    out = np.zeros_like(q)
    kernel(q[:9], qd[:9], qdd[:9])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kernel(q, qd, qdd, out=out)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"peak memory beyond inputs and outputs, 1,000,000 states: {grown} kB")


def compiling() -> None:
    """First compile and from the cache, each in a fresh process."""
    code = (
        "import time, sys, llvmlite.binding, numpy as np, dalembert as da; arm = da.load('panda'); z = np.zeros(7);"
        "t = time.perf_counter(); arm.inverse_dynamics(z, z, z); print(time.perf_counter() - t)"
    )
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "DALEMBERT_CACHE": folder}

        def run(text: str) -> float:
            return float(
                subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True).stdout
            )

        cold, warm = run(code), min(run(code) for _ in range(5))
        with_import = min(run(code.replace("llvmlite.binding, ", "")) for _ in range(5))
    print(
        f"first compile {cold:.3f} s; from the cache {warm * 1e3:.1f} ms ({with_import * 1e3:.1f} ms with llvmlite's import)"
    )


def long_chains() -> None:
    """Cost per joint of chains of 10 and 100 joints."""
    rng = np.random.default_rng(1)
    rows = []
    per_joint = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DALEMBERT_CACHE"] = folder
        for n in (10, 30, 100):
            links = []
            for _ in range(n):
                A = rng.normal(size=(3, 3)) * 0.1
                A = A @ A.T
                links.append({
                    "a": rng.uniform(0.1, 0.5), "alpha": float(rng.choice([np.pi / 2, -np.pi / 2, 0.3])),
                    "d": rng.uniform(0, 0.3), "mass": 1.0, "com": rng.normal(size=3) * 0.1,
                    "inertia": np.trace(A) * np.eye(3) - A,
                })  # fmt: skip
            arm = da.from_dh(links)
            start = time.perf_counter()
            kernel = arm.kernel("inverse_dynamics")
            made = time.perf_counter() - start
            x = random_states(n, 2000)
            least = interleaved({"chain": lambda kernel=kernel, x=x: kernel(*x)}, 9)["chain"] / 2000
            per_joint[n] = least / n
            rows.append(
                (
                    f"{n} joints",
                    f"{made:.2f}",
                    f"{least * 1e9:.0f}",
                    f"{least / n * 1e9:.2f}",
                    f"{per_joint[n] / per_joint[10]:.2f}",
                )
            )
    table("Chains", rows, ("", "compile (s)", "ns a state", "ns a joint", "over 10 joints"))


if __name__ == "__main__":
    one_core()
    batch_and_single()
    memory()
    compiling()
    long_chains()
