"""Benchmark dalembert against other libraries in one run, and write RESULTS.md with its figures (make bench, make bench-quick).

Every library runs in its own process and environment, created under out/bench, on the same models and states. Its results are
compared with ours before it is timed. Libraries alternate within every measurement, so that other work on the machine affects
all of them equally; the minimum time counts.

    python benchmarks/page.py [--quick] [--text] [PEER...]

--quick measures fewer cases and writes to out/bench; --text only rewrites the page from the last figures.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np

import dalembert as da
from dalembert.work.analysis.price import chain
from page_text import write
from peers.dalembert import compared
from peers.host import BENCHMARKS, OUT, ROOT, Peer, PeerError
from peers.protocol import INPUTS

BEFORE = "09bd3a382962e698f0b4f5309fa313172236b0fc"  # the last commit of 0.1 before issue 14
CHECKED = 16  # number of states compared
OURS = "dalembert"
EACH = ("panda", "iiwa14", "ur5e")
PAID, SHORT = 4.0, 0.1  # s: calls that take longer are omitted; longest call that takes part in all rounds
LONGEST = 45.0  # s: time limit of a library for a model; beyond it, longer chains are omitted
COLD = 3  # processes


@dataclass(frozen=True)
class Plan:
    """The extent of the measurements."""

    batches: tuple[int, ...] = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
    joints: tuple[int, ...] = (2, 4, 7, 10, 20, 30, 60, 100)
    states: int = 10_000
    chain_states: int = 256
    rounds: int = 5
    seconds: float = 0.04


QUICK = Plan(batches=(1, 100, 10_000), joints=(2, 7, 12), states=1_000, chain_states=200, rounds=2, seconds=0.01)


def peers() -> list[Peer]:
    """All libraries, dalembert first."""
    source = ROOT / "src"
    ours = {"DALEMBERT_CACHE": str(OUT / "cache")}
    return [
        Peer(OURS, "dalembert", paths=[source], environment=ours),
        Peer("before", f"dalembert before ({BEFORE[:7]})", paths=[OUT / "before" / "src"], file="dalembert",
             environment={"DALEMBERT_CACHE": str(OUT / "before" / "cache")}),
        Peer("pinocchio", "Pinocchio", ["pin"]),
        Peer("mujoco", "MuJoCo", ["mujoco"]),
        Peer("drake", "Drake", ["drake"]),
        Peer("toolbox", "Robotics Toolbox", ["roboticstoolbox-python"]),
        Peer("casadi", "C by CasADi", ["casadi"], paths=[source]),
        Peer("frax", "frax (JAX)", ["frax"]),
    ]  # fmt: skip


# -- models and states for all libraries -------------------------------------------------------------


def bare(arm: da.Arm) -> da.Arm:
    """Rigid bodies only, which all libraries support; with limits, because URDF joints without them are continuous."""
    joints = []
    for joint in arm.robot.joints:
        limited = (
            joint.limits if joint.limits.lower is not None else da.Limits(-2 * np.pi, 2 * np.pi, 10.0, None, 1000.0)
        )
        joints.append(replace(joint, friction=da.Friction(), rotor=None, limits=limited))
    return da.Arm(arm.robot.replace(joints=tuple(joints)))


def make_case(name: str, arm: da.Arm, count: int, quantities: Sequence[str]) -> None:
    """Write a folder with the arm, states, and our results for the first of them."""
    arm, folder = bare(arm), OUT / "cases" / name
    folder.mkdir(parents=True, exist_ok=True)
    arm.save(folder / "arm.toml")
    arm.save(folder / "arm.urdf")
    rng = np.random.default_rng(0)
    states = {x: rng.uniform(-2, 2, (count, arm.n)) for x in ("q", "qd", "qdd")}
    states["tau"] = arm.inverse_dynamics(states["q"], states["qd"], states["qdd"])
    for x, array in states.items():
        np.save(folder / f"{x}.npy", array)
    for quantity in quantities:
        result = getattr(arm, quantity)(*(states[x][:CHECKED] for x in INPUTS[quantity]))
        np.save(folder / f"{quantity}.npy", compared(arm, quantity, result))


def earlier_source() -> None:
    """Unpack our earlier source, against which progress is measured."""
    if (OUT / "before" / "src").exists():
        return
    done = subprocess.run(["git", "archive", BEFORE, "src"], cwd=ROOT, capture_output=True)
    if done.returncode:
        raise PeerError("its commit is not in this copy of the repository")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(OUT / "before", filter="data")


# -- measuring ---------------------------------------------------------------------------------------


class Measurement:
    """All libraries, their capabilities, and the figures measured."""

    def __init__(self, plan: Plan, asked: Sequence[Peer]) -> None:
        self.plan = plan
        self.peers: list[Peer] = []
        self.accepted: dict[tuple[str, str], list[tuple[Peer, str, dict[str, Any]]]] = {}
        self.first: dict[tuple[str, str], dict[str, float]] = {}  # seconds until the first result
        self.found: dict[str, Any] = {"peers": {}, "left_out": [], "calls": {}}
        for peer in asked:
            say(peer.title)
            try:
                if peer.name == "before":
                    earlier_source()
                peer.install()
                hello = peer.ask("hello")
            except PeerError as error:
                self.found["peers"][peer.title] = {"version": None, "reason": str(error)}
                continue
            self.found["peers"][peer.title] = hello
            self.peers.append(peer)

    def leave_out(self, peer: Peer, case: str, quantity: str, reason: str) -> None:
        """Record an omission for the page."""
        self.found["left_out"].append((peer.title, case, quantity, reason))
        say(f"{peer.title}, {case}, {quantity}: {reason}")

    def check(self, case: str, quantity: str, some: Sequence[Peer] | None = None) -> list[Peer]:
        """Determine the libraries that compute a quantity correctly; returns those that exceed the time limit."""
        late = []
        accepted = self.accepted.setdefault((case, quantity), [])
        for peer in self.peers if some is None else some:
            start = time.perf_counter()
            try:
                answer = peer.ask("check", LONGEST, case=case, quantity=quantity)
            except PeerError as error:
                self.leave_out(peer, case, quantity, str(error))
                if time.perf_counter() - start > 0.9 * LONGEST:
                    late.append(peer)
                continue
            if answer["ways"]:
                self.first.setdefault((case, quantity), {})[peer.title] = answer["first"]
            for way, about in answer["ways"].items():
                if about["error"] <= about["bound"]:  # also refuses NaN
                    accepted.append((peer, way, about))
                    self.found["calls"].setdefault(quantity, {})[label(peer, way)] = about["call"]
                else:
                    self.leave_out(peer, case, quantity, f"{about['call']} differs from ours by {about['error']:.1e}")
        return late

    def time(self, case: str, quantity: str, states: int) -> dict[str, float]:
        """Seconds per state of every accepted variant, minimum over all rounds."""
        least: dict[str, float] = {}
        dropped: set[str] = set()
        say(f"{case}, {quantity}, {states} states")
        for k in range(self.plan.rounds):
            for peer, way, about in self.accepted[case, quantity]:
                key = label(peer, way)
                if key in dropped or (not about["one" if states == 1 else "batch"] and not about["one"]):
                    continue
                if about["batch"] and about.get("seconds", 0.0) * states > (PAID if k == 0 else SHORT):
                    continue
                request = {"case": case, "quantity": quantity, "way": way, "states": states}
                try:
                    seconds = peer.ask("time", **request, seconds=self.plan.seconds)["seconds"]
                except PeerError as error:
                    self.leave_out(peer, case, quantity, f"{states} states: {error}")
                    dropped.add(key)
                    continue
                about["seconds"] = seconds
                least[key] = min(seconds, least.get(key, np.inf))
        return least

    def forget(self, name: str) -> None:
        """Exclude a library from further measurements."""
        for entries in self.accepted.values():
            entries[:] = [entry for entry in entries if entry[0].name != name]

    def starting(self, case: str, quantity: str, others: Sequence[Peer]) -> dict[str, dict[str, float]]:
        """Seconds for the import, the model and the first result, in new processes; ours with and without its cache."""
        found: dict[str, dict[str, float]] = {}
        for _ in range(COLD):
            for peer in others:
                for cold in (True, False) if peer.name == OURS else (False,):
                    with tempfile.TemporaryDirectory() as folder:
                        peer.start(**({"DALEMBERT_CACHE": folder} if cold else {}))
                        times = {"import": peer.ask("hello")["import"]}
                        try:
                            answer = peer.ask("check", case=case, quantity=quantity)
                        except PeerError:
                            continue  # already reported on the page
                        peer.stop()
                    if not answer["ways"]:
                        continue
                    times |= {"load": answer["load"], "first": answer["first"] - answer["load"]}
                    key = peer.title + {True: ", compiling", False: ", from its cache"}[cold] * (peer.name == OURS)
                    best = found.setdefault(key, times)
                    found[key] = {x: min(best[x], times[x]) for x in times}
        return found

    def memory(self, case: str, quantity: str, states: int) -> dict[str, dict[str, int]]:
        """Memory in bytes, in new processes."""
        found = {}
        for peer, way, about in self.accepted[case, quantity]:
            if way == "float32" or not about["batch"] or about["seconds"] * states > 5 * PAID:
                continue
            peer.start()
            try:
                found[label(peer, way)] = peer.ask("memory", case=case, quantity=quantity, way=way, states=states)
            except PeerError as error:
                self.leave_out(peer, case, quantity, f"memory: {error}")
            peer.stop()
        return found

    def operations(self, case: str, quantities: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Operation counts of our graph and of CasADi's."""
        chosen = [peer for peer in self.peers if peer.name in (OURS, "casadi")]
        found: dict[str, dict[str, Any]] = {}
        for quantity in quantities:
            for peer in chosen:
                if any(other is peer for other, _, _ in self.accepted[case, quantity]):
                    answer = peer.ask("operations", case=case, quantity=quantity)
                    found.setdefault(quantity, {})[peer.title] = answer["operations"]
        return found


