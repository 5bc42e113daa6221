"""Journals of long runs with an arm, identified by the arm and all other inputs."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from dalembert.arm.arm import Arm
from dalembert.base.files.journal import Journal, Resume, resumable
from dalembert.compiler.kernel.compile import target
from dalembert.compiler.quantities.machine import identity


def resumable_run(resume: Resume, what: str, arm: Arm, *inputs: Any) -> AbstractContextManager[Journal]:
    """The journal of a run with an arm and other inputs; it is resumed only on a machine whose kernels have the same bits."""
    if resume is False:
        return resumable(False, what)
    machine = target()
    place = (machine.triple, machine.cpu, machine.features, machine.llvm)
    return resumable(resume, what, arm, identity(arm.mechanism), place, inputs)
