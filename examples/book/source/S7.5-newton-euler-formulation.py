# %% [markdown]
# # S 7.5 · The Newton–Euler formulation
#
# *S is chapter 7 of Siciliano, Sciavicco, Villani, Oriolo,* Robotics: Modelling, Planning and Control.
#
# **What you will learn**
# - to write the recursion (7.107)–(7.114) once, as a function that runs on numbers and on letters;
# - to follow it link by link on the two-link arm, as section 7.5.3 does, and to arrive at (7.82);
# - to solve Problem 7.8, the prismatic–revolute arm, by the same function;
# - which forces the bearings carry, which the recursion gives in addition to the torques.

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
# ## The recursion
#
# Everything is in the axes of the link itself; $\boldsymbol z_0 = [0\ 0\ 1]^T$. *Forward*, from the base: $\boldsymbol\omega_i$, $\dot{\boldsymbol\omega}_i$, $\ddot{\boldsymbol p}_i$, $\ddot{\boldsymbol p}_{C_i}$, $\dot{\boldsymbol\omega}_{m_i}$. Gravity enters as an acceleration of
# the base, $\ddot{\boldsymbol p}_0 - \boldsymbol g_0$. *Backward*, from the tip: $\boldsymbol f_i$, $\boldsymbol\mu_i$, $\tau_i$. *Erratum:* the printed (7.113) has the gyroscopic term $\boldsymbol\omega_i\times(\bar{\boldsymbol I}_i\boldsymbol\omega_i)$ twice; it
# occurs once, as in (7.105).

# %%
z0 = sympy.Matrix([0, 0, 1])


def newton_euler(links, qd, qdd, g0):
    """All steps of (7.107)–(7.114), by link. Each link: R, r, r_C, m, I, k_r, I_m, slides; rotors spin about the joint axes."""
    steps, n = [], len(links)
    omega = omega_dot = sympy.zeros(3, 1)
    p_ddot = -g0
    for i, link in enumerate(links):
        R, before, before_dot = link["R"].T, omega, omega_dot  # R: from link i to link i − 1
        turn, slide = (0, 1) if link["slides"] else (1, 0)
        omega = R * (before + turn * qd[i] * z0)  # (7.107)
        omega_dot = R * (before_dot + turn * (qdd[i] * z0 + qd[i] * before.cross(z0)))  # (7.108)
        p_ddot = R * (p_ddot + slide * qdd[i] * z0) + 2 * slide * qd[i] * omega.cross(R * z0)
        p_ddot += omega_dot.cross(link["r"]) + omega.cross(omega.cross(link["r"]))  # (7.109)
        p_ddot_C = p_ddot + omega_dot.cross(link["r_C"]) + omega.cross(omega.cross(link["r_C"]))  # (7.110)
        omega_dot_m = before_dot + link["k_r"] * (qdd[i] * z0 + qd[i] * before.cross(z0))  # (7.111)
        steps.append(
            {"omega": omega, "omega_dot": omega_dot, "p_ddot": p_ddot, "p_ddot_C": p_ddot_C, "omega_dot_m": omega_dot_m}
        )
    f_next = mu_next = sympy.zeros(3, 1)
    for i in reversed(range(n)):
        link, at = links[i], steps[i]
        spin = sympy.zeros(3, 1)
        if i + 1 < n:
            outer, R = links[i + 1], links[i + 1]["R"]
            f_next, mu_next = R * f_next, R * mu_next
            spin = outer["k_r"] * outer["I_m"] * (qdd[i + 1] * z0 + qd[i + 1] * at["omega"].cross(z0))
        f = f_next + link["m"] * at["p_ddot_C"]  # (7.112)
        mu = -f.cross(link["r"] + link["r_C"]) + mu_next + f_next.cross(link["r_C"])
        mu += link["I"] * at["omega_dot"] + at["omega"].cross(link["I"] * at["omega"]) + spin  # (7.113)
        load = f if link["slides"] else mu
        tau = (load.T * link["R"].T * z0 + link["k_r"] * link["I_m"] * at["omega_dot_m"].T * z0)[0]  # (7.114)
        at |= {"f": f, "mu": mu, "tau": sympy.expand(tau)}
        f_next, mu_next = f, mu
    return steps


# %% [markdown]
# ## 7.5.3: the two-link planar arm
#
# Parameters of the augmented links: $m_i$, $\ell_{C_i}$ (negative: from the end of the link backwards), $\bar I_{i zz}$.

# %%
arm = da.load("planar-2r")
e = arm.equations()
q1, q2 = e.q
a1, a2, lC1, lC2, m1, m2, I1, I2, Im1, Im2, k1, k2, g = sympy.symbols(
    "a_1 a_2 ell_C1 ell_C2 m_1 m_2 I_1 I_2 I_m1 I_m2 k_r1 k_r2 g"
)


def turned(angle):
    c, s = sympy.cos(angle), sympy.sin(angle)
    return sympy.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def along_x(length):
    return sympy.Matrix([length, 0, 0])


