"""Arguments and options that several commands share, and the interpretation of their values.

A command is a function of an arm, files and groups of options: dataclasses whose fields are declared with
:func:`dalembert.base.options.option`. :func:`with_groups` makes an option of every field.
"""

from __future__ import annotations

import dataclasses
import datetime
import inspect
import keyword
import math
import os
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer
from typer import Argument

import dalembert as da
from dalembert.base.environment.extras import extra
from dalembert.base.files import check_writable, whole_binary_file
from dalembert.base.options import check_value, declared, option
from dalembert.errors import DalembertError
from dalembert.views.cli.terminal import plain, say, saying_warnings, tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIMIT_EXCEEDED = 3  # the exit status of --check-limits
FIGURES = (".png", ".svg", ".pdf")
TABLES = (".csv", ".npz", ".parquet", ".tsv", ".txt", ".dat")
ROBOTS = (".toml", ".urdf")

Redundancy = Literal["pseudo-inverse", "dynamic", "exact"]  # how redundant joints are used


# -- a command from its function ------------------------------------------------------------------


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for every field of its groups.

    ``Annotated[Group, "b a"]`` offers these fields of a group, in this order; a group may stand in two places, and both
    receive all of it. The options for loading a robot and for reading a motion come last.
    """
    signature = inspect.signature(command, eval_str=True)
    offered: list[tuple[Any, inspect.Parameter, Any]] = []  # group, option, and the field that declares it
    groups: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        kind, names = parameter.annotation, None
        if typing.get_origin(kind) is Annotated and dataclasses.is_dataclass(typing.get_args(kind)[0]):
            kind, names = typing.get_args(kind)
        if dataclasses.is_dataclass(kind):
            groups[parameter.name] = kind
            offered += [(kind, _option(field, kind), field) for field in _offered(kind, names)]
        elif isinstance(parameter.default, dataclasses.Field):
            parameter.default.name, parameter.default.type = parameter.name, kind
            offered.append((None, _option(parameter.default), parameter.default))
        else:
            offered.append((None, parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY), None))
    offered.sort(key=lambda entry: LAST.index(entry[0]) + 1 if entry[0] in LAST else 0)

    def run(**given: Any) -> None:
        values: dict[Any, dict[str, Any]] = {kind: {} for kind, _, _ in offered}
        for kind, parameter, field in offered:
            value = given[parameter.name]
            values[kind][parameter.name if field is None else field.name] = value
            if field is not None and declared(field).kind is None:  # else the command makes the value from it
                check_value(spelling(field), value, declared(field))
        built = {kind: kind(**own) for kind, own in values.items() if kind is not None}
        for kind, parameter, field in offered:
            other, words = ("", "") if field is None else declared(field).needs or ("", "")
            if other and given[parameter.name] != field.default and values[kind].get(other) in (None, False):
                raise DalembertError(f"{spelling(field)} {words}")
        _check_files([(field, given[parameter.name]) for _, parameter, field in offered], given.get("force", False))
        command(**values.get(None, {}), **{name: built[kind] for name, kind in groups.items()})

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = signature.replace(parameters=[x for _, x, _ in offered])  # type: ignore[attr-defined]
    run.__annotations__ = {x.name: x.annotation for _, x, _ in offered}
    return run


def _offered(group: Any, names: str | None) -> list[Any]:
    """The fields of a group that a command offers."""
    known = {field.name: field for field in fields(group)}
    offered = known.values() if names is None else [known[name] for name in names.split()]
    return [field for field in offered if declared(field).spelled is not None]


def _option(field: Any, group: Any = None) -> inspect.Parameter:
    """A field as a parameter of Typer; a flag whose default is not False can be switched off."""
    about = declared(field)
    kind, help = about.kind or field.type, about.help
    if group is not None:
        known = {x.name: x for x in fields(group)}
        help = re.sub(r"\{(\w+)\}", lambda name: spelling(known[name[1]]), help)
        if about.kind is None:
            declaring = next(x for x in group.__mro__ if field.name in inspect.get_annotations(x))
            own = {"__module__": declaring.__module__, "__annotations__": {field.name: kind}}
            kind = get_type_hints(type(group.__name__, (), own))[field.name]
    spelled = _spellings(field)
    if kind in (bool, bool | None) and field.default is not False:
        spelled = [f"{word}/--no-{word[2:]}" for word in spelled]
    further = {"metavar": about.metavar, "help": help, **about.further}
    info = typer.Argument(**further) if about.argument else typer.Option(*spelled, **further)
    longest = max(spelled, key=len).partition("/")[0].lstrip("-").replace("-", "_")
    name = field.name if about.argument else f"{longest}_" if keyword.iskeyword(longest) else longest
    default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])


def spelling(field: Any) -> str:
    """An option as it is written on the command line, by its longest name."""
    return max(_spellings(field), key=len)


def _spellings(field: Any) -> list[str]:
    return (declared(field).spelled or f"--{field.name.rstrip('_').replace('_', '-')}").split()


def _check_files(given: list[tuple[Any, Any]], force: bool) -> None:
    """Raise an error before the work if a file cannot be written, or would overwrite a file that it is made from."""
    read: list[str] = []
    written: list[tuple[Path, tuple[str, ...]]] = []
    for field, value in given:
        if field is not None and (suffixes := declared(field).writes) is not None:
            written += [(Path(value), suffixes)] if value is not None and str(value) != "-" else []
        else:
            texts = [str(x).removeprefix("task:") for x in (value if isinstance(value, list) else [value])]
            read += filter(os.path.isfile, texts)  # also that of --goal task:MOTION.csv
    for path, suffixes in written:
        if path.exists() and any(path.samefile(x) for x in read):
            raise DalembertError(f"{path}: this would overwrite the file it is made from; name another")
        if suffixes == FIGURES:
            if path.suffix.lower() not in FIGURES:
                raise DalembertError(
                    f"{path}: a figure is written as {', '.join(FIGURES)}; end the name with one of them"
                )
            need_figures(f"{path}: a figure")
        check_writable(path, overwrite=force, kinds=suffixes)


def exclude(first: str, second: str) -> DalembertError:
    """The error for two options of which only one can be given."""
    return DalembertError(f"{first} and {second} are both given; choose one")


# -- options and groups that several commands share -------------------------------------------------


def keywords(group: Any, names: str) -> dict[str, Any]:
    """The values of some options of a group, as keywords of the function that takes them under the same names."""
    return {name: getattr(group, name) for name in names.split()}


def overwriting(name: str = "") -> Any:
    """The option ``--force`` of a command that writes one file, or several."""
    return option(f"Overwrite {name} if it exists." if name else "Overwrite existing files.", False)


def written_to(name: str, what: str = "motion") -> Any:
    """The option ``--output`` of a command that writes one table, to a file or to the screen."""
    words = f"The file for the {what}: .csv, .npz or .parquet; '-' is the screen."
    return option(words, "-", spelled="--output -o", metavar=name, writes=TABLES)


def plotting(help: str, default: str | None = None, spelled: str = "", metavar: str = "OUT.png") -> Any:
    """The option ``--plot`` of a command that draws a figure."""
    return option(f"{help}: .png, .svg or .pdf.", default, spelled=spelled, metavar=metavar, writes=FIGURES)


def joint_row(help: str, letter: str = "q", spelled: str = "") -> Any:
    """An option that takes one number per joint."""
    return option(help, metavar=f'"{letter}1 … {letter}n"', spelled=spelled)


def vector(help: str, default: str | None = None, **further: Any) -> Any:
    """An option that takes a position or a direction."""
    return option(help, default, metavar='"x y z"', **further)


def common(name: str, **further: Any) -> Any:
    """An option that several commands declare alike."""
    return option(**COMMON[name], **further)


COMMON: dict[str, dict[str, Any]] = {
    "as_json": {"help": "Print the numbers as JSON, for programs.", "default": False, "spelled": "--json"},
    "capability_limits": {
        "help": "Torque (or velocity) limits: 1 for every joint, the arm's own, or numbers. Default: the arm's own, if it has them.",
        "metavar": 'unit|arm|"l1 … ln"',
    },
    "check_limits": {"help": "Exit with status 3 when the motion exceeds a limit.", "default": False},
    "cluster": {
        "help": "Work on a Dask cluster: the address of its scheduler, such as tcp://127.0.0.1:8786.",
        "metavar": "ADDRESS",
    },
    "example": {"help": "The motions of the book's example instead.", "metavar": "7.2"},
    "latex": {"help": "LaTeX (an align* of amsmath).", "default": False},
    "payload_com": {
        "help": "Its centre of mass in the tip's frame, in m.",
        "metavar": '"x y z"',
        "needs": ("payload", "gives the position of the payload, but --payload MASS is missing"),
    },
    "resume": {"help": "Deprecated and without effect: an interrupted run starts from the beginning."},
    "task": {
        "help": "Directions of the tip, like xy or 'x y z'; default: the directions of its position that the arm can move.",
        "metavar": "ROWS",
    },
    "title": {"help": "The title of the report.", "metavar": "WORDS"},
    "tolerance": {
        "help": "± share of mass, inertia, rotor, viscous or coulomb, ± m of com, or payload=0..2 kg in addition to the load of "
        "the arm and the motion: also give the margins of robots within these tolerances. May be repeated.",
        "metavar": "mass=5%",
    },
}


ArmArgument = Annotated[
    str,
    Argument(
        metavar="ARM", help="A shipped arm (see 'dalembert arms') or a robot file: .urdf, .xacro, .sdf, .toml, .xml (MJCF), or .csv (a DH table).",
        show_default=False,
    ),
]  # fmt: skip
LINES = "The motion, one line per instant."
MotionFile = Annotated[Path, Argument(metavar="MOTION.csv", help=LINES, show_default=False)]
MotionArgument = Annotated[Path | None, Argument(metavar="[MOTION.csv]", help=LINES)]
PLAYED = "Motions to play, as for 'dalembert torques'."
MotionsArgument = Annotated[list[Path] | None, Argument(metavar="[MOTION.csv]…", help=PLAYED)]


@dataclass(frozen=True)
class Loading:
    """How a robot is loaded: the options of every command that loads an arm."""

    physical: Literal["error", "warn"] = option("'warn' accepts physically impossible inertias, and warns.", "error")
    tip: str | None = option("The link whose frame is the end effector.", metavar="LINK")
    lock: list[str] | None = option("Hold a joint at a position (rad, m); may be repeated.", metavar="JOINT=POSITION")
    root: str | None = option("The new base link; with --tip, only the joints between the two move.", metavar="LINK")
    convention: Literal["standard", "modified"] | None = option("The convention of a DH table that does not state it.")
    density: str | None = option(
        "Links without a mass get the mass of their shapes: 2700, aluminium, '2.7 g/cm3'.", metavar="KG/M3|MATERIAL"
    )
    arguments: list[str] | None = option(
        "A value for $(arg NAME) of a .xacro file; may be repeated.", spelled="--argument", metavar="NAME=VALUE"
    )
    snap: float | None = option("Angles this close to right angles are made exact: 1e-5 for 1.5708.", metavar="RAD")

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of :func:`dalembert.load`."""
        locked = pairs_of("--lock", self.lock, "a joint and a position, like finger_joint=0.02", last=True)
        positions = {joint: list_of(f"--lock {joint}=", values) for joint, values in locked.items()}
        words = pairs_of("--argument", self.arguments, "a name and a value, like name=ur5e", empty=True)
        return dataclasses.asdict(self) | {"lock": positions, "arguments": words}


