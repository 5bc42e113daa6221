"""Peers as the page sees them: an environment of their own, a process, requests and answers."""

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
    """A peer that could not answer, in one sentence."""


@dataclass
class Peer:
    """One library.

    name      of its file in peers/
    title     as the page has it
    packages  what pip installs into its environment; without any, it runs where the page runs
    paths     where Python looks for modules, besides this folder
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
        """What its process last wrote to the standard error."""
        return OUT / f"{self.name}.log"

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(OUT / self.name / "bin" / "python") if self.packages else sys.executable

    @property
    def packages_folder(self) -> Path:
        """Where its environment has its packages."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return OUT / self.name / "lib" / version / "site-packages"

    def install(self) -> None:
        """Make its environment, once; a :class:`PeerError` says why that cannot be."""
        stamp = OUT / self.name / ".installed"
        if not self.packages or stamp.exists():
            return
        subprocess.run([sys.executable, "-m", "venv", str(OUT / self.name)], check=True)
        command = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *self.packages]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALLING)
        except subprocess.TimeoutExpired:
            raise PeerError(f"pip was not ready after {INSTALLING} s") from None
        if done.returncode:
            raise PeerError(f"pip: {last_line(done.stderr)}")
        stamp.touch()

    def ask(self, do: str, limit: float = 120.0, **request: Any) -> dict[str, Any]:
        """Its answer; where it ends or is silent for too long, a :class:`PeerError`, and the next request starts it anew."""
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
        """A new process."""
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
        """Why it is no longer there."""
        assert self.process is not None
        self.process.wait()
        said = last_line(self.errors.read_text())
        self.stop()
        return said


def last_line(text: str) -> str:
    """The last line that says something, without addresses and paths."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and "is ignored" not in line]
    said = lines[-1] if lines else "it ended without a word"
    return re.sub(r"\S*(://|/\w+/)\S*", "…", said)[:200]