def label(peer: Peer, way: str) -> str:
    """The label of a line of the page."""
    return f"{peer.title}, {way}" if way else peer.title


def say(text: str) -> None:
    """Print the progress."""
    print(f"{datetime.datetime.now():%H:%M:%S} {text}", file=sys.stderr, flush=True)


def machine() -> dict[str, Any]:
    """Description of the machine."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "llvmlite": llvmlite.__version__,
        "date": f"{datetime.date.today()}",
        "load_before": os.getloadavg(),
    }


def measure(plan: Plan, asked: Sequence[Peer]) -> dict[str, Any]:
    """Everything."""
    about = machine()
    started = time.perf_counter()
    run = Measurement(plan, asked)
    found = run.found
    quantities = tuple(INPUTS)
    others = [peer for peer in run.peers if peer.name != "before"]

    for arm in EACH:
        many = max(plan.batches) if arm == EACH[0] else plan.states
        make_case(arm, da.load(arm), many, quantities if arm == EACH[0] else quantities[:1])
        for quantity in quantities if arm == EACH[0] else quantities[:1]:
            run.check(arm, quantity, run.peers if arm == EACH[0] else others)
    for part, states in (("quantities", plan.states), ("tenth", plan.states // 10)):
        found[part] = {x: run.time(EACH[0], x, states) for x in quantities}
    run.forget("before")
    found["latency"] = {x: run.time(EACH[0], x, 1) for x in quantities}
    found["arms"] = {EACH[0]: found["tenth"][quantities[0]]}
    found["arms"] |= {arm: run.time(arm, quantities[0], plan.states // 10) for arm in EACH[1:]}
    found["batches"] = {size: run.time(EACH[0], quantities[0], size) for size in plan.batches}
    found["memory"] = run.memory(EACH[0], quantities[0], max(plan.batches))
    found["operations"] = run.operations(EACH[0], quantities)

    found["joints"], found["ready"] = {}, {}
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        able = others
        for n in plan.joints:
            make_case(f"chain-{n}", chain(n), plan.chain_states, [quantity])
            late = run.check(f"chain-{n}", quantity, able)
            able = [peer for peer in able if peer not in late]
            times = run.time(f"chain-{n}", quantity, plan.chain_states)
            found["joints"].setdefault(quantity, {})[n] = times
            found["ready"].setdefault(quantity, {})[n] = run.first[f"chain-{n}", quantity]
    found["starting"] = run.starting(EACH[0], quantities[0], others)
    for peer in run.peers:
        peer.stop()
    about |= {"load_after": os.getloadavg(), "minutes": (time.perf_counter() - started) / 60, "states": plan.states}
    return {"machine": about, **found, "chain_states": plan.chain_states, "before": BEFORE[:7]}


def main(arguments: Sequence[str]) -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("peers", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--text", action="store_true")
    given = parser.parse_args(arguments)
    figures = OUT / ("quick.json" if given.quick else "figures.json")
    if not given.text:
        os.environ["DALEMBERT_CACHE"] = str(OUT / "results")  # dalembert compiles in its own process
        shutil.rmtree(OUT / "cache", ignore_errors=True)
        asked = [peer for peer in peers() if not given.peers or peer.name in (OURS, *given.peers)]
        OUT.mkdir(parents=True, exist_ok=True)
        figures.write_text(json.dumps(measure(QUICK if given.quick else Plan(), asked), indent=1))
    folder = OUT if given.quick else BENCHMARKS
    write(json.loads(figures.read_text()), folder)
    say(f"{folder.relative_to(ROOT)}/RESULTS.md")


if __name__ == "__main__":
    main(sys.argv[1:])
