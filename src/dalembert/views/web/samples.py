"""Motions as data for a page: nodes between which quintic pieces follow the motion.

A page can draw a motion at any number of instants: between two nodes it uses the polynomial of degree 5 with their
positions, velocities and accelerations. Nodes that such a polynomial makes redundant are omitted, so a trapezoidal
velocity profile needs only as many as it has phases. Where an acceleration or a load jumps, the instant appears twice,
once for each side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.wording import shown
from dalembert.errors import DalembertError, ShapeError
from dalembert.views.web.page_model import check_fits
from dalembert.views.web.posture import tour
from dalembert.work.trajectory.planning.events import LoadTable
from dalembert.work.trajectory.planning.example_7_2 import titled_motions
from dalembert.work.trajectory.planning.hermite import Hermite
from dalembert.work.trajectory.planning.motion_file import sides_of
from dalembert.work.trajectory.planning.trajectory import Trajectory

INSTANTS = 401  # evenly spaced instants that are checked in addition to the knots
MOST_NODES = 20_000  # nodes of one motion
FOLLOWED = 1e-10  # tolerance of a quintic piece, relative to the largest value of its kind

Titled = tuple[str, str, Trajectory]


def motions_of(arm: Arm, motions: Any = None) -> list[dict[str, Any]]:
    """The motions of a page as plain data: ``name``, ``note``, ``t`` (K,), ``q``, ``qd``, ``qdd`` (K n numbers each).

    motions  a Trajectory; a list of them; a dict of name → Trajectory; or tuples (name, note, Trajectory). None for those of
             S Example 7.2 if the arm has two links like planar-2r, and otherwise for a slow tour of its range
    Returns  one dict per motion. ``loads`` are the payloads (10 numbers) and tip wrenches (6) that its events apply,
             ``load`` (K,) is the index of the load that acts from each node on, and ``events`` describes them in words

    >>> import dalembert as da
    >>> arm = da.load("planar-2r")
    >>> [motion["name"] for motion in motions_of(arm)]
    ['Equal duration', 'Different duration', 'Straight line']
    >>> motions_of(arm, da.triangular([0, 0], [1, 2], duration=2.0))[0]["t"]
    [0.0, 1.0, 1.0, 2.0]
    """
    titled = example_motions(arm) or _toured(arm) if motions is None else _titled(motions)
    for name, times in Counter(name for name, _, _ in titled).items():
        if times > 1:
            raise DalembertError(f"two motions have the name {shown(name)}; each needs a unique name")
    return [_data(arm, *motion) for motion in titled]


def example_motions(arm: Arm) -> list[Titled]:
    """The motions of S Example 7.2, for an arm that can perform them."""
    if arm.n != 2:
        return []
    try:
        return titled_motions(arm)
    except DalembertError:  # its tip does not reach the start or the end of the example
        return []


def _toured(arm: Arm) -> list[Titled]:
    """A slow tour of the range of every joint, which shows an arm for which no motion is given."""
    motion = tour(arm)
    return [] if motion is None else [("Tour", "From the initial posture towards both ends of every range.", motion)]


def _titled(motions: Any) -> list[Titled]:
    """The given motions as (name, note, motion)."""
    if isinstance(motions, Mapping):
        motions = [(str(name), "", motion) for name, motion in motions.items()]
    elif isinstance(motions, Trajectory) or _is_titled(motions):
        motions = [motions]
    if not isinstance(motions, list | tuple):
        raise DalembertError(
            f"motions is {shown(motions)}; it must be a Trajectory, a list of them, a dict of name → Trajectory, or "
            "tuples (name, note, Trajectory)"
        )
    titled = []
    for k, given in enumerate(motions, 1):
        name, note, motion = (
            given if _is_titled(given) else (f"Motion {k}" if len(motions) > 1 else "Motion", "", given)
        )
        if not isinstance(motion, Trajectory):
            raise DalembertError(
                f"the motion is {shown(motion)}; it must be a Trajectory, such as the result of "
                "da.read_trajectory('motion.csv')"
            )
        titled.append((name, str(note), motion))
    return titled


def _is_titled(motion: Any) -> bool:
    return isinstance(motion, tuple) and len(motion) == 3 and isinstance(motion[0], str)


def _data(arm: Arm, name: str, note: str, motion: Trajectory) -> dict[str, Any]:
    if motion.n != arm.n:
        raise ShapeError(f"the motion {shown(name)} has {motion.n} joints, but arm '{arm.name}' has {arm.n}")
    with np.errstate(all="ignore"):  # the values are checked below
        t, at = sides_of(motion, _instants(name, motion))
        (q, qd, _), (_, _, qdd) = motion(t), motion(at)
    for label, values in (("t", t), ("q", q), ("qd", qd), ("qdd", qdd)):
        check_fits(f"motion {shown(name)}", f"the largest {label}", float(np.abs(values).max()))
    loads = motion.loads
    rows = loads.rows(at)
    nodes = _needed(t, np.array([q, qd, qdd]))
    return {
        "name": name,
        "note": " ".join([note, *motion.notes]).strip(),
        "t": t[nodes].tolist(),
        "q": q[nodes].ravel().tolist(),
        "qd": qd[nodes].ravel().tolist(),
        "qdd": qdd[nodes].ravel().tolist(),
        "load": rows[nodes].tolist() if loads else [],
        "loads": _loads(loads) if loads else [],
        "events": [str(event) for event in motion.events],
    }


def _loads(loads: LoadTable) -> list[dict[str, list[float]]]:
    """The load at the tip in each interval of the motion."""
    stretches = len(loads.edges) - 1
    payload = np.zeros((stretches, 10)) if loads.payload is None else loads.payload
    wrench = np.zeros((stretches, 6)) if loads.wrench is None else loads.wrench
    return [{"payload": p, "wrench": w} for p, w in zip(payload.tolist(), wrench.tolist(), strict=True)]


def _instants(name: str, motion: Trajectory) -> Array:
    """Evenly spaced instants, the knots, and jumps of higher derivatives unless every sample of a long table has one."""
    marks = np.array(motion.knots, float)
    if len(motion.breaks) <= INSTANTS:
        marks = np.union1d(marks, motion.breaks)
    marks = marks[(marks > 0.0) & (marks < motion.duration)]
    if len(marks) > MOST_NODES // 2:
        raise DalembertError(
            f"the motion {shown(name)} has {len(marks)} knots; a page supports at most {MOST_NODES // 2}: use a part "
            "of the motion"
        )
    even = np.linspace(0.0, motion.duration, INSTANTS)
    if len(marks):
        after = np.clip(np.searchsorted(marks, even), 0, len(marks) - 1)
        distance = np.minimum(np.abs(marks[after] - even), np.abs(marks[np.maximum(after - 1, 0)] - even))
        apart = distance > 0.1 * motion.duration / INSTANTS
        apart[[0, -1]] = True
        even = even[apart]
    return np.union1d(even, marks)


def _needed(t: Array, y: Array) -> NDArray[np.intp]:
    """The instants needed for quintic pieces between them to follow y (3, N, n), the motion and its derivatives."""
    tolerance = FOLLOWED * np.maximum(np.abs(y).max(axis=(1, 2)), 1e-300)
    ends = np.flatnonzero(np.diff(t) == 0.0)
    needed = np.zeros(len(t), bool)
    stretches = list(zip([0, *(ends + 1)], [*ends, len(t) - 1], strict=True))
    while stretches:
        first, last = stretches.pop()
        needed[[first, last]] = True
        if last - first < 2:
            continue
        inside = slice(first + 1, last)
        piece = Hermite(t[[first, last]], y[:, [first, last]])
        error = np.abs(np.array(piece(t[inside])) - y[:, inside]).max(axis=(1, 2))
        if (error > tolerance).any():
            middle = (first + last) // 2
            stretches += [(first, middle), (middle, last)]
    return np.flatnonzero(needed)
