"""What inverse dynamics costs: growth as in M's Table 3, and no more than the best published models."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from arms import REGISTRY, on_floats, random_inertia, relative, states
from arms import arm as registered
from dalembert.compiler.graph.count import Operations
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.compiler.quantities.machine import written
from dalembert.mechanics.equations.regrouping import lean_links
from dalembert.robot import Friction, Inertia, Link
from dalembert.robot.readers.dh import Row, from_dh
from dalembert.views.cli import compare as command
from dalembert.views.report import price_figures
from dalembert.work.analysis import price
from dalembert.work.analysis import recursion_price as steps
from dalembert.work.analysis.price import (
    DEGREE,
    FORMULATIONS,
    MANY_JOINTS,
    TABLE_3,
    chain,
    compare,
    growth,
    nanoseconds,
    polynomial,
    table_3,
    value,
)
from test_cli import mistake, run

DOCS = Path(__file__).parents[3] / "docs"
Table = list[tuple[float, float, float]]  # modified DH: a, α in right angles, d


def bare(arm: da.Arm) -> da.Arm:
    """The links alone, as the published counts have them: no rotors, no friction."""
    joints = tuple(replace(joint, rotor=None, friction=Friction()) for joint in arm.robot.joints)
    return da.Arm(arm.robot.replace(joints=joints))


def all_parameters(arm: da.Arm) -> da.Arm:
    """The arm's geometry with bodies of which no parameter is zero."""
    rng = np.random.default_rng(0)
    return da.Arm(bare(arm).robot.replace(links=tuple(Link(x.name, random_inertia(rng)) for x in arm.robot.links)))


def modified_dh(table: Table, bodies: list[Inertia]) -> da.Arm:
    rows = [Row(a, k * math.pi / 2, d, inertia=body) for (a, k, d), body in zip(table, bodies, strict=True)]
    return da.Arm(from_dh(rows, "modified"))


def diagonal(mass: float, com: tuple[float, float, float], *moments: float) -> Inertia:
    return Inertia(mass, com, np.diag(moments).tolist())


# Armstrong, Khatib and Burdick 1986, Tables of link masses, centres of gravity and moments of inertia
ARMSTRONG: Table = [
    (0, 0, 0), (0, -1, 0.2435), (0.4318, 0, -0.0934), (-0.0203, 1, 0.4331), (0, -1, 0), (0, 1, 0),
]  # fmt: skip
ARMSTRONG_BODIES = [
    diagonal(0.0, (0, 0, 0), 0, 0, 0.35),
    diagonal(17.40, (0.068, 0.006, -0.016), 0.130, 0.524, 0.539),
    diagonal(4.80, (0, -0.070, 0.014), 0.066, 0.0125, 0.086),
    diagonal(0.82, (0, 0, -0.019), 1.8e-3, 1.8e-3, 1.3e-3),
    diagonal(0.34, (0, 0, 0), 0.30e-3, 0.30e-3, 0.40e-3),
    diagonal(0.09, (0, 0, 0.032), 0.15e-3, 0.15e-3, 0.04e-3),
]
RX90: Table = [(0, 0, 0), (0, 1, 0), (0.45, 0, 0), (0, -1, 0.45), (0, 1, 0), (0, -1, 0)]


def armstrong() -> da.Arm:
    return modified_dh(ARMSTRONG, ARMSTRONG_BODIES)


def armstrong_of_other_values() -> da.Arm:
    """The same parameters are zero, but no two of the others are equal by chance."""
    rng = np.random.default_rng(0)
    bodies = [
        Inertia(x.mass, x.com, (np.array(x.tensor) * rng.uniform(0.8, 1.2, 3)).tolist()) for x in ARMSTRONG_BODIES
    ]
    return modified_dh(ARMSTRONG, bodies)


def rx90() -> da.Arm:
    rng = np.random.default_rng(1)
    return modified_dh(RX90, [random_inertia(rng) for _ in RX90])


