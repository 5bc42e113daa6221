"""The cache on disk: never trusted blindly, never in the way."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
import warnings
from functools import cache as once
from pathlib import Path

import pytest

from dalembert import DalembertError
from dalembert.compiler.kernel import cache
from imports import MODULES, ROOT, imports, reached, room_of

PROGRAM = """
import sys, numpy as np, dalembert as da
from dalembert.compiler.kernel import compile
made = []
real = compile.object_code
compile.object_code = lambda *modules: made.append(1) or real(*modules)
x = np.linspace(-1, 1, 12).reshape(6, 2)
tau = da.load("planar-2r").inverse_dynamics(x, x, x)
print(len(made), repr(float(tau.sum())))
"""


@pytest.fixture()
def home(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "DALEMBERT_CACHE": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }


# a process that has imported the package and made nothing: each of its children runs one program, as a process of its
# own does, without the time that Python takes to start; SIGALRM ends one that hangs
STARTED = """
import json, os, signal, sys, traceback
import numpy, llvmlite.binding
import dalembert.arm.arm, dalembert.compiler.emit.llvm, dalembert.compiler.graph.sums, dalembert.compiler.kernel.cache, dalembert.compiler.kernel.gufunc
import dalembert.compiler.quantities.joints, dalembert.robot.readers.load, dalembert.robot.readers.toml_reader
assert "dalembert.compiler.kernel.make" not in sys.modules  # programs change what it imports
for line in sys.stdin:
    env, program = json.loads(line)
    pipes = [os.pipe(), os.pipe()]
    child = os.fork()
    if child == 0:
        for number, (_, end) in enumerate(pipes, 1):
            os.dup2(end, number)
        signal.alarm(60)
        os.environ.clear()
        os.environ.update(env)
        status = 1
        try:
            exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    for _, end in pipes:
        os.close(end)
    said = []
    for end, _ in pipes:
        with open(end) as file:
            said.append(file.read())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([status, *said]), flush=True)
