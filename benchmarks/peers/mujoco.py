"""MuJoCo, from Python: it has no batch calls for single states, so states are set and computed one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from peers.protocol import Array, Way

VERSION = f"MuJoCo {mujoco.__version__}"


def load(folder: Path) -> tuple[Any, Any]:
    """The model from URDF, without contacts, limits and sensors, which an arm in free space does not need."""
    model = mujoco.MjModel.from_xml_path(str(folder / "arm.urdf"))
    bits = mujoco.mjtDisableBit
    model.opt.disableflags |= bits.mjDSBL_CONSTRAINT | bits.mjDSBL_CONTACT | bits.mjDSBL_SENSOR
    return model, mujoco.MjData(model)


def ways(pair: tuple[Any, Any], quantity: str) -> dict[str, Way]:
    """mj_inverse and mj_forward, and for B the position stage of mj_forward."""
    model, data = pair
    qpos, qvel, qacc, applied, acting = data.qpos, data.qvel, data.qacc, data.qfrc_applied, data.qfrc_inverse

    def inverse(q: Array, qd: Array, qdd: Array) -> Array:
        qpos[:], qvel[:], qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        return acting

    def forward(q: Array, qd: Array, tau: Array) -> Array:
        qpos[:], qvel[:], applied[:] = q, qd, tau
        mujoco.mj_forward(model, data)
        return qacc

    known = {
        "inverse_dynamics": Way("mj_inverse", inverse, read=np.copy),
        "forward_dynamics": Way("mj_forward", forward, read=np.copy),
    }
    return {"": known[quantity]} if quantity in known else {}
