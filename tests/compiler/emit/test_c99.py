"""Generated C: it is what the kernel computes, and compiles without a warning, in double and float, with and without libm."""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from arms import FRICTIONS, arm, with_terms
from compilers import SANITIZED, call, compiled, compiler, library
from dalembert.compiler.emit import c99
from dalembert.compiler.graph.tape import Graph
from dalembert.compiler.quantities.emission import identifier
from dalembert.compiler.quantities.joints import known
from test_closed_simulation import by_newton

QUANTITIES = (
    "inverse_dynamics", "forward_dynamics", "inertia_matrix", "gravity_torque", "coriolis_matrix", "jacobian", "pose",
    "torque_derivatives",
)  # fmt: skip
SMALL = {"planar-2r": "clang", "scara": "gcc", "parallelogram": "clang", "terms": "gcc"}


def states(a: da.Arm, names: list[str], count: int = 5) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(1)
    reach = 2.0 if a.mechanism.linear else 0.2
    return [
        [a.home + rng.uniform(-reach, reach, a.n) if name == "q" else rng.uniform(-2, 2, a.n) for name in names]
        for _ in range(count)
    ]


def compare(a: da.Arm, quantity: str, function: object) -> float:
    """The largest difference between C and the kernel, beside the largest number."""
    kernel, worst = a.kernel(quantity), 0.0
    names = list(known(a.mechanism)[quantity].inputs)
    for inputs in states(a, names):
        want = kernel(*inputs)
        want = want if isinstance(want, tuple) else (want,)
        got = call(function, inputs, [np.full_like(x, np.nan) for x in want])
        worst = max(worst, *(np.abs(x - y).max() / np.abs(y).max() for x, y in zip(got, want, strict=True)))
    return worst


@pytest.mark.parametrize("name", SMALL)
def test_c_equals_the_kernel(name: str, tmp_path: Path) -> None:
    a = arm(name)
    for quantity in QUANTITIES:
        a.emit(quantity, target="c").write(tmp_path)
    loaded = library(SMALL[name], tmp_path)
    for quantity in QUANTITIES:
        assert compare(a, quantity, getattr(loaded, f"{identifier(a.name)}_{quantity}")) < 1e-12, quantity


@pytest.mark.parametrize("name", ["panda", "puma560"])
def test_c_of_large_arms_equals_the_kernel(name: str, tmp_path: Path) -> None:
    """Without libm; and nothing but the function itself is visible."""
    arm(name).emit("inverse_dynamics", libm=False).write(tmp_path)
    loaded = library("gcc", tmp_path, "-O2")
    assert compare(arm(name), "inverse_dynamics", getattr(loaded, f"{name}_inverse_dynamics")) < 1e-12
    symbols = subprocess.run(["nm", "-D", "--defined-only", tmp_path / "gcc.so"], capture_output=True, text=True).stdout
    assert re.findall(r" T (\w+)", symbols) == [f"{name}_inverse_dynamics"]
    assert " U sin" not in subprocess.run(["nm", "-D", tmp_path / "gcc.so"], capture_output=True, text=True).stdout


def sprung() -> da.Arm:
    """A closed chain whose passive joints have springs and friction: their angles are atan2."""
    return da.Arm(with_terms(da.load("five-bar").robot, FRICTIONS))


@pytest.mark.parametrize(
    ("precision", "libm", "name", "compiler"),
    [
        ("double", True, "terms", "clang"),
        ("single", True, "closed", "gcc"),
        ("double", False, "closed", "gcc"),
        ("single", False, "terms", "clang"),
    ],
)
def test_self_tests_pass_under_sanitizers(precision: str, libm: bool, name: str, compiler: str, tmp_path: Path) -> None:
    a = arm("terms") if name == "terms" else sprung()
    used = {op for op, _ in _graph(a).nodes}
    assert {"sin", "cos", "sqrt", "exp", "tanh", "sign"} <= used and (name == "terms" or "atan2" in used)
    a.emit(["inverse_dynamics", "forward_dynamics"], precision=precision, libm=libm, function="both").write(tmp_path)
    if not libm:
        assert "math.h" not in "".join(path.read_text() for path in tmp_path.iterdir())
    program = compiled(compiler, tmp_path, "check", sorted(tmp_path.glob("*.c")), *SANITIZED)
    run = subprocess.run([program], capture_output=True, text=True)
    assert run.returncode == 0 and "passed" in run.stdout and run.stderr == "", run.stdout + run.stderr


def _graph(a: da.Arm) -> Graph:
    from dalembert.compiler.quantities.machine import trace

    return trace(a.mechanism, known(a.mechanism)["inverse_dynamics"])


