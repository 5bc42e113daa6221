"""Why coefficients of the equations of motion vanish (S 7.1.3, 7.3.3; M section 2), and the designs that make them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import sympy

import arms
import dalembert as da
from dalembert.errors import DalembertError, ShapeError
from dalembert.robot import Inertia, Link, Placement, Robot
from dalembert.robot.model.mechanism import Mechanism, bodies_in_loops
from dalembert.robot.readers.dh import assemble, rows_of
from dalembert.work.analysis.coupling_analysis import Couplings
from dalembert.work.analysis.variations import _lengths, other_numbers

ZERO = ("always", "structure", "numbers")
SMALL = [
    "planar-2r",
    "planar-3r",
    "pr-arm",
    "cartesian-2",
    "cartesian-2-45",
    "parallelogram",
    "parallelogram-decoupled",
]
SERIAL = ["planar-3r", "scara", "puma560", "panda", "random-chain"]


@cache
def couplings_of(name: str) -> Couplings:
    return arms.arm(name).couplings()


def coefficients(arm: da.Arm, q: np.ndarray) -> dict[str, np.ndarray]:
    """The largest |b_ij|, |h_ijk| and |g_i| at some configurations, by other equations than couplings() runs."""
    of = {"b": ("inertia_matrix", "composite"), "h": ("christoffel", "composite"), "g": ("gravity_torque", "composite")}
    return {
        letter: np.abs(arms.on_floats(arm, *how, q=arm.placed(q))).max(axis=0)
        if letter != "g"
        else np.abs(arm.gravity_torque(q)).max(axis=0)
        for letter, how in of.items()
    }


def shares(couplings: Couplings, values: dict[str, np.ndarray], reasons: tuple[str, ...]) -> list[float]:
    """Of the coefficients with these reasons, the values beside the largest one of their kind."""
    words = {"b": couplings.inertia, "h": couplings.velocity, "g": couplings.gravity}
    return [
        float(x)
        for letter, word in words.items()
        for x in values[letter][np.isin(word, reasons)] / max(values[letter].max(), 1e-300)
    ]


@pytest.mark.parametrize("name", ["pendulum", *SERIAL, "stanford", "random-tree", *arms.COUPLED, *arms.CLOSED])
def test_zeros_are_zero_and_others_are_not(name: str) -> None:
    arm = arms.arm(name)
    couplings, (q, _, _) = couplings_of(name), arms.states(arm, 3, seed=5)
    values = coefficients(arm, q)
    assert max(shares(couplings, values, ZERO), default=0.0) < 1e-12
    assert min(shares(couplings, values, ("nonzero",))) > 1e-10
    assert (couplings.velocity == np.swapaxes(couplings.velocity, 1, 2)).all()  # h_ikm = h_imk of M
    assert (couplings.inertia == couplings.inertia.T).all()


def with_other_numbers(robot: Robot, rng: np.random.Generator) -> Robot:
    """Other lengths in the DH table where it has any, other bodies, other rotors where there are any."""
    found = rows_of(robot)
    assert found is not None
    rows = [
        replace(
            row,
            a=row.a * rng.uniform(0.5, 1.5),
            d=row.d * rng.uniform(0.5, 1.5),
            inertia=arms.random_inertia(rng),
            rotor=None
            if row.rotor is None
            else replace(row.rotor, inertia=rng.uniform(0.1, 1), mass=rng.uniform(1, 2)),
        )
        for row in found[1]
    ]
    return assemble(rows, found[0], robot.name, gravity=robot.gravity, base=robot.base)


@pytest.mark.parametrize("name", ["cartesian-2", "pr-arm", "scara", "stanford", "puma560"])
def test_zeros_by_structure_survive_other_numbers_and_those_by_numbers_do_not(name: str) -> None:
    arm = arms.arm(name)
    couplings, rng = couplings_of(name), np.random.default_rng(4)
    other = da.Arm(with_other_numbers(arm.robot, rng))
    values = coefficients(other, rng.uniform(-2, 2, (3, arm.n)))
    assert max(shares(couplings, values, ("always", "structure")), default=0.0) < 1e-13
    assert min(shares(couplings, values, ("numbers", "nonzero"))) > 1e-9
    again = other.couplings()
    assert again.named("numbers") == () and again.named("structure") == couplings.named("structure")


@pytest.mark.parametrize("name", SERIAL)
def test_always_zero_are_the_terms_of_a_joint_and_those_before_it(name: str) -> None:
    """c_ijk = 0 where k = i ≥ j, h_iii among them: ∂b_ii/∂q_j = 0, since joints up to i move all that i moves as one body."""
    arm = arms.arm(name)
    n = range(1, arm.n + 1)
    assert couplings_of(name).named("always") == tuple(f"h_{i}{j}{i}" for i in n for j in n if j <= i)


def test_branches_of_a_tree_are_never_coupled() -> None:
    arm = arms.arm("random-tree")
    tree, inertia = arm.mechanism.tree, couplings_of("random-tree").inertia
    for i in range(arm.n):
        for j in range(arm.n):
            together = i in tree.path(j) or j in tree.path(i)
            assert (inertia[i, j] == "always") == (not together)


def test_structure_does_not_depend_on_where_frames_stand() -> None:
    """Axes that intersect and lengths that are zero are found in any frames: those of a URDF have no DH table."""
    arm, rng = arms.arm("puma560"), np.random.default_rng(2)
    turned = Placement(arms.random_rotation(rng), tuple(rng.normal(size=3)))
    joints = []
    for joint in arm.robot.joints:  # every link's frame stands elsewhere on it
        at = joint.placement if joint.parent == arm.robot.root else turned.inverse @ joint.placement
        joints.append(replace(joint, placement=at, link_frame=joint.link_frame @ turned))
    links = [
        replace(link, inertia=link.inertia.seen_from(turned.inverse)) if link.name != arm.robot.root else link
        for link in arm.robot.links
    ]
    moved = da.Arm(Robot("moved", tuple(links), tuple(joints), gravity=arm.robot.gravity))
    assert rows_of(moved.robot) is None
    theirs, own = moved.couplings(), couplings_of("puma560")
    for part in ("inertia", "velocity", "gravity"):
        assert (getattr(theirs, part) == getattr(own, part)).all()


def test_equal_lengths_of_a_parallelogram_stay_equal() -> None:
    """The palletizer's two loops have sides in pairs; lengths outside them are drawn by themselves."""
    arm, count = arms.arm("palletizer"), 2
    tree = arm.mechanism.tree
    drawn = other_numbers(tree, arm.robot, np.random.default_rng(0), count, linear=True)
    kept = other_numbers(tree, arm.robot, np.random.default_rng(0), count, linear=False)
    steps, in_loops = dict(_lengths(tree)), bodies_in_loops(arm.robot, tree)

    def moves(i: int, other: Mechanism) -> np.ndarray:
        now, own = other.bodies[i].placement.translation, tree.bodies[i].placement.translation
        return np.array([getattr(x - y, "value", np.full(count, x - y)) for x, y in zip(now, own, strict=True)])

    factors: dict[float, np.ndarray] = {}
    for i in in_loops & steps.keys():
        assert np.abs(moves(i, kept)).max(initial=0.0) < 1e-15
        for length, direction in steps[i]:
            factor = 1 + np.array(direction) @ moves(i, drawn) / length
            assert factors.setdefault(round(length, 9), factor) == pytest.approx(factor)
    assert len(factors) > 1 and len({x[0] for x in factors.values()}) == len(factors)


