"""No wake-up is lost: nobody polls and the clock stands, so every slot that waits is reached by an event (S15)."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

import pytest

from tickwise.core.model import Trigger
from tickwise.core.planner import plan
from tickwise.stores.records import Enqueue

from ...support.races.file_clock import START
from ...support.races.processes import ROUNDS, Child, Crew, next_word, say
from ...support.races.race import Race, check_each_once, job, pair, slots_of_pairs
from ...support.races.server import wait_until_somebody_waits
from .roles.worker import Worked

JOBS, MINUTES = 40, 26  # of two schedules each: 39 slots a job
HOLDS = {"postgresql": "FOR SHARE", "mysql": "AND finished_at IS NULL ORDER BY id FOR UPDATE SKIP LOCKED"}
WRITES = {"postgresql": "UPDATE tickwise_schedules", "mysql": "t.last_missed_slot = "}
NOWHERE = "no statement says this"
SLIP = 1_000  # a move notes the time at which it began, a little before it could look


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_storm_of_ends_and_wakes(place: Race, crew: Crew, number: int) -> None:
    """Slots of a job's two schedules run strictly one after the other, and none is lost or left asleep (S15)."""
    names = [f"storm-{number}-{n}" for n in range(JOBS)]
    place.install(*map(pair, names))
    place.clock.advance(MINUTES * 60)
    wanted = slots_of_pairs(names, START, place.clock.second)
    # who shares a SQLite file looks whether others wrote, which is no event: there they look again at once
    patience = {} if place.has_news else {"poll": 0.01}
    tickers = crew.start(3, "worker.keep_ticking", **place.address, **patience)
    workers = [
        *crew.start(2, "worker.keep_working", **place.address, **patience, capacity=8),
        *crew.start(2, "worker.keep_working", **place.address, **patience, capacity=1),
    ]
    made, worked = _until_done(tickers, workers, len(wanted))
    runs = place.runs()
    assert made == len(wanted)
    check_each_once(runs, wanted)
    _check_one_after_the_other([(w.job, w.slot, w.schedule, w.began, w.ended) for w in worked])
    _check_one_after_the_other([(r.job, r.slot, r.schedule, int(r.id), int(r.id)) for r in runs])
    _check_one_after_the_other([(r.job, r.slot, r.schedule, r.started_at, r.finished_at) for r in runs], SLIP)


def _until_done(tickers: list[Child], workers: list[Child], total: int) -> tuple[int, list[Worked]]:
    """Let them go on until so many runs are finished; the runs made, and what was worked on."""
    everybody = [*tickers, *workers]
    assert {child.hear() for child in everybody} == {"ready"}
    done = 0
    while done < total:
        done += next_word(everybody)[1]
    say(everybody, "enough")
    made = sum(ticker.heard_last() for ticker in tickers)
    return made, [Worked(*one) for worker in workers for one in worker.heard_last()]


def _check_one_after_the_other(
    spans: Iterable[tuple[str, int | None, str | None, int | None, int | None]], slip: int = 0
) -> None:
    """The runs of a job follow each other in the order of their slots, as somebody noted it (S12, S14)."""
    jobs = defaultdict(list)
    for name, slot, schedule, began, ended in spans:
        assert None not in (slot, schedule, began, ended)
        jobs[name].append((slot or 0, schedule or "", began or 0, ended or 0))
    for name, runs in jobs.items():
        for (*before, _, ended), (*after, began, _) in pairwise(sorted(runs)):
            assert ended <= began + slip, f"{name}: {after} began before {before} had ended"


def test_the_run_ended_before_its_lock(on_server: Race, crew: Crew) -> None:
    """A run that a slot would wait for, and that is over when the pass locks it, puts no slot to sleep (S15)."""
    place, finisher = on_server, _in_the_way(on_server, crew)
    ticker = crew.one("halt.tick_haltingly", **place.address, node="t", before=HOLDS[place.kind])
    assert ticker.hear() == "halted"
    finisher.say("finish")
    assert finisher.heard_last() == (1, 1)
    ticker.say("go on")
    ticker.heard_last()
    _check_that_it_goes_on(place)


def test_the_run_is_just_ending(on_server: Race, crew: Crew) -> None:
    """A run whose end is written and not yet committed is not waited for (S15)."""
    place, finisher = on_server, _in_the_way(on_server, crew, before="COMMIT")
    finisher.say("finish")
    assert finisher.hear() == "halted"
    crew.one("halt.tick_haltingly", **place.address, node="t", before=NOWHERE).heard_last()
    finisher.say("go on")
    assert finisher.heard_last() == (1, 1)
    _check_that_it_goes_on(place)


def test_the_run_ends_before_the_wait_is_written(on_server: Race, crew: Crew) -> None:
    """An end that comes while a pass lets a slot wait for it is held up until it sees that, and wakes it (S15)."""
    place, finisher = on_server, _in_the_way(on_server, crew)
    ticker = crew.one("halt.tick_haltingly", **place.address, node="t", before=WRITES[place.kind])
    assert ticker.hear() == "halted"
    finisher.say("finish")
    wait_until_somebody_waits(place.url)
    ticker.say("go on")
    assert ticker.heard_last() == 1
    assert finisher.heard_last() == (1, 1)
    _check_that_it_goes_on(place)


def test_an_end_that_took_its_time(on_server: Race, crew: Crew) -> None:
    """A job that is woken with an instant which the tickers have passed meanwhile is found all the same."""
    place, finisher = on_server, _in_the_way(on_server, crew, before="SET state =")
    place.install(job("later", "0 * * * *"))
    ticker = crew.one("worker.keep_ticking", **place.address, node="t")
    worker = crew.one("worker.keep_working", **place.address, node="w")
    assert ticker.hear() == worker.hear() == "ready"
    finisher.say("finish")
    assert finisher.hear() == "halted"
    place.clock.advance(20)
    place.do(lambda store: store.enqueue([Enqueue("later")]))  # news: the ticker looks, and raises its floor
    assert worker.hear() == 1
    finisher.say("go on")
    assert finisher.heard_last() == (1, 1)
    done = 0
    while done < 1:
        done += next_word([ticker, worker])[1]


def _in_the_way(place: Race, crew: Crew, before: str = NOWHERE) -> Child:
    """A process that holds a run by hand, and will finish it on a word; then a slot falls due, the first."""
    place.install(pair("a"))
    place.do(lambda store: store.enqueue([Enqueue("a", Trigger.MANUAL)]))
    finisher = crew.one("halt.finish_haltingly", **place.address, node="f", before=before)
    assert "a" in finisher.hear()
    place.clock.advance(90)
    return finisher


def _check_that_it_goes_on(place: Race) -> None:
    """The job is due at once, and its slot gets a run."""
    due = place.do(lambda store: store.insights.next_due())
    assert due is not None
    assert due <= place.clock.second
    place.do(lambda store: store.tick(plan, "checks"))
    assert [run.slot for run in place.runs() if run.slot] == [START + 60]
