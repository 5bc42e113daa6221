"""``dalembert excite``: an arm in, a motion that shows its parameters out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Option

import dalembert as da
from dalembert.cli import options
from dalembert.cli.terminal import number, print_table, say, tell
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError
from dalembert.files import check_writable

Criterion = Literal["condition", "scaled-condition", "d-optimal"]
WORDS = {"condition": "condition number", "scaled-condition": "scaled condition number", "d-optimal": "log det"}


def excite(
    arm: options.ArmArgument,
    output: Annotated[Path, Option("--output", "-o", metavar="OUT.csv", help="Where to write the motion.")] = Path(
        "excite.csv"
    ),
    duration: Annotated[float, Option(metavar="S", help="Seconds; of a series a whole number of periods.")] = 30.0,
    shape: Annotated[Literal["fourier", "spline"], Option(help="A Fourier series, or a spline.")] = "fourier",
    points: Annotated[
        int | None, Option(metavar="N", help="Control points of the spline for every joint; one a second.")
    ] = None,
    harmonics: Annotated[int, Option(metavar="L", help="Harmonics of the Fourier series.")] = 5,
    frequency: Annotated[
        float | None, Option(metavar="HZ", help="Base frequency; periods take about 10 s unless given.")
    ] = None,
    criterion: Annotated[
        Criterion, Option(help="Condition number of the base regressor (as it is, or scaled), or its determinant.")
    ] = "condition",
    clearance: Annotated[
        float, Option(metavar="M", help="How far joints, links and tip stay above the height of the base.")
    ] = 0.1,
    floor: Annotated[bool, Option("--floor/--no-floor", help="Whether there is a floor.")] = True,
    share: Annotated[float, Option(metavar="0…1", help="How much of every limit to use.")] = 1.0,
    limits: Annotated[
        str | None, Option(metavar="LIMITS", help="Limits in place of the robot's: a file or text.")
    ] = None,
    start: Annotated[str | None, Option(metavar='"q1 … qn"', help="Where to begin and end.")] = None,
    starts: Annotated[int, Option(metavar="N", help="Random motions to begin the search from.")] = 4,
    seed: Annotated[int, Option(metavar="N", help="The same seed gives the same motion.")] = 0,
    cluster: options.ClusterOption = None,
    rate: Annotated[float, Option(metavar="HZ", help="Samples a second in OUT.csv.")] = 100.0,
    force: Annotated[bool, options.overwriting("OUT.csv")] = False,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Find a motion for identification: one that shows the arm's base parameters best, within its limits.

    A Fourier series or a spline from rest to rest. Ctrl-C ends the search with the best motion so far. OUT.csv gets t, q, qd, qdd
    and the torques that the arm's model says it takes. With --cluster the starts are improved on the workers of a Dask cluster.
    """
    loaded = options.load(arm, loading, limits=limits)
    if not rate > 0:
        raise DalembertError(f"--rate is {rate:g}; it is in samples a second and must be above zero")
    check_writable(output, overwrite=force)
    posture = None if start is None else options.row_of("--start", start, "x", loaded.n)
    with Bar(f"exciting {loaded.name}") as bar:

        def told(fraction: float, best: float) -> None:
            bar.what = f"exciting {loaded.name}, best {WORDS[criterion]} so far {best:.4g}"
            bar(fraction)

        excitation = da.excite(
            loaded, criterion=criterion, start=posture, progress=told, duration=duration, shape=shape,
            points=points, harmonics=harmonics, base_frequency=frequency, clearance=clearance if floor else None,
            share=share, starts=starts, seed=seed, cluster=cluster,
        )  # fmt: skip
    say("note", *excitation.notes)
    if excitation.interrupted:
        say("note", "stopped by Ctrl-C: this is the best motion so far")
    excitation.save(output, rate=rate, overwrite=force)
    motion = excitation.trajectory
    q, qd, qdd = motion.q, motion.qd, motion.qdd
    tau = loaded.inverse_dynamics(q, qd, qdd)
    rows = []
    for j, joint in enumerate(loaded.robot.moving_joints):
        given = joint.limits
        rows.append([
            joint.name, f"{number(float(q[:, j].min()))} … {number(float(q[:, j].max()))}",
            _beside(qd[:, j], given.velocity), _beside(qdd[:, j], given.acceleration), _beside(tau[:, j], given.effort),
        ])  # fmt: skip
    print_table(["joint", ">q", ">max |qd| / limit", ">max |qdd| / limit", ">max |tau| / limit"], rows, "Joints")
    tell(
        f"{excitation.base.rank} base parameters; condition number {excitation.condition:.4g} (SI units), "
        f"{excitation.condition_scaled:.4g} with columns of length one; log det {excitation.log_det:.4g}"
    )
    form = f"a spline of {excitation.coefficients.shape[-1]} control points"
    if excitation.base_frequency is not None:
        periods = round(motion.duration * excitation.base_frequency)
        form = f"{periods} periods of {excitation.base_frequency:.4g} Hz, {excitation.coefficients.shape[2]} harmonics"
    tell(f"{motion.duration:g} s: {form}, found in {excitation.seconds:.1f} s; the motion is in {output.resolve()}")


def _beside(values: Any, limit: float | None) -> str:
    most = float(abs(values).max())
    return f"{number(most)} / {number(limit)}" if limit is not None else number(most)
