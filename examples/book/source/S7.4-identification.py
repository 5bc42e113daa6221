# %% [markdown]
# # S 7.4 · Identification of dynamic parameters
#
# *S is chapter 7 of Siciliano, Sciavicco, Villani, Oriolo,* Robotics: Modelling, Planning and Control.
#
# **What you will learn**
# - which parameters of an arm can be identified from its torques at all, and in which combinations (Problem 7.4);
# - to stack measurements and solve by least squares, (7.85), (7.86), all joints at once or joint by joint;
# - how the motion determines the accuracy, through the condition number;
# - to identify an unknown payload.

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
# ## Problem 7.4: a minimal set of parameters
#
# $\boldsymbol\tau = \boldsymbol Y\boldsymbol\pi$ has 11 inertial parameters per joint. At random states, the rank of the stacked $\bar{\boldsymbol Y}$ is the
# number of combinations on which the torques depend; it can be read off the singular values.

# %%
rng = np.random.default_rng(0)
states = rng.uniform(-2, 2, (3, 400, 2))  # q, q̇, q̈
inertial = [k for k, name in enumerate(arm.parameter_names) if not name.startswith(("Fv", "Fs"))]
Y = arm.regressor(*states)[..., inertial].reshape(-1, len(inertial))
values = np.linalg.svd(Y, compute_uv=False)
print("singular values:", values.round(3))
print(
    "columns:",
    Y.shape[1],
    "  not zero:",
    int((np.abs(Y).max(axis=0) > 1e-9).sum()),
    "  rank:",
    np.linalg.matrix_rank(Y),
)

# %% [markdown]
# The same as formulas, with letters for the lengths:

# %%
base = arm.base_parameters("symbols", friction=())
for formula in base.formulas:
    print(formula)
assert base.rank == 7

# %% [markdown]
# Two of the seven, $m_1\ell_{C_1y}$ and $m_2\ell_{C_2y}$, are centres of mass off the links' axes, which are zero in the book. The other
# **five** are the minimal parameterization of the planar arm that the footnote to (7.83) promises: the moments
# $\hat I_1 - a_1^2(m_1 + m_2) + k_{r1}^2 I_{m_1}$ and $\hat I_2 - a_2^2m_2$, the two first moments, and $I_{m_2}$, which $k_{r2}I_{m_2}$ in $b_{12}$ makes visible on
# its own. In the letters of (7.82) they are the following, the last one taken as $k_{r2}^2I_{m_2}$ so that all are of comparable size:

# %%
pi = np.array([50 * 0.25 + 10 + 100 + 0.01 + 5 + 50, 50 * 0.5 + 5 + 50, 50 * 0.5, 10 + 50 * 0.25, 100**2 * 0.01])
# I_l1 + m_l1 l_1² + k_r1² I_m1 + I_m2 + (m_m2 + m_l2) a_1²,  m_l1 l_1 + (m_m2 + m_l2) a_1,  m_l2 l_2,  I_l2 + m_l2 l_2²,  k_r2² I_m2


def minimal_regressor(q, qd, qdd, a1=1.0, g=9.81, k=100.0):
    """Y (…, 2, 5) with τ = Y π for the five parameters."""
    (t1, t2), (w1, w2), (b1, b2) = (np.moveaxis(x, -1, 0) for x in (q, qd, qdd))
    c1, c2, s2, c12, o = np.cos(t1), np.cos(t2), np.sin(t2), np.cos(t1 + t2), 0 * t1
    moving = a1 * (c2 * (2 * b1 + b2) - s2 * (2 * w1 * w2 + w2**2)) + g * c12
    first = [b1, g * c1, moving, b1 + b2, b2 / k]
    second = [o, o, a1 * (c2 * b1 + s2 * w1**2) + g * c12, b1 + b2, b1 / k + b2]
    return np.stack([np.stack(first, -1), np.stack(second, -1)], -2)


assert np.allclose(minimal_regressor(*states) @ pi, arm.inverse_dynamics(*states))
assert np.linalg.matrix_rank(minimal_regressor(*states).reshape(-1, 5)) == 5

# %% [markdown]
# ## Least squares, (7.85)–(7.86)
#
# A measured motion: positions, velocities and accelerations as the controller planned them, torques with noise of 20 N m. Two
# motions of the same length are compared, a timid one and a rich one. Sums of sines are smooth and excite no vibrations that the
# model lacks.

