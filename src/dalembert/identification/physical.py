"""Parameters that bodies can have: every link's 4×4 pseudo-inertia positive semidefinite, by semidefinite programming.

A link with mass m, first moments h and second moments Σ = ½ tr(I) 1 − I belongs to some distribution of mass
if and only if J = [[Σ, h], [hᵀ, m]] ⪰ 0. J is linear in the parameters, so that least squares under J ⪰ 0 is
convex. A prior J₀ enters by the divergence tr(J₀⁻¹J) − log det(J₀⁻¹J), which is ½‖relative change‖² near J₀ and
grows without bound towards what no body can be, or by the squared distance of the parameters.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arm.tree import tree_of
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
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = parameters
    half = 0.5 * (xx + yy + zz)
    return np.array([[half - xx, -xy, -xz, hx], [-xy, half - yy, -yz, hy], [-xz, -yz, half - zz, hz], [hx, hy, hz, m]])


BASIS = np.array([entries(e) for e in np.eye(10)])  # (10, 4, 4): J of each unit parameter


def ten(inertia: Inertia) -> Array:
    """m, h and the tensor about the origin, as in a parameter vector."""
    I = inertia.tensor_at_origin
    tensor = (I[0][0], I[0][1], I[0][2], I[1][1], I[1][2], I[2][2])
    return np.array([inertia.mass, *inertia.first_moments, *tensor], float)


@dataclass(frozen=True, eq=False)
class Links:
    """Which part of the augmented link's parameters is the link itself: own_i = φ_i − known_i − Σ_k Im_k rotor_ik.

    names   the link that each moving joint moves, passive ones too
    known   (n, 10) of the payload, and of the rotors that sit on link i (their mass, and what is not Im)
    rotors  {i: [(k, (10,) per unit of Im_k)]}
    """

    names: tuple[str, ...]
    known: Array
    rotors: dict[int, list[tuple[int, Array]]]


def links_of(arm: Arm) -> Links:
    """The links of an arm, and what rides on them."""
    mechanism, robot = tree_of(arm), arm.robot
    known = np.zeros((mechanism.n, 10))
    rotors: dict[int, list[tuple[int, Array]]] = {}
    for i, body in enumerate(mechanism.bodies):
        known[i] = ten(body.inertia) - ten(body.link)
    for k, body in enumerate(mechanism.bodies):
        if body.parent >= 0 and not body.reflected:
            z = np.array(body.rotor_axis, float)
            T = np.outer(z, z)
            unit = np.array([0, 0, 0, 0, T[0, 0], T[0, 1], T[0, 2], T[1, 1], T[1, 2], T[2, 2]], float)
            rotors.setdefault(body.parent, []).append((k, unit))
            known[body.parent] -= float(body.rotor_inertia) * unit
    if robot.payload is not None and mechanism.tip_body >= 0:
        known[mechanism.tip_body] += ten(robot.payload.seen_from(mechanism.tip))
    return Links(tuple(joint.child for joint in robot.tree_joints), known, rotors)


def own(parameters: ParameterSet, links: Links, phi: Array, i: int) -> Array:
    """The ten parameters of link i itself, without rotors and payload."""
    at = {name: k for k, name in enumerate(parameters.names)}
    first = at[f"m_{i + 1}"]
    out = phi[first : first + 10] - links.known[i]
    for k, unit in links.rotors.get(i, []):
        im = phi[at[f"Im_{k + 1}"]] if f"Im_{k + 1}" in at else tree_of(parameters.arm).bodies[k].rotor_inertia
        out = out - im * unit
    return out


def scales(parameters: ParameterSet) -> Array:
    """The usual size of every parameter: of a link's mass and length, of a rotor."""
    arm = parameters.arm
    bodies = [ten(body.inertia) for body in tree_of(arm).bodies]
    masses = np.array([b[0] for b in bodies])
    usual = float(masses[masses > 0].mean()) if (masses > 0).any() else 1.0
    out = np.ones(parameters.size)
    for k, name in enumerate(parameters.names):
        j = parameters.joints[k]
        kind = name.rpartition("_")[0]
        if j < 0 or kind in ("Fv", "Fs", "Fs+", "Fs-", "offset"):
            continue
        m = max(float(masses[j]), 0.1 * usual)
        second = float(np.trace(entries(bodies[j])[:3, :3]))
        length = max(np.sqrt(max(second, 0.0) / m), 0.1)
        if kind == "Im":
            body = tree_of(arm).bodies[j]
            out[k] = max(float(body.rotor_inertia), 0.1 * m * length**2 / float(body.gear) ** 2)
        else:
            out[k] = m * (1.0 if kind == "m" else length if kind in ("mx", "my", "mz") else length**2)
    return out


