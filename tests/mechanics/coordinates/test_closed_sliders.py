"""Planar loops with slides: slider-cranks, their inversions and cylinders, closed by a circle that meets a line or a circle."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import dalembert as da
from arms import relative
from dalembert.base.algebra.scalars import cos, sin
from dalembert.errors import ClosureError
from dalembert.mechanics.coordinates import pulled
from dalembert.mechanics.coordinates.chain import Angle, Chain
from dalembert.mechanics.coordinates.closure import CoupledMechanism
from dalembert.mechanics.coordinates.loop_closure import Plane, SpatialLoop, assembled, rates
from test_closed_chains import along, slider_crank, slope, states
from test_closed_simulation import by_newton, with_friction

CRANK, ROD = 0.1, 0.3
# r and p turn and slide with a motor, R and P are passive: the two ways from the base to the cut
LOOPS = {
    "slider-crank": ("rR", "P"), "cut at the crank": ("PR", "r"), "the other way round": ("P", "rR"),
    "rod that slides": ("RP", "r"), "crank that slides": ("rRP", ""), "slide that is swung": ("rPR", ""),
    "slide on the crank": ("rP", "R"), "two motors": ("rR", "pP"), "pushed slider": ("RR", "p"), "cylinder": ("R", "Rp"),
    "leg": ("RpR", "r"),
}  # fmt: skip
WITH_LINE = [name for name, ways in LOOPS.items() if "P" in "".join(ways)]


@cache
def arm(name: str, seed: int = 2) -> da.Arm:
    """A loop of links whose shapes are random, in a plane that lies anywhere, closed at a random pose."""
    ways = LOOPS[name]
    rng = np.random.default_rng([seed, sorted(LOOPS).index(name)])
    base = da.Placement.rpy(*rng.uniform(-1, 1, 3), xyz=(0.1, 0.2, 0.3))
    links, joints, ends, start = [da.Link("base")], [], [], {}
    for side, way in zip("ab", ways, strict=True):
        last = "base"
        for k, letter in enumerate(way):
            link, joint = f"link {side}{k}", f"{letter}{side}{k}"
            inertia = np.diag(rng.uniform(1.0, 2.0, 3)) * 1e-3
            links.append(da.Link(link, da.Inertia(rng.uniform(0.5, 2), rng.uniform(-0.1, 0.1, 3), inertia)))
            turns, angle = letter in "rR", rng.uniform(-3, 3)
            axis = (0.0, 0.0, rng.choice([-1.0, 1.0])) if turns else (np.cos(angle), np.sin(angle), 0.0)
            placement = da.Placement.rpy(0, 0, rng.uniform(-3, 3), xyz=(*rng.uniform(-0.3, 0.3, 2), 0.02 * k))
            joints.append(da.Joint(
                joint, "revolute" if turns else "prismatic", last, link, placement if k else base @ placement, axis,
                offset=rng.uniform(-0.3, 0.3), friction=da.Friction(0.1, 0.2),
            ))  # fmt: skip
            last, start[joint] = link, rng.uniform(-1, 1) if turns else rng.uniform(-0.2, 0.2)
        ends.append(last)
    robot = da.Robot(name, links, joints, gravity=(1.0, 2.0, -9.81))
    frames = dict(zip([j.child for j in joints], da.Arm(robot).link_poses([*start.values()]), strict=True))
    frames["base"] = np.eye(4)
    at = (frames[ends[0]] @ [*rng.uniform(-0.3, 0.3, 2), 0.1, 1.0])[:3]
    normal = np.array(base.rotation)[:, 2]
    places = [da.Placement(frames[end][:3, :3].T, np.linalg.solve(frames[end], [*at, 1.0])[:3]) for end in ends]
    loop = da.Loop("cut", ends[0], places[0], ends[1], places[1], axis=normal, branch=start,
                   kind="connect" if name == "leg" else "revolute",
                   passive=[joint for joint in start if joint[0].isupper()])  # fmt: skip
    return da.Arm(robot.replace(loops=(loop,)))


def in_space(a: da.Arm) -> CoupledMechanism:
    """The same by Newton's method, from the equations of loops that need not be planar."""
    m = by_newton(a).mechanism
    return replace(m, loops=tuple(SpatialLoop(loop.ends) for loop in m.loops))


