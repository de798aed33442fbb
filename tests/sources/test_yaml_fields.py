"""Job files: each field of a document arrives in the definition."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tickwise.core.cron import Every, parse
from tickwise.core.cron.recurrences import AnyOf, At, Window
from tickwise.core.cron.rule import Rule
from tickwise.core.cron.zone import zone
from tickwise.core.definition import (
    After,
    Catchup,
    Command,
    HttpCall,
    JobDefinition,
    Keep,
    Kind,
    Outcome,
    Overlap,
    Precondition,
    PythonCall,
    RetryPolicy,
    ScheduleDefinition,
    Script,
    StartBudget,
    Step,
    Ticking,
)
from tickwise.core.time_limit import Deadline, TimeLimit
from tickwise.sources.defaults import Defaults
from tickwise.sources.yaml import BUILT_IN, Template, read_text


def job(text: str, name: str = "etl") -> JobDefinition:
    """The only job of a text."""
    found, errors = read_text(text, "etl.yaml", name)
    assert not errors, "\n".join(map(str, errors))
    (located,) = found
    return located.job


def schedule(text: str) -> ScheduleDefinition:
    """The only schedule of a text."""
    (found,) = job(text).schedules
    return found


def utc(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp())  # type: ignore[misc,arg-type]


JOB_FIELDS: list[tuple[str, Callable[[JobDefinition], Any], Any]] = [
    ("name: orders", lambda j: j.name, "orders"),
    ("{}", lambda j: j.name, "etl"),
    ("description: NO", lambda j: j.description, "NO"),
    ("labels: {team: data, on: x}", lambda j: j.labels, {"team": "data", "on": "x"}),
    ("enabled: false", lambda j: j.enabled, False),
    ("{}", lambda j: j.enabled, True),
    ("queue: reports", lambda j: j.queue, "reports"),
    ("priority: -5", lambda j: j.priority, -5),
    ("params: {a: [1, 2.5, true, null, {b: x}]}", lambda j: j.params, {"a": [1, 2.5, True, None, {"b": "x"}]}),
    ("params: {n: 0x1F, o: 0o17, d: 2026-01-01}", lambda j: j.params, {"n": 31, "o": 15, "d": "2026-01-01"}),
    ('env: {A: "1", B: !!str 2, C: no}', lambda j: j.env, {"A": "1", "B": "2", "C": "no"}),
    (
        "preconditions: [{command: test -f x, expected: '1'}, {python: 'a.b:c'}]",
        lambda j: j.preconditions,
        (Precondition(Command(("test", "-f", "x")), "1"), Precondition(PythonCall("a.b:c"))),
    ),
    ("retry: {limit: 3}", lambda j: j.retry, RetryPolicy(3)),
    (
        "retry: {limit: 3, interval: 1m, backoff: 1, max_interval: 5m}",
        lambda j: j.retry,
        RetryPolicy(3, 60, 1.0, 300),
    ),
    ("retry: {limit: 3, jitter: 0}", lambda j: j.retry, RetryPolicy(3, jitter=0.0)),
    ("retry: {limit: 3, interval: 2h}", lambda j: j.retry, RetryPolicy(3, 7200, 2.0, 7200)),
    ("timeout: 1h30m", lambda j: j.timeout, 5400),
    ("at_most_once: true", lambda j: j.at_most_once, True),
    ("on: {success: echo 'a b'}", lambda j: j.on.success, Command(("echo", "a b"))),
    ("on: {failure: {python: 'a:b'}}", lambda j: j.on.failure, PythonCall("a:b")),
    ("on: {exit: {http: 'https://x.org/'}}", lambda j: j.on.exit, HttpCall("https://x.org/")),
    ("keep: {days: 30}", lambda j: j.keep, Keep(days=30)),
    ("keep: {runs: 5}", lambda j: j.keep, Keep(runs=5)),
    ("{}", lambda j: j.steps, ()),
    ("command: a 'b c' --d=e", lambda j: j.steps, (Step("main", Command(("a", "b c", "--d=e"))),)),
    ("command: [a, b c, '|']", lambda j: j.steps, (Step("main", Command(("a", "b c", "|"))),)),
    ("script: |\n  #!/bin/sh\n  a | b\n", lambda j: j.steps, (Step("main", Script("#!/bin/sh\na | b\n")),)),
    ("python: shop.jobs:Report.run", lambda j: j.steps, (Step("main", PythonCall("shop.jobs:Report.run")),)),
    ("http: http://x.org", lambda j: j.steps[0].action, HttpCall("http://x.org")),
    (
        "http: {url: 'http://x.org', method: POST, headers: {A: b}, body: hi}",
        lambda j: j.steps[0].action,
        HttpCall("http://x.org", "POST", {"A": "b"}, "hi"),
    ),
]


@pytest.mark.parametrize(("text", "get", "expected"), JOB_FIELDS)
def test_a_field_of_the_job_arrives(text: str, get: Callable[[JobDefinition], Any], expected: object) -> None:
    """What is written about the job stands in its definition, and defaults stand where nothing is written."""
    assert get(job(text)) == expected


POLICY_FIELDS: list[tuple[str, str, object]] = [
    ("catchup: skip", "catchup", Catchup.SKIP),
    ("catchup: all", "catchup_window", 86_400),
    ("catchup: all", "overlap", Overlap.QUEUE),
    ("catchup_window: 6h", "catchup", Catchup.ALL),
    ("catchup_window: 6h", "catchup_window", 21_600),
    ("catchup_window: 0", "catchup", Catchup.SKIP),
    ("catchup_window: '0'", "catchup", Catchup.SKIP),
    ("max_catchup: 7", "max_catchup", 7),
    ("overlap: latest", "overlap", Overlap.LATEST),
    ("overlap: all", "overlap", Overlap.QUEUE),
    ("overlap: all", "catchup", Catchup.ALL),
    ("overlap: allow", "max_active_runs", 16),
    ("overlap: allow\nmax_active_runs: 3", "max_active_runs", 3),
    ("grace: 5m", "grace", 300),
    ("queue: x", "grace", None),
    ("skip_if_successful: true", "skip_if_successful", True),
    ("jitter: 90s", "jitter", 90),
    ("until: 2026-07-01T12:00:00Z", "until", utc(2026, 7, 1, 12)),
    ("until: 2026-07-01 12:00", "until", utc(2026, 7, 1, 12)),
    ("until: 2026-07-01T12:00:00+02:00", "until", utc(2026, 7, 1, 10)),
    ("until: 2026-07-01\ntimezone: Europe/Berlin", "until", utc(2026, 7, 1, 21, 59, 59)),
    ("until: 2018-11-03\ntimezone: America/Sao_Paulo", "until", utc(2018, 11, 4, 2, 59, 59)),
    ("max_runs: 10", "max_runs", 10),
    ("max_starts: {count: 24, per: 1d}", "max_starts", StartBudget(24, 86_400)),
    ("pause_after: {failures: 5}", "pause_after", 5),
    ("deadline: {start: 10m, finish: 2h}", "deadline", Deadline(TimeLimit(600), TimeLimit(7_200))),
    (
        "deadline: {finish: '6:00', cancel: true, warn: 0.2}\ntimezone: Europe/Berlin",
        "deadline",
        Deadline(None, TimeLimit(clock=parse("0 6 * * *", "Europe/Berlin")), cancel=True, warn=0.2),
    ),
    ("queue: x", "deadline", None),
    ("after: [{schedule: a, within: 1h}]", "after", (After("a", 3600),)),
    ("after: [{job: a, within: 1h}]", "after", (After("", 3600, "a"),)),
    ("after: [{schedule: a, within: 1h}]\nwait_for: 5m", "wait_for", 300),
    ("expires: 1d", "expires", 86_400),
    ("auto_remove: true", "auto_remove", True),
    ("ticking: local", "ticking", Ticking.LOCAL),
    ("queue: x", "ticking", None),
]


@pytest.mark.parametrize(("text", "field", "expected"), POLICY_FIELDS)
def test_a_policy_arrives(text: str, field: str, expected: object) -> None:
    """S9, S10, S11, S14, S33, S34, S35, S36, S47: policies and what follows from them stand in the schedule."""
    assert getattr(schedule(f"schedule: '@daily'\n{text}").policy, field) == expected


BERLIN = zone("Europe/Berlin")
TIMES: list[tuple[str, object, str]] = [
    ("'*/5 * * * *'", parse("*/5 * * * *"), "*/5 * * * *"),
    ("H * * * *", parse("H * * * *", key="etl"), "H * * * *"),
    ("'@every 90s'", Every(90, zone("UTC")), "@every 90s"),
    ("{cron: 0 3 * * *}", parse("0 3 * * *"), "0 3 * * *"),
    (
        "{cron: 0 3 * * *, timezone: Asia/Tokyo}",
        parse("0 3 * * *", "Asia/Tokyo"),
        "0 3 * * * Asia/Tokyo",
    ),
    ("{every: 6h, offset: 30m}", Every(21_600, zone("UTC"), 1_800), "every 6h offset 30m"),
    ("{cron: 0 9 1-7 * MON, both: true}", parse("0 9 1-7 * MON&"), "0 9 1-7 * MON both"),
    ("{cron: 0 9 1-7 * MON, both: false}", parse("0 9 1-7 * MON"), "0 9 1-7 * MON"),
    ("0 0 9 ? * Friday 2027", parse("0 0 9 ? * 5 2027"), "0 0 9 ? * Friday 2027"),
    ("{every: 6h}\ntimezone: Europe/Berlin", Every(21_600, BERLIN), "every 6h"),
    ("{template: month-end}", parse("0 0 L * *"), "month-end"),
    ("{template: hourly, timezone: Europe/Berlin}", parse("0 * * * *", "Europe/Berlin"), "hourly Europe/Berlin"),
    ("0 3 * * *\ntimezone: Europe/Berlin", parse("0 3 * * *", "Europe/Berlin"), "0 3 * * *"),
    ("{at: 2026-01-01T09:00:00Z}", At((utc(2026, 1, 1, 9),), zone("UTC")), "at 2026-01-01T09:00:00Z"),
    ("[{at: 2026-01-01T09:00}]", At((utc(2026, 1, 1, 9),), zone("UTC")), "at 2026-01-01T09:00"),
    ("[0 3 * * *]", parse("0 3 * * *"), "0 3 * * *"),
    (
        "[0 3 * * *, {every: 6h}, 0 3 * * *]",
        AnyOf((parse("0 3 * * *"), Every(21_600, zone("UTC")))),
        "0 3 * * *; every 6h; 0 3 * * *",
    ),
    (
        "[{at: 2026-01-02T00:00}, {at: 2026-01-01T00:00Z}, {at: 2026-01-02T00:00}]",
        At((utc(2026, 1, 1), utc(2026, 1, 2)), zone("UTC")),
        "at 2026-01-02T00:00; at 2026-01-01T00:00Z; at 2026-01-02T00:00",
    ),
]


@pytest.mark.parametrize(("text", "times", "label"), TIMES)
def test_a_schedule_arrives(text: str, times: object, label: str) -> None:
    """S33, S37, S49: a text, an entry and a list are one start schedule with the job's name."""
    found = schedule(f"schedule: {text}")
    assert (found.name, found.job, found.kind) == ("etl", "etl", Kind.START)
    assert found.times == times
    assert found.label == label


