"""The emitted step of a simulation is that of the library: in C, as an object file and in WebAssembly."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from compilers import call, compiled, library
from dalembert.compiler.quantities.emission import identifier
from dalembert.errors import DalembertError
from test_closed_simulation import by_newton
from test_wasm import Instance, module_of

H, STEPS = 1e-3, 300
STARTS = {
    "scara": ([0.0, 0.3, 0.05, 0.0], [3.0, -4.0, 0.1, 8.0]),  # slides, comes to rest and runs into its stops
    "puma560": ([0.3, 0.4, 0.5, 0.6, 0.7, 0.8], [1.0, -1.0, 0.0, 2.0, -2.0, 1.0]),
    "panda": ([0.3, 0.4, 0.5, -1.0, 0.7, 0.8, 0.9], [0.0] * 7),
    "five-bar": (None, [1.0, -0.5]),
}


@pytest.mark.parametrize("name", STARTS)
def test_c_takes_the_steps_of_the_library(name: str, tmp_path: Path) -> None:
    arm, (start, speed) = da.load(name), STARTS[name]
    stops = name in ("scara", "panda")
    arm.emit("step", options=("stops",) if stops else ()).write(tmp_path)
    q, qd = np.array(arm.home if start is None else start), np.array(speed)
    tau = 0.5 * np.asarray(arm.gravity_torque(q))
    run = da.simulate(arm, q, qd, np.tile(tau, (STEPS, 1)), STEPS * H, step=H, stops="contact" if stops else None)
    function = getattr(library("gcc", tmp_path), f"{identifier(name)}_step")
    for k in range(1, STEPS + 1):
        q, qd = call(function, [q, qd, np.array([H]), tau], [np.empty_like(q), np.empty_like(qd)])
        assert np.abs(q - run.q[k]).max() < 1e-10 and np.abs(qd - run.qd[k]).max() < 1e-9


@pytest.mark.parametrize(
    ("name", "options", "target"),
    [
        ("panda", ("tip_wrench", "stops"), "c"),
        ("parallelogram", ("gravity", "payload"), "c"),
        ("planar-2r", ("stops",), "host"),
        ("puma560", (), "host"),
    ],
)
def test_the_self_test_passes(name: str, options: tuple[str, ...], target: str, tmp_path: Path) -> None:
    source = da.load(name).emit("step", target, options=options)
    paths = source.write(tmp_path)
    parts = [path for path in paths if path.suffix in (".c", ".o")]
    run = subprocess.run([compiled("gcc", tmp_path, "test", parts, "-O1")], capture_output=True, text=True)
    assert run.returncode == 0 and "passed" in run.stdout, run.stdout


def test_webassembly_takes_the_same_step() -> None:
    arm = da.load("scara")
    q, qd, tau = np.random.default_rng(0).uniform(-0.5, 0.5, (3, 5, 4))
    instance = Instance(module_of(arm.emit("step", "wasm")))
    got = instance.call("step", [q, qd, np.full((5, 1), H), tau], [(5, 4), (5, 4)], 5)
    run = da.simulate(arm, q, qd, tau[:, None], H, step=H)
    assert np.abs(got[0] - run.q[:, -1]).max() < 1e-14 and np.abs(got[1] - run.qd[:, -1]).max() < 1e-12


@pytest.mark.parametrize(
    ("quantity", "settings", "words"),
    [
        ("step", {"target": "numpy"}, "this target has no loops, which 'step' needs"),
        ("step", {"options": ("stop",)}, "'step' has no option 'stop'; its options are tip_wrench, stops, parameters"),
        (["step", "pose"], {}, "'step', the step of a simulation, is emitted alone"),
        ("step", {"precision": "single"}, "the step of a simulation needs double precision"),
    ],
)
def test_what_a_step_cannot_be_is_an_error(quantity: str | list[str], settings: dict[str, str], words: str) -> None:
    with pytest.raises(DalembertError, match=words):
        da.load("planar-2r").emit(quantity, **settings)


def test_loops_closed_by_newton_are_refused() -> None:
    with pytest.raises(DalembertError, match="closed by Newton's method, which the emitted step does not contain"):
        by_newton(da.load("five-bar")).emit("step")
