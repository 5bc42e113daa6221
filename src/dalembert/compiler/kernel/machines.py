"""The target machines in LLVM's terms: triple, CPU, features and vector width.

To add one, write a row here and one in the table of targets.
"""

from __future__ import annotations

from dalembert.compiler.kernel.compile import LEVELS, Machine, host_features, target
from dalembert.errors import DalembertError

LINUX = "unknown-linux-gnu"
MACHINES: dict[str, Machine] = {
    "x86-64-v2": Machine(f"x86_64-{LINUX}", "x86-64-v2", "", 2),
    "x86-64-v3": Machine(f"x86_64-{LINUX}", "x86-64-v3", "", 4),
    "x86-64-v4": Machine(f"x86_64-{LINUX}", "x86-64-v4", "", 8),
    "aarch64": Machine(f"aarch64-{LINUX}", "generic", "", 2),
    "riscv64": Machine(f"riscv64-{LINUX}", "generic-rv64", "+m,+a,+f,+d,+c", 1),
    "cortex-m7": Machine("thumbv7em-unknown-none-eabihf", "cortex-m7", "+fp-armv8d16", 1),
    "cortex-m4f": Machine("thumbv7em-unknown-none-eabihf", "cortex-m4", "", 1),
    "wasm": Machine("wasm32-unknown-unknown", "generic", "+simd128", 2),
}


def machine_of(name: str) -> Machine:
    """The machine of a target."""
    return target() if name == "host" else MACHINES[name]


def runnable(name: str) -> Machine:
    """The machine of a target for code in this process; raises an error if this processor cannot run it."""
    here = target()
    if name == "host":
        return here
    machine = MACHINES[name]
    known = host_features()
    missing = [feature for feature in LEVELS.get(name, ()) if not known.get(feature)]
    if missing or name not in LEVELS or machine.triple.split("-")[0] != here.triple.split("-")[0]:
        why = f", because it lacks {', '.join(missing)}" if missing else ""
        raise DalembertError(
            f"this processor ({here.cpu}) cannot run code for '{name}'{why}; the files can still be written"
        )
    return Machine(here.triple, machine.cpu, machine.features, machine.width, here.llvm)
