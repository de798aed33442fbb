"""The Jobs API of Ray's dashboard, as Ray 2.60 answers it (dashboard/modules/job), with real programs behind it.

Strict: a field that Ray does not know, a wrong type or a missing token is refused as Ray refuses it. The error of
a second submission is Ray's too: the head wraps the agent's 400 into a 500 with a traceback.
"""

import threading
from pathlib import Path
from typing import Any

from tickwise.testing.engines.http_server import Answer, HttpServer, Request, Route

from .program import Program

_TYPES: dict[str, type | tuple[type, ...]] = {
    "entrypoint": str,
    "submission_id": str,
    "job_id": str,
    "runtime_env": dict,
    "metadata": dict,
    "entrypoint_num_cpus": (int, float),
    "entrypoint_num_gpus": (int, float),
    "entrypoint_memory": int,
    "entrypoint_resources": dict,
    "entrypoint_label_selector": dict,
}
_MAX_CPUS = 8
_GRACE_SCALE = 0.02  # of RAY_JOB_STOP_WAIT_TIME_S: stories do not wait so long


class _RayJob:
    def __init__(self, given: dict[str, Any], folder: Path) -> None:
        self.given = given
        self.stopped = False
        self.program: Program | None = None
        if given.get("entrypoint_num_cpus", 0) <= _MAX_CPUS:  # any other job waits for a node
            self.program = Program(given["entrypoint"], given["runtime_env"]["env_vars"], folder)

    @property
    def status(self) -> str:
        code = self.program.exit_code if self.program else None
        if self.stopped and (self.program is None or code is not None):
            return "STOPPED"
        if self.program is None:
            return "PENDING"
        return "RUNNING" if code is None else "FAILED" if code else "SUCCEEDED"

    def stop(self) -> None:
        self.stopped = True
        if self.program:
            wait = float(self.given["runtime_env"]["env_vars"]["RAY_JOB_STOP_WAIT_TIME_S"])
            self.program.terminate(wait * _GRACE_SCALE)


class RayServer:
    """One head. `token`: what every request must show."""

    def __init__(self, folder: Path, token: str = "") -> None:
        self.jobs: dict[str, _RayJob] = {}
        self.seen_authorization: set[str] = set()
        self._folder = folder
        self._token = token
        self._lock = threading.Lock()
        one = "/api/jobs/([^/]+)"
        routes: dict[tuple[str, str], Route] = {
            ("POST", "/api/jobs/"): self._submit,
            ("GET", "/api/jobs/"): self._list,
            ("GET", one): self._get,
            ("POST", f"{one}/stop"): self._stop,
            ("DELETE", one): self._delete,
            ("GET", f"{one}/logs"): self._logs,
        }
        self.server = HttpServer({at: self._authenticated(route) for at, route in routes.items()})

    def _authenticated(self, route: Route) -> Route:
        def checked(request: Request, *names: str) -> Answer:
            self.seen_authorization.add(request.headers.get("authorization", ""))
            if self._token and request.headers.get("authorization") != f"Bearer {self._token}":
                return Answer("Unauthorized: Missing or invalid authentication token", 401)
            return route(request, *names)

        return checked

    def _submit(self, request: Request) -> Answer:
        given = {name: value for name, value in request.body.items() if value is not None}
        wrong = [name for name, value in given.items() if not isinstance(value, _TYPES.get(name, ()))]
        texts = {**given.get("metadata", {}), **given.get("runtime_env", {}).get("env_vars", {})}
        if wrong or "entrypoint" not in given or not all(isinstance(value, str) for value in texts.values()):
            return Answer(f"Traceback (most recent call last):\nTypeError: {wrong}", 400)
        name = given["submission_id"]
        with self._lock:
            if name in self.jobs:
                inner = f"ValueError: Job with submission_id {name} already exists."
                return Answer(
                    "Traceback (most recent call last):\nRuntimeError: Request failed with status code 400: "
                    f"Traceback (most recent call last):\n{inner}\n.",
                    500,
                )
            self.jobs[name] = _RayJob(given, self._folder)
        return Answer({"job_id": name, "submission_id": name})

    def _list(self, _: Request) -> Answer:
        driver = {"type": "DRIVER", "job_id": "01000000", "submission_id": None, "status": "RUNNING"}
        return Answer([*(self._details(name) for name in list(self.jobs)), driver])

    def _get(self, _: Request, name: str) -> Answer:
        return Answer(self._details(name)) if name in self.jobs else _missing(name)

    def _details(self, name: str) -> dict[str, Any]:
        job = self.jobs[name]
        status = job.status
        code = job.program.exit_code if job.program else None
        messages = {
            "FAILED": f"Job entrypoint command failed with exit code {code}, last available logs: …",
            "STOPPED": "Job was intentionally stopped.",
        }
        return {
            "type": "SUBMISSION",
            "job_id": None,
            "submission_id": name,
            "status": status,
            "message": messages.get(status, "Job has not started yet."),
            **{field: job.given.get(field) for field in ("entrypoint", "metadata", "runtime_env")},
            "driver_exit_code": code,
        }

    def _stop(self, _: Request, name: str) -> Answer:
        if name not in self.jobs:
            return _missing(name)
        job = self.jobs[name]
        if job.status not in {"PENDING", "RUNNING"}:
            return Answer({"stopped": False})
        threading.Thread(target=job.stop, daemon=True).start()
        return Answer({"stopped": True})

    def _delete(self, _: Request, name: str) -> Answer:
        if name not in self.jobs:
            return _missing(name)
        if (status := self.jobs[name].status) in {"PENDING", "RUNNING"}:
            return Answer(f"RuntimeError: Attempted to delete a job in a non-terminal state {status}.", 500)
        job = self.jobs.pop(name)
        if job.program:
            job.program.close()
        return Answer({"deleted": True})

    def _logs(self, _: Request, name: str) -> Answer:
        if name not in self.jobs:
            return _missing(name)
        program = self.jobs[name].program
        return Answer({"logs": program.output.decode(errors="replace") if program else ""})

    def close(self) -> None:
        for job in self.jobs.values():
            if job.program:
                job.program.close()
        self.server.close()


def _missing(name: str) -> Answer:
    return Answer(f"Job {name} does not exist", 404)
