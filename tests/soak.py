"""The long run of ``make soak``: all trust checks at a scale, and ``docs/trust.md``, the page that they write.

``python tests/soak.py 0.02`` takes a few minutes on two cores. What is found stays under ``out/soak``, and the exit
status is then 1. The checks are the rows of :mod:`trust.registry`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shlex
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "out" / "soak"
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy is imported, here and in workers
sys.path.insert(0, str(HERE))

import folders  # noqa: E402, F401
from trust.check import Check, Outcome, Task  # noqa: E402
from trust.page import PAGE, draw, page_of, with_later_run  # noqa: E402
from trust.registry import BY_NAME, CHECKS  # noqa: E402

OFTEN = 20.0  # s between two lines of progress


def main() -> int:
    """Run the checks, write the page where all of them ran, and say whether anything was found."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    options.add_argument("scale", type=float, help="1 for the amounts that are promised; 0.02 takes a few minutes")
    options.add_argument("--workers", type=int, default=2, help="processes at a time")
    options.add_argument(
        "--only",
        default="",
        help="run only the checks whose names hold this word; the page is changed only with --replace",
    )
    options.add_argument(
        "--replace", action="store_true", help="with --only: replace the results of these checks on the page"
    )
    options.add_argument(
        "--full", default=None, help="run the checks whose names hold this word at the amount of scale 1"
    )
    options.add_argument(
        "--seed", type=int, default=None, help="that of another run, to repeat it; a new one unless given"
    )
    options.add_argument(
        "--keep-cache", action="store_true", help="use the kernels that the last run compiled, to repeat it quickly"
    )
    options.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing more after so long")
    given = options.parse_args()
    if not 0 < given.scale < 1000:
        options.error("scale must be a positive number below 1000, such as 0.02 or 1")
    chosen = [check for check in CHECKS if given.only in check.name]
    if not chosen:
        options.error(f"no check has '{given.only}' in its name; their names are {', '.join(BY_NAME)}")
    seed = time.time_ns() // 1_000_000_000 % 2**31 if given.seed is None else given.seed
    scales = {
        check.name: max(1.0, given.scale) if given.full is not None and given.full in check.name else given.scale
        for check in chosen
    }
    prepare(given.keep_cache)
    start = time.monotonic()
    results = run(chosen, scales, seed, given.workers, start + 60 * given.minutes)
    seconds = time.monotonic() - start
    findings = 0
    for check in chosen:
        outcome, _ = results[check.name]
        findings += outcome.violations
        for finding in outcome.findings:
            print(f"\n{check.name}: {finding}")
    print(f"\n{findings} violations (seed {seed})" if findings else f"\nno violations (seed {seed})")
    if not given.only or given.replace:
        words = ["python", "tests/soak.py", f"{given.scale:g}", "--seed", str(seed)]
        words += ["--full", given.full] if given.full else []
        words += ["--only", given.only, "--replace"] if given.only else []
        words += ["--keep-cache"] if given.keep_cache else []
        words += ["--minutes", f"{given.minutes:g}"] if given.minutes < float("inf") else []
        command = shlex.join(words)
        if given.only:
            text = with_later_run(PAGE.read_text(encoding="utf-8"), results, command)
        else:
            text = page_of(results, given.scale, seed, command, seconds, given.workers)
        PAGE.write_text(text, encoding="utf-8")
        draw(results)
        print(f"{PAGE.relative_to(HERE.parent)} is written")
    return 1 if findings else 0


def prepare(keep_cache: bool = False) -> None:
    """Folders of the run, and a cache of its own, which no earlier run has filled unless it is kept."""
    import shutil

    for name in ("cache", "state", "work"):
        if name == "work" or not keep_cache:
            shutil.rmtree(OUT / name, ignore_errors=True)
        (OUT / name).mkdir(parents=True, exist_ok=True)
    (OUT / "work").chmod(0o755)
    os.environ["DALEMBERT_CACHE"], os.environ["XDG_STATE_HOME"] = str(OUT / "cache"), str(OUT / "state")


def run(
    checks: list[Check], scales: dict[str, float], seed: int, workers: int, deadline: float
) -> dict[str, tuple[Outcome, float]]:
    """The outcome of every check, and the time of its processes.

    The smallest amount of every check comes first. Then checks advance together, so that a run that ends at its deadline has
    done about the same share of each.
    """
    shares: list[tuple[float, Task]] = []
    for check in checks:
        scale = scales[check.name]
        shares += [(check.begun(piece, scale), piece) for piece in check.tasks(scale, seed, OUT / "work")]
    tasks = [task for _, task in sorted(shares, key=lambda entry: entry[0])]
    results = {check.name: (Outcome(check.bound), 0.0) for check in checks}
    progress = Progress(tasks)
    waiting = tasks[::-1]
    context = multiprocessing.get_context("spawn")
    while waiting:
        running: dict[Future[tuple[Outcome, float]], Task] = {}
        with ProcessPoolExecutor(workers, context) as pool:
            while waiting or running:
                if time.monotonic() > deadline:
                    waiting.clear()
                while waiting and len(running) < workers:
                    task = waiting.pop()
                    running[pool.submit(work, task)] = task
                done, _ = wait(running, timeout=OFTEN, return_when="FIRST_COMPLETED")
                broken = False
                for future in done:
                    task = running.pop(future)
                    outcome, seconds = results[task.check]
                    try:
                        piece, took = future.result()
                    except BrokenProcessPool:  # which of the pieces at work it was is not known: all are told
                        outcome.found(f"a process died in piece {task.index} (seed {seed})")
                        broken, took = True, 0.0
                    else:
                        outcome.add(piece)
                        for finding in piece.findings:
                            print(f"{task.check}: {finding}", flush=True)
                    results[task.check] = outcome, seconds + took
                    progress.tell(task, outcome)
                if broken:
                    for task in running.values():
                        results[task.check][0].found(
                            f"a process died while piece {task.index} was at work (seed {seed})"
                        )
                    break
    return results


def work(task: Task) -> tuple[Outcome, float]:
    """The outcome of a piece, in a worker, and how long it took; an error of the check itself is a finding."""
    start = time.monotonic()
    check = BY_NAME[task.check]
    try:
        outcome = check.run(task)
    except Exception as error:  # noqa: BLE001  # other pieces go on, and the page has it
        import traceback

        outcome = Outcome(check.bound)
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        outcome.found(f"{type(error).__name__}: {error} ({place}); piece {task.index}, seed {task.seed}")
    return outcome, time.monotonic() - start


class Progress:
    """Lines that say how far the run is: after each check, and now and then."""

    def __init__(self, tasks: list[Task]) -> None:
        self.left: dict[str, int] = {}
        for task in tasks:
            self.left[task.check] = self.left.get(task.check, 0) + 1
        self.total = dict(self.left)
        self.start = self.told = time.monotonic()

    def tell(self, task: Task, outcome: Outcome) -> None:
        """A piece is done."""
        name = task.check
        self.left[name] -= 1
        now = time.monotonic()
        if self.left[name] and now - self.told < OFTEN:
            return
        self.told = now
        check, done = BY_NAME[name], self.total[name] - self.left[name]
        worst = f", worst error {outcome.worst:.1e}" if check.error else ""
        pieces = f"{done}/{self.total[name]} pieces"
        violations = f", {outcome.violations} VIOLATIONS" if outcome.violations else ""
        print(
            f"{(now - self.start) / 60:5.1f} min  {name}: {pieces}, {outcome.count:,} {check.counted}{worst}{violations}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
