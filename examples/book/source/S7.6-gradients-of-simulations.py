# %% [markdown]
# # S 7.6 · Gradients of simulations
#
# *S is chapter 7 of Siciliano, Sciavicco, Villani, Oriolo,* Robotics: Modelling, Planning and Control.
#
# **What you will learn**
# - how a simulated motion depends on everything that went into it: its sensitivities, and the gradient of one number;
# - to tune the gains of a PD controller by gradient descent;
# - to swing an arm up with motors that cannot lift it, by the method *iLQR*;
# - to find friction coefficients from positions alone, recorded while nobody knew the torques.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import dalembert as da

np.set_printoptions(suppress=True, linewidth=120)
plt.rcParams.update(
    {"figure.dpi": 80, "font.size": 9, "axes.titlesize": 9, "axes.titlelocation": "left", "legend.frameon": False}
)
plt.rcParams.update({"axes.grid": True, "axes.axisbelow": True, "grid.color": "0.9"})
np.seterr(over="ignore", invalid="ignore")  # motions that an optimiser tries may diverge


def two_links(viscous, coulomb):
    """An arm of two rods in a vertical plane, 0.5 m and 1 kg each, with friction in both joints."""
    rod = {"a": 0.5, "mass": 1.0, "com": (-0.25, 0, 0), "inertia": np.diag([1e-3, 1 / 48, 1 / 48])}
    rows = [rod | {"friction": {"viscous": v, "coulomb": c}} for v, c in zip(viscous, coulomb, strict=True)]
    return da.from_dh(rows, gravity=(0, -9.81, 0))


arm = two_links([0.01, 0.01], [0.0, 0.0])

# %% [markdown]
# ## Sensitivities
#
# A simulation maps an initial state, torques and parameters to a motion. `run.sensitivity` follows the derivative of every step, so that it
# returns $\partial\boldsymbol q(t)/\partial\boldsymbol x$ exactly, for the steps as they were computed. Below, the free swing of the arm, and the effect of its two initial
# positions on the second joint. The effect grows: this arm is chaotic. The dots are differences of two simulations, which need the right
# distance: too large, and they are not derivatives; too small, and nothing is left but rounding.

# %%
start = np.array([0.3, 0.8])
swing = da.simulate(arm, start, None, None, 3.0, every=10)
slopes = swing.sensitivity("q0")["q0"]
print(".q has the shape", slopes.q.shape, "(instants, joints, entries of q0)")


def difference(distance):
    """∂q/∂q0_1 from two simulations."""
    ends = [da.simulate(arm, start + k * np.array([distance, 0]), None, None, 3.0, every=10).q for k in (1, -1)]
    return (ends[0] - ends[1]) / (2 * distance)


figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
left.plot(swing.t, slopes.q[:, 1, 0], "C0", label="by the position of joint 1")
left.plot(swing.t, slopes.q[:, 1, 1], "C1--", label="by that of joint 2")
left.plot(swing.t[::20], difference(1e-5)[::20, 1], "C0.", label="differences")
left.set(title="slope of the position of joint 2 (rad per rad)", xlabel="time (s)")
left.legend()
distances = 10.0 ** np.arange(-12, -1)
errors = [np.abs(difference(distance) - slopes.q[:, :, 0]).max() for distance in distances]
right.loglog(distances, errors, "o-", ms=4)
right.set(title="largest deviation of differences", xlabel="distance of the two simulations (rad)")
plt.show()
assert min(errors) < 1e-5

# %% [markdown]
# ## The gradient of one number
#
# An optimiser wants the slope of *one* number $L$, such as an error, with respect to *many* inputs, such as the torque of every step. A
# simulation for each input would take too long. `da.gradient` goes through the steps backwards: it takes $\partial L/\partial\boldsymbol q$ and $\partial L/\partial\dot{\boldsymbol q}$ at the
# records, and returns the slopes with respect to everything that is asked for, at the price of about five simulations. Both ways agree:

