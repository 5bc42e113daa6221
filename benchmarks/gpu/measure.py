"""Speed on one GPU: shares of its copy bandwidth, latencies, the rollout, and other libraries on the same GPU in the same run.

    python3 benchmarks/gpu/peers.py out/peers          # on a machine with a network
    python3 benchmarks/gpu/measure.py OUT --peers out/peers

Every section runs in its own process, so that one that fails or takes too long does not affect the others. The folder
OUT receives ``rows.jsonl``, with one line per figure, ``RESULTS.md``, with the tables made from it, and ``log.txt``. With
``--device cpu`` everything runs with few states on the CPU, as a trial; with ``--tables`` only the tables are rewritten.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

# quantity → (inputs, goals for the share of the copy bandwidth in float64 and in float32)
GOALS: dict[str, tuple[int, dict[str, int]]] = {
    "inverse_dynamics": (3, {"float64": 90, "float32": 85}),
    "forward_dynamics": (3, {"float64": 70}),
    "inertia_matrix": (1, {"float64": 92}),
    "jacobian": (1, {"float64": 92}),
    "gravity_torque": (1, {"float64": 92}),
    "coriolis_matrix": (2, {"float64": 82}),
    "torque_derivatives": (3, {"float64": 70}),
    "regressor": (3, {"float64": 60}),
    "forward_derivatives": (3, {"float64": 40}),
}
PEER_QUANTITIES = {"inverse_dynamics": 3, "inertia_matrix": 1, "forward_dynamics": 3}
ACCURACY = {"float64": 1e-12, "float32": 2e-5}
CALLS = 50  # calls per graph, so that the cost of starting one is small
AGREEMENT = {"float64": 1e-8, "float32": 1e-4}  # tolerance for other libraries, whose URDF file has fewer digits of π
# section → time limit in seconds; the most important come first, in case time runs out
SECTIONS = {
    "shares": 150, "latency": 50, "rollout": 50,
    "ours-float32": 50, "frax-float32": 90, "adam_replay-float32": 50, "adam-float32": 60,
    "ours-float64": 50, "frax-float64": 90, "adam_replay-float64": 50, "adam-float64": 60,
    "adam_compiled-float32": 300,
}  # fmt: skip


class Bench:
    """The device, the number of states, and the destination of rows."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.device, self.out, self.peers = options.device, Path(options.out), Path(options.peers)
        self.on_gpu = self.device != "cpu"
        self.states = 1 << 24 if self.on_gpu else 1 << 9
        self.few = (1024, 4096) if self.on_gpu else (32, 64)
        self.batches = (*self.few, 1_000_000 if self.on_gpu else 128)

    def row(self, section: str, **values: Any) -> None:
        """Print and store a row."""
        with (self.out / "rows.jsonl").open("a") as file:
            file.write(json.dumps({"section": section, **values}) + "\n")
        words = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in values.items())
        print(f"{section}:", ", ".join(words), flush=True)

    def wait(self) -> None:
        """Wait until the GPU is done."""
        if self.on_gpu:
            import torch

            torch.cuda.synchronize()

    def seconds(self, run: Callable[[], Any], most: int = 20, rounds: int = 5, patience: float = 0.25) -> float:
        """Seconds per run, the best of several rounds of up to ``most`` runs; a round takes at most about ``patience`` seconds."""
        run()
        self.wait()
        began = time.perf_counter()
        run()
        self.wait()
        once = max(time.perf_counter() - began, 1e-6)
        times = max(min(most, int(patience / once)), 1)
        return min(self._round(run, times) for _ in range(rounds)) / times

    def _round(self, run: Callable[[], Any], times: int) -> float:
        if not self.on_gpu:
            began = time.perf_counter()
            for _ in range(times):
                run()
            return time.perf_counter() - began
        import torch

        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(times):
            run()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e-3

    def numbers(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Uniform samples in [−2, 2], always the same."""
        import torch

        torch.manual_seed(len(shape) + shape[-1])
        return torch.rand(shape, dtype=getattr(torch, dtype), device=self.device).mul_(4).sub_(2)

    def replayed(self, run: Callable[[], Any], calls: int = 1) -> Callable[[], Any]:
        """The run, repeated in a CUDA graph that is replayed; on the CPU, the run itself."""
        if not self.on_gpu:
            return run
        import torch

        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                run()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                kept = run()

        def replay(graph: Any = graph, kept: Any = kept) -> Any:
            graph.replay()
            return kept

        return replay


def whole(results: Any) -> list[Any]:
    """One array or several, as a list."""
    return list(results) if isinstance(results, tuple) else [results]


def difference(results: Any, wanted: Any) -> float:
    """The largest difference, relative to the largest number of its array."""
    import numpy as np

    worst = 0.0
    for result, want in zip(whole(results), whole(wanted), strict=True):
        got = np.asarray(result.cpu() if hasattr(result, "cpu") else result, dtype=float)
        worst = max(worst, float(np.abs(got - want).max() / max(np.abs(want).max(), 1e-300)))
    return worst


# -- ours --------------------------------------------------------------------------------------------


def copy_bandwidth(bench: Bench) -> float:
    """Bytes read and written per second by a copy of 4.3 GB."""
    import torch

    source = torch.zeros(1 << 29 if bench.on_gpu else 1 << 18, dtype=torch.float64, device=bench.device)
    target = torch.empty_like(source)
    return 2 * source.numel() * 8 / bench.seconds(lambda: target.copy_(source))


def shares(bench: Bench) -> None:
    """Every quantity with a goal for very many states, through the method and by the bare launch."""
    import torch

    import dalembert as da

    arm, copy = da.load("panda"), copy_bandwidth(bench)
    name = torch.cuda.get_device_name() if bench.on_gpu else "CPU"
    bench.row("machine", name=name, copy=copy, torch=torch.__version__, cuda=str(torch.version.cuda))
    for quantity, (inputs, goals) in GOALS.items():
        for dtype, accuracy in ACCURACY.items():
            share(bench, arm, copy, quantity, inputs, dtype, accuracy, goals.get(dtype))
            if bench.on_gpu:
                torch.cuda.empty_cache()


def share(
    bench: Bench, arm: Any, copy: float, quantity: str, inputs: int, dtype: str, accuracy: float, goal: int | None
) -> None:
    """One row of the table."""
    import torch

    method = getattr(arm, quantity)
    few = [bench.numbers((2000, arm.n), dtype) for _ in range(inputs)]
    few = [x.roll(k, 0) for k, x in enumerate(few)]
    reference = [x.cpu().double().numpy() for x in few]
    error = difference(method(*few), method(*reference))
    far, far_reference = [few[0] * 5e8, *few[1:]], [(few[0] * 5e8).cpu().double().numpy(), *reference[1:]]
    far_error = difference(method(*far), method(*far_reference))
    size = few[0].element_size()
    results = whole(method(*few))
    state = size * (inputs * arm.n + sum(x[0].numel() for x in results))
    room = torch.cuda.mem_get_info()[0] if bench.on_gpu else 10**8
    states = min(bench.states, int(0.6 * room / state) // 4096 * 4096)
    many = [bench.numbers((states, arm.n), dtype) for _ in range(inputs)]
    seconds = bench.seconds(lambda: method(*many))
    row = {
        "quantity": quantity, "dtype": dtype, "states": states, "rate": states / seconds,
        "share": 100 * states * state / seconds / copy, "goal": goal, "error": error, "far_error": far_error,
        "accuracy": accuracy,
    }  # fmt: skip
    if bench.on_gpu:
        from dalembert.compiler.foreign import on_torch
        from dalembert.compiler.foreign.call import registered
        from dalembert.compiler.kernel import cuda

        key, _ = arm.foreign_call(quantity, None, ())
        kernel = registered(key).device_kernels[cuda.SCALARS[dtype]]
        outputs = whole(method(*many))
        arrays = [[on_torch.described(x) for x in group] for group in (many, outputs)]
        stream = on_torch.stream_of(many[0])
        seconds = bench.seconds(lambda: cuda.launch(kernel, *arrays, stream))
        (launched,) = list(kernel.layouts.values())[-1]
        loaded = launched.kernel
        attributes = cuda._driver().CUfunction_attribute
        registers, local = (
            int(cuda._call("cuFuncGetAttribute", getattr(attributes, f"CU_FUNC_ATTRIBUTE_{x}"), loaded.function))
            for x in ("NUM_REGS", "LOCAL_SIZE_BYTES")
        )
        row |= {
            "launch_share": 100 * states * state / seconds / copy, "registers": registers, "local": local,
            "block": loaded.block,
        }  # fmt: skip
    bench.row("shares", **row)


def latency(bench: Bench) -> None:
    """Few states: a method on tensors, queued and waited for, and its CUDA graph replayed."""
    import dalembert as da

    arm = da.load("panda")
    for quantity, (inputs, _) in GOALS.items():
        if quantity not in (*PEER_QUANTITIES, "torque_derivatives"):
            continue
        method = getattr(arm, quantity)
        for dtype in ACCURACY:
            for states in bench.few:
                arrays = [bench.numbers((states, arm.n), dtype) for _ in range(inputs)]
                run = partial(method, *arrays)
                eager = bench.seconds(run, 200)

                def waited(run: Callable[[], Any] = run) -> None:
                    run()
                    bench.wait()

                alone = bench.seconds(waited, 50)
                replay = bench.replayed(run)
                error = difference(replay(), method(*(x.cpu().double().numpy() for x in arrays)))
                bench.row(
                    "latency", quantity=quantity, dtype=dtype, states=states, eager=eager, waited=alone,
                    replay=bench.seconds(replay, 200), error=error,
                )  # fmt: skip


def rollout(bench: Bench) -> None:
    """10⁶ states of panda, 1,000 steps of RK4 with constant torques, and a few of them against the CPU."""
    import numpy as np

    import dalembert as da

    arm = da.load("panda")
    states, steps = (1_000_000, 1000) if bench.on_gpu else (16, 20)
    for dtype in ("float32", "float64"):
        q, qd = bench.numbers((states, arm.n), dtype), bench.numbers((states, arm.n), dtype).mul_(0.1)
        tau = bench.numbers((states, arm.n), dtype)
        if not bench.on_gpu:
            q, qd, tau = (x.numpy() for x in (q, qd, tau))
        short, reference = [x[:64] for x in (q, qd, tau)], []
        for x in short:
            reference.append(np.asarray(x.cpu() if bench.on_gpu else x, dtype=float))
        error = difference(arm.rollout(*short, step=1e-3, steps=20), arm.rollout(*reference, step=1e-3, steps=20))
        arm.rollout(q, qd, tau, step=1e-3, steps=2)
        bench.wait()
        began = time.perf_counter()
        end, _ = arm.rollout(q, qd, tau, step=1e-3, steps=steps)
        bench.wait()
        seconds = time.perf_counter() - began
        finite = float(np.isfinite(np.asarray(end[:1000].cpu() if bench.on_gpu else end)).mean())
        bench.row(
            "rollout", dtype=dtype, states=states, steps=steps, seconds=seconds, rate=states * steps / seconds,
            error=error, finite=finite,
        )  # fmt: skip


# -- comparison --------------------------------------------------------------------------------------


def same_arm(bench: Bench) -> Any:
    """The arm from the file that all libraries read."""
    import dalembert as da

    return da.load(bench.peers / "panda.urdf", physical="warn")


def peer_inputs(quantity: str, dtype: str, states: int, n: int) -> list[Any]:
    """The same states for all libraries, as NumPy arrays."""
    import numpy as np

    rng = np.random.default_rng(states)
    return [rng.uniform(-1.0, 1.0, (states, n)).astype(dtype) for _ in range(PEER_QUANTITIES[quantity])]


def compared(
    bench: Bench, arm: Any, library: str, how: str, quantity: str, dtype: str, states: int, **more: Any
) -> None:
    """A row of the comparison: ``more`` has the results, if they are to be checked, and the seconds."""
    error = None
    if "results" in more:
        results, few = more.pop("results"), min(states, 256)
        inputs = peer_inputs(quantity, dtype, states, arm.n)
        wanted = getattr(arm, quantity)(*(x[:few].astype(float) for x in inputs))
        error = difference(results[:few], wanted)
        allowed = AGREEMENT[dtype] * (100.0 if quantity == "forward_dynamics" else 1.0)  # the condition of B
        if not error <= allowed:
            sys.exit(f"{library} and dalembert differ by {error:.1e} in {quantity}, {dtype}; no figures are recorded")
    bench.row("peers", library=library, how=how, quantity=quantity, dtype=dtype, states=states, error=error, **more)


def ours(bench: Bench, dtype: str) -> None:
    """Our kernels on PyTorch tensors, replayed for few states, and on JAX arrays in jit."""
    os.environ["JAX_ENABLE_X64"] = "1" if dtype == "float64" else "0"
    import torch

    arm = same_arm(bench)
    for quantity in PEER_QUANTITIES:
        method = getattr(arm, quantity)
        for states in bench.batches:
            inputs = [torch.as_tensor(x, device=bench.device) for x in peer_inputs(quantity, dtype, states, arm.n)]
            run = partial(method, *inputs)
            row = partial(compared, bench, arm, "dalembert", quantity=quantity, dtype=dtype, states=states)
            row(how="PyTorch", results=run(), seconds=bench.seconds(run, 200))
            if states in bench.few:
                replay = bench.replayed(run)
                row(how="PyTorch, graph replay", results=replay(), seconds=bench.seconds(replay, 200))
                many = bench.replayed(run, CALLS)  # as frax's loop on the device
                row(how=f"PyTorch, graph of {CALLS} calls", results=many(), seconds=bench.seconds(many, 50) / CALLS)
    import jax

    for quantity in PEER_QUANTITIES:
        method = jax.jit(getattr(arm, quantity))
        for states in bench.batches:
            given = [jax.device_put(x) for x in peer_inputs(quantity, dtype, states, arm.n)]
            results = method(*given)
            compared(
                bench, arm, "dalembert", "JAX, jit", quantity, dtype, states,
                results=results, seconds=jax_seconds(method, given),
            )  # fmt: skip


def jax_seconds(function: Callable[..., Any], arrays: list[Any], most: int = 200) -> float:
    """Seconds per call of many queued calls."""
    import jax

    began = time.perf_counter()
    jax.block_until_ready(function(*arrays))
    times = max(min(most, int(0.25 / max(time.perf_counter() - began, 1e-6))), 1)
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(times):
            results = function(*arrays)
        jax.block_until_ready(results)
        best = min(best, (time.perf_counter() - began) / times)
    return best


def without_lxml() -> None:
    """Install Python's own XML reader under the name lxml, as far as URDF readers use it, unless lxml is available."""
    if importlib.util.find_spec("lxml") is not None:
        return
    from xml.etree import ElementTree

    class Node(ElementTree.Element):
        def getchildren(self) -> list[Any]:
            return list(self)

    def reader(**_: Any) -> Any:
        return ElementTree.XMLParser(target=ElementTree.TreeBuilder(element_factory=Node))

    package, etree = types.ModuleType("lxml"), types.ModuleType("lxml.etree")
    vars(etree).update({k: v for k, v in vars(ElementTree).items() if not k.startswith("__")})
    vars(etree).update(
        Element=Node, _Comment=type("_Comment", (), {}), XMLParser=reader,
        fromstring=lambda text, parser=None: ElementTree.fromstring(text, parser or reader()),
        parse=lambda file, parser=None: ElementTree.parse(file, parser or reader()),
    )  # fmt: skip
    package.etree = etree  # type: ignore[attr-defined]
    sys.modules.update({"lxml": package, "lxml.etree": etree})


def frax(bench: Bench, dtype: str) -> None:
    """frax: jit of vmap, call by call, and for few states in a loop on the device, without the cost of calls."""
    os.environ["JAX_ENABLE_X64"] = "1" if dtype == "float64" else "0"
    import warnings

    warnings.simplefilter("ignore")
    without_lxml()
    sys.path.insert(0, str(bench.peers))
    import jax
    import jax.numpy as jnp
    from frax import Manipulator

    arm, robot = same_arm(bench), Manipulator(str(bench.peers / "panda.urdf"))
    gravity = jnp.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])
    functions = {
        "inverse_dynamics": lambda q, qd, qdd: robot.rnea(q, qd, qdd, gravity, None),
        "inertia_matrix": robot.crba,
        "forward_dynamics": lambda q, qd, tau: robot.forward_dynamics(q, qd, tau, None),
    }
    precision = ""
    for quantity, function in functions.items():
        many = jax.vmap(function)
        for states in bench.batches:
            given = [jax.device_put(x) for x in peer_inputs(quantity, dtype, states, arm.n)]
            run = jax.jit(many)
            results = run(*given)
            few = [x[:256].astype(float) for x in peer_inputs(quantity, dtype, states, arm.n)]
            if difference(results[:256], getattr(arm, quantity)(*few)) > AGREEMENT[dtype]:
                # matrix products use 10-bit mantissas (TF32) by default
                jax.config.update("jax_default_matmul_precision", "highest")
                precision, run = ", full precision", jax.jit(many)
                results = run(*given)
            seconds = jax_seconds(run, given)
            row = partial(compared, bench, arm, "frax", quantity=quantity, dtype=dtype, states=states)
            row(how=f"JAX, jit{precision}", results=results, seconds=seconds)
            if states in bench.few:
                row(how=f"JAX, loop on the device{precision}", seconds=looped(many, given))


