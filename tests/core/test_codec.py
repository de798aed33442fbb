"""Definitions and schedule state as text: they come back as they were, and equal ones have one text."""

import pickle
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.blackout import Blackout
from tickwise.core.codec import (
    decode_blackouts,
    decode_job,
    decode_rest,
    decode_schedule,
    encode_blackouts,
    encode_job,
    encode_rest,
    encode_schedule,
    unfit_part,
)
from tickwise.core.cron import Every, Recurrence, parse
from tickwise.core.cron.calendar_days import OnCalendar, Roll
from tickwise.core.cron.day_set import DaySet
from tickwise.core.cron.recurrences import AnyOf, At, Window
from tickwise.core.cron.rule import Rule
from tickwise.core.cron.zone import zone
from tickwise.core.definition import (
    After,
    Catchup,
    Command,
    Handlers,
    HttpCall,
    JobDefinition,
    Keep,
    Kind,
    Outcome,
    Overlap,
    Policy,
    Precondition,
    PythonCall,
    RetryPolicy,
    ScheduleDefinition,
    Script,
    Step,
)
from tickwise.core.errors import InputError
from tickwise.core.model import Backfill, Decision, Deferral, Disabled, Move, Pause, Schedule
from tickwise.core.payload import MAX_PAYLOAD
from tickwise.core.read_only_dict import ReadOnlyDict
from tickwise.core.reasons import Reason
from tickwise.sources.yaml import read_path

from .test_payload import TEXTS, VALUES

EXAMPLES = Path(__file__).parents[2] / "examples" / "jobs"
UTC = zone("UTC")
HOURLY: Any = parse("0 * * * *")
ONCE: Any = At((5,), UTC)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe"])
SECONDS = st.integers(-(10**10), 10**11)
FIELDS = (
    "*;*/5;H;H/15;H(0-29)/7;7;1-30/4,59",
    "*;*/6;H;H(1-4);0;9-17",
    "*;?;H;1;*/2;L;L-3;LW;15W;L-2W;25-L",
    "*;JAN-MAR;H/4;2",
    "*;?;H;MON-FRI;5#3;5L;SUN,3;Friday&;MON-FRI#1",
)
YEARS = ("0", "0", "9", "1-7", "*", "MON&", "2027-2030")
CRONS = st.builds(
    lambda fields, where, key: parse(" ".join(fields), where, key),
    st.tuples(*(st.sampled_from(field.split(";")) for field in FIELDS))
    | st.sampled_from([("H", "0", "0", "1", "1", "*"), ("@daily",), ("@HOURLY",), YEARS]),
    ZONES,
    st.sampled_from(["a", "b", "etl.stop"]),
)
EVERIES = st.integers(1, 10**6).flatmap(
    lambda every: st.builds(Every, st.just(every), ZONES.map(zone), st.integers(0, every - 1))
)
TIMES = (
    CRONS
    | EVERIES
    | st.builds(AnyOf, st.lists(CRONS | EVERIES, min_size=2, max_size=3).map(tuple))
    | st.builds(Window, CRONS, st.integers(0, 10**10))
    | st.builds(
        OnCalendar,
        CRONS,
        st.sampled_from(["office", "free"]),
        st.booleans(),
        st.sampled_from([(), (1, -1)]),
        st.none() | st.sampled_from(Roll),
        st.sampled_from(["", "a1"]),
        st.builds(lambda bits: DaySet(20_000, 40, bits), st.integers(0, (1 << 40) - 1)),
    )
    | st.builds(
        Rule, st.sampled_from(["FREQ=WEEKLY", "FREQ=MONTHLY;BYDAY=2TU"]), ZONES.map(zone), st.integers(0, 10**9)
    )
    | st.builds(
        At, st.sets(SECONDS, min_size=1, max_size=4).map(lambda instants: tuple(sorted(instants))), ZONES.map(zone)
    )
)

_SOME_TEXTS = st.lists(TEXTS, min_size=1, max_size=3).map(tuple)
BLACKOUTS = st.builds(
    Blackout, st.sampled_from(["a", "b"]), TIMES, st.integers(1, 366 * 86_400), _SOME_TEXTS, _SOME_TEXTS, TEXTS,
    TEXTS, SECONDS, TEXTS,
)  # fmt: skip