# -- reason 3 ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "q", "names"),
    [
        ("planar-2r", [0.4, np.pi], ("h_112", "h_122", "h_211")),
        ("planar-2r", [np.pi / 2, 0.0], ("h_112", "h_122", "h_211", "g_1", "g_2")),
        ("pr-arm", [0.3, np.pi / 2], ("h_122", "g_2")),
        ("parallelogram", [0.2, 0.2 + np.pi / 2], ("b_12",)),
        ("parallelogram", [0.2, 0.2], ("h_122", "h_211")),
        ("five-bar", None, ()),
    ],
)
def test_coefficients_vanish_at_particular_configurations(
    name: str, q: list[float] | None, names: tuple[str, ...]
) -> None:
    arm = arms.arm(name)
    assert couplings_of(name).at(arm.home + 0.05 if q is None else q) == names


# -- S 7.3.3 -------------------------------------------------------------------------------------


def test_parallelogram_is_decoupled_by_the_condition_of_7_3_3() -> None:
    """m_ℓ3' (ℓ_3' − a_1') / (m_ℓ2' ℓ_2') = a_1' / a_1'', ERRATA; b_12 and all velocity terms vanish with it."""
    couplings = couplings_of("parallelogram")
    m_2, m_3, l_2, l_3, a_1, a_11 = sympy.symbols("m_l2' m_l3' l_2' l_3' a_1' a_1''")
    book = m_3 * (l_3 - a_1) / (m_2 * l_2) - a_1 / a_11
    for coefficient in (("b", 1, 2), ("h", 1, 2, 2), ("h", 2, 1, 1)):
        (equation,) = couplings.condition(*coefficient).equations
        assert sympy.cancel(equation / (book * m_2 * l_2 * a_11)) in (1, -1)
    decoupled = couplings_of("parallelogram-decoupled")
    assert decoupled.inertia[0, 1] == "numbers" and decoupled.condition("b", 1, 2).vanishes
    assert decoupled.named("numbers") == ("b_12", "h_122", "h_211")
    assert {str(w) for w in np.unique(decoupled.velocity)} == {"structure", "numbers"}  # no velocity terms at all
    links = [
        replace(link, inertia=replace(link.inertia, mass=link.inertia.mass * (1 + 1e-9)))
        if link.name == "link3'"
        else link
        for link in decoupled.arm.robot.links
    ]
    assert decoupled.arm.replace(links=tuple(links)).couplings().inertia[0, 1] == "nonzero"


