"""At a terminal: colours, questions, bars, and Ctrl-C."""

import asyncio
import re

import pytest

from tickwise import AsyncTickwise

from ..support.cli import Filled, Terminal

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def test_a_list_has_colours(filled: Filled) -> None:
    """States are coloured, and the words are the same without."""
    shown = Terminal(filled.folder.parent, "runs", "list")
    assert shown.end() == 0
    assert "\x1b[32msucceeded" in shown.shown
    assert "\x1b[31mfailed" in shown.shown
    assert COLOUR.sub("", shown.shown).splitlines()[0].split()[:2] == ["run", "schedule"]


def test_a_row_is_one_line_in_a_narrow_window(filled: Filled) -> None:
    """A27: in 80 columns the least important columns are left out, and named; no cell but the last is folded."""
    shown = Terminal(filled.folder.parent, "runs", "list", columns=80)
    assert shown.end() == 0
    lines = [line.rstrip() for line in COLOUR.sub("", shown.shown).splitlines()]
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "Left out because the window is narrow: trigger."
    assert [line.split()[0] for line in lines[1:-1]] == sorted(filled.runs.values(), key=int, reverse=True)


def test_logs_say_which_step_speaks(filled: Filled) -> None:
    """A line before each step's text, which a pipe does not get."""
    shown = Terminal(filled.folder.parent, "runs", "logs", filled.runs["report"], "--follow")
    assert shown.end() == 0
    plain = COLOUR.sub("", shown.shown)
    assert re.search(r"count ─+\s+three\s+print ─+\s+reports\s+Run \d+ is succeeded\.", plain)


@pytest.mark.parametrize(("key", "code", "says"), [("\n", 1, "Nothing was changed."), ("y\n", 0, "is deleted.")])
def test_what_cannot_be_undone_is_asked(filled: Filled, key: str, code: int, says: str) -> None:
    """No is the default, and changes nothing; yes does it."""
    asked = Terminal(filled.folder.parent, "schedules", "remove", "nightly")
    asked.until("Delete nightly? [y/N] ")
    asked.press(key)
    assert (asked.end(), says in asked.shown) == (code, True)


def test_ctrl_c_at_a_question(filled: Filled) -> None:
    """It ends at once with 130 and no traceback."""
    asked = Terminal(filled.folder.parent, "schedules", "remove", "nightly")
    asked.until("[y/N] ")
    asked.interrupt()
    assert (asked.end(), "Traceback" in asked.shown) == (130, False)


def test_ctrl_c_while_a_log_is_followed(filled: Filled) -> None:
    """A run that nobody takes is followed until Ctrl-C: 130, no traceback."""
    followed = Terminal(filled.folder.parent, "runs", "logs", filled.runs["nightly"], "--follow")
    followed.until("Ctrl-C stops following, not the run.")
    followed.interrupt()
    assert (followed.end(), "Traceback" in followed.shown) == (130, False)


def test_a_backfill_is_watched_until_it_is_done(filled: Filled) -> None:
    """A bar fills while a node enqueues the slots, and the end is said."""
    watched = Terminal(
        filled.folder.parent, "schedules", "backfill", "breaks", "--from", "2024-01-01", "--to", "2024-01-04"
    )
    watched.until("backfill of breaks")

    async def work() -> None:
        async with AsyncTickwise(filled.url, poll=0.05) as tickwise:

            @tickwise.job("30 4 * * *", name="breaks")
            async def breaks() -> None: ...

            await tickwise.start()
            await asyncio.to_thread(watched.until, "3 slots of breaks were enqueued")

    asyncio.run(work())
    assert watched.end() == 0
    assert "3/3" in COLOUR.sub("", watched.shown)


def test_a_log_is_seen_while_the_run_goes_on(filled: Filled) -> None:
    """What a run prints is shown before it is over, and its end is said."""
    gate = filled.folder / "go"
    script = f"echo first\nuntil [ -e '{gate}' ]; do sleep 0.1; done\necho second\n"

    async def work() -> None:
        async with AsyncTickwise(filled.url, poll=0.05) as tickwise:
            await tickwise.schedules.add("slow", schedule="0 2 * * *", script=script)
            run = await tickwise.schedules.trigger("slow")
            followed = Terminal(filled.folder.parent, "runs", "logs", run.id, "--follow")
            await tickwise.start()
            await asyncio.to_thread(followed.until, "first")
            assert "second" not in followed.shown
            gate.touch()
            assert await asyncio.to_thread(followed.end) == 0
            assert re.search(rf"second\s+.*Run {run.id} is succeeded\.", followed.shown)

    asyncio.run(work())
