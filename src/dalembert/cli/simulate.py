"""``dalembert simulate``: a state and torques in, the motion that follows out, as CSV and as a picture."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

import dalembert as da
from dalembert.cli import options
from dalembert.cli.terminal import number, plain, print_table, tell
from dalembert.cli.torques import write
from dalembert.environment.progress import Bar
from dalembert.files import check_writable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.simulation.simulate import Run


Scheme = Literal["rk4", "dop853", "variational"]
Stops = Literal["error", "contact"]


def simulate(
    arm: options.ArmArgument,
    q: Annotated[str | None, Option("--q", metavar='"q1 … qn"', help="Positions at first; zero unless given.")] = None,
    qd: Annotated[
        str | None, Option("--qd", metavar='"qd1 … qdn"', help="Velocities at first; zero unless given.")
    ] = None,
    duration: Annotated[float, Option(metavar="SECONDS", help="How long.")] = 1.0,
    torque: Annotated[
        str,
        Option(metavar='"tau1 … taun"|gravity|none', help="Constant torques; 'gravity' carries the arm's weight."),
    ] = "none",
    method: Annotated[
        Scheme, Option(help="Fixed steps, adaptive steps, or a scheme that keeps the energy bounded.")
    ] = "rk4",
    step: Annotated[float, Option(metavar="SECONDS", help="The step.")] = 1e-3,
    every: Annotated[int, Option(metavar="K", help="Write every K-th step.")] = 1,
    friction: Annotated[bool, Option(help="Whether the joints' friction acts.")] = True,
    stops: Annotated[
        Stops | None, Option(help="Joint limits: an error, or stops to bump into; ignored unless given.")
    ] = None,
    restitution: Annotated[
        float, Option(metavar="E", help="Of --stops contact, from 0 (plastic) to 1 (elastic).")
    ] = 0.0,
    tip_wrench: options.WrenchOption = None,
    output: Annotated[
        str, Option("--output", "-o", metavar="RUN.csv", help="Where to write the motion; '-' is the screen.")
    ] = "-",
    plot: Annotated[str | None, Option(metavar="RUN.png", help="Where to draw it: .png, .svg or .pdf.")] = None,
    force: options.ForceFlag = False,
    physical: options.PhysicalOption = "error",
    tip: options.TipOption = None,
) -> None:
    """Simulate the motion that follows from a state and torques (direct dynamics).

    RUN.csv gets t (s), q, qd, qdd and tau of every joint; 'dalembert torques' reads it. A summary goes to stderr.
    """
    loaded = options.load(arm, physical, tip)
    wrench, torque = options.wrench_of(tip_wrench), torque.strip()

    def joints(option: str, text: str | None, letter: str) -> tuple[float, ...]:
        return (0.0,) * loaded.n if text is None else options.row_of(option, text, letter, loaded.n)

    q0, qd0 = joints("--q", q, "q"), joints("--qd", qd, "qd")
    applied: Any = None
    if torque == "gravity":
        applied = da.PD(0.0, 0.0, q0)  # the law without its gains: g(q), wherever the arm is
    elif torque != "none":
        applied = joints("--torque", torque, "tau")
    if output != "-":
        check_writable(output, overwrite=force)
    options.check_plot(plot, force=force)
    with Bar(f"simulating {loaded.name}") as bar:
        run = da.simulate(
            loaded, q0, qd0, applied, duration, method=method, step=step, every=every,
            tip_wrench=wrench, friction=friction, stops=stops, restitution=restitution,
            progress=bar,
        )  # fmt: skip
    write(output, run.columns(), (run.t, run.q, run.qd, run.qdd, run.tau), force=force)
    if plot is not None:
        options.save_plot(figure(run), plot, force=force)
    _summary(run, [path for path in (output, plot) if path not in (None, "-")])


def _summary(run: Run, files: list[str | None]) -> None:
    """A table on stderr: what each joint did, and what became of the energy."""
    from dalembert.analysis.sizing import joint_units

    units, rows = joint_units(run.arm), []
    for i, name in enumerate(run.arm.joint_names):
        q, qd, tau = run.q[:, i], run.qd[:, i], run.tau[:, i]
        rows.append([
            plain(name), *(number(float(x), units["position"][i]) for x in (q[0], q.min(), q.max(), q[-1])),
            number(float(abs(qd).max()), units["speed"][i]), number(float(abs(tau).max()), units["torque"][i]),
        ])  # fmt: skip
    where = f" → {', '.join(plain(str(path)) for path in files)}" if files else ""
    title = f"{plain(run.arm.name)}: {run.t[-1]:g} s, {len(run.t):,} instants{where}"
    columns = ["joint", ">at first", ">least", ">most", ">at last", ">peak speed", ">peak |τ|"]
    print_table(columns, rows, title, stderr=True)
    first, last = (number(float(run.energy[k]), "J") for k in (0, -1))
    tell(f"energy {first} at first, {last} at last", stderr=True)


def figure(run: Run) -> Figure:
    """Positions, velocities, torques (accelerations where there are none) and energies over time."""
    from dalembert.analysis.sizing import joint_units
    from dalembert.report.figures import INK, SOFT, Panel, assemble, joint_colour

    names = tuple((joint_colour(i), plain(name)) for i, name in enumerate(run.arm.joint_names))
    units = {what: " or ".join(sorted(set(words), reverse=True)) for what, words in joint_units(run.arm).items()}

    def draw(axes: Any, curves: Any, key: tuple[tuple[str, str], ...] = names) -> None:
        for y, (colour, word) in zip(curves, key, strict=True):
            axes.plot(run.t, y, color=colour, label=word)
        axes.set_xlim(run.t[0], run.t[-1])
        axes.set_xlabel("t (s)")

    def draw_energies(axes: Any) -> None:
        words = (("#e07b2a", "kinetic"), ("#5b9f70", "potential"), (INK, "both"))
        draw(axes, (run.kinetic, run.potential, run.energy), words)
        axes.axhline(run.energy[0], color=SOFT, lw=0.8, ls=(0, (4, 4)), zorder=1)
        axes.legend(loc="best", ncols=3)

    shown = [("Position", "position", run.q), ("Velocity", "speed", run.qd), ("Torque", "torque", run.tau)]
    if not run.tau.any():
        shown[2] = ("Acceleration", "acceleration", run.qdd)
    panels = [Panel(f"{title} ({units[what]})", partial(draw, curves=x.T), names) for title, what, x in shown]
    return assemble([*panels, Panel("Energy (J)", draw_energies)])
