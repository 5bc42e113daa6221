"""Kernels for GPUs: their text, what NVIDIA's assembler makes of it, and what they compute, on the CPU."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import prod

import numpy as np
import pytest

import dalembert as da
from compilers import ELSEWHERE
from dalembert.compiler.emit.grid import (
    AXES,
    BYTES_OF_THREAD,
    PIECE,
    WIDE,
    grid_ir,
    pieces_of,
    rollout_grid_ir,
    staged_inputs,
)
from dalembert.compiler.emit.ir import Form
from dalembert.compiler.emit.signature import Signature
from dalembert.compiler.graph.passes import by_outputs, eased, live_lines, most_waiting
from dalembert.compiler.graph.tape import Graph, evaluate
from dalembert.compiler.kernel import cuda
from dalembert.compiler.kernel.compile import compiled_for
from dalembert.compiler.kernel.cuda import GPU, DeviceKernel, collapsed, launch
from dalembert.compiler.quantities import machine
from dalembert.compiler.quantities.joints import JOINTS, known
from host_grid import compiled, described, on_this_machine, outputs_of
from ptx_assembler import assembled

SCALARS = ("double", "float")
KINDS = ("staged", "direct", "strided")
CARDS = ("sm_75", "sm_90")
WORDS = {"double": "double", "float": "single"}
NUMBERS = {"double": np.float64, "float": np.float32}
TOLERANCES = {"double": 1e-12, "float": 2e-5}
PTXAS = pytest.mark.skipif(shutil.which("ptxas") is None, reason=f"{ELSEWHERE} ptxas comes with CUDA")
SMALL = "planar-2r"
SMALLEST = "pendulum"  # whose quantities are all made, to be quick
# of panda, in doubles: no value of these is ever written to memory for want of registers
NEVER_SPILLED = (
    "inverse_dynamics", "forward_dynamics", "inertia_matrix", "jacobian", "gravity_torque", "coriolis_matrix",
)  # fmt: skip


@cache
def tape(name: str, quantity: str) -> tuple[Graph, Signature]:
    mechanism, entry = da.load(name).mechanism, JOINTS[quantity]
    return machine.trace(mechanism, entry), machine.signature(mechanism, entry)


@cache
def ptx(name: str, quantity: str, scalar: str, kind: str) -> str:
    ir, _ = grid_ir(*tape(name, quantity), scalar, "run", kind)
    return compiled_for(GPU, ir, assembly=True).decode()


def device_kernel(name: str, quantity: str, scalar: str, phases: bool = False) -> DeviceKernel:
    mechanism, entry = da.load(name).mechanism, JOINTS[quantity]
    graph, signature = tape(name, quantity)
    own = (lambda: machine.phases_of(mechanism, entry)) if phases and machine.has_phases(mechanism, entry) else None
    return DeviceKernel((name, quantity), signature, lambda: graph, scalar, own)


# -- text --------------------------------------------------------------------------------------------


def test_every_quantity_of_a_small_arm_becomes_ptx() -> None:
    """Each of one kind and with one kind of numbers, in turn, and all of them of inverse dynamics."""
    asked = [x for x in known(da.load(SMALLEST).mechanism) if x != "tree_motion"]
    assert len(asked) >= 30
    ways = [(scalar, kind) for scalar in SCALARS for kind in KINDS]
    cases = [(quantity, *ways[k % len(ways)]) for k, quantity in enumerate(asked)]
    for quantity, scalar, kind in (*cases, *(("inverse_dynamics", *way) for way in ways)):
        text = ptx(SMALLEST, quantity, scalar, kind)
        assert ".visible .entry run(" in text and ".local" not in text, (quantity, kind)
        assert ("bar.sync" in text or "barrier.sync" in text) == (kind != "strided"), (quantity, kind)
        assert scalar == "double" or ".f64" not in text, (quantity, kind)
    assert all(
        f"fma.rn.{x}" in ptx(SMALL, "inverse_dynamics", y, "direct") for x, y in (("f64", "double"), ("f32", "float"))
    )


@pytest.mark.parametrize(("scalar", "kind"), [*(("double", kind) for kind in KINDS), ("float", "direct")])
def test_inverse_dynamics_of_panda_needs_no_stack(scalar: str, kind: str) -> None:
    assert ".local" not in ptx("panda", "inverse_dynamics", scalar, kind)


@PTXAS
@pytest.mark.parametrize("card", CARDS)
def test_cards_take_the_text_of_every_kind(card: str) -> None:
    for scalar in SCALARS:
        for kind in KINDS:
            (needs,) = assembled(ptx(SMALL, "forward_dynamics", scalar, kind), card).values()
            assert needs.spilled == 0 and 10 < needs.registers < 128


@PTXAS
@pytest.mark.parametrize("quantity", NEVER_SPILLED)
def test_nothing_of_panda_is_spilled_in_doubles(quantity: str) -> None:
    kind = device_kernel("panda", quantity, "double").kind
    (needs,) = assembled(ptx("panda", quantity, "double", kind), "sm_90").values()
    assert needs.spilled == needs.stack == 0 and needs.registers <= 255


@PTXAS
def test_what_ptxas_does_not_take_is_an_error() -> None:
    with pytest.raises(da.DalembertError, match="ptxas rejects the text for sm_90"):
        assembled(".version 7.0\n.target sm_70\n.address_size 64\nnonsense", "sm_90")


# -- the target --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scalar", SCALARS)
def test_the_target_ptx_is_a_text_with_two_kernels_and_says_how_to_launch_them(scalar: str) -> None:
    source = da.load(SMALL).emit("inverse_dynamics", target="ptx", precision=WORDS[scalar])
    ((name, text),) = source.files.items()
    assert name == "planar_2r_inverse_dynamics.ptx" and isinstance(text, str)
    assert ".entry planar_2r_inverse_dynamics(" in text and ".entry planar_2r_inverse_dynamics_strided(" in text
    assert ".local" not in text and text.startswith("// inverse_dynamics of planar-2r.")
    said = " ".join(source.notes)
    for words in ("stride of q, stride of qd, stride of qdd, count", "dynamic shared memory", "multiplications"):
        assert words in said
    if shutil.which("ptxas"):
        needs = assembled(text, "sm_75")
        assert set(needs) == {"planar_2r_inverse_dynamics", "planar_2r_inverse_dynamics_strided"}
        assert all(kernel.spilled == 0 for kernel in needs.values())


def test_rows_that_need_much_shared_memory_say_that_it_must_be_asked_for() -> None:
    assert "must be requested" not in " ".join(da.load(SMALL).emit("inertia_matrix", target="ptx").notes)
    wide = da.load("scara").emit(["torque_derivatives", "regressor"], target="ptx", precision="single")
    assert "must be requested first: cuFuncSetAttribute" in " ".join(wide.notes)


def test_several_quantities_share_a_kernel() -> None:
    source = da.load(SMALL).emit(["inertia_matrix", "gravity_torque"], target="ptx")
    assert list(source.files) == ["planar_2r_inertia_matrix_gravity_torque.ptx"]
    assert "(q, B, g, stride of q, count)" in " ".join(source.notes)


# -- what is computed --------------------------------------------------------------------------------


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict]:
    """Kernels for GPUs run here."""
    yield on_this_machine(monkeypatch)


def states(kernel: DeviceKernel, lead: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, (*lead, *core)).astype(NUMBERS[kernel.scalar]) for _, core in kernel.signature.inputs]


def wanted(kernel: DeviceKernel, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The CPU's results in doubles."""
    name, quantity = kernel.parts
    results = da.load(name).kernel(quantity)(*(x.astype(float) for x in inputs))
    return list(results) if isinstance(results, tuple) else [results]


