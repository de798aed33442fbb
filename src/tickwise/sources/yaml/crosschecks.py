"""What only a whole set of definitions shows: names given twice (S26), schedules that wait for others (S35)."""

from collections.abc import Iterable, Iterator

from ...core.definition import JobDefinition
from ...core.errors import did_you_mean, nearest_word
from .cycles import describe_cycle, find_cycle
from .error import DefinitionError
from .reader import Placed, Read

_MOST_COMPARED = 1_000


def cross_check(
    documents: list[Read], known_schedules: frozenset[str]
) -> tuple[list[Read], list[DefinitionError]]:
    """The documents that can stand side by side, and why the others cannot."""
    kept, errors = _without_doubles(documents)
    refused: set[str] = set()
    while wrong := _unknown(kept, known_schedules, refused) or _circular(kept):
        errors += wrong.values()
        refused |= {name for place in wrong for name in _schedules(kept[place])}
        kept = [document for place, document in enumerate(kept) if place not in wrong]
    return kept, errors


def _job(document: Read) -> JobDefinition:
    assert document.placed is not None  # noqa: S101  (only whole documents are settled)
    return document.placed.job


def _schedules(document: Read) -> list[str]:
    return [schedule.name for schedule in _job(document).schedules]


def _needs(document: Read) -> Iterator[tuple[str, int, str]]:
    """Each schedule that waits, the place in `after`, and what it waits for."""
    for schedule in _job(document).schedules:
        for i, needed in enumerate(schedule.policy.after):
            yield schedule.name, i, needed.schedule


def _without_doubles(documents: Iterable[Read]) -> tuple[list[Read], list[DefinitionError]]:
    """S26: the first of a name goes on, the second is told where the first stands."""
    jobs: dict[str, Placed] = {}
    schedules: dict[str, Placed] = {}
    kept, errors = [], []
    for document in documents:
        if document.placed is None:
            continue
        names = [
            (_job(document).name, "job", jobs),
            *((name, "schedule", schedules) for name in _schedules(document)),
        ]
        double = next(((name, what, taken[name]) for name, what, taken in names if name in taken), None)
        if double:
            name, what, first = double
            problem = f"the {what} {name} is already defined in {first.file}:{first.line}, which goes on"
            errors.append(document.refuse(problem, "name"))
            continue
        for name, _, taken in names:
            taken[name] = document.placed
        kept.append(document)
    return kept, errors


def _unknown(documents: list[Read], known: frozenset[str], refused: set[str]) -> dict[int, DefinitionError]:
    names = known | {name for document in documents for name in _schedules(document)}
    similar = sorted(names) if len(names) <= _MOST_COMPARED else []
    found = {}
    for place, document in enumerate(documents):
        for _, i, needed in _needs(document):
            if needed not in names:
                why = (
                    "was refused itself"
                    if needed in refused
                    else f"is unknown{did_you_mean(nearest_word(needed, similar))}"
                )
                problem = f"the schedule {needed} {why}"
                found[place] = document.refuse(problem, "after", i, "schedule")
                break
    return found


def _circular(documents: list[Read]) -> dict[int, DefinitionError]:
    """All documents of one cycle, if there is one: none of them is more to blame than the others."""
    graph: dict[str, list[str]] = {}
    for document in documents:
        for waiting, _, needed in _needs(document):
            graph.setdefault(waiting, []).append(needed)
    cycle = find_cycle(graph)
    problem = f"these schedules wait for each other: {describe_cycle(cycle)}"
    return {
        place: document.refuse(problem, "after")
        for place, document in enumerate(documents)
        if set(_schedules(document)) & set(cycle)
    }
