"""Every step of the Newton–Euler recursion per link: S (7.107)–(7.114) in link axes, (7.93)–(7.106) in base axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dalembert.base.algebra.scalars import Scalar, Values
from dalembert.base.algebra.vectors import ZERO, Vec
from dalembert.mechanics.equations.kinematics import frames, velocities
from dalembert.mechanics.equations.newton_euler import BaseMotion, newton_euler
from dalembert.mechanics.equations.newton_euler_base import newton_euler_base
from dalembert.robot.model.mechanism import Mechanism


class NewtonEulerSteps(NamedTuple):
    """The results of :class:`~dalembert.mechanics.equations.newton_euler.Recursion`, link by link, and ṗ_i of (7.94)."""

    omega: list[Vec]
    omega_dot: list[Vec]
    p_dot: list[Vec]
    p_ddot: list[Vec]
    p_ddot_C: list[Vec]
    omega_dot_m: list[Vec]
    F: list[Vec]
    M: list[Vec]
    f: list[Vec]
    mu: list[Vec]
    tau: list[Scalar]


def recursion(
    mechanism: Mechanism,
    q: Values,
    qd: Values,
    qdd: Values,
    h_e: Values | None = None,
    base: BaseMotion | None = None,
    loads: Mapping[int, tuple[Vec, Vec]] | None = None,
    axes: str = "link",
) -> NewtonEulerSteps:
    """The steps in the axes of each link (M Table 2), or all in those of the base (M Table 1).

    ``loads`` are the wrenches that links exert on other bodies: force, and moment about the origin of frame i, in base
    axes. ω̇_mi is in the axes of the link that carries the rotor. ṗ_i is the velocity relative to the origin of the
    base.
    """
    F = frames(mechanism, q)
    p_dot = velocities(mechanism, F, qd, ZERO if base is None else base.omega).p_dot
    if axes == "base":
        run = newton_euler_base(mechanism, q, qd, qdd, h_e, base, loads)
    else:
        in_link = {i: (F.R[i].T @ f, F.R[i].T @ mu) for i, (f, mu) in (loads or {}).items()}
        run = newton_euler(mechanism, q, qd, qdd, h_e, base, loads=in_link)
        p_dot = [R.T @ v for R, v in zip(F.R, p_dot, strict=True)]
    by_link = {name: [x[i] for i in range(mechanism.n)] for name, x in vars(run).items()}
    return NewtonEulerSteps(**by_link, p_dot=p_dot)
