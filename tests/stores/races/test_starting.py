"""A fleet starts at once, on a store that has nothing yet."""

from ...support.races.processes import Crew, say
from ...support.races.race import Race


def test_a_fleet_starts_on_nothing(place: Race, crew: Crew) -> None:
    """Each migration is applied by one process, all define the same jobs, nobody is told of the others (S28)."""
    fleet = crew.start(10, "start.start_up", **place.address)
    assert {node.hear() for node in fleet} == {"ready"}
    say(fleet, "go")
    applied = [migration for node in fleet for migration in node.heard_last()]
    assert sorted(applied) == sorted({*applied}) != []
    jobs = place.do(lambda store: store.insights.jobs()).items
    assert [(row.definition.name, row.version, row.schedules) for row in jobs] == [
        (name, 1, (name, f"{name}.1")) for name in ("a", "b", "c")
    ]
    assert len(place.do(lambda store: store.insights.nodes())) == len(fleet)


def test_a_schedule_name_that_all_want(place: Race, crew: Crew) -> None:
    """Of many jobs defined at once with one schedule's name, one gets it; the others are told by whom (S26)."""
    place.install()
    fleet = [crew.one("start.define_one", **place.address, node=f"job-{n}", minute=n) for n in range(6)]
    assert {node.hear() for node in fleet} == {"ready"}
    say(fleet, "go")
    said = sorted(node.heard_last() for node in fleet)
    (owner,) = place.do(lambda store: store.insights.jobs()).items
    assert said[0] == "defined"
    assert all(f"is a schedule of the job {owner.definition.name}" in text for text in said[1:])
