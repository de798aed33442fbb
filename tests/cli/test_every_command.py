"""Every command that asks the API: what it shows, that `--json` is the API's own answer, and how it refuses."""

import json
import re
import shlex
from typing import Any, NamedTuple

import pytest
import typer

from tickwise import Tickwise
from tickwise.cli.main import app

from ..support.cli import Filled, live
from .conftest import Command

ELSEWHERE = {
    "serve", "ticker", "worker", "api", "notify test", "validate", "simulate", "import", "diff",
    "cron explain", "cron next", "config show", "exec", "init", "schema", "events list", "events send",
    "seen", "shadow adopt", "calendars add", "calendars preview", "mcp", "proposals show", "proposals approve",
    "runs approve", "runs reject",
    "proposals reject",
}  # fmt: skip  # commands that ask no API, or need a proposal or a run that waits, which have tests of their own


class Case(NamedTuple):
    """A command once used well and once not; `{report}` stands for the id of a run."""

    good: str
    shows: str
    answer: tuple[str, str] | dict[str, Any]  # the request whose answer is printed, or what is printed itself
    bad: str
    says: str
    code: int = 2
    reads: bool = False  # it changes nothing
    ends: int = 0  # the exit code of the good case


OF_NIGHTLY = "/schedules/nightly"
FROM_THE_APP = {"schedules list", "schedules show", "runs list", "why"}  # over a store, they need no API
CASES = {
    "schedules list": Case(
        "--text night --not-paused", "nightly", ("GET", "/schedules"), "--due-before soon",
        "'soon' is not a duration", reads=True,
    ),
    "schedules show": Case(
        "nightly", "schedule: 0 2 * * *", ("GET", OF_NIGHTLY), "nightl", "did you mean nightly?", reads=True
    ),
    "schedules add": Case(
        "--name extra --every 15m --command ls", "Every 15 minutes", ("POST", "/schedules"),
        "--name extra --cron '61 * * * *' --command ls", "schedule: minute: 61 is out of range 0-59",
    ),
    "schedules update": Case(
        "nightly --cron '0 5 * * *'", "At 05:00, every day, Europe/Berlin", ("PATCH", OF_NIGHTLY),
        "breaks --cron '0 5 * * *'", "breaks was defined by app:app, which alone may change it", 1,
    ),
    "schedules remove": Case(
        "nightly --yes", "nightly is deleted.", {"name": "nightly", "removed": True},
        "breaks --yes", "breaks was defined by app:app", 1,
    ),
    "schedules pause": Case(
        "nightly --reason move", "nightly is paused", ("POST", f"{OF_NIGHTLY}:pause"), "nobody",
        "there is no schedule 'nobody'",
    ),
    "schedules resume": Case(
        "nightly --run-missed", "nightly runs next at", ("POST", f"{OF_NIGHTLY}:resume"), "nobody",
        "there is no schedule 'nobody'",
    ),
    "schedules trigger": Case(
        "nightly --allow-overlap -p table=users", "is queued", ("POST", f"{OF_NIGHTLY}:trigger"), "nightly",
        "{nightly}", 1,
    ),
    "schedules reschedule": Case(
        "nightly 15m", "nightly runs next at", ("POST", f"{OF_NIGHTLY}:reschedule"), "nightly soon",
        "'soon' is not a duration",
    ),
    "schedules skip": Case(
        "breaks 2099-01-01T04:30 --reason maintenance", "breaks runs next at", ("POST", "/schedules/breaks:skip"),
        "breaks 2099-01-01T03:07", "is none of its times",
    ),
    "schedules reset": Case(
        "nightly --yes", "nightly runs next at", ("POST", f"{OF_NIGHTLY}:reset"), "nightly",
        "There is no terminal to ask on: pass --yes",
    ),
    "schedules backfill": Case(
        "nightly --from 2024-01-01 --to 2024-01-03", "2 slots of nightly will run",
        ("POST", f"{OF_NIGHTLY}:backfill"), "nightly --from 2024-01-01", "say which slots",
    ),
    "schedules adopt": Case(
        "nightly --dry-run", "would be", ("POST", "/schedules:adopt"), "",
        "name the schedules to move, or say --all",
    ),
    "shadow report": Case(
        "", "No schedule is in shadow.", ("GET", "/shadow"), "nightl", "did you mean nightly?", reads=True,
    ),
    "jobs list": Case("", "app:app", ("GET", "/jobs"), "now", "unexpected extra argument", reads=True),
    "jobs show": Case(
        "nightly", "table", ("GET", "/jobs/nightly"), "nightl", "there is no job 'nightl' (did you mean nightly?)",
        reads=True,
    ),
    "run": Case(
        "nightly -p table=users --queue fast --priority 5", "is queued", ("POST", "/runs"),
        "nightly -p tabel=users", "the job nightly has no parameter tabel (did you mean table?)",
    ),
    "runs list": Case(
        "--job report --state succeeded --since 2d", "succeeded", ("GET", "/runs"), "--state done",
        "state.0: ", reads=True,
    ),
    "runs show": Case(
        "{breaks}", "LookupError: no such table", ("GET", "/runs/{breaks}"), "nope", "there is no run 'nope'",
        reads=True,
    ),
    "runs logs": Case(
        "{report}", "count | three\nprint | reports", ("GET", "/runs/{report}/logs"),
        "nope", "there is no run 'nope'", reads=True,
    ),
    "jobs remove": Case(
        "report --yes", "report is deleted.", {"name": "report", "removed": True}, "nobody --yes",
        "there is no job 'nobody'",
    ),
    "jobs cancel": Case(
        "nightly --queued", "Asked to stop, of nightly", ("POST", "/jobs/nightly:cancel"), "nobody",
        "there is no job 'nobody'",
    ),
    "runs cancel": Case(
        "{nightly}", "is cancelled.", ("POST", "/runs/{nightly}:cancel"), "nope", "there is no run 'nope'"
    ),
    "runs retry": Case(
        "{breaks}", "is queued", ("POST", "/runs/{breaks}:retry"), "{report}", "succeeded", 1
    ),
    "pause": Case(
        "--reason move --until 2h", "All schedules are paused until", ("PUT", "/pause"), "--until 2001-01-01",
        "has passed: give a time after now",
    ),
    "resume": Case("", "Resumed.", ("DELETE", "/pause"), "now", "unexpected extra argument"),
    "upcoming": Case("--hours 30", "nightly", ("GET", "/upcoming"), "nobody", "there is no schedule 'nobody'"),
    "why": Case(
        "nightly --slot 2024-01-01T02:00", "tickwise schedules backfill nightly", ("GET", f"{OF_NIGHTLY}/why"),
        "nightly --slot soon", "'soon' is not a date or time", reads=True,
    ),
    "replay": Case(
        "nightly --from 2d --with overlap=queue", "nightly, overlap: queue: ", ("POST", f"{OF_NIGHTLY}/replay"),
        "nightly --from 2d --with overlap=queu", "did you mean queue?", reads=True,
    ),
    "proposals list": Case(
        "--all", "No proposals wait for a decision.", {"items": []}, "now", "unexpected extra argument", reads=True
    ),
    "forecast": Case("--hours 30", "hours 0-23", ("GET", "/forecast"), "--hours 0", "Invalid value for '--hours'"),
    "deadlines": Case(
        "", "No deadline comes in the next 24 hours.", ("GET", "/deadlines"), "now", "unexpected extra argument",
        reads=True,
    ),
    "blackouts list": Case(
        "", "stocktaking", ("GET", "/blackouts"), "now", "unexpected extra argument", reads=True
    ),
    "blackouts add": Case(
        "move --job 'old-*' --cron '0 22 * * FRI' --length 60h --timezone Europe/Berlin", "begins at Fri",
        ("POST", "/blackouts"), "move --length 1h", "name jobs or labels",
    ),
    "blackouts remove": Case(
        "freeze", "The blackout freeze is removed.", ("DELETE", "/blackouts/freeze"), "frieze",
        "there is no blackout 'frieze' (did you mean freeze?)",
    ),
    "queues list": Case("", "default", ("GET", "/queues"), "now", "unexpected extra argument", reads=True),
    "queues limit": Case(
        "default --concurrency 3", "3", ("PUT", "/queues/default"), "default", "say what to limit"
    ),
    "queues pause": Case(
        "default --reason move --until 2h", "The queue default is paused until",
        ("POST", "/queues/default:pause"), "default --until 2001-01-01", "has passed: give a time after now",
    ),
    "queues resume": Case(
        "default", "The queue default is resumed", ("POST", "/queues/default:resume"), "de/fault",
        "cannot be the name of a queue",
    ),
    "workers": Case("", "tickwise serve", ("GET", "/workers"), "now", "unexpected extra argument", reads=True),
    "templates": Case(
        "", "weekdays-at-9", ("GET", "/templates"), "now", "unexpected extra argument", reads=True
    ),
    "audit": Case("", "No changes recorded.", ("GET", "/audit"), "-n 0", "Invalid value for '--limit'"),
    "token create": Case(
        "robot --role operator --scope 'etl-*' --expires 30d", "has the role operator", ("POST", "/tokens"),
        "robot --role boss", "role: ",
    ),
    "token link": Case("--role viewer", "/#/signin?code=", ("POST", "/links"), "--role boss", "role: "),
    "token list": Case("", "expires", ("GET", "/tokens"), "now", "unexpected extra argument"),
    "token revoke": Case("ci --yes", "The token ci is revoked.", ("DELETE", "/tokens/id-of-ci"), "cii --yes",
                         "there is no valid token 'cii' (did you mean ci?)"),
    "status": Case(
        "", "things need you.", ("GET", "/attention"), "now", "unexpected extra argument", reads=True, ends=1
    ),
    "doctor": Case(
        "", "tickwise worker --queues default", ("GET", "/doctor"), "now", "unexpected extra argument", ends=1
    ),
    "store upgrade": Case(
        "", "is up to date", {"applied": []}, "--store valkey://here", "use sqlite:///FILE"
    ),
    "store check": Case("", "is fine", {"problems": []}, "--store valkey://here", "use sqlite:///FILE"),
    "store restored": Case(
        "--until 24h --yes", "New runs are numbered from", {"schedules": 0, "runs": 0},
        "--until 2100-01-01 --yes", "is to come: give the time at which the lost store stopped",
    ),
    "calendars list": Case("", "office", ("GET", "/calendars"), "now", "unexpected extra argument", reads=True),
    "calendars show": Case(
        "office --year 2027", "261 days of 2027 are in the calendar.", {"name": "office"},
        "ofice", "there is no calendar 'ofice' (did you mean office?)", reads=True,
    ),
    "calendars expand": Case(
        "office", "The calendar office has days up to", ("POST", "/calendars/office:expand"), "ofice",
        "did you mean office?",
    ),
    "calendars remove": Case(
        "office --yes", "The calendar office is removed.", {"removed": "office"}, "office",
        "There is no terminal to ask on: pass --yes",
    ),
    "sources list": Case("", "app:app", ("GET", "/sources"), "--jsn", "No such option", reads=True),
    "sources move": Case(
        "app:app app:shop --dry-run", "1 jobs would move: breaks", ("POST", "/sources:move"), "app:ap api",
        "there is no source 'app:ap' (did you mean app:app?)",
    ),
    "sources remove": Case(
        "app:app --yes", "1 jobs removed: breaks", ("POST", "/sources:remove"), "app:app",
        "There is no terminal to ask on: pass --yes",
    ),
}  # fmt: skip


