"""The physically consistent estimate is the optimum of its convex program, whatever is believed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dalembert as da
from arms import MODELS, arm
from dalembert.work.identification.fitting.base_parameters import BaseParameters, base_parameters, random_states
from dalembert.work.identification.fitting.fit_options import EstimatorOptions
from dalembert.work.identification.fitting.parameter_set import ParameterSet
from dalembert.work.identification.fitting.physical_consistency import (
    BASIS,
    NEAREST,
    ConsistentProblem,
    entries,
    links_of,
    scales,
    shape_forms,
    ten_of,
)

pytest.importorskip("clarabel")

ARMS = ["planar-2r", "puma560", "parallelogram", "kr300", "panda"]
BOX = {"box": ((-2.0, -2.0, -2.0), (1.0, 2.0, 2.0))}
BELIEFS = ["none", "bounds", "entropic", "euclidean"]


def believed_arm(whole: da.Arm, names: tuple[str, ...]) -> da.Arm:
    """The arm with lighter links, each a body with a mass and some extent in every direction."""

    def link(x: da.Link) -> da.Link:
        mass = 0.8 * x.inertia.mass + 0.5
        tensor = 0.8 * np.array(x.inertia.tensor, float)
        tensor += (0.02 * mass + np.trace(tensor)) * np.eye(3)
        return replace(x, inertia=da.Inertia(mass, x.inertia.com, tuple(map(tuple, tensor.tolist()))), massless=False)

    return whole.replace(links=tuple(link(x) if x.name in names else x for x in whole.robot.links))


def measured(base: BaseParameters, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """R, z of equations of unit noise, torques with 2 % of noise."""
    Y = base.regressor(*random_states(base.parameters.arm, 60, seed=5 + seed)).reshape(-1, base.rank)
    tau = Y @ base.values
    noise = 0.02 * np.sqrt(np.mean(tau**2))
    tau = tau + noise * np.random.default_rng(seed).normal(size=len(tau))
    whole = np.linalg.qr(np.column_stack([Y, tau]) / noise, mode="r")
    return whole[: base.rank, :-1], whole[: base.rank, -1]


@pytest.fixture(scope="module")
def sets() -> dict[str, BaseParameters]:
    names = {"panda": MODELS / "panda_arm.urdf"}
    known = [name for name in ARMS if name not in names or names[name].exists()]
    arms = {name: da.load(names[name]) if name in names else arm(name) for name in known}
    return {name: base_parameters(ParameterSet(x, offset=True)) for name, x in arms.items()}


def possible(parameters: ParameterSet, rng: np.random.Generator) -> np.ndarray:
    """Parameters of some bodies inside a box, rotors and friction above 0."""
    links, phi = links_of(parameters), scales(parameters) * rng.uniform(0.1, 1.0, parameters.size)
    firsts = [parameters.names.index(f"m_{body + 1}") for body in parameters.bodies]
    for first in firsts:
        phi[first : first + 10] = 0.0
    for first, other in zip(firsts, links.own(phi), strict=True):
        A = np.eye(4) + 0.3 * rng.normal(size=(4, 4))
        S = np.diag([0.1, 0.1, 0.1, 1.0])
        phi[first : first + 10] = rng.uniform(0.5, 20.0) * ten_of(S @ A @ A.T @ S) - other
    return phi


def slope(base: BaseParameters, R: np.ndarray, z: np.ndarray, belief: EstimatorOptions, phi: np.ndarray) -> np.ndarray:
    """The gradient of what is minimised, written out."""
    parameters, size = base.parameters, scales(base.parameters)
    RK = R @ base.K
    out = RK.T @ (RK @ phi - z)
    if belief.prior is None:
        return out + 2 * NEAREST * (phi - parameters.values) / size**2
    values = replace(parameters, arm=belief.prior).values
    loose = np.array([parameter.unit is not None for parameter in parameters.members])
    inertial = ~loose if belief.prior_kind == "euclidean" else np.array([kind == "Im" for kind in parameters.kinds])
    width = np.where(loose, size, 0.3 * (size if belief.prior_kind == "euclidean" else np.abs(values)))
    at = (loose | inertial) & (width > 0)
    out[at] += ((phi - values)[at]) / width[at] ** 2
    if belief.prior_kind == "entropic":
        links = links_of(parameters)
        for i, (own, before) in enumerate(zip(links.own(phi), links.own(values), strict=True)):
            if before[0] > 0:
                pulled = np.linalg.inv(entries(before)) - np.linalg.inv(entries(own))
                out += np.einsum("ij,kji->k", pulled, BASIS) @ links.coefficients[i] / 0.3**2
    return out


@pytest.mark.parametrize("believed", BELIEFS)
@pytest.mark.parametrize("name", ARMS)
def test_no_other_possible_bodies_are_better(name: str, believed: str, sets: dict[str, BaseParameters]) -> None:
    """A convex function is least where its slope towards every other allowed point is not negative."""
    if name not in sets:
        pytest.skip("../shared/data is not here")
    base = sets[name]
    parameters, (R, z) = base.parameters, measured(base)
    links = links_of(parameters)
    prior = believed_arm(parameters.arm, links.names) if believed in ("entropic", "euclidean") else None
    bounds = {links.names[-1]: BOX} if believed == "bounds" else None
    belief = EstimatorOptions(
        prior=prior, prior_kind="euclidean" if believed == "euclidean" else "entropic", bounds=bounds
    )
    problem = ConsistentProblem(base, belief)
    phi, curvature, _ = problem.solve(R, z)
    for J in map(entries, links.own(phi)):
        assert np.linalg.eigvalsh(J)[0] > -1e-9 * np.abs(J).max()
    if bounds:
        assert all(np.sum(Q * entries(links.own(phi)[-1])) > -1e-6 for Q in shape_forms(links.names[-1], BOX))
    rng = np.random.default_rng(1)
    gradient = slope(base, R, z, belief, phi)
    for _ in range(20):
        towards = possible(parameters, rng) - phi
        turned = np.abs(R @ base.K) @ np.abs(towards)  # what cancels in the slope
        assert gradient @ towards > -5e-8 * np.linalg.norm(turned) * np.linalg.norm(z) - 1e-6
    assert np.linalg.eigvalsh(curvature * np.outer(scales(parameters), scales(parameters)))[0] > -1e-6


@pytest.mark.parametrize("believed", ["none", "entropic"])
def test_one_assembly_serves_many_logs(believed: str, sets: dict[str, BaseParameters]) -> None:
    base = sets["planar-2r"]
    belief = EstimatorOptions(prior=believed_arm(base.parameters.arm, ()) if believed == "entropic" else None)
    problem = ConsistentProblem(base, belief)
    for seed in (0, 1, 0):
        R, z = measured(base, seed)
        phi, curvature, notes = problem.solve(R, z)
        alone = ConsistentProblem(base, belief).solve(R, z)
        assert np.array_equal(phi, alone[0]) and np.array_equal(curvature, alone[1]) and notes == alone[2]


def test_base_parameters_that_are_given_stay(sets: dict[str, BaseParameters]) -> None:
    base = sets["parallelogram"]
    values = base.K @ possible(base.parameters, np.random.default_rng(3))
    phi = ConsistentProblem(base, EstimatorOptions(), exact=True).exactly(values)
    assert np.abs(base.K @ phi - values).max() < 1e-6 * np.abs(values).max()
    assert min(np.linalg.eigvalsh(J)[0] for J in map(entries, links_of(base.parameters).own(phi))) > -1e-9
    with pytest.raises(da.DalembertError, match="the semidefinite program is infeasible"):
        ConsistentProblem(base, EstimatorOptions(), exact=True).exactly(-values)
