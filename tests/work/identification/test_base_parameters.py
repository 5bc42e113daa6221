"""What can be identified: base parameters by numbers and by letters, and logs of any length."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from arms import CLOSED, COUPLED, REFERENCE, REGISTRY, SHIPPED, arm, random_robot, relative, states
from dalembert.errors import DalembertError, ShapeError
from dalembert.work.analysis.base_formulas import symbolic_base_parameters
from dalembert.work.identification.fitting.base_parameters import BaseParameters, base_parameters
from dalembert.work.identification.fitting.evidence import Evidence, LogEquations, RestWeights
from dalembert.work.identification.fitting.least_squares import solve
from dalembert.work.identification.fitting.parameter_set import ExtraColumn, ParameterSet
from dalembert.work.logs import conditioning
from dalembert.work.logs.conditioning import Conditioned, Stretch
from dalembert.work.logs.log import Log
from test_cli import mistake, run

INERTIAL = {"friction": (), "rotor": False}
EIGHT = ["m_1", "mx_1", "Izz_1", "Im_1", "m_2", "mx_2", "Izz_2", "Im_2"]  # π of S (7.83)
BODY = {"mass": 1.0, "com": (0.1, 0.2, 0.1), "inertia": np.eye(3).tolist()}
ROUNDED = ["gen3_7dof.urdf"]  # right angles as 1.5708


def reference(name: str) -> Any:
    if not REFERENCE.exists():
        pytest.skip("../shared/data is not here")
    return json.loads((REFERENCE / name).read_text())


def agree(parameters: ParameterSet, lengths: str) -> None:
    """The exact base parameters are those that random states show."""
    exact, numerical = symbolic_base_parameters(parameters, lengths), base_parameters(parameters)
    assert exact.independent == numerical.independent
    assert exact.at_lengths == exact.rank == numerical.rank
    if parameters.arm.name in [arm(name).name for name in ROUNDED]:
        assert relative(exact.K, numerical.K) < 1e-4
        return
    assert exact.zero == numerical.zero
    assert exact.dependent == numerical.dependent
    assert relative(exact.K, numerical.K) < 1e-8
    low, high = numerical.margin
    assert low > 10 * numerical.tolerance > 1e8 * high  # no doubt about the rank


# -- known counts ------------------------------------------------------------------------------------------------


def test_problem_7_4() -> None:
    """Footnote 6 of S: the eight parameters of (7.83) come down to five, linear combinations of them."""
    a = da.load("planar-2r")
    eight = ParameterSet(a, only=EIGHT)
    assert base_parameters(eight).rank == 5
    found = symbolic_base_parameters(eight)
    assert found.formulas == (
        "Î_1zz − a_1² (m_1 + m_2) + k_r1² I_m1",
        "m_1ℓ_C1x + a_1 (m_1 + m_2)",
        "Î_2zz − a_2² m_2",
        "m_2ℓ_C2x + a_2 m_2",
        "I_m2",
    )
    assert found.latex[0] == r"\hat{I}_{1zz} - a_1^{2} (m_1 + m_2) + k_{r1}^{2} I_{m_1}"
    assert str(found.expressions[1]) == "a_1*m_1 + a_1*m_2 + ml_1x"
    # in the letters of (7.82): what multiplies ϑ̈_1 alone, g c_1, ϑ̈_1 + ϑ̈_2, g c_12
    assert found.K @ eight.values == pytest.approx([10 + 50 * 0.25 + 0.01 + 100 - 105, 80, 22.5 - 50, 25, 0.01])
    # all links of the plane: m ℓ_y is felt too. Without gravity in the plane the first link has one parameter
    assert a.base_parameters(**INERTIAL).rank == 6
    assert a.replace(gravity=(0.0, 0.0, -9.81)).base_parameters(**INERTIAL).rank == 4
    # I_m2 is felt by itself through its coupling k_r2 with joint 1
    assert a.base_parameters(friction=()).names[-1] == "Im_2"


@pytest.mark.parametrize(
    ("name", "inertial", "with_rotors"),
    [("panda", 43, 48), ("iiwa14", 43, 48), ("puma560", 36, 40), ("ur10", 36, 40), ("ur5e", 36, 40), ("stanford", 33, 37)],
)  # fmt: skip
def test_counts(name: str, inertial: int, with_rotors: int) -> None:
    assert base_parameters(ParameterSet(arm(name), **INERTIAL)).rank == inertial
    assert base_parameters(ParameterSet(arm(name), friction=())).rank == with_rotors


def test_right_angles_rounded_in_the_file() -> None:
    assert base_parameters(ParameterSet(arm("gen3_7dof.urdf"), **INERTIAL)).rank == 43


def test_wam_98_to_69() -> None:
    told = reference("wam7_sousa.json")
    angles = {"-pi/2": -np.pi / 2, "pi/2": np.pi / 2}
    rows = [{"alpha": angles.get(alpha, 0.0), "a": a, "d": d, **BODY} for alpha, a, d, _ in told["dh"]["rows"]]
    a = da.from_dh(rows)
    all_of_them = ParameterSet(a, offset=True)
    assert all_of_them.size == told["n_standard"] == 98
    found = base_parameters(all_of_them)
    assert found.rank == told["n_base"] == len(told["base_parameters"]) == 69
    assert symbolic_base_parameters(all_of_them).rank == 69
    agree(all_of_them, "symbols")


def test_panda_table_of_gaz() -> None:
    """Their table III, term by term: Khalil's choice, frames of modified DH."""
    told = reference("panda_gaz2019.json")
    rows = [{"alpha": alpha, "a": a, "d": d, **BODY} for alpha, a, d in told["mdh"]["rows"]]
    chosen = ParameterSet(da.from_dh(rows, convention="modified"), **INERTIAL)
    found = symbolic_base_parameters(chosen, "numbers")
    ours = {name: dict(zip(chosen.names, row, strict=True)) for name, row in zip(found.names, found.K, strict=True)}
    printed = [entry["coef"] for entry in told["base_parameters_table_III"] if entry["coef"][0] != "f"]
    assert len(printed) == found.rank == 43
    different = set()
    for text in printed:
        theirs = terms_of(text)
        (mine,) = (name for name in ours if theirs.get(name) == 1.0)
        if any(abs(x - theirs.get(name, 0.0)) > 2e-4 for name, x in ours[mine].items()):
            different.add(mine)
    assert different == {"Ixx_2"}  # misprinted there: m_3 stands in it twice


