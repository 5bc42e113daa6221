"""Ellipsoids, polytope and maps of S 7.9."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import sympy
from scipy.optimize import linprog
from typer.testing import CliRunner

import arms
import dalembert as da
from dalembert.errors import DalembertError, ShapeError, SingularityError
from dalembert.views.cli.main import app
from dalembert.work.analysis.ellipsoid import Ellipsoid, Polytope
from dalembert.work.analysis.workspace import QUANTITIES, evaluator, workspace_map

Q = np.array([0.9, -1.0, -0.7])  # the planar arm of the picture


def on_sphere(rng: np.random.Generator, *shape: int) -> np.ndarray:
    u = rng.normal(size=shape)
    return u / np.linalg.norm(u, axis=-1, keepdims=True)


def surface(e: Ellipsoid, count: int = 50) -> np.ndarray:
    u = on_sphere(np.random.default_rng(0), count, len(e.rows))
    return e.center + u @ np.swapaxes(e.matrix, -1, -2)


@pytest.mark.parametrize("name", ["planar-3r", "panda", "planar-2r", "scara"])
@pytest.mark.parametrize("limits", [None, "arm"])
def test_surface_is_that_of_7_148(name: str, limits: str | None) -> None:
    arm = arms.arm(name)
    q = np.linspace(0.3, 1.2, arm.n)
    w = np.ones(arm.n) if limits is None else np.array([j.limits.effort for j in arm.robot.moving_joints])
    e = arm.dynamic_manipulability(q, limits)
    rows = ["xyz".index(r) for r in e.rows]
    J, B, g = arm.jacobian(q)[rows], arm.inertia_matrix(q), arm.gravity_torque(q)
    assert arms.relative(e.center, -J @ np.linalg.solve(B, g)) < 1e-10
    u = surface(e) - e.center
    core = np.linalg.pinv(J).T @ B @ np.diag(w**-2.0) @ B @ np.linalg.pinv(J)
    assert np.abs(np.einsum("ki,ij,kj->k", u, core, u) - 1).max() < 1e-8
    assert float(e.volume) == pytest.approx(
        {1: 2.0, 2: np.pi, 3: 4 / 3 * np.pi}[len(rows)] / np.sqrt(np.linalg.det(core)), rel=1e-8
    )
    assert e.contains(e.center + 0.999 * u).all() and not e.contains(e.center + 1.001 * u).any()
    assert np.abs(e.axes.T @ e.axes - np.eye(len(rows))).max() < 1e-12 and (np.diff(e.radii) <= 0).all()


def test_redundant_arms_three_ways() -> None:
    """Least norm, dynamically consistent, and all that the torques reach: the last holds the others."""
    arm = arms.arm("panda")
    q = np.array([[0.3, -0.4, 0.2, -1.8, 0.1, 1.6, 0.5], [0.1, 0.4, -0.2, -1.2, 0.6, 1.1, 0.2]])
    exact = arm.dynamic_manipulability(q, "arm", redundancy="exact")
    for way in ("pseudo-inverse", "dynamic"):
        e = arm.dynamic_manipulability(q, "arm", redundancy=way)  # type: ignore[arg-type]
        assert e.center.shape == (2, 3) and (e.volume < exact.volume).all()
        for k in range(2):
            one = arm.dynamic_manipulability(q[k], "arm", redundancy=way)  # type: ignore[arg-type]
            whole = arm.dynamic_manipulability(q[k], "arm", redundancy="exact")
            assert whole.contains(surface(one)).all() and arms.relative(one.radii, e.radii[k]) < 1e-12
    J, B = arm.jacobian(q[0])[:3], arm.inertia_matrix(q[0])
    op = arm.operational_space(orientation="geometric", task="position")
    e = arm.dynamic_manipulability(q[0], redundancy="dynamic")
    u = surface(e) - e.center
    assert np.abs(np.linalg.norm(u @ (B @ op.inverse_jacobian(q[0])).T, axis=-1) - 1).max() < 1e-9
    tau = on_sphere(np.random.default_rng(1), 500, 7) * np.array([j.limits.effort for j in arm.robot.moving_joints])
    reached = exact.center[0] + tau @ np.linalg.solve(B, J.T)
    assert arm.dynamic_manipulability(q[0], "arm", redundancy="exact").contains(reached).all()


def test_figure_7_15() -> None:
    """Gravity moves the centre down and nothing else: larger accelerations downwards."""
    arm = arms.arm("planar-3r")
    e, without = (arm.dynamic_manipulability(Q, "arm", "xy", gravity=g) for g in (True, False))
    assert e.center[1] < -5 and (without.center == 0).all()
    assert (e.radii == without.radii).all() and (e.axes == without.axes).all()
    assert e.max_acceleration([0, -1]) > without.max_acceleration([0, -1]) > e.max_acceleration([0, 1])
    d = on_sphere(np.random.default_rng(2), 20, 2)
    assert e.contains(0.999 * e.max_acceleration(d)[:, None] * d).all()
    assert not e.contains(1.001 * e.max_acceleration(d)[:, None] * d).any()
    weak = arm.dynamic_manipulability(Q, task="xy")  # 1 N m cannot even hold the arm
    assert np.isnan(weak.max_acceleration([0, 1])) and not weak.contains([0, 0])
    with pytest.raises(ShapeError):
        e.max_acceleration([1, 0, 0])


def test_polytope_is_what_the_motors_can_do() -> None:
    arm = arms.arm("planar-3r")
    p = arm.acceleration_polytope(Q, task="xy")
    limits = np.array([400.0, 200.0, 60.0])
    J, B, g = arm.jacobian(Q)[:2], arm.inertia_matrix(Q), arm.gravity_torque(Q)
    tau = np.random.default_rng(3).uniform(-1, 1, (200, 3)) * limits
    assert p.contains((tau - g) @ np.linalg.solve(B, J.T)).all()
    corners = p.vertices
    assert corners.shape == (6, 2) and p.contains(corners).all()
    assert not p.contains(p.center + 1.001 * (corners - p.center)).any()
    x, y = corners.T
    area = 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    assert p.volume == pytest.approx(area, rel=1e-9)
    d = on_sphere(np.random.default_rng(4), 10, 2)
    assert p.support(d) == pytest.approx((corners @ d.T).max(axis=0))
    s = p.max_acceleration(d)
    assert p.contains(0.9999 * s[:, None] * d).all() and not p.contains(1.0001 * s[:, None] * d).any()
    assert arm.dynamic_manipulability(Q, limits, "xy", redundancy="exact").volume < p.volume
    three = arms.arm("panda").acceleration_polytope([0.3, -0.4, 0.2, -1.8, 0.1, 1.6, 0.5])
    assert three.contains(three.vertices).all()
    flat = Polytope(np.zeros(1), np.ones((1, 3)), ("x",))
    assert flat.volume == 6 and flat.vertices.ravel().tolist() == [-3, 3]


@pytest.mark.parametrize(
    "m, n, rank", [(1, 3, 1), (2, 4, 2), (3, 3, 3), (3, 7, 3), (6, 7, 6), (3, 5, 2), (3, 4, 1), (4, 5, 3)]
)
def test_polytope_agrees_with_linear_programming(m: int, n: int, rank: int) -> None:
    """Also where generators repeat each other, point the same way, or span fewer dimensions."""
    rng = np.random.default_rng([m, n, rank])
    for _ in range(5):
        basis = np.linalg.qr(rng.normal(size=(m, m)))[0][:, :rank]
        G = basis @ rng.normal(size=(rank, n))
        G[:, -1] = G[:, 0]
        p = Polytope(0.5 * G @ rng.uniform(-1, 1, n), G, ("x", "y", "z", "wx", "wy", "wz")[:m])
        d = basis @ rng.normal(size=rank)
        for direction in (d, rng.normal(size=m)):
            unit = direction / np.linalg.norm(direction)
            most = linprog(
                np.r_[np.zeros(n), -1.0], A_eq=np.c_[G, -unit], b_eq=-p.center, bounds=[(-1, 1)] * n + [(0, None)]
            )
            assert p.max_acceleration(direction) == pytest.approx(
                most.x[-1] if most.success else np.nan, rel=1e-6, abs=1e-7, nan_ok=True
            )
        for share, inside in ((0.999, True), (1.001, False)):
            u = np.where(rng.uniform(size=n) < 0.5, -1.0, 1.0)
            edge = G @ np.sign(G.T @ (basis @ (basis.T @ (G @ u))))
            assert p.contains(p.center + share * edge) == inside


def test_velocity_force_and_static() -> None:
    arm = arms.arm("planar-2r")
    q = np.array([0.4, 0.8])
    J, g = arm.jacobian(q)[:2], arm.gravity_torque(q)
    v, f, s = arm.velocity_manipulability(q), arm.force_manipulability(q), arm.static_manipulability(q)
    assert v.radii * f.radii[::-1] == pytest.approx(1.0)  # the duality of kinetics and statics
    assert np.abs(v.axes[:, 0] @ f.axes[:, 1]) == pytest.approx(1.0)
    assert np.linalg.norm(surface(f) @ J, axis=-1) == pytest.approx(1.0)
    assert np.linalg.norm(g + surface(s) @ J, axis=-1) == pytest.approx(1.0)
    assert v.units == ("m/s", "m/s") and s.units == ("N", "N")
    arm = arms.arm("planar-3r")
    s = arm.static_manipulability(Q, "arm")
    limits = np.array([400.0, 200.0, 60.0])
    held = (arm.gravity_torque(Q) + surface(s) @ arm.jacobian(Q)[:2]) / limits
    assert np.linalg.norm(held, axis=-1) == pytest.approx(1.0)
    assert np.isnan(arm.static_manipulability(Q).radii).all()  # 1 N m does not hold it


def test_singular_configurations() -> None:
    two, three = arms.arm("planar-2r"), arms.arm("planar-3r")
    e = two.dynamic_manipulability([0.4, 0.0])
    assert e.radii[1] < 1e-12 * e.radii[0] and e.volume < 1e-12  # flat, and that is true
    along = np.array([np.cos(0.4), np.sin(0.4)])
    assert e.contains(e.center) and not e.contains(e.center + 0.1 * e.radii[0] * along)
    with pytest.raises(SingularityError, match="kinematic"):
        three.dynamic_manipulability([0.4, 0.0, 0.0], task="xy")
    assert three.dynamic_manipulability([0.4, 0.0, 0.0], task="xy", redundancy="exact").radii[1] < 1e-9
    with pytest.raises(SingularityError, match="index 1") as told:
        three.force_manipulability([Q, [0.0, 0.0, 0.0]])
    assert "redundancy" not in str(told.value)  # it has no such option


def test_wrong_limits() -> None:
    arm = arms.arm("planar-3r")
    for wrong in ([1.0, 2.0], "motor", [1.0, 0.0, 2.0]):
        with pytest.raises(DalembertError, match="torque_limits"):
            arm.dynamic_manipulability(Q, wrong)
    with pytest.raises(DalembertError, match="redundancy"):
        arm.dynamic_manipulability(Q, redundancy="some")  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="one configuration"):
        arm.acceleration_polytope([Q, Q])
    for shape in (arm.dynamic_manipulability(Q), arm.acceleration_polytope(Q)):
        for point in (3.0, [1.0, 2.0, 3.0]):
            with pytest.raises(ShapeError, match="its last axis must be the rows x, y"):
                shape.contains(point)


# -- Problem 7.11 ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "tip"),
    [
        ("planar-2r", lambda q, a: (a[0] * sympy.cos(q[0]) + a[1] * sympy.cos(q[0] + q[1]),
                                    a[0] * sympy.sin(q[0]) + a[1] * sympy.sin(q[0] + q[1]))),
        ("pr-arm", lambda q, a: (q[0] + a[1] * sympy.cos(q[1]), a[1] * sympy.sin(q[1]))),
    ],
)  # fmt: skip
def test_problem_7_11_in_letters(name: str, tip) -> None:  # type: ignore[no-untyped-def]
    """w_d = √det(J (BᵀB)⁻¹ Jᵀ) = w / det B: w_d² (det B)² − w² is 0 for any entries, and with the arm's put in."""
    arm = arms.arm(name)
    e, a = arm.equations(), sympy.symbols("a_1 a_2", positive=True)
    B, J = sympy.MatrixSymbol("B", 2, 2).as_explicit(), sympy.MatrixSymbol("J", 2, 2).as_explicit()
    w_squared, core = (J * J.T).det(), (J * (B.T * B).inv() * J.T).det()
    assert sympy.cancel(core * B.det() ** 2 - w_squared) == 0
    J_arm, B_arm = sympy.Matrix(tip(e.q, a)).jacobian(e.q), e.with_angles(sympy.Matrix(e.B))
    own = dict(zip([*B, *J], [*B_arm, *J_arm], strict=True))
    w = {"planar-2r": a[0] * a[1] * sympy.sin(e.q[1]), "pr-arm": a[1] * sympy.cos(e.q[1])}[name]
    assert sympy.simplify(w_squared.subs(own) - w**2) == 0
    at = [0.4, 0.9]
    numbers = {**e.parameters, a[0]: 1.0, a[1]: 1.0 if name == "planar-2r" else 0.6, **dict(zip(e.q, at, strict=True))}
    assert float(arm.manipulability(at)) == pytest.approx(float(w.subs(numbers)))
    w_d = sympy.sqrt(core.subs(own))
    assert float(arm.manipulability(at, dynamic=True)) == pytest.approx(float(w_d.subs(numbers)))


