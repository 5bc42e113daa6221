# %% [markdown]
# # S 7.7 · Dynamic scaling of trajectories
#
# *S is chapter 7 of Siciliano, Sciavicco, Villani, Oriolo,* Robotics: Modelling, Planning and Control.
#
# **What you will learn**
# - to write velocity torques as $\boldsymbol\Gamma(\boldsymbol q)[\dot{\boldsymbol q}\dot{\boldsymbol q}]$, (7.117), and why they scale with the square of the speed;
# - the torques of the same path under another time law $r(t)$, (7.119)–(7.126), without computing inverse dynamics again;
# - to slow a motion down until it keeps the torque limits, and what this costs compared with the fastest timing of the same path.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

np.set_printoptions(suppress=True, linewidth=120)
plt.rcParams.update(
    {"figure.dpi": 80, "font.size": 9, "axes.titlesize": 9, "axes.titlelocation": "left", "legend.frameon": False}
)
plt.rcParams.update({"axes.grid": True, "axes.axisbelow": True, "grid.color": "0.9"})
arm = da.load("planar-2r")  # limits: 10 kN m and 5 kN m
q0 = np.array([-np.arccos(0.2**2 / 2 - 1) / 2, np.arccos(0.2**2 / 2 - 1)])
motion = da.line(arm, (0.2, 0), (1.8, 0), q0=q0, acceleration_time=0.15, max_velocity=5.0)  # Fig. 7.9

# %% [markdown]
# ## $\boldsymbol\Gamma(\boldsymbol q)$
#
# $\boldsymbol C\dot{\boldsymbol q}$ is quadratic in the velocities. With the vector $[\dot{\boldsymbol q}\dot{\boldsymbol q}]$ of all products $\dot q_j\dot q_k$, $j\le k$, the columns of $\boldsymbol\Gamma$ are Christoffel symbols, those of mixed products twice.

# %%
pairs = [(0, 0), (0, 1), (1, 1)]


def Gamma(q):
    """(…, 2, 3) with C q̇ = Γ [q̇q̇], (7.117)."""
    c = arm.christoffel(q)
    return np.stack([(1 if j == k else 2) * c[..., j, k] for j, k in pairs], axis=-1)


def products(qd):
    """[q̇q̇] = (q̇_1², q̇_1 q̇_2, q̇_2²)."""
    return np.stack([qd[..., j] * qd[..., k] for j, k in pairs], axis=-1)


q, qd, qdd = motion.q, motion.qd, motion.qdd
assert np.allclose(Gamma(q), arm.velocity_product_matrix(q)) and np.allclose(products(qd), arm.velocity_products(qd))
velocity = np.einsum("...ij,...j->...i", Gamma(q), products(qd))
assert np.allclose(velocity, np.einsum("...ij,...j->...i", arm.coriolis_matrix(q, qd), qd))
print("Γ at q = (0, 60°):\n", Gamma(np.array([0, np.pi / 3])).round(3))

# %% [markdown]
# ## Another time law, (7.119)–(7.126)
#
# $\boldsymbol q(t) = \bar{\boldsymbol q}(r(t))$ runs along the same path. Its velocity is $\dot r\bar{\boldsymbol q}'$, its acceleration $\dot r^2\bar{\boldsymbol q}'' + \ddot r\bar{\boldsymbol q}'$. With $\bar{\boldsymbol\tau}_s = \boldsymbol B\bar{\boldsymbol q}'' + \boldsymbol\Gamma[\bar{\boldsymbol q}'\bar{\boldsymbol q}']$ of the
# original,
#
# $$\boldsymbol\tau_s(t) = \dot r^2\,\bar{\boldsymbol\tau}_s(r) + \ddot r\,\boldsymbol B(\bar{\boldsymbol q}(r))\,\bar{\boldsymbol q}'(r) , \tag{7.126}$$
#
# and gravity is unchanged. An example: a law that starts and ends gently, $r(t) = \bar t_f\,(t/t_f - \sin(2\pi t/t_f)/2\pi)$, over twice the time.