@dataclass(frozen=True)
class Reading:
    """How a motion is read: the options of every command that reads one."""

    interpolation: Literal["auto", "spline", "monotone"] = option(
        "How missing velocities are computed: by a spline, or by a monotone curve, which stays between the samples; "
        "'auto': the spline, unless it moves a joint that is at rest in the samples.",
        "auto",
    )
    cutoff: float | None = option("Low-pass filter for a measured motion, without phase shift.", metavar="HZ")
    column: list[str] | None = option(
        "The name of t, q, qd, qdd or tau in the motion, or its columns from 0: q=1:7.", metavar="q=NAME"
    )
    unit: list[str] | None = option("The unit of t, q, qd, qdd or tau in the motion: q=deg, t=ms.", metavar="q=UNIT")

    @property
    def choices(self) -> dict[str, Any]:
        """The keywords of :func:`dalembert.read_trajectory`."""
        columns, units = pairs_of("--column", self.column), pairs_of("--unit", self.unit, "KEY=VALUE, such as q=deg")
        return {"interpolation": self.interpolation, "cutoff": self.cutoff, "columns": columns, "units": units}


LAST = (Loading, Reading)  # groups whose options end the help of a command


@dataclass(frozen=True)
class LogReading:
    """How the columns of a log are read."""

    column: list[str] | None = option(
        "The name of t, q, qd, tau or current in the log, or its columns from 0: q=1:7.", metavar="q=NAME"
    )
    unit: list[str] | None = option("The unit of t, q, qd, tau or current: q=deg, t=ms, current=mA.", metavar="q=UNIT")
    joints: str | None = option("The arm's joints in the order of the log's columns.", metavar='"j1 j2 …"')
    topic: str | None = option("Which JointState messages of a ROS log to read.")
    episodes: str | None = option("Episodes of a LeRobot dataset, such as 0:5 (0 to 4) or 1,4:6.", metavar="0:5")
    gains: str | None = option("Drive gains (N m/A): torque is current times these.", metavar='"k1 k2 …"')
    gears: str | None = option("Gear ratios, or the n×n matrix row by row.", metavar='"g1 g2 …"')
    motor_side: str | None = option("The columns measured on the motor side.", metavar="q,qd,tau")
    time_unit: str | None = option("s, ms, us or ns.")
    rate: float | None = option("Samples per second of a log without time stamps, such as 500.", metavar="HZ")

    def keywords(self, n: int) -> dict[str, Any]:
        """The keywords of :func:`read_log` for n joints: only those given, so that the log's own information holds otherwise."""
        ratios = list_of("--gears", self.gears or "")
        reading = {
            "columns": pairs_of("--column", self.column) or None, "time_unit": self.time_unit,
            "gains": None if self.gains is None else list_of("--gains", self.gains),
            "gears": [ratios[k * n : k * n + n] for k in range(n)] if len(ratios) == n * n else ratios or None,
            "motor_side": tuple(self.motor_side.replace(",", " ").split()) if self.motor_side else None,
            "units": pairs_of("--unit", self.unit, "KEY=VALUE, such as q=deg") or None, "topic": self.topic, "rate": self.rate, "episodes": self.episodes,
            "joint_names": self.joints.replace(",", " ").split() if self.joints else None,
        }  # fmt: skip
        return {key: value for key, value in reading.items() if value is not None}