def agree(kernel: DeviceKernel, results: list[np.ndarray], inputs: list[np.ndarray]) -> None:
    expected = wanted(kernel, inputs)
    largest = max(np.abs(y).max() for y in expected)
    for x, y in zip(results, expected, strict=True):
        assert x.shape == y.shape and np.abs(x - y).max() <= TOLERANCES[kernel.scalar] * largest


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "inertia_matrix", "torque_derivatives"])
def test_full_blocks_and_those_that_are_not_full(kernels: dict, quantity: str, scalar: str) -> None:
    kernel = device_kernel(SMALL, quantity, scalar)
    for count in (1, 33, 64):
        inputs, outputs = states(kernel, (count,)), outputs_of(kernel, (count + 2,))
        launch(kernel, [described(x) for x in inputs], [described(y[1:-1]) for y in outputs], 0)
        agree(kernel, [y[1:-1] for y in outputs], inputs)
        assert all(np.isnan(y[[0, -1]]).all() for y in outputs)  # nothing is written beside the results
    assert [kind for _, _, kind in kernels] == [kernel.kind]


def test_wide_rows_come_out_in_pieces(kernels: dict) -> None:
    kernel = device_kernel("scara", "regressor", "double")
    size = prod(kernel.signature.outputs[0][1])
    assert size * 8 > WIDE  # else there would be one piece
    inputs, outputs = states(kernel, (35,)), outputs_of(kernel, (35,))
    launch(kernel, [described(x) for x in inputs], [described(y) for y in outputs], 0)
    agree(kernel, outputs, inputs)


