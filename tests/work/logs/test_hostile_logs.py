"""Logs and motions that nobody recorded: each is read, or refused in a sentence, in little time and little memory."""

from __future__ import annotations

import bz2
import io
import os
import sqlite3
import struct
import subprocess
import sys
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import lz4.frame
import numpy as np
import pytest

import dalembert as da
from dalembert.work.logs import formats
from dalembert.work.logs.formats import lerobot, mcap_file, raw, rosbag
from dalembert.work.logs.formats.raw import LARGEST_FILE, MOST_NUMBERS
from dalembert.work.logs.log import read_log
from test_logs import HEADER, arm, log, states, table, text, write_mcap, write_ros1, write_ros2

MB = 1 << 20
SLOW = 20.0  # s: what used to hang did so for minutes and more

Write = Callable[[Path], Any]


def bare(content: str | bytes) -> Write:
    """A file of these characters."""
    return lambda path: path.write_bytes(content if isinstance(content, bytes) else content.encode())


def headed(*names: str) -> Write:
    """The log under other names of columns, the first of which is t."""
    return lambda path: text(path, ",".join(names), table()[:, : len(names)])


def celled(cell: str, row: int = 20, column: int = 0) -> Write:
    """The log with something else in one of its cells."""

    def write(path: Path) -> None:
        rows: list[list[Any]] = table().tolist()
        rows[row][column] = cell
        text(path, ",".join(HEADER), rows)

    return write


def dated(stamp: str) -> Write:
    """The log with dates for t, one of which is this."""

    def write(path: Path) -> None:
        rows: list[list[Any]] = table().tolist()
        for k, row in enumerate(rows):
            row[0] = stamp if k == 30 else f"2024-01-01 00:00:{0.005 * k:09.6f}"
        text(path, ",".join(HEADER), rows)

    return write


def sparse(size: int) -> Write:
    """A file that says it is so long."""

    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(size)

    return write


def piped(path: Path) -> None:
    os.mkfifo(path)


def linked(path: Path) -> None:
    path.symlink_to("/dev/zero")


# -- arrays ----------------------------------------------------------------------------------------


def npy(values: Any = None, header: bytes | None = None, version: int = 1) -> bytes:
    """The bytes of an npy file, of this header if one is given."""
    made = io.BytesIO()
    if header is None:
        np.lib.format.write_array(made, np.asarray(values), allow_pickle=True)
        return made.getvalue()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header


def shaped(shape: str, kind: str = "<f8", order: bool = False) -> bytes:
    """An npy file that claims a shape and has a few numbers."""
    return npy(header=f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}}}\n".encode()) + bytes(80)


def packed(method: int = zipfile.ZIP_DEFLATED, **members: bytes) -> Write:
    """The log as npz, with these members in place of its own or beside them."""

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", method) as archive:
            for name, content in {**{name: npy(values) for name, values in log().items()}, **members}.items():
                archive.writestr(f"{name}.npy", content)

    return write


def damaged(method: int, at: int) -> Write:
    """An npz whose first member is changed in one byte, so far behind its name."""

    def write(path: Path) -> None:
        packed(method)(path)
        content = bytearray(path.read_bytes())
        content[content.find(b".npy") + at] ^= 0xFF
        path.write_bytes(content)

    return write


def many(count: int) -> Write:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for k in range(count):
                archive.writestr(f"an_array_of_a_longer_name_than_usual_{k}.npy", b"")

    return write


# -- Parquet ---------------------------------------------------------------------------------------


def columns(**changed: Any) -> Write:
    """The log as Parquet, q and tau as lists, with these columns in place of its own or beside them."""

    def write(path: Path) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        own = {"t": log()["t"], **{name: log()[name].tolist() for name in ("q", "qd", "tau")}}
        parquet.write_table(pa.table({**own, **changed}), path)

    return write


