"""An unknown load at the flange: its mass, centre of mass and inertia, with standard deviations.

S 7.4: "the payload can be regarded as a structural modification of the last link". Two ways:

- from joint torques of a run without and a run with the load. Both runs are fitted together, with the arm's base
  parameters π_b in both and the ten parameters π_L of the load in the second:  τ = Y_b π_b  and
  τ = Y_b π_b + Y_L π_L, where Y_L are the columns of the last link. The runs need not follow the same motion.
- from a force/torque sensor at the wrist:  w = A π_L + bias, where A depends on the motion of the sensor's frame
  and the arm's own parameters do not matter at all.

The low-pass, the derivatives and the choice of samples are those of identification; standard deviations
account for autocorrelated residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.compiler.kernel.one_thread import one_thread
from dalembert.errors import DalembertError
from dalembert.robot.model.placement import Placement
from dalembert.work.identification.fitting.tip_load import check_free_tip
from dalembert.work.identification.payload.payload_fit import Payload
from dalembert.work.identification.payload.payload_gains import ARM_DEVIATION
from dalembert.work.identification.payload.payload_torques import LOSSES, Scale, from_torques
from dalembert.work.identification.payload.payload_wrist import from_wrist
from dalembert.work.logs.log import Source

CHOICES = {"body": 10, "mass-com": 4}


def identify_payload(
    arm: Arm,
    log: Source,
    loaded: Source | None = None,
    *,
    wrench: ArrayLike | str | None = None,
    sensor: Placement | None = None,
    sign: float = 1.0,
    parameters: str = "body",
    gains: ArrayLike | None = None,
    gain_deviation: ArrayLike | None = None,
    arm_deviation: float | None = ARM_DEVIATION,
    reference: str | bool | None = None,
    friction: Sequence[str] = LOSSES,
    cutoff: float | None = None,
    **reading: Any,
) -> Payload:
    """The load at the flange, identified from two runs or from one with a force/torque sensor at the wrist.

    log, loaded  a run without the load and a run with it, as for :func:`dalembert.identify`; without ``loaded``
                 the log must contain a wrench
    wrench       (N, 6) [fx fy fz mx my mz] in the sensor's axes for each row of the log, or its name in the file; by
                 default 'wrench', or the columns fx … mz. It is the wrench that the flange exerts on the load
    sensor       the pose of the sensor's frame on the arm's tip
    sign         −1 for a sensor that shows the wrench exerted by the load on the flange
    parameters   "body": all ten; "mass-com": mass and first moments only, neglecting the load's own inertia
    gains        drive gains (N m/A) for a log of currents, for instance from a data sheet
    gain_deviation  relative standard deviation of the gains, one number or one per joint; 0.1 by default, 0 for exact
                 gains. With a log of torques, the relative standard deviation of their scale
    arm_deviation  relative standard deviation of the arm's own masses and centres of mass: the weight of the arm itself
                 then serves to calibrate the gains; None omits this source
    reference    the name, in the log without the load, of the torques of the controller's own model, a further source of
                 the gains; by default a log of currents is searched for tau_des, target_moment or target_torque; False: none
    friction     any of "viscous", "coulomb" and "load" (which grows with the transmitted torque); the first two are
                 fitted to each run separately
    cutoff       of the low-pass (Hz)

    All sources of the gains are combined according to their precision, and their remaining uncertainty is part of the
    load's standard deviations; ``by_source`` holds the mass from each of them alone. Logged torques are used without
    correction unless ``gain_deviation`` or ``reference`` is given.

    >>> import numpy as np, dalembert as da
    >>> arm = da.load("puma560")
    >>> motion = da.fourier(np.random.default_rng(0).normal(0, 0.2, (2, 6, 4)), 0.2, duration=20.0)
    >>> t = np.arange(0, 20, 0.01)
    >>> q, qd, qdd = motion(t)
    >>> runs = [
    ...     {"t": t, "q": q, "qd": qd, "tau": a.inverse_dynamics(q, qd, qdd)} for a in (arm, arm.with_payload(2.0))
    ... ]
    >>> round(identify_payload(arm, *runs).mass, 2)
    2.0
    """
    if parameters not in CHOICES:
        raise DalembertError(f"parameters is '{parameters}'; it must be {' or '.join(CHOICES)}")
    check_free_tip(arm)
    if loaded is None:
        if gains is not None or gain_deviation is not None or isinstance(reference, str):
            raise DalembertError(
                "gains, gain_deviation and reference apply to joint torques; omit them for a wrist sensor"
            )
        with one_thread():
            return from_wrist(arm, log, wrench, sensor, float(sign), CHOICES[parameters], cutoff, reading)
    if wrench is not None or sensor is not None:
        raise DalembertError(
            "a wrench or a sensor is given together with two logs; give one log to use the wrist sensor"
        )
    scale = Scale(gains, gain_deviation, arm_deviation, reference)
    with one_thread():
        return from_torques(arm, log, loaded, CHOICES[parameters], scale, tuple(friction), cutoff, reading)
