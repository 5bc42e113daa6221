"""``dalembert cache``: show, verify or clear the compiled kernels on disk."""

from __future__ import annotations

import time

from dalembert.base.options import option
from dalembert.errors import DalembertError
from dalembert.views.cli.terminal import console, plain, say, tell


def cache(
    verify: bool = option("Check the signature of every kernel, and remove kernels whose signature is invalid.", False),
    clear: bool = option("Remove all kernels, and what is kept of unfinished runs.", False),
) -> None:
    """Show, verify or clear the compiled kernels on disk."""
    if verify and clear:
        raise DalembertError("--verify and --clear cannot be used together; choose one of them")
    _clear() if clear else _verify() if verify else _show()


def _show() -> None:
    """The folder of the kernels, their number and the limit on their total size."""
    from rich.table import Table

    from dalembert.base.files.resumable_runs import unfinished_runs
    from dalembert.compiler.kernel.cache import MEGABYTE, bound, entries, folder

    stored = entries()
    total = sum(entry.size for entry in stored)
    tell(f"folder     {plain(str(folder()))}")
    facts = Table.grid(padding=(0, 2))
    facts.add_row("kernels", str(len(stored)))
    facts.add_row("size", f"{total / MEGABYTE:.1f} MB of at most {bound() / MEGABYTE:g} MB")
    if stored:
        facts.add_row("last used", f"from {_day(stored[0].used)} to {_day(stored[-1].used)}")
    unfinished = unfinished_runs()
    if unfinished:
        size = sum(run.size for run in unfinished) / MEGABYTE
        facts.add_row("unfinished runs", f"{len(unfinished)}, {size:.1f} MB, which the same commands resume")
    console().print(facts)
    tell("\nDALEMBERT_CACHE sets the folder, DALEMBERT_CACHE_SIZE the largest size in MB.")


def _verify() -> None:
    """Check every signature and name the invalid kernels."""
    from dalembert.compiler.kernel.cache import verify

    good, removed, stuck = verify()
    unsigned = "this kernel has no valid signature of yours"
    say("warning", *(f"{path}: {unsigned}, and was removed" for path in removed))
    say("warning", *(f"{path}: {unsigned}, and cannot be removed" for path in stuck))
    bad = len(removed) + len(stuck)
    tell(f"{good} kernels are valid, {bad} {'was' if bad == 1 else 'were'} invalid.")


def _clear() -> None:
    from dalembert.base.files import resumable_runs as runs
    from dalembert.compiler.kernel.cache import clear, folder

    tell(f"{clear()} kernels removed from {plain(str(folder()))}")
    if removed := runs.clear():
        tell(f"{removed} unfinished runs removed from {plain(str(runs.folder()))}")


def _day(instant: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(instant))
