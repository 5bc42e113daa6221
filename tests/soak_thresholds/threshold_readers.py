"""A pytest plugin that records which tests read which thresholds, and how long each test takes.

The modules that contain or import thresholds are compiled with every reading inside a function replaced by a call that also
records the test that is running. Each worker writes what it saw to ``out/thresholds``.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "docs" / "hooks"))

import thresholds  # noqa: E402

OUT = HERE.parents[1] / "out" / "thresholds"
KEYS = {(row.module, row.name): row.key for row in thresholds.thresholds()}

running = ""  # node id of the test that is running
tests_reading: dict[str, set[str]] = defaultdict(set)  # threshold → node ids
durations: dict[str, float] = {}


def _read(key: str, value: object) -> object:
    if running:
        tests_reading[key].add(running)
    return value


class _Recording(ast.NodeTransformer):
    """Replaces the readings of thresholds inside functions."""

    def __init__(self, keys: dict[str, str]) -> None:
        self.keys, self.depth = keys, 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if any(isinstance(x, ast.Name) and x.id == "native" for x in node.decorator_list):
            return node  # translated to machine code from its source
        self.depth += 1
        node.body = [self.visit(statement) for statement in node.body]
        self.depth -= 1
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if self.depth and isinstance(node.ctx, ast.Load) and node.id in self.keys:
            arguments: list[ast.expr] = [ast.Constant(self.keys[node.id]), node]
            return ast.Call(ast.Name("__read_threshold__", ast.Load()), arguments, [])
        return node


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = ast.parse(Path(path).read_text(encoding="utf-8"))
        keys = {name: key for (module, name), key in KEYS.items() if module == fullname}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                names = [(alias.asname or alias.name, (node.module or "", alias.name)) for alias in node.names]
                keys |= {name: KEYS[place] for name, place in names if place in KEYS}
        return compile(ast.fix_missing_locations(_Recording(keys).visit(tree)), path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__read_threshold__"] = _read
        super().exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith("dalembert."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


if "DALEMBERT_RECORD_READERS" in os.environ:  # not when this file is only collected
    sys.meta_path.insert(0, _Finder())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> object:
    global running
    running = item.nodeid
    answer = yield
    running = ""
    return answer


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.passed:
        durations[report.nodeid] = durations.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    if not tests_reading:
        return  # the controller of the workers
    OUT.mkdir(parents=True, exist_ok=True)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    content = {"readers": {key: sorted(tests) for key, tests in tests_reading.items()}, "durations": durations}
    (OUT / f"readers-{worker}.json").write_text(json.dumps(content))