def aborting(path: Path) -> None:
    """The log as Parquet with one byte changed, the kind of repetition of qd: pyarrow aborts its process on it."""
    columns()(path)
    content = path.read_bytes()
    assert content.count(b"5\x02\x18\x02qd") == 1
    path.write_bytes(content.replace(b"5\x02\x18\x02qd", b"6\x02\x18\x02qd"))


def lists(cell: Any) -> list[Any]:
    return [cell] * len(log()["t"])


def wide(path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({f"c{k}": [1.0] for k in range(10_001)}), path)


# -- bags ------------------------------------------------------------------------------------------


def database(*sql: str) -> Write:
    """A ROS 2 bag's database with other things in it."""

    def write(path: Path) -> None:
        folder = write_ros2(path.parent / "bag", states())
        path.write_bytes(next(folder.glob("*.db3")).read_bytes())
        with sqlite3.connect(path) as file:
            for one in sql:
                file.execute(one)
        file.close()

    return write


def damaged_bag(path: Path) -> None:
    """A ROS 1 bag whose first chunk is no stream of bzip2."""
    from rosbags.rosbag1 import Writer

    write_ros1(path, states(), Writer.CompressionFormat.BZ2)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"BZh9", b"BZh0", 1))


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x"


def inflated(compression: str) -> Write:
    """An MCAP file with a chunk of a few kB that unpacks to gigabytes."""

    def write(path: Path) -> None:
        import lz4.frame
        import zstandard
        from mcap.data_stream import RecordBuilder
        from mcap.records import Chunk, Footer, Header

        if compression == "zeros":
            data, size, compression_of = zstandard.ZstdCompressor().compress(bytes(64 * MB)), 64 * MB, "zstd"
        elif compression == "zstd":
            data = zstandard.ZstdCompressor().compress(bytes(64 * MB))
            data = data.replace(struct.pack("<I", 64 * MB), struct.pack("<I", 0xF0000000), 1)
            size, compression_of = 1000, compression
        else:
            data, size, compression_of = lz4.frame.compress(bytes(64 * MB)), 1 << 40, compression
        out = RecordBuilder()
        out.write(b"\x89MCAP0\r\n")
        for record in (Header("ros2", ""), Chunk(compression_of, data, 0, 0, 0, size), Footer(0, 0, 0)):
            record.write(out)
        out.write(b"\x89MCAP0\r\n")
        path.write_bytes(out.end())

    return write


def nested_json(path: Path) -> None:
    from mcap.writer import Writer

    with path.open("wb") as file:
        out = Writer(file)
        out.start()
        schema = out.register_schema("JointState", "jsonschema", b"")
        out.add_message(out.register_channel("/q", "json", schema), 1, b"[" * 100_000, 1)
        out.finish()


# -- the table: a name, how it is written, and what is said (None: it is read as the log it is) -------

