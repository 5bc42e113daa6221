"""The server answers whoever has the token, from its own page, within its bounds; nobody else learns anything."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.views.studio import server as server_module
from dalembert.views.studio import upload_bounds, uploads
from dalembert.views.studio.folder import RobotFolder
from dalembert.views.studio.page_tasks import Shown
from dalembert.views.studio.server import StudioServer
from dalembert.views.studio.session import Session
from dalembert.views.studio.structure import Structure
from dalembert.views.studio.upload_bounds import JSON_BYTES, ROBOT_BYTES
from studio_client import Client

SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
STREAM = {"Content-Type": "application/octet-stream"}
PAGE = "<!doctype html><title>pendulum</title>"


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


def test_the_page_comes_with_its_policy_and_headers(client: Client, session: Session) -> None:
    session._shown = type(session._shown)(
        **{
            **vars(session._shown),
            "page": '<meta http-equiv="Content-Security-Policy" content="connect-src &#x27;self&#x27;">é',
        }
    )
    status, headers, content = client.get()
    assert status == 200 and content.decode().endswith("é")
    assert headers["Content-Security-Policy"] == "connect-src 'self'; frame-ancestors 'none'"
    assert SECURITY.items() <= headers.items() and not any(name.startswith("Access-Control") for name in headers)
    assert headers["Server"].strip() == "dalembert"


def test_it_listens_on_this_machine_alone(client: Client) -> None:
    assert client.server.server_address[0] == "127.0.0.1"
    assert len(client.gate.token) >= 43


@pytest.mark.parametrize(
    "path",
    ["/", "/{token}", "/wrong/", "/{shorter}/", "/{token}x/", "/%2e/{token}/", "/favicon.ico", "*"],
)
def test_a_wrong_token_is_nothing_but_not_found(path: str, client: Client) -> None:
    token = client.gate.token
    path = path.format(token=token, shorter=token[:-1])
    for method, body in (("GET", b""), ("POST", b"{}"), ("PUT", b"")):
        status, headers, content = client.request(method, path, body)
        assert (status, content) == (404, b'{"error": ""}') and SECURITY.items() <= headers.items()


@pytest.mark.parametrize(
    "host", ["evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "", None]
)
def test_another_host_is_not_found(host: str | None, client: Client) -> None:
    named = host and host.format(port=client.server.server_port)
    assert client.get(Host=named)[0] == 404
    assert client.post("status", headers={"Host": named})[0] == 404


def test_localhost_is_this_machine_and_two_hosts_are_none(client: Client) -> None:
    port, token = client.server.server_port, client.gate.token
    assert client.get(Host=f"localhost:{port}")[0] == 200
    twice = f"GET /{token}/ HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil.example\r\n\r\n"
    assert client.raw(twice.encode()).startswith(b"HTTP/1.1 404")


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_another_origin_cannot_post(origin: str | None, client: Client) -> None:
    named = origin and origin.format(port=client.server.server_port)
    status, answer = client.post("status", headers={"Origin": named})
    assert status == 403 and "does not come from the studio's page" in answer["error"]


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_forms_cannot_post(kind: str | None, client: Client) -> None:
    assert client.post("status", headers={"Content-Type": kind})[0] == 415
    assert client.post("upload?kind=robot&name=a.toml", b"", {"Content-Type": kind})[0] == 415


def test_the_address_for_the_browser_leads_to_the_page_once(client: Client) -> None:
    path = "/" + client.gate.opening_address.rpartition("/")[2]
    status, headers, _ = client.request("GET", path)
    assert status == 302 and headers["Location"] == f"/{client.gate.token}/"
    assert client.request("GET", path)[0] == 404
    assert client.request("GET", "/")[0] == 404


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b'"a"',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"name": 3, "from": "folder"}',
        b'{"from": NaN}',
        b'{"from": "folder", "name": "\\ud800.toml"}',
        b"9" * 10_000,
    ],
)
def test_wrong_json_is_one_sentence(body: bytes, client: Client) -> None:
    status, answer = client.post("open", body)
    assert status in (400, 422) and answer["error"] and "Traceback" not in answer["error"]


def test_unknown_actions_and_methods_are_refused(client: Client) -> None:
    assert client.post("delete")[0] == 404
    assert client.post("__class__")[0] == 404
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD", "BREW"):
        assert client.request(method, f"/{client.gate.token}/")[0] == 405
    assert client.raw(b"GET / and more HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert client.get("report.html")[0] == 404 and client.get("../")[0] == 404


# -- files -----------------------------------------------------------------------------------------


def test_files_below_the_folder_are_listed_and_others_are_not(client: Client, folder: Path) -> None:
    (folder / "logs").mkdir()
    (folder / ".hidden").mkdir()
    for name in ("logs/run.csv", ".hidden/run.csv", ".run.csv", "logs/notes.md"):
        (folder / name).write_text("t,q1")
    (folder / "outside.toml").symlink_to(folder.parent / "secret.toml")
    (folder / "elsewhere").symlink_to(folder.parent)
    (folder / "inside.toml").symlink_to(folder / "mine.toml")
    files = client.post("files")[1]
    assert files["robots"] == ["inside.toml", "mine.toml"] and files["logs"] == ["logs/run.csv"]
    assert files["arms"] == da.arms()


@pytest.mark.parametrize(
    "name",
    [
        "../secret.toml", "..", ".", "", "/etc/passwd", "logs/../../secret.toml", "..%2fsecret.toml", "%2e%2e/secret.toml", "..\\secret.toml",
        "C:secret.toml", ".hidden.toml", "a//b.toml", "mine.toml\0", "mine.toml\n", "outside.toml", "elsewhere/secret.toml", "x" * 5000,
    ],
)  # fmt: skip
def test_no_name_leads_out_of_the_folder(name: str, client: Client, folder: Path) -> None:
    (folder / "outside.toml").symlink_to(folder.parent / "secret.toml")
    (folder / "elsewhere").symlink_to(folder.parent)
    (folder / ".hidden.toml").write_text("hidden")
    for action, body in (
        ("open", {"from": "folder", "name": name}),
        ("open", {"from": "sent", "name": name}),
        ("open", {"from": "shipped", "name": name}),
        ("identify", {"logs": [{"from": "folder", "name": name}]}),
        ("save", {"what": "robot", "name": name, "overwrite": True}),
        ("save", {"what": "motion", "name": name, "csv": "t", "overwrite": True}),
    ):
        status, answer = client.post(action, body)
        assert status == 422 and "secret" not in answer["error"].replace(repr(name), "").replace(name, "")
    assert client.post("upload?kind=robot&name=" + "..%2F..%2Fsecret.toml", b"x", STREAM)[0] == 422
    assert (folder.parent / "secret.toml").read_text() == "secret"
    assert sorted(path.name for path in folder.iterdir()) == [".hidden.toml", "elsewhere", "mine.toml", "outside.toml"]


def test_saving_asks_before_it_overwrites(client: Client, folder: Path) -> None:
    assert client.post("save", {"what": "robot", "name": "new.toml"}) == (200, {"saved": "new.toml"})
    assert da.load(folder / "new.toml").n == 1
    (folder / "new.toml").write_text("mine")
    status, answer = client.post("save", {"what": "robot", "name": "new.toml"})
    assert status == 409 and answer["exists"] and (folder / "new.toml").read_text() == "mine"
    assert client.post("save", {"what": "robot", "name": "new.toml", "overwrite": True})[0] == 200
    assert da.load(folder / "new.toml").n == 1
    assert client.post("save", {"what": "robot", "name": "new.urdf"})[0] == 200 and da.load(folder / "new.urdf").n == 1
    for what, name in (
        ("robot", "new.py"),
        ("motion", "new.toml"),
        ("page", ".html"),
        ("robot", "no/such/new.toml"),
        ("file", "a.toml"),
    ):
        assert client.post("save", {"what": what, "name": name, "csv": ""})[0] == 422
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize(
    ("action", "body", "sentence"),
    [
        (
            "time",
            {"how": "fast", "name": "a", "csv": "t"},
            "'how' is 'fast'; it must be one of 'time-optimal', 'scaled'",
        ),
        ("time", {"how": "scaled", "name": "a"}, "the key 'csv' is missing"),
        ("time", {"how": "scaled", "name": "a", "csv": "\ud800"}, "surrogate"),
        ("time", {"how": "scaled", "name": "a", "csv": "t", "duration": "long"}, "finite number"),
        ("identify", {"logs": "run.csv"}, "list of files"),
        ("identify", {"logs": [{"from": "moon", "name": "run.csv"}]}, "must be 'folder' or 'sent'"),
        ("identify", {"logs": [{"from": "folder", "name": "mine.toml"}]}, "must end in .csv"),
        ("identify", {"cutoff": "8 Hz"}, "finite number"),
        ("identify", {"physical": 1}, "true or false"),
        ("calibrated", {}, "no arm has been identified yet"),
        ("cancel", {"kind": "lunch"}, "'kind' is 'lunch'; it must be one of 'page', 'timing'"),
        ("structure", {"lock": {"joint1": None}}, "finite number"),
        ("structure", {"payload": 10**400}, "finite number"),
        ("structure", {"lock": {"joint1": -(10**400)}}, "finite number"),
        ("time", {"how": "scaled", "name": "a", "csv": "t", "duration": 10**400}, "finite number"),
        *(
            (action, {"page": "another", "how": "scaled", "name": "a.toml", "csv": "t", "what": "robot"}, "another tab")
            for action in ("status", "structure", "calibrated", "time", "save")
        ),
    ],
)
def test_fields_are_of_their_kind(action: str, body: dict[str, Any], sentence: str, client: Client) -> None:
    status, answer = client.post(action, body)
    assert status == 422 and sentence in answer["error"]


def test_work_that_the_library_refuses_leaves_the_page(client: Client, folder: Path) -> None:
    before = client.get()[2]
    (folder / "wrong.urdf").write_text("<robot name='r'><link name='a'/><joint name='j'/></robot>")
    job = client.done("open", {"from": "folder", "name": "wrong.urdf"})
    assert job["state"] == "failed" and "wrong.urdf" in job["sentence"] and client.get()[2] == before
    job = client.done("time", {"how": "scaled", "name": "a", "csv": "t,q1\n0,0\n0,1\n"})
    assert job["state"] == "failed" and "motion.csv" in job["sentence"]
    job = client.done("save", {"what": "robot", "name": "new.toml", "toml": "x = 3"})
    assert job["state"] == "failed" and not (folder / "new.toml").exists()


# -- bounds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "kind", "most"),
    [
        ("status", "application/json", JSON_BYTES),
        ("upload?kind=robot&name=a.urdf", STREAM["Content-Type"], ROBOT_BYTES),
    ],
)
def test_what_is_too_large_is_refused_before_it_is_read(action: str, kind: str, most: int, client: Client) -> None:
    """No byte of the body is sent: the answer cannot wait for it."""
    lines = {"Content-Type": kind, "Content-Length": str(most + 1), "Expect": "100-continue"}
    status, answer = client.post(action, b"", lines)
    assert status == 413 and answer["error"].endswith(f"at most {most} ({most >> 20} MiB) are accepted")


def test_a_sender_of_too_much_hears_why(client: Client) -> None:
    status, answer = client.post(
        "upload?kind=robot&name=a.urdf", b"x" * 300_000, STREAM | {"Content-Length": str(ROBOT_BYTES + 1)}
    )
    assert status == 413 and "are accepted" in answer["error"]


@pytest.mark.parametrize("length", [None, "-1", "x", "1e3", "9" * 30, "+5", " "])
def test_the_length_must_be_said(length: str | None, client: Client) -> None:
    assert client.post("status", b"{}", {"Content-Length": length})[0] == 411
    assert client.post("status", b"{}", {"Transfer-Encoding": "chunked", "Content-Length": None})[0] == 411


def test_all_that_is_sent_has_a_bound(client: Client, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "UPLOADED_BYTES", 1000)
    assert client.post("upload?kind=robot&name=a.toml", b"x" * 600, STREAM) == (200, {"from": "sent", "name": "a.toml"})
    assert client.post("upload?kind=robot&name=a.toml", b"y" * 600, STREAM)[0] == 200
    status, answer = client.post("upload?kind=log&name=a.csv", b"x" * 600, STREAM)
    assert status == 422 and "in total" in answer["error"]
    assert session.uploads.path("a.toml").read_bytes() == b"y" * 600
    assert client.post("upload?" + "&".join("a=1" for _ in range(20)), b"x", STREAM)[0] == 400
    for query in ("kind=robot&name=a.py", "kind=page&name=a.toml", "kind=robot&name=", "", "kind=robot&name=a/b.toml"):
        assert client.post(f"upload?{query}", b"x", STREAM)[0] == 422


def test_uploads_at_the_same_time_share_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """An upload in progress counts with its whole size, and no longer once it has failed."""
    monkeypatch.setattr(uploads, "UPLOADED_BYTES", 1000)
    files = uploads.Uploads()

    def failing() -> bytes:
        with pytest.raises(DalembertError, match="in total"):
            files.take("b.csv", 600, lambda: b"")
        raise ConnectionError

    with pytest.raises(ConnectionError):
        files.take("a.csv", 600, failing)
    files.take("b.csv", 600, iter([b"x" * 600, b""]).__next__)
    assert files.names("log") == ["b.csv"]
    files.close()


def test_what_a_killed_studio_left_goes_and_the_files_of_a_living_one_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    living = uploads.Uploads()
    others = [tmp_path / name for name in ("dalembert-studio-1-uploads", "dalembert-studio-2", "mine-uploads")]
    for folder in others:
        (folder / "1").mkdir(parents=True)
        (folder / "1" / "log.csv").write_text("t")
    (tmp_path / "dalembert-studio-link-uploads").symlink_to(others[2])
    young = tmp_path / "dalembert-studio-young-uploads"
    for folder in tmp_path.iterdir():
        os.utime(folder, (0, 0))
    young.mkdir()
    uploads.Uploads().close()
    assert not others[0].exists() and all((folder / "1" / "log.csv").exists() for folder in others[1:])
    assert young.exists() and Path(living._folder.name).exists()
    living.close()


def test_a_slow_client_is_let_go(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that sends its head, or its body, drop by drop, never takes long enough between two of them to be noticed by that."""
    monkeypatch.setattr(upload_bounds, "HEAD_SECONDS", 0.6)
    monkeypatch.setattr(upload_bounds, "BODY_SECONDS", 0.6)
    start = time.monotonic()
    with socket.create_connection(("127.0.0.1", client.server.server_port), timeout=10) as connection:
        with contextlib.suppress(OSError):
            for letter in f"GET /{client.gate.token}/ HTTP/1.1".encode() * 10:
                connection.sendall(bytes([letter]))
                time.sleep(0.02)
        with contextlib.suppress(ConnectionError):
            assert not connection.recv(1000).startswith(b"HTTP/1.1 200")
    head = (
        f"POST /{client.gate.token}/api/status HTTP/1.1\r\nHost: {client.host}\r\nOrigin: http://{client.host}\r\n"
        "Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", client.server.server_port), timeout=10) as connection:
        connection.sendall(head.encode())
        answer = b""
        with contextlib.suppress(OSError):
            for _ in range(60):
                connection.sendall(b" ")
                time.sleep(0.02)
        with contextlib.suppress(ConnectionError):
            answer = connection.recv(1000)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 408")
    assert time.monotonic() - start < 12 and client.get()[0] == 200


