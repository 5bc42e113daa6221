# %% [markdown]
# # S 7.6 · Direct and inverse dynamics
#
# *S is chapter 7 of Siciliano, Sciavicco, Villani, Oriolo,* Robotics: Modelling, Planning and Control.
#
# **What you will learn**
# - to compute accelerations from torques, (7.115)–(7.116), and to integrate them in a simulation;
# - to build $\boldsymbol B$ column by column with an inverse-dynamics algorithm, as the book proposes for Newton–Euler;
# - that direct dynamics undoes inverse dynamics, and what happens when a force at the tip is forgotten (Problem 7.7);
# - how the number of operations grows with the number of joints.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

np.set_printoptions(suppress=True, linewidth=120)
plt.rcParams.update(
    {"figure.dpi": 80, "font.size": 9, "axes.titlesize": 9, "axes.titlelocation": "left", "legend.frameon": False}
)
plt.rcParams.update({"axes.grid": True, "axes.axisbelow": True, "grid.color": "0.9"})
arm = da.load("planar-2r")

# %% [markdown]
# ## Accelerations from torques
#
# $\ddot{\boldsymbol q} = \boldsymbol B^{-1}(\boldsymbol q)\,(\boldsymbol\tau - \boldsymbol\tau')$, and $\boldsymbol\tau'$ collects everything that does not depend on $\ddot{\boldsymbol q}$. With an
# inverse-dynamics algorithm at hand, $\boldsymbol\tau'$ is its result for $\ddot{\boldsymbol q} = \boldsymbol 0$, and column $i$ of $\boldsymbol B$ its result for
# $\ddot q_i = 1$ with all velocities and gravity zero.

# %%
panda = da.load("panda")
weightless = panda.replace(gravity=(0, 0, 0))
rng = np.random.default_rng(0)
q, qd, tau = rng.uniform(-1, 1, (3, 7))
zero = np.zeros(7)
rest = panda.inverse_dynamics(q, qd, zero)  # τ' of (7.116)
B = weightless.inverse_dynamics(q, zero, np.eye(7)).T  # all seven columns in one call
qdd = np.linalg.solve(B, tau - rest)  # (7.115)
print("q̈ =", qdd.round(3))
assert np.allclose(B, panda.inertia_matrix(q))
assert np.allclose(B, panda.inertia_matrix(q, formulation="column-by-column"))
assert np.allclose(qdd, panda.forward_dynamics(q, qd, tau))
assert np.allclose(panda.inverse_dynamics(q, qd, qdd), tau)  # and back

# %% [markdown]
# ## Simulation by hand: Runge–Kutta
#
# The state $(\boldsymbol q, \dot{\boldsymbol q})$ at $t_k$ gives the acceleration, an integration rule gives the state at $t_{k+1}$. The arm of Example 7.2 is released:


# %%
def rate(x):
    """d/dt of x = (q, q̇), without any torque."""
    q, qd = x[:2], x[2:]
    return np.concatenate([qd, arm.forward_dynamics(q, qd, np.zeros(2))])


def runge_kutta(x, dt):
    a = rate(x)
    b = rate(x + dt / 2 * a)
    c = rate(x + dt / 2 * b)
    d = rate(x + dt * c)
    return x + dt / 6 * (a + 2 * b + 2 * c + d)


x, dt = np.array([0.3, 0.8, 0.0, 0.0]), 1e-3
for _ in range(1000):
    x = runge_kutta(x, dt)
run = da.simulate(arm, [0.3, 0.8], None, None, 3.0)  # the same, compiled
print("after 1 s:", x[:2].round(6), " da.simulate:", run.q[1000].round(6))
assert np.allclose(x, np.concatenate([run.q[1000], run.qd[1000]]), atol=1e-10)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
left.plot(run.t, run.q[:, 0], "C0", label="joint 1")
left.plot(run.t, run.q[:, 1], "C1--", label="joint 2")
left.set(title="position (rad)", xlabel="time (s)")
left.legend(loc="lower left")
for step, style in ((4e-2, "C3"), (2e-2, "C2--"), (1e-2, "C4-.")):
    swing = da.simulate(arm, [0.3, 0.8], None, None, 3.0, step=step)
    error = np.abs(swing.energy - swing.energy[0])
    right.semilogy(swing.t[1:], error[1:] + 1e-12, style, label=f"step {1000 * step:.0f} ms")
right.set(title="error of the total energy (J)", xlabel="time (s)")
right.legend(loc="lower right")
plt.show()
ends = [
    np.abs(da.simulate(arm, [0.3, 0.8], None, None, 1.0, step=step).q[-1] - run.q[1000]).max() for step in (4e-2, 2e-2)
]
print(f"halving the step divides the error by {ends[0] / ends[1]:.0f}: a rule of order 4")

