"""The checks of the store contract: what every store refuses, in the same words, before it changes anything.

`check_…` raises `InputError`. `checked_…` does too, and returns the value as it will be read back. `can_…` answers
for a read: false means that nothing can be found, because such a text was never stored.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from math import isfinite

from ..core.backfill import BackfillAsked
from ..core.change import (
    Added,
    Change,
    Deleted,
    Paused,
    Renamed,
    Rescheduled,
    Restored,
    SkipAsked,
    SkipTakenBack,
    Switched,
    Updated,
)
from ..core.codec import encode_job, encode_schedule
from ..core.definition import MAX_PRIORITY, JobDefinition, ScheduleDefinition, check_name
from ..core.errors import ConflictError, InputError, StaleVersionError, TickwiseError, did_you_mean, nearest_word
from ..core.event_inbox import EventsReceived, check_new_events
from ..core.model import Pause, Trigger
from ..core.payload import UnreadableText, check_text, clip, decode, encode
from ..core.settle import TooLate, Waits
from ..core.shadow import FireSeen, ShadowAdopted
from ..core.slot_history import Bins
from ..core.step_waits import StepWait
from .records import (
    LOG_TAIL,
    MICRO,
    DecisionFilter,
    Enqueue,
    Finish,
    LeaseRequest,
    LogPart,
    Node,
    QueueLimit,
    RunFilter,
    ScheduleFilter,
    StepReport,
)

LONGEST_KEY, LONGEST_WORDS, LONGEST_NAME, LONGEST_ERROR = 200, 1_000, 100, 10_000  # characters
UNREADABLE_URL = (
    "the store's URL cannot be read: write special characters in the user's name and the password as percent "
    "codes (%40 for @, %2F for /, %23 for #), and the port as a number"
)
MAX_SECOND = 253_402_300_800  # the first second of the year 10000, which no calendar here has
_MAX_NUMBER = (1 << 63) - 1
_MAX_ENQUEUE = 10_000  # runs of one call
_LONGEST_TRACEPARENT = 100  # characters; those of today have 55
_MAX_KEY_TTL = 10 * 366 * 86_400
_MAX_SPAN = 10_000_000  # minutes or hours
_MAX_BINS = 10_000
_TRIGGERS_OF_ENQUEUE = (Trigger.ENQUEUE, Trigger.MANUAL, Trigger.STEP)
_FOUND_BY_EXPIRE = TooLate


# Names, ids and times.


def can_exist(*texts: str | None, longest: int = LONGEST_KEY) -> bool:
    """Whether there can be anything by these names: what cannot be stored was never stored."""
    try:
        for text in texts:
            check_text(text or "", "a name", longest)
    except InputError:
        return False
    return True


def check_asked_name(name: str) -> None:
    """The name of something that must exist."""
    check_text(name, "a name", LONGEST_KEY)


def is_number(text: str) -> bool:
    """Whether a text can be the id of a run, or of another numbered row."""
    return len(text) < 20 and text.isascii() and text.isdigit() and int(text) <= _MAX_NUMBER


def run_number(run: str) -> int:
    """The id of a run, as a number."""
    if not is_number(run):
        raise InputError(
            f"{run[:60]!r} is not the id of a run: ids are numbers, as `tickwise runs list` shows them"
        )
    return int(run)


def check_second(second: int, what: str) -> None:
    if not -MAX_SECOND < second < MAX_SECOND:
        raise InputError(f"{what} is {second:e} seconds after 1970, which is no date: give UTC seconds")


def check_instant(instant: int, what: str) -> None:
    """The same for microseconds."""
    check_second(instant // MICRO, what)


def check_span(number: int, unit: str) -> None:
    """How far back statistics go."""
    if not 1 <= number <= _MAX_SPAN:
        raise InputError(f"statistics go back 1 to {_MAX_SPAN:,} {unit}, not {number}")


def check_bins(bins: Bins) -> None:
    """Stretches of time that statistics are counted in."""
    if bins.step < 1 or not 1 <= bins.number <= _MAX_BINS:
        raise InputError(
            f"there are 1 to {_MAX_BINS:,} bins of a second or more, not {bins.number} of {bins.step}"
        )
    check_second(bins.since, "the first slot of the bins")
    check_second(bins.until, "the end of the bins")


# Definitions.


def check_source(source: str) -> None:
    check_text(source, "a source", LONGEST_WORDS)


def checked_job(job: JobDefinition, source: str) -> JobDefinition:
    """The job with its source on every schedule, if all of it can be kept."""
    check_name(job.name, "the name of a job")
    check_name(job.queue, "the name of a queue")
    check_source(source)
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


def valid_jobs(jobs: Sequence[JobDefinition], source: str) -> list[JobDefinition]:
    """Those that can be stored; `define` says what is wrong with the others."""
    valid = []
    for job in jobs:
        with suppress(TickwiseError):
            valid.append(checked_job(job, source))
    return valid


def check_version(job: str, version: int, over: int | None) -> None:
    """What is written over a version of a job must not be written over another (0: it is not there)."""
    if over is None or over == version:
        return
    if not over:
        raise ConflictError(f"there is a job {job} already: update it instead")
    raise StaleVersionError(
        f"{job} has been changed meanwhile: look whether your change still fits, and try again"
    )


def needed_schedules(schedule: ScheduleDefinition) -> list[str]:
    """The schedules for whose successes a schedule waits."""
    return [after.schedule for after in schedule.policy.after if after.schedule]


def check_needs(job: JobDefinition, known: Mapping[str, Sequence[str]]) -> None:
    """What a job waits for must exist and never lead back to it (S35). `known` are the other jobs' schedules."""
    own = {s.name: needed_schedules(s) for s in job.schedules}
    needs = {**known, **own}
    for name, wanted in own.items():
        for missing in (other for other in wanted if other not in needs):
            near = nearest_word(missing, needs)
            problem = (
                f"{name} runs after {missing[:60]!r}, which does not exist{did_you_mean(near)}: define it first"
            )
            raise InputError(problem, nearest=near)
    try:
        TopologicalSorter({name: wanted for name, wanted in needs.items() if wanted}).prepare()
    except CycleError as error:
        circle = " before ".join(error.args[1])
        raise InputError(f"job {job.name}: schedules wait for each other in a circle, {circle}") from None


