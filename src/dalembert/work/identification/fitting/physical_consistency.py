"""Physically consistent parameters: every link's 4×4 pseudo-inertia positive semidefinite, by semidefinite programming.

The mass m, first moments h and second moments Σ = ½ tr(I) 1 − I of a link belong to some distribution of mass if and
only if J = [[Σ, h], [hᵀ, m]] ⪰ 0. J is linear in the parameters, so least squares under J ⪰ 0 is convex. A prior J₀
enters through the divergence tr(J₀⁻¹J) − log det(J₀⁻¹J), which is ½‖relative change‖² near J₀ and grows without bound
towards the boundary of the possible bodies, or through the squared distance of the parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import INERTIAL
from dalembert.robot.model.inertia import ten_parameters
from dalembert.work.identification.fitting.base_parameters import BaseParameters
from dalembert.work.identification.fitting.cone_program import ROUGH, WANTED, ConeProgram
from dalembert.work.identification.fitting.fit_options import EstimatorOptions
from dalembert.work.identification.fitting.parameter_set import ParameterSet

INSIDE = 1e-6  # smallest eigenvalue of a link's pseudo-inertia, relative to its usual size
NEAREST = 1e-4  # weight of the distance to the arm's own parameters if no prior is given
SMALLEST = 0.03  # m: minimum thickness assumed for point masses and plates of a prior


def entries(parameters: Array) -> Array:
    """J (4, 4), linear in m, h, and the tensor about the origin (Ixx, Ixy, Ixz, Iyy, Iyz, Izz)."""
    I, h = tensor(parameters[4:]), parameters[1:4, None]
    return np.block([[0.5 * np.trace(I) * np.eye(3) - I, h], [h.T, parameters[0]]])


def ten_of(J: Array) -> Array:
    """The ten parameters of J: the inverse of :func:`entries`."""
    Sigma = J[:3, :3]
    return np.array([J[3, 3], *J[:3, 3], *(np.trace(Sigma) * np.eye(3) - Sigma)[UPPER]])


def tensor(six: Array) -> Array:
    """The symmetric (3, 3) matrix of xx, xy, xz, yy, yz, zz."""
    return six[[[0, 1, 2], [1, 3, 4], [2, 4, 5]]]


UPPER = np.triu_indices(3)
BASIS = np.array([entries(e) for e in np.eye(10)])  # (10, 4, 4): J of each unit parameter


@record
class Links:
    """The map from the parameters of the augmented links to those of the links themselves, without rotors and payload.

    names          the links with mass that are moved by the joints, passive joints included
    coefficients   (L, 10, p), and constants (L, 10): own_i = coefficients_i φ + constants_i
    """

    names: tuple[str, ...]
    coefficients: Array
    constants: Array

    def own(self, phi: Array) -> Array:
        """(L, 10): the ten parameters of each link itself."""
        return self.coefficients @ phi + self.constants


def links_of(parameters: ParameterSet) -> Links:
    """The links of an arm, without the bodies mounted on them: the payload, and the rotors of subsequent joints."""
    mechanism, robot = parameters.arm.mechanism.tree, parameters.arm.robot
    at = {name: k for k, name in enumerate(parameters.names)}
    coefficients, constants = np.zeros((mechanism.n, 10, parameters.size)), np.zeros((mechanism.n, 10))
    for i, body in enumerate(mechanism.bodies):
        first, rotor = at.get(f"m_{i + 1}"), at.get(f"Im_{i + 1}")
        if first is not None:
            coefficients[i, :, first : first + 10] = np.eye(10)
        constants[i] += ten_parameters(body.link) - ten_parameters(body.inertia)
        if body.parent >= 0 and not body.reflected and rotor is not None:
            z = np.array(body.rotor_axis, float)
            unit = np.concatenate([np.zeros(4), np.outer(z, z)[UPPER]])
            coefficients[body.parent, :, rotor] -= unit
            constants[body.parent] += float(body.rotor_inertia) * unit
    if robot.payload is not None and mechanism.tip_body >= 0:
        constants[mechanism.tip_body] -= ten_parameters(robot.payload.seen_from(mechanism.tip))
    there = list(parameters.bodies)
    names = tuple(robot.tree_joints[i].child for i in there)
    return Links(names, coefficients[there], constants[there])


def scales(parameters: ParameterSet) -> Array:
    """The usual size of every parameter, from the mass and length of a link, or of a rotor."""
    bodies = parameters.arm.mechanism.tree.bodies
    masses = np.array([float(body.inertia.mass) for body in bodies])
    usual = float(masses[masses > 0].mean()) if (masses > 0).any() else 1.0
    out = np.ones(parameters.size)
    for k in _inertial(parameters):
        body, kind = bodies[parameters.joints[k]], parameters.kinds[k]
        m = max(float(body.inertia.mass), 0.1 * usual)
        second = float(np.trace(np.array(body.inertia.second_moments, float)))
        length = max(np.sqrt(max(second, 0.0) / m), 0.1)
        out[k] = m * length ** {"m": 0, "mx": 1, "my": 1, "mz": 1}.get(kind, 2)
        if kind == "Im":
            out[k] = max(float(body.rotor_inertia), 0.1 * out[k] / float(body.gear) ** 2)
    return out


def _inertial(parameters: ParameterSet) -> list[int]:
    """The columns of links and of the joints' own rotors."""
    return [k for k, x in enumerate(parameters.members) if x.kind in (*INERTIAL, "Im") and x.joint >= 0]