def terms_of(text: str) -> dict[str, float]:
    """'J2xx-J2yy + 0.1067(m3 +m4) + 0.632c3z m3' as parameters with factors."""
    out: dict[str, float] = {}
    text = re.sub(r"Jxz4", "J4xz", text).replace(" ", "")
    for sign, size, bracket, one in re.findall(
        r"([+-]?)(\d*\.?\d*)(?:\(([^)]*)\)|(J\d[xyz]{2}|c\d[xyz]m\d|m\d))", text
    ):
        factor = float(size or 1) * (-1 if sign == "-" else 1)
        for word in bracket.split("+") if bracket else [one]:
            if word[0] == "J":
                name = f"I{word[2:]}_{word[1]}"
            else:
                name = f"m{word[2]}_{word[1]}" if word[0] == "c" else f"m_{word[1]}"
            out[name] = out.get(name, 0.0) + factor
    return out


# -- numbers and letters agree -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REGISTRY)
def test_base_parameters_give_the_torque(name: str) -> None:
    a = arm(name)
    found = base_parameters(ParameterSet(a, two_sided=True), tolerance=1e-9)
    x = states(a, 20, 3)
    assert relative(found.regressor(*x) @ found.values, a.inverse_dynamics(*x)) < 1e-9
    assert np.linalg.matrix_rank(found.regressor(*states(a, 200, 4)).reshape(-1, found.rank)) == found.rank


@pytest.mark.parametrize("name", [*SHIPPED, *ROUNDED, "tx40.urdf"])
def test_letters_agree_with_numbers(name: str) -> None:
    agree(ParameterSet(arm(name)), "symbols")


