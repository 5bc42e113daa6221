"""The terms of a torque, as data classes with named fields."""

from __future__ import annotations

from dataclasses import fields
from functools import reduce
from itertools import combinations_with_replacement
from operator import add

from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.compiler.foreign.libraries import constant, entries, where


@record
class LagrangeEuler:
    """The dynamic coefficients of M (2.11), (2.14), (2.15)."""

    D: Array
    h: Array
    c: Array


@record
class Dalembert:
    """The coefficients of the generalized d'Alembert equations, M (4.2)–(4.5)."""

    D_rot: Array
    D_tran: Array
    h_tran: Array
    h_rot: Array
    c: Array


@record
class TorqueSecondDerivatives:
    """∂²τ_i/∂x_j∂y_k, (…, n, n, n) each, in N m (N if joint i is prismatic) per unit of x_j and of y_k.

    dq_dq     ∂²τ_i/∂q_j∂q_k, symmetric in j and k
    dq_dqd    ∂²τ_i/∂q_j∂q̇_k
    dqd_dqd   ∂²τ_i/∂q̇_j∂q̇_k, symmetric; without friction c_ijk + c_ikj, S (7.45)
    dq_dqdd   ∂²τ_i/∂q_j∂q̈_k = ∂b_ik/∂q_j
    """

    dq_dq: Array
    dq_dqd: Array
    dqd_dqd: Array
    dq_dqdd: Array


@record
class RecursionSteps:
    """Every step of the Newton–Euler recursion, S 7.5.2: (…, N, 3) each, for all N joints of the tree; tau (…, N).

    omega, omega_dot   ω_i, ω̇_i                                      rad/s, rad/s²   (7.107), (7.108)
    p_dot              ṗ_i, velocity of the origin of frame i         m/s             (7.94)
    p_ddot, p_ddot_C   p̈_i and p̈_Ci (M: v̇_i, ā_i) minus g_0          m/s²            (7.109), (7.110)
    omega_dot_m        ω̇_mi of the rotor that drives joint i          rad/s²          (7.111)
    F, M               m_i p̈_Ci and Ī_i ω̇_i + ω_i × (Ī_i ω_i)         N, N m          M Tables 1, 2
    f, mu              f_i, μ_i that link i−1 exerts on link i         N, N m          (7.112), (7.113)
    tau                τ_i at the joints of the tree                   N m or N        (7.114)
    """

    omega: Array
    omega_dot: Array
    p_dot: Array
    p_ddot: Array
    p_ddot_C: Array
    omega_dot_m: Array
    F: Array
    M: Array
    f: Array
    mu: Array
    tau: Array


@record
class BodyJacobians:
    """The links ℓ_i and rotors m_i of all N joints of the tree, separately, in base axes.

    link_linear, link_angular    (…, N, 3, n)  J_P^(ℓi) and J_O^(ℓi), S (7.16)–(7.19)
    rotor_linear, rotor_angular  (…, N, 3, n)  J_P^(mi) and J_O^(mi), S (7.25)–(7.29)
    link_mass, rotor_mass        (…, N)        m_ℓi, m_mi (kg)
    link_position, rotor_position (…, N, 3)    p_ℓi, p_mi, the centres of mass (m)
    link_tensor, rotor_tensor    (…, N, 3, 3)  I_ℓi, I_mi about them (kg m²), S (7.12)
    The rotor entries of joints without a rotor are zero. A reflected rotor has I_mi z_m z_mᵀ and J_O = [0 … k_r z_m …
    0], S 7.3.2.
    """

    link_mass: Array
    link_position: Array
    link_linear: Array
    link_angular: Array
    link_tensor: Array
    rotor_mass: Array
    rotor_position: Array
    rotor_linear: Array
    rotor_angular: Array
    rotor_tensor: Array


@record
class BodyEnergies:
    """Energies (J) of each link and each rotor: (…, N), for all N joints of the tree.

    link_kinetic, rotor_kinetic      T_ℓi of S (7.13), (7.20) and T_mi of (7.21), (7.30)
    link_potential, rotor_potential  U_ℓi of S (7.34) and U_mi of (7.35); 0 for a rotor on the base, which does not move
    """

    link_kinetic: Array
    rotor_kinetic: Array
    link_potential: Array
    rotor_potential: Array


