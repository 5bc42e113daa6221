"""Inverse dynamics of panda in WebAssembly, in Node: our kernels compared with MuJoCo's WebAssembly build.

Our kernels are that of ``arm.emit("inverse_dynamics", "wasm")``, which contains the arm's parameters as constants, and that of
the live page, which takes masses, lengths, payload, gravity and a tip wrench as inputs. Both process rows of 256 states, two at a
time; the former is also called state by state. MuJoCo's ``mj_inverse`` has no batches: positions, velocities and accelerations
are set in its memory, state by state; contacts, constraints and sensors are off. Rounds alternate in one process; the fastest
decile of the later half counts, which is least affected by other programs.

    python benchmarks/page_kernels.py [--write]

MuJoCo (npm: @mujoco/mujoco) is installed into out/node. --write writes benchmarks/page_kernels.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from dalembert.compiler.kernel.wasm import LOADER
from dalembert.views.web.kernels import page_kernels
from dalembert.views.web.page_model import arm_data, tip_space
from sidebyside import panda_urdf_text

HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / "out" / "node"
PACKAGE = "@mujoco/mujoco"
STATES, ROUNDS, MILLISECONDS = 256, 300, 2
GOAL = 150.0  # ns per state, and a twentieth of MuJoCo's


def main() -> None:
    """Print the table, or write it to the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write benchmarks/page_kernels.md")
    write = parser.parse_args().write
    if shutil.which("node") is None:
        sys.exit("page_kernels: node is not installed")
    mujoco, problem = installed()
    measured = measure(mujoco)
    text = page(measured, problem)
    if write:
        (HERE / "page_kernels.md").write_text(text)
    print(text)


def installed() -> tuple[Path | None, str]:
    """MuJoCo's module, installed if necessary, or the reason why it is missing."""
    folder = PEERS / "node_modules" / PACKAGE
    if not (folder / "mujoco.js").exists():
        PEERS.mkdir(parents=True, exist_ok=True)
        (PEERS / "package.json").write_text('{"type": "module", "private": true}\n')
        command = ["npm", "install", "--no-audit", "--no-fund", PACKAGE]
        done = subprocess.run(command, cwd=PEERS, capture_output=True, text=True, check=False)
        if done.returncode:
            return None, f"{PACKAGE} could not be installed from npm: {done.stderr.strip().splitlines()[-1]}"
    return folder / "mujoco.js", ""


def measure(mujoco: Path | None) -> dict[str, Any]:
    """Node's measurements: nanoseconds per state by variant, sizes, and differences of the torques from the library's."""
    text = panda_urdf_text()
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "arm.urdf").write_text(text)
        arm = da.load(folder / "arm.urdf")
        q, qd, qdd = random.uniform(-1.0, 1.0, (3, STATES, arm.n))
        own = next(x for x in arm.emit("inverse_dynamics", "wasm").files.values() if isinstance(x, bytes))
        live = page_kernels(arm, tip_space(arm))
        (folder / "own.wasm").write_bytes(own)
        (folder / "page.wasm").write_bytes(live)
        (folder / "loader.mjs").write_text(LOADER.read_text())
        given = {
            "n": arm.n, "count": STATES, "rounds": ROUNDS, "milliseconds": MILLISECONDS,
            "numbers": {**arm_data(arm)["numbers"], "tip_wrench": [0.0] * 6},
            "q": q.ravel().tolist(), "qd": qd.ravel().tolist(), "qdd": qdd.ravel().tolist(),
            "mujoco": None if mujoco is None else str(mujoco), "urdf": text,
        }  # fmt: skip
        (folder / "given.json").write_text(json.dumps(given))
        command = ["node", str(HERE / "page_kernels.mjs"), temporary]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"page_kernels: {done.stderr.strip()}")
        measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    torques = arm.inverse_dynamics(q, qd, qdd)
    apart = {
        name: float(np.abs(np.reshape(tau, q.shape) - torques).max() / np.abs(torques).max())
        for name, tau in measured["torques"].items()
    }
    size = {"own": len(own), "page": len(live)}
    if mujoco is not None:
        size["mujoco"] = (mujoco.parent / "mujoco.wasm").stat().st_size
        measured["version"] = json.loads((mujoco.parent / "package.json").read_text())["version"]
    return {**measured, "apart": apart, "size": size}


def page(measured: dict[str, Any], problem: str) -> str:
    """The page."""
    titles = {
        "own rows": "our kernel, rows of 256 states",
        "page rows": "the page's kernel, parameters as inputs, rows of 256 states",
        "own one by one": "our kernel, state by state",
        "mujoco one by one": "MuJoCo `mj_inverse`, state by state",
    }
    times, least = measured["nanoseconds"], measured["nanoseconds"].get("mujoco one by one")
    rows = []
    for name, nanoseconds in times.items():
        module = name.split()[0]
        ratio = "" if least is None else f"{least / nanoseconds:.1f}"
        size = f"{measured['size'][module] / 1000:,.1f} kB"
        rows.append([titles[name], f"{nanoseconds:,.0f}", ratio, size, f"{measured['apart'][module]:.0e}"])
    heads = ["", "ns per state", "MuJoCo / this", "module", "difference from the library"]
    about, _, how = (__doc__ or "").partition("\n\n")
    reached = times["own rows"] <= GOAL and (least is None or least / times["own rows"] >= 20)
    verdict = (
        f"The goal for our kernel with rows, {GOAL:.0f} ns per state and one twentieth of MuJoCo's time, is "
        f"{'' if reached else 'not '}reached."
    )
    versions = f"Node {measured['node']}" + (f", MuJoCo {measured['version']}" if "version" in measured else "")
    lines = [
        f"# {about}",
        how.partition("\n\n    python")[0],
        f"{versions}. Written by `benchmarks/page_kernels.py --write`.",
    ]
    marks = ["---", *["---:"] * (len(heads) - 1)]
    cells = "\n".join(f"| {' | '.join(row)} |" for row in (heads, marks, *rows))
    return "\n\n".join([*lines, *([f"{problem}."] if problem else []), cells, verdict]) + "\n"


if __name__ == "__main__":
    main()
