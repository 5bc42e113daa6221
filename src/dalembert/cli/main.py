"""The command ``dalembert``: reads its arguments and hands them to the commands beside this file."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dalembert.errors import DalembertError

WRONG_INPUT = 2
LIMIT_EXCEEDED = 3


class Commands(TyperGroup):
    """The commands, with a user's mistake told in one sentence and never as a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a mistake ends it with exit status 2."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of a pipe has gone: typer ends quietly
            raise
        except DalembertError as error:
            sentence = str(error)
        except OSError as error:
            sentence = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        from dalembert.cli.terminal import say

        say("error", sentence)
        raise typer.Exit(WRONG_INPUT)


class Physical(StrEnum):
    """What to do about an inertia that no body can have."""

    error = "error"
    warn = "warn"


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

ArmArgument = Annotated[
    str,
    typer.Argument(
        metavar="ARM", help="A shipped arm (see 'dalembert arms') or a robot file: .urdf, .toml, or .xml (MJCF).",
        show_default=False,
    ),
]  # fmt: skip
PhysicalOption = Annotated[
    Physical, typer.Option(help="'warn' takes a robot whose inertias no body can have, and says so.")
]
TipOption = Annotated[
    str | None, typer.Option(metavar="LINK", help="The link whose frame is the end effector.", show_default=False)
]


def _version(asked: bool) -> None:
    if asked:
        from dalembert import __version__

        typer.echo(f"dalembert {__version__}")
        raise typer.Exit()


