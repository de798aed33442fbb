"""`tickwise init`: what it makes can be used as it is."""

import json
import re
import sys
from pathlib import Path

import pytest

from tickwise.config import load
from tickwise.sources.yaml import read_path

from .conftest import Command


def test_job_files_to_begin_with(command: Command, tmp_path: Path) -> None:
    """It makes settings and two jobs that are fine, says the next step, and has no mistake in its comments."""
    code, out, _ = command("init", "first steps")
    assert (code, out.splitlines()[-1]) == (0, "Next: cd 'first steps' && tickwise serve jobs")
    jobs = read_path(tmp_path / "first steps" / "jobs")
    assert (sorted(placed.job.name for placed in jobs.jobs), jobs.errors) == (["daily", "hello"], ())
    settings = tmp_path / "first steps" / "tickwise.toml"
    load(environ={}, file=settings)
    settings.write_text(re.sub(r"^# (\w+ = )", r"\1", settings.read_text(), flags=re.MULTILINE))
    found = load(environ={}, file=settings)
    assert {name for name, origin in found.origins.items() if origin != "default"} == {
        "store", "timezone", "concurrency", "keep", "notify_command",
    }  # fmt: skip


def test_an_app_to_begin_with(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The app can be imported, and `--json` says what was made and what comes next."""
    code, out, _ = command("init", "--app", "--json")
    assert (code, json.loads(out)) == (
        0,
        {"folder": ".", "files": ["tickwise.toml", "app.py"], "next": "tickwise serve app:tw --reload"},
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "app", raising=False)
    import app  # type: ignore[import-not-found]  # noqa: PLC0415  (it was just made)

    assert sorted(app.tw.declared.names) == ["hello", "tidy"]


def test_nothing_is_overwritten(command: Command, tmp_path: Path) -> None:
    """If one of its files is there, it writes none, and says which; nor does it write where it may not."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "daily.yaml").write_text("mine")
    code, _, err = command("init")
    assert (code, err) == (1, "error: jobs/daily.yaml exists, so nothing was written: name another folder\n")
    assert [path.name for path in tmp_path.rglob("*")] == ["jobs", "daily.yaml"]
    (tmp_path / "file").touch()
    code, _, err = command("init", "file/below")
    assert code == 2
    assert "cannot be written: Not a directory" in err
