"""``make portable``: the core on other Pythons, NumPys and processors. It writes docs/portability.md.

Every row is an environment of its own under ``out/portable``, in which the wheel (or the source distribution) is installed and
``tests/base/environment/core.py`` runs. Interpreters are those on the PATH, and for versions that are not there Debian's later
releases, unpacked with debootstrap; 64-bit ARM is Debian's Python under qemu. A row that cannot be tried says why.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "portable"
PAGE = ROOT / "docs" / "portability.md"
CORE = ROOT / "tests" / "environment" / "core.py"
CHROOT_RELEASES = ("trixie", "forky", "sid")  # Debian's, later than the one that has Python 3.11
ARM_RELEASE, ARM_PYTHON = "bookworm", "3.11"
CHROOT = shutil.which("chroot") or "/usr/sbin/chroot"
START = "<!-- written by make portable -->"


class CannotRunError(Exception):
    """A row that this machine has no means for; the text says what is missing."""


@dataclass(frozen=True)
class Row:
    """One environment: what it is called, how its interpreter is found, and what is installed and set in it."""

    name: str
    interpreter: Callable[[], list[str]]
    install: tuple[str, ...] = ()
    source: str = "wheel"
    environment: dict[str, str] = field(default_factory=dict)


def run(command: Sequence[str | Path], **options: object) -> str:
    """What a command prints; its output is the error where it fails."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return str(done.stdout)


# -- interpreters ----------------------------------------------------------------------------------


def version_of(command: Sequence[str]) -> str:
    """3.12 of the interpreter, or nothing where it does not run."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([*command, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def on_path(version: str) -> list[str]:
    """An interpreter of this version on the PATH, of pyenv, or of a later Debian in a folder."""
    candidates = [shutil.which(f"python{version}") or ""]
    if pyenv := shutil.which("pyenv"):
        root = Path(run([pyenv, "root"]).strip())
        candidates += map(str, sorted(root.glob(f"versions/{version}.*/bin/python{version}"), reverse=True))
    for candidate in filter(None, candidates):
        if version_of([candidate]) == version:
            return [candidate]
    return debian(version)


def debootstrap() -> str:
    """Debian's installer into a folder."""
    program = shutil.which("debootstrap") or ("/usr/sbin/debootstrap" if Path("/usr/sbin/debootstrap").exists() else "")
    if not program and os.geteuid() == 0 and shutil.which("apt-get"):
        run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "debootstrap"])
        program = shutil.which("debootstrap") or "/usr/sbin/debootstrap"
    if not program or os.geteuid() != 0:
        raise CannotRunError("there is no such interpreter, and debootstrap as root is not available")
    return program


def debian(version: str) -> list[str]:
    """The interpreter of one of Debian's later releases, in a chroot that sees this folder."""
    for release in CHROOT_RELEASES:
        folder = OUT / f"debian-{release}"
        if not (folder / "usr/bin/python3").exists():
            shutil.rmtree(folder, ignore_errors=True)
            try:
                run(
                    [
                        debootstrap(),
                        "--variant=minbase",
                        "--include=python3,python3-venv,ca-certificates",
                        release,
                        folder,
                    ]
                )
            except subprocess.CalledProcessError:
                shutil.rmtree(folder, ignore_errors=True)
                continue
        command = [CHROOT, str(folder), "/usr/bin/python3"]
        if version_of(command) == version:
            return command
    raise CannotRunError(f"there is no Python {version} here, and none of Debian's {', '.join(CHROOT_RELEASES)} has it")


# -- rows ------------------------------------------------------------------------------------------


def built(folder: Path) -> dict[str, Path]:
    """The wheel and the source distribution, built from a copy of the checkout."""
    source = folder / "source"
    shutil.rmtree(folder, ignore_errors=True)
    source.mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    run([sys.executable, "-m", "pip", "install", "--quiet", "build"])
    run([sys.executable, "-m", "build", "--outdir", folder, source])
    return {"wheel": next(folder.glob("*.whl")), "source distribution": next(folder.glob("*.tar.gz"))}


def tried(row: Row, distributions: dict[str, Path]) -> str:
    """What the row's core tests said, and with which versions."""
    interpreter = row.interpreter()
    if interpreter[0] == CHROOT:
        return in_chroot(row, Path(interpreter[1]), distributions[row.source])
    folder = OUT / re.sub(r"\W+", "-", row.name)
    shutil.rmtree(folder, ignore_errors=True)
    run([*interpreter, "-m", "venv", folder])
    python = folder / "bin" / "python"
    run(
        [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            distributions[row.source],
            *row.install,
        ]
    )
    environment = os.environ | {"DALEMBERT_CACHE": str(folder / "cache")} | row.environment
    environment.pop("PYTHONPATH", None)
    run([python, CORE], cwd=folder, env=environment)
    return run([python, "-c", VERSIONS]).strip()


def in_chroot(row: Row, root: Path, distribution: Path) -> str:
    """The same inside a later Debian: wheels are fetched by the host's pip for that Python and unpacked there."""
    command = [CHROOT, str(root), "/usr/bin/python3"]
    version, target = version_of(command), root / "opt" / "portable"
    shutil.rmtree(target, ignore_errors=True)
    host = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(target)]
    platforms = [f"--platform=manylinux_2_{minor}_{platform.machine()}" for minor in (17, 24, 26, 27, 28, 34)]
    platforms += [f"--platform=manylinux2014_{platform.machine()}"]
    run([*host, "--python-version", version, "--only-binary=:all:", *platforms, str(distribution), *row.install])
    shutil.copytree(CORE.parent, root / "opt" / "tests", dirs_exist_ok=True)
    inside = {"PYTHONPATH": "/opt/portable", "DALEMBERT_CACHE": "/opt/cache", "PATH": "/usr/bin:/bin", "HOME": "/root"}
    run([*command, "/opt/tests/core.py"], env=inside | row.environment)
    return run([*command, "-c", VERSIONS], env=inside).strip()


