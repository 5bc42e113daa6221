"""ROS 1 bags, ROS 2 bag folders, and one .db3 file alone, through ``rosbags``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError
from dalembert.identification.formats.joint_states import JointStates
from dalembert.identification.formats.raw import DAMAGE, Raw, Request, reason

SQLITE = b"SQLite format 3\x00"


def read_bag(path: Path, request: Request) -> Raw:
    """JointState messages of a bag. Other messages are not decoded, so their types need not be known."""
    try:
        from apsw import Error as DatabaseError
        from rosbags.rosbag1 import Reader as Reader1
        from rosbags.rosbag1 import ReaderError as Reader1Error
        from rosbags.rosbag2 import Reader as Reader2
        from rosbags.rosbag2 import ReaderError as Reader2Error
        from rosbags.serde import SerdeError
        from rosbags.typesys import Stores, get_typestore
        from ruamel.yaml.error import YAMLError
    except ImportError:
        raise DalembertError(f"{path}: ROS bags need the reader rosbags: pip install 'dalembert[identify]'") from None
    if path.is_dir() and not (path / "metadata.yaml").is_file():
        raise DalembertError(
            f"{path}: the folder is no ROS 2 bag, since it has no metadata.yaml; name the .db3 or .mcap file in it"
        )
    if path.suffix.lower() == ".db3" and path.is_file():
        with path.open("rb") as file:
            if file.read(len(SQLITE)) != SQLITE:
                raise DalembertError(f"{path}: this is no .db3 file of a ROS 2 bag, which is a SQLite database")
    one = path.suffix.lower() == ".bag" and path.is_file()
    store = get_typestore(Stores.ROS1_NOETIC if one else Stores.LATEST)
    decode = store.deserialize_ros1 if one else store.deserialize_cdr
    found = JointStates(str(path), request)
    wrong: tuple[type[Exception], ...] = (Reader1Error, Reader2Error, SerdeError, DatabaseError, YAMLError, *DAMAGE)
    try:
        reader: Any = Reader1(path) if one else Reader2(path)
        with reader:
            states = [c for c in reader.connections if str(c.msgtype).endswith("/JointState")]
            total = max(1, sum(c.msgcount for c in states))
            for k, (connection, logged, data) in enumerate(reader.messages(states) if states else ()):
                message: Any = decode(data, "sensor_msgs/msg/JointState")
                stamp = message.header.stamp
                values = message.position, message.velocity, message.effort
                found.add(connection.topic, message.name, stamp.sec + 1e-9 * stamp.nanosec, logged, values)
                if k % 1000 == 0:
                    request.progress(min(1.0, k / total))
            others = sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections})
    except DalembertError:
        raise
    except wrong as error:
        raise DalembertError(f"{path}: this ROS bag cannot be read ({reason(error)})") from None
    return found.raw(others)
