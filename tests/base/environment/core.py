"""The core, where no optional package can be imported: it computes, counts, compiles and prints.

``make test-core`` runs this in an environment without any extra, ``tests/base/environment/test_extras.py`` where their imports
fail. It needs nothing but the package.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.base.environment.extras import EXTRAS

RNG = np.random.default_rng(7)
PACKAGES = {package for packages in EXTRAS.values() for package in packages}


def arms_compute(names: list[str]) -> Iterator[str]:
    """Forward dynamics of the torques of inverse dynamics is the acceleration."""
    for name in names:
        arm = da.load(name)
        qd, qdd = RNG.uniform(-0.5, 0.5, (2, arm.n))
        tau = arm.inverse_dynamics(arm.home, qd, qdd)
        assert np.allclose(arm.forward_dynamics(arm.home, qd, tau), qdd, atol=1e-6), name
        yield name


def an_arm_computes_everything(arm: da.Arm) -> Iterator[str]:
    q, qd, qdd = RNG.uniform(-1, 1, (3, 4, arm.n))
    tau = arm.inverse_dynamics(q, qd, qdd)
    B, C, g = arm.inertia_matrix(q), arm.coriolis_matrix(q, qd), arm.gravity_torque(q)
    sum_of_terms = np.einsum("kij,kj->ki", B, qdd) + np.einsum("kij,kj->ki", C, qd) + g + arm.friction_torque(qd)
    assert np.allclose(tau, sum_of_terms) and np.allclose(tau, arm.regressor(q, qd, qdd) @ arm.parameters)
    yield "terms and regressor"
    for values in (
        arm.jacobian(q),
        arm.pose(q),
        arm.christoffel(q),
        arm.kinetic_energy(q, qd),
        arm.potential_energy(q),
    ):
        assert np.isfinite(values).all()
    for derivative in (*arm.torque_derivatives(q, qd, qdd), *arm.forward_derivatives(q, qd, tau)):
        assert np.isfinite(derivative).all()
    yield "kinematics, energies, derivatives"
    assert arm.operations("inverse_dynamics").compiled.multiplications < 400
    yield "counts"
    equations = da.load("planar-2r").equations()
    assert "a_1" in equations.text() and r"\ddot" in equations.latex()
    yield "equations as text and LaTeX"
    assert arm.dynamic_manipulability(q[0]).volume > 0
    assert arm.base_parameters().rank > 4
    yield "ellipsoids, base parameters"


def files_are_read_and_written(folder: Path) -> Iterator[str]:
    arm = da.load("panda")
    for suffix in (".toml", ".urdf"):
        arm.save(folder / f"arm{suffix}")
        again = da.load(folder / f"arm{suffix}")
        assert np.allclose(again.gravity_torque(again.home), arm.gravity_torque(arm.home))
        yield suffix
    assert da.from_dh([{"a": 1.0, "mass": 2.0, "com": (-0.5, 0, 0)}], gravity=(0, -9.81, 0)).n == 1
    (folder / "arm.csv").write_text("a [mm],alpha [deg],d,theta,mass\n500,-90,0,q1,2\n")
    assert da.load(folder / "arm.csv").n == 1 and da.Shape("box", (1.0, 1.0, 1.0)).inertia(density="steel").mass == 7850
    yield "DH table"


def motions_are_made_and_timed(folder: Path) -> Iterator[str]:
    arm = da.load("planar-2r")
    way = [[0.0, 0.0], [1.0, 0.5], [0.5, 1.5]]
    motions = {
        "polynomial": da.polynomial(way[0], way[1], 1.0, degree=7),
        "trapezoidal": da.trapezoidal(way[0], way[1], acceleration_time=0.2, max_velocity=2.0),
        "cubic spline": da.spline([0, 1, 2], way),
        "quintic spline": da.spline([0, 1, 2], way, "natural", 5),
        "Fourier series": da.fourier(RNG.normal(size=(2, 2, 3)), 0.5),
        "line": da.line(arm, [0.8, 0.0, 0.0], [1.2, 0.4, 0.0], duration=1.0, acceleration_time=0.2),
    }
    for name, motion in motions.items():
        assert motion.scaled(arm).limits_report(arm) == []
        assert motion.time_optimal(arm).duration > 0
        yield name
    motions["cubic spline"].save(folder / "motion.csv")
    table = np.loadtxt(folder / "motion.csv", delimiter=",", skiprows=1)[:, :3]
    np.savetxt(folder / "positions.csv", table, delimiter=",", header="t,q1,q2", comments="")
    again = da.read_trajectory(folder / "positions.csv")
    assert np.allclose(again(0.7)[1], motions["cubic spline"](0.7)[1], atol=1e-5)
    yield "CSV files, with derivatives or without"
    swing = da.simulate(arm, [0.3, 0.8], [0.0, 0.0], None, 0.1)
    assert np.isfinite(swing.q).all()
    yield "simulation"


def commands_print(folder: Path) -> Iterator[str]:
    motion = str(folder / "motion.csv")
    for words in (
        ["--version"],
        ["arms"],
        ["show", "panda"],
        ["equations", "planar-2r"],
        ["torques", "planar-2r", motion],
        ["compare", "planar-2r", "--no-measure"],
        ["ellipsoid", "planar-3r", "--q", "0.5 0.6 0.4"],
        ["simulate", "planar-2r", "--q", "0.3 0.8", "--duration", "0.1"],
        ["cache"],
    ):
        code, said, told = command(words)
        assert code == 0 and said, (words, told)
        yield " ".join(words)


def command(words: list[str]) -> tuple[int, str, str]:
    run = subprocess.run([sys.executable, "-m", "dalembert", *words], capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


def file_of(folder: Path, name: str, content: bytes = b"nothing") -> str:
    (folder / name).write_bytes(content)
    return str(folder / name)


def run_of(arm: da.Arm) -> dict[str, np.ndarray]:
    """A log of an arm."""
    t = np.linspace(0, 4, 2001)
    motion = da.fourier(RNG.normal(size=(2, arm.n, 2)), 0.25, duration=4.0)
    q, qd, qdd = motion(t)
    return {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}


def notebooks_and_pages_show_arms(folder: Path) -> Iterator[str]:
    """Tables of notebooks, and the page with a moving arm, need no extra."""
    arm = da.load("planar-2r")
    run = da.simulate(arm, [0.3, 0.8], None, None, 0.1)
    for shown in (arm, run, arm.dynamic_manipulability([0.3, 0.8])):
        assert "<table" in shown._repr_html_() and "no picture: " in shown._repr_html_()
    run.animate(folder / "swing.html")
    yield f"a moving arm: {(folder / 'swing.html').stat().st_size} bytes"


def calls_for_extras(folder: Path) -> dict[str, list[tuple[str, Callable[[], object]]]]:
    """By extra: the package that is missed first, and a call that misses it."""
    arm = da.load("planar-2r")
    motion = str(folder / "motion.csv")
    swing = (arm, [0.3, 0.8], [0.0, 0.0], None, 0.1)
    bag, mcap = file_of(folder, "run.bag"), file_of(folder, "run.mcap")
    parquet, matlab = file_of(folder, "run.parquet"), file_of(folder, "run.mat")
    sheet, mesh = file_of(folder, "arm.xlsx"), da.Shape("mesh", (1, 1, 1), file=file_of(folder, "link.stl"))
    mjcf = file_of(folder, "arm.xml", b"<mujoco><worldbody/></mujoco>")
    macros = file_of(folder, "arm.xacro", b"<robot/>")
    return {
        "motion": [
            ("SciPy", lambda: da.simulate(*swing, method="dop853")),
            ("SciPy", lambda: da.read_trajectory(folder / "positions.csv", cutoff=20.0)),
        ],
        "symbols": [
            ("SymPy", lambda: arm.equations().B),
            ("SymPy", lambda: arm.in_coordinates(lambda y: [y[0], y[0] + y[1]])),
        ],
        "plot": [
            ("Matplotlib", lambda: da.write_report(folder / "page.html", da.study(arm, da.read_trajectory(motion)))),
            ("Matplotlib", arm.plot),
            ("Matplotlib", lambda: da.simulate(*swing).animate(folder / "swing.gif")),
        ],
        "video": [("imageio-ffmpeg", lambda: da.simulate(*swing).animate(folder / "swing.mp4"))],
        "identify": [
            ("SciPy", lambda: da.identify(arm, run_of(arm))),
            ("SciPy", lambda: da.excite(arm, duration=1.0)),
            ("SymPy", lambda: arm.base_parameters("symbols")),
            (
                "Clarabel",
                lambda: importlib.import_module("dalembert.work.identification.fitting.cone_program").clarabel(),
            ),
        ],
        "logs": [
            ("SciPy", lambda: da.identify(arm, matlab)),
            ("pyarrow", lambda: da.identify(arm, parquet)),
            ("rosbags", lambda: da.identify(arm, bag)),
            ("mcap", lambda: da.identify(arm, mcap)),
        ],
        "spreadsheet": [("python-calamine", lambda: da.load(sheet))],
        "meshes": [("trimesh", lambda: mesh.inertia(density=2700))],
        "mujoco": [("MuJoCo", lambda: da.load(mjcf))],
        "xacro": [("xacro", lambda: da.load(macros))],
        "gpu": [("cuda-bindings", lambda: importlib.import_module("dalembert.compiler.kernel.cuda")._driver())],
        "cluster": [
            ("distributed", lambda: da.simulate(arm, [[0.3, 0.8]], None, None, 0.1, cluster="tcp://127.0.0.1:8786"))
        ],
    }


def missing_extras_are_one_sentence(folder: Path) -> Iterator[str]:
    calls = calls_for_extras(folder)
    assert calls.keys() == EXTRAS.keys(), "an extra has no call here"
    for extra, misses in calls.items():
        for package, call in misses:
            try:
                call()
            except da.MissingExtraError as error:
                sentence = str(error)
            else:
                raise AssertionError(f"a call for the extra '{extra}' does without {package}")
            assert sentence.endswith(f" needs {package}; type: pip install 'dalembert[{extra}]'"), sentence
            yield sentence.replace(str(folder), "…")
    picture = str(folder / "growth.png")
    code, said, told = command(["compare", "--joints", "2..3", "--no-measure", "--plot", picture])
    assert (code, said) == (2, "") and told.startswith("error: ") and told.count("\n") == 1, told
    assert told.endswith("a figure needs Matplotlib; type: pip install 'dalembert[plot]'\n"), told
    yield f"{told.strip().replace(str(folder), '…')} (as a command, status {code})"


def main(*names: str) -> None:
    """Try all of it, and say what was tried; with some of the shipped arms, or all of them."""
    for package in PACKAGES:
        try:
            importlib.import_module(package)
        except ImportError:
            continue
        raise AssertionError(f"{package} is installed: this tests an environment without it")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in (
            arms_compute(list(names) or da.arms()),
            an_arm_computes_everything(da.load(names[0] if names else "panda")),
            files_are_read_and_written(folder),
            motions_are_made_and_timed(folder),
            commands_print(folder),
            notebooks_and_pages_show_arms(folder),
            missing_extras_are_one_sentence(folder),
        ):
            for step in part:
                print(step, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
