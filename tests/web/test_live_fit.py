"""The live section of an identification's report: its errors, curves and refits are those of NumPy."""

from __future__ import annotations

import json
import subprocess
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from compilers import compiler
from dalembert.identification.result import Identification, PredictedRun, make_run
from dalembert.report.fit_data import fit_data, kind_name
from dalembert.report.identification import identification_html
from dalembert.report.live_section import live_section
from dalembert.web import bundle

JS = Path(bundle.__file__).with_name("js")
HOSTILE = '</script><img src=x onerror="document.title=1"><b>&'
Open = Callable[..., Any]


def swing(arm: da.Arm, seed: int, duration: float = 20.0, rests: bool = False) -> dict[str, Any]:
    """A motion with viscous and Coulomb friction, an offset and noise; with ``rests`` the arm stops now and then."""
    rng, t = np.random.default_rng(seed), np.arange(0, duration, 0.005)
    clock = t - np.sin(0.4 * np.pi * t) / (0.4 * np.pi) if rests else t
    q, qd, qdd = da.fourier(rng.uniform(-0.3, 0.3, (2, arm.n, 3)).tolist(), 0.2, duration=duration)(clock)
    if rests:
        rate = (1 - np.cos(0.4 * np.pi * t))[:, None]
        slope = 0.4 * np.pi * np.sin(0.4 * np.pi * t)[:, None]
        qd, qdd = rate * qd, rate**2 * qdd + slope * qd
    tau = arm.inverse_dynamics(q, qd, qdd) + 60.0 * np.tanh(qd / 0.01) + 30.0 * qd + 15.0
    return {"t": t, "q": q, "qd": qd, "tau": tau + 5.0 * rng.normal(size=q.shape)}


@pytest.fixture(scope="module")
def fits() -> dict[str, Identification]:
    arm = da.load("planar-2r")
    loaded = arm.replace(payload=da.Inertia(50.0))
    plain: dict[str, Any] = {"validate": [swing(arm, 2)], "lag": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "plain": da.identify(arm, swing(arm, 1), selection=False, **plain),
            "rests": da.identify(arm, swing(arm, 1, rests=True), selection=False, **plain),
            "chosen": da.identify(arm, swing(arm, 1), **plain),
            "physical": da.identify(arm, swing(arm, 1), physical=True, selection=False, **plain),
            "robust": da.identify(arm, swing(arm, 1), method="robust", selection=False, **plain),
            "energy": da.identify(arm, swing(arm, 1, 60.0), method="energy", selection=False, **plain),
            "total": da.identify(
                arm, swing(arm, 1), method="total", loaded=swing(loaded, 3), payload=50.0, selection=False, **plain
            ),
            "ripple": da.identify(arm, swing(arm, 1), selection=False, terms={"harmonic": {"order": 3.0}}, **plain),
        }


def dry_columns(fit: Identification, joint: int = 0) -> list[int]:
    """The base parameters of the Coulomb friction of a joint, in whatever shape the fit has it."""
    members = [fit.base.parameters.members[k] for k in fit.base.independent]
    return [k for k, x in enumerate(members) if x.joint == joint and "Coulomb friction" in kind_name(x)]


def judged(fit: Identification, values: np.ndarray, run: PredictedRun | None = None) -> PredictedRun:
    """The run as the library predicts it with other parameters."""
    run = fit.run if run is None else run
    return make_run(fit.base, values, run.conditioned, fit.gains, run.held)


def refitted(fit: Identification, off: list[int]) -> np.ndarray:
    """Least squares over the low-passed rows of the run itself, with the weights of a weighted fit."""
    ready = fit.run.conditioned
    Y = ready.thinned(lambda piece: fit.base.regressor(*piece.states, piece.temperature))
    weights = np.where(np.abs(ready.qd) >= 0.01 * np.abs(ready.qd).max(axis=0), 1.0, 0.1) * fit.solved.weights
    free = [k for k in range(fit.base.rank) if k not in off]
    A, y = (weights[..., None] * Y[..., free]).reshape(-1, len(free)), (weights * fit.run.measured).reshape(-1)
    values = np.zeros(fit.base.rank)
    values[free] = np.linalg.lstsq(A, y, rcond=None)[0]
    return values


