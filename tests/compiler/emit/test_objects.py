"""Object files for other machines: linked with Debian's cross compilers, run by qemu, and equal to the kernels."""

from __future__ import annotations

import ctypes
import pickle
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from compilers import ELSEWHERE, compiler
from cross import CROSS, Cross
from dalembert.compiler.emit import llvm, wrappers
from dalembert.compiler.kernel import compile as machines
from dalembert.compiler.kernel.compile import LEVELS, MachineCode, object_code
from dalembert.compiler.kernel.footprint import flash, undefined
from dalembert.errors import DalembertError

WORDS = {"double": "double", "float": "single"}
KINDS = {"double": np.float64, "float": np.float32}
TOLERANCES = {"double": 1e-13, "float": 2e-5}
COUNT = 5
PAINTED = 4096  # bytes below the stack pointer
SLACK = 64  # bytes of a frame that a function may reserve and not write to


WITH_FRICTION = """name = "with_friction"
convention = "standard"
[[joint]]
name = "joint1"
link = "link1"
type = "revolute"
a = 1.0
alpha = 0.0
d = 0.0
theta = 0.0
mass = 5.0
com = [-0.5, 0.0, 0.0]
inertia = { xx = 0.01, yy = 0.25, zz = 0.25 }
friction = { tanh = { level = 1.2, width = 0.02 } }
"""


@pytest.fixture(scope="module")
def panda() -> Any:
    """The arm, states (one with an angle far beyond what is reduced by arithmetic), and their torques."""
    arm = da.load("panda")
    rows = np.random.default_rng(3).uniform(-2, 2, (3, COUNT, 7)).astype(np.float32).astype(float)
    rows[0, 2, 1] = 1e9
    return arm, rows, arm.kernel("inverse_dynamics")(*rows)


def main_of(scalar: str, rows: Any, move: str, many: bool) -> str:
    """A program that prints the bits of all torques, and how much of the stack was written to."""
    _, count, n = rows.shape
    word = "unsigned long long" if scalar == "double" else "unsigned"
    text = ",\n".join(", ".join(float(x).hex() for x in row.ravel()) for row in rows)
    return f"""#include <stdio.h>
#include <string.h>
#include "panda_inverse_dynamics.h"
static const {scalar} given[{rows.size}] = {{{text}}};
static {scalar} got[{rows[0].size}];
static void show(void)
{{
    for (int k = 0; k < {rows[0].size}; ++k) {{
        {word} bits;
        memcpy(&bits, got + k, sizeof bits);
        printf("%08lx%08lx\\n", (unsigned long)((unsigned long long)bits >> 32), (unsigned long)(bits & 0xffffffffu));
    }}
}}
int main(void)
{{
    const int step = {count * n};
    long deepest = 0;
    for (int state = 0; state < {count}; ++state) {{
        volatile unsigned char *sp;
        __asm__ volatile("{move} %0, sp" : "=r"(sp));
        for (int k = 1; k <= {PAINTED}; ++k)
            sp[-k] = 0xa5;
        panda_inverse_dynamics(given + state * {n}, given + step + state * {n}, given + 2 * step + state * {n}, got + state * {n});
        long used = {PAINTED};
        while (used && sp[-used] == 0xa5)
            --used;
        if (used > deepest)
            deepest = used;
    }}
    printf("%ld\\n", deepest);
    show();
#if {int(many)}
    memset(got, 0, sizeof got);
    panda_inverse_dynamics_rows(given, given + step, given + 2 * step, got, {count});
    show();
#endif
    return 0;
}}
"""


def cross_of(target: str) -> Cross:
    """The tools for a target; the test is skipped where they are not installed."""
    cross = CROSS[target]
    if not cross.here:
        pytest.skip(f"{cross.prefix}gcc and {cross.emulator[0]} are not installed; make test installs them on Debian")
    return cross


