"""The law of what becomes of a document after its run, over random facts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tickwise.core.cron import parse
from tickwise.core.errors import InputError
from tickwise.documents import DocumentFacts, Release, Sleep
from tickwise.documents.decide import DocumentOutcome, Remove, Rules, decide

START = datetime(2026, 3, 1, tzinfo=UTC)
NO_RULES = Rules()
INTERVALS = (
    "* * * * *", "*/15 * * * *", "0 9 * * MON-FRI", "*/10 * * * * *", "@daily", "@every 90s",
    "@every 6h offset 30m", "0 0 29 2 *", "30 2 L * *", "H H * * *", "CRON_TZ=Asia/Tokyo 0 9 * * *",
)  # fmt: skip
instants = st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
lengths = st.timedeltas(timedelta(0), timedelta(days=30))
intervals = st.sampled_from(INTERVALS)
zones = st.sampled_from(("UTC", "Europe/Berlin", "America/New_York"))


@st.composite
def recurring(draw: Any) -> tuple[DocumentFacts, datetime]:
    """A recurring document that was due, and the store's now after its run."""
    due = draw(instants)
    facts = DocumentFacts("key", due, draw(intervals), auto_remove=draw(st.booleans()))
    return facts, due + draw(lengths)


def next_time(facts: DocumentFacts, now: datetime, rules: Rules = NO_RULES) -> datetime:
    verdict = decide(facts, now, DocumentOutcome.PROCESSED, rules)
    assert isinstance(verdict, Sleep)
    assert verdict.until is not None
    return verdict.until


@given(recurring(), zones, lengths)
def test_a_recurring_document_keeps_its_pace(
    case: tuple[DocumentFacts, datetime], zone: str, delay: timedelta
) -> None:
    """Its next time is the first of its interval strictly after now, and after its old time and the delay."""
    facts, now = case
    found = next_time(facts, now, Rules(zone, delay))
    times = parse(facts.interval, zone, "key")
    earliest = max(now, facts.sleep_until + delay)
    assert found > earliest
    assert times.matches(found)
    previous = times.prev(found)
    assert previous is None or previous <= earliest


@given(recurring())
def test_an_overdue_document_runs_once(case: tuple[DocumentFacts, datetime]) -> None:
    """However late it was, its next time lies ahead: nothing that was missed in between is run (S10, once)."""
    facts, now = case
    found = next_time(facts, now)
    assert found > now
    assert found == next_time(replace(facts, sleep_until=now), now)


@given(recurring())
def test_the_same_slot_never_comes_twice(case: tuple[DocumentFacts, datetime]) -> None:
    """Also if the store's clock went back during the run, the next time is after the one that ran (S4)."""
    facts, now = case
    slot = next_time(facts, now)
    assert next_time(replace(facts, sleep_until=slot), slot - timedelta(hours=3)) > slot


@given(recurring(), st.booleans())
def test_repeat_until_is_inclusive(case: tuple[DocumentFacts, datetime], auto_remove: bool) -> None:
    """A time at `repeat_until` is the last one; the document is done when the next would be later (S34)."""
    facts, now = case
    facts = replace(facts, auto_remove=auto_remove)
    slot = next_time(facts, now)
    assert decide(replace(facts, repeat_until=slot), now, DocumentOutcome.PROCESSED, NO_RULES) == Sleep(slot)
    before = replace(facts, repeat_until=slot - timedelta(milliseconds=1))
    assert decide(before, now, DocumentOutcome.PROCESSED, NO_RULES) == (Remove() if auto_remove else Sleep(None))


@given(instants, lengths, st.none() | instants, st.sampled_from([None, "", "  ", "\t\n"]))
def test_a_document_without_interval_is_done(
    due: datetime, late: timedelta, last: datetime | None, interval: str | None
) -> None:
    """A9: done is a time that is null, or the document's removal if it asks for that; an empty text is none."""
    facts = DocumentFacts("key", due, interval, repeat_until=last)
    assert decide(facts, due + late, DocumentOutcome.PROCESSED, NO_RULES) == Sleep(None)
    assert decide(replace(facts, auto_remove=True), due + late, DocumentOutcome.PROCESSED, NO_RULES) == Remove()


