"""DH tables in CSV files and spreadsheets: the same arm as its rows in SI units, or one sentence about a cell."""

from __future__ import annotations

import contextlib
import math
import re
import time
from pathlib import Path

import pytest

import dalembert as da
from dalembert.base.tables.columns import headings
from dalembert.errors import RobotError
from dalembert.robot.readers.dh import from_dh
from dalembert.robot.readers.dh_columns import COLUMNS, MEANING
from dalembert.robot.readers.dh_table import read_dh_table
from workbooks import write_workbook

ROWS = [
    {
        "a": 0.0, "alpha": -math.pi / 2, "d": 0.4, "mass": 3.5, "com": (0.0, 0.01, -0.05),
        "rotor": {"inertia": 0.2e-4, "gear": 100.0},
        "limits": {"lower": -math.radians(170), "upper": math.radians(170), "velocity": 10 * math.pi / 30, "effort": 40.0},
        "friction": {"viscous": 0.3, "coulomb": 1.5},
    },
    {"a": 0.5, "alpha": 0.0, "d": 0.0, "theta": math.pi / 2, "mass": 2.0, "inertia": [0.01, 0.02, 0.03, 0, 0, 0]},
    {"type": "prismatic", "theta": 0.0, "d": 0.1, "mass": 1.0, "limits": {"lower": 0.0, "upper": 0.25}},
]  # fmt: skip
# the same arm as people write it
GERMAN = """\ufeffSCARA der Halle 3;;;;;;
;;;;;;
Joint;Type;a [mm];α (°);d [mm];θ;m [kg];com_x;com_y [mm];com_z [mm];Ixx;Iyy;Izz;Im [kg cm²];kr;min [deg, mm];max [deg, mm];max speed [rpm];Effort (Nm);Fv;Fc
1;R;0;-90;400;q1;3,5;0;10;-50;;;;0,2;1:100;-170;170;10;40;0,3;1,5
2;R;500;0;0;q2 + 90;2;;;;0,01;0,02;0,03;;;;;;;;
3;P;0;0;q3 + 100;0;1;;;;;;;;;0;250;;;;

Summe;;;;;;6,5
"""
ENGLISH = """# convention: standard
i, a_i (m), alpha_i, d_i, theta_i, offset, mass, cy [cm], cz [cm], Ixx [kg cm^2], Iyy [g m²], Izz, J_m [g cm2], gear, q_min, q_max, velocity, torque [N cm], viscous, coulomb

1, 0,   -pi/2, 0.4, *,  ,        3500 g, 1, -5, , , , 200, 100, -170 deg, 170 deg, 10 rpm, 4000, 0.3, 1.5
2, 0.5, 0,     0,   *,  90 deg,  2,       ,   , 100, 20, 0.03, , , , , , , ,
3, 0,   0,     *,   0,  0.1,     1,       ,   , , , , , , 0, 250 mm, , , ,
"""


@pytest.fixture
def table(tmp_path: Path):
    def read(text: str | bytes, name: str = "arm.csv", **options):
        content = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(content)
        return read_dh_table(tmp_path / name, **options)

    return read


def numbers_of(robot):
    """Everything that torques depend on."""
    return [
        x
        for joint, link in zip(robot.joints, robot.links[1:], strict=True)
        for x in (
            *(joint.offset, *joint.placement.translation, *joint.link_frame.translation),
            *(v for row in joint.link_frame.rotation for v in row),
            *(link.inertia.mass, *link.inertia.com, *(v for row in link.inertia.tensor for v in row)),
            *(
                joint.rotor.inertia * joint.rotor.gear**2 if joint.rotor else 0.0,
                *(x or 0.0 for x in vars(joint.limits).values()),
            ),
        )
    ]


@pytest.mark.parametrize("text", [GERMAN, ENGLISH, GERMAN.encode("utf-16")], ids=["german", "english", "utf-16"])
def test_a_table_in_other_units_is_the_arm_of_its_rows_in_si(table, text):
    robot, expected = table(text), from_dh(ROWS)
    assert robot.joint_letters == "RRP"
    assert numbers_of(robot) == pytest.approx(numbers_of(expected), abs=1e-15)
    assert [joint.friction for joint in robot.joints] == [joint.friction for joint in expected.joints]


