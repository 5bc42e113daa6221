"""docs/trust.md, from the outcomes of a run."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import dalembert
from trust.check import Check, Outcome
from trust.registry import CHECKS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "trust.md"
PICTURES = {"round trip": ROOT / "docs" / "trust-round-trip.svg"}  # by name of the check

Results = Mapping[str, tuple[Outcome, float]]  # by name of the check: the outcome, and the time of its processes in s

HEAD = """# Trust, measured

<!-- written by tests/soak.py (make soak); changes by hand are lost -->

How far can the results be relied on, and what happens if a process is killed, a disk is full or a file is damaged? This page
was written by one run of `make soak`. Every figure is measured, every bound is checked in every run, and violations are
listed.

{verdict}

| | |
|---|---|
| command | `{command}` |
| scale | SOAK={scale:g}; the column "share" compares the amounts with those of SOAK=1 |
| seed | {seed} |
| date | {date} |
| version | dalembert {version} |
| machine | {machine} |
| software | {software} |
| duration | {minutes:.0f} min on {workers} processes |

## Summary

"Share" is the amount of this run relative to that of SOAK=1 ("–" for checks that run for a given time). "Time" is the sum over
all processes, on a machine that may have had other work.

| check | examples | share | worst error | bound | verdict | time |
|---|---|---|---|---|---|---|
{summary}

