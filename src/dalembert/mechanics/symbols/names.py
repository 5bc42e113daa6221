"""The letter for each number of a robot: S's own if S has one.

==============================  =====================================================================
m_ℓi, I_ℓi, ℓ_i                 link i: mass, inertia about its centre of mass, distance of the latter from
                                the joint's axis along x (for a DH link: the centre of mass has
                                x = ℓ_i − a_i in frame i). I_ℓi if one component is sufficient, else
                                I_ℓi,xx …; ℓ_i,y and ℓ_i,z are the other coordinates in frame i
m_mi, I_mi, k_ri                rotor i: mass, inertia about its axis, gear ratio
a_i, d_i, α_i                   the Denavit–Hartenberg table (α_i only if it is not a multiple of π/12)
p_i,x …                         position of joint i on its parent link, for robots without DH table
ϑ_i, d_i                        the variable of a revolute and of a prismatic joint; d°_i is added to
                                the latter if the robot has an offset
c_2, s_12 …                     cos ϑ_2, sin(ϑ_1+ϑ_2)
m_L                             the payload
w_i                             the fraction of its weight that the joints support, if it is not 1
F_vi, F_si, F_mi                friction: viscous and Coulomb at the joint; viscous at the motor
F_sti, v_si, k_i, q_0,i …       further terms, by the symbols that they define; with the term's initial, as in
                                a_gi of a gas spring, if S uses the letter or another term of the joint has it
τ̄_i                             the load of joint i: its torque without its own friction and springs
g                               the acceleration of gravity
m_i, m_iℓ_Cix, Î_ixx            with parameters="all": the augmented links of S (7.77)
==============================  =====================================================================

A product of inertia I_xy here is the tensor's entry −∫xy dm, as in URDF; S (7.11) writes it −I_xy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# the order of factors in a product, as S writes them: 2 k_r I_m a ℓ g c_2 ϑ̇
KINDS = (
    "root", "gear", "tensor", "mass", "friction", "length", "slide", "gravity", "twist", "cosine", "sine",
    "velocity", "acceleration", "sign", "load", "function",
)  # fmt: skip
RANK = {kind: rank for rank, kind in enumerate(KINDS)}
RANK["sine"] = RANK["cosine"]  # s_23 c_4 s_5: by joint
INERTIAL = {"gear", "tensor", "mass"}
TRIGONOMETRIC = {"cosine", "sine"}
RESERVED = frozenset("abcdegmpslIF")  # with a joint number these are letters of S, or names of terms
GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "zeta": "ζ", "eta": "η", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "psi": "ψ", "omega": "ω",
}  # fmt: skip


@dataclass
class Letter:
    """A letter and its notation.

    name      for SymPy: plain ASCII, such as m_l1
    latex     such as m_{\\ell_1}
    text      such as m_ℓ1
    kind      one of KINDS
    index     the joint or link to which it belongs, from 1 (0: none)
    value     its number, if it has one
    meaning   its description, for the legend
    """

    name: str
    latex: str
    text: str
    kind: str
    index: int = 0
    value: float | None = None
    meaning: str = ""
    # for cosines and sines: (joint, factor) …, and the constant that is added to their sum
    angle: tuple[tuple[int, float], ...] = field(default=())
    phase: float = 0.0

    @property
    def is_parameter(self) -> bool:
        """Whether it is a parameter of the robot."""
        return self.value is not None and self.kind != "root"

    @property
    def label(self) -> str:
        """The number of a joint variable, as it is written."""
        return self.name.partition("_")[2]

    @property
    def order(self) -> tuple[int, int, str]:
        """Its position in a product."""
        return RANK[self.kind], self.index, self.name


def letter(base: str, subscript: str, kind: str, index: int, value: float, meaning: str) -> Letter:
    """A letter with a subscript; ``l`` stands for ℓ in both.

    >>> letter("m", "l1", "mass", 1, 2.0, "mass of link 1").latex
    'm_{\\\\ell_1}'
    """
    greek = {"eps": r"\varepsilon"}.get(base, rf"\{base}") if base in GREEK else base
    latex_base = {"l": r"\ell", "Ih": r"\hat{I}", "d0": r"\bar{d}"}.get(base, greek)
    text_base = {"l": "ℓ", "Ih": "Î", "d0": "d°"}.get(base, GREEK.get(base, base))
    latex_sub = text_sub = subscript.replace(",", "" if base == "Ih" else ",")
    if subscript.startswith("l" if kind == "friction" else ("l", "m")):  # of a link or a motor
        number, _, rest = subscript[1:].partition(",")
        latex_owner, text_owner, gap = (r"\ell", "ℓ", "") if subscript[0] == "l" else ("m", "m", " " if rest else "")
        latex_sub, text_sub = f"{latex_owner}_{braced(number)}{gap}{rest}", f"{text_owner}{number}{rest}"
    name = f"{base}_{subscript}".replace(",", "")
    return Letter(name, f"{latex_base}_{braced(latex_sub)}", f"{text_base}_{text_sub}", kind, index, value, meaning)


def braced(subscript: str) -> str:
    """A subscript for LaTeX: 1, {12}."""
    return subscript if len(subscript) == 1 else f"{{{subscript}}}"


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
    forms = {  # name, LaTeX, text, meaning
        "m": (name, f"m_{braced(k)}", name, "mass"),
        "Im": (f"I_m{joints}", rf"I_{{m_{braced(k)}}}", f"I_m{k}", "tensor"),
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
    return Letter(*forms.get(kind, (name, rf"\mathrm{{{kind}}}_{braced(k)}", name, "friction")), index)


def joint_variable(index: int, revolute: bool, dots: int = 0, label: str = "") -> Letter:
    """ϑ_i or d_i, or a time derivative of it; ``label`` is the number as it is written, if that differs."""
    accent = ("", r"\dot", r"\ddot")[dots]
    base = r"\vartheta" if revolute else "d"
    latex = f"{accent}{{{base}}}" if dots else base
    name = ("theta" if revolute else "d") + ("", "dot", "ddot")[dots]
    mark = ("", "\u0307", "\u0308")[dots]
    kind = ("slide", "velocity", "acceleration")[dots]
    sub = label or str(index)
    return Letter(f"{name}_{sub}", f"{latex}_{braced(sub)}", f"{'ϑ' if revolute else 'd'}{mark}_{sub}", kind, index)


def as_text(name: str) -> str:
    """The notation of a letter from its SymPy name.

    >>> as_text("thetaddot_1"), as_text("dddot_3"), as_text("m_l2'"), as_text("l_2"), as_text("k_r2")
    ('ϑ̈_1', 'd̈_3', "m_ℓ2'", 'ℓ_2', 'k_r2')
    """
    if match := re.fullmatch(r"(theta|d)(d?dot)?(_.+)", name):
        mark = {"dot": "\u0307", "ddot": "\u0308"}.get(match[2], "")
        return ("ϑ" if match[1] == "theta" else "d") + mark + match[3]
    base, _, subscript = name.partition("_")
    base = GREEK.get(base, base.replace("l", "ℓ") if base == "l" else base)
    return f"{base}_{re.sub(r'^l(?=[0-9])', 'ℓ', subscript)}" if subscript else base


def sign_of(parts: Sequence[tuple[Letter, float]]) -> Letter:
    """sgn(q̇_i), or the sign of a sum of velocities with their factors."""
    latex, text, name = weighted_sum([(factor, v) for v, factor in parts])
    angle = tuple((v.index, factor) for v, factor in parts)
    return Letter(
        f"sgn_{name}", rf"\operatorname{{sgn}}({latex})", f"sgn({text})", "sign", parts[0][0].index, angle=angle
    )


def weighted_sum(parts: Sequence[tuple[float, Letter]]) -> tuple[str, str, str]:
    """A sum of letters with factors: in LaTeX, in text, and as part of a name. Positive terms first."""
    latex = text = name = ""
    for factor, variable in sorted(parts, key=lambda part: part[0] < 0):
        size = "" if abs(factor) == 1 else f"{abs(factor):g}"
        latex += ("-" if factor < 0 else "+" if latex else "") + size + variable.latex
        text += ("−" if factor < 0 else "+" if text else "") + size + variable.text
        name += ("m" if factor < 0 else "") + (size and f"{size}x".replace(".", "p")) + variable.label
    return latex, text, name


def upright(angle: Sequence[tuple[int, float]]) -> tuple[tuple[tuple[int, float], ...], int]:
    """The sum of angles with the sign that makes most of them positive, and that sign.

    >>> upright([(1, -1), (2, -1)])
    (((1, 1), (2, 1)), -1)
    """
    sign = 1 if (sum(factor for _, factor in angle) or angle[-1][1]) > 0 else -1
    return tuple((joint, sign * factor) for joint, factor in angle), sign


def circle_letters(
    angle: Sequence[tuple[int, float]], variables: Mapping[int, Letter], phase: float = 0.0
) -> tuple[Letter, Letter]:
    """c_12 and s_12 for the angle ϑ_1 + ϑ_2; cos(ϑ_2−ϑ_1+0.3) if it is not a plain sum."""
    key = tuple(angle)
    if phase == 0 and all(factor == 1 for _, factor in key):
        labels = [variables[joint].label for joint, _ in key]
        sub = ("" if all(len(label.rstrip("'")) == 1 for label in labels) else ",").join(labels)
        words = [(f"{f}_{sub.replace(',', '_')}", f"{f}_{braced(sub)}", f"{f}_{sub}") for f in "cs"]
    else:
        latex, text, name = weighted_sum([(factor, variables[joint]) for joint, factor in key])
        if phase:
            latex, text = latex + f"{phase:+.6g}", text + f"{phase:+.6g}".replace("-", "−")
        words = [(f"{word[0]}_{name}", rf"\{word}({latex})", f"{word}({text})") for word in ("cos", "sin")]
    index = min(joint for joint, _ in key)
    cosine, sine = (
        Letter(*x, kind, index, angle=key, phase=phase) for x, kind in zip(words, ("cosine", "sine"), strict=True)
    )
    return cosine, sine
