"""A damaged row stops nobody but itself: others fire and run, and whoever asks is answered (S20)."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from tickwise.core.states import RunState
from tickwise.testing.conformance.world import World

from ..support.api import Api, api
from .damage import BAD, FACTS, FIELDS, GOOD, Field, begin, damaged, end, minute
from .law import MORE

FAR = 1 << 63
FEW = settings(
    max_examples=3 * MORE, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)
QUESTIONS = (
    "/overview", "/schedules", "/runs", "/decisions", "/jobs", "/workers", "/upcoming", "/forecast", "/timeline",
    "/hours", "/doctor", "/schedules/good-1/why", "/schedules?label=a",
)  # fmt: skip
OF_IT = "/schedules/bad/why"
TEXTS = (
    "", "null", "7", "[]", '"x"', '{"nonsense"', '{"type":"lunar"}', '{"lunar":1}', "lunar", "[" * 20_000,
    f'{{"a":{"9" * 5_000}}}', '{"a":NaN}', '{"times":{"type":"cron","text":"61 * * * *","zone":"UTC"}}',
    '{"times":{"type":"every","seconds":-5,"zone":"UTC"}}', '{"times":{"type":"at","times":[],"zone":"Mars"}}',
    f'{{"moved":{{"asked_at":{-FAR},"to":{FAR - 1}}}}}', f'{{"backfill":{{"cursor":{-FAR},"end":{FAR - 1}}}}}',
    f'{{"dropped":[[{-FAR},{FAR - 1}]]}}', f'{{"deferral":{{"slot":{-FAR},"reason":"broken","since":{FAR - 1}}}}}',
)  # fmt: skip
NUMBERS = (-FAR, FAR - 1, 1 << 60, 253_402_300_800, -1, 0)
STORES = ("sqlite", "postgres", "mysql", "mongodb", "redis")
EXAMPLES = (
    ("the definition of the schedule", '{"nonsense"'), ("the definition of the job", '{"type":"lunar"}'),
    ("the state", TEXTS[15]), ("the state", '{"lunar":1}'), ("the cursor", FAR - 1), ("the cursor", -FAR),
    ("when it was first seen", FAR - 1), ("the reason of a decision", "lunar"),
    ("the params of a run", '{"nonsense"'), ("the params of a run", "7"), ("the result of a run", "lunar"),
    ("the trigger of a run", "lunar"), ("what another node says", '{"nonsense"'),
)  # fmt: skip


class Sick:
    """An API over a store in which a row is damaged, and the event loop that both live in."""

    def __init__(self, store: str, loop: asyncio.Runner, url: str) -> None:
        self.store = store
        self.loop = loop
        self._life = AsyncExitStack()
        self.api: Api = loop.run(self._life.enter_async_context(api(url)))
        self.world: World = loop.run(self.api.world())
        loop.run(begin(self.world))

    def close(self) -> None:
        self.loop.run(self._life.aclose())

    async def problems(self, field: Field, value: Any) -> list[str]:
        """What goes wrong for others while the value stands there."""
        async with damaged(self.world, field, value):
            leases = await minute(self.world)
            await end(self.world, leases)
            left_out = {*GOOD} - {lease.schedule for lease in leases if lease.slot == self.world.now}
            return [f"{name} did not run" for name in left_out] + [text async for text in self._unanswered()]

    async def _unanswered(self) -> AsyncIterator[str]:
        """Lists that do not answer; and the bad one has to be named, if it cannot be read."""
        answers = {path: await self.api.ask("GET", path) for path in (*QUESTIONS, OF_IT)}
        for path, answer in answers.items():
            if answer.status_code != 200 and path != OF_IT:
                yield f"{path}: {answer.status_code} {answer.text:.200}"
        if answers[OF_IT].status_code != 200:
            if "bad is there, but cannot be read" not in answers[OF_IT].text:
                yield f"why: {answers[OF_IT].text:.200}"
            if "bad: " not in answers["/doctor"].text:
                yield "the doctor does not name it"


@pytest.fixture(params=STORES)
def sick(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sick]:
    of_server = request.param != "sqlite"
    url = request.getfixturevalue(f"{request.param}_database") if of_server else f"sqlite:///{tmp_path}/own.db"
    with asyncio.Runner() as loop:
        sick = Sick(request.param, loop, url)
        yield sick
        sick.close()


def _damage(name: str) -> st.SearchStrategy[tuple[str, Any]]:
    return st.tuples(st.just(name), st.sampled_from(TEXTS if FIELDS[name].is_text else NUMBERS))


DAMAGES = st.sampled_from(sorted(FIELDS)).flatmap(_damage)


def test_a_damaged_row(sick: Sick) -> None:
    """In the same pass the others fire and are leased, every list answers, and the damaged one is named."""

    def check(damage: tuple[str, Any]) -> None:
        assert sick.loop.run(sick.problems(FIELDS[damage[0]], damage[1])) == []

    fuzz: Any = given(DAMAGES)(check)
    for each in EXAMPLES:
        fuzz = example(each)(fuzz)
    FEW(fuzz)()


def test_its_source_writes_it_again(sick: Sick) -> None:
    """That mends it, also for a process which has met the damage, and it begins anew (S2)."""

    async def slots() -> list[bool]:
        async with damaged(sick.world, FIELDS["the definition of the schedule"], '{"nonsense"'):
            met = await minute(sick.world)
            await sick.world.define(BAD)
            again = await minute(sick.world)
            return ["bad" in {lease.schedule for lease in leases} for leases in (met, again)]

    assert sick.loop.run(slots()) == [False, True]


def test_a_document_of_wrong_types(mongodb_database: str) -> None:
    """Where columns have no types, a mark that is no number or names nothing is as bad as an unreadable text."""
    cursor = FIELDS["the cursor"]
    with asyncio.Runner() as loop:
        sick = Sick("mongodb", loop, mongodb_database)
        definition = cursor._replace(path="schedules.0.definition")
        wrong = [(cursor, "soon"), (cursor, 1.5), (cursor, []), (definition, "x")]
        assert [loop.run(sick.problems(*each)) for each in wrong] == [[]] * len(wrong)
        sick.close()


@pytest.mark.parametrize("store", ["sqlite", "mongodb"])
@pytest.mark.parametrize("fact", FACTS)
def test_facts_of_wrong_types(fact: str, store: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """S20: where columns have no types, a guard that cannot be read holds its own job, and the others fire."""
    url = f"sqlite:///{tmp_path}/own.db" if store == "sqlite" else request.getfixturevalue("mongodb_database")

    async def others(sick: Sick) -> set[str | None]:
        async with damaged(sick.world, FACTS[fact], "soon"):
            leases = [*await minute(sick.world), *await minute(sick.world)]
            await end(sick.world, leases)
            return {lease.schedule for lease in leases} - {"bad", None}

    with asyncio.Runner() as loop:
        sick = Sick(store, loop, url)
        assert loop.run(others(sick)) == {*GOOD}
        sick.close()


def test_the_params_of_a_run(sick: Sick) -> None:
    """A run whose params cannot be read has failed and says why; workers get all others."""

    async def leased(value: str) -> set[str | None]:
        async with damaged(sick.world, FIELDS["the params of a run"], value):
            leases = await minute(sick.world)
            await end(sick.world, leases)
            return {lease.schedule for lease in leases}

    values = ("", '{"nonsense"', "[" * 20_000, '{"a":NaN}')
    assert [sick.loop.run(leased(value)) for value in values] == [{*GOOD, "bad"}] * len(values)
    failed = sick.loop.run(sick.world.runs(states=frozenset({RunState.FAILED}), key="bad"))
    assert ["cannot be read as JSON" in run.error for run in failed] == [True] * len(values)
