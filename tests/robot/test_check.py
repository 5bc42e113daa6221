"""What cannot be a robot is refused in one sentence; what can, passes."""

import math
import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.plausibility import PhysicalWarning, check
from dalembert.robot.model.robot import Frame, Joint, Link, Robot, Rotor

BALL = Inertia(1.0, (0, 0, 0), ((0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)))
THIN = Inertia(1.0, (0, 0, 0), ((0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.3)))


def arm(first=BALL, second=BALL, physical=True, **joint):
    return Robot(
        "two",
        (Link("base"), Link("a", first, physical), Link("b", second, physical)),
        (Joint("j1", "revolute", "base", "a"), Joint("j2", "revolute", "a", "b", **joint)),
    )


def test_a_good_robot_is_returned_as_it_is():
    robot = arm()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check(robot) is robot


def test_all_impossible_links_are_named_in_one_sentence():
    with pytest.raises(RobotError, match=r"link 'a': .*triangle.*link 'b': .*triangle"):
        check(arm(THIN, THIN))


def test_impossible_links_warn_on_request():
    with pytest.warns(PhysicalWarning, match="link 'a'") as caught:
        check(arm(THIN), physical="warn")
    assert caught[0].filename == __file__


def test_a_link_that_says_so_itself_passes():
    check(arm(THIN, THIN, physical=False))


def test_a_point_is_one_whatever_rounding_leaves_of_its_moments():
    noise = Inertia(1.3, (0.1, 0, 0), ((0, 0, 2.4e-35), (0, 5e-20, 0), (2.4e-35, 0, 0)))
    assert noise.impossible() is None
    assert Inertia(1.3, (0, 0, 0), ((0, 0, 0), (0, 0, 0), (0, 0, 3e-6))).impossible()


def test_the_payload_is_checked_too():
    with pytest.raises(RobotError, match="the payload"):
        check(arm().replace(payload=THIN))


@pytest.mark.parametrize("mode", ["error", "warn"])
def test_negative_mass_is_an_error_unless_the_link_says_so_itself(mode):
    with pytest.raises(RobotError, match=r"link 'a' has a negative mass \(-1 kg\)"):
        check(arm(Inertia(-1.0)), mode)
    check(arm(Inertia(-1.0), physical=False), mode)


@pytest.mark.parametrize("physical", [True, False])
@pytest.mark.parametrize("mode", ["error", "warn"])
def test_numbers_that_are_not_finite_are_always_errors(physical, mode):
    with pytest.raises(RobotError, match="mass of link 'a' has the value nan"):
        check(arm(Inertia(math.nan), physical=physical), mode)
    with pytest.raises(RobotError, match="inertia tensor of link 'b' has the value inf"):
        check(arm(BALL, Inertia(1.0, tensor=((math.inf, 0, 0), (0, 1, 0), (0, 0, 1))), physical=physical), mode)


@pytest.mark.parametrize(
    ("robot", "sentence"),
    [
        (arm().replace(gravity=(0, 0, math.nan)), "two.*gravity has the value nan"),
        (arm(placement=Placement(translation=(math.inf, 0, 0))), "placement of joint 'j2' has the value inf"),
        (arm(offset=math.nan), "offset of joint 'j2'"),
        (arm(rotor=Rotor(position=(math.nan, 0, 0))), "rotor of joint 'j2'"),
        (arm(placement=Placement(((1, 0, 0), (0, 1, 0), (0, 0.1, 1)))), "placement of joint 'j2'.*orthogonal"),
        (arm(link_frame=Placement(((1, 0, 0), (0, 1, 0), (0, 0, -1)))), "link frame of joint 'j2'.*reflection"),
        (arm().replace(tip=Frame("t", "b", Placement(((2, 0, 0), (0, 1, 0), (0, 0, 1))))), "tip 't'.*orthogonal"),
    ],
)
def test_numbers_and_rotations(robot, sentence):
    with pytest.raises(RobotError, match=sentence):
        check(robot)


def test_physical_has_two_values():
    with pytest.raises(RobotError, match="'ignore'; it must be 'error' or 'warn'"):
        check(arm(), "ignore")


def test_three_numbers_in_place_of_a_matrix_are_said() -> None:
    with pytest.raises(RobotError, match=r"each row of a rotation needs 3 numbers, not 0\.05"):
        Placement((0.05, 0.0, 0.0))  # type: ignore[arg-type]
    with pytest.raises(RobotError, match=r"a translation needs 3 numbers, not 3\.0"):
        Placement(translation=3.0)  # type: ignore[arg-type]


ROW = """a = '{a} m'
mass = {mass}
com = [{com}, 0, 0]
inertia = {{ xx = {xx}, yy = {xx}, zz = {xx} }}
rotor = {{ inertia = {rotor}, gear = {gear} }}
friction = {{ viscous = {viscous}, coulomb = {coulomb} }}
limits = {{ lower = -3, upper = 3, effort = {effort}, velocity = {velocity} }}
"""
USUAL = {
    "a": 0.5, "mass": 1.0, "com": -0.2, "xx": 0.01, "rotor": 1e-4, "gear": 50.0, "viscous": 1.0, "coulomb": 1.0, "effort": 9.0,
    "velocity": 2.0, "gravity": -9.81,
}  # fmt: skip


def arm_with(folder, **numbers):
    """A file with one joint and these numbers."""
    given = {key: str(value) for key, value in {**USUAL, **numbers}.items()}
    path = folder / "arm.toml"
    path.write_text(f"convention = 'standard'\ngravity = [0, {given['gravity']}, 0]\n[[joint]]\n{ROW.format(**given)}")
    return path


@pytest.mark.parametrize("place", USUAL)
def test_every_number_of_a_model_has_a_possible_size(place, tmp_path):
    limit = place in ("effort", "velocity")
    for value in (1e13, 1e300, 1e308) if not limit else (1e-13, 1e-308):
        with pytest.raises(RobotError, match=r"in SI units is allowed|must be at least 1e-12 in SI") as raised:
            da.load(arm_with(tmp_path, **{place: value}))
        assert "\n" not in str(raised.value) and "arm.toml" in str(raised.value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in (1e12, 1e-12, *(() if limit else (1e-308,))):
            da.load(arm_with(tmp_path, **{place: value}), physical="warn")


def test_payloads_have_a_possible_size():
    for given in ({"mass": 1e308}, {"mass": 1.0, "com": (1e308, 0, 0)}, {"mass": 1.0, "inertia": np.eye(3) * 1e300}):
        with pytest.raises(
            RobotError, match=r"the payload's \w+ has the value .*; at most 1e\+12 in SI units is allowed"
        ):
            da.load("planar-2r").with_payload(**given)


def test_equations_that_cannot_be_solved_are_one_sentence(monkeypatch):
    arm, t = da.load("pendulum"), np.linspace(0, 2, 201)

    def unsolved(*_):
        return np.linalg.cholesky(-np.eye(2))

    monkeypatch.setattr("dalembert.work.identification.fitting.fit.fitted", unsolved)
    with pytest.raises(da.DalembertError, match="the equations of arm 'pendulum' cannot be solved in double precision"):
        da.identify(arm, {"t": t, "q": np.sin(t)[:, None], "tau": np.cos(3 * t)[:, None]})