def test_a_spreadsheet_is_the_same_arm(tmp_path):
    rows: list[list[object]] = [
        [],
        ["My arm"],
        ["joint", "a", "alpha", "d", "theta", "mass"],
        [None, "mm", "deg", "mm"],
    ]
    rows += [
        ["base", 0.0, -90.0, 400.5, "q1", 1.0],
        ["elbow", 500.0, 0.0, 0.0, "q2", 0.1 + 0.2],
        ["Total", None, None, None, None, 1.3],
    ]
    arm = da.load(write_workbook(tmp_path / "arm.xlsx", rows))
    expected = from_dh(
        [
            {"name": "base", "alpha": -math.pi / 2, "d": 0.4005, "mass": 1.0},
            {"name": "elbow", "a": 0.5, "mass": 0.1 + 0.2},
        ]
    )
    assert arm.robot.joints == expected.joints and arm.robot.links == expected.links
    with pytest.raises(RobotError, match=r"bad\.xlsx: this is not a readable spreadsheet"):
        (tmp_path / "bad.xlsx").write_bytes(b"nothing")
        da.load(tmp_path / "bad.xlsx")
    rows[4][2] = "-90 grad"
    with pytest.raises(RobotError, match=r"arm\.xlsx, sheet 'arm', row 5, column 'alpha': '-90 grad' is not a number"):
        da.load(write_workbook(tmp_path / "arm.xlsx", rows))


def test_what_was_assumed_is_said(table):
    notes = " | ".join(table("a [mm],alpha (deg),d,theta,supplier\n500,0,0,,x\n0,0,,0,y\n").notes)
    for part in (
        "the DH convention is assumed to be standard",
        "joint types inferred from what varies: 'joint1' revolute (theta is blank), 'joint2' prismatic (d is blank)",
        "column 'd' has no unit and is read in mm, like 'a [mm]'",
        "columns converted to SI units: 'a [mm]' from mm, 'alpha (deg)' from deg",
        "columns that were not used: 'supplier'",
        "the table has no masses, so all torques are 0",
    ):
        assert part in notes, part


@pytest.mark.parametrize(
    ("header", "convention"),
    [
        ("a_{i-1},alpha_{i-1},d_i,theta_i", "modified"),
        ("a(i-1),α(i-1),d,θ", "modified"),
        ("a_i−1 [m],α_i−1 [rad],d_i,θ_i", "modified"),
        ("a_i,alpha_i,d_i,theta_i", "standard"),
        ("# convention: modified\na,alpha,d,theta", "modified"),
        ("Convention,Modified (Craig),,\na,alpha,d,theta", "modified"),
    ],
)
def test_the_convention_is_that_of_the_header(table, header, convention):
    row = (0.3, 0.2, 0.1, 0.4)
    robot = table(f"{header}\n0.3,0.2,0.1,0.4\n0.3,0.2,0.1,0.4\n")
    assert robot.joints == from_dh([row, row], convention).joints
    other = {"standard": "modified", "modified": "standard"}[convention]
    asked = table(f"{header}\n0.3,0.2,0.1,0.4\n0.3,0.2,0.1,0.4\n", convention=other)
    assert asked.joints == from_dh([row, row], other).joints


def test_a_last_row_that_is_fixed_is_the_tip(table):
    robot = table("joint,a_i-1,alpha_i-1,d,theta\nj1,0,0,0.3,q1\nflange,0.1,pi/2,0.2,0\n")
    whole = table("joint,a_i-1,alpha_i-1,d,theta\nj1,0,0,0.3,q1\nj2,0.1,pi/2,0.2,q2\n")
    tip, last = da.Arm(robot), da.Arm(whole)
    assert robot.joint_letters == "R" and tip.pose([0.3]) == pytest.approx(last.pose([0.3, 0.0]), abs=1e-15)


