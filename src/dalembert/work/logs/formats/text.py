"""Logs in text files and workbooks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dalembert.base.tables.number_tables import open_table
from dalembert.base.tables.signal_columns import Grouped, gathered
from dalembert.base.wording import some
from dalembert.errors import DalembertError
from dalembert.work.logs.formats.raw import Raw, Request, check_names, check_size


def read_text(path: Path, request: Request) -> Raw:
    """A table of numbers in a text file or a workbook, for a log."""
    with open_table(path, "log") as table:
        blocks = table.blocks()
        check_names(str(path), table.names)
        parts, count = [], 0
        for _, part in blocks:
            parts.append(part)
            count += part.size
            check_size(f"{path}: the table", count)
            request.progress(table.done())
    whole = np.concatenate(parts) if len(parts) > 1 else parts[0]
    if not len(whole):
        raise DalembertError(f"{path}: the file has no complete row")
    named = Grouped(str(path))
    if table.headed:
        named = gathered(str(path), table.names, request.joints, table.faults, table.words)
    raw = Raw(**vars(named), table=whole, headed=table.headed, notes=table.notes)
    if table.short is not None:
        number, count = table.short
        raw.note(f"the last row, {table.place} {number}, ends after {count} values and was dropped")
    texts = [table.names[k] for k in table.faults if table.names[k]]
    if texts and table.headed:
        raw.note(f"the columns {some(texts)} contain text and were ignored")
    return raw
