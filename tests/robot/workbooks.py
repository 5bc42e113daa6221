"""Spreadsheets for tests, written by hand: the smallest .xlsx file that holds some rows."""

from __future__ import annotations

import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

_OFFICE = "http://schemas.openxmlformats.org"
_PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{_OFFICE}/package/2006/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
        'ContentType="application/xml"/><Override PartName="/xl/workbook.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>'
    ),
    "_rels/.rels": (
        f'<Relationships xmlns="{_OFFICE}/package/2006/relationships"><Relationship Id="r1" '
        f'Type="{_OFFICE}/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        f'<workbook xmlns="{_OFFICE}/spreadsheetml/2006/main" xmlns:r="{_OFFICE}/officeDocument/2006/relationships">'
        '<sheets><sheet name="notes" sheetId="1" r:id="r1"/><sheet name="arm" sheetId="2" r:id="r2"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_OFFICE}/package/2006/relationships">'
    + "".join(
        f'<Relationship Id="r{k}" Type="{_OFFICE}/officeDocument/2006/relationships/worksheet" '
        f'Target="worksheets/sheet{k}.xml"/>'
        for k in (1, 2)
    )
    + "</Relationships>",
}


def _sheet(rows: list[list[object]]) -> str:
    def cell(value: object) -> str:
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return "<c/>" if value is None else f"<c><v>{value!r}</v></c>"

    body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    return f'<worksheet xmlns="{_OFFICE}/spreadsheetml/2006/main"><sheetData>{body}</sheetData></worksheet>'


def write_workbook(path: Path, rows: list[list[object]]) -> Path:
    """A workbook whose second sheet, "arm", holds the rows; its first holds a sentence."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in _PARTS.items():
            archive.writestr(name, text)
        archive.writestr("xl/worksheets/sheet1.xml", _sheet([["made in the workshop"]]))
        archive.writestr("xl/worksheets/sheet2.xml", _sheet(rows))
    return path
