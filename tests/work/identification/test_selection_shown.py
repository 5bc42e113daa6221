"""What a selection chose stands in the result, on the terminal, in the report, in a file and in a notebook; it can be pinned."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.views.cli.main import app
from dalembert.views.report.colours import INK
from dalembert.views.report.figures import alone
from dalembert.views.report.identification import BEST, _label, gain_panels, laws_at, ranked, selection_section
from dalembert.work.identification.fitting.fit_options import CHOICES
from dalembert.work.identification.fitting.progress_stages import STAGES, Stages
from dalembert.work.identification.selection.selection_result import Selection, Trial
from planar_runs import planar, simulated

WIDTH = 100  # columns of a terminal, two lines of which a sentence may take


@pytest.fixture(scope="module")
def arm() -> da.Arm:
    return planar()


@pytest.fixture(scope="module")
def stages() -> list[str]:
    return []


@pytest.fixture(scope="module")
def fit(arm: da.Arm, stages: list[str]) -> da.Identification:
    return da.identify(arm, simulated(arm), progress=lambda words, fraction: stages.append(words))


@pytest.fixture(scope="module")
def selection(fit: da.Identification) -> Selection:
    assert fit.selection is not None
    return fit.selection


@pytest.fixture(scope="module")
def saved(fit: da.Identification, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("selection") / "fit.json"
    fit.save(path)
    return path


def large(selection: Selection) -> Selection:
    """A selection of seven joints with every law and long names: what the sentences have to bear."""
    joints = [f"a_long_name_of_a_joint_{k}" for k in range(1, 8)]
    laws = ("viscous", "coulomb", "tanh", "stribeck", "load", "offset", "spring", "harmonic")
    structure = {joint: tuple(law for i, law in enumerate(laws) if (i + k) % 2) for k, joint in enumerate(joints)}
    tried = tuple(
        Trial("friction", joint, "gradual Coulomb friction, width 0.01 rad/s", 0.1, 0.3, 0.1, 0, True)
        for joint in joints
    )
    others = tuple(Trial("spring", joint, "a spring", 0.1, 0.2, 0.1, 1, True) for joint in joints)
    ways = selection.tried("estimator")
    return replace(selection, structure=structure, drives=((5, 6, -1.0),), trials=(*tried, *others, *ways))  # fmt: skip


def test_sentences_are_four_at_most_and_each_fits_on_two_lines(selection: Selection) -> None:
    for x in (selection, large(selection)):
        assert len(x.sentences) == 4
        assert all(sentence.endswith(".") and len(sentence) <= 2 * WIDTH + 40 for sentence in x.sentences)
    assert all(len(sentence) <= 2 * WIDTH for sentence in selection.sentences)
    assert all("%" in selection.sentences[k] for k in (0, 3)) and "Hz" in selection.sentences[0]


def test_the_sentences_say_what_was_given(arm: da.Arm) -> None:
    chosen = da.SelectionOptions(choose=("estimator",))
    selection = da.identify(arm, simulated(arm), selection=chosen).selection
    assert selection is not None and len(selection.sentences) == 2
    assert "not chosen: friction, offset" in selection.sentences[0]


def test_the_cut_off_is_not_chosen_any_more() -> None:
    with pytest.warns(DeprecationWarning, match="choose contains 'cutoff', which is not chosen since version 1.1"):
        assert da.SelectionOptions(choose=("cutoff", "friction")).choose == ("friction",)


def test_the_note_about_the_low_pass_says_who_chose_it(fit: da.Identification) -> None:
    assert any("chosen from the spectrum of the motion" in note for note in fit.notes if note.startswith("low-pass"))


def test_every_stage_of_a_selection_is_told_in_order(fit: da.Identification, stages: list[str]) -> None:
    told = [words for words in dict.fromkeys(stages) if words in STAGES]
    assert {"selection", "estimators"} <= set(told)
    bar, before = Stages(), 0.0
    for words in told:
        assert bar(words, 1.0) >= before
        before = bar.reached


def test_pinned_options_give_the_same_parameters(arm: da.Arm, fit: da.Identification, selection: Selection) -> None:
    s = selection
    again = da.identify(
        arm, simulated(arm), model=s.model, filtering=s.filtering, estimator=s.estimator, selection=False
    )
    assert again.names == fit.names and again.selection is None
    assert np.allclose(again.parameters, fit.parameters, rtol=1e-9, atol=1e-9)


def test_a_file_pins_the_same(arm: da.Arm, fit: da.Identification, saved: Path) -> None:
    again = da.identify(arm, simulated(arm), **da.read_fit(saved).options(arm))
    assert again.names == fit.names
    assert np.allclose(again.parameters, fit.parameters, rtol=1e-9, atol=1e-9)


FULL: dict[str, Any] = {
    "friction": {1: ("viscous",), 2: ("viscous", "coulomb")}, "two_sided": [2], "offset": [1],
    "coupling": [(1, 2, -1.0)], "terms": {1: {"tanh": [{"width": 0.1}]}, 2: {"spring": [{"rest": 0.2}]}},
}  # fmt: skip


def test_a_file_pins_every_law(arm: da.Arm, tmp_path: Path) -> None:
    log = simulated(arm)
    fit = da.identify(arm, log, **FULL, cutoff=6.0, method="ordinary", selection=False)
    fit.save(tmp_path / "fit.json")
    again = da.identify(arm, log, **da.read_fit(tmp_path / "fit.json").options(arm))
    assert again.names == fit.names and again.method == "ordinary"
    assert np.allclose(again.parameters, fit.parameters, rtol=1e-9, atol=1e-9)


def test_a_file_pins_a_prior_that_was_chosen(arm: da.Arm, fit: da.Identification) -> None:
    record = fit.record
    chosen = {"method": "weighted", "physical": True, "prior": True, "prior_deviation": 0.3, "prior_kind": None}
    options = replace(record, selection={**record.selection, "estimator": chosen}).options(arm)  # type: ignore[dict-item]
    assert options["estimator"].prior is arm and options["estimator"].prior_deviation == 0.3


def test_the_file_holds_all_that_was_tried(selection: Selection, saved: Path) -> None:
    held = da.read_fit(saved).selection
    assert held == json.loads(json.dumps(selection.as_json()))
    assert held["sentences"] == list(selection.sentences) and len(held["trials"]) == len(selection.trials)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("selection", 5, "selection: a table of named values was expected, not 5"),
        ("chosen", ["weather"], "chosen is 'weather'; it must be one of"),
        ("sentences", "one", "sentences is"),
        ("error", "small", "error is 'small'; it must be a finite number"),
        ("structure", [], "structure is"),
        ("estimator", {"method": "weighted", "prior": True, "prior_deviation": -1}, "prior_deviation is -1"),
        ("trials", [{"choice": "cutoff"}], "'joint' is missing"),
        ("trials", [5], "trials is"),
    ],
)
def test_a_selection_that_is_none_is_refused(saved: Path, tmp_path: Path, key: str, value: Any, words: str) -> None:
    whole = json.loads(saved.read_text())
    whole["selection"] = value if key == "selection" else {**whole["selection"], key: value}
    (tmp_path / "bad.json").write_text(json.dumps(whole))
    with pytest.raises(da.DalembertError, match=words):
        da.read_fit(tmp_path / "bad.json")


def test_a_file_without_a_selection_is_read(saved: Path, tmp_path: Path) -> None:
    whole = json.loads(saved.read_text())
    del whole["selection"]
    (tmp_path / "older.json").write_text(json.dumps(whole))
    assert da.read_fit(tmp_path / "older.json").selection is None


def test_every_joint_has_a_picture_of_the_gains_of_its_laws(selection: Selection) -> None:
    panels = gain_panels(selection)
    assert len(panels) == len(selection.structure) == selection_section(selection).count("<svg")
    for panel, joint in zip(panels, selection.structure, strict=True):
        (axes,) = alone(panel).axes
        trials = laws_at(selection, joint)
        labels = axes.get_yticklabels()
        assert [label.get_text() for label in labels] == [_label(trial) for trial in trials]
        assert [label.get_color() != INK for label in labels] == [trial.chosen for trial in trials]
        assert all(len(label.get_text()) < 40 for label in labels)


@pytest.mark.parametrize(
    ("choice", "option", "words"),
    [
        ("coupling", "a drive shared by 'a' and 'b', ratio -1", "shared drive, ratio −1"),
        ("spring", "a gas spring, lever ratio 0.8 : 1, shortest at 3.9 rad", "gas spring, shortest at 3.9 rad"),
        ("friction", "load-dependent friction", "load-dependent"),
        ("offset", "an offset", "offset"),
    ],
)
def test_a_picture_names_laws_in_few_words(choice: str, option: str, words: str) -> None:
    assert _label(Trial(choice, "a", option, 0.1, 0.0, 0.0, 1, False)) == words


def test_the_report_has_reasons_and_a_table(selection: Selection) -> None:
    page = selection_section(selection)
    ElementTree.fromstring(f"<main>{page}</main>".replace("class=start", 'class="start"'))
    shown, folded = ranked(selection)
    assert sorted(map(repr, (*shown, *folded))) == sorted(map(repr, selection.trials))  # each once
    assert all(trial in shown for trial in selection.trials if trial.chosen)
    for joint in selection.structure:
        assert sum(not trial.chosen for trial in shown if trial.joint == joint) <= BEST
        assert sum(trial.joint == joint for trial in selection.trials) == len(laws_at(selection, joint))
    assert page.count("<b>chosen</b>") == sum(trial.chosen for trial in selection.trials)
    assert ("<details>" in page) == bool(folded)


def test_a_notebook_shows_the_reasons(fit: da.Identification, selection: Selection) -> None:
    shown = fit._repr_html_()
    assert all(sentence.split("%")[0] in shown for sentence in selection.sentences)


def test_the_terminal_prints_the_reasons_and_how_to_repeat_them(arm: da.Arm, tmp_path: Path) -> None:
    log = simulated(arm)
    np.savez(tmp_path / "run.npz", **log)
    arm.save(tmp_path / "arm.toml")
    words = ["identify", str(tmp_path / "arm.toml"), str(tmp_path / "run.npz"), "--json", str(tmp_path / "fit.json")]
    first = CliRunner().invoke(app, words)
    assert first.exit_code == 0, first.output
    assert first.output.index("Model selection") < first.output.index("Base parameters")
    assert f"--like {tmp_path / 'fit.json'}" in first.output
    held = json.loads((tmp_path / "fit.json").read_text())
    assert all(f"- {sentence}"[:60] in first.output for sentence in held["selection"]["sentences"])
    again = CliRunner().invoke(app, [*words[:3], "--like", words[4], "--json", str(tmp_path / "again.json")])
    assert again.exit_code == 0, again.output
    assert "Model selection" not in again.output
    repeated = json.loads((tmp_path / "again.json").read_text())
    assert repeated["names"] == held["names"] and np.allclose(repeated["parameters"], held["parameters"], rtol=1e-9)
    for option in (["--cutoff", "3"], ["--no-offset"], ["--term", "2:spring"], ["--consistent"]):
        twice = CliRunner().invoke(app, [*words[:3], "--like", words[4], *option])
        name = option[0].replace("--no-", "--")
        assert twice.exit_code != 0 and f"{name} and --like" in f"{twice.output}{twice.exception}"


def test_all_choices_have_words(selection: Selection) -> None:
    assert set(selection.chosen) == set(CHOICES)


def test_an_estimator_that_was_not_solved_is_shown_without_numbers(selection: Selection) -> None:
    unsolved = Trial("estimator", "", "robust least squares: not solved", np.inf, -np.inf, 0.0, 0, False)
    shown = replace(selection, trials=(*selection.trials, unsolved))
    page = selection_section(shown)
    assert "not solved" in page and "inf" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    assert "inf" not in " ".join(shown.sentences)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"prior": "kr300"}, "prior is 'kr300'; it must be an arm"),
        ({"prior_deviation": 0.3}, "prior_deviation needs a prior, and none is given"),
        ({"prior_kind": "entropic"}, "prior_kind needs a prior"),
        ({"edge": -1.0}, "edge is -1"),
        ({"lag": 5.0}, "lag is 5.0; it must be a number, in seconds"),
        ({"lag": "late"}, "lag is 'late'"),
    ],
)
def test_wrong_options_are_refused_before_a_log_is_read(arm: da.Arm, option: dict[str, Any], words: str) -> None:
    with pytest.raises(da.DalembertError, match=re.escape(words)):
        da.identify(arm, "no such file.csv", **option)