@cache
def values(hint: Any) -> st.SearchStrategy[Any]:
    """Whatever a type hint allows, each field of a whole definition included."""
    leaves: dict[Any, st.SearchStrategy[Any]] = {
        str: TEXTS,
        int: st.integers(-(2**63), 2**63 - 1),
        bool: st.booleans(),
        float: st.floats(allow_nan=False, allow_infinity=False),
        NoneType: st.none(),
        Any: VALUES,
        Recurrence: TIMES,
        Blackout: BLACKOUTS,
    }
    if hint in leaves:
        return leaves[hint]
    kind, inner = get_origin(hint), get_args(hint)
    if kind is UnionType:
        return st.one_of(*map(values, inner))
    if kind is tuple:
        if inner[-1] is ...:
            return st.lists(values(inner[0]), max_size=3).map(tuple)
        return st.tuples(*map(values, inner))
    if kind is Mapping:
        return st.dictionaries(TEXTS, values(inner[1]), max_size=3).map(MappingProxyType)
    return st.sampled_from(hint) if issubclass(hint, Enum) else whole(hint)


def whole(kind: type, *without: str) -> st.SearchStrategy[Any]:
    """A value of a type with every field drawn."""
    given_all = {name: values(hint) for name, hint in get_type_hints(kind).items() if name not in without}
    return st.builds(kind, **given_all)


JOBS = whole(JobDefinition, "schedules")
DEFINITIONS = whole(ScheduleDefinition)
SCHEDULES = whole(Schedule)


def written_again(schedule: Schedule) -> Schedule:
    """A schedule of the same columns, with the rest as it was read back."""
    columns = (schedule.definition, schedule.cursor, schedule.last_seen_slot, schedule.last_missed_slot)
    rest = decode_rest(encode_rest(schedule))
    return Schedule(
        *columns,
        edited_at=schedule.edited_at,
        first_seen=schedule.first_seen,
        runs_made=schedule.runs_made,
        deleted_at=schedule.deleted_at,
        **rest,
    )


@given(JOBS)
def test_jobs_come_back(job: JobDefinition) -> None:
    """A job reads back equal, without its schedules, and gives the same text again."""
    text = encode_job(job)
    back = decode_job(text, job.name)
    assert back == job
    assert encode_job(back) == text


@given(DEFINITIONS, st.lists(SECONDS, max_size=5))
def test_schedules_come_back(definition: ScheduleDefinition, instants: list[int]) -> None:
    """A schedule's definition reads back equal, with its hash and the slots on both sides of any instant."""
    text = encode_schedule(definition)
    back = decode_schedule(text, definition.name, definition.job)
    assert back == definition
    assert hash(back) == hash(definition)
    assert encode_schedule(back) == text
    for instant in instants:
        assert back.times.after(instant) == definition.times.after(instant)
        assert back.times.before(instant) == definition.times.before(instant)
    assert str(back.times) == str(definition.times)
    assert len(back.times.warnings) == len(definition.times.warnings)


@given(SCHEDULES)
def test_state_comes_back(schedule: Schedule) -> None:
    """The state without a column of its own reads back equal, and its mere presence shows that there is some."""
    assert written_again(schedule) == schedule
    rest = decode_rest(encode_rest(schedule))
    assert (encode_rest(schedule) is None) == (not any(rest.values()))


@given(st.lists(BLACKOUTS, max_size=3).map(tuple))
def test_blackouts_come_back(blackouts: tuple[Blackout, ...]) -> None:
    """The list of a store reads back equal (S62)."""
    assert decode_blackouts(encode_blackouts(blackouts)) == blackouts


def test_a_schedule_at_rest_has_no_text() -> None:
    """Nothing is written for a schedule that nobody touched, and nothing is read."""
    schedule = Schedule(ScheduleDefinition("a", "a", HOURLY, "hourly"), 5, 4, 3, 2, 1, runs_made=7, deleted_at=9)
    assert encode_rest(schedule) is None
    assert decode_rest(None) == {}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_job_files_come_back(path: Path) -> None:
    """What people write in files is kept: the job, and each schedule by itself."""
    loaded = read_path(path)
    assert loaded.jobs
    assert not loaded.errors
    for placed in loaded.jobs:
        job = placed.job
        assert decode_job(encode_job(job), job.name) == replace(job, schedules=())
        for schedule in job.schedules:
            assert decode_schedule(encode_schedule(schedule), schedule.name, job.name) == schedule


