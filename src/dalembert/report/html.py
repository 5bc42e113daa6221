"""The elements of a page: text, tables, grids of figures, downloads, and the style sheet."""

from __future__ import annotations

import csv
import datetime
import html
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any
from urllib.parse import quote

import numpy as np

from dalembert.arrays import shown
from dalembert.documents.sources import cited, introduction
from dalembert.errors import DalembertError
from dalembert.report.figures import Key, Panel, alone
from dalembert.report.svg import figure_svg, with_classes
from dalembert.report.words import visible
from dalembert.web.bundle import digest

Column = tuple[str, str, Sequence[str]]  # of a table: (group, heading, cells)
WIDE = 11  # columns that fit on paper at the usual font size

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2733; --soft: #5f6c79; --line: #dfe4e9; --wash: #f5f7f9;
  --blue: #1f5fa8; --red: #b3261e; --amber: #8a5a00; --green: #1e6b3c; }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #15191f; --ink: #dfe5ec; --soft: #9aa6b3; --line: #323a44; --wash: #1c222a;
    --blue: #7fb2f0; --red: #ff8a80; --amber: #e6b450; --green: #7fd09b; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, "Liberation Sans", sans-serif; }
main, header > div, footer > div { max-width: 1160px; margin: 0 auto; padding: 0 24px; }
header { background: var(--wash); border-bottom: 1px solid var(--line); padding: 28px 0 20px; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 6px; letter-spacing: -0.01em; }
h2 { font-size: 1.4rem; line-height: 1.25; margin: 56px 0 8px; padding-top: 14px; border-top: 2px solid var(--ink); }
main > h2:first-child { margin-top: 22px; padding-top: 0; border-top: 0; }
h3 { font-size: 1.08rem; margin: 34px 0 4px; }
h4 { font-size: 0.95rem; margin: 20px 0 4px; }
p { margin: 6px 0 10px; max-width: 76ch; }
a { color: var(--blue); }
.soft { color: var(--soft); }
p, li, h1, h2, h3 { overflow-wrap: anywhere; }
nav { margin-top: 12px; display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 0.95rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 12px; margin: 22px 0 8px; }
.card { border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.card b { display: block; font-size: 1.25rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: 0.88rem; }
.grid { display: grid; gap: 14px 26px; margin: 8px 0; align-items: start; }
.grid.two { grid-template-columns: repeat(auto-fill, minmax(min(100%, 430px), 1fr)); }
.grid.three { grid-template-columns: repeat(auto-fill, minmax(min(100%, 310px), 1fr)); }
figure { margin: 0; min-width: 0; break-inside: avoid; }
figure svg { display: block; width: 100%; height: auto; }
.byline { margin: 0 0 8px; } .byline b { font-weight: 600; }
.remark { max-width: 76ch; } .sources { color: var(--soft); font-size: 0.82rem; max-width: 100ch; margin: 2px 0 6px; }
figcaption { color: var(--soft); font-size: 0.9rem; }
.key { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 6px 0; padding: 0; list-style: none; font-size: 0.9rem; }
.key i { display: inline-block; width: 20px; height: 4px; border-radius: 2px; margin-right: 7px; vertical-align: 3px; }
.key.areas i { width: 13px; height: 13px; vertical-align: -2px; }
.scroll { overflow-x: auto; margin: 8px 0 16px; -webkit-overflow-scrolling: touch; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 10px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { font-weight: 600; vertical-align: bottom; }
thead th { border-bottom: 1.5px solid var(--ink); }
thead tr.groups th { border-bottom: 0; text-align: left; color: var(--soft); font-weight: 500; padding-bottom: 0; }
tbody th { font-weight: 400; vertical-align: top; }
th:first-child, td:first-child { text-align: left; padding-left: 8px; position: sticky; left: 0; background: var(--paper); }
th.start, td.start { border-left: 1px solid var(--line); }
table.words td:last-child, table.words th:last-child { text-align: left; white-space: normal; }
table.words td { vertical-align: top; } table.words td:last-child { min-width: 15em; }
.good { color: var(--green); } .tight { color: var(--amber); font-weight: 600; }
.bad { color: var(--red); font-weight: 600; }
.notice { border-left: 4px solid var(--line); background: var(--wash); padding: 8px 14px; margin: 12px 0; max-width: 80ch; }
.notice.bad { border-color: var(--red); font-weight: 400; color: var(--ink); }
.notice ul { margin: 4px 0; padding-left: 20px; }
.downloads { display: flex; flex-wrap: wrap; gap: 8px 10px; margin: 10px 0; padding: 0; list-style: none; }
.downloads a { display: inline-block; border: 1px solid var(--line); border-radius: 6px; padding: 5px 12px;
  text-decoration: none; font-size: 0.92rem; background: var(--paper); }
.downloads a:hover { border-color: var(--blue); }
.downloads small { color: var(--soft); }
.equations { overflow-x: auto; margin: 8px 0 14px; padding-bottom: 4px; }
.equations table { font-size: 1rem; }
.equations td { border: 0; padding: 3px 0; vertical-align: baseline; }
.equations td:first-child { text-align: right; padding-right: 8px; position: static; }
.equations td:last-child { text-align: left; }
.equations .gap td { padding-top: 14px; }
svg.formula { overflow: visible; fill: var(--ink); max-width: none; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; font-size: 0.92rem; max-width: 90ch; }
dt { font-weight: 600; } dd { margin: 0; }
footer { margin-top: 60px; border-top: 1px solid var(--line); padding: 16px 0 40px; color: var(--soft); font-size: 0.9rem; }
@media (max-width: 640px) {
  body { font-size: 15px; }
  main, header > div, footer > div { padding: 0 14px; }
  h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 40px; }
  .cards { grid-template-columns: 1fr 1fr; }
  .grid.two svg text { font-size: 10.5px; }
  .grid.one figure { overflow-x: auto; } .grid.one svg { min-width: 720px; }
  th, td { padding: 5px 9px; }
  dl { grid-template-columns: 1fr; } dd { margin-bottom: 6px; }
}
@page { margin: 14mm 13mm; }
@media print {
  body { font-size: 10pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  header { background: none; padding: 0 0 8px; } h1 { font-size: 1.6rem; }
  main, header > div, footer > div { max-width: none; padding: 0; }
  nav, .downloads, .for-screen { display: none; }
  h2 { margin-top: 22px; padding-top: 8px; } h3 { margin-top: 20px; } h4 { margin-top: 14px; }
  h2, h3, h4, .key { break-after: avoid; } h2 + p, h3 + p, h4 + p { break-after: avoid; }
  tr, .scroll, .key, .card, .notice, dl > * { break-inside: avoid; } p, li { orphans: 3; widows: 3; }
  .cards { grid-template-columns: repeat(4, 1fr); gap: 8px; margin: 10px 0; }
  figure svg { max-height: 62mm; }
  .scroll, .equations { overflow: visible; } .equations svg { max-width: 100%; height: auto; }
  table { font-size: 7.6pt; } table.wide { font-size: 5.6pt; } th, td { padding: 2px 5px; } .wide th, .wide td { padding: 2px 3px; } th:first-child, td:first-child { position: static; }
  .key { display: block; } .key li { display: inline-block; margin-right: 14px; }
  .grid { display: flex; flex-wrap: wrap; gap: 0; } .grid > * { width: 100%; margin: 0 2% 8px 0; }
  .grid.two > * { width: 48%; } .grid.three > * { width: 31.3%; }
  footer { margin-top: 8px; padding: 4px 0 0; break-before: avoid; break-inside: avoid; }
}
"""


def text(words: Any) -> str:
    """Words as HTML."""
    return html.escape(visible(str(words)), quote=True)


@dataclass(frozen=True)
class Byline:
    """Author, date and note of a page; empty entries are omitted.

    date  as it is to be shown; a :class:`datetime.date` is shown as 2026-11-16
    note  one paragraph, or several separated by empty lines
    """

    author: str | None = None
    date: str | datetime.date | None = None
    note: str | None = None

    def __post_init__(self) -> None:
        for name in ("author", "note"):
            if not isinstance(value := getattr(self, name), str | None):
                raise DalembertError(f"the {name} of a report is {shown(value)}; give a text, as in {name}='…'")
        if not isinstance(self.date, str | datetime.date | None):
            raise DalembertError(f"the date of a report is {shown(self.date)}; give a text or a datetime.date")

    def html(self) -> str:
        """The line under the title, and the note."""
        words = [f"<b>{text(self.author)}</b>"] if self.author else []
        if self.date:
            day = self.date if isinstance(self.date, str) else self.date.strftime("%Y-%m-%d")
            iso = f' datetime="{day}"' if re.fullmatch(r"\d{4}-\d\d-\d\d", day) else ""
            words.append(f"<time{iso}>{text(day)}</time>" if iso else text(day))
        line = f'<p class="byline">{" · ".join(words)}</p>' if words else ""
        paragraphs = [part.strip() for part in (self.note or "").replace("\r", "").split("\n\n")]
        return line + "".join(
            f'<p class="remark">{"<br>".join(map(text, part.splitlines()))}</p>' for part in paragraphs if part
        )


@dataclass(frozen=True)
class PageProgram:
    """The active content of a page: a style sheet, data by the names of their elements, and a script."""

    style: str
    data: Mapping[str, str]
    script: str

    @property
    def policy(self) -> str:
        """The element that allows the page to run this script only, without network access."""
        rules = f"script-src {digest(self.script)}; object-src 'none'; base-uri 'none'; connect-src 'none'"
        return f'<meta http-equiv="Content-Security-Policy" content="{rules}">\n'

    @property
    def elements(self) -> str:
        """The data and the script, at the end of the page."""
        data = "".join(f'<script type="text/plain" id="{name}">{text}</script>\n' for name, text in self.data.items())
        return f'{data}<script type="module">{self.script}</script>\n'


def page(
    title: str,
    about: str,
    links: Iterable[tuple[str, str]],
    parts: Iterable[str],
    byline: Byline | None = None,
    program: PageProgram | None = None,
) -> str:
    """A complete, self-contained page: its header with ``links`` (anchor, word), its parts and its footer."""
    from dalembert import __version__

    byline, parts = byline or Byline(), list(parts)
    entries = "".join(f'<a href="#{place}">{text(word)}</a>' for place, word in links)
    letters = cited(html.unescape(re.sub(r"<[^>]*>", " ", " ".join([about, *parts]))))
    sources = f'<p class="sources">Sources: {text(introduction(letters))}</p>' if letters else ""
    head = (
        f'<header><div><h1>{text(title)}</h1>{byline.html()}{sources}<p class="soft">{about}</p>'
        f'<nav aria-label="Sections">{entries}</nav></div></header>'
    )
    foot = f"<footer><div>Written by dalembert {__version__}. This page needs no network.</div></footer>"
    body, sheet = with_classes("\n".join([head, "<main>", *parts, "</main>", foot]))
    author = f'<meta name="author" content="{text(byline.author)}">\n' if byline.author else ""
    policy, more, elements = ("", "", "") if program is None else (program.policy, program.style, program.elements)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{policy}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{author}<title>{text(title)}</title>\n<style>{STYLE}{more}{sheet}</style>\n</head>\n<body>\n{body}\n{elements}</body>\n</html>\n"
    )


def cards(pairs: Iterable[tuple[str, str]]) -> str:
    """Key figures as cards, each with its description."""
    shown = "".join(f'<div class="card"><b>{text(b)}</b><span>{text(s)}</span></div>' for b, s in pairs)
    return f'<div class="cards">{shown}</div>'


def number(value: float, digits: int = 4, *, sign: bool = False) -> str:
    """A number in a table, with thin spaces between thousands; an unknown number is a dash.

    >>> number(12345.6), number(0.00123456), number(float("nan")), number(-2.5), number(2e-5), number(4.2e10)
    ('12\\u202f346', '0.001235', '–', '−2.5', '2·10⁻⁵', '4.2·10¹⁰')
    """
    if np.isnan(value):
        return "–"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= 1e9 or 0 < abs(value) < 1e-4:
        head, _, power = f"{value:.{digits - 1}e}".partition("e")
        raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        shown = f"{head.rstrip('0').rstrip('.') if '.' in head else head}·10{raised}"
    else:
        before = len(str(int(abs(value))))
        places = max(0, digits - before) if abs(value) >= 1 else digits - 1 - int(np.floor(np.log10(abs(value) or 1)))
        shown = f"{value:,.{places}f}".replace(",", "\u202f")
        if "." in shown:
            shown = shown.rstrip("0").rstrip(".")
    if shown.strip("-0.") == "":
        shown = "0"
    return ("+" if sign and value > 0 else "") + shown.replace("-", "−")


def share(value: float) -> str:
    """A margin in percent, coloured by its meaning."""
    if np.isnan(value):
        return '<span class="soft">–</span>'
    if abs(value) < 5e-4:
        value = 0.0
    kind = "bad" if value < 0 else "tight" if value < 0.1 else "good"
    places = 0 if abs(value) >= 0.1 or not value else 1
    shown = "exceeded" if np.isinf(value) else f"{100 * value:.{places}f} %"
    return f'<span class="{kind}">{shown.replace("-", "−")}</span>'


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], groups: Sequence[tuple[str, int]] = (), words: bool = False
) -> str:
    """A table of cells that are already HTML. ``groups`` are headings, each over a number of columns.

    With ``words`` the last column is text that may wrap.
    """
    starts = list(itertools.accumulate(width for _, width in groups))[:-1]

    def line(tag: str, cells: Sequence[str]) -> str:
        marks = (" class=start" if k in starts else "" for k in range(len(cells)))
        opened = [f'<th scope="{"col" if tag == "th" else "row"}">']
        opened += [f"<{tag}{mark}>" if tag == "td" else f'<th scope="col"{mark}>' for mark in list(marks)[1:]]
        ends = ["</th>", *(f"</{tag}>" for _ in cells[1:])]
        return f"<tr>{''.join(a + cell + b for a, cell, b in zip(opened, cells, ends, strict=True))}</tr>"

    over = "".join(
        f'<th scope="colgroup" colspan="{width}"{" class=start" if k else ""}>{text(word)}</th>'
        for k, (word, width) in enumerate(groups)
    )
    over = f'<tr class="groups">{over}</tr>' if any(word for word, _ in groups) else ""
    head = line("th", [text(c) for c in columns])
    body = "\n".join(line("td", row) for row in rows)
    kinds = ["words"] * words + ["wide"] * (len(columns) > WIDE)
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    return (
        f'<div class="scroll" tabindex="0"><table{kind}><thead>{over}{head}</thead><tbody>\n{body}\n'
        "</tbody></table></div>\n"
    )


def table_of_columns(columns: Sequence[Column]) -> str:
    """A table of columns; consecutive columns of one group share its heading."""
    groups = [(group, len(list(some))) for group, some in itertools.groupby(group for group, _, _ in columns)]
    rows = zip(*(cells for _, _, cells in columns), strict=True)
    return table([heading for _, heading, _ in columns], list(rows), groups)


def key(pairs: Iterable[Key], *, areas: bool = False) -> str:
    """The legend of the colours."""
    items = "".join(f'<li><i style="background:{colour}"></i>{text(word)}</li>' for colour, word in pairs)
    return f'<ul class="key{" areas" if areas else ""}">{items}</ul>\n' if items else ""


def grid(
    panels: Sequence[Panel], name: str, about: str, *, across: str = "two", areas: bool = False, beside: str = "",
    progress: Callable[[float], None] | None = None,
) -> str:  # fmt: skip
    """The panels, and the content ``beside`` them, in a grid that becomes one column on a narrow screen."""
    drawn = []
    for k, panel in enumerate(panels):
        if progress is not None:
            progress(k / len(panels))
        curves = ", ".join(word for _, word in panel.key)
        label = f"{panel.title} {about}".strip() + (f": {curves}" if curves else "")
        drawn.append(f"<figure>{figure_svg(alone(panel), label, f'{name}-{k}')}</figure>")
    pairs = dict.fromkeys(pair for panel in panels for pair in panel.key)
    return f'{key(pairs, areas=areas)}<div class="grid {across}">\n{"".join(drawn)}{beside}\n</div>\n'


def download(name: str, words: str, data: str) -> str:
    """A link that saves ``data`` as the file ``name``, without a network."""
    coded = quote(data, safe=",.;:+-/*()=@")
    kilobytes = f"{len(data) / 1000:.0f} kB" if len(data) >= 1000 else f"{len(data)} B"
    return (
        f'<li><a download="{text(name)}" href="data:text/csv;charset=utf-8,{coded}">{text(words)} '
        f"<small>CSV, {kilobytes}</small></a></li>\n"
    )


def csv_text(names: Sequence[str], columns: Sequence[Any]) -> str:
    """Columns ((N,) or (N, k) each) under their names."""
    rows = np.column_stack(columns).tolist()
    heading = StringIO()
    csv.writer(heading, lineterminator="").writerow(map(visible, names))
    return "\n".join([heading.getvalue(), *(",".join(f"{x:.10g}" for x in row) for row in rows)]) + "\n"
