"""Every command, with numbers from 1e-308 to 1e308, nan and inf in every numeric place of its line and its files.

It ends in an answer of finite numbers, or in one sentence. A few cases of each are tried here, the same in every run;
``DALEMBERT_NUMBERS=100`` tries so many of each, and ``DALEMBERT_NUMBERS=all`` all of them (hours).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fuzz import numbers
from fuzz.numbers import KINDS, LINES

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is bounded as Linux tells it")
COUNT = os.environ.get("DALEMBERT_NUMBERS", "2")
LIMIT = None if COUNT == "all" else int(COUNT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("numbers")
    numbers.write_files(place)
    return place


@pytest.mark.parametrize("line", LINES, ids=[f"{k} {line.split()[0]}" for k, line in enumerate(LINES)])
def test_a_command_line_with_any_number_ends_in_an_answer_or_a_sentence(line: str, folder: Path) -> None:
    count = 1 if LIMIT is not None and line.startswith("report") else LIMIT  # a report takes seconds
    tried = numbers.chosen(numbers.cases(line), count, line)
    findings = {changed: problem for changed in tried if (problem := numbers.finding(folder, changed)) is not None}
    assert findings == {}


@pytest.mark.parametrize("name", KINDS)
def test_a_file_with_any_number_ends_in_an_answer_or_a_sentence(name: str, folder: Path) -> None:
    kind, findings = KINDS[name], {}
    text = kind.text(folder)
    every = numbers.file_cases(kind, text)
    for line, place, value in numbers.chosen(every, LIMIT if LIMIT is None else 2 * LIMIT, name):
        changed = numbers.replaced(text, place, value)
        if (problem := numbers.finding(folder, line, changed, kind.suffix)) is not None:
            findings[line, changed.partition(value)[0][-30:] + value] = problem
    assert findings == {}


def test_the_commands_work_as_they_stand(folder: Path) -> None:
    """Otherwise they would be refused for another reason."""
    for line in LINES[:: 1 if LIMIT is None else 5]:
        assert numbers.finding(folder, line, refused=False) is None and numbers.cases(line), line
    assert numbers.replaced("plan two.toml --to '1 -2.5' --rate 50", 1, "nan") == "plan two.toml --to '1 nan' --rate 50"
