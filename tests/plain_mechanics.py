"""Dynamics of a Mechanism by brute force with NumPy: slow, short and independent of ``equations/``.

Kinetic energy from body Jacobians, gravity torques from m g·J. Used to say that two descriptions
are the same machine, and to compare with other people's programs.
"""

import numpy as np


def transform(placement):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = placement.rotation, placement.translation
    return T


def motion(body, q):
    T, a = np.eye(4), np.array(body.axis)
    if body.revolute:
        K = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
        T[:3, :3] += np.sin(q) * K + (1 - np.cos(q)) * K @ K
    else:
        T[:3, 3] = q * a
    return T


class PlainMechanics:
    """B(q), g(q) and the tip's pose of one mechanism at one q."""

    def __init__(self, mechanism, q):
        self.mechanism, n = mechanism, mechanism.n
        self.frames, self.axes, self.origins = [], [], []
        base = transform(mechanism.base)
        for body, x in zip(mechanism.bodies, q, strict=True):
            parent = base if body.parent < 0 else self.frames[body.parent]
            joint = parent @ transform(body.placement)
            self.axes.append(joint[:3, :3] @ body.axis)
            self.origins.append(joint[:3, 3])
            self.frames.append(joint @ motion(body, x + body.offset) @ transform(body.link_frame))
        tip = base if mechanism.tip_body < 0 else self.frames[mechanism.tip_body]
        self.tip = tip @ transform(mechanism.tip)
        self.B, self.g = np.zeros((n, n)), np.zeros(n)
        for i, body in enumerate(mechanism.bodies):
            R, I = self.frames[i][:3, :3], body.inertia
            J, W = self.jacobian(i, self.frames[i][:3, 3] + R @ I.com)
            self.B += I.mass * J.T @ J + W.T @ R @ np.array(I.tensor) @ R.T @ W
            self.g -= I.mass * J.T @ np.array(mechanism.gravity)
            k, I_m = body.gear, body.rotor_inertia
            self.B[i, i] += k * k * I_m
            if not body.reflected and body.parent >= 0:  # k I_m q̇ z_mᵀ ω of the carrying link
                z = self.frames[body.parent][:3, :3] @ body.rotor_axis
                row = k * I_m * z @ self.jacobian(body.parent, np.zeros(3))[1]
                self.B[i] += row
                self.B[:, i] += row

    def jacobian(self, i, point):
        J, W = np.zeros((3, self.mechanism.n)), np.zeros((3, self.mechanism.n))
        for j in self.mechanism.path(i):
            if self.mechanism.bodies[j].revolute:
                J[:, j], W[:, j] = np.cross(self.axes[j], point - self.origins[j]), self.axes[j]
            else:
                J[:, j] = self.axes[j]
        return J, W


def assert_same_machine(one, other, tolerance=1e-12, seed=0):
    """Same inertia matrix, gravity torque, tip pose and friction at a few configurations."""
    assert [b.name for b in one.bodies] == [b.name for b in other.bodies]
    for a, b in zip(one.bodies, other.bodies, strict=True):
        np.testing.assert_allclose([a.viscous, *a.coulomb], [b.viscous, *b.coulomb], rtol=tolerance, atol=0)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        q = rng.uniform(-2, 2, one.n)
        x, y = PlainMechanics(one, q), PlainMechanics(other, q)
        for part in ("B", "g", "tip"):
            a, b = getattr(x, part), getattr(y, part)
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(a).max(initial=0)), err_msg=part)
