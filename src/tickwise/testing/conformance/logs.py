"""What steps report and print (S42)."""
# ruff: noqa: S101  (a suite of tests asserts)

from ...stores.pages import all_pages
from ...stores.records import LOG_HEAD, LOG_TAIL, Lease, LogPart, StepReport
from .stories import Stories
from .world import World, job

PART = 16_384


def part(text: str, step: str = "s", stream: str = "stdout") -> LogPart:
    return LogPart(step, stream, text, 1_000)


async def running(world: World) -> Lease:
    await world.define(job("a"))
    await world.enqueue("a")
    return await world.start()


async def printed(world: World, run: str, limit: int = 1_000) -> list[LogPart]:
    return await all_pages(lambda after: world.insights.log(run, after, limit))


class LogStories(Stories):
    async def test_steps_are_kept_by_name(self, world: World) -> None:
        """A later report on a step takes the place of the one before; they stand in the order they came."""
        run = await running(world)
        first = [StepReport("extract", "running", started_at=5), StepReport("load", "waiting")]
        assert await world.store.report(run.id, run.token, first)
        done = StepReport("extract", "succeeded", 5, 9, attempt=2, error="none", outputs='{"rows":[3]}')
        assert await world.store.report(run.id, run.token, [done])
        assert await world.insights.steps(run.id) == (done, StepReport("load", "waiting"))

    async def test_the_log_is_kept_in_order(self, world: World) -> None:
        """Part by part as it came, over both streams and all steps, read in pages of any size."""
        run = await running(world)
        parts = [part(f"line {n}\n", f"s{n % 2}", ("stdout", "stderr")[n % 3 == 0]) for n in range(7)]
        await world.store.report(run.id, run.token, log=parts[:3])
        await world.store.report(run.id, run.token, [StepReport("s0", "running")], parts[3:])
        assert [await printed(world, run.id, limit) for limit in (1, 2, 7, 100)] == [parts] * 4

    async def test_new_parts_follow_what_was_read(self, world: World) -> None:
        """The key of a page reads on from its end, and gets what came since."""
        run = await running(world)
        await world.store.report(run.id, run.token, log=[part("one"), part("two")])
        page = await world.insights.log(run.id, limit=1)
        await world.store.report(run.id, run.token, log=[part("three")])
        following = await world.insights.log(run.id, page.after)
        assert [each.text for each in following.items] == ["two", "three"]

    async def test_the_middle_of_a_very_long_log_goes(self, world: World) -> None:
        """Of each step its head and its tail are kept, in order, however much it prints."""
        run = await running(world)
        texts = [f"{n:08}" * (PART // 8) for n in range(40)]
        for n, text in enumerate(texts):
            quiet = [part("quiet", "other")] if n == 0 else []
            await world.store.report(run.id, run.token, log=[*quiet, part(text)])
        log = await printed(world, run.id)
        assert [each.text for each in log if each.step == "s"] == [
            *texts[: LOG_HEAD // PART], *texts[-LOG_TAIL // PART :],
        ]  # fmt: skip
        assert [each.text for each in log if each.step == "other"] == ["quiet"]

    async def test_any_text_can_be_printed(self, world: World) -> None:
        """Characters that no store holds are replaced; one part that is far too long keeps its ends."""
        run = await running(world)
        await world.store.report(run.id, run.token, log=[part("a\0b\ud800c 🕰"), part("<" + "x" * 1_000_000 + ">")])
        odd, long = (each.text for each in await printed(world, run.id))
        assert odd == "a␀b�c 🕰"
        assert (long[:2], long[-2:], len(long) <= LOG_TAIL) == ("<x", "x>", True)
