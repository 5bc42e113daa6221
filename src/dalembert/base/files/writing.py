"""Files that are written as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from dalembert.errors import DalembertError

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed anyway
    fcntl = None

# what a user can do where the system refuses to write
REMEDIES = {
    getattr(errno, "EDQUOT", errno.ENOSPC): "remove files of yours there, or write to another disk",
    errno.ENOSPC: "free some space there, or write to another disk",
    errno.EFBIG: "write to another disk, or raise the limit on the size of files with 'ulimit -f'",
    errno.EROFS: "write to another folder",
}
HTML = (".html", ".htm")  # suffixes of pages
YOUNG = 60.0  # seconds for which a temporary file is left alone, whoever writes it


@contextmanager
def whole_file(path: str | os.PathLike[str], *, overwrite: bool, **how: Any) -> Iterator[TextIO]:
    """A text file (UTF-8) for writing, with the guarantees and options of :func:`whole_binary_file`."""
    with (
        whole_binary_file(path, overwrite=overwrite, **how) as file,
        io.TextIOWrapper(file, encoding="utf-8", newline="\n") as text,
    ):
        yield text


@contextmanager
def whole_binary_file(
    path: str | os.PathLike[str],
    *,
    overwrite: bool,
    error: type[DalembertError] = DalembertError,
    kinds: Sequence[str] = (),
) -> Iterator[BinaryIO]:
    """A file for writing: created next to its target as ``.NAME.….part``, and moved there only on success.

    On any error, including Ctrl-C, the previous file at ``path`` remains and nothing else is
    left behind; leftovers of a killed process are removed when the same file is written again. Symbolic links are
    followed; devices and pipes are written to directly. A full disk gives an error message that names the file.

    kinds  suffixes that the name may have, as for :func:`check_writable`
    """
    target = _target(path, error)
    check_writable(path, overwrite=overwrite, error=error, kinds=kinds)
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as device:
                yield device
            return
        with _beside(target) as (file, beside):
            yield file
            file.close()
            if target.exists():
                shutil.copymode(target, beside)
            else:
                beside.chmod(0o666 & ~_umask())  # mkstemp creates private files; this one gets the usual permissions
            check_writable(path, overwrite=overwrite, error=error)  # it may have been created meanwhile
            os.replace(beside, target)
    except BrokenPipeError:
        raise
    except OSError as problem:
        if problem.filename is not None and os.path.dirname(str(problem.filename)) != str(target.parent):
            raise  # about another file, which was read or written meanwhile
        raise error(f"{path}: the file cannot be written ({problem.strerror or problem}){remedy(problem)}") from None


@contextmanager
def _beside(target: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file in the target's folder, locked while it is written and removed afterwards."""
    start = f".{target.name[:50]}."
    remove_abandoned(target.parent, start, ".part")
    import tempfile

    handle, name = tempfile.mkstemp(dir=target.parent, prefix=start, suffix=".part")
    file = os.fdopen(handle, "wb")
    try:
        locked(handle)
        yield file, Path(name)
    finally:
        with contextlib.suppress(OSError):  # the failure to write has already been reported
            file.close()
        Path(name).unlink(missing_ok=True)


def remove_abandoned(folder: Path, start: str, end: str) -> None:
    """Remove what dead processes left in a folder: this user's unlocked files and folders with such names."""
    for name in os.listdir(folder) if os.access(folder, os.R_OK) else ():
        if not (name.startswith(start) and name.endswith(end)):
            continue
        with contextlib.suppress(OSError):
            is_folder = (folder / name).is_dir()
            access = os.O_RDONLY if is_folder else os.O_RDWR
            handle = os.open(folder / name, access | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
            try:
                about = os.fstat(handle)
                ours = not hasattr(os, "getuid") or about.st_uid == os.getuid()
                if ours and time.time() - about.st_mtime > YOUNG and locked(handle):
                    (shutil.rmtree if is_folder else os.unlink)(folder / name)
            finally:
                os.close(handle)


def locked(handle: int) -> bool:
    """Whether the file could be locked by this process, until it is closed."""
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # locked by another process, or the file system does not support locks
            return False
    return True


def check_writable(
    path: str | os.PathLike[str],
    *,
    overwrite: bool,
    error: type[DalembertError] = DalembertError,
    kinds: Sequence[str] = (),
) -> None:
    """Raise an error, before any work is done, if ``path`` cannot be written.

    kinds  suffixes of the formats in which the file can be written; any other suffix would promise another content.
           A name without a suffix promises none
    """
    target = _target(path, error)
    suffix = Path(path).suffix
    if kinds and suffix and suffix.lower() not in kinds:
        formats = " or ".join(filter(None, [", ".join(kinds[:-1]), kinds[-1]]))
        printed = ", which a browser prints to PDF" if suffix.lower() == ".pdf" and ".html" in kinds else ""
        raise error(
            f"{path}: this file cannot be written as '{suffix}', only as {formats}: name it "
            f"'{Path(path).with_suffix(kinds[0]).name}'{printed}"
        )
    if target.is_dir():
        raise error(f"{path}: this is a folder, not a file to write")
    if not target.parent.is_dir():
        raise error(f"{path}: the folder '{Path(path).parent}' does not exist")
    if target.is_file() and not overwrite:
        raise error(f"{path}: the file already exists and was not changed; --force (overwrite=True) overwrites it")
    if not os.access(target.parent if not target.exists() or target.is_file() else target, os.W_OK):
        raise error(f"{path}: the file cannot be written (Permission denied)")


def _target(path: str | os.PathLike[str], error: type[DalembertError]) -> Path:
    """The file that a path refers to, after following symbolic links."""
    try:
        return Path(os.path.realpath(path))
    except TypeError:
        raise error(f"the path is a {type(path).__name__}; give a file name") from None
    except ValueError as problem:  # an unpaired surrogate, a zero byte
        raise error(f"{os.fspath(path)!r}: this is not a valid file name ({problem})") from None


def remedy(problem: OSError) -> str:
    """What a user can do about a file that cannot be written, as the end of a sentence; empty where nothing is known."""
    words = REMEDIES.get(problem.errno or 0)
    return f"; {words}" if words else ""


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
