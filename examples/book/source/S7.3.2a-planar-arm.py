# %% [markdown]
# # S 7.3.2 · The two-link planar arm
#
# *S is chapter 7 of Siciliano, Sciavicco, Villani, Oriolo,* Robotics: Modelling, Planning and Control.
#
# **What you will learn**
# - to derive (7.82) from the Jacobians of links and rotors, and where the term $k_{r2}I_{m_2}$ comes from;
# - how inertia and Christoffel symbols depend on the elbow angle, and what neglecting the rotor's coupling costs;
# - the regressor (7.83)–(7.84) and which of the 22 parameters it keeps;
# - what changes with absolute angles as coordinates (Problem 7.6), and for a SCARA arm (Problem 7.3).

# %%
import matplotlib.pyplot as plt
import numpy as np
import sympy
from IPython.display import Math, display

import dalembert as da

np.set_printoptions(suppress=True)
plt.rcParams.update(
    {"figure.dpi": 80, "font.size": 9, "axes.titlesize": 9, "axes.titlelocation": "left", "legend.frameon": False}
)
plt.rcParams.update({"axes.grid": True, "axes.axisbelow": True, "grid.color": "0.9"})
arm = da.load("planar-2r")
e = arm.equations()

# %% [markdown]
# ## From Jacobians to the inertia matrix
#
# Each body contributes $m\,\boldsymbol J_P^T\boldsymbol J_P + I\,\boldsymbol J_O^T\boldsymbol J_O$ to $\boldsymbol B$, (7.32). In the plane every angular
# velocity is along $\boldsymbol z_0$, so scalars are sufficient for the rotational part. The positions of the centres of mass are
# differentiated; the rotors rotate with $\boldsymbol J_O^{(m_1)} = [k_{r1}\ \ 0]$ and $\boldsymbol J_O^{(m_2)} = [1\ \ k_{r2}]$, (7.28)–(7.29).

# %%
q1, q2 = e.q
a1, l1, l2 = sympy.symbols("a_1 l_1 l_2")
m_l1, m_l2, m_m2, I_l1, I_l2, I_m1, I_m2, k1, k2 = sympy.symbols("m_l1 m_l2 m_m2 I_l1 I_l2 I_m1 I_m2 k_r1 k_r2")


def along(angle):
    return sympy.Matrix([sympy.cos(angle), sympy.sin(angle)])


bodies = {  # name: mass, inertia, centre of mass, row of J_O
    "link 1": (m_l1, I_l1, l1 * along(q1), [1, 0]),
    "link 2": (m_l2, I_l2, a1 * along(q1) + l2 * along(q1 + q2), [1, 1]),
    "rotor 1": (0, I_m1, sympy.zeros(2, 1), [k1, 0]),
    "rotor 2": (m_m2, I_m2, a1 * along(q1), [1, k2]),
}
B = sympy.zeros(2, 2)
for m, I, p, row in bodies.values():
    J_P, J_O = p.jacobian(e.q), sympy.Matrix([row])
    B += m * J_P.T * J_P + I * J_O.T * J_O
assert sympy.simplify(B - e.with_angles(e.B)).is_zero_matrix  # the program's B is the same
for name in ("B11", "B12", "B22"):
    display(Math(rf"b_{{{name[1:]}}} = {e.latex(name)}"))

# %% [markdown]
# $k_{r2} I_{m_2}$ appears in $b_{12}$ because rotor 2 is carried by link 1 and its *total* angular velocity matters: the off-diagonal product in
# $\boldsymbol J_O^T\boldsymbol J_O$ of the row $[1\ \ k_{r2}]$. The Christoffel symbols (7.45), all built from $h = -m_{\ell_2}a_1\ell_2 s_2$, and the matrix
# $\boldsymbol C$, (7.44):
#
# *Erratum:* the printed (7.45) has $\partial b_{ik}/\partial q_i$ in its second term; it is $\partial b_{ik}/\partial q_j$.

# %%
for i, j, k in ((1, 1, 1), (1, 1, 2), (1, 2, 2), (2, 1, 1), (2, 1, 2), (2, 2, 2)):
    display(Math(rf"c_{{{i}{j}{k}}} = {e.latex(f'c{i}{j}{k}')}"))