HOSTILE: list[tuple[str, Write, str | None]] = [
    # headers: what took time with a power of their length
    ("blanks.csv", headed("t", "q1", "q2", "qd1", "qd2", "tau1", "tau2" + " " * 900 + "x"), "tau has 1 joints"),
    ("bracket.csv", headed("t", "q1", "q2", "qd1", "qd2", "tau1", "tau2 [" + "a " * 450), "tau has 1 joints"),
    ("digits.csv", headed("t", "q1", "q2", "qd1", "qd2", "tau1", "tau" + "2" * 900), "tau has 1 joints"),
    ("long_name.csv", headed("t", "q1", "q2", "qd1", "qd2", "tau1", "x" * 500_000), "field larger than field limit"),
    ("long_blanks.csv", headed("t", "q1", "q2", "qd1", "qd2", "tau1", "x" + " " * 130_000 + "x"), "the maximum is 1000"),
    ("underscores.csv", headed("t", "q1", "q2", "qd1", "qd2", "tau1", "velocity_" + "_" * 980), "tau has 1 joints"),
    ("many_columns.csv", bare(",".join(f"c{k}" for k in range(100_000)) + "\n"), "no rows"),
    ("many_more.csv", bare("t" + ",q" * 400_000 + "\n" + "0" + ",0" * 400_000 + "\n"), "400001 columns; the maximum is 10000"),
    ("numbered.csv", bare(",".join(f"{'x' * (k % 60)}a{k}" for k in range(9000)) + "\n" + "0," * 8999 + "0\n"), "no time"),
    # lines and files
    ("one_line.csv", bare(b"1," * (30 * MB)), "line 1: the line has more than 1048576 characters"),
    ("one_row.csv", bare(b"t,q1,q2\n" + b"1," * MB), "line 2: the line has more than"),
    ("zeros.csv", bare(bytes(4 * MB)), "line 1: the line has more than"),
    ("blank_lines.csv", bare(b"\n" * MB), "no rows"),
    ("comments.csv", bare(b"#\n" * MB), "no rows"),
    ("device.csv", linked, "this is a device"),
    ("device.npz", linked, "this is a device or a pipe"),
    ("device.mcap", linked, "this is a device or a pipe"),
    ("pipe.csv", piped, "the file is empty"),
    ("pipe.parquet", piped, "this is a device or a pipe"),
    ("pipe.bag", piped, "this is a device or a pipe"),
    ("folder.csv", Path.mkdir, "the folder is not a ROS 2 bag"),
    ("folder.npz", Path.mkdir, "the folder is not a ROS 2 bag"),
    ("endless.csv", sparse(LARGEST_FILE + 1), f"the maximum is {LARGEST_FILE}"),
    ("endless.mcap", sparse(LARGEST_FILE + 1), f"the maximum is {LARGEST_FILE}"),
    ("x" * 300 + ".csv", lambda path: None, "cannot be read"),
    ("a\0b.csv", lambda path: None, "cannot be read"),
    # cells
    ("month_13.csv", dated("2024-13-01 00:00"), "line 32, column 1: '2024-13-01 00:00' is not a valid time"),
    ("year_0.csv", dated("0000-01-01 00:00"), "is not a valid time"),
    ("hour_99.csv", dated("2024-01-01 99:99"), "is not a valid time"),
    ("first_date.csv", celled("2024-02-30 00:00", row=0), "is not a valid time"),
    ("long_cell.csv", celled("9" * 200_000 + "x", column=1), "field larger than field limit"),
    ("long_digits.csv", celled("1." + "0" * 100_000, row=20), None),
    ("long_word.csv", celled("x" * 100_000), "line 22, column 1"),
    ("open_quote.csv", celled('"1', row=20), "line 22"),
    ("quote_over_lines.csv", bare(",".join(HEADER) + "\n" + '0,0,0,0,0,0,"1\n",\n' * 30), "line 3: the row has 1 value,"),
    ("nul.csv", celled("1\0", column=1), "line 22, column 2"),
    ("odd_utf16.csv", bare("t,q1\n0,1\n".encode("utf-16")[:-1]), "not a text file in UTF-8"),
    ("short_rows.csv", bare(",".join(f"q{k}" for k in range(9000)) + "\n" + "0\n" * 20_000), "1 values"),
    # arrays
    ("lzma.npz", packed(zipfile.ZIP_LZMA), "compressed by zip method 14"),
    ("bzip2.npz", packed(zipfile.ZIP_BZIP2), "compressed by zip method 12"),
    ("damaged_lzma.npz", damaged(zipfile.ZIP_LZMA, 30), "compressed by zip method 14"),
    ("damaged.npz", damaged(zipfile.ZIP_DEFLATED, 30), "not a .npz file of plain arrays"),
    ("damaged_plain.npz", damaged(zipfile.ZIP_STORED, 300), "not a .npz file of plain arrays"),
    ("unused.npz", packed(other=shaped("(1000000000,)")), None),
    ("unused_object.npz", packed(other=npy(np.array([{}], object))), None),
    ("large.npz", packed(q=shaped("(1000000000, 2)")), f"the maximum is {MOST_NUMBERS}"),
    ("larger.npz", packed(q=shaped(f"({10**30}, {10**30})")), f"the maximum is {MOST_NUMBERS}"),
    ("wide_words.npz", packed(q=shaped("(100,)", "<U100000000")), "the maximum is 1073741824"),
    ("negative.npz", packed(q=shaped("(-1, 2)")), "has the impossible shape"),
    ("short.npz", packed(q=shaped("(100, 2)")), "ends after 80 of its 1600 bytes"),
    ("object.npz", packed(q=npy(np.array([{}], object))), "pickled object"),
    ("words.npz", packed(q=npy(np.full((400, 2), "1"))), "q is not an array of numbers"),
    ("no_words.npz", packed(q=shaped("(10, 2)", "<U1").replace(bytes(80), b"\xff" * 80)), "q is not an array of numbers"),
    ("no_array.npz", packed(q=b"pickle"), "not a plain array"),
    ("scalar.npz", packed(q=npy(1.0)), "has shape ()"),
    ("records.npz", packed(q=npy(np.zeros(400, [("a", "f8"), ("b", "f8")]))), "not an array of numbers"),
    ("complex.npz", packed(q=npy(np.zeros((400, 2), complex))), "not an array of numbers"),
    ("header.npz", packed(q=npy(header=b" " * 50_000)), "a header of 50010 bytes"),
    ("long_header.npz", packed(q=npy(header=b" " * (32 * MB), version=2)), "a header of 33554444 bytes"),
    ("deep_header.npz", packed(q=npy(header=b"(" * 5000)), "not a .npz file of plain arrays"),
    ("digits_header.npz", packed(q=shaped(f"({'9' * 5000},)")), "not a .npz file of plain arrays"),
    ("names_of_numbers.npz", packed(joint_names=npy([1, 2])), "'joint_names' contains int64, not names"),
    ("names_of_bytes.npz", packed(joint_names=npy([b"joint1", b"joint2"])), None),
    ("names_of_anything.npz", packed(joint_names=npy(np.array([None, {}], object))), "pickled object"),
    ("names_too_long.npz", packed(joint_names=npy(["a", "b" * 2000])), "the name of joint 2 has 2000 characters"),
    ("names_no_text.npz", packed(joint_names=shaped("(20,)", "<U1").replace(bytes(80), b"\xff" * 80)), "contains invalid text"),
    ("many.npz", many(20_000), "its directory is longer than 1048576 bytes"),
    ("not_a_matrix.npy", bare(npy(np.zeros(30))), "a log must be a matrix of numbers"),
    ("large.npy", bare(shaped("(100000000, 20)")), f"the maximum is {MOST_NUMBERS}"),
    ("records.npy", bare(npy(np.zeros((4, 2), [("a", "f8")]))), "a log must be a matrix of numbers"),
    # Parquet
    ("lists_of_text.parquet", columns(q=lists(["a", "b"])), "contains list<element: string>, not numbers"),
    ("lists_of_lists.parquet", columns(q=lists([[1.0], [2.0]])), "not numbers"),
    ("empty_lists.parquet", columns(q=lists([])), "list<element: null>, not numbers"),
    ("ragged_lists.parquet", columns(q=[[0.0] * (k % 3) for k in range(400)]), "differ in length ([0, 1, 2])"),
    ("no_lists.parquet", columns(q=lists(None)), "not numbers"),
    ("structs.parquet", columns(q=lists({"a": 1.0, "b": {"c": 2.0}})), "contains struct<"),
    ("unused_structs.parquet", columns(other=lists({"a": [{"b": "c"}]})), None),
    ("decimals.parquet", columns(t=[Decimal(k) / 200 for k in range(400)]), None),
    ("only_lists.parquet", columns(t=[[k / 200] for k in range(400)]), None),
    ("nulls_in_lists.parquet", columns(q=lists([1.0, None])), "contains no number in any of its 400 rows"),
    ("aborting.parquet", aborting, "Parquet file"),  # of which pyarrow's reader crashed, or it is none: some version may say
    ("wide.parquet", wide, "10001 columns; the maximum is 10000"),
    # bags
    ("damaged_bz2.bag", damaged_bag, "this ROS bag cannot be read (Invalid data stream)"),
    ("view.db3", database("CREATE VIEW x AS " + ENDLESS + " AS y FROM c"), "'x' of the database is computed"),
    ("computed.db3", database("ALTER TABLE topics ADD COLUMN x AS (zeroblob(1000000000))"), "is computed"),
    (
        "definitions.db3",
        database("DROP TABLE message_definitions", f"CREATE VIEW message_definitions AS {ENDLESS} AS id FROM c"),
        "'message_definitions' of the database is computed",
    ),
    ("inflated_zstd.mcap", inflated("zstd"), "a chunk has 4026531840 bytes uncompressed; the maximum is 1073741824"),
    ("zeros.mcap", inflated("zeros"), "bytes has 67108864 bytes uncompressed, more than 1000 times as many"),
    ("inflated_lz4.mcap", inflated("lz4"), "a chunk has 1099511627776 bytes uncompressed"),
    ("nested.mcap", nested_json, "cannot be read"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "write", "said"), HOSTILE, ids=[name[:30].replace("\0", "0") for name, _, _ in HOSTILE]
)
def test_logs_are_read_or_refused_in_a_sentence(tmp_path: Path, name: str, write: Write, said: str | None) -> None:
    path = tmp_path / name
    write(path)
    start = time.perf_counter()
    if said is None:
        found = read_log(path, arm())
        assert np.array_equal(found.q, log()["q"])
    else:
        with pytest.raises(da.DalembertError) as refused:
            read_log(path, arm())
        assert said in str(refused.value)
        assert "\n" not in str(refused.value) and len(str(refused.value)) < 700 + len(str(path))
    assert time.perf_counter() - start < SLOW