@pytest.mark.parametrize(
    ("local", "place", "instant"),
    [
        ("2027-03-28T02:30:00", "Europe/Berlin", utc(2027, 3, 28, 1)),
        ("2027-10-31T02:30:00", "Europe/Berlin", utc(2027, 10, 31, 0, 30)),
        ("2027-07-01T09:00:00", "Europe/Berlin", utc(2027, 7, 1, 7)),
        ("2018-11-04T00:00:00", "America/Sao_Paulo", utc(2018, 11, 4, 3)),
        ("2024-04-07T01:45:00", "Australia/Lord_Howe", utc(2024, 4, 6, 14, 45)),
        ("2011-12-30T12:00:00", "Pacific/Apia", utc(2011, 12, 30, 10)),
    ],
)
def test_a_local_time_by_the_zone_rule(local: str, place: str, instant: int) -> None:
    """S39: a time that does not exist is the first instant after the gap; one that comes twice is its first."""
    found = schedule(f"schedule: {{at: {local}}}\ntimezone: {place}")
    assert found.times == At((instant,), zone(place))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("from: 2027-03-01", utc(2027, 3, 1)),
        ("from: 2027-03-01\ntimezone: Europe/Berlin", utc(2027, 2, 28, 23)),
        ("from: 2027-03-01T09:00:00+02:00", utc(2027, 3, 1, 7)),
    ],
)
def test_a_beginning(text: str, first: int) -> None:
    """S63: an instant, or the first second of a day in the file's zone; also of a list, and of each kind."""
    zone_name = "Europe/Berlin" if "Berlin" in text else "UTC"
    expected = Window(parse("0 3 * * *", zone_name), first)
    assert schedule(f"schedule: 0 3 * * *\n{text}").times == expected
    kinds = job(f"schedule: {{start: 0 3 * * *, stop: 0 3 * * *}}\n{text}").schedules
    assert [one.times for one in kinds] == [expected, expected]


