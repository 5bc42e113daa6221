"""What a selection chose, what it tried and why: part of an identification's result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dalembert.environment.brief import brief
from dalembert.identification.options import EstimatorOptions, FilterOptions, ModelOptions

LEAST = 3  # joints that are named before the others are counted


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
    plain      the relative error on parts left out of viscous and Coulomb friction at the same cut-off
    error      that of the result
    model, filtering, estimator   the options that pin all that was chosen: ``identify(arm, log, model=…, …)``
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

    def tried(self, choice: str) -> tuple[Trial, ...]:
        """The trials about a choice."""
        return tuple(trial for trial in self.trials if trial.choice == choice)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was chosen and why, at most five sentences."""
        return tuple(line for line in (self._first, self._cutoff, self._laws, self._others, self._estimator) if line)

    @property
    def _first(self) -> str:
        return (
            f"chosen by cross-validation over {self.blocks} parts of the log: {', '.join(self.chosen)}; held-out error "
            f"{100 * self.error:.3g} %, and {100 * self.plain:.3g} % with viscous and Coulomb friction alone"
        )

    @property
    def _cutoff(self) -> str:
        tried = self.tried("cutoff")
        if len(tried) < 2:
            return ""
        best = next(trial for trial in tried if trial.chosen)
        ends = " and ".join(f"{100 * trial.error:.3g} % at {trial.option}" for trial in (tried[0], tried[-1]))
        return f"cut-off {best.option}: {100 * best.error:.3g} % held out, with {ends} ({len(tried)} tried)"

    @property
    def _laws(self) -> str:
        if "friction" not in self.chosen:
            return ""
        groups: dict[str, list[str]] = {}
        for joint, laws in self.structure.items():
            words = " + ".join(WORDS.get(law, law) for law in laws if law in FRICTION_LAWS) or "none"
            groups.setdefault(words, []).append(joint)
        return "friction: " + "; ".join(f"{words} at {_listed(joints)}" for words, joints in groups.items())

    @property
    def _others(self) -> str:
        parts = []
        for name in ("offset", "spring", "balance", "harmonic"):
            if joints := [joint for joint, laws in self.structure.items() if name in laws]:
                parts.append(f"{WORDS[name]} at {_listed(joints)}")
        parts += [f"a drive shared by joints {i} and {j} (ratio {r:g})" for i, j, r in self.drives]
        asked = [name for name in ("offset", "spring", "ripple", "coupling") if name in self.chosen]
        if not asked:
            return ""
        count = sum(trial.choice in asked for trial in self.trials)
        return f"besides: {'; '.join(parts) or 'nothing'} ({count} tried, each must be better by more than one standard error)"

    @property
    def _estimator(self) -> str:
        tried = self.tried("estimator")
        if not tried:
            return ""
        won, best = next(t for t in tried if t.chosen), min(tried, key=lambda t: t.error)
        why = (
            "the best"
            if won is best
            else f"within one standard error of the best, {best.option} ({100 * best.error:.3g} %)"
        )
        return f"estimator: {won.option}, {100 * won.error:.3g} % held out, {why}"

    def as_json(self) -> dict[str, Any]:
        """Everything that was tried, as plain data."""
        return {
            "chosen": list(self.chosen),
            "structure": {joint: list(laws) for joint, laws in self.structure.items()},
            "drives": [list(drive) for drive in self.drives],
            "blocks": self.blocks, "band": self.band, "plain_error": self.plain, "error": self.error,
            "sentences": list(self.sentences),
            "trials": [{x.name: getattr(trial, x.name) for x in fields(Trial)} for trial in self.trials],
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<Selection of {', '.join(self.chosen)}: {len(self.trials)} tried, {100 * self.error:.3g} % held out>"


FRICTION_LAWS = ("viscous", "coulomb", "tanh", "stribeck", "drag", "load", "gear", "temperature")
WORDS = {
    "coulomb": "Coulomb", "tanh": "gradual Coulomb", "stribeck": "Stribeck", "drag": "quadratic", "load": "load-dependent",
    "gear": "gear losses", "offset": "an offset", "spring": "a spring", "balance": "a counterbalance",
    "harmonic": "torque ripple",
}  # fmt: skip


def _listed(joints: Sequence[str]) -> str:
    return ", ".join(joints) if len(joints) <= LEAST else f"{', '.join(joints[:LEAST])} and {len(joints) - LEAST} more"