@app.callback()
def dalembert(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Manipulator dynamics: any arm in, exact torques out."""


@app.command()
def arms() -> None:
    """List the shipped arms."""
    from dalembert.cli.show import show_arms

    show_arms()


@app.command()
def show(
    arm: ArmArgument,
    json: Annotated[bool, typer.Option("--json", help="Print the robot as JSON, for programs.")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Show what a robot is made of: joints, drives, links, tip. SI units, radians."""
    from dalembert.cli.show import show_json, show_robot
    from dalembert.cli.torques import load

    robot = load(arm, physical.value, tip).robot
    show_json(robot) if json else show_robot(robot)


class Letters(StrEnum):
    """Which numbers become letters."""

    nonzero = "nonzero"
    all = "all"
    numbers = "numbers"


@app.command()
def equations(
    arm: ArmArgument,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX (an align* of amsmath).")] = False,
    text: Annotated[bool, typer.Option("--text", help="Plain text, all of it, however long.")] = False,
    term: Annotated[
        str | None,
        typer.Option(
            metavar="TERM", help="One term only: B11, C12, g1, tau2, F1 (friction), c112 (Christoffel symbol)."
        ),
    ] = None,
    parameters: Annotated[
        Letters,
        typer.Option(help="What becomes a letter: numbers that are not zero, all inertial parameters, or none."),
    ] = Letters.nonzero,
    absolute: Annotated[
        bool, typer.Option("--absolute", help="In the links' angles with the base (parallel joints only).")
    ] = False,
    payload: Annotated[
        float | None, typer.Option(metavar="MASS", help="A point mass m_L held at the tip, in kg.", show_default=False)
    ] = None,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Show the equations of motion in closed form: B, C, g and the torques."""
    from dalembert.cli.equations import show_equations
    from dalembert.cli.torques import load

    if latex and text:
        raise DalembertError("--latex and --text are both given; choose one")
    loaded = load(arm, physical.value, tip)
    if payload is not None:
        loaded = loaded.with_payload(payload)
    show_equations(loaded, latex=latex, text=text, term=term, parameters=parameters.value, absolute=absolute)


@app.command()
def parameters(
    arm: ArmArgument,
    symbols: Annotated[bool, typer.Option("--symbols", help="Letters for lengths, gear ratios and gravity.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX (an align* of amsmath).")] = False,
    inertial: Annotated[bool, typer.Option("--inertial", help="Links only: no rotors, no friction.")] = False,
    nonzero: Annotated[bool, typer.Option("--nonzero", help="Only parameters that are not zero in the arm.")] = False,
    two_sided: Annotated[bool, typer.Option("--two-sided", help="Coulomb friction of either direction.")] = False,
    offset: Annotated[bool, typer.Option("--offset", help="A constant torque for every joint.")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Show what can be identified: the base parameters as formulas in the standard ones."""
    from dalembert.cli.parameters import show_parameters
    from dalembert.cli.torques import load

    if inertial and two_sided:
        raise DalembertError("--inertial leaves friction out, --two-sided asks for it; choose one")
    show_parameters(
        load(arm, physical.value, tip), symbols=symbols, latex=latex, inertial=inertial, nonzero=nonzero,
        two_sided=two_sided, offset=offset,
    )  # fmt: skip


@app.command()
def identify(
    arm: ArmArgument,
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help="A run: .csv, .npz, .parquet, .mcap, .bag or .db3 file, or a ROS bag folder.",
            show_default=False,
        ),
    ],
    validate: Annotated[
        list[str] | None, typer.Option(metavar="LOG2", help="Another run to judge the result on; may be repeated.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="ordinary, weighted, reweighted, damped, sequential or total (S 7.4).")
    ] = "weighted",
    physical_estimate: Annotated[
        bool, typer.Option("--consistent", help="Only parameters that bodies can have (semidefinite program).")
    ] = False,
    prior: Annotated[
        str | None, typer.Option(metavar="ARM", help="An arm whose inertias are believed; implies --consistent.")
    ] = None,
    prior_deviation: Annotated[float, typer.Option(help="How far the prior may be off: 0.3 is thirty percent.")] = 0.3,
    prior_kind: Annotated[str, typer.Option(help="entropic or euclidean.")] = "entropic",
    cutoff: Annotated[
        float | None, typer.Option(metavar="HZ", help="Of the low-pass; chosen from the motion unless given.")
    ] = None,
    decimate: Annotated[int | None, typer.Option(metavar="N", help="Keep one sample in N.")] = None,
    edge: Annotated[float | None, typer.Option(metavar="S", help="Seconds cut at both ends.")] = None,
    dead_zone: Annotated[
        float | None, typer.Option(metavar="SPEED", help="Leave a joint's samples out below this speed (rad/s).")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="q=NAME", help="What t, q, qd, tau or current is called in the log.")
    ] = None,
    gains: Annotated[
        str | None, typer.Option(metavar='"k1 k2 …"', help="Drive gains (N m/A): torque is current times these.")
    ] = None,
    gears: Annotated[
        str | None, typer.Option(metavar='"g1 g2 …"', help="Gear ratios, or the n×n matrix row by row.")
    ] = None,
    motor_side: Annotated[
        str | None, typer.Option(metavar="q,qd,tau", help="Which of the columns are at the motor side.")
    ] = None,
    time_unit: Annotated[str | None, typer.Option(help="s, ms, us or ns.")] = None,
    rotor: Annotated[
        bool | None, typer.Option("--rotor/--no-rotor", help="Identify rotor inertias.", show_default=False)
    ] = None,
    offset: Annotated[bool, typer.Option("--offset/--no-offset", help="A constant torque for every joint.")] = True,
    two_sided: Annotated[bool, typer.Option("--two-sided", help="Coulomb friction for each direction.")] = False,
    stribeck: Annotated[
        bool, typer.Option("--stribeck", help="Stribeck friction, its speeds chosen by trial.")
    ] = False,
    coupling: Annotated[
        list[str] | None, typer.Option(metavar="I:J", help="A drive that joints I and J share, such as 5:6.")
    ] = None,
    balance: Annotated[list[str] | None, typer.Option(metavar="JOINT", help="A joint with a counterbalance.")] = None,
    damping: Annotated[float | None, typer.Option(help="λ of --method damped.")] = None,
    loaded: Annotated[
        str | None, typer.Option(metavar="LOG3", help="For --method total: a run with a known payload.")
    ] = None,
    payload: Annotated[float | None, typer.Option(metavar="MASS", help="That payload's mass (kg).")] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="OUT.toml", help="Save the calibrated arm: .toml or .urdf.")
    ] = None,
    html: Annotated[
        str | None, typer.Option("--report", metavar="OUT.html", help="Write a page with torques, spectra, parameters.")
    ] = None,
    json: Annotated[str | None, typer.Option("--json", metavar="OUT.json", help="Write every number.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Identify the dynamic parameters of an arm from a log of its motion (S 7.4)."""
    from dalembert.cli.identify import Wanted, couplings_of, list_of, pairs_of, run_identify
    from dalembert.cli.torques import load

    loaded_arm = load(arm, physical.value, tip)
    ratios = list_of("--gears", gears)
    n = loaded_arm.n
    options: dict[str, Any] = {
        "validate": validate or None, "method": method, "physical": physical_estimate,
        "prior": None if prior is None else load(prior, physical.value, None), "prior_deviation": prior_deviation,
        "prior_kind": prior_kind, "cutoff": cutoff, "decimate": decimate, "edge": edge, "dead_zone": dead_zone,
        "rotor": rotor, "offset": offset, "two_sided": two_sided, "stribeck": stribeck,
        "coupling": couplings_of(coupling), "balance": balance or (), "damping": damping, "loaded": loaded,
        "payload": payload,
    }  # fmt: skip
    reading = {
        "columns": pairs_of("--column", column) or None, "gains": list_of("--gains", gains), "time_unit": time_unit,
        "gears": ratios if ratios is None or len(ratios) != n * n else [ratios[k * n : k * n + n] for k in range(n)],
        "motor_side": tuple(motor_side.replace(",", " ").split()) if motor_side else None,
    }  # fmt: skip
    options |= {key: value for key, value in reading.items() if value is not None}
    run_identify(loaded_arm, log, Wanted(options, output, html, json, force))


@app.command()
def compare(
    arm: Annotated[
        str | None,
        typer.Argument(
            metavar="[ARM]",
            help="A shipped arm or a robot file; without it, arms of n general joints.",
            show_default=False,
        ),
    ] = None,
    joints: Annotated[
        str | None,
        typer.Option(
            metavar="2..12", help="Growth with the number of joints; 2..12 where no arm is given.", show_default=False
        ),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Compile, and time each formulation; otherwise only count.")
    ] = True,
    everything: Annotated[
        bool, typer.Option("--all", help="Also formulations of degree 4 for more than 7 joints, which take long.")
    ] = False,
    plot: Annotated[
        str | None,
        typer.Option(metavar="OUT.png", help="Write growth as a figure: .png, .svg or .pdf.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT.png if it is there.")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Compare the formulations of inverse dynamics: M's Table 3, operations as written and compiled, ns per state."""
    from dalembert.cli.compare import check_plot, joints_of, show_arm, show_growth
    from dalembert.cli.torques import load

    wanted = joints_of(joints) if joints is not None else range(2, 13) if arm is None else None
    if plot is not None:
        if wanted is None or len(wanted) < 2:
            raise DalembertError("--plot draws growth with the number of joints; give a range, like --joints 2..12")
        check_plot(plot, force=force)
    if arm is not None:
        show_arm(load(arm, physical.value, tip), measure=measure, everything=everything)
    if wanted is not None:
        show_growth(wanted, measure=measure, everything=everything, plot=plot, force=force)


class Kind(StrEnum):
    """What an ellipsoid is of."""

    dynamic = "dynamic"
    velocity = "velocity"
    force = "force"
    static = "static"


class Redundancy(StrEnum):
    """What redundant joints do."""

    pseudo_inverse = "pseudo-inverse"
    dynamic = "dynamic"
    exact = "exact"


TaskOption = Annotated[
    str | None,
    typer.Option(
        metavar="ROWS",
        help="Directions of the tip, like xy or 'x y z'; those of its position that the arm can move unless given.",
        show_default=False,
    ),
]
LimitsOption = Annotated[
    str | None,
    typer.Option(
        metavar='unit|arm|"l1 … ln"',
        help="Torque (or velocity) limits: 1 for every joint, the arm's own, or numbers. The arm's own if it has them.",
        show_default=False,
    ),
]


@app.command()
def ellipsoid(
    arm: ArmArgument,
    q: Annotated[
        str,
        typer.Option(
            "--q", metavar='"q1 … qn"', help="The configuration (rad; m for sliding joints).", show_default=False
        ),
    ],
    kind: Annotated[Kind, typer.Option(help="Accelerations, velocities, forces, or forces under the arm's weight.")] = (
        Kind.dynamic
    ),
    task: TaskOption = None,
    limits: LimitsOption = None,
    redundancy: Annotated[
        Redundancy,
        typer.Option(help="Redundant joints: least accelerations, dynamically consistent, or all that is possible."),
    ] = Redundancy.pseudo_inverse,
    gravity: Annotated[bool, typer.Option("--gravity/--no-gravity", help="Whether gravity moves the centre.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON, for programs.")] = False,
    plot: Annotated[
        str | None,
        typer.Option(metavar="OUT.png", help="Write the picture: .png, .svg or .pdf.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT.png if it is there.")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Show the dynamic manipulability ellipsoid: how the tip can be accelerated from one configuration."""
    from dalembert.cli.ellipsoid import show_ellipsoid
    from dalembert.cli.torques import load

    show_ellipsoid(
        load(arm, physical.value, tip), q, kind=kind.value, task=task, limits=limits, redundancy=redundancy.value,
        gravity=gravity, as_json=json, plot=plot, force=force,
    )  # fmt: skip


class Take(StrEnum):
    """What a cell of a map shows."""

    best = "best"
    mean = "mean"
    worst = "worst"


@app.command("map")
def map_command(
    arm: ArmArgument,
    plot: Annotated[
        str, typer.Option("--plot", "-o", metavar="OUT.png", help="Where the picture goes: .png, .svg or .pdf.")
    ] = "map.png",
    quantity: Annotated[
        str,
        typer.Option(
            help="dynamic-manipulability, velocity-manipulability, force-manipulability or gravity-load.",
            metavar="NAME",
        ),
    ] = "dynamic-manipulability",
    task: TaskOption = None,
    limits: LimitsOption = None,
    take: Annotated[Take, typer.Option(help="Which of the configurations that reach a cell it shows.")] = Take.best,
    redundancy: Annotated[Redundancy, typer.Option(help="As for 'dalembert ellipsoid'.")] = Redundancy.pseudo_inverse,
    poses: Annotated[int, typer.Option(help="How many configurations are tried.", min=1)] = 1_000_000,
    cells: Annotated[int, typer.Option(help="Cells along the longer side.", min=2, max=2000)] = 120,
    seed: Annotated[int, typer.Option(help="For other random configurations.", min=0)] = 0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT.png if it is there.")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Draw what an arm can do wherever its tip can be."""
    from dalembert.cli.map import show_map
    from dalembert.cli.torques import load

    show_map(
        load(arm, physical.value, tip), quantity=quantity, task=task, limits=limits, take=take.value,
        redundancy=redundancy.value, poses=poses, cells=cells, seed=seed, plot=plot, force=force,
    )  # fmt: skip


@app.command()
def torques(
    arm: ArmArgument,
    motion: Annotated[
        Path,
        typer.Argument(metavar="MOTION.csv", help="The motion, one line for each instant.", show_default=False),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT.csv", help="Where to write the torques; '-' is the screen.")
    ] = "-",
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT.csv if it is there.")] = False,
    check_limits: Annotated[
        bool, typer.Option("--check-limits", help="Exit with status 3 when a joint needs more than its effort limit.")
    ] = False,
    tip_wrench: Annotated[
        str | None,
        typer.Option(
            metavar='"fx fy fz mx my mz"',
            help="Constant force (N) and moment (N m) by the tip on its environment, in base axes.",
            show_default=False,
        ),
    ] = None,
    payload: Annotated[
        float | None, typer.Option(metavar="MASS", help="Mass held at the tip, in kg.", show_default=False)
    ] = None,
    payload_com: Annotated[
        str | None,
        typer.Option(metavar='"x y z"', help="Its centre of mass in the tip's frame, in m.", show_default=False),
    ] = None,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Compute the joint torques of a motion (inverse dynamics).

    MOTION.csv has a header and the columns t (s), q1 … qn (rad; m for sliding joints), qd1 … qdn (rad/s; m/s)
    and qdd1 … qddn (rad/s²; m/s²), separated by commas, in any order.

    OUT.csv gets t (s) and tau1 … taun (N m; N for sliding joints). A summary goes to stderr.
    """
    from dalembert.cli.torques import compute, load, numbers_of

    if payload_com is not None and payload is None:
        raise DalembertError("--payload-com says where the payload is, but --payload MASS is missing")
    wrench = numbers_of("--tip-wrench", tip_wrench, "fx fy fz mx my mz")
    com = numbers_of("--payload-com", payload_com, "x y z")
    loaded = load(arm, physical.value, tip)
    if payload is not None:
        loaded = loaded.with_payload(payload, com or (0.0, 0.0, 0.0))
    if not compute(loaded, arm, motion, output, force=force, check_limits=check_limits, tip_wrench=wrench):
        raise typer.Exit(LIMIT_EXCEEDED)


@app.command()
def report(
    arm: ArmArgument,
    motion: Annotated[
        Path | None,
        typer.Argument(metavar="[MOTION.csv]", help="The motion, one line for each instant.", show_default=False),
    ] = None,
    example: Annotated[
        str | None, typer.Option(metavar="7.2", help="The motions of the book's example instead.", show_default=False)
    ] = None,
    limits: Annotated[
        str | None,
        typer.Option(
            metavar="LIMITS",
            help='Limits in place of the robot\'s: a .toml or .csv file, or text like "effort: 87 87 12; velocity: 2".',
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUT.html", help="Where to write the page.")] = Path(
        "report.html"
    ),
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT.html if it is there.")] = False,
    check_limits: Annotated[
        bool, typer.Option("--check-limits", help="Exit with status 3 when the motion exceeds a limit.")
    ] = False,
    tip_wrench: Annotated[
        str | None,
        typer.Option(
            metavar='"fx fy fz mx my mz"',
            help="Constant force (N) and moment (N m) by the tip on its environment, in base axes.",
            show_default=False,
        ),
    ] = None,
    payload: Annotated[
        float | None, typer.Option(metavar="MASS", help="Mass held at the tip, in kg.", show_default=False)
    ] = None,
    payload_com: Annotated[
        str | None,
        typer.Option(metavar='"x y z"', help="Its centre of mass in the tip's frame, in m.", show_default=False),
    ] = None,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Write a report on a motion: one HTML page that needs no network.

    It shows the arm, the motion, the torques against their limits and where they come from, what joints, motors and
    bearings must bear, and what scaling would do; with all numbers as CSV.

    MOTION.csv has the columns t (s), q1 … qn, qd1 … qdn, qdd1 … qddn, as for 'dalembert torques'.
    """
    from dalembert.cli.report import write
    from dalembert.cli.torques import load, numbers_of

    if payload_com is not None and payload is None:
        raise DalembertError("--payload-com says where the payload is, but --payload MASS is missing")
    wrench = numbers_of("--tip-wrench", tip_wrench, "fx fy fz mx my mz")
    com = numbers_of("--payload-com", payload_com, "x y z")
    loaded = load(arm, physical.value, tip)
    if payload is not None:
        loaded = loaded.with_payload(payload, com or (0.0, 0.0, 0.0))
    if not write(
        loaded, arm, motion, example, out, force=force, check_limits=check_limits, limits=limits, tip_wrench=wrench
    ):
        raise typer.Exit(LIMIT_EXCEEDED)


class Scheme(StrEnum):
    """How to integrate."""

    rk4 = "rk4"
    dop853 = "dop853"
    variational = "variational"


class Stops(StrEnum):
    """What a joint's limit is."""

    error = "error"
    contact = "contact"


@app.command()
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
    tip_wrench: Annotated[
        str | None,
        typer.Option(
            metavar='"fx fy fz mx my mz"',
            help="Constant force (N) and moment (N m) by the tip on its environment, in base axes.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="RUN.csv", help="Where to write the motion; '-' is the screen.")
    ] = "-",
    plot: Annotated[
        str | None, typer.Option(metavar="RUN.png", help="Where to draw it: .png, .svg or .pdf.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Simulate the motion that follows from a state and torques (direct dynamics).

    RUN.csv gets t (s), q, qd, qdd and tau of every joint; 'dalembert torques' reads it. A summary goes to stderr.
    """
    from dalembert.cli.simulate import run_simulation
    from dalembert.cli.torques import load, numbers_of

    run_simulation(
        load(arm, physical.value, tip), q, qd, torque.strip(), duration=duration, method=method.value, step=step,
        every=every, friction=friction, stops=stops.value if stops is not None else None,
        tip_wrench=numbers_of("--tip-wrench", tip_wrench, "fx fy fz mx my mz"), output=output, plot=plot, force=force,
    )  # fmt: skip


class Criterion(StrEnum):
    """What an exciting motion is best at."""

    condition = "condition"
    scaled = "scaled-condition"
    d_optimal = "d-optimal"


@app.command()
def excite(
    arm: ArmArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT.csv", help="Where to write the motion.")
    ] = Path("excite.csv"),
    duration: Annotated[float, typer.Option(metavar="S", help="Seconds, a whole number of periods.")] = 30.0,
    harmonics: Annotated[int, typer.Option(metavar="L", help="Harmonics of the Fourier series.")] = 5,
    frequency: Annotated[
        float | None,
        typer.Option(metavar="HZ", help="Base frequency; periods take about 10 s unless given.", show_default=False),
    ] = None,
    criterion: Annotated[
        Criterion,
        typer.Option(help="Condition number of the base regressor (as it is, or scaled), or its determinant."),
    ] = Criterion.condition,
    clearance: Annotated[
        float, typer.Option(metavar="M", help="How far joints, links and tip stay above the height of the base.")
    ] = 0.1,
    floor: Annotated[bool, typer.Option("--floor/--no-floor", help="Whether there is a floor.")] = True,
    share: Annotated[float, typer.Option(metavar="0…1", help="How much of every limit to use.")] = 1.0,
    limits: Annotated[
        str | None,
        typer.Option(metavar="LIMITS", help="Limits in place of the robot's: a file or text.", show_default=False),
    ] = None,
    start: Annotated[
        str | None, typer.Option(metavar='"q1 … qn"', help="Where to begin and end.", show_default=False)
    ] = None,
    starts: Annotated[int, typer.Option(metavar="N", help="Random motions to begin the search from.")] = 4,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same motion.")] = 0,
    rate: Annotated[float, typer.Option(metavar="HZ", help="Samples a second in OUT.csv.")] = 100.0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT.csv if it is there.")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Find a motion for identification: one that shows the arm's base parameters best, within its limits.

    A Fourier series from rest to rest. Ctrl-C ends the search with the best motion so far. OUT.csv gets t, q, qd, qdd
    and the torques that the arm's model says it takes.
    """
    from dalembert.cli.excite import write
    from dalembert.cli.torques import load

    write(
        load(arm, physical.value, tip), output, force=force, rate=rate, criterion=criterion.value, limits=limits,
        start=start, duration=duration, harmonics=harmonics, base_frequency=frequency,
        clearance=clearance if floor else None, share=share, starts=starts, seed=seed,
    )  # fmt: skip


class Load(StrEnum):
    """Which parameters of a load are looked for."""

    body = "body"
    mass_com = "mass-com"


@app.command()
def payload(
    arm: ArmArgument,
    log: Annotated[
        Path,
        typer.Argument(
            metavar="UNLOADED", help="A run without the load; alone, a run with a wrench.", show_default=False
        ),
    ],
    loaded: Annotated[
        Path | None, typer.Argument(metavar="[LOADED]", help="A run with the load.", show_default=False)
    ] = None,
    gains: Annotated[
        str | None,
        typer.Option(metavar='"k1 … kn"', help="Drive gains (N m/A), for logs with currents.", show_default=False),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Torques of the controller's own model in UNLOADED, to find the drive gains from.",
            show_default=False,
        ),
    ] = None,
    wrench: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the log calls the wrench.", show_default=False)
    ] = None,
    sensor: Annotated[
        str | None,
        typer.Option(
            metavar='"x y z roll pitch yaw"',
            help="Where the wrist sensor stands on the tip (m, rad).",
            show_default=False,
        ),
    ] = None,
    reaction: Annotated[
        bool, typer.Option("--reaction", help="The sensor shows what the load exerts on the flange.")
    ] = False,
    parameters: Annotated[Load, typer.Option(help="All ten parameters, or mass and centre of mass.")] = Load.body,
    cutoff: Annotated[
        float | None,
        typer.Option(metavar="HZ", help="Of the low-pass; chosen from the motion unless given.", show_default=False),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="ARM.toml", help="Write the arm with its load.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite ARM.toml if it is there.")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Identify an unknown load at the flange, with standard deviations.

    From joint torques of a run without and a run with it, or from one run with a force/torque sensor at the wrist
    (columns wrench1 … wrench6, or fx fy fz mx my mz: what the flange exerts on the load, in the sensor's axes).
    """
    from dalembert.cli.payload import show as show_load
    from dalembert.cli.torques import load

    show_load(
        load(arm, physical.value, tip), log, loaded, gains=gains, sensor=sensor, save=save, force=force,
        reference=reference, wrench=wrench, sign=-1.0 if reaction else 1.0, parameters=parameters.value, cutoff=cutoff,
    )  # fmt: skip


def main() -> None:
    """The entry point: ``dalembert`` in a shell."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters gets a ? for each
    try:
        app(prog_name="dalembert")
    except KeyboardInterrupt:
        sys.exit(130)
