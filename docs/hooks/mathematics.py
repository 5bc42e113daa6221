"""Formulas as MathML, which browsers set by themselves: a page with formulas needs no script."""

from __future__ import annotations

import html
import re

# what pymdownx.arithmatex leaves in a page: spans within a line, blocks by themselves
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
TAG = re.compile(r"\\tag\{((?:[^{}]|\{[^{}]*\})*)\}")
# sizes that latex2mathml does not know: browsers stretch brackets by themselves
PLAIN = re.compile(r"\\(?:[bB]igg?[lrm]?)(?![a-zA-Z])")

FUNCTION = re.compile(r"<mi>(?:sin|cos|tan|tanh|det|sgn|sign|diag|log|exp)</mi>")


def mathml(latex: str, block: bool) -> str:
    """The MathML of a formula; its ``\\tag`` is set at the right."""
    from latex2mathml.converter import convert

    number = TAG.search(latex)
    formula = PLAIN.sub("", TAG.sub("", latex)).strip().replace("{aligned}", "{align*}")
    made = FUNCTION.sub(r'<mspace width="0.17em"/>\g<0>', convert(formula, display="block" if block else "inline"))
    if "\\" in made or "<mi>&</mi>" in made:
        raise ValueError(f"this formula has something that MathML does not get: {latex}")
    if block:
        return f'<div class="formula">{made}' + (f"<span>({number[1]})</span>" if number else "") + "</div>"
    return made


def in_mathml(page: str) -> str:
    """A page in HTML with its formulas in MathML."""
    return FORMULA.sub(lambda found: mathml(html.unescape(found[3]), found[2] == "["), page)
