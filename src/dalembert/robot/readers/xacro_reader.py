"""Robots from ``.xacro`` files: the ``xacro`` package expands the macros, and the resulting URDF is read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from dalembert.base.files.reader_process import ask
from dalembert.base.files.safe_xml import read_bytes
from dalembert.errors import RobotError
from dalembert.robot.model.robot import Robot
from dalembert.robot.model.robot_notes import Note
from dalembert.robot.readers.urdf import parse_urdf


def read_xacro(
    path: str | os.PathLike[str], tip: str | None = None, arguments: Mapping[str, Any] | None = None
) -> Robot:
    """The robot described by a .xacro file; ``arguments`` are those that the file uses as ``$(arg NAME)``.

    >>> read_xacro("ur.urdf.xacro", arguments={"name": "ur5e"})
    Traceback (most recent call last):
    dalembert.errors.RobotError: ur.urdf.xacro: there is no such file
    """
    text, notes = expand_xacro(path, arguments)
    robot = parse_urdf(text, os.fspath(path), tip)
    return robot.replace(notes=(*notes, *robot.notes))


def expand_xacro(path: str | os.PathLike[str], arguments: Mapping[str, Any] | None = None) -> tuple[str, list[Note]]:
    """The URDF text to which a .xacro file expands, and notes for the user on how it was found."""
    source = os.fspath(path)
    read_bytes(path)  # a missing file is reported as for any other format
    # true and false are written as in XML
    texts = {str(key): str(x).lower() if isinstance(x, bool) else str(x) for key, x in (arguments or {}).items()}
    question = {"source": source, "arguments": texts, "environment": dict(os.environ)}
    function = "dalembert.robot.readers.xacro_expander:expanded"
    answer, _ = ask(function, question, where=source, reader="xacro", error=RobotError)
    return str(answer["text"]), [Note(str(sentence), str(topic)) for sentence, topic in answer["notes"].items()]
