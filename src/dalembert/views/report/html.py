"""The elements of a page: text, tables, grids of figures, downloads, and the style sheet."""

from __future__ import annotations

import csv
import datetime
import html
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from dalembert.base.bibliography import cited, introduction
from dalembert.base.environment.progress import Progress, silent
from dalembert.base.wording import shown
from dalembert.errors import DalembertError
from dalembert.views.report.figures import Key, Panel, alone
from dalembert.views.report.svg import figure_svg, with_classes
from dalembert.views.report.user_text import visible

Column = tuple[str, str, Sequence[str]]  # of a table: (group, heading, cells)
WIDE = 11  # columns that fit on paper at the usual font size
STYLE = Path(__file__).with_name("report.css")


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
        paragraphs = [part.strip().splitlines() for part in (self.note or "").replace("\r", "").split("\n\n")]
        return line + "".join(f'<p class="remark">{"<br>".join(map(text, part))}</p>' for part in paragraphs if part)


def page(
    title: str, about: str, links: Iterable[tuple[str, str]], parts: Iterable[str], byline: Byline | None = None
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
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{author}<title>{text(title)}</title>\n<style>\n{STYLE.read_text(encoding='utf-8')}{sheet}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
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


def error_text(error: float | None) -> str:
    """A relative error in percent; a dash if there is none."""
    return "–" if error is None else f"{100 * error:.2f} %"


def known(value: float | None, unit: str = "") -> str:
    """A number with its unit; a dash for None."""
    return "–" if value is None else f"{number(value)} {unit}".rstrip()


def extent(lower: float | None, upper: float | None, unit: str) -> str:
    """A range, open where a limit is None; a dash if both are."""
    shown = known(lower), known(upper)
    return "–" if shown == ("–", "–") else f"{shown[0]} … {shown[1]} {unit}"


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
        scope, first = ' scope="col"' if tag == "th" else "", "col" if tag == "th" else "row"
        others = (
            f"<{tag}{scope}{' class=start' if k in starts else ''}>{cell}</{tag}>"
            for k, cell in enumerate(cells[1:], 1)
        )
        return f'<tr><th scope="{first}">{cells[0]}</th>{"".join(others)}</tr>'

    over = "".join(
        f'<th scope="colgroup" colspan="{width}"{" class=start" if k else ""}>{text(word)}</th>'
        for k, (word, width) in enumerate(groups)
    )
    over = f'<tr class="groups">{over}</tr>' if any(word for word, _ in groups) else ""
    head = line("th", [text(c) for c in columns])
    body = "\n".join(line("td", row) for row in rows)
    kinds = ["words"] * words + ["wide"] * (len(columns) > WIDE)
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    whole = f"<table{kind}><thead>{over}{head}</thead><tbody>\n{body}\n</tbody></table>"
    return f'<div class="scroll" tabindex="0">{whole}</div>\n'


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
    panels: Sequence[Panel], name: str, about: str, *, prefix: str = "", across: str = "two", areas: bool = False,
    beside: str = "", progress: Progress = silent,
) -> str:  # fmt: skip
    """The panels, and the content ``beside`` them, in a grid that becomes one column on a narrow screen.

    prefix  of the name, which distinguishes the identifiers of these figures from others on the page
    """
    drawn = []
    for k, panel in enumerate(panels):
        progress(panel.title, k / len(panels))
        curves = ", ".join(word for _, word in panel.key)
        label = f"{panel.title} {about}".strip() + (f": {curves}" if curves else "")
        drawn.append(f"<figure>{figure_svg(alone(panel), label, f'{prefix}{name}-{k}')}</figure>")
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
