"""Job files: what is wrong is told with its line, its field and what to do."""

import pytest

from tickwise.core.errors import InputError
from tickwise.sources.defaults import Defaults
from tickwise.sources.yaml import DefinitionError, Template, read_text


def wrong(text: str) -> list[DefinitionError]:
    """The errors of a text that must have some, and no definition."""
    found, errors = read_text(text, "jobs/etl.yaml", "etl")
    assert errors
    assert not found
    return errors


CIRCLE = f"steps: [{', '.join(f'{{name: {a}, script: x, depends: {b}}}' for a, b in ('ab', 'bc', 'ca'))}]"
TWO = "steps:\n- {name: a, script: x}\n- {name: b, "
TABLE: list[tuple[str, int, str, str]] = [
    # unknown and missing
    ("name: a\noverlapp: skip", 2, "overlapp", "unknown field (did you mean overlap?)"),
    ("foo: 1", 1, "foo", "unknown field"),
    ("retry:\n  limit: 1\n  intervall: 5s", 3, "retry.intervall", "did you mean interval?"),
    ("steps:\n- name: a\n  comand: x", 3, "steps.0.comand", "did you mean command?"),
    ("on: {failed: x}", 1, "on.failed", "did you mean failure?"),
    ("on: {exit: {http: {ulr: x}}}", 1, "on.exit.http.ulr", "did you mean url?"),
    ("on: {exit: {pyton: 'a:b'}}", 1, "on.exit.pyton", "did you mean python?"),
    ("preconditions: [{expects: x, command: y}]", 1, "preconditions.0.expects", "did you mean expected?"),
    ("after: [{schedul: x, within: 1h}]", 1, "after.0.schedul", "did you mean schedule?"),
    ("keep: {day: 1}", 1, "keep.day", "did you mean days?"),
    ("schedule: {corn: '@daily'}", 1, "schedule.corn", "did you mean cron?"),
    ("schedule: {evry: 5m}", 1, "schedule.evry", "did you mean every?"),
    ("schedule: [{at: 2026-01-01T00:00, timezone: UTC}]", 1, "schedule.0.timezone", "unknown field"),
    ("schedule: {strat: '@daily'}", 1, "schedule.strat", "did you mean start?"),
    ("schedule: {start: {templat: daily}}", 1, "schedule.start.templat", "did you mean template?"),
    ("after: [{within: 1h}]", 1, "after.0", "has exactly one of schedule, job, but has none"),
    ("after: [{schedule: x, job: y, within: 1h}]", 1, "after.0", "not schedule and job"),
    ("on_event: {job: a, hook: {signed_with: b}}", 1, "on_event", "has one source of events, not hook and job"),
    ("on_event: {state: any}", 1, "on_event", "state goes with job or jobs"),
    ("on_event: {job: a, within: 1h}", 1, "on_event", "within goes with jobs"),
    ("on_event: {jobs: [a, a], within: 1h}", 1, "on_event", "jobs names a job twice"),
    ("on_event: {jobs: [a, b]}", 1, "on_event", "within is missing: say how far apart the ends may lie"),
    ("on_event: {jobs: [a, b], at_least: 3, within: 1h}", 1, "on_event", "at_least is 3, and jobs names 2"),
    ("on_event: {jobs: [a, b], at_least: 1, within: 1h}", 1, "on_event", "each end is an event by itself"),
    ("on_event: {file: {path: in/a}}", 1, "on_event.file.path", "is not the whole path of files"),
    ("on_event: {file: {path: /in/../etc/a}}", 1, "on_event.file.path", "is not the whole path of files"),
    ("on_event: {file: {path: /i*/a}}", 1, "on_event.file.path", "only the names of files can have one"),
    ("after:\n- schedule: x", 2, "after.0.within", "is missing"),
    ("retry: {interval: 5s}", 1, "retry.limit", "is missing"),
    # empty values
    ("name: a\ncatchup:", 2, "catchup", "is empty"),
    ("env: {A: }", 1, "env.A", "is empty"),
    ("params:", 1, "params", "is empty"),
    ("steps: []", 1, "steps", "must not be empty"),
    ("schedule: []", 1, "schedule", "must not be empty"),
    ("schedule: ''", 1, "schedule", "five fields"),
    ("command: ''", 1, "command", "the command is empty"),
    ("command: []", 1, "command", "empty"),
    ("command: ['']", 1, "command", "the command is empty"),
    ("script: ' '", 1, "script", "the script is empty"),
    # kinds of values
    ("description: 5", 1, "description", 'must be text, not the number 5: write "5" in quotes'),
    ("description: [a]", 1, "description", "must be text, not a list"),
    ("env:\n  PORT: 5432", 2, "env.PORT", 'write "5432" in quotes'),
    ("env: {DEBUG: true}", 1, "env.DEBUG", 'write "true" in quotes'),
    ("labels: {a: 1.50}", 1, "labels.a", 'write "1.50" in quotes'),
    ("enabled: yes", 1, "enabled", 'true or false, not the text "yes" (in YAML 1.2 that is a word)'),
    ("enabled: 1", 1, "enabled", "must be true or false, not the number 1"),
    ("max_runs: true", 1, "max_runs", "must be a whole number, not true"),
    ("max_runs: 1.5", 1, "max_runs", "must be a whole number"),
    ("max_runs: '3'", 1, "max_runs", "must be a whole number, not the text"),
    ("max_runs: 0", 1, "max_runs", "must be at least 1"),
    ("max_catchup: 10001", 1, "max_catchup", "must be at most 10000"),
    ("max_active_runs: 0", 1, "max_active_runs", "must be at least 1"),
    ("priority: 1001", 1, "priority", "must be at most 1000"),
    ("retry: {limit: -1}", 1, "retry.limit", "must be at least 0"),
    ("retry: {limit: 1, backoff: true}", 1, "retry.backoff", "must be a number"),
    ("retry: {limit: 1, backoff: 0.5}", 1, "retry.backoff", "must be at least 1"),
    ("retry: 3", 1, "retry", "must be a mapping, not the number 3"),
    ("steps: {a: b}", 1, "steps", "must be a list, not a mapping"),
    ("steps: [a]", 1, "steps.0", "must be a mapping, not the text"),
    ("env: [A]", 1, "env", "must be a mapping of names to values"),
    ("command: {a: b}", 1, "command", "must be a text or a list of words, not a mapping"),
    ("command: [a, 5]", 1, "command.1", 'write "5" in quotes'),
    ("http: 5", 1, "http", "must be a web address or a mapping with url"),
    ("on: {exit: [a]}", 1, "on.exit", "must be a command text or a mapping with an action"),
    ("schedule: 5", 1, "schedule", "one of cron, every, rrule, at, template, or of start, stop, restart"),
    ("schedule: [[a]]", 1, "schedule.0", "must be a cron text or a mapping"),
    ("schedule: {zzz: 1}", 1, "schedule", "must be a cron text or a mapping"),
    # words and names
    ("catchup: al", 1, "catchup", 'one of skip, once, all, not the text "al" (did you mean all?)'),
    ("overlap: que", 1, "overlap", "did you mean queue?"),
    ("ticking: 5", 1, "ticking", "must be one of store, local"),
    ("http: {url: 'http://x.org', method: post}", 1, "http.method", "did you mean POST?"),
    ("steps: [{name: a, command: x, continue_on: [fail]}]", 1, "steps.0.continue_on.0", "did you mean failed?"),
    ("name: -a", 1, "name", "cannot be a name"),
    ("queue: a b", 1, "queue", "cannot be a name"),
    (f"name: {'a' * 95}\nschedule: {{restart: '@daily'}}", 2, "schedule.restart", "cannot be a schedule's name"),
    ("timezone: Europe/Berln", 1, "timezone", "did you mean Europe/Berlin?"),
    ("schedule: {cron: '@daily', timezone: Mars}", 1, "schedule.timezone", "unknown time zone"),
    ("schedule: {template: weekdays}", 1, "schedule.template", "did you mean weekdays-at-9?"),
    ("params: {table: x}\ncommand: echo ${params.tabel}", 2, "command", "no param tabel (did you mean table?)"),
    ("command: echo ${params.table}", 1, "command", "no param table: declare it under params"),
    ("steps: [{name: a, command: [echo, '${params.b}']}]", 1, "steps.0.command", "no param b"),
    ("command: ls\npreconditions: [{command: 'test ${params.b}'}]", 2, "preconditions.0.command", "no param b"),
    ("command: ls\non: {failure: 'echo ${params.b}'}", 2, "on.failure", "no param b"),
    ("command: ls\nenv: {A: 'x${params.b}'}", 2, "env.A", "no param b"),
    (
        "steps: [{name: a, command: ls, env: {A: '${run.slit}'}}]",
        1,
        "steps.0.env.A",
        "no slit (did you mean slot?)",
    ),
    ("params: {a: x}\ncommand: sh -c 'ls ${params.a}'", 2, "command", "must be an argument of its own"),
    ("params: {a: x}\ncommand: [bash, -ce, '${params.a}']", 2, "command", "bash with -ce may have code in it"),
    ("params: {a: x}\nscript: 'ls ${params.a}'", 2, "script", "a script is not filled in"),
    ("params: {a: x}\ncommand: ls\non: {exit: 'ssh host ${params.a}'}", 3, "on.exit", "passes them to a shell"),
    ("steps: [{name: a, command: 'echo ${steps.b.outputs.x}'}]", 1, "steps.0.command", "there is no step b"),
    (
        f"{TWO}command: 'echo ${{steps.a.outputs.x}}'}}",
        3,
        "steps.1.command",
        "does not wait for a: add depends: a",
    ),
    (f"{TWO}depends: a, command: 'echo ${{steps.a.output.x}}'}}", 3, "steps.1.command", "names no output: write"),
    (
        f"{TWO}depends: a, command: 'echo ${{steps.a.outputs.x!}}'}}",
        3,
        "steps.1.command",
        "the name of an output",
    ),
    (
        f"{TWO}depends: a, command: 'echo x${{steps.a.outputs.x}}'}}",
        3,
        "steps.1.command",
        "an argument of its own",
    ),
    (f"{TWO}depends: a, command: 'sh -c ${{steps.a.outputs.x}}'}}", 3, "steps.1.command", "may have code in it"),
    (f"{TWO}depends: a, script: 'ls ${{steps.a.outputs.x}}'}}", 3, "steps.1.script", "a script is not filled in"),
    ("steps: [{name: a, script: x}]\nenv: {A: '${steps.a.outputs.x}'}", 2, "env.A", "only steps know"),
    ("steps: [{name: a, script: x}]\non: {exit: 'echo ${steps.a.outputs.x}'}", 2, "on.exit", "only steps know"),
    ("command: 'echo ${item}'", 1, "command", "${item} stands only in a step with foreach"),
    ("steps: [{name: a, script: x, env: {A: '${item.b}'}}]", 1, "steps.0.env.A", "only in a step with foreach"),
    ("steps: [{name: a, script: x, foreach: some}]", 1, "steps.0.foreach", "write a list, ${params.NAME} or"),
    (
        "steps: [{name: a, script: x, foreach: '${params.b}'}]",
        1,
        "steps.0.foreach",
        "there is no param b: declare it under params",
    ),
    (f"{TWO}script: x, foreach: '${{steps.a.outputs.x}}'}}", 3, "steps.1.foreach", "does not wait for a"),
    ("steps: [{name: a, script: x, foreach: []}]", 1, "steps.0.foreach", "must not be empty"),
    ("steps: [{name: a, script: x, foreach: [1, null]}]", 1, "steps.0.foreach.1", "is empty: give it a value"),
    (f"steps: [{{name: a, script: x, foreach: {[1] * 1_001}}}]", 1, "steps.0.foreach", "more than 1000 entries"),
    ("steps: [{name: a, job: me}]\nname: me", 1, "steps.0.job", "a job cannot be a step of itself"),
    ("steps: [{name: a, approve: viewer}]", 1, "steps.0.approve", "operator, admin"),
    ("steps: [{name: a, approve: {on_timeout: approve}}]", 1, "steps.0.approve", "on_timeout goes with timeout"),
    ("steps: [{name: a, approve: admin, timeout: 1h}]", 1, "steps.0", "timeout goes with no approve: write it"),
    ("steps: [{name: a, approve: admin, retry: {limit: 1}}]", 1, "steps.0", "a person decides whether"),
    ("steps: [{name: a, approve: admin, queue: x}]", 1, "steps.0", "queue goes with no approve: a person answers"),
    ("steps: [{name: a, job: b, engine: x}]", 1, "steps.0", "engine goes with no job: that job has its own"),
    ("steps: [{name: a, script: x, queue: 'a b'}]", 1, "steps.0.queue", "letters, digits"),
    ("steps: [{name: a, script: x, engine: {}}]", 1, "steps.0.engine", "has no name: write {name: gpu"),
    (
        f"steps: [{{name: {'a' * 100}, script: x, queue: b}}]",
        1,
        "steps.0.name",
        "the name of the job that a step with a queue or an engine becomes",
    ),
    ("steps: [{name: a, approve: admin, script: x}]", 1, "steps.0", "approve"),
    ("steps: [{name: a, job: b, env: {A: x}}]", 1, "steps.0", "env goes with no job: give its run params"),
    ("steps: [{name: a, script: x, params: {A: x}}]", 1, "steps.0", "params goes with job"),
    ("steps: [{name: a, job: b, params: {A: ['${params.x}']}}]", 1, "steps.0.params", "there is no param x"),
    ("steps: [{name: a, job: b, params: {A: '${secret:x}'}}]", 1, "steps.0.job", "params of a run are stored"),
    ("steps: [{name: a, script: x, max_parallel: 2}]", 1, "steps.0", "max_parallel goes with foreach"),
    ("command: 'echo ${secret:db}'", 1, "command", "can read the arguments of a program; hand it over in env"),
    ("command: x\nenv: {A: 'x${secret:d b}'}", 2, "env.A", "cannot be the name of a secret"),
    ("http: {url: 'https://a', headers: {A: '${params.b}'}}", 1, "http", "there is no param b"),
    ("command: x\ndir: ''", 2, "dir", "must not be empty"),
    ("params: {1a: x}", 1, "params.1a", "Python identifier"),
    ("params: {class: x}", 1, "params.class", "Python identifier"),
    ("env: {1A: x}", 1, "env.1A", "cannot be a variable's name"),
    ("labels: {'': x}", 1, "labels.", "a label has a name"),
    ("http: {url: 'http://x.org', headers: {'a b': c}}", 1, "http.headers.a b", "cannot be a header's name"),
    ('http: {url: "http://x.org", headers: {a: "b\\nc"}}', 1, "http.headers.a", "stands on one line"),
    ("http: ftp://x.org", 1, "http", "is not a web address"),
    ("http: 'http://[x'", 1, "http", "is not a web address"),
    ("http: 'http://x.org/a b'", 1, "http", "is not a web address"),
    ("python: shop.jobs", 1, "python", "write package.module:function"),
    ("python: 'shop.jobs:'", 1, "python", "write package.module:function"),
    # durations
    ("timeout: 90", 1, "timeout", "write 90s, 90m or 90h"),
    ("timeout: 0", 1, "timeout", "leave the field out"),
    ("timeout: 0s", 1, "timeout", "is not a duration"),
    ("timeout: -5m", 1, "timeout", "is not a duration"),
    ("timeout: true", 1, "timeout", "a duration is a text"),
    ("grace: [5m]", 1, "grace", "a duration is a text"),
    ("catchup_window: 6", 1, "catchup_window", "write 6s"),
    ("catchup_window: 0.0", 1, "catchup_window", "leave the field out"),
    ("catchup_window: false", 1, "catchup_window", "a duration is a text"),
    ("schedule: {every: 90}", 1, "schedule.every", "write 90s"),
    ("schedule: {every: 5m, offset: 5m}", 1, "schedule", "the offset must be shorter"),
    ("retry: {limit: 1, interval: 5m, max_interval: 1m}", 1, "retry", "max_interval is shorter"),
    # times
    ("schedule: {at: tomorrow}", 1, "schedule.at", "write it like 2026-03-01T09:00:00"),
    ("schedule: {at: 2026-03-01}", 1, "schedule.at", "write 2026-03-01T09:00:00"),
    ("schedule: {at: 2026-02-30T00:00}", 1, "schedule.at", "is not in the calendar"),
    ("schedule: {at: 2026-02-20T24:00}", 1, "schedule.at", "is not in the calendar"),
    ("schedule: {at: 2026-02-20T00:00:00.5}", 1, "schedule.at", "is not a date or time"),
    ("schedule: {at: 5}", 1, "schedule.at", "must be text"),
    ("schedule: {at: 0001-01-01T00:00}", 1, "schedule.at", "further away than the calendar reaches"),
    ("until: 9999-12-31", 1, "until", "leave it out if no end is meant"),
    ("until: soon", 1, "until", "is not a date or time"),
    ("schedule: {rrule: FREQ=DAILY}", 1, "schedule.rrule", "it counts from its beginning: give the job a `from`"),
    ("schedule: {rrule: FREQ=DALY}\nfrom: 2027-01-01", 1, "schedule.rrule", "FREQ is one of"),
    ("schedule: {every: 2w, on: [1], at: '9:00'}\nfrom: 2027-01-01", 1, "schedule.every", "go with months"),
    ("schedule: {every: 2w, on: [FUNDAY], at: '9:00'}", 1, "schedule.on.0", "is no day"),
    ("schedule: {every: 2w, on: [MON], at: 9am}", 1, "schedule.at", "no time of day"),
    ("schedule: {every: 2x, on: [MON], at: '9:00'}", 1, "schedule.every", "no interval of the calendar"),
    ("from: soon", 1, "from", "is not a date or time"),
    ("schedule: '@daily'\nfrom: 2027-02-01\nuntil: 2027-01-31", 3, "until", "before from, 2027-02-01T00:00:00Z"),
    ("schedule: {at: 2027-01-01T00:00}\nfrom: 2027-02-01", 2, "from", "none of its times is at or after"),
    ("pause_after: {failures: 0}", 1, "pause_after.failures", "must be at least 1"),
    ("max_starts: {count: 0, per: 1d}", 1, "max_starts.count", "must be at least 1"),
    ("max_starts: {count: 5}", 1, "max_starts.per", "is missing"),
    ("max_starts: 24", 1, "max_starts", "must be a mapping"),
    ("deadline: {}", 1, "deadline", "write start, finish or both"),
    ("deadline: {start: 1h, cancel: true}", 1, "deadline", "cancel goes with finish"),
    ("deadline: {start: 2h, finish: 1h}", 1, "deadline", "start comes after finish"),
    ("deadline: {finish: 25:00}", 1, "deadline.finish", "is no time of day: write 09:00"),
    ("deadline: {finish: 5}", 1, "deadline.finish", "a duration has a unit"),
    ("deadline: {finish: 1h, warn: 20}", 1, "deadline.warn", "must be at most 1"),
    ("pause_after: 5", 1, "pause_after", "must be a mapping"),
    ("schedule:\n- '@daily'\n- {at: 2026-01-01T00:00}", 3, "schedule.1", "a one-off cannot share a list"),
    # cron
    ("schedule: 0 25 * * *", 1, "schedule", "hour: 25 is out of range 0-23\n  0 25 * * *\n    ^^"),
    ("schedule:\n  - 0 0 30 2 *", 2, "schedule.0", "never fires"),
    ("schedule: {start: {cron: 0 0 * * FOO}}", 1, "schedule.start.cron", "cannot read 'FOO'"),
    # fields that depend on each other
    ("overlap: queue\ncatchup: once", 1, "overlap", "needs catchup: all"),
    ("catchup: all\noverlap: replace", 2, "overlap", "cannot go with catchup: all"),
    ("catchup: all\ncatchup_window: 0", 2, "catchup_window", "means catchup: skip"),
    ("catchup: skip\ncatchup_window: 5h", 2, "catchup_window", "goes with catchup: all"),
    ("max_active_runs: 2", 1, "max_active_runs", "needs overlap: allow"),
    ("wait_for: 5m", 1, "wait_for", "it goes with after"),
    ("keep: {days: 1, runs: 2}", 1, "keep", "exactly one of days, runs, not days and runs"),
    ("keep: {}", 1, "keep", "but has none"),
    ("preconditions: [{command: a, python: 'b:c'}]", 1, "preconditions.0", "not command and python"),
    ("on: {exit: {}}", 1, "on.exit", "exactly one of command, script, python, http"),
    ("command: a\npython: b:c", 2, "python", "command is given already"),
    ("command: a\nsteps: [{name: a, command: b}]", 1, "command", "goes with no steps"),
    ("command: a | b", 1, "command", "no shell reads a command, so '|' would be an argument: use script"),
    ("command: echo 'a", 1, "command", "no closing quotation"),
    # steps
    ("steps:\n- {name: a}", 2, "steps.0", "a step has exactly one of command, script, python, http"),
    ("steps:\n- {command: a}", 2, "steps.0.name", "is missing"),
    ("steps:\n- {name: a, command: x}\n- {name: a, command: y}", 3, "steps.1.name", "a second step named a"),
    (
        "steps:\n- {name: load, command: x}\n- {name: b, command: y, depends: laod}",
        3,
        "steps.1.depends",
        "mean load?",
    ),
    (
        CIRCLE,
        1,
        "steps.0.depends",
        "the steps wait for each other: a before c before b before a",
    ),
    (
        "steps: [{name: a, command: x, depends: [a, b]}, {name: b, command: x, depends: []}]",
        1,
        "steps.0.depends",
        "a before a",
    ),
    ("steps: [{name: a, command: x, depends: [b]}]", 1, "steps.0.depends.0", "there is no step b"),
    (
        "steps: [{name: a, command: x, depends: 5}]",
        1,
        "steps.0.depends",
        "must be a step's name or a list of them",
    ),
    ("steps: [{name: a, command: x, depends: a}]", 1, "steps.0.depends", "a before a"),
    # YAML itself
    ("", 1, "", "there is no job in this file"),
    ("# only a comment\n---\n", 1, "", "there is no job in this file"),
    ("hello", 1, "", "a job file holds fields"),
    ("- a\n- b", 1, "", "a job file holds fields"),
    ("name: a\nschedule: */5 * * * *", 2, "schedule", 'must be quoted: write "*/5 * * * *"'),
    ("schedule: * * * * *  # every minute", 1, "schedule", 'must be quoted: write "* * * * *"'),
    ("schedule: @daily", 1, "schedule", 'must be quoted: write "@daily"'),
    ("schedule:\n  - */5 1,2 * * *", 2, "schedule.0", 'must be quoted: write "*/5 1,2 * * *"'),
    ("schedule: [@daily, @hourly]", 1, "schedule", 'must be quoted: write "@daily"'),
    ("schedule: {cron: */5 * * * *}", 1, "schedule.cron", 'must be quoted: write "*/5 * * * *"'),
    ("retry: *often", 1, "retry", "no anchor &often stands before it"),
    ("env: &a {B: *a}", 1, "env.B", "no anchor &a stands before it"),
    ("name: a\nname: b", 2, "name", "written twice: first in line 1"),
    ("env:\n\tA: b", 2, "env", "a tab: indent with spaces"),
    ("description: a: b", 1, "description", "quote the text"),
    ('description: "never closed\nname: a\n', 1, "description", "never closed"),
    ("labels: {a: b\nname: x", 1, "labels", "not closed with }"),
    ("schedule: ['@daily'\nname: x", 1, "schedule", "not closed with ]"),
    ("name: a\n  queue: b", 2, "name", "fix the indentation"),
    ('description: "\\z"', 1, "description", "wrong \\ escape"),
    ('description: "\\UFFFFFFFF"', 1, "description", "wrong \\ escape"),
    ('description: "a\\0b"', 1, "description", "cannot hold a NUL"),
    ('description: "\\ud800"', 1, "description", "half a character"),
    ("name: a\ndescription: b\0c", 2, "", "U+0000 cannot stand in a YAML file"),
    ("name: a\ndescription: \ud800", 2, "", "U+D800 cannot stand in a YAML file"),
    ("params: {a: .inf}", 1, "params.a", ".inf is no number here"),
    ("params: {a: 1e999}", 1, "params.a", "too large for a number"),
    (f"params: {{a: {'9' * 301}}}", 1, "params.a", "a number this long"),
    ("params: {a: 9223372036854775808}", 1, "params.a", "is an integer beyond 64 bits"),
    ("params: {a: {b: [1, 9223372036854775808]}}", 1, "params.a.b[1]", "beyond 64 bits"),
    ("params: {a: !!binary abcd}", 1, "params.a", "has no meaning here"),
    ("params: !!python/object:os.system {}", 1, "params", "has no meaning here"),
    ("env: {1: a}", 1, "env.1", 'write "1"'),
    ("? [a]\n: b", 1, "", "a key must be a text"),
    (": b", 1, "", "a key is missing"),
    ("env: {<<: a}", 1, "env.<<", "<< takes a mapping"),
    ("name: a\n...\nname: b", 3, "", "write --- before it"),
    ("%YAML 1.1\n---\nname: a", 1, "", "files are read as YAML 1.2"),
    ("%YAML 1.2\n%TAG ! tag:x,2000:\n---\nname: a", 2, "", "files are read as YAML 1.2"),
]


