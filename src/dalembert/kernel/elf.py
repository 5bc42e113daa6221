"""Object files in the format ELF, as far as they have to be measured or corrected here."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from dalembert.errors import DalembertError

ALLOCATED, WRITABLE = 2, 1  # flags of sections
ARM_ATTRIBUTES = 0x70000003  # a type of section
VFP_ARGUMENTS, EITHER_ABI = 28, 3  # Tag_ABI_VFP_args: no argument is a number, so that both float ABIs may call


class ElfSection(NamedTuple):
    """A row of the table of sections: where the row is, and what it says."""

    row: int
    kind: int
    flags: int
    start: int
    size: int


def _sections(content: bytes) -> Iterator[ElfSection]:
    if content[:4] != b"\x7fELF":
        raise DalembertError("the object file is not in the format ELF, so its sections cannot be read")
    wide = content[4] == 2
    (table,) = struct.unpack_from("<Q" if wide else "<I", content, 40 if wide else 32)
    length, count = struct.unpack_from("<HH", content, 58 if wide else 46)
    for row in range(table, table + count * length, length):
        _, kind, flags, _, start, size = struct.unpack_from("<IIQQQQ" if wide else "<IIIIII", content, row)
        yield ElfSection(row, kind, flags, start, size)


def flash(content: bytes) -> int:
    """Bytes of the sections that stay in read-only memory: code and constants."""
    return sum(x.size for x in _sections(content) if x.flags & ALLOCATED and not x.flags & WRITABLE)


def for_either_float_abi(content: bytes) -> bytes:
    """An object for ARM that links with code of the hard and the soft float ABI: its functions take addresses only.

    LLVM leaves the attribute out, which linkers take for the soft ABI. The attributes move to the end of the file.
    """
    (found,) = (x for x in _sections(content) if x.kind == ARM_ATTRIBUTES)
    attributes = bytearray(content[found.start : found.start + found.size]) + bytes([VFP_ARGUMENTS, EITHER_ABI])
    of_file = 1 + 4 + len(b"aeabi\0")  # version, length of the vendor's attributes, name; then tag and length of the file's
    for at, size in ((1, len(attributes) - 1), (of_file + 1, len(attributes) - of_file)):
        struct.pack_into("<I", attributes, at, size)
    patched = bytearray(content) + attributes
    struct.pack_into("<II", patched, found.row + 16, len(content), len(attributes))
    return bytes(patched)