def looped(many: Callable[..., Any], given: list[Any], times: int = 100) -> float:
    """Seconds per evaluation in a loop run by XLA, in which each uses the result of the previous one."""
    import jax

    @jax.jit
    def loop(first: Any, *others: Any) -> Any:
        def body(_: int, x: Any) -> Any:
            results = many(x, *others)
            return x + 1e-30 * results.reshape(x.shape[0], -1)[:, : x.shape[1]]

        return jax.lax.fori_loop(0, times, body, first)

    return jax_seconds(loop, given, 20) / times


def adam_functions(bench: Bench, arm: Any, dtype: str) -> dict[str, Callable[..., Any]]:
    """ADAM's functions; its base floats, so torques follow from its mass matrix and bias with the base held fixed."""
    import contextlib
    import io

    without_lxml()
    sys.path.insert(0, str(bench.peers))
    import torch
    from adam.pytorch import KinDynComputationsBatch

    kind = getattr(torch, dtype)
    gravity = torch.as_tensor([0, 0, -9.81, 0, 0, 0], dtype=kind)
    with (
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.redirect_stdout(io.StringIO()),
    ):  # it reports unknown tags
        model = KinDynComputationsBatch(
            str(bench.peers / "panda.urdf"), list(arm.joint_names), torch.device(bench.device), kind, gravity=gravity
        )

    def base(q: Any) -> tuple[Any, Any]:
        still = torch.eye(4, dtype=kind, device=q.device).expand(*q.shape[:-1], 4, 4)
        return still, torch.zeros((*q.shape[:-1], 6), dtype=kind, device=q.device)

    def inertia_matrix(q: Any) -> Any:
        return model.mass_matrix(base(q)[0], q)[..., 6:, 6:]

    def bias(q: Any, qd: Any) -> Any:
        still, rest = base(q)
        return model.bias_force(still, q, rest, qd)[..., 6:]

    def inverse_dynamics(q: Any, qd: Any, qdd: Any) -> Any:
        return (inertia_matrix(q) @ qdd[..., None])[..., 0] + bias(q, qd)

    def forward_dynamics(q: Any, qd: Any, tau: Any) -> Any:
        return torch.linalg.solve_ex(inertia_matrix(q), tau - bias(q, qd))[0]

    return {
        "inverse_dynamics": inverse_dynamics,
        "inertia_matrix": inertia_matrix,
        "forward_dynamics": forward_dynamics,
    }