@pytest.mark.parametrize(
    ("name", "task"),
    [("planar-2r", None), ("five-bar", None), ("planar-3r", "xy"), ("panda", None)],
)
def test_measures_of_the_ellipsoids(name: str, task: str | None) -> None:
    """w = √det(J Jᵀ), S (3.56), and w_d = √det(J (BᵀB)⁻¹ Jᵀ); w_d det B = w where no joint is redundant."""
    arm = arms.arm(name)
    q = np.broadcast_to(arm.home, (2, 3, arm.n)) + np.random.default_rng(1).uniform(0.1, 0.3, (2, 3, arm.n))
    velocity = arm.velocity_manipulability(q, task=task)
    rows = [("x", "y", "z", "wx", "wy", "wz").index(row) for row in velocity.rows]
    J, B = arm.jacobian(q)[..., rows, :], arm.inertia_matrix(q)
    w, w_d = arm.manipulability(q, task), arm.manipulability(q, task, dynamic=True)
    assert w.shape == (2, 3) and w == pytest.approx(np.sqrt(np.linalg.det(J @ np.swapaxes(J, -1, -2))), rel=1e-6)
    over_B = np.linalg.solve(B, np.swapaxes(J, -1, -2))
    assert w_d == pytest.approx(np.sqrt(np.linalg.det(np.swapaxes(over_B, -1, -2) @ over_B)), rel=1e-6)
    assert w == pytest.approx(velocity.measure)
    if len(rows) == arm.n:
        assert w_d * np.linalg.det(B) == pytest.approx(w, rel=1e-9)
        assert w_d == pytest.approx(arm.dynamic_manipulability(q, task=task).measure, rel=1e-9)
    else:
        assert (w_d >= arm.dynamic_manipulability(q, task=task).measure).all()  # S's joint accelerations of least norm


