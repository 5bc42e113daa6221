"""RESULTS.md and its figures, from the measurements of page.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

OURS, METHOD, THREADS, SINGLE = (f"dalembert, {way}" for way in ("kernel", "method", "2 threads", "float32"))
EXTRA = (METHOD, THREADS, SINGLE)
NAMES = {
    "inverse_dynamics": "inverse dynamics", "forward_dynamics": "forward dynamics", "inertia_matrix": "B(q)",
    "gravity_torque": "g(q)", "torque_derivatives": "∂τ/∂q, ∂τ/∂q̇", "forward_derivatives": "∂q̈/∂q, ∂q̈/∂q̇",
    "regressor": "regressor", "compact_regressor": "compact regressor", "torque_terms": "torque terms",
}  # fmt: skip
# goals: ratios to Pinocchio's wheel on panda, and to our own earlier source
GOALS = {
    "inverse_dynamics": 60, "forward_dynamics": 65, "torque_derivatives": 42, "forward_derivatives": 30,
    "compact_regressor": 25,
}  # fmt: skip
PINOCCHIO, EARLIER = "Pinocchio", "before"
COLORS = {
    "dalembert": "#c1121f", "Pinocchio": "#1d4e89", "MuJoCo": "#2a9d8f", "Drake": "#7b5ea7", "C by CasADi": "#e09f3e",
    "frax (JAX)": "#6b705c", "Robotics Toolbox": "#9a8c98",
}  # fmt: skip
NS, US, MS, MB = 1e9, 1e6, 1e3, 1e-6

Figures = dict[str, Any]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table with right-aligned numbers."""
    return [
        "| " + " | ".join(head) + " |",
        "|---" + "|---:" * (len(head) - 1) + "|",
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]


def number(x: float | None) -> str:
    """Three digits, or a dash."""
    if x is None:
        return "–"
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:.3g}"


def lines_of(tables: Iterable[dict[str, Any]]) -> list[str]:
    """All labels that occur, ours first, without our earlier source."""
    labels = list(dict.fromkeys(label for entry in tables for label in entry if not is_earlier(label)))
    return sorted(labels, key=lambda label: not is_ours(label))


def is_earlier(label: str) -> bool:
    """Whether the label is that of our earlier source."""
    return label.startswith(f"dalembert {EARLIER}")


def is_ours(label: str) -> bool:
    """Whether the label is that of the current dalembert."""
    return label == "dalembert" or label.startswith("dalembert,")


# -- the parts of the page ---------------------------------------------------------------------------


def strict(f: Figures) -> dict[str, dict[str, float]]:
    """Our times in large batches, and the better of large and small batches for all others."""
    result = {}
    for name, times in f["quantities"].items():
        small = f["tenth"][name]
        both = {label: min(x[label] for x in (times, small) if label in x) for label in {**times, **small}}
        result[name] = {label: times.get(label, value) if is_ours(label) else value for label, value in both.items()}
    return result


