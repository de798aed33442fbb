"""`why`: the chain of reasons, from the definition to the worker, in the schedule's own time."""

import json
from pathlib import Path
from typing import Any

import pytest

from tickwise import Tickwise

from ..support.app import Clock, at
from ..support.cli import Filled, Terminal
from .conftest import Command

HOURLY = "0 * * * *"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tw(clock: Clock) -> Any:
    with Tickwise("memory://", clock=clock) as tw:
        yield tw


def declare(tw: Tickwise, **options: Any) -> None:
    async def work() -> None: ...

    tw.job(HOURLY, name="job", **{"timezone": "Europe/Berlin", **options})(work)
    tw.jobs.list()


def told(tw: Tickwise, slot: Any = None) -> dict[str, tuple[str, str]]:
    """Mark and text of each link."""
    return {link.what: (link.mark, link.text) for link in tw.why("job", slot).chain}


def test_a_slot_that_ran(tw: Tickwise, clock: Clock) -> None:
    """Every link holds, from the definition to the run, and times are told in the schedule's zone."""
    declare(tw)
    clock.set(at("01:00:10"))
    tw.drain()
    chain = told(tw)
    assert list(chain) == "definition|slot|cursor|pause|rules|verdict|run|next|what to do".split("|")
    assert {mark for what, (mark, _) in chain.items() if what != "what to do"} == {"yes"}
    assert chain["definition"][1] == "Every hour, Europe/Berlin (0 * * * *), as app:app has it."
    assert chain["next"][1] == "Thu 2026-01-01 03:00:00 Europe/Berlin."
    assert "succeeded (attempt 1, started 10.0 s after it was due" in chain["run"][1]


def test_a_run_that_failed(tw: Tickwise, clock: Clock) -> None:
    """Its last words are a link, and the advice is to look and to retry."""

    async def breaks() -> None:
        raise LookupError("no such table")

    tw.job(HOURLY, name="job")(breaks)
    tw.jobs.list()
    clock.set(at("01:00"))
    tw.drain()
    chain, (run,) = told(tw), tw.runs.list()
    assert (chain["run"][0], chain["error"]) == ("no", ("no", "LookupError: no such table"))
    assert f"tickwise runs retry {run.id}" in chain["what to do"][1]


def test_a_run_that_waits_for_a_worker(tw: Tickwise, clock: Clock) -> None:
    """What a queued run waits for is a link of its own (S44)."""

    async def breaks() -> None:
        raise LookupError("no such table")

    tw.job(HOURLY, name="job", retry={"limit": 1, "interval": "10m"})(breaks)
    tw.jobs.list()
    clock.set(at("01:00"))
    tw.drain()
    chain = told(tw)
    assert (chain["run"][0], chain["worker"][0]) == ("wait", "wait")
    assert chain["worker"][1].startswith("It may not start before 2026-01-01T01:1")


def test_a_slot_that_was_skipped(tw: Tickwise, clock: Clock) -> None:
    """The rule that stopped it is the link that does not hold (S10), with what to set instead."""
    declare(tw, catchup="skip", skip_if_successful=True)
    clock.set(at("01:30"))
    tw.drain()
    chain = told(tw)
    assert [what for what, (mark, _) in chain.items() if mark == "no"] == ["verdict"]
    assert chain["rules"] == ("yes", "catchup: skip, overlap: skip, skip_if_successful.")
    assert "catchup: once" in chain["what to do"][1]


def test_a_slot_that_waits(tw: Tickwise, clock: Clock) -> None:
    """What is held back says so, and that the cursor has not passed it (S35)."""
    tw.job("30 0 * * *", name="first")(lambda: None)
    declare(tw, after=[{"schedule": "first", "within": "2h"}], wait_for="30m")
    tw.schedules.pause("first")
    clock.set(at("01:00"))
    tw.drain()
    chain = told(tw)
    assert (chain["cursor"][0], chain["verdict"][0]) == ("wait", "wait")
    assert "after: first within 2h" in chain["rules"][1]


def test_nobody_ticks(tw: Tickwise, clock: Clock) -> None:
    """A due slot without a ticker says that, and how long it has been due."""
    declare(tw)
    clock.set(at("01:05"))
    chain = told(tw)
    assert chain["slot"] == ("yes", "It was due 5m ago.")
    assert (chain["cursor"][0], chain["ticker"]) == ("wait", ("wait", "No ticker has looked at it yet."))


def test_a_pause_is_what_stops_it(tw: Tickwise, clock: Clock) -> None:
    """A pause has its time, author and reason, whether of the schedule or of everything (S29)."""
    declare(tw)
    tw.schedules.pause("job", by="ada", reason="move")
    clock.set(at("01:00"))
    chain = told(tw)
    assert chain["pause"] == (
        "no", "The schedule is paused since Thu 2026-01-01 01:00:00 Europe/Berlin by ada: move."
    )  # fmt: skip
    assert chain["next"] == ("wait", "None while it is paused.")
    assert "tickwise schedules resume job" in chain["what to do"][1]
    tw.pause()
    assert told(tw)["pause"][1].startswith("Everything is paused since")