# %%
torque = np.zeros((1000, 2))
run = da.simulate(arm, start, None, torque, 1.0)
last = np.zeros((1001, 2))
last[-1] = 1.0  # L = q_1 + q_2 at the end
gradient = da.gradient(run, ("q0", "torque", "gravity"), q=last)
print({name: slope.shape for name, slope in gradient.items()})
forward = run.sensitivity(("q0", "gravity"))
for name in ("q0", "gravity"):
    assert np.allclose(gradient[name], forward[name].q[-1].sum(axis=0), rtol=1e-10)

# %% [markdown]
# ## Gains by gradient descent
#
# A PD controller with gravity compensation moves the arm by a step. It should move like a critically damped oscillator with $\omega = 6$/s:
# $q_d(t) = q_0 + \Delta q\,(1 - (1 + \omega t)e^{-\omega t})$. $L$ is the mean square deviation from this. The gains are positive, so their logarithms are
# varied; $\partial L/\partial\log k = k\,\partial L/\partial k$.

# %%
aim, duration = np.array([0.8, -0.6]), 1.5
t = np.linspace(0, duration, 301)[:, None]
wanted = start + (aim - start) * (1 - (1 + 6 * t) * np.exp(-6 * t))


def moved(gains):
    return da.simulate(arm, start, None, da.PD(gains[:2], gains[2:], aim), duration, step=5e-3)


def deviation(logarithms):
    """L and ∂L/∂log k."""
    gains = np.exp(logarithms)
    run = moved(gains)
    miss = run.q - wanted
    slopes = da.gradient(run, ("kp", "kd"), q=2 * miss / miss.size)
    return np.mean(miss**2), gains * np.concatenate([slopes["kp"], slopes["kd"]])


first = np.array([4.0, 2.0, 0.1, 0.1])
found = minimize(deviation, np.log(first), jac=True, method="L-BFGS-B", options={"ftol": 1e-12, "gtol": 1e-10})
gains = np.exp(found.x)
before, after = (np.sqrt(deviation(np.log(k))[0]) for k in (first, gains))
print(f"root mean square deviation: {before:.3f} rad before, {after:.3f} rad after")
print("K_p =", gains[:2].round(1), "N m/rad, K_d =", gains[2:].round(1), "N m s/rad")
figure, axes = plt.subplots(1, 2, figsize=(9, 2.6), layout="constrained", sharex=True)
for joint, part in enumerate(axes):
    part.plot(t, moved(first).q[:, joint], "C7:", label="first gains")
    part.plot(t, moved(gains).q[:, joint], "C0", label="tuned gains")
    part.plot(t, wanted[:, joint], "C1--", label="wanted")
    part.set(title=f"position of joint {joint + 1} (rad)", xlabel="time (s)")
axes[1].legend()
plt.show()
assert after < 0.1 * before

# %% [markdown]
# ## Swing-up by iLQR
#
# The arm hangs; it is to stand upright after 3 s. To hold it horizontally takes 9.8 N m at the first joint, and torques are expensive: minimise
#
# $$J = \tfrac12\,h\,r\sum_k \boldsymbol\tau_k^T\boldsymbol\tau_k + \tfrac12\,(\boldsymbol x_N - \boldsymbol x_d)^T \boldsymbol Q\,(\boldsymbol x_N - \boldsymbol x_d), \qquad \boldsymbol x = (\boldsymbol q, \dot{\boldsymbol q})$$
#
# The *iterative linear-quadratic regulator* linearises every step about the present motion, $\delta\boldsymbol x_{k+1} = \boldsymbol A_k\delta\boldsymbol x_k + \boldsymbol B_k\delta\boldsymbol\tau_k$, solves this
# linear problem by going backwards through the steps, which gives corrections $\boldsymbol k_k$ and feedback gains $\boldsymbol K_k$, and then simulates
# $\boldsymbol\tau_k + \alpha\boldsymbol k_k + \boldsymbol K_k\delta\boldsymbol x_k$. All $\boldsymbol A_k$, $\boldsymbol B_k$ come from one batch of simulations, one step each, and all $\alpha$ are tried at once.

# %%
h, N, r = 0.02, 150, 0.02
hanging, upright = np.array([-np.pi / 2, 0, 0, 0]), np.array([np.pi / 2, 0, 0, 0])
Q, tries = np.diag([100.0, 100.0, 10.0, 10.0]), 0.5 ** np.arange(8)[:, None]


