"""Arguments and options that several commands share, and the interpretation of their values."""

from __future__ import annotations

import datetime
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from typer import Argument, Option

import dalembert as da
from dalembert.cli.terminal import plain, say, saying_warnings, tell
from dalembert.environment.extras import extra
from dalembert.errors import DalembertError
from dalembert.files import check_writable, whole_binary_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIMIT_EXCEEDED = 3  # the exit status of --check-limits
FIGURES = (".png", ".svg", ".pdf")


Physical = Literal["error", "warn"]  # how to treat a physically impossible inertia
Redundancy = Literal["pseudo-inverse", "dynamic", "exact"]  # how redundant joints are used


def overwriting(name: str) -> Any:
    """The option ``--force`` of a command that writes one file."""
    return Option("--force", help=f"Overwrite {name} if it exists.")


def written_to(name: str, what: str = "motion") -> Any:
    """The option ``--output`` of a command that writes one table, to a file or to the screen."""
    return Option(
        "--output", "-o", metavar=name, help=f"The file for the {what}: .csv, .npz or .parquet; '-' is the screen."
    )


ArmArgument = Annotated[
    str,
    Argument(
        metavar="ARM", help="A shipped arm (see 'dalembert arms') or a robot file: .urdf, .xacro, .sdf, .toml, .xml (MJCF), or .csv (a DH table).",
        show_default=False,
    ),
]  # fmt: skip
PhysicalOption = Annotated[Physical, Option(help="'warn' accepts physically impossible inertias with a warning.")]
TipOption = Annotated[str | None, Option(metavar="LINK", help="The link whose frame is the end effector.")]
LockOption = Annotated[
    list[str] | None,
    Option(metavar="JOINT=POSITION", help="Hold a joint fixed at a position in rad or m; may be repeated."),
]
RootOption = Annotated[
    str | None,
    Option(metavar="LINK", help="The link that becomes the base; with --tip, only the joints between the two move."),
]
ConventionOption = Annotated[
    Literal["standard", "modified"] | None,
    Option(help="The convention of a DH table (.csv, .xlsx) that does not state it."),
]
DensityOption = Annotated[
    str | None,
    Option(
        metavar="KG/M3|MATERIAL",
        help="Links without a mass get the mass of their shapes: 2700, aluminium, '2.7 g/cm3'.",
    ),
]

ArgumentsOption = Annotated[
    list[str] | None,
    Option("--argument", metavar="NAME=VALUE", help="A value for $(arg NAME) of a .xacro file; may be repeated."),
]
SnapOption = Annotated[
    float | None,
    Option(metavar="RAD", help="Angles this close to right angles are made exact: 1e-5 for π/2 written as 1.5708."),
]


Interpolation = Literal["auto", "spline", "monotone"]
InterpolationOption = Annotated[
    Interpolation,
    Option(
        help="How missing velocities are computed: by a spline, or by a monotone curve, which stays between the samples; "
        "'auto': the spline, unless it moves a joint that is at rest in the samples."
    ),
]
SmoothingOption = Annotated[
    float | None,
    Option(metavar="HZ", help="Low-pass filter for a measured motion, without phase shift; default: none."),
]
MotionColumnOption = Annotated[
    list[str] | None,
    Option(metavar="q=NAME", help="The name of t, q, qd, qdd or tau in the motion, or its columns from 0: q=1:7."),
]
MotionUnitOption = Annotated[
    list[str] | None, Option(metavar="q=UNIT", help="The unit of t, q, qd, qdd or tau in the motion: q=deg, t=ms.")
]


@dataclass(frozen=True)
class Loading:
    """How a robot is loaded: the options of every command that loads an arm.

    A command has one parameter of this type, and :func:`with_groups` turns its fields into options.
    """

    physical: PhysicalOption = "error"
    tip: TipOption = None
    lock: LockOption = None
    root: RootOption = None
    convention: ConventionOption = None
    density: DensityOption = None
    arguments: ArgumentsOption = None
    snap: SnapOption = None

    @property
    def positions(self) -> dict[str, list[float]]:
        """The value of ``--lock``: joint and position, or several positions for a joint that has several."""
        positions = {}
        for text in self.lock or ():
            joint, equals, values = text.rpartition("=")
            if not equals or not joint.strip() or not values.strip():
                raise DalembertError(f'--lock "{text}" must be a joint and a position, like finger_joint=0.02')
            if joint.strip() in positions:
                raise DalembertError(f"--lock names joint '{joint.strip()}' twice; give it one position")
            positions[joint.strip()] = list_of(f"--lock {joint}=", values)
        return positions

    @property
    def words(self) -> dict[str, str]:
        """The value of ``--argument``."""
        words = {}
        for text in self.arguments or ():
            name, equals, value = text.partition("=")
            if not equals or not name.strip():
                raise DalembertError(f'--argument "{text}" must be a name and a value, like name=ur5e')
            words[name.strip()] = value.strip()
        return words


