"""Colours of figures: one per joint for any number of joints. Dark pages invert them (``report.css``).

The first ten can be told apart with all common kinds of colour vision.
"""

from __future__ import annotations

INK, SOFT, RED = "#1c2733", "#8b97a3", "#b3261e"
AXES = ("#b0413e", "#3d8f5a", "#1f5fa8")  # x, y, z
JOINTS = ("#0b60e0", "#c88649", "#3a8361", "#7a4985", "#923735", "#30a1ab", "#926b1b", "#fc4399", "#60686d", "#411305")
# for further joints: each the farthest in Oklab from all before it, among displayable colours with contrast on white
FURTHER = (
    "#a492fb", "#99b234", "#225a31", "#611ba7", "#0d5279", "#c54ebe", "#7b80bc", "#30aff8", "#e54151", "#9b61ea",
    "#2936b7", "#2fc183", "#b51c79", "#e76edf", "#3480fc", "#b67070", "#d78e8d", "#703f0e", "#9832ae", "#be92c8",
    "#307c1b", "#841c58", "#58b7b1", "#594fd7", "#baa260", "#554077", "#8f5270", "#8d1c11", "#e78b30", "#127a6b",
)  # fmt: skip


def joint_colour(i: int) -> str:
    """The colour ``#rrggbb`` of joint i, from 0, in every figure; up to 40 joints have different colours.

    >>> joint_colour(0), joint_colour(10) in JOINTS
    ('#0b60e0', False)
    """
    colours = (*JOINTS, *FURTHER)
    return colours[i % len(colours)]
