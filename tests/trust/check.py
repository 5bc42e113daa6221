"""A trust check, a piece of its work, and what comes of it."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import numpy as np

MOST_FINDINGS = 20  # that are kept of one check; the others are counted


@dataclass(frozen=True)
class Task:
    """A piece of a check's work.

    index   the number of the piece, from which it also derives its random numbers
    amount  how many examples it has, or how many seconds it takes, as the check says
    folder  an existing folder for its files
    start   how much the pieces before it have together
    """

    check: str
    seed: int
    index: int
    amount: float
    folder: Path
    start: float = 0.0

    @property
    def numbers(self) -> range:
        """The numbers of its examples in the whole check."""
        return range(round(self.start), round(self.start + self.amount))

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers of this piece alone: the same for the same seed, on any number of processes."""
        return np.random.default_rng([self.seed, zlib.crc32(self.check.encode()), self.index])


@dataclass
class Line:
    """One line of a check's table: how often it was tried, the largest error, and its bound."""

    bound: float
    count: int = 0
    worst: float = 0.0


@dataclass
class Outcome:
    """What came of a piece of work, or of all pieces of a check.

    count     how many examples were tried, in the unit of the check
    lines     the check's table: count and largest error by label
    findings  a sentence for each violation, with what is needed to repeat it
    bound     what the errors of :meth:`measure` must keep
    """

    bound: float = math.inf
    count: int = 0
    lines: dict[str, Line] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    violations: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def worst(self) -> float:
        """The largest error of all lines."""
        return max((line.worst for line in self.lines.values()), default=0.0)

    @property
    def share(self) -> float:
        """The largest error in units of its bound."""
        return max((line.worst / line.bound for line in self.lines.values() if line.bound > 0), default=0.0)

    def line(self, label: str, bound: float | None = None) -> Line:
        """The line of this label, with a bound of its own or that of the check."""
        return self.lines.setdefault(label, Line(self.bound if bound is None else bound))

    def measure(self, label: str, error: float, example: str, times: int = 1, bound: float | None = None) -> None:
        """Record an error; one beyond the bound, or one that is not a number, is a finding about the example."""
        line = self.line(label, bound)
        line.count += times
        line.worst = max(line.worst, math.inf if math.isnan(error) else error)
        if not error <= line.bound:
            self.found(f"{label}: the error is {error:.3g} and the bound {line.bound:.3g}; {example}")

    def passed(self, label: str, problem: str | None, example: str) -> None:
        """Record an example that is either right or has a problem, which is a finding."""
        line = self.line(label)
        line.count += 1
        if problem is not None:
            line.worst += 1.0
            self.found(f"{label}: {problem}; {example}")

    def found(self, sentence: str) -> None:
        """Record a violation."""
        self.violations += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(sentence)

    def add(self, other: Outcome) -> None:
        """Take in the outcome of another piece."""
        self.count += other.count
        for label, line in other.lines.items():
            own = self.line(label, line.bound)
            own.count += line.count
            own.worst = max(own.worst, line.worst)
        self.violations += other.violations
        self.findings = (self.findings + other.findings)[:MOST_FINDINGS]
        self.notes += [note for note in other.notes if note not in self.notes]


def even(total: float, piece: float) -> list[float]:
    """The amounts of pieces that make up the total, each of this size but for the last."""
    count = math.ceil(total / piece)
    return [min(piece, total - k * piece) for k in range(count)]


@dataclass(frozen=True)
class Check:
    """A row of the registry.

    title     the check in a few words
    text      what is run and what it is compared with, as the page says it
    counted   the unit of ``Outcome.count``
    error     what the error is; empty where an example is either right or wrong
    bound     what every error must keep
    work      does one piece
    full      the amount at SOAK=1, in examples or, where ``unit`` says so, in seconds
    least     the smallest amount, at any scale
    piece     the amount of one piece
    small     the pieces that ``make test`` runs: (index, amount)
    label     what the labels of its table are
    names     where given, there is one piece for each of these names, and the amount is shared out equally
    """

    name: str
    title: str
    text: str
    counted: str
    error: str
    bound: float
    work: Callable[[Task, Outcome], None]
    full: float
    least: float
    piece: float
    small: tuple[tuple[int, float], ...] = ()
    label: str = "part"
    unit: str = "examples"
    names: Callable[[], Sequence[str]] | None = None

    def amount(self, scale: float) -> float:
        """How much of it is run at a scale."""
        amount = max(self.least, self.full * scale)
        return amount if self.unit == "seconds" else round(amount)

    def tasks(self, scale: float, seed: int, folder: Path) -> list[Task]:
        """The pieces at a scale."""
        amounts = even(self.amount(scale), self.piece)
        if self.names is not None:
            count = len(self.names())
            amounts = [self.amount(scale) / count] * count
        starts = accumulate(amounts, initial=0.0)
        return [
            Task(self.name, seed, k, amount, folder, start)
            for k, (amount, start) in enumerate(zip(amounts, starts, strict=False))
        ]

    def begun(self, task: Task, scale: float) -> float:
        """The share of the check that is done when a piece begins; 0 as long as not even the smallest amount is done."""
        within_least = task.start < self.least and self.names is None
        return 0.0 if within_least else task.start / self.amount(scale)

    def run(self, task: Task) -> Outcome:
        """The outcome of one piece."""
        outcome = Outcome(self.bound)
        self.work(task, outcome)
        return outcome