def test_manipulability_is_kinematics() -> None:
    """It is 0 where the arm is singular, asks for no masses, and takes any link's frame."""
    assert arms.arm("planar-2r").manipulability([[0.3, 0.0], [0.3, np.pi]]) == pytest.approx(0.0, abs=1e-15)
    hollow = da.from_dh([(1.0, 0, 0, 0), (0.5, 0, 0, 0)])
    assert hollow.manipulability([0.0, np.pi / 2]) == pytest.approx(0.5)
    with pytest.raises(DalembertError, match="no B⁻¹"):
        hollow.manipulability([0.0, np.pi / 2], dynamic=True)
    wrist = arms.arm("planar-3r")
    assert wrist.manipulability(Q, "xy", frame=wrist.robot.links[2].name) < wrist.manipulability(Q, "xy")


# -- maps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["panda", "planar-3r"])
def test_maps_show_the_ellipsoids(name: str) -> None:
    arm = arms.arm(name)
    q = np.random.default_rng(5).uniform(0.3, 1.2, (30, arm.n))

    def mean_radius(e: Ellipsoid) -> np.ndarray:
        return np.prod(e.radii, axis=-1) ** (1 / len(e.rows))

    ways = {
        "dynamic-manipulability": arm.dynamic_manipulability(q, "arm"),
        "velocity-manipulability": arm.velocity_manipulability(q, "arm"),
        "force-manipulability": arm.force_manipulability(q, "arm"),
    }
    for quantity, e in ways.items():
        value_of, rows = evaluator(arm, quantity, "arm", None, "pseudo-inverse")
        p, w = value_of(q)
        assert rows == e.rows and arms.relative(w, mean_radius(e)) < 1e-9
        assert arms.relative(p, arm.pose(q)[:, :3, 3]) < 1e-12
    for way in ("exact", "dynamic"):
        value_of, _ = evaluator(arm, "dynamic-manipulability", "arm", None, way)
        e = arm.dynamic_manipulability(q, "arm", redundancy=way)
        assert arms.relative(value_of(q)[1], mean_radius(e)) < 1e-9


