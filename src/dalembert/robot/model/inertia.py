"""Mass, centre of mass and inertia tensor of a rigid body, in all forms used by the documents."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import add, sub
from typing import TYPE_CHECKING, Any

from dalembert.base.algebra.records import number, settle
from dalembert.base.algebra.scalars import Scalar, select
from dalembert.base.algebra.vectors import IDENTITY, NULL, ZERO, Mat, MatLike, Vec, VecLike
from dalembert.base.files.file_bounds import LARGEST_NUMBER
from dalembert.robot.model.placement import Placement, matrix, vector

if TYPE_CHECKING:
    from dalembert.base.arrays import Array

ROUNDING = 1e-15  # m²: moments smaller than this times the mass are those of a point mass


def steiner(mass: Scalar, r: VecLike) -> Mat:
    """m Sᵀ(r) S(r), the Steiner term of S (7.60), (7.71): m (rᵀr 1 − r rᵀ)."""
    r = Vec(r)
    return mass * (r.dot(r) * IDENTITY - r.outer(r))


@dataclass(frozen=True)
class Inertia:
    """A rigid body's mass (kg), centre of mass (m) and inertia tensor about it (kg m²).

    All are expressed in the axes of the link frame. The tensor has the sign convention of URDF and Pinocchio,
    ``tensor[0][1] = −∫xy dm``; S (7.11) calls the same entry −I_xy.

    >>> rod = Inertia(2.0, (0.5, 0, 0), ((0, 0, 0), (0, 1, 0), (0, 0, 1)))
    >>> rod.first_moments, rod.tensor_at_origin[2][2]
    ((1.0, 0.0, 0.0), 1.5)
    """

    mass: Scalar = 0.0
    com: VecLike = ZERO
    tensor: MatLike = NULL

    def __post_init__(self) -> None:
        com, tensor = vector(self.com, "a centre of mass"), matrix(self.tensor, "an inertia tensor")
        settle(self, mass=number(self.mass), com=com, tensor=tensor)

    @property
    def first_moments(self) -> Vec:
        """m r_C (kg m), S (7.72)."""
        return self.mass * self.com

    @property
    def tensor_at_origin(self) -> Mat:
        """Î, the tensor about the origin of the frame (kg m²), S (7.71)."""
        return self.tensor + steiner(self.mass, self.com)

    @property
    def second_moments(self) -> Mat:
        """Σ = ∫ r rᵀ dm about the origin of the frame (kg m²): Σ = ½ tr(Î) 1 − Î."""
        at_origin = self.tensor_at_origin
        return 0.5 * at_origin.trace * IDENTITY - at_origin

    @property
    def pseudo(self) -> Mat:
        """J, the 4×4 pseudo-inertia of M: [[Σ, m r_C], [(m r_C)ᵀ, m]]."""
        S, h = self.second_moments, self.first_moments
        return Mat.of((*((*S[k], h[k]) for k in range(3)), (*h, self.mass)))

    @staticmethod
    def from_origin(mass: Scalar, first_moments: VecLike, tensor: MatLike) -> Inertia:
        """From the parameters of S (7.77): m, m r_C and the tensor about the frame's origin."""
        com = 1.0 / mass * Vec(first_moments) if mass != 0 else ZERO
        return Inertia(mass, com, Mat.of(tensor) - steiner(mass, com))

    @staticmethod
    def from_pseudo(J: tuple[tuple[Scalar, ...], ...]) -> Inertia:
        """From M's 4×4 pseudo-inertia matrix."""
        S = Mat.of(row[:3] for row in J[:3])
        return Inertia.from_origin(J[3][3], J[3][:3], S.trace * IDENTITY - S)

    def seen_from(self, placement: Placement) -> Inertia:
        """The same body expressed in the outer frame in which its own frame has this ``placement``."""
        R = placement.rotation
        return Inertia(self.mass, placement.point(self.com), R @ (self.tensor @ R.T))

    def __add__(self, other: Inertia) -> Inertia:
        """The two bodies combined into one, S (7.60)–(7.65)."""
        mass = self.mass + other.mass
        if isinstance(mass, float) and mass == 0.0:
            return Inertia(0.0, ZERO, self.tensor + other.tensor)
        if isinstance(other.mass, float) and other.mass == 0.0:
            com = self.com
        elif isinstance(self.mass, float) and self.mass == 0.0:
            com = other.com
        else:
            com = 1.0 / mass * (self.first_moments + other.first_moments)
        own, others = (body.tensor + steiner(body.mass, body.com - com) for body in (self, other))
        return Inertia(mass, com, own + others)

    @property
    def is_zero(self) -> bool:
        """Whether there is neither mass nor tensor: a frame, not a body."""
        return self.mass == 0 and all(x == 0 for row in self.tensor for x in row)

    def impossible(self) -> str | None:
        """The reason why no body can have this inertia, including the value; or None.

        A tensor belongs to a mass distribution if its principal moments satisfy the triangle
        inequalities, that is, if Σ_C ⪰ 0 for the second moments about the centre of mass.
        """
        import numpy as np

        values = (self.mass, *self.com, *(x for row in self.tensor for x in row))
        if not all(math.isfinite(v) for v in values):
            return "it has a value that is not a finite number"
        if abs(most := max(values, key=abs)) > LARGEST_NUMBER:
            return f"it has the value {most:g}; at most {LARGEST_NUMBER:g} in SI units is allowed"
        if self.mass < 0:
            return f"its mass is negative ({self.mass:g} kg)"
        I: Any = np.array(self.tensor)
        size = float(np.abs(I).max())
        if size > 0 and float(np.abs(I - I.T).max()) > 1e-9 * size:
            return "its inertia tensor is not symmetric"
        if self.mass == 0 and size > 0:
            return "it has an inertia tensor but no mass"
        if size <= ROUNDING * self.mass:
            return None  # a point mass, with moments due to rounding
        a, b, c = (float(x) for x in np.linalg.eigvalsh(I))
        if a < -1e-9 * size:
            return f"its inertia tensor has a negative principal moment ({a:.4g} kg m²)"
        if a + b < c * (1 - 1e-6):
            return (
                f"its principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m² violate the triangle inequality "
                f"({a:.4g} + {b:.4g} < {c:.4g})"
            )
        return None