h = -m_l2 * a1 * l2 * sympy.sin(q2)
christoffel = [
    [[(B[i, j].diff(e.q[k]) + B[i, k].diff(e.q[j]) - B[j, k].diff(e.q[i])) / 2 for k in (0, 1)] for j in (0, 1)]
    for i in (0, 1)
]
C = sympy.Matrix(2, 2, lambda i, j: sum(christoffel[i][j][k] * e.qd[k] for k in (0, 1)))
assert sympy.simplify(C - e.with_angles(e.C)).is_zero_matrix
assert sympy.simplify(C - sympy.Matrix([[h * e.qd[1], h * (e.qd[0] + e.qd[1])], [-h * e.qd[0], 0]])).is_zero_matrix
Bdot = B.diff(q1) * e.qd[0] + B.diff(q2) * e.qd[1]
N = sympy.simplify(Bdot - 2 * C)
assert (N + N.T).expand().is_zero_matrix  # (7.48)
display(Math(r"\boldsymbol N = \dot{\boldsymbol B} - 2\boldsymbol C = " + sympy.latex(sympy.factor(N))))

# %% [markdown]
# The equations of motion (7.82), as the program writes them:

# %%
torque = [
    r"\begin{aligned}",
    *(line for line in e.latex().splitlines() if r"\tau" in line or line.startswith("&")),
    r"\end{aligned}",
]
display(Math("\n".join(torque)))

# %% [markdown]
# ## What the numbers look like
#
# With the data of Example 7.2. On the right, the torque at joint 2 while joint 1 accelerates with 10 rad/s², with $k_{r2}I_{m_2}$ and
# without it; the book permits neglecting this term for large $k_r$.

# %%
elbow = np.linspace(-np.pi, np.pi, 181)
q = np.stack([np.zeros_like(elbow), elbow], axis=-1)
inertia = arm.inertia_matrix(q)
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.5, 2.8), layout="constrained")
for (i, j), style in (((0, 0), "C0"), ((0, 1), "C1--"), ((1, 1), "C2-.")):
    left.plot(np.degrees(elbow), inertia[:, i, j], style, label=f"$b_{{{i + 1}{j + 1}}}$")
left.set_title("inertia (kg m²)")
left.set_ylim(-15, 310)
left.legend(ncols=3, loc="upper center", handlelength=1.5)
c = arm.christoffel(q)
middle.plot(np.degrees(elbow), c[:, 0, 1, 1], "C3", label="$c_{122} = h$")
middle.plot(np.degrees(elbow), c[:, 1, 0, 0], "C4--", label="$c_{211} = -h$")
middle.set_title("Christoffel symbols (kg m²)")
middle.set_ylim(-29, 42)
middle.legend(loc="upper center", ncols=2, handlelength=1.5)
share = 100 * 0.01 * 100 / inertia[:, 0, 1]  # k_r2 I_m2 beside b_12, in %
right.plot(np.degrees(elbow), 10 * inertia[:, 1, 0], "C0", label="$b_{21}\\ddot\\vartheta_1$")
right.plot(np.degrees(elbow), 10 * (inertia[:, 1, 0] - 1.0), "C1--", label="without $k_{r2}I_{m_2}$")
right.set_title("torque at joint 2 (N m)")
right.legend(loc="lower center")
for axes in (left, middle, right):
    axes.set_xlabel("$\\vartheta_2$ (°)")
    axes.set_xticks([-180, -90, 0, 90, 180])
plt.show()
print(
    f"k_r2 I_m2 is {share[90]:.1f} % of b_12 with the arm stretched; k_r2² I_m2 = {100**2 * 0.01:.0f} kg m² is most of b_22"
)

# %% [markdown]
# ## Linear in the parameters: (7.83), (7.84)
#
# The full regressor has 11 columns per link, (7.77); with friction 13. The book keeps eight of the 22; our regressor has two more nonzero columns, explained below.

# %%
inertial = [k for k, name in enumerate(arm.parameter_names) if not name.startswith(("Fv", "Fs"))]
state = np.random.default_rng(1).uniform(-2, 2, (3, 500, 2))
Y = arm.regressor(*state)[..., inertial]
names = np.array(arm.parameter_names)[inertial]
felt = np.abs(Y).max(axis=(0, 1)) > 1e-12
print(len(inertial), "inertial parameters;", felt.sum(), "columns are not zero:", *names[felt])


def book_regressor(q, qd, qdd, a1=1.0, a2=1.0, g=9.81, k1=100.0, k2=100.0):
    """(7.84)."""
    (t1, t2), (w1, w2), (b1, b2) = q.T, qd.T, qdd.T
    c1, c2, s2, c12 = np.cos(t1), np.cos(t2), np.sin(t2), np.cos(t1 + t2)
    o = 0 * t1
    first = [a1**2 * b1 + a1 * g * c1, 2 * a1 * b1 + g * c1, b1, k1**2 * b1]
    first += [
        (a1**2 + 2 * a1 * a2 * c2 + a2**2) * b1
        + (a1 * a2 * c2 + a2**2) * b2
        - 2 * a1 * a2 * s2 * w1 * w2
        - a1 * a2 * s2 * w2**2
        + a1 * g * c1
        + a2 * g * c12
    ]
    first += [
        (2 * a1 * c2 + 2 * a2) * b1 + (a1 * c2 + 2 * a2) * b2 - 2 * a1 * s2 * w1 * w2 - a1 * s2 * w2**2 + g * c12,
        b1 + b2,
        k2 * b2,
    ]
    second = [o, o, o, o, (a1 * a2 * c2 + a2**2) * b1 + a2**2 * b2 + a1 * a2 * s2 * w1**2 + a2 * g * c12]
    second += [(a1 * c2 + 2 * a2) * b1 + 2 * a2 * b2 + a1 * s2 * w1**2 + g * c12, b1 + b2, k2 * b1 + k2**2 * b2]
    return np.stack([np.stack(first, -1), np.stack(second, -1)], -2)