@pytest.mark.parametrize(("text", "line", "field", "piece"), TABLE)
def test_one_fault_is_one_error(text: str, line: int, field: str, piece: str) -> None:
    """A fault is told once, with its line, its field and what to do about it."""
    (error,) = wrong(text)
    assert (error.file, error.line, error.field) == ("jobs/etl.yaml", line, field)
    assert piece in str(error)
    assert error.column is not None
    assert str(error).startswith(f"jobs/etl.yaml:{line}:{error.column}: ")


def test_an_error_reads_like_a_compilers() -> None:
    """File, line, column, field and the fix stand in one line, and the error is the caller's fault."""
    (error,) = wrong("name: a\n  \noverlapp: skip")
    assert str(error) == "jobs/etl.yaml:3:1: overlapp: unknown field (did you mean overlap?)"
    assert isinstance(error, InputError)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("schedule: 0 25 * * *", 13),
        ("schedule: '0 25 * * *'", 14),
        ('schedule: "0 25 * * *"', 14),
        ("schedule:   [0 3 * * *, 0 25 * * *]", 27),
        ("schedule: {cron: 0 25 * * *}", 20),
        ("schedule: &x !!str 0 25 * * *", 22),
        ("schedule: '0 3 * * '", 19),
        ('schedule: "0 25\\x20* * *"', 11),
        ("schedule: 0\n  25 * * *", 11),
    ],
)
def test_the_column_of_a_cron_error(text: str, column: int) -> None:
    """S38: the column is that of the offending character; of a text folded or escaped, where it starts."""
    (error,) = wrong(text)
    assert (error.line, error.column) == (1, column)


