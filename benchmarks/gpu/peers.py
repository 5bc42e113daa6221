"""Unpack the other libraries of ``measure.py`` into a folder that can be copied to a machine without a network.

    python3 benchmarks/gpu/peers.py out/peers

All of them are pure Python: frax (JAX) and ADAM (PyTorch), and their dependencies other than NumPy, SciPy, JAX, PyTorch,
networkx, PyYAML and packaging, which a machine with PyTorch and JAX has. Both read URDF files with lxml, which is
compiled; if it is missing, ``measure.py`` substitutes Python's own XML reader. ``panda.urdf`` comes from frax.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGES = (
    "frax==0.1.0",
    "adam-robotics==0.5.0",
    "urdfdom-py==1.2.1.post1",
    "prettytable==3.18.0",
    "wcwidth==0.2.13",
    "array-api-compat==1.16.0",
)
URDF = "frax/assets/franka_panda/panda.urdf"


def main() -> None:
    """Download the wheels and unpack them."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/peers")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as wheels:
        for package in PACKAGES:
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "pip",
                    "download",
                    "--quiet",
                    "--no-deps",
                    "--only-binary=:all:",
                    "-d",
                    wheels,
                    package,
                ],
                check=True,
            )
        for wheel in sorted(Path(wheels).glob("*.whl")):
            if not wheel.name.endswith("-none-any.whl"):
                sys.exit(f"{wheel.name} is compiled and may not run elsewhere; choose a pure Python version")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
    shutil.copy(folder / URDF, folder / "panda.urdf")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {len(PACKAGES)} packages, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