planar = [
    {
        "R": turned(q1),
        "r": along_x(a1),
        "r_C": along_x(lC1),
        "m": m1,
        "I": sympy.diag(0, 0, I1),
        "k_r": k1,
        "I_m": Im1,
        "slides": False,
    },
    {
        "R": turned(q2),
        "r": along_x(a2),
        "r_C": along_x(lC2),
        "m": m2,
        "I": sympy.diag(0, 0, I2),
        "k_r": k2,
        "I_m": Im2,
        "slides": False,
    },
]
steps = planar_steps = newton_euler(planar, e.qd, e.qdd, sympy.Matrix([0, -g, 0]))
w1, w2 = e.qd
b1, b2 = e.qdd
s1, c1, s2, c2 = sympy.sin(q1), sympy.cos(q1), sympy.sin(q2), sympy.cos(q2)
s12, c12, reach1, reach2 = sympy.sin(q1 + q2), sympy.cos(q1 + q2), lC1 + a1, lC2 + a2
book = [  # what 7.5.3 prints, by link
    {
        "p_ddot": [-a1 * w1**2 + g * s1, a1 * b1 + g * c1, 0],
        "p_ddot_C": [-reach1 * w1**2 + g * s1, reach1 * b1 + g * c1, 0],
        "omega_dot_m": [0, 0, k1 * b1],
        "f": [
            -m2 * reach2 * (s2 * (b1 + b2) + c2 * (w1 + w2) ** 2)
            - (m1 * reach1 + m2 * a1) * w1**2
            + (m1 + m2) * g * s1,
            (m1 * reach1 + m2 * a1) * b1 + m2 * reach2 * (c2 * (b1 + b2) - s2 * (w1 + w2) ** 2) + (m1 + m2) * g * c1,
            0,
        ],
    },
    {
        "p_ddot": [
            a1 * (s2 * b1 - c2 * w1**2) - a2 * (w1 + w2) ** 2 + g * s12,
            a1 * (c2 * b1 + s2 * w1**2) + a2 * (b1 + b2) + g * c12,
            0,
        ],
        "p_ddot_C": [
            a1 * (s2 * b1 - c2 * w1**2) - reach2 * (w1 + w2) ** 2 + g * s12,
            a1 * (c2 * b1 + s2 * w1**2) + reach2 * (b1 + b2) + g * c12,
            0,
        ],
        "omega_dot_m": [0, 0, b1 + k2 * b2],
    },
]
letters = {
    "p_ddot": r"\ddot{\boldsymbol p}_%d^%d",
    "p_ddot_C": r"\ddot{\boldsymbol p}_{C_%d}^%d",
    "omega_dot_m": r"\dot{\boldsymbol\omega}_{m_%d}^{(%d)}",
    "f": r"\boldsymbol f_%d^%d",
}
for i, (printed, step) in enumerate(zip(book, steps, strict=True), 1):
    for name, column in printed.items():
        assert sympy.simplify(step[name] - sympy.Matrix(column)).is_zero_matrix  # the recursion gives just this
        display(
            Math(letters[name] % (i, i if name != "omega_dot_m" else i - 1) + " = " + sympy.latex(sympy.Matrix(column)))
        )

# %% [markdown]
# The torques, with the parameters of (7.83) substituted, are those of Lagrange, (7.82):

# %%
m_l1, m_l2, m_m2, I_l1, I_l2, l1, l2 = sympy.symbols("m_l1 m_l2 m_m2 I_l1 I_l2 l_1 l_2")
augmented = {  # m_1 ℓ_C1 = m_l1 (ℓ_1 − a_1); I about the common centre of mass
    m1: m_l1 + m_m2,
    lC1: m_l1 * (l1 - a1) / (m_l1 + m_m2),
    I1: I_l1 + m_l1 * (l1 - a1) ** 2 + Im2 - (m_l1 * (l1 - a1)) ** 2 / (m_l1 + m_m2),
    m2: m_l2,
    lC2: l2 - a2,
    I2: I_l2,
}
tau = sympy.Matrix([step["tau"] for step in steps]).subs(augmented, simultaneous=True)
assert sympy.simplify(tau - e.with_angles(e.tau)).is_zero_matrix
print("Newton–Euler and Lagrange agree, term by term")

# %% [markdown]
# ## Problem 7.8: the prismatic–revolute arm
#
# The same function, another arm. Joint 1 moves along $\boldsymbol z_0$, which is horizontal; the second axis is perpendicular to it, $\boldsymbol R_1^0$ rotates by $-\pi/2$ about $x$. Gravity points along $-\boldsymbol x_0$.

