"""What cannot be a robot is refused in one sentence; what can, passes."""

import math
import warnings

import pytest

from dalembert.errors import RobotError
from dalembert.robot.check import PhysicalWarning, check
from dalembert.robot.inertia import Inertia
from dalembert.robot.model import Frame, Joint, Link, Robot, Rotor
from dalembert.robot.placement import Placement

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