@dataclass(frozen=True)
class Load:
    """What the arm carries and exerts at its tip, and its limits; each command offers some of these."""

    limits: str | None = option(
        'Limits instead of the robot\'s: a .toml or .csv file, or text like "effort: 87 87 12; velocity: 2".',
        metavar="LIMITS",
    )
    tip_wrench: str | None = option(
        "Constant force (N) and moment (N m) exerted by the tip on its environment, in base axes.",
        metavar='"fx fy fz mx my mz"',
    )
    payload: float | None = option("Mass held at the tip, in kg.", metavar="MASS")
    payload_com: str | None = common("payload_com")

    @property
    def wrench(self) -> tuple[float, ...] | None:
        """The wrench at the tip."""
        if self.tip_wrench is None:
            return None
        from dalembert.base.files.file_bounds import check_size

        wrench = numbers_of("--tip-wrench", self.tip_wrench, "fx fy fz mx my mz")
        for value in wrench:
            check_size("--tip-wrench", value)
        return wrench


Payload = Annotated[Load, "payload payload_com"]
Limited = Annotated[Load, "limits payload payload_com"]
AtTip = Annotated[Load, "tip_wrench payload payload_com"]


@dataclass(frozen=True)
class ReportHeading:
    """The heading of a report."""

    author: str | None = option("The author of the report, shown under its title.", metavar="NAME")
    title: str | None = common("title")
    note: str | None = option("An introductory note at the top of the report.", metavar="WORDS")
    date: str = option("The date in the report: 'today', 'none' or any other text.", "today", metavar="WORDS")

    @property
    def heading(self) -> dict[str, str | None]:
        """The keywords of a report."""
        return {"author": self.author, "title": self.title, "note": self.note, "date": date_of(self.date)}