def near(a: da.Arm, count: int = 3) -> list[list[list[float]]]:
    """States (q, q̇, q̈) near the branch's pose, on this side of singular ones."""
    m, out = a.mechanism, []
    for state in zip(*(x.tolist() for x in states(a, 40, reach=0.07)), strict=True):
        try:
            found = rates(m.tree, m.loops[0], [*map(float_of, Chain(m, state[0]).q)])
        except ClosureError:
            continue
        (x, y), (u, v) = (found.columns[m.loops[0].ends.joints.index(i)] for i in m.passive[0])
        if abs(x * v - y * u) > 0.15 * math.hypot(x, y) * math.hypot(u, v):
            out.append(list(state))
        if len(out) == count:
            return out
    raise AssertionError("nearly all states are singular")


def float_of(x: float | Angle) -> float:
    return math.atan2(sin(x), cos(x)) if isinstance(x, Angle) else x


@pytest.mark.parametrize("seed", [2, 8])
@pytest.mark.parametrize("name", LOOPS)
def test_it_is_what_newton_finds(name, seed):
    """The equations as they are written, on Python's numbers: nothing is compiled here."""
    a = arm(name, seed)
    m, n = a.mechanism, in_space(a)
    assert a.closure_kinds == {"cut": "triangle"}
    assert isinstance(m.loops[0], Plane) and m.closures[0].slides == (name in WITH_LINE)
    passive = m.passive[0]
    for q, qd, qdd in near(a):
        found = [*map(float_of, Chain(m, q).q)]
        assert max(map(abs, rates(m.tree, m.loops[0], found).residual)) < 1e-13
        start = list(m.pose)
        for k in range(1, 9):  # from the branch's pose on, in small steps
            for i, x in zip(m.actuated, q, strict=True):
                start[i] = m.pose[i] + (x - m.pose[i]) * k / 8
            start = assembled(m.tree, n.loops, passive, start)
        assert max(abs(np.exp(1j * (x - y)) - 1) for x, y in zip(start, found, strict=True)) < 1e-11
        one, two = Chain(m, q, qd), Chain(n, start, qd)
        for x, y in (
            (one.Gamma, two.Gamma),
            (one.Gamma_dot(one.Gamma), two.Gamma_dot(two.Gamma)),
            (pulled.inverse_dynamics(m, q, qd, qdd), pulled.inverse_dynamics(n, start, qd, qdd)),
            (pulled.inertia_matrix(m, q), pulled.inertia_matrix(n, start)),
            (pulled.coriolis_matrix(m, q, qd), pulled.coriolis_matrix(n, start, qd)),
            (pulled.loop_wrenches(m, q, qd, qdd), pulled.loop_wrenches(n, start, qd, qdd)),
        ):
            assert relative(np.array(x), np.array(y)) < 1e-9


@pytest.mark.parametrize("name", ["rod that slides", "two motors"])
def test_what_is_compiled_is_that_and_its_derivatives_are_exact(name):
    a = arm(name)
    q, qd, qdd = (np.array(x) for x in zip(*near(a), strict=True))
    tau = a.inverse_dynamics(q, qd, qdd)
    wanted = [
        pulled.inverse_dynamics(a.mechanism, *(x.tolist() for x in state)) for state in zip(q, qd, qdd, strict=True)
    ]
    assert relative(tau, np.array(wanted)) < 1e-11 and np.abs(a.loop_residual(q)).max() < 1e-13
    assert relative(a.closure_jacobian(q), along(a, a.tree_positions, q)) < 1e-8
    assert relative(a.closure_derivative(q, qd), slope(a.closure_jacobian, q, qd)) < 1e-7


# -- the slider-crank by hand --------------------------------------------------------------------