@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.parametrize("target", list(CROSS))
def test_objects_under_qemu_equal_the_kernel_and_need_the_stack_that_is_noted(
    target: str, in_parts: bool, panda: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cross = cross_of(target)
    arm, rows, want = panda
    if in_parts:  # as long tapes are: functions of their own, with a workspace on the stack
        monkeypatch.setattr(llvm, "PART_LENGTH", 300)
        monkeypatch.setattr(wrappers, "MOST_IN_LINE", 0)
    source = arm.emit("inverse_dynamics", target=target)
    source.write(tmp_path)
    scalar = "float" if target == "cortex-m4f" else "double"
    many = "panda_inverse_dynamics_rows" in source.files["panda_inverse_dynamics.h"]
    assert many == (target in ("aarch64", "riscv64"))
    (tmp_path / "main.c").write_text(main_of(scalar, rows, cross.move, many))
    stack, *bits = cross.run(cross.built(tmp_path, "main.c", "panda_inverse_dynamics.o")).split()
    values = np.array([int(x, 16) for x in bits], "u8" if scalar == "double" else "u4").view(KINDS[scalar])
    for got in values.reshape(-1, *want.shape):
        assert np.abs(got - want).max() <= TOLERANCES[scalar] * np.abs(want).max()
    (noted,) = (
        int(found[1].replace(",", "")) for x in source.notes if (found := re.search(r"([\d,]+) bytes of stack", x))
    )
    assert noted - SLACK <= int(stack) <= noted
    assert cross.undefined(tmp_path / "panda_inverse_dynamics.o") == []


@pytest.mark.parametrize("target", list(CROSS))
def test_the_self_test_passes_under_qemu(target: str, tmp_path: Path) -> None:
    cross = cross_of(target)
    source = da.load("scara").emit(["inertia_matrix", "gravity_torque"], target=target, function="terms")
    source.write(tmp_path)
    printed = cross.run(cross.built(tmp_path, "scara_terms_test.c", "scara_terms.o"))
    assert "8 states" in printed and "passed" in printed


def test_symbols_and_sections_are_those_that_binutils_sees(tmp_path: Path) -> None:
    """Friction by exp and tanh is calculated in doubles, for which a Cortex-M4 has no instructions."""
    cross = cross_of("cortex-m4f")
    model = tmp_path / "with_friction.toml"
    model.write_text(WITH_FRICTION)
    arm = da.load(model)
    source = arm.emit("inverse_dynamics", target="cortex-m4f")
    content = bytes(source.files["with_friction_inverse_dynamics.o"])
    source.write(tmp_path)
    file = tmp_path / "with_friction_inverse_dynamics.o"
    assert any("__aeabi_dmul" in note for note in source.notes)
    assert sorted(undefined(content)) == sorted(x for x in cross.undefined(file) if x != "U")
    assert "passed" in cross.run(cross.built(tmp_path, "with_friction_inverse_dynamics_test.c", file.name))
    table = subprocess.run(["arm-none-eabi-size", str(file)], capture_output=True, text=True, check=True).stdout
    assert flash(content) == int(table.splitlines()[1].split()[0])


# -- processors of this one's family -------------------------------------------------------------------


@pytest.mark.parametrize("target", ["host", *LEVELS])
def test_kernels_with_restricted_instructions_equal_the_kernel(target: str, panda: Any) -> None:
    arm, rows, want = panda
    source = arm.emit("inverse_dynamics", target=target)
    try:
        kernel = source.kernel
    except DalembertError as problem:
        pytest.skip(f"{ELSEWHERE} {problem}")
    for got in (kernel(*rows), pickle.loads(pickle.dumps(kernel))(*rows)):
        assert np.abs(got - want).max() <= 1e-13 * np.abs(want).max()


def test_objects_for_this_processor_link_into_a_library(panda: Any, tmp_path: Path) -> None:
    arm, rows, want = panda
    arm.emit("inverse_dynamics", target="host").write(tmp_path)
    library = tmp_path / "library.so"
    subprocess.run(
        [compiler("gcc"), "-shared", "-nostdlib", str(tmp_path / "panda_inverse_dynamics.o"), "-o", str(library)],
        check=True,
    )
    function = ctypes.CDLL(str(library)).panda_inverse_dynamics_rows
    got = np.empty_like(want)
    function(*(ctypes.c_void_p(x.ctypes.data) for x in (*rows, got)), ctypes.c_int(COUNT))
    assert np.abs(got - want).max() <= 1e-13 * np.abs(want).max()


def test_code_for_what_this_processor_lacks_is_written_and_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "host_features", lambda: {"sse4.2": True})
    source = da.load("pendulum").emit("gravity_torque", target="x86-64-v3")
    assert source.files["pendulum_gravity_torque.o"]
    with pytest.raises(DalembertError, match=r"cannot run code for 'x86-64-v3', because it lacks .*avx2"):
        _ = source.kernel
    with pytest.raises(DalembertError, match="no kernel for NumPy"):
        _ = da.load("pendulum").emit("gravity_torque", target="cortex-m7").kernel


@pytest.mark.parametrize("scalar", list(KINDS))
def test_the_text_for_reading_runs(scalar: str, panda: Any) -> None:
    arm, rows, want = panda
    (text,) = arm.emit("inverse_dynamics", target="llvm", precision=WORDS[scalar]).files.values()
    code = MachineCode(object_code([text], optimise=True))
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(code.address("panda_inverse_dynamics"))
    given = rows.astype(KINDS[scalar])
    got = np.empty_like(given[0])
    for k in range(COUNT):
        function(*(x[k].ctypes.data for x in (*given, got)))
    assert np.abs(got - want).max() <= TOLERANCES[scalar] * np.abs(want).max()


def test_sources_and_their_kernels_can_be_pickled() -> None:
    q = np.array([[0.1, 0.2], [0.3, -0.4]])
    source = da.load("planar-2r").emit("gravity_torque", target="host")
    again = pickle.loads(pickle.dumps(source))
    assert again.files == source.files and again.notes == source.notes
    assert np.array_equal(again.kernel(q), source.kernel(q))
    assert np.array_equal(pickle.loads(pickle.dumps(source.kernel))(q), source.kernel(q))
