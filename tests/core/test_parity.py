"""Which fire belongs to which slot, and what a report says of the rest."""

from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.change import Added, apply_change
from tickwise.core.model import Schedule, SeenFire, Shadow
from tickwise.core.parity import (
    EARLY,
    Agreement,
    Parity,
    fires_of_slot,
    match_fires,
    parity_at_a_glance,
    parity_of,
    parity_rows,
    slot_of_fire,
)
from tickwise.core.reasons import Reason
from tickwise.core.slot_history import SlotRecord, SlotState

from .world import instant, schedule

seconds = st.lists(st.integers(0, 2_000), max_size=30)
T = instant("12:00")


@given(slots=st.sets(st.integers(0, 2_000), max_size=30), fires=seconds, tolerance=st.integers(0, 300))
def test_each_fire_and_each_slot_is_matched_once(slots: set[int], fires: list[int], tolerance: int) -> None:
    """S80: at most once, never farther than the tolerance, and no two are left that could have been matched."""
    ordered, heard = sorted(slots), sorted(fires)
    fire_of = match_fires(ordered, heard, tolerance)
    assert len(set(fire_of.values())) == len(fire_of)
    assert all(-EARLY <= heard[fire] - ordered[slot] <= tolerance for slot, fire in fire_of.items())
    alone = [slot for place, slot in enumerate(ordered) if place not in fire_of]
    unmatched = [fire for place, fire in enumerate(heard) if place not in fire_of.values()]
    assert not any(-EARLY <= fire - slot <= tolerance for slot in alone for fire in unmatched)


@given(slots=st.sets(st.integers(0, 2_000), max_size=30), tolerance=st.integers(0, 300), by=st.integers(0, 10**9))
def test_what_is_equal_is_matched_wherever_it_lies(slots: set[int], tolerance: int, by: int) -> None:
    """S80: a fire in the second of a slot is that slot's, and the result does not depend on when all of it was."""
    ordered = sorted(slots)
    assert match_fires(ordered, ordered, tolerance) == {place: place for place in range(len(ordered))}
    moved = [slot + by for slot in ordered]
    fires = [slot + 3 for slot in ordered[::2]]
    assert match_fires(moved, [fire + by for fire in fires], tolerance) == match_fires(ordered, fires, tolerance)


def test_a_fire_that_is_missing_does_not_shift_the_others() -> None:
    """S80: the nearest are matched first, so the slot without a fire is told, and not the last one."""
    slots = [T, T + 60, T + 120]
    assert match_fires(slots, [T + 61, T + 121], 60) == {1: 0, 2: 1}


def hourly() -> Schedule:
    definition = schedule("etl", "0 * * * *", shadow=True)
    return apply_change(None, Added(definition), T - 7_200).schedules[0]


def test_a_report_tells_what_each_side_did() -> None:
    """S80: both, only theirs with the reason or the nearest slot, only ours. What may still come is left out."""
    shadow = Reason.SHADOW.code
    records = [
        SlotRecord(T - 3_600, SlotState.SKIPPED, shadow),
        SlotRecord(T, SlotState.SKIPPED, "paused"),
        SlotRecord(T + 3_600, SlotState.SKIPPED, shadow),
        SlotRecord(T + 7_200, SlotState.SKIPPED, "skipped_by_hand"),
        SlotRecord(T + 10_800, SlotState.SKIPPED, shadow),
    ]
    fires = [T - 3_600, T + 2, T + 600]
    rows = parity_rows(hourly(), records, fires, T + 10_800 + 60, 60)
    assert [(row.agreement, row.slot, row.fire, row.nearest) for row in rows] == [
        (Agreement.BOTH, T - 3_600, T - 3_600, None),
        (Agreement.THEIRS, T, T + 2, None),
        (Agreement.THEIRS, None, T + 600, T),
        (Agreement.OURS, T + 3_600, None, None),
    ]
    assert rows[1].record == records[1]
    found = parity_of(rows)
    assert (found, found.fires, found.agrees) == (Parity(1, 2, 1), 3, False)
    assert parity_rows(hourly(), records, fires, T + 10_800 + 61, 60)[-1].slot == T + 10_800
    assert Parity(3).agrees


def test_a_glance_needs_only_the_schedule() -> None:
    """S80: what it remembers is compared with its times as they are, back to its oldest fire."""
    state = hourly()
    assert parity_at_a_glance(state, T) == Parity(ours=1)
    assert parity_at_a_glance(state._replace(shadow=None), T) == Parity()
    assert parity_at_a_glance(state._replace(shadow=Shadow(T - 7_200, adopted_at=T - 3_600)), T) == Parity()
    fires = tuple(SeenFire(at, str(at)) for at in (T - 3_599, T + 3_601, T + 3_700))
    heard = state._replace(shadow=Shadow(T - 7_200, fires))
    assert parity_at_a_glance(heard, T + 3_700) == Parity(both=2, theirs=1, ours=1)
    early = state._replace(shadow=Shadow(T - 3_599, fires))
    assert parity_at_a_glance(early, T + 3_700) == Parity(both=1, theirs=1, ours=1)
    later = state._replace(shadow=Shadow(T + 1, fires))
    assert parity_at_a_glance(later, T + 3_700) == Parity(both=1, theirs=1)


def test_the_fires_of_a_slot() -> None:
    """S80: those within the tolerance; one that is later belongs to no slot."""
    fires = tuple(SeenFire(at, str(at)) for at in (T - 2, T + 60, T + 61))
    state = hourly()
    assert fires_of_slot(state._replace(shadow=Shadow(T - 7_200, fires)), T) == [T - 2, T + 60]
    assert fires_of_slot(state._replace(shadow=None), T) == []


def test_a_glance_is_bounded() -> None:
    """S80: of very many slots the newest thousand are compared, with the fires of that time."""
    dense = apply_change(None, Added(schedule("etl", "@every 1s", shadow=True)), T).schedules[0]
    fires = tuple(SeenFire(at, str(at)) for at in (T + 10, T + 86_390))
    found = parity_at_a_glance(dense._replace(shadow=Shadow(T, fires)), T + 86_400)
    assert (found.both, found.theirs, found.ours) == (1, 0, 939)


def test_the_slot_of_a_fire_is_the_newest_before_it_or_one_that_comes_at_once() -> None:
    """S80: a late fire is never taken for the next slot, which would be lost."""
    state = hourly()
    assert slot_of_fire(state, T + 3_540) == T
    assert slot_of_fire(state, T - EARLY) == T
    assert slot_of_fire(state, T - EARLY - 1) == T - 3_600
    first = schedule("etl", "@every 1000d", shadow=True)
    begun = apply_change(None, Added(first), T).schedules[0]
    slot = begun.definition.times.after(T)
    assert slot is not None
    assert slot_of_fire(begun, slot - 1) == slot
