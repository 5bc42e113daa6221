# %% [markdown]
# # S 7.3.1 · The two-link Cartesian arm, and an arm with one prismatic joint
#
# *S is chapter 7 of Siciliano, Sciavicco, Villani, Oriolo,* Robotics: Modelling, Planning and Control.
#
# **What you will learn**
# - to write Lagrange's equations of an arm with prismatic joints by hand, and to compare them with the result of the program;
# - why two perpendicular prismatic joints are completely decoupled, and why an angle of 45° couples them (Problem 7.1);
# - to derive the model of a prismatic–revolute arm, and to make it linear in its parameters with a payload (Problem 7.5).

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
arm = da.load("cartesian-2")

# %% [markdown]
# ## The model of Fig. 7.3
#
# Neither link rotates, so a link's Jacobian has only its translational part: link 1 moves along the vertical axis
# $\boldsymbol z_0$, link 2 along $\boldsymbol z_0$ and $\boldsymbol z_1$. The rotors add $\tfrac12 I_{m_i} k_{ri}^2 \dot d_i^2$;
# rotor 2 is carried by link 1. Hence
#
# $$\mathcal T = \tfrac12 m_{\ell_1}\dot d_1^2 + \tfrac12 m_{m_2}\dot d_1^2 + \tfrac12 m_{\ell_2}\,|\dot d_1\boldsymbol z_0 + \dot d_2\boldsymbol z_1|^2
# + \tfrac12 k_{r1}^2 I_{m_1}\dot d_1^2 + \tfrac12 k_{r2}^2 I_{m_2}\dot d_2^2 ,\qquad
# \mathcal U = (m_{\ell_1} + m_{m_2})\,g d_1 + m_{\ell_2}\,g\,(d_1 + d_2\, \boldsymbol z_0^T\boldsymbol z_1).$$
#
# `lagrange` carries out (7.2), $\frac{d}{dt}\frac{\partial\mathcal L}{\partial\dot q} - \frac{\partial\mathcal L}{\partial q}$, for any
# Lagrangian.


# %%
def lagrange(L, q, qd, qdd):
    """d/dt(∂L/∂q̇) − ∂L/∂q for symbols q, q̇, q̈: a column."""
    momentum = sympy.Matrix([L]).jacobian(qd).T
    return sympy.expand(momentum.jacobian(q) * qd + momentum.jacobian(qd) * qdd - sympy.Matrix([L]).jacobian(q).T)


def cartesian(cosine):
    """The forces (τ_1, τ_2) of a Cartesian arm whose axes have this cosine between them, in the letters of ``equations``."""
    e = arm.equations()
    q, qd, qdd = e.q, e.qd, e.qdd
    m1, m2, mm2, k1, k2, I1, I2, g = sympy.symbols("m_l1 m_l2 m_m2 k_r1 k_r2 I_m1 I_m2 g")
    square = qd[0] ** 2 + qd[1] ** 2 + 2 * cosine * qd[0] * qd[1]
    T = (m1 + mm2) * qd[0] ** 2 / 2 + m2 * square / 2 + k1**2 * I1 * qd[0] ** 2 / 2 + k2**2 * I2 * qd[1] ** 2 / 2
    U = (m1 + mm2) * g * q[0] + m2 * g * (q[0] + cosine * q[1])
    return lagrange(T - U, q, qd, qdd)


e = arm.equations()
assert (cartesian(0) - e.tau).expand().is_zero_matrix  # by hand and by program: the same
display(Math(e.latex().replace("align*", "aligned")))

# %% [markdown]
# $\boldsymbol B$ is constant, so $\boldsymbol C = \boldsymbol O$; it is also diagonal: each force moves its own joint. Gravity
# acts only on the vertical joint.
#
# ## Problem 7.1: the second axis at π/4
#
# Now $\boldsymbol z_0^T\boldsymbol z_1 = \cos(\pi/4) = \sqrt2/2$. The inertia matrix is still constant, so there are still no velocity
# terms, but $b_{12} = \tfrac{\sqrt2}{2} m_{\ell_2}$ couples the joints, and joint 2 has to support part of the weight of its link.

# %%
slanted = da.load("cartesian-2-45")
e45 = slanted.equations()
assert (cartesian(sympy.sqrt(2) / 2) - e45.tau).expand().is_zero_matrix
display(Math(e45.latex().replace("align*", "aligned")))

# %% [markdown]
# The same motion on both arms: joint 2 moves by 0.5 m in 1 s, joint 1 should remain at rest. On the perpendicular arm joint 1 is
# not affected.

# %%
motion = da.polynomial([0.2, 0.1], [0.2, 0.6], 1.0, degree=5)
figure, panels = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
for i, axes in enumerate(panels):
    for which, name, style in ((arm, "axes at 90°", "C0"), (slanted, "axes at 45° (Problem 7.1)", "C1--")):
        axes.plot(motion.t, which.inverse_dynamics(motion.q, motion.qd, motion.qdd)[:, i], style, label=name)
    axes.set_title(f"force of joint {i + 1} (N)")
    axes.set_xlabel("time (s)")
