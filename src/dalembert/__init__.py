"""dalembert: compiled manipulator dynamics for Python, with exact torques for any arm.

>>> import dalembert as da
>>> arm = da.load("panda")
>>> tau = arm.inverse_dynamics([0.0] * 7, [0.0] * 7, [0.0] * 7)
>>> tau.shape
(7,)
"""

from __future__ import annotations

from dalembert import errors as errors
from dalembert.base.bibliography import introduction as _introduction
from dalembert.base.environment.version import __version__ as __version__
from dalembert.compiler.kernel import forks as _forks  # noqa: F401

__doc__ = f"{__doc__}\n{_introduction()} Their equations are cited as S (7.42) and M (2.11).\n"

TYPE_CHECKING = False  # not typing.TYPE_CHECKING: nothing is imported, so that the command starts quickly
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Any, Literal

    from dalembert.arm import Arm as Arm
    from dalembert.compiler.kernel.cache import CacheWarning as CacheWarning
    from dalembert.errors import ClosureError as ClosureError
    from dalembert.errors import DalembertError as DalembertError
    from dalembert.errors import LimitError as LimitError
    from dalembert.errors import MissingExtraError as MissingExtraError
    from dalembert.errors import PathError as PathError
    from dalembert.errors import RobotError as RobotError
    from dalembert.errors import ShapeError as ShapeError
    from dalembert.errors import SimulationError as SimulationError
    from dalembert.errors import SingularInertiaError as SingularInertiaError
    from dalembert.errors import SingularityError as SingularityError
    from dalembert.robot import Coupling as Coupling
    from dalembert.robot import Frame as Frame
    from dalembert.robot import Friction as Friction
    from dalembert.robot import Gear as Gear
    from dalembert.robot import Inertia as Inertia
    from dalembert.robot import Joint as Joint
    from dalembert.robot import Limits as Limits
    from dalembert.robot import Link as Link
    from dalembert.robot import Loop as Loop
    from dalembert.robot import Motor as Motor
    from dalembert.robot import Placement as Placement
    from dalembert.robot import Robot as Robot
    from dalembert.robot import Rotor as Rotor
    from dalembert.robot import Shape as Shape
    from dalembert.robot.drives.catalogue import read_gears as read_gears
    from dalembert.robot.drives.catalogue import read_motors as read_motors
    from dalembert.robot.model.plausibility import ModelWarning as ModelWarning
    from dalembert.robot.model.plausibility import PhysicalWarning as PhysicalWarning
    from dalembert.views.report.report_page import write_report as write_report
    from dalembert.views.report.study import study as study
    from dalembert.views.web.live_page import write_page as write_page
    from dalembert.work.analysis.workspace import workspace_map as workspace_map
    from dalembert.work.excitation.excitation import excite as excite
    from dalembert.work.fits.fit_comparison import compare_fits as compare_fits
    from dalembert.work.fits.fit_record import FitRecord as FitRecord
    from dalembert.work.fits.fit_record import read_fit as read_fit
    from dalembert.work.identification.fitting.fit import IdentificationWarning as IdentificationWarning
    from dalembert.work.identification.fitting.fit import identify as identify
    from dalembert.work.identification.fitting.fit_options import EstimatorOptions as EstimatorOptions
    from dalembert.work.identification.fitting.fit_options import FilterOptions as FilterOptions
    from dalembert.work.identification.fitting.fit_options import LoopOptions as LoopOptions
    from dalembert.work.identification.fitting.fit_options import ModelOptions as ModelOptions
    from dalembert.work.identification.fitting.fit_options import SelectionOptions as SelectionOptions
    from dalembert.work.identification.fitting.fit_options import ValidationOptions as ValidationOptions
    from dalembert.work.identification.fitting.parameter_set import ParameterSet as ParameterSet
    from dalembert.work.payload.payload import identify_payload as identify_payload
    from dalembert.work.simulation.controllers import PD as PD
    from dalembert.work.simulation.controllers import Adaptive as Adaptive
    from dalembert.work.simulation.controllers import ComputedTorque as ComputedTorque
    from dalembert.work.simulation.controllers import Feedforward as Feedforward
    from dalembert.work.simulation.recorded import RecordedTorque as RecordedTorque
    from dalembert.work.simulation.recorded import read_torques as read_torques
    from dalembert.work.simulation.sensitivity import gradient as gradient
    from dalembert.work.simulation.servo import Servo as Servo
    from dalembert.work.simulation.simulate import simulate as simulate
    from dalembert.work.sizing.drive_selection import select_drives as select_drives
    from dalembert.work.sizing.monte_carlo import MonteCarlo as MonteCarlo
    from dalembert.work.sizing.monte_carlo import Tolerances as Tolerances
    from dalembert.work.sizing.monte_carlo import monte_carlo as monte_carlo
    from dalembert.work.sizing.sizing import size as size
    from dalembert.work.tip.controller import OperationalController as OperationalController
    from dalembert.work.tip.controller import Wall as Wall
    from dalembert.work.trajectory.kinematics.configurations import inverse_kinematics as inverse_kinematics
    from dalembert.work.trajectory.planning.cartesian import circle as circle
    from dalembert.work.trajectory.planning.cartesian import line as line
    from dalembert.work.trajectory.planning.events import PayloadEvent as PayloadEvent
    from dalembert.work.trajectory.planning.events import WrenchEvent as WrenchEvent
    from dalembert.work.trajectory.planning.joined import join as join
    from dalembert.work.trajectory.planning.monotone import InterpolationWarning as InterpolationWarning
    from dalembert.work.trajectory.planning.motion_doubts import MotionWarning as MotionWarning
    from dalembert.work.trajectory.planning.motion_file import read_trajectory as read_trajectory
    from dalembert.work.trajectory.planning.profiles import fourier as fourier
    from dalembert.work.trajectory.planning.profiles import polynomial as polynomial
    from dalembert.work.trajectory.planning.profiles import trapezoidal as trapezoidal
    from dalembert.work.trajectory.planning.profiles import triangular as triangular
    from dalembert.work.trajectory.planning.splines import spline as spline
    from dalembert.work.trajectory.planning.trajectory import Trajectory as Trajectory

