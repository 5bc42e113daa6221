"""The motion after a fit: what it predicts is what the next fit finds, for the goal better than a motion for everything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from arms import arm
from dalembert.robot.terms import TERMS, GearLoss, LoadFriction, Viscous
from dalembert.views.cli.main import app
from dalembert.work.excitation import excitation
from dalembert.work.excitation.exciting_columns import LoadColumns, TermColumns
from dalembert.work.excitation.exciting_goals import aim_of, weights_of
from dalembert.work.excitation.exciting_limits import Limited, Planes, floor_of, planes_of
from dalembert.work.excitation.exciting_problem import ExcitationProblem, FourierShapes, criterion_gradient
from dalembert.work.identification.fitting.parameter_set import Drive, ParameterSet
from dalembert.work.identification.fitting.result import Identification
from planar_runs import planar

NOISE = np.array([20.0, 10.0])
CUTOFF = 4.0
BRIEF = {"duration": 10.0, "harmonics": 3, "starts": 1, "clearance": None}
FIRST = da.fourier(np.random.default_rng(0).normal(0, 0.25, (2, 2, 3)), 0.1, [0.5, 0.5], duration=10.0)


def log(motion: da.Trajectory, a: da.Arm, seed: int) -> dict[str, Any]:
    t = np.arange(0, motion.duration, 0.01)
    q, qd, qdd = motion(t)
    noise = NOISE * np.random.default_rng(seed).normal(size=q.shape)
    return {"t": t, "q": q, "qd": qd, "tau": a.inverse_dynamics(q, qd, qdd) + noise}


def identified(logs: Any, **options: Any) -> Identification:
    return da.identify(planar(), logs, cutoff=CUTOFF, selection=False, **options)


@pytest.fixture(autouse=True)
def brief_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rounds of a few steps: the motions here are small."""
    monkeypatch.setattr(excitation, "STEPS", 25)
    monkeypatch.setattr(excitation, "LAST", 1)


@pytest.fixture(scope="module")
def fit() -> Identification:
    return identified(log(FIRST, planar(), 0))


# -- gradients ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [2, 6])
def test_l_optimal_slope_equals_differences(rank: int) -> None:
    rng = np.random.default_rng(1)
    B, C, D = rng.normal(size=(9, 6)), rng.normal(size=(rank, 6)), rng.normal(size=(6, 6))
    A, D, M = B.T @ B, D + D.T, C.T @ C
    value, dA = criterion_gradient(A, "l-optimal", 1.0, M)
    assert value == pytest.approx(np.log(np.trace(C @ np.linalg.inv(A) @ C.T)))
    up, down = (criterion_gradient(A + h * D, "l-optimal", 1.0, M)[0] for h in (1e-6, -1e-6))
    assert np.sum(dA * D) == pytest.approx((up - down) / 2e-6, rel=1e-6)


def shaped(name: str) -> Any:
    """A term of this name with some shape."""
    kind = TERMS[name]
    numbers = {"a": 0.3, "b": 0.5, "order": 2.0, "speed": 0.4, "width": 0.3, "length": 0.7}
    known = {entry.name for entry in kind.numbers()} & numbers.keys()
    return kind.read({**dict.fromkeys(kind.linear(), 0.0), **{key: numbers[key] for key in known}})


