# %% [markdown]
# # S 7.1 · The Lagrange formulation
#
# *S is chapter 7 of Siciliano, Sciavicco, Villani, Oriolo,* Robotics: Modelling, Planning and Control.
#
# **What you will learn**
# - to derive equations of motion from kinetic and potential energy, first for a pendulum with motor and gear (Example 7.1);
# - to sum the energies of links and rotors through their Jacobians, (7.4)–(7.36);
# - what the terms $b_{ij}$, $h_{ijk}$, $g_i$ of (7.40) do, one at a time;
# - how friction and a force at the tip complete the model (7.42).

# %%
import matplotlib.pyplot as plt
import numpy as np
import sympy
from IPython.display import Markdown, Math, display

import dalembert as da

np.set_printoptions(suppress=True, linewidth=120)
plt.rcParams.update(
    {"figure.dpi": 80, "font.size": 9, "axes.titlesize": 9, "axes.titlelocation": "left", "legend.frameon": False}
)
plt.rcParams.update({"axes.grid": True, "axes.axisbelow": True, "grid.color": "0.9"})

# %% [markdown]
# ## Example 7.1: a pendulum with motor and gear
#
# The body rotates by $\vartheta$, which is zero when it hangs down; the gear makes the rotor spin $k_r$ times as fast.
#
# $$\mathcal T = \tfrac12 I\dot\vartheta^2 + \tfrac12 I_m k_r^2\dot\vartheta^2,\qquad \mathcal U = mg\ell\,(1 - \cos\vartheta).$$

# %%
th, thd, thdd, I, I_m, k_r, m, g, l, F, F_m = sympy.symbols("theta thetadot thetaddot I I_m k_r m g ell F F_m")
T = I * thd**2 / 2 + I_m * k_r**2 * thd**2 / 2
U = m * g * l * (1 - sympy.cos(th))
L = T - U  # (7.1)
momentum = L.diff(thd)
xi = momentum.diff(thd) * thdd + momentum.diff(th) * thd - L.diff(th)  # (7.2)
tau = xi + F * thd + F_m * k_r**2 * thd
display(Math(r"\tau = " + sympy.latex(sympy.collect(sympy.expand(tau), [thdd, thd]))))

# %% [markdown]
# *Erratum:* in the printed generalized force the motor's friction is $-F_mk_r^2\vartheta$; a dot is missing, it is $-F_mk_r^2\dot\vartheta$. The shipped arm
# `pendulum` is this system with numbers:

# %%
pendulum = da.load("pendulum")
e = pendulum.equations()
display(Math(rf"\mathcal T = {e.latex('T')},\quad \mathcal U = {e.latex('U')},\quad \tau_1 = {e.latex('tau1')}"))
momentum = e.with_angles(e.L).diff(e.qd[0])  # Lagrange's equation, applied to the program's own Lagrangian
xi = momentum.diff(e.qd[0]) * e.qdd[0] + momentum.diff(e.q[0]) * e.qd[0] - e.with_angles(e.L).diff(e.q[0])
assert sympy.simplify(xi + e.friction[0] - e.with_angles(e.tau)[0]) == 0
numbers = {I: 1.5, I_m: 1e-4, k_r: 50, m: 5, g: 9.81, l: 0.5, F: 0.4, F_m: 1e-4}
for state in np.random.default_rng(0).uniform(-2, 2, (5, 3)):
    by_hand = tau.subs(numbers).subs(dict(zip((th, thd, thdd), state, strict=True)))
    assert np.isclose(float(by_hand), pendulum.inverse_dynamics(*state[:, None])[0])

# %% [markdown]
# ## Energies of links and rotors, (7.4)–(7.36)
#
# The general recipe, by hand for the two-link arm of Example 7.2. Each link has $\tfrac12 m\dot{\boldsymbol p}^T\dot{\boldsymbol p} + \tfrac12\boldsymbol\omega^T\boldsymbol I\boldsymbol\omega$, (7.13); its velocities are
# $\boldsymbol J_P\dot{\boldsymbol q}$ and $\boldsymbol J_O\dot{\boldsymbol q}$ with the columns $\boldsymbol z_{j-1}\times(\boldsymbol p_\ell - \boldsymbol p_{j-1})$ and $\boldsymbol z_{j-1}$ of a revolute joint, (7.18)–(7.19). Rotor $i$ is mounted
# on link $i-1$ and rotates with $\boldsymbol\omega_{i-1} + k_{ri}\dot q_i\boldsymbol z_{m_i}$, (7.23).

