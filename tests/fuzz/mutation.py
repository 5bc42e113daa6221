"""Inputs from other inputs: bytes, numbers, words and whole passages changed at random."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

NUMBERS = (
    b"0", b"-1", b"1", b"-0.0", b"1e308", b"-1e308", b"1e-320", b"1e999", b"nan", b"inf", b"-inf", b"0x7fffffff", b"256",
    b"65536", b"2147483647", b"4294967296", b"9223372036854775808", b"1000000000", b"9" * 400, b"1_0", b"1.5.2", b"",
)  # fmt: skip
INTEGERS = (0, 1, -1, 127, 128, 255, 256, 32767, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1)
REPEATED = 1 << 16  # bytes that a repetition may add
_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")

Change = Callable[[random.Random, bytes, Sequence[bytes], Sequence[bytes]], bytes]


def mutated(random: random.Random, data: bytes, corpus: Sequence[bytes], words: Sequence[bytes], longest: int) -> bytes:
    """``data`` after one to four changes; ``words`` of the format and passages of ``corpus`` may come in."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
        data = random.choice(CHANGES)(random, data, corpus, words)[:longest]
    return data


def _span(random: random.Random, data: bytes) -> tuple[int, int]:
    """A passage: mostly short, at times a half of everything."""
    start = random.randrange(len(data) + 1)
    length = random.choice((1, 2, 4, 8, 16, 64, 256, len(data) // 2))
    return start, min(len(data), start + random.randint(0, length))


def _flip(random: random.Random, data: bytes, *_: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


def _overwrite(random: random.Random, data: bytes, *_: Sequence[bytes]) -> bytes:
    size = random.choice((1, 2, 4, 8))
    value = (random.choice(INTEGERS) % 256**size).to_bytes(size, random.choice(("little", "big")))
    at = random.randrange(max(1, len(data) - size + 1))
    return data[:at] + value + data[at + size :]


def _cut(random: random.Random, data: bytes, *_: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    return data[:start] if random.random() < 0.2 else data[:start] + data[end:]


def _repeat(random: random.Random, data: bytes, *_: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    times = min(random.choice((1, 2, 10, 100, 10_000)), REPEATED // max(1, end - start))
    return data[:end] + data[start:end] * times + data[end:]


def _move(random: random.Random, data: bytes, *_: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    rest = data[:start] + data[end:]
    at = random.randrange(len(rest) + 1)
    return rest[:at] + data[start:end] + rest[at:]


def _noise(random: random.Random, data: bytes, *_: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    return data[:start] + random.randbytes(min(end - start, 64)) + data[end:]


def _number(random: random.Random, data: bytes, *_: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    chosen = random.choice(found)
    return data[: chosen.start()] + random.choice(NUMBERS) + data[chosen.end() :]


def _word(random: random.Random, data: bytes, corpus: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    if not words:
        return data
    start, end = _span(random, data)
    return data[:start] + random.choice(words) + data[end if random.random() < 0.5 else start :]


def _splice(random: random.Random, data: bytes, corpus: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    if not corpus:
        return data
    other = random.choice(corpus)
    start, end = _span(random, other)
    at, after = _span(random, data)
    return data[:at] + other[start:end] + data[after:]


CHANGES: tuple[Change, ...] = (_flip, _flip, _overwrite, _cut, _repeat, _move, _noise, _number, _number, _word, _splice)
