# %% [markdown]
# # S 7.3.2 · Example 7.2: what the torques of a two-link arm are made of
#
# *S is chapter 7 of Siciliano, Sciavicco, Villani, Oriolo,* Robotics: Modelling, Planning and Control.
#
# **What you will learn**
# - to plan the three motions of the example and to compute their joint torques by inverse dynamics (Figs. 7.5, 7.7, 7.9, 7.10);
# - to split a torque into the contribution of every acceleration, every pair of velocities, and gravity (Figs. 7.6, 7.8, 7.11);
# - to check each remark that the book makes about these figures, as an assertion;
# - how a force at the tip changes the torques (Problem 7.7).

# %%
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

plt.rcParams.update(
    {"figure.dpi": 80, "font.size": 9, "axes.titlesize": 9, "axes.titlelocation": "left", "legend.frameon": False}
)
plt.rcParams.update({"axes.grid": True, "axes.axisbelow": True, "grid.color": "0.9"})
arm = da.load("planar-2r")  # the data of the example: 1 m, 50 kg, 10 kg m², rotors of 0.01 kg m² behind gears of 100
print(arm.equations().legend())

# %% [markdown]
# All motions start with the tip at (0.2, 0) m and a lower elbow. For two links of 1 m and a tip at (x, 0) m the law of
# cosines gives $\vartheta_2 = \arccos(x^2/2 - 1)$ and, by symmetry, $\vartheta_1 = -\vartheta_2/2$.


# %%
def lower_elbow(x):
    """ϑ_1, ϑ_2 (rad) that put the tip at (x, 0) m."""
    elbow = np.arccos(x**2 / 2 - 1)
    return np.array([-elbow / 2, elbow])


start, end = lower_elbow(0.2), lower_elbow(1.8)
assert np.allclose(arm.pose(start)[:3, 3], [0.2, 0, 0]) and np.allclose(arm.pose(end)[:3, 3], [1.8, 0, 0])
speed = {"acceleration_time": 0.15, "max_velocity": 5.0}
equal = da.triangular(start, start + np.pi / 2, duration=0.5)  # both joints turn by π/2 in 0.5 s
different = da.trapezoidal(start, end, **speed)  # 0.15 s, 5 rad/s
straight = da.line(arm, (0.2, 0), (1.8, 0), q0=start, **speed)  # the tip: 0.15 s, 5 m/s
print("durations:", *(f"{motion.duration:.4f} s" for motion in (equal, different, straight)))


# %%
def torques(motion, tip_wrench=None):
    return arm.inverse_dynamics(motion.q, motion.qd, motion.qdd, tip_wrench)


def draw_motion(motion, title):
    """Positions, velocities, accelerations and torques of both joints, in four panels."""
    figure, panels = plt.subplots(2, 2, figsize=(9, 5), sharex=True, layout="constrained")
    names = ("position (rad)", "velocity (rad/s)", "acceleration (rad/s²)", "torque (N m)")
    for axes, name, values in zip(panels.flat, names, (motion.q, motion.qd, motion.qdd, torques(motion)), strict=True):
        axes.plot(motion.t, values[:, 0], "C0", label="joint 1")
        axes.plot(motion.t, values[:, 1], "C1--", label="joint 2")
        axes.set_title(name)
    panels[0, 0].legend()
    for axes in panels[1]:
        axes.set_xlabel("time (s)")
    figure.suptitle(title, fontsize=10)
    plt.show()


def draw_contributions(motion, title):
    """Inertia torques, centrifugal and Coriolis torques, and gravity, of joint 1 on the left and joint 2 on the right."""
    terms = arm.torque_terms(motion.q, motion.qd, motion.qdd)
    inertia = terms.inertia + terms.rotor  # the book counts the rotors' spin with b_ij
    figure, panels = plt.subplots(3, 2, figsize=(9, 6.6), sharex=True, layout="constrained")
    for i in (0, 1):
        for j, style in enumerate(("C0", "C1--")):
            panels[0, i].plot(motion.t, inertia[:, i, j], style, label=f"due to acceleration of joint {j + 1}")
            panels[1, i].plot(
                motion.t, terms.centrifugal[:, i, j], style, label=f"centrifugal, velocity of joint {j + 1}"
            )
        panels[1, i].plot(motion.t, terms.coriolis[:, i, 0, 1], "C2-.", label="Coriolis")
        panels[2, i].plot(motion.t, terms.gravity[:, i], "C3")
        for axes, name in zip(panels[:, i], ("inertia", "centrifugal and Coriolis", "gravity"), strict=True):
            axes.set_title(f"joint {i + 1}: {name} (N m)")
        panels[2, i].set_xlabel("time (s)")
    lines = [*panels[0, 0].lines, *panels[1, 0].lines]
    figure.legend(lines, [line.get_label() for line in lines], loc="outside lower center", ncols=3)
    figure.suptitle(title, fontsize=10)
    plt.show()
    return terms, inertia


