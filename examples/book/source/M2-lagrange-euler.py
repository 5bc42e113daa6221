# %% [markdown]
# # M 2 · The Lagrange–Euler formulation with 4×4 matrices
#
# *M is Milićević, Golubović, Slavković,* Transformation matrix approach to dynamics of manipulative robots.
#
# **What you will learn**
# - to write the dynamics of an arm with homogeneous transformation matrices and pseudo-inertia matrices, (2.1)–(2.15);
# - what the coefficients $D_{ik}$, $h_{ikm}$ and $c_i$ mean, and the three reasons why some of them vanish;
# - how M's $h_{ikm}$ differs from $h_{ijk}$ of S (7.41);
# - why this form is so expensive.

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

# %% [markdown]
# ## Matrices, (2.1)
#
# ${}^{i-1}\boldsymbol A_i$ takes coordinates of link $i$ to those of link $i-1$. Its derivative with respect to a joint variable is again a 4×4 matrix:
# $\boldsymbol U_{ij} = \partial({}^0\boldsymbol A_i)/\partial q_j$ and $\boldsymbol U_{ijk} = \partial\boldsymbol U_{ij}/\partial q_k$. Everything about the mass of a link is in its
# pseudo-inertia matrix $\boldsymbol J_i = \int {}^i\boldsymbol r\,{}^i\boldsymbol r^T dm$ with ${}^i\boldsymbol r = (x, y, z, 1)^T$.

# %%
theta, a, alpha, d = sympy.symbols("theta a alpha d")


def A(theta, a, alpha, d):
    """(2.1): from link i to link i − 1."""
    c, s, ca, sa = sympy.cos(theta), sympy.sin(theta), sympy.cos(alpha), sympy.sin(alpha)
    return sympy.Matrix([[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]])


display(Math(r"{}^{i-1}\boldsymbol{A}_i = " + sympy.latex(A(theta, a, alpha, d))))


def pseudo_inertia(m, com, I):
    """∫ r rᵀ dm in homogeneous coordinates, from mass, centre of mass and the tensor about the centre of mass."""
    com, I = sympy.Matrix(com), sympy.Matrix(I)
    second = I.trace() / 2 * sympy.eye(3) - I + m * com * com.T  # ∫ r rᵀ dm
    return second.row_join(m * com).col_join((m * com).T.row_join(sympy.Matrix([[m]])))


# %% [markdown]
# ## A two-link arm in letters
#
# Two uniform rods of length $a_i$ and mass $m_i$; frame $i$ is at the end of link $i$, so its centre of mass is at $-a_i/2$.

# %%
q = sympy.Matrix(sympy.symbols("theta_1 theta_2"))
a1, a2, m1, m2, g = sympy.symbols("a_1 a_2 m_1 m_2 g", positive=True)
from_base = [A(q[0], a1, 0, 0), A(q[0], a1, 0, 0) * A(q[1], a2, 0, 0)]
rod = [pseudo_inertia(m, [-a / 2, 0, 0], sympy.diag(0, m * a**2 / 12, m * a**2 / 12)) for m, a in ((m1, a1), (m2, a2))]
gravity = sympy.Matrix([[0, -g, 0, 0]])
U = [[Ai.diff(x) for x in q] for Ai in from_base]
n = range(2)
D = sympy.Matrix(2, 2, lambda i, k: sum((U[j][k] * rod[j] * U[j][i].T).trace() for j in range(max(i, k), 2)))  # (2.11)
h = [
    [[sum((U[j][k].diff(q[m]) * rod[j] * U[j][i].T).trace() for j in range(max(i, k, m), 2)) for m in n] for k in n]
    for i in n
]  # (2.14)
centre = sympy.Matrix([-a1 / 2, 0, 0, 1]), sympy.Matrix([-a2 / 2, 0, 0, 1])
c = [sum(-(m1, m2)[j] * (gravity * U[j][i] * centre[j])[0] for j in range(i, 2)) for i in n]  # (2.15)
D, h, c = (
    sympy.simplify(D),
    [[[sympy.simplify(x) for x in row] for row in part] for part in h],
    [sympy.simplify(x) for x in c],
)
display(Math(r"\boldsymbol{D} = " + sympy.latex(D)))
display(
    Math(
        r"h_{122} = "
        + sympy.latex(h[0][1][1])
        + r",\quad h_{112} = "
        + sympy.latex(h[0][0][1])
        + r",\quad h_{211} = "
        + sympy.latex(h[1][0][0])
    )
)
display(Math(r"c_1 = " + sympy.latex(c[0]) + r",\quad c_2 = " + sympy.latex(c[1])))

# %% [markdown]
# *Erratum:* (2.4) has $+\sum m_j\boldsymbol g\boldsymbol U_{ji}\bar{\boldsymbol r}_j$ at its end; the sign is minus, as in (2.15). The library provides the same formulas for every arm
# (`arm.lagrange_euler`), and they agree with the derivation in letters:

# %%
rows = [{"a": 1.2, "mass": 8.0, "com": (-0.6, 0, 0), "inertia": {"xx": 0.0, "yy": 0.96, "zz": 0.96}}]
rows += [{"a": 0.8, "mass": 3.0, "com": (-0.4, 0, 0), "inertia": {"xx": 0.0, "yy": 0.16, "zz": 0.16}}]
arm = da.from_dh(rows, gravity=(0, -9.81, 0))
state = np.array([0.4, 1.1])
numbers = {q[0]: state[0], q[1]: state[1], a1: 1.2, a2: 0.8, m1: 8.0, m2: 3.0, g: 9.81}
coefficients = arm.lagrange_euler(state)
assert np.allclose(np.array(D.subs(numbers), float), coefficients.D)
assert np.allclose([[[float(x.subs(numbers)) for x in row] for row in part] for part in h], coefficients.h)
assert np.allclose([float(x.subs(numbers)) for x in c], coefficients.c)
qd, qdd = np.array([1.0, -2.0]), np.array([3.0, 0.5])
tau = coefficients.D @ qdd + np.einsum("ikm,k,m", coefficients.h, qd, qd) + coefficients.c  # (2.5)
assert np.allclose(tau, arm.inverse_dynamics(state, qd, qdd))
print("τ =", tau.round(4), "N m")

