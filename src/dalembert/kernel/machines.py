"""The machines that code is compiled for: triple, CPU and features in LLVM's words, and how wide their vectors are."""

from __future__ import annotations

from dalembert.kernel.compile import Machine

MACHINES: dict[str, Machine] = {
    "wasm": Machine("wasm32-unknown-unknown", "generic", "+simd128", 2),
}
