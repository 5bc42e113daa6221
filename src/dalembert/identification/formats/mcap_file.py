"""One MCAP file with JointState messages of ROS 2 (CDR) or ROS 1, or JSON messages of the same fields."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError
from dalembert.identification.formats.joint_states import FIELDS, JointStates
from dalembert.identification.formats.raw import DAMAGE, Raw, Request, reason

MAGIC = b"\x89MCAP0\r\n"  # at both ends of a file
ENCODINGS = ("cdr", "ros1", "json")


def read_mcap(path: Path, request: Request) -> Raw:
    """JointState messages of an MCAP file; one whose recorder was stopped is read as far as it goes."""
    try:
        from mcap.exceptions import EndOfFile, McapError
        from mcap.reader import NonSeekingReader, make_reader
        from rosbags.serde import SerdeError
        from zstandard import ZstdError
    except ImportError:
        raise DalembertError(
            f"{path}: MCAP files need the readers mcap and rosbags: pip install 'dalembert[identify]'"
        ) from None
    size = max(path.stat().st_size, 1)

    found, others, decode = JointStates(str(path), request), set(), _Decoder(path)
    wrong: tuple[type[Exception], ...] = (McapError, SerdeError, ZstdError, *DAMAGE)
    with path.open("rb") as stream:
        stream.seek(-min(len(MAGIC), size), 2)
        whole = stream.read() == MAGIC
        stream.seek(0)
        try:
            reader: Any = make_reader(stream) if whole else NonSeekingReader(stream)  # the index is written last
            for k, (schema, channel, message) in enumerate(reader.iter_messages(log_time_order=whole)):
                others.add(f"{channel.topic} ({schema.name if schema else channel.message_encoding})")
                if schema is not None and schema.name.endswith("JointState"):
                    name, stamp, values = decode(channel, message.data)
                    found.add(channel.topic, name, stamp, message.log_time, values)
                if k % 1000 == 0:
                    request.progress(min(1.0, stream.tell() / size))
        except DalembertError:
            raise
        except wrong as error:
            if whole or not isinstance(error, EndOfFile | struct.error):
                raise DalembertError(f"{path}: this MCAP file cannot be read ({reason(error)})") from None
    raw = found.raw(sorted(others))
    if not whole:
        raw.notes.append(f"{path}: the file ends in the middle; it was read as far as it goes")
    return raw


class _Decoder:
    """Messages of a channel by its encoding: names, stamp (s), (position, velocity, effort)."""

    def __init__(self, path: Path) -> None:
        from rosbags.typesys import Stores, get_typestore

        self.path = path
        self.ros2, self.ros1 = get_typestore(Stores.LATEST), get_typestore(Stores.ROS1_NOETIC)

    def __call__(self, channel: Any, data: bytes) -> tuple[Any, float, tuple[Any, ...]]:
        encoding = channel.message_encoding
        if encoding not in ENCODINGS:
            raise DalembertError(
                f"{self.path}: the JointState messages on {channel.topic} are encoded as '{encoding}'; known are "
                f"{', '.join(ENCODINGS)}"
            )
        if encoding == "json":
            return self._json(channel, data)
        kind = "sensor_msgs/msg/JointState"
        state: Any = (
            self.ros2.deserialize_cdr(data, kind) if encoding == "cdr" else self.ros1.deserialize_ros1(data, kind)
        )
        stamp = state.header.stamp
        return state.name, stamp.sec + 1e-9 * stamp.nanosec, (state.position, state.velocity, state.effort)

    def _json(self, channel: Any, data: bytes) -> tuple[Any, float, tuple[Any, ...]]:
        try:
            fields = json.loads(data)
        except ValueError as error:
            raise DalembertError(f"{self.path}: a message on {channel.topic} is no JSON ({error})") from None
        if not isinstance(fields, dict) or not isinstance(fields.get("name"), list):
            raise DalembertError(
                f"{self.path}: a JSON message on {channel.topic} has no list 'name' of joints, beside position, velocity, effort"
            )
        header = fields.get("header") or {}
        stamp = header.get("stamp", 0.0) if isinstance(header, dict) else 0.0
        if isinstance(stamp, dict):
            stamp = float(_first(stamp, ("sec", "secs"))) + 1e-9 * float(
                _first(stamp, ("nanosec", "nanosecs", "nsec", "nsecs"))
            )
        return fields["name"], float(stamp), tuple(fields.get(name) or [] for name in FIELDS)


def _first(fields: dict[str, Any], names: tuple[str, ...]) -> Any:
    found: Iterator[Any] = (fields[name] for name in names if name in fields)
    return next(found, 0)
