"""Colours: one per joint for any number of joints, and their counterparts on a dark page."""

from __future__ import annotations

from functools import cache

import numpy as np

from dalembert.base.arrays import Array

INK, SOFT, RED = "#1c2733", "#8b97a3", "#b3261e"
JOINTS = ("#1f5fa8", "#d1702a", "#3d8f5a", "#8a58a5", "#b0413e", "#3b9ba3", "#8c6d31", "#d4679b", "#5b6770", "#7a9a01")
# for further joints: each the farthest in Oklab from all before it, among displayable colours with contrast on white
FURTHER = (
    "#a492fb", "#611ba7", "#3480fc", "#841c58", "#703f0e", "#225a31", "#2fc183", "#30aff8", "#baa260", "#b51c79",
    "#554077", "#9b61ea", "#e54151", "#594fd7", "#e76edf", "#2936b7", "#7b80bc", "#d78e8d", "#c54ebe", "#b67070",
    "#58b7b1", "#be92c8", "#8d1c11", "#0d5279", "#127a6b", "#8f5270", "#99b234", "#9832ae", "#307c1b", "#e78b30",
)  # fmt: skip
GREY = 0.035  # chroma in Oklab up to which a colour counts as a neutral shade

# sRGB to the cone responses of Oklab (Ottosson, 2020), and these to lightness, green-red and blue-yellow
_CONES = np.array([
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
])  # fmt: skip
_LAB = np.array([
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
])  # fmt: skip


def oklab(colour: str) -> Array:
    """Lightness (0 to 1), green–red and blue–yellow (3,) of a colour ``#rrggbb``; distances are perceptually uniform.

    >>> oklab("#ffffff").round(3).tolist()
    [1.0, 0.0, 0.0]
    """
    rgb = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return _LAB @ np.cbrt(_CONES @ linear) + 0.0


def _linear(lab: Array) -> Array:
    """The linear sRGB of a colour, outside 0 to 1 if a screen cannot show it."""
    return np.asarray(np.linalg.solve(_CONES, np.linalg.solve(_LAB, lab) ** 3))


def _hex(lab: Array) -> str:
    """``#rrggbb`` of a colour; the chroma of one that a screen cannot show is reduced."""
    rgb = _linear(lab)
    while rgb.min() < -1e-4 or rgb.max() > 1 + 1e-4:
        lab = lab * np.array([1.0, 0.95, 0.95])
        rgb = _linear(np.array([min(max(lab[0], 0.0), 1.0), *lab[1:]]))
    rgb = np.clip(rgb, 0.0, 1.0)
    shown = np.where(rgb <= 0.0031308, 12.92 * rgb, 1.055 * rgb ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * float(x)):02x}" for x in shown)


def joint_colour(i: int) -> str:
    """The colour ``#rrggbb`` of joint i, from 0, in every figure; up to 40 joints have different colours.

    >>> joint_colour(0), joint_colour(10) in JOINTS
    ('#1f5fa8', False)
    """
    colours = (*JOINTS, *FURTHER)
    return colours[i % len(colours)]


@cache
def in_the_dark(colour: str) -> str:
    """The colour on a dark page: neutral shades are inverted, other colours keep their hue and become lighter.

    >>> in_the_dark("#ffffff"), in_the_dark("#1f5fa8")
    ('#15191f', '#639fe9')
    """
    lab = oklab(colour)
    if np.hypot(lab[1], lab[2]) <= GREY:  # white becomes the colour of the page, ink nearly white
        light = 0.212 + 0.95 * max(1.0 - float(lab[0]), 0.0) ** 0.9
        return _hex(np.array([min(light, 0.95), -0.003, -0.013]))
    return _hex(np.array([0.5 + 0.4 * lab[0], *(0.95 * lab[1:])]))
