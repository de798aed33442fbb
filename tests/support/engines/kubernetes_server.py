"""The part of Kubernetes' API that the engine uses, with its controllers, and real programs where pods would run.

Strict: names, labels, types of patch and fields of a Job are checked as Kubernetes does. A Job makes one pod. One
whose Secret is missing or whose image is `broken` waits; a suspended or deleted Job ends its pod; what a Job owns
goes with it. `evict`, `expire` and `fail_next` are what happens to a cluster.
"""

import base64
import re
import threading
from collections import deque
from collections.abc import Mapping
from copy import deepcopy
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from tickwise.testing.engines.http_server import Answer, HttpServer, Request, Route

from .program import Program

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_JOB_FIELDS = {"backoffLimit", "activeDeadlineSeconds", "template", "suspend", "ttlSecondsAfterFinished"}
_CONTAINER_FIELDS = {"name", "image", "command", "env", "envFrom", "resources"}
_MERGE = "application/merge-patch+json"
_GRACE = 0.2  # seconds that a pod gets to end by itself

Manifest = dict[str, Any]


class _Fault(Exception):  # noqa: N818  (an answer)
    def __init__(self, code: int, message: str) -> None:
        self.answer = Answer(
            {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}, code
        )


class _Pod:
    def __init__(self, name: str, job: Manifest, cluster: "KubernetesServer") -> None:
        self.name, self.job, self._cluster = name, job, cluster
        self.created = datetime.now(UTC).isoformat()
        self.program: Program | None = None
        self.waiting: tuple[str, str] | None = None
        self.reason = ""
        self.is_leaving = False
        self.start()

    def start(self) -> None:
        (container,) = self.job["spec"]["template"]["spec"]["containers"]
        if container["image"] == "broken":
            self.waiting = ("ImagePullBackOff", 'Back-off pulling image "broken"')
            return
        try:
            variables = self._variables(container)
        except KeyError as missing:
            self.waiting = ("CreateContainerConfigError", f"secret {missing} not found")
            return
        self.waiting = None
        command = [_expand(part, variables) for part in container.get("command") or ["true"]]
        self.program = Program(command, variables, self._cluster.folder)

    def _variables(self, container: Manifest) -> dict[str, str]:
        variables: dict[str, str] = {}
        for source in container.get("envFrom", ()):
            secret = self._cluster.objects["secrets"][source["secretRef"]["name"]]
            variables |= {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}
        for one in container.get("env", ()):
            variables[one["name"]] = _expand(one["value"], variables)
        return variables

    @property
    def phase(self) -> str:
        code = self.program.exit_code if self.program else None
        return "Pending" if self.program is None else {None: "Running", 0: "Succeeded"}.get(code, "Failed")

    def manifest(self) -> Manifest:
        state: Manifest = {"running": {"startedAt": self.created}}
        if self.waiting:
            state = {"waiting": {"reason": self.waiting[0], "message": self.waiting[1]}}
        elif self.program and self.program.exit_code is not None:
            code = self.program.exit_code
            state = {
                "terminated": {
                    "exitCode": code if code >= 0 else 128 - code,
                    "reason": "Error" if code else "Completed",
                }
            }
        labels = {**self.job["spec"]["template"]["metadata"]["labels"], "job-name": self.job["metadata"]["name"]}
        about = {"name": self.name, "labels": labels, "creationTimestamp": self.created}
        status = {
            "phase": self.phase,
            "containerStatuses": [
                {
                    "name": "work",
                    "image": "",
                    "imageID": "",
                    "ready": self.phase == "Running",
                    "restartCount": 0,
                    "state": state,
                }
            ],
        }
        if self.reason:
            status |= {"reason": self.reason, "message": "The node was low on resource: memory."}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "status": status}

    def leave(self, grace: float) -> None:
        """End, and be gone."""
        self.is_leaving = True
        if self.program:
            self.program.terminate(grace)
        self._cluster.drop(self)


