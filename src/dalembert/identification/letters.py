"""How the standard parameters are written, and sums of them."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.symbols.names import Letter
from dalembert.symbols.write import Text


def parameter_letter(name: str) -> Letter:
    """How a parameter is written: the letters of ``arm.equations(parameters="all")``.

    >>> [parameter_letter(name).text for name in ("m_2", "mx_2", "Ixy_2", "Im_2", "Fs+_2")]
    ['m_2', 'm_2ℓ_C2x', 'Î_2xy', 'I_m2', 'F_s2⁺']
    """
    kind, _, number = name.rpartition("_")
    k = int(number) if number.isdigit() else 0
    braced = number if len(number) == 1 else f"{{{number}}}"
    if not number.isdigit():
        return Letter(name, rf"\mathrm{{{name}}}", name, "friction")
    if kind == "m":
        return Letter(name, f"m_{braced}", name, "mass", k)
    if kind in ("mx", "my", "mz"):
        axis = kind[1]
        return Letter(f"ml_{k}{axis}", rf"m_{{{k}}}\ell_{{C_{{{k}}}{axis}}}", f"m_{k}ℓ_C{k}{axis}", "mass", k)
    if kind == "Im":
        return Letter(f"I_m{k}", rf"I_{{m_{braced}}}", f"I_m{k}", "tensor", k)
    if kind.startswith("I") and len(kind) == 3:
        axes = kind[1:]
        return Letter(f"Ih_{k}{axes}", rf"\hat{{I}}_{{{k}{axes}}}", f"Î_{k}{axes}", "tensor", k)
    if kind in ("Fv", "Fs"):
        return Letter(f"F_{kind[1]}{k}", f"F_{{{kind[1]}{k}}}", f"F_{kind[1]}{k}", "friction", k)
    if kind in ("Fs+", "Fs-"):
        sign, mark = kind[2], {"+": "⁺", "-": "⁻"}[kind[2]]
        plain = {"+": "p", "-": "n"}[sign]
        return Letter(f"F_s{k}{plain}", f"F_{{s{k}}}^{{{sign}}}", f"F_s{k}{mark}", "friction", k)
    if kind == "offset":
        return Letter(f"tau_0{k}", rf"\tau_{{0,{k}}}", f"τ_0,{k}", "friction", k)
    return Letter(name, rf"\mathrm{{{kind}}}_{braced}", name, "friction", k)


def assembled(own: str, groups: Sequence[tuple[bool, str, Sequence[str]]], style: Text) -> str:
    """own ± factor (name + name …) …, from (negative, factor, names); the factor 1 is the empty string.

    >>> assembled("Î_1zz", [(False, "", ["Î_2yy"]), (True, "a_1²", ["m_1", "m_2"])], Text())
    'Î_1zz + Î_2yy − a_1² (m_1 + m_2)'
    """
    text = own
    for negative, factor, names in groups:
        inside = f" {style.plus} ".join(names)
        if len(names) > 1 and (factor or negative):
            inside = f"({inside})"
        text += f" {style.minus if negative else style.plus} " + (f"{factor} {inside}" if factor else inside)
    return text
