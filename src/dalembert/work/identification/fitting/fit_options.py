"""The options of an identification, in six groups; what is not given is chosen by the selection or takes its plain value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from dalembert.base.deprecation import warn_of_choice
from dalembert.base.environment.short_repr import record
from dalembert.base.options import FLAG, Allowed, check, checked, documented, is_number, is_whole, one_of, option
from dalembert.base.wording import nearest
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.arm import Arm
    from dalembert.robot.model.inertia import Inertia
    from dalembert.work.logs.log import Source
    from dalembert.work.simulation.controllers import Controller

CHOICES = ("friction", "offset", "spring", "ripple", "coupling", "estimator")  # that a selection can make
FORMER_CHOICES = ("cutoff",)  # that version 1.0 made: it follows from the motion now
READING = ("columns", "gains", "gears", "motor_side", "time_unit", "rate", "units", "joint_names", "topic", "episodes")
METHODS = ("ordinary", "weighted", "reweighted", "robust", "energy", "damped", "sequential", "total")
LONGEST_LAG = 0.5  # s: longest delay of the torques by a filter or a bus
MOST_DAMPING = 1e100  # its square, which is added to the equations, is finite
MOST_FOLDS = 50  # each of which repeats the identification
MOST_DEVIATION = 1e3  # largest relative deviation of a prior


def _is_arm(value: Any) -> bool:
    from dalembert.arm import Arm

    return isinstance(value, Arm)


def _are_choices(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str) and all(name in CHOICES for name in value)


@documented
@record
class ModelOptions:
    """The torques that are identified besides those of the links; ``None`` leaves the choice to the selection.

    >>> ModelOptions(friction=("viscous",), coupling=[(5, 6)]).coupling
    [(5, 6)]
    """

    friction: Sequence[str] | Mapping[str | int, Sequence[str]] | None = option(
        'Any of "viscous" and "coulomb", for every joint; a dict {joint: names} for some joints only.', spelled=None
    )
    two_sided: bool | Sequence[str | int] | None = option(
        "One Coulomb level per direction, at every joint.", python="Or a list of joints.", kind=bool | None
    )
    offset: bool | Sequence[str | int] | None = option(
        "A constant torque for every joint; default: chosen for each joint.",
        python="Or a list of joints.",
        kind=bool | None,
    )
    rotor: bool | None = option(
        "Identify rotor inertias; default: if the arm has rotors, or if the torques are those of the motors.",
        check=FLAG,
    )
    stribeck: bool | float | Sequence[float] | None = option(
        "Stribeck friction at every joint, with speeds found by search; default: chosen per joint unless friction is given.",
        python="Numbers are the speeds (rad/s).",
        kind=bool | None,
    )
    sigmoid: bool | float | Sequence[float] | None = option(
        "Smooth Coulomb friction, with widths found by least squares.",
        python="It changes sign as tanh((q̇ − c)/w); numbers are w (rad/s).",
        kind=bool | None,
    )
    coupling: Sequence[Any] | None = option(
        "A drive shared by joints I and J, such as 5:6; may be repeated; default: chosen by selection.",
        python="A list such as [(5, 6)].", metavar="I:J", kind=list[str] | None,
    )  # fmt: skip
    balance: Sequence[str | int] | None = option(
        "A joint with a counterbalance; may be repeated; default: chosen by selection.",
        python="A list of joints.", metavar="JOINT", kind=list[str] | None,
    )  # fmt: skip
    terms: Any = option(
        "A further term with its shape parameters: 2:spring:rest=0.3, all:load or 1:harmonic:order=3; may be repeated.",
        python='Terms of dalembert.robot.terms by name, for every joint or for some: ["load"], {"harmonic": {"order": 3}}, '
        '{"joint5": {"spring": {"rest": 0.2}}}. Terms that the arm has are always identified, with the shape given in the '
        'arm unless this option gives another one; "temperature" is friction that changes with the logged temperature.',
        spelled="--term", metavar="JOINT:NAME[:KEY=VALUE,…]", kind=list[str] | None,
    )  # fmt: skip


@documented
@dataclass(frozen=True)
class FilterOptions:
    """How a log is low-pass filtered and decimated: see :func:`dalembert.work.logs.conditioning.condition`.

    >>> FilterOptions(cutoff=5.0).cutoff
    5.0
    """

    cutoff: float | None = option(
        "Cut-off frequency of the low-pass filter; default: ten times the bandwidth of the motion.",
        unit="Hz", check=Allowed(is_number, "a number, in Hz"),
    )  # fmt: skip
    decimate: int | None = option(
        "Keep one sample in N; default: 2.5 per period of the cut-off.", metavar="N",
        check=Allowed(lambda x: is_whole(x) and x >= 1, "a whole number of at least 1: one sample in this many is kept"),
    )  # fmt: skip
    edge: float | None = option(
        "Seconds removed at both ends; default: two periods of the cut-off.", metavar="S",
        check=Allowed(lambda x: is_number(x) and x >= 0, "a number of at least 0, in seconds"),
    )  # fmt: skip
    dead_zone: float | Sequence[float] | None = option(
        "Exclude a joint's samples below this speed (rad/s).", metavar="SPEED", kind=float | None
    )
    lag: float | None = option(
        "Delay of the torques behind the positions (s); estimated with the parameters by default.",
        spelled=None,
        check=Allowed(
            lambda x: is_number(x) and abs(x) <= LONGEST_LAG,
            f"a number, in seconds, between −{LONGEST_LAG:g} and {LONGEST_LAG:g}, such as 0.004",
        ),
    )  # fmt: skip


@documented
@record
class EstimatorOptions:
    """How the parameters are estimated from the equations of a log.

    >>> EstimatorOptions(method="ordinary").method
    'ordinary'
    """

    method: str | None = option(
        "ordinary, weighted, reweighted, robust, energy, damped, sequential or total (S 7.4); default: chosen by selection.",
        check=Allowed(lambda x: isinstance(x, str), "a name such as 'weighted'"),
    )
    physical: bool | None = option(
        "Only physically consistent parameters (semidefinite program); default: chosen by selection.",
        spelled="--consistent", check=FLAG,
    )  # fmt: skip
    prior: Arm | None = option(
        "An arm whose inertias serve as prior; implies {physical}.",
        metavar="ARM", kind=str | None, check=Allowed(_is_arm, "an arm, as da.load(…) returns it"),
    )  # fmt: skip
    prior_deviation: float | None = option(
        "Uncertainty of the prior: 0.3 is thirty percent.", show_default="0.3",
        check=Allowed(
            lambda x: is_number(x) and 0 < x <= MOST_DEVIATION,
            f"a number above 0, at most {MOST_DEVIATION:g}, such as 0.3 for thirty percent",
        ),
    )  # fmt: skip
    prior_kind: str | None = option(
        "entropic or euclidean.", show_default="entropic", check=one_of("entropic", "euclidean")
    )
    bounds: Mapping[str, Any] | None = option(
        "A box that contains a link's mass, in its frame; implies {physical}.",
        python='{link: {"box": (low, high)}} or {link: {"centre": c, "radii": r}}.',
        spelled="--box", metavar='LINK="x y z X Y Z"', kind=list[str] | None,
        check=Allowed(lambda x: isinstance(x, Mapping), "a dict such as {'link2': {'box': (low, high)}}"),
    )  # fmt: skip
    damping: float | None = option(
        "λ of {method} damped.",
        python="By default from generalised cross-validation.",
        check=Allowed(lambda x: is_number(x) and 0 <= x <= MOST_DAMPING, f"a number from 0 to {MOST_DAMPING:g}"),
    )
    damped_to: str | None = option(
        "Pull the parameters of {method} damped to the arm's own, or to zero as S does.",
        python="To the arm's own, the default, equations and parameters are scaled by their usual size.", metavar="arm|zero", check=one_of("arm", "zero"),
    )  # fmt: skip
    loaded: Source | None = option(
        "For {method} total: a run with a known payload.",
        python="Its weight fixes the scale of the drive gains.", metavar="LOG3", kind=str | None,
    )  # fmt: skip
    payload: Inertia | Mapping[str, Any] | float | None = option(
        "Mass of that payload (kg); its centre of mass is identified by default.",
        python="Or an Inertia in the tip's frame.", metavar="MASS", kind=float | None,
    )  # fmt: skip

    @property
    def given(self) -> bool:
        """Whether any option of this group is given."""
        return any(getattr(self, entry.name) is not None for entry in fields(self))


@documented
@dataclass(frozen=True)
class ValidationOptions:
    """Which parts of the logs are kept for validation.

    >>> ValidationOptions(hold_out=0.3).folds
    0
    """

    hold_out: float = option(
        "Hold out the last share of LOG, such as 0.3, and validate on it.", 0.0, metavar="SHARE",
        check=Allowed(lambda x: is_number(x) and 0 <= x < 1, "a fraction of the log between 0 and 1, such as 0.3"),
    )  # fmt: skip
    folds: int | str = option(
        "Repeat the identification without each of K parts of the log, or without each run, and validate it there.", 0,
        metavar="K|runs", kind=str, show_default=False,
        check=Allowed(
            lambda x: x == "runs" or (is_whole(x) and (x == 0 or 2 <= x <= MOST_FOLDS)),
            f"a whole number from 2 to {MOST_FOLDS}, 'runs' to leave out one run at a time, or 0 for none",
        ),
    )  # fmt: skip


@documented
@dataclass(frozen=True)
class LoopOptions:
    """What was measured, and the controller that moved the arm if that is positions alone.

    >>> LoopOptions(measured="position", command_delay="fit").command_delay
    'fit'
    """

    measured: str = option(
        "torque, or position: the log has positions and commands, or a motion that the controller follows, and the closed "
        "loop of controller and arm is fitted to the positions.",
        "torque", check=one_of("torque", "position"),
    )  # fmt: skip
    controller: Controller | None = option(
        "The controller that moved the arm: a Servo, whose unknown gains are identified, PD, Feedforward or ComputedTorque.",
        spelled=None,
    )
    control_rate: float | None = option(
        "Sampling rate of the controller; default: that of the log, but at least 1 kHz.", unit="Hz",
        check=Allowed(lambda x: is_number(x) and x > 0, "a positive number, in Hz, such as 1000"),
    )  # fmt: skip
    command_delay: float | str | None = option(
        "Delay of the commands behind their times (s), or 'fit' to identify it; default: none, and unknown within half a step "
        "of a log that is slower than the controller.",
        metavar="S|fit", kind=str | None,
        check=Allowed(
            lambda x: x == "fit" or (is_number(x) and 0 <= x < 1), "a number from 0 to 1 s, such as 0.005, or 'fit'"
        ),
    )  # fmt: skip


@documented
@dataclass(frozen=True)
class SelectionOptions:
    """How the options that are not specified are chosen, by blocked cross-validation.

    >>> SelectionOptions(choose=("friction",)).blocks
    5
    """

    choose: Sequence[str] = option(
        'Any of "friction", "offset", "spring", "ripple", "coupling" and "estimator".', CHOICES,
        check=Allowed(_are_choices, f"a list of {', '.join(CHOICES)}"),
    )  # fmt: skip
    blocks: int = option(
        "Number of consecutive parts of the log, each of which is predicted from a fit to all others.", 5,
        check=Allowed(lambda x: is_whole(x) and 2 <= x <= 20, "a whole number from 2 to 20"),
    )  # fmt: skip
    standard_errors: float = option(
        "A model with more parameters must beat a simpler one by this many standard errors of the difference between the two.",
        1.0, check=Allowed(lambda x: is_number(x) and x >= 0, "a number of at least 0"),
    )  # fmt: skip

    def __post_init__(self) -> None:
        if not isinstance(self.choose, str) and isinstance(self.choose, Iterable) and "cutoff" in self.choose:
            warn_of_choice("cutoff", "it follows from the motion")
            object.__setattr__(self, "choose", tuple(name for name in self.choose if name not in FORMER_CHOICES))
        check(self)


def is_consistent(estimator: EstimatorOptions) -> bool:
    """Whether physically consistent parameters are requested."""
    return bool(estimator.physical or estimator.prior is not None or estimator.bounds)


def check_estimator(estimator: EstimatorOptions) -> None:
    """Reject contradictory options before a log is read."""
    method = estimator.method or "weighted"
    if method not in METHODS:
        raise DalembertError(f"there is no method '{method}'; known are {', '.join(METHODS)}{nearest(method, METHODS)}")
    for name in ("prior_kind", "prior_deviation"):
        if estimator.prior is None and getattr(estimator, name) is not None:
            raise DalembertError(
                f"{name} needs a prior, and none is given; give prior (--prior ARM), or leave {name} out"
            )
    for name in ("damping", "damped_to"):
        if method != "damped" and getattr(estimator, name) is not None:
            raise DalembertError(f"{name} applies to method='damped' only, and the method is '{method}'")
    if is_consistent(estimator) and method in ("damped", "sequential", "total"):
        raise DalembertError(
            f"physical=True solves weighted least squares and cannot be combined with method='{method}'"
        )
    if method == "total" and (estimator.loaded is None or estimator.payload is None):
        raise DalembertError(
            "method='total' identifies the drive gains too, and needs a known payload to fix their scale: give loaded (a "
            "run with the payload) and payload (its mass, or an Inertia)"
        )
    if method != "total" and (estimator.loaded is not None or estimator.payload is not None):
        raise DalembertError("loaded and payload apply to method='total' only")


def check_loop(loop: LoopOptions) -> None:
    """Reject contradictory options of a closed loop before a log is read."""
    if loop.measured == "position" and loop.controller is None:
        raise DalembertError(
            "measured='position' needs the controller that moved the arm, such as controller=da.Servo(kp, kd) (--control servo)"
        )
    if loop.measured == "torque":
        for name in ("controller", "control_rate", "command_delay"):
            if getattr(loop, name) is not None:
                raise DalembertError(f"{name} applies to measured='position' (--measured position) only")


@record
class AskedSettings:
    """All groups of options of one identification; without a ``selection`` nothing is chosen."""

    model: ModelOptions
    filtering: FilterOptions
    estimator: EstimatorOptions
    validation: ValidationOptions
    loop: LoopOptions
    selection: SelectionOptions | None

    @property
    def open(self) -> tuple[str, ...]:
        """The choices to be made: those that the selection may make and that are not given."""
        values = {name: getattr(getattr(self, group), name) for name, group in FIELDS.items()}
        choices = () if self.selection is None else self.selection.choose
        return tuple(x for x in choices if all(values[name] is None for name in PINS[x].split()))


GROUPS: dict[str, type[Any]] = {
    "model": ModelOptions, "filtering": FilterOptions, "estimator": EstimatorOptions, "validation": ValidationOptions,
    "loop": LoopOptions,
}  # fmt: skip
FIELDS = {entry.name: group for group, kind in GROUPS.items() for entry in fields(kind)}
PINS = {  # the options that make each choice of a selection, if they are given
    "friction": "friction two_sided stribeck sigmoid terms", "offset": "offset two_sided",
    "spring": "balance terms", "ripple": "balance terms", "coupling": "coupling",
    "estimator": " ".join(entry.name for entry in fields(EstimatorOptions)),
}  # fmt: skip


def settle(
    groups: Mapping[str, Any], selection: SelectionOptions | bool | None, options: Mapping[str, Any]
) -> tuple[AskedSettings, dict[str, Any]]:
    """The settings, from groups and from single fields by their own names, and the options for reading the log."""
    for name in [name for name in options if name not in FIELDS and name not in READING]:
        if name in (entry.name for entry in fields(SelectionOptions)):
            how = f"give selection=SelectionOptions({name}={options[name]!r})"
            raise DalembertError(f"{name} is an option of the selection; {how}")
        known = (*FIELDS, *GROUPS, *READING, "selection", "progress")
        raise DalembertError(f"identify has no option '{name}'{nearest(name, known)}")
    whole = {}
    for group, kind in GROUPS.items():
        own = kind() if groups.get(group) is None else groups[group]
        if not isinstance(own, kind):
            raise DalembertError(f"{group} is {own!r}; it must be {kind.__name__}(…)")
        own = checked(own)
        single = {name: x for name, x in options.items() if FIELDS.get(name) == group and x is not None}
        if twice := [name for name in single if getattr(own, name) != getattr(kind(), name)]:
            raise DalembertError(f"{twice[0]} is given twice, by its own name and in {group}; give it once")
        whole[group] = checked(replace(own, **single))
    if selection is True or selection is None:
        selection = SelectionOptions()
    elif selection is not False and not isinstance(selection, SelectionOptions):
        raise DalembertError(f"selection is {selection!r}; it must be False, or SelectionOptions(…)")
    check_estimator(whole["estimator"])
    check_loop(whole["loop"])
    reading = {name: value for name, value in options.items() if name in READING}
    return AskedSettings(**whole, selection=selection or None), reading
