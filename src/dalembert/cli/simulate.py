"""``dalembert simulate``: a state and torques in, the motion that follows out, as CSV and as a picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from dalembert import Arm
from dalembert.cli.compare import check_plot, save
from dalembert.cli.given import numbers_of
from dalembert.cli.terminal import Bar, console, number, plain, print_table
from dalembert.cli.torques import unit_of
from dalembert.files import check_writable, whole_file
from dalembert.simulation.controllers import PD
from dalembert.simulation.simulate import Run, simulate
from dalembert.trajectory.csv_file import write_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run_simulation(
    arm: Arm,
    q: str | None,
    qd: str | None,
    torque: str,
    *,
    duration: float,
    method: str,
    step: float,
    every: int,
    friction: bool,
    stops: str | None,
    restitution: float,
    tip_wrench: tuple[float, ...] | None,
    output: str,
    plot: str | None,
    force: bool,
) -> None:
    """Simulate, write, draw, sum up."""

    def joints(option: str, text: str | None, letter: str) -> tuple[float, ...]:
        return numbers_of(option, text, " ".join(f"{letter}{k + 1}" for k in range(arm.n))) or (0.0,) * arm.n

    q0, qd0 = joints("--q", q, "q"), joints("--qd", qd, "qd")
    applied: Any = None
    if torque == "gravity":
        applied = PD(0.0, 0.0, q0)  # the law without its gains: g(q), wherever the arm is
    elif torque != "none":
        applied = joints("--torque", torque, "tau")
    if output != "-":
        check_writable(output, overwrite=force)
    if plot is not None:
        check_plot(plot, force=force)
    with Bar(f"simulating {arm.name}") as bar:
        run = simulate(
            arm, q0, qd0, applied, duration, method=cast(Literal["rk4"], method), step=step, every=every,
            tip_wrench=tip_wrench, friction=friction, stops=cast("Literal['error', 'contact'] | None", stops),
            restitution=restitution, progress=bar,
        )  # fmt: skip
    columns = (run.t, run.q, run.qd, run.qdd, run.tau)
    if output == "-":
        write_table(sys.stdout, run.columns(), columns)
        sys.stdout.flush()
    else:
        with whole_file(output, overwrite=force) as file, Bar(f"writing {Path(output).name}") as bar:
            write_table(file, run.columns(), columns, bar)
    if plot is not None:
        save(figure(run), plot, force=force)
    summary(run, [path for path in (output, plot) if path not in (None, "-")])


def summary(run: Run, files: list[str | None]) -> None:
    """A table on stderr: what each joint did, and what became of the energy."""
    rows = []
    for i, joint in enumerate(run.arm.robot.moving_joints):
        length = "m" if joint.type == "prismatic" else "rad"
        q, qd, tau = run.q[:, i], run.qd[:, i], run.tau[:, i]
        rows.append([
            plain(joint.name), number(float(q[0]), length), number(float(q.min()), length),
            number(float(q.max()), length), number(float(q[-1]), length),
            number(float(np.abs(qd).max()), f"{length}/s"), number(float(np.abs(tau).max()), unit_of(joint)),
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
    if not np.any(run.tau):
        third = Panel(f"Acceleration ({length}/s²)", lines(run.qdd))
    return assemble(
        [
            Panel(f"Position ({length})", lines(run.q), key),
            Panel(f"Velocity ({length}/s)", lines(run.qd)),
            third,
            Panel("Energy (J)", energies),
        ]
    )
