"""The notation of the standard parameters, and of sums of them."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.mechanics.symbols.names import GREEK, Letter
from dalembert.mechanics.symbols.write import Text


def parameter_letter(name: str) -> Letter:
    """The symbol of a parameter, as in ``arm.equations(parameters="all")``.

    >>> [parameter_letter(name).text for name in ("m_2", "mx_2", "Ixy_2", "Im_2", "Fs+_2")]
    ['m_2', 'm_2ℓ_C2x', 'Î_2xy', 'I_m2', 'F_s2⁺']
    >>> [parameter_letter(name).text for name in ("Fst_2", "mu_2", "eta1_2", "sin2_1", "Fv_5_6")]
    ['F_st2', 'μ_2', 'η_1,2', 'sin2_1', 'F_v5,6']
    """
    kind, _, joints = name.partition("_")
    numbers = joints.replace("'", "").split("_")
    if not all(map(str.isdigit, numbers)):
        return Letter(name, rf"\mathrm{{{name}}}", name, "friction")
    k, index = joints.replace("_", ","), int(numbers[0])
    braced = k if len(k) == 1 else f"{{{k}}}"
    forms = {  # name, LaTeX, text, meaning
        "m": (name, f"m_{braced}", name, "mass"),
        "Im": (f"I_m{joints}", rf"I_{{m_{braced}}}", f"I_m{k}", "tensor"),
        "Fs+": (f"F_s{k}p", f"F_{{s{k}}}^{{+}}", f"F_s{k}⁺", "friction"),
        "Fs-": (f"F_s{k}n", f"F_{{s{k}}}^{{-}}", f"F_s{k}⁻", "friction"),
        "offset": (f"tau_0{k}", rf"\tau_{{0,{k}}}", f"τ_0,{k}", "friction"),
    }
    for x in "xyz":
        forms[f"m{x}"] = (f"ml_{k}{x}", rf"m_{{{k}}}\ell_{{C_{{{k}}}{x}}}", f"m_{k}ℓ_C{k}{x}", "mass")
        for y in "xyz":
            forms[f"I{x}{y}"] = (f"Ih_{k}{x}{y}", rf"\hat{{I}}_{{{k}{x}{y}}}", f"Î_{k}{x}{y}", "tensor")
    if kind not in forms:
        word = next((word for word in GREEK if kind.startswith(word)), "")
        if word:  # η_1,3 of eta1_3
            below = ",".join(filter(None, (kind.removeprefix(word), k)))
            forms[kind] = (name, rf"\{word}_{{{below}}}", f"{GREEK[word]}_{below}", "friction")
        elif kind.startswith("F") and kind != "F":  # F_st3 of Fst_3
            forms[kind] = (f"F_{kind[1:]}{joints}", f"F_{{{kind[1:]}{k}}}", f"F_{kind[1:]}{k}", "friction")
    return Letter(*forms.get(kind, (name, rf"\mathrm{{{kind}}}_{braced}", name, "friction")), index)


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