def linearised(x, tau):
    """A_k (N, 4, 4) and B_k (N, 4, 2) along a motion."""
    steps = da.simulate(arm, x[:-1, :2], x[:-1, 2:], tau[:, None], h, step=h)
    slopes = steps.sensitivity(("q0", "qd0", "torque")).values()
    jacobian = np.concatenate([np.concatenate([s.q[:, -1], s.qd[:, -1]], axis=1) for s in slopes], axis=2)
    return jacobian[..., :4], jacobian[..., 4:]


def rolled_out(x, tau, k, K):
    """Motions and torques for all α: (tries, N + 1, 4) and (tries, N, 2)."""
    states, torques = [np.repeat(hanging[None], len(tries), axis=0)], []
    for i in range(N):
        torques.append(tau[i] + tries * k[i] + (states[-1] - x[i]) @ K[i].T)
        q, qd = arm.rollout(states[-1][:, :2], states[-1][:, 2:], torques[-1], step=h, steps=1)
        states.append(np.concatenate([q[:, 0], qd[:, 0]], axis=1))
    return np.stack(states, axis=1), np.stack(torques, axis=1)


def cost(x, tau):
    miss = x[..., -1, :] - upright
    return 0.5 * h * r * (tau**2).sum(axis=(-1, -2)) + 0.5 * ((miss @ Q) * miss).sum(axis=-1)


def corrections(x, tau, damping):
    """k_k and K_k: the linear-quadratic problem, solved backwards in time."""
    A, B = linearised(x, tau)
    v, V, k, K = Q @ (x[-1] - upright), Q, np.zeros((N, 2)), np.zeros((N, 2, 4))
    for i in reversed(range(N)):
        damped = V + damping * np.eye(4)
        Q_u, Q_x = h * r * tau[i] + B[i].T @ v, A[i].T @ v
        Q_uu, Q_ux = h * r * np.eye(2) + B[i].T @ damped @ B[i], B[i].T @ damped @ A[i]
        k[i], K[i] = -np.linalg.solve(Q_uu, Q_u), -np.linalg.solve(Q_uu, Q_ux)
        v = Q_x + K[i].T @ (Q_uu @ k[i] + Q_u) + Q_ux.T @ k[i]
        V = A[i].T @ V @ A[i] + K[i].T @ (Q_uu @ K[i] + Q_ux) + Q_ux.T @ K[i]
    return k, K


nothing = np.zeros((N, 2)), np.zeros((N, 2, 4))
x, tau = (part[0] for part in rolled_out(np.zeros((N + 1, 4)), np.full((N, 2), 0.1), *nothing))
costs, damping = [cost(x, tau)], 1e-3
while len(costs) < 200 and damping < 1e6:
    motions, torques = rolled_out(x, tau, *corrections(x, tau, damping))
    values = np.nan_to_num(cost(motions, torques), nan=np.inf)
    best = values.argmin()
    if values[best] >= costs[-1]:
        damping *= 5
        continue
    x, tau, damping = motions[best], torques[best], max(damping / 3, 1e-6)
    costs.append(values[best])
    if costs[-2] - costs[-1] < 3e-4 * costs[-1]:
        break
largest = np.abs(tau).max()
print("upright within 1 cm:", bool(np.abs(arm.pose(x[-1, :2])[:2, 3] - [0, 1]).max() < 0.01))
print(
    "largest torque below 5 N m:", bool(largest < 5), " J divided by more than 1000:", bool(costs[-1] < costs[0] / 1000)
)

# %%
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
left.semilogy(costs, "o-", ms=3)
left.set(title="cost J", xlabel="iteration")
middle.step(h * np.arange(N), tau[:, 0], "C0", label="joint 1")
middle.step(h * np.arange(N), tau[:, 1], "C1--", label="joint 2")
middle.set(title="torque (N m)", xlabel="time (s)")
middle.legend(loc="upper left")
elbow, tip = np.cumsum([np.stack([np.cos(a), np.sin(a)], axis=1) / 2 for a in np.cumsum(x[:, :2], axis=1).T], axis=0)
right.plot(*tip.T, "C0", lw=1, alpha=0.6)
for i in range(0, N + 1, 10):
    right.plot([0, elbow[i, 0], tip[i, 0]], [0, elbow[i, 1], tip[i, 1]], "k-", lw=1.5, alpha=0.15 + 0.75 * i / N)
