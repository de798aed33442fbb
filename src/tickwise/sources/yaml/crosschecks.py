"""Checks across definitions: names that are used twice (S26), schedules in `after` (S35), and child jobs (S74)."""

from collections.abc import Iterable, Iterator

from ...core.definition import JobDefinition, jobs_called, jobs_listened_to
from ...core.errors import did_you_mean, nearest_word
from ..spec.cycles import describe_cycle, find_cycle
from ..spec.error import DefinitionError
from .reader import LocatedJob, ParsedDocument

_MAX_COMPARED = 1_000


def cross_check(
    documents: list[ParsedDocument], known_schedules: frozenset[str]
) -> tuple[list[ParsedDocument], list[DefinitionError]]:
    """The documents that fit together, and the errors of the others."""
    kept, errors = _without_duplicates(documents)
    refused: set[str] = set()
    while (
        wrong := _unknown_dependencies(kept, known_schedules, refused)
        or _circular_dependencies(kept)
        or _circular_children(kept)
        or _circular_events(kept)
    ):
        errors += wrong.values()
        refused |= {name for place in wrong for name in _schedule_names(kept[place])}
        kept = [document for place, document in enumerate(kept) if place not in wrong]
    return kept, errors


def _job_of(document: ParsedDocument) -> JobDefinition:
    assert document.located is not None  # noqa: S101  (only documents without errors come here)
    return document.located.job


def _schedule_names(document: ParsedDocument) -> list[str]:
    return [schedule.name for schedule in _job_of(document).schedules]


def _dependencies(document: ParsedDocument) -> Iterator[tuple[str, int, str]]:
    """Each schedule that waits, the index in `after`, and the schedule it waits for."""
    for schedule in _job_of(document).schedules:
        for i, needed in enumerate(schedule.policy.after):
            if needed.schedule:
                yield schedule.name, i, needed.schedule


def _without_duplicates(documents: Iterable[ParsedDocument]) -> tuple[list[ParsedDocument], list[DefinitionError]]:
    """S26: the first document with a name stays, the error of the second says where the first is."""
    jobs: dict[str, LocatedJob] = {}
    schedules: dict[str, LocatedJob] = {}
    kept, errors = [], []
    for document in documents:
        if document.located is None:
            continue
        names = [
            (_job_of(document).name, "job", jobs),
            *((name, "schedule", schedules) for name in _schedule_names(document)),
        ]
        duplicate = next(((name, what, taken[name]) for name, what, taken in names if name in taken), None)
        if duplicate:
            name, what, first = duplicate
            problem = f"the {what} {name} is already defined in {first.file}:{first.line}, which goes on"
            errors.append(document.refuse(problem, "name"))
            continue
        for name, _, taken in names:
            taken[name] = document.located
        kept.append(document)
    return kept, errors


def _unknown_dependencies(
    documents: list[ParsedDocument], known: frozenset[str], refused: set[str]
) -> dict[int, DefinitionError]:
    names = known | {name for document in documents for name in _schedule_names(document)}
    similar = sorted(names) if len(names) <= _MAX_COMPARED else []
    errors = {}
    for place, document in enumerate(documents):
        for _, i, needed in _dependencies(document):
            if needed not in names:
                hint = did_you_mean(nearest_word(needed, similar))
                why = "was refused itself" if needed in refused else f"is unknown{hint}"
                problem = f"the schedule {needed} {why}"
                errors[place] = document.refuse(problem, "after", i, "schedule")
                break
    return errors


def _circular_dependencies(documents: list[ParsedDocument]) -> dict[int, DefinitionError]:
    """All documents of one cycle, if there is one: the error belongs to all of them."""
    graph: dict[str, list[str]] = {}
    for document in documents:
        for waiting, _, needed in _dependencies(document):
            graph.setdefault(waiting, []).append(needed)
    cycle = find_cycle(graph)
    problem = f"these schedules wait for each other: {describe_cycle(cycle)}"
    return {
        place: document.refuse(problem, "after")
        for place, document in enumerate(documents)
        if set(_schedule_names(document)) & set(cycle)
    }


def _circular_children(documents: list[ParsedDocument]) -> dict[int, DefinitionError]:
    """All jobs of a circle in which each has the next as a step (S74)."""
    jobs = [_job_of(document) for document in documents]
    cycle = find_cycle({job.name: called for job in jobs if (called := jobs_called(job))})
    problem = f"these jobs are steps of each other: {describe_cycle(cycle)}"
    return {
        place: documents[place].refuse(problem, "steps")
        for place, job in enumerate(jobs)
        if job.name in set(cycle)
    }


def _circular_events(documents: list[ParsedDocument]) -> dict[int, DefinitionError]:
    """All jobs of a circle in which each is started by the end of the one before, or is a step of it (S70)."""
    jobs = [_job_of(document) for document in documents]
    causes = {job.name: list(jobs_listened_to(job)) for job in jobs}
    for job in jobs:
        for called in jobs_called(job):
            causes.setdefault(called, []).append(job.name)
    cycle = find_cycle(causes)
    problem = f"these jobs would start each other again and again: {describe_cycle(cycle)}"
    return {
        place: documents[place].refuse(problem, "on_event")
        for place, job in enumerate(jobs)
        if job.name in set(cycle) and jobs_listened_to(job)
    }
