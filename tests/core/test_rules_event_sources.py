"""S70: what nodes find at a source becomes an event once, however many look, how often, and from where."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.change import Added, Deleted, Updated
from tickwise.core.change import apply_change as changed
from tickwise.core.codec import decode_rest, decode_schedule, encode_rest, encode_schedule
from tickwise.core.cron import parse
from tickwise.core.definition import Catchup, JobDefinition, Policy, ScheduleDefinition, jobs_listened_to
from tickwise.core.event_inbox import EventsReceived
from tickwise.core.event_sources import (
    END_OVERLAP,
    MAX_KEYS,
    MICRO,
    FoundEnds,
    FoundFiles,
    NewEvent,
    SettledFile,
    new_ends,
)
from tickwise.core.events import (
    Coalesce,
    EndState,
    EventSource,
    JobEnd,
    JobEnds,
    OnEvent,
    SettledFiles,
    TakenEvents,
)
from tickwise.core.model import Schedule
from tickwise.core.payload import decode
from tickwise.core.states import RunState

BEGIN = 1_000_000
ALL = Policy.of(catchup=Catchup.ALL)
END = JobEnds(("x",))
BOTH = JobEnds(("x", "y"), at_least=2, within=60)
FILES = SettledFiles("/in", "*.csv", 5)


def listening(source: EventSource | None, **rules: Any) -> Schedule:
    times = OnEvent(source, **rules)
    definition = ScheduleDefinition("a", "a", times, times.text, policy=ALL)
    return changed(None, Added(definition), BEGIN).schedules[0]


def end(run: int, at: float, job: str = "x", state: RunState = RunState.SUCCEEDED, attempt: int = 1) -> JobEnd:
    return JobEnd(job, str(run), attempt, str(state), round((BEGIN + at) * MICRO))


def look(schedule: Schedule, *ends: JobEnd, at: float = 100, read_from: float = 0) -> Schedule:
    """A node has found these."""
    found = FoundEnds(ends, round((BEGIN + read_from) * MICRO))
    return changed(schedule, EventsReceived((), found=found), BEGIN + round(at)).schedules[0]


def runs_of(schedule: Schedule) -> list[list[str]]:
    """The runs that each waiting event names."""
    return [[run["run"] for run in decode(event.data)["runs"]] for event in schedule.inbox.pending]


def test_an_end_is_an_event_once() -> None:
    """S70: by whoever it is found and how often; a run that is retried ends again."""
    schedule = listening(END)
    first = look(schedule, end(1, 3), end(2, 4.5))
    assert runs_of(first) == [["1"], ["2"]]
    assert [(event.key, event.source, event.at - BEGIN) for event in first.inbox.pending] == [
        ("run:1:1", "end", 3), ("run:2:1", "end", 5),
    ]  # fmt: skip
    assert look(first, end(1, 3), end(2, 4.5)) == first
    again = look(first, end(2, 4.5), end(1, 20, attempt=2), read_from=10)
    assert runs_of(again) == [["1"], ["2"], ["1"]]
    assert again.inbox.taken == TakenEvents((BEGIN + 10) * MICRO, (end(1, 20, attempt=2).mark,))
    assert look(again, end(9, 9), read_from=5) == again  # all that ended so long ago has been taken
    assert again._replace(**decode_rest(encode_rest(again))) == again


def test_a_new_schedule_has_no_past() -> None:
    """S2: nor has one that listens to something else; the same one again goes on where it was."""
    schedule = listening(END)
    assert look(schedule, end(1, -1)) == schedule
    seen = look(schedule, end(1, 5), read_from=9)
    back = changed(
        changed(seen, Deleted(), BEGIN + 20).schedules[0], Added(seen.definition), BEGIN + 30
    ).schedules[0]
    assert back.inbox.taken == seen.inbox.taken
    renewed = replace(seen.definition, policy=Policy.of())
    assert changed(seen, Updated(renewed), BEGIN + 40).schedules[0].inbox.taken == seen.inbox.taken
    other = replace(seen.definition, times=OnEvent(replace(END, state=EndState.ANY)))
    assert changed(seen, Updated(other), BEGIN + 40).schedules[0].inbox.taken == TakenEvents((BEGIN + 40) * MICRO)
    sent = replace(seen.definition, times=OnEvent())
    assert changed(seen, Updated(sent), BEGIN + 40).schedules[0].inbox.taken is None
    assert not any(changed(seen, Updated(replace(sent, times=parse("@daily"))), BEGIN + 40).schedules[0].inbox)


@pytest.mark.parametrize(
    ("state", "wanted"),
    [
        (EndState.SUCCESS, {RunState.SUCCEEDED}),
        (EndState.FAILURE, {RunState.FAILED, RunState.LOST, RunState.EXPIRED}),
        (EndState.ANY, set(RunState) - {RunState.QUEUED, RunState.RUNNING}),
    ],
)
def test_which_ends_count(state: EndState, wanted: set[RunState]) -> None:
    """S70: success, failure, or any; of the named jobs only."""
    source = JobEnds(("x",), state)
    ends = [end(number, number, state=each) for number, each in enumerate(RunState)]
    found = new_ends(source, TakenEvents(), [*ends, end(99, 1, "z")])
    assert {one.state for one in found} == wanted
    assert {one.job for one in found} == {"x"}


def test_so_many_of_the_jobs() -> None:
    """S70: the newest end of each counts, if they lie near enough; the run names all that caused it."""
    schedule = look(listening(BOTH), end(1, 0), end(2, 50), read_from=10)
    assert runs_of(schedule) == []
    assert schedule.inbox.taken is not None
    assert [one.run for one in schedule.inbox.taken.ends] == ["2"]
    schedule = look(schedule, end(3, 90, "y"))
    assert runs_of(schedule) == [["2", "3"]]
    [event] = schedule.inbox.pending
    assert event.at == BEGIN + 90
    schedule = look(schedule, end(4, 91, "y"), end(5, 151, "x"), end(6, 160, "y"), at=200)
    assert runs_of(schedule) == [["2", "3"], ["5", "6"]]
    assert schedule._replace(**decode_rest(encode_rest(schedule))) == schedule


def test_groups_go_by_when_runs_ended() -> None:
    """S71: not by when a node has looked."""
    schedule = look(listening(END, coalesce=Coalesce(10, 60)), end(1, 1), end(2, 5), end(3, 40), at=400)
    assert [event.at - BEGIN for event in schedule.inbox.pending] == [1, 5, 40]


def test_very_many_ends_in_a_moment() -> None:
    """S70: the keys are bounded; what they no longer name lies before the place from which is read."""
    ends = [end(number, number / 1_000) for number in range(MAX_KEYS + 500)]
    schedule = listening(END, coalesce=Coalesce(10, 60))
    for first in range(0, len(ends), 500):
        pending = look(schedule, *ends[first : first + 500])
        schedule = pending._replace(inbox=pending.inbox._replace(pending=()))  # they have had their run
    assert schedule.inbox.taken is not None
    assert len(schedule.inbox.taken.keys) == MAX_KEYS
    assert look(schedule, *ends) == schedule


_VIEWS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 40)), max_size=30)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 25)), max_size=25), _VIEWS)
def test_every_end_is_taken_once(ends: list[tuple[int, int]], looks: list[tuple[int, int]]) -> None:
    """S70: nodes look when they like, know old places, and see an end some seconds after its instant."""
    known = [(end(number, at), at + late) for number, (at, late) in enumerate(ends)]
    schedule, taken = listening(END), list[str]()
    places = {0: 0.0}
    for now, node in sorted([*looks, (500, 0)]):
        stored = schedule.inbox.taken
        assert stored is not None
        since = places.get(node % 3, 0.0)
        visible = [one for one, seen in known if seen <= now and one.at >= (BEGIN + since) * MICRO]
        after = look(
            schedule, *sorted(visible, key=lambda one: one.at), at=now, read_from=now - END_OVERLAP / MICRO
        )
        places[node % 3] = max(since, now - END_OVERLAP / MICRO)
        taken += [run for event in runs_of(after) for run in event]
        schedule = after._replace(inbox=after.inbox._replace(pending=()))
    assert sorted(taken) == sorted(one.run for one, _ in known)


def files(*names: str, size: int = 1, at: int = 5) -> tuple[SettledFile, ...]:
    return tuple(SettledFile(f"/in/{name}", size, at * 10**9) for name in names)


def found(schedule: Schedule, settled: tuple[SettledFile, ...], *there: SettledFile) -> Schedule:
    present = tuple(file.key for file in (*settled, *there))
    return changed(schedule, EventsReceived((), found=FoundFiles(settled, present)), BEGIN + 9).schedules[0]


def test_a_file_is_an_event_once() -> None:
    """S70: whoever finds it; written again, it is another; also after its window, as long as it lies there."""
    schedule = found(listening(FILES), files("a.csv", "b.csv"))
    assert [decode(event.data) for event in schedule.inbox.pending] == [
        {"path": f"/in/{name}", "size": 1, "modified_at": "1970-01-01T00:00:05Z"} for name in ("a.csv", "b.csv")
    ]
    assert {event.source for event in schedule.inbox.pending} == {"file"}
    assert found(schedule, files("a.csv", "b.csv")) == schedule
    assert len(found(schedule, files("a.csv", size=2)).inbox.pending) == 3
    assert len(found(schedule, files("a.csv", at=6)).inbox.pending) == 3
    odd = SettledFile("/in/\udcff.csv", 1, -(10**30))
    assert "�" in decode(found(schedule, (odd,)).inbox.pending[-1].data)["path"]


def test_files_that_lie_there_are_not_forgotten() -> None:
    """S70: of keys that are too many those go whose files are gone, the oldest first."""
    schedule = found(listening(FILES, coalesce=Coalesce(1, 1)), files("stays.csv"))
    for number in range(MAX_KEYS + 10):
        schedule = found(schedule, files(f"{number}.csv"), *files("stays.csv"))
        schedule = schedule._replace(inbox=schedule.inbox._replace(pending=(), decided=()))
    assert schedule.inbox.taken is not None
    keys = schedule.inbox.taken.keys
    assert len(keys) == MAX_KEYS
    assert files("stays.csv")[0].key in keys
    assert [files(f"{number}.csv")[0].key in keys for number in (10, 11, MAX_KEYS + 9)] == [False, True, True]


def test_what_is_of_another_source_is_not_taken() -> None:
    """S70: a node may have looked before an edit; and events that are sent have their place beside others."""
    for source, other in (
        (END, FoundFiles(files("a"))),
        (FILES, FoundEnds((end(1, 1),), 0)),
        (None, FoundEnds((), 0)),
    ):
        schedule = listening(source)
        assert changed(schedule, EventsReceived((), found=other), BEGIN).schedules[0] == schedule
    sent = changed(listening(END), EventsReceived((NewEvent("k1"),)), BEGIN).schedules[0]
    assert len(look(sent, end(1, 5)).inbox.pending) == 2


@pytest.mark.parametrize("source", [END, BOTH, FILES, JobEnds(("x", "y"), EndState.ANY)])
def test_sources_are_stored_and_told(source: EventSource) -> None:
    """What listens is kept as it is, and says to what."""
    schedule = listening(source)
    assert decode_schedule(encode_schedule(schedule.definition), "a", "a") == schedule.definition
    assert str(source) in schedule.definition.times.explain()
    job = JobDefinition("a", schedules=(schedule.definition,))
    assert jobs_listened_to(job) == (source.jobs if isinstance(source, JobEnds) else ())


def test_sources_in_words() -> None:
    assert [str(one) for one in (END, BOTH, FILES, JobEnds(("x",), EndState.ANY), SettledFiles("/", "*", 1))] == [
        "success of x", "success of 2 of x, y", "files /in/*.csv", "end of x", "files /*",
    ]  # fmt: skip
