"""The judge of one input: only our own errors, in one sentence; no more than a second; memory within its bound."""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

from dalembert.base.files import reader_process as foreign
from dalembert.errors import DalembertError
from fuzz.targets import Target

SECONDS = 1.0  # of processor time per input, the helper process included
SLOWED = 2.0  # times as long where atheris counts the branches that are taken
HUNG = 20.0  # s of processor time after which an input is given up
MEGABYTES = 500  # that the process may grow by, at its peak or for good
ADDRESSES = 4 << 30  # bytes of address space that it may take beyond what it has
LONGEST_SENTENCE = 5000  # characters
_MEMORY = re.compile(rb"VmHWM:\s*(\d+) kB\s*VmRSS:\s*(\d+) kB")
TRIES = 3  # of an input that was slow, since the machine may be busy


class Finding(Exception):
    """What is wrong with an input's treatment."""


class _Hung(BaseException):
    """Not an Exception, so that no reader takes it for a damaged file."""


class Judge:
    """Inputs of one target, one after the other; the one at work lies in ``path``, whatever happens."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target = target
        self.path = folder / f"input{target.suffix}"
        self.inputs, self.slowest, self.peak, self.held = 0, 0.0, 0.0, 0.0
        signal.signal(signal.SIGPROF, _hung)
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        self.seeds = list(target.seeds(folder))
        for seed in self.seeds:  # whatever is imported late is imported now
            self._answer(seed)

    def limit_memory(self) -> None:
        """From here on this process can take no more than ``ADDRESSES``: an error shows where."""
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        _, hardest = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ADDRESSES, hardest))

    def __call__(self, data: bytes) -> str:
        """The answer to an input: its sentence, or nothing where it was read; a :class:`Finding` where that is wrong."""
        self.inputs += 1
        (before, _), start = _megabytes(), _processor_time()
        sentence = self._answer(data)
        took = _processor_time() - start
        after, peak = _megabytes()
        allowed = SECONDS * (SLOWED if "atheris" in sys.modules else 1.0)
        for _ in range(TRIES - 1 if took > allowed else 0):
            start = _processor_time()
            self._answer(data)
            took = min(took, _processor_time() - start)
        self.slowest = max(self.slowest, took)
        if took > allowed:
            raise Finding(f"the input takes {took:.1f} s; at most {allowed:g} s are allowed")
        self.held += after - before  # what the makers of inputs take between is theirs
        self.peak = max(self.peak, peak - before)
        if max(self.peak, self.held) > MEGABYTES:
            raise Finding(
                f"the input takes {peak - before:.0f} MB, and all inputs up to it hold {self.held:.0f} MB; "
                f"at most {MEGABYTES} MB are allowed"
            )
        return sentence

    def _answer(self, data: bytes) -> str:
        self.path.unlink(missing_ok=True)
        self.path.write_bytes(data)
        signal.setitimer(signal.ITIMER_PROF, HUNG)
        try:
            self.target.entry(self.path)
        except DalembertError as error:
            sentence = str(error)
            if not sentence or sentence.splitlines() != [sentence] or len(sentence) > LONGEST_SENTENCE:
                raise Finding(f"the error is no sentence of one line: {sentence[:300]!r}") from None
            return sentence
        except _Hung as error:
            raise Finding(f"the input takes more than {HUNG:g} s, at {_place(error)}") from None
        except Exception as error:  # noqa: BLE001  whatever else comes out is what is sought
            raise Finding(f"{type(error).__name__}: {str(error)[:300]!r}, at {_place(error)}") from None
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return ""


def _megabytes() -> tuple[float, float]:
    """Memory of this process, now and at its peak since the last call."""
    found = _MEMORY.search(Path("/proc/self/status").read_bytes())
    Path("/proc/self/clear_refs").write_bytes(b"5")
    assert found is not None
    return int(found[2]) / 1024, int(found[1]) / 1024


def _hung(*_: object) -> None:
    raise _Hung


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[2:]
    ours = [frame for frame in frames if "dalembert" in frame.filename]
    return " → ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in [*ours[-2:], *frames[-1:]])


def _processor_time() -> float:
    """Seconds that this process, its helper and the helpers before it have worked."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    helper = foreign._helper
    working = 0.0
    if helper is not None and helper.process.returncode is None:
        try:
            fields = Path(f"/proc/{helper.process.pid}/stat").read_text().rpartition(") ")[2].split()
            working = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:  # it has just ended
            pass
    return time.process_time() + ended.ru_utime + ended.ru_stime + working
