"""Resources used by compiled code: instructions and stack from its assembly, flash and missing symbols from its ELF file."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from dalembert.errors import DalembertError

_FUNCTION = re.compile(r"^([A-Za-z_][\w.]*):", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\t([a-z][\w.]*)\s*(.*)")
_CALLS = {"bl", "b", "b.w", "call", "tail", "callq", "jal", "j", "jmp"}
_OFFSET = re.compile(r"^\t\.cfi_def_cfa_offset\s+(\d+)")  # offset of the stack pointer
_LOWERED = re.compile(r"^sp, (?:sp, )?#(\d+)$")
ALLOCATED, WRITABLE = 2, 1  # flags of an ELF section
SYMBOLS = 2  # a section type


class _Function(NamedTuple):
    """Stack and calls of one function of an assembly text."""

    frame: int
    calls: set[str]
    instructions: int


def footprint(assembly: str, name: str) -> tuple[int, int]:
    """The maximum stack depth below a call of a function, in bytes, and the number of instructions of the whole text.

    Functions must not be recursive. If they are marked ``uwtable``, LLVM reports the stack offset. On ARM this would
    require library symbols; there the offset is taken from the instructions at the start of a function.
    """
    _, *pieces = _FUNCTION.split(assembly)
    functions = {label: _measured(text.splitlines()) for label, text in zip(pieces[::2], pieces[1::2], strict=True)}

    def deepest(function: str) -> int:
        of = functions[function]
        return of.frame + max((deepest(other) for other in of.calls & functions.keys()), default=0)

    return deepest(name), sum(of.instructions for of in functions.values())


def _measured(lines: list[str]) -> _Function:
    offsets = [int(match[1]) for line in lines if (match := _OFFSET.match(line))]
    instructions = [match.groups() for line in lines if (match := _INSTRUCTION.match(line))]
    calls = {operands.split("@")[0].strip() for mnemonic, operands in instructions if mnemonic in _CALLS}
    frame = max(offsets) if offsets else sum(_lowered(*instruction) for instruction in instructions)
    return _Function(frame, calls, len(instructions))


def _lowered(mnemonic: str, operands: str) -> int:
    """The number of bytes by which an ARM instruction lowers the stack pointer."""
    if mnemonic in ("push", "push.w", "vpush"):
        return (8 if mnemonic == "vpush" else 4) * len(operands.split(","))
    if mnemonic in ("sub", "sub.w", "subw") and operands.startswith("sp,"):
        size = _LOWERED.match(operands)
        if size is None:
            raise DalembertError(
                f"the stack grows by 'sub {operands}', whose size cannot be read; this is a bug in dalembert"
            )
        return int(size[1])
    return 0


# -- ELF object files --------------------------------------------------------------------------------


class ElfSection(NamedTuple):
    """A row of the section table."""

    kind: int
    flags: int
    start: int
    size: int
    link: int


def _sections(content: bytes) -> Iterator[ElfSection]:
    if content[:4] != b"\x7fELF":
        raise DalembertError("the object file is not in ELF format, so its sections cannot be read")
    wide = content[4] == 2
    (table,) = struct.unpack_from("<Q" if wide else "<I", content, 40 if wide else 32)
    length, count = struct.unpack_from("<HH", content, 58 if wide else 46)
    for row in range(table, table + count * length, length):
        _, kind, flags, _, start, size, link = struct.unpack_from("<IIQQQQI" if wide else "<IIIIIII", content, row)
        yield ElfSection(kind, flags, start, size, link)


def flash(content: bytes) -> int:
    """Size in bytes of the sections in read-only memory: code and constants."""
    return sum(x.size for x in _sections(content) if x.flags & ALLOCATED and not x.flags & WRITABLE)


def undefined(content: bytes) -> list[str]:
    """The names of undefined symbols."""
    sections = list(_sections(content))
    (table,) = (x for x in sections if x.kind == SYMBOLS)
    names, wide = sections[table.link], content[4] == 2
    missing = []
    for at in range(table.start, table.start + table.size, 24 if wide else 16):
        (name,) = struct.unpack_from("<I", content, at)
        (section,) = struct.unpack_from("<H", content, at + (6 if wide else 14))
        if name and not section:
            first = names.start + name
            missing.append(content[first : content.index(0, first)].decode())
    return missing