def test_map() -> None:
    arm = arms.arm("planar-3r")
    seen: list[float] = []
    made = workspace_map(arm, poses=100_000, cells=40, limits="arm", progress=seen.append)
    assert seen == sorted(seen) and seen[-1] == 1.0 and made.axes == ("x (m)", "y (m)")
    assert made.values.shape == (len(made.up) - 1, len(made.across) - 1) and made.count.sum() <= 100_000
    value, q, (x, y) = made.best
    e = arm.dynamic_manipulability(q, "arm")
    assert np.prod(e.radii) ** 0.5 == pytest.approx(value)
    assert np.abs(arm.pose(q)[:2, 3] - (x, y)).max() < made.across[1] - made.across[0]
    worst = workspace_map(arm, poses=100_000, cells=40, limits="arm", take="worst")
    mean = workspace_map(arm, poses=100_000, cells=40, limits="arm", take="mean")
    known = made.count > 0
    assert (worst.values <= mean.values * (1 + 1e-12))[known].all()
    assert (mean.values <= made.values * (1 + 1e-12))[known].all()
    with pytest.raises(DalembertError, match="no map of"):
        workspace_map(arm, "beauty")
    for quantity in QUANTITIES:
        assert np.isfinite(workspace_map(arms.arm("pendulum"), quantity, poses=500, cells=8).best[0])


