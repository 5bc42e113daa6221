"""The options of a search for an exciting motion."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dalembert.base.options import Allowed, documented, option
from dalembert.base.wording import shown
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dalembert.work.fits.fit_record import FitRecord
    from dalembert.work.identification.fitting.result import Identification
    from dalembert.work.trajectory.planning.trajectory import Trajectory

FRICTION = ("viscous", "coulomb")
SHAPES = ("fourier", "spline")
CRITERIA = ("condition", "scaled-condition", "d-optimal", "l-optimal")  # the last two also after a fit
MOST_SHAPES, MOST_STARTS = 1000, 10_000  # harmonics or points, and random motions: far beyond any useful value


@documented
@dataclass(frozen=True, eq=False)
class ExcitationOptions:
    """The shape of an exciting motion, its criterion, the room that it has, and the search for it."""

    duration: float = option("Duration (s); a whole number of periods for a series.", 30.0, metavar="S")
    shape: str = option(
        "A Fourier series or a spline.", "fourier", kind=Literal["fourier", "spline"],
        python='"fourier", or "spline": of degree 5, starting and ending in the same posture.',
    )  # fmt: skip
    harmonics: int = option(
        "Harmonics of the Fourier series.", 5, metavar="L",
        check=Allowed(
            lambda x: 2 <= x <= MOST_SHAPES, f"from 2, which a motion from rest to rest needs, to {MOST_SHAPES}"
        ),
    )  # fmt: skip
    points: int | None = option("Control points of the spline per joint; default: one per second.", metavar="N")
    base_frequency: float | None = option(
        "Base frequency; by default a period takes about 10 s.", spelled="--frequency", unit="Hz",
        python="L times this is the highest frequency: keep it well below the first resonance of the arm.",
    )  # fmt: skip
    criterion: str | None = option(
        "Condition number of the base regressor (plain or scaled), or its determinant; after a fit, the variance of the goal, or "
        "the determinant.",
        kind=Literal["condition", "scaled-condition", "d-optimal", "l-optimal"] | None,
        python='"condition" (the default), "scaled-condition" or "d-optimal"; after a fit "l-optimal" (the default) or '
        '"d-optimal", of both runs together.',
    )  # fmt: skip
    after: Identification | FitRecord | str | os.PathLike[str] | None = option(
        "An earlier fit ('identify --json'): reduce its remaining uncertainty.", metavar="FIT.json", kind=str | None,
        python="An Identification, its record, or the file that ``fit.save`` wrote. The motion is planned for its model, whose "
        "terms, offsets and noise replace friction, torque_offset, rotor and noise.",
    )  # fmt: skip
    goal: str | Trajectory | None = option(
        "With {after}: parameters, friction, friction:JOINT, payload, payload:mass-com or task:MOTION.csv.",
        metavar="GOAL", kind=str | None,
        python='The quantities to determine: "parameters" by default; or a Trajectory whose torques are to be predicted.',
    )  # fmt: skip
    friction: Sequence[str] = option('Any of "viscous" and "coulomb", to be identified.', FRICTION, spelled=None)
    torque_offset: bool = option("Whether a constant torque is identified for each joint.", True, spelled=None)
    rotor: bool | None = option(
        "Whether rotor inertias are identified; by default, if the arm has rotors.", spelled=None
    )
    clearance: float | None = option(
        "Clearance of joints, links and tip from the floor and all planes.", 0.1, unit="m",
        python="The floor is at the height of the base's origin; None: 0 from the planes, and no floor.",
        check=Allowed(lambda x: abs(x) <= 1e6, "at most 1e6 m, or None if there is no floor"),
    )  # fmt: skip
    floor: bool = option("Whether there is a floor, at the height of the base.", True)
    planes: Sequence[Any] = option(
        "Stay where n·p ≥ D (m, base axes), by the clearance; may be repeated.", (),
        spelled="--plane", metavar='"NX NY NZ D"', kind=list[str] | None,
        python="(normal, offset) each: points p of the arm stay where n·p ≥ d + clearance, n of length one.",
    )  # fmt: skip
    share: float = option(
        "The share of every limit to use.", 1.0, metavar="0…1",
        check=Allowed(lambda x: 0 < x <= 1, "the fraction of every limit to be used, above 0 and at most 1"),
    )  # fmt: skip
    start: ArrayLike | None = option(
        "The configuration to start and end at.", metavar='"q1 … qn"', kind=str | None, python="Free by default."
    )
    noise: ArrayLike | None = option(
        "(n,) standard deviations of the torques (N m), by which the joints' equations are weighted.", spelled=None
    )
    starts: int = option(
        "Number of random motions from which the search starts.", 4, metavar="N",
        check=Allowed(lambda x: 1 <= x <= MOST_STARTS, f"from 1 to {MOST_STARTS}"),
    )  # fmt: skip
    seed: int = option(
        "The same seed gives the same motion.", 0, metavar="N",
        check=Allowed(lambda x: x >= 0, "a whole number, 0 or more"),
    )  # fmt: skip
    cluster: Any = option(
        "Work on a Dask cluster: the address of its scheduler, such as tcp://127.0.0.1:8786.",
        metavar="ADDRESS", kind=str | None,
        python="Or a ``distributed.Client``, whose workers improve the starts; the motion is identical, bit by bit, on "
        "processors of the same kind.",
    )  # fmt: skip
    resume: bool = option("Deprecated since version 1.1, without effect.", False)

    def check_together(self) -> None:
        """Raise an error for options that contradict each other."""
        if self.shape not in SHAPES:
            raise DalembertError(f"there is no shape '{self.shape}'; known are {', '.join(SHAPES)}")
        if self.shape == "spline" and self.base_frequency is not None:
            raise DalembertError("base_frequency applies to Fourier series; give points for a spline")
        if self.points is not None and (self.shape != "spline" or not 3 <= self.points <= MOST_SHAPES):
            raise DalembertError(
                f"points is {shown(self.points)}; it applies to shape='spline' and must be from 3 to {MOST_SHAPES}"
            )
        if self.after is None and self.goal is not None:
            raise DalembertError("a goal applies to a motion after a fit; give the fit (after), or leave the goal out")
        own = (tuple(self.friction), self.torque_offset, self.rotor is None, self.noise is None)
        if self.after is not None and own != (FRICTION, True, True, True):
            raise DalembertError(
                "friction, torque_offset, rotor and noise are taken from the earlier fit (after); leave them out"
            )

    @property
    def optimised(self) -> str:
        """The criterion: of a motion by itself, or of the information of a fit and a motion together."""
        fitted, criterion = self.after is not None, self.criterion
        if criterion is None:
            return "l-optimal" if fitted else "condition"
        if criterion not in CRITERIA:
            raise DalembertError(f"there is no criterion '{criterion}'; known are {', '.join(CRITERIA)}")
        allowed = CRITERIA[2:] if fitted else CRITERIA[:3]
        if criterion not in allowed:
            when = "after a fit" if fitted else "without an earlier fit (after)"
            raise DalembertError(f"the criterion '{criterion}' has no meaning {when}; choose from {', '.join(allowed)}")
        return criterion
