# %% [markdown]
# # S 7.8 · The dynamic model in operational space
#
# *S is chapter 7 of Siciliano, Sciavicco, Villani, Oriolo,* Robotics: Modelling, Planning and Control.
#
# **What you will learn**
# - the inertia, Coriolis forces and gravity at the tip, (7.130)–(7.136), and where the model fails;
# - that a skew-symmetry property holds for the tip too (Problem 7.9);
# - the general solution of $\bar{\boldsymbol J}_A^T\boldsymbol\tau = \boldsymbol\gamma_A$ (Problem 7.10), and how its free torques move a redundant arm
#   internally without moving the tip.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

np.set_printoptions(suppress=True, linewidth=120)
plt.rcParams.update(
    {"figure.dpi": 80, "font.size": 9, "axes.titlesize": 9, "axes.titlelocation": "left", "legend.frameon": False}
)
plt.rcParams.update({"axes.grid": True, "axes.axisbelow": True, "grid.color": "0.9"})
arm = da.load("planar-3r")  # three links in a plane: one degree of freedom more than the tip's position needs
op = arm.operational_space(task="xy")
q, qd = np.array([0.9, -1.0, -0.7]), np.array([0.5, -0.8, 1.2])

# %% [markdown]
# ## The model, (7.130)–(7.133)
#
# From the joint-space matrices and the Jacobian:

# %%
J, Jd = op.jacobian(q), op.jacobian_derivative(q, qd)
B, C, g = arm.inertia_matrix(q), arm.coriolis_matrix(q, qd), arm.gravity_torque(q)
B_A = np.linalg.inv(J @ np.linalg.solve(B, J.T))  # (7.130)
C_A_xd = B_A @ J @ np.linalg.solve(B, C @ qd) - B_A @ Jd @ qd  # (7.131)
g_A = B_A @ J @ np.linalg.solve(B, g)  # (7.132)
assert (
    np.allclose(B_A, op.inertia(q))
    and np.allclose(g_A, op.gravity(q))
    and np.allclose(C_A_xd, op.coriolis_force(q, qd))
)
print("B_A (kg) =\n", B_A.round(3), "\ng_A (N) =", g_A.round(2))

# %% [markdown]
# Does (7.133) hold? Apply torques $\boldsymbol J_A^T\boldsymbol\gamma_A$, compute the accelerations with the *joint-space* model, and look at the tip:

# %%
gamma, wrench = np.array([30.0, 60.0]), np.array([5.0, -8.0, 0, 0, 0, 0])  # the tip pushes with (5, −8) N
qdd = arm.forward_dynamics(q, qd, J.T @ gamma, wrench)
xdd = op.acceleration(q, qd, qdd)
assert np.allclose(B_A @ xdd + C_A_xd + g_A, gamma - wrench[:2])
print("ẍ =", xdd.round(3), "m/s²:  B_A ẍ + C_A ẋ + g_A = γ_A − h_A holds")

# %% [markdown]
# For a nonredundant arm $\boldsymbol B_A = \boldsymbol J_A^{-T}\boldsymbol B\boldsymbol J_A^{-1}$, (7.134), and so on. Near a singular configuration the tip becomes infinitely heavy in
# the direction in which it cannot move: the two-link arm as it approaches the stretched configuration.

# %%
two = da.load("planar-2r")
tip = two.operational_space(task="xy")
elbow = np.radians(np.linspace(2, 178, 177))
states = np.stack([-elbow / 2, elbow], axis=-1)  # the tip stays on the x axis
J2 = tip.jacobian(states)
J2inv = np.linalg.inv(J2)
assert np.allclose(
    tip.inertia(states), np.swapaxes(J2inv, 1, 2) @ two.inertia_matrix(states) @ J2inv, rtol=1e-7
)  # (7.134)
assert np.allclose(
    tip.gravity(states), np.einsum("kji,kj->ki", J2inv, two.gravity_torque(states)), rtol=1e-7, atol=1e-6
)  # (7.136)
figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
axes.semilogy(np.degrees(elbow), tip.inertia(states)[:, 0, 0], "C0", label="along the arm, $x$")
axes.semilogy(np.degrees(elbow), tip.inertia(states)[:, 1, 1], "C1--", label="across the arm, $y$")
axes.set(
    xlabel="$\\vartheta_2$ (°): 0 is the stretched arm",
    title="inertia of the tip, $B_A$ (kg)",
)
axes.legend()
plt.show()
try:
    tip.inertia([0.3, 0.0])
except da.SingularityError as problem:
    print(f"a {problem.kind} singularity; the error says:", str(problem).partition(" (measure")[0])

# %% [markdown]
# ## Problem 7.9: skew-symmetry
#
# Let $\boldsymbol C$ be the Christoffel matrix and $\bar{\boldsymbol J} = \boldsymbol B^{-1}\boldsymbol J^T\boldsymbol B_A$. With $\boldsymbol C_A = \bar{\boldsymbol J}^T\boldsymbol C\bar{\boldsymbol J} - \boldsymbol B_A\dot{\boldsymbol J}\bar{\boldsymbol J}$,
# differentiating $\boldsymbol B_A^{-1} = \boldsymbol J\boldsymbol B^{-1}\boldsymbol J^T$ gives
#
# $$\dot{\boldsymbol B}_A - 2\boldsymbol C_A = \bar{\boldsymbol J}^T(\dot{\boldsymbol B} - 2\boldsymbol C)\bar{\boldsymbol J} + \boldsymbol B_A\dot{\boldsymbol J}\bar{\boldsymbol J} - (\boldsymbol B_A\dot{\boldsymbol J}\bar{\boldsymbol J})^T ,$$
#
# a skew-symmetric matrix plus the difference of a matrix and its transpose. For a nonredundant arm this $\boldsymbol C_A\dot{\boldsymbol x}$ is the one of (7.131); for a redundant
# one it is so if the arm has no internal motion, $\dot{\boldsymbol q} = \bar{\boldsymbol J}\dot{\boldsymbol x}$.