def test_a_beginning_of_one_offs_leaves_out_what_is_before() -> None:
    """S63: those at or after it stay."""
    found = schedule("schedule: [{at: 2027-03-01T09:00}, {at: 2027-03-02T09:00}]\nfrom: 2027-03-02")
    assert found.times == At((utc(2027, 3, 2, 9),), zone("UTC"))


def test_rules_of_the_calendar() -> None:
    """S64: both forms, alone and in a list; the anchor is the first second of `from` in the file's zone."""
    berlin, anchor = zone("Europe/Berlin"), utc(2027, 1, 3, 23)
    common = "timezone: Europe/Berlin\nfrom: 2027-01-04\n"
    text = "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;BYHOUR=9;BYMINUTE=0"
    short = schedule(common + "schedule: {every: 2w, on: [MON], at: '09:00'}")
    assert (short.times, short.label) == (Rule(text, berlin, anchor), "every 2w on MON at 09:00")
    long = schedule(common + f"schedule: {{rrule: '{text}'}}")
    assert (long.times, long.label) == (short.times, f"rrule {text}")
    both = schedule(common + f"schedule: [{{rrule: '{text}', timezone: UTC}}, '@daily']").times
    assert both == Window(AnyOf((Rule(text, zone("UTC"), anchor), parse("@daily", "Europe/Berlin"))), anchor)


