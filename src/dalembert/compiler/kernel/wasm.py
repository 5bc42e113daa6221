"""The target ``wasm``: a WebAssembly module, and a loader for web pages and Node.

The module exports one function per quantity, named after it: ``inverse_dynamics(q, qd, qdd, tau, count)`` takes the
byte offsets of contiguous rows in the imported memory, and the number of states. Two states in double precision, or
four in single precision, are computed in parallel (SIMD128).

LLVM's object file is converted to an instantiable module here, without a linker.

An object file is already a module, except for three things. It imports what a linker would provide: the memory, which
stays an import, ``env.memory``, and a stack pointer, which becomes a global of the module. It exports nothing. And its
code has relocations; since no function is imported and the data keep their addresses, the provisional values are final.

The first ``reserved`` bytes of the memory, whole pages of 64 KiB, belong to the module: its constants from 0 on, and
its stack, which grows down from the end of the range. Several modules may share a memory: those that use sines all keep
the same table of digits of 2/π in the same place, and none leaves anything on the stack.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

from dalembert.base.environment.version import __version__
from dalembert.compiler.emit.source import LICENCE, Settings, Source, Unit, operation_words
from dalembert.compiler.emit.wrappers import many_rows, wrapped
from dalembert.compiler.kernel.compile import MACHINES, compiled_for
from dalembert.errors import DalembertError

LOADER = Path(__file__).with_name("loader.mjs")
# names used by the module and its loader; ``then`` would make it a promise
RESERVED = ("reserved", "about", "exports", "memory", "then")

MAGIC = b"\0asm\1\0\0\0"
PAGE = 65536
SECTIONS = {"custom": 0, "types": 1, "imports": 2, "functions": 3, "globals": 6, "exports": 7, "code": 10, "data": 11}
FUNCTION, TABLE, MEMORY, GLOBAL = range(4)  # kinds of imports and exports
I32, MUTABLE, CONSTANT = 0x7F, 1, 0
I32_CONST, I32_SUB, GLOBAL_GET, END = 0x41, 0x6B, 0x23, 0x0B  # instructions
# relocations whose provisional values are final here: indices of functions and types, addresses in memory, globals
FINAL = {0: "function", 3: "address", 4: "address", 5: "address", 6: "type", 7: "global"}


def leb(value: int, last: range = range(128)) -> bytes:
    """An integer in groups of seven bits, lowest first (LEB128), until what is left is one of the ``last`` groups."""
    groups = bytearray()
    while value not in last:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value & 127])


def signed_leb(value: int) -> bytes:
    """A signed integer in LEB128."""
    return leb(value, range(-64, 64))


def vector(items: Sequence[bytes]) -> bytes:
    """A vector: the number of items, then the items."""
    return leb(len(items)) + b"".join(items)


def named(text: str) -> bytes:
    """A text after its length."""
    return leb(len(text.encode())) + text.encode()


def section(name: str, content: bytes) -> bytes:
    """The bytes of a section of a module."""
    return bytes([SECTIONS[name]]) + leb(len(content)) + content


class Reader:
    """A sequential reader of bytes."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def __bool__(self) -> bool:
        return self.at < len(self.content)

    def bytes(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        self.at += count
        return self.content[self.at - count : self.at]

    def number(self) -> int:
        """An unsigned integer in LEB128."""
        value, shift = 0, 0
        while True:
            (byte,) = self.bytes(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self) -> int:
        """A signed integer in LEB128."""
        start = self.at
        value = self.number()
        bits = 7 * (self.at - start)
        return value - (value >> (bits - 1) << bits)

    def text(self) -> str:
        """A text after its length."""
        return self.bytes(self.number()).decode()


class _ObjectFile:
    """The sections of a relocatable object file."""

    def __init__(self, content: bytes) -> None:
        reader = Reader(content)
        if reader.bytes(len(MAGIC)) != MAGIC:
            raise ValueError("this is not a WebAssembly file")
        self.sections: dict[int, bytes] = {}
        self.custom: dict[str, Reader] = {}
        while reader:
            kind = reader.number()
            body = reader.bytes(reader.number())
            if kind == SECTIONS["custom"]:
                inner = Reader(body)
                self.custom[inner.text()] = inner
            else:
                self.sections[kind] = body

    def imports(self) -> Iterator[tuple[str, int]]:
        """Names and kinds of the imports."""
        reader = Reader(self.sections.get(SECTIONS["imports"], b"\0"))
        for _ in range(reader.number()):
            reader.text()
            name = reader.text()
            kind = reader.number()
            if kind == FUNCTION:
                reader.number()
            elif kind == GLOBAL:
                reader.bytes(2)
            else:
                reader.bytes(kind == TABLE)
                limited = reader.number() & 1
                for _ in range(1 + limited):
                    reader.number()
            yield name, kind

    def defined_functions(self) -> dict[str, int]:
        """The indices of the functions, by name, from the symbol table."""
        reader, functions = self.custom["linking"], {}
        reader.number()  # version
        while reader:
            subsection = reader.number()
            body = Reader(reader.bytes(reader.number()))
            for _ in range(body.number() if subsection == 8 else 0):
                kind, flags = body.number(), body.number()
                undefined, explicit = flags & 0x10, flags & 0x40
                if kind == 1:  # data: name, and its location unless it is undefined
                    body.text()
                    for _ in range(0 if undefined else 3):
                        body.number()
                    continue
                index = body.number()
                name = body.text() if kind != 3 and (not undefined or explicit) else ""
                if kind == 0:
                    functions[name] = index
        return functions

    def relocations(self) -> Iterator[tuple[int, int]]:
        """Kinds of all relocations, and their offsets in the section."""
        for name, reader in self.custom.items():
            if name.startswith("reloc."):
                reader.number()  # section
                for _ in range(reader.number()):
                    kind, at, _ = (reader.number() for _ in range(3))
                    if kind not in FINAL:
                        raise DalembertError(
                            f"the module needs a linker for a relocation of kind {kind}; this is a bug in dalembert"
                        )
                    if FINAL[kind] == "address":
                        reader.number()
                    yield kind, at

    def stack(self) -> int:
        """The stack size of all functions together, in bytes; none is recursive."""
        code, total = self.sections[SECTIONS["code"]], 0
        for kind, at in self.relocations():
            if FINAL[kind] == "global" and code[at - 1] == GLOBAL_GET:
                reader = Reader(code[at:])
                reader.number()
                constant, size, operation = reader.number(), reader.signed(), reader.number()
                if (constant, operation) != (I32_CONST, I32_SUB):
                    raise DalembertError("the stack frame of a function has no fixed size; this is a bug in dalembert")
                total += size
        return total

    def data_end(self) -> int:
        """The end of the constants, which begin at 0."""
        reader, end = Reader(self.sections.get(SECTIONS["data"], b"\0")), 0
        for _ in range(reader.number()):
            if reader.number() or reader.number() != I32_CONST:
                raise ValueError("data without an address")
            at = reader.signed()
            reader.bytes(1)
            size = reader.number()
            reader.bytes(size)
            end = max(end, at + size)
        return end


def wasm_module(objects: bytes, exported: Sequence[str], about: Mapping[str, Any]) -> tuple[bytes, int]:
    """The module of an object file, and the number of pages at the start of the memory that belong to it.

    exported  the functions that can be called
    about     content of the custom section "dalembert", written as JSON
    """
    file = _ObjectFile(objects)
    imported = dict(file.imports())
    if strange := [name for name in imported if name not in ("__linear_memory", "__stack_pointer")]:
        raise DalembertError(
            f"the module would import {', '.join(strange)}, which no page provides; this is a bug in dalembert"
        )
    pages = max(1, -(-(file.data_end() + file.stack()) // PAGE))
    end_of_stack = bytes([I32_CONST]) + signed_leb(pages * PAGE) + bytes([END])
    globals_ = [bytes([I32, MUTABLE]) + end_of_stack] * ("__stack_pointer" in imported)
    exports = [named("reserved") + bytes([GLOBAL]) + leb(len(globals_))]
    globals_.append(bytes([I32, CONSTANT]) + end_of_stack)
    functions = file.defined_functions()
    exports += [named(name) + bytes([FUNCTION]) + leb(functions[name]) for name in exported]
    memory = named("env") + named("memory") + bytes([MEMORY, 0]) + leb(pages)
    written = {
        "imports": vector([memory]),
        "globals": vector(globals_),
        "exports": vector(exports),
        "custom": named("dalembert") + json.dumps({**about, "pages": pages}).encode(),
    }
    content = MAGIC
    for name in ("types", "imports", "functions", "globals", "exports", "code", "data", "custom"):
        body = written.get(name, file.sections.get(SECTIONS[name]))
        content += section(name, body) if body is not None else b""
    return content, pages


# -- the target ------------------------------------------------------------------------------------


def wasm(units: Sequence[Unit], settings: Settings, name: str) -> Source:
    """The files NAME.wasm and NAME.mjs with several functions that share a memory."""
    for unit in units:
        if unit.name in RESERVED:
            raise DalembertError(
                f"the function of a wasm module cannot be named '{unit.name}', because {', '.join(RESERVED)} are "
                "reserved; choose another name, --function NAME (function=...)"
            )
    machine = MACHINES["wasm"]
    form = replace(machine.form(settings.scalar), flags=False)
    ir = wrapped([(unit.code, unit.signature, unit.name) for unit in units], form, many_rows)
    about = {
        "functions": {
            unit.name: {
                way: [[array, prod(shape)] for array, shape in arrays]
                for way, arrays in (("inputs", unit.signature.inputs), ("outputs", unit.signature.outputs))
            }
            for unit in units
        },
        "scalar": settings.scalar,
        "robot": units[0].robot,
        "digest": units[0].digest,
        "made": f"dalembert {__version__}. {LICENCE}",
    }
    module, pages = wasm_module(compiled_for(machine, ir), [unit.name for unit in units], about)
    files: dict[str, str | bytes] = {f"{name}.wasm": module, f"{name}.mjs": LOADER.read_text(encoding="utf-8")}
    notes = [f"{unit.name}: {operation_words(unit.operations)}." for unit in units]
    notes.append(
        f"{len(module):,} bytes, {form.width} states in parallel; the first {pages * PAGE:,} bytes of "
        "the memory belong to the module."
    )
    remarks = dict.fromkeys(remark for unit in units for remark in unit.remarks)
    return Source(files, (*notes, *remarks))