# -- the commands --------------------------------------------------------------------------------


def run(*args: object, code: int = 0) -> str:
    result = CliRunner(env={"COLUMNS": "120"}).invoke(app, [str(x) for x in args])
    assert result.exit_code == code and "Traceback" not in result.output, result.output
    return result.output


def test_ellipsoid_command(tmp_path: Path) -> None:
    picture = tmp_path / "e.png"
    text = run("ellipsoid", "planar-3r", "--q", "0.9 -1.0 -0.7", "--plot", picture)
    assert "28.77 m/s²" in text
    assert picture.read_bytes().startswith(b"\x89PNG")
    data = json.loads(
        run("ellipsoid", "planar-3r", "--q", "0.9,-1.0,-0.7", "--json", "--limits", "unit", "--task", "xy")
    )
    e = arms.arm("planar-3r").dynamic_manipulability(Q, task="xy")
    assert data["center"] == pytest.approx(e.center.tolist()) and data["radii"] == pytest.approx(e.radii.tolist())
    svg = tmp_path / "e.svg"
    for kind in ("velocity", "force", "static"):
        run("ellipsoid", "panda", "--q", "0.3 -0.4 0.2 -1.8 0.1 1.6 0.5", "--kind", kind, "--plot", svg, "--force")
    assert "needs 3 numbers" in run("ellipsoid", "planar-3r", "--q", "1 2", code=2)
    assert "already" in run("ellipsoid", "planar-3r", "--q", "1 2 3", "--plot", picture, code=2)
    assert "cannot hold still" in run(
        "ellipsoid", "planar-3r", "--q", "0.9 -1 -0.7", "--kind", "static", "--limits", "unit", code=2
    )
    assert "kinematic singularity" in run("ellipsoid", "planar-3r", "--q", "1 0 0", code=2)