# the best customised symbolic models: multiplications + additions, ../shared/data/INDEX.md
PUBLISHED = {
    "Stanford, Paul's parameters": (lambda: bare(da.load("stanford")), 142 + 96),
    "Stanford, Paul's parameters and rotors": (lambda: da.load("stanford"), 142 + 96),
    "Stanford, all parameters": (lambda: all_parameters(da.load("stanford")), 262 + 211),
    "PUMA 560, Armstrong's parameters": (armstrong, 196 + 145),
    "PUMA 560, other values at Armstrong's": (armstrong_of_other_values, 196 + 145),
    "PUMA 560, shipped": (lambda: bare(da.load("puma560")), 196 + 145),
    "PUMA 560, all parameters": (lambda: all_parameters(armstrong()), 301 + 240),
    "RX-90, all parameters": (rx90, 287 + 226),
    "iiwa, shipped": (lambda: da.load("iiwa14"), 343 + 271),
    "iiwa, all parameters": (lambda: all_parameters(da.load("iiwa14")), 343 + 271),
    "Panda, shipped": (lambda: da.load("panda"), 361 + 288),
    "Panda, all parameters": (lambda: all_parameters(da.load("panda")), 361 + 288),
    "UR type, shipped ur5e": (lambda: da.load("ur5e"), 297 + 239),
    "UR type, shipped ur10": (lambda: da.load("ur10"), 297 + 239),
    "UR type, all parameters": (lambda: all_parameters(da.load("ur5e")), 297 + 239),
    "general 6R": (lambda: chain(6), 425 + 369),
}


