"""``dalembert emit``: what it writes and prints."""

from __future__ import annotations

from pathlib import Path

from dalembert.compiler.kernel.targets import TARGETS
from test_cli import mistake, run


def test_it_writes_the_files_and_says_what_they_cost(tmp_path: Path) -> None:
    folder = tmp_path / "code"
    result = run("emit", "planar-2r", "gravity_torque", "inertia_matrix", "--function", "both", "-o", folder, width=200)
    names = ["planar_2r_both.h", "planar_2r_both.c", "planar_2r_both_test.c"]
    for name, line in zip(names, result.stdout.splitlines(), strict=False):
        assert line == f"{folder / name}  {(folder / name).stat().st_size:,} bytes"
    assert "multiplications" in result.stdout and "2 cosines." in result.stdout
    again = mistake("emit", "planar-2r", "gravity_torque", "inertia_matrix", "--function", "both", "-o", folder)
    assert "was not changed; --force" in again
    run("emit", "planar-2r", "gravity_torque", "--function", "both", "-o", folder, "--force", "--float", "--no-libm")
    assert "const float q[2]" in (folder / names[1]).read_text() and "math.h>" not in (folder / names[1]).read_text()


def test_it_shows_the_text_and_lists_targets_and_quantities() -> None:
    shown = run(
        "emit",
        "planar-2r",
        "inverse_dynamics",
        "-t",
        "python",
        "--formulation",
        "newton-euler",
        "--option",
        "tip_wrench",
    )
    assert "def planar_2r_inverse_dynamics(q, qd, qdd, tip_wrench):" in shown.stdout
    assert "Formulation: newton-euler." in shown.stdout
    listed = run("emit", "--targets", width=120).stdout
    assert all(name in listed and entry.summary[:30] in listed for name, entry in TARGETS.items())
    assert "joint torques" in run("emit", "pendulum", "--list", width=120).stdout


def test_mistakes_are_one_sentence() -> None:
    assert "no quantity is named" in mistake("emit", "pendulum")
    assert "did you mean 'inertia_matrix'" in mistake("emit", "pendulum", "inertia_matrx")
    assert "there is no target 'rust'" in mistake("emit", "pendulum", "pose", "--target", "rust")


def test_binary_files_and_functions_of_their_own(tmp_path: Path) -> None:
    quantities = ("gravity_torque", "inertia_matrix")
    result = run("emit", "pendulum", *quantities, "-t", "wasm", "--separate", "-o", tmp_path, width=200)
    assert "pendulum_gravity_torque_inertia_matrix.wasm" in result.stdout and "belong to the module" in result.stdout
    assert "bytes)" in run("emit", "pendulum", "gravity_torque", "-t", "cortex-m7").stdout
    assert "not by 'ptx'" in mistake("emit", "pendulum", *quantities, "-t", "ptx", "--separate")


def test_the_old_option_for_single_precision_works_with_a_warning() -> None:
    old, new = (run("emit", "pendulum", "gravity_torque", option) for option in ("--float", "--single"))
    assert old.stdout == new.stdout and "now called --single" in old.stderr and not new.stderr