def adam(bench: Bench, dtype: str) -> None:
    """ADAM: its PyTorch functions without changes."""
    adam_ways(bench, dtype, bench.batches, False)


def adam_replay(bench: Bench, dtype: str) -> None:
    """ADAM for few states, as replayed CUDA graphs."""
    adam_ways(bench, dtype, bench.few, True)


def adam_ways(bench: Bench, dtype: str, batches: tuple[int, ...], replayed: bool) -> None:
    """All its quantities for batches of these sizes."""
    import torch

    arm = same_arm(bench)
    with torch.no_grad():
        for quantity, function in adam_functions(bench, arm, dtype).items():
            for states in batches:
                inputs = [torch.as_tensor(x, device=bench.device) for x in peer_inputs(quantity, dtype, states, arm.n)]
                run: Callable[[], Any] = partial(function, *inputs)
                if replayed:
                    run = bench.replayed(run)
                compared(
                    bench, arm, "ADAM", "PyTorch, graph replay" if replayed else "PyTorch", quantity, dtype, states,
                    results=run(), seconds=bench.seconds(run, 50, 3),
                )  # fmt: skip


def adam_compiled(bench: Bench, dtype: str) -> None:
    """ADAM's inverse dynamics compiled by PyTorch, which takes minutes: request it with ``--only``."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    arm, quantity, states = same_arm(bench), "inverse_dynamics", bench.batches[-1]
    with torch.no_grad():
        inputs = [torch.as_tensor(x, device=bench.device) for x in peer_inputs(quantity, dtype, states, arm.n)]
        operations = make_fx(adam_functions(bench, arm, dtype)[quantity])(*inputs)
        module = torch.compile(operations, fullgraph=True, dynamic=False)
        run = partial(module, *inputs)
        compared(
            bench, arm, "ADAM", "PyTorch, compiled", quantity, dtype, states,
            results=run(), seconds=bench.seconds(run),
        )  # fmt: skip


# -- tables ------------------------------------------------------------------------------------------


def tables(rows: list[dict[str, Any]]) -> str:
    """All rows as a page."""
    chosen = {
        name: [row for row in rows if row["section"] == name] for name in ("shares", "latency", "rollout", "peers")
    }
    lines = [
        "# Speed on one GPU",
        "",
        "Written by `benchmarks/gpu/measure.py`; `rows.jsonl` in the same folder has every figure.",
        "",
    ]
    for row in rows:
        if row["section"] == "machine":
            lines += [
                f"{row['name']}, copy {row['copy'] / 1e12:.2f} TB/s (read and written), PyTorch {row['torch']}.",
                "",
            ]
        if row["section"] == "failed":
            lines += [f"The section {row['name']} did not complete ({row['why']}).", ""]
    lines += ["## Shares of the copy bandwidth", "", "`panda`, PyTorch tensors through the arm's methods.", ""]
    lines += table(
        ["quantity", "numbers", "states", "10⁹ states/s", "share", "goal", "launch alone", "registers", "local bytes",
         "error", "error at 10⁹ rad"],
        ([r["quantity"], r["dtype"], f"{r['states']:,}", f"{r['rate'] / 1e9:.2f}", f"{r['share']:.1f} %",
          reached(r["share"], r["goal"]), percent(r.get("launch_share")), r.get("registers", ""), r.get("local", ""),
          f"{r['error']:.1e}", f"{r['far_error']:.1e}"] for r in chosen["shares"]),
    )  # fmt: skip
    lines += [
        "## Few states",
        "",
        "Microseconds: methods queued one after the other, one call waited for, CUDA graph replayed.",
        "",
    ]
    lines += table(
        ["quantity", "numbers", "states", "queued", "waited for", "replayed"],
        ([r["quantity"], r["dtype"], f"{r['states']:,}", *(f"{1e6 * r[k]:.1f}" for k in ("eager", "waited", "replay"))]
         for r in chosen["latency"]),
    )  # fmt: skip
    lines += ["## Rollout", "", "`panda`, RK4, constant torques; one thread performs all steps of a state.", ""]
    lines += table(
        ["numbers", "states", "steps", "time", "10⁹ steps/s", "error after 20 steps"],
        ([r["dtype"], f"{r['states']:,}", f"{r['steps']:,}", f"{r['seconds']:.2f} s", f"{r['rate'] / 1e9:.2f}",
          f"{r['error']:.1e}"] for r in chosen["rollout"]),
    )  # fmt: skip
    return "\n".join(lines + side_by_side(chosen["peers"]))


def side_by_side(rows: list[dict[str, Any]]) -> list[str]:
    """Our times relative to the better of the other libraries at every size, then every figure."""
    lines = ["## Comparison", "", "frax's `panda.urdf`, microseconds per batch, the best variant of each library.", ""]
    cases = dict.fromkeys((r["quantity"], r["dtype"], r["states"]) for r in rows)
    body = []
    for case in cases:
        best: dict[str, float] = {}
        for r in rows:
            if (r["quantity"], r["dtype"], r["states"]) == case:
                best[r["library"]] = min(best.get(r["library"], float("inf")), r["seconds"])
        others = [best[x] for x in best if x != "dalembert"]
        ratio = f"{min(others) / best['dalembert']:.1f}" if others and "dalembert" in best else ""
        times = [f"{1e6 * best[x]:,.1f}" if x in best else "" for x in ("dalembert", "frax", "ADAM")]
        body.append([case[0], case[1], f"{case[2]:,}", *times, ratio, "20"])
    lines += table(["quantity", "numbers", "states", "dalembert", "frax", "ADAM", "ratio to the better", "goal"], body)
    lines += ["All measured variants:", ""]
    lines += table(
        ["quantity", "numbers", "states", "library", "way", "µs", "difference from dalembert in double precision on the CPU"],
        ([r["quantity"], r["dtype"], f"{r['states']:,}", r["library"], r["how"], f"{1e6 * r['seconds']:,.1f}",
          "" if r["error"] is None else f"{r['error']:.1e}"] for r in rows),
    )  # fmt: skip
    return lines


def table(head: list[str], body: Iterable[list[Any]]) -> list[str]:
    """Lines of a table."""
    return [
        f"| {' | '.join(head)} |", "|" + "---|" * len(head),
        *(f"| {' | '.join(map(str, cells))} |" for cells in body), "",
    ]  # fmt: skip


def percent(value: float | None) -> str:
    """A share, if there is one."""
    return "" if value is None else f"{value:.1f} %"


def reached(value: float, goal: int | None) -> str:
    """The goal, marked if it is missed."""
    return "" if goal is None else f"{goal} %" if value >= goal else f"{goal} % (missed)"


# -- all sections ------------------------------------------------------------------------------------

RUN: dict[str, Callable[..., None]] = {
    "shares": shares, "latency": latency, "rollout": rollout, "ours": ours, "frax": frax, "adam": adam,
    "adam_replay": adam_replay, "adam_compiled": adam_compiled,
}  # fmt: skip


def run_section(bench: Bench, section: str) -> None:
    """Run one section in this process."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if not bench.on_gpu:
        os.environ["JAX_PLATFORMS"] = "cpu"
    name, _, dtype = section.partition("-")
    RUN[name](bench, *([dtype] if dtype else []))


