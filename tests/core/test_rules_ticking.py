"""Who finds a schedule's slots: what its definition says, unless a person says otherwise."""

import pytest

from tickwise.core.change import Adopted, apply_change
from tickwise.core.definition import Ticking

from .world import World, job


@pytest.mark.parametrize(
    ("defined", "adopted", "local"),
    [
        (None, None, False),
        (Ticking.LOCAL, None, True),
        (Ticking.STORE, None, False),
        (Ticking.LOCAL, Ticking.STORE, False),
        (Ticking.STORE, Ticking.LOCAL, True),
        (None, Ticking.LOCAL, True),
    ],
)
def test_a_persons_word_goes_before_the_definition(
    defined: Ticking | None, adopted: Ticking | None, *, local: bool
) -> None:
    """A schedule that is adopted keeps everything but who looks for its slots."""
    world = World()
    world.define(job("a", "0 * * * *", ticking=defined))
    before = world.ledger.schedules["a"]
    after = apply_change(before, Adopted(adopted), world.clock.second).schedules[0]
    assert after.ticked_locally is local
    assert after._replace(ticking=None) == before
