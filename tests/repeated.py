"""Which tests repeat on another arm, method or log what a test of `make test` asserts: `make test-repeated` runs them.

Of a test that runs on several arms, `make test` runs those on the arms of SAMPLE: a planar arm, one with a prismatic joint, one
with seven joints, and one of each kind of closed or coupled chain. The rest is listed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import pytest

SAMPLE = ("planar-2r", "stanford", "panda", "five-bar", "parallelogram", "gripper")
OTHERS = (
    *(
        "cartesian-2",
        "cartesian-2-45",
        "iiwa14",
        "kr300",
        "palletizer",
        "pendulum",
        "planar-3r",
        "pr-arm",
        "puma560",
        "scara",
    ),
    *("ur10", "ur10e", "ur5", "ur5e", "four-bar", "slider-crank", "spatial", "welded", "wrist", "random-chain"),
)
# tests that repeat at length what shorter ones of the same file assert, as file::test or file::test[parameters]
LISTED = (
    "compiler/quantities/test_quantities.py::test_against_pinocchio[iiwa14.urdf]",
    "compiler/quantities/test_quantities.py::test_against_pinocchio[ur10.urdf]",
    "compiler/quantities/test_quantities.py::test_against_pinocchio[ur10e.urdf]",
    "compiler/quantities/test_quantities.py::test_against_pinocchio[ur5.urdf]",
    "work/simulation/test_simulation.py::test_random_arms_with_everything",
    "work/simulation/test_simulation.py::test_tip_wrench_over_time_with_friction_stops_parameters_and_laws",
    "work/simulation/test_simulation.py::test_long_chain",
    "work/simulation/test_controllers.py::test_models_with_sticking_and_stops",
    "work/simulation/test_friction_terms.py::test_loops_closed_by_newton_do_what_the_formula_does",
    "work/excitation/test_excitation.py::test_panda_beats_the_published_condition_number",
    "mechanics/coordinates/test_couplings.py::test_random_trees_with_mimic_joints_are_those_of_pinocchio",
)
ARM = re.compile(
    "|".join(rf"(?<![^-[\s]){re.escape(name)}(?=[-\]\s])" for name in sorted((*SAMPLE, *OTHERS), key=len, reverse=True))
)


def mark(items: Sequence[pytest.Item]) -> None:
    """Mark the tests that `make test` leaves out."""
    arms: dict[str, dict[pytest.Item, str]] = defaultdict(dict)
    for item in items:
        name, _, parameters = item.nodeid.partition("[")
        if arm := ARM.search(f"[{parameters}"):
            arms[name][item] = arm[0]
    for of_one_test in arms.values():
        if set(of_one_test.values()) & set(SAMPLE):
            for item, arm in of_one_test.items():
                if arm not in SAMPLE:
                    item.add_marker("repeated")
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        if name in LISTED or name.partition("[")[0] in LISTED:
            item.add_marker("repeated")