def offset_crank(offset: float, **changes) -> da.Arm:
    """A slider-crank whose slide runs at a height above the crank's pivot."""
    a = slider_crank(**changes)
    up = da.Placement(translation=(0.0, offset, 0.0))
    joints = tuple(replace(j, placement=up) if j.name == "s" else j for j in a.robot.joints)
    return a.replace(joints=joints)


def branch(theta: float, sign: float, offset: float = 0.0) -> dict[str, float]:
    rod = np.arcsin((offset - CRANK * np.sin(theta)) / ROD)
    rod = rod if sign > 0 else np.pi - rod
    return {"c": theta, "r": rod - theta, "s": CRANK * np.cos(theta) + ROD * np.cos(rod)}


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("offset", [0.0, 0.07])
def test_the_slider_crank_is_that_of_the_books(offset, sign):
    """x = r cos θ ± √(l² − (r sin θ − e)²) all the way round, and its derivatives."""
    a = offset_crank(offset, branch=branch(0.5, sign, offset))
    assert a.closure_kinds == {"pin": "triangle"} and a.joint_names == ("c",)
    theta = np.linspace(-np.pi, np.pi, 61)
    s, c = np.sin(theta), np.cos(theta)
    h = CRANK * s - offset
    root = sign * np.sqrt(ROD**2 - h**2)
    slope_h = CRANK * c
    v = -CRANK * s - h * slope_h / root
    acc = -CRANK * c - (slope_h**2 - h * CRANK * s) / root - (h * slope_h) ** 2 / root**3
    q, one = theta[:, None], np.ones((61, 1))
    tree = a.tree_positions(q)
    assert np.abs(tree[:, 2] - (CRANK * c + root)).max() < 1e-15
    assert np.abs(ROD * np.sin(theta + tree[:, 1]) + h).max() < 1e-15
    assert np.abs(ROD * np.cos(theta + tree[:, 1]) - root).max() < 1e-15
    assert np.abs(a.closure_jacobian(q)[:, 2, 0] - v).max() < 1e-14
    assert np.abs(a.closure_derivative(q, one)[:, 2, 0] - acc).max() < 1e-13
    # the force on the slider alone: its 1 kg, and the pin has to give it
    force = a.loop_wrenches(q, one, 0 * one)[:, 0, 0]
    assert np.abs(force + acc).max() < 1e-13


def test_a_slider_with_a_motor_turns_its_crank():
    """Two circles, one of them about a pin that slides: c and r are passive, cos θ by the cosine theorem."""
    a = slider_crank(passive=("c", "r"))
    assert a.joint_names == ("s",) and a.closure_kinds == {"pin": "triangle"}
    x = np.linspace(0.25, 0.38, 20)
    theta = a.tree_positions(x[:, None])[:, 0]
    assert np.abs(np.cos(theta) - (x**2 + CRANK**2 - ROD**2) / (2 * x * CRANK)).max() < 1e-13 and np.all(theta > 0)


# -- poses that cannot be ------------------------------------------------------------------------


def test_unreachable_and_singular_poses_are_named():
    a = offset_crank(0.25, branch=branch(0.5, 1.0, 0.25))
    below = r"loop 'pin' of arm 'slider-crank' cannot be closed at q = .*state 2 of the batch\): the line of its prismatic joint is 0\.35 m"
    with pytest.raises(ClosureError, match=below) as e:
        a.inverse_dynamics([[0.5], [0.0], [-np.pi / 2]], [0.0], [0.0])
    assert e.value.kind == "unreachable" and e.value.loop == "pin" and e.value.index == (2,)
    for q in (-np.pi / 6 - 1e-13, -np.pi / 6 - 1e-14):  # 0.25 m + 0.1 m sin 30° is the rod's length
        with pytest.raises(
            ClosureError, match=r"'slider-crank' is singular at .*its prismatic joint is perpendicular to its link"
        ) as e:
            a.forward_dynamics([q], [0.0], [0.0])
        assert e.value.kind == "singular"
    assert a.closes([[-0.53], [-0.52]]).tolist() == [False, True]
    with pytest.raises(ClosureError, match="cannot be closed near the configuration of its branch"):
        _ = offset_crank(0.5).mechanism


