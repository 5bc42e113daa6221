# %% [markdown]
# # S 7.9 · The dynamic manipulability ellipsoid
#
# *S is chapter 7 of Siciliano, Sciavicco, Villani, Oriolo,* Robotics: Modelling, Planning and Control.
#
# **What you will learn**
# - which accelerations of the tip a sphere of joint torques can produce, (7.142)–(7.148);
# - how gravity shifts this ellipsoid (Fig. 7.15), and why the tip can accelerate downwards more than upwards;
# - the relation between the dynamic manipulability measure and the manipulability measure (Problem 7.11);
# - to find the posture in which an arm accelerates best.

# %%
import matplotlib.pyplot as plt
import numpy as np
import sympy
from IPython.display import Math, display

import dalembert as da

np.set_printoptions(suppress=True, linewidth=120)
plt.rcParams.update(
    {"figure.dpi": 80, "font.size": 9, "axes.titlesize": 9, "axes.titlelocation": "left", "legend.frameon": False}
)
plt.rcParams.update({"axes.grid": True, "axes.axisbelow": True, "grid.color": "0.9"})
arm = da.load("planar-3r")  # three equal links of 0.5 m and 12 kg
q = np.array([0.9, -1.0, -0.7])

# %% [markdown]
# ## From torques to accelerations
#
# At rest and without contact $\boldsymbol B\ddot{\boldsymbol q} + \boldsymbol g = \boldsymbol\tau$ and $\dot{\boldsymbol v}_e = \boldsymbol J\ddot{\boldsymbol q}$. With the joint accelerations of least norm for a given
# $\dot{\boldsymbol v}_e$, torques of the sphere $\boldsymbol\tau^T\boldsymbol\tau = 1$ lead to the points of the ellipsoid (7.148),
#
# $$(\dot{\boldsymbol v}_e + \boldsymbol J\boldsymbol B^{-1}\boldsymbol g)^T\,\boldsymbol J^{\dagger T}\boldsymbol B^T\boldsymbol B\boldsymbol J^\dagger\,(\dot{\boldsymbol v}_e + \boldsymbol J\boldsymbol B^{-1}\boldsymbol g) = 1 .$$
#
# The core of the quadratic form gives radii and axes, and $-\boldsymbol J\boldsymbol B^{-1}\boldsymbol g$ is the centre.

# %%
J = arm.jacobian(q)[:2]
B, g = arm.inertia_matrix(q), arm.gravity_torque(q)
core = np.linalg.pinv(J).T @ B.T @ B @ np.linalg.pinv(J)
radii = 1 / np.sqrt(np.linalg.eigvalsh(core))
unit = arm.dynamic_manipulability(q, task="xy")
assert np.allclose(radii, unit.radii) and np.allclose(unit.center, -J @ np.linalg.solve(B, g))
print("radii for τᵀτ = 1 (N m)²:", unit.radii.round(4), "m/s²;  centre:", unit.center.round(3), "m/s²")
surface = unit.center + np.stack([np.cos([0.3, 2.0]), np.sin([0.3, 2.0])], -1) @ unit.matrix.T
for a in surface:
    tau = B @ np.linalg.pinv(J) @ (a - unit.center)  # (7.147)
    assert np.isclose(tau @ tau, 1)

# %% [markdown]
# ## Fig. 7.15: with and without gravity
#
# One newton metre does little to an arm of 36 kg. The figure uses a sphere of 60 N m. Accelerations are drawn at the tip, 1 m for 25 m/s².

# %%
limits = [60.0, 60.0, 60.0]  # N m
with_gravity = arm.dynamic_manipulability(q, limits, "xy")
without = arm.dynamic_manipulability(q, limits, "xy", gravity=False)
angle = np.linspace(0, 2 * np.pi, 181)
circle = np.stack([np.cos(angle), np.sin(angle)], -1)
links = np.vstack([[0, 0], arm.link_poses(q)[:, :2, 3]])
tip, scale = links[-1], 1 / 25
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(*links.T, "o-", color="0.35", lw=4, ms=7)
for shape, style, name in ((without, "C0--", "without gravity"), (with_gravity, "C3", "with gravity")):
    points = tip + scale * (shape.center + circle @ shape.matrix.T)
    axes.plot(*points.T, style, label=name)
    axes.plot(*(tip + scale * shape.center), "x", color=style[:2])
axes.annotate("", tip + scale * with_gravity.center, tip, arrowprops={"arrowstyle": "->", "color": "0.4"})
axes.annotate(
    "$-J B^{-1} g$", tip + 0.5 * scale * with_gravity.center, xytext=(6, 0), textcoords="offset points", color="0.3"
)
axes.set(
    aspect="equal",
    xlabel="x (m)",
    ylabel="y (m)",
    title="Fig. 7.15: dynamic manipulability ellipsoid of a three-link arm",
)
axes.legend(loc="lower left")
plt.show()
down, up = with_gravity.max_acceleration([0, -1]), with_gravity.max_acceleration([0, 1])
print(f"downwards {down:.1f} m/s²; upwards", "not at all" if np.isnan(up) else f"{up:.1f} m/s²", "with 60 N m")
assert np.allclose(with_gravity.radii, without.radii) and np.allclose(without.center, 0)  # gravity shifts, nothing else
assert not up >= down and with_gravity.center[1] < 0

