"""`tickwise upcoming` gives the same answer whether it reads job files or a store."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from .conftest import Command

MONTH = (datetime.now(UTC) + timedelta(days=100)).month  # far enough that no run comes between two commands
JOBS = {
    "daily": f'schedule: "0 3 * {MONTH} *"\ntimezone: Europe/Berlin\njitter: 10m\ncommand: ls\n',
    "few": f'schedule: "30 * * {MONTH} *"\nmax_runs: 3\ncommand: ls\n',
    "feed": f'schedule:\n  start: "0 9 * {MONTH} *"\n  stop: "0 17 * {MONTH} *"\ncommand: ls\n',
    "off": f'schedule: "0 3 * {MONTH} *"\nenabled: false\ncommand: ls\n',
}


@pytest.mark.parametrize("target", ["all", "daily"])
def test_files_and_a_store_give_the_same_json(command: Command, tmp_path: Path, target: str) -> None:
    """For the same definitions the items are equal, with jitter, a limit of runs and a job that is disabled."""
    folder = tmp_path / "jobs"
    folder.mkdir()
    command("store", "upgrade")
    for name, text in JOBS.items():
        (folder / f"{name}.yaml").write_text(text)
        code, _, err = command("schedules", "add", folder / f"{name}.yaml")
        assert (code, err) == (0, "")
    path, names = (folder, []) if target == "all" else (folder / f"{target}.yaml", [target])
    options = ("--hours", 24 * 200, "-n", 40, "--json")
    from_files = json.loads(command("upcoming", path, *options)[1])
    assert from_files == json.loads(command("upcoming", *names, *options)[1])
    runs = from_files["items"]
    assert set(runs[0]) == {"at", "schedule", "job", "slot", "kind", "timezone"}
    assert "off" not in {run["schedule"] for run in runs}
    if target == "all":
        assert len(runs) == 40
        assert [run["schedule"] for run in runs].count("few") == 3


@pytest.mark.parametrize("target", ["files", "store"])
def test_a_list_has_at_most_a_thousand_runs(command: Command, tmp_path: Path, target: str) -> None:
    """More is refused as wrong use, whether files or a store are asked."""
    (tmp_path / "daily.yaml").write_text(JOBS["daily"])
    code, out, err = command("upcoming", *([tmp_path / "daily.yaml"] if target == "files" else []), "-n", 1_001)
    assert (code, out) == (2, "")
    assert "1000" in err.replace(",", "")