def test_map_command(tmp_path: Path) -> None:
    for arm in ("planar-3r", "panda"):
        picture = tmp_path / f"{arm}.png"
        text = run("map", arm, "--quantity", "dynamic-manipulability", "--poses", 20000, "-o", picture)
        assert "mean radius of the dynamic manipulability ellipsoid (m/s²)" in text
        assert picture.read_bytes().startswith(b"\x89PNG")
    assert "no map of 'beauty'" in run("map", "panda", "--quantity", "beauty", "-o", tmp_path / "x.png", code=2)
    assert "already" in run("map", "panda", "-o", picture, code=2)


@pytest.mark.parametrize("redundancy", ["pseudo-inverse", "dynamic", "exact"])
def test_empty_batches_and_nan(redundancy) -> None:
    """No configurations give no ellipsoids; one that is no number gives one that is no number, beside good ones."""
    arm = da.load("panda")
    none = arm.dynamic_manipulability(np.zeros((0, 7)), redundancy=redundancy)
    assert none.radii.shape == (0, 3) and none.axes.shape == (0, 3, 3) and none.volume.shape == (0,)
    q = np.array([[0.1, -0.6, 0.2, -2.2, 0.1, 1.6, 0.8], [np.nan] * 7])
    both = arm.dynamic_manipulability(q, redundancy=redundancy)
    alone = arm.dynamic_manipulability(q[0], redundancy=redundancy)
    assert np.allclose(both.radii[0], alone.radii) and np.isnan(both.radii[1]).all()
    for make in (arm.velocity_manipulability, arm.force_manipulability, arm.static_manipulability):
        assert make(np.zeros((0, 7)), "arm").radii.shape == (0, 3)
        made = make(q, "arm")
        assert np.isnan(made.radii[1]).all() and np.allclose(made.radii[0], make(q[0], "arm").radii)
        assert np.isfinite(made.radii[0]).all()


@pytest.mark.parametrize(
    ("name", "limits", "words"),
    [
        ("planar-2r", "arm", "largest share of a torque limit needed to hold still"),
        ("planar-2r", None, "largest joint torque needed to hold still (N m)"),
        ("cartesian-2", None, "largest joint torque needed to hold still (N)"),
        ("pr-arm", None, "largest joint torque needed to hold still (N m; N at prismatic joints)"),
    ],
)
def test_a_gravity_load_without_limits_is_no_share(name, limits, words):
    arm = da.load(name)
    assert workspace_map(arm, "gravity-load", poses=500, cells=5, limits=limits).words == words


@pytest.mark.parametrize(("name", "corners"), [("planar-2r", 4), ("pendulum", 2)])
def test_corners_of_a_flat_polytope_lie_on_its_boundary(name, corners):
    """The tip of a planar arm accelerates in a plane or on a line only."""
    arm = da.load(name)
    polytope = arm.acceleration_polytope(np.full(arm.n, 0.3), np.ones(arm.n), task="position")
    vertices = polytope.vertices
    assert vertices.shape == (corners, 3)
    assert (
        polytope.contains(vertices, slack=1e-9).all()
        and not polytope.contains(1.01 * vertices - 0.01 * polytope.center).any()
    )