# -- values -----------------------------------------------------------------------------------------


def pairs_of(
    option: str,
    given: list[str] | None,
    what: str = "KEY=VALUE, such as q=q_mot",
    *,
    last: bool = False,
    empty: bool = False,
) -> dict[str, str]:
    """A list of KEY=VALUE as a dict, each key once.

    last   whether the key ends at the last "=", not at the first
    empty  whether a value may be empty
    """
    out: dict[str, str] = {}
    for word in given or []:
        key, equals, value = (part.strip() for part in (word.rpartition("=") if last else word.partition("=")))
        if not (equals and key and (value or empty)):
            raise DalembertError(f'{option} "{word}" must be {what}')
        if key in out:
            raise DalembertError(f"{option} gives {key} twice, as {out[key]} and as {value}; give it once")
        out[key] = value
    return out


def check_resume(resume: bool | None) -> None:
    """Say that ``--resume`` and ``--no-resume`` have no effect any more."""
    if resume is not None:
        say("note", "--resume and --no-resume have no effect since version 1.1, and will be removed in version 2")


def load(arm: str, loading: Loading | None = None, tip: Load | None = None) -> da.Arm:
    """The arm, with its payload at the tip and the given limits, and with its warnings printed as sentences on stderr."""
    from dalembert.robot.model.robot_notes import PRINTED, notes_on

    tip = tip or Load()
    com = vector_of("--payload-com", tip.payload_com) or (0.0, 0.0, 0.0)
    with saying_warnings():
        loaded = da.load(arm, **(loading or Loading()).keywords)
    say("note", *notes_on(loaded.robot.notes, PRINTED))
    if tip.payload is not None:
        loaded = loaded.with_payload(tip.payload, com)
    if tip.limits is not None:
        from dalembert.robot.readers.limits_file import with_limits

        loaded = da.Arm(with_limits(loaded.robot, tip.limits))
    return loaded


