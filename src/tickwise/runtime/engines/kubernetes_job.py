"""An attempt as objects of Kubernetes, and what those say about it. Pure: manifests in and out.

The name of the Job is made of the reference and can be read back: `17.2` is `tickwise-17-2`. A name may hold only
small letters, digits and dashes, so a dot is a dash, and any other character is `z` with its code in hexadecimal.

What the work needs is in a Secret that belongs to the Job, not in the Job: many people may read the pods of a
namespace but not its secrets, and with the ticket one of them could fetch the job's params in the work's place.

The pod is never started again by Kubernetes (`backoffLimit: 0`, `restartPolicy: Never`): attempts are Tickwise's.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...core.errors import InputError
from ...core.handover import Sight, Sighting
from ...core.settle import Cancelled, Failed, Succeeded
from .contract import Order, OrderRefusedError
from .fields import mapping, text

PREFIX = "tickwise-"
LABELS = {"app.kubernetes.io/managed-by": "tickwise"}
OVER = "tickwise/over"  # label of a Job whose end was stored; it only waits to be removed
FINGERPRINT = "tickwise/fingerprint"
JOB_NAME = "job-name"  # label that Kubernetes gives to the pods of a Job
CONTAINER = "work"
_MAX_NAME = 63
_MAX_ERROR = 2_000
_PLAIN = re.compile(r"[a-y0-9]")
_ESCAPED = re.compile(r"z([0-9a-f]{2})|-|[a-y0-9]")
_ORDINARY = ("ContainerCreating", "PodInitializing")  # why a container waits that is about to start
_OURS = ("containers", "restartPolicy", "serviceAccountName")

Manifest = Mapping[str, Any]


def job_name(reference: str) -> str:
    name = PREFIX + "".join(_escape(char) for char in reference)
    if len(name) > _MAX_NAME or not name[-1].isalnum():
        raise OrderRefusedError(f"{reference[:80]!r} cannot be the name of a Job in Kubernetes")
    return name


def _escape(char: str) -> str:
    if _PLAIN.match(char):
        return char
    return "-" if char == "." else "".join(f"z{byte:02x}" for byte in char.encode())


def reference_of_name(name: str) -> str | None:
    """The reference whose Job has this name; none if it is not one of ours."""
    parts = [*_ESCAPED.finditer(name, len(PREFIX))] if name.startswith(PREFIX) else []
    if not parts or PREFIX + "".join(part[0] for part in parts) != name:
        return None
    spelled = b"".join(
        bytes.fromhex(part[1]) if part[1] else b"." if part[0] == "-" else part[0].encode() for part in parts
    )
    return spelled.decode(errors="replace")


# What is created.


class PodTemplate(NamedTuple):
    """What the settings say about all pods of an engine."""

    image: str
    service_account: str
    resources: Manifest
    pod: Manifest  # further fields of a PodSpec


def asks_gate(options: Mapping[str, Any]) -> bool:
    """Work with a command of its own is a plain image, which knows nothing of Tickwise."""
    return "command" not in options


def job_manifest(order: Order, template: PodTemplate) -> dict[str, Any]:
    image = order.options.get("image") or template.image
    if not image:
        raise OrderRefusedError(f"{order.job} has no image: write one into its engine, or into the settings")
    gated = asks_gate(order.options)
    container = {
        "name": CONTAINER,
        "image": image,
        "resources": dict(order.options.get("resources") or template.resources),
        **(_gated_container(order) if gated else _plain_container(order)),
    }
    pod = {**template.pod, "restartPolicy": "Never", "containers": [container]}
    if template.service_account:
        pod["serviceAccountName"] = template.service_account
    deadline = {} if gated or order.timeout is None else {"activeDeadlineSeconds": max(1, order.timeout)}
    return {
        "metadata": {
            "name": job_name(order.reference),
            "labels": LABELS,
            "annotations": {"tickwise/job": order.job, FINGERPRINT: order.fingerprint},
        },
        "spec": {"backoffLimit": 0, **deadline, "template": {"metadata": {"labels": LABELS}, "spec": pod}},
    }


def _gated_container(order: Order) -> dict[str, Any]:
    secret = {"secretRef": {"name": job_name(order.reference)}}
    return {"command": list(order.command), "envFrom": [secret]}


def _plain_container(order: Order) -> dict[str, Any]:
    """With its own command, or the image's if that is empty; nothing that it could ask a gate with."""
    command = list(order.options["command"])
    own = {"command": [part.replace("$", "$$") for part in command]} if command else {}
    return {**own, "env": [{"name": "TICKWISE_ATTEMPT", "value": order.reference}]}