AS_IT_IS = Loading()


@dataclass(frozen=True)
class Reading:
    """How a motion is read: the options of every command that reads one, as :class:`Loading` for robots."""

    interpolation: InterpolationOption = "auto"
    cutoff: SmoothingOption = None
    column: MotionColumnOption = None
    unit: MotionUnitOption = None

    @property
    def choices(self) -> dict[str, Any]:
        """The keywords of :func:`dalembert.read_trajectory`."""
        columns, units = pairs_of("--column", self.column), pairs_of("--unit", self.unit)
        return {"interpolation": self.interpolation, "cutoff": self.cutoff, "columns": columns, "units": units}


AS_WRITTEN = Reading()
GROUPS = {"loading": Loading, "reading": Reading}  # parameters of commands that stand for several options


def pairs_of(option: str, given: list[str] | None) -> dict[str, str]:
    """A list of KEY=VALUE as a dict, each key once."""
    out: dict[str, str] = {}
    for word in given or []:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise DalembertError(f"{option} needs KEY=VALUE, such as q=q_mot, not '{word}'")
        if key in out:
            raise DalembertError(f"{option} gives {key} twice: {out[key]} and {value}")
        out[key] = value
    return out


def resuming(resume: bool) -> Callable[[str], None] | bool:
    """What ``--resume`` means to a function that can be resumed: one line says what is resumed."""
    return partial(say, "note") if resume else False


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for every field of its parameters ``loading`` and ``reading``, if it has them."""
    signature = inspect.signature(command, eval_str=True)
    groups = {name: group for name, group in GROUPS.items() if name in signature.parameters}
    if not groups:
        return command
    own = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default,
            annotation=get_type_hints(group, include_extras=True)[field.name],
        )
        for group in groups.values()
        for field in fields(group)
    ]  # fmt: skip
    others = [
        x.replace(kind=inspect.Parameter.KEYWORD_ONLY) for x in signature.parameters.values() if x.name not in groups
    ]

    def run(**given: Any) -> None:
        gathered = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **gathered)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = signature.replace(parameters=[*others, *own])  # type: ignore[attr-defined]
    run.__annotations__ = {x.name: x.annotation for x in (*others, *own)}
    return run


LatexFlag = Annotated[bool, Option("--latex", help="LaTeX (an align* of amsmath).")]
ForceFlag = Annotated[bool, Option("--force", help="Overwrite existing files.")]
MotionHelp = "The motion, one line per instant."
MotionArgument = Annotated[Path | None, Argument(metavar="[MOTION.csv]", help=MotionHelp)]
MotionsArgument = Annotated[
    list[Path] | None, Argument(metavar="[MOTION.csv]…", help="Motions to play, as for 'dalembert torques'.")
]
ExampleOption = Annotated[str | None, Option(metavar="7.2", help="The motions of the book's example instead.")]
OffsetHelp = "A constant torque for every joint."
CutoffOption = Annotated[
    float | None, Option(metavar="HZ", help="Cut-off of the low-pass filter; default: chosen from the motion.")
]

# how the columns of a log are read
ColumnOption = Annotated[
    list[str] | None,
    Option(metavar="q=NAME", help="The name of t, q, qd, tau or current in the log, or its columns from 0: q=1:7."),
]
UnitOption = Annotated[
    list[str] | None,
    Option(metavar="q=UNIT", help="The unit of t, q, qd, tau or current: q=deg, t=ms, current=mA."),
]
JointsOption = Annotated[
    str | None, Option(metavar='"j1 j2 …"', help="The arm's joints in the order of the log's columns.")
]
TopicOption = Annotated[str | None, Option(help="Which JointState messages of a ROS log to read.")]
EpisodesOption = Annotated[
    str | None,
    Option(metavar="0:5", help="Which episodes of a LeRobot dataset to read, such as 0:5 (0 to 4) or 1,4:6."),
]
GainsOption = Annotated[
    str | None, Option(metavar='"k1 k2 …"', help="Drive gains (N m/A): torque is current times these.")
]
GearsOption = Annotated[str | None, Option(metavar='"g1 g2 …"', help="Gear ratios, or the n×n matrix row by row.")]
MotorSideOption = Annotated[str | None, Option(metavar="q,qd,tau", help="The columns measured on the motor side.")]
TimeUnitOption = Annotated[str | None, Option(help="s, ms, us or ns.")]
RateOption = Annotated[
    float | None, Option(metavar="HZ", help="Samples per second of a log without time stamps, such as 500.")
]
RowRateOption = Annotated[
    float | None,
    Option(
        metavar="HZ",
        help="Evenly spaced rows per second, as a controller takes them; default: the motion's own instants.",
    ),
]

# the author and the date of a report
AuthorOption = Annotated[str | None, Option(metavar="NAME", help="The author of the report, shown under its title.")]
TitleOption = Annotated[str | None, Option(metavar="WORDS", help="The title of the report.")]
NoteOption = Annotated[str | None, Option(metavar="WORDS", help="An introductory note at the top of the report.")]
DateOption = Annotated[str, Option(metavar="WORDS", help="The date in the report: 'today', 'none' or any other text.")]

WrenchOption = Annotated[
    str | None,
    Option(
        metavar='"fx fy fz mx my mz"',
        help="Constant force (N) and moment (N m) exerted by the tip on its environment, in base axes.",
    ),
]
ClusterOption = Annotated[
    str | None,
    Option(
        metavar="ADDRESS", help="Work on a Dask cluster: the address of its scheduler, such as tcp://127.0.0.1:8786."
    ),
]
ResumeOption = Annotated[bool, Option("--resume/--no-resume", help="Whether to resume a run that was interrupted.")]
ToleranceOption = Annotated[
    list[str] | None,
    Option(
        metavar="mass=5%",
        help="± share of mass, inertia, rotor, viscous or coulomb, ± m of com, or payload=0..2 kg in addition to the load of "
        "the arm and the motion: also give the margins of robots within these tolerances. May be repeated.",
    ),
]
PayloadOption = Annotated[float | None, Option(metavar="MASS", help="Mass held at the tip, in kg.")]
PayloadComOption = Annotated[str | None, Option(metavar='"x y z"', help="Its centre of mass in the tip's frame, in m.")]

TaskOption = Annotated[
    str | None,
    Option(
        metavar="ROWS",
        help="Directions of the tip, like xy or 'x y z'; default: the directions of its position that the arm can move.",
    ),
]
LimitsOption = Annotated[
    str | None,
    Option(
        metavar='unit|arm|"l1 … ln"',
        help="Torque (or velocity) limits: 1 for every joint, the arm's own, or numbers. Default: the arm's own, if it has them.",
    ),
]


LimitsSourceOption = Annotated[
    str | None,
    Option(
        metavar="LIMITS",
        help='Limits instead of the robot\'s: a .toml or .csv file, or text like "effort: 87 87 12; velocity: 2".',
    ),
]


def load(
    arm: str,
    loading: Loading = AS_IT_IS,
    payload: float | None = None,
    payload_com: str | None = None,
    limits: str | None = None,
) -> da.Arm:
    """The arm, with its payload at the tip and the given limits, and with its warnings printed as sentences on stderr."""
    from dalembert.robot.model import TIP_NOTE
    from dalembert.robot.vendor_files import PRINTED_NOTES

    com = payload_com_of(payload_com, payload)
    with saying_warnings():
        loaded = da.load(
            arm, physical=loading.physical, tip=loading.tip, lock=loading.positions, root=loading.root,
            convention=loading.convention, density=loading.density, arguments=loading.words,
            snap=loading.snap,
        )  # fmt: skip
    say("note", *(note for note in loaded.robot.notes if note.startswith((TIP_NOTE, *PRINTED_NOTES))))
    if payload is not None:
        loaded = loaded.with_payload(payload, com or (0.0, 0.0, 0.0))
    if limits is not None:
        from dalembert.robot.limits_file import with_limits

        loaded = da.Arm(with_limits(loaded.robot, limits))
    return loaded


def tell_numbers(arm: da.Arm) -> None:
    """Print the number of each joint in the names of parameters, if it differs from its number in q."""
    if arm.passive_names:
        from dalembert.report.identification import numbering

        tell(plain(numbering(arm)))


def date_of(words: str) -> str | None:
    """The date for ``--date``: that of this machine's clock for 'today', None for 'none'."""
    return {"today": datetime.date.today().isoformat(), "none": None}.get(words, words)


