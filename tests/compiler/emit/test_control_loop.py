"""The example of a control loop in C builds without a warning, and its robot follows the motion."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from compilers import compiler

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "control_loop"


def test_the_control_loop_tracks_its_motion(tmp_path: Path) -> None:
    command = ["make", "-s", "-C", EXAMPLE, tmp_path / "control_loop", f"BUILD={tmp_path}", f"CC={compiler('gcc')}"]
    subprocess.run([*command, f"DALEMBERT={sys.executable} -m dalembert"], check=True, capture_output=True, text=True)
    run = subprocess.run([tmp_path / "control_loop", "1.5", "fast"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    error = re.search(r"^tracking error: ([0-9.]+) mrad at most$", run.stdout, re.MULTILINE)
    assert "1500 periods of 1 ms" in run.stdout and error is not None and 0.1 < float(error[1]) < 20.0