def check_change(change: Change) -> None:
    """A change that a person may ask for: definitions are changed by their source."""
    match change:
        case Added() | Updated() | Renamed() | Deleted() | Switched():
            raise InputError("a definition is written by define() and remove(), not by a change of one schedule")
        case Paused(by, reason, until):
            check_pause(Pause(0, by, reason, until))
        case SkipAsked(slot, by, reason):
            check_second(slot, "the slot to skip")
            check_text(by, "the name of who skips", LONGEST_WORDS)
            check_text(reason, "the reason of a skip", LONGEST_WORDS)
        case SkipTakenBack(second) | Restored(second):
            check_second(second, "the slot to run after all, or the time until which a lost store worked")
        case Rescheduled(to):
            check_second(to, "the new time")
        case EventsReceived(events):
            check_new_events(events)
        case FireSeen(at, key):
            check_second(at, "the time of a fire")
            check_text(key, "the key of a fire", LONGEST_KEY)
        case ShadowAdopted(by):
            check_text(by, "the name of who adopts", LONGEST_WORDS)
        case BackfillAsked(start, end):
            check_second(start, "the start of a backfill")
            check_second(end, "the end of a backfill")
        case _:
            pass


def check_pause(pause: Pause) -> None:
    check_text(pause.by, "the name of who pauses", LONGEST_WORDS)
    check_text(pause.reason, "the reason of a pause", LONGEST_WORDS)
    if pause.until is not None:
        check_second(pause.until, "the end of a pause")


# Runs.


def checked_enqueues(asked: Sequence[Enqueue]) -> list[Enqueue]:
    """The runs of one call."""
    if len(asked) > _MAX_ENQUEUE:
        raise InputError(f"{len(asked)} runs at once are too many: enqueue at most {_MAX_ENQUEUE} in one call")
    return [_checked_enqueue(one) for one in asked]


def _checked_enqueue(one: Enqueue) -> Enqueue:
    check_asked_name(one.job)
    if one.trigger not in _TRIGGERS_OF_ENQUEUE:
        raise InputError(f"a run is enqueued by code or triggered by hand, but the trigger is {one.trigger}")
    check_text(one.by, "the name of who asks", LONGEST_WORDS)
    check_text(one.traceparent, "a traceparent", _LONGEST_TRACEPARENT)
    if one.key is not None:
        check_text(one.key, "a key", LONGEST_KEY)
    if one.key_ttl is not None:
        _check_key_ttl(one)
    if one.queue is not None:
        check_name(one.queue, "the name of a queue")
    if one.priority is not None and not _is_within(one.priority, -MAX_PRIORITY, MAX_PRIORITY):
        raise InputError(f"the priority is {one.priority!r:.40}: it is from -1,000 to 1,000", field="priority")
    if one.at is not None:
        check_second(one.at, "the time to run at")
    if one.params is None:
        return one
    if not isinstance(one.params, Mapping):
        raise InputError(f"params are a mapping of names to values, not {type(one.params).__name__}")
    return replace(one, params=decode(encode(dict(one.params), "params")))