def list_of(option: str, text: str) -> list[float]:
    """The numbers in an option's value, separated by spaces or commas."""
    try:
        return [float(word) for word in text.replace(",", " ").split()]
    except ValueError as error:
        raise DalembertError(f'{option} "{text}": {str(error).partition(": ")[2]} is not a number') from None


def numbers_of(option: str, text: str, names: str) -> tuple[float, ...]:
    """The numbers in an option's value, all finite and as many as there are ``names``."""
    wanted, given = len(names.split()), len(text.replace(",", " ").split())
    if given != wanted:
        raise DalembertError(f'{option} needs {wanted} numbers, "{names}", but has {given}: "{text}"')
    values = list_of(option, text)
    if not all(map(math.isfinite, values)):
        raise DalembertError(f'{option} "{text}": every number must be finite')
    return tuple(values)


def row_of(option: str, text: str, letter: str, count: int) -> tuple[float, ...]:
    """The numbers in an option's value with one entry per joint, named ``letter``1, ``letter``2, …, ``letter``count."""
    return numbers_of(option, text, " ".join(f"{letter}{k + 1}" for k in range(count)))


def wrench_of(text: str | None) -> tuple[float, ...] | None:
    """The value of ``--tip-wrench``."""
    if text is None:
        return None
    from dalembert.robot.bounds import check_size

    wrench = numbers_of("--tip-wrench", text, "fx fy fz mx my mz")
    for value in wrench:
        check_size("--tip-wrench", value)
    return wrench