"""


@once
def starter() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", STARTED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module", autouse=True)
def _starter_ends() -> object:
    yield
    if starter.cache_info().currsize:
        starter().communicate()  # the end of its input is its end
        starter.cache_clear()


def process(env: dict[str, str], program: str) -> subprocess.CompletedProcess[str]:
    """A new process that runs the program."""
    pipes = starter()
    assert pipes.stdin is not None and pipes.stdout is not None
    pipes.stdin.write(json.dumps([env, program]) + "\n")
    pipes.stdin.flush()
    status, out, err = json.loads(pipes.stdout.readline())
    return subprocess.CompletedProcess(program, status, out, err)


def run(env: dict[str, str]) -> tuple[int, str]:
    """(how many kernels had to be compiled, the result)"""
    done = process(env, PROGRAM)
    assert done.returncode == 0, done.stderr
    made, result = done.stdout.split()
    return int(made), result


def words(env: dict[str, str], program: str = PROGRAM) -> tuple[int, list[str]]:
    """(how many kernels had to be compiled, what was said); a process that hangs is a failure."""
    done = process(env, program)
    assert done.returncode == 0, done.stderr
    said = [line.partition("CacheWarning: ")[2] for line in done.stderr.splitlines() if "CacheWarning: " in line]
    return int(done.stdout.split()[0]), said


def folder(env: dict[str, str]) -> Path:
    return Path(env["DALEMBERT_CACHE"]) / "dalembert"


def objects(env: dict[str, str]) -> list[Path]:
    return sorted(folder(env).glob("*.o"))


def test_second_process_does_not_compile(home: dict[str, str]) -> None:
    first = run(home)
    assert first[0] == 1
    assert run(home) == (0, first[1])
    alone = subprocess.run([sys.executable, "-c", PROGRAM], env=home, capture_output=True, text=True, check=True)
    assert alone.stdout.split() == ["0", first[1]]  # one that Python starts, too


TRACING = (
    *("base.algebra", "robot.terms", "robot.model", "mechanics.equations", "mechanics.coordinates", "mechanics.motion"),
    *("compiler.graph", "compiler.emit", "compiler.kernel", "compiler.quantities"),
)


def kernel_sources() -> list[Path]:
    """The files that can change a kernel: all that the modules reach that make kernels, trace, emit or compile."""
    graph = {module: imports(module) for module in MODULES}
    makers = {module for module in graph if "compiler.kernel.make" in graph[module]}
    assert {room_of(module) for module in makers} <= {"compiler.quantities", "compiler.kernel"}
    start = makers | {module for module in graph if room_of(module) in TRACING}
    templates = sorted((ROOT / "compiler" / "emit").glob("*.ll"))
    return [path.relative_to(ROOT) for path in (*(MODULES[x] for x in sorted(reached(start, graph))), *templates)]


def test_the_key_changes_with_every_source_that_a_kernel_is_made_from(tmp_path: Path) -> None:
    package = tmp_path / "package"
    shutil.copytree(ROOT, package, ignore=shutil.ignore_patterns("__pycache__", "*.toml"))

    def digest() -> bytes:
        cache.source_digest.cache_clear()
        return cache.source_digest(package)

    at_first = digest()
    assert at_first == cache.source_digest(ROOT)
    sources = kernel_sources()
    assert len(sources) > 70 and Path("mechanics/equations/newton_euler.py") in sources and Path("errors.py") in sources
    for source in sources:
        text = (package / source).read_bytes()
        (package / source).write_bytes(text + b"#")
        assert digest() != at_first, f"{source} can change a kernel and is not in the key"
        (package / source).write_bytes(text)
    assert digest() == at_first
    for new in (
        Path("another.py"),
        Path("room/another.py"),
        Path("compiler/emit/deep/another.py"),
    ):  # before anyone lists them
        (package / new).parent.mkdir(parents=True, exist_ok=True)
        (package / new).touch()
        assert digest() != at_first, new
        (package / new).unlink()
    (package / "compiler/graph/tape.py").rename(package / "compiler/emit/tape.py")
    assert digest() != at_first
    (package / "compiler/emit/tape.py").rename(package / "compiler/graph/tape.py")
    for room in cache.USERS:  # kernels outlive a change of what only uses them
        (package / room / "__init__.py").write_text("changed = True")
    assert digest() == at_first


@pytest.fixture()
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    cache._say.cache_clear()
    return tmp_path / "cache" / "dalembert"


def key(k: int) -> str:
    return f"{k:064x}"


@pytest.mark.parametrize("mode", [0o755, 0o1777, 0o2770])
def test_a_folder_that_is_there_keeps_its_mode(own: Path, mode: int) -> None:
    """Ours is made inside it, private."""
    own.parent.mkdir()
    own.parent.chmod(mode)
    cache.store(key(1), b"code")
    assert stat.S_IMODE(own.parent.stat().st_mode) == mode
    assert list(own.parent.iterdir()) == [own]
    assert stat.S_IMODE(own.stat().st_mode) & 0o777 == 0o700
    assert stat.S_IMODE((own / f"{key(1)}.o").stat().st_mode) == 0o600
    own.chmod(0o755)
    cache.store(key(2), b"code")
    assert stat.S_IMODE(own.stat().st_mode) == 0o755
    assert cache.load(key(2)) == b"code"


def test_default_folder_follows_the_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DALEMBERT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "dalembert"


NOBODY = """
import pwd
def unknown(uid):
    raise KeyError(uid)