def test_all_errors_of_a_document_are_told() -> None:
    """Faults of single values, of fields that depend on each other and of steps come together, in line order."""
    errors = wrong("""overlapp: skip
schedule: 61 * * * *
catchup: once
overlap: queue
enabled: on
timeout: 5
steps:
- {name: a, command: x, depends: b}
- {name: b, command: x, depends: a}
keep: {day: 1}
""")
    assert [(e.line, e.field) for e in errors] == [
        (1, "overlapp"),
        (2, "schedule"),
        (4, "overlap"),
        (5, "enabled"),
        (6, "timeout"),
        (8, "steps.0.depends"),
        (10, "keep.day"),
    ]


def test_what_follows_from_a_broken_field_is_not_told() -> None:
    """A misspelled value is one error; that others no longer fit it is none."""
    assert [e.field for e in wrong("overlap: alow\nmax_active_runs: 4")] == ["overlap"]
    assert [e.field for e in wrong("after: [{schedule: a}]\nwait_for: 5m")] == ["after.0.within"]
    assert [e.field for e in wrong("timezone: Nowhere\nschedule: '@daily'\nuntil: 2026-01-01")] == ["timezone"]


def test_a_bad_document_does_not_hide_the_others() -> None:
    """Documents of one file stand by themselves, also beside one that is no YAML at all."""
    text = "name: a\n---\nname: b\nfoo: 1\n---\nname: c\nschedule: @daily\n---\nname: d\n---\nqueue: x\n"
    found, errors = read_text(text, "x.yaml", "x")
    assert [located.job.name for located in found] == ["a", "d"]
    assert [(e.line, e.field) for e in errors] == [(4, "foo"), (7, "schedule"), (11, "name")]
    assert "only the first document" in str(errors[-1])


