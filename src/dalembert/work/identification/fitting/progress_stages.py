"""Progress of an identification: its stages in order, as one fraction that never decreases."""

from __future__ import annotations

# the words that ``progress`` is called with, in the order of an identification, and their share of the total time;
# stages of choices that are not made are skipped
STAGES = {
    "reading": 0.15,
    "filtering": 0.15,
    "selection": 0.35,
    "estimators": 0.15,
    "regressor": 0.15,
    "residuals": 0.05,
}


class Stages:
    """The fraction done, from the words and fractions of ``progress``.

    With folds, the fit to the whole log and each fold have the same weight.

    >>> stages = Stages(folds=4)
    >>> [round(stages(*report), 3) for report in (("reading", 1.0), ("residuals", 1.0), ("fold 1 of 4", 0.5), ("reading", 0.0))]
    [0.03, 0.2, 0.3, 0.3]
    """

    def __init__(self, folds: int = 0) -> None:
        self.count, self.reached = 1 + folds, 0.0

    def __call__(self, words: str, fraction: float) -> float:
        """The fraction of the whole; for words that are not a stage, the fraction reached before."""
        done = self.reached
        if words.startswith("fold "):
            _, k, _, count = words.split()
            done = (int(k) + fraction) / (1 + int(count))
        elif words in STAGES:
            names = list(STAGES)
            before = sum(STAGES[name] for name in names[: names.index(words)])
            done = (before + STAGES[words] * fraction) / self.count
        self.reached = max(self.reached, min(done, 1.0))
        return self.reached