@record
class DalembertTerms:
    """h_i^tran and h_i^rot of M (4.3), (4.4) term by term: (…, n, N), the contribution of link s at joint i.

    tran_1           M (4.3), first sum:  m_s ω_k × (ω_k × p*_k) over the links k below link s
    tran_2           second sum: m_s ω̂̇_k × p*_k, with ω̂̇ = Σ_p (Σ_{q<p} θ̇_q z_q−1) × θ̇_p z_p−1
    tran_3, tran_4   third and fourth sum: the same two sums for link s itself, with c̄_s
    tran_sliding     2 ω_k × ḋ_k z_k−1 of prismatic joints, F (6) in docs/formulations.md
    rot_1, rot_2     M (4.4): z_i−1ᵀ I_s ω̂̇_s, and (z_i−1 × ω_s)ᵀ I_s ω_s
    rot_rotor        the spin of the rotor that drives joint s, F (12) and (13)
    centrifugal_1, centrifugal_3, centrifugal_rot   the part of tran_1, tran_3 and rot_2 with p = q; all other parts
                     and all other terms are products of the velocities of two joints, p ≠ q
    closure_tran, closure_rot   (…, n)  contribution of joints that follow others nonlinearly, D Γ̇ q̇; 0 for open arms
    In N m (revolute) or N (prismatic). For closed chains, p and q count the joints of the tree.
    """

    tran_1: Array
    tran_2: Array
    tran_3: Array
    tran_4: Array
    tran_sliding: Array
    rot_1: Array
    rot_2: Array
    rot_rotor: Array
    centrifugal_1: Array
    centrifugal_3: Array
    centrifugal_rot: Array
    closure_tran: Array
    closure_rot: Array

    @property
    def split(self) -> dict[str, tuple[Array, Array]]:
        """Every term of (4.3), (4.4), by name, as (p = q, p ≠ q): two arrays (…, n, N) whose sum is the term."""
        same = {"tran_1": self.centrifugal_1, "tran_3": self.centrifugal_3, "rot_2": self.centrifugal_rot}
        terms = {f.name: getattr(self, f.name) for f in fields(self) if f.name.startswith(("tran", "rot"))}
        return {name: (same.get(name, 0.0 * x), x - same.get(name, 0.0)) for name, x in terms.items()}

    @property
    def h_tran(self) -> Array:
        """h^tran of M (4.3): (…, n)."""
        sums = self.tran_1 + self.tran_2 + self.tran_3 + self.tran_4 + self.tran_sliding
        return sums.sum(axis=-1) + self.closure_tran

    @property
    def h_rot(self) -> Array:
        """h^rot of M (4.4): (…, n)."""
        return (self.rot_1 + self.rot_2 + self.rot_rotor).sum(axis=-1) + self.closure_rot

    @property
    def centrifugal(self) -> Array:
        """All parts with p = q: (…, n), Σ_j h_ijj q̇_j² of S (7.40)."""
        return (self.centrifugal_1 + self.centrifugal_3 + self.centrifugal_rot).sum(axis=-1)

    @property
    def coriolis(self) -> Array:
        """All parts with p ≠ q: (…, n), the sum of h_ijk q̇_j q̇_k, k ≠ j, of S (7.40)."""
        return self.h_tran + self.h_rot - self.closure_tran - self.closure_rot - self.centrifugal


@record
class TorqueTerms:
    """The torque per joint, separated by cause; the nine fields sum to the torque.

    inertia      (…, n, n)     at joint i, due to the acceleration of joint j: b_ij q̈_j of the links (and of the
                 rotors,
                               as if fixed to them)
    rotor        (…, n, n)     the same, due to the rotors' own spin: k_ri² I_mi and k_ri I_mi terms
    products     (…, n, n(n+1)/2)  at joint i, due to a product of two velocities, in the order of
                               :meth:`Arm.velocity_products`; ``centrifugal`` and ``coriolis`` arrange them by joints
    gravity, viscous, coulomb, contact   (…, n)
    other        (…, n)        further terms of friction, springs and losses
    base         (…, n)        contribution of the motion of the base; 0 unless ``base_motion`` is given
    All in N m (revolute) or N (prismatic). S 7.1.3 discusses these terms, Example 7.2 plots them.
    """

    inertia: Array
    rotor: Array
    products: Array
    gravity: Array
    viscous: Array
    coulomb: Array
    other: Array
    contact: Array
    base: Array

    @property
    def centrifugal(self) -> Array:
        """At joint i, due to the velocity of joint j, h_ijj q̇_j²: (…, n, n)."""
        return entries(self.products, _places(self.gravity.shape[-1], True))

    @property
    def coriolis(self) -> Array:
        """At joint i, due to the velocities of joints j < k, each pair counted once: (…, n, n, n), 0 for j ≥ k."""
        n = self.gravity.shape[-1]
        place, upper = _table(n)
        table = entries(self.products, place).reshape(*self.products.shape[:-1], n, n)
        return where(upper, table)

    @property
    def friction(self) -> Array:
        """The sum of viscous, Coulomb and other terms: (…, n)."""
        return self.viscous + self.coulomb + self.other

    @property
    def by_joint(self) -> dict[str, Array]:
        """Every term summed over its causes: name → (…, n)."""
        crossed = entries(self.products, _places(self.gravity.shape[-1], False))
        causes = {"centrifugal": self.centrifugal, "coriolis": crossed}
        parts = [part for f in fields(self) for part in (causes if f.name == "products" else (f.name,))]
        tables = {"inertia": self.inertia, "rotor": self.rotor, **causes}
        return {name: tables[name].sum(axis=-1) if name in tables else getattr(self, name) for name in parts}

    @property
    def total(self) -> Array:
        """The torque: (…, n)."""
        return reduce(add, self.by_joint.values())


@constant
def _places(n: int, squares: bool) -> tuple[int, ...]:
    """Indices of the products of one velocity with itself, or of the products of two velocities."""
    pairs = combinations_with_replacement(range(n), 2)
    return tuple(place for place, (j, k) in enumerate(pairs) if (j == k) == squares)


@constant
def _table(n: int) -> tuple[tuple[int, ...], tuple[tuple[bool, ...], ...]]:
    """Indices of q̇_j q̇_k among the products, for every j and k, and whether j < k."""
    place = {pair: k for k, pair in enumerate(combinations_with_replacement(range(n), 2))}
    span = range(n)
    return tuple(place.get((j, k), 0) for j in span for k in span), tuple(tuple(j < k for k in span) for j in span)


# the types that methods return, for libraries that look into results
RESULTS = (
    BodyEnergies, BodyJacobians, Dalembert, DalembertTerms, LagrangeEuler, RecursionSteps, TorqueSecondDerivatives, TorqueTerms,
)  # fmt: skip
