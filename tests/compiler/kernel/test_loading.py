"""Loading of machine code: nothing that lies in the process's memory may end the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

NAMES = (
    "inverse_dynamics",
    "forward_dynamics",
    "inertia_matrix",
    "coriolis_matrix",
    "regressor",
    "christoffel",
    "jacobian",
)


def in_process(arguments: list[str], home: Path) -> subprocess.CompletedProcess[str]:
    """Python with these arguments, with a cache of its own, so that kernels are compiled as well as loaded."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "DALEMBERT_CACHE": str(home / "cache")}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's calls fragment the memory")
def test_kernels_load_in_a_fragmented_address_space(tmp_path: Path) -> None:
    run = in_process([str(Path(__file__).with_name("fragmented.py")), *NAMES], tmp_path)
    assert run.returncode == 0, run.stderr[-500:]
    assert run.stdout.split() == ["loaded"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
def test_a_process_without_memory_gets_an_error_instead_of_an_abort(tmp_path: Path) -> None:
    lines = (
        "import resource",
        "import dalembert as da",
        "arm = da.load('planar-2r')",
        "arm.kernel('pose')",
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()",
        "for extra in (1, 30, 60, 300):",
        "    resource.setrlimit(resource.RLIMIT_AS, (size + extra * 1_000_000, resource.RLIM_INFINITY))",
        "    try:",
        "        arm.kernel('inverse_dynamics')",
        "        print('loaded')",
        "    except da.DalembertError as error:",
        "        print('ulimit' in str(error))",
    )
    run = in_process(["-c", "\n".join(lines)], tmp_path)
    assert (run.returncode, run.stdout.split()) == (0, ["True", "True", "True", "loaded"]), run.stderr[-500:]
