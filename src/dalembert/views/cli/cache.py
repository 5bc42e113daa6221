"""``dalembert cache``: show, verify or clear the compiled kernels on disk."""

from __future__ import annotations

import time

from dalembert.base.options import option
from dalembert.errors import DalembertError
from dalembert.views.cli.terminal import plain, say, tell


def cache(
    verify: bool = option("Check the signature of every kernel, and remove kernels whose signature is invalid.", False),
    clear: bool = option("Remove all kernels.", False),
) -> None:
    """Show, verify or clear the compiled kernels on disk."""
    if verify and clear:
        raise DalembertError("--verify and --clear cannot be used together; choose one of them")
    _clear() if clear else _verify() if verify else _show()


def _show() -> None:
    """The folder of the kernels, their number and the limit on their total size."""
    from dalembert.compiler.kernel.cache import MEGABYTE, bound, entries, folder

    stored = entries()
    total = sum(entry.size for entry in stored)
    tell(f"folder     {plain(str(folder()))}")
    tell(f"kernels    {len(stored)}")
    tell(f"size       {total / MEGABYTE:.1f} MB of at most {bound() / MEGABYTE:g} MB")
    if stored:
        tell(f"last used  from {_day(stored[0].used)} to {_day(stored[-1].used)}")
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
    from dalembert.compiler.kernel.cache import clear, folder

    tell(f"{clear()} kernels removed from {plain(str(folder()))}")


def _day(instant: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(instant))
