"""Stored states of any values: they are unreadable, or planned in a bounded time beside others that fire (S20)."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tickwise.core.codec import decode_rest, decode_schedule, encode_schedule
from tickwise.core.model import Facts, Schedule
from tickwise.core.payload import UnreadableText
from tickwise.core.planner import plan
from tickwise.core.reasons import Reason
from tickwise.core.slots import next_slot
from tickwise.testing.conformance.world import schedule

from .law import examples, lawful
from .texts import nearly

NOW = 1_767_225_600
FAR = 1 << 63
FROM_THE_YEAR_1 = 3.0  # seconds: a cursor there has its slots counted month by month, several times
GOOD = Schedule(schedule("good", "* * * * *"), NOW - 60, NOW - 60, NOW - 60, NOW - 60, NOW - 60)
RIGHT = tuple(
    encode_schedule(schedule("bad", times, **policy))
    for times, policy in (
        ("*/5 * * * *", {"grace": 59, "max_runs": 3}),
        ("@every 90s", {"catchup": "all", "jitter": 30, "max_catchup": 5}),
        ("CRON_TZ=Europe/Berlin 30 2 L * *", {"overlap": "replace", "until": NOW + 10**6}),
    )
)
NUMBERS = ("cursor", "last_seen_slot", "last_missed_slot", "edited_at", "first_seen", "runs_made")
SECONDS = st.sampled_from([-FAR, -(1 << 60), -1, 0, NOW - 3_600, NOW, NOW + 60, 10**12, 1 << 60, FAR - 1])
SPANS = st.tuples(SECONDS, SECONDS).map(list)
RESTS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "manual_pause": st.fixed_dictionaries({"at": SECONDS}),
        "disabled": st.fixed_dictionaries({"at": SECONDS, "overruled": st.booleans()}),
        "moved": st.fixed_dictionaries({"asked_at": SECONDS, "to": SECONDS}),
        "backfill": st.fixed_dictionaries({"cursor": SECONDS, "end": SECONDS, "most": SECONDS}),
        "dropped": st.lists(SPANS, max_size=3),
        "reopened": st.lists(SECONDS, max_size=3),
        "deferral": st.fixed_dictionaries(
            {"slot": SECONDS, "reason": st.sampled_from([reason.code for reason in Reason]), "since": SECONDS}
        ),
        "finished": st.booleans(),
        "lunar": SECONDS,
    },
)


def _planned(text: str, rest: str, numbers: list[int]) -> None:
    """A pass over a good schedule and one that was read from these."""
    try:
        definition, others = decode_schedule(text, "bad", "bad"), decode_rest(rest)
    except UnreadableText:
        return
    marks = dict(zip(NUMBERS, numbers, strict=True))
    bad = Schedule(definition, **{**others, **marks})
    made_plan = plan(NOW, [bad, GOOD], Facts())
    assert "good" in {start.schedule for start in made_plan.starts}
    assert {each.schedule.name for each in made_plan.schedules} >= {"good", "bad"}
    next_slot(bad, bad.cursor)


PLAIN = [NOW - 3_600] * 5 + [0]


@examples(80)
@given(st.sampled_from(RIGHT), RESTS, st.lists(SECONDS, min_size=6, max_size=6))
@example(RIGHT[0], {"moved": {"asked_at": -FAR, "to": FAR - 1}}, PLAIN)  # went round for ever
@example(RIGHT[1], {"backfill": {"cursor": -FAR, "end": FAR - 1, "most": FAR - 1}}, PLAIN)
@example(RIGHT[2], {"dropped": [[-FAR, FAR - 1]]}, PLAIN)
@example(RIGHT[0], {}, [-FAR] * 6)
def test_states_beyond_all_bounds(text: str, rest: dict[str, Any], numbers: list[int]) -> None:
    """Instants from the beginning to the end of all numbers hold up nobody, and a pass over them ends."""
    lawful(lambda: _planned(text, json.dumps(rest), numbers), FROM_THE_YEAR_1)


@examples(100)
@given(
    nearly(RIGHT, '{}[]:,"0'),
    nearly(('{"manual_pause":{"at":5}}', '{"dropped":[[1,2]],"finished":true}'), '{}[]:,"0'),
)
@example(RIGHT[0][:-2], "{}")
@example("[" * 100_000, "{}")
@example('{"times":{"type":"every","seconds":0,"zone":"UTC"}}', "{}")
def test_texts_that_were_damaged(text: str, rest: str) -> None:
    """A text of the store is understood, or unreadable in one way that the stores foresee."""
    lawful(lambda: _planned(text, rest, PLAIN))