@pytest.fixture(scope="module", autouse=True)
def counted_once() -> Iterator[None]:
    """Commands, growth and figures ask for the same arms: what does not measure time is counted once."""
    costs: dict[tuple[object, ...], price.Cost] = {}
    cost = price.cost

    def remembered(arm: da.Arm, name: str, *, measure: bool, compiled: bool, quantity: str) -> price.Cost:
        if measure:
            return cost(arm, name, measure=measure, compiled=compiled, quantity=quantity)
        key = (repr(arm.mechanism), name, compiled, quantity)
        if key not in costs:
            costs[key] = cost(arm, name, measure=False, compiled=compiled, quantity=quantity)
        return costs[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(price, "cost", remembered)
        yield


def total(arm: da.Arm) -> int:
    return arm.operations("inverse_dynamics").compiled.total


@pytest.mark.parametrize("name", PUBLISHED)
def test_no_more_operations_than_the_best_published(name: str) -> None:
    make, best = PUBLISHED[name]
    arm = make()
    assert total(arm) <= best
    # and what is counted is the model: it gives the torques of the page's own recursion
    q, qd, qdd = states(arm, 20)
    page = on_floats(arm, "inverse_dynamics", "newton-euler", q=q, qd=qd, qdd=qdd)
    assert relative(arm.inverse_dynamics(q, qd, qdd), page) < 1e-11


@pytest.mark.parametrize("name", ["ur5e", "ur10", "puma560"])
def test_parallel_axes_cost_less(name: str) -> None:
    """The same arm, but its third axis is no longer parallel to the second."""
    arm = all_parameters(da.load(name))
    third = arm.robot.joints[2]
    twist = da.Placement.rpy(0.3, 0.2, 0.0)
    joint = replace(third, placement=third.placement @ twist)
    twisted = da.Arm(arm.robot.replace(joints=(*arm.robot.joints[:2], joint, *arm.robot.joints[3:])))
    assert total(arm) < total(twisted) - 30
    best = {"puma560": 301 + 240}.get(name, 297 + 239)
    assert total(arm) < best  # fewer, not only as few


def test_every_parameter_of_the_general_chain_is_there() -> None:
    links = lean_links(chain(6).mechanism)
    for link in links[1:]:
        Sigma = np.array(link.Sigma)
        assert np.all(np.abs(Sigma[np.triu_indices(3)][:5]) > 1e-6)  # Σ_zz was regrouped
        assert abs(link.h[0]) > 1e-6 and abs(link.h[1]) > 1e-6
        assert abs(link.d) > 0.1 or link is links[-1]  # nothing hangs on the last: its frame stands at the joint
        assert abs(link.t[0]) > 0.1 and 0.1 < abs(link.R[2][2]) < 0.99
    assert chain(4).robot.joints == chain(6).robot.joints[:4]
    assert all(link.inertia.impossible() is None for link in chain(12).robot.links)


# -- growth --------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("field", ["multiplications", "additions"])
def test_written_counts_are_polynomials_of_the_degrees_of_table_3(formulation: str, field: str) -> None:
    degree = DEGREE[formulation]
    counts = [getattr(written(chain(n).mechanism, JOINTS["inverse_dynamics"], formulation), field) for n in range(2, 9)]
    assert np.all(np.diff(counts, degree) > 0)
    assert np.all(np.diff(counts, degree + 1) == 0)
    fit = polynomial(list(enumerate(counts, 2)))
    assert len(fit) == degree + 1 and [value(fit, n) for n in range(2, 9)] == counts
    if formulation in TABLE_3:
        assert all(len(p) == degree + 1 for p in TABLE_3[formulation])


def test_table_3_evaluated() -> None:
    def figures(name: str, n: int) -> tuple[int, int]:
        found = table_3(name, n)
        assert found is not None
        return found.multiplications, found.additions

    assert figures("lagrange-euler", 6) == (101348, 77405)  # as Fu, Gonzalez and Lee print them
    assert figures("newton-euler", 6) == (792, 662)
    assert figures("dalembert", 6) == (2963, 2209)
    assert table_3("lagrange", 6) is None
    for n in range(1, 20):
        for pair in TABLE_3.values():
            assert all(value(p, n).denominator == 1 for p in pair)


def test_polynomials() -> None:
    p = (Fraction(-4), Fraction(1, 2), Fraction(0), Fraction(3, 2))
    assert polynomial([(n, int(value(p, n))) for n in range(3, 10)]) == p
    assert polynomial([(5, 7), (6, 7)]) == (7,)
    assert polynomial([(1, 0)]) == (0,)
    assert command.in_n((Fraction(0),)) == "0" and command.in_n((Fraction(-1), Fraction(-1))) == "−n − 1"


def test_compare_and_growth_give_lines() -> None:
    lines = compare(da.load("planar-2r"))
    assert [line.formulation for line in lines] == list(FORMULATIONS)
    for line in lines:
        arm_says = da.load("planar-2r").operations("inverse_dynamics", line.formulation)
        assert (line.written, line.compiled) == (arm_says.written, arm_says.compiled)
        assert line.nanoseconds is not None and 0.5 < line.nanoseconds < 1e5
        assert isinstance(line.table, Operations) == (line.formulation in TABLE_3)
    seen: list[float] = []
    grown = growth(range(2, 4), ("newton-euler", "lean"), measure=False, progress=seen.append)
    assert [(line.formulation, line.n) for line in grown] == [(f, n) for f in ("newton-euler", "lean") for n in (2, 3)]
    assert all(line.nanoseconds is None for line in grown)
    assert seen == sorted(seen) and seen[0] == 0 and seen[-1] < 1
    (large,) = growth([MANY_JOINTS + 1], ["lagrange-euler"])
    assert large.compiled is None and large.nanoseconds is None and large.written.total > 80000
    with pytest.raises(da.DalembertError, match="an arm needs at least 1 joint, not 0"):
        chain(0)


def test_compiled_costs_less_than_written_and_grows_with_n() -> None:
    lines = growth(range(2, 6), measure=False)
    for line in lines:
        assert line.compiled is not None and line.compiled.total < line.written.total
        assert line.compiled.divisions == line.compiled.square_roots == 0
    lean = [line.compiled.total for line in lines if line.formulation == "lean" and line.compiled]
    assert lean == sorted(lean)


def test_lagrange_euler_of_seven_joints_compiles() -> None:
    assert nanoseconds(chain(7), "lagrange-euler", 0.0) > 10


# -- the recursion, step by step -----------------------------------------------------------------

FIELDS = ("multiplications", "additions")


@cache
def chain_steps(n: int, formulation: str = "newton-euler") -> tuple[steps.Step, ...]:
    return steps.steps(chain(n), formulation)


def formula(kind: str, field: str, equation: str | None = None, joints: range = range(1, 11)) -> tuple[int, ...]:
    """The polynomial in n through the counts of general chains: (constant, slope) where they lie on a line."""
    points = []
    for n in joints:
        chosen = [step for step in chain_steps(n) if equation in (None, step.equation)]
        points.append((n, sum(getattr(getattr(step, kind), field) for step in chosen)))
    return tuple(int(c) for c in polynomial(points))


@pytest.mark.parametrize("name", REGISTRY)
def test_steps_sum_to_the_whole(name: str) -> None:
    arm = registered(name)
    for formulation in steps.EXPLAINED if arm.n < 4 else ("newton-euler",):
        found = steps.steps(arm, formulation)
        whole = written(arm.mechanism, JOINTS["inverse_dynamics"], formulation)
        total = steps.summed(step.written for step in found)
        assert (total.multiplications, total.additions) == (whole.multiplications, whole.additions)
        kept = steps.summed(step.nontrivial for step in found)
        assert arm.operations("inverse_dynamics", formulation).compiled.total <= kept.total < total.total
        if arm.mechanism.identity and not arm.mechanism.lifts:
            named = [x for x in steps.EXPLAINED[formulation][1] if x != steps.OTHER]
            assert [step.equation for step in found if step.equation != steps.OTHER] == named


def test_lagrange_euler_is_counted_as_printed_and_table_3_is_explained() -> None:
    """(2.11) and (2.14) have Σ j² and Σ j³ traces of 80 multiplications; M's own attribution sums to its Table 3."""
    for n in range(1, 6):
        found = {step.equation: step for step in chain_steps(n, "lagrange-euler")}
        assert found["(2.11)"].written.multiplications == 80 * sum(j**2 for j in range(1, n + 1))
        assert found["(2.14)"].written.multiplications == 80 * sum(j**3 for j in range(1, n + 1))
        assert steps.summed(step.paper for step in found.values()) == table_3("lagrange-euler", n)
    with pytest.raises(da.DalembertError, match="'lagrange' is not counted by equation; use newton-euler or lagrange"):
        steps.steps(chain(1), "lagrange")


def test_written_steps_grow_by_the_same_with_every_joint() -> None:
    assert [formula("written", field) for field in FIELDS] == [(-105, 276), (-78, 214)]
    slopes = {
        x: formula("written", "multiplications", x, range(1, 4))[1] for x in steps.NEWTON_EULER if x != steps.OTHER
    }
    assert slopes == {
        "M (2.1)": 42, "frame i−1": 69, "(7.107)": 12, "(7.108)": 21, "(7.109)": 27, "(7.110)": 18, "(7.111)": 14,
        "(7.112)": 12, "(7.113)": 45, "(7.114)": 12, "(7.42)": 4,
    }  # fmt: skip


def test_what_is_not_in_m_makes_the_difference_to_its_table_2() -> None:
    """Counted as M counts, its recursion for DH frames takes what its Table 3 says, but for a few operations."""
    assert [formula("paper", field) for field in FIELDS] == [(-24, 130), (-24, 103)]
    assert [formula("nontrivial", field, joints=range(3, 11)) for field in FIELDS] == [(-71, 126), (-72, 101)]
    for n in range(2, 13):
        printed = table_3("newton-euler", n)
        rows = steps.summed(step.paper for step in chain_steps(n))
        assert printed is not None
        assert (
            0.87 < rows.multiplications / printed.multiplications < 1 and 0.8 < rows.additions / printed.additions < 1
        )


def test_every_line_of_the_recursion_that_computes_is_named() -> None:
    """Only what no open arm needs is without a step."""
    for formulation, (module, rows) in steps.EXPLAINED.items():
        assert set(steps._named_lines(module).values()) == set(rows) - {steps.OTHER}
        assert all(step.equation != steps.OTHER for step in steps.steps(registered("random-tree"), formulation))


# -- direct dynamics -----------------------------------------------------------------------------


def test_direct_dynamics_grows_as_the_book_says_but_for_the_solution() -> None:
    """S 7.6: n + 1 runs of the recursion are O(n²); the factorisation of B adds n³/6 products, and little for ordinary n."""

    def products(quantity: str, name: str) -> tuple[Fraction, ...]:
        counts = [written(chain(n).mechanism, JOINTS[quantity], name).multiplications for n in range(2, 8)]
        return polynomial(list(enumerate(counts, 2)))

    fits = {name: products("forward_dynamics", name) for name in price.DIRECT}
    assert {name: len(fit) - 1 for name, fit in fits.items()} == price.DIRECT
    assert fits["composite"][3] == fits["column-by-column"][3] == Fraction(1, 6)
    columns = products("inertia_matrix", "column-by-column")
    assert len(columns) == 3 and fits["column-by-column"][2] == columns[2] + Fraction(3, 2)  # the rest is the solution
    for line in price.direct_growth([2, 3], measure=False):
        assert line.compiled is not None and line.compiled.total < line.written.total


def test_direct_dynamics_as_in_the_book_on_the_tape() -> None:
    arm = da.load("puma560")
    q, qd, qdd = states(arm, 10)
    tau = arm.inverse_dynamics(q, qd, qdd)
    assert relative(arm.forward_dynamics(q, qd, tau, formulation="column-by-column"), qdd) < 1e-8


# -- the command ---------------------------------------------------------------------------------


def test_command_explains() -> None:
    general = run("compare", "--explain").stdout
    assert "compiled: 594 multiplications, 458 additions" in general
    assert "(7.113)" in general and max(map(len, general.splitlines())) <= 80
    page = (DOCS / "price.md").read_text(encoding="utf-8")
    rows = [line.rstrip() for line in run("compare", "--explain", width=118).stdout.splitlines()]
    assert "\n".join(rows) in page
    for name in ("scara", "five-bar"):
        output = run("compare", name, "--explain").stdout
        rows = [line.split() for line in output.splitlines() if line.strip().startswith("total")]
        for row, formulation in zip(rows, steps.EXPLAINED, strict=True):
            whole = written(da.load(name).mechanism, JOINTS["inverse_dynamics"], formulation)
            assert row[1:3] == [str(whole.multiplications), str(whole.additions)]
    assert "--explain takes an arm or nothing" in mistake("compare", "--explain", "--joints", "2..3")


def test_counts_on_the_page_about_formulations_are_those_of_the_arms() -> None:
    """Of the planar arm: the first figure of each cell, as benchmarks/formulations.py prints it."""
    page = (DOCS / "which-formulation.md").read_text(encoding="utf-8")
    arm, pattern = da.load("planar-2r"), r'^\| (?:`(\w+)` \| )?`"([\w-]+)"` \| ([\d,/ ]+) \| ([\d,/ ]+) \|'
    rows = re.findall(pattern, page, re.MULTILINE)
    assert {name for quantity, name, *_ in rows if not quantity} == set(FORMULATIONS) and len(rows) > 15
    for quantity, name, *cells in rows:
        price_of = arm.operations(quantity or "inverse_dynamics", name)
        counts = [int(cell.split(" / ")[0].replace(",", "")) for cell in cells]
        assert counts == [price_of.written.total, price_of.compiled.total], (quantity, name)


def test_command_has_all_rows_of_table_3() -> None:
    output = run("compare", "planar-2r", "--no-measure").stdout
    for name, words in price.CHARACTER.items():
        rows = [line for line in output.splitlines() if line.startswith(f"{name} ")]
        assert all(word in rows[1] for word in words)


def test_command_for_an_arm() -> None:
    for name in ("scara", "pr-arm"):
        output = run("compare", name, "--no-measure").stdout
        assert f"{name}: inverse dynamics, {da.load(name).n} joints" in output
        assert max(map(len, output.splitlines())) <= 80
        for line in compare(da.load(name), measure=False):
            row = next(text.split() for text in output.splitlines() if text.startswith(f"{line.formulation} "))
            counts = [x for x in (line.table, line.written, line.compiled) if x is not None]
            assert row[1:-1] == [str(k) for x in counts for k in (x.multiplications, x.additions)]
    timed = run("compare", "planar-2r").stdout
    assert "ns: per state" in timed


def test_command_for_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price, "MANY_JOINTS", 4)  # seven take seconds
    output = run("compare", "--joints", "4..6", "--no-measure").stdout
    assert "written × = 276 n − 105" in output
    assert "101348" in output and "—" in output and "--all includes them" in " ".join(output.split())
    assert "direct dynamics of n general revolute joints" in output and "S 7.6 states O(n) for inverse" in output
    assert max(map(len, output.splitlines())) <= 80
    one = run("compare", "--joints", "3", "--no-measure").stdout
    assert "written × =" not in one
    both = run("compare", "planar-2r", "--joints", "2-3", "--no-measure").stdout
    assert "planar-2r: inverse dynamics, 2 joints" in both and "n general revolute joints" in both


