"""A single MCAP file with JointState messages of ROS 2 (CDR) or ROS 1, or JSON messages with the same fields."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator, Mapping
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


def read_mcap(path: Path, request: Request) -> Raw:
    """JointState messages of an MCAP file; a truncated file is read up to its end."""
    with extra("logs", f"{path}: an MCAP file"):
        from mcap.exceptions import EndOfFile, McapError
        from rosbags.serde import SerdeError
        from rosbags.typesys import Stores, get_typestore
        from zstandard import ZstdError
    states, others = JointStates(str(path), request), set()
    ros2, ros1 = get_typestore(Stores.LATEST), get_typestore(Stores.ROS1_NOETIC)
    decoders = {"cdr": ros2.deserialize_cdr, "ros1": ros1.deserialize_ros1}
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
                    states.add(channel.topic, message.log_time, *_decoded(path, decoders, channel, message.data))
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
        from mcap.exceptions import EndOfFile, McapError
        from mcap.records import Channel, Chunk, Message, Schema
        from mcap.stream_reader import StreamReader

    def records() -> Iterator[Any]:
        """All records of the file, including those in chunks; the size of a chunk is checked before decompression."""
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

    described: dict[tuple[type, int], Any] = {}
    for record in records():
        if isinstance(record, Schema | Channel):
            described[type(record), record.id] = record
        elif isinstance(record, Message):
            channel = described.get((Channel, record.channel_id))
            schema = described.get((Schema, channel.schema_id)) if channel else None
            if channel is None or (channel.schema_id and schema is None):
                raise McapError(f"a message has the channel {record.channel_id}, which is not described")
            yield schema, channel, record


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


def _decoded(path: Path, decoders: Mapping[str, Any], channel: Any, data: bytes) -> tuple[Any, float, tuple[Any, ...]]:
    """The names, time stamp (s) and (position, velocity, effort) of a message of a channel."""
    encoding = channel.message_encoding
    if encoding == "json":
        return _of_json(f"{path}: a", channel.topic, data)
    if encoding not in decoders:
        raise DalembertError(
            f"{path}: the JointState messages on {channel.topic} are encoded as '{encoding}'; supported are "
            f"{', '.join((*decoders, 'json'))}"
        )
    return fields_of(decoders[encoding](data, "sensor_msgs/msg/JointState"))


def _of_json(begin: str, topic: str, data: bytes) -> tuple[Any, float, tuple[Any, ...]]:
    try:
        fields = json.loads(data)
    except ValueError as error:
        raise DalembertError(f"{begin} message on {topic} is not valid JSON ({error})") from None
    if not isinstance(fields, dict) or not isinstance(fields.get("name"), list):
        raise DalembertError(
            f"{begin} JSON message on {topic} has no list 'name' of joints next to position, velocity, effort"
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
