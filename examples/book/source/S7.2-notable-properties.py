# %% [markdown]
# # S 7.2 · Notable properties of the dynamic model
#
# *S is chapter 7 of Siciliano, Sciavicco, Villani, Oriolo,* Robotics: Modelling, Planning and Control.
#
# **What you will learn**
# - that $\dot{\boldsymbol B} - 2\boldsymbol C$ is skew-symmetric for the $\boldsymbol C$ of Christoffel symbols, (7.44)–(7.48), and in general for no other one (Problem 7.2);
# - that (7.49) holds for *every* choice of $\boldsymbol C$, because energy is conserved, (7.50)–(7.51);
# - that link and rotor form one augmented link with 11 parameters, (7.52)–(7.77);
# - that torques are linear in these parameters, with a block-triangular regressor, (7.76)–(7.81).

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
# ## Skew-symmetry
#
# $c_{ij} = \sum_k c_{ijk}\dot q_k$ with $c_{ijk} = \tfrac12(\partial b_{ij}/\partial q_k + \partial b_{ik}/\partial q_j - \partial b_{jk}/\partial q_i)$. (*Erratum:* the print has $\partial q_i$ below $\partial b_{ik}$.) Checked on a Panda: $\boldsymbol w^T\boldsymbol N\boldsymbol w = 0$
# for any $\boldsymbol w$.

# %%
panda = da.load("panda")
rng = np.random.default_rng(0)
q, qd, w = rng.uniform(-1, 1, (3, 7))
C = panda.coriolis_matrix(q, qd)
N = panda.inertia_derivative(q, qd) - 2 * C  # (7.47)
c = panda.christoffel(q)
assert np.allclose(C, c @ qd) and np.allclose(c, np.swapaxes(c, -1, -2))  # (7.44), (7.46)
step = 1e-6
Bdot = (panda.inertia_matrix(q + step * qd) - panda.inertia_matrix(q - step * qd)) / (2 * step)
assert np.allclose(Bdot, panda.inertia_derivative(q, qd), atol=1e-7)  # the library's Ḃ is a derivative
assert np.allclose(N, -N.T) and abs(w @ N @ w) < 1e-12  # (7.48)
print("N + Nᵀ vanishes:", np.allclose(N + N.T, 0), "  wᵀ N w vanishes:", abs(w @ N @ w) < 1e-12)

# %% [markdown]
# ## Problem 7.2: another $\boldsymbol C$
#
# For the two-link arm, $\boldsymbol C' $ with $c'_{ij} = \sum_k h_{ijk}\dot q_k$, $h_{ijk} = \partial b_{ij}/\partial q_k - \tfrac12\partial b_{jk}/\partial q_i$, gives the same torques, (7.43). In letters:

# %%
arm = da.load("planar-2r")
e = arm.equations()
B, v = e.with_angles(e.B), e.qd
n = range(2)
other = sympy.Matrix(2, 2, lambda i, j: sum((B[i, j].diff(e.q[k]) - B[j, k].diff(e.q[i]) / 2) * v[k] for k in n))
own = e.with_angles(e.C)
Bdot = B.diff(e.q[0]) * v[0] + B.diff(e.q[1]) * v[1]
assert sympy.simplify((other - own) * v).is_zero_matrix  # (7.43): the same forces
assert sympy.simplify(other - own) != sympy.zeros(2, 2)  # another matrix
N, N2 = (sympy.simplify(Bdot - 2 * x) for x in (own, other))
display(Math(r"\boldsymbol N = " + sympy.latex(sympy.factor(N)) + r"\quad\text{(Christoffel)}"))
display(Math(r"\boldsymbol N' = " + sympy.latex(sympy.factor(N2)) + r"\quad\text{(the other choice)}"))
assert sympy.simplify(N - e.with_angles(e.N)).is_zero_matrix  # the program's own N
assert (N + N.T).expand().is_zero_matrix and not (N2 + N2.T).expand().is_zero_matrix  # (7.48) holds, and does not
assert sympy.simplify((v.T * N * v)[0]) == 0 and sympy.simplify((v.T * N2 * v)[0]) == 0  # (7.49) holds for both

# %% [markdown]
# ## Energy
#
# (7.49) means that the rate of change of the kinetic energy is the power of all forces at the joints, (7.50). A simulated PUMA 560, with friction, gravity and torques:

