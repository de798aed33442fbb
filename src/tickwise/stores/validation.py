"""What every store refuses, in the same words and before it changes anything."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from math import isfinite
from typing import Any, TypeVar

from ..core.change import Added, BackfillAsked, Change, Deleted, Paused, Renamed, Rescheduled, Updated
from ..core.codec import encode_job, encode_schedule
from ..core.definition import JobDefinition, check_name
from ..core.errors import ConflictError, InputError, StaleVersionError, did_you_mean, nearest_word
from ..core.model import Pause, Trigger
from ..core.payload import MAX_PAYLOAD, check_text, clip, decode, encode
from ..core.settle import LeaseExpired, TooLate
from .records import (
    LOG_TAIL,
    MICRO,
    AccessRole,
    AuditEntry,
    Enqueue,
    Finish,
    LogPart,
    Node,
    Page,
    QueueLimit,
    ScheduleFilter,
    StepReport,
    Token,
)

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
    raise StaleVersionError(
        f"{job} has been changed meanwhile: look whether your change still fits, and try again"
    )


def check_needs(job: JobDefinition, known: Mapping[str, Sequence[str]]) -> None:
    """What a job waits for must exist and never lead back to it (S35). `known` are the other jobs' schedules."""
    own = {s.name: [after.schedule for after in s.policy.after] for s in job.schedules}
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


# What the words of a filter mean, the same in every store.


def checked_filter(wanted: ScheduleFilter) -> ScheduleFilter:
    """The filter, if there can be such schedules."""
    if wanted.due_before is not None:
        check_second(wanted.due_before, "the time before which schedules are due")
    return wanted


def checked_since(since: int) -> int:
    """An instant in microseconds since which something may have changed."""
    check_second(since // MICRO, "the time since which something changed")
    return since


def names_part(text: str, *names: str | None) -> bool:
    """Whether a text is part of one of these names, in any case."""
    return any(text.lower() in name.lower() for name in names if name is not None)


def like(text: str | None) -> str | None:
    """The pattern that `LIKE … ESCAPE '!'` compares with lower-case names, to the same effect."""
    if text is None:
        return None
    plain = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{plain}%"


def has_label(labels: Mapping[str, str], wanted: str) -> bool:
    """Whether a job has a label, `key` or `key=value`."""
    key, given, value = wanted.partition("=")
    return key in labels and (not given or labels[key] == value)


# Pages of a read: how long one may be, and all of them one after the other.

T = TypeVar("T")
_MAX_PAGE = 10_000


def page_size(limit: int) -> int:
    """The rows of a page, if it may have so many."""
    if not 1 <= limit <= _MAX_PAGE:
        raise InputError(f"a page has 1 to {_MAX_PAGE} rows, not {limit}")
    return limit


async def all_pages(read: Callable[[str | None], Awaitable[Page[T]]]) -> list[T]:
    """What all pages hold; `read` is given the key of the page before."""
    found: list[T] = []
    after: str | None = None
    while True:
        page = await read(after)
        found += page.items
        if page.after is None:
            return found
        after = page.after


# What every store refuses of tokens, audit entries and claims, and how it keeps them.

USED_EVERY = 60 * MICRO  # a token's use is noted at most so often
FORGOTTEN_AFTER = 86_400 * MICRO  # since a claim was made
FORGET_AT_ONCE = 100  # claims that are forgotten when one is made
LONGEST_VALUE = 65_536  # characters of JSON that an audit entry keeps of a value
_BEYOND = 1 << 62
_LONGEST_NOTE = 1_000


def askable(text: str | None) -> bool:
    """Whether there can be anything by this id, digest or subject: what cannot be kept was never kept."""
    try:
        check_text(text or "", "a name", LONGEST_KEY)
    except InputError:
        return False
    return True


def checked_token(token: Token, digest: str, now: int) -> Token:
    """The token as it is issued, if all of it can be kept."""
    for text, what, most in (
        (token.id, "the id of a token", LONGEST_KEY),
        (token.name, "the name of a token", LONGEST_NAME),
        (digest, "the digest of a token", LONGEST_KEY),
        *((scope, "a scope", LONGEST_KEY) for scope in token.scopes),
    ):
        if not check_text(text, what, most):
            raise InputError(f"{what} is empty: give one")
    if token.role not in list(AccessRole):
        raise InputError(f"the role of a token is {', '.join(AccessRole)}, not {str(token.role)[:60]!r}")
    if token.expires_at is not None and not 0 <= token.expires_at < _BEYOND:
        raise InputError(f"a token cannot expire at {token.expires_at:e}: give microseconds since 1970")
    return replace(token, role=AccessRole(token.role), created_at=now, revoked_at=None, used_at=None)


def taken(name: str, known: str) -> ConflictError:
    """Why a token is not issued: one that is there already has its name, or is the same."""
    if name == known:
        return ConflictError(f"there is a token named {name!r}: revoke it first, or choose another name")
    return ConflictError(f"the token {name!r} has the id or the secret of another: make a new one")


def no_token(token: str) -> InputError:
    return InputError(f"there is no token with the id {token[:60]!r}: `tickwise token list` shows them")


def is_stale(token: Token, now: int) -> bool:
    """Whether its use is to be noted again."""
    return token.used_at is None or token.used_at <= now - USED_EVERY


def checked_entry(entry: AuditEntry) -> AuditEntry:
    """The entry as it will be read back."""
    check_text(entry.who, "the name of who did it", LONGEST_WORDS)
    check_text(entry.action, "the name of an action", LONGEST_KEY)
    check_text(entry.subject, "the subject of an action", LONGEST_KEY)
    return entry._replace(before=_kept(entry.before), after=_kept(entry.after))


def _kept(value: Any) -> Any:
    try:
        text = encode(value, "the value")
    except InputError as unfit:
        return clip(f"not kept: {unfit}", _LONGEST_NOTE)
    if len(text) > LONGEST_VALUE:
        return f"not kept: the value has {len(text):,} characters of JSON"
    return decode(text)


def audit_number(after: str) -> int:
    """The id of the last entry of a page, as a number."""
    if not (after.isascii() and after.isdigit() and len(after) < 19):
        raise InputError(f"{after[:60]!r} is not the key of a page: pass on what the page before gave")
    return int(after)


def check_claim(key: str, mark: str, seconds: int) -> None:
    check_text(key, "the key of a claim", LONGEST_KEY)
    check_text(mark, "the mark of a claim", LONGEST_WORDS)
    if not 0 < seconds * MICRO <= FORGOTTEN_AFTER:
        raise InputError(f"a claim is held for more than 0 seconds and at most a day, not {seconds}")


def check_answer(key: str, answer: str) -> None:
    check_text(key, "the key of a claim", LONGEST_KEY)
    check_text(answer, "the answer to a claim", MAX_PAYLOAD)
