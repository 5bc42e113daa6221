"""Processes that a check starts, limits and kills: children of this one, which has imported the package already."""

from __future__ import annotations

import json
import os
import signal
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOBODY = 65534  # the user that a process of root becomes where permissions are tested
PATIENCE = 120.0  # s for a child

# imported before a fork, so that children begin with their work
IMPORTED = (
    "encodings.utf_8_sig", "numpy", "llvmlite.binding", "random", "dalembert.arm.arm", "dalembert.compiler.emit.llvm", "dalembert.compiler.graph.sums", "dalembert.compiler.kernel.make",
    "dalembert.compiler.quantities.joints", "dalembert.robot.readers.load", "dalembert.robot.readers.toml_reader", "dalembert.robot.readers.toml_writer",
)  # fmt: skip


@dataclass
class Child:
    """A running child and the pipe that its answer comes through."""

    pid: int
    pipe: int

    def answer(self) -> tuple[int, Any]:
        """(exit status, what the child returned); waits for it."""
        with open(self.pipe, encoding="utf-8") as file:
            text = file.read()
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return status, json.loads(text) if text else None

    def kill(self) -> None:
        """End it with SIGKILL, and forget its answer."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pipe)


def started(work: Callable[[], Any], env: Mapping[str, str | None], unprivileged: bool = False) -> Child:
    """A child that sets these variables (None removes one) and runs ``work``, whose result is its answer.

    With ``unprivileged`` it runs as a user who owns nothing where this one is root, who may write everywhere.
    """
    for name in IMPORTED:
        __import__(name)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid, reading)
    status = 1
    try:
        signal.alarm(round(PATIENCE))
        for name, value in env.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        if unprivileged and os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        answer = json.dumps(work()).encode()
        os.write(writing, answer)
        status = 0
    except Exception as error:  # noqa: BLE001  # whatever it is, the parent is told and judges it
        os.write(writing, json.dumps("".join(traceback.format_exception_only(error)).strip()).encode())
    finally:
        os._exit(status)


def torques(k: int = 0) -> dict[str, Any]:
    """Torques of an arm that is made and compiled now: their sum in hexadecimal, how often it was compiled, and warnings."""
    import numpy as np

    import dalembert as da
    from dalembert.compiler.kernel import make

    compiled = []
    real = make.object_code

    def counted(*arguments: Any) -> bytes:
        compiled.append(1)
        return real(*arguments)

    make.object_code = counted
    x = np.linspace(-1, 1, 12).reshape(6, 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tau = da.load("planar-2r").with_payload(1.0 + k / 1024).inverse_dynamics(x, x, x)
    return {"sum": float(tau.sum()).hex(), "compiled": len(compiled), "said": [str(w.message) for w in caught]}


def cache_at(folder: Path) -> dict[str, str | None]:
    """The variables that name an own cache below a folder."""
    return {
        "DALEMBERT_CACHE": str(folder / "cache"),
        "XDG_STATE_HOME": str(folder / "state"),
        "DALEMBERT_CACHE_SIZE": None,
    }