def test_start_stop_and_restart() -> None:
    """S21: three schedules of one job, each with its own name as key of H; the later two never catch up."""
    found = job(
        "schedule: {restart: [H 12 * * *], stop: H 18 * * *, start: {cron: H 8 * * *}}\n"
        "catchup: all\ngrace: 5m\nuntil: 2030-01-01\njitter: 1m\nmax_runs: 3"
    ).schedules
    assert [(s.name, s.kind) for s in found] == [
        ("etl", Kind.START),
        ("etl.stop", Kind.STOP),
        ("etl.restart", Kind.RESTART),
    ]
    assert [s.times for s in found] == [
        parse("H 8 * * *", key="etl"),
        parse("H 18 * * *", key="etl.stop"),
        parse("H 12 * * *", key="etl.restart"),
    ]
    assert [s.policy.catchup for s in found] == [Catchup.ALL, Catchup.SKIP, Catchup.SKIP]
    assert {(s.policy.grace, s.policy.until) for s in found} == {(300, utc(2030, 1, 1, 23, 59, 59))}
    assert [(s.policy.jitter, s.policy.max_runs) for s in found] == [(60, 3), (0, None), (0, None)]


def test_stop_alone_and_lanes_of_a_restart() -> None:
    """S16, S21: a stop needs no start, and a restart takes its lane among as many as a start does."""
    assert [s.kind for s in job("schedule: {stop: '@daily'}").schedules] == [Kind.STOP]
    found = job("schedule: {start: '@daily', restart: '@hourly'}\noverlap: allow\nmax_active_runs: 3").schedules
    assert {s.policy.max_active_runs for s in found} == {3}


