"""Tolerances on the command line and on the page."""

from __future__ import annotations

from functools import partial

import pytest

import dalembert as da
from dalembert.views.cli.options import tolerances_of
from dalembert.views.report.figures import alone
from dalembert.views.report.html import grid
from dalembert.views.report.plots import monte_carlo_panels
from dalembert.views.report.report_page import _tolerances

MOTION = da.triangular([0.1, 0.2], [0.6, -0.3], duration=1.0)


def test_options_are_tolerances():
    given = tolerances_of(["mass=5%", "coulomb=0.3 0.4", "com = 0.002", "payload=0..2.5"])
    assert given == da.Tolerances(mass=0.05, coulomb=[0.3, 0.4], com=0.002, payload=(0.0, 2.5))
    assert (
        given.text == "mass ± 5 %, coulomb ± 30, 40 %, centre of mass ± 2 mm, additional payload 0 to 2.5 kg (uniform)"
    )
    assert tolerances_of(None) is None


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("weight=5%", "NAME is one of mass, inertia"),
        ("mass", "write NAME=SHARE, such as mass=5%"),
        ("mass=heavy", "'heavy' is not a number"),
        ("payload=2", "a range in kg, such as payload=0..2"),
        ("mass=5", "0.05 is 5 %"),
    ],
)
def test_mistakes_are_named(option, says):
    with pytest.raises(da.DalembertError, match=says):
        tolerances_of([option])


def test_the_page_shows_quantiles_and_lights():
    arm = da.load("planar-2r")
    place = partial(grid, prefix="m1-", about="of planar-2r")
    assert _tolerances(da.study(arm, MOTION), place) == ""
    page = _tolerances(da.study(arm, MOTION, tolerances={"mass": 0.1, "payload": (0.0, 50.0)}), place)
    drawn = da.monte_carlo(arm, MOTION, {"mass": 0.1, "payload": (0.0, 50.0)})
    for words in ("10,000 robots", "payload 0 to 50 kg", f"{drawn.margin(0.95)[0]:.0%}", "payload (kg)", "<svg"):
        assert words in page, words


def test_long_joint_names_stand_whole_below_the_bars():
    arm = da.load("panda")
    drawn = da.monte_carlo(arm, da.polynomial([0.1] * 7, [0.3] * 7, 1.0), {"mass": 0.1}, samples=4)
    (panel,) = monte_carlo_panels(drawn)
    figure = alone(panel)
    figure.canvas.draw()
    lowest = min(label.get_window_extent().y0 for label in figure.axes[0].get_xticklabels())
    assert lowest >= 0
