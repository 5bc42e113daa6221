"""Positions and velocities of the links."""

from __future__ import annotations

from numpy.typing import ArrayLike

from dalembert.arm.compiled import Array, Compiled
from dalembert.arm.quick import quick


class Kinematics(Compiled):
    """Poses and Jacobians of an arm.

    ``frame`` is the name of a link, or "tip", which is the default. The frame of a link is the one defined in its robot
    file.
    """

    @quick
    def pose(self, q: ArrayLike, *, frame: str | None = None, threads: int | None = None) -> Array:
        """Pose of the tip, or of the frame of a link, in the base frame: (…, 4, 4) homogeneous matrices.

        >>> import dalembert as da
        >>> da.load("planar-2r").pose([0.0, 0.0], frame="link1")[:3, 3]
        array([1., 0., 0.])
        """
        return self.ending_at(frame)._run("pose", {"q": q}, threads=threads)

    @quick
    def link_poses(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """Poses of all link frames in the base frame: (…, n, 4, 4)."""
        return self._run("link_poses", {"q": q}, threads=threads)

    @quick
    def jacobian(self, q: ArrayLike, *, frame: str | None = None, threads: int | None = None) -> Array:
        """The geometric Jacobian of the tip, or of the frame of a link: (…, 6, n), linear rows first, in base axes."""
        return self.ending_at(frame)._run("jacobian", {"q": q}, threads=threads)

    @quick
    def jacobian_derivative(
        self, q: ArrayLike, qd: ArrayLike, *, frame: str | None = None, threads: int | None = None
    ) -> Array:
        """The time derivative of :meth:`jacobian`: (…, 6, n)."""
        return self.ending_at(frame)._run("jacobian_derivative", {"q": q, "qd": qd}, threads=threads)