def goals(f: Figures) -> list[str]:
    """Goals and results, in equal batches of two sizes and by the stricter rule."""
    sizes = (f["machine"]["states"], f["machine"]["states"] // 10)
    rows = []
    for name, goal in {**GOALS, "torque_terms": 2}.items():
        tables = [f["quantities"][name], f["tenth"][name], strict(f)[name]]
        peer = next((x for x in tables[0] if is_earlier(x) and x.endswith("kernel")), "")
        if name in GOALS:
            peer = PINOCCHIO
        if all(peer in times for times in tables):
            ratios = [times[peer] / times[OURS] for times in tables]
            cells = [f"{ratio:.1f}" if goal < 10 else f"{ratio:.0f}" for ratio in ratios]
            whom = PINOCCHIO if name in GOALS else f"dalembert at {f['before']}"
            if name not in GOALS:  # both are limited by memory in the larger batch, so the sizes must not be mixed
                cells[2] = "–"
            rows.append(
                (NAMES[name], whom, f"{goal}", f"**{cells[0]}**", *cells[1:], "yes" if ratios[0] >= goal else "no")
            )
    head = (
        "panda",
        "peer",
        "goal",
        *(f"{size:,} states" for size in sizes),
        "peer's better over our larger",
        "reached",
    )
    return table(head, rows)


def by_quantity(f: Figures, ratios: bool, part: str = "quantities", unit: float = NS) -> list[str]:
    """Every quantity and library: ratios to our kernel, or times."""
    tables = strict(f) if ratios else f[part]
    labels = [x for x in lines_of(tables.values()) if not (ratios and x == OURS)]
    rows = []
    for label in labels:
        cells = []
        for times in tables.values():
            value = times.get(label)
            cells.append(number(None if value is None else value / times[OURS] if ratios else value * unit))
        rows.append((label, *cells))
    return table(("", *(NAMES[x] for x in tables)), rows)


def progress(f: Figures) -> list[str]:
    """The time of our earlier source relative to the current one, by kernel and method."""
    rows = []
    for way in ("kernel", "method"):
        cells = []
        for times in f["quantities"].values():
            earlier = next((x for label, x in times.items() if is_earlier(label) and label.endswith(way)), None)
            cells.append(number(None if earlier is None else earlier / times[f"dalembert, {way}"]))
        rows.append((way, *cells))
    return table((f"{f['before']} / current", *(NAMES[x] for x in f["quantities"])), rows)


def wins(f: Figures) -> list[str]:
    """All cases in which another library is faster or smaller than ours."""
    said = []

    def faster(times: dict[str, float], ours: float, where: str) -> None:
        for label, value in times.items():
            if not is_ours(label) and not is_earlier(label) and value < ours:
                said.append(f"- {label}, {where}: ours takes {number(ours / value)} times as long.")

    for name, times in strict(f).items():
        faster(times, times[OURS], f"{NAMES[name]} in batches")
    for name, times in f["latency"].items():
        for way in (OURS, METHOD):
            faster(times, times[way], f"{NAMES[name]} of one state in one call, our {way.split(', ')[1]}")
    for size, times in f["batches"].items():
        faster(
            times, min(x for label, x in times.items() if is_ours(label)), f"inverse dynamics of {int(size):,} states"
        )
    for name, chains in f["joints"].items():
        for n, times in chains.items():
            faster(times, times[OURS], f"{NAMES[name]} of a chain of {n} joints")
    sums = {label: sum(times.values()) for label, times in f["starting"].items()}
    for kind in ("compiling", "from its cache"):
        ours = sums[f"dalembert, {kind}"]
        faster(sums, ours, f"from its import to the first result, ours {kind}")
    for label, entry in f["memory"].items():
        if not is_ours(label) and entry["process"] < f["memory"][OURS]["process"]:
            said.append(
                f"- {label}, memory of the process: {entry['process'] * MB:.0f} MB, ours {f['memory'][OURS]['process'] * MB:.0f} MB."
            )
    return [*dict.fromkeys(said), ""] if said else ["Nowhere in this run.", ""]


def sizes(f: Figures) -> list[str]:
    """Time per state against batch size."""
    labels = lines_of(f["batches"].values())
    rows = [(label, *(number(scaled(times.get(label), NS)) for times in f["batches"].values())) for label in labels]
    return table(("ns per state", *(f"{int(size):,}" for size in f["batches"])), rows)


def scaled(value: float | None, unit: float) -> float | None:
    """The value in another unit, or None."""
    return None if value is None else value * unit


def chains(f: Figures) -> list[str]:
    """Time per state against the number of joints."""
    lines = []
    for name, by_joints in f["joints"].items():
        labels = [x for x in lines_of(by_joints.values()) if x not in EXTRA]
        rows = [(label, *(number(scaled(times.get(label), NS)) for times in by_joints.values())) for label in labels]
        lines += table((f"{NAMES[name]}, ns per state", *(f"{n} joints" for n in by_joints)), rows)
    return lines


def ready(f: Figures) -> list[str]:
    """Milliseconds to the first result of a chain."""
    lines = []
    for name, by_joints in f["ready"].items():
        labels = list(dict.fromkeys(label for times in by_joints.values() for label in times))
        rows = [(label, *(number(scaled(times.get(label), MS)) for times in by_joints.values())) for label in labels]
        lines += table((f"{NAMES[name]}, ms", *(f"{n} joints" for n in by_joints)), rows)
    return lines


def starting(f: Figures) -> list[str]:
    """Milliseconds to the first result."""
    rows = [
        (label, *(number(times[x] * MS) for x in ("import", "load", "first")), number(sum(times.values()) * MS))
        for label, times in f["starting"].items()
    ]
    return table(("ms", "import", "model from its file", "first result", "total"), rows)


def latency(f: Figures) -> list[str]:
    """Microseconds of one call."""
    return by_quantity(f, False, "latency", US)


def memory(f: Figures) -> list[str]:
    """Memory in megabytes."""
    rows = [
        (label, number(entry["process"] * MB), number(max(0.0, entry["beyond"] * MB)))
        for label, entry in f["memory"].items()
    ]
    return table(("MB", "process with its first results", "additional for the batch, without inputs and results"), rows)


def operations(f: Figures) -> list[str]:
    """Counts, as × + ÷ and sines."""
    labels = lines_of(f["operations"].values())
    cell = "{multiplications:,} / {additions:,} / {divisions:,} / {sines and cosines:,}"
    rows = [
        (NAMES[name], *(cell.format(**counts[label]) if label in counts else "–" for label in labels))
        for name, counts in f["operations"].items()
    ]
    return table(("× / + / ÷ / sin, cos", *labels), rows)


def three_arms(f: Figures) -> list[str]:
    """Inverse dynamics: the ratio to our kernel for each arm."""
    labels = [x for x in lines_of(f["arms"].values()) if not is_ours(x)]
    rows = []
    for label in labels:
        ratios = [times[label] / times[OURS] if label in times else None for times in f["arms"].values()]
        rows.append((label, *map(number, ratios)))
    return table(("time relative to ours", *f["arms"]), rows)


def who(f: Figures) -> list[str]:
    """Versions, calls, and omissions."""
    calls: dict[str, list[str]] = {}
    for by_label in f["calls"].values():
        for label, call in by_label.items():
            calls.setdefault(label, [])
            if call not in calls[label]:
                calls[label].append(call)
    lines = []
    for title, about in f["peers"].items():
        if about["version"] is None:
            lines.append(f"- **{title}** is missing: {about['reason']}.")
            continue
        lines.append(f"- **{title}**, {about['version']}")
        if not title.startswith("dalembert"):
            own = {label: x for label, x in calls.items() if label == title or label.startswith(f"{title}, ")}
            lines += [
                f"  - {label.removeprefix(title).lstrip(', ') or 'calls'}: {'; '.join(x)}" for label, x in own.items()
            ]
    left_out = [f"- {title}, {case}, {NAMES[name]}: {why}" for title, case, name, why in f["left_out"]]
    return [*lines, "", "Omitted:", "", *(left_out or ["- nothing"]), ""]


def page(f: Figures) -> str:
    """The whole page."""
    m = f["machine"]
    busy = max(m["load_before"][0], m["load_after"][0])
    quiet = busy <= 1.5
    load = f"The load average was {m['load_before'][0]:.1f} before and {m['load_after'][0]:.1f} after the run" + (
        " (the run itself accounts for 1)."
        if quiet
        else ": **other work shared the cores**. It affects long calls more than short ones: "
        "slow peers, large batches and long chains look slower than they are."
    )
    states, tenth = f"{m['states']:,}", f"{m['states'] // 10:,}"
    lines = [
        "# dalembert and its peers", "",
        f"{m['cpu']}, {m['cores']} cores, {m['system']}, Python {m['python']}, NumPy {m['numpy']}, llvmlite {m['llvmlite']}; "
        f"{m['date']}, {m['minutes']:.0f} minutes. {load}", "",
        "Written by `make bench` (`benchmarks/page.py`). Every library runs in its own process and environment on the same "
        "models and the same random states, on one core unless stated otherwise. Before it was timed, its results were checked "
        "against ours to 1e-8 of the largest number (float32: 2e-5). Libraries alternate, and the minimum time of each counts. "
        "Batches are computed by a library's batch call if it has one, otherwise by a Python loop, whose calls are part of the "
        "time: a Python user pays for them, a C++ user does not.", "",
        "## Goals", "",
        f"The ratio of the peer's time to that of our kernel: both in batches of {states} states, for which the goals were set; "
        f"both in batches of {tenth}; and the peer's better time of the two relative to ours for {states}, which is stricter.", "",
        *goals(f),
        "## Ratios", "",
        f"`panda`: time relative to that of our kernel (`arm.kernel(…)`, `out=`, float64) in batches of {states} states; for the "
        f"other libraries, the better of batches of {tenth} and {states} states.", "",
        *by_quantity(f, True),
        f"Inverse dynamics of other arms, batches of {tenth} states:", "", *three_arms(f),
        f"Our own source at {f['before']}, before kernels for every machine, batches of {states} states:", "", *progress(f),
        "## Where others are faster or smaller", "", *wins(f),
        "## Batch size", "", "Inverse dynamics of `panda`.", "", "![time per state against batch size](batches.png)", "",
        *sizes(f),
        "## Number of joints", "",
        f"General chains, in which no angle, length or moment is zero; batches of {f['chain_states']:,} states.", "",
        "![time per state against the number of joints](joints.png)", "", *chains(f),
        "## First result", "",
        "A new process with NumPy already imported: the import, the model of `panda` from its file, and the first inverse "
        "dynamics. dalembert imports most of its modules with the model and compiles with LLVM, or loads machine code from its "
        "cache on disk; CasADi's C is compiled by gcc, frax by XLA.", "",
        "![time to the first result](starting.png)", "", *starting(f),
        "Time to the first result of a chain with an empty cache, including the model from its file unless another quantity has "
        "already loaded it:", "", *ready(f),
        "## One call", "",
        "µs for one state in one call from Python, `panda`. *Method* is `arm.inverse_dynamics(q, qd, qdd)` and so on, *kernel* "
        "the bare gufunc `arm.kernel(…)(q, qd, qdd)`.", "", *latency(f),
        "## Memory", "",
        f"A process that computes inverse dynamics of {max(map(int, f['batches'])):,} states of `panda`.", "", *memory(f),
        "## Operations", "",
        "Operations per state of `panda`: ours as compiled, and CasADi's graph after its common subexpression elimination.", "",
        *operations(f),
        "## Times", "", f"ns per state, `panda`, batches of {states} states.", "", *by_quantity(f, False),
        f"Batches of {tenth} states:", "", *by_quantity(f, False, "tenth"),
        "## Libraries", "", *who(f),
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


# -- pictures ----------------------------------------------------------------------------------------


def style(label: str) -> dict[str, Any]:
    """The style of a line: one colour per library, dashes for its other variants."""
    color = next((c for title, c in COLORS.items() if label == title or label.startswith(f"{title}, ")), "#888888")
    dashes = {METHOD: "--", THREADS: ":", SINGLE: "-."}.get(label, "-")
    return {
        "color": color,
        "linestyle": dashes,
        "linewidth": 2.2 if is_ours(label) else 1.4,
        "marker": "o",
        "markersize": 3.5,
    }


def plotted(
    axes: Any, tables: dict[str, dict[str, float]], labels: Sequence[str], names: bool, unit: float = NS
) -> None:
    """Plot time against a number on logarithmic axes, each line labelled at its end."""
    ends = []
    for label in labels:
        points = [(float(x), times[label] * unit) for x, times in tables.items() if label in times]
        if points:
            axes.plot(*zip(*points, strict=True), **style(label))
            ends.append([points[-1][1], points[-1][0], label])
    axes.set(xscale="log", yscale="log")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if not names:
        return
    right = max(float(x) for x in tables)
    low, high = axes.get_ylim()
    gap, last = (high / low) ** 0.052, 0.0
    for y, _, label in sorted(ends):
        last = max(y, last * gap)
        axes.annotate(label, (right, last), (9, 0), textcoords="offset points", va="center", fontsize=8,
                      color=style(label)["color"], annotation_clip=False)  # fmt: skip


def pictures(f: Figures, folder: Path) -> None:
    """Write three PNG files."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.6, 4.2), dpi=110)
    plotted(axes, f["batches"], lines_of(f["batches"].values()), True)
    axes.set(xlabel="states in a batch", ylabel="ns per state", title="Inverse dynamics of panda")
    figure.subplots_adjust(left=0.1, right=0.74, bottom=0.13, top=0.91)
    figure.savefig(folder / "batches.png")

    figure, three = pyplot.subplots(1, 3, figsize=(12.4, 4.2), dpi=100)
    first = f["ready"]["inverse_dynamics"]
    for axes, (name, by_joints) in zip(three, [*f["joints"].items(), ("first", first)], strict=True):
        labels = [x for x in lines_of(by_joints.values()) if x not in EXTRA]
        plotted(axes, by_joints, labels, False, MS if name == "first" else NS)
        axes.set(xlabel="joints", ylabel="ns per state", title=NAMES.get(name, "").capitalize())
        ticks = [n for n in map(int, by_joints) if n != 4]
        axes.set_xticks(ticks, [str(n) for n in ticks], fontsize=8)
        axes.minorticks_off()
    both = [axes.get_ylim() for axes in three[:2]]
    for axes in three[:2]:
        axes.set_ylim(min(low for low, _ in both), max(high for _, high in both))
    three[2].set(title="First inverse dynamics", ylabel="ms")
    shown = [x for x in lines_of(f["joints"]["inverse_dynamics"].values()) if x not in EXTRA]
    handles = [pyplot.Line2D([], [], **style(label)) for label in shown]
    figure.legend(handles, shown, loc="center right", fontsize=8, frameon=False)
    figure.subplots_adjust(left=0.06, right=0.83, bottom=0.13, top=0.91, wspace=0.24)
    figure.savefig(folder / "joints.png")

    totals = f["starting"]
    order = sorted(totals, key=lambda x: -sum(totals[x].values()))
    figure, axes = pyplot.subplots(figsize=(7.6, 0.42 * len(order) + 1.2), dpi=110)
    left = [0.0] * len(order)
    for step, words, color in (
        ("import", "import", "#b8c4d6"), ("load", "model from its file", "#5f7ea8"), ("first", "first result", "#e09f3e"),
    ):  # fmt: skip
        widths = [totals[x][step] * MS for x in order]
        axes.barh(order, widths, left=left, color=color, label=words, height=0.62)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    for y, total in enumerate(left):
        axes.annotate(number(total), (total, y), (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set(xlabel="ms", title="Time from process start to the first inverse dynamics of panda")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(folder / "starting.png")


def write(f: Figures, folder: Path) -> None:
    """Write the page and its figures."""
    pictures(f, folder)
    (folder / "RESULTS.md").write_text(page(f))
