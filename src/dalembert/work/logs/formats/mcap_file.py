"""A single MCAP file with JointState messages of ROS 2 (CDR) or ROS 1, or JSON messages with the same fields."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from dalembert.base.environment.extras import extra
from dalembert.base.files import open_bounded
from dalembert.base.wording import shown
from dalembert.errors import DalembertError
from dalembert.work.logs.formats.joint_states import FIELDS, JointStates, fields_of
from dalembert.work.logs.formats.raw import LARGEST_FILE, Raw, Request, damage_told

MAGIC = b"\x89MCAP0\r\n"  # at both ends of a file
LARGEST_CHUNK = 1 << 30  # bytes, uncompressed; most have about 1 MB
SMALL_CHUNK, LARGEST_RATIO = 1 << 20, 1000  # bytes; a larger chunk is at most this many times as large as when packed
ENCODINGS = ("cdr", "ros1", "json")


def read_mcap(path: Path, request: Request) -> Raw:
    """JointState messages of an MCAP file; a truncated file is read up to its end."""
    with extra("logs", f"{path}: an MCAP file"):
        from mcap.exceptions import EndOfFile, McapError
        from rosbags.serde import SerdeError
        from zstandard import ZstdError
    states, others, decode = JointStates(str(path), request), set(), _Decoder(path)
    unreadable = damage_told(f"{path}: this MCAP file cannot be read", McapError, SerdeError, ZstdError, MemoryError)
    with open_bounded(path, LARGEST_FILE, "log") as stream, unreadable:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(-min(len(MAGIC), size), io.SEEK_END)
        whole = stream.read() == MAGIC
        stream.seek(0)
        try:
            for k, (schema, channel, message) in enumerate(_messages(path, stream)):
                others.add(f"{channel.topic} ({schema.name if schema else channel.message_encoding})")
                if schema is not None and schema.name.endswith("JointState"):
                    states.add(channel.topic, message.log_time, *decode(channel, message.data))
                if k % 1000 == 0:
                    request.progress(min(1.0, stream.tell() / size))
        except (EndOfFile, struct.error):
            if whole:
                raise
    raw = states.raw(sorted(others), sort=whole)
    if not whole:
        raw.note("the file is truncated; it was read up to its end")
    return raw


def _messages(path: Path, stream: BinaryIO) -> Iterator[tuple[Any, Any, Any]]:
    """(schema or None, channel, message) in file order, with one chunk in memory at a time."""
    with extra("logs", "an MCAP file"):
        from mcap.exceptions import McapError
        from mcap.records import Channel, Message, Schema

    described: dict[tuple[type, int], Any] = {}
    for record in _records(path, stream):
        if isinstance(record, Schema | Channel):
            described[type(record), record.id] = record
        elif isinstance(record, Message):
            channel = described.get((Channel, record.channel_id))
            schema = described.get((Schema, channel.schema_id)) if channel else None
            if channel is None or (channel.schema_id and schema is None):
                raise McapError(f"a message has the channel {record.channel_id}, which is not described")
            yield schema, channel, record


def _records(path: Path, stream: BinaryIO) -> Iterator[Any]:
    """All records of a file, including those in chunks; the size of a chunk is checked before decompression."""
    with extra("logs", "an MCAP file"):
        from mcap.exceptions import EndOfFile
        from mcap.records import Chunk
        from mcap.stream_reader import StreamReader

    for record in StreamReader(stream, emit_chunks=True, record_size_limit=LARGEST_CHUNK).records:
        if not isinstance(record, Chunk):
            yield record
            continue
        inside = io.BytesIO(_unpacked(path, record))
        size = len(inside.getbuffer())
        try:
            yield from StreamReader(inside, skip_magic=True, emit_chunks=True).records
        except EndOfFile:
            if inside.tell() < size:
                raise


def _unpacked(path: Path, chunk: Any) -> bytes:
    """The content of a chunk, if it is not larger than declared and allowed."""
    with extra("logs", "an MCAP file"):
        import lz4.frame
        import zstandard

    said = chunk.uncompressed_size
    if chunk.compression == "zstd":
        said = max(said, zstandard.frame_content_size(chunk.data))
    if said > LARGEST_CHUNK:
        raise DalembertError(f"{path}: a chunk has {said} bytes uncompressed; the maximum is {LARGEST_CHUNK}")
    if said > max(SMALL_CHUNK, LARGEST_RATIO * len(chunk.data)):
        raise DalembertError(
            f"{path}: a chunk of {len(chunk.data)} bytes has {said} bytes uncompressed, more than {LARGEST_RATIO} times as many, "
            "which no log has"
        )
    if chunk.compression == "zstd":
        return bytes(zstandard.ZstdDecompressor().decompress(chunk.data, max_output_size=said))
    if chunk.compression == "lz4":
        return bytes(lz4.frame.LZ4FrameDecompressor().decompress(chunk.data, max_length=said))
    if chunk.compression:
        raise DalembertError(f"{path}: a chunk is compressed as {shown(chunk.compression)}; supported are zstd and lz4")
    return bytes(chunk.data)


class _Decoder:
    """Decodes the messages of a channel: names, time stamp (s), (position, velocity, effort)."""

    def __init__(self, path: Path) -> None:
        with extra("logs", "an MCAP file"):
            from rosbags.typesys import Stores, get_typestore

        self.path = path
        self.ros2, self.ros1 = get_typestore(Stores.LATEST), get_typestore(Stores.ROS1_NOETIC)

    def __call__(self, channel: Any, data: bytes) -> tuple[Any, float, tuple[Any, ...]]:
        encoding = channel.message_encoding
        if encoding not in ENCODINGS:
            raise DalembertError(
                f"{self.path}: the JointState messages on {channel.topic} are encoded as '{encoding}'; supported are "
                f"{', '.join(ENCODINGS)}"
            )
        if encoding == "json":
            return self._json(channel, data)
        decode = self.ros2.deserialize_cdr if encoding == "cdr" else self.ros1.deserialize_ros1
        return fields_of(decode(data, "sensor_msgs/msg/JointState"))

    def _json(self, channel: Any, data: bytes) -> tuple[Any, float, tuple[Any, ...]]:
        try:
            fields = json.loads(data)
        except ValueError as error:
            raise DalembertError(f"{self.path}: a message on {channel.topic} is not valid JSON ({error})") from None
        if not isinstance(fields, dict) or not isinstance(fields.get("name"), list):
            raise DalembertError(
                f"{self.path}: a JSON message on {channel.topic} has no list 'name' of joints next to position, velocity, effort"
            )
        header = fields.get("header") or {}
        stamp = header.get("stamp", 0.0) if isinstance(header, dict) else 0.0
        if isinstance(stamp, dict):
            seconds, parts = (
                next((stamp[name] for name in names if name in stamp), 0)
                for names in (("sec", "secs"), ("nanosec", "nanosecs", "nsec", "nsecs"))
            )
            stamp = float(seconds) + 1e-9 * float(parts)
        return fields["name"], float(stamp), tuple(fields.get(name) or [] for name in FIELDS)
