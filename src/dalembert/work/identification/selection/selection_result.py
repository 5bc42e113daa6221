"""The outcome of a model selection: what was chosen, what was tried and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dalembert.base.environment.short_repr import record
from dalembert.work.identification.fitting.fit_options import CHOICES, EstimatorOptions, FilterOptions, ModelOptions


@dataclass(frozen=True)
class Trial:
    """A candidate that was tried.

    choice      the choice it belongs to: "friction", "offset", "spring", "ripple", "coupling" or "estimator"
    joint       the joint of a law, or ""
    option      the candidate, in words
    error       the relative torque error on parts of the log that were left out of the fit
    gain        the relative reduction of the squared error: for a law, that of its joint with respect to the model before;
                for an estimator, with respect to the first (negative: the error increases)
    spread      the standard error of the gain
    parameters  number of additional parameters with respect to the model before
    chosen      whether it is part of the result
    """

    choice: str
    joint: str
    option: str
    error: float
    gain: float
    spread: float
    parameters: int
    chosen: bool


@record
class Selection:
    """The choices that blocked cross-validation made for an identification.

    chosen     what was chosen, by the names of ``SelectionOptions.choose``; everything else was given
    structure  {joint: names of its laws}, such as {"joint1": ("viscous", "coulomb", "offset")}
    drives     (i, j, ratio) of drives that are shared by two joints, numbered from 1
    trials     all candidates that were tried, with their scores
    blocks     the number of parts of the log that were left out, one at a time
    band       the frequency (Hz) up to which all errors were evaluated: the cut-off of the fit
    error      the relative error on parts left out, comparable with ``fit.relative_error`` and ``fit.evaluate``
    plain      the same error with viscous and Coulomb friction and an offset alone
    model, filtering, estimator   the options that pin all choices: ``identify(arm, log, model=…, …)``
    standard_errors               of the difference, by which a model with more parameters had to be better
    """

    chosen: tuple[str, ...]
    structure: Mapping[str, tuple[str, ...]]
    drives: tuple[tuple[int, int, float], ...]
    trials: tuple[Trial, ...]
    blocks: int
    band: float
    plain: float
    error: float
    model: ModelOptions
    filtering: FilterOptions
    estimator: EstimatorOptions
    standard_errors: float = 1.0

    def tried(self, choice: str) -> tuple[Trial, ...]:
        """The trials that belong to a choice."""
        return tuple(trial for trial in self.trials if trial.choice == choice)

    @property
    def numbers(self) -> dict[str, int]:
        """{joint: its number in q, from 1}, as used in the sentences."""
        return {joint: k for k, joint in enumerate(self.structure, 1)}

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was chosen and why, in at most four sentences; joints are referred to by their numbers in q, from 1."""
        return tuple(line for line in (self._first, self._friction, self._others, self._estimator) if line)

    @property
    def _first(self) -> str:
        given = [WORDS.get(name, name) for name in CHOICES if name not in self.chosen]
        fixed = f"; given, not chosen: {', '.join(given)}" if given else ""
        return (
            f"Held-out torque error {percent(self.error)}, against {percent(self.plain)} with viscous and Coulomb friction and an offset alone: "
            f"{self.blocks} blocks of the log, up to {self.band:.3g} Hz, each predicted from the others{fixed}."
        )

    @property
    def _friction(self) -> str:
        if "friction" not in self.chosen:
            return ""
        laws = self._at(FRICTION_LAWS)
        return f"Friction: {'; '.join(laws) or 'none'}{self._clearest(('friction',))}."

    @property
    def _others(self) -> str:
        choices = tuple(name for name in ("offset", "spring", "ripple", "coupling") if name in self.chosen)
        if not choices:
            return ""
        parts = self._at(OTHER_LAWS)
        if self.drives:
            parts.append(
                "shared drives of joints "
                + ", ".join(f"{i} and {j} (ratio {f'{r:g}'.replace('-', '−')})" for i, j, r in self.drives)
            )
        *others, last = [WORDS.get(name, name) for name in choices]
        words = "; ".join(parts) or f"no {', '.join(others)}{' or ' if others else ''}{last}"
        return f"{words[0].upper()}{words[1:]}{self._clearest(choices)}."

    def _at(self, laws: Sequence[str]) -> list[str]:
        """Some laws, each with the joints that have it."""
        out: list[str] = []
        for law in laws:
            if joints := [number for joint, number in self.numbers.items() if law in self.structure[joint]]:
                several = "joint" if len(joints) == 1 else "joints"
                out.append(f"{WORDS.get(law, law)} at {several if not out else ''} {spans(joints)}".replace("  ", " "))
        return out

    def _clearest(self, choices: Sequence[str]) -> str:
        """The chosen law with the largest gain, and how many were tried."""
        tried = [trial for trial in self.trials if trial.choice in choices]
        # a shared drive improves two joints
        won = [trial for trial in tried if trial.chosen and trial.choice != "coupling"]
        if not won:
            return f" ({len(tried)} tried)" if tried else ""
        best = max(won, key=lambda trial: trial.gain)
        words = best.option.partition(",")[0].removeprefix("a ").removeprefix("an ").removesuffix(" friction")
        size = "squared error" if best.gain <= 1 else "own squared error, because other joints improve too"
        return (
            f" ({len(tried)} tried; best: {words.replace('direction-dependent gear losses', 'gear losses')} at joint "
            f"{self.numbers[best.joint]}, gain {100 * best.gain:.0f} ± {100 * best.spread:.0f} % of its {size})"
        )

    @property
    def _estimator(self) -> str:
        tried = self.tried("estimator")
        if not tried:
            return ""
        won = next(trial for trial in tried if trial.chosen)
        best = max(tried, key=lambda trial: trial.gain)
        if won is best:
            others = sorted((trial for trial in tried if trial is not won), key=lambda trial: -trial.gain)
            alike = " with joints weighted equally" if others and others[0].error < won.error else ""
            why = f"the best of {len(tried)}{alike}"
            why += f", ahead of {short(others[0].option)} at {percent(others[0].error)}" if others else ""
        else:
            alike = " with joints weighted equally" if best.error > won.error else ""
            why = f"not clearly worse than {short(best.option)} at {percent(best.error)}{alike}, and "
            why += (
                "simpler" if tried.index(won) < tried.index(best) else "preferred for its physically consistent links"
            )
        return f"Estimator: {short(won.option)}; held-out error {percent(won.error)}, {why}."

    def as_json(self) -> dict[str, Any]:
        """All trials as plain data."""
        return {
            "chosen": list(self.chosen),
            "structure": {joint: list(laws) for joint, laws in self.structure.items()},
            "drives": [list(drive) for drive in self.drives],
            "blocks": self.blocks, "band": self.band, "plain_error": self.plain, "error": self.error,
            "sentences": list(self.sentences),
            "estimator": {
                "method": self.estimator.method or "weighted", "physical": bool(self.estimator.physical),
                "prior": self.estimator.prior is not None, "prior_deviation": self.estimator.prior_deviation,
                "prior_kind": self.estimator.prior_kind,
            },
            "trials": [{x.name: getattr(trial, x.name) for x in fields(Trial)} for trial in self.trials],
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<Selection of {', '.join(self.chosen)}: {len(self.trials)} tried, {100 * self.error:.3g} % held out>"


FRICTION_LAWS = ("viscous", "coulomb", "tanh", "stribeck", "drag", "load", "gear", "temperature")
PRIOR = "physically consistent links with the arm's own as a prior"
OTHER_LAWS = ("offset", "spring", "balance", "gas_spring", "harmonic")
WORDS = {
    "coulomb": "Coulomb", "tanh": "gradual Coulomb", "stribeck": "Stribeck", "drag": "quadratic",
    "load": "load-dependent", "gear": "gear losses", "balance": "counterbalance", "gas_spring": "gas spring", "temperature": "temperature-dependent", "harmonic": "torque ripple",
    "ripple": "torque ripple", "coupling": "shared drive",
}  # fmt: skip


def percent(share: float) -> str:
    """A relative error in percent, with three digits; a dash if there is none.

    >>> percent(0.04216), percent(0.12), percent(float("inf"))
    ('4.22 %', '12 %', '–')
    """
    return f"{100 * share:.3g} %" if math.isfinite(share) else "–"


def short(option: str) -> str:
    """The name of an estimator, abbreviated.

    >>> short("physically consistent links with the arm's own as a prior (30 %)")
    'physically consistent, prior (30 %)'
    """
    return option.replace(PRIOR, "physically consistent, prior")


def spans(joints: Sequence[int]) -> str:
    """Joint numbers, consecutive ones as a range.

    >>> spans([1, 2, 3, 5]), spans([4, 5])
    ('1–3, 5', '4, 5')
    """
    out: list[list[int]] = []
    for number in joints:
        if out and number == out[-1][-1] + 1:
            out[-1].append(number)
        else:
            out.append([number])
    return ", ".join(f"{x[0]}–{x[-1]}" if len(x) > 2 else ", ".join(map(str, x)) for x in out)
