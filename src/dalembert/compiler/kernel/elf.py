"""A minimal reader of ELF object files, for measuring their sections."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from dalembert.errors import DalembertError

ALLOCATED, WRITABLE = 2, 1  # section flags
SYMBOLS = 2  # a section type


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
