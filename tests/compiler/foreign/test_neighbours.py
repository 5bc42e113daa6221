"""Kernels load in processes that other libraries and large arrays have filled; in processes of their own, since LLVM would abort."""

from __future__ import annotations

import subprocess
import sys

import pytest

KERNELS = """
import numpy as np
import dalembert as da

arm, arrays = da.load("panda"), []
for name in ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "coriolis_matrix", "regressor", "torque_derivatives",
             "forward_derivatives", "christoffel", "inverse_dynamics_gradient", "forward_dynamics_gradient", "jacobian",
             "pose", "gravity_torque", "torque_terms", "torque_second_derivatives", "reference_torque",
             "forward_dynamics_jacobian", "inverse_dynamics_jacobian"):
    arm.kernel(name)
    arrays.append(np.empty(37_500_000))  # 300 MB of addresses
print(arm.inverse_dynamics(*np.zeros((3, 3, 7))).shape)
"""


@pytest.mark.parametrize("imports", ["torch, pinocchio", "torch, jax, pinocchio", "numpy"])
def test_kernels_load_beside_other_libraries(imports: str) -> None:
    run = subprocess.run([sys.executable, "-c", f"import {imports}\n{KERNELS}"], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "(3, 7)\n"), run.stderr[-500:]
