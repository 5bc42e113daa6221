"""Work in processes of its own: answers, sentences, cancelling, and an end with its parent."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.views.studio.confined import check_mjcf_paths
from dalembert.views.studio.jobs import Jobs
from dalembert.views.studio.worker import CancelledError, Worker

HERE = "studio_functions"


def quiet(words: str, fraction: float) -> None:
    """Tells nobody."""


def waited(jobs: Jobs, kind: str = "timing") -> dict[str, object]:
    end = time.monotonic() + 60
    while (job := jobs.data().get(kind)) is not None and job["state"] == "running" and time.monotonic() < end:
        time.sleep(0.01)
    assert job is not None
    return job


def test_an_answer_comes_with_progress() -> None:
    told: list[tuple[str, float]] = []
    assert Worker().run(f"{HERE}:add", (2, 3), lambda *words: told.append(words)) == 5
    assert told == [("adding", 0.5)]


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        ("refuse", "^that cannot be$"),
        ("end", "ended without an answer"),
        ("fail", r"^the job failed unexpectedly \(KeyError\)"),
        ("no_such_function", r"failed unexpectedly \(AttributeError\)"),
    ],
)
def test_what_goes_wrong_is_one_sentence(function: str, sentence: str) -> None:
    with pytest.raises(DalembertError, match=sentence):
        Worker().run(f"{HERE}:{function}", (), quiet)


def test_what_hangs_can_be_cancelled() -> None:
    worker = Worker()
    threading.Timer(1.0, worker.cancel).start()
    with pytest.raises(CancelledError):
        worker.run(f"{HERE}:hang", (), quiet)
    assert worker.process.poll() is not None


def test_one_job_of_a_kind_at_a_time() -> None:
    jobs = Jobs()
    assert jobs.start("timing", f"{HERE}:hang", (), dict)["state"] == "running"
    with pytest.raises(DalembertError, match="a timing is already in progress; wait for it or cancel it"):
        jobs.start("timing", f"{HERE}:hang", (), dict)
    jobs.start("page", f"{HERE}:add", (1, 1), lambda answer: {"sum": answer})
    jobs.cancel("timing")
    assert waited(jobs)["state"] == "cancelled"
    assert waited(jobs, "page")["result"] == {"sum": 2}
    jobs.start("timing", f"{HERE}:refuse", (), dict)
    job = waited(jobs)
    assert job["state"] == "failed" and job["sentence"] == "that cannot be"
    jobs.start("timing", f"{HERE}:hang", (), dict)
    jobs.close()
    assert waited(jobs)["state"] == "cancelled"
    with pytest.raises(DalembertError, match="stopping"):
        jobs.start("page", f"{HERE}:add", (1, 1), dict)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for a process in /proc")
def test_workers_end_when_their_parent_is_killed() -> None:
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; from dalembert.views.studio.worker import Worker, send; worker = Worker();"
        f"send(worker.process.stdin, ('{HERE}:hang', ())); print(worker.process.pid, flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None and parent.stdin is not None
    place = Path("/proc", parent.stdout.readline().strip())
    assert place.exists()
    parent.kill()
    parent.communicate()
    end = time.monotonic() + 30
    while place.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not place.exists()


def test_pages_need_no_identification() -> None:
    """Importing SciPy's optimisers and Matplotlib for a page would take longer than the page."""
    code = "import sys, dalembert.views.studio.page_tasks; print('dalembert.work.identification.fitting.fit' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


# -- confinement ------------------------------------------------------------------------------------


def test_a_confined_process_reads_its_folder_alone(folder: Path) -> None:
    (folder / "inside.txt").write_text("mine")
    (folder / "link.txt").symlink_to(folder.parent / "secret.toml")
    for path, content in (
        (folder / "inside.txt", "mine"),
        (folder.parent / "secret.toml", "refused: it is not in the robot's folder"),
        (folder / "link.txt", "refused: it is not in the robot's folder"),
        (folder / ".." / "secret.toml", "refused: it is not in the robot's folder"),
        (Path("/etc/passwd"), "refused: it is not in the robot's folder"),
    ):
        assert Worker().run(f"{HERE}:read_confined", (str(folder), str(path)), quiet) == content


def test_files_that_a_robot_names_are_read_in_its_folder_alone(folder: Path) -> None:
    model = (folder.parent / "part.sdf").write_text(
        '<sdf version="1.7"><model name="part"><link name="a"/></model></sdf>'
    )
    assert model
    (folder / "robot.sdf").write_text(
        '<sdf version="1.7"><model name="r"><include><uri>../part.sdf</uri></include></model></sdf>'
    )
    with pytest.raises(DalembertError, match=r"folder|no such"):
        Worker().run("dalembert.views.studio.page_tasks:read_robot", (str(folder / "robot.sdf"), str(folder)), quiet)
    robot = Worker().run(
        "dalembert.views.studio.page_tasks:read_robot", (str(folder / "mine.toml"), str(folder)), quiet
    )
    assert robot == da.load(folder / "mine.toml").robot


def test_meshes_outside_the_folder_are_not_drawn(folder: Path) -> None:
    facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    for place in (folder, folder.parent):
        (place / "part.stl").write_text(f"solid part\n{facet}endsolid part\n")
    for name, count in (("part.stl", 1), ("../part.stl", 0), (str(folder.parent / "part.stl"), 0)):
        (folder / "robot.urdf").write_text(
            f'<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
            f'<visual><geometry><mesh filename="{name}"/></geometry></visual></link><joint name="j" type="continuous">'
            '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>'
        )
        meshes, notes = Worker().run(f"{HERE}:meshes_confined", (str(folder), str(folder / "robot.urdf")), quiet)
        assert meshes == count and bool(notes) is (count == 0), notes


def test_a_confined_process_keeps_its_kernels(folder: Path) -> None:
    assert Worker().run(f"{HERE}:kept_confined", (str(folder),), quiet) == []


@pytest.mark.parametrize(
    "text",
    [
        '<mujoco><include file="../part.xml"/></mujoco>',
        '<mujoco><asset><mesh file="/etc/passwd"/></asset></mujoco>',
        '<mujoco><compiler meshdir="sub"/><asset><mesh file="../../part.stl"/></asset></mujoco>',
        '<mujoco><compiler meshdir="../sub"/><asset><mesh file="part.stl"/></asset></mujoco>',
        '<mujoco><include file="deeper.xml"/></mujoco>',
        '<mujoco><asset><model name="m" file="deeper.xml"/></asset></mujoco>',
        '<mujoco><asset><model name="m" file="sub/model.xml"/></asset></mujoco>',
    ],
)
def test_mjcf_files_name_files_in_their_folder_alone(text: str, folder: Path) -> None:
    (folder / "robot.xml").write_text(text)
    (folder / "deeper.xml").write_text('<mujoco><asset><hfield file="../part.png"/></asset></mujoco>')
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "sub" / "model.xml").write_text(
        '<mujoco><compiler meshdir="../.."/><asset><mesh file="part.stl"/></asset></mujoco>'
    )
    with pytest.raises(DalembertError, match="is not in the robot's folder; only files below it are read"):
        check_mjcf_paths(folder / "robot.xml", folder)
    (folder / "robot.xml").write_text(
        '<mujoco><compiler meshdir="sub"/><asset><mesh file="part.stl"/></asset><include file="good.xml"/></mujoco>'
    )
    (folder / "good.xml").write_text("<mujoco/>")
    check_mjcf_paths(folder / "robot.xml", folder)