@pytest.mark.parametrize("which", ["planar-2r", "parallelogram"])
@pytest.mark.parametrize("name", [x for x, kind in TERMS.items() if kind not in (Viscous, LoadFriction, GearLoss)])
def test_columns_of_every_term_have_their_slopes(name: str, which: str) -> None:
    """Also with sgn smoothed, at passive joints, and of shared drives."""
    a = arm(which)
    parameters = ParameterSet(
        a, two_sided=True, offset=True, terms=[(a.mechanism.tree.n - 1, shaped(name))] if name != "coulomb" else (),
        drives=[Drive(0, 1, 0.5)],
    )  # fmt: skip
    own = [(k, x) for k, x in enumerate(parameters.members) if x.source < 0 or (x.unit is not None and x.kind != "Fv")]
    columns = TermColumns(parameters, own, np.full(a.mechanism.tree.n, 0.2))
    rng = np.random.default_rng(2)
    state = [a.home + 0.2 * rng.uniform(-1, 1, (5, a.n)), *rng.uniform(-1, 1, (2, 5, a.n))]
    G = rng.normal(size=(5, a.n, parameters.size))

    def weighted(x: list[np.ndarray]) -> Any:
        return sum(((G[:, :, law.column] * law.row).sum(axis=1) * law.f for law in columns.laws(*x, smooth=True)), 0.0)

    slopes = columns.slopes(*state[:2], columns.laws(*state, smooth=True), G)
    for k, slope in enumerate(slopes):
        for j in range(a.n):
            up, down = ([x.copy() for x in state] for _ in range(2))
            up[k][:, j] += 1e-6
            down[k][:, j] -= 1e-6
            assert np.allclose(slope[:, j], (weighted(up) - weighted(down)) / 2e-6, rtol=1e-6, atol=1e-7)
    exact = parameters.regressor(*state)
    for law in columns.laws(*state, smooth=False):
        assert np.allclose(law.row * law.f[:, None], exact[:, :, law.column])