# %% [markdown]
# ## There and back
#
# The second motion of Example 7.2: its torques, fed to the arm without any feedback, reproduce the motion. With a force of (500, 500) N at
# the tip (Problem 7.7) that the torques do not account for, they do not; with the torques of the problem, they do.

# %%
elbow = np.arccos(np.array([0.2, 1.8]) ** 2 / 2 - 1)
motion = da.trapezoidal([-elbow[0] / 2, elbow[0]], [-elbow[1] / 2, elbow[1]], acceleration_time=0.15, max_velocity=5.0)
push = np.array([500.0, 500.0, 0, 0, 0, 0])


def torque_for(wrench):
    """Inverse dynamics of the motion as a torque over time."""

    def torque(t, q, qd):
        return arm.inverse_dynamics(*motion(np.clip(t, 0, motion.duration)), wrench)

    torque.knots = motion.breaks  # where the acceleration jumps
    return torque


figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
for known, name, style in ((push, "torques of Problem 7.7", "C0"), (None, "force forgotten", "C1--")):
    swing = da.simulate(arm, motion.q[0], None, torque_for(known), motion.duration, tip_wrench=push)
    miss = np.linalg.norm(arm.pose(swing.q)[:, :2, 3] - arm.pose(motion(swing.t)[0])[:, :2, 3], axis=-1)
    axes.plot(swing.t, 100 * miss, style, label=name)
    print(f"{name:24s} misses the goal by {100 * miss[-1]:.4f} cm")
axes.set_title("distance of the tip from the planned point (cm)")
axes.set_xlabel("time (s)")
axes.legend()
plt.show()

# %% [markdown]
# ## How the number of operations grows with the number of joints
#
# The book: $O(n)$ operations for inverse dynamics, $O(n^2)$ for direct dynamics. Counted for chains of $n$ general revolute joints. (*Solving* with
# $\boldsymbol B$ takes $n^3/3$ additional operations, which are few compared with the rest unless $n$ is large; an algorithm on articulated bodies
# needs $O(n)$ in total.)

# %%
joints = [2, 3, 4, 6, 8, 10]
counts = {"inverse dynamics": [], "inertia matrix": [], "direct dynamics": []}
for n in joints:
    row = {
        "a": 0.4,
        "alpha": 0.6,
        "d": 0.2,
        "mass": 2.0,
        "com": (0.1, 0.05, 0.02),
        "inertia": np.diag([0.02, 0.03, 0.04]) + 0.002,
    }
    chain = da.from_dh([row] * n)
    for name, quantity in zip(counts, ("inverse_dynamics", "inertia_matrix", "forward_dynamics"), strict=True):
        operations = chain.operations(quantity).compiled
        counts[name].append(operations.multiplications + operations.additions)
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for (name, work), marker in zip(counts.items(), ("o-", "s--", "^-."), strict=True):
    axes.plot(joints, work, marker, label=name, ms=4)
axes.set(xlabel="joints n", title="multiplications and additions, compiled")
axes.legend()
plt.show()
inverse = np.array(counts["inverse dynamics"])
assert np.ptp(np.diff(inverse[3:])) <= 4  # a straight line: the same number for every two joints more
growth = np.log(counts["direct dynamics"][-1] / counts["direct dynamics"][-3]) / np.log(joints[-1] / joints[-3])
print(f"direct dynamics grows like n^{growth:.1f} between 6 and 10 joints")

# %% [markdown]
# ## Task
#
# The arm of Example 7.2 hangs with its links along a straight line at $\vartheta_1 = -90°$, $\vartheta_2 = 0$ and is at rest. A constant torque acts on joint 2
# only. Which torque (N m, to 10 N m) gives joint 1 an initial acceleration of $-1$ rad/s²? Put it into `my_torque`.
#
# *Hint.* At rest, in this position, $\boldsymbol g = \boldsymbol 0$, so $\ddot{\boldsymbol q} = \boldsymbol B^{-1}[0\ \ \tau_2]^T$ and $\ddot\vartheta_1 = -b_{12}\tau_2/\det\boldsymbol B$.

# %%
my_torque = None
if my_torque is None:
    print("not answered yet")
else:
    first = arm.forward_dynamics([-np.pi / 2, 0], [0, 0], [0, my_torque])[0]
    print("correct" if abs(first + 1) < 0.01 else f"not yet: {first:.3f} rad/s²")
