"""``dalembert simulate``: a state and torques in, the motion that follows out, as CSV and as a picture."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dalembert as da
from dalembert.cli.options import (
    ArmArgument,
    ForceFlag,
    Physical,
    PhysicalOption,
    TipOption,
    WrenchOption,
    check_plot,
    load,
    row_of,
    save_plot,
    wrench_of,
)
from dalembert.cli.terminal import Bar, console, number, plain, print_table
from dalembert.cli.torques import unit_of
from dalembert.files import check_writable, whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.simulation.simulate import Run


class Scheme(StrEnum):
    """How to integrate."""

    rk4 = "rk4"
    dop853 = "dop853"
    variational = "variational"


class Stops(StrEnum):
    """What a joint's limit is."""

    error = "error"
    contact = "contact"


def simulate(
    arm: ArmArgument,
    q: Annotated[
        str | None, typer.Option("--q", metavar='"q1 … qn"', help="Positions at first; zero unless given.")
    ] = None,
    qd: Annotated[
        str | None, typer.Option("--qd", metavar='"qd1 … qdn"', help="Velocities at first; zero unless given.")
    ] = None,
    duration: Annotated[float, typer.Option(metavar="SECONDS", help="How long.")] = 1.0,
    torque: Annotated[
        str,
        typer.Option(
            metavar='"tau1 … taun"|gravity|none', help="Constant torques; 'gravity' carries the arm's weight."
        ),
    ] = "none",
    method: Annotated[
        Scheme, typer.Option(help="Fixed steps, adaptive steps, or a scheme that keeps the energy bounded.")
    ] = Scheme.rk4,
    step: Annotated[float, typer.Option(metavar="SECONDS", help="The step.")] = 1e-3,
    every: Annotated[int, typer.Option(metavar="K", help="Write every K-th step.")] = 1,
    friction: Annotated[bool, typer.Option(help="Whether the joints' friction acts.")] = True,
    stops: Annotated[
        Stops | None, typer.Option(help="Joint limits: an error, or stops to bump into; ignored unless given.")
    ] = None,
    restitution: Annotated[
        float, typer.Option(metavar="E", help="Of --stops contact, from 0 (plastic) to 1 (elastic).")
    ] = 0.0,
    tip_wrench: WrenchOption = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="RUN.csv", help="Where to write the motion; '-' is the screen.")
    ] = "-",
    plot: Annotated[str | None, typer.Option(metavar="RUN.png", help="Where to draw it: .png, .svg or .pdf.")] = None,
    force: ForceFlag = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Simulate the motion that follows from a state and torques (direct dynamics).

    RUN.csv gets t (s), q, qd, qdd and tau of every joint; 'dalembert torques' reads it. A summary goes to stderr.
    """
    from dalembert.trajectory.csv_file import write_table

    loaded = load(arm, physical, tip)
    wrench, torque = wrench_of(tip_wrench), torque.strip()

    def joints(option: str, text: str | None, letter: str) -> tuple[float, ...]:
        return (0.0,) * loaded.n if text is None else row_of(option, text, letter, loaded.n)

    q0, qd0 = joints("--q", q, "q"), joints("--qd", qd, "qd")
    applied: Any = None
    if torque == "gravity":
        applied = da.PD(0.0, 0.0, q0)  # the law without its gains: g(q), wherever the arm is
    elif torque != "none":
        applied = joints("--torque", torque, "tau")
    if output != "-":
        check_writable(output, overwrite=force)
    if plot is not None:
        check_plot(plot, force=force)
    with Bar(f"simulating {loaded.name}") as bar:
        run = da.simulate(
            loaded, q0, qd0, applied, duration, method=method.value, step=step, every=every,
            tip_wrench=wrench, friction=friction, stops=stops.value if stops else None, restitution=restitution,
            progress=bar,
        )  # fmt: skip
    columns = (run.t, run.q, run.qd, run.qdd, run.tau)
    if output == "-":
        write_table(sys.stdout, run.columns(), columns)
        sys.stdout.flush()
    else:
        with whole_file(output, overwrite=force) as file, Bar(f"writing {Path(output).name}") as bar:
            write_table(file, run.columns(), columns, bar)
    if plot is not None:
        save_plot(figure(run), plot, force=force)
    _summary(run, [path for path in (output, plot) if path not in (None, "-")])


def _summary(run: Run, files: list[str | None]) -> None:
    """A table on stderr: what each joint did, and what became of the energy."""
    rows = []
    for i, joint in enumerate(run.arm.robot.moving_joints):
        length = "m" if joint.type == "prismatic" else "rad"
        q, qd, tau = run.q[:, i], run.qd[:, i], run.tau[:, i]
        rows.append([
            plain(joint.name), number(float(q[0]), length), number(float(q.min()), length),
            number(float(q.max()), length), number(float(q[-1]), length),
            number(float(abs(qd).max()), f"{length}/s"), number(float(abs(tau).max()), unit_of(joint)),
        ])  # fmt: skip
    where = f" → {', '.join(plain(str(path)) for path in files)}" if files else ""
    title = f"{plain(run.arm.name)}: {run.t[-1]:g} s, {len(run.t):,} instants{where}"
    screen = console(stderr=True)
    print_table(screen, title, ["joint", ">at first", ">least", ">most", ">at last", ">peak speed", ">peak |τ|"], rows)
    e = run.energy
    screen.print(f"energy {number(float(e[0]), 'J')} at first, {number(float(e[-1]), 'J')} at last")


def figure(run: Run) -> Figure:
    """Positions, velocities, torques (accelerations where there are none) and energies over time."""
    from dalembert.report.figures import INK, JOINTS, SOFT, Panel, assemble

    moving = run.arm.robot.moving_joints
    colours = [JOINTS[i % len(JOINTS)] for i in range(run.arm.n)]
    key = tuple((colours[i], plain(joint.name)) for i, joint in enumerate(moving))
    kinds = {joint.type == "prismatic" for joint in moving}
    length = "m" if kinds == {True} else "rad" if kinds == {False} else "rad or m"
    effort = {"m": "N", "rad": "N m"}.get(length, "N m or N")

    def lines(values: Any) -> Any:
        def draw(axes: Any) -> None:
            for i in range(run.arm.n):
                axes.plot(run.t, values[:, i], color=colours[i])
            axes.set_xlim(run.t[0], run.t[-1])
            axes.set_xlabel("t (s)")

        return draw

    def energies(axes: Any) -> None:
        axes.plot(run.t, run.kinetic, color="#e07b2a", label="kinetic")
        axes.plot(run.t, run.potential, color="#5b9f70", label="potential")
        axes.plot(run.t, run.energy, color=INK, label="both")
        axes.axhline(run.energy[0], color=SOFT, lw=0.8, ls=(0, (4, 4)), zorder=1)
        axes.set_xlim(run.t[0], run.t[-1])
        axes.set_xlabel("t (s)")
        axes.legend(loc="best", ncols=3)

    third = Panel(f"Torque ({effort})", lines(run.tau))
    if not run.tau.any():
        third = Panel(f"Acceleration ({length}/s²)", lines(run.qdd))
    return assemble(
        [
            Panel(f"Position ({length})", lines(run.q), key),
            Panel(f"Velocity ({length}/s)", lines(run.qd)),
            third,
            Panel("Energy (J)", energies),
        ]
    )
