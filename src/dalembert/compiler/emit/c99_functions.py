"""sin, cos, sqrt, exp, log, tanh, atan2, asin and acos in C, for machines without a C library: within 2 ulp everywhere.

Double and single precision share one text: they differ in widths, coefficients and constants, which are rows of
``KINDS``. Those of doubles are the polynomials of :mod:`trigonometry` and :mod:`elementary`; those of floats are
minimax polynomials (Remez) of lower degree. Angles beyond ``largest`` are reduced with as many bits of 2/π as necessary
(Payne and Hanek), so that sine and cosine are accurate for every finite argument. Except for signed zeros, special
values follow C99. Only ``stdint.h`` is included, which needs no library.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from ctypes import c_float
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dalembert.compiler.emit import elementary, trigonometry

# 2/π in words of 32 bits, after two words of zeros: enough for the largest double
TWO_OVER_PI = (0, 0, *(int(trigonometry.DIGITS[k : k + 8], 16) for k in range(0, len(trigonometry.DIGITS), 8)))
DOUBLE = trigonometry.REDUCTIONS["double"]


@dataclass(frozen=True)
class Kind:
    """One precision: the replacements of the capital words of the text, and polynomials by name."""

    words: dict[str, str]
    polynomials: dict[str, tuple[float, ...]]
    suffix: str

    def number(self, value: float) -> str:
        """A constant with all its digits."""
        text = f"{c_float(value).value:.9g}" if self.suffix else repr(value)
        return (text if re.search(r"[.e]", text) else f"{text}.0") + self.suffix


KINDS = {
    "double": Kind(
        {
            "REAL": "double", "UINT": "uint64_t", "INT": "int32_t", "FRACTION": "52", "BIAS": "1023", "ALL": "0x7FF",
            "LIMBS": "6", "LARGEST": repr(DOUBLE.largest), "WORDS": str(len(TWO_OVER_PI)),
            "MAGIC": "0x5FE6EB50C7B537A9u", "SPLIT": "0xFFFFFFFFF8000000u", "LIFT": "0x1p108", "LOWER": "0x1p-54",
            "DROP": "0x1p-108", "RAISE": "0x1p54", "LOW": "0x1p-900", "HIGH": "0x1p900", "STEPS": "4",
            "NORMAL": "0x1p-1022", "UP": "0x1p54", "UPS": "54.0",
        },
        {
            "SINE": DOUBLE.sine, "COSINE": DOUBLE.cosine, "EXP": elementary.EXP, "LOG": elementary.LOG,
            "TANH": elementary.TANH, "ATAN": elementary.ATAN, "ASIN": elementary.ASIN,
            "PI_HALF": DOUBLE.pi_half, "LN_2": elementary.LN_2, "PI": elementary.PI,
            "RANGE": (elementary.LOWEST, elementary.HIGHEST), "ROUNDER": (DOUBLE.rounder,),
            "BOUNDS": (elementary.NEAR, elementary.FAR),
        },
        "",
    ),
    "float": Kind(
        {
            "REAL": "float", "UINT": "uint32_t", "INT": "int32_t", "FRACTION": "23", "BIAS": "127", "ALL": "0xFF",
            "LIMBS": "4", "LARGEST": "128.0f", "WORDS": "12",
            "MAGIC": "0x5F375A86u", "SPLIT": "0xFFFFF000u", "LIFT": "0x1p48f", "LOWER": "0x1p-24f",
            "DROP": "0x1p-48f", "RAISE": "0x1p24f", "LOW": "0x1p-70f", "HIGH": "0x1p70f", "STEPS": "3",
            "NORMAL": "0x1p-126f", "UP": "0x1p25f", "UPS": "25.0f",
        },
        {
            "SINE": (-0.16666653752326965, 0.008332137018442154, -0.00019512028666213155),
            "COSINE": (0.04166664555668831, -0.0013887283857911825, 2.4429438781226054e-05),
            "EXP": (0.4999999403953552, 0.16666515171527863, 0.04166845604777336, 0.008369418792426586,
                    0.0013813144760206342),
            "LOG": (0.6666678190231323, 0.399771124124527, 0.2988438010215759),
            "TANH": (-0.33333316445350647, 0.13332585990428925, -0.05385230854153633, 0.021071679890155792,
                     -0.006274241488426924),
            "ATAN": (-0.33333298563957214, 0.19998548924922943, -0.14264242351055145, 0.10952188074588776,
                     -0.08403456211090088, 0.057957686483860016, -0.031177932396531105, 0.010914647951722145,
                     -0.0017936303047463298),
            "ASIN": (0.16666752099990845, 0.07495297491550446, 0.04547037556767464, 0.02417951449751854,
                     0.04216630756855011),
            # the first two parts of π/2 have 17 bits and the first of ln 2 has 15, so products with n and k are exact
            "PI_HALF": (1.57080078125, -4.45445766672492e-06, 2.563344151594519e-12),
            "LN_2": (0.693145751953125, 1.4286068203094173e-06),
            "PI": (math.pi, -8.742278000372485e-08),
            "RANGE": (-103.97207641601562, 88.72283172607422), "ROUNDER": (12582912.0,),
            "BOUNDS": (0.55, 9.1),
        },
        "f",
    ),
}  # fmt: skip

CONSTANTS = {
    "ZERO": (0.0,), "ONE": (1.0,), "TWO": (2.0,), "HALF": (0.5,), "TURN": (2.0 / math.pi,),
    "LOG2E": (math.log2(math.e),), "ROOT": (math.sqrt(0.5),),
}  # fmt: skip


def own_functions(names: Iterable[str], kind: str, prefix: str) -> str:
    """The functions of these names as static functions that begin with ``prefix``, after those that they call."""
    texts = _texts()
    needed = list(names)
    for name in needed:
        needed += [called for called in re.findall(r"own_(\w+)\(", texts[name]) if called not in needed]
    written = (_written(text, KINDS[kind], prefix) for name, text in texts.items() if name in needed)
    return "#include <stdint.h>\n\n" + "\n\n".join(written)


@cache
def _texts() -> dict[str, str]:
    """The texts of ``own_functions.c`` by the names of their functions."""
    _, *texts = re.split(r"\n\n(?=\S)", Path(__file__).with_name("own_functions.c").read_text("utf-8").strip())
    return {name: text for text in texts for name in re.findall(r"^static \w+ own_(\w+)\(", text, re.M)}


def _written(text: str, kind: Kind, prefix: str) -> str:
    constants = {**CONSTANTS, **kind.polynomials, "HALF_PI": tuple(0.5 * x for x in kind.polynomials["PI"])}
    numbers = {name: [kind.number(x) for x in values] for name, values in constants.items()}
    words = {**kind.words, "BIASBITS": str(int(kind.words["BIAS"]).bit_length() + 1)}
    text = re.sub(r"\[([A-Z_0-9]+) (\d)\]", lambda match: numbers[match[1]][int(match[2])], text)
    text = re.sub(r"\{([A-Z]+) (\w)\}", lambda match: _horner(numbers[match[1]], match[2]), text)
    text = text.replace("TABLE", _table(int(words["WORDS"])))
    text = re.sub(r"\b[A-Z]+\b", lambda match: words.get(match[0], match[0]), text)
    return text.replace("own_", prefix)


def _horner(coefficients: Sequence[str], variable: str) -> str:
    """(c0 + z * (c1 + z * (c2))), in lines of four"""
    text = ""
    for k, coefficient in enumerate(coefficients):
        gap = "" if k == 0 else f" + {variable} *" + ("\n            " if k % 4 == 0 else " ")
        text += f"{gap}({coefficient}"
    return text + ")" * len(coefficients)


def _table(count: int) -> str:
    rows = [TWO_OVER_PI[k : min(k + 8, count)] for k in range(0, count, 8)]
    return ",\n".join("        " + ", ".join(f"0x{word:08X}u" for word in row) for row in rows)
