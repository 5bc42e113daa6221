"""ROS 1 bags, ROS 2 bag folders, and single .db3 files, read through ``rosbags``."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from dalembert.base.environment.extras import extra
from dalembert.base.files import open_bounded
from dalembert.base.wording import shown
from dalembert.errors import DalembertError
from dalembert.work.logs.formats.joint_states import JointStates, fields_of
from dalembert.work.logs.formats.mcap_file import LARGEST_CHUNK
from dalembert.work.logs.formats.raw import LARGEST_FILE, Raw, Request, damage_told

LARGEST_METADATA = 1 << 20  # bytes of metadata.yaml
SQLITE = b"SQLite format 3\x00"


def read_bag(path: Path, request: Request) -> Raw:
    """JointState messages of a bag. Other messages are not decoded, so their types need not be known."""
    with extra("logs", f"{path}: a ROS bag"):
        from apsw import Error as DatabaseError
        from rosbags.rosbag1 import Reader as Reader1
        from rosbags.rosbag1 import ReaderError as Reader1Error
        from rosbags.rosbag2 import Reader as Reader2
        from rosbags.rosbag2 import ReaderError as Reader2Error
        from rosbags.serde import SerdeError
        from rosbags.typesys import Stores, get_typestore
        from ruamel.yaml.error import YAMLError
    if path.is_dir() and not (path / "metadata.yaml").is_file():
        raise DalembertError(
            f"{path}: the folder is not a ROS 2 bag, because it has no metadata.yaml; name the .db3 or .mcap file in it"
        )
    if path.is_dir():
        _check_folder(path)
    elif path.suffix.lower() == ".db3":
        _check_database(path)
    ros1 = path.suffix.lower() == ".bag" and path.is_file()
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.LATEST)
    decode = store.deserialize_ros1 if ros1 else store.deserialize_cdr
    states = JointStates(str(path), request)
    errors = Reader1Error, Reader2Error, SerdeError, DatabaseError, YAMLError, OSError
    with damage_told(f"{path}: this ROS bag cannot be read", *errors):
        reader: Any = Reader1(path) if ros1 else Reader2(path)
        with reader:
            for at, chunk in reader.chunks.items() if ros1 else ():
                reader.chunks[at] = chunk._replace(decompressor=_within_bounds(path, chunk.decompressor))
            connections = [c for c in reader.connections if str(c.msgtype).endswith("/JointState")]
            total = max(1, sum(c.msgcount for c in connections))
            for k, (connection, logged, data) in enumerate(reader.messages(connections) if connections else ()):
                states.add(connection.topic, logged, *fields_of(decode(data, "sensor_msgs/msg/JointState")))
                if k % 1000 == 0:
                    request.progress(min(1.0, k / total))
            others = sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections})
    return states.raw(others)


def _check_folder(path: Path) -> None:
    """Check that the files of a ROS 2 bag are regular files of admissible size."""
    open_bounded(path / "metadata.yaml", LARGEST_METADATA, "description of the bag").close()
    for file in sorted(path.iterdir()):
        if file.suffix.lower() in (".db3", ".mcap", ".zstd"):
            open_bounded(file, LARGEST_FILE, "log").close()
        if file.suffix.lower() == ".db3":
            _check_database(file)


def _check_database(path: Path) -> None:
    """Check that a SQLite file has only plain tables: a view or a computed column could run endlessly."""
    with open_bounded(path, LARGEST_FILE, "log") as file:
        if file.read(len(SQLITE)) != SQLITE:
            raise DalembertError(f"{path}: this is not a .db3 file of a ROS 2 bag, which is a SQLite database")
    with damage_told(f"{path}: this ROS bag cannot be read", sqlite3.Error):
        database = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)
        database.text_factory = lambda word: word.decode(errors="replace")
        with closing(database):
            rows = database.execute("SELECT type, name, substr(sql, 1, 10001) FROM sqlite_master LIMIT 1001").fetchall()
    if len(rows) > 1000:
        raise DalembertError(f"{path}: the database has more than 1000 tables and indexes, which no ROS 2 bag has")
    for kind, name, definition in rows:
        sql = str(definition).upper()
        if kind not in ("table", "index") or "VIRTUAL" in sql or re.search(r"\bAS\s*\(", sql) or len(sql) > 10_000:
            raise DalembertError(
                f"{path}: the {kind} {shown(name)} of the database is computed, which no ROS 2 bag has"
            )


def _within_bounds(path: Path, unpack: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """The same decompression, limited to the maximum size of a chunk."""
    import bz2

    with extra("logs", "a ROS bag"):
        import lz4.frame

    def bounded(data: bytes) -> bytes:
        bounded_by = {bz2.decompress: bz2.BZ2Decompressor, lz4.frame.decompress: lz4.frame.LZ4FrameDecompressor}
        plain = bounded_by[unpack]().decompress(data, LARGEST_CHUNK + 1) if unpack in bounded_by else unpack(data)
        if len(plain) > LARGEST_CHUNK:
            raise DalembertError(f"{path}: a chunk has more than {LARGEST_CHUNK} bytes uncompressed, the maximum")
        return plain

    return bounded
