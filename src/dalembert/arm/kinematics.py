"""Where the links are and how they move."""

from __future__ import annotations

from numpy.typing import ArrayLike

from dalembert.arm.compiled import Array, Compiled
from dalembert.arm.quick import quick


class Kinematics(Compiled):
    """Poses and Jacobians of an arm."""

    @quick
    def pose(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """The tip in the base frame: (…, 4, 4) homogeneous matrices."""
        return self._run("pose", {"q": q}, threads=threads)

    @quick
    def link_poses(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """Every link's frame in the base frame: (…, n, 4, 4)."""
        return self._run("link_poses", {"q": q}, threads=threads)

    @quick
    def jacobian(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """The geometric Jacobian of the tip: (…, 6, n), linear rows first, in base axes."""
        return self._run("jacobian", {"q": q}, threads=threads)

    @quick
    def jacobian_derivative(self, q: ArrayLike, qd: ArrayLike, *, threads: int | None = None) -> Array:
        """The time derivative of the geometric Jacobian: (…, 6, n)."""
        return self._run("jacobian_derivative", {"q": q, "qd": qd}, threads=threads)