def test_steps_arrive_with_all_their_fields() -> None:
    """Every field of a step stands in its definition, in the order of the file."""
    found = job("""
steps:
  - {name: a, script: echo}
  - name: b
    depends: a
    command: [x]
    env: {K: v}
    dir: /tmp
    timeout: 5m
    retry: {limit: 1}
    continue_on: [skipped, failed, failed]
    preconditions: [{python: 'm:f', expected: ready}]
  - {name: c, depends: [b, a, b], http: "https://x.org"}
""").steps
    assert found == (
        Step("a", Script("echo")),
        Step(
            "b",
            Command(("x",)),
            ("a",),
            {"K": "v"},
            "/tmp",  # noqa: S108
            300,
            RetryPolicy(1),
            (Outcome.FAILED, Outcome.SKIPPED),
            (Precondition(PythonCall("m:f"), "ready"),),
        ),
        Step("c", HttpCall("https://x.org"), ("b", "a")),
    )


def test_several_documents_and_their_lines() -> None:
    """The first document is named after the file, the others by themselves; each knows its line."""
    text = "# a comment\n\nschedule: '@daily'\n---\nname: b\n---\n# nothing\n---\n\nname: c\n...\n"
    found, errors = read_text(text, "etl.yaml", "etl")
    assert not errors
    assert [(p.job.name, p.file, p.line) for p in found] == [
        ("etl", "etl.yaml", 3),
        ("b", "etl.yaml", 5),
        ("c", "etl.yaml", 10),
    ]


@pytest.mark.parametrize(
    "text", ["\ufeffname: a\n", "name: a\r\nqueue: b\r\n", "%YAML 1.2\n---\nname: a\n", "--- {name: a}"]
)
def test_ways_to_write_the_same(text: str) -> None:
    """A byte order mark, other line ends, the version directive and a document on its marker's line do no harm."""
    assert job(text).name == "a"


def test_anchors_aliases_and_merges() -> None:
    """What is written once can be used again, and fields of its own go before merged ones."""
    found = job("""
retry: &often {limit: 5, interval: 30s}
env: &base {A: "1", B: "2"}
steps:
  - {name: a, command: x, retry: *often}
  - {name: b, command: x, env: {<<: *base, B: "3"}}
  - {name: c, command: x, env: {<<: [{B: "4"}, *base]}}
""").steps
    assert found[0].retry == RetryPolicy(5, 30)
    assert [step.env for step in found[1:]] == [{"A": "1", "B": "3"}, {"A": "1", "B": "4"}]


def test_templates_of_ones_own() -> None:
    """A user's own templates stand beside the built-in ones and go before them."""
    own = {"harvest": Template("0 6 1 9 *", "the first of September"), "daily": Template("30 5 * * *", "ours")}
    for name, expression in (("harvest", "0 6 1 9 *"), ("daily", "30 5 * * *"), ("yearly", "0 0 1 1 *")):
        found, errors = read_text(f"schedule: {{template: {name}}}", "a.yaml", "a", Defaults(templates=own))
        assert not errors
        assert found[0].job.schedules[0].times == parse(expression)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_template_can_be_used(name: str) -> None:
    """S37: each template is a cron text, with a description of one line."""
    template = BUILT_IN[name]
    assert schedule(f"schedule: {{template: {name}}}").times == parse(template.expression, key="etl")
    assert "\n" not in template.description