def test_acts_give_what_one_tape_gives(kernels: dict) -> None:
    kernel = device_kernel("planar-3r", "forward_derivatives", "double", phases=True)
    assert kernel.phases is not None
    inputs, outputs = states(kernel, (33,)), outputs_of(kernel, (33,))
    launch(kernel, [described(x) for x in inputs], [described(y) for y in outputs], 0)
    agree(kernel, outputs, inputs)
    assert [kind for _, _, kind in kernels] == ["phases"]


@pytest.mark.parametrize("scalar", SCALARS)
def test_rows_of_any_layout(kernels: dict, scalar: str) -> None:
    kernel = device_kernel(SMALL, "inverse_dynamics", scalar)
    q, qd, qdd = states(kernel, (3, 2, 2, 3, 2))
    swap = (4, 2, 0, 3, 1, 5)
    flat = [x.reshape(-1, 2) for x in (q, qd, qdd)]
    columns = [np.asfortranarray(x) for x in flat]
    layouts = {
        "five axes that continue each other": ([q, qd, qdd], {kernel.kind}),
        "a row for all": ([flat[0], flat[1][0], flat[2][:1]], {"direct"}),
        "every third": ([x[::3] for x in flat], {"direct"}),
        "backwards": ([flat[0][::-1], flat[1], flat[2]], {"direct"}),
        "cores that are not contiguous": ([columns[0], flat[1], columns[2]], {"strided"}),
        "five axes in another order": ([x.transpose(swap) for x in (q, qd, qdd)], {"strided"}),
        "a table": ([flat[0][:5, None], flat[1][None, :4], flat[2][0]], {"strided"}),
        "stride 0": ([np.broadcast_to(flat[0][0], (40, 2)), flat[1][:40], flat[2][:40]], {"direct"}),
        "one state": ([flat[0][0], flat[1][0], flat[2][0]], {kernel.kind}),
        "none": ([flat[0][:0], flat[1][:0], flat[2][0]], set()),
    }
    for name, (inputs, kinds) in layouts.items():
        kernels.clear()
        arrays = [described(x) for x in inputs]
        lead = kernel.signature.leading([array.shape for array in arrays])
        assert lead == np.broadcast_shapes(*(x.shape[:-1] for x in inputs)), name
        outputs = outputs_of(kernel, lead)
        fresh = DeviceKernel(kernel.parts, kernel.signature, kernel.graph, scalar)  # which remembers no layouts
        launch(fresh, arrays, [described(y) for y in outputs], 0)
        assert {kind for _, _, kind in kernels} == kinds, name
        if outputs[0].size:
            agree(kernel, outputs, inputs)