# %% [markdown]
# ## Figs. 7.5 and 7.6: trajectories of equal duration
#
# Both joints rotate by π/2 rad in 0.5 s with a triangular velocity profile.

# %%
draw_motion(equal, "Fig. 7.5: joint trajectories of equal duration")
terms, inertia = draw_contributions(equal, "Fig. 7.6: torque contributions, joint trajectories of equal duration")

# %% [markdown]
# The book makes five remarks about Fig. 7.6:
#
# 1. the inertia torque at joint 1 due to $\ddot\vartheta_1$ follows the acceleration;
# 2. the inertia torque at joint 2 due to $\ddot\vartheta_2$ is piecewise constant, since $b_{22}$ is constant;
# 3. the two mixed inertia torques are equal, since $b_{12} = b_{21}$ and both joints accelerate alike;
# 4. Coriolis torque appears only at joint 1: link 2 is at rest in its own frame, but moves in the frame of link 1;
# 5. centrifugal and Coriolis torques show the same symmetry: $c_{122} = -c_{211}$, and $2c_{112} = 2c_{122}$.

# %%
away = np.abs(equal.qdd[:, 0]) > 0
assert np.all(np.sign(inertia[away, 0, 0]) == np.sign(equal.qdd[away, 0]))  # 1: b_11 > 0 only rescales it
assert len(np.unique(inertia[:, 1, 1].round(6))) == 2  # 2: one value while speeding up, one while braking
assert np.allclose(inertia[:, 0, 1], inertia[:, 1, 0])  # 3
assert np.all(terms.coriolis[:, 1] == 0) and np.abs(terms.coriolis[:, 0, 0, 1]).max() > 100  # 4
assert np.allclose(terms.centrifugal[:, 0, 1], -terms.centrifugal[:, 1, 0])  # 5
assert np.allclose(terms.coriolis[:, 0, 0, 1], 2 * terms.centrifugal[:, 0, 1])
assert np.allclose(terms.total, torques(equal))  # and nothing has been left out
print("the five remarks hold")

# %% [markdown]
# ## Figs. 7.7 and 7.8: trajectories of different duration
#
# The joints take the tip to (1.8, 0) m, each with the same acceleration time and top speed. Joint 1 has half the distance to travel and
# arrives first.

# %%
draw_motion(different, "Fig. 7.7: joint trajectories of different duration")
terms, inertia = draw_contributions(
    different, "Fig. 7.8: torque contributions, joint trajectories of different duration"
)

# %% [markdown]
# The three remarks about Fig. 7.8: the mixed inertia torques are opposite while the two accelerations are opposite; the
# centrifugal torque at joint 1 (caused by joint 2) dies out later than that at joint 2 (caused by joint 1); gravity at joint 2
# hardly changes initially, because the two rotations cancel in $\vartheta_1 + \vartheta_2$, while at joint 1 it grows, because
# the centre of mass moves away from the base.

# %%
opposite = np.isclose(different.qdd[:, 0], -different.qdd[:, 1]) & (different.qdd[:, 0] != 0)
assert opposite.any() and np.allclose(inertia[opposite, 0, 1], -inertia[opposite, 1, 0])


def dies_out(values):
    """The last instant at which there is a torque."""
    return different.t[np.abs(values) > 1e-9].max()


print(f"centrifugal torque: at joint 2 until {dies_out(terms.centrifugal[:, 1, 0]):.3f} s, ", end="")
print(f"at joint 1 until {dies_out(terms.centrifugal[:, 0, 1]):.3f} s")
assert dies_out(terms.centrifugal[:, 0, 1]) > dies_out(terms.centrifugal[:, 1, 0])
first = different.t <= 0.2
g1, g2 = terms.gravity.T
print(
    f"gravity in the first 0.2 s: joint 1 {g1[0]:.0f} … {g1[first][-1]:.0f} N m, joint 2 {g2[first].min():.0f} … {g2[first].max():.0f} N m"
)
assert np.ptp(g2[first]) < 0.06 * np.ptp(g1[first]) and np.all(np.diff(g1[first]) > 0)

