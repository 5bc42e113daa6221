"""Torques, accelerations, and the terms of which they consist."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm.compiled import Array, Compiled, Wrenches
from dalembert.arm.lazy import lazy
from dalembert.arm.quick import keywords_after, quick
from dalembert.arm.terms import (
    BodyEnergies,
    BodyJacobians,
    Dalembert,
    DalembertTerms,
    LagrangeEuler,
    RecursionSteps,
    TorqueSecondDerivatives,
    TorqueTerms,
)
from dalembert.base.arrays import double
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.wording import shown
from dalembert.compiler.foreign.libraries import TITLES, common_library, constant, library_of
from dalembert.compiler.quantities.joints import regressor_pattern
from dalembert.errors import DalembertError, ShapeError, SingularInertiaError
from dalembert.mechanics.equations.friction import leaves_a_load
from dalembert.mechanics.equations.regressor import INERTIAL, WIDTH, names, parameters

# coefficients 1/(k+1)! of φ(X) = Σ X^k/(k+1)!, four powers in each row; the terms beyond are below rounding up to ‖X‖ = EXACT
PHI = np.array([[1.0 / math.factorial(4 * row + k + 1) for k in range(4)] for row in range(4)])
EXACT = 0.8  # ‖X‖ up to which the sixteen terms of φ(X) are exact to rounding


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
        *,
        wrenches: Wrenches | None = None,
        threads: int | None = None,
    ) -> Array:
        """Joint torques τ for a motion, S (7.42).

        q, qd, qdd   (…, n) positions, velocities, accelerations
        tip_wrench   (…, 6) [fx fy fz mx my mz] exerted by the end effector on the environment, in
                     base axes, at the tip
        base_motion  (…, 9) [ω, ω̇, p̈] of the base, in base axes; p̈ is the acceleration of the origin of the base
                     frame, in which poses are given
        wrenches     {link: (…, 6)} exerted by any links on the environment, in base axes, at the origins of the
                     links' frames; in addition to ``tip_wrench``, which may also be given as the entry "tip"
        formulation  "newton-euler" for the form printed in the book; default: the fastest
        out          (…, n) float64 or float32, the array in which to store the torques
        threads      number of threads over which a large batch is split; default: chosen by its size
        Returns      (…, n) in N m (revolute) or N (prismatic)

        >>> import numpy as np, dalembert as da
        >>> arm, q, rest = da.load("planar-3r"), [0.3, 0.8, -0.4], [0.0, 0.0, 0.0]
        >>> push = [0.0, -20.0, 0.0, 0.0, 0.0, 0.0]  # the second link pushes down with 20 N, where its frame is
        >>> tau = arm.inverse_dynamics(q, rest, rest, wrenches={"link2": push}) - arm.gravity_torque(q)
        >>> np.allclose(tau, arm.jacobian(q, frame="link2").T @ push)
        True
        """
        options = {"tip_wrench": tip_wrench, "base_motion": base_motion, "wrenches": wrenches}
        return self._run("inverse_dynamics", {"q": q, "qd": qd, "qdd": qdd}, options, formulation, out, threads)

    @quick
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        base_motion: ArrayLike | None = None,
        formulation: str | None = None,
        *,
        wrenches: Wrenches | None = None,
        threads: int | None = None,
    ) -> Array:
        """Joint accelerations q̈ for given torques: (…, n), S (7.115).

        tip_wrench   (…, 6), base_motion (…, 9) and wrenches {link: (…, 6)}, as in :meth:`inverse_dynamics`: p̈ is the
                     acceleration of the origin of the base frame
        formulation  "composite" (inertia matrix and factorisation), "articulated" (articulated bodies), or
                     "column-by-column" (the procedure of S 7.6, for comparison); default: "composite" or "articulated",
                     whichever needs fewer operations for this arm
        """
        self._needs_inertia()
        options = {"tip_wrench": tip_wrench, "base_motion": base_motion, "wrenches": wrenches}
        return self._run("forward_dynamics", {"q": q, "qd": qd, "tau": tau}, options, formulation, threads=threads)

    @quick
    def gravity_torque(
        self, q: ArrayLike, base_motion: ArrayLike | None = None, *, threads: int | None = None
    ) -> Array:
        """g(q), the torques that hold the arm still against gravity: (…, n), S (7.39).

        base_motion  (…, 9), as in :meth:`inverse_dynamics`: the torques then hold the arm still on a base whose origin
                     accelerates with p̈ and which rotates with ω and ω̇

        >>> import dalembert as da
        >>> arm = da.load("pendulum")
        >>> falling = arm.gravity_torque([0.3], [0, 0, 0, 0, 0, 0, *arm.robot.gravity])
        >>> abs(float(falling[0])) < 1e-12
        True
        """
        return self._run("gravity_torque", {"q": q}, {"base_motion": base_motion}, threads=threads)

    @quick
    @keywords_after("qd")
    def friction_torque(
        self, qd: ArrayLike, q: ArrayLike | None = None, load: ArrayLike | None = None, *, threads: int | None = None
    ) -> Array:
        """F_v q̇ + F_s sgn(q̇) and all further friction terms, springs included: (…, n), S (7.42).

        Give q and load by keyword: q̇ comes first here, unlike in every other method.

        q     needed if a term depends on it, or if passive joints have friction and Γ is not constant
        load  the torque that each joint transmits, (…, n), needed if a term depends on it; inverse_dynamics computes it
              itself
        """
        self._needs_for_friction(q is None, load is None)
        return self._run("friction_torque", {"qd": qd}, {"q": q, "load": load}, threads=threads)

    @quick
    def joint_wrenches(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        base_motion: ArrayLike | None = None,
        *,
        wrenches: Wrenches | None = None,
        threads: int | None = None,
    ) -> Array:
        """The loads on the bearings: (…, n, 6), [f_i, μ_i] for each joint.

        f_i (N) and μ_i (N m, about the origin of the joint's frame) are exerted by link i−1 on link i, in the axes of
        link i's frame: S (7.112), (7.113). For an arm with closed chains, the result covers all N joints of its tree,
        passive joints included: (…, N, 6), and takes the reactions of the loops into account. ``tip_wrench``,
        ``base_motion`` and ``wrenches`` are those of :meth:`inverse_dynamics`.
        """
        options = {"tip_wrench": tip_wrench, "base_motion": base_motion, "wrenches": wrenches}
        return self._run("joint_wrenches", {"q": q, "qd": qd, "qdd": qdd}, options, threads=threads)

    def recursion(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        base_motion: ArrayLike | None = None,
        axes: Literal["link", "base"] = "link",
        *,
        wrenches: Wrenches | None = None,
        threads: int | None = None,
    ) -> RecursionSteps:
        """Every step of the Newton–Euler recursion per link: ω, ω̇, ṗ, p̈, p̈_C, ω̇_m, F, M, f, μ (…, N, 3) and τ (…, N).

        axes  "link": each link's quantities in the axes of its own frame, S (7.107)–(7.114) and M Table 2, ω̇_mi in the
              axes of the link that carries the rotor; "base": all in base axes, S (7.93)–(7.106) and M Table 1
        p̈_i and p̈_Ci include −g_0, as in the book, where the recursion starts from p̈_0 − g_0. Links are augmented:
        they include the rotors that they carry. N is n for an open arm. For closed chains and coupled joints, the steps
        cover all N joints of the tree, including the reactions of the loops, and Γᵀ τ are the torques of the n drives.

        >>> import dalembert as da
        >>> steps = da.load("planar-2r").recursion([0.0, 0.5], [1.0, 2.0], [0.0, 0.0])
        >>> steps.omega[:, 2], steps.p_ddot[0]
        (array([1., 3.]), array([-1.  ,  9.81,  0.  ]))
        """
        if axes not in ("link", "base"):
            raise DalembertError(f"axes is {axes!r}; it must be 'link' (S 7.5.2, M Table 2) or 'base' (M Table 1)")
        formulation = "newton-euler" if axes == "link" else "newton-euler-base"
        options = {"tip_wrench": tip_wrench, "base_motion": base_motion, "wrenches": wrenches}
        return RecursionSteps(
            *self._run("recursion", {"q": q, "qd": qd, "qdd": qdd}, options, formulation, threads=threads)
        )

    def torque_terms(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        base_motion: ArrayLike | None = None,
        *,
        wrenches: Wrenches | None = None,
        threads: int | None = None,
    ) -> TorqueTerms:
        """The terms of the torque: the contribution of each joint acceleration and each pair of joint velocities per joint.

        ``.total`` equals :meth:`inverse_dynamics` for the same arguments, and ``.contact`` is the contribution of all
        wrenches; with ``base_motion``, in which p̈ is the acceleration of the origin of the base frame, ``.base`` is
        the contribution of the moving base.

        >>> import dalembert as da
        >>> terms = da.load("planar-2r").torque_terms([0.0, 0.5], [1.0, 2.0], [0.0, 0.0])
        >>> terms.coriolis[0, 0, 1].round(2), terms.centrifugal[1, 0].round(2)
        (np.float64(-47.94), np.float64(11.99))
        """
        options = {"tip_wrench": tip_wrench, "base_motion": base_motion, "wrenches": wrenches}
        return TorqueTerms(*self._run("torque_terms", {"q": q, "qd": qd, "qdd": qdd}, options, threads=threads))

    @quick
    def inertia_matrix(self, q: ArrayLike, formulation: str | None = None, *, threads: int | None = None) -> Array:
        """B(q): (…, n, n), S (7.32).

        formulation  "composite" (the default), "column-by-column" (S 7.6) or "lagrange"
        """
        return self._run("inertia_matrix", {"q": q}, formulation=formulation, threads=threads)

    @quick
    def inertia_derivative(self, q: ArrayLike, qd: ArrayLike, *, threads: int | None = None) -> Array:
        """Ḃ along a motion: (…, n, n)."""
        return self._run("inertia_derivative", {"q": q, "qd": qd}, threads=threads)

    @quick
    def coriolis_matrix(
        self, q: ArrayLike, qd: ArrayLike, formulation: str | None = None, *, threads: int | None = None
    ) -> Array:
        """C(q, q̇) from Christoffel symbols, so that Ḃ − 2C is skew-symmetric: (…, n, n), S (7.44)."""
        return self._run("coriolis_matrix", {"q": q, "qd": qd}, formulation=formulation, threads=threads)

    @quick
    def christoffel(self, q: ArrayLike, formulation: str | None = None, *, threads: int | None = None) -> Array:
        """The Christoffel symbols c_ijk: (…, n, n, n), S (7.45); C_ij = Σ_k c_ijk q̇_k."""
        return self._run("christoffel", {"q": q}, formulation=formulation, threads=threads)

    def velocity_coefficients(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """h_ijk = ∂b_ij/∂q_k − ½ ∂b_jk/∂q_i as S (7.41) has them: (…, n, n, n).

        They give the same torques as the Christoffel symbols c_ijk, Σ h_ijk q̇_j q̇_k = Σ c_ijk q̇_j q̇_k, but are not
        symmetric in j and k: c_ijk = ½ (h_ijk + h_ikj). :meth:`couplings` shows the symmetric ones.

        >>> import dalembert as da
        >>> h = da.load("planar-2r").velocity_coefficients([0.0, -1.5707963267948966])  # S 7.3.2 with h = 25 kg m²
        >>> h.round(6).tolist()  # h_112 = 2h, h_121 = 0, h_122 = h, h_211 = −h, h_212 = ½h, h_221 = −½h
        [[[0.0, 50.0], [0.0, 25.0]], [[-25.0, 12.5], [-12.5, 0.0]]]
        """
        c = self.christoffel(q, threads=threads)
        dB = c + c.swapaxes(-3, -2)  # ∂b_ij/∂q_k = c_ijk + c_jik
        return dB - 0.5 * dB.swapaxes(-3, -1)

    @quick
    def velocity_product_matrix(
        self, q: ArrayLike, formulation: str | None = None, *, threads: int | None = None
    ) -> Array:
        """Γ(q) with C(q, q̇) q̇ = Γ(q) [q̇q̇]: (…, n, n(n+1)/2), S (7.117); [q̇q̇] is :meth:`velocity_products`.

        >>> import numpy as np, dalembert as da
        >>> arm, q, qd = da.load("planar-2r"), [0.3, 0.8], np.array([1.0, -2.0])
        >>> np.allclose(arm.velocity_product_matrix(q) @ arm.velocity_products(qd), arm.coriolis_matrix(q, qd) @ qd)
        True
        """
        return self._run("velocity_product_matrix", {"q": q}, formulation=formulation, threads=threads)

    def velocity_products(self, qd: ArrayLike) -> Array:
        """[q̇q̇] = [q̇_1², q̇_1 q̇_2, …, q̇_{n−1} q̇_n, q̇_n²]: (…, n(n+1)/2), S (7.117), in (rad/s)² or (m/s)².

        >>> import dalembert as da
        >>> arm = da.load("planar-2r")
        >>> dict(zip(arm.velocity_product_names, arm.velocity_products([3.0, 2.0]).tolist()))
        {'q̇_1²': 9.0, 'q̇_1 q̇_2': 6.0, 'q̇_2²': 4.0}
        """
        rate, (j, k) = (self.fitting if library_of(qd) else self.checked)("qd", qd), np.triu_indices(self.n)
        return rate[..., j] * rate[..., k]

    @property
    def velocity_product_names(self) -> tuple[str, ...]:
        """The names of the entries of [q̇q̇], with the joints' numbers: ``q̇_1²``, ``q̇_1 q̇_2``, …"""
        pairs = zip(*(index.tolist() for index in np.triu_indices(self.n)), strict=True)
        return tuple(f"q̇_{j + 1}²" if j == k else f"q̇_{j + 1} q̇_{k + 1}" for j, k in pairs)

    @quick
    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike, *, threads: int | None = None) -> Array:
        """½ q̇ᵀ B q̇ (J): (…), S (7.31)."""
        return self._run("kinetic_energy", {"q": q, "qd": qd}, threads=threads)

    @quick
    def potential_energy(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """Potential energy of the moving parts (J), zero for a mass at the origin of the base: (…), S (7.36)."""
        return self._run("potential_energy", {"q": q}, threads=threads)

    def body_jacobians(self, q: ArrayLike, *, threads: int | None = None) -> BodyJacobians:
        """The Jacobians of every link and rotor, S (7.16)–(7.19), (7.25)–(7.29): (…, N, 3, n) each, in base axes.

        With the corresponding masses and tensors, B(q) = Σ_i m_ℓi J_PᵀJ_P + J_Oᵀ I_ℓi J_O plus the same terms for the
        rotors, S (7.32). N is the number of joints of the tree, n for an open arm.

        >>> import dalembert as da
        >>> at = da.load("planar-2r").body_jacobians([0.0, 0.0])
        >>> at.link_linear[1, 1], at.rotor_angular[1, 2]  # S 7.3.2
        (array([1.5, 0.5]), array([  1., 100.]))
        """
        return BodyJacobians(*self._run("body_jacobians", {"q": q}, threads=threads))

    def body_energies(self, q: ArrayLike, qd: ArrayLike, *, threads: int | None = None) -> BodyEnergies:
        """Kinetic and potential energy (J) of every link and rotor: (…, N) each, S (7.20), (7.30), (7.34), (7.35).

        They sum to :meth:`kinetic_energy` and :meth:`potential_energy`.

        >>> import dalembert as da
        >>> at = da.load("planar-2r").body_energies([0.0, 0.0], [1.0, 0.0])
        >>> at.link_kinetic, at.rotor_kinetic
        (array([11.25, 61.25]), array([50.   ,  2.505]))
        """
        return BodyEnergies(*self._run("body_energies", {"q": q, "qd": qd}, threads=threads))

    def torque_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, threads: int | None = None
    ) -> tuple[Array, Array]:
        """(∂τ/∂q, ∂τ/∂q̇): two arrays (…, n, n). ∂τ/∂q̈ is the inertia matrix.

        Coulomb friction is constant between its jumps and contributes nothing.
        """
        return self._run("torque_derivatives", {"q": q, "qd": qd, "qdd": qdd}, threads=threads)  # type: ignore[return-value]

    def torque_second_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, threads: int | None = None
    ) -> TorqueSecondDerivatives:
        """The second derivatives of τ: ``.dq_dq``, ``.dq_dqd``, ``.dqd_dqd`` and ``.dq_dqdd``, (…, n, n, n) each.

        Entry [i, j, k] is the derivative of τ_i with respect to entry j of the first variable and entry k of the
        second. ``.dq_dqdd`` is ∂B/∂q; the derivatives ∂²τ/∂q̇∂q̈ and ∂²τ/∂q̈² vanish. Coulomb friction contributes
        nothing.

        >>> import numpy as np, dalembert as da
        >>> arm, q = da.load("planar-2r"), [0.3, 0.8]
        >>> second, c = arm.torque_second_derivatives(q, [1.0, 2.0], [0.0, 0.0]), arm.christoffel(q)
        >>> np.allclose(second.dqd_dqd, c + np.swapaxes(c, 1, 2))
        True
        """
        motion = {"q": q, "qd": qd, "qdd": qdd}
        return TorqueSecondDerivatives(*self._run("torque_second_derivatives", motion, threads=threads))

    def forward_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *, threads: int | None = None
    ) -> tuple[Array, Array, Array]:
        """(∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ): three arrays (…, n, n); the last is B⁻¹."""
        self._needs_inertia()
        return self._run("forward_derivatives", {"q": q, "qd": qd, "tau": tau}, threads=threads)  # type: ignore[return-value]

    @lazy("q qd tau", lambda arm: [(2 * arm.n, 2 * arm.n), (2 * arm.n, arm.n)])
    def linearize(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, dt: float | None = None, *, threads: int | None = None
    ) -> tuple[Array, Array]:
        """(A, B) of the dynamics linearised about a state and torques: (…, 2n, 2n) and (…, 2n, n).

        With x = [q, q̇] and deviations from the point of linearisation, δẋ = A δx + B δτ, where
        A = [[0, 1], [∂q̈/∂q, ∂q̈/∂q̇]] and B = [[0], [∂q̈/∂τ]]; about a state that is not an equilibrium, the
        deviations are relative to the motion through that state. Coulomb friction is constant between its jumps and
        contributes nothing.

        dt  (s) for the discrete system δx_{k+1} = A δx_k + B δτ_k, with torques held constant over each step: exact for
            the linear system, by the matrix exponential of [[A, B], [0, 0]] dt

        >>> import numpy as np, dalembert as da
        >>> arm = da.load("pendulum")
        >>> A, B = arm.linearize([0.3], [0.0], arm.gravity_torque([0.3]))
        >>> np.allclose(B[1, 0] * arm.inertia_matrix([0.3]), 1.0)
        True
        """
        if (library := common_library((q, qd, tau))) is not None:
            raise ShapeError(f"linearize takes NumPy arrays, but was given {TITLES[library]}: use forward_derivatives")
        more = {} if threads is None else {"threads": threads}  # without options, its quick route
        dq, dqd, dtau = self.forward_derivatives(q, qd, tau, **more)
        n, lead = self.n, dq.shape[:-2]
        A, B = np.zeros((*lead, 2 * n, 2 * n), dq.dtype), np.zeros((*lead, 2 * n, n), dq.dtype)
        A[..., :n, n:] = np.eye(n)
        A[..., n:, :n], A[..., n:, n:], B[..., n:, :] = dq, dqd, dtau
        A, B = (A, B) if dt is None else _held_over_steps(A, B, dt)
        singles = all(getattr(x, "dtype", None) in (np.dtype("<f4"), np.dtype(">f4")) for x in (q, qd, tau))
        return (A.astype(np.float32), B.astype(np.float32)) if singles else (A, B)

    @quick
    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, threads: int | None = None) -> Array:
        """Y(q, q̇, q̈): (…, n, 13N), with τ = Y π, S (7.81); π is :attr:`parameters`.

        This is exact, except that Coulomb friction that differs between the directions enters with its mean.
        ``da.ParameterSet(arm, two_sided=True, offset=True)`` has both levels and a torque offset.

        >>> import numpy as np, dalembert as da
        >>> arm = da.load("planar-2r")
        >>> x = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
        >>> np.allclose(arm.regressor(*x) @ arm.parameters, arm.inverse_dynamics(*x))
        True
        """
        return self._run("regressor", {"q": q, "qd": qd, "qdd": qdd}, threads=threads)

    @quick
    def compact_regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, threads: int | None = None) -> Array:
        """The entries of Y(q, q̇, q̈) that are not identically 0: (…, entries), in the order of :attr:`regressor_pattern`.

        For a serial chain these are about half of Y, since links closer to the base do not load a joint.

        >>> import numpy as np, dalembert as da
        >>> arm = da.load("planar-2r")
        >>> x = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
        >>> rows, columns = arm.regressor_pattern
        >>> Y = np.zeros((arm.n, arm.parameters.size))
        >>> Y[rows, columns] = arm.compact_regressor(*x)
        >>> np.allclose(Y, arm.regressor(*x), rtol=1e-14)
        True
        """
        return self._run("compact_regressor", {"q": q, "qd": qd, "qdd": qdd}, threads=threads)

    @cached_property
    def regressor_pattern(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """(rows, columns) of the entries of the regressor that are not identically 0, row by row.

        The zeros follow from the arm's structure and numbers: parallel or intersecting axes, lengths of 0.
        """
        rows, columns = np.array(regressor_pattern(self.mechanism), np.intp).reshape(-1, 2).T
        for index in (rows, columns):
            index.flags.writeable = False
        return rows, columns

    @quick
    def reference_torque(
        self, q: ArrayLike, qd: ArrayLike, qd_r: ArrayLike, qdd_r: ArrayLike, *, threads: int | None = None
    ) -> Array:
        """B(q) q̈_r + C(q, q̇) q̇_r + g(q) + f(q, q̇_r): (…, n), the torque of passivity-based control.

        C is the matrix of Christoffel symbols, S (7.44), so that Ḃ − 2C is skew-symmetric; it is not formed: a
        recursion as short as inverse dynamics computes the product. Friction f is evaluated at the velocity q̇_r.

        q, qd        (…, n) the state
        qd_r, qdd_r  (…, n) the reference velocity and its derivative, such as q̇_d + Λ (q_d − q)

        >>> import numpy as np, dalembert as da
        >>> arm = da.load("planar-2r")
        >>> q, qd, qd_r, qdd_r = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])
        >>> tau = arm.inertia_matrix(q) @ qdd_r + arm.coriolis_matrix(q, qd) @ qd_r + arm.gravity_torque(q)
        >>> np.allclose(arm.reference_torque(q, qd, qd_r, qdd_r), tau)
        True
        """
        return self._run("reference_torque", {"q": q, "qd": qd, "qd_r": qd_r, "qdd_r": qdd_r}, threads=threads)

    @quick
    def reference_regressor(
        self, q: ArrayLike, qd: ArrayLike, qd_r: ArrayLike, qdd_r: ArrayLike, *, threads: int | None = None
    ) -> Array:
        """Y(q, q̇, q̇_r, q̈_r): (…, n, 13N), with :meth:`reference_torque` = Y π; π is :attr:`parameters`.

        >>> import numpy as np, dalembert as da
        >>> arm = da.load("planar-2r")
        >>> x = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])
        >>> np.allclose(arm.reference_regressor(*x) @ arm.parameters, arm.reference_torque(*x))
        True
        """
        return self._run("reference_regressor", {"q": q, "qd": qd, "qd_r": qd_r, "qdd_r": qdd_r}, threads=threads)

    def energy_regressors(self, q: ArrayLike, qd: ArrayLike, *, threads: int | None = None) -> tuple[Array, Array]:
        """(β_T, β_U), two arrays (…, N, 11): T = Σ_i β_Tiᵀ π_i and U = Σ_i β_Uiᵀ π_i, S (7.76).

        π_i are the 11 parameters of S (7.77), the first 11 of the 13 that joint i of the tree has in :attr:`parameters`:
        ``arm.parameters[: 13 * N].reshape(N, 13)[:, :11]``. Friction does not enter the energies. The regressor Y
        follows from them by Lagrange's equations, S (7.79).

        >>> import numpy as np, dalembert as da
        >>> arm = da.load("planar-2r")
        >>> beta_T, beta_U = arm.energy_regressors([0.1, 0.2], [0.3, 0.4])
        >>> pi = arm.parameters.reshape(2, 13)[:, :11]
        >>> np.allclose((beta_T * pi).sum(), arm.kinetic_energy([0.1, 0.2], [0.3, 0.4]))
        True
        """
        return self._run("energy_regressors", {"q": q, "qd": qd}, threads=threads)  # type: ignore[return-value]

    @property
    def parameters(self) -> Array:
        """π of S (7.81): (13N,); per joint of the tree: m, m c, I about the frame's origin, I_m, F_v, F_s.

        A Coulomb level that differs between the directions enters with its mean, because S has a single F_s. For other
        sets of parameters, with both levels for example, use ``da.ParameterSet``.
        """
        return np.array(parameters(self.mechanism.tree), float)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters: ``m_1``, ``mx_1``, …, ``Fs_n``, by joint number; then those of further terms."""
        return tuple(names(self.mechanism.tree))

    def scaled_parameters(
        self, *, mass: ArrayLike = 1.0, rotor: ArrayLike = 1.0, viscous: ArrayLike = 1.0, coulomb: ArrayLike = 1.0
    ) -> Array:
        """:attr:`parameters` with some of them scaled, joint by joint, for :meth:`Arm.variants`: (…, 13N).

        mass     factor of mass, first moments and inertia together, as for another material: (…, N), or one number for
                 all; the rotors that a link carries are scaled with it
        rotor    factor of I_m, viscous of F_v, coulomb of F_s: (…, N) or one number
        The coefficients of further terms are not scaled.

        >>> import numpy as np, dalembert as da
        >>> arm = da.load("planar-2r")
        >>> arm.scaled_parameters(mass=np.random.default_rng(0).uniform(0.9, 1.1, (1000, 2))).shape
        (1000, 26)
        """
        groups = {"mass": (mass, len(INERTIAL)), "rotor": (rotor, 1), "viscous": (viscous, 1), "coulomb": (coulomb, 1)}
        own, N = self.parameters, self.sizes["N"]
        columns = []
        for name, (value, count) in groups.items():
            factor = double(name, value)
            if factor.ndim and factor.shape[-1] != N:
                raise ShapeError(
                    f"{name} has shape {factor.shape}, but arm '{self.name}' has parameters of {N} joints: the last axis must "
                    f"be {N}, as in (…, {N})"
                )
            columns += [factor if factor.ndim else np.full(N, factor)] * count
        scale = np.stack(np.broadcast_arrays(*columns), axis=-1)
        leading = scale.shape[:-2]
        further = np.ones((*leading, len(own) - N * WIDTH))
        return own * np.concatenate([scale.reshape(*leading, N * WIDTH), further], axis=-1)

    def lagrange_euler(self, q: ArrayLike, *, threads: int | None = None) -> LagrangeEuler:
        """The dynamic coefficients of M section 2: ``.D`` (…, n, n), ``.h`` (…, n, n, n), ``.c`` (…, n).

        τ_i = Σ_k D_ik q̈_k + Σ_km h_ikm q̇_k q̇_m + c_i, M (2.5), before friction and contact.
        """
        return LagrangeEuler(*self._run("lagrange_euler", {"q": q}, threads=threads))

    def dalembert(self, q: ArrayLike, qd: ArrayLike, *, threads: int | None = None) -> Dalembert:
        """The generalized d'Alembert equations of M section 4, with rotational and translational parts separated.

        ``.D_rot .D_tran`` (…, n, n), ``.h_tran .h_rot .c`` (…, n); τ = (D_rot + D_tran) q̈ + h_tran +
        h_rot + c, M (4.1), before friction and contact.
        """
        return Dalembert(*self._run("dalembert", {"q": q, "qd": qd}, threads=threads))

    def dalembert_terms(self, q: ArrayLike, qd: ArrayLike, *, threads: int | None = None) -> DalembertTerms:
        """h^tran and h^rot of M (4.3), (4.4) term by term: (…, n, N) each, the contribution of link s at joint i.

        M's four sums ``.tran_1 … .tran_4``, the two terms ``.rot_1 .rot_2``, and the terms of prismatic joints and
        rotors; ``.split`` returns every term as its two parts with p = q (centrifugal) and p ≠ q (Coriolis).

        >>> import dalembert as da
        >>> at = da.load("planar-2r").dalembert_terms([0.0, 0.5], [1.0, 2.0])
        >>> at.centrifugal.round(2), at.coriolis.round(2)
        (array([-47.94,  11.99]), array([-47.94,   0.  ]))
        """
        return DalembertTerms(*self._run("dalembert_terms", {"q": q, "qd": qd}, threads=threads))

    @constant
    def _needs_for_friction(self, no_q: bool, no_load: bool) -> None:
        """Refuse to compute friction from velocities alone if a term depends on q or on the load."""
        if no_q and (why := self.placing.why_q_matters):
            raise DalembertError(
                f"the friction of arm '{self.name}' depends on its configuration, since {why}: give friction_torque(qd, q=q)"
            )
        if no_load and (joint := next((body for body in self.mechanism.bodies if body.depends("load")), None)):
            raise DalembertError(
                f"the friction of joint '{joint.name}' depends on its load: give friction_torque(qd, q=q, load=load), or use "
                "inverse_dynamics"
            )

    @constant
    def _needs_inertia(self) -> None:
        """Refuse to compute accelerations if a joint moves no inertia, or if friction consumes the whole load."""
        if self._all_lost:
            raise DalembertError(
                f"arm '{self.name}': load-dependent friction consumes the whole load of joint {', '.join(self._all_lost)}, so "
                "torques do not determine the accelerations; the fractions lost by 'load' and 'gear' must be below 1"
            )
        if self._inert:
            raise SingularInertiaError(
                f"arm '{self.name}' has no B⁻¹: no inertia resists joint {', '.join(self._inert)}; "
                "give the links beyond it a mass and an inertia about its axis, or the joint a rotor"
            )

    @cached_property
    def _all_lost(self) -> list[str]:
        return [body.name for body in self.mechanism.bodies if body.depends("load") and not leaves_a_load(body)]

    @cached_property
    def _inert(self) -> list[str]:
        return [self.joint_names[k] for k in self.placing.unresisted()]


def _held_over_steps(A: Array, B: Array, dt: float) -> tuple[Array, Array]:
    """exp(A dt) and ∫ exp(A s) ds B over one step, during which the inputs are held constant.

    Both follow from φ(X) = Σ X^k/(k+1)!, X = A h: exp(X) = 1 + X φ(X) and ∫ exp(A s) ds = h φ(X). The series is summed for
    h = dt/2^s, at which 16 terms are exact to rounding, by blocks of four powers; each doubling squares exp(X).
    """
    if not (isinstance(dt, (int, float, np.number)) and 0.0 < dt < np.inf):
        raise DalembertError(f"dt is {shown(dt)}; it must be a positive time in seconds")
    A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    size = float(dt) * float(np.sqrt(np.einsum("...ij,...ij->...", A, A).max(initial=0.0)))
    doublings = max(0, math.ceil(math.log2(size / EXACT))) if EXACT < size < np.inf else 0
    h = math.ldexp(dt, -doublings)
    eye, powers = np.eye(A.shape[-1]), np.empty((4, *A.shape))  # 1, X, X², X³
    powers[0] = eye
    X, X2, X3 = np.multiply(A, h, out=powers[1]), powers[2], powers[3]
    X4 = np.matmul(np.matmul(X, X, out=X2), X2)
    np.matmul(X2, X, out=X3)
    first, second, third, phi = (PHI @ powers.reshape(4, -1)).reshape(powers.shape)
    for block in (third, second, first):
        phi = phi @ X4 + block
    held, moved = eye + X @ phi, h * (phi @ B)
    for _ in range(doublings):
        held, moved = held @ held, held @ moved + moved
    return held, moved
