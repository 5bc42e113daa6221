"""``dalembert simulate``: the motion that follows from a state and torques, as CSV and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

import dalembert as da
from dalembert.cli import options
from dalembert.cli.terminal import number, plain, print_table, say, tell
from dalembert.cli.torques import trajectory, write
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.simulation.simulate import Run


Scheme = Literal["rk4", "dop853", "variational"]
Stops = Literal["contact", "error", "none"]
Control = Literal["computed", "computed-torque", "pd", "feedforward", "adaptive"]

TABLES = (".csv", ".tsv", ".txt", ".dat", ".npz", ".parquet")  # suffixes of files that options take instead of numbers

# the gains of each controller and their defaults; "" for a gain without default, since torques depend on the arm's size
GAINS: dict[str, dict[str, str]] = {
    "computed": {"kp": "100", "kd": "20"},
    "pd": {"kp": "", "kd": ""},
    "feedforward": {"kp": "0", "kd": "0"},
    "adaptive": {"kd": "", "lambda": "10", "gamma": ""},
}


def gain(help: str) -> Any:
    """An option whose value is one number, or one per joint."""
    return Option(metavar='K|"k1 … kn"', help=help)


def simulate(
    arm: options.ArmArgument,
    q: Annotated[
        str | None,
        Option(
            "--q",
            metavar='"q1 … qn"|MOTION.csv',
            help="Initial positions, or a motion that starts at them; default: zero, or those of the motion.",
        ),
    ] = None,
    qd: Annotated[
        str | None,
        Option("--qd", metavar='"qd1 … qdn"', help="Initial velocities; default: zero, or those of the motion."),
    ] = None,
    states: Annotated[
        Path | None,
        Option(
            metavar="STATES.csv",
            help="A batch: initial states with columns q1 …, qd1 …, or an npz file; RUN must be .npz.",
        ),
    ] = None,
    cluster: options.ClusterOption = None,
    duration: Annotated[
        float | None, Option(metavar="SECONDS", help="Duration; default: 1 s, or that of the motion.")
    ] = None,
    torque: Annotated[
        str | None,
        Option(
            metavar='"tau1 … taun"|gravity|none|TORQUES.csv',
            help="Constant torques; 'gravity' balances the weight of the model; a file has columns t, tau1 … over time.",
        ),
    ] = None,
    held: Annotated[
        bool, Option("--held", help="Hold each row of TORQUES.csv until the next; otherwise interpolate linearly.")
    ] = False,
    follow: Annotated[
        Path | None, Option(metavar="MOTION.csv", help="A motion for a controller to follow, from its first state.")
    ] = None,
    control: Annotated[
        Control, Option(help="The controller: computed torque, PD, feedforward, or adaptive (Slotine and Li).")
    ] = "computed",
    kp: Annotated[str | None, gain("K_p: 1/s² for computed (100), N m/rad for pd and feedforward (0).")] = None,
    kd: Annotated[str | None, gain("K_d: 1/s for computed (20), N m s/rad for the others.")] = None,
    lambda_: Annotated[str | None, Option("--lambda", metavar='K|"k1 … kn"', help="Λ for adaptive, 1/s (10).")] = None,
    gamma: Annotated[str | None, gain("Γ for adaptive: the adaptation gain; 0 for no adaptation.")] = None,
    model: Annotated[
        str | None, Option(metavar="ARM", help="The arm that the controller assumes; default: ARM with its payload.")
    ] = None,
    method: Annotated[
        Scheme, Option(help="Fixed steps, adaptive steps, or a variational scheme that keeps the energy error bounded.")
    ] = "rk4",
    step: Annotated[float, Option(metavar="SECONDS", help="The step.")] = 1e-3,
    every: Annotated[int, Option(metavar="K", help="Write every K-th step.")] = 1,
    friction: Annotated[bool, Option(help="Whether joint friction acts.")] = True,
    stops: Annotated[
        Stops | None,
        Option(
            help="Position limits: end stops with contact (if the arm has limits), an error, or none.",
            show_default=False,
        ),
    ] = None,
    restitution: Annotated[
        float, Option(metavar="E", help="For --stops contact, from 0 (plastic) to 1 (elastic).")
    ] = 0.0,
    effort_limits: Annotated[
        bool,
        Option(
            "--effort-limits/--no-effort-limits", help="Whether drive torques are bounded by the arm's effort limits."
        ),
    ] = True,
    ideal: Annotated[bool, Option("--ideal", help="The equations alone: --stops none --no-effort-limits.")] = False,
    rate: Annotated[
        float | None, Option(metavar="HZ", help="Sampling rate of the controller; its torque is held between samples.")
    ] = None,
    delay: Annotated[float, Option(metavar="SECONDS", help="From a sample to its torque; needs --rate.")] = 0.0,
    encoder: Annotated[
        str | None,
        Option(metavar='N|"n1 … nn"', help="Encoder counts per turn (per metre of a prismatic joint); needs --rate."),
    ] = None,
    velocity_filter: Annotated[
        float | None, Option(metavar="HZ", help="Low-pass filter for velocities from encoder counts.")
    ] = None,
    reading: options.Reading = options.AS_WRITTEN,
    tip_wrench: options.WrenchOption = None,
    payload: options.PayloadOption = None,
    payload_com: options.PayloadComOption = None,
    output: Annotated[str, options.written_to("RUN.csv")] = "-",
    plot: Annotated[str | None, Option(metavar="RUN.png", help="Draw the run: .png, .svg or .pdf.")] = None,
    animate: Annotated[
        str | None, Option(metavar="RUN.gif", help="Write an animation of the arm: .gif, .mp4 or .html.")
    ] = None,
    force: options.ForceFlag = False,
    loading: options.Loading = options.AS_IT_IS,
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
    loaded = options.load(arm, loading, payload, payload_com)
    known = None if model is None else options.load(model, loading)
    wrench = options.wrench_of(tip_wrench)
    _check_batch(states, cluster, q, qd, output, plot, animate)

    given = {"kp": kp, "kd": kd, "lambda": lambda_, "gamma": gamma}
    applied, motion = _applied(loaded, known, torque, held, follow, control, given, reading)
    limited, stopped, notes = _limits(loaded, method, stops, effort_limits, ideal, motion if q is None else None)
    (q0, qd0), state_notes = _first_state(loaded, q, qd, motion, applied, bool(stopped), reading)
    if states is not None:
        from dalembert.simulation.initial_states import read_states

        q0, qd0 = read_states(states, loaded)
    if duration is None:
        timed = motion if motion is not None else applied if isinstance(applied, da.RecordedTorque) else None
        duration = 1.0 if timed is None else timed.duration
    options.check_table(output, "the run would overwrite the file it is", arm, follow, states, force=force)
    options.check_plot(plot, force=force)
    if animate is not None:
        from dalembert.report.animation import check_animation

        check_animation(animate, overwrite=force)
    with Bar(f"simulating {loaded.name}") as bar:
        run = da.simulate(
            loaded, q0, qd0, applied, duration, method=method, step=step, every=every,
            tip_wrench=wrench, friction=friction, stops=stopped, restitution=restitution, effort_limits=limited,
            rate=rate, delay=delay, encoder=None if encoder is None else _gain("--encoder", encoder),
            velocity_filter=velocity_filter, progress=bar, cluster=cluster,
        )  # fmt: skip
    if states is not None:
        run.save(output, overwrite=force)
        tell(f"{plain(loaded.name)}: {len(run.q):,} simulations of {run.t[-1]:g} s → {plain(output)}", stderr=True)
        return
    if output == "-":
        write(output, *run.table(), force=force)
    else:
        run.save(output, overwrite=force)
    if plot is not None:
        options.save_plot(run.plot(), plot, force=force)
    if animate is not None:
        run.animate(animate, overwrite=force)
    say("note", *notes, *state_notes, *run.notes)
    _summary(run, [path for path in (output, plot, animate) if path not in (None, "-")])


def _limits(
    arm: da.Arm,
    method: Scheme,
    stops: Stops | None,
    effort_limits: bool,
    ideal: bool,
    motion: da.Trajectory | None,
) -> tuple[bool, Literal["error", "contact"] | None, list[str]]:
    """Whether effort limits apply, how position limits are treated, and notes about both.

    motion  the motion from whose first state the run starts
    """
    from dalembert.motion.methods import METHODS
    from dalembert.trajectory.limits_check import excesses

    if ideal:
        if stops not in (None, "none"):
            raise DalembertError(f"--ideal excludes stops, but --stops {stops} requests them; choose one")
        return False, None, []
    notes: list[str] = []
    limits = [joint.limits for joint in arm.robot.moving_joints]
    limited = effort_limits and any(limit.effort is not None for limit in limits)
    if stops is not None:
        return limited, None if stops == "none" else stops, notes
    if all(limit.lower is None and limit.upper is None for limit in limits):
        return limited, None, notes
    if "contact" in METHODS[method].refuses:
        notes.append(f"method '{method}' has no contact, so the joints pass through their stops")
        return limited, None, notes
    beyond = [] if motion is None else excesses(arm, motion.t[:1], {"position": motion.q[:1]})
    if beyond:
        notes.append(
            f"{beyond[0]}, so the motion starts beyond an end stop and the run has none; --stops contact keeps them"
        )
        return limited, None, notes
    return limited, "contact", notes


def _first_state(
    arm: da.Arm,
    q: str | None,
    qd: str | None,
    motion: da.Trajectory | None,
    applied: Any,
    stopped: bool,
    reading: options.Reading,
) -> tuple[tuple[Any, Any], list[str]]:
    """The initial state that the options describe, and notes about it."""
    rest: tuple[Any, Any] = [0.0] * arm.n, [0.0] * arm.n
    notes: list[str] = []
    if motion is not None:
        rest = motion.q[0], motion.qd[0]
    elif isinstance(applied, da.RecordedTorque) and applied.q0 is not None:
        rest = applied.q0, rest[1] if applied.qd0 is None else applied.qd0
    elif q is None and stopped:
        for k, joint in enumerate(arm.robot.moving_joints):
            for limit, beyond in ((joint.limits.lower, 1), (joint.limits.upper, -1)):
                if limit is not None and beyond * limit > 0:
                    rest[0][k] = limit
                    unit = "m" if joint.type == "prismatic" else "rad"
                    notes.append(
                        f"joint '{joint.name}' starts at its limit, {limit:g} {unit}, since 0 is beyond it; --q sets another position"
                    )
    if isinstance(applied, da.RecordedTorque) and applied.q0 is None and q is None:
        notes.append(
            "the torque file has no columns q1 …, so the arm starts at 0 where its limits allow; --q MOTION.csv starts at the "
            "first state of a motion"
        )
    if q is not None and _is_file(q):
        torques = isinstance(applied, da.RecordedTorque)  # whose columns --column and --unit then name
        begun = trajectory(arm, Path(q.strip()), options.AS_WRITTEN if torques else reading)
        rest, q = (begun.q[0], begun.qd[0]), None
    first, speed = (
        unless if text is None else options.row_of(option, text, letter, arm.n)
        for option, text, letter, unless in (("--q", q, "q", rest[0]), ("--qd", qd, "qd", rest[1]))
    )
    return (first, speed), notes


def _is_file(text: str) -> bool:
    """Whether a value that may be numbers is the name of a text table."""
    return text.strip().lower().endswith(TABLES)


def _check_batch(
    states: Path | None,
    cluster: str | None,
    q: str | None,
    qd: str | None,
    output: str,
    plot: str | None,
    animate: str | None,
) -> None:
    """Refuse options that cannot be combined with a batch of states."""
    if states is None:
        if cluster is not None:
            raise DalembertError(
                "--cluster works on a batch of simulations: give their initial states with --states STATES.csv"
            )
        return
    for option, given in (("--q", q), ("--qd", qd), ("--plot", plot), ("--animate", animate)):
        if given is not None:
            raise DalembertError(
                f"{option} applies to a single simulation, but --states has the initial states of many; leave it out"
            )
    if Path(output).suffix.lower() != ".npz":
        raise DalembertError(
            f"--output is '{output}'; a batch of simulations is written as .npz: give --output RUN.npz"
        )


def _applied(
    arm: da.Arm,
    known: da.Arm | None,
    torque: str | None,
    held: bool,
    follow: Path | None,
    control: str,
    given: dict[str, str | None],
    reading: options.Reading,
) -> tuple[Any, da.Trajectory | None]:
    """The torque or the controller that the options describe, and the motion that it follows."""
    control = control.removesuffix("-torque")  # computed torque, by either name
    named = [name for name, text in given.items() if text is not None]
    recorded = follow is None and torque is not None and _is_file(torque)
    if held and not recorded:
        raise DalembertError("--held applies to torques over time: add --torque TORQUES.csv")
    if follow is None:
        if named or control != "computed":
            option = f"--{named[0]}" if named else f"--control {control}"
            raise DalembertError(f"{option} applies to a controller, which needs a motion: add --follow MOTION.csv")
        torque = "none" if torque is None else torque.strip()
        if known is not None and torque != "gravity":
            raise DalembertError(
                "--model is the arm that a controller assumes: add --follow MOTION.csv, or --torque gravity"
            )
        if recorded:
            choices = {key: reading.choices[key] for key in ("columns", "units")}
            return da.read_torques(torque, arm, "held" if held else "linear", **choices), None
        if torque == "gravity":  # the control law without its gains: g(q) at the current position
            return da.PD(0.0, 0.0, arm.home, known), None
        return None if torque == "none" else options.row_of("--torque", torque, "tau", arm.n), None
    if torque is not None:
        raise DalembertError("--follow uses the torques of a controller; leave out --torque")
    for name in named:
        if name not in GAINS[control]:
            takes = ", ".join(f"--{x}" for x in GAINS[control])
            raise DalembertError(f"--{name} is not a gain of --control {control}, which takes {takes}")
    gains = []
    for name, unless in GAINS[control].items():
        text = given[name]
        if text is None and not unless:
            raise DalembertError(f"--control {control} needs --{name}, which depends on the size of the arm")
        gains.append(_gain(f"--{name}", unless if text is None else text))
    motion = trajectory(arm, follow, reading)
    if control == "feedforward":
        return da.Feedforward(motion, gains[0], gains[1], known), motion
    laws: dict[str, Any] = {"computed": da.ComputedTorque, "pd": da.PD, "adaptive": da.Adaptive}
    return laws[control](*gains, motion, known), motion


def _gain(option: str, text: str) -> Any:
    """One number, or several."""
    numbers = options.list_of(option, text)
    if not numbers:
        raise DalembertError(f'{option} is "{text}"; it must be one number, or one per joint')
    return numbers[0] if len(numbers) == 1 else numbers


def _summary(run: Run, files: list[str | None]) -> None:
    """A table on stderr: the motion of each joint, its tracking error, and the change of the energy."""
    from dalembert.analysis.sizing import joint_units

    units, rows, follows = joint_units(run.arm), [], run.follows
    for i, name in enumerate(run.arm.joint_names):
        q, qd, tau = run.q[:, i], run.qd[:, i], run.tau[:, i]
        rows.append([
            plain(name), *(number(float(x), units["position"][i]) for x in (q[0], q.min(), q.max(), q[-1])),
            number(float(abs(qd).max()), units["speed"][i]), number(float(abs(tau).max()), units["torque"][i]),
        ])  # fmt: skip
        if follows:
            errors = run.rms_tracking_error[i], run.largest_tracking_error[i]
            rows[-1] += [number(float(x), units["position"][i]) for x in errors]
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
        from dalembert.trajectory.limits_check import excesses

        moved = {"position": run.q, "velocity": run.qd, "acceleration": run.qdd}
        beyond = [x for x in excesses(run.arm, run.t, moved) if x.joint in run.arm.passive_names]
        say("warning", *map(str, beyond))
    first, last = (number(float(run.energy[k]), "J") for k in (0, -1))
    tell(f"energy {first} at the start, {last} at the end", stderr=True)
