"""Colours of figures: one per joint for any number of joints. Dark pages invert them (``report.css``)."""

from __future__ import annotations

INK, SOFT, RED = "#1c2733", "#8b97a3", "#b3261e"
AXES = ("#b0413e", "#3d8f5a", "#1f5fa8")  # x, y, z
JOINTS = ("#1f5fa8", "#d1702a", "#3d8f5a", "#8a58a5", "#b0413e", "#3b9ba3", "#8c6d31", "#d4679b", "#5b6770", "#7a9a01")
# for further joints: each the farthest in Oklab from all before it, among displayable colours with contrast on white
FURTHER = (
    "#a492fb", "#611ba7", "#3480fc", "#841c58", "#703f0e", "#225a31", "#2fc183", "#30aff8", "#baa260", "#b51c79",
    "#554077", "#9b61ea", "#e54151", "#594fd7", "#e76edf", "#2936b7", "#7b80bc", "#d78e8d", "#c54ebe", "#b67070",
    "#58b7b1", "#be92c8", "#8d1c11", "#0d5279", "#127a6b", "#8f5270", "#99b234", "#9832ae", "#307c1b", "#e78b30",
)  # fmt: skip


def joint_colour(i: int) -> str:
    """The colour ``#rrggbb`` of joint i, from 0, in every figure; up to 40 joints have different colours.

    >>> joint_colour(0), joint_colour(10) in JOINTS
    ('#1f5fa8', False)
    """
    colours = (*JOINTS, *FURTHER)
    return colours[i % len(colours)]
