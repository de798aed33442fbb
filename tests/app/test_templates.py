"""Templates of one's own: named in the settings, used wherever a schedule is said."""

from datetime import datetime
from pathlib import Path

import pytest

from tickwise import AsyncTickwise, InputError, Tickwise

from ..support.app import Clock, at, patiently

SETTINGS = """
[templates]
teatime = "0 16 * * *"
watch = {cron = "0 */4 * * *", description = "when the watch changes"}
daily = "30 5 * * *"
"""


@pytest.fixture
def tw(tmp_path: Path) -> Tickwise:
    (tmp_path / "own.toml").write_text(SETTINGS)
    return Tickwise("memory://", config=tmp_path / "own.toml", clock=Clock())


def next_run(tw: Tickwise, name: str) -> datetime | None:
    found: datetime | None = tw.schedules.get(name).next_run_at
    return found


def test_in_a_decorator(tw: Tickwise) -> None:
    """As an entry, alone or in a list; one of ours that bears the same name gives way."""
    with tw:
        tw.job({"template": "teatime"}, name="one")(lambda: None)
        tw.job([{"template": "watch"}, "0 1 * * *"], name="more")(lambda: None)
        tw.job({"template": "daily", "timezone": "Europe/Berlin"}, name="ours")(lambda: None)
        tw.jobs.list()
        assert [next_run(tw, name) for name in ("one", "more", "ours")] == [at("16:00"), at("01:00"), at("04:30")]


def test_through_the_face_that_the_api_uses(tw: Tickwise) -> None:
    """Added and changed by fields; the definition keeps its times when something else of it changes."""
    with tw:
        tw.schedules.add("a", schedule={"template": "teatime"}, command="true")
        assert next_run(tw, "a") == at("16:00")
        tw.schedules.patch("a", description="tea")
        assert next_run(tw, "a") == at("16:00")


@patiently
async def test_in_a_folder(tmp_path: Path) -> None:
    """Files of a watched folder know them."""
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    (jobs / "tea.yaml").write_text("schedule: {template: teatime}\ncommand: echo tea\n")
    app = AsyncTickwise("memory://", clock=Clock(), poll=0.05, templates={"teatime": "0 16 * * *"})
    async with app:
        node = await app.start(jobs)
        await node.settled()
        assert node.problems == ()
        assert (await app.schedules.get("tea")).next_run_at == at("16:00")


@pytest.mark.parametrize(
    ("wrong", "nearest"), [("teatme", "did you mean teatime?"), ("weekley", "did you mean weekly?")]
)
def test_unknown_ones(tw: Tickwise, wrong: str, nearest: str) -> None:
    """An error names the nearest, of the user's own and of ours."""
    with tw, pytest.raises(InputError, match=f"unknown template '{wrong}'") as caught:
        tw.schedules.add("a", schedule={"template": wrong}, command="true")
    assert nearest in str(caught.value)


def test_bad_ones_are_refused_with_the_settings(tmp_path: Path) -> None:
    """Before anything uses them, and with the place where the cron text is wrong."""
    (tmp_path / "own.toml").write_text('[templates]\ntea = "0 25 * * *"\n')
    with pytest.raises(InputError, match=r"own\.toml: templates is .*tea: .*25") as caught:
        AsyncTickwise("memory://", config=tmp_path / "own.toml")
    assert "^^" in str(caught.value)
