"""Lines of LLVM IR with fresh names, W lanes wide, in doubles or floats."""

from __future__ import annotations

import struct
from ctypes import c_float
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template

BYTES = {"double": 8, "float": 4}  # bytes of a number, by scalar type


@dataclass(frozen=True)
class Form:
    """The form in which a tape is emitted.

    width   states that are processed in parallel, one per vector lane
    scalar  "double" or "float", the type of the arithmetic
    align   known alignment of the numbers in arrays, in bytes; NumPy guarantees none
    strided whether the core axes of arrays have their own strides, which follow the offsets in the table; otherwise the
            numbers of a core are contiguous
    flags   whether the floating-point flags are examined afterwards, as NumPy does: a very large angle must then not
            raise any
    """

    width: int
    scalar: str = "double"
    align: int = 1
    strided: bool = False
    flags: bool = True

    @property
    def bytes(self) -> int:
        """The size of a number."""
        return BYTES[self.scalar]


def exact(value: float, scalar: str = "double") -> str:
    """A number, written without rounding; LLVM writes floats with the bits of a double as well."""
    if scalar == "float":
        value = c_float(value).value
    return f"0x{struct.pack('>d', value).hex().upper()}"


def template(name: str, **values: object) -> str:
    """The text of a file NAME.ll of this folder, with its words $word replaced and without its comments."""
    text = Path(__file__).with_name(f"{name}.ll").read_text("utf-8")
    return Template("\n" + text[text.index("define") :]).substitute(values)


class IR:
    """The text of one function; the result of several instructions has the name of the last."""

    def __init__(self, form: Form) -> None:
        self.form, self.width, self.scalar, self.bytes = form, form.width, form.scalar, form.bytes
        self.word = f"i{8 * form.bytes}"
        self.suffix = f"v{form.width}f{8 * form.bytes}"  # suffix of the vector intrinsics
        self.vector = f"<{form.width} x {form.scalar}>"
        self.integers = f"<{form.width} x {self.word}>"
        self.mask = f"<{form.width} x i1>"
        self.lines: list[str] = []
        self._count = [0]

    def in_doubles(self) -> IR:
        """The same text, continued with vectors of doubles."""
        other = IR(replace(self.form, scalar="double"))
        other.lines, other._count = self.lines, self._count
        return other

    def say(self, line: str) -> None:
        """Append a line."""
        self.lines.append("  " + line)

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")

    def go(self, label: str, begin: str = "") -> None:
        """End a block with a jump to another one, and begin that or a third one."""
        self.say(f"br label %{label}")
        self.label(begin or label)

    def branch(self, condition: str, yes: str, no: str, begin: str = "", hint: str = "") -> None:
        """End a block with a choice between two others, and begin one, by default the first."""
        self.say(f"br i1 {condition}, label %{yes}, label %{no}{hint}")
        self.label(begin or yes)

    def let(self, expression: str) -> str:
        """Append ``%name = expression`` and return the name."""
        self._count[0] += 1
        name = f"%t{self._count[0]}"
        self.say(f"{name} = {expression}")
        return name

    def splat(self, value: float) -> str:
        """A vector constant, written without rounding."""
        return "<" + ", ".join([f"{self.scalar} {exact(value, self.scalar)}"] * self.width) + ">"

    def integer_splat(self, value: int) -> str:
        """A vector with one integer in all lanes."""
        return "<" + ", ".join([f"{self.word} {value}"] * self.width) + ">"

    def choice(self, mask: str, x: str, y: str) -> str:
        """x in the lanes where the mask is set, otherwise y."""
        return self.let(f"select {self.mask} {mask}, {self.vector} {x}, {self.vector} {y}")

    def anywhere(self, mask: str) -> str:
        """Whether the mask is set in some lane."""
        number = self.let(f"bitcast {self.mask} {mask} to i{self.width}")
        return self.let(f"icmp ne i{self.width} {number}, 0")

    # -- memory: vectors, and tables of numbers or pointers ---------------------------------------

    def load(self, at: str) -> str:
        """The vector at an address."""
        return self.let(f"load {self.vector}, ptr {at}, align {self.bytes * self.width}")

    def store(self, value: str, at: str) -> None:
        """Write a vector to an address."""
        self.say(f"store {self.vector} {value}, ptr {at}, align {self.bytes * self.width}")

    def entry(self, table: str, index: int, kind: str = "i64") -> str:
        """An entry of a table."""
        return self.let(f"load {kind}, ptr {self.let(f'getelementptr {kind}, ptr {table}, i64 {index}')}")

    def put(self, table: str, index: int, value: str, kind: str = "i64") -> None:
        """Write an entry of a table."""
        self.say(f"store {kind} {value}, ptr {self.let(f'getelementptr {kind}, ptr {table}, i64 {index}')}")