pwd.getpwuid = unknown
"""


def test_a_user_without_a_home_folder(home: dict[str, str]) -> None:
    """HOME is not set and the user has no passwd entry: what DALEMBERT_CACHE names is enough."""
    bare = {name: value for name, value in home.items() if name not in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    assert words(bare, NOBODY + PROGRAM) == (1, [])
    assert words(bare, NOBODY + PROGRAM) == (0, [])
    del bare["DALEMBERT_CACHE"]
    made, (said,) = words(bare, NOBODY + PROGRAM)
    assert made == 1
    assert "HOME is not set" in said and "DALEMBERT_CACHE" in said


def test_a_pipe_in_place_of_a_file_is_replaced(home: dict[str, str]) -> None:
    _, result = run(home)
    (path,) = objects(home)
    path.unlink()
    os.mkfifo(path)
    assert words(home)[0] == 1
    assert run(home) == (0, result)


def test_a_folder_in_place_of_a_file_is_done_without(home: dict[str, str]) -> None:
    _, result = run(home)
    (path,) = objects(home)
    path.unlink()
    path.mkdir()
    made, (said,) = words(home)
    assert made == 1
    assert str(path) in said and "Is a directory" in said
    assert run(home) == (1, result)


SECRETS = {
    "empty": lambda path: path.write_bytes(b""),
    "short": lambda path: path.write_bytes(b"12345"),
    "long": lambda path: path.write_bytes(bytes(33)),
    "readable by others": lambda path: path.chmod(0o644),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a link": lambda path: path.symlink_to(path.rename(path.with_name("other"))),
}


@pytest.mark.parametrize("kind", list(SECRETS))
def test_a_secret_that_cannot_be_one_is_replaced_with_a_word(own: Path, kind: str) -> None:
    cache.store(key(1), b"code")
    path = own.parents[1] / "state" / "dalembert" / "cache-secret"
    SECRETS[kind](path)
    with pytest.warns(cache.CacheWarning, match="cache-secret was not a secret of 32 bytes .* replaced"):
        assert cache.load(key(1)) is None
    assert path.stat().st_size == 32 and stat.S_IMODE(path.lstat().st_mode) == 0o600
    cache.store(key(1), b"code")
    assert cache.load(key(1)) == b"code"


def test_a_secret_that_another_process_makes_meanwhile_counts(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replacing it would make the kernels of that process foreign; nothing is wrong, so nothing is said."""
    path, theirs, new_file = own.parents[1] / "state" / "dalembert" / "cache-secret", bytes(range(32)), cache._new_file

    def late(folder: Path, content: bytes) -> object:
        path.parent.mkdir(parents=True)
        path.write_bytes(theirs)
        path.chmod(0o600)
        return new_file(folder, content)

    monkeypatch.setattr(cache, "_new_file", late)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache._secret() == theirs
    assert path.read_bytes() == theirs


def test_a_folder_in_place_of_the_secret_is_told(own: Path) -> None:
    path = own.parents[1] / "state" / "dalembert" / "cache-secret"
    path.mkdir(parents=True)
    with pytest.warns(cache.CacheWarning, match=r"cache-secret cannot be written \(Is a directory\)"):
        cache.store(key(1), b"code")
    assert cache.load(key(1)) is None