# %%
pr = da.load("pr-arm")
ep = pr.equations()
d1, th2 = ep.q
tilt = sympy.Matrix([[1, 0, 0], [0, 0, 1], [0, -1, 0]])  # α_1 = −π/2
links = [
    {
        "R": tilt,
        "r": tilt.T * sympy.Matrix([0, 0, d1]),
        "r_C": along_x(0),
        "m": m1,
        "I": sympy.zeros(3),
        "k_r": k1,
        "I_m": Im1,
        "slides": True,
    },
    {
        "R": turned(th2 - sympy.pi / 2),
        "r": along_x(a2),
        "r_C": along_x(lC2),
        "m": m2,
        "I": sympy.diag(0, 0, I2),
        "k_r": k2,
        "I_m": Im2,
        "slides": False,
    },
]
steps = newton_euler(links, ep.qd, ep.qdd, sympy.Matrix([-g, 0, 0]))
display(
    Math(
        r"\boldsymbol{\ddot p}_{C_2} = "
        + sympy.latex(sympy.simplify(steps[1]["p_ddot_C"]))
        + r",\quad \boldsymbol f_2 = m_2\boldsymbol{\ddot p}_{C_2}"
    )
)
tau = sympy.Matrix([step["tau"] for step in steps]).subs({m1: m_l1 + m_m2, m2: m_l2, lC2: l2 - a2, I2: I_l2})
tau = sympy.simplify(tau)
for i in (0, 1):
    display(Math(rf"\tau_{i + 1} = {sympy.latex(sympy.collect(sympy.expand(tau[i]), list(ep.qdd)))}"))
assert sympy.simplify(tau - ep.with_angles(ep.tau)).is_zero_matrix  # the model of Problem 7.5, found by Lagrange

# %% [markdown]
# The library also runs its own recursion on letters: `equations().recursion` has every step as SymPy, and `text()` lists them. Its torques, with the augmented links substituted, are the same.

# %%
library = ep.recursion
print(library.text().partition("Backward")[0])
assert sympy.simplify(ep.with_angles(library.tau.subs(library.augmented)) - ep.with_angles(ep.tau)).is_zero_matrix

# %% [markdown]
# ## On a real arm: what the bearings carry
#
# The recursion gives $\boldsymbol f_i$ and $\boldsymbol\mu_i$ of every joint, which do not occur in Lagrange's equations. `arm.recursion` has every step for all instants of a motion; at one instant of
# the second motion of Example 7.2 it is compared with the letters above.

# %%
elbow = np.arccos(np.array([0.2, 1.8]) ** 2 / 2 - 1)
motion = da.trapezoidal([-elbow[0] / 2, elbow[0]], [-elbow[1] / 2, elbow[1]], acceleration_time=0.15, max_velocity=5.0)
run = arm.recursion(motion.q, motion.qd, motion.qdd)  # every step, at all instants
k = 120
data = {
    m_l1: 50,
    m_l2: 50,
    m_m2: 5,
    I_l1: 10,
    I_l2: 10,
    l1: 0.5,
    l2: 0.5,
    a1: 1,
    a2: 1,
    Im1: 0.01,
    Im2: 0.01,
    k1: 100,
    k2: 100,
    g: 9.81,
}
state = dict(zip([*e.q, *e.qd, *e.qdd], np.concatenate([motion.q[k], motion.qd[k], motion.qdd[k]]), strict=True))
values = {symbol: x.subs(data) for symbol, x in augmented.items()} | data | state
for name in ("omega", "omega_dot", "p_ddot", "p_ddot_C", "omega_dot_m", "f"):
    ours = [np.array(step[name].subs(values), float).ravel() for step in planar_steps]
    assert np.allclose(ours, getattr(run, name)[k]), name
wrenches = np.concatenate([run.f, run.mu], axis=-1)
assert np.allclose(wrenches, arm.joint_wrenches(motion.q, motion.qd, motion.qdd))
assert np.allclose(run.tau, arm.inverse_dynamics(motion.q, motion.qd, motion.qdd))
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
for i, style in enumerate(("C0", "C1--")):
    left.plot(motion.t, np.linalg.norm(wrenches[:, i, :3], axis=-1) / 1e3, style, label=f"joint {i + 1}")
    right.plot(motion.t, wrenches[:, i, 5] / 1e3, style, label=f"$\\mu_{i + 1}$ about its axis")
tau = arm.inverse_dynamics(motion.q, motion.qd, motion.qdd)
right.plot(motion.t, tau[:, 0] / 1e3, "C0", alpha=0.4, lw=3, label="$\\tau_1$, with its rotor")
left.set(title="force in the bearing, $|f_i|$ (kN)", xlabel="time (s)")
right.set(title="moments (kN m)", xlabel="time (s)")
left.legend()
right.legend(loc="lower left", fontsize=8)
plt.show()
assert np.allclose(
    tau[:, 0] - wrenches[:, 0, 5], 100**2 * 0.01 * motion.qdd[:, 0]
)  # (7.92): k_r1² I_m1 of the rotor on the base
print(f"largest force in a bearing: {np.linalg.norm(wrenches[..., :3], axis=-1).max() / 1e3:.2f} kN")

# %% [markdown]
# ## Task
#
# The two-link arm is at rest with both links horizontal, $\boldsymbol q = (0, 0)$. Which vertical force (N) does the base exert on link 1? Put it into `my_force`.
#
# *Hint.* At rest $\boldsymbol f_1 = -\sum m_i\boldsymbol g_0$. Rotor 1 is mounted on the base, rotor 2 on link 1.

# %%
my_force = None
if my_force is None:
    print("not answered yet")
else:
    f1 = arm.joint_wrenches([0, 0], [0, 0], [0, 0])[0, 1]
    print("correct" if abs(my_force - f1) < 1 else "not yet")