def test_a_client_that_waits_is_let_go(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module.StudioHandler, "timeout", 0.3)
    status, answer = client.post("status", b"{", {"Content-Length": "50"})
    assert status == 408 and "paused for more than" in answer["error"]


def test_strangers_cannot_take_the_places_of_the_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many connections show no token, the oldest of them makes room, and the page is answered."""
    monkeypatch.setattr(upload_bounds, "STRANGERS", 4)
    place = ("127.0.0.1", client.server.server_port)
    waiting = [socket.create_connection(place, timeout=10) for _ in range(12)]
    try:
        for connection in waiting:
            with contextlib.suppress(OSError):
                connection.sendall(b"GET / ")
        assert [client.get()[0] for _ in range(8)] == [200] * 8
        assert waiting[0].recv(10) == b"" and len(client.server._strangers) <= 4
    finally:
        for connection in waiting:
            connection.close()


def test_more_requests_with_the_token_than_there_may_be_are_refused_and_come_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_bounds, "CONNECTIONS", 3)
    place = ("127.0.0.1", client.server.server_port)
    head = (
        f"POST /{client.gate.token}/api/status HTTP/1.1\r\nHost: {client.host}\r\nOrigin: http://{client.host}\r\n"
        "Content-Type: application/json\r\nContent-Length: 5\r\n\r\n"
    )
    waiting = [socket.create_connection(place, timeout=10) for _ in range(3)]
    try:
        for connection in waiting:
            connection.sendall(head.encode())
        wait_until(lambda: len(client.server._known) == 3)
        assert client.get()[0] == 503
    finally:
        for connection in waiting:
            connection.close()
    wait_until(lambda: client.get()[0] == 200)


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_requests_at_the_same_time_are_all_answered(client: Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda k: client.post("status") if k % 2 else client.get()[:2], range(40)))
    assert [status for status, _ in answers] == [200] * 40


def test_a_mistake_of_ours_is_no_traceback_for_the_page(
    client: Client, session: Session, capfd: pytest.CaptureFixture[str]
) -> None:
    session.actions["status"] = lambda body: {"x": 1 / 0}
    status, answer = client.post("status")
    assert status == 500 and answer == {"error": "the studio failed on this request; its terminal shows the traceback"}
    assert "ZeroDivisionError" in capfd.readouterr().err


# -- the command ------------------------------------------------------------------------------------


def hearing() -> None:
    """Signals that the tests' own shell ignores, as under nohup, end the command all the same."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def started(folder: Path, *arguments: str) -> tuple[subprocess.Popen[str], str]:
    """The command as a process, and the address that it prints."""
    command = [sys.executable, "-m", "dalembert", "studio", "pendulum", "--no-browser", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=folder, text=True, preexec_fn=hearing, **pipes)
    assert process.stdout is not None
    line = process.stdout.readline()
    address = re.search(r"http://\S+/", line)
    assert address is not None, (line, process.stderr.read() if process.stderr and process.poll() is not None else "")
    return process, address[0]


