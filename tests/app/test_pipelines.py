"""The pipelines in examples/pipelines run on a machine that has nothing but sh and python3."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tickwise import AsyncTickwise
from tickwise.core.step_waits import is_answer

from ..support.app import patiently

FOLDER = Path(__file__).parents[2] / "examples" / "pipelines"
MADE: Mapping[str, str] = {  # a file that each has made
    "orders-etl": "work/orders.db",
    "file-drop": "work/done/pears.txt",
    "map-reduce": "",
    "backup": "work/backups/*.tar.gz",
    "health": "",
    "log-report": "work/reports/*.html",
    "invoices": "work/invoices/grace.txt",
    "model": "work/model.json",
    "retention": "",
    "regions": "work/regions.txt",
    "mirror": "work/mirror/index.html",
    "release": "work/release/notes.txt",
}


def fields_of(name: str) -> dict[str, Any]:
    """Of the pipeline; its child jobs stand behind it."""
    return jobs_of(name)[name]


def jobs_of(name: str) -> dict[str, dict[str, Any]]:
    found = map(dict, YAML(typ="safe").load_all((FOLDER / f"{name}.yaml").read_text()))
    return {fields.pop("name", name): fields for fields in found}


def has_file(folder: Path, pattern: str) -> bool:
    return any(folder.glob(pattern))


def test_all_are_tried() -> None:
    """A pipeline that is added is tried here, and listed in the folder's README."""
    names = {path.stem for path in FOLDER.glob("*.yaml")}
    assert names == set(MADE)
    readme = (FOLDER / "README.md").read_text()
    assert all(f"]({name}.yaml)" in readme for name in names)


@pytest.mark.parametrize("name", MADE)
@patiently
async def test_it_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S72, S73, S75: it succeeds twice in an empty folder, each step of it, and makes what it is for."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FOLDER, tmp_path / "examples" / "pipelines")
    app = AsyncTickwise("memory://", allow_commands=True)
    for job, fields in jobs_of(name).items():
        await app.schedules.add(job, **{"schedule": "@yearly", **fields})
    for _ in range(2):
        run = await app.enqueue(name)
        await app.drain()
        if "an approval" in (await app.runs.get(run.id)).waits_for:
            await app.runs.approve(run.id, by="ann")
            await app.drain()
        ended = await app.runs.get(run.id)
        assert (ended.state, ended.error) == ("succeeded", "")
    store = await app.store()
    first = [step for step in await store.insights.steps("1") if not is_answer(step.name)]
    assert {step.state for step in first} == {"succeeded"}
    assert not MADE[name] or has_file(tmp_path, MADE[name])
    assert name != "map-reduce" or first[-1].outputs == '{"primes":4203}'
    await app.close()


@patiently
async def test_a_rehearsal_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its param the retention says what it would remove, and skips the removal of each file."""
    monkeypatch.chdir(tmp_path)
    app = AsyncTickwise("memory://", allow_commands=True)
    await app.schedules.add("retention", **fields_of("retention"))
    await app.enqueue("retention", {"rehearse": True})
    await app.drain()
    assert (tmp_path / "work" / "tmp" / "from-the-example").exists()
    store = await app.store()
    states = {step.name: step.state for step in await store.insights.steps("1")}
    assert states == {"find": "succeeded", "remove": "succeeded", "remove[0]": "skipped"}
    await app.close()
