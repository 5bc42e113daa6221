"""Parameters that bodies can have: every link's 4×4 pseudo-inertia positive semidefinite, by semidefinite programming.

A link with mass m, first moments h and second moments Σ = ½ tr(I) 1 − I belongs to some distribution of mass
if and only if J = [[Σ, h], [hᵀ, m]] ⪰ 0. J is linear in the parameters, so that least squares under J ⪰ 0 is
convex. A prior J₀ enters by the divergence tr(J₀⁻¹J) − log det(J₀⁻¹J), which is ½‖relative change‖² near J₀ and
grows without bound towards what no body can be, or by the squared distance of the parameters.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.environment.brief import brief
from dalembert.environment.extras import extra
from dalembert.equations.regressor import INERTIAL
from dalembert.errors import DalembertError
from dalembert.identification.base import BaseParameters
from dalembert.identification.parameters import ParameterSet
from dalembert.robot.inertia import Inertia

Array = NDArray[np.float64]

INSIDE = 1e-6  # smallest eigenvalue of a link's pseudo-inertia, over its usual size
NEAREST = 1e-4  # weight of the distance to the arm's own parameters, where no prior is given
SMALLEST = 0.03  # m: a prior's point masses and plates count as at least so thick


def entries(parameters: Array) -> Array:
    """J (4, 4) of m, h, and the tensor about the origin (Ixx, Ixy, Ixz, Iyy, Iyz, Izz): linear in them."""
    I, h = tensor(parameters[4:]), parameters[1:4, None]
    return np.block([[0.5 * np.trace(I) * np.eye(3) - I, h], [h.T, parameters[0]]])


def ten_of(J: Array) -> Array:
    """The ten parameters of J: what :func:`entries` is made from."""
    Sigma = J[:3, :3]
    return np.array([J[3, 3], *J[:3, 3], *(np.trace(Sigma) * np.eye(3) - Sigma)[UPPER]])


def tensor(six: Array) -> Array:
    """The symmetric (3, 3) matrix of xx, xy, xz, yy, yz, zz."""
    return six[[[0, 1, 2], [1, 3, 4], [2, 4, 5]]]


UPPER = np.triu_indices(3)
BASIS = np.array([entries(e) for e in np.eye(10)])  # (10, 4, 4): J of each unit parameter


def ten(inertia: Inertia) -> Array:
    """m, h and the tensor about the origin, as in a parameter vector."""
    return np.array([inertia.mass, *inertia.first_moments, *np.array(inertia.tensor_at_origin, float)[UPPER]], float)


@brief
@dataclass(frozen=True, eq=False)
class Links:
    """Which part of the augmented links' parameters is the links themselves, without rotors and payload.

    names          the link that each moving joint moves, passive ones too, where it has a mass
    coefficients   (L, 10, p), and constants (L, 10): own_i = coefficients_i φ + constants_i
    """

    names: tuple[str, ...]
    coefficients: Array
    constants: Array

    def own(self, phi: Array) -> Array:
        """(L, 10): the ten parameters of each link itself."""
        return self.coefficients @ phi + self.constants


def links_of(parameters: ParameterSet) -> Links:
    """The links of an arm, less what rides on them: the payload, and the rotors of the joints behind."""
    mechanism, robot = parameters.arm.mechanism.tree, parameters.arm.robot
    at = {name: k for k, name in enumerate(parameters.names)}
    coefficients, constants = np.zeros((mechanism.n, 10, parameters.size)), np.zeros((mechanism.n, 10))
    for i, body in enumerate(mechanism.bodies):
        first, rotor = at.get(f"m_{i + 1}"), at.get(f"Im_{i + 1}")
        if first is not None:
            coefficients[i, :, first : first + 10] = np.eye(10)
        constants[i] += ten(body.link) - ten(body.inertia)
        if body.parent >= 0 and not body.reflected and rotor is not None:
            z = np.array(body.rotor_axis, float)
            unit = np.concatenate([np.zeros(4), np.outer(z, z)[UPPER]])
            coefficients[body.parent, :, rotor] -= unit
            constants[body.parent] += float(body.rotor_inertia) * unit
    if robot.payload is not None and mechanism.tip_body >= 0:
        constants[mechanism.tip_body] -= ten(robot.payload.seen_from(mechanism.tip))
    there = list(parameters.bodies)
    names = tuple(robot.tree_joints[i].child for i in there)
    return Links(names, coefficients[there], constants[there])


def scales(parameters: ParameterSet) -> Array:
    """The usual size of every parameter: of a link's mass and length, of a rotor."""
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


