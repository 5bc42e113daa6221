"""Lines of LLVM IR with fresh names, W lanes wide."""

from __future__ import annotations

import struct


def exact(value: float) -> str:
    """A number, written without rounding."""
    return f"0x{struct.pack('>d', value).hex().upper()}"


class IR:
    """The text of one function; what several instructions make is named by the last of them."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.vector = f"<{width} x double>"
        self.integers = f"<{width} x i64>"
        self.mask = f"<{width} x i1>"
        self.lines: list[str] = []
        self._count = 0

    def say(self, line: str) -> None:
        """Append a line."""
        self.lines.append("  " + line)

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")

    def let(self, expression: str) -> str:
        """Append ``%name = expression`` and give the name."""
        self._count += 1
        name = f"%t{self._count}"
        self.say(f"{name} = {expression}")
        return name

    def splat(self, value: float) -> str:
        """A vector constant, written without rounding."""
        return "<" + ", ".join([f"double {exact(value)}"] * self.width) + ">"

    def integer_splat(self, value: int) -> str:
        """A vector of one integer."""
        return "<" + ", ".join([f"i64 {value}"] * self.width) + ">"

    def choice(self, mask: str, x: str, y: str) -> str:
        """x in the lanes where the mask holds, else y."""
        return self.let(f"select {self.mask} {mask}, {self.vector} {x}, {self.vector} {y}")

    def anywhere(self, mask: str) -> str:
        """Whether the mask holds in some lane."""
        number = self.let(f"bitcast {self.mask} {mask} to i{self.width}")
        return self.let(f"icmp ne i{self.width} {number}, 0")

    # -- memory: vectors, and tables of numbers or pointers ---------------------------------------

    def load(self, at: str) -> str:
        """The vector at an address."""
        return self.let(f"load {self.vector}, ptr {at}, align {8 * self.width}")

    def store(self, value: str, at: str) -> None:
        """Write a vector to an address."""
        self.say(f"store {self.vector} {value}, ptr {at}, align {8 * self.width}")

    def entry(self, table: str, index: int, kind: str = "i64") -> str:
        """What stands in a table."""
        return self.let(f"load {kind}, ptr {self.let(f'getelementptr {kind}, ptr {table}, i64 {index}')}")

    def put(self, table: str, index: int, value: str, kind: str = "i64") -> None:
        """Write into a table."""
        self.say(f"store {kind} {value}, ptr {self.let(f'getelementptr {kind}, ptr {table}, i64 {index}')}")
