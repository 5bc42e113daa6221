"""Colours of joints can be told apart with every common kind of colour vision: ΔE (CIEDE2000) ≥ 12 in all simulations."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import dalembert
from dalembert.views.report.colours import JOINTS

CSS = Path(dalembert.__file__).parent / "views" / "web" / "js" / "colours.css"
LEAST = 12.0
# linear RGB as seen without the cones for red, green or blue: Machado, Oliveira, Fernandes (2009), severity 1
VISION = {
    "all cones": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "tritanopia": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}  # fmt: skip
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def lab(colours: list[str], vision: str) -> np.ndarray:
    """CIELAB (N, 3) under D65."""
    rgb = np.array([[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in colours]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x = np.clip(linear @ VISION[vision].T, 0, 1) @ XYZ.T / [0.95047, 1.0, 1.08883]
    f = np.where(x > 216 / 24389, np.cbrt(np.maximum(x, 1e-12)), (24389 / 27 * x + 16) / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def ciede2000(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Sharma, Wu, Dalal (2005)."""
    (L1, a1, b1), (L2, a2, b2) = np.moveaxis(one, -1, 0), np.moveaxis(other, -1, 0)
    chroma = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    grow = 1.5 - 0.5 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    C1, C2 = np.hypot(grow * a1, b1), np.hypot(grow * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, grow * a)) for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180
    mean, L, C = np.radians(h1 + turn / 2), (L1 + L2) / 2, (C1 + C2) / 2
    T = 1 - 0.17 * np.cos(mean - np.pi / 6) + 0.24 * np.cos(2 * mean)
    T = T + 0.32 * np.cos(3 * mean + np.radians(6)) - 0.2 * np.cos(4 * mean - np.radians(63))
    light = (L2 - L1) / (1 + 0.015 * (L - 50) ** 2 / np.sqrt(20 + (L - 50) ** 2))
    strong = (C2 - C1) / (1 + 0.045 * C)
    hue = 2 * np.sqrt(C1 * C2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * C * T)
    around = np.exp(-((((np.degrees(mean) % 360) - 275) / 25) ** 2))
    mixed = -2 * np.sqrt(C**7 / (C**7 + 25.0**7)) * np.sin(np.radians(60 * around))
    return np.sqrt(light**2 + strong**2 + hue**2 + mixed * strong * hue)


def test_the_difference_of_colours_is_that_of_its_authors() -> None:
    """Pairs 1, 7 and 17 of their table of test data."""
    pairs = np.array([
        [[50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485]],
        [[50.0, 0.0, 0.0], [50.0, -1.0, 2.0]],
        [[50.0, 2.5, 0.0], [73.0, 25.0, -18.0]],
    ])  # fmt: skip
    assert np.allclose(ciede2000(pairs[:, 0], pairs[:, 1]), [2.0425, 2.3669, 27.1492], atol=2e-4)


def page_colours(scheme: str) -> list[str]:
    light, dark = CSS.read_text().split("@media screen and (prefers-color-scheme: dark)")
    return re.findall(r"--joint-\d+: (#\w{6});", dark if scheme == "dark" else light)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("scheme", ["light", "dark", "figures"])
def test_colours_of_joints_can_be_told_apart(scheme: str, vision: str) -> None:
    colours = list(JOINTS) if scheme == "figures" else page_colours(scheme)
    seen = lab(colours, vision)
    i, j = np.triu_indices(len(colours), 1)
    difference = ciede2000(seen[i], seen[j])
    k = int(np.argmin(difference))
    assert len(colours) >= 9 and difference[k] >= LEAST, (colours[i[k]], colours[j[k]])