# names that are imported on first use, by module: the same list as above, which is for type checkers
_LATER = {
    name: module
    for module, names in {
        "work.sizing.monte_carlo": "MonteCarlo Tolerances monte_carlo",
        "work.sizing.drive_selection": "select_drives",
        "work.sizing.sizing": "size",
        "work.simulation.sensitivity": "gradient",
        "work.simulation.servo": "Servo",
        "work.analysis.workspace": "workspace_map",
        "arm": "Arm",
        "work.fits.fit_comparison": "compare_fits",
        "work.excitation.excitation": "excite",
        "work.identification.fitting.fit": "IdentificationWarning identify",
        "work.identification.fitting.fit_options": "EstimatorOptions FilterOptions LoopOptions ModelOptions SelectionOptions ValidationOptions",
        "work.identification.fitting.parameter_set": "ParameterSet",
        "work.payload.payload": "identify_payload",
        "work.fits.fit_record": "FitRecord read_fit",
        "compiler.kernel.cache": "CacheWarning",
        "errors": "ClosureError DalembertError LimitError MissingExtraError PathError RobotError ShapeError SimulationError "
        "SingularInertiaError SingularityError",
        "views.report.report_page": "write_report",
        "views.report.study": "study",
        "robot": "Coupling Frame Friction Gear Inertia Joint Limits Link Loop Motor Placement Robot Rotor Shape",
        "robot.drives.catalogue": "read_gears read_motors",
        "robot.model.plausibility": "ModelWarning PhysicalWarning",
        "work.simulation.controllers": "PD Adaptive ComputedTorque Feedforward",
        "work.simulation.recorded": "RecordedTorque read_torques",
        "work.simulation.simulate": "simulate",
        "work.tip.controller": "OperationalController Wall",
        "work.trajectory.planning.cartesian": "circle line",
        "work.trajectory.kinematics.configurations": "inverse_kinematics",
        "work.trajectory.planning.motion_file": "read_trajectory",
        "work.trajectory.planning.events": "PayloadEvent WrenchEvent",
        "work.trajectory.planning.joined": "join",
        "work.trajectory.planning.motion_doubts": "MotionWarning",
        "work.trajectory.planning.monotone": "InterpolationWarning",
        "work.trajectory.planning.profiles": "fourier polynomial trapezoidal triangular",
        "work.trajectory.planning.splines": "spline",
        "work.trajectory.planning.trajectory": "Trajectory",
        "views.web.live_page": "write_page",
    }.items()
    for name in names.split()
}