def on_arm(distribution: Path) -> str:
    """Debian's Python for 64-bit ARM with wheels for it, under qemu."""
    qemu = shutil.which("qemu-aarch64")
    if qemu is None:
        raise CannotRunError("there is no qemu-aarch64")
    root, target = OUT / "arm64", OUT / "arm64-packages"
    if not (root / f"usr/bin/python{ARM_PYTHON}").exists():
        archive = OUT / "arm64-archive"
        shutil.rmtree(root, ignore_errors=True)
        shutil.rmtree(archive, ignore_errors=True)
        run(
            [
                debootstrap(),
                "--download-only",
                "--variant=minbase",
                "--arch=arm64",
                "--include=python3",
                ARM_RELEASE,
                archive,
            ]
        )
        root.mkdir(parents=True)
        for package in sorted((archive / "var/cache/apt/archives").glob("*.deb")):
            run(["dpkg-deb", "-x", package, root])
    shutil.rmtree(target, ignore_errors=True)
    platforms = [
        f"--platform={name}_aarch64" for name in ("manylinux2014", "manylinux_2_17", "manylinux_2_27", "manylinux_2_28")
    ]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", target]
    run([*pip, "--python-version", ARM_PYTHON, "--only-binary=:all:", *platforms, distribution])
    # a process that Python starts must go through qemu, too: this script is what it believes to be
    program = OUT / "arm64-python"
    program.write_text(f'#!/bin/sh\nexec {qemu} -L {root} {root}/usr/bin/python{ARM_PYTHON} "$@"\n')
    program.chmod(0o755)
    (target / "sitecustomize.py").write_text(f"import sys\nsys.executable = {str(program)!r}\n")
    environment = os.environ | {
        "PYTHONHOME": str(root / "usr"), "PYTHONPATH": str(target), "DALEMBERT_CACHE": str(OUT / "arm64-cache"),
        "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    run([program, CORE], cwd=OUT, env=environment)
    return run([program, "-c", VERSIONS], env=environment).strip()


VERSIONS = (
    "import platform, numpy, llvmlite, dalembert; "
    "print(f'Python {platform.python_version()}, NumPy {numpy.__version__}, llvmlite {llvmlite.__version__}')"
)
HERE = [sys.executable]
ROWS = (
    Row("wheel", lambda: HERE),
    Row("source distribution", lambda: HERE, source="source distribution"),
    Row("NumPy 1.26", lambda: HERE, ("numpy==1.26.*",)),
    Row("NumPy 2", lambda: HERE, ("numpy>=2",)),
    *(Row(f"Python {version}", lambda version=version: on_path(version)) for version in ("3.12", "3.13", "3.14")),  # type: ignore[misc]
    Row("without AVX-512", lambda: HERE, environment={"DALEMBERT_CPU": "x86-64-v3"}),
    Row("without AVX2", lambda: HERE, environment={"DALEMBERT_CPU": "x86-64-v2"}),
)


def results(only: str) -> Iterator[tuple[str, str, str]]:
    """Name, verdict and details of every row."""
    OUT.mkdir(parents=True, exist_ok=True)
    distributions = built(OUT / "dist")
    attempts: list[tuple[str, Callable[[], str]]] = [
        *((row.name, lambda row=row: tried(row, distributions)) for row in ROWS),  # type: ignore[misc]
        ("64-bit ARM under qemu", lambda: on_arm(distributions["wheel"])),
    ]
    for name, attempt in attempts:
        if only not in name:
            continue
        print(f"{name} …", flush=True)
        start = time.monotonic()
        try:
            verdict, details = "passed", attempt()
        except CannotRunError as reason:
            verdict, details = "not tried", str(reason)
        except subprocess.CalledProcessError as failure:
            lines = f"{failure.stdout}\n{failure.stderr}".strip().splitlines() or ["no output"]
            verdict, details = "**failed**", lines[-1].replace("|", "/")
            print("\n".join(lines[-30:]), file=sys.stderr)
        print(f"  {verdict}: {details} ({time.monotonic() - start:.0f} s)", flush=True)
        yield name, verdict, details


def main() -> int:
    """Run the rows, write the page, and say whether any of them failed."""
    reading = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    reading.add_argument("--only", default="", help="rows whose name has this in it; the page is not written")
    given = reading.parse_args()
    rows = list(results(given.only))
    if not given.only:
        head = PAGE.read_text(encoding="utf-8").partition(START)[0]
        today = datetime.date.today().isoformat()
        table = [f"| {name} | {verdict} | {details} |" for name, verdict, details in rows]
        lines = [
            f"Run on {today}, {platform.system()} {platform.machine()}.",
            "",
            "| environment | result | details |",
            "|---|---|---|",
        ]
        PAGE.write_text(head + "\n".join([START, *lines, *table, ""]), encoding="utf-8")
    return any("failed" in verdict for _, verdict, _ in rows)


if __name__ == "__main__":
    sys.exit(main())