def test_results_may_lie_anywhere(kernels: dict) -> None:
    kernel = device_kernel(SMALL, "inertia_matrix", "double")
    inputs = states(kernel, (9,))
    room = np.full((2, 2, 18), np.nan)
    output = room.transpose(2, 1, 0)[::2]
    launch(kernel, [described(x) for x in inputs], [described(output)], 0)
    agree(kernel, [output], inputs)
    assert np.isnan(room[:, :, 1::2]).all()


def test_a_rollout_is_that_of_the_cpu() -> None:
    """The kernel of a rollout has no barrier: a block of a few threads, two of which have no state."""
    from dalembert.compiler.quantities.rollouts import device_rollout
    from dalembert.compiler.quantities.step_program import Plan
    from host_grid import GRID

    arm, rng = da.load(SMALL), np.random.default_rng(1)
    rollout = device_rollout(arm.mechanism, Plan(method="rk4", law="given", friction=True), "double")
    function = compiled(rollout_grid_ir(rollout.program, rollout.graphs(), "double", cuda.NAME), 0)
    q, qd, tau = rng.uniform(-1, 1, (3, 6, 2))
    expected = arm.rollout(q, qd, tau, step=1e-3, steps=8, every=4)
    arrays = [q, qd, np.array([[1e-3]]), tau[:, None, :], *(np.zeros((6, 2, 2)) for _ in range(2))]
    sent: list[list[int]] = []
    with pytest.MonkeyPatch.context() as patch:
        on_this_machine(patch)
        patch.setattr(cuda, "_loaded", lambda *_: None)
        patch.setattr(cuda, "_launch", lambda kernel, count, numbers, stream: sent.append([count, *numbers]))
        rollout.launch([described(x) for x in arrays], 8, 2, 0)
    ((count, *numbers),) = sent
    assert count == 6
    GRID.run(function.call, 4, count, numbers)
    for result, want in zip(arrays[4:], expected, strict=True):
        np.testing.assert_allclose(result, want, rtol=0, atol=1e-13)