def test_a_motor_that_turns_the_other_way_can_decouple() -> None:
    """With k_r2 < 0 and link 2 balanced, I_ℓ2 + k_r2 I_m2 = 0 is a design: S's remark is about positive gear ratios."""
    link = {"a": 1.0, "mass": 1.0, "inertia": {"xx": 0.1, "yy": 0.2, "zz": 0.3}}
    for inertia, vanishes in ((0.003, True), (0.002, False)):
        rotor = {"inertia": inertia, "gear": -100.0}
        arm = da.from_dh([link, {**link, "com": (-1.0, 0.0, 0.0), "rotor": rotor}], gravity=(0, -9.81, 0))
        condition = arm.couplings().condition("b", 1, 2)
        assert condition.vanishes is vanishes and not condition.impossible and "impossible" not in str(condition)
    assert {str(letter): values for letter, values in condition.solutions.items()}["I_m2"] == pytest.approx([0.003])


def test_no_design_decouples_the_two_link_planar_arm() -> None:
    """S: "Such a result could not be achieved with the previous two-link planar arm"."""
    condition = couplings_of("planar-2r").condition("b", 1, 2)
    assert condition.functions == (("1",), ("c_2",)) and condition.impossible and not condition.solutions
    I_2, m_2, l_2, a_1, k_2, I_m2 = sympy.symbols("I_l2 m_l2 l_2 a_1 k_r2 I_m2")
    constant, cosine = condition.equations
    assert sympy.expand(constant - (I_2 + m_2 * l_2**2 + k_2 * I_m2)) == 0 and cosine == m_2 * a_1 * l_2
    assert not couplings_of("planar-2r").condition("h", 1, 1, 2).impossible  # a counterweight: ℓ_2 = 0


def test_a_right_angle_decouples_the_cartesian_arm() -> None:
    """Problem 7.1."""
    assert couplings_of("cartesian-2").inertia[0, 1] == "structure"
    assert couplings_of("cartesian-2").condition("b", 1, 2).equations == ()
    condition = couplings_of("cartesian-2-45").condition("b", 1, 2)
    assert [str(e) for e in condition.equations] == ["c_alpha1*m_l2"]
    assert {str(letter): values for letter, values in condition.solutions.items()} == {"c_alpha1": (0.0,)}


@pytest.mark.parametrize("name", SMALL)
def test_conditions_hold_just_where_coefficients_vanish(name: str) -> None:
    """At the arm's own numbers, and at every solution with one number changed, where the coefficient is zero for all q."""
    arm = arms.arm(name)
    couplings, e = couplings_of(name), arm.equations()
    rng = np.random.default_rng(3)
    q, eye, changed = rng.uniform(-2, 2, (6, arm.n)), np.eye(arm.n), 0
    for letter, at, why in couplings._all:
        condition = couplings.condition(letter, *at)
        numbers = {sympy.Symbol(x.name): x.value for x in condition.ring.letters if x.is_parameter}
        left = [abs(float(equation.subs(numbers))) for equation in condition.equations]
        assert (max(left, default=0.0) < 1e-12) == (why != "nonzero")
        assert (condition.equations == ()) == (why in ("always", "structure"))
        for symbol, values in condition.solutions.items():
            for value in values if symbol in e.parameters else ():
                there = e.evaluate(q, eye[at[-1] - 1], None, {symbol: value})
                index = (slice(None), *(k - 1 for k in at[:2]))
                table = {"b": there.B, "h": there.C, "g": there.g}[letter]
                assert np.abs(table[index]).max() < 1e-9 * (1 + np.abs(table).max())
                changed += 1
    assert changed >= 3 or name.startswith("cartesian")