# %%
rich = da.fourier([[[0.5, -0.3, 0.2], [0.3, 0.4, -0.3]], [[0.2, 0.3, -0.2], [-0.4, 0.2, 0.3]]], 0.2, offset=[0.3, 0.8])
timid = da.fourier([[[0.05], [0.04]], [[0.0], [0.02]]], 0.2, offset=[0.3, 0.8])
noise = 20.0  # N m
t = np.linspace(0, 5, 501)
for name, motion in (("timid", timid), ("rich", rich)):
    state = motion(t)
    Ybar = minimal_regressor(*state).reshape(-1, 5)
    tau = arm.inverse_dynamics(*state).ravel() + noise * rng.standard_normal(2 * len(t))
    fit, *_ = np.linalg.lstsq(Ybar, tau, rcond=None)  # (7.86)
    spread = noise * np.sqrt(np.diag(np.linalg.inv(Ybar.T @ Ybar)))
    print(f"{name:5s}  condition of ȲᵀȲ {np.linalg.cond(Ybar.T @ Ybar):.1e}")
    for label, x, s, true in zip(
        ("inertia 1", "moment 1", "moment 2", "inertia 2", "k_r² I_m2"), fit, spread, pi, strict=True
    ):
        print(f"       {label:10s}{x:9.3f} ± {s:6.3f}   (true {true:g})")
    assert np.all(np.abs(fit - pi) < 4 * spread)

# %% [markdown]
# The rich motion, and what the fit leaves of its torques: only noise.

# %%
figure, row = plt.subplots(1, 2, figsize=(9, 2.6), layout="constrained")
row[0].plot(t, rich(t)[0], label=["$\\vartheta_1$ rich", "$\\vartheta_2$ rich"])
row[0].plot(t, timid(t)[0], "--", lw=1, label=["$\\vartheta_1$ timid", "$\\vartheta_2$ timid"])
row[0].set(title="joint positions (rad)", xlabel="t (s)")
row[0].legend(ncols=2)
row[1].plot(t, (tau - Ybar @ fit).reshape(-1, 2), lw=0.8, label=["joint 1", "joint 2"])
row[1].set(title=f"residual torques (N m), of torques up to {np.abs(tau).max():.0f} N m", xlabel="t (s)")
row[1].legend()
plt.show()
assert abs(np.std(tau - Ybar @ fit) / noise - 1) < 0.1

# %% [markdown]
# What if $\bar{\boldsymbol Y}$ is not full-rank? With all 22 columns (7.86) has no unique solution; *damped* least squares, $(\bar{\boldsymbol Y}^T\bar{\boldsymbol Y} + \lambda^2\boldsymbol I)^{-1}\bar{\boldsymbol Y}^T\bar{\boldsymbol\tau}$, has one. Its parameters need not be
# those of the arm, but the torques that they predict on another motion are correct as long as $\lambda$ is small.

# %%
state, other = rich(t), timid(t)
full = arm.regressor(*state)[..., inertial].reshape(-1, 22)
for damping in (0.01, 1.0, 100.0):
    damped = np.linalg.solve(full.T @ full + damping**2 * np.eye(22), full.T @ arm.inverse_dynamics(*state).ravel())
    predicted = arm.regressor(*other)[..., inertial] @ damped
    true = arm.inverse_dynamics(*other)
    print(
        f"λ = {damping:6g}: torques of the other motion to {100 * np.abs(predicted - true).max() / np.abs(true).max():.4f} %, m_1 = {damped[0]:.1f} kg (true 55)"
    )

# %% [markdown]
# In the library this inverse is `method="damped"` with `damped_to="zero"`, applied to the base parameters. A log in which joint 1 stands still
# does not determine all of them. The default, `damped_to="arm"`, pulls towards the parameters of the arm's file instead of zero, which is
# the better guess for what the log does not show.