HOW: list[tuple[str, dict[str, Any], str]] = [
    ("gains", {"columns": {"current": "tau"}, "gains": [1e308, 2.0]}, "rows"),
    ("gains_401_digits", {"columns": {"current": "tau"}, "gains": [10**400, 2]}, "gains .*; it must be 2 finite numbers"),
    ("gears", {"gears": [1e308, 1e308], "motor_side": ["tau"]}, "rows"),
    ("gears_zero", {"gears": [0.0, 1e-320], "motor_side": ["tau"]}, "is singular"),
    ("gears_singular", {"gears": [[0.0, 0.0], [1e-320, 1.0]], "motor_side": ["tau"]}, "is singular"),
    ("gears_401_digits", {"gears": [10**400, 2], "motor_side": ["q"]}, "gears .*; it must be 2 finite numbers"),
    ("gears_ragged", {"gears": [[1.0, 2.0], [3.0]], "motor_side": ["q"]}, "gears .*; it must be 2 finite numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "how", "said"), HOW, ids=[name for name, _, _ in HOW])
def test_ways_to_read_a_log_are_followed_or_refused_in_a_sentence(name: str, how: dict[str, Any], said: str) -> None:
    data = {**log(), "tau": 10.0 * np.sign(log()["tau"])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(da.DalembertError, match=said):
            read_log(data, arm(), **how)


def motion_of(joints: int, rows: int = 3) -> str:
    names = ["t", *(f"{group}{k}" for group in ("q", "qd", "qdd") for k in range(1, joints + 1))]
    return "\n".join([",".join(names), *(",".join([str(k)] + ["0"] * (len(names) - 1)) for k in range(rows))]) + "\n"


MOTIONS: list[tuple[str, Write, str | None]] = [
    ("one_line.csv", bare(b"1," * (30 * MB)), "line 1: the line has more than 1048576 characters"),
    ("one_row.csv", bare(b"t,q1\n0" + b",0" * MB), "line 2: the line has more than"),
    ("blank_lines.csv", bare(b"\n" * MB), "the file is empty"),
    ("device.csv", linked, "this is a device"),
    ("pipe.csv", piped, "the file is empty"),
    ("folder.csv", Path.mkdir, "this is a folder"),
    ("endless.csv", sparse(LARGEST_FILE + 1), f"the maximum is {LARGEST_FILE}"),
    ("wide.csv", bare(motion_of(9999)), None),
    ("unknown.csv", bare("t," + ",".join("x" * 50 + str(k) for k in range(15_000)) + "\n"), "unknown columns"),
    ("long_cell.csv", bare("t,q1\n0,1\n1," + "9" * 200_000 + "x\n"), "field larger than field limit"),
    ("long_name.csv", bare("t,q1," + "q" * 200_000 + "\n"), "field larger than field limit"),
    ("quote_over_lines.csv", bare('t,q1\n0,1\n1,"2\n"\n2,3\n'), "line 4: the row has 1 value"),
    (
        "large.csv",
        bare("t,q1\n" + "".join(f"{k},{(-1) ** k}e308\n" for k in range(9))),
        "the value is 1e+308; it must be a finite number within ±1e+30",
    ),
    (
        "close.csv",
        bare("t,q1\n" + "".join(f"{k}e-320,{k % 2}\n" for k in range(9))),
        "cannot be derived: no smooth curve",
    ),
    ("nul.csv", bare("t,q1\n0,1\n1,\0\n"), "line 3, column 'q1'"),
    ("odd.csv", bare("t,q1\n0,1\n".encode("utf-16")), "a derivative needs values at 6 times or more, not 1"),
    ("a\0b.csv", lambda path: None, "is not a valid file name"),
]


@pytest.mark.parametrize(("name", "write", "said"), MOTIONS, ids=[name.replace("\0", "0") for name, _, _ in MOTIONS])
def test_motions_are_read_or_refused_in_a_sentence(tmp_path: Path, name: str, write: Write, said: str | None) -> None:
    path = tmp_path / name
    write(path)
    start = time.perf_counter()
    if said is None:
        assert da.read_trajectory(path).duration == 2.0
    else:
        with pytest.raises(da.DalembertError) as refused:
            da.read_trajectory(path)
        assert said in str(refused.value)
        assert "\n" not in str(refused.value) and len(str(refused.value)) < 700 + len(str(path))
    assert time.perf_counter() - start < SLOW


UNPACKED = 2_100_000_000  # bytes


def inflated_npz(path: Path, name: str) -> None:
    """The log as npz with an array of zeros that is huge, unpacked: one packed block, as often as it takes."""
    packing = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packing.compress(shaped(f"({UNPACKED // 16}, 2)")[:-80]) + packing.flush(zlib.Z_FULL_FLUSH)
    block = packing.compress(bytes(16 * MB)) + packing.flush(zlib.Z_FULL_FLUSH)
    member = start + block * (UNPACKED // (16 * MB) + 1) + packing.flush()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.npy", member)
        for one, values in log().items():
            if one != name:
                archive.writestr(f"{one}.npy", npy(values))
        entry = archive.getinfo(f"{name}.npy")
        entry.compress_type, entry.file_size = zipfile.ZIP_DEFLATED, UNPACKED + 10_000
    content = bytearray(path.read_bytes())
    content[8:10] = struct.pack("<H", zipfile.ZIP_DEFLATED)  # in the member's own header too
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["unused", "q"])
def test_an_npz_of_two_megabytes_that_unpacks_to_two_gigabytes_costs_no_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "small.npz"
    inflated_npz(path, name)
    assert path.stat().st_size < 3 * MB
    code = f"""
import resource, dalembert as da
from dalembert.work.logs.log import read_log
arm = da.load("planar-2r")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    print(len(read_log({str(path)!r}, arm)))
except da.DalembertError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said, grown = run.stdout.splitlines()
    assert said == "400" if name == "unused" else f"the maximum is {MOST_NUMBERS}" in said
    assert int(grown) < 100  # MB


@pytest.mark.parametrize("suffix", ["csv", "npy", "npz", "parquet", "mcap", "bag"])
def test_more_numbers_than_a_log_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    {
        "csv": lambda: text(path, ",".join(HEADER), table()),
        "npy": lambda: path.write_bytes(npy(table())),
        "npz": lambda: packed()(path),
        "parquet": lambda: columns()(path),
        "mcap": lambda: write_mcap(path, states(), "cdr"),
        "bag": lambda: write_ros1(path, states()),
    }[suffix]()
    how = {"columns": {"t": 0, "q": "1:3", "qd": "3:5", "tau": "5:7"}} if suffix == "npy" else {}
    assert len(read_log(path, arm(), **how)) == len(table())
    monkeypatch.setattr(raw, "MOST_NUMBERS", 500)
    here = {"parquet": lerobot.read_parquet, "bag": rosbag.read_bag, "mcap": mcap_file.read_mcap}.get(
        suffix
    )  # not in the helper, which has the usual bound
    with pytest.raises(da.DalembertError, match="the maximum is 500"):
        here(path, raw.Request()) if here else read_log(path, arm(), **how)


def test_long_lists_in_parquet_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyarrow.parquet import ParquetFile

    columns()(tmp_path / "x.parquet")
    monkeypatch.delattr(ParquetFile, "iter_batches")
    monkeypatch.setattr(raw, "MOST_NUMBERS", 400 * 4 + 400 * 6 - 1)  # four columns, and three of lists of two
    with pytest.raises(da.DalembertError, match=f"has 4000 numbers; the maximum is {raw.MOST_NUMBERS}"):
        lerobot.read_parquet(tmp_path / "x.parquet", raw.Request())


@pytest.mark.parametrize("packer", [bz2, lz4.frame])
def test_a_chunk_of_a_ros1_bag_unpacks_to_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch, packer: Any) -> None:
    within = rosbag._within_bounds(Path("x.bag"), packer.decompress)
    assert within(packer.compress(bytes(1000))) == bytes(1000)
    monkeypatch.setattr(rosbag, "LARGEST_CHUNK", 999)
    with pytest.raises(da.DalembertError, match=r"x\.bag: a chunk has more than 999 bytes uncompressed"):
        within(packer.compress(bytes(1000)))


def test_every_chunk_of_a_ros1_bag_is_unpacked_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_ros1(tmp_path / "x.bag", states())
    monkeypatch.setattr(rosbag, "LARGEST_CHUNK", 999)
    with pytest.raises(da.DalembertError, match="a chunk has more than 999 bytes uncompressed"):
        rosbag.read_bag(path, raw.Request())


@pytest.mark.parametrize("suffix", ["mat", "mcap", "parquet", "bag", "db3", "folder"])
def test_foreign_readers_run_in_the_helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    path.mkdir() if suffix == "folder" else path.write_bytes(b"nothing")

    def ask(function: str, arguments: Any, **words: Any) -> Any:
        raise da.DalembertError(f"asked to read {arguments['path']}")

    monkeypatch.setattr(formats, "ask", ask)
    with pytest.raises(da.DalembertError, match=f"^asked to read {path}$"):
        read_log(path, arm())


def test_a_broken_link_beside_a_bag_does_not_matter(tmp_path: Path) -> None:
    folder = write_ros2(tmp_path / "bag", states())
    (folder / "notes").symlink_to(tmp_path / "nowhere")
    assert np.array_equal(read_log(folder, arm()).q, log()["q"])


@pytest.mark.parametrize("where", [write_ros1, write_ros2])
def test_the_helper_tells_how_far_it_is(tmp_path: Path, where: Callable[..., Path]) -> None:
    told: list[float] = []
    read_log(
        where(tmp_path / "x.bag", [message for k in range(3) for message in states(topic=f"/{k}")]),
        arm(),
        progress=told.append,
    )
    assert told == sorted(told) and len(told) >= 2 and 0.0 <= told[0] < told[-1] <= 1.0


def test_messages_in_disorder_are_sorted_by_the_time_they_were_logged(tmp_path: Path) -> None:
    messages = states()
    found = read_log(write_mcap(tmp_path / "x.mcap", messages[200:] + messages[:200], "cdr"), arm())
    assert np.array_equal(found.q, log()["q"]) and not any("order of time" in note for note in found.notes)