def test_a_self_test_notices_a_wrong_number(tmp_path: Path) -> None:
    da.load("planar-2r").emit("gravity_torque").write(tmp_path)
    source = tmp_path / "planar_2r_gravity_torque.c"
    assert "245.25" in source.read_text()
    source.write_text(source.read_text().replace("245.25", "245.26"))
    run = subprocess.run(
        [compiled("gcc", tmp_path, "check", sorted(tmp_path.glob("*.c")))], capture_output=True, text=True
    )
    assert run.returncode == 1 and "FAILED" in run.stdout


def test_a_long_function_is_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = arm("scara")
    monkeypatch.setattr(c99, "PART_LENGTH", 5)
    source = a.emit("torque_derivatives")
    assert "scara_torque_derivatives_part3(" in source.files["scara_torque_derivatives.c"]
    source.write(tmp_path)
    assert compare(a, "torque_derivatives", library("gcc", tmp_path).scara_torque_derivatives) < 1e-12


def test_several_quantities_share_what_they_have_in_common() -> None:
    a, names = da.load("puma560"), ["pose", "jacobian"]
    (together,) = a.emit(names).notes
    apart = [a.operations(name).compiled.multiplications for name in names]
    assert int(together.split()[0]) < 0.8 * sum(apart) and together.endswith("6 sines, 6 cosines.")


def test_outputs_that_are_called_like_others_are_called_after_their_quantity() -> None:
    header = str(da.load("pendulum").emit(["inverse_dynamics", "forward_dynamics", "inertia_matrix"], function="all"))
    prototype = re.search(r"void pendulum_all\((.*?)\);", header, re.DOTALL)
    assert prototype is not None
    assert re.findall(r"(\w+)\[", prototype[1]) == [
        "q", "qd", "qdd", "tau", "inverse_dynamics_tau", "forward_dynamics_qdd", "B",
    ]  # fmt: skip


def test_options_are_inputs(tmp_path: Path) -> None:
    a = da.load("planar-2r")
    a.emit(["inverse_dynamics", "gravity_torque"], options=("tip_wrench",), function="f").write(tmp_path)
    f = library("gcc", tmp_path).planar_2r_f
    q, qd, qdd, h = np.random.default_rng(0).uniform(-1, 1, (4, 6))
    got, g = call(f, [q[:2], qd[:2], qdd[:2], h], [np.empty(2), np.empty(2)])
    assert np.allclose(got, a.inverse_dynamics(q[:2], qd[:2], qdd[:2], tip_wrench=h), rtol=1e-13)
    assert np.allclose(g, a.gravity_torque(q[:2]), rtol=1e-13)


def test_numbers_of_the_arm_are_inputs(tmp_path: Path) -> None:
    """One file for all arms of this structure."""
    a = da.load("planar-2r")
    options = ("parameters", "gravity")
    a.emit(["inverse_dynamics", "gravity_torque"], options=options, function="f", precision="single").write(tmp_path)
    run = subprocess.run([compiled("gcc", tmp_path, "check", sorted(tmp_path.glob("*.c")))])
    assert run.returncode == 0
    a.emit(["inverse_dynamics", "gravity_torque"], options=options, function="f").write(tmp_path, overwrite=True)
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    other = a.replace(gravity=(0.3, -1.6, 0.0)).with_payload(3.0, (0.1, 0.0, 0.0))
    inputs = [q, qd, qdd, np.array(other.parameters), np.array(other.robot.gravity)]
    tau, g = call(library("gcc", tmp_path).planar_2r_f, inputs, [np.empty(2), np.empty(2)])
    assert np.allclose(tau, other.inverse_dynamics(q, qd, qdd), rtol=1e-12)
    assert np.allclose(g, other.gravity_torque(q), rtol=1e-12)


def test_arms_closed_by_newton_take_all_joints_of_their_tree(tmp_path: Path) -> None:
    a = by_newton(da.load("five-bar"))
    assert a.mechanism.by_newton
    source = a.emit("inverse_dynamics")
    (note,) = (note for note in source.notes if "close the loops first" in note)
    assert "q holds all 4 joints" in note and "loop_equations" in note
    header = source.files[f"{identifier(a.name)}_inverse_dynamics.h"]
    assert note in " ".join(header.replace("\n *", " ").split())
    source.write(tmp_path)
    f = getattr(library("gcc", tmp_path), f"{identifier(a.name)}_inverse_dynamics")
    q, qd, qdd = a.home + 0.1, np.array([0.3, -0.2]), np.array([1.0, 2.0])
    (tau,) = call(f, [a.placed(q), qd, qdd], [np.empty(2)])
    assert np.allclose(tau, a.inverse_dynamics(q, qd, qdd), rtol=1e-12)


@pytest.mark.parametrize("name", ["*/ int x; /*", "a\nb??/", "3-axis \\", "α", "while", "a/b/ur5.urdf", "x" * 300, "_"])
def test_any_name_of_a_robot_makes_a_file_that_compiles(name: str, tmp_path: Path) -> None:
    source = da.load("pendulum").replace(name=name).emit("gravity_torque")
    source.write(tmp_path)
    header, *_ = source.files
    assert re.fullmatch(r"[A-Za-z]\w{0,100}_gravity_torque\.h", header, re.ASCII)
    compiled("gcc", tmp_path, "check", sorted(tmp_path.glob("*.c")), "-fsyntax-only", "-Wtrigraphs")


