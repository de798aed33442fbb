"""What every store refuses, in the same words and before it changes anything."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from math import isfinite
from typing import Any

from ..core.change import Added, BackfillAsked, Change, Deleted, Paused, Renamed, Rescheduled, Updated
from ..core.codec import encode_job, encode_schedule
from ..core.definition import JobDefinition, check_name
from ..core.errors import ConflictError, InputError, nearest
from ..core.model import Pause, Trigger
from ..core.payload import check_text, clip, decode, encode
from ..core.settle import LeaseExpired, TooLate
from .records import LOG_TAIL, Enqueue, Finish, LogPart, Node, QueueLimit, StepReport

LONGEST_KEY, LONGEST_WORDS, LONGEST_NAME, LONGEST_ERROR = 200, 1_000, 100, 10_000
UNREADABLE_URL = (
    "the store's URL cannot be read: write special characters in the user's name and the password as percent "
    "codes (%40 for @, %2F for /, %23 for #), and the port as a number"
)
_END_OF_TIME = 253_402_300_800  # the first second that no calendar here has
_ASKED_FOR = (Trigger.ENQUEUE, Trigger.MANUAL)


def checked_job(job: JobDefinition, source: str) -> JobDefinition:
    """The job with its source on every schedule, if all of it can be kept."""
    check_name(job.name, "the name of a job")
    check_name(job.queue, "the name of a queue")
    check_text(source, "a source", LONGEST_WORDS)
    encode_job(job)
    names: set[str] = set()
    for schedule in job.schedules:
        name = check_name(schedule.name, "the name of a schedule")
        if name in names:
            raise InputError(f"job {job.name} has two schedules named {name}: rename one of them")
        if schedule.job != job.name:
            raise InputError(f"schedule {name} says that its job is {schedule.job[:60]!r}, but {job.name} has it")
        if schedule.source not in ("", source):
            raise InputError(f"schedule {name} says that its source is {schedule.source!r}, but it is {source!r}")
        encode_schedule(schedule)
        names.add(name)
    return replace(job, schedules=tuple(replace(schedule, source=source) for schedule in job.schedules))


def check_version(job: str, version: int, over: int | None) -> None:
    """What is written over a version of a job must not be written over another (0: it is not there)."""
    if over is None or over == version:
        return
    if not over:
        raise ConflictError(f"there is a job {job} already: update it instead")
    raise ConflictError(f"{job} has been changed meanwhile: look whether your change still fits, and try again")


def check_needs(job: JobDefinition, known: Mapping[str, Sequence[str]]) -> None:
    """What a job waits for must exist and never lead back to it (S35). `known` are the other jobs' schedules."""
    own = {s.name: [after.schedule for after in s.policy.after] for s in job.schedules}
    needs = {**known, **own}
    for name, wanted in own.items():
        for missing in (other for other in wanted if other not in needs):
            hint = nearest(missing, list(needs))
            raise InputError(f"{name} runs after {missing[:60]!r}, which does not exist{hint}: define it first")
    try:
        TopologicalSorter({name: wanted for name, wanted in needs.items() if wanted}).prepare()
    except CycleError as error:
        circle = " before ".join(error.args[1])
        raise InputError(f"job {job.name}: schedules wait for each other in a circle, {circle}") from None


def checked_enqueue(one: Enqueue) -> Enqueue:
    """What is asked for, with its params as they will be read back."""
    if one.trigger not in _ASKED_FOR:
        raise InputError(f"a run is enqueued by code or triggered by hand, but the trigger is {one.trigger}")
    check_text(one.by, "the name of who asks", LONGEST_WORDS)
    if one.key is not None:
        check_text(one.key, "a key", LONGEST_KEY)
    if one.at is not None:
        check_second(one.at, "the time to run at")
    if one.params is None:
        return one
    if not isinstance(one.params, Mapping):
        raise InputError(f"params are a mapping of names to values, not {type(one.params).__name__}")
    return replace(one, params=decode(encode(dict(one.params), "params")))


def check_change(change: Change) -> None:
    """A person's word: definitions are changed where they were written."""
    match change:
        case Added() | Updated() | Renamed() | Deleted():
            raise InputError("a definition is written by define() and remove(), not by a change of one schedule")
        case Paused(by, reason):
            check_pause(Pause(0, by, reason))
        case Rescheduled(to):
            check_second(to, "the new time")
        case BackfillAsked(start, end):
            check_second(start, "the start of a backfill")
            check_second(end, "the end of a backfill")
        case _:
            pass


def check_pause(pause: Pause) -> None:
    check_text(pause.by, "the name of who pauses", LONGEST_WORDS)
    check_text(pause.reason, "the reason of a pause", LONGEST_WORDS)


def check_second(second: int, what: str) -> None:
    if not -_END_OF_TIME < second < _END_OF_TIME:
        raise InputError(f"{what} is {second:e} seconds after 1970, which is no date: give UTC seconds")


def check_limit(limit: QueueLimit) -> None:
    check_name(limit.queue, "the name of a queue")
    for what, value in (("concurrency", limit.concurrency), ("starts_per_second", limit.starts_per_second)):
        if value is not None and not (value > 0 and isfinite(value)):
            raise InputError(f"{what} of the queue {limit.queue} is {value}: give a number above 0, or none")


def check_node(node: Node) -> None:
    for text, what in ((node.id, "the name of a node"), (node.host, "a host"), (node.version, "a version")):
        check_text(text, what, LONGEST_KEY)
    for queue in node.queues:
        check_name(queue, "the name of a queue")


def check_outcomes(ended: Sequence[Finish]) -> None:
    for finish in ended:
        if isinstance(finish.outcome, LeaseExpired | TooLate):
            raise InputError("that a worker vanished, or that a run is too late, is found by expire()")


def kept_result(result: Any, error: str) -> tuple[Any, str]:
    """A result as it will be read back; one that cannot be kept ends no run, but it is said."""
    try:
        return decode(encode(result, "the result")), clip(error, LONGEST_ERROR)
    except InputError as unfit:
        note = f"the result was not kept: {unfit}"
        return None, clip(f"{error}\n{note}" if error else note, LONGEST_ERROR)


def checked_part(part: LogPart) -> LogPart:
    check_text(part.step, "the name of a step", LONGEST_KEY)
    check_text(part.stream, "the name of a stream", LONGEST_KEY)
    return part._replace(text=clip(part.text, LOG_TAIL))


def checked_step(step: StepReport) -> StepReport:
    check_text(step.name, "the name of a step", LONGEST_KEY)
    check_text(step.state, "the state of a step", LONGEST_NAME)
    return step._replace(error=clip(step.error, LONGEST_ERROR))
