"""The picture of the package, `docs/house.svg`: its floors from bottom to top, and their rooms with their sizes.

    python docs/hooks/floors.py        writes the picture anew

The width of a box is the room's number of lines. `tests/test_house.py` fails when a floor or a room is missing from the picture
or a size is more than a tenth out of date.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "dalembert"
PICTURE = ROOT / "docs" / "house.svg"
FLOORS = {  # from bottom to top, with what each is for
    "base": "what every floor needs",
    "robot": "a file becomes a Robot, a Robot a Mechanism",
    "mechanics": "the equations of the documents, on trees and through q = γ(y)",
    "compiler": "equations become graphs, graphs become machine code",
    "arm": "the object that users work with",
    "work": "what is done with an arm",
    "views": "what a person sees",
}
COLOURS = ("#dbe7f3", "#dcefe6", "#fbeed3", "#f6e0dc", "#e6e0f2", "#dff0f3", "#eee9df")
WIDTH, LEFT, HEIGHT, GAP, SCALE = 960, 16, 40, 6, 0.045  # px; SCALE in px per line
LETTER = 8.2  # px, the width of a letter at most


def lines(folder: Path, *, below: bool = True) -> int:
    """The lines of Python in a folder, with or without those of its folders."""
    return sum(path.read_text(encoding="utf-8").count("\n") for path in folder.glob("**/*.py" if below else "*.py"))


def rooms(floor: str) -> dict[str, int]:
    """The rooms of a floor with their lines: its folders, their own folders counted with them, or the floor itself."""
    folders = sorted(path for path in (PACKAGE / floor).iterdir() if (path / "__init__.py").exists())
    sizes = {path.name: lines(path) for path in folders}
    return sizes or {floor: lines(PACKAGE / floor)}


def drawn() -> dict[str, dict[str, int]]:
    """The sizes in the picture as it is: {floor: {room: lines}}."""
    sizes: dict[str, dict[str, int]] = {}
    for floor, room, count in re.findall(
        r'data-floor="(\w+)" data-room="(\w+)" data-lines="(\d+)"', PICTURE.read_text()
    ):
        sizes.setdefault(floor, {})[room] = int(count)
    return sizes


def svg() -> str:
    """The picture: views at the top, base at the bottom; rooms that do not fit in one row continue in the next."""
    bands, y = [], 10.0
    for (floor, purpose), colour in reversed(list(zip(FLOORS.items(), COLOURS, strict=True))):
        boxes, x, row = [], float(LEFT + 10), 0
        for room, count in rooms(floor).items():
            label = f"{count / 1000:.1f}k"
            width = max(count * SCALE, LETTER * max(len(room), len(label)) + 14)
            if x + width > WIDTH - LEFT - 10:
                x, row = float(LEFT + 10), row + 1
            top = y + 30 + row * (HEIGHT + GAP)
            boxes.append(
                f'<g data-floor="{floor}" data-room="{room}" data-lines="{count}"><rect x="{x:.0f}" y="{top:.0f}" '
                f'width="{width:.0f}" height="{HEIGHT}" rx="3" fill="#fff" stroke="#8a93a0"/>'
                f'<text x="{x + 7:.0f}" y="{top + 17:.0f}">{room}</text>'
                f'<text x="{x + 7:.0f}" y="{top + 32:.0f}" class="n">{label}</text></g>'
            )
            x += width + GAP
        height = 30 + (row + 1) * (HEIGHT + GAP) + 6
        bands.append(
            f'<rect x="{LEFT}" y="{y:.0f}" width="{WIDTH - 2 * LEFT}" height="{height}" rx="5" fill="{colour}"/>'
            f'<text x="{LEFT + 10}" y="{y + 20:.0f}"><tspan class="f">{floor}/</tspan> <tspan class="p" dx="6">{purpose}</tspan>'
            f'</text><text x="{WIDTH - LEFT - 10}" y="{y + 20:.0f}" text-anchor="end" class="n">'
            f"{lines(PACKAGE / floor) / 1000:.1f}k lines</text>" + "".join(boxes)
        )
        y += height + 8
    style = "text{font:13px sans-serif;fill:#20262e}.f{font-weight:700;font-size:15px}.p{fill:#48515c}.n{fill:#5d6773;font-size:12px}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 2:.0f}" role="img" '
        f'aria-label="The floors of the package and their rooms"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{chr(10).join(bands)}</svg>\n'
    )


if __name__ == "__main__":
    PICTURE.write_text(svg(), encoding="utf-8")