To repeat it, run `make soak SOAK={scale:g}` with new random numbers, or `python tests/soak.py {scale:g} --seed {seed}` with
the same ones. `python tests/soak.py 1 --only quantities` runs the checks whose names contain this word and writes no page;
`--full formulations` runs such checks with the amounts of SOAK=1. The same checks run on a few fixed examples in `make test`
(`tests/trust/test_small.py`). Inputs that violate a bound are kept under `out/soak`, and the exit status is then 1.
"""


def page_of(results: Results, scale: float, seed: int, command: str, seconds: float, workers: int) -> str:
    """The page of a run as text."""
    shown = [(check, *results[check.name]) for check in CHECKS if check.name in results]
    rows = [_summary(check, outcome, time) for check, outcome, time in shown]
    head = HEAD.format(
        verdict=_verdict(rows), command=command, scale=scale, seed=seed, date=datetime.date.today().isoformat(),
        version=dalembert.__version__, machine=machine(), software=software(), minutes=seconds / 60, workers=workers,
        summary="\n".join(rows),
    )  # fmt: skip
    return "\n".join([head, *(_section(check, outcome) for check, outcome, _ in shown)])


def with_later_run(page: str, results: Results, command: str) -> str:
    """A page with the rows and sections of some checks replaced by those of a later run, which is named in its head."""
    for check in CHECKS:
        if check.name not in results:
            continue
        outcome, seconds = results[check.name]
        row, section = _summary(check, outcome, seconds), _section(check, outcome)
        page, rows = re.subn(
            rf"^\| \[{re.escape(check.title)}\]\(.*$", lambda _, row=row: row, page, flags=re.MULTILINE
        )  # type: ignore[misc]
        page, sections = re.subn(
            rf"^## {re.escape(check.title)}\n.*?(?=^## |\Z)",
            lambda _, text=section: f"{text}\n",
            page,
            flags=re.MULTILINE | re.DOTALL,  # type: ignore[misc]
        )
        if (rows, sections) != (1, 1):
            raise ValueError(f"the page has no row or section for {check.title}; run all checks first")
    titles = ", ".join(check.title for check in CHECKS if check.name in results)
    page = page.replace(
        "| scale | ", f"| later run | `{command}`, for {titles}, {datetime.date.today().isoformat()} |\n| scale | ", 1
    )
    rows_now = [line for line in page.splitlines() if re.match(r"\| \[.*\]\(#", line)]
    return (
        re.sub(
            r"^(\*\*\d+ of \d+ checks|The run ended|All \d+ checks).*$",
            lambda _: _verdict(rows_now),
            page,
            count=1,
            flags=re.MULTILINE,
        ).rstrip()
        + "\n"
    )


def _verdict(rows: list[str]) -> str:
    """The verdict on all rows of the summary."""
    titles = {row: row[3 : row.index("]")] for row in rows}
    violated = [titles[row] for row in rows if "**violated**" in row]
    idle = [titles[row] for row in rows if "| not run |" in row]
    sentences = [
        f"**{len(violated)} of {len(rows)} checks found violations**: {', '.join(violated)}." if violated else "",
        f"The run ended before it reached {', '.join(idle)}." if idle else "",
        f"All {len(rows)} checks kept their bounds." if not violated and not idle else "",
    ]
    return " ".join(filter(None, sentences))


def _summary(check: Check, outcome: Outcome, seconds: float) -> str:
    own_bounds = len({line.bound for line in outcome.lines.values()}) > 1
    if own_bounds:
        worst, bound = f"{outcome.share:.2g} of its bound", "see below"
    elif check.error:
        worst, bound = _number(outcome.worst), _number(check.bound)
    else:
        worst, bound = "–", "no violation"
    cells = (
        f"[{check.title}](#{_anchor(check.title)})", f"{outcome.count:,} {check.counted}", _share(check, outcome), worst,
        bound, "**violated**" if outcome.violations else "passed" if outcome.count else "not run", _duration(seconds),
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _share(check: Check, outcome: Outcome) -> str:
    if check.unit == "seconds" or check.counted == "processes":
        return "–"
    return f"{100 * outcome.count / check.full:.3g} %"


def _section(check: Check, outcome: Outcome) -> str:
    parts = [f"## {check.title}\n", f"{check.text}\n", *(f"{note}\n" for note in outcome.notes)]
    own_bounds = len({line.bound for line in outcome.lines.values()}) > 1
    if check.error:
        bounds = "the bound of each line is in the table" if own_bounds else f"bound: {_number(check.bound)}"
        parts.append(f"Error: {check.error}; {bounds}.\n")
    ordered = sorted(outcome.lines.items()) if own_bounds else outcome.lines.items()
    heading, rows = [check.label, "tried"], []
    if check.error:
        heading += ["worst error", *(["bound"] if own_bounds else [])]
    else:
        heading += ["violations"]
    for label, line in ordered:
        row = [
            label.replace("|", "\\|"),
            f"{line.count:,}",
            _number(line.worst) if check.error else f"{line.worst:.0f}",
        ]
        rows.append(row + ([_number(line.bound)] if check.error and own_bounds else []))
    if check.name in PICTURES:
        parts.append(f"![{check.title}: {check.error} over the {check.label}]({PICTURES[check.name].name})\n")
    parts.append("\n".join(f"| {' | '.join(row)} |" for row in (heading, ["---"] * len(heading), *rows)) + "\n")
    if outcome.violations:
        parts.append(f"**{outcome.violations} violations**, of which the first are:\n")
        parts.append("\n".join(f"- {_without_paths(finding)}" for finding in outcome.findings) + "\n")
    return "\n".join(parts)


def draw(results: Results) -> None:
    """The pictures of the page: worst error and bound of each line over the line's power of ten."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "trust", "svg.fonttype": "none"}
    for check in CHECKS:
        if check.name not in PICTURES or check.name not in results:
            continue
        lines = sorted(results[check.name][0].lines.items())
        powers = [float(label.partition(" ")[0]) for label, _ in lines]
        figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
        axes.step(powers, [line.bound for _, line in lines], where="post", color="#888888", label="bound")
        axes.plot([3 * x for x in powers], [line.worst for _, line in lines], "o", color="#1f77b4", label="worst error")
        axes.set(xscale="log", yscale="log", xlabel=f"{check.label} of the inertia matrix", ylabel=check.error)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        figure.savefig(PICTURES[check.name], metadata={"Date": None})
        plt.close(figure)


def _number(x: float) -> str:
    return f"{x:.2f}" if 0.01 <= x < 100 else "0" if x == 0 else f"{x:.1e}"


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.1f} min"


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _without_paths(text: str) -> str:
    """The text with folders of this machine taken out, in one line."""
    return " ".join(text.replace(str(ROOT), ".").split()).replace("|", "\\|")


def machine() -> str:
    """The processor, its cores and the memory."""
    model, memory = platform.processor() or platform.machine(), ""
    information = Path("/proc/cpuinfo")
    if information.exists() and (found := re.search(r"model name\s*:\s*(.+)", information.read_text())):
        model = found[1]
    if hasattr(os, "sysconf"):
        memory = f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB"
    return f"{model}, {os.cpu_count()} cores{memory}, {platform.system()} {platform.machine()}"


def software() -> str:
    """Python and the libraries that numbers depend on."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "llvmlite", "mpmath"))
    return f"Python {platform.python_version()}, {libraries}"