def leaves(group: Any, *way: str) -> set[str]:
    """The commands below a group, by the words that people type."""
    found: set[str] = set()
    for name in group.commands:
        inner = group.commands[name]
        found |= leaves(inner, *way, name) if hasattr(inner, "commands") else {" ".join((*way, name))}
    return found


def test_no_command_is_without_a_row() -> None:
    """A new command fails here until it has a row, or tests of its own."""
    assert leaves(typer.main.get_command(app)) == CASES.keys() | ELSEWHERE


@pytest.mark.parametrize("name", CASES)
def test_a_good_case(command: Command, filled: Filled, name: str) -> None:
    """It says for people what was asked or done, in plain text where nobody looks, and ends with 0."""
    case = CASES[name]
    code, out, err = command(*name.split(), *shlex.split(case.good.format(**filled.runs)))
    assert (code, case.shows in out + err) == (case.ends, True), out + err
    assert "\x1b" not in out


@pytest.mark.parametrize("name", CASES)
def test_json_is_the_answer_of_the_api(
    command: Command, filled: Filled, recorded: dict[tuple[str, str], Any], name: str
) -> None:
    """`--json` prints what the API answered, and nothing else."""
    case = CASES[name]
    code, out, _ = command(*name.split(), *shlex.split(case.good.format(**filled.runs)), "--json")
    printed = json.loads(out)
    assert code == case.ends
    if isinstance(case.answer, dict):
        assert case.answer.items() <= printed.items()
    else:
        method, path = case.answer
        if name in FROM_THE_APP:
            assert recorded == {}
        else:
            assert printed == recorded[method, path.format(**filled.runs)]


