# %% [markdown]
# # S 7.3.3 · The parallelogram arm
#
# *S is chapter 7 of Siciliano, Sciavicco, Villani, Oriolo,* Robotics: Modelling, Planning and Control.
#
# **What you will learn**
# - to model a closed chain: cut it open, write the model of the tree, and pull it back to the actuated joints;
# - the inertia matrix $\boldsymbol B_a$ and the gravity torques $\boldsymbol g_a$, with the misprints of the page corrected;
# - the design condition that makes $\boldsymbol B_a$ diagonal and constant, found by the program and tried out;
# - how much lighter the model is than that of the two-link arm.

# %%
import matplotlib.pyplot as plt
import numpy as np
import sympy
from IPython.display import Math, display

import dalembert as da

plt.rcParams.update(
    {"figure.dpi": 80, "font.size": 9, "axes.titlesize": 9, "axes.titlelocation": "left", "legend.frameon": False}
)
plt.rcParams.update({"axes.grid": True, "axes.axisbelow": True, "grid.color": "0.9"})
arm = da.load("parallelogram")
print("actuated:", *arm.joint_names, "  passive:", *arm.passive_names, "  loop closed at:", *arm.loop_names)

# %% [markdown]
# ## The mechanism
#
# Links 1', 2', 3' form one branch, link 1'' the other; they meet at joint 4, where the chain is cut. The chain closes for
# $\vartheta_{2'} = \vartheta_{1''} - \vartheta_{1'}$ and $\vartheta_{3'} = \pi - \vartheta_{2'}$, so that $\boldsymbol q' = \boldsymbol\gamma(\boldsymbol q_a)$ is linear and its
# Jacobian $\boldsymbol\Gamma$ constant.

# %%
q = np.array([2.4, 1.0])  # ϑ_1', ϑ_1''
print("γ(q_a) =", arm.tree_positions(q).round(4), " in the order", *arm.tree.joint_names)
Gamma = arm.closure_jacobian(q)
print("Γ =\n", Gamma.round(12) + 0.0)
assert np.isclose(arm.tree_positions(q)[1], q[1] - q[0]) and np.allclose(arm.loop_residual(q), 0)

# %%
a1, a2 = 0.3, 0.9  # a_1' = a_3', a_2' = a_1'' (m)


def along(angle, length):
    return length * np.array([np.cos(angle), np.sin(angle)])


figure, axes = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
origin = np.zeros(2)
elbow, shoulder = along(q[0], a1), along(q[1], a2)
corner = elbow + along(q[1], a2)  # link 2' is parallel to link 1''
tip = arm.pose(q)[:2, 3]
for points, name, colour in (
    ((origin, elbow), "link 1'", "C0"),
    ((elbow, corner), "link 2'", "C1"),
    ((corner, tip), "link 3'", "C2"),
    ((origin, shoulder), "link 1''", "C3"),
):
    axes.plot(*np.transpose(points), "o-", color=colour, lw=3, ms=5, label=name)
axes.plot(*shoulder, "ko", ms=9, mfc="none")
axes.annotate("joint 4 (cut)", shoulder, xytext=(12, 4), textcoords="offset points")
axes.annotate("tip", tip, xytext=(6, -4), textcoords="offset points")
axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
axes.set_xlim(-0.6, 1.9)
axes.legend(loc="lower right", fontsize=8)
plt.show()

# %% [markdown]
# ## The model
#
# The tree has an inertia matrix $\boldsymbol B$ of four joints. Since velocities are $\dot{\boldsymbol q} = \boldsymbol\Gamma\dot{\boldsymbol q}_a$ and powers are equal,
#
# $$\boldsymbol B_a = \boldsymbol\Gamma^T\boldsymbol B\boldsymbol\Gamma,\qquad \boldsymbol g_a = \boldsymbol\Gamma^T\boldsymbol g .$$

# %%
B = arm.tree.inertia_matrix(arm.tree_positions(q))
assert np.allclose(arm.inertia_matrix(q), Gamma.T @ B @ Gamma)
assert np.allclose(arm.gravity_torque(q), Gamma.T @ arm.tree.gravity_torque(arm.tree_positions(q)))
e = arm.equations()
for name, left in (("B11", "b_{a11}"), ("B12", "b_{a12}"), ("B22", "b_{a22}"), ("g1", "g_{a1}"), ("g2", "g_{a2}")):
    display(Math(f"{left} = {e.latex(name)}"))

# %% [markdown]
# *Errata of the page.* $b_{3'3'} = I_{\ell_{3'}} + m_{\ell_{3'}}\ell_{3'}^2$ is constant (the print has a term with $c_{3'}$), and $b_{a22}$ is
# $I_{\ell_{1''}} + m_{\ell_{1''}}\ell_{1''}^2 + I_{\ell_{2'}} + m_{\ell_{2'}}\ell_{2'}^2 + m_{\ell_{3'}}a_{1''}^2$: two primes at link 1, and link 3' on its last
# term.

# %%
tree = arm.tree.equations()
third = arm.tree.joint_names.index("joint3'")
assert not tree.B[third, third].free_symbols & set(tree.angles)  # no angle in b_3'3'
assert not (e.B[0, 0].free_symbols | e.B[1, 1].free_symbols) & set(e.angles)  # b_a11, b_a22 constant