def in_node(fit: Identification, off: list[int], again: bool) -> dict[str, Any]:
    """What the modules of the page make of a fit with some columns off."""
    header, arrays = fit_data(fit)
    code = f"""
    import {{ readFit }} from "{JS.as_uri()}/fit_data.js";
    import {{ fitAgain, fitErrors, fitResidual, fitWithout }} from "{JS.as_uri()}/fit_algebra.js";
    import {{ readFileSync }} from "node:fs";
    const {{ header, arrays, off, again }} = JSON.parse(readFileSync(0, "utf8"));
    const fit = await readFit(header, arrays);
    const change = (again ? fitAgain : fitWithout)(fit, (k) => off.includes(k));
    const runs = fit.runs.map((run) => ({{
      ...fitErrors(run, change), t: [...run.t], left: run.joints.map((joint) => [...fitResidual(joint, change)]),
    }}));
    console.log(JSON.stringify({{ change: [...change], runs }}));
    """
    given = {"header": bundle.packed(header), "arrays": bundle.encoded(arrays), "off": off, "again": again}
    command = [compiler("node"), "--input-type=module", "-e", code]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


KINDS = ["plain", "rests", "chosen", "physical", "robust", "energy", "total", "ripple"]


@pytest.mark.parametrize("kind", KINDS)
def test_with_all_terms_the_errors_are_those_of_the_fit(kind: str, fits: dict[str, Identification]) -> None:
    fit = fits[kind]
    assert fit.run.resting.any() == (kind == "rests")
    computed = in_node(fit, [], again=False)
    for run, told in zip([fit.run, *fit.validation], computed["runs"], strict=True):
        assert abs(told["all"] - run.relative_error) < 1e-9
        assert np.abs(np.array(told["joints"]) - run.joint_errors).max() < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_a_term_that_is_off_changes_errors_and_curves_as_in_the_library(
    kind: str, fits: dict[str, Identification]
) -> None:
    fit = fits[kind]
    off = dry_columns(fit)
    assert off
    for again in (False, True):
        computed = in_node(fit, off, again)
        values = fit.parameters + computed["change"]
        assert np.all(values[off] == 0.0)
        for run, told in zip([fit.run, *fit.validation], computed["runs"], strict=True):
            expected = judged(fit, values, run)
            assert abs(told["all"] - expected.relative_error) < 1e-9
            rows = np.searchsorted(run.t, np.array(told["t"]) - 1e-9)
            size = np.abs(run.measured).max(axis=0)
            assert np.all(np.abs(np.array(told["left"]).T - expected.residual[rows]) < 2e-3 * size)
        assert again or np.all(computed["change"] == np.where(np.isin(range(fit.base.rank), off), -fit.parameters, 0))


def test_a_refit_is_weighted_least_squares_without_the_columns(fits: dict[str, Identification]) -> None:
    fit = fits["plain"]
    for off in ([], dry_columns(fit), [*dry_columns(fit), *dry_columns(fit, 1)]):
        expected = refitted(fit, off)
        computed = in_node(fit, off, again=True)
        assert np.abs(fit.parameters + computed["change"] - expected).max() < 1e-9 * np.abs(expected).max()
        assert abs(computed["runs"][0]["all"] - judged(fit, expected).relative_error) < 1e-9
    assert np.abs(in_node(fit, [], again=True)["change"]).max() < 1e-9


def test_every_term_is_a_switch_of_its_own(fits: dict[str, Identification]) -> None:
    header, _ = fit_data(fits["ripple"])
    kinds = {(header["kinds"][x["kind"]], x["owner"]) for x in header["columns"]}
    friction = {"Viscous friction", "Coulomb friction", "Torque offset", "Torque ripple of order 3"}
    assert {(kind, joint) for kind in friction for joint in (0, 1)} <= kinds


def test_the_section_says_how_the_refit_differs(fits: dict[str, Identification]) -> None:
    same = "with all terms on it gives the same parameters"
    for kind in ("plain", "robust", "energy"):
        assert same in live_section(fits[kind])[0]
        assert np.abs(in_node(fits[kind], [], again=True)["change"] / fits[kind].std).max() < 1e-9
    words = live_section(fits["physical"])[0]
    assert same not in words and "unconstrained" in words and "constrained to physically consistent links" in words
    assert live_section(replace(fits["plain"], solved=None)) == ("", None)


# -- in a browser --------------------------------------------------------------------------------


@pytest.fixture
def report(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """``report(fit, **context)``: the report of a fit, its section ready. Errors and requests in it fail the test."""
    contexts, trouble = [], []

    def open_report(fit: Identification, **context: Any) -> Any:
        path = tmp_path / f"{len(contexts)}.html"
        path.write_text(identification_html(fit), encoding="utf-8")
        contexts.append(browser.new_context(**context))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: trouble.append(request.url) if "http" in request.url[:5] else None)
        page.goto(path.as_uri())
        if context.get("java_script_enabled", True):
            page.wait_for_selector(".fit-switches", timeout=15_000)
        return page

    yield open_report
    for each in contexts:
        each.close()
    assert not trouble


