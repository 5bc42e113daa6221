"""Other libraries as seen by the page: a separate environment, a process, requests and answers."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1]
ROOT = BENCHMARKS.parent
OUT = ROOT / "out" / "bench"
INSTALLING = 900  # s


class PeerError(Exception):
    """A library that could not answer, with the reason in one sentence."""


@dataclass
class Peer:
    """One library.

    name      name of its file in peers/
    title     title on the page
    packages  packages that pip installs into its environment; without any, it runs in the environment of the page
    paths     additional folders for Python modules
    """

    name: str
    title: str
    packages: Sequence[str] = ()
    paths: Sequence[Path] = ()
    file: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[str] | None = None

    @property
    def errors(self) -> Path:
        """The last output of its process to standard error."""
        return OUT / f"{self.name}.log"

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(OUT / self.name / "bin" / "python") if self.packages else sys.executable

    @property
    def packages_folder(self) -> Path:
        """The folder of the packages in its environment."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return OUT / self.name / "lib" / version / "site-packages"

    def install(self) -> None:
        """Create its environment, once; a :class:`PeerError` states why this is impossible."""
        stamp = OUT / self.name / ".installed"
        if not self.packages or stamp.exists():
            return
        subprocess.run([sys.executable, "-m", "venv", str(OUT / self.name)], check=True)
        command = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *self.packages]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALLING)
        except subprocess.TimeoutExpired:
            raise PeerError(f"pip did not finish within {INSTALLING} s") from None
        if done.returncode:
            raise PeerError(f"pip: {last_line(done.stderr)}")
        stamp.touch()

    def ask(self, do: str, limit: float = 120.0, **request: Any) -> dict[str, Any]:
        """Its answer; if it ends or does not answer in time, a :class:`PeerError`, and the next request restarts it."""
        if self.process is None:
            self.start()
        process = self.process
        assert process is not None and process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise PeerError(self.ended()) from None
        if not select.select([process.stdout], [], [], limit)[0]:
            self.stop()
            raise PeerError(f"no answer within {limit:.0f} s")
        line = process.stdout.readline()
        if not line:
            raise PeerError(self.ended())
        return json.loads(line)

    def start(self, **environment: str) -> None:
        """Start a new process."""
        self.stop()
        paths = os.pathsep.join(map(str, (BENCHMARKS, *self.paths)))
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        kept["PYTHONPYCACHEPREFIX"] = str(OUT / "bytecode")
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [self.python, "-W", "ignore", "-m", "peers.serve", self.file or self.name, str(OUT / "cases")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=BENCHMARKS,
                env={**kept, **threads, **self.environment, **environment, "PYTHONPATH": paths},
            )  # fmt: skip

    def stop(self) -> None:
        """End its process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def ended(self) -> str:
        """The reason why the process has ended."""
        assert self.process is not None
        self.process.wait()
        said = last_line(self.errors.read_text())
        self.stop()
        return said


def last_line(text: str) -> str:
    """The last informative line, without addresses and paths."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and "is ignored" not in line]
    said = lines[-1] if lines else "it ended without a message"
    return re.sub(r"\S*(://|/\w+/)\S*", "…", said)[:200]
