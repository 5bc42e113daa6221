"""The options of an identification, in five groups; what is not given is chosen by the selection or takes its plain value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

from dalembert.arm import Arm
from dalembert.environment.brief import brief
from dalembert.errors import DalembertError
from dalembert.identification.option_types import checked
from dalembert.logs.log import Source
from dalembert.robot.inertia import Inertia
from dalembert.robot.tables import nearest

CHOICES = ("cutoff", "friction", "offset", "spring", "ripple", "coupling", "estimator")  # that a selection can make
READING = ("columns", "gains", "gears", "motor_side", "time_unit", "rate", "units", "joint_names", "topic", "episodes")


@brief
@dataclass(frozen=True, eq=False)
class ModelOptions:
    """The torques that are identified besides those of the links; ``None`` leaves the choice to the selection.

    friction   any of "viscous" and "coulomb", for every joint; a dict {joint: names} for some joints only
    two_sided  one Coulomb level per direction: True, or a list of joints
    offset     a constant torque: True for every joint, or a list of joints
    rotor      rotor inertias; by default, if the arm has rotors or the torques were measured at the motors
    stribeck   Stribeck friction: True searches for the speeds, numbers are the speeds (rad/s)
    sigmoid    Coulomb friction that changes sign as tanh((q̇ − c)/w): True fits w and c of every joint, numbers are w (rad/s)
    coupling   drives that are shared by two joints, such as [(5, 6)]
    balance    joints with a counterbalance
    terms      further terms of :mod:`dalembert.terms` by name, for every joint or for some, each with its shape:
               ["load"], {"harmonic": {"order": 3}}, {"joint5": {"spring": {"rest": 0.2}}}. Terms that the arm has
               are always identified, with the shape given in the arm unless this option gives another one;
               "temperature" is friction that changes with the logged temperature

    >>> ModelOptions(friction=("viscous",), coupling=[(5, 6)]).coupling
    [(5, 6)]
    """

    friction: Sequence[str] | Mapping[str | int, Sequence[str]] | None = None
    two_sided: bool | Sequence[str | int] | None = None
    offset: bool | Sequence[str | int] | None = None
    rotor: bool | None = None
    stribeck: bool | float | Sequence[float] | None = None
    sigmoid: bool | float | Sequence[float] | None = None
    coupling: Sequence[Any] | None = None
    balance: Sequence[str | int] | None = None
    terms: Any = None


@dataclass(frozen=True)
class FilterOptions:
    """How a log is low-pass filtered and decimated: see :func:`dalembert.logs.conditioning.condition`.

    cutoff     of the low-pass for torques and regressor (Hz); chosen by cross-validation by default
    decimate   keep one sample in this many; by default 2.5 samples per period of the cut-off are kept
    edge       seconds cut off at both ends of a run; by default two periods of the cut-off
    dead_zone  the equations of a joint are excluded while it is slower than this (rad/s)
    lag        delay of the torques behind the positions (s); estimated with the parameters by default

    >>> FilterOptions(cutoff=5.0).cutoff
    5.0
    """

    cutoff: float | None = None
    decimate: int | None = None
    edge: float | None = None
    dead_zone: float | Sequence[float] | None = None
    lag: float | None = None


@brief
@dataclass(frozen=True, eq=False)
class EstimatorOptions:
    """How the parameters are estimated from the equations of a log.

    method           "ordinary", "weighted" (by the noise of each joint), "reweighted" (until the weights converge),
                     "robust", "energy", "damped", "sequential" (joint by joint, from the last), or "total"
    physical         only physically consistent parameters (semidefinite program; extra ``[identify]``)
    prior            an arm whose inertias are trusted to within ``prior_deviation`` (relative); implies physical
    prior_deviation  0.3 by default
    prior_kind       "entropic" (the default) or "euclidean"
    bounds           {link: {"box": (low, high)}} or {link: {"centre": c, "radii": r}}: region that contains the mass of a
                     link; implies physical
    damping          λ of "damped"; by default from generalised cross-validation
    damped_to        what "damped" pulls the parameters towards: "arm" (the default), its own parameters, with equations
                     and parameters scaled by their usual size; "zero", unscaled, (ȲᵀȲ + λ²1)⁻¹Ȳᵀ of S 7.4
    loaded           for "total": a run with a known payload, whose weight fixes the scale of the drive gains
    payload          that payload: an Inertia in the tip's frame, or a mass (kg), whose centre of mass is then identified

    >>> EstimatorOptions(method="ordinary").method
    'ordinary'
    """

    method: str | None = None
    physical: bool | None = None
    prior: Arm | None = None
    prior_deviation: float | None = None
    prior_kind: str | None = None
    bounds: Mapping[str, Any] | None = None
    damping: float | None = None
    damped_to: str | None = None
    loaded: Source | None = None
    payload: Inertia | Mapping[str, Any] | float | None = None

    @property
    def given(self) -> bool:
        """Whether any option of this group is given."""
        return any(getattr(self, entry.name) is not None for entry in fields(self))


@dataclass(frozen=True)
class ValidationOptions:
    """Which parts of the logs are kept for validation.

    hold_out  this fraction at the end of the log, such as 0.3, is excluded from the fit and used for validation
    folds     number of consecutive parts of the log, each of which is left out of one fit; "runs" leaves out one run at a time

    >>> ValidationOptions(hold_out=0.3).folds
    0
    """

    hold_out: float = 0.0
    folds: int | str = 0


@dataclass(frozen=True)
class SelectionOptions:
    """How the options that are not specified are chosen, by blocked cross-validation.

    choose           any of "cutoff", "friction", "offset", "spring", "ripple", "coupling" and "estimator"
    blocks           number of consecutive parts of the log, each of which is predicted from a fit to all others
    standard_errors  a model with more parameters must beat a simpler one by this many standard errors of the
                     difference between the two

    >>> SelectionOptions(choose=("cutoff",)).blocks
    5
    """

    choose: Sequence[str] = CHOICES
    blocks: int = 5
    standard_errors: float = 1.0

    def __post_init__(self) -> None:
        several = isinstance(self.choose, Iterable) and not isinstance(self.choose, str | bytes)
        if not several or (unknown := [name for name in self.choose if name not in CHOICES]):
            word = unknown[0] if several else self.choose
            raise DalembertError(f"choose contains '{word}'; it must be a list of {', '.join(CHOICES)}")
        if not isinstance(self.blocks, int) or isinstance(self.blocks, bool) or not 2 <= self.blocks <= 20:
            raise DalembertError(f"blocks is {self.blocks!r}; it must be a whole number from 2 to 20")
        if not (isinstance(self.standard_errors, Real) and self.standard_errors >= 0):
            raise DalembertError(f"standard_errors is {self.standard_errors!r}; it must be a number of at least 0")


@brief
@dataclass(frozen=True, eq=False)
class AskedSettings:
    """All five groups of options of one identification; without a ``selection`` nothing is chosen."""

    model: ModelOptions
    filtering: FilterOptions
    estimator: EstimatorOptions
    validation: ValidationOptions
    selection: SelectionOptions | None

    @property
    def open(self) -> tuple[str, ...]:
        """The choices to be made: those that the selection may make and that are not given."""
        model, estimator = self.model, self.estimator
        law = (model.friction, model.two_sided, model.stribeck, model.sigmoid, model.terms)
        given = {
            "cutoff": self.filtering.cutoff is not None,
            "friction": any(x is not None for x in law),
            "offset": model.offset is not None or model.two_sided is not None,
            "spring": model.balance is not None or model.terms is not None,
            "ripple": model.balance is not None or model.terms is not None,
            "coupling": model.coupling is not None,
            "estimator": estimator.given,
        }
        return () if self.selection is None else tuple(x for x in self.selection.choose if not given[x])


GROUPS: dict[str, type[Any]] = {
    "model": ModelOptions, "filtering": FilterOptions, "estimator": EstimatorOptions, "validation": ValidationOptions,
}  # fmt: skip
FIELDS = {entry.name: group for group, kind in GROUPS.items() for entry in fields(kind)}


def settle(
    groups: Mapping[str, Any], selection: SelectionOptions | bool | None, options: Mapping[str, Any]
) -> tuple[AskedSettings, dict[str, Any]]:
    """The settings, from groups and from single fields by their own names, and the options for reading the log."""
    single: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
    reading: dict[str, Any] = {}
    for name, value in options.items():
        if name in FIELDS:
            single[FIELDS[name]][name] = value
        elif name in READING:
            reading[name] = value
        elif name in (entry.name for entry in fields(SelectionOptions)):
            raise DalembertError(
                f"{name} is an option of the selection; give selection=SelectionOptions({name}={value!r})"
            )
        else:
            known = (*FIELDS, *GROUPS, *READING, "selection", "progress")
            raise DalembertError(f"identify has no option '{name}'{nearest(name, known)}")
    built = {}
    for group, kind in GROUPS.items():
        whole = groups.get(group)
        if whole is None:
            whole = kind()
        elif not isinstance(whole, kind):
            raise DalembertError(f"{group} is {whole!r}; it must be {kind.__name__}(…)")
        whole = checked(whole)
        given = {name: value for name, value in single[group].items() if value is not None}
        twice = [name for name in given if getattr(whole, name) != getattr(kind(), name)]
        if twice:
            raise DalembertError(f"{twice[0]} is given twice, by its own name and in {group}; give it once")
        built[group] = checked(replace(whole, **given))
    if selection is True or selection is None:
        selection = SelectionOptions()
    elif selection is not False and not isinstance(selection, SelectionOptions):
        raise DalembertError(f"selection is {selection!r}; it must be False, or SelectionOptions(…)")
    return AskedSettings(**built, selection=selection or None), reading