PLAIN = "a,alpha,d,theta\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PLAIN + "0.5,-90,0,0", r"arm\.csv, line 2, column 'alpha': -90 looks like degrees, but the header gives no unit, so it "
         r"is read as -90 rad; write 'alpha \[deg\]' in the header if that is meant, or '-90 rad' in the cell if not"),
        (PLAIN + "0.5,0,0,0\n500,0,0,0", r"line 3, column 'a': 500 looks like millimetres.* write 'a \[mm\]'.* or '500 m' in"),
        ("a,alpha [rad],d,theta\n0.5,180,0,0", r"180 looks like degrees, but the header gives the unit rad.* write 'alpha \[deg\]'"),
        ("a [m],alpha,d,theta\n0.5,0,350,0", "line 2, column 'd': 350 looks like millimetres, but the header gives the unit m"),
        (PLAIN + "0.5,0,0,90", "column 'theta': 90 looks like degrees"),
        ("a,alpha,max,d\n0.5,0,170,0", "column 'max': 170 looks like degrees"),
        ("a,alpha,speed,d\n0.5,0,180,0", "column 'speed': 180 looks like degrees per second"),
        ("a [inch],alpha,d,theta\n1,0,0,0", r"column 'a \[inch\]': the unit 'inch' is unknown; known units are m, mm, cm"),
        ("a,alhpa,d,theta\n1,0,0,0", "the column 'alhpa' is unknown; write 'alpha' if that is meant"),
        ("a,alpha,a [mm],d\n1,0,0,0", r"the columns 'a' and 'a \[mm\]' both mean a"),
        (PLAIN + "0.5,0,q1,q1", "column 'd': both theta and d vary"),
        ("type,a,alpha,d,theta\nR,0,0,q1,0", "column 'd': 'q1' is a variable, but the joint is revolute"),
        ("type,a,alpha,d,theta\nS,0,0,0,0", r"column 'type': the type is 'S'; it must be R \(revolute\), P \(prismatic\)"),
        ("type,a,alpha,d,theta,max [deg]\nP,0,0,,0,3", r"the joint is prismatic, but the column is in deg; .* as '3 mm'"),
        (PLAIN + '"0,5",0,0,0', "'0,5' is not a number; use a decimal point, or separate the columns by semicolons"),
        (PLAIN + "0.5,0,0,nine", "line 2, column 'theta': 'nine' is not a number"),
        (PLAIN + "nan,0,0,0", "line 2, column 'a': 'nan' is not a number"),
        (PLAIN + "0,5,0,0,q1", "line 2: 'q1' is to the right of all 4 columns of the header"),
        (PLAIN + "0.5,0,0,q1,7", "line 2: '7' is to the right of all 4 columns of the header; name its column there, or separate"),
        (PLAIN, "the DH table has no rows"),
        ("x,y\n1,2\n", r"no row names the columns of a DH table; write a header such as 'joint, type, a \[mm\]"),
        ("a_i-1,alpha,d,theta\n# convention: standard\n1,0,0,0", "given as standard, but the column 'a_i-1'"),
        (PLAIN + "1,0,0,0\n# convention: french", "the DH convention is 'french'; it must be one of standard, modified"),
        ("type,a,alpha,d,theta\nF,0,0,0,0\nR,0,0,0,0", "line 2: the row is fixed, but only the last row"),
        ("a,alpha,d,theta,gear\n0,0,0,q,0", "line 2: the rotor's gear ratio is 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_sentence(table, text, message):
    with pytest.raises(RobotError, match=message):
        table(text)


@pytest.mark.parametrize("cell", ["-90 rad", "-5156.6°", "14 rad", "-28.6478897565 pi"])
def test_a_unit_in_the_cell_is_believed(table, cell):
    assert table(PLAIN + f"0.5,{cell},0,0\n").joint_letters == "R"


@pytest.mark.parametrize(
    ("cell", "offset"),
    [("q1", 0), ("θ1*", 0), ("*", 0), ("variable", 0), ("", 0), ("q_1 + 90", 90), ("q1-90", -90), ("90 + q1", 90), ("45*", 45), ("theta1 − 30°", -30)],
)  # fmt: skip
def test_words_for_the_joint_variable(table, cell, offset):
    robot = table(f"a,alpha,d,theta [deg]\n1,0,0,{cell}\n")
    assert robot.joint_letters == "R" and robot.joints[0].offset == pytest.approx(math.radians(offset))


def test_every_spelling_with_every_unit_names_its_column():
    for known in COLUMNS:
        for word in (known.key, *known.spellings):
            for unit in [None, *known.units()]:
                for header in [word] if unit is None else [f"{word} [{unit}]", f"{word.upper()} ({unit})"]:
                    (column,), others = headings([header], MEANING, "here")
                    assert (column.key, column.unit, others) == (known.key, unit, {}), header


def test_windows_letters_are_read_and_said(table):
    robot = table("a [mm];alpha (°);d [mm];theta;Im [kg cm²]\n500;90;0;q1;0,5\n".encode("cp1252"))
    assert robot.joints[0].rotor.inertia == pytest.approx(0.5e-4) and re.search("Windows-1252", robot.notes[0])


def test_only_tables_take_a_convention(tmp_path):
    da.load("planar-2r").save(tmp_path / "arm.toml")
    with pytest.raises(RobotError, match=r"only DH tables \(\.csv, "):
        da.load(tmp_path / "arm.toml", convention="modified")


def test_the_example_is_read_as_it_says():
    arm = da.load(Path(__file__).parents[2] / "examples" / "scara.csv")
    assert arm.robot.joint_letters == "RRPR" and arm.joint_names == ("shoulder", "elbow", "quill", "wrist")
    shoulder, _, quill, _ = arm.robot.joints
    assert quill.limits == da.Limits(0.0, 0.17, 0.8, effort=160.0) and shoulder.rotor.inertia == pytest.approx(0.42e-4)
    assert shoulder.limits.upper == pytest.approx(math.radians(130)) and shoulder.limits.velocity == pytest.approx(
        55 * math.pi / 30
    )
    assert any(
        "moments of inertia missing from the table are set to 0: 'link1' (only Izz)" in note for note in arm.robot.notes
    )
    holds = arm.gravity_torque([0.3, 0.2, 0.1, 0.0])
    assert holds == pytest.approx([0, 0, -1.4 * 9.81, 0], abs=1e-12)  # the quill points down, and carries the wrist


UNIVERSAL = """Kinematics,theta [rad],a [m],d [m],alpha [rad],Dynamics,Mass [kg],Center of Mass [m],Inertia Matrix
Joint 1,0,0,0.089159,π/2,Link 1,3.7,"[0, -0.02561, 0.00193]",0
Joint 2,0,-0.425,0,0,Link 2,8.393,"[0.2125, 0, 0.11336]",0
"""


def test_a_makers_table_with_vectors_in_cells(tmp_path):
    """As UR publishes it; a column that torques depend on and that is not read is a warning."""
    (tmp_path / "ur.csv").write_text(UNIVERSAL)
    with pytest.warns(da.ModelWarning, match="not modelled, .*: the columns 'Inertia Matrix' of the table"):
        robot = da.load(tmp_path / "ur.csv").robot
    assert [link.inertia.com for link in robot.links[1:]] == [(0, -0.02561, 0.00193), (0.2125, 0, 0.11336)]


@pytest.mark.parametrize(
    ("header", "cell", "sentence"),
    [
        (
            "Kabelzug x",
            "160",
            r"'Kabelzug x' holds numbers and is unknown; rename it to one of name, .*com x, .* or remove",
        ),
        ("Moment max", "5,5 Nm", "'Moment max' holds numbers and is unknown"),
        ("\u0430", "0.5", r"'\u0430' holds numbers and is unknown \(it contains the letter CYRILLIC SMALL LETTER A\)"),
    ],
)
def test_an_unknown_column_of_numbers_is_an_error(table, header, cell, sentence):
    with pytest.raises(da.RobotError, match=sentence):
        table(f"a;alpha;d;theta;{header}\n0,4;0;0;q1;{cell}\n")
    assert table(f"a;alpha;d;theta;{header}\n0,4;0;0;q1;text\n").notes


@pytest.mark.parametrize("letter", ["i", "n"])
def test_a_column_i_counts_the_rows_or_holds_gear_ratios(table, letter):
    head = f"{letter},a,alpha,d,theta,Im\n"
    counted = table(f"{head}1,0.4,0,0,q1,1e-4\n2,0.3,0,0,q2,1e-4\n")
    geared = table(f"{head}100,0.4,0,0,q1,1e-4\n314.16,0.3,0,0,q2,1e-4\n")
    assert [joint.rotor.gear for joint in counted.joints] == [1.0, 1.0]
    assert [joint.rotor.gear for joint in geared.joints] == [100.0, 314.16]
    assert counted.joints[1].name == geared.joints[1].name == "joint2"


@pytest.mark.parametrize(
    ("cell", "ends"),
    [("±170", (-170, 170)), ("-20 to 200", (-20, 200)), ("-20..200", (-20, 200)), ('"[-20, 200]"', (-20, 200)),
     ("-20 / +200", (-20, 200)), ("-20° … 200°", (-20, 200)), ("+/-90 deg", (-90, 90))],
)  # fmt: skip
def test_ranges_in_one_cell(table, cell, ends):
    limits = table(f"a,alpha,d,theta,range [deg]\n1,0,0,q1,{cell}\n").joints[0].limits
    assert (limits.lower, limits.upper) == pytest.approx(tuple(map(math.radians, ends)))


@pytest.mark.parametrize("filler", [" ", "\u00a0", "+", "(", "_", ",", "q1 + ", "1 "])
def test_endless_cells_take_no_time(table, filler):
    endless = filler * (100_000 // len(filler))
    for text in (
        f'"{endless}x";a;alpha;d;theta\n1;1;0;0;q1\n',
        f'a;alpha;d;theta\n"x{endless}y";0;0;q1\n',
        f'# name: x{endless}y\na;alpha\n1;"1{endless}+"\n',
    ):
        began = time.process_time()
        with contextlib.suppress(RobotError):
            table(text)
        assert time.process_time() - began < 1.0
