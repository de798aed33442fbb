"""What was imported, as job files: each is written, read back as a node would read it, and proved."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from ..core.cron import Recurrence
from ..core.definition import JobDefinition
from ..core.timeparse import iso, to_datetime
from ..importers.model import Imported, ImportedJob, Refused
from ..importers.proof import Proof, describe, prove
from ..sources.defaults import Defaults
from ..sources.yaml import read_text
from .output import as_yaml

_LISTED_LINES = 4
_UNPRINTABLE = re.compile(
    r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\x7f-\x9f\u2028\u2029\ufeff]"
)
_CROWD = 5  # as many jobs at one second are worth a line


class JobFile(NamedTuple):
    """An imported job, the definition that a node would read, and the proof of its times if it has any."""

    imported: ImportedJob
    definition: JobDefinition
    proof: Proof | None

    @property
    def verdict(self) -> str:
        if self.proof is None:
            return "no times"
        if self.proof.unavailable:
            return "unknown"
        return "differs" if self.proof.differences else "same"

    @property
    def times(self) -> Recurrence:
        return self.definition.schedules[0].times


def build_job_files(
    imported: Imported, defaults: Defaults, start: int, end: int
) -> tuple[list[JobFile], list[Refused]]:
    """The jobs that a node would take, and all entries that were refused."""
    built, refused = [], list(imported.refused)
    for job in imported.jobs:
        located, errors = read_text("\n".join(_yaml_lines(job)), job.place, job.name, defaults)
        if errors or not located:
            problem = errors[0].problem.split("\n", 1)[0] if errors else "there is no job in it"
            refused.append(Refused(job.place, job.when, problem))
            continue
        definition = located[0].job
        proof = None
        if job.rules is not None and definition.schedules:
            ours = definition.schedules[0]
            proof = prove(job.rules, ours.times, start, end, ours.policy.until)
        built.append(JobFile(job, definition, proof))
    return built, refused


def _yaml_lines(job: ImportedJob) -> list[str]:
    from ruamel.yaml.scalarstring import walk_tree  # noqa: PLC0415  (few commands write YAML)

    fields: dict[str, Any] = {"name": job.name, **deepcopy(dict(job.fields))}
    walk_tree(fields)
    return as_yaml(fields)


def job_file_lines(file: JobFile, scheduler: str) -> list[str]:
    """A job as a document of YAML, below comments that say where it comes from and what is different."""
    job = file.imported
    said = [f"{job.place}: {job.when}", *(f"Not carried over: {note}" for note in job.notes)]
    if file.proof is not None:
        verdict = {"same": "The same as", "differs": "Not the same as", "unknown": "Not compared with"}[
            file.verdict
        ]
        tzinfo = file.times.zone.tzinfo
        days = " to ".join(f"{to_datetime(at, tzinfo):%Y-%m-%d}" for at in (file.proof.start, file.proof.end))
        said += [f"{verdict} {scheduler}, {days}: {fires(file, scheduler)}", *differences(file, scheduler)]
    return [*(f"# {as_comment(line)}" for line in said), *_yaml_lines(job)]


def as_comment(text: str) -> str:
    """A text in one line that ends no comment."""
    return _UNPRINTABLE.sub(" ", text)


def fires(file: JobFile, scheduler: str) -> str:
    """How often each of the two fires."""
    proof = file.proof
    if proof is None:
        return str(file.times) if file.definition.schedules else "no times"
    ours = _fires(proof.ours)
    if proof.is_cut:
        ours += f" until {to_datetime(proof.end, file.times.zone.tzinfo):%Y-%m-%d}"
    if proof.unavailable:
        return f"{proof.unavailable}; Tickwise {ours}"
    if proof.differences:
        return f"{scheduler} {_fires(proof.theirs)}, Tickwise {ours}"
    if proof.ours:
        return ours
    following = file.times.after(proof.end)
    return f"{ours}, {'and none later' if following is None else f'the next at {iso(following)}'}"


def _fires(number: int) -> str:
    return "1 fire" if number == 1 else f"{number:,} fires"


def differences(file: JobFile, scheduler: str) -> list[str]:
    """The days on which the two differ, those that differ alike in one line; the first lines of many."""
    alike: dict[str, list[str]] = {}
    for each in () if file.proof is None else file.proof.differences:
        alike.setdefault(describe(each, scheduler, file.times.zone), []).append(str(each.day))
    lines = [
        f"{days[0]}{f' and {len(days) - 1} more days' if days[1:] else ''}: {text}" for text, days in alike.items()
    ]
    return (
        lines
        if len(lines) <= _LISTED_LINES
        else [*lines[:_LISTED_LINES], f"and {len(lines) - _LISTED_LINES} more"]
    )


def crowds(files: Sequence[JobFile]) -> Iterator[str]:
    """The second at which most jobs start together, if they are many."""
    proved = [file for file in files if file.proof]
    together = Counter(second for file in proved for second in (file.proof.starts if file.proof else ()))
    most = max(together.values(), default=0)
    if most >= _CROWD:
        first = min(second for second, number in together.items() if number == most)
        often = sum(number == most for number in together.values())
        shown = to_datetime(first, proved[0].times.zone.tzinfo)
        yield (
            f"{most} jobs start at the same second, {often:,} times, first at {shown:%Y-%m-%d %H:%M %Z}: "
            "`jitter: 5m` in a job spreads its starts"
        )
