"""The helper process for foreign readers: kept, limited, and its end is one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from dalembert.base.files.reader_process import ask
from dalembert.errors import DalembertError, RobotError

TESTS = Path(__file__).parents[2]


def asked(function: str, limit: float = 30.0, **arguments: object):
    where = {"where": "arm.xml", "reader": "the reader"}
    return ask(f"foreign_functions:{function}", arguments, seconds=limit, error=RobotError, **where)


def pid() -> int:
    return asked("about")[0]["pid"]


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def ends(process: int, within: float = 10.0) -> bool:
    deadline = time.monotonic() + within
    while is_running(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(process)


def run(code: str, **options: object) -> subprocess.Popen[str]:
    """A program of its own that can ask."""
    program = [sys.executable, "-c", textwrap.dedent(code)]
    paths = os.pathsep.join([str(TESTS), str(TESTS / "base" / "files"), str(TESTS.parent / "src")])
    return subprocess.Popen(
        program, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths}, **options
    )


def test_one_helper_is_kept_and_is_another_process():
    first = asked("about")[0]
    assert first["pid"] == pid() != os.getpid()
    assert not first["front"]  # the helper imports no more of dalembert than it needs


def test_plain_data_and_arrays_come_back_to_the_last_bit():
    plain = {"a": [1, -0.0, 5e-324, 1.7976931348623157e308, 0.1], "b": None, "c": "naïve \ud800 \0", "d": True}
    assert repr(asked("echo", plain=plain)[0]) == repr(plain)
    odd = asked("echo", plain=[float("inf"), float("nan")])[0]
    assert odd[0] == float("inf") and odd[1] != odd[1]
    arrays = asked("arrays")[1]
    assert arrays["scalar"].shape == () and arrays["scalar"] == np.pi
    np.testing.assert_array_equal(arrays["big"], [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(arrays["turned"], np.eye(3)[:, ::2])
    assert arrays["none"].shape == (0, 4) and arrays["flags"].tolist() == [True, False]
    arrays["turned"][:] = 0.0  # they are the caller's own


def test_what_a_reader_prints_or_asks_for_is_no_message():
    assert asked("chatter") == ("", {})


@pytest.mark.parametrize(
    ("function", "arguments", "sentence"),
    [
        ("crash", {"by": "SIGSEGV"}, r"arm.xml: the reader crashed on it \(SIGSEGV\); the file is damaged, or needs more than 4"),
        ("crash", {"by": "SIGABRT"}, r"arm.xml: the reader crashed on it \(SIGABRT\)"),
        ("leave", {}, "arm.xml: the reader ended with status 3"),
        ("swallow", {"gigabytes": 5}, "arm.xml: the reader needs more than 4 GiB of memory for it"),
        ("sleep", {"seconds": 60, "limit": 0.5}, r"arm.xml: the reader did not finish within 0\.5 s"),
        ("busy", {"limit": 0.5}, r"arm.xml: the reader did not finish within 0\.5 s"),
        ("refuse", {}, r"^arm.xml: it has no wheels$"),
        ("stumble", {}, r"arm.xml: the reader failed on it \(KeyError: 'wheels'\)"),
        ("objects", {}, "arm.xml: the reader "),
        ("absent", {}, r"failed on it \(AttributeError: module 'foreign_functions' has no attribute 'absent'\)"),
        ("forge", {"text": "not JSON"}, "arm.xml: the reader gave an invalid answer"),
        ("forge", {"text": "[" * 100_000}, "arm.xml: the reader gave an invalid answer"),
        ("forge", {"text": '[{}, [["x", "O", [1]]]]'}, "invalid answer"),  # an object would be a pickle
        ("forge", {"text": '[{}, [["x", "f8", [1000000000000]]]]'}, "invalid answer"),
        ("forge", {"text": '[{}, [["x", "f8", [-1]]]]'}, "invalid answer"),
        ("forge", {"text": '[{"kind": "answer"}, []]'}, "invalid answer"),
    ],
)  # fmt: skip
def test_its_end_is_one_sentence_and_the_next_file_is_read(function, arguments, sentence):
    with pytest.raises(RobotError, match=sentence) as caught:
        asked(function, **arguments)
    assert str(caught.value).isprintable()
    assert asked("echo", plain="fine")[0] == "fine"


def test_memory_that_a_reader_keeps_is_given_back_before_the_next_file():
    first = asked("keep", gigabytes=1.5)[0]
    assert asked("keep", gigabytes=3.0)[0] != first


def test_threads_wait_for_each_other():
    answers: list[object] = [None] * 8

    def work(k: int) -> None:
        answers[k] = [asked("echo", plain=[k, j])[0] for j in range(20)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[[k, j] for j in range(20)] for k in range(8)]


def test_after_ctrl_c_no_answer_is_taken_for_another():
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        asked("sleep", seconds=20.0)
    assert asked("echo", plain="mine")[0] == "mine"


def test_relative_paths_mean_what_they_mean_here(tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    import dalembert as da

    pid()  # the helper started elsewhere
    (tmp_path / "arm.xml").write_text(
        '<mujoco><worldbody><body><joint axis="0 0 1"/><geom size="1"/></body></worldbody></mujoco>'
    )
    monkeypatch.chdir(tmp_path)
    assert da.load("arm.xml").n == 1


ASK = "from test_foreign import asked, pid; import os, signal, threading, time, sys\n"


def test_the_helper_ends_with_its_parent():
    with run(ASK + "print(pid(), flush=True)") as program:
        helper = int(program.stdout.readline())
    assert program.returncode == 0 and ends(helper)


@pytest.mark.parametrize("doing", ["nothing", "asking"])
def test_the_helper_ends_when_its_parent_is_killed(doing):
    ask = "asked('busy', limit=1.0)" if doing == "asking" else "time.sleep(60)"
    with run(ASK + f"print(pid(), flush=True)\n{ask}") as program:
        helper = int(program.stdout.readline())
        time.sleep(0.3 if doing == "asking" else 0.0)
        program.kill()
    assert ends(helper)


def test_the_child_of_a_fork_starts_its_own():
    code = """
    mine = pid()
    held = threading.Thread(target=asked, args=("sleep",), kwargs={"seconds": 1.0})
    held.start()  # its lock is held while we fork
    time.sleep(0.2)
    if not os.fork():
        assert pid() != mine
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
    held.join()
    assert pid() == mine
    if not os.fork():
        time.sleep(60)  # a child that lives on keeps no pipe of ours
    print(mine, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    """
    with run(ASK + textwrap.dedent(code), start_new_session=True) as program:
        helper = int(program.stdout.readline())
        program.wait()
        try:
            assert ends(helper)
        finally:
            os.killpg(program.pid, signal.SIGKILL)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools_and_programs_without_a_guard(tmp_path, method):
    """A worker of a pool may not have children of multiprocessing's; a script's top level runs once."""
    guard = "if __name__ == '__main__':" if method == "spawn" else "if True:"
    program = f"""{ASK}
import multiprocessing
print("top", flush=True)
{guard}
    mine = pid()
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        print([answer["pid"] != mine for answer, _ in pool.map(asked, ["about"] * 4)], flush=True)
"""
    (tmp_path / "program.py").write_text(program)
    paths = os.pathsep.join([str(TESTS), str(TESTS / "base" / "files"), str(TESTS.parent / "src")])
    done = subprocess.run(
        [sys.executable, tmp_path / "program.py"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    tops = done.stdout.count("top")  # once, and once in each worker that was given work: one of two may do it all
    assert (tops == 1 if method == "fork" else tops in (2, 3)) and str([True] * 4) in done.stdout


def test_without_an_interpreter_nothing_is_started(monkeypatch):
    from dalembert.base.files import reader_process as foreign

    monkeypatch.setattr(foreign, "_helper", None)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(DalembertError, match=r"arm.xml: the reader runs in a process of its own, which needs a Python"):
        asked("echo")
