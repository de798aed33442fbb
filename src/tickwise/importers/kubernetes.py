"""CronJob manifests of Kubernetes. The command becomes a worker's; a note says how it runs in its image."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.cron.zone import zone
from ..core.errors import InputError
from ..core.references import REFERENCE
from ..core.timeparse import format_duration
from .cron_text import to_tickwise
from .model import Imported, ImportedJob, JobNames, ReadOptions, Refused, UnknownTimes
from .wall_clock import KUBERNETES, WallRules, read_fields
from .yaml_source import items, mapping, read_yaml

_OVERLAPS = {"Allow": "allow", "Forbid": "skip", "Replace": "replace"}
_NOT_OF_A_JOB = ("initContainers", "volumes", "serviceAccountName", "nodeSelector", "tolerations", "affinity")
_MAX_SECONDS = 366 * 86_400


def read(files: Mapping[str, str], options: ReadOptions) -> Imported:
    """The jobs of manifests, by the names of their files; other objects are passed over."""
    jobs: list[ImportedJob] = []
    refused: list[Refused] = []
    names = JobNames()
    for file, text in files.items():
        try:
            found = [one for document in read_yaml(text) for one in _cron_jobs(mapping(document))]
        except InputError as error:
            refused.append(Refused(file, "", str(error)))
            continue
        for manifest in found:
            name = str(mapping(manifest.get("metadata")).get("name", "?"))
            try:
                jobs.append(_job_of_spec(file, name, mapping(manifest.get("spec")), options, names))
            except InputError as error:
                refused.append(Refused(file, name, str(error).split("\n", 1)[0]))
    return Imported(scheduler="Kubernetes", jobs=jobs, refused=refused)


def _cron_jobs(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if document.get("kind") == "CronJob":
        yield document
    elif document.get("kind") in {"List", "CronJobList"}:
        for item in map(mapping, items(document.get("items"))):
            if item.get("kind", "CronJob") == "CronJob":
                yield item


def _job_of_spec(
    file: str, name: str, spec: Mapping[str, Any], options: ReadOptions, names: JobNames
) -> ImportedJob:
    notes: list[str] = []
    text = str(spec.get("schedule", ""))
    where = spec.get("timeZone")
    if where is None:
        where = options.timezone or "UTC"
        notes.append(f"it names no timeZone: that of the controller is taken for {where}")
    fields: dict[str, Any] = {}
    if text.startswith("@every"):
        fields["schedule"] = text
        notes.append("@every counts from 1970, and not from the last run")
        rules: Any = UnknownTimes("@every counts from the last run")
    else:
        fields["schedule"], named = to_tickwise(text, KUBERNETES)
        rules = WallRules(read_fields(named.split(), KUBERNETES), zone(str(where)).tzinfo)
    fields |= {"timezone": str(where), "catchup": "once"}
    fields["overlap"] = _OVERLAPS.get(str(spec.get("concurrencyPolicy", "Allow")), "allow")
    if spec.get("suspend") is True:
        fields["enabled"] = False
    if (deadline := _whole(spec.get("startingDeadlineSeconds"))) is not None:
        fields |= {"catchup": "skip", "grace": format_duration(deadline)}
    fields |= _read_job(mapping(mapping(spec.get("jobTemplate")).get("spec")), notes)
    return ImportedJob(name=names.take(name), fields=fields, place=file, when=text, notes=notes, rules=rules)


def _read_job(job: Mapping[str, Any], notes: list[str]) -> Iterator[tuple[str, Any]]:
    limit = job.get("backoffLimit", 6)
    if isinstance(limit, int) and 0 < limit <= 1_000:
        yield "retry", {"limit": limit, "interval": "10s", "max_interval": "6m"}
    if (timeout := _whole(job.get("activeDeadlineSeconds"))) is not None:
        yield "timeout", format_duration(timeout)
    several = [key for key in ("parallelism", "completions") if job.get(key, 1) != 1]
    notes += [f"{key}: {job[key]}: a run of Tickwise is one pod" for key in several]
    pod = mapping(mapping(job.get("template")).get("spec"))
    if left := [key for key in _NOT_OF_A_JOB if pod.get(key)]:
        notes.append(
            f"{', '.join(left)} of the pod: the engine's settings have `pod` and `service_account` for them"
        )
    containers = [mapping(one) for one in items(pod.get("containers"))]
    if len(containers) != 1:
        notes.append(f"it has {len(containers)} containers, and a job has one")
    if containers:
        yield from _read_container(containers[0], notes)


def _read_container(container: Mapping[str, Any], notes: list[str]) -> Iterator[tuple[str, Any]]:
    words = [str(word) for key in ("command", "args") for word in items(container.get(key))]
    if any("$(" in word for word in words):
        notes.append("$(NAME) in its command is filled in by Kubernetes only")
    if container.get("args") and not container.get("command"):
        notes.append("its command begins with the entrypoint of the image, which is not known here")
    image = container.get("image", "")
    notes.append(
        f"it ran in the image {image}: with [engines.kubernetes] in the settings, "
        f"engine: {{name: kubernetes, image: {image}, command: [...]}} in place of `command` runs it there"
    )
    if words:
        yield "command", words
    env = {}
    for one in map(mapping, items(container.get("env"))):
        name, value = str(one.get("name", "")), one.get("value")
        if value is None or REFERENCE.search(str(value)):
            notes.append(f"the variable {name} is not a plain text: write it in the engine's `pod` or in `env`")
        else:
            env[name] = str(value)
    if container.get("envFrom"):
        notes.append("envFrom: write the variables in `env`")
    if env:
        yield "env", env


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MAX_SECONDS else None