@pytest.mark.parametrize(
    ("slot", "mark", "says"),
    [
        (at("05:00"), "wait", "It comes in 4h."),
        (
            "2026-01-01T00:17:00Z",
            "no",
            "01:17:00 Europe/Berlin is none of its times; nearest: Thu 2026-01-01 01:00:00",
        ),
        ("2025-12-31T23:00:00Z", "no", "The schedule was added later, Thu 2026-01-01 01:00:00"),
    ],
)
def test_instants_that_are_no_slot(tw: Tickwise, clock: Clock, slot: Any, mark: str, says: str) -> None:
    """A slot to come, no slot at all, and one before the schedule was there are told apart (S2)."""
    declare(tw)
    clock.set(at("01:00"))
    chain = told(tw, slot)
    assert (chain["slot"][0], says in chain["slot"][1], "cursor" in chain) == (mark, True, False), chain


def test_nothing_was_due_yet(tw: Tickwise) -> None:
    """A new schedule says since when it waits."""
    declare(tw)
    assert told(tw)["slot"][1] == "None has been due since it was added, Thu 2026-01-01 01:00:00 Europe/Berlin."


def test_jitter_and_the_end_are_told(tw: Tickwise, clock: Clock) -> None:
    """Jitter moves the time at which a slot is due (S36); after the last slot there is no next (S34)."""
    declare(tw, jitter="30m", until="2026-01-01T01:00:00Z", timezone="UTC")
    clock.set(at("01:45"))
    tw.drain()
    chain = told(tw)
    assert "after the slot by its jitter" in chain["slot"][1]
    assert chain["next"] == ("no", "It has no further times.")


def test_a_cursor_ahead_of_the_clock(tw: Tickwise, clock: Clock) -> None:
    """The link of the cursor names the repair (S4)."""
    declare(tw)
    clock.set(at("05:00"))
    tw.drain()
    clock.set(at("01:00"))
    assert told(tw)["cursor"][0] == "no"
    assert "tickwise schedules reset job" in told(tw)["cursor"][1]


@pytest.mark.usefixtures("filled")
def test_for_people(command: Command) -> None:
    """The command tells slot and verdict first, then the reasons, then what to do."""
    lines = command("why", "nightly", "--slot", "2024-01-01T02:00")[1].splitlines()
    assert lines[0] == "nightly Mon 2024-01-01 02:00:00 +0100 (Europe/Berlin): before it was added"
    assert lines[-1].startswith("→ what to do If it must run: tickwise schedules backfill nightly")


@pytest.fixture
def missed(tmp_path: Path) -> str:
    """The folder's store, in which nothing looked at the slot of 01:00 until 01:03:41."""
    url = f"sqlite:///{tmp_path}/.tickwise/tickwise.db"
    clock = Clock()
    with Tickwise(url, clock=clock) as tw:
        declare(tw, catchup="skip", timezone="UTC")
        for time in ("00:30", "01:03:41", "02:00"):
            clock.set(at(f"{time}:00" if len(time) < 6 else time))
            tw.drain()
    return url


def test_what_would_have_let_it_run(missed: str, command: Command) -> None:
    """S9: after the reasons, the smallest changes, each with its time; `--json` is the search alone."""
    arguments = ("why", "job", "--slot", "2026-01-01T01:00", "--store", missed, "--what-if")
    code, shown, _ = command(*arguments)
    assert code == 0
    assert "✓ what if    Any of these would have let it run." in shown
    grace = "grace: 4m (3m41s would have been enough): it would have run at Thu 2026-01-01 01:03:41 UTC."
    assert grace in " ".join(shown.split())
    assert json.loads(command(*arguments, "--json")[1])["remedies"][0]["fields"] == {"grace": "4m"}
    ran = command("why", "job", "--slot", "2026-01-01T02:00", "--store", missed, "--what-if")[1]
    assert "It has a run: " in ran
    newest = command("why", "job", "--store", missed, "--what-if")[1]
    assert "No pass has decided it yet, and nothing of its definition is in its way." in newest


def test_the_past_with_other_fields(missed: str, command: Command) -> None:
    """Sum, both ribbons, and the slots that differ; what is no field is refused."""
    window = ("--from", "2026-01-01T00:30", "--to", "2026-01-01T02:30")
    code, shown, _ = command("replay", "job", *window, "--with", "grace=5m", "--store", missed)
    assert code == 0
    assert shown.splitlines()[0] == ("job, grace: 5m: 1 ran → 2, 1 skipped → 0, longest wait none → 3m41s")
    assert "job  was      |x█|" in shown
    assert "     would be |▓█|" in shown
    assert "skipped: missed  ran 3m41s late" in shown
    assert command("replay", "job", *window, "--with", "grace", "--store", missed)[0] == 2


def test_at_a_terminal_it_is_coloured(filled: Filled) -> None:
    """What to do stands out."""
    shown = Terminal(filled.folder.parent, "why", "nightly")
    assert shown.end() == 0
    assert "\x1b[1mnightly" in shown.shown
    assert "\x1b[1;36m→" in shown.shown
    assert "╭─ " in shown.shown