panels[0].legend()
plt.show()
assert np.ptp(arm.inverse_dynamics(motion.q, motion.qd, motion.qdd)[:, 0]) < 1e-9
assert np.ptp(slanted.inverse_dynamics(motion.q, motion.qd, motion.qdd)[:, 0]) > 50

# %% [markdown]
# ## Problem 7.5: a prismatic and a revolute joint (Fig. 7.16)
#
# Joint 1 moves horizontally by $d_1$, joint 2 rotates link 2 by $\vartheta_2$ in the vertical plane. The centre of mass of link 2 is at
# $(d_1 + \ell_2 c_2,\ \ell_2 s_2)$.

# %%
pr = da.load("pr-arm")
e = pr.equations()
(d, th), qd = e.q, e.qd
m1, m2, mm2, k1, k2, I1, I2, Il2, l2, g = sympy.symbols("m_l1 m_l2 m_m2 k_r1 k_r2 I_m1 I_m2 I_l2 l_2 g")
p = sympy.Matrix([d + l2 * sympy.cos(th), l2 * sympy.sin(th)])
v = p.jacobian(e.q) * qd
T = (m1 + mm2 + k1**2 * I1) * qd[0] ** 2 / 2 + m2 * v.dot(v) / 2 + (Il2 + k2**2 * I2) * qd[1] ** 2 / 2
U = m2 * g * p[1]
by_hand = lagrange(T - U, e.q, qd, e.qdd)
assert sympy.simplify(by_hand - e.with_angles(e.tau)).is_zero_matrix
display(Math(e.latex().replace("align*", "aligned")))

# %% [markdown]
# **With a payload** $m_L$ at the tip, at the distance $a_2$ from joint 2, the model stays linear in three combinations of parameters:
#
# $$\boldsymbol\tau = \begin{bmatrix} \ddot d_1 & -s_2\ddot\vartheta_2 - c_2\dot\vartheta_2^2 & 0\\
# 0 & g c_2 - s_2\ddot d_1 & \ddot\vartheta_2\end{bmatrix}
# \begin{bmatrix} m_{\ell_1} + m_{m_2} + m_{\ell_2} + m_L + k_{r1}^2 I_{m_1}\\ m_{\ell_2}\ell_2 + m_L a_2\\
# I_{\ell_2} + m_{\ell_2}\ell_2^2 + m_L a_2^2 + k_{r2}^2 I_{m_2}\end{bmatrix} .$$

# %%
mL, a2 = 4.0, 0.6
loaded = pr.with_payload(mL)
n = {str(symbol): value for symbol, value in e.parameters.items()}
pi = np.array(
    [
        n["m_l1"] + n["m_m2"] + n["m_l2"] + mL + n["k_r1"] ** 2 * n["I_m1"],
        n["m_l2"] * n["l_2"] + mL * a2,
        n["I_l2"] + n["m_l2"] * n["l_2"] ** 2 + mL * a2**2 + n["k_r2"] ** 2 * n["I_m2"],
    ]
)


def Y(q, qd, qdd):
    c, s = np.cos(q[1]), np.sin(q[1])
    return np.array([[qdd[0], -s * qdd[1] - c * qd[1] ** 2, 0], [0, n["g"] * c - s * qdd[0], qdd[1]]])


state = np.random.default_rng(0).uniform(-1, 1, (3, 2))
assert np.allclose(Y(*state) @ pi, loaded.inverse_dynamics(*state))
print("π =", pi.round(3), "   τ = Y π =", (Y(*state) @ pi).round(3))

# %% [markdown]
# In letters, with the parameters of (7.77) for augmented links, as in (7.83) for the planar arm:

# %%
regressor = loaded.equations().regressor
display(Math(regressor.latex().replace("align*", "aligned")))
letters = loaded.equations()
assert sympy.simplify(letters.with_angles(regressor.Y * regressor.pi - letters.tau)).is_zero_matrix  # τ = Y π

# %% [markdown]
# These six can be reduced to the three combinations above. The program finds them by itself, from the regressor of (7.81). A fourth one belongs to a centre of
# mass off the axis of link 2, which is zero for this arm.

# %%
base = loaded.base_parameters("symbols", friction=())
print(base.rank, "base parameters:")
for formula in base.formulas:
    print("  ", formula)
assert base.rank == 4

# %% [markdown]
# ## Task
#
# At which angle between the two axes of the Cartesian arm does joint 2 need exactly 100 N to hold its 20 kg link at rest? Put the angle in
# degrees into `my_angle`.
#
# *Hint.* $\tau_2 = m_{\ell_2} g\cos\alpha$ at rest; the cell below builds the arm for your angle and computes the force.

# %%
my_angle = None
if my_angle is None:
    print("not answered yet")
else:
    slide = {"type": "prismatic", "theta": np.pi / 2, "alpha": np.radians(my_angle), "mass": 30.0}
    hold = da.from_dh([slide, {"type": "prismatic", "mass": 20.0}]).gravity_torque([0, 0])[1]
    print("correct" if abs(hold - 100) < 0.1 else f"not yet: {hold:.1f} N")