def tell_numbers(arm: da.Arm) -> None:
    """Print the number of each joint in the names of parameters, if it differs from its number in q."""
    if arm.passive_names:
        from dalembert.views.report.identification import numbering

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


def vector_of(option: str, text: str | None) -> tuple[float, ...] | None:
    """The three numbers in an option's value, if it is given."""
    return None if text is None else numbers_of(option, text, "x y z")


def row_of(option: str, text: str, letter: str, count: int) -> tuple[float, ...]:
    """The numbers in an option's value with one entry per joint, named ``letter``1, ``letter``2, …, ``letter``count."""
    return numbers_of(option, text, " ".join(f"{letter}{k + 1}" for k in range(count)))


def tolerances_of(texts: list[str] | None) -> da.Tolerances | None:
    """The value of ``--tolerance``, given once or several times."""
    if not texts:
        return None
    from dalembert.work.sizing.monte_carlo import LENGTHS, PAYLOAD, SHARES

    values: dict[str, Any] = {}
    known = (*SHARES, *LENGTHS, *PAYLOAD)
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
            scaled = [scale * x for x in list_of(f"--tolerance {name}", given.replace("%", " "))]
            values[name] = scaled if len(scaled) > 1 else scaled[0] if scaled else given
    if "payload" in values:
        say("note", "the payload of --tolerance is held in addition to that of the arm and of the motion")
    return da.Tolerances(**values)


def need_figures(what: str) -> None:
    """Raise an error before the work if ``what`` cannot be drawn because Matplotlib is not installed."""
    with extra("plot", what):
        import matplotlib  # noqa: F401


def save_plot(figure: Figure, path: str, *, force: bool, announced: bool = True) -> None:
    """Write the figure atomically."""
    with whole_binary_file(path, overwrite=force) as file:
        figure.savefig(file, format=Path(path).suffix[1:].lower(), dpi=160)
    if announced:
        tell(f"the figure is in {plain(path)}", stderr=True)
