"""What the studio takes at most, and how long it waits."""

from __future__ import annotations

from dalembert.robot.bounds import XML_BYTES

ROBOT_BYTES = XML_BYTES  # of a robot file that is uploaded: what the readers take
LOG_BYTES = 256 * 2**20  # of a log that is uploaded
JSON_BYTES = 16 * 2**20  # of any other request: a motion as CSV is the largest
UPLOADED_BYTES = 2**30  # of all files that were uploaded, together
CONNECTIONS = 16  # at a time; a browser uses up to six
HEAD_SECONDS = 10.0  # for the head of a request
BODY_SECONDS = 120.0  # for its body
PAUSE_SECONDS = 10.0  # between two pieces of either, and of an answer
STOP_SECONDS = 10.0  # that files being written have when the server stops
FOLDERS = 2_000  # looked into for files
FILES = 500  # of a kind that are listed
DEPTH = 6  # folders below the robot's
