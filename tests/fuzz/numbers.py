"""Numbers at the edge, in every numeric place: of command lines, and of the files that commands read.

A case is a command with one number replaced, either in its line or in one of its files. It holds if the command ends in
an answer of finite numbers, or in one sentence; in ``HUNG`` seconds, without an exception and without a warning of NumPy.
"""

from __future__ import annotations

import random
import re
import resource
import shlex
import signal
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from typer.testing import CliRunner

import dalembert as da
from dalembert.views.cli.main import app
from fuzz.targets import LIMITS, MJCF, SDF

VALUES = ("1e-308", "1e-160", "1e-39", "1e-9", "0", "1e9", "1e39", "1e160", "1e308", "-1e308", "nan", "inf", "-inf")
HUNG = 10.0  # s of processor time
T = TypeVar("T")
ADDRESSES = 4 << 30  # bytes of address space that a command may take beyond what the process has
DRIVES = Path(__file__).parents[2] / "examples" / "drives"
_NUMBER = re.compile(r"(?<![\w.#-])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")
# numbers in tables, in generated code and in JSON
_NOT_FINITE = re.compile(
    r"(?<![A-Za-z_])(?:nan|inf|Infinity)(?![A-Za-z_])|(?<=[\s:,\[])NaN(?=[,\]}\n])|\(0\.0f? / 0\.0"
)

# a robot with every number that a TOML file can hold
ROBOT = """
name = "two"
convention = "standard"
gravity = [0.0, -9.81, 0.5]
[[joint]]
a = 1.0
d = 0.1
alpha = 0.0
theta = 0.3
mass = 1.0
com = [-0.5, 0.1, 0.2]
inertia = { xx = 0.5, yy = 0.6, zz = 0.7, xy = 0.01 }
rotor = { inertia = 0.01, gear = 100.0, mass = 1.5 }
friction = { viscous = 0.3, coulomb = 0.4, spring = { stiffness = 0.7, rest = 0.5 } }
limits = { lower = -3.0, upper = 3.0, velocity = 2.0, effort = 900.0, acceleration = 9.0 }
[[joint]]
a = 0.8
mass = 0.5
com = [-0.4, 0.0, 0.0]
limits = { lower = -2.5, upper = 2.5, velocity = 3.0, effort = 400.0, acceleration = 9.0 }
[tip]
xyz = [0.1, 0.0, 0.2]
[payload]
mass = 0.2
com = [0.0, 0.1, 0.0]
"""

DH = "a,d,mass,cx,Izz,effort,velocity,acceleration\n0.5,0.1,1,0.1,0.2,90,3,9\n0.4,0.2,0.5,0.1,0.2,40,3,9\n"

# command lines, whose numbers are replaced; OUT is a file to write, the others are those of :func:`files`
LINES = (
    "plan two.toml --from '0 0' --to '1 1' --via '0.5 0.2' --hold 0.1 --payload 2 --payload-com '0 0 0.1' -o OUT.csv",
    "plan two.toml --from '0.1 0.2' --to '1 -1' --duration 2 --acceleration-time 0.5 --back --repeat 3 --rate 50 -o OUT.csv",
    "plan planar-2r --from '0.3 0.8' --circle '1 1 0' --angle 20 --normal '0 0 1' --duration 3 -o OUT.csv",
    "plan planar-2r --from '0.3 0.8' --line '1.2 1.1 0' --limits 'effort: 900 500; velocity: 2; acceleration: 9' -o OUT.csv",
    "plan planar-2r --from-position '1.2 0.5 0' --to-position '0.5 1.2 0' --profile quintic -o OUT.csv",
    "scale two.toml motion.csv --payload 2 --payload-com '0 0 0.1' -o OUT.csv",
    "scale two.toml motion.csv --limits 'effort: 900 500; velocity: 2; acceleration: 9' --faster --rate 50 -o OUT.csv",
    "scale two.toml motion.csv --time-optimal --duration 9 -o OUT.csv",
    "torques two.toml motion.csv --tip-wrench '1 2 3 4 5 6' --payload 2 --payload-com '0 0 0.1' -o OUT.csv",
    "torques two.toml motion.csv --scaling '1 2' -o OUT.csv",
    "simulate two.toml --q '0.1 0.2' --qd '0 1' --torque '1 2' --duration 0.05 --step 0.001 --every 5 -o OUT.csv",
    "simulate two.toml --follow motion.csv --control pd --kp '90 40' --kd 9 --rate 500 --delay 0.001 --duration 0.05 -o OUT.csv",
    "simulate two.toml --follow motion.csv --control adaptive --kd 9 --lambda 5 --gamma 1 --duration 0.05 -o OUT.csv",
    "simulate two.toml --q '0.1 0.2' --duration 0.05 --restitution 0.5 --tip-wrench '1 2 3 4 5 6' --payload 2 -o OUT.csv",
    "simulate two.toml --follow motion.csv --rate 500 --encoder 4096 --velocity-filter 50 --duration 0.05 -o OUT.csv",
    "report two.toml motion.csv --payload 2 --limits 'effort: 900 500' --tip-wrench '1 2 3 4 5 6' -o OUT.html",
    "page two.toml motion.csv --payload 2 --payload-com '0 0 0.1' --limits 'effort: 900 500; velocity: 3' -o OUT.html",
    "size two.toml motion.csv --motors motors.csv --gears gears.csv --margin 0.2 --life 9000 --inertia-ratio 8 --json",
    "size two.toml motion.csv --motors motors.csv --gears gears.csv --brake-factor 1.5 --payload 0.3 --json",
    "ellipsoid two.toml --q '0.3 0.8' --limits '90 40' --json",
    "map two.toml --poses 300 --cells 10 --seed 3 --limits '90 40' -o OUT.png",
    "inverse-kinematics two.toml --position '0.9 0.8 0.3' --q '0.1 0.2' --solutions 2",
    "inverse-kinematics puma560 --position '0.4 0.2 0.3' --rpy '0 180 10' --deg --solutions 1",
    "inverse-kinematics puma560 --position '0.4 0.2 0.3' --axis '0 0 -1' --solutions 1",
    "couplings two.toml --q '0.3 0.8'",
    "parameters two.toml --payload 2 --payload-com '0 0 0.1'",
    "equations two.toml --text --payload 2",
    "emit two.toml forward_dynamics --payload 2 --payload-com '0 0 0.1'",
    "emit two.toml inverse_dynamics --single --payload 2",
    "approximate two.toml motion.csv --small 0.01 --payload 2 -o OUT.csv",
    "excite pendulum --duration 2 --harmonics 2 --frequency 0.5 --starts 1 --rate 20 --no-floor --share 0.9 --start 0.1 -o OUT.csv",
    "excite planar-2r --duration 2 --harmonics 2 --starts 1 --clearance 0.1 --plane '0 1 0 -3' --limits 'velocity: 2' -o OUT.csv",
    "identify planar-2r log.csv --no-selection --cutoff 9 --decimate 2 --edge 0.05 --dead-zone 0.01 --hold-out 0.2",
    "identify planar-2r log.csv --no-selection --method damped --damping 0.1 --cutoff 9",
    "payload planar-2r log.csv loaded.csv --arm-deviation 0.1 --cutoff 9",
    "show two.toml --lock joint2=0.5 --json",
)  # fmt: skip

