"""An arm from a Denavit-Hartenberg table: two revolute joints and one prismatic joint.

python examples/own_dh_table.py
"""

import numpy as np

import dalembert as da

ROWS = [
    # standard DH convention: z_{i-1} is the axis of joint i, and frame i is at the end of link i
    {"a": 0.4, "d": 0.3, "mass": 8.0, "com": (-0.2, 0, 0), "inertia": {"xx": 0.02, "yy": 0.12, "zz": 0.12}},
    {"a": 0.3, "alpha": np.pi, "mass": 5.0, "com": (-0.15, 0, 0), "inertia": {"xx": 0.01, "yy": 0.05, "zz": 0.05}},
    {"type": "prismatic", "mass": 1.5, "com": (0, 0, -0.1), "friction": {"viscous": 30.0, "coulomb": 4.0}},
]


def main() -> None:
    arm = da.from_dh(ROWS, name="my-scara")
    q, qd, qdd = np.array([0.5, -0.8, 0.1]), np.array([1.0, -2.0, 0.2]), np.array([4.0, 3.0, -1.0])
    print(arm)
    print("tip position     ", arm.pose(q)[:3, 3].round(4), "m")
    print("torques          ", arm.inverse_dynamics(q, qd, qdd).round(3), "N m, N m, N")
    print("due to gravity   ", arm.gravity_torque(q).round(3) + 0.0)
    print("due to friction  ", arm.friction_torque(qd).round(3) + 0.0)


if __name__ == "__main__":
    main()