FULL_JOB = JobDefinition(
    "etl",
    steps=(
        Step(
            "load",
            Command(("sh", "-c", "x")),
            env={"A": "1"},
            dir="/srv",
            timeout=5,
            retry=RetryPolicy(3, backoff=1.5),
        ),
        Step("check", PythonCall("etl:check"), depends=("load",), continue_on=(Outcome.FAILED,)),
        Step("clean", Script("rm"), preconditions=(Precondition(Command(("test",)), "yes"),)),
    ),
    description="ä",
    labels={"team": "x"},
    enabled=False,
    queue="feeds",
    priority=-1,
    params={"b": [1, 2.5, None, True], "a": {}},
    at_most_once=True,
    on=Handlers(failure=HttpCall("http://x", "POST", {"A": "b"}, "gone")),
    keep=Keep(days=14),
)
FULL_SCHEDULE = ScheduleDefinition(
    "etl.stop",
    "etl",
    AnyOf((parse("H 3 * * *", "Europe/Berlin", "etl"), Every(90, UTC, 5))),
    "H 3 * * *",
    Kind.STOP,
    Policy(Catchup.ALL, 60, overlap=Overlap.QUEUE, after=(After("a", 60),), grace=0, auto_remove=True),
    "app",
)
FULL_STATE = Schedule(
    ScheduleDefinition("a", "a", HOURLY, "hourly"), 5, 4, 3, 2, 1,
    manual_pause=Pause(1, "me", "why"), disabled=Disabled(3, overruled=True), moved=Move(1, 2),
    backfill=Backfill(1, 2, Overlap.ALLOW), reopened=(1, 2),
    dropped=((1, 2), (4, 5)), deferral=Deferral(1, Reason.OVERLAP, 2),
    records=(Decision("a", Reason.ON_TIME, 1, 2, 2),),
)  # fmt: skip
JOB_TEXT = (
    '{"at_most_once":true,"description":"ä","enabled":false,"keep":{"days":14},"labels":{"team":"x"},'
    '"on":{"failure":{"body":"gone","headers":{"A":"b"},"method":"POST","type":"http","url":"http://x"}},'
    '"params":{"a":{},"b":[1,2.5,null,true]},"priority":-1,"queue":"feeds","steps":['
    '{"action":{"arguments":["sh","-c","x"],"type":"command"},"dir":"/srv","env":{"A":"1"},"name":"load",'
    '"retry":{"backoff":1.5,"limit":3},"timeout":5},'
    '{"action":{"target":"etl:check","type":"python"},"continue_on":["failed"],"depends":["load"],"name":"check"},'
    '{"action":{"text":"rm","type":"script"},"name":"clean",'
    '"preconditions":[{"action":{"arguments":["test"],"type":"command"},"expected":"yes"}]}]}'
)
SCHEDULE_TEXT = (
    '{"kind":"stop","label":"H 3 * * *","policy":{"after":[{"schedule":"a","within":60}],"auto_remove":true,'
    '"catchup":"all","catchup_window":60,"grace":0,"overlap":"queue"},"source":"app","times":{"parts":['
    '{"text":"29 3 * * *","type":"cron","zone":"Europe/Berlin"},'
    '{"offset":5,"seconds":90,"type":"every","zone":"UTC"}],"type":"any"}}'
)
STATE_TEXT = (
    '{"backfill":{"cursor":1,"end":2,"overlap":"allow"},"deferral":{"reason":"overlap","since":2,"slot":1},'
    '"disabled":{"at":3,"overruled":true},"dropped":[[1,2],[4,5]],"manual_pause":{"at":1,"by":"me","reason":"why"},'
    '"moved":{"asked_at":1,"to":2},'
    '"records":[{"count":2,"first":1,"last":2,"reason":"on_time","schedule":"a"}],"reopened":[1,2]}'
)


def test_the_texts_stay_as_they_are() -> None:
    """Stores hold these texts: whatever changes in the code, they are read, and written, as they stand here."""
    assert encode_job(FULL_JOB) == JOB_TEXT
    assert decode_job(JOB_TEXT, "etl") == FULL_JOB
    assert encode_schedule(FULL_SCHEDULE) == SCHEDULE_TEXT
    assert decode_schedule(SCHEDULE_TEXT, "etl.stop", "etl") == FULL_SCHEDULE
    assert encode_rest(FULL_STATE) == STATE_TEXT
    assert written_again(FULL_STATE) == FULL_STATE


