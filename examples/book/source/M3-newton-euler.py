# %% [markdown]
# # M 3 · The Newton–Euler formulation
#
# *M is Milićević, Golubović, Slavković,* Transformation matrix approach to dynamics of manipulative robots.
#
# **What you will learn**
# - to program M's Table 1, the recursion in base coordinates, line by line;
# - to program Table 2, the same in the coordinates of each link, with its lost backward half restored;
# - why the second takes fewer operations, and that both are linear in the number of joints;
# - the right initial condition for gravity.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

np.set_printoptions(suppress=True, linewidth=120)
plt.rcParams.update(
    {"figure.dpi": 80, "font.size": 9, "axes.titlesize": 9, "axes.titlelocation": "left", "legend.frameon": False}
)
plt.rcParams.update({"axes.grid": True, "axes.axisbelow": True, "grid.color": "0.9"})

# %% [markdown]
# ## An arm
#
# A Stanford-like arm: two revolute joints, a prismatic one, one more revolute. DH rows as in (2.1), no rotors (M has none), viscous damping $b_i$ at each joint.

# %%
body = {"mass": 4.0, "com": (0.05, -0.1, 0.08), "inertia": np.diag([0.05, 0.06, 0.04])}
dh = [(0.1, -np.pi / 2, 0.4, 0.0), (0.0, np.pi / 2, 0.15, 0.0), (0.0, 0.0, 0.3, 0.2), (0.2, 0.5, 0.1, 0.0)]
slides = [False, False, True, False]
damping = 0.5
rows = [
    {
        "a": a,
        "alpha": alpha,
        "d": d,
        "theta": theta,
        "type": "prismatic" if s else "revolute",
        "friction": {"viscous": damping},
        **body,
    }
    for (a, alpha, d, theta), s in zip(dh, slides, strict=True)
]
arm = da.from_dh(rows, gravity=(0, 0, -9.8062), name="four joints")
rng = np.random.default_rng(0)
q, qd, qdd = rng.uniform(-1, 1, (3, 4))

# %% [markdown]
# ## Table 1: base coordinates
#
# $\boldsymbol z_{i-1}$ is the axis of joint $i$, $\boldsymbol p^*_i$ leads from frame $i-1$ to frame $i$, $\bar{\boldsymbol s}_i$ from frame $i$ to the centre of mass.
#
# *Errata:* the rows for $\dot{\boldsymbol v}_i$ run together in the text; below they are separated. The initial condition is $\dot{\boldsymbol v}_0 = -\boldsymbol g$, i.e. $(0, 0, +9.8062)$ with $z$ up: a base that accelerates *upwards* is
# equivalent to one at rest under gravity. The print has $\dot{\boldsymbol v}_0 = (g_x, g_y, g_z)$.


# %%
def table_1(q, qd, qdd, v_dot_0):
    """Torques by M's Table 1; everything in base coordinates."""
    frames = np.concatenate([np.eye(4)[None], arm.link_poses(q)])
    z, o, R = frames[:-1, :3, 2], frames[:, :3, 3], frames[1:, :3, :3]
    p_star, s_bar = np.diff(o, axis=0), R @ np.array(body["com"])
    I = R @ body["inertia"] @ np.swapaxes(R, 1, 2)
    w, w_dot, v_dot = np.zeros(3), np.zeros(3), v_dot_0
    F, M = [], []
    for i in range(4):  # forward
        if slides[i]:
            v_dot = (
                z[i] * qdd[i]
                + np.cross(w_dot, p_star[i])
                + 2 * np.cross(w, z[i] * qd[i])
                + np.cross(w, np.cross(w, p_star[i]))
                + v_dot
            )
        else:
            w_dot = w_dot + z[i] * qdd[i] + np.cross(w, z[i] * qd[i])
            w = w + z[i] * qd[i]
            v_dot = np.cross(w_dot, p_star[i]) + np.cross(w, np.cross(w, p_star[i])) + v_dot
        a_bar = np.cross(w_dot, s_bar[i]) + np.cross(w, np.cross(w, s_bar[i])) + v_dot
        F.append(body["mass"] * a_bar)
        M.append(I[i] @ w_dot + np.cross(w, I[i] @ w))
    f, n, tau = np.zeros(3), np.zeros(3), np.zeros(4)
    for i in reversed(range(4)):  # backward
        n = n + np.cross(p_star[i], f) + np.cross(p_star[i] + s_bar[i], F[i]) + M[i]
        f = F[i] + f
        tau[i] = (f if slides[i] else n) @ z[i] + damping * qd[i]
    return tau


g = np.array([0, 0, -9.8062])
print("Table 1:", table_1(q, qd, qdd, -g).round(4))
assert np.allclose(table_1(q, qd, qdd, -g), arm.inverse_dynamics(q, qd, qdd))
assert np.allclose(table_1(q, qd, qdd, -g), arm.inverse_dynamics(q, qd, qdd, formulation="newton-euler-base"))
base = arm.recursion(q, qd, qdd, axes="base")  # every row of the table, by link
print(
    "ω̇_4 =",
    base.omega_dot[3].round(4),
    "  ā_4 =",
    base.p_ddot_C[3].round(4),
    "  f_1 =",
    base.f[0].round(3),
    "  n_1 =",
    base.mu[0].round(3),
)
rest = np.zeros(4)
print(
    "at rest, with v̇_0 = −g:",
    table_1(q, rest, rest, -g).round(3),
    "  as printed, v̇_0 = g:",
    table_1(q, rest, rest, g).round(3),
)