def secret_manifest(order: Order) -> dict[str, Any]:
    return {
        "metadata": {"name": job_name(order.reference), "labels": LABELS},
        "stringData": dict(order.environment),
    }


def owner_patch(job: Manifest) -> dict[str, Any]:
    """Has a Secret removed together with its Job."""
    about = job["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": about["name"], "uid": about["uid"]}
    return {"metadata": {"ownerReferences": [owner]}}


def over_patch(keep: int) -> dict[str, Any]:
    """Has Kubernetes remove a Job whose end was stored, after a while (S56)."""
    return {"metadata": {"labels": {OVER: "true"}}, "spec": {"ttlSecondsAfterFinished": keep}}


def read_pod(value: Any) -> dict[str, Any]:
    """Fields of a PodSpec, as people write them into the settings."""
    given = mapping(value)
    for name in _OURS:
        if name in given:
            raise InputError(f"has {name}, which is set by Tickwise")
    return given


def read_resources(value: Any) -> dict[str, dict[str, str]]:
    given = mapping(value)
    for name in given:
        if name not in {"requests", "limits"}:
            raise InputError(f"has {name[:60]!r}: write requests and limits")
    return {name: {key: text(str(one)) for key, one in mapping(part).items()} for name, part in given.items()}


# What is seen.


def needs_pods(job: Manifest) -> bool:
    """Whether the Job alone does not say enough."""
    status = job.get("status") or {}
    return "Complete" not in _conditions(status) and not status.get("ready")


def sighting(job: Manifest, pods: Sequence[Manifest], address: str) -> Sighting:
    """What a Job and its pods say about the work."""
    status = job.get("status") or {}
    conditions = _conditions(status)
    if "Complete" in conditions:
        return Sighting(Sight.ENDED, Succeeded(), address=address)
    if "Failed" in conditions:
        error = "; ".join(_unique([*_pod_problems(pods), _said(conditions["Failed"])]))[:_MAX_ERROR]
        return Sighting(Sight.ENDED, Failed(), error, address)
    active = [*filter(is_active, pods)]
    if (job.get("spec") or {}).get("suspend") and not active:
        return Sighting(Sight.ENDED, Cancelled(), "it was suspended", address)
    if status.get("ready") or any((pod.get("status") or {}).get("phase") == "Running" for pod in active):
        return Sighting(Sight.RUNNING, address=address)
    return Sighting(Sight.WAITING, error="; ".join(_unique(_pod_problems(pods)))[:_MAX_ERROR], address=address)


def is_active(pod: Manifest) -> bool:
    return (pod.get("status") or {}).get("phase") not in {"Succeeded", "Failed"}


def _conditions(status: Manifest) -> dict[str, Manifest]:
    return {one["type"]: one for one in status.get("conditions") or () if one.get("status") == "True"}


def _pod_problems(pods: Iterable[Manifest]) -> list[str]:
    """Why pods have failed, or do not start: evicted, no node, no image, killed for memory, an exit code."""
    problems = []
    for pod in pods:
        status = pod.get("status") or {}
        unscheduled = _said_false(status, "PodScheduled")
        problems += [_said(status), unscheduled]
        for container in status.get("containerStatuses") or ():
            state = container.get("state") or {}
            ended = state.get("terminated")
            if ended and ended.get("exitCode"):
                problems.append(": ".join(_unique([_said(ended), f"exit code {ended['exitCode']}"])))
            elif (state.get("waiting") or {}).get("reason", "ContainerCreating") not in _ORDINARY:
                problems.append(_said(state["waiting"]))
    return problems


def _said(about: Manifest) -> str:
    return ": ".join(_unique([about.get("reason") or "", (about.get("message") or "").strip()]))


def _said_false(status: Manifest, kind: str) -> str:
    found = [one for one in status.get("conditions") or () if one["type"] == kind and one.get("status") == "False"]
    return _said(found[0]) if found else ""


def _unique(texts: Iterable[str]) -> list[str]:
    return [one for one in dict.fromkeys(texts) if one]