def _expand(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(
        r"\$\$|\$\(([^)]*)\)",
        lambda found: "$" if found[0] == "$$" else variables.get(found[1], found[0]),
        text,
    )


class KubernetesServer:
    """One namespace."""

    def __init__(self, folder: Path, token: str, namespace: str = "batch", page: int = 3) -> None:
        self.folder, self._token, self._page = folder, token, page
        self.objects: dict[str, dict[str, Manifest]] = {"jobs": {}, "secrets": {}}
        self.pods: dict[str, _Pod] = {}
        self.requests: list[str] = []
        self._faults: deque[tuple[re.Pattern[str], int, str]] = deque()
        self._numbers = count(1)
        self._lock = threading.RLock()
        routes: dict[tuple[str, str], Route] = {}
        for kind, base in {"jobs": "/apis/batch/v1", "secrets": "/api/v1"}.items():
            many = f"{base}/namespaces/{namespace}/{kind}"
            one = f"{many}/([^/]+)"
            routes |= {
                ("POST", many): self._for(kind, self._create),
                ("GET", many): self._for(kind, self._list),
                ("GET", one): self._for(kind, self._get),
                ("PATCH", one): self._for(kind, self._patch),
                ("DELETE", one): self._for(kind, self._delete),
            }
        pods = f"/api/v1/namespaces/{namespace}/pods"
        routes |= {
            ("GET", pods): self._for("pods", self._list),
            ("DELETE", f"{pods}/([^/]+)"): self._for("pods", self._delete_pod),
            ("GET", f"{pods}/([^/]+)/log"): self._for("pods", self._log),
        }
        self.server = HttpServer(routes)

    # What happens to a cluster.

    def evict(self, job: str) -> None:
        """The node needs its memory back."""
        pod = self._pod_of(job)
        pod.reason = "Evicted"
        assert pod.program
        pod.program.kill()

    def expire(self) -> list[str]:
        """The time after which finished Jobs are removed has passed."""
        names = [name for name, job in self.objects["jobs"].items() if "ttlSecondsAfterFinished" in job["spec"]]
        for name in names:
            self._remove_job(name)
        return names

    def fail_next(self, pattern: str, code: int, message: str = "try again") -> None:
        """The next request whose method and path match gets this answer."""
        self._faults.append((re.compile(pattern), code, message))

    # The API.

    def _for(self, kind: str, act: Any) -> Route:
        def route(request: Request, *names: str) -> Answer:
            call = f"{act.__name__.strip('_')} {kind} {' '.join(names)}".strip()
            try:
                with self._lock:
                    self._check(request, f"{call} {request.query.get('continue', '')}".strip())
                    self.requests.append(call)
                    answer: Answer = act(kind, request, *names)
                    return answer
            except _Fault as fault:
                return fault.answer

        return route

    def _check(self, request: Request, call: str) -> None:
        if request.secret != self._token:
            raise _Fault(401, "Unauthorized")
        for fault in list(self._faults):
            if fault[0].search(call):
                self._faults.remove(fault)
                raise _Fault(fault[1], fault[2])

    def _create(self, kind: str, request: Request) -> Answer:
        given = request.body
        _check_object(given, {"jobs": "Job", "secrets": "Secret"}[kind])
        name = given["metadata"]["name"]
        if name in self.objects[kind]:
            raise _Fault(409, f'{kind} "{name}" already exists')
        given["metadata"]["uid"] = f"uid-{next(self._numbers)}"
        if kind == "jobs":
            _check_job(given["spec"])
        else:
            _encode_data(given)
        self.objects[kind][name] = given
        if kind == "jobs" and not given["spec"].get("suspend"):
            pod = _Pod(f"{name[:57]}-{next(self._numbers):05}", given, self)
            self.pods[pod.name] = pod
        for pod in self.pods.values():
            if pod.waiting:
                pod.start()
        return Answer(given, 201)

    def _get(self, kind: str, _: Request, name: str) -> Answer:
        return Answer(self._shown(kind, self._found(kind, name)))

    def _found(self, kind: str, name: str) -> Manifest:
        if name not in self.objects[kind]:
            raise _Fault(404, f'{kind} "{name}" not found')
        return self.objects[kind][name]

    def _list(self, kind: str, request: Request) -> Answer:
        objects = [pod.manifest() for pod in list(self.pods.values())] if kind == "pods" else [
            self._shown(kind, one) for one in self.objects[kind].values()
        ]  # fmt: skip
        found = [
            one for one in objects if _selects(request.query.get("labelSelector", ""), one["metadata"]["labels"])
        ]
        start = int(request.query.get("continue") or 0)
        end = start + min(int(request.query.get("limit") or len(found) or 1), self._page)
        about = {"resourceVersion": "1", **({"continue": str(end)} if end < len(found) else {})}
        kinds = {"jobs": ("batch/v1", "JobList"), "pods": ("v1", "PodList")}
        version, name = kinds[kind]
        return Answer({"apiVersion": version, "kind": name, "metadata": about, "items": found[start:end]})

    def _patch(self, kind: str, request: Request, name: str) -> Answer:
        if request.headers.get("content-type") != _MERGE:
            raise _Fault(415, "the body of the request was in an unknown format")
        found = self._found(kind, name)
        _merge(found, request.body)
        _check_object(found, found["kind"])
        if kind == "secrets":
            _encode_data(found)
        elif found["spec"].get("suspend"):
            _check_job(found["spec"])
            self._end_pods(name)
        return Answer(self._shown(kind, found))

    def _delete(self, kind: str, request: Request, name: str) -> Answer:
        found = self._found(kind, name)
        if kind == "jobs":
            if request.query.get("propagationPolicy") != "Background":
                raise _Fault(400, "the pods of this Job would be orphans")
            self._remove_job(name)
        else:
            del self.objects[kind][name]
        return Answer({"kind": "Status", "status": "Success", "details": {"uid": found["metadata"]["uid"]}})

    def _remove_job(self, name: str) -> None:
        job = self.objects["jobs"].pop(name)
        self._end_pods(name)
        owned = [
            key
            for key, secret in self.objects["secrets"].items()
            for owner in secret["metadata"].get("ownerReferences", ())
            if owner["uid"] == job["metadata"]["uid"]
        ]
        for key in owned:
            del self.objects["secrets"][key]

    def _end_pods(self, job: str) -> None:
        for pod in list(self.pods.values()):
            if pod.job["metadata"]["name"] == job and pod.phase in {"Pending", "Running"} and not pod.is_leaving:
                threading.Thread(target=pod.leave, args=(_GRACE,), daemon=True).start()
            elif pod.job["metadata"]["name"] == job and job not in self.objects["jobs"]:
                self.drop(pod)

    def drop(self, pod: _Pod) -> None:
        with self._lock:
            self.pods.pop(pod.name, None)
            if pod.program:
                pod.program.close()

    def _delete_pod(self, _: str, request: Request, name: str) -> Answer:
        if name not in self.pods:
            raise _Fault(404, f'pods "{name}" not found')
        grace = float(request.query.get("gracePeriodSeconds", _GRACE))
        threading.Thread(target=self.pods[name].leave, args=(grace,), daemon=True).start()
        return Answer({"kind": "Status", "status": "Success"})

    def _log(self, _: str, request: Request, name: str) -> Answer:
        if name not in self.pods:
            raise _Fault(404, f'pods "{name}" not found')
        program = self.pods[name].program
        if program is None:
            raise _Fault(400, f'container "work" in pod "{name}" is waiting to start: ContainerCreating')
        assert request.query["timestamps"] == "true"
        lines = program.output.decode(errors="replace").splitlines(keepends=True)
        stamp = self.pods[name].created.replace("+00:00", "123Z")
        return Answer("".join(f"{stamp} {line}" for line in lines))

    def _pod_of(self, job: str) -> _Pod:
        (pod,) = [pod for pod in self.pods.values() if pod.job["metadata"]["name"] == job]
        return pod

    def _shown(self, kind: str, found: Manifest) -> Manifest:
        if kind != "jobs":
            return found
        pods = [pod for pod in self.pods.values() if pod.job is found]
        phases = [pod.phase for pod in pods if not pod.is_leaving]
        status: Manifest = {"active": sum(phase in {"Pending", "Running"} for phase in phases)}
        status["ready"] = phases.count("Running")
        if "Succeeded" in phases:
            found["conditions"] = [{"type": "Complete", "status": "True"}]
        elif "Failed" in phases:
            found["conditions"] = [
                {"type": "Suspended", "status": "False"},
                {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded",
                 "message": "Job has reached the specified backoff limit"},
            ]  # fmt: skip
        shown = deepcopy(found)
        status["conditions"] = shown.pop("conditions", [])  # they stay, whatever becomes of the pod
        return {**shown, "status": status}

    def close(self) -> None:
        for pod in list(self.pods.values()):
            if pod.program:
                pod.program.close()
        self.server.close()


def _check_object(given: Manifest, kind: str) -> None:
    about = given["metadata"]
    name, labels = about["name"], about["labels"]
    if given.get("kind") != kind or not given.get("apiVersion"):
        raise _Fault(400, f"the object provided is no {kind}")
    if not _NAME.fullmatch(name) or len(name) > 63:
        raise _Fault(422, f"metadata.name: Invalid value: {name!r}")
    if not all(
        isinstance(value, str) and _LABEL.fullmatch(value) and len(value) <= 63 for value in labels.values()
    ):
        raise _Fault(422, "metadata.labels: Invalid value")
    if not all(isinstance(value, str) for value in about.get("annotations", {}).values()):
        raise _Fault(400, "metadata.annotations: Invalid value")


def _check_job(spec: Manifest) -> None:
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    unknown = [*(spec.keys() - _JOB_FIELDS), *(container.keys() - _CONTAINER_FIELDS)]
    if unknown:
        raise _Fault(400, f"strict decoding error: unknown field {unknown}")
    if pod.get("restartPolicy") not in {"Never", "OnFailure"}:
        raise _Fault(422, "spec.template.spec.restartPolicy: Required value")
    if " " in container["image"]:
        raise _Fault(422, "spec.template.spec.containers[0].image: Invalid value")


def _encode_data(secret: Manifest) -> None:
    plain = secret.pop("stringData", {})
    secret.setdefault("data", {}).update({n: base64.b64encode(v.encode()).decode() for n, v in plain.items()})


def _merge(old: Manifest, change: Manifest) -> None:
    for name, value in change.items():
        if value is None:
            old.pop(name, None)
        elif isinstance(value, dict):
            _merge(old.setdefault(name, {}), value)
        else:
            old[name] = value


def _selects(selector: str, labels: Mapping[str, str]) -> bool:
    for part in filter(None, selector.split(",")):
        name, is_equal, value = part.partition("=")
        if not (labels.get(name) == value.lstrip("=") if is_equal else part.lstrip("!") not in labels):
            return False
    return True