# %%
puma = da.load("puma560")
run = da.simulate(puma, [0, 0.5, -1.0, 0.3, 0.2, 0], [1, 0, 0, 2, 0, 1], [20.0, -30.0, 5.0, 0, 0, 0], 0.6)
kinetic = puma.kinetic_energy(run.q, run.qd)
powers = {
    "motors": (run.tau * run.qd).sum(axis=-1),
    "friction": -(puma.friction_torque(run.qd) * run.qd).sum(axis=-1),
    "gravity": -(puma.gravity_torque(run.q) * run.qd).sum(axis=-1),
}
total = sum(powers.values())
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for (name, power), style in zip(powers.items(), ("C0", "C1--", "C2-."), strict=True):
    left.plot(run.t, power, style, label=name)
left.set(title="power of the forces at the joints (W)", xlabel="time (s)")
left.legend()
right.plot(run.t, np.gradient(kinetic, run.t), "C4", label="rate of the kinetic energy")
right.plot(run.t, total, "k:", label="sum of all powers")
right.set(title="both sides of (7.50) (W)", xlabel="time (s)")
right.legend()
plt.show()
Bq = np.einsum("kij,kj->ki", puma.inertia_matrix(run.q), run.qdd) + 0.5 * np.einsum(
    "kij,kj->ki", puma.inertia_derivative(run.q, run.qd), run.qd
)
moving = np.all(np.abs(run.qd) > 1e-9, axis=-1)  # where a joint sticks, static friction takes what it needs
assert np.allclose((Bq * run.qd).sum(axis=-1)[moving], total[moving])

# %% [markdown]
# ## Linear in the parameters
#
# Rotor $i+1$ is mounted on link $i$; together they are augmented link $i$ with mass $m_i$, first moment $m_i\boldsymbol r_{C_i}$, inertia tensor $\hat{\boldsymbol I}_i$ about the frame's origin, and $I_{m_i}$: 11 parameters,
# 13 with friction. Torques are $\boldsymbol Y\boldsymbol\pi$, and the parameters of the links before joint $i$ have no effect on it: $\boldsymbol Y$ is block-triangular, (7.80).

# %%
stanford = da.load("stanford")
states = rng.uniform(-2, 2, (3, 300, 6))
Y = stanford.regressor(*states)
assert np.allclose(Y @ stanford.parameters, stanford.inverse_dynamics(*states))  # (7.81)
felt = np.abs(Y).max(axis=0) > 1e-9
figure, axes = plt.subplots(figsize=(9, 1.9), layout="constrained")
axes.imshow(felt, aspect="auto", cmap="Greys", interpolation="none", vmax=1.6)
for k in range(1, 6):
    axes.axvline(13 * k - 0.5, color="C3", lw=1)
axes.set(
    title="which torque depends on which parameter (13 for each link): Stanford arm",
    xlabel="parameter",
    ylabel="joint",
    yticks=range(6),
)
axes.set_yticklabels(range(1, 7))
axes.set_xticks([13 * k + 6 for k in range(6)], [f"link {k + 1}" for k in range(6)])
axes.grid(False)
plt.show()
for i in range(6):
    assert not felt[i, : 13 * i].any()  # zero blocks below the diagonal
print(
    f"{felt.any(axis=0).sum()} of {felt.shape[1]} parameters are felt at all; rank of Y {np.linalg.matrix_rank(Y.reshape(-1, felt.shape[1]), tol=1e-8)}"
)

# %% [markdown]
# Why linear? The energies already are: $\mathcal T = \sum_i\boldsymbol\beta_{\mathcal T i}^T\boldsymbol\pi_i$ and $\mathcal U = \sum_i\boldsymbol\beta_{\mathcal U i}^T\boldsymbol\pi_i$, (7.76), and the derivatives of Lagrange's equations preserve this, (7.79). Here they are computed by finite differences along the motion, for
# joint 1 of the two-link arm.


# %%
def beta(q, qd):
    """β_T − β_U of both links: 22 numbers."""
    kinetic, potential = arm.energy_regressors(q, qd)
    return (kinetic - potential).ravel()


q, qd, qdd = rng.uniform(-1, 1, (3, 2))
inertial = arm.parameters.reshape(2, 13)[:, :11].ravel()
assert np.isclose(beta(q, qd) @ inertial, arm.kinetic_energy(q, qd) - arm.potential_energy(q))  # (7.76)
h = 1e-4


def slope(f, x):
    """∂f/∂x_1 by differences."""
    step = np.array([h, 0])
    return (f(x + step) - f(x - step)) / (2 * h)