# -- pieces, layouts and orders ----------------------------------------------------------------------


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "torque_derivatives", "regressor", "body_jacobians"])
@pytest.mark.parametrize("size", [4, 8])
def test_pieces_have_every_result_once_in_the_order_of_memory(quantity: str, size: int) -> None:
    graph, signature = tape("scara", quantity)
    pieces = pieces_of(graph, signature, size)
    places = []
    for piece in pieces:
        spans = []
        for run in piece:
            assert run.width % 2 == 1 and run.width >= len(run.lines)
            assert run.size == prod(signature.arrays[run.array])
            places += [(run.array, run.first + k) for k in range(len(run.lines))]
            spans.append((run.before, run.before + run.width))
        assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
        assert sum(run.width for run in piece) <= max(WIDE // size, PIECE) + len(spans)
    inputs = len(signature.inputs)
    every = [(inputs + a, k) for a, (_, shape) in enumerate(signature.outputs) for k in range(prod(shape))]
    assert places == every
    assert [line for piece in pieces for run in piece for line in run.lines] == list(graph.outputs)
    assert len(pieces) == 1 or len(graph.outputs) * size > WIDE


def test_inputs_are_staged_where_there_is_room_and_no_row_meets_few_banks() -> None:
    def of(*sizes: int, results: int = 7) -> Signature:
        return Signature(tuple((f"x{k}", (n,)) for k, n in enumerate(sizes)), (("y", (results,)),))

    assert staged_inputs(of(7, 7, 7), "double") and staged_inputs(of(6, 6, 6), "float")
    assert not staged_inputs(of(7, 8, 7), "double")  # rows of 8 numbers use few banks
    assert not staged_inputs(of(101, 101), "double") and BYTES_OF_THREAD < 8 * 202
    assert Form(1, "float").bytes == 4


def test_axes_that_continue_each_other_are_one() -> None:
    rng = np.random.default_rng(2)
    assert collapsed((), [(), ()]) == ((), [(), ()])
    for _ in range(50):
        shape = tuple(int(n) for n in rng.integers(1, 4, rng.integers(1, 6)))
        whole = np.zeros(shape)
        turned = whole.transpose(rng.permutation(len(shape)))
        arrays = [turned, np.broadcast_to(np.zeros(turned.shape[-1:]), turned.shape)]
        lengths, strides = collapsed(turned.shape, [x.strides for x in arrays])
        assert prod(lengths) == turned.size and 1 not in lengths

        def addresses(of: tuple[int, ...], steps: tuple[int, ...]) -> list[int]:
            return [int(sum(i * s for i, s in zip(index, steps, strict=True))) for index in np.ndindex(of)]

        for x, own in zip(arrays, strides, strict=True):
            assert addresses(lengths, own) == addresses(turned.shape, x.strides)
    assert collapsed((2, 3, 4), [(96, 32, 8)]) == ((24,), [(8,)])


def test_more_axes_than_a_kernel_takes_are_gone_through_one_by_one() -> None:
    lengths, steps = (2, 3, 4, 5, 6), [(720, 240, 60, 12, 2), (0, 0, 0, 0, 0)]
    launches = list(cuda._by_axes(lengths, steps))
    assert [offsets for offsets, _, _ in launches] == [[0, 0], [720, 0]]
    for _, inner, within in launches:
        assert inner == lengths[1:] and within == [of[1:] for of in steps] and len(inner) == AXES
    ((offsets, inner, within),) = cuda._by_axes((5,), [(8,)])
    assert offsets == [0] and inner == (1, 1, 1, 5) and within == [(0, 0, 0, 8)]


def test_leading_shapes_broadcast_or_are_refused() -> None:
    signature = Signature((("q", (2,)), ("A", (3, 3))), (("y", ()),))

    def shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
        return signature.leading(shapes)

    assert shape((5, 1, 2), (4, 3, 3)) == (5, 4) and shape((2,), (3, 3)) == () and shape((0, 2), (3, 3)) == (0,)
    with pytest.raises(da.ShapeError, match=r"do not broadcast: q \(5, 2\), A \(4, 3, 3\)"):
        shape((5, 2), (4, 3, 3))


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "torque_derivatives", "regressor"])
def test_another_order_of_a_tape_gives_the_same_numbers_and_lets_no_more_wait(quantity: str) -> None:
    graph, _ = tape("puma560", quantity)
    given = list(np.random.default_rng(3).uniform(-1, 1, len(graph.inputs)))
    live = live_lines(graph)
    own = most_waiting(graph, [line for line in range(len(graph.nodes)) if live[line]])
    for order in (eased, by_outputs):
        other = order(graph)
        for line in range(len(other.nodes)):
            assert all(operand < line for operand in other.operands(line))
        assert evaluate(other, given) == evaluate(graph, given)
        assert sorted(map(str, other.nodes)) != [] and len(other.nodes) <= len(graph.nodes)
    waiting = most_waiting(eased(graph), list(range(len(eased(graph).nodes))))
    assert waiting <= own


@pytest.mark.parametrize(("most", "kind"), [(1 << 20, "phases"), (1 << 10, "one phase")])
def test_several_acts_are_one_where_a_card_has_too_little_shared_memory(
    monkeypatch: pytest.MonkeyPatch, most: int, kind: str
) -> None:
    kernel, asked = device_kernel("planar-2r", "forward_derivatives", "double", phases=True), []
    monkeypatch.setattr(cuda, "_most_shared", lambda device: most)
    monkeypatch.setattr(cuda, "_loaded", lambda key, *_: asked.append(key[-1]))
    kernel.loaded(0, kernel.kind)
    assert kernel.kind == "phases" and asked == [kind if kind == "phases" else kernel.one_phase]