def spoiled(content: bytes) -> dict[str, bytes]:
    other = bytearray(content)
    other[-200] ^= 1
    head = bytearray(content)
    head[len(cache.MAGIC) + 3] ^= 1
    return {
        "empty": b"",
        "truncated": content[: len(content) // 2],
        "one byte short": content[:-1],
        "one bit flipped": bytes(other),
        "signature flipped": bytes(head),
        "not ours": b"\x7fELF" + content,
        "no signature": content[len(cache.MAGIC) + 32 :],
        "longer": content + b"\0",
    }


@pytest.mark.parametrize("kind", list(spoiled(bytes(500))))
def test_spoiled_files_are_compiled_again(home: dict[str, str], kind: str) -> None:
    _, result = run(home)
    (path,) = objects(home)
    path.write_bytes(spoiled(path.read_bytes())[kind])
    assert run(home) == (1, result)
    assert run(home) == (0, result)  # and repaired on disk


def test_a_file_of_another_key_is_foreign(home: dict[str, str]) -> None:
    _, result = run(home)
    (path,) = objects(home)
    process(home, PROGRAM.replace("planar-2r", "cartesian-2")).check_returncode()
    (foreign,) = (p for p in objects(home) if p != path)
    path.write_bytes(foreign.read_bytes())
    assert run(home) == (1, result)


def test_a_file_of_another_user_is_foreign(home: dict[str, str], tmp_path: Path) -> None:
    """Signed with another secret: right in every byte, but not by us."""
    _, result = run(home)
    assert run({**home, "XDG_STATE_HOME": str(tmp_path / "somebody")}) == (1, result)


def test_links_and_writable_files_are_not_trusted(home: dict[str, str], tmp_path: Path) -> None:
    _, result = run(home)
    (path,) = objects(home)
    path.chmod(0o666)
    assert run(home) == (1, result)
    real = tmp_path / "elsewhere.o"
    path.rename(real)
    path.symlink_to(real)
    assert run(home)[0] == 1
    assert not path.is_symlink()


def test_a_cache_that_cannot_be_written_is_done_without(home: dict[str, str], tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    for variable in ("DALEMBERT_CACHE", "XDG_STATE_HOME"):
        made, (said,) = words({**home, variable: str(blocked / "sub")})
        assert made == 1
        assert str(blocked) in said and "Not a directory" in said


def test_ten_processes_at_once(home: dict[str, str]) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(10)
    ]
    results = [p.communicate() for p in running]
    assert all(p.returncode == 0 for p in running), [r[1] for r in results]
    assert len({r[0].split()[1] for r in results}) == 1
    assert len(objects(home)) == 1
    assert not list(folder(home).glob(".new-*"))
    assert run(home)[0] == 0


def test_processes_racing_with_a_vandal(home: dict[str, str]) -> None:
    """While files are torn to pieces again and again, every process still gets the right torques."""
    _, result = run(home)
    (path,) = objects(home)
    whole = path.read_bytes()
    running = []
    for k in range(8):
        path.write_bytes(whole[: 100 + 500 * k])
        running.append(subprocess.Popen([sys.executable, "-c", PROGRAM], env=home, stdout=subprocess.PIPE, text=True))
    for p in running:
        out, _ = p.communicate()
        assert p.returncode == 0
        assert out.split()[1] == result


def test_a_full_disk_names_the_folder(home: dict[str, str]) -> None:
    """A real failure of the system to write: files may have 1000 bytes and no more."""
    limit = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
    made, (said,) = words(home, limit + PROGRAM)
    assert made == 1
    assert f"{folder(home)} cannot be written (File too large)" in said
    assert not list(folder(home).iterdir())


def test_size_is_bounded_and_the_least_used_goes_first(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALEMBERT_CACHE_SIZE", "0.1")
    code = bytes(5000)
    for k in range(100):
        cache.store(key(k), code)
        os.utime(own / f"{key(k)}.o", (1e9 + k, 1e9 + k))
        assert cache.load(key(0)) == code  # used all the time
        assert sum(entry.size for entry in cache.entries()) <= 100_000
    kept = {int(entry.path.stem, 16) for entry in cache.entries()}
    assert kept == {0, *range(101 - len(kept), 100)}
    assert 10 < len(kept) < 20


def test_a_large_cache_is_looked_through_now_and_then_only(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    monkeypatch.setattr(cache, "tend", lambda: looks.append(1))
    for k in range(300):
        cache.store(key(k), bytes(5000))
    assert len(looks) < 10  # 0.1 on average


def test_size_can_be_nothing_or_nonsense(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALEMBERT_CACHE_SIZE", "0")
    cache.store(key(1), b"code")
    assert not own.exists()
    for text in ("abc", "-1", "nan", "inf"):
        monkeypatch.setenv("DALEMBERT_CACHE_SIZE", text)
        with pytest.raises(DalembertError, match=f'DALEMBERT_CACHE_SIZE is "{text}"; it must be the size in megabytes'):
            cache.store(key(1), b"code")


def test_what_killed_processes_left_is_removed(own: Path) -> None:
    cache.store(key(1), b"code")
    old, young, other = own / ".new-0123abcd", own / ".new-4567abcd", own / "notes.txt"
    beside_secret = own.parents[1] / "state" / "dalembert" / ".new-tmp_x1"
    for path in (old, young, other, beside_secret):
        path.write_bytes(b"half")
    for path in (old, other, beside_secret):
        os.utime(path, (time.time() - 3600,) * 2)
    cache.tend()
    assert not old.exists() and not beside_secret.exists()
    assert young.exists() and other.exists()
    assert cache.load(key(1)) == b"code"


def test_the_first_kernel_of_a_process_removes_what_killed_ones_left(home: dict[str, str]) -> None:
    folder(home).mkdir(parents=True)
    old, young = folder(home) / ".new-0123abcd", folder(home) / ".new-4567abcd"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 3600,) * 2)
    assert run(home)[0] == 1
    assert not old.exists() and young.exists()


def command(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "dalembert", "cache", *words], env=env, capture_output=True, text=True)


def test_command_shows_verifies_and_clears(home: dict[str, str]) -> None:
    run(home)
    process(home, PROGRAM.replace("planar-2r", "cartesian-2")).check_returncode()
    (folder(home) / "notes.txt").write_text("not ours")
    shown = command(home).stdout
    assert str(folder(home)) in shown and "at most 512 MB" in shown
    assert any(line.split() == ["kernels", "2"] for line in shown.splitlines())
    assert command(home, "--verify").stdout.strip() == "2 kernels are valid, 0 were invalid."
    bad = objects(home)[1]
    bad.write_bytes(bad.read_bytes()[:-1])
    checked = command(home, "--verify")
    assert checked.stdout.strip() == "1 kernels are valid, 1 was invalid."
    assert checked.stderr.count("\n") == 1 and str(bad) in checked.stderr
    assert len(objects(home)) == 1 and bad not in objects(home)
    cleared = command(home, "--clear")
    assert cleared.stdout.startswith("1 kernels removed")
    assert [p.name for p in folder(home).iterdir()] == ["notes.txt"]
    assert any(line.split() == ["kernels", "0"] for line in command(home).stdout.splitlines())


def test_command_refuses_in_one_sentence(home: dict[str, str]) -> None:
    both = command(home, "--verify", "--clear")
    assert both.returncode == 2 and both.stderr.count("\n") == 1
    wrong = command({**home, "DALEMBERT_CACHE_SIZE": "much"})
    assert wrong.returncode == 2 and wrong.stderr.startswith('error: DALEMBERT_CACHE_SIZE is "much"')


def test_command_says_a_warning_without_source_lines(home: dict[str, str]) -> None:
    Path(home["DALEMBERT_CACHE"]).write_text("a file, not a folder")
    done = subprocess.run(
        [sys.executable, "-m", "dalembert", "simulate", "pendulum", "--duration", "0.01"],
        env=home, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("warning: compiled kernels are not cached on disk")
    assert done.stderr.count("warning:") == 1 and "CacheWarning" not in done.stderr


def test_a_kernel_from_the_cache_needs_no_compiler_of_ours(home: dict[str, str]) -> None:
    """Nor a shell: modules that only compiling needs take as long to import as the kernel takes to load."""
    code = (
        "import sys, dalembert as da; da.load('planar-2r').inverse_dynamics([0, 0], [0, 0], [0, 0]);"
        "heavy = 'dalembert.compiler.emit.llvm dalembert.compiler.graph.tape subprocess xml.etree difflib'.split();"
        "print(sorted(sys.modules.keys() & set(heavy)))"
    )
    for listed in (None, "[]"):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=home)
        assert listed is None or run.stdout.strip() == listed