@pytest.mark.parametrize("name", [name for name in REGISTRY if name not in (*COUPLED, *CLOSED)])
def test_exact_numbers_agree(name: str) -> None:
    agree(ParameterSet(arm(name), two_sided=True, offset=True, terms=()), "numbers")
    agree(ParameterSet(arm(name), **INERTIAL, terms=()), "numbers")


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 7), st.booleans(), st.booleans(), st.booleans())
def test_random_trees_agree(seed: int, n: int, tree: bool, rotor: bool, offset: bool) -> None:
    a = da.Arm(random_robot(np.random.default_rng(seed), n, tree))
    chosen = ParameterSet(a, friction=(), rotor=rotor, offset=offset)
    exact, numerical = symbolic_base_parameters(chosen, "numbers"), base_parameters(chosen, tolerance=1e-8)
    assert exact.rank == numerical.rank
    # the same space: every row of one is made of rows of the other
    there = np.linalg.lstsq(numerical.K.T, exact.K.T, rcond=None)[0]
    assert relative(numerical.K.T @ there, exact.K.T) < 1e-6


@cache
def six_joints(seed: int, twist: float = np.pi / 2) -> da.Arm:
    """An arm of a fixed kind whose lengths depend on the seed."""
    a, d = np.random.default_rng(seed).uniform(0.1, 0.9, (2, 4))
    kinds = [(a[0], twist, d[0]), (a[1], 0.0, 0.0), (a[2], -np.pi / 2, d[2]), (0.0, np.pi / 2, d[3])]
    return da.from_dh([{"a": x, "alpha": y, "d": z, **BODY} for x, y, z in kinds])


@pytest.mark.parametrize("twist", [np.pi / 2, np.pi / 4, 0.7])
def test_one_formula_for_all_lengths(twist: float) -> None:
    """Formulas found with one arm's letters hold for another arm with other lengths."""
    formulas = symbolic_base_parameters(ParameterSet(six_joints(0, twist), **INERTIAL))
    for seed in (1, 2):
        other = ParameterSet(six_joints(seed, twist), **INERTIAL)
        letters = symbolic_base_parameters(other).field.letters
        K = formulas.K_at({one.name: one.value for one in letters})
        assert relative(K, base_parameters(other).K) < 1e-10


def test_angles_in_letters() -> None:
    """A twist that is no special angle appears as its cosine and sine, which satisfy c² + s² = 1."""
    found = symbolic_base_parameters(ParameterSet(six_joints(0, 0.7), **INERTIAL))
    assert any("cos α_1" in formula for formula in found.formulas)
    values = {text: value for text, _, value in found.legend}
    assert values["cos α_1"] == pytest.approx(np.cos(0.7)) and values["sin α_1"] == pytest.approx(np.sin(0.7))
    numbers = {one.name: one.value or 0.0 for one in found._letters.values()}
    for row, expression in zip(found.K, found.expressions, strict=True):
        for k, name in enumerate(found.parameters.names):
            from dalembert.mechanics.symbols.names import parameter_letter

            here = expression.coeff(parameter_letter(name).name)
            assert float(here.subs(numbers)) == pytest.approx(row[k], abs=1e-12)


def test_special_lengths_are_told() -> None:
    """A slide that leads back by a_2 = a_1 puts axis 3 on axis 1; letters cannot know that, but the count says so."""
    slide = {"type": "prismatic", "theta": np.pi}

    def arm_with(a_2: float) -> ParameterSet:
        return ParameterSet(
            da.from_dh([{"a": 0.3, **BODY}, {"a": a_2, **slide, **BODY}, {"a": 0.1, **BODY}]), **INERTIAL
        )

    usual, special = symbolic_base_parameters(arm_with(0.2)), symbolic_base_parameters(arm_with(0.3))
    assert usual.at_lengths == usual.rank == special.rank == base_parameters(arm_with(0.2)).rank
    assert special.at_lengths == base_parameters(arm_with(0.3)).rank < special.rank
    assert special.formulas == usual.formulas


def test_offset_and_weight_on_a_vertical_slide() -> None:
    """m g and a constant torque are one to a first joint that lifts; I_m tells q̈'s share apart."""
    found = symbolic_base_parameters(ParameterSet(da.load("cartesian-2"), friction=(), offset=True))
    assert found.formulas[0].startswith("m_1") and "τ_0,1" in found.formulas[0]
    two_sided = ParameterSet(da.load("pendulum"), two_sided=True, offset=True)
    assert "τ_0,1" in base_parameters(two_sided).formulas[-1]