def test_defaults_are_left_out() -> None:
    """Fields at their default are not written, so that one more with a default changes no text."""
    assert encode_job(JobDefinition("a")) == "{}"
    once = ScheduleDefinition("a", "a", ONCE, "then")
    assert encode_schedule(once) == '{"label":"then","times":{"seconds":[5],"type":"at","zone":"UTC"}}'


@given(JOBS, st.randoms(use_true_random=False))
def test_equal_jobs_have_one_text(job: JobDefinition, random: Any) -> None:
    """The order of keys, which equality overlooks, does not show in the text."""

    def shuffled(value: Any) -> Any:
        if isinstance(value, list):
            return [shuffled(item) for item in value]
        if not isinstance(value, dict | MappingProxyType):
            return value
        items = [(key, shuffled(item)) for key, item in value.items()]
        random.shuffle(items)
        return dict(items)

    other = replace(job, **{name: shuffled(getattr(job, name)) for name in ("labels", "params", "env")})
    assert other == job
    assert encode_job(other) == encode_job(job)


def test_names_are_not_part_of_the_text() -> None:
    """A million schedules with equal times and policy share one text."""
    one = ScheduleDefinition("a", "x", HOURLY, "hourly")
    assert encode_schedule(one) == encode_schedule(replace(one, name="b", job="y"))
    assert encode_job(JobDefinition("a", queue="q")) == encode_job(JobDefinition("b", queue="q"))


def test_equal_values_of_other_types_have_one_text() -> None:
    """A whole number for a factor and a word for a member of an enumeration are written as what they equal."""
    assert encode_job(JobDefinition("a", retry=RetryPolicy(backoff=3))) == '{"retry":{"backoff":3.0}}'
    assert encode_job(JobDefinition("a", retry=RetryPolicy(backoff=-0.0))) == '{"retry":{"backoff":0.0}}'
    worded = ScheduleDefinition("a", "a", HOURLY, "x", policy=Policy(overlap="queue"))  # type: ignore[arg-type]
    assert decode_schedule(encode_schedule(worded), "a", "a").policy.overlap is Overlap.QUEUE


def test_tuples_in_params_become_lists() -> None:
    """Params are JSON: what they hold comes back as JSON's own values."""
    job = JobDefinition("a", params={"rows": (1, MappingProxyType({"b": (2,)}))})
    assert decode_job(encode_job(job), "a").params == {"rows": [1, {"b": [2]}]}


def test_mappings_read_back_are_frozen() -> None:
    """A definition that is read back cannot be changed by accident; it can be copied and sent elsewhere."""
    job = decode_job(encode_job(FULL_JOB), "etl")
    assert isinstance(job.params, ReadOnlyDict)
    assert isinstance(job.steps[0].env, ReadOnlyDict)
    assert deepcopy(job) == pickle.loads(pickle.dumps(job)) == job  # noqa: S301


HELLO = Script("echo hello")


class Sundays(Recurrence):
    """Times of a kind that nobody can read back."""

    zone = UTC
    after = before = count = explain = None  # type: ignore[assignment]


class LoudCommand(Command):
    """A command that would come back as a plain one."""


def job(**fields: Any) -> JobDefinition:
    return JobDefinition("etl", **fields)


def step(action: Any = HELLO, **fields: Any) -> JobDefinition:
    return job(steps=(Step("a", HELLO), Step("b", action, **fields)))


def scheduled(times: Any = HOURLY, label: Any = "x", **policy: Any) -> ScheduleDefinition:
    return ScheduleDefinition("etl.x", "etl", times, label, policy=Policy(**policy))