def test_a_file_name_that_cannot_be_a_jobs_name() -> None:
    """Where the file's name cannot stand in, a name is asked for."""
    found, errors = read_text("queue: x", "ä b.yaml", "ä b")
    assert not found
    assert [(e.field, "the file's name cannot stand in" in str(e)) for e in errors] == [("name", True)]


def test_a_template_of_ones_own_that_cannot_be_used() -> None:
    """A bad template is the error of the schedule that uses it."""
    _, errors = read_text(
        "schedule: {template: odd}", "a.yaml", "a", Defaults(templates={"odd": Template("61 * * * *", "never")})
    )
    assert [(e.column, e.field) for e in errors] == [(22, "schedule.template")]
    assert "61 is out of range" in str(errors[0])


def test_very_many_errors_are_cut() -> None:
    """Of very many errors the first hundred are told, and how many more there are."""
    errors = wrong("\n".join(f"f{i}: 1" for i in range(150)))
    assert len(errors) == 101
    assert "and 50 more errors" in str(errors[-1])
    assert errors[0].field == "f0"


def test_foreign_text_in_errors_is_short_and_printable() -> None:
    """Whatever stands in the file, a message stays readable and can be printed."""
    for text in (f"{'x' * 5000}: 1", f"name: {'y' * 5000}", f"labels: {{{'z' * 900}: 1}}", '"a\\e[31m": 1'):
        for error in wrong(text):
            assert len(str(error)) < 500
            assert "\x1b" not in str(error)
            str(error).encode("utf-8")