ON_ROBOTS = (
    "show FILE --json", "torques FILE motion.csv -o OUT.csv", "plan FILE --from '0 0' --to '1 0.5' -o OUT.csv",
    "scale FILE motion.csv -o OUT.csv", "scale FILE motion.csv --time-optimal -o OUT.csv",
    "simulate FILE --duration 0.01 -o OUT.csv", "page FILE -o OUT.html",
    "ellipsoid FILE --q '0.3 0.8' --limits arm --json", "parameters FILE", "couplings FILE", "equations FILE --text",
    "inverse-kinematics FILE --position '0.5 0.5 0.3' --task position", "emit FILE forward_dynamics",
    "identify FILE log.csv --no-selection", "map FILE --poses 300 --cells 10 -o OUT.png",
)  # fmt: skip
ON_MOTIONS = (
    "torques two.toml FILE -o OUT.csv", "scale two.toml FILE -o OUT.csv", "scale two.toml FILE --time-optimal -o OUT.csv",
    "page two.toml FILE -o OUT.html", "approximate two.toml FILE -o OUT.csv",
    "simulate two.toml --follow FILE -o OUT.csv",
    "size two.toml FILE --motors motors.csv --gears gears.csv --json",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """Files of one kind: one whose numbers are replaced, as text or as a name, and commands that read it as FILE."""

    suffix: str
    source: str
    lines: tuple[str, ...]

    def text(self, folder: Path) -> str:
        """Its text."""
        path = folder / self.source if len(self.source) < 40 else None
        return self.source if path is None else path.read_text(encoding="utf-8")


SIZE = "size two.toml motion.csv --json --motors"
KINDS = {
    "robot toml": Kind(".toml", "two.toml", ON_ROBOTS),
    "robot urdf": Kind(".urdf", "two.urdf", ON_ROBOTS),
    "robot mjcf": Kind(".xml", MJCF[0], ON_ROBOTS),
    "robot sdf": Kind(".sdf", SDF, ("show FILE --json", "page FILE -o OUT.html", "parameters FILE")),
    "dh table": Kind(".csv", DH, ON_ROBOTS),
    "motion": Kind(".csv", "motion.csv", ON_MOTIONS),
    "log": Kind(".csv", "log.csv", ("identify planar-2r FILE --no-selection", "payload planar-2r FILE loaded.csv", "simulate planar-2r --torque FILE --duration 0.1 -o OUT.csv")),
    "points": Kind(".csv", "points.csv", ("plan planar-2r --points FILE -o OUT.csv",)),
    "motors": Kind(".csv", "motors.csv", (f"{SIZE} FILE --gears gears.csv",)),
    "gears": Kind(".csv", "gears.csv", (f"{SIZE} motors.csv --gears FILE",)),
    "limits": Kind(".toml", LIMITS[".toml"][0].decode().replace("10", "90"), (
        "plan two.toml --from '0 0' --to '1 1' --limits FILE -o OUT.csv", "scale two.toml motion.csv --limits FILE -o OUT.csv",
    )),
}  # fmt: skip


def write_files(folder: Path) -> None:
    """The files that the command lines name."""
    (folder / "two.toml").write_text(ROBOT)
    da.load(folder / "two.toml").save(folder / "two.urdf")
    arm, t = da.load("planar-2r"), np.linspace(0.0, 4.0, 401)
    q, qd, qdd = da.polynomial([0.1, 0.2], [0.9, -0.5], 4.0)(t)
    torques = [robot.inverse_dynamics(q, qd, qdd) for robot in (arm, arm.with_payload(2.0))]
    for name, last, columns in (
        ("motion", qdd, "qdd1,qdd2"),
        ("log", torques[0], "tau1,tau2"),
        ("loaded", torques[1], "tau1,tau2"),
    ):
        rows = np.column_stack([t, q, qd, last])[:: 20 if name == "motion" else 1]
        lines = [",".join(f"{x:.6g}" for x in row) for row in rows]
        (folder / f"{name}.csv").write_text("\n".join([f"t,q1,q2,qd1,qd2,{columns}", *lines]) + "\n")
    (folder / "points.csv").write_text("q1,q2,hold,payload\n0,0,0.1,1\n0.5,0.4,0.2,2\n1,1,0,0\n")
    for name in ("motors.csv", "gears.csv"):
        lines = (DRIVES / name).read_text(encoding="utf-8").splitlines()
        (folder / name).write_text("\n".join([*lines[:2], *lines[-4:]]) + "\n", encoding="utf-8")


def replaced(text: str, place: int, value: str) -> str:
    """The text with the number at a place replaced."""
    spot = list(_NUMBER.finditer(text))[place]
    return text[: spot.start()] + value + text[spot.end() :]


def places(text: str) -> int:
    """The number of places with a number."""
    return len(_NUMBER.findall(text))


def cases(line: str) -> list[str]:
    """The command line with every number replaced by every value."""
    return [replaced(line, place, value) for place in range(places(line)) for value in VALUES]


def file_cases(kind: Kind, text: str) -> list[tuple[str, int, str]]:
    """Every command that reads the file, with every place of a number and every value."""
    return [(line, place, value) for place in range(places(text)) for value in VALUES for line in kind.lines]


def chosen(every: Sequence[T], count: int | None, seed: str) -> Sequence[T]:
    """So many cases, the same for the same seed; all for None."""
    return every if count is None or count >= len(every) else random.Random(seed).sample(every, count)


class _Hung(BaseException):
    pass


def _hung(*_: object) -> None:
    raise _Hung


@contextmanager
def bounded() -> Iterator[None]:
    """A bound on processor time and on memory for one command."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGPROF, _hung)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ADDRESSES, hard))
    signal.setitimer(signal.ITIMER_PROF, HUNG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, handler)


def finding(
    folder: Path, line: str, content: str | None = None, suffix: str = "", *, refused: bool = True
) -> str | None:
    """What is wrong with a command's answer, or None; it may be ``refused`` in a sentence."""
    named = {path.name: str(path) for path in folder.iterdir()}
    if content is not None:
        named["FILE"] = str(folder / f"changed{suffix}")
        Path(named["FILE"]).write_text(content, encoding="utf-8")
    words = [named.get(word, str(folder / word) if word.startswith("OUT") else word) for word in shlex.split(line)]
    written = [Path(word) for word in words if Path(word).name.startswith("OUT")]
    for path in written:
        path.unlink(missing_ok=True)
    try:
        with bounded(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = CliRunner(env={"COLUMNS": "200"}).invoke(app, words)
    except _Hung:
        return f"takes more than {HUNG:g} s of processor time"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        frames = [f for f in traceback.extract_tb(result.exception.__traceback__) if "/dalembert/" in f.filename]
        at = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        return f"{type(result.exception).__name__} at {at}: {str(result.exception)[:100]}"
    said = [row for row in result.stderr.splitlines() if not row.startswith(("warning: ", "note: "))]
    if result.exit_code == 2 and refused:
        return None if len(said) == 1 and said[0].startswith("error: ") else f"no sentence: {result.stderr[:200]!r}"
    if result.exit_code not in (0, 3):
        return f"exit status {result.exit_code}: {result.stderr[:200]!r}"
    text = [result.stdout, *(path.read_text(encoding="utf-8") for path in written if path.suffix in (".csv", ".json") and path.exists())]  # fmt: skip
    if (word := _NOT_FINITE.search(" ".join([*text, *said]))) is not None:
        whole = " ".join([*text, *said])
        return f"not finite: {whole[max(0, word.start() - 60) : word.end() + 20]!r}"
    if numeric := [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]:
        return f"RuntimeWarning: {numeric[0]}"
    return None