@given(recurring(), st.booleans())
def test_after_an_error_it_is_only_unlocked(case: tuple[DocumentFacts, datetime], moved: bool) -> None:
    """A run that failed neither moves nor ends a document: it comes back when its lock would have run out."""
    facts, now = case
    assert decide(replace(facts, moved=moved), now, DocumentOutcome.FAILED, NO_RULES) == Release()


@given(recurring())
def test_a_new_time_wins(case: tuple[DocumentFacts, datetime]) -> None:
    """A time that somebody set during the run is left alone, and so is the document."""
    facts, now = case
    assert decide(replace(facts, moved=True), now, DocumentOutcome.PROCESSED, NO_RULES) == Release()
    once = replace(facts, interval=None, auto_remove=True, moved=True)
    assert decide(once, now, DocumentOutcome.PROCESSED, NO_RULES) == Release()


@given(
    st.text(max_size=20) | st.integers() | st.binary() | st.dictionaries(st.text(), st.text()),
    instants,
    st.booleans(),
)
def test_a_bad_interval_is_never_done(interval: Any, now: datetime, auto_remove: bool) -> None:
    """What cannot be read as an interval is an error to keep, not an end, and nothing to remove."""
    assume(not isinstance(interval, str) or interval.strip())
    try:
        parse(interval)
    except InputError:
        pass
    else:
        assume(False)
    verdict = decide(
        DocumentFacts("key", now, interval, auto_remove=auto_remove), now, DocumentOutcome.PROCESSED, NO_RULES
    )
    assert isinstance(verdict, Release)
    assert verdict.error


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"interval": "61 * * * *"}, "minute: 61 is out of range"),
        ({"interval": "0 0 30 2 *"}, "never fires"),
        ({"interval": 5}, "a cron expression is text, not int"),
        ({"interval": "@daily", "repeat_until": "soon"}, "repeat_until is 'soon', which is no time"),
        ({"repeat_until": 5}, "repeat_until is 5, which is no time"),
        ({"sleep_until": 2461000.5}, "sleep_until is 2461000.5, which is no time"),
    ],
)
def test_an_error_says_what_is_wrong(facts: dict[str, Any], said: str) -> None:
    """The error that is kept on a document names the fact and what it says (S38)."""
    verdict = decide(
        DocumentFacts(**{"key": 1, "sleep_until": START, **facts}), START, DocumentOutcome.PROCESSED, NO_RULES
    )
    assert isinstance(verdict, Release)
    assert said in str(verdict.error)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-03-01T09:00:00Z", datetime(2026, 3, 1, 9, tzinfo=UTC)),
        ("2026-03-01 09:00", datetime(2026, 3, 1, 9, tzinfo=UTC)),
        ("2026-03-01T09:00:00+01:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
        (datetime(2026, 3, 1, 9), datetime(2026, 3, 1, 9, tzinfo=UTC)),  # noqa: DTZ001  (as some drivers give it)
        (datetime(2026, 3, 1, 9, tzinfo=timezone(timedelta(hours=1))), datetime(2026, 3, 1, 8, tzinfo=UTC)),
    ],
)
def test_times_as_people_and_drivers_write_them(written: Any, meant: datetime) -> None:
    """A time may be text or a datetime, with a zone or in UTC: the next slot comes after it."""
    facts = DocumentFacts("key", written, "@every 1s")
    assert next_time(facts, START - timedelta(days=1)) == meant + timedelta(seconds=1)


def test_the_zone_is_given_or_in_the_text() -> None:
    """An interval is read in the scheduler's zone unless it names its own (S37)."""
    berlin = Rules("Europe/Berlin")
    assert next_time(DocumentFacts(1, START, "0 9 * * *"), START, berlin) == START.replace(hour=8)
    assert next_time(DocumentFacts(1, START, "CRON_TZ=UTC 0 9 * * *"), START, berlin) == START.replace(hour=9)


def test_h_spreads_documents() -> None:
    """`H` stands for another minute in each document, and for the same one every time (S36)."""
    found = {key: next_time(DocumentFacts(key, START, "H * * * *"), START) for key in range(20)}
    assert len(set(found.values())) > 5
    assert found == {key: next_time(DocumentFacts(key, START, "H * * * *"), START) for key in range(20)}


def test_an_unknown_zone_is_refused() -> None:
    """A zone that does not exist is told at once."""
    with pytest.raises(InputError, match="Berln"):
        Rules("Europe/Berln")
