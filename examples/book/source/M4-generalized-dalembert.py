# %% [markdown]
# # M 4 · The generalized d'Alembert equations
#
# *M is Milićević, Golubović, Slavković,* Transformation matrix approach to dynamics of manipulative robots.
#
# **What you will learn**
# - a closed form of the dynamics that separates the *translation* of the links' centres of mass from their *rotation*, (4.1)–(4.5);
# - to evaluate its formulas by hand for a small arm, with the garbled terms of the print restored;
# - which part matters for a real arm, and what a model that drops one of them loses.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

np.set_printoptions(suppress=True, linewidth=120)
plt.rcParams.update(
    {"figure.dpi": 80, "font.size": 9, "axes.titlesize": 9, "axes.titlelocation": "left", "legend.frameon": False}
)
plt.rcParams.update({"axes.grid": True, "axes.axisbelow": True, "grid.color": "0.9"})
arm = da.load("puma560")

# %% [markdown]
# ## The formulas
#
# Only two vectors per joint are needed: the axis $\boldsymbol z_{i-1}$ and the origin $\boldsymbol p_{i-1}$ of its frame; and for each link its centre of mass
# $\bar{\boldsymbol r}_s$ and inertia tensor. With $\boldsymbol\omega_s = \sum_{p\le s}\dot\theta_p\boldsymbol z_{p-1}$ and
# $\hat{\dot{\boldsymbol\omega}}_s = \sum_{p\le s}\big(\sum_{q<p}\dot\theta_q\boldsymbol z_{q-1}\big)\times\dot\theta_p\boldsymbol z_{p-1}$, the angular acceleration without $\ddot\theta$:
#
# $$D_{ij} = \sum_{s\ge\max(i,j)} \big\{\boldsymbol z_{i-1}^T\boldsymbol I_s\boldsymbol z_{j-1} + m_s\,[\boldsymbol z_{j-1}\times(\bar{\boldsymbol r}_s - \boldsymbol p_{j-1})]\cdot[\boldsymbol z_{i-1}\times(\bar{\boldsymbol r}_s - \boldsymbol p_{i-1})]\big\} \tag{4.2}$$
# $$h_i^{tran} = \sum_{s\ge i} m_s\,\hat{\boldsymbol a}_s\cdot[\boldsymbol z_{i-1}\times(\bar{\boldsymbol r}_s - \boldsymbol p_{i-1})],\quad
# \hat{\boldsymbol a}_s = \sum_{k<s}\{\boldsymbol\omega_k\times(\boldsymbol\omega_k\times\boldsymbol p^*_k) + \hat{\dot{\boldsymbol\omega}}_k\times\boldsymbol p^*_k\} + \boldsymbol\omega_s\times(\boldsymbol\omega_s\times\bar{\boldsymbol c}_s) + \hat{\dot{\boldsymbol\omega}}_s\times\bar{\boldsymbol c}_s \tag{4.3}$$
# $$h_i^{rot} = \sum_{s\ge i}\{\boldsymbol z_{i-1}^T\boldsymbol I_s\hat{\dot{\boldsymbol\omega}}_s + [\boldsymbol z_{i-1}\times\boldsymbol\omega_s]^T\boldsymbol I_s\boldsymbol\omega_s\} \tag{4.4}$$
# $$c_i = -\boldsymbol g\cdot\big[\boldsymbol z_{i-1}\times\textstyle\sum_{j\ge i}m_j(\bar{\boldsymbol r}_j - \boldsymbol p_{i-1})\big] \tag{4.5}$$
#
# *Errata:* in (4.3) the fourth term is garbled; it is the second with $\bar{\boldsymbol c}_s$ (from frame $s-1$ to the centre of mass of link $s$) instead of $\boldsymbol p^*_k$. (4.4) is
# lost in the scan of the text. In (4.2) the sum starts at the larger of $i$ and $j$, so that $D_{ij} = D_{ji}$.
#
# Here they are in base coordinates, for a chain of revolute joints:


# %%
def dalembert(z, p, r, m, I, gravity, qd):
    """D_rot, D_tran, h_tran, h_rot, c of (4.2)–(4.5). z, p: axes and origins of the joints; r, m, I: of the links."""
    n = len(m)
    omega = np.cumsum(qd[:, None] * z, axis=0)
    before = np.vstack([np.zeros(3), omega[:-1]])
    omega_hat = np.cumsum(np.cross(before, qd[:, None] * z), axis=0)  # ω̇ without θ̈
    D_rot, D_tran = np.zeros((n, n)), np.zeros((n, n))
    h_tran, h_rot, c = np.zeros(n), np.zeros(n), np.zeros(n)
    for s in range(n):
        a_hat = sum(
            np.cross(omega[k], np.cross(omega[k], v)) + np.cross(omega_hat[k], v)
            for k, v in [*((k, p[k + 1] - p[k]) for k in range(s)), (s, r[s] - p[s])]
        )
        lever = np.cross(z[: s + 1], r[s] - p[: s + 1])
        D_rot[: s + 1, : s + 1] += z[: s + 1] @ I[s] @ z[: s + 1].T
        D_tran[: s + 1, : s + 1] += m[s] * lever @ lever.T
        h_tran[: s + 1] += m[s] * lever @ a_hat
        h_rot[: s + 1] += z[: s + 1] @ I[s] @ omega_hat[s] + np.cross(z[: s + 1], omega[s]) @ I[s] @ omega[s]
        c[: s + 1] -= m[s] * lever @ gravity
    return D_rot, D_tran, h_tran, h_rot, c


rod = {"a": 0.5, "mass": 3.0, "com": (-0.25, 0, 0), "inertia": {"xx": 0.01, "yy": 0.07, "zz": 0.07}}
small = da.from_dh([rod | {"alpha": 1.1}, rod | {"alpha": -0.7, "d": 0.1}, rod])  # a spatial arm of three joints
q, qd, qdd = np.array([0.3, -0.8, 1.2]), np.array([1.0, -2.0, 0.5]), np.array([0.4, 1.5, -2.0])
frames = np.concatenate([np.eye(4)[None], small.link_poses(q)])  # frames 0 … 3
R, o = frames[:, :3, :3], frames[:, :3, 3]
r = o[1:] + np.einsum("kij,j->ki", R[1:], rod["com"])
I = R[1:] @ np.diag([0.01, 0.07, 0.07]) @ np.swapaxes(R[1:], 1, 2)
by_hand = dalembert(R[:-1, :, 2], o[:-1], r, [3.0] * 3, I, np.array([0, 0, -9.81]), qd)
parts = small.dalembert(q, qd)
for name, value in zip(("D_rot", "D_tran", "h_tran", "h_rot", "c"), by_hand, strict=True):
    assert np.allclose(value, getattr(parts, name))
terms = small.dalembert_terms(q, qd)  # M's sums one by one, by link
assert np.allclose(terms.h_tran, parts.h_tran) and np.allclose(terms.h_rot, parts.h_rot)
tau = (parts.D_rot + parts.D_tran) @ qdd + parts.h_tran + parts.h_rot + parts.c  # (4.1)
assert np.allclose(tau, small.inverse_dynamics(q, qd, qdd))
print("by hand and by arm.dalembert: the same; τ =", tau.round(3), "N m")

# %% [markdown]
# M interprets the sums of (4.3), (4.4): with $p = q$ they are centrifugal, with $p\neq q$ Coriolis torques. The second and fourth sums of (4.3) and the first of (4.4) contain only products of different joints.

# %%
print("term      p = q (centrifugal)           p ≠ q (Coriolis)       at joints 1, 2, 3 (N m)")
for name, (same, different) in terms.split.items():
    if np.any(same) or np.any(different):
        print(
            f"{name:8s}",
            *(f"{x:8.4f}" for x in same.sum(axis=-1)),
            "  ",
            *(f"{x:8.4f}" for x in different.sum(axis=-1)),
        )
christoffel = small.christoffel(q)
squares = np.einsum("ijj,j->i", christoffel, qd**2)
assert np.allclose(terms.centrifugal, squares)
assert np.allclose(terms.coriolis, christoffel @ qd @ qd - squares)
for name in ("tran_2", "tran_4", "rot_1"):
    assert not np.any(terms.split[name][0])