class ConsistentProblem:
    """The physically consistent parameters nearest to the estimate from a log: one cone program for any number of logs.

    The prior and the bounds are those of ``options``. ``levels`` are the sizes of friction and other columns that are not
    inertias, which a prior limits. Of the base parameters in ``undetermined``, which the log does not determine, those of
    friction keep the arm's value if there is no prior. ``exact`` is for base parameters that are given (:meth:`exactly`).

    The unknowns are the parameters divided by their usual sizes. With an entropic prior each link has 14 more: log det
    X ≥ Σ log D_ii for X ⪰ Z D⁻¹ Zᵀ, with Z a lower triangle with the diagonal D.

    >>> import dalembert as da
    >>> base = da.load("planar-2r").base_parameters()
    >>> problem = ConsistentProblem(base, EstimatorOptions())
    >>> logs = [(1e3 * np.eye(base.rank), 1e3 * share * base.values) for share in (1.0, 1.1)]
    >>> [bool(np.abs(R @ base.K @ problem.solve(R, z)[0] - z).max() < 1e-3 * np.abs(z).max()) for R, z in logs]
    [True, True]
    """

    def __init__(
        self, base: BaseParameters, options: EstimatorOptions, levels: Array | None = None, undetermined: Sequence[int] = (),
        exact: bool = False,
    ) -> None:  # fmt: skip
        self.base, self.notes = base, list[str]()
        self.deviation = 0.3 if options.prior_deviation is None else options.prior_deviation
        parameters, prior = base.parameters, options.prior
        p, start, size = parameters.size, parameters.values, scales(parameters)
        loose = sorted(set(range(p)) - set(_inertial(parameters)))
        if levels is not None:
            size[loose] = np.where(np.isfinite(levels[loose]) & (levels[loose] > 0), levels[loose], 1.0)
        self.size, self.links = size, links_of(parameters)
        values = start if prior is None else replace(parameters, arm=prior, terms=parameters.further).values
        believed = map(entries, self.links.own(values))
        self._entropic = prior is not None and options.prior_kind != "euclidean" and not exact
        names = self.links.names
        beside = [self._prior(J0, name) if self._entropic else None for J0, name in zip(believed, names, strict=True)]
        self.program = ConeProgram(p + 14 * sum(axes is not None for axes in beside))
        self._curvature = np.zeros(p)  # of the quadratic part
        if prior is not None and not exact:
            self._believe(values, loose)
        unit = np.eye(self.program.size)[:p]
        at = signed(base, exact=exact)
        self.program.not_negative(unit[at], np.zeros(len(at)))
        unseen = [base.independent[k] for k in undetermined if base.independent[k] in loose and prior is None]
        self.program.zero(unit[unseen], start[unseen] / size[unseen])
        first, masses = p, [float(body.inertia.mass) for body in parameters.arm.mechanism.tree.bodies]
        typical = max(float(np.mean(masses)), 1e-3) * np.diag([0.01, 0.01, 0.01, 1.0])
        for i, (own, axes) in enumerate(zip(self.links.own(start), beside, strict=True)):
            # J in the axes in which the arm's own link is the unit matrix, or a typical body if the link has no mass
            inner = _unit_axes(_thick(entries(own) if own[0] > 0 else typical))
            units, constant = self._pseudo_inertia(i, inner)
            self.program.semidefinite(units, constant - INSIDE * np.eye(4))
            if axes is not None:
                self._diverge(*self._pseudo_inertia(i, axes), first)
                first += 14
        self._bound(options.bounds or {})
        if exact:
            self._pull(range(p), start, size)
        elif not (self.program.weights.any() or self.program.slope.any()):
            self._pull(range(p), start, size / np.sqrt(2.0 * NEAREST))
            self.notes.append(
                "where the log does not determine the parameters, those nearest to the arm's own were chosen"
            )

    def base_values(self, R: Array, z: Array) -> Array:
        """π_b of least squares R π_b ≈ z with unit noise, to the accuracy that a comparison of models needs."""
        return self.base.K @ self._found(self._wide(R), z, ROUGH)[0]

    def solve(self, R: Array, z: Array) -> tuple[Array, Array, list[str]]:
        """(φ (p,), the prior's curvature (p, p), notes) of least squares R π_b ≈ z with unit noise."""
        phi, notes = self._found(self._wide(R), z)
        curvature = np.diag(self._curvature)
        if self._entropic:
            for coefficients, own in zip(self.links.coefficients, self.links.own(phi), strict=True):
                turned = np.linalg.pinv(entries(own), rcond=1e-12, hermitian=True) @ BASIS
                curved = np.einsum("aij,bji->ab", turned, turned) / self.deviation**2
                curvature += coefficients.T @ curved @ coefficients
        return phi, curvature, notes

    def exactly(self, values: Array) -> Array:
        """The nearest physically consistent φ (p,) with given base parameters, for a ``exact`` problem."""
        self.program.zero(self._wide(np.eye(len(values))), values)
        return self._found(np.zeros((0, self.program.size)), np.zeros(0))[0]

    def _wide(self, R: Array) -> Array:
        """R K in the unknowns of the program."""
        A = np.zeros((len(R), self.program.size))
        A[:, : len(self.size)] = R @ self.base.K * self.size
        return A

    def _found(self, A: Array, a: Array, wanted: float = WANTED) -> tuple[Array, list[str]]:
        length = float(np.linalg.norm(A, axis=0).max(initial=1.0))
        v, accurate = self.program.solved(A, a, max(1.0, length), wanted)
        remarks = [] if accurate else ["the semidefinite program was solved to reduced accuracy"]
        return self.size * v[: len(self.size)], [*self.notes, *remarks]

    # -- objective and constraints -----------------------------------------------------------------------

    def _pull(self, at: Iterable[int], values: Array, deviation: Array) -> None:
        """½ ((φ − value) / deviation)² of some parameters."""
        at = list(at)
        self.program.weights[at] += (self.size[at] / deviation[at]) ** 2
        self.program.centres[at] = values[at] / self.size[at]
        self._curvature[at] += 1.0 / deviation[at] ** 2

    def _believe(self, values: Array, loose: list[int]) -> None:
        """The quadratic terms of a prior: all inertias (euclidean) or rotors alone, and columns without a prior of
        their own."""
        parameters, deviation = self.base.parameters, self.deviation
        if self._entropic:
            rotors = [k for k, x in enumerate(parameters.members) if x.kind == "Im" and values[k] > 0]
            self._pull(rotors, values, deviation * values)
        else:
            self._pull(_inertial(parameters), values, deviation * self.size)
        self._pull(loose, values, self.size)

    def _prior(self, J0: Array, name: str) -> Array | None:
        """The axes in which a link's prior is the unit matrix; None if it has none."""
        if not J0[3, 3] > 0:
            self.notes.append(f"the prior has no mass for link '{name}', so only the log determines it")
            return None
        thick = _thick(J0)
        if np.abs(thick - J0).max() > 1e-9 * np.abs(J0).max():
            self.notes.append(
                f"the prior of link '{name}' is a point mass or a plate and is treated as {SMALLEST * 100:g} cm thick"
            )
        return _unit_axes(thick)

    def _pseudo_inertia(self, i: int, inner: Array) -> tuple[Array, Array]:
        """J of link i between inner and innerᵀ: the coefficients of the unknowns (unknowns, 4, 4), and the constant part."""
        units = np.zeros((self.program.size, 4, 4))
        units[: len(self.size)] = np.tensordot(self.size[:, None] * self.links.coefficients[i].T, BASIS, 1)
        return inner @ units @ inner.T, inner @ entries(self.links.constants[i]) @ inner.T

    def _diverge(self, units: Array, constant: Array, first: int) -> None:
        """(tr X − log det X) / deviation² of a link's pseudo-inertia X relative to the prior's."""
        weight = 1.0 / self.deviation**2
        self.program.slope += weight * np.trace(units, axis1=1, axis2=2)
        wide, fixed = np.zeros((len(units), 8, 8)), np.zeros((8, 8))
        wide[:, :4, :4], fixed[:4, :4] = units, constant
        for k, (row, column) in enumerate(np.argwhere(np.tri(4)).tolist(), first):
            wide[k, row, 4 + column] = wide[k, 4 + column, row] = 1.0
            if row == column:
                wide[k, 4 + row, 4 + row] = 1.0
                bound = first + 10 + row
                self.program.log_at_least(k, bound)
                self.program.slope[bound] -= weight
        self.program.semidefinite(wide, fixed)

    def _bound(self, bounds: Mapping[str, Any]) -> None:
        """A link inside a box {"box": (low, high)} or an ellipsoid {"centre": c, "radii": r} of its own frame.

        Inside a box ∫(x − low)(high − x) dm ≥ 0 for every axis; inside an ellipsoid ∫(1 − |(x − c)/r|²) dm ≥ 0.
        """
        links = self.links
        for name, shape in bounds.items():
            if name not in links.names:
                raise DalembertError(f"bounds contain the link '{name}'; the moving links are {', '.join(links.names)}")
            i = links.names.index(name)
            for Q in shape_forms(name, shape):
                row = np.zeros((1, self.program.size))
                form = np.sum(Q * BASIS, axis=(1, 2))
                row[0, : len(self.size)] = form @ links.coefficients[i] * self.size
                self.program.not_negative(row, np.array([form @ links.constants[i]]))