# %% [markdown]
# With torques of 60 N m this arm cannot even hold its weight in this posture: the tip, the origin of the accelerations, lies outside the
# shifted ellipsoid. With the limits of its motors it can; the exact capability of the motors is not an ellipsoid but a polygon, with one torque limit
# per joint.

# %%
motors = arm.dynamic_manipulability(q, "arm", "xy")
exact = arm.acceleration_polytope(q, task="xy")
figure, axes = plt.subplots(figsize=(5.4, 3.6), layout="constrained")
axes.plot(*(motors.center + circle @ motors.matrix.T).T, "C3", label="ellipsoid (7.148), scaled by the limits")
corners = exact.vertices
corners = corners[np.argsort(np.arctan2(*(corners - corners.mean(axis=0)).T[::-1]))]
axes.plot(*np.vstack([corners, corners[:1]]).T, "C4-.", label="all that the motors can do")
axes.plot(0, 0, "k+", ms=9)
axes.set(
    aspect="equal",
    xlabel="$\\ddot x$ (m/s²)",
    ylabel="$\\ddot y$ (m/s²)",
    title="accelerations of the tip with the arm's own limits",
)
axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
plt.show()
assert motors.contains([0, 0]) and exact.contains([0, 0])
print(f"up {exact.max_acceleration([0, 1]):.0f} m/s², down {exact.max_acceleration([0, -1]):.0f} m/s²")

# %% [markdown]
# ## Problem 7.11: two measures
#
# For a nonredundant arm the core of (7.149) is $\boldsymbol J^{-T}\boldsymbol B^T\boldsymbol B\boldsymbol J^{-1}$. The product of the radii, the natural *dynamic* measure, is
#
# $$w_d = \frac1{\sqrt{\det(\boldsymbol J^{-T}\boldsymbol B^T\boldsymbol B\boldsymbol J^{-1})}} = \frac{|\det\boldsymbol J|}{\det\boldsymbol B} = \frac{w}{\det\boldsymbol B},$$
#
# with the manipulability measure $w = |\det\boldsymbol J|$ of (3.56): heavy postures are worse. Proved in letters for the two-link arm:

# %%
two = da.load("planar-2r")
e = two.equations()
q1, q2 = e.q
a1, a2 = sympy.symbols("a_1 a_2", positive=True)
p = sympy.Matrix([a1 * sympy.cos(q1) + a2 * sympy.cos(q1 + q2), a1 * sympy.sin(q1) + a2 * sympy.sin(q1 + q2)])
Js = p.jacobian(e.q)
w = sympy.simplify(Js.det())
Bs = sympy.Matrix(2, 2, sympy.symbols("b_11 b_12 b_12 b_22"))
core = Js.inv().T * Bs.T * Bs * Js.inv()
assert sympy.simplify(1 / core.det() - (w / Bs.det()) ** 2) == 0
display(Math(r"w = |\det \boldsymbol J| = \left|" + sympy.latex(w) + r"\right|,\qquad w_d = w / \det\boldsymbol B"))

# %%
elbow = np.radians(np.linspace(1, 179, 179))
states = np.stack([-elbow / 2, elbow], -1)
wd = np.prod(two.dynamic_manipulability(states, task="xy").radii, axis=-1)
wk = np.prod(two.velocity_manipulability(states, task="xy").radii, axis=-1)
assert np.allclose(wd, wk / np.linalg.det(two.inertia_matrix(states)))
assert np.allclose(wk, two.manipulability(states)) and np.allclose(wd, two.manipulability(states, dynamic=True))
figure, axes = plt.subplots(figsize=(6, 2.7), layout="constrained")
axes.plot(np.degrees(elbow), wk / wk.max(), "C0", label="manipulability $w$")
axes.plot(np.degrees(elbow), wd / wd.max(), "C3--", label="dynamic manipulability $w_d$")
axes.set(xlabel="$\\vartheta_2$ (°)", title="both measures of the two-link arm, as shares of their maxima")
axes.legend(loc="lower center")
plt.show()
print(
    f"best elbow: {np.degrees(elbow[wk.argmax()]):.0f}° for velocities, {np.degrees(elbow[wd.argmax()]):.0f}° for accelerations"
)

# %% [markdown]
# ## Task
#
# A two-link arm without rotors (links of 1 m, 50 kg, 10 kg m² as in Example 7.2) has another $\det\boldsymbol B$, and the best elbow angle for accelerations is no longer
# 103°. Find it to 1° and put it into `my_elbow` (degrees, between 0 and 180). Can you tell from $\det\boldsymbol B$ why?
#
# *Hint.* Build the arm as the cell below does, evaluate `light.manipulability(states, dynamic=True)` over the angles as above, and take the largest.

# %%
rods = [{"a": 1.0, "mass": 50.0, "com": (-0.5, 0, 0), "inertia": {"xx": 0.0, "yy": 10.0, "zz": 10.0}}] * 2
light = da.from_dh(rods, gravity=(0, -9.81, 0))
my_elbow = None
if my_elbow is None:
    print("not answered yet")
else:
    areas = np.prod(light.dynamic_manipulability(states, task="xy").radii, axis=-1)
    print("correct" if abs(my_elbow - np.degrees(elbow[areas.argmax()])) <= 1 else "not yet")