# %%
q, qd, qdd = (x * np.array([0.0, 1.0]) for x in rich(np.linspace(0, 5, 1251)))  # joint 1 stands still
still = {"t": np.linspace(0, 5, 1251), "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}
plain = {"friction": (), "offset": False, "selection": False, "cutoff": 100.0, "decimate": 1, "edge": 0.0, "lag": 0.0}
columns = [arm.parameter_names.index(name) for name in base.names]
Y = arm.regressor(q, qd, qdd)[..., columns].reshape(-1, 7)
for damping in (1.0, 300.0):
    formula = np.linalg.solve(Y.T @ Y + damping**2 * np.eye(7), Y.T @ still["tau"].ravel())
    fit = da.identify(arm, still, method="damped", damping=damping, damped_to="zero", **plain)
    assert np.allclose(fit.parameters, formula, atol=5e-3 * np.abs(formula).max())
    print(
        f"λ = {damping:3g}:",
        ", ".join(f"{n} {x + 0.0:.1f}" for n, x in zip(fit.names, fit.parameters.round(1), strict=True)),
    )
print(
    "   true:",
    ", ".join(f"{n} {x:.1f}" for n, x in zip(base.names, arm.base_parameters(friction=()).values, strict=True)),
)

# %% [markdown]
# ## Joint by joint
#
# $\boldsymbol Y$ is block triangular, (7.80): the torque of the last joint contains only the parameters of the last link. They can be identified first,
# from this torque alone; then those of the link before it, from the torque of its joint without what the outer link takes, and so on to
# the base. S warns that errors accumulate on this way. A chain of four equal links in a vertical plane shows how. All estimates are
# linear in the torques, so their covariances follow exactly from (7.86), without drawing noise.


# %%
link = {"a": 0.5, "mass": 5.0, "com": [-0.25, 0.0, 0.0], "inertia": np.diag([0.0, 0.1, 0.1])}
chain = da.from_dh([link] * 4, gravity=(0.0, -9.81, 0.0))
names = [name for name in chain.base_parameters(friction=()).names if not name.startswith("Im")]  # no rotors
columns = [chain.parameter_names.index(name) for name in names]
links = [[k for k, name in enumerate(names) if name.endswith(f"_{i}")] for i in (1, 2, 3, 4)]


def chain_regressor(q, qd, qdd):
    """Y (…, 4, 12) of the base parameters."""
    return chain.regressor(q, qd, qdd)[..., columns]


def joint_by_joint(Y, outer_known=False):
    """M (12, N, 4): the estimates of the links, from the last to the first, are M τ; ``outer_known``: without the errors of outer links."""
    M = np.zeros((Y.shape[2], *Y.shape[:2]))
    for i in reversed(range(4)):
        outer = [k for others in links[i + 1 :] for k in others]
        left = np.zeros((len(Y), *Y.shape[:2])) if outer_known else -np.tensordot(Y[:, i, outer], M[outer], 1)
        left[range(len(Y)), range(len(Y)), i] += 1.0  # τ_i minus the torques of the outer links
        M[links[i]] = np.tensordot(np.linalg.pinv(Y[:, i, links[i]]), left, 1)
    return M


draw = np.random.default_rng(0)
train = da.fourier(draw.uniform(-0.4, 0.4, (2, 4, 3)), 0.2, offset=[0.3, 0.5, -0.4, 0.6])
other = da.fourier(draw.uniform(-0.4, 0.4, (2, 4, 3)), 0.2, offset=[-0.3, 0.2, 0.4, -0.6])
t = np.linspace(0, 5, 251)
Y, Y_other = chain_regressor(*train(t)), chain_regressor(*other(t))
Ybar = Y.reshape(-1, 12)
ways = {
    "joint by joint": joint_by_joint(Y).reshape(12, -1),
    "all joints at once": np.linalg.pinv(Ybar),
    "joint by joint, outer links known exactly": joint_by_joint(Y, outer_known=True).reshape(12, -1),
}
figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
errors = {}
for k, (name, M) in enumerate(ways.items()):
    of_torques = np.einsum("tip,pm->tim", Y_other, M)
    if "known" in name:  # at every joint the errors of its own link alone
        of_torques = np.stack([np.einsum("tp,pm->tm", Y_other[:, i, links[i]], M[links[i]]) for i in range(4)], 1)
    errors[name] = np.sqrt(np.sum(of_torques**2, axis=2).mean(axis=0))  # for noise of 1 N m
    axes.bar(np.arange(4) + 0.25 * (k - 1), errors[name][::-1], 0.24, label=name)
    print(f"{name:42s}", ", ".join(f"joint {i + 1}: {errors[name][i]:.2f} N m" for i in (3, 2, 1, 0)))
axes.set_xticks(range(4), ["joint 4", "joint 3", "joint 2", "joint 1"])
axes.set(title="error of the torques predicted for another motion (N m), noise 1 N m")
axes.legend()
plt.show()
serial, once, own = errors.values()
assert np.all(np.diff(serial) < 0) and np.all(serial > 1.4 * once) and serial[0] > 2.9 * own[0]

# %% [markdown]
# The errors grow from joint to joint towards the base, from 0.21 to 0.54 N m, and are 1.4 to 2.3 times those of all equations at once. This has two
# reasons. The last link is identified from one torque although all four depend on it, so it starts with more than twice the error. Then
# each step takes over the errors of all links identified before: if these were known exactly, the error at joint 1 would be 0.18 N m, a third.
# What the model lacks, such as friction of another shape, is passed on in the same way as noise.
#
# In the library this procedure is `method="sequential"`.

# %%
state = train(t)
log = dict(zip(("t", "q", "qd"), (t, *state[:2]), strict=True))
log["tau"] = chain.inverse_dynamics(*state) + draw.standard_normal((251, 4))
plain = {"friction": (), "offset": False, "selection": False, "cutoff": 20.0, "decimate": 1, "edge": 0.0, "lag": 0.0}
for method in ("sequential", "weighted"):
    fit = da.identify(chain, log, method=method, **plain)
    left = chain.inverse_dynamics(*other(t)) - Y_other @ fit.parameters
    print(f"{method:11s} error on the other motion, joints 4 to 1:", np.sqrt((left**2).mean(axis=0))[::-1].round(2))

# %% [markdown]
# ## A whole robot, with the library
#
# `da.identify` does this for real logs: it filters, finds the base parameters, weights the joints and gives error bars. Here
# a PUMA 560 is moved in simulation and noise is added. `selection=False` keeps to the model of the book; by default further
# friction laws and estimators are compared by cross-validation.

# %%
puma = da.load("puma560")
amplitudes = rng.uniform(-0.12, 0.12, (2, 6, 4))
motion = da.fourier(amplitudes, 0.1, offset=[0, 0.7, -0.7, 0, 0.5, 0])
t = np.linspace(0, 10, 2001)
q, qd, qdd = motion(t)
tau = puma.inverse_dynamics(q, qd, qdd)
log = {
    "t": t,
    "q": q + 1e-5 * rng.standard_normal(q.shape),
    "tau": tau + 0.01 * np.std(tau, axis=0) * rng.standard_normal(tau.shape),
}
fit = da.identify(puma, log, selection=False)
print(f"{len(fit.names)} base parameters, residual {100 * fit.relative_error:.1f} % of the torque")
inertial = [k for k, formula in enumerate(fit.formulas) if not formula.startswith(("F", "τ", "I_m"))]
for k in sorted(inertial, key=lambda k: fit.std[k] / abs(fit.parameters[k]))[:5]:  # the best known
    print(f"   {fit.formulas[k]}\n      = {fit.parameters[k]:.4f} ± {fit.std[k]:.4f}")

# %% [markdown]
# ## Task
#
# The two-link arm carries an unknown point mass at its tip. The torques of a motion are in `measured`. How heavy is it (kg, to 0.1 kg)? Put
# it into `my_mass`.
#
# *Hint.* A point mass $m_L$ at the tip adds $m_L\,\boldsymbol y(q, \dot q, \ddot q)$ to the torques; the difference of
# `arm.with_payload(1.0).inverse_dynamics(...)` and `arm.inverse_dynamics(...)` is $\boldsymbol y$. One unknown, a thousand equations.

# %%
state = rich(np.linspace(0, 5, 501))
unknown = np.random.default_rng(76).uniform(4.0, 12.0)  # kg
measured = arm.with_payload(unknown).inverse_dynamics(*state) + noise * rng.standard_normal((501, 2))
my_mass = None
if my_mass is None:
    print("not answered yet")
else:
    left = measured - arm.with_payload(my_mass).inverse_dynamics(*state)
    print(
        "correct"
        if np.std(left) < 1.03 * noise
        else f"not yet: {np.std(left):.1f} N m are left, noise is {noise:.0f} N m"
    )