def signed(base: BaseParameters, exact: bool = False) -> list[int]:
    """The columns that must be nonnegative: rotors have inertia, friction dissipates energy, springs pull back.

    If ``exact``, only those that share a base parameter with others: columns determined on their own are not changed.
    """
    alone = [base.independent[r] for r, row in enumerate(base.K) if np.count_nonzero(row) == 1] if exact else []
    return [k for k, parameter in enumerate(base.parameters.members) if parameter.signed and k not in alone]


def _unit_axes(J: Array) -> Array:
    """L⁻¹ with J = L Lᵀ."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(J)), dtype=np.float64)


def _thick(J: Array) -> Array:
    """J with second moments about the centre of mass of at least m·(3 cm)² in every direction."""
    m, h = J[3, 3], J[:3, 3]
    centre = J[:3, :3] - np.outer(h, h) / m
    values, vectors = np.linalg.eigh(centre)
    floor = m * SMALLEST**2 * (values < m * (0.1 * SMALLEST) ** 2)
    out = J.copy()
    out[:3, :3] += vectors @ np.diag(np.maximum(floor - np.minimum(values, floor), 0.0)) @ vectors.T
    return out


def shape_forms(name: str, shape: Any) -> list[Array]:
    """Matrices Q with tr(QJ) ≥ 0 for every body inside the region."""

    def form(weights: Array, centre: Array, constant: float) -> Array:
        # ∫ constant − Σ w_k (x_k − c_k)² dm
        Q = np.zeros((4, 4))
        Q[:3, :3] = -np.diag(weights)
        Q[:3, 3] = Q[3, :3] = weights * centre
        Q[3, 3] = constant - float(np.sum(weights * centre**2))
        return Q

    if not isinstance(shape, Mapping) or not ({"box"} <= set(shape) or {"centre", "radii"} <= set(shape)):
        raise DalembertError(
            f'the bounds of link \'{name}\' must be {{"box": (low, high)}} or {{"centre": …, "radii": …}}'
        )
    if "box" in shape:
        low, high = (_three(name, x) for x in shape["box"])
        if not (high > low).all():
            raise DalembertError(
                f"the upper corner of the box of link '{name}' must exceed the lower one in all three coordinates"
            )
        return [form(np.eye(3)[k], 0.5 * (low + high), 0.25 * float(high[k] - low[k]) ** 2) for k in range(3)]
    centre, radii = _three(name, shape["centre"]), _three(name, shape["radii"])
    if not (radii > 0).all():
        raise DalembertError(f"the radii of link '{name}' must be above 0")
    return [form(1.0 / radii**2, centre, 1.0)]


def _three(name: str, values: ArrayLike) -> Array:
    given = np.asarray(values, float)
    if given.shape != (3,) or not np.isfinite(given).all():
        raise DalembertError(f"each point in the bounds of link '{name}' must be three finite numbers")
    return given
