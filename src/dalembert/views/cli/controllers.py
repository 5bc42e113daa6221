"""Options for the controller of an arm, which a simulation runs and an identification from positions fits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import dalembert as da
from dalembert.base.options import option
from dalembert.errors import DalembertError
from dalembert.views.cli import options

Control = Literal["computed", "computed-torque", "pd", "feedforward", "servo", "adaptive"]

# the gains of each controller and their defaults; "" for a gain without default, since torques depend on the arm's size
GAINS: dict[str, dict[str, str]] = {
    "computed": {"kp": "100", "kd": "20"},
    "pd": {"kp": "", "kd": ""},
    "feedforward": {"kp": "0", "kd": "0"},
    "servo": {"kp": "", "kd": ""},
    "adaptive": {"kd": "", "lambda": "10", "gamma": ""},
}


def gain(help: str) -> Any:
    """An option whose value is one number, or one per joint."""
    return option(help, metavar='K|"k1 … kn"')


@dataclass(frozen=True)
class ControllerOptions:
    """The law of a controller, its gains, the motion that it follows, and the arm that it assumes."""

    follow: Path | None = option("A motion for a controller to follow, from its first state.", metavar="MOTION.csv")
    control: Control | None = option(
        "Computed torque (default), PD, feedforward, a servo without a model, or adaptive (Slotine and Li)."
    )
    kp: str | None = gain("K_p: 1/s² for computed (100), N m/rad for pd, servo and feedforward (0).")
    kd: str | None = gain("K_d: 1/s for computed (20), N m s/rad for the others.")
    lambda_: str | None = gain("Λ for adaptive, 1/s (10).")
    gamma: str | None = gain("Γ for adaptive: the adaptation gain; 0 for no adaptation.")
    model: str | None = option("The arm that the controller assumes; default: ARM with its payload.", metavar="ARM")

    @property
    def given_gains(self) -> dict[str, str]:
        """The gains that are given, by name."""
        texts = {"kp": self.kp, "kd": self.kd, "lambda": self.lambda_, "gamma": self.gamma}
        return {name: text for name, text in texts.items() if text is not None}

    def law_of(self, motion: Any, known: da.Arm | None, *, open_gains: bool = False, **servo: Any) -> Any:
        """The controller with its gains; a servo may have ``open_gains``, and further arguments of its own."""
        control, given = (self.control or "computed").removesuffix("-torque"), self.given_gains  # by either name
        gains: list[Any] = []
        for name in given:
            if name not in GAINS[control]:
                takes = ", ".join(f"--{x}" for x in GAINS[control])
                raise DalembertError(f"--{name} is not a gain of --control {control}, which takes {takes}")
        for name, usual in GAINS[control].items():
            text = given.get(name, usual)
            if not text and not (open_gains and control == "servo"):
                raise DalembertError(f"--control {control} needs --{name}, which depends on the size of the arm")
            gains.append(numbers_of(f"--{name}", text) if text else None)
        if control == "servo":
            if known is not None:
                raise DalembertError("--control servo uses no model of the arm; leave out --model")
            return da.Servo(gains[0], gains[1], motion, **servo)
        laws: dict[str, Any] = {
            "computed": da.ComputedTorque, "pd": da.PD, "adaptive": da.Adaptive,
            "feedforward": lambda kp, kd, motion, model: da.Feedforward(motion, kp, kd, model),
        }  # fmt: skip
        return laws[control](*gains, motion, known)


def numbers_of(option: str, text: str) -> Any:
    """One number, or several."""
    numbers = options.list_of(option, text)
    if not numbers:
        raise DalembertError(f'{option} is "{text}"; it must be one number, or one per joint')
    return numbers[0] if len(numbers) == 1 else numbers