def test_the_header_is_also_one_of_cpp(tmp_path: Path) -> None:
    cpp = compiler("g++")
    da.load("pendulum").emit("inertia_matrix").write(tmp_path)
    (tmp_path / "x.cpp").write_text('#include "pendulum_inertia_matrix.h"\nint main() { return 0; }\n')
    subprocess.run([cpp, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", tmp_path / "x.cpp"], check=True)


def test_the_file_says_what_it_is() -> None:
    text = da.load("planar-2r").emit("inverse_dynamics").files["planar_2r_inverse_dynamics.c"]
    words = " ".join(text.split("*/")[0].replace("\n *", " ").split())
    operations = da.load("planar-2r").operations("inverse_dynamics").compiled
    for part in (
        "inverse_dynamics of planar-2r.", "Computes joint torques (N m) for a motion, S (7.42).", "in q[2]: joint positions (rad)",
        "Joints, in this order: joint1 (rad), joint2 (rad).", "Gravity: (0, -9.81, 0) m/s^2 in base axes.", "Payload: none.",
        "Friction, springs and rotors in the model: rotor (all joints).",
        f"{operations.multiplications} multiplications, {operations.additions} additions", "Formulation: lean.",
        f"Generated by dalembert {da.__version__}. Generated code belongs to you: use, change and sell it without conditions.",
    ):  # fmt: skip
        assert part in words, part
    digest = re.search(r"Robot: planar-2r, ([0-9a-f]{16})\.", words)
    other = da.load("planar-2r").with_payload(1.0).emit("inverse_dynamics").files["planar_2r_inverse_dynamics.c"]
    assert (
        digest is not None
        and digest[1] not in other
        and "Payload: 1 kg at (0, 0, 0) m in the frame of the tip." in other
    )
    mixed = (
        da.load("scara")
        .approximate("coriolis")
        .emit("inverse_dynamics", options=["gravity"])
        .files["scara_inverse_dynamics.h"]
    )
    assert (
        "joint2 (rad), joint3 (m), joint4 (rad)" in mixed
        and "positions (rad or m)" in mixed
        and "Gravity:" not in mixed
    )
    assert "approximate model omits: coriolis." in mixed and "viscous (all joints)" in mixed


def test_every_c_file_is_ascii() -> None:
    """Derivatives, too, and robots whose names and joints have other letters."""
    robot = da.load("planar-2r").robot.replace(name="机器人 Ø")
    robot = robot.replace(
        joints=[replace(joint, name=f"Gelenk {chr(0xE4)}{k}") for k, joint in enumerate(robot.joints)]
    )
    derived = [f"{name}_{mode}" for name in ("inverse_dynamics", "kinetic_energy") for mode in ("jacobian", "gradient")]
    for a, quantities in (
        (da.Arm(robot), [*known(da.Arm(robot).mechanism), *derived]),
        (da.load("parallelogram"), ["closure"]),
    ):
        for quantity in quantities:
            for file, text in a.emit(quantity).files.items():
                assert str(text).isascii(), (quantity, file)


@pytest.mark.parametrize("libm", [True, False])
def test_functions_that_share_a_file_equal_the_kernels(libm: bool, tmp_path: Path) -> None:
    a = arm("terms")
    source = a.emit(QUANTITIES, separate=True, libm=libm, function="all")
    prefix = identifier(a.name)
    assert {f"{prefix}_all.h", f"{prefix}_all.c", f"{prefix}_pose_test.c"} <= source.files.keys()
    source.write(tmp_path)
    together = library("gcc", tmp_path)
    for quantity in QUANTITIES:
        assert compare(a, quantity, together[f"{prefix}_{quantity}"]) < 1e-12
    sources = [tmp_path / f"{prefix}_{name}.c" for name in ("all", "jacobian_test")]
    subprocess.run([compiled("gcc", tmp_path, "check", sources)], check=True)


def test_numbers_are_written_exactly() -> None:
    double, single = (partial(c99.c_number, x) for x in ("double", "float"))
    rng = np.random.default_rng(0)
    for x in [*np.exp(rng.uniform(-80, 80, 200)), 0.0, 1.0, 5e-324, 1e22, 0.1]:
        assert float(double(float(x))) == x
        assert np.float32(single(float(x)).removesuffix("f")) == np.float32(x) and single(float(x)).endswith("f")
    with pytest.raises(da.DalembertError, match=r"1e\+300 of this robot is too large for precision 'single'"):
        single(1e300)
    assert ctypes.sizeof(ctypes.c_double) == 8
