"""Size limits of robot files: far above any real robot, and low enough for a file to be read in seconds.

File sizes and nesting depths are checked before parsing, and counts before any object is built.
docs/robot-files.md lists the same numbers.
"""

from __future__ import annotations

import math

from dalembert.errors import RobotError

XML_BYTES = 16 * 2**20
XML_ELEMENTS = 200_000
XML_ATTRIBUTES = 500_000
XML_DEPTH = 500  # MuJoCo's own parser has the same limit
XACRO_ELEMENTS = 50_000  # after the expansion of macros
TOML_BYTES = 4 * 2**20
TOML_DEPTH = 16  # nested brackets and parts of dotted keys; robots need 4
LIMITS_BYTES = 2**20
LINKS = 10_000
MANY_JOINTS, COMPILE_SECONDS = 200, 0.07  # more moving joints than these are announced; time per joint and function
LOOPS = 100
COUPLINGS = 1_000
COUPLED_JOINTS = 100  # per coupling
LINKS_IN_LOOPS = 1_000  # in a robot with closed chains
# the run time of MuJoCo's parser and compiler grows with the square of these
MJCF_ELEMENTS = 10_000  # in the file, in included files, and in the copies made by replicate, composite and flexcomp
MJCF_BODIES = 2_000
MJCF_JOINTS = 1_000
MJCF_FOLDERS = 100  # named by meshdir, texturedir and assetdir
MJCF_HEIGHTS = 2**24  # points in height fields
MJCF_NUMBERS = 10_000  # per custom element, per user sensor, and for each of nuser_body, …, nuserdata and nkey
MJCF_DELETIONS = 2_000_000  # deletable items (meshes, textures, …, keyframes) times the number of elements
TERMS_OF_JOINT = 100  # friction terms
NAME = 1_000  # characters
TABLE_BYTES = 4 * 2**20  # DH table in a text file or a spreadsheet
TABLE_CELLS = 200_000
TABLE_COLUMNS = 1_000
MESH_BYTES = 256 * 2**20
# numbers of the model in SI units: beyond these, products of a few of them leave the range of double or single precision
LARGEST_NUMBER = 1e12
SMALLEST_LIMIT = 1e-12  # of a velocity, an acceleration or an effort
UNLIMITED = 1e16  # a limit of at least this magnitude means that there is none, as in SDF


def check_size(what: str, value: float) -> None:
    """Refuse a number that is not finite, or too large for any robot.

    >>> check_size("the mass of the payload", 1e308)
    Traceback (most recent call last):
    ...
    dalembert.errors.RobotError: the mass of the payload has the value 1e+308; at most 1e+12 in SI units is allowed
    """
    if not math.isfinite(value):
        raise RobotError(f"{what} has the value {value}; it must be a finite number")
    if abs(value) > LARGEST_NUMBER:
        raise RobotError(f"{what} has the value {value:g}; at most {LARGEST_NUMBER:g} in SI units is allowed")


def at_most(most: int, count: float, what: str, where: str) -> None:
    """Refuse a count above the bound.

    >>> at_most(10_000, 10_001, "links", "arm.urdf")
    Traceback (most recent call last):
    ...
    dalembert.errors.RobotError: arm.urdf: it has more than 10000 links, the maximum for a robot file
    """
    if count > most:
        raise RobotError(f"{where}: it has more than {most} {what}, the maximum for a robot file")