def shown_errors(page: Any) -> np.ndarray:
    """(runs, 1 + n) of the table."""
    rows = page.locator(".fit-errors tbody tr")
    return np.array([
        [float(x.get_attribute("value")) for x in rows.nth(r).locator("data").all()] for r in range(rows.count())
    ])  # fmt: skip


def expected_errors(fit: Identification, values: np.ndarray) -> np.ndarray:
    runs = [judged(fit, values, run) for run in (fit.run, *fit.validation)]
    return np.array([[run.relative_error, *run.joint_errors] for run in runs])


@pytest.mark.parametrize("kind", ["plain", "chosen"])
def test_switches_change_the_errors_of_the_page(kind: str, fits: dict[str, Identification], report: Open) -> None:
    fit = fits[kind]
    page = report(fit)
    assert np.abs(shown_errors(page) - expected_errors(fit, fit.parameters)).max() < 1e-9
    assert f"{100 * fit.relative_error:.2f} %" in page.locator(".fit-summary").inner_text()
    off = dry_columns(fit)
    members = [fit.base.parameters.members[k] for k in fit.base.independent]
    (title,) = {kind_name(members[k]) for k in off}
    curve = page.locator("path.fit-residual")
    before = curve.get_attribute("d")
    page.get_by_label(f"{title} of {fit.before.joint_names[0]}", exact=True).uncheck()
    values = np.where(np.isin(range(fit.base.rank), off), 0.0, fit.parameters)
    assert np.abs(shown_errors(page) - expected_errors(fit, values)).max() < 1e-9
    assert curve.get_attribute("d") != before
    assert "1 term is off" in page.locator(".fit-summary").inner_text()
    page.get_by_label("Refit the other parameters").check()
    change = in_node(fit, off, again=True)["change"]
    assert np.abs(shown_errors(page) - expected_errors(fit, fit.parameters + change)).max() < 1e-9
    page.get_by_role("button", name="All terms on").click()
    page.get_by_label("Keep the other parameters").check()
    assert np.abs(shown_errors(page) - expected_errors(fit, fit.parameters)).max() < 1e-9
    assert curve.get_attribute("d") == before


def test_a_row_turns_all_joints_and_a_switch_shows_its_joint(fits: dict[str, Identification], report: Open) -> None:
    fit = fits["plain"]
    page = report(fit)
    row = page.get_by_label("Viscous friction, all joints", exact=True)
    page.get_by_label(f"Viscous friction of {fit.before.joint_names[1]}", exact=True).press("Space")
    assert row.evaluate("(box) => box.indeterminate") and not row.is_checked()
    assert page.get_by_label("Joint shown").input_value() == "1"
    row.check()
    row.uncheck()
    assert "2 terms are off" in page.locator(".fit-summary").inner_text()
    page.get_by_label("Run shown").select_option("1")
    assert "error" in page.locator("figcaption").last.inner_text()


def test_hostile_joint_names_are_text(report: Open) -> None:
    arm = da.load("pendulum")
    (joint,) = arm.robot.joints
    arm = arm.replace(joints=(replace(joint, name=HOSTILE),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = da.identify(arm, swing(arm, 1), selection=False, cutoff=5.0)
    page = report(fit)
    heads = page.locator(".fit-switches thead th").all_inner_texts()
    assert heads[1] == HOSTILE and page.locator("#fit-live img").count() == 0
    assert page.get_by_label(f"Coulomb friction of {HOSTILE}", exact=True).count() == 1


def test_the_report_runs_its_own_script_alone(fits: dict[str, Identification], browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "changed.html"
    alien = "<script>window.alien = 1</script><img src=x onerror='window.alien = 2'></body>"
    path.write_text(identification_html(fits["plain"]).replace("</body>", alien), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector(".fit-switches")
    assert page.evaluate("window.alien") is None
    assert page.evaluate("getComputedStyle(document.querySelector('.key i')).backgroundColor") != "rgba(0, 0, 0, 0)"
    page.close()


def test_without_scripts_the_rest_of_the_report_stands(fits: dict[str, Identification], report: Open) -> None:
    page = report(fits["plain"], java_script_enabled=False)
    assert "needs scripts" in page.locator("noscript").inner_text()
    assert page.locator("figure svg").count() > 8


@pytest.mark.parametrize("width", [360, 1280])
def test_the_section_fits_its_screen(width: int, fits: dict[str, Identification], report: Open) -> None:
    page = report(fits["plain"], viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert all(box.bounding_box()["height"] >= 32 for box in page.locator(".fit-switches td label").all())


def test_the_section_is_small(fits: dict[str, Identification]) -> None:
    """A two-joint arm with two runs of 20 s; a seven-joint one takes about 300 kB."""
    _, program = live_section(fits["plain"])
    assert program is not None and len(program.elements) < 120_000