@dataclass(frozen=True)
class Belief:
    """What possible bodies are asked for besides the log.

    prior      an arm whose parameters are believed
    deviation  how far its links may be off, relative: 0.3 for thirty percent
    kind       "entropic" or "euclidean"
    bounds     shapes that hold a link's mass, by its name
    """

    prior: Arm | None = None
    deviation: float = 0.3
    kind: str = "entropic"
    bounds: Mapping[str, Any] | None = None


def _cvxpy() -> Any:
    with extra("identify", "a physically consistent estimate"):
        import clarabel  # noqa: F401
        import cvxpy
    return cvxpy


def _entropic(J: Any, L: Array, J0: Array, name: str, deviation: float, notes: list[str], cp: Any) -> list[Any]:
    """tr X − log det X of a link's pseudo-inertia beside the prior's J0; J is in the axes in which L Lᵀ is 1."""
    if not J0[3, 3] > 0:
        notes.append(f"the prior has no mass for link '{name}', which is left to the log")
        return []
    thick = _thick(J0)
    if np.abs(thick - J0).max() > 1e-9 * np.abs(J0).max():
        notes.append(f"the prior of link '{name}' is a point or a plate and counts as {SMALLEST * 100:g} cm thick")
    turn = np.linalg.inv(np.linalg.cholesky(thick)) @ L
    X = turn @ J @ turn.T
    return [(cp.trace(X) - cp.log_det((X + X.T) / 2)) / deviation**2]


def _believed(
    parameters: ParameterSet, x: Any, size: Array, belief: Belief, values: Array, loose: list[int], curvature: Array, cp: Any
) -> list[Any]:  # fmt: skip
    """The other terms of a prior, whose curvature is added: all inertias (euclidean) or rotors alone, and what is loose."""
    terms = []
    if belief.kind == "euclidean":
        at = _inertial(parameters)
        terms.append(cp.sum_squares((x - values / size)[at]) / (2 * belief.deviation**2))
        curvature[at, at] += 1.0 / (belief.deviation * size[at]) ** 2
    else:
        for k, parameter in enumerate(parameters.members):
            if parameter.kind == "Im" and values[k] > 0:
                terms.append(cp.square((x[k] * size[k] / values[k] - 1) / belief.deviation) / 2)
                curvature[k, k] += 1.0 / (belief.deviation * values[k]) ** 2
    if loose:
        terms.append(cp.sum_squares((x - values / size)[loose]) / 2)
        curvature[loose, loose] += 1.0 / size[loose] ** 2
    return terms


def consistent(
    base: BaseParameters, R: Array, z: Array, belief: Belief, *, exactly: Array | None = None,
    levels: Array | None = None, kept: Sequence[int] = (),
) -> tuple[Array, Array, list[str]]:  # fmt: skip
    """(φ (p,), the prior's curvature (p, p), notes): least squares R π_b ≈ z of unit noise, all links possible.

    With ``exactly`` the base parameters are given and only the nearest possible φ is sought. ``levels``
    are the sizes of friction and other columns that are no inertias: what a prior allows them. Of the base
    parameters in ``kept``, which the log does not show, those of friction keep the arm's value if there is no prior.
    """
    cp = _cvxpy()
    parameters, prior = base.parameters, belief.prior
    p, start, size = parameters.size, parameters.values, scales(parameters)
    links = links_of(parameters)
    loose = sorted(set(range(p)) - set(_inertial(parameters)))
    if levels is not None:
        size[loose] = np.where(np.isfinite(levels[loose]) & (levels[loose] > 0), levels[loose], 1.0)
    x = cp.Variable(p)
    notes: list[str] = []
    constraints: list[Any] = []
    if at := signed(base, settled=exactly is not None):
        constraints.append(x[at] >= 0)
    unseen = [base.independent[k] for k in kept if base.independent[k] in loose and prior is None]
    if unseen:
        constraints.append(x[unseen] == start[unseen] / size[unseen])
    curvature = np.zeros((p, p))
    near = cp.sum_squares(x - start / size)
    prior_values = start if prior is None else replace(parameters, arm=prior, terms=parameters.further).values
    terms = []
    own, believed = links.own(start), links.own(prior_values)
    entropic = prior is not None and belief.kind == "entropic"
    for i, name in enumerate(links.names):
        L = np.asarray(np.linalg.cholesky(_thick(_reference(parameters, own[i]))), dtype=np.float64)
        inner = np.linalg.inv(L)
        # J in the axes in which the arm's own link is the unit matrix
        units = inner @ np.tensordot(links.coefficients[i].T, BASIS, 1) @ inner.T
        J = cp.reshape((units.reshape(p, 16) * size[:, None]).T @ x, (4, 4), order="C")
        J = J + inner @ entries(links.constants[i]) @ inner.T
        constraints.append((J + J.T) / 2 >> INSIDE * np.eye(4))
        if entropic:
            terms += _entropic(J, L, entries(believed[i]), name, belief.deviation, notes, cp)
    if prior is not None:
        terms += _believed(parameters, x, size, belief, prior_values, loose, curvature, cp)
    constraints += _bounded(links, belief.bounds or {}, cp.multiply(size, x))
    if exactly is not None:
        constraints.append((base.K * size) @ x == exactly)
        objective = near
    else:
        length = np.linalg.norm(R @ base.K * size, axis=0).max(initial=1.0)
        objective = cp.sum_squares((R @ base.K * size) @ x - z) / 2 + (sum(terms) if terms else NEAREST * near)
        objective = objective / max(1.0, length)  # of the solver's liking
        if not terms:
            curvature += NEAREST * np.diag(2.0 / size**2)
            notes.append("where the log leaves the parameters open, those nearest to the arm's own were taken")
    problem = cp.Problem(cp.Minimize(objective), constraints)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a reduced accuracy is a note below
            problem.solve(solver=cp.CLARABEL)
    except cp.error.SolverError as error:
        raise DalembertError(f"the semidefinite program was not solved ({error})") from None
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise DalembertError(f"no possible bodies fit: the semidefinite program is {problem.status}")
    if problem.status == "optimal_inaccurate":
        notes.append("the semidefinite program was solved to reduced accuracy")
    phi = np.asarray(size * x.value, float)
    if entropic:
        for coefficients, ten_own in zip(links.coefficients, links.own(phi), strict=True):
            turned = np.linalg.pinv(entries(ten_own), rcond=1e-12, hermitian=True) @ BASIS
            curved = np.einsum("aij,bji->ab", turned, turned) / belief.deviation**2
            curvature += coefficients.T @ curved @ coefficients
    return phi, curvature, notes


