"""What every room shares: one number per joint, samples of a motion, progress, and tables as text."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.base.environment.progress import part_of, reporting
from dalembert.base.per_joint import per_joint
from dalembert.base.tables.sampled_motion import SampledMotion
from dalembert.base.text_tables import aligned, csv_text
from dalembert.errors import DalembertError, ShapeError


def test_one_number_applies_to_all_joints_and_arrays_are_copied() -> None:
    given = np.array([1.0, np.inf])
    values = per_joint("effort", given, 2, positive=True, infinite=True)
    assert np.array_equal(per_joint("gain", 3, 2), [3.0, 3.0]) and np.array_equal(values, given) and values is not given
    assert per_joint("gears", np.eye(2), 2, matrix=True).shape == (2, 2)


@pytest.mark.parametrize(
    ("value", "options", "error", "sentence"),
    [
        ([1.0, 2.0, 3.0], {"arm": "elbow"}, ShapeError, r"x has shape \(3,\), but arm 'elbow' has 2 joints"),
        (np.eye(2), {}, ShapeError, r"x has shape \(2, 2\); it must have shape \(2,\), one number per joint"),
        ([1.0, np.nan], {}, DalembertError, "x has the value nan; every number must be finite"),
        (
            [1.0, 0.0],
            {"positive": True},
            DalembertError,
            "x has the value 0; every number must be finite and more than 0",
        ),
        (np.nan, {"positive": True, "infinite": True}, DalembertError, "every number must be more than 0"),
    ],
)
def test_what_is_not_one_number_per_joint_is_refused(
    value: object, options: dict[str, object], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        per_joint("x", value, 2, **options)  # type: ignore[arg-type]


def test_rows_of_a_sampled_motion_are_rows_of_all_its_arrays() -> None:
    t = np.arange(5.0)
    motion = SampledMotion(t, *(k * t[:, None] for k in (1, 2, 3)), wrench=np.ones((5, 6)))
    part = motion.rows(t > 2)
    assert np.array_equal(part.t, [3.0, 4.0]) and np.array_equal(part.qdd[:, 0], [9.0, 12.0])
    assert part.wrench is not None and part.wrench.shape == (2, 6) and part.tau is None and part.payload is None


def test_progress_of_a_part_is_progress_of_the_whole() -> None:
    fractions: list[float] = []
    part_of(reporting(fractions.append), 0.5, 1.0)("simulation", 0.5)
    part_of(reporting(None), 0.5, 1.0)("simulation", 0.5)
    assert fractions == [0.75]


def test_tables_are_aligned_and_unknown_numbers_are_empty_cells() -> None:
    assert aligned([["joint", "peak"], ["1", "2.5"]]) == "joint  peak\n1       2.5"
    assert csv_text([{"a": 1.5}, {"a": float("nan"), "b": "x"}]) == "a,b\n1.5,\n,x\n"