def asked(address: str, action: str, body: Any) -> Any:
    import urllib.request

    origin = re.match(r"http://[^/]+", address)
    assert origin is not None
    headers = {"Origin": origin[0], "Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}api/{action}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)


def children_of(number: int) -> list[int]:
    """The processes that a process has started, and what they have."""
    path = Path(f"/proc/{number}/task/{number}/children")
    threads = Path(f"/proc/{number}/task")
    names = [Path(threads, thread, "children") for thread in os.listdir(threads)] if path.exists() else []
    return [int(child) for name in names for child in name.read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for child processes in /proc")
@pytest.mark.parametrize(
    ("signal_number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signals_stop_it_and_what_it_started(signal_number: int, status: int, folder: Path, tmp_path: Path) -> None:
    t = np.arange(0, 60, 0.002)
    q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=60.0)(t)
    np.savez(folder / "run.npz", t=t, q=q, qd=qd, tau=da.load("pendulum").inverse_dynamics(q, qd, qdd))
    environment = tmp_path / "temporary"
    environment.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(environment))
        process, address = started(folder)
    try:
        assert (
            asked(address, "identify", {"logs": [{"from": "folder", "name": "run.npz"}]})["job"]["state"] == "running"
        )
        workers = children_of(process.pid)
        assert workers
        process.send_signal(signal_number)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == status and "Traceback" not in said
    end = time.monotonic() + 10
    while any(Path(f"/proc/{worker}").exists() for worker in workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    assert not list(environment.glob("dalembert-studio-*"))
    assert sorted(path.name for path in folder.iterdir()) == ["mine.toml", "run.npz"]


def test_a_port_that_is_taken_is_one_sentence(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "dalembert", "studio", "pendulum", "--no-browser", "--port", str(port)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and f"cannot listen on port {port}" in done.stderr
