"""The equations of motion of small arms in closed form, in a subset of LaTeX that ``js/formula.js`` shows as MathML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.mechanics.symbols.names import TRIGONOMETRIC, weighted_sum
from dalembert.mechanics.symbols.write import Latex

if TYPE_CHECKING:
    from dalembert.mechanics.symbols.present import Equations

MOST_JOINTS = 4
MOST_TERMS = 400  # of B, C and g after expansion: the most that a person may want to read
ABBREVIATED = {"c": r"\cos", "s": r"\sin"}


def equations_data(arm: Arm) -> dict[str, Any]:
    """The data of ``js/equations_panel.js``: each entry of B, C, g and τ as (name, right-hand side), and the meaning of
    symbols.

    ``reason`` states why there are no closed forms, and is None if there are.

    >>> import dalembert as da
    >>> equations_data(da.load("planar-2r"))["g"][1]
    ('g_2', 'm_{\\\\ell_2} \\\\ell_2 g c_{12}')
    >>> equations_data(da.load("panda"))["reason"]
    'The closed forms of an arm with 7 joints are too long to read: they are shown for at most 4 joints.'
    """
    if arm.n > MOST_JOINTS:
        words = f"The closed forms of an arm with {arm.n} joints are too long to read"
        return {"reason": f"{words}: they are shown for at most {MOST_JOINTS} joints."}
    try:
        form: Equations = arm.equations()
        if form.size > MOST_TERMS:
            words = f"B, C and g of this arm have {form.size:,} terms after expansion, which are too many to read"
            return {"reason": f"{words}: they are shown for at most {MOST_TERMS}."}
        n = range(1, arm.n + 1)
        return {
            "reason": None,
            "B": [[_entry(form, f"B{i}{j}") for j in n] for i in n],
            "C": [[_entry(form, f"C{i}{j}") for j in n] for i in n],
            "g": [_entry(form, f"g{i}") for i in n],
            "tau": [(form.named(f"tau{i}")[1], form.written_torque(i - 1, Latex())) for i in n],
            "angles": _angles(form),
            "letters": [(x.latex, float(x.value or 0.0), x.meaning) for x in form.written_letters if x.is_parameter],
        }
    except DalembertError as problem:  # no closed form exists, or SymPy is missing and a friction law needs it
        sentence = str(problem).partition("; ")[0].rstrip(".")
        return {"reason": f"{sentence[:1].upper()}{sentence[1:]}."}


def _entry(form: Equations, name: str) -> tuple[str, str]:
    """An entry's name and its right-hand side."""
    return form.named(name)[1], form.latex(name)


def _angles(form: Equations) -> list[tuple[str, str]]:
    """The meaning of abbreviations such as c_12 and s_2."""
    out = []
    for letter in form.written_letters:
        if letter.kind in TRIGONOMETRIC and letter.latex[0] in ABBREVIATED:
            angle, _, _ = weighted_sum([(factor, form.form.q[joint - 1]) for joint, factor in letter.angle])
            out.append((letter.latex, f"{ABBREVIATED[letter.latex[0]]}({angle})"))
    return out