def signed(base: BaseParameters, settled: bool = False) -> list[int]:
    """The columns that cannot be negative: rotors have inertia, friction takes energy out, springs pull back.

    If ``settled``, only those that share a base parameter with others: what is settled by itself stays as it is.
    """
    alone = [base.independent[r] for r, row in enumerate(base.K) if np.count_nonzero(row) == 1] if settled else []
    return [k for k, parameter in enumerate(base.parameters.members) if parameter.signed and k not in alone]


def _reference(parameters: ParameterSet, own: Array) -> Array:
    """J of the arm's own link, or of a usual body where that has no mass."""
    if own[0] > 0:
        return entries(own)
    usual = max(float(np.mean([float(body.inertia.mass) for body in parameters.arm.mechanism.tree.bodies])), 1e-3)
    return usual * np.diag([0.01, 0.01, 0.01, 1.0])


def _thick(J: Array) -> Array:
    """J with second moments about the centre of mass of at least m·(3 cm)² each way."""
    m, h = J[3, 3], J[:3, 3]
    centre = J[:3, :3] - np.outer(h, h) / m
    values, vectors = np.linalg.eigh(centre)
    floor = m * SMALLEST**2 * (values < m * (0.1 * SMALLEST) ** 2)
    out = J.copy()
    out[:3, :3] += vectors @ np.diag(np.maximum(floor - np.minimum(values, floor), 0.0)) @ vectors.T
    return out


def _bounded(links: Links, bounds: Mapping[str, Any], phi: Any) -> list[Any]:
    """A link inside a box {"box": (low, high)} or an ellipsoid {"centre": c, "radii": r} of its own frame.

    Inside a box ∫(x − low)(high − x) dm ≥ 0 for every axis; inside an ellipsoid ∫(1 − |(x − c)/r|²) dm ≥ 0.
    """
    constraints = []
    for name, shape in bounds.items():
        if name not in links.names:
            raise DalembertError(f"bounds name the link '{name}'; the moving links are {', '.join(links.names)}")
        i = links.names.index(name)
        for Q in shape_forms(name, shape):
            row = np.sum(Q * BASIS, axis=(1, 2))
            constraints.append((row @ links.coefficients[i]) @ phi + row @ links.constants[i] >= 0)
    return constraints


def shape_forms(name: str, shape: Any) -> list[Array]:
    """Matrices Q with tr(QJ) ≥ 0 for every body inside the shape."""

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
            raise DalembertError(f"the box of link '{name}' has a side that is not above the other")
        return [form(np.eye(3)[k], 0.5 * (low + high), 0.25 * float(high[k] - low[k]) ** 2) for k in range(3)]
    centre, radii = _three(name, shape["centre"]), _three(name, shape["radii"])
    if not (radii > 0).all():
        raise DalembertError(f"the radii of link '{name}' must be above 0")
    return [form(1.0 / radii**2, centre, 1.0)]


def _three(name: str, values: ArrayLike) -> Array:
    given = np.asarray(values, float)
    if given.shape != (3,) or not np.isfinite(given).all():
        raise DalembertError(f"the bounds of link '{name}' need three finite numbers for a point")
    return given
