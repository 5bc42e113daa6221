"""The errors a user can meet: each is one sentence that names the thing, the value and the fix."""


class DalembertError(ValueError):
    """Base of every error that dalembert raises for wrong input."""


class RobotError(DalembertError):
    """A robot description (file, table or object) that cannot be a robot."""


class ShapeError(DalembertError):
    """An array whose shape, type or values do not fit the arm."""


class SingularInertiaError(DalembertError):
    """B(q) has no inverse because a moving part has no inertia at all."""