# %%
Jbar = op.inverse_jacobian(q)  # (7.138)
C_A = Jbar.T @ C @ Jbar - B_A @ Jd @ Jbar
assert np.allclose(C_A, op.coriolis(q, qd))
step = 1e-6
Bdot_A = (op.inertia(q + step * qd) - op.inertia(q - step * qd)) / (2 * step)  # by differences
N = Bdot_A - 2 * C_A
print("Ḃ_A − 2 C_A =\n", N.round(4))
assert np.allclose(N, -N.T, atol=1e-6)
along = Jbar @ (J @ qd)  # the same tip velocity, no internal motion
assert np.allclose(op.coriolis(q, along) @ (J @ along), op.coriolis_force(q, along))  # (7.131)
assert not np.allclose(op.coriolis(q, qd) @ (J @ qd), op.coriolis_force(q, qd))  # with internal motion, it is not

# %% [markdown]
# ## Problem 7.10: all torques with the same effect at the tip
#
# $\bar{\boldsymbol J}^T\boldsymbol J^T = \boldsymbol B_A\boldsymbol J\boldsymbol B^{-1}\boldsymbol J^T = \boldsymbol I$, so $\boldsymbol\tau = \boldsymbol J^T\boldsymbol\gamma_A$ solves (7.140). Two solutions differ by a $\boldsymbol\tau'$ with
# $\bar{\boldsymbol J}^T\boldsymbol\tau' = \boldsymbol 0$, and these are exactly the $(\boldsymbol I - \boldsymbol J^T\bar{\boldsymbol J}^T)\boldsymbol\tau_0$ of (7.141). They do not accelerate the tip.

# %%
tau0 = np.array([40.0, -25.0, 10.0])
P = op.null_projector(q)  # I − Jᵀ J̄ᵀ
assert np.allclose(P, np.eye(3) - J.T @ Jbar.T) and np.allclose(P @ P, P) and np.linalg.matrix_rank(P, tol=1e-9) == 1
assert np.allclose(Jbar.T @ (J.T @ gamma + P @ tau0), gamma)
quiet, loud = (op.acceleration(q, qd, arm.forward_dynamics(q, qd, J.T @ gamma + x)) for x in (P @ tau0, tau0))
same = op.acceleration(q, qd, arm.forward_dynamics(q, qd, J.T @ gamma))
print("tip acceleration:", same.round(3), " with P τ_0:", quiet.round(3), " with τ_0 itself:", loud.round(3))
assert np.allclose(same, quiet)

# %% [markdown]
# ## Internal motion
#
# `op.torque` is (7.141) with $\boldsymbol\gamma_A$ from (7.133). The tip is commanded to stay where it is; $\boldsymbol\tau_0$ balances gravity in the internal
# motion and adds a damped spring that pulls joint 3 towards 1.2 rad. The arm reconfigures itself, the tip does not move.


# %%
def hold(t, q, qd):
    """The tip stays (with a little feedback against drift), and the arm moves inside itself."""
    error, velocity = op.pose(start) - op.pose(q), op.jacobian(q) @ qd
    spring = np.array([0, 0, 60.0 * (1.2 - q[2])]) - 20.0 * qd
    return op.torque(q, qd, 100 * error - 20 * velocity, tau0=arm.gravity_torque(q) + spring)


start = np.array([0.9, -1.0, -0.7])
run = da.simulate(arm, start, None, hold, 2.0, step=4e-3)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for k, name in enumerate(("joint 1", "joint 2", "joint 3")):
    left.plot(run.t, run.q[:, k], ("C0", "C1--", "C2-.")[k], label=name)
left.set(title="position (rad)", xlabel="time (s)")
left.legend()
for k, shade in zip((0, 60, 120, 200, 500), (0.85, 0.7, 0.5, 0.3, 0.0), strict=True):
    points = np.vstack([[0, 0], arm.link_poses(run.q[k])[:, :2, 3]])
    right.plot(*points.T, "o-", color=str(shade), lw=2, ms=4)
right.plot(*op.pose(start), "o", color="C3", ms=8, mfc="none", mew=2)
right.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title="the arm at five instants, light to dark")
plt.show()
drift = np.abs(op.pose(run.q) - op.pose(start)).max()
print(f"the tip moves by less than 0.001 mm: {drift < 1e-6}; joint 3 turns by {run.q[-1, 2] - start[2]:.2f} rad")
assert drift < 1e-4 and run.q[-1, 2] - start[2] > 0.5

# %% [markdown]
# ## Task
#
# The three-link arm is at rest at `q`. In which direction is its tip lightest, i.e. for which unit vector $\boldsymbol u$ is $\boldsymbol u^T\boldsymbol B_A\boldsymbol u$ smallest? Give
# the angle of $\boldsymbol u$ with the x axis in degrees (between −90 and 90) as `my_direction`.
#
# *Hint.* Eigenvectors: `np.linalg.eigh(op.inertia(q))`.

# %%
my_direction = None
if my_direction is None:
    print("not answered yet")
else:
    u = np.array([np.cos(np.radians(my_direction)), np.sin(np.radians(my_direction))])
    print("correct" if u @ B_A @ u < 1.001 * np.linalg.eigvalsh(B_A)[0] else f"not yet: {u @ B_A @ u:.2f} kg")
