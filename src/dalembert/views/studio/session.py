"""The state of the studio, and the actions that the page can request: each takes a request and returns plain data."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.base.files import whole_file
from dalembert.base.options import checked
from dalembert.base.wording import shown
from dalembert.errors import DalembertError
from dalembert.robot.model.robot import Robot
from dalembert.robot.readers.load import arms, save_robot
from dalembert.views.studio.fields import StudioRequest, request
from dalembert.views.studio.folder import RobotFolder
from dalembert.views.studio.jobs import TITLES, Jobs, Then
from dalembert.views.studio.page_tasks import Shown
from dalembert.views.studio.structure import Structure, described
from dalembert.views.studio.upload_bounds import LOG_BYTES, ROBOT_BYTES
from dalembert.views.studio.uploads import LOGS, ROBOTS, Uploads
from dalembert.work.identification.fitting.fit_options import GROUPS

if TYPE_CHECKING:
    from dalembert.views.studio.fit_tasks import Fitted

TIMINGS = ("time-optimal", "scaled")
ACTIONS = ("status", "files", "job", "cancel", "open", "structure", "time", "identify", "calibrated", "save")
FIT_OPTIONS = {"filtering": "cutoff", "estimator": "physical"}  # that the page offers for an identification, by group
STUDIO = {"api": "api/", "robot_bytes": ROBOT_BYTES, "log_bytes": LOG_BYTES}  # what the page is told about its server


class ExistsError(DalembertError):
    """The file already exists: the page asks before it overwrites it."""


class Session:
    """The displayed arm, its motions, the last identification, and the jobs that change them."""

    def __init__(self, folder: RobotFolder, shown_now: Shown) -> None:
        self.folder, self.uploads, self.jobs = folder, Uploads(), Jobs()
        self._shown = shown_now
        self._added: list[dict[str, Any]] = []  # motions added after the page was built
        self._fit: Fitted | None = None
        self._lock = threading.Lock()
        self._saving = threading.Lock()
        self.actions: dict[str, Callable[[StudioRequest], dict[str, Any]]] = {
            name: getattr(self, name) for name in ACTIONS
        }

    @property
    def page(self) -> str:
        """The current page."""
        with self._lock:
            return self._shown.page

    @property
    def report(self) -> str | None:
        """The report on the last identification."""
        with self._lock:
            return None if self._fit is None else self._fit.report

    def status(self, body: StudioRequest) -> dict[str, Any]:
        """The status that the page reads when it is loaded."""
        state = self._shown_in(body)
        with self._lock:
            return {
                "folder": self.folder.root.name or str(self.folder.root),
                "robot": described(state.robot),
                "structure": asdict(state.structure),
                "notes": list(state.notes),
                "motions": list(self._added),
                "fit": None if self._fit is None else self._fit_data(self._fit),
                "jobs": self.jobs.data(),
            }

    def files(self, body: StudioRequest) -> dict[str, Any]:
        """The files that can be loaded."""
        return {
            "robots": self.folder.files(ROBOTS),
            "logs": self.folder.files(LOGS),
            "sent_robots": self.uploads.names("robot"),
            "sent_logs": self.uploads.names("log"),
            "arms": arms(),
        }

    def job(self, body: StudioRequest) -> dict[str, Any]:
        """The last job of a kind."""
        return {"job": self.jobs.data().get(body.choice("kind", tuple(TITLES)))}

    def cancel(self, body: StudioRequest) -> dict[str, Any]:
        """Cancel the job of a kind."""
        self.jobs.cancel(body.choice("kind", tuple(TITLES)))
        return self.job(body)

    def open(self, body: StudioRequest) -> dict[str, Any]:
        """Start building the page of another robot: a shipped arm, a file of the folder, or an uploaded file."""
        source, name = body.text("from"), body.text("name")
        if source == "shipped":
            if name not in arms():
                raise DalembertError(f"there is no shipped arm {shown(name)}")
            return self._begin_page("open_shipped", name, STUDIO)
        path = self._path(source, name, ROBOTS)
        folder = self.folder.root if source == "folder" else path.parent
        return self._begin_page("open_robot", str(path), str(folder), STUDIO)

    def structure(self, body: StudioRequest) -> dict[str, Any]:
        """Start building the page of the same robot with structural changes."""
        state = self._shown_in(body)
        changes = request(Structure, body)
        return self._begin_page("changed_page", replace(state, page=""), state.robot, changes, STUDIO)

    def calibrated(self, body: StudioRequest) -> dict[str, Any]:
        """Start building the page of the identified arm."""
        state = self._shown_in(body)
        with self._lock:
            fit = self._fit
        if fit is None:
            raise DalembertError("no arm has been identified yet; run an identification first")
        return self._begin_page("changed_page", replace(state, page=""), fit.arm.robot, Structure(), STUDIO)

    def _shown_in(self, body: StudioRequest) -> Shown:
        """The displayed robot, unless the request comes from a tab that displays another one."""
        with self._lock:
            state = self._shown
        if body.text("page", state.key) != state.key:
            raise DalembertError(
                f"the studio now shows another page, of arm '{state.arm.name}', which was built from another tab; reload "
                "this tab to continue with that arm, or start a studio for each arm"
            )
        return state

    def _check_unchanged(self, state: Shown) -> None:
        """Raise an error if another arm is displayed than when a job was started; the lock is held."""
        if self._shown is not state and self._shown.arm != state.arm:
            raise DalembertError("the arm has changed in the meantime; start the task again")

    def _begin_page(self, task: str, *arguments: Any) -> dict[str, Any]:
        def then(answer: Shown) -> dict[str, Any]:
            with self._lock:
                self._shown, self._added = answer, []
                if task.startswith("open"):
                    self._fit = None
            return {"reload": True}

        return self._start("page", f"page_tasks:{task}", arguments, then)

    def _start(self, kind: str, task: str, arguments: tuple[Any, ...], then: Then) -> dict[str, Any]:
        return {"job": self.jobs.start(kind, f"dalembert.views.studio.{task}", arguments, then)}

    def time(self, body: StudioRequest) -> dict[str, Any]:
        """Start computing a new timing of the displayed motion, given as CSV."""
        how, name = body.choice("how", TIMINGS), body.text("name")
        duration = body.number("duration", None)
        csv, folder = body.text("csv"), str(self.uploads.scratch("timing"))
        state = self._shown_in(body)

        def then(answer: tuple[Any, dict[str, Any], list[str]]) -> dict[str, Any]:
            titled, data, notes = answer
            with self._lock:
                self._check_unchanged(state)
                others = tuple(motion for motion in self._shown.motions if motion[0] != titled[0])
                self._shown = replace(self._shown, motions=(*others, titled))
                self._added = [motion for motion in self._added if motion["name"] != data["name"]] + [data]
            return {"motion": data, "notes": notes}

        return self._start("timing", "page_tasks:retime", (state.arm, name, folder, csv, how, duration), then)

    def identify(self, body: StudioRequest) -> dict[str, Any]:
        """Start an identification of the displayed arm."""
        logs, validate = self._logs(body, "logs"), self._logs(body, "validate")
        settings: dict[str, Any] = {"validate": validate or None, "selection": body.flag("selection", True)}
        for group, names in FIT_OPTIONS.items():
            settings[group] = checked(request(GROUPS[group], body, names))
        if not logs:
            raise DalembertError("an identification needs a log; choose one")
        state = self._shown_in(body)

        def then(answer: Fitted) -> dict[str, Any]:
            with self._lock:
                self._check_unchanged(state)
                self._fit = answer
            return {"fit": self._fit_data(answer)}

        return self._start("identification", "fit_tasks:identify_log", (state.arm, logs, settings), then)

    def _logs(self, body: StudioRequest, key: str) -> list[str]:
        value = body.get(key, [])
        if not isinstance(value, list) or not all(isinstance(log, dict) for log in value):
            raise DalembertError(f"'{key}' is {shown(value)}; it must be a list of files")
        files = map(StudioRequest, value)
        return [str(self._path(file.text("from"), file.text("name"), LOGS)) for file in files]

    @staticmethod
    def _fit_data(fit: Fitted) -> dict[str, Any]:
        return {**fit.data, "report": None if fit.report is None else "report.html"}

    def _path(self, source: str, name: str, suffixes: tuple[str, ...]) -> Path:
        if source not in ("folder", "sent"):
            raise DalembertError(f"the source of the file is {shown(source)}; it must be 'folder' or 'sent'")
        path = self.folder.path(name) if source == "folder" else self.uploads.path(name)
        if path.suffix.lower() not in suffixes:
            raise DalembertError(f"{name}: the name must end in {', '.join(suffixes)}")
        return path

    # -- saving ------------------------------------------------------------------------------------

    def save(self, body: StudioRequest) -> dict[str, Any]:
        """Write the robot, a motion or the page into the robot's folder."""
        name, overwrite = body.text("name"), body.flag("overwrite", False)
        what = body.choice("what", tuple(SUFFIXES))
        target = self.folder.target(name, SUFFIXES[what])
        if target.exists() and not overwrite:
            raise ExistsError(f"{name}: the file already exists")
        state = self._shown_in(body)

        def write(content: Robot | str) -> dict[str, Any]:
            with self._saving:
                if isinstance(content, Robot):
                    save_robot(content, target, overwrite=overwrite)
                else:
                    with whole_file(target, overwrite=overwrite) as file:
                        file.write(content)
            return {"saved": name}

        if what == "page":
            return self._start("page", "page_tasks:plain_page", (replace(state, page=""),), write)
        if what == "robot" and (toml := body.text("toml", "")):
            design = str(self.uploads.scratch("page")), toml
            return self._start("page", "page_tasks:read_design", design, write)
        return write(state.arm.robot if what == "robot" else body.text("csv"))

    def close(self, seconds: float) -> None:
        """Stop running jobs, and wait until a file that is being written is complete."""
        self.jobs.close()
        if self._saving.acquire(timeout=seconds):
            self._saving.release()
        self.uploads.close()


SUFFIXES = {"robot": (".toml", ".urdf"), "motion": (".csv",), "page": (".html",)}
