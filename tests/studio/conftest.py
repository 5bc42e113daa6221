"""A studio on a port of its own, whose page is a few letters."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import dalembert as da
from dalembert.studio.folder import RobotFolder
from dalembert.studio.page_tasks import Shown
from dalembert.studio.server import StudioServer
from dalembert.studio.session import Session
from dalembert.studio.structure import Structure
from studio_client import Client

PAGE = "<!doctype html><title>pendulum</title>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A robot's folder, with something beside it that is nobody's business."""
    (tmp_path / "secret.toml").write_text("secret")
    (tmp_path / "robot").mkdir()
    da.load("pendulum").save(tmp_path / "robot" / "mine.toml")
    return tmp_path / "robot"


@pytest.fixture
def session(folder: Path) -> Iterator[Session]:
    arm = da.load("pendulum")
    running = Session(RobotFolder(folder), Shown(arm.robot, Structure(), arm, (), PAGE))
    yield running
    running.close(1.0)


@pytest.fixture
def client(session: Session) -> Iterator[Client]:
    server = StudioServer(session)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield Client(server)
    server.shutdown()
    server.server_close()
    thread.join(5)
