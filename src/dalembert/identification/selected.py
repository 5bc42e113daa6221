"""What a selection chose, what it tried and why: part of an identification's result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dalembert.environment.brief import brief
from dalembert.identification.options import CHOICES, EstimatorOptions, FilterOptions, ModelOptions


@dataclass(frozen=True)
class Trial:
    """Something that was tried.

    choice      what it is about: "cutoff", "friction", "offset", "spring", "ripple", "coupling" or "estimator"
    joint       whose law it is, or ""
    option      what was tried, in words
    error       the relative torque error on parts of the log that were left out of the fit
    gain        the share of the squared error that it takes away: for a law, of that of its joint with the model before;
                for an estimator, of that of the first; for a cut-off, of that of the best (negative: it adds so much)
    spread      the standard error of the gain
    parameters  how many it has more than the model before
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


@brief
@dataclass(frozen=True, eq=False)
class Selection:
    """What blocked cross-validation chose for an identification.

    chosen     what was chosen, of the names in ``SelectionOptions.choose``; all else was given
    structure  {joint: names of its laws}, such as {"joint1": ("viscous", "coulomb", "offset")}
    drives     (i, j, ratio) of drives that two joints share, numbers from 1
    trials     everything that was tried, with its score
    blocks     how many parts of the log were left out, one after another
    band       the frequency (Hz) up to which errors were judged, for all cut-offs alike
    error      the relative error on parts left out, low-passed at the cut-off as the fit is: it compares with
               ``fit.relative_error`` and with that of ``fit.evaluate``, where those of ``trials`` are up to ``band``
    plain      the same with viscous and Coulomb friction alone
    model, filtering, estimator   the options that pin all that was chosen: ``identify(arm, log, model=…, …)``
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
        """The trials about a choice."""
        return tuple(trial for trial in self.trials if trial.choice == choice)

    @property
    def numbers(self) -> dict[str, int]:
        """{joint: its number in q, from 1}, as the sentences call the joints."""
        return {joint: k for k, joint in enumerate(self.structure, 1)}

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was chosen and why, in at most five sentences; joints are called by their numbers in q, from 1."""
        return tuple(
            line for line in (self._first, self._cutoff, self._friction, self._others, self._estimator) if line
        )

    @property
    def _first(self) -> str:
        given = [WORDS.get(name, name) for name in CHOICES if name not in self.chosen]
        fixed = f"; not chosen: {', '.join(given)}" if given else ""
        return (
            f"Held-out torque error {percent(self.error)}, against {percent(self.plain)} with viscous and Coulomb friction alone: "
            f"{self.blocks} blocks of the log, each predicted from the others{fixed}."
        )

    @property
    def _cutoff(self) -> str:
        tried = self.tried("cutoff")
        if len(tried) < 2:
            return ""
        won = next(trial for trial in tried if trial.chosen)
        ends = ", ".join(f"{percent(x.error)} at {x.option}" for x in dict.fromkeys((tried[0], tried[-1])) if x != won)
        return (
            f"Cut-off {won.option}: held-out error {percent(won.error)}; {ends} ({len(tried)} tried, all judged up to "
            f"{self.band:.3g} Hz)."
        )

    @property
    def _friction(self) -> str:
        if "friction" not in self.chosen:
            return ""
        laws = self._at(FRICTION_LAWS)
        return f"Friction: {'; '.join(laws) or 'none'}{self._clearest(('friction',))}."

    @property
    def _others(self) -> str:
        asked = tuple(name for name in ("offset", "spring", "ripple", "coupling") if name in self.chosen)
        if not asked:
            return ""
        parts = self._at(OTHER_LAWS)
        if self.drives:
            parts.append(
                "shared drives of joints " + ", ".join(f"{i} and {j} (ratio {signed(r)})" for i, j, r in self.drives)
            )
        *others, last = [WORDS.get(name, name) for name in asked]
        words = "; ".join(parts) or f"no {', '.join(others)}{' or ' if others else ''}{last}"
        return f"{words[0].upper()}{words[1:]}{self._clearest(asked)}."

    def _at(self, laws: Sequence[str]) -> list[str]:
        """Each of some laws with the joints that have it."""
        out: list[str] = []
        for law in laws:
            if joints := [number for joint, number in self.numbers.items() if law in self.structure[joint]]:
                several = "joint" if len(joints) == 1 else "joints"
                out.append(f"{WORDS.get(law, law)} at {several if not out else ''} {spans(joints)}".replace("  ", " "))
        return out

    def _clearest(self, choices: Sequence[str]) -> str:
        """The chosen law with the largest gain, and how many were tried."""
        tried = [trial for trial in self.trials if trial.choice in choices]
        won = [trial for trial in tried if trial.chosen and trial.choice != "coupling"]  # which two joints gain from
        if not won:
            return f" ({len(tried)} tried)" if tried else ""
        best = max(won, key=lambda trial: trial.gain)
        words = best.option.partition(",")[0].removeprefix("a ").removeprefix("an ").removesuffix(" friction")
        size = "squared error" if best.gain <= 1 else "own squared error, since other joints gain too"
        return (
            f" ({len(tried)} tried; best: {words.replace('losses of the gear by direction', 'gear losses')} at joint "
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
            why += "simpler" if tried.index(won) < tried.index(best) else "with links that can exist"
        return f"Estimator: {short(won.option)}; held-out error {percent(won.error)} up to {self.band:.3g} Hz, {why}."

    def as_json(self) -> dict[str, Any]:
        """Everything that was tried, as plain data."""
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
PRIOR = "physically consistent links, the arm's own as a prior"
OTHER_LAWS = ("offset", "spring", "balance", "gas_spring", "harmonic")
WORDS = {
    "cutoff": "cut-off", "coulomb": "Coulomb", "tanh": "gradual Coulomb", "stribeck": "Stribeck", "drag": "quadratic",
    "load": "load-dependent", "gear": "gear losses", "balance": "counterbalance", "gas_spring": "gas spring", "temperature": "temperature-dependent", "harmonic": "torque ripple",
    "ripple": "torque ripple", "coupling": "shared drive",
}  # fmt: skip


def percent(share: float) -> str:
    """A relative error in percent, with three figures; a dash for none.

    >>> percent(0.04216), percent(0.12), percent(float("inf"))
    ('4.22 %', '12 %', '–')
    """
    return f"{100 * share:.3g} %" if math.isfinite(share) else "–"


def short(option: str) -> str:
    """An estimator in fewer words.

    >>> short("physically consistent links, the arm's own as a prior (30 %)")
    'physically consistent, prior (30 %)'
    """
    return option.replace(PRIOR, "physically consistent, prior")


def signed(value: float) -> str:
    """A number with a minus sign as printed.

    >>> signed(-1.0)
    '−1'
    """
    return f"{value:g}".replace("-", "−")


def spans(joints: Sequence[int]) -> str:
    """Numbers of joints, those that follow each other as a span.

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
