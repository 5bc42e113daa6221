"""Torques, accelerations, and what they are made of."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm.compiled import Array, Compiled
from dalembert.arm.quick import quick
from dalembert.arm.terms import Dalembert, LagrangeEuler, TorqueTerms
from dalembert.errors import DalembertError, SingularInertiaError


class ArmDynamics(Compiled):
    """The equations of motion of an arm, their terms and derivatives."""

    @quick
    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        base_motion: ArrayLike | None = None,
        formulation: str | None = None,
        out: Array | None = None,
    ) -> Array:
        """Joint torques τ for a motion, S (7.42).

        q, qd, qdd   (…, n) positions, velocities, accelerations
        tip_wrench   (…, 6) [fx fy fz mx my mz] exerted by the end effector on the environment, in
                     base axes, at the tip
        base_motion  (…, 9) [ω, ω̇, p̈] of the base, in base axes
        formulation  "newton-euler" for the page's own form; the fastest unless given
        Returns      (…, n) in N m (revolute) or N (prismatic)
        """
        return self._run(
            "inverse_dynamics", {"q": q, "qd": qd, "qdd": qdd},
            {"tip_wrench": tip_wrench, "base_motion": base_motion}, formulation, out,
        )  # fmt: skip

    @quick
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        formulation: str | None = None,
    ) -> Array:
        """Joint accelerations q̈ for given torques: (…, n), S (7.115).

        formulation  "composite" (inertia matrix and factorisation) or "articulated" (articulated
                     bodies); unless given, the one with fewer operations for this arm
        """
        self._needs_inertia()
        return self._run("forward_dynamics", {"q": q, "qd": qd, "tau": tau}, {"tip_wrench": tip_wrench}, formulation)

    @quick
    def gravity_torque(self, q: ArrayLike) -> Array:
        """g(q), the torques that hold the arm still against gravity: (…, n), S (7.39)."""
        return self._run("gravity_torque", {"q": q})

    @quick
    def friction_torque(self, qd: ArrayLike, q: ArrayLike | None = None, load: ArrayLike | None = None) -> Array:
        """F_v q̇ + F_s sgn(q̇) and all further terms, of springs too: (…, n), S (7.42).

        q     is needed where a term depends on it, and where joints that follow others rub and Γ is not constant
        load  the torque that each joint passes on, (…, n), is needed where a term depends on that; inverse_dynamics
              finds it by itself
        """
        if q is None and (why := self.placing.rubs_where):
            raise DalembertError(
                f"the friction of arm '{self.name}' depends on where it stands, since {why}: give friction_torque(qd, q)"
            )
        if load is None and (joint := next((body for body in self.mechanism.bodies if body.depends("load")), None)):
            raise DalembertError(
                f"the friction of joint '{joint.name}' depends on its load: give friction_torque(qd, q, load), or take it "
                "from inverse_dynamics"
            )
        return self._run("friction_torque", {"qd": qd}, {"q": q, "load": load})

    @quick
    def joint_wrenches(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        base_motion: ArrayLike | None = None,
    ) -> Array:
        """The loads that the bearings carry: (…, n, 6), for each joint [f_i, μ_i].

        f_i (N) and μ_i (N m, about the origin of the joint's frame) are what link i−1 exerts on
        link i, in the axes of link i's frame: S (7.112), (7.113). Of an arm with closed chains, for all
        N joints of its tree, passive ones too: (…, N, 6), the loops' reactions in them.
        """
        return self._run(
            "joint_wrenches", {"q": q, "qd": qd, "qdd": qdd}, {"tip_wrench": tip_wrench, "base_motion": base_motion}
        )

    def torque_terms(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tip_wrench: ArrayLike | None = None
    ) -> TorqueTerms:
        """The torque in its parts: what every joint's acceleration and every pair of velocities causes where.

        >>> import dalembert as da
        >>> terms = da.load("planar-2r").torque_terms([0.0, 0.5], [1.0, 2.0], [0.0, 0.0])
        >>> terms.coriolis[0, 0, 1].round(2), terms.centrifugal[1, 0].round(2)
        (np.float64(-47.94), np.float64(11.99))
        """
        return TorqueTerms(*self._run("torque_terms", {"q": q, "qd": qd, "qdd": qdd}, {"tip_wrench": tip_wrench}))

    @quick
    def inertia_matrix(self, q: ArrayLike, formulation: str | None = None) -> Array:
        """B(q): (…, n, n), S (7.32).

        formulation  "composite" (the default), "column-by-column" (S 7.6) or "lagrange"
        """
        return self._run("inertia_matrix", {"q": q}, formulation=formulation)

    @quick
    def inertia_derivative(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Ḃ along a motion: (…, n, n)."""
        return self._run("inertia_derivative", {"q": q, "qd": qd})

    @quick
    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike, formulation: str | None = None) -> Array:
        """C(q, q̇) made from Christoffel symbols, so that Ḃ − 2C is skew-symmetric: (…, n, n), S (7.44)."""
        return self._run("coriolis_matrix", {"q": q, "qd": qd}, formulation=formulation)

    @quick
    def christoffel(self, q: ArrayLike, formulation: str | None = None) -> Array:
        """The Christoffel symbols c_ijk: (…, n, n, n), S (7.45); C_ij = Σ_k c_ijk q̇_k."""
        return self._run("christoffel", {"q": q}, formulation=formulation)

    @quick
    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """½ q̇ᵀ B q̇ (J): (…), S (7.31)."""
        return self._run("kinetic_energy", {"q": q, "qd": qd})

    @quick
    def potential_energy(self, q: ArrayLike) -> Array:
        """Potential energy of the moving parts (J), zero for masses at the base's origin: (…), S (7.36)."""
        return self._run("potential_energy", {"q": q})

    def torque_derivatives(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> tuple[Array, Array]:
        """(∂τ/∂q, ∂τ/∂q̇): two arrays (…, n, n). ∂τ/∂q̈ is the inertia matrix.

        Coulomb friction is constant between its jumps and adds nothing.
        """
        return self._run("torque_derivatives", {"q": q, "qd": qd, "qdd": qdd})  # type: ignore[return-value]

    def forward_derivatives(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> tuple[Array, Array, Array]:
        """(∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ): three arrays (…, n, n); the last is B⁻¹."""
        self._needs_inertia()
        return self._run("forward_derivatives", {"q": q, "qd": qd, "tau": tau})  # type: ignore[return-value]

    @quick
    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Y(q, q̇, q̈): (…, n, 13N), with τ = Y π, S (7.81); π is :attr:`parameters`.

        Exactly so, but for Coulomb friction that differs between the directions, which has its mean here.
        ``da.ParameterSet(arm, two_sided=True, offset=True)`` has both levels and a torque offset.

        >>> import numpy as np, dalembert as da
        >>> arm = da.load("planar-2r")
        >>> x = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
        >>> np.allclose(arm.regressor(*x) @ arm.parameters, arm.inverse_dynamics(*x))
        True
        """
        return self._run("regressor", {"q": q, "qd": qd, "qdd": qdd})

    @quick
    def reference_torque(self, q: ArrayLike, qd: ArrayLike, qd_r: ArrayLike, qdd_r: ArrayLike) -> Array:
        """B(q) q̈_r + C(q, q̇) q̇_r + g(q) + f(q, q̇_r): (…, n), the torque of passivity-based control.

        C is the matrix of Christoffel symbols, S (7.44), so that Ḃ − 2C is skew-symmetric; it is not formed: a recursion
        as short as inverse dynamics gives the product. Friction f is that of the velocity q̇_r.

        q, qd        (…, n) the state
        qd_r, qdd_r  (…, n) the reference velocity and its derivative, such as q̇_d + Λ (q_d − q)

        >>> import numpy as np, dalembert as da
        >>> arm = da.load("planar-2r")
        >>> q, qd, qd_r, qdd_r = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])
        >>> tau = arm.inertia_matrix(q) @ qdd_r + arm.coriolis_matrix(q, qd) @ qd_r + arm.gravity_torque(q)
        >>> np.allclose(arm.reference_torque(q, qd, qd_r, qdd_r), tau)
        True
        """
        return self._run("reference_torque", {"q": q, "qd": qd, "qd_r": qd_r, "qdd_r": qdd_r})

    @quick
    def reference_regressor(self, q: ArrayLike, qd: ArrayLike, qd_r: ArrayLike, qdd_r: ArrayLike) -> Array:
        """Y(q, q̇, q̇_r, q̈_r): (…, n, 13N), with :meth:`reference_torque` = Y π; π is :attr:`parameters`.

        >>> import numpy as np, dalembert as da
        >>> arm = da.load("planar-2r")
        >>> x = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])
        >>> np.allclose(arm.reference_regressor(*x) @ arm.parameters, arm.reference_torque(*x))
        True
        """
        return self._run("reference_regressor", {"q": q, "qd": qd, "qd_r": qd_r, "qdd_r": qdd_r})

    @property
    def parameters(self) -> Array:
        """π of S (7.81): (13N,), for every joint of the tree m, m c, I about the frame's origin, I_m, F_v, F_s.

        A Coulomb level that differs between the directions enters with its mean: S has one F_s. Other choices of
        parameters, both levels among them, are a ``da.ParameterSet``.
        """
        from dalembert.equations.regressor import parameters

        return np.array(parameters(self.mechanism.tree), float)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters: ``m_1``, ``mx_1``, …, ``Fs_n``, with the joint's number; then those of further terms."""
        from dalembert.equations.regressor import names

        return tuple(names(self.mechanism.tree))

    def lagrange_euler(self, q: ArrayLike) -> LagrangeEuler:
        """The dynamic coefficients of M section 2: ``.D`` (…, n, n), ``.h`` (…, n, n, n), ``.c`` (…, n).

        τ_i = Σ_k D_ik q̈_k + Σ_km h_ikm q̇_k q̇_m + c_i, M (2.5), before friction and contact.
        """
        return LagrangeEuler(*self._run("lagrange_euler", {"q": q}))

    def dalembert(self, q: ArrayLike, qd: ArrayLike) -> Dalembert:
        """The generalized d'Alembert equations of M section 4, rotational and translational parts apart.

        ``.D_rot .D_tran`` (…, n, n), ``.h_tran .h_rot .c`` (…, n); τ = (D_rot + D_tran) q̈ + h_tran +
        h_rot + c, M (4.1), before friction and contact.
        """
        return Dalembert(*self._run("dalembert", {"q": q, "qd": qd}))

    def _needs_inertia(self) -> None:
        """Accelerations follow from torques only where every joint moves something and losses leave some of a load."""
        if self._all_lost:
            raise DalembertError(
                f"arm '{self.name}': friction that depends on the load takes all of it at joint {', '.join(self._all_lost)}, so "
                "that no acceleration follows from a torque; what 'load' and 'gear' take must be below 1"
            )
        if self._inert:
            raise SingularInertiaError(
                f"arm '{self.name}' has no B⁻¹: nothing resists joint {', '.join(self._inert)}; "
                "give the links behind it a mass and an inertia about its axis, or the joint a rotor"
            )

    @cached_property
    def _all_lost(self) -> list[str]:
        from dalembert.equations.friction import leaves_a_load

        return [body.name for body in self.mechanism.bodies if body.depends("load") and not leaves_a_load(body)]

    @cached_property
    def _inert(self) -> list[str]:
        return [self.joint_names[k] for k in self.placing.unresisted()]