@pytest.mark.parametrize("name", CASES)
def test_a_bad_case(command: Command, filled: Filled, name: str) -> None:
    """It says what is wrong on the other channel and prints nothing; ends with 2, or 1 where the state says no."""
    case = CASES[name]
    code, out, err = command(*name.split(), *shlex.split(case.bad.format(**filled.runs)))
    assert (code, out) == (case.code, "")
    assert case.says.format(**filled.runs) in err


_NOW = re.compile(r'"(now|start|end)": "[^"]*"')  # seconds that follow from when an answer was made


def test_a_server_gives_the_same_answers(command: Command, filled: Filled) -> None:
    """Over HTTP with a token the answers are those of the store."""
    with live(filled.url) as (address, token):
        for name, case in CASES.items():
            if case.reads:
                asked = [*name.split(), *shlex.split(case.good.format(**filled.runs)), "--json"]
                there = command(*asked, "--server", address, "--token", token)
                assert there[0] == case.ends, there
                here = command(*asked)
                assert _NOW.sub("", there[1]) == _NOW.sub("", here[1]), name


@pytest.mark.parametrize(
    "asked",
    [
        "schedules list --label team=billing", "schedules list --due-before 2d --source api",
        "schedules list --paused",
        "schedules list --job report -n 1 --json", "schedules list --limit 1 --json", "schedules list --json",
        "schedules show report --json", "schedules show breaks --json", "schedules show hidden --json",
        "why report --json", "why breaks --json", "why hidden --slot 2024-01-01T02:00 --json",
        "runs list --json", "runs list -n 1 --json", "runs list --trigger manual --queue default --json",
        "runs list --text rep --since 2024-01-01 --until 2100-01-01 --json", "runs list --schedule nightly",
        f"schedules list --text {'x' * 201}", "runs list --state done --trigger never", "why nobody",
        "schedules show nightl", "runs list --since 1960-01-01",
    ],
)  # fmt: skip
def test_a_read_from_the_app_is_that_of_a_server(
    command: Command, filled: Filled, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the app answers without the API is, letter by letter, what a server would answer; so are errors."""
    with Tickwise(filled.url) as tw:
        tw.schedules.add("hidden", schedule="0 2 * * *", command="ls", env={"A": "s3cret"}, params={"token": "x"})
        tw.schedules.trigger("hidden")
        tw.schedules.pause("hidden", reason="moved", by="ada")
    with live(filled.url) as (address, token):
        monkeypatch.setenv("TICKWISE_TOKEN", token)
        there = command(*shlex.split(asked), "--server", address)
    here = command(*shlex.split(asked), "--store", filled.url)
    assert [part.replace(address, filled.url) for part in there[1:]] == list(here[1:])
    assert there[0] == here[0]


def test_a_server_does_the_same(command: Command, filled: Filled) -> None:
    """Over HTTP, too, everything can be done; what deletes comes last."""
    changes = [name for name in CASES if not CASES[name].reads and not name.startswith("store")]
    with live(filled.url) as (address, token):
        for name in sorted(changes, key=lambda name: name in ("jobs remove", "schedules remove")):
            case = CASES[name]
            asked = (*name.split(), *shlex.split(case.good.format(**filled.runs)))
            code, out, err = command(*asked, "--server", address, "--token", token)
            assert (code, case.shows in out + err or name == "audit") == (case.ends, True), (name, out, err)
        followed = command("runs", "logs", filled.runs["report"], "-f", "--server", address, "--token", token)
    assert followed[:2] == (0, "count | three\nprint | reports\n")


def test_no_help_is_cut(command: Command) -> None:
    """A27: in 80 columns the list of each group shows the first sentence of each command in full."""
    groups = {" ".join(name.split()[:-1]) for name in CASES.keys() | ELSEWHERE}
    for group in sorted(groups):
        listed = command(*group.split(), "--help")[1].split("Commands:")[1]
        assert [line for line in listed.splitlines() if line.rstrip().endswith("...")] == [], group