@dataclass(frozen=True)
class Moments:
    """A body described by its moments about the frame origin, S (7.77), which may be symbolic; the mass may be 0.

    It has the interface of :class:`Inertia`. Only ``com`` and ``tensor`` divide by the mass; for a body without mass
    they are those of a body whose centre of mass is at the origin.

    share   the share of the whole body that this is, if known
    """

    mass: Scalar
    first_moments: Vec
    second_moments: Mat
    share: float | None = None

    is_zero = False

    @staticmethod
    def of(body: Inertia | Moments) -> Moments:
        """The same body, described by its moments."""
        return Moments(body.mass, body.first_moments, body.second_moments)

    @property
    def com(self) -> Vec:
        """r_C = m r_C / m (m)."""
        over = select(self.mass, 1.0 / select(self.mass, self.mass, 1.0), 0.0)
        return over * self.first_moments

    @property
    def tensor_at_origin(self) -> Mat:
        """Î = tr(Σ) 1 − Σ"""
        return self.second_moments.trace * IDENTITY - self.second_moments

    @property
    def tensor(self) -> Mat:
        """The tensor about the centre of mass, S (7.71)."""
        return self.tensor_at_origin - steiner(self.mass, self.com)

    @property
    def pseudo(self) -> Mat:
        """J, the 4×4 pseudo-inertia of M: [[Σ, m r_C], [(m r_C)ᵀ, m]]."""
        S, h = self.second_moments, self.first_moments
        return Mat.of((*((*S[k], h[k]) for k in range(3)), (*h, self.mass)))

    def seen_from(self, placement: Placement) -> Moments:
        """The same body expressed in the outer frame in which its own frame has this ``placement``."""
        R, t, m = placement.rotation, placement.translation, self.mass
        h = R @ self.first_moments
        turned = R @ (self.second_moments @ R.T)
        moved = t.outer(h) + h.outer(t) + m * t.outer(t)
        return Moments(m, h + m * t, turned + moved)

    def __add__(self, other: Inertia | Moments) -> Moments:
        """The two bodies combined into one."""
        return self._each(add, other)

    def __sub__(self, other: Inertia | Moments) -> Moments:
        """The remaining body after ``other`` has been removed."""
        return self._each(sub, other)

    def _each(self, f: Callable[[Any, Any], Any], other: Inertia | Moments) -> Moments:
        names = ("mass", "first_moments", "second_moments")
        return Moments(*(f(getattr(self, name), getattr(other, name)) for name in names))

    def scaled(self, share: float) -> Moments:
        """A share of the body, with the same mass distribution."""
        return Moments(share * self.mass, share * self.first_moments, share * self.second_moments, share)


# -- numbers ---------------------------------------------------------------------------------------


def ten_parameters(body: Inertia | Moments) -> Array:
    """m, m r_C and Î_xx, Î_xy, Î_xz, Î_yy, Î_yz, Î_zz about the origin of the frame, S (7.77): (10,)."""
    import numpy as np

    I = body.tensor_at_origin
    return np.array([body.mass, *body.first_moments, *(I[j][k] for j in range(3) for k in range(j, 3))], float)


def from_ten_parameters(values: Array) -> Inertia:
    """The body with these ten parameters: the inverse of :func:`ten_parameters`."""
    m, x, y, z, xx, xy, xz, yy, yz, zz = values.tolist()
    return Inertia.from_origin(m, (x, y, z), ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))


def point_masses(mass: Array, at: Array) -> Array:
    """The ten parameters (…, 10) of masses (…) at points (…, 3), S (7.60)."""
    import numpy as np

    x, y, z = np.moveaxis(at, -1, 0)
    moments = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
    return mass[..., None] * np.stack([np.ones_like(x), x, y, z, *moments], axis=-1)