def test_a_rod_through_its_own_pivot_is_singular():
    """A crank as long as the base: at θ = π its pin comes to the pivot of the rod that slides on it."""
    a = slider_crank()
    links = [link for link in a.robot.links if link.name != "slider"]
    joints = [a.robot.joints[0], da.Joint("w", "revolute", "base", "rocker", da.Placement(translation=(-CRANK, 0, 0))),
              da.Joint("s", "prismatic", "rocker", "slider", axis=(1, 0, 0))]  # fmt: skip
    links[2:] = [da.Link("rocker", links[1].inertia), da.Link("slider", links[1].inertia)]
    loop = da.Loop("pin", "slider", da.Placement(), "crank", da.Placement(translation=(CRANK, 0, 0)),
                   passive=("w", "s"), branch={"c": 0.6, "w": 0.3, "s": 0.19})  # fmt: skip
    a = da.Arm(da.Robot("swing", links, joints, loops=(loop,)))
    theta = np.linspace(-2.5, 2.5, 11)
    tree = a.tree_positions(theta[:, None])
    assert np.abs(tree[:, 1] - theta / 2).max() < 1e-14  # the angle at the circle is half of that at its centre
    assert np.abs(tree[:, 2] - 2 * CRANK * np.cos(theta / 2)).max() < 1e-15
    with pytest.raises(ClosureError, match="'swing' is singular") as e:
        a.inverse_dynamics([np.pi], [0.0], [0.0])
    assert e.value.kind == "singular"
    with pytest.raises(ClosureError, match=r"comes to a singular pose after .* or ends at its pivot") as e:
        da.simulate(a, [2.5], [4.0], None, 1.0, friction=False)
    assert e.value.kind == "singular"


# -- simulation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["slider-crank", "two motors"])
def test_a_simulation_stays_on_the_constraint(name):
    a = slider_crank() if name == "slider-crank" else arm(name)
    q0 = a.home
    hold = None if name == "slider-crank" else da.PD(500.0, 20.0, q0 + 0.05)
    run = da.simulate(a, q0, [3.0] if hold is None else None, hold, 10.0, friction=False, step=2e-3, every=10)
    assert np.abs(a.loop_residual(run.q)).max() < 1e-10
    Q, loop = a.tree_positions(run.q), a.robot.loops[0]
    names = [body.name for body in a.mechanism.tree.bodies]
    children = [next(j.child for j in a.robot.joints if j.name == name) for name in names]
    poses = a.tree.link_poses(Q)
    ends = [
        (poses[:, children.index(link)] @ [*place.translation, 1.0])[:, :3]
        for link, place in ((loop.link_a, loop.placement_a), (loop.link_b, loop.placement_b))
    ]
    assert np.abs(ends[0] - ends[1]).max() < 1e-10 and np.ptp(run.q) > 0.01
    if hold is None:
        assert np.ptp(run.energy) < 1e-8 * run.kinetic.max() and np.ptp(run.q) > 20


def test_a_slide_that_rubs_holds_the_crank():
    """It breaks loose at |Γ_s| F_s, closed by the formula as by Newton."""
    a = with_friction(slider_crank(), s=2.0).replace(gravity=(0.0, 0.0, 0.0))
    q0 = np.array([0.5])
    most = 2.0 * abs(a.closure_jacobian(q0)[2, 0])
    for load in (0.99, -0.99):
        run = da.simulate(a, q0, None, [load * most], 0.05)
        assert np.abs(run.q - q0).max() < 1e-15
    runs = [da.simulate(x, q0, None, [1.05 * most], 0.05, step=5e-3) for x in (a, by_newton(a))]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-10 and runs[0].q[-1] > q0


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_singular_pose_on_the_way_ends_the_simulation(method):
    a = offset_crank(0.25, branch=branch(0.5, 1.0, 0.25))
    with pytest.raises(
        ClosureError, match=r"comes to a singular pose after .* its prismatic joint is perpendicular"
    ) as caught:
        da.simulate(a, [0.0], None, [-0.1], 5.0, method=method, friction=False)
    assert caught.value.kind == "singular" and caught.value.loop == "pin"