def test_a_number_that_is_zero_has_a_condition_too() -> None:
    """The centre of mass of link 2 on its axis: "numbers", and the letters of S (7.77) say what must stay zero."""
    arm = arms.arm("pr-arm")
    links = [
        replace(link, inertia=Inertia(link.inertia.mass, (-0.6, 0.0, 0.0), link.inertia.tensor))
        if link.name == "link2"
        else link
        for link in arm.robot.links
    ]
    couplings = arm.replace(links=tuple(links)).couplings()
    assert couplings.named("numbers") == ("b_12", "h_122", "g_2")
    words = couplings.condition("g", 2).text()
    assert "as is the case for this arm" in words and "m_2" in words


def test_wrong_questions_get_a_sentence() -> None:
    couplings = couplings_of("planar-2r")
    for wrong in (("b", 1), ("b", 1, 3), ("h", 1, 2), ("x", 1), ("b", 0, 1), ("b", "1", 2)):
        with pytest.raises(DalembertError, match="there is no coefficient"):
            couplings.condition(*wrong)  # type: ignore[arg-type]
    with pytest.raises(DalembertError, match=r"must be 'always', 'structure'"):
        couplings.named("never")
    with pytest.raises(ShapeError, match="one configuration"):
        couplings.at([[0.0, 0.0]])
    with pytest.raises(ShapeError, match="every number must be finite"):
        couplings.at([np.nan, 0.0])
    with pytest.raises(DalembertError, match="too long to read: 3945 functions of q"):
        couplings_of("panda").condition("b", 1, 2)
    with pytest.raises(DalembertError, match="no closed form"):
        couplings_of("five-bar").condition("b", 1, 2)
    swung = arms.arm("planar-2r").in_coordinates(lambda y: [y[0] + y[1] ** 3, y[1]])
    assert swung.couplings().inertia.tolist() == [["nonzero"] * 2] * 2
    with pytest.raises(DalembertError, match="in its joint coordinates"):
        swung.couplings().condition("b", 1, 2)
    with pytest.raises(DalembertError, match="no moving joint"):
        da.Arm(Robot("stand", (Link("base"),), ())).couplings()
    with pytest.raises(DalembertError, match="has 25 joints; couplings can be determined for up to 24"):
        da.Arm(arms.random_robot(np.random.default_rng(0), 25, tree=False)).couplings()


def test_offsets_of_angles_are_part_of_the_functions() -> None:
    """Joints that count from elsewhere have the same conditions, of functions that are shifted."""
    link = {"mass": 2.0, "com": (-0.3, 0.05, 0.1), "inertia": {"xx": 0.1, "yy": 0.2, "zz": 0.25}}
    rows = [{"a": 1.0, **link}, {"a": 0.5, "alpha": 0.7, **link}, {"a": 0.2, **link}]
    plain = da.from_dh(rows, gravity=(0, -9.81, 0)).couplings()
    shifted = da.from_dh([row | {"theta": 0.3} for row in rows], gravity=(0, -9.81, 0)).couplings()
    for at in (("b", 1, 2), ("h", 1, 1, 2), ("g", 1)):
        here, there = plain.condition(*at), shifted.condition(*at)
        assert here.equations == there.equations
        assert "sin(ϑ_2+0.3)" in {x for functions in there.functions for x in functions} or at == ("g", 1)


def test_other_coordinates_have_other_couplings() -> None:
    """S Problem 7.6: in absolute angles b_12 of the planar arm has no constant part but that of the rotor."""
    condition = arms.arm("planar-2r").in_coordinates("absolute").couplings().condition("b", 1, 2)
    assert len(condition.equations) == 2 and not condition.impossible
