"""Limits on the sizes and durations that the studio accepts."""

from __future__ import annotations

from dalembert.base.files.file_bounds import XML_BYTES

ROBOT_BYTES = XML_BYTES  # of an uploaded robot file: the limit of the readers
LOG_BYTES = 256 * 2**20  # of an uploaded log
JSON_BYTES = 16 * 2**20  # of any other request; the largest is a motion as CSV
UPLOADED_BYTES = 2**30  # of all uploaded files together
CONNECTIONS = 16  # with the token, simultaneously; a browser uses up to six
STRANGERS = 128  # connections that have not shown the token; a new one closes the oldest
HEAD_SECONDS = 10.0  # for the header of a request
BODY_SECONDS = 120.0  # for its body
PAUSE_SECONDS = 10.0  # between two pieces of either, and of a response
STOP_SECONDS = 10.0  # for completing files that are being written when the server stops
FOLDERS = 2_000  # searched for files
FILES = 500  # listed per kind
DEPTH = 6  # levels of folders below the robot's