# %% [markdown]
# ## Translation and rotation along a motion
#
# The PUMA 560 moves all joints within one second. The spin of the rotors counts as rotation: with gears of 54 to 108 it makes up nearly all of the torque at the
# wrist and a good part of it at the first joints.

# %%
motion = da.polynomial([0, 0.8, -0.8, 0, 0.4, 0], [1.0, 0.2, 0.2, 0.8, -0.5, 1.0], 1.0, degree=5)
parts = arm.dalembert(motion.q, motion.qd)
accelerating = {
    name: np.einsum("kij,kj->ki", D, motion.qdd)
    for name, D in (("rotation", parts.D_rot), ("translation", parts.D_tran))
}
figure, panels = plt.subplots(2, 3, figsize=(9, 4.6), sharex=True, layout="constrained")
for i, axes in enumerate(panels.flat):
    axes.plot(motion.t, accelerating["translation"][:, i], "C0", label="$D^{tran}\\ddot q$")
    axes.plot(motion.t, accelerating["rotation"][:, i], "C1--", label="$D^{rot}\\ddot q$")
    axes.plot(motion.t, parts.h_tran[:, i], "C2-.", label="$h^{tran}$")
    axes.plot(motion.t, parts.h_rot[:, i], "C3:", label="$h^{rot}$")
    axes.plot(motion.t, parts.c[:, i], "0.6", lw=1, label="$c$")
    axes.set_title(f"joint {i + 1} (N m)")
for axes in panels[1]:
    axes.set_xlabel("time (s)")
figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
plt.show()
friction = arm.friction_torque(motion.qd)
total = sum(accelerating.values()) + parts.h_tran + parts.h_rot + parts.c
assert np.allclose(total + friction, arm.inverse_dynamics(motion.q, motion.qd, motion.qdd))

# %% [markdown]
# ## An approximate model
#
# M recommends the equations for deciding which terms may be dropped. The share of each part in the torque, as its RMS over the motion relative to the RMS of the total
# (without friction):

# %%
shares = {
    "D_tran q̈": accelerating["translation"],
    "D_rot q̈": accelerating["rotation"],
    "h_tran": parts.h_tran,
    "h_rot": parts.h_rot,
    "c": parts.c,
}
rms = np.sqrt((total**2).mean(axis=0))
print("share of the RMS torque, %      joint 1 … 6")
for name, values in shares.items():
    print(f"   {name:10s}", *(f"{100 * x:7.1f}" for x in np.sqrt((values**2).mean(axis=0)) / rms))
share = np.sqrt((parts.h_rot**2).mean(axis=0)) / rms
assert share.max() < 0.05  # h_rot is small at every joint
lighter = arm.approximate(drop="rotational")  # a model without D_rot and h_rot, compiled anew
without = lighter.inverse_dynamics(motion.q, motion.qd, motion.qdd)
assert np.allclose(without + accelerating["rotation"] + parts.h_rot, total + friction)
totals = [which.operations("inverse_dynamics").compiled.total for which in (arm, lighter)]
print(f"operations: {totals[0]} for the whole model, {totals[1]} without the rotational part")

# %% [markdown]
# ## Task
#
# In the three-joint arm above, let the links be point masses at their centres of mass (no inertia tensors). By how many per cent does $D_{11}$ fall at
# `q`? Put the number, to 0.1 %, into `my_percent`.
#
# *Hint.* $D_{11} = D_{11}^{rot} + D_{11}^{tran}$, and the point masses have only the second: `small.dalembert(q, qd)` has both.

# %%
my_percent = None
if my_percent is None:
    print("not answered yet")
else:
    points = da.from_dh(
        [row | {"inertia": np.zeros((3, 3))} for row in (rod | {"alpha": 1.1}, rod | {"alpha": -0.7, "d": 0.1}, rod)]
    )
    lost = 100 * (1 - points.inertia_matrix(q)[0, 0] / small.inertia_matrix(q)[0, 0])
    print("correct" if abs(my_percent - lost) < 0.06 else "not yet")