def tolerances_of(texts: list[str] | None) -> da.Tolerances | None:
    """The value of ``--tolerance``, given once or several times."""
    if not texts:
        return None
    values: dict[str, Any] = {}
    known = ("mass", "inertia", "rotor", "viscous", "coulomb", "com", "payload", "payload_com")
    for text in texts:
        name, _, given = (part.strip() for part in text.partition("="))
        if name not in known or not given:
            raise DalembertError(
                f'--tolerance "{text}": write NAME=SHARE, such as mass=5%, or payload=0..2; NAME is one of {", ".join(known)}'
            )
        if name == "payload":
            least, dots, most = given.partition("..")
            if not dots:
                raise DalembertError(f'--tolerance "{text}": the payload is a range in kg, such as payload=0..2')
            values[name] = tuple(numbers_of("--tolerance", part, "kg")[0] for part in (least, most))
        else:
            scale = 0.01 if given.endswith("%") else 1.0
            numbers = list_of(f"--tolerance {name}", given.replace("%", " "))
            values[name] = (
                [scale * x for x in numbers] if len(numbers) > 1 else scale * numbers[0] if numbers else given
            )
    if "payload" in values:
        say("note", "the payload of --tolerance is held in addition to that of the arm and of the motion")
    return da.Tolerances(**values)


def payload_com_of(text: str | None, mass: float | None) -> tuple[float, ...] | None:
    """The value of ``--payload-com``, which needs ``--payload``."""
    if text is None:
        return None
    if mass is None:
        raise DalembertError("--payload-com gives the position of the payload, but --payload MASS is missing")
    return numbers_of("--payload-com", text, "x y z")


def not_an_input(output: str | Path, words: str, *inputs: str | Path | None) -> None:
    """Refuse an output that is one of the files it is made from; ``words`` begin the message."""
    for read in inputs:
        if read is not None and Path(read).is_file() and Path(output).exists() and Path(read).samefile(output):
            raise DalembertError(f"{output}: {words} made from; name another")


def need_figures(what: str) -> None:
    """Raise an error before the work if ``what`` cannot be drawn because Matplotlib is not installed."""
    with extra("plot", what):
        import matplotlib  # noqa: F401


def check_table(path: str | Path, words: str, *inputs: str | Path | None, force: bool) -> None:
    """Raise an error before the work if a table cannot be written; ``words`` as for :func:`not_an_input`."""
    from dalembert.trajectory.tables import KINDS

    if str(path) != "-":
        not_an_input(path, words, *inputs)
        check_writable(path, overwrite=force, kinds=KINDS)


def check_plot(path: str | None, *, force: bool) -> None:
    """Raise an error before the work if a figure is requested that cannot be written."""
    if path is None:
        return
    if Path(path).suffix.lower() not in FIGURES:
        raise DalembertError(f"{path}: a figure is written as {', '.join(FIGURES)}; end the name with one of them")
    need_figures(f"{path}: a figure")
    check_writable(path, overwrite=force)


def save_plot(figure: Figure, path: str, *, force: bool) -> None:
    """Write the figure atomically."""
    check_plot(path, force=force)
    with whole_binary_file(path, overwrite=force) as file:
        figure.savefig(file, format=Path(path).suffix[1:].lower(), dpi=160)