def _check_key_ttl(one: Enqueue) -> None:
    if one.key is None:
        raise InputError("key_ttl: there is no key that it could free: give a key", field="key_ttl")
    if not _is_within(one.key_ttl, 1, _MAX_KEY_TTL):
        raise InputError(f"key_ttl: {one.key_ttl!r:.40} is no time of 1 second to 10 years", field="key_ttl")


def _is_within(number: object, least: int, most: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and least <= number <= most


def check_node_id(node: str) -> None:
    check_text(node, "the name of a node", LONGEST_KEY)


def check_lease_request(wanted: LeaseRequest) -> None:
    check_node_id(wanted.node)
    for queue in wanted.queues:
        check_name(queue, "the name of a queue")


def check_token_of_lease(token: str) -> None:
    check_text(token, "the token of a lease", LONGEST_WORDS)


def checked_tokens(held: Mapping[str, str]) -> dict[int, str]:
    """Tokens by the numbers of their runs."""
    for token in held.values():
        check_token_of_lease(token)
    return {run_number(run): token for run, token in held.items()}


def checked_part(part: LogPart) -> LogPart:
    check_text(part.step, "the name of a step", LONGEST_KEY)
    check_text(part.stream, "the name of a stream", LONGEST_KEY)
    return part._replace(text=clip(part.text, LOG_TAIL))


def checked_step(step: StepReport) -> StepReport:
    check_text(step.name, "the name of a step", LONGEST_KEY)
    check_text(step.state, "the state of a step", LONGEST_NAME)
    if step.waits_for and StepWait.of(step.waits_for) is None:
        raise InputError(f"{step.waits_for[:60]!r} is nothing that a step waits for")
    if step.outputs:
        try:
            encode(decode(step.outputs), "the outputs of a step")
        except UnreadableText as error:
            raise InputError(f"the outputs of a step: {error}") from None
    return step._replace(error=clip(step.error, LONGEST_ERROR))


def checked_finishes(ended: Sequence[Finish]) -> list[Finish]:
    """The ends of attempts, which mostly share one token."""
    for token in {one.token for one in ended}:
        check_token_of_lease(token)
    return [_checked_finish(one) for one in ended]


def _checked_finish(ended: Finish) -> Finish:
    """The end of an attempt. A result that cannot be stored is left out, and the error says so."""
    run, token, outcome, result, error = ended
    if isinstance(outcome, _FOUND_BY_EXPIRE):
        raise InputError("that a run is too late is found by expire()")
    if isinstance(outcome, Waits) and not error:
        raise InputError("a run that waits says what it waits for")
    number = str(run_number(run))
    if number == run and result is None and not error:
        return ended
    if result is not None:
        try:
            result = decode(encode(result, "the result"))
        except InputError as unfit:
            note = f"the result was not kept: {unfit}"
            result, error = None, f"{error}\n{note}" if error else note
    return Finish(number, token, outcome, result, clip(error, LONGEST_ERROR) if error else "")


# The fleet.


def check_node(node: Node) -> None:
    check_node_id(node.id)
    check_text(node.host, "a host", LONGEST_KEY)
    check_text(node.version, "a version", LONGEST_KEY)
    for queue in node.queues:
        check_name(queue, "the name of a queue")
    for source in node.sources:
        check_source(source)


def check_asked_queue(queue: str) -> None:
    check_name(queue, "the name of a queue")


def check_limit(limit: QueueLimit) -> None:
    check_asked_queue(limit.queue)
    for what, value in (("concurrency", limit.concurrency), ("starts_per_second", limit.starts_per_second)):
        if value is not None and not (value > 0 and isfinite(value)):
            raise InputError(f"{what} of the queue {limit.queue} is {value}: give a number above 0, or none")


# Filters: whether anything can match.


def can_match_schedules(wanted: ScheduleFilter) -> bool:
    if wanted.due_before is not None:
        check_second(wanted.due_before, "the time before which schedules are due")
    return can_exist(wanted.job, wanted.text) and can_exist(wanted.source, longest=LONGEST_WORDS)


def can_match_runs(wanted: RunFilter) -> bool:
    if wanted.slot is not None:
        check_second(wanted.slot, "a slot")
    for instant in (wanted.since, wanted.until):
        if instant is not None:
            check_instant(instant, "the time of runs")
    texts = wanted.job, wanted.schedule, wanted.queue, wanted.key, wanted.text
    return can_exist(*texts) and can_exist(wanted.error, *wanted.words, longest=LONGEST_WORDS)


def can_match_decisions(wanted: DecisionFilter) -> bool:
    for second in (wanted.slot, wanted.since, wanted.until):
        if second is not None:
            check_second(second, "a slot")
    return can_exist(wanted.schedule)