# %% [markdown]
# ## Figs. 7.9, 7.10 and 7.11: a straight line of the tip
#
# Now the profile is prescribed for the *tip*: 1.6 m along the horizontal axis. `da.line` solves the inverse kinematics for
# positions, velocities and accelerations exactly.

# %%
op = arm.operational_space(task="xy")
x = (
    op.pose(straight.q)[:, 0],
    op.velocity(straight.q, straight.qd)[:, 0],
    op.acceleration(straight.q, straight.qd, straight.qdd)[:, 0],
)
figure, panels = plt.subplots(1, 3, figsize=(9, 2.4), layout="constrained")
for axes, values, name in zip(panels, x, ("position (m)", "velocity (m/s)", "acceleration (m/s²)"), strict=True):
    axes.plot(straight.t, values, "C4")
    axes.set_title(f"tip: {name}")
    axes.set_xlabel("time (s)")
figure.suptitle("Fig. 7.9: the tip along the horizontal axis", fontsize=10)
plt.show()
assert np.allclose(op.pose(straight.q)[:, 1], 0)  # it stays on the axis

# %%
draw_motion(straight, "Fig. 7.10: joints and torques, straight line of the tip")
terms, inertia = draw_contributions(straight, "Fig. 7.11: torque contributions, straight line of the tip")

# %% [markdown]
# The profile of the tip is symmetric in time; those of the joints are not, because the kinematics is nonlinear. The end of the
# line is near the outstretched arm: joint 2 has to brake hard there and needs the largest torque of the whole example.
# The remarks of Fig. 7.6 that follow from the *model* hold again, those that follow from equal joint motions do not.

# %%
assert np.allclose(x[1], np.interp(straight.duration - straight.t, straight.t, x[1]), atol=1e-6)  # tip: symmetric
assert not np.allclose(
    straight.qd[:, 1], np.interp(straight.duration - straight.t, straight.t, straight.qd[:, 1]), atol=0.5
)
assert np.all(terms.coriolis[:, 1] == 0)  # Coriolis at joint 1 only
assert np.allclose(inertia[:, 1, 1], inertia[0, 1, 1] / straight.qdd[0, 1] * straight.qdd[:, 1])  # b_22 is constant
print("peak torques (N m):", np.abs(torques(straight)).max(axis=0).round(0))

# %% [markdown]
# ## Problem 7.7: the tip pushes with (500, 500) N
#
# The tip exerts $\boldsymbol h_e$ on the environment, so the drives need $\boldsymbol J^T\boldsymbol h_e$ more, (7.42).

# %%
push = [500, 500, 0, 0, 0, 0]  # f_x, f_y, f_z (N), then the moments
figure, panels = plt.subplots(2, 3, figsize=(9, 4.4), sharex="col", layout="constrained")
motions = {"equal duration": equal, "different duration": different, "straight line": straight}
for k, (name, motion) in enumerate(motions.items()):
    loaded, free = torques(motion, push), torques(motion)
    contact = np.einsum("kij,i->kj", arm.jacobian(motion.q), push)  # Jᵀ h_e
    assert np.allclose(loaded - free, contact)
    for i in (0, 1):
        panels[i, k].plot(motion.t, free[:, i], "0.6")
        panels[i, k].plot(motion.t, loaded[:, i], "C0" if i == 0 else "C1")
        panels[i, k].set_title(f"{name}: joint {i + 1} (N m)")
    panels[1, k].set_xlabel("time (s)")
figure.legend(
    [*panels[0, 0].lines, panels[1, 0].lines[1]],
    ["no force", "(500, 500) N, joint 1", "(500, 500) N, joint 2"],
    loc="outside lower center",
    ncols=3,
)
figure.suptitle("Problem 7.7", fontsize=10)
plt.show()

# %% [markdown]
# ## Task
#
# The first motion takes 0.5 s. How long must it take, with the same triangular profile, so that the torque of joint 1 never
# exceeds 3000 N m? Put your duration (to 0.01 s) into `my_duration`.
#
# *Hint.* Gravity does not depend on the duration $T$, all other torques are proportional to $1/T^2$ (section 7.7 explains why);
# so compute the torque once without gravity, `arm.replace(gravity=(0, 0, 0))`, and scale it.

# %%
my_duration = None
if my_duration is None:
    print("not answered yet")
else:
    peak = np.abs(torques(da.triangular(start, start + np.pi / 2, duration=my_duration))[:, 0]).max()
    shorter = np.abs(torques(da.triangular(start, start + np.pi / 2, duration=my_duration - 0.01))[:, 0]).max()
    print("correct" if peak <= 3000 < shorter else f"not yet: the peak is {peak:.0f} N m")
