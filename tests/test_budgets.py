"""The budgets of docs/stability.md: what importing loads and costs, how large an installation is, what the core needs."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "dalembert"
MOST_MODULES = 12
MOST_OF_NUMPY = 0.25  # of the time that NumPy takes to be imported
WHEEL, INSTALLED = 2.0e6, 6.0e6  # bytes


def files() -> list[Path]:
    """What is installed: the package's modules and data."""
    return [path for path in sorted(PACKAGE.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


def test_importing_loads_few_modules_and_takes_a_fraction_of_numpys_time() -> None:
    """In processor time, side by side in one process, the best of three."""
    code = (
        "import json, sys, time\n"
        "before, start = set(sys.modules), time.process_time()\n"
        "import dalembert\n"
        "own, loaded, start = time.process_time() - start, sorted(set(sys.modules) - before), time.process_time()\n"
        "import numpy\n"
        "print(json.dumps([own / (time.process_time() - start), loaded]))"
    )
    runs = [json.loads(subprocess.check_output([sys.executable, "-c", code], text=True)) for _ in range(3)]
    loaded = runs[0][1]
    assert len(loaded) <= MOST_MODULES and not {"numpy", "llvmlite"} & set(loaded), loaded
    assert min(share for share, _ in runs) < MOST_OF_NUMPY


def test_the_wheel_and_the_installed_package_are_small() -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in files():
            wheel.write(path, path.relative_to(PACKAGE))
    assert archive.tell() < WHEEL and sum(path.stat().st_size for path in files()) < INSTALLED


def test_the_core_needs_four_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in project["dependencies"]}  # type: ignore[index]
    assert names == {"numpy", "llvmlite", "typer", "rich"}
