"""Tables as text: columns aligned for a terminal, and rows as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells as columns, the first one left-aligned and the others right-aligned.

    >>> print(aligned([["joint", "peak"], ["elbow", "12.5"]]))
    joint  peak
    elbow  12.5
    """
    width = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ("  ".join([line[0].ljust(width[0]), *map(str.rjust, line[1:], width[1:])]) for line in lines)
    return "\n".join(row.rstrip() for row in rows)


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows {column: value} as CSV; a column that a row does not have, and NaN, are empty cells.

    >>> csv_text([{"joint": "elbow", "limit": math.nan}, {"joint": "wrist", "limit": 2.5}])
    'joint,limit\\nelbow,\\nwrist,2.5\\n'
    """
    text = StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: "" if isinstance(x, float) and math.isnan(x) else x for key, x in row.items()})
    return text.getvalue()