@pytest.mark.parametrize("goal", ["parameters", "payload", FIRST], ids=["parameters", "payload", "task"])
def test_gradient_through_the_motion_after_a_fit(goal: Any, fit: Identification) -> None:
    a, record = planar(), fit.record
    base = record.base(a)
    aim = aim_of(goal, a, base, record, 10.0)
    planes = planes_of([((0.3, 1.0, 0.1), -1.9), ((1.0, 0.0, 0.0), -1.95)])
    limits = Limited(a, 1.0, 0.05, None, planes)
    problem = ExcitationProblem(a, base, limits, FourierShapes(0.1, 3, 1), "l-optimal", weights_of(record), aim)
    rng = np.random.default_rng(0)
    x, d = rng.normal(0, 0.4, problem.size), rng.normal(size=problem.size)

    def whole(y: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope, state = problem.objective(y, 1.0)
        more, bent, pushed = problem.penalty(state, {}, 50.0)
        assert pushed["plane0"].any()
        return value + more, slope + bent

    slope = (whole(x + 1e-6 * d)[0] - whole(x - 1e-6 * d)[0]) / 2e-6
    assert np.sum(whole(x)[1] * d) == pytest.approx(slope, rel=1e-5)


def test_columns_of_a_load_are_what_a_payload_adds() -> None:
    a = arm("puma560")
    load = LoadColumns(a)
    assert len(load.names) == 10
    state = np.random.default_rng(0).uniform(-1, 1, (3, 4, 6))
    body = da.Inertia(2.0, (0.1, -0.2, 0.3), np.diag([0.03, 0.02, 0.04]).tolist())
    ten = [body.mass, *body.first_moments, *np.array(body.tensor_at_origin, float)[np.triu_indices(3)]]
    heavy = a.with_payload(body.mass, body.com, body.tensor)
    more = heavy.inverse_dynamics(*state) - a.inverse_dynamics(*state)
    assert np.allclose(load.columns(*state) @ np.array(ten, float), more)


# -- what is predicted is what happens -----------------------------------------------------------------


def test_predicted_std_is_that_of_the_next_fit_and_of_its_errors(fit: Identification) -> None:
    a = planar()
    motion = da.excite(a, after=fit, goal="friction", **BRIEF)
    table = motion.forecast
    assert table is not None and table.names[0] == "Fv_1" and len(table.names) == 6
    at = [fit.names.index(name) for name in table.names]
    assert np.allclose(table.before, fit.std[at]) and np.allclose(table.values, fit.parameters[at])
    fits = [identified([log(FIRST, a, 2 * k), log(motion.trajectory, a, 2 * k + 1)]) for k in range(6)]
    stds = np.array([x.std[at] for x in fits])
    errors = np.array([x.parameters[at] - x.base.values[at] for x in fits])
    assert np.allclose(table.after, stds.mean(axis=0), rtol=0.25)
    assert 0.7 < np.sqrt(np.mean((errors / table.after) ** 2)) < 1.3


@pytest.mark.parametrize("goal", ["friction:joint2", "payload:mass-com", FIRST], ids=["friction", "payload", "task"])
def test_a_motion_for_a_goal_is_better_at_it_than_one_for_everything(goal: Any, fit: Identification) -> None:
    a = planar()
    best, general = (da.excite(a, after=fit, goal=goal, criterion=c, **BRIEF) for c in (None, "d-optimal"))
    assert best.forecast is not None and general.forecast is not None
    assert best.value == best.forecast.value_after < general.forecast.value_after
    assert best.forecast.value_after < best.forecast.value_before
    assert best.trajectory.limits_report(a, torque=True) == []


def test_the_load_is_found_as_well_as_was_predicted_and_better_than_by_a_motion_for_everything(
    fit: Identification,
) -> None:
    a = planar()
    heavy = a.with_payload(5.0, (0.1, 0.05, 0.0))
    motion = da.excite(a, after=fit, goal="payload:mass-com", **BRIEF)
    assert motion.forecast is not None and motion.forecast.names == ("load m", "load mx", "load my")

    def loads(second: da.Trajectory) -> list[Any]:
        runs = [(log(FIRST, a, 2 * k), log(second, heavy, 2 * k + 1)) for k in range(2)]
        return [da.identify_payload(a, *run, cutoff=CUTOFF) for run in runs]

    planned, general = (loads(x) for x in (motion.trajectory, da.excite(a, criterion="d-optimal", **BRIEF).trajectory))
    stds = np.mean([load.std[:3] for load in planned], axis=0)
    # the fit's standard deviations come from blocks of a short log, the load's from a formula: they agree to a factor
    assert (np.abs(np.log(motion.forecast.after / stds)) < np.log(1.8)).all()
    assert np.sqrt(np.mean([(load.mass - 5.0) ** 2 for load in planned])) < 2.5 * motion.forecast.after[0]
    assert stds[0] < np.mean([load.mass_std for load in general])


def test_the_model_of_the_fit_is_excited(tmp_path: Path) -> None:
    """Terms that the arm has not, Coulomb friction of two sides, a shared drive: through the file, too."""
    a = planar(stribeck=(6.0, 0.1))
    model = {
        "two_sided": True, "coupling": [(1, 2)], "offset": False,
        "terms": {"joint2": {"stribeck": {"speed": 0.1}, "spring": {"rest": 0.2}, "harmonic": {"order": 3}}},
    }  # fmt: skip
    fit = da.identify(planar(), log(FIRST, a, 0), cutoff=CUTOFF, selection=False, **model)
    fit.save(tmp_path / "fit.json")
    motion = da.excite(planar(), after=tmp_path / "fit.json", goal="friction:2", **BRIEF)
    table = motion.forecast
    assert table is not None and motion.base.names == fit.names
    assert {"Fv_2", "Fs+_2", "Fs-_2", "Fst_2", "Fv_1_2", "Fs_1_2"} <= set(table.names) and "k_2" not in table.names
    assert np.allclose(table.before, fit.std[[fit.names.index(name) for name in table.names]], rtol=1e-4)
    assert (table.after < table.before).all()


def test_seconds_until_a_standard_deviation(fit: Identification) -> None:
    table = da.excite(planar(), after=fit, **BRIEF).forecast
    assert table is not None and len(table.names) == len(fit.names)
    assert table.seconds == pytest.approx(10.0 - 4.0 / CUTOFF)
    assert table.seconds_until("Fv_2", table.after[table.names.index("Fv_2")]) == pytest.approx(table.seconds, rel=1e-3)
    assert table.seconds_until("Fv_2", 2 * fit.std[fit.names.index("Fv_2")]) == 0.0
    assert table.seconds_until("Fv_2", 1e-9) == np.inf
    half = table.seconds_until("Fv_2", table.after[table.names.index("Fv_2")] / 2)
    assert 4 * table.seconds <= half < 8 * table.seconds  # what is known before counts once
    assert "Fv_2" in str(table) and table.lines[0].startswith("goal parameters")
    with pytest.raises(da.DalembertError, match="has no 'Fv_9'"):
        table.seconds_until("Fv_9", 1.0)


# -- planes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_motions_stay_clear_of_random_planes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = planar()
    planes = [(rng.normal(size=3), float(rng.uniform(-2.0, 0.3))) for _ in range(1 + seed % 3)]
    how = {"duration": 6.0, "harmonics": 2, "starts": 1, "clearance": 0.05, "planes": planes, "floor": bool(seed % 4)}
    try:
        motion = da.excite(a, seed=seed, **how).trajectory
    except da.DalembertError as problem:
        assert "plane " in str(problem) or "the floor" in str(problem)
        assert any(word in str(problem) for word in ("joint '", "link '", "the tip"))
        return
    given = [*planes_of(planes), *([floor_of(a)] if seed % 4 else [])]
    every = Planes(a, given, 0.05, motion(np.linspace(0, 6, 5001))[0])  # type: ignore[arg-type]
    distances = every.distances(motion(np.linspace(0, 6, 5001))[0])
    assert (distances[:, every.counted] >= 0.05).all()
    fixed = distances[:, : len(planes)][:, ~every.counted[: len(planes)]]
    assert (fixed >= -1e-9).all()
    assert motion.limits_report(a, torque=True) == []


def test_the_floor_is_a_plane_and_planes_bind() -> None:
    a = planar()
    floor, plane = (
        Limited(a, 1.0, 0.1, None, given, bool(k)).planes for k, given in enumerate([planes_of([((0, 5, 0), 0)]), ()])
    )
    q = np.random.default_rng(0).uniform(-1, 1, (5, 2))
    assert np.array_equal(floor.distances(q), plane.distances(q)) and np.array_equal(floor.counted, plane.counted)
    motion = da.excite(a, duration=8.0, harmonics=3, starts=1, planes=[((-1.0, 0.0, 0.0), -1.2)]).trajectory
    assert 1.1 >= np.asarray(a.pose(motion(np.linspace(0, 8, 2001))[0]))[:, 0, 3].max() > 1.0


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"goal": "friction"}, "give the fit"),
        ({"criterion": "l-optimal"}, "has no meaning without an earlier fit"),
        ({"after": ..., "criterion": "condition"}, "has no meaning after a fit; choose from d-optimal, l-optimal"),
        ({"after": ..., "noise": 1.0}, "are taken from the earlier fit"),
        ({"after": ..., "goal": "frictions"}, "there is no goal 'frictions'.*friction"),
        ({"after": ..., "goal": "parameters:m_1"}, "there is no goal 'parameters:m_1'"),
        ({"after": ..., "goal": "friction:joint9"}, "has no joint 'joint9'"),
        ({"after": ..., "goal": "payload:ten"}, "payload:mass-com"),
        ({"after": ..., "goal": "task:"}, "needs a motion file"),
        ({"after": ..., "goal": "task:nowhere.csv"}, "nowhere.csv"),
        ({"after": ..., "goal": 3}, "goal is 3"),
        ({"after": ..., "duration": 0.5}, "removes 0.5 s at each end"),
        ({"after": "nowhere.json"}, "nowhere.json"),
        ({"planes": [((0, 0, 0), 1)]}, "plane 1 is .* not all zero"),
        ({"planes": 3}, "planes is 3; it must be a list"),
        ({"planes": [(0, 0, 1)]}, "plane 1 is .* a pair"),
        ({"planes": [((1, 0, 0), 3.0)], "floor": False}, "joint 'joint1' of arm 'planar-2r' always lies 3 m behind plane 1"),
        ({"planes": [((0, 1, 0), -0.2)], "start": [-1.0, 0.0], "floor": False}, "start is not clear .* behind plane 1"),
    ],
)  # fmt: skip
def test_mistakes_about_goals_and_planes_are_one_sentence(how: Any, words: str, fit: Identification) -> None:
    given = {**how, "after": fit} if how.get("after") is ... else how
    with pytest.raises(da.DalembertError, match=words):
        da.excite(planar(), **given)


