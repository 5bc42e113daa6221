"""The targets for reading are run, and are what the kernel computes; sources are written whole or not at all."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from arms import arm
from dalembert.compiler.emit.readable import SIGNS
from dalembert.compiler.emit.source import Source
from dalembert.compiler.graph.tape import OPERATIONS
from dalembert.compiler.kernel.targets import TARGETS
from dalembert.compiler.quantities.emission import identifier

ARMS = ["planar-2r", "terms", "parallelogram"]


def loaded(a: da.Arm, quantity: str | list[str], target: str) -> object:
    """The function of a module that was emitted."""
    (text,) = a.emit(quantity, target=target).files.values()
    names: dict[str, object] = {}
    exec(compile(text, target, "exec"), names)
    (function,) = (f for name, f in names.items() if name.startswith(f"{identifier(a.name)}_"))
    return function


@pytest.mark.parametrize("name", ARMS)
def test_python_and_numpy_equal_the_kernel(name: str) -> None:
    a = arm(name)
    q, qd, qdd = np.random.default_rng(5).uniform(-1.5, 1.5, (3, 4, a.n))
    want = a.inverse_dynamics(q, qd, qdd), a.inertia_matrix(q)
    vectorised = loaded(a, ["inverse_dynamics", "inertia_matrix"], "numpy")
    plain = loaded(a, ["inverse_dynamics", "inertia_matrix"], "python")
    for x, y in zip(vectorised(q, qd, qdd), want, strict=True):  # type: ignore[operator]
        assert np.allclose(x, y, rtol=1e-12, atol=1e-12 * np.abs(y).max())
    rows = [plain(*map(np.ndarray.tolist, state)) for state in zip(q, qd, qdd, strict=True)]  # type: ignore[operator]
    for k, y in enumerate(want):
        assert np.allclose([row[k] for row in rows], y, rtol=1e-12, atol=1e-12 * np.abs(y).max())


def test_numpy_broadcasts_and_python_gives_scalars() -> None:
    a = da.load("planar-2r")
    q, qd = np.zeros((5, 1, 2)), np.ones((3, 2))
    assert loaded(a, "kinetic_energy", "numpy")(q, qd).shape == (5, 3)  # type: ignore[operator]
    energy = loaded(a, "kinetic_energy", "python")([0.0, 0.0], [1.0, 1.0])  # type: ignore[operator]
    assert isinstance(energy, float) and energy == pytest.approx(float(a.kinetic_energy([0.0, 0.0], [1.0, 1.0])))


@pytest.mark.parametrize("quantity", ["kinetic_energy_gradient", "pose_gradient", "christoffel_gradient"])
def test_inputs_that_are_numbers_or_matrices_have_their_shapes(quantity: str) -> None:
    """The weights of a gradient have the shape of what is differentiated: (), (4, 4), (2, 2, 2)."""
    a, rng = da.load("planar-2r"), np.random.default_rng(5)
    cores = [
        eval(f"({core}{',' * bool(core)})") for core in a.kernel(quantity).signature.split("->")[0][1:-1].split("),(")
    ]
    given = [rng.uniform(-1, 1, (3, *core)) for core in cores]
    want = np.stack(a.kernel(quantity)(*given), axis=-2) if quantity.startswith("kin") else a.kernel(quantity)(*given)
    rows = [loaded(a, quantity, "python")(*(x[k].tolist() for x in given)) for k in range(3)]  # type: ignore[operator]
    vectorised = loaded(a, quantity, "numpy")(*given)  # type: ignore[operator]
    for got in (rows, np.stack(vectorised, axis=-2) if isinstance(vectorised, tuple) else vectorised):
        assert np.allclose(got, want, rtol=1e-12, atol=1e-12)


def test_dot_is_the_tape() -> None:
    """Read back and evaluated."""
    a = da.load("planar-2r")
    (text,) = a.emit("coriolis_matrix", target="dot").files.values()
    given = {"q[0]": 0.3, "q[1]": 0.7, "qd[0]": -0.4, "qd[1]": 1.1}
    operands: dict[str, list[str]] = {}
    for origin, goal in re.findall(r"(\w+) -> (\w+);", text):
        operands.setdefault(goal, []).append(origin)
    by_sign = {(sign, 1 if op in ("neg", "sqrt", "sign") else 2): op for op, sign in SIGNS.items()}
    held: dict[str, float] = {}
    for node, label in re.findall(r'(\w+) \[label="(.*?)"', text):
        values = [held[x] for x in operands.get(node, [])]
        if node.startswith("out"):
            held[label] = values[0]
        elif not values:
            held[node] = given[label] if label in given else float(label)
        else:
            held[node] = OPERATIONS[by_sign.get((label, len(values)), label)](*values)
    C = a.coriolis_matrix([0.3, 0.7], [-0.4, 1.1])
    assert np.allclose([held[f"C[{k}]"] for k in range(4)], C.ravel(), rtol=1e-13)


def test_python_follows_c_where_math_would_raise_an_error() -> None:
    from dalembert.compiler.emit.readable import AS_IN_C

    names: dict[str, object] = {"math": math}
    for head, _, body in AS_IN_C.values():
        exec(f"def {head}:\n" + "".join(f"    {line}\n" for line in body.splitlines()), names)
    for op, (head, _, _) in AS_IN_C.items():
        function, count = names[head.partition("(")[0]], 2 if op == "div" else 1
        for x in (0.0, -0.0, 1.0, -1.0, 2.0, 800.0, -800.0, math.inf, -math.inf, math.nan):
            for arguments in [(x, y) for y in (0.0, -0.0, 2.0)] if count == 2 else [(x,)]:
                assert np.array_equal(function(*arguments), OPERATIONS[op](*arguments), equal_nan=True), (op, arguments)  # type: ignore[operator]


def test_python_is_not_a_number_where_an_angle_is_infinite() -> None:
    a = da.load("planar-2r")
    got = loaded(a, "gravity_torque", "python")([math.inf, 0.0])  # type: ignore[operator]
    with np.errstate(invalid="ignore"):
        assert np.array_equal(got, a.gravity_torque([math.inf, 0.0]), equal_nan=True)


def test_sources_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    source = Source({"a.txt": "α", "b.bin": b"\0"})
    folder = tmp_path / "new" / "folder"
    assert source.write(folder) == [folder / "a.txt", folder / "b.bin"]
    assert (folder / "a.txt").read_text(encoding="utf-8") == "α" and (folder / "b.bin").read_bytes() == b"\0"
    (folder / "a.txt").unlink()
    with pytest.raises(da.DalembertError, match=r"b\.bin: the file already exists and was not changed"):
        source.write(folder)
    assert [path.name for path in folder.iterdir()] == ["b.bin"]
    source.write(folder, overwrite=True)
    (tmp_path / "file").touch()
    with pytest.raises(da.DalembertError, match="file: the folder cannot be created"):
        source.write(tmp_path / "file")
    assert "(1 bytes)" in str(source) and "---- a.txt\nα" in str(source)


def test_the_same_arm_gives_the_same_files() -> None:
    for target in ("c", "python", "numpy", "dot"):
        first, second = (da.load("scara").emit("forward_dynamics", target=target) for _ in range(2))
        assert first.files == second.files and TARGETS[target].summary


MISTAKES = {
    "there is no target 'cc'; known targets are c, .*; did you mean 'c'": {"target": "cc"},
    "target 'python' does not support the precision 'single'; it supports double": {
        "target": "python",
        "precision": "single",
    },
    "libm=False .* is supported by the targets c": {"target": "numpy", "libm": False},
    "the function cannot be called 'a b'; a name consists of at most 80 letters": {"function": "a b"},
    r"the function cannot be called 'a*\.{3}; a name .* begins with a letter: choose one": {"function": "a" * 90},
    "pose does not take 'tip_wrench'; its options are: parameters": {"options": ("tip_wrench",)},
    "pose has no formulation 'lean'; its formulations are frames": {"formulation": "lean"},
}


@pytest.mark.parametrize("sentence", MISTAKES)
def test_mistakes_are_told(sentence: str) -> None:
    with pytest.raises(da.DalembertError, match=sentence):
        da.load("planar-2r").emit("pose", **MISTAKES[sentence])  # type: ignore[arg-type]


def test_names_of_quantities_that_are_wrong_are_told() -> None:
    a = da.load("planar-2r")
    with pytest.raises(da.DalembertError, match=r"there is no quantity 'inertia'; .*did you mean 'inertia_matrix'"):
        a.emit("inertia")
    with pytest.raises(da.DalembertError, match="no quantity is named"):
        a.emit([])
    with pytest.raises(da.DalembertError, match="'pose' is requested twice"):
        a.emit(["pose", "jacobian", "pose"])


@pytest.mark.parametrize("wrong", [None, 3, [3], b"pose"])
def test_names_that_are_not_text_are_told(wrong: object) -> None:
    a = da.load("planar-2r")
    with pytest.raises(da.DalembertError, match=r"quantity is .*; it must be a name, or a sequence of names"):
        a.emit(wrong)  # type: ignore[arg-type]
    for call in (a.emit, a.kernel, a.operations):
        with pytest.raises(da.DalembertError, match=r"options is .*; it must be a name, or a sequence of names"):
            call("inverse_dynamics", options=wrong)  # type: ignore[arg-type, operator]
    if wrong is not None:
        with pytest.raises(da.DalembertError, match=r"the function cannot be called .*; a name consists of"):
            a.emit("pose", function=wrong)  # type: ignore[arg-type]


def test_one_option_is_named_alone_or_in_a_sequence() -> None:
    a = da.load("planar-2r")
    kernels = [a.kernel("inverse_dynamics", options=x) for x in (("tip_wrench",), ["tip_wrench"], "tip_wrench")]  # type: ignore[arg-type]
    assert kernels[0] is kernels[1] is kernels[2]


def test_the_page_names_every_target() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "code.md").read_text(encoding="utf-8")
    assert [name for name in TARGETS if f"`{name}`" not in page] == []