column = {name: k for k, name in enumerate(names)}
order = [column[name] for name in ("m_1", "mx_1", "Izz_1", "Im_1", "m_2", "mx_2", "Izz_2", "Im_2")]  # π_1 … π_8
assert np.allclose(Y[..., order], book_regressor(*state))
print("π =", arm.parameters[inertial][order].round(3))

# %% [markdown]
# The same in letters, computed by the library:

# %%
r = e.regressor
display(Math(r.latex().replace("align*", "aligned")))
assert sympy.simplify(e.with_angles(r.Y * r.pi - e.tau)).is_zero_matrix

# %% [markdown]
# The two additional columns, `my_1` and `my_2`, belong to centres of mass off the links' axes, which the book's links do not have. Problem 7.4
# reduces the eight to five: see section 7.4.
#
# ## Problem 7.6: absolute angles
#
# Let $y_1 = \vartheta_1$ and $y_2 = \vartheta_1 + \vartheta_2$ be the links' angles with respect to the base. Then $\boldsymbol B_y = \boldsymbol T^T\boldsymbol B\boldsymbol T$,
# where $\boldsymbol q = \boldsymbol T\boldsymbol y$. The letters $\vartheta_1, \vartheta_2$ below are $y_1, y_2$.

# %%
absolute = arm.in_coordinates("absolute")
display(Math(absolute.equations().latex().replace("align*", "aligned")))
y = np.array([0.3, 1.1])
T = np.array([[1, 0], [-1, 1]])
assert np.allclose(absolute.inertia_matrix(y), T.T @ arm.inertia_matrix(T @ y) @ T)
assert np.allclose(absolute.gravity_torque(y), T.T @ arm.gravity_torque(T @ y))
assert np.all(absolute.torque_terms(y, [1, 2], [0, 0]).coriolis == 0)

# %% [markdown]
# The model is simpler: $b_{11}$ no longer depends on the configuration, each $g_i$ depends on its own angle, and there are
# centrifugal but *no Coriolis* terms. The price: $\tau_{y_1}$ is not the torque of motor 1 but
# $\boldsymbol\tau_y = \boldsymbol T^T\boldsymbol\tau$, i.e. $\tau_1 - \tau_2$; and rotor 2, which rotates with the *relative* angle, now adds $(k_{r2} - 1)^2 I_{m_2}$ to
# $b_{11}$ and $-k_{r2}(k_{r2} - 1)I_{m_2}$ to $b_{12}$.
#
# ## Problem 7.3: the SCARA arm of Fig. 2.36
#
# Two parallel revolute joints, a vertical prismatic joint, and a wrist. The first two joints look like the planar arm without gravity;
# gravity acts only on joint 3, and joint 3 is coupled with the others only through its rotor.

# %%
scara = da.load("scara")
s = scara.equations()
for name in ("B12", "B13", "B22", "B33", "B44", "C12", "g3"):
    letter = "C" if name[0] == "C" else name[0].lower()
    display(Math(rf"{letter}_{{{name[1:]}}} = {s.latex(name)}"))
assert s.g[0] == s.g[1] == s.g[3] == 0
print("B at q = (0, 90°, 0, 0):\n", scara.inertia_matrix([0, np.pi / 2, 0, 0]).round(4))

# %% [markdown]
# ## Task
#
# For which elbow angle $\vartheta_2$ (degrees, between 0 and 180) does an acceleration of joint 1 need **no** torque at joint 2? Put it into
# `my_angle`.
#
# *Hint.* Set $b_{12}(\vartheta_2) = 0$. With the data of Example 7.2 that is $10 + 12.5 + 25\cos\vartheta_2 + 1 = 0$.

# %%
my_angle = None
if my_angle is None:
    print("not answered yet")
else:
    b12 = arm.inertia_matrix([0, np.radians(my_angle)])[0, 1]
    print("correct" if abs(b12) < 0.1 else f"not yet: b_12 = {b12:.2f} kg m²")