# %% [markdown]
# ## The coefficients of a six-joint arm
#
# $D_{ik}$: reaction at joint $i$ to the acceleration of joint $k$. $h_{ikm}$: to the velocities of joints $k$ and $m$. $c_i$: gravity. Some are zero
#
# 1. because the structure of the arm makes them so (PUMA: joint 1 has a vertical axis, so $c_1 = 0$);
# 2. because they do not exist physically: $h_{iii} = 0$, a joint exerts no centrifugal torque on itself;
# 3. only at particular configurations.

# %%
puma = da.load("puma560")
states = np.random.default_rng(0).uniform(-2, 2, (200, 6))
many = puma.lagrange_euler(states)
assert np.allclose(many.D, np.swapaxes(many.D, 1, 2))  # D_ik = D_ki
assert np.allclose(many.h, np.swapaxes(many.h, 2, 3))  # h_ikm = h_imk
assert np.allclose(np.einsum("...iii->...i", many.h), 0, atol=1e-12)  # reason 2
assert np.allclose(many.c[:, 0], 0, atol=1e-12)  # reason 1
zero = (np.abs(many.h) < 1e-12).all(axis=0)
couplings = puma.couplings()
assert np.array_equal(zero, couplings.velocity != "nonzero")
print(
    f"of 216 coefficients h_ikm, {zero.sum()} vanish everywhere; of 36 D_ik, {(np.abs(many.D) < 1e-12).all(axis=0).sum()}"
)
reasons = {
    "structure": "by the structure (reason 1)",
    "always": "for every arm (reason 2)",
    "numbers": "for these numbers only",
}
for reason, words in reasons.items():
    names = couplings.named(reason)
    print(f"zero {words}: {len(names)}, such as {', '.join(names[:3])}")
print(
    "zero only with the arm stretched along q = (0, 0, π/2, 0, 0, 0), reason 3:",
    *couplings.at([0, 0, np.pi / 2, 0, 0, 0])[:6],
    "…",
)
figure, panels = plt.subplots(1, 3, figsize=(9, 2.9), layout="constrained")
size = np.log10(np.abs(many.h).max(axis=0) + 1e-12)
for axes, i in zip(panels, (0, 1, 2), strict=True):
    picture = axes.imshow(np.where(zero[i], np.nan, size[i]), vmin=-5, vmax=1, cmap="viridis")
    axes.set(
        title=f"joint {i + 1}: size of $h_{{{i + 1}km}}$", xlabel="m", ylabel="k", xticks=range(6), yticks=range(6)
    )
    axes.set_xticklabels(range(1, 7))
    axes.set_yticklabels(range(1, 7))
    axes.grid(False)
figure.colorbar(picture, ax=panels, label="log₁₀ of the largest (kg m²); white: zero", shrink=0.9)
plt.show()

# %% [markdown]
# ## M's $h_{ikm}$ and S's $h_{ijk}$
#
# M's coefficients are symmetric in the last two indices, $h_{ikm} = h_{imk}$: they are the Christoffel symbols $c_{ikm}$ of S (7.45). S (7.41) has
# $h_{ijk} = \partial b_{ij}/\partial q_k - \tfrac12\partial b_{jk}/\partial q_i$, which is not symmetric. Both give the same torques, since $\dot q_k\dot q_m = \dot q_m\dot q_k$.

# %%
assert np.allclose(many.h, puma.christoffel(states))
dB = [[[D[i, j].diff(q[k]) for k in n] for j in n] for i in n]
S = [[[dB[i][j][k] - dB[j][k][i] / 2 for k in n] for j in n] for i in n]  # S (7.41)
differ = [(i + 1, j + 1, k + 1) for i in n for j in n for k in n if sympy.simplify(S[i][j][k] - h[i][j][k]) != 0]
print("they differ at (i, j, k) =", differ)
v = sympy.symbols("v_1 v_2")
for i in n:
    assert sympy.simplify(sum((S[i][j][k] - h[i][j][k]) * v[j] * v[k] for j in n for k in n)) == 0

# %% [markdown]
# ## Its cost
#
# $\boldsymbol U_{ijk}$ alone are $n^3$ matrices. As written, the formulas need on the order of $n^4$ operations:

# %%
print(" n   multiplications   additions")
for n_joints in (2, 4, 6):
    count = da.from_dh([rows[0]] * n_joints).operations("inverse_dynamics", formulation="lagrange-euler").written
    print(f"{n_joints:2d}   {count.multiplications:15d}   {count.additions:9d}")

# %% [markdown]
# ## Task
#
# At which angle $\vartheta_2$ of the two-link arm above (rods of 1.2 m, 8 kg and 0.8 m, 3 kg) does $D_{12}$ vanish (M's third reason)?
# Put the angle in degrees, between 90 and 180, into `my_angle`.
#
# *Hint.* $D_{12} = m_2a_2\,(2a_2 + 3a_1\cos\vartheta_2)/6$.

# %%
my_angle = None
if my_angle is None:
    print("not answered yet")
else:
    D12 = arm.lagrange_euler([0, np.radians(my_angle)]).D[0, 1]
    print("correct" if abs(D12) < 0.01 else f"not yet: D_12 = {D12:.3f} kg m²")