@dataclass(frozen=True, eq=False)
class Prior:
    """What is believed before the log is read.

    arm        whose parameters they are
    deviation  how far a link may be off, relative: 0.3 for thirty percent
    kind       "entropic" or "euclidean"
    """

    arm: Arm
    deviation: float = 0.3
    kind: str = "entropic"


def _cvxpy() -> Any:
    try:
        import clarabel  # noqa: F401
        import cvxpy
    except ImportError:
        raise DalembertError(
            "physically consistent estimates need cvxpy and Clarabel: pip install 'dalembert[identify]'"
        ) from None
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
    parameters: ParameterSet, x: Any, size: Array, prior: Prior, values: Array, loose: list[int], curvature: Array, cp: Any
) -> list[Any]:  # fmt: skip
    """The other terms of a prior, whose curvature is added: all inertias (euclidean) or rotors alone, and what is loose."""
    terms = []
    if prior.kind == "euclidean":
        at = [k for k in range(parameters.size) if _inertial(parameters, k)]
        terms.append(cp.sum_squares((x - values / size)[at]) / (2 * prior.deviation**2))
        curvature[at, at] += 1.0 / (prior.deviation * size[at]) ** 2
    else:
        for k, name in enumerate(parameters.names):
            if name.startswith("Im_") and values[k] > 0:
                terms.append(cp.square((x[k] * size[k] / values[k] - 1) / prior.deviation) / 2)
                curvature[k, k] += 1.0 / (prior.deviation * values[k]) ** 2
    if loose:
        terms.append(cp.sum_squares((x - values / size)[loose]) / 2)
        curvature[loose, loose] += 1.0 / size[loose] ** 2
    return terms


def consistent(
    base: BaseParameters,
    R: Array,
    z: Array,
    *,
    prior: Prior | None = None,
    bounds: Mapping[str, Any] | None = None,
    exactly: Array | None = None,
    levels: Array | None = None,
    kept: Sequence[int] = (),
) -> tuple[Array, Array, list[str]]:
    """(φ (p,), the prior's curvature (p, p), notes): least squares R π_b ≈ z of unit noise, all links possible.

    With ``exactly`` the base parameters are given and only the nearest possible φ is sought. ``levels``
    are the sizes of friction and other columns that are no inertias: what a prior allows them. Of the base
    parameters in ``kept``, which the log does not show, those of friction keep the arm's value if there is no prior.
    """
    cp = _cvxpy()
    parameters = base.parameters
    links = links_of(parameters.arm)
    size = scales(parameters)
    loose = [k for k in range(parameters.size) if not _inertial(parameters, k)]
    if levels is not None:
        size[loose] = np.where(np.isfinite(levels[loose]) & (levels[loose] > 0), levels[loose], 1.0)
    start = parameters.values
    x = cp.Variable(parameters.size)
    phi = cp.multiply(size, x)
    notes: list[str] = []
    constraints: list[Any] = _signs(base, x, settled=exactly is not None)
    unseen = [base.independent[k] for k in kept if base.independent[k] in loose and prior is None]
    if unseen:
        constraints.append(x[unseen] == start[unseen] / size[unseen])
    curvature = np.zeros((parameters.size, parameters.size))
    near = cp.sum_squares(x - start / size)
    H_near = np.diag(2.0 / size**2)
    prior_values = start if prior is None else ParameterSet(
        prior.arm, parameters.friction, parameters.two_sided, parameters.offset, parameters.rotor, parameters.extra
    ).values  # fmt: skip
    terms = []
    blocks: dict[int, tuple[Array, Array]] = {}
    for i in parameters.bodies:
        coefficients, constant = _affine(parameters, links, i)
        L = np.asarray(np.linalg.cholesky(_thick(_reference(parameters, links, start, i))), dtype=np.float64)
        inner = np.linalg.inv(L)
        # J in the axes in which the arm's own link is the unit matrix
        units = np.array([inner @ entries(coefficients[:, k]) @ inner.T for k in range(parameters.size)])
        J = cp.reshape((units.reshape(parameters.size, 16) * size[:, None]).T @ x, (4, 4), order="C")
        J = J + inner @ entries(constant) @ inner.T
        constraints.append((J + J.T) / 2 >> INSIDE * np.eye(4))
        blocks[i] = (coefficients, constant)
        if prior is not None and prior.kind == "entropic":
            J0 = entries(own(parameters, links, prior_values, i))
            terms += _entropic(J, L, J0, links.names[i], prior.deviation, notes, cp)
    if prior is not None:
        terms += _believed(parameters, x, size, prior, prior_values, loose, curvature, cp)
    constraints += _bounded(parameters, links, bounds or {}, phi, blocks, cp)
    if exactly is not None:
        constraints.append((base.K * size) @ x == exactly)
        objective = near
    else:
        length = np.linalg.norm(R @ base.K * size, axis=0).max(initial=1.0)
        objective = cp.sum_squares((R @ base.K * size) @ x - z) / 2 + (sum(terms) if terms else NEAREST * near)
        objective = objective / max(1.0, length)  # of the solver's liking
        if not terms:
            curvature += NEAREST * H_near
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
    found = np.asarray(size * x.value, float)
    if prior is not None and prior.kind == "entropic":
        for coefficients, constant in blocks.values():
            J = entries(coefficients @ found + constant)
            inverse = np.linalg.pinv(J, rcond=1e-12, hermitian=True)
            turned = inverse @ BASIS
            curved = np.einsum("aij,bji->ab", turned, turned) / prior.deviation**2
            curvature += coefficients.T @ curved @ coefficients
    return found, curvature, notes


