"""WebAssembly: modules run in wasmtime and in Node, and equal the kernels."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wasmtime

import dalembert as da
from dalembert.compiler.emit import llvm, wrappers
from dalembert.compiler.kernel.wasm import Reader, leb, signed_leb
from dalembert.errors import DalembertError
from many_arms import megabytes

COUNT = 5  # states: an odd number, so that a lane is left over
TOLERANCES = {"double": 1e-13, "single": 2e-5}
NUMBERS = {"double": np.float64, "single": np.float32}
RNG = np.random.default_rng(1)
NODE = pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node here")


class Instance:
    """A module in wasmtime, with a memory of its own."""

    def __init__(self, content: bytes, memory: Any = None, store: Any = None) -> None:
        engine = store.engine if store else wasmtime.Engine()
        self.store = store or wasmtime.Store(engine)
        self.module = wasmtime.Module(self.store.engine, content)
        (needed,) = self.module.imports  # exactly one: the memory
        assert (needed.module, needed.name) == ("env", "memory")
        self.memory = memory or wasmtime.Memory(self.store, wasmtime.MemoryType(wasmtime.Limits(64, None)))
        self.exports = wasmtime.Instance(self.store, self.module, [self.memory]).exports(self.store)

    def call(self, name: str, inputs: list[Any], shapes: list[tuple[int, ...]], count: int) -> list[Any]:
        """The outputs of so many rows; what lies behind each is left as it was."""
        at, offsets = self.exports["reserved"].value(self.store), []
        kind = inputs[0].dtype
        for array in inputs:
            self.memory.write(self.store, array.tobytes(), at)
            offsets.append(at)
            at += array.nbytes
        sizes = [int(np.prod(shape)) * kind.itemsize for shape in shapes]
        for size in sizes:
            self.memory.write(self.store, b"\xee" * (size + 16), at)
            offsets.append(at)
            at += size + 16
        self.exports[name](self.store, *offsets, count)
        results = []
        for offset, size, shape in zip(offsets[len(inputs) :], sizes, shapes, strict=True):
            raw = bytes(self.memory.read(self.store, offset, offset + size + 16))
            assert raw[size:] == b"\xee" * 16
            results.append(np.frombuffer(raw[:size], kind).reshape(shape))
        return results


def module_of(source: Any) -> bytes:
    """The one module among the files."""
    (content,) = [x for name, x in source.files.items() if name.endswith(".wasm")]
    return bytes(content)


def states(arm: Any, arrays: int, kind: Any = np.float64) -> list[Any]:
    """Random rows; one angle is far beyond what is reduced by arithmetic."""
    rows = RNG.uniform(-2, 2, (arrays, COUNT, arm.n)).astype(kind)
    rows[0, 2, 1] = 1e9
    return list(rows)


@pytest.mark.parametrize("precision", list(TOLERANCES))
@pytest.mark.parametrize(
    ("name", "quantity", "inputs"),
    [("panda", "inverse_dynamics", 3), ("scara", "forward_dynamics", 3), ("puma560", "inertia_matrix", 1)],
)
def test_modules_in_wasmtime_equal_the_kernel(name: str, quantity: str, inputs: int, precision: str) -> None:
    arm = da.load(name)
    source = arm.emit(quantity, target="wasm", precision=precision)
    given = states(arm, inputs, NUMBERS[precision])
    want = arm.kernel(quantity)(*(x.astype(float) for x in given))
    (got,) = Instance(module_of(source)).call(quantity, given, [want.shape], COUNT)
    assert np.abs(got - want).max() <= TOLERANCES[precision] * np.abs(want).max()


@pytest.fixture(scope="module")
def several() -> Any:
    """Two functions in one module, in parts with a workspace on the stack, as long ones are."""
    arm = da.load("panda")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llvm, "PART_LENGTH", 300)
        patch.setattr(wrappers, "MOST_IN_LINE", 0)
        return arm, arm.emit(["inverse_dynamics", "coriolis_matrix"], target="wasm", separate=True)


def test_functions_of_one_module_share_a_memory_and_a_stack(several: Any) -> None:
    arm, source = several
    instance = Instance(module_of(source))
    for name, count in (("inverse_dynamics", 3), ("coriolis_matrix", 2)):
        given = states(arm, count)
        want = arm.kernel(name)(*given)
        (got,) = instance.call(name, given, [want.shape], COUNT)
        assert np.abs(got - want).max() <= 1e-13 * np.abs(want).max()


def test_no_states_touch_nothing(several: Any) -> None:
    arm, source = several
    Instance(module_of(source)).call("inverse_dynamics", states(arm, 3), [(0, arm.n)], 0)


def test_modules_share_a_memory(several: Any) -> None:
    arm, source = several
    first = Instance(module_of(source))
    second = Instance(module_of(arm.emit("gravity_torque", target="wasm")), first.memory, first.store)
    for instance, name, count in ((first, "inverse_dynamics", 3), (second, "gravity_torque", 1)):
        given = states(arm, count)
        want = arm.kernel(name)(*given)
        (got,) = instance.call(name, given, [want.shape], COUNT)
        assert np.abs(got - want).max() <= 1e-13 * np.abs(want).max()


SCRIPT = """
import fs from "fs";
import { load } from "./NAME.mjs";
const given = JSON.parse(fs.readFileSync("given.json"));
const arm = await load(fs.readFileSync("NAME.wasm"));
const tau = arm.inverse_dynamics(...given);
const rows = arm.inverse_dynamics.rows(given[0].length / 7);
["q", "qd", "qdd"].forEach((array, k) => rows[array].set(given[k]));
rows.run();
arm.inverse_dynamics.rows(100000); // the memory grows
const other = await load(fs.readFileSync("NAME.wasm"), arm.memory);
let refused = "";
try { arm.inverse_dynamics([1, 2], [1], [1]); } catch (error) { refused = error.message; }
console.log(JSON.stringify([Array.from(tau), Array.from(rows.tau), Array.from(other.inverse_dynamics(...given)), refused]));
"""
PLAIN = """
const vm = require("vm"), fs = require("fs");
const context = vm.createContext({ WebAssembly, TextDecoder, console, bytes: fs.readFileSync("NAME.wasm") });
vm.runInContext(fs.readFileSync("NAME.mjs", "utf8").replace(/export .*\\n$/, ""), context);
vm.runInContext("load(bytes).then((arm) => console.log(Object.keys(arm.about.functions).join()))", context);
"""


@NODE
def test_the_loader_in_node_equals_the_kernel_and_is_a_plain_script_too(several: Any, tmp_path: Path) -> None:
    arm, source = several
    source.write(tmp_path)
    stem = next(name[: -len(".wasm")] for name in source.files if name.endswith(".wasm"))
    given = states(arm, 3)
    want = arm.inverse_dynamics(*given).ravel()
    (tmp_path / "given.json").write_text(json.dumps([x.ravel().tolist() for x in given]))
    (tmp_path / "main.mjs").write_text(SCRIPT.replace("NAME", stem))
    (tmp_path / "plain.cjs").write_text(PLAIN.replace("NAME", stem))

    def node(file: str) -> str:
        return subprocess.run(["node", file], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    *results, refused = json.loads(node("main.mjs"))
    for got in results:
        assert np.abs(np.array(got) - want).max() <= 1e-13 * np.abs(want).max()
    assert "inverse_dynamics: q has 2 numbers" in refused
    assert node("plain.cjs").strip() == "inverse_dynamics,coriolis_matrix"


LIMITS = """
import fs from "fs";
import { load } from "./NAME.mjs";
const bytes = fs.readFileSync("NAME.wasm");
const refusal = async (act) => { try { await act(); } catch (error) { return `${error}`; } };
const arm = await load(bytes);
for (let count = 1; count <= 1000; count++)
  arm.gravity_torque(new Float64Array(2 * count));
