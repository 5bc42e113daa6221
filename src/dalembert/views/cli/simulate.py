"""``dalembert simulate``: the motion that follows from a state and torques, as CSV and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import dalembert as da
from dalembert.base.environment.progress import Bar
from dalembert.base.options import option
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.controllers import ControllerOptions, numbers_of
from dalembert.views.cli.options import ArmArgument, Loading, Reading
from dalembert.views.cli.terminal import number, plain, print_table, say, tell
from dalembert.views.cli.torques import motion_rows, trajectory, write

if TYPE_CHECKING:
    from dalembert.work.simulation.simulate import Run


Scheme = Literal["rk4", "dop853", "variational"]
Stops = Literal["contact", "error", "none"]
ORDER = (
    "q qd states cluster duration torque held follow control kp kd lambda_ gamma model method step every friction stops "
    "restitution effort_limits ideal rate delay encoder velocity_filter tip_wrench payload payload_com output plot animate force"
)
NO_STATES = "works on a batch of simulations: give their initial states with --states STATES.csv"
SINGLE = ("q", "qd", "plot", "animate")  # options of a single simulation


@dataclass(frozen=True)
class SimulationOptions(ControllerOptions, options.Load):
    """The initial state, the torques or the controller, the method, the drives, and the files of a simulation."""

    q: str | None = option(
        "Initial positions, or a motion that starts at them; default: zero, or those of the motion.",
        metavar='"q1 … qn"|MOTION.csv',
    )
    qd: str | None = options.joint_row("Initial velocities; default: zero, or those of the motion.", "qd")
    states: Path | None = option(
        "A batch: initial states with columns q1 …, qd1 …, or an npz file; RUN must be .npz.", metavar="STATES.csv"
    )
    cluster: str | None = options.common("cluster", needs=("states", NO_STATES))
    duration: float | None = option("Duration; default: 1 s, or that of the motion.", metavar="SECONDS")
    torque: str | None = option(
        "Constant torques; 'gravity' balances the weight of the model; a file has columns t, tau1 … over time.",
        metavar='"tau1 … taun"|gravity|none|TORQUES.csv',
    )
    held: bool = option("Hold each row of TORQUES.csv until the next; otherwise interpolate linearly.", False)
    method: Scheme = option("Fixed steps, adaptive steps, or a variational scheme with bounded energy error.", "rk4")
    step: float = option("The step.", 1e-3, metavar="SECONDS")
    every: int = option("Write every K-th step.", 1, metavar="K")
    friction: bool = option("Whether joint friction acts.", True)
    stops: Stops | None = option(
        "Position limits: end stops with contact (if the arm has limits), an error, or none.", show_default=False
    )
    restitution: float = option("For --stops contact, from 0 (plastic) to 1 (elastic).", 0.0, metavar="E")
    effort_limits: bool = option("Whether drive torques are bounded by the arm's effort limits.", True)
    ideal: bool = option("The equations alone: --stops none --no-effort-limits.", False)
    rate: float | None = option("Sampling rate of the controller; its torque is held between samples.", metavar="HZ")
    delay: float = option("From a sample to its torque; needs --rate.", 0.0, metavar="SECONDS")
    encoder: str | None = option("Encoder counts per turn (per m if prismatic); needs --rate.", metavar='N|"n1 … nn"')
    velocity_filter: float | None = option("Low-pass filter for velocities from encoder counts.", metavar="HZ")
    output: str = options.written_to("RUN.csv")
    plot: str | None = options.plotting("Draw the run", metavar="RUN.png")
    animate: str | None = option("Write an animation of the arm: .gif, .mp4 or .html.", metavar="RUN.gif")
    force: bool = options.overwriting()

    def check_batch(self) -> None:
        """Refuse options that cannot be combined with a batch of states."""
        if self.states is None:
            return
        if wrong := [name for name in SINGLE if getattr(self, name) is not None]:
            raise DalembertError(
                f"--{wrong[0]} applies to a single simulation, but --states has the initial states of many; leave it out"
            )
        if Path(self.output).suffix.lower() != ".npz":
            raise DalembertError(
                f"--output is '{self.output}'; a batch of simulations is written as .npz: give --output RUN.npz"
            )


def simulate(
    arm: ArmArgument, settings: Annotated[SimulationOptions, ORDER], reading: Reading, loading: Loading
) -> None:
    """Simulate the motion that follows from a state and torques (direct dynamics).

    With --follow MOTION.csv a controller drives the arm, and the summary includes the tracking error. The controller
    uses the exact model of the arm, or the one given by --model: without the payload, say, or with other parameters.
    --rate, --delay and --encoder make it a sampled-data controller.

    Drives and joints are realistic unless --ideal is given: torques stay within the arm's effort limits, and joints hit
    their end stops. The summary reports when a drive was at its limit, and for how long.

    With --states a batch of simulations is run, which --cluster distributes over the workers of a Dask cluster. RUN.npz
    gets t, and q, qd, qdd, tau (states, instants, joints) and the energy.

    RUN.csv gets t (s), q, qd, qdd and tau of every joint; 'dalembert torques' reads it. A summary goes to stderr.
    """
    loaded = options.load(arm, loading, settings)
    known = None if settings.model is None else options.load(settings.model, loading)
    wrench, output, force = settings.wrench, settings.output, settings.force
    settings.check_batch()
    applied, motion = _applied(loaded, known, settings, reading)
    limited, stopped, notes = _limits(loaded, settings, motion if settings.q is None else None)
    (q0, qd0), state_notes = _first_state(loaded, settings, motion, applied, bool(stopped), reading)
    if settings.states is not None:
        from dalembert.work.simulation.recorded import read_states

        q0, qd0 = read_states(settings.states, loaded)
    duration = settings.duration
    if duration is None:
        timed = motion if motion is not None else applied if isinstance(applied, da.RecordedTorque) else None
        duration = 1.0 if timed is None else timed.duration
    if settings.animate is not None:
        from dalembert.views.report.animation import check_animation

        check_animation(settings.animate, overwrite=force)
    with Bar(f"simulating {loaded.name}") as bar:
        arguments = options.keywords(
            settings, "method step every friction restitution rate delay velocity_filter cluster"
        )
        encoder = None if settings.encoder is None else numbers_of("--encoder", settings.encoder)
        bounds: dict[str, Any] = {"stops": stopped, "effort_limits": limited, "encoder": encoder, "tip_wrench": wrench}
        run = da.simulate(loaded, q0, qd0, applied, duration, **arguments, **bounds, progress=bar)
    if output == "-":
        write(output, *run.table(), force=force)
    else:
        run.save(output, overwrite=force)
    if settings.states is not None:
        tell(f"{plain(loaded.name)}: {len(run.q):,} simulations of {run.t[-1]:g} s → {plain(output)}", stderr=True)
        return
    if settings.plot is not None:
        options.save_plot(run.plot(), settings.plot, force=force, announced=False)
    if settings.animate is not None:
        run.animate(settings.animate, overwrite=force)
    say("note", *notes, *state_notes, *run.notes)
    _summary(run, [path for path in (output, settings.plot, settings.animate) if path not in (None, "-")])


def _limits(
    arm: da.Arm, settings: SimulationOptions, motion: da.Trajectory | None
) -> tuple[bool, str | None, list[str]]:
    """Whether effort limits apply, how position limits are treated, and notes about both.

    motion  the motion from whose first state the run starts
    """
    from dalembert.mechanics.motion.methods import METHODS
    from dalembert.work.trajectory.planning.limits import excesses

    if settings.ideal:
        if settings.stops not in (None, "none"):
            raise DalembertError(f"--ideal excludes stops, but --stops {settings.stops} requests them; choose one")
        return False, None, []
    limits = [joint.limits for joint in arm.robot.moving_joints]
    limited = settings.effort_limits and any(limit.effort is not None for limit in limits)
    if settings.stops is not None:
        return limited, None if settings.stops == "none" else settings.stops, []
    if all(limit.lower is None and limit.upper is None for limit in limits):
        return limited, None, []
    if "contact" in METHODS[settings.method].refuses:
        return limited, None, [f"method '{settings.method}' has no contact, so the joints pass through their stops"]
    if beyond := [] if motion is None else excesses(arm, motion.t[:1], {"position": motion.q[:1]}):
        words = "so the motion starts beyond an end stop and the run has none; --stops contact keeps them"
        return limited, None, [f"{beyond[0]}, {words}"]
    return limited, "contact", []


def _first_state(
    arm: da.Arm,
    settings: SimulationOptions,
    motion: da.Trajectory | None,
    applied: Any,
    stopped: bool,
    reading: Reading,
) -> tuple[tuple[Any, Any], list[str]]:
    """The initial state that the options describe, and notes about it."""
    from dalembert.work.trajectory.planning.limits import position_limits

    rest: tuple[Any, Any] = [0.0] * arm.n, [0.0] * arm.n
    notes: list[str] = []
    q, recorded = settings.q, isinstance(applied, da.RecordedTorque)
    if motion is not None:
        rest = motion.q[0], motion.qd[0]
    elif recorded and applied.q0 is not None:
        rest = applied.q0, rest[1] if applied.qd0 is None else applied.qd0
    elif q is None and stopped:
        rest = [min(max(0.0, low), high) for low, high in zip(*position_limits(arm), strict=True)], rest[1]
        for joint, limit in zip(arm.robot.moving_joints, rest[0], strict=True):
            where = f"its limit, {limit:g} {'m' if joint.type == 'prismatic' else 'rad'}"
            if limit:
                notes.append(f"joint '{joint.name}' starts at {where}, since 0 is beyond it; --q sets another position")
    if recorded and applied.q0 is None and q is None:
        notes.append(
            "the torque file has no columns q1 …, so the arm starts at 0 where its limits allow; --q MOTION.csv starts at the "
            "first state of a motion"
        )
    if q is not None and _is_file(q):  # --column and --unit name the columns of a torque file, if there is one
        begun = trajectory(arm, Path(q.strip()), Reading() if recorded else reading)
        rest, q = (begun.q[0], begun.qd[0]), None
    first = rest[0] if q is None else options.row_of("--q", q, "q", arm.n)
    speed = rest[1] if settings.qd is None else options.row_of("--qd", settings.qd, "qd", arm.n)
    return (first, speed), notes


def _is_file(text: str) -> bool:
    """Whether a value that may be numbers is the name of a text table."""
    return text.strip().lower().endswith(options.TABLES)


def _applied(
    arm: da.Arm, known: da.Arm | None, settings: SimulationOptions, reading: Reading
) -> tuple[Any, da.Trajectory | None]:
    """The torque or the controller that the options describe, and the motion that it follows."""
    if settings.held and (settings.follow is not None or settings.torque is None or not _is_file(settings.torque)):
        raise DalembertError("--held applies to torques over time: add --torque TORQUES.csv")
    if settings.follow is None:
        if settings.given_gains or settings.control is not None:
            words = f"--{next(iter(settings.given_gains))}" if settings.given_gains else f"--control {settings.control}"
            raise DalembertError(f"{words} applies to a controller, which needs a motion: add --follow MOTION.csv")
        return _torque(arm, known, settings, reading), None
    if settings.torque is not None:
        raise DalembertError("--follow uses the torques of a controller; leave out --torque")
    motion = trajectory(arm, settings.follow, reading)
    return settings.law_of(motion, known), motion


def _torque(arm: da.Arm, known: da.Arm | None, settings: SimulationOptions, reading: Reading) -> Any:
    """The value of --torque."""
    torque = "none" if settings.torque is None else settings.torque.strip()
    if known is not None and torque != "gravity":
        raise DalembertError(
            "--model is the arm that a controller assumes: add --follow MOTION.csv, or --torque gravity"
        )
    if _is_file(torque):
        choices = {key: reading.choices[key] for key in ("columns", "units")}
        return da.read_torques(torque, arm, "held" if settings.held else "linear", **choices)
    if torque == "gravity":  # the control law without its gains: g(q) at the current position
        return da.PD(0.0, 0.0, arm.home, known)
    return None if torque == "none" else options.row_of("--torque", torque, "tau", arm.n)


def _summary(run: Run, files: list[str | None]) -> None:
    """A table on stderr: the motion of each joint, its tracking error, and the change of the energy."""
    from dalembert.work.sizing.sizing import joint_units

    units, follows = joint_units(run.arm)["position"], run.follows
    rows = motion_rows(run.arm, run.q, {"speed": run.qd, "torque": run.tau})
    for i, row in enumerate(rows if follows else []):
        row += [number(float(x[i]), units[i]) for x in (run.rms_tracking_error, run.largest_tracking_error)]
    where = f" → {', '.join(plain(str(path)) for path in files)}" if files else ""
    title = f"{plain(run.arm.name)}: {run.t[-1]:g} s, {len(run.t):,} instants{where}"
    columns = ["joint", ">start", ">min", ">max", ">end", ">peak speed", ">peak |τ|"]
    print_table([*columns, *([">RMS error", ">largest"] if follows else [])], rows, title, stderr=True)
    if run.learned is not None:
        learnt = zip(run.parameter_names, run.parameters[0], run.parameters[-1], strict=True)
        adapted = [[plain(name), f"{before:.4g}", f"{after:.4g}"] for name, before, after in learnt]
        print_table(["parameter", ">start", ">end"], adapted, "adapted parameters (SI units)", stderr=True)
    say("warning", *(str(saturation) for saturation in run.saturations))
    if run.arm.passive_names:  # their limits are not end stops
        from dalembert.work.trajectory.planning.limits import excesses

        moved = {"position": run.q, "velocity": run.qd, "acceleration": run.qdd}
        beyond = [x for x in excesses(run.arm, run.t, moved) if x.joint in run.arm.passive_names]
        say("warning", *map(str, beyond))
    first, last = (number(float(run.energy[k]), "J") for k in (0, -1))
    tell(f"energy {first} at the start, {last} at the end", stderr=True)