right.set(title="the arm every 0.2 s, later ones darker", aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
plt.show()
assert largest < 5 and costs[-1] < costs[0] / 1000

# %% [markdown]
# ## Friction from positions alone
#
# Somebody released the arm and recorded the positions of both joints for 5 s, with encoders of 1 mrad resolution. There are no
# torques to which identification by least squares (S 7.4) could be applied. But a simulation with the right $F_v$ and $F_s$ gives these positions, and
# its sensitivities say how to change them: Gauss–Newton, $\boldsymbol\pi \leftarrow \boldsymbol\pi - (\boldsymbol J^T\boldsymbol J)^{-1}\boldsymbol J^T\boldsymbol e$ with $\boldsymbol e = \boldsymbol q(\boldsymbol\pi) - \boldsymbol q_{\text{recorded}}$. The derivatives
# pass through all the instants at which a joint reverses, sticks, or is set in motion again.

# %%
truth = two_links([0.03, 0.02], [0.6, 0.2])
released = {"q0": [-0.8, 0.5], "qd0": None, "torque": None, "duration": 5.0, "step": 2e-3, "every": 10}
recorded = da.simulate(truth, **released)
samples = np.round(recorded.q / 1e-3) * 1e-3
columns = [k for k, name in enumerate(arm.parameter_names) if name.startswith(("Fv", "Fs"))]
names = [arm.parameter_names[k] for k in columns]
unknown = truth.parameters[columns]
estimate, history = np.full(4, 0.1), []
for _ in range(8):
    parameters = arm.parameters.copy()
    parameters[columns] = estimate
    fit = da.simulate(arm, **released, parameters=parameters)
    history.append((np.sqrt(np.mean((fit.q - samples) ** 2)), fit.q[:, 0]))
    J = fit.sensitivity("parameters")["parameters"].q[..., columns].reshape(-1, 4)
    change = -np.linalg.lstsq(J, (fit.q - samples).reshape(-1), rcond=None)[0]
    estimate = np.maximum(estimate + change, 0.2 * estimate)  # friction stays positive
spread = np.sqrt(np.diag(np.linalg.inv(J.T @ J))) * 1e-3 / np.sqrt(12)
for row in zip(names, unknown, estimate, 2 * spread, strict=True):
    print("{}: true {:.4f}, found {:.4f} ± {:.4f}".format(*row))
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
left.plot(recorded.t, history[0][1], "C7:", label="before")
left.plot(recorded.t, history[-1][1], "C0", label="fitted")
left.plot(recorded.t[::8], samples[::8, 0], "C1.", ms=4, label="recorded")
left.set(title="position of joint 1 (rad)", xlabel="time (s)")
left.legend()
right.semilogy([1e3 * error for error, _ in history], "o-", ms=4)
right.axhline(1 / np.sqrt(12), color="C7", ls=":", label="rounding of the encoder")
right.set(title="root mean square deviation (mrad)", xlabel="iteration")
right.legend()
plt.show()
assert np.all(np.abs(estimate - unknown) < 4 * spread)

# %% [markdown]
# ## Task
#
# The pendulum `da.load("pendulum")` is at $q = 0$ and has no torque. Which initial velocity (rad/s, to 0.01 rad/s) makes it reach $q = 1$ rad
# after exactly 0.3 s? Put it into `my_velocity`.
#
# *Hint.* Newton's method: $\dot q_0 \leftarrow \dot q_0 - (q(0.3\,\mathrm s) - 1)\,/\,(\partial q(0.3\,\mathrm s)/\partial\dot q_0)$, with the slope from `run.sensitivity("qd0")`.

# %%
my_velocity = None
if my_velocity is None:
    print("not answered yet")
else:
    end = da.simulate(da.load("pendulum"), [0.0], [my_velocity], None, 0.3).q[-1, 0]
    print("correct" if abs(end - 1) < 0.002 else f"not yet: q = {end:.3f} rad after 0.3 s")
