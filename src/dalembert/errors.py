"""The errors a user can meet: each is one sentence that names the thing, the value and the remedy."""

LONGEST = 4000  # characters in a message


class DalembertError(ValueError):
    """Base of every error that dalembert raises for wrong input.

    A message may quote names from files, which can hold anything: line breaks, control characters and lone surrogates
    are shown as escapes, and the middle of an excessively long message is left out.

    >>> str(DalembertError("no joint 'a\\nb'"))
    "no joint 'a\\\\nb'"
    """

    def __init__(self, sentence: str = "") -> None:
        sentence = _shortened(sentence)
        if not sentence.isprintable():
            sentence = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in sentence)
        super().__init__(_shortened(sentence))  # an escape has up to ten characters


def _shortened(sentence: str) -> str:
    return sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST // 2]} … {sentence[-LONGEST // 2 :]}"


class MissingExtraError(DalembertError, ImportError):
    """An optional package is not installed; the message ends with the command that installs it."""


class RobotError(DalembertError):
    """A robot description (file, table or object) that does not define a valid robot."""


class ShapeError(DalembertError):
    """An array whose shape, type or values do not fit the arm."""


class SingularInertiaError(DalembertError):
    """The inertia matrix B(q) has no inverse, because a joint moves no inertia at all."""


class PathError(DalembertError):
    """A tip path that the arm cannot follow. ``kind`` is "unreachable", "singular" or "limit".

    point  (x, y, z) of the first point that fails (m); s is its distance along the path (m), time its time (s)
    """

    def __init__(self, sentence: str, kind: str, point: tuple[float, float, float], s: float, time: float) -> None:
        super().__init__(sentence)
        self.kind, self.point, self.s, self.time = kind, point, s, time

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return PathError, (str(self), self.kind, self.point, self.s, self.time)


class LimitError(DalembertError):
    """A limit that is missing, or that the motion violates however it is timed, at ``joint`` and ``time`` (s)."""

    def __init__(self, sentence: str, joint: str = "", kind: str = "effort", time: float | None = None) -> None:
        super().__init__(sentence)
        self.joint, self.kind, self.time = joint, kind, time


class SimulationError(DalembertError):
    """A simulation that cannot continue: it diverged, or a joint reached its limit."""


class SingularityError(DalembertError):
    """A configuration in which the operational space model does not exist, S 7.8.

    kind   "kinematic": the arm cannot move its tip in every direction of the task there;
           "representation": it can, but the coordinates chosen for the orientation have no derivative there
    index  position in the batch (a tuple; empty for a single configuration); value is the measure that was computed
    """

    def __init__(self, sentence: str, kind: str, index: tuple[int, ...], value: float) -> None:
        super().__init__(sentence)
        self.kind, self.index, self.value = kind, index, value

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return SingularityError, (str(self), self.kind, self.index, self.value)


class ClosureError(DalembertError):
    """A closed chain that cannot be closed at a configuration. ``kind`` is "unreachable", "singular" or "branch".

    unreachable: no position of the passive joints closes the loop; singular: the actuated joints do not determine
    the velocities of the passive ones; branch: the loop cannot be closed near the pose given in its file.
    ``loop`` is the loop's name, ``index`` the position in the batch (a tuple; empty for a single configuration).
    """

    def __init__(self, sentence: str, kind: str, loop: str, index: tuple[int, ...] = ()) -> None:
        super().__init__(sentence)
        self.kind, self.loop, self.index = kind, loop, index

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return ClosureError, (str(self), self.kind, self.loop, self.index)
