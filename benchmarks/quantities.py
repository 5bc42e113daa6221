"""Every quantity of panda: ours in batches against Pinocchio's fastest call of the same (make bench)."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable

import numpy as np
import pinocchio as pin

import dalembert as da
from dalembert.quantities.joints import known
from sidebyside import STATES, interleaved, one_core, panda_urdf_text, random_states, table

FEW = 500


def main() -> None:
    """One row a quantity."""
    one_core()
    model = pin.buildModelFromXML(panda_urdf_text())
    data, pool = model.createData(), pin.ModelPool(model, 1)
    q, qd, qdd = random_states(7)
    tau = 10 * qdd
    given = {"q": q, "qd": qd, "qdd": qdd, "tau": tau, "qd_r": 0.9 * qd, "qdd_r": 0.9 * qdd}
    q0, qd0, qdd0 = (x[0].copy() for x in (q, qd, qdd))
    columns = [np.asfortranarray(x.T) for x in (q, qd, qdd)]
    result = np.asfortranarray(np.zeros((7, STATES)))

    def calls(f: Callable[[], object]) -> Callable[[], object]:
        return lambda: [f() for _ in range(FEW)]

    peers: dict[str, tuple[str, Callable[[], object], int]] = {
        "inverse_dynamics": ("rneaInParallel", lambda: pin.rneaInParallel(1, pool, *columns, result), STATES),
        "forward_dynamics": ("abaInParallel", lambda: pin.abaInParallel(1, pool, *columns, result), STATES),
        "inertia_matrix": ("crba", calls(lambda: pin.crba(model, data, q0)), FEW),
        "coriolis_matrix": (
            "computeCoriolisMatrix",
            calls(lambda: pin.computeCoriolisMatrix(model, data, q0, qd0)),
            FEW,
        ),
        "torque_derivatives": (
            "computeRNEADerivatives",
            calls(lambda: pin.computeRNEADerivatives(model, data, q0, qd0, qdd0)),
            FEW,
        ),
        "forward_derivatives": (
            "computeABADerivatives",
            calls(lambda: pin.computeABADerivatives(model, data, q0, qd0, qdd0)),
            FEW,
        ),
        **dict.fromkeys(
            ("regressor", "compact_regressor"),
            (
                "computeJointTorqueRegressor",
                calls(lambda: pin.computeJointTorqueRegressor(model, data, q0, qd0, qdd0)),
                FEW,
            ),
        ),
        "gravity_torque": (
            "computeGeneralizedGravity",
            calls(lambda: pin.computeGeneralizedGravity(model, data, q0)),
            FEW,
        ),
        "jacobian": ("computeJointJacobians", calls(lambda: pin.computeJointJacobians(model, data, q0)), FEW),
        "kinetic_energy": ("computeKineticEnergy", calls(lambda: pin.computeKineticEnergy(model, data, q0, qd0)), FEW),
        "potential_energy": ("computePotentialEnergy", calls(lambda: pin.computePotentialEnergy(model, data, q0)), FEW),
    }
    rows = []
    arm = da.load("panda")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DALEMBERT_CACHE"] = folder
        for name, entry in known().items():
            start = time.perf_counter()
            kernel = arm.kernel(name)
            made = time.perf_counter() - start
            arrays = [given[x] for x in entry.inputs]
            outs = kernel(*arrays)
            run: dict[str, Callable[[], object]] = {"ours": lambda k=kernel, a=arrays, o=outs: k(*a, out=o)}
            peer, call, count = peers.get(name, ("", None, 1))
            if call is not None:
                run["peer"] = call
            least = interleaved(run, 15)
            ours = least["ours"] / STATES
            theirs = f"{least['peer'] / count * 1e9:.0f}" if call else ""
            ratio = f"{least['peer'] / count / ours:.0f}" if call else ""
            operations = str(arm.operations(name).compiled.total)
            rows.append((name, operations, f"{made:.2f}", f"{ours * 1e9:.1f}", theirs, ratio, peer))
    head = ("panda", "operations", "compile (s)", "ns a state", "Pinocchio", "ratio", "Pinocchio's call")
    table(
        f"{STATES} states, one core; Pinocchio: batch calls with one thread, else one Python call a state", rows, head
    )


if __name__ == "__main__":
    main()