# %%
arm = da.load("planar-2r")
q, qd = np.array([0.4, 0.9]), np.array([1.5, -0.8])
frames = np.concatenate([np.eye(4)[None], arm.link_poses(q)])  # frames 0, 1, 2
p, z = frames[:, :3, 3], np.array([0.0, 0.0, 1.0])
centre = [p[1] - 0.5 * frames[1, :3, 0], p[2] - 0.5 * frames[2, :3, 0]]  # of the links, 0.5 m before their ends


def jacobian(point, joints):
    """J_P (3, 2) of a point that the first ``joints`` joints move."""
    columns = [np.cross(z, point - p[j]) if j < joints else np.zeros(3) for j in (0, 1)]
    return np.transpose(columns)


bodies = {  # name: mass, inertia about z, centre of mass, J_P, the row of J_O about z
    "link 1": (50.0, 10.0, centre[0], jacobian(centre[0], 1), [1, 0]),
    "link 2": (50.0, 10.0, centre[1], jacobian(centre[1], 2), [1, 1]),
    "rotor 1": (5.0, 0.01, p[0], jacobian(p[0], 0), [100, 0]),
    "rotor 2": (5.0, 0.01, p[1], jacobian(p[1], 1), [1, 100]),
}
g0 = np.array([0, -9.81, 0])
B = np.zeros((2, 2))
T, U = {}, {}
for name, (mass, inertia, at, J_P, J_O) in bodies.items():
    J_O = np.array([J_O])
    share = mass * J_P.T @ J_P + inertia * J_O.T @ J_O  # one summand of (7.32)
    B += share
    T[name] = 0.5 * qd @ share @ qd  # (7.20), (7.30)
    U[name] = -mass * g0 @ at  # (7.34), (7.35)
    print(f"{name:8s}  T = {T[name]:8.3f} J   U = {U[name]:8.3f} J")
library = arm.body_energies(q, qd)  # the same, body by body
assert np.allclose([*T.values()], [*library.link_kinetic, *library.rotor_kinetic])
assert np.allclose([*U.values()], [*library.link_potential, *library.rotor_potential])
at = arm.body_jacobians(q)
assert np.allclose([bodies["link 1"][3], bodies["link 2"][3]], at.link_linear)  # (7.16), (7.18)
assert np.allclose([bodies["rotor 1"][4], bodies["rotor 2"][4]], at.rotor_angular[:, 2])  # (7.28), (7.29)
assert np.isclose(sum(T.values()), arm.kinetic_energy(q, qd)) and np.isclose(sum(U.values()), arm.potential_energy(q))
assert np.allclose(B, arm.inertia_matrix(q)) and np.all(np.linalg.eigvalsh(B) > 0)  # (7.32): positive definite
print("B =\n", B.round(4))

# %% [markdown]
# The same in letters: `arm.equations().derivation()` writes all steps from the Jacobians to the torques, computed from the equations. Its first four steps:

# %%
for step in arm.equations().derivation().split(r"\paragraph")[1:5]:
    title, _, formulas = step.partition("\n")
    display(
        Markdown(f"**{title.strip('{}').replace('~', ' ').replace('--', '–')}**"),
        Math(formulas.strip().replace("align*", "aligned")),
    )

# %% [markdown]
# ## The equations of motion, (7.40)
#
# $$\sum_j b_{ij}\ddot q_j + \sum_j\sum_k h_{ijk}\dot q_k\dot q_j + g_i = \xi_i,\qquad h_{ijk} = \frac{\partial b_{ij}}{\partial q_k} - \frac12\frac{\partial b_{jk}}{\partial q_i}. \tag{7.41}$$
#
# (*Erratum:* the coefficient $b_{ij}$ accounts for the acceleration of joint $j$ on joint $i$; the print says on joint $j$.) `arm.torque_terms` gives every term separately. The PUMA 560 moves
# its first three joints; each line is the effect of one cause at joint 2:

# %%
puma = da.load("puma560")
motion = da.polynomial([0, 0.8, -0.8, 0, 0.4, 0], [1.2, 0.0, 0.4, 0, 0.4, 0], 0.8, degree=5)
terms = puma.torque_terms(motion.q, motion.qd, motion.qdd)
inertia = terms.inertia + terms.rotor
figure, panels = plt.subplots(1, 3, figsize=(9.5, 3), layout="constrained")
for j in range(3):
    panels[0].plot(motion.t, inertia[:, 1, j], ("C0", "C1--", "C2-.")[j], label=f"$b_{{2{j + 1}}}\\ddot q_{j + 1}$")
for j in (0, 2):
    panels[1].plot(
        motion.t, terms.centrifugal[:, 1, j], ("C0", "", "C2-.")[j], label=f"$h_{{2{j + 1}{j + 1}}}\\dot q_{j + 1}^2$"
    )
panels[1].plot(motion.t, terms.coriolis[:, 1, 1, 2], "C3:", label="Coriolis, $\\dot q_2\\dot q_3$")
panels[2].plot(motion.t, terms.gravity[:, 1], "C4", label="$g_2$")
panels[2].plot(motion.t, terms.friction[:, 1], "C5--", label="friction")
panels[1].set_ylim(-4, 13)
names = {"accelerations": "upper left", "velocities": "upper right", "gravity and friction": "center"}
for axes, (name, place) in zip(panels, names.items(), strict=True):
    axes.set(title=f"joint 2: {name} (N m)", xlabel="time (s)")
    axes.legend(loc=place)
plt.show()
assert np.allclose(terms.total, puma.inverse_dynamics(motion.q, motion.qd, motion.qdd))
assert np.allclose(np.einsum("kii->ki", terms.centrifugal), 0)  # h_iii = 0
blocked = puma.inertia_matrix([0, 0.8, -0.8, 0, 0.4, 0])
print(f"b_22 = {blocked[1, 1]:.3f} kg m²: the moment of inertia about axis 2 with all other joints blocked")

# %% [markdown]
# The book adds that couplings can be reduced or eliminated by design. `arm.couplings()` shows which $b_{ij}$, $h_{ijk}$, $g_i$ are zero for every arm, by the kinematic structure, or only for
# these numbers; for the two-link arm:

# %%
couplings = arm.couplings()
print(
    *(f"{reason:10s}{', '.join(couplings.named(reason))}" for reason in ("always", "structure", "numbers", "nonzero")),
    sep="\n",
)
assert "h_111" in couplings.named("always") and "b_12" in couplings.named("nonzero")

# %% [markdown]
# ## The complete model, (7.42)
#
# $$\boldsymbol B\ddot{\boldsymbol q} + \boldsymbol C\dot{\boldsymbol q} + \boldsymbol F_v\dot{\boldsymbol q} + \boldsymbol F_s\,\mathrm{sgn}\,\dot{\boldsymbol q} + \boldsymbol g = \boldsymbol\tau - \boldsymbol J^T\boldsymbol h_e .$$

# %%
rng = np.random.default_rng(1)
q, qd, qdd = rng.uniform(-1, 1, (3, 6))
h_e = np.array([10.0, -5.0, 20.0, 0.5, 0.0, -1.0])  # force and moment of the tip on its environment
left = (
    puma.inertia_matrix(q) @ qdd + puma.coriolis_matrix(q, qd) @ qd + puma.friction_torque(qd) + puma.gravity_torque(q)
)
assert np.allclose(left + puma.jacobian(q).T @ h_e, puma.inverse_dynamics(q, qd, qdd, h_e))
print("τ =", puma.inverse_dynamics(q, qd, qdd, h_e).round(2), "N m")

# %% [markdown]
# ## Task
#
# The pendulum is released from 1°. Which period (s, to 0.01 s) would such a *small* oscillation have without friction? Put it into `my_period`.
#
# *Hint.* For small angles $(I + I_mk_r^2)\ddot\vartheta + mg\ell\,\vartheta = 0$. The cell simulates the pendulum without friction and measures the time between two upward passages through zero.

# %%
my_period = None
if my_period is None:
    print("not answered yet")
else:
    run = da.simulate(pendulum, [np.radians(1)], None, None, 4.0, friction=False)
    up = np.flatnonzero((run.q[:-1, 0] < 0) & (run.q[1:, 0] >= 0))
    print("correct" if abs(run.t[up[1]] - run.t[up[0]] - my_period) < 0.011 else "not yet")