# %% [markdown]
# ## Decoupling by design
#
# Only $b_{a12}$ depends on the configuration. Its factor vanishes when
#
# $$\frac{m_{\ell_{3'}}\bar\ell_{3'}}{m_{\ell_{2'}}\ell_{2'}} = \frac{a_{1'}}{a_{1''}},\qquad \bar\ell_{3'} = \ell_{3'} - a_{1'} .$$
#
# *Erratum:* the print has $m_{\ell_{3'}}\ell_{2'}$ in the denominator. The program finds the exact condition itself, and shows which single number could be changed to satisfy it:

# %%
condition = arm.couplings().condition("b", 1, 2)
print(condition)
(equation,) = condition.equations
l3, a1p, a1pp, m2, m3, l2 = (sympy.Symbol(name) for name in ("l_3'", "a_1'", "a_1''", "m_l2'", "m_l3'", "l_2'"))
(solution,) = sympy.solve(equation, l3)
assert sympy.simplify(m3 * (solution - a1p) / (m2 * l2) - a1p / a1pp) == 0  # the book's condition, corrected

decoupled = da.load("parallelogram-decoupled")
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
angle = np.linspace(-np.pi, np.pi, 181)
states = np.stack([np.zeros_like(angle), angle], axis=-1)
for which, style in ((arm, "C0"), (decoupled, "C1--")):
    left.plot(np.degrees(angle), which.inertia_matrix(states)[:, 0, 1], style, label=which.name)
left.set(title="$b_{a12}$ (kg m²)", xlabel="angle of link 1'' less that of link 1' (°)", xticks=[-180, -90, 0, 90, 180])
left.legend()
motion = da.polynomial([2.4, 1.0], [1.2, 0.2], 0.6, degree=5)
for which, style in ((arm, "C0"), (decoupled, "C1--")):
    terms = which.torque_terms(motion.q, motion.qd, motion.qdd).by_joint
    right.plot(motion.t, (terms["centrifugal"] + terms["coriolis"])[:, 0], style, label=which.name)
right.set(title="velocity torque of joint 1' along a motion (N m)", xlabel="time (s)")
plt.show()
assert (
    np.allclose(decoupled.inertia_matrix(states)[:, 0, 1], 0)
    and np.ptp(decoupled.inertia_matrix(states), axis=0).max() < 1e-12
)
assert np.allclose(decoupled.coriolis_matrix(motion.q, motion.qd), 0, atol=1e-12)
print("zero for these numbers only:", *decoupled.couplings().named("numbers"))

# %% [markdown]
# With the condition, the diagonal elements become $b_{a11} = I_{\ell_{1'}} + m_{\ell_{1'}}\ell_{1'}^2 + m_{\ell_{2'}}a_{1'}^2\big(1 + \tfrac{\ell_{2'}\bar\ell_{3'}}{a_{1'}a_{1''}}\big) + I_{\ell_{3'}}$
# and $b_{a22} = I_{\ell_{1''}} + m_{\ell_{1''}}\ell_{1''}^2 + I_{\ell_{2'}} + m_{\ell_{2'}}\ell_{2'}^2\big(1 + \tfrac{a_{1'}a_{1''}}{\ell_{2'}\bar\ell_{3'}}\big)$; the print has
# $\bar\ell_{2'}$ in the last denominator. Each motor then moves its own joint as if the other were not there.

# %%
n = {str(symbol): value for symbol, value in decoupled.equations().parameters.items()}
bar = n["l_3'"] - n["a_1'"]
b11 = (
    n["I_l1'"]
    + n["m_l1'"] * n["l_1'"] ** 2
    + n["m_l2'"] * n["a_1'"] ** 2 * (1 + n["l_2'"] * bar / (n["a_1'"] * n["a_1''"]))
    + n["I_l3'"]
)
b22 = n["I_l1''"] + n["m_l1''"] * n["l_1''"] ** 2 + n["I_l2'"]
b22 += n["m_l2'"] * n["l_2'"] ** 2 * (1 + n["a_1'"] * n["a_1''"] / (n["l_2'"] * bar))
assert np.allclose(decoupled.inertia_matrix(q), np.diag([b11, b22]))
print("B_a = diag", np.array([b11, b22]).round(4), "kg m²")

# %% [markdown]
# ## Remarkably lighter
#
# The book's closing remark, in operations of the compiled inverse dynamics. The two-link arm is taken without rotors, as the
# parallelogram is.

# %%
links = [{"a": 1.0, "mass": 50.0, "com": (-0.5, 0, 0), "inertia": {"xx": 0.0, "yy": 10.0, "zz": 10.0}}] * 2
two_link = da.from_dh(links, gravity=(0, -9.81, 0), name="two-link arm")
for which in (two_link, arm, decoupled):
    count = which.operations("inverse_dynamics").compiled
    print(f"{which.name:26s}{count.multiplications:3d} multiplications, {count.additions:2d} additions")

# %% [markdown]
# ## Task
#
# Your parallelogram has $a_{1'} = 0.3$, $a_{1''} = 0.9$, $\ell_{2'} = 0.45$ m and $m_{\ell_{2'}} = 5$ kg, and link 3' weighs 12 kg. Where must its
# centre of mass be, i.e. which $\ell_{3'}$ (m) decouples the motors? Put it into `my_length`.
#
# *Hint.* Solve the condition for $\bar\ell_{3'}$. The cell puts your answer into the factor of $\cos(\vartheta_{1''}-\vartheta_{1'})$ in $b_{a12}$.

# %%
my_length = None
if my_length is None:
    print("not answered yet")
else:
    b12 = equation.subs({l3: my_length} | {s: v for s, v in e.parameters.items() if s != l3})
    print("correct" if abs(b12) < 1e-3 else f"not yet: b_a12 = {float(b12):.3f} kg m² where the cosine is 1")