def run_all(bench: Bench, arguments: list[str], chosen: list[str], budget: float) -> None:
    """Run each section in its own process; rows that a section printed before it failed are kept."""
    began = time.monotonic()
    with (bench.out / "log.txt").open("a") as log:
        for section in chosen:
            left = budget - (time.monotonic() - began)
            limit = min(SECTIONS[section], left)
            if limit < 5:
                bench.row("failed", name=section, why="no time was left")
                continue
            started = time.monotonic()
            command = [sys.executable, "-u", __file__, *arguments, "--section", section]
            try:
                done = subprocess.run(command, timeout=limit, stdout=None, stderr=subprocess.PIPE, text=True)
                text, why = done.stderr, f"exit status {done.returncode}" if done.returncode else ""
            except subprocess.TimeoutExpired as late:
                text, why = (late.stderr or b"").decode(errors="replace"), f"stopped after {limit:.0f} s"
            log.write(f"==== {section}: {time.monotonic() - started:.1f} s\n{text}\n")
            print(f"---- {section}: {time.monotonic() - started:.1f} s {why}", flush=True)
            if why:
                print("\n".join(text.splitlines()[-8:]), flush=True)
                bench.row("failed", name=section, why=why)


def main() -> None:
    """Run all sections, or one of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="folder for the figures")
    parser.add_argument("--peers", default="out/peers", help="folder of peers.py")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--budget", type=float, default=350.0, help="seconds for all sections together")
    parser.add_argument(
        "--only", nargs="*", default=list(SECTIONS)[:-1], choices=list(SECTIONS), help="sections to run"
    )
    parser.add_argument("--tables", action="store_true", help="rewrite the tables from existing rows")
    parser.add_argument("--section", help=argparse.SUPPRESS)
    options = parser.parse_args()
    bench = Bench(options)
    bench.out.mkdir(parents=True, exist_ok=True)
    if options.section:
        run_section(bench, options.section)
        return
    rows = bench.out / "rows.jsonl"
    if not options.tables:
        rows.write_text("")
        arguments = [options.out, "--peers", options.peers, "--device", options.device]
        run_all(bench, arguments, options.only, options.budget)
    text = tables([json.loads(line) for line in rows.read_text().splitlines()])
    (bench.out / "RESULTS.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
