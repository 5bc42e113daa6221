"""Debian's cross compilers and emulators: programs for other machines, linked and run here."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

CORTEX = ("-mthumb", "-mfloat-abi=hard", "--specs=rdimon.specs", "-Wl,--section-start=.vectors=0", "-Wl,--no-warnings")
SEMIHOSTING = ("-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native")
# what a Cortex-M begins with: the stack's end (of 4 MiB of memory), and code that switches the FPU on
START = """
void _start(void);
void reset(void);
__attribute__((section(".vectors"), used)) static void (*const vectors[2])(void) = {(void (*)(void))0x400000, reset};
__attribute__((naked)) void reset(void)
{
    __asm__ volatile("ldr r0, =0xE000ED88\\n ldr r1, [r0]\\n orr r1, r1, #0xF00000\\n str r1, [r0]\\n dsb\\n isb\\n b _start");
}
"""


@dataclass(frozen=True)
class Cross:
    """How to build for a machine, and how to run what was built: its stack pointer moves to a register by ``move``."""

    prefix: str
    flags: tuple[str, ...]
    emulator: tuple[str, ...]
    move: str = "mov"

    @property
    def here(self) -> bool:
        """Whether both are installed."""
        return shutil.which(f"{self.prefix}gcc") is not None and shutil.which(self.emulator[0]) is not None

    def built(self, folder: Path, *files: str) -> Path:
        """A program of files in a folder."""
        files = tuple(files)
        if "none-eabi" in self.prefix:
            (folder / "start.c").write_text(START)
            files = ("start.c", *files)
        command = [
            f"{self.prefix}gcc",
            "-std=gnu99",
            "-O1",
            "-Wall",
            "-Werror",
            *files,
            *self.flags,
            "-o",
            "program.elf",
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return folder / "program.elf"

    def run(self, program: Path) -> str:
        """What a program prints; it must end well."""
        done = subprocess.run([*self.emulator, str(program)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    def undefined(self, file: Path) -> list[str]:
        """The symbols that an object file does not define."""
        command = [f"{self.prefix}nm", "-u", str(file)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


CROSS = {
    "aarch64": Cross("aarch64-linux-gnu-", ("-static",), ("qemu-aarch64",)),
    "riscv64": Cross("riscv64-linux-gnu-", ("-static",), ("qemu-riscv64",), "mv"),
    "cortex-m7": Cross(
        "arm-none-eabi-",
        ("-mcpu=cortex-m7", "-mfpu=fpv5-d16", *CORTEX),
        ("qemu-system-arm", "-M", "mps2-an500", *SEMIHOSTING, "-kernel"),
    ),
    "cortex-m4f": Cross(
        "arm-none-eabi-",
        ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", *CORTEX),
        ("qemu-system-arm", "-M", "mps2-an386", *SEMIHOSTING, "-kernel"),
    ),
}
