"""How large a robot file may be: far beyond any robot, and small enough to be read in a second or so.

Sizes and depths are looked at before a file is parsed, counts before anything is made of them.
docs/robot-files.md states the same numbers.
"""

from __future__ import annotations

from dalembert.errors import RobotError

XML_BYTES = 16 * 2**20
XML_ELEMENTS = 200_000
XML_ATTRIBUTES = 500_000
XML_DEPTH = 500  # MuJoCo's own parser stops here too
TOML_BYTES = 4 * 2**20
TOML_DEPTH = 16  # of brackets and of dotted keys; robots need 4
LIMITS_BYTES = 2**20
LINKS = 10_000
LOOPS = 100
COUPLINGS = 1_000
COUPLED_JOINTS = 100  # in one of them
LINKS_IN_LOOPS = 1_000  # of a robot with closed chains
# MuJoCo's parser and compiler take a time that grows with the square of these
MJCF_ELEMENTS = 10_000  # of the file, the files it includes, and the copies that replicate, composite and flexcomp make
MJCF_BODIES = 2_000
MJCF_JOINTS = 1_000
MJCF_HEIGHTS = 2**24  # points of height fields
MJCF_NUMBERS = 10_000  # of a custom element, a user sensor, and each of nuser_body, nuser_geom, …, nuserdata and nkey
MJCF_DELETIONS = 2_000_000  # meshes, textures, … and keyframes that no inertia needs, times all elements
TERMS_OF_JOINT = 100  # of friction
NAME = 1_000  # letters
TABLE_BYTES = 4 * 2**20  # of a DH table in a text file or a spreadsheet
TABLE_CELLS = 200_000
MESH_BYTES = 256 * 2**20


def at_most(most: int, count: float, what: str, where: str) -> None:
    """Refuse a count above the bound.

    >>> at_most(10_000, 10_001, "links", "arm.urdf")
    Traceback (most recent call last):
    ...
    dalembert.errors.RobotError: arm.urdf: it has more than 10000 links; no robot file with more is read
    """
    if count > most:
        raise RobotError(f"{where}: it has more than {most} {what}; no robot file with more is read")