# %% [markdown]
# ## Table 2: each link in its own coordinates
#
# $\boldsymbol I_i$, $\bar{\boldsymbol s}_i$ and $\boldsymbol p^*_i$ are then constant (except for $d_i$ of a prismatic joint), and only the neighbouring rotation ${}^{i-1}\boldsymbol R_i$ is needed. The backward half is missing in the text; it is the one of Table 1 in
# link axes.


# %%
def rotation(theta, alpha):
    c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array([[c, -ca * s, sa * s], [s, ca * c, -sa * c], [0, sa, ca]])


def table_2(q, qd, qdd, v_dot_0):
    """Torques by M's Table 2; every vector in the axes of its link."""
    z0 = np.array([0.0, 0.0, 1.0])
    I, s_bar, m = body["inertia"], np.array(body["com"]), body["mass"]
    R, p_star = [], []
    for i, (a, alpha, d, theta) in enumerate(dh):
        turn, way = (theta, d + q[i]) if slides[i] else (theta + q[i], d)
        R.append(rotation(turn, alpha))
        p_star.append(np.array([a, way * np.sin(alpha), way * np.cos(alpha)]))  # in the axes of link i
    w, w_dot, v_dot = np.zeros(3), np.zeros(3), v_dot_0
    F, M = [], []
    for i in range(4):
        if slides[i]:
            w, w_dot = R[i].T @ w, R[i].T @ w_dot
            v_dot = R[i].T @ (z0 * qdd[i] + v_dot) + 2 * np.cross(w, R[i].T @ z0 * qd[i])
        else:
            w_dot = R[i].T @ (w_dot + z0 * qdd[i] + np.cross(w, z0 * qd[i]))
            w = R[i].T @ (w + z0 * qd[i])
            v_dot = R[i].T @ v_dot
        v_dot = v_dot + np.cross(w_dot, p_star[i]) + np.cross(w, np.cross(w, p_star[i]))
        a_bar = np.cross(w_dot, s_bar) + np.cross(w, np.cross(w, s_bar)) + v_dot
        F.append(m * a_bar)
        M.append(I @ w_dot + np.cross(w, I @ w))
    f, n, tau = np.zeros(3), np.zeros(3), np.zeros(4)
    for i in reversed(range(4)):
        f_next, n_next = (R[i + 1] @ f, R[i + 1] @ n) if i < 3 else (f, n)
        f = f_next + F[i]
        n = n_next + np.cross(p_star[i], f_next) + np.cross(p_star[i] + s_bar, F[i]) + M[i]
        tau[i] = (f if slides[i] else n) @ (R[i].T @ z0) + damping * qd[i]
    return tau


print("Table 2:", table_2(q, qd, qdd, -g).round(4))
assert np.allclose(table_2(q, qd, qdd, -g), table_1(q, qd, qdd, -g))
assert np.allclose(table_2(q, qd, qdd, -g), arm.inverse_dynamics(q, qd, qdd, formulation="newton-euler"))
own = arm.recursion(q, qd, qdd)  # axes="link": the same vectors, turned
turned = np.einsum("kji,kj->ki", arm.link_poses(q)[:, :3, :3], base.f)
assert np.allclose(own.f, turned)

# %% [markdown]
# ## The number of operations
#
# Table 1 has to rotate every tensor and every vector into base axes; Table 2 does not. Both are linear in $n$. As written, and as compiled for chains of $n$ equal revolute joints:

# %%
link = {
    "a": 0.4,
    "alpha": 0.6,
    "d": 0.2,
    "mass": 2.0,
    "com": (0.1, 0.05, 0.02),
    "inertia": np.diag([0.02, 0.03, 0.04]) + 0.002,
}
joints = list(range(2, 11))
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for way, name, colour in (("newton-euler-base", "Table 1", "C0"), ("newton-euler", "Table 2", "C1")):
    counts = [da.from_dh([link] * n).operations("inverse_dynamics", formulation=way) for n in joints]
    for kind, style in (("written", "o-"), ("compiled", "s--")):
        work = [getattr(c, kind).multiplications + getattr(c, kind).additions for c in counts]
        axes.plot(joints, work, colour + style, ms=4, label=f"{name}, {kind}")
        assert np.ptp(np.diff(work[3:])) <= 0.02 * work[-1]  # a straight line
axes.plot(joints, [132 * n + 111 * n - 4 for n in joints], "k:", label="M's Table 3, Newton–Euler")
axes.set(xlabel="joints n", title="multiplications and additions")
axes.legend()
plt.show()

# %% [markdown]
# ## Task
#
# The arm hangs in a lift that accelerates upwards with 2 m/s². Which force (N) does the prismatic joint 3 need at `q`, at rest relative to the lift? Put it into `my_force`.
#
# *Hint.* Only $\dot{\boldsymbol v}_0$ changes: it is $(0, 0, 9.8062 + 2)$. Use `table_1` or `table_2`.

# %%
my_force = None
if my_force is None:
    print("not answered yet")
else:
    rising = [0, 0, 0, 0, 0, 0, 0, 0, 2.0]  # ω_0, ω̇_0, p̈_0
    lift = arm.inverse_dynamics(q, rest, rest, base_motion=rising)[2]
    print("correct" if abs(my_force - lift) < 0.05 else "not yet")