def test_mistakes() -> None:
    a = da.load("planar-2r")
    with pytest.raises(DalembertError, match="no friction 'stiction'"):
        ParameterSet(a, friction=["stiction"])
    with pytest.raises(DalembertError, match="add 'coulomb'"):
        ParameterSet(a, friction=(), two_sided=True)
    with pytest.raises(DalembertError, match="no parameter 'm_3'"):
        ParameterSet(a, only=["m_3"])
    with pytest.raises(DalembertError, match=r"known are m_1, mx_1, .*; did you mean 'mx_1'"):
        ParameterSet(a, only=["mcx_1"])
    with pytest.raises(DalembertError, match="lengths is 'letters'"):
        a.base_parameters("letters")
    with pytest.raises(DalembertError, match="multiples of 15°"):
        arm("random-chain").base_parameters("symbols")
    with pytest.raises(ShapeError, match=r"q has shape \(10, 3\), but arm 'planar-2r' has 2 joints"):
        ParameterSet(a).regressor(*np.zeros((3, 10, 3)))
    with pytest.raises(ShapeError, match=r"do not broadcast: q \(10, 2\), qd \(10, 2\), qdd \(9, 2\)"):
        ParameterSet(a).regressor(*np.zeros((2, 10, 2)), np.zeros((9, 2)))


# -- long logs ---------------------------------------------------------------------------------------------------


def gathered(
    chosen: ParameterSet, x: Sequence[np.ndarray], tau: np.ndarray, dead_zone: float | None = 0.0, cuts: Sequence[int] = ()
) -> tuple[BaseParameters, RestWeights, Evidence]:  # fmt: skip
    """The equations of a log as identification has them, but for the low-pass; ``cuts`` part it into runs."""
    t = np.arange(float(len(tau)))
    ends = [0, *cuts, len(tau)]
    pieces = tuple(Stretch(t, *x, tau).part(slice(i, j)) for i, j in pairwise(ends))
    ready = Conditioned(pieces, rate=1.0, cutoff=1.0, every=1, edge=0, log=Log(t, x[0], tau))
    base, rests = base_parameters(chosen), RestWeights.of(chosen.arm, ready, dead_zone)
    return base, rests, LogEquations(base.joint_columns, ready, rests).gathered(base.rank)


@pytest.mark.parametrize("name", ["planar-2r", "stanford", "panda", "random-tree"])
def test_accumulated_equals_stacked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditioning, "BLOCK", 97)
    a = arm(name)
    chosen = ParameterSet(a, two_sided=True, offset=True)
    x, rng = states(a, 250, 5), np.random.default_rng(6)
    tau = a.inverse_dynamics(*x) + rng.normal(size=(250, a.n))
    for dead_zone, w in (
        (0.0, np.ones(a.n)),
        (0.0, rng.uniform(0.5, 2.0, a.n)),
        (None, np.ones(a.n)),
        (0.5, np.ones(a.n)),
    ):
        base, rests, joints = gathered(chosen, x, tau, dead_zone)
        moving = np.abs(x[1]) >= rests.zone
        factor = w * np.where(moving, 1.0, rests.factor)
        assert moving.all() == (dead_zone == 0.0) and rests.factor == (0.1 if dead_zone is None else 0.0)
        Y = base.regressor(*x) * factor[..., None]
        for j, joint in enumerate(joints.joints):
            mine = Y[:, j, joint.columns] / w[j]
            assert joint.rows == moving[:, j].sum() and relative(joint.R.T @ joint.R, mine.T @ mine) < 1e-12
        whole = joints.together(w)
        Y, t = Y.reshape(-1, base.rank), (tau * factor).ravel()
        assert whole.rows == moving.sum() and whole.R.shape == (base.rank, base.rank)
        assert np.all(np.tril(whole.R, -1) == 0.0)
        assert relative(whole.R.T @ whole.R, Y.T @ Y) < 1e-12
        assert relative(whole.R.T @ whole.z, Y.T @ t) < 1e-12
        pi, rss, *_ = np.linalg.lstsq(Y, t, rcond=None)
        assert relative(solve(joints, w, np.zeros(base.rank), ()), pi) < 1e-8
        assert whole.rss == pytest.approx(rss[0])
        assert whole.squares(base.values) == pytest.approx(np.sum((Y @ base.values - t) ** 2))


