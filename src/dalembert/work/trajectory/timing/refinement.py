"""Compiled rounds of the passes, until no limit is exceeded between the grid points either.

Where a limit is exceeded, its margin is increased and the passes run again; where viscous friction was linearised at
another profile than the resulting one, or u would oscillate on an interval, they run again at once.
"""

from __future__ import annotations

from math import sqrt

from dalembert.compiler.kernel.native import Floats1, Floats2, native
from dalembert.work.trajectory.timing.interval_checks import Checked, check
from dalembert.work.trajectory.timing.reachable_sets import CONSTANT, LINEAR, Passing, PathLimits, solve, straighten

STRAIGHTENED = 16  # maximum number of linearisations of √x before the remaining difference is accepted


def _kind(on: PathLimits, at: Passing, near: Floats1, i: int, share: float, viscous: bool) -> int:
    """CONSTANT where a limit of which more than ``share`` is used has little inertia among its terms."""
    if at.always[i] or on.fastest[i] == 0.0 or on.fastest[i + 1] == 0.0:
        return CONSTANT
    L, R, h = on.D[on.where[i, 0]], on.D[on.where[i, 2]], on.h[i]
    slow = min(at.level[i], at.level[i + 1])
    slope = 0.5 * h / sqrt(slow) if viscous and slow > 0.0 else 0.0
    for j in range(len(near)):
        left, right = L[0, j], R[0, j]
        small, large = min(abs(left), abs(right)), max(abs(left), abs(right))
        bend = max(abs(L[1, j]), abs(R[1, j])) * h + slope * abs(L[2, j])
        if near[j] >= share and (left * right < 0.0 or small < 0.6 * large or bend > 0.25 * small):
            return CONSTANT
    return LINEAR


def _begin(on: PathLimits, at: Passing, near: Floats2, share: float, viscous: bool) -> None:
    """Set the kinds of all intervals and mark everything else for computation."""
    for i in range(len(on.h)):
        at.kind[i] = _kind(on, at, near[i], i, share, viscous and share > 0.0)
        at.room[i] = at.slower[i] = 0.0
        at.new[i] = at.moved[i] = True
    for p in range(len(on.fastest)):
        at.x[p], at.K[p, 0], at.x_most[p] = -1.0, -1.0, on.fastest[p]


def _constant_where_sharp(on: PathLimits, at: Passing) -> bool:
    """Make u constant on intervals on which a linear u would bend x(s) too sharply; whether there are any."""
    some = False
    for i in range(len(on.h)):
        if at.u[i, 0] != at.u[i, 1] and abs(at.u[i, 1] - at.u[i, 0]) * on.h[i] > 0.5 * min(at.x[i], at.x[i + 1]):
            at.kind[i] = CONSTANT
            at.always[i] = at.new[i] = some = True
    return some


def _profile(on: PathLimits, at: Passing, viscous: bool) -> int:
    """Run the passes with √x linearised at the profile and u constant where necessary; returns the last status."""
    for k in range(2 * STRAIGHTENED):
        status = solve(on, at)
        if status != 0:
            return status
        worst = straighten(on, at) if viscous else 0.0
        if (worst < 1e-7 or k >= STRAIGHTENED) and not _constant_where_sharp(on, at):
            return 0
    return 0


def _more_room(on: PathLimits, at: Passing, to: Checked, allowed: float, round_: int, viscous: bool) -> None:
    """Increase the margin where a limit was exceeded, and on neighbours, where it may be next; update kinds."""
    N = len(on.h)
    reach, extra = 2, 0.25 if round_ == 1 else 5.0
    if round_ >= 5:  # contain an excess that moves from interval to interval
        for _ in range(min(round_ - 3, 10)):
            reach = 4 * reach if reach > 2 else 4
    for i in range(N):
        if to.over[i] > 1e-3 + to.blur[i] and at.kind[i] == LINEAR:
            at.always[i] = True
        if to.over[i] > 0.5 * allowed:
            more = 1.1 * to.over[i] + extra * allowed
            at.room[i] += more
            at.new[i] = True
            for k in range(max(i - reach, 0), min(i + reach + 1, N)):
                if to.over[k] <= 0.5 * allowed and at.room[k] < 0.7 * more:
                    at.room[k] = 0.7 * more
                    at.new[k] = True
        if to.fast[i] > 0.5 * allowed:
            at.slower[i] += 1.05 * to.fast[i] + 0.25 * allowed
    for i in range(N + 1):
        most = max(at.slower[i - 1] if i > 0 else 0.0, at.slower[i] if i < N else 0.0)
        share = 1.0 - min(most, 0.5)
        most = on.fastest[i] * share * share
        if most != at.x_most[i]:
            at.x_most[i] = most
            if i < N:
                at.new[i] = True
            if i > 0:
                at.new[i - 1] = True
    for i in range(N):
        kind = _kind(on, at, to.near[i], i, 0.8, viscous)
        if kind != at.kind[i]:
            at.kind[i] = kind
            at.new[i] = True


@native
def repeat(
    on: PathLimits, at: Passing, to: Checked, first: int, last: int, allowed: float, share: float, viscous: bool
) -> int:
    """Rounds of the passes, ``first`` to ``last``, until no limit is exceeded by more than ``allowed`` of it.

    share  share of a limit, in ``to.near``, above which it affects the kinds of intervals in the first round
    Returns the status of the last pass, as in :func:`solve`; ``to`` contains the last profile that was checked.
    """
    N = len(on.h)
    for round_ in range(first, last + 1):
        if round_ == 1:
            _begin(on, at, to.near, share, viscous)
        else:
            _more_room(on, at, to, allowed, round_ - 1, viscous)
        status = _profile(on, at, viscous)
        if status == 0:
            status = check(on, at, to)
        if status != 0:
            return status
        to.rounds[0] = round_
        worst = -1.0
        for i in range(N):
            at.moved[i] = False
            worst = max(worst, to.over[i], to.fast[i])
        if worst <= allowed:
            break
    return 0