@pytest.mark.parametrize("suffix", ["png", "SVG", "pdf"])
def test_command_draws(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"growth.{suffix}"
    args = ("compare", "--joints", "2..3", "--no-measure", "--plot", path)
    result = run(*args)
    assert "the figure is in" in result.stderr
    assert path.read_bytes()[:4] in (b"\x89PNG", b"<?xm", b"%PDF")
    assert [x.name for x in tmp_path.iterdir()] == [path.name]
    before = path.read_bytes()
    assert "already exists" in mistake(*args)
    assert path.read_bytes() == before
    run(*args, "--force")


def test_figure_shows_time_where_it_was_measured() -> None:
    lines = growth([2, 3], measure=False)
    assert len(price_figures.growth_figure(lines).axes) == 1
    timed = [replace(line, nanoseconds=5.0) for line in lines]
    assert len(price_figures.growth_figure(timed).axes) == 2


def test_figure_of_table_3_draws_the_polynomials_and_our_counts() -> None:
    lines = growth(range(1, 5), measure=False)
    for axes, field in zip(
        price_figures.table_3_figure(costs=lines).axes, ("multiplications", "additions"), strict=True
    ):
        drawn = {tuple(np.round(curve.get_ydata(), 6)) for curve in axes.get_lines()}
        for name in price.GROWING:
            mine = [line for line in lines if line.formulation == name]
            for kind in ("table", "written", "compiled"):
                counts = [getattr(getattr(x, kind), field) for x in mine if getattr(x, kind) is not None]
                assert tuple(float(y) for y in counts if y) in drawn or not counts


@pytest.mark.parametrize(("text", "numbers"), [
    ("7", [7]), ("2..4", [2, 3, 4]), ("2-4", [2, 3, 4]), (" 2 .. 3 ", [2, 3]), ("5…6", [5, 6]), ("3..3", [3]),
])  # fmt: skip
def test_joints(text: str, numbers: list[int]) -> None:
    assert list(command.joints_of(text)) == numbers


@pytest.mark.parametrize(("text", "sentence"), [
    ("many", 'is not a number of joints like 7, or a range like 2..12'),
    ("", "is not a number of joints"), ("2..", "is not a number of joints"), ("2..3..4", "is not a number of joints"),
    ("1.5", "is not a number of joints"), ("-3", "is not a number of joints"), ("2\n", "2"),
    ("12..2", "starts after its end; write 2..12"), ("0..3", "between 1 and 24, not 0"), ("2..99", "not 99"),
])  # fmt: skip
def test_wrong_joints(text: str, sentence: str) -> None:
    if text == "2\n":
        assert list(command.joints_of(text)) == [2]
    else:
        assert sentence in mistake("compare", "--joints", text, "--no-measure")


def test_mistakes(tmp_path: Path) -> None:
    assert "nosucharm" in mistake("compare", "nosucharm", "--no-measure")
    assert "give a range" in mistake("compare", "scara", "--plot", "x.png")
    assert "give a range" in mistake("compare", "--joints", "4", "--plot", "x.png")
    assert ".png, .svg, .pdf" in mistake("compare", "--joints", "2..3", "--plot", tmp_path / "growth.gif")
    assert "does not exist" in mistake("compare", "--joints", "2..3", "--plot", tmp_path / "no" / "growth.png")
    assert "is a folder" in mistake("compare", "--joints", "2..3", "--plot", _folder(tmp_path))


def _folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder.png"
    path.mkdir()
    return path
