"""How likely the next deadlines are missed, and why (S65)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tickwise.core.cron import parse
from tickwise.core.deadline_forecast import CauseKind, DeadlineForecast, ForecastFacts, ForecastRun
from tickwise.core.definition import After, successes_of_job
from tickwise.core.model import Deferral, Pause, Trigger
from tickwise.core.reasons import Reason
from tickwise.core.simulation import deadline_forecast
from tickwise.core.simulation.deadline_forecast import forecast_deadlines
from tickwise.core.simulation.run_times import RunTime, RunTimes
from tickwise.core.states import RunState
from tickwise.core.time_limit import Deadline, TimeLimit

from .world import World, job, schedule

HOUR, MINUTE = 3_600, 60
BY_FOUR = Deadline(finish=TimeLimit(clock=parse("0 4 * * *")), warn=0.2)


def took(*minutes: float, failed: bool = False) -> RunTimes:
    """Past runs of these lengths."""
    return RunTimes([RunTime(0, round(each * MINUTE), failed) for each in minutes])


TEN_MINUTES = took(*[10] * 12)
MOSTLY_SHORT = took(*[10] * 15, *[90] * 5)


def chain(extract: RunTimes = TEN_MINUTES, settle: RunTimes = TEN_MINUTES, **given: Any) -> tuple[World, Any]:
    """`settle` at 03:00 waits for `extract` of 02:30, and must be done by 04:00; it is midnight."""
    world = World()
    settled: dict[str, Any] = {"after": {"extract": "1h"}, "wait_for": "2h", "deadline": BY_FOUR} | given
    world.define(job("extract", "30 2 * * *"), job("settle", "0 3 * * *", **settled))
    world.tick()
    return world, {"extract": extract, "settle": settle}


def forecast(world: World, run_times: Any, **facts: Any) -> list[DeadlineForecast]:
    given = ForecastFacts(world.now, world.ledger.jobs, world.ledger.schedules, run_times, **facts)
    found = forecast_deadlines(given)
    assert forecast_deadlines(given) == found, "the same facts give the same forecast"
    return found


def one(world: World, run_times: Any, **facts: Any) -> DeadlineForecast:
    [found] = forecast(world, run_times, **facts)
    return found


def test_a_chain_that_is_in_time() -> None:
    """S65: what has never taken long is not expected to."""
    found = one(*chain())
    assert (found.schedule, found.reason, found.limit) == ("settle", Reason.LATE_FINISH, "04:00 UTC")
    assert found.probability is not None
    assert found.probability < 0.1
    assert not found.is_warning


def test_the_dependency_that_runs_late_is_the_cause() -> None:
    """S65: a quarter of the runs of `extract` take 90 minutes; then `settle` begins at its deadline."""
    found = one(*chain(extract=MOSTLY_SHORT))
    assert found.probability == pytest.approx(0.25, abs=0.1)
    assert found.is_warning
    assert (found.causes[0].kind, found.causes[0].name) == (CauseKind.DEPENDENCY, "extract")
    assert found.text.startswith("will miss 04:00 UTC with probability 0.")
    assert found.text.endswith(", because extract runs late")


def test_its_own_run_is_the_cause() -> None:
    """S65: whether it is long or fails."""
    found = one(*chain(settle=MOSTLY_SHORT))
    assert found.causes[0].text == "its run takes long"
    assert found.probability == pytest.approx(0.25, abs=0.1)
    found = one(*chain(settle=took(*[10] * 12, failed=True)))
    assert found.probability == 1
    assert found.causes[0].text == "its run fails"
    assert found.causes[0].share > 0.9


def test_a_dependency_that_fails() -> None:
    """S65, S35: then the slot waits in vain, or is skipped."""
    cases: tuple[dict[str, Any], ...] = ({}, {"wait_for": "0"})
    for given in cases:
        found = one(*chain(extract=took(*[10] * 12, failed=True), **given))
        assert found.probability == 1
        assert found.causes[0].text == "extract fails"


def test_a_run_in_the_way_is_the_cause() -> None:
    """S65, S16: a run by hand of the same job holds its lane, since two hours."""
    world = World()
    world.define(job("settle", "0 3 * * *", deadline=BY_FOUR, catchup="all"))
    world.tick()
    world.down(to="02:59")
    by_hand = ForecastRun("settle", None, None, Trigger.MANUAL, 0, RunState.RUNNING, world.at("00:59"), 3_540)
    found = one(world, {"settle": MOSTLY_SHORT}, runs=[by_hand])
    assert found.probability is not None
    assert found.probability > 0.5
    assert found.causes[0].text == "a run of settle is in its way"
    skipped = one(edited(world, catchup="once"), {"settle": MOSTLY_SHORT}, runs=[by_hand])
    assert skipped.causes[0].kind is CauseKind.RUN_IN_THE_WAY


def edited(world: World, **given: Any) -> World:
    world.define(job("settle", "0 3 * * *", **{"deadline": BY_FOUR} | given))
    return world


def test_a_run_of_an_earlier_slot_is_in_the_way() -> None:
    """S65, S12: the slot before took so long that this one waits behind it."""
    world = World()
    limit = Deadline(start=TimeLimit(20 * MINUTE))
    world.define(job("etl", "0 * * * *", overlap="queue", deadline=limit))
    world.down(to="00:59")
    world.tick()
    before = ForecastRun("etl", "etl", world.at("00:00"), Trigger.SCHEDULE, 0, RunState.QUEUED, world.at("00:30"))
    found = one(world, {"etl": took(*range(10, 50, 2))}, runs=[before], last_slots={"etl": world.at("00:00")})
    assert found.reason is Reason.LATE_START
    assert found.causes[0].text == "a run of etl is in its way"
    assert found.text.startswith("will not have begun by 20m after its slot with probability")


def test_without_a_worker_nothing_is_in_time() -> None:
    """S65, S47: the slot waits, and the reason says for what."""
    found = one(*chain(), unserved=frozenset({"settle"}))
    assert (found.probability, found.causes[0].text) == (1, "it gets no run in time (no_worker)")


def test_a_run_that_was_done_in_time() -> None:
    """S65: its deadline is still open and cannot be missed, so the next one is looked at, if it is near."""
    world = World()
    world.define(job("settle", "0 3 * * *", deadline=BY_FOUR))
    world.pass_time(to="03:30")
    slot = world.at("03:00")
    done = ForecastRun(
        "settle", "settle", slot, Trigger.SCHEDULE, None, RunState.SUCCEEDED, slot, slot, slot + 600
    )
    assert forecast(world, {"settle": MOSTLY_SHORT}, runs=[done]) == []
    world.pass_time(to="04:00")
    found = one(world, {"settle": MOSTLY_SHORT}, runs=[done])
    assert found.slot == slot + 24 * HOUR
    failed = done._replace(state=RunState.FAILED)
    world = World()
    world.define(job("settle", "0 3 * * *", deadline=BY_FOUR))
    world.pass_time(to="03:30")
    assert one(world, {"settle": MOSTLY_SHORT}, runs=[failed]).probability == 1


def test_a_slot_that_waits_already() -> None:
    """S65: what it waits for is what it has waited for since before now."""
    world, times = chain(extract=MOSTLY_SHORT)
    world.run_time["extract"] = "5h"
    world.pass_time(to="03:10")
    slot = world.at("02:30")
    late = ForecastRun("extract", "extract", slot, Trigger.SCHEDULE, 0, RunState.RUNNING, slot, slot)
    found = one(world, times, runs=[late, late])
    assert found.probability is not None
    assert found.probability > 0.9
    assert found.causes[0].text == "extract runs late"
    known = one(world, times, successes={"extract": [slot]})
    assert known.probability is not None
    assert known.probability < 0.4


def test_what_waits_for_a_job() -> None:
    """S35, S65: its success counts, whatever made the run; and that of a job without a schedule."""
    world, times = chain()
    settle = world.ledger.schedules["settle"]

    def probability(job: str, run_times: Any = times, **facts: Any) -> float:
        policy = replace(settle.definition.policy, after=(After("", 3_600, job),))
        world.ledger.schedules["settle"] = settle._replace(definition=replace(settle.definition, policy=policy))
        found = one(world, run_times, **facts).probability
        assert found is not None
        return found

    assert probability("extract") < 0.1
    assert probability("extract", {**times, "extract": took(*[90] * 12)}) > 0.9
    late = one(world, {**times, "extract": took(*[90] * 12)})
    assert late.causes[0].text == "extract runs late"
    assert probability("load") > 0.9
    assert probability("load", successes={successes_of_job("load"): [world.at("02:45")]}) < 0.1


def test_too_few_past_runs() -> None:
    """S65: of any job that it depends on; then nothing is said but that."""
    found = one(*chain(extract=took(*[10] * 9)))
    assert found.probability is None
    assert found.unknown == "extract has only 9 past runs of the 10 it takes"
    assert found.text == f"may miss 04:00 UTC: unknown, {found.unknown}"
    world, times = chain()
    del times["settle"]
    assert one(world, times).unknown == "settle has no past runs of the 10 it takes"


def test_only_deadlines_of_the_next_day() -> None:
    """S65: and none of a schedule that rests, since nobody knows when it goes on."""
    world, times = chain()
    schedules = world.ledger.schedules
    schedules["settle"] = schedules["settle"]._replace(manual_pause=Pause(world.now))
    assert forecast(world, times) == []
    world = World()
    world.define(job("settle", "0 3 5 * *", deadline=BY_FOUR), job("other", "0 3 * * *"))
    assert forecast(world, {"settle": TEN_MINUTES, "other": TEN_MINUTES}) == []


def test_what_is_played_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """S65: a deadline that many slots precede is unknown rather than late; fewer plays than meant may do."""
    world = World()
    beside = schedule("tick", "*/10 * * * *", overlap="allow")
    world.define(job("settle", "0 3 * * *", deadline=BY_FOUR, beside=[beside]))
    times = {"settle": took(*[0] * 12, *[90] * 5)}
    monkeypatch.setattr(deadline_forecast, "_MAX_PASSES", 1_000)
    assert one(world, times).unknown == "too many slots are to be decided before it"
    monkeypatch.setattr(deadline_forecast, "_MAX_PASSES", 3_500)
    assert one(world, times).probability is not None


def test_groups_have_nothing_to_do_with_each_other() -> None:
    """S65: what is unknown of one says nothing of another; the nearest deadline comes first."""
    world, times = chain()
    early = Deadline(finish=TimeLimit(HOUR))
    world.define(job("alone", "0 1 * * *", deadline=early), job("bare", "0 1 * * *", deadline=early))
    found = forecast(world, {**times, "alone": TEN_MINUTES})
    assert [(each.schedule, each.probability is None) for each in found] == [
        ("alone", False), ("bare", True), ("settle", False),
    ]  # fmt: skip


def test_a_chain_of_many_is_followed_to_its_cause() -> None:
    """S65: a cause far away is named, and a chain that is too long is followed for a while only."""
    world = World()
    world.define(job("j0", "0 1 * * *"))
    for n in range(1, 13):
        world.define(job(f"j{n}", "0 1 * * *", after={f"j{n - 1}": "2h"}, wait_for="5h"))
    world.define(job("settle", "0 1 * * *", after={"j5": "2h"}, wait_for="5h", deadline=BY_FOUR))
    world.define(job("last", "0 1 * * *", after={"j12": "2h"}, wait_for="5h", deadline=BY_FOUR))
    times = dict.fromkeys(world.ledger.jobs, TEN_MINUTES) | {"j0": took(*[10] * 4, *[300] * 16)}
    found = {each.schedule: each for each in forecast(world, times)}
    assert found["settle"].causes[0].text == "j0 runs late"
    assert found["last"].probability is not None


def test_a_dependency_that_is_not_there() -> None:
    """S65, S35: its success never comes, and there is no run to name."""
    found = one(*chain(after={"nowhere": "1h"}, wait_for="10m"))
    assert found.probability == 1
    assert found.causes[0].text == "it gets no run in time (dependency_missing)"


def test_runs_that_a_slot_replaces() -> None:
    """S65, S14: a run that is cancelled for the next slot is not done; nothing comes of its end."""
    world = World()
    limit = Deadline(start=TimeLimit(5 * MINUTE), finish=TimeLimit(2 * HOUR))
    world.define(job("etl", "0 * * * *", overlap="replace", deadline=limit))
    found = forecast(world, {"etl": took(*[70] * 12)})
    assert [each.reason for each in found] == [Reason.LATE_START, Reason.LATE_FINISH]
    assert found[0].probability == 0
    assert found[1].probability is not None
    assert found[1].probability > 0.9
    assert found[1].text.startswith("will miss 2h after its slot with probability")


def test_what_was_in_the_way_is_gone() -> None:
    """S65: a slot that waited for a run of which nothing is known any more."""
    world = World()
    both = Deadline(start=TimeLimit(12 * HOUR), finish=TimeLimit(12 * HOUR + 60))
    world.define(job("etl", "0 1 * * *", overlap="queue", deadline=both))
    world.run_time["etl"] = "5h"
    world.down(to="01:00")
    world.tick()
    waits = Deferral(world.at("01:00"), Reason.WAITS_FOR_RUN, world.now, "7")
    schedules = world.ledger.schedules
    before = world.at("00:59")
    schedules["etl"] = schedules["etl"]._replace(cursor=before, deferral=waits, last_seen_slot=before)
    slow = RunTimes([RunTime(13 * HOUR, 14 * HOUR)] * 12)
    found = forecast(world, {"etl": slow})
    assert {each.causes[0].text for each in found} == {"its run takes long"}


# Calibration: of forecasts of about p, about p miss.

BANDS = ((0.0, 0.1), (0.1, 0.35), (0.35, 0.65), (0.65, 0.9), (0.9, 1.01))


def _lengths(chance: Random, number: int) -> Iterator[int]:
    """Run times of a made-up job, one after the other: long tails, two humps, or steady."""
    middle, kind = chance.uniform(5, 60) * MINUTE, chance.choice(("tail", "humps", "steady"))
    for _ in range(number):
        if kind == "tail":
            yield round(chance.lognormvariate(0, 0.6) * middle)
        elif kind == "humps":
            yield round(middle * (chance.uniform(0.9, 1.1) if chance.random() < 0.7 else chance.uniform(2, 3)))
        else:
            yield round(middle * chance.uniform(0.8, 1.2))


def _world_of(chance: Random) -> tuple[ForecastFacts, bool]:
    """Facts with histories of 12 to 60 runs, and whether the run that was held out missed its deadline."""
    known = {name: list(_lengths(chance, chance.randint(13, 61))) for name in ("extract", "settle")}
    held_out = {name: lengths.pop() for name, lengths in known.items()}
    limit = round(chance.uniform(10, 150) * MINUTE)
    is_chain = chance.random() < 0.5
    world = World()
    needs: Any = {"after": {"extract": "1h"}, "wait_for": "9h"} if is_chain else {}
    world.define(job("extract", "30 0 * * *"))
    world.define(job("settle", "0 1 * * *", deadline=Deadline(finish=TimeLimit(limit)), **needs))
    world.tick()
    begins = max(HOUR, HOUR // 2 + held_out["extract"]) if is_chain else HOUR
    missed = begins + held_out["settle"] > HOUR + limit
    run_times = {name: RunTimes([RunTime(0, each) for each in lengths]) for name, lengths in known.items()}
    return ForecastFacts(world.now, world.ledger.jobs, world.ledger.schedules, run_times), missed


def _running(facts: ForecastFacts, lasted: int) -> ForecastFacts:
    """An hour into the same night: the run of `settle` has begun, and has lasted for a while."""
    slot = facts.now + HOUR
    run = ForecastRun("settle", "settle", slot, Trigger.SCHEDULE, 0, RunState.RUNNING, slot, slot)
    cursor = facts.schedules["settle"]._replace(cursor=slot, last_seen_slot=slot)
    return replace(facts, now=slot + lasted, runs=[run], schedules={**facts.schedules, "settle": cursor})


def _reliability(forecasts: Sequence[tuple[float, bool]]) -> None:
    for low, high in BANDS:
        band = [(said, missed) for said, missed in forecasts if low <= said < high]
        said, missed = sum(said for said, _ in band), sum(missed for _, missed in band)
        spread = sum(each * (1 - each) for each, _ in band) ** 0.5
        assert len(band) >= 8, f"only {len(band)} forecasts of {low} to {high}"
        assert abs(said - missed) <= 2 * spread + 0.06 * len(band), (
            f"of {len(band)} forecasts of {low} to {high} {said:.1f} were expected to miss, {missed} did"
        )


def test_forecasts_are_calibrated() -> None:
    """S65: over 350 made-up nights, deadlines are missed as often as was said. Run times are added up here."""
    chance, found = Random(90), list[tuple[float, bool]]()
    for _ in range(350):
        facts, missed = _world_of(chance)
        [told] = forecast_deadlines(facts, plays=50)
        assert told.probability is not None
        found.append((told.probability, missed))
    _reliability(found)


def test_forecasts_of_runs_that_go_on_are_calibrated() -> None:
    """S65: what is known of a run that has lasted for a while is how long it has."""
    chance, found = Random(91), list[tuple[float, bool]]()
    while len(found) < 200:
        lengths = list(_lengths(chance, chance.randint(13, 61)))
        length, lasted = lengths.pop(), round(chance.uniform(1, 60) * MINUTE)
        limit = round(chance.uniform(1, 3) * lasted)
        if length <= lasted:
            continue  # it is over by then
        world = World()
        world.define(job("settle", "0 1 * * *", deadline=Deadline(finish=TimeLimit(limit))))
        world.tick()
        times = {"settle": RunTimes([RunTime(0, each) for each in lengths])}
        facts = ForecastFacts(world.now, world.ledger.jobs, world.ledger.schedules, times)
        [told] = forecast_deadlines(_running(facts, lasted), plays=50)
        assert told.probability is not None
        found.append((told.probability, length > limit))
    _reliability(found)