def test_pieces_of_a_log_add_up() -> None:
    a = arm("puma560")
    chosen = ParameterSet(a)
    x, tau = states(a, 300, 7), np.random.default_rng(8).normal(size=(300, 6))
    for w in (np.ones(6), np.arange(1.0, 7.0)):
        whole, again = (gathered(chosen, x, tau, cuts=cuts)[2].together(w) for cuts in ((), (5, 120)))
        assert relative(again.R.T @ again.R, whole.R.T @ whole.R) < 1e-12
        assert relative(again.R.T @ again.z, whole.R.T @ whole.z) < 1e-12
        assert again.rss == pytest.approx(whole.rss) and again.rows == whole.rows == 1800


def test_joint_by_joint_from_the_last() -> None:
    """The sequential procedure of S 7.4: the last joint's equations hold the last link's parameters alone."""
    a = arm("puma560")
    chosen = ParameterSet(a, two_sided=True)
    x = states(a, 400, 9)
    base, _, joints = gathered(chosen, x, a.inverse_dynamics(*x))
    links = np.array([base.parameters.joints[c] for c in base.independent])
    assert set(links[joints.joints[5].columns]) == {5}
    for i, joint in enumerate(joints.joints):
        assert min(links[joint.columns]) == i
        assert joint.rows == 400 and joint.rss < 1e-16 * 400


def test_extra_columns() -> None:
    """A column that another brings: a Stribeck-like friction of joint 1 and a coupling of the two."""
    a = arm("planar-2r")

    def stribeck(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return np.stack([np.sign(qd[:, 0]) * np.exp(-(qd[:, 0] ** 2)), 0 * qd[:, 0]], axis=1)

    def coupling(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return qd[:, ::-1]

    extra = (ExtraColumn("stribeck", stribeck, 2.0), ExtraColumn("coupling", coupling, 0.3))
    chosen = ParameterSet(a, extra=extra)
    x = states(a, 200, 10)
    tau = chosen.regressor(*x) @ chosen.values
    assert relative(tau - a.inverse_dynamics(*x), 2.0 * stribeck(*x) + 0.3 * coupling(*x)) < 1e-9
    base = base_parameters(chosen)
    assert base.names[-2:] == ("stribeck", "coupling") and base.formulas[-1] == "coupling"
    joints = gathered(chosen, x, tau)[2]
    assert relative(solve(joints, np.ones(2), np.zeros(base.rank), ()), base.values) < 1e-12
    with pytest.raises(DalembertError, match="stribeck"):
        symbolic_base_parameters(chosen)


def test_memory_does_not_grow_with_the_log() -> None:
    a = arm("panda")
    chosen = ParameterSet(a)

    def peak(count: int) -> int:
        x = np.random.default_rng(0).uniform(-2, 2, (3, count, 7))
        gathered(chosen, x, np.zeros((count, 7)))
        tracemalloc.start()
        assert gathered(chosen, x, np.zeros((count, 7)))[2].rows.sum() == 7 * count
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    few, many = peak(4_000), peak(60_000)
    assert many < 1.5 * few  # with some arrays of the log itself
    assert many < 40e6  # the stacked regressor of 60,000 samples has 306 MB


# -- command line ------------------------------------------------------------------------------------------------


def test_command() -> None:
    shown = run("parameters", "planar-2r", "--symbols", "--nonzero", width=120).stdout
    assert "5 base parameters of 10; 3 are combined with others, 2 have no effect on the torques" in shown
    assert "Î_1zz − a_1² (m_1 + m_2) + k_r1² I_m1" in shown and "a_1 = 1" in shown
    assert "43 base parameters of 70" in run("parameters", "panda", "--inertial", width=160).stdout
    latex = run("parameters", "panda", "--symbols", "--latex", "--inertial").stdout
    assert latex.count("&=") == 43 and latex.startswith("\\begin{align*}")
    assert "69 base parameters of 98" in run("parameters", "panda", "--offset").stdout
    assert "choose one" in mistake("parameters", "panda", "--inertial", "--two-sided")