__all__ = sorted((*_LATER, "arms", "from_dh", "load"))


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'dalembert' has no attribute '{name}'{_elsewhere(name)}")
    from importlib import import_module

    globals()[name] = value = getattr(import_module(f"dalembert.{_LATER[name]}"), name)
    return value


def _elsewhere(name: str) -> str:
    """A hint for a name that is not found here: it may be a method of an arm or of a motion."""
    if name.startswith("_"):
        return ""
    from dalembert.arm import Arm
    from dalembert.arm.names import OTHER_NAMES
    from dalembert.work.trajectory.planning.trajectory import Trajectory

    if name in OTHER_NAMES:
        return f"; use {OTHER_NAMES[name]}"

    for owner, example in ((Arm, "arm = dalembert.load('panda'); arm"), (Trajectory, "motion")):
        if hasattr(owner, name):
            return f"; it is a method of {'an arm' if owner is Arm else 'a motion'}: {example}.{name}(…)"
    return ""


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__", *(name for name in globals() if name.startswith("__"))})


def arms() -> list[str]:
    """The names of the shipped arms.

    >>> "puma560" in arms()
    True
    """
    from dalembert.robot.readers.load import arms as shipped

    return shipped()


def load(
    source: str | os.PathLike[str] | Robot,
    *,
    physical: Literal["error", "warn"] = "error",
    tip: str | None = None,
    lock: Mapping[str, Any] | None = None,
    root: str | None = None,
    convention: Literal["standard", "modified"] | None = None,
    density: float | str | None = None,
    arguments: Mapping[str, Any] | None = None,
    snap: float | None = None,
) -> Arm:
    """A shipped arm by name, or an arm from a file: .urdf, .xacro, .sdf, .toml, .xml (MJCF), or a DH table (.csv, .xlsx).

    physical    "warn" loads a robot with a physically impossible inertia, with a warning instead of an error
    tip         the link whose frame is the end effector; default: the choice of the file
    lock        joints that are held fixed, and their positions (rad or m)
    root        the link that becomes the base: the arm consists of the links that it carries. Together with ``tip``,
                the arm is the chain between the two, and joints outside the chain are held fixed
    convention  of a DH table, if the file does not state it
    density     kg/m³, or a material such as "aluminium": links without a mass get the mass of their shapes
    arguments   of a .xacro file: values for the arguments that it reads by $(arg NAME)
    snap        rad: angles this close to right angles are made exact, such as 1e-5 for π/2 written as 1.5708

    >>> load("panda")
    <Arm 'panda': 7 joints>
    >>> load("panda", lock={"panda_joint3": 0.0}, root="panda_link1", tip="panda_link6").joint_names
    ('panda_joint2', 'panda_joint4', 'panda_joint5', 'panda_joint6')
    """
    from dalembert.arm import Arm
    from dalembert.robot import Robot
    from dalembert.robot.readers.load import load_robot, part_of

    options: dict[str, Any] = {"convention": convention, "density": density, "arguments": arguments, "snap": snap}
    if not isinstance(source, Robot):
        return Arm(load_robot(source, physical=physical, tip=tip, lock=lock, root=root, **options))
    if unused := [name for name, value in options.items() if value is not None]:
        raise errors.RobotError(
            f"{unused[0]} applies to reading a file, but robot '{source.name}' has already been read; leave it out"
        )
    robot = source if tip is None else source.with_tip(tip)
    return Arm(part_of(robot, f"robot '{robot.name}'", lock=lock, root=root, chain=tip is not None))


def from_dh(rows: Any, convention: Literal["standard", "modified"] = "standard", **fields: Any) -> Arm:
    """An arm from rows of a Denavit–Hartenberg table; docs/robot-files.md lists a row's keys.

    >>> arm = from_dh([{"a": 1.0, "mass": 2.0, "com": (-0.5, 0, 0)}], gravity=(0, -9.81, 0))
    >>> arm.gravity_torque([0.0]).round(3)
    array([9.81])
    """
    from dalembert.arm import Arm
    from dalembert.robot.model.plausibility import check
    from dalembert.robot.readers.dh import from_dh as robot_from_dh
    from dalembert.robot.readers.vendor_files import with_known_limits

    remedy = 'mark the row of a link that was published like this with "physical": False'
    return Arm(with_known_limits(check(robot_from_dh(rows, convention, **fields), remedy=remedy)))