const memory = arm.memory.buffer.byteLength;
const before = arm.memory.used;
const refused = [await refusal(() => arm.gravity_torque.rows(1e9))]; // more than a memory can hold
const taken = arm.memory.used - before;
for (const count of [-1, 1.5, NaN]) refused.push(await refusal(() => arm.gravity_torque.rows(count)));
arm.memory.reserved = 16; // as if the module had been smaller
refused.push(await refusal(() => load(bytes, arm.memory)));
const none = arm.gravity_torque([]).length;
console.log(JSON.stringify({ memory, taken, refused, none, tau: Array.from(arm.gravity_torque([0, 0])) }));
"""


@NODE
def test_the_loader_takes_room_once_and_refuses_what_would_spoil_it(tmp_path: Path) -> None:
    arm = da.load("planar-2r")
    arm.emit("gravity_torque", target="wasm").write(tmp_path)
    (tmp_path / "main.mjs").write_text(LIMITS.replace("NAME", "planar_2r_gravity_torque"))
    run = subprocess.run(["node", "main.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    rows = (
        1000 * 4 * 8
    )  # bytes of the largest batch; a thousand batches of growing size do not take a thousand times as much
    assert told["memory"] <= 65536 + 4 * rows + 65536
    assert told["taken"] == 0 and told["none"] == 0
    assert np.allclose(told["tau"], arm.gravity_torque([0.0, 0.0]), rtol=1e-13)
    assert all("RangeError" in (refused or "") for refused in told["refused"]), told["refused"]
    assert "load all modules that share a memory before using any" in told["refused"][-1]


@pytest.mark.parametrize("name", ["reserved", "memory", "exports", "about", "then"])
def test_names_that_the_loader_has_itself_are_refused(name: str) -> None:
    with pytest.raises(DalembertError, match=rf"the function of a wasm module cannot be named '{name}'"):
        da.load("planar-2r").emit("gravity_torque", target="wasm", function=name)


def test_optimised_modules_leave_no_passes_in_memory() -> None:
    arm = da.load("planar-2r")
    for _ in range(5):
        arm.emit("gravity_torque", target="wasm")
    before = megabytes()
    for _ in range(30):
        arm.emit("gravity_torque", target="wasm")
    assert megabytes() - before < 2  # more than 4 where the passes stay


def test_what_a_target_has_no_functions_of_its_own_for_is_refused() -> None:
    with pytest.raises(DalembertError, match=r"separate=True .* by the targets c, wasm, not by 'ptx'"):
        da.load("planar-2r").emit(["gravity_torque", "inertia_matrix"], target="ptx", separate=True)


@pytest.mark.parametrize("value", [0, 1, 63, 64, 127, 128, 65536, 2**31, -1, -64, -65, -(2**31)])
def test_numbers_are_read_as_they_are_written(value: int) -> None:
    assert Reader(signed_leb(value)).signed() == value
    if value >= 0:
        assert Reader(leb(value)).number() == value