def _inertial(parameters: ParameterSet, k: int) -> bool:
    kind = parameters.names[k].rpartition("_")[0]
    return parameters.joints[k] >= 0 and kind not in ("Fv", "Fs", "Fs+", "Fs-", "offset")


def _signs(base: BaseParameters, x: Any, settled: bool) -> list[Any]:
    """Rotors have inertia and friction takes energy out; what is ``settled`` by itself stays as it is."""
    at = signed(base, settled)
    return [x[at] >= 0] if at else []


def signed(base: BaseParameters, settled: bool = False) -> list[int]:
    """The columns that cannot be negative; if ``settled``, only those that share a base parameter with others."""
    parameters = base.parameters
    kinds = ("Im", "Fv", "Fs", "Fs+", "Fs-")
    alone = [list(base.independent)[r] for r, row in enumerate(base.K) if np.count_nonzero(row) == 1]
    return [
        k for k, name in enumerate(parameters.names)
        if parameters.joints[k] >= 0 and name.rpartition("_")[0] in kinds and not (settled and k in alone)
    ]  # fmt: skip


def _affine(parameters: ParameterSet, links: Links, i: int) -> tuple[Array, Array]:
    """own_i = coefficients (10, p) φ + constant (10,)."""
    zero = np.zeros(parameters.size)
    constant = own(parameters, links, zero, i)
    coefficients = np.zeros((10, parameters.size))
    at = {name: k for k, name in enumerate(parameters.names)}
    first = at[f"m_{i + 1}"]
    coefficients[:, first : first + 10] = np.eye(10)
    for k, unit in links.rotors.get(i, []):
        if f"Im_{k + 1}" in at:
            coefficients[:, at[f"Im_{k + 1}"]] -= unit
    return coefficients, constant


def _reference(parameters: ParameterSet, links: Links, start: Array, i: int) -> Array:
    """J of the arm's own link, or of a usual body where that has no mass."""
    J = entries(own(parameters, links, start, i))
    if J[3, 3] > 0:
        return J
    usual = max(float(np.mean([ten(b.inertia)[0] for b in tree_of(parameters.arm).bodies])), 1e-3)
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


def _bounded(
    parameters: ParameterSet, links: Links, bounds: Mapping[str, Any], phi: Any, blocks: Mapping[int, Any], cp: Any
) -> list[Any]:
    """A link inside a box {"box": (low, high)} or an ellipsoid {"centre": c, "radii": r} of its own frame.

    Inside a box ∫(x − low)(high − x) dm ≥ 0 for every axis; inside an ellipsoid ∫(1 − |(x − c)/r|²) dm ≥ 0.
    """
    made = []
    for name, shape in bounds.items():
        known = [links.names[i] for i in blocks]
        if name not in known:
            raise DalembertError(f"bounds name the link '{name}'; the moving links are {', '.join(known)}")
        i = links.names.index(name)
        coefficients, constant = blocks[i]
        for Q in shape_forms(name, shape):
            row = np.array([np.sum(Q * J) for J in BASIS])
            made.append((row @ coefficients) @ phi + row @ constant >= 0)
    return made


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