def momentum(t):
    """∂β/∂q̇_1, t seconds later."""
    later, faster = q + t * qd + t * t / 2 * qdd, qd + t * qdd
    return slope(lambda v: beta(later, v), faster)


y = (momentum(h) - momentum(-h)) / (2 * h) - slope(lambda x: beta(x, qd), q)  # (7.79)
assert np.allclose(y, arm.regressor(q, qd, qdd)[0].reshape(2, 13)[:, :11].ravel(), atol=1e-3)
print("the row of joint 1 of Y, from the energies:", y.reshape(2, 11)[:, [0, 1, 9, 10]].round(1).tolist())

# %% [markdown]
# The augmented link of the two-link arm: link 1 of 50 kg with the rotor of motor 2, 5 kg, at its end, (7.83).

# %%
pi = dict(zip(arm.parameter_names, arm.parameters, strict=True))
assert np.isclose(pi["m_1"], 50 + 5) and np.isclose(pi["mx_1"], 50 * (0.5 - 1.0))
assert np.isclose(pi["Izz_1"], 10 + 50 * (0.5 - 1.0) ** 2 + 0.01) and np.isclose(pi["Im_1"], 0.01)
print({name: round(float(pi[name]), 4) for name in ("m_1", "mx_1", "Izz_1", "Im_1")})

# %% [markdown]
# ## An application: adaptive control
#
# Both properties together permit an adaptive controller. $\boldsymbol\tau = \boldsymbol Y(\boldsymbol q, \dot{\boldsymbol q}, \dot{\boldsymbol q}_r, \ddot{\boldsymbol q}_r)\hat{\boldsymbol\pi} + \boldsymbol K_D\boldsymbol s$ with $\dot{\hat{\boldsymbol\pi}} = \boldsymbol\Gamma\boldsymbol Y^T\boldsymbol s$ (Slotine and Li): linearity
# gives the adaptation law, skew-symmetry with Christoffel's $\boldsymbol C$ the proof that the error converges to zero. The arm carries 20 kg that the controller does not know about:

# %%
motion = da.fourier([[[0.3, 0.1], [0.2, -0.2]], [[0.1, 0.2], [0.3, 0.1]]], 0.5, duration=10.0)
loaded = arm.with_payload(20.0)
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
late = []  # the largest error of the last second
for gamma, name, style in ((0.0, "parameters fixed", "C1--"), (100.0, "parameters adapted", "C0")):
    control = da.Adaptive(2000.0, 10.0, gamma, motion, model=arm)
    run = da.simulate(loaded, motion.q[0], motion.qd[0], control, 10.0)
    error = np.degrees(np.abs(run.q - motion(run.t)[0]).max(axis=-1))
    axes.plot(run.t, error, style, label=name)
    late.append(error[run.t > 9].max())
axes.set(title="largest joint error (°)", xlabel="time (s)", ylim=(-0.1, 4.3))
axes.legend(ncols=2, loc="upper center")
plt.show()
print(f"in the last second: {late[0]:.2f}° with fixed parameters, {late[1]:.2f}° with adapted ones")
assert late[1] < late[0] / 3

# %% [markdown]
# ## Task
#
# Add a matrix $\boldsymbol S(\dot{\boldsymbol q})$ with $\boldsymbol S\dot{\boldsymbol q} = \boldsymbol 0$ to $\boldsymbol C$. Then $\boldsymbol C'' = \boldsymbol C + \boldsymbol S$ gives the same torques and is a valid choice, too. Find such an $\boldsymbol S \neq \boldsymbol 0$ for two joints
# and put it, as a 2×2 array for $\dot{\boldsymbol q} = (1, 2)$, into `my_S`. Can it be skew-symmetric?
#
# *Hint.* Each row of $\boldsymbol S$ must be perpendicular to $\dot{\boldsymbol q}$. The cell checks (7.43) and (7.49), and reports whether your choice satisfies (7.48).

# %%
my_S = None
if my_S is None:
    print("not answered yet")
else:
    v, at = np.array([1.0, 2.0]), np.array([0.3, 0.8])
    C = arm.coriolis_matrix(at, v) + np.asarray(my_S, float)
    N = arm.inertia_derivative(at, v) - 2 * C
    valid = np.any(my_S) and np.allclose(C @ v, arm.coriolis_matrix(at, v) @ v) and abs(v @ N @ v) < 1e-9
    print("correct;" if valid else "not yet;", "(7.48) holds" if np.allclose(N, -N.T) else "(7.48) does not hold")
