"""One target in this process: ``python -m fuzz NAME SECONDS FOLDER [ENGINE]``, with ``tests`` on the path.

What was tried is told in FOLDER/result.json; the input at work lies there too, and is the culprit when this ends badly.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

LONGEST = 1 << 16  # bytes of an input
KEPT = 2000  # inputs in the corpus of the engine without coverage


def main(name: str, seconds: float, folder: Path, engine: str) -> None:
    """Fuzz for so long; exit with 1 on a finding."""
    atheris: Any = importlib.import_module("atheris") if engine == "atheris" else None
    with atheris.instrument_imports(include=["dalembert"]) if atheris else contextlib.nullcontext():
        from fuzz.judging import Finding, Judge
        from fuzz.mutation import mutated
        from fuzz.targets import TARGETS

    target = next(target for target in TARGETS if target.name == name)

    def leave(finding: str | None) -> None:
        result = {
            "inputs": judge.inputs, "seconds": time.monotonic() - start, "slowest": judge.slowest,
            "megabytes": judge.peak, "held": judge.held, "finding": finding,
        }  # fmt: skip
        (folder / "result.json").write_text(json.dumps(result))
        sys.stderr.flush()
        os._exit(0 if finding is None else 1)

    def answer(data: bytes) -> str:
        if time.monotonic() - start > seconds:
            leave(None)
        try:
            return judge(data)
        except Finding as finding:
            leave(str(finding))
            raise AssertionError from finding

    try:
        judge = Judge(target, folder)
    except Finding as finding:
        raise SystemExit(f"a seed of {name}: {finding}") from None
    judge.limit_memory()
    start = time.monotonic()
    seeds, words = judge.seeds, target.words
    if atheris:
        corpus = folder / "corpus"
        corpus.mkdir(exist_ok=True)
        for k, seed in enumerate(seeds):
            (corpus / f"seed-{k}").write_bytes(seed)

        def change(data: bytes, longest: int, number: int) -> bytes:
            if number % 2:
                return bytes(atheris.Mutate(data, longest))
            return mutated(random.Random(number), data, seeds, words, longest)

        options = [
            f"-max_len={LONGEST}",
            "-timeout=100",
            "-rss_limit_mb=0",
            "-len_control=0",
            f"-artifact_prefix={folder}/",
        ]
        atheris.Setup([sys.argv[0], *options, str(corpus)], answer_nothing(answer), custom_mutator=change)
        atheris.Fuzz()
    chance = random.Random()
    kept, answers = list(seeds), set()
    while True:
        data = mutated(chance, chance.choice(kept), kept, words, LONGEST)
        kind = "".join(c for c in answer(data) if c.isalpha())[:200]
        if kind not in answers and len(kept) < KEPT:
            answers.add(kind)
            kept.append(data)


def answer_nothing(answer: Any) -> Any:
    """libFuzzer takes None and -1 from a target, and nothing else."""

    def one(data: bytes) -> None:
        answer(data)

    return one


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