def test_what_the_fit_left_open_is_found_but_no_load_beside_it(fit: Identification) -> None:
    open_ = replace(fit.record, unidentified=("Izz_2",))
    load = da.excite(planar(), after=open_, goal="payload", **BRIEF)
    assert load.forecast is not None and load.forecast.names == ("load m", "load mx", "load my")
    assert any(
        "load Izz cannot be determined, because the earlier fit does not determine Izz_2" in note for note in load.notes
    )
    table = da.excite(planar(), after=open_, **BRIEF).forecast
    assert table is not None and np.isinf(table.before).sum() == 1 and np.isfinite(table.after).all()
    nothing = replace(fit.record, unidentified=("Izz_1", "mx_1", "my_1", "Izz_2", "mx_2", "my_2"))
    with pytest.raises(
        da.DalembertError, match=r"no motion can determine load m.*first plan a motion for the goal 'parameters'"
    ):
        da.excite(planar(), after=nothing, goal="payload", **BRIEF)


def test_friction_that_depends_on_the_load_is_excited_with_a_note() -> None:
    fit = da.identify(planar(), log(FIRST, planar(), 0), cutoff=CUTOFF, selection=False, terms={"joint2": "load"})
    motion = da.excite(planar(), after=fit, goal="friction:2", **BRIEF)
    assert any("treats the load as constant" in note for note in motion.notes)
    assert motion.forecast is not None and "mu_2" in motion.forecast.names
    assert (motion.forecast.after < motion.forecast.before).all()


