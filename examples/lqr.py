"""An arm balanced upright by a linear quadratic regulator that samples at 100 Hz.

The dynamics are linearised about the upright posture and discretised for torques held over each period; the Riccati
equation gives the gain. The simulation uses the full, nonlinear arm.

    python examples/lqr.py
"""

import numpy as np
from scipy.linalg import solve_discrete_are

import dalembert as da

PERIOD = 0.01  # s


def main() -> None:
    arm = da.load("planar-2r")
    upright = np.array([np.pi / 2, 0.0])
    hold = arm.gravity_torque(upright)
    A, B = arm.linearize(upright, [0.0, 0.0], hold, dt=PERIOD)
    Q, R = np.diag([100.0, 100.0, 1.0, 1.0]), 1e-6 * np.eye(2)
    P = solve_discrete_are(A, B, Q, R)
    K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    print("poles of the arm          ", np.sort(abs(np.linalg.eigvals(A))).round(4))
    print("poles with the regulator  ", np.sort(abs(np.linalg.eigvals(A - B @ K))).round(4))

    q, qd = upright + np.radians([5.0, -3.0]), np.zeros(2)
    for k in range(200):
        if k % 40 == 0:
            print(f"t = {k * PERIOD:.1f} s, deviation from upright {np.degrees(q - upright).round(3)} deg")
        tau = hold - K @ np.concatenate([q - upright, qd])
        run = da.simulate(arm, q, qd, tau, PERIOD)  # the torque is held over a period
        q, qd = run.q[-1], run.qd[-1]
    print(f"largest deviation after 2 s: {abs(np.degrees(q - upright)).max():.1e} deg")


if __name__ == "__main__":
    main()
