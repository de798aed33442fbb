"""Workflows of GitHub Actions with `on: schedule`. Their `run` steps become scripts; actions cannot."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from ..core.cron.zone import zone
from ..core.errors import InputError
from ..core.references import REFERENCE
from .cron_text import to_tickwise
from .model import Imported, ImportedJob, JobNames, ReadOptions, Refused
from .wall_clock import KUBERNETES, CronFields, WallRules, read_fields
from .yaml_source import items, mapping, read_yaml

_SHELLS = {"bash": "#!/bin/bash\nset -eo pipefail\n", "sh": "#!/bin/sh\nset -e\n", "": "#!/bin/bash\nset -e\n"}
_NOTES = (
    "GitHub delays scheduled runs under load, and drops some; here they start at their second",
    "each run of GitHub begins in a fresh checkout; here it begins in the worker's folder",
)


def read(files: Mapping[str, str], options: ReadOptions) -> Imported:
    """The jobs of workflows that have a schedule, by the names of their files."""
    del options  # their times are in UTC
    jobs: list[ImportedJob] = []
    refused: list[Refused] = []
    names = JobNames()
    for file, text in files.items():
        try:
            for document in map(mapping, read_yaml(text)):
                crons = list(_crons(document))
                if crons:
                    jobs.append(_job_of_workflow(file, document, crons, names))
        except InputError as error:
            refused.append(Refused(file, "", str(error).split("\n", 1)[0]))
    return Imported(scheduler="GitHub", jobs=jobs, refused=refused, notes=_NOTES if jobs else ())


def _crons(workflow: Mapping[str, Any]) -> Iterator[str]:
    for entry in items(mapping(workflow.get("on", workflow.get("True"))).get("schedule")):
        yield str(mapping(entry).get("cron", ""))


def _job_of_workflow(file: str, workflow: Mapping[str, Any], crons: list[str], names: JobNames) -> ImportedJob:
    notes: list[str] = []
    entries, read_back = [], []
    for cron in crons:
        text, named = to_tickwise(cron, KUBERNETES)
        entries.append(text)
        read_back.append(read_fields(named.split(), KUBERNETES))
    fields: dict[str, Any] = {"schedule": entries[0] if len(entries) == 1 else entries, "timezone": "UTC"}
    fields |= {"catchup": "skip", "overlap": "allow"}
    if "concurrency" in workflow:
        notes.append("concurrency: `overlap: skip`, `queue` or `replace` may be what is meant")
    if env := _env(workflow, notes):
        fields["env"] = env
    steps = [
        step for name, job in mapping(workflow.get("jobs")).items() for step in _steps(name, mapping(job), notes)
    ]
    if steps:
        fields["steps"] = steps
    else:
        notes.append("no step of it is a script: write what the job does")
    name = names.take(str(workflow.get("name") or PurePosixPath(file).stem))
    return ImportedJob(
        name=name, fields=fields, place=file, when="; ".join(crons), notes=notes, rules=_UnionRules(read_back)
    )


class _UnionRules:
    """Each entry fires by itself: a second that two of them name starts two runs on GitHub."""

    max_fires = 1_200_000

    def __init__(self, entries: list[CronFields]) -> None:
        self._entries = entries

    def fires(self, start: int, end: int) -> list[int]:
        utc = zone("UTC").tzinfo
        return sorted(second for entry in self._entries for second in WallRules(entry, utc).fires(start, end))


def _steps(job_name: str, job: Mapping[str, Any], notes: list[str]) -> Iterator[dict[str, Any]]:
    """The scripts of one job, one after the other."""
    if "strategy" in job or "if" in job:
        notes.append(f"{job_name}: its `if` or `strategy` is left out")
    if job.get("needs"):
        notes.append(f"{job_name} needs {job['needs']}: add `depends` to its first step")
    job_env, before = _env(job, notes), None
    for number, step in enumerate(map(mapping, items(job.get("steps"))), 1):
        label = f"{job_name}: {step.get('name') or step.get('uses') or f'step {number}'}"
        if "run" not in step:
            notes.append(f"{label} is an action of GitHub, and left out")
            continue
        if "${{" in str(step):
            notes.append(f"{label} has expressions of GitHub: write what they stand for")
        name = f"{job_name}-{number}"
        one: dict[str, Any] = {"name": name, "script": _script(step, label, notes)}
        if before:
            one["depends"] = before
        if env := {**job_env, **_env(step, notes)}:
            one["env"] = env
        before = name
        yield one


def _script(step: Mapping[str, Any], label: str, notes: list[str]) -> str:
    shell, folder = str(step.get("shell", "")), step.get("working-directory")
    if shell not in _SHELLS:
        notes.append(f"{label} asks for the shell {shell}")
    if folder:
        notes.append(f"{label} runs in {folder} of the checkout: write `dir`")
    return f"{_SHELLS.get(shell, _SHELLS[''])}{str(step['run']).rstrip()}\n"


def _env(holder: Mapping[str, Any], notes: list[str]) -> dict[str, str]:
    """Variables with plain values; those with an expression are left out, and named."""
    env = {}
    for name, value in mapping(holder.get("env")).items():
        if isinstance(value, dict | list) or "${{" in str(value) or REFERENCE.search(str(value)):
            notes.append(f"the variable {name} has an expression of GitHub, and is left out")
        else:
            env[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return env