# %%
T_bar, T = motion.duration, 2 * motion.duration
t = np.linspace(0, T, 401)
s = 2 * np.pi * t / T
r, r_dot, r_ddot = (
    T_bar * (t / T - np.sin(s) / (2 * np.pi)),
    T_bar / T * (1 - np.cos(s)),
    T_bar / T * 2 * np.pi / T * np.sin(s),
)
path = motion(np.clip(r, 0, T_bar))  # q̄, q̄', q̄'' at r
B = arm.inertia_matrix(path[0])
tau_s_bar = np.einsum("kij,kj->ki", B, path[2]) + np.einsum("kij,kj->ki", Gamma(path[0]), products(path[1]))  # (7.125)
tau_s = r_dot[:, None] ** 2 * tau_s_bar + r_ddot[:, None] * np.einsum("kij,kj->ki", B, path[1])  # (7.126)
tau = tau_s + arm.gravity_torque(path[0])
new = path[0], r_dot[:, None] * path[1], r_dot[:, None] ** 2 * path[2] + r_ddot[:, None] * path[1]  # (7.120), (7.121)
assert np.allclose(tau, arm.inverse_dynamics(*new))
retimed = motion.retimed(
    lambda t: T_bar * (t / T - np.sin(2 * np.pi * t / T) / (2 * np.pi)), duration=T
)  # the same by the library
assert np.allclose(retimed(t[1:-1]), np.array(new)[:, 1:-1]) and np.allclose(
    retimed.scaling.torques(arm, t[1:-1]), tau[1:-1]
)
figure, panels = plt.subplots(1, 3, figsize=(9.5, 2.8), layout="constrained")
panels[0].plot(t, r, "C4")
panels[0].set(title="time law $r(t)$ (s)", xlabel="t (s)")
for i, axes in enumerate(panels[1:]):
    axes.plot(motion.t, arm.inverse_dynamics(q, qd, qdd)[:, i] / 1e3, "0.6")
    axes.plot(t, tau[:, i] / 1e3, f"C{i}")
    axes.set(title=f"torque of joint {i + 1} (kN m)", xlabel="t (s)")
lines = [*panels[1].lines, panels[2].lines[1]]
figure.legend(lines, ["as given", "joint 1 under $r(t)$, by (7.126)", "joint 2"], loc="outside lower center", ncols=3)
plt.show()

# %% [markdown]
# ## Linear scaling, $r = ct$
#
# Stretch time by the factor $c$ (new duration over old): $\boldsymbol\tau_s$ is divided by $c^2$. The straight line needs 8.1 kN m at joint 2, whose motor delivers 5 kN m. At the worst instant
# $|\tau_s/c^2 + g| = \tau_{max}$ gives $c$. (In the book's letters the slower motion is $\bar{\boldsymbol q}$, with $\bar{\boldsymbol\tau}_s(ct) = \boldsymbol\tau_s(t)/c^2$ and the duration $\bar t_f = c\,t_f$.)

# %%
gravity = arm.gravity_torque(q)
tau_s = arm.inverse_dynamics(q, qd, qdd) - gravity
limit = np.array([10_000.0, 5_000.0])
room = np.where(tau_s > 0, limit - gravity, limit + gravity)  # what gravity leaves in the direction of τ_s
c = np.sqrt((np.abs(tau_s) / room).max())
slower = motion.scaled(arm)
print(slower.scaling)
assert np.isclose(slower.scaling.c, c, rtol=1e-4)
table = motion.scaling_table(arm, factors=(0.75, 1.0, 1.5, 2.0))
print(table)
assert np.allclose(table.torque[1], np.abs(tau_s + gravity).max(axis=0), rtol=1e-4)
assert np.allclose(table.torque[-1], np.abs(tau_s / 4 + gravity).max(axis=0), rtol=5e-3)  # knots: both sides count

# %% [markdown]
# ## The cost of uniform scaling
#
# The book's closing remark: the whole motion pays for one short moment. The fastest timing of the same path under the same limits is even shorter than the original motion:

# %%
fastest = motion.time_optimal(arm, limits={"effort": limit})
figure, panels = plt.subplots(1, 2, figsize=(9, 2.9), sharex=True, layout="constrained")
for name, which, style in (
    ("as given", motion, "0.6"),
    ("evenly scaled", slower, "C0"),
    ("time-optimal", fastest, "C3--"),
):
    torque = arm.inverse_dynamics(which.q, which.qd, which.qdd)
    for i, axes in enumerate(panels):
        axes.plot(which.t, torque[:, i] / 1e3, style, label=f"{name}, {which.duration:.2f} s")
for i, axes in enumerate(panels):
    axes.axhline(limit[i] / 1e3, color="k", lw=0.8, ls=":")
    axes.axhline(-limit[i] / 1e3, color="k", lw=0.8, ls=":")
    axes.set(title=f"torque of joint {i + 1} (kN m)", xlabel="time (s)")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()
for which in (slower, fastest):
    assert np.all(np.abs(arm.inverse_dynamics(which.q, which.qd, which.qdd)) <= limit * (1 + 1e-5))
assert fastest.duration < slower.duration

# %% [markdown]
# ## Task
#
# What if gravity alone exceeds a limit? Take a motor of 700 N m at joint 1. Does slowing down help for the straight line? Put `True` or `False` into `my_answer`.
#
# *Hint.* Compare 700 N m with `arm.gravity_torque(motion.q)[:, 0].max()`; then see the message of `motion.scaled`.

# %%
my_answer = None
if my_answer is None:
    print("not answered yet")
else:
    try:
        motion.scaled(arm, limits={"effort": [700.0, 5000.0]})
        helps = True
    except da.LimitError as problem:
        helps = False
        print(problem)
    print("correct" if my_answer is helps else "not yet")