def test_command_after_a_fit(tmp_path: Path, fit: Identification) -> None:
    robot, task, out = tmp_path / "arm.toml", tmp_path / "task.csv", tmp_path / "next.csv"
    planar().save(robot)
    FIRST.save(task)
    fit.save(tmp_path / "fit.json")
    arguments = [
        "excite", str(robot), "--after", str(tmp_path / "fit.json"), "--duration", "10", "--harmonics", "3", "--starts", "1",
        "--no-floor", "--plane", "1 0 0 -1.5", "-o", str(out), "--force",
    ]  # fmt: skip
    run = CliRunner().invoke(app, [*arguments, "--goal", "friction:joint2", "--until", "Fv_2=10%"])
    assert run.exit_code == 0, run.output
    assert "Goal friction:joint2" in run.output and "std before" in run.output and "of this motion" in run.output
    assert out.read_text().startswith("# goal friction:joint2: root mean square")
    assert da.read_trajectory(out).duration == 10.0
    run = CliRunner().invoke(app, [*arguments, "--goal", f"task:{task}"])
    assert run.exit_code == 0 and "torque of joint2" in run.output
    for wrong, words in (
        (["--goal", "speed"], "there is no goal 'speed'"),
        (["--plane", "0 0 1"], "--plane"),
        (["--until", "1%"], "NAME=STD"),
        (["--until", "Fv_9=0.1"], "has no 'Fv_9'"),
        (["--until", "Fv_2=-1"], "it must be above 0"),
        (["--goal", f"task:{out}"], "next.csv"),
    ):
        run = CliRunner().invoke(app, [*arguments, *wrong])
        assert run.exit_code == 2 and words in run.output.replace("\n", " "), run.output