REFUSED_JOBS: list[tuple[JobDefinition, str]] = [
    (step(action=Script("a\0")), r"steps\[1\]\.action\.text holds a NUL character at position 1"),
    (step(env={"A": "\udcff"}), r"steps\[1\]\.env\.A holds half a surrogate pair"),
    (step(env={"A\0": "x"}), r"steps\[1\]\.env\['A\\x00'\] holds a NUL"),
    (step(env={"A": 1}), r"steps\[1\]\.env\.A must be str, not int"),
    (step(env={1: "x"}), r"steps\[1\]\.env has a key of type int"),
    (step(env=[1]), r"steps\[1\]\.env must be Mapping, not list"),
    (step(depends=["a"]), r"steps\[1\]\.depends must be tuple, not list"),
    (step(timeout="5m"), r"steps\[1\]\.timeout must be int, not str"),
    (step(timeout=True), r"steps\[1\]\.timeout must be int, not bool"),
    (step(timeout=2**63), r"steps\[1\]\.timeout is an integer beyond 64 bits"),
    (
        step(action=None),
        r"steps\[1\]\.action must be Command or Script or PythonCall or HttpCall or JobCall or Approval, not None",
    ),
    (step(action=LoudCommand(("x",))), r"steps\[1\]\.action must be .*, not LoudCommand"),
    (step(retry=Keep()), r"steps\[1\]\.retry must be RetryPolicy, not Keep"),
    (step(retry=RetryPolicy(backoff=float("inf"))), r"steps\[1\]\.retry\.backoff is inf"),
    (step(retry=RetryPolicy(backoff=10**400)), r"steps\[1\]\.retry\.backoff cannot be used: int too large"),
    (step(continue_on=("late",)), r"steps\[1\]\.continue_on\[0\] is none of failed, skipped"),
    (step(preconditions=(HELLO,)), r"steps\[1\]\.preconditions\[0\] must be Precondition, not Script"),
    (job(enabled=0), "enabled must be bool, not int"),
    (job(params={"a": [{1}]}), r"params\.a\[0\] is of type set"),
    (job(params={"a b": {1: 2}}), r"params\['a b'\] has a key of type int"),
    (job(description="x" * MAX_PAYLOAD), "description exceeds the limit of 1 MiB"),
    (job(description="ä" * 600_000), "it exceeds the limit of 1 MiB"),
]
REFUSED_SCHEDULES: list[tuple[ScheduleDefinition, str]] = [
    (
        scheduled(Sundays()),
        "times must be Cron or Every or At or AnyOf or Window or Rule or OnCalendar or OnEvent, not Sundays",
    ),
    (scheduled(label=None), "label must be str, not NoneType"),
    (scheduled(replace(ONCE, seconds=("x",))), r"times\.seconds\[0\] must be int, not str"),
    (scheduled(replace(ONCE, zone="UTC")), r"times\.zone must be Zone, not str"),
    (scheduled(replace(HOURLY, text="@daily")), "times are other times than their text '@daily' says"),
    (scheduled(replace(HOURLY, text="@every 5m")), "times must be Cron, not Every"),
    (scheduled(parse("H" + ",H" * 400 + " * * * *", key="etl.x")), "times cannot be used: .* at most 1000 charac"),
    (scheduled(after=(After("a\0", 5),)), r"policy\.after\[0\]\.schedule holds a NUL"),
]


@pytest.mark.parametrize(("job", "message"), REFUSED_JOBS)
def test_jobs_that_cannot_be_kept(job: JobDefinition, message: str) -> None:
    """What would not come back is refused, naming the job and the field."""
    with pytest.raises(InputError, match=f"^job etl: {message}"):
        encode_job(job)


@pytest.mark.parametrize(("definition", "message"), REFUSED_SCHEDULES)
def test_schedules_that_cannot_be_kept(definition: ScheduleDefinition, message: str) -> None:
    """What would not come back, or come back as other times, is refused, naming job, schedule and field."""
    with pytest.raises(InputError, match=rf"^job etl, schedule etl\.x: {message}"):
        encode_schedule(definition)


def test_what_of_a_job_cannot_be_kept() -> None:
    """The part is named, so that a reader of files can say where it stands; most jobs have none."""
    assert unfit_part(JobDefinition("etl")) is None
    unfit = unfit_part(JobDefinition("etl", description="\0"))
    assert unfit is not None
    assert unfit.path == ".description"


def test_state_that_cannot_be_kept() -> None:
    """A person's words that no store keeps are refused, naming job, schedule and field."""
    paused = Schedule(scheduled(), 1, 1, 1, 1, 1, manual_pause=Pause(5, reason="\0"))
    with pytest.raises(InputError, match=r"^job etl, schedule etl\.x: manual_pause\.reason holds a NUL"):
        encode_rest(paused)
    odd = Schedule(scheduled(), 1, 1, 1, 1, 1, dropped=((1, 2, 3),))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"dropped\[0\] must have 2 entries, not 3"):
        encode_rest(odd)
